"""FUSE: work that TensorRT could have fused into a neighbour's kernel; PLUG: costs of plugins beside their own time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from trex_tui.old.analysis.structure import sum_latency_ms
from trex_tui.old.engine.attributes import count_operations
from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Layer
from trex_tui.old.lint.context import (
    FLOATING,
    FUSION_CATALOG,
    Context,
    details,
    format_time,
    issue,
    latencies,
    quote_layer,
    takes_time,
)
from trex_tui.old.lint.dataflow import IDLE, beyond, only_reader_beyond
from trex_tui.old.lint.model import Confidence, Finding, Findings, Severity, finding, rule, strength
from trex_tui.old.lint.plugin_regions import (
    ELEMENTWISE,
    PluginRegion,
    find_plugin_regions,
    map_plugin_regions,
)
from trex_tui.old.lint.rules.quantization import floating_residual
from trex_tui.old.lint.savings import format_types
from trex_tui.old.text import plural, printable

_PRODUCTS = (LayerKind.CONVOLUTION, LayerKind.GEMM)
_PADDED = frozenset({LayerKind.CONVOLUTION, LayerKind.POOLING})
WORTH_A_WARNING_PCT = 2.0
_BEFORE_CONVOLUTION = IDLE | {LayerKind.REFORMAT, LayerKind.QUANTIZE, LayerKind.SHUFFLE}
"""Zero padding can be moved through these into a convolution: a Q maps zero to zero."""

_EPILOGUE_OPERATORS = frozenset(
    {"Add", "Sub", "Mul", "Div", "Relu", "Sigm", "Tanh", "Max", "Min", "Clip", "Exp", "Erf", "Gelu", "Silu"}
)
"""Operators of generated kernels that can be an epilogue. Rules about Q/DQ handle `Roun` and casts between
types."""
_CASTS = frozenset({"Cast", "Cas"})
_ADVICE_ON_SUMS = (
    "Give both branches the type and layout of the convolution or GEMM output, without a cast before the "
    "addition, so that its kernel can add the residual; try a newer TensorRT."
)


@rule(
    "FUSE001",
    "Pointwise operation not fused into its convolution or GEMM",
    Severity.WARNING,
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
)
def pointwise_behind_product(context: Context, least_pct: float) -> Findings:
    groups: dict[tuple[str, ...], list[tuple[Layer, Layer]]] = {}
    for product, pointwise in find_epilogues(context.engine):
        share = context.pct(pointwise.latency_ms)
        if share is None or share >= least_pct:
            tactic = context.tactic(pointwise)
            key = tactic.operators if tactic and tactic.operators else (pointwise.name,)
            groups.setdefault(key, []).append((product, pointwise))
    for pairs in groups.values():
        product, pointwise = pairs[0]
        kernels = [kernel for _, kernel in pairs]
        remedy = _ADVICE_ON_SUMS if _adds_two_branches(context, pointwise) else ""
        if len(pairs) > 1:
            yield finding(
                f"{len(pairs)} kernels, the first {quote_layer(pointwise)}, run separately after their "
                f"convolution or GEMM: {context.format_time(*kernels)}.",
                [layer for pair in pairs for layer in pair],
                savings=kernels,
                formula="time of the pointwise layers: almost free as epilogues",
                evidence={
                    "kernels": len(pairs),
                    "pointwise_ms": sum_latency_ms(kernels),
                    "product": product.name,
                    "tactic": pointwise.tactic,
                },
                remedy=remedy,
            )
            continue
        operations = count_operations(pointwise)
        counted = {} if operations is None else {"pointwise_operations": operations}
        yield finding(
            f"{quote_layer(pointwise)} ({context.format_time(pointwise)}) is not fused into "
            f"{quote_layer(product)}, its only input.",
            (product, pointwise),
            savings=[pointwise],
            formula="time of the pointwise layer: almost free as an epilogue",
            evidence={"pointwise_ms": pointwise.latency_ms, "product": product.name, **counted},
            remedy=remedy,
            group="pointwise layers run separately after their convolution or GEMM",
        )


@per_engine
def find_epilogues(engine: Engine) -> list[tuple[Layer, Layer]]:
    """Return products with their only reader, if it is a pointwise layer that could be their epilogue."""
    context = Context(engine)
    paths = ((product, only_reader_beyond(context, product, IDLE)) for product in context.select(*_PRODUCTS))
    return [(product, path[1]) for product, path in paths if path and _is_epilogue(context, product, path[1])]


def _is_epilogue(context: Context, product: Layer, pointwise: Layer) -> bool:
    """Return whether a pointwise layer reads only the product and values known before it, in the product's own shape."""
    if pointwise.kind is not LayerKind.POINTWISE or not takes_time(pointwise) or len(pointwise.outputs) != 1:
        return False
    tactic = context.tactic(pointwise)
    operators = frozenset(tactic.operators) if tactic else frozenset()
    if operators & _CASTS and not _keeps_float_type(pointwise):
        return False
    if not _EPILOGUE_OPERATORS.issuperset(operators - _CASTS):
        return False
    volume = pointwise.outputs[0].volume
    others = [tensor for tensor in pointwise.data_inputs if tensor.volume != volume]
    later = [
        layer for layer in context.producers(pointwise) if layer.index > product.index and takes_time(layer)
    ]
    return volume is not None and not others and all(layer.kind in IDLE for layer in later)


def _adds_two_branches(context: Context, pointwise: Layer) -> bool:
    """Return whether a layer is a generated kernel that only adds two computed tensors: a residual connection."""
    tactic = context.tactic(pointwise)
    operators = frozenset(tactic.operators) if tactic else frozenset[str]()
    computed = {link.source for link in context.engine.producers(pointwise)}
    return operators - _CASTS == {"Add"} and len(computed) > 1


def _keeps_float_type(layer: Layer) -> bool:
    """Return whether all data of a layer has one floating-point type: casts inside then only widen its arithmetic."""
    types = {tensor.dtype for tensor in (*layer.data_inputs, *layer.outputs)}
    return len(types) == 1 and types <= FLOATING


@rule(
    "FUSE002",
    "Chain of pointwise kernels",
    Severity.INFO,
    looks_for="A pointwise or scale layer whose only reader (possibly after reformats) is another one on the same "
    "stream.",
    why="Each kernel reads and writes the whole tensor; a fused kernel does so once.",
    remedy="Write the affine part of a normalization next to the activation, and keep one layout along the chain.",
    references=(FUSION_CATALOG,),
    columns=("kind", "latency_ms", "stream", "input_shapes", "output_shapes"),
    not_when=(
        "Kernels generated by Myelin, which evaluates this fusion itself; layers after a normalization "
        "plugin (FUSE004)."
    ),
    needs=(details,),
)
def pointwise_chain(context: Context) -> Findings:
    normalizations = map_plugin_regions(context.engine)
    for layer in context.select(*ELEMENTWISE):
        if not _is_chainable(context, layer) or layer.index in normalizations:
            continue
        path = only_reader_beyond(context, layer, IDLE | {LayerKind.REFORMAT})
        if path is None or not _is_chainable(context, path[1]) or layer.stream != path[1].stream:
            continue
        reader = path[1]
        between = [step for step in path[0] if step.kind is LayerKind.REFORMAT and takes_time(step)]
        shorter = min((layer, reader), key=lambda pointwise: pointwise.latency_ms or 0.0)
        reformats = f", with {plural(len(between), 'reformat')} between" if between else ""
        yield finding(
            f"{quote_layer(layer)} and {quote_layer(reader)} are consecutive pointwise layers{reformats}: "
            f"{format_time(sum_latency_ms([layer, *between, reader]))} in {len(between) + 2} kernels.",
            [layer, *between, reader],
            savings=[shorter, *between],
            formula="time of the shorter of the two and of the reformats between: one kernel reads and writes once",
            evidence={
                "first_ms": layer.latency_ms,
                "second_ms": reader.latency_ms,
                "reformats_ms": sum_latency_ms(between),
            },
            group="chains of pointwise kernels",
        )


def _is_chainable(context: Context, layer: Layer) -> bool:
    """Return whether a layer works element by element. Myelin decides on fusing it; shapes or reductions may prevent that."""
    tactic = context.tactic(layer)
    is_generated = layer.layer_type == "kgen" or bool(tactic and tactic.operators)
    return layer.kind in ELEMENTWISE and takes_time(layer) and not is_generated


@rule(
    "FUSE003",
    "Separate padding layer",
    Severity.WARNING,
    looks_for="A padding layer, or a slice called one, all of whose readers are convolutions or poolings.",
    why="Convolutions and poolings pad while they read; a separate layer copies the whole tensor.",
    remedy="Fold it into the reader's padding: zeros for a convolution; max pooling with non-negative input; "
    "average pooling that counts padding.",
    references=(FUSION_CATALOG, issue(2592)),
    columns=("layer_type", "kind", "latency_ms", "input_shapes", "output_shapes"),
    not_when="Negative padding (a crop), and padding read by another kind of layer.",
    needs=(details,),
)
def padding(context: Context) -> Findings:
    for layer in filter(takes_time, filter(_pads, context.layers)):
        readers = list(beyond(context, layer, _BEFORE_CONVOLUTION, forward=True))
        if not readers or any(reader.kind not in _PADDED for reader in readers):
            continue
        yield finding(
            f"{quote_layer(layer)} pads the input of {quote_layer(readers[0])} in a separate kernel: "
            f"{context.format_time(layer)}.",
            [layer],
            confidence=Confidence.HIGH if len(readers) == 1 else Confidence.MEDIUM,
            savings=[layer],
            formula="time of the padding layer",
            evidence={
                "layer_type": layer.layer_type,
                "reader": readers[0].name,
                "input_shape": str(layer.inputs[0].shape) if layer.inputs else None,
                "output_shape": str(layer.outputs[0].shape) if layer.outputs else None,
            },
            group="layers pad the input of convolutions or poolings",
        )


def _pads(layer: Layer) -> bool:
    """Return whether a layer pads: by its kind or name, and only if an extent of its output is larger and none is smaller."""
    types = f"{layer.layer_type} {layer.parameter_type}".lower()
    is_named = "padding" in types or (layer.kind is LayerKind.SLICE and "pad" in layer.name.lower())
    if not is_named or not layer.inputs or not layer.outputs:
        return False
    source, target = layer.inputs[0].shape, layer.outputs[0].shape
    return (
        len(source) == len(target)
        and source != target
        and all(a <= b for a, b in zip(source, target, strict=True))
    )


@rule(
    "FUSE004",
    "Normalization in two kernels or as a plugin",
    Severity.INFO,
    looks_for="A generated kernel that ends with the statistics of a normalization and one that starts by applying "
    "them; plugins for instance, group or layer normalization, with the copies and pointwise layers around "
    "them. One finding each per engine; a warning from a saving of 2 % of the time.",
    why="Two kernels read the tensor twice; plugins are never fused and may need another layout.",
    remedy="Export one LayerNormalization (opset 17 or later) instead of its parts; for plugins, build with and without "
    "and measure.",
    references=(FUSION_CATALOG, issue(3962)),
    columns=("tactic", "latency_ms", "layer_type"),
    not_when="A second kernel that applies several normalizations at once.",
    needs=(details,),
)
def normalization(context: Context) -> Findings:
    pairs = list(_find_split_normalization(context))
    if pairs:
        savings = latencies(min(pair, key=lambda layer: layer.latency_ms or 0.0) for pair in pairs)
        total = sum(savings.values()) if savings else None
        yield finding(
            f"{plural(len(pairs), 'normalization')} in two kernels each, statistics and application: the "
            f"shorter ones add up to {format_time(total, context.pct(total))}.",
            [layer for pair in pairs for layer in pair],
            confidence=Confidence.LOW,
            savings=savings,
            formula="time of the shorter kernel of each pair (upper bound)",
            evidence={"pairs": len(pairs), "tactic": pairs[0][0].tactic},
        )
    yield from _find_normalization_plugins(context)


def _find_normalization_plugins(context: Context) -> Iterator[Finding]:
    regions = [region for region in find_plugin_regions(context.engine) if region.is_normalization]
    by_type: dict[str, list[PluginRegion]] = {}
    for region in regions:
        by_type.setdefault(region.plugin_type, []).append(region)
    for plugin_type, alike in by_type.items():
        layers = {index: context.layers[index] for region in alike for index in region.indices}
        copies = {index: context.layers[index] for region in alike for index in region.copies}
        savings = _save_by_fusion(alike, copies)
        is_large = (context.pct(sum(savings.values())) or 0.0) >= WORTH_A_WARNING_PCT
        plugins = [region.plugin for region in alike]
        pointwise = [layer for region in alike for layer in region.pointwise]
        parts = [
            f"the plugins {context.format_time(*plugins)}",
            *([f"copies {context.format_time(*copies.values())}"] if copies else []),
            *([f"pointwise layers after them {context.format_time(*pointwise)}"] if pointwise else []),
        ]
        yield finding(
            f"{plural(len(alike), 'normalization')} by the plugin {printable(plugin_type)}, including the "
            f"layers around them: {context.format_time(*layers.values())}; {', '.join(parts)}. Plugins are "
            "not fused.",
            layers.values(),
            severity=Severity.WARNING if is_large else None,
            savings=savings,
            formula="time of the copies (half if another layer reads them) and of all pointwise layers after "
            "each plugin but the longest",
            evidence={
                "plugin_type": plugin_type,
                "plugins": len(alike),
                "plugins_ms": sum_latency_ms(plugins),
                "copies_ms": sum_latency_ms(copies.values()) if copies else None,
                "pointwise_ms": sum_latency_ms(pointwise) if pointwise else None,
            },
            remedy="Build once with TensorRT's own normalization (without --pluginInstanceNorm since 10, with "
            "kNATIVE_INSTANCENORM of the ONNX parser before) and compare, since it is not always faster. "
            "Otherwise let the plugin accept its neighbours' layout and type (supportsFormatCombination).",
        )


def _save_by_fusion(regions: Sequence[PluginRegion], copies: Mapping[int, Layer]) -> dict[int, float]:
    """Return milliseconds by layer index."""
    parts: dict[int, float] = {}
    for region in regions:
        for index, part in region.copies.items():
            parts[index] = max(part, parts.get(index, 0.0))
    savings = {index: parts[index] * ms for index, ms in latencies(copies.values()).items()}
    for region in regions:
        longest = max(region.pointwise, key=lambda layer: layer.latency_ms or 0.0, default=None)
        savings |= latencies(layer for layer in region.pointwise if layer is not longest)
    return savings


def _find_split_normalization(context: Context) -> Iterator[tuple[Layer, Layer]]:
    """Yield pairs of generated kernels: one ends with statistics of a normalization, the other starts by applying them."""
    for layer in context.layers:
        tactic = context.tactic(layer)
        if tactic and tactic.operators[:4] == ("Add", "Sqrt", "Div", "Mul"):
            firsts = [
                producer for producer in context.producers(layer) if _ends_with_statistics(context, producer)
            ]
            if len(firsts) == 1:
                yield firsts[0], layer


def _ends_with_statistics(context: Context, layer: Layer) -> bool:
    tactic = context.tactic(layer)
    return bool(tactic and tactic.operators[-4:] == ("Mean", "Sub", "Mul", "Mean"))


@rule(
    "PLUG001",
    "Copies around a plugin",
    Severity.WARNING,
    looks_for="A plugin with a reformat, transpose or reshape directly before or after it (or separated by a scale "
    "only).",
    why="TensorRT converts the inputs and outputs of a plugin to its declared layouts and types. If it declares "
    "only the linear layout, both sides are copied.",
    remedy="Accept the neighbours' layout and type in supportsFormatCombination (kHWC8, kHWC16, kCHW32; FP16), and "
    "the type of the network input.",
    references=(issue(1489), issue(3192)),
    columns=("kind", "layer_type", "latency_ms", "input_formats", "output_formats"),
    not_when="Slices and concatenations, which are part of the network; normalizations (FUSE004).",
    needs=(details,),
)
def copies_around_plugin(context: Context) -> Findings:
    for region in find_plugin_regions(context.engine):
        plugin, parts = region.plugin, region.copies
        if not parts or region.is_normalization:
            continue
        copies = [context.layers[index] for index in parts]
        savings = {index: parts[index] * ms for index, ms in latencies(copies).items()}
        total = math.fsum(savings.values()) if savings else None
        only_reformats = all(layer.kind is LayerKind.REFORMAT for layer in copies)
        types = dict.fromkeys(format_types(layer) for layer in copies if layer.inputs and layer.outputs)
        yield finding(
            f"{plural(len(copies), 'copy', 'copies')} around the plugin {quote_layer(plugin)}: "
            f"{format_time(total, context.pct(total))}; plugin: {format_time(plugin.latency_ms)}.",
            [plugin, *copies],
            confidence=Confidence.HIGH if only_reformats else Confidence.MEDIUM,
            savings=savings,
            formula="time of the copies (half if another layer uses them)",
            evidence={
                "plugin_type": region.plugin_type,
                "copies_ms": total,
                "plugin_ms": plugin.latency_ms,
                "conversions": "; ".join(types) or None,
            },
            group=f"plugins ({printable(region.plugin_type)}) with copies around them",
        )


@strength(
    "ACT",
    "Pointwise operations fused into convolutions and GEMMs",
    "No pointwise kernel that could be an epilogue of a convolution or GEMM.",
    ("kind", "input_shapes", "output_shapes"),
)
def fused_epilogues(context: Context) -> Finding | None:
    products = context.select(*_PRODUCTS)
    if not context.has_details or not products or find_epilogues(context.engine):
        return None
    count = plural(len(products), "convolution and GEMM", "convolutions and GEMMs")
    text = f"{count} without a separate pointwise kernel."
    return finding(text, products, evidence={"layers": len(products)})


@strength(
    "RES",
    "Residual additions fused into convolutions",
    "Convolutions with a second input of their output's size.",
    ("kind", "input_shapes", "output_shapes"),
    without=(floating_residual,),
)
def fused_residuals(context: Context) -> Finding | None:
    layers = [layer for layer in context.select(LayerKind.CONVOLUTION) if _adds_residual(layer)]
    if not layers:
        return None
    text = f"{plural(len(layers), 'residual addition')} fused into convolutions."
    return finding(text, layers, evidence={"layers": len(layers)})


def _adds_residual(layer: Layer) -> bool:
    if layer.attributes.get("HasResidual") == 1:
        return True
    volume = layer.outputs[0].volume if layer.outputs else None
    return volume is not None and any(tensor.volume == volume for tensor in layer.data_inputs[1:])
