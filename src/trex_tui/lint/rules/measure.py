"""MEASURE: whether the numbers can be trusted at all."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trex_tui.analysis.conditions import ConditionKind, doubts
from trex_tui.analysis.gap import EVENT_GRID_MS, FEW_ITERATIONS, on_grid_pct
from trex_tui.analysis.stability import Verdict
from trex_tui.analysis.timing import SeriesStatistics
from trex_tui.artifacts.metadata import number_in
from trex_tui.lint.context import Context
from trex_tui.lint.lint_text import NO_PROFILE, NO_TIMING, called
from trex_tui.lint.model import Confidence, Evidence, Finding, NotChecked, Rule, Severity
from trex_tui.lint.trtexec_runs import build_run, timed_log, timed_run
from trex_tui.text import plural, printable, shorten_middle

_CONDITIONS = (
    "Hardware and Software Environment for Performance Measurements: "
    "https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/performance/hw-sw-environment.html"
)
_PERFORMANCE = (
    "Best Practices for TensorRT Performance: "
    "https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/performance/best-practices.html"
)
ENOUGH_ITERATIONS = 100
UNSTABLE_RATIO = 1.10
UNSTABLE_CV_PCT = 2.5
"""trtexec warns from that coefficient of variance on (10.13.2 and later; 1 % before)."""
VERY_UNSTABLE_CV_PCT = 10.0
_UNSTABLE = re.compile(
    r"(?P<what>[A-Z][\w -]{2,40}?) is unstable, with coefficient of variance = (?P<pct>\d{1,6}(?:\.\d{1,9})?)%"
)
_BUILD_SHAPE = re.compile(r"^Input build shapes? \(profile (?P<profile>\d+)\)$|^Input build shapes?$")
_SHAPES = re.compile(r"(?<![^=,\s])(?P<name>[^=,\s]+)=(?P<sizes>[\dx+]+)")


def _few_iterations(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.engine.has_profile:
        yield NotChecked("MEASURE001", NO_PROFILE)
        return
    iterations = context.engine.profile_iterations
    if iterations is None:
        yield NotChecked(
            "MEASURE001", "the profile does not say over how many iterations it ran: export it with trtexec"
        )
        return
    if iterations >= context.threshold("MEASURE001.iterations", ENOUGH_ITERATIONS):
        return
    on_grid = on_grid_pct([layer.latency_ms or 0.0 for layer in context.layers])
    words = (
        f"; {on_grid:.0f} % of the times are multiples of the timer's {1000 * EVENT_GRID_MS:.3f} µs"
        if on_grid
        else ""
    )
    yield Finding(
        "MEASURE001",
        f"The profile rests on {plural(iterations, 'iteration')}: layer times are samples, not averages{words}.",
        severity=Severity.WARNING if iterations < FEW_ITERATIONS else Severity.INFO,
        confidence=Confidence.HIGH,
        evidence=(Evidence("profile_iterations", iterations), Evidence("on_timer_grid_pct", on_grid)),
    )


def _unstable(context: Context) -> Iterator[Finding | NotChecked]:
    said = _said_unstable(context)
    timing = context.timing
    series = (timing.latency or timing.compute) if timing else None
    if timing is None or series is None or not series.median_ms:
        yield from said
        if not said:
            yield NotChecked("MEASURE002", NO_TIMING)
        return
    run = timing.stability
    if run is None:
        yield NotChecked(
            "MEASURE002", "drift and spread need the rows of the run: export them with --exportTimes"
        )
    ratio = tail_ratio(series)
    cv = series.cv_pct
    moves = run is not None and run.verdict in (Verdict.DRIFT, Verdict.SPREAD)
    tails = ratio is not None and ratio > context.threshold("MEASURE002.p99_ratio", UNSTABLE_RATIO)
    if not (
        moves or tails or (cv is not None and cv > context.threshold("MEASURE002.cv_pct", UNSTABLE_CV_PCT))
    ):
        yield from said
        return
    told = f" {run.sentences[0]}" if run and run.sentences and run.verdict is not Verdict.STABLE else ""
    stated = next((one.evidence[0].value for one in said), None)
    spread = f"coefficient of variance {cv:.1f} %" if cv is not None else "its spread is unknown"
    if cv is None and stated is not None:
        spread = f"trtexec names a coefficient of variance of {stated} %"
    tail = f", percentile 99 at {ratio:.2f} times the median" if ratio is not None else ""
    yield Finding(
        "MEASURE002",
        f"The latency is not steady: {spread}{tail}.{told}",
        severity=Severity.WARNING if moves or tails else Severity.INFO,
        confidence=Confidence.HIGH,
        evidence=(
            Evidence("verdict", run.verdict.value if run else None),
            Evidence("cv_pct", cv if cv is not None else stated),
            Evidence("p99_over_median", ratio),
            Evidence("windows_range_pct", run.windows_range_pct if run else None),
        ),
    )


def _said_unstable(context: Context) -> list[Finding]:
    """What trtexec itself says in the log of the timing run, which may be of another run than the times beside it."""
    trace = timed_log(context)
    performance = trace.performance if trace else None
    found = [one for text in performance.warnings for one in _UNSTABLE.finditer(text)] if performance else []
    findings = []
    for match in found:
        pct = number_in(match["pct"])
        findings.append(
            Finding(
                "MEASURE002",
                f"trtexec says of its run: {match['what']} is unstable, with a coefficient of "
                f"variance {match['pct']} %.",
                severity=Severity.WARNING if (pct or 0.0) > VERY_UNSTABLE_CV_PCT else Severity.INFO,
                confidence=Confidence.MEDIUM,
                evidence=(Evidence("cv_pct", pct), Evidence("source", "performance summary of the log")),
            )
        )
    return findings


def tail_ratio(series: SeriesStatistics) -> float | None:
    """Percentile 99 over the median; None if either is unknown."""
    tail = series.percentiles_ms.get(99.0)
    return tail / series.median_ms if tail is not None and series.median_ms else None


def _foreign_profile(context: Context) -> Iterator[Finding | NotChecked]:
    engine = context.engine
    if not engine.has_graph or not engine.has_profile:
        reason = NO_PROFILE if engine.has_graph else "no layer information: export it with --exportLayerInfo"
        yield NotChecked("MEASURE003", reason)
        return
    missing = [layer for layer in context.layers if layer.latency is None]
    unmatched = engine.profile_rows_unmatched
    if not missing and not unmatched:
        return
    evidence = (Evidence("rows_without_layer", unmatched), Evidence("layers_without_row", len(missing)))
    if unmatched:
        none_fits = len(missing) == len(context.layers)
        words = (
            "not one row names a layer of this graph"
            if none_fits
            else f"{plural(unmatched, 'row')} without a layer, {plural(len(missing), 'layer')} without a row"
        )
        yield Finding(
            "MEASURE003",
            f"The profile does not belong to this graph: {words}.",
            tuple(layer.index for layer in missing),
            confidence=Confidence.HIGH,
            evidence=evidence,
        )
    else:
        yield Finding(
            "MEASURE003",
            f"The profile has no row for {plural(len(missing), 'layer')} of {len(context.layers)}, the first "
            f"{called(missing[0])}: sums and shares leave that out.",
            tuple(layer.index for layer in missing),
            severity=Severity.WARNING,
            confidence=Confidence.HIGH,
            evidence=evidence,
        )


def _conditions(context: Context) -> Iterator[Finding | NotChecked]:
    yield from _machine(context)
    build, timed = build_run(context.engine), timed_run(context.engine)
    if not timed.source and not timed.chosen_shapes:
        yield NotChecked(
            "MEASURE004", "no options of the timing run: keep its metadata or its log beside the other files"
        )
        return
    for text in timed.chosen_shapes:
        yield Finding(
            "MEASURE004",
            f"A dynamic input was given no shape, and trtexec chose one ({printable(text)}): the times are of that.",
            severity=Severity.WARNING,
            confidence=Confidence.HIGH,
            evidence=(Evidence("chosen_shape", text),),
            remedy="Give --shapes.",
        )
    for name, best, used in other_shapes(build.options, timed.inference):
        yield Finding(
            "MEASURE004",
            f"Input '{shorten_middle(printable(name), 60)}' ran with {used}; the tactics were chosen for {best}.",
            confidence=Confidence.HIGH,
            evidence=(
                Evidence("input", name),
                Evidence("shape_timed", used),
                Evidence("shape_optimized", best),
            ),
            remedy="Time the shape that the engine was optimized for, or build with --optShapes for the one that matters.",
        )
    built_on, ran_on = build.device.get("Selected Device"), timed.device.get("Selected Device")
    if built_on and ran_on and built_on != ran_on:
        yield Finding(
            "MEASURE004",
            f"Built on {printable(built_on)}, timed on {printable(ran_on)}: the tactics were measured on the other device.",
            severity=Severity.WARNING,
            confidence=Confidence.HIGH,
            evidence=(Evidence("build_device", built_on), Evidence("timed_device", ran_on)),
            remedy="Build where the engine is to run.",
        )


def _machine(context: Context) -> Iterator[Finding]:
    """What the manifest of the capture says of the machine while it measured."""
    for one in doubts(context.engine):
        if one.kind in (ConditionKind.THROTTLED, ConditionKind.POWER_MODE):
            yield Finding(
                "MEASURE004",
                f"During the capture {printable(one.text)}: the times are not those of the full clocks.",
                severity=Severity.WARNING,
                confidence=Confidence.HIGH,
                evidence=(Evidence(one.kind.value, one.text), Evidence("source", "manifest of the capture")),
                remedy="Cool the machine, raise its power limit or choose its power mode, and capture again.",
            )


def other_shapes(build: dict[str, str], inference: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Inputs timed with another shape than their optimal one: name, optimal shape, shape of the run."""
    best: dict[str, str] = {}
    for label, value in build.items():
        match = _BUILD_SHAPE.match(label)
        if match and match["profile"] in (None, "0"):
            for found in _SHAPES.finditer(value):
                sizes = found["sizes"].split("+")
                best[found["name"]] = sizes[1] if len(sizes) == 3 else sizes[0]
    for label, value in inference.items():
        if label.startswith("Input inference shape"):
            for found in _SHAPES.finditer(value):
                wanted = best.get(found["name"])
                if wanted is not None and wanted != found["sizes"]:
                    yield found["name"], wanted, found["sizes"]


RULES: tuple[Rule, ...] = (
    Rule(
        id="MEASURE001",
        title="Profile rests on few iterations",
        severity=Severity.WARNING,
        looks_for="A profile over fewer than 10 iterations (warning) or 100 (info).",
        why="A layer time of one iteration is one sample on a grid of 1.024 µs; short layers are known to a quarter at best.",
        remedy="Profile over 100 iterations or more; TensorRT 8.4 counts only one under --useCudaGraph, so profile without.",
        references=(_PERFORMANCE,),
        columns=("latency_ms",),
        check=_few_iterations,
    ),
    Rule(
        id="MEASURE002",
        title="Latency is unstable",
        severity=Severity.WARNING,
        looks_for="After the warm-up: percentile 99 above 1.1 times the median, a drift, or windows far apart (warning); a "
        "coefficient of variance above 2.5 % alone (info). Where these say nothing, trtexec's own word in its log.",
        why="A difference between two engines below the noise of one is no difference.",
        remedy="Lock the clocks, keep others off the GPU, warm up for longer, use --useSpinWait; a log of clocks and "
        "throttling beside the run shows the cause.",
        references=(
            _CONDITIONS,
            "NVIDIA/TensorRT#2289: https://github.com/NVIDIA/TensorRT/issues/2289",
        ),
        columns=(),
        check=_unstable,
    ),
    Rule(
        id="MEASURE003",
        title="Profile does not belong to this graph",
        severity=Severity.ERROR,
        looks_for="Rows of the profile that name no layer (error), or layers without a row (warning), joined by name and "
        "occurrence.",
        why="Times of another engine on this graph's layers say nothing; what is not joined is in no sum.",
        remedy="Export layer information and profile in one run of trtexec.",
        references=(
            "Command-Line Programs (trtexec): "
            "https://docs.nvidia.com/deeplearning/tensorrt/latest/reference/command-line-programs.html",
        ),
        columns=("name", "occurrence", "latency_ms"),
        check=_foreign_profile,
    ),
    Rule(
        id="MEASURE004",
        title="Conditions of the run do not carry over",
        severity=Severity.INFO,
        looks_for="A shape that trtexec chose by itself (warning), a shape other than the optimal one of the build (info), "
        "another device than that of the build (warning); throttling or a change of the power mode that the manifest of the "
        "capture tells of (warning).",
        why="TensorRT chooses tactics for the optimal shape and on the build's device; elsewhere they may be slow. A "
        "throttled GPU is slower than it will be, or than the one it is compared with.",
        remedy="Give --shapes, and build where the engine is to run.",
        references=(
            "NVIDIA/TensorRT#976: https://github.com/NVIDIA/TensorRT/issues/976",
            "NVIDIA/TensorRT#1166: https://github.com/NVIDIA/TensorRT/issues/1166",
        ),
        columns=(),
        check=_conditions,
    ),
)
