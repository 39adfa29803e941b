"""ATTN: attention taken apart, and what only looks like it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers import write_profile
from lint_kit_small import check, engine_of, gemm, kernel, layer, matrix, only, silent, unchecked
from trex_tui.api import load_engine
from trex_tui.lint.rule import Confidence

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


def test_softmax_at_the_end_is_no_attention() -> None:
    silent("ATTN001", engine_of([separate("q", "x"), separate("k", "x"), *attention()[:3]], ["x", "p"]))


def test_fused_attention_with_separate_projections() -> None:
    mha = layer(
        "_gemm_mha_v2_myl1_3",
        "kgen",
        [matrix(one, *HEADS) for one in "qkv"],
        [matrix("y", *HEADS)],
        TacticName="_gemm_mha_v2_0x1",
    )
    found = only(
        "ATTN002", engine_of([*projections("q", "k", "v"), mha], ["x", "y"], times=[0.1, 0.2, 0.1, 0.3])
    )
    assert found.layers == (0, 1, 2)
    assert found.savings_ms == {0: 0.1, 2: 0.1}
    silent("ATTN001", engine_of([*projections("q", "k", "v"), mha], ["x", "y"]))


def test_projections_of_different_tensors() -> None:
    mha = layer(
        "_gemm_mha_v2_myl1_3",
        "kgen",
        [matrix(one, *HEADS) for one in "qkv"],
        [matrix("y", *HEADS)],
        TacticName="_gemm_mha_v2_0x1",
    )
    layers = [*projections("q"), *projections("k", source="memory"), *projections("v", source="other"), mha]
    silent("ATTN002", engine_of(layers, ["x", "memory", "other", "y"]))


def test_projections_of_one_name_but_two_values() -> None:
    """A tensor's name is one of memory: what is written between is another value."""
    mha = layer(
        "_gemm_mha_v2_myl1_3",
        "kgen",
        [matrix(one, *HEADS) for one in "qk"],
        [matrix("y", *HEADS)],
        TacticName="_gemm_mha_v2_0x1",
    )
    write = [
        kernel(f"write{turn}", "Mul", [matrix(f"i{turn}", *HEADS)], matrix("m", *HEADS)) for turn in (0, 1)
    ]
    layers = [write[0], *projections("q", source="m"), write[1], *projections("k", source="m"), mha]
    silent("ATTN002", engine_of(layers, ["i0", "i1", "y"]))
    same = [write[0], *projections("q", "k", source="m"), mha]
    assert only("ATTN002", engine_of(same, ["i0", "y"])).layers == (1, 2)


def test_closed_blocks_are_not_checked() -> None:
    block = layer("{ForeignNode[/a.../b]}", "Myelin", [matrix("x", *HEADS)], [matrix("y", *HEADS)])
    for rule in ("ATTN001", "ATTN002"):
        findings, reasons = check(rule, engine_of([block], ["x", "y"]))
        assert not findings
        assert reasons[0].layers == 1
        assert "closed" in reasons[0].reason
        assert "detailed" in unchecked(rule, engine_of([{"Name": "softmax"}], names_only=True))


NAMED = ("MatMul_1", "Add_2", "Softmax_3", "MatMul_4", "Conv_5", "Relu_6", "Softmax_7")


def test_softmax_between_products_by_name(tmp_path: Path) -> None:
    write_profile(
        tmp_path / "net.profile.json", [(name, 0.1 * number) for number, name in enumerate(NAMED, 1)]
    )
    found = only("ATTN001", load_engine(tmp_path))
    assert found.layers == (2,), "the last one follows no product"
    assert found.savings_ms == {2: pytest.approx(0.3)}
    assert found.confidence is Confidence.LOW
    assert found.message == (
        "1 softmax kernel between GEMMs, by layer names: 0.3 ms, 10.7 %. The attention is not fused."
    )


def test_softmax_far_from_products_by_name(tmp_path: Path) -> None:
    names = ["MatMul_1", *(f"Conv_{number}" for number in range(20)), "Softmax_3", "MatMul_4"]
    write_profile(tmp_path / "net.profile.json", [(name, 0.1) for name in names])
    assert "--exportLayerInfo" in unchecked("ATTN001", load_engine(tmp_path))
