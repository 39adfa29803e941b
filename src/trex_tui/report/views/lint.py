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
MOST_RULES = 12
"""Rules named that lack the same data; JSON has all."""
MOST_NAMES = 3
"""Layers named in a sentence."""
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
RESULT = {
    column.key: column
    for column in (
        Column("counts", "Findings", "Number of findings by severity, without suppressed and minor ones."),
        Column("savings", "Possible savings", "The savings of all findings together, by where they are."),
        Column("minor", "Minor findings", f"Findings with a saving below {MINOR_PCT} % of the engine; `--all` lists them."),
        Column("reproducibility", "Reproducibility", "What lets the next build of the same model differ."),
        Column("positives", "Well done", "Strengths."),
        Column("suppressed", "Suppressed", "Findings that the configuration suppresses."),
        Column("not_checked", "Not checked", "Rules that lack data, and what they need."),
        Column("broken_rules", "Failed rules", "Rules that raised an error."),
        Column("milder", "Milder", "Number of findings below `--min-severity`."),
        Column("layers_ms", "In layers ms", "Of each layer the largest saving of any finding, never more than its time."),
        Column("engine_ms", "Between layers ms", "The largest saving of findings about no layer."),
        Column("end_to_end_ms", "End to end ms", "The saving as part of the latency.",
               "layers_ms · min(1, median compute / latency_sum_ms) + engine_ms"),
    )
}  # fmt: skip
"""What is known about the findings of an engine together."""
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
        share = self.pct(ms)
        if ms is None:
            return "unknown"
        return f"{format_ms(ms)} ms" + (f" ({format_pct(share)} %)" if share is not None else "")


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
    savings, parts = linted.result.savings, []
    if savings.total_ms is None:
        return "possible saving unknown" if linted.result.findings else ""
    if savings.layers_ms is not None:
        share = linted.pct(savings.layers_ms)
        of = "" if share is None else f" ({format_pct(share)} % of the layers' time)"
        parts.append(f"{format_ms(savings.layers_ms)} ms{of}")
    if savings.engine_ms is not None:
        parts.append(f"{format_ms(savings.engine_ms)} ms between layers")
    end = f", {format_ms(savings.end_to_end_ms)} ms end to end" if savings.end_to_end_ms is not None else ""
    return f"possible saving {' and '.join(parts)}{end}"


def describe_summary(linted: Linted) -> str:
    """Return the number of findings, their possible savings, and the number of hidden ones, as a sentence."""
    result = linted.result
    parts = [count_findings(result), describe_savings(linted)]
    if result.milder:
        parts.append(f"{plural(result.milder, 'finding')} below --min-severity")
    return as_sentence("; ".join(filter(None, parts)))


def describe_saving(linted: Linted, finding: Finding) -> str:
    """Return the time of the layers and the possible saving; `unknown` without a profile."""
    if finding.saving_ms is None:
        if finding.layer_ms is None:
            return "saving unknown" if finding.layers else "no saving"
        return f"saving unknown, layers: {linted.format_time(finding.layer_ms)}"
    text = f"saving {linted.format_time(finding.saving_ms)}"
    if finding.layer_ms is not None and finding.layer_ms > finding.saving_ms:
        text += f" of {format_ms(finding.layer_ms)} ms"
    return text


def group_not_checked(missing: Iterable[NotChecked]) -> list[tuple[str, str]]:
    """Return ids of rules that were not checked, with reasons, grouped by reason."""
    by_reason: dict[str, list[str]] = {}
    for rule, reason, layers in missing:
        which = f" ({plural(layers, 'layer')})" if layers is not None else ""
        by_reason.setdefault(reason, []).append(rule + which)
    return [(_join_rules(rules), printable(reason)) for reason, rules in by_reason.items()]


def _join_rules(rules: Sequence[str]) -> str:
    """Return the ids of rules; of many, their number."""
    return ", ".join(rules) if len(rules) <= MOST_RULES else plural(len(rules), "rule")


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
    data = {
        "files": {kind.value: path for kind, path in engine.files.items()},
        "layers": len(engine),
        "latency_sum_ms": engine.latency_sum_ms,
        "rules": result.rules,
        "counts": result.counts,
        "saving_ms": result.saving_ms,
        "savings": result.savings,
        "findings": [plain_finding(linted, finding) for finding in result.findings],
        "minor": [plain_finding(linted, finding) for finding in result.minor],
        "reproducibility": [plain_finding(linted, finding) for finding in result.remarks],
        "positives": [plain_finding(linted, finding) for finding in result.positives],
        "suppressed": [
            plain_finding(linted, finding) | {"reason": finding.reason, "origin": finding.origin}
            for finding in result.suppressed
        ],
        "not_checked": result.not_checked,
        "broken_rules": result.failed,
        "milder": result.milder,
    }
    return Document("lint", engine.name, list(_sections(linted)), engine.notes, data=data)


def plain_finding(linted: Linted, finding: Finding) -> dict[str, Any]:
    """Return everything about a finding, as JSON has it; keys as in `FINDING`."""
    names = plain_values(linted.engine.layers.loc[list(finding.layers), "name"])
    return {
        "rule": finding.rule.id,
        "title": finding.rule.title,
        "severity": finding.severity.value,
        "is_demoted": finding.is_demoted,
        "message": finding.message,
        "layers": [{"index": layer, "name": name} for layer, name in zip(finding.layers, names, strict=True)],
        "suppressed_layers": finding.suppressed_layers,
        "layer_ms": finding.layer_ms,
        "layers_without_time": finding.layers_without_time,
        "saving_ms": finding.saving_ms,
        "saving_pct": linted.pct(finding.saving_ms),
        "savings_ms": {str(layer): ms for layer, ms in finding.savings_ms.items()},
        "engine_saving_ms": finding.engine_saving_ms,
        "confidence": finding.confidence.value,
        "estimate": finding.estimate or None,
        "evidence": plain(finding.evidence),
        "remedy": finding.remedy,
        "references": list(finding.rule.references),
        "fingerprint": fingerprint(linted.engine, finding),
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
    groups = {
        "Reproducibility": [" ".join(f"{printable(f.message)} ({f.rule.id})" for f in result.remarks)],
        f"Below {MINOR_PCT} % of the time: --all": _count_by_rule(result.minor),
        "Well done": [f"{finding.rule.id:<10} {printable(finding.message)}" for finding in result.positives],
        "Suppressed": [_describe_suppressed(engine, finding) for finding in result.suppressed],
        "Not checked": [f"{rules}: {reason}" for rules, reason in group_not_checked(result.not_checked)],
    }
    for name, texts in groups.items():
        if any(texts):
            yield Section("", name, sentences=[f"  {text}" for text in texts], audience="people")


def _describe_finding(linted: Linted, finding: Finding, *, has_remedy: bool) -> Section:
    rule = finding.rule
    lines = [printable(finding.message)]
    if names := name_layers(linted.engine, finding.layers):
        names += [f"{finding.suppressed_layers} suppressed"] if finding.suppressed_layers else []
        lines.append(f"{'layer' if len(finding.layers) == 1 else 'layers'}: {'; '.join(names)}")
    estimate = f"; {printable(finding.estimate)}" if finding.estimate else ""
    lines.append(f"{describe_saving(linted, finding)}, confidence {finding.confidence.value}{estimate}")
    lines += [f"do: {printable(str(finding.remedy))}"] if has_remedy else []
    return Section(
        "",
        f"{finding.severity.value:<7}  {rule.id}  {printable(rule.title)}",
        sentences=[f"  {line}" for line in lines],
        is_warning=finding.severity is ERROR,
        audience="people",
    )


def _count_by_rule(findings: Sequence[Finding]) -> list[str]:
    ids = dict.fromkeys(finding.rule.id for finding in findings)
    return [f"{plural(len(findings), 'finding')} ({', '.join(ids)})"] if findings else []


def _describe_suppressed(engine: Engine, finding: Finding) -> str:
    names = "; ".join(name_layers(engine, finding.layers)) or "the engine"
    because = f"because {printable(finding.reason)} ({printable(finding.origin)})"
    return f"{finding.rule.id:<10} {printable(finding.message)} [{names}] {because}"


def findings_table(linted: Linted, top: int | None = None) -> Section:
    """Return a row per finding, the worst first.

    Args:
        top: Number of rows; None or 0 for all.
    """
    findings = linted.result.findings[: top or None]
    rows = [
        plain_finding(linted, finding)
        | {"layers": "; ".join(name_layers(linted.engine, finding.layers)) or "the engine"}
        for finding in findings
    ]
    keys = list(_TABLE)
    frame = pd.DataFrame([{key: row[key] for key in keys} for row in rows], columns=keys)
    return Section(
        "findings",
        "Findings",
        sentences=[describe_summary(linted)],
        frame=frame.astype({"saving_ms": "Float64", "saving_pct": "Float64"}),
        columns=[FINDING[key] for key in keys],
        total=len(linted.result.findings),
        noun="finding",
    )


# Screens


class Entry(NamedTuple):
    """A row of the list on screen.

    Attributes:
        level: 0, or 1 for what a group has.
        finding: None for a group, and for rules that were not checked.
        missing: Rules that were not checked: one, or all of a group.
        title: Of a group.
    """

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
    finding = entry.finding
    if entry.title:
        lines = [f"{names}: {reason}" for names, reason in group_not_checked(entry.missing)]
        yield Section("", entry.title, sentences=lines)
        return
    rule = finding.rule if finding else rules.get(entry.missing[0].rule)
    sentences = (
        [printable(finding.message)]
        if finding
        else [f"Not checked: {reason}" for _, reason in group_not_checked(entry.missing)]
    )
    title = f"{rule.id}: {printable(rule.title)}" if rule else entry.missing[0].rule
    yield Section("", title, list(_weights(linted, finding)) if finding else [], sentences)
    if finding is not None and finding.evidence:
        yield Section(
            "", "Evidence", [_evidence_fact(linted.engine, *item) for item in finding.evidence.items()]
        )
    if rule is not None:
        remedy = str(finding.remedy) if finding else _all_remedies(rule)
        yield Section("", "Remedy", sentences=[printable(remedy)])
        yield Section("", "Rule", list(_rule_facts(rule, has_remedy=False)))
    if finding is not None and finding.layers:
        yield _layers_section(linted.engine, finding)


def _weights(linted: Linted, finding: Finding) -> Iterator[Fact]:
    lowered = ", lowered by one level: small saving or low confidence" if finding.is_demoted else ""
    yield Fact(FINDING["severity"], finding.severity.value, finding.severity.value + lowered)
    if finding.severity is not GOOD:
        yield Fact(FINDING["saving_ms"], finding.saving_ms, linted.format_time(finding.saving_ms))
        if finding.estimate:
            yield Fact(FINDING["estimate"], finding.estimate, printable(finding.estimate))
        yield Fact(FINDING["confidence"], finding.confidence.value)
    if finding.layers:
        time, lacking = linted.format_time(finding.layer_ms), finding.layers_without_time
        if lacking and finding.layer_ms is not None:
            time += f", {plural(lacking, 'layer')} without a time"
        yield Fact(FINDING["layer_ms"], finding.layer_ms, time)
    if finding.reason:
        yield Fact(FINDING["reason"], finding.reason)
        yield Fact(FINDING["origin"], finding.origin)


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


def fit_summary(linted: Linted, width: int | None = None) -> str:
    """Return the number of findings by severity, and the possible savings.

    Args:
        width: Available cells: text is omitted before numbers; None for no limit.
    """
    result = linted.result
    short = " ".join(f"{MARKS[level]} {result.counts[level]}" for level in LEVELS if result.counts[level])
    saving = end = unchecked = ""
    if result.saving_ms is not None:
        saving = f" · saving {linted.format_time(result.saving_ms)}"
    if result.savings.end_to_end_ms is not None:
        end = f", {format_ms(result.savings.end_to_end_ms)} ms end to end"
    if result.not_checked:
        unchecked = f" · {plural(result.rules_not_checked, 'rule')} not checked"
    long, short = count_findings(result), short or "nothing found"
    forms = (long + saving + end + unchecked, short + saving + end + unchecked, short + saving + end)
    return next((form for form in forms if width is None or len(form) <= width), short + saving)


# Rules


def rules_document(rules: Sequence[Rule], *, is_full: bool) -> Document:
    """Return the list of rules.

    Args:
        is_full: With all texts, not only the titles.
    """
    columns = [Column("id", "Rule"), FINDING["severity"], Column("title", "Title")]
    rows = [(rule.id, rule.severity.value, printable(rule.title)) for rule in rules]
    frame = pd.DataFrame(rows, columns=[column.key for column in columns])
    sections = [Section("", frame=frame, columns=columns, audience="people")] if len(rules) != 1 else []
    if is_full:
        sections += map(rule_section, rules)
    return Document("lint-rules", "Lint rules", sections, data={"rules": list(map(plain_rule, rules))})


def explain_rule(name: str) -> list[Term]:
    """Return what `explain` says about a rule or a family of rules; nothing for other names."""
    wanted, rules = name.upper(), load_rules()
    if rule := rules.by_id.get(wanted):
        words = {fact.column.title: str(fact) for fact in _rule_facts(rule)}
        return [
            Term(rule.id, f"{printable(rule.title)} ({rule.severity.value}).", subject=_RULES, words=words)
        ]
    members = {rule.id: printable(rule.title) for rule in rules.rules if rule.family == wanted}
    return [Term(wanted, FAMILIES.get(wanted, ""), words=members)] if members else []


def list_rule_terms() -> list[Term]:
    """Return a term per rule."""
    return [Term(rule.id, printable(rule.title), subject=_RULES) for rule in load_rules().rules]


def rule_section(rule: Rule) -> Section:
    """Return everything about a rule."""
    sentence = f"{printable(rule.title)} ({rule.severity.value})."
    return Section("", rule.id, list(_rule_facts(rule)), [sentence], audience="people")


def _rule_facts(rule: Rule, *, has_remedy: bool = True) -> Iterator[Fact]:
    parts = {
        "Condition": rule.looks_for,
        "Exceptions": rule.not_when,
        "Why": rule.why,
        "Remedy": _all_remedies(rule) if has_remedy else "",
        "Saving": rule.estimate,
        "Formula": rule.formula,
        "Thresholds": "; ".join(f"{name} = {value:g}" for name, value in rule.named_thresholds.items()),
        "Reads": ", ".join(rule.columns),
        "Read on": "; ".join(rule.references),
    }
    yield from (Fact(Column("", label), None, printable(text)) for label, text in parts.items() if text)


def _all_remedies(rule: Rule) -> str:
    """Return the remedy of a rule; alternatives, of which the version decides, one after the other."""
    return rule.remedy if isinstance(rule.remedy, str) else " Or: ".join(rule.remedy)


def plain_rule(rule: Rule) -> dict[str, Any]:
    """Return everything about a rule, as JSON has it."""
    return {
        "id": rule.id,
        "family": rule.family,
        "title": rule.title,
        "severity": rule.severity.value,
        "looks_for": rule.looks_for,
        "not_when": rule.not_when or None,
        "why": rule.why,
        "remedy": _all_remedies(rule),
        "estimate": rule.estimate or None,
        "formula": rule.formula or None,
        "references": list(rule.references),
        "columns": list(rule.columns),
        "thresholds": rule.named_thresholds,
    }
