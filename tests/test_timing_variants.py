"""Timing files of other tools: whatever their form and unit, the same rows."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import examples, messages, timing_row, write_json
from trex_tui.analysis.timing import timing_statistics
from trex_tui.artifacts.naming import ArtifactKind
from trex_tui.artifacts.sniff import sniff
from trex_tui.artifacts.timing import read_timing
from trex_tui.artifacts.timing_variants import ENQUEUE, UnknownUnitError, read_variant, timing_column
from trex_tui.engine import load_engine
from trex_tui.errors import ArtifactError, Severity

PER_MS = {"ms": 1.0, "s": 1e-3, "us": 1e3, "µs": 1e3, "ns": 1e6, "seconds": 1e-3, "milliseconds": 1.0}
COLUMNS = {"latency": "latencyMs", "compute": "computeMs", "enqueue": ENQUEUE, "h2d": "h2dMs"}
SPELLINGS = {
    "latency": ("latency", "Latency", "host_latency", "totalLatency", "time"),
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
KEYS = ("times", "latency", "unit", "value", "0", "1", "x", "computeMs")
SETTINGS = settings(max_examples=examples(60), deadline=None)


@st.composite
def variants(draw: st.DrawFn) -> tuple[dict[str, list[float]], Any]:
    """Rows in milliseconds, and a file that holds them in one of its forms."""
    rows = draw(ROWS)
    unit = draw(st.sampled_from(sorted(PER_MS)))
    scaled = {name: [value * PER_MS[unit] for value in values] for name, values in rows.items()}
    keys = {name: draw(st.sampled_from(SPELLINGS[name])) for name in rows}
    form = draw(
        st.sampled_from(("rows", "rows with units", "columns", "series", "by number", "nested values"))
    )
    if form == "columns":
        body: Any = {f"{keys[name]}_{unit}": values for name, values in scaled.items()}
    elif form == "series":
        body = {keys[name]: {"values": values, "unit": unit} for name, values in scaled.items()}
    else:
        suffix = f"_{unit}" if form in ("rows", "by number") else ""
        count = len(rows["latency"])
        body = [{keys[name] + suffix: values[row] for name, values in scaled.items()} for row in range(count)]
        if form == "nested values":
            body = [{key: {"value": value, "unit": unit} for key, value in row.items()} for row in body]
        elif form == "rows with units":
            body = [{"iteration": 7, **row, "unit": unit} for row in body]
        elif form == "by number" and count > 1:
            body = {str(place): row for place, row in enumerate(body)}
    for key in draw(
        st.lists(st.sampled_from(("times", "perIteration", "results", "resnet", "run 1")), max_size=3)
    ):
        body = {"shape": [1, 3, 224, 224], "name": "x", key: body}
    return rows, body


@SETTINGS
@given(variants())
def test_any_form_has_the_same_rows(case: tuple[dict[str, list[float]], Any]) -> None:
    rows, root = case
    found = read_variant(json.loads(json.dumps(root)))
    assert found is not None
    assert found.rows == len(rows["latency"])
    assert {key: pytest.approx(list(values), rel=1e-12) for key, values in found.columns.items()} == {
        COLUMNS[name]: values for name, values in rows.items()
    }
    assert "no unit" not in found.words


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
def test_anything_is_rows_or_nothing(root: Any) -> None:
    try:
        found = read_variant(root)
    except UnknownUnitError:
        return
    if found is not None:
        assert found.rows > 0
        assert found.columns
        assert {len(values) for values in found.columns.values()} == {found.rows}


@pytest.mark.parametrize(
    ("root", "latencies", "words"),
    [
        ([0.5, 0.75], [0.5, 0.75], "read as 2 rows of latency in ms; no unit is stated: taken as milliseconds"),
        ({"times": [1, 2]}, [1.0, 2.0], "2 rows at times of latency in ms; no unit is stated: taken as milliseconds"),
        ({"times": [0.001], "unit": "s"}, [1.0], "read as 1 row at times of latency in s"),
        ({"times": {"latency": [1500]}, "units": {"latency": "us"}}, [1.5], "of latency in µs"),
        ({"model": {"latencies_us": [500, None, 250]}}, [0.5, None, 0.25], "3 rows at model.latencies_us"),
        ({"perIteration": [{"value": 1, "unit": "ns"}, {"value": 1, "unit": "us"}]}, [1e-6, 1e-3], "latency in ns"),
        ({"warmup": {"times": [9]}, "times": [1, 2]}, [1.0, 2.0], "2 rows at times"),
        ([{"time_s": 0.25}], [250.0], "1 row of latency in s"),
        ([{"timeS": 0.25}], [250.0], "1 row of latency in s"),
        ({"times_s": [0.25]}, [250.0], "latency in s"),
        ({"latencyMs": [1], "unit": "s"}, [1.0], "of latency in ms"),
        ({"latency": {"s": [0.25]}}, [250.0], "latency in s"),
        ({"inference_times": {"us": [250]}}, [0.25], "latency in µs"),
    ],
)  # fmt: skip
def test_what_was_assumed_is_said(root: Any, latencies: list[float | None], words: str) -> None:
    found = read_variant(root)
    assert found is not None
    values = [None if math.isnan(value) else value for value in found.columns["latencyMs"]]
    assert values == pytest.approx(latencies)
    assert words in found.words


PLURALS = {
    "latencyMs": (
        "inference_times",
        "inferenceTimes",
        "elapsed_times",
        "runtimes",
        "walltimes",
        "host_latencies",
        "TIMES",
    ),
    "computeMs": (
        "gpu_times",
        "compute_times",
        "gpuComputeTimes",
        "kernel_times",
        "GPU latencies",
        "gpu_durations",
    ),
    ENQUEUE: ("enqueue_times", "enqueueTimes", "enqTimes"),
    "h2dMs": ("h2d_times", "h2d latencies"),
}


@pytest.mark.parametrize(
    ("key", "column"), [(key, column) for column, keys in PLURALS.items() for key in keys]
)
def test_the_s_of_a_plural_is_no_unit(key: str, column: str) -> None:
    def read(root: Any) -> tuple[list[float], bool]:
        found = read_variant(root)
        assert found is not None
        assert list(found.columns) == [column]
        return found.columns[column].tolist(), "no unit is stated" in found.words

    assert read({key: [1.0, 2.0]}) == ([1.0, 2.0], True)
    assert read({"unit": "us", key: [1.0, 2.0]}) == ([0.001, 0.002], False)
    for ending, per_ms in (("_ms", 1.0), ("_us", 1e3), (" (s)", 1e-3), ("_seconds", 1e-3)):
        assert read({key + ending: [2.0]}) == ([pytest.approx(2.0 / per_ms)], False)
    thing, _, measure = key.partition("_")
    if measure and column != "latencyMs":
        assert read({thing: {measure: [1.0]}}) == ([1.0], True)
        assert read({thing: {f"{measure}_us": [1.0]}}) == ([0.001], False)


def test_what_else_a_file_holds_is_said(tmp_path: Path) -> None:
    runs = {f"engine_{name}": {"times": [1, 2, 3]} for name in "abcde"}
    timing = read_timing(write_json(tmp_path / "t.json", runs))
    assert timing.diagnostics[1].severity is Severity.WARNING
    assert timing.diagnostics[1].message == (
        "holds more rows than those of one run; not read: 3 rows at engine_b.times, 3 rows at engine_c.times, "
        "3 rows at engine_d.times, 1 more"
    )
    found = read_variant(
        {"a": {"times": [1, 2]}, "rows": [{"latency_ms": 1, "gpu_ms": 1}] * 3, "gpu_time": [9, 9]}
    )
    assert found is not None
    assert found.others == "2 rows at a.times, 2 rows at gpu_time"
    both = read_variant({"latencies": [1, 2], "gpu_times": [1, 2]})
    assert both is not None
    assert (len(both.columns), both.others) == (2, "")


@pytest.mark.parametrize(
    ("root", "column", "unit"),
    [
        ({"times_us": {"latency": [1000, 2000], "enqueue": [100, 200]}}, "latencyMs", "µs"),
        ({"times_us": [{"latency": 1000, "enqueue": 9}, {"latency": 2000}]}, "latencyMs", "µs"),
        ({"timings_us": {"gpu_compute": [1000, 2000]}}, "computeMs", "µs"),
        ({"results_us": {"latency": [1000, 2000]}}, "latencyMs", "µs"),
        ({"values_us": {"latencies": [1000, 2000]}}, "latencyMs", "µs"),
        ({"us": {"latency": [1000, 2000]}}, "latencyMs", "µs"),
        ({"benchmark (us)": {"resnet": {"latency": [1000, 2000]}}}, "latencyMs", "µs"),
        ({"unit": "s", "times_us": {"latency": [1000, 2000]}}, "latencyMs", "µs"),
        ({"times_us": {"unit": "ns", "latency": [1e6, 2e6]}}, "latencyMs", "ns"),
        ({"times_us": {"latency_ms": [1, 2]}}, "latencyMs", "ms"),
        ({"times_us": [{"latency": {"value": n, "unit": "ms"}} for n in (1, 2)]}, "latencyMs", "ms"),
        ({"unit": "us", "latency": {"ms": [1, 2]}}, "latencyMs", "ms"),
        ({"unit": "ms", "yolo_s": {"latency": [1, 2]}}, "latencyMs", "ms"),
    ],
)
def test_the_nearest_stated_unit_counts(root: Any, column: str, unit: str) -> None:
    found = read_variant(root)
    assert found is not None
    assert found.columns[column].tolist() == pytest.approx([1.0, 2.0])
    assert f"{column.removesuffix('Ms')} in {unit}" in found.words
    assert "no unit" not in found.words


@pytest.mark.parametrize(
    "root", [{"yolo_s": {"times": [1]}}, {"s": {"times": [1]}}, {"cloud-US": {"times": [1]}}]
)
def test_a_name_is_no_unit(root: Any) -> None:
    found = read_variant(root)
    assert found is not None
    assert (found.columns["latencyMs"].tolist(), "no unit is stated" in found.words) == ([1.0], True)


@pytest.mark.parametrize(
    "root",
    [
        {"latency_in_ms": [1, 2]},
        {"latency in us": [1000, 2000]},
        {"latencyInMs": [1, 2]},
        {"ms_per_iteration": [1, 2]},
        {"us_per_query": [1000, 2000]},
        {"latencies": ["1.0 ms", "2.0 ms"]},
        {"latencies": ["1.0 ms", "2e3us"]},
        [{"latency": "1 ms"}, {"latency": "2000 µs"}],
    ],
)
def test_clear_units_are_read(tmp_path: Path, root: Any) -> None:
    found = read_variant(root)
    assert found is not None
    assert found.columns["latencyMs"].tolist() == pytest.approx([1.0, 2.0])
    assert "no unit" not in found.words
    assert sniff(write_json(tmp_path / "x.json", root)).kind is ArtifactKind.TIMING


def test_the_keys_seen_are_named(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"holds no timing rows; its keys: net, frames_per_run$"):
        read_timing(write_json(tmp_path / "x.json", {"net": {"frames_per_run": [1, 2]}}))
    with pytest.raises(ArtifactError, match=r"holds no timing rows$"):
        read_timing(write_json(tmp_path / "x.json", ["1.5 eggs"]))


def test_units_that_contradict_are_told() -> None:
    told = "another unit is stated for latency as well: "
    for root, used, other in (
        ({"units": {"latencyMs": "us"}, "latencyMs": [1]}, "ms", "µs"),
        ({"unit": "s", "rows": [{"latency_ms": 1}]}, "ms", "s"),
        ({"times_us": {"unit": "ms", "latency": [1]}}, "ms", "µs"),
        ({"units": {"latency": "ms"}, "latencyMs": [1]}, "ms", None),
    ):
        found = read_variant(root)
        assert found is not None
        assert f"latency in {used}" in found.words
        assert (told in found.words, found.words.endswith(told + str(other))) == (other is not None,) * 2


@pytest.mark.parametrize("form", [lambda rows: rows, lambda rows: {"runs": rows}], ids=["trtexec", "other"])
def test_no_duration_is_below_zero(tmp_path: Path, form: Any) -> None:
    rows = [timing_row(1.0, 0.5), {**timing_row(2.0, 0.5), "latencyMs": -3, "h2dMs": -1.0}, {"computeMs": 1}]
    timing = read_timing(write_json(tmp_path / "t.json", form(rows)))
    assert [None if math.isnan(value) else value for value in timing.latency_ms] == [0.5, None, None]
    assert messages(timing.diagnostics)[-3:] == [
        "1 of 3 rows state a negative h2d; taken as unknown",
        "1 of 3 rows state a negative latency; taken as unknown",
        "1 of 3 rows have no latency",
    ]


@pytest.mark.parametrize(
    "root",
    [
        {"power": {"values": [1, 2]}},
        {"gpus": [0, 1]},
        {"shape": [1, 3]},
        {"latency": {"p50": 1, "p99": 2}},
        [{"name": 3}],
        [],
        {"times": []},
        7,
        None,
    ],
)
def test_no_timing(root: Any) -> None:
    assert read_variant(root) is None


def test_rows_of_trtexec_in_a_file_of_another_tool() -> None:
    row = timing_row(1.0, 0.5, end_to_end=True)
    old = {
        key.replace("H2d", "In").replace("D2h", "Out").replace("h2d", "in").replace("d2h", "out"): value
        for key, value in row.items()
    }
    for one in (row, old):
        found = read_variant({"run": {"times": [one, one]}})
        assert found is not None
        assert {key: values.tolist() for key, values in found.columns.items()} == {
            key: [value] * 2 for key, value in row.items()
        }


def test_a_unit_of_something_else_is_refused(tmp_path: Path) -> None:
    path = write_json(tmp_path / "t.json", {"times": [1.0], "unit": "frames"})
    with pytest.raises(ArtifactError, match="states times in 'frames', which is no unit of time"):
        read_timing(path)


def test_deep_nesting_ends() -> None:
    root: Any = [1.0]
    for _ in range(50):
        root = {"times": root}
    assert read_variant(root) is None


def test_keys_of_trtexec_are_columns() -> None:
    for key in timing_row(0, 1, end_to_end=True):
        assert timing_column(key) == key
    assert timing_column("name") is None


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
    assert note.message.startswith("is not in trtexec's own form; read as ")


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
        "1 entries are no timing rows; left out",
        "1 of 2 rows have no latency",
    ]
