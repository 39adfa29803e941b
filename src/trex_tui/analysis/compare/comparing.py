"""Engines in, comparison out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trex_tui.analysis.compare.blocks import build_blocks
from trex_tui.analysis.compare.cautions import cautions
from trex_tui.analysis.compare.explain import difference
from trex_tui.analysis.compare.model import Align, Block, Comparison, Pin
from trex_tui.analysis.compare.overview import (
    kind_of,
    modules_of,
    precision_of,
    rank,
    rows_by,
    sides_of,
    verdicts_of,
)
from trex_tui.analysis.compare.partition import partition
from trex_tui.analysis.compare.traits import Traits
from trex_tui.artifacts.jsonfile import gc_paused
from trex_tui.artifacts.timing import Timing
from trex_tui.engine.engine import Engine
from trex_tui.errors import TrexError


def compare(
    engines: Sequence[Engine],
    *,
    baseline: int = 0,
    align: Align | str = Align.AUTO,
    pins: Sequence[Pin] = (),
    per_batch: bool = False,
    more_timings: Mapping[int, Sequence[Timing]] | None = None,
) -> Comparison:
    """Compare two or more engines. Nearly linear in the number of layers.

    Args:
        engines: In the order of the columns.
        baseline: Place of the engine that the others are compared with.
        align: Which evidence may match layers.
        pins: Matches that a person made; they go before all evidence.
        per_batch: Divide every time by the engine's batch: milliseconds per sample.
        more_timings: Further timing runs of engines, by their place: verdicts then know how much runs differ.

    Raises:
        TrexError: Fewer than two engines; no such baseline, layer or engine; `per_batch` with an unknown batch; an unknown
            `align`.
    """
    mode = _check(engines, baseline, align, pins)
    with gc_paused():
        return _compare(engines, baseline, mode, tuple(pins), per_batch, more_timings or {})


def _compare(
    engines: Sequence[Engine],
    baseline: int,
    mode: Align,
    pins: tuple[Pin, ...],
    per_batch: bool,
    more_timings: Mapping[int, Sequence[Timing]],
) -> Comparison:
    traits = [Traits(engine) for engine in engines]
    per = [_per(one, per_batch=per_batch) for one in traits]
    found, aligned = partition(traits, baseline, mode, pins)
    sides = sides_of(traits, per, found)
    blocks = build_blocks(traits, baseline, per, found)
    verdicts, medians = verdicts_of(engines, sides, baseline, more_timings)
    ranking = rank(engines, sides, medians)
    return Comparison(
        engines=tuple(engines),
        baseline=baseline,
        align=mode,
        per_batch=per_batch,
        pins=pins,
        sides=sides,
        cautions=cautions(engines, sides, baseline, aligned, per_batch=per_batch),
        blocks=blocks,
        verdicts=verdicts,
        differences=tuple(
            None
            if place == baseline
            else difference(place, baseline, blocks, sides, related=aligned[place].related)
            for place in range(len(engines))
        ),
        by_kind=rows_by(engines, baseline, per, kind_of),
        by_precision=rows_by(engines, baseline, per, precision_of),
        by_module=rows_by(engines, baseline, per, modules_of),
        ranking=ranking.order,
        ranked_by=ranking.by,
        ranking_ms=ranking.latency_ms,
        _places=_places(engines, blocks),
    )


def _check(engines: Sequence[Engine], baseline: int, align: Align | str, pins: Sequence[Pin]) -> Align:
    if len(engines) < 2:
        raise TrexError(f"a comparison takes two engines or more, not {len(engines)}")
    if not 0 <= baseline < len(engines):
        raise TrexError(f"there is no engine {baseline} to be the baseline: there are {len(engines)}, from 0")
    for pin in pins:
        if not 0 <= pin.engine < len(engines) or pin.engine == baseline:
            raise TrexError(
                f"a pin names engine {pin.engine}, which is none that is compared with the baseline"
            )
        for place, layer in ((baseline, pin.baseline_layer), (pin.engine, pin.layer)):
            if not 0 <= layer < len(engines[place].layers):
                raise TrexError(f"a pin names layer {layer} of {engines[place].name}, which there is not")
    try:
        return Align(align)
    except ValueError:
        words = ", ".join(one.value for one in Align)
        raise TrexError(f"'{align}' is no way to align layers; there are {words}") from None


def _per(traits: Traits, *, per_batch: bool) -> int:
    if not per_batch:
        return 1
    if traits.batch is None:
        name = traits.engine.name
        raise TrexError(
            f"the batch of {name} is unknown: its inputs do not share a first extent; no times per sample"
        )
    return traits.batch


def _places(engines: Sequence[Engine], blocks: Sequence[Block]) -> tuple[tuple[int, ...], ...]:
    places = [[0] * len(engine.layers) for engine in engines]
    for block in blocks:
        for engine, layers in enumerate(block.layers):
            for layer in layers:
                places[engine][layer] = block.index
    return tuple(map(tuple, places))
