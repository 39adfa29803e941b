"""Comparison of engines, and cautions: what makes it less than it seems, in sentences to say before any number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from trex_tui.analysis.compare.align import Aligned
from trex_tui.analysis.compare.changes import difference
from trex_tui.analysis.compare.model import Align, Block, Caution, CautionKind, Comparison, Pin, Side
from trex_tui.analysis.compare.overview import (
    describe_sides,
    judge_engines,
    kind_key,
    module_keys,
    precision_key,
    rank,
    rows_by,
)
from trex_tui.analysis.compare.partition import build_blocks, partition
from trex_tui.analysis.compare.traits import Traits
from trex_tui.analysis.conditions import Condition, ConditionKind, differences, doubts
from trex_tui.analysis.device import reported_device
from trex_tui.artifacts.input_files import gc_paused
from trex_tui.engine.engine import Engine
from trex_tui.errors import TrexError
from trex_tui.text import plural

FEW_ITERATIONS = 10
_CLOCKS = {"clock_ghz": "SM clock", "memory_clock_ghz": "memory clock"}
_OF_CONDITIONS = {
    ConditionKind.THROTTLED: CautionKind.THROTTLED,
    ConditionKind.POWER_MODE: CautionKind.POWER_MODE,
    ConditionKind.CLOCKS: CautionKind.CLOCKS,
    ConditionKind.DRIVER: CautionKind.DRIVER,
}
_GRAVITY = tuple(CautionKind)


def cautions(
    engines: Sequence[Engine],
    sides: Sequence[Side],
    baseline: int,
    aligned: Mapping[int, Aligned],
    *,
    per_batch: bool,
) -> tuple[Caution, ...]:
    """Everything to know beforehand, the gravest first."""
    found: list[Caution] = []
    if per_batch:
        divisors = ", ".join(f"{side.label} by {side.per}" for side in sides)
        found.append(
            Caution(CautionKind.BATCH, None, f"All times are per sample: divided by the batch ({divisors}).")
        )
    for index, engine in enumerate(engines):
        found.extend(_engine_cautions(index, engine, sides[index]))
        found.extend(_capture_cautions(index, f"{sides[index].label}: ", doubts(engine)))
        if index != baseline:
            found.extend(_model_cautions(index, aligned[index], sides[index], sides[baseline]))
            found.extend(_device_cautions(index, engine, engines[baseline], sides[index], sides[baseline]))
            found.extend(_build_cautions(index, sides[index], sides[baseline], per_batch=per_batch))
            labels = sides[index].label, sides[baseline].label
            found.extend(_capture_cautions(index, "", differences((engine, engines[baseline]), labels)))
    return tuple(sorted(found, key=lambda one: (_GRAVITY.index(one.kind), one.engine or 0)))


def _model_cautions(place: int, aligned: Aligned, side: Side, first: Side) -> Iterator[Caution]:
    if not aligned.related:
        yield Caution(
            CautionKind.MODEL,
            place,
            f"{side.label} and {first.label} seem to be of different models: too few layers of one have a counterpart in the "
            "other. Totals can be compared, layers cannot.",
        )
    if aligned.names_refused:
        yield Caution(
            CautionKind.MODEL,
            place,
            f"Equal names stand for different work in {side.label} and {first.label}: names were not used to match layers.",
        )


def _device_cautions(place: int, engine: Engine, other: Engine, side: Side, first: Side) -> Iterator[Caution]:
    if side.device != first.device:
        if side.device and first.device:
            text = f"Different devices: {side.label} ran on {side.device}, {first.label} on {first.device}."
        else:
            unknown = side if side.device is None else first
            text = f"Perhaps different devices: no file of {unknown.label} states where it ran."
        yield Caution(CautionKind.DEVICE, place, text)
    clocks = [reported_device(one.metadata).quantities for one in (engine, other)]
    for key, word in _CLOCKS.items():
        ours, theirs = (clock.get(key) for clock in clocks)
        if ours and theirs and abs(ours - theirs) > 0.005 * theirs:
            yield Caution(
                CautionKind.CLOCKS,
                place,
                f"Different clocks: {word} of {side.label} is {ours:.4g} GHz, of {first.label} {theirs:.4g} GHz.",
            )


def _build_cautions(place: int, side: Side, first: Side, *, per_batch: bool) -> Iterator[Caution]:
    if side.tensorrt_version != first.tensorrt_version:
        are_known = side.tensorrt_version and first.tensorrt_version
        text = (
            f"{'Different' if are_known else 'Perhaps different'} versions of TensorRT: "
            f"{side.label} is of {side.tensorrt_version or 'an unknown version'}, "
            f"{first.label} of {first.tensorrt_version or 'an unknown version'}."
        )
        yield Caution(CautionKind.VERSION, place, text)
    if side.batch != first.batch and side.batch and first.batch:
        times = "" if per_batch else "; times are per inference, not per sample"
        text = f"Different batches: {side.batch} in {side.label}, {first.batch} in {first.label}{times}."
        yield Caution(CautionKind.BATCH, place, text)


def _engine_cautions(place: int, engine: Engine, side: Side) -> Iterator[Caution]:
    label = side.label
    if not engine.has_profile:
        yield Caution(
            CautionKind.PROFILE, place, f"{label} has no profile: the times of its layers are unknown."
        )
    elif side.unprofiled_layers:
        count = f"{side.unprofiled_layers} of {plural(side.layers, 'layer')}"
        yield Caution(CautionKind.PROFILE, place, f"{count} of {label} have no time and are in no sum.")
    iterations = engine.profile_iterations
    if engine.has_profile and iterations is not None and iterations < FEW_ITERATIONS:
        text = f"The profile of {label} is of {plural(iterations, 'iteration')}: times of single layers are mostly noise."
        yield Caution(CautionKind.PROFILE, place, text)
    if not engine.has_graph or engine.names_only:
        yield Caution(
            CautionKind.GRAPH, place, f"{label} tells names of layers only: nothing but names can match them."
        )


def _capture_cautions(place: int, whose: str, conditions: Iterable[Condition]) -> Iterator[Caution]:
    """As sentences."""
    for condition in conditions:
        text = condition.text if whose else f"{condition.text[:1].upper()}{condition.text[1:]}"
        yield Caution(_OF_CONDITIONS.get(condition.kind, CautionKind.CAPTURE), place, f"{whose}{text}.")


def compare(
    engines: Sequence[Engine],
    *,
    baseline: int = 0,
    align: Align | str = Align.AUTO,
    pins: Sequence[Pin] = (),
    per_batch: bool = False,
) -> Comparison:
    """Compare two or more engines. Nearly linear in the number of layers.

    Args:
        engines: In the order of the columns.
        baseline: Place of the engine that the others are compared with.
        align: Which evidence may match layers.
        pins: Matches that a person made; they go before all evidence.
        per_batch: Divide every time by the engine's batch: milliseconds per sample.

    Raises:
        TrexError: Fewer than two engines; no such baseline, layer or engine; `per_batch` with an unknown batch; an unknown
            `align`.
    """
    mode = _check(engines, baseline, align, pins)
    with gc_paused():
        return _compare(engines, baseline, mode, tuple(pins), per_batch)


def _compare(
    engines: Sequence[Engine],
    baseline: int,
    mode: Align,
    pins: tuple[Pin, ...],
    per_batch: bool,
) -> Comparison:
    traits = [Traits(engine) for engine in engines]
    per = [_per(trait, per_batch=per_batch) for trait in traits]
    found, aligned = partition(traits, baseline, mode, pins)
    sides = describe_sides(traits, per, found)
    blocks = build_blocks(traits, baseline, per, found)
    verdicts, medians = judge_engines(engines, sides, baseline)
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
            if index == baseline
            else difference(index, baseline, blocks, sides, related=aligned[index].related)
            for index in range(len(engines))
        ),
        by_kind=rows_by(engines, baseline, per, kind_key),
        by_precision=rows_by(engines, baseline, per, precision_key),
        by_module=rows_by(engines, baseline, per, module_keys),
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
        words = ", ".join(mode.value for mode in Align)
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
