"""QDQ: quantization that costs kernels of its own, or is given up again right behind the layer it was made for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trex_tui.engine.dtypes import DataType
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer, Tensor
from trex_tui.lint.context import FLOATING, QUANTIZED, Context
from trex_tui.lint.dataflow import Flow, flow_of
from trex_tui.lint.lint_text import (
    NO_DETAILS,
    NO_PROFILE,
    QUANTIZED_TYPES,
    RESIDUAL_QDQ,
    called,
    indices,
    issue,
    ran,
    time_of,
    time_text,
    whole_time,
)
from trex_tui.lint.model import Confidence, Evidence, Finding, NotChecked, Rule, Severity
from trex_tui.lint.savings import evidence, fraction, moving_ms, stake, types_text
from trex_tui.text import plural

_MAY_CONVERT = frozenset({LayerKind.QUANTIZE, LayerKind.SCALE, LayerKind.REFORMAT})
# Two dequantizations, an addition and a quantization in one generated kernel.
_RESIDUAL_KERNEL = re.compile(r"__myl_CastMulCastMulAdd\w*RounCast")


# QDQ001


def _dangling(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("QDQ001", NO_DETAILS)
        return
    flow = flow_of(context.engine)
    for layer in context.layers:
        role = _role(layer) if layer.kind in _MAY_CONVERT and ran(layer) else None
        if role:
            yield _dangling_finding(context, flow, layer, role)


def _role(layer: Layer) -> str | None:
    """`quantizes`, `dequantizes` or `requantizes`; None for a layer that does neither, or only changes the layout."""
    source = layer.inputs[0].dtype if layer.inputs else None
    target = layer.output_precision
    if target in QUANTIZED and source in FLOATING:
        return "quantizes"
    if source in QUANTIZED and target in FLOATING:
        return "dequantizes"
    if source in QUANTIZED and target in QUANTIZED and layer.kind is not LayerKind.REFORMAT:
        return "requantizes"
    return None


def _dangling_finding(context: Context, flow: Flow, layer: Layer, role: str) -> Finding:
    at_edge = layer.index in (flow.at_input if role == "quantizes" else flow.at_output)
    of_weights = all(tensor.name in layer.constant_inputs for tensor in layer.inputs)
    what = "weights " if of_weights else ""
    edge = " at the network's edge" if at_edge else ""
    return Finding(
        "QDQ001",
        f"{called(layer)} {role} {what}in a kernel of its own{edge}, {types_text(layer)}: "
        f"{time_text(layer.latency_ms, context.pct(layer.latency_ms))}.",
        (layer.index,),
        severity=Severity.INFO if at_edge or _is_dynamic(layer) else None,
        confidence=Confidence.HIGH,
        stakes_ms=whole_time([layer]),
        formula="latency_ms: fused, it costs nothing",
        evidence=evidence(layer, role=role, origin=_text(layer.attributes.get("Origin"))),
        remedy=_remedy(layer, role, at_edge=at_edge, of_weights=of_weights),
    )


def _is_dynamic(layer: Layer) -> bool:
    """Whether it finds its scales at run time, as MXFP8 and NVFP4 do: that takes a pass over the data."""
    return "dynamic" in f"{layer.layer_type} {layer.parameter_type}".lower()


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _remedy(layer: Layer, role: str, *, at_edge: bool, of_weights: bool) -> str:
    if of_weights:
        return (
            "Weights are dequantized at run time because no kernel takes both types: check the block size and layout that "
            "weight-only kernels support, or dequantize them before the build."
        )
    if _is_dynamic(layer):
        return (
            "Its scales are computed at run time; static scales could be fused into the operator before it."
        )
    if at_edge:
        type_name = (
            layer.output_precision if role == "quantizes" else layer.inputs[0].dtype
        ) or DataType.INT8
        side = "input" if role == "quantizes" else "output"
        return (
            f"Exchange {type_name.value} with the caller, who then converts on the host or in another kernel "
            f"(--{side}IOFormats={type_name.value.lower()}:…); otherwise leave it."
        )
    return ""


# QDQ002


def _float_results(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("QDQ002", NO_DETAILS)
        return
    flow = flow_of(context.engine)
    for layer in context.layers:
        if not _widens(context, layer) or layer.index in flow.at_output or _residuals(context, layer):
            continue
        # A product may follow behind a pool or a pointwise layer; at the end of the network nothing does.
        if flow.behind[layer.index] or any(one.kind.is_work for one in context.consumers(layer)):
            yield _float_result(context, layer)


def _widens(context: Context, layer: Layer) -> bool:
    return context.is_compute(layer) and context.is_quantized(layer) and layer.output_precision in FLOATING


def _q_behind(context: Context, layer: Layer) -> list[Layer]:
    """Quantizing layers that read its result, directly or behind a reformat or NoOp."""
    found: dict[int, Layer] = {}
    for reader in context.consumers(layer):
        step = [reader]
        if reader.kind in (LayerKind.REFORMAT, LayerKind.NOOP):
            step = [reader, *context.consumers(reader)]
        found |= {one.index: one for one in step if _role(one) == "quantizes"}
    return [found[index] for index in sorted(found) if found[index].kind in _MAY_CONVERT]


def _saved_output(context: Context, layer: Layer) -> dict[int, float]:
    """What a result of 8 bits would save in bytes written."""
    result = layer.outputs[0]
    if result.allocated_bytes is None or result.dtype is None:
        return {}
    saved = moving_ms(context, result.allocated_bytes * (1 - 8 / result.dtype.bits))
    return stake(layer, saved)


def _float_result(context: Context, layer: Layer) -> Finding:
    behind = _q_behind(context, layer)
    stakes = _saved_output(context, layer) | whole_time(behind)
    output = layer.output_precision
    feeds_residual = any(
        tensor.name == layer.outputs[0].name
        for reader in context.consumers(layer)
        for tensor in _residuals(context, reader)
    )
    then = (
        f", and {plural(len(behind), 'kernel')} behind it {'quantizes' if len(behind) == 1 else 'quantize'} that again: "
        f"{time_text(time_of(behind), context.pct(time_of(behind)))}"
        if behind
        else ""
    )
    return Finding(
        "QDQ002",
        f"{called(layer)} multiplies {_name(context.input_type(layer))} and writes {_name(output)}{then}.",
        indices([layer, *behind]),
        severity=None if behind or feeds_residual else Severity.INFO,
        stakes_ms=stakes if behind else {},
        formula="bytes saved by a result of 8 bits / bandwidth, plus latency_ms of the Q behind it"
        if behind
        else "",
        evidence=evidence(layer, quantizing_layers=len(behind), feeds_residual=feeds_residual),
        remedy="Its result is added to a residual in floating point: quantize that input of the addition (QDQ003)."
        if feeds_residual
        else "",
    )


def _name(precision: DataType | None) -> str:
    return precision.value if precision else "unknown type"


# QDQ003


def _residual_in_float(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("QDQ003", NO_DETAILS)
        return
    for layer in context.layers:
        if residuals := _residuals(context, layer):
            yield _fused_residual(context, layer, residuals)
        elif _RESIDUAL_KERNEL.match(layer.tactic or layer.name) and _is_quantized_through(context, layer):
            yield _residual_kernel(context, layer)


def _residuals(context: Context, layer: Layer) -> list[Tensor]:
    """Further float inputs, of the result's size, of a quantized product."""
    if not context.is_compute(layer) or layer.kind is LayerKind.ATTENTION or not context.is_quantized(layer):
        return []
    volume = layer.outputs[0].volume if layer.outputs else None
    return [
        tensor
        for tensor in context.data_inputs(layer)[1:]
        if tensor.dtype in FLOATING and volume is not None and volume > 1 and tensor.volume == volume
    ]


def _fused_residual(context: Context, layer: Layer, residuals: list[Tensor]) -> Finding:
    behind = _q_behind(context, layer) if layer.output_precision in FLOATING else []
    wide = [tensor for tensor in (*residuals, layer.outputs[0]) if tensor.dtype in FLOATING]
    sizes = [(tensor.allocated_bytes, tensor.dtype) for tensor in wide]
    saved = sum(size * (1 - 8 / dtype.bits) for size, dtype in sizes if size is not None and dtype)
    total = context.bytes(layer)
    own = fraction(context, layer, saved / total) if total else {}
    then = f", and {plural(len(behind), 'kernel')} behind it quantize the sum" if behind else ""
    if len(behind) == 1:
        then = ", and a kernel behind it quantizes the sum"
    time = time_of([layer, *behind])
    return Finding(
        "QDQ003",
        f"{called(layer)} adds its residual in {_name(residuals[0].dtype)} and writes {_name(layer.output_precision)}"
        f"{then}: {time_text(time, context.pct(time))}.",
        indices([layer, *behind]),
        stakes_ms=own | whole_time(behind),
        formula="latency_ms · bytes saved by residual and result of 8 bits / bytes, plus latency_ms of the Q behind it",
        evidence=evidence(layer, residual_type=_name(residuals[0].dtype), quantizing_layers=len(behind)),
    )


def _is_quantized_through(context: Context, layer: Layer) -> bool:
    inputs = [tensor.dtype for tensor in context.data_inputs(layer)]
    outputs = [tensor.dtype for tensor in layer.outputs]
    return len(inputs) > 1 and QUANTIZED.issuperset(inputs) and not QUANTIZED.isdisjoint(outputs)


def _residual_kernel(context: Context, layer: Layer) -> Finding:
    total, residual = context.bytes(layer), layer.inputs[1].allocated_bytes
    part = 1 - residual / total if total and residual is not None else 1.0
    return Finding(
        "QDQ003",
        f"{called(layer)} dequantizes two branches, adds them and quantizes the sum: "
        f"{time_text(layer.latency_ms, context.pct(layer.latency_ms))}.",
        (layer.index,),
        stakes_ms=stake(layer, None if layer.latency_ms is None else part * layer.latency_ms),
        formula="latency_ms · (1 − bytes of one branch / bytes): what is left when the product adds the other branch itself",
        evidence=evidence(layer),
        remedy="Give both branches the same scale, or no Q and DQ between product and addition, so that the product "
        "can add the "
        "residual itself.",
    )


# QDQ004


def _mostly_float(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("QDQ004", NO_DETAILS)
        return
    products = [layer for layer in context.layers if context.is_compute(layer)]
    quantized = [layer for layer in products if context.is_quantized(layer)]
    if not quantized:
        return
    time, part = time_of(products), time_of(quantized)
    if not time or part is None:
        yield NotChecked("QDQ004", NO_PROFILE)
        return
    if part / time >= context.threshold("QDQ004.share_pct", 50.0) / 100:
        return
    wide = [layer for layer in products if context.input_type(layer) in FLOATING]
    wide.sort(key=lambda layer: (-(layer.latency_ms or 0.0), layer.index))
    stakes: dict[int, float] = {}
    for layer in wide:
        stakes |= fraction(context, layer, 0.5)
    yield Finding(
        "QDQ004",
        f"{plural(len(quantized), 'product')} of {len(products)} are quantized, {100 * part / time:.0f} % of the "
        f"products' time; "
        f"{time_text(time_of(wide), context.pct(time_of(wide)))} are floating point.",
        indices(wide[:10]),
        confidence=Confidence.LOW,
        stakes_ms={layer.index: stakes[layer.index] for layer in wide[:10] if layer.index in stakes},
        formula="latency_ms / 2 of the ten costliest products in floating point: a bound",
        evidence=(
            Evidence("quantized_layers", len(quantized)),
            Evidence("products", len(products)),
            Evidence("quantized_pct", round(100 * part / time, 1)),
        ),
    )


RULES: tuple[Rule, ...] = (
    Rule(
        id="QDQ001",
        title="Dangling quantize or dequantize",
        severity=Severity.WARNING,
        looks_for="Quantization that runs as a kernel of its own: as Scale, as Reformat (also with Origin QDQ), as a "
        "generated "
        "Myelin kernel, or as a quantize layer; to or from INT8, FP8, INT4 or FP4.",
        why="A Q or DQ that is fused into its neighbours costs nothing. Alone it reads and writes its whole tensor.",
        remedy="Put the Q right behind an operator that can absorb it, remove doubled pairs, and quantize residual branches "
        "(QDQ003).",
        references=(QUANTIZED_TYPES, issue(2383), issue(2204)),
        columns=("kind", "layer_type", "input_formats", "output_formats", "latency_ms"),
        check=_dangling,
        not_when="At the network's inputs and outputs, and with scales computed at run time, it is told as info. "
        "Pointwise kernels with a Q fused into them "
        "are fine.",
    ),
    Rule(
        id="QDQ002",
        title="Quantized layer writes floating point",
        severity=Severity.WARNING,
        looks_for="A convolution, GEMM or attention layer with quantized input and floating-point output, somewhere "
        "before the "
        "network's end.",
        why="DQ → Conv runs with quantized input and float output; only DQ → Conv → Q writes quantized values. The "
        "wider result "
        "takes twice or four times the bytes, and often a Q of its own before the next product.",
        remedy="Put Q and DQ on the tensor between them.",
        references=(issue(2383), QUANTIZED_TYPES),
        columns=("kind", "input_formats", "output_formats", "latency_ms"),
        check=_float_results,
        not_when="The last layer; layers that add a residual in floating point, which QDQ003 tells. Where no Q "
        "follows, it is "
        "told as info.",
    ),
    Rule(
        id="QDQ003",
        title="Residual is added in floating point, or by a kernel of its own",
        severity=Severity.WARNING,
        looks_for="A quantized convolution or GEMM with a further floating-point input of its result's size; a "
        "generated kernel "
        "that dequantizes two branches, adds them and quantizes the sum.",
        why="Quantized, convolution, addition and activation are one kernel that reads and writes 8 bits.",
        remedy="Quantize the skip input of the addition: one Q and DQ on the identity branch, none between "
        "convolution and addition.",
        references=(RESIDUAL_QDQ, issue(2204)),
        columns=("kind", "tactic", "input_formats", "output_formats", "latency_ms"),
        check=_residual_in_float,
    ),
    Rule(
        id="QDQ004",
        title="Quantized engine computes mostly in floating point",
        severity=Severity.INFO,
        looks_for="An engine with quantized products that take less than half of the products' time.",
        why="What was quantized wins little as long as most of the time is spent elsewhere.",
        remedy="Quantize the costliest of the products that are still in floating point. Leave it if only a part was "
        "meant to be "
        "quantized.",
        references=(QUANTIZED_TYPES,),
        columns=("kind", "precision", "latency_ms"),
        check=_mostly_float,
    ),
)
