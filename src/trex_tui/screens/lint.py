"""Lint: findings by severity or saving, with what they mean and what to do; Enter goes to the layer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType

from trex_tui.config import CONFIG_NAME
from trex_tui.engine.model import Engine
from trex_tui.engine.names import short_names
from trex_tui.errors import TrexError
from trex_tui.frames import FLOAT, plain_values
from trex_tui.lint.config import append_suppression, make_filter
from trex_tui.lint.rule import Finding
from trex_tui.lint.rules import load_rules
from trex_tui.report.document import Section
from trex_tui.report.views.build import cut_end
from trex_tui.report.views.lint import (
    FINDING,
    Entry,
    Linted,
    describe_entry,
    findings_table,
    fit_summary,
    list_entries,
    plain_finding,
)
from trex_tui.report.views.reformats import reformats_section
from trex_tui.screens import dialogs
from trex_tui.screens.overview import describe_place
from trex_tui.screens.pane import EnginePane, LayerChosen, RulesChanged, is_stale
from trex_tui.text import format_ms, plural, printable
from trex_tui.widgets.actions import bindings
from trex_tui.widgets.chrome import StatusLine
from trex_tui.widgets.details import layer_lines
from trex_tui.widgets.facts import EMPTY, fact_lines, heading, sentence
from trex_tui.widgets.table import FrameTable, Row, TreeTable
from trex_tui.widgets.text import Line, LinkedText, styled
from trex_tui.widgets.theme import severity_style

MOST_LAYERS = 200
_NAME, _NUMBERS = 20, 25
"""Fewest cells of a name in the list of layers, and those of number, time and saving."""
_NOT_SHOWN = ("Formula", "Reads", "Thresholds")
"""Facts of a rule that `explain` has."""
_CHECKING, _CLEAN = "Checking rules …", "No findings."


class LintPane(EnginePane):
    DEFAULT_CSS = """
    LintPane > #summary { color: $foreground; background: $panel; }
    MainScreen.-wide LintPane.-split { grid-size: 2 3; grid-rows: 1 1fr 1; & > #summary { column-span: 2; } }
    """
    SCOPED_CSS = False
    tab = "lint"
    BINDINGS: ClassVar[list[BindingType]] = bindings("lint")

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.add_class("-split")
        self.rule = ""
        """The only rule whose findings are shown; empty for all."""
        self.is_by_saving = self.shows_reformats = False
        self._entries: list[Entry] = []

    def compose(self) -> ComposeResult:
        yield StatusLine("summary")
        yield TreeTable(id="main", cell_styles={"mark": severity_style, "name": lambda _: "$muted"})
        yield LinkedText(id="details")
        yield StatusLine("status")

    def watch_lint(self) -> None:
        self.show_rows()

    def watch_shown(self) -> None:
        self.show_rows()

    def watch_current_layer(self, layer: int | None) -> None:
        """Put the cursor on the worst finding about a layer, unless that under the cursor is about it."""
        table = self.query_one(TreeTable)
        here = self.entry(table.row)
        about = [row for row in table.rows if self._is_about(self.entry(row), layer)]
        if about and not self._is_about(here, layer):
            table.move_to(about[0])

    @staticmethod
    def _is_about(entry: Entry | None, layer: int | None) -> bool:
        return entry is not None and entry.finding is not None and layer in entry.finding.layers

    def entry(self, row: Row | None) -> Entry | None:
        """Return the entry of a row; None where the rows are reformats."""
        is_entry = isinstance(row, int) and not self.shows_reformats and row < len(self._entries)
        return self._entries[row] if is_entry and isinstance(row, int) else None

    # The list

    def show_rows(self) -> None:
        """Show the findings or the reformats that the filter leaves."""
        if self.shows_reformats:
            self._show_reformats()
        else:
            self._show_entries()

    def _show_reformats(self) -> None:
        section = reformats_section(self.engine)
        if section.frame is not None and self.shown is not None:
            section = replace(section, frame=section.frame[self.shown.rows[section.frame.index]])
        self.query_one(TreeTable).show(section)
        self.query_one("#summary", StatusLine).update(" ".join(section.sentences))

    def _show_entries(self) -> None:
        table = self.query_one(TreeTable)
        if self.lint is None:
            self.query_one("#summary", StatusLine).update(_CHECKING)
            return
        self._entries = list_entries(self.lint)
        rows = [row for row, entry in enumerate(self._entries) if self._is_shown(entry)]
        if self.is_by_saving:
            rows.sort(key=lambda row: (self._entries[row].level, -(_saving(self._entries[row]) or -1.0)))
            rows.sort(key=lambda row: _saving(self._entries[row]) is None)
        table.show(self._make_section(rows), [self._entries[row].level for row in rows], is_folded=True)
        summary = fit_summary(Linted(self.engine, self.lint))
        self.query_one("#summary", StatusLine).update(summary + (f" · only {self.rule}" if self.rule else ""))
        if not rows:
            self.query_one("#details", LinkedText).show([sentence(_CLEAN, "$muted")])

    def _is_shown(self, entry: Entry) -> bool:
        finding = entry.finding
        if self.rule:
            return self.rule == (finding.rule.id if finding else entry.missing[0].rule if entry.level else "")
        if self.is_by_saving and (entry.level or finding is None):
            return False
        if self.shown is None or not self.shown.text:
            return True
        return finding is not None and bool(self.shown.rows[list(finding.layers)].any())

    def _make_section(self, rows: Sequence[int]) -> Section:
        """Return the list: rule, saving, first layer and count before everything that may be cut."""
        names, of_layers = short_names(self.engine), plain_values(self.engine.layers["name"])
        values = []
        for row in rows:
            entry = self._entries[row]
            finding = entry.finding
            values.append({
                "mark": entry.mark,
                "rule": finding.rule.id if finding else entry.missing[0].rule if entry.level else "",
                "saving_ms": _saving(entry),
                "place": describe_place(finding) if finding else "",
                "title": _describe(entry),
                "name": of_layers[finding.layers[0]] if finding and finding.layers else "",
            })  # fmt: skip
        keys = ["mark", "rule", "saving_ms", "place", "title", "name"]
        frame = pd.DataFrame(values, index=list(rows), columns=keys).astype({"saving_ms": FLOAT})
        columns = [replace(FINDING[key], priority=0) for key in keys[:-1]]
        if frame["name"].any():
            columns.append(replace(self.engine.columns["name"], title="First layer", priority=1))
        cut = {"title": cut_end, "name": lambda name, width: names.fit(name, width) if name else ""}
        return Section("lint", "Findings", frame=frame, columns=columns, noun="finding", shorten=cut)

    def layer_of(self, row: Row) -> int | None:
        if self.shows_reformats:
            return super().layer_of(row)
        entry = self.entry(row)
        return entry.finding.layers[0] if entry and entry.finding and entry.finding.layers else None

    @on(FrameTable.Moved)
    def _explain(self, event: FrameTable.Moved) -> None:
        """Show the details of the entry under the cursor."""
        if is_stale(event):
            return
        entry, details = self.entry(event.row), self.query_one("#details", LinkedText)
        if entry is not None and self.lint is not None:
            details.show(partial(entry_lines, Linted(self.engine, self.lint), entry))
        elif self.shows_reformats and isinstance(event.row, int):
            details.show(partial(layer_lines, self.engine, event.row, self.lint))

    def open_row(self, table: FrameTable, row: Row) -> None:
        """Go to the layer of a finding; expand a group."""
        entry = self.entry(row)
        if entry is not None and entry.title:
            table.toggle(row)
        else:
            super().open_row(table, row)

    def show_finding(self, finding: Finding) -> None:
        """Put the cursor on a finding, whatever is chosen."""
        self.shows_reformats = False
        self.rule = "" if self.rule != finding.rule.id else self.rule
        self.show_rows()
        row = next((row for row, entry in enumerate(self._entries) if entry.finding is finding), None)
        if row is not None:
            self.query_one(TreeTable).move_to(row)

    # What the screen asks

    def sections(self) -> list[Section]:
        if self.shows_reformats:
            return super().sections()
        return [] if self.lint is None else [findings_table(Linted(self.engine, self.lint))]

    def copied(self) -> list[dict[str, Any]]:
        entry = self.entry(self.query_one(TreeTable).row)
        if entry is None or self.lint is None:
            return []
        if entry.finding is None:
            missing = [list(rule) for rule in entry.missing]
            return [{"name": printable(_describe(entry)), "not_checked": missing}]
        name = f"{entry.finding.rule.id} {printable(entry.finding.message)}"
        return [{"name": name, **plain_finding(Linted(self.engine, self.lint), entry.finding)}]

    def explained(self) -> tuple[Section, Row | None] | None:
        """Return the columns of the list, and the facts of the entry under the cursor."""
        table = self.query_one(TreeTable)
        entry = self.entry(table.row)
        if entry is None or self.lint is None:
            return super().explained()
        described = describe_entry(Linted(self.engine, self.lint), entry, load_rules().by_id)
        facts = [fact for section in described for fact in section.facts]
        section = table.section
        return Section(
            section.key, "findings", facts, frame=section.frame, columns=section.columns
        ), table.row

    # Actions

    def action_next_layer(self, step: int) -> None:
        """Go through the layers of the finding, as its details list them."""
        entry = self.entry(self.query_one(TreeTable).row)
        if entry is None or entry.finding is None or not entry.finding.layers:
            self.notify("No layers here.", markup=False)
            return
        layer = self.query_one("#details", LinkedText).go_to_link(step)
        self.show_status(layer)
        self.post_message(LayerChosen(layer))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave `n` and `N` to the search, if there is one."""
        if action == "next_layer":
            return not getattr(self.screen, "search", "")
        return super().check_action(action, parameters)

    def action_toggle_sort(self) -> None:
        self.is_by_saving = not self.is_by_saving
        self.show_rows()
        self.notify(f"Findings by {'saving' if self.is_by_saving else 'severity'}.", markup=False)

    def action_toggle_reformats(self) -> None:
        self.shows_reformats = not self.shows_reformats
        self.show_rows()

    def action_choose_rule(self) -> None:
        if self.lint is not None:
            ids = [entry.finding.rule.id for entry in list_entries(self.lint) if entry.finding]
            counted = {rule: f"{rule:<11} {plural(count, 'finding')}" for rule, count in Counter(ids).items()}
            missing = {rule.rule: f"{rule.rule:<11} not checked" for rule in self.lint.not_checked}
            options = {"all": "All rules", **missing, **counted}
            dialogs.choose(self.app, "Show the findings of", options, self._show_rule, self.rule)

    def _show_rule(self, rule: str) -> None:
        self.rule = "" if rule == "all" else rule
        self.show_rows()

    def action_suppress(self) -> None:
        entry = self.entry(self.query_one(TreeTable).row)
        if entry is None or entry.finding is None:
            self.notify("Only findings can be suppressed.", markup=False)
            return
        finding, title = entry.finding, f"Reason to suppress {entry.finding.rule.id}"
        where = f"Appended with the rule and its layers to {Path.cwd() / CONFIG_NAME}."
        dialogs.ask_path(self.app, title, "", lambda reason: self._suppress(finding, reason), where)

    def _suppress(self, finding: Finding, reason: str) -> None:
        names = plain_values(self.engine.layers["name"][list(finding.layers)])
        path = Path.cwd() / CONFIG_NAME
        try:
            append_suppression(path, [finding.rule.id], make_filter(names), reason, load_rules())
        except TrexError as error:
            self.notify(printable(str(error)), severity="error", markup=False)
        else:
            self.notify(f"Written to {printable(str(path))}.", markup=False)
            self.post_message(RulesChanged())


def _saving(entry: Entry) -> float | None:
    return entry.finding.saving_ms if entry.finding and not entry.finding.reason else None


def _describe(entry: Entry) -> str:
    """Return the title of a rule with the numbers of the finding; why a rule was not checked."""
    if entry.finding is not None:
        return f"{entry.finding.rule.title}: {entry.finding.message}"
    return entry.title or entry.missing[0].reason


def entry_lines(linted: Linted, entry: Entry, width: int) -> Iterator[Line]:
    """Yield what a finding means and what to do, its layers as links, evidence, and the texts of the rule."""
    sections = list(describe_entry(linted, entry, load_rules().by_id))
    order = {"": 0, "Remedy": 1, "layers": 2, "Evidence": 3, "Rule": 4}
    head, *others = sections
    yield Line(styled((printable(head.title), "bold")))
    yield from map(sentence, head.sentences)
    facts = [
        fact._replace(column=replace(fact.column, title=_title(fact.column.title))) for fact in head.facts
    ]
    yield from fact_lines(Section("", facts=facts))
    for section in sorted(others, key=lambda section: order.get(section.key or section.title, 5)):
        yield from (EMPTY, heading("What to do" if section.title == "Remedy" else section.title))
        if section.key == "layers":
            yield from _layer_links(linted, section, max(_NAME, width - _NUMBERS))
        else:
            facts = [fact for fact in section.facts if fact.column.title not in _NOT_SHOWN]
            yield from fact_lines(Section("", facts=facts, sentences=section.sentences))


def _title(title: str) -> str:
    return "Affected time" if title.startswith("Layers take") else title.removesuffix(" ms")


def _layer_links(linted: Linted, section: Section, width: int) -> Iterator[Line]:
    """Yield a link per layer, those with the largest saving first."""
    frame, names = section.frame, short_names(linted.engine)
    if frame is None:
        return
    ordered = frame.sort_values(
        ["saving_ms", "latency_ms"], ascending=False, kind="stable", na_position="last"
    )
    shown = ordered.head(MOST_LAYERS)
    for layer, name, time, saving in zip(
        shown.index, *(plain_values(shown[key]) for key in ordered), strict=True
    ):
        gain = f"−{format_ms(saving)}" if saving else ""
        text = f"{format_ms(time):>7} {gain:>7}  {names.fit(name, width)}"
        yield Line(styled((f"› {layer:>4} ", "$accent"), text), int(layer))
    if len(frame) > MOST_LAYERS:
        yield sentence(f"{len(frame) - MOST_LAYERS} more, with smaller savings", "$muted")
