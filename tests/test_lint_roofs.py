"""ROOF: far below the device's roof, and far below what the engine itself shows to be possible."""

from __future__ import annotations

from typing import Any

import pytest

from helpers import OLD_SAMPLES
from lint_kit import (
    DEVICE,
    LINEAR,
    check,
    convolution,
    engine_of,
    image,
    kernel,
    only,
    reformat,
    silent,
    unchecked,
)
from trex_tui.api import load_engine
from trex_tui.lint.config import LintConfig
from trex_tui.lint.context import Context
from trex_tui.lint.rule import Confidence
from trex_tui.lint.run import run_rules

MOVED = 2 * 64 * 200 * 200 * 2
"""Bytes that a copy of `big` reads and writes: 10 MB."""


def big(name: str) -> dict[str, Any]:
    return image(name, size=200, dtype=LINEAR)


def convolving(share: float) -> Any:
    """A convolution at this share of its roof, and a short layer as the floor."""
    layers = [convolution("conv", image("x"), image("y")), reformat("r", image("y"), image("z"))]
    roof_ms = Context(engine_of(layers, ["x", "z"], times=[1.0, 1.0], device=DEVICE)).roof("roof_ms")[0]
    assert roof_ms
    return engine_of(layers, ["x", "z"], times=[roof_ms / share, roof_ms / 20], device=DEVICE), roof_ms


def test_far_below_the_roof() -> None:
    engine, roof_ms = convolving(0.2)
    found = only("ROOF001", engine)
    assert found.layers == (0,)
    assert found.remedy.startswith("Compute-bound")
    assert found.savings_ms[0] == pytest.approx(roof_ms / 0.2 - roof_ms / 0.7)
    silent("ROOF001", convolving(0.4)[0])


def test_fewer_tiles_than_sms_is_one_cause_however_many_they_are() -> None:
    engine = load_engine(OLD_SAMPLES / "alexnet")
    tiles = {low.evidence["tiles"] for low in check("ROOF001", engine)[0]}
    assert {18, 24} <= tiles
    (found,) = run_rules(engine, LintConfig(select=("ROOF001",))).findings
    assert len(found.layers) == 3, "without the first convolution"


def test_too_little_work_for_any_roof() -> None:
    """Where even the shortest layer takes longer than the roof, the roof says nothing."""
    layers = [
        convolution("conv", image("x", size=7), image("y", size=7)),
        reformat("r", image("y", size=7), image("z")),
    ]
    silent("ROOF001", engine_of(layers, ["x", "z"], times=[0.5, 0.05], device=DEVICE))


def test_winograd_multiplies_otherwise() -> None:
    engine, roof_ms = convolving(0.2)
    layers = [
        convolution(
            "conv",
            image("x"),
            image("y"),
            TacticName="ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1",
        ),
        reformat("r", image("y"), image("z")),
    ]
    silent("ROOF001", engine_of(layers, ["x", "z"], times=[200 * roof_ms, roof_ms / 20], device=DEVICE))
    assert only("ROOF001", engine)


def test_no_roof() -> None:
    layers = [convolution("conv", image("x"), image("y"))]
    assert "device" in unchecked("ROOF001", engine_of(layers, ["x", "y"], times=[1.0]))
    assert "--exportProfile" in unchecked("ROOF001", engine_of(layers, ["x", "y"], device=DEVICE))
    opaque = convolution("conv", image("x"), image("y"), Weights={"Type": "Odd", "Count": 5})
    findings, reasons = check("ROOF001", engine_of([opaque], ["x", "y"], times=[1.0], device=DEVICE))
    assert not findings
    assert reasons[0].layers == 1


def moving(slow_ms: float, operators: str = "ReshMove", stream: int = 0) -> Any:
    """Eight copies at 100 GB/s and one that takes `slow_ms`, behind twenty short layers."""
    fast = [reformat(f"r{n}", big(f"t{n}"), big(f"t{n + 1}")) | {"StreamId": 0} for n in range(8)]
    slow = kernel("slow", operators, [big("t8")], big("t9")) | {"StreamId": stream}
    short = [
        reformat(f"s{n}", image(f"a{n}", size=2), image(f"a{n + 1}", size=2)) | {"StreamId": 0}
        for n in range(20)
    ]
    times = [MOVED / 1e8] * 8 + [slow_ms] + [0.002] * 20
    return engine_of([*fast, slow, *short], ["t0", "t9", "a0", "a20"], times=times)


def test_copy_that_crawls() -> None:
    found = only("ROOF002", moving(5 * MOVED / 1e8))
    assert found.layers == (8,)
    assert found.confidence is Confidence.HIGH
    assert found.saving_ms == pytest.approx(4 * MOVED / 1e8)
    silent("ROOF002", moving(3 * MOVED / 1e8))


def test_random_access_is_slow_by_nature() -> None:
    silent("ROOF002", moving(5 * MOVED / 1e8, operators="ReshGathMove"))
