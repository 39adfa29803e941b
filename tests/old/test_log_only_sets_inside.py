"""Engines known by their logs alone: what a log states of weights, activations, inputs and outputs, in every output."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import write_files
from test_log_only_sets import BUILD, RUN
from trex_tui import ArtifactError
from trex_tui.__main__ import main
from trex_tui.old.engine import load_engine
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.model import Binding


def test_what_the_logs_state(tmp_path: Path) -> None:
    engine = load_engine(write_files(tmp_path, {"net.build.log": BUILD, "net.profile.log": RUN}))
    memory = engine.metadata.memory
    assert (memory.weights_bytes, memory.activation_bytes, memory.scratch_bytes) == (4096, 2048, 512)
    assert (memory.context_bytes, memory.engine_bytes) == (2**18, 2**19)
    assert engine.weights_bytes == 4096
    assert engine.bindings == (
        Binding("x", True, (4, 3, 8, 8), DataType.FP16),
        Binding("y", False, (4, 10), DataType.FP32),
    )
    assert engine.tensorrt_version == "10.4.0"


def test_inputs_of_the_network(tmp_path: Path) -> None:
    """Of the log of a build, as the parser prints them; the shapes of outputs are not in it."""
    engine = load_engine(write_files(tmp_path, {"net.build.log": BUILD}))
    assert engine.bindings == (Binding("x", True, (-1, 3, 8, 8), DataType.FP32), Binding("y", False))
    assert engine.layers == ()
    assert any("has no layers and no times" in note.message for note in engine.diagnostics)


def test_types_that_an_option_changes_are_unknown(tmp_path: Path) -> None:
    banner = "&&&& RUNNING TensorRT.trtexec [TensorRT v100400] # trtexec --onnx=net.onnx --inputIOFormats=fp16:chw\n"
    engine = load_engine(write_files(tmp_path, {"net.build.log": banner + BUILD}))
    assert engine.bindings[0] == Binding("x", True, (-1, 3, 8, 8))


def test_a_log_without_an_engine_does_not_open(tmp_path: Path) -> None:
    write_files(tmp_path, {"net.build.log": "\n".join(BUILD.splitlines()[:3]) + "\n"})
    with pytest.raises(ArtifactError, match="has no layers and no times"):
        load_engine(tmp_path)


def test_names_only_are_completed(tmp_path: Path) -> None:
    """Layer information of names lists inputs and outputs without a shape; the log has it."""
    write_files(
        tmp_path, {"net.graph.json": {"Layers": ["conv"], "Bindings": ["x", "y"]}, "net.profile.log": RUN}
    )
    engine = load_engine(tmp_path)
    assert [(one.name, one.is_input, one.shape) for one in engine.bindings] == [
        ("x", True, (4, 3, 8, 8)),
        ("y", False, (4, 10)),
    ]


def test_a_profile_of_other_layers_in_the_same_notes_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Notes without time stamps on an engine and, below, another: the times of the first are not lost without a word."""

    def listed(*names: str) -> str:
        layers = (
            f"Layer(CudnnConvolution): {name}, Tactic: 0, a[Float(1,8)] -> b[Float(1,8)]" for name in names
        )
        return "\n".join(("[V] Engine Layer Information:", *layers, ""))

    rows = "".join(f"[I]    {name}    12.00    0.0100    50.0\n" for name in ("conv0", "conv1"))
    profile = (
        f"[I] === Profile (1200 iterations ) ===\n[I]   Layer   Time (ms)   Avg. Time (ms)   Time %\n{rows}"
    )
    notes = write_files(tmp_path, {"notes.md": f"# Before\n\n{listed('conv0', 'conv1')}\n{profile}\n"})
    assert load_engine(notes / "notes.md").latency_sum_ms == pytest.approx(0.02)
    (notes / "notes.md").write_text(
        f"# Before\n\n{listed('conv0')}\n{profile}\n# After\n\n{listed('conv7')}\n"
    )
    assert main(["summary", str(notes / "notes.md")]) == 0
    assert "notes.md: does not match this graph: none of its 2 rows names a layer" in capsys.readouterr().err
