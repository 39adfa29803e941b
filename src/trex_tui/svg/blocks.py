"""Modules on top of each other as SVG, each as wide as its share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trex_tui.charts.icicle import Block, Blocks
from trex_tui.svg.frame import Caption, Key, legend, picture
from trex_tui.svg.marks import CHAR, cut, line, number, tag, titled, width_of, words
from trex_tui.svg.style import classes_and_colour
from trex_tui.text import ELLIPSIS, printable

_ROW = 34.0
_LEAST_WITH_NAME = 4 * CHAR


def icicle(caption: Caption, data: Blocks) -> str:
    """Draw the blocks, whose cells are pixels."""
    out: list[str] = []
    keys = [Key(span.text.strip()[0], span.style, span.text.strip()[1:].strip()) for span in data.legend]
    top = legend(keys, caption.room, out)
    scale = caption.room / max(1, data.root.width)
    blocks: list[str] = []
    rows: dict[int, list[str]] = {}
    for block in _all(data.root):
        rows.setdefault(block.depth, []).append(printable(block.label))
    _draw(data, data.root, scale, rows, blocks)
    out.append(tag("g", "".join(blocks), transform=f"translate(0 {number(top)})"))
    return picture(caption, out, top + _ROW * data.levels + 4)


def _all(block: Block) -> Iterator[Block]:
    yield block
    for one in block.inside:
        yield from _all(one)


def _name(label: str, room: float, row: Sequence[str]) -> str:
    """A name in its block: head and tail, else the head alone; nothing where another of its row could be meant as well.

    >>> _name("16/conv", 3 * CHAR, ["16/conv", "15/conv"]), _name("16/conv", 2 * CHAR, ["16/conv", "15/conv"])
    ('16…', '')
    """
    whole = printable(label)
    middle = cut(whole, room)
    if middle == whole:
        return whole
    others = [one for one in row if one != whole]
    head = whole[: len(middle) - 1] + ELLIPSIS
    return next((text for text in (middle, head) if not any(_fits(text, one) for one in others)), "")


def _fits(text: str, name: str) -> bool:
    """Whether a cut text may stand for a name."""
    head, _, tail = text.partition(ELLIPSIS)
    return len(name) > len(head) + len(tail) and name.startswith(head) and name.endswith(tail)


def _draw(data: Blocks, block: Block, scale: float, rows: dict[int, list[str]], out: list[str]) -> None:
    x, y, width = block.start * scale, block.depth * _ROW, block.width * scale
    size = " ".join(data.size_words(block).split())
    look, colour = classes_and_colour(data.style(block))
    out.append(
        tag(
            "rect",
            titled(f"{block.label}  {size}"),
            class_=look,
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
        if name := _name(block.label, width - 8, rows[block.depth]):
            out.append(words(x + 5, y + 14, name))
        if width_of(size) <= width - 8:
            out.append(words(x + 5, y + 28, size, style="$muted"))
    for one in block.inside:
        _draw(data, one, scale, rows, out)
