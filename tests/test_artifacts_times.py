"""Times of layers and queries: trtexec's own files, those of other tools, units, and what is missing."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import (
    ARTIFACTS,
    REAL_SETS,
    RealSet,
    examples,
    messages,
    plain_json,
    profile_line,
    profile_text,
    real_sets,
    timing_row,
    write_json,
)
from trex_tui.artifacts.kinds import FileKind, recognize
from trex_tui.artifacts.layer_times import measure_spread
from trex_tui.artifacts.profile import Profile, ProfileRow, read_profiles
from trex_tui.artifacts.timing import ENQUEUE, MS, Timing, read_timings
from trex_tui.errors import ArtifactError, Severity

CASES = ARTIFACTS.parent / "cases"
TIMES = {"conv1": 0.5, "relu1": 0.25, "conv2": 0.125}
"""Milliseconds, on average."""


def case(name: str) -> Path:
    path = CASES / name
    return path if path.exists() else pytest.skip(f"no case at {path}")


def read_profile(path: Path) -> Profile:
    (profile,) = read_profiles(path)
    return profile


def read_timing(path: Path) -> Timing:
    (timing,) = read_timings(path)
    return timing


def averages(profile: Profile) -> dict[str, float | None]:
    return {row.name: row.average_ms for row in profile.rows}


# trtexec's own files


@pytest.mark.parametrize("real", real_sets(having=["profile"]))
def test_every_row_of_a_real_profile(real: RealSet) -> None:
    profile = read_profile(real.path("profile"))
    records = real.rows()
    keys = ("timeMs", "averageMs", "medianMs", "percentage")
    assert list(profile.rows) == [
        ProfileRow(record["name"], *(record.get(key) for key in keys)) for record in records
    ]
    assert (profile.notes, profile.assumed, profile.is_whole, profile.unit) == ((), "", True, "ms")
    assert (profile.stated_total_ms, profile.missing_pct) == (None, None)
    assert profile.sum_ms == pytest.approx(math.fsum(record["averageMs"] for record in records))


@pytest.mark.parametrize("real", real_sets(having=["timing"]))
def test_every_row_of_a_real_timing_file(real: RealSet) -> None:
    timing = read_timing(real.path("timing"))
    rows = real.json("timing")
    assert timing.rows == len(rows)
    assert {key: column.tolist() for key, column in timing.columns.items()} == {
        key: [row[key] for row in rows] for key in timing.columns
    }
    assert (timing.notes, timing.assumed, timing.unit) == ((), "", "ms")
    assert timing.latency_ms.tolist() == [row["latencyMs"] for row in rows]


def test_runs_that_were_appended(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    first, second = ([profile_line(name, ms * factor) for name, ms in TIMES.items()] for factor in (1, 2))
    path.write_text(profile_text(first) + profile_text(second, count=20), encoding="utf-8")
    runs = read_profiles(path)
    assert [(run.iterations, run.sum_ms) for run in runs] == [(10, 0.875), (20, 1.75)]
    times = write_json(tmp_path / "t.json", [timing_row(1.0, 0.5)])
    times.write_text(times.read_text() * 2, encoding="utf-8")
    assert [timing.rows for timing in read_timings(times)] == [1, 1]


def test_names_are_read_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(profile_text([profile_line('a"b\\n', 0.5), profile_line("c", 0.25)]), encoding="utf-8")
    profile = read_profile(path)
    assert [row.name for row in profile.rows] == ['a"b\\n', "c"]
    assert messages(profile.notes) == [
        "is not valid JSON (trtexec does not escape names and prints nan); all 2 records read by line"
    ]


def test_a_cut_file_keeps_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    text = profile_text([profile_line(name, ms) for name, ms in TIMES.items()])
    path.write_text(text[: text.index("conv2") + 3], encoding="utf-8")
    profile = read_profile(path)
    assert averages(profile) == {"conv1": 0.5, "relu1": 0.25}
    assert not profile.is_whole
    assert profile.notes[0].severity is Severity.ERROR
    assert "2 records were read by line, 1 lines lost (first: line 5)" in profile.notes[0].message


def test_single_times_of_the_recorder(tmp_path: Path) -> None:
    rows = [
        {"name": name, "timeMs": 3 * ms, "averageMs": ms, "samplesMs": [ms / 2, ms, 1.5 * ms]}
        for name, ms in TIMES.items()
    ]
    spread = read_profile(write_json(tmp_path / "p.json", [{"count": 3}, *rows])).spreads[0]
    assert spread is not None
    assert (list(spread.times_ms), spread.samples, spread.p99_ms) == ([0.25, 0.5, 0.75], 3, 0.75)
    assert spread.cv_pct == pytest.approx(100 * math.sqrt(2 / 3) / 2)
    assert measure_spread([1.0]).cv_pct is None


# What is missing


def test_a_profile_with_missing_rows_keeps_its_total(tmp_path: Path) -> None:
    """Percentages that do not sum to 100: posts on forums leave rows out."""
    real = next(one for one in REAL_SETS if one.name == "resnet18_fp16")
    records = plain_json(real.directory / real.files["profile"])
    whole = [record for record in records if "name" in record]
    total = math.fsum(record["averageMs"] for record in whole)
    kept = [record for record in records if record.get("percentage", 100) > 3]
    profile = read_profile(write_json(tmp_path / "p.json", kept))
    left_out = 100 - sum(record.get("percentage", 0) for record in kept)
    assert profile.stated_total_ms == pytest.approx(total, rel=1e-4)
    assert profile.missing_pct == pytest.approx(left_out, abs=0.01)
    (note,) = profile.notes
    assert note.severity is Severity.WARNING
    assert " are missing: the rest sums to " in note.message
    assert note.message.endswith("shares refer to the total")


@pytest.mark.parametrize(
    "rows",
    [
        [("a", 1.0, 50.0), ("b", 1.0, 49.8)],  # rounded
        [("a", 1.0, 1.0), ("b", 3.0, 1.0)],  # another share
        [("a", 1.0, 0.5), ("b", 1.0, 0.5)],  # a fraction
        [("a", 1.0, 60.0), ("b", 1.0, 60.0)],
    ],
)
def test_percentages_that_tell_nothing(tmp_path: Path, rows: list[tuple[str, float, float]]) -> None:
    records = [{"name": name, "timeMs": ms, "averageMs": ms, "percentage": share} for name, ms, share in rows]
    profile = read_profile(write_json(tmp_path / "p.json", [{"count": 1}, *records]))
    assert (profile.stated_total_ms, profile.notes) == (None, ())


def test_the_table_of_simple_profiler() -> None:
    profile = read_profile(case("12-simple-profiler/vit.txt"))
    assert profile.iterations == 20
    assert profile.stated_total_ms == pytest.approx(29.67 / 20)
    assert profile.missing_pct == pytest.approx(100 * (1 - 2.57 / 29.67))
    name = "Reformatting CopyNode for Input Tensor 0 to patch embedding"
    assert profile.rows[0] == ProfileRow(name, 0.95, 0.95 / 20, None, 3.2)
    assert len(profile.rows) == 11
    assert [note.severity for note in profile.notes] == [Severity.INFO, Severity.WARNING]


TABLE = """\
[I] ========== net profile ==========
[I]          TensorRT layer name    Runtime, %  Invocations  Runtime, ms
[I]            conv1_1 + relu1_1         50.0%            {count}        {first}
[I]                  RPROI Fused         50.0%            {count}        {first}
[I] ========== net total runtime = {total} ms ==========
"""


def test_tables_before_and_after_are_runs(tmp_path: Path) -> None:
    """sampleFasterRCNN prints the prefix of a log on every line."""
    path = tmp_path / "net.txt"
    text = TABLE.format(count=2, first="3.00", total="6.00") + TABLE.format(
        count=1, first="1.25", total="2.5"
    )
    path.write_text(text, encoding="utf-8")
    assert recognize(path).kind is FileKind.PROFILE
    runs = read_profiles(path)
    assert [averages(run) for run in runs] == [
        {"conv1_1 + relu1_1": 1.5, "RPROI Fused": 1.5},
        {"conv1_1 + relu1_1": 1.25, "RPROI Fused": 1.25},
    ]
    assert [(run.is_whole, run.missing_pct) for run in runs] == [(True, None)] * 2
    path.write_text(text[: text.rindex("[I] ==")], encoding="utf-8")
    cut = read_profiles(path)[-1]
    assert not cut.is_whole
    assert messages(cut.notes)[-1] == "has no end of the table; copy or export it again"


# Times of layers in files of other tools


def each(**keys: float) -> list[dict[str, Any]]:
    """A row per layer: its name, and its time in milliseconds times a factor for each key."""
    return [{"name": name} | {key: ms * factor for key, factor in keys.items()} for name, ms in TIMES.items()]


ROWS = each(timeMs=10, averageMs=1, medianMs=1)
COUNT = {"count": 10}
FORMS: dict[str, Any] = {
    "layers": {"layers": ROWS},
    "below other keys": {"engine": "net", "results": [{"batch": 1, "profile": {"layers": ROWS}}]},
    "Layers": {"Layers": [{"Name": name, "avg_ms": ms} for name, ms in TIMES.items()]},
    "mean latency": {"layers": each(latency_mean_ms=1)},
    "avgUs": {"layers": each(avgUs=1000)},
    "seconds": {"layers": each(avg_s=0.001)},
    "a unit beside": {"unit": "us", "layers": each(avg=1000)},
    "timeMs alone": {"layers": each(timeMs=1)},
    "timeMs and a count": [COUNT, *each(timeMs=10)],
    "layer": [{"layer": name, "avg_time_ms": ms} for name, ms in TIMES.items()],
    "numbers in µs": {"layer_times_us": {name: ms * 1000 for name, ms in TIMES.items()}},
    "objects": {"layers": {name: {"avg_ms": ms} for name, ms in TIMES.items()}},
    "samples": {name: [ms / 2, ms, ms * 1.5] for name, ms in TIMES.items()},
    "samples with stamps": {name: [[ms, "20250101-10:00:00.00"]] * 3 for name, ms in TIMES.items()},
    "a sum below": {"layers": [*each(avg_ms=1), {"name": "Total", "avg_ms": 0.875}]},
    "a string": json.dumps({"layers": each(avg_ms=1)}),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_forms(tmp_path: Path, form: str) -> None:
    path = write_json(tmp_path / "net.json", FORMS[form])
    assert recognize(path).kind is FileKind.PROFILE
    profile = read_profile(path)
    assert averages(profile) == pytest.approx(TIMES)
    assert len(profile.rows) == len(TIMES)
    assert profile.unit == "ms"
    note = profile.notes[0]
    assert (note.severity, note.message) == (Severity.INFO, profile.assumed)
    assert note.message.startswith("is not in trtexec's format; read as 3 layers")


def test_a_unit_that_nothing_tells_is_unknown(tmp_path: Path) -> None:
    profile = read_profile(write_json(tmp_path / "net.json", {"layers": TIMES}))
    assert (profile.unit, averages(profile)) == (None, TIMES)
    assert profile.notes[0].severity is Severity.WARNING
    assert "unit unknown: the file states none" in profile.notes[0].message


def test_a_second_profile_is_told(tmp_path: Path) -> None:
    lists = {"runs": [{"layers": each(avg_ms=2)}, {"layers": each(avg_ms=1)}]}
    profile = read_profile(write_json(tmp_path / "net.profile.json", lists))
    assert profile.sum_ms == 1.75
    assert messages(profile.notes)[1:] == ["has 2 profiles; not read: 3 layers at runs.1.layers"]


def test_real_samples_of_torch_tensorrt() -> None:
    path = ARTIFACTS / "torch-trt" / "resnet18" / "trt_layer_latency.json"
    if not path.exists():
        pytest.skip(f"no real artifacts at {ARTIFACTS}")
    samples = plain_json(path)
    profile = read_profile(path)
    assert averages(profile) == pytest.approx({name: sum(ms) / len(ms) for name, ms in samples.items()})
    assert (profile.iterations, profile.unit) == (100, "ms")
    assert [spread and spread.samples for spread in profile.spreads] == [100] * len(samples)


@pytest.mark.parametrize(
    "document",
    [
        {"resnet50": {"avg_ms": 1.0}, "vgg": {"avg_ms": 2.0}},
        {"batch": 1, "throughput": 200.0},
        {"latency_ms": {"mean": 1.0, "p99": 2.0}, "compute_ms": {"mean": 1.0}},
        {"layers": [{"name": "conv1", "shape": 3}]},
        {"results": [{"name": "resnet50", "avg_ms": 1.0}]},
        {"properties": {"Layers": {"items": {"minLength": 1, "maxLength": 100}}}},
        {"findings": {"CONV001": 1, "GEMM002": 3}},
        {"traceEvents": [{"name": "conv1", "ph": "X", "ts": 1, "dur": 2, "args": {"latency_ms": 1.0}}]},
    ],
)
def test_what_is_no_profile(tmp_path: Path, document: Any) -> None:
    assert recognize(write_json(tmp_path / "net.json", document)).kind is not FileKind.PROFILE


def test_rows_under_unknown_keys_are_not_an_empty_profile(tmp_path: Path) -> None:
    with pytest.raises(
        ArtifactError, match=r"has no times of layers under a known key \(keys: layer, cost\)"
    ):
        read_profiles(write_json(tmp_path / "p.json", [{"layer": "a", "cost": 1}]))
    with pytest.raises(
        ArtifactError, match="has the unknown time unit 'furlongs'; export it in ms, us, ns or s"
    ):
        read_profiles(
            write_json(tmp_path / "p.json", {"layers": [{"name": "a", "avg": 1}], "unit": "furlongs"})
        )
    empty = read_profile(write_json(tmp_path / "p.json", [{"count": 0}]))
    assert messages(empty.notes) == ["has no layers: nothing was profiled"]


PERFETTO = [
    {"name": name, "ph": "X", "ts": 0, "dur": 1000 * ms, "tid": 1, "pid": "_run_on_acc_0_engine Engine Execution", "args": {}}
    for name, ms in TIMES.items()
]  # fmt: skip


def test_execution_profiles_of_torch_tensorrt(tmp_path: Path) -> None:
    """The format `perfetto` has sums; in the format `trex` a comma follows the last figure of a row."""
    path = write_json(tmp_path / "_run_on_acc_0_engine_engine_exectuion_profile.trace", PERFETTO)
    assert recognize(path).kind is FileKind.PROFILE
    profile = read_profile(path)
    assert averages(profile) == pytest.approx(TIMES)
    assert profile.notes[0].severity is Severity.WARNING
    assert "sums over all calls" in profile.notes[0].message
    for folder, words in (("iter_0", "the first execution alone"), ("iter_3", "a single execution")):
        (tmp_path / folder).mkdir()
        once = read_profile(write_json(tmp_path / folder / path.name, PERFETTO))
        assert (averages(once), once.iterations) == (pytest.approx(TIMES), 1)
        assert words in once.notes[0].message
    rows = [
        f'  {{\n    "name": "{name}",\n    "timeMs": {10 * ms},\n    "averageMs": {ms},\n    '
        f'"percentage": {ms / 0.00875},\n  }}'
        for name, ms in TIMES.items()
    ]
    path.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
    assert recognize(path).kind is FileKind.PROFILE
    profile = read_profile(path)
    assert (averages(profile), profile.iterations, profile.notes) == (TIMES, 10, ())


# Times of queries in files of other tools


COLUMNS = {
    "latency_us": ("latencyMs", 1e-3), "inference_times_s": ("latencyMs", 1e3), "host_latency_ns": ("latencyMs", 1e-6),
    "gpuComputeMs": ("computeMs", 1.0), "GPU Compute Time (ms)": ("computeMs", 1.0), "enqueueTime_us": (ENQUEUE, 1e-3),
    "H2D Latency ms": ("h2dMs", 1.0),
}  # fmt: skip


@pytest.mark.parametrize("key", COLUMNS)
def test_any_form_has_the_same_rows(tmp_path: Path, key: str) -> None:
    column, scale = COLUMNS[key]
    unit = next(unit for unit, factor in MS.items() if factor == scale)
    for root in (
        {key: [500, None, 250]},
        {"model": {"shape": [1, 3], "name": "x", "runs": [{key: [500, None, 250]}]}},
        {key: {"values": [500, None, 250], "unit": unit}},
    ):
        timing = read_timing(write_json(tmp_path / "t.json", root))
        assert list(timing.columns[column]) == pytest.approx(
            [500 * scale, math.nan, 250 * scale], nan_ok=True
        )
        assert timing.unit == unit


BENCHMARK = {
    "config": {
        "model": "alexnet",
        "backend": "tensorrt",
        "dtype": "float16",
        "input_shape": [1, 3, 224, 224],
    },
    "total_time": 1.6006380360049661,
    "latencies": [0.0013367, 0.0013569, 0.0013501, 0.0013112],
    "avg_latency": 0.001338725,
    "avg_throughput": 747.0,
}
"""As in the edge-vision repository."""


@pytest.mark.parametrize(
    "root",
    [BENCHMARK, json.dumps(BENCHMARK, indent=4), {"results": BENCHMARK}],
    ids=["json", "a string", "below a key"],
)
def test_a_throughput_tells_the_unit(tmp_path: Path, root: Any) -> None:
    """Seconds were read as milliseconds: an engine of 0.0013 ms."""
    path = write_json(tmp_path / "alexnet_tensorrt.json", root)
    assert recognize(path).kind is FileKind.TIMING
    timing = read_timing(path)
    assert timing.latency_ms.tolist() == pytest.approx([1.3367, 1.3569, 1.3501, 1.3112])
    assert timing.unit == "s"
    (note,) = timing.notes
    assert note.severity is Severity.INFO
    assert note.message.endswith("unit s by avg_throughput: 747 per second")


def test_layers_are_a_witness_of_the_unit(tmp_path: Path) -> None:
    timing = read_timing(write_json(tmp_path / "lat.json", {"latencies": [0.00074, 0.00075]}))
    assert timing.unit is None
    assert timing.notes[0].severity is Severity.WARNING
    assert "unit unknown" in timing.notes[0].message
    resolved = timing.with_layers(0.527)
    assert (resolved.unit, resolved.latency_ms.tolist()) == ("s", pytest.approx([0.74, 0.75]))
    assert resolved.notes[0].severity is Severity.INFO
    assert resolved.notes[0].message.endswith("unit s by the layers beside it, 0.527 ms")
    assert timing.with_layers(0.02) is timing  # 28 ms or 0.03 µs: neither fits
    assert resolved.with_layers(500.0) is resolved


@pytest.mark.parametrize(
    ("root", "latencies", "words"),
    [
        ([0.5, 0.75], [0.5, 0.75], "read as 2 rows at times of latency; unit unknown"),
        ({"times": [0.001], "unit": "s"}, [1.0], "read as 1 row at times of latency in s"),
        ({"model": {"latencies_us": [500, None, 250]}}, [0.5, None, 0.25], "3 rows at model.latencies_us"),
        ({"latency_in_ms": [1]}, [1.0], "latency in ms"),
        ({"latency": [1.0], "enqueue_us": [100]}, [1.0], "of latency, enqueue in µs; unit unknown"),
    ],
)  # fmt: skip
def test_what_was_assumed_of_queries(
    tmp_path: Path, root: Any, latencies: list[float | None], words: str
) -> None:
    timing = read_timing(write_json(tmp_path / "t.json", root))
    values = [None if math.isnan(value) else value for value in timing.latency_ms]
    assert values == pytest.approx(latencies)
    assert words in timing.assumed
    assert (timing.unit is None) == ("unit unknown" in words)


def test_what_else_a_file_holds_is_told(tmp_path: Path) -> None:
    root = {f"engine_{name}": {"times_ms": [1, 2, 3]} for name in "abcde"}
    message = read_timing(write_json(tmp_path / "t.json", root)).notes[1].message
    assert message.startswith(
        "has rows of 5 runs; not read: 3 rows at engine_b.times_ms, 3 rows at engine_c.times_ms"
    )


def test_no_duration_is_below_zero(tmp_path: Path) -> None:
    rows = [
        timing_row(1.0, 0.5),
        {**timing_row(2.0, 0.5), "latencyMs": -3, "h2dMs": -1.0},
        {"computeMs": 1},
        7,
    ]
    timing = read_timing(write_json(tmp_path / "t.json", rows))
    assert list(timing.latency_ms) == pytest.approx([0.5, math.nan, math.nan], nan_ok=True)
    assert messages(timing.notes) == [
        "1 entries are not timing rows; skipped",
        "1 of 3 rows have a negative h2d; read as unknown",
        "1 of 3 rows have a negative latency; read as unknown",
        "1 of 3 rows have no latency",
    ]


@pytest.mark.parametrize(
    "root",
    [{"power": {"values": [1, 2]}}, {"shape": [1, 3]}, {"latency": {"p50": 1}}, [{"name": 3}], [], 7, None],
)
def test_no_timing(tmp_path: Path, root: Any) -> None:
    with pytest.raises(ArtifactError, match="has no timing rows"):
        read_timings(write_json(tmp_path / "t.json", root))


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ("times", "latency", "unit", "value", "name", "layers", "averageMs", "count", "conv")
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=examples(200), deadline=None)
@given(ANY_JSON)
def test_anything_is_rows_or_an_error(root: Any) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = write_json(Path(directory, "t.json"), root)
        recognize(path)
        try:
            for timing in read_timings(path):
                assert {len(values) for values in timing.columns.values()} == {timing.rows}
        except ArtifactError:
            pass
        try:
            for profile in read_profiles(path):
                assert all(row.average_ms is None or row.average_ms >= 0 for row in profile.rows)
        except ArtifactError:
            pass
