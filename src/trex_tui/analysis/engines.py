"""The table of engines: a row per engine, or per run of files that hold several.

Sets are read here, by an `Executor` (processes), or on a Dask cluster through its executor. A set that cannot be read is a
row with its error.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd

from trex_tui.analysis.conditions import find_doubts
from trex_tui.analysis.energy import power_facts
from trex_tui.analysis.memory import memory_facts
from trex_tui.analysis.options import build_settings, find_batch
from trex_tui.analysis.structure import compute_totals
from trex_tui.analysis.timing import find_latency, timing_facts
from trex_tui.artifacts.discover import ArtifactSet, Discovery
from trex_tui.artifacts.kinds import FileKind
from trex_tui.artifacts.outputs import read_accuracy
from trex_tui.column import RARE, Column
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Engine, per_engine
from trex_tui.errors import ArtifactError, Note, Severity, TrexError
from trex_tui.frames import FLAG, FLOAT, INT, TEXT, is_number, plain_values

Row = dict[str, Any]
Value = Callable[[Engine], Any]


class Loader(Protocol):
    """Loads a set, or one run of it; a function at the top of a module, so that other processes find it."""

    def __call__(self, source: ArtifactSet, run: int | None = None) -> Engine: ...


# Values


@per_engine
def find_precision(engine: Engine) -> str | None:
    """Return the precision with most time (most layers, without times) among layers that multiply, else among all working."""
    layers = engine.layers[engine.layers["precision"].notna()]
    multiplying = [kind.value for kind in LayerKind if kind.multiplies]
    working = layers[layers["kind"].isin([kind.value for kind in LayerKind if kind.is_work])]
    main = working[working["kind"].isin(multiplying)]
    main = main if len(main) else working
    is_timed = main["latency_ms"].gt(0).any()
    weights = main["latency_ms"].fillna(0.0) if is_timed else pd.Series(1.0, main.index)
    sums = weights.groupby(main["precision"], sort=False).sum()
    return str(sums.idxmax()) if len(sums) else None


def _batch(engine: Engine) -> int | None:
    batch = find_batch(engine)
    return batch[0] if batch else None


def _read(find: Value, key: str, engine: Engine) -> Any:  # noqa: ANN401 - a number of some facts
    """Return one of the facts that a function finds; None without them."""
    return getattr(find(engine), key, None)


_qps, _queries = (partial(_read, timing_facts, key) for key in ("throughput_qps", "queries"))
_power_w, _energy_j = (partial(_read, power_facts, key) for key in ("power_mean_w", "energy_per_inference_j"))


def _samples_per_s(engine: Engine) -> float | None:
    rate, batch = _qps(engine), _batch(engine)
    return rate * batch if rate is not None and batch else None


def _per_sample(value: Callable[[Engine], float | None], engine: Engine) -> float | None:
    whole, batch = value(engine), _batch(engine)
    return whole / batch if whole is not None and batch else None


def engine_bytes(engine: Engine) -> int | None:
    """Return the size of the engine file, else as a log states it; None if it has whole MiB only."""
    plan = engine.files.get(FileKind.PLAN)
    try:
        return engine.facts.memory.engine_bytes if plan is None else plan.stat().st_size
    except OSError:
        return engine.facts.memory.engine_bytes


@per_engine
def _kinds(engine: Engine) -> dict[str, float | None]:
    """Return kind -> share of the layer times; None for a kind whose layers have no time, empty without times."""
    if engine.latency_sum_ms is None:
        return {}
    totals = compute_totals(engine, "kind")
    return dict(zip(totals["kind"], plain_values(totals["latency_pct"]), strict=True))


def _kind_pct(engine: Engine, kind: str) -> float | None:
    return _kinds(engine).get(kind, 0.0) if engine.latency_sum_ms is not None else None


def _main_kinds(engine: Engine) -> list[str] | None:
    """Return the kinds with at least a twentieth of the time, the largest share first."""
    return [f"{kind} {share:.0f}" for kind, share in _kinds(engine).items() if (share or 0.0) >= 5.0] or None


def _missing(engine: Engine) -> list[str] | None:
    parts = ["no layer info"] if not engine.has_graph else ["names only"] if engine.has_names_only else []
    return parts + ([] if engine.has_profile else ["no profile"]) or None


def _cautions(engine: Engine) -> list[str] | None:
    """Return reasons to doubt the numbers: conditions of the capture, doubtful timing, damaged files."""
    texts = [doubt.text for doubt in find_doubts(engine)]
    timing = timing_facts(engine)
    texts += [timing.doubt] if timing and timing.doubt else []
    errors = (note for note in engine.notes if note.severity is Severity.ERROR)
    texts += [f"{note.file.name if note.file else ''} {note.message}" for note in errors]
    return texts or None


def _accuracy(engine: Engine, measure: str, choose: Callable[[Iterable[float]], float]) -> float | None:
    """Return a measure of the worst output against the reference; None without a result beside the engine."""
    path = engine.files.get(FileKind.ACCURACY)
    try:
        outputs = read_accuracy(path) if path else []
    except ArtifactError:
        return None
    known = [value for output in outputs if (value := output.get(measure)) is not None]
    return choose(known) if known else None


def _build_options(engine: Engine) -> list[str] | None:
    """Return the options of the build that are not at their default: `label value`."""
    settings = build_settings(engine)
    shown = [
        row for row in settings if row.is_default is False and not row.is_cut and row.key not in _OF_FILES
    ]
    return [f"{row.label} {row.text}" for row in shown] or None


def _date(engine: Engine) -> str | None:
    started = engine.capture.started if engine.capture else None
    return None if started is None else started.isoformat(timespec="seconds")


def _run(engine: Engine) -> int | None:
    if engine.runs.empty:
        return None
    numbers = set(engine.runs["number"][engine.runs["is_shown"].astype(bool)].tolist())
    return numbers.pop() if len(numbers) == 1 else None


_OF_FILES = frozenset(("timing_cache_file",))
"""Settings that name files, not how the engine is."""
_TIMED = "timing file, else the summary that trtexec printed"
_LAYERS = "layer information"
_POWER = "log of power, temperature and clocks"
_ACCURACY = "result of `trex-tui accuracy`"
_FREE, _LIST = {"is_free_text": True}, {"is_free_text": True, "is_list": True}


def _fact(
    key: str,
    title: str,
    text: str,
    value: Value | None,
    *aliases: str,
    **more: Any,  # noqa: ANN401 - fields of the column
) -> tuple[Column, Value | None]:
    return Column(key, title, text, aliases=aliases, **more), value


# fmt: off
_TABLE = (
    _fact("engine", "engine", "Name of the engine, unique in the table.", None, "name", priority=0, **_FREE),
    _fact("model", "model", "Name of the group of engines with equal inputs and outputs and mostly equal nodes.",
          None, formula="names of inputs and outputs, and of the nodes of layers", priority=6, **_FREE),
    _fact("directory", "directory", "Directory of the files.", None, "dir", priority=RARE, **_FREE),
    _fact("run", "run", "Number of the run in files with several runs.", _run),
    _fact("device", "device", "Device of the run.", lambda engine: engine.facts.device_name,
          source="metadata or log", **_FREE),
    _fact("tensorrt", "TensorRT", "Version of TensorRT.", lambda engine: engine.facts.tensorrt_version, "trt",
          source="engine file, log or manifest", **_FREE),
    _fact("precision", "precision", "Precision of the main work: most time among convolutions, GEMMs and attention.",
          find_precision, source=_LAYERS),
    _fact("batch", "batch", "Samples per query.", _batch, source="inputs, else options of the run or the build"),
    _fact("latency_median_ms", "median ms", "Median latency end to end.", partial(find_latency, key="median_ms"),
          "median", source=_TIMED, priority=1),
    _fact("latency_p99_ms", "p99 ms", "99th percentile of the latency end to end.",
          partial(find_latency, key="p99_ms"), "p99", source=_TIMED, priority=3),
    _fact("throughput_qps", "qps", "Queries per second.", _qps, "qps",
          source="summary that trtexec printed, else timing file", priority=2),
    _fact("queries", "queries", "Queries of the timing run, without its warm-up.", _queries, source=_TIMED,
          priority=RARE),
    _fact("per_sample_ms", "ms per sample", "Median latency per sample.",
          partial(_per_sample, partial(find_latency, key="median_ms")), formula="latency_median_ms / batch"),
    _fact("samples_per_s", "samples/s", "Samples per second.", _samples_per_s, formula="throughput_qps · batch",
          priority=RARE),
    _fact("weights_bytes", "weights", "Size of all constants; unknown if one layer hides its own and no log has it.",
          lambda engine: memory_facts(engine).weights_bytes, "weights", source=f"{_LAYERS}, else a log"),
    _fact("engine_bytes", "engine size", "Size of the engine file; without it, as a log states it in bytes.",
          engine_bytes, source="engine file, else a log", priority=RARE),
    _fact("activation_peak_bytes", "peak memory",
          "Activations that are live at once, at most, without weights. A lower bound where `is_peak_at_least`.",
          lambda engine: memory_facts(engine).activation_peak_bytes, "peak",
          formula="largest sum of live tensors over the layers", source=_LAYERS),
    _fact("is_peak_at_least", "peak ≥", "The peak leaves out tensors of unknown size.",
          lambda engine: memory_facts(engine).is_peak_at_least or None, priority=RARE),
    _fact("context_bytes", "context", "Device memory of the execution context.",
          lambda engine: engine.facts.memory.context_bytes, source="log", priority=RARE),
    _fact("layers", "layers", "Number of layers.", lambda engine: len(engine) or None,
          source=f"{_LAYERS}, else the profile"),
    _fact("latency_sum_ms", "layer times ms", "Sum of the layer times, which usually exceeds the latency.",
          lambda engine: engine.latency_sum_ms, source="profile", priority=RARE),
    _fact("main_kinds", "% by kind", "Kinds of layers with at least 5 % of the layer times, with their share.",
          _main_kinds, "kinds", source="profile", priority=7, **_LIST),
    *(_fact(f"{kind.value}_time_pct", f"{kind.value} %", f"Share of the layer times in layers of kind {kind.value}.",
            partial(_kind_pct, kind=kind.value), formula="100 · time of the kind / latency_sum_ms", source="profile",
            priority=RARE) for kind in LayerKind),
    _fact("energy_per_inference_j", "J", "Energy per query.", _energy_j, "energy", source=_POWER),
    _fact("energy_per_sample_j", "J per sample", "Energy per sample.", partial(_per_sample, _energy_j),
          formula="energy_per_inference_j / batch", source=_POWER, priority=RARE),
    _fact("power_mean_w", "W", "Mean power during the run.", _power_w, source=_POWER),
    _fact("accuracy_max_abs", "max error", "Largest absolute difference of an output.",
          partial(_accuracy, measure="max_abs", choose=max), source=_ACCURACY),
    _fact("accuracy_cosine", "cosine", "Smallest cosine similarity of an output.",
          partial(_accuracy, measure="cosine", choose=min), source=_ACCURACY),
    _fact("accuracy_sqnr_db", "SQNR dB", "Smallest SQNR of an output.",
          partial(_accuracy, measure="sqnr_db", choose=min), source=_ACCURACY, priority=RARE),
    _fact("accuracy_argmax_pct", "argmax %", "Smallest share of equal argmax of an output.",
          partial(_accuracy, measure="argmax_agreement_pct", choose=min), source=_ACCURACY),
    _fact("build_options", "options", "Options of the build that not all engines of the model have; those at their "
          "default are left out.", _build_options, "options", source="metadata of the build, else its log", priority=8,
          **_LIST),
    _fact("date", "date", "Start of the capture.", _date, source="manifest", priority=4),
    _fact("missing", "missing", "Layer information and profile that are missing, or have names only.", _missing,
          source="all files", priority=RARE, is_list=True),
    _fact("cautions", "cautions", "Reasons to doubt the numbers: conditions, changed files, damaged files.",
          _cautions, source="manifest and all files", priority=8, **_LIST),
    _fact("error", "error", "Why the files could not be read; such a row has no other values.", None, priority=1,
          **_FREE),
)
# fmt: on
COLUMNS = {column.key: column for column, _ in _TABLE}
"""Columns of the table of engines."""
_VALUES = {column.key: value for column, value in _TABLE if value is not None}


# Models


class Signature(NamedTuple):
    """Identity of a network: the names of its inputs and outputs, its main nodes, and the stem of its files."""

    bindings: tuple[str, ...]
    nodes: frozenset[str]
    stem: str


ALIKE = 0.8
"""Share of common nodes from which two engines are of one model."""
_SEPARATORS = " ._-/"


def sign(engine: Engine) -> Signature:
    """Return the identity of the network of an engine; quantization adds and removes other nodes than the main ones."""
    multiplying = {kind.value for kind in LayerKind if kind.multiplies}
    rows = zip(engine.layers["kind"], engine.layers["name"], engine.layers["onnx_nodes"], strict=True)
    names = [(kind, nodes or re.split(r" \+ |\|\|", name)) for kind, name, nodes in rows]
    main = {node for kind, nodes in names if kind in multiplying for node in nodes}
    nodes = main or {node for _, nodes in names for node in nodes}
    bindings = engine.bindings["role"].fillna("input") + ":" + engine.bindings["name"]
    return Signature(tuple(sorted(bindings)), frozenset(nodes), engine.name.rpartition("/")[2])


def group_models(signatures: Sequence[Signature | None]) -> list[str | None]:
    """Return the name of the model of each engine; None for one that could not be read."""
    groups: list[list[int]] = []
    for index, signature in enumerate(signatures):
        if signature is not None:
            first = (group for group in groups if _are_alike(signature, signatures[group[0]]))
            group = next(first, None)
            if group is None:
                groups.append([index])
            else:
                group.append(index)
    names: list[str | None] = [None] * len(signatures)
    seen: Counter[str] = Counter()
    for group in groups:
        stems = [signature.stem for index in group if (signature := signatures[index]) is not None]
        name = common_words(stems) or stems[0]
        seen[name] += 1
        for index in group:
            names[index] = name if seen[name] == 1 else f"{name} ({seen[name]})"
    return names


def _are_alike(signature: Signature, other: Signature | None) -> bool:
    if other is None or signature.bindings != other.bindings:
        return False
    if not signature.nodes or not other.nodes:
        return signature.nodes == other.nodes and signature.stem == other.stem
    return len(signature.nodes & other.nodes) >= ALIKE * len(signature.nodes | other.nodes)


def common_words(names: Sequence[str]) -> str:
    """Return the words that all names begin with: `alexnet` of `alexnet_fp16` and `alexnet_fp32`; empty without any."""
    first, last = min(names), max(names)
    length = next(
        (place for place, pair in enumerate(zip(first, last, strict=False)) if len(set(pair)) > 1), None
    )
    shared = first[:length]
    if not all(name[len(shared) : len(shared) + 1] in ("", *_SEPARATORS) for name in names):
        shared = shared[: max(map(shared.rfind, _SEPARATORS)) + 1]
    shared = shared.rstrip(_SEPARATORS)
    return shared if len(shared) > 2 else ""


# The table


@dataclass(frozen=True, eq=False)
class EngineTable:
    """A row per engine; a table that filters take.

    Attributes:
        frame: A row per engine or run, with the keys of `columns`; unknown is NA, lists are tuples.
        notes: Damage and doubts of all sets.
    """

    frame: pd.DataFrame
    columns: Mapping[str, Column]
    notes: tuple[Note, ...] = ()

    def column(self, key: str) -> pd.Series:
        """Return a column; words of a filter are searched in `name`, which is that of the engine."""
        return self.frame["engine" if key == "name" else key]


SetRows = tuple[list[tuple[Row, Signature | None]], tuple[Note, ...]]
"""The rows of a set, and the notes on its files."""


class ReadRows(NamedTuple):
    """Reads the rows of a set; what another process needs for it.

    Attributes:
        extra: Key -> value of further columns, such as the number of findings.
    """

    load: Loader
    run: int | None = None
    extra: Mapping[str, Value] = {}

    def __call__(self, source: ArtifactSet) -> SetRows:
        """Return a row per timed run, and the notes. Never raises for the content of files."""
        place = {"engine": source.name, "directory": str(source.directory)}
        try:
            engines = list(_load_runs(source, self.load, self.run))
        except TrexError as error:
            note = getattr(error, "note", Note(Severity.ERROR, source.directory, "", str(error)))
            notes = getattr(error, "notes", ()) or (note,)
            return [({**place, "error": str(error)}, None)], tuple(notes)
        notes = tuple(dict.fromkeys(note for engine in engines for note in engine.notes))
        return [({**place, **make_row(engine, self.extra)}, sign(engine)) for engine in engines], notes


def _load_runs(source: ArtifactSet, load: Loader, run: int | None) -> Iterator[Engine]:
    engine = load(source, run)
    yield engine
    shown = _run(engine)
    if run is None and shown is not None:
        timed = engine.runs[engine.runs["queries"].notna()]
        yield from (load(source, number) for number in sorted({*map(int, timed["number"])} - {shown}))


def make_row(engine: Engine, extra: Mapping[str, Value] = {}) -> Row:
    """Return key -> plain value of an engine."""
    values = {key: value(engine) for key, value in _VALUES.items()}
    return values | {key: value(engine) for key, value in extra.items()}


def read_engines(
    found: Discovery,
    load: Loader,
    *,
    run: int | None = None,
    executor: Executor | None = None,
    extra: Mapping[Column, Value] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> EngineTable:
    """Return the table of all sets found.

    Args:
        load: Loads a set.
        run: The run to show of files with several; None for all.
        executor: Reads the sets; None for this process. A Dask cluster has one: `Client(address).get_executor()`.
        extra: Further columns and their values.
        progress: Called with the number of sets read and their total.
    """
    further = dict(extra or {})
    read = ReadRows(load, run, {column.key: value for column, value in further.items()})
    spread: Callable[..., Iterable[SetRows]] = map if executor is None else executor.map
    rows: list[tuple[Row, Signature | None]] = []
    notes = dict.fromkeys(found.notes)
    for number, (of_set, notes_of_set) in enumerate(spread(read, found.sets), start=1):
        rows += of_set
        notes.update(dict.fromkeys(notes_of_set))
        if progress is not None:
            progress(number, len(found.sets))
    return make_table(rows, COLUMNS | {column.key: column for column in further}, tuple(notes))


def make_table(
    rows: Sequence[tuple[Row, Signature | None]],
    columns: Mapping[str, Column] = COLUMNS,
    notes: tuple[Note, ...] = (),
) -> EngineTable:
    """Return the table of rows, those that `ReadRows` returns; a row may lack values."""
    models = group_models([signature for _, signature in rows])
    values = [{**row, "model": model} for (row, _), model in zip(rows, models, strict=True)]
    _keep_different_options(values)
    return EngineTable(_make_frame(values, columns), columns, notes)


def _keep_different_options(rows: Sequence[Row]) -> None:
    """Remove from the options of each row those that all engines of its model have."""
    models: dict[str | None, list[Row]] = {}
    for row in rows:
        if row.get("build_options"):
            models.setdefault(row["model"], []).append(row)
    for group in models.values():
        common = set.intersection(*(set(row["build_options"]) for row in group)) if len(group) > 1 else set()
        for row in group:
            row["build_options"] = [option for option in row["build_options"] if option not in common] or None


def _make_frame(rows: Sequence[Row], columns: Iterable[str]) -> pd.DataFrame:
    series = {}
    for key in columns:
        values = [tuple(value) if isinstance(value := row.get(key), list) else value for row in rows]
        known = {type(value) for value in values if value is not None}
        kind: Any = "boolean" if known == {bool} else INT if known == {int} else FLOAT
        if known == {str} or not (known or (key in COLUMNS and COLUMNS[key].unit.name)):
            kind = TEXT
        kind = object if tuple in known else kind
        series[key] = pd.Series(pd.array(values, kind))
    return pd.DataFrame(series)


CHANGES = {
    f"{key}_change_pct": Column(
        f"{key}_change_pct",
        f"Δ {COLUMNS[key].title}",
        f"Difference of {COLUMNS[key].title} to the set before of the same model, device and batch.",
        f"100 · ({key} / {key} of the set before - 1)",
    )
    for key in (
        "latency_median_ms",
        "latency_p99_ms",
        "throughput_qps",
        "weights_bytes",
        "energy_per_inference_j",
    )
}
"""Columns that `sort_by_date` adds."""


def sort_by_date(table: EngineTable) -> EngineTable:
    """Return the rows in the order of their captures, with the differences to the set before; without a date last."""
    frame = table.frame.sort_values("date", kind="stable", na_position="last", ignore_index=True)
    groups = frame.groupby(["model", "device", "batch"], dropna=False)
    for name in CHANGES:
        values = frame[name.removesuffix("_change_pct")].astype(FLOAT)
        before = groups[name.removesuffix("_change_pct")].shift().astype(FLOAT)
        frame[name] = 100.0 * (values / before.where(before != 0) - 1.0)
    return EngineTable(frame, {**table.columns, **CHANGES}, table.notes)


FRONT = Column(
    "is_on_front",
    "front",
    "No other engine is at least as good in all measures of `--pareto` and better in one.",
    aliases=("front",),
    priority=0,
)


def mark_front(table: EngineTable, measures: Sequence[str], rows: pd.Series) -> EngineTable:
    """Return the table with the column `FRONT`; NA for an engine without one of the measures.

    Args:
        rows: Mask of the engines to compare.

    Raises:
        TrexError: A measure is not a number.
    """
    frame = table.frame
    if wrong := next((key for key in measures if not is_number(frame[key])), None):
        raise TrexError(
            f"--pareto: {wrong} is not a number; choose measures such as median, weights, energy, cosine"
        )
    # Smaller is better in every column of these.
    costs = pd.DataFrame(
        {key: frame[key].astype(FLOAT) * (-1.0 if is_better_larger(key) else 1.0) for key in measures}
    )
    known = costs[rows & costs.notna().all(axis="columns")]
    values = known.to_numpy("float64")
    is_beaten = [((values <= row).all(axis=1) & (values < row).any(axis=1)).any() for row in values]
    front = pd.Series(pd.NA, frame.index, FLAG)
    front[known.index] = ~np.array(is_beaten, dtype=bool)
    columns = {"engine": COLUMNS["engine"], FRONT.key: FRONT, **table.columns}
    return EngineTable(frame.assign(**{FRONT.key: front})[list(columns)], columns, table.notes)


def is_better_larger(key: str) -> bool:
    """Return whether larger values of a measure are better: rates, and likeness to the reference."""
    return key.endswith(("_qps", "per_s", "_cosine", "_db", "_argmax_pct"))


def varying_columns(table: EngineTable) -> list[str]:
    """Return the columns that are worth showing: with more than one value; `engine` and `error` too."""
    frame = table.frame
    is_alone = frame["error"].isna().sum() == 1
    are_varying = {key: is_alone or len(set(map(str, frame[key].dropna()))) > 1 for key in frame}
    is_repeated = frame["model"].isna() | frame["model"].eq(frame["engine"])
    are_varying["model"] = not is_repeated.all() and are_varying["model"]
    known = [key for key in frame if frame[key].notna().any()]
    return [str(key) for key in known if are_varying[key] or key in ("engine", "error")]
