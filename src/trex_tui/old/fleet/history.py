"""Histories: the builds of one model in order, the builds at which a measure changes, and what differs there.

Builds with the same inputs and outputs, batch and device are one history. Where directories hold several such sets, as for
several precisions, sets of the same name are one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from itertools import pairwise

from trex_tui.old.analysis.compare import Cause, compare
from trex_tui.old.analysis.compare.noise import Statistic, judge
from trex_tui.old.analysis.compare.verdicts import LATENCY, series_rows
from trex_tui.old.analysis.conditions import ConditionKind, differences
from trex_tui.old.analysis.stability import resolution_ms, timer_tick_ms
from trex_tui.old.analysis.structure import find_batch
from trex_tui.old.artifacts.discover import PRECISION_WORD
from trex_tui.old.artifacts.file_kinds import display_name, engine_stem
from trex_tui.old.engine.engine import Engine
from trex_tui.old.errors import TrexError
from trex_tui.old.fleet.change_points import (
    ChangePoint,
    Levels,
    find_changes,
    find_exact_changes,
    find_lasting_changes,
)
from trex_tui.old.fleet.engine_values import VALUES
from trex_tui.old.fleet.models import common_words
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.lazy_pattern import lazy_pattern
from trex_tui.old.text import natural_key, plural, shorten_middle

KEYS = ("date", "tensorrt", "path")
AS_GIVEN = ""
"""Key of builds that are in order."""
_WORD = lazy_pattern(r"[a-z0-9]+")
_PRECISION = lazy_pattern(PRECISION_WORD)
_ALIKE = 0.8
"""Share of common names from which two engines are of one model without comparing their layers."""
_LEAST_ROWS = 10
"""Fewest timing rows that are no copy by chance."""
_LONGEST = 40
_BETWEEN, _WITHIN = "between builds", "within one run"


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of a build.

    Attributes:
        key: Name, the unit at the end; also the metric of gates.
        value: Returns it for one run; None if it is unknown.
        is_exact: Equal engines have equal values.
        statistic: The statistic of the latency that it is.
    """

    key: str
    title: str
    value: Callable[[Engine], float | None]
    is_exact: bool = False
    statistic: Statistic | None = None


MEASURES = (
    Measure("latency_median_ms", "median", VALUES["latency_median_ms"], statistic=Statistic.MEDIAN),
    Measure("latency_p99_ms", "p99", VALUES["latency_p99_ms"], statistic=Statistic.P99),
    Measure("energy_per_inference_j", "energy", VALUES["energy_per_inference_j"]),
    Measure("weights_bytes", "weights", VALUES["weights_bytes"], is_exact=True),
    Measure("activation_peak_bytes", "activations", VALUES["activation_peak_bytes"], is_exact=True),
    Measure("layers", "layers", VALUES["layers"], is_exact=True),
)


@dataclass(frozen=True, slots=True)
class Build:
    """An engine of a history, with all its runs.

    Attributes:
        values: Measure -> its value for each run that has one.
    """

    runs: tuple[Engine, ...]
    values: Mapping[str, tuple[float, ...]]

    @classmethod
    def of(cls, runs: Sequence[Engine]) -> Build:
        values = {
            measure.key: tuple(
                value
                for run in (runs[:1] if measure.is_exact else runs)
                if (value := measure.value(run)) is not None
            )
            for measure in MEASURES
        }
        return cls(tuple(runs), values)

    @property
    def engine(self) -> Engine:
        return self.runs[0]

    @property
    def name(self) -> str:
        return self.engine.name

    @property
    def date(self) -> datetime | None:
        """Start of the capture; None without a manifest that has it."""
        return self.engine.capture.started if self.engine.capture is not None else None

    def mean(self, key: str) -> float | None:
        """Return the mean of a measure over the runs; None if no run has it."""
        values = self.values[key]
        if len(values) < 2:
            return values[0] if values else None
        return sum(values) / len(values)


@dataclass(frozen=True, slots=True)
class BuildCause:
    """Something that differs between a build and an earlier one.

    Attributes:
        cause: `tensorrt`, a kind of condition (`driver`, `clocks`), or a cause or kind of change of the comparison.
        delta_ms: Its part of the difference of layer times; None if it has none.
    """

    cause: str
    text: str
    delta_ms: float | None = None


@dataclass(frozen=True, slots=True)
class BuildChange:
    """A build at which measures change.

    Attributes:
        points: Measure -> its change.
        has_other_kernels: Whether the tactics change and stay.
        causes: What differs from the build before.
    """

    index: int
    points: Mapping[str, ChangePoint]
    has_other_kernels: bool
    causes: tuple[BuildCause, ...]


@dataclass(frozen=True, slots=True)
class History:
    """The builds of one model.

    Attributes:
        name: Common part of the file names; the name of the last build if there is none.
        levels: Measure -> its levels; measures that no build has are missing.
        scopes: Measure -> noise that its changes exceed: between builds, or within one run if there are few builds.
        copies: Index of a build with the timing rows of an earlier one -> index of that one. Measures with
            noise are judged without copies.
        undated: Builds without a date; if there are any, the builds are in the order of the paths.
    """

    name: str
    builds: tuple[Build, ...]
    levels: Mapping[str, Levels]
    scopes: Mapping[str, str]
    changes: tuple[BuildChange, ...]
    copies: Mapping[int, int] = field(default_factory=dict)
    undated: tuple[Build, ...] = ()


def make_histories(
    groups: Sequence[Sequence[Engine]], key: str | None = None, *, are_builds: bool = False
) -> list[History]:
    """Return the histories of engines with their runs, the one with most builds first.

    Args:
        are_builds: The user named the builds one by one: those with other precisions in their names are of one history too.
        key: Order of the builds: one of `KEYS`, or `AS_GIVEN`; None for the date if every build has one, else as given.

    Raises:
        TrexError: A build lacks the key.
    """
    histories = []
    for members in _group_models(groups, are_builds=are_builds):
        builds = [Build.of(runs) for runs in members]
        undated = tuple(build for build in builds if build.date is None) if key is None else ()
        histories.append(replace(_make_history(_sort_builds(builds, key)), undated=undated))
    return sorted(histories, key=lambda history: -len(history.builds))


def _group_models(groups: Sequence[Sequence[Engine]], *, are_builds: bool) -> list[list[Sequence[Engine]]]:
    models: dict[object, list[Sequence[Engine]]] = defaultdict(list)
    for runs in groups:
        engine = runs[0]
        tensors = sorted((binding.is_input is not False, binding.name) for binding in engine.bindings)
        precisions = frozenset() if are_builds else _named_precisions(engine)
        named = tuple(tensors) or _stem(engine)
        models[(named, find_batch(engine), engine.device_name, precisions)].append(runs)
    result: list[list[Sequence[Engine]]] = []
    for members in (related for same in models.values() for related in split_models(same)):
        by_place: dict[tuple[str, str], list[Sequence[Engine]]] = defaultdict(list)
        for runs in members:
            by_place[(runs[0].source.directory.name, _stem(runs[0]))].append(runs)
        # A directory whose name is in several builds, as `fp16`, is a variant; other directories are builds.
        result += [same for same in by_place.values() if len(same) > 1]
        members = [same[0] for same in by_place.values() if len(same) == 1]
        if not members:
            continue
        places = Counter(runs[0].source.directory for runs in members)
        if len(places) < 2 or max(places.values()) == 1:
            result.append(members)
            continue
        by_stem: dict[str, list[Sequence[Engine]]] = defaultdict(list)
        for runs in members:
            by_stem[_stem(runs[0])].append(runs)
        result += by_stem.values()
    return result


def split_models(members: Sequence[Sequence[Engine]]) -> list[list[Sequence[Engine]]]:
    """Separate models with equal inputs and outputs: by names, and where these differ by comparing the layers."""
    models: list[list[Sequence[Engine]]] = []
    names: list[frozenset[str]] = []
    for runs in members:
        own = frozenset(node for layer in runs[0].layers for node in layer.onnx_nodes or (layer.name,))
        place = next((place for place, known in enumerate(names) if _are_alike(own, known)), None)
        if place is None:
            place = next(
                (place for place, model in enumerate(models) if _are_related(model[-1][0], runs[0])),
                len(models),
            )
        if place == len(models):
            models.append([])
            names.append(own)
        models[place].append(runs)
    return models


def _are_alike(names: frozenset[str], known: frozenset[str]) -> bool:
    return len(names & known) >= _ALIKE * len(names | known)


def _are_related(engine: Engine, other: Engine) -> bool:
    difference = compare((engine, other)).differences[1]
    return difference is not None and difference.related


def _named_precisions(engine: Engine) -> frozenset[str]:
    """Return the precisions in the names of a set and its directories: sets of a tree that differ in them are variants."""
    words = _WORD.findall(f"{engine.source.directory.absolute()}/{_stem(engine)}".casefold())
    return frozenset(filter(_PRECISION.fullmatch, words))


def _stem(engine: Engine) -> str:
    return next((display_name(engine_stem(path)) for path in engine.files.values()), engine.name)


def _sort_builds(builds: list[Build], key: str | None) -> list[Build]:
    if key is None:
        key = "date" if all(build.date for build in builds) else AS_GIVEN
    if key == "path":
        return sorted(builds, key=lambda build: natural_path(build.engine))
    if not key:
        return builds
    value: Callable[[Build], object] = _date if key == "date" else _version
    lacking = next((build for build in builds if value(build) is None), None)
    if lacking is not None:
        what = "date of capture" if key == "date" else "TensorRT version"
        raise TrexError(f"--key {key}: {lacking.name} has no {what}; use --key path")
    return sorted(builds, key=value)  # type: ignore[arg-type]


def _date(build: Build) -> float | None:
    return None if build.date is None else build.date.timestamp()


def _version(build: Build) -> list[tuple[int, str]] | None:
    version = build.engine.tensorrt_version
    return None if version is None else natural_key(version)


def natural_path(engine: Engine) -> list[tuple[int, str]]:
    """Return the key of the order by path, in which build-9 is before build-10."""
    return natural_key(f"{engine.source.directory}/{engine.name}")


def _make_history(builds: Sequence[Build]) -> History:
    levels: dict[str, Levels] = {}
    scopes: dict[str, str] = {}
    copies = _find_copies(builds)
    for measure in MEASURES:
        if not any(build.values[measure.key] for build in builds):
            continue
        if measure.is_exact:
            levels[measure.key] = find_exact_changes([build.mean(measure.key) for build in builds])
            continue
        scopes[measure.key] = _BETWEEN
        values = [() if index in copies else build.values[measure.key] for index, build in enumerate(builds)]
        found = find_changes(values, _tick(builds, measure))
        if found.reason and measure.statistic is not None:  # too few builds for the noise between them
            neighbours = _judge_neighbours(builds, measure.statistic)
            if neighbours is not None:
                found, scopes[measure.key] = neighbours, _WITHIN
        levels[measure.key] = found
    points: dict[int, dict[str, ChangePoint]] = defaultdict(dict)
    for key, found in levels.items():
        for point in found.changes:
            points[point.index][key] = point
    kernels = find_lasting_changes([_kernels(build.engine) for build in builds])
    changes = [
        BuildChange(
            index, points[index], index in kernels, tuple(find_causes(builds[index - 1], builds[index]))
        )
        for index in sorted({*points, *kernels})
    ]
    name = common_words([_stem(build.engine) for build in builds]) or builds[-1].name
    return History(name, tuple(builds), levels, scopes, tuple(changes), copies)


def _find_copies(builds: Sequence[Build]) -> dict[int, int]:
    """Return the builds with the timing rows of an earlier one."""
    first: dict[tuple[float, ...], int] = {}
    copies = {}
    for index, build in enumerate(builds):
        rows = tuple(time for run in build.runs for time in series_rows(run, LATENCY) or ())
        if len(rows) >= _LEAST_ROWS and first.setdefault(rows, index) != index:
            copies[index] = first[rows]
    return copies


def _kernels(engine: Engine) -> tuple[str, ...] | None:
    """Return the tactics of all layers, sorted; None if no file has them."""
    return (
        tuple(sorted(filter(None, (layer.tactic or layer.tactic_value for layer in engine.layers)))) or None
    )


def _tick(builds: Sequence[Build], measure: Measure) -> float:
    if measure.statistic is None:
        return 0.0
    rows = [series_rows(run, LATENCY) for build in builds for run in build.runs]
    ticks = [timer_tick_ms(sorted(run)) for run in rows if run]
    return max([*ticks, *(resolution_ms(value) for build in builds for value in build.values[measure.key])])


def _judge_neighbours(builds: Sequence[Build], statistic: Statistic) -> Levels | None:
    """Return the changes that exceed the noise within the runs of two builds in succession; None if none can be judged."""
    changes = []
    is_judged = False
    for index, (before, after) in enumerate(pairwise(builds), start=1):
        rows = [
            [run for each in build.runs if (run := series_rows(each, LATENCY))] for build in (before, after)
        ]
        judged = judge(rows[0], rows[1], statistic, (before.name, after.name))
        if judged.values is None or judged.interval is None:
            continue
        is_judged = True
        low, high = judged.interval
        if low > 0.0 or high < 0.0:
            is_last = index == len(builds) - 1
            changes.append(ChangePoint(index, *judged.values, (high - low) / 2.0, is_confirmed=not is_last))
    return Levels(tuple(changes)) if is_judged else None


def find_causes(before: Build, after: Build) -> Iterator[BuildCause]:
    """Yield what differs between two builds: versions and conditions first, then layers by cause."""
    engines = before.engine, after.engine
    versions = [engine.tensorrt_version for engine in engines]
    if None not in versions and versions[0] != versions[1]:
        yield BuildCause("tensorrt", f"TensorRT {versions[0]} ⇒ {versions[1]}")
    for condition in differences(engines, (before.name, after.name)):
        if condition.kind is not ConditionKind.TIME:
            yield BuildCause(condition.kind.value, condition.text)
    comparison = compare(engines, repeats=[before.runs[1:], after.runs[1:]])
    difference = comparison.differences[1]
    assert difference is not None  # only the baseline has none
    if not difference.related:
        yield BuildCause("model", "the layers seem to be of another model")
    named = [reason for reason in difference.reasons if reason.cause is not Cause.UNCHANGED]
    for reason in named:
        yield BuildCause(reason.cause.value, reason.text, reason.delta_ms)
    timed = {reason.cause.value.replace("kernel", "tactic") for reason in named}
    for kind, count in difference.changes.items():
        if count and kind.value not in timed:
            change = next(
                change for block in comparison.blocks for change in block.changes if change.kind is kind
            )
            pair = " ⇒ ".join(shorten_middle(text, _LONGEST) for text in (change.before, change.after))
            yield BuildCause(kind.value, f"{kind.value} of {plural(count, 'block')} ({pair})")


@dataclass(frozen=True, slots=True)
class FirstBuild:
    """The first build that differs from the good one for a cause.

    Attributes:
        index: Its place in the history.
    """

    index: int
    cause: BuildCause


def find_first_builds(history: History, good: int, bad: int) -> list[FirstBuild]:
    """Return the first build after the good one that differs from it, for each cause in which the bad one does too."""
    first: dict[str, FirstBuild] = {}
    for index in range(good + 1, bad + 1):
        causes = list(find_causes(history.builds[good], history.builds[index]))
        for cause in causes:
            first.setdefault(cause.cause, FirstBuild(index, cause))
        if index == bad:
            last = {cause.cause for cause in causes}
    return sorted((one for name, one in first.items() if name in last), key=lambda one: one.index)


def find_build(history: History, wanted: str) -> int:
    """Return the place of a build by its name, or by its number from 1.

    Raises:
        TrexError: There is none, or several.
    """
    named = [index for index, build in enumerate(history.builds) if build.name == wanted]
    if len(named) == 1:
        return named[0]
    if wanted.isdecimal() and 1 <= int(wanted) <= len(history.builds):
        return int(wanted) - 1
    raise TrexError(
        f"--bisect: no build {wanted!r}; give its name or a number from 1 to {len(history.builds)}"
    )
