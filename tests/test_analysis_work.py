"""Multiply-accumulates: by hand, and against published networks."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from helpers import ARTIFACTS, REAL_SETS, RealSet, layer, real_sets, tensor, write_graph
from trex_tui.analysis.compute import PADDED, compute_facts, control_flow, products
from trex_tui.api import load_engine

Shape = tuple[int, ...]
KEYS = ["macs", "gemm_m", "gemm_n", "gemm_k", "gemm_batch"]


def product_of(folder: Path, raw: dict[str, Any]) -> tuple[tuple[int | None, ...], str | None]:
    """MACs, M, N, K, batch of a layer, and its note; `x`, `x2`, `x3` are activations, other inputs constants."""
    engine = load_engine(write_graph(folder / "net.graph.json", [raw], ("x", "x2", "x3", "y")))
    row = products(engine).astype(object).where(lambda frame: frame.notna(), None).iloc[0]
    return tuple(row[key] for key in KEYS), row["compute_note"]


def convolution(source: Shape, target: Shape, kernel: list[int], **more: Any) -> dict[str, Any]:
    base = {"ParameterType": "Convolution", "Kernel": kernel, "OutMaps": target[1], "Groups": 1}
    return layer("conv", "CaskConvolution", [tensor("x", *source)], [tensor("y", *target)], **(base | more))


def myelin(filters: Shape, channels: int = 16, dtype: str = "Half") -> dict[str, Any]:
    """A convolution whose filter is among its inputs; the file lists no groups."""
    inputs = [tensor("x", 2, channels, 5, 5, dtype=dtype), tensor("w", *filters, dtype=dtype)]
    return layer("c", "correlation", inputs, [tensor("y", 2, 32, 5, 5, dtype=dtype)])


@pytest.mark.parametrize(
    ("raw", "m", "n", "k"),
    [
        (convolution((2, 3, 8, 10), (2, 16, 8, 10), [3, 3]), 2 * 8 * 10, 16, 3 * 9),
        (convolution((1, 4, 5, 6, 7), (1, 8, 3, 4, 5), [3, 3, 3]), 3 * 4 * 5, 8, 4 * 27),
        # A stride makes fewer positions, a dilation does not make more terms.
        (convolution((1, 8, 9, 9), (1, 8, 4, 4), [3, 3], Stride=[2, 2]), 16, 8, 72),
        (convolution((1, 8, 9, 9), (1, 8, 5, 5), [3, 3], Dilation=[2, 2]), 25, 8, 72),
        (convolution((1, 8, 7, 7), (1, 12, 7, 7), [3, 3], Groups=4), 49, 12, 2 * 9),
        (convolution((1, 8, 7, 7), (1, 16, 7, 7), [3, 3], Groups=8), 49, 16, 9),
        (myelin((32, 16, 3, 3)), 50, 32, 144),
        (myelin((32, 4, 1, 1)), 50, 32, 4),
    ],
)
def test_convolutions_by_hand(tmp_path: Path, raw: dict[str, Any], m: int, n: int, k: int) -> None:
    assert product_of(tmp_path, raw) == ((m * n * k, m, n, k, 1), None)


@pytest.mark.parametrize(("groups", "maps"), [(1, 3), (4, 12)])
def test_every_input_position_of_a_deconvolution_gives_a_whole_kernel(
    tmp_path: Path, groups: int, maps: int
) -> None:
    """8 channels of 5×5 to 10×10 by 4×4, step 2."""
    more = {"ParameterType": "Deconvolution", "Groups": groups, "LayerType": "CaskDeconvolutionV2"}
    raw = convolution((2, 8, 5, 5), (2, maps, 10, 10), [4, 4]) | more
    n = maps // groups * 16
    assert product_of(tmp_path, raw)[0] == (2 * 25 * n * 8, 2 * 25, n, 8, 1)


def test_pooling_behind_the_convolution_does_not_count(tmp_path: Path) -> None:
    """7×7 step 2 over 224×224 is 112×112; the layer writes the pooled 56×56."""
    sizes = {"ConvKernel": [7, 7], "ConvStride": [2, 2], "ConvDilation": [1, 1]}
    sizes |= {"ConvPrePadding": [3, 3], "ConvPostPadding": [3, 3]}
    ends = [tensor("x", 1, 3, 224, 224)], [tensor("y", 1, 64, 56, 56)]
    raw = layer("cap", "FusedConvActPool", *ends, ParameterType="ConvActPool", ConvOutMaps=64, **sizes)
    assert product_of(tmp_path, raw)[0] == (112 * 112 * 64 * 147, 112 * 112, 64, 147, 1)
    assert product_of(tmp_path, raw | {"ConvStride": [2, 0]})[1] == "implausible kernel, stride or dilation"


def test_padded_channels_of_a_depthwise_convolution_are_stated(tmp_path: Path) -> None:
    """TensorRT-RTX lists 32 INT8 channels as 128, and a filter of 32×4×3×3."""
    product, note = product_of(tmp_path, myelin((32, 4, 3, 3), channels=128, dtype="Int8"))
    assert (product[0], note) == (50 * 32 * 36, PADDED)
    assert product_of(tmp_path, myelin((32, 4, 3, 3), channels=128))[1] is None


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (convolution((-1, 3, 8, 8), (-1, 16, 8, 8), [3, 3]), "dynamic"),
        (convolution((3, 8, 8), (16, 8, 8), [3, 3]), "do not match a kernel of"),
        (convolution((1, 3, 8, 8), (1, 16, 8, 8), [3, 3], Groups=2), "2 groups"),
        (layer("c", "CaskConvolution", [], [tensor("y", 1, 4, 8, 8)]), "no input"),
    ],
)
def test_what_is_unknown_has_a_reason(tmp_path: Path, raw: dict[str, Any], reason: str) -> None:
    product, note = product_of(tmp_path, raw)
    assert product == (None,) * 5
    assert note is not None
    assert reason in note


def gemm(inputs: list[tuple[str, Shape]], output: Shape, **more: Any) -> dict[str, Any]:
    return layer(
        "g", "gemm", [tensor(name, *shape) for name, shape in inputs], [tensor("y", *output)], **more
    )


@pytest.mark.parametrize(
    ("inputs", "output", "expected"),
    [
        ([("x", (8, 196, 768)), ("w", (768, 3072))], (8, 196, 3072), (1568, 3072, 768, 1)),
        ([("w", (3072, 768)), ("x", (196, 768))], (196, 3072), (196, 3072, 768, 1)),
        # As the real AlexNet lists them: weights, two scalars, a bias.
        (
            [("x", (1, 9216)), ("w", (9216, 4096)), ("a", (1,)), ("b", (1,)), ("c", (1, 4096))],
            (1, 4096),
            (1, 4096, 9216, 1),
        ),
        # Images: 1×1 extents behind the channels.
        ([("x", (4, 512, 1, 1)), ("w", (1000, 512, 1, 1))], (4, 1000, 1, 1), (4, 1000, 512, 1)),
        # Every product of the batch has its own constant matrix.
        ([("x", (4, 3, 32)), ("w", (4, 32, 5))], (4, 3, 5), (3, 5, 32, 4)),
        # A residual is added behind the product, and may stand first.
        ([("x2", (12, 64)), ("x", (12, 16)), ("w", (16, 64))], (12, 64), (12, 64, 16, 1)),
        # Two activations.
        ([("x", (8, 12, 64)), ("x2", (8, 64, 20))], (8, 12, 20), (12, 20, 64, 8)),
        ([("x", (8, 64, 12)), ("x2", (8, 64, 20))], (8, 12, 20), (12, 20, 64, 8)),
        ([("x", (2, 4, 12, 64)), ("x2", (2, 4, 64, 20))], (2, 4, 12, 20), (12, 20, 64, 8)),
        # The weights not listed, and their size does not follow from the shapes.
        ([("x", (154560, 256))], (154560, 96), (154560, 96, 256, 1)),
        ([("x", (1, 512, 22080))], (1, 6144, 22080), (22080, 6144, 512, 1)),
        ([("x", (12, 16)), ("x2", (12, 64))], (12, 64), (12, 64, 16, 1)),
    ],
)
def test_matrix_products_by_hand(
    tmp_path: Path, inputs: list[tuple[str, Shape]], output: Shape, expected: tuple[int, ...]
) -> None:
    assert product_of(tmp_path, gemm(inputs, output)) == ((math.prod(expected), *expected), None)


@pytest.mark.parametrize(
    ("inputs", "output", "reason"),
    [
        ([("x", (-1, 64)), ("w", (64, 32))], (-1, 32), "dynamic"),
        ([("x", (7, 30)), ("x2", (11, 13)), ("x3", (5, 9))], (7, 17), "several inputs"),
        ([("x", (1, 512, 7, 7))], (1, 4096), "weights not listed"),
    ],
)
def test_matrix_products_that_are_unknown(
    tmp_path: Path, inputs: list[tuple[str, Shape]], output: Shape, reason: str
) -> None:
    product, note = product_of(tmp_path, gemm(inputs, output))
    assert product[0] is None
    assert note is not None
    assert reason in note


def attention(*shapes: Shape, output: Shape) -> dict[str, Any]:
    inputs = [tensor(name, *shape) for name, shape in zip(("x", "x2", "m", "x3"), shapes, strict=False)]
    return layer("_gemm_mha_v2_myl0_1", "kgen", inputs, [tensor("y", *output)])


@pytest.mark.parametrize(
    ("shapes", "output", "expected"),
    [
        # As the real BEV engine lists them: K is transposed. 8 heads, 512 queries, 256 keys.
        (((8, 512, 64), (8, 64, 256), (8, 256, 64)), (8, 512, 64), (512, 256, 64, 8, 2 * 64)),
        # A mask, between or behind.
        # V wider than K.
        (((8, 10, 64), (8, 20, 64), (8, 20, 96)), (8, 10, 96), (10, 20, 64, 8, 64 + 96)),
        # Four heads of Q share one of K and V.
        (((1, 8, 10, 64), (1, 2, 128, 64), (1, 2, 128, 64)), (1, 8, 10, 64), (10, 128, 64, 8, 128)),
    ],
)
def test_attention_by_hand(
    tmp_path: Path, shapes: tuple[Shape, ...], output: Shape, expected: tuple[int, ...]
) -> None:
    m, n, k, batch, depth = expected
    assert product_of(tmp_path, attention(*shapes, output=output))[0] == (
        batch * m * n * depth,
        m,
        n,
        k,
        batch,
    )


def test_a_jump_back_makes_the_work_a_lower_bound(tmp_path: Path) -> None:
    layers = [gemm([("x", (4, 8)), ("w", (8, 4))], (4, 4)) | {"Name": name} for name in ("a", "b", "c")]
    jump = layer("j", "cjmp", JumpTargetThen="b", JumpTargetElse="<EXIT>")
    engine = load_engine(write_graph(tmp_path / "net.graph.json", [*layers, jump, layers[0]], ("x", "y")))
    assert control_flow(engine).fillna("").tolist() == ["", "loop", "loop", "loop", "branch"]
    assert compute_facts(engine)[:2] == (4 * 4 * 4 * 8, True)


@pytest.mark.skipif(not ARTIFACTS.is_dir(), reason="no real artifacts")
@pytest.mark.parametrize(
    ("name", "batch", "gmacs"),
    [
        ("alexnet_fp16", 1, 0.714),
        # The fully connected layer of the first is a kernel of products and sums, which does not count.
        ("vgg16", 1, 15.47),
        ("tf-resnet-RTX3090/fp16/resnet", 32, 3.858),
        ("resnet-qat", 32, 1.814),
        ("mobilenet-qat-TITANRTX/mobilenet.qat", 1, 0.301),
    ],
)
def test_published_networks(name: str, batch: int, gmacs: float) -> None:
    facts = compute_facts(load_engine(next(real for real in REAL_SETS if real.name == name).paths()))
    assert facts.layers_without_macs == {}
    assert (facts.macs or 0) / batch / 1e9 == pytest.approx(gmacs, rel=1e-3)


@pytest.mark.parametrize("real", real_sets(having=["graph"]))
def test_parts_multiply_to_the_whole_in_real_engines(real: RealSet) -> None:
    engine = load_engine(real.paths())
    frame = products(engine)
    parts = frame[KEYS[1:]].astype("Float64").prod(axis=1, min_count=4)
    kinds = engine.layers["kind"]
    is_attention = kinds.eq("attention")
    assert (parts.eq(frame["macs"]) | is_attention | frame["macs"].isna()).all()
    assert (
        (frame["macs"].notna() | frame["compute_note"].notna())
        .eq(kinds.isin(["convolution", "gemm", "attention"]))
        .all()
    )
    for raw, macs in zip(real.layers(), frame["macs"], strict=True):
        if isinstance(raw, dict) and raw.get("ParameterType") == "Convolution" and raw["LayerType"] != "NoOp":
            shape, source = raw["Outputs"][0]["Dimensions"], raw["Inputs"][0]["Dimensions"]
            taps = math.prod(raw["Kernel"]) * source[1] // raw["Groups"]
            assert macs == math.prod(shape) * taps
