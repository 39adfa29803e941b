"""The GPU that an engine ran on: facts stated in files and by the user, peaks derived from them, and assumptions.

Peaks follow two formulas; their rates, and corrections for GPUs whose drivers report other values, are in `gpu_peaks.json`,
each with its sources and whether it was read there or inferred::

    operations per second = 2 × (MACs per SM and clock) × SMs × clock × tensor factor
    bytes per second      = 2 × memory clock × bus width ÷ 8        (graphics cards; integrated GPUs are looked up)

Values of the user take precedence over corrections, and those over values of the driver. If an input is missing or
implausible there is no peak, only the reason.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from trex_tui.artifacts.metadata import Facts
from trex_tui.artifacts.open import finite_number
from trex_tui.column import Column, by_key
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.model import Engine, per_engine
from trex_tui.errors import TrexError
from trex_tui.text import printable, short_device_name

NOT_STATED = "not in any file"
UNKNOWN_DEVICE = "GPU unknown; set it with --peak or [device] in trex-tui.toml"
CLOCK_ASSUMPTION = "the SMs run at the highest clock that the driver reports; under load they may run slower"

_QUANTITY = re.compile(r"\s*([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*([A-Za-z]*)")
_GHZ = {"ghz": 1.0, "mhz": 1e-3, "khz": 1e-6}
_BYTES = {"bytes": 1.0, "b": 1.0, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30}
_COUNT = {"": 1.0, "bits": 1.0, "bit": 1.0}


class _Field(NamedTuple):
    """Labels of a quantity in trexec's log and in the old device dump, its units, and its plausible range."""

    noun: str
    labels: tuple[str, ...]
    old_label: str
    units: Mapping[str, float]
    unit: str
    old_unit: str
    least: float
    most: float
    is_whole: bool = False


_CLOCK = "Compute Clock Rate"
_MEMORY_CLOCK = "Memory Clock Rate"
_FIELDS = {
    "sms": _Field("number of SMs", ("SMs",), "MULTIPROCESSOR_COUNT", _COUNT, "", "", 1, 1024, True),
    "clock_ghz": _Field(
        "clock of the SMs", (f"Application {_CLOCK}", _CLOCK), "CLOCK_RATE", _GHZ, "ghz", "khz", 0.05, 6.0
    ),
    "memory_bus_bits": _Field(
        "memory bus width", ("Memory Bus Width",), "GLOBAL_MEMORY_BUS_WIDTH", _COUNT, "bits", "bits", 16, 32768, True
    ),
    "memory_clock_ghz": _Field(
        "memory clock", (f"Application {_MEMORY_CLOCK}", _MEMORY_CLOCK), "MEMORY_CLOCK_RATE", _GHZ, "ghz", "khz", 0.05, 40.0
    ),
    "memory_bytes": _Field(
        "memory size", ("Device Global Memory",), "TotalMemory", _BYTES, "mib", "bytes", 2.0**26, 2.0**43
    ),
    "l2_bytes": _Field("L2 cache", ("L2 Cache Size",), "L2_CACHE_SIZE", _BYTES, "mib", "bytes", 2.0**14, 2.0**34),
}  # fmt: skip
_CAPABILITY = "Compute Capability"


# Statements of the user


_PRECISIONS = (DataType.FP64, DataType.FP32, DataType.TF32, DataType.FP16, DataType.BF16, DataType.FP8)
PEAK_PRECISIONS = {
    dtype.value.lower(): dtype for dtype in (*_PRECISIONS, DataType.FP4, DataType.INT8, DataType.INT4)
}
"""Precisions with configurable peaks."""
# Key -> minimum, maximum. The limits catch a wrong unit (MHz for GHz, bytes for gigabytes), not unusual devices.
_RANGES = {"bandwidth": (0.1, 1e6), "clock": (0.01, 20.0), "sms": (1.0, 1e4)}
_RANGES |= dict.fromkeys(PEAK_PRECISIONS, (1e-3, 1e7))
_LONG_KEYS = {"peak_bandwidth_gb_per_s": "bandwidth", "clock_ghz": "clock"}
_KEYS = f"bandwidth (GB/s), clock (GHz), sms, {', '.join(PEAK_PRECISIONS)} (TFLOP/s, TOPS)"


class StatedDevice(NamedTuple):
    """Facts about a device from the user: `--peak bandwidth=320`, or a table of `trex-tui.toml`.

    Attributes:
        values: `bandwidth` in GB/s, `clock` in GHz, `sms`, and dense peaks by precision in TFLOP/s; a multiply-accumulate
            is two operations.
        source: Source for display: `option`, or the path of the file.
    """

    values: Mapping[str, float] = {}
    source: str = "stated"

    def updated_with(self, other: StatedDevice) -> StatedDevice:
        """Return these values, replaced by those of `other` where it has any."""
        sources = dict.fromkeys((self.source, other.source))
        return StatedDevice({**self.values, **other.values}, " and ".join(sources))


def parse_peaks(options: Iterable[str]) -> StatedDevice:
    """Parse `key=value` options of `--peak`; a later one wins.

    >>> parse_peaks(["bandwidth=300", "fp16=50"]).values
    {'bandwidth': 300.0, 'fp16': 50.0}

    Raises:
        TrexError: An option is not a pair, its key is unknown, or its value is not a positive number in a plausible range.
    """
    pairs = [option.partition("=") for option in options]
    for key, equals, _ in pairs:
        if not equals:
            raise TrexError(f"--peak {printable(key)!r}: expected key=value with {_KEYS}")
    return StatedDevice(dict(_check_value(key, value, "--peak") for key, _, value in pairs), "option")


def read_device_settings(devices: Any, file: str) -> dict[str, StatedDevice]:  # noqa: ANN401 - any TOML value
    """Read the tables `[device."NAME"]` of a settings file, by name; `*` is every device.

    Raises:
        TrexError: A key is unknown or a value is not plausible; the message begins with `file`.
    """
    if not isinstance(devices, dict) or not all(isinstance(table, dict) for table in devices.values()):
        raise TrexError(f'{file}: device must be a table per device; write [device."NVIDIA L4"]')
    stated = {}
    for name, table in devices.items():
        where = f"{file}: device.{name}"
        peaks = table.get("peak_tflops", {})
        if not isinstance(peaks, dict) or not all(key.lower() in PEAK_PRECISIONS for key in peaks):
            raise TrexError(f"{where}.peak_tflops: known precisions are {', '.join(PEAK_PRECISIONS)}")
        values = {key: value for key, value in table.items() if key != "peak_tflops"} | peaks
        stated[name] = StatedDevice(dict(_check_value(*pair, where) for pair in values.items()), file)
    return stated


def _check_value(key: str, value: object, where: str) -> tuple[str, float]:
    name = key.strip().lower()
    name = _LONG_KEYS.get(name, name)
    if name not in _RANGES:
        raise TrexError(f"{where}: unknown key {printable(key)!r}; known are {_KEYS}")
    least, most = _RANGES[name]
    try:
        number = finite_number(float(value) if isinstance(value, str) else value)
    except ValueError:
        number = None
    if number is None or not least <= number <= most or (name == "sms" and not number.is_integer()):
        fault = "is not a number" if number is None else "is out of range or not whole"
        shown = printable(str(value))[:40]
        raise TrexError(f"{where}: {key} = {shown} {fault}; write a number from {least:g} to {most:g}")
    return name, number


def stated_for(name: str | None, settings: Mapping[str, StatedDevice]) -> StatedDevice | None:
    """Return what settings state about a device: for every device, then by its name with or without `NVIDIA `."""
    wanted = short_device_name(name or "").casefold()
    chosen = settings.get("*")
    for key, stated in settings.items():
        if wanted and key != "*" and short_device_name(key).casefold() == wanted:
            chosen = chosen.updated_with(stated) if chosen else stated
    return chosen


# Devices


class Rate(NamedTuple):
    """Dense multiply-accumulates per SM and clock of one unit: `fp32_cuda`, `fp16_tc_acc32`, …"""

    name: str
    macs: int
    tag: str
    source: str


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU, according to files, `gpu_peaks.json` and the user. None is unknown. The keys are described in `FACTS`.

    Attributes:
        tensor_factor: Factor of tensor-core peaks, beside SMs and clock: 1, less if the tensor cores run at a lower clock or
            the product is limited, 0 for chips without tensor cores.
        stated_flops_per_s: Operations per second by precision, as the user states them.
        rates: By name of the unit; empty if the architecture is unknown.
        varies: Names of rates in which GeForce differs from other products.
        origins: Key -> source of its value.
        missing: Key -> why it is None.
        assumptions: Sentences about assumed values.
        overrides: Sentences about replaced values.
    """

    name: str | None = None
    architecture: str | None = None
    compute_capability: str | None = None
    sms: int | None = None
    clock_ghz: float | None = None
    memory_bus_bits: int | None = None
    memory_clock_ghz: float | None = None
    memory_bytes: int | None = None
    l2_bytes: int | None = None
    peak_bandwidth_bytes_per_s: float | None = None
    tensor_factor: float = 1.0
    stated_flops_per_s: Mapping[DataType, float] = field(default_factory=dict)
    stated_in: str = "stated"
    rates: Mapping[str, Rate] = field(default_factory=dict)
    varies: frozenset[str] = frozenset()
    sparsity_doubles: bool = False
    origins: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """True if a file or the user states anything that a peak can be computed from."""
        known = (self.name, self.compute_capability, self.peak_bandwidth_bytes_per_s, self.stated_flops_per_s)
        return any(known)

    @property
    def bandwidth_reason(self) -> str:
        """Reason for an unknown peak bandwidth; empty if it is known."""
        if self.peak_bandwidth_bytes_per_s is not None:
            return ""
        return self.missing.get("peak_bandwidth_bytes_per_s", UNKNOWN_DEVICE)

    @property
    def compute_reason(self) -> str:
        """Reason for unknown arithmetic peaks; empty if they are known."""
        if self.name is None and self.compute_capability is None:
            return UNKNOWN_DEVICE
        if not self.rates:
            unknown = self.missing.get("compute_capability", "not given")
            return self.missing.get("architecture", f"compute capability unknown: {unknown}")
        unknown_keys = [key for key in ("sms", "clock_ghz") if getattr(self, key) is None]
        return "; ".join(
            f"{_FIELDS[key].noun} unknown: {self.missing.get(key, 'not given')}" for key in unknown_keys
        )


@per_engine
def find_device(engine: Engine) -> Device:
    """Return the device stated in an engine's files, with what the user states about it."""
    return device_of_facts(engine.facts, engine.stated_device)


def device_of_facts(facts: Facts, stated: StatedDevice | None = None) -> Device:
    """Return the device as `find_device`: from trtexec's device section, completed by the old device dump."""
    device, numbers = _read_stated_in_files(facts)
    stated = stated or StatedDevice()
    tables = _tables()
    origins, missing = dict(device.origins), dict(device.missing)
    assumptions: list[str] = []
    overrides: list[str] = []
    by_user = f"stated by the user ({stated.source})"
    capability = device.compute_capability
    architecture = tables["architectures"].get(tables["same_architecture"].get(capability, capability))
    if capability and architecture is None:
        missing["architecture"] = f"no known rates for compute capability {capability}"

    corrected = _find_correction("clock_ghz", device.name, numbers)
    clock_ghz, clock_origin = stated.values.get("clock"), by_user
    sms = stated.values.get("sms")
    if clock_ghz is None and corrected:
        clock_ghz, clock_origin = corrected["value"], _grounds(corrected)
    if clock_ghz is None and device.clock_ghz is not None:
        assumptions.append(CLOCK_ASSUMPTION)
    replacing = (("sms", sms, by_user, ""), ("clock_ghz", clock_ghz, clock_origin, " GHz"))
    for key, value, origin, unit in replacing:
        if value is not None:
            reported = getattr(device, key)
            instead = f", not the reported {reported:g}{unit}" if reported else ""
            overrides.append(f"{_FIELDS[key].noun}: {value:g}{unit}{instead}; {origin}")
            origins[key] = origin
            missing.pop(key, None)
    bandwidth, origin, reason = _find_bandwidth(device, stated, numbers, by_user, assumptions)
    (origins if bandwidth else missing)["peak_bandwidth_bytes_per_s"] = origin if bandwidth else reason

    factor, limited = 1.0, _find_correction("tensor_factor", device.name, numbers)
    if limited:
        factor = limited["value"]
        overrides.append(f"tensor-core rates × {factor:g}; {_grounds(limited)}")
    scale = (architecture or {}).get("tensor_clock_scale")
    if scale and scale["value"] != 1 and "clock" not in stated.values:
        factor *= scale["value"]
        published = f"tensor cores run at {scale['value']:g} of the reported clock, as in the published peaks"
        assumptions.append(f"{published} ({_evidence(scale)})")
    short = short_device_name(device.name or "")
    assumptions += [
        caution["note"] for caution in tables["cautions"] if short and re.search(caution["name"], short)
    ]
    assumptions += [architecture["note"]] if architecture and architecture.get("note") else []
    rates = {
        is_geforce: {name: _rate(name, entry, is_geforce) for name, entry in (architecture or {"rates": {}})["rates"].items()}
        for is_geforce in (True, False)
    }  # fmt: skip
    is_geforce = any(re.search(pattern["name"], device.name or "") for pattern in tables["geforce_names"])
    return replace(
        device,
        architecture=architecture["name"] if architecture else None,
        sms=int(sms) if sms else device.sms,
        clock_ghz=clock_ghz or device.clock_ghz,
        peak_bandwidth_bytes_per_s=bandwidth,
        tensor_factor=factor,
        stated_flops_per_s={
            dtype: stated.values[key] * 1e12 for key, dtype in PEAK_PRECISIONS.items() if key in stated.values
        },
        stated_in=stated.source,
        rates=rates[is_geforce],
        varies=frozenset(name for name, rate in rates[False].items() if rate.macs != rates[True][name].macs),
        sparsity_doubles=bool(architecture and architecture["sparsity_doubles"]),
        origins=origins,
        missing=missing,
        assumptions=tuple(assumptions),
        overrides=tuple(overrides),
    )


def _read_stated_in_files(facts: Facts) -> tuple[Device, dict[str, float | None]]:
    """Return the plausible values in files, and the numbers that corrections depend on."""
    origins: dict[str, str] = {}
    missing: dict[str, str] = {}
    numbers: dict[str, float] = {}
    dump = facts.device_attributes
    for key, spec in _FIELDS.items():
        places = [(facts.device, label, spec.unit, f"trtexec: {label}") for label in spec.labels]
        places.append((dump, spec.old_label, spec.old_unit, f"device dump: {spec.old_label}"))
        missing[key] = NOT_STATED
        for section, label, unit, origin in places:
            if label not in section:
                continue
            number = parse_quantity(section[label], spec.units, unit)
            if (
                number is not None
                and spec.least <= number <= spec.most
                and (not spec.is_whole or number.is_integer())
            ):
                numbers[key], origins[key] = number, origin
                missing.pop(key)
                break
            if missing[key] == NOT_STATED:
                missing[key] = f"{origin} is {_shown(section[label])} (implausible)"
    stated = [(facts.device.get(_CAPABILITY), f"trtexec: {_CAPABILITY}")]
    if "COMPUTE_CAPABILITY_MAJOR" in dump:
        pair = f"{dump['COMPUTE_CAPABILITY_MAJOR']}.{dump.get('COMPUTE_CAPABILITY_MINOR')}"
        stated.append((pair, "device dump: COMPUTE_CAPABILITY"))
    capability = None
    missing["compute_capability"] = NOT_STATED
    for value, origin in stated:
        number = None if value is None else parse_quantity(value, _COUNT, "")
        if number is not None and 2 <= number < 100 and abs(number * 10 - round(number * 10)) <= 1e-6:
            capability, origins["compute_capability"] = f"{number:.1f}", origin
            del missing["compute_capability"]
            break
        if value is not None:
            missing["compute_capability"] = f"{origin} is {_shown(value)} (implausible)"
    whole = {key: round(number) for key, number in numbers.items()}
    device = Device(
        name=facts.device_name,
        compute_capability=capability,
        sms=whole.get("sms"),
        clock_ghz=numbers.get("clock_ghz"),
        memory_bus_bits=whole.get("memory_bus_bits"),
        memory_clock_ghz=numbers.get("memory_clock_ghz"),
        memory_bytes=whole.get("memory_bytes"),
        l2_bytes=whole.get("l2_bytes"),
        origins=origins,
        missing=missing,
    )
    memory = numbers.get("memory_bytes")
    return device, {
        "sms": numbers.get("sms"),
        "clock_ghz": numbers.get("clock_ghz"),
        "memory_mib": None if memory is None else memory / 2**20,
        "compute_capability": float(capability) if capability else None,
        "is_integrated": float(dump.get("INTEGRATED") == 1),
    }


def parse_quantity(value: Any, units: Mapping[str, float], unit: str) -> float | None:  # noqa: ANN401
    """Parse a number with a unit, and convert it to the unit with factor 1; None for another unit or text without a number.

    >>> parse_quantity("1425 MHz", {"ghz": 1.0, "mhz": 1e-3}, "ghz"), parse_quantity("192 bits (ECC)", {"bits": 1.0}, "bits")
    (1.425, 192.0)

    Args:
        value: As in the file.
        units: Unit in lower case -> its factor.
        unit: Unit of a bare number.
    """
    number, written = finite_number(value), unit
    if isinstance(value, str):
        match = _QUANTITY.match(value)
        number, written = (finite_number(float(match[1])), match[2].lower() or unit) if match else (None, "")
    factor = units.get(written)
    return None if number is None or factor is None else number * factor


def _shown(value: object) -> str:
    return printable(str(value))[:40] or "empty"


_PLAUSIBLE_BANDWIDTH = (5e9, 2e13)  # bytes per second, from a Tegra to twice a B200


def _find_bandwidth(
    device: Device,
    stated: StatedDevice,
    numbers: Mapping[str, float | None],
    by_user: str,
    assumptions: list[str],
) -> tuple[float | None, str, str]:
    """Return the peak bandwidth, its origin, and why it is unknown."""
    if "bandwidth" in stated.values:
        return stated.values["bandwidth"] * 1e9, by_user, ""
    corrected = _find_correction("bandwidth_gb_per_s", device.name, numbers)
    if corrected:
        assumptions.append("the memory runs at its highest clock; lower power modes slow it down")
        return corrected["value"] * 1e9, _grounds(corrected), ""
    capability, tables = device.compute_capability, _tables()
    if device.name is None and capability is None:
        return None, "", UNKNOWN_DEVICE
    twin = tables["architectures"].get(tables["same_architecture"].get(capability, capability), {})
    if numbers["is_integrated"] or twin.get("integrated") or capability in tables["integrated_without_rates"]:
        return None, "", "integrated GPU: the reported memory clock and bus width do not give the bandwidth"
    if capability is None:
        return (
            None,
            "",
            "without the compute capability, discrete and integrated GPUs cannot be distinguished",
        )
    bits, clock = device.memory_bus_bits, device.memory_clock_ghz
    if bits is None or clock is None:
        keys = [key for key in ("memory_clock_ghz", "memory_bus_bits") if key in device.missing]
        return None, "", "; ".join(f"{_FIELDS[key].noun} unknown: {device.missing[key]}" for key in keys)
    peak = 2 * clock * 1e9 * bits / 8
    formula = f"2 × {clock:g} GHz × {bits} bits ÷ 8"
    if _PLAUSIBLE_BANDWIDTH[0] <= peak <= _PLAUSIBLE_BANDWIDTH[1]:
        return peak, formula, ""
    return None, "", f"{formula} = {peak / 1e9:.4g} GB/s (implausible)"


@lru_cache(maxsize=1)
def _tables() -> dict[str, Any]:
    path = files("trex_tui.analysis").joinpath("gpu_peaks.json")
    tables: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return tables


_OPERATORS = {
    "==": lambda value, bound: abs(value - bound) < 0.0005,  # clocks are reported to the MHz
    "<": operator.lt,
    "<=": operator.le,
    ">=": operator.ge,
}


def _find_correction(
    key: str, name: str | None, numbers: Mapping[str, float | None]
) -> dict[str, Any] | None:
    """Return the first correction of a quantity that fits name and reported numbers; a missing number never does."""

    def is_met(quantity: str, sign: str, bound: float) -> bool:
        value = numbers.get(quantity)
        return value is not None and bool(_OPERATORS[sign](value, bound))

    rows = (
        row
        for row in _tables()["corrections"][key]
        if name and re.search(row["name"], short_device_name(name))
    )
    fitting = (
        row for row in rows if any(all(is_met(*bound) for bound in bounds) for bounds in row["any_of"])
    )
    return next(fitting, None)


def _evidence(entry: Mapping[str, Any]) -> str:
    titles = "; ".join(_tables()["sources"][key]["title"] for key in entry["src"])
    return f"read in: {titles}" if entry["tag"] == "read" else f"inferred; {titles}"


def _grounds(correction: Mapping[str, Any]) -> str:
    return f"{correction['product']}: {correction['note']} ({_evidence(correction)})"


def _rate(name: str, entry: Mapping[str, Any], is_geforce: bool) -> Rate:
    value = entry.get("geforce" if is_geforce else "other", entry)
    titles = "; ".join(_tables()["sources"][key]["title"] for key in entry["src"])
    return Rate(name, value["mac"], value["tag"], titles)


INTEGRATED = frozenset((53, 62, 72, 87, 101, 110))
"""Compute capabilities of Jetson and DRIVE modules, whose CPU and GPU share the memory."""


def architecture_by_tactics(engine: Engine) -> int | None:
    """Return the newest architecture that kernels were written for, 80 for sm_80: the GPU has it or a later one."""
    versions = engine.column("tactic_sm").dropna()
    return None if versions.empty else int(versions.max())


def find_capability(engine: Engine) -> int | None:
    """Return the compute capability, 86 for 8.6: as stated, else at least what the kernels need."""
    stated = find_device(engine).compute_capability
    return int(stated.replace(".", "")) if stated else architecture_by_tactics(engine)


_IN_FILES = "trtexec: device section; device dump"
FACTS = by_key(
        Column("name", "Device", "Name that the driver reports.", source=_IN_FILES),
        Column("architecture", "Architecture", "Chip family of the compute capability.", source="gpu_peaks.json"),
        Column("compute_capability", "Compute capability", "Version of the GPU: 8.6 for sm_86.", source=_IN_FILES),
        Column("sms", "SMs", "Streaming multiprocessors.", source=_IN_FILES),
        Column("clock_ghz", "SM clock", "Highest clock of the SMs that the driver reports.", source=_IN_FILES),
        Column("memory_bus_bits", "Memory bus", "Width of the memory bus in bits.", source=_IN_FILES),
        Column("memory_clock_ghz", "Memory clock", "As reported: half of the data rate on graphics cards.", source=_IN_FILES),
        Column("memory_bytes", "Memory", "Size of the device memory.", source=_IN_FILES),
        Column("l2_bytes", "L2 cache", "Size of the L2 cache.", source=_IN_FILES),
        Column("peak_bandwidth_bytes_per_s", "Peak bandwidth", "Peak rate of the device memory.",
               "2 · memory clock · bus width / 8; integrated GPUs are looked up", _IN_FILES),
        Column("tensor_factor", "Tensor factor", "Factor of the tensor-core rates of this GPU against its architecture."),
)  # fmt: skip
