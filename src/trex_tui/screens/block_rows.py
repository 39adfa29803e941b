"""Blocks of a comparison as rows of a table, and short labels of the engines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd

from trex_tui.column import Column
from trex_tui.compare.blocks import describe_columns, key_of, letter
from trex_tui.compare.comparison import Comparison
from trex_tui.engine.model import Engine
from trex_tui.frames import FLOAT, plain_values, text_array
from trex_tui.report.document import Section, drop_empty_columns
from trex_tui.report.views.compare import Shown, describe_changes
from trex_tui.text import ELLIPSIS, plural, printable
from trex_tui.widgets.side_by_side import FOLD, LAYER, QUIET, DeltaColumn
from trex_tui.widgets.table import Row

SIZE, ORDER = "size", "order"
"""Sort by the largest difference, and by execution; other sorts are keys of columns."""
_LEFT_ONLY, _RIGHT_ONLY, _SAME, _DIFFERENT = "‹──", "──›", "───", "─≠─"
_NOISE = {"slower": "beyond", "faster": "beyond", "same": "within"}
"""Verdict on the single times of a block -> where its difference is in their noise."""
_PARTS = re.compile(r" \([^()]*\)")
"""The parts of a tactic that changed, which take too much room in a table."""
Layers = tuple[tuple[int, ...], ...]
"""Layers of each engine."""
Cells = dict[str, Any]


class BlockRows(NamedTuple):
    """Rows of a table. Labels: the number of a block, `12B5` of layer 5 in it, `12.0` of a pair of layers, `/A` of a fold.

    Attributes:
        levels: Depth of each row.
        layers: Label -> layers of each engine in the row; none for a fold.
        blocks: Label -> its block; none for a fold.
    """

    section: Section
    levels: list[int]
    layers: dict[Row, Layers]
    blocks: dict[Row, int]


class Blocks:
    """The blocks of a comparison with all that their rows show; made in a thread.

    Attributes:
        labels: Short labels of the engines.
        layers, times: Per engine the layers and the time of each block; no time where the engine has no layer.
        deltas: Engine -> difference of each block from the baseline.
        quiet: Engine -> whether nothing differs in a block from the baseline, its time within noise.
        block_of: Per engine, the block of each layer.
    """

    def __init__(self, comparison: Comparison) -> None:
        frame, engines, others = comparison.blocks, comparison.engines, comparison.others
        positions = range(len(engines))
        self.comparison = comparison
        self.labels = label_engines(comparison)
        self.layers: list[list[tuple[int, ...]]] = [
            frame[key_of(end, "layers")].tolist() for end in positions
        ]
        self.times = [
            [time if layers else None for time, layers in zip(times, self.layers[end], strict=True)]
            for end in positions
            for times in [plain_values(frame[key_of(end, "latency_ms")])]
        ]
        self.deltas = {other: plain_values(frame[key_of(other, "delta_ms")]) for other in others}
        self.quiet = {other: self._find_quiet(other) for other in others}
        self.block_of = [comparison.blocks_of(end) for end in positions]
        self._names = Shown(comparison, frame.index).names
        self._starts: dict[str, str] = {}
        self._titles, self._kinds = frame["label"].tolist(), frame["kind"].tolist()
        self._pcts = {other: plain_values(frame[key_of(other, "delta_pct")]) for other in others}
        self._verdicts = {
            other: plain_values(frame[key])
            if (key := key_of(other, "verdict")) in frame
            else [None] * len(frame)
            for other in others
        }
        self._layer_names = [engine.layers["name"].tolist() for engine in engines]
        self._layer_times = [
            plain_values(engine.layers["latency_ms"] / side.per)
            for engine, side in zip(engines, comparison.sides, strict=True)
        ]
        self._precisions = [plain_values(engine.layers["precision"]) for engine in engines]
        self._tactics = [plain_values(engine.layers["tactic"]) for engine in engines]
        self._longest = max((time for times in self.times for time in times if time is not None), default=0.0)
        self._changes = {
            chosen: [
                describe_changes(comparison, block, chosen).replace("precision ", "")
                for block in range(len(frame))
            ]
            for chosen in {others, *((other,) for other in others)}
        }

    def __len__(self) -> int:
        return len(self._titles)

    def _find_quiet(self, other: int) -> list[bool]:
        comparison = self.comparison
        causes = plain_values(comparison.blocks[key_of(other, "cause")])
        ends = (self.layers[0], self.layers[other], comparison.changes[other], causes)
        return [
            bool(first) is bool(second) and not changes and cause in (None, "unchanged")
            for first, second, changes, cause in zip(*ends, strict=True)
        ]

    def describe_changes(self, block: int, others: tuple[int, ...]) -> str:
        return self._changes[others][block]

    def is_changed(self, block: int, others: Iterable[int]) -> bool:
        return not all(self.quiet[other][block] for other in others)

    def main_layer(self, end: int, layers: Sequence[int]) -> int:
        """Return the slowest of some layers of an engine."""
        times = self._layer_times[end]
        return max(layers, key=lambda layer: times[layer] or 0.0)

    def is_zero(self, block: int, ends: Iterable[int]) -> bool:
        """Return whether a block takes no time in any engine; without times, whether it is a no-op."""
        times = {self.times[end][block] for end in ends if self.layers[end][block]}
        return times == {0.0} or (times <= {0.0, None} and self._kinds[block] == "noop")

    def arrange(
        self, blocks: Iterable[int], others: tuple[int, ...], sort: str, *, is_reversed: bool = False
    ) -> list[int]:
        """Return blocks in an order, by default the largest value first; unknown values are last."""

        def measure(block: int) -> Any:  # noqa: ANN401 - a number
            if sort == SIZE:
                deltas = [self.deltas[other][block] for other in others]
                return max((abs(delta) for delta in deltas if delta is not None), default=None)
            return values[block]

        if sort == ORDER:
            return sorted(blocks, reverse=is_reversed)
        values = [] if sort == SIZE else plain_values(self.comparison.blocks[sort])
        sized = [(measure(block), block) for block in sorted(blocks)]
        known = [(value, block) for value, block in sized if value is not None]
        known.sort(key=lambda pair: pair[0], reverse=not is_reversed)
        return [block for _, block in known] + [block for value, block in sized if value is None]

    # Rows

    def rows(self, blocks: Iterable[int], other: int | None, sort: str) -> BlockRows:
        """Return rows of blocks in an order; those that take no time are folded at the end.

        Args:
            other: The engine beside the baseline; None for the times of all engines in a row.
        """
        first, others = 0, self.comparison.others
        ends = (first, *others) if other is None else (first, other)
        write = self._write_block if other is None else self._write_pair
        rows = BlockRows(Section(""), [], {}, {})
        cells: dict[Row, Cells] = {}
        zeros: dict[str, list[int]] = {}

        def add(block: int, level: int) -> None:
            for label, layers, values in write(block, ends):
                rows.levels.append(level + (label != block))
                rows.layers[label], rows.blocks[label], cells[label] = layers, block, values

        for block in blocks:
            there = ", ".join(letter(end) for end in ends if self.layers[end][block])
            if there and self.is_zero(block, ends):
                zeros.setdefault(there, []).append(block)
            elif there:
                add(block, 0)
        for there, folded in zeros.items():
            if len(folded) > 1:
                only = "only " if there.count(",") + 1 < len(ends) else ""
                name = f"{plural(len(folded), 'no-op')} {only}in {there}"
                rows.levels.append(0)
                cells[f"/{there}"] = {"name": name, key_of(first, "name"): name, "state": FOLD}
            for block in folded:
                add(block, int(len(folded) > 1))
        columns = list(self._columns(ends, sort) if other is None else self._pair_columns(ends))
        return rows._replace(section=self._make_section(cells, columns))

    def _make_section(self, cells: dict[Row, Cells], columns: Sequence[Column]) -> Section:
        frame = pd.DataFrame(index=pd.Index(list(cells), dtype=object))
        for key in (*(column.key for column in columns), "kind", "state", "there"):
            values = [row.get(key) for row in cells.values()]
            is_number = key.endswith(("_ms", "_pct", "_bar"))
            frame[key] = pd.array(values, FLOAT) if is_number else text_array(value or "" for value in values)
        names = [column.key for column in columns if column.key.endswith("name")]
        shorten = {**dict.fromkeys(names, self._fit), "changed": _cut_end}
        section = Section("blocks", "Blocks", frame=frame, columns=columns, noun="block", shorten=shorten)
        return drop_empty_columns(section)

    def _fit(self, name: str, width: int) -> str:
        start = self._starts.get(name, "")
        return start + self._names.fit(name[len(start) :], max(1, width - len(start)))

    def _write_block(self, block: int, ends: tuple[int, ...]) -> Iterator[tuple[Row, Layers, Cells]]:
        """Yield the row of a block with the times of all engines, and a row per layer."""
        row = self._start_row(block, ends)
        row["name"] = self._titles[block]
        row["shape"] = ":".join(str(len(self.layers[end][block])) for end in ends)
        layers = self._layers_of(block, ends)
        for end in ends:
            row |= self._write_side(end, layers[end], self.times[end][block])
        yield block, layers, row
        for end in ends:
            for layer in layers[end]:
                start = f"{letter(end)} {layer} "
                name = start + self._layer_names[end][layer]
                self._starts[name] = start
                texts = (self._precisions[end][layer], self._tactics[end][layer])
                kernel = " · ".join(printable(text) for text in texts if text)
                row = {"name": name, "changed": kernel, "state": LAYER, "there": letter(end)}
                row[key_of(end, "latency_ms")] = self._layer_times[end][layer]
                own = tuple((layer,) if end == place else () for place in range(len(layers)))
                yield f"{block}{letter(end)}{layer}", own, row

    def _write_pair(self, block: int, ends: tuple[int, ...]) -> Iterator[tuple[Row, Layers, Cells]]:
        """Yield the row of a block, its engines side by side; if one has several layers, they follow in pairs."""
        first, other = ends
        row, layers = self._start_row(block, ends), self._layers_of(block, ends)
        if layers[first] and layers[other]:
            row["link"] = _SAME if self.quiet[other][block] else _DIFFERENT
        else:
            row["link"] = _LEFT_ONLY if layers[first] else _RIGHT_ONLY
        for end in ends:
            row |= self._write_side(end, layers[end], self.times[end][block])
        yield block, layers, row
        count = max(map(len, layers))
        for number in range(count if count > 1 else 0):
            pair = tuple(own[number : number + 1] for own in layers)
            row = {"kind": self._kinds[block], "state": LAYER}
            row["there"] = "".join(letter(end) for end in ends if pair[end])
            for end in ends:
                time = self._layer_times[end][pair[end][0]] if pair[end] else None
                row |= self._write_side(end, pair[end], time)
            yield f"{block}.{number}", pair, row

    def _layers_of(self, block: int, ends: Sequence[int]) -> Layers:
        return tuple(own[block] if end in ends else () for end, own in enumerate(self.layers))

    def _start_row(self, block: int, ends: tuple[int, ...]) -> Cells:
        """Return what a row has in both views."""
        others = ends[1:]
        changed = _PARTS.sub("", self._changes[others][block])
        row: Cells = {"kind": self._kinds[block], "changed": changed}
        row["state"] = "" if self.is_changed(block, others) else QUIET
        row["there"] = "".join(letter(end) for end in ends if self.layers[end][block])
        for other in others:
            row[key_of(other, "delta_ms")] = self.deltas[other][block]
            row[key_of(other, "delta_pct")] = self._pcts[other][block]
            row[key_of(other, "verdict")] = _NOISE.get(self._verdicts[other][block] or "", "")
        return row

    def _write_side(self, end: int, layers: Sequence[int], time: float | None) -> Cells:
        """Return the cells of an engine; several layers have the name and precision of the slowest."""
        if not layers:
            return {}
        main = self.main_layer(end, layers)
        return {
            key_of(end, "index"): f"{main} +{len(layers) - 1}" if len(layers) > 1 else str(main),
            key_of(end, "name"): self._layer_names[end][main],
            key_of(end, "precision"): self._precisions[end][main],
            key_of(end, "bar"): time / self._longest if time is not None and self._longest else None,
            key_of(end, "latency_ms"): time,
        }

    # Columns

    def _columns(self, ends: tuple[int, ...], sort: str) -> Iterator[Column]:
        """Yield the columns of a row per block; the last of them leave a narrow table first."""
        known = describe_columns(len(ends))
        is_pair = len(ends) == 2
        title = "Block, max |Δ| first" if sort == SIZE and not is_pair else "Block"
        yield replace(known["label"], key="name", title=title, priority=0)
        yield Column("shape", "Layers", "Number of layers in each engine.", priority=8)
        for rank, end in enumerate(ends):
            yield replace(known[key_of(end, "latency_ms")], priority=0)
            yield Column(key_of(end, "bar"), "", priority=7)
            if rank and not is_pair:
                yield self._delta_column(known, end, "ms", f"Δ{letter(end)} ms", 2 * rank - 2)
        if is_pair:
            yield self._delta_column(known, ends[1], "ms", "|Δ| ms" if sort == SIZE else "Δ ms", 0)
            yield self._delta_column(known, ends[1], "pct", "Δ %", 2)
        for end in ends[1:]:
            title = "Noise" if is_pair else f"{letter(end)} noise"
            yield replace(known[key_of(end, "verdict")], title=title, priority=3)
        yield Column("changed", "Changed", "What differs from the baseline.", priority=1 if is_pair else 9)

    def _pair_columns(self, ends: tuple[int, ...]) -> Iterator[Column]:
        """Yield the columns of two engines, mirrored; those of equal priority leave a narrow table together."""
        known = describe_columns(len(self.layers))
        left, right = (self._side_columns(known, end) for end in ends)
        yield from left
        yield Column("link", "", "─── equal, ─≠─ different, ‹── and ──› only in one engine.", priority=0)
        yield self._delta_column(known, ends[1], "ms", "Δ ms", 0)
        right[3], right[4] = right[4], right[3]  # bars begin at the left: the time comes before
        yield from (right[3], right[4], *reversed(right[:3]))
        yield Column("changed", "Changed", "What differs from the baseline.", priority=6)

    def _side_columns(self, known: dict[str, Column], end: int) -> list[Column]:
        name = letter(end)
        return [
            Column(
                key_of(end, "index"),
                f"{name} #",
                f"Position of the layer in {name}, and further ones.",
                priority=5,
            ),
            Column(key_of(end, "name"), f"{name} {self.labels[end]}", f"Layer of {name}.", priority=0),
            Column(key_of(end, "precision"), "Prec", f"Precision in {name}.", priority=3),
            Column(key_of(end, "bar"), "", priority=4),
            replace(known[key_of(end, "latency_ms")], priority=0),
        ]

    def _delta_column(
        self, known: dict[str, Column], end: int, unit: str, title: str, priority: int
    ) -> Column:
        column = known[key_of(end, f"delta_{unit}")]
        return DeltaColumn(column.key, title, column.help, priority=priority)


def _cut_end(text: str, width: int) -> str:
    """Cut the end: the first change matters most."""
    return text if len(text) <= width else text[: max(0, width - 1)].rstrip(" ,") + ELLIPSIS


# Labels

_WORD = re.compile(r"[/_.\-]|[^/_.\-]+")


def label_engines(comparison: Comparison) -> list[str]:
    """Return short labels by what differs: `fp16`, `qat`."""
    names = [printable(side.label) for side in comparison.sides]
    directories = [_find_directory(engine) for engine in comparison.engines]
    for candidates in (_drop_common(names), _drop_common(directories), directories):
        if all(candidates) and len(set(candidates)) == len(names) and "/" not in "".join(candidates):
            return candidates
    return names


def _find_directory(engine: Engine) -> str:
    path = next(iter(engine.files.values()), None)
    return "" if path is None else printable(path.resolve().parent.name)


def _drop_common(names: Sequence[str]) -> list[str]:
    """Return the names without the words that all begin and end with."""
    words = [_WORD.findall(name) for name in names]
    shortest = min(map(len, words))
    start = next((place for place in range(shortest) if len({own[place] for own in words}) > 1), shortest)
    most = shortest - start
    end = next((place for place in range(most) if len({own[-1 - place] for own in words}) > 1), most)
    return ["".join(own[start : len(own) - end]).strip("/_.-") for own in words]
