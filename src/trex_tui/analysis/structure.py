"""Totals of layers by any columns, the critical path, reformats, and crossings between devices."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import pandas as pd

from trex_tui.analysis.compute import WORKING
from trex_tui.column import Column, by_key
from trex_tui.engine.dla import count_operators
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Engine, Port, per_engine
from trex_tui.frames import FLOAT, INT, TEXT, plain_values, total

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
        time, layers = table["latency_ms"], table["layers"]
        if end < len(keys):
            outer = table.groupby(list(keys[:end]), dropna=False)
            time, layers = outer["latency_ms"].transform("sum"), outer["layers"].transform("sum")
        order[f"time {end}"] = -time.fillna(0.0)
        order[f"layers {end}"] = -layers
        order[f"key {end}"] = table[keys[end - 1]].astype(TEXT)
    return table.loc[pd.DataFrame(order).sort_values(list(order), kind="stable").index].reset_index(drop=True)


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
    times = engine.layers["latency_ms"]
    whole = total(times)
    if not whole or not engine.has_graph or engine.tensors.empty:
        return None
    known = times.fillna(0.0).tolist()
    latest, before = list(known), [-1] * len(known)
    links = engine.links[~engine.links["is_loop"]].sort_values("target", kind="stable")
    # A layer is behind those that it reads from, so one pass does what networkx takes 0.1 s to be imported for.
    for source, layer in zip(links["source"].tolist(), links["target"].tolist(), strict=True):
        if latest[source] + known[layer] > latest[layer]:
            latest[layer], before[layer] = latest[source] + known[layer], source
    layer = max(range(len(known)), key=latest.__getitem__)
    latency_ms, path = latest[layer], [layer]
    while (layer := before[layer]) >= 0:
        path.append(layer)
    return CriticalPath(tuple(reversed(path)), latency_ms, 100.0 * latency_ms / whole)


@per_engine
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


@per_engine
def stream_totals(engine: Engine) -> pd.DataFrame:
    """Return totals by stream; streams run concurrently, so the times do not add up to a latency. Empty if none is stated."""
    return compute_totals(engine, "stream", rows=engine.layers["stream"].notna())


# DLA


class DlaFacts(NamedTuple):
    """Use of the DLA by an engine; the keys are described in `DLA`.

    Attributes:
        fallbacks: Per pair of blocks, the GPU layers that compute between them.
    """

    blocks: int
    dla_ms: float | None
    gpu_ms: float | None
    crossings: int
    crossing_ms: float | None
    fallbacks: tuple[tuple[int, ...], ...]


def dla_facts(engine: Engine) -> DlaFacts | None:
    """Return times on each device, and the cost of crossings between them; None without a DLA block."""
    if engine.dla_blocks.empty:
        return None
    layers, roles = engine.layers, engine.column("dla_role")
    times, on_dla = layers["latency_ms"], layers["device"].eq("DLA").fillna(False)
    is_moving = layers["kind"].isin([LayerKind.REFORMAT.value, LayerKind.SHUFFLE.value])
    computes = layers["kind"].isin(WORKING) & ~is_moving & ~on_dla
    starts = engine.dla_blocks["layer"].tolist()
    between = (computes[first + 1 : end] for first, end in pairwise(starts))
    return DlaFacts(
        blocks=len(starts),
        dla_ms=total(times[on_dla]),
        gpu_ms=total(times[~on_dla]),
        crossings=2 * len(starts),
        crossing_ms=total(times[_is_crossing(roles)]),
        fallbacks=tuple(tuple(rows.index[rows].tolist()) for rows in between if rows.any()),
    )


def _is_crossing(roles: pd.Series) -> pd.Series:
    return roles.notna() & ~roles.isin(["block", "wait"])


def dla_times(engine: Engine) -> pd.DataFrame:
    """Return a row per DLA block, in execution order; the columns are described in `DLA_BLOCKS`."""
    times, whole = engine.layers["latency_ms"], engine.latency_total_ms
    crossing = engine.column("dla_block")[_is_crossing(engine.column("dla_role"))]
    rows = []
    blocks = engine.dla_blocks
    for layer, wait in zip(blocks["layer"].tolist(), plain_values(blocks["wait"]), strict=True):
        moves = tuple(crossing.index[crossing.eq(layer)].tolist())
        execution_ms = total(times[[layer] if wait is None else [layer, wait]])
        share = 100.0 * execution_ms / whole if execution_ms is not None and whole else None
        wait_ms = None if wait is None else total(times[[wait]])
        operators = count_operators(str(engine.layers["name"].iat[layer]))
        row = (layer, wait, operators, execution_ms, wait_ms, share, moves, total(times[list(moves)]))
        rows.append(row)
    table = pd.DataFrame(rows, columns=[*DLA_BLOCKS], dtype=object)
    floats = ("execution_ms", "wait_ms", "latency_pct", "crossing_ms")
    return table.astype(dict.fromkeys(floats, FLOAT) | dict.fromkeys(("layer", "wait", "operators"), INT))


TOTALS = by_key(
    Column("layers", "Layers", "Number of layers of the group, NoOps and constants included."),
    Column("unmeasured", "Unmeasured", "Layers without a time, which the sums leave out."),
)  # fmt: skip
"""Columns of `compute_totals` that are no columns of layers."""
PATH = by_key(
    Column("layers", "Layers", "Layers of the path, in execution order."),
    Column("latency_ms", "ms", "Sum of their times: a lower bound for every schedule over streams."),
    Column("latency_pct", "%", "Share of the path in the time of all layers.",
        "100 · latency_ms / Σ latency_ms"),
)  # fmt: skip
REFORMATS = by_key(
    Column("layer", "#", "Index of the reformat."),
    Column("source", "From", "Type and layout before: FP16 NCHW."),
    Column("target", "To", "Type and layout after: FP16 NHWC8."),
    Column("changes_type", "Type", "Whether the type changes, not only the layout."),
    Column("producers", "After", "Layers that write its input."),
    Column("consumers", "Before", "Layers that read its output."),
)  # fmt: skip
DLA = by_key(
    Column("blocks", "DLA blocks", "Parts of the network that run on the DLA."),
    Column("dla_ms", "DLA", "Time of all blocks and of the rows that wait for them.", source="profile"),
    Column("gpu_ms", "GPU", "Time of all other layers, crossings included.", source="profile"),
    Column("crossings", "Crossings", "How often the execution changes between GPU and DLA.", "2 · blocks"),
    Column("crossing_ms", "Crossing ms", "Time of copies and conversions between GPU and DLA.",
        source="profile"),
    Column("fallbacks", "Fallbacks", "GPU layers that compute between two blocks."),
)  # fmt: skip
DLA_BLOCKS = by_key(
    Column("layer", "#", "Index of the block."),
    Column("wait", "Wait", "Row whose time contains the execution of the block."),
    Column("operators", "Operators", "Operators in the name of the block; missing if it does not list them."),
    Column("execution_ms", "ms", "Submission and wait: the time on the DLA; a lower bound without a wait."),
    Column("wait_ms", "Wait ms", "Time of the wait.", source="profile"),
    Column("latency_pct", "%", "Share of the block in the time of all layers."),
    Column("crossing_rows", "Crossing rows", "Rows that copy or convert its inputs and outputs."),
    Column("crossing_ms", "Crossing ms", "Time of these rows.", source="profile"),
)  # fmt: skip
