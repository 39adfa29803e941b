"""Columns: one description each, values by the attributes of the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import REPOSITORY, RealSet, layer, real_sets, tensor, write_graph
from trex_tui.analysis.columns import ALL_COLUMNS as COLUMNS
from trex_tui.api import full_frame, load_engine, select
from trex_tui.engine.model import Engine
from trex_tui.errors import TrexError
from trex_tui.frames import plain_values

SAMPLE = REPOSITORY / "sample_artifacts"


@pytest.fixture(scope="module")
def engine() -> Engine:
    return load_engine(SAMPLE / "alexnet")


@pytest.mark.parametrize("real", real_sets())
def test_every_column_of_every_real_engine(real: RealSet) -> None:
    frame = full_frame(load_engine(real.path("graph")))
    numbers = frame[[*COLUMNS]].select_dtypes("number")
    assert not (numbers < 0).to_numpy(na_value=False).any()
    assert {str(kind) for kind in frame.dtypes} <= {"Float64", "Int64", "boolean", "string", "object"}


CONVOLUTION = {
    "ParameterType": "Convolution",
    "Kernel": [3, 5],
    "Stride": [2, 2],
    "Groups": 4,
    "Activation": "RELU",
    "Weights": {"Type": "Half", "Count": 100},
    "Bias": {"Type": "Float", "Count": 64},
    "HasSparseWeights": 0,
}


def test_attributes_of_all_versions(tmp_path: Path) -> None:
    fused = {
        "ParameterType": "ConvActPool",
        "ConvKernel": [7, 7],
        "ConvWeights": {"Type": "Int8", "Count": 10},
        "ConvHasBias": 0,
        "PoolingWindowSize": [2, 2],
        "PoolingPoolingType": "MAX",
        "NbOperations": 3,
        "PointWiseExpressionOperations": [
            "auto const a = pwgen::iMul(x, y);",
            "auto b = pwgen::iPlus(a, z);",
        ],
    }
    other = {"Axes": 6, "Origin": "QDQ", "Kernel": "damaged", "Groups": -1, "Weights": 4}
    raw = [
        layer("a", "CaskConvolution", [tensor("x", 1, 8, 4, 4)], [tensor("y", 1, 64, 2, 2)], **CONVOLUTION),
        layer("b", "CaskConvolution", [tensor("y", 1, 64, 2, 2)], [tensor("z", 1, 4)], **fused),
        layer("c", "Reduce", [tensor("z", 1, 4)], [tensor("w", 1)], **other),
    ]
    frame = full_frame(load_engine(write_graph(tmp_path / "n.graph.json", raw, ["x", "w"])))
    expected = {
        "kernel": ["3x5", "7x7", None],
        "groups": [4, None, None],
        "has_bias": [True, False, None],
        "weights_type": ["FP16", "INT8", None],
        "has_sparse_weights": [False, None, None],
        "window_size": [None, "2x2", None],
        "axes": [None, None, "1, 2"],
        "operations": [None, ("iMul", "iPlus"), None],
        "origin": [None, None, "QDQ"],
        "weights_bytes": [100 * 2 + 64 * 4, 10, 0],
        "attr.Kernel": ["[3, 5]", None, "damaged"],
        "attr.Groups": [4, None, -1],
        "attr.Weights": ['{"Type": "Half", "Count": 100}', None, "4"],
    }
    assert {key: plain_values(frame[key]) for key in expected} == expected


def test_hostile_attributes(tmp_path: Path) -> None:
    raw = [layer("a", "kgen", **{"evil\x1b[31m": 10**400, "B": float("nan"), "C": [[["x"]]], "D": True})]
    engine = load_engine(write_graph(tmp_path / "n.graph.json", raw))
    frame = full_frame(engine)
    assert frame["attr.evil␛[31m"].tolist() == [str(10**400)]
    assert plain_values(frame["attr.C"]) == ['[[["x"]]]']
    assert str(frame["attr.D"].dtype) == "boolean"


def test_select(engine: Engine) -> None:
    frame = select(engine, "kind:gemm ms>0.1", ["index", "ms", "kernel"])
    assert list(frame.columns) == ["index", "latency_ms", "kernel"]
    assert frame.index.tolist() == frame["index"].tolist() == [11, 12]
    assert len(select(engine)) == len(engine)
    with pytest.raises(TrexError, match="no column 'latancy'; did you mean latency"):
        select(engine, columns=["latancy"])
