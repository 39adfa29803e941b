"""Why a run failed: the first error that is no consequence, TensorRT's own reason, and a remedy of the release."""

from __future__ import annotations

from pathlib import Path

import pytest

from log_kit import REAL, RTX, STAMP, needs_logs, needs_rtx, read
from trex_tui.artifacts.kinds import FileKind, recognize
from trex_tui.buildlog.failures import LogFailure, find_failure, recognise
from trex_tui.buildlog.reader import read_log

BEGIN = (
    "&&&& RUNNING TensorRT.trtexec [TensorRT v101401] [b48] # trtexec --onnx=net.onnx --saveEngine=net.plan"
)
END = BEGIN.replace("RUNNING", "FAILED")
NODE = "{ForeignNode[a/Constant.../b/MatMul]}"
NO_KERNEL = f"""{STAMP} [E] Error[10]: Could not find any implementation for node {NODE}.
{STAMP} [E] Error[10]: [optimizer.cpp::computeCosts::3873] Error Code 10: Internal Error (Could not find any implementation for node {NODE}.)
{STAMP} [E] Engine could not be created from network"""  # noqa: E501
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
TYPES = (
    f"{STAMP} [E] [TRT] ITensor::getDimensions: Error Code 4: API Usage Error (/Sub: ElementWiseOperation SUB must have "
    "same input types. But they are of types Half and Float.)"
)
OPTIONS = f"""{STAMP} [E] Unknown option: --workspace 1024
=== Build Options ===
  --minShapes=spec            Build with dynamic shapes"""
SHAPES = f"""{STAMP} [E] Error[3]: [executionContext.cpp::setInputShape::2264] Error Code 3: API Usage Error (Parameter check failed, condition: a == b. Static dimension mismatch while setting input shape.
)"""  # noqa: E501
OTHER = (
    f"{STAMP} [E] Error[2]: [thing.cpp::act::12] Error Code 2: Internal Error (Assertion count == 3 failed. )"
)


def failure_of(tmp_path: Path, *lines: str) -> LogFailure | None:
    return find_failure(read(tmp_path / "net.build.log", "\n".join(lines) + "\n"))


@pytest.mark.parametrize(
    ("errors", "key", "cause", "reason", "remedy"),
    [
        (PARSER, "unsupported_op", "node 7 of the model, operator Tile", "/Fill: a layer cannot", "opset"),
        (NO_KERNEL, "no_implementation", f"no kernel for {NODE}", f"for node {NODE}.", "--memPoolSize"),
        (MEMORY, "out_of_memory", "out of memory", None, "--memPoolSize"),
        (TYPES, "type_mismatch", "different types", "/Sub: ElementWise", "Cast"),
        (
            OPTIONS,
            "unknown_option",
            "does not know --workspace",
            None,
            "--memPoolSize=workspace:MIB replaces it",
        ),
        (SHAPES, "shapes_range", "outside the range", "Static dimension mismatch", "--minShapes"),
        (OTHER, "", "Assertion count == 3 failed.", None, ""),
    ],
    ids=["parser", "kernel", "memory", "types", "options", "shapes", "other"],
)
def test_cause_reason_and_remedy(
    tmp_path: Path, errors: str, key: str, cause: str, reason: str | None, remedy: str
) -> None:
    failure = failure_of(tmp_path, BEGIN, errors, f"{STAMP} [E] Engine set up failed", END)
    assert failure is not None
    assert (failure.key, failure.line, failure.is_certain) == (key, 2, True)
    assert cause in failure.cause
    assert remedy in failure.remedy
    assert reason in failure.reason if reason and failure.reason else reason == failure.reason


KNOWN = {
    "unknown_option": "Unknown option: --exportLayerInfo",
    "missing_library": "Could not load library libnvinfer_plugin.so.10: cannot open shared object file",
    "no_device": "Cannot find device ID 3!",
    "old_driver": "CUDA initialization failure with error: 35. Please check your CUDA installation",
    "no_gpu": "Cannot find any available devices (GPUs)!",
    "plan_version": "Error[6]: IRuntime::deserializeCudaEngine: Error Code 6: API Usage Error (The engine plan file is not "
    "compatible with this version of TensorRT, expecting library version 10.7.0.23 got ..)",
    "plan_device": "The engine plan file is generated on an incompatible device, expecting compute 7.5 got compute 8.6, "
    "please rebuild.",
    "unsupported_sm": "Error Code 1: Internal Error (Unsupported SM: 0xc00)",
    "hardware_types": "Error Code 1: Myelin (Cannot compile for target(s) sm86, because the model "
    "contains HW-specific datatypes: fp8_e4m3. In compileGraph)",
    "unsupported_target": "Error Code 1: Myelin (Cannot compile operation '/fc/Gemm' for Turing (SM75): FP32 GEMM is not "
    "supported. In compileGraph)",
    "missing_plugin": 'In node 0 (importFallbackPluginImporter): UNSUPPORTED_NODE: Assertion failed: creator && "Plugin not '
    'found, are the plugin name, version, and namespace correct?"',
    "dla_fallback": "Error Code 4: Internal Error (Assertion allowGPUFallback failed.)",
    "type_mismatch": "Error Code 4: API Usage Error (/Div: ElementWiseOperation DIV must have same input types. But they are "
    "of types Half and Float.)",
    "block_size": "Error Code 3: API Usage Error (DynamicQuantize: /q must have scalar block_size)",
    "dimensions": "Error Code 3: API Usage Error (Parameter check failed, condition: nbDims > Dims::MAX_DIMS)",
    "shapes_constraints": "Error Code 4: API Usage Error (x: kOPT dimensions in profile 0 violate shape constraints)",
    "shapes_static": "Static model does not take explicit shapes since the shape of inference tensors will be determined by "
    "the model itself",
    "shapes_unknown": 'Cannot find input tensor with name "data" in the network inputs!',
    "illegal_access": "Error Code 1: Cuda Runtime (an illegal memory access was encountered)",
    "bad_model": "Model missing or format not recognized",
    "calibration": "Calibration failure occurred with no scaling factors detected.",
    "uncaught": "Uncaught exception detected: std::exception",
}  # fmt: skip
CONSEQUENCES = f"{STAMP} [E] Engine could not be created from network\n{STAMP} [E] Engine set up failed"


@pytest.mark.parametrize("key", KNOWN)
def test_known_failures(tmp_path: Path, key: str) -> None:
    """Also where a message follows that has an entry of its own: the first error is the cause."""
    later = f"{STAMP} [E] CUDA initialization failure with error: 222" if key != "no_gpu" else ""
    failure = failure_of(tmp_path, BEGIN, f"{STAMP} [E] {KNOWN[key]}", CONSEQUENCES, later, END)
    assert failure is not None
    if key == "uncaught":
        assert failure.key == "old_driver"  # a general one gives way to a precise one
    else:
        assert (failure.key, failure.line) == (key, 2)
    assert failure.remedy
    assert "{" not in failure.cause + failure.remedy


@needs_logs
@needs_rtx
def test_logs_that_did_not_fail() -> None:
    failed = {"gpt2l_fp8.rtx-sm86", "mobilenet_v2.rtx-sm75", "nonzero.rtx-sm89"}
    for path in (*REAL, *RTX.glob("*.log")):
        assert (find_failure(read_log(path)) is not None) == (path.stem in failed), path.name


# --- what is at the cause ----------------------------------------------------------------------------------------------


def test_an_error_and_its_consequence(tmp_path: Path) -> None:
    """Without a driver every later step fails with cudaError 35; the model's types are the cause."""
    driver = f"{STAMP} [E] [TRT] Error Code 6: API Usage Error (CUDA initialization failure with error: 35)"
    failure = failure_of(tmp_path, BEGIN, TYPES, driver, f"{STAMP} [E] Engine set up failed", END)
    assert failure is not None
    assert failure.cause.endswith("does not convert: /Sub, Half and Float")
    assert failure.line == 2


def test_consequences_are_not_the_cause(tmp_path: Path) -> None:
    errors = (
        f"{STAMP} [E] Error[2]: [builder.cpp::buildSerializedNetwork::607] Error Code 2: Internal Error (Assertion engine "
        "!= nullptr failed. )",
        f"{STAMP} [E] Engine could not be created from network",
        f"{STAMP} [E] Error[2]: [cache.cpp::registerTensor::80] Error Code 2: Internal Error (Assertion n <= capacity() "
        "failed. Found a case where the cache is too small.)",
    )
    failure = failure_of(tmp_path, BEGIN, *errors, END)
    assert failure is not None
    assert failure.cause == "Assertion n <= capacity() failed. Found a case where the cache is too small."
    assert failure.line == 4


def test_the_parser_states_the_node_before_the_reason(tmp_path: Path) -> None:
    plugin = PARSER.replace(
        "[6] Invalid Node - /Tile", '[8] Assertion failed: creator && "Plugin not found, are the plugin name"'
    )
    failure = failure_of(tmp_path, BEGIN, plugin, END)
    assert failure is not None
    assert failure.key == "missing_plugin"
    assert "--dynamicPlugins" in failure.remedy


def test_no_kernel_for_lack_of_memory_of_the_device(tmp_path: Path) -> None:
    """On a Jetson the page cache counts as used; in a container a stub of libcuda reports a wrong size."""
    skipped = (
        f"{STAMP} [W] [TRT] Tactic Device request: 1000MB Available: 302MB. Device memory is insufficient."
    )
    failure = failure_of(tmp_path, BEGIN, skipped, NO_KERNEL, END)
    assert failure is not None
    assert failure.cause.endswith("its tactic needs 0.98 GiB, 302 MiB are available")
    assert "drop_caches" in failure.remedy
    assert "libcuda" in failure.remedy


def test_no_driver_is_not_an_old_driver(tmp_path: Path) -> None:
    failure = failure_of(tmp_path, BEGIN, f"{STAMP} [E] CUDA initialization failure with error: 35", END)
    assert failure is not None
    assert failure.cause.startswith("no GPU driver, or one that is older")
    assert "there is no driver" in failure.remedy


def test_a_run_that_passed_has_no_failure(tmp_path: Path) -> None:
    """Tactics that fail for lack of memory are errors of a build that goes on."""
    assert failure_of(tmp_path, BEGIN, MEMORY, BEGIN.replace("RUNNING", "PASSED")) is None


def test_only_the_last_run_counts(tmp_path: Path) -> None:
    passed = BEGIN.replace("RUNNING", "PASSED")
    assert failure_of(tmp_path, BEGIN, NO_KERNEL, END, BEGIN, passed) is None
    failure = failure_of(tmp_path, BEGIN, NO_KERNEL, passed, BEGIN, TYPES, END)
    assert failure is not None
    assert failure.key == "type_mismatch"


def test_pasted_ends_of_runs_have_the_errors_before_them(tmp_path: Path) -> None:
    warning = (
        f"{STAMP} [W] [TRT] Tactic Device request: 4096MB Available: 307MB. Device memory is insufficient."
    )
    for texts in (
        (NO_KERNEL, END, TYPES, END, warning),
        (NO_KERNEL, END, TYPES, END.replace("net.onnx", "x"), warning),
    ):
        failure = failure_of(tmp_path, *texts)
        assert failure is not None
        assert failure.key == "type_mismatch"


def test_internal_errors_of_tensorrt_7(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text(
        "[TensorRT] INTERNAL ERROR: Assertion failed: n >= 0\n../builder/Layers.cpp:4061\nAborting...\n"
    )
    assert recognize(path).kind is FileKind.BUILD_LOG
    failure = find_failure(read_log(path))
    assert failure is not None
    assert failure.cause.startswith("n >= 0")
    assert not failure.is_certain


def test_a_node_of_ros(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    reason = "IBuilder::buildSerializedNetwork: Error Code 9: Internal Error (/nms: no supported formats)"
    path.write_text(f"```\n[detection_exe-1] [I] [TRT] Local\n[detection_exe-1] [E] [TRT] {reason}\n```\n")
    assert recognize(path).kind is FileKind.BUILD_LOG
    failure = find_failure(read_log(path))
    assert failure is not None
    assert failure.cause == "/nms: no supported formats"


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    error = "Error[3]: In node -1 (parseFromFile): INVALID_VALUE: Assertion failed: S_ISREG(sb.st_mode): "
    error += "Input file cannot be found, or is not a regular file: models/a b.onnx"
    failure = failure_of(
        tmp_path, BEGIN, f"{STAMP} [E] {error}", f"{STAMP} [E] Failed to parse onnx file", END
    )
    assert failure is not None
    assert failure.cause == "there is no ONNX file models/a b.onnx"


def test_a_crash_before_a_run_is_of_another_program(tmp_path: Path) -> None:
    crash = "Segmentation fault (core dumped)"
    failure = failure_of(tmp_path, crash, BEGIN, f"{STAMP} [E] Failed to parse onnx file", END)
    assert failure is not None
    assert failure.key == "bad_onnx"
    failure = failure_of(tmp_path, BEGIN, crash)
    assert failure is not None
    assert failure.cause == crash


def test_no_device_is_printed_as_information(tmp_path: Path) -> None:
    failure = failure_of(tmp_path, BEGIN, f"{STAMP} [I] Cannot find device ID 1!")
    assert failure is not None
    assert (failure.key, failure.is_certain) == ("no_device", False)


def test_without_a_banner_errors_at_the_end_are_a_failure(tmp_path: Path) -> None:
    python = NO_KERNEL.replace(f"{STAMP} [E]", f"{STAMP} [TRT] [E]")
    traceback = 'Traceback (most recent call last):\n  File "build.py", line 9, in <module>\nAssertionError: no engine'
    failure = failure_of(tmp_path, python, traceback)
    assert failure is not None
    assert failure.key == "no_implementation"
    assert "set_memory_pool_limit" in failure.remedy
    went_on = f"{STAMP} [TRT] [I] Engine generation completed in 8.5 seconds."
    assert failure_of(tmp_path, python, went_on) is None
    assert failure_of(tmp_path, f"{STAMP} [TRT] [E] 3: something of no consequence") is None
    unknown = (
        f"{STAMP} [E] [TRT] IBuilder::buildSerializedNetwork: Error Code 9: API Usage Error (a new reason)"
    )
    failure = failure_of(tmp_path, unknown)
    assert failure is not None
    assert (failure.cause, failure.is_certain) == ("a new reason", True)


def test_a_program_that_ends_without_a_message(tmp_path: Path) -> None:
    failure = failure_of(
        tmp_path, BEGIN, "Cuda failure: no CUDA-capable device is detected", "Aborted (core dumped)"
    )
    assert failure is not None
    assert (failure.key, failure.line) == ("no_gpu", 2)


@pytest.mark.parametrize(
    ("version", "command", "option"),
    [
        ("v8205", "--onnx=a.onnx", "--workspace=MIB"),
        ("v8401", "--onnx=a.onnx", "--memPoolSize=workspace:MIB"),
        ("v8205", "--onnx=a.onnx", "--layerPrecisions"),
        ("v110100", "--onnx=a.onnx", "types in the model"),
    ],
)
def test_remedies_have_options_of_the_release(
    tmp_path: Path, version: str, command: str, option: str
) -> None:
    begin = f"&&&& RUNNING TensorRT.trtexec [TensorRT {version}] # trtexec {command}"
    failure = failure_of(tmp_path, begin, NO_KERNEL, begin.replace("RUNNING", "FAILED"))
    assert failure is not None
    assert option in failure.remedy


def test_a_remedy_states_what_was_given(tmp_path: Path) -> None:
    begin = f"{BEGIN} --memPoolSize=workspace:2048"
    failure = failure_of(tmp_path, begin, NO_KERNEL, begin.replace("RUNNING", "FAILED"))
    assert failure is not None
    assert failure.remedy.endswith("; the command has --memPoolSize=workspace:2048")


def test_remedies_of_a_capture() -> None:
    known = recognise(["Assertion allowGPUFallback failed"])
    assert known is not None
    assert (known.remedy("capture"), known.remedy()) == ("add --allow-gpu-fallback", "add --allowGPUFallback")


def test_a_message_ends_where_another_program_prints(tmp_path: Path) -> None:
    text = f"{BEGIN}\n{OPTIONS}\n{NO_KERNEL}\n==== Start [case_v1]\nTraceback (most recent call last):\nValueError: x\n"
    texts = [message.text for message in read(tmp_path / "a.log", text).messages]
    assert texts[0] == "Unknown option: --workspace 1024"
    assert texts[-1] == "Engine could not be created from network"


def test_errors_are_kept_with_what_follows(tmp_path: Path) -> None:
    text = f"""\
{STAMP} [E] [TRT] ModelImporter.cpp:726: While parsing node number 3 [Foo -> "y"]:
    the plugin is not there
{STAMP} [E] Parsing model failed
&&&& FAILED TensorRT.trtexec [TensorRT v8601] # trtexec --onnx=net.onnx
"""
    assert [message.text for message in read(tmp_path / "a.log", text).messages] == [
        'ModelImporter.cpp:726: While parsing node number 3 [Foo -> "y"]: the plugin is not there',
        "Parsing model failed",
    ]


def test_the_log_of_an_export_by_ultralytics(tmp_path: Path) -> None:
    text = f"""TensorRT: starting export with TensorRT 8.2.1.8...
{STAMP} [TRT] [I] Input filename:   net.onnx
{STAMP} [TRT] [W] onnx2trt_utils.cpp:366: Your ONNX model has been generated with INT64 weights.
TensorRT: input "images" with shape(1, 3, 64, 96) DataType.FLOAT
TensorRT: output "output0" with shape(1, 84, 126) DataType.HALF
TensorRT: building FP16 engine as net.engine
{STAMP} [TRT] [I] Total Device Persistent Memory: 61892096
"""
    trace = read(tmp_path / "a.log", text)
    assert trace.tensorrt_version == "8.2.1.8"
    assert [tuple(tensor)[1:] for tensor in trace.network_tensors] == [
        ("images", True, "1x3x64x96", "float"),
        ("output0", False, "1x84x126", "half"),
    ]
    assert [message.text[-13:] for message in trace.messages] == ["INT64 weights."[-13:]]
