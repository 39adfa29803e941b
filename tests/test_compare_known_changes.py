"""Layers of an engine found again in the same engine changed in a known way. A wrong pair is a failure."""

from __future__ import annotations

import pytest

from compare_kit import (
    fused,
    load,
    match,
    pairs_of,
    renamed,
    shuffled,
    with_permuted_names,
    without,
)
from helpers import RealSet, real_sets
from trex_tui.engine.model import Engine

DETAILED = [one for one in real_sets(having=["graph"]) if "names-only" not in one.values[0].folder]
FEW = 5


def read(source: RealSet) -> Engine:
    return load(source.path("graph"))


@pytest.mark.parametrize("source", DETAILED)
def test_layers_find_themselves_beside_one_deleted_or_renamed_layer(source: RealSet) -> None:
    engine = read(source)
    for index in range(0, len(engine), max(1, len(engine) // FEW)):
        deleted = without(engine, index)
        assert deleted.count(match(engine, deleted.engine)) == (len(engine) - 1, 0), index
        other = renamed(engine, [index])
        assert other.count(match(engine, other.engine)) == (len(engine), 0), index


@pytest.mark.parametrize("source", DETAILED)
def test_with_other_names_or_another_order_structure_finds_all(source: RealSet) -> None:
    engine = read(source)
    for changed in (renamed(engine, range(len(engine))), shuffled(engine, 1)):
        assert changed.count(match(engine, changed.engine)) == (len(engine), 0)


@pytest.mark.parametrize("source", DETAILED)
def test_names_that_lie_are_refused(source: RealSet) -> None:
    engine = read(source)
    changed = with_permuted_names(engine, 1)
    found = match(engine, changed.engine)
    right, wrong = changed.count(found)
    assert found.are_names_refused
    assert wrong == 0
    assert right >= 0.99 * len(engine)


@pytest.mark.parametrize("is_split", [False, True], ids=["joined", "split"])
@pytest.mark.parametrize("source", DETAILED)
def test_layers_fused_otherwise_are_one_small_block(source: RealSet, is_split: bool) -> None:
    engine = read(source)
    changed = fused(engine, 0.6, 1)
    found = match(changed.engine, engine) if is_split else match(engine, changed.engine)
    exact = 0
    for left, right in pairs_of(found):
        own, made = (right, left) if is_split else (left, right)
        exact += set(own) == set().union(*(changed.origins[layer] for layer in made))
        assert len(own) + len(made) <= 5
    assert exact >= 0.97 * len(changed.origins)
    assert found.is_related
