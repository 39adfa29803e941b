"""Why an application is slower than trtexec: inferences, kernels and copies in a trace of Nsight Systems.

Reads the SQLite export (`nsys export --type sqlite`) through the tables that its documentation describes: kernels, copies and
CUDA calls (`CUPTI_ACTIVITY_KIND_*`), ranges (`NVTX_EVENTS`) and their texts (`StringIds`). TensorRT marks each inference and
each layer with an NVTX range on the thread that enqueues it; a kernel belongs to the ranges around the call that launched it.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pandas as pd

from trex_tui.analysis.timing import find_latency
from trex_tui.column import Column, by_key
from trex_tui.engine.model import Engine
from trex_tui.errors import ArtifactError, describe_os_error

_INFERENCE = re.compile(r"\bI?ExecutionContext::(?:enqueue|execute)")
_PUSH_POP = 59  # NvtxPushPopRange: nested on one thread
_RECORD = "record with `nsys profile -t cuda,nvtx`"
_MOST_ROWS = 5_000_000
_MS = 1e-6
"""Milliseconds of a nanosecond."""
_TABLES = {
    "CUPTI_ACTIVITY_KIND_KERNEL": ("start", "end", "correlationId"),
    "CUPTI_ACTIVITY_KIND_RUNTIME": ("start", "globalTid", "correlationId"),
    "CUPTI_ACTIVITY_KIND_MEMCPY": ("start", "end"),
    "NVTX_EVENTS": ("start", "end", "globalTid", "eventType", "text", "textId"),
    "StringIds": ("id", "value"),
}
"""Table -> the columns that are read."""

_TRACE = "trace of Nsight Systems"
FACTS = by_key(
    Column("inferences", "Inferences", "Inferences in the trace.", source=_TRACE),
    Column("period_ms", "Period", "From the begin of an inference to that of the next, median.", source=_TRACE),
    Column("gpu_busy_ms", "GPU busy", "Time of an inference in which one of its kernels runs, median.", source=_TRACE),
    Column("gpu_idle_ms", "Idle within", "Time from the first to the last kernel of an inference in which none runs, median.",
           source=_TRACE),
    Column("between_ms", "Between", "From the last kernel of an inference to the first of the next, median.", source=_TRACE),
    Column("enqueue_ms", "Enqueue", "Time in which the host enqueues an inference, median.", source=_TRACE),
    Column("copies_ms", "Copies", "Time of all copies of the trace per inference.", source=_TRACE),
    Column("other_kernels_ms", "Other kernels", "Time of the kernels that belong to no inference, per inference.",
           source=_TRACE),
    Column("first_ms", "First", "From the begin of the first inference to the end of its last kernel.", source=_TRACE),
    Column("trtexec_compute_ms", "trtexec", "GPU compute time of an inference in trtexec, median.", source="timing file"),
)  # fmt: skip
LAYERS = by_key(
    Column("layer", "Layer", "Range of the layer, as TensorRT names it.", source=_TRACE, priority=0, is_free_text=True),
    Column("gpu_ms", "GPU ms", "Time of its kernels per inference.", source=_TRACE, priority=0),
    Column("gpu_pct", "GPU %", "Share of it in the time of all layers.", source=_TRACE, priority=1),
    Column("kernels", "Kernels", "Kernels per inference.", source=_TRACE, priority=2),
    Column("latency_ms", "Profile ms", "Time of the layer in the profile of the set.", source="profile", priority=1),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Application:
    """What a trace says about an application.

    Attributes:
        facts: Key of `FACTS` -> value; None if unknown.
        layers: A row per layer, with the keys of `LAYERS`, the longest first.
        inferences: A row per inference: start_ns, end_ns of the enqueue; first_ns, last_ns, busy_ms, kernels of the GPU.
    """

    path: Path
    facts: dict[str, float | int | None]
    layers: pd.DataFrame
    inferences: pd.DataFrame


def read_application(path: Path, engine: Engine | None = None) -> Application:
    """Read a trace.

    Args:
        engine: Measured by trtexec, to compare with; None for none.

    Raises:
        ArtifactError: It is no SQLite export, is damaged, or has no kernels or no inferences of TensorRT.
    """
    kernels, calls, copies, ranges = _read_tables(path)
    if kernels.empty:
        raise ArtifactError(path, f"has no kernels; {_RECORD}")
    launches = calls.drop_duplicates("correlationId")
    kernels = kernels.merge(launches, "left", "correlationId", suffixes=("", "_call"))
    inferences = _find_inferences(ranges)
    if inferences.empty:
        raise ArtifactError(path, f"has no NVTX range of an inference; {_RECORD}, without CUDA graphs")
    kernels["inference"] = _place(kernels, inferences)
    if kernels["inference"].isna().all():
        raise ArtifactError(path, f"no kernel belongs to an inference; {_RECORD}, without CUDA graphs")
    kernels["layer"] = _name_layers(kernels, ranges)
    table = _measure_inferences(inferences, kernels.dropna(subset="inference"))
    return Application(
        path, _sum_up(table, kernels, copies, engine), _layer_table(kernels, len(table), engine), table
    )


def _read_tables(path: Path) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return kernels, calls, copies and nested ranges with their texts; a table that is missing is empty."""
    if path.suffix in (".nsys-rep", ".qdrep"):
        raise ArtifactError(path, f"is a report; export it: nsys export --type sqlite {path.name}")
    try:
        with path.open("rb") as file:
            if file.read(16) != b"SQLite format 3\0":
                raise ArtifactError(path, "is no SQLite export; write it with nsys export --type sqlite")
        # Immutable: no journal is read or written.
        address = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
        with closing(sqlite3.connect(address, uri=True)) as database:
            found = {
                name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            }
            tables = {}
            for name, columns in _TABLES.items():
                query = f"SELECT {', '.join(columns)} FROM {name} LIMIT {_MOST_ROWS}"
                rows = database.execute(query).fetchall() if name in found else []
                tables[name] = _check_numbers(pd.DataFrame(rows, columns=list(columns), dtype=object))
    except OSError as error:
        raise ArtifactError(path, describe_os_error(error)) from error
    except (sqlite3.Error, ValueError, OverflowError) as error:
        raise ArtifactError(path, f"cannot be read as an export of Nsight Systems: {error}") from None
    kernels, calls, copies, ranges, strings = tables.values()
    ranges = ranges[ranges["eventType"].eq(_PUSH_POP)]
    texts = ranges["textId"].map(dict(zip(strings["id"], strings["value"], strict=True)))
    return kernels, calls, copies, ranges.assign(text=ranges["text"].fillna(texts).fillna("").astype(str))


def _check_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose times, threads and correlations are whole numbers: SQLite keeps any value in any column."""
    for key in table.columns.intersection(["start", "end", "globalTid", "correlationId"]):
        is_whole = [type(value) is int and abs(value) < 2**63 for value in table[key]]
        table = table.loc[np.array(is_whole, dtype=bool)].astype({key: "int64"})
    return table


def _find_inferences(ranges: pd.DataFrame) -> pd.DataFrame:
    """Return the outermost ranges of inferences, in the order of time: start, end, globalTid."""
    marked = ranges[ranges["text"].str.contains(_INFERENCE)].sort_values(["globalTid", "start"])
    end_before = marked.groupby("globalTid")["end"].transform(lambda ends: ends.cummax().shift(fill_value=-1))
    outer = marked[marked["start"] >= end_before]
    return outer.sort_values("start", kind="stable", ignore_index=True)[["start", "end", "globalTid"]]


def _place(kernels: pd.DataFrame, inferences: pd.DataFrame) -> pd.Series:
    """Return the inference whose range holds the call that launched each kernel; NA for none."""
    placed = pd.Series(pd.NA, kernels.index, "Int64")
    for thread, own in inferences.groupby("globalTid"):
        chosen = kernels.index[kernels["globalTid"].eq(thread)]
        calls = kernels.loc[chosen, "start_call"].to_numpy("int64")
        at = np.searchsorted(own["start"].to_numpy("int64"), calls, "right") - 1
        holds = (at >= 0) & (calls < own["end"].to_numpy("int64")[np.maximum(at, 0)])
        placed[chosen[holds]] = own.index.to_numpy()[at[holds]]
    return placed


def _name_layers(kernels: pd.DataFrame, ranges: pd.DataFrame) -> pd.Series:
    """Return the innermost range around the call that launched each kernel; empty where that is the inference itself."""
    names = pd.Series("", kernels.index, dtype=object)
    launched = kernels[kernels["inference"].notna()].sort_values("start_call")
    for thread, own in launched.groupby("globalTid"):
        nested = ranges[ranges["globalTid"].eq(thread)].sort_values(["start", "end"], ascending=[True, False])
        waiting = iter(zip(nested["start"], nested["end"], nested["text"], strict=True))
        following = next(waiting, None)
        open_ranges: list[tuple[int, str]] = []  # end, text
        for index, call in zip(own.index.tolist(), own["start_call"], strict=True):
            while following is not None and following[0] <= call:
                while open_ranges and open_ranges[-1][0] <= following[0]:
                    open_ranges.pop()
                open_ranges.append((following[1], following[2]))
                following = next(waiting, None)
            while open_ranges and open_ranges[-1][0] <= call:
                open_ranges.pop()
            text = open_ranges[-1][1] if open_ranges else ""
            names[index] = "" if _INFERENCE.search(text) else text
    return names


def _measure_inferences(inferences: pd.DataFrame, kernels: pd.DataFrame) -> pd.DataFrame:
    """Return the inferences that ran kernels, with what the GPU did."""
    ordered = kernels.sort_values(["inference", "start"])
    # A kernel adds the time in which no earlier kernel of its inference runs.
    end_before = ordered.groupby("inference")["end"].transform(lambda ends: ends.cummax().shift())
    begin = ordered["start"].astype(float).clip(lower=end_before.fillna(0))
    ordered = ordered.assign(busy_ms=(ordered["end"] - begin).clip(lower=0) * _MS)
    table = ordered.groupby("inference").agg(
        first_ns=("start", "min"),
        last_ns=("end", "max"),
        busy_ms=("busy_ms", "sum"),
        kernels=("start", "size"),
    )
    return (
        inferences.rename(columns={"start": "start_ns", "end": "end_ns"})
        .join(table, how="inner")
        .reset_index(drop=True)
    )


def _sum_up(
    table: pd.DataFrame, kernels: pd.DataFrame, copies: pd.DataFrame, engine: Engine | None
) -> dict[str, float | int | None]:
    """Return the facts of `FACTS`; medians leave out the first inference if there are others."""
    steady = table.iloc[1:] if len(table) > 1 else table
    others = kernels[kernels["inference"].isna()]
    span_ms = (steady["last_ns"] - steady["first_ns"]) * _MS
    between_ms = (table["first_ns"].shift(-1) - table["last_ns"]).clip(lower=0) * _MS
    return {
        "inferences": len(table),
        "period_ms": _median(table["start_ns"].diff() * _MS),
        "gpu_busy_ms": _median(steady["busy_ms"]),
        "gpu_idle_ms": _median(span_ms - steady["busy_ms"]),
        "between_ms": _median(between_ms),
        "enqueue_ms": _median((steady["end_ns"] - steady["start_ns"]) * _MS),
        "copies_ms": float((copies["end"] - copies["start"]).sum() * _MS / len(table)),
        "other_kernels_ms": float((others["end"] - others["start"]).sum() * _MS / len(table)),
        "first_ms": float((table["last_ns"] - table["start_ns"]).iloc[0] * _MS),
        "trtexec_compute_ms": None if engine is None else find_latency(engine, "median_ms", "compute"),
    }


def _median(values: pd.Series) -> float | None:
    known = values.astype(float).dropna()
    return float(known.median()) if len(known) else None


def _layer_table(kernels: pd.DataFrame, inferences: int, engine: Engine | None) -> pd.DataFrame:
    of_layers = kernels[kernels["layer"] != ""]
    times = ((of_layers["end"] - of_layers["start"]) * _MS).groupby(of_layers["layer"])
    table = pd.DataFrame(
        {"gpu_ms": times.sum() / inferences, "kernels": times.size() / inferences}
    ).rename_axis("layer")
    table["gpu_pct"] = 100 * table["gpu_ms"] / table["gpu_ms"].sum()
    known = (
        {} if engine is None else dict(zip(engine.layers["name"], engine.layers["latency_ms"], strict=True))
    )
    table["latency_ms"] = pd.array([known.get(name, pd.NA) for name in table.index], "Float64")
    return table.reset_index().sort_values("gpu_ms", ascending=False, ignore_index=True)[list(LAYERS)]
