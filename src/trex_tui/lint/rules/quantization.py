"""QDQ: quantization that costs separate kernels, or ends directly after the layer that it was added for."""

from __future__ import annotations

import re

from trex_tui.engine.kinds import LayerKind
from trex_tui.lint.context import (
    FLOATING,
    PRODUCTS,
    QUANTIZED,
    QUANTIZED_TYPES,
    RESIDUAL_QDQ,
    TRANSPARENT,
    Context,
    details,
    issue,
    no_profile,
)
from trex_tui.lint.regions import conversion_role, map_islands
from trex_tui.lint.rule import (
    GOOD,
    HIGH,
    INFO,
    LOW,
    WARNING,
    Findings,
    Rule,
    finding,
    not_checked,
)
from trex_tui.lint.savings import is_stalled, narrowed, saving
from trex_tui.text import plural

_QDQ = re.compile(r"(QuantizeLinear|DequantizeLinear)[^/]*$")
_BOTH_STEPS = {"QuantizeLinear", "DequantizeLinear"}
_OWN_OPERATORS = frozenset(("Mul", "Div", "Min", "Max", "Roun", "Cast", "Cas", "Clip", "Quan"))
"""Operators of a generated kernel that only quantizes or dequantizes."""
_MAY_CONVERT = (LayerKind.QUANTIZE, LayerKind.SCALE, LayerKind.REFORMAT)
# Two dequantizations, an addition and a quantization in one generated kernel.
_RESIDUAL_KERNEL = re.compile(r"__myl_CastMulCastMulAdd\w*RounCast")


@Rule(
    "QDQ001",
    "Q/DQ not fused",
    WARNING,
    looks_for="A Q or DQ that runs as a separate kernel (Scale, Reformat, also with Origin QDQ, generated Myelin "
    "kernel, or quantize layer) to or from INT8, FP8, INT4 or FP4.",
    why="A fused Q or DQ is free. A separate one reads and writes its whole tensor.",
    remedy="Put the Q directly after an operator that can fuse it, remove duplicate pairs, and quantize residual "
    "branches.",
    references=(QUANTIZED_TYPES, issue(2383), issue(2204)),
    columns=("kind", "layer_type", "input_formats", "output_formats", "latency_ms"),
    not_when="Pointwise kernels and transposes with a fused Q. At network inputs and outputs, and with scales "
    "computed at run time, the finding is info.",
    needs=(details,),
    estimate="assumes that it is fused",
    formula="layer time",
)
def dangling_quantization(context: Context) -> Findings:
    flow, islands = context.flow, map_islands(context)
    for layer in context.select(*_MAY_CONVERT):
        role = conversion_role(context, layer)
        if role is None or layer in islands or not context.takes_time(layer):
            continue
        if not _OWN_OPERATORS.issuperset(context.operators(layer)):
            continue  # fused with a transpose or pointwise work
        at_edge = layer in (flow.at_input if role == "quantizes" else flow.at_output)
        at_edge = at_edge or (role == "quantizes" and _is_behind_padding(context, layer))
        is_weights = not context.data_inputs[layer]
        # MXFP8 and NVFP4 compute their scales at run time: this takes a pass over the data.
        is_dynamic = "dynamic" in f"{context.layer_types[layer]} {context.parameter_types[layer]}".lower()
        remedy = _advise_edge(context, layer, role) if at_edge else ""
        if is_dynamic:
            remedy = (
                "Its scales are computed at run time; static scales can be fused into the previous operator."
            )
        if is_weights:
            remedy = (
                "Weights are dequantized at run time because no kernel supports both types: use a block "
                "size and layout supported by weight-only kernels, or dequantize before the build."
            )
        edge = " at the network's edge" if at_edge else ""
        yield finding(
            f"{context.quote(layer)} {role} {'weights ' if is_weights else ''}in a separate kernel{edge}, "
            f"{context.format_types(layer)}: {context.format_time(layer)}.",
            [layer],
            severity=INFO if at_edge or is_dynamic else None,
            confidence=HIGH,
            savings=context.times([layer]),
            evidence=context.evidence(layer, role=role),
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


@Rule(
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


@Rule(
    "QDQ003",
    "Residual added in a separate kernel",
    WARNING,
    looks_for="A generated kernel that dequantizes two branches, adds them and quantizes the sum.",
    why="With a quantized residual, convolution, addition and activation are one 8-bit kernel.",
    remedy="Give both branches the same scale, or no Q and DQ before the addition, so that the convolution or GEMM "
    "can add the residual.",
    references=(RESIDUAL_QDQ, issue(2204)),
    columns=("kind", "tactic", "input_formats", "output_formats", "latency_ms"),
    needs=(details,),
    estimate="assumes that the convolution or GEMM adds the other branch",
    formula="layer time · (1 − bytes of one branch / bytes)",
)
def separate_residual(context: Context) -> Findings:
    islands = map_islands(context)
    for layer in range(len(context.engine)):
        is_sum = _RESIDUAL_KERNEL.match(context.tactic_names[layer] or context.names[layer])
        if layer in islands or not is_sum or not _is_quantized_through(context, layer):
            continue
        total, ms = context.bytes[layer], context.ms[layer]
        residual = context.inputs[layer][1].allocated_bytes
        part = 1 - residual / total if total and residual is not None else 1.0
        yield finding(
            f"{context.quote(layer)} dequantizes two branches, adds them and quantizes the sum: "
            f"{context.format_time(layer)}.",
            [layer],
            savings=saving(context, layer, None if ms is None else part * ms),
            evidence=context.evidence(layer),
            group="kernels dequantize two branches, add them and quantize the sum",
        )


def _is_quantized_through(context: Context, layer: int) -> bool:
    inputs = [port.dtype for port in context.data_inputs[layer]]
    outputs = {port.dtype for port in context.outputs[layer]}
    return len(inputs) > 1 and QUANTIZED.issuperset(inputs) and bool(outputs & QUANTIZED)


@Rule(
    "QDQ004",
    "Quantized engine computes mostly in floating point",
    INFO,
    looks_for="An engine whose quantized compute layers take less than half of the time of all compute layers.",
    why="Quantization saves little while most of the time is in other layers.",
    remedy="Quantize the slowest floating-point compute layers. Ignore this finding if partial quantization is "
    "intended.",
    references=(QUANTIZED_TYPES,),
    columns=("kind", "precision", "latency_ms"),
    not_when="Layers far below the rates of others, which a narrower type does not shorten.",
    needs=(details,),
    estimate="upper bound: assumes half of the time for the ten slowest floating-point compute layers",
    formula="layer time / 2 of the ten slowest floating-point compute layers",
)
def mostly_floating(context: Context) -> Findings:
    quantized = [layer for layer in context.multiplying if context.is_quantized(layer)]
    wide = [layer for layer in context.multiplying if context.input_types[layer] in FLOATING]
    wide = [layer for layer in wide if not is_stalled(context, layer)]
    if not quantized:
        return
    part, rest = context.sum_ms(quantized), context.sum_ms(wide)
    if part is None:
        yield not_checked(no_profile(context))
        return
    if not rest or part >= rest or (context.pct(rest) or 0.0) < 5.0:
        return
    wide = sorted(wide, key=lambda layer: (-(context.ms[layer] or 0.0), layer))
    count = len(quantized) + len(wide)
    yield finding(
        f"{len(quantized)} of {count} compute layers are quantized, {100 * part / (part + rest):.0f} % of their time; "
        f"floating point: {context.format_time(*wide)}.",
        wide[:10],
        confidence=LOW,
        savings={layer: ms for member in wide[:10] for layer, ms in narrowed(context, member, 0.5).items()},
        evidence={"quantized_layers": len(quantized), "compute_layers": count},
    )


@Rule(
    "OK-QDQ",
    "Quantized layers stay quantized",
    GOOD,
    looks_for="Every quantized compute layer writes quantized data, except at the end; separate Q/DQ only at network inputs.",
    columns=("kind", "precision", "output_precision"),
)
def stays_quantized(context: Context) -> Findings:
    if separate_residual.find(context):
        return
    layers = [layer for layer in context.multiplying if context.is_quantized(layer)]
    if not layers or any(_leaves_quantization(context, layer) for layer in layers):
        return
    if 2 * len(layers) <= len(context.multiplying):
        return  # most products are not quantized at all
    dangling = [
        layer
        for layer in context.select(*_MAY_CONVERT)
        if context.takes_time(layer) and conversion_role(context, layer)
    ]
    if not all(map(context.reads_network_input, dangling)):
        return
    text = f"Quantized inputs and outputs for {plural(len(layers), 'quantized layer')}; separate Q/DQ only at network inputs."
    yield finding(text, layers, confidence=HIGH, evidence={"layers": len(layers)})


def _leaves_quantization(context: Context, layer: int) -> bool:
    """Return whether a layer writes floating point for another product; the last layers of a network may."""
    if context.output_types[layer] in QUANTIZED or layer in context.output_writers:
        return False
    return any(
        context.kinds[reader] in PRODUCTS for reader in context.beyond(layer, TRANSPARENT, forward=True)
    )


RULES = (
    dangling_quantization,
    quantized_weights_alone,
    separate_residual,
    mostly_floating,
    stays_quantized,
)
