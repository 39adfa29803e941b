"""Window of `i`: definitions of the numbers on a screen, the selected one first, as in `trex-tui explain`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.content import Content

from trex_tui.old.analysis.gap import Gap
from trex_tui.old.artifacts import ArtifactKind
from trex_tui.old.engine.columns import LayerColumn
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.layer_names import describe_layer_name, describe_layer_type
from trex_tui.old.engine.model import Layer
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.lint.model import Judged, LintResult
from trex_tui.old.report.document import Section, Table
from trex_tui.old.report.views.layer_table import cell_text
from trex_tui.old.report.views.lint import EngineReport, describe_evidence
from trex_tui.old.screens.dialogs import TextScreen
from trex_tui.old.screens.layer_actions import copy_text
from trex_tui.old.text import MISSING, format_ms, format_pct, printable
from trex_tui.old.widgets.table import VirtualTable
from trex_tui.old.widgets.text_view import TextLine, sentence_line

# The glossary is imported where it is asked for: that takes 20 ms, and the first frame of an engine explains nothing.
if TYPE_CHECKING:
    from trex_tui.old.report.glossary.registry import Entry

LAYERS = "layers"
"""Id of tables with columns of layers."""
_FILES = {
    "layer information": (ArtifactKind.GRAPH,),
    "profile": (ArtifactKind.PROFILE,),
    "timing rows": (ArtifactKind.TIMING,),
    "timing file": (ArtifactKind.TIMING,),
    "log": (ArtifactKind.BUILD_LOG, ArtifactKind.PROFILE_LOG),
    "manifest": (ArtifactKind.MANIFEST,),
    "metadata": (ArtifactKind.DEVICE_METADATA, ArtifactKind.BUILD_METADATA, ArtifactKind.PROFILE_METADATA),
}
_INDENT, _LITTLE = 10, 2


@dataclass(frozen=True, slots=True)
class ShownNumber:
    """A number or a label on a screen.

    Attributes:
        label: As on the screen.
        value: As on the screen; empty for a column without a row.
        entry: Its term; None where only `help` explains it.
        exact: The value with all digits, where the screen rounds it.
        meaning: What the value means, if it is a word or a name that has a meaning.
        source: Where the value comes from, if neither the term nor its subject has it.
    """

    label: str
    value: str
    entry: Entry | None
    help: str = ""
    exact: str = ""
    meaning: str = ""
    source: str = ""


def column_numbers(table: VirtualTable[Any], table_id: str, first: str | None = None) -> list[ShownNumber]:
    """The columns of a table with their values under the cursor.

    Args:
        table_id: As in reports: its columns are explained below this name.
        first: Key of the column to begin with.
    """
    from trex_tui.old.report.glossary.registry import column_entry, find_path

    row = table.cursor_item
    columns = sorted(table.columns, key=lambda column: column.key != first)
    numbers = []
    for column in columns:
        entry = column_entry(column.key) if table_id == LAYERS else None
        entry = entry or find_path((table_id, table_id, column.key))
        if entry is None and not column.description:
            continue
        value = "" if row is None else column.cell_text(row)
        exact = "" if row is None else _exact(column.value(row), value)
        numbers.append(ShownNumber(column.title or column.key, value, entry, column.description, exact))
    return numbers


def layer_numbers(
    engine: Engine, columns: Iterable[LayerColumn], layer: Layer | None, first: str | None = None
) -> list[ShownNumber]:
    """Return the columns of layers with the values of a layer; unknown ones are omitted."""
    from trex_tui.old.report.glossary.registry import column_entry

    numbers = []
    for column in sorted(columns, key=lambda column: column.name != first):
        value = None if layer is None else column.value(engine, layer)
        if layer is not None and value is None:
            continue
        text = "" if layer is None else cell_text(column, value)
        entry = column_entry(column.name)
        meaning = _meaning(column.name, layer)
        numbers.append(ShownNumber(column.title, text, entry, exact=_exact(value, text), meaning=meaning))
    return numbers


def _meaning(column: str, layer: Layer | None) -> str:
    if layer is None:
        return ""
    if column == "name":
        return describe_layer_name(layer.name)
    return describe_layer_type(layer.layer_type) if column == "layer_type" else ""


def section_numbers(sections: Iterable[Section]) -> Iterator[ShownNumber]:
    """The facts of sections, then the columns of numbers of their tables."""
    from trex_tui.old.report.glossary.registry import find_label, find_path

    for section in sections:
        for label, text in section.facts:
            if entry := find_label(label):
                yield ShownNumber(label, text, entry)
        for table in section.tables:
            for column in table.columns:
                entry = find_path((table.id, table.id, column.key))
                if entry is not None and column.is_number:
                    yield ShownNumber(column.title, "", entry)


def statistic_numbers(sections: Iterable[Section]) -> Iterator[ShownNumber]:
    """Return the rows of the table of a timing run: statistics of the latency."""
    for section in sections:
        for table in section.tables:
            if table.id == "performance":
                names, *values = map(table.texts, range(len(table.columns)))
                terms = [f"latency.{name}_ms" for name in names]
                yield from term_numbers(zip(names, values[0] if values else (), terms, strict=False))


def gap_numbers(gap: Gap | None) -> Iterator[ShownNumber]:
    """Return the sum of the layers against the latency, and the profiling overhead."""
    if gap is None:
        return
    ratio = MISSING if gap.ratio is None else f"{format_pct(100.0 * gap.ratio)} %"
    overhead = MISSING if gap.overhead_us_per_layer is None else f"{gap.overhead_us_per_layer:.1f} µs/layer"
    values = (
        ("Layers vs. end to end", f"{format_ms(gap.sum_average_ms)} ms", "engines.gap"),
        ("Ratio", ratio, "gap.ratio"),
        ("Profiling overhead", overhead, "overhead_us_per_layer"),
    )
    yield from term_numbers(values)


def saving_numbers(engine: Engine, result: LintResult) -> Iterator[ShownNumber]:
    """Return the saving of all findings together."""
    report, savings = EngineReport(engine, result), result.savings
    values = (
        ("All findings", report.format_time(savings.total_ms), "engines.saving_ms"),
        ("End to end", report.format_time(savings.end_to_end_ms), "savings.end_to_end_ms"),
        ("Not checked", str(result.rules_not_checked), "engines.not_checked"),
    )
    yield from term_numbers(values)


def finding_numbers(report: EngineReport, judged: Judged) -> Iterator[ShownNumber]:
    """Return the numbers in the details of a finding that its row lacks; columns of layers keep their definition."""
    from trex_tui.old.report.glossary.registry import column_entry, find_terms

    values = (
        ("Severity", judged.severity.value, "findings.severity"),
        ("Layers take", report.format_time(judged.layer_ms) if judged.layers else "", "findings.layer_ms"),
    )
    yield from term_numbers(values)
    for evidence in judged.finding.evidence:
        entry = column_entry(evidence.name) or next(iter(find_terms("findings.evidence")), None)
        yield ShownNumber(*describe_evidence(evidence), entry)


def group_numbers(tables: Iterable[Table]) -> Iterator[ShownNumber]:
    """Column of layers whose values are the rows of tables such as `by_bound`."""
    from trex_tui.old.report.glossary.registry import column_entry

    for table in tables:
        if entry := column_entry(table.id.removeprefix("by_")):
            yield ShownNumber(table.title, "", entry)


def term_numbers(values: Iterable[tuple[str, str, str]]) -> Iterator[ShownNumber]:
    """Return numbers by label, value and key of the term; those without a value are omitted."""
    from trex_tui.old.report.glossary.registry import find_terms

    for label, value, key in values:
        entries = find_terms(key)
        if entries and value and value != MISSING:
            yield ShownNumber(label, value, entries[0])


def _exact(value: object, shown: str) -> str:
    return repr(value) if isinstance(value, float) and repr(value) != shown else ""


def explanation_lines(
    files: Mapping[ArtifactKind, Path], heading: str, numbers: Sequence[ShownNumber]
) -> list[TextLine]:
    """Format numbers: value, definition, unit, formula and source of each, and the files of the first.

    Args:
        heading: What the values are of; empty for nothing.
    """
    lines = [TextLine(Content.styled(printable(heading), "$muted"))] if heading else []
    seen: set[tuple[str, str]] = set()
    for position, number in enumerate(numbers):
        key = (number.entry.term.key if number.entry else "", number.label)
        if key in seen:
            continue
        seen.add(key)
        lines += [TextLine(Content(""))] if lines else []
        lines.append(_value_line(number))
        lines += _term_lines(number, is_first=position == 0)
        if position == 0 and number.entry is not None:
            source = number.source or number.entry.term.source or number.entry.subject.source
            lines += [
                TextLine(Content(f"  file    {printable(path)}"), _INDENT)
                for path in _list_files(files, source)
            ]
    return lines or [sentence_line("No numbers on this screen yet.", "$muted")]


def _value_line(number: ShownNumber) -> TextLine:
    parts = [(f"{printable(number.label)}  ", "bold"), (printable(number.value), "bold $accent")]
    exact = f"  (exactly {number.exact})" if number.exact else ""
    return TextLine(Content.assemble(*parts, (exact, "$muted")), _INDENT)


def _term_lines(number: ShownNumber, *, is_first: bool) -> Iterator[TextLine]:
    """Return the term without what the screen shows; a source common to a subject appears with its first number only."""
    from trex_tui.old.report.glossary.explanation import entry_lines

    if number.entry is None:
        yield TextLine(Content(f"  {printable(number.help)}"), _LITTLE)
        return
    key, definition, *facts = entry_lines(number.entry)
    if key != number.label:
        yield TextLine(Content.styled(f"  {key}", "$muted"), _LITTLE)
    yield TextLine(Content(f"  {definition}"), _LITTLE)
    if number.meaning:
        yield TextLine(Content(f"  here    {number.meaning}"), _INDENT)
    left_out = (
        ("label ", "shown ") if is_first or number.entry.term.source else ("label ", "shown ", "source ")
    )
    for fact in facts:
        if not fact.startswith(left_out):
            yield TextLine(Content(f"  {fact}"), _INDENT)


def _list_files(files: Mapping[ArtifactKind, Path], source: str) -> Iterator[str]:
    for word, kinds in _FILES.items():
        if word in source:
            yield from (str(files[kind]) for kind in kinds if kind in files)


class ExplainScreen(TextScreen):
    """Definitions of the numbers on a screen, the selected one first, which `y` copies with all its digits."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("y", "copy_value", "copy")]

    def __init__(
        self,
        files: Mapping[ArtifactKind, Path],
        title: str,
        heading: str,
        numbers: Sequence[ShownNumber],
    ) -> None:
        super().__init__(printable(title), explanation_lines(files, heading, numbers))
        self._first = next((number for number in numbers if number.value), None)
        if self._first is not None:
            self.hint = f"j k scroll · y copies {printable(self._first.label)} · Esc closes"

    def action_copy_value(self) -> None:
        """Copy the first value."""
        if self._first is None:
            self.notify("No value to copy.", markup=False)
        else:
            copy_text(
                self, self._first.exact or self._first.value, f"value of {printable(self._first.label)}"
            )


def open_words(app: App[Any], query: str) -> None:
    """Explain words of TensorRT, or the name of a layer."""
    from trex_tui.old.report.glossary.explanation import explain

    lines: list[TextLine] = []
    for entry in explain(query).entries:
        lines += [TextLine(Content(""))] if lines else []
        number = ShownNumber(entry.term.key, "", entry)
        lines += [_value_line(number), *_term_lines(number, is_first=True)]
    app.push_screen(TextScreen("Explain", lines))
