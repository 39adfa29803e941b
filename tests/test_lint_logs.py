"""Rules that read the build log: a log of a few lines that makes each speak, and the nearest one that does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lint_kit import check, convolution, engine_of, image, layer, only, silent, unchecked
from trex_tui.artifacts.kinds import FileKind
from trex_tui.engine.model import Engine
from trex_tui.lint.rule import FindingSeverity

LOG_RULES = ("BUILD001", "PREC004")
STAMP = "[11/21/2026-10:00:00]"
BANNER = (
    "&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec --onnx=net.onnx --verbose --saveEngine=net.plan"
)
FLOAT = "Float(200704,3136,56,1) -> Float(200704,3136,56,1)"
HALF = "Half(200704,1:8,3584,64) -> Half(200704,1:8,3584,64)"
KERNEL = {"TacticName": "kernel_1", "TacticValue": "0x0000000000000001"}


def verbose(*messages: str, memory_mib: int = 24000) -> str:
    """A verbose log; a message that begins with a letter in brackets has that severity."""
    lines = [BANNER, f"{STAMP} [I] === Device Information ==="]
    lines += [f"{STAMP} [I] Device Global Memory: {memory_mib} MiB", f"{STAMP} [I]"]
    lines += [f"{STAMP} [V] [TRT] Original: 1 layers"]
    for message in messages:
        is_plain = message.startswith("[")
        lines.append(f"{STAMP} {message}" if is_plain else f"{STAMP} [V] [TRT] {message}")
    return "\n".join([*lines, BANNER.replace("RUNNING", "PASSED"), ""])


def tuned(name: str, *timed: str, seconds: float | None = None) -> list[str]:
    """The tuning of a layer."""
    ended = (
        []
        if seconds is None
        else [
            f"{name} (CaskConvolution[0x80000009]) profiling completed in {seconds} seconds. "
            "Fastest Tactic: 0x0000000000000001 Time: 1"
        ]
    )
    return [f"=============== Computing costs for {name}", *timed, *ended]


def tried(
    name: str, formats: str, *times_ms: float, chosen: int = 1, others: tuple[str, ...] = ()
) -> list[str]:
    """A format combination whose tactics 1, 2, … took these times."""
    return [
        f"*************** Autotuning format combination: {formats} ***************",
        f"--------------- Timing Runner: {name} (CaskConvolution[0x80000009])",
        *others,
        *(
            f"Tactic Name: kernel_{number} Tactic: 0x{number:016x} Time: {time}"
            for number, time in enumerate(times_ms, 1)
        ),
        f">>>>>>>>>>>>>>> Chose Runner Type: CaskConvolution Tactic: 0x{chosen:016x}",
    ]


def single(name: str = "conv") -> dict[str, Any]:
    kind = "Row major linear FP32"
    return convolution(name, image("x", dtype=kind), image("y", dtype=kind), **KERNEL)


def logged(
    tmp_path: Path, text: str, layers: list[dict[str, Any]] | None = None, times: list[float] | None = None
) -> Engine:
    path = tmp_path / "net.build.log"
    path.write_text(text, encoding="utf-8")
    return engine_of(layers or [single()], ["x", "y"], times=times, files={FileKind.BUILD_LOG: path})


# What they cannot see


@pytest.mark.parametrize("rule", LOG_RULES)
def test_without_a_log_of_the_build_nothing_is_clean(tmp_path: Path, rule: str) -> None:
    assert "--verbose" in unchecked(rule, engine_of([single()], ["x", "y"]))
    short = f"{BANNER}\n{STAMP} [I] TensorRT version: 8.6.1\n"
    assert "not verbose" in unchecked(rule, logged(tmp_path, short))
    loaded = short.replace("--verbose", "--verbose --loadEngine=net.plan")
    assert "--verbose" in unchecked(rule, logged(tmp_path, loaded))
    engine = logged(tmp_path, verbose())
    engine.files[FileKind.BUILD_LOG].unlink()
    assert "cannot be read" in unchecked(rule, engine)


# BUILD001


def skipped(wanted: int, there: int = 1 << 30) -> str:
    return f"Tactic: 0x0000000000000003 skipped. Scratch requested: {wanted}, available: {there}"


def test_tactics_beyond_the_workspace(tmp_path: Path) -> None:
    messages = tuned("conv", *tried("conv", FLOAT, 1.0, others=(skipped(3 << 30), skipped(2 << 30))))
    found = only("BUILD001", logged(tmp_path, verbose(*messages)))
    assert found.message == (
        "2 tactics for 1 layer skipped for scratch memory of up to 3.00 GiB: workspace too small (1.00 GiB)."
    )
    assert (found.layers, found.stated_severity, found.saving_ms) == ((0,), None, None)
    assert "workspace:3072 (MiB)" in found.remedy
    silent("BUILD001", logged(tmp_path, verbose(*tuned("conv", *tried("conv", FLOAT, 1.0)))))


def test_what_no_device_of_this_size_grants_is_no_warning(tmp_path: Path) -> None:
    messages = tuned("conv", *tried("conv", FLOAT, 1.0, others=(skipped(7 << 30),)))
    found = only("BUILD001", logged(tmp_path, verbose(*messages, memory_mib=8192)))
    assert found.severity is FindingSeverity.INFO
    assert "up to 7.00 GiB" in found.message
    assert "device memory too (8.00 GiB)" in found.message
    messages = tuned("conv", *tried("conv", FLOAT, 1.0, others=(skipped(7 << 30), skipped(2 << 30))))
    assert only("BUILD001", logged(tmp_path, verbose(*messages, memory_mib=8192))).stated_severity is None


def terse(*messages: str, version: str = "8601") -> str:
    return "\n".join([BANNER.replace("8601", version), *(f"{STAMP} {message}" for message in messages), ""])


def test_a_log_that_is_not_verbose_warns_of_skipped_tactics(tmp_path: Path) -> None:
    lines = (
        "[W] [TRT] Tactic Device request: 2243MB Available: 2189MB. Device memory is insufficient to use tactic.",
        "[W] [TRT] Skipping tactic 3 due to insuficient memory on requested size of 2243 detected for tactic 4.",
        "[W] [TRT] Tactic Device request: 900MB Available: 880MB. Device memory is insufficient to use tactic.",
    )
    (found,), reasons = check("BUILD001", logged(tmp_path, terse(*lines)))
    assert found.message.startswith(
        "Tactics were skipped 2 times, device out of memory: the first needs 2243 MB with 2189 MB"
    )
    assert any("not verbose" in reason.reason for reason in reasons)


@pytest.mark.parametrize(
    ("version", "remedy"), [("8201", "--workspace=N (MiB"), ("8502", "without a workspace limit")]
)
def test_the_note_that_tactics_lack_workspace(tmp_path: Path, version: str, remedy: str) -> None:
    line = "[I] [TRT] Some tactics do not have sufficient workspace memory to run. Increasing workspace size may help."
    (found,), _ = check("BUILD001", logged(tmp_path, terse(line, version=version)))
    assert found.severity is FindingSeverity.INFO
    assert remedy in found.remedy
    assert dict(found.evidence) == {"log_line": 2}


def test_a_device_without_free_memory_is_another_matter(tmp_path: Path) -> None:
    ran_out = "[W] [TRT] Tactic Device request: 4096MB Available: 1024MB. Device memory is insufficient to use tactic."
    messages = tuned("conv", *tried("conv", FLOAT, 1.0, others=(ran_out, skipped(2 << 30))))
    (workspace, device), reasons = check("BUILD001", logged(tmp_path, verbose(*messages)))
    assert "workspace" in workspace.message
    assert "up to 4.00 GiB: device out of memory (1.00 GiB free)" in device.message
    assert reasons == []


MYELIN = (
    "--------------- Timing Runner: {ForeignNode[a...b]} (Myelin[0x80000023])",
    "[W] [TRT] UNSUPPORTED_STATE: Skipping tactic 0 due to insufficient memory on requested size of 2688 detected for tactic "
    "0x0000000000000000.",
)


def test_what_myelin_needs_is_not_what_it_was_given(tmp_path: Path) -> None:
    """Its warning repeats the budget; without the line before, no size is known to suffice."""
    need = " (foreignNode) [pass.cpp:2131: run_passes] Exceeded mem budget of 2688. Need 1204224"
    for others, words, remedy in (
        (
            (MYELIN[0], need, MYELIN[1]),
            "of up to 1.15 MiB",
            "--memPoolSize=workspace:2 (MiB) or more",
        ),
        (MYELIN, "of unknown size", "Build without a workspace limit"),
    ):
        messages = tuned("{ForeignNode[a...b]}", *tried("{ForeignNode[a...b]}", FLOAT, 1.0, others=others))
        found = only("BUILD001", logged(tmp_path, verbose(*messages)))
        assert words in found.message
        assert found.remedy.startswith(remedy) or remedy in found.remedy


# BUILD003


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "[W] [TRT] Could not read cache from: net.cache. A new cache will be generated and written.",
            "could not be",
        ),
        ("Deleting timing cache: 170 entries, served 0 hits since creation.", "had no entry"),
    ],
)
def test_a_cold_timing_cache(tmp_path: Path, said: str, words: str) -> None:
    in_use = "Global timing cache in use. Profiling results in this builder pass will be stored."
    assert words in only("BUILD003", logged(tmp_path, verbose(in_use, said))).message
    warm = "Deleting timing cache: 170 entries, served 12 hits since creation."
    silent("BUILD003", logged(tmp_path, verbose(in_use, warm)))


def test_the_log_says_that_the_cache_is_local(tmp_path: Path) -> None:
    in_use = "[I] [TRT] Local timing cache in use. Profiling results in this builder pass will not be stored."
    assert "this build only" in only("BUILD003", logged(tmp_path, verbose(in_use))).message


# BUILD006


# BUILD007


# PREC004


NOTES = {
    "cast to INT32": "Your ONNX model has been generated with INT64 weights, while TensorRT does not natively support INT64. "
    "Attempting to cast down to INT32.",
    "Weakly typed": "Weakly-typed networks have been deprecated in TensorRT.",
    "3 weight tensors": " - 3 weights are affected by this issue: Detected subnormal FP16 values.",
    "1 tensor without a scale": "Missing scale and zero-point for tensor /a/MatMul_output_0, expect fall back to non-int8 "
    "implementation for any layer consuming or producing given tensor",
    "Only zeros in 1 tensor": "Tensor input_3 is uniformly zero; network calibration failed.",
    "random data": "Int8 Calibration is using randomly generated input data.",
    "normalization runs in FP16": "Running layernorm after self-attention in FP16 may cause overflow.",
}
GRAVE = ("weight tensors", "without a scale", "Only zeros", "random data")


@pytest.mark.parametrize("words", NOTES)
def test_notes_of_the_builder(tmp_path: Path, words: str) -> None:
    found = only("PREC004", logged(tmp_path, verbose(f"[W] [TRT] {NOTES[words]}")))
    assert words in found.message
    assert (found.severity is FindingSeverity.WARNING) == any(grave in words for grave in GRAVE)
    silent("PREC004", logged(tmp_path, verbose(f"{NOTES[words]}")))  # said, and not as a warning
    silent("PREC004", logged(tmp_path, verbose("[W] [TRT] Some weights are affected by the weather")))


def test_tensors_without_a_scale_are_one_finding(tmp_path: Path) -> None:
    names = ("/a/MatMul_output_0", "/b/c.1/Add_output_0", "(Unnamed Layer* 3) [Shuffle]_output")
    messages = [
        f"[W] [TRT] Missing scale and zero-point for tensor {name}, expect fall back to non-int8 implementation"
        for name in names
    ]
    assert "3 tensors without a scale" in only("PREC004", logged(tmp_path, verbose(*messages))).message


def test_a_non_conforming_implementation(tmp_path: Path) -> None:
    said = "For layer conv a non-conforming implementation was chosen than was requested i.e. requested layer computation"
    found = only("PREC004", logged(tmp_path, verbose(*tuned("conv", *tried("conv", FLOAT, 1.0)), said)))
    assert found.layers == (0,)
    silent("PREC004", logged(tmp_path, verbose("For layer conv a conforming implementation was chosen")))


# PREC005


# DLA001


def dla(tmp_path: Path, *messages: str) -> Engine:
    layers = [
        layer("{ForeignNode[a]}", "DLA", [image("x")], [image("c")]),
        convolution("slice + head", image("c"), image("y")),
    ]
    text = verbose(*messages).replace("--verbose", "--verbose --useDLACore=0 --allowGPUFallback")
    return logged(tmp_path, text, layers, [1.0, 0.25])


def test_reasons_of_a_fallback(tmp_path: Path) -> None:
    reason = "[W] [TRT] slice: DLA only supports slicing 4 dimensional tensors."
    switched = (
        "[W] [TRT] Layer 'slice' (SLICE): Unsupported on DLA. Switching this layer's device type to GPU."
    )
    constant = (
        "[W] [TRT] Layer 'two' (CONSTANT): Unsupported on DLA. Switching this layer's device type to GPU."
    )
    found = only("DLA001", dla(tmp_path, reason, switched, constant))
    assert found.layers == (1,)
    assert found.saving_ms is None
    assert found.message == (
        "1 layer fell back from the DLA to the GPU, DLA only supports slicing 4 dimensional tensors ('slice'; slice; "
        "0.25 ms, 20.0 %)."
    )
    typed = "[W] [TRT] DLA only supports FP16 and Int8 precision type. Switching head device type to GPU."
    found = only("DLA001", dla(tmp_path, typed))
    assert found.layers == (1,)
    assert "DLA has FP16 and INT8 only" in found.message


# MEASURE004


def test_an_engine_of_another_device_and_another_library(tmp_path: Path) -> None:
    lines = (
        "[W] [TRT] TensorRT was linked against cuDNN 8.6.0 but loaded cuDNN 8.4.1",
        "[W] [TRT] TensorRT was linked against cuBLAS/cuBLAS LT 11.6.5 but loaded cuBLAS/cuBLAS LT 11.3.0",
        "[W] [TRT] Using an engine plan file across different models of devices is not recommended",
    )
    found, _ = check("MEASURE004", logged(tmp_path, terse(*lines)))
    assert [one.message for one in found] == [
        "TensorRT was linked against cuDNN 8.6.0 and loaded cuDNN 8.4.1.",
        "TensorRT was linked against cuBLAS/cuBLAS LT 11.6.5 and loaded cuBLAS/cuBLAS LT 11.3.0.",
        "TensorRT states that the engine was built on another device: tactics were chosen there.",
    ]
    assert check("MEASURE004", logged(tmp_path, terse("[W] [TRT] Unused Input: position_ids")))[0] == []


# MEASURE002


def test_what_trtexec_says_of_its_own_run(tmp_path: Path) -> None:
    def said(pct: str) -> Engine:
        path = tmp_path / "net.profile.log"
        lines = [
            BANNER.replace("--onnx=net.onnx", "--loadEngine=net.plan"),
            f"{STAMP} [I] === Performance summary ===",
            f"{STAMP} [I] Throughput: 1000 qps",
            f"{STAMP} [W] * GPU compute time is unstable, with coefficient of variance = {pct}%.",
            f"{STAMP} [W]   If not already in use, locking GPU clock frequency may improve the stability.",
        ]
        path.write_text("\n".join([*lines, ""]), encoding="utf-8")
        return engine_of([single()], ["x", "y"], files={FileKind.PROFILE_LOG: path})

    found = only("MEASURE002", said("45.3157"))
    assert found.severity is FindingSeverity.WARNING
    assert "gPU" not in found.message
    assert "45.3157 %" in found.message
    assert only("MEASURE002", said("3.1")).severity is FindingSeverity.INFO
    assert "no timing run" in unchecked("MEASURE002", engine_of([single()], ["x", "y"]))
