"""Charts of the whole network: live activations along the execution, and the modules as blocks by their time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from trex_tui.old.analysis.memory import ActivationMemory, activation_memory
from trex_tui.old.analysis.modules import Group, Grouping, arrange, describe_fusion, label_in, module_path
from trex_tui.old.analysis.structure import sum_latency_ms
from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Layer
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.absence import no_layer, no_profile
from trex_tui.old.report.charts.figure import (
    HERE,
    HERE_STYLE,
    MUTED,
    PRIMARY,
    WARNING,
    Blocks,
    Chart,
    Figure,
    Flag,
    IcicleBlock,
    Subject,
    bar_keys,
)
from trex_tui.old.report.charts.layer_charts import columns_of_layers, describe_crowding
from trex_tui.old.report.charts.value_charts import find_bytes_unit
from trex_tui.old.text import format_bytes, format_ms, plural

_PEAK, _BOTH = "▲", "◆"
"""Signs of the layer at the memory peak: another one, and the current one."""
_MOST_LEVELS = 30
_LEAST_WIDTH = 2
"""Minimum width of a block; narrower ones share one."""


@per_engine
def _activations(engine: Engine) -> ActivationMemory:
    return activation_memory(engine)


def memory_in_order(subject: Subject) -> Figure:
    """Draw the bytes that are live while each layer runs."""
    layers = subject.engine.layers
    memory = _activations(subject.engine)
    if memory.peak_bytes is None or memory.peak_index is None:
        return Figure(("Live memory unknown: no tensor sizes.",))
    here = subject.current.index if subject.current else None
    here_words = "" if here is None else f"; {format_bytes(memory.live_bytes[here])} at layer {here}"
    sign = _BOTH if here == memory.peak_index else _PEAK
    words = (
        f"Activation memory by layer: peak {format_bytes(memory.peak_bytes)} at layer {memory.peak_index} "
        f"({sign}), in {plural(len(memory.live_at_peak), 'tensor')}{here_words}.",
        *(("All layers; the filter does not apply.",) if subject.is_filtered else ()),
        *describe_crowding(len(layers), subject.width, "the most"),
    )
    missing: tuple[str, ...] = ()
    if memory.unknown:
        missing = (
            f"{plural(memory.unknown, 'tensor')} of unknown size excluded: the peak is a lower bound.",
        )
    flags = [Flag(memory.peak_index, _PEAK, f"{_PEAK} layer {memory.peak_index}", WARNING)]
    if here is not None:
        flags.append(Flag(here, _BOTH if here == memory.peak_index else HERE, "", HERE_STYLE))
    unit, unit_name = find_bytes_unit(memory.peak_bytes)
    form = columns_of_layers(
        layers,
        [size / unit for size in memory.live_bytes],
        [PRIMARY] * len(layers),
        f"live activations, {unit_name}",
        flags=flags,
    )
    return Figure(words, missing, form)


def icicle(subject: Subject) -> Figure:
    """Draw time over the hierarchy of modules."""
    layers = subject.layers
    if not layers:
        return Figure((no_layer(subject.engine),))
    total = sum_latency_ms(layers)
    counted = plural(len(layers), "layer")
    root = build_blocks(layers, subject.width, subject.shown_current, is_timed=bool(total))
    missing: tuple[str, ...]
    if total:
        untimed = sum(layer.latency_ms is None for layer in layers)
        words = [f"Modules (icicle, width = time): {counted}, {format_ms(total)} ms."]
        missing = (f"{plural(untimed, 'layer')} without a time not shown.",) if untimed else ()
    else:
        words = [f"Modules (icicle, width = layers): {counted}."]
        missing = (no_profile(subject.engine),)
    if fused := describe_fusion(layers):
        words.append(fused)
    path = [block for block in root.every() if block.is_here][1:]
    if path:
        words.append(f"The current layer: {' › '.join(map(_describe_block, path))}.")
    if not any(map(module_path, layers)):
        missing = (*missing, "No modules in these layer names.")

    def style(block: IcicleBlock) -> str:
        if block.is_here:
            return HERE_STYLE
        return subject.palette.kind(block.kind) if block.kind else MUTED

    def size(block: IcicleBlock) -> str:
        share = f"{100.0 * block.size / root.size:.1f} %" if root.size else ""
        figure = f"{format_ms(block.size)} ms" if total else plural(round(block.size), "layer")
        return f"{figure}  {share}"

    kinds = ((block.kind, block.size) for block in root.every() if block.kind is not None)
    form = Blocks(root, style, size, bar_keys(kinds, subject.palette.kind))
    return Figure(tuple(words), missing, form)


def _describe_block(block: IcicleBlock) -> str:
    return block.label if block.kind else f"one of {block.label[1:]} too narrow"


def build_blocks(
    layers: Sequence[Layer], width: int, current: Layer | None, *, is_timed: bool
) -> IcicleBlock:
    """Return blocks for layers by module, in `width` cells.

    Args:
        is_timed: Width of blocks by their time; else by their number of layers.
    """
    return _IcicleBuilder(current, is_timed).block(
        "all layers", arrange(layers, Grouping.MODULE), 0, width, 0
    )


def block_widths(sizes: Sequence[float], width: int) -> list[int]:
    """Return widths in proportion to the sizes, adding up to `width` exactly."""
    total = math.fsum(sizes)
    if total <= 0:
        return [0] * len(sizes)
    ends, done = [0], 0.0
    for size in sizes:
        done += size
        ends.append(min(width, math.floor(done / total * width + 0.5)))
    ends[-1] = width
    return [end - start for start, end in pairwise(ends)]


@dataclass(frozen=True, slots=True)
class _IcicleBuilder:
    current: Layer | None
    is_timed: bool

    def size(self, entry: Group | Layer) -> float:
        if self.is_timed:
            return entry.latency_ms or 0.0
        return 1.0 if isinstance(entry, Layer) else float(len(entry.layers))

    def block(self, label: str, entry: Group | Layer, start: int, width: int, depth: int) -> IcicleBlock:
        layers = _layers_in(entry)
        is_here = any(layer is self.current for layer in layers)
        inside: tuple[IcicleBlock, ...] = ()
        if isinstance(entry, Group) and depth < _MOST_LEVELS and width > 1:
            inside = tuple(self.parts(entry, start, width, depth + 1))
        return IcicleBlock(
            label,
            self.size(entry),
            start,
            width,
            depth,
            self.main_kind(layers),
            is_here,
            inside,
            entry.index if isinstance(entry, Layer) else None,
        )

    def parts(self, group: Group, start: int, width: int, depth: int) -> Iterable[IcicleBlock]:
        """Yield the direct content of a group, the largest first; narrow blocks share the remaining width."""
        entries = sorted(group.entries, key=lambda entry: -self.size(entry))
        sizes = [self.size(entry) for entry in entries]
        total = math.fsum(sizes)
        wide = sum(size * width >= _LEAST_WIDTH * total for size in sizes) if total > 0 else 0
        if wide < len(sizes):
            sizes = [*sizes[:wide], math.fsum(sizes[wide:])]
        widths = block_widths(sizes, width)
        for entry, cells in zip(entries[:wide], widths, strict=False):
            if cells:
                label = label_in(entry, len(group.path)) if isinstance(entry, Layer) else entry.name
                yield self.block(label, entry, start, cells, depth)
                start += cells
        rest = entries[wide:]
        if rest and widths[-1]:
            is_here = any(layer is self.current for entry in rest for layer in _layers_in(entry))
            yield IcicleBlock(f"+{len(rest)}", sizes[-1], start, widths[-1], depth, None, is_here)

    def main_kind(self, layers: Iterable[Layer]) -> LayerKind | None:
        times: dict[LayerKind, float] = {}
        for layer in layers:
            times[layer.kind] = times.get(layer.kind, 0.0) + self.size(layer)
        return max(times, key=times.__getitem__, default=None)


def _layers_in(entry: Group | Layer) -> Sequence[Layer]:
    return [entry] if isinstance(entry, Layer) else entry.layers


CHARTS = (
    Chart("memory", "Memory in order", "Live activation memory in execution order.", memory_in_order),
    Chart(
        "icicle",
        "Modules",
        "Time by module (icicle).",
        icicle,
        untimed=("Modules", "Layers by module (icicle)."),
    ),
)
