"""FUSE: what could have been one kernel, and what could not."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import tensor
from lint_kit import (
    check,
    convolution,
    engine_of,
    image,
    kernel,
    layer,
    only,
    pointwise,
    silent,
    unchecked,
)
from trex_tui.api import load_engine
from trex_tui.lint.rule import Confidence

CONV = convolution("conv", image("x"), image("c"))
SILU = pointwise("silu", [image("c")], image("y"), NbOperations=2)


def test_activation_behind_convolution() -> None:
    found = only("FUSE001", engine_of([CONV, SILU], ["x", "y"], times=[0.1, 0.02]))
    assert found.layers == (0, 1)
    assert found.savings_ms == {1: 0.02}
    assert found.evidence["pointwise_operations"] == 2


def test_activation_that_could_not_be_fused() -> None:
    other = convolution("other", image("x"), image("o"))
    late = [
        CONV,
        other,
        pointwise("add", [image("c"), image("o")], image("y")),
        pointwise("u", [image("o")], image("v")),
    ]
    two_readers = [CONV, SILU, pointwise("again", [image("c")], image("z"))]
    broadcast = [CONV, pointwise("mul", [image("c"), image("b", size=1)], image("y"))]
    output = [CONV, SILU]
    tiny = [convolution("big", image("x"), image("w")), convolution("conv", image("w"), image("c")), SILU]
    silent("FUSE001", engine_of(late, ["x", "y", "v"]))
    silent("FUSE001", engine_of(two_readers, ["x", "y", "z"]))
    silent("FUSE001", engine_of(broadcast, ["x", "b", "y"]))
    silent("FUSE001", engine_of(output, ["x", "c", "y"]))
    silent("FUSE001", engine_of(tiny, ["x", "y"], times=[100.0, 0.1, 0.02]))


def test_generated_kernels_count_only_if_they_are_an_epilogue() -> None:
    activation = kernel("k", "MulSigm", [image("c")], image("y"))
    quantizes = tensor("y", 1, 64, 56, 56, dtype="Int8")
    converts = kernel("k", "CastMulAddRelu", [image("c")], quantizes)
    assert only("FUSE001", engine_of([CONV, activation], ["x", "y"])).layers == (0, 1)
    silent("FUSE001", engine_of([CONV, converts], ["x", "y"]))
    # A ReLU6 that widens its arithmetic and narrows its result again is an epilogue all the same.
    clip = kernel("k", "MaxMinCas", [image("c")], image("y"))
    assert only("FUSE001", engine_of([CONV, clip], ["x", "y"])).layers == (0, 1)


def test_kernels_of_one_kind_are_told_together(artifacts: Path) -> None:
    """Torch-TensorRT left the ReLU6 behind 34 of the convolutions of a MobileNet to kernels of their own."""
    engine = load_engine(artifacts / "torch-trt/mobilenet_v2")
    findings, _ = check("FUSE001", engine)
    assert sorted(int(finding.evidence["kernels"]) for finding in findings) == [10, 34]
    assert max(finding.saving_ms or 0.0 for finding in findings) == pytest.approx(0.1785, abs=1e-4)


def test_padding_in_front_of_a_quantized_convolution() -> None:
    """The Q between does not change zeros: the convolution could pad."""
    small, large = image("x", size=224), image("p", size=230)
    quantized = tensor("q", 1, 64, 230, 230, dtype="Int8")
    layers = [
        layer("pad", "Padding", [small], [large]),
        layer("Q", "Scale", [large], [quantized]),
        convolution("conv", quantized, image("y")),
    ]
    assert only("FUSE003", engine_of(layers, ["x", "y"], times=[0.08, 0.03, 0.2])).layers == (0,)


def pad(before: int, after: int, layer_type: str = "Padding") -> dict[str, object]:
    return layer(
        "pad1/Pad", layer_type, [image("x", size=before)], [image("p", size=after)], ParameterType=layer_type
    )


def test_padding() -> None:
    pool = layer("pool", "CaskPooling", [image("p", size=58)], [image("y", size=28)], ParameterType="Pooling")
    for layer_type in ("Padding", "Slice"):
        found = only("FUSE003", engine_of([pad(56, 58, layer_type), pool], ["x", "y"], times=[0.14, 0.2]))
        assert found.layers == (0,)
        assert found.savings_ms == {0: 0.14}
        assert found.confidence is Confidence.HIGH


def test_padding_that_must_stay() -> None:
    pool = layer("pool", "CaskPooling", [image("p", size=50)], [image("y", size=28)], ParameterType="Pooling")
    resize = layer("resize", "Resize", [image("p", size=58)], [image("y", size=28)], ParameterType="Resize")
    silent("FUSE003", engine_of([pad(56, 50), pool], ["x", "y"]))
    silent("FUSE003", engine_of([pad(56, 58), resize], ["x", "y"]))
    silent("FUSE003", engine_of([pad(56, 58)], ["x", "p"]))


def test_names_alone_are_not_enough() -> None:
    engine = engine_of([{"Name": "conv"}, {"Name": "relu"}], names_only=True)
    for rule in ("FUSE001", "FUSE003", "PLUG001"):
        assert "--profilingVerbosity=detailed" in unchecked(rule, engine)
        assert check(rule, engine)[0] == []
