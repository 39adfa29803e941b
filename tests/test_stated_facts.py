"""Facts that logs and metadata state reach every view and remedy that depends on them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from helpers import layer, strict_json, tensor, write_graph
from trex_tui.__main__ import main

STAMP = "[11/21/2026-10:00:00] [I]"
SERIES = "min = 1.0 ms, max = 3.0 ms, mean = 1.2 ms, median = 1.1 ms, percentile(90%) = 1.2 ms, percentile(99%) = 2.0 ms"


LOG = f"""\
=== Build Options ===
Precision: FP32+FP16+INT8
{{inference}}
=== Device Information ===
Selected Device: Orin
Compute Capability: 8.7

TensorRT version: 10.3.0
[TRT] Total Activation Memory: 2408448 bytes
[TRT] Total Weights Memory: 23375312 bytes
Engine built in 21.6 sec.
Input binding for data with dimensions 1x3x224x224 and type fp32 is created.
Output binding for prob with dimensions 1x1000 and type fp32 is created.
Average on 10 runs - GPU latency: 1.1 ms - Host latency: 1.2 ms (enqueue 0.1 ms)
=== Performance summary ===
Throughput: 900 qps
Latency: {SERIES}
Enqueue Time: {SERIES}
GPU Compute Time: {SERIES}
=== Profile (800 iterations ) ===
   Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer
     200.00       0.2500       0.2490      50.0   conv_1
     200.00       0.2500       0.2490      50.0   conv_2
     400.00       0.5000       0.4980     100.0   Total

"""


def write_log(path: Path, arguments: str = "", inference: tuple[str, ...] = ()) -> Path:
    """A log that is not verbose, of a build on a board that goes on to infer."""
    banner = f"TensorRT.trtexec [TensorRT v100300] # trtexec --onnx=net.onnx --best{arguments}"
    section = ["", "=== Inference Options ===", "Batch: Explicit", *inference, ""] if inference else [""]
    lines = LOG.format(inference="\n".join(section)).splitlines()
    stamped = [f"{STAMP} {line}" for line in lines]
    path.write_text("\n".join([f"&&&& RUNNING {banner}", *stamped, f"&&&& PASSED {banner}", ""]))
    return path


def remedy(capsys: pytest.CaptureFixture[str], folder: Path, rule: str) -> str:
    """What the only finding of a rule advises."""
    main(["lint", str(folder), "--json", "--select", rule])
    (engine,) = strict_json(capsys.readouterr().out)["engines"]
    (finding,) = engine["findings"]
    text: str = finding["remedy"]
    return text


@pytest.mark.parametrize(
    ("rule", "arguments", "inference", "advised"),
    [
        ("MEASURE002", "", (), True),
        ("MEASURE002", "", ("Spin-wait: Disabled",), True),
        ("MEASURE002", "", ("Spin-wait: Enabled",), False),
        ("MEASURE002", " --useSpinWait", (), False),
        ("LAUNCH002", "", (), True),
        ("LAUNCH002", " --useCudaGraph", (), False),
        ("LAUNCH002", "", ("CUDA Graph: Enabled",), False),
        ("LAUNCH002", " --useCudaGraph", ("CUDA Graph: Disabled",), True),
    ],
)
def test_what_is_on_is_not_advised(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    rule: str,
    arguments: str,
    inference: tuple[str, ...],
    advised: bool,
) -> None:
    """For the second, the enqueue takes as long as the compute, and not longer than launches of two kernels."""
    path = write_log(tmp_path / "net.build.log", arguments, inference)
    if rule == "LAUNCH002":
        path.write_text(path.read_text().replace(SERIES, re.sub(r"(\d)\.(\d)", r"0.0\1\2", SERIES)))
    words = {"MEASURE002": "use --useSpinWait", "LAUNCH002": "Use a CUDA graph"}[rule]
    assert (words in remedy(capsys, tmp_path, rule)) is advised


def test_options_that_leave_the_workspace_out_are_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_log(tmp_path / "net.build.log")
    main(["lint", str(tmp_path), "--select", "BUILD002"])
    shown = capsys.readouterr().out
    assert "the build options do not state the memory pools" in shown
    assert "no build options" not in shown


def test_the_precision_of_a_block_with_mixed_inputs_is_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = [
        tensor("a", 1, 8, dtype="Float"),
        tensor("b", 1, 8, dtype="Half"),
        tensor("c", 1, dtype="Int32"),
    ]
    block = layer("{ForeignNode[a...b]}", "Myelin", inputs=inputs, outputs=[tensor("y", 1, 8)])
    write_graph(tmp_path / "net.graph.json", [block], ["a", "b", "c", "y"])
    main(["summary", str(tmp_path)])
    assert "Precision unknown of 1 opaque layer with inputs FP32 and FP16." in capsys.readouterr().out
    main(["layers", str(tmp_path), "--json", "--columns", "name,precision"])
    (row,) = strict_json(capsys.readouterr().out)["layers"]
    assert row["precision"] is None
