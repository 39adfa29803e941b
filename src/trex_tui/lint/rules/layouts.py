"""FMT002 and FMT004: layouts that are changed and changed back, and conversions at the network's edge."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from trex_tui.engine.dtypes import DataType
from trex_tui.engine.engine import Engine
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer, Tensor
from trex_tui.lint.context import QUANTIZED, Context
from trex_tui.lint.dataflow import MOVING_OPERATORS, conversion, flow_of, operators
from trex_tui.lint.lint_text import (
    NO_DETAILS,
    TRTEXEC,
    called,
    indices,
    issue,
    ran,
    time_of,
    time_text,
    whole_time,
)
from trex_tui.lint.model import Confidence, Finding, NotChecked, Rule, Severity
from trex_tui.lint.savings import evidence, types_text
from trex_tui.text import plural

LONGEST_FILLING = 8
MANY_ELEMENTS = 1024
"""Without a profile, what is smaller is taken to cost nothing worth telling."""
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
        LayerKind.NOOP,
    }
)
_DIGITS = re.compile(r"\d+")
# How trtexec calls the layouts of bindings (`--inputIOFormats`). NHWC4 and NHWC2 can be bound only as chw4 and chw2, which is
# the same order of bytes as long as all channels fit one vector.
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


class Sandwich(NamedTuple):
    """A reformat, light work in the other layout, and the reformat back."""

    there: Layer
    filling: tuple[Layer, ...]
    back: Layer

    @property
    def reformats(self) -> tuple[Layer, Layer]:
        """The two slices of bread."""
        return self.there, self.back


def layout_family(tensor: Tensor) -> str | None:
    """The layout without the width of its vector: `NHWC8` and `NHWC16` are both `NHWC`; None if it is not stated."""
    layout = tensor.format.layout
    return _DIGITS.sub("", layout) if layout else None


def sandwiches(context: Context) -> tuple[Sandwich, ...]:
    """All places where a layout or type is left for light work and taken up again, in execution order."""
    return _sandwiches(context.engine)


@lru_cache(maxsize=8)
def _sandwiches(engine: Engine) -> tuple[Sandwich, ...]:
    context = Context(engine)
    flow = flow_of(engine)
    found: list[Sandwich] = []
    taken: set[int] = set()
    for layer in engine.layers:
        if layer.index in taken or layer.index in flow.at_input or not changes_layout(layer):
            continue
        if one := _sandwich(context, layer):
            found.append(one)
            taken |= {layer.index, one.back.index}
    return tuple(found)


def changes_layout(layer: Layer) -> bool:
    """Whether it is a reformat that runs and is known to change the layout, beyond the width of its vector, or the type."""
    if layer.kind is not LayerKind.REFORMAT or not layer.inputs or not layer.outputs or not ran(layer):
        return False
    source, target = layer.inputs[0], layer.outputs[0]
    if source.format.layout is None or target.format.layout is None:
        return False
    if source.dtype is not target.dtype and {source.dtype, target.dtype} & QUANTIZED:
        return False  # a Q or DQ
    return (layout_family(source), source.dtype) != (layout_family(target), target.dtype)


def _sandwich(context: Context, there: Layer) -> Sandwich | None:
    filling: list[Layer] = []
    layer = there
    while len(filling) <= LONGEST_FILLING:
        readers = context.consumers(layer)
        if len(readers) != 1 or readers[0].index <= layer.index or context.writes_network_output(layer):
            return None
        layer = readers[0]
        if changes_layout(layer):
            return Sandwich(there, tuple(filling), layer) if _returns(there, layer) else None
        if layer.kind not in _LIGHT:
            return None
        filling.append(layer)
    return None


def _returns(there: Layer, back: Layer) -> bool:
    before, after = there.inputs[0], back.outputs[0]
    return (layout_family(before), before.dtype) == (layout_family(after), after.dtype)


# FMT002


def _there_and_back(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("FMT002", NO_DETAILS)
        return
    bare = [
        layer
        for layer in context.layers
        if layer.kind is LayerKind.REFORMAT and layer.inputs and layer.inputs[0].format.layout is None
    ]
    for one in sandwiches(context):
        time = time_of(one.reformats)
        filling = plural(len(one.filling), "layer") if one.filling else "nothing"
        plugin = next((layer for layer in one.filling if layer.kind is LayerKind.PLUGIN), None)
        yield Finding(
            "FMT002",
            f"{called(one.there)} leaves {one.there.inputs[0].description} for {one.there.outputs[0].description}, and "
            f"{called(one.back)} goes back, with {filling} between: {time_text(time, context.pct(time))}.",
            indices((one.there, *one.filling, one.back)),
            confidence=Confidence.HIGH,
            stakes_ms=whole_time(one.reformats),
            formula="latency_ms of both reformats",
            evidence=evidence(
                one.there, filling=", ".join(layer.kind.value for layer in one.filling) or "nothing"
            ),
            remedy=f"Let the plugin {called(plugin)} take {one.there.inputs[0].description} (supportsFormatCombination)."
            if plugin
            else "",
        )
    if bare:
        reason = "the layouts are not stated, only types: export the layers in the profile run"
        yield NotChecked("FMT002", reason, len(bare))


# FMT004


def _at_the_edge(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("FMT004", NO_DETAILS)
        return
    flow = flow_of(context.engine)
    least = context.threshold("FMT004.share_pct", 0.05)
    for layer in context.layers:
        at_input, at_output = layer.index in flow.at_input, layer.index in flow.at_output
        if not (at_input or at_output) or not _is_conversion(context, layer) or not ran(layer):
            continue
        if context.has_profile:
            matters = (context.pct(layer.latency_ms) or 0.0) >= least
        else:
            matters = (layer.outputs[0].volume or 0) >= MANY_ELEMENTS
        if matters:
            yield _edge_finding(context, layer, at_input=at_input)


def _is_conversion(context: Context, layer: Layer) -> bool:
    """Whether it only changes layout or type: a reformat, transpose or cast; no Q or DQ, no copy that changes nothing."""
    ends = conversion(context, layer)
    if ends is None or {ends[0].dtype, ends[1].dtype} & QUANTIZED:
        return False
    if names := operators(layer):
        return MOVING_OPERATORS.issuperset(names) and ("Tran" in names or ends[0].dtype is not ends[1].dtype)
    return layer.kind in (LayerKind.REFORMAT, LayerKind.SHUFFLE)


def _edge_finding(context: Context, layer: Layer, *, at_input: bool) -> Finding:
    share = context.pct(layer.latency_ms)
    side = "input" if at_input else "output"
    inner = layer.outputs[0] if at_input else layer.inputs[0]
    served = time_of(context.consumers(layer) if at_input else context.producers(layer))
    return Finding(
        "FMT004",
        f"{called(layer)} converts a network {side}, {types_text(layer)}: {time_text(layer.latency_ms, share)}.",
        (layer.index,),
        severity=Severity.WARNING if share is not None and share >= 2 else None,
        confidence=Confidence.HIGH,
        stakes_ms=whole_time([layer]),
        formula="latency_ms: it goes if the caller exchanges the data as the network has it",
        evidence=evidence(layer, side=side, neighbours_ms=served),
        remedy=_binding_remedy(layer, inner, side),
    )


def _binding_remedy(layer: Layer, inner: Tensor, side: str) -> str:
    if layer.kind is LayerKind.SHUFFLE or "Tran" in operators(layer):
        return (
            f"The model's own transpose: export it with the {side} in the order it computes in "
            f"(tf2onnx: --{side}s-as-nchw)."
        )
    binding = binding_format(inner)
    if binding is None:
        return f"Exchange {inner.description} with the caller if a binding can have it; otherwise leave it."
    return (
        f"Exchange {inner.description} with the caller: --{side}IOFormats={binding} for this {side}, and the data "
        f"prepared so."
    )


def binding_format(tensor: Tensor) -> str | None:
    """How trtexec's `--inputIOFormats` calls a tensor's type and layout: `fp16:hwc8`; None if a binding cannot have it."""
    layout = tensor.format.layout
    if tensor.dtype is None or tensor.dtype not in _BOUND_TYPES:
        return None
    if layout is None:
        return f"{tensor.dtype.value.lower()}:chw"
    name = _BINDINGS.get(layout)
    width = tensor.format.vector
    channels = tensor.shape[1] if len(tensor.shape) > 1 else None
    if name is None and layout in ("NHWC2", "NHWC4") and channels is not None and 0 < channels <= width:
        name = f"chw{width}"
    return None if name is None else f"{tensor.dtype.value.lower()}:{name}"


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


RULES: tuple[Rule, ...] = (
    Rule(
        id="FMT002",
        title="Layout is left and taken up again",
        severity=Severity.WARNING,
        looks_for="A reformat to another layout or type, at most 8 light layers of one reader each (plugin, "
        "pointwise, scale, pool, "
        "shuffle, slice, softmax), or none, and a reformat back. Widths of vectors are not told apart.",
        why="Two copies of the tensor, for work that could be done in either layout.",
        remedy="Let what stands between take the first layout: plugins by supportsFormatCombination (kHWC8, kHWC16).",
        references=(issue(1489), issue(3192), issue(4039)),
        columns=("kind", "input_formats", "output_formats", "latency_ms"),
        check=_there_and_back,
        not_when="A convolution, GEMM or opaque block between: then the layout was worth it.",
    ),
    Rule(
        id="FMT004",
        title="Conversion at a network input or output",
        severity=Severity.INFO,
        looks_for="A reformat, transpose or cast of 0.05 % of the time or more that reads a network input or writes a "
        "network "
        "output, also past NoOps; a warning from 2 % on. Without a profile, of 1 024 elements or more.",
        why="The caller and the network do not agree on type or layout, so that every inference converts.",
        remedy="Exchange the data in the network's own type and layout: --inputIOFormats and --outputIOFormats.",
        references=(issue(2136), issue(1542), TRTEXEC),
        columns=("kind", "input_formats", "output_formats", "latency_ms"),
        check=_at_the_edge,
        not_when="Q and DQ at the edge (QDQ001); copies that change nothing (FMT006).",
    ),
)
