"""A log of a run that failed names cause, TensorRT's own reason, remedy and line, in every view."""

from __future__ import annotations

from pathlib import Path

import pytest

from test_buildlog_failures import BEGIN, END, NO_KERNEL, NODE, OPTIONS, STAMP, ULTRALYTICS
from trex_tui.__main__ import main
from trex_tui.old.buildlog.failures import LogFailure, find_failure
from trex_tui.old.buildlog.reader import read_build_log

PARSER = f"""{STAMP} [E] [TRT] ModelImporter.cpp:949: While parsing node number 7 [Tile -> "/Tile_output_0"]:
{STAMP} [E] [TRT] ModelImporter.cpp:950: --- Begin node ---
input: "/Slice_output_0"
op_type: "Tile"
{STAMP} [E] [TRT] ModelImporter.cpp:951: --- End node ---
{STAMP} [E] [TRT] ModelImporter.cpp:954: ERROR: ModelImporter.cpp:195 In function parseNode:
[6] Invalid Node - /Tile
ITensor::getDimensions: Error Code 4: Internal Error (/Fill: a layer cannot be used to compute a shape tensor)
{STAMP} [E] Failed to parse onnx file"""
MEMORY = f"""{STAMP} [E] Error[1]: [defaultAllocator.cpp::allocate::31] Error Code 1: Cuda Runtime (out of memory)
{STAMP} [W] [TRT] Requested amount of GPU memory (15485030400 bytes) could not be allocated.
{NO_KERNEL}"""
TYPES = f"{STAMP} [E] [TRT] ITensor::getDimensions: Error Code 4: API Usage Error (/Sub: ElementWiseOperation SUB must have same input types. But they are of types Half and Float.)"  # noqa: E501
OTHER = (
    f"{STAMP} [E] Error[2]: [thing.cpp::act::12] Error Code 2: Internal Error (Assertion count == 3 failed. )"
)
SHAPES = f"""{STAMP} [E] Error[3]: [executionContext.cpp::setInputShape::2264] Error Code 3: API Usage Error (Parameter check failed, condition: a == b. Static dimension mismatch while setting input shape.
)"""  # noqa: E501


def failure_of(tmp_path: Path, *lines: str) -> LogFailure | None:
    path = tmp_path / "net.build.log"
    path.write_text("\n".join(lines) + "\n")
    return find_failure(read_build_log(path))


@pytest.mark.parametrize(
    ("errors", "key", "cause", "reason", "remedy", "line"),
    [
        (PARSER, "unsupported_op", "node 7 of the model, operator Tile", "/Fill: a layer cannot", "opset", 2),
        (NO_KERNEL, "no_implementation", f"no kernel for {NODE}", f"for node {NODE}.", "--memPoolSize", 2),
        (MEMORY, "out_of_memory", "out of memory", None, "--memPoolSize", 2),
        (TYPES, "type_mismatch", "inputs of different types", "types Half and Float.", "Cast", 2),
        (OPTIONS, "unknown_option", "does not know --workspace", None, "--memPoolSize", 2),
        (SHAPES, "shapes_range", "outside the range", "Static dimension mismatch", "--minShapes", 2),
        (OTHER, "", "Assertion count == 3 failed.", None, "", 2),
    ],
)
def test_cause_reason_and_remedy(
    tmp_path: Path, errors: str, key: str, cause: str, reason: str | None, remedy: str, line: int
) -> None:
    failure = failure_of(tmp_path, BEGIN, errors, f"{STAMP} [E] Engine set up failed", END)
    assert failure is not None
    assert (failure.key, failure.line, failure.is_certain) == (key, line, True)
    assert cause in failure.cause
    assert remedy in failure.remedy
    assert reason in failure.reason if reason and failure.reason else reason == failure.reason


def test_remedies_have_options_of_trtexec_not_of_capture(tmp_path: Path) -> None:
    failure = failure_of(tmp_path, BEGIN, f"{STAMP} [E] Assertion allowGPUFallback failed", END)
    assert failure is not None
    assert failure.remedy == "add --allowGPUFallback"


def test_a_run_that_passed_has_no_failure(tmp_path: Path) -> None:
    """Tactics that fail for lack of memory are errors of a build that goes on."""
    assert failure_of(tmp_path, BEGIN, MEMORY, BEGIN.replace("RUNNING", "PASSED")) is None


def test_consequences_are_not_the_cause(tmp_path: Path) -> None:
    errors = (
        f"{STAMP} [E] Error[2]: [builder.cpp::buildSerializedNetwork::607] Error Code 2: Internal Error (Assertion engine != "
        "nullptr failed. )",
        f"{STAMP} [E] Engine could not be created from network",
        f"{STAMP} [E] Error[2]: [cache.cpp::registerTensor::80] Error Code 2: Internal Error (Assertion n <= capacity() "
        "failed. Found a case where the cache is too small.)",
    )
    failure = failure_of(tmp_path, BEGIN, *errors, END)
    assert failure is not None
    assert failure.cause == "Assertion n <= capacity() failed. Found a case where the cache is too small."
    assert failure.line == 4


def test_only_the_last_run_counts(tmp_path: Path) -> None:
    passed = BEGIN.replace("RUNNING", "PASSED")
    assert failure_of(tmp_path, BEGIN, NO_KERNEL, END, BEGIN, passed) is None
    failure = failure_of(tmp_path, BEGIN, NO_KERNEL, passed, BEGIN, TYPES, END)
    assert failure is not None
    assert failure.key == "type_mismatch"


def test_without_a_banner_errors_at_the_end_are_a_likely_failure(tmp_path: Path) -> None:
    python = NO_KERNEL.replace(f"{STAMP} [E]", f"{STAMP} [TRT] [E]")
    trace = 'Traceback (most recent call last):\n  File "build.py", line 9, in <module>\nAssertionError: no engine'
    failure = failure_of(tmp_path, python, trace)
    assert failure is not None
    assert not failure.is_certain
    assert failure.key == "no_implementation"
    went_on = f"{STAMP} [TRT] [I] Engine generation completed in 8.5 seconds."
    assert failure_of(tmp_path, python, went_on) is None
    assert failure_of(tmp_path, f"{STAMP} [TRT] [E] 3: something of no consequence") is None


def test_a_message_ends_where_another_program_prints(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(f"{BEGIN}\n{OPTIONS}\n{NO_KERNEL}\nTraceback (most recent call last):\nValueError: x\n")
    texts = [message.text for message in read_build_log(path).messages]
    assert texts[0] == "Unknown option: --workspace 1024"
    assert texts[-1] == "Engine could not be created from network"


def test_logs_without_time_stamps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.log"
    text = "\n".join((BEGIN, f"{STAMP} [I] TensorRT version: 10.14.1", NO_KERNEL, END)) + "\n"
    path.write_text(text.replace(f"{STAMP} ", ""))
    trace = read_build_log(path)
    assert trace.tensorrt_version == "10.14.1"
    assert [message.severity for message in trace.messages] == ["E", "E", "E"]
    assert main(["summary", str(path)]) == 2
    assert "a.log:3: the run failed" in capsys.readouterr().err


def test_the_log_of_an_export_by_ultralytics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "export.log"
    path.write_text(ULTRALYTICS)
    assert main(["summary", str(path)]) == 0
    out = capsys.readouterr().out
    assert "TensorRT   8.2.1" in out
    assert "Layers     2; names only" in out
    assert "File     net.onnx" in out
    assert "Inputs   images 1×3×64×96 FP32" in out
    assert "Outputs  output0 1×84×126 FP16" in out
    (warning,) = read_build_log(path).messages
    assert warning.text.endswith("INT64 weights.")


PASTED = """# Results

=== Performance summary ===
Throughput: 85.66 qps
Latency: min = 11.36 ms, max = 14.62 ms, mean = 11.67 ms, median = 11.43 ms, percentile(99%) = 13.62 ms
Note: this is the text around it

=== Profile (10 iterations ) ===
   Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer
       1.00       0.1000       0.1000      50.0   Conv_0
       1.00       0.1000       0.1000      50.0   Relu_1
       2.00       0.2000       0.2000     100.0   Total

1.00 0.10 0.10 50.0 end
"""


def test_a_summary_and_a_profile_pasted_without_prefixes(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text(PASTED)
    trace = read_build_log(path)
    assert trace.performance is not None
    assert list(trace.performance.values) == ["Throughput", "Latency"]
    assert trace.profile is not None
    assert [(row.name, row.average_ms) for row in trace.profile.rows] == [("Conv_0", 0.1), ("Relu_1", 0.1)]
    assert trace.profile.total is not None
    assert main(["summary", str(path)]) == 0
