"""What lint found, for people, scripts, code hosts and pull requests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.errors import Diagnostic
from trex_tui.lint.config import LintConfig
from trex_tui.lint.model import Evidence, Judged, LintResult, NotChecked, Rule, Severity, Suppressed
from trex_tui.report.views.layer_details import Line
from trex_tui.text import MISSING, format_ms, format_pct, plural, printable, shorten_middle


@dataclass(frozen=True, slots=True)
class EngineReport:
    """An engine, and what lint says about it."""

    engine: Engine
    result: LintResult

    def layers_of(self, judged: Judged) -> list[Layer]:
        """Layers of a finding."""
        return [self.engine.layers[index] for index in judged.layers]

    def pct(self, ms: float | None) -> float | None:
        """A time in percent of the sum over layers."""
        total = self.engine.latency_sum_ms
        return None if ms is None or not total else 100.0 * ms / total


@dataclass(frozen=True, slots=True)
class LintReport:
    """What `trex-tui lint` tells.

    Attributes:
        engines: In the order they were found.
        config: What was asked for.
        diagnostics: Those of files that belong to no engine, and of rules that could not be had.
    """

    engines: tuple[EngineReport, ...]
    config: LintConfig
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def fails(self) -> bool:
        """Whether a finding is as severe as the command is to fail on."""
        return any(one.result.fails(self.config.fail_on) for one in self.engines)

    @property
    def broken_rules(self) -> tuple[str, ...]:
        """Ids of the rules that broke for any engine."""
        return tuple(sorted({name for one in self.engines for name in one.result.failed}))


def fingerprint(report: EngineReport, judged: Judged) -> str:
    """The same for the same finding of a later run: a hash of engine, rule, and names and places of the layers among
    those of the same name. 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in (report.engine.name, judged.rule.id):
        digest.update(part.encode("utf-8", "backslashreplace") + b"\0")
    for layer in report.layers_of(judged):
        digest.update(f"{layer.name}\0{layer.occurrence}\0".encode("utf-8", "backslashreplace"))
    return digest.hexdigest()[:16]


def count_words(result: LintResult) -> str:
    """`1 error, 2 warnings, 3 infos`, without those there are none of; `no findings`; `no rule ran`."""
    if not result.rules:
        return "no rule ran"
    parts = [
        plural(result.counts[severity], severity.value)
        for severity in Severity
        if severity is not Severity.GOOD and result.counts[severity]
    ]
    return ", ".join(parts) or "no findings"


def total_words(report: EngineReport) -> str:
    """What all findings could win together."""
    stakes = report.result.stakes
    if stakes.total_ms is None:
        return "milliseconds at stake unknown" if report.result.findings else ""
    words = f"{format_ms(stakes.total_ms)} ms at stake"
    share = report.pct(stakes.layers_ms)
    if share is not None:
        words += f" ({format_pct(share)} % of the layers' time)"
    if stakes.end_to_end_ms is not None:
        words += f", {format_ms(stakes.end_to_end_ms)} ms end to end"
    return words


def stake_words(report: EngineReport, judged: Judged) -> str:
    """Time of the layers and the part of it that could be won; `unknown` without a profile."""
    if judged.stake_ms is None:
        if judged.layer_ms is None:
            return "stake unknown" if judged.layers else "no stake"
        return f"stake unknown, layers take {_time(report, judged.layer_ms)}"
    words = f"stake {_time(report, judged.stake_ms)}"
    if judged.layer_ms is not None and judged.layer_ms > judged.stake_ms:
        words += f" of {format_ms(judged.layer_ms)} ms"
    return words


def _time(report: EngineReport, ms: float) -> str:
    share = report.pct(ms)
    return f"{format_ms(ms)} ms" + (f" ({format_pct(share)} %)" if share is not None else "")


def not_checked_words(result: LintResult) -> list[tuple[str, str]]:
    """Ids of rules and why they could not look, rules with the same reason together."""
    by_reason: dict[str, list[NotChecked]] = {}
    for one in result.not_checked:
        by_reason.setdefault(one.reason, []).append(one)
    words = []
    for reason, several in by_reason.items():
        names = [
            one.rule + (f" ({plural(one.layers, 'layer')})" if one.layers is not None else "")
            for one in several
        ]
        words.append((", ".join(names), printable(reason)))
    return words


def left_out_words(result: LintResult) -> str:
    """How many findings are not shown; empty if all are."""
    return f"{plural(result.milder, 'milder finding')} not shown" if result.milder else ""


def names_words(layers: Sequence[Layer], most: int, width: int = 0) -> list[str]:
    """Index and name of the first layers, harmless, and how many more there are.

    Args:
        width: Longer names lose their middle; 0 for no limit.
    """
    names = [printable(layer.name) for layer in layers[:most]]
    words = [
        f"{layer.index} {shorten_middle(name, width) if width else name}"
        for layer, name in zip(layers, names, strict=False)
    ]
    return words + ([f"and {len(layers) - most} more"] if len(layers) > most else [])


MOST_LAYERS = 200
"""Layers named below a finding; the rest is a number."""
MARKS = {Severity.ERROR: "E", Severity.WARNING: "W", Severity.INFO: "i", Severity.GOOD: "✓"}
"""Severities in one cell, told apart without colour."""
NOT_CHECKED_MARK, SUPPRESSED_MARK = "?", "–"


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the list: a finding, something well done, a finding left out, or a rule that could not look.

    Attributes:
        rule: Id of the rule.
        mark: In one cell.
        state: In a word.
        title: What the rule is about; of what could not be looked at, what it needs.
        judged: None for a rule that could not look.
        suppressed: Why it is left out; None if it is not.
        not_checked: None for findings.
    """

    rule: str
    mark: str
    state: str
    title: str
    judged: Judged | None = None
    suppressed: Suppressed | None = None
    not_checked: NotChecked | None = None

    @property
    def message(self) -> str:
        """What was found, or why nothing could be."""
        if self.not_checked is not None:
            return f"not checked: {self.not_checked.reason}"
        assert self.judged is not None
        return self.judged.message

    @property
    def layers(self) -> tuple[int, ...]:
        """Indices of the layers it is about."""
        return self.judged.layers if self.judged is not None else ()

    @property
    def stake_ms(self) -> float | None:
        """What could be won; None if unknown, or for what is left out."""
        return self.judged.stake_ms if self.judged is not None and self.suppressed is None else None

    @property
    def severity(self) -> Severity | None:
        """None for a rule that could not look, and for what is left out."""
        return self.judged.severity if self.judged is not None and self.suppressed is None else None


def entries(result: LintResult) -> list[Entry]:
    """Everything, the worst first: findings, what is well done, what is left out, what could not be looked at."""
    found = [
        Entry(one.rule.id, MARKS[one.severity], one.severity.value, one.rule.title, one)
        for one in (*result.findings, *result.positives)
    ]
    found += [
        Entry(one.judged.rule.id, SUPPRESSED_MARK, "suppressed", one.judged.rule.title, one.judged, one)
        for one in result.suppressed
    ]
    found += [
        Entry(one.rule, NOT_CHECKED_MARK, "not checked", f"not checked: {one.reason}", not_checked=one)
        for one in result.not_checked
    ]
    return found


def summary_words(result: LintResult, engine: Engine, width: int | None = None) -> str:
    """How many of each, and what all of them could win.

    Args:
        width: Cells that there are: words give way before numbers do.
    """
    named = ((Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.INFO, "info"))
    counts = ", ".join(plural(result.counts[severity], word) for severity, word in named)
    few = (
        " ".join(f"{MARKS[one]} {result.counts[one]}" for one, _ in named if result.counts[one])
        or "nothing found"
    )
    stake = end = unchecked = brief = ""
    if result.stake_ms is not None:
        stake = f" · at stake {format_ms(result.stake_ms)} ms{_share(result.stake_ms, engine)}"
    if result.stakes.end_to_end_ms is not None:
        number = format_ms(result.stakes.end_to_end_ms)
        end, brief = f", end to end about {number} ms", f", {number} end to end"
    if result.not_checked:
        unchecked = f" · {plural(len({one.rule for one in result.not_checked}), 'rule')} not checked"
    forms = (counts + stake + end + unchecked, few + stake + end + unchecked, few + stake + brief + unchecked)
    return next((form for form in forms if width is None or len(form) <= width), few + stake + brief)


def tab_badge(result: LintResult) -> str:
    """What the tab shows behind its title: errors and warnings, if there are any."""
    errors, warnings = result.counts[Severity.ERROR], result.counts[Severity.WARNING]
    return "".join([f" ✗{errors}" if errors else "", f" ⚠{warnings}" if warnings else ""])


def worst_lines(result: LintResult, most: int) -> list[Line]:
    """The worst findings, a line each, for the overview."""
    lines = [
        Line(_short(one), label=f"{MARKS[one.severity]} {one.rule.id}") for one in result.findings[:most]
    ]
    rest = len(result.findings) - most
    if rest > 0:
        lines.append(Line(f"and {rest} more", "muted"))
    if not lines:
        looked = f"{plural(len(result.rules), 'rule')} looked"
        lines.append(
            Line(
                f"Nothing found: {looked}, {len({one.rule for one in result.not_checked})} could not.",
                "muted",
            )
        )
    return lines


def layer_marks(result: LintResult) -> dict[int, Severity]:
    """Of each layer that something was found about, the worst severity."""
    return {index: found[0].severity for index, found in result.by_layer.items()}


def layer_finding_lines(result: LintResult, index: int) -> list[Line]:
    """The findings about a layer, for its details."""
    return [
        Line(_short(one), label=f"{MARKS[one.severity]} {one.rule.id}", indent=2)
        for one in result.by_layer.get(index, ())
    ]


def _short(one: Judged) -> str:
    stake = f" [{format_ms(one.stake_ms)} ms at stake]" if one.stake_ms is not None else ""
    return one.message + stake


def finding_lines(engine: Engine, entry: Entry, rules: Sequence[Rule]) -> Iterator[Line]:
    """All about one line of the list: what it means, what to do, where the rule comes from, and its layers.

    Args:
        rules: Where the rule of something that was not checked is looked up.
    """
    rule = entry.judged.rule if entry.judged else next((one for one in rules if one.id == entry.rule), None)
    yield Line(f"{entry.rule}: {rule.title}" if rule else entry.rule, "heading")
    if entry.judged is None:
        assert entry.not_checked is not None
        which = entry.not_checked.layers
        yield Line("Not checked" + (f" at {plural(which, 'layer')}" if which is not None else ""))
        yield Line(entry.not_checked.reason)
    else:
        yield from _weight_lines(engine, entry.judged)
    if entry.suppressed is not None:
        yield Line("Left out", "section")
        yield Line(entry.suppressed.reason, label="Reason", indent=2)
        yield Line(entry.suppressed.origin, label="Stated in", indent=2)
    if rule is not None:
        yield from _rule_lines(rule, entry.judged)
    if entry.judged is not None:
        yield from _layer_lines(engine, entry.judged)


def _weight_lines(engine: Engine, judged: Judged) -> Iterator[Line]:
    yield Line(judged.message)
    milder = ", one step milder than the rule: small stake or low confidence" if judged.is_demoted else ""
    yield Line(judged.severity.value + milder, label="Severity")
    if judged.severity is not Severity.GOOD:
        stake = (
            f"{format_ms(judged.stake_ms)} ms{_share(judged.stake_ms, engine)}"
            if judged.stake_ms is not None
            else "unknown"
        )
        yield Line(stake, label="At stake")
        if judged.finding.formula:
            yield Line(judged.finding.formula, label="Estimate")
        yield Line(judged.confidence.value, label="Confidence")
    if judged.layers:
        time = (
            f"{format_ms(judged.layer_ms)} ms{_share(judged.layer_ms, engine)}"
            if judged.layer_ms is not None
            else "unknown"
        )
        lacking = judged.layers_without_time
        time += (
            f", {plural(lacking, 'layer')} without a time" if lacking and judged.layer_ms is not None else ""
        )
        yield Line(time, label="Layers take")
    if judged.finding.evidence:
        yield Line("Evidence", "section")
        for one in judged.finding.evidence:
            yield Line(evidence_text(one), label=one.name, indent=2)


def _rule_lines(rule: Rule, judged: Judged | None) -> Iterator[Line]:
    parts = (
        ("What to do", judged.remedy if judged is not None else rule.remedy),
        ("Why it matters", rule.why),
        ("What the rule looks for", rule.looks_for),
        ("What it leaves alone", rule.not_when),
    )
    for title, text in parts:
        if text:
            yield Line(title, "section")
            yield Line(text, indent=2)
    if rule.references:
        yield Line("Read on", "section")
        yield from (Line(reference, indent=2) for reference in rule.references)


def _layer_lines(engine: Engine, judged: Judged) -> Iterator[Line]:
    if not judged.layers:
        return
    yield Line(f"{plural(len(judged.layers), 'layer')}", "section")
    for index in judged.layers[:MOST_LAYERS]:
        layer = engine.layers[index]
        stake = judged.finding.stakes_ms.get(index)
        figures = f"{format_ms(layer.latency_ms)} ms" + (
            f", {format_ms(stake)} at stake" if stake is not None else ""
        )
        yield Line(f"{layer.name}  ({figures})", label=str(index), indent=2, target=index)
    if len(judged.layers) > MOST_LAYERS:
        yield Line(f"and {len(judged.layers) - MOST_LAYERS} more", "muted", indent=2)


def evidence_text(evidence: Evidence) -> str:
    """A value as the unit in its name asks for."""
    value = evidence.value
    if value is None:
        return MISSING
    if isinstance(value, float):
        if evidence.name.endswith("_ms"):
            return format_ms(value)
        return format_pct(value) if evidence.name.endswith("_pct") else f"{value:.4g}"
    return str(value)


def _share(ms: float | None, engine: Engine) -> str:
    total = engine.latency_sum_ms
    return f" ({format_pct(100.0 * ms / total)} %)" if ms is not None and total else ""
