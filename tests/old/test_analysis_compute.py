"""Multiply-accumulates: by hand, against published networks, and against trex 0.2.1."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from test_engine_trex import KEYS

from helpers import ARTIFACTS, REAL_SETS, layer, real_sets, tensor, write_graph
from trex_tui.old.analysis.compute import NOTHING, Compute, compute_products
from trex_tui.old.engine import LayerKind, load_engine
from trex_tui.old.engine.engine import Engine

Shape = tuple[int, ...]


def computed(
    folder: Path, raw: dict[str, Any], bindings: tuple[str, ...] = ("x", "x2", "x3", "y")
) -> Compute:
    return compute_products(load_engine(write_graph(folder / "net.graph.json", [raw], bindings)).layers[0])


def convolution(source: Shape, target: Shape, kernel: list[int], **more: Any) -> dict[str, Any]:
    base = {"ParameterType": "Convolution", "Kernel": kernel, "OutMaps": target[1], "Groups": 1}
    return layer("conv", "CaskConvolution", [tensor("x", *source)], [tensor("y", *target)], **(base | more))


class TestConvolution:
    @pytest.mark.parametrize(
        ("raw", "m", "n", "k"),
        [
            (convolution((2, 3, 8, 10), (2, 16, 8, 10), [3, 3]), 2 * 8 * 10, 16, 3 * 9),
            (convolution((2, 6, 100), (2, 4, 98), [3]), 2 * 98, 4, 6 * 3),
            (convolution((1, 4, 5, 6, 7), (1, 8, 3, 4, 5), [3, 3, 3]), 3 * 4 * 5, 8, 4 * 27),
            # A stride makes fewer positions, a dilation does not make more terms.
            (convolution((1, 8, 9, 9), (1, 8, 4, 4), [3, 3], Stride=[2, 2]), 16, 8, 72),
            (convolution((1, 8, 9, 9), (1, 8, 5, 5), [3, 3], Dilation=[2, 2]), 25, 8, 72),
            (convolution((1, 8, 7, 7), (1, 12, 7, 7), [3, 3], Groups=4), 49, 12, 2 * 9),
            (convolution((1, 8, 7, 7), (1, 8, 7, 7), [3, 3], Groups=8), 49, 8, 9),
            (convolution((1, 8, 7, 7), (1, 16, 7, 7), [3, 3], Groups=8), 49, 16, 9),
            (convolution((4, 8, 1, 1), (4, 10, 1, 1), [1, 1]), 4, 10, 8),
            (convolution((1, 3, 8, 8), (1, 16, 8, 8), [1, 5]), 64, 16, 15),
        ],
    )
    def test_by_hand(self, tmp_path: Path, raw: dict[str, Any], m: int, n: int, k: int) -> None:
        assert computed(tmp_path, raw) == Compute(m * n * k, m, n, k, 1)
        assert computed(tmp_path, raw).flops == 2 * m * n * k

    @pytest.mark.parametrize(
        ("groups", "n", "k"), [(1, 3 * 16, 8), (4, 3 * 16 // 4, 8)], ids=["dense", "grouped"]
    )
    def test_deconvolution(self, tmp_path: Path, groups: int, n: int, k: int) -> None:
        """8 channels of 5×5 to 3 or 12 channels of 10×10 by 4×4, step 2: every input position gives a whole kernel."""
        maps = 3 if groups == 1 else 12
        n = maps // groups * 16
        raw = convolution(
            (2, 8, 5, 5), (2, maps, 10, 10), [4, 4], ParameterType="Deconvolution", Groups=groups
        )
        raw["LayerType"] = "CaskDeconvolutionV2"
        assert computed(tmp_path, raw) == Compute(2 * 25 * n * k, 2 * 25, n, k, 1)

    def test_pooled_behind_the_convolution(self, tmp_path: Path) -> None:
        """7×7 step 2 over 224×224 is 112×112; the layer writes the pooled 56×56."""
        raw = layer(
            "cap",
            "FusedConvActPool",
            [tensor("x", 1, 3, 224, 224)],
            [tensor("y", 1, 64, 56, 56)],
            ParameterType="ConvActPool",
            ConvKernel=[7, 7],
            ConvOutMaps=64,
            ConvGroups=1,
            ConvStride=[2, 2],
            ConvDilation=[1, 1],
            ConvPrePadding=[3, 3],
            ConvPostPadding=[3, 3],
        )
        assert computed(tmp_path, raw) == Compute(112 * 112 * 64 * 147, 112 * 112, 64, 147, 1)
        for key in ("ConvKernel", "ConvStride", "ConvDilation"):
            damaged = computed(tmp_path, {**raw, key: [2, 0]})
            assert damaged.macs is None
            assert damaged.reason == "implausible kernel, stride or dilation"

    @pytest.mark.parametrize(
        ("filters", "k"), [((32, 16, 3, 3), 144), ((32, 1, 3, 3), 9), ((32, 4, 1, 1), 4)]
    )
    def test_filter_among_the_inputs(self, tmp_path: Path, filters: Shape, k: int) -> None:
        """A Myelin convolution lists no groups: the filter's second extent tells them."""
        inputs = [tensor("x", 2, 16, 5, 5), tensor("w", *filters)]
        raw = layer("c", "correlation", inputs, [tensor("y", 2, 32, 5, 5)])
        assert computed(tmp_path, raw) == Compute(50 * 32 * k, 50, 32, k, 1)

    def test_a_residual_is_no_filter(self, tmp_path: Path) -> None:
        inputs = [tensor("x", 32, 32, 5, 5), tensor("x2", 32, 32, 5, 5), tensor("w", 32, 32, 1, 1)]
        raw = layer("c", "correlation", inputs, [tensor("y", 32, 32, 5, 5)])
        assert computed(tmp_path, raw) == Compute(800 * 32 * 32, 800, 32, 32, 1)

    def test_kernel_out_of_the_tactic(self, tmp_path: Path) -> None:
        tactic = (
            "sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_tilesize64x64x32_stage4_g1_tensor16x8x16_t1r3s3"
        )
        raw = layer(
            "c", "correlation", [tensor("x", 1, 8, 4, 4)], [tensor("y", 1, 6, 4, 4)], TacticName=tactic
        )
        assert computed(tmp_path, raw) == Compute(16 * 6 * 72, 16, 6, 72, 1)

    @pytest.mark.parametrize(
        ("raw", "reason"),
        [
            (convolution((-1, 3, 8, 8), (-1, 16, 8, 8), [3, 3]), "dynamic"),
            (convolution((1, 3, 8, 8), (1, 16, 8, 8), []), "kernel's size"),
            (convolution((3, 8, 8), (16, 8, 8), [3, 3]), "do not match a kernel of"),
            (convolution((1, 3, 8, 8), (1, 16, 8, 8), [3, 3], Groups=2), "2 groups"),
            (
                layer("c", "correlation", [tensor("x", 1, 3, 8, 8)], [tensor("y", 1, 4, 8, 8)]),
                "kernel's size",
            ),
            (layer("c", "CaskConvolution", [], [tensor("y", 1, 4, 8, 8)]), "no input"),
        ],
    )
    def test_what_cannot_be_told_has_a_reason(self, tmp_path: Path, raw: dict[str, Any], reason: str) -> None:
        found = computed(tmp_path, raw)
        assert found.macs is None
        assert found.flops is None
        assert reason in found.reason


def gemm(inputs: list[tuple[str, Shape]], output: Shape, **more: Any) -> dict[str, Any]:
    return layer(
        "g", "gemm", [tensor(name, *shape) for name, shape in inputs], [tensor("y", *output)], **more
    )


class TestMatrixProduct:
    """`x`, `x2` and `x3` are activations, everything else is a constant."""

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
            ([("x", (64, 16)), ("b", (1, 64)), ("w", (16, 64))], (64, 64), (64, 64, 16, 1)),
            # Images: 1×1 extents behind the channels.
            ([("x", (4, 512, 1, 1)), ("w", (1000, 512, 1, 1))], (4, 1000, 1, 1), (4, 1000, 512, 1)),
            # Every product of the batch has its own constant matrix.
            ([("x", (4, 3, 32)), ("w", (4, 32, 5))], (4, 3, 5), (3, 5, 32, 4)),
            # A residual is added behind the product, and may stand first.
            ([("x2", (12, 64)), ("x", (12, 16)), ("w", (16, 64))], (12, 64), (12, 64, 16, 1)),
            ([("x", (12, 16)), ("w", (16, 64)), ("x2", (12, 64))], (12, 64), (12, 64, 16, 1)),
            # Two activations.
            ([("x", (8, 12, 64)), ("x2", (8, 64, 20))], (8, 12, 20), (12, 20, 64, 8)),
            ([("x", (8, 12, 64)), ("x2", (8, 20, 64))], (8, 12, 20), (12, 20, 64, 8)),
            ([("x", (8, 64, 12)), ("x2", (8, 64, 20))], (8, 12, 20), (12, 20, 64, 8)),
            ([("x", (2, 4, 12, 64)), ("x2", (2, 4, 64, 20))], (2, 4, 12, 20), (12, 20, 64, 8)),
            ([("x", (1, 3, 3)), ("x2", (384, 3, 1))], (384, 3, 1), (3, 1, 3, 384)),
            ([("x", (12, 64)), ("x2", (64, 20))], (12, 20), (12, 20, 64, 1)),
            # The weights not listed, and their size does not follow from the shapes.
            ([("x", (154560, 256))], (154560, 96), (154560, 96, 256, 1)),
            ([("x", (1, 3136))], (1, 1024), (1, 1024, 3136, 1)),
            ([("x", (256, 100))], (100, 96), (100, 96, 256, 1)),
            ([("x", (1, 512, 22080))], (1, 6144, 22080), (22080, 6144, 512, 1)),
            ([("x", (12, 16)), ("x2", (12, 64))], (12, 64), (12, 64, 16, 1)),
        ],
    )
    def test_by_hand(
        self, tmp_path: Path, inputs: list[tuple[str, Shape]], output: Shape, expected: tuple[int, ...]
    ) -> None:
        m, n, k, batch = expected
        assert computed(tmp_path, gemm(inputs, output)) == Compute(batch * m * n * k, m, n, k, batch)

    def test_listed_weights(self, tmp_path: Path) -> None:
        raw = layer(
            "fc",
            "FullyConnected",
            [tensor("x", 32, 2048, 1, 1)],
            [tensor("y", 32, 1000, 1, 1)],
            ParameterType="FullyConnected",
            Weights={"Type": "Half", "Count": 2_048_000},
            Bias={"Type": "Half", "Count": 1000},
        )
        assert computed(tmp_path, raw) == Compute(32 * 2_048_000, 32, 1000, 2048, 1)

    @pytest.mark.parametrize(
        ("inputs", "output", "reason"),
        [
            ([("x", (-1, 64)), ("w", (64, 32))], (-1, 32), "dynamic"),
            ([("x", (7, 30)), ("x2", (11, 13)), ("x3", (5, 9))], (7, 17), "several inputs"),
            (
                [("x", (1, 512, 7, 7))],
                (1, 4096),
                "weights not listed, and their size does not follow from the shapes",
            ),
            ([("x", (64,))], (32,), "no matrix input"),
            ([("x", (4, 64)), ("b", (1, 32))], (4, 32), ""),
        ],
    )
    def test_reasons(
        self, tmp_path: Path, inputs: list[tuple[str, Shape]], output: Shape, reason: str
    ) -> None:
        found = computed(tmp_path, gemm(inputs, output))
        if reason:
            assert found.macs is None
            assert reason in found.reason
        else:  # a bias alone is not the matrix, which is hidden
            assert found == Compute(4 * 64 * 32, 4, 32, 64, 1)


def attention(*shapes: Shape, output: Shape) -> dict[str, Any]:
    inputs = [tensor(name, *one) for name, one in zip(("x", "x2", "m", "x3"), shapes, strict=False)]
    return layer("_gemm_mha_v2_myl0_1", "kgen", inputs, [tensor("y", *output)])


class TestAttention:
    @pytest.mark.parametrize(
        ("shapes", "output", "expected"),
        [
            # As the real BEV engine lists them: K is transposed. 8 heads, 512 queries, 256 keys.
            (((8, 512, 64), (8, 64, 256), (8, 256, 64)), (8, 512, 64), (512, 256, 64, 8, 2 * 64)),
            (((2, 4, 30, 16), (2, 4, 50, 16), (2, 4, 50, 16)), (2, 4, 30, 16), (30, 50, 16, 8, 32)),
            # A mask, between or behind.
            (((8, 512, 64), (8, 64, 256), (1, 512, 256), (8, 256, 64)), (8, 512, 64), (512, 256, 64, 8, 128)),
            (((8, 512, 64), (8, 64, 256), (8, 256, 64), (1, 512, 256)), (8, 512, 64), (512, 256, 64, 8, 128)),
            # V wider than K.
            (((8, 10, 64), (8, 20, 64), (8, 20, 96)), (8, 10, 96), (10, 20, 64, 8, 64 + 96)),
            # Four heads of Q share one of K and V.
            (((1, 8, 10, 64), (1, 2, 128, 64), (1, 2, 128, 64)), (1, 8, 10, 64), (10, 128, 64, 8, 128)),
        ],
    )
    def test_by_hand(
        self, tmp_path: Path, shapes: tuple[Shape, ...], output: Shape, expected: tuple[int, ...]
    ) -> None:
        m, n, k, batch, depth = expected
        found = computed(tmp_path, attention(*shapes, output=output))
        assert found == Compute(batch * m * n * depth, m, n, k, batch)

    @pytest.mark.parametrize(
        ("shapes", "output", "reason"),
        [
            (((1, 30, 192),), (1, 30, 64), "not all listed"),
            (((8, 10, 64), (8, 21, 60), (8, 20, 64)), (8, 10, 64), "the shapes of Q, K and V do not match"),
            (((8, -1, 64), (8, 20, 64), (8, 20, 64)), (8, -1, 64), "dynamic"),
        ],
    )
    def test_reasons(self, tmp_path: Path, shapes: tuple[Shape, ...], output: Shape, reason: str) -> None:
        found = computed(tmp_path, attention(*shapes, output=output))
        assert found.macs is None
        assert reason in found.reason


def test_other_kinds_multiply_nothing(tmp_path: Path) -> None:
    for layer_type in ("Reformat", "CudaSoftMax", "NoOp", "PoolingV2"):
        assert computed(tmp_path, layer("k", layer_type, [tensor("x", 4)], [tensor("y", 4)])) is NOTHING


def test_of_names_alone_nothing_is_told(tmp_path: Path) -> None:
    engine = load_engine(write_graph(tmp_path / "net.graph.json", ["/features/Conv + /features/Relu"]))
    assert engine.layers[0].kind is LayerKind.CONVOLUTION
    assert compute_products(engine.layers[0]).reason == "only the layer's name is known"


def engine_named(name: str) -> Engine:
    return load_engine(next(one for one in REAL_SETS if one.name == name).paths())


@pytest.mark.usefixtures("artifacts")
@pytest.mark.parametrize(
    ("name", "batch", "gmacs"),
    [
        ("alexnet_fp16", 1, 0.714),
        # The fully connected layer of the first is a kernel of products and sums, which does not count.
        ("resnet18_fp16", 1, 1.814),
        ("torch_trt-resnet18", 1, 1.814),
        ("vgg16", 1, 15.47),
        ("tf-resnet-RTX3090/fp16/resnet", 32, 3.858),
        ("tf-resnet-RTX3090/fp32/resnet", 32, 3.858),
        ("resnet-A100/fp16/resnet", 32, 1.814),
        ("resnet-A100/fp32/resnet", 32, 1.814),
        ("resnet-qat", 32, 1.814),
        ("mobilenet-qat-TITANRTX/mobilenet.qat", 1, 0.301),
        ("mobilenet-qat-8.4EA/mobilenet.qat", 1, 0.301),
    ],
)
def test_published_networks(name: str, batch: int, gmacs: float) -> None:
    found = [compute_products(one) for one in engine_named(name).layers]
    assert [one.reason for one in found if one.reason] == []
    assert sum(one.macs or 0 for one in found) / batch / 1e9 == pytest.approx(gmacs, rel=1e-3)


@pytest.mark.parametrize("real", real_sets(having=["graph"]))
def test_real_layers(real: Any) -> None:
    """The parts multiply to the whole, and what is missing has a reason."""
    for one in real.engine().layers:
        found = compute_products(one)
        if found.macs is None:
            assert bool(found.reason) is one.kind.multiplies
            assert (found.m, found.n, found.k, found.batch) == (None, None, None, None)
            continue
        assert found.reason == ""
        product = math.prod(part or 0 for part in (found.batch, found.m, found.n, found.k))
        assert product > 0
        if one.kind is LayerKind.ATTENTION:
            assert product < found.macs
        else:
            assert product == found.macs


class TestAgainstTrex:
    """Convolutions as trex 0.2.1 sees them. Where it differs, on purpose:

    - its K of a grouped convolution leaves the groups out, so that its M·N·K are not its MACs;
    - its bytes are those of the first input, the first output, and of weights of the input's type: no bias, no residual, no
      padding. Its arithmetic intensity is MACs over these bytes; here it is operations, two per MAC, over all bytes moved.
      Both are the same quantity, but for the factor, where a layer has one input, no padding and no bias.
    """

    @pytest.mark.parametrize("key", KEYS)
    def test_products(self, key: str, trex_reference: dict[str, Any]) -> None:
        engine = load_engine(ARTIFACTS / f"{key}.graph.json")
        ours = [
            one for one in engine.layers if one.parameter_type == "Convolution" and one.layer_type != "NoOp"
        ]
        theirs = trex_reference[key]["convolutions"]
        assert [one.name for one in ours] == [one["Name"] for one in theirs]
        for one, trex in zip(ours, theirs, strict=True):
            found, groups = compute_products(one), one.attributes["Groups"]
            assert found.macs == trex["attr.macs"]
            assert (found.m, found.n) == (trex["attr.M"], trex["attr.N"])
            assert (found.k or 0) * groups == trex["attr.K"]

    @pytest.mark.parametrize("key", KEYS)
    def test_intensity(self, key: str, trex_reference: dict[str, Any]) -> None:
        engine = load_engine(ARTIFACTS / f"{key}.graph.json")
        theirs = {one["Name"]: one for one in trex_reference[key]["convolutions"]}
        compared = 0
        for one in engine.layers:
            trex = theirs.get(one.name)
            if trex is None or one.parameter_type != "Convolution":
                continue
            bias = one.attributes.get("Bias", {"Count": 0})["Count"]
            bits = {"Half": 16, "Float": 32, "Int8": 8}
            weights = one.attributes["Weights"]
            same_type = one.inputs[0].dtype is not None and bits[weights["Type"]] == one.inputs[0].dtype.bits
            if len(one.inputs) > 1 or not same_type:
                continue
            assert one.io_bytes is not None
            moved = one.io_bytes + weights["Count"] * bits[weights["Type"]] // 8
            macs = compute_products(one).macs
            assert macs is not None
            assert macs / moved == pytest.approx(trex["attr.arithmetic_intensity"], rel=1e-12)
            assert (
                one.footprint_bytes == moved + bias * bits[one.attributes.get("Bias", weights)["Type"]] // 8
            )
            compared += 1
        assert compared > 0
