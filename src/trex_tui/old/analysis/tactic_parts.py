"""Parts of a tactic's name, as labels and texts, and the parts in which two tactics differ."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from trex_tui.old.engine.tactics import Shape, Tactic, parse_tactic
from trex_tui.old.text import format_shape, plural

UNKNOWN_LIBRARY = "unknown"
"""Library in `parse_tactic` for names of unknown form."""


class PartChange(NamedTuple):
    """A part of a tactic that differs in another tactic.

    Attributes:
        part: `tile`, `stages`, `instruction`, …
        before, after: As in the names; empty if a name does not have it.
    """

    part: str
    before: str
    after: str


def list_parts(tactic: Tactic) -> list[tuple[str, str]]:
    """Return every part with its text, always in the same order; empty if the name does not have it."""
    cores = "unknown" if tactic.tensor_cores is None else "yes" if tactic.tensor_cores else "no"
    types = [
        f"{word} {dtype.value}"
        for word, dtype in (
            ("in", tactic.input_type),
            ("compute", tactic.compute_type),
            ("accumulate", tactic.accumulate_type),
            ("out", tactic.output_type),
        )
        if dtype is not None
    ]
    special = [
        word for word, yes in (("sparse 2:4", tactic.is_sparse), ("Winograd", tactic.is_winograd)) if yes
    ]
    return [
        ("library", tactic.library),
        ("family", tactic.family),
        ("written for", f"sm_{tactic.architecture}" if tactic.architecture else ""),
        ("tensor cores", cores),
        ("types", " → ".join(types)),
        ("tile", _extents(tactic.tile, "M×N×K")),
        ("stages", str(tactic.stages) if tactic.stages else ""),
        ("warps", _extents(tactic.warps, "M×N×K")),
        ("instruction", _extents(tactic.instruction, "M×N×K")),
        ("filter", _extents(tactic.filter_shape, "R×S")),
        ("split K", tactic.split_k),
        ("alignment", plural(tactic.alignment, "element") if tactic.alignment else ""),
        ("epilogue", tactic.epilogue or ""),
        ("operators", " ".join(tactic.operators)),
        ("special", ", ".join(special)),
    ]


def _extents(shape: Shape | None, meaning: str) -> str:
    return f"{format_shape(shape)} ({meaning[: 2 * len(shape) - 1]})" if shape else ""


@lru_cache(maxsize=1 << 14)
def describe_parts(name: str) -> str:
    """Return family, tile, stages, instruction and split of K in one line; the name itself if it has no tile."""
    tactic = parse_tactic(name)
    if tactic is None or tactic.tile is None:
        return name
    parts = (
        tactic.family,
        format_shape(tactic.tile),
        f"st {tactic.stages}" if tactic.stages else "",
        format_shape(tactic.instruction) if tactic.instruction else "",
        f"split {tactic.split_k}" if tactic.split_k else "",
    )
    return " · ".join(filter(None, parts))


def compare_tactics(before: Iterable[str], after: Iterable[str]) -> tuple[PartChange, ...]:
    """Return the parts in which two tactics differ; empty unless each side has one tactic whose name can be parsed.

    Tactics of different libraries have different parts: parts that one name lacks are then skipped, except for a split of K,
    a special algorithm and the tensor cores.
    """
    tactics = [[parse_tactic(name) for name in dict.fromkeys(names)] for names in (before, after)]
    if any(len(side) != 1 for side in tactics):
        return ()
    (first,), (second,) = tactics
    if first is None or second is None or UNKNOWN_LIBRARY in (first.library, second.library):
        return ()
    is_same_library = first.library == second.library
    return tuple(
        PartChange(part, text, other)
        for (part, text), (_, other) in zip(list_parts(first), list_parts(second), strict=True)
        if text != other and (is_same_library or (text and other) or part in _OFTEN_EMPTY)
    )


_OFTEN_EMPTY = frozenset({"split K", "special"})
"""Parts whose absence from a name means that the tactic has none."""
