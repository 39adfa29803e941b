"""`trex-tui build-log` and `trex-tui metadata`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

import pytest

from helpers import strict_json, write_graph, write_json
from trex_tui.__main__ import main

EVIL = "evil \x1b[31m|\x9b2J"
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
