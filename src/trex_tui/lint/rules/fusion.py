"""FUSE: work that TensorRT could have fused into a neighbour's kernel; PLUG: costs of plugins beside their own time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from trex_tui.analysis.structure import describe
from trex_tui.engine.kinds import LayerKind
from trex_tui.lint.context import (
    FLOATING,
    FUSION_CATALOG,
    IDLE,
    Context,
    details,
    format_time,
    issue,
    per_context,
    size_of,
)
from trex_tui.lint.regions import ELEMENTWISE, PluginRegion, find_plugin_regions, map_plugin_regions
from trex_tui.lint.rule import HIGH, INFO, LOW, MEDIUM, WARNING, Finding, Findings, finding, rule, strength
from trex_tui.lint.rules.formats import is_small
from trex_tui.lint.rules.quantization import floating_residual
from trex_tui.text import join_words, plural, printable

_PRODUCTS = (LayerKind.CONVOLUTION, LayerKind.GEMM)
_PADDED = frozenset((LayerKind.CONVOLUTION, LayerKind.POOLING))
WORTH_A_WARNING_PCT = 2.0
_BEFORE_CONVOLUTION = IDLE | {LayerKind.REFORMAT, LayerKind.QUANTIZE, LayerKind.SHUFFLE}
"""Zero padding can be moved through these into a convolution: a Q maps zero to zero."""
_EPILOGUE_OPERATORS = frozenset(
    ["Add", "Sub", "Mul", "Div", "Relu", "Sigm", "Tanh", "Max", "Min", "Clip", "Exp", "Erf", "Gelu", "Silu"]
)
"""Operators of generated kernels that can be an epilogue. Rules about Q/DQ handle `Roun` and casts between types."""
_OF_SUMS = frozenset(("Add", "Mul"))
_CASTS = frozenset(("Cast", "Cas"))


@rule(
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
    # On the engines used to choose it, smaller ones are kernels of 5 µs at the launch floor.
    thresholds={"least_pct": 0.05},
    estimate="assumes that an epilogue is almost free",
    formula="time of the pointwise layers",
)
def pointwise_behind_product(context: Context, least_pct: float) -> Findings:
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
        layers = [layer for pair in pairs for layer in pair]
        evidence = {"pointwise_ms": context.sum_ms(kernels), "product": context.names[product]}
        severity = INFO if remedy == _NO_CAUSE else None
        is_minor = remedy == _NO_CAUSE and not context.has_profile
        if len(pairs) > 1:
            yield finding(
                f"{len(pairs)} kernels, the first {context.quote(pointwise)}, run separately after their "
                f"convolution or GEMM: {context.format_time(*kernels)}.",
                layers,
                severity=severity,
                savings=context.times(kernels),
                evidence={"kernels": len(pairs), **evidence, "tactic": context.tactic_names[pointwise]},
                remedy=remedy,
                is_minor=is_minor,
            )
            continue
        operations = context.values("n_operations")[pointwise]
        yield finding(
            f"{context.quote(pointwise)} ({context.format_time(pointwise)}) is not fused into "
            f"{context.quote(product)}, its only input.",
            layers,
            severity=severity,
            savings=context.times([pointwise]),
            evidence={**evidence, **({} if operations is None else {"pointwise_operations": operations})},
            remedy=remedy,
            is_minor=is_minor,
            group="pointwise layers run separately after their convolution or GEMM",
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


@rule(
    "FUSE002",
    "Chain of pointwise kernels",
    INFO,
    looks_for="A pointwise or scale layer whose only reader (possibly after reformats) is another one on the same "
    "stream.",
    why="Each kernel reads and writes the whole tensor; a fused kernel does so once.",
    remedy="Put scale/shift directly before the activation; keep one layout.",
    references=(FUSION_CATALOG,),
    columns=("kind", "latency_ms", "stream", "input_shapes", "output_shapes"),
    not_when="Kernels generated by Myelin, which evaluates this fusion itself; layers after a normalization plugin "
    "(FUSE004).",
    needs=(details,),
    estimate="assumes one kernel that reads and writes once",
    formula="time of the shorter of the two and of the reformats between",
)
def pointwise_chain(context: Context) -> Findings:
    normalizations = map_plugin_regions(context)
    for layer in context.select(*ELEMENTWISE):
        if not _is_chainable(context, layer) or layer in normalizations:
            continue
        path = context.only_reader_beyond(layer, IDLE | {LayerKind.REFORMAT})
        if (
            path is None
            or not _is_chainable(context, path[1])
            or context.streams[layer] != context.streams[path[1]]
        ):
            continue
        reader = path[1]
        between = [
            step for step in path[0] if context.kinds[step] == LayerKind.REFORMAT and context.takes_time(step)
        ]
        shorter = min((layer, reader), key=lambda pointwise: context.ms[pointwise] or 0.0)
        reformats = f", with {plural(len(between), 'reformat')} between" if between else ""
        yield finding(
            f"{context.quote(layer)} and {context.quote(reader)} are consecutive pointwise layers{reformats}: "
            f"{context.format_time(layer, *between, reader)} in {len(between) + 2} kernels.",
            [layer, *between, reader],
            savings=context.times([shorter, *between]),
            evidence={
                "first_ms": context.ms[layer],
                "second_ms": context.ms[reader],
                "reformats_ms": context.sum_ms(between),
            },
            group="chains of pointwise kernels",
        )


def _is_chainable(context: Context, layer: int) -> bool:
    """Return whether a layer works element by element. Myelin decides on fusing it; shapes or reductions may prevent that."""
    tactic = context.tactics[layer]
    is_generated = context.layer_types[layer] == "kgen" or bool(tactic and tactic.operators)
    return context.kinds[layer] in ELEMENTWISE and context.takes_time(layer) and not is_generated


@rule(
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


@rule(
    "FUSE004",
    "Normalization in two kernels or as a plugin",
    INFO,
    looks_for="A generated kernel that ends with the statistics of a normalization and one that starts by applying "
    "them; plugins for instance, group or layer normalization, with the copies and pointwise layers around "
    "them. One finding each per engine; a warning from a saving of 2 % of the time.",
    why="Two kernels read the tensor twice; plugins are never fused and may need another layout.",
    remedy="Export one LayerNormalization (opset 17 or later) instead of its parts; for plugins, build "
    "with and without and measure.",
    references=(FUSION_CATALOG, issue(3962)),
    columns=("tactic", "latency_ms", "layer_type"),
    not_when="A second kernel that applies several normalizations at once.",
    needs=(details,),
    estimate="upper bound: without the shorter kernel of each pair",
    formula="time of the shorter kernel of each pair; for plugins, of the copies (half if another layer "
    "reads them) and of all pointwise layers after each plugin but the longest",
)
def normalization(context: Context) -> Findings:
    pairs = list(_find_split_normalization(context))
    if pairs:
        savings = context.times(min(pair, key=lambda layer: context.ms[layer] or 0.0) for pair in pairs)
        total = sum(savings.values()) if savings else None
        yield finding(
            f"{plural(len(pairs), 'normalization')} in two kernels each, statistics and application: the "
            f"shorter ones add up to {format_time(total, context.pct(total))}.",
            [layer for pair in pairs for layer in pair],
            confidence=LOW,
            savings=savings,
            evidence={"pairs": len(pairs), "tactic": context.tactic_names[pairs[0][0]]},
        )
    yield from _find_normalization_plugins(context)


def _find_normalization_plugins(context: Context) -> Iterator[Finding]:
    by_type: dict[str, list[PluginRegion]] = {}
    for region in find_plugin_regions(context):
        if region.is_normalization:
            by_type.setdefault(region.plugin_type, []).append(region)
    for plugin_type, alike in by_type.items():
        layers = sorted({layer for region in alike for layer in region.layers})
        copies = sorted({layer for region in alike for layer in region.copies})
        plugins = [region.plugin for region in alike]
        pointwise = [layer for region in alike for layer in region.pointwise]
        savings = _save_by_fusion(context, alike)
        is_large = (context.pct(sum(savings.values())) or 0.0) >= WORTH_A_WARNING_PCT
        parts = [
            f"the plugins {context.format_time(*plugins)}",
            *([f"copies {context.format_time(*copies)}"] if copies else []),
            *([f"pointwise layers after them {context.format_time(*pointwise)}"] if pointwise else []),
        ]
        yield finding(
            f"{plural(len(alike), 'normalization')} by the plugin {printable(plugin_type)}, including the "
            f"layers around them: {context.format_time(*layers)}; {', '.join(parts)}. Plugins are not fused.",
            layers,
            severity=WARNING if is_large else None,
            savings=savings,
            estimate="without the copies around each plugin, pointwise layers after it in one kernel",
            evidence={
                "plugin_type": plugin_type,
                "plugins": len(alike),
                "plugins_ms": context.sum_ms(plugins),
                "copies_ms": context.sum_ms(copies),
                "pointwise_ms": context.sum_ms(pointwise),
            },
            remedy=(
                "Build once with TensorRT's own normalization (without --pluginInstanceNorm) and compare, "
                "since it is not always faster. Otherwise let the plugin accept its neighbours' layout and type "
                "(supportsFormatCombination).",
                "Build once with TensorRT's own normalization (kNATIVE_INSTANCENORM of the ONNX parser) "
                "and compare, since "
                "it is not always faster. Otherwise let the plugin accept its neighbours' layout and type "
                "(supportsFormatCombination).",
            ),
        )


def _save_by_fusion(context: Context, regions: Sequence[PluginRegion]) -> dict[int, float]:
    """Return milliseconds by layer."""
    parts: dict[int, float] = {}
    for region in regions:
        for layer, part in region.copies.items():
            parts[layer] = max(part, parts.get(layer, 0.0))
    savings = {layer: parts[layer] * ms for layer, ms in context.times(parts).items()}
    for region in regions:
        longest = context.longest(region.pointwise) if region.pointwise else None
        savings |= context.times(layer for layer in region.pointwise if layer != longest)
    return savings


def _find_split_normalization(context: Context) -> Iterator[tuple[int, int]]:
    """Yield pairs of generated kernels: one ends with statistics of a normalization, the other starts by applying them."""
    for layer, tactic in enumerate(context.tactics):
        if tactic and tactic.operators[:4] == ("Add", "Sqrt", "Div", "Mul"):
            firsts = [
                producer for producer in context.producers[layer] if _ends_with_statistics(context, producer)
            ]
            if len(firsts) == 1:
                yield firsts[0], layer


def _ends_with_statistics(context: Context, layer: int) -> bool:
    tactic = context.tactics[layer]
    return bool(tactic and tactic.operators[-4:] == ("Mean", "Sub", "Mul", "Mean"))


@rule(
    "PLUG001",
    "Copies around a plugin",
    WARNING,
    looks_for="A plugin with a reformat, or a generated kernel that moves data, directly before or after "
    "it (or separated by a scale only).",
    why="TensorRT converts the inputs and outputs of a plugin to its declared layouts and types. If it declares "
    "only the linear layout, both sides are copied.",
    remedy="Accept the neighbours' layout and type in supportsFormatCombination.",
    references=(issue(1489), issue(3192)),
    columns=("kind", "layer_type", "latency_ms", "input_formats", "output_formats"),
    not_when="Reshapes, transposes, slices and concatenations of the model; normalizations (FUSE004).",
    needs=(details,),
    estimate="without the copies; half of those that another layer uses",
    formula="time of the copies (half if another layer uses them)",
)
def copies_around_plugin(context: Context) -> Findings:
    for region in find_plugin_regions(context):
        plugin, parts = region.plugin, region.copies
        if not parts or region.is_normalization:
            continue
        savings = {layer: parts[layer] * ms for layer, ms in context.times(parts).items()}
        total = math.fsum(savings.values()) if savings else None
        only_reformats = all(context.kinds[layer] == LayerKind.REFORMAT for layer in parts)
        types = dict.fromkeys(
            context.format_types(layer) for layer in parts if context.inputs[layer] and context.outputs[layer]
        )
        yield finding(
            f"{plural(len(parts), 'copy', 'copies')} around the plugin {context.quote(plugin)}: "
            f"{format_time(total, context.pct(total))}; plugin: {format_time(context.ms[plugin])}.",
            [plugin, *parts],
            confidence=HIGH if only_reformats else MEDIUM,
            savings=savings,
            evidence={
                "plugin_type": region.plugin_type,
                "copies_ms": total,
                "plugin_ms": context.ms[plugin],
                "conversions": "; ".join(types) or None,
            },
            remedy=_advise_on_plugin(context, region),
            group=f"plugins ({printable(region.plugin_type)}) with copies around them",
        )


def _advise_on_plugin(context: Context, region: PluginRegion) -> str:
    """Return the types and layouts that the plugin should accept: those on the other side of the copies."""
    before = set(context.beyond(region.plugin, IDLE, forward=False))
    ports = [
        context.inputs[layer][:1] if layer in before else context.outputs[layer][:1]
        for layer in region.copies
        if context.conversion(layer)
    ]
    wanted = dict.fromkeys(describe(port) for found in ports for port in found)
    return (
        f"Accept {join_words(wanted)} in supportsFormatCombination, as its neighbours have it."
        if wanted
        else ""
    )


@strength(
    "ACT",
    "Pointwise operations fused into convolutions and GEMMs",
    "No pointwise kernel that could be an epilogue of a convolution or GEMM.",
    ("kind", "input_shapes", "output_shapes"),
)
def fused_epilogues(context: Context) -> Finding | None:
    products = context.select(*_PRODUCTS)
    if not context.has_details or not products or find_epilogues(context):
        return None
    count = plural(len(products), "convolution or GEMM", "convolutions and GEMMs")
    return finding(
        f"{count} without a separate pointwise kernel.", products, evidence={"layers": len(products)}
    )


@strength(
    "RES",
    "Residual additions fused into convolutions",
    "Convolutions with a second input of their output's size.",
    ("kind", "input_shapes", "output_shapes"),
    without=(floating_residual,),
)
def fused_residuals(context: Context) -> Finding | None:
    layers = [layer for layer in context.select(LayerKind.CONVOLUTION) if _adds_residual(context, layer)]
    if not layers:
        return None
    text = f"{plural(len(layers), 'residual addition')} fused into convolutions."
    return finding(text, layers, evidence={"layers": len(layers)})


def _adds_residual(context: Context, layer: int) -> bool:
    attributes: Mapping[str, object] = context.attributes[layer]
    if attributes.get("HasResidual") == 1:
        return True
    outputs = context.outputs[layer]
    volume = size_of(outputs[0]) if outputs else None
    return volume is not None and any(size_of(port) == volume for port in context.data_inputs[layer][1:])


RULES = (
    pointwise_behind_product,
    pointwise_chain,
    padding,
    normalization,
    copies_around_plugin,
    fused_epilogues,
    fused_residuals,
)
