"""Profiles of other tools: position of the layers, meaning of the keys, merged rows, and notes."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import messages, profile_line, profile_text, write_graph, write_json
from test_artifacts_profile_forms import FORMS, JSON, TIMES, each
from trex_tui import ArtifactError, Severity
from trex_tui.__main__ import main
from trex_tui.old.artifacts.file_kinds import ArtifactKind, sniff
from trex_tui.old.artifacts.input_files import parse_head
from trex_tui.old.artifacts.profile import read_profile, read_profiles
from trex_tui.old.engine import load_engine


@pytest.mark.parametrize("form", FORMS)
def test_forms(tmp_path: Path, form: str) -> None:
    path = write_json(tmp_path / "net.json", FORMS[form])
    assert sniff(path).kind is ArtifactKind.PROFILE
    profile = read_profile(path)
    assert {row.name: row.average_ms for row in profile.rows} == pytest.approx(TIMES)
    assert len(profile.rows) == len(TIMES)
    note = profile.diagnostics[0]
    assert (note.severity, note.message) == (Severity.INFO, profile.assumed)
    assert note.message.startswith("is not in trtexec's format; read as ")


STATED = {
    "layers": "read as 3 layers at layers: time in ms, average in ms, median in ms",
    "avgMs": "read as 3 layers: average in ms",
    "avgUs": "read as 3 layers at layers: average in µs",
    "numbers": ("no unit; assuming milliseconds; the number of a layer is read as the time of one inference"),
    "timeMs alone": "timeMs is read as the time of one inference",
    "timeMs and a count": "timeMs is read as a sum over all iterations",
    "Layers": "read as 3 layers at Layers: average in ms",
    "rows again": "read as 3 layers at layers: time in ms, average in ms, median in ms; 3 repeated rows merged",
    "a sum below": "its row 'Total' is excluded from the layers",
}


@pytest.mark.parametrize("form", STATED)
def test_what_was_assumed_is_stated(tmp_path: Path, form: str) -> None:
    path = write_json(tmp_path / "net.json", FORMS[form])
    assert STATED[form] in read_profile(path).assumed


def test_it_is_stated_in_every_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_json(tmp_path / "net.json", {"layers": TIMES})
    stated = read_profile(path).assumed
    for arguments in (
        ["summary"],
        ["summary", "--json"],
        ["report", "--format", "html"],
        ["report", "--format", "md"],
    ):
        assert main([arguments[0], str(path), *arguments[1:]]) == 0
        printed = html.unescape(" ".join(capsys.readouterr().out.split()))
        assert stated in printed, arguments
    assert main(["layers", str(path)]) == 0
    assert stated in capsys.readouterr().err


RUNS = {
    "one list": {"layers": [*each(avg_ms=2), *each(avg_ms=1)]},
    "no words": [*each(avg_ms=2), *each(avg_ms=1)],
    "trtexec's keys": [*each(averageMs=2), *each(averageMs=1)],
    "sums": {"layers": [*each(avg_ms=2), {"name": "Total", "avg_ms": 2}, *each(avg_ms=1), {"name": "Total", "avg_ms": 1}]},
    "lists": {"runs": [{"layers": each(avg_ms=2)}, {"layers": each(avg_ms=1)}]},
}  # fmt: skip


@pytest.mark.parametrize("form", RUNS)
def test_all_names_again_are_another_run(tmp_path: Path, form: str) -> None:
    path = write_json(tmp_path / "net.profile.json", RUNS[form])
    runs = read_profiles(path)
    for run, factor in zip(runs, (2, 1), strict=True):
        assert {row.name: row.average_ms for row in run.rows} == pytest.approx(
            {name: factor * ms for name, ms in TIMES.items()}
        )
    stated = " ".join(messages(runs[0].diagnostics))
    how = "2 lists name the same layers" if form == "lists" else "all names repeat 2 times in the same order"
    assert f"{how}; read as 2 runs" in stated
    assert "not read" not in stated


def test_one_equal_figure_does_not_join_runs(tmp_path: Path) -> None:
    """A time that two runs have in common is no row that is listed again."""
    rows = [("a", 0.5), ("b", 0.25), ("c", 0.125), ("a", 0.75), ("b", 0.25), ("c", 0.25)]
    layers = {"layers": [{"name": name, "avg_ms": ms} for name, ms in rows]}
    runs = read_profiles(write_json(tmp_path / "net.profile.json", layers))
    assert [run.sum_ms for run in runs] == [0.875, 1.25]


@pytest.mark.parametrize(
    "names",
    [
        ("a", "b", "a", "b"),  # two layers may alternate within a network
        ("a", "b", "c", "a", "b"),
        ("a", "b", "c", "a", "c", "b"),
        ("a", "a", "a", "a", "a", "a"),
    ],
)
def test_other_repetition_is_no_run(tmp_path: Path, names: tuple[str, ...]) -> None:
    layers = {"layers": [{"name": name, "avg_ms": 1 + index} for index, name in enumerate(names)]}
    (run,) = read_profiles(write_json(tmp_path / "net.profile.json", layers))
    assert [row.name for row in run.rows] == list(names)


def test_names_behind_a_count_are_one_run(tmp_path: Path) -> None:
    """trtexec begins each run with a count; what repeats behind it are layers of one name."""
    records = [{"count": 5}, *each(averageMs=2), *each(averageMs=1)]
    (run,) = read_profiles(write_json(tmp_path / "net.profile.json", records))
    assert len(run.rows) == 2 * len(TIMES)


def test_other_layers_are_not_read(tmp_path: Path) -> None:
    lists = [{"layers": each(avg_ms=1)}, {"layers": each(avg_ms=2)[:2]}]
    (profile,) = read_profiles(write_json(tmp_path / "net.json", {"runs": lists}))
    assert messages(profile.diagnostics)[1:] == [
        "has more than one profile; not read: 2 layers at runs.1.layers"
    ]


def test_layers_of_one_name_stay_apart(tmp_path: Path) -> None:
    """Different times are of different layers; layers that take no time are not the same for that."""
    rows = [("x", 1.0), ("y", 3.0), ("x", 2.0), ("noop", 0.0), ("noop", 0.0)]
    layers = {"layers": [{"name": name, "avg_ms": ms} for name, ms in rows]}
    profile = read_profile(write_json(tmp_path / "net.profile.json", layers))
    assert [(row.name, row.average_ms) for row in profile.rows] == rows
    write_graph(tmp_path / "net.graph.json", [name for name, _ in rows])
    engine = load_engine(tmp_path)
    assert [layer.latency_ms for layer in engine.layers] == [ms for _, ms in rows]


def test_own_form_is_not_merged(tmp_path: Path) -> None:
    """A profile of one iteration has times in steps of the timer: two layers of one name may well be equal."""
    path = tmp_path / "p.json"
    path.write_text(profile_text([profile_line("x", 0.5), profile_line("x", 0.5)]), encoding="utf-8")
    profile = read_profile(path)
    assert ([row.average_ms for row in profile.rows], profile.assumed) == ([0.5, 0.5], "")


def test_medians_and_iterations_of_samples(tmp_path: Path) -> None:
    path = write_json(tmp_path / "any.json", {"/conv/Conv": [3, 1, 2, 10], "/relu/Relu": [1, 1, 1, 1]})
    profile = read_profile(path)
    first = profile.rows[0]
    assert (first.average_ms, first.median_ms, first.total_ms, profile.iterations) == (4.0, 2.5, 16.0, 4)


@pytest.mark.parametrize(
    "document",
    [
        {"resnet50": {"avg_ms": 1.0}, "vgg": {"avg_ms": 2.0}},
        {"batch": 1, "throughput": 200.0},
        {"latency_ms": {"mean": 1.0, "p99": 2.0}, "compute_ms": {"mean": 1.0}},
        {"layers": [{"name": "conv1", "shape": 3}]},
        {"layers": 3, "profile": {"averageMs": 1.0}},
        {"results": [{"name": "resnet50", "avg_ms": 1.0}]},
        {"unit": "inferences per second", "gpus": {"/a": {"rate": 3}}},
        {"AdditionalPlayerCount": {"limit": 10.5}},
        {"properties": {"Layers": {"items": {"minLength": 1, "maxLength": 100}}}},
        {"findings": {"CONV001": 1, "GEMM002": 3}},
        {"traceEvents": [{"name": "conv1", "ph": "X", "ts": 1, "dur": 2, "args": {"latency_ms": 1.0}}]},
    ],
)
def test_what_is_no_profile(tmp_path: Path, document: Any) -> None:
    assert sniff(write_json(tmp_path / "net.json", document)).kind is not ArtifactKind.PROFILE


def test_deep_documents(tmp_path: Path) -> None:
    path = tmp_path / "net.profile.json"
    path.write_text('{"layers": ' + '{"time": ' * 900 + "1" + "}" * 901, encoding="utf-8")
    with pytest.raises(ArtifactError):
        read_profile(path)


def test_large_files_are_known_by_their_head(tmp_path: Path) -> None:
    path = write_json(tmp_path / "any.json", {f"/block.{index}/Conv": [0.1] * 500 for index in range(200)})
    assert path.stat().st_size > 200_000
    assert sniff(path).kind is ArtifactKind.PROFILE


@given(st.data())
def test_heads_of_json(data: st.DataObject) -> None:
    """The head of a document is a document; of a whole one it is that."""
    document = data.draw(st.lists(JSON, max_size=3) | st.dictionaries(st.text(max_size=3), JSON, max_size=3))
    text = json.dumps(document, indent=data.draw(st.sampled_from([None, 1])))
    assert parse_head(text) == document
    head = parse_head(text[: data.draw(st.integers(1, len(text)))])
    assert isinstance(head, type(document))
