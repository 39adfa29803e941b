"""The modules of the network as blocks: each as wide as its time, on top of what it is made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from trex_tui.analysis.modules import Group, Grouping, arrange, fused_words, label_in, module_path
from trex_tui.analysis.structure import sum_latency_ms
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.report.charts.cells import BAR_SIGN, kind_entries, legend_rows, put_row
from trex_tui.report.charts.figure import HERE_STYLE, NO_LAYER, Figure, Subject
from trex_tui.report.charts.grid import Part, Span, cells_of, shorten
from trex_tui.text import ELLIPSIS, format_ms, plural, printable

MOST_LEVELS = 30
LEAST_CELLS = 2
"""Narrower blocks share one."""
LEAST_WITH_NAME = 4
"""Cells of a block that has a name in it."""
_LEAST_TO_WRAP, _LEAST_IN_MIDDLE = 6, 12
"""Cells from which on a name goes on in the next line, or is cut in its middle."""
_EDGE = "▌"
_MOST_ROWS = 5
"""Rows of a block where there is room: the name in several lines, and the time."""


@dataclass(frozen=True, slots=True)
class Block:
    """A module or a layer in the icicle.

    Attributes:
        label: Of the module or layer; `+3` for parts too narrow to be told apart, which share a block.
        size: Its milliseconds or, without any time, its layers.
        start, width: Cells.
        depth: 0 for all layers.
        kind: What takes most of its time.
        is_here: The current layer is in it.
        inside: The blocks below; their widths add up to its own.
    """

    label: str
    size: float
    start: int
    width: int
    depth: int
    kind: LayerKind | None
    is_here: bool
    inside: tuple[Block, ...] = field(default=())


def block_widths(sizes: Sequence[float], width: int) -> list[int]:
    """Cells for each size in proportion, adding up to `width` exactly."""
    total = math.fsum(sizes)
    if total <= 0:
        return [0] * len(sizes)
    ends, done = [0], 0.0
    for size in sizes:
        done += size
        ends.append(min(width, math.floor(done / total * width + 0.5)))
    ends[-1] = width
    return [end - start for start, end in pairwise(ends)]


def icicle(layers: Sequence[Layer], width: int, current: Layer | None, *, is_timed: bool) -> Block:
    """Blocks for layers by module, in `width` cells.

    Args:
        is_timed: Blocks are as wide as their time; else as their number of layers.
    """
    return _Builder(current, is_timed).block("all layers", arrange(layers, Grouping.MODULE), 0, width, 0)


@dataclass(frozen=True, slots=True)
class _Builder:
    current: Layer | None
    is_timed: bool

    def size(self, one: Group | Layer) -> float:
        if self.is_timed:
            return one.latency_ms or 0.0
        return 1.0 if isinstance(one, Layer) else float(len(one.layers))

    def block(self, label: str, one: Group | Layer, start: int, width: int, depth: int) -> Block:
        layers = [one] if isinstance(one, Layer) else one.layers
        is_here = any(layer is self.current for layer in layers)
        inside: tuple[Block, ...] = ()
        if isinstance(one, Group) and depth < MOST_LEVELS and width > 1:
            inside = tuple(self.parts(one, start, width, depth + 1))
        return Block(label, self.size(one), start, width, depth, self.main_kind(layers), is_here, inside)

    def parts(self, group: Group, start: int, width: int, depth: int) -> Iterable[Block]:
        """What is directly in a group, the largest first; those that are too narrow share what is left."""
        entries = sorted(group.entries, key=lambda one: -self.size(one))
        sizes = [self.size(one) for one in entries]
        total = math.fsum(sizes)
        wide = sum(size * width >= LEAST_CELLS * total for size in sizes) if total > 0 else 0
        if wide < len(sizes):
            sizes = [*sizes[:wide], math.fsum(sizes[wide:])]
        widths = block_widths(sizes, width)
        for one, cells in zip(entries[:wide], widths, strict=False):
            if cells:
                yield self.block(self.label(one, len(group.path)), one, start, cells, depth)
                start += cells
        rest = entries[wide:]
        if rest and widths[-1]:
            layers = [layer for one in rest for layer in ([one] if isinstance(one, Layer) else one.layers)]
            is_here = any(layer is self.current for layer in layers)
            yield Block(f"+{len(rest)}", sizes[-1], start, widths[-1], depth, None, is_here)

    @staticmethod
    def label(one: Group | Layer, depth: int) -> str:
        return label_in(one, depth) if isinstance(one, Layer) else one.name

    def main_kind(self, layers: Iterable[Layer]) -> LayerKind | None:
        times: dict[LayerKind, float] = {}
        for layer in layers:
            times[layer.kind] = times.get(layer.kind, 0.0) + self.size(layer)
        return max(times, key=times.__getitem__, default=None)


def icicle_figure(subject: Subject, width: int) -> Figure:
    """Time over the hierarchy of modules."""
    layers = subject.layers
    if not layers:
        return Figure((NO_LAYER,))
    total = sum_latency_ms(layers)
    is_timed = bool(total)
    root = icicle(layers, width, subject.shown_current, is_timed=is_timed)
    if is_timed:
        untimed = sum(layer.latency_ms is None for layer in layers)
        words = f"Time by module, each block as wide as its share: {plural(len(layers), 'layer')}, {format_ms(total)} ms."
        missing = (f"{plural(untimed, 'layer')} without a time have no width.",) if untimed else ()
    else:
        words = (
            f"Layers by module, each block as wide as its number of layers: {plural(len(layers), 'layer')}."
        )
        missing = ("No time is known. `trtexec --exportProfile` tells times.",)
    path = [_in_words(block) for block in _path_here(root)][1:]
    here = (f"The current layer: {' › '.join(path)}.",) if path else ()
    if fused := fused_words(layers):
        here = (fused, *here)
    if not any(map(module_path, layers)):
        missing = (*missing, "The names of these layers tell no modules.")
    data = Blocks(root, is_timed, subject.palette.kind)
    return Figure((words, *here), missing, data.paint, data=data)


def _path_here(block: Block) -> list[Block]:
    if not block.is_here:
        return []
    below = next((one for one in block.inside if one.is_here), None)
    return [block, *(_path_here(below) if below else [])]


def _in_words(block: Block) -> str:
    return block.label if block.kind else f"one of {block.label[1:]} too narrow to show"


@dataclass(frozen=True, slots=True)
class Blocks:
    """What the chart is of: the block of all layers with those on top of it, sized by time or by number of layers."""

    root: Block
    is_timed: bool
    kind_style: Callable[[LayerKind], str]

    @property
    def legend(self) -> list[Span]:
        """The kinds in whose colours there are blocks."""
        sizes: dict[LayerKind, float] = {}
        pending = [self.root]
        while pending:
            block = pending.pop()
            pending.extend(block.inside)
            if block.kind is not None:
                sizes[block.kind] = sizes.get(block.kind, 0.0) + block.size
        return kind_entries(sizes, self.kind_style, lambda _: BAR_SIGN)

    @property
    def levels(self) -> int:
        """How many blocks lie on top of each other at most."""
        return _levels(self.root)

    def style(self, block: Block) -> str:
        """Of a block: that of what takes most of its time."""
        if block.is_here:
            return HERE_STYLE
        return self.kind_style(block.kind) if block.kind else "$muted"

    def size_words(self, block: Block) -> str:
        """Its time and its share."""
        share = f"{100.0 * block.size / self.root.size:.1f} %" if self.root.size else ""
        figure = f"{format_ms(block.size)} ms" if self.is_timed else plural(round(block.size), "layer")
        return f"{figure}  {share}"

    def paint(self, part: Part) -> None:
        """Draw it into a part of a grid."""
        spare = part.height - self.levels - 1
        if spare > 0:
            legend = legend_rows(self.legend, part.width, part.width, min(2, spare))
            for row, spans in enumerate(legend):
                put_row(part, part.height - len(legend) + row, spans)
            part = part.part(0, 0, part.width, part.height - len(legend))
        rows = max(1, min(_MOST_ROWS, part.height // self.levels))
        _paint_block(part, self.root, rows, self.style, self.size_words)


def _levels(block: Block) -> int:
    return 1 + max(map(_levels, block.inside), default=0)


def _name_in(label: str, room: int, rows: int) -> list[str]:
    """A name in a block, in up to `rows` lines; its head where there is no room to tell head from tail."""
    cells = cells_of(printable(label))
    if len(cells) <= room:
        return ["".join(cells)]
    if rows == 1 and room >= _LEAST_IN_MIDDLE:
        return [shorten(label, room)]
    rows = rows if room >= _LEAST_TO_WRAP else 1
    lines = ["".join(cells[start : start + room]) for start in range(0, len(cells), room)]
    if len(lines) > rows:
        lines = [*lines[: rows - 1], "".join(cells[(rows - 1) * room : rows * room - 1]) + ELLIPSIS]
    return lines


def _paint_block(
    part: Part, block: Block, rows: int, style: Callable[[Block], str], size_words: Callable[[Block], str]
) -> None:
    """A block with its edge at the left; names stand where there is room for more than a letter or two."""
    top, look = block.depth * rows, style(block)
    background = " on $panel" if block.depth % 2 == 0 else " on $surface"
    for row in range(rows):
        part.put(block.start, top + row, " " * block.width, look + background)
        part.put(block.start, top + row, _EDGE, look + background)
    room = block.width - 1
    if block.width >= LEAST_WITH_NAME:
        mark = "● " if block.is_here and room >= LEAST_WITH_NAME + 2 else ""
        names = _name_in(mark + block.label, room, max(1, rows - 1))
        for row, name in enumerate(names):
            part.put(block.start + 1, top + row, name, look + background)
        words = size_words(block)
        words = words if len(cells_of(words)) <= room else words.split("  ")[-1]
        if rows > 1 and len(cells_of(words)) <= room:
            part.put(block.start + 1, top + len(names), words, background.strip())
    for one in block.inside:
        _paint_block(part, one, rows, style, size_words)
