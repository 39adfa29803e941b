"""`trex-tui build-log` and `trex-tui metadata`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest
from test_buildlog_reader import BUILD, LOGS

from helpers import strict_json, write_files, write_graph, write_json
from test_buildlog_cli import EVIL
from trex_tui.__main__ import main
from trex_tui.old.analysis.build import build_facts, tactic_rows
from trex_tui.old.artifacts.file_kinds import sniff
from trex_tui.old.artifacts.metadata import read_metadata
from trex_tui.old.buildlog.reader import shared_log
from trex_tui.old.engine.engine import load_engine
from trex_tui.old.report.views.build_details import tuned_summary
from trex_tui.old.text import format_count

V10 = "trt10.16.1_H100_build_verbose_onnx_fp16_dynshape"
RUN_10 = "trt10.16.1_H100_loadEngine_cudagraph_verbose"
PROFILE_10 = "trt10.16.1_H100_dumpProfile_noSeparate"
needs_logs = pytest.mark.skipif(not LOGS.is_dir(), reason=f"no real logs at {LOGS}")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "net.build.log"
    path.write_text(BUILD.replace("kernel_a", EVIL.replace(" ", "_")), encoding="utf-8")
    return path


def test_overview(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build-log", str(log)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "\x1b" not in out
    warned = next(
        number for number, line in enumerate(BUILD.splitlines(), start=1) if "layer 7 is odd" in line
    )
    for line in (
        "PASSED       TensorRT.trtexec trtexec --onnx=net.onnx --verbose",
        "Precision    FP32+FP16",
        "Tuned        1 layer, 3 tactics timed, 1 skipped; reformats: 0 tactics",
        "Engine       1 layer; tactic choice known for 1",
    ):
        assert line in out.splitlines()
    rows = [line.split() for line in out.splitlines()]
    for row in (
        ["Phase", "Seconds", "Lines"],
        ["engine", "build", "2.500", "1"],
        ["Pass", "Layers", "Fused", "Removed", "Converted"],
        ["vertical", "fusions", "2", "1", "0", "0"],
        ["warning", str(warned), "2", *["Some", "thing", "in", "layer", "7", "is", "odd"]],
    ):
        assert row in rows


def test_layer(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build-log", str(log), "--layer", "CONV", "--top", "2"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    rows = [line.split() for line in out.splitlines()]
    best = next(row for row in rows if row[:1] == ["0.250000"])
    assert best[1:6] == ["0x0000000000000002", "kernel", "b", "numSplitK:", "1"]
    assert best[-6:-3] == ["yes", "yes", "no"], "chosen, in the engine, not cached"
    assert "  … and 1 more" in out.splitlines()
    skipped = next(row for row in rows if "0x0000000000000003" in row)
    assert skipped[-5:] == ["workspace", "4.00", "KiB", "1.00", "KiB"]
    assert any(row[0] == "chosen" and "0.250000" in row for row in rows if row)


class TestMetadataOfSetsInside:
    CUT: ClassVar = {
        "build_options": {"Memory Pools": "workspace", "Precision": "FP32+FP16", "Novel": "x"},
        "device_information": {"Selected Device": "A"},
    }

    def document(self, capsys: pytest.CaptureFixture[str], path: Path) -> Any:
        assert main(["metadata", str(path)]) == 0
        return strict_json(capsys.readouterr().out)

    def test_logs_win_over_cut_values(self, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
        folder = log.parent
        write_json(folder / "net.build.metadata.json", self.CUT)
        write_json(folder / "net.profile.metadata.json", {"inference_options": {"Streams": "2"}})
        write_graph(folder / "net.graph.json", ["a"])
        whole = self.document(capsys, folder)
        alone = self.document(capsys, log)
        assert whole["build_options"] == self.CUT["build_options"] | alone["build_options"]
        assert whole["inference_options"]["Streams"] == "2"
        target = folder / "out.json"
        assert main(["metadata", str(folder / "net.graph.json"), "-o", str(target)]) == 0
        assert strict_json(target.read_text()) == whole


def test_json(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build-log", str(log), "--json"]) == 0
    document = strict_json(capsys.readouterr().out)
    assert document["schema"] == "trex-tui/build-log/2"
    assert document["tuning"] == {
        "layers": 1,
        "combinations": 1,
        "tactics": 3,
        "myelin_tactics": 0,
        "skipped": 1,
        "reformat_costs": 0,
        "reformat_tactics": 0,
    }
    assert [one["name"] for one in document["tunings"]] == ["conv + relu"]
    assert document["layers"][0]["chosen"]["time_ms"] == 0.25
    assert main(["build-log", str(log), "--json", "--layer", "conv + relu"]) == 0
    (tuning,) = strict_json(capsys.readouterr().out)["tunings"]
    tactics = tuning["combinations"][0]["runners"][0]["tactics"]
    assert [one["time_ms"] for one in tactics] == [0.5, 0.25, 0.75]
    (skipped,) = tuning["combinations"][0]["runners"][0]["skipped"]
    assert (skipped["tactic"], skipped["requested_bytes"]) == ("0x0000000000000003", 4096)


def test_metadata(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metadata", str(log)]) == 0
    document = strict_json(capsys.readouterr().out)
    assert document == {"build_options": {"Precision": "FP32+FP16", "Input build shape": "a=1x1, b=2x2"}}
    target = tmp_path / "net.build.metadata.json"
    assert main(["metadata", str(log), "-o", str(target)]) == 0
    assert capsys.readouterr().out == ""
    assert sniff(target).kind is not None
    metadata, notes = read_metadata([target])
    assert (metadata.builder_precision, notes) == ("FP32+FP16", [])
    target.write_text("mine")
    assert main(["metadata", str(log), "-o", str(target)]) == 2
    assert "exists and was not written by `trex-tui metadata`" in capsys.readouterr().err
    assert target.read_text() == "mine"
    assert main(["metadata", str(log), "-o", str(target), "--force"]) == 0
    assert main(["metadata", str(log), "-o", str(target)]) == 0  # with the same content
    before = log.read_bytes()
    assert main(["metadata", str(log), "-o", str(log), "--force"]) == 2
    assert log.read_bytes() == before
    assert main(["metadata", str(log), "-o", str(tmp_path / "no" / "where.json")]) == 2


def test_the_log_of_a_set(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build-log", str(log)]) == 0
    of_file = capsys.readouterr().out
    assert main(["build-log", str(log.parent)]) == 0
    assert capsys.readouterr().out == of_file


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build-log", "{log}", "--layer", "nothing"], "no layer 'nothing' was tuned"),
        (["build-log", "{folder}/absent.log"], "absent.log: cannot be read: No such file or directory"),
        (
            ["build-log", "{folder}/other"],
            "other: has no log; build with trtexec --verbose and keep its output",
        ),
        (["build-log", "{folder}/text.txt"], "text.txt: is not a log of trtexec or a TensorRT builder"),
        (
            ["metadata", "{folder}/text.txt"],
            "text.txt: no options, device or performance summary found",
        ),
    ],
)
def test_bad_input_is_one_line(
    log: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    (log.parent / "text.txt").write_text("hello\n")
    write_files(log.parent / "other", {"net.graph.json": {"Layers": ["conv"], "Bindings": []}})
    assert main([one.format(log=log, folder=log.parent) for one in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("trex-tui: error: ")
    assert message in err
    assert err.count("\n") == 1


def test_cut_off_logs_say_so_on_stderr(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log.write_text(BUILD[:-100])
    assert main(["build-log", str(log), "--json"]) == 0
    out, err = capsys.readouterr()
    assert len(strict_json(out)["diagnostics"]) == 2
    assert err == ""
    assert main(["build-log", str(log)]) == 0
    assert "cut off in the middle of a line" in capsys.readouterr().err


def test_nothing_heavy_is_loaded(log: Path) -> None:
    code = (
        "import sys; from trex_tui.__main__ import main; main(['build-log', sys.argv[1], '--json']); "
        "print(sorted({'pandas', 'numpy', 'networkx', 'rich', 'textual'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(log)], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


@needs_logs
def test_tactics_are_counted_alike_by_screen_command_lint_and_report(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Against lines of the log: tactics with a time of their own, and rows of Myelin's tables."""
    path = LOGS / f"{V10}.log"
    text = path.read_text(encoding="utf-8")
    rows = len(re.findall(r"\(foreignNode\) +\d+, 0\.", text))
    own = len(re.findall(r"\] Tactic(?: Name: .*|): 0x[0-9a-f]+ Time: ", text))
    assert main(["build-log", str(path), "--json"]) == 0
    document = strict_json(capsys.readouterr().out)
    totals = document["tuning"]
    assert totals["tactics"] + totals["reformat_tactics"] == own + rows
    assert totals["myelin_tactics"] == rows
    assert sum(one["tactics"] for one in document["tunings"]) == totals["tactics"]

    trace = shared_log(path)
    facts = build_facts(trace, load_engine(path))
    assert sum(one.tactics for one in facts.tuned) == totals["tactics"]
    assert f"{format_count(totals['tactics'])} tactics" in tuned_summary(facts)
    (longest,) = (
        one for one in facts.tuned if one.tuning.name == "{ForeignNode[node_linear]}" and one.seconds
    )
    assert [row.skipped is None for row in tactic_rows(facts, longest)].count(True) == longest.tactics == 469

    assert main(["build-log", str(path), "--top", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert next(line for line in lines if line.startswith("Tuned ")) == (
        f"Tuned        23 layers, {format_count(totals['tactics'])} tactics timed, {format_count(rows)} of them Myelin's, "
        f"{totals['skipped']} skipped; reformats: {totals['reformat_tactics']} tactics"
    )
    head = next(number for number, line in enumerate(lines) if line.startswith("Longest tuning"))
    columns = ["Layer", "Strat", "Seconds", "Tactics", "Myelin", "Formats", "Skip"]
    assert lines[head + 1].split() == columns
    assert lines[head + 2].split() == ["{ForeignNode[node_linear]}", "4", "6.977", "469", "467", "2", "1"]


@needs_logs
def test_numbers_of_tactics_are_text_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    """As the log prints them: 64 bits are more than a number of JSON is sure to hold."""
    path = LOGS / f"{V10}.log"
    text = path.read_text(encoding="utf-8")
    assert main(["build-log", str(path), "--json"]) == 0
    document = strict_json(capsys.readouterr().out)
    combinations = [one for tuning in document["tunings"] for one in tuning["combinations"]]
    runners = [one for combination in combinations for one in combination["runners"]]
    skipped = [one for runner in runners for one in runner["skipped"]]
    printed = re.findall(r"Tactic: (\w+) skipped\.|Skipping tactic .* for tactic (\w+)", text)
    told = [one["tactic"] for one in skipped]
    costs = [one for cost in document["reformat_costs"] for one in cost["combination"]["runners"]]
    told += [one["tactic"] for runner in costs for one in runner["skipped"]]
    assert sorted(told) == sorted(one or other for one, other in printed)
    hashes = {row["hash"] for runner in runners for table in runner["myelin"] for row in table["tactics"]}
    assert hashes == set(re.findall(r"\(foreignNode\) +\d+, 0\..*?, (0x[0-9a-f]+),", text))


@needs_logs
def test_text_tells_what_a_run_measured(capsys: pytest.CaptureFixture[str]) -> None:
    path = LOGS / f"{RUN_10}.log"
    text = path.read_text(encoding="utf-8")
    assert main(["build-log", str(path)]) == 0
    out = capsys.readouterr().out
    for label in ("Throughput", "Latency", "GPU Compute Time", "Total Host Walltime"):
        (value,) = re.findall(rf"\[I\] {label}: (.*)", text)
        assert f"  {label:<24} {value}\n" in out
    times = [float(one) for one in re.findall(r"GPU latency: (\S+) ms", text)]
    (averages,) = re.findall(r"  GPU latency +(.*)", out)
    assert averages.split() == [f"{one:.4f}" for one in (min(times), sum(times) / len(times), max(times))]
    assert f"{len(times)} lines over {10 * len(times)} runs" in out
    (omitted,) = re.findall(r"\.\.\. Omitting (\d+) lines", text)
    assert f"; trtexec omitted {omitted} queries" in out
    (context,) = re.findall(r"execution context with device memory size: (\S+) MiB", text)
    assert f"execution context {float(context):.2f} MiB" in out
    assert "Profile " not in out


@needs_logs
def test_text_tells_the_layers_that_took_longest(capsys: pytest.CaptureFixture[str]) -> None:
    path = LOGS / f"{PROFILE_10}.log"
    table = path.read_text(encoding="utf-8").partition("=== Profile (")[2]
    printed = re.findall(r"\[I\] +(\d\S*) +(\d\S*) +(\d\S*) +(\d\S*) +(\S.*)", table)
    rows = [[name, *numbers] for *numbers, name in printed]
    assert main(["build-log", str(path), "--top", "4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("Profile "))
    wanted = sorted(rows[:-1], key=lambda row: -float(row[1]))[:4]
    assert [line.split() for line in lines[head + 2 : head + 7]] == [*wanted, rows[-1]]
    assert lines[head + 7] == f"  … and {len(rows) - 1 - 4} more"
    assert not [line for line in lines if line.startswith(("Performance", "Averages"))]


def test_a_log_that_measured_nothing_tells_of_no_run(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build-log", str(log)]) == 0
    lines = capsys.readouterr().out.splitlines()
    headings = ("Performance", "Averages", "Profile", "Memory")
    assert not [line for line in lines if line.startswith(headings)]
