"""FUSE: work that TensorRT could have put into a neighbour's kernel and did not."""

from __future__ import annotations

from collections.abc import Iterator

from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.lint.context import Context
from trex_tui.lint.dataflow import IDLE, beyond, only_reader_beyond
from trex_tui.lint.lint_text import NO_DETAILS, called, indices, ran, time_of, time_text, whole_time
from trex_tui.lint.model import Confidence, Evidence, Finding, NotChecked, Rule, Severity
from trex_tui.text import plural

_FUSION_CATALOG = (
    "Layer Fusion Catalog, TensorRT documentation: "
    "https://docs.nvidia.com/deeplearning/tensorrt/latest/performance/fusion-catalog.html"
)
_PRODUCTS = frozenset({LayerKind.CONVOLUTION, LayerKind.GEMM})
_ELEMENTWISE = frozenset({LayerKind.POINTWISE, LayerKind.SCALE})
_PADDED = frozenset({LayerKind.CONVOLUTION, LayerKind.POOLING})

_EPILOGUE_OPERATORS = frozenset(
    {"Add", "Sub", "Mul", "Div", "Relu", "Sigm", "Tanh", "Max", "Min", "Clip", "Exp", "Erf", "Gelu", "Silu"}
)
"""What generated kernels may consist of to be an epilogue. `Cast` and `Roun` are left to the rules about Q/DQ."""

LEAST_PCT = 0.05
"""Share of the engine below which an unfused operation is not worth a line: on the engines it was chosen with, what
lies below are kernels of 5 µs at the launch floor."""

_NORM_PLUGINS = (
    "InstanceNormalization",
    "GroupNorm",
    "LayerNorm",
    "skipLayerNorm",
    "CustomSkipLayerNorm",
    "CustomEmbLayerNorm",
)


def _pointwise_behind_product(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("FUSE001", NO_DETAILS)
        return
    for product, pointwise in unfused_epilogues(context):
        share = context.pct(pointwise.latency_ms)
        if share is not None and share < context.threshold("FUSE001.least_pct", LEAST_PCT):
            continue
        operations = pointwise.attributes.get("NbOperations")
        yield Finding(
            "FUSE001",
            f"{called(pointwise)} ({time_text(pointwise.latency_ms, share)}) reads only what {called(product)} writes, and "
            "runs as a kernel of its own.",
            (product.index, pointwise.index),
            confidence=Confidence.MEDIUM,
            stakes_ms=whole_time([pointwise]),
            formula="latency_ms of the pointwise layer: its arithmetic costs next to nothing inside the product's kernel",
            evidence=(
                Evidence("pointwise_ms", pointwise.latency_ms),
                Evidence("product", product.name),
                *([Evidence("pointwise_operations", operations)] if isinstance(operations, int) else ()),
            ),
        )


def unfused_epilogues(context: Context) -> Iterator[tuple[Layer, Layer]]:
    """Products with one reader that is a pointwise layer of its own and could be their epilogue, both in execution order."""
    for layer in context.layers:
        if layer.kind not in _PRODUCTS:
            continue
        found = only_reader_beyond(context, layer, IDLE)
        if (
            found is not None
            and found[1].kind is LayerKind.POINTWISE
            and _is_epilogue(context, layer, found[1])
        ):
            yield layer, found[1]


def _is_epilogue(context: Context, product: Layer, pointwise: Layer) -> bool:
    """Whether a pointwise layer reads the product and else only what is there before it, in the product's own shape."""
    if not ran(pointwise) or len(pointwise.outputs) != 1:
        return False
    tactic = context.tactic(pointwise)
    operators = tactic.operators if tactic else ()
    if operators and not set(operators) <= _EPILOGUE_OPERATORS:
        return False
    volume = pointwise.outputs[0].volume
    others = [tensor for tensor in context.data_inputs(pointwise) if tensor.volume != volume]
    later = [one for one in context.producers(pointwise) if one.index > product.index and ran(one)]
    return volume is not None and not others and all(one.kind in IDLE for one in later)


def _chains(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("FUSE002", NO_DETAILS)
        return
    for layer in context.layers:
        if layer.kind not in _ELEMENTWISE or not ran(layer) or _is_generated(context, layer):
            continue
        found = only_reader_beyond(context, layer, IDLE | {LayerKind.REFORMAT})
        if found is None or found[1].kind not in _ELEMENTWISE or not ran(found[1]):
            continue
        between, reader = [one for one in found[0] if one.kind is LayerKind.REFORMAT and ran(one)], found[1]
        if layer.stream != reader.stream or _is_generated(context, reader):
            continue
        shorter = min((layer, reader), key=lambda one: one.latency_ms or 0.0)
        words = f", with {plural(len(between), 'reformat')} between" if between else ""
        yield Finding(
            "FUSE002",
            f"{called(layer)} and {called(reader)} work element by element one after the other{words}: "
            f"{time_text(time_of([layer, *between, reader]))} in {len(between) + 2} kernels.",
            indices([layer, *between, reader]),
            confidence=Confidence.MEDIUM,
            stakes_ms=whole_time([shorter, *between]),
            formula="latency_ms of the shorter of the two and of the reformats between: one kernel reads and writes once",
            evidence=(
                Evidence("first_ms", layer.latency_ms),
                Evidence("second_ms", reader.latency_ms),
                Evidence("reformats_ms", time_of(between)),
            ),
        )


def _is_generated(context: Context, layer: Layer) -> bool:
    """Whether Myelin made the kernel: it has weighed that fusion itself, and shapes or reductions may forbid it."""
    tactic = context.tactic(layer)
    return layer.layer_type == "kgen" or bool(tactic and tactic.operators)


def _padding(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("FUSE003", NO_DETAILS)
        return
    for layer in context.layers:
        if not _pads(layer) or not ran(layer):
            continue
        readers = list(beyond(context, layer, IDLE | {LayerKind.REFORMAT}, forward=True))
        if not readers or any(one.kind not in _PADDED for one in readers):
            continue
        yield Finding(
            "FUSE003",
            f"{called(layer)} pads for {called(readers[0])} in a kernel of its own: "
            f"{time_text(layer.latency_ms, context.pct(layer.latency_ms))}.",
            (layer.index,),
            confidence=Confidence.HIGH if len(readers) == 1 else Confidence.MEDIUM,
            stakes_ms=whole_time([layer]),
            formula="latency_ms of the padding layer",
            evidence=(
                Evidence("layer_type", layer.layer_type),
                Evidence("reader", readers[0].name),
                Evidence("input_shape", str(layer.inputs[0].shape) if layer.inputs else None),
                Evidence("output_shape", str(layer.outputs[0].shape) if layer.outputs else None),
            ),
        )


def _pads(layer: Layer) -> bool:
    """A padding layer, or a slice that is called one; only if its output is larger in some extent and smaller in none."""
    types = f"{layer.layer_type} {layer.parameter_type}".lower()
    named = "padding" in types or (layer.kind is LayerKind.SLICE and "pad" in layer.name.lower())
    if not named or not layer.inputs or not layer.outputs:
        return False
    source, target = layer.inputs[0].shape, layer.outputs[0].shape
    return (
        len(source) == len(target)
        and source != target
        and all(a <= b for a, b in zip(source, target, strict=True))
    )


def _normalization(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("FUSE004", NO_DETAILS)
        return
    yield from _split_normalization(context)
    plugins = [layer for layer in context.layers if _is_norm_plugin(layer)]
    if plugins:
        total = time_of(plugins)
        yield Finding(
            "FUSE004",
            f"{plural(len(plugins), 'normalization plugin')}, {time_text(total, context.pct(total))}: nothing is fused "
            "with a plugin, and it may force layouts on its neighbours.",
            indices(plugins),
            evidence=(
                Evidence("plugin_type", str(plugins[0].attributes.get("PluginType"))),
                Evidence("plugins", len(plugins)),
                Evidence("plugins_ms", total),
            ),
            remedy="Build once with TensorRT's own normalization (without --pluginInstanceNorm since 10, with "
            "kNATIVE_INSTANCENORM of the ONNX parser before) and compare: it is not always faster.",
        )


def _is_norm_plugin(layer: Layer) -> bool:
    plugin = layer.attributes.get("PluginType")
    return layer.kind is LayerKind.PLUGIN and isinstance(plugin, str) and plugin.startswith(_NORM_PLUGINS)


def _split_normalization(context: Context) -> Iterator[Finding]:
    pairs = []
    for layer in context.layers:
        firsts = [one for one in context.producers(layer) if _starts_normalization(context, one)]
        tactic = context.tactic(layer)
        if len(firsts) == 1 and tactic and tactic.operators[:4] == ("Add", "Sqrt", "Div", "Mul"):
            pairs.append((firsts[0], layer))
    if not pairs:
        return
    shorter = [min(pair, key=lambda one: one.latency_ms or 0.0) for pair in pairs]
    stakes = whole_time(shorter)
    total = sum(stakes.values()) if stakes else None
    yield Finding(
        "FUSE004",
        f"{plural(len(pairs), 'normalization')} in two kernels each, one for the statistics and one to apply them: the "
        f"shorter ones add up to {time_text(total, context.pct(total))}.",
        indices(layer for pair in pairs for layer in pair),
        confidence=Confidence.LOW,
        stakes_ms=stakes,
        formula="latency_ms of the shorter kernel of each pair, an upper bound",
        evidence=(Evidence("pairs", len(pairs)), Evidence("tactic", pairs[0][0].tactic)),
    )


def _starts_normalization(context: Context, layer: Layer) -> bool:
    tactic = context.tactic(layer)
    return bool(tactic and tactic.operators[-4:] == ("Mean", "Sub", "Mul", "Mean"))


RULES: tuple[Rule, ...] = (
    Rule(
        id="FUSE001",
        title="Pointwise operation is not fused into its product",
        severity=Severity.WARNING,
        looks_for="A convolution or GEMM with one output and one reader, a pointwise layer that reads nothing else but "
        "tensors of the same size that are there before; with a profile, of at least 0.05 % of the engine.",
        why="The product's result goes to memory and back for an operation that its kernel could apply on the way out.",
        remedy="Export Conv → BatchNorm → activation in this order; replace activations that TensorRT cannot fuse; try a "
        "newer TensorRT.",
        references=(_FUSION_CATALOG, "NVIDIA/TensorRT#993: https://github.com/NVIDIA/TensorRT/issues/993"),
        columns=("kind", "latency_ms", "input_shapes", "output_shapes", "tactic"),
        check=_pointwise_behind_product,
        not_when="Several layers read the product; another input of the pointwise layer is computed after it; generated "
        "kernels that also convert, move or reduce.",
    ),
    Rule(
        id="FUSE002",
        title="Pointwise kernels in a chain",
        severity=Severity.INFO,
        looks_for="A pointwise or scale layer whose only reader, behind reformats at most, is another one on the same "
        "stream.",
        why="Each kernel reads and writes the whole tensor; one kernel for all does that once.",
        remedy="Write the affine part of a normalization next to the activation, and keep one layout along the chain.",
        references=(_FUSION_CATALOG,),
        columns=("kind", "latency_ms", "stream", "input_shapes", "output_shapes"),
        check=_chains,
        not_when="Kernels that Myelin generated: it weighs this fusion itself.",
    ),
    Rule(
        id="FUSE003",
        title="Padding is a layer of its own",
        severity=Severity.WARNING,
        looks_for="A padding layer, or a slice called one, all of whose readers are convolutions or poolings.",
        why="Convolutions and poolings pad while they read; a layer of its own copies the whole tensor.",
        remedy="Fold it into the reader's padding: zeros for a convolution; for max pooling where the input is not "
        "negative; for average pooling where the padding is counted.",
        references=(_FUSION_CATALOG, "NVIDIA/TensorRT#2592: https://github.com/NVIDIA/TensorRT/issues/2592"),
        columns=("layer_type", "kind", "latency_ms", "input_shapes", "output_shapes"),
        check=_padding,
        not_when="Negative padding (a crop), and padding that another kind of layer reads.",
    ),
    Rule(
        id="FUSE004",
        title="Normalization in two kernels, or as a plugin",
        severity=Severity.INFO,
        looks_for="A generated kernel that ends with the statistics of a normalization and one that begins by applying "
        "them; plugins for instance, group or layer normalization. One finding each for the engine.",
        why="Two kernels read the tensor twice; plugins are fused with nothing and may want another layout.",
        remedy="Export one LayerNormalization (opset 17 or later) instead of its parts; for plugins, build with and without "
        "and measure.",
        references=(_FUSION_CATALOG, "NVIDIA/TensorRT#3962: https://github.com/NVIDIA/TensorRT/issues/3962"),
        columns=("tactic", "latency_ms", "layer_type"),
        check=_normalization,
        not_when="A second kernel that applies several normalizations at once: it saves kernels.",
    ),
)
