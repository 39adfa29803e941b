"""MEASURE: whether the measurements can be trusted."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import pandas as pd

from trex_tui.analysis.columns import LEAST_SAMPLES, outliers
from trex_tui.analysis.conditions import find_doubts
from trex_tui.analysis.options import PROFILE_SHAPES, RUN_SHAPES, build_run, find_flag, timed_log, timed_run
from trex_tui.analysis.stability import Stability
from trex_tui.analysis.timing import (
    EVENT_GRID_MS,
    FEW_ITERATIONS,
    find_latency,
    on_grid_pct,
    stability,
    statistics,
)
from trex_tui.artifacts.kinds import FileKind
from trex_tui.artifacts.metadata import number_in
from trex_tui.frames import plain_values
from trex_tui.lint.context import (
    BEST_PRACTICES,
    COMMAND_LINE_PROGRAMS,
    Context,
    issue,
    no_profile,
    no_timing,
    quote,
)
from trex_tui.lint.rule import (
    ERROR,
    GOOD,
    HIGH,
    INFO,
    WARNING,
    Finding,
    Findings,
    FindingSeverity,
    Rule,
    finding,
    not_checked,
)
from trex_tui.text import format_shape, plural, printable

_CONDITIONS = (
    "Hardware and Software Environment for Performance Measurements: "
    "https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/performance/hw-sw-environment.html"
)
TRTEXEC_CV_PCT = 2.5
"""trtexec warns above this coefficient of variation (10.13.2 and later; 1 % before)."""
VERY_UNSTABLE_CV_PCT = 10.0
SHORT_PROFILE_MS = 250.0
STEADY_CV_PCT = 1.0
STEADY_RATIO = 1.05
STEADY_RANGE_PCT = 2.0
_NAMED_INPUTS = 3
_LEAST_STEPS = 3
"""Steps of the timer from which a percentile differs from a median."""
_UNSTABLE = re.compile(
    r"(?P<what>[A-Z][\w -]{2,40}?) is unstable, with coefficient of variance = (?P<pct>\d{1,6}(?:\.\d{1,9})?)%"
)
_OTHER_MODEL = re.compile(r"engine plan file across different models of devices")
_OTHER_LIBRARY = re.compile(
    r"was linked against (?P<linked>\S+(?: LT)? [\d.]+\d) but loaded (?P<loaded>\S+(?: LT)? [\d.]+\d)"
)


@Rule(
    "MEASURE001",
    "Profile with few iterations",
    WARNING,
    looks_for="A profile over fewer than 10 iterations (warning), or 100 (info) that took less than a "
    "quarter of a second.",
    why="Layer times of single iterations have a resolution of 1.024 µs; short layers have errors of 25 % or more.",
    remedy="Profile with at least 100 iterations.",
    references=(BEST_PRACTICES,),
    columns=("latency_ms",),
)
def few_iterations(context: Context) -> Findings:
    count = context.engine.iterations
    if not context.engine.has_profile:
        yield not_checked(no_profile(context))
    elif count is None:
        yield not_checked("the profile has no iteration count: export it with trtexec")
    elif count < FEW_ITERATIONS or (count < 100 and count * (context.total_ms or 0.0) < SHORT_PROFILE_MS):
        on_grid = on_grid_pct(context.engine.layers["latency_ms"].dropna())
        what = "single samples" if count == 1 else "means of few samples"
        grid = (
            f"; {on_grid:.0f} % are multiples of the timer's {1000 * EVENT_GRID_MS:.3f} µs" if on_grid else ""
        )
        has_graph = count == 1 and find_flag(context.engine, "cuda_graph")
        yield finding(
            f"Profile of {plural(count, 'iteration')}: layer times are {what}{grid}.",
            severity=WARNING if count < FEW_ITERATIONS else INFO,
            confidence=HIGH,
            evidence={"profile_iterations": count, "on_timer_grid_pct": on_grid},
            remedy="Profile with at least 100 iterations, without --useCudaGraph: TensorRT 8.4 counts only one with it."
            if has_graph
            else "",
        )


@Rule(
    "MEASURE002",
    "Unstable latency",
    WARNING,
    looks_for="After the warm-up: p99 > 1.1 × median, a drift, or windows far apart (warning); only a coefficient of "
    "variation above 2.5 %, or two latency levels (info); otherwise trtexec's own warning in its log.",
    why="Differences between engines below this noise are not significant.",
    remedy="Lock the clocks, use the GPU exclusively, warm up longer, use --useSpinWait; a log of clocks and "
    "throttling shows the cause.",
    references=(_CONDITIONS, issue(2289)),
)
def unstable_latency(context: Context) -> Findings:
    stated = _read_warnings(context)
    series, run = _main_series(context), stability(context.engine)
    if series is None or not find_latency(context.engine, "median_ms", series):
        yield from stated
        if not stated:
            yield not_checked(no_timing(context))
        return
    if run is None:
        missing = "drift and spread need timing rows: run trtexec with --exportTimes"
        yield not_checked(context.explain_absence(missing, FileKind.TIMING))
    ratio, cv = _tail_ratio(context, series), find_latency(context.engine, "cv_pct", series)
    verdict = run.verdict if run is not None else ""
    is_serious = verdict in ("drift", "spread") or (ratio is not None and ratio > 1.1)
    if not is_serious and verdict != "two levels" and (cv is None or cv <= TRTEXEC_CV_PCT):
        yield from stated
        return
    parts = [f"coefficient of variation {cv:.1f} %"] if cv is not None else []
    if cv is None and stated:
        parts.append(f"coefficient of variation {stated[0].evidence['cv_pct']} % (trtexec)")
    parts += [f"p99 {ratio:.2f} × median"] if ratio is not None else []
    waits_actively = find_flag(context.engine, "spin_wait") is True
    yield finding(
        f"Unstable latency: {', '.join(parts) or 'spread unknown'}.{_describe_stability(run)}",
        severity=WARNING if is_serious else INFO,
        confidence=HIGH,
        evidence={
            "verdict": verdict or None,
            "cv_pct": stated[0].evidence["cv_pct"] if cv is None and stated else cv,
            "p99_over_median": ratio,
            "windows_range_pct": run.windows_range_pct if run else None,
        },
        remedy="Lock the clocks, use the GPU exclusively, warm up longer (--useSpinWait is already on). A log of "
        "clocks and throttling shows the cause."
        if waits_actively
        else "",
    )


def _describe_stability(run: Stability | None) -> str:
    """Return a sentence about what moves, after a space; empty for a stable run."""
    if run is None:
        return ""
    if run.verdict == "drift" and run.drift:
        return f" The latency drifts by {run.drift.change_pct:+.1f} % from the first to the last third."
    if run.verdict == "spread" and run.windows_range_pct is not None:
        return f" The medians of ten windows differ by {run.windows_range_pct:.1f} %."
    if run.verdict == "two levels" and run.levels:
        low = f"{run.levels.low_share_pct:.0f} % of the queries around {run.levels.low_ms:.4g} ms"
        return f" Two levels: {low}, the others around {run.levels.high_ms:.4g} ms."
    if run.verdict == "outliers" and run.outliers:
        return f" {run.outliers.large} of {run.rows} queries are outliers."
    return ""


def _main_series(context: Context) -> str | None:
    known = statistics(context.engine).index
    return next((series for series in ("latency", "compute") if series in known), None)


def _tail_ratio(context: Context, series: str) -> float | None:
    """Return percentile 99 over the median; None if either is unknown."""
    tail, median = (find_latency(context.engine, key, series) for key in ("p99_ms", "median_ms"))
    return tail / median if tail is not None and median else None


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
                    f"trtexec warning: {match['what']} is unstable, coefficient of variation {match['pct']} %.",
                    severity=WARNING if (pct or 0.0) > VERY_UNSTABLE_CV_PCT else INFO,
                    evidence={"cv_pct": pct, "source": "performance summary of the log"},
                )
            )
    return findings


@Rule(
    "MEASURE003",
    "Profile does not match the graph",
    ERROR,
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
    has_row = [layer for layer, ms in enumerate(context.ms) if ms is not None]
    missing = [layer for layer, ms in enumerate(context.ms) if ms is None and context.is_work(layer)]
    unmatched = engine.unmatched_rows
    if not missing and not unmatched:
        return
    if not unmatched:
        text = (
            f"{plural(len(missing), 'layer')} of {len(engine)} without a profile row (first: "
            f"{context.quote(missing[0])}): sums and shares are incomplete."
        )
    elif not has_row:
        text = "Profile does not match the graph: no row names a layer of it."
    else:
        rows, layers = plural(unmatched, "row"), plural(len(missing), "layer")
        text = f"Profile does not match the graph: {rows} without a layer, {layers} without a row."
    yield finding(
        text,
        missing,
        severity=None if unmatched else WARNING,
        confidence=HIGH,
        evidence={"rows_without_layer": unmatched, "layers_without_row": len(missing)},
    )


@Rule(
    "MEASURE004",
    "Unrepresentative run conditions",
    INFO,
    looks_for="A shape chosen by trtexec (warning), a shape other than the optimal one of the build (info), a device "
    "other than that of the build (warning); another cuDNN or cuBLAS than TensorRT was linked against (info); "
    "throttling or a changed power mode in the capture manifest (warning).",
    why="TensorRT chooses tactics for the optimal shape and on the build's device; otherwise they may be slow. "
    "Times of a throttled GPU are not comparable.",
    remedy="Set --shapes, and build on the target device.",
    references=(issue(976), issue(1166)),
)
def run_conditions(context: Context) -> Findings:
    build, timed = build_run(context.engine), timed_run(context.engine)
    for doubt in find_doubts(context.engine):
        if doubt.kind in ("throttled", "power_mode"):
            yield _doubt(
                f"During the capture {printable(doubt.text)}: times are not at full clocks.",
                "Cool the machine, raise its power limit or choose its power mode, and capture again.",
                condition=doubt.text,
            )
    trace = timed_log(context.engine)
    for message in trace.messages if trace is not None else ():
        text = " ".join(message.text.split())
        if _OTHER_MODEL.search(text):
            yield _doubt(
                "TensorRT states that the engine was built on another device: tactics were chosen there.",
                "Build on the target device (a Jetson: in the same power mode).",
                log_line=message.line,
            )
        elif match := _OTHER_LIBRARY.search(text):
            yield _doubt(
                f"TensorRT was linked against {printable(match['linked'])} and loaded {printable(match['loaded'])}.",
                "Install the linked version; LD_LIBRARY_PATH decides which one is loaded.",
                INFO,
                log_line=message.line,
            )
    if not timed.source and not timed.chosen_shapes:
        yield not_checked("no options of the timing run: keep its metadata or log in the set")
        return
    for text in timed.chosen_shapes:
        yield _doubt(
            f"trtexec chose the shape of a dynamic input ({printable(text)}): times apply to this shape.",
            "Give --shapes.",
            chosen_shape=text,
        )
    if others := list(_find_other_shapes(context)):
        parts = [
            f"{quote(name)} {format_shape(used)} instead of {format_shape(best)}"
            for name, best, used in others
        ]
        more = f" and {len(parts) - _NAMED_INPUTS} more" if len(parts) > _NAMED_INPUTS else ""
        yield _doubt(
            f"{plural(len(others), 'input')} ran with another shape than tactics were chosen for: "
            f"{', '.join(parts[:_NAMED_INPUTS])}{more}.",
            "Time the optimal shape of the build, or build with --optShapes for the target shape.",
            INFO,
            inputs=len(others),
            shapes="; ".join(parts),
        )
    built_on, ran_on = build.device.get("Selected Device"), timed.device.get("Selected Device")
    if built_on and ran_on and built_on != ran_on:
        yield _doubt(
            f"Built on {printable(built_on)}, timed on {printable(ran_on)}: tactics were chosen on the other device.",
            "Build on the target device.",
            build_device=built_on,
            timed_device=ran_on,
        )


def _doubt(message: str, remedy: str, severity: FindingSeverity = WARNING, **evidence: object) -> Finding:
    return finding(message, severity=severity, confidence=HIGH, evidence=evidence, remedy=remedy)


def _find_other_shapes(context: Context) -> Iterator[tuple[str, list[int], list[int]]]:
    """Yield inputs timed with another shape than their optimal one: name, optimal shape, shape of the run."""
    build, run = build_run(context.engine).options, timed_run(context.engine).options
    best: dict[str, list[int]] = {}
    for label, text in build.items():
        is_first = label.startswith(PROFILE_SHAPES.labels) and ("(" not in label or "(profile 0)" in label)
        for entry in (PROFILE_SHAPES.parse(text) or ()) if is_first else ():
            best[entry["name"]] = entry.get("opt", entry.get("shape"))
    for label, text in run.items():
        for entry in (RUN_SHAPES.parse(text) or ()) if label.startswith(RUN_SHAPES.labels) else ():
            used, wanted = entry.get("shape"), best.get(entry["name"])
            if used is not None and wanted is not None and used != wanted:
                yield entry["name"], wanted, used


@Rule(
    "MEASURE005",
    "Mean layer times far above medians",
    WARNING,
    looks_for="A profile with a sum of means of at least 1.1 times the sum of medians.",
    why="A few slow iterations raise the means, on which shares, rooflines and sums are based.",
    remedy="Profile again with locked clocks, an idle GPU and more iterations; until then use the medians.",
    references=(BEST_PRACTICES,),
    columns=("latency_ms", "median_ms"),
)
def polluted_means(context: Context) -> Findings:
    medians = context.values("median_ms")
    known = [
        (layer, ms, median)
        for layer, (ms, median) in enumerate(zip(context.ms, medians, strict=True))
        if ms and median
    ]
    if not known:
        no_medians = "no medians in the profile (TensorRT 8.4 and later write them)"
        yield not_checked(no_medians if context.has_profile else no_profile(context))
        return
    mean_sum, median_sum = sum(ms for _, ms, _ in known), sum(median for _, _, median in known)
    if mean_sum < 1.1 * median_sum:
        return
    far = [layer for layer, ms, median in known if ms >= 1.1 * median]
    subject = "layer is" if len(far) == 1 else "layers are"
    yield finding(
        f"Sum of means {mean_sum:.4g} ms, of medians {median_sum:.4g} ms: {len(far)} {subject} "
        "10 % or more above the median.",
        far,
        confidence=HIGH,
        evidence={"mean_sum_ms": mean_sum, "median_sum_ms": median_sum, "layers": len(far)},
    )


@Rule(
    "MEASURE006",
    "Unstable layers",
    INFO,
    looks_for="Layers with at least 40 single times: p99 > 1.25 × median, and three steps of the timer or "
    "more above it (warning if they take a tenth of the time).",
    why="A few slow calls set its mean; do not compare it between engines.",
    remedy="Profile again with locked clocks and an idle GPU; look at layers that stay unstable in Nsight Systems.",
    references=(BEST_PRACTICES,),
    columns=("median_ms", "p99_ms", "cv_pct", "outliers"),
)
def unstable_layers(context: Context) -> Findings:
    frame = context.engine.layers[["latency_ms", "median_ms", "p99_ms", "cv_pct"]].copy()
    calls = context.engine.calls
    frame["samples"] = calls.groupby("layer").size() if len(calls) else pd.NA
    known = frame[frame["p99_ms"].gt(0) & frame["median_ms"].gt(0)]
    judged = known[known["samples"].ge(LEAST_SAMPLES).fillna(False)]
    if judged.empty:
        none = "no per-iteration layer times (IProfiler file {layer: [ms, …]})"
        yield not_checked(none if known.empty else f"fewer than {LEAST_SAMPLES} single times per layer")
        return
    judged = judged.assign(
        beyond=judged["p99_ms"] - judged["median_ms"], ratio=judged["p99_ms"] / judged["median_ms"]
    )
    is_unstable = judged["ratio"].gt(1.25) & judged["beyond"].ge(_LEAST_STEPS * EVENT_GRID_MS)
    unstable = judged[is_unstable].sort_values("beyond", ascending=False, kind="stable")
    if unstable.empty:
        return
    layers = unstable.index.tolist()
    worst, pct = layers[0], context.share_of(layers) or 0.0
    row = {key: plain_values(unstable[key])[0] for key in unstable}
    ratios, beyond_ms = plain_values(unstable["ratio"]), math.fsum(plain_values(unstable["beyond"]))
    far = plain_values(outliers(context.engine))[worst] or 0
    span = f"{min(ratios):.2f}" if len(ratios) == 1 else f"{min(ratios):.2f} to {max(ratios):.2f}"
    cv = "" if row["cv_pct"] is None else f", coefficient of variation {row['cv_pct']:.1f} %"
    yield finding(
        f"{len(unstable)} of {plural(len(judged), 'layer')} unstable ({pct:.1f} % of the time): p99 {span} × median, "
        f"+{beyond_ms:.4g} ms in all. Most: {context.quote(worst)}, median {row['median_ms']:.4g} ms, p99 "
        f"{row['p99_ms']:.4g} ms{cv}, {far}/{row['samples']} outliers.",
        layers,
        severity=WARNING if pct >= 10.0 else INFO,
        confidence=HIGH,
        evidence={
            "layers": len(unstable),
            "latency_pct": pct,
            "p99_over_median": max(ratios),
            "p99_beyond_median_ms": beyond_ms,
            "median_ms": row["median_ms"],
            "p99_ms": row["p99_ms"],
            "cv_pct": row["cv_pct"],
            "outliers": far,
            "samples": row["samples"],
        },
    )


@Rule(
    "OK-STABLE",
    "Stable timing",
    GOOD,
    looks_for="After the warm-up: coefficient of variation below 1 %, p99 below 1.05 × median, windows within 2 %, no drift.",
)
def steady_timing(context: Context) -> Findings:
    series, run = _main_series(context), stability(context.engine)
    if series is None or run is None or run.verdict != "stable":
        return
    ratio, cv = _tail_ratio(context, series), find_latency(context.engine, "cv_pct", series)
    spread, count = run.windows_range_pct, find_latency(context.engine, "count", series)
    if ratio is None or cv is None or spread is None:
        return
    if ratio >= STEADY_RATIO or cv >= STEADY_CV_PCT or spread >= STEADY_RANGE_PCT:
        return
    yield finding(
        f"Stable latency: coefficient of variation {cv:.2g} %, p99 {ratio:.3f} × median over "
        f"{plural(int(count or 0), 'query', 'queries')}.",
        confidence=HIGH,
        evidence={"cv_pct": cv, "p99_over_median": ratio, "windows_range_pct": spread},
    )


RULES = (
    few_iterations,
    unstable_latency,
    foreign_profile,
    run_conditions,
    polluted_means,
    unstable_layers,
    steady_timing,
)
