"""Conditions under which an engine was measured, from its capture manifest: facts, doubts, and differences.

Facts missing in a manifest are unknown, which is not a difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from trex_tui.artifacts.manifest import (
    NO_GRAPH,
    THROTTLED,
    CaptureManifest,
    GpuState,
    HostState,
    changes,
    tells_throttling,
)
from trex_tui.column import Column, by_key
from trex_tui.engine.model import Engine

LONG_APART_DAYS = 30
"""Two captures at least this far apart count as taken at different times."""
_MOST_FILES = 4
_CLOCK_SKEW = timedelta(days=1)
"""A capture this far ahead has a wrong date; times without a zone may be hours ahead."""


class Condition(NamedTuple):
    """A reason to doubt numbers: its subject, and a clause without capital and full stop, verbatim from files.

    Attributes:
        kind: throttled, power_mode, clocks, driver, container, cuda_graph, files (changed since the capture), time, other.
    """

    kind: str
    text: str


def find_doubts(engine: Engine) -> tuple[Condition, ...]:
    """Return reasons to doubt the numbers of one engine, the most severe first; empty without a manifest."""
    found = _doubts(engine.capture) if engine.capture is not None else ()
    return tuple({condition.text: condition for condition in reversed([*found])}.values())[::-1]


def _doubts(manifest: CaptureManifest) -> Iterator[Condition]:
    if manifest.changed:
        more = len(manifest.changed) - _MOST_FILES
        rest = f" and {more} more" if more > 0 else ""
        yield Condition(
            "files", f"changed since the capture: {', '.join(manifest.changed[:_MOST_FILES])}{rest}"
        )
    if manifest.started is not None and manifest.started > datetime.now(timezone.utc) + _CLOCK_SKEW:
        date = f"{manifest.started:%Y-%m-%d}"
        yield Condition("other", f"captured in the future ({date}); check the clock of the host")
    if manifest.before is not None and manifest.after is not None:
        for what, text in changes(manifest.before, manifest.after):
            yield Condition("throttled" if what == THROTTLED else "power_mode", text)
    if manifest.is_without_graph:
        yield Condition("cuda_graph", NO_GRAPH)
    if manifest.status not in (None, "complete"):
        yield Condition("other", f"capture status {manifest.status} in the manifest")
    for remark in manifest.remarks:  # differences between the states are among them too
        yield Condition("cuda_graph" if remark == NO_GRAPH else "other", remark.strip().rstrip("."))


def compare_conditions(engines: tuple[Engine, Engine], names: tuple[str, str]) -> Iterator[Condition]:
    """Yield differences between the conditions of two engines.

    Args:
        names: Their names in the text.
    """
    first, second = engines[0].capture, engines[1].capture
    if first is None or second is None:
        return
    if first.before is not None and second.before is not None:
        yield from _compare_hosts(first.before, second.before, names)
    locks = (_describe_lock(first, engines[0]), _describe_lock(second, engines[1]))
    if locks[0] != locks[1] and None not in locks:
        text = f"different clocks of the GPU: {locks[0]} for {names[0]}, {locks[1]} for {names[1]}"
        yield Condition("clocks", text)
    if first.is_without_graph != second.is_without_graph:
        which = names[0] if first.is_without_graph else names[1]
        text = f"only {which} was measured without a CUDA graph; its latency includes enqueue time"
        yield Condition("cuda_graph", text)
    if first.started and second.started:
        days = abs((first.started - second.started).days)
        if days >= LONG_APART_DAYS:
            yield Condition("time", f"the captures of {names[0]} and {names[1]} are {days} days apart")


def _compare_hosts(first: HostState, second: HostState, names: tuple[str, str]) -> Iterator[Condition]:
    facts = (
        ("power_mode", "power modes", first.power_mode, second.power_mode),
        ("driver", "versions of L4T", first.l4t, second.l4t),
        ("driver", "drivers", _driver(first), _driver(second)),
    )
    for kind, what, ours, theirs in facts:
        if ours and theirs and ours != theirs:
            yield Condition(kind, f"different {what}: {names[0]} ran with {ours}, {names[1]} with {theirs}")
    if first.container != second.container:
        where = [
            f"in {host.container}" if host.container else "outside of containers" for host in (first, second)
        ]
        text = f"different environments: {names[0]} ran {where[0]}, {names[1]} {where[1]}"
        yield Condition("container", text)


def _driver(host: HostState) -> str | None:
    return ", ".join(host.drivers) or None


def _find_gpu(host: HostState | None, engine: Engine) -> GpuState | None:
    """Return the GPU that measured: the only one, or the only one with the engine's device name."""
    gpus = host.gpus if host else ()
    named = [gpu for gpu in gpus if gpu.name == engine.facts.device_name] if len(gpus) > 1 else gpus
    return named[0] if len(named) == 1 else None


def are_clocks_locked(manifest: CaptureManifest) -> bool | None:
    """Return whether the GPU clock was locked; None if unknown (a manual lock on a discrete GPU)."""
    states = [host.gpu_clock_locked for host in (manifest.before, manifest.after) if host is not None]
    on_jetson = None if not states or None in states else all(states)
    if manifest.clocks is not None and manifest.clocks.is_locked is not None:
        return manifest.clocks.is_locked or on_jetson or False
    return on_jetson


def _describe_lock(manifest: CaptureManifest, engine: Engine) -> str | None:
    """Return how the clocks were locked, as text to compare between engines."""
    is_locked = are_clocks_locked(manifest)
    if is_locked:
        mhz = manifest.clocks.target_mhz if manifest.clocks and manifest.clocks.is_locked else None
        if mhz is None and manifest.before is not None:
            mhz = manifest.before.gpu_clock_mhz
        return "locked" if mhz is None else f"locked to {mhz:.0f} MHz"
    if is_locked is False:
        return "not locked"
    return "not locked by the capture" if _find_gpu(manifest.before, engine) else None


def capture_facts(engine: Engine) -> dict[str, Any] | None:
    """Return the conditions of the capture by the keys of `FACTS`, None where unknown; None without a manifest."""
    manifest = engine.capture
    if manifest is None:
        return None
    host = manifest.before or manifest.after or HostState()
    before, after = (_find_gpu(state, engine) or GpuState() for state in (manifest.before, manifest.after))
    lock = manifest.clocks
    return {
        "started": manifest.started.isoformat() if manifest.started else None,
        "ended": manifest.ended.isoformat() if manifest.ended else None,
        "trex_tui": manifest.program,
        "trtexec_version": manifest.trtexec_version,
        "trtexec_build": manifest.trtexec_build,
        "driver": _driver(host),
        **{key: getattr(host, key) for key in ("l4t", "board", "power_mode", "kernel", "container")},
        "clocks": _describe_lock(manifest, engine),
        "clocks_locked": are_clocks_locked(manifest),
        "clocks_locked_mhz": lock.target_mhz if lock is not None and lock.is_locked else None,
        "sm_clock_before_mhz": before.sm_clock_mhz,
        "sm_clock_after_mhz": after.sm_clock_mhz,
        "max_sm_clock_mhz": after.max_sm_clock_mhz,
        "throttling": _describe_throttling(manifest),
        "temperature_before_celsius": _find_temperature(manifest.before, engine),
        "temperature_after_celsius": _find_temperature(manifest.after, engine),
        "is_remote": manifest.is_remote,
        "without_cuda_graph": manifest.is_without_graph,
        "changed_files": manifest.changed,
    }


def _describe_throttling(manifest: CaptureManifest) -> str | None:
    """Return the changes of the counters between start and end, `none`, or None if they are unknown."""
    if manifest.before is None or manifest.after is None:
        return None
    texts = [text for what, text in changes(manifest.before, manifest.after) if what == THROTTLED]
    if texts:
        return "; ".join(texts)
    return "none" if tells_throttling(manifest.before, manifest.after) else None


def _find_temperature(host: HostState | None, engine: Engine) -> float | None:
    """Return the temperature of the GPU; on a Jetson of its thermal zone."""
    gpu = _find_gpu(host, engine)
    if gpu is not None and gpu.temperature_c is not None:
        return gpu.temperature_c
    zones = host.temperatures_c if host is not None else {}
    return next((degrees for zone, degrees in zones.items() if "gpu" in zone.lower()), None)


_MANIFEST = "manifest"
FACTS = by_key(
    Column("started", "Captured", "Start of the capture, UTC.", source=_MANIFEST),
    Column("ended", "Ended", "End of the capture, UTC.", source=_MANIFEST),
    Column("trex_tui", "trex-tui", "Version of trex-tui that captured.", source=_MANIFEST),
    Column("trtexec_version", "trtexec", "Version of trtexec.", source=_MANIFEST),
    Column("trtexec_build", "Build", "Build of trtexec.", source=_MANIFEST),
    Column("driver", "Driver", "Driver of the GPU.", source=_MANIFEST),
    Column("l4t", "L4T", "Version of Linux for Tegra.", source=_MANIFEST),
    Column("board", "Board", "Model of the Jetson.", source=_MANIFEST),
    Column("power_mode", "Power mode", "Power mode of the Jetson.", source=_MANIFEST),
    Column("kernel", "Linux", "Version of the kernel.", source=_MANIFEST),
    Column("container", "Container", "Container that the capture ran in.", source=_MANIFEST),
    Column("clocks", "GPU clocks", "Whether the GPU clock was locked.", source=_MANIFEST),
    Column("clocks_locked", "Clocks locked", "Whether the GPU clock was locked.", source=_MANIFEST),
    Column("clocks_locked_mhz", "Locked clock", "Clock that the capture locked.", source=_MANIFEST),
    Column("sm_clock_before_mhz", "SM clock before", "Clock of the SMs before the run.", source=_MANIFEST),
    Column("sm_clock_after_mhz", "SM clock after", "Clock of the SMs after the run.", source=_MANIFEST),
    Column("max_sm_clock_mhz", "Highest SM clock", "Highest clock of the SMs.", source=_MANIFEST),
    Column("throttling", "Throttling", "Throttling between start and end.", source=_MANIFEST),
    Column("temperature_before_celsius", "GPU before", "Temperature before the run.", source=_MANIFEST),
    Column("temperature_after_celsius", "GPU after", "Temperature after the run.", source=_MANIFEST),
    Column("is_remote", "Over ssh", "Whether the capture ran on another machine.", source=_MANIFEST),
    Column("without_cuda_graph", "No CUDA graph", "Measured without a CUDA graph.", source=_MANIFEST),
    Column("changed_files", "Changed files", "Files that changed since the capture.", source=_MANIFEST),
)  # fmt: skip
