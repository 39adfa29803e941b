"""MEM001: activations that wait, and those that only are large."""

from __future__ import annotations

from typing import Any

from lint_kit_small import LINEAR, check, engine_of, image, kernel, only, silent, unchecked
from trex_tui.lint.rule import Confidence


def waiting(layers: int, size: int = 1600, streams: int = 0) -> Any:
    """A value that the last of so many small layers reads again."""
    first = kernel(
        "first", "Mul", [image("x", size=8)], image("skip", size=size, dtype=LINEAR), image("a0", size=8)
    )
    middle = [
        kernel(f"k{n}", "Mul", [image(f"a{n}", size=8)], image(f"a{n + 1}", size=8)) for n in range(layers)
    ]
    last = kernel(
        "last",
        "Add",
        [image(f"a{layers}", size=8), image("skip", size=size, dtype=LINEAR)],
        image("y", size=8),
    )
    every = [first, *middle, last]
    if streams:
        every = [raw | {"StreamId": place % streams} for place, raw in enumerate(every)]
    return engine_of(every, ["x", "y"])


def test_skip_connection_over_many_layers() -> None:
    found = only("MEM001", waiting(12))
    assert found.layers == (0, 13)
    assert found.saving_ms is None
    assert "'skip' holds 312 MiB over 13 layers" in found.message
    assert found.confidence is Confidence.MEDIUM


def test_order_over_streams_is_only_the_file_s() -> None:
    assert only("MEM001", waiting(12, streams=1)).confidence is Confidence.MEDIUM
    assert only("MEM001", waiting(12, streams=2)).confidence is Confidence.LOW


def test_short_or_small() -> None:
    silent("MEM001", waiting(5))
    silent("MEM001", waiting(12, size=100))


def test_unknown_sizes_are_said() -> None:
    layers = [
        kernel("a", "Mul", [image("x")], image("m", size=-1)),
        kernel("b", "Mul", [image("m", size=-1)], image("y")),
    ]
    findings, reasons = check("MEM001", engine_of(layers, ["x", "y"]))
    assert not findings
    assert "1 activation of unknown size" in reasons[0].reason
    assert "detailed" in unchecked("MEM001", engine_of([{"Name": "a"}], names_only=True))
