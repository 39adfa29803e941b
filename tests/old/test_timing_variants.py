"""Timing files of toolkits around trtexec: in each of four forms and every unit, the same rows."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import examples, messages, timing_row, write_json
from trex_tui.old.analysis.timing import timing_statistics
from trex_tui.old.artifacts.file_kinds import ArtifactKind, sniff
from trex_tui.old.artifacts.timing import ENQUEUE, Timing, read_timing, timing_column
from trex_tui.old.engine import load_engine
from trex_tui.old.errors import ArtifactError, Severity

PER_MS = {"ms": 1.0, "s": 1e-3, "us": 1e3, "µs": 1e3, "ns": 1e6, "seconds": 1e-3, "milliseconds": 1.0}
COLUMNS = {"latency": "latencyMs", "compute": "computeMs", "enqueue": ENQUEUE, "h2d": "h2dMs"}
SPELLINGS = {
    "latency": ("latency", "Latency", "host_latency", "totalLatency", "times", "inference_times"),
    "compute": ("compute", "gpuCompute", "GPU Compute Time", "gpu_compute_time", "computeTime"),
    "enqueue": ("enqueue", "enqueueTime", "enq", "Enqueue Time"),
    "h2d": ("h2d", "H2D Latency", "h2d_time"),
}
ROWS = st.integers(1, 12).flatmap(
    lambda count: st.fixed_dictionaries(
        {"latency": st.lists(st.floats(1e-3, 1e4), min_size=count, max_size=count)},
        optional={
            name: st.lists(st.floats(1e-3, 1e4), min_size=count, max_size=count)
            for name in ("compute", "enqueue", "h2d")
        },
    )
)
SETTINGS = settings(max_examples=examples(60), deadline=None)


def read(root: Any) -> Timing:
    with tempfile.TemporaryDirectory() as directory:
        return read_timing(write_json(Path(directory, "t.json"), root))


@st.composite
def variants(draw: st.DrawFn) -> tuple[dict[str, list[float]], Any]:
    """Rows in milliseconds, and a file that holds them in one of its forms."""
    rows = draw(ROWS)
    unit = draw(st.sampled_from(sorted(PER_MS)))
    scaled = {name: [value * PER_MS[unit] for value in values] for name, values in rows.items()}
    keys = {name: draw(st.sampled_from(SPELLINGS[name])) for name in rows}
    form = draw(st.sampled_from(("rows", "rows with units", "columns", "series", "nested values")))
    if form == "columns":
        body: Any = {f"{keys[name]}_{unit}": values for name, values in scaled.items()}
    elif form == "series":
        body = {keys[name]: {"values": values, "unit": unit} for name, values in scaled.items()}
    else:
        suffix = f"_{unit}" if form == "rows" else ""
        count = len(rows["latency"])
        body = [{keys[name] + suffix: values[row] for name, values in scaled.items()} for row in range(count)]
        if form == "nested values":
            body = [{key: {"value": value, "unit": unit} for key, value in row.items()} for row in body]
        elif form == "rows with units":
            body = [{"iteration": 7, **row, "unit": unit} for row in body]
    for key in draw(
        st.lists(st.sampled_from(("measurement", "perIteration", "results", "resnet", "run 1")), max_size=3)
    ):
        body = {"shape": [1, 3, 224, 224], "name": "x", key: body}
    return rows, body


@SETTINGS
@given(variants())
def test_any_form_has_the_same_rows(case: tuple[dict[str, list[float]], Any]) -> None:
    rows, root = case
    found = read(json.loads(json.dumps(root)))
    assert found.rows == len(rows["latency"])
    assert {key: pytest.approx(list(values), rel=1e-12) for key, values in found.columns.items()} == {
        COLUMNS[name]: values for name, values in rows.items()
    }
    assert "no unit" not in found.assumed


@SETTINGS
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(("times", "latency", "unit", "value", "0", "1", "x", "computeMs")),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_anything_is_rows_or_an_error(root: Any) -> None:
    try:
        found = read(root)
    except ArtifactError:
        return
    assert found.columns
    assert {len(values) for values in found.columns.values()} == {found.rows}


@pytest.mark.parametrize(
    ("root", "latencies", "words"),
    [
        ([0.5, 0.75], [0.5, 0.75], "read as 2 rows of latency in ms; no unit; assuming milliseconds"),
        ({"times": [1, 2]}, [1.0, 2.0], "2 rows at times of latency in ms; no unit; assuming milliseconds"),
        ({"times": [0.001], "unit": "s"}, [1.0], "read as 1 row at times of latency in s"),
        ({"model": {"latencies_us": [500, None, 250]}}, [0.5, None, 0.25], "3 rows at model.latencies_us"),
        ({"perIteration": [{"latency_us": 500}]}, [0.5], "1 row at perIteration of latency in µs"),
        ({"warmup": {"times": [9]}, "times": [1, 2]}, [1.0, 2.0], "2 rows at times"),
        ({"times_us": {"latency": [1000], "enqueue": [100]}}, [1.0], "latency in µs, enqueue in µs"),
        ({"times_us": {"latency": {"unit": "ms", "values": [1]}}}, [1.0], "latency in ms"),
        ([{"time_s": 0.25}], [250.0], "1 row of latency in s"),
        ([{"timeS": 0.25}], [250.0], "1 row of latency in s"),
        ({"times_s": [0.25]}, [250.0], "latency in s"),
        ({"latency_in_ms": [1]}, [1.0], "latency in ms"),
        ({"yolo_s": {"times": [1]}}, [1.0], "no unit"),
    ],
)  # fmt: skip
def test_what_was_assumed_is_said(root: Any, latencies: list[float | None], words: str) -> None:
    found = read(root)
    values = [None if math.isnan(value) else value for value in found.latency_ms]
    assert values == pytest.approx(latencies)
    assert words in found.assumed


def test_the_s_of_a_plural_is_no_unit() -> None:
    for key in ("times", "inferenceTimes", "elapsed", "host_latencies"):
        assert timing_column(key)[1] is None
        assert read({"unit": "us", key: [1000.0]}).latency_ms.tolist() == pytest.approx([1.0])


def test_what_else_a_file_holds_is_said() -> None:
    timing = read({f"engine_{name}": {"times": [1, 2, 3]} for name in "abcde"})
    assert timing.diagnostics[1].severity is Severity.WARNING
    assert timing.diagnostics[1].message == (
        "has rows of several runs; not read: 3 rows at engine_b.times, 3 rows at engine_c.times, 3 rows at "
        "engine_d.times, 1 more"
    )
    both = read({"latencies": [1, 2], "gpu_times": [1, 2]})
    assert (len(both.columns), len(both.diagnostics)) == (2, 1)


def test_the_keys_seen_are_named() -> None:
    with pytest.raises(
        ArtifactError,
        match=r"has no timing rows; its keys: net, frames_per_run; export it with --exportTimes$",
    ):
        read({"net": {"frames_per_run": [1, 2]}})
    with pytest.raises(ArtifactError, match=r"its keys: net␊x; export it with --exportTimes$"):
        read({"net\nx": None})
    with pytest.raises(ArtifactError, match=r"has no timing rows; export it with --exportTimes$"):
        read(["1.5 eggs"])


@pytest.mark.parametrize("form", [lambda rows: rows, lambda rows: {"runs": rows}], ids=["trtexec", "other"])
def test_no_duration_is_below_zero(form: Any) -> None:
    rows = [timing_row(1.0, 0.5), {**timing_row(2.0, 0.5), "latencyMs": -3, "h2dMs": -1.0}, {"computeMs": 1}]
    timing = read(form(rows))
    assert [None if math.isnan(value) else value for value in timing.latency_ms] == [0.5, None, None]
    assert messages(timing.diagnostics)[-3:] == [
        "1 of 3 rows have a negative h2d; read as unknown",
        "1 of 3 rows have a negative latency; read as unknown",
        "1 of 3 rows have no latency",
    ]


@pytest.mark.parametrize(
    "root",
    [
        {"power": {"values": [1, 2]}},
        {"gpus": [0, 1]},
        {"shape": [1, 3]},
        {"latency": {"p50": 1, "p99": 2}},
        {"latency": {"power": [1, 2]}},
        [{"name": 3}],
        [],
        {"times": []},
        7,
        None,
    ],
)
def test_no_timing(root: Any) -> None:
    with pytest.raises(ArtifactError, match="has no timing rows"):
        read(root)


def test_rows_of_trtexec_in_a_file_of_another_tool() -> None:
    row = timing_row(1.0, 0.5, end_to_end=True)
    old = {
        key.replace("H2d", "In").replace("D2h", "Out").replace("h2d", "in").replace("d2h", "out"): value
        for key, value in row.items()
    }
    for one in (row, old):
        found = read({"run": {"times": [one, one]}})
        assert {key: values.tolist() for key, values in found.columns.items()} == {
            key: [value] * 2 for key, value in row.items()
        }


def test_a_unit_of_something_else_is_refused() -> None:
    with pytest.raises(ArtifactError, match="has the unknown time unit 'frames'"):
        read({"times": [1.0], "unit": "frames"})


def test_deep_nesting_ends() -> None:
    root: Any = [1.0]
    for _ in range(50):
        root = {"times": root}
    with pytest.raises(ArtifactError):
        read(root)


def test_keys_of_trtexec_are_columns() -> None:
    for key in timing_row(0, 1, end_to_end=True):
        assert timing_column(key) == (key, "ms")
    assert timing_column("name") == (None, None)


@pytest.mark.parametrize(
    ("name", "root"),
    [
        ("a.json", {"model": "x", "times": [0.5, 0.5]}),
        ("a.json", {"perIteration": [{"iter": 0, "latency_us": 500}]}),
        ("a.json", {"latency": {"unit": "ms", "values": [1.0]}}),
        ("a.json", [{"gpu_compute_time_ms": 0.4}]),
        ("times.json", [0.5, 0.75]),
        ("resnet_latencies.json", [0.5]),
    ],
)
def test_such_a_file_opens_as_an_engine(tmp_path: Path, name: str, root: Any) -> None:
    path = write_json(tmp_path / name, root)
    assert sniff(path).kind is ArtifactKind.TIMING
    engine = load_engine(path)
    assert timing_statistics(engine) is not None
    (note,) = engine.diagnostics
    assert note.severity is Severity.INFO
    assert note.message.startswith("is not in trtexec's format; read as ")


@pytest.mark.parametrize(
    ("name", "root"),
    [
        ("labels.json", [1, 2]),
        ("config.json", {"times": 3, "latency": "low"}),
        ("times.json", {"schema": "trex-tui/times/1", "times": [1]}),
    ],
)
def test_other_json_is_no_timing_file(tmp_path: Path, name: str, root: Any) -> None:
    assert sniff(write_json(tmp_path / name, root)).kind is None


def test_enqueue_is_a_series_of_its_own(tmp_path: Path) -> None:
    rows = [{"latency_ms": 1.0, "compute_ms": 0.5, "enqueue_us": 250}] * 3
    statistics = timing_statistics(load_engine(write_json(tmp_path / "t.times.json", rows)))
    assert statistics is not None
    assert statistics.enqueue is not None
    assert (statistics.enqueue.median_ms, statistics.enqueue.resolution_ms) == (0.25, None)


def test_entries_that_are_no_rows_are_counted(tmp_path: Path) -> None:
    timing = read_timing(
        write_json(tmp_path / "t.json", {"times": [{"latency_s": 1}, 3, {"latency_s": "x"}]})
    )
    assert messages(timing.diagnostics)[1:] == [
        "1 entries are not timing rows; skipped",
        "1 of 2 rows have no latency",
    ]
