"""Short names of layers and tactics that fit a width and distinguish them from others."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Generic, TypeVar

from trex_tui.old.analysis.modules import first_node, label_of_name, module_of_name
from trex_tui.old.analysis.tactic_parts import describe_parts
from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.lazy_pattern import lazy_pattern
from trex_tui.old.text import ELLIPSIS, printable, shorten_middle, shorten_name_list

_Name = TypeVar("_Name")
MOST_COMPARED = 2_000
"""Names are made unique in engines of up to this many layers: 1,300 take 10 to 60 ms for each width. Names of
larger engines are shortened independently, to the words that are rare among a sample of so many names.
"""
_PART = lazy_pattern(r"[^/._+ \-:\[\](){},·]+|[/._+ \-:\[\](){},·]+")
_SEPARATORS = frozenset("/._+ -:[](){},·")
_BETWEEN_WORDS = lazy_pattern(r"[_ ]+")
_OPENING = frozenset("[({")
_BEFORE_WORD = lazy_pattern(r"[/. ](?=\w)")
_LEAST_PARTS = 10
_ODD = lazy_pattern(r"[^\w/.+\-:*|,^~ \[\](){}]")
"""Characters that no exporter writes in a path."""


class ShortLabels:
    """Labels, shortened so that different labels stay different.

    A label that is too long loses parts that others share, at separators.
    """

    def __init__(self, labels: Iterable[str]) -> None:
        self._labels = dict.fromkeys(labels)
        self._by_width: dict[int, dict[str, str]] = {}

    @cached_property
    def longest(self) -> int | None:
        """Characters of the longest text; None if there are too many texts."""
        return max(map(len, self._labels), default=0) if self._are_compared else None

    @property
    def _are_compared(self) -> bool:
        return len(self._labels) <= MOST_COMPARED

    def fit(self, label: str, width: int) -> str:
        """Return a label in at most `width` characters; different labels stay different, if there is any room."""
        if len(label) <= width:
            return label
        if not self._are_compared or label not in self._labels:
            return shorten_label(label, width)
        if width not in self._by_width:
            self._by_width[width] = _tell_apart(list(self._labels), width)
        return self._by_width[width][label]


def distinguish(names: Sequence[str], labels: Sequence[str]) -> list[str]:
    """Return the label of each name; the name itself if another name has the same label."""
    names_of = defaultdict(set)
    for name, label in zip(names, labels, strict=True):
        names_of[label].add(name)
    return [
        printable(name) if len(names_of[label]) > 1 else label
        for name, label in zip(names, labels, strict=True)
    ]


class _ComparedNames(Generic[_Name]):
    """Names with labels, which are compared if there are not too many."""

    def __init__(self, names: Iterable[_Name]) -> None:
        self._names = dict.fromkeys(names)

    @property
    def longest(self) -> int | None:
        """Characters of the longest label; None if there are too many labels."""
        return self._short.longest if self._are_compared else None

    @property
    def _are_compared(self) -> bool:
        return len(self._names) <= MOST_COMPARED

    @cached_property
    def _labels(self) -> dict[_Name, str]:
        """Return the full label of each name; different names have different labels."""
        raise NotImplementedError

    @cached_property
    def _short(self) -> ShortLabels:
        return ShortLabels(self._labels.values())


class ShortNames(_ComparedNames[tuple[str, str]]):
    """Names of layers without their common prefix, and fused layers as their operators.

    `/model/layer1/layer1.0/conv1/Conv + /model/layer1/layer1.0/relu/Relu` is `layer1/0/conv1/Conv + Relu` if all layers are
    in `model`.

    Args:
        names: Each with the name from which its modules are read.
    """

    @classmethod
    def of_layers(cls, layers: Iterable[Layer]) -> ShortNames:
        """Return short names of layers, of one engine or several."""
        return cls((layer.name, first_node(layer)) for layer in layers)

    @classmethod
    def of_names(cls, names: Iterable[str]) -> ShortNames:
        """Return short names of layers of which only the names are known."""
        return cls((name, name) for name in names)

    def prepare(self) -> None:
        """Compute the data of the first label: a tenth of a second for 20,000 names."""
        _ = self._labels if self._are_compared else self._word_counts

    @cached_property
    def _depth(self) -> int:
        return _common_depth(first for _, first in self._names)

    def _label(self, name: str, first: str) -> str:
        if _ODD.search(name):
            return printable(name)
        return printable(shorten_name_list(label_of_name(name, first, self._depth)))

    @cached_property
    def _labels(self) -> dict[tuple[str, str], str]:
        labels = [self._label(*pair) for pair in self._names]
        distinct = distinguish([name for name, _ in self._names], labels)
        return dict(zip(self._names, distinct, strict=True))

    @cached_property
    def _by_text(self) -> dict[str, tuple[str, str]]:
        """Return the names as in documents."""
        return {printable(shorten_name_list(pair[0])): pair for pair in reversed(self._names)}

    def fit(self, layer: Layer, width: int) -> str:
        """Return the label in at most `width` characters; different names get different labels, if there is any room."""
        return self._fit((layer.name, first_node(layer)), width)

    def fit_name(self, name: str, width: int) -> str:
        """Return the label as `fit`, for a layer of which only the name is known."""
        return self._fit((name, name), width)

    def label(self, name: str) -> str:
        """Return the full label of a layer of which only the name is known."""
        return self._labels[name, name] if self._are_compared else self._label(name, name)

    def fit_text(self, text: str, width: int) -> str:
        """Return the label as `fit`, for a name as in a document; another text is cut."""
        pair = self._by_text.get(text)
        return shorten_label(text, width) if pair is None else self._fit(pair, width)

    def _fit(self, pair: tuple[str, str], width: int) -> str:
        if pair not in self._names:
            return shorten_label(self._label(*pair), width)
        if self._are_compared:
            return self._short.fit(self._labels[pair], width)
        label = self._label(*pair)
        return label if len(label) <= width else _kept_parts(_PART.findall(label), self._word_counts, width)

    @cached_property
    def _word_counts(self) -> Counter[str]:
        """Return how many of a sample of the labels have each word."""
        pairs = list(self._names)
        return _count_words(
            _PART.findall(self._label(*pair)) for pair in pairs[:: len(pairs) // MOST_COMPARED]
        )


@per_engine
def short_names(engine: Engine) -> ShortNames:
    """Return the short names of an engine's layers."""
    return ShortNames.of_layers(engine.layers)


class ShortTactics(_ComparedNames[str]):
    """Names of tactics as family, tile, stages, instruction and split of K: `implicit gemm · 128×64×16 · st 3 · 16×8×16`.

    Tactics with equal parts are followed by the words of their names that distinguish them; a name without a tile is
    unchanged.
    """

    @cached_property
    def _labels(self) -> dict[str, str]:
        names_of: dict[str, list[str]] = defaultdict(list)
        for name in self._names:
            names_of[describe_parts(name)].append(name)
        labels = {}
        for text, names in names_of.items():
            words = [dict.fromkeys(filter(None, _BETWEEN_WORDS.split(name))) for name in names]
            common = words[0].keys() if len(names) == 1 else set(words[0]).intersection(*words[1:])
            for name, own in zip(names, words, strict=True):
                rest = " ".join(word for word in own if word not in common)
                labels[name] = printable(f"{text} · {rest}" if rest else text)
        return labels

    def fit(self, name: str, width: int) -> str:
        """Return the parts of a tactic in at most `width` characters; different for each tactic, if there is room."""
        if self._are_compared and name in self._names:
            return self._short.fit(self._labels[name], width)
        return shorten_label(printable(describe_parts(name)), width)


@per_engine
def short_tactics(engine: Engine) -> ShortTactics:
    """Return the short names of the tactics of an engine's layers."""
    return ShortTactics(layer.tactic for layer in engine.layers if layer.tactic)


def _common_depth(names: Iterable[str]) -> int:
    """Return the number of modules that all names with a path share; for two names or more."""
    paths = [path for name in names if (path := module_of_name(name))]
    if len(paths) < 2:
        return 0
    first, last = min(paths), max(paths)
    depth = 0
    while depth < min(len(first), len(last)) and first[depth] == last[depth]:
        depth += 1
    return depth


@lru_cache(maxsize=4096)
def shorten_label(label: str, width: int) -> str:
    """Cut a label to `width` characters, between words if possible; its beginning and its last words stay."""
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
    """Return a text of at most `width` characters for each label, all different if possible.

    Labels that are equal after cutting are cut again: without the beginning that they share, else to the parts that the
    fewest of them have. Labels that are still equal get a number.
    """
    texts = {label: shorten_label(label, width) for label in labels}
    for cut_again in (_without_beginning, _rarest_parts, _rarest_parts):
        alike: dict[str, list[str]] = defaultdict(list)
        for label, text in texts.items():
            alike[text].append(label)
        for same in alike.values():
            if len(same) > 1:
                texts |= cut_again(same, width)
    used = Counter(texts.values())
    taken = set(used)
    for label, text in texts.items():
        if used[text] > 1:
            texts[label] = _numbered(label, width, taken)
    return texts


def _without_beginning(labels: Sequence[str], width: int) -> dict[str, str]:
    """Return each label without the words that all begin with; as they were cut before if some would still be equal."""
    first, last = min(labels), max(labels)
    common = next(
        (place for place, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), 0
    )
    start = max(first.rfind(separator, 0, common) for separator in "/. ") + 1
    texts = {label: ELLIPSIS + shorten_label(label[start:], width - 1) for label in labels}
    if start > 1 and len(set(texts.values())) == len(labels):
        return texts
    return dict.fromkeys(labels, shorten_label(labels[0], width))


def _rarest_parts(labels: Sequence[str], width: int) -> dict[str, str]:
    """Return each label with only those parts that the fewest labels have, in their order."""
    split = {label: _PART.findall(label) for label in labels}
    frequency = _count_words(split.values())
    return {label: _kept_parts(parts, frequency, width) for label, parts in split.items()}


def _count_words(labels: Iterable[Sequence[str]]) -> Counter[str]:
    """Return how many labels, each split into parts, have each word."""
    return Counter(part for parts in labels for part in set(parts) if part[0] not in _SEPARATORS)


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
    """Return the kept words with the separators between them, an ellipsis for omitted words."""
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
    """Return the label with a number that no other text has."""
    number = 1
    while True:
        number += 1
        mark = f"~{number}"
        text = shorten_label(label, max(0, width - len(mark))) + mark
        if text not in taken or len(mark) >= width:
            taken.add(text)
            return text
