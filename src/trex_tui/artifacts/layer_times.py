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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from statistics import median
from typing import Any

from trex_tui.artifacts.open import finite_number, positive_count
from trex_tui.artifacts.timing import MS, UnknownUnitError, find_column, plain, split_unit, stated_unit

NAME_KEYS = ("layername", "layer", "name", "opname", "operatorname", "nodename", "operator", "op", "node")
"""Keys of the name of a layer, in lower-case letters and digits, the most likely first."""
_TIMES = "time latency duration elapsed runtime gputime gpulatency computetime executiontime exectime inferencetime"
_PLURALS = "times latencies durations runtimes timings samples values"
_STATISTICS = {"average": "average avg mean", "median": "median med p50", "total": "total sum cumulative"}
_COLUMNS = dict.fromkeys(("", *_TIMES.split(), *_PLURALS.split()), "time") | {
    stem: statistic
    for statistic, words in _STATISTICS.items()
    for word in words.split()
    for time in ("", *_TIMES.split())
    for stem in (word + time, time + word)
}
"""Quantity of a key without its unit; `time` is an unspecified time."""
_SHARES = ("percentage", "percent", "pct", "share")
"""Endings of keys of a share without `%`."""
_COUNTS = frozenset(
    [
        "count",
        "calls",
        "ncalls",
        "iterations",
        "numiterations",
        "invocations",
        "executions",
        "runs",
        "numruns",
    ]
)
_LAYER_WORDS = re.compile(r"(?<![A-Za-z])(?:per)?layer|Layer|LAYER|per_?op")
_PROFILE_WORDS = re.compile(r"profil", re.IGNORECASE)
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
    """Times of one layer, in milliseconds; None where not stated.

    Attributes:
        time_ms: A time that is called neither an average nor a sum.
        time_key: The key of `time_ms`, as in the file.
        spread: Of the single times from which average and median were computed; None if those are stated.
    """

    name: str
    average_ms: float | None = None
    median_ms: float | None = None
    total_ms: float | None = None
    percentage: float | None = None
    time_ms: float | None = None
    time_key: str = ""
    count: int | None = None
    spread: LayerSpread | None = None

    @property
    def has_time(self) -> bool:
        return (self.average_ms, self.median_ms, self.total_ms, self.time_ms) != (None,) * 4


@dataclass(slots=True)
class LayerTable:
    """A part of a document that holds layer times.

    Attributes:
        where: Keys that lead to it.
        units: Quantity -> unit; None if the file states none.
        count: Iterations stated for all layers.
        left_out: Entries that are not layers.
    """

    where: str
    rows: list[LayerTimes] = field(default_factory=list)
    units: dict[str, str | None] = field(default_factory=dict)
    count: int | None = None
    left_out: int = 0

    def add(self, layer: LayerTimes) -> None:
        """Add a row, or count an entry without a time."""
        if layer.has_time:
            self.rows.append(layer)
        else:
            self.left_out += 1


@dataclass(frozen=True, slots=True)
class _Around:
    """Context of a value from the keys around it: path, unit, iterations, and whether it is about layers or a profile."""

    path: tuple[str, ...] = ()
    unit: str | None = None
    count: int | None = None
    is_layers: bool = False
    is_profile: bool = False

    def below(self, key: str, unit: str | None) -> _Around:
        return _Around(
            (*self.path, key),
            unit,
            self.count,
            self.is_layers or bool(_LAYER_WORDS.search(key)),
            self.is_profile or bool(_PROFILE_WORDS.search(key)),
        )

    def make_table(self) -> LayerTable:
        return LayerTable(".".join(self.path), count=self.count)


def find_layer_times(document: object, file_name: str = "") -> list[LayerTable]:
    """Return every part of a document that holds layer times, in order.

    Raises:
        UnknownUnitError: The document states a unit that is not a unit of time.
    """
    around = _Around(
        is_layers=bool(_LAYER_WORDS.search(file_name)), is_profile=bool(_PROFILE_WORDS.search(file_name))
    )
    tables = list(_find_tables(document, around))
    for unit in (unit for table in tables for unit in table.units.values()):
        if unit is not None and unit not in MS:
            raise UnknownUnitError(unit)
    return tables


def _find_unit(node: Mapping[str, Any]) -> str | None:
    """Return the unit that an object states, verbatim if it is not a unit of time, which only matters for times."""
    try:
        return stated_unit(node)
    except UnknownUnitError as error:
        return str(error)


def _find_tables(node: object, around: _Around) -> Iterator[LayerTable]:
    if len(around.path) > _MOST_DEPTH:
        return
    if isinstance(node, list):
        yield from _find_rows(node, around)
    elif isinstance(node, dict):
        unit = _find_unit(node) or around.unit
        count = next((node[key] for key in node if _is_count(key, node[key])), around.count)
        around = replace(around, unit=unit, count=count)
        table = _read_names(node, around)
        if table is not None:
            yield table
            return
        for key, value in node.items():
            if isinstance(value, (dict, list)):
                yield from _find_tables(value, around.below(key, _find_key_unit(key) or unit))


def _find_key_unit(key: str) -> str | None:
    """Return the unit at the end of a key of layers or times: `per_layer_us`."""
    for stem, unit in split_unit(key):
        if unit and (_COLUMNS.get(stem) or _LAYER_WORDS.search(stem) or _PROFILE_WORDS.search(stem)):
            return unit
    return None


def _find_rows(node: Sequence[object], around: _Around) -> Iterator[LayerTable]:
    """Read `[{"name": "conv1", "avg_ms": 0.1}, …]`, or search the entries of another list."""
    table = around.make_table()
    is_about_layers = around.is_layers or around.is_profile or not around.path
    for item in node:
        # Events of a trace have names as well.
        key = _find_name_key(item) if isinstance(item, dict) and "ph" not in item else None
        if isinstance(item, dict) and len(item) == 1 and all(_is_count(*pair) for pair in item.items()):
            table.count = next(iter(item.values()))  # `{"count": 100}`, with which trtexec begins
        elif isinstance(item, dict) and key is not None:
            figures = {other: item[other] for other in item if other != key}
            layer = _read_layer(item[key], figures, around.unit, table)
            table.add(layer)
            is_about_layers = is_about_layers or "layer" in plain(key) or layer.percentage is not None
        else:
            table.left_out += 1
    if table.rows and (is_about_layers or _are_like_layers([row.name for row in table.rows])):
        yield table
        return
    for index, item in enumerate(node):
        if isinstance(item, (dict, list)):
            yield from _find_tables(item, around.below(str(index), around.unit))


def _find_name_key(row: Mapping[str, Any]) -> str | None:
    keys = {plain(key): key for key in row if isinstance(row[key], str)}
    return next((keys[name] for name in NAME_KEYS if name in keys), None)


def _read_names(node: Mapping[str, Any], around: _Around) -> LayerTable | None:
    """Read an object whose keys are the names of layers; None for any other."""
    if _find_name_key(node) is not None:
        return None
    table = around.make_table()
    named = {key: value for key, value in node.items() if not _is_about_all(key, value)}
    if not named or any(find_column(key)[0] or _find_quantity(key)[0] for key in named):
        return None
    for name, value in named.items():
        layer = _read_layer(name, value, around.unit, table)
        if not layer.has_time:
            return None
        table.add(layer)
    if around.unit is None and all(type(value) is int for value in named.values()):
        return None  # counts
    is_bare = all(finite_number(value) is not None for value in named.values())
    is_about_layers = around.is_layers or (around.is_profile and not is_bare)
    return table if is_about_layers or _are_like_layers(list(named)) else None


def _is_about_all(key: str, value: object) -> bool:
    """Return whether an entry beside layers applies to all of them: a count, a unit, a sum, a name."""
    is_figure = finite_number(value) is not None and (
        _find_quantity(key)[0] is not None or plain(key) in _COUNTS
    )
    return is_figure or isinstance(value, (str, bool)) or value is None


def _are_like_layers(names: Sequence[str]) -> bool:
    return 2 * sum(bool(_LIKE_LAYER.search(name)) for name in names) > len(names)


def _is_count(key: str, value: object) -> bool:
    return plain(key) in _COUNTS and positive_count(value) is not None


@lru_cache(maxsize=1024)
def _find_quantity(key: str) -> tuple[str | None, str | None]:
    """Return the quantity of a key, and the unit at its end."""
    for stem, unit in split_unit(key):
        quantity = _COLUMNS.get(stem)
        if quantity is not None and (stem or unit):
            return quantity, unit
    return None, None


def _read_layer(name: str, value: object, unit: str | None, table: LayerTable) -> LayerTimes:
    """Read the times of one layer: a number, samples, or an object with a key for each figure."""
    layer = LayerTimes(name)
    if not isinstance(value, dict):
        _set_figure(layer, "time", "", value, unit, table)
        return layer
    for figures in (value, *(item for item in value.values() if isinstance(item, dict))):
        if not layer.has_time:
            _read_figures(layer, figures, _find_unit(figures) or _find_unit(value) or unit, table)
    return layer


def _read_figures(layer: LayerTimes, figures: Mapping[str, Any], unit: str | None, table: LayerTable) -> None:
    for key, item in figures.items():
        name = plain(key)
        quantity, own_unit = _find_quantity(key)
        if "%" in key or name.endswith(_SHARES):
            layer.percentage = _time(item)
        elif name in _COUNTS:
            layer.count = positive_count(item)
        elif quantity is not None:
            if isinstance(item, dict):
                own_unit = _find_unit(item) or own_unit
                item = item.get("value")
            _set_figure(layer, quantity, key, item, own_unit or unit, table)


def _set_figure(
    layer: LayerTimes, quantity: str, key: str, value: object, unit: str | None, table: LayerTable
) -> None:
    """Set a figure of a layer. For a list of samples these are mean, median and sum."""
    scale = MS.get(unit or "ms", 1.0)
    if isinstance(value, list) and quantity == "time":
        samples = [item[0] if isinstance(item, list) and item else item for item in value]
        known = [time * scale for time in map(_time, samples) if time is not None]
        if known:
            layer.total_ms, layer.median_ms = math.fsum(known), median(known)
            layer.average_ms = layer.total_ms / len(known)
            layer.spread = measure_spread(known)
            table.units.setdefault("samples", unit)
        return
    time = _time(value)
    if time is None or (quantity == "time" and layer.time_ms is not None):
        return
    if quantity == "time":
        layer.time_key = key
    setattr(layer, f"{quantity}_ms", time * scale)
    table.units.setdefault(quantity, unit)


def _time(value: object) -> float | None:
    number = finite_number(value)
    return number if number is not None and number >= 0 else None
