"""Colours of boxes and arrows: pale fills of the tokens that the screens have, on white."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache

from trex_tui.colours import LIGHT, kind_style, precision_style
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.model import Layer
from trex_tui.graphs.model import Paint
from trex_tui.text import format_ms

MUTED = "#767c82"
"""Lines and secondary text: 4.5 to 1 on white."""
HIGHLIGHT = "#c2185b"
"""Frame of what is highlighted: no kind and no precision has it."""
TENSOR = Paint("#f4f5f6", MUTED)
BINDING = Paint(LIGHT["panel"], LIGHT["foreground"])
UNKNOWN = Paint("#ffffff", MUTED)


class ColorBy(str, Enum):
    """What the colours of layers tell."""

    KIND = "kind"
    PRECISION = "precision"
    LATENCY = "latency"


@lru_cache(maxsize=64)
def _of_style(style: str) -> Paint:
    token = style.removeprefix("bold ").removeprefix("$")
    line = LIGHT.get(token, MUTED)
    return Paint(blended("#ffffff", line, 0.30 if style.startswith("bold ") else 0.14), line)


def blended(first: str, second: str, share: float) -> str:
    """A colour between two: `first` at 0, `second` at 1."""
    mixed = (
        round(int(first[at : at + 2], 16) * (1.0 - share) + int(second[at : at + 2], 16) * share)
        for at in (1, 3, 5)
    )
    return "#" + "".join(f"{value:02x}" for value in mixed)


def tensor_line(dtype: DataType | None) -> str:
    """Colour of an arrow."""
    return _of_style(precision_style(dtype)).line


class Painter:
    """Colours layers of one engine, and explains them."""

    def __init__(self, by: ColorBy, layers: Sequence[Layer]) -> None:
        self._by = by
        self._layers = layers
        self._most = max((layer.latency_ms or 0.0 for layer in layers), default=0.0)

    def of(self, layer: Layer) -> Paint:
        """Colours of a layer; those of `UNKNOWN` where the files do not tell what they are to show."""
        if self._by is ColorBy.KIND:
            return _of_style(kind_style(layer.kind))
        if self._by is ColorBy.PRECISION:
            return _of_style(precision_style(layer.precision)) if layer.precision else UNKNOWN
        return UNKNOWN if layer.latency_ms is None else self._of_time(layer.latency_ms)

    def _of_time(self, milliseconds: float) -> Paint:
        """The square root of the share in the slowest: otherwise all but a few would be white."""
        share = math.sqrt(max(0.0, milliseconds) / self._most) if self._most > 0 else 0.0
        return Paint(blended("#ffffff", LIGHT["error"], 0.72 * share), MUTED)

    def legend(self) -> list[tuple[str, Paint]]:
        """What there is, the most frequent first; for times, four steps up to the slowest."""
        if self._by is ColorBy.LATENCY:
            steps = [self._most * share for share in (0.04, 0.25, 0.5, 1.0)] if self._most > 0 else []
            told = [(f"{format_ms(step)} ms", self._of_time(step)) for step in steps]
            unknown = any(layer.latency_ms is None for layer in self._layers)
            return told + ([("not profiled", UNKNOWN)] if unknown else [])
        counts: dict[str, int] = {}
        paints: dict[str, Paint] = {}
        for layer in self._layers:
            value = layer.kind if self._by is ColorBy.KIND else layer.precision
            text = "unknown" if value is None else value.value
            counts[text] = counts.get(text, 0) + 1
            paints[text] = self.of(layer)
        return [(text, paints[text]) for text in sorted(counts, key=lambda text: (-counts[text], text))]
