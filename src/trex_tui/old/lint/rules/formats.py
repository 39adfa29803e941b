"""FMT: reformats, casts and copies, which change type or layout of data without computing."""

from __future__ import annotations

import re
from typing import NamedTuple

from trex_tui.old.analysis.structure import sum_latency_ms
from trex_tui.old.analysis.thresholds import LAUNCH_FACTOR
from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Layer, Tensor
from trex_tui.old.lint.context import (
    FLOATING,
    FUSIONS,
    QUANTIZED,
    TRTEXEC,
    Context,
    details,
    issue,
    profile,
    quote_layer,
    takes_time,
)
from trex_tui.old.lint.dataflow import (
    MOVING_OPERATORS,
    beyond,
    compute_flow,
    conversion,
    is_movement,
    operators,
)
from trex_tui.old.lint.islands import map_islands
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
from trex_tui.old.lint.plugin_regions import map_plugin_regions
from trex_tui.old.lint.producers import find_producer
from trex_tui.old.lint.savings import format_types, layer_evidence
from trex_tui.old.text import plural

LONGEST_FILLING = 8
MANY_ELEMENTS = 1024
"""Without a profile, smaller tensors are assumed to cost nothing."""
MOST_MOVEMENT_PCT = 3.0
NO_CAUSE = (
    "Build with --profilingVerbosity=detailed and export with --exportLayerInfo: types and layouts then show what forces "
    "each copy."
)
_CHANGES_TYPE = frozenset({LayerKind.REFORMAT, LayerKind.SLICE, LayerKind.SHUFFLE, LayerKind.CONCAT})
_MAY_TURN_QUANTIZED = _CHANGES_TYPE - {LayerKind.REFORMAT}
"""Without reformats: a reformat to or from a quantized type is a Q or DQ (QDQ001)."""
_COPIES = frozenset({"Cast", "Resh", "Res", "Move", "Copy"})
_LIGHT = frozenset(
    {
        LayerKind.PLUGIN,
        LayerKind.POINTWISE,
        LayerKind.SCALE,
        LayerKind.POOLING,
        LayerKind.SHUFFLE,
        LayerKind.SLICE,
        LayerKind.SOFTMAX,
        LayerKind.REDUCTION,
        LayerKind.NORMALIZATION,
        LayerKind.NOOP,
    }
)
_DIGITS = re.compile(r"\d+")
# Names of layouts in trtexec's `--inputIOFormats`. NHWC4 and NHWC2 can be bound only as chw4 and chw2, which is the same
# order of bytes if all channels fit one vector.
_BINDINGS = {
    "NCHW": "chw",
    "NC/2HW2": "chw2",
    "NC/4HW4": "chw4",
    "NC/16HW16": "chw16",
    "NC/32HW32": "chw32",
    "NHWC": "hwc",
    "NHWC8": "hwc8",
    "NHWC16": "hwc16",
    "NDHWC": "dhwc",
    "NDHWC8": "dhwc8",
    "NC/32DHW32": "cdhw32",
}
_BOUND_TYPES = frozenset(
    {
        DataType.FP32,
        DataType.FP16,
        DataType.BF16,
        DataType.INT32,
        DataType.INT64,
        DataType.INT8,
        DataType.UINT8,
        DataType.BOOL,
        DataType.FP8,
        DataType.INT4,
    }
)


def _find_plugin(layers: list[Layer]) -> Layer | None:
    return next((layer for layer in layers if layer.kind is LayerKind.PLUGIN), None)


@rule(
    "FMT001",
    "Type conversion inside the network",
    Severity.WARNING,
    looks_for="A reformat between two floating-point types, or a slice, shuffle or concatenation whose output has another "
    "floating-point or quantized type than its input, away from the network's inputs and outputs.",
    why="Two neighbours use different types: a plugin, a constant, a pinned layer, an FP32 stem.",
    remedy="Change the type of the plugin, the constant or the pinned layer to that of its neighbours.",
    references=(FUSIONS, issue(4039), issue(2136)),
    columns=("kind", "input_formats", "output_formats", "latency_ms"),
    not_when="The same type by two names (Half, FP16); Q and DQ (QDQ001); floating-point islands (PREC002); copies "
    "for a plugin (PLUG001, FUSE004); integer types; the network's edge (FMT004).",
    needs=(details,),
)
def type_conversion(context: Context) -> Findings:
    engine = context.engine
    left_alone = compute_flow(engine).at_edge | map_islands(engine).keys() | map_plugin_regions(engine).keys()
    for layer in context.layers:
        if layer.index in left_alone or not takes_time(layer) or not _converts_type(layer):
            continue
        is_reformat = layer.kind is LayerKind.REFORMAT
        source, target = (tensor.dtype for tensor in (layer.inputs[0], layer.outputs[0]))
        yield finding(
            f"{quote_layer(layer)} converts {format_types(layer)}: {context.format_time(layer)}.",
            [layer],
            confidence=Confidence.HIGH,
            savings=[layer] if is_reformat else (),
            formula="layer time: not needed if its neighbours use one type" if is_reformat else "",
            evidence=layer_evidence(layer, kind=layer.kind.value),
            group=f"layers convert {source.value if source else 'unknown'} to {target.value if target else 'unknown'} "
            "inside the network",
        )


def _converts_type(layer: Layer) -> bool:
    """Return whether a movement layer changes the type as well."""
    ends = conversion(layer) if layer.kind in _CHANGES_TYPE else None
    if ends is None or ends[0].dtype is ends[1].dtype:
        return False
    types = {ends[0].dtype, ends[1].dtype}
    return types <= (FLOATING | QUANTIZED if layer.kind in _MAY_TURN_QUANTIZED else FLOATING)


# Layouts that are changed and restored


class Detour(NamedTuple):
    """A reformat, light work in the other layout, and the reformat back."""

    there: Layer
    filling: tuple[Layer, ...]
    back: Layer


def _layout_family(tensor: Tensor) -> str | None:
    """Return the layout without the width of its vector: `NHWC8` and `NHWC16` are both `NHWC`; None if unknown."""
    layout = tensor.format.layout
    return _DIGITS.sub("", layout) if layout else None


@per_engine
def _find_detours(engine: Engine) -> tuple[Detour, ...]:
    """Return all places where a layout or type is changed for light work and then restored, in execution order."""
    context, flow = Context(engine), compute_flow(engine)
    detours: list[Detour] = []
    taken: set[int] = set()
    for layer in engine.layers:
        if layer.index in taken or layer.index in flow.at_input or not _changes_layout(layer):
            continue
        if detour := _follow_detour(context, layer):
            detours.append(detour)
            taken |= {layer.index, detour.back.index}
    return tuple(detours)


def _changes_layout(layer: Layer) -> bool:
    """Return whether a layer is a reformat that runs and changes the type, or the layout beyond the vector width."""
    if layer.kind is not LayerKind.REFORMAT or not layer.inputs or not layer.outputs or not takes_time(layer):
        return False
    source, target = layer.inputs[0], layer.outputs[0]
    if source.format.layout is None or target.format.layout is None:
        return False
    if source.dtype is not target.dtype and {source.dtype, target.dtype} & QUANTIZED:
        return False  # a Q or DQ
    return not _is_alike(source, target)


def _is_alike(source: Tensor, target: Tensor) -> bool:
    return (_layout_family(source), source.dtype) == (_layout_family(target), target.dtype)


def _follow_detour(context: Context, there: Layer) -> Detour | None:
    filling: list[Layer] = []
    layer = there
    while len(filling) <= LONGEST_FILLING:
        readers = context.consumers(layer)
        if len(readers) != 1 or readers[0].index <= layer.index or context.writes_network_output(layer):
            return None
        layer = readers[0]
        if _changes_layout(layer):
            returns = _is_alike(there.inputs[0], layer.outputs[0])
            return Detour(there, tuple(filling), layer) if returns else None
        if layer.kind not in _LIGHT:
            return None
        filling.append(layer)
    return None


@rule(
    "FMT002",
    "Layout changed and restored",
    Severity.WARNING,
    looks_for="A reformat to another layout or type, up to 8 light layers with one reader each (pointwise, scale, "
    "pool, shuffle, slice, softmax), and a reformat back. Vector widths are not distinguished.",
    why="Two copies of the tensor for layers that support either layout.",
    remedy="Run the layers in between in the first layout.",
    references=(issue(1489), issue(3192), issue(4039)),
    columns=("kind", "input_formats", "output_formats", "latency_ms"),
    not_when=(
        "A convolution, GEMM or opaque block in between, which may need the layout; a plugin (PLUG001, "
        "FUSE004)."
    ),
    needs=(details,),
)
def layout_detour(context: Context) -> Findings:
    regions = map_plugin_regions(context.engine)
    for there, filling, back in _find_detours(context.engine):
        if any(layer.index in regions for layer in (there, *filling, back)):
            continue
        source, target = there.inputs[0].description, there.outputs[0].description
        count = plural(len(filling), "layer") if filling else "nothing"
        yield finding(
            f"{quote_layer(there)} converts {source} to {target}, and {quote_layer(back)} converts back, "
            f"with {count} in between: {context.format_time(there, back)}.",
            (there, *filling, back),
            confidence=Confidence.HIGH,
            savings=(there, back),
            formula="time of both reformats",
            evidence=layer_evidence(
                there, filling=", ".join(layer.kind.value for layer in filling) or "nothing"
            ),
            group=f"times {source} converted to {target} and back",
        )
    bare = [
        layer
        for layer in context.select(LayerKind.REFORMAT)
        if layer.inputs and layer.inputs[0].format.layout is None
    ]
    if bare:
        yield not_checked("layouts are missing: export the layers in the profile run", len(bare))


@rule(
    "FMT003",
    "Reformat costs half of its layer",
    Severity.WARNING,
    looks_for="A reformat of at least 0.2 % of the time that takes at least half the time of its layer.",
    why="The conversion costs what the faster kernel saves.",
    remedy="Keep one layout along the chain: find what forces the other one (a plugin, the network input, an old "
    "operator).",
    references=(issue(2136),),
    columns=("kind", "name", "input_formats", "output_formats", "latency_ms"),
    not_when="Reformats reported by FMT001, FMT002 or, at the network's edge, FMT004; up to twice the time of the "
    "shortest layer (launch floor).",
    needs=(details, profile),
    thresholds={"share_pct": 0.2, "ratio": 0.5},
)
def expensive_reformat(context: Context, share_pct: float, ratio: float) -> Findings:
    in_detours = {
        layer.index for detour in _find_detours(context.engine) for layer in (detour.there, detour.back)
    }
    edge, islands = compute_flow(context.engine).at_edge, map_islands(context.engine)
    for layer in filter(_changes_layout, context.layers):
        if layer.index in in_detours | islands.keys() or context.share_pct(layer) < share_pct:
            continue
        if layer.index in edge or _converts_type(layer):
            continue
        own = layer.latency_ms
        served = _find_served(context, layer)
        time = sum_latency_ms(served)
        if not own or own <= LAUNCH_FACTOR * (context.floor_ms or 0.0) or not time or own < ratio * time:
            continue
        what = f"{quote_layer(served[0])} (its layer) takes"
        if len(served) > 1:
            what = f"its {len(served)} layers take"
        yield finding(
            f"{quote_layer(layer)}, {format_types(layer)}, takes {context.format_time(layer)}: "
            f"{100 * own / time:.0f} % of the time that {what}.",
            [layer],
            savings=[layer],
            formula="layer time: not needed with one layout along the chain",
            evidence=layer_evidence(layer, served_ms=time, served_layers=len(served)),
            group="reformats take at least half of the time of their layers",
        )


def _find_served(context: Context, layer: Layer) -> list[Layer]:
    """Return the layers that a reformat serves: the layer in its name, skipping NoOps.

    `… for Output Tensor 0 to X` serves the layer that writes, all others the layers that read.
    """
    forward = "Output Tensor" not in layer.name
    return sorted(beyond(context, layer, {LayerKind.NOOP}, forward=forward), key=lambda served: served.index)


@rule(
    "FMT004",
    "Conversion at a network input or output",
    Severity.INFO,
    looks_for="A reformat, transpose or cast of 0.05 % of the time or more that reads a network input or writes a network "
    "output, also past NoOps; a warning from 2 % on. Without a profile, of 1 024 elements or more.",
    why="Caller and network use different types or layouts, so every inference converts.",
    remedy="Pass data in the network's type and layout: --inputIOFormats and --outputIOFormats.",
    references=(issue(2136), issue(1542), TRTEXEC),
    columns=("kind", "input_formats", "output_formats", "latency_ms"),
    not_when="Q and DQ at the edge (QDQ001); copies without a change (FMT006).",
    needs=(details,),
    thresholds={"share_pct": 0.05},
)
def conversion_at_edge(context: Context, share_pct: float) -> Findings:
    flow = compute_flow(context.engine)
    edge = flow.at_edge
    for layer in context.layers:
        if layer.index not in edge or not takes_time(layer) or not _is_conversion(layer):
            continue
        share, at_input = context.pct(layer.latency_ms), layer.index in flow.at_input
        is_large = (layer.outputs[0].volume or 0) >= MANY_ELEMENTS
        if (share or 0.0) < share_pct if context.has_profile else not is_large:
            continue
        side = "input" if at_input else "output"
        ends = (layer.inputs[0].description, layer.outputs[0].description)
        converts, types = ("converts", format_types(layer)) if ends[0] != ends[1] else ("transposes", ends[0])
        neighbours = context.consumers(layer) if at_input else context.producers(layer)
        yield finding(
            f"{quote_layer(layer)} {converts} a network {side}, {types}: {context.format_time(layer)}.",
            [layer],
            severity=Severity.WARNING if share is not None and share >= 2 else None,
            confidence=Confidence.HIGH,
            savings=[layer],
            formula="layer time: not needed if the caller uses the network's type and layout",
            evidence=layer_evidence(layer, side=side, neighbours_ms=sum_latency_ms(neighbours)),
            remedy=_advise_binding(context, layer, layer.outputs[0] if at_input else layer.inputs[0], side),
            group=f"layers {converts.removesuffix('s')} network {side}s, {types}",
        )


def _is_conversion(layer: Layer) -> bool:
    """Return whether a layer only changes layout or type: a reformat, transpose or cast; no Q or DQ, no plain copy."""
    ends = conversion(layer)
    if ends is None or {ends[0].dtype, ends[1].dtype} & QUANTIZED:
        return False
    if names := operators(layer):
        return MOVING_OPERATORS.issuperset(names) and ("Tran" in names or ends[0].dtype is not ends[1].dtype)
    return layer.kind in (LayerKind.REFORMAT, LayerKind.SHUFFLE)


def _advise_binding(context: Context, layer: Layer, inner: Tensor, side: str) -> str:
    if layer.kind is LayerKind.SHUFFLE or "Tran" in operators(layer):
        return (
            f"The transpose is part of the model: export it with the {side} in the computed order (tf2onnx: "
            f"--{side}s-as-nchw)."
        )
    binding = format_binding(inner)
    if binding is None:
        return (
            f"Use {inner.description} in the caller if a binding supports it; otherwise ignore this finding."
        )
    option, producer = f"--{side}IOFormats", find_producer(context.engine)
    setting = producer.settings.get(option) if producer else f"{option}={binding}"
    return f"Use {inner.description} in the caller{f': {setting} for this {side}' if setting else ''}."


def format_binding(tensor: Tensor) -> str | None:
    """Return type and layout of a tensor for trtexec's `--inputIOFormats`: `fp16:hwc8`; None if a binding cannot have it."""
    layout = tensor.format.layout
    if tensor.dtype is None or tensor.dtype not in _BOUND_TYPES:
        return None
    name = _BINDINGS.get(layout or "NCHW")
    width = tensor.format.vector
    channels = tensor.shape[1] if len(tensor.shape) > 1 else None
    if name is None and layout in ("NHWC2", "NHWC4") and channels is not None and 0 < channels <= width:
        name = f"chw{width}"
    return None if name is None else f"{tensor.dtype.value.lower()}:{name}"


@rule(
    "FMT005",
    "High share of data movement",
    Severity.WARNING,
    looks_for="Reformats, transposes, copies, concatenations, Q and DQ that add up to 5 % of the time; a warning from 10 % "
    "on.",
    why="Data movement computes nothing. Its share shows whether layouts and quantization need work.",
    remedy="Keep one type and layout from layer to layer: remove transposes and casts from the model, use the "
    "network's input and output formats (--inputIOFormats, --outputIOFormats), let plugins accept their "
    "neighbours' layout.",
    references=(issue(2136), issue(4039)),
    columns=("kind", "latency_ms"),
    not_when="Engines where other rules cover at least half of this time.",
    needs=(profile,),
    thresholds={"info_pct": 5.0, "warning_pct": 10.0},
    is_symptom=True,
)
def movement_share(context: Context, info_pct: float, warning_pct: float) -> Findings:
    moving = [layer for layer in context.layers if is_movement(layer) and layer.latency_ms]
    share = context.total_share_pct(moving)
    if share is None or share < info_pct:
        return
    largest = sorted(moving, key=lambda layer: (-(layer.latency_ms or 0.0), layer.index))[:5]
    shares = ", ".join(f"{quote_layer(layer)} {context.share_pct(layer):.1f} %" for layer in largest)
    only = "only moves or converts" if len(moving) == 1 else "only move or convert"
    remedy = "" if context.has_details else NO_CAUSE
    yield finding(
        f"{plural(len(moving), 'layer')} {only} data: {context.format_time(*moving)}. The largest: {shares}.",
        moving,
        severity=Severity.WARNING if share >= warning_pct else Severity.INFO,
        confidence=Confidence.HIGH,
        evidence={"movement_ms": sum_latency_ms(moving), "movement_pct": round(share, 2)},
        remedy=remedy,
    )


@rule(
    "FMT006",
    "Redundant copy",
    Severity.WARNING,
    looks_for="A generated Myelin kernel of casts, reshapes, moves and copies only, with one output of its input's "
    "type and element count.",
    why="It reads and writes a whole tensor only for a layout, or without effect.",
    remedy="Find the cause: a plugin's format (PLUG001), a network input used directly, a reshape across layouts, "
    "a redundant cast in the model.",
    references=(issue(1489), FUSIONS),
    columns=("tactic", "input_formats", "output_formats", "latency_ms"),
    not_when="Copies next to a plugin (PLUG001, FUSE004); transposes; writers of network outputs; data that a native "
    "layer wrote in a vectorised or channels-last layout. Myelin does not export layouts, so a copy may be "
    "a layout change.",
    needs=(details,),
)
def needless_copy(context: Context) -> Findings:
    regions = map_plugin_regions(context.engine)
    generated = [layer for layer in context.layers if layer.layer_type == "kgen"]
    for layer in filter(takes_time, generated):
        if layer.index in regions or context.writes_network_output(layer):
            continue
        if not _copies_nothing_new(context, layer):
            continue
        plugin = _find_plugin([*context.consumers(layer), *context.producers(layer)])
        yield finding(
            f"{quote_layer(layer)} copies {format_types(layer)} without a change of type or size: "
            f"{context.format_time(layer)}.",
            [layer],
            savings=[layer],
            formula="layer time",
            evidence=layer_evidence(layer, operators=" ".join(operators(layer))),
            remedy=f"The plugin {quote_layer(plugin)} next to it requires the copy: let it accept the existing "
            "format and tensor."
            if plugin
            else "",
            group="kernels copy without a change of type or size",
        )


def _copies_nothing_new(context: Context, layer: Layer) -> bool:
    """Return whether a generated kernel only copies or reshapes: same type, same number of elements, and no known change of
    layout.
    """
    names = operators(layer)
    if not names or not _COPIES.issuperset(names) or len(layer.outputs) != 1:
        return False
    ends = conversion(layer)
    if ends is None or len(layer.data_inputs) != 1:
        return False
    source, target = ends
    if source.dtype is not target.dtype or source.volume is None or source.volume != target.volume:
        return False
    return not _leaves_vectors(context, layer, source)


def _leaves_vectors(context: Context, layer: Layer, source: Tensor) -> bool:
    """Return whether the writer of the input has a layout other than the linear one: then flattening is real work."""
    outputs = (tensor for producer in context.producers(layer) for tensor in producer.outputs)
    written = (tensor for tensor in outputs if tensor.name == source.name)
    return any(_layout_family(tensor) not in (None, "NCHW", "NCDHW") for tensor in written)


@strength(
    "FMT",
    "Little data movement",
    "Reformats, transposes and separate Q/DQ below 3 % of the engine.",
    ("kind", "latency_ms"),
)
def little_movement(context: Context) -> Finding | None:
    if not context.has_details or not context.has_profile:
        return None
    layers = context.select(LayerKind.REFORMAT, LayerKind.SHUFFLE, LayerKind.QUANTIZE)
    share = context.total_share_pct(layers) or 0.0
    if share >= MOST_MOVEMENT_PCT:
        return None
    text = f"Reformats, transposes and separate Q/DQ take {share:.1f} % of the engine."
    return finding(text, evidence={"movement_pct": share})
