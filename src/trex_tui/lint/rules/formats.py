"""FMT: reformats, casts and copies, which change type or layout of data without computing."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from trex_tui.analysis.roofline import LAUNCH_FACTOR
from trex_tui.analysis.structure import describe
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Port
from trex_tui.lint.context import (
    COMMAND_LINE_PROGRAMS,
    FLOATING,
    FUSION_CATALOG,
    MOVING_OPERATORS,
    QUANTIZED,
    Context,
    bits_of,
    details,
    issue,
    per_context,
    profile,
    size_of,
    vector_of,
)
from trex_tui.lint.regions import INSERTED, map_islands, map_plugin_regions
from trex_tui.lint.remedies import TORCH_TENSORRT, Platform
from trex_tui.lint.rule import HIGH, INFO, WARNING, Finding, Findings, finding, not_checked, rule, strength
from trex_tui.lint.savings import fraction
from trex_tui.text import plural

LONGEST_FILLING = 8
MANY_ELEMENTS = 1024
"""Without a profile, smaller tensors are assumed to cost nothing."""
MOST_MOVEMENT_PCT = 3.0
_CHANGES_TYPE = frozenset((LayerKind.REFORMAT, LayerKind.SLICE, LayerKind.SHUFFLE, LayerKind.CONCAT))
_MAY_TURN_QUANTIZED = _CHANGES_TYPE - {LayerKind.REFORMAT}
"""Without reformats: a reformat to or from a quantized type is a Q or DQ (QDQ001)."""
_COPIES = frozenset(("Cast", "Resh", "Res", "Move", "Copy"))
_LIGHT = frozenset(
    (
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
    )
)
_DIGITS = re.compile(r"\d+")
_ANY_TYPE = "FP32 FP16 BF16 INT32 INT64 INT8 UINT8 BOOL FP8 INT4"
_BINDINGS = {
    "NCHW": ("chw", _ANY_TYPE),
    "NCDHW": ("chw", _ANY_TYPE),
    "NC/2HW2": ("chw2", "FP16"),
    "NC/4HW4": ("chw4", "FP16 INT8"),
    "NC/16HW16": ("chw16", "FP16"),
    "NC/32HW32": ("chw32", "FP32 FP16 INT8"),
    "NHWC": ("hwc", "FP32 UINT8 INT64"),
    "NHWC8": ("hwc8", "FP16 BF16"),
    "NHWC16": ("hwc16", "FP16 INT8 FP8"),
    "NDHWC": ("dhwc", "FP32"),
    "NDHWC8": ("dhwc8", "FP16 BF16"),
    "NC/32DHW32": ("cdhw32", "FP16 INT8"),
}
"""Layout -> its name in trtexec's `--inputIOFormats`, and the types that a binding can have in it (developer guide,
I/O formats). Versions that differ are features of `analysis.releases.OPTIONS`: `fp16:chw4`.
"""
_PACKED = {"NHWC2": "NC/2HW2", "NHWC4": "NC/4HW4"}
"""Layouts that can be bound only as another one, with the same order of bytes if all channels fit one vector."""


def is_small(port: Port) -> bool:
    """Return whether a tensor has too few elements to matter, those of one sample if the batch is dynamic."""
    return math.prod(size for size in port.shape if size > 0) < MANY_ELEMENTS


@per_context
def map_edge(context: Context) -> dict[int, str]:
    """Return layers that convert data between a network input or output and a layer that computes: layer -> side.

    Reshapes and transposes before a conversion do not matter: the caller decides about its type all the same.
    """
    sides = dict.fromkeys(context.flow.at_output, "output") | dict.fromkeys(context.flow.at_input, "input")
    passing = {LayerKind.SHUFFLE, LayerKind.NOOP}
    for layer in context.select(LayerKind.REFORMAT):
        before, behind = context.producers[layer], context.consumers[layer]
        if len(before) == 1 and context.kinds[before[0]] in passing and sides.get(before[0]) == "input":
            sides.setdefault(layer, "input")
        if len(behind) == 1 and context.kinds[behind[0]] in passing and sides.get(behind[0]) == "output":
            sides.setdefault(layer, "output")
    return sides


def _find_plugin(context: Context, layers: Iterable[int]) -> int | None:
    return next((layer for layer in layers if context.kinds[layer] == LayerKind.PLUGIN), None)


@rule(
    "FMT001",
    "Type conversion inside the network",
    WARNING,
    looks_for="A reformat between two floating-point types, or a slice, shuffle or concatenation whose "
    "output has another "
    "floating-point or quantized type than its input, away from the network's inputs and outputs.",
    why="Two neighbours use different types: a plugin, a constant, a pinned layer, an FP32 stem.",
    remedy=(
        "TensorRT chose both types by time: ask for one type (--layerPrecisions, --precisionConstraints=prefer), or "
        "build a strongly typed FP16 model (--stronglyTyped), and compare.",
        "TensorRT chose both types by time: ask for one type (--layerPrecisions, --precisionConstraints=prefer) and "
        "compare.",
        "TensorRT chose both types by time: set the precision of both neighbours (setPrecision) and compare.",
    ),
    references=(FUSION_CATALOG, issue(4039), issue(2136)),
    columns=("kind", "input_formats", "output_formats", "latency_ms"),
    not_when="The same type by two names (Half, FP16); Q and DQ (QDQ001); floating-point islands (PREC002); copies "
    "for a plugin (PLUG001, FUSE004); integer types; the network's edge (FMT004); without a profile, less than 1 024 "
    "elements.",
    needs=(details,),
    estimate="assumes that its neighbours use one type",
    formula="layer time of reformats",
)
def type_conversion(context: Context) -> Findings:
    left_alone = map_edge(context).keys() | map_islands(context).keys() | map_plugin_regions(context).keys()
    is_typed = context.platform.is_strongly_typed
    for layer in range(len(context.engine)):
        if layer in left_alone or not context.takes_time(layer) or not _converts_type(context, layer):
            continue
        if not context.has_profile and is_small(context.outputs[layer][0]):
            continue
        source, target = context.inputs[layer][0].dtype, context.output_types[layer]
        yield finding(
            f"{context.quote(layer)} converts {context.format_types(layer)}: {context.format_time(layer)}.",
            [layer],
            confidence=HIGH,
            savings=context.times([layer]) if context.kinds[layer] == LayerKind.REFORMAT else {},
            evidence=context.evidence(layer, kind=context.kinds[layer]),
            remedy="Types are those of the model (strongly typed): export both neighbours in one type."
            if is_typed
            else "",
            group=f"layers convert {source or 'unknown'} to {target or 'unknown'} inside the network",
        )


def _converts_type(context: Context, layer: int) -> bool:
    """Return whether a movement layer changes the type as well."""
    kind = context.kinds[layer]
    ends = context.conversion(layer) if kind in _CHANGES_TYPE else None
    if ends is None or ends[0].dtype == ends[1].dtype:
        return False
    return {ends[0].dtype, ends[1].dtype} <= (
        FLOATING | QUANTIZED if kind in _MAY_TURN_QUANTIZED else FLOATING
    )


# Layouts that are changed and restored


class Detour(NamedTuple):
    """A reformat, light work in the other layout, and the reformat back."""

    there: int
    filling: tuple[int, ...]
    back: int


def _layout_family(port: Port) -> str | None:
    """Return the layout without the width of its vector: `NHWC8` and `NHWC16` are both `NHWC`; None if unknown."""
    return _DIGITS.sub("", port.format) if port.format else None


@per_context
def find_detours(context: Context) -> tuple[Detour, ...]:
    """Return all places where a layout or type is changed for light work and then restored, in execution order."""
    detours: list[Detour] = []
    taken: set[int] = set()
    for layer in range(len(context.engine)):
        if layer in taken or layer in context.flow.at_input or not _changes_layout(context, layer):
            continue
        if detour := _follow_detour(context, layer):
            detours.append(detour)
            taken |= {layer, detour.back}
    return tuple(detours)


def _changes_layout(context: Context, layer: int) -> bool:
    """Return whether a layer is a reformat that runs and changes the type, or the layout beyond the vector width."""
    inputs, outputs = context.inputs[layer], context.outputs[layer]
    if (
        context.kinds[layer] != LayerKind.REFORMAT
        or not inputs
        or not outputs
        or not context.takes_time(layer)
    ):
        return False
    source, target = inputs[0], outputs[0]
    if source.format is None or target.format is None:
        return False
    if source.dtype != target.dtype and {source.dtype, target.dtype} & QUANTIZED:
        return False  # a Q or DQ
    return not _is_alike(source, target)


def _is_alike(source: Port, target: Port) -> bool:
    """Return whether two tensors have one type and one layout, whatever the width of its vectors."""
    return (_layout_family(source), source.dtype) == (_layout_family(target), target.dtype)


def _follow_detour(context: Context, there: int) -> Detour | None:
    filling: list[int] = []
    layer = there
    while len(filling) <= LONGEST_FILLING:
        readers = context.consumers[layer]
        if len(readers) != 1 or readers[0] <= layer or layer in context.output_writers:
            return None
        layer = readers[0]
        if _changes_layout(context, layer):
            returns = _is_alike(context.inputs[there][0], context.outputs[layer][0])
            return Detour(there, tuple(filling), layer) if returns else None
        if context.kinds[layer] not in _LIGHT:
            return None
        filling.append(layer)
    return None


@rule(
    "FMT002",
    "Layout changed and restored",
    WARNING,
    looks_for="A reformat to another layout or type, up to 8 light layers with one reader each (pointwise, scale, "
    "pool, shuffle, slice, softmax), and a reformat back. Vector widths are not distinguished.",
    why="Two copies of the tensor for layers that support either layout.",
    remedy="Run the layers in between in the first layout.",
    references=(issue(1489), issue(3192), issue(4039)),
    columns=("kind", "input_formats", "output_formats", "latency_ms"),
    not_when="A convolution, GEMM or closed block in between, which may need the layout; a plugin (PLUG001, FUSE004).",
    needs=(details,),
    estimate="without both reformats",
    formula="time of both reformats",
)
def layout_detour(context: Context) -> Findings:
    regions = map_plugin_regions(context)
    for there, filling, back in find_detours(context):
        if any(layer in regions for layer in (there, *filling, back)):
            continue
        source, target = describe(context.inputs[there][0]), describe(context.outputs[there][0])
        count = plural(len(filling), "layer") if filling else "nothing"
        yield finding(
            f"{context.quote(there)} converts {source} to {target}, and {context.quote(back)} converts back, "
            f"with {count} in between: {context.format_time(there, back)}.",
            (there, *filling, back),
            confidence=HIGH,
            savings=context.times((there, back)),
            evidence=context.evidence(
                there, filling=", ".join(context.kinds[layer] for layer in filling) or "nothing"
            ),
            group=f"times {source} converted to {target} and back",
        )
    bare = [
        layer
        for layer in context.select(LayerKind.REFORMAT)
        if context.inputs[layer] and context.inputs[layer][0].format is None
    ]
    if bare:
        yield not_checked("layouts are missing: export the layers in the profile run", len(bare))


@rule(
    "FMT003",
    "Reformat costs half of its layer",
    WARNING,
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
    estimate="assumes one layout along the chain",
    formula="layer time",
)
def expensive_reformat(context: Context, share_pct: float, ratio: float) -> Findings:
    in_detours = {layer for detour in find_detours(context) for layer in (detour.there, detour.back)}
    left_alone = in_detours | map_islands(context).keys() | context.flow.at_edge
    for layer in (layer for layer in range(len(context.engine)) if _changes_layout(context, layer)):
        if layer in left_alone or context.share_pct(layer) < share_pct or _converts_type(context, layer):
            continue
        own, served = context.ms[layer], _find_served(context, layer)
        time = context.sum_ms(served)
        if not own or own <= LAUNCH_FACTOR * (context.floor_ms or 0.0) or not time or own < ratio * time:
            continue
        what = f"{context.quote(served[0])} (its layer) takes"
        if len(served) > 1:
            what = f"its {len(served)} layers take"
        yield finding(
            f"{context.quote(layer)}, {context.format_types(layer)}, takes {context.format_time(layer)}: "
            f"{100 * own / time:.0f} % of the time that {what}.",
            [layer],
            savings=context.times([layer]),
            evidence=context.evidence(layer, served_ms=time, served_layers=len(served)),
            group="reformats take at least half of the time of their layers",
        )


def _find_served(context: Context, layer: int) -> list[int]:
    """Return the layers that a reformat serves: the layer in its name, skipping NoOps.

    `… for Output Tensor 0 to X` serves the layer that writes, all others the layers that read.
    """
    forward = "Output Tensor" not in context.names[layer]
    return sorted(context.beyond(layer, {LayerKind.NOOP}, forward=forward))


@rule(
    "FMT004",
    "Conversion at a network input or output",
    INFO,
    looks_for="A reformat, transpose or cast of 0.05 % of the time or more that reads a network input or "
    "writes a network "
    "output, also past NoOps; a warning from 2 % on. Without a profile, of 1 024 elements or more.",
    why="Caller and network use different types or layouts, so every inference converts.",
    remedy="Pass data in the network's type and layout: --inputIOFormats and --outputIOFormats.",
    references=(issue(2136), issue(1542), COMMAND_LINE_PROGRAMS),
    columns=("kind", "input_formats", "output_formats", "latency_ms"),
    not_when="Q and DQ at the edge (QDQ001); copies without a change (FMT006); layouts that no binding of "
    "this TensorRT and type can have.",
    needs=(details,),
    thresholds={"share_pct": 0.05},
    estimate="assumes that the caller uses the network's type and layout",
    formula="layer time",
)
def conversion_at_edge(context: Context, share_pct: float) -> Findings:
    for layer, side in sorted(map_edge(context).items()):
        if not context.takes_time(layer) or not _is_conversion(context, layer):
            continue
        share = context.pct(context.ms[layer])
        source, target = context.inputs[layer][0], context.outputs[layer][0]
        if (share or 0.0) < share_pct if context.has_profile else is_small(target):
            continue
        remedy, part = _advise_binding(context, layer, side)
        if not remedy:
            continue
        converts, types = "transposes", describe(source)
        if types != describe(target):
            converts, types = "converts", context.format_types(layer)
        neighbours = context.consumers[layer] if side == "input" else context.producers[layer]
        yield finding(
            f"{context.quote(layer)} {converts} a network {side}, {types}: {context.format_time(layer)}.",
            [layer],
            severity=WARNING if share is not None and share >= 2 else None,
            confidence=HIGH,
            savings=context.times([layer]) if part == 1.0 else fraction(context, layer, part),
            evidence=context.evidence(layer, side=side, neighbours_ms=context.sum_ms(neighbours)),
            remedy=remedy,
            group=f"layers {converts.removesuffix('s')} network {side}s, {types}",
        )


def _is_conversion(context: Context, layer: int) -> bool:
    """Return whether a layer only changes layout or type: a reformat, transpose or cast; no Q or DQ, no plain copy."""
    ends = context.conversion(layer)
    if ends is None or {ends[0].dtype, ends[1].dtype} & QUANTIZED:
        return False
    if names := context.operators(layer):
        return MOVING_OPERATORS.issuperset(names) and ("Tran" in names or ends[0].dtype != ends[1].dtype)
    return context.kinds[layer] in (LayerKind.REFORMAT, LayerKind.SHUFFLE)


def _advise_binding(context: Context, layer: int, side: str) -> tuple[str, float]:
    """Return what the caller or the model can do, and the part of the time that it saves; empty if a binding cannot have
    the type of the network.
    """
    source, target = context.inputs[layer][0], context.outputs[layer][0]
    inner, outer = (target, source) if side == "input" else (source, target)
    if context.kinds[layer] == LayerKind.SHUFFLE or "Tran" in context.operators(layer):
        text = f"export it with the {side} in the computed order (tf2onnx: --{side}s-as-nchw)."
        return f"The transpose is part of the model: {text}", 1.0
    is_cast = source.dtype != target.dtype
    if is_cast and (context.platform.is_strongly_typed or not context.names[layer].startswith(INSERTED)):
        return f"The cast is part of the model: export it with {inner.dtype} as the type of this {side}.", 1.0
    is_next = layer in context.flow.at_edge
    binding = find_binding(inner, context.platform) if is_next else None
    if context.platform.producer == TORCH_TENSORRT:
        return (f"Export the model with {inner.dtype} as the type of this {side}." if is_cast else ""), 1.0
    if binding is not None:
        return f"Use {describe(inner)} in the caller: --{side}IOFormats={binding} for this {side}.", 1.0
    binding = find_binding(outer._replace(dtype=inner.dtype), context.platform) if is_cast else None
    narrower = 1.0 - bits_of(inner) / (bits_of(outer) or 1)
    if binding is None or narrower <= 0:
        return "", 0.0
    # The other layout remains: only the caller's tensor has fewer bytes.
    part = (
        1.0
        if _layout_family(source) == _layout_family(target)
        else narrower * bits_of(outer) / (bits_of(outer) + bits_of(inner))
    )
    return (
        f"Use {inner.dtype} in the caller, to save the cast: --{side}IOFormats={binding} for this {side}.",
        part,
    )


def find_binding(port: Port, platform: Platform) -> str | None:
    """Return type and layout of a tensor for trtexec's `--inputIOFormats`: `fp16:hwc8`; None if a binding cannot have it."""
    layout, channels = port.format or "NCHW", port.shape[1] if len(port.shape) > 1 else 0
    if layout in _PACKED and 0 < channels <= vector_of(port):
        layout = _PACKED[layout]
    name, types = _BINDINGS.get(layout, ("", ""))
    if port.dtype is None or port.dtype not in types.split():
        return None
    binding = f"{port.dtype.lower()}:{name}"
    return binding if platform.has(binding) else None


@rule(
    "FMT005",
    "High share of data movement",
    WARNING,
    looks_for="Reformats, transposes, copies, concatenations, Q and DQ that add up to 5 % of the time; a "
    "warning from 10 % on.",
    why="Data movement computes nothing. Its share shows whether layouts and quantization need work.",
    remedy="Keep one type and layout from layer to layer: remove transposes and casts from the model, use the "
    "network's input and output formats (--inputIOFormats, --outputIOFormats), let plugins accept their "
    "neighbours' layout.",
    references=(issue(2136), issue(4039)),
    columns=("kind", "latency_ms"),
    not_when="Engines where rules that state the cause of a movement cover at least half of this time.",
    needs=(profile,),
    thresholds={"info_pct": 5.0, "warning_pct": 10.0},
    covered_by=("DLA", "FMT", "FUSE", "PLUG", "PREC002", "QDQ"),
)
def movement_share(context: Context, info_pct: float, warning_pct: float) -> Findings:
    moving = [
        layer for layer in range(len(context.engine)) if context.is_movement(layer) and context.ms[layer]
    ]
    share = context.share_of(moving)
    if share is None or share < info_pct:
        return
    largest = sorted(moving, key=lambda layer: (-(context.ms[layer] or 0.0), layer))[:5]
    shares = ", ".join(f"{context.quote(layer)} {context.share_pct(layer):.1f} %" for layer in largest)
    only = "only moves or converts" if len(moving) == 1 else "only move or convert"
    yield finding(
        f"{plural(len(moving), 'layer')} {only} data: {context.format_time(*moving)}. The largest: {shares}.",
        moving,
        severity=WARNING if share >= warning_pct else INFO,
        confidence=HIGH,
        evidence={"movement_ms": context.sum_ms(moving), "movement_pct": round(share, 2)},
        remedy=""
        if context.has_details
        else "Build with --profilingVerbosity=detailed and export with --exportLayerInfo: types and layouts then show "
        "what forces each copy.",
    )


@rule(
    "FMT006",
    "Redundant copy",
    WARNING,
    looks_for="A generated Myelin kernel of casts, reshapes, moves and copies only, with one output of its input's "
    "type, layout and element count.",
    why="It reads and writes a whole tensor without effect.",
    remedy="Find the cause: a plugin's format (PLUG001), a network input used directly, a redundant cast in the model.",
    references=(issue(1489), FUSION_CATALOG),
    columns=("tactic", "input_formats", "output_formats", "latency_ms"),
    not_when="Copies next to a plugin (PLUG001, FUSE004); transposes; writers of network outputs; loops "
    "and branches, and the copy of a value that a loop changes; kernels whose layouts are not stated, as before "
    "TensorRT 11: their copy may be a change of layout; without a profile, less than 1 024 elements.",
    needs=(details,),
    estimate="without the copy",
    formula="layer time",
)
def needless_copy(context: Context) -> Findings:
    regions = map_plugin_regions(context)
    written = Counter(port.name for ports in context.outputs for port in ports)
    changed = {name for name, count in written.items() if count > 1}
    for layer, layer_type in enumerate(context.layer_types):
        if layer_type != "kgen" or not context.takes_time(layer):
            continue
        if layer in regions or layer in context.output_writers or not _copies_nothing_new(context, layer):
            continue
        if context.values_of_control_flow[layer] is not None or context.outputs[layer][0].name in changed:
            continue
        if not context.has_profile and is_small(context.outputs[layer][0]):
            continue
        plugin = _find_plugin(context, [*context.consumers[layer], *context.producers[layer]])
        yield finding(
            f"{context.quote(layer)} copies {context.format_types(layer)} without a change of type or size: "
            f"{context.format_time(layer)}.",
            [layer],
            savings=context.times([layer]),
            evidence=context.evidence(layer, operators=" ".join(context.operators(layer))),
            remedy=""
            if plugin is None
            else f"The plugin {context.quote(plugin)} next to it requires the copy: let it accept the existing format and "
            "tensor.",
            group="kernels copy without a change of type or size",
        )


def _copies_nothing_new(context: Context, layer: int) -> bool:
    """Return whether a generated kernel only copies: same type, same shape, and the same stated layout."""
    names = context.operators(layer)
    if not names or not _COPIES.issuperset(names) or len(context.outputs[layer]) != 1:
        return False
    ends = context.conversion(layer)
    if ends is None or len(context.data_inputs[layer]) != 1:
        return False
    source, target = ends
    is_same = (source.dtype, source.format_text, source.shape) == (
        target.dtype,
        target.format_text,
        target.shape,
    )
    return is_same and source.format is not None and size_of(source) is not None


@strength(
    "FMT",
    "Little data movement",
    "Reformats, transposes and separate Q/DQ below 3 % of the engine.",
    ("kind", "latency_ms"),
)
def little_movement(context: Context) -> Finding | None:
    is_complete = all(ms is not None for layer, ms in enumerate(context.ms) if context.is_work(layer))
    if not context.has_details or not context.has_profile or not is_complete:
        return None
    share = context.share_of(context.select(LayerKind.REFORMAT, LayerKind.SHUFFLE, LayerKind.QUANTIZE)) or 0.0
    if share >= MOST_MOVEMENT_PCT:
        return None
    text = f"Reformats, transposes and separate Q/DQ take {share:.1f} % of the engine."
    return finding(text, evidence={"movement_pct": share})


RULES = (
    type_conversion,
    layout_detour,
    expensive_reformat,
    conversion_at_edge,
    movement_share,
    needless_copy,
    little_movement,
)
