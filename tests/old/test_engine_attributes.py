"""Attributes of layers as columns: the short ones under every spelling of the files, and those as the file has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers import layer, real_sets, tensor, write_graph
from trex_tui import load_engine
from trex_tui.old.analysis.columns import columns_named, engine_columns, find_column, full_frame
from trex_tui.old.analysis.filter import filter_layers
from trex_tui.old.analysis.filter.parser import column_text
from trex_tui.old.artifacts import find
from trex_tui.old.artifacts.records import read
from trex_tui.old.engine.columns import ATTRIBUTE_COLUMNS
from trex_tui.old.engine.engine import Engine
from trex_tui.old.errors import TrexError
from trex_tui.old.report.export import ExportFormat, layers_as


def make_engine(folder: Path, *attributes: dict[str, Any]) -> Engine:
    data = [tensor("x", 1, 8, 4, 4)]
    raw = [layer(f"l{index}", "Any", data, data, **each) for index, each in enumerate(attributes)]
    return load_engine(write_graph(folder / "net.graph.json", raw))


def read_cells(engine: Engine, index: int = 0) -> dict[str, Any]:
    """The attributes that a layer has."""
    cells = {column.name: column.value(engine, engine.layers[index]) for column in ATTRIBUTE_COLUMNS}
    return {name: cell for name, cell in cells.items() if cell is not None}


CONVOLUTION = {
    "Kernel": [3, 5],
    "Stride": [2, 1],
    "PrePadding": [1, 0],
    "PostPadding": [0, 1],
    "PaddingMode": "kEXPLICIT_ROUND_DOWN",
    "Dilation": [1, 1],
    "Groups": 8,
    "OutMaps": 16,
    "Weights": {"Type": "Half", "Count": 240},
    "Bias": {"Type": "Float", "Count": 16},
    "HasSparseWeights": 1,
    "Activation": "RELU",
}
CELLS = {
    "kernel": "3x5",
    "stride": "2x1",
    "pre_padding": "1x0",
    "post_padding": "0x1",
    "padding_mode": "kEXPLICIT_ROUND_DOWN",
    "dilation": "1x1",
    "groups": 8,
    "out_maps": 16,
    "activation": "RELU",
    "has_bias": True,
    "has_relu": True,
    "weights_count": 240,
    "weights_type": "FP16",
    "has_sparse_weights": True,
    "bias_count": 16,
    "bias_type": "FP32",
}
CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("convolution", CONVOLUTION, CELLS),
    ("fused convolution", {f"Conv{key}": value for key, value in CONVOLUTION.items()}, CELLS),
    ("stated flags", {"Kernel": [1, 1], "HasBias": 0, "HasReLU": 1, "Activation": "NONE"}, {
        "kernel": "1x1", "has_bias": False, "has_relu": True, "activation": "NONE",
    }),
    ("no flags", {"Kernel": [1, 1], "Bias": {"Type": "Half", "Count": 0}, "Activation": "CLIPPED_RELU"}, {
        "kernel": "1x1", "has_bias": False, "has_relu": False, "activation": "CLIPPED_RELU",
        "bias_count": 0, "bias_type": "FP16",
    }),
    ("an activation alone is no convolution", {"Activation": "RELU"}, {"activation": "RELU"}),
    ("pooling", {"PoolingType": "MAX", "WindowSize": [3, 3]}, {"pooling_type": "MAX", "window_size": "3x3"}),
    ("fused pooling", {"PoolingPoolingType": "AVERAGE", "PoolingWindowSize": [7, 7]}, {
        "pooling_type": "AVERAGE", "window_size": "7x7",
    }),
    ("axes as a mask", {"Axes": 0b1100}, {"axes": "2, 3"}),
    ("axes as a list", {"ReduceAxes": [1]}, {"axes": "1"}),
    ("pointwise", {
        "NbOperations": 2,
        "Operations": ["auto const var0 = pwgen::iMul(literal4, arg0);", "auto const var1 = pwgen::iTanh(var0);"],
    }, {"operations": ("iMul", "iTanh"), "n_operations": 2}),
    ("fused pointwise", {"PointWiseExpressionOperations": ["auto const var0 = pwgen::iSin(arg0);", "?"]}, {
        "operations": ("iSin", "?"), "n_operations": 2,
    }),
    ("early pointwise", {"NbInstructions": 3}, {"n_operations": 3}),
    ("reformat", {"Origin": "QDQ"}, {"origin": "QDQ"}),
    ("constant", {"weights": {"Type": "Int32", "Count": 1}}, {"weights_count": 1, "weights_type": "INT32"}),
    ("other types", {
        "Kernel": "3x3", "Stride": [1, -1], "Dilation": [], "Groups": "1", "OutMaps": True, "HasBias": 2,
        "Weights": 5, "Bias": {"Type": "?", "Count": -1}, "Operations": "x", "Axes": 0, "Origin": "",
        "Activation": None, "PrePadding": [True],
    }, {}),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "cells"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_short_columns(tmp_path: Path, raw: dict[str, Any], cells: dict[str, Any]) -> None:
    assert read_cells(make_engine(tmp_path, raw)) == cells


def test_raw_columns_have_the_type_of_their_values(tmp_path: Path) -> None:
    engine = make_engine(
        tmp_path,
        {
            "Int": 1,
            "Real": 1,
            "Flag": True,
            "Text": "a",
            "List": [4, 4],
            "Mixed": 1,
            "Huge": 2**70,
            "None": None,
        },
        {"Int": -2, "Real": 0.5, "Flag": False, "Dict": {"Type": "Half"}, "Mixed": "b", "My Key": "c"},
    )
    frame = full_frame(engine)
    raw = {column.name: column.dtype for column in engine_columns(engine) if column.name.startswith("attr.")}
    assert raw == {
        "attr.Int": "Int64",
        "attr.Real": "float64",
        "attr.Flag": "boolean",
        "attr.Text": "string",
        "attr.List": "string",
        "attr.Mixed": "string",
        "attr.Huge": "string",
        "attr.Dict": "string",
        "attr.My Key": "string",
    }
    cells = {
        name: [None if bad else cell for cell, bad in zip(frame[name], frame[name].isna(), strict=True)]
        for name in raw
    }
    assert cells == {
        "attr.Int": [1, -2],
        "attr.Real": [1.0, 0.5],
        "attr.Flag": [True, False],
        "attr.Text": ["a", None],
        "attr.List": ["[4, 4]", None],
        "attr.Mixed": ["1", "b"],
        "attr.Huge": [str(2**70), None],
        "attr.Dict": [None, '{"Type": "Half"}'],
        "attr.My Key": [None, "c"],
    }
    assert [column.name for column in columns_named(["name", "attr.*"], engine)] == ["name", *raw]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("attr.OutMaps", "attr.OutMaps"),
        ("ATTR.outmaps", "attr.OutMaps"),
        ("attr.out_maps", "attr.OutMaps"),
        ("attr.weights", "attr.weights"),
        ("attr.Weights", "attr.Weights"),
        ("attr.WEIGHTS", "attr.Weights"),
        ("attr.LayerType", "attr.LayerType"),
        ("attr.OutMap", None),
        ("attr.", None),
        ("attr.TacticName", None),
    ],
)
def test_raw_columns_are_found_in_any_case(tmp_path: Path, name: str, wanted: str | None) -> None:
    engine = make_engine(tmp_path, {"OutMaps": 4, "Weights": {"Count": 1}}, {"weights": {"Count": 2}})
    column = find_column(name, engine)
    assert (column and column.name) == wanted


def test_an_attribute_that_no_layer_has(tmp_path: Path) -> None:
    engine = make_engine(tmp_path, {"Kernel": [1, 1]})
    with pytest.raises(TrexError, match=r"^no column 'attr.Kernle'; did you mean attr.Kernel\?$"):
        columns_named(["attr.Kernle"], engine)
    with pytest.raises(TrexError, match=r"^no column 'attr.Zoo'; the layers have attr.Kernel$"):
        columns_named(["attr.Zoo"], engine)
    names_only = load_engine(write_graph(tmp_path / "names.graph.json", ["/a/Conv"]))
    assert read_cells(names_only) == {}
    with pytest.raises(TrexError, match=r"^no column 'attr.Kernel'; the layers have no attributes$"):
        columns_named(["attr.Kernel"], names_only)
    assert [column for column in engine_columns(names_only) if column.name.startswith("attr.")] == []


@pytest.mark.parametrize("real", real_sets(having=["graph"]))
def test_real_engines(real: Any) -> None:
    """Every attribute of every file is a column, and the short ones agree with the JSON."""
    engine = real.engine()
    info = read(find(real.paths())[0]).layer_info
    assert info is not None
    by_name: dict[str, list[dict[str, Any]]] = {}
    for raw in info.layers:
        by_name.setdefault(raw["Name"], []).append(raw)
    keys = dict.fromkeys(
        key for raw in info.layers for key in raw if key not in ("Name", "Inputs", "Outputs")
    )
    for row in engine.layers:
        raw = by_name[row.name][row.occurrence]
        cells = read_cells(engine, row.index)
        for name, key in {"kernel": "Kernel", "stride": "Stride", "window_size": "WindowSize"}.items():
            assert cells.get(name) == ("x".join(map(str, raw[key])) if key in raw else cells.get(name))
        for name, key in {"groups": "Groups", "out_maps": "OutMaps", "origin": "Origin"}.items():
            assert cells.get(name) == raw.get(key, raw.get(f"Conv{key}"))
        for key in keys:
            column = find_column(f"attr.{key}", engine)
            value = raw.get(key)
            if column is None:
                assert value in (None, "")
            elif column.dtype == "string" and not isinstance(value, str):
                shown = column.value(engine, row)
                assert (shown and json.loads(shown)) == value
            else:
                assert (column.value(engine, row) or None) == (value or None)


def test_keys_are_data(tmp_path: Path) -> None:
    """A key with escape sequences is harmless in every form."""
    key = "\x1b[31m|=evil\ud800" + "k" * 300
    engine = make_engine(tmp_path, {key: 1, "Kernel": [3, 3]})
    columns = columns_named(["name", "attr.*"], engine)
    assert all(column.name.isprintable() and column.title.isprintable() for column in columns)
    assert [column.value(engine, engine.layers[0]) for column in columns[1:]] == [1, "[3, 3]"]
    assert find_column(f"attr.{key}", engine) is find_column(columns[1].name, engine) is columns[1]
    assert len(filter_layers(engine, f"{column_text(columns[1].name)}:1")) == 1
    for form in (ExportFormat.CSV, ExportFormat.JSON, ExportFormat.MARKDOWN):
        text = layers_as(form, engine, engine.layers, columns)
        assert all(line.isprintable() for line in text.splitlines())
        text.encode()
    assert "attr.␛\\[31m\\|=evil" in layers_as(ExportFormat.MARKDOWN, engine, engine.layers, columns)
