"""Terms of lint: findings, savings, and the texts of rules."""

from __future__ import annotations

from trex_tui.old.report.glossary.term import Subject, Term

_FINDINGS = ("positives", "suppressed", "actions")


def _of_finding(key: str, definition: str, *labels: str, formula: str = "") -> Term:
    also = tuple(f"{group}.{key}" for group in _FINDINGS)
    return Term(f"findings.{key}", definition, also=also, labels=labels, formula=formula)


FAMILIES = {
    "ATTN": "Attention that TensorRT split into separate layers, and projections computed one by one.",
    "BUILD": "Build settings, and the tactics that were tried and chosen.",
    "CONV": "Convolutions without tensor cores, or with unsuitable shapes.",
    "DLA": "Layers that left the accelerator, and the transitions to and from it.",
    "DYN": "Dynamic shapes and data-dependent indices.",
    "FMT": "Reformats, casts and copies: time without work on the network.",
    "FUSE": "Work that TensorRT could have fused into a neighbour's kernel.",
    "GEMM": "Matrix products without tensor cores, with shapes that do not suit tiles, or bound by weights.",
    "HOT": "Layers that dominate the time.",
    "LAUNCH": "Time spent on starting work.",
    "MEASURE": "Quality of the measurements.",
    "MEM": "Activations that stay in memory for long.",
    "OK": "Strengths.",
    "ONNX": "Nodes of the ONNX model in more kernels than needed, or computed again in every run.",
    "PLUG": "Costs of plugins in addition to their time.",
    "PREC": "Layers and engines in wider types than needed, or with precision lost in the build.",
    "QDQ": "Quantization that needs separate kernels, or is undone directly after its layer.",
    "ROOF": "Layers far below the limits of the device or of this engine.",
}
"""Subjects of the rule families."""

LINT = Subject(
    "lint",
    "Lint",
    "Lint, Overview; lint, report",
    "the rules, over all files of the set",
    (
        Term("lint.fail_on", "Severity or gate that --fail-on set; null for never."),
        Term("lint.fails", "True if the command exits with 1."),
        Term("engines.rules", "Ids of the rules that ran."),
        Term(
            "engines.counts",
            "Findings by severity.",
            entries="severities",
            gates=("error", "warning", "info"),
        ),
        Term(
            "engines.saving_ms",
            "Time that all findings together could save. Each layer counts once, with its largest saving. It is an "
            "upper bound from roofs and bytes; no engine was rebuilt.",
            labels=("saving", "possible saving"),
            formula="layers_ms + engine_ms",
        ),
        Term("engines.savings", "The saving of all findings, by where it is."),
        Term(
            "savings.layers_ms",
            "Saving in layers: of each layer the largest saving of any finding, never more than its time.",
        ),
        Term(
            "savings.engine_ms", "Saving between layers: the largest of the findings that are about no layer."
        ),
        Term(
            "savings.end_to_end_ms",
            "The saving as part of the end-to-end time.",
            formula="layers_ms · min(1, median compute / latency_sum_ms) + engine_ms",
        ),
        Term("engines.findings", "Errors, warnings and infos, the worst first.", gates=("findings",)),
        Term("engines.positives", "Strengths.", labels=("Well done",)),
        Term("engines.suppressed", "Findings that the configuration suppresses.", labels=("suppressed",)),
        Term(
            "engines.not_checked",
            ("Rules that were not checked, with their requirements."),
            labels=("not checked",),
        ),
        Term("not_checked.rule", "Id of the rule."),
        Term("not_checked.rules", "Ids of the rules."),
        Term("not_checked.reason", "Missing data, and how to get it."),
        Term("not_checked.layers", "Layers it could not check; null for the whole engine."),
        Term("broken_rules", "Rules that ended with an internal error."),
        Term("engines.milder", "Number of findings that --min-severity hides."),
        _of_finding("rule", "Id of the rule; `trex-tui explain ID` explains it.", "Rule"),
        Term("well_done.rule", "Id of the rule."),
        Term("well_done.message", "Strengths, with numbers."),
        _of_finding("title", "Subject of the rule.", "Finding"),
        _of_finding(
            "severity",
            "error: unreliable numbers; warning: possible saving or accuracy risk; info: information; good: "
            "a strength.",
            "Severity",
        ),
        _of_finding(
            "is_demoted",
            "True if the severity is one level below that of the rule: the saving is below 1 % of the "
            "engine, or uncertain.",
        ),
        _of_finding("message", "The finding, with its numbers."),
        _of_finding("layers", "Layers it is about; empty for the engine as a whole."),
        _of_finding("suppressed_layers", "Number of its layers excluded by the configuration."),
        _of_finding("layer_ms", "Time of its layers; null without a profile.", formula="Σ averageMs"),
        _of_finding("layers_without_time", "Number of its layers without a time."),
        _of_finding(
            "saving_ms",
            "Time that this finding alone could save: an estimate by `formula`, never more than its layers take.",
            "Saving ms",
        ),
        _of_finding(
            "saving_pct",
            "Its share of the sum of all layers.",
            formula="100 · saving_ms / latency_sum_ms",
        ),
        Term(
            "findings.savings_ms",
            "The saving of each layer.",
            also=tuple(f"{group}.savings_ms" for group in _FINDINGS),
            entries="indices of layers",
            unit="milliseconds",
        ),
        _of_finding("engine_saving_ms", "Saving that belongs to no layer, such as time between layers."),
        _of_finding(
            "confidence",
            "Confidence of the saving, or of the finding without one: high, medium or low.",
            "Confidence",
        ),
        _of_finding("formula", "Formula of the saving."),
        _of_finding("evidence", "Values that support the finding."),
        _of_finding(
            "evidence.name", "Column of the layer, or a name of the rule's own with its unit at the end."
        ),
        _of_finding("evidence.value", "Its value."),
        _of_finding("remedy", "Suggested fix.", "Remedy"),
        _of_finding("references", "Public documents."),
        _of_finding(
            "fingerprint", "Hash of engine, rule and layers: the same for the same finding of a later run."
        ),
        Term("suppressed.reason", "Why it is suppressed, from the configuration."),
        Term("suppressed.origin", "File and key that suppress it."),
        Term("findings.where", "First layer it is about, and how many more there are."),
        Term("rules", "The rules."),
        Term("rules.id", "Id of the rule: family and number."),
        Term("rules.family", "Letters of the id."),
        Term("rules.title", "Short title."),
        Term("rules.severity", "Severity of its findings, unless a finding states another."),
        Term("rules.looks_for", "Condition of the rule."),
        Term("rules.not_when", "Intended exceptions."),
        Term("rules.why", "Why the finding matters."),
        Term("rules.remedy", "Suggested fix."),
        Term("rules.references", "Public documents."),
        Term("rules.columns", "Columns of layers that the rule reads."),
        Term(
            "rules.thresholds",
            "Defaults of its thresholds; trex-tui.toml changes them.",
            entries="names of thresholds",
        ),
    ),
)
