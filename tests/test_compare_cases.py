"""Single facts of comparisons: closed blocks, causes, sums, refusals. The cases are small copies of real findings."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compare_kit import (
    CASES,
    SAMPLES,
    conv,
    load,
    match,
    pairs_of,
    pointwise,
    renamed,
    with_names,
    write_engine,
)
from helpers import ARTIFACTS, tensor
from helpers import layer as raw_layer
from trex_tui.__main__ import main
from trex_tui.compare.comparison import Comparison, compare, total_by
from trex_tui.compare.names import parse_rename
from trex_tui.errors import TrexError

LOGS = ARTIFACTS / "logs"
H100 = "trt10.16.1_H100_"
needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason="no cases")
needs_artifacts = pytest.mark.skipif(not ARTIFACTS.is_dir(), reason="no real artifacts")


def compare_files(first: Path, second: Path) -> Comparison:
    return compare([load(first), load(second)])


def members(comparison: Comparison) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [*zip(comparison.blocks["a_layers"], comparison.blocks["b_layers"], strict=True)]


def causes(comparison: Comparison) -> dict[str, tuple[float, str]]:
    reasons = comparison.differences[1].reasons
    rows = zip(reasons["cause"], reasons["delta_ms"], reasons["what"], strict=True)
    return {cause: (round(delta, 6), what) for cause, delta, what in rows}


# Closed blocks


@needs_cases
def test_a_copy_in_front_of_a_closed_block_is_not_the_block() -> None:
    comparison = compare_files(CASES / "diff-foreign-node" / "a", CASES / "diff-foreign-node" / "b")
    assert members(comparison) == [((), (0,)), ((0,), (1,)), ((1,), (2,))]
    assert causes(comparison) == {
        "precision": (-0.011, "1 convolution FP32⇒FP16"),
        "reformats": (0.004, "1 reformat only in B"),
    }


@needs_artifacts
@pytest.mark.parametrize("is_reversed", [False, True], ids=["forth", "back"])
def test_closed_blocks_take_what_is_between_their_ends(is_reversed: bool) -> None:
    """The third block of the log without kernels names nodes that the other log does not have."""
    files = [
        LOGS / f"{H100}{name}.log" for name in ("build_verbose_onnx_fp16_dynshape", "dumpProfile_noSeparate")
    ]
    expected: list[tuple[tuple[int, ...], ...]]
    expected = [
        ((0,), (0, 1)),
        ((1,), (2,)),
        ((2,), (3,)),
        ((3,), (4, 5)),
        ((4,), (6,)),
        ((5,), (7, 8, 9, 10, 11, 12, 13, 14)),
    ]
    if is_reversed:
        files.reverse()
        expected = [(right, left) for left, right in expected]
    comparison = compare_files(*files)
    assert members(comparison) == expected
    assert comparison.differences[1].is_related


@needs_cases
def test_a_closed_block_has_the_precision_of_its_largest_input() -> None:
    comparison = compare_files(CASES / "diff-myelin-precision" / "a", CASES / "diff-myelin-precision" / "b")
    assert causes(comparison) == {"precision": (0.5441, "1 Myelin layer FP16⇒FP32")}


@needs_artifacts
@pytest.mark.parametrize("is_reversed", [False, True], ids=["split", "joined"])
def test_two_kernels_that_name_one_node_are_the_kernel_that_names_it(is_reversed: bool) -> None:
    """`TranMean` of one release is `Tran` and `Mean` of another."""
    files = [ARTIFACTS / "rtx" / f"resnet18.{name}-sm89.log" for name in ("rtxv14", "rtx")]
    expected: tuple[tuple[int, ...], ...] = ((22, 23), (22,))
    if is_reversed:
        files.reverse()
        expected = expected[::-1]
    comparison = compare_files(*files)
    assert expected in members(comparison)
    assert all(left and right for left, right in members(comparison))


def test_a_product_whose_number_moved_does_not_join_the_bias_of_another(tmp_path: Path) -> None:
    """`node_linear_1` is the second product in one export; in the other it is the first, whose bias is apart."""

    def gemm(name: str, source: str, target: str) -> dict[str, Any]:
        inputs, outputs = [tensor(source, 1, 64)], [tensor(target, 1, 64)]
        return raw_layer(name, "gemm", inputs, outputs) | {"ParameterType": "MatrixMultiply"}

    first = [
        gemm("node_linear", "x", "p"),
        gemm("node_linear_1", "p", "y"),
    ]
    second = [
        gemm("gemm_of_linear", "x", "q"),
        pointwise("PWN(node_linear_1 + node_relu_2)", "q", "r"),
        gemm("{ForeignNode[node_linear_1_2]}", "r", "y"),
    ]
    engines = [
        write_engine(tmp_path / name, layers, bindings=["x", "y"])
        for name, layers in (("a", first), ("b", second))
    ]
    found = pairs_of(match(*engines))
    assert all(not (1 in left and 1 in right) for left, right in found)
    assert ([1], [1]) not in found


# Layers that look alike


def residual(folder: Path, names: Callable[[str], str]) -> Any:
    """Two equal convolutions, the second one with the sum of both fused in."""
    x = tensor("p", 1, 8, 8, 8, dtype="Half")
    last = conv(names("last"), "p", "y")
    last["Inputs"] = [x, tensor("q", 1, 8, 8, 8, dtype="Half")]
    layers = [conv(names("stem"), "x", "p"), conv(names("down"), "p", "q"), last]
    layers.append(conv(names("head"), "y", "z", channels=4))
    return write_engine(folder, layers, bindings=["x", "z"])


def test_twins_that_a_sum_joins_are_not_certain(tmp_path: Path) -> None:
    """Which of two equal layers takes the sum is chosen by each build: only a name could tell them apart."""
    first = residual(tmp_path / "a", lambda name: f"{name}/Conv")
    second = renamed(first, range(len(first))).engine
    found = match(first, second)
    for matched in found.pair.matches:
        if {layer.index for layer in matched.left} & {1, 2}:
            assert matched.confidence <= 0.6


@needs_artifacts
def test_confident_pairs_without_names_are_right() -> None:
    folder = ARTIFACTS / "trex" / "tf-resnet-RTX3090"
    first, other = load(folder / "fp32"), load(folder / "fp16")

    def roles(layers: list[Any], names: Any) -> set[str]:
        return {
            part for layer in layers for part in re.findall(r"conv\d_block\d_\d_conv", names[layer.index])
        }

    found = match(first, renamed(other, range(len(other))).engine)
    sides = first.layers["name"], other.layers["name"]
    compared = 0
    for matched in found.pair.matches:
        left, right = (roles(own, names) for own, names in zip(matched.sides, sides, strict=True))
        if matched.confidence > 0.6 and left | right:
            compared += 1
            assert left == right, matched.why
    assert compared > 40


def test_two_networks_are_said_to_be_different(capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(SAMPLES / name) for name in ("alexnet", "resnet18")]
    assert main(["diff", *paths]) == 0
    assert capsys.readouterr().out.startswith("B against A: different networks")
    assert not compare_files(*map(Path, paths)).differences[1].is_related


# Causes and sums


@needs_cases
def test_equal_pairs_have_one_cause() -> None:
    """Both MatMuls leave Myelin for cuBLAS and take 1,900 times as long: no change of type does that."""
    folder = CASES / "02-tiny-batched-gemm"
    comparison = compare_files(folder / "fp16", folder / "int8")
    products = comparison.blocks[comparison.blocks["kind"].eq("gemm")]
    assert products["b_cause"].tolist() == ["kernel", "kernel"]
    assert causes(comparison)["kernel"] == (2506.786, "2 GEMMs myelin⇒cublas")


SAME_NETWORK = [
    (SAMPLES / "resnet-a100" / "fp16", SAMPLES / "resnet-a100" / "qat"),
    (SAMPLES / "resnet-a100" / "qat", SAMPLES / "resnet18"),
    (SAMPLES / "alexnet", SAMPLES / "resnet18"),
]


@pytest.mark.parametrize("pair", SAME_NETWORK, ids=["fp16-qat", "qat-other-device", "other-network"])
def test_blocks_causes_and_totals_add_up(pair: tuple[Path, Path]) -> None:
    comparison = compare_files(*pair)
    blocks, difference = comparison.blocks, comparison.differences[1]
    assert difference.delta_ms is not None
    for position, key in enumerate("ab"):
        engine = comparison.engines[position]
        whole = (engine.latency_sum_ms or 0.0) / comparison.sides[position].per
        layers = [layer for own in blocks[f"{key}_layers"] for layer in own]
        assert sorted(layers) == list(range(len(engine)))
        assert math.isclose(math.fsum(blocks[f"{key}_latency_ms"]), whole)
        for by in ("kind", "precision"):
            assert math.isclose(total_by(comparison, by)[f"{key}_latency_ms"].sum(), whole)
    assert math.isclose(math.fsum(blocks["b_delta_ms"]), difference.delta_ms, abs_tol=1e-9)
    reasons = difference.reasons
    assert math.isclose(math.fsum(reasons["delta_ms"]), difference.delta_ms, abs_tol=1e-9)
    explained = [block for own in reasons["blocks"] for block in own]
    assert len(explained) == len(set(explained))
    for row in reasons.itertuples():
        deltas = blocks["b_delta_ms"][list(row.blocks)]
        assert math.isclose(math.fsum(deltas), row.delta_ms, abs_tol=1e-9)
        assert math.isclose(row.decrease_ms + row.increase_ms, row.delta_ms, abs_tol=1e-9)


def test_kinds_are_those_of_the_baseline(tmp_path: Path) -> None:
    """A convolution that another build calls a GEMM is no new GEMM, and the pooling beside it stays one."""
    pool = raw_layer("pool", "CaskPooling", [tensor("p", 1, 8, 8, 8)], [tensor("y", 1, 8, 1, 1)])
    layers = [conv("c/Conv", "x", "p"), pool | {"ParameterType": "Pooling"}]
    gemm = layers[0] | {"LayerType": "gemm", "ParameterType": "MatrixMultiply"}
    first = write_engine(tmp_path / "a", layers, [0.2, 0.1], ["x", "y"])
    second = write_engine(tmp_path / "b", [gemm, layers[1]], [0.3, 0.1], ["x", "y"])
    assert second.layers["kind"].tolist() == ["gemm", "pooling"]
    table = total_by(compare([first, second]), "kind").set_index("kind")
    assert table["b_delta_ms"].round(6).to_dict() == {"convolution": 0.1, "pooling": 0.0}
    assert table[["a_layers", "b_layers"]].to_numpy().tolist() == [[1, 1], [1, 1]]


# Renames


def test_a_rename_restores_matches_by_name() -> None:
    engine = load(SAMPLES / "resnet-a100" / "qat")
    names = engine.layers["name"].str.replace("layer", "stage").tolist()
    nodes = [tuple(node.replace("layer", "stage") for node in own) for own in engine.layers["onnx_nodes"]]
    other = with_names(engine, names, nodes)
    renames = [parse_rename("s/stage/layer/")]
    evidence = [
        Counter(compare([engine, own], renames=renames).blocks["evidence"]) for own in (engine, other)
    ]
    assert evidence[0] == evidence[1] != Counter(compare([engine, other]).blocks["evidence"])


@pytest.mark.parametrize("text", ["s/(a+)+$/x/", "s/(x|x)*y//", "s/[/x/", "abc", "s/a/b", "s/a/\\2/"])
def test_what_is_no_rename_is_told_in_a_line(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(TrexError) as caught:
        parse_rename(text)
    assert "\n" not in str(caught.value)
    path = str(SAMPLES / "resnet18")
    assert main(["diff", path, path, "--rename", text]) == 2
    assert capsys.readouterr().err.count("\n") == 1
