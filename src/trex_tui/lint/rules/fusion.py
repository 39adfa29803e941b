"""FUSE: work that TensorRT could have fused into a neighbour's kernel."""

from __future__ import annotations

from trex_tui.engine.kinds import LayerKind
from trex_tui.lint.context import (
    FLOATING,
    FUSION_CATALOG,
    IDLE,
    Context,
    details,
    issue,
    per_context,
    size_of,
)
from trex_tui.lint.rule import GOOD, HIGH, INFO, MEDIUM, WARNING, Findings, Rule, finding
from trex_tui.lint.rules.formats import is_small
from trex_tui.text import plural

_PRODUCTS = (LayerKind.CONVOLUTION, LayerKind.GEMM)
_PADDED = frozenset((LayerKind.CONVOLUTION, LayerKind.POOLING))
_BEFORE_CONVOLUTION = IDLE | {LayerKind.REFORMAT, LayerKind.QUANTIZE, LayerKind.SHUFFLE}
"""Zero padding can be moved through these into a convolution: a Q maps zero to zero."""
_EPILOGUE_OPERATORS = frozenset(
    ["Add", "Sub", "Mul", "Div", "Relu", "Sigm", "Tanh", "Max", "Min", "Clip", "Exp", "Erf", "Gelu", "Silu"]
)
"""Operators of generated kernels that can be an epilogue. Rules about Q/DQ handle `Roun` and casts between types."""
_OF_SUMS = frozenset(("Add", "Mul"))
_CASTS = frozenset(("Cast", "Cas"))


@Rule(
    "FUSE001",
    "Pointwise operation not fused into its convolution or GEMM",
    WARNING,
    looks_for="A convolution or GEMM whose only reader is a pointwise layer that reads nothing else, except earlier "
    "tensors of the same size; with a profile, at least 0.05 % of the engine.",
    why="The output is written and read back for an operation that its kernel could apply as an epilogue.",
    remedy="Export Conv → BatchNorm → activation in this order; replace activations that TensorRT cannot fuse; try a "
    "newer TensorRT.",
    references=(FUSION_CATALOG, issue(993)),
    columns=("kind", "latency_ms", "input_shapes", "output_shapes", "tactic"),
    not_when="Outputs with several readers; pointwise layers with an input computed later; generated kernels that "
    "also convert, move or reduce.",
    needs=(details,),
    estimate="assumes that an epilogue is almost free",
    formula="time of the pointwise layers",
)
def pointwise_behind_product(context: Context, least_pct: float = 0.05) -> Findings:
    groups: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    for product, pointwise in find_epilogues(context):
        share = context.pct(context.ms[pointwise])
        if share is None or share >= least_pct:
            tactic = context.tactics[pointwise]
            key = tactic.operators if tactic and tactic.operators else (context.names[pointwise],)
            groups.setdefault(key, []).append((product, pointwise))
    for pairs in groups.values():
        product, pointwise = pairs[0]
        kernels = [kernel for _, kernel in pairs]
        remedy = _advise_on_epilogue(context, product, pointwise)
        runs, first = ("run", "first ") if len(pairs) > 1 else ("runs", "")
        yield finding(
            f"{plural(len(pairs), 'pointwise kernel')} {runs} separately, {first}{context.quote(pointwise)} after "
            f"{context.quote(product)}: {context.format_time(*kernels)}.",
            [layer for pair in pairs for layer in pair],
            severity=INFO if remedy == _NO_CAUSE else None,
            savings=context.times(kernels),
            evidence={
                "kernels": len(pairs),
                "pointwise_ms": context.sum_ms(kernels),
                "product": context.names[product],
                "tactic": context.tactic_names[pointwise],
                "pointwise_operations": context.values("n_operations")[pointwise],
            },
            remedy=remedy,
            is_minor=remedy == _NO_CAUSE and not context.has_profile,
            group="pointwise layers run separately after their convolution or GEMM"
            if len(pairs) == 1
            else "",
        )


_ADVICE_ON_SUMS = (
    "Give both branches the type and layout of the convolution or GEMM output, without a cast before the "
    "addition, so that its kernel can add the residual; try a newer TensorRT."
)


_NO_CAUSE = "Nothing in the model prevents it: try a newer TensorRT."


def _advise_on_epilogue(context: Context, product: int, pointwise: int) -> str:
    """Return why a pointwise layer is not fused, as far as the engine shows it, and what to do; empty if it does not."""
    if "||" in context.names[product]:
        return (
            "TensorRT merged convolutions that read one tensor (a || b), which have no epilogue: build "
            "once with the outputs of these convolutions marked or their inputs separated, and compare."
        )
    if len(context.producers[pointwise]) > 1:
        if _adds_two_branches(context, pointwise):
            branches = context.data_inputs[pointwise]
            is_alike = len({(port.dtype, port.format) for port in branches}) == 1
            return _NO_CAUSE if is_alike else _ADVICE_ON_SUMS
        fused = _count_fused_activations(context)
        elsewhere = (
            f" ({plural(fused, 'activation')} in this engine {'is' if fused == 1 else 'are'} fused)"
            if fused
            else ""
        )
        return (
            "The residual is added after the activation; a convolution can only add it before its "
            "activation: Conv → add → "
            f"activation would be one kernel{elsewhere}. Ignore this finding if the model is fixed."
        )
    if context.kinds[product] == LayerKind.GEMM:
        is_direct = (
            pointwise in context.consumers[product]
            and context.output_types[product] == context.output_types[pointwise]
        )
        if is_direct:
            return _NO_CAUSE
        return (
            "Put the operation directly behind the product, in the type of its output; try a newer TensorRT."
        )
    return ""


def _count_fused_activations(context: Context) -> int:
    return sum(value not in (None, "NONE") for value in context.values("activation"))


@per_context
def find_epilogues(context: Context) -> list[tuple[int, int]]:
    """Return products with their only reader, if it is a pointwise layer that could be their epilogue."""
    paths = ((product, context.only_reader_beyond(product, IDLE)) for product in context.select(*_PRODUCTS))
    return [(product, path[1]) for product, path in paths if path and _is_epilogue(context, product, path[1])]


def _is_epilogue(context: Context, product: int, pointwise: int) -> bool:
    """Return whether a pointwise layer reads only the product and values known before it, in the product's own shape."""
    outputs = context.outputs[pointwise]
    if (
        context.kinds[pointwise] != LayerKind.POINTWISE
        or not context.takes_time(pointwise)
        or len(outputs) != 1
    ):
        return False
    tactic = context.tactics[pointwise]
    operators = frozenset(tactic.operators) if tactic else frozenset[str]()
    if operators & _CASTS and not _keeps_float_type(context, pointwise):
        return False
    if not _EPILOGUE_OPERATORS.issuperset(operators - _CASTS):
        return False
    volume, written = size_of(outputs[0]), context.outputs[product][0]
    read = [port for port in context.data_inputs[pointwise] if port.name == written.name]
    if any(port.shape != written.shape for port in read):
        return False  # it reads parts of merged products
    if not context.has_profile and is_small(outputs[0]):
        return False
    others = [port for port in context.data_inputs[pointwise] if size_of(port) != volume]
    later = [layer for layer in context.producers[pointwise] if layer > product and context.takes_time(layer)]
    return volume is not None and not others and all(context.kinds[layer] in IDLE for layer in later)


def _adds_two_branches(context: Context, pointwise: int) -> bool:
    """Return whether a layer is a generated kernel that adds two computed tensors and scales them: a residual connection."""
    tactic = context.tactics[pointwise]
    operators = frozenset(tactic.operators) if tactic else frozenset[str]()
    is_sum = "Add" in operators and operators - _CASTS <= _OF_SUMS
    return is_sum and len(context.producers[pointwise]) > 1


def _keeps_float_type(context: Context, layer: int) -> bool:
    """Return whether all data of a layer has one floating-point type: casts inside then only widen its arithmetic."""
    types = {port.dtype for port in (*context.data_inputs[layer], *context.outputs[layer])}
    return len(types) == 1 and types <= FLOATING


@Rule(
    "FUSE003",
    "Separate padding layer",
    WARNING,
    looks_for="A padding layer, or a slice called one, all of whose readers are convolutions or poolings.",
    why="Convolutions and poolings pad while they read; a separate layer copies the whole tensor.",
    remedy="Fold it into the reader's padding: zeros for a convolution; max pooling with non-negative input; "
    "average pooling that counts padding.",
    references=(FUSION_CATALOG, issue(2592)),
    columns=("layer_type", "kind", "latency_ms", "input_shapes", "output_shapes"),
    not_when="Negative padding (a crop), and padding read by another kind of layer.",
    needs=(details,),
    estimate="without the padding layer",
    formula="time of the padding layer",
)
def padding(context: Context) -> Findings:
    for layer in range(len(context.engine)):
        if not context.takes_time(layer) or not _pads(context, layer):
            continue
        readers = list(context.beyond(layer, _BEFORE_CONVOLUTION, forward=True))
        if not readers or any(context.kinds[reader] not in _PADDED for reader in readers):
            continue
        yield finding(
            f"{context.quote(layer)} pads the input of {context.quote(readers[0])} in a separate kernel: "
            f"{context.format_time(layer)}.",
            [layer],
            confidence=HIGH if len(readers) == 1 else MEDIUM,
            savings=context.times([layer]),
            evidence={
                "layer_type": context.layer_types[layer],
                "reader": context.names[readers[0]],
                "input_shape": str(context.inputs[layer][0].shape),
                "output_shape": str(context.outputs[layer][0].shape),
            },
            group="layers pad the input of convolutions or poolings",
        )


def _pads(context: Context, layer: int) -> bool:
    """Return whether a layer pads: by its kind or name, and only if an extent of its output is larger and none is smaller."""
    types = f"{context.layer_types[layer]} {context.parameter_types[layer]}".lower()
    is_slice = context.kinds[layer] == LayerKind.SLICE and "pad" in context.names[layer].lower()
    if not ("padding" in types or is_slice) or not context.inputs[layer] or not context.outputs[layer]:
        return False
    source, target = context.inputs[layer][0].shape, context.outputs[layer][0].shape
    is_grown = source != target and all(a <= b for a, b in zip(source, target, strict=False))
    return len(source) == len(target) and is_grown


@Rule(
    "OK-ACT",
    "Pointwise operations fused into convolutions and GEMMs",
    GOOD,
    looks_for="No pointwise kernel that could be an epilogue of a convolution or GEMM.",
    columns=("kind", "input_shapes", "output_shapes"),
)
def fused_epilogues(context: Context) -> Findings:
    products = context.select(*_PRODUCTS)
    if not context.has_details or not products or find_epilogues(context):
        return
    count = plural(len(products), "convolution or GEMM", "convolutions and GEMMs")
    yield finding(
        f"{count} without a separate pointwise kernel.",
        products,
        confidence=HIGH,
        evidence={"layers": len(products)},
    )


RULES = (
    pointwise_behind_product,
    padding,
    fused_epilogues,
)
