"""Long names in little room, so that no two of them read the same."""

from __future__ import annotations

from collections.abc import Sequence

from trex_tui.charts.grid import cells_of, shorten
from trex_tui.text import ELLIPSIS, printable

_HEAD = 6
"""Characters of a name's beginning that stay where it is cut to tell it from another."""


def apart(names: Sequence[str], width: int) -> list[str]:
    """Names in at most `width` cells, each different: head and tail, else head and what tells it from those alike.

    Kernels differ somewhere in the middle of a hundred characters: a cut name begins again with the word in which it first
    differs from those that would read the same. What no cut tells apart gets a number.
    """
    whole = [printable(name) for name in names]
    labels = [shorten(name, width) for name in names]
    for _ in names:
        groups = _alike(labels)
        if not groups:
            return labels
        for group in groups:
            _cut_at_difference(whole, group, labels, width)
    return _numbered(labels, width)


def _alike(labels: Sequence[str]) -> list[list[int]]:
    """The places of labels that read the same."""
    places: dict[str, list[int]] = {}
    for place, label in enumerate(labels):
        places.setdefault(label, []).append(place)
    return [group for group in places.values() if len(group) > 1]


def _cut_at_difference(whole: Sequence[str], group: Sequence[int], labels: list[str], width: int) -> None:
    common = _common([whole[place] for place in group])
    for place in group:
        name = whole[place]
        # Not farther back than that the difference still stands in the label.
        start = max(name.rfind("_", 0, common) + 1, common - max(0, width - _HEAD - 3) // 2)
        begins = max(_HEAD, width - 1 - len(cells_of(name[start:])))
        head = f"{name[:begins]}{ELLIPSIS}" if start > begins else name[:start]
        cells = cells_of(head + name[start:])
        labels[place] = "".join(cells) if len(cells) <= width else _first(cells, width - 1) + ELLIPSIS


def _first(cells: Sequence[str], count: int) -> str:
    """At most so many cells, and no half of a wide character."""
    count = max(0, count)
    while 0 < count < len(cells) and not cells[count]:
        count -= 1
    return "".join(cells[:count])


def _common(names: Sequence[str]) -> int:
    """How many characters names begin with in common."""
    first, last = min(names), max(names)
    differing = (place for place, (one, two) in enumerate(zip(first, last, strict=False)) if one != two)
    return next(differing, min(len(first), len(last)))


def _numbered(labels: list[str], width: int) -> list[str]:
    """The second of equal labels ends in `~2`, and so on."""
    for group in _alike(labels):
        number = 1
        for place in group[1:]:
            while True:
                number += 1
                end = f"~{number}"
                label = _first(cells_of(labels[place]), width - len(end)) + end
                if label not in labels:
                    break
            labels[place] = label
    return labels
