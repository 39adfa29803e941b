"""Read `<name>.capture.json`: the record of a capture, written by `trex-tui capture` into the set.

Parsing is lenient: formats change, and users edit files. A value of an unexpected type is unknown, with a diagnostic for a
section; only a file that is not a manifest is an error. Texts are shortened. No path in it is ever opened: the files that are
compared with its list are those of the set, found by their own names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from trex_tui.artifacts.open import finite_number, load_json, read_head
from trex_tui.errors import ArtifactError, Note, Severity

THROTTLED, POWER_MODE = "throttled", "power mode"
_LONGEST = 200
_MOST = 64
"""Maximum number of entries of a list or a table."""


@dataclass(frozen=True, slots=True)
class GpuState:
    """State of a GPU as reported by nvidia-smi; None where missing.

    Attributes:
        throttle_reasons: Active reasons, as text; idle clocks do not count.
        throttle_counters_us: Reason -> microseconds since the driver was loaded.
    """

    name: str | None = None
    compute_capability: str | None = None
    driver: str | None = None
    sm_clock_mhz: float | None = None
    max_sm_clock_mhz: float | None = None
    temperature_c: float | None = None
    power_limit_w: float | None = None
    throttle_reasons: tuple[str, ...] | None = None
    throttle_counters_us: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HostState:
    """State of a machine; None where unknown.

    Attributes:
        container: `docker`, `podman`, …; None without signs of a container.
        is_jetson: Whether it is a Jetson.
        l4t, board, power_mode: For a Jetson: `36.4.3`, its model, the mode of nvpmodel.
        gpu_clock_mhz: For a Jetson, the current clock.
        gpu_clock_locked: For a Jetson: whether its GPU has a single possible frequency.
        temperatures_c: Thermal zone -> degrees.
        over_current_events: Counter of the board -> events since boot.
    """

    gpus: tuple[GpuState, ...] = ()
    kernel: str | None = None
    container: str | None = None
    is_jetson: bool = False
    l4t: str | None = None
    board: str | None = None
    power_mode: str | None = None
    gpu_clock_mhz: float | None = None
    gpu_clock_locked: bool | None = None
    temperatures_c: Mapping[str, float] = field(default_factory=dict)
    over_current_events: Mapping[str, float] = field(default_factory=dict)

    @property
    def drivers(self) -> tuple[str, ...]:
        """Versions of the driver: one, unless the file is unusual."""
        return tuple(dict.fromkeys(gpu.driver for gpu in self.gpus if gpu.driver))


def read_host_state(root: Any) -> HostState | None:  # noqa: ANN401 - any JSON value
    """Parse `host.before` or `host.after` of a manifest; None unless it is a non-empty object."""
    if not isinstance(root, Mapping) or not root:
        return None
    jetson, clock = table_in(root, "jetson"), table_in(root, "gpu_clock")
    current = finite_number(clock.get("current_hz"))
    return HostState(
        gpus=tuple(_gpu(gpu) for gpu in list_in(root, "gpus")[:_MOST] if isinstance(gpu, Mapping)),
        kernel=text_in(root, "kernel"),
        container=text_in(root, "container"),
        is_jetson=bool(jetson),
        l4t=text_in(jetson, "l4t"),
        board=text_in(jetson, "model"),
        power_mode=text_in(jetson, "power_mode"),
        gpu_clock_mhz=None if current is None else current / 1e6,
        gpu_clock_locked=flag_in(clock, "locked"),
        temperatures_c=numbers_in(root.get("temperatures_c")),
        over_current_events=numbers_in(root.get("over_current_events")),
    )


def _gpu(root: Mapping[str, Any]) -> GpuState:
    reasons = root.get("throttle_reasons")
    return GpuState(
        name=text_in(root, "name"),
        compute_capability=text_in(root, "compute_capability"),
        driver=text_in(root, "driver"),
        sm_clock_mhz=finite_number(root.get("sm_clock_mhz")),
        max_sm_clock_mhz=finite_number(root.get("max_sm_clock_mhz")),
        temperature_c=finite_number(root.get("temperature_c")),
        power_limit_w=finite_number(root.get("power_limit_w")),
        throttle_reasons=tuple(
            cut(reason) for reason in reasons[:_MOST] if isinstance(reason, str) and reason
        )
        if isinstance(reasons, list)
        else None,
        throttle_counters_us=numbers_in(root.get("throttle_counters_us")),
    )


def changes(before: HostState, after: HostState) -> Iterator[tuple[str, str]]:
    """Yield changes between two states that make numbers doubtful: `THROTTLED` or `POWER_MODE`, and a sentence without full
    stop.
    """
    for index, (old, new) in enumerate(zip(before.gpus, after.gpus, strict=False)):
        named = f"GPU {index}" if len(after.gpus) > 1 else "the GPU"
        risen = [
            name.replace("_", " ")
            for name, value in new.throttle_counters_us.items()
            if (earlier := old.throttle_counters_us.get(name)) is not None and value > earlier
        ]
        if reasons := list(dict.fromkeys([*risen, *(new.throttle_reasons or ())])):
            yield THROTTLED, f"{named} was throttled: {', '.join(reasons)}"
    counts = before.over_current_events
    if any(value > counts.get(name, value) for name, value in after.over_current_events.items()):
        yield THROTTLED, "the board throttled for over-current during the measurement"
    if before.power_mode and after.power_mode and before.power_mode != after.power_mode:
        yield POWER_MODE, f"the power mode changed from {before.power_mode} to {after.power_mode} meanwhile"


def tells_throttling(before: HostState, after: HostState) -> bool:
    """Return whether throttling between the two states would be visible."""
    pairs = zip(before.gpus, after.gpus, strict=False)
    by_gpu = any(old.throttle_counters_us.keys() & new.throttle_counters_us.keys() for old, new in pairs)
    return by_gpu or bool(before.over_current_events.keys() & after.over_current_events.keys())


# Values of any JSON


def cut(text: str, longest: int = _LONGEST) -> str:
    """Return a text shortened to the given length."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def table_in(root: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a section; empty if it is missing or not an object."""
    value = root.get(key)
    return value if isinstance(value, Mapping) else {}


def list_in(root: Mapping[str, Any], key: str) -> list[Any]:
    """Return a list; empty if it is missing or another value."""
    value = root.get(key)
    return value if isinstance(value, list) else []


def text_in(root: Mapping[str, Any], key: str) -> str | None:
    """Return a non-empty text, or None."""
    value = root.get(key)
    return cut(value.strip()) or None if isinstance(value, str) else None


def flag_in(root: Mapping[str, Any], key: str) -> bool | None:
    """Return true, false, or None."""
    value = root.get(key)
    return value if isinstance(value, bool) else None


def numbers_in(value: Any) -> dict[str, float]:  # noqa: ANN401 - any JSON value
    """Return the numbers of a table, by name."""
    if not isinstance(value, Mapping):
        return {}
    pairs = ((cut(str(name)), finite_number(number)) for name, number in list(value.items())[:_MOST])
    return {name: number for name, number in pairs if number is not None}


NO_GRAPH = (
    "the engine cannot be captured in a CUDA graph; measured without one, the latency includes enqueue time"
)
"""Remark on a run that was repeated without CUDA graph."""
SCHEMA = "trex-tui/capture/1"
LARGEST_DIGESTED = 16 << 20
"""Largest file in bytes whose content is compared; for larger ones, the size is. Hashing this much takes some 20 ms."""
_MOST_REMARKS = 20
_LONGEST_REMARK = 500
_VERSION = re.compile(r"(?:RTX )?\d{1,4}(?:\.\d{1,4}){1,3}")


class ClockLock(NamedTuple):
    """Result of a request for locked clocks.

    Attributes:
        target_mhz: Value passed to the driver; None if it was not.
        is_locked: Whether the driver confirmed the lock.
        is_released: Whether it confirmed the release.
    """

    target_mhz: float | None
    is_locked: bool | None
    is_released: bool | None


class CaptureManifest(NamedTuple):
    """A manifest; None where unknown.

    Attributes:
        status: `complete`; other values do not belong to a set.
        started, ended: With time zone.
        program: Version of trex-tui.
        trtexec_version, trtexec_build: From its help: `10.4.0` and `26`, or None.
        clocks: None if no locked clocks were requested.
        before, after: State of the machine before and after the runs.
        is_remote: Whether another machine captured, over ssh.
        is_without_graph: Whether a run failed with CUDA graph and was repeated without.
        model: Path of the model as typed.
        build_command, command: Commands of the build and of the measurement, program first; empty if unknown.
        remarks: Remarks about the numbers.
        changed: Files of the set that differ from the capture: by size, small ones also by digest.
        notes: Parts that could not be used.
    """

    status: str | None = None
    started: datetime | None = None
    ended: datetime | None = None
    program: str | None = None
    trtexec_version: str | None = None
    trtexec_build: str | None = None
    clocks: ClockLock | None = None
    before: HostState | None = None
    after: HostState | None = None
    is_remote: bool = False
    is_without_graph: bool = False
    model: str | None = None
    build_command: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()

    def __repr__(self) -> str:
        started = "" if self.started is None else f" of {self.started:%Y-%m-%d %H:%M}"
        return f"<CaptureManifest{started}: {self.status or 'status unknown'}>"


def read_capture_manifest(path: Path, files: Iterable[Path] = ()) -> CaptureManifest:
    """Read a manifest, and compare the files of its set with its list.

    Args:
        path: The manifest.
        files: Files of the set; those that it does not list are skipped.

    Raises:
        ArtifactError: It cannot be read, or is not an object.
    """
    notes: list[Note] = []
    root = load_json(path, notes)
    if not isinstance(root, dict):
        raise ArtifactError(path, "is not a capture manifest: no JSON object; capture again")
    if root.get("schema") != SCHEMA:
        message = (
            f"is from another version of trex-tui ({cut(str(root.get('schema')), 60)}); known keys are used"
        )
        notes.append(Note(Severity.INFO, path, "schema", message))
    host, trtexec = table_in(root, "host"), table_in(root, "trtexec")
    runs = [run for run in list_in(root, "runs") if isinstance(run, Mapping)]
    remarks = [remark for remark in list_in(root, "remarks")[:_MOST_REMARKS] if isinstance(remark, str)]
    build, version = trtexec.get("build"), text_in(trtexec, "version") or ""
    return CaptureManifest(
        status=text_in(root, "status"),
        started=_moment(root.get("started")),
        ended=_moment(root.get("ended")),
        program=text_in(root, "trex_tui"),
        trtexec_version=version if _VERSION.fullmatch(version) else None,
        trtexec_build=str(build) if type(build) is int else text_in(trtexec, "build"),
        clocks=_clocks(root),
        before=read_host_state(host.get("before")),
        after=read_host_state(host.get("after")),
        is_remote=isinstance(root.get("remote"), dict),
        is_without_graph=_is_without_graph(runs),
        model=text_in(table_in(root, "model"), "path"),
        build_command=_command(runs, "build"),
        command=_command(runs, "profile"),
        remarks=tuple(cut(remark, _LONGEST_REMARK) for remark in remarks),
        changed=tuple(_find_changed(root, path, files)),
        notes=tuple(notes),
    )


def _moment(value: Any) -> datetime | None:  # noqa: ANN401 - any JSON value
    """Parse a time stamp; without a time zone it is taken as UTC."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(f"{value[:-1]}+00:00" if value.endswith("Z") else value)
        return moment.astimezone(timezone.utc) if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    except (ValueError, OverflowError):
        return None


def _clocks(root: Mapping[str, Any]) -> ClockLock | None:
    if not isinstance(root.get("clocks"), Mapping):
        return None
    clocks = table_in(root, "clocks")
    return ClockLock(
        finite_number(clocks.get("target_mhz")), flag_in(clocks, "locked"), flag_in(clocks, "released")
    )


def _is_without_graph(runs: Sequence[Mapping[str, Any]]) -> bool:
    return any(run.get("failure") == "cuda_graph" for run in runs) and any(
        _has_passed(run, "profile") for run in runs
    )


def _command(runs: Sequence[Mapping[str, Any]], role: str) -> tuple[str, ...]:
    """Return the command of the first run of this role that passed: later ones repeat it."""
    words = next((run.get("command") for run in runs if _has_passed(run, role)), None)
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return ()
    return tuple(words)


def _has_passed(run: Mapping[str, Any], role: str) -> bool:
    return run.get("role") == role and run.get("passed") is True


def _find_changed(root: Mapping[str, Any], path: Path, files: Iterable[Path]) -> list[str]:
    """Return names of files whose size or digest differs from the manifest."""
    listed = table_in(root, "files")
    names = []
    for file in files:
        name = os.path.relpath(file, path.parent)
        entry = listed.get(name)
        if file != path and isinstance(entry, Mapping) and not _is_same(file, entry):
            names.append(name)
    return names


def _is_same(file: Path, entry: Mapping[str, Any]) -> bool:
    """Return whether a file is unchanged, as far as known."""
    size, digest = entry.get("bytes"), entry.get("sha256")
    try:
        actual = file.stat().st_size
        if type(size) is int and size != actual:
            return False
        if not isinstance(digest, str) or actual > LARGEST_DIGESTED:
            return True
        import hashlib  # only where there is a manifest

        return hashlib.sha256(read_head(file, actual)).hexdigest() == digest.lower()
    except OSError:
        return True  # its reader will report the error
