"""The table of engines: values recounted from the files, broken sets, models, order by date, processes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers import REPOSITORY, RealSet, real_sets
from trex_tui.analysis.columns import ALL_COLUMNS as LAYER_COLUMNS
from trex_tui.analysis.engines import (
    CHANGES,
    COLUMNS,
    EngineTable,
    Signature,
    group_models,
    make_row,
    read_engines,
    sort_by_date,
)
from trex_tui.api import load_engine
from trex_tui.artifacts.discover import ArtifactSet, find_sets
from trex_tui.engine.load import load_set
from trex_tui.engine.model import Engine
from trex_tui.frames import plain_values

SAMPLES = REPOSITORY / "sample_artifacts"


def load(source: ArtifactSet, run: int | None = None) -> Engine:
    return load_set(source, columns=LAYER_COLUMNS, run=run)


def table_of(path: Path | Iterable[Path], **how: Any) -> EngineTable:
    return read_engines(find_sets(path), load, **how)  # type: ignore[arg-type]


@pytest.mark.parametrize("real", real_sets(having=["graph", "profile"]))
def test_rows_against_the_plain_files(real: RealSet) -> None:
    row = make_row(load_engine(real.paths()))
    times = [profile["averageMs"] for profile in real.rows()]
    assert row["layers"] == len(real.layers())
    assert row["latency_sum_ms"] == pytest.approx(sum(times), rel=1e-9)
    assert sum(row[key] or 0.0 for key in row if key.endswith("_time_pct")) == pytest.approx(100)
    assert row["main_kinds"] is not None
    if "profile_metadata" in real.files:
        printed = real.json("profile_metadata")["performance_summary"]
        assert row["throughput_qps"] == printed["Throughput"]
        assert row["latency_median_ms"] == pytest.approx(printed["Latency"][3], rel=1e-5)
        if row["batch"]:
            assert row["per_sample_ms"] == pytest.approx(row["latency_median_ms"] / row["batch"])
            assert row["samples_per_s"] == pytest.approx(row["throughput_qps"] * row["batch"])
    assert row.keys() | {"engine", "model", "directory", "error"} == COLUMNS.keys()


# Models


def test_models_by_inputs_outputs_and_nodes() -> None:
    nodes = frozenset(f"conv{place}" for place in range(10))
    signatures = [
        Signature(("input:x",), nodes, "net_fp16"),
        Signature(("input:x",), nodes - {"conv1"}, "net_int8"),
        Signature(("input:z",), nodes, "net_other"),
        None,
        Signature(("input:x",), frozenset({"a", "b"}), "net"),
        Signature((), frozenset(), "alone"),
        Signature((), frozenset(), "alone"),
    ]
    assert group_models(signatures) == ["net", "net", "net_other", None, "net (2)", "alone", "alone"]


# Order and groups


def dated(folder: Path, dates: list[str | None]) -> EngineTable:
    """The same engine, captured several times, each slower by a tenth."""
    for place, date in enumerate(dates):
        path = folder / f"run{place}"
        shutil.copytree(SAMPLES / "alexnet", path)
        if date:
            manifest = {"schema": "trex-tui/capture/1", "started": date, "status": "complete"}
            (path / "alexnet_fp16.capture.json").write_text(json.dumps(manifest), encoding="utf-8")
    table = table_of(folder)
    factors = 1.1 ** table.frame["engine"].str.extract(r"run(\d)", expand=False).astype(float)
    return replace(
        table, frame=table.frame.assign(latency_median_ms=table.frame["latency_median_ms"] * factors)
    )


def test_order_by_date_with_differences_to_the_set_before(tmp_path: Path) -> None:
    dates = ["2026-03-01T00:00:00+00:00", "2026-01-01T00:00:00+00:00", None, "2026-02-01T00:00:00+00:00"]
    table = sort_by_date(dated(tmp_path, dates))
    order = table.frame["engine"].str.extract(r"run(\d)", expand=False).astype(int).tolist()
    assert order == [1, 3, 0, 2]
    changes = plain_values(table.frame["latency_median_ms_change_pct"])
    assert changes[0] is None
    assert changes[1:] == pytest.approx([21.0, 100 / 1.331 - 100, 21.0])
    assert plain_values(table.frame["weights_bytes_change_pct"])[1:] == [0, 0, 0]
    assert CHANGES.keys() <= table.columns.keys()
