"""Layers, tensors and bindings out of the objects of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers import chain, layer, messages, tensor, timing_row, write_graph, write_json, write_profile
from trex_tui import DataType, Engine, load_engine
from trex_tui.old.engine.build import build_tensor, parse_onnx_nodes, parse_optimization_profile, parse_shape
from trex_tui.old.engine.dtypes import parse_data_type, parse_format
from trex_tui.old.engine.model import Device


def load(folder: Path, *layers: dict[str, Any], bindings: tuple[str, ...] = ()) -> Engine:
    return load_engine(write_graph(folder / "a.graph.json", layers, bindings))


@pytest.mark.parametrize(
    ("text", "dtype", "layout", "vector"),
    [
        ("Row major linear FP32", "FP32", "NCHW", 1),
        ("Row major linear FP16 format.", "FP16", "NCHW", 1),
        ("Row major linear FP8 format (kLINEAR)", "FP8", "NCHW", 1),
        ("Channel major FP16 format where channel % 8 == 0", "FP16", "NHWC8", 8),
        ("Channel major FP16 format where channel % 16 == 0 (kHWC16)", "FP16", "NHWC16", 16),
        ("Thirty-two wide channel vectorized row major Int8 format", "INT8", "NC/32HW32", 32),
        ("Two wide channel vectorized row major FP16 format (kCHW2)", "FP16", "NC/2HW2", 2),
        ("Channel major FP16 format where channel % 8 == 0 with 3 spatial dimensions", "FP16", "NDHWC8", 8),
        ("Half", "FP16", None, 1),
        ("BFloat16", "BF16", None, 1),
        ("Int4", "INT4", None, 1),
        ("FP4E2M1", "FP4", None, 1),
        ("Int64", "INT64", None, 1),
        ("kCHW32", None, "NC/32HW32", 32),
        ("kDHWC8", None, "NDHWC8", 8),
        ("kDLA_HWC4", None, "NHWC4", 4),
        ("Half, 8 elements of the channel in a vector", "FP16", None, 8),
        ("8 elements of the channel in a vector", None, None, 8),
        ("N/A due to dynamic shapes", None, None, 1),
        ("Unknown format", None, None, 1),
        ("", None, None, 1),
    ],
)
def test_formats(text: str, dtype: str | None, layout: str | None, vector: int) -> None:
    found = parse_format(text)
    assert parse_data_type(text) == dtype
    assert (found.text, found.layout, found.vector) == (text, layout, vector)


def test_every_type_has_a_size() -> None:
    assert {one.value: one.bits for one in DataType if one.bits != 32} == {
        "FP64": 64, "FP16": 16, "BF16": 16, "FP8": 8, "FP4": 4, "E8M0": 8, "INT64": 64, "INT16": 16, "INT8": 8,
        "INT4": 4, "UINT64": 64, "UINT16": 16, "UINT8": 8, "BOOL": 8,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "dtype", "expected"),
    [
        ([2, 3], "Float", 24),
        ([], "Half", 2),
        ([3], "Int4", 2),
        ([3, 3], "FP4E2M1", 5),
        ([0, 5], "Half", 0),
        ([7], "Bool", 7),
        ([-1, 5], "Half", None),
        ([5], "Unknown format", None),
        ([10**9, 10**9], "Half", None),
    ],
)
def test_logical_bytes(shape: list[int], dtype: str, expected: int | None) -> None:
    assert build_tensor(tensor("x", *shape, dtype=dtype)).logical_bytes == expected


@pytest.mark.parametrize(
    ("raw", "shape"),
    [
        ([1, 2], (1, 2)),
        ([], ()),
        (None, (-1,)),
        ("1x2", (-1,)),
        ([1, -1, "N", True, 2.5], (1, -1, -1, -1, -1)),
    ],
)
def test_shapes(raw: Any, shape: tuple[int, ...]) -> None:
    assert parse_shape(raw) == shape


@pytest.mark.parametrize(
    ("name", "profile"),
    [
        ("conv", 0),
        ("conv [profile 1]", 1),
        ("conv [profile 12]", 12),
        ("conv [profile  3]", 3),
        ("a [profile x]", 0),
    ],
)
def test_optimization_profile_of_a_name(name: str, profile: int) -> None:
    assert parse_optimization_profile(name) == profile


@pytest.mark.parametrize(
    ("metadata", "nodes"),
    [
        ("[ONNX Layer: a]", ("a",)),
        ("[ONNX Layer: a]\x1e[ONNX Layer: b]\x1f[ONNX Layer: a]", ("a", "b")),
        ("[TRT: something]\x1e[ONNX Layer: b]", ("b",)),
        ("", ()),
        (None, ()),
        (7, ()),
    ],
)
def test_onnx_nodes(metadata: Any, nodes: tuple[str, ...]) -> None:
    assert parse_onnx_nodes(metadata) == nodes


def test_a_native_layer(tmp_path: Path) -> None:
    raw = layer(
        "conv + relu",
        "CaskConvolution",
        [tensor("x", 1, 3, 8, 8, dtype="Channel major FP16 format where channel % 4 == 0")],
        [tensor("y", 1, 16, 8, 8, dtype="Row major linear FP32")],
        ParameterType="Convolution",
        Weights={"Type": "Half", "Count": 432},
        Bias={"Type": "Float", "Count": 16},
        TacticName="sm80_xmma",
        TacticValue="0x280b0ad3c23d8442",
        StreamId=2,
        Stride=[1, 1],
        Metadata="[ONNX Layer: conv]",
    )
    (one,) = load(tmp_path, raw, bindings=("x", "y")).layers
    assert (one.kind, one.layer_type, one.parameter_type) == ("convolution", "CaskConvolution", "Convolution")
    assert (one.precision, one.output_precision, one.device, one.stream) == ("FP16", "FP32", Device.GPU, 2)
    assert (one.tactic, one.tactic_value, one.onnx_nodes) == ("sm80_xmma", "0x280b0ad3c23d8442", ("conv",))
    assert one.io_bytes == 3 * 64 * 2 + 16 * 64 * 4
    assert one.weights_bytes == 432 * 2 + 16 * 4
    assert one.footprint_bytes == one.io_bytes + one.weights_bytes
    assert (one.inputs[0].description, one.inputs[0].location) == ("FP16 NHWC4", "Device")
    assert one.attributes == {
        "Weights": {"Type": "Half", "Count": 432},
        "Bias": {"Type": "Float", "Count": 16},
        "Stride": [1, 1],
        "Metadata": "[ONNX Layer: conv]",
    }


def test_constants_that_tensorrt_11_lists_apart_are_weights(tmp_path: Path) -> None:
    """TensorRT 10 lists them among the inputs: both give the same layer."""
    weight, x, y = tensor("w", 64, 32), tensor("x", 8, 64), tensor("y", 8, 32)
    apart = load(tmp_path / "11", layer("gemm", "gemm", [x], [y], Constants=[weight]), bindings=("x", "y"))
    among = load(tmp_path / "10", layer("gemm", "gemm", [x, weight], [y]), bindings=("x", "y"))
    assert apart.layers == among.layers
    assert apart.weights_bytes == 64 * 32 * 2
    assert apart.layers[0].constant_inputs == {"w"}


def test_a_myelin_layer_reads_its_weights(tmp_path: Path) -> None:
    """Inputs that nobody writes and no binding names are constants: they count among the inputs and as weights, once."""
    inputs = [tensor("x", 1, 8), tensor("weights", 8, 4), tensor("l2_cache_policy_inputs_0", 1)]
    (one,) = load(tmp_path, layer("gemm", "gemm", inputs, [tensor("y", 1, 4)]), bindings=("x", "y")).layers
    assert (one.kind, one.weights_bytes, one.constant_input_bytes) == ("gemm", 64, 64)
    assert one.io_bytes == 16 + 64 + 2 + 8
    assert one.footprint_bytes == one.io_bytes


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (layer("x", "Reformat", [tensor("x", 8)], [tensor("y", 8)], ParameterType="Reformat"), 0),
        (
            layer(
                "c", "CaskConvolution", ParameterType="Convolution", ConvWeights={"Type": "Int8", "Count": 9}
            ),
            9,
        ),
        (layer("c", "CaskConvolution", ParameterType="Convolution", Weights={"Type": "Int4", "Count": 9}), 5),
        (layer("c", "CaskConvolution", ParameterType="Convolution", Weights={"Type": "?", "Count": 9}), None),
        (
            layer("c", "CaskConvolution", ParameterType="Convolution", Weights={"Type": "Half", "Count": -1}),
            None,
        ),
        (
            layer(
                "c", "CaskConvolution", ParameterType="Convolution", Weights={"Type": "Half", "Count": 10**30}
            ),
            None,
        ),
        (layer("c", "CaskConvolution", ParameterType="Convolution", Bias={"Type": "Half", "Count": 0}), 0),
        (layer("{ForeignNode[a...b]}", "Myelin", [tensor("x", 8)]), None),
        (layer("g", "gemm", [tensor("x", 8)]), None),
        (layer("c", "conv", [tensor("x", 8)]), None),
    ],
)
def test_weights(tmp_path: Path, raw: dict[str, Any], expected: int | None) -> None:
    engine = load(tmp_path, raw, bindings=("x",))
    assert engine.layers[0].weights_bytes == expected
    assert (engine.weights_bytes, engine.known_weights_bytes) == (expected, expected or 0)
    assert engine.layers_hiding_weights == (expected is None)


@pytest.mark.parametrize(
    ("inputs", "outputs", "precision"),
    [
        (["Int32", "Half"], ["Float"], "FP16"),
        (["Bool"], ["Float"], "FP32"),
        (["Int8"], ["Float"], "INT8"),
        (["Int64"], ["Int32"], "INT64"),
        (["Unknown format"], [], None),
        ([], [], None),
    ],
)
def test_precision(tmp_path: Path, inputs: list[str], outputs: list[str], precision: str | None) -> None:
    """Indices and masks do not decide in what a layer computes."""
    raw = layer(
        "one",
        "kgen",
        [tensor(f"i{place}", 1, dtype=one) for place, one in enumerate(inputs)],
        [tensor(f"o{place}", 1, dtype=one) for place, one in enumerate(outputs)],
    )
    assert load(tmp_path, raw).layers[0].precision == precision


def test_layers_without_tensors(tmp_path: Path) -> None:
    (one,) = load(tmp_path, {"Name": "bare", "LayerType": "NoOp"}).layers
    assert (one.inputs, one.outputs, one.precision, one.output_precision, one.io_bytes) == (
        (),
        (),
        None,
        None,
        0,
    )


@pytest.mark.parametrize("stream", ["0", 1.5, True, -1, 2**70, None])
def test_streams_that_are_none(tmp_path: Path, stream: Any) -> None:
    engine = load(tmp_path, layer("one", StreamId=stream))
    assert engine.layers[0].stream is None
    assert engine.frame["stream"].isna().all()


def test_a_dla_layer(tmp_path: Path) -> None:
    (one,) = load(tmp_path, layer("{ForeignNode[conv1...relu5]}", "DLA")).layers
    assert (one.kind, one.device) == ("fused", Device.DLA)


class TestBindings:
    def test_an_input_is_read_before_it_is_written(self, tmp_path: Path) -> None:
        engine = load(tmp_path, *chain("one", "two"), bindings=("t2", "t0", "nowhere"))
        assert [(one.name, one.is_input, one.shape, one.dtype) for one in engine.bindings] == [
            ("t2", False, (1, 8), "FP16"),
            ("t0", True, (1, 8), "FP16"),
            ("nowhere", None, None, None),
        ]

    def test_a_cache_updated_in_place_is_both(self, tmp_path: Path) -> None:
        raw = layer("step", "kgen", [tensor("cache", 4)], [tensor("cache", 4)])
        engine = load(tmp_path, raw, bindings=("cache",))
        assert [(one.name, one.is_input) for one in engine.bindings] == [("cache", True), ("cache", False)]

    def test_an_output_that_is_read_later_is_an_output(self, tmp_path: Path) -> None:
        engine = load(tmp_path, *chain("one", "two"), bindings=("t1",))
        assert [(one.name, one.is_input) for one in engine.bindings] == [("t1", False)]


class TestEngine:
    def test_percentages_are_of_the_known_times(self, tmp_path: Path) -> None:
        write_profile(tmp_path / "a.profile.json", [("one", 3.0), ("three", 1.0)])
        engine = load(tmp_path, *chain("one", "two", "three"))
        assert engine.latency_sum_ms == 4.0
        assert [engine.latency_pct(one) for one in engine.layers] == [75.0, None, 25.0]
        assert messages(engine.diagnostics) == ["has no row for 1 of 3 layers (the first: 'two')"]

    def test_no_time_at_all_has_no_percentage(self, tmp_path: Path) -> None:
        write_profile(tmp_path / "a.profile.json", [("one", 0.0)])
        engine = load(tmp_path, *chain("one"))
        assert (engine.latency_sum_ms, engine.latency_pct(engine.layers[0])) == (0.0, None)

    def test_profile_alone(self, tmp_path: Path) -> None:
        engine = load_engine(
            write_profile(tmp_path / "a.profile.json", [("/a/Conv", 3.0), ("/a/Conv", 1.0)], count=7)
        )
        assert not engine.has_graph
        assert [(one.kind, one.occurrence, one.latency_ms) for one in engine.layers] == [
            ("convolution", 0, 3.0),
            ("convolution", 1, 1.0),
        ]
        assert (engine.profile_iterations, engine.precision, engine.weights_bytes) == (7, None, None)
        assert (engine.known_weights_bytes, engine.links, engine.bindings) == (None, (), ())

    def test_timing_alone(self, tmp_path: Path) -> None:
        engine = load_engine(write_json(tmp_path / "a.timing.json", [timing_row(300.0, 1.0)]))
        assert (engine.has_graph, engine.has_profile, engine.layers) == (False, False, ())
        assert engine.timing is not None
        assert len(engine.frame) == 0

    def test_precision_is_that_of_the_main_work(self, tmp_path: Path) -> None:
        layers = [
            layer("reformat", "Reformat", [tensor("a", 8, dtype="Float")]),
            layer("conv", "CaskConvolution", [tensor("b", 8, dtype="Int8")]),
            layer("gemm", "gemm", [tensor("c", 8)]),
        ]
        write_profile(tmp_path / "a.profile.json", [("reformat", 9.0), ("conv", 1.0), ("gemm", 2.0)])
        assert load(tmp_path, *layers).precision == "FP16"

    def test_an_engine_without_layers(self, tmp_path: Path) -> None:
        engine = load(tmp_path)
        assert (engine.layers, engine.latency_sum_ms, engine.precision, engine.weights_bytes) == (
            (),
            None,
            None,
            0,
        )
        assert len(engine.frame) == 0
        assert engine.graph.number_of_nodes() == 0

    def test_names_with_lone_surrogates_have_a_frame(self, tmp_path: Path) -> None:
        engine = load(tmp_path, *chain("\ud800bad", "nul\0"))
        assert engine.frame["name"].tolist() == ["\ud800bad", "nul\0"]

    def test_repr(self, tmp_path: Path) -> None:
        assert repr(load(tmp_path, *chain("one"))) == "<Engine 'a': 1 layers, device not stated>"
