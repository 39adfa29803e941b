"""Short names of layers: what tells a layer from the others of its engine, in as many characters as there is room for."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property, lru_cache

from trex_tui.analysis.modules import label_in, module_path
from trex_tui.engine.cache import per_engine
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.text import ELLIPSIS, printable, shorten_middle, shorten_name_list

MOST_COMPARED = 2_000
"""Names are made unique in engines of up to this many layers: 1,300 take 10 to 60 ms for each width. Names of
larger engines are shortened one by one."""
_PART = re.compile(r"[^/._+ \-:\[\](){},]+|[/._+ \-:\[\](){},]+")
_SEPARATORS = frozenset("/._+ -:[](){},")
_OPENING = frozenset("[({")
_BEFORE_WORD = re.compile(r"[/. ](?=\w)")
_LEAST_PARTS = 10
_ODD = re.compile(r"[^\w/.+\-:*|,^~ \[\](){}]")
"""Characters that no exporter writes in a path."""


class ShortNames:
    """Names of the layers of an engine, without what all have in common, and with fused layers as their operators.

    `/model/layer1/layer1.0/conv1/Conv + /model/layer1/layer1.0/relu/Relu` is `layer1/0/conv1/Conv + Relu` where all layers
    lie in `model`. A name that is too long loses parts that others have too, at separators.
    """

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._layers = layers
        self._by_width: dict[int, dict[int, str]] = {}

    @cached_property
    def longest(self) -> int | None:
        """Characters of the longest label; None where they are too many to look at."""
        return max(map(len, self._labels.values()), default=0) if self._is_compared else None

    @property
    def _is_compared(self) -> bool:
        return len(self._layers) <= MOST_COMPARED

    @cached_property
    def _depth(self) -> int:
        return _common_depth(self._layers)

    def _label(self, layer: Layer) -> str:
        if _ODD.search(layer.name):
            return printable(layer.name)
        return printable(shorten_name_list(label_in(layer, self._depth)))

    @cached_property
    def _labels(self) -> dict[int, str]:
        """Layer index -> the whole label; layers with different names have different ones."""
        labels = {layer.index: self._label(layer) for layer in self._layers}
        names = defaultdict(set)
        for layer in self._layers:
            names[labels[layer.index]].add(layer.name)
        for layer in self._layers:
            if len(names[labels[layer.index]]) > 1:
                labels[layer.index] = printable(layer.name)
        return labels

    def fit(self, layer: Layer, width: int) -> str:
        """The label in at most `width` characters; of layers with different names, different ones, if there is any room."""
        if not self._is_compared:
            return shorten_label(self._label(layer), width)
        label = self._labels[layer.index]
        if len(label) <= width:
            return label
        if width not in self._by_width:
            self._by_width[width] = self._fit_all(width)
        return self._by_width[width][layer.index]

    def _fit_all(self, width: int) -> dict[int, str]:
        layers_of: dict[str, list[int]] = defaultdict(list)
        for index, label in self._labels.items():
            layers_of[label].append(index)
        texts = _tell_apart(list(layers_of), width)
        return {index: texts[label] for label, indices in layers_of.items() for index in indices}


@per_engine
def short_names(engine: Engine) -> ShortNames:
    """The short names of an engine's layers."""
    return ShortNames(engine.layers)


def _common_depth(layers: Sequence[Layer]) -> int:
    """Modules that all layers with a path have in common, of two layers or more."""
    paths = [path for layer in layers if (path := module_path(layer))]
    if len(paths) < 2:
        return 0
    first, last = min(paths), max(paths)
    depth = 0
    while depth < min(len(first), len(last)) and first[depth] == last[depth]:
        depth += 1
    return depth


@lru_cache(maxsize=4096)
def shorten_label(label: str, width: int) -> str:
    """Cut a label to `width` characters, between words where that costs little; its head and its last words stay."""
    if len(label) <= width:
        return label
    if width < _LEAST_PARTS:
        return shorten_middle(label, width)
    most = (width - 1) * 3 // 5
    starts = [match.end() for match in _BEFORE_WORD.finditer(label, len(label) - most - 1)]
    tail = (
        label[starts[0] :] if starts and len(label) - starts[0] >= width // 5 else label[len(label) - most :]
    )
    head = label[: width - 1 - len(tail)]
    cut = max(head.rfind(separator) for separator in "/. ") + 1
    return (head[:cut] if cut > len(head) // 2 else head).rstrip(" +") + ELLIPSIS + tail


def _tell_apart(labels: Sequence[str], width: int) -> dict[str, str]:
    """A text of at most `width` characters for each label, all different where that is possible.

    Labels that read alike once cut are cut again: the parts that the fewest of them have stay. What still reads alike gets a
    number.
    """
    texts = {label: shorten_label(label, width) for label in labels}
    for _ in range(2):
        alike: dict[str, list[str]] = defaultdict(list)
        for label, text in texts.items():
            alike[text].append(label)
        for same in alike.values():
            if len(same) > 1:
                texts |= _rarest_parts(same, width)
    used = Counter(texts.values())
    taken = set(used)
    for label, text in texts.items():
        if used[text] > 1:
            texts[label] = _numbered(label, width, taken)
    return texts


def _rarest_parts(labels: Sequence[str], width: int) -> dict[str, str]:
    """Each label as those of its parts that the fewest labels have, in their order."""
    split = {label: _PART.findall(label) for label in labels}
    frequency = Counter(part for parts in split.values() for part in set(parts) if part[0] not in _SEPARATORS)
    return {label: _kept_parts(parts, frequency, width) for label, parts in split.items()}


def _kept_parts(parts: Sequence[str], frequency: Counter[str], width: int) -> str:
    words = [number for number, part in enumerate(parts) if part[0] not in _SEPARATORS]
    if not words:
        return shorten_middle("".join(parts), width)
    ranked = sorted(words, key=lambda number: (frequency[parts[number]], -number))
    kept: set[int] = set()
    text = ""
    for number in [ranked[0], words[-1], *ranked[1:]]:
        longer = _join(parts, kept | {number})
        if len(longer) <= width:
            kept.add(number)
            text = longer
    return text or shorten_middle(parts[ranked[0]], width)


def _join(parts: Sequence[str], kept: set[int]) -> str:
    """The kept words with the separators between them, an ellipsis for what is left out."""
    text = ""
    last = -1
    for number in sorted(kept):
        between = parts[last + 1 : number]
        has_gap = any(part[0] not in _SEPARATORS for part in between)
        if has_gap:
            text += ELLIPSIS
        elif between and (last >= 0 or set(between[0]) & _OPENING or between[0] == "/"):
            text += "".join(between)
        text += parts[number]
        last = number
    rest = parts[last + 1 :]
    if any(part[0] not in _SEPARATORS for part in rest):
        return text + ELLIPSIS
    return text + "".join(rest)


def _numbered(label: str, width: int, taken: set[str]) -> str:
    """The label with a number that no other text has."""
    number = 1
    while True:
        number += 1
        mark = f"~{number}"
        text = shorten_label(label, max(0, width - len(mark))) + mark
        if text not in taken or len(mark) >= width:
            taken.add(text)
            return text
