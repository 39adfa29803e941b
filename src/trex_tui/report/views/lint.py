"""Lint results: the document of the command, the list and the details on screen, and the texts of rules."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from trex_tui.column import Column
from trex_tui.engine.model import Engine
from trex_tui.errors import Note
from trex_tui.frames import plain_values
from trex_tui.lint.config import LintConfig, format_fail_on
from trex_tui.lint.rule import ERROR, GOOD, INFO, WARNING, Finding, FindingSeverity, NotChecked, Rule
from trex_tui.lint.rules import FAMILIES, load_rules
from trex_tui.lint.run import MINOR_PCT, LintResult
from trex_tui.report.document import Document, Fact, Section, plain
from trex_tui.report.terms import Term
from trex_tui.text import (
    as_sentence,
    format_ms,
    format_pct,
    plural,
    printable,
    shorten_name_list,
)

LEVELS = (ERROR, WARNING, INFO)
MARKS = {ERROR: "E", WARNING: "W", INFO: "i", GOOD: "✓"}
"""One-cell severities, distinct without colour."""
MOST_LAYERS = 200
"""Number of layers listed below a finding; the rest is counted."""
MOST_RULES, MOST_NAMES = 12, 3
"""Number of rules and layers named in a sentence."""
_OF_MARKS = "E error, W warning, i info, ✓ well done, – suppressed or listed on request, ? not checked."
FINDING = {
    column.key: column
    for column in (
        Column("mark", "", _OF_MARKS, width=1, priority=0),
        Column("rule", "Rule", "Id of the rule; `explain ID` describes it.", width=10, priority=0),
        Column("title", "Finding", "Subject of the rule.", width=32, priority=0),
        Column("severity", "Severity", "error, warning, info or good.", words={s.value: s.meaning for s in FindingSeverity}),
        Column("is_demoted", "Lowered", "A warning became an info: saving below 1 % of the engine, or low confidence."),
        Column("message", "Finding", "What was found, with numbers."),
        Column("layers", "Layers", "The layers, in execution order; empty for the engine as a whole.", width=24),
        Column("place", "Layer", "The first of its layers, and the number of further ones.", width=15, priority=1),
        Column("suppressed_layers", "Suppressed layers", "Number of its layers that the configuration removed."),
        Column("layer_ms", "Layers take ms", "Time of its layers."),
        Column("layers_without_time", "Without time", "Number of its layers that are missing in that time."),
        Column("saving_ms", "Saving ms", "Possible saving: an estimate, never more than the layers take.", priority=0),
        Column("saving_pct", "%", "The saving in percent of the time of all layers.", priority=2),
        Column("savings_ms", "Savings ms", "The saving by layer."),
        Column("engine_saving_ms", "Between layers ms", "A saving that belongs to no layer."),
        Column("confidence", "Confidence", "Confidence in the saving; without one, in the finding.", width=10, priority=3),
        Column("estimate", "Estimate", "What the saving assumes."),
        Column("formula", "Formula", "How the rule computes the saving."),
        Column("evidence", "Evidence", "The values that triggered the rule."),
        Column("remedy", "Remedy", "What to do in this case.", width=40),
        Column("references", "Read on", "Public documents."),
        Column("fingerprint", "Fingerprint", "The same in every run: a hash of engine, rule and layers."),
        Column("reason", "Reason", "Why it is suppressed."),
        Column("origin", "Stated in", "File and key of the suppression."),
    )
}  # fmt: skip
"""What is known about a finding."""
_AS_FOUND = ("is_demoted", "message", "suppressed_layers", "layer_ms", "layers_without_time", "saving_ms",
             "engine_saving_ms", "remedy")  # fmt: skip
"""Attributes of a finding that JSON has as they are."""
_TABLE = ("severity", "rule", "message", "layers", "saving_ms", "saving_pct", "remedy")
_RULES = "lint rules"


class Linted(NamedTuple):
    """An engine with its results."""

    engine: Engine
    result: LintResult

    def pct(self, ms: float | None) -> float | None:
        """Return a time in percent of all layers."""
        total = self.engine.latency_total_ms
        return None if ms is None or not total else 100.0 * ms / total

    def format_time(self, ms: float | None) -> str:
        """Return `0.123 ms (4.5 %)`; `unknown` for None."""
        share = "" if (pct := self.pct(ms)) is None else f" ({format_pct(pct)} %)"
        return "unknown" if ms is None else f"{format_ms(ms)} ms{share}"


def fingerprint(engine: Engine, finding: Finding) -> str:
    """Return a stable id of a finding over several runs: a hash of engine, rule, and names and occurrences of the layers."""
    digest = hashlib.sha256()
    for part in (engine.name, finding.rule.id):
        digest.update(part.encode("utf-8", "backslashreplace") + b"\0")
    names, occurrences = (
        plain_values(engine.layers.loc[list(finding.layers), key]) for key in ("name", "occurrence")
    )
    for name, occurrence in zip(names, occurrences, strict=True):
        digest.update(f"{name}\0{occurrence}\0".encode("utf-8", "backslashreplace"))
    return digest.hexdigest()[:16]


# Sentences


def count_findings(result: LintResult) -> str:
    """Return `1 error, 2 warnings, 3 infos`, without zeros; `no findings`; `no rules run`."""
    if not result.rules:
        return "no rules run"
    counts = [plural(result.counts[level], level.value) for level in LEVELS if result.counts[level]]
    return ", ".join(counts) or "no findings"


def describe_savings(linted: Linted) -> str:
    """Return the possible savings of all findings together; empty if all are unknown."""
    savings = linted.result.savings
    if savings.total_ms is None:
        return "possible saving unknown" if linted.result.findings else ""
    parts = [linted.format_time(savings.layers_ms)] if savings.layers_ms is not None else []
    parts += [f"{format_ms(savings.engine_ms)} ms between layers"] if savings.engine_ms is not None else []
    end = f", {format_ms(savings.end_to_end_ms)} ms end to end" if savings.end_to_end_ms is not None else ""
    return f"possible saving {' and '.join(parts)}{end}"


def describe_summary(linted: Linted) -> str:
    """Return the number of findings, their possible savings, and the number of hidden ones, as a sentence."""
    hidden = linted.result.milder
    milder = f"{plural(hidden, 'finding')} below --min-severity" if hidden else ""
    parts = (count_findings(linted.result), describe_savings(linted), milder)
    return as_sentence("; ".join(filter(None, parts)))


def fit_summary(linted: Linted) -> str:
    """Return findings by severity, savings and unchecked rules in one line."""
    result, savings = linted.result, linted.result.savings
    parts = [count_findings(result)]
    if savings.total_ms is not None:
        end = (
            f", {format_ms(savings.end_to_end_ms)} ms end to end" if savings.end_to_end_ms is not None else ""
        )
        parts.append(f"saving {linted.format_time(savings.total_ms)}{end}")
    parts += [f"{plural(result.rules_not_checked, 'rule')} not checked"] if result.not_checked else []
    return " · ".join(parts)


def weigh(linted: Linted, finding: Finding) -> str:
    """Return saving, time of the layers, confidence and what the saving assumes, as far as known."""
    parts = [f"saving {linted.format_time(finding.saving_ms)}"] if finding.saving_ms is not None else []
    parts += [f"layers {linted.format_time(finding.layer_ms)}"] if finding.layer_ms is not None else []
    parts += [f"confidence {finding.confidence.value}", *filter(None, [printable(finding.estimate)])]
    return "; ".join(parts)


def group_not_checked(missing: Iterable[NotChecked]) -> list[tuple[str, str]]:
    """Return ids of rules that were not checked (of many, their number), with reasons, grouped by reason."""
    by_reason: dict[str, list[str]] = {}
    for rule, reason, layers in missing:
        which = f" ({plural(layers, 'layer')})" if layers is not None else ""
        by_reason.setdefault(reason, []).append(rule + which)
    return [
        (", ".join(rules) if len(rules) <= MOST_RULES else plural(len(rules), "rule"), printable(reason))
        for reason, rules in by_reason.items()
    ]


def name_layers(engine: Engine, layers: Sequence[int]) -> list[str]:
    """Return index and name of the first layers, and the number of further ones."""
    first = list(layers[:MOST_NAMES])
    names = plain_values(engine.layers.loc[first, "name"])
    named = [
        f"{layer} {printable(shorten_name_list(name))}" for layer, name in zip(first, names, strict=True)
    ]
    rest = len(layers) - MOST_NAMES
    return named + ([f"and {rest} more"] if rest > 0 else [])


# The document of the command


def lint_document(engines: Sequence[Linted], config: LintConfig, notes: Sequence[Note] = ()) -> Document:
    """Return the findings of engines.

    Args:
        notes: Of files that belong to no engine, and of rules that could not be loaded.
    """
    fails = any(linted.result.fails(config.fail_on) for linted in engines)
    data = {"fail_on": format_fail_on(config.fail_on), "fails": fails}
    parts = [_describe_engine(linted) for linted in engines]
    return Document("lint", "Findings", notes=notes, parts=parts, data=data, version=3)


def _describe_engine(linted: Linted) -> Document:
    engine, result = linted
    data: dict[str, Any] = {
        "files": {kind.value: path for kind, path in engine.files.items()},
        "layers": len(engine),
        "latency_sum_ms": engine.latency_sum_ms,
        "rules": result.rules,
        "counts": result.counts,
        "saving_ms": result.savings.total_ms,
        "savings": result.savings,
    }
    groups = {"findings": result.findings, "minor": result.minor, "reproducibility": result.remarks}
    groups |= {"positives": result.positives, "suppressed": result.suppressed}
    data |= {key: [plain_finding(linted, finding) for finding in group] for key, group in groups.items()}
    data |= {"not_checked": result.not_checked, "broken_rules": result.failed, "milder": result.milder}
    return Document("lint", engine.name, list(_sections(linted)), engine.notes, data=data)


def plain_finding(linted: Linted, finding: Finding) -> dict[str, Any]:
    """Return everything about a finding, as JSON has it; keys as in `FINDING`."""
    names = plain_values(linted.engine.layers.loc[list(finding.layers), "name"])
    suppressed = {"reason": finding.reason, "origin": finding.origin} if finding.reason else {}
    return {
        "rule": finding.rule.id,
        "title": finding.rule.title,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        **{key: getattr(finding, key) for key in _AS_FOUND},
        "layers": [{"index": layer, "name": name} for layer, name in zip(finding.layers, names, strict=True)],
        "saving_pct": linted.pct(finding.saving_ms),
        "savings_ms": {str(layer): ms for layer, ms in finding.savings_ms.items()},
        "estimate": finding.estimate or None,
        "evidence": plain(finding.evidence),
        "references": list(finding.rule.references),
        "fingerprint": fingerprint(linted.engine, finding),
        **suppressed,
    }


def _sections(linted: Linted) -> Iterator[Section]:
    """Yield the summary, a section per finding, and what else there is to say in a line each."""
    engine, result = linted
    total = engine.latency_sum_ms
    times = "no layer times" if total is None else f"layers {format_ms(total)} ms"
    title = [printable(engine.facts.device_name or ""), plural(len(engine), "layer"), times]
    lines = [as_sentence(", ".join(filter(None, title))), describe_summary(linted)]
    yield Section("", sentences=lines, audience="people")
    advice: set[tuple[str, object]] = set()
    for finding in result.findings:
        is_new = (finding.rule.id, finding.remedy) not in advice  # once is enough
        advice.add((finding.rule.id, finding.remedy))
        yield _describe_finding(linted, finding, has_remedy=is_new)
    minor = ", ".join(dict.fromkeys(finding.rule.id for finding in result.minor))
    groups = {
        "Reproducibility": [" ".join(f"{printable(f.message)} ({f.rule.id})" for f in result.remarks)],
        f"Below {MINOR_PCT} % of the time: --all": [f"{plural(len(result.minor), 'finding')} ({minor})"]
        * bool(minor),
        "Well done": [f"{finding.rule.id:<10} {printable(finding.message)}" for finding in result.positives],
        "Suppressed": [
            f"{finding.rule.id:<10} {printable(finding.message)} [{_place(engine, finding)}] because "
            f"{printable(finding.reason)} ({printable(finding.origin)})"
            for finding in result.suppressed
        ],
        "Not checked": [f"{rules}: {reason}" for rules, reason in group_not_checked(result.not_checked)],
    }
    for name, texts in groups.items():
        if any(texts):
            yield Section("", name, sentences=[f"  {text}" for text in texts], audience="people")


def _place(engine: Engine, finding: Finding) -> str:
    return "; ".join(name_layers(engine, finding.layers)) or "the engine"


def _describe_finding(linted: Linted, finding: Finding, *, has_remedy: bool) -> Section:
    lines = [printable(finding.message)]
    if finding.layers:
        hidden = f"; {finding.suppressed_layers} suppressed" if finding.suppressed_layers else ""
        lines.append(
            f"{'layer' if len(finding.layers) == 1 else 'layers'}: {_place(linted.engine, finding)}{hidden}"
        )
    lines.append(weigh(linted, finding))
    lines += [f"do: {printable(str(finding.remedy))}"] if has_remedy else []
    title = f"{finding.severity.value:<7}  {finding.rule.id}  {printable(finding.rule.title)}"
    lines, is_error = [f"  {line}" for line in lines], finding.severity is ERROR
    return Section("", title, sentences=lines, is_warning=is_error, audience="people")


def findings_table(linted: Linted, top: int | None = None) -> Section:
    """Return a row per finding, the worst first; with `top`, the first ones."""
    findings = linted.result.findings[: top or None]
    places = [_place(linted.engine, finding) for finding in findings]
    rows = [plain_finding(linted, finding) for finding in findings]
    frame = pd.DataFrame(rows, columns=list(_TABLE)).assign(layers=places)
    return Section(
        "findings",
        "Findings",
        sentences=[describe_summary(linted)],
        frame=frame.astype({"saving_ms": "Float64", "saving_pct": "Float64"}),
        columns=[FINDING[key] for key in _TABLE],
        total=len(linted.result.findings),
        noun="finding",
    )


# Screens


class Entry(NamedTuple):
    """A row of the list on screen: a finding, a rule that was not checked, or the title of a group of them (level 1)."""

    level: int
    finding: Finding | None = None
    missing: tuple[NotChecked, ...] = ()
    title: str = ""

    @property
    def mark(self) -> str:
        if self.finding is None:
            return "?" if self.missing else "–"
        return "–" if self.finding.reason else MARKS[self.finding.severity]


def list_entries(result: LintResult) -> list[Entry]:
    """Return findings, the worst first, and strengths; then groups with what is minor, suppressed or not checked."""
    entries = [Entry(0, finding) for finding in (*result.findings, *result.remarks, *result.positives)]
    groups = {
        f"{plural(len(result.minor), 'finding')} below {MINOR_PCT} % of the time": result.minor,
        f"{plural(len(result.suppressed), 'finding')} suppressed": result.suppressed,
    }
    for title, findings in groups.items():
        if findings:
            entries += [Entry(0, title=title), *(Entry(1, finding) for finding in findings)]
    if missing := result.not_checked:
        title = f"{plural(result.rules_not_checked, 'rule')} not checked"
        entries += [Entry(0, missing=missing, title=title), *(Entry(1, missing=(rule,)) for rule in missing)]
    return entries


def describe_entry(linted: Linted, entry: Entry, rules: Mapping[str, Rule]) -> Iterator[Section]:
    """Yield all facts of an entry: meaning, evidence, remedy, the texts of the rule, and its layers.

    Args:
        rules: Of rules that were not checked.
    """
    finding, reasons = entry.finding, group_not_checked(entry.missing)
    if entry.title:
        yield Section("", entry.title, sentences=[f"{names}: {reason}" for names, reason in reasons])
        return
    rule = finding.rule if finding else rules.get(entry.missing[0].rule)
    title = f"{rule.id}: {printable(rule.title)}" if rule else entry.missing[0].rule
    if finding is None:
        yield Section("", title, sentences=[f"Not checked: {reasons[0][1]}"])
    else:
        yield Section("", title, list(_weights(linted, finding)), [printable(finding.message)])
        if finding.evidence:
            facts = [_evidence_fact(linted.engine, *item) for item in finding.evidence.items()]
            yield Section("", "Evidence", facts)
    if rule is not None:
        remedy = str(finding.remedy) if finding else _all_remedies(rule)
        yield Section("", "Remedy", sentences=[printable(remedy)])
        yield Section("", "Rule", [fact for fact in _rule_facts(rule) if fact.column.title != "Remedy"])
    if finding is not None and finding.layers:
        yield _layers_section(linted.engine, finding)


def _weights(linted: Linted, finding: Finding) -> Iterator[Fact]:
    lowered = ", lowered by one level: small saving or low confidence" if finding.is_demoted else ""
    texts = {"severity": finding.severity.value + lowered}
    if finding.severity is not GOOD:
        texts |= {"saving_ms": linted.format_time(finding.saving_ms), "estimate": finding.estimate}
        texts |= {"confidence": finding.confidence.value}
    texts |= {"layer_ms": linted.format_time(finding.layer_ms)} if finding.layers else {}
    texts |= {"reason": finding.reason, "origin": finding.origin}
    for key, text in texts.items():
        if text:
            yield Fact(FINDING[key], getattr(finding, key), printable(text))


def _evidence_fact(engine: Engine, key: str, value: object) -> Fact:
    column = engine.columns.get(key) or Column(key, "")
    unit = column.unit.name
    words = key.removesuffix(next((end for end in ("_ms", "_pct", "_bytes", "_us") if key.endswith(end)), ""))
    title = column.title or words.replace("_", " ")
    return Fact(Column(key, title.removesuffix(f" {unit}")), value)


def _layers_section(engine: Engine, finding: Finding) -> Section:
    layers = list(finding.layers[:MOST_LAYERS])
    frame = engine.layers.loc[layers, ["name", "latency_ms"]].copy()
    frame["saving_ms"] = pd.Series(finding.savings_ms, dtype="Float64").reindex(layers)
    columns = [engine.columns["name"], engine.columns["latency_ms"], FINDING["saving_ms"]]
    count = len(finding.layers)
    more = [f"and {count - MOST_LAYERS} more"] if count > MOST_LAYERS else []
    return Section("layers", plural(count, "layer"), sentences=more, frame=frame, columns=columns)


# Rules


def rules_document(rules: Sequence[Rule]) -> Document:
    """Return the list of rules, in JSON with all texts."""
    columns = [Column("id", "Rule"), FINDING["severity"], Column("title", "Title")]
    rows = [(rule.id, rule.severity.value, printable(rule.title)) for rule in rules]
    frame = pd.DataFrame(rows, columns=[column.key for column in columns])
    section = Section("", frame=frame, columns=columns, audience="people")
    return Document("lint-rules", "Lint rules", [section], data={"rules": list(map(_plain_rule, rules))})


def explain_rule(name: str) -> list[Term]:
    """Return what `explain` says about a rule or a family of rules; nothing for other names."""
    wanted, rules = name.upper(), load_rules()
    if rule := rules.by_id.get(wanted):
        words = {fact.column.title: str(fact) for fact in _rule_facts(rule)}
        return [Term(rule.id, _head(rule), subject=_RULES, words=words)]
    members = {rule.id: printable(rule.title) for rule in rules.rules if rule.family == wanted}
    return [Term(wanted, FAMILIES.get(wanted, ""), words=members)] if members else []


def list_rule_terms() -> list[Term]:
    """Return a term per rule."""
    return [Term(rule.id, printable(rule.title), subject=_RULES) for rule in load_rules().rules]


def _head(rule: Rule) -> str:
    return f"{printable(rule.title)} ({rule.severity.value})."


def _rule_facts(rule: Rule) -> Iterator[Fact]:
    parts = {
        "Condition": rule.looks_for,
        "Exceptions": rule.not_when,
        "Why": rule.why,
        "Remedy": _all_remedies(rule),
        "Saving": rule.estimate,
        "Formula": rule.formula,
        "Reads": ", ".join(rule.columns),
        "Read on": "; ".join(rule.references),
    }
    yield from (Fact(Column("", label), None, printable(text)) for label, text in parts.items() if text)


def _all_remedies(rule: Rule) -> str:
    """Return the remedy of a rule; alternatives, of which the version decides, one after the other."""
    return rule.remedy if isinstance(rule.remedy, str) else " Or: ".join(rule.remedy)


def _plain_rule(rule: Rule) -> dict[str, Any]:
    """Return everything about a rule, as JSON has it."""
    texts = ("id", "family", "title", "looks_for", "not_when", "why", "estimate", "formula")
    return {
        **{key: getattr(rule, key) or None for key in texts},
        "severity": rule.severity.value,
        "remedy": _all_remedies(rule),
        "references": list(rule.references),
        "columns": list(rule.columns),
    }
