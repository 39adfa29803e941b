"""Columns of the table of engines: every fact that a row of `trex-tui engines` has, with unit, formula and cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Any

from trex_tui.analysis.conditions import doubts
from trex_tui.analysis.energy import power_statistics
from trex_tui.analysis.memory import activation_memory
from trex_tui.analysis.structure import total_by_kind
from trex_tui.analysis.timing import end_to_end
from trex_tui.analysis.trtexec_runs import find_batch_size
from trex_tui.artifacts.file_kinds import ArtifactKind
from trex_tui.engine.cache import per_engine
from trex_tui.engine.columns import vocabulary
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.engine import Engine
from trex_tui.engine.kinds import LayerKind
from trex_tui.errors import Severity

if TYPE_CHECKING:
    from trex_tui.lint.model import LintResult

_UNITS = {
    "_ms": "milliseconds",
    "_bytes": "bytes",
    "_pct": "percent",
    "_qps": "queries per second",
    "_j": "joules",
}
_TIMED = "timing file, else the summary that trtexec printed"
_LAYERS = "layer information"
_SAME_MODEL = "names of inputs and outputs, and of the nodes in the names of layers"
KIND_ENDING = "_time_pct"
"""End of the columns with the share of a kind: `gemm_time_pct`."""


class Need(IntEnum):
    """What a column reads beyond the files of a set that are always read; each level includes those below."""

    FILES = 0
    LOGS = 1
    """The logs of a set whose JSON files state the same facts but this one."""
    LINT = 2
    """All files, and all rules of lint."""


class Better(IntEnum):
    """The direction in which a measure improves."""

    LOWER = -1
    NEITHER = 0
    HIGHER = 1


@dataclass(frozen=True, slots=True, eq=False)
class FleetColumn:
    """A column of the table of engines.

    Attributes:
        name: Flat snake_case, the unit at the end.
        title: Short heading.
        dtype: As in `engine.columns.LayerColumn`; a list of texts is `object`.
        description: Definition, one or two sentences.
        value: Plain value of a loaded engine, None if unknown; None for what is known without loading.
        formula: How it is computed; empty for values stated in a file.
        source: File kind.
        aliases: Short names for the command line and the filter.
        need: What it reads.
        better: Direction in which a measure improves.
        is_measure: Groups have its minimum, median and maximum.
        is_default: In the table without `--columns`.
    """

    name: str
    title: str
    dtype: str
    description: str
    value: Callable[[Engine], Any] | None = None
    formula: str = ""
    source: str = ""
    aliases: tuple[str, ...] = ()
    vocabulary: Mapping[str, str] = field(default_factory=dict)
    is_list: bool = False
    is_free_text: bool = False
    need: Need = Need.FILES
    better: Better = Better.NEITHER
    is_measure: bool = False
    is_default: bool = False

    @property
    def unit(self) -> str:
        """Unit at the end of the name; empty for counts and words."""
        return next((unit for suffix, unit in _UNITS.items() if self.name.endswith(suffix)), "")

    @property
    def is_number(self) -> bool:
        """Whether the column is right-aligned and sorts large values first."""
        return self.dtype in ("float64", "Int64")


def _measure(
    name: str,
    title: str,
    description: str,
    value: Callable[[Engine], Any],
    *,
    better: Better = Better.LOWER,
    dtype: str = "float64",
    is_default: bool = False,
    **more: Any,  # noqa: ANN401 - fields of the result
) -> FleetColumn:
    return FleetColumn(
        name, title, dtype, description, value, better=better, is_measure=True, is_default=is_default, **more
    )


def _text(
    name: str,
    title: str,
    description: str,
    value: Callable[[Engine], Any] | None = None,
    *,
    is_default: bool = False,
    **more: Any,  # noqa: ANN401 - fields of the result
) -> FleetColumn:
    return FleetColumn(name, title, "string", description, value, is_default=is_default, **more)


_latency = per_engine(end_to_end)
_totals = per_engine(total_by_kind)


def _median_ms(engine: Engine) -> float | None:
    latency = _latency(engine)
    return None if latency is None else latency.summary.median_ms


def _p99_ms(engine: Engine) -> float | None:
    latency = _latency(engine)
    return None if latency is None else latency.summary.percentiles_ms.get(99)


def _throughput_qps(engine: Engine) -> float | None:
    latency = _latency(engine)
    return engine.metadata.throughput_qps if latency is None else latency.throughput_qps


def _queries(engine: Engine) -> int | None:
    latency = _latency(engine)
    return None if latency is None else latency.queries


def _batch(engine: Engine) -> int | None:
    batch = find_batch_size(engine)
    return None if batch is None else batch.size


def _per_sample(value: Callable[[Engine], float | None], engine: Engine) -> float | None:
    whole, batch = value(engine), _batch(engine)
    return whole / batch if whole is not None and batch else None


def _samples_per_s(engine: Engine) -> float | None:
    rate, batch = _throughput_qps(engine), _batch(engine)
    return rate * batch if rate is not None and batch else None


def _energy_j(engine: Engine) -> float | None:
    power = power_statistics(engine)
    return None if power is None else power.energy_per_inference_j


def _power_w(engine: Engine) -> float | None:
    power = power_statistics(engine)
    return None if power is None or power.power_w is None else power.power_w.mean


def _activations(engine: Engine) -> int | None:
    return activation_memory(engine).peak_bytes


def _engine_bytes(engine: Engine) -> int | None:
    """Return the size of the engine file, else as a log states it; None if it has whole MiB only."""
    plan = engine.files.get(ArtifactKind.PLAN)
    if plan is not None:
        try:
            return plan.stat().st_size
        except OSError:
            pass
    return engine.metadata.memory.engine_bytes


def _kind_pct(kind: LayerKind, engine: Engine) -> float | None:
    if engine.latency_sum_ms is None:
        return None
    return next((total.latency_pct for total in _totals(engine) if total.key == kind.value), 0.0)


def _main_kinds(engine: Engine) -> list[str] | None:
    """Return the kinds with at least a twentieth of the time, the largest share first."""
    totals = _totals(engine)
    shares = [(total.key, total.latency_pct) for total in totals if (total.latency_pct or 0.0) >= 5.0]
    return [f"{kind} {share:.0f}" for kind, share in shares] or None


def _cautions(engine: Engine) -> list[str] | None:
    """Return reasons to doubt the numbers: conditions of the capture, then damaged files."""
    texts = [doubt.text for doubt in doubts(engine)]
    texts += [
        str(note.file.name if note.file else "") + " " + note.message
        for note in engine.diagnostics
        if note.severity is Severity.ERROR
    ]
    return texts or None


def _date(engine: Engine) -> str | None:
    capture = engine.capture
    return (
        None if capture is None or capture.started is None else capture.started.isoformat(timespec="seconds")
    )


def _findings(engine: Engine) -> int:
    return len(_lint(engine).findings)


def _saving_ms(engine: Engine) -> float | None:
    return _lint(engine).saving_ms


def _lint(engine: Engine) -> LintResult:
    from trex_tui.lint.run import run  # 60 ms for the rules, and few tables have its columns

    return per_engine(run)(engine)


COLUMNS: tuple[FleetColumn, ...] = (
    _text(
        "engine",
        "engine",
        "Name of the engine, unique in the table.",
        is_default=True,
        is_free_text=True,
        aliases=("name",),
    ),
    FleetColumn(
        "run",
        "run",
        "Int64",
        "Number of the run in files with several runs.",
        lambda engine: engine.run_number,
        is_default=True,
    ),
    _text(
        "model",
        "model",
        "Name of the group of engines with equal inputs and outputs and mostly equal nodes.",
        formula=_SAME_MODEL,
        is_default=True,
        is_free_text=True,
    ),
    _text("directory", "directory", "Directory of the files.", is_free_text=True, aliases=("dir",)),
    _text(
        "device",
        "device",
        "Device of the run.",
        lambda engine: engine.device_name,
        source="metadata or log",
        is_default=True,
        is_free_text=True,
    ),
    _text(
        "tensorrt",
        "TensorRT",
        "Version of TensorRT.",
        lambda engine: engine.tensorrt_version,
        source="engine file, log or manifest",
        is_default=True,
        is_free_text=True,
        aliases=("trt",),
    ),
    _text(
        "precision",
        "precision",
        "Precision of the main work: the one with most time among convolutions, GEMMs and attention.",
        lambda engine: None if engine.precision is None else engine.precision.value,
        source=_LAYERS,
        is_default=True,
        vocabulary=vocabulary(DataType),
    ),
    FleetColumn(
        "batch",
        "batch",
        "Int64",
        "Samples per query.",
        _batch,
        source="inputs, else options of the run or the build",
        is_default=True,
    ),
    _measure(
        "latency_median_ms",
        "median ms",
        "Median latency end to end.",
        _median_ms,
        source=_TIMED,
        is_default=True,
        aliases=("median",),
    ),
    _measure(
        "latency_p99_ms",
        "p99 ms",
        "99th percentile of the latency end to end.",
        _p99_ms,
        source=_TIMED,
        is_default=True,
        aliases=("p99",),
    ),
    _measure(
        "throughput_qps",
        "qps",
        "Queries per second.",
        _throughput_qps,
        better=Better.HIGHER,
        source="summary that trtexec printed, else timing file",
        is_default=True,
        aliases=("qps",),
    ),
    FleetColumn(
        "queries",
        "queries",
        "Int64",
        "Queries of the timing run, without its warm-up.",
        _queries,
        source=_TIMED,
    ),
    _measure(
        "per_sample_ms",
        "ms per sample",
        "Median latency per sample.",
        partial(_per_sample, _median_ms),
        formula="latency_median_ms / batch",
        is_default=True,
    ),
    _measure(
        "samples_per_s",
        "samples/s",
        "Samples per second.",
        _samples_per_s,
        better=Better.HIGHER,
        formula="throughput_qps * batch",
    ),
    _measure(
        "weights_bytes",
        "weights",
        "Sum of the weights of all layers; unknown if one layer hides its own and no log has the sum.",
        lambda engine: engine.weights_bytes,
        dtype="Int64",
        source=f"{_LAYERS}, else a log",
        is_default=True,
        aliases=("weights",),
    ),
    _measure(
        "engine_bytes",
        "engine size",
        "Size of the engine file; without it, as a log states it in bytes.",
        _engine_bytes,
        dtype="Int64",
        source="engine file, else a log",
        need=Need.LOGS,
    ),
    _measure(
        "activation_peak_bytes",
        "peak memory",
        "Activations that are live at once, at most; the weights are separate.",
        _activations,
        dtype="Int64",
        formula="largest sum of live tensors over the layers",
        source=_LAYERS,
        is_default=True,
        aliases=("peak",),
    ),
    _measure(
        "context_bytes",
        "context",
        "Device memory of the execution context, as a log states it.",
        lambda engine: engine.metadata.memory.context_bytes,
        dtype="Int64",
        source="log",
        need=Need.LOGS,
    ),
    FleetColumn(
        "layers",
        "layers",
        "Int64",
        "Number of layers.",
        lambda engine: len(engine.layers) or None,
        source=f"{_LAYERS}, else the profile",
        is_measure=True,
        is_default=True,
    ),
    _measure(
        "latency_sum_ms",
        "layer times ms",
        "Sum of the layer times, which usually exceeds the latency.",
        lambda engine: engine.latency_sum_ms,
        source="profile",
    ),
    FleetColumn(
        "main_kinds",
        "% by kind",
        "object",
        "Kinds of layers with at least 5 % of the layer times, with their share in percent.",
        _main_kinds,
        source="profile",
        is_list=True,
        is_default=True,
        is_free_text=True,
        aliases=("kinds",),
    ),
    *(
        FleetColumn(
            f"{kind.value}{KIND_ENDING}",
            f"{kind.value} %",
            "float64",
            f"Share of the layer times in layers of the kind {kind.value}.",
            partial(_kind_pct, kind),
            formula="100 * time of the kind / latency_sum_ms",
            source="profile",
        )
        for kind in LayerKind
    ),
    _measure(
        "energy_per_inference_j",
        "J",
        "Energy per query.",
        _energy_j,
        source="log of power, temperature and clocks",
        is_default=True,
        aliases=("energy",),
    ),
    _measure(
        "energy_per_sample_j",
        "J per sample",
        "Energy per sample.",
        partial(_per_sample, _energy_j),
        formula="energy_per_inference_j / batch",
    ),
    _measure(
        "power_mean_w",
        "W",
        "Mean power during the run.",
        _power_w,
        source="log of power, temperature and clocks",
    ),
    _measure(
        "findings",
        "findings",
        "Number of findings of lint, suppressed ones excluded. All rules run, which takes most of the time.",
        _findings,
        dtype="Int64",
        need=Need.LINT,
    ),
    FleetColumn(
        "saving_ms",
        "saving ms",
        "float64",
        "Possible saving of all findings together.",
        _saving_ms,
        need=Need.LINT,
        is_measure=True,
        aliases=("saving",),
    ),
    _text("date", "date", "Start of the capture.", _date, source="manifest", is_default=True),
    FleetColumn(
        "cautions",
        "cautions",
        "object",
        "Reasons to doubt the numbers: conditions of the capture, files that changed since, damaged files.",
        _cautions,
        source="manifest",
        is_list=True,
        is_default=True,
        is_free_text=True,
    ),
    _text(
        "error",
        "error",
        "Why the files of the engine could not be read; such a row has no other values.",
        is_default=True,
        is_free_text=True,
    ),
)
COLUMNS_BY_NAME = {column.name: column for column in COLUMNS}
ALIASES = {alias: column.name for column in COLUMNS for alias in column.aliases}
DEFAULT_COLUMNS = tuple(column.name for column in COLUMNS if column.is_default)
MEASURES = tuple(column for column in COLUMNS if column.is_measure)
LOADED_COLUMNS = tuple(column for column in COLUMNS if column.value is not None)
"""Columns that need the engine; the others come from its place and from the other rows."""
