"""The table at the end of a sweep: a row for each point, with the best of each measure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.document import Cell, Column, Table, drop_empty_columns, make_table
from trex_tui.old.report.views.capture import clock
from trex_tui.old.text import printable

if TYPE_CHECKING:
    from trex_tui.old.engine.engine import Engine

SCHEMA = "trex-tui/sweep/1"
COMPLETE = "complete"
_BEST = (("median", "median_ms"), ("per sample", "per_sample_ms"), ("energy", "energy_per_sample_j"))


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One point; None if it was not measured or the files lack the value.

    Attributes:
        host: The machine of a sweep over ssh; empty for this one.
        values: Axis -> value.
        state: `complete`, `failed`, `interrupted` or `not measured`.
        reason: Why it is not complete.
        per_sample_ms: Median over batch.
        is_reused: Whether an earlier capture or another point built the engine.
    """

    host: str
    name: str
    values: dict[str, str]
    directory: Path
    state: str
    reason: str = ""
    batch: int | None = None
    median_ms: float | None = None
    p99_ms: float | None = None
    throughput_qps: float | None = None
    per_sample_ms: float | None = None
    energy_per_inference_j: float | None = None
    energy_per_sample_j: float | None = None
    engine_bytes: int | None = None
    build_s: float | None = None
    is_reused: bool = False


def measured_values(engine: Engine, batch: int | None) -> dict[str, Any]:
    """Return the fields of a row that come from the files of its set.

    Args:
        batch: The requested batch; None uses that of the files.
    """
    from trex_tui.old.analysis.energy import power_statistics
    from trex_tui.old.analysis.timing import end_to_end
    from trex_tui.old.analysis.trtexec_runs import find_batch_size

    latency, stated, power = end_to_end(engine), find_batch_size(engine), power_statistics(engine)
    size = batch or (None if stated is None else stated.size)
    median = None if latency is None else latency.summary.median_ms
    energy = None if power is None else power.energy_per_inference_j
    return {
        "batch": size,
        "median_ms": median,
        "p99_ms": None if latency is None else latency.summary.percentiles_ms.get(99),
        "throughput_qps": None if latency is None else latency.throughput_qps,
        "per_sample_ms": median / size if median is not None and size else None,
        "energy_per_inference_j": energy,
        "energy_per_sample_j": energy / size if energy is not None and size else None,
    }


def find_best(rows: Sequence[SweepRow]) -> dict[int, list[str]]:
    """Return row index -> the measures in which it is the smallest; empty if all rows are equal."""
    best: dict[int, list[str]] = {}
    for label, field in _BEST:
        values = [getattr(row, field) for row in rows]
        known = [value for value in values if value is not None]
        if len(set(known)) > 1:
            for index, value in enumerate(values):
                if value == min(known):
                    best.setdefault(index, []).append(label)
    return best


def sweep_table(rows: Sequence[SweepRow], *, is_complete: bool = False) -> Table:
    """Return the rows as a table.

    Args:
        is_complete: Keep columns without values, for JSON.
    """
    columns = (
        Column("host", "host"),
        Column("name", "point", flex=True, width=24),
        Column("state", "state"),
        Column("batch", "batch", is_number=True, format=str),
        Column("median_ms", "median ms", is_number=True),
        Column("p99_ms", "p99 ms", is_number=True),
        Column("throughput_qps", "qps", is_number=True),
        Column("per_sample_ms", "ms per sample", is_number=True),
        Column("energy_per_inference_j", "J per inference", is_number=True),
        Column("energy_per_sample_j", "J per sample", is_number=True, priority=2),
        Column("engine_bytes", "engine", is_number=True),
        Column("build_s", "build", is_number=True, format=clock),
        Column("best", "best"),
    )
    best = find_best(rows)
    is_whole = all(row.state == COMPLETE for row in rows)
    cells = [
        (
            row.host or None,
            Cell(row.name, printable(row.name)),
            None if is_whole and not is_complete else row.state,
            row.batch,
            row.median_ms,
            row.p99_ms,
            row.throughput_qps,
            row.per_sample_ms,
            row.energy_per_inference_j,
            row.energy_per_sample_j,
            row.engine_bytes,
            _describe_build(row),
            best.get(index, []) if is_complete else ", ".join(best.get(index, [])) or None,
        )
        for index, row in enumerate(rows)
    ]
    table = make_table("points", columns, cells, noun="point")
    return table if is_complete else drop_empty_columns(table)


def _describe_build(row: SweepRow) -> Any:  # noqa: ANN401 - any cell
    if row.build_s is None or not row.is_reused:
        return row.build_s
    return Cell(row.build_s, f"{clock(row.build_s)} reused")


def sweep_object(rows: Sequence[SweepRow], version: str) -> dict[str, Any]:
    """Return the JSON document."""
    from trex_tui.old.report.render_json import row_objects

    points = [
        {
            **cells,
            "values": row.values,
            "directory": str(row.directory),
            "reason": row.reason or None,
            "is_reused": row.is_reused,
        }
        for row, cells in zip(rows, row_objects(sweep_table(rows, is_complete=True)), strict=True)
    ]
    return {"schema": SCHEMA, "trex_tui": version, "points": points}


def next_commands(rows: Sequence[SweepRow], outdir: Path) -> list[list[str]]:
    """Return command lines for the next steps: open the sets, and compare the first point with the best one."""
    commands = [["trex-tui", str(outdir)]]
    complete = [row for row in rows if row.state == COMPLETE and row.median_ms is not None]
    if len(complete) > 1:
        first = complete[0]
        others = complete[1:]
        best = min(others, key=lambda row: row.per_sample_ms or row.median_ms or 0.0)
        commands.append(["trex-tui", "diff", str(first.directory), str(best.directory)])
    return commands
