"""PREC: layers, and whole engines, that compute in wider types than they could."""

from __future__ import annotations

from collections.abc import Iterator

from trex_tui.analysis.gpu_peaks import peak_ops
from trex_tui.analysis.roofline import Bound
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.lint.context import FLOATING, QUANTIZED, Context
from trex_tui.lint.dataflow import conversion, flow_of
from trex_tui.lint.lint_text import (
    NO_DETAILS,
    QUANTIZED_TYPES,
    RESIDUAL_QDQ,
    TENSOR_CORES,
    called,
    indices,
    issue,
    time_of,
    time_text,
    whole_time,
)
from trex_tui.lint.model import Confidence, Evidence, Finding, NotChecked, Rule, Severity
from trex_tui.lint.savings import evidence, fraction, tensor_cores_for
from trex_tui.text import plural

REDUCED_SHARE = 0.2
"""From this share of products in reduced precision on, an engine counts as one of reduced precision."""
MANY_ELEMENTS = 1024
_WIDE = frozenset({DataType.FP32, DataType.TF32, DataType.FP64})
_OPAQUE = frozenset({LayerKind.MYELIN, LayerKind.FUSED})
"""What these compute in is not that of their inputs."""
_CONVERSIONS = frozenset({LayerKind.REFORMAT, LayerKind.QUANTIZE})
# Operators without quantized kernels, or with so little to win that nobody wrote them.
_NO_QUANTIZED_KERNEL = frozenset({LayerKind.SOFTMAX, LayerKind.REDUCTION, LayerKind.RESIZE})
NO_DEVICE = "the device is unknown: keep trtexec's log, or state the device, to know what it computes fast"


# PREC001


def _wide_layers(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("PREC001", NO_DETAILS)
        return
    products = [layer for layer in context.layers if context.is_compute(layer)]
    reduced = sum(context.is_reduced(layer) for layer in products)
    if not products or reduced < REDUCED_SHARE * len(products):
        return
    flow = flow_of(context.engine)
    found = [layer for layer in context.layers if _is_wide(context, layer)]
    found = [layer for layer in found if not _is_island(context, layer)]
    last = [one for one in found if one.kind is LayerKind.SOFTMAX and one.index in flow.at_output]
    found = [layer for layer in found if layer not in last]
    if not context.has_profile and found:
        yield _wide_without_times(found)
        return
    least = context.threshold("PREC001.share_pct", 0.5)
    for layer in found:
        if (context.pct(layer.latency_ms) or 0.0) >= least:
            yield Finding(
                "PREC001",
                f"{called(layer)} is FP32 in and out in an engine of reduced precision: "
                f"{time_text(layer.latency_ms, context.pct(layer.latency_ms))}.",
                (layer.index,),
                stakes_ms=fraction(context, layer, 0.5),
                formula="latency_ms / 2: half of the bytes",
                evidence=evidence(layer),
            )


def _wide_without_times(found: list[Layer]) -> Finding:
    return Finding(
        "PREC001",
        f"{plural(len(found), 'layer')} with FP32 in and out in an engine of reduced precision; without a profile their time "
        "is unknown.",
        indices(found),
        confidence=Confidence.LOW,
        evidence=(Evidence("layers", len(found)),),
    )


def _is_wide(context: Context, layer: Layer) -> bool:
    if not layer.kind.is_work or layer.kind in _CONVERSIONS | _OPAQUE or not layer.outputs:
        return False
    inputs = {tensor.dtype for tensor in context.data_inputs(layer)}
    floats = inputs & (FLOATING | QUANTIZED | _WIDE)
    if not floats or not floats <= _WIDE or layer.output_precision not in _WIDE:
        return False
    return (layer.outputs[0].volume or 0) >= MANY_ELEMENTS


# PREC002


def _islands(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("PREC002", NO_DETAILS)
        return
    for layer in context.layers:
        if _is_island(context, layer):
            yield _island(context, layer)


def _is_island(context: Context, layer: Layer) -> bool:
    if not layer.kind.is_work or layer.kind in _CONVERSIONS | _OPAQUE:
        return False
    ends = conversion(context, layer)
    if ends is None or ends[0].dtype not in FLOATING or ends[1].dtype not in FLOATING:
        return False
    if any(tensor.dtype in QUANTIZED for tensor in (*context.data_inputs(layer), *layer.outputs)):
        return False
    return flow_of(context.engine).is_between_quantized(layer)


def _island(context: Context, layer: Layer) -> Finding:
    around = [
        one
        for one in (*context.producers(layer), *context.consumers(layer))
        if one.kind in _CONVERSIONS and _serves_only(context, one, layer)
    ]
    precision = context.input_type(layer) or DataType.FP16
    stakes = fraction(context, layer, 1 - 8 / precision.bits) | whole_time(around)
    time = time_of([layer, *around])
    is_average = "AVERAGE" in str(layer.attributes.get("PoolingType", "")).upper()
    is_hard = layer.kind in _NO_QUANTIZED_KERNEL or is_average
    with_them = f", with {plural(len(around), 'conversion')} around it" if around else ""
    return Finding(
        "PREC002",
        f"{called(layer)} computes in {precision.value} between quantized layers"
        f"{with_them}: {time_text(time, context.pct(time))}.",
        indices([layer, *around]),
        severity=Severity.INFO if is_hard else None,
        stakes_ms=stakes,
        formula="latency_ms · (1 − 8 / bits of its input), plus latency_ms of the conversions that only serve it",
        evidence=evidence(layer, kind=layer.kind.value, conversions=len(around)),
        remedy="Few such operators have quantized kernels; quantize its input only if its time matters."
        if is_hard
        else "",
    )


def _serves_only(context: Context, conversion_layer: Layer, layer: Layer) -> bool:
    """Whether a conversion stands between this layer and its neighbour alone."""
    links = context.engine.consumers(conversion_layer)
    return layer.index < conversion_layer.index or all(link.target == layer.index for link in links[:2])


# PREC003


def _whole_engine(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("PREC003", NO_DETAILS)
        return
    allowed = set((context.engine.metadata.builder_precision or "").upper().replace(",", "+").split("+"))
    if "INT8" in allowed and not allowed & {"FP16", "BF16"}:
        yield Finding(
            "PREC003",
            "The builder was allowed INT8 but neither FP16 nor BF16, so that whatever is not quantized runs in FP32.",
            confidence=Confidence.MEDIUM,
            evidence=(Evidence("builder_precision", context.engine.metadata.builder_precision),),
            remedy="Allow FP16 as well: --int8 --fp16, or --best.",
        )
    yield from _all_single(context, allowed)


def _all_single(context: Context, allowed: set[str]) -> Iterator[Finding | NotChecked]:
    products = [layer for layer in context.layers if context.is_compute(layer)]
    if not products or any(context.is_reduced(layer) for layer in products):
        return
    if not all(context.input_type(layer) in _WIDE for layer in products):
        return
    has_fast_half = tensor_cores_for(context, DataType.FP16)
    if has_fast_half is None:
        yield NotChecked("PREC003", NO_DEVICE)
        return
    time = time_of(products)
    share = context.pct(time)
    if has_fast_half and (share is None or share >= context.threshold("PREC003.share_pct", 50.0)):
        yield _single_finding(context, products, time)
    elif not has_fast_half and "FP16" in allowed:
        yield Finding(
            "PREC003",
            f"FP16 was allowed, but no product uses it: {context.device.name or 'the device'} has no tensor cores for it.",
            severity=Severity.INFO,
            confidence=Confidence.MEDIUM,
            evidence=(
                Evidence("builder_precision", context.engine.metadata.builder_precision),
                Evidence("compute_capability", context.device.compute_capability),
            ),
            remedy="Leave --fp16 away on this device, unless FP16 is to save memory.",
        )


def _single_finding(context: Context, products: list[Layer], time: float | None) -> Finding:
    stakes: dict[int, float] = {}
    for layer in products:
        stakes |= fraction(context, layer, _part_won_in_halves(context, layer))
    return Finding(
        "PREC003",
        f"No convolution, GEMM or attention of {len(products)} computes in reduced precision, on a device with FP16 tensor "
        f"cores: {time_text(time, context.pct(time))}.",
        indices(products),
        stakes_ms=stakes,
        formula="bound by bandwidth or unknown: latency_ms / 2; bound by compute: latency_ms · (1 − peak now / FP16 peak)",
        evidence=(
            Evidence("layers", len(products)),
            Evidence("builder_precision", context.engine.metadata.builder_precision),
            Evidence("device", context.device.name),
        ),
    )


def _part_won_in_halves(context: Context, layer: Layer) -> float:
    point = context.point(layer)
    if point is None or point.bound is not Bound.COMPUTE or not point.peak_flop_per_s:
        return 0.5
    half = peak_ops(context.device, DataType.FP16, tensor_cores=True).flop_per_s
    return 1 - min(1.0, point.peak_flop_per_s / half) if half else 0.5


RULES: tuple[Rule, ...] = (
    Rule(
        id="PREC001",
        title="FP32 layer in an engine of reduced precision",
        severity=Severity.WARNING,
        looks_for="A layer of 0.5 % of the time or more, with 1 024 elements or more, whose floating-point inputs and "
        "first output "
        "are all FP32, where at least 20 % of the convolutions, GEMMs and attention layers are of reduced precision.",
        why="It moves twice the bytes, keeps its products off the fast tensor-core modes, and often needs conversions "
        "around it.",
        remedy="Put the cast or the Q before it; check for constants, plugins and pinned layers that keep it in FP32.",
        references=(QUANTIZED_TYPES, issue(550)),
        columns=("kind", "input_formats", "output_formats", "latency_ms"),
        check=_wide_layers,
        not_when="Reformats, Q and DQ; opaque Myelin blocks; the last softmax; layers between quantized ones (PREC002).",
    ),
    Rule(
        id="PREC002",
        title="Float island between quantized layers",
        severity=Severity.WARNING,
        looks_for="A layer with floating-point input and output whose nearest products before and behind it are all "
        "quantized.",
        why="The data is widened before it and quantized again behind it, and moves in twice or four times the bytes.",
        remedy="Put Q and DQ on its input, so that the pair moves through it: max pools, concatenations and slices "
        "run quantized.",
        references=(QUANTIZED_TYPES, RESIDUAL_QDQ),
        columns=("kind", "input_formats", "output_formats", "latency_ms"),
        check=_islands,
        not_when="Reformats, Q and DQ themselves; opaque Myelin blocks; the network's edges. Average pools, "
        "reductions, softmax "
        "and resizes are told as info.",
    ),
    Rule(
        id="PREC003",
        title="Requested precision and device do not fit",
        severity=Severity.WARNING,
        looks_for="An engine whose products are all FP32 and take at least half of the time, on a device with FP16 "
        "tensor cores; "
        "INT8 allowed without FP16; FP16 allowed on a device without fast FP16.",
        why="FP16 halves the bytes and multiplies several times faster. INT8 alone leaves FP32 wherever nothing is "
        "quantized.",
        remedy="Build with --fp16, or export a strongly typed FP16 model; --best for quantized ones. If accuracy forbids it, "
        "ignore this rule with that reason.",
        references=(TENSOR_CORES, issue(550), issue(218)),
        columns=("kind", "precision", "latency_ms", "bound"),
        check=_whole_engine,
        not_when="Devices without FP16 tensor cores.",
    ),
)
