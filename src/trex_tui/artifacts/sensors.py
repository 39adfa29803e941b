"""Parse lines of programs that monitor a board or a GPU: tegrastats, nvidia-smi, loggers of a power sensor.

A line becomes a `Sample`, without missing and implausible values: a thermal zone that is switched off reads −256 °C, and
nvidia-smi prints `[N/A]`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone

QUANTITIES: dict[str, tuple[float, float]] = {
    "power_w": (0.0, 1e5),
    "gpu_temperature_c": (0.1, 200.0),
    "gpu_clock_mhz": (0.0, 1e5),
    "memory_clock_mhz": (0.0, 1e5),
    "gpu_utilization_pct": (0.0, 100.0),
    "memory_used_mib": (0.0, 1e9),
}
"""Quantity, its unit at the end -> the smallest and the largest plausible value."""
THROTTLE_REASONS = (
    (0x4, "power cap"),
    (0x8, "hardware slowdown"),
    (0x20, "software thermal"),
    (0x40, "hardware thermal"),
    (0x80, "power brake"),
)
"""Bits of nvidia-smi's `clocks_event_reasons.active`, formerly `clocks_throttle_reasons.active`, that slow a GPU down."""
TOTAL_RAILS = ("VDD_IN", "VIN", "POM_5V_IN", "TOT")
"""Rails that feed the whole board. Boards without one of these have rails that add up to it."""
_LONGEST_NAME = 40


@dataclass(slots=True)
class Sample:
    """Values at one moment.

    Attributes:
        values: Key of `QUANTITIES` -> value.
        rails: Name of a power rail -> watts.
        reasons: Throttle reasons, empty for none; None if the program does not report them.
        local_s: Seconds since 1970 in the local time of the machine; None without a time stamp.
        gpu: The GPU, if there are several; empty if unknown.
        run_s, stage, stage_s: Seconds since trtexec was started, its stage, and seconds since that stage began; NaN and empty
            where only `trex-tui capture` records them.
    """

    values: dict[str, float] = field(default_factory=dict)
    rails: dict[str, float] = field(default_factory=dict)
    reasons: tuple[str, ...] | None = None
    local_s: float | None = None
    gpu: str = ""
    run_s: float = math.nan
    stage: str = ""
    stage_s: float = math.nan

    def put(self, quantity: str, value: float | None) -> None:
        """Add a value, unless it is implausible."""
        low, high = QUANTITIES[quantity]
        if value is not None and math.isfinite(value) and low <= value <= high:
            self.values[quantity] = value

    def put_rail(self, name: str, watts: float) -> None:
        """Add the power of a rail."""
        low, high = QUANTITIES["power_w"]
        if math.isfinite(watts) and low <= watts <= high:
            self.rails[name[:_LONGEST_NAME]] = watts

    def add_up_rails(self) -> None:
        """Compute the power of the board from its rails, if it is missing."""
        if self.rails and "power_w" not in self.values:
            self.put("power_w", sum(self.rails[name] for name in feeding_rails(self.rails)))


def feeding_rails(rails: Mapping[str, object]) -> list[str]:
    """Return the rails whose powers add up to that of the board: the one that feeds it, else all."""
    total = next((name for name in TOTAL_RAILS if name in rails), None)
    return list(rails) if total is None else [total]


def number(text: str) -> float | None:
    """Return the number at the start of a value: `131.90 W`; None for `[N/A]` and other words."""
    match = _NUMBER.match(text)
    value = float(match[1]) if match else math.nan
    return value if math.isfinite(value) else None


_NUMBER = re.compile(r"\s*([-+]?(?:\d{1,18}(?:\.\d{0,18})?|\.\d{1,18}))(?![\w.])")


def describe_throttle_mask(mask: int) -> tuple[str, ...]:
    """Return reasons as words; an idle GPU and locked clocks do not count."""
    return tuple(name for bit, name in THROTTLE_REASONS if mask & bit)


# Time stamps

_CLOCK = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?P<fraction>\.\d{1,9})?"
_STAMPS = (
    re.compile(r"(?P<year>\d{4})([-/]?)(?P<month>\d\d)\2(?P<day>\d\d)[- T]" + _CLOCK),
    re.compile(r"(?P<month>\d\d)([-/])(?P<day>\d\d)\2(?P<year>\d{4})[- ]" + _CLOCK),
)


def parse_time(text: str) -> float | None:
    """Return the seconds since 1970 of a date and time, ignoring the time zone; None for an invalid date.

    >>> parse_time("1970/01/02 00:00:00.500"), parse_time("19700101-00:00:01.00"), parse_time("01-01-1970 00:01:00")
    (86400.5, 1.0, 60.0)
    """
    match = next(filter(None, (pattern.match(text) for pattern in _STAMPS)), None)
    if match is None:
        return None
    fields = {key: int(match[key]) for key in ("year", "month", "day", "hour", "minute", "second")}
    try:
        seconds = datetime(**fields, tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None
    return seconds + float(match["fraction"] or 0)


# tegrastats

TEGRASTATS = re.compile(r"^(?:\d\d-\d\d-\d{4} \d\d:\d\d:\d\d )?RAM \d+/\d+MB", re.MULTILINE)
_RAM = re.compile(r"RAM (\d{1,12})/\d+MB")
_GPU = re.compile(r"GR3D_FREQ (?:(\d{1,3})%)?(?:@\[?([\d,]{1,60})\]?)?")
_MEMORY_CLOCK = re.compile(r"EMC_FREQ (?:\d{1,3}%)?@(\d{1,6})")
_TEMPERATURE = re.compile(r"\bgpu@(-?\d{1,4}(?:\.\d{1,6})?)C", re.IGNORECASE)
_RAIL = re.compile(r"(?<!\S)([A-Za-z]\w*) (\d{1,9})(?:mW)?/\d{1,9}(?:mW)?(?:/\d{1,9}(?:mW)?)?(?!\S)")


def parse_tegrastats(line: str) -> Sample | None:
    """Parse a line of tegrastats of any JetPack; None for another line. Only the first figure of a rail is no average."""
    if not TEGRASTATS.match(line):
        return None
    sample = Sample(local_s=parse_time(line))
    if match := _RAM.search(line):
        sample.put("memory_used_mib", float(match[1]))
    if match := _GPU.search(line):
        sample.put("gpu_utilization_pct", number(match[1] or ""))
        clocks = [float(clock) for clock in (match[2] or "").split(",") if clock]
        sample.put("gpu_clock_mhz", max(clocks, default=None))
    if match := _MEMORY_CLOCK.search(line):
        sample.put("memory_clock_mhz", float(match[1]))
    if match := _TEMPERATURE.search(line):
        sample.put("gpu_temperature_c", float(match[1]))
    for name, milliwatts in _RAIL.findall(line):
        sample.put_rail(name, float(milliwatts) / 1000.0)
    sample.add_up_rails()
    return sample


# nvidia-smi

_SMI_FIELDS = {
    "power.draw.instant": "power_w",
    "power.draw": "power_w",
    "power.draw.average": "power_w",
    "temperature.gpu": "gpu_temperature_c",
    "clocks.sm": "gpu_clock_mhz",
    "clocks.gr": "gpu_clock_mhz",
    "clocks.mem": "memory_clock_mhz",
    "utilization.gpu": "gpu_utilization_pct",
    "memory.used": "memory_used_mib",
}
"""Field of a query -> quantity; the first of several fields counts."""
_LONG_NAMES = {
    "clocks.current.sm": "clocks.sm",
    "clocks.current.graphics": "clocks.gr",
    "clocks.current.memory": "clocks.mem",
}
_SMI_REASONS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
_MASK = re.compile(r"0x[0-9a-fA-F]{1,16}")
_SMI_STAMP = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{1,6}$")


_DMON = re.compile(r"#\s*(?:Date\s+)?(?:Time\s+)?gpu\s+pwr\s")
_DMON_FIELDS = {
    "gpu": "index",
    "pwr": "power.draw",
    "gtemp": "temperature.gpu",
    "sm": "utilization.gpu",
    "mclk": "clocks.mem",
    "pclk": "clocks.sm",
    "fb": "memory.used",
}
"""Column of `nvidia-smi dmon` -> field of a query."""


def dmon_as_query(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines of `nvidia-smi dmon` as those of a query; other lines as they are."""
    if not lines or not _DMON.match(lines[0]):
        return lines
    header = ",".join(_DMON_FIELDS.get(name, name) for name in lines[0].lstrip("# ").split())
    return [header, *(",".join(line.split()) for line in lines[1:] if not line.startswith("#"))]


def split_cells(line: str) -> list[str]:
    """Return the cells of a line of CSV without quotes."""
    return [cell.strip() for cell in line.split(",")]


def _smi_field(heading: str) -> str:
    """Return the field in a heading: `power.draw [W]`."""
    name = heading.partition("[")[0].strip().lower()
    return _LONG_NAMES.get(name, name)


def is_smi_header(cells: Sequence[str]) -> bool:
    """Return whether a line names the columns of a query of nvidia-smi."""
    return any(_smi_field(cell) in _SMI_FIELDS for cell in cells)


def is_smi_row(cells: Sequence[str]) -> bool:
    """Return whether a line is a row of such a query, by its time stamp."""
    return any(_SMI_STAMP.match(cell) for cell in cells)


def smi_parser(header: Sequence[str]) -> Callable[[Sequence[str]], Sample | None]:
    """Return a parser of rows with these headings, which returns None for a row of another length."""
    fields = [_smi_field(cell) for cell in header]

    def parse(cells: Sequence[str]) -> Sample | None:
        if len(cells) != len(fields):
            return None
        row = dict(zip(fields, cells, strict=True))
        gpu = next((row[name] for name in ("uuid", "index", "pci.bus_id") if name in row), "")
        sample = Sample(local_s=parse_time(row.get("timestamp", "")), gpu=gpu)
        for name, quantity in reversed(_SMI_FIELDS.items()):
            sample.put(quantity, number(row.get(name, "")))
        masks = [row[name] for name in _SMI_REASONS if _MASK.fullmatch(row.get(name, ""))]
        sample.reasons = describe_throttle_mask(int(masks[0], 16)) if masks else None
        return sample

    return parse


def guess_smi_header(rows: Sequence[Sequence[str]]) -> list[str]:
    """Guess headings for rows without a header, from the units and digits of the cells.

    nvidia-smi prints power with two decimals and everything else as whole numbers, so the only column with decimals that
    varies is the power.
    """
    width = max((len(row) for row in rows), default=0)
    columns = [[row[place] for row in rows if len(row) == width] for place in range(width)]
    units = {"W": "power.draw", "C": "temperature.gpu"}
    header = [
        "timestamp" if _SMI_STAMP.match(cells[0]) else units.get(cells[0].rpartition(" ")[2], "")
        for cells in columns
    ]
    if "power.draw" not in header:
        is_decimal = [all(re.fullmatch(r"\d+\.\d\d|\[.*\]|N/A", cell) for cell in cells) for cells in columns]
        decimal = [place for place in range(width) if is_decimal[place] and not header[place]]
        varying = [place for place in decimal if len(set(columns[place])) > 1] or decimal
        if len(varying) == 1:
            header[varying[0]] = "power.draw"
    return header


# Loggers of a power sensor

POWER_LOG = re.compile(r"\d{8}-\d\d:\d\d:\d\d(?:\.\d{1,9})?,\d{1,9}(?:\.\d{1,9})?,\d{1,9}(?:\.\d{1,9})?\s*$")
"""Time, millivolts, milliamperes."""


def parse_power_log(line: str) -> Sample | None:
    """Parse a line of time, millivolts and milliamperes; None for another line."""
    if not POWER_LOG.match(line):
        return None
    stamp, millivolts, milliamperes = line.split(",")
    sample = Sample(local_s=parse_time(stamp))
    sample.put("power_w", float(millivolts) * float(milliamperes) / 1e6)
    return sample
