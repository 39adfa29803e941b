"""Find plugins with the layers they cause: copies on both sides, and pointwise work that is not fused with them."""

from __future__ import annotations

from collections.abc import Mapping

from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Layer
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.lint.context import Context, takes_time
from trex_tui.old.lint.dataflow import IDLE, beyond, only_reader_beyond

COPIES = frozenset({LayerKind.REFORMAT, LayerKind.SHUFFLE})
ELEMENTWISE = frozenset({LayerKind.POINTWISE, LayerKind.SCALE})

_NORMALIZATIONS = (
    "InstanceNormalization",
    "GroupNorm",
    "LayerNorm",
    "skipLayerNorm",
    "CustomSkipLayerNorm",
    "CustomEmbLayerNorm",
)


@dataclass(frozen=True)
class PluginRegion:
    """A plugin and the layers it causes.

    Attributes:
        plugin: The plugin.
        copies: Index of each copy -> the part of it caused by the plugin: half if it has another reader.
        pointwise: After a normalization, the layers that work element by element on its result alone: scale, activation.
    """

    plugin: Layer
    copies: Mapping[int, float]
    pointwise: tuple[Layer, ...]

    @property
    def plugin_type(self) -> str:
        """Type stated in the file, without its version."""
        return str(self.plugin.attributes.get("PluginType") or self.plugin.layer_type)

    @property
    def is_normalization(self) -> bool:
        stated = self.plugin.attributes.get("PluginType")
        return isinstance(stated, str) and stated.startswith(_NORMALIZATIONS)

    @property
    def indices(self) -> tuple[int, ...]:
        """Indices of all of its layers, in execution order."""
        return tuple(sorted({self.plugin.index, *self.copies, *(layer.index for layer in self.pointwise)}))


@per_engine
def find_plugin_regions(engine: Engine) -> tuple[PluginRegion, ...]:
    """Return the regions of all plugins, in execution order."""
    context = Context(engine)
    return tuple(_find_region(context, plugin) for plugin in context.select(LayerKind.PLUGIN))


def map_plugin_regions(engine: Engine) -> dict[int, PluginRegion]:
    """Return the region of each copy and pointwise layer by index; a copy between two plugins belongs to the later one."""
    return {index: region for region in find_plugin_regions(engine) for index in region.indices}


def _find_region(context: Context, plugin: Layer) -> PluginRegion:
    region = PluginRegion(plugin, _find_copies(context, plugin), ())
    if not region.is_normalization:
        return region
    copies, pointwise = dict(region.copies), list[Layer]()
    layer = plugin
    while path := only_reader_beyond(context, layer, IDLE | COPIES):
        between, layer = path
        if layer.kind not in ELEMENTWISE or not takes_time(layer) or layer in pointwise:
            break
        pointwise.append(layer)
        copies |= {step.index: 1.0 for step in between if step.kind in COPIES and takes_time(step)}
    return PluginRegion(plugin, dict(sorted(copies.items())), tuple(pointwise))


def _find_copies(context: Context, plugin: Layer) -> dict[int, float]:
    """Return copies next to a plugin, skipping layers without work; after it also skipping a scale."""
    parts: dict[int, float] = {}
    for layer in beyond(context, plugin, IDLE, forward=False):
        if layer.kind in COPIES and takes_time(layer):
            readers = {reader.index for reader in beyond(context, layer, IDLE, forward=True)}
            parts[layer.index] = 1.0 if readers <= {plugin.index} else 0.5
    for layer in beyond(context, plugin, IDLE | {LayerKind.SCALE}, forward=True):
        if layer.kind in COPIES and takes_time(layer):
            parts[layer.index] = 1.0
    return dict(sorted(parts.items()))
