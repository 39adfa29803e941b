"""FMT: reformats, casts and copies: data that changes its type or layout instead of being computed with."""

from __future__ import annotations

from collections.abc import Iterator

from trex_tui.analysis.roofline import LAUNCH_FACTOR
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer, Tensor
from trex_tui.lint.context import FLOATING, QUANTIZED, Context
from trex_tui.lint.dataflow import conversion, flow_of, is_movement, operators
from trex_tui.lint.lint_text import (
    FUSIONS,
    NO_DETAILS,
    NO_PROFILE,
    called,
    indices,
    issue,
    ran,
    time_of,
    time_text,
    whole_time,
)
from trex_tui.lint.model import Confidence, Evidence, Finding, NotChecked, Rule, Severity
from trex_tui.lint.rules.layouts import changes_layout, layout_family, sandwiches
from trex_tui.lint.savings import evidence, types_text
from trex_tui.text import plural

_CHANGES_TYPE = frozenset({LayerKind.REFORMAT, LayerKind.SLICE, LayerKind.SHUFFLE, LayerKind.CONCAT})
_MAY_TURN_QUANTIZED = _CHANGES_TYPE - {LayerKind.REFORMAT}
"""A reformat to or from a quantized type is a Q or DQ, and QDQ001 tells it."""
_COPIES = frozenset({"Cast", "Resh", "Res", "Move", "Copy"})


# FMT001


def converts_type(context: Context, layer: Layer) -> bool:
    """Whether a layer that is there to move data changes its type as well."""
    ends = conversion(context, layer) if layer.kind in _CHANGES_TYPE else None
    if ends is None or ends[0].dtype is ends[1].dtype:
        return False
    types = {ends[0].dtype, ends[1].dtype}
    return types <= (FLOATING | QUANTIZED if layer.kind in _MAY_TURN_QUANTIZED else FLOATING)


def _type_conversions(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("FMT001", NO_DETAILS)
        return
    flow = flow_of(context.engine)
    edge = flow.at_input | flow.at_output
    for layer in context.layers:
        if layer.index in edge or not ran(layer) or not converts_type(context, layer):
            continue
        around = (*context.producers(layer), *context.consumers(layer))
        plugin = next((one for one in around if one.kind is LayerKind.PLUGIN), None)
        yield Finding(
            "FMT001",
            f"{called(layer)} converts {types_text(layer)}: "
            f"{time_text(layer.latency_ms, context.pct(layer.latency_ms))}.",
            (layer.index,),
            confidence=Confidence.HIGH,
            stakes_ms=whole_time([layer]) if layer.kind is LayerKind.REFORMAT else {},
            formula="latency_ms: it goes once its neighbours agree"
            if layer.kind is LayerKind.REFORMAT
            else "",
            evidence=evidence(layer, kind=layer.kind.value),
            remedy=f"The plugin {called(plugin)} next to it asks for that type: let it take the other one."
            if plugin
            else "",
        )


# FMT003


def _dearer_than_served(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("FMT003", NO_DETAILS)
        return
    if not context.has_profile:
        yield NotChecked("FMT003", NO_PROFILE)
        return
    told = {layer.index for one in sandwiches(context) for layer in one.reformats}
    flow = flow_of(context.engine)
    edge = flow.at_input | flow.at_output
    least = context.threshold("FMT003.share_pct", 0.2)
    ratio = context.threshold("FMT003.ratio", 0.5)
    for layer in context.layers:
        if not changes_layout(layer) or (context.pct(layer.latency_ms) or 0.0) < least:
            continue
        if layer.index in told or (converts_type(context, layer) and layer.index not in edge):
            continue
        if layer.latency_ms is not None and layer.latency_ms <= LAUNCH_FACTOR * (context.floor_ms or 0.0):
            continue
        served = served_by(context, layer)
        time = time_of(served)
        if served and time and layer.latency_ms and layer.latency_ms >= ratio * time:
            yield _dear(context, layer, served, time)


def served_by(context: Context, layer: Layer) -> list[Layer]:
    """The layers a reformat is there for: the one it was made for as its name says, past NoOps.

    `… for Output Tensor 0 to X` serves the layer that writes, everything else the layers that read.
    """
    step = context.producers if "Output Tensor" in layer.name else context.consumers
    found, waiting, seen = [], list(step(layer)), {layer.index}
    while waiting and len(seen) < 64:
        one = waiting.pop()
        if one.index in seen:
            continue
        seen.add(one.index)
        if one.kind is LayerKind.NOOP:
            waiting += step(one)
        else:
            found.append(one)
    return sorted(found, key=lambda one: one.index)


def _dear(context: Context, layer: Layer, served: list[Layer], time: float) -> Finding:
    what = called(served[0]) if len(served) == 1 else f"the {len(served)} layers"
    return Finding(
        "FMT003",
        f"{called(layer)}, {types_text(layer)}, takes {time_text(layer.latency_ms, context.pct(layer.latency_ms))}: "
        f"{100 * (layer.latency_ms or 0.0) / time:.0f} % of what {what} that it serves "
        f"{'takes' if len(served) == 1 else 'take'}.",
        (layer.index,),
        stakes_ms=whole_time([layer]),
        formula="latency_ms: with one layout along the chain it is not needed",
        evidence=evidence(layer, served_ms=time, served_layers=len(served)),
    )


# FMT005


def _share_of_movement(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("FMT005", NO_DETAILS)
        return
    if not context.has_profile:
        yield NotChecked("FMT005", NO_PROFILE)
        return
    moving = [layer for layer in context.layers if is_movement(layer) and layer.latency_ms]
    time = time_of(moving)
    share = context.pct(time)
    if share is None or share < context.threshold("FMT005.info_pct", 5.0):
        return
    largest = sorted(moving, key=lambda layer: (-(layer.latency_ms or 0.0), layer.index))[:5]
    shares = ", ".join(f"{called(layer)} {context.pct(layer.latency_ms) or 0.0:.1f} %" for layer in largest)
    is_much = share >= context.threshold("FMT005.warning_pct", 10.0)
    yield Finding(
        "FMT005",
        f"{plural(len(moving), 'layer')} only move or convert data: {time_text(time, share)}. The largest: {shares}.",
        indices(largest),
        severity=Severity.WARNING if is_much else Severity.INFO,
        confidence=Confidence.HIGH,
        evidence=(Evidence("movement_ms", time), Evidence("movement_pct", round(share, 2))),
    )


# FMT006


def copies_nothing_new(context: Context, layer: Layer) -> bool:
    """Whether a generated kernel only copies or reshapes: same type, same number of elements, and no layout that is known to
    change."""
    names = operators(layer)
    if not names or not _COPIES.issuperset(names) or len(layer.outputs) != 1:
        return False
    ends = conversion(context, layer)
    if ends is None or len(context.data_inputs(layer)) != 1:
        return False
    source, target = ends
    if source.dtype is not target.dtype or source.volume is None or source.volume != target.volume:
        return False
    return not _leaves_vectors(context, layer, source)


def _leaves_vectors(context: Context, layer: Layer, source: Tensor) -> bool:
    """Whether the layer that wrote the input states a layout other than the linear one: flattening that is real work."""
    written = (
        tensor for one in context.producers(layer) for tensor in one.outputs if tensor.name == source.name
    )
    return any(layout_family(tensor) not in (None, "NCHW", "NCDHW") for tensor in written)


def _copies(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("FMT006", NO_DETAILS)
        return
    for layer in context.layers:
        if not ran(layer) or context.writes_network_output(layer) or not copies_nothing_new(context, layer):
            continue
        plugin = next(
            (
                one
                for one in (*context.consumers(layer), *context.producers(layer))
                if one.kind is LayerKind.PLUGIN
            ),
            None,
        )
        yield Finding(
            "FMT006",
            f"{called(layer)} copies {types_text(layer)} without a change of type or size: "
            f"{time_text(layer.latency_ms, context.pct(layer.latency_ms))}.",
            (layer.index,),
            stakes_ms=whole_time([layer]),
            formula="latency_ms",
            evidence=evidence(layer, operators=" ".join(operators(layer))),
            remedy=f"The plugin {called(plugin)} next to it asks for a copy of its own: let it take the format and "
            f"the tensor as "
            "they are."
            if plugin
            else "",
        )


RULES: tuple[Rule, ...] = (
    Rule(
        id="FMT001",
        title="Type conversion inside the network",
        severity=Severity.WARNING,
        looks_for="A reformat between two floating-point types, or a slice, shuffle or concatenation whose output has "
        "another "
        "floating-point or quantized type than its input, away from the network's inputs and outputs.",
        why="Somewhere two neighbours do not agree on a type: a plugin, a constant, a pinned layer, a stem in FP32.",
        remedy="Make the neighbours agree: the plugin's type, the constant's, the pinned layer's.",
        references=(FUSIONS, issue(4039), issue(2136)),
        columns=("kind", "input_formats", "output_formats", "latency_ms"),
        check=_type_conversions,
        not_when="The same type by two names (Half, FP16); Q and DQ, which QDQ001 tells; integer types; the network's edge "
        "(FMT004).",
    ),
    Rule(
        id="FMT003",
        title="Reformat costs half of the layer it serves",
        severity=Severity.WARNING,
        looks_for="A reformat of 0.2 % of the time or more that takes at least half the time of the layer it was "
        "inserted for.",
        why="The layout was changed for a kernel that is faster in it, but the change eats what the kernel wins.",
        remedy="Keep one layout along the chain: see what forces the other one (a plugin, the network's input, an old "
        "operator).",
        references=(issue(2136),),
        columns=("kind", "name", "input_formats", "output_formats", "latency_ms"),
        check=_dearer_than_served,
        not_when="Reformats told by FMT001 or FMT002; twice the time of the shortest layer or less, where every kernel costs "
        "the same.",
    ),
    Rule(
        id="FMT005",
        title="Much of the time only moves data",
        severity=Severity.WARNING,
        looks_for="Reformats, transposes, copies, concatenations, Q and DQ that add up to 5 % of the time; a warning "
        "from 10 % on.",
        why="This time computes nothing. It tells whether layouts and quantization are worth a look at all.",
        remedy="See the findings on single layers; this one names the five largest.",
        references=(issue(2136), issue(4039)),
        columns=("kind", "latency_ms"),
        check=_share_of_movement,
        not_when="It has no stake of its own: what can be won is told by the findings on single layers.",
    ),
    Rule(
        id="FMT006",
        title="Copy that changes neither type nor size",
        severity=Severity.WARNING,
        looks_for="A generated Myelin kernel made of casts, reshapes, moves and copies alone, with one output of its "
        "input's type "
        "and number of elements.",
        why="It reads and writes a whole tensor for the sake of a layout, or for nothing.",
        remedy="Find what forces it: a plugin's format (PLUG001), a network input that is used as it is, a reshape "
        "across a layout "
        "border, a cast in the model that does nothing.",
        references=(issue(1489), FUSIONS),
        columns=("tactic", "input_formats", "output_formats", "latency_ms"),
        check=_copies,
        not_when="Transposes; what writes a network output; data that a native layer wrote in a vectorised or channels-last "
        "layout. Myelin does not state layouts, so a change of layout may hide behind it.",
    ),
)
