"""What the colours and signs of kinds mean. Kinds that look the same share an entry, so that no entry reads as another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from trex_tui.charts.grid import Part, Span, cells_of, shorten
from trex_tui.colours import kind_style
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer

_MUTED = "$muted"
BAR_SIGN = "■"


def kind_entries(
    weights: Mapping[LayerKind, float], style: Callable[[LayerKind], str], sign: Callable[[LayerKind], str]
) -> list[Span]:
    """Every kind of some weight, the heaviest first; those of one sign and one colour together, as `■ gemm, attention`.

    Args:
        weights: What counts for the order, such as milliseconds; kinds of none are left out.
        style: Of an entry, by the first of its kinds.
    """
    looks: dict[tuple[str, str], list[LayerKind]] = {}
    for kind in sorted((kind for kind in weights if weights[kind] > 0), key=lambda kind: -weights[kind]):
        # Bold is no colour: a block looks the same with it.
        looks.setdefault((sign(kind), kind_style(kind).rpartition(" ")[2]), []).append(kind)
    return [
        Span(f"  {mark} {', '.join(kind.value for kind in kinds)}", style(kinds[0]))
        for (mark, _), kinds in looks.items()
    ]


def bar_entries(layers: Iterable[Layer], style: Callable[[LayerKind], str]) -> list[Span]:
    """The kinds of layers that have a time, for a chart of bars in their colours."""
    times: dict[LayerKind, float] = {}
    for layer in layers:
        times[layer.kind] = times.get(layer.kind, 0.0) + (layer.latency_ms or 0.0)
    return kind_entries(times, style, lambda _: BAR_SIGN)


def legend_rows(legend: Sequence[Span], room: int, width: int, most: int) -> list[list[Span]]:
    """Entries in rows; what there is no row for is named at the end without its colour, or counted at least.

    Args:
        room: Cells of the first row.
        width: Cells of the rows below it.
        most: How many rows there may be.
    """
    rows: list[list[Span]] = [[]]
    left = room
    for place, span in enumerate(legend):
        cells = len(cells_of(span.text))
        if cells > left:
            if len(rows) == most:
                return [*rows[:-1], _with_rest(rows[-1], legend[place:], left)]
            rows.append([])
            left = width
        rows[-1].append(span)
        left -= cells
    return rows


def _with_rest(row: Sequence[Span], rest: Sequence[Span], left: int) -> list[Span]:
    """The last row with words for what is left out, which take the place of entries where there is no room beside them."""
    names = [name for span in rest for name in span.text.strip().partition(" ")[2].split(", ")]
    words = f"  also {', '.join(names)}"
    if len(cells_of(words)) <= left:
        return [*row, Span(words, _MUTED)]
    words = f"  +{len(names)} more"
    if row and len(words) > left:
        return _with_rest(row[:-1], [row[-1], *rest], left + len(cells_of(row[-1].text)))
    return [*row, Span(shorten(words, left), _MUTED)]


def put_row(part: Part, y: int, row: Sequence[Span]) -> None:
    """Write entries at the right end of a row."""
    x = part.width - sum(len(cells_of(span.text)) for span in row)
    for span in row:
        part.put(x, y, span.text, span.style)
        x += len(cells_of(span.text))
