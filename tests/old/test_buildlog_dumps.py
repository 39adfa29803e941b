"""Lists of layers in a log, with what other streams and programs write between their lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers import ARTIFACTS, some
from trex_tui.old.buildlog import BuildTrace, read_build_log
from trex_tui.old.buildlog.build_trace import DumpForm
from trex_tui.old.buildlog.layer_dump import layer_of_inspector
from trex_tui.old.buildlog.reader import read_outline
from trex_tui.old.engine import load_engine

LOGS = ARTIFACTS / "logs"
LISTS = ("Engine Layer Information:", "[I] Layers:")
REAL = sorted(LOGS.glob("*.log")) if LOGS.is_dir() else []
NAMES = [path.name for path in REAL if any(head in path.read_text(encoding="utf-8") for head in LISTS)]
BETWEEN = (
    "[07/07/2026-02:11:38] [W] [TRT] something is odd",
    "[07/07/2026-02:11:38] [I] another thread",
    "libEGL warning: DRI3: failed to query the version",
)
ELEVEN = """\
&&&& RUNNING TensorRT.trtexec [TensorRT v110100] [b106] # trtexec --loadEngine=m.trt --dumpLayerInfo
[06/15/2026-05:43:26] [I] Layers:
Name: conv1 + relu1, LayerType: CaskConvolution, Inputs: [ { Name: x, Location: Device, Dimensions: [1,3,8,8], \
Datatype: Half, Format: Row major linear FP16 format (kLINEAR) }], Outputs: [ { Name: a, Location: Device, \
Dimensions: [1,64,4,4], Datatype: Half, Format: Channel major FP16 format where channel % 8 == 0 (kHWC8), \
StrideOrder: [3,0,2,1], Strides: [1024,1,256,64] }], ParameterType: Convolution, TacticValue: 0x0000000000000001, \
StreamId: 0, Metadata: [ONNX Layer: conv1]

I/O Tensors:
Name: x, IOMode: Input, DataType: Half
Name: a, IOMode: Output, DataType: Half
&&&& PASSED TensorRT.trtexec [TensorRT v110100] [b106] # trtexec --loadEngine=m.trt --dumpLayerInfo
"""


def read(path: Path, lines: list[str]) -> BuildTrace:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_build_log(path)


@pytest.mark.skipif(not NAMES, reason="the real logs are not beside the project")
@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("name", NAMES)
def test_what_stands_between_two_layers_costs_none(tmp_path: Path, name: str, between: str) -> None:
    lines = (LOGS / name).read_text(encoding="utf-8").split("\n")  # metadata holds U+001E
    dumps = read_build_log(LOGS / name).dumps
    assert dumps
    for dump in dumps:
        if dump.form is DumpForm.NAMES and not between.startswith("["):
            continue  # a bare name may be any text
        first, last = dump.layers[0].line, dump.layers[-1].line
        for place in some(range(first, last), 3):
            trace = read(tmp_path / "a.log", [*lines[:place], between, *lines[place:]])
            found = next(one for one in trace.dumps if one.form is dump.form)
            assert [one.raw for one in found.layers] == [one.raw for one in dump.layers]
            assert found.bindings == dump.bindings


def test_another_engine_s_list_replaces_the_one_before(tmp_path: Path) -> None:
    def dump(*names: str) -> list[str]:
        layers = [
            f"Layer(A): {name}, Tactic: 0x0000000000000001, a (Half[1]) -> b (Half[1])" for name in names
        ]
        return ["[07/07/2026-02:11:38] [V] [TRT] Engine Layer Information:", *layers, BETWEEN[0], BETWEEN[1]]

    trace = read(tmp_path / "a.log", [*dump("one", "two"), *dump("three")])
    assert [[one.name for one in each.layers] for each in trace.dumps] == [["three"]]


def test_types_of_tensorrt_11(tmp_path: Path) -> None:
    (tmp_path / "m.engine.build.log").write_text(ELEVEN, encoding="utf-8")
    (layer,) = load_engine(tmp_path / "m.engine.build.log").layers
    assert [one.description for one in (*layer.inputs, *layer.outputs)] == ["FP16 NCHW", "FP16 NHWC8"]
    assert read_build_log(tmp_path / "m.engine.build.log").dumps[0].bindings == ("x", "a")


def test_attributes_of_the_one_line_form() -> None:
    layer = layer_of_inspector(
        1,
        "Name: s, LayerType: Slice, Inputs: [], Outputs: [ { Name: y, Dimensions: [], Format/Datatype: Half }], Size: [1,2], "
        "Mode: kSTRICT_BOUNDS, negativeInfinityPadding: 0, TacticName: , StreamId: 0, Metadata:",
    )
    assert layer is not None
    assert {key: layer.raw[key] for key in list(layer.raw)[4:]} == {
        "Size": [1, 2],
        "Mode": "kSTRICT_BOUNDS",
        "negativeInfinityPadding": 0,
        "TacticName": "",
        "StreamId": 0,
        "Metadata": "",
    }


# What a program in Python prints between the messages of its logger.
PYTHON_HEAD = (
    "[07/07/2026-02:11:30] [TRT] [I] Loaded engine size: 6 MiB",
    "[07/07/2026-02:11:31] [TRT] [W] Using an engine plan file across different models of devices is not supported.",
)
PYTHON_TAIL = ("", "[07/07/2026-02:11:38] [TRT] [I] done", "bye")
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


@pytest.mark.parametrize(
    "printed",
    [
        ("Layers:", *ONE_LINE, "", "Bindings:", "x", "y"),
        JSON_OF_TENSORRT,
        tuple(json.dumps(ROOT, indent=2).splitlines()),
        (json.dumps(ROOT),),
        (json.dumps({"Layers": LAYERS, "I/O Tensors": [{"Name": "x"}, {"Name": "y"}]}, indent=1),),
    ],
    ids=["one line each", "JSON", "indented", "JSON in a line", "TensorRT 11"],
)
@pytest.mark.parametrize("reader", [read_build_log, read_outline])
def test_a_program_prints_what_the_inspector_returns(
    tmp_path: Path, printed: tuple[str, ...], reader: Callable[[Path], BuildTrace]
) -> None:
    path = tmp_path / "m.log"
    path.write_text("\n".join((*PYTHON_HEAD, *printed, *PYTHON_TAIL)) + "\n", encoding="utf-8")
    trace = reader(path)
    (dump,) = trace.dumps
    assert (dump.form, dump.bindings) == (DumpForm.INSPECTOR, ("x", "y"))
    assert [layer.raw for layer in dump.layers] == list(LAYERS)
    (warning,) = [message for message in trace.messages if message.severity == "W"]
    assert warning.text.endswith("is not supported.")
    assert [layer.name for layer in load_engine(path).layers] == ["conv1", "pool"]


def test_single_layers_of_the_inspector(tmp_path: Path) -> None:
    (dump,) = read(tmp_path / "m.log", [*PYTHON_HEAD, *ONE_LINE, *PYTHON_TAIL]).dumps
    assert [layer.raw for layer in dump.layers] == list(LAYERS)


@pytest.mark.parametrize(
    "printed",
    [
        ("Layers:", "conv1", "pool", "", "Bindings:", "x", "y"),
        ('{"Layers": ["conv1"', ',"pool"', "],", '"Bindings": ["x"', ',"y"', "]}"),
    ],
)
def test_names_of_the_inspector(tmp_path: Path, printed: tuple[str, ...]) -> None:
    (dump,) = read(tmp_path / "m.log", [*PYTHON_HEAD, *printed, *PYTHON_TAIL]).dumps
    assert (dump.form, dump.bindings) == (DumpForm.NAMES, ("x", "y"))
    assert [layer.name for layer in dump.layers] == ["conv1", "pool"]


@pytest.mark.parametrize(
    "printed",
    [
        ("Layers:", "12 of them", ""),
        ("{", '"Layers": 12', "}"),
        ('{"Layers": [{"LayerType": "A"}], "Bindings": []}',),
        ('{"Layers": [{"Name": "conv1"}',),
        ('{"Layers": ["conv"1"], "Bindings": []}',),
    ],
    ids=["names of anything", "no list", "no names", "cut off", "quotes"],
)
def test_what_is_no_list_of_layers(tmp_path: Path, printed: tuple[str, ...]) -> None:
    assert read(tmp_path / "m.log", [*PYTHON_HEAD, *printed, *PYTHON_TAIL]).dumps == ()
