"""The confidence of a match against the truth: of the matches at 0.85, 85 % are right at least.

Truth comes from real pairs, whose layers have known roles, and from engines that were changed in known ways. `report()`
prints the table that the documentation states, `python -m test_compare_confidence` in this directory does the same.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import test_compare_real_pairs as real_pairs
from compare_cases import Changed, fused, load_real, renamed, shuffled, without
from transformer import write_transformer

from helpers import REAL_SETS, THOROUGH
from trex_tui.old.analysis.compare import compare

Judged = tuple[float, bool]
"""Confidence of a block that holds a pair of layers, and whether the pair is right."""

LEAST_CASES = 30
"""Fewer pairs of a confidence say nothing about it."""
_BLOCKS = 12
_GONE = 12 if THOROUGH else 3
"""Layers of each engine that are left out, one at a time."""
_SOURCES = (
    "resnet-qat",
    "resnet18_fp16",
    "mobilenet-qat-8.4EA/mobilenet.qat",
    "resnet-A100/fp16/resnet",
    "torch_trt-resnet18",
)


def _of_real_pairs() -> Iterator[Judged]:
    for pair in real_pairs.PAIRS:
        for outcome, block in real_pairs.examine(pair).values():
            if outcome != "alone":
                yield block.confidence, outcome == "right"


def _of_changed_engines() -> Iterator[Judged]:
    for source in REAL_SETS:
        if source.name not in _SOURCES:
            continue
        engine = replace(
            load_real(source), timing=None
        )  # the interval of the medians takes longest, and is not looked at
        count = len(engine.layers)
        everything = range(count)
        changes = [shuffled(engine, 1), fused(engine, 0.3, 1), renamed(engine, everything)]
        gone = [without(engine, index) for index in everything[:: max(1, count // _GONE)]]
        changes += [*gone, *map(_renamed_throughout, gone)]
        for changed in changes:
            for block in compare([engine, changed.engine]).blocks:
                for left in block.layers[0]:
                    for right in block.layers[1]:
                        yield block.confidence, left in changed.origins[right]


def _renamed_throughout(changed: Changed) -> Changed:
    return replace(changed, engine=renamed(changed.engine, range(len(changed.engine.layers))).engine)


def _of_transformers(folder: Path) -> Iterator[Judged]:
    """A block of twelve equal ones is gone: what is left to match without nodes is the order."""
    for case, (names, stated) in enumerate(
        [(("", ""), True), (("", ""), False), (("a", "b"), True), (("a", "b"), False)]
    ):
        whole, ours = write_transformer(folder / f"{case}", range(_BLOCKS), names=names[0], stated=stated)
        for gone in range(0, _BLOCKS, 3):
            blocks = [block for block in range(_BLOCKS) if block != gone]
            part, theirs = write_transformer(folder / f"{case}-{gone}", blocks, names=names[1], stated=stated)
            for block in compare([whole, part]).blocks:
                for left in block.layers[0]:
                    for right in block.layers[1]:
                        yield block.confidence, ours[left] == theirs[right]


@cache
def table() -> dict[float, tuple[int, int]]:
    """Per confidence: right pairs, all pairs."""
    counts: dict[float, list[int]] = defaultdict(lambda: [0, 0])
    with tempfile.TemporaryDirectory() as folder:
        for judged in (_of_real_pairs(), _of_changed_engines(), _of_transformers(Path(folder))):
            for confidence, is_right in judged:
                counts[confidence][0] += is_right
                counts[confidence][1] += 1
    return {confidence: (right, total) for confidence, (right, total) in sorted(counts.items())}


def test_as_many_matches_are_right_as_their_confidence_states(artifacts: Path) -> None:
    assert artifacts.is_dir()
    found = table()
    assert len(found) >= 6
    claimed_too_much = {
        confidence: counts
        for confidence, counts in found.items()
        if counts[1] >= LEAST_CASES and counts[0] < confidence * counts[1]
    }
    assert not claimed_too_much
    assert sum(total for _, total in found.values()) > 2000


def report() -> str:
    """The table as Markdown, confidences by their first digit."""
    counts: dict[float, list[int]] = defaultdict(lambda: [0, 0])
    for confidence, (right, total) in table().items():
        step = int(confidence * 10 + 1e-9) / 10
        counts[step][0] += right
        counts[step][1] += total
    lines = ["| confidence | matches | right |", "| ---: | ---: | ---: |"]
    lines += [
        f"| {step:.1f}{'' if step == 1.0 else f' – {step + 0.09:.2f}'} | {total} | {100 * right / total:.1f} % |"
        for step, (right, total) in sorted(counts.items())
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(report())  # noqa: T201 - the table for the documentation
