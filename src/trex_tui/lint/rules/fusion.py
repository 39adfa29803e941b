"""FUSE: work that TensorRT could have put into a neighbour's kernel; PLUG: what plugins cost beside their own time."""

from __future__ import annotations

import math
from collections.abc import Iterator

from trex_tui.analysis.structure import sum_latency_ms
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.lint.context import Context, details
from trex_tui.lint.dataflow import IDLE, beyond, only_reader_beyond
from trex_tui.lint.lint_text import FUSION_CATALOG, format_time, issue, latencies, quote_layer, takes_time
from trex_tui.lint.model import Confidence, Finding, Findings, Severity, finding, rule, strength
from trex_tui.lint.savings import format_types
from trex_tui.text import plural

_PRODUCTS = (LayerKind.CONVOLUTION, LayerKind.GEMM)
_ELEMENTWISE = frozenset({LayerKind.POINTWISE, LayerKind.SCALE})
_PADDED = frozenset({LayerKind.CONVOLUTION, LayerKind.POOLING})
_COPIES = frozenset({LayerKind.REFORMAT, LayerKind.SHUFFLE})

_EPILOGUE_OPERATORS = frozenset(
    {"Add", "Sub", "Mul", "Div", "Relu", "Sigm", "Tanh", "Max", "Min", "Clip", "Exp", "Erf", "Gelu", "Silu"}
)
"""What generated kernels may consist of to be an epilogue. `Cast` and `Roun` are left to the rules about Q/DQ."""

_NORMALIZATION_PLUGINS = (
    "InstanceNormalization",
    "GroupNorm",
    "LayerNorm",
    "skipLayerNorm",
    "CustomSkipLayerNorm",
    "CustomEmbLayerNorm",
)


@rule(
    "FUSE001",
    "Pointwise operation is not fused into its product",
    Severity.WARNING,
    looks_for="A convolution or GEMM with one output and one reader, a pointwise layer that reads nothing else but "
    "tensors of the same size that are there before; with a profile, of at least 0.05 % of the engine.",
    why="The product's result goes to memory and back for an operation that its kernel could apply on the way out.",
    remedy="Export Conv → BatchNorm → activation in this order; replace activations that TensorRT cannot fuse; try a "
    "newer TensorRT.",
    references=(FUSION_CATALOG, issue(993)),
    columns=("kind", "latency_ms", "input_shapes", "output_shapes", "tactic"),
    not_when="Several layers read the product; another input of the pointwise layer is computed after it; generated "
    "kernels that also convert, move or reduce.",
    needs=(details,),
    # On the engines it was chosen with, what lies below are kernels of 5 µs at the launch floor.
    thresholds={"least_pct": 0.05},
)
def pointwise_behind_product(context: Context, least_pct: float) -> Findings:
    for product, pointwise in _find_epilogues(context):
        share = context.pct(pointwise.latency_ms)
        if share is not None and share < least_pct:
            continue
        operations = pointwise.attributes.get("NbOperations")
        counted = {"pointwise_operations": operations} if isinstance(operations, int) else {}
        yield finding(
            f"{quote_layer(pointwise)} ({context.format_time(pointwise)}) reads only what {quote_layer(product)} "
            "writes, and runs as a kernel of its own.",
            (product, pointwise),
            savings=[pointwise],
            formula="latency_ms of the pointwise layer: its arithmetic costs next to nothing inside the product's kernel",
            evidence={"pointwise_ms": pointwise.latency_ms, "product": product.name, **counted},
        )


def _find_epilogues(context: Context) -> Iterator[tuple[Layer, Layer]]:
    """Products with one reader that is a pointwise layer of its own and could be their epilogue, both in execution order."""
    for product in context.select(*_PRODUCTS):
        path = only_reader_beyond(context, product, IDLE)
        if path is not None and _is_epilogue(context, product, path[1]):
            yield product, path[1]


def _is_epilogue(context: Context, product: Layer, pointwise: Layer) -> bool:
    """Whether a pointwise layer reads the product and else only what is there before it, in the product's own shape."""
    if pointwise.kind is not LayerKind.POINTWISE or not takes_time(pointwise) or len(pointwise.outputs) != 1:
        return False
    tactic = context.tactic(pointwise)
    if tactic and not _EPILOGUE_OPERATORS.issuperset(tactic.operators):
        return False
    volume = pointwise.outputs[0].volume
    others = [tensor for tensor in pointwise.data_inputs if tensor.volume != volume]
    later = [
        layer for layer in context.producers(pointwise) if layer.index > product.index and takes_time(layer)
    ]
    return volume is not None and not others and all(layer.kind in IDLE for layer in later)


@rule(
    "FUSE002",
    "Pointwise kernels in a chain",
    Severity.INFO,
    looks_for="A pointwise or scale layer whose only reader, behind reformats at most, is another one on the same "
    "stream.",
    why="Each kernel reads and writes the whole tensor; one kernel for all does that once.",
    remedy="Write the affine part of a normalization next to the activation, and keep one layout along the chain.",
    references=(FUSION_CATALOG,),
    columns=("kind", "latency_ms", "stream", "input_shapes", "output_shapes"),
    not_when="Kernels that Myelin generated: it weighs this fusion itself.",
    needs=(details,),
)
def pointwise_chain(context: Context) -> Findings:
    for layer in context.select(*_ELEMENTWISE):
        if not _is_chainable(context, layer):
            continue
        path = only_reader_beyond(context, layer, IDLE | {LayerKind.REFORMAT})
        if path is None or not _is_chainable(context, path[1]) or layer.stream != path[1].stream:
            continue
        reader = path[1]
        between = [step for step in path[0] if step.kind is LayerKind.REFORMAT and takes_time(step)]
        shorter = min((layer, reader), key=lambda pointwise: pointwise.latency_ms or 0.0)
        reformats = f", with {plural(len(between), 'reformat')} between" if between else ""
        yield finding(
            f"{quote_layer(layer)} and {quote_layer(reader)} work element by element one after the other{reformats}: "
            f"{format_time(sum_latency_ms([layer, *between, reader]))} in {len(between) + 2} kernels.",
            [layer, *between, reader],
            savings=[shorter, *between],
            formula="latency_ms of the shorter of the two and of the reformats between: one kernel reads and writes once",
            evidence={
                "first_ms": layer.latency_ms,
                "second_ms": reader.latency_ms,
                "reformats_ms": sum_latency_ms(between),
            },
        )


def _is_chainable(context: Context, layer: Layer) -> bool:
    """Whether it works element by element. Myelin weighs that fusion itself, and shapes or reductions may forbid it."""
    tactic = context.tactic(layer)
    is_generated = layer.layer_type == "kgen" or bool(tactic and tactic.operators)
    return layer.kind in _ELEMENTWISE and takes_time(layer) and not is_generated


@rule(
    "FUSE003",
    "Padding is a layer of its own",
    Severity.WARNING,
    looks_for="A padding layer, or a slice called one, all of whose readers are convolutions or poolings.",
    why="Convolutions and poolings pad while they read; a layer of its own copies the whole tensor.",
    remedy="Fold it into the reader's padding: zeros for a convolution; for max pooling where the input is not "
    "negative; for average pooling where the padding is counted.",
    references=(FUSION_CATALOG, issue(2592)),
    columns=("layer_type", "kind", "latency_ms", "input_shapes", "output_shapes"),
    not_when="Negative padding (a crop), and padding that another kind of layer reads.",
    needs=(details,),
)
def padding(context: Context) -> Findings:
    for layer in filter(takes_time, filter(_pads, context.layers)):
        readers = list(beyond(context, layer, IDLE | {LayerKind.REFORMAT}, forward=True))
        if not readers or any(reader.kind not in _PADDED for reader in readers):
            continue
        yield finding(
            f"{quote_layer(layer)} pads for {quote_layer(readers[0])} in a kernel of its own: "
            f"{context.format_time(layer)}.",
            [layer],
            confidence=Confidence.HIGH if len(readers) == 1 else Confidence.MEDIUM,
            savings=[layer],
            formula="latency_ms of the padding layer",
            evidence={
                "layer_type": layer.layer_type,
                "reader": readers[0].name,
                "input_shape": str(layer.inputs[0].shape) if layer.inputs else None,
                "output_shape": str(layer.outputs[0].shape) if layer.outputs else None,
            },
        )


def _pads(layer: Layer) -> bool:
    """A padding layer, or a slice that is called one; only if its output is larger in some extent and smaller in none."""
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
    "Normalization in two kernels, or as a plugin",
    Severity.INFO,
    looks_for="A generated kernel that ends with the statistics of a normalization and one that begins by applying "
    "them; plugins for instance, group or layer normalization. One finding each for the engine.",
    why="Two kernels read the tensor twice; plugins are fused with nothing and may want another layout.",
    remedy="Export one LayerNormalization (opset 17 or later) instead of its parts; for plugins, build with and without "
    "and measure.",
    references=(FUSION_CATALOG, issue(3962)),
    columns=("tactic", "latency_ms", "layer_type"),
    not_when="A second kernel that applies several normalizations at once: it saves kernels.",
    needs=(details,),
)
def normalization(context: Context) -> Findings:
    pairs = list(_find_split_normalization(context))
    if pairs:
        savings = latencies(min(pair, key=lambda layer: layer.latency_ms or 0.0) for pair in pairs)
        total = sum(savings.values()) if savings else None
        yield finding(
            f"{plural(len(pairs), 'normalization')} in two kernels each, one for the statistics and one to apply them: "
            f"the shorter ones add up to {format_time(total, context.pct(total))}.",
            [layer for pair in pairs for layer in pair],
            confidence=Confidence.LOW,
            savings=savings,
            formula="latency_ms of the shorter kernel of each pair, an upper bound",
            evidence={"pairs": len(pairs), "tactic": pairs[0][0].tactic},
        )
    plugins = [layer for layer in context.select(LayerKind.PLUGIN) if _is_normalization_plugin(layer)]
    if plugins:
        yield finding(
            f"{plural(len(plugins), 'normalization plugin')}, {context.format_time(*plugins)}: nothing is fused "
            "with a plugin, and it may force layouts on its neighbours.",
            plugins,
            evidence={
                "plugin_type": str(plugins[0].attributes.get("PluginType")),
                "plugins": len(plugins),
                "plugins_ms": sum_latency_ms(plugins),
            },
            remedy="Build once with TensorRT's own normalization (without --pluginInstanceNorm since 10, with "
            "kNATIVE_INSTANCENORM of the ONNX parser before) and compare: it is not always faster.",
        )


def _is_normalization_plugin(layer: Layer) -> bool:
    plugin = layer.attributes.get("PluginType")
    return isinstance(plugin, str) and plugin.startswith(_NORMALIZATION_PLUGINS)


def _find_split_normalization(context: Context) -> Iterator[tuple[Layer, Layer]]:
    """Generated kernels: one ends with the statistics, the other begins by applying them."""
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
    "Plugin forces copies around it",
    Severity.WARNING,
    looks_for="A plugin with a reformat, transpose or reshape that takes time next to it: before it, or behind it, a "
    "scale at most between.",
    why="TensorRT converts whatever a plugin reads and writes to the layouts and types that it declares; where it "
    "declares only the linear one, both sides are copied.",
    remedy="Accept the neighbours' layout and type in supportsFormatCombination (kHWC8, kHWC16, kCHW32; FP16), and read "
    "the network input's own type.",
    references=(issue(1489), issue(3192)),
    columns=("kind", "layer_type", "latency_ms", "input_formats", "output_formats"),
    not_when="Slices and concatenations next to it, which are the network's own work.",
    needs=(details,),
)
def copies_around_plugin(context: Context) -> Findings:
    for plugin in context.select(LayerKind.PLUGIN):
        parts = _find_copies_around(context, plugin)
        if not parts:
            continue
        copies = [context.layers[index] for index in parts]
        savings = {index: parts[index] * ms for index, ms in latencies(copies).items()}
        total = math.fsum(savings.values()) if savings else None
        only_reformats = all(layer.kind is LayerKind.REFORMAT for layer in copies)
        types = dict.fromkeys(format_types(layer) for layer in copies if layer.inputs and layer.outputs)
        yield finding(
            f"{plural(len(copies), 'copy', 'copies')} around the plugin {quote_layer(plugin)}: "
            f"{format_time(total, context.pct(total))}, beside {format_time(plugin.latency_ms)} of the plugin itself.",
            [plugin, *copies],
            confidence=Confidence.HIGH if only_reformats else Confidence.MEDIUM,
            savings=savings,
            formula="sum of latency_ms of the copies; half of one that serves another layer as well",
            evidence={
                "plugin_type": str(plugin.attributes.get("PluginType") or plugin.layer_type),
                "copies_ms": total,
                "plugin_ms": plugin.latency_ms,
                "conversions": "; ".join(types) or None,
            },
        )


def _find_copies_around(context: Context, plugin: Layer) -> dict[int, float]:
    """Index of each copy next to a plugin -> the part of it that is for the plugin's sake: half if it has another reader."""
    parts: dict[int, float] = {}
    for layer in beyond(context, plugin, IDLE, forward=False):
        if layer.kind in _COPIES and takes_time(layer):
            readers = {reader.index for reader in beyond(context, layer, IDLE, forward=True)}
            parts[layer.index] = 1.0 if readers <= {plugin.index} else 0.5
    for layer in beyond(context, plugin, IDLE | {LayerKind.SCALE}, forward=True):
        if layer.kind in _COPIES and takes_time(layer):
            parts[layer.index] = 1.0
    return dict(sorted(parts.items()))


@strength(
    "ACT",
    "Pointwise operations are fused into products",
    "No convolution or GEMM whose only reader is a pointwise kernel that could be its epilogue.",
    ("kind", "input_shapes", "output_shapes"),
)
def fused_epilogues(context: Context) -> Finding | None:
    products = context.select(*_PRODUCTS)
    if not context.has_details or not products or any(True for _ in _find_epilogues(context)):
        return None
    count = plural(len(products), "convolution and GEMM", "convolutions and GEMMs")
    text = f"Not one of {count} leaves its pointwise operations to a kernel of their own."
    return finding(text, products, evidence={"layers": len(products)})


@strength(
    "RES",
    "Residual additions run inside convolutions",
    "Convolutions with a second input of the size of their output.",
    ("kind", "input_shapes", "output_shapes"),
)
def fused_residuals(context: Context) -> Finding | None:
    layers = [layer for layer in context.select(LayerKind.CONVOLUTION) if _adds_residual(layer)]
    if not layers:
        return None
    text = f"Done inside convolutions: {plural(len(layers), 'residual addition')}."
    return finding(text, layers, evidence={"layers": len(layers)})


def _adds_residual(layer: Layer) -> bool:
    if layer.attributes.get("HasResidual") == 1:
        return True
    volume = layer.outputs[0].volume if layer.outputs else None
    return volume is not None and any(tensor.volume == volume for tensor in layer.data_inputs[1:])
