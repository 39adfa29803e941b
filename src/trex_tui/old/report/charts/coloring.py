"""Colours of layers by the values of a column: fixed ones for kinds and precisions, tones for others, ranges for numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol

from trex_tui.old.analysis.columns import ALL_COLUMNS_BY_NAME
from trex_tui.old.analysis.structure import UNKNOWN, known_value
from trex_tui.old.engine.columns import LayerColumn
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Layer
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.charts.figure import BAR_SIGN, MUTED, Key, Subject
from trex_tui.old.report.charts.grid import apart
from trex_tui.old.report.colours import kind_style, precision_style
from trex_tui.old.report.document import Column

OTHERS = "others"
"""Group of the values without a separate tone."""
TONES = ("$primary", "$accent", "$success", "$secondary", "$error", "$warning")
_LEAST_RANGES = 3
"""Number of ranges of a number with more values than tones; at most twice as many, since two neighbours together hold
more than this part of all values."""
_LONGEST_KEY = 30
"""Maximum characters of a value in a legend."""
PATTERNS = "█▓▒░"
"""Fill characters of the parts of a bar, so that they differ without colour too."""


@dataclass(frozen=True, slots=True)
class ColorGroup:
    """The layers of one colour.

    Attributes:
        text: The value or the range of values that they share.
        tone: The theme token of the style, which several groups may have.
        pattern: Fills their part of a bar.
    """

    text: str
    style: str
    tone: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Coloring:
    """Colours of layers.

    Attributes:
        column: The column that the colours show.
        groups: Numbers from the smallest; else the group with the most time first.
    """

    column: LayerColumn
    groups: tuple[ColorGroup, ...]
    _values: Mapping[int, Any]
    _positions: Mapping[int, int]

    def text(self, layer: Layer) -> str:
        """Return the value of a layer as text, independent of its group."""
        value = self._values[layer.index]
        return UNKNOWN if value is None else format_value(self.column, value)

    def group(self, layer: Layer) -> ColorGroup:
        """Return the group of a layer."""
        return self.groups[self._positions[layer.index]]

    def style(self, layer: Layer) -> str:
        """Return the colour of a layer."""
        return self.group(layer).style

    def legend(self, layers: Iterable[Layer]) -> list[Key]:
        """Return the groups of the layers that have a bar; those of one colour share an entry."""
        shown = {self._positions[layer.index] for layer in layers}
        texts: dict[str, list[str]] = {}
        styles: dict[str, str] = {}
        for position, (group, text) in enumerate(zip(self.groups, self._short_texts, strict=True)):
            if position in shown:
                # Bold is ignored: a block looks the same with it.
                tone = group.tone.rpartition(" ")[2]
                texts.setdefault(tone, []).append(text)
                styles.setdefault(tone, group.style)
        return [Key(BAR_SIGN, ", ".join(shared), styles[tone]) for tone, shared in texts.items()]

    @property
    def pattern_keys(self) -> list[Key]:
        """Return the legend of bars in parts: each group has its pattern."""
        return [
            Key(group.pattern, text, group.style)
            for group, text in zip(self.groups, self._short_texts, strict=True)
        ]

    @property
    def _short_texts(self) -> list[str]:
        """Return short, distinct texts of the groups for a legend."""
        return apart([group.text for group in self.groups], _LONGEST_KEY)


def color_layers(subject: Subject, default: str) -> Coloring:
    """Group the layers of a chart by the column that colours it.

    Args:
        default: Name of the column if the subject has none.
    """
    column = subject.color or ALL_COLUMNS_BY_NAME[default]
    values = [known_value(column.value(subject.engine, layer)) for layer in subject.layers]
    texts = group_texts(column, values)
    ordered = _order_groups(subject, column, values, texts)
    looks = _looks(subject, column, ordered)
    shown = [text for text in ordered if text in looks]
    if len(shown) < len(ordered):
        shown.append(OTHERS)
        looks[OTHERS] = ("$foreground", "$foreground")
    groups = [
        ColorGroup(text, *looks[text], PATTERNS[number % len(PATTERNS)]) for number, text in enumerate(shown)
    ]
    position_of = {text: shown.index(text if text in looks else OTHERS) for text in ordered}
    positions = {layer.index: position_of[text] for layer, text in zip(subject.layers, texts, strict=True)}
    return Coloring(
        column,
        tuple(groups),
        {layer.index: value for layer, value in zip(subject.layers, values, strict=True)},
        positions,
    )


def _order_groups(
    subject: Subject, column: LayerColumn, values: Sequence[Any], texts: Sequence[str]
) -> list[str]:
    """Sort numbers from the smallest, other values by time, then by layers; unknown numbers last."""
    if column.is_number:
        known = {text: value for text, value in zip(texts, values, strict=True) if value is not None}
        return sorted(dict.fromkeys(texts), key=lambda text: (text not in known, known.get(text, 0)))
    weights: dict[str, tuple[float, int]] = {}
    for layer, text in zip(subject.layers, texts, strict=True):
        time, count = weights.get(text, (0.0, 0))
        weights[text] = (time + (layer.latency_ms or 0.0), count + 1)
    return sorted(weights, key=lambda text: (-weights[text][0], -weights[text][1], text))


class ValueColumn(Protocol):
    """A column whose values have colours: one of layers, or of engines."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def is_number(self) -> bool: ...


def format_value(column: ValueColumn, value: Any) -> str:  # noqa: ANN401 - any cell
    """Return a value of a column as text, without the unit in its name."""
    return _document_column(column.name, column.title).text(value)


@lru_cache(maxsize=64)
def _document_column(name: str, title: str) -> Column:
    """Return the column that formats values; made once, as charts format tens of thousands."""
    return Column(name, title)


def group_texts(column: ValueColumn, values: Sequence[Any]) -> list[str]:
    """Return the group of each value: itself, or its range; a frequent number is a separate range."""
    numbers = sorted(value for value in values if value is not None) if column.is_number else []
    counts = Counter(numbers)
    if len(counts) <= len(TONES):
        return [UNKNOWN if value is None else format_value(column, value) for value in values]
    ranges: list[list[Any]] = []
    size = 0
    for value, count in counts.items():
        if not ranges or size + count > len(numbers) / _LEAST_RANGES:
            ranges.append([])
            size = 0
        ranges[-1].append(value)
        size += count
    texts = {value: _format_range(column, group[0], group[-1]) for group in ranges for value in group}
    return [UNKNOWN if value is None else texts[value] for value in values]


def _format_range(column: ValueColumn, low: Any, high: Any) -> str:  # noqa: ANN401 - any number
    first, last = format_value(column, low), format_value(column, high)
    return first if first == last else f"{first} to {last}"


def _looks(subject: Subject, column: LayerColumn, ordered: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return style and tone of the values; if there are more values than tones, of the first ones."""
    palette = subject.palette
    if column.name == "kind":
        kinds = {kind.value: kind for kind in LayerKind}
        return {text: (palette.kind(kinds[text]), kind_style(kinds[text])) for text in ordered}
    if column.name in ("precision", "output_precision"):
        types = {dtype.value: dtype for dtype in DataType}
        return {
            text: (palette.precision(types.get(text)), precision_style(types.get(text))) for text in ordered
        }
    known = [text for text in ordered if text != UNKNOWN]
    looks = {text: (tone, tone) for text, tone in zip(known, TONES, strict=False)}
    return {**looks, **({UNKNOWN: (MUTED, MUTED)} if UNKNOWN in ordered else {})}
