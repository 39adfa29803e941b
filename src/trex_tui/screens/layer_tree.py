"""The layers as a tree: by module, kind, precision, bound, kernel family, ONNX node, stream, or in execution order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import pandas as pd

from trex_tui.column import Column
from trex_tui.engine.model import Engine
from trex_tui.engine.names import ShortNames, first_nodes, label_name, short_names, split_name
from trex_tui.frames import FLOAT, TEXT, plain_values, text_array
from trex_tui.report.absence import no_layers
from trex_tui.report.document import Section
from trex_tui.text import printable, shorten_middle, shorten_name_list

GROUPINGS = {
    "module": "By module",
    "kind": "By kind",
    "precision": "By precision",
    "bound": "By bound",
    "tactic_family": "By kernel family",
    "onnx": "By ONNX node",
    "stream": "By stream",
    "order": "In execution order",
}
"""Grouping -> heading of the names."""
_NO_NODE = "(no ONNX node)"
_UNKNOWN = "unknown"
_SCATTERED = ("kind", "precision", "bound", "tactic_family")
"""Groups whose layers are all over the execution: the slowest group first."""
_MOST_OPEN = 60
"""Largest engine whose tree begins expanded."""


def divides(engine: Engine, grouping: str) -> bool:
    """Return whether a grouping has several groups; module and execution order are always of use."""
    return grouping in ("module", "order") or len(set(_find_paths(engine, grouping))) > 1


class Tree(NamedTuple):
    """A tree as rows of a table.

    Attributes:
        section: A row per group and layer, depth first. Labels: the number of a layer, `/PATH` of a group.
        levels: Depth of each row.
        layers: Label of a group -> its layers.
        is_folded: It begins collapsed.
    """

    section: Section
    levels: list[int]
    layers: dict[str, list[int]]
    is_folded: bool


class _Group:
    """Layers that share the first parts of a path; groups with one child are one."""

    def __init__(self, engine: Engine, path: tuple[str, ...], title: str, layers: list[int]) -> None:
        self.path, self.title, self.layers = path, title, layers
        times = engine.layers["latency_ms"].iloc[layers]
        self.time = None if times.isna().all() else float(times.sum())


def make_tree(engine: Engine, rows: pd.Series, grouping: str, *, is_by_time: bool) -> Tree:
    """Arrange the layers of a mask as a tree."""
    builder = _Builder(engine, grouping, is_by_time=is_by_time)
    builder.add(_Group(engine, (), "", rows.index[rows].tolist()), 0)
    return Tree(builder.section(), builder.levels, builder.groups, len(engine) > _MOST_OPEN)


class _Builder:
    """Collects the rows of a tree, depth first."""

    def __init__(self, engine: Engine, grouping: str, *, is_by_time: bool) -> None:
        self.engine, self._grouping, self._is_by_time = engine, grouping, is_by_time
        self._paths = _find_paths(engine, grouping)
        self._names = plain_values(engine.layers["name"])
        self._nodes = first_nodes(engine)
        self._times = plain_values(engine.layers["latency_ms"])
        self._is_flat = grouping in ("module", "onnx")
        self.labels: list[int | str] = []
        self.levels: list[int] = []
        self.groups: dict[str, list[int]] = {}
        self._titles: list[str] = []
        self._sums: list[float | None] = []
        self._shorteners: dict[str, Callable[[int], str]] = {}

    def add(self, group: _Group, level: int) -> None:
        """Add what is directly in a group, and what is below."""
        entries = list(self._entries(group))
        if self._is_by_time or (not group.path and self._grouping in _SCATTERED):
            entries.sort(key=lambda entry: -(self._time_of(entry) or 0.0))
        shorten = self._shorten(group, entries)
        for entry in entries:
            self.levels.append(level)
            self._sums.append(self._time_of(entry))
            if isinstance(entry, _Group):
                label = "/" + "/".join(entry.path)
                self.labels.append(label)
                self._titles.append(label)
                self.groups[label] = entry.layers
                self._shorteners[label] = _fit_group(entry)
                self.add(entry, level + 1)
            else:
                self.labels.append(entry)
                self._titles.append(self._names[entry])
                self._shorteners.setdefault(self._names[entry], partial(shorten, self._names[entry]))

    def _time_of(self, entry: _Group | int) -> float | None:
        return entry.time if isinstance(entry, _Group) else self._times[entry]

    def _entries(self, group: _Group) -> Iterator[_Group | int]:
        """Yield groups and layers directly in a group, in execution order of their first layer."""
        depth = len(group.path)
        parts: dict[str | int, list[int]] = defaultdict(list)
        for layer in group.layers:
            path = self._paths[layer]
            parts[path[depth] if len(path) > depth else layer].append(layer)
        for part, layers in parts.items():
            if isinstance(part, int) or (self._is_flat and len(layers) == 1):
                yield layers[0]
            else:
                path, names = (*group.path, part), [part]
                while (nexts := {self._paths[layer][len(path) : len(path) + 1] for layer in layers}) and len(
                    nexts
                ) == 1:
                    more = nexts.pop()
                    if not more:
                        break
                    names.append(more[0])
                    path = (*path, more[0])
                yield _Group(self.engine, path, "/".join(names), layers)

    def _shorten(self, group: _Group, entries: Sequence[_Group | int]) -> Callable[[str, int], str]:
        """Return the function that cuts the names in a group so that they stay different."""
        if self._grouping not in ("module", "onnx"):
            return short_names(self.engine).fit
        layers = [entry for entry in entries if isinstance(entry, int)]
        labels: dict[str, str] = {}
        for layer in layers:
            name = self._names[layer]
            text = (
                label_name(name, self._nodes[layer], len(group.path))
                if self._grouping == "module"
                else self._node_label(layer)
            )
            labels[name] = printable(shorten_name_list(text))
        counts: dict[str, int] = defaultdict(int)
        for text in labels.values():
            counts[text] += 1
        whole = short_names(self.engine).labels
        return ShortNames(
            {name: text if counts[text] == 1 else whole.get(name, name) for name, text in labels.items()}
        ).fit

    def _node_label(self, layer: int) -> str:
        more = len(self.engine.layers["onnx_nodes"].iloc[layer]) - 1
        return f"{self._nodes[layer]} +{more}" if more > 0 else self._nodes[layer]

    def section(self) -> Section:
        """Return the rows as a section."""
        engine = self.engine
        numbers = [label if isinstance(label, int) else None for label in self.labels]
        positions = [-1 if number is None else number for number in numbers]
        frame = pd.DataFrame(index=pd.Index(self.labels, dtype=object))
        frame["index"] = pd.array(numbers, "Int64")
        frame["name"] = text_array(self._titles)
        for key in ("kind", "precision"):
            values = plain_values(engine.layers[key])
            # Not missing: a group has no kind of its own.
            frame[key] = text_array("" if position < 0 else values[position] for position in positions)
        frame["latency_ms"] = pd.array(self._sums, FLOAT)
        total = engine.latency_total_ms
        frame["latency_pct"] = (
            100 * frame["latency_ms"] / total if total else pd.array([None] * len(frame), FLOAT)
        )
        keys = [
            "index",
            "name",
            "kind",
            "precision",
            *(["latency_ms", "latency_pct"] if engine.has_profile else []),
        ]
        no_precision = engine.layers["precision"].isna().all()
        keys = [key for key in keys if key != self._grouping and not (key == "precision" and no_precision)]
        columns = [_describe(engine, key, self._grouping) for key in keys]
        assert frame["name"].dtype == TEXT
        bar = "latency_pct" if engine.has_profile else ""
        reasons = [] if len(frame) else [no_layers(engine)]
        return Section("tree", "Layers", (), reasons, frame, columns, bar, shorten={"name": self._fit})

    def _fit(self, name: str, width: int) -> str:
        shorten = self._shorteners.get(name)
        return name[:width] if shorten is None else shorten(width)


def _describe(engine: Engine, key: str, grouping: str) -> Column:
    priorities = {"index": 0, "name": 0, "latency_ms": 0, "latency_pct": 1, "precision": 2, "kind": 3}
    column = replace(engine.columns[key], priority=priorities[key])
    return replace(column, title=GROUPINGS[grouping]) if key == "name" else column


def _fit_group(group: _Group) -> Callable[[int], str]:
    """Return the function that writes the title of a group with its number of layers in a width."""
    count = f" ({len(group.layers)})"
    title = printable(group.title)

    def fit(width: int) -> str:
        return (
            shorten_middle(title, max(1, width - len(count))) + count
            if width > 12
            else shorten_middle(title, width)
        )

    return fit


def _find_paths(engine: Engine, grouping: str) -> list[tuple[str, ...]]:
    """Return the groups that contain each layer, outermost first."""
    if grouping == "module":
        return [split_name(node)[0] for node in first_nodes(engine)]
    if grouping == "onnx":
        return [(nodes[0],) if nodes else (_NO_NODE,) for nodes in engine.layers["onnx_nodes"]]
    if grouping == "order":
        return [()] * len(engine)
    if grouping == "stream":
        pairs = zip(plain_values(engine.layers["device"]), plain_values(engine.layers["stream"]), strict=True)
        return [
            (" · ".join(filter(None, (device, f"stream {_UNKNOWN if stream is None else stream}"))),)
            for device, stream in pairs
        ]
    return [(value or _UNKNOWN,) for value in plain_values(engine.column(grouping))]
