"""PLUG: plugins, with the copies and pointwise layers that they cause."""

from __future__ import annotations

import math
from collections.abc import Iterable

from trex_tui.analysis.structure import describe
from trex_tui.engine.kinds import LayerKind
from trex_tui.lint.context import IDLE, Context, details, issue
from trex_tui.lint.regions import ELEMENTWISE
from trex_tui.lint.rule import HIGH, INFO, MEDIUM, WARNING, Findings, Remedy, Rule, finding
from trex_tui.text import join_words, plural, printable

_NORMALIZATIONS = (
    "InstanceNormalization",
    "GroupNorm",
    "LayerNorm",
    "skipLayerNorm",
    "CustomSkipLayerNorm",
    "CustomEmbLayerNorm",
)


@Rule(
    "PLUG001",
    "Work around plugins",
    WARNING,
    looks_for="Plugins of one type with a reformat, or a generated kernel that moves data, directly before or after "
    "them (or separated by a scale only); plugins for instance, group or layer normalization, also with "
    "the pointwise layers after them.",
    why="TensorRT converts the inputs and outputs of a plugin to its declared layouts and types. If it declares "
    "only the linear layout, both sides are copied. Plugins are never fused.",
    remedy="Accept the neighbours' layout and type in supportsFormatCombination.",
    references=(issue(1489), issue(3192), issue(3962)),
    columns=("kind", "layer_type", "latency_ms", "input_formats", "output_formats"),
    not_when="Reshapes, transposes, slices and concatenations of the model.",
    needs=(details,),
    estimate="without the copies; pointwise layers after a normalization in one kernel",
    formula="time of the copies (half if another layer uses them), and of all pointwise layers after each "
    "normalization but the longest",
)
def work_around_plugins(context: Context) -> Findings:
    by_type: dict[str, list[int]] = {}
    for plugin in context.select(LayerKind.PLUGIN):
        stated = context.attributes[plugin].get("PluginType")
        by_type.setdefault(str(stated or context.layer_types[plugin]), []).append(plugin)
    for plugin_type, plugins in by_type.items():
        copies: dict[int, float] = {}
        pointwise: list[int] = []
        savings: dict[int, float] = {}
        is_normalization = plugin_type.startswith(_NORMALIZATIONS)
        for plugin in plugins:
            copies |= _find_copies(context, plugin)
            if is_normalization:
                behind, between = _find_pointwise(context, plugin)
                copies |= dict.fromkeys(between, 1.0)
                pointwise += behind
                savings |= context.times(set(behind) - {context.longest(behind)} if behind else ())
        savings |= {layer: copies[layer] * ms for layer, ms in context.times(copies).items()}
        if not copies and not is_normalization:
            continue
        parts = [f"{plural(len(plugins), 'plugin')} {printable(plugin_type)} {context.format_time(*plugins)}"]
        for noun, layers in (("copies around them", copies), ("pointwise layers after them", pointwise)):
            parts += [f"{noun} {context.format_time(*layers)}"] if layers else []
        yield finding(
            f"{'; '.join(parts)}. Plugins are not fused.",
            [*plugins, *copies, *pointwise],
            severity=None if savings or copies else INFO,
            confidence=HIGH if copies and not is_normalization else MEDIUM,
            savings=savings,
            evidence={
                "plugin_type": plugin_type,
                "plugins": len(plugins),
                "plugins_ms": context.sum_ms(plugins),
                "copies_ms": math.fsum(savings[layer] for layer in copies if layer in savings) or None,
                "pointwise_ms": context.sum_ms(pointwise),
            },
            remedy=_REPLACE if is_normalization else _name_formats(context, plugins, copies),
        )


_REPLACE: Remedy = tuple(
    f"Build once with TensorRT's own normalization ({how}) and compare, since it is not always faster. Otherwise let "
    "the plugin accept its neighbours' layout and type (supportsFormatCombination)."
    for how in ("without --pluginInstanceNorm", "kNATIVE_INSTANCENORM of the ONNX parser")
)


def _find_copies(context: Context, plugin: int) -> dict[int, float]:
    """Return copies next to a plugin, skipping layers without work, with the part of each that the plugin causes: half
    if it has another reader.
    """
    parts: dict[int, float] = {}
    for layer in filter(context.is_inserted_copy, context.beyond(plugin, IDLE, forward=False)):
        readers = set(context.beyond(layer, IDLE, forward=True))
        parts[layer] = 1.0 if readers <= {plugin} else 0.5
    behind = context.beyond(plugin, IDLE | {LayerKind.SCALE}, forward=True)
    return parts | dict.fromkeys(filter(context.is_inserted_copy, behind), 1.0)


def _find_pointwise(context: Context, plugin: int) -> tuple[list[int], list[int]]:
    """Return the layers that work element by element on the result of a normalization alone, and copies between them."""
    pointwise: list[int] = []
    copies: list[int] = []
    moving, layer = IDLE | {LayerKind.REFORMAT, LayerKind.SHUFFLE}, plugin
    while path := context.only_reader_beyond(layer, moving):
        between, layer = path
        if context.kinds[layer] not in ELEMENTWISE or not context.takes_time(layer) or layer in pointwise:
            break
        pointwise.append(layer)
        copies += filter(context.is_inserted_copy, between)
    return pointwise, copies


def _name_formats(context: Context, plugins: list[int], copies: Iterable[int]) -> str:
    """Return the types and layouts that the plugins should accept: those on the other side of the copies."""
    before = {layer for plugin in plugins for layer in context.beyond(plugin, IDLE, forward=False)}
    ports = [
        (context.inputs if layer in before else context.outputs)[layer][0]
        for layer in copies
        if context.conversion(layer)
    ]
    wanted = join_words(dict.fromkeys(map(describe, ports)))
    return wanted and f"Accept {wanted} in supportsFormatCombination, as the neighbours have it."


RULES = (work_around_plugins,)
