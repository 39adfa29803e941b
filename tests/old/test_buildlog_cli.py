"""`trex-tui build-log` and `trex-tui metadata`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

from helpers import strict_json, write_files, write_graph, write_json
from test_buildlog_reader import BUILD, LOGS
from trex_tui.old.analysis.build import build_facts, tactic_rows
from trex_tui.old.artifacts.file_kinds import sniff
from trex_tui.old.artifacts.metadata import read_metadata
from trex_tui.old.buildlog.reader import shared_log
from trex_tui.old.cli import main
from trex_tui.old.engine.engine import load_engine
from trex_tui.old.report.views.build_details import tuned_summary
from trex_tui.old.text import format_count

V10 = "trt10.16.1_H100_build_verbose_onnx_fp16_dynshape"
RUN_10 = "trt10.16.1_H100_loadEngine_cudagraph_verbose"
PROFILE_10 = "trt10.16.1_H100_dumpProfile_noSeparate"
needs_logs = pytest.mark.skipif(not LOGS.is_dir(), reason=f"no real logs at {LOGS}")

EVIL = "evil \x1b[31m|\x9b2J"


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


HEADER = """\
[08/12/2023-10:00:00] [I] [TRT] ----------------------------------------------------------------
[08/12/2023-10:00:00] [I] [TRT] Input filename:   models/net.onnx
[08/12/2023-10:00:00] [I] [TRT] ONNX IR version:  0.0.8
[08/12/2023-10:00:00] [I] [TRT] Opset version:    17
[08/12/2023-10:00:00] [I] [TRT] Producer name:    pytorch
[08/12/2023-10:00:00] [I] [TRT] Producer version: 2.1.0
[08/12/2023-10:00:00] [V] [TRT] Loaded shared library libnvinfer_builder_resource.so.10.4.0
[08/12/2023-10:00:00] [V] [TRT] Original: 4 layers
"""
CHANGE = (
    "[08/12/2023-10:00:01] [I] [TRT] [MemUsageChange] {}: CPU {:+d}, GPU {:+d}, now: CPU {}, GPU {} (MiB)\n"
)
FUSING = """\
[08/12/2023-10:00:02] [V] [TRT] Running: ConvReluFusion on conv{0}
[08/12/2023-10:00:02] [V] [TRT] ConvReluFusion: Fusing conv{0} with relu{0}
"""


def test_model_memory_and_fusions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of many changes of memory the largest are shown, of fusions the first; `--top 0` shows all."""
    path = tmp_path / "net.build.log"
    changes = [CHANGE.format(f"step {n}", n, 0, 100 + n, 50) for n in range(5)]
    changes.append(CHANGE.format("Init cuBLAS", 500, 20, 600, 70))
    changes.append(CHANGE.format("TensorRT-managed allocation in building engine", 0, 900, 0, 900))
    fusions = "".join(FUSING.format(n) for n in range(4))
    path.write_text(
        HEADER
        + fusions
        + "[08/12/2023-10:00:03] [V] [TRT] After vertical fusions: 4 layers\n"
        + "".join(changes)
    )
    assert main(["build-log", str(path), "--top", "2"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "TensorRT 10.4.0 (from libnvinfer_builder_resource.so.10.4.0)" in lines
    assert "ONNX models/net.onnx, opset 17, IR 0.0.8, by pytorch 2.1.0" in lines
    at = lines.index("Fusions")
    assert lines[at + 2 : at + 5] == [
        "vertical fusions fused ConvReluFusion conv0 relu0 10",
        "vertical fusions fused ConvReluFusion conv1 relu1 12",
        "… and 2 more",
    ]
    at = lines.index("Memory over the build: up to 70 MiB on the GPU, 600 MiB on the host")
    assert lines[at + 2 : at + 5] == [
        "Init cuBLAS 70 +20 600 +500 23",
        "TensorRT-managed allocation in building engine 900 +900 0 +0 24",
        "… and 5 more",
    ]
    assert main(["build-log", str(path), "--top", "0"]) == 0
    printed = capsys.readouterr().out
    assert "conv3" in printed
    assert "step 4" in printed
    assert "more" not in printed
    assert main(["build-log", str(path), "--json"]) == 0
    document = strict_json(capsys.readouterr().out)
    assert document["onnx"]["Opset version"] == "17"
    assert document["tensorrt_library"] == "libnvinfer_builder_resource.so.10.4.0"
    assert len(document["memory"]) == 7
    assert [one["layer"] for one in document["passes"][1]["fusions"]] == [f"conv{n}" for n in range(4)]


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


class TestMetadataOfSets:
    CUT: ClassVar = {
        "build_options": {"Memory Pools": "workspace", "Precision": "FP32+FP16", "Novel": "x"},
        "device_information": {"Selected Device": "A"},
    }

    def document(self, capsys: pytest.CaptureFixture[str], path: Path) -> Any:
        assert main(["metadata", str(path)]) == 0
        return strict_json(capsys.readouterr().out)

    def test_a_file_as_it_is(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = write_json(tmp_path / "net.build.metadata.json", self.CUT)
        assert self.document(capsys, path) == self.CUT

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

    def test_device_dump(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        dump = [{"Name": "A", "ComputeCapability": [7, 5], "CUDA_VERSION": [11, 6, 0]}]
        path = write_json(tmp_path / "net.metadata.json", dump)
        assert self.document(capsys, path) == dump

    def test_refusals(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for name in ("a", "b"):
            write_graph(tmp_path / "two" / f"{name}.graph.json", ["a"])
        (tmp_path / "cut.json").write_text('{"build_options": {')
        for path, text in (
            ("two", "2 engines found (a, b)"),
            ("cut.json", "truncated"),
            ("no", "No such"),
        ):
            assert main(["metadata", str(tmp_path / path)]) == 2
            assert text in capsys.readouterr().err


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
        "import sys; from trex_tui.old.cli import main; main(['build-log', sys.argv[1], '--json']); "
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


def test_odd_results_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No number, no name that a terminal obeys, a table that is cut off, more than one column of averages."""
    stamp = "[06/15/2022-05:43:34] [I]"
    lines = [
        f"{stamp} === Trace details ===",
        f"{stamp} Average on 10 runs - GPU latency: 1 ms - Host latency: nan ms (end to end 4 ms, enqueue 0.5 ms)",
        f"{stamp} Average on 30 runs - GPU latency: 3 ms - Host latency: nan ms (end to end 8 ms, enqueue 0.5 ms)",
        f"{stamp} === Performance summary ===",
        f"{stamp} Throughput: 12 {EVIL} qps",
        f"{stamp} === Profile (7 iterations ) ===",
        f"{stamp}   Layer   Time (ms)   Avg. Time (ms)   Time %",
        f"{stamp}   a     7.00   1.0000   nan",
        f"{stamp}   {EVIL}    14.00   2.0000   66.7",
    ]
    path = tmp_path / "net.profile.log"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert main(["build-log", str(path), "--top", "1"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "  Throughput               12 evil |\\u009b2J qps" in out
    assert "Averages     2 lines over 40 runs (line 1)" in out
    assert [
        line.split() for line in out.splitlines() if line.startswith(("  GPU", "  host", "  end", "  enq"))
    ] == [
        ["GPU", "latency", "1.0000", "2.5000", "3.0000"],
        ["end", "to", "end", "4.0000", "7.0000", "8.0000"],
        ["enqueue", "0.5000", "0.5000", "0.5000"],
    ]
    assert "Profile      2 layers, 7 iterations (line 6)" in out
    assert re.search(r"evil .* 14\.00 +2\.0000 +66\.7\n  … and 1 more\n", out)
