"""Device facts stated by the user: peaks and clocks from a configuration file or from options.

A configuration file names devices::

    [device."NVIDIA GeForce RTX 3060 Laptop GPU"]
    peak_bandwidth_gb_per_s = 320
    clock_ghz = 1.2
    peak_tflops = { fp16 = 40, int8 = 80 }

An option states one value: `bandwidth=320`, `clock=1.2`, `sms=30`, `fp16=40`. `[device."*"]` applies to every device, and so
do pairs at the top of a file without device names.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any

from trex_tui.old.artifacts.input_files import finite_number
from trex_tui.old.config import ConfigPlace, ConfigTable
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.errors import TrexError
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import printable

ANY_DEVICE = "*"
"""Key of overrides for every device."""

PEAK_PRECISIONS = (
    DataType.FP64,
    DataType.FP32,
    DataType.TF32,
    DataType.FP16,
    DataType.BF16,
    DataType.FP8,
    DataType.FP4,
    DataType.INT8,
    DataType.INT4,
)
"""Precisions with configurable peaks."""

_PRECISION_OF_KEY = {precision.value.lower(): precision for precision in PEAK_PRECISIONS}
# Key -> attribute, minimum, maximum. The limits catch a wrong unit (MHz for GHz, bytes for gigabytes), not unusual devices.
_QUANTITIES = {
    "peak_bandwidth_gb_per_s": ("peak_bandwidth_gb_per_s", 0.1, 1e6),
    "bandwidth": ("peak_bandwidth_gb_per_s", 0.1, 1e6),
    "clock_ghz": ("clock_ghz", 0.01, 20.0),
    "clock": ("clock_ghz", 0.01, 20.0),
    "sms": ("sms", 1, 10_000),
}
_TFLOPS_RANGE = (1e-3, 1e7)
_KNOWN_KEYS = f"bandwidth (GB/s), clock (GHz), sms, {', '.join(_PRECISION_OF_KEY)} (TFLOP/s, TOPS)"


@dataclass(frozen=True, slots=True)
class DeviceOverrides:
    """Values that the user states about a device; None or missing if not stated.

    Attributes:
        peak_bandwidth_gb_per_s: Peak of the memory, 10^9 bytes per second.
        peak_tflops: Dense peak by precision, 10^12 operations per second; a multiply-accumulate is two.
        clock_ghz: Clock of the SMs during the run.
        sms: Streaming multiprocessors.
        source: Source for display: `option`, or the path of the file.
    """

    peak_bandwidth_gb_per_s: float | None = None
    peak_tflops: Mapping[DataType, float] = field(default_factory=dict)
    clock_ghz: float | None = None
    sms: int | None = None
    source: str = "stated"

    def updated_with(self, other: DeviceOverrides) -> DeviceOverrides:
        """Return these values, replaced by those of `other` where it has any."""
        return DeviceOverrides(
            self.peak_bandwidth_gb_per_s
            if other.peak_bandwidth_gb_per_s is None
            else other.peak_bandwidth_gb_per_s,
            {**self.peak_tflops, **other.peak_tflops},
            self.clock_ghz if other.clock_ghz is None else other.clock_ghz,
            self.sms if other.sms is None else other.sms,
            " and ".join(dict.fromkeys((self.source, other.source))),
        )


def overrides_from_options(options: Iterable[str]) -> DeviceOverrides:
    """Parse `key=value` options; a later one wins.

    >>> overrides_from_options(["bandwidth=300", "fp16=50"]).peak_bandwidth_gb_per_s
    300.0

    Raises:
        TrexError: An option is not a pair, its key is unknown, or its value is not a positive number in a plausible range.
    """
    overrides = DeviceOverrides(source="option")
    for option in options:
        key, equals, text = option.partition("=")
        if not equals:
            raise TrexError(f"device option {printable(option)!r}: expected key=value with {_KNOWN_KEYS}")
        overrides = _with_value(overrides, key.strip(), _parse_value(text), "device option")
    return overrides


def _parse_value(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text.strip()


def overrides_from_mapping(values: Mapping[str, Any], source: ConfigPlace) -> DeviceOverrides:
    """Read overrides from a table of a configuration file.

    Raises:
        TrexError: A key is unknown or a value is not plausible; the message begins with `source`.
    """
    overrides = DeviceOverrides(source=source.name)
    for key, value in values.items():
        if key == "peak_tflops" and isinstance(value, Mapping):
            for precision, peak in value.items():
                if precision.lower() not in _PRECISION_OF_KEY:
                    raise TrexError(
                        f"{source.at(f'peak_tflops.{precision}')}: peak_tflops has no precision {printable(precision)!r};"
                        f" known are {', '.join(_PRECISION_OF_KEY)}"
                    )
                overrides = _with_value(overrides, precision, peak, source.at(f"peak_tflops.{precision}"))
        else:
            overrides = _with_value(overrides, key, value, source.at(key))
    return overrides


def _with_value(
    overrides: DeviceOverrides, key: str, value: object, where: str | ConfigPlace
) -> DeviceOverrides:
    lowered = key.lower()
    precision = _PRECISION_OF_KEY.get(lowered)
    if precision is not None:
        peak = _plausible(key, value, *_TFLOPS_RANGE, where)
        return replace(overrides, peak_tflops={**overrides.peak_tflops, precision: peak})
    if lowered not in _QUANTITIES:
        raise TrexError(f"{where}: unknown key {printable(key)!r}; known are {_KNOWN_KEYS}")
    attribute, least, most = _QUANTITIES[lowered]
    number = _plausible(key, value, least, most, where)
    if attribute == "peak_bandwidth_gb_per_s":
        return replace(overrides, peak_bandwidth_gb_per_s=number)
    if attribute == "clock_ghz":
        return replace(overrides, clock_ghz=number)
    if not number.is_integer():
        raise TrexError(f"{where}: {key} = {number:g} is not whole; write a whole number")
    return replace(overrides, sms=int(number))


def _plausible(key: str, value: object, least: float, most: float, where: str | ConfigPlace) -> float:
    number = finite_number(value)
    if number is None or math.isnan(number) or not least <= number <= most:
        shown = printable(str(value))[:40]
        fault = "is not a number" if number is None or math.isnan(number) else "is out of range"
        raise TrexError(f"{where}: {key} = {shown} {fault}; write a number from {least:g} to {most:g}")
    return number


def overrides_in(config: ConfigTable) -> dict[str, DeviceOverrides]:
    """Return overrides by device name from the content of a configuration file.

    Tables other than `device` belong to other parts of the configuration and are ignored.

    Raises:
        TrexError: A key is unknown or a value is not plausible.
    """
    root = config.values
    if "device" not in root:
        flat = {
            key: value for key, value in root.items() if key == "peak_tflops" or not isinstance(value, dict)
        }
        return {ANY_DEVICE: overrides_from_mapping(flat, config.place(""))} if flat else {}
    devices, stated = root["device"], {}
    table = f"{config.prefix}device"
    if not isinstance(devices, dict):
        raise TrexError(f'{config.place("device")} must be a table per device; write [{table}."NVIDIA L4"]')
    for name, values in devices.items():
        if not isinstance(values, dict):
            raise TrexError(f'{config.place(f"device.{name}")} must be in a table; write [{table}."NAME"]')
        stated[name] = overrides_from_mapping(values, config.place(f"device.{name}"))
    return stated


def overrides_for(name: str | None, overrides: Mapping[str, DeviceOverrides]) -> DeviceOverrides | None:
    """Return the overrides of a device: those for every device, replaced by those of its name, with or without `NVIDIA `."""
    wanted = _comparable(name or "")
    chosen = overrides.get(ANY_DEVICE)
    for key, override in overrides.items():
        if key != ANY_DEVICE and wanted and _comparable(key) == wanted:
            chosen = chosen.updated_with(override) if chosen else override
    return chosen


def _comparable(name: str) -> str:
    return name.strip().lower().removeprefix("nvidia ")
