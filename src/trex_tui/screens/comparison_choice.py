"""What a person chose to compare: engines, baseline, evidence, and layers pinned by hand."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trex_tui.analysis.compare import Align, Comparison, Pin
from trex_tui.artifacts import ArtifactSet
from trex_tui.engine.engine import Engine
from trex_tui.screens.reload import corresponding

MOST_OTHERS = 3
"""Engines beside the one on screen."""


@dataclass(frozen=True)
class Tie:
    """Two layers of two engines that a person says belong together."""

    ends: tuple[tuple[Engine, int], tuple[Engine, int]]

    def layer_in(self, engine: Engine) -> int | None:
        """Index of the layer that it holds of an engine; None if it holds none."""
        return next((index for one, index in self.ends if one is engine), None)

    def moved(self, old: Engine, new: Engine) -> Tie | None:
        """The same after an engine was read again; None if its layer is gone."""
        ends = []
        for engine, index in self.ends:
            if engine is not old:
                ends.append((engine, index))
                continue
            layer = corresponding(old, new, old.layers[index])
            if layer is None:
                return None
            ends.append((new, layer.index))
        return Tie((ends[0], ends[1]))


@dataclass
class Choice:
    """What a person chose to compare, and how.

    Attributes:
        others: The engines beside this one.
        baseline: One of all.
        ties: What a person pinned.
    """

    others: tuple[Engine, ...] = ()
    baseline: Engine | None = None
    align: Align = Align.AUTO
    per_batch: bool = False
    ties: tuple[Tie, ...] = ()

    def replace_engine(self, old: Engine, new: Engine) -> None:
        """An engine was read again."""
        self.others = tuple(new if one is old else one for one in self.others)
        self.baseline = new if self.baseline is old else self.baseline
        self.ties = tuple(tie for one in self.ties if (tie := one.moved(old, new)) is not None)


def place_of(comparison: Comparison | None, engine: Engine) -> int:
    """Place of an engine in a comparison.

    Raises:
        ValueError: It is not in it.
    """
    for place, one in enumerate(comparison.engines if comparison else ()):
        if one is engine:
            return place
    raise ValueError(f"{engine.name} is not compared")


def pins_of(engines: Sequence[Engine], ties: Iterable[Tie]) -> list[Pin]:
    """Ties as a comparison of these engines takes them; those without the baseline mean nothing to it."""
    pins = []
    for tie in ties:
        first = tie.layer_in(engines[0])
        for place, engine in enumerate(engines[1:], start=1):
            layer = tie.layer_in(engine)
            if first is not None and layer is not None:
                pins.append(Pin(first, place, layer))
    return pins


def is_same_set(source: ArtifactSet, engine: Engine) -> bool:
    """Whether these are the files of an engine."""
    return {*map(os.path.realpath, source.files.values())} == {
        *map(os.path.realpath, engine.source.files.values())
    }


def leads_to(path: str, engine: Engine) -> bool:
    """Whether a path is where an engine lies."""
    real = os.path.realpath(path)
    places = [engine.source.directory, *engine.source.files.values()]
    return any(os.path.realpath(place) == real for place in places)
