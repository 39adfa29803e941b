"""ATTN: attention taken apart, and what only looks like it."""

from __future__ import annotations

from typing import Any

from lint_kit import check, engine_of, gemm, kernel, layer, matrix, only, silent, unchecked

HEADS = (8, 128, 64)
SCORES = (8, 128, 128)


def projections(*names: str, source: str = "x") -> list[dict[str, Any]]:
    return [
        gemm(
            f"proj_{name}", [matrix(source, 8, 128, 64), matrix(f"w{name}", 8, 64, 64)], matrix(name, *HEADS)
        )
        for name in names
    ]


def attention() -> list[dict[str, Any]]:
    return [
        gemm("qk", [matrix("q", *HEADS), matrix("k", 8, 64, 128)], matrix("s", *SCORES)),
        kernel("scale", "Mul", [matrix("s", *SCORES)], matrix("t", *SCORES)),
        kernel("soft", "MaxrSubExpSumDiv", [matrix("t", *SCORES)], matrix("p", *SCORES)),
        gemm("pv", [matrix("p", *SCORES), matrix("v", *HEADS)], matrix("y", *HEADS)),
    ]


def separate(name: str, source: str) -> dict[str, Any]:
    return kernel(
        f"make_{name}",
        "Mul",
        [matrix(source, *HEADS)],
        matrix(name, *((8, 64, 128) if name == "k" else HEADS)),
    )


def test_attention_in_four_kernels() -> None:
    layers = [separate("q", "x"), separate("k", "x"), separate("v", "x"), *attention()]
    found = only("ATTN001", engine_of(layers, ["x", "y"], times=[0.01, 0.01, 0.01, 0.2, 0.05, 0.1, 0.2]))
    assert found.layers == (3, 4, 5, 6)
    assert found.savings_ms == {4: 0.05, 5: 0.1}
    assert only("ATTN001", engine_of(layers, ["x", "y"])).saving_ms is None


def test_softmax_over_weights_is_no_attention() -> None:
    """Deformable attention and gating: the scores are a projection of one activation."""
    layers = [separate("q", "x"), separate("v", "x"), *attention()]
    layers[2] = gemm("qk", [matrix("q", *HEADS), matrix("w", 8, 64, 128)], matrix("s", *SCORES))
    silent("ATTN001", engine_of(layers, ["x", "y"]))


def test_closed_blocks_are_not_checked() -> None:
    block = layer("{ForeignNode[/a.../b]}", "Myelin", [matrix("x", *HEADS)], [matrix("y", *HEADS)])
    findings, reasons = check("ATTN001", engine_of([block], ["x", "y"]))
    assert not findings
    assert reasons[0].layers == 1
    assert "closed" in reasons[0].reason
    assert "detailed" in unchecked("ATTN001", engine_of([{"Name": "softmax"}], names_only=True))


NAMED = ("MatMul_1", "Add_2", "Softmax_3", "MatMul_4", "Conv_5", "Relu_6", "Softmax_7")
