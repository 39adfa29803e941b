"""PLUG: what plugins cost beside their own time."""

from __future__ import annotations

import math
from collections.abc import Iterator

from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.lint.context import Context
from trex_tui.lint.dataflow import IDLE, beyond
from trex_tui.lint.lint_text import NO_DETAILS, called, indices, ran, time_text
from trex_tui.lint.model import Confidence, Evidence, Finding, NotChecked, Rule, Severity
from trex_tui.text import plural

_COPIES = frozenset({LayerKind.REFORMAT, LayerKind.SHUFFLE})


def _forced_copies(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("PLUG001", NO_DETAILS)
        return
    for plugin in context.layers:
        if plugin.kind is not LayerKind.PLUGIN:
            continue
        copies = copies_around(context, plugin)
        if copies:
            yield _finding(context, plugin, copies)


def copies_around(context: Context, plugin: Layer) -> dict[int, float]:
    """Index of each copy next to a plugin -> the part of it that is for the plugin's sake: half if it has another reader."""
    found: dict[int, float] = {}
    for layer in beyond(context, plugin, IDLE, forward=False):
        if layer.kind in _COPIES and ran(layer):
            readers = {one.index for one in beyond(context, layer, IDLE, forward=True)}
            found[layer.index] = 1.0 if readers <= {plugin.index} else 0.5
    for layer in beyond(context, plugin, IDLE | {LayerKind.SCALE}, forward=True):
        if layer.kind in _COPIES and ran(layer):
            found[layer.index] = 1.0
    return dict(sorted(found.items()))


def _finding(context: Context, plugin: Layer, parts: dict[int, float]) -> Finding:
    copies = [context.layers[index] for index in parts]
    stakes = {
        layer.index: parts[layer.index] * layer.latency_ms for layer in copies if layer.latency_ms is not None
    }
    total = math.fsum(stakes.values()) if stakes else None
    only_reformats = all(layer.kind is LayerKind.REFORMAT for layer in copies)
    types = [
        f"{layer.inputs[0].description} → {layer.outputs[0].description}"
        for layer in copies
        if _has_ends(layer)
    ]
    return Finding(
        "PLUG001",
        f"{plural(len(copies), 'copy', 'copies')} around the plugin {called(plugin)}: "
        f"{time_text(total, context.pct(total))}, beside {time_text(plugin.latency_ms)} of the plugin itself.",
        indices([plugin, *copies]),
        confidence=Confidence.HIGH if only_reformats else Confidence.MEDIUM,
        stakes_ms=stakes,
        formula="sum of latency_ms of the copies; half of one that serves another layer as well",
        evidence=(
            Evidence("plugin_type", str(plugin.attributes.get("PluginType") or plugin.layer_type)),
            Evidence("copies_ms", total),
            Evidence("plugin_ms", plugin.latency_ms),
            Evidence("conversions", "; ".join(dict.fromkeys(types)) or None),
        ),
    )


def _has_ends(layer: Layer) -> bool:
    return bool(layer.inputs and layer.outputs)


RULES: tuple[Rule, ...] = (
    Rule(
        id="PLUG001",
        title="Plugin forces copies around it",
        severity=Severity.WARNING,
        looks_for="A plugin with a reformat, transpose or reshape that takes time next to it: before it, or behind it, a "
        "scale at most between.",
        why="TensorRT converts whatever a plugin reads and writes to the layouts and types that it declares; where it "
        "declares only the linear one, both sides are copied.",
        remedy="Accept the neighbours' layout and type in supportsFormatCombination (kHWC8, kHWC16, kCHW32; FP16), and read "
        "the network input's own type.",
        references=(
            "NVIDIA/TensorRT#1489: https://github.com/NVIDIA/TensorRT/issues/1489",
            "NVIDIA/TensorRT#3192: https://github.com/NVIDIA/TensorRT/issues/3192",
        ),
        columns=("kind", "layer_type", "latency_ms", "input_formats", "output_formats"),
        check=_forced_copies,
        not_when="Slices and concatenations next to it, which are the network's own work.",
    ),
)
