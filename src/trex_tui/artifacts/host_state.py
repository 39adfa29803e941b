"""The state of a measuring machine at one moment, as a manifest of a capture has it, and what changed between two of them.

Lenient: what has another type than expected is unknown. Text out of it is data, cut to a length that people read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from trex_tui.artifacts.input_files import finite_number

THROTTLED, POWER_MODE = "throttled", "power mode"
_LONGEST = 200
_MOST = 64
"""Entries of a list or a table."""


@dataclass(frozen=True, slots=True)
class GpuState:
    """A GPU as nvidia-smi told of it; None where it did not.

    Attributes:
        throttle_reasons: Active at that moment, in words; idle clocks are none.
        throttle_counters_us: Reason -> microseconds since the driver was loaded.
    """

    name: str | None = None
    driver: str | None = None
    sm_clock_mhz: float | None = None
    max_sm_clock_mhz: float | None = None
    temperature_c: float | None = None
    power_limit_w: float | None = None
    throttle_reasons: tuple[str, ...] | None = None
    throttle_counters_us: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HostState:
    """A machine; None where it did not tell.

    Attributes:
        container: `docker`, `podman`, …; None where nothing told of one.
        is_jetson: Whether it said so.
        l4t, board, power_mode: Of a Jetson: `36.4.3`, its model, the mode of nvpmodel.
        gpu_clock_mhz: Of a Jetson, now.
        gpu_clock_locked: Of a Jetson: whether its GPU has one frequency only.
        temperatures_c: Thermal zone -> degrees.
        over_current_events: Counter of the board -> events since its start.
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
        """Versions of the driver: one, unless the file is odd."""
        return tuple(dict.fromkeys(one.driver for one in self.gpus if one.driver))


def read_host_state(root: Any) -> HostState | None:  # noqa: ANN401 - any JSON value
    """Understand `host.before` or `host.after` of a manifest; None if that is no object, or an empty one."""
    if not isinstance(root, Mapping) or not root:
        return None
    jetson, clock = table_in(root, "jetson"), table_in(root, "gpu_clock")
    current = finite_number(clock.get("current_hz"))
    gpus = root.get("gpus")
    return HostState(
        gpus=tuple(_gpu(one) for one in gpus[:_MOST] if isinstance(one, Mapping))
        if isinstance(gpus, list)
        else (),
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
        driver=text_in(root, "driver"),
        sm_clock_mhz=finite_number(root.get("sm_clock_mhz")),
        max_sm_clock_mhz=finite_number(root.get("max_sm_clock_mhz")),
        temperature_c=finite_number(root.get("temperature_c")),
        power_limit_w=finite_number(root.get("power_limit_w")),
        throttle_reasons=tuple(cut(one) for one in reasons[:_MOST] if isinstance(one, str) and one)
        if isinstance(reasons, list)
        else None,
        throttle_counters_us=numbers_in(root.get("throttle_counters_us")),
    )


def changes(before: HostState, after: HostState) -> Iterator[tuple[str, str]]:
    """What happened to the machine between two moments that makes numbers doubtful: `THROTTLED` or `POWER_MODE`, and a
    sentence without its full stop."""
    for place, (old, new) in enumerate(zip(before.gpus, after.gpus, strict=False)):
        named = f"GPU {place}" if len(after.gpus) > 1 else "the GPU"
        risen = [
            name.replace("_", " ")
            for name, value in new.throttle_counters_us.items()
            if (earlier := old.throttle_counters_us.get(name)) is not None and value > earlier
        ]
        if told := list(dict.fromkeys([*risen, *(new.throttle_reasons or ())])):
            yield THROTTLED, f"{named} was throttled: {', '.join(told)}"
    counts = before.over_current_events
    if any(value > counts.get(name, value) for name, value in after.over_current_events.items()):
        yield THROTTLED, "the board throttled for over-current while it measured"
    if before.power_mode and after.power_mode and before.power_mode != after.power_mode:
        yield POWER_MODE, f"the power mode changed from {before.power_mode} to {after.power_mode} meanwhile"


def tells_throttling(before: HostState, after: HostState) -> bool:
    """Whether throttling between the two moments would be known."""
    pairs = zip(before.gpus, after.gpus, strict=False)
    by_gpu = any(old.throttle_counters_us.keys() & new.throttle_counters_us.keys() for old, new in pairs)
    return by_gpu or bool(before.over_current_events.keys() & after.over_current_events.keys())


# Values of any JSON


def cut(text: str, longest: int = _LONGEST) -> str:
    """A text that is not longer than people read."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def table_in(root: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A section; empty if it is none."""
    value = root.get(key)
    return value if isinstance(value, Mapping) else {}


def text_in(root: Mapping[str, Any], key: str) -> str | None:
    """A text with something in it, or None."""
    value = root.get(key)
    return cut(value.strip()) or None if isinstance(value, str) else None


def flag_in(root: Mapping[str, Any], key: str) -> bool | None:
    """True, false, or None."""
    value = root.get(key)
    return value if isinstance(value, bool) else None


def numbers_in(value: Any) -> dict[str, float]:  # noqa: ANN401 - any JSON value
    """The numbers of a table, by name."""
    if not isinstance(value, Mapping):
        return {}
    pairs = ((cut(str(name)), finite_number(one)) for name, one in list(value.items())[:_MOST])
    return {name: number for name, number in pairs if number is not None}
