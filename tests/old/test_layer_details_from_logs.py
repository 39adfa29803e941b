"""What a verbose log states of layers of which the other files have names or numbers only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers import ARTIFACTS, messages, strict_json, write_graph, write_json, write_profile
from trex_tui.__main__ import main
from trex_tui.old.engine import load_engine
from trex_tui.old.engine.dtypes import DataType

STAMP = "[11/21/2026-10:00:00] [V] [TRT]"
KERNEL = (
    "sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc_tilesize128x32x32_stage4_tensor16x8x16"
)
SECOND_KERNEL = (
    "sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc_tilesize64x64x32_stage5_tensor16x8x16"
)
LISTED = [
    "Layer(Reformat): Reformatting CopyNode for Input Tensor 0 to conv_1, Tactic: 0x0000000000000000, "
    "x (Float[1,8,32,32]) -> Reformatted Input Tensor 0 to conv_1 (Half[1,8:8,32,32])",
    "Layer(CaskConvolution): conv_1, Tactic: 0x00000000000000a1, "
    "Reformatted Input Tensor 0 to conv_1 (Half[1,8:8,32,32]) -> a (Half[1,64:8,32,32])",
    "Layer(CaskConvolution): conv_2, Tactic: 0x00000000000000a2, "
    "a (Half[1,64:8,32,32]) -> y (Half[1,64:8,32,32])",
]
NAMES = ["Reformatting CopyNode for Input Tensor 0 to conv_1", "conv_1", "conv_2"]
TIMED = [
    "--------------- Timing Runner: conv_1 (CaskConvolution[0x80000009])",
    f"Tactic Name: {KERNEL} Tactic: 0x00000000000000a1 Time: 0.0125",
    "conv_1 (CaskConvolution[0x80000009]) profiling completed in 0.1 seconds. "
    "Fastest Tactic: 0x00000000000000a1 Time: 0.0125",
    ">>>>>>>>>>>>>>> Chose Runner Type: CaskConvolution Tactic: 0x00000000000000a1",
    f"conv_2 Set Tactic Name: {SECOND_KERNEL} Tactic: 0x00000000000000a2",
]


def write_log(path: Path, listed: list[str] = LISTED, timed: list[str] = TIMED) -> Path:
    """A verbose log of a build."""
    banner = "TensorRT.trtexec [TensorRT v8601] # trtexec --onnx=net.onnx --fp16 --verbose"
    lines = [
        f"&&&& RUNNING {banner}",
        *(f"{STAMP} {line}" for line in timed),
        f"{STAMP} Engine Layer Information:",
        *listed,
        "[11/21/2026-10:00:01] [I] Engine built in 2.5 sec.",
        f"&&&& PASSED {banner}",
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def layer_rows(capsys: pytest.CaptureFixture[str], path: Path) -> list[dict[str, object]]:
    """The rows of `trex-tui layers --json`."""
    columns = "name,layer_type,tactic,tensor_cores,precision,input_formats,input_shapes"
    main(["layers", str(path), "--json", "--columns", columns])
    rows: list[dict[str, object]] = strict_json(capsys.readouterr().out)["layers"]
    return rows


def test_names_with_a_log_are_not_poorer_than_the_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone, both = tmp_path / "alone", tmp_path / "both"
    for folder in (alone, both):
        folder.mkdir()
        write_log(folder / "net.build.log")
    write_json(both / "net.graph.json", {"Layers": NAMES, "Bindings": ["x", "y"]})
    rows = layer_rows(capsys, both)
    assert rows == layer_rows(capsys, alone)
    assert [row["layer_type"] for row in rows] == ["Reformat", "CaskConvolution", "CaskConvolution"]
    assert [row["precision"] for row in rows] == ["FP32", "FP16", "FP16"]
    assert [row["tactic"] for row in rows] == [None, KERNEL, SECOND_KERNEL]
    assert [row["tensor_cores"] for row in rows] == [None, "yes", "yes"]


def test_summary_names_the_log_that_details_are_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_log(tmp_path / "net.build.log")
    write_json(tmp_path / "net.graph.json", {"Layers": NAMES, "Bindings": ["x", "y"]})
    main(["summary", str(tmp_path), "--json"])
    (engine,) = strict_json(capsys.readouterr().out)["engines"]
    assert (engine["names_only"], engine["layer_details_source"]) == (False, "build_log")
    assert {key: total["layers"] for key, total in engine["by_precision"].items()} == {"FP16": 2, "FP32": 1}
    main(["summary", str(tmp_path)])
    assert "types, shapes and tactics from the build log" in capsys.readouterr().out
    engine = load_engine(tmp_path)
    assert not [text for text in messages(engine.diagnostics) if "layer names only" in text]


def test_the_log_of_another_engine_is_not_used(tmp_path: Path) -> None:
    write_log(tmp_path / "net.build.log")
    write_json(tmp_path / "net.graph.json", {"Layers": ["conv_1", "conv_3"], "Bindings": ["x", "y"]})
    engine = load_engine(tmp_path)
    assert engine.names_only
    assert engine.layer_details_source is None
    assert {layer.precision for layer in engine.layers} == {None}
    assert [text for text in messages(engine.diagnostics) if "is of another engine" in text]


def test_kernels_of_a_myelin_layer_stay_names(tmp_path: Path) -> None:
    block = (
        "Layer(Myelin): {ForeignNode[a...b]}, Tactic: 0x0000000000000000, y (Half[1,64]) -> z (Half[1,64])"
    )
    write_log(tmp_path / "net.build.log", [*LISTED, block])
    names = [*NAMES, "__myl_MulAdd_myl0_1", "__myl_Res_myl0_2"]
    write_json(tmp_path / "net.graph.json", {"Layers": names, "Bindings": ["x", "z"]})
    engine = load_engine(tmp_path)
    assert [layer.layer_type for layer in engine.layers] == [
        "Reformat",
        "CaskConvolution",
        "CaskConvolution",
        None,
        None,
    ]
    assert not engine.names_only
    assert "of 3 of 5 layers" in " ".join(messages(engine.diagnostics))


def test_kernels_name_the_myelin_layer_between_their_neighbours(tmp_path: Path) -> None:
    first = "Layer(Myelin): {ForeignNode[a...b]}, Tactic: 0x0000000000000000, x (Half[1,8]) -> x2 (Half[1,8])"
    last = (
        "Layer(Myelin): {ForeignNode[c...d]}, Tactic: 0x0000000000000000, y (Int8[1,64]) -> z (Float[1,64])"
    )
    write_log(tmp_path / "net.build.log", [first, *LISTED, last])
    names = ["__myl_Mul_myl0_0", "__myl_Add_myl0_1", *NAMES, "__myl_Cast_myl1_0"]
    write_json(tmp_path / "net.graph.json", {"Layers": names, "Bindings": ["x", "z"]})
    layers = load_engine(tmp_path).layers
    blocks = [layer.attributes.get("ForeignNode") for layer in layers]
    assert blocks == ["{ForeignNode[a...b]}"] * 2 + [None] * 3 + ["{ForeignNode[c...d]}"]
    assert [layer.precision for layer in layers[:2]] == [None, None], "which of them reads x is unknown"
    assert [tensor.dtype for tensor in (*layers[-1].inputs, *layers[-1].outputs)] == [
        DataType.INT8,
        DataType.FP32,
    ]


def test_myelin_layers_alone_do_not_show_that_the_log_is_of_the_engine(tmp_path: Path) -> None:
    block = "Layer(Myelin): {ForeignNode[a...b]}, Tactic: 0x0000000000000000, x (Half[1,8]) -> y (Half[1,8])"
    write_log(tmp_path / "net.build.log", [block])
    write_json(tmp_path / "net.graph.json", {"Layers": ["__myl_Mul_myl0_0"], "Bindings": ["x", "y"]})
    engine = load_engine(tmp_path)
    assert (engine.names_only, engine.layer_details_source) == (True, None)
    assert engine.layers[0].inputs == ()


def test_layers_of_equal_name_get_their_own_details(tmp_path: Path) -> None:
    again = LISTED[2].replace("conv_2", "conv_1").replace("Half", "Int8")
    write_log(tmp_path / "net.build.log", [*LISTED[:2], again])
    write_json(tmp_path / "net.graph.json", {"Layers": [*NAMES[:2], "conv_1"], "Bindings": []})
    types = [layer.inputs[0].dtype for layer in load_engine(tmp_path).layers]
    assert types == [DataType.FP32, DataType.FP16, DataType.INT8]


def test_a_profile_with_a_log_has_the_layers_of_the_log(tmp_path: Path) -> None:
    write_log(tmp_path / "net.build.log")
    profile = write_profile(tmp_path / "net.profile.json", [("conv_1", 0.5), ("conv_2", 0.25)])
    engine = load_engine(tmp_path)
    assert [(layer.name, layer.latency_ms, layer.precision) for layer in engine.layers] == [
        (NAMES[0], None, DataType.FP32),
        ("conv_1", 0.5, DataType.FP16),
        ("conv_2", 0.25, DataType.FP16),
    ]
    write_profile(profile, [("conv_1", 0.5), ("another", 0.25)])
    assert [layer.name for layer in load_engine(tmp_path).layers] == ["conv_1", "another"]


def test_a_kernel_that_has_a_number_only_is_named_by_the_log(tmp_path: Path) -> None:
    write_log(tmp_path / "net.build.log")
    detailed = [
        {"Name": "a", "LayerType": "CaskConvolution", "TacticValue": "0xa1"},
        {"Name": "b", "LayerType": "CaskConvolution", "TacticName": "given", "TacticValue": "0xa2"},
        {"Name": "c", "LayerType": "CaskConvolution", "TacticValue": "0xa3"},
    ]
    write_graph(tmp_path / "net.graph.json", [{"Inputs": [], "Outputs": [], **raw} for raw in detailed])
    assert [layer.tactic for layer in load_engine(tmp_path).layers] == [KERNEL, "given", None]


def test_a_number_of_two_kernels_names_none(tmp_path: Path) -> None:
    other = TIMED[1].replace(KERNEL, "another_kernel")
    write_log(tmp_path / "net.build.log", timed=[*TIMED[:2], other, *TIMED[2:]])
    assert [layer.tactic for layer in load_engine(tmp_path).layers] == [None, None, SECOND_KERNEL]


@pytest.mark.skipif(not (ARTIFACTS / "names-only").is_dir(), reason="no real artifacts")
@pytest.mark.parametrize(
    ("names", "log", "kernels"),
    [
        ("trt8.4.1_exportLayerInfo_names_only.json", "trt8.4.1_GTX1070_build_verbose_fp16_dynshape.log", 2),
        (
            "trt8.6.0_exportLayerInfo_names_only.json",
            "trt8.6.0_RTX3090_build_verbose_fp16_dynshape_skipInference.log",
            6,
        ),
    ],
)
def test_real_names_with_their_log(tmp_path: Path, names: str, log: str, kernels: int) -> None:
    (tmp_path / "net.graph.json").symlink_to(ARTIFACTS / "names-only" / names)
    (tmp_path / "net.build.log").symlink_to(ARTIFACTS / "logs" / log)
    both, alone = load_engine(tmp_path), load_engine(ARTIFACTS / "logs" / log)
    assert both.layers == alone.layers
    assert both.bindings == alone.bindings
    assert len(both.layers) == len(json.loads((tmp_path / "net.graph.json").read_text())["Layers"])
    assert sum(layer.tactic is not None for layer in both.layers) == kernels
