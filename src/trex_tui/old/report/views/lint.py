"""Lint results: one list of entries, its columns, and the sentences shared by all formats."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from trex_tui.old.analysis.short_names import short_names
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.errors import Diagnostic
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.lint.config import LintConfig
from trex_tui.old.lint.model import Evidence, FindingSeverity, Judged, LintResult, NotChecked, Rule
from trex_tui.old.report.document import Cell, Column, Section, Table, make_table
from trex_tui.old.report.views.layer_details import Line
from trex_tui.old.text import (
    MISSING,
    as_sentence,
    format_bytes,
    format_ms,
    format_pct,
    plural,
    printable,
    shorten_middle,
    shorten_name_list,
)

LEVELS = (FindingSeverity.ERROR, FindingSeverity.WARNING, FindingSeverity.INFO)
MARKS = {
    FindingSeverity.ERROR: "E",
    FindingSeverity.WARNING: "W",
    FindingSeverity.INFO: "i",
    FindingSeverity.GOOD: "✓",
}
"""One-cell severities, distinct without colour."""
MOST_LAYERS = 200
"""Maximum number of layers listed below a finding; the rest is counted."""
MOST_NAMES = 3
"""Layers named in a sentence."""


@dataclass(frozen=True, slots=True)
class EngineReport:
    """An engine with its lint results."""

    engine: Engine
    result: LintResult

    def find_layers(self, judged: Judged) -> list[Layer]:
        return [self.engine.layers[index] for index in judged.layers]

    def pct(self, ms: float | None) -> float | None:
        total = self.engine.latency_sum_ms
        return None if ms is None or not total else 100.0 * ms / total

    def format_time(self, ms: float | None) -> str:
        """Return `0.123 ms (4.5 %)`; `unknown` for None."""
        if ms is None:
            return "unknown"
        share = self.pct(ms)
        return f"{format_ms(ms)} ms" + (f" ({format_pct(share)} %)" if share is not None else "")


@dataclass(frozen=True, slots=True)
class LintReport:
    """Results of `trex-tui lint`.

    Attributes:
        engines: In the order they were found.
        config: The configuration.
        diagnostics: Of files that belong to no engine, and of rules that could not be loaded.
    """

    engines: tuple[EngineReport, ...]
    config: LintConfig
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def fails(self) -> bool:
        return any(linted.result.fails(self.config.fail_on) for linted in self.engines)

    @property
    def failures(self) -> list[str]:
        """Return the reason why the command fails, in lines; empty if it does not."""
        fail_on = self.config.fail_on
        if fail_on is None or not self.fails:
            return []
        if isinstance(fail_on, FindingSeverity):
            severities = (judged.severity for linted in self.engines for judged in linted.result.findings)
            count = sum(severity.rank <= fail_on.rank for severity in severities)
            return [f"{plural(count, 'finding')} at or above {fail_on.value}"]
        return [
            f"gate failed: {fail_on.text}: {linted.engine.name} has {linted.result.count(fail_on.metric)}"
            for linted in self.engines
            if linted.result.fails(fail_on)
        ]

    @property
    def broken_rules(self) -> tuple[str, ...]:
        return tuple(sorted({name for linted in self.engines for name in linted.result.failed}))


def fingerprint(report: EngineReport, judged: Judged) -> str:
    """Return a stable id of a finding over several runs: a hash of engine, rule, and names and occurrences of the layers. 16
    hexadecimal digits.
    """
    digest = hashlib.sha256()
    for part in (report.engine.name, judged.rule.id):
        digest.update(part.encode("utf-8", "backslashreplace") + b"\0")
    for layer in report.find_layers(judged):
        digest.update(f"{layer.name}\0{layer.occurrence}\0".encode("utf-8", "backslashreplace"))
    return digest.hexdigest()[:16]


# Sentences


def count_findings(result: LintResult) -> str:
    """Return `1 error, 2 warnings, 3 infos`, without zeros; `no findings`; `no rules run`."""
    if not result.rules:
        return "no rules run"
    counts = [plural(result.counts[level], level.value) for level in LEVELS if result.counts[level]]
    return ", ".join(counts) or "no findings"


def describe_savings(report: EngineReport) -> str:
    """Return the possible savings of all findings together; empty if all are unknown."""
    savings = report.result.savings
    if savings.total_ms is None:
        return "possible saving unknown" if report.result.findings else ""
    parts = []
    if savings.layers_ms is not None:
        share = report.pct(savings.layers_ms)
        of = "" if share is None else f" ({format_pct(share)} % of the layers' time)"
        parts.append(f"{format_ms(savings.layers_ms)} ms{of}")
    if savings.engine_ms is not None:
        parts.append(f"{format_ms(savings.engine_ms)} ms between layers")
    text = "possible saving " + " and ".join(parts)
    if savings.end_to_end_ms is not None:
        text += f", {format_ms(savings.end_to_end_ms)} ms end to end"
    return text


def describe_summary(report: EngineReport) -> list[str]:
    """Return the number of findings, their possible savings, and the number of hidden ones."""
    milder = report.result.milder
    left_out = f"{plural(milder, 'finding')} below --min-severity" if milder else ""
    parts = (count_findings(report.result), describe_savings(report), left_out)
    return [part for part in parts if part]


def describe_saving(report: EngineReport, judged: Judged) -> str:
    """Return the time of the layers and the possible saving; `unknown` without a profile."""
    if judged.saving_ms is None:
        if judged.layer_ms is None:
            return "saving unknown" if judged.layers else "no saving"
        return f"saving unknown, layers: {report.format_time(judged.layer_ms)}"
    text = f"saving {report.format_time(judged.saving_ms)}"
    if judged.layer_ms is not None and judged.layer_ms > judged.saving_ms:
        text += f" of {format_ms(judged.layer_ms)} ms"
    return text


def group_not_checked(result: LintResult) -> list[tuple[str, str]]:
    """Return ids of rules that were not checked, with reasons, grouped by reason."""
    by_reason: dict[str, list[str]] = {}
    for missing in result.not_checked:
        which = f" ({plural(missing.layers, 'layer')})" if missing.layers is not None else ""
        by_reason.setdefault(missing.reason, []).append(missing.rule + which)
    return [(", ".join(rules), printable(reason)) for reason, rules in by_reason.items()]


def name_layers(layers: Sequence[Layer], width: int = 0) -> list[str]:
    """Return index and name of the first layers, printable, and the number of further ones.

    Args:
        width: Longer names are cut in the middle; 0 for no limit.
    """
    names = []
    for layer in layers[:MOST_NAMES]:
        name = printable(shorten_name_list(layer.name))
        names.append(f"{layer.index} {shorten_middle(name, width) if width else name}")
    rest = len(layers) - MOST_NAMES
    return names + ([f"and {rest} more"] if rest > 0 else [])


# The list of all entries


@dataclass(frozen=True, slots=True)
class Entry:
    """A finding, a strength, a suppressed finding, a rule that was not checked, or all such rules together.

    Attributes:
        judged: None for rules that were not checked.
        not_checked: Empty for findings.
    """

    report: EngineReport
    judged: Judged | None = None
    not_checked: tuple[NotChecked, ...] = ()

    @property
    def rule(self) -> str:
        if self.judged is not None:
            return self.judged.rule.id
        return "" if self.is_group else self.not_checked[0].rule

    @property
    def is_group(self) -> bool:
        """True if it is the group of all rules that were not checked."""
        return len(self.not_checked) > 1

    @property
    def severity(self) -> FindingSeverity | None:
        """None for a rule that was not checked, and for suppressed findings."""
        return self.judged.severity if self.judged is not None and not self.judged.reason else None

    @property
    def mark(self) -> str:
        return MARKS[self.severity] if self.severity else "–" if self.judged else "?"

    @property
    def state(self) -> str:
        """Severity, `suppressed` or `not checked`."""
        return self.severity.value if self.severity else "suppressed" if self.judged else "not checked"

    @property
    def message(self) -> str:
        """The finding, or why the rule could not be checked."""
        if self.judged is not None:
            return self.judged.message
        if self.is_group:
            return f"{plural(self.report.result.rules_not_checked, 'rule')} not checked"
        return f"not checked: {self.not_checked[0].reason}"

    @property
    def title(self) -> str:
        """Subject of the rule; for a rule that was not checked, its requirement."""
        return self.judged.rule.title if self.judged is not None else self.message

    @property
    def layers(self) -> tuple[int, ...]:
        return self.judged.layers if self.judged is not None else ()

    @property
    def saving_ms(self) -> float | None:
        """Possible saving; None if unknown, or for suppressed findings."""
        return self.judged.saving_ms if self.judged is not None and self.severity else None

    def describe_place(self, width: int | None = None) -> str:
        """Return index and short name of the first layer, and the number of further ones: `12 layer1/0/conv1 +3`.

        Args:
            width: Maximum characters; None for no limit.
        """
        if not self.layers:
            return "the engine" if self.judged is not None else MISSING
        layer, names = self.report.engine.layers[self.layers[0]], short_names(self.report.engine)
        more = f" +{len(self.layers) - 1}" if len(self.layers) > 1 else ""
        room = len(layer.name) if width is None else width - len(f"{layer.index} {more}")
        return f"{layer.index} {names.fit(layer, max(0, room))}{more}"


def list_entries(report: EngineReport) -> list[Entry]:
    """Return all entries, the worst first: findings, strengths, suppressed findings, rules that were not checked."""
    result = report.result
    return [
        *(Entry(report, judged) for judged in (*result.findings, *result.positives, *result.suppressed)),
        *(Entry(report, not_checked=(missing,)) for missing in result.not_checked),
    ]


def fold_not_checked(entries: Sequence[Entry], *, is_expanded: bool) -> list[Entry]:
    """Group rules that were not checked under one entry, or keep only that entry; a single rule stays unchanged."""
    missing = [entry for entry in entries if entry.not_checked]
    if len(missing) < 2:
        return list(entries)
    group = Entry(
        missing[0].report, not_checked=tuple(rule for entry in missing for rule in entry.not_checked)
    )
    return [*(entry for entry in entries if entry.judged), group, *(missing if is_expanded else ())]


def _list_layers(entry: Entry) -> Cell:
    names = name_layers([entry.report.engine.layers[index] for index in entry.layers])
    parts = list(zip_longest(names, entry.layers[: min(len(names), MOST_NAMES)]))
    return Cell(list(entry.layers), "; ".join(names) or "the engine", parts)


_RULE = Column("rule", "Rule", value=lambda entry: entry.rule)
_MESSAGE = Column("message", "Finding", value=lambda entry: entry.message)
_SAVING = Column("saving_ms", "Saving ms", value=lambda entry: entry.saving_ms, is_number=True)

FINDING_COLUMNS = (
    Column("severity", "Severity", value=lambda entry: entry.state),
    _RULE,
    _MESSAGE,
    Column("layers", "Layers", value=_list_layers),
    replace(_SAVING, has_bar=True),
    Column("saving_pct", "%", value=lambda entry: entry.report.pct(entry.saving_ms), is_number=True),
    Column("remedy", "Remedy", value=lambda entry: entry.judged.remedy),
)
_ACTION_KEYS = ("remedy", "saving_ms", "saving_pct", "message", "layers", "rule")
ACTION_COLUMNS = tuple(
    replace(column, has_bar=False) for key in _ACTION_KEYS for column in FINDING_COLUMNS if column.key == key
)
"""Findings as things to do: the remedy first."""
STRENGTH_COLUMNS = (_RULE, replace(_MESSAGE, title="Well done"))
SUPPRESSED_COLUMNS = (
    _RULE,
    _MESSAGE,
    Column("reason", "Reason", value=lambda entry: entry.judged.reason),
    Column("origin", "Stated in", value=lambda entry: entry.judged.origin),
)
NOT_CHECKED_COLUMNS = (Column("rules", "Rules"), Column("reason", "Reason"))
SCREEN_COLUMNS = (
    Column(
        "mark",
        "",
        value=lambda entry: entry.mark,
        width=1,
        help="E error, W warning, i info, ✓ well done, – suppressed, ? not checked.",
    ),
    replace(_RULE, width=10),
    replace(
        _SAVING,
        title="Saving",
        width=9,
    ),
    Column("title", "Finding", value=lambda entry: entry.title, flex=True, width=32),
    Column(
        "where",
        "Layer",
        value=lambda entry: entry.layers[0] if entry.layers else None,
        flex=True,
        width=15,
    ),
    Column(
        "confidence",
        "Confidence",
        value=lambda entry: entry.judged.confidence.value if entry.judged else None,
        width=10,
        priority=3,
    ),
)


def findings_table(report: EngineReport, top: int | None = None) -> Table:
    """Return a row per finding, the worst first; `top` as for `make_table`."""
    entries = [Entry(report, judged) for judged in report.result.findings]
    return make_table("findings", FINDING_COLUMNS, entries, top=top, noun="finding")


def lint_sections(report: EngineReport, top: int | None) -> Iterator[Section]:
    """Yield findings with their costs and remedies, strengths, and rules that were not checked."""
    result = report.result
    groups = (
        ("well_done", STRENGTH_COLUMNS, result.positives, "remark", "Well done"),
        ("suppressed", SUPPRESSED_COLUMNS, result.suppressed, "finding", "Suppressed"),
    )
    tables = [findings_table(report, top)] if result.findings else []
    for table_id, columns, judged, noun, title in groups:
        if judged:
            entries = [Entry(report, item) for item in judged]
            tables.append(make_table(table_id, columns, entries, top=top, noun=noun, title=title))
    if missing := group_not_checked(result):
        tables.append(make_table("not_checked", NOT_CHECKED_COLUMNS, missing, title="Not checked"))
    sentence = as_sentence("; ".join(describe_summary(report)))
    yield Section("lint", "Findings", sentences=[sentence], tables=tables)


# Screens


def fit_summary(report: EngineReport, width: int | None = None) -> str:
    """Return the number of entries by severity, and the possible savings.

    Args:
        width: Available cells: text is omitted before numbers.
    """
    result, counts = report.result, report.result.counts
    long = ", ".join(plural(counts[level], level.value) for level in LEVELS)
    short = " ".join(f"{MARKS[level]} {counts[level]}" for level in LEVELS if counts[level])
    short = short or "nothing found"
    saving = end = brief = unchecked = ""
    if result.saving_ms is not None:
        saving = f" · saving {report.format_time(result.saving_ms)}"
    if result.savings.end_to_end_ms is not None:
        number = format_ms(result.savings.end_to_end_ms)
        end, brief = f", end to end about {number} ms", f", {number} end to end"
    if result.not_checked:
        unchecked = f" · {plural(result.rules_not_checked, 'rule')} not checked"
    forms = (
        long + saving + end + unchecked,
        short + saving + end + unchecked,
        short + saving + brief + unchecked,
    )
    return next((form for form in forms if width is None or len(form) <= width), short + saving + brief)


def tab_badge(result: LintResult) -> str:
    """Return the text after the tab's title: errors and warnings, if there are any."""
    errors, warnings = result.counts[FindingSeverity.ERROR], result.counts[FindingSeverity.WARNING]
    return "".join([f" ✗{errors}" if errors else "", f" ⚠{warnings}" if warnings else ""])


def describe_clean(result: LintResult) -> Line:
    """Return the line for a result without findings."""
    looked = f"{plural(len(result.rules), 'rule')} checked, {result.rules_not_checked} not checked"
    return Line(f"Nothing found: {looked}.", "muted")


def layer_marks(result: LintResult) -> dict[int, FindingSeverity]:
    """Return the worst severity of each layer with an error or a warning."""
    worst = {index: findings[0].severity for index, findings in result.by_layer.items()}
    return {index: severity for index, severity in worst.items() if severity.rank < FindingSeverity.INFO.rank}


def layer_finding_lines(result: LintResult, index: int) -> list[Line]:
    """Return the findings about a layer, for its details."""
    return [
        replace(_short_line(judged, indent=2), target=judged) for judged in result.by_layer.get(index, ())
    ]


def _short_line(judged: Judged, indent: int = 0) -> Line:
    saving = f" [{format_ms(judged.saving_ms)} ms saving]" if judged.saving_ms is not None else ""
    return Line(judged.message + saving, label=f"{MARKS[judged.severity]} {judged.rule.id}", indent=indent)


def finding_lines(entry: Entry, rules: Sequence[Rule]) -> Iterator[Line]:
    """Yield all facts of an entry: meaning, remedy, source of the rule, and its layers.

    Args:
        rules: Used to look up rules that were not checked.
    """
    judged = entry.judged
    if entry.is_group:
        yield Line(entry.message, "heading")
        for names, reason in group_not_checked(entry.report.result):
            yield Line(names, "section")
            yield Line(reason, indent=2)
        return
    rule = judged.rule if judged else next((rule for rule in rules if rule.id == entry.rule), None)
    yield Line(f"{entry.rule}: {rule.title}" if rule else entry.rule, "heading")
    for missing in entry.not_checked:
        which = f" at {plural(missing.layers, 'layer')}" if missing.layers is not None else ""
        yield Line(f"Not checked{which}")
        yield Line(missing.reason)
    if judged is not None:
        yield from _weight_lines(entry.report, judged)
    if judged is not None and judged.reason:
        yield Line("Suppressed", "section")
        yield Line(judged.reason, label="Reason", indent=2)
        yield Line(judged.origin, label="Stated in", indent=2)
    if rule is not None:
        yield from _rule_lines(rule, judged)
    if judged is not None and judged.layers:
        yield from _layer_lines(entry.report.engine, judged)


def _weight_lines(report: EngineReport, judged: Judged) -> Iterator[Line]:
    yield Line(judged.message)
    milder = ", lowered by one level: small saving or low confidence" if judged.is_demoted else ""
    yield Line(judged.severity.value + milder, label="Severity")
    if judged.severity is not FindingSeverity.GOOD:
        yield Line(report.format_time(judged.saving_ms), label="Saving")
        if judged.finding.formula:
            yield Line(judged.finding.formula, label="Estimate")
        yield Line(judged.confidence.value, label="Confidence")
    if judged.layers:
        time, lacking = report.format_time(judged.layer_ms), judged.layers_without_time
        if lacking and judged.layer_ms is not None:
            time += f", {plural(lacking, 'layer')} without a time"
        yield Line(time, label="Layers take")
    if judged.finding.evidence:
        yield Line("Evidence", "section")
        for evidence in judged.finding.evidence:
            label, text = describe_evidence(evidence)
            yield Line(text, label=label, indent=2)


def _rule_lines(rule: Rule, judged: Judged | None) -> Iterator[Line]:
    parts = {
        "Remedy": [judged.remedy if judged is not None else rule.remedy],
        "Why": [rule.why],
        "Condition": [rule.looks_for],
        "Exceptions": [rule.not_when],
        "Read on": rule.references,
    }
    for title, texts in parts.items():
        if any(texts):
            yield Line(title, "section")
            yield from (Line(text, indent=2) for text in texts)


def _layer_lines(engine: Engine, judged: Judged) -> Iterator[Line]:
    yield Line(f"{plural(len(judged.layers), 'layer')}", "section")
    for index in judged.layers[:MOST_LAYERS]:
        layer, saving = engine.layers[index], judged.finding.savings_ms.get(index)
        figures = f"{format_ms(layer.latency_ms)} ms"
        figures += f", saving {format_ms(saving)} ms" if saving is not None else ""
        yield Line(f"{shorten_name_list(layer.name)}  ({figures})", label=str(index), indent=2, target=index)
    if len(judged.layers) > MOST_LAYERS:
        yield Line(f"and {len(judged.layers) - MOST_LAYERS} more", "muted", indent=2)


_EVIDENCE_UNITS: dict[str, Callable[[float], str]] = {
    "_ms": lambda value: f"{format_ms(value)} ms",
    "_pct": lambda value: f"{format_pct(value)} %",
    "_bytes": format_bytes,
}


def describe_evidence(evidence: Evidence) -> tuple[str, str]:
    """Return label and text; the unit at the end of the name goes to the value: `latency`, `0.0952 ms`."""
    name, value = evidence.name, evidence.value
    unit = next((unit for unit in _EVIDENCE_UNITS if name.endswith(unit)), "")
    label = name.removesuffix(unit).replace("_", " ")
    if value is None:
        return label, MISSING
    if isinstance(value, bool):
        return label, "yes" if value else "no"
    if unit and isinstance(value, (int, float)):
        return label, _EVIDENCE_UNITS[unit](value)
    return label, f"{value:.4g}" if isinstance(value, float) else str(value)
