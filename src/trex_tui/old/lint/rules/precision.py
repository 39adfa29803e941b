"""PREC: layers, and whole engines, that compute in wider types than necessary, or lost precision in the build."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from trex_tui.old.analysis.gpu_peaks import peak_ops
from trex_tui.old.analysis.structure import sum_latency_ms
from trex_tui.old.analysis.thresholds import Bound
from trex_tui.old.analysis.trtexec_runs import build_run
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Layer, Tensor
from trex_tui.old.lint.context import (
    BUILDER_PERFORMANCE,
    FLOATING,
    QUANTIZED,
    QUANTIZED_TYPES,
    REDUCED,
    RESIDUAL_QDQ,
    TENSOR_CORES,
    TERSE,
    TIMED_ALONE,
    Context,
    build_log,
    details,
    issue,
    latencies,
    quote,
    quote_layer,
    verbose_log,
)
from trex_tui.old.lint.dataflow import compute_flow, is_movement
from trex_tui.old.lint.islands import Island, find_islands
from trex_tui.old.lint.model import Confidence, Finding, Findings, Severity, finding, not_checked, rule
from trex_tui.old.lint.savings import fraction, layer_evidence, moving_ms, saving, tensor_cores_for
from trex_tui.old.text import plural, printable, shorten_middle

if TYPE_CHECKING:  # imported only for sets with a log
    from trex_tui.old.analysis.build import LayerChoice

REDUCED_SHARE = 0.2
"""Share of reduced-precision compute layers from which an engine counts as reduced precision."""
MANY_ELEMENTS = 1024
_MOST_NODES = 3
"""Number of nodes listed in a remedy."""
_WIDE = frozenset({DataType.FP32, DataType.TF32, DataType.FP64})
_SINGLE = frozenset({DataType.FP32, DataType.TF32})
_OPAQUE = frozenset({LayerKind.MYELIN, LayerKind.FUSED})
"""Kinds whose compute precision differs from their inputs'."""
_CONVERSIONS = frozenset({LayerKind.REFORMAT, LayerKind.QUANTIZE})
# Operators without quantized kernels, which would save little.
_NO_QUANTIZED_KERNEL = frozenset(
    {LayerKind.SOFTMAX, LayerKind.REDUCTION, LayerKind.NORMALIZATION, LayerKind.RESIZE}
)
NO_DEVICE = "the device is unknown: keep trtexec's log, or set [device] in trex-tui.toml"


@rule(
    "PREC001",
    "FP32 layer in a reduced-precision engine",
    Severity.WARNING,
    looks_for="A layer of at least 0.5 % of the time and 1 024 elements whose floating-point inputs and first output "
    "are all FP32, if at least 20 % of the convolutions, GEMMs and attention layers have reduced precision.",
    why="It moves twice the bytes, cannot use the fast tensor-core modes, and often needs conversions around it.",
    remedy="Put the cast or the Q before it; check for constants, plugins and pinned layers that keep it in FP32.",
    references=(QUANTIZED_TYPES, issue(550)),
    columns=("kind", "input_formats", "output_formats", "latency_ms"),
    not_when="Reformats, Q and DQ; opaque Myelin blocks; the last softmax; layers between quantized ones (PREC002); "
    "transposes at the network's edge (FMT004).",
    needs=(details,),
    thresholds={"share_pct": 0.5},
)
def single_precision_layer(context: Context, share_pct: float) -> Findings:
    reduced = sum(context.is_reduced(layer) for layer in context.multiplying)
    if not context.multiplying or reduced < REDUCED_SHARE * len(context.multiplying):
        return
    flow = compute_flow(context.engine)
    in_islands = {layer.index for island in find_islands(context.engine) for layer in island.layers}
    layers = [
        layer
        for layer in context.layers
        if _is_wide(layer)
        and layer.index not in in_islands
        and not (layer.kind is LayerKind.SOFTMAX and layer.index in flow.at_output)
        and not (is_movement(layer) and layer.index in flow.at_edge)
    ]
    if not context.has_profile and layers:
        yield finding(
            f"{plural(len(layers), 'layer')} with FP32 inputs and outputs in a reduced-precision engine; "
            "time unknown without a profile.",
            layers,
            confidence=Confidence.LOW,
            evidence={"layers": len(layers)},
        )
        return
    for layer in layers:
        if context.share_pct(layer) >= share_pct:
            yield finding(
                f"{quote_layer(layer)} has FP32 inputs and outputs in a reduced-precision engine: "
                f"{context.format_time(layer)}.",
                [layer],
                savings=fraction(context, layer, 0.5),
                formula="layer time / 2: half of the bytes",
                evidence=layer_evidence(layer),
                group="layers have FP32 inputs and outputs in a reduced-precision engine",
            )


def _is_wide(layer: Layer) -> bool:
    if layer.output_precision not in _WIDE or not layer.kind.is_work or layer.kind in _CONVERSIONS | _OPAQUE:
        return False
    floats = {tensor.dtype for tensor in layer.data_inputs} & (FLOATING | QUANTIZED | _WIDE)
    if not floats or not floats <= _WIDE:
        return False
    return (layer.outputs[0].volume or 0) >= MANY_ELEMENTS


@rule(
    "PREC002",
    "Floating-point island between quantized layers",
    Severity.WARNING,
    looks_for="A floating-point value between quantized compute layers that reaches only quantized layers, through Q, "
    "DQ, reformats, pools and other light layers, or as a residual. One finding per value, with all its "
    "kernels.",
    why="The value needs two or four times the bytes and separate conversion kernels, and the layers in between "
    "cannot run quantized.",
    remedy="Put Q and DQ on the value where it is written: they propagate through pools, concatenations and "
    "slices, and convolution, addition and activation fuse into one 8-bit kernel.",
    references=(QUANTIZED_TYPES, RESIDUAL_QDQ, issue(2204), issue(2383)),
    columns=("kind", "input_formats", "output_formats", "latency_ms"),
    not_when="Values written or read by a floating-point compute layer, a plugin or an opaque block; network inputs "
    "and outputs. Softmax, reductions and resizes, which have few quantized kernels, are info.",
    needs=(details,),
)
def float_island(context: Context) -> Findings:
    islands = find_islands(context.engine)
    adding = {layer.index for island in islands for layer in island.readers}
    causes: dict[tuple[str, bool], list[Island]] = {}
    for island in islands:
        is_hard = any(layer.kind in _NO_QUANTIZED_KERNEL for layer in island.work)
        causes.setdefault((_find_island_cause(island, adding), is_hard), []).append(island)
    for (cause, is_hard), alike in causes.items():
        yield _describe_islands(context, cause, is_hard, alike)


def _find_island_cause(island: Island, adding: Collection[int]) -> str:
    """Return the end of the remedy.

    Args:
        adding: Indices of products that add an island as their residual.
    """
    if not island.writers:
        return ""
    if island.dequantizations:
        return ": the skip input of the addition is already quantized, its result is not."
    if island.readers or any(layer.index in adding for layer in island.writers):
        return ", so that the addition reads and writes 8 bits."
    if island.work:
        return ", so that the layers in between run quantized."
    return ", so that it writes 8 bits."


def _describe_islands(context: Context, cause: str, is_hard: bool, islands: Sequence[Island]) -> Finding:
    """Return a finding for islands of one cause, the most expensive first in sentence and remedy."""
    savings: dict[int, float] = {}
    for island in islands:
        for index, ms in _save_island(context, island).items():
            savings[index] = max(ms, savings.get(index, 0.0))
    ordered = sorted(
        islands, key=lambda island: (-(sum_latency_ms(island.layers) or 0.0), island.layers[0].index)
    )
    largest, layers = ordered[0], {layer.index: layer for island in islands for layer in island.layers}
    message = _describe_island(context, largest)
    if len(islands) > 1:
        message = (
            f"{len(islands)} floating-point values between quantized layers: "
            f"{context.format_time(*layers.values())}. The largest: {message}"
        )
    return finding(
        message,
        layers.values(),
        severity=Severity.INFO if is_hard else None,
        savings=savings,
        formula="Q, DQ and reformats: layer time; light layers: layer time · (1 − 8 / bits); products: bytes saved by "
        "residual and result of 8 bits / bandwidth; in another layout than the data, layer time · bytes saved / bytes",
        evidence=layer_evidence(
            largest.layers[0],
            islands=len(islands),
            writers=sum(len(island.writers) for island in islands),
            conversions=sum(len(island.conversions) for island in islands),
            residual_readers=sum(len(island.readers) for island in islands),
            light_layers=sum(len(island.work) for island in islands),
        ),
        remedy="Few of these operators have quantized kernels; quantize the value only if its time matters."
        if is_hard
        else _advise_islands(cause, ordered),
    )


def _describe_island(context: Context, island: Island) -> str:
    """Return `'conv2' writes FP32 between quantized layers: 'pool' works on it, 2 kernels convert it: 0.0993 ms, 13.6 %.`"""
    first = next(iter((*island.writers, *island.dequantizations)), island.layers[0])
    precision = first.output_precision.value if first.output_precision else "floating point"
    if len(island.writers) > 1:
        head = (
            f"{len(island.writers)} quantized compute layers (first: {quote_layer(first)}) write {precision}"
        )
    else:
        head = f"{quote_layer(first)} {'writes' if island.writers else 'dequantizes to'} {precision}"
    parts = []
    if island.work:
        works = quote_layer(island.work[0]) if len(island.work) == 1 else plural(len(island.work), "layer")
        parts.append(f"{works} {'works' if len(island.work) == 1 else 'work'} on it")
    if count := len(island.conversions):
        parts.append(f"{plural(count, 'kernel')} {'converts' if count == 1 else 'convert'} it")
    if count := len(island.readers):
        parts.append(f"{plural(count, 'product')} {'adds' if count == 1 else 'add'} it as a residual")
    return f"{head} between quantized layers: {', '.join(parts)}: {context.format_time(*island.layers)}."


def _advise_islands(cause: str, islands: Iterable[Island]) -> str:
    """Return where Q and DQ are missing, by the ONNX nodes after which the values are written."""
    writers = [layer for island in islands for layer in island.writers]
    if not writers:
        return "Put Q and DQ on the result of the layers in between, so that they read and write 8 bits."
    nodes = [layer.onnx_nodes[-1] if layer.onnx_nodes else layer.name for layer in writers[:_MOST_NODES]]
    more = f" and {len(writers) - _MOST_NODES} more" if len(writers) > _MOST_NODES else ""
    return f"Put Q and DQ after {', '.join(map(quote, nodes))}{more}{cause}"


def _save_island(context: Context, island: Island) -> dict[int, float]:
    savings = latencies(island.conversions)
    for layer in island.work:
        precision = context.input_type(layer) or layer.output_precision
        if precision in FLOATING:
            savings |= fraction(context, layer, 1 - 8 / precision.bits)
    for index in {layer.index for layer in (*island.writers, *island.readers)}:
        layer = context.layers[index]
        wide = [*layer.outputs[:1]] if layer in island.writers else []
        wide += layer.data_inputs[1:] if layer in island.readers else []
        savings |= _save_wide(context, layer, [tensor for tensor in wide if tensor.dtype in FLOATING])
    return savings


def _save_wide(context: Context, layer: Layer, wide: list[Tensor]) -> dict[int, float]:
    """Return the saving of 8 bits for a wide residual or result.

    It is the share of the bytes; if the layout differs from that of the data, their share of the time, since the kernel
    then gathers or scatters single elements.
    """
    total, layout = context.bytes(layer), layer.inputs[0].format.layout
    saved_ms = 0.0
    for tensor in wide:
        size = (tensor.allocated_bytes or 0) * (1 - 8 / tensor.dtype.bits) if tensor.dtype else 0.0
        if tensor.format.layout == layout:
            saved_ms += moving_ms(context, size) or 0.0
        elif total:
            saved_ms += size / total * (layer.latency_ms or 0.0)
    time = layer.latency_ms
    return saving(layer, None if time is None else min(saved_ms, time - (context.floor_ms or 0.0)))


@rule(
    "PREC003",
    "Requested precision does not suit the device",
    Severity.WARNING,
    looks_for="An engine with only FP32 compute layers that take at least half of the time, on a device with FP16 "
    "tensor cores; INT8 allowed without FP16; FP16 allowed on a device without fast FP16.",
    why=(
        "FP16 halves the bytes and is several times faster. With INT8 alone, all layers that are not "
        "quantized run in FP32."
    ),
    remedy="Build with --fp16, or export a strongly typed FP16 model; --best for quantized ones. If accuracy "
    "requires FP32, suppress this rule.",
    references=(TENSOR_CORES, issue(550), issue(218)),
    columns=("kind", "precision", "latency_ms", "bound"),
    not_when=(
        "Devices without FP16 tensor cores; builds with FP16 or BF16 allowed in which FP32 kernels were "
        "faster."
    ),
    needs=(details,),
    thresholds={"share_pct": 50.0},
)
def requested_precision(context: Context, share_pct: float) -> Findings:
    stated, device, products = context.engine.metadata.builder_precision, context.device, context.multiplying
    allowed = set((stated or "").upper().replace(",", "+").split("+"))
    if "INT8" in allowed and not allowed & {"FP16", "BF16"}:
        yield finding(
            "INT8 was allowed but neither FP16 nor BF16, so layers that are not quantized run in FP32.",
            evidence={"builder_precision": stated},
            remedy="Allow FP16 as well: --int8 --fp16, or --best.",
        )
    if not products or not all(context.input_type(layer) in _WIDE for layer in products):
        return
    may_use_half = bool(allowed & {"FP16", "BF16"}) or build_run(context.engine).has(
        "--fp16", "--bf16", "--best"
    )
    has_fast_half = tensor_cores_for(context, DataType.FP16)
    share = context.total_share_pct(products)
    if has_fast_half is None:
        yield not_checked(NO_DEVICE)
    elif has_fast_half and may_use_half:
        return  # the builder timed both, and FP32 was faster: PREC005 reports where
    elif has_fast_half and (share is None or share >= share_pct):
        savings: dict[int, float] = {}
        for layer in products:
            savings |= fraction(context, layer, _part_saved_by_halves(context, layer))
        yield finding(
            f"None of {len(products)} convolutions, GEMMs and attention layers runs in reduced precision, "
            f"on a device with FP16 tensor cores: {context.format_time(*products)}.",
            products,
            savings=savings,
            formula="bound by bandwidth or unknown: layer time / 2; bound by compute: layer time · (1 − peak now / FP16 "
            "peak)",
            evidence={"layers": len(products), "builder_precision": stated, "device": device.name},
        )
    elif not has_fast_half and "FP16" in allowed:
        yield finding(
            (
                f"FP16 was allowed, but no compute layer uses it: {device.name or 'the device'} has no tensor "
                "cores for it."
            ),
            severity=Severity.INFO,
            evidence={"builder_precision": stated, "compute_capability": device.compute_capability},
            remedy="Remove --fp16 on this device, unless it saves memory.",
        )


def _part_saved_by_halves(context: Context, layer: Layer) -> float:
    point = context.point(layer)
    if point is None or point.bound is not Bound.COMPUTE or not point.peak_flop_per_s:
        return 0.5
    half = peak_ops(context.device, DataType.FP16, tensor_cores=True).flop_per_s
    return 1 - min(1.0, point.peak_flop_per_s / half) if half else 0.5


# Build log

_AFFECTED_WEIGHTS = re.compile(
    r"(?P<count>\d{1,9}) weights? (?:is|are) affected by this issue: Detected (?P<what>[^\n]{1,120}?)\.?\s*(?:\n|$)"
)
_LONGEST_WARNING = 160
# Pattern in the text of a warning, severity, meaning, remedy.
_WARNINGS = (
    (
        re.compile(r"Attempting to cast down to INT32"),
        Severity.INFO,
        "INT64 weights are cast to INT32: harmless unless an index or a constant exceeds 2³¹.",
        "None if indices are small; else export with INT32, or use TensorRT 10 or later (INT64).",
    ),
    (
        re.compile(r"Weakly-typed networks have been deprecated"),
        Severity.INFO,
        "Weakly typed network: the builder chooses precisions by time only, and TensorRT 11 no longer "
        "builds such networks.",
        (
            "Export a strongly typed model (for example with AutoCast of Model Optimizer) and build with "
            "--stronglyTyped."
        ),
    ),
    (
        re.compile(r"Missing scale and zero-point for tensor"),
        Severity.WARNING,
        "{tensors} without a scale in an INT8 build: the layers around them do not run in INT8.",
        "Calibrate again with this model, or quantize it with Q/DQ nodes (ModelOpt). Ignore tensors of indices and shapes.",
    ),
    (
        re.compile(r"[Tt]ensor \S+ is uniformly zero"),
        Severity.WARNING,
        "Only zeros in {tensors} during calibration: their scales are meaningless.",
        "Calibrate with representative data, preprocessed as in inference.",
    ),
    (
        re.compile(r"Int8 Calibration is using randomly generated input data"),
        Severity.WARNING,
        "Calibrated with random data: times are usable, results are not.",
        "Calibrate with representative data.",
    ),
    (
        re.compile(r"layernorm after self-attention in FP16 may cause overflow|layernorm nodes in FP16"),
        Severity.INFO,
        "Layer normalization runs in FP16 and may overflow.",
        "Compare the accuracy with FP32. If it is worse, export with opset 17 or later (LayerNormalization), or keep these "
        "layers in FP32.",
    ),
)


@rule(
    "PREC004",
    "Precision changed or lost by the builder",
    Severity.INFO,
    looks_for="Builder messages: a non-conforming implementation, weights that become subnormal, overflow or NaN in a "
    "narrower type (warning), INT8 without scales or with useless ones (warning), INT64 cast down, normalization in FP16, "
    "weak typing.",
    why="The engine may be less accurate than requested; only the log shows this.",
    remedy="Clip or scale the weights, keep the layer in FP32, or export a strongly typed model.",
    references=(issue(1310),),
    needs=(build_log,),
)
def builder_notes(context: Context) -> Findings:
    for name in context.log.non_conforming:
        layers = context.layers_by_tuning.get(name, ())
        yield finding(
            f"{quote(name)} does not run in the requested precision.",
            layers,
            confidence=Confidence.HIGH,
            evidence={"name": name, "precision": layers[0].precision if layers else None},
            remedy="--precisionConstraints=obey makes the build fail instead, =prefer accepts it. Ignore this "
            "finding if accuracy is fine.",
        )
    warnings = [message for message in context.log.messages if message.severity == "W"]
    for warning in warnings:
        for match in _AFFECTED_WEIGHTS.finditer(warning.text):
            count, what = int(match["count"]), printable(match["what"])
            yield finding(
                f"{plural(count, 'weight tensor')} lost values in a narrower type: {what}.",
                severity=Severity.WARNING,
                confidence=Confidence.HIGH,
                evidence={"weights": count, "detected": what, "log_line": warning.line},
                remedy="Compare the accuracy with FP32. If it is worse, clip or scale the weights named in the "
                "verbose log, or keep their layers in FP32.",
            )
    for pattern, severity, sentence, remedy in _WARNINGS:
        matching = [warning for warning in warnings if pattern.search(warning.text)]
        if matching:
            times = sum(warning.count for warning in matching)
            yield finding(
                sentence.format(tensors=plural(times, "tensor")),
                severity=severity,
                confidence=Confidence.HIGH,
                evidence={
                    "warning": shorten_middle(printable(matching[0].text), _LONGEST_WARNING),
                    "times": times,
                    "log_line": matching[0].line,
                },
                remedy=remedy,
            )
    if not context.log.is_verbose:
        yield not_checked(TERSE)


@rule(
    "PREC005",
    "Lower precision was almost as fast",
    Severity.INFO,
    looks_for="A convolution, GEMM or attention in FP32 of at least 0.5 % of the time for which the log has a "
    "narrower type at most 5 % slower.",
    why=f"The narrower type halves the bytes read by its neighbours and often removes conversions. {TIMED_ALONE}",
    remedy="Request the type for this layer: --layerPrecisions=NAME:fp16 with --precisionConstraints=prefer, or a "
    "strongly typed model; then compare latency, not tuning times.",
    references=(BUILDER_PERFORMANCE,),
    columns=("kind", "latency_ms"),
    not_when="Layers whose formats the log does not distinguish, and copies.",
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
                f"{quote_layer(layer)} ({context.format_time(layer)}) runs in FP32; {precision.value} was "
                f"{abs(margin):.2g} % {'slower' if margin >= 0 else 'faster'} in tuning. {TIMED_ALONE}",
                [layer],
                evidence={
                    "chosen_precision": choice.precision.value if choice.precision else None,
                    "chosen_tuning_ms": chosen_ms,
                    "other_precision": precision.value,
                    "other_tuning_ms": narrow_ms,
                    "margin_pct": margin,
                    "latency_ms": layer.latency_ms,
                },
                group="layers run in FP32 although the build allowed lower precision",
            )


def _find_narrower(choice: LayerChoice) -> tuple[DataType, float, float] | None:
    """Return the narrower type with the closest time, its time and that of the choice; None without one."""
    chosen = choice.chosen
    if choice.precision not in _SINGLE or chosen is None or chosen.time_ms <= 0 or choice.is_ambiguous:
        return None
    narrow = next((timed for timed in choice.precisions if timed.precision in REDUCED), None)
    return (narrow.precision, narrow.time_ms, chosen.time_ms) if narrow else None
