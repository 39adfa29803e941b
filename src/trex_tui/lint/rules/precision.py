"""PREC: layers, and whole engines, that compute in wider types than necessary, or lost precision in the build."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from trex_tui.analysis.peaks import find_peak, has_tensor_cores
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Port
from trex_tui.lint.context import (
    FLOATING,
    NO_DEVICE,
    PRODUCTS,
    QUANTIZED,
    QUANTIZED_TYPES,
    REDUCED,
    RESIDUAL_QDQ,
    TENSOR_CORES,
    TERSE,
    WIDE,
    Context,
    bits_of,
    build_log,
    details,
    issue,
    quote,
    size_of,
)
from trex_tui.lint.regions import Island, find_islands
from trex_tui.lint.rule import HIGH, INFO, LOW, MEDIUM, WARNING, Findings, Rule, finding, not_checked
from trex_tui.lint.savings import (
    fractions,
    is_stalled,
    merge,
    moving_ms,
    narrowed,
    saving,
    shortest_ms,
    tensor_cores_for,
)
from trex_tui.text import plural, printable, shorten_middle

REDUCED_SHARE = 0.2
"""Share of reduced-precision compute layers from which an engine counts as reduced precision."""
MANY_ELEMENTS = 1024
_MOST_NODES = 3
"""Number of nodes listed in a remedy."""
_OPAQUE = frozenset((LayerKind.MYELIN, LayerKind.FUSED))
"""Kinds whose compute precision differs from their inputs'."""
_CONVERSIONS = frozenset((LayerKind.REFORMAT, LayerKind.QUANTIZE))
_Q_NODE = re.compile(r"(?:Quantize|Dequantize)Linear|_D?Q(?:_\d+)?$")
# Operators without quantized kernels, which would save little.
_NO_QUANTIZED_KERNEL = frozenset(
    (LayerKind.SOFTMAX, LayerKind.REDUCTION, LayerKind.NORMALIZATION, LayerKind.RESIZE)
)


@Rule(
    "PREC001",
    "FP32 layer in a reduced-precision engine",
    WARNING,
    looks_for="A layer of at least 0.5 % of the time and 1 024 elements whose floating-point inputs and first output "
    "are all FP32, if at least 20 % of the convolutions, GEMMs and attention layers have reduced precision.",
    why="It moves twice the bytes, cannot use the fast tensor-core modes, and often needs conversions around it.",
    remedy="Put the cast or the Q before it; check for constants, plugins and pinned layers that keep it in FP32.",
    references=(QUANTIZED_TYPES, issue(550)),
    columns=("kind", "input_formats", "output_formats", "latency_ms"),
    not_when="Reformats, Q and DQ; closed Myelin blocks; the last softmax; layers between quantized ones (PREC002); "
    "transposes at the network's edge (FMT004); layers far below the rates of others, which fewer bytes "
    "do not shorten.",
    needs=(details,),
    estimate="assumes half of the bytes",
    formula="layer time / 2",
)
def single_precision_layer(context: Context) -> Findings:
    reduced = sum(map(context.is_reduced, context.multiplying))
    if not context.multiplying or reduced < REDUCED_SHARE * len(context.multiplying):
        return
    flow = context.flow
    in_islands = {layer for island in find_islands(context) for layer in island.layers}
    layers = [
        layer
        for layer in range(len(context.engine))
        if _is_wide(context, layer)
        and layer not in in_islands
        and not (context.kinds[layer] == LayerKind.SOFTMAX and layer in flow.at_output)
        and not (context.is_movement(layer) and layer in flow.at_edge)
        and not is_stalled(context, layer)
        and (not context.has_profile or context.share_pct(layer) >= 0.5)
    ]
    if layers:
        yield finding(
            f"{plural(len(layers), 'layer')} with FP32 inputs and outputs in a reduced-precision engine, the longest "
            f"{context.quote(context.longest(layers))}: {context.format_time(*layers)}.",
            layers,
            confidence=MEDIUM if context.has_profile else LOW,
            savings=fractions(context, layers, 0.5),
            evidence={"layers": len(layers), **context.evidence(context.longest(layers))},
            remedy=_AS_EXPORTED if context.platform.is_strongly_typed else "",
        )


_AS_EXPORTED = (
    "Types are those of the model (strongly typed): export it in FP16 or BF16 before Q and DQ are inserted, so that "
    "attention, normalizations and sums run in 16 bits."
)


def _is_wide(context: Context, layer: int) -> bool:
    if context.output_types[layer] not in WIDE or not context.is_work(layer):
        return False
    if context.kinds[layer] in _CONVERSIONS | _OPAQUE:
        return False
    floats = {port.dtype for port in context.data_inputs[layer]} & (FLOATING | QUANTIZED | WIDE)
    if not floats or not floats <= WIDE:
        return False
    return (size_of(context.outputs[layer][0]) or 0) >= MANY_ELEMENTS


@Rule(
    "PREC002",
    "Floating-point island between quantized layers",
    WARNING,
    looks_for="A floating-point value between quantized compute layers that reaches only quantized layers, through "
    "Q, DQ, reformats, pools and other light layers, or as a residual. One finding per value, with all its kernels.",
    why="The value needs two or four times the bytes and separate conversion kernels, and the layers in between "
    "cannot run quantized.",
    remedy="Put Q and DQ on the value where it is written: they propagate through pools, concatenations and "
    "slices, and convolution, addition and activation fuse into one 8-bit kernel.",
    references=(QUANTIZED_TYPES, RESIDUAL_QDQ, issue(2204), issue(2383)),
    columns=("kind", "input_formats", "output_formats", "latency_ms"),
    not_when="Values written or read by a floating-point compute layer, a plugin or a closed block; network inputs "
    "and outputs; values between GEMMs alone: the residual stream of a transformer stays in 16 bits. "
    "Softmax, reductions and resizes, which have few quantized kernels, are info.",
    needs=(details,),
    estimate="assumes 8 bits everywhere on it: no Q, DQ and reformats",
    formula="Q, DQ and reformats: layer time; light layers: layer time · (1 − 8 / bits); products: bytes saved by "
    "residual and result of 8 bits / bandwidth; in another layout than the data, layer time · bytes saved / bytes",
)
def float_island(context: Context) -> Findings:
    islands = [island for island in find_islands(context) if not _is_between_gemms(context, island)]
    hard = [
        island
        for island in islands
        if any(context.kinds[layer] in _NO_QUANTIZED_KERNEL for layer in island.work)
    ]
    for alike in ([island for island in islands if island not in hard], hard):
        if not alike:
            continue
        savings: dict[int, float] = {}
        for island in alike:
            savings = merge(savings, _save_island(context, island))
        ordered = sorted(
            alike, key=lambda island: (-(context.sum_ms(island.layers) or 0.0), island.layers[0])
        )
        layers = sorted({layer for island in alike for layer in island.layers})
        message = _describe_island(context, ordered[0])
        if len(alike) > 1:
            time = context.format_time(*layers)
            message = f"{len(alike)} FP tensors between quantized layers: {time}. The largest: {message}"
        yield finding(
            message,
            layers,
            severity=INFO if alike is hard else None,
            savings=savings,
            evidence=context.evidence(
                ordered[0].layers[0],
                islands=len(alike),
                writers=sum(len(island.writers) for island in alike),
                conversions=sum(len(island.conversions) for island in alike),
                residual_readers=sum(len(island.readers) for island in alike),
                light_layers=sum(len(island.work) for island in alike),
            ),
            remedy="Few of these operators have quantized kernels; quantize the value only if its time matters."
            if alike is hard
            else _advise_islands(context, ordered),
        )


def _is_between_gemms(context: Context, island: Island) -> bool:
    """Return whether GEMMs alone write and read a value, as in a transformer."""
    ends = {*island.writers, *island.readers}
    for layer in island.layers:
        ends.update(context.producers[layer], context.consumers[layer])
    return {context.kinds[layer] for layer in ends} & set(PRODUCTS) == {LayerKind.GEMM}


def _describe_island(context: Context, island: Island) -> str:
    """Return `'conv2' writes FP32 between quantized layers: 1 layer works on it, 2 kernels convert it: 0.0993 ms, 13.6 %.`"""
    first = next(iter((*island.writers, *island.conversions)), island.layers[0])
    more = f" and {len(island.writers) - 1} more" if len(island.writers) > 1 else ""
    verb = "writes" if len(island.writers) == 1 else "write" if island.writers else "dequantizes to"
    parts = [
        f"{plural(len(layers), noun)} {verbs[len(layers) > 1]} it{ending}"
        for layers, noun, verbs, ending in (
            (island.work, "layer", ("transforms", "transform"), ""),
            (island.conversions, "kernel", ("converts", "convert"), ""),
            (island.readers, "compute layer", ("adds", "add"), " as a residual"),
        )
        if layers
    ]
    return (
        f"{context.quote(first)}{more} {verb} {context.output_types[first] or 'floating point'} between quantized layers: "
        f"{', '.join(parts)}: {context.format_time(*island.layers)}."
    )


def _advise_islands(context: Context, islands: Iterable[Island]) -> str:
    """Return where Q and DQ are missing, by the ONNX nodes after which the values are written."""
    writers = [layer for island in islands for layer in island.writers]
    if not writers:
        return "Put Q and DQ on the result of the layers in between, so that they read and write 8 bits."
    named = ", ".join(quote(_last_node(context, layer)) for layer in writers[:_MOST_NODES])
    more = f" and {len(writers) - _MOST_NODES} more" if len(writers) > _MOST_NODES else ""
    return f"Put Q and DQ after {named}{more}, so that their readers, also residual additions, read and write 8 bits."


def _last_node(context: Context, layer: int) -> str:
    """Return the ONNX node that writes the result of a layer: the last one that is no Q or DQ, as those of weights are."""
    nodes = [node for node in context.nodes[layer] if not _Q_NODE.search(node)]
    return str([context.names[layer], *nodes][-1])


def _save_island(context: Context, island: Island) -> dict[int, float]:
    savings = context.times(island.conversions)
    for layer in island.work:
        precision = context.input_types[layer] or context.output_types[layer]
        if precision in FLOATING and precision is not None:
            savings |= narrowed(context, layer, 1 - 8 / DataType(precision).bits)
    for layer in {*island.writers, *island.readers}:
        wide = context.outputs[layer][:1] if layer in island.writers else []
        wide = [*wide, *(context.data_inputs[layer][1:] if layer in island.readers else [])]
        savings |= _save_wide(context, layer, [port for port in wide if port.dtype in FLOATING])
    return savings


def _save_wide(context: Context, layer: int, wide: list[Port]) -> dict[int, float]:
    """Return the saving of 8 bits for a wide residual or result.

    It is the share of the bytes; if the layout differs from that of the data, their share of the time, since the kernel
    then gathers or scatters single elements.
    """
    total, layout, ms = context.bytes[layer], context.inputs[layer][0].format, context.ms[layer]
    saved_ms = 0.0
    for port in wide:
        size = (port.allocated_bytes or 0) * (1 - 8 / bits_of(port))
        if port.format == layout:
            saved_ms += moving_ms(context, size) or 0.0
        elif total:
            saved_ms += size / total * (ms or 0.0)
    return saving(context, layer, None if ms is None else min(saved_ms, ms - shortest_ms(context)))


@Rule(
    "PREC003",
    "Requested precision does not suit the device",
    WARNING,
    looks_for="An engine with only FP32 compute layers and closed blocks, which take at least half of the time, on a "
    "device with FP16 tensor cores; INT8 allowed without FP16.",
    why="FP16 halves the bytes and is several times faster. With INT8 alone, all layers that are not "
    "quantized run in FP32.",
    remedy=(
        "Build with --fp16 (--best for quantized models), or export an FP16 model and build it strongly "
        "typed. If accuracy requires FP32, suppress this rule.",
        "Build with --fp16 (--best for quantized models). If accuracy requires FP32, suppress this rule.",
        "Export the model in FP16 (for example with AutoCast of Model Optimizer): the engine has the model's types. If "
        "accuracy requires FP32, suppress this rule.",
    ),
    references=(TENSOR_CORES, issue(550), issue(218)),
    columns=("kind", "precision", "latency_ms", "bound"),
    not_when="Devices without FP16 tensor cores; builds with FP16 or BF16 allowed in which FP32 kernels were faster.",
    needs=(details,),
    estimate="assumes FP16: half of the bytes, or the ratio of the peaks",
    formula="bound by bandwidth or unknown: layer time / 2; bound by compute: layer time · (1 − peak now / FP16 peak)",
)
def requested_precision(context: Context) -> Findings:
    stated, device = context.engine.facts.builder_precision, context.device
    allowed = set((stated or "").upper().replace(",", "+").split("+"))
    if "INT8" in allowed and not allowed & {"FP16", "BF16"}:
        yield finding(
            "INT8 was allowed but neither FP16 nor BF16, so layers that are not quantized run in FP32.",
            evidence={"builder_precision": stated},
            remedy=(
                "Allow FP16 as well: --int8 --fp16, or --best.",
                "Export the layers that are not quantized in FP16.",
            ),
        )
    closed = {layer: _float_types(context, layer) for layer in context.closed_blocks}
    wide_blocks = [layer for layer, types in closed.items() if types and types <= WIDE]
    products = sorted([*context.multiplying, *wide_blocks])
    if not products or not all(context.input_types[layer] in WIDE for layer in context.multiplying):
        return
    if any(types & REDUCED for types in closed.values()):
        return  # a closed block computes in fewer bits
    options = context.build.argument("--fp16", "--bf16", "--best")
    if allowed & {"FP16", "BF16"} or options is not None:
        return  # the builder timed both, and FP32 was faster
    has_fast_half, share = tensor_cores_for(context, DataType.FP16), context.share_of(products)
    if has_fast_half is None:
        yield not_checked(NO_DEVICE)
    elif has_fast_half and (share is None or share >= 50.0):
        savings: dict[int, float] = {}
        for layer in products:
            savings |= narrowed(context, layer, _part_saved_by_halves(context, layer))
        blocks = f" ({len(wide_blocks)} of them closed blocks)" if wide_blocks else ""
        many = len(products) > 1
        yield finding(
            f"{f'All {len(products)} convolution, GEMM or attention layers' if many else 'The only compute layer'}{blocks} "
            f"{'run' if many else 'runs'} in FP32, on a device with FP16 tensor cores: {context.format_time(*products)}.",
            products,
            savings=savings,
            evidence={
                "layers": len(products),
                "closed_blocks": len(wide_blocks),
                "builder_precision": stated,
                "device": device.name,
            },
        )
    elif has_fast_half and len(closed) > len(wide_blocks):
        yield not_checked("types of closed blocks are unknown", len(closed) - len(wide_blocks))


def _float_types(context: Context, layer: int) -> set[str]:
    """Return the floating-point and quantized types of the tensors of a closed block."""
    types = {port.dtype for port in (*context.inputs[layer], *context.outputs[layer]) if port.dtype}
    return types & (FLOATING | QUANTIZED | WIDE)


def _part_saved_by_halves(context: Context, layer: int) -> float:
    peak = context.roof("peak_flops_per_s")[layer]
    if context.roof("bound")[layer] != "compute" or not peak:
        return 0.5
    half = find_peak(context.device, DataType.FP16, tensor_cores=True).flops_per_s
    return 1 - min(1.0, peak / half) if half else 0.5


# Build log

_AFFECTED_WEIGHTS = re.compile(
    r"(?P<count>\d{1,9}) weights? (?:is|are) affected by this issue: Detected (?P<what>[^\n]{1,120}?)\.?\s*(?:\n|$)"
)
_LONGEST_WARNING = 160
# Pattern in the text of a warning, severity, meaning, remedy.
_WARNINGS = (
    (
        re.compile(r"Attempting to cast down to INT32"),
        INFO,
        "INT64 weights are cast to INT32: harmless unless an index or a constant exceeds 2³¹.",
        "None if indices are small; else export with INT32, or use TensorRT 10 or later (INT64), if it supports this GPU.",
    ),
    (
        re.compile(r"Weakly-typed networks have been deprecated"),
        INFO,
        "Weakly typed network: the builder chooses precisions by time only, and TensorRT 11 no longer "
        "builds such networks.",
        "Export a strongly typed model (for example with AutoCast of Model Optimizer) and build with --stronglyTyped.",
    ),
    (
        re.compile(r"FP4\b.*\bnot accelerate", re.IGNORECASE),
        WARNING,
        "FP4 is emulated: the hardware does not accelerate it.",
        (
            "Quantize to FP8 or INT8 for this GPU, or run it on one with FP4 tensor cores (compute capability 10.0).",
            "Quantize to INT8 for this GPU, or run it on one with FP4 tensor cores (compute capability 10.0).",
        ),
    ),
    (
        re.compile(r"INT8 calibration file not specified"),
        WARNING,
        "INT8 was requested, and the engine built in FP16: there is no calibration file.",
        "Name the calibration file, or quantize the model with Q/DQ nodes (ModelOpt).",
    ),
    (
        re.compile(r"Missing scale and zero-point for tensor"),
        WARNING,
        "{tensors} without a scale in an INT8 build: the layers around them do not run in INT8.",
        "Calibrate again with this model, or quantize it with Q/DQ nodes (ModelOpt). Ignore tensors of "
        "indices and shapes.",
    ),
    (
        re.compile(r"[Tt]ensor \S+ is uniformly zero"),
        WARNING,
        "Only zeros in {tensors} during calibration: their scales are meaningless.",
        "Calibrate with representative data, preprocessed as in inference.",
    ),
    (
        re.compile(r"Int8 Calibration is using randomly generated input data"),
        WARNING,
        "Calibrated with random data: times are usable, results are not.",
        "Calibrate with representative data.",
    ),
    (
        re.compile(r"layernorm after self-attention in FP16 may cause overflow|layernorm nodes in FP16"),
        INFO,
        "Layer normalization runs in FP16 and may overflow.",
        "Compare the accuracy with FP32. If it is worse, export with opset 17 or later "
        "(LayerNormalization), or keep these layers in FP32.",
    ),
)


@Rule(
    "PREC004",
    "Precision changed or lost by the builder",
    INFO,
    looks_for="Builder messages: a non-conforming implementation, weights that become subnormal, overflow or NaN in a "
    "narrower type (warning), INT8 without scales or with useless ones (warning), INT64 cast down, "
    "normalization in FP16, weak typing.",
    why="The engine may be less accurate than requested; only the log shows this.",
    remedy="Clip or scale the weights, or keep the layer in FP32.",
    references=(issue(1310),),
    needs=(build_log,),
)
def builder_notes(context: Context) -> Findings:
    yield from _find_non_conforming(context)
    warnings = [message for message in context.log.messages if message.severity == "W"]
    for warning in warnings:
        for match in _AFFECTED_WEIGHTS.finditer(warning.text):
            number, what = int(match["count"]), printable(match["what"])
            yield finding(
                f"{plural(number, 'weight tensor')} lost values in a narrower type: {what}.",
                severity=WARNING,
                confidence=HIGH,
                evidence={"weights": number, "detected": what, "log_line": warning.line},
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
                confidence=HIGH,
                evidence={
                    "warning": shorten_middle(printable(matching[0].text), _LONGEST_WARNING),
                    "times": times,
                    "log_line": matching[0].line,
                },
                remedy=remedy,
            )
    if not context.log.is_verbose:
        yield not_checked(TERSE)


def _find_non_conforming(context: Context) -> Findings:
    """Yield one finding for all layers with another precision than the requested one."""
    names = context.log.non_conforming
    if not names or has_tensor_cores(context.device, DataType.FP16) is False:
        return  # without fast FP16 every layer of an FP16 build is one
    layers = sorted({layer for name in names for layer in context.layers_by_tuning.get(name, ())})
    named = ", ".join(map(quote, names[:_MOST_NODES])) + (" …" if len(names) > _MOST_NODES else "")
    yield finding(
        f"{plural(len(names), 'layer')} {'does' if len(names) == 1 else 'do'} not run in the requested "
        f"precision: {named}.",
        layers,
        confidence=HIGH,
        evidence={"layers": len(names), "name": names[0]},
        remedy=(
            "--precisionConstraints=obey makes the build fail instead, =prefer accepts it. Ignore this "
            "finding if accuracy is fine.",
            "Ignore this finding if accuracy is fine.",
        ),
    )


@Rule(
    "PREC007",
    "Nodes that FP16 makes inaccurate run in FP16",
    WARNING,
    looks_for="Layers in FP16, whose worst ONNX node overflows or loses more than 1 % in FP16 by the result of `trex-tui "
    "precision-risk` in the set.",
    why="Infinities and large rounding errors in one layer reach the outputs.",
    remedy="Keep these nodes in FP32; the result of precision-risk has the options and the list of nodes.",
    not_when="Sets without such a result; layers in BF16 and FP32, whose range suffices.",
    references=(issue(2922), issue(3897), issue(4498)),
    columns=("precision", "onnx_nodes", "fp16_risk", "fp16_error"),
)
def inaccurate_in_fp16(context: Context) -> Findings:
    risks, precisions = context.values("fp16_risk"), context.values("precision")
    layers = [
        layer
        for layer, (risk, precision) in enumerate(zip(risks, precisions, strict=True))
        if risk and precision == DataType.FP16.value
    ]
    if layers:
        counts = Counter(risks[layer] for layer in layers)
        kinds = ", ".join(f"{count} {risk}" for risk, count in counts.items())
        yield finding(
            f"{plural(len(layers), 'layer')} in FP16 {'runs' if len(layers) == 1 else 'run'} nodes that FP16 makes "
            f"inaccurate ({kinds}), first {context.quote(layers[0])}.",
            layers,
            confidence=HIGH,
            evidence={"risks": dict(counts)},
        )


RULES = (
    single_precision_layer,
    float_island,
    requested_precision,
    builder_notes,
    inaccurate_in_fp16,
)
