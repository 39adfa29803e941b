"""Layers, tensors and bindings out of the objects of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers import chain, layer, messages, tensor, timing_row, write_graph, write_json, write_profile
from trex_tui import DataType, Engine, load_engine


def load(folder: Path, *layers: dict[str, Any], bindings: tuple[str, ...] = ()) -> Engine:
    return load_engine(write_graph(folder / "a.graph.json", layers, bindings))


def test_every_type_has_a_size() -> None:
    assert {one.value: one.bits for one in DataType if one.bits != 32} == {
        "FP64": 64, "FP16": 16, "BF16": 16, "FP8": 8, "FP4": 4, "E8M0": 8, "INT64": 64, "INT16": 16, "INT8": 8,
        "INT4": 4, "UINT64": 64, "UINT16": 16, "UINT8": 8, "BOOL": 8,
    }  # fmt: skip


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
