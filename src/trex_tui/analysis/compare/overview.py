"""Overview of the engines of a comparison: facts, matrices, verdicts and ranking."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trex_tui.analysis.compare.model import Row, Side, Verdict
from trex_tui.analysis.compare.noise import judge
from trex_tui.analysis.compare.partition import Found, deltas
from trex_tui.analysis.compare.traits import Traits
from trex_tui.analysis.modules import find_module
from trex_tui.analysis.statistics import median
from trex_tui.analysis.structure import UNKNOWN
from trex_tui.analysis.timing import warmup_ms, without_warmup
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer

MODULE_DEPTH = 2


def make_labels(engines: Sequence[Engine]) -> list[str]:
    """Names of the engines; where they are equal, told apart by their folders, else by ` (2)` and so on."""
    counts = Counter(engine.name for engine in engines)
    folders = [_folders(engine) for engine in engines]
    names = []
    for engine, own in zip(engines, folders, strict=True):
        alike = [one for other, one in zip(engines, folders, strict=True) if other.name == engine.name]
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


def describe_sides(traits: Sequence[Traits], per: Sequence[int], found: Sequence[Found]) -> tuple[Side, ...]:
    """The facts of each engine."""
    matched: list[list[int]] = [[] for _ in traits]
    for block in found:
        if sum(map(bool, block.layers)) > 1:
            for index, layers in enumerate(block.layers):
                matched[index].extend(layers)
    labels = make_labels([trait.engine for trait in traits])
    return tuple(
        _side(one, label, divisor, layers)
        for one, label, divisor, layers in zip(traits, labels, per, matched, strict=True)
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
    keys_of: Callable[[Layer], Sequence[str]],
) -> tuple[Row, ...]:
    """Time per key and engine, the largest difference first. A layer of several keys is shared equally among them."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0] * len(engines))
    times: dict[str, list[list[float]]] = defaultdict(lambda: [[] for _ in engines])
    for index, (engine, divisor) in enumerate(zip(engines, per, strict=True)):
        for layer in engine.layers:
            keys = keys_of(layer)
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


def kind_key(layer: Layer) -> Sequence[str]:
    """The key of the matrix by kind."""
    return (layer.kind.value,)


def precision_key(layer: Layer) -> Sequence[str]:
    """The key of the matrix by precision."""
    return (layer.precision.value if layer.precision else UNKNOWN,)


def module_keys(layer: Layer) -> Sequence[str]:
    """The keys of the matrix by module, as in `analysis.rollup.by_module`."""
    return (find_module(layer, MODULE_DEPTH),)


def _latency_rows(engine: Engine, per: int) -> list[float]:
    """Latencies of the timing run without warm-up and unknown rows, divided by `per`; empty if there is none."""
    if engine.timing is None:
        return []
    rows, _ = without_warmup(engine.timing, warmup_ms(engine))
    column = engine.timing.latency_ms or engine.timing.columns.get("computeMs")
    return [column[row] / per for row in rows if column[row] == column[row]] if column else []


def judge_engines(
    engines: Sequence[Engine], sides: Sequence[Side], baseline: int
) -> tuple[tuple[Verdict | None, ...], list[float | None]]:
    """Each engine judged against the baseline, and the median of each one's rows."""
    runs = [_latency_rows(engine, side.per) for engine, side in zip(engines, sides, strict=True)]
    verdicts = tuple(
        None if index == baseline else judge(runs[baseline], run, (sides[baseline].label, sides[index].label))
        for index, run in enumerate(runs)
    )
    return verdicts, [median(run) if run else None for run in runs]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Engines by latency; see `Comparison.ranking`."""

    order: tuple[int, ...]
    by: str
    latency_ms: tuple[float | None, ...]


def rank(engines: Sequence[Engine], sides: Sequence[Side], medians: Sequence[float | None]) -> Ranking:
    """Rank engines by the best number that all have; by the sum of layer times if there is none."""
    printed = []
    for engine, side in zip(engines, sides, strict=True):
        summary = engine.metadata.latency()
        value = summary.median_ms if summary else None
        printed.append(None if value is None else value / side.per)
    sources: list[tuple[str, Sequence[float | None]]] = [
        ("median latency of the timing rows", medians),
        ("median latency as trtexec printed it", printed),
        ("sum of layer times", [side.latency_sum_ms for side in sides]),
    ]
    by, numbers = next((source for source in sources if None not in source[1]), sources[-1])
    order = sorted(
        range(len(engines)), key=lambda place: (numbers[place] is None, numbers[place] or 0.0, place)
    )
    return Ranking(tuple(order), by, tuple(numbers))
