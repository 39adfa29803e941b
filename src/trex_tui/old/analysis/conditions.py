"""Conditions under which an engine was measured, from its capture manifest: facts, doubts, and differences.

Used by the overview, `summary` and comparisons. Facts missing in a manifest are unknown, which is not a difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from enum import Enum

from trex_tui.old.artifacts.capture_manifest import (
    NO_GRAPH,
    THROTTLED,
    CaptureManifest,
    GpuState,
    HostState,
    changes,
    tells_throttling,
)
from trex_tui.old.engine.engine import Engine
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import plural

LONG_APART_DAYS = 30
"""Two captures at least this far apart count as taken at different times."""
_MOST_FILES = 4
_CLOCK_SKEW = timedelta(days=1)
"""A capture this far ahead has a wrong date; times without a zone may be hours ahead."""


class ConditionKind(str, Enum):
    """Subject of a doubt; the values are those of the JSON."""

    THROTTLED = "throttled"
    POWER_MODE = "power_mode"
    CLOCKS = "clocks"
    DRIVER = "driver"
    CONTAINER = "container"
    CUDA_GRAPH = "cuda_graph"
    FILES = "files"
    """A file changed since the capture."""
    TIME = "time"
    OTHER = "other"
    """Remarks of the manifest."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A reason to doubt numbers, as a clause: no capital, no full stop. File text is verbatim, not printable."""

    kind: ConditionKind
    text: str


def doubts(engine: Engine) -> tuple[Condition, ...]:
    """Return reasons to doubt the numbers of one engine, the most severe first; empty without a manifest."""
    manifest = engine.capture
    by_text: dict[str, Condition] = {}
    for condition in _doubts(manifest) if manifest is not None else ():
        # Differences computed from the states are in the remarks already.
        by_text.setdefault(condition.text, condition)
    return tuple(by_text.values())


def _doubts(manifest: CaptureManifest) -> Iterator[Condition]:
    if manifest.changed:
        named = ", ".join(manifest.changed[:_MOST_FILES])
        more = len(manifest.changed) - _MOST_FILES
        rest = f" and {more} more" if more > 0 else ""
        text = f"changed since the capture: {named}{rest}"
        yield Condition(ConditionKind.FILES, text)
    if manifest.started is not None and manifest.started > datetime.now(timezone.utc) + _CLOCK_SKEW:
        text = f"captured in the future ({manifest.started:%Y-%m-%d}); check the clock of the host"
        yield Condition(ConditionKind.OTHER, text)
    if manifest.before is not None and manifest.after is not None:
        for what, text in changes(manifest.before, manifest.after):
            kind = ConditionKind.THROTTLED if what == THROTTLED else ConditionKind.POWER_MODE
            yield Condition(kind, text)
    if manifest.is_without_graph:
        yield Condition(ConditionKind.CUDA_GRAPH, NO_GRAPH)
    if manifest.status not in (None, "complete"):
        yield Condition(ConditionKind.OTHER, f"capture status {manifest.status} in the manifest")
    for remark in manifest.remarks:
        kind = ConditionKind.CUDA_GRAPH if remark == NO_GRAPH else ConditionKind.OTHER
        yield Condition(kind, remark.strip().rstrip("."))


def differences(engines: tuple[Engine, Engine], names: tuple[str, str]) -> Iterator[Condition]:
    """Yield differences between the conditions of two engines.

    Args:
        engines: The two engines.
        names: Their names in the text.
    """
    first, second = engines[0].capture, engines[1].capture
    if first is None or second is None:
        return
    if first.before is not None and second.before is not None:
        yield from _machines(first.before, second.before, names)
    locks = (_lock(first, engines[0]), _lock(second, engines[1]))
    if locks[0] != locks[1] and None not in locks:
        text = f"different clocks of the GPU: {locks[0]} for {names[0]}, {locks[1]} for {names[1]}"
        yield Condition(ConditionKind.CLOCKS, text)
    if first.is_without_graph != second.is_without_graph:
        which = names[0] if first.is_without_graph else names[1]
        text = f"only {which} was measured without a CUDA graph; its latency includes enqueue time"
        yield Condition(ConditionKind.CUDA_GRAPH, text)
    if first.started and second.started:
        days = abs((first.started - second.started).days)
        if days >= LONG_APART_DAYS:
            text = f"the captures of {names[0]} and {names[1]} are {days} days apart"
            yield Condition(ConditionKind.TIME, text)


def _machines(first: HostState, second: HostState, names: tuple[str, str]) -> Iterator[Condition]:
    pairs = (
        (ConditionKind.POWER_MODE, "power modes", first.power_mode, second.power_mode),
        (ConditionKind.DRIVER, "versions of L4T", first.l4t, second.l4t),
        (ConditionKind.DRIVER, "drivers", _driver(first), _driver(second)),
    )
    for kind, what, ours, theirs in pairs:
        if ours and theirs and ours != theirs:
            yield Condition(kind, f"different {what}: {names[0]} ran with {ours}, {names[1]} with {theirs}")
    if first.container != second.container:
        where = [
            f"in {state.container}" if state.container else "outside of containers"
            for state in (first, second)
        ]
        text = f"different environments: {names[0]} ran {where[0]}, {names[1]} {where[1]}"
        yield Condition(ConditionKind.CONTAINER, text)


def _driver(host: HostState) -> str | None:
    return ", ".join(host.drivers) or None


def _gpu(host: HostState | None, engine: Engine) -> GpuState | None:
    """Return the GPU that measured: the only one, or the only one with the engine's device name."""
    gpus = host.gpus if host else ()
    named = [gpu for gpu in gpus if gpu.name == engine.device_name] if len(gpus) > 1 else gpus
    return named[0] if len(named) == 1 else None


def clocks_locked(manifest: CaptureManifest) -> bool | None:
    """Return whether the GPU clock was locked; None if unknown (a manual lock on a discrete GPU)."""
    if manifest.clocks is not None and manifest.clocks.is_locked is not None:
        return manifest.clocks.is_locked or _jetson_lock(manifest) or False
    return _jetson_lock(manifest)


def _jetson_lock(manifest: CaptureManifest) -> bool | None:
    states = [host.gpu_clock_locked for host in (manifest.before, manifest.after) if host is not None]
    return None if not states or None in states else all(states)


def _lock(manifest: CaptureManifest, engine: Engine) -> str | None:
    """Return how the clocks were locked, as text to compare between engines."""
    if clocks_locked(manifest):
        mhz = manifest.clocks.target_mhz if manifest.clocks and manifest.clocks.is_locked else None
        if mhz is None and manifest.before is not None:
            mhz = manifest.before.gpu_clock_mhz
        return "locked" if mhz is None else f"locked to {mhz:.0f} MHz"
    if clocks_locked(manifest) is False:
        return "not locked"
    return "not locked by the capture" if _gpu(manifest.before, engine) else None


def capture_facts(engine: Engine, now: datetime | None = None) -> list[tuple[str, str]]:
    """Return label and text of the manifest's facts about the machine; empty without a manifest.

    Args:
        engine: The engine.
        now: Time for the age of the capture.
    """
    manifest = engine.capture
    if manifest is None:
        return []
    host = manifest.before or manifest.after
    return [
        ("Captured", _when(manifest, now)),
        *([("Machine", _machine(host))] if host is not None else []),
        ("GPU clocks", _describe_clocks(manifest, engine)),
        ("Throttling", _throttling(manifest)),
        *_temperatures(manifest, engine),
    ]


def _when(manifest: CaptureManifest, now: datetime | None) -> str:
    moment = manifest.started or manifest.ended
    words = "at an unknown time"
    if moment is not None:
        words = f"{moment:%Y-%m-%d %H:%M} UTC"
        days = (now - moment).days if now is not None else -1
        if days >= 0:
            words += f", {plural(days, 'day')} ago" if days else ", today"
    if manifest.program:
        words += f", by trex-tui {manifest.program}"
    if manifest.trtexec_version:
        build = f" build {manifest.trtexec_build}" if manifest.trtexec_build else ""
        words += f" with trtexec {manifest.trtexec_version}{build}"
    return f"{words}, over ssh" if manifest.is_remote else words


def _machine(host: HostState) -> str:
    parts = [
        host.board,
        f"L4T {host.l4t}" if host.l4t else None,
        f"power mode {host.power_mode or 'unknown'}" if host.is_jetson else None,
        f"driver {_driver(host)}" if host.drivers else None,
        f"Linux {host.kernel}" if host.kernel else None,
        f"in {host.container}" if host.container else None,
    ]
    return " · ".join(part for part in parts if part) or "unknown"


def _describe_clocks(manifest: CaptureManifest, engine: Engine) -> str:
    words = _lock(manifest, engine) or "unknown"
    before, after = (_gpu(state, engine) for state in (manifest.before, manifest.after))
    clocks = [state.sm_clock_mhz for state in (before, after) if state is not None and state.sm_clock_mhz]
    if len(clocks) == 2:
        words += f"; {clocks[0]:.0f} MHz before, {clocks[1]:.0f} MHz after"
    if after is not None and after.max_sm_clock_mhz:
        words += f", {after.max_sm_clock_mhz:.0f} MHz at most"
    return words


def _throttling(manifest: CaptureManifest) -> str:
    if manifest.before is None or manifest.after is None:
        return "unknown: no machine state before and after"
    sentences = [text for what, text in changes(manifest.before, manifest.after) if what == THROTTLED]
    if sentences:
        return "; ".join(sentences)
    if not tells_throttling(manifest.before, manifest.after):
        return "unknown: no counters on this machine"
    return "none between start and end"


def _temperatures(manifest: CaptureManifest, engine: Engine) -> list[tuple[str, str]]:
    degrees = [_temperature(host, engine) for host in (manifest.before, manifest.after)]
    if None in degrees:
        return []
    return [("Temperature", f"GPU {degrees[0]:.0f} °C before, {degrees[1]:.0f} °C after")]


def _temperature(host: HostState | None, engine: Engine) -> float | None:
    """Return the temperature of the GPU; on a Jetson of its thermal zone."""
    gpu = _gpu(host, engine)
    if gpu is not None and gpu.temperature_c is not None:
        return gpu.temperature_c
    zones = host.temperatures_c if host is not None else {}
    return next((degrees for zone, degrees in zones.items() if "gpu" in zone.lower()), None)


def capture_document(engine: Engine) -> dict[str, object] | None:
    """Return the conditions for JSON; None without a manifest."""
    manifest = engine.capture
    if manifest is None:
        return None
    host = manifest.before or manifest.after or HostState()
    before, after = (_gpu(state, engine) for state in (manifest.before, manifest.after))
    lock = manifest.clocks
    return {
        "started": manifest.started.isoformat() if manifest.started else None,
        "ended": manifest.ended.isoformat() if manifest.ended else None,
        "trex_tui": manifest.program,
        "trtexec_version": manifest.trtexec_version,
        "trtexec_build": manifest.trtexec_build,
        "driver": _driver(host),
        "l4t": host.l4t,
        "board": host.board,
        "power_mode": host.power_mode,
        "kernel": host.kernel,
        "container": host.container,
        "clocks_locked": clocks_locked(manifest),
        "clocks_locked_mhz": lock.target_mhz if lock is not None and lock.is_locked else None,
        "sm_clock_before_mhz": before.sm_clock_mhz if before else None,
        "sm_clock_after_mhz": after.sm_clock_mhz if after else None,
        "temperature_before_c": _temperature(manifest.before, engine),
        "temperature_after_c": _temperature(manifest.after, engine),
        "without_cuda_graph": manifest.is_without_graph,
        "changed_files": list(manifest.changed),
        "doubts": [{"kind": doubt.kind.value, "text": doubt.text} for doubt in doubts(engine)],
    }


def utc_now() -> datetime:
    """Return the current time; a separate function, so that tests can replace it."""
    return datetime.now(timezone.utc)
