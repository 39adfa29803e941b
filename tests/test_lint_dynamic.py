"""DYN001: shapes and indices, and data that only holds some."""

from __future__ import annotations

from typing import Any

from lint_kit_small import convolution, engine_of, image, kernel, layer, matrix, only, silent, unchecked


def indexing(milliseconds: float, dtype: str = "Int32", operators: str = "AddMul") -> Any:
    layers = [
        layer("dummy_shape_call", "shape_call"),
        kernel("indices", operators, [matrix("i", 64, dtype="Int32")], matrix("j", 64, dtype=dtype)),
        convolution("conv", image("x"), image("y")),
    ]
    return engine_of(layers, ["i", "x", "y", "j"], times=[0.0, milliseconds, 1.0])


def test_index_kernels() -> None:
    found = only("DYN001", indexing(0.05))
    assert found.layers == (1,)
    assert found.savings_ms == {1: 0.05}


def test_work_with_indices_in_it() -> None:
    silent("DYN001", indexing(0.02))
    silent("DYN001", indexing(0.05, dtype="Half"))
    silent("DYN001", indexing(0.05, operators="Topk"))
    assert only("DYN001", indexing(0.02), {"DYN001.least_pct": 1.0})


def test_without_times() -> None:
    assert "--exportProfile" in unchecked("DYN001", engine_of([convolution("c", image("x"), image("y"))]))
    assert "detailed" in unchecked("DYN001", engine_of([{"Name": "a"}], names_only=True, times=[1.0]))
