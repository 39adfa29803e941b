"""Torch-TensorRT's debug folder: forms and names of its source, times of real engines written as it writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import examples, layer
from small_engines import write
from test_artifacts_torch import Row, trex_trace, write_module
from trex_tui import ArtifactError, Severity
from trex_tui.old.artifacts import ArtifactKind, find, scan
from trex_tui.old.artifacts.file_kinds import engine_stem, sniff
from trex_tui.old.artifacts.profile import read_profile
from trex_tui.old.engine import load_engine
from trex_tui.old.fleet.split_model import find_split_models


def perfetto_trace(rows: Sequence[Row], engine: str = "_run_on_acc_0_engine") -> str:
    parts, start = [], 0.0
    for name, total, _ in rows:
        parts.append(
            f'  {{\n    "name": "{name}",\n    "ph": "X",\n    "ts": {1000 * start:.6g},\n    "dur": {1000 * total:.6g},\n'
            f'    "tid": 1,\n    "pid": "{engine} Engine Execution",\n    "args": {{}}\n  }}'
        )
        start += total
    return "[\n" + ",\n".join(parts) + "\n]\n"


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("_run_on_acc_0_engine_layer_information.json", "_run_on_acc_0"),
        ("_run_on_acc_0_engine_engine_execution_profile.trace", "_run_on_acc_0"),
        ("_run_on_acc_0_engine_engine_exectuion_profile.trace", "_run_on_acc_0"),
        ("_run_on_acc_0_engine_execution_profile.trace", "_run_on_acc_0"),
        ("_run_on_acc_12_engine_layer_information.json", "_run_on_acc_12"),
    ],
)
def test_name_of_the_engine(name: str, stem: str) -> None:
    assert engine_stem(Path(name)) == stem


ROWS: list[Row] = [('say "a"\\b', 20.0, 10), ("conv + relu", 3.0, 10), ("{ForeignNode[a...b]}", 0.0, 10)]


def test_format_trex_as_its_source_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "_run_on_acc_0_engine_engine_exectuion_profile.trace"
    path.write_text(trex_trace(ROWS), encoding="utf-8")
    assert sniff(path).kind is ArtifactKind.PROFILE
    profile = read_profile(path)
    assert [row.name for row in profile.rows] == [name for name, _, _ in ROWS]
    assert [row.average_ms for row in profile.rows] == [2.0, 0.3, 0.0]
    assert [row.total_ms for row in profile.rows] == [20.0, 3.0, 0.0]
    assert profile.iterations == 10
    assert profile.diagnostics == ()


def test_format_perfetto_has_sums_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "any.trace"
    path.write_text(perfetto_trace(ROWS), encoding="utf-8")
    assert sniff(path).kind is ArtifactKind.PROFILE
    profile = read_profile(path)
    assert [row.total_ms for row in profile.rows] == [20.0, 3.0, 0.0]
    assert [row.average_ms for row in profile.rows] == [20.0, 3.0, 0.0]
    assert profile.iterations is None
    (note,) = profile.diagnostics
    assert note.severity is Severity.WARNING
    assert "sums over all calls" in note.message


def test_perfetto_written_again_by_a_script(tmp_path: Path) -> None:
    """Only the name of the file tells such events from those of another trace."""
    events = [{"ph": "X", "name": "conv", "ts": 0.0, "dur": 64.0}, {"ph": "M", "name": "thread_name"}]
    write(tmp_path / "engine_engine_exectuion_profile.trace", events)
    profile = read_profile(tmp_path / "engine_engine_exectuion_profile.trace")
    assert [(row.name, row.average_ms) for row in profile.rows] == [("conv", 0.064)]


@pytest.mark.parametrize("make", [trex_trace, perfetto_trace])
def test_truncated_trace_keeps_its_rows(tmp_path: Path, make) -> None:
    text = make([(f"layer{number}", 1.0, 1) for number in range(8)])
    path = tmp_path / "x_engine_engine_execution_profile.trace"
    path.write_text(text[: len(text) * 2 // 3], encoding="utf-8")
    profile = read_profile(path)
    assert 4 <= len(profile.rows) <= 6
    assert not profile.is_whole
    assert next(note.severity for note in profile.diagnostics) is Severity.ERROR


def test_different_numbers_of_calls_are_no_number(tmp_path: Path) -> None:
    path = tmp_path / "x_engine_engine_execution_profile.trace"
    path.write_text(trex_trace([("a", 1.0, 10), ("b", 1.0, 20)]), encoding="utf-8")
    assert read_profile(path).iterations is None


NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=30)


@settings(max_examples=examples(100), deadline=None)
@given(
    rows=st.lists(
        st.tuples(NAMES, st.floats(0, 1e6), st.integers(1, 1000)),
        min_size=1,
        max_size=8,
        unique_by=lambda row: row[0],
    )
)
@pytest.mark.parametrize("make", [trex_trace, perfetto_trace])
def test_every_row_is_read(tmp_path_factory: pytest.TempPathFactory, make, rows: list[Row]) -> None:
    path = tmp_path_factory.mktemp("t") / "x_engine_engine_execution_profile.trace"
    path.write_text(make(rows), encoding="utf-8")
    profile = read_profile(path)
    # A valid document unescapes what the writer did not escape, in the few names where that makes sense.
    assert len(profile.rows) == len(rows)
    for row, (_, total, _) in zip(profile.rows, rows, strict=True):
        assert row.total_ms == pytest.approx(total, rel=1e-5, abs=1e-9)


@settings(max_examples=examples(100), deadline=None)
@given(cut=st.integers(0, 400), junk=st.binary(max_size=8))
def test_damage_is_an_error_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, cut: int, junk: bytes
) -> None:
    path = tmp_path_factory.mktemp("t") / "x_engine_engine_execution_profile.trace"
    data = trex_trace(ROWS).encode()
    path.write_bytes(data[:cut] + junk + data[cut + 5 :])
    try:
        times = [row.average_ms for row in read_profile(path).rows]
    except ArtifactError as error:
        message, times = str(error), []
    else:
        message = ""
    assert "\n" not in message
    assert all(time is None or time >= 0 for time in times)


def test_each_engine_of_a_module_is_a_set(tmp_path: Path) -> None:
    write_module(tmp_path, (0, 1))
    for other in ("device_config", "input", "output", "enqueue"):
        event = {
            "name": "aten::to",
            "ph": "X",
            "ts": 1.5,
            "dur": 3,
            "tid": 1,
            "pid": "CPU Functions",
            "args": {},
        }
        write(tmp_path / f"_run_on_acc_0_engine_{other}_profile.trace", [event])
    found = scan(tmp_path)
    assert len(found.sets) == 2
    assert found.diagnostics == ()
    engines = [load_engine(one.files[ArtifactKind.GRAPH]) for one in found.sets]
    sums = [sum(row.latency_ms or 0.0 for row in engine.layers) for engine in engines]
    assert sums == [3.0, 6.0]
    assert [engine.diagnostics for engine in engines] == [(), ()]


def test_layer_information_of_the_debugger(tmp_path: Path, artifacts: Path) -> None:
    info = (artifacts / "torch-trt" / "resnet18" / "trt_engine_info.json").read_text(encoding="utf-8")
    (tmp_path / "engine_layer_info.json").write_text(info, encoding="utf-8")
    (tmp_path / "torch_tensorrt_logging.log").write_text(
        "2026-01-01 10:00:00 - torch_tensorrt - DEBUG - Graph break\n", encoding="utf-8"
    )
    (source,) = find(tmp_path)
    assert source.files[ArtifactKind.GRAPH].name == "engine_layer_info.json"
    assert len(load_engine(tmp_path).layers) == 26


@pytest.mark.parametrize("make", [trex_trace, perfetto_trace])
def test_real_times_in_its_forms(tmp_path: Path, artifacts: Path, make) -> None:
    folder = artifacts / "torch-trt" / "resnet18"
    samples = json.loads((folder / "trt_layer_latency.json").read_text(encoding="utf-8"))
    info = (folder / "trt_engine_info.json").read_text(encoding="utf-8")
    (tmp_path / "_run_on_acc_0_engine_layer_information.json").write_text(info, encoding="utf-8")
    rows = [(name, sum(times), len(times)) for name, times in samples.items()]
    path = tmp_path / "_run_on_acc_0_engine_engine_execution_profile.trace"
    path.write_text(make(rows), encoding="utf-8")
    engine = load_engine(tmp_path)
    assert len(engine.layers) == 26
    assert all(one.latency is not None for one in engine.layers)
    assert engine.profile_iterations == (100 if make is trex_trace else None)


@pytest.mark.parametrize("numbers", [(0,), ()])
def test_other_engines_are_no_model(tmp_path: Path, numbers: Sequence[int]) -> None:
    write_module(tmp_path, numbers)
    write(tmp_path / "net.graph.json", {"Layers": [layer("conv")], "Bindings": []})
    write(tmp_path / "net2.graph.json", {"Layers": [layer("conv")], "Bindings": []})
    assert find_split_models([load_engine(one.files[ArtifactKind.GRAPH]) for one in find(tmp_path)]) == []
