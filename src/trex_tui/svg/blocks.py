"""Modules on top of each other as SVG, each as wide as its share."""

from __future__ import annotations

from trex_tui.charts.icicle import Block, Blocks
from trex_tui.svg.frame import Caption, Key, legend, picture
from trex_tui.svg.marks import CHAR, cut, line, number, tag, titled, width_of, words
from trex_tui.svg.style import classes_and_colour

_ROW = 34.0
_LEAST_WITH_NAME = 4 * CHAR


def icicle(caption: Caption, data: Blocks) -> str:
    """Draw the blocks, whose cells are pixels."""
    out: list[str] = []
    keys = [Key(span.text.strip()[0], span.style, span.text.strip()[1:].strip()) for span in data.legend]
    top = legend(keys, caption.room, out)
    scale = caption.room / max(1, data.root.width)
    blocks: list[str] = []
    _draw(data, data.root, scale, blocks)
    out.append(tag("g", "".join(blocks), transform=f"translate(0 {number(top)})"))
    return picture(caption, out, top + _ROW * data.levels + 4)


def _draw(data: Blocks, block: Block, scale: float, out: list[str]) -> None:
    x, y, width = block.start * scale, block.depth * _ROW, block.width * scale
    size = " ".join(data.size_words(block).split())
    name, colour = classes_and_colour(data.style(block))
    out.append(
        tag(
            "rect",
            titled(f"{block.label}  {size}"),
            class_=name,
            color=colour,
            x=x + 0.5,
            y=y + 1,
            width=max(0.5, width - 1.5),
            height=_ROW - 2,
            fill_opacity=0.28,
        )
    )
    if width >= _LEAST_WITH_NAME:
        out.append(line(x + 1, y + 1, x + 1, y + _ROW - 1, data.style(block)))
        out.append(words(x + 5, y + 14, cut(block.label, width - 8)))
        if width_of(size) <= width - 8:
            out.append(words(x + 5, y + 28, size, style="$muted"))
    for one in block.inside:
        _draw(data, one, scale, out)
