"""Bytes: of tensors, with and without padding, and of the constants of layers. All sizes by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import layer, tensor, write_graph
from trex_tui.old.engine import Layer, load_engine
from trex_tui.old.engine.build import build_tensor
from trex_tui.old.engine.dtypes import allocated_bytes, parse_data_type, parse_format
from trex_tui.old.engine.model import Tensor

KIB = 1024


def made(shape: tuple[int, ...], layout: str) -> Tensor:
    return build_tensor(tensor("t", *shape, dtype=layout))


@pytest.mark.parametrize(
    ("layout", "shape", "logical", "allocated"),
    [
        # 3 channels become 4, 8, 16; 30 become 32; 32 stay.
        ("Channel major FP16 format where channel % 4 == 0", (1, 3, 10, 10), 600, 800),
        ("Channel major FP16 format where channel % 8 == 0", (1, 3, 10, 10), 600, 1600),
        ("Channel major FP16 format where channel % 8 == 0", (2, 30, 5, 7), 4200, 4480),
        ("Channel major FP16 format where channel % 8 == 0", (2, 32, 5, 7), 4480, 4480),
        ("Channel major INT8 format where channel % 16 == 0", (1, 3, 10, 10), 300, 1600),
        ("Channel major FP16 format where channel % 2 == 0", (1, 5, 3, 3), 90, 108),
        ("Channel major FP32 format where channel % 4 == 0", (1, 5, 3, 3), 180, 288),
        ("Channel major BFloat16 format where channel % 8 == 0", (1, 9, 2, 2), 72, 128),
        ("Two wide channel vectorized row major FP16 format", (1, 3, 4, 4), 96, 128),
        ("Four wide channel vectorized row major Int8 format", (1, 3, 224, 224), 147 * KIB, 196 * KIB),
        ("Sixteen wide channel vectorized row major FP16 format", (1, 17, 2, 2), 136, 256),
        ("Thirty-two wide channel vectorized row major Int8 format", (1, 33, 3, 3), 297, 576),
        ("Thirty-two wide channel vectorized row major FP32 format", (2, 1, 1, 1), 8, 256),
        # Channels last alone pads nothing, nor does a linear layout.
        ("Channel major FP16 format", (1, 3, 10, 10), 600, 600),
        ("Row major linear FP32", (1, 3, 10, 10), 1200, 1200),
        # Three spatial dimensions.
        (
            "Thirty-two wide channel vectorized row major Int8 format with 3 spatial dimensions",
            (1, 3, 4, 5, 6),
            360,
            3840,
        ),
        (
            "Channel major FP16 format where channel % 8 == 0 with 3 spatial dimensions",
            (2, 9, 2, 3, 4),
            864,
            1536,
        ),
        # The vector dimension is the third from the end, and a format of 2 spatial dimensions may have more before it.
        ("Channel major FP16 format where channel % 8 == 0", (3, 10, 10), 600, 1600),
        ("Channel major FP16 format where channel % 8 == 0", (2, 2, 3, 5, 5), 600, 1600),
        ("Channel major FP16 format where channel % 8 == 0", (2, 1001), 4004, 4032),
        ("Channel major FP16 format where channel % 8 == 0", (1001,), 2002, 2002),
        ("Channel major FP16 format where channel % 8 == 0", (), 2, 2),
        # DLA: rows of 5 bytes take 64; of 70 take 128; of 10 halves (20 bytes) take 64.
        ("Row major INT8 format where column stride % 64 == 0", (1, 2, 3, 5), 30, 384),
        ("Row major INT8 format where column stride % 64 == 0", (1, 2, 3, 70), 420, 768),
        ("Row major FP16 format where column stride % 64 == 0", (1, 1, 4, 10), 80, 256),
        # Channels first padded to 4: rows of 10 · 4 bytes take 64, of 10 · 4 halves (80 bytes) take 96.
        ("Channel major INT8 format where channel == 4 and column stride % 32 == 0", (1, 3, 2, 10), 60, 128),
        ("Channel major FP16 format where channel == 4 and column stride % 32 == 0", (1, 3, 2, 10), 120, 192),
        # A row holds the channels of its columns: 3 · 7 = 21 bytes take 32, 1 · 10 halves take 32.
        ("Channel major INT8 format where column stride % 32 == 0", (1, 3, 2, 7), 42, 64),
        ("Channel major FP16 format where channel == 1 and column stride % 32 == 0", (1, 1, 3, 10), 60, 96),
        # Without columns the channels, padded to 4, are the row.
        ("Channel major FP16 format where channel == 4 and column stride % 32 == 0", (2, 1), 4, 64),
        # TensorRT 11 adds the enumerator.
        ("FP16 (kHWC8)", (1, 3, 10, 10), 600, 1600),
        ("Int8 (kCHW32)", (1, 3, 10, 10), 300, 3200),
        ("Int8 (kDLA_LINEAR)", (1, 2, 3, 5), 30, 384),
        ("Int8 (kDLA_HWC4)", (1, 3, 2, 10), 60, 128),
        # Less than a byte an element: packed, the last byte whole.
        ("Int4", (3, 5), 8, 8),
        ("FP4E2M1", (7,), 4, 4),
        ("Row major linear FP4 format (kLINEAR)", (2, 8), 8, 8),
        ("Bool", (3, 5), 15, 15),
        ("Row major linear BOOL", (3, 5), 15, 15),
        ("BFloat16", (3, 5), 30, 30),
        ("Row major linear FP8 format", (3, 5), 15, 15),
        ("Row major linear Int64 format", (3, 5), 120, 120),
        ("UInt8", (3, 5), 15, 15),
        ("Half", (4, 0), 0, 0),
    ],
)
def test_tensors(layout: str, shape: tuple[int, ...], logical: int, allocated: int) -> None:
    found = made(shape, layout)
    assert (found.logical_bytes, found.allocated_bytes) == (logical, allocated)


@pytest.mark.parametrize(
    ("layout", "shape"),
    [
        ("Channel major FP16 format where channel % 8 == 0", (1, -1, 3, 3)),
        ("Channel major FP16 format where channel % 8 == 0", (-1, 8, 3, 3)),
        ("Row major INT8 format where column stride % 64 == 0", (1, 2, 3, -1)),
        ("N/A due to dynamic shapes", (1, 2)),
        ("Unknown format", (1, 2)),
        ("Half", (2**40, 2**40)),
        ("Channel major FP16 format where channel % 8 == 0", (1, 2**40, 2**40)),
    ],
)
def test_what_has_no_size(layout: str, shape: tuple[int, ...]) -> None:
    found = made(shape, layout)
    assert (found.logical_bytes, found.allocated_bytes) == (None, None)


@pytest.mark.parametrize(
    "layout",
    [
        "FP16 (kCHW0)",
        "FP16 (kHWC0)",
        "Channel major FP16 format where channel % 0 == 0",
        "Channel major FP16 format where column stride % 0 == 0",
        f"Channel major FP16 format where channel % {'9' * 5000} == 0",
        f"FP16 (kHWC{'9' * 5000})",
        f"Row major FP16 format where column stride % {'9' * 5000} == 0",
    ],
)
def test_layouts_that_cannot_be(layout: str) -> None:
    assert made((1, 3, 2, 2), layout).allocated_bytes == 24


EXTENTS = st.lists(st.integers(0, 70), max_size=6).map(tuple)


@given(st.data(), EXTENTS)
def test_padding_only_adds(trex_formats: list[dict[str, Any]], data: Any, shape: tuple[int, ...]) -> None:
    text = data.draw(st.sampled_from([one["source"] for one in trex_formats]))
    dtype, layout = parse_data_type(text), parse_format(text)
    found = made(shape, text)
    if dtype is None:
        assert found.allocated_bytes is None
        return
    assert found.logical_bytes is not None
    assert found.allocated_bytes is not None
    assert found.logical_bytes <= found.allocated_bytes
    assert found.allocated_bytes == allocated_bytes(shape, dtype, layout)
    fits = len(shape) > layout.spatial_dims and shape[-layout.spatial_dims - 1] % layout.vector == 0
    if layout.row_bytes == 1 and fits:
        assert found.logical_bytes == found.allocated_bytes


def one_layer(folder: Path, raw: dict[str, Any], bindings: tuple[str, ...] = ("x", "y")) -> Layer:
    return load_engine(write_graph(folder / "net.graph.json", [raw], bindings)).layers[0]


class TestWeights:
    """Of what a layer lists, and of what stands among its inputs."""

    def test_of_a_convolution(self, tmp_path: Path) -> None:
        weights, bias = {"Type": "Half", "Count": 432}, {"Type": "Float", "Count": 16}
        found = one_layer(
            tmp_path,
            layer(
                "c",
                "CaskConvolution",
                [tensor("x", 1, 3, 8, 8, dtype="Channel major FP16 format where channel % 4 == 0")],
                [tensor("y", 1, 16, 8, 8)],
                ParameterType="Convolution",
                Weights=weights,
                Bias=bias,
            ),
        )
        assert found.weights_bytes == 2 * 432 + 4 * 16
        assert (found.constant_input_bytes, found.constant_inputs) == (0, frozenset())
        assert found.io_bytes == 2 * (3 * 64 + 16 * 64)
        assert found.io_allocated_bytes == 2 * (4 * 64 + 16 * 64)
        assert found.activation_bytes == found.io_bytes
        assert found.footprint_bytes == 2 * (3 * 64 + 16 * 64) + 928
        assert found.footprint_allocated_bytes == 2 * (4 * 64 + 16 * 64) + 928

    def test_prefixed_keys_of_fused_layers(self, tmp_path: Path) -> None:
        conv, bias = {"Type": "Int8", "Count": 9408}, {"Type": "Float", "Count": 64}
        raw = layer("f", "FusedConvActPool", [tensor("x", 1)], [tensor("y", 1)], ParameterType="ConvActPool")
        found = one_layer(tmp_path, raw | {"ConvWeights": conv, "ConvBias": bias})
        assert found.weights_bytes == 9408 + 256

    @pytest.mark.parametrize(
        ("text", "count", "size"),
        [
            ("BFloat16", 3, 6),
            ("FP8", 3, 3),
            ("Int4", 3, 2),
            ("FP4E2M1", 5, 3),
            ("Int64", 3, 24),
            ("Bool", 3, 3),
        ],
    )
    def test_types_that_trex_counts_as_nothing(
        self, tmp_path: Path, text: str, count: int, size: int
    ) -> None:
        raw = layer("c", outputs=[tensor("y", 1)], ParameterType="Convolution")
        found = one_layer(tmp_path, raw | {"Weights": {"Type": text, "Count": count}})
        assert found.weights_bytes == size

    @pytest.mark.parametrize("weights", [{"Type": "Odd", "Count": 3}, {"Type": "Half", "Count": -1}])
    def test_what_cannot_be_read_is_unknown(self, tmp_path: Path, weights: dict[str, Any]) -> None:
        raw = layer("c", inputs=[tensor("x", 1)], ParameterType="Convolution", Weights=weights)
        found = one_layer(tmp_path, raw)
        assert (found.weights_bytes, found.footprint_bytes) == (None, None)
        assert found.io_bytes == 2

    def test_constants_among_the_inputs_of_a_myelin_layer(self, tmp_path: Path) -> None:
        inputs = [tensor("x", 4, 64), tensor("__mye1_dconst", 64, 32), tensor("__mye2_dconst", 1, 32)]
        found = one_layer(tmp_path, layer("g", "gemm", inputs, [tensor("y", 4, 32)]))
        assert found.constant_inputs == {"__mye1_dconst", "__mye2_dconst"}
        assert found.weights_bytes == found.constant_input_bytes == 2 * (64 * 32 + 32)
        assert found.activation_bytes == 2 * (4 * 64 + 4 * 32)
        # Each byte once.
        assert found.footprint_bytes == found.io_bytes == 2 * (4 * 64 + 64 * 32 + 32 + 4 * 32)

    def test_a_constant_of_unknown_size(self, tmp_path: Path) -> None:
        found = one_layer(tmp_path, layer("g", "gemm", [tensor("x", 4, 64), tensor("w", 64, -1)]))
        assert (found.weights_bytes, found.footprint_bytes) == (None, None)

    def test_cache_management_is_no_constant(self, tmp_path: Path) -> None:
        inputs = [tensor("x", 4), tensor("l2_cache_policy_0", 1)]
        assert one_layer(tmp_path, layer("k", "kgen", inputs)).weights_bytes == 0

    @pytest.mark.parametrize(
        ("layer_type", "inputs"), [("gemm", 1), ("correlation", 1), ("Myelin", 2), ("DLA", 1), ("conv", 2)]
    )
    def test_hidden_ones_are_unknown(self, tmp_path: Path, layer_type: str, inputs: int) -> None:
        tensors = [tensor(name, 4, 64) for name in ("x", "y")[:inputs]]
        found = one_layer(tmp_path, layer("g", layer_type, tensors, [tensor("y", 4, 32)]))
        assert (found.weights_bytes, found.footprint_bytes) == (None, None)
        assert found.io_bytes is not None

    def test_layers_that_need_none_have_none(self, tmp_path: Path) -> None:
        for layer_type in ("kgen", "Reformat", "CudaSoftMax"):
            found = one_layer(tmp_path, layer("k", layer_type, [tensor("x", 4)], [tensor("y", 4)]))
            assert found.weights_bytes == 0

    def test_without_bindings_an_input_of_the_network_is_no_constant(self, tmp_path: Path) -> None:
        raw = layer(
            "c",
            inputs=[tensor("x", 1, 3, 8, 8)],
            outputs=[tensor("y", 1, 4, 8, 8)],
            ParameterType="Convolution",
            Weights={"Type": "Half", "Count": 108},
        )
        found = one_layer(tmp_path, raw, bindings=())
        assert (found.weights_bytes, found.constant_inputs) == (216, frozenset())

    def test_names_alone_tell_nothing(self, tmp_path: Path) -> None:
        engine = load_engine(write_graph(tmp_path / "net.graph.json", ["conv"]))
        found = engine.layers[0]
        assert (found.io_bytes, found.weights_bytes, found.footprint_bytes) == (None, None, None)
        assert (found.io_allocated_bytes, found.activation_bytes) == (None, None)
