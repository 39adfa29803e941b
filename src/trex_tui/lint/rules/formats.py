"""FMT: reformats, casts and copies, which change type or layout of data without computing."""

from __future__ import annotations

import math
import re

from trex_tui.analysis.structure import describe
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Port
from trex_tui.lint.context import (
    COMMAND_LINE_PROGRAMS,
    MOVING_OPERATORS,
    QUANTIZED,
    Context,
    bits_of,
    details,
    issue,
    per_context,
    profile,
    vector_of,
)
from trex_tui.lint.regions import INSERTED
from trex_tui.lint.remedies import TORCH_TENSORRT, Platform
from trex_tui.lint.rule import GOOD, HIGH, INFO, WARNING, Findings, Rule, finding
from trex_tui.lint.savings import fraction
from trex_tui.text import plural

MANY_ELEMENTS = 1024
"""Without a profile, smaller tensors are assumed to cost nothing."""
MOST_MOVEMENT_PCT = 3.0
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


# Layouts that are changed and restored


@Rule(
    "FMT004",
    "Conversion at a network input or output",
    INFO,
    looks_for="A reformat, transpose or cast that reads a network input or writes a network output, also past NoOps; "
    "a warning from 2 % on. Without a profile, of 1 024 elements or more.",
    why="Caller and network use different types or layouts, so every inference converts.",
    remedy="Pass data in the network's type and layout: --inputIOFormats and --outputIOFormats.",
    references=(issue(2136), issue(1542), COMMAND_LINE_PROGRAMS),
    columns=("kind", "input_formats", "output_formats", "latency_ms"),
    not_when="Q and DQ at the edge (QDQ001); layouts that no binding of this TensorRT and type can have.",
    needs=(details,),
    estimate="assumes that the caller uses the network's type and layout",
    formula="layer time",
)
def conversion_at_edge(context: Context) -> Findings:
    for layer, side in sorted(map_edge(context).items()):
        if not context.takes_time(layer) or not _is_conversion(context, layer):
            continue
        share = context.pct(context.ms[layer])
        source, target = context.inputs[layer][0], context.outputs[layer][0]
        if not context.has_profile and is_small(target):
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
    if not is_cast and inner.format is None and is_next:
        text = f"Try other layouts of this {side} in the caller: --{side}IOFormats."
        return f"{text} The layer information does not state the layout of the network.", 1.0
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
    part = narrower * bits_of(outer) / (bits_of(outer) + bits_of(inner))
    text = f"Use {inner.dtype} in the caller, to save the cast: --{side}IOFormats={binding} for this {side}."
    return text, 1.0 if source.format == target.format else part


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


@Rule(
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
    not_when="Engines where rules that state the cause of a movement cover at least half of this time; movement at the "
    "inputs and outputs of the network alone (FMT004).",
    needs=(profile,),
    covered_by=("DLA", "FMT", "FUSE", "PLUG", "PREC002", "QDQ"),
)
def movement_share(context: Context) -> Findings:
    moving = [
        layer for layer in range(len(context.engine)) if context.is_movement(layer) and context.ms[layer]
    ]
    share = context.share_of(moving)
    if share is None or share < 5.0 or map_edge(context).keys() >= set(moving):
        return
    largest = sorted(moving, key=lambda layer: (-(context.ms[layer] or 0.0), layer))[:5]
    shares = ", ".join(f"{context.quote(layer)} {context.share_pct(layer):.1f} %" for layer in largest)
    only = "only moves or converts" if len(moving) == 1 else "only move or convert"
    needs = context.needs_for_details
    yield finding(
        f"{plural(len(moving), 'layer')} {only} data: {context.format_time(*moving)}. The largest: {shares}.",
        moving,
        severity=WARNING if share >= 10.0 else INFO,
        confidence=HIGH,
        evidence={"movement_ms": context.sum_ms(moving), "movement_pct": round(share, 2)},
        remedy=""
        if context.has_details
        else f"{needs[0].upper()}{needs[1:]}: types and layouts then show what forces each copy.",
    )


@Rule(
    "OK-FMT",
    "Little data movement",
    GOOD,
    looks_for="Reformats, transposes and separate Q/DQ below 3 % of the engine.",
    columns=("kind", "latency_ms"),
)
def little_movement(context: Context) -> Findings:
    is_complete = all(ms is not None for layer, ms in enumerate(context.ms) if context.is_work(layer))
    if not context.has_details or not context.has_profile or not is_complete:
        return
    share = context.share_of(context.select(LayerKind.REFORMAT, LayerKind.SHUFFLE, LayerKind.QUANTIZE)) or 0.0
    if share >= MOST_MOVEMENT_PCT:
        return
    text = f"Reformats, transposes and separate Q/DQ take {share:.1f} % of the engine."
    yield finding(text, confidence=HIGH, evidence={"movement_pct": share})


RULES = (
    conversion_at_edge,
    movement_share,
    little_movement,
)
