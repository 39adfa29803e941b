"""Two engines matched layer to layer: evidence in order of strength, what contradicts itself left out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from trex_tui.analysis.compare.byname import (
    equal_names,
    foreign_ranges,
    late_names,
    names_hold,
    shared_nodes,
)
from trex_tui.analysis.compare.model import Align, Match
from trex_tui.analysis.compare.pairing import Pairing
from trex_tui.analysis.compare.structure import match_by_order, match_by_structure, match_passive
from trex_tui.analysis.compare.traits import Traits

LEAST_RELATED = 0.3
"""Share of the working layers that good evidence matches, below which two engines are taken for different models."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """Two engines, matched.

    Attributes:
        names_refused: Names are equal, but for different work, so that they were not used.
        related: Whether good evidence matches enough for the engines to be of one model.
    """

    pairing: Pairing
    names_refused: bool
    related: bool


def align_pair(
    left: Traits,
    right: Traits,
    mode: Align = Align.AUTO,
    pins: Sequence[tuple[int, int]] = (),
    among: tuple[Collection[int] | None, Collection[int] | None] = (None, None),
    given: Sequence[tuple[list[int], list[int]]] = (),
) -> Aligned:
    """Match the layers of two engines.

    Args:
        mode: Which evidence may be used.
        pins: Layers of the left and of the right that belong together for sure.
        among: Layers that may be matched; None for all.
        given: Blocks that are known already, as anchors; they are the first of the result, in this order.
    """
    pairing = _begin(left, right, among, given, pins)
    deferred: list[tuple[int, int]] = []
    refused = False
    if mode is not Align.SIGNATURE:
        deferred = _names(pairing, mode)
        if mode is Align.AUTO and not names_hold(pairing, deferred):
            pairing, deferred, refused = _begin(left, right, among, given, pins), [], True
    if mode in (Align.AUTO, Align.SIGNATURE):
        match_by_structure(pairing)
    if mode is not Align.NAME:
        match_passive(pairing, by_role=mode is not Align.SIGNATURE and not refused)
    related = _are_related(pairing)
    if mode in (Align.AUTO, Align.SIGNATURE) and related:
        match_by_order(pairing)
    if mode is not Align.ONNX:
        late_names(pairing, deferred)
    return Aligned(pairing, refused, related)


def _begin(
    left: Traits,
    right: Traits,
    among: tuple[Collection[int] | None, Collection[int] | None],
    given: Sequence[tuple[list[int], list[int]]],
    pins: Sequence[tuple[int, int]],
) -> Pairing:
    pairing = Pairing(left, right, among)
    for lefts, rights in given:
        pairing.join(lefts, rights, Match.NAME, 1.0, "matched through the baseline")
    _pin(pairing, pins)
    return pairing


def _pin(pairing: Pairing, pins: Sequence[tuple[int, int]]) -> None:
    groups: list[tuple[set[int], set[int]]] = []
    for left, right in pins:
        touching = [group for group in groups if left in group[0] or right in group[1]]
        merged = (
            {left}.union(*(group[0] for group in touching)),
            {right}.union(*(group[1] for group in touching)),
        )
        groups = [group for group in groups if group not in touching] + [merged]
    for lefts, rights in groups:
        pairing.join(lefts, rights, Match.MANUAL, 1.0, "pinned by hand")


def _names(pairing: Pairing, mode: Align) -> list[tuple[int, int]]:
    deferred = equal_names(pairing, stated_only=mode is Align.ONNX)
    if mode is not Align.NAME:
        shared_nodes(pairing)
        foreign_ranges(pairing)
        shared_nodes(pairing, opaque=True)
    return deferred


def _are_related(pairing: Pairing) -> bool:
    """Whether at least `LEAST_RELATED` of the working layers of the smaller engine are matched, passive ones aside."""
    matched = total = 0
    counts = []
    for side in (0, 1):
        traits = pairing.traits(side)
        main = [layer for layer, trait in enumerate(traits.of) if not trait.passive]
        matched = sum(pairing.labels[side][layer] >= 0 for layer in main)
        total = len(main)
        counts.append((matched, total))
    if not all(total for _, total in counts):
        return bool(pairing.blocks)
    return all(matched >= LEAST_RELATED * total for matched, total in counts)
