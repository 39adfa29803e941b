"""PLUG001: copies that a plugin causes, and copies beside it that it does not."""

from __future__ import annotations

import pytest

from lint_kit import (
    LINEAR,
    convolution,
    engine_of,
    image,
    kernel,
    layer,
    noop,
    only,
    plugin,
    reformat,
    silent,
    unchecked,
)
from trex_tui.lint.rule import Confidence

BEFORE = reformat("in", image("x"), image("p", dtype=LINEAR))
PLUGIN = plugin("norm", image("p", dtype=LINEAR), image("q", dtype=LINEAR))
AFTER = reformat("out", image("q", dtype=LINEAR), image("y"))


def test_copies_on_both_sides() -> None:
    found = only("PLUG001", engine_of([BEFORE, PLUGIN, AFTER], ["x", "y"], times=[0.03, 0.08, 0.02]))
    assert found.layers == (0, 1, 2)
    assert found.savings_ms == {0: 0.03, 2: 0.02}
    assert found.confidence is Confidence.HIGH
    assert "1 plugin MyPlugin 0.08 ms" in found.message


def test_copy_behind_scale_and_noop() -> None:
    scale = layer(
        "scale", "Scale", [image("q", dtype=LINEAR)], [image("r", dtype=LINEAR)], ParameterType="Scale"
    )
    nothing = noop("n", image("r", dtype=LINEAR), image("s", dtype=LINEAR))
    after = reformat("out", image("s", dtype=LINEAR), image("y"))
    found = only("PLUG001", engine_of([PLUGIN, scale, nothing, after], ["p", "y"]))
    assert found.layers == (0, 3)
    assert found.saving_ms is None


def test_copy_that_serves_another_layer_counts_half() -> None:
    other = convolution("conv", image("p", dtype=LINEAR), image("z"))
    found = only("PLUG001", engine_of([BEFORE, PLUGIN, other], ["x", "q", "z"], times=[0.03, 0.08, 0.2]))
    assert found.savings_ms == {0: pytest.approx(0.015)}


def test_nothing_to_copy() -> None:
    silent("PLUG001", engine_of([PLUGIN, convolution("conv", image("q"), image("y"))], ["p", "y"]))
    silent("PLUG001", engine_of([BEFORE, PLUGIN, AFTER], ["x", "y"], times=[0.0, 0.08, 0.0]))
    gather = kernel("k", "Slic", [image("x")], image("p"))
    silent("PLUG001", engine_of([gather, PLUGIN], ["x", "q"]))
    assert "detailed" in unchecked("PLUG001", engine_of([{"Name": "norm"}], names_only=True))
