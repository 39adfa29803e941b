"""What of a comparison is shown: all of it, or a part that a person asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trex_tui.analysis.compare.model import Block, Change, ChangeKind, Comparison
from trex_tui.analysis.gates import GateResult
from trex_tui.engine.model import Layer
from trex_tui.filtering import FilterError, filter_layers
from trex_tui.text import MISSING, format_ms, plural, printable

TOP = 20
"""Blocks that text, Markdown and HTML show unless told otherwise."""
MOST_COLUMNS = 8
"""Engines that fit side by side; of more, tables hold the baseline and the fastest."""


@dataclass(frozen=True)
class Shown:
    """A comparison, and what to tell of it.

    Attributes:
        comparison: The whole; totals are always of the whole.
        blocks: What the filter leaves, by the magnitude of their delta.
        top: How many of them tables show; None for all.
        filter_text: What was filtered by; empty for nothing.
        gates: Gates that were judged.
    """

    comparison: Comparison
    blocks: Sequence[Block]
    top: int | None = TOP
    filter_text: str = ""
    gates: Sequence[GateResult] = ()

    @property
    def rows(self) -> Sequence[Block]:
        """The blocks that a table shows: those that differ in time or otherwise, the largest delta first."""
        told = [block for block in self.blocks if block.delta_ms or block.changes or block.absent]
        return told[: self.top]

    @property
    def columns(self) -> Sequence[int]:
        """Places of the engines that tables show."""
        places = range(len(self.comparison.engines))
        if len(places) <= MOST_COLUMNS:
            return places
        best = [place for place in self.comparison.ranking if place != self.comparison.baseline]
        return sorted([self.comparison.baseline, *best[: MOST_COLUMNS - 1]])

    @property
    def rest_words(self) -> str:
        """What the table leaves out, in a sentence; empty if nothing."""
        shown, known = len(self.rows), len(self.comparison.blocks)
        words = (
            f"{shown} of {plural(known, 'block')}" if shown < known else f"all of {plural(known, 'block')}"
        )
        return f"{words}, the largest difference first" + (
            f"; filter: {self.filter_text}" if self.filter_text else ""
        )


def filtered(comparison: Comparison, text: str) -> list[Block]:
    """Blocks by the magnitude of their delta, of which a layer in any engine matches.

    Raises:
        FilterError: The text is no expression.
    """
    blocks = comparison.by_delta()
    if not text.strip():
        return list(blocks)
    matching = [{layer.index for layer in filter_layers(engine, text)} for engine in comparison.engines]
    return [
        block
        for block in blocks
        if any(not found.isdisjoint(layers) for found, layers in zip(matching, block.layers, strict=True))
    ]


def layers_of(comparison: Comparison, block: Block, engine: int) -> list[Layer]:
    """The layers of an engine in a block."""
    return [comparison.engines[engine].layers[index] for index in block.layers[engine]]


def signed_ms(value: float | None, digits: int = 4) -> str:
    """A difference with its sign; a true minus, so that it is not taken for a dash."""
    if value is None:
        return MISSING
    text = format_ms(abs(value), digits)
    if not float(text):
        return text
    return ("−" if value < 0 else "+") + text


def letter(place: int) -> str:
    """What an engine is called in the heads of tables: A, B, … Z, then AA."""
    head, tail = divmod(place, 26)
    return (letter(head - 1) if head else "") + chr(ord("A") + tail)


def change_words(block: Block, *, brief: bool = False) -> str:
    """What is otherwise in a block, in a few words: `precision FP16→INT8, tactic`, `only in B`.

    Of more than two engines it says which, by the letters of their columns: `not in D; B, C: tactic, formats`.

    Args:
        brief: Of precisions only which they are, where there is little room.
    """
    if block.is_one_sided:
        return f"only in {letter(next(place for place, layers in enumerate(block.layers) if layers))}"
    told: dict[str, list[str]] = {}
    for place in range(len(block.layers)):
        changes = [_change_words(change, brief=brief) for change in block.changes if change.engine == place]
        if changes:
            told.setdefault(", ".join(changes), []).append(letter(place))
    absent = [f"not in {', '.join(map(letter, block.absent))}"] if block.absent else []
    if len(block.layers) == 2:
        return "; ".join(told)
    return "; ".join([*absent, *(f"{', '.join(letters)}: {words}" for words, letters in told.items())])


def _change_words(change: Change, *, brief: bool, most: int = 24) -> str:
    kind, before, after = change.kind, printable(change.before), printable(change.after)
    if kind is ChangeKind.TACTIC or len(before) + len(after) > most:
        return kind.value
    what = "" if brief and kind is ChangeKind.PRECISION else f"{kind.value} "
    return f"{what}{before}→{after}"


def labels(comparison: Comparison, places: Iterable[int]) -> list[str]:
    """Names of engines, harmless."""
    return [printable(comparison.sides[place].label) for place in places]


__all__ = ["FilterError", "Shown", "change_words", "filtered", "labels", "layers_of", "letter", "signed_ms"]
