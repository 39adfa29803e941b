"""Layers, tensors and bindings out of the objects of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers import layer, tensor
from test_engine_build import load
from trex_tui.old.engine.build import build_tensor, parse_onnx_nodes, parse_optimization_profile, parse_shape
from trex_tui.old.engine.dtypes import parse_data_type, parse_format
from trex_tui.old.engine.model import Device


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


def test_a_dla_layer(tmp_path: Path) -> None:
    (one,) = load(tmp_path, layer("{ForeignNode[conv1...relu5]}", "DLA")).layers
    assert (one.kind, one.device) == ("fused", Device.DLA)
