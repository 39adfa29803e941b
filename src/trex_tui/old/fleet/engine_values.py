"""Values of the table of engines: each column of a loaded engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from trex_tui.old.analysis.conditions import doubts
from trex_tui.old.analysis.energy import power_statistics
from trex_tui.old.analysis.memory import activation_memory
from trex_tui.old.analysis.structure import total_by_kind
from trex_tui.old.analysis.timing import end_to_end
from trex_tui.old.analysis.trtexec_runs import find_batch_size
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.errors import Severity
from trex_tui.old.fleet.engine_columns import KIND_ENDING

if TYPE_CHECKING:
    from trex_tui.old.lint.model import LintResult

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
    from trex_tui.old.lint.run import run  # 60 ms for the rules, and few tables have its columns

    return per_engine(run)(engine)


VALUES: Mapping[str, Callable[[Engine], Any]] = {
    "run": lambda engine: engine.run_number,
    "device": lambda engine: engine.device_name,
    "tensorrt": lambda engine: engine.tensorrt_version,
    "precision": lambda engine: None if engine.precision is None else engine.precision.value,
    "batch": _batch,
    "latency_median_ms": _median_ms,
    "latency_p99_ms": _p99_ms,
    "throughput_qps": _throughput_qps,
    "queries": _queries,
    "per_sample_ms": partial(_per_sample, _median_ms),
    "samples_per_s": _samples_per_s,
    "weights_bytes": lambda engine: engine.weights_bytes,
    "engine_bytes": _engine_bytes,
    "activation_peak_bytes": _activations,
    "context_bytes": lambda engine: engine.metadata.memory.context_bytes,
    "layers": lambda engine: len(engine.layers) or None,
    "latency_sum_ms": lambda engine: engine.latency_sum_ms,
    "main_kinds": _main_kinds,
    "energy_per_inference_j": _energy_j,
    "energy_per_sample_j": partial(_per_sample, _energy_j),
    "power_mean_w": _power_w,
    "findings": _findings,
    "saving_ms": _saving_ms,
    "missing": lambda engine: engine.missing_parts or None,
    "cautions": _cautions,
    **{f"{kind.value}{KIND_ENDING}": partial(_kind_pct, kind) for kind in LayerKind},
    "date": _date,
}
"""Name of a column -> its plain value, None if unknown. Columns that are known without loading are missing."""
