"""QDQ: quantization that costs separate kernels, or ends directly after the layer that it was added for."""

from __future__ import annotations

import re

from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Port
from trex_tui.lint.context import (
    FLOATING,
    PRODUCTS,
    QUANTIZED,
    QUANTIZED_TYPES,
    RESIDUAL_QDQ,
    Context,
    bits_of,
    details,
    issue,
    no_profile,
    per_context,
    size_of,
)
from trex_tui.lint.regions import conversion_role, map_islands
from trex_tui.lint.rule import (
    HIGH,
    INFO,
    LOW,
    WARNING,
    Finding,
    Findings,
    finding,
    not_checked,
    rule,
    strength,
)
from trex_tui.lint.savings import fraction, moving_ms, narrowed, saving
from trex_tui.text import plural

_QDQ = re.compile(r"(QuantizeLinear|DequantizeLinear)[^/]*$")
_BOTH_STEPS = {"QuantizeLinear", "DequantizeLinear"}
_MAY_CONVERT = (LayerKind.QUANTIZE, LayerKind.SCALE, LayerKind.REFORMAT)
# Two dequantizations, an addition and a quantization in one generated kernel.
_RESIDUAL_KERNEL = re.compile(r"__myl_CastMulCastMulAdd\w*RounCast")


@rule(
    "QDQ001",
    "Q/DQ not fused",
    WARNING,
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
    estimate="assumes that it is fused",
    formula="layer time",
)
def dangling_quantization(context: Context) -> Findings:
    flow, islands = context.flow, map_islands(context)
    for layer in context.select(*_MAY_CONVERT):
        role = None
        if context.takes_time(layer) and layer not in islands:
            role = conversion_role(context, layer)
        if role is None:
            continue
        at_edge = layer in (flow.at_input if role == "quantizes" else flow.at_output)
        at_edge = at_edge or (role == "quantizes" and _is_behind_padding(context, layer))
        is_weights = not context.data_inputs[layer]
        # MXFP8 and NVFP4 compute their scales at run time: this takes a pass over the data.
        is_dynamic = "dynamic" in f"{context.layer_types[layer]} {context.parameter_types[layer]}".lower()
        origin = context.attributes[layer].get("Origin")
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
            remedy = _advise_edge(context, layer, role)
        edge = " at the network's edge" if at_edge else ""
        yield finding(
            f"{context.quote(layer)} {role} {'weights ' if is_weights else ''}in a separate kernel{edge}, "
            f"{context.format_types(layer)}: {context.format_time(layer)}.",
            [layer],
            severity=INFO if at_edge or is_dynamic else None,
            confidence=HIGH,
            savings=context.times([layer]),
            evidence=context.evidence(layer, role=role, origin=origin if isinstance(origin, str) else None),
            remedy=remedy,
            group=f"separate kernels that {role.removesuffix('s')}{' weights' if is_weights else ''}{edge}",
        )


def _is_behind_padding(context: Context, layer: int) -> bool:
    """Return whether padding of a network input is all that a layer reads: FUSE003 removes it."""
    before = context.producers[layer]
    return bool(before) and all(
        context.kinds[producer] == LayerKind.SLICE and producer in context.flow.at_input
        for producer in before
    )


def _advise_edge(context: Context, layer: int, role: str) -> str:
    quantizes = role == "quantizes"
    precision = (context.output_types[layer] if quantizes else context.inputs[layer][0].dtype) or "INT8"
    step, side = ("Q", "input") if quantizes else ("DQ", "output")
    return (
        f"Let the caller do it: a model without this {step}, whose {side} is {precision}. Ignore this "
        "finding if the caller has floating-point data only."
    )


@rule(
    "QDQ002",
    "Quantized layer writes floating point",
    WARNING,
    looks_for="A convolution, GEMM or attention layer with quantized input and floating-point output that "
    "a separate kernel quantizes, or that is added to a residual.",
    why="DQ → Conv runs with quantized input and float output; only DQ → Conv → Q writes quantized values. The "
    "wider result needs two or four times the bytes and often a separate Q before the next compute layer.",
    remedy="Insert Q/DQ on the tensor between these layers.",
    references=(issue(2383), QUANTIZED_TYPES),
    columns=("kind", "input_formats", "output_formats", "latency_ms"),
    not_when="Layers without a Q behind them whose result is not added to a residual; layers with no "
    "compute layer behind them; layers that add a residual in floating point (QDQ003).",
    needs=(details,),
    estimate="assumes an INT8 output, without the Q after it",
    formula="bytes saved by a result of 8 bits / bandwidth, plus time of the Q after it",
)
def floating_result(context: Context) -> Findings:
    flow, islands = context.flow, map_islands(context)
    for layer in context.multiplying:
        precision = context.output_types[layer]
        if not context.is_quantized(layer) or precision not in FLOATING or layer in islands:
            continue
        if (
            layer in flow.at_output
            or layer not in _before_products(context)
            or _find_residuals(context, layer)
        ):
            continue
        behind = _find_quantizing(context, layer)
        result = context.outputs[layer][0].name
        feeds_residual = any(
            port.name == result
            for reader in context.consumers[layer]
            for port in _find_residuals(context, reader)
        )
        if not behind and not feeds_residual:
            continue
        then = ""
        if behind:
            quantize = "quantizes" if len(behind) == 1 else "quantize"
            then = f", and {plural(len(behind), 'kernel')} after it {quantize} the result: {context.format_time(*behind)}"
        yield finding(
            f"{context.quote(layer)} reads {context.input_types[layer]} and writes {precision}{then}.",
            [layer, *behind],
            savings=_save_output(context, layer) | context.times(behind) if behind else {},
            evidence=context.evidence(layer, quantizing_layers=len(behind), feeds_residual=feeds_residual),
            remedy="Its result is added to a residual in floating point: quantize that input of the addition (QDQ003)."
            if feeds_residual
            else "",
            group=f"quantized compute layers write {precision}",
        )


@per_context
def _before_products(context: Context) -> frozenset[int]:
    """Return the layers that a product reads, directly or through other layers."""
    before: set[int] = set()
    for layer in reversed(range(len(context.engine))):
        if layer in before or context.kinds[layer] in PRODUCTS:
            before.update(producer for producer in context.producers[layer] if producer < layer)
    return frozenset(before)


def _find_quantizing(context: Context, layer: int) -> list[int]:
    """Return quantizing layers that read the result of a layer, directly or after a reformat or NoOp."""
    readers = set(context.consumers[layer])
    for reader in context.consumers[layer]:
        if context.kinds[reader] in (LayerKind.REFORMAT, LayerKind.NOOP):
            readers.update(context.consumers[reader])
    return [
        reader
        for reader in sorted(readers)
        if context.kinds[reader] in _MAY_CONVERT and conversion_role(context, reader) == "quantizes"
    ]


def _save_output(context: Context, layer: int) -> dict[int, float]:
    """Return the saving of an 8-bit result in written bytes."""
    result = context.outputs[layer][0]
    if result.allocated_bytes is None or result.dtype is None:
        return {}
    return saving(context, layer, moving_ms(context, result.allocated_bytes * (1 - 8 / bits_of(result))))


@rule(
    "QDQ005",
    "Only the weights are quantized",
    WARNING,
    looks_for="A convolution, GEMM or attention layer with floating-point input that has the Q and DQ of "
    "its weights, in an engine with quantized products.",
    why="Q and DQ on the weights alone cost accuracy: without them on the input the kernel runs in floating point.",
    remedy="Insert Q/DQ on its input too, or remove those of its weights.",
    references=(QUANTIZED_TYPES,),
    columns=("kind", "onnx_nodes", "input_formats", "precision", "latency_ms"),
    not_when="Kernels that read quantized weights; engines in which no product is quantized.",
    needs=(details,),
)
def quantized_weights_alone(context: Context) -> Findings:
    if not any(map(context.is_quantized, context.multiplying)):
        return
    for layer in context.multiplying:
        steps = {step for node in context.nodes[layer] for step in _QDQ.findall(node)}
        weights = {port.dtype for port in context.inputs[layer] if port.is_constant}
        if steps == _BOTH_STEPS and context.input_types[layer] in FLOATING and not weights & QUANTIZED:
            yield finding(
                f"{context.quote(layer)} runs in {context.precisions[layer]}: its weights have Q and DQ, "
                f"its input has not: {context.format_time(layer)}.",
                [layer],
                confidence=HIGH,
                evidence=context.evidence(layer, onnx_nodes=", ".join(context.nodes[layer])),
                group="layers have Q and DQ on the weights alone",
            )


@rule(
    "QDQ003",
    "Residual added in floating point or separately",
    WARNING,
    looks_for="A quantized convolution or GEMM with a second floating-point input of its output's size; a generated "
    "kernel that dequantizes two branches, adds them and quantizes the sum.",
    why="With a quantized residual, convolution, addition and activation are one 8-bit kernel.",
    remedy="Quantize the skip input of the addition: one Q and DQ on the identity branch, none between convolution and "
    "addition.",
    references=(RESIDUAL_QDQ, issue(2204)),
    columns=("kind", "tactic", "input_formats", "output_formats", "latency_ms"),
    needs=(details,),
    estimate="assumes a residual and a result of 8 bits, without the Q after it",
    formula="layer time · bytes saved by residual and result of 8 bits / bytes, plus time of the Q after it; for a "
    "generated kernel, layer time · (1 − bytes of one branch / bytes)",
)
def floating_residual(context: Context) -> Findings:
    islands = map_islands(context)
    for layer in range(len(context.engine)):
        if layer in islands:
            continue
        if residuals := _find_residuals(context, layer):
            yield _describe_residual(context, layer, residuals)
            continue
        is_sum = _RESIDUAL_KERNEL.match(context.tactic_names[layer] or context.names[layer])
        if is_sum and _is_quantized_through(context, layer):
            total, residual = context.bytes[layer], context.inputs[layer][1].allocated_bytes
            part = 1 - residual / total if total and residual is not None else 1.0
            ms = context.ms[layer]
            yield finding(
                f"{context.quote(layer)} dequantizes two branches, adds them and quantizes the sum: "
                f"{context.format_time(layer)}.",
                [layer],
                savings=saving(context, layer, None if ms is None else part * ms),
                estimate="assumes that the convolution or GEMM adds the other branch",
                evidence=context.evidence(layer),
                remedy="Give both branches the same scale, or no Q and DQ before the addition, so that "
                "the convolution or GEMM can add the residual.",
                group="kernels dequantize two branches, add them and quantize the sum",
            )


def _find_residuals(context: Context, layer: int) -> list[Port]:
    """Return further float inputs, of the result's size, of a quantized product."""
    kind = LayerKind(context.kinds[layer])
    if not kind.multiplies or kind is LayerKind.ATTENTION or not context.is_quantized(layer):
        return []
    outputs = context.outputs[layer]
    volume = size_of(outputs[0]) if outputs else None
    return [
        port
        for port in context.data_inputs[layer][1:]
        if port.dtype in FLOATING and volume is not None and volume > 1 and size_of(port) == volume
    ]


def _is_quantized_through(context: Context, layer: int) -> bool:
    inputs = [port.dtype for port in context.data_inputs[layer]]
    outputs = {port.dtype for port in context.outputs[layer]}
    return len(inputs) > 1 and QUANTIZED.issuperset(inputs) and bool(outputs & QUANTIZED)


def _describe_residual(context: Context, layer: int, residuals: list[Port]) -> Finding:
    precision = context.output_types[layer]
    behind = _find_quantizing(context, layer) if precision in FLOATING else []
    wide = [port for port in (*residuals, context.outputs[layer][0]) if port.dtype in FLOATING]
    saved = sum((port.allocated_bytes or 0) * (1 - 8 / bits_of(port)) for port in wide)
    total = context.bytes[layer]
    then = ""
    if behind:
        then = f", and {plural(len(behind), 'kernel')} after it {'quantizes' if len(behind) == 1 else 'quantize'} the sum"
    return finding(
        f"{context.quote(layer)} adds its residual in {residuals[0].dtype} and writes {precision}{then}: "
        f"{context.format_time(layer, *behind)}.",
        [layer, *behind],
        savings=(fraction(context, layer, saved / total) if total else {}) | context.times(behind),
        evidence=context.evidence(layer, residual_type=residuals[0].dtype, quantizing_layers=len(behind)),
        group=f"quantized compute layers add their residual in {residuals[0].dtype}",
    )


@rule(
    "QDQ004",
    "Quantized engine computes mostly in floating point",
    INFO,
    looks_for="An engine whose quantized compute layers take less than half of the time of all compute layers.",
    why="Quantization saves little while most of the time is in other layers.",
    remedy="Quantize the slowest floating-point compute layers. Ignore this finding if partial quantization is "
    "intended.",
    references=(QUANTIZED_TYPES,),
    columns=("kind", "precision", "latency_ms"),
    needs=(details,),
    thresholds={"share_pct": 50.0},
    estimate="upper bound: assumes half of the time for the ten slowest floating-point compute layers",
    formula="layer time / 2 of the ten slowest floating-point compute layers",
)
def mostly_floating(context: Context, share_pct: float) -> Findings:
    products = context.multiplying
    quantized = [layer for layer in products if context.is_quantized(layer)]
    if not quantized:
        return
    ms, part = context.sum_ms(products), context.sum_ms(quantized)
    if not ms or part is None:
        yield not_checked(no_profile(context))
        return
    if part / ms >= share_pct / 100:
        return
    wide = [layer for layer in products if context.input_types[layer] in FLOATING]
    wide.sort(key=lambda layer: (-(context.ms[layer] or 0.0), layer))
    yield finding(
        f"{len(quantized)} of {len(products)} compute layers are quantized, {100 * part / ms:.0f} % of their time; "
        f"floating point: {context.format_time(*wide)}.",
        wide[:10],
        confidence=LOW,
        savings={layer: ms for member in wide[:10] for layer, ms in narrowed(context, member, 0.5).items()},
        evidence={
            "quantized_layers": len(quantized),
            "products": len(products),
            "quantized_pct": round(100 * part / ms, 1),
        },
    )


@strength(
    "QDQ",
    "Quantized layers stay quantized",
    "Every quantized compute layer writes quantized data, except at the end; separate Q/DQ only at network inputs.",
    ("kind", "precision", "output_precision"),
    without=(floating_residual,),
)
def stays_quantized(context: Context) -> Finding | None:
    layers = [layer for layer in context.multiplying if context.is_quantized(layer)]
    if not layers or any(_leaves_quantization(context, layer) for layer in layers):
        return None
    if 2 * len(layers) <= len(context.multiplying):
        return None  # most products are not quantized at all
    dangling = [
        layer
        for layer in context.select(*_MAY_CONVERT)
        if context.takes_time(layer) and conversion_role(context, layer)
    ]
    if not all(map(context.reads_network_input, dangling)):
        return None
    text = f"Quantized inputs and outputs for {plural(len(layers), 'quantized layer')}; separate Q/DQ only at network inputs."
    return finding(text, layers, evidence={"layers": len(layers)})


def _leaves_quantization(context: Context, layer: int) -> bool:
    """Return whether a layer writes floating point for another product; the last layers of a network may."""
    if context.output_types[layer] in QUANTIZED or layer in context.output_writers:
        return False
    return context.flow.behind[layer] != 0


RULES = (
    dangling_quantization,
    floating_result,
    quantized_weights_alone,
    floating_residual,
    mostly_floating,
    stays_quantized,
)
