"""What the files of an engine say about its device, value by value, as far as it can be believed.

Labels and units differ by version: trtexec writes `Compute Clock Rate: 1.77 GHz` up to 8.5 and `Application Compute Clock
Rate` since, trex turned some values into numbers and left others, and the older device dump holds CUDA's attributes with
clocks in kHz.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trex_tui.artifacts.jsonfile import finite_number
from trex_tui.artifacts.metadata import Metadata
from trex_tui.text import printable

NOT_STATED = "no file states it"

_QUANTITY = re.compile(r"\s*([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*([A-Za-z]*)")
_GIGAHERTZ = {"ghz": 1.0, "mhz": 1e-3, "khz": 1e-6}
_BYTES = {"bytes": 1.0, "b": 1.0, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30}
_COUNT = {"": 1.0, "bits": 1.0, "bit": 1.0}


@dataclass(frozen=True, slots=True)
class _Field:
    """Where a quantity stands, the units it may have there, and the bounds within which it can be believed."""

    labels: tuple[str, ...]
    legacy: str
    units: Mapping[str, float]
    unit: str
    legacy_unit: str
    least: float
    most: float


_FIELDS = {
    "sms": _Field(("SMs",), "MULTIPROCESSOR_COUNT", _COUNT, "", "", 1, 1024),
    "clock_ghz": _Field(
        ("Application Compute Clock Rate", "Compute Clock Rate"),
        "CLOCK_RATE",
        _GIGAHERTZ,
        "ghz",
        "khz",
        0.05,
        6.0,
    ),
    "memory_bus_bits": _Field(
        ("Memory Bus Width",), "GLOBAL_MEMORY_BUS_WIDTH", _COUNT, "bits", "bits", 16, 32768
    ),
    "memory_clock_ghz": _Field(
        ("Application Memory Clock Rate", "Memory Clock Rate"),
        "MEMORY_CLOCK_RATE",
        _GIGAHERTZ,
        "ghz",
        "khz",
        0.05,
        40.0,
    ),
    "memory_bytes": _Field(
        ("Device Global Memory",), "TotalMemory", _BYTES, "mib", "bytes", 2.0**26, 2.0**43
    ),
}
_WHOLE = frozenset({"sms", "memory_bus_bits"})
_CAPABILITY = "Compute Capability"


@dataclass(slots=True)
class Reported:
    """Quantities as reported: what is not here is not stated, or cannot be.

    Attributes:
        compute_capability: `8.6`.
        numbers: `sms`, `clock_ghz`, `memory_bus_bits`, `memory_clock_ghz`, `memory_bytes`.
        origins: Quantity -> where it stands.
        missing: Quantity -> why it is not here.
        is_integrated: The device dump says that the GPU has no memory of its own.
    """

    compute_capability: str | None = None
    numbers: dict[str, float] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    is_integrated: bool = False

    def whole(self, key: str) -> int | None:
        """A count, or None."""
        number = self.numbers.get(key)
        return None if number is None else round(number)

    @property
    def quantities(self) -> dict[str, float | None]:
        """What the conditions of the package's corrections ask for."""
        memory = self.numbers.get("memory_bytes")
        return {
            "sms": self.numbers.get("sms"),
            "clock_ghz": self.numbers.get("clock_ghz"),
            "memory_mib": None if memory is None else memory / 2**20,
            "compute_capability": float(self.compute_capability) if self.compute_capability else None,
        }


def reported_device(metadata: Metadata) -> Reported:
    """Read trtexec's device section, and the old device dump for what that does not state."""
    found = Reported(is_integrated=metadata.device_attributes.get("INTEGRATED") == 1)
    _read_capability(metadata, found)
    for key, one in _FIELDS.items():
        places = [(metadata.device, label, one.unit, f"trtexec: {label}") for label in one.labels]
        places.append((metadata.device_attributes, one.legacy, one.legacy_unit, f"device dump: {one.legacy}"))
        for section, label, unit, origin in places:
            if label not in section:
                continue
            number = quantity(section[label], one.units, unit)
            if number is None or not _is_plausible(key, number):
                found.missing.setdefault(key, f"{origin} is {_shown(section[label])}, which cannot be")
                continue
            found.numbers[key], found.origins[key] = number, origin
            found.missing.pop(key, None)
            break
        else:
            found.missing.setdefault(key, NOT_STATED)
    return found


def _is_plausible(key: str, number: float) -> bool:
    one = _FIELDS[key]
    return one.least <= number <= one.most and (key not in _WHOLE or number.is_integer())


def _shown(value: object) -> str:
    return printable(str(value))[:40] or "empty"


def quantity(value: Any, units: Mapping[str, float], unit: str) -> float | None:  # noqa: ANN401
    """A number with a unit, in the unit whose factor is 1; None if it has another unit or is no number.

    >>> quantity("1425 MHz", {"ghz": 1.0, "mhz": 1e-3}, "ghz"), quantity("192 bits (ECC disabled)", {"bits": 1.0}, "bits")
    (1.425, 192.0)

    Args:
        value: As in the file.
        units: Unit in lower case -> its factor.
        unit: That of a bare number.
    """
    if not isinstance(value, str):
        number, written = finite_number(value), unit
    else:
        match = _QUANTITY.match(value)
        if match is None:
            return None
        number, written = finite_number(float(match[1])), match[2].lower() or unit
    factor = units.get(written)
    return None if number is None or factor is None else number * factor


def _read_capability(metadata: Metadata, found: Reported) -> None:
    key = "compute_capability"
    stated: list[tuple[object, str]] = []
    if _CAPABILITY in metadata.device:
        stated.append((metadata.device[_CAPABILITY], f"trtexec: {_CAPABILITY}"))
    dump = metadata.device_attributes
    if "COMPUTE_CAPABILITY_MAJOR" in dump:
        pair = f"{dump['COMPUTE_CAPABILITY_MAJOR']}.{dump.get('COMPUTE_CAPABILITY_MINOR')}"
        stated.append((pair, "device dump: COMPUTE_CAPABILITY"))
    found.missing[key] = NOT_STATED
    for value, origin in stated:
        capability = _capability(value)
        if capability:
            found.compute_capability, found.origins[key] = capability, origin
            del found.missing[key]
            return
        found.missing[key] = f"{origin} is {_shown(value)}, which cannot be"


def _capability(value: object) -> str | None:
    """`8.6` out of 8.6, `"8.6"` or 9; None unless it is a major number with a minor digit."""
    number = quantity(value, _COUNT, "")
    if number is None or not 2 <= number < 100 or abs(number * 10 - round(number * 10)) > 1e-6:
        return None
    return f"{number:.1f}"
