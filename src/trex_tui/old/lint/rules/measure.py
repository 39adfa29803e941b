"""MEASURE: whether the measurements can be trusted."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from trex_tui.old.analysis.conditions import ConditionKind, doubts
from trex_tui.old.analysis.gap import EVENT_GRID_MS, FEW_ITERATIONS, on_grid_pct
from trex_tui.old.analysis.layer_samples import LEAST_SAMPLES, count_outliers
from trex_tui.old.analysis.stability import Steadiness
from trex_tui.old.analysis.timing import SeriesStatistics, option_is_enabled
from trex_tui.old.analysis.trtexec_runs import build_run, timed_log, timed_run
from trex_tui.old.artifacts.metadata import number_in
from trex_tui.old.lint.context import (
    BEST_PRACTICES,
    COMMAND_LINE_PROGRAMS,
    Context,
    issue,
    no_profile,
    no_timing,
    no_timing_rows,
    quote,
    quote_layer,
)
from trex_tui.old.lint.model import (
    Confidence,
    Finding,
    Findings,
    Severity,
    finding,
    not_checked,
    rule,
    strength,
)
from trex_tui.old.text import plural, printable

_CONDITIONS = (
    "Hardware and Software Environment for Performance Measurements: "
    "https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/performance/hw-sw-environment.html"
)
TRTEXEC_CV_PCT = 2.5
"""trtexec warns above this coefficient of variance (10.13.2 and later; 1 % before)."""
VERY_UNSTABLE_CV_PCT = 10.0
STEADY_CV_PCT = 1.0
STEADY_RATIO = 1.05
STEADY_RANGE_PCT = 2.0
_LEAST_STEPS = 3
"""Steps of the timer from which a percentile differs from a median."""
_UNSTABLE = re.compile(
    r"(?P<what>[A-Z][\w -]{2,40}?) is unstable, with coefficient of variance = (?P<pct>\d{1,6}(?:\.\d{1,9})?)%"
)
_OTHER_MODEL = re.compile(r"engine plan file across different models of devices")
_OTHER_LIBRARY = re.compile(
    r"was linked against (?P<linked>\S+(?: LT)? [\d.]+\d) but loaded (?P<loaded>\S+(?: LT)? [\d.]+\d)"
)
_BUILD_SHAPE = re.compile(r"^Input build shapes? \(profile (?P<profile>\d+)\)$|^Input build shapes?$")
_SHAPES = re.compile(r"(?<![^=,\s])(?P<name>[^=,\s]+)=(?P<sizes>[\dx+]+)")


@rule(
    "MEASURE001",
    "Profile with few iterations",
    Severity.WARNING,
    looks_for="A profile over fewer than 10 iterations (warning) or 100 (info).",
    why=(
        "Layer times of single iterations have a resolution of 1.024 µs; short layers have errors of 25 % "
        "or more."
    ),
    remedy=(
        "Profile with at least 100 iterations; TensorRT 8.4 counts only one under --useCudaGraph, so "
        "profile without it."
    ),
    references=(BEST_PRACTICES,),
    columns=("latency_ms",),
    thresholds={"iterations": 100},
)
def few_iterations(context: Context, iterations: float) -> Findings:
    count = context.engine.profile_iterations
    if not context.engine.has_profile:
        yield not_checked(no_profile(context))
    elif count is None:
        yield not_checked("the profile has no iteration count: export it with trtexec")
    elif count < iterations:
        on_grid = on_grid_pct([layer.latency_ms or 0.0 for layer in context.layers])
        grid = f"{1000 * EVENT_GRID_MS:.3f} µs"
        multiples = f"; {on_grid:.0f} % of the times are multiples of the timer's {grid}" if on_grid else ""
        yield finding(
            f"Profile of {plural(count, 'iteration')}: layer times are samples, not averages{multiples}.",
            severity=Severity.WARNING if count < FEW_ITERATIONS else Severity.INFO,
            confidence=Confidence.HIGH,
            evidence={"profile_iterations": count, "on_timer_grid_pct": on_grid},
        )


@rule(
    "MEASURE002",
    "Unstable latency",
    Severity.WARNING,
    looks_for="After the warm-up: percentile 99 above 1.1 times the median, a drift, or windows far apart (warning); "
    "only a coefficient of variance above 2.5 %, or two latency levels (info); otherwise trtexec's own "
    "warning in its log.",
    why="Differences between engines below this noise are not significant.",
    remedy="Lock the clocks, use the GPU exclusively, warm up longer, use --useSpinWait; a log of clocks and "
    "throttling shows the cause.",
    references=(_CONDITIONS, issue(2289)),
    thresholds={"p99_ratio": 1.10, "cv_pct": TRTEXEC_CV_PCT},
)
def unstable_latency(context: Context, p99_ratio: float, cv_pct: float) -> Findings:
    stated = _read_warnings(context)
    timing = context.timing
    series = _main_series(context)
    if timing is None or series is None or not series.median_ms:
        yield from stated
        if not stated:
            yield not_checked(no_timing(context))
        return
    run = timing.stability
    if run is None:
        yield not_checked(
            no_timing_rows(context, "drift and spread need timing rows: run trtexec with --exportTimes")
        )
    ratio, cv = _tail_ratio(series), series.cv_pct
    moves = run is not None and run.verdict in (Steadiness.DRIFT, Steadiness.SPREAD)
    tails = ratio is not None and ratio > p99_ratio
    has_levels = run is not None and run.verdict is Steadiness.LEVELS
    if not moves and not tails and not has_levels and (cv is None or cv <= cv_pct):
        yield from stated
        return
    verdict = f" {run.sentences[0]}" if run and run.sentences and run.verdict is not Steadiness.STABLE else ""
    stated_cv = next((warning.evidence[0].value for warning in stated), None)
    spread = "spread unknown"
    if cv is not None:
        spread = f"coefficient of variance {cv:.1f} %"
    elif stated_cv is not None:
        spread = f"coefficient of variance {stated_cv} % (trtexec)"
    tail = f", percentile 99 at {ratio:.2f} times the median" if ratio is not None else ""
    waits_actively = option_is_enabled(context.engine, "Spin-wait") is True
    yield finding(
        f"Unstable latency: {spread}{tail}.{verdict}",
        severity=Severity.WARNING if moves or tails else Severity.INFO,
        confidence=Confidence.HIGH,
        evidence={
            "verdict": run.verdict.value if run else None,
            "cv_pct": cv if cv is not None else stated_cv,
            "p99_over_median": ratio,
            "windows_range_pct": run.windows_range_pct if run else None,
        },
        remedy="Lock the clocks, use the GPU exclusively, warm up longer (--useSpinWait is already on). A log of "
        "clocks and throttling shows the cause."
        if waits_actively
        else "",
    )


def _main_series(context: Context) -> SeriesStatistics | None:
    return (context.timing.latency or context.timing.compute) if context.timing else None


def _tail_ratio(series: SeriesStatistics) -> float | None:
    """Return percentile 99 over the median; None if either is unknown."""
    tail = series.percentiles_ms.get(99.0)
    return tail / series.median_ms if tail is not None and series.median_ms else None


def _read_warnings(context: Context) -> list[Finding]:
    """Return trtexec's own warnings in the log of the timing run, which may be another run than that of the times."""
    trace = timed_log(context.engine)
    performance = trace.performance if trace else None
    findings = []
    for text in performance.warnings if performance else ():
        for match in _UNSTABLE.finditer(text):
            pct = number_in(match["pct"])
            findings.append(
                finding(
                    f"trtexec warning: {match['what']} is unstable, coefficient of variance {match['pct']} "
                    "%.",
                    severity=Severity.WARNING if (pct or 0.0) > VERY_UNSTABLE_CV_PCT else Severity.INFO,
                    evidence={"cv_pct": pct, "source": "performance summary of the log"},
                )
            )
    return findings


@rule(
    "MEASURE003",
    "Profile does not match the graph",
    Severity.ERROR,
    looks_for="Profile rows without a layer (error) or working layers without a row (warning), joined by name and "
    "occurrence.",
    why="Times of another engine do not apply to this graph; unmatched rows are in no sum.",
    remedy="Export layer information and profile in the same trtexec run.",
    references=(COMMAND_LINE_PROGRAMS,),
    columns=("name", "occurrence", "latency_ms"),
)
def foreign_profile(context: Context) -> Findings:
    engine = context.engine
    if not engine.has_graph or not engine.has_profile:
        reason = "no layer information: export it with --exportLayerInfo"
        yield not_checked(no_profile(context) if engine.has_graph else reason)
        return
    # The table that trtexec prints omits layers without time.
    missing = [layer for layer in context.layers if layer.latency is None and layer.kind.is_work]
    unmatched = engine.profile_rows_unmatched
    if not missing and not unmatched:
        return
    if not unmatched:
        text = (
            f"{plural(len(missing), 'layer')} of {len(context.layers)} without a profile row (first: "
            f"{quote_layer(missing[0])}): sums and shares are incomplete."
        )
    elif all(layer.latency is None for layer in context.layers):
        text = "Profile does not match the graph: no row names a layer of it."
    else:
        rows, layers = plural(unmatched, "row"), plural(len(missing), "layer")
        text = f"Profile does not match the graph: {rows} without a layer, {layers} without a row."
    yield finding(
        text,
        missing,
        severity=None if unmatched else Severity.WARNING,
        confidence=Confidence.HIGH,
        evidence={"rows_without_layer": unmatched, "layers_without_row": len(missing)},
    )


@rule(
    "MEASURE004",
    "Unrepresentative run conditions",
    Severity.INFO,
    looks_for="A shape chosen by trtexec (warning), a shape other than the optimal one of the build (info), a device "
    "other than that of the build (warning); another cuDNN or cuBLAS than TensorRT was linked against (info); "
    "throttling or a changed power mode in the capture manifest (warning).",
    why="TensorRT chooses tactics for the optimal shape and on the build's device; otherwise they may be slow. "
    "Times of a throttled GPU are not comparable.",
    remedy="Set --shapes, and build on the target device.",
    references=(issue(976), issue(1166)),
)
def run_conditions(context: Context) -> Findings:
    for doubt in doubts(context.engine):
        if doubt.kind in (ConditionKind.THROTTLED, ConditionKind.POWER_MODE):
            yield finding(
                f"During the capture {printable(doubt.text)}: times are not at full clocks.",
                severity=Severity.WARNING,
                confidence=Confidence.HIGH,
                evidence={doubt.kind.value: doubt.text, "source": "manifest of the capture"},
                remedy="Cool the machine, raise its power limit or choose its power mode, and capture again.",
            )
    yield from _find_stated_conditions(context)
    build, timed = build_run(context.engine), timed_run(context.engine)
    if not timed.source and not timed.chosen_shapes:
        yield not_checked("no options of the timing run: keep its metadata or log in the set")
        return
    for text in timed.chosen_shapes:
        yield finding(
            f"trtexec chose the shape of a dynamic input ({printable(text)}): times apply to this shape.",
            severity=Severity.WARNING,
            confidence=Confidence.HIGH,
            evidence={"chosen_shape": text},
            remedy="Give --shapes.",
        )
    for name, best, used in _find_other_shapes(build.options, timed.inference):
        yield finding(
            f"Input {quote(name)} ran with {used}; tactics were chosen for {best}.",
            confidence=Confidence.HIGH,
            evidence={"input": name, "shape_timed": used, "shape_optimized": best},
            remedy="Time the optimal shape of the build, or build with --optShapes for the target shape.",
        )
    built_on, ran_on = build.device.get("Selected Device"), timed.device.get("Selected Device")
    if built_on and ran_on and built_on != ran_on:
        yield finding(
            (
                f"Built on {printable(built_on)}, timed on {printable(ran_on)}: tactics were chosen on the "
                "other device."
            ),
            severity=Severity.WARNING,
            confidence=Confidence.HIGH,
            evidence={"build_device": built_on, "timed_device": ran_on},
            remedy="Build on the target device.",
        )


def _find_stated_conditions(context: Context) -> Findings:
    """Yield warnings of TensorRT that the engine or the libraries are not those of the build."""
    trace = timed_log(context.engine)
    for message in trace.messages if trace is not None else ():
        text = " ".join(message.text.split())
        evidence = {"warning": printable(text), "log_line": message.line}
        if _OTHER_MODEL.search(text):
            yield finding(
                "TensorRT states that the engine was built on another device: tactics were chosen there.",
                severity=Severity.WARNING,
                confidence=Confidence.HIGH,
                evidence=evidence,
                remedy="Build on the target device (a Jetson: in the same power mode).",
            )
        elif match := _OTHER_LIBRARY.search(text):
            yield finding(
                f"TensorRT was linked against {printable(match['linked'])} and loaded {printable(match['loaded'])}.",
                confidence=Confidence.HIGH,
                evidence=evidence,
                remedy="Install the linked version; LD_LIBRARY_PATH decides which one is loaded.",
            )


def _find_other_shapes(build: dict[str, str], inference: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield inputs timed with another shape than their optimal one: name, optimal shape, shape of the run."""
    best: dict[str, str] = {}
    for label, value in build.items():
        match = _BUILD_SHAPE.match(label)
        if match and match["profile"] in (None, "0"):
            for shape in _SHAPES.finditer(value):
                sizes = shape["sizes"].split("+")
                best[shape["name"]] = sizes[1] if len(sizes) == 3 else sizes[0]
    for label, value in inference.items():
        if label.startswith("Input inference shape"):
            for shape in _SHAPES.finditer(value):
                wanted = best.get(shape["name"])
                if wanted is not None and wanted != shape["sizes"]:
                    yield shape["name"], wanted, shape["sizes"]


@rule(
    "MEASURE005",
    "Mean layer times far above medians",
    Severity.WARNING,
    looks_for="A profile with a sum of means of at least 1.1 times the sum of medians.",
    why="A few slow iterations raise the means, on which shares, rooflines and sums are based.",
    remedy="Profile again with locked clocks, an idle GPU and more iterations; until then use the medians.",
    references=(BEST_PRACTICES,),
    columns=("latency_ms", "median_ms"),
    thresholds={"ratio": 1.1},
)
def polluted_means(context: Context, ratio: float) -> Findings:
    known = [
        (layer, layer.latency_ms, layer.latency.median_ms)
        for layer in context.layers
        if layer.latency and layer.latency_ms and layer.latency.median_ms
    ]
    if not known:
        no_medians = "no medians in the profile (TensorRT 8.4 and later write them)"
        yield not_checked(no_medians if context.has_profile else no_profile(context))
        return
    means, medians = sum(mean for _, mean, _ in known), sum(median for _, _, median in known)
    if means < ratio * medians:
        return
    far = [layer for layer, mean, median in known if mean >= ratio * median]
    subject = "layer is" if len(far) == 1 else "layers are"
    yield finding(
        f"Sum of means {means:.4g} ms, of medians {medians:.4g} ms: {len(far)} {subject} "
        f"{100 * (ratio - 1):.0f} % or more above the median.",
        far,
        confidence=Confidence.HIGH,
        evidence={"mean_sum_ms": means, "median_sum_ms": medians, "layers": len(far)},
    )


@rule(
    "MEASURE006",
    "Unstable layers",
    Severity.INFO,
    looks_for="Layers with at least 40 single times: percentile 99 above 1.25 times the median, and three steps of the timer "
    "or more above it (warning if they take a tenth of the time).",
    why="The mean of such a layer depends on a few calls; a difference of it between engines is not significant.",
    remedy="Profile again with locked clocks and an idle GPU; look at layers that stay unstable in Nsight Systems.",
    references=(BEST_PRACTICES,),
    columns=("median_ms", "p99_ms", "cv_pct", "outliers"),
    thresholds={"p99_ratio": 1.25, "time_pct": 10.0},
)
def unstable_layers(context: Context, p99_ratio: float, time_pct: float) -> Findings:
    known = [
        (layer, layer.latency.spread, layer.latency.spread.p99_ms, layer.latency.median_ms)
        for layer in context.layers
        if layer.latency and layer.latency.spread and layer.latency.spread.p99_ms and layer.latency.median_ms
    ]
    judged = [entry for entry in known if entry[1].samples >= LEAST_SAMPLES]
    if not judged:
        few = f"fewer than {LEAST_SAMPLES} single times per layer"
        yield not_checked(
            few if known else "no single times of layers: write {layer: [ms, …]} with an IProfiler"
        )
        return
    unstable = [
        (layer, spread, p99, median)
        for layer, spread, p99, median in judged
        if p99 > p99_ratio * median and p99 - median >= _LEAST_STEPS * EVENT_GRID_MS
    ]
    if not unstable:
        return
    layers = [layer for layer, *_ in unstable]
    ratios = [p99 / median for *_, p99, median in unstable]
    worst, spread, p99, median = max(unstable, key=lambda entry: entry[2] - entry[3])
    beyond_ms = math.fsum(tail - middle for *_, tail, middle in unstable)
    pct = sum(context.engine.latency_pct(layer) or 0.0 for layer in layers)
    outliers = count_outliers(context.engine, worst) or 0
    span = f"{min(ratios):.2f}" if len(ratios) == 1 else f"{min(ratios):.2f} to {max(ratios):.2f}"
    cv = "" if spread.cv_pct is None else f", coefficient of variation {spread.cv_pct:.1f} %"
    yield finding(
        f"{len(layers)} of {plural(len(judged), 'layer')} unstable ({pct:.1f} % of the time): percentile 99 at {span} "
        f"times the median, +{beyond_ms:.4g} ms in all. Most: {quote_layer(worst)}, median {median:.4g} ms, "
        f"percentile 99 {p99:.4g} ms{cv}, {outliers}/{spread.samples} outliers.",
        layers,
        severity=Severity.WARNING if pct >= time_pct else Severity.INFO,
        confidence=Confidence.HIGH,
        evidence={
            "layers": len(layers),
            "latency_pct": pct,
            "p99_over_median": max(ratios),
            "p99_beyond_median_ms": beyond_ms,
            "median_ms": median,
            "p99_ms": spread.p99_ms,
            "cv_pct": spread.cv_pct,
            "outliers": outliers,
            "samples": spread.samples,
        },
    )


@strength(
    "STABLE",
    "Stable timing",
    "After the warm-up: coefficient of variance below 1 %, percentile 99 below 1.05 times the median, windows within "
    "2 %, no drift.",
    (),
)
def steady_timing(context: Context) -> Finding | None:
    series = _main_series(context)
    run = context.timing.stability if context.timing else None
    if series is None or run is None or run.verdict is not Steadiness.STABLE:
        return None
    ratio, cv, spread = _tail_ratio(series), series.cv_pct, run.windows_range_pct
    if ratio is None or cv is None or spread is None:
        return None
    if ratio >= STEADY_RATIO or cv >= STEADY_CV_PCT or spread >= STEADY_RANGE_PCT:
        return None
    return finding(
        f"Stable latency: coefficient of variance {cv:.2g} %, percentile 99 at {ratio:.3f} times the median "
        f"over {plural(series.count or 0, 'query', 'queries')}.",
        evidence={"cv_pct": cv, "p99_over_median": ratio, "windows_range_pct": spread},
    )


@strength(
    "MEASURE",
    "Profile and graph match",
    "Every layer has a row, every row a layer, with at least 100 iterations.",
    ("latency_ms", "occurrence"),
    without=(few_iterations, foreign_profile),
)
def matching_profile(context: Context) -> Finding | None:
    engine, iterations = context.engine, context.engine.profile_iterations
    if not engine.has_graph or not engine.has_profile or iterations is None:
        return None
    if any(layer.latency is None for layer in context.layers):
        return None
    count = len(context.layers)
    text = f"Profile and graph match layer by layer ({count}), over {plural(iterations, 'iteration')}."
    return finding(text, evidence={"profile_iterations": iterations, "layers": count})
