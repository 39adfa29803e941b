"""Totals of layers by any columns, the critical path, reformats, and crossings between devices."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from trex_tui.column import Column
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Engine, Port, per_engine
from trex_tui.frames import FLOAT, TEXT, plain_values, total

SUMS = ("latency_ms", "latency_pct", "weights_bytes")


def compute_totals(engine: Engine, *keys: str, rows: pd.Series | None = None) -> pd.DataFrame:
    """Return a row per combination of columns, the slowest first; groups with the same first value are adjacent.

    Columns: the keys (NA for unknown), then those of `TOTALS`. Sums leave out layers without a value: `unmeasured` counts
    those without a time.

    Args:
        keys: Columns of the layers.
        rows: Mask of the layers to count. Shares stay those of the whole engine.
    """
    frame = engine.frame(*dict.fromkeys((*keys, *SUMS)))
    for key in keys:
        if frame[key].dtype == TEXT or frame[key].dtype == object:
            frame[key] = frame[key].replace("", pd.NA)
    groups = (frame if rows is None else frame[rows]).groupby(list(keys), dropna=False, sort=False)
    table = groups[list(SUMS)].sum(min_count=1)
    table.insert(0, "layers", groups.size())
    table.insert(1, "unmeasured", table["layers"] - groups["latency_ms"].count())
    table = table.reset_index()
    order: dict[str, pd.Series] = {}
    for end in range(1, len(keys) + 1):
        outer = table.groupby(list(keys[:end]), dropna=False)
        order[f"time {end}"] = -outer["latency_ms"].transform("sum").fillna(0.0)
        order[f"layers {end}"] = -outer["layers"].transform("sum")
        order[f"key {end}"] = table[keys[end - 1]].astype(str)
    return table.loc[pd.DataFrame(order).sort_values(list(order), kind="stable").index].reset_index(drop=True)


def cross_table(engine: Engine, row: str, column: str, value: str = "latency_ms") -> pd.DataFrame:
    """Return the sum of a column of the layers by two others: a row and a column per value, both sorted by their sums.

    A cell is NA if no layer of it has a value. Layers without a value in `row` or `column` are in the group NA.
    """
    frame = engine.frame(*dict.fromkeys((row, column, value)))
    table = frame.groupby([row, column], dropna=False)[value].sum(min_count=1).unstack(column)
    rows = table.sum(axis=1).sort_values(ascending=False, kind="stable").index
    columns = table.sum(axis=0).sort_values(ascending=False, kind="stable").index
    return table.loc[rows, columns]


def slowest(engine: Engine, count: int, rows: pd.Series | None = None) -> list[int]:
    """Return the slowest layers, the slowest first, without those that have no time."""
    times = engine.layers["latency_ms"] if rows is None else engine.layers["latency_ms"][rows]
    times = times.dropna().sort_values(ascending=False, kind="stable")
    return [int(layer) for layer in times.index[:count]]


class CriticalPath(NamedTuple):
    """The slowest chain of layers, each feeding the next; the keys are described in `PATH`.

    Attributes:
        layers: In execution order.
        latency_ms: Sum of their times: a lower bound for every schedule over streams, with the times of the profile.
        latency_pct: Its share of the sum over all layers; 100 for an engine without branches.
    """

    layers: tuple[int, ...]
    latency_ms: float
    latency_pct: float


@per_engine
def critical_path(engine: Engine) -> CriticalPath | None:
    """Return the longest path by latency, without loops; None without times, and if no layer lists tensors.

    Layers without a time count as taking none. Waiting between streams (`signal`, `wait`) is not a tensor and makes no link.
    """
    import networkx as nx  # 0.1 s, which most commands do not need

    times = engine.layers["latency_ms"]
    whole = total(times)
    if not whole or not engine.has_graph or engine.tensors.empty:
        return None
    known = times.fillna(0.0).to_numpy(float)
    links = engine.links[~engine.links["is_loop"]]
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_weighted_edges_from((-1, layer, float(time)) for layer, time in enumerate(known))
    graph.add_weighted_edges_from(
        (source, target, float(known[target]))
        for source, target in zip(links["source"].tolist(), links["target"].tolist(), strict=True)
    )
    path = tuple(nx.dag_longest_path(graph, weight="weight")[1:])
    latency_ms = float(sum(known[layer] for layer in path))
    return CriticalPath(path, latency_ms, 100.0 * latency_ms / whole)


def find_reformats(engine: Engine) -> pd.DataFrame:
    """Return a row per layer that changes type or layout, the slowest first; quantizations as reformats are not included.

    Columns: those of `REFORMATS`. Producers and consumers are tuples of layers; empty at the ends of the network.
    """
    readers, writers = _neighbours(engine)
    rows = [
        (
            layer,
            describe(inputs[0]),
            describe(outputs[0]),
            None not in (inputs[0].dtype, outputs[0].dtype) and inputs[0].dtype != outputs[0].dtype,
            writers.get(layer, ()),
            readers.get(layer, ()),
            latency_ms,
        )
        for layer, (kind, latency_ms, inputs, outputs) in enumerate(
            zip(
                engine.layers["kind"],
                plain_values(engine.layers["latency_ms"]),
                engine.inputs,
                engine.outputs,
                strict=True,
            )
        )
        if kind == LayerKind.REFORMAT.value and inputs and outputs
    ]
    table = pd.DataFrame(rows, columns=[*REFORMATS, "latency_ms"]).astype(
        {"source": TEXT, "target": TEXT, "latency_ms": FLOAT}
    )
    return table.sort_values(
        "latency_ms", ascending=False, kind="stable", na_position="last", ignore_index=True
    )


def describe(port: Port) -> str:
    """Return type and layout in short: `FP16 NHWC8`, `FP32`; the text of the file if unknown."""
    if port.dtype is None:
        return port.format_text or "unknown type"
    return f"{port.dtype} {port.format}" if port.format else port.dtype


def _neighbours(engine: Engine) -> tuple[dict[int, tuple[int, ...]], dict[int, tuple[int, ...]]]:
    """Return the layers that read from, and that write for, each layer; each once, in execution order."""
    pairs = sorted(set(zip(engine.links["source"].tolist(), engine.links["target"].tolist(), strict=True)))
    readers: dict[int, tuple[int, ...]] = {}
    writers: dict[int, tuple[int, ...]] = {}
    for source, target in pairs:
        readers[source] = (*readers.get(source, ()), target)
        writers[target] = (*writers.get(target, ()), source)
    return readers, writers


def find_transitions(engine: Engine) -> pd.DataFrame:
    """Return every link between a GPU and a DLA layer: each is a copy and a wait. Columns: source, target, tensor."""
    devices = engine.layers["device"]
    ends = [devices.reindex(engine.links[end]).reset_index(drop=True) for end in ("source", "target")]
    crosses = (ends[0] != ends[1]).fillna(False)
    return engine.links.loc[crosses.to_numpy(bool), ["source", "target", "tensor"]].reset_index(drop=True)


def stream_totals(engine: Engine) -> pd.DataFrame:
    """Return totals by stream; streams run concurrently, so the times do not add up to a latency. Empty if none is stated."""
    return compute_totals(engine, "stream", rows=engine.layers["stream"].notna())


TOTALS = {
    column.key: column
    for column in (
        Column("layers", "Layers", "Number of layers of the group, NoOps and constants included."),
        Column("unmeasured", "Unmeasured", "Layers without a time, which the sums leave out."),
    )
}
"""Columns of `compute_totals` that are no columns of layers."""
PATH = {
    column.key: column
    for column in (
        Column("layers", "Layers", "Layers of the path, in execution order."),
        Column("latency_ms", "ms", "Sum of their times: a lower bound for every schedule over streams."),
        Column(
            "latency_pct",
            "%",
            "Share of the path in the time of all layers.",
            "100 · latency_ms / Σ latency_ms",
        ),
    )
}
REFORMATS = {
    column.key: column
    for column in (
        Column("layer", "#", "Index of the reformat."),
        Column("source", "From", "Type and layout before: FP16 NCHW."),
        Column("target", "To", "Type and layout after: FP16 NHWC8."),
        Column("changes_type", "Type", "Whether the type changes, not only the layout."),
        Column("producers", "After", "Layers that write its input."),
        Column("consumers", "Before", "Layers that read its output."),
    )
}
