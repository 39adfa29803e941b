"""PREC: layers, and whole engines, that compute in wider types than they could, or lost precision in the build."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from trex_tui.analysis.gpu_peaks import peak_ops
from trex_tui.analysis.roofline import Bound
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.lint.context import (
    FLOATING,
    QUANTIZED,
    REDUCED,
    TERSE,
    Context,
    build_log,
    details,
    verbose_log,
)
from trex_tui.lint.dataflow import compute_flow, conversion
from trex_tui.lint.lint_text import (
    BUILDER_PERFORMANCE,
    QUANTIZED_TYPES,
    RESIDUAL_QDQ,
    TENSOR_CORES,
    TIMED_ALONE,
    issue,
    latencies,
    quote,
    quote_layer,
)
from trex_tui.lint.model import Confidence, Findings, Severity, finding, not_checked, rule
from trex_tui.lint.savings import fraction, layer_evidence, tensor_cores_for
from trex_tui.text import plural, printable, shorten_middle

if TYPE_CHECKING:  # imported where a log is there
    from trex_tui.analysis.build import LayerChoice

REDUCED_SHARE = 0.2
"""From this share of products in reduced precision on, an engine counts as one of reduced precision."""
MANY_ELEMENTS = 1024
_WIDE = frozenset({DataType.FP32, DataType.TF32, DataType.FP64})
_SINGLE = frozenset({DataType.FP32, DataType.TF32})
_OPAQUE = frozenset({LayerKind.MYELIN, LayerKind.FUSED})
"""What these compute in is not that of their inputs."""
_CONVERSIONS = frozenset({LayerKind.REFORMAT, LayerKind.QUANTIZE})
# Operators without quantized kernels, or with so little to win that nobody wrote them.
_NO_QUANTIZED_KERNEL = frozenset({LayerKind.SOFTMAX, LayerKind.REDUCTION, LayerKind.RESIZE})
NO_DEVICE = "the device is unknown: keep trtexec's log, or state the device, to know what it computes fast"


@rule(
    "PREC001",
    "FP32 layer in an engine of reduced precision",
    Severity.WARNING,
    looks_for="A layer of 0.5 % of the time or more, with 1 024 elements or more, whose floating-point inputs and first "
    "output are all FP32, where at least 20 % of the convolutions, GEMMs and attention layers are of reduced precision.",
    why="It moves twice the bytes, keeps its products off the fast tensor-core modes, and often needs conversions around "
    "it.",
    remedy="Put the cast or the Q before it; check for constants, plugins and pinned layers that keep it in FP32.",
    references=(QUANTIZED_TYPES, issue(550)),
    columns=("kind", "input_formats", "output_formats", "latency_ms"),
    not_when="Reformats, Q and DQ; opaque Myelin blocks; the last softmax; layers between quantized ones (PREC002).",
    needs=(details,),
    thresholds={"share_pct": 0.5},
)
def single_precision_layer(context: Context, share_pct: float) -> Findings:
    reduced = sum(context.is_reduced(layer) for layer in context.multiplying)
    if not context.multiplying or reduced < REDUCED_SHARE * len(context.multiplying):
        return
    at_output = compute_flow(context.engine).at_output
    layers = [
        layer
        for layer in context.layers
        if _is_wide(layer)
        and not _is_island(context, layer)
        and not (layer.kind is LayerKind.SOFTMAX and layer.index in at_output)
    ]
    if not context.has_profile and layers:
        yield finding(
            f"{plural(len(layers), 'layer')} with FP32 in and out in an engine of reduced precision; without a profile "
            "their time is unknown.",
            layers,
            confidence=Confidence.LOW,
            evidence={"layers": len(layers)},
        )
        return
    for layer in layers:
        if context.share_pct(layer) >= share_pct:
            yield finding(
                f"{quote_layer(layer)} is FP32 in and out in an engine of reduced precision: "
                f"{context.format_time(layer)}.",
                [layer],
                savings=fraction(context, layer, 0.5),
                formula="latency_ms / 2: half of the bytes",
                evidence=layer_evidence(layer),
            )


def _is_wide(layer: Layer) -> bool:
    if not layer.kind.is_work or layer.kind in _CONVERSIONS | _OPAQUE or not layer.outputs:
        return False
    inputs = {tensor.dtype for tensor in layer.data_inputs}
    floats = inputs & (FLOATING | QUANTIZED | _WIDE)
    if not floats or not floats <= _WIDE or layer.output_precision not in _WIDE:
        return False
    return (layer.outputs[0].volume or 0) >= MANY_ELEMENTS


@rule(
    "PREC002",
    "Float island between quantized layers",
    Severity.WARNING,
    looks_for="A layer with floating-point input and output whose nearest products before and behind it are all quantized.",
    why="The data is widened before it and quantized again behind it, and moves in twice or four times the bytes.",
    remedy="Put Q and DQ on its input, so that the pair moves through it: max pools, concatenations and slices run "
    "quantized.",
    references=(QUANTIZED_TYPES, RESIDUAL_QDQ),
    columns=("kind", "input_formats", "output_formats", "latency_ms"),
    not_when="Reformats, Q and DQ themselves; opaque Myelin blocks; the network's edges. Average pools, reductions, "
    "softmax and resizes are told as info.",
    needs=(details,),
)
def float_island(context: Context) -> Findings:
    for layer in context.layers:
        if not _is_island(context, layer):
            continue
        around = [
            neighbour
            for neighbour in (*context.producers(layer), *context.consumers(layer))
            if neighbour.kind in _CONVERSIONS and _serves_only(context, neighbour, layer)
        ]
        precision = context.input_type(layer) or DataType.FP16
        is_average = "AVERAGE" in str(layer.attributes.get("PoolingType", "")).upper()
        is_hard = layer.kind in _NO_QUANTIZED_KERNEL or is_average
        with_them = f", with {plural(len(around), 'conversion')} around it" if around else ""
        yield finding(
            f"{quote_layer(layer)} computes in {precision.value} between quantized layers"
            f"{with_them}: {context.format_time(layer, *around)}.",
            [layer, *around],
            severity=Severity.INFO if is_hard else None,
            savings=fraction(context, layer, 1 - 8 / precision.bits) | latencies(around),
            formula="latency_ms · (1 − 8 / bits of its input), plus latency_ms of the conversions that only serve it",
            evidence=layer_evidence(layer, kind=layer.kind.value, conversions=len(around)),
            remedy="Few such operators have quantized kernels; quantize its input only if its time matters."
            if is_hard
            else "",
        )


def _is_island(context: Context, layer: Layer) -> bool:
    if not layer.kind.is_work or layer.kind in _CONVERSIONS | _OPAQUE:
        return False
    ends = conversion(layer)
    if ends is None or ends[0].dtype not in FLOATING or ends[1].dtype not in FLOATING:
        return False
    if any(tensor.dtype in QUANTIZED for tensor in (*layer.data_inputs, *layer.outputs)):
        return False
    return compute_flow(context.engine).is_between_quantized(layer)


def _serves_only(context: Context, converting: Layer, layer: Layer) -> bool:
    """Whether a conversion stands between this layer and its neighbour alone."""
    links = context.engine.consumers(converting)
    return layer.index < converting.index or all(link.target == layer.index for link in links[:2])


@rule(
    "PREC003",
    "Requested precision and device do not fit",
    Severity.WARNING,
    looks_for="An engine whose products are all FP32 and take at least half of the time, on a device with FP16 tensor "
    "cores; INT8 allowed without FP16; FP16 allowed on a device without fast FP16.",
    why="FP16 halves the bytes and multiplies several times faster. INT8 alone leaves FP32 wherever nothing is quantized.",
    remedy="Build with --fp16, or export a strongly typed FP16 model; --best for quantized ones. If accuracy forbids it, "
    "ignore this rule with that reason.",
    references=(TENSOR_CORES, issue(550), issue(218)),
    columns=("kind", "precision", "latency_ms", "bound"),
    not_when="Devices without FP16 tensor cores.",
    needs=(details,),
    thresholds={"share_pct": 50.0},
)
def requested_precision(context: Context, share_pct: float) -> Findings:
    stated, device, products = context.engine.metadata.builder_precision, context.device, context.multiplying
    allowed = set((stated or "").upper().replace(",", "+").split("+"))
    if "INT8" in allowed and not allowed & {"FP16", "BF16"}:
        yield finding(
            "The builder was allowed INT8 but neither FP16 nor BF16, so that whatever is not quantized runs in FP32.",
            evidence={"builder_precision": stated},
            remedy="Allow FP16 as well: --int8 --fp16, or --best.",
        )
    if not products or not all(context.input_type(layer) in _WIDE for layer in products):
        return
    has_fast_half = tensor_cores_for(context, DataType.FP16)
    share = context.total_share_pct(products)
    if has_fast_half is None:
        yield not_checked(NO_DEVICE)
    elif has_fast_half and (share is None or share >= share_pct):
        savings: dict[int, float] = {}
        for layer in products:
            savings |= fraction(context, layer, _part_saved_by_halves(context, layer))
        yield finding(
            f"No convolution, GEMM or attention of {len(products)} computes in reduced precision, on a device with FP16 "
            f"tensor cores: {context.format_time(*products)}.",
            products,
            savings=savings,
            formula="bound by bandwidth or unknown: latency_ms / 2; bound by compute: latency_ms · (1 − peak now / FP16 "
            "peak)",
            evidence={"layers": len(products), "builder_precision": stated, "device": device.name},
        )
    elif not has_fast_half and "FP16" in allowed:
        yield finding(
            f"FP16 was allowed, but no product uses it: {device.name or 'the device'} has no tensor cores for it.",
            severity=Severity.INFO,
            evidence={"builder_precision": stated, "compute_capability": device.compute_capability},
            remedy="Leave --fp16 away on this device, unless FP16 is to save memory.",
        )


def _part_saved_by_halves(context: Context, layer: Layer) -> float:
    point = context.point(layer)
    if point is None or point.bound is not Bound.COMPUTE or not point.peak_flop_per_s:
        return 0.5
    half = peak_ops(context.device, DataType.FP16, tensor_cores=True).flop_per_s
    return 1 - min(1.0, point.peak_flop_per_s / half) if half else 0.5


# What the log of the build says

_AFFECTED_WEIGHTS = re.compile(
    r"(?P<count>\d{1,9}) weights? (?:is|are) affected by this issue: Detected (?P<what>[^\n]{1,120}?)\.?\s*(?:\n|$)"
)
_LONGEST_WARNING = 160
# Pattern in the text of a warning, what it means, what to do.
_WARNINGS = (
    (
        re.compile(r"Attempting to cast down to INT32"),
        "INT64 weights of the model are cast to INT32: harmless unless an index or a constant exceeds 2³¹.",
        "Nothing where indices are small; else export with INT32, or use TensorRT 10 or later, which has INT64.",
    ),
    (
        re.compile(r"Weakly-typed networks have been deprecated"),
        "The network is weakly typed: the builder chooses the precision of each layer by time alone, and TensorRT 11 no "
        "longer builds such networks.",
        "Export a strongly typed model (AutoCast of the Model Optimizer does), and build with --stronglyTyped.",
    ),
)


@rule(
    "PREC004",
    "The builder changed or lost precision",
    Severity.INFO,
    looks_for="Notes of the builder: a non-conforming implementation, weights that become subnormal, overflow or are NaN "
    "in a narrower type (warning), INT64 cast down, weak typing.",
    why="Such an engine may be less accurate than what was asked for, and only the log says so.",
    remedy="Clip or scale the weights, keep the layer in FP32, or export a strongly typed model.",
    references=(issue(1310),),
    needs=(build_log,),
)
def builder_notes(context: Context) -> Findings:
    for name in context.log.non_conforming:
        layers = context.layers_by_tuning.get(name, ())
        yield finding(
            f"{quote(name)} runs an implementation of another precision than was requested.",
            layers,
            confidence=Confidence.HIGH,
            evidence={"name": name, "precision": layers[0].precision if layers else None},
            remedy="--precisionConstraints=obey makes the build fail instead, =prefer keeps it quiet; if accuracy is "
            "fine, so is the layer.",
        )
    warnings = [message for message in context.log.messages if message.severity == "W"]
    for warning in warnings:
        for match in _AFFECTED_WEIGHTS.finditer(warning.text):
            count, what = int(match["count"]), printable(match["what"])
            yield finding(
                f"{plural(count, 'weight tensor')} lost values on the way to a narrower type: {what}.",
                severity=Severity.WARNING,
                confidence=Confidence.HIGH,
                evidence={"weights": count, "detected": what, "log_line": warning.line},
                remedy="Compare the accuracy with FP32. If it suffers: the verbose log names the weights; clip or scale "
                "them, or keep their layers in FP32.",
            )
    for pattern, sentence, remedy in _WARNINGS:
        matching = [warning for warning in warnings if pattern.search(warning.text)]
        if matching:
            yield finding(
                sentence,
                confidence=Confidence.HIGH,
                evidence={
                    "warning": shorten_middle(printable(matching[0].text), _LONGEST_WARNING),
                    "times": sum(warning.count for warning in matching),
                    "log_line": matching[0].line,
                },
                remedy=remedy,
            )
    if not context.log.is_verbose:
        yield not_checked(TERSE)


@rule(
    "PREC005",
    "Reduced precision lost by a hair",
    Severity.INFO,
    looks_for="A convolution, GEMM or attention of 0.5 % of the time or more that computes in FP32, where the log has a "
    "narrower type timed at no more than 5 % above it.",
    why="The narrower type halves what its neighbours read, and often needs no conversion around it once they follow. "
    f"{TIMED_ALONE}",
    remedy="Ask for the type on this layer: --layerPrecisions=NAME:fp16 with --precisionConstraints=prefer, or a "
    "strongly typed model; then compare latency, not tuning times.",
    references=(BUILDER_PERFORMANCE,),
    columns=("kind", "latency_ms"),
    not_when="Layers whose formats cannot be told apart in the log, and copies.",
    needs=(verbose_log,),
    thresholds={"margin_pct": 5.0, "share_pct": 0.5},
)
def reduced_precision_lost(context: Context, margin_pct: float, share_pct: float) -> Findings:
    for layer, choice in zip(context.layers, context.choices, strict=True):
        share = context.pct(layer.latency_ms)
        if not layer.kind.multiplies or (share is not None and share < share_pct):
            continue
        close = _find_narrower(choice)
        if close is None:
            continue
        precision, narrow_ms, chosen_ms = close
        margin = 100.0 * (narrow_ms - chosen_ms) / chosen_ms
        if margin <= margin_pct:
            yield finding(
                f"{quote_layer(layer)} ({context.format_time(layer)}) computes in FP32; {precision.value} took "
                f"{abs(margin):.2g} % {'longer' if margin >= 0 else 'less'} when it was tuned. {TIMED_ALONE}",
                [layer],
                evidence={
                    "chosen_precision": choice.precision.value if choice.precision else None,
                    "chosen_tuning_ms": chosen_ms,
                    "other_precision": precision.value,
                    "other_tuning_ms": narrow_ms,
                    "margin_pct": margin,
                    "latency_ms": layer.latency_ms,
                },
            )


def _find_narrower(choice: LayerChoice) -> tuple[DataType, float, float] | None:
    """The narrower type that came closest, its time and that of the choice; None where there is no such thing."""
    chosen = choice.chosen
    if choice.precision not in _SINGLE or chosen is None or chosen.time_ms <= 0 or choice.is_ambiguous:
        return None
    narrow = next((timed for timed in choice.precisions if timed.precision in REDUCED), None)
    return (narrow.precision, narrow.time_ms, chosen.time_ms) if narrow else None
