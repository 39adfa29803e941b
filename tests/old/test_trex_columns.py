"""The table of trex's columns in docs/coming-from-trex.md is complete and true: trex's own values against ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from helpers import ARTIFACTS
from trex_columns import BY_TYPE, FRAME, TrexColumn
from trex_tui import load_engine
from trex_tui.old.analysis.columns import find_column
from trex_tui.old.artifacts import find
from trex_tui.old.artifacts.records import read
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer

ROWS = {row.name: row for row in (*FRAME, *BY_TYPE)}
CELLS = dict[str, Any]


def is_text_of_extents(trex: Any, ours: CELLS) -> bool:
    (cell,) = ours.values()
    return bool(cell == "x".join(map(str, trex)))


def is_flag(trex: Any, ours: CELLS) -> bool:
    (cell,) = ours.values()
    return cell is bool(trex)


def is_constant(name: str) -> Callable[[Any, CELLS], bool]:
    def holds(trex: Any, ours: CELLS) -> bool:
        types = {"Half": "FP16", "Float": "FP32", "Int8": "INT8"}
        return ours == {f"{name}_count": trex["Count"], f"{name}_type": types[trex["Type"]]}

    return holds


def is_at_least(trex: Any, ours: CELLS) -> bool:
    (cell,) = ours.values()
    return bool(cell >= trex)


DIFFERENCES: dict[str, Callable[[Any, CELLS], bool]] = {
    **dict.fromkeys(
        ("Kernel", "Stride", "PrePadding", "PostPadding", "Dilation", "WindowSize"), is_text_of_extents
    ),
    **dict.fromkeys(("attr.kernel", "attr.stride", "attr.dilation"), is_text_of_extents),
    **dict.fromkeys(("HasSparseWeights", "HasBias", "HasReLU", "attr.has_bias", "attr.has_relu"), is_flag),
    **dict.fromkeys(("weights_size", "total_footprint_bytes"), is_at_least),
    "type": lambda trex, ours: trex == (ours["parameter_type"] or ours["layer_type"]),
    "tactic": lambda trex, ours: ours["tactic"] == (None if trex == "TensorRT" else trex),
    "Weights": is_constant("weights"),
    "Bias": is_constant("bias"),
    "Axes": lambda trex, ours: (trex, ours["axes"]) == (2, "1"),
    "attr.compute_efficiency": lambda trex, ours: ours["achieved_flops_per_s"] == pytest.approx(2000 * trex),
}
"""What a difference means. Others (`precision`, bytes with padding) are compared in test_engine_trex."""


def same(trex: Any, ours: CELLS) -> bool:
    (cell,) = ours.values()
    if isinstance(trex, float):
        return bool(cell == pytest.approx(trex, rel=1e-12))
    if isinstance(trex, list):
        return bool(cell == str(trex))
    return bool(cell == trex)


def read_cells(row: TrexColumn, engine: Engine, layer: Layer) -> CELLS:
    columns = [find_column(name, engine) for name in row.columns]
    return {column.name: column.value(engine, layer) for column in columns if column is not None}


def layers_of_trex(engine: Engine, reference: CELLS) -> Iterator[tuple[Layer, CELLS]]:
    """Layers with what trex computed of them and what its frame takes from the file."""
    info = read(find(engine.files["graph"])[0]).layer_info  # type: ignore[index]
    assert info is not None
    computed = {row["Name"]: row for row in reference["layers"]}
    convolutions = {row["Name"]: row for row in reference["convolutions"]}
    for layer, raw in zip(engine.layers, info.layers, strict=True):
        if layer.name in computed:
            yield layer, {**raw, **computed[layer.name], **convolutions.get(layer.name, {})}


def test_every_column_of_trex_is_in_the_table(trex_reference: CELLS) -> None:
    for reference in trex_reference.values():
        names = {*reference["df_columns"], *(key for row in reference["convolutions"] for key in row)}
        assert names <= set(ROWS)


def test_each_difference_is_stated_and_judged() -> None:
    assert len(ROWS) == len(FRAME) + len(BY_TYPE)
    assert all(ROWS[name].difference for name in DIFFERENCES)


def test_values(trex_reference: CELLS) -> None:
    """In every layer of every engine that trex read, each column holds what the table says."""
    compared: set[str] = set()
    for key, reference in trex_reference.items():
        engine = load_engine(ARTIFACTS / f"{key}.graph.json")
        for layer, cells in layers_of_trex(engine, reference):
            for name, value in cells.items():
                row = ROWS.get(name)
                if row is None or (row.difference and name not in DIFFERENCES):
                    continue
                holds = DIFFERENCES.get(name, same)
                assert holds(value, read_cells(row, engine, layer)), (key, layer.name, name, value)
                compared.add(name)
    assert {name for name, row in ROWS.items() if name in DIFFERENCES or row in FRAME} - compared == {
        "precision",
        "Inputs",
        "Outputs",
    }
