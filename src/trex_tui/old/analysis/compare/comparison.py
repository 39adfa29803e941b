"""Compare engines, and collect cautions: facts that limit the comparison, to be shown before any number."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from trex_tui.old.analysis.compare.align import Aligned
from trex_tui.old.analysis.compare.block_noise import judge_blocks
from trex_tui.old.analysis.compare.model import (
    Align,
    Block,
    Caution,
    CautionKind,
    Comparison,
    Difference,
    Pin,
    Row,
    Side,
)
from trex_tui.old.analysis.compare.names import Rename
from trex_tui.old.analysis.compare.partition import Found, build_blocks, deltas, partition
from trex_tui.old.analysis.compare.reasons import Circumstances, difference
from trex_tui.old.analysis.compare.traits import Traits
from trex_tui.old.analysis.compare.verdicts import judge_engines
from trex_tui.old.analysis.conditions import Condition, ConditionKind, differences, doubts
from trex_tui.old.analysis.device import reported_device
from trex_tui.old.analysis.energy import describe_throttled_runs
from trex_tui.old.analysis.stability import TIMER_RESOLUTION_MS
from trex_tui.old.analysis.structure import UNKNOWN
from trex_tui.old.artifacts.input_files import gc_paused
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.errors import Severity, TrexError
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import join_words, plural

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
    repeats: Sequence[Sequence[Engine]],
) -> tuple[Caution, ...]:
    """Return all cautions, the most severe first."""
    result: list[Caution] = []
    if per_batch:
        divisors = ", ".join(f"{side.label} by {side.per}" for side in sides)
        result.append(
            Caution(CautionKind.BATCH, None, f"All times are per sample: divided by the batch ({divisors}).")
        )
    for index, engine in enumerate(engines):
        result.extend(_file_cautions(index, repeats[index], sides[index]))
        result.extend(_engine_cautions(index, engine, sides[index]))
        result.extend(_capture_cautions(index, f"{sides[index].label}: ", doubts(engine)))
        result.extend(
            Caution(CautionKind.THROTTLED, index, text)
            for text in describe_throttled_runs(sides[index].label, repeats[index])
        )
        if index != baseline:
            result.extend(_model_cautions(index, aligned[index], sides[index], sides[baseline]))
            result.extend(_device_cautions(index, engine, engines[baseline], sides[index], sides[baseline]))
            result.extend(_build_cautions(index, sides[index], sides[baseline], per_batch=per_batch))
            labels = sides[index].label, sides[baseline].label
            result.extend(_capture_cautions(index, "", differences((engine, engines[baseline]), labels)))
    return tuple(sorted(result, key=lambda caution: (_GRAVITY.index(caution.kind), caution.engine or 0)))


def _file_cautions(engine_index: int, runs: Sequence[Engine], side: Side) -> Iterator[Caution]:
    """Yield errors of the readers; with several runs, the sources of the numbers."""
    texts = [
        str(diagnostic)
        for run in runs
        for diagnostic in run.diagnostics
        if diagnostic.severity is Severity.ERROR
    ]
    for text in dict.fromkeys(texts):
        yield Caution(CautionKind.FILE, engine_index, f"{side.label}: error: {text}")
    if len(runs) > 1:
        names = ", ".join(run.name for run in runs[1:])
        yield Caution(
            CautionKind.CAPTURE,
            engine_index,
            (
                f"{side.label} has {len(runs)} runs (further: {names}): end-to-end latencies use all, layer "
                "times the first."
            ),
        )


def _model_cautions(engine_index: int, aligned: Aligned, side: Side, first: Side) -> Iterator[Caution]:
    empty = [compared.label for compared in (first, side) if not compared.layers]
    if empty:
        text = f"No layers known of {join_words(empty)}: totals only."
        yield Caution(CautionKind.MODEL, engine_index, text)
    elif not aligned.related:
        yield Caution(
            CautionKind.MODEL,
            engine_index,
            f"{side.label} and {first.label} seem to be different models: too few matching layers. Compare "
            "totals only.",
        )
    elif aligned.few_matched:
        yield Caution(
            CautionKind.MODEL,
            engine_index,
            f"{side.label} and {first.label} have similar layers, but few names match: "
            f"{first.matched_layers} of {plural(first.layers, 'layer')} matched. Rename modules (--rename) "
            "or pin layers (--pins).",
        )
    if aligned.names_refused and aligned.related:
        yield Caution(
            CautionKind.MODEL,
            engine_index,
            (
                f"Equal names mean different layers in {side.label} and {first.label}: names were not used for "
                "matching."
            ),
        )


def _device_cautions(
    engine_index: int, engine: Engine, other: Engine, side: Side, first: Side
) -> Iterator[Caution]:
    if side.device != first.device:
        if side.device and first.device:
            text = f"Different devices: {side.label} ran on {side.device}, {first.label} on {first.device}."
        else:
            unknown = side if side.device is None else first
            text = f"Possibly different devices: device of {unknown.label} unknown."
        yield Caution(CautionKind.DEVICE, engine_index, text)
    clocks = [reported_device(compared.metadata).quantities for compared in (engine, other)]
    for key, word in _CLOCKS.items():
        ours, theirs = (clock.get(key) for clock in clocks)
        if ours and theirs and abs(ours - theirs) > 0.005 * theirs:
            yield Caution(
                CautionKind.CLOCKS,
                engine_index,
                f"Different clocks: {word} of {side.label} is {ours:.4g} GHz, of {first.label} {theirs:.4g} GHz.",
            )


def _build_cautions(engine_index: int, side: Side, first: Side, *, per_batch: bool) -> Iterator[Caution]:
    if side.tensorrt_version != first.tensorrt_version:
        are_known = side.tensorrt_version and first.tensorrt_version
        text = (
            f"{'Different' if are_known else 'Possibly different'} TensorRT versions: "
            f"{side.label} {side.tensorrt_version or 'unknown'}, {first.label} {first.tensorrt_version or 'unknown'}."
        )
        yield Caution(CautionKind.VERSION, engine_index, text)
    if has_other_batch(side, first):
        times = "" if per_batch else "; times are per inference, not per sample"
        text = f"Different batches: {side.batch} in {side.label}, {first.batch} in {first.label}{times}."
        yield Caution(CautionKind.BATCH, engine_index, text)


def _engine_cautions(engine_index: int, engine: Engine, side: Side) -> Iterator[Caution]:
    label = side.label
    if not engine.has_profile:
        yield Caution(CautionKind.PROFILE, engine_index, f"{label} has no profile: layer times unknown.")
    elif side.unprofiled_layers:
        count = f"{side.unprofiled_layers} of {plural(side.layers, 'layer')}"
        yield Caution(CautionKind.PROFILE, engine_index, f"{count} of {label} have no time and are excluded.")
    iterations = engine.profile_iterations
    if engine.has_profile and iterations is not None and iterations < FEW_ITERATIONS:
        text = f"Profile of {label}: {plural(iterations, 'iteration')} only, layer times are mostly noise."
        yield Caution(CautionKind.PROFILE, engine_index, text)
    if engine.layers and (not engine.has_graph or engine.names_only):
        yield Caution(
            CautionKind.GRAPH,
            engine_index,
            f"{label} has layer names only: matched by name.",
        )


def _capture_cautions(engine_index: int, whose: str, conditions: Iterable[Condition]) -> Iterator[Caution]:
    """Yield the conditions of a capture as cautions."""
    for condition in conditions:
        text = condition.text if whose else f"{condition.text[:1].upper()}{condition.text[1:]}"
        yield Caution(
            _OF_CONDITIONS.get(condition.kind, CautionKind.CAPTURE), engine_index, f"{whose}{text}."
        )


def compare(
    engines: Sequence[Engine],
    *,
    baseline: int = 0,
    align: Align | str = Align.AUTO,
    pins: Sequence[Pin] = (),
    renames: Sequence[Rename] = (),
    per_batch: bool | None = None,
    repeats: Sequence[Sequence[Engine]] | None = None,
) -> Comparison:
    """Compare two or more engines. Nearly linear in the number of layers.

    Args:
        engines: In the order of the columns.
        baseline: Index of the engine that the others are compared with.
        align: Evidence that may match layers.
        pins: Matches made by the user; they take precedence over all evidence.
        renames: Substitutions in the names of layers and ONNX nodes of all engines, for matching only.
        per_batch: Divide every time by the engine's batch: milliseconds per sample. None does so if the batches are known
            and differ.
        repeats: Per engine, further runs of it: for the verdict and end-to-end latencies.

    Raises:
        TrexError: Fewer than two engines; an invalid baseline, layer or engine; `per_batch` with an unknown batch; an unknown
            `align`.
    """
    mode = _check(engines, baseline, align, pins)
    further = repeats or [()] * len(engines)
    runs = tuple((engine, *others) for engine, others in zip(engines, further, strict=True))
    with gc_paused():
        return _compare(runs, baseline, mode, tuple(pins), tuple(renames), per_batch)


def _compare(
    repeats: tuple[tuple[Engine, ...], ...],
    baseline: int,
    mode: Align,
    pins: tuple[Pin, ...],
    renames: tuple[Rename, ...],
    wanted: bool | None,
) -> Comparison:
    engines = [runs[0] for runs in repeats]
    traits = [Traits(engine, renames) for engine in engines]
    batches = {trait.batch for trait in traits}
    per_batch = (len(batches) > 1 and None not in batches) if wanted is None else wanted
    per = [_per(trait, per_batch=per_batch) for trait in traits]
    groups, aligned = partition(traits, baseline, mode, pins)
    sides = describe_sides(traits, per, groups)
    blocks = judge_blocks(build_blocks(traits, baseline, per, groups), engines, per, baseline)
    verdicts, medians = judge_engines(repeats, sides, baseline)
    ranking = rank(engines, sides, medians)
    return Comparison(
        engines=tuple(engines),
        baseline=baseline,
        align=mode,
        per_batch=per_batch,
        is_unit_stated=wanted is not None,
        pins=pins,
        sides=sides,
        cautions=cautions(engines, sides, baseline, aligned, per_batch=per_batch, repeats=repeats),
        blocks=blocks,
        verdicts=verdicts,
        differences=tuple(
            None
            if verdict is None
            else _compare_layers(
                blocks,
                Circumstances(
                    index,
                    baseline,
                    sides,
                    (repeats[baseline], repeats[index]),
                    verdict,
                    has_other_device=has_other_device(sides[index], sides[baseline]),
                    has_other_batch=has_other_batch(sides[index], sides[baseline]),
                    related=aligned[index].related,
                ),
                per_batch=per_batch,
            )
            for index, verdict in enumerate(verdicts)
        ),
        by_kind=rows_by(engines, baseline, per, kind_key),
        by_precision=rows_by(engines, baseline, per, precision_key),
        by_module=rows_by(engines, baseline, per, module_keys(engines, blocks)),
        ranking=ranking.order,
        ranked_by=ranking.by,
        ranking_ms=ranking.latency_ms,
        repeats=repeats,
        _places=_places(engines, blocks),
    )


def _compare_layers(blocks: Sequence[Block], given: Circumstances, *, per_batch: bool) -> Difference:
    """Return the difference of layer times. Its headline begins with causes other than kernels: batch, device, times."""
    found = difference(blocks, given)
    side, first = given.sides[given.engine], given.sides[given.baseline]
    texts = []
    if given.has_other_batch:
        texts.append(f"batch {side.batch} against {first.batch}")
    if given.has_other_device:
        texts.append(f"{side.device} against {first.device}")
    if texts:
        texts[-1] += f"; times are per {'sample' if per_batch else 'inference'}"
    if abs(found.unattributed_ms) > TIMER_RESOLUTION_MS:
        missing = side.unprofiled_layers + first.unprofiled_layers
        texts.append(f"incomplete: {plural(missing, 'layer')} without a time")
    if not texts:
        return found
    text = ", ".join(texts)
    return replace(found, headline=f"{text[:1].upper()}{text[1:]}. {found.headline}")


def has_other_batch(side: Side, first: Side) -> bool:
    """Return whether the batches of both are known and differ."""
    return bool(side.batch and first.batch) and side.batch != first.batch


def has_other_device(side: Side, first: Side) -> bool:
    """Return whether the devices of both are known and differ."""
    return bool(side.device and first.device) and side.device != first.device


def _check(engines: Sequence[Engine], baseline: int, align: Align | str, pins: Sequence[Pin]) -> Align:
    if len(engines) < 2:
        raise TrexError(f"a comparison needs two or more engines, not {len(engines)}")
    if not 0 <= baseline < len(engines):
        raise TrexError(f"baseline {baseline} does not exist: {len(engines)} engines, from 0")
    for pin in pins:
        if not 0 <= pin.engine < len(engines) or pin.engine == baseline:
            raise TrexError(f"pin of unknown engine {pin.engine}")
        for engine_index, layer in ((baseline, pin.baseline_layer), (pin.engine, pin.layer)):
            if not 0 <= layer < len(engines[engine_index].layers):
                raise TrexError(f"pin of unknown layer {layer} of {engines[engine_index].name}")
    try:
        return Align(align)
    except ValueError:
        words = ", ".join(mode.value for mode in Align)
        raise TrexError(f"'{align}' is not an alignment; use one of {words}") from None


def _per(traits: Traits, *, per_batch: bool) -> int:
    if not per_batch:
        return 1
    if traits.batch is None:
        name = traits.engine.name
        raise TrexError(f"batch of {name} unknown (inputs have different first extents): no times per sample")
    return traits.batch


def _places(engines: Sequence[Engine], blocks: Sequence[Block]) -> tuple[tuple[int, ...], ...]:
    places = [[0] * len(engine.layers) for engine in engines]
    for block in blocks:
        for engine, layers in enumerate(block.layers):
            for layer in layers:
                places[engine][layer] = block.index
    return tuple(map(tuple, places))


MODULE_DEPTH = 2


def make_labels(engines: Sequence[Engine]) -> list[str]:
    """Return unique labels of the engines; equal names are extended by their directory, else by ` (2)` and so on."""
    counts = Counter(engine.name for engine in engines)
    folders = [_folders(engine) for engine in engines]
    names = []
    for engine, own in zip(engines, folders, strict=True):
        alike = [folder for other, folder in zip(engines, folders, strict=True) if other.name == engine.name]
        depth = next((depth for depth in range(1, len(own) + 1) if _differ(alike, depth)), 0)
        names.append(
            engine.name if counts[engine.name] == 1 else "/".join([*own[len(own) - depth :], engine.name])
        )
    return _numbered(names)


def _folders(engine: Engine) -> tuple[str, ...]:
    file = next(iter(engine.files.values()), None)
    return () if file is None else file.resolve().parent.parts[1:]


def _differ(folders: Sequence[tuple[str, ...]], depth: int) -> bool:
    return len({folder[-depth:] for folder in folders}) == len(folders)


def _numbered(names: Sequence[str]) -> list[str]:
    labels: list[str] = []
    for name in names:
        label, count = name, 1
        while label in labels or (count > 1 and label in names):
            count += 1
            label = f"{name} ({count})"
        labels.append(label)
    return labels


def describe_sides(traits: Sequence[Traits], per: Sequence[int], groups: Sequence[Found]) -> tuple[Side, ...]:
    """Return the facts of each engine."""
    matched: list[list[int]] = [[] for _ in traits]
    for block in groups:
        if sum(map(bool, block.layers)) > 1:
            for index, layers in enumerate(block.layers):
                matched[index].extend(layers)
    labels = make_labels([trait.engine for trait in traits])
    return tuple(
        _side(engine_traits, label, divisor, layers)
        for engine_traits, label, divisor, layers in zip(traits, labels, per, matched, strict=True)
    )


def _side(traits: Traits, label: str, per: int, matched: Sequence[int]) -> Side:
    engine = traits.engine
    total = engine.latency_sum_ms
    share: float | None
    if total:
        share = 100.0 * math.fsum(engine.layers[layer].latency_ms or 0.0 for layer in matched) / total
    else:
        share = 100.0 * len(matched) / len(engine.layers) if engine.layers else None
    return Side(
        label=label,
        layers=len(engine.layers),
        matched_layers=len(matched),
        matched_pct=share,
        latency_sum_ms=None if total is None else total / per,
        unprofiled_layers=sum(layer.latency_ms is None for layer in engine.layers),
        batch=traits.batch,
        per=per,
        device=engine.device_name,
        tensorrt_version=engine.tensorrt_version,
    )


def rows_by(
    engines: Sequence[Engine],
    baseline: int,
    per: Sequence[int],
    keys_of: Callable[[int, Layer], Sequence[str]],
) -> tuple[Row, ...]:
    """Return the time per key and engine, the largest difference first. The time of a layer is split equally among its keys.

    Args:
        keys_of: Returns the keys of a layer of an engine.
    """
    counts: dict[str, list[int]] = defaultdict(lambda: [0] * len(engines))
    times: dict[str, list[list[float]]] = defaultdict(lambda: [[] for _ in engines])
    for index, (engine, divisor) in enumerate(zip(engines, per, strict=True)):
        for layer in engine.layers:
            keys = keys_of(index, layer)
            for key in dict.fromkeys(keys):
                counts[key][index] += 1
            if layer.latency_ms is not None:
                part = layer.latency_ms / divisor / len(keys)
                for key in keys:
                    times[key][index].append(part)
    rows = []
    for key, layers in counts.items():
        sums = tuple(
            math.fsum(known) if known else (None if count or not engine.has_profile else 0.0)
            for known, count, engine in zip(times[key], layers, engines, strict=True)
        )
        rows.append(Row(key, tuple(layers), sums, deltas(sums, baseline)))
    return tuple(sorted(rows, key=lambda row: (-_largest(row.deltas_ms), -_largest(row.latency_ms), row.key)))


def _largest(values: Sequence[float | None]) -> float:
    return max((abs(value) for value in values if value is not None), default=0.0)


def kind_key(_: int, layer: Layer) -> Sequence[str]:
    """Return the key of the matrix by kind."""
    return (layer.kind.value,)


def precision_key(_: int, layer: Layer) -> Sequence[str]:
    """Return the key of the matrix by precision."""
    return (layer.precision.value if layer.precision else UNKNOWN,)


def module_keys(engines: Sequence[Engine], blocks: Sequence[Block]) -> Callable[[int, Layer], Sequence[str]]:
    """Return the key function of the matrix by module: a layer has the module of its block."""
    places = _places(engines, blocks)

    def keys_of(engine: int, layer: Layer) -> Sequence[str]:
        return ("/".join(blocks[places[engine][layer.index]].module[:MODULE_DEPTH]),)

    return keys_of


@dataclass(frozen=True, slots=True)
class Ranking:
    """Engines by latency; see `Comparison.ranking`."""

    order: tuple[int, ...]
    by: str
    latency_ms: tuple[float | None, ...]


def rank(engines: Sequence[Engine], sides: Sequence[Side], medians: Sequence[float | None]) -> Ranking:
    """Rank engines by the best metric that all have; by the sum of layer times if there is none."""
    printed = []
    for engine, side in zip(engines, sides, strict=True):
        summary = engine.metadata.latency()
        value = summary.median_ms if summary else None
        printed.append(None if value is None else value / side.per)
    sources: list[tuple[str, Sequence[float | None]]] = [
        ("median latency of the timing rows", medians),
        ("median latency printed by trtexec", printed),
        ("sum of layer times", [side.latency_sum_ms for side in sides]),
    ]
    by, numbers = next((source for source in sources if None not in source[1]), sources[-1])
    order = sorted(
        range(len(engines)), key=lambda index: (numbers[index] is None, numbers[index] or 0.0, index)
    )
    return Ranking(tuple(order), by, tuple(numbers))
