"""Layer times in JSON of other tools: find the part of a document that holds them, and interpret its keys.

Supported below any keys are rows with a name (`[{"name": "conv1", "avg_ms": 0.1}]`), names as keys (`{"conv1": 0.1}`,
`{"conv1": {"avg": 0.1}}`), and samples (`{"conv1": [0.1, 0.11]}`, possibly with a time stamp each, as in IProfiler dumps).
Objects that map names to numbers count as layers only if a key around them, the name of the file or the names
themselves suggest it: a table of benchmarks looks the same.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import median
from typing import Any

from trex_tui.artifacts.open import finite_number, positive_count
from trex_tui.artifacts.timing import MS, find_column, plain, split_unit, stated_unit

NAME_KEYS = ("layername", "layer", "name", "opname", "operatorname", "nodename", "operator", "op", "node")
"""Keys of the name of a layer, in lower-case letters and digits, the most likely first."""
_TIMES = "time latency duration elapsed runtime gputime gpulatency computetime executiontime exectime inferencetime"
_STATISTICS = {"average": "average avg mean", "median": "median med p50", "total": "total sum cumulative"}
_COLUMNS = dict.fromkeys(("", *_TIMES.split(), "times", "latencies", "samples"), "time") | {
    stem: statistic
    for statistic, words in _STATISTICS.items()
    for word in words.split()
    for time in ("", *_TIMES.split())
    for stem in (word + time, time + word)
}
"""Quantity of a key without its unit; `time` is an unspecified time."""
_SHARES = ("percentage", "percent", "pct", "share")
"""Endings of keys of a share without `%`."""
_LAYER_WORDS = re.compile(r"(?<![A-Za-z])(?:per)?layer|Layer|LAYER|per_?op|[Pp]rofil")
_LIKE_LAYER = re.compile(
    r"[/\[{(]|\s\+\s|conv|relu|pool|gemm|matmul|softmax|reformat|shuffle|concat|resize|norm|linear|dense|myl|kgen|pwn|^(?:fc|bn|add)\d*$",
    re.IGNORECASE,
)
_MOST_DEPTH = 12


@dataclass(frozen=True, slots=True)
class LayerSpread:
    """Spread of the single times of a layer, as an `IProfiler` records them.

    Attributes:
        times_ms: The times in order.
        p99_ms: The 99th percentile as trtexec defines it: the largest time of fewer than 100.
        cv_pct: Standard deviation in percent of the mean; None of fewer than 2 times, or where all are 0.
    """

    times_ms: Sequence[float]
    p99_ms: float
    cv_pct: float | None

    @property
    def samples(self) -> int:
        """Number of times."""
        return len(self.times_ms)


def measure_spread(times_ms: Sequence[float]) -> LayerSpread:
    """Measure the spread of at least one time."""
    kept, count = array("d", times_ms), len(times_ms)
    p99 = sorted(kept)[max(count - 1 - count // 100, 0)]
    mean = math.fsum(kept) / count
    if count < 2 or not mean:
        return LayerSpread(kept, p99, None)
    deviation = math.sqrt(math.fsum([(time - mean) ** 2 for time in kept]) / count)
    return LayerSpread(kept, p99, 100.0 * deviation / mean)


@dataclass(slots=True)
class LayerTimes:
    """Times of one layer, in milliseconds.

    Attributes:
        figures: Quantity (`average`, `median`, `total`, `percentage`, or `time` for an unspecified time) -> value.
        spread: Of the single times from which average and median were computed; None if those are stated.
    """

    name: str
    figures: dict[str, float] = field(default_factory=dict)
    spread: LayerSpread | None = None

    @property
    def has_time(self) -> bool:
        return bool(self.figures.keys() - {"percentage"})


@dataclass(frozen=True, slots=True)
class LayerTable:
    """A part of a document that holds layer times.

    Attributes:
        where: Keys that lead to it.
        units: Quantity, or `samples` -> unit; None if the file states none.
        count: Iterations stated for all layers.
        left_out: Entries that are not layers.
    """

    where: str
    rows: list[LayerTimes]
    units: dict[str, str | None]
    count: int | None = None
    left_out: int = 0


def find_layer_times(document: object, file_name: str = "") -> list[LayerTable]:
    """Return every part of a document that holds layer times, in order.

    Raises:
        UnknownUnitError: The document states a unit that is not a unit of time.
    """
    return list(_find_tables(document, (), None, is_layers=bool(_LAYER_WORDS.search(file_name))))


def _find_tables(
    node: object, path: tuple[str, ...], unit: str | None, *, is_layers: bool
) -> Iterator[LayerTable]:
    if not isinstance(node, (dict, list)) or len(path) > _MOST_DEPTH:
        return
    if isinstance(node, dict):
        unit = _find_stated_unit(node) or unit
    count, entries = _list_named(node)
    units: dict[str, str | None] = {}
    rows = [_read_layer(name, value, unit, units) for name, value in entries]
    known = [row for row in rows if row.has_time]
    left_out = len(node) - len(known) - (count is not None) if isinstance(node, list) else 0
    is_listed = isinstance(node, list) and (not path or any("percentage" in row.figures for row in known))
    is_about_layers = is_layers or is_listed or _are_like_layers(row.name for row in known)
    if known and is_about_layers and (isinstance(node, list) or len(known) == len(rows)):
        yield LayerTable(".".join(path), known, units, count, left_out)
        return
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        name = str(key)
        below = is_layers or bool(_LAYER_WORDS.search(name))
        yield from _find_tables(value, (*path, name), _find_key_unit(name) or unit, is_layers=below)


def _list_named(node: Mapping[str, Any] | Sequence[Any]) -> tuple[int | None, list[tuple[str, Any]]]:
    """Return the count with which trtexec begins, and the entries of an object or a list that may be layers, by name."""
    if isinstance(node, Mapping):
        named = [
            (key, value) for key, value in node.items() if not isinstance(value, (str, bool, type(None)))
        ]
        is_counts = all(type(value) is int for _, value in named)
        is_times = any(find_column(key)[0] or _find_quantity(key)[0] for key, _ in named)
        is_value = is_times or is_counts or "unit" in node or _find_name_key(node)
        return None, [] if is_value else named
    objects = [
        item for item in node if isinstance(item, dict) and "ph" not in item
    ]  # events of a trace have names too
    counts = (positive_count(item["count"]) for item in objects if item.keys() == {"count"})
    keys = [(item, _find_name_key(item)) for item in objects]
    entries = [
        (item[key], {other: item[other] for other in item if other != key}) for item, key in keys if key
    ]
    return next(counts, None), entries


def _find_stated_unit(node: Mapping[str, Any]) -> str | None:
    return (
        stated_unit(node) if any(isinstance(value, (list, dict, float)) for value in node.values()) else None
    )


def _find_key_unit(key: str) -> str | None:
    """Return the unit at the end of a key of layers or times: `per_layer_us`."""
    stems = ((stem, unit) for stem, unit in split_unit(key) if unit)
    return next((unit for stem, unit in stems if _COLUMNS.get(stem) or _LAYER_WORDS.search(stem)), None)


def _find_name_key(row: Mapping[str, Any]) -> str | None:
    keys = {plain(key): key for key in row if isinstance(row[key], str)}
    return next((keys[name] for name in NAME_KEYS if name in keys), None)


def _are_like_layers(names: Iterable[str]) -> bool:
    known = list(names)
    return 2 * sum(bool(_LIKE_LAYER.search(name)) for name in known) > len(known)


@lru_cache(maxsize=1024)
def _find_quantity(key: str) -> tuple[str | None, str | None]:
    """Return the quantity of a key, and the unit at its end."""
    if "%" in key or plain(key).endswith(_SHARES):
        return "percentage", None
    stems = ((_COLUMNS.get(stem), stem, unit) for stem, unit in split_unit(key))
    return next(
        ((quantity, unit) for quantity, stem, unit in stems if quantity and (stem or unit)), (None, None)
    )


def _read_layer(name: str, value: object, unit: str | None, units: dict[str, str | None]) -> LayerTimes:
    """Read the times of one layer: a number, samples, or an object with a key for each figure."""
    layer = LayerTimes(name)
    figures = value if isinstance(value, dict) else {"time": value}
    unit = _find_stated_unit(figures) or unit
    for key, figure in figures.items():
        quantity, own_unit = _find_quantity(key)
        if quantity is None or quantity in layer.figures:
            continue
        scale = MS[own_unit or unit or "ms"]
        samples = (
            [item[0] if isinstance(item, list) and item else item for item in figure]
            if isinstance(figure, list)
            else []
        )
        times = [time * scale for time in map(_time, samples) if time is not None]
        if times and quantity == "time":
            total = math.fsum(times)
            layer.figures |= {"total": total, "median": median(times), "average": total / len(times)}
            layer.spread = measure_spread(times)
            units.setdefault("samples", own_unit or unit)
        elif (time := _time(figure)) is not None:
            layer.figures[quantity] = time if quantity == "percentage" else time * scale
            if quantity != "percentage":
                units.setdefault(quantity, own_unit or unit)
    return layer


def _time(value: object) -> float | None:
    number = finite_number(value)
    return number if number is not None and number >= 0 else None
