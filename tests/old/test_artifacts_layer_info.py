"""Layer information in every form that TensorRT 8.2 to 11 gives it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers import chain, layer, messages, tensor, write_graph, write_json
from trex_tui.old.artifacts.layer_info import read_layer_info
from trex_tui.old.engine import load_engine
from trex_tui.old.errors import ArtifactError, Severity


def test_detailed(tmp_path: Path) -> None:
    path = write_graph(tmp_path / "a.graph.json", chain("one", "two"), ["t0", "t2"])
    info = read_layer_info(path)
    assert [raw["Name"] for raw in info.layers] == ["one", "two"]
    assert info.bindings == ("t0", "t2")
    assert (info.names_only, info.diagnostics, info.extra) == (False, (), {})


def test_names_only(tmp_path: Path) -> None:
    path = write_graph(tmp_path / "a.graph.json", ["Conv_0 + Relu_1", "MaxPool_2"], ["in", "out"])
    info = read_layer_info(path)
    assert info.layers == ({"Name": "Conv_0 + Relu_1"}, {"Name": "MaxPool_2"})
    assert info.names_only
    (note,) = info.diagnostics
    assert note.severity is Severity.WARNING
    assert "--profilingVerbosity=detailed" in note.message
    engine = load_engine(path)
    assert [(one.kind.value, one.precision, one.weights_bytes) for one in engine.layers] == [
        ("convolution", None, None),
        ("pooling", None, None),
    ]
    assert [(one.name, one.is_input) for one in engine.bindings] == [("in", None), ("out", None)]
    assert engine.weights_bytes is None


def test_names_and_objects_mixed(tmp_path: Path) -> None:
    info = read_layer_info(write_graph(tmp_path / "a.json", ["just a name", *chain("one")]))
    assert [raw["Name"] for raw in info.layers] == ["just a name", "one"]
    assert not info.names_only


@pytest.mark.parametrize("bindings", [None, []])
def test_without_bindings(tmp_path: Path, bindings: list[Any] | None) -> None:
    path = write_graph(tmp_path / "a.graph.json", chain("one"), bindings)
    engine = load_engine(path)
    assert engine.bindings == ()
    assert len(engine.layers) == 1


def test_bindings_as_objects(tmp_path: Path) -> None:
    bindings = [tensor("t0", 1, 8), {"Name": "t1"}, {"name": "nobody"}, 7]
    info = read_layer_info(write_graph(tmp_path / "a.json", chain("one"), bindings))
    assert info.bindings == ("t0", "t1")
    assert messages(info.diagnostics) == ["2 entries have no name; skipped"]


def split(name: str, dims: list[int], datatype: str, layout: str) -> dict[str, Any]:
    """A tensor as documentation and NVIDIA's readers have it for TensorRT 11; no real file was at hand."""
    return {
        "Name": name,
        "Location": "Device",
        "Dimensions": dims,
        "Datatype": datatype,
        "Format": layout,
        "StrideOrder": [3, 0, 2, 1],
        "Strides": [401408, 1, 7168, 128],
    }


def io_tensor(name: str, mode: str, dims: list[int], dtype: str) -> dict[str, Any]:
    layout = "Row major linear FP32 format (kLINEAR)"
    shapes = {"MinShape": [1, 16], "OptShape": [2, 16], "MaxShape": [8, 16], "Format": layout}
    return {"Name": name, "IOMode": mode, "DataType": dtype, "Dimensions": dims, "ProfileInfo": [shapes]}


def test_tensorrt_11(tmp_path: Path) -> None:
    root = {
        "Layers": [
            layer(
                "conv",
                "CaskConvolution",
                [split("x", [1, 64, 56, 56], "FP8", "Channel major FP8 format where channel % 16 == 0")],
                [split("y", [1, 64, 56, 56], "BFloat16", "kLINEAR")],
                Constants=[],
            )
        ],
        "I/O Tensors": [
            io_tensor("x", "Input", [-1, 16], "Float"),
            io_tensor("y", "kOUTPUT", [8, 16], "Half"),
        ],
        "ProfilingVerbosity": "DETAILED",
        "Engine Metadata": {"Multi-Device": "Disabled"},
    }
    engine = load_engine(write_json(tmp_path / "a.graph.json", root))
    (conv,) = engine.layers
    (x,), (y,) = conv.inputs, conv.outputs
    assert (x.dtype, x.format.layout, x.format.vector, x.logical_bytes) == ("FP8", "NHWC16", 16, 64 * 56 * 56)
    assert (y.dtype, y.format.layout, y.logical_bytes) == ("BF16", "NCHW", 2 * 64 * 56 * 56)
    assert "Constants" not in conv.attributes
    described = [
        (one.name, one.is_input, one.shape, one.dtype, one.format and one.format.layout)
        for one in engine.bindings
    ]
    assert described == [("x", True, (-1, 16), "FP32", "NCHW"), ("y", False, (8, 16), "FP16", "NCHW")]
    assert engine.layer_info_extra == {
        "ProfilingVerbosity": "DETAILED",
        "Engine Metadata": {"Multi-Device": "Disabled"},
    }
    assert engine.diagnostics == ()


@pytest.mark.parametrize("mode", ["Input", "INPUT", "input", "kINPUT", "TensorIOMode.INPUT"])
def test_io_mode_in_any_spelling(tmp_path: Path, mode: str) -> None:
    root = {"Layers": chain("one"), "I/O Tensors": [io_tensor("t0", mode, [1], "Float")]}
    (binding,) = load_engine(write_json(tmp_path / "a.json", root)).bindings
    assert binding.is_input is True


@pytest.mark.parametrize("key", ["Format/Datatype", "Format/DataType", "Datatype", "DataType"])
def test_every_key_of_a_type(tmp_path: Path, key: str) -> None:
    raw = {"Name": "x", "Dimensions": [3], key: "Half"}
    engine = load_engine(write_graph(tmp_path / "a.json", [layer("one", "kgen", [raw], [])]))
    assert engine.layers[0].inputs[0].dtype == "FP16"


def test_tensor_without_any_type(tmp_path: Path) -> None:
    raw = {"Name": "x", "Dimensions": [3]}
    (one,) = load_engine(write_graph(tmp_path / "a.json", [layer("one", "kgen", [raw], [])])).layers
    assert (one.inputs[0].dtype, one.inputs[0].description, one.io_bytes) == (None, "unknown type", None)


def test_dynamic_shapes_are_missing_not_zero(tmp_path: Path) -> None:
    text = "N/A due to dynamic shapes"
    raw = layer("one", "kgen", [tensor("x", -1, 8, dtype=text)], [tensor("y", -1, 8)])
    (one,) = load_engine(write_graph(tmp_path / "a.json", [raw], ["x", "y"])).layers
    (x,), (y,) = one.inputs, one.outputs
    assert (x.shape, x.dtype, x.description, x.logical_bytes) == ((-1, 8), None, text, None)
    assert (y.dtype, y.logical_bytes, one.io_bytes, one.footprint_bytes) == ("FP16", None, None, None)


def test_bare_list(tmp_path: Path) -> None:
    engine = load_engine(write_json(tmp_path / "dump.json", chain("one", "two")))
    assert [one.name for one in engine.layers] == ["one", "two"]


@pytest.mark.parametrize(
    "separator", ["\\u001e", "\x1e", "\\u001f", "\x1f"], ids=["u001e", "raw 1e", "u001f", "raw 1f"]
)
def test_onnx_nodes(tmp_path: Path, separator: str) -> None:
    """TensorRT 8.6 EA writes the separators as they are, which strict JSON forbids; 10 escapes them."""
    metadata = separator.join(["[ONNX Layer: conv1]", "[ONNX Layer: relu[1]]", "[ONNX Layer: conv1]", "else"])
    text = json.dumps({"Layers": [layer("one", Metadata="@")]}).replace("@", metadata)
    path = tmp_path / "a.graph.json"
    path.write_text(text, encoding="utf-8")
    assert load_engine(path).layers[0].onnx_nodes == ("conv1", "relu[1]")


@pytest.mark.parametrize("form", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_encodings(tmp_path: Path, form: str, newline: str) -> None:
    text = json.dumps({"Layers": chain("köl", "層")}, indent=1, ensure_ascii=False).replace("\n", newline)
    path = tmp_path / "a.graph.json"
    path.write_bytes((("\ufeff" if form == "utf-16-be" else "") + text).encode(form))
    assert [one.name for one in load_engine(path).layers] == ["köl", "層"]


def test_bytes_that_are_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "a.graph.json"
    path.write_bytes(json.dumps({"Layers": chain("caf@")}).replace("@", "é").encode("latin-1"))
    assert load_engine(path).layers[0].name == "caf\ufffd"


def test_odd_entries_are_diagnosed(tmp_path: Path) -> None:
    raw = [5, None, {"LayerType": "kgen"}, {"Name": 7}, *chain("one")]
    info = read_layer_info(write_graph(tmp_path / "a.json", raw))
    assert [one["Name"] for one in info.layers] == [
        "(layer 2 without a name)",
        "(layer 3 without a name)",
        "one",
    ]
    assert [(note.where, note.message) for note in info.diagnostics] == [
        ("Layers[0]", "is a number, not a layer; skipped"),
        ("Layers[1]", "is null, not a layer; skipped"),
        ("Layers[2]", "has no Name; using its index"),
        ("Layers[3]", "has no Name; using its index"),
    ]


@pytest.mark.parametrize(
    ("text", "message", "where"),
    [
        ("", "is empty", ""),
        (" \n", "is empty", ""),
        (
            '{"Layers": [{"Name": "a", "Inp',
            "is truncated: the JSON ends in the middle (unterminated string)",
            "line 1 column 27",
        ),
        (
            '{"Layers": [{"Name": "a"}',
            "is truncated: the JSON ends in the middle (expecting ',' delimiter)",
            "line 1 column 26",
        ),
        ('{"Layers": [\n{]}, {"Name": "b"}]}', "is not valid JSON", "line 2 column 2"),
        ('{"Layers": {}}', 'is not layer information: no list "Layers"', ""),
        ("7", 'is not layer information: no list "Layers"', ""),
        ("[" * 200_000, "is nested too deeply", ""),
        ('{"Layers": [' + "9" * 5000 + "]}", "is not usable JSON", ""),
    ],
    ids=[
        "empty",
        "blank",
        "cut in a string",
        "cut after an object",
        "syntax",
        "object",
        "number",
        "deep",
        "long number",
    ],
)
def test_unusable_files(tmp_path: Path, text: str, message: str, where: str) -> None:
    path = tmp_path / "a.graph.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ArtifactError) as failure:
        read_layer_info(path)
    assert failure.value.diagnostic.message.startswith(message)
    assert (failure.value.diagnostic.file, failure.value.diagnostic.where) == (path, where)


class TestOptimizationProfiles:
    """TensorRT up to 9 repeats the layers once per profile, suffixed from the second on."""

    def write(self, folder: Path, *profiles: int, profiled: int | None = None) -> Path:
        suffixes = ["" if number == 0 else f" [profile {number}]" for number in profiles]
        layers = [
            layer(
                f"conv{suffix}",
                "kgen",
                [tensor(f"x{suffix}", number + 1)],
                [tensor(f"y{suffix}", number + 1)],
            )
            for number, suffix in zip(profiles, suffixes, strict=True)
        ]
        names = [f"{name}{suffix}" for suffix in suffixes for name in "xy"]
        path = write_graph(folder / "a.graph.json", layers, names)
        if profiled is not None:
            suffix = f" [profile {profiled}]" if profiled else ""
            (folder / "a.profile.json").write_text(
                json.dumps(
                    [
                        {"count": 5},
                        {"name": f"conv{suffix}", "timeMs": 5, "averageMs": 1.0, "percentage": 100},
                    ]
                )
            )
        return path

    def test_the_first_is_shown(self, tmp_path: Path) -> None:
        engine = load_engine(self.write(tmp_path, 0, 1, 12))
        assert (engine.optimization_profile, engine.optimization_profiles) == (0, 3)
        assert [one.name for one in engine.layers] == ["conv"]
        assert [(one.name, one.is_input, one.shape) for one in engine.bindings] == [
            ("x", True, (1,)),
            ("y", False, (1,)),
        ]
        assert "the engine has 3 optimization profiles; profile 0 is shown" in messages(engine.diagnostics)

    @pytest.mark.parametrize("number", [1, 12])
    def test_the_profiled_one_is_shown(self, tmp_path: Path, number: int) -> None:
        engine = load_engine(self.write(tmp_path, 0, 1, 12, profiled=number))
        assert engine.optimization_profile == number
        assert [(one.name, one.latency_ms) for one in engine.layers] == [(f"conv [profile {number}]", 1.0)]
        assert engine.layers[0].optimization_profile == number
        assert [one.name for one in engine.bindings] == [f"x [profile {number}]", f"y [profile {number}]"]

    def test_one_can_be_asked_for(self, tmp_path: Path) -> None:
        engine = load_engine(self.write(tmp_path, 0, 1, 12, profiled=1), optimization_profile=12)
        assert [one.name for one in engine.layers] == ["conv [profile 12]"]
        assert engine.latency_sum_ms is None

    def test_a_file_without_the_first(self, tmp_path: Path) -> None:
        engine = load_engine(self.write(tmp_path, 3))
        assert (engine.optimization_profile, engine.optimization_profiles, len(engine.layers)) == (3, 1, 1)

    def test_one_that_is_not_there(self, tmp_path: Path) -> None:
        from trex_tui.old.errors import TrexError

        with pytest.raises(
            TrexError, match=r"^optimization profile 2 does not exist; the engine has 0, 1, 12$"
        ):
            load_engine(self.write(tmp_path, 0, 1, 12), optimization_profile=2)
