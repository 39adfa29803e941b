"""What a log states of a run: command line, options, chosen shapes; by hand, on damaged input, and on the real logs."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trex_tui.old.buildlog.log_options import LogOptions, StatedOptions
from trex_tui.old.buildlog.log_records import read_log_options

TEXT = """\
&&&& RUNNING TensorRT.trtexec [TensorRT v101601] [b11] # trtexec --onnx=a.onnx --memPoolSize=workspace:1024MiB
[07/07/2026-02:10:59] [I] === Build Options ===
[07/07/2026-02:10:59] [I] Memory Pools: workspace: 0.000976562 MiB, dlaSRAM: default
[07/07/2026-02:10:59] [V] [TRT] Registered plugin creator: x
[07/07/2026-02:10:59] [I] Input build shape (profile 0): x=1x1+4x1+16x1
[07/07/2026-02:10:59] [I] LayerPrecisions: \n\
[07/07/2026-02:10:59] [I] === Inference Options ===
[07/07/2026-02:10:59] [I] Input inference shape : x=4x1
[07/07/2026-02:10:59] [I]
[07/07/2026-02:10:59] [I] Engine deserialized in: 1 s
[07/07/2026-02:11:40] [W] Shape missing for input with dynamic shape: xAutomatically setting shape to: 1x1x28x28
"""


def test_head_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "net.build.log"
    path.write_text(TEXT)
    head = read_log_options(path)
    assert head.arguments == ("trtexec", "--onnx=a.onnx", "--memPoolSize=workspace:1024MiB")
    build = head.stated.build
    assert build["Memory Pools"] == "workspace: 0.000976562 MiB, dlaSRAM: default"
    assert build["LayerPrecisions"] == ""
    assert head.stated.inference == {"Input inference shape": "x=4x1"}
    assert head.chosen_shapes == ("Automatically setting shape to: 1x1x28x28",)


def test_packed_absent_and_foreign_files(tmp_path: Path) -> None:
    plain, packed = tmp_path / "plain.log", tmp_path / "net.build.log"
    plain.write_text(TEXT)
    packed.write_bytes(gzip.compress(TEXT.encode()))
    assert read_log_options(packed) == read_log_options(plain)
    cut = tmp_path / "cut.log"
    cut.write_bytes(gzip.compress(TEXT.encode())[:40])
    assert read_log_options(cut) == LogOptions()
    assert read_log_options(tmp_path / "absent.log") == LogOptions()
    assert read_log_options(tmp_path) == LogOptions()


def test_of_the_build_and_of_the_timed_run(tmp_path: Path) -> None:
    path = tmp_path / "both.log"
    stamp = "[07/07/2026-02:11:41] [I]"
    ran = (
        "&&&& RUNNING TensorRT.trtexec [TensorRT v101601] [b11] # trtexec --loadEngine=a.plan\n"
        f"{stamp} === Inference Options ===\n{stamp} Iterations: 7\n{stamp} \n"
        f"{stamp} === Performance summary ===\n{stamp} Throughput: 5 qps\n"
    )
    built = f"{stamp} Engine built in 1.5 sec.\n"
    for text in (
        TEXT + built + ran,
        TEXT.replace("workspace: ", "workspace: 7") + built + TEXT + built + ran,
    ):
        path.write_text(text)
        build, timed = read_log_options(path), read_log_options(path, of_timed_run=True)
        assert build.arguments == ("trtexec", "--onnx=a.onnx", "--memPoolSize=workspace:1024MiB")
        assert build.stated.build["Memory Pools"].startswith("workspace: 0.0009")
        assert timed.arguments == ("trtexec", "--loadEngine=a.plan")
        assert timed.stated == StatedOptions(inference={"Iterations": "7"})
        assert (build.chosen_shapes, timed.chosen_shapes) == ((), ())


@given(st.binary(max_size=200))
def test_any_file_has_a_head(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("log") / "x.log"
    path.write_bytes(data)
    read_log_options(path)


@pytest.mark.parametrize(
    ("name", "workspace", "shapes"),
    [
        ("trt10.16.1_H100_build_verbose_onnx_fp16_dynshape.log", "workspace: 0.000976562 MiB", 0),
        ("trt10.16.1_H100_skipInference_dumpLayerInfo_detailed.log", "workspace: default", 1),
        ("trt8.4.1_GTX1070_build_verbose_fp16_dynshape.log", "workspace: 1024 MiB", 0),
        ("trt8.6.0_RTX3090_build_verbose_fp16_dynshape_skipInference.log", "workspace: 1024 MiB", 0),
        ("trt10.16.1_H100_dumpProfile_noSeparate.log", "", 1),
    ],
)
def test_real_logs(artifacts: Path, name: str, workspace: str, shapes: int) -> None:
    head = read_log_options(artifacts / "logs" / name)
    assert head.arguments[0].endswith("trtexec")
    assert head.stated.build.get("Memory Pools", "").startswith(workspace)
    assert head.stated.inference["Iterations"] == "10"
    assert len(head.chosen_shapes) == shapes
