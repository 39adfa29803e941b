"""`polygraphy inspect model` of an engine is layer information."""

from __future__ import annotations

from pathlib import Path

import pytest

from trex_tui.__main__ import main
from trex_tui.old.engine import load_engine
from trex_tui.old.engine.dtypes import DataType

HEAD = """[I] Loading bytes from net.engine
[I] ==== TensorRT Engine ====
    Name: Unnamed Network 0 | Explicit Batch Engine

    ---- 1 Engine Input(s) ----
    {x [dtype=float32, shape=(-1, 3, 16, 16)]}

    ---- 2 Engine Output(s) ----
    {y [dtype=float16, shape=(-1, 8, 14, 14)],
     (Unnamed Layer* 3) [Shuffle]_output [dtype=int32, shape=()]}

    ---- Memory ----
    Device Memory: 1024 bytes

    ---- 2 Profile(s) (3 Tensor(s) Each) ----
    - Profile: 0
        Tensor: x          (Input), Index: 0 | Shapes: min=(1, 3, 16, 16), opt=(2, 3, 16, 16), max=(4, 3, 16, 16)
        Tensor: y         (Output), Index: 1 | Shape: (-1, 8, 14, 14)

    ---- 2 Layer(s) Per Profile ----
"""
LAYERS = """    - Profile: 0
        Layer 0    | Reformatting CopyNode for Input Tensor 0 to conv [Op: Reformat]
            {x [shape=(-1, 3, 16, 16)FIRST]}
             -> {Reformatted Input Tensor 0 to conv [shape=(-1, 3, 16, 16)SECOND]}
            ---- Attributes ----
            Origin = REFORMAT
            Tactic = 0x00000000000003e8

        Layer 1    | conv + relu [Op: CaskConvolution]
            {Reformatted Input Tensor 0 to conv [shape=(-1, 3, 16, 16)SECOND],
             scale [shape=(8)]}
             -> {y [shape=(-1, 8, 14, 14)SECOND]}
            ---- Attributes ----
            Origin = Unknown
            Tactic = 0x9ae0c0d2fb3a01e5

"""
OTHER_PROFILE = LAYERS.replace("Profile: 0", "Profile: 1").replace(" [Op", " [profile 1] [Op")


def written(tmp_path: Path, layers: str = LAYERS, *, has_formats: bool = False) -> Path:
    first, second = (", Format: Row major linear FP32", ", Format: Half") if has_formats else ("", "")
    path = tmp_path / "net.txt"
    path.write_text(HEAD + layers.replace("FIRST", first).replace("SECOND", second))
    return path


def test_layers_tensors_and_shapes(tmp_path: Path) -> None:
    engine = load_engine(written(tmp_path))
    assert [layer.name for layer in engine.layers] == [
        "Reformatting CopyNode for Input Tensor 0 to conv",
        "conv + relu",
    ]
    reformat, conv = engine.layers
    assert (reformat.layer_type, conv.layer_type, conv.kind.value) == (
        "Reformat",
        "CaskConvolution",
        "convolution",
    )
    assert [(tensor.name, tensor.shape) for tensor in conv.inputs] == [
        ("Reformatted Input Tensor 0 to conv", (-1, 3, 16, 16)),
        ("scale", (8,)),
    ]
    assert conv.outputs[0].shape == (-1, 8, 14, 14)
    assert conv.tactic_value == "0x9ae0c0d2fb3a01e5"
    assert "Origin" not in conv.attributes
    assert [(binding.name, binding.is_input, binding.dtype) for binding in engine.bindings] == [
        ("x", True, DataType.FP32),
        ("y", False, DataType.FP16),
        ("(Unnamed Layer* 3) [Shuffle]_output", False, DataType.INT32),
    ]
    assert conv.precision is None, "it prints no types of tensors inside the engine"


def test_formats_have_the_types(tmp_path: Path) -> None:
    engine = load_engine(written(tmp_path, has_formats=True))
    assert engine.layers[1].precision is DataType.FP16
    assert engine.layers[0].inputs[0].dtype is DataType.FP32


def test_colours_and_a_second_profile(tmp_path: Path) -> None:
    path = written(tmp_path, LAYERS + OTHER_PROFILE)
    path.write_text("\x1b[38;5;14m" + path.read_text().replace("conv + relu", "\x1b[1mconv + relu\x1b[0m"))
    engine = load_engine(path)
    assert engine.optimization_profiles == 2
    assert [layer.name for layer in engine.layers][1] == "conv + relu"


def test_names_only(tmp_path: Path) -> None:
    layers = "    Layer 0    | a + b [Op: Unknown]\n        {}\n         -> {}\n\n    Layer 1    | c [Op: Unknown]\n"
    engine = load_engine(written(tmp_path, layers))
    assert engine.names_only
    assert [layer.name for layer in engine.layers] == ["a + b", "c"]


def test_without_layers_the_remedy_is_stated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", str(written(tmp_path, ""))]) == 2
    assert (
        "lists no layers; run polygraphy inspect model ENGINE --show layers attrs" in capsys.readouterr().err
    )
