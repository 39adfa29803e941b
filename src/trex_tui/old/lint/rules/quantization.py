"""QDQ: quantization that costs separate kernels, or ends directly after the layer that it was added for."""

from __future__ import annotations

import re

from trex_tui.old.analysis.structure import sum_latency_ms
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Layer, Tensor
from trex_tui.old.lint.context import (
    FLOATING,
    QUANTIZED,
    QUANTIZED_TYPES,
    RESIDUAL_QDQ,
    Context,
    details,
    issue,
    latencies,
    no_profile,
    quote_layer,
    takes_time,
)
from trex_tui.old.lint.dataflow import compute_flow
from trex_tui.old.lint.islands import conversion_role, map_islands
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
from trex_tui.old.lint.savings import format_types, fraction, fractions, layer_evidence, moving_ms, saving
from trex_tui.old.text import plural

_MAY_CONVERT = frozenset({LayerKind.QUANTIZE, LayerKind.SCALE, LayerKind.REFORMAT})
# Two dequantizations, an addition and a quantization in one generated kernel.
_RESIDUAL_KERNEL = re.compile(r"__myl_CastMulCastMulAdd\w*RounCast")


@rule(
    "QDQ001",
    "Q/DQ not fused",
    Severity.WARNING,
    looks_for="A Q or DQ that runs as a separate kernel (Scale, Reformat, also with Origin QDQ, generated Myelin "
    "kernel, or quantize layer) to or from INT8, FP8, INT4 or FP4.",
    why="A fused Q or DQ is free. A separate one reads and writes its whole tensor.",
    remedy="Put the Q directly after an operator that can fuse it, remove duplicate pairs, and quantize residual "
    "branches (QDQ003).",
    references=(QUANTIZED_TYPES, issue(2383), issue(2204)),
    columns=("kind", "layer_type", "input_formats", "output_formats", "latency_ms"),
    not_when="Pointwise kernels with a fused Q. At network inputs and outputs, and with scales computed at run time, "
    "the finding is info.",
    needs=(details,),
)
def dangling_quantization(context: Context) -> Findings:
    flow, islands = compute_flow(context.engine), map_islands(context.engine)
    for layer in context.select(*_MAY_CONVERT):
        role = conversion_role(layer) if takes_time(layer) and layer.index not in islands else None
        if role is None:
            continue
        at_edge = layer.index in (flow.at_input if role == "quantizes" else flow.at_output)
        is_weights = all(tensor.name in layer.constant_inputs for tensor in layer.inputs)
        # MXFP8 and NVFP4 compute their scales at run time: this takes a pass over the data.
        is_dynamic = "dynamic" in f"{layer.layer_type} {layer.parameter_type}".lower()
        origin = layer.attributes.get("Origin")
        remedy = ""
        if is_weights:
            remedy = (
                "Weights are dequantized at run time because no kernel supports both types: use a block "
                "size and layout supported by weight-only kernels, or dequantize before the build."
            )
        elif is_dynamic:
            remedy = (
                "Its scales are computed at run time; static scales can be fused into the previous operator."
            )
        elif at_edge:
            remedy = _advise_edge(layer, role)
        edge = " at the network's edge" if at_edge else ""
        yield finding(
            f"{quote_layer(layer)} {role} {'weights ' if is_weights else ''}in a separate kernel{edge}, "
            f"{format_types(layer)}: "
            f"{context.format_time(layer)}.",
            [layer],
            severity=Severity.INFO if at_edge or is_dynamic else None,
            confidence=Confidence.HIGH,
            savings=[layer],
            formula="layer time: free if fused",
            evidence=layer_evidence(layer, role=role, origin=origin if isinstance(origin, str) else None),
            remedy=remedy,
            group=f"separate kernels that {role.removesuffix('s')}{' weights' if is_weights else ''}{edge}",
        )


def _advise_edge(layer: Layer, role: str) -> str:
    quantizes = role == "quantizes"
    precision = (layer.output_precision if quantizes else layer.inputs[0].dtype) or DataType.INT8
    return (
        f"Pass {precision.value} from or to the caller, who converts on the host or in another kernel "
        f"(--{'input' if quantizes else 'output'}IOFormats={precision.value.lower()}:…); otherwise ignore "
        "this finding."
    )


@rule(
    "QDQ002",
    "Quantized layer writes floating point",
    Severity.WARNING,
    looks_for="A convolution, GEMM or attention layer with quantized input and floating-point output, before the end "
    "of the network.",
    why="DQ → Conv runs with quantized input and float output; only DQ → Conv → Q writes quantized values. The "
    "wider result needs two or four times the bytes and often a separate Q before the next compute layer.",
    remedy="Put Q and DQ on the tensor between them.",
    references=(issue(2383), QUANTIZED_TYPES),
    columns=("kind", "input_formats", "output_formats", "latency_ms"),
    not_when="The last layer; layers that add a residual in floating point (QDQ003). Without a following Q the "
    "finding is info.",
    needs=(details,),
)
def floating_result(context: Context) -> Findings:
    flow, islands = compute_flow(context.engine), map_islands(context.engine)
    for layer in context.multiplying:
        if (
            not context.is_quantized(layer)
            or layer.output_precision not in FLOATING
            or layer.index in islands
        ):
            continue
        if layer.index in flow.at_output or _find_residuals(context, layer):
            continue
        # A product may follow after a pool or a pointwise layer, but not at the end of the network.
        readers = context.consumers(layer)
        if not flow.behind[layer.index] and not any(reader.kind.is_work for reader in readers):
            continue
        behind = _find_quantizing(context, layer)
        feeds_residual = any(
            tensor.name == layer.outputs[0].name
            for reader in readers
            for tensor in _find_residuals(context, reader)
        )
        then = (
            f", and {plural(len(behind), 'kernel')} after it "
            f"{'quantizes' if len(behind) == 1 else 'quantize'} the result: {context.format_time(*behind)}"
            if behind
            else ""
        )
        precision = layer.output_precision
        yield finding(
            (
                f"{quote_layer(layer)} reads {_name(context.input_type(layer))} and writes "
                f"{_name(precision)}{then}."
            ),
            [layer, *behind],
            severity=None if behind or feeds_residual else Severity.INFO,
            savings=_save_output(context, layer) | latencies(behind) if behind else {},
            formula="bytes saved by a result of 8 bits / bandwidth, plus time of the Q after it"
            if behind
            else "",
            evidence=layer_evidence(layer, quantizing_layers=len(behind), feeds_residual=feeds_residual),
            remedy="Its result is added to a residual in floating point: quantize that input of the addition (QDQ003)."
            if feeds_residual
            else "",
            group=f"quantized compute layers write {_name(precision)}",
        )


def _find_quantizing(context: Context, layer: Layer) -> list[Layer]:
    """Return quantizing layers that read the result of a layer, directly or after a reformat or NoOp."""
    readers: dict[int, Layer] = {}
    for reader in context.consumers(layer):
        readers[reader.index] = reader
        if reader.kind in (LayerKind.REFORMAT, LayerKind.NOOP):
            readers |= {behind.index: behind for behind in context.consumers(reader)}
    quantizing = (readers[index] for index in sorted(readers) if readers[index].kind in _MAY_CONVERT)
    return [reader for reader in quantizing if conversion_role(reader) == "quantizes"]


def _save_output(context: Context, layer: Layer) -> dict[int, float]:
    """Return the saving of an 8-bit result in written bytes."""
    result = layer.outputs[0]
    if result.allocated_bytes is None or result.dtype is None:
        return {}
    return saving(layer, moving_ms(context, result.allocated_bytes * (1 - 8 / result.dtype.bits)))


def _name(precision: DataType | None) -> str:
    return precision.value if precision else "unknown type"


@rule(
    "QDQ003",
    "Residual added in floating point or separately",
    Severity.WARNING,
    looks_for="A quantized convolution or GEMM with a second floating-point input of its output's size; a generated "
    "kernel that dequantizes two branches, adds them and quantizes the sum.",
    why="With a quantized residual, convolution, addition and activation are one 8-bit kernel.",
    remedy="Quantize the skip input of the addition: one Q and DQ on the identity branch, none between convolution and "
    "addition.",
    references=(RESIDUAL_QDQ, issue(2204)),
    columns=("kind", "tactic", "input_formats", "output_formats", "latency_ms"),
    needs=(details,),
)
def floating_residual(context: Context) -> Findings:
    islands = map_islands(context.engine)
    for layer in context.layers:
        if layer.index in islands:
            continue
        if residuals := _find_residuals(context, layer):
            yield _describe_fused_residual(context, layer, residuals)
        elif _RESIDUAL_KERNEL.match(layer.tactic or layer.name) and _is_quantized_through(layer):
            total, residual = context.bytes(layer), layer.inputs[1].allocated_bytes
            part = 1 - residual / total if total and residual is not None else 1.0
            yield finding(
                f"{quote_layer(layer)} dequantizes two branches, adds them and quantizes the sum: "
                f"{context.format_time(layer)}.",
                [layer],
                savings=saving(layer, None if layer.latency_ms is None else part * layer.latency_ms),
                formula="layer time · (1 − bytes of one branch / bytes): remaining if the convolution or GEMM adds "
                "the other branch",
                evidence=layer_evidence(layer),
                remedy="Give both branches the same scale, or no Q and DQ before the addition, so that the "
                "convolution or GEMM can add the residual.",
                group="kernels dequantize two branches, add them and quantize the sum",
            )


def _find_residuals(context: Context, layer: Layer) -> list[Tensor]:
    """Return further float inputs, of the result's size, of a quantized product."""
    if not layer.kind.multiplies or layer.kind is LayerKind.ATTENTION or not context.is_quantized(layer):
        return []
    volume = layer.outputs[0].volume if layer.outputs else None
    return [
        tensor
        for tensor in layer.data_inputs[1:]
        if tensor.dtype in FLOATING and volume is not None and volume > 1 and tensor.volume == volume
    ]


def _is_quantized_through(layer: Layer) -> bool:
    inputs = [tensor.dtype for tensor in layer.data_inputs]
    outputs = [tensor.dtype for tensor in layer.outputs]
    return len(inputs) > 1 and QUANTIZED.issuperset(inputs) and not QUANTIZED.isdisjoint(outputs)


def _describe_fused_residual(context: Context, layer: Layer, residuals: list[Tensor]) -> Finding:
    behind = _find_quantizing(context, layer) if layer.output_precision in FLOATING else []
    wide = [tensor for tensor in (*residuals, layer.outputs[0]) if tensor.dtype in FLOATING]
    sizes = [(tensor.allocated_bytes, tensor.dtype) for tensor in wide]
    saved = sum(size * (1 - 8 / dtype.bits) for size, dtype in sizes if size is not None and dtype)
    total = context.bytes(layer)
    own = fraction(context, layer, saved / total) if total else {}
    then = f", and {plural(len(behind), 'kernel')} after it quantize the sum" if behind else ""
    if len(behind) == 1:
        then = ", and a kernel after it quantizes the sum"
    return finding(
        f"{quote_layer(layer)} adds its residual in {_name(residuals[0].dtype)} and writes "
        f"{_name(layer.output_precision)}{then}: {context.format_time(layer, *behind)}.",
        [layer, *behind],
        savings=own | latencies(behind),
        formula=(
            "layer time · bytes saved by residual and result of 8 bits / bytes, plus time of the Q after it"
        ),
        evidence=layer_evidence(
            layer, residual_type=_name(residuals[0].dtype), quantizing_layers=len(behind)
        ),
        group=f"quantized compute layers add their residual in {_name(residuals[0].dtype)}",
    )


@rule(
    "QDQ004",
    "Quantized engine computes mostly in floating point",
    Severity.INFO,
    looks_for=(
        "An engine whose quantized compute layers take less than half of the time of all compute layers."
    ),
    why="Quantization saves little while most of the time is in other layers.",
    remedy="Quantize the slowest floating-point compute layers. Ignore this finding if partial quantization is "
    "intended.",
    references=(QUANTIZED_TYPES,),
    columns=("kind", "precision", "latency_ms"),
    needs=(details,),
    thresholds={"share_pct": 50.0},
)
def mostly_floating(context: Context, share_pct: float) -> Findings:
    products = context.multiplying
    quantized = [layer for layer in products if context.is_quantized(layer)]
    if not quantized:
        return
    time, part = sum_latency_ms(products), sum_latency_ms(quantized)
    if not time or part is None:
        yield not_checked(no_profile(context))
        return
    if part / time >= share_pct / 100:
        return
    wide = [layer for layer in products if context.input_type(layer) in FLOATING]
    wide.sort(key=lambda layer: (-(layer.latency_ms or 0.0), layer.index))
    yield finding(
        f"{len(quantized)} of {len(products)} compute layers are quantized, {100 * part / time:.0f} % of "
        f"their time; floating point: {context.format_time(*wide)}.",
        wide[:10],
        confidence=Confidence.LOW,
        savings=fractions(context, wide[:10], 0.5),
        formula="layer time / 2 of the ten slowest floating-point compute layers (upper bound)",
        evidence={
            "quantized_layers": len(quantized),
            "products": len(products),
            "quantized_pct": round(100 * part / time, 1),
        },
    )


@strength(
    "QDQ",
    "Quantized layers stay quantized",
    (
        "Every quantized compute layer writes quantized data, except at the end; separate Q/DQ only at network "
        "inputs."
    ),
    ("kind", "precision", "output_precision"),
    without=(floating_residual,),
)
def stays_quantized(context: Context) -> Finding | None:
    layers = [layer for layer in context.multiplying if context.is_quantized(layer)]
    if not layers or any(_leaves_quantization(context, layer) for layer in layers):
        return None
    dangling = [
        layer for layer in context.select(*_MAY_CONVERT) if takes_time(layer) and conversion_role(layer)
    ]
    if not all(context.reads_network_input(layer) for layer in dangling):
        return None
    count = plural(len(layers), "quantized layer")
    text = f"Quantized inputs and outputs for {count}, and separate Q/DQ only at network inputs."
    return finding(text, layers, evidence={"layers": len(layers)})


def _leaves_quantization(context: Context, layer: Layer) -> bool:
    """Return whether a layer writes floating point for another product; the last layers of a network may."""
    if layer.output_precision in QUANTIZED or context.writes_network_output(layer):
        return False
    return compute_flow(context.engine).behind[layer.index] != 0
