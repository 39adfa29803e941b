"""The Pareto front of two measures: the engines that no other engine beats in both."""

from __future__ import annotations

from collections.abc import Sequence

Point = tuple[float | None, float | None]


def find_front(points: Sequence[Point], *, is_x_higher: bool = False, is_y_higher: bool = False) -> list[int]:
    """Return the indices of the points on the front, from the best x to the best y.

    A point is on the front if no other is at least as good in both measures and better in one; equal points are all on it.
    Points with an unknown value are never.

    Args:
        points: x and y; None where unknown.
        is_x_higher, is_y_higher: Larger values are better.
    """
    x_sign, y_sign = (-1.0 if is_higher else 1.0 for is_higher in (is_x_higher, is_y_higher))
    costs = sorted(
        (x * x_sign, y * y_sign, index)
        for index, (x, y) in enumerate(points)
        if x is not None and y is not None and x == x and y == y
    )
    front: list[int] = []
    best: tuple[float, float] | None = None
    for x, y, index in costs:
        if best is None or y < best[1] or (x, y) == best:
            front.append(index)
            best = (x, y)
    return front
