"""Layer times in JSON of other tools: find the part of a document that holds them, and interpret its keys.

Supported are rows with a name (`[{"name": "conv1", "avg_ms": 0.1}]`), names as keys (`{"conv1": 0.1}`, `{"conv1": {"avg":
0.1}}`), samples (`{"conv1": [0.1, 0.11]}`, possibly with a time stamp each, as in IProfiler dumps), pairs, and columns, below
any keys. Objects that map names to numbers count as layers only if a key around them, the name of the file or the names
themselves suggest it: a table of benchmarks looks the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from trex_tui.artifacts.layer_spread import LayerSpread, measure_spread
from trex_tui.artifacts.open import finite_number, positive_count
from trex_tui.artifacts.time_units import MS, UnknownUnitError, plain, split_unit, stated_unit
from trex_tui.artifacts.timing import timing_column

_MOST_DEPTH = 12
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
    (
        "count",
        "calls",
        "ncalls",
        "iterations",
        "numiterations",
        "invocations",
        "executions",
        "runs",
        "numruns",
    )
)
NAME_KEYS = ("layername", "layer", "name", "opname", "operatorname", "nodename", "operator", "op", "node")
"""Keys of the name of a layer, in lower-case letters and digits, the most likely first."""
_LAYER_WORDS = re.compile(r"(?<![A-Za-z])(?:per)?layer|Layer|LAYER|per_?op")
_PROFILE_WORDS = re.compile(r"profil", re.IGNORECASE)
_LIKE_LAYER = re.compile(
    r"[/\[{(]|\s\+\s|conv|relu|pool|gemm|matmul|softmax|reformat|shuffle|concat|resize|norm|linear|dense|myl|kgen|pwn|^(?:fc|bn|add)\d*$",
    re.IGNORECASE,
)


@dataclass(slots=True)
class LayerTimes:
    """Times of one layer, in milliseconds; None where not stated.

    Attributes:
        time_ms: A time that is called neither an average nor a sum.
        time_key: The key of `time_ms`, as in the file.
        samples: The single times from which average and median were computed; None if those are stated.
    """

    name: str
    average_ms: float | None = None
    median_ms: float | None = None
    total_ms: float | None = None
    percentage: float | None = None
    time_ms: float | None = None
    time_key: str = ""
    count: int | None = None
    samples: int | None = None
    spread: LayerSpread | None = None

    @property
    def has_time(self) -> bool:
        return any(
            value is not None for value in (self.average_ms, self.median_ms, self.total_ms, self.time_ms)
        )


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


def find_layer_times(document: object, file_name: str = "") -> list[LayerTable]:
    """Return every part of a document that holds layer times, in order.

    Raises:
        UnknownUnitError: The document states a unit that is not a unit of time.
    """
    around = _Around(
        is_layers=bool(_LAYER_WORDS.search(file_name)), is_profile=bool(_PROFILE_WORDS.search(file_name))
    )
    tables = list(_tables(document, around))
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


def _tables(node: object, around: _Around) -> Iterator[LayerTable]:
    if len(around.path) > _MOST_DEPTH:
        return
    if isinstance(node, list):
        yield from _tables_in_list(node, around)
    elif isinstance(node, dict):
        unit = _find_unit(node) or around.unit
        count = next((node[key] for key in node if _is_count(key, node[key])), around.count)
        around = _Around(around.path, unit, count, around.is_layers, around.is_profile)
        table = _table_of_columns(node, around) or _table_of_names(node, around)
        if table is not None:
            yield table
            return
        for key, value in node.items():
            if isinstance(value, (dict, list)):
                yield from _tables(value, around.below(key, _find_holder_unit(key) or unit))


def _tables_in_list(node: Sequence[object], around: _Around) -> Iterator[LayerTable]:
    stated = (item for item in node if isinstance(item, dict) and _states_count(item))
    count = next((value for item in stated for value in item.values()), around.count)
    table = LayerTable(".".join(around.path), count=count)
    is_about_layers = around.is_layers or around.is_profile or not around.path
    for item in node:
        layer = None
        if isinstance(item, dict):
            key = None if "ph" in item else _name_key(item)  # events of a trace have names as well
            if key is not None:
                layer = _layer_times(
                    item[key], {other: item[other] for other in item if other != key}, around.unit, table
                )
                is_about_layers = is_about_layers or "layer" in plain(key) or layer.percentage is not None
        elif isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) and around.is_layers:
            layer = _layer_times(item[0], item[1], around.unit, table)
        if layer is not None and layer.has_time:
            table.rows.append(layer)
        else:
            table.left_out += not (isinstance(item, dict) and _states_count(item))
    if table.rows and (is_about_layers or _are_like_layers([row.name for row in table.rows])):
        yield table
        return
    for index, item in enumerate(node):
        if isinstance(item, (dict, list)):
            yield from _tables(item, around.below(str(index), around.unit))


def _states_count(item: Mapping[str, Any]) -> bool:
    """Return whether an entry is `{"count": 100}`, with which trtexec begins."""
    return len(item) == 1 and all(_is_count(key, value) for key, value in item.items())


def _find_holder_unit(key: str) -> str | None:
    """Return the unit at the end of a key of layers or times: `per_layer_us`."""
    for stem, unit in split_unit(key):
        if unit and (_COLUMNS.get(stem) or _LAYER_WORDS.search(stem) or _PROFILE_WORDS.search(stem)):
            return unit
    return None


def _name_key(row: Mapping[str, Any]) -> str | None:
    keys = {plain(key): key for key in row if isinstance(row[key], str)}
    return next((keys[name] for name in NAME_KEYS if name in keys), None)


def _table_of_columns(node: Mapping[str, Any], around: _Around) -> LayerTable | None:
    """Read `{"name": ["conv1", …], "avg_ms": [0.1, …]}`, or objects with a key for each row instead of lists (pandas)."""
    lists = {key: list(value.values()) if isinstance(value, dict) else value for key, value in node.items()}
    name = next((key for key in lists if plain(key) in NAME_KEYS and _are_strings(lists[key])), None)
    if name is None:
        return None
    columns = {
        key: lists[key] for key in lists if key != name and _is_of_length(lists[key], len(lists[name]))
    }
    table = LayerTable(".".join(around.path), count=around.count)
    for index, layer in enumerate(lists[name]):
        row = _layer_times(layer, {key: column[index] for key, column in columns.items()}, around.unit, table)
        if row.has_time:
            table.rows.append(row)
        else:
            table.left_out += 1
    return table if table.rows else None


def _are_strings(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def _is_of_length(value: object, length: int) -> bool:
    return isinstance(value, list) and len(value) == length


def _table_of_names(node: Mapping[str, Any], around: _Around) -> LayerTable | None:
    """Read an object whose keys are the names of layers; None for any other."""
    if _name_key(node) is not None:
        return None
    table = LayerTable(".".join(around.path), count=around.count)
    named = {key: value for key, value in node.items() if not _is_about_all(key, value)}
    if not named or any(timing_column(key)[0] or _column(key)[0] for key in named):
        return None
    for name, value in named.items():
        layer = _layer_times(name, value, around.unit, table)
        if not layer.has_time:
            return None
        table.rows.append(layer)
    is_bare = all(finite_number(value) is not None for value in named.values())
    if around.unit is None and all(type(value) is int for value in named.values()):
        return None  # counts
    is_about_layers = around.is_layers or (around.is_profile and not is_bare)
    return table if is_about_layers or _are_like_layers(list(named)) else None


def _is_about_all(key: str, value: object) -> bool:
    """Return whether an entry beside layers applies to all of them: a count, a unit, a sum, a name."""
    is_figure = finite_number(value) is not None and (_column(key)[0] is not None or plain(key) in _COUNTS)
    return is_figure or isinstance(value, (str, bool)) or value is None


def _are_like_layers(names: Sequence[str]) -> bool:
    return 2 * sum(bool(_LIKE_LAYER.search(name)) for name in names) > len(names)


def _is_count(key: str, value: object) -> bool:
    return plain(key) in _COUNTS and positive_count(value) is not None


@lru_cache(maxsize=1024)
def _column(key: str) -> tuple[str | None, str | None]:
    """Return the quantity of a key, and the unit at its end."""
    for stem, unit in split_unit(key):
        column = _COLUMNS.get(stem)
        if column is not None and (stem or unit):
            return column, unit
    return None, None


def _layer_times(name: str, value: object, unit: str | None, table: LayerTable) -> LayerTimes:
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
        column, own_unit = _column(key)
        if "%" in key or name.endswith(_SHARES):
            layer.percentage = _time(item)
        elif name in _COUNTS:
            layer.count = positive_count(item)
        elif column is not None:
            if isinstance(item, dict):
                own_unit = _find_unit(item) or own_unit
                item = item.get("value")
            _set_figure(layer, column, key, item, own_unit or unit, table)


def _set_figure(
    layer: LayerTimes, column: str, key: str, value: object, unit: str | None, table: LayerTable
) -> None:
    """Set a figure of a layer. For a list of samples these are mean, median and sum."""
    scale = MS.get(unit or "ms", 1.0)
    if isinstance(value, list) and column == "time":
        samples = [item[0] if isinstance(item, list) and item else item for item in value]
        known = [time * scale for time in map(_time, samples) if time is not None]
        if not known:
            return
        from statistics import median  # 5 ms, for a form that is rare

        layer.total_ms = math.fsum(known)
        layer.average_ms = layer.total_ms / len(known)
        layer.median_ms = median(known)
        layer.samples = len(known)
        layer.spread = measure_spread(known)
        table.units.setdefault("samples", unit)
        return
    time = _time(value)
    if time is None:
        return
    if column == "time":
        if layer.time_ms is not None:
            return
        layer.time_key = key
    setattr(layer, f"{column}_ms", time * scale)
    table.units.setdefault(column, unit)


def _time(value: object) -> float | None:
    number = finite_number(value)
    return number if number is not None and number >= 0 else None
