"""Power, temperature and clocks of a run, and the energy per inference, from samples taken during the run.

A file of samples begins before the measurement and ends after it, so the relevant samples are selected first. Two sources are
reliable: the stage that `trex-tui capture` writes beside each sample, and the time stamps of trtexec's log, which have a
resolution of a second. Otherwise samples with a busy GPU are used, which makes the energy an estimate. If a file supports
neither, power is over the whole file, and the energy is unknown.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from trex_tui.analysis.options import timed_log
from trex_tui.analysis.timing import timing_facts, warmup_ms
from trex_tui.artifacts.power import MEASURING, PowerLog
from trex_tui.column import Column, by_key
from trex_tui.engine.model import Engine, per_engine
from trex_tui.frames import FLOAT, INT, text_array

Values: TypeAlias = npt.NDArray[np.float64]

BUSY_PCT = 50.0
"""Utilization from which the GPU counts as busy."""
SCOPES = {
    "measurement": "Samples between the warm-up and the end of the measurement.",
    "busy": "Samples with a busy GPU: an estimate.",
    "file": "All samples of the file.",
}
_STAMP_S = 1.0
"""Resolution of the time stamps in a log of trtexec."""
_SAME_MOMENT_S = 1e-6
"""Largest difference of equal time stamps: seconds since 1970 have no more digits."""


class UsedSamples(NamedTuple):
    """The samples of the measurement: why these (a key of `SCOPES`), and a mask."""

    scope: str
    mask: npt.NDArray[np.bool_]


@per_engine
def find_used_samples(engine: Engine) -> UsedSamples | None:
    """Align the samples with the measurement; None without a file of samples."""
    power = engine.power
    if power is None:
        return None
    if power.stages:
        stage_s = np.asarray(power.stage_s, float)
        measuring = np.array(power.stages) == MEASURING
        return UsedSamples("measurement", measuring & ~(stage_s < warmup_ms(engine) / 1000.0))
    local_s = np.asarray(power.local_s, float)
    window = _find_window(engine) if len(local_s) else None
    if window is not None:
        # Only the part of the window that is certain despite the truncated stamps of the log.
        used = (local_s >= window[0] + _STAMP_S - _SAME_MOMENT_S) & (local_s <= window[1] + _SAME_MOMENT_S)
        if used.any():
            return UsedSamples("measurement", used)
    busy = np.asarray(power.columns.get("gpu_utilization_pct", ()), float) >= BUSY_PCT
    return UsedSamples("busy", busy) if busy.any() else UsedSamples("file", np.ones(power.samples, bool))


def _seconds_from_first(power: PowerLog) -> Values | None:
    stamps = power.run_s or power.local_s
    if len(stamps):
        return np.asarray(stamps, float) - stamps[0]
    return None if power.interval_s is None else np.arange(power.samples, dtype=float) * power.interval_s


def _find_window(engine: Engine) -> tuple[float, float] | None:
    """Return start and end of the measurement by the stamps of trtexec's log, up to a second late; None without stamps."""
    trace = timed_log(engine)
    if trace is None or trace.began_s is None:
        return None
    measured = [phase for phase in trace.phases if phase.kind == "inference"]
    if not measured or measured[-1].ended_s is None:
        return None
    end = trace.began_s + measured[-1].ended_s
    return end - measured[-1].seconds, end


@per_engine
def power_table(engine: Engine) -> pd.DataFrame:
    """Return samples, min, mean and max of each quantity and each power rail (`rail.NAME_w`) over the used samples.

    The index is the key of the quantity. Empty without samples.
    """
    power, used = engine.power, find_used_samples(engine)
    rows = {}
    if power is not None and used is not None:
        rails = {f"rail.{name}_w": column for name, column in power.rails.items()}
        for key, column in {**power.columns, **rails}.items():
            values = np.asarray(column, float)[used.mask]
            known = values[~np.isnan(values)]
            if len(known):
                rows[key] = (len(known), known.min(), known.mean(), known.max())
    table = pd.DataFrame.from_dict(
        rows, orient="index", columns=["samples", "min", "mean", "max"], dtype=object
    )
    return table.astype({"samples": INT, "min": FLOAT, "mean": FLOAT, "max": FLOAT}).rename_axis("quantity")


class PowerFacts(NamedTuple):
    """Samples and energy of a run; None where unknown, the reason in `unknown`. The keys are described in `FACTS`."""

    producer: str
    scope: str
    samples: int
    all_samples: int
    interval_s: float | None
    is_interval_assumed: bool
    power_of: str
    power_mean_w: float | None
    idle_w: float | None
    energy_per_inference_j: float | None
    energy_above_idle_j: float | None
    inferences_per_joule: float | None
    throttled_samples: int | None
    unknown: dict[str, str]


@per_engine
def power_facts(engine: Engine) -> PowerFacts | None:
    """Return samples and energy; None without a file of samples."""
    power, used = engine.power, find_used_samples(engine)
    if power is None or used is None:
        return None
    table, timing = power_table(engine), timing_facts(engine)
    mean_w = float(table.loc["power_w", "mean"]) if "power_w" in table.index else None  # type: ignore[arg-type]
    qps = timing.throughput_qps if timing else None
    unknown = {}
    if not used.mask.any():
        unknown["power_mean_w"] = "no samples during the measurement; measure longer, or sample more often"
    if used.scope == "file":
        unknown["energy_per_inference_j"] = "the measurement interval is unknown (needs capture --monitor)"
    elif mean_w is not None and not (qps and qps > 0):
        unknown["energy_per_inference_j"] = "no throughput in this set"
    energy = mean_w / qps if mean_w is not None and qps and qps > 0 and used.scope != "file" else None
    idle_w = power.idle_w
    reasons = _used_reasons(power, used)
    return PowerFacts(
        producer=power.producer.value,
        scope=used.scope,
        samples=int(used.mask.sum()),
        all_samples=power.samples,
        interval_s=power.interval_s,
        is_interval_assumed=power.is_interval_assumed,
        power_of=power.power_of,
        power_mean_w=mean_w,
        idle_w=idle_w,
        energy_per_inference_j=energy,
        energy_above_idle_j=None if energy is None or idle_w is None or not qps else energy - idle_w / qps,
        inferences_per_joule=1.0 / energy if energy else None,
        throttled_samples=None if reasons is None else sum(map(bool, reasons.values())),
        unknown=unknown,
    )


def _used_reasons(power: PowerLog, used: UsedSamples) -> dict[int, tuple[str, ...]] | None:
    """Return the reasons for throttling of the used samples that state any or none; None if no sample does."""
    samples = np.flatnonzero(used.mask).tolist() if power.reasons else []
    known = {sample: reasons for sample in samples if (reasons := power.reasons[sample]) is not None}
    return known or None


@per_engine
def throttling(engine: Engine) -> pd.DataFrame | None:
    """Return a row per reason for throttling, the most frequent first: reason, samples, first_s (from the first sample).

    Empty if the GPU was not throttled; None if no sample states it.
    """
    power, used = engine.power, find_used_samples(engine)
    known = _used_reasons(power, used) if power is not None and used is not None else None
    if power is None or known is None:
        return None
    samples: dict[str, list[int]] = {}
    for sample, reasons in known.items():
        for reason in reasons:
            samples.setdefault(reason, []).append(sample)
    start, seconds = next(iter(known)), _seconds_from_first(power)
    rows = [
        (reason, len(places), None if seconds is None else float(seconds[places[0]] - seconds[start]))
        for reason, places in sorted(samples.items(), key=lambda entry: -len(entry[1]))
    ]
    table = pd.DataFrame(rows, columns=["reason", "samples", "first_s"], dtype=object)
    table["reason"] = text_array(table["reason"])
    return table.astype({"samples": INT, "first_s": FLOAT})


_LAYER_KEYS = ("time_ms", "power_w", "power_above_idle_w", "energy_mj", "energy_above_idle_mj")


@per_engine
def layer_energy(engine: Engine) -> pd.DataFrame:
    """Return the power and energy of each layer, an estimate: a sample is the power of the whole board, over some time before
    it. Columns: `LAYER_ENERGY`; NA unless samples fall into calls of a layer whose name is unique.
    """
    power, names = engine.power, engine.layers["name"]
    calls = power.layer_samples if power is not None else ()
    watts = power.columns.get("power_w") if power is not None else None
    table = pd.DataFrame(index=engine.layers.index, columns=[*LAYER_ENERGY], dtype=FLOAT)
    counts = ["calls", "measured_calls", "samples"]
    if power is None or not calls or watts is None or not power.local_s:
        return table.astype(dict.fromkeys(counts, INT))
    frame = pd.DataFrame(
        [(call.name, call.time_ms, call.end_s) for call in calls], columns=["name", "time_ms", "end_s"]
    )
    local_s, samples_w = np.asarray(power.local_s, float), np.asarray(watts, float)
    is_known = ~np.isnan(samples_w)
    sums = np.concatenate([[0.0], np.where(is_known, samples_w, 0.0).cumsum()])
    known = np.concatenate([[0], is_known.cumsum()])
    start_s = frame["end_s"] - frame["time_ms"] / 1000.0
    first = np.searchsorted(local_s, start_s - _SAME_MOMENT_S, side="left")
    end = np.searchsorted(local_s, frame["end_s"] + _SAME_MOMENT_S, side="right")
    frame["samples"] = known[end] - known[first]
    frame["power_w"] = pd.Series(sums[end] - sums[first]).where(frame["samples"] > 0) / frame["samples"]
    frame["energy_mj"] = frame["power_w"] * frame["time_ms"]
    frame["time_ms"] = frame["time_ms"].where(frame["samples"] > 0)
    if power.idle_w is not None:
        frame["power_above_idle_w"] = frame["power_w"] - power.idle_w
        frame["energy_above_idle_mj"] = frame["energy_mj"] - power.idle_w * frame["time_ms"]
    groups = frame.groupby("name")
    of_names = groups[[key for key in _LAYER_KEYS if key in frame]].mean()
    of_names[counts] = pd.DataFrame(
        {
            "calls": groups.size(),
            "measured_calls": groups["power_w"].count(),
            "samples": groups["samples"].sum(),
        }
    )
    unique = names.where(~names.duplicated(keep=False))
    joined = of_names.reindex(columns=[*LAYER_ENERGY]).reindex(unique).set_axis(names.index)
    return joined.astype(dict.fromkeys(LAYER_ENERGY, FLOAT)).astype(dict.fromkeys(counts, INT))


_SAMPLES = "log of power; profile with a time stamp per call"
LAYER_ENERGY = by_key(
    Column("calls", "Calls", "Calls of the layer.", source=_SAMPLES),
    Column("measured_calls", "Measured calls", "Calls during which a sample was taken; the others are not "
        "used."),
    Column("samples", "Samples", "Samples during the calls.", source=_SAMPLES),
    Column("time_ms", "ms", "Mean time of the measured calls.", source=_SAMPLES),
    Column("power_w", "W", "Power of the whole board while the layer runs, an estimate; missing unless "
        "samples of power and times of single calls have time stamps.",
        "mean over the calls with samples of the mean of the samples from start to end", _SAMPLES),
    Column("power_above_idle_w", "W above idle", "The same without the power of the idle board."),
    Column("energy_mj", "mJ", "Energy of a call of the layer, an estimate; missing as power_w.",
        "mean over the calls with samples of power · time", _SAMPLES, ("energy",)),
    Column("energy_above_idle_mj", "mJ above idle", "The same without the power of the idle board."),
)  # fmt: skip
"""Columns of `layer_energy`."""
_LOG = "log of power, temperature and clocks"
FACTS = by_key(
    Column("producer", "Source", "Program that took the samples.", source=_LOG),
    Column("scope", "Scope", "Samples used.", source=_LOG, words=SCOPES),
    Column("samples", "Samples", "Number of samples used.", source=_LOG),
    Column("all_samples", "All samples", "Number of samples in the file.", source=_LOG),
    Column("interval_s", "Interval", "Median time between samples.", source=_LOG),
    Column("is_interval_assumed", "Interval assumed", "The file has no times: the default of the program."),
    Column("power_of", "Power of", "A GPU, the rail that feeds the board, or a sum of rails.", source=_LOG),
    Column("power_mean_w", "Power", "Mean power during the run.", source=_LOG),
    Column("idle_w", "Idle", "Power of the idle board.", source=_LOG),
    Column("energy_per_inference_j", "Energy per inference", "Energy per query.", "mean power / throughput",
        _LOG),
    Column("energy_above_idle_j", "Energy above idle", "The same without the power of the idle board."),
    Column("inferences_per_joule", "Inferences per joule", "Queries per joule.",
        "1 / energy_per_inference_j"),
    Column("throttled_samples", "Throttled", "Samples in which the GPU was throttled.", source=_LOG),
)  # fmt: skip
SENSORS = by_key(
    Column("power_w", "Power", "Power of `power_of`.", source=_LOG),
    Column("gpu_temperature_c", "GPU temperature", "Temperature of the GPU.", source=_LOG),
    Column("gpu_clock_mhz", "GPU clock", "Clock of the SMs.", source=_LOG),
    Column("memory_clock_mhz", "Memory clock", "Clock of the device memory.", source=_LOG),
    Column("gpu_utilization_pct", "GPU utilization", "Share of the time in which a kernel ran.", source=_LOG),
    Column("memory_used_mib", "Memory used", "Device memory in use, of all processes.", source=_LOG),
)  # fmt: skip
"""Quantities of `power_table`; rails are not listed."""
