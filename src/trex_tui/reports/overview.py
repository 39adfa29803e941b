"""What the overview of an engine says: its facts in an order for people, and what takes a computation, computed at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from trex_tui.analysis.conditions import capture_facts
from trex_tui.analysis.stability import Stability, Verdict
from trex_tui.analysis.timing import SeriesStatistics, TimingStatistics, timing_statistics
from trex_tui.artifacts.metadata import Metadata
from trex_tui.engine.engine import Engine
from trex_tui.errors import Severity
from trex_tui.reports.numbers import number_facts
from trex_tui.reports.summary import facts
from trex_tui.text import MISSING, format_ms, plural, printable

NO_RUN = "Neither a performance summary nor timing rows in this set: the latency end to end is unknown."

SERIES = (
    ("latency", "latency"),
    ("compute", "compute"),
    ("enqueue", "enqueue"),
    ("h2d", "H2D"),
    ("d2h", "D2H"),
)
"""Attribute of the statistics, and its heading."""
STATISTICS = ("min", "median", "mean", "p90", "p95", "p99", "max")
_MEDIAN = STATISTICS.index("median")

_ENGINE_FACTS = ("Device", "TensorRT", "Precision", "Layers")
_BINDINGS = ("Inputs", "Outputs")
_USUAL = frozenset({"", "-1", "disabled", "default", "none"})
# Label of trtexec's log, words for it, and values that are not worth a word. `{}` is the value.
_BUILD_OPTIONS = (
    ("BuilderOptimizationLevel", "optimization level {}", ()),
    ("Sparsity", "sparsity {}", ()),
    ("Refit", "refittable", ()),
    ("Strip weights", "weights stripped", ()),
    ("Weight Streaming", "weight streaming", ()),
    ("Version Compatible", "version compatible", ()),
    ("Safe mode", "safe mode", ()),
    ("Allow GPU fallback for DLA", "GPU fallback for DLA", ()),
    ("MaxAuxStreams", "at most {} auxiliary streams", ()),
    ("avgTiming", "{} timing runs per tactic", ("8",)),
    ("Runtime Platform", "runtime platform {}", ("same as build",)),
)
_RUN_OPTIONS = (
    ("CUDA Graph", "CUDA graph", ()),
    ("Data transfers", "copies of inputs and outputs", ()),
    ("Spin-wait", "spin-wait", ()),
    ("ExposeDMA", "copies exposed", ()),
    ("Inference Streams", "{} inference streams", ("1",)),
    ("Streams", "{} streams", ("1",)),
    ("Duration", "{}", ()),
)


@dataclass(frozen=True, slots=True)
class Analysis:
    """What the overview has to compute.

    Attributes:
        statistics: Of the timing run; None if no file has any.
        words: Label -> sentences, as `number_facts` tells them.
    """

    statistics: TimingStatistics | None
    words: Mapping[str, tuple[str, ...]]


def analyse(engine: Engine) -> Analysis:
    """Compute it: up to a second for 20 000 layers or long timing runs."""
    words: dict[str, list[str]] = {}
    label = ""
    for name, sentence in number_facts(engine):
        label = name or label
        words.setdefault(label, []).append(sentence)
    return Analysis(timing_statistics(engine), {name: tuple(lines) for name, lines in words.items()})


def engine_facts(engine: Engine) -> list[tuple[str, str]]:
    """What the engine is, and how it was built and run."""
    known = dict(facts(engine))
    metadata = engine.metadata
    return [
        *((label, known[label]) for label in _ENGINE_FACTS),
        *_option_facts(metadata),
        ("Notes", notes_words(engine)),
        *((label, known[label]) for label in _BINDINGS),
    ]


def _option_facts(metadata: Metadata) -> list[tuple[str, str]]:
    if not metadata.build_options and not metadata.inference_options:
        return [("Options", "not stated (no log and no metadata in the set)")]
    return [
        ("Built with", _option_words(metadata.build_options, _BUILD_OPTIONS)),
        ("Run with", _option_words(metadata.inference_options, _RUN_OPTIONS)),
    ]


def condition_facts(engine: Engine, now: datetime | None = None) -> list[tuple[str, str]]:
    """On which machine and in which state of it the set was captured; nothing without a manifest."""
    return [(label, printable(text)) for label, text in capture_facts(engine, now)]


def memory_facts(engine: Engine, analysis: Analysis | None) -> list[tuple[str, str]]:
    """Weights and activations."""
    return [("Weights", dict(facts(engine))["Weights"]), *_told(analysis, ("Activations",))]


def work_facts(engine: Engine, analysis: Analysis | None) -> list[tuple[str, str]]:
    """What the layers do, and how they hang together."""
    lines = [("Layer times", dict(facts(engine))["Layer times"])] if engine.has_profile else []
    return lines + _told(analysis, ("Compute", "Streams", "Critical path", "Reformats"))


def _told(analysis: Analysis | None, labels: tuple[str, ...]) -> list[tuple[str, str]]:
    if analysis is None:
        return [(label, "…") for label in labels]
    return [(label, " ".join(analysis.words[label])) for label in labels if label in analysis.words]


def no_profile(engine: Engine) -> str:
    """Why there is no layer with a time."""
    why = "The profile could not be read" if engine.profile_unread else "No profile in this set"
    return f"{why}: latency is unknown."


def gap_sentences(engine: Engine, analysis: Analysis | None) -> tuple[str, ...]:
    """The sum of the layers against the latency end to end."""
    if not engine.has_profile:
        return ()
    return ("…",) if analysis is None else analysis.words.get("Gap", ())


def bound_sentences(analysis: Analysis | None) -> tuple[str, ...]:
    """What keeps layers from being put under the roof."""
    lines = () if analysis is None else analysis.words.get("Bound by", ())[1:]
    return tuple(f"{line[:1].upper()}{line[1:]}." for line in lines)


def stability_words(analysis: Analysis) -> str:
    """The verdict on the timing run, and what it rests on."""
    run = analysis.statistics.stability if analysis.statistics else None
    return "unknown: no timing rows in this set" if run is None else steadiness_words(run)


def steadiness_words(run: Stability) -> str:
    """The verdict in a word, unless the sentences behind it begin with one."""
    told = " ".join(run.sentences)
    if run.verdict is Verdict.STABLE:
        return told
    return f"{run.verdict.value}: {told}" if told else run.verdict.value


def notes_words(engine: Engine) -> str:
    """How many diagnostics there are, by severity."""
    if not engine.diagnostics:
        return "none: nothing was wrong with the files"
    counts = Counter(one.severity for one in engine.diagnostics)
    names = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "remark"}
    return ", ".join(plural(counts[severity], names[severity]) for severity in Severity if counts[severity])


def _option_words(options: Mapping[str, object], wanted: tuple[tuple[str, str, tuple[str, ...]], ...]) -> str:
    if not options:
        return "not stated"
    words = []
    for label, sentence, usual in wanted:
        value = str(options.get(label, "")).strip()
        if value.lower() not in _USUAL and value.lower() not in usual:
            words.append(sentence.format(printable(value)))
    return ", ".join(words) or "the usual options"


def performance_table(
    statistics: TimingStatistics, most: int = len(SERIES)
) -> tuple[list[tuple[str, ...]], list[tuple[str, str]]]:
    """The statistics as rows of cells, headings first, and the series beyond `most` as facts, by their medians."""
    present = [
        (heading, _figures(series))
        for attribute, heading in SERIES
        if (series := getattr(statistics, attribute)) is not None
    ]
    shown = present[:most]
    rows = [("ms", *(heading for heading, _ in shown))] if shown else []
    for place, name in enumerate(STATISTICS):
        cells = [figures[place] for _, figures in shown]
        if any(cell != MISSING for cell in cells):
            rows.append((name, *cells))
    others = [(f"{heading} ms", f"median {figures[_MEDIAN]}") for heading, figures in present[most:]]
    return rows, others


def throughput_facts(statistics: TimingStatistics) -> list[tuple[str, str]]:
    """The throughput, if any file tells it."""
    value = statistics.throughput_qps
    return [] if value is None else [("Throughput", f"{value:.2f} qps")]


def run_facts(analysis: Analysis) -> list[tuple[str, str]]:
    """Steadiness and source of the timing run."""
    statistics = analysis.statistics
    return (
        []
        if statistics is None
        else [("Steadiness", stability_words(analysis)), ("Source", statistics.origin)]
    )


def _figures(series: SeriesStatistics) -> list[str]:
    percentiles = (series.percentiles_ms.get(one) for one in (90.0, 95.0, 99.0))
    values = (series.min_ms, series.median_ms, series.mean_ms, *percentiles, series.max_ms)
    return [format_ms(value) for value in values]
