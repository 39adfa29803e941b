"""The lists of layers of a log: the builder's, the inspector's in one line or as JSON, TensorRT 11's, and names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from helpers import some
from log_kit import LOGS, REAL, RTX, STAMP, needs_logs, needs_rtx, read
from trex_tui.api import load_engine
from trex_tui.artifacts.kinds import FileKind, recognize
from trex_tui.artifacts.layer_info import LayerInfo
from trex_tui.buildlog.layer_lists import parse_io_tensor
from trex_tui.buildlog.reader import read_log
from trex_tui.buildlog.records import complete_layer_info

LISTED = [
    path for path in REAL if re.search(r"Engine Layer Information:|\[I\] Layers:", path.read_text("utf-8"))
]
BETWEEN = (
    f"{STAMP} [W] [TRT] something is odd",
    f"{STAMP} [I] another thread",
    "libEGL warning: DRI3: failed to query the version",
)


@needs_logs
@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("path", LISTED, ids=lambda path: path.stem)
def test_a_line_between_two_layers_costs_none(tmp_path: Path, path: Path, between: str) -> None:
    lines = path.read_text(encoding="utf-8").split("\n")  # metadata holds U+001E
    for found in read_log(path).layer_lists:
        if found.form == "names" and not between.startswith("["):
            continue  # a bare name may be any text
        for place in some(range(found.layers[0].line, found.layers[-1].line), 3):
            trace = read(tmp_path / "a.log", "\n".join((*lines[:place], between, *lines[place:])) + "\n")
            again = next(other for other in trace.layer_lists if other.form == found.form)
            assert [layer.raw for layer in again.layers] == [layer.raw for layer in found.layers]
            assert again.bindings == found.bindings


def test_the_list_of_another_engine_replaces_the_one_before(tmp_path: Path) -> None:
    def listed(*names: str) -> list[str]:
        layers = [
            f"Layer(A): {name}, Tactic: 0x0000000000000001, a (Half[1]) -> b (Half[1])" for name in names
        ]
        return [f"{STAMP} [V] [TRT] Engine Layer Information:", *layers, *BETWEEN[:2]]

    trace = read(tmp_path / "a.log", "\n".join((*listed("one", "two"), *listed("three"))) + "\n")
    assert [[layer.name for layer in found.layers] for found in trace.layer_lists] == [["three"]]


# --- TensorRT 11 -------------------------------------------------------------------------------------------------------


def test_io_tensors_of_tensorrt_11() -> None:
    text = (
        "Name: input, IOMode: Input, DataType: Float, Dimensions: [-1,3,224,224], Location: Device, IsShapeInferenceIO: "
        "false, ProfileInfo: [ { MinShape: [1,3,224,224], OptShape: [4,3,224,224], MaxShape: [8,3,224,224], Format: "
        "Row major linear FP32 format (kLINEAR) }, { MinShape: [1], OptShape: [2], MaxShape: [3] }]"
    )
    shapes = {"MinShape": [1, 3, 224, 224], "OptShape": [4, 3, 224, 224], "MaxShape": [8, 3, 224, 224]}
    assert parse_io_tensor(text) == {
        "Name": "input",
        "IOMode": "Input",
        "DataType": "Float",
        "Dimensions": [-1, 3, 224, 224],
        "Location": "Device",
        "IsShapeInferenceIO": False,
        "ProfileInfo": [
            {**shapes, "Format": "Row major linear FP32 format (kLINEAR)"},
            {"MinShape": [1], "OptShape": [2], "MaxShape": [3]},
        ],
    }


@needs_rtx
def test_inputs_are_no_weights() -> None:
    """Lines of `I/O Tensors` begin with a blank; constants are listed apart from the inputs of a layer."""
    for path in sorted(RTX.glob("*.log")):
        trace = read_log(path)
        if trace.layer_list is None:
            continue
        text = path.read_text(encoding="utf-8")
        printed = re.findall(r"^ Name: (.+?), IOMode: (\w+)", text, re.MULTILINE)
        assert [(tensor["Name"], tensor["IOMode"]) for tensor in trace.layer_list.io_tensors] == printed
        if printed:  # 1.4 prints names alone
            assert trace.layer_list.bindings == tuple(name for name, _ in printed)
        shapes = {
            constant["Name"]: constant["Dimensions"]
            for layer in trace.layer_list.layers
            for constant in layer.raw.get("Constants", ())
        }
        assert shapes.keys().isdisjoint(trace.layer_list.bindings)
        assert len(trace.layer_list.layers) == len(re.findall(r"^Name: .+?, LayerType: ", text, re.MULTILINE))


@needs_rtx
def test_loops_and_kernels_chosen_at_run_time() -> None:
    found = read_log(RTX / "control.rtx-sm89.log").layer_list
    assert found is not None
    jumps = [layer.raw for layer in found.layers if layer.layer_type == "cjmp"]
    assert [(raw["JumpTargetThen"], raw["JumpTargetElse"]) for raw in jumps][:2] == [
        ("<EXIT>", "__myl_SumResh_myl0_11"),
        ("$$myelin$$(Unnamed Loop* 0)^ElementWise 2_to_add_myl0_7", "__myl_SumResh_myl0_11"),
    ]
    stubs = read_log(RTX / "conv3d.rtx-sm89.log").layer_list
    assert stubs is not None
    assert stubs.layers[1].raw["TacticName"] == "__myelin_CASK_STUB"
    assert stubs.layers[1].raw["Inputs"][0]["StrideOrder"] == [4, 0, 3, 2, 1]


# --- what programs print -----------------------------------------------------------------------------------------------

PYTHON_HEAD = (
    f"{STAMP} [TRT] [I] Loaded engine size: 6 MiB",
    f"{STAMP} [TRT] [W] Using an engine plan file across different models of devices is not supported.",
)
PYTHON_TAIL = ("", f"{STAMP} [TRT] [I] done", "bye")
LAYERS = (
    {
        "Name": "conv1",
        "LayerType": "CaskConvolution",
        "Inputs": [],
        "Outputs": [],
        "TacticName": "sm80_xmma {a",
    },
    {"Name": "pool", "LayerType": "CaskPooling", "Inputs": [], "Outputs": [], "ParameterType": "Pooling"},
)
ONE_LINE = (
    "Name: conv1, LayerType: CaskConvolution, Inputs: [], Outputs: [], TacticName: sm80_xmma {a",
    "Name: pool, LayerType: CaskPooling, Inputs: [], Outputs: [], ParameterType: Pooling",
)
ROOT = {"Layers": LAYERS, "Bindings": ["x", "y"]}
JSON_OF_TENSORRT = (
    '{"Layers": [' + json.dumps(LAYERS[0]),
    "," + json.dumps(LAYERS[1]),
    "],",
    '"Bindings": ["x"',
    ',"y"',
    "]}",
)


def printed_by_python(path: Path, lines: tuple[str, ...]) -> Path:
    path.write_text("\n".join((*PYTHON_HEAD, *lines, *PYTHON_TAIL)) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "lines",
    [
        ("Layers:", *ONE_LINE, "", "Bindings:", "x", "y"),
        (f"{STAMP} [V] [TRT] Layers:", *ONE_LINE, "", "Bindings:", "x", "y"),
        ("DEBUG: [Torch-TensorRT] - Layers:", *ONE_LINE, "", "Bindings:", "x", "y"),
        JSON_OF_TENSORRT,
        tuple(json.dumps(ROOT, indent=2).splitlines()),
        (json.dumps(ROOT),),
        (json.dumps({"Layers": LAYERS, "I/O Tensors": [{"Name": "x"}, {"Name": "y"}]}, indent=1),),
    ],
    ids=["bare", "library", "Torch-TensorRT", "JSON", "indented", "JSON in a line", "TensorRT 11"],
)
def test_a_program_prints_what_the_inspector_returns(tmp_path: Path, lines: tuple[str, ...]) -> None:
    trace = read_log(printed_by_python(tmp_path / "m.log", lines))
    (found,) = trace.layer_lists
    assert (found.form, found.bindings) == ("inspector", ("x", "y"))
    assert [layer.raw for layer in found.layers] == list(LAYERS)
    (warning,) = [message for message in trace.messages if message.severity == "W"]
    assert warning.text.endswith("is not supported.")


def test_single_layers_of_the_inspector(tmp_path: Path) -> None:
    (found,) = read_log(printed_by_python(tmp_path / "m.log", ONE_LINE)).layer_lists
    assert [layer.raw for layer in found.layers] == list(LAYERS)


@pytest.mark.parametrize(
    "lines",
    [
        ("Layers:", "conv1", "pool", "", "Bindings:", "x", "y"),
        ('{"Layers": ["conv1"', ',"pool"', "],", '"Bindings": ["x"', ',"y"', "]}"),
    ],
)
def test_names_of_the_inspector(tmp_path: Path, lines: tuple[str, ...]) -> None:
    (found,) = read_log(printed_by_python(tmp_path / "m.log", lines)).layer_lists
    assert (found.form, found.bindings) == ("names", ("x", "y"))
    assert [layer.name for layer in found.layers] == ["conv1", "pool"]


@pytest.mark.parametrize(
    "lines",
    [
        ("Layers:", "12 of them", ""),
        ("{", '"Layers": 12', "}"),
        ('{"Layers": [{"LayerType": "A"}], "Bindings": []}',),
        ('{"Layers": [{"Name": "conv1"}',),
        ('{"Layers": ["conv"1"], "Bindings": []}',),
    ],
    ids=["names of anything", "no list", "no names", "cut off", "quotes"],
)
def test_what_is_no_list_of_layers(tmp_path: Path, lines: tuple[str, ...]) -> None:
    assert read_log(printed_by_python(tmp_path / "m.log", lines)).layer_lists == ()


# --- with the files of a set -------------------------------------------------------------------------------------------


@needs_logs
def test_names_of_a_file_get_the_details_of_the_log() -> None:
    log = LOGS / "trt8.6.0_RTX3090_build_verbose_fp16_dynshape_skipInference.log"
    trace = read_log(log)
    assert trace.layer_list is not None
    names = [layer.name for layer in trace.layer_list.layers if layer.layer_type != "NoOp"]
    info = LayerInfo(tuple({"Name": name} for name in names), (), names_only=True)
    whole = complete_layer_info(info, {"build_log": trace})
    assert (whole.names_only, whole.details_source) == (False, "build_log")
    assert all(raw["LayerType"] and raw["TacticValue"] for raw in whole.layers)
    assert sum("TacticName" in raw for raw in whole.layers) > 5
    other = LayerInfo(({"Name": "of another engine"},), (), names_only=True)
    strange = complete_layer_info(other, {"build_log": trace})
    assert strange.names_only
    assert "is of another engine" in strange.notes[0].message


def test_layer_information_that_a_document_quotes(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    tensor = '{"Name": "x", "Location": "Device", "Dimensions": [1,8], "Format/Datatype": "Half"}'
    layer = f'"Name": "conv", "LayerType": "CaskConvolution", "Inputs": [{tensor}], "Outputs": [], "TacticName": "t"'
    path.write_text(
        f'The engine:\n\n{{"Layers": [{{\n  {layer}\n}}],\n"Bindings": ["x"\n]}}\n\nIt is fast.\n'
    )
    assert recognize(path).kind is FileKind.BUILD_LOG
    (found,) = read_log(path).layer_lists
    assert len(found.layers) == 1
    port = "[ { Name: x, Dimensions: [8], Format/Datatype: Half }]"
    line = (
        f"Name: conv, LayerType: gemm, Inputs: {port}, Outputs: {port}, TacticName: t, StreamId: 0, Metadata:"
    )
    path.write_text(f"It prints:\n    ```\n    {line}\n    {line}\n    ```\n")
    assert recognize(path).kind is FileKind.BUILD_LOG
    assert [len(one.layers) for one in read_log(path).layer_lists] == [2]
    path.write_text("[I] Average on 10 runs - GPU latency: 7.8 ms - Host latency: 9.4 ms\n")
    assert recognize(path).kind is FileKind.BUILD_LOG


def test_constants_of_myelin_are_no_inputs(tmp_path: Path) -> None:
    def tensor(name: str) -> str:
        return f"{{ Name: {name}, Dimensions: [8,4], Format/Datatype: Half }}"

    inputs = ", ".join(map(tensor, ("x", "__mye5_dconst", "bias _ ONNXTRT_Broadcast_6_constantHalf")))
    path = tmp_path / "net.log"
    path.write_text(
        f"{STAMP} [V] [TRT] Layers:\nName: g_myl0_1, LayerType: gemm, Inputs: [ {inputs}], Outputs: [ {tensor('y')}], "
        "TacticName: t, StreamId: 0, Metadata: \n"
    )
    engine = load_engine(path)
    assert engine.bindings["name"].tolist() == ["x", "y"]
    assert engine.layers["weights_bytes"].tolist() == [2 * 8 * 4 * 2]
