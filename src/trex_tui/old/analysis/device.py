"""The device that an engine ran on: facts stated in files, derived peaks, and assumptions.

`Reported` holds the plausible values in the files. Labels and units differ by version: trtexec writes `Compute Clock Rate:
1.77 GHz` up to 8.5 and `Application Compute Clock Rate` since, trex converted some values to numbers and not others, and the
older device dump holds CUDA's attributes with clocks in kHz.

`DeviceModel` adds corrections and values stated by the user. Peaks follow two formulas::

    operations per second = 2 × (MACs per SM and clock) × SMs × clock × tensor factor
    bytes per second      = 2 × memory clock × bus width ÷ 8        (graphics cards; integrated GPUs are looked up)

The rates, and corrections for devices whose drivers report other values, are in `gpu_peaks`. If an input is missing or
implausible there is no peak, only the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, NamedTuple

from trex_tui.old.analysis.device_overrides import DeviceOverrides
from trex_tui.old.analysis.gpu_peaks import READ, Architecture, Correction, Source, gpu_peaks
from trex_tui.old.artifacts.input_files import finite_number
from trex_tui.old.artifacts.metadata import Metadata
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.engine import Engine
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.lazy_pattern import lazy_pattern
from trex_tui.old.text import format_bytes, printable, short_device_name

NOT_STATED = "not in any file"

_QUANTITY = lazy_pattern(r"\s*([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*([A-Za-z]*)")
_GIGAHERTZ = {"ghz": 1.0, "mhz": 1e-3, "khz": 1e-6}
_BYTES = {"bytes": 1.0, "b": 1.0, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30}
_COUNT = {"": 1.0, "bits": 1.0, "bit": 1.0}


class _Field(NamedTuple):
    """Source of a quantity, its possible units, and its plausible range."""

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
    "shared_memory_per_sm_bytes": _Field(
        ("Shared Memory per SM",),
        "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR",
        _BYTES,
        "kib",
        "bytes",
        2.0**10,
        2.0**24,
    ),
    "l2_bytes": _Field(("L2 Cache Size",), "L2_CACHE_SIZE", _BYTES, "mib", "bytes", 2.0**14, 2.0**34),
}
_WHOLE = frozenset({"sms", "memory_bus_bits"})
_CAPABILITY = "Compute Capability"
DEVICE_LABELS = frozenset(
    {"Selected Device", _CAPABILITY, *(label for spec in _FIELDS.values() for label in spec.labels)}
)
"""Labels of trtexec's device section that `Reported` reads."""


@dataclass(slots=True)
class Reported:
    """Quantities as reported; missing ones are not stated, or implausible.

    Attributes:
        compute_capability: `8.6`.
        numbers: `sms`, `clock_ghz`, `memory_bus_bits`, `memory_clock_ghz`, `memory_bytes`, `shared_memory_per_sm_bytes`,
            `l2_bytes`.
        origins: Quantity -> its source.
        missing: Quantity -> why it is missing.
        is_integrated: The device dump states that the GPU has no memory of its own.
    """

    compute_capability: str | None = None
    numbers: dict[str, float] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    is_integrated: bool = False

    def whole(self, key: str) -> int | None:
        number = self.numbers.get(key)
        return None if number is None else round(number)

    @property
    def quantities(self) -> dict[str, float | None]:
        """Return the quantities for the conditions of the package's corrections."""
        memory = self.numbers.get("memory_bytes")
        return {
            "sms": self.numbers.get("sms"),
            "clock_ghz": self.numbers.get("clock_ghz"),
            "memory_mib": None if memory is None else memory / 2**20,
            "compute_capability": float(self.compute_capability) if self.compute_capability else None,
        }


def reported_device(metadata: Metadata) -> Reported:
    """Read trtexec's device section, and the old device dump for quantities missing there."""
    reported = Reported(is_integrated=metadata.device_attributes.get("INTEGRATED") == 1)
    _read_capability(metadata, reported)
    for key, spec in _FIELDS.items():
        places = [(metadata.device, label, spec.unit, f"trtexec: {label}") for label in spec.labels]
        places.append(
            (metadata.device_attributes, spec.legacy, spec.legacy_unit, f"device dump: {spec.legacy}")
        )
        for section, label, unit, origin in places:
            if label not in section:
                continue
            number = quantity(section[label], spec.units, unit)
            if number is None or not _is_plausible(key, number):
                reported.missing.setdefault(key, f"{origin} is {_shown_value(section[label])} (implausible)")
                continue
            reported.numbers[key], reported.origins[key] = number, origin
            reported.missing.pop(key, None)
            break
        else:
            reported.missing.setdefault(key, NOT_STATED)
    return reported


def _is_plausible(key: str, number: float) -> bool:
    spec = _FIELDS[key]
    return spec.least <= number <= spec.most and (key not in _WHOLE or number.is_integer())


def _shown_value(value: object) -> str:
    return printable(str(value))[:40] or "empty"


def quantity(value: Any, units: Mapping[str, float], unit: str) -> float | None:  # noqa: ANN401
    """Parse a number with a unit, and convert it to the unit with factor 1; None for another unit or text without a number.

    >>> quantity("1425 MHz", {"ghz": 1.0, "mhz": 1e-3}, "ghz"), quantity("192 bits (ECC disabled)", {"bits": 1.0}, "bits")
    (1.425, 192.0)

    Args:
        value: As in the file.
        units: Unit in lower case -> its factor.
        unit: Unit of a bare number.
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


def _read_capability(metadata: Metadata, reported: Reported) -> None:
    key = "compute_capability"
    stated: list[tuple[object, str]] = []
    if _CAPABILITY in metadata.device:
        stated.append((metadata.device[_CAPABILITY], f"trtexec: {_CAPABILITY}"))
    dump = metadata.device_attributes
    if "COMPUTE_CAPABILITY_MAJOR" in dump:
        pair = f"{dump['COMPUTE_CAPABILITY_MAJOR']}.{dump.get('COMPUTE_CAPABILITY_MINOR')}"
        stated.append((pair, "device dump: COMPUTE_CAPABILITY"))
    reported.missing[key] = NOT_STATED
    for value, origin in stated:
        capability = _capability(value)
        if capability:
            reported.compute_capability, reported.origins[key] = capability, origin
            del reported.missing[key]
            return
        reported.missing[key] = f"{origin} is {_shown_value(value)} (implausible)"


def _capability(value: object) -> str | None:
    """Return `8.6` for 8.6, `"8.6"` or 9; None unless it is a major number with a minor digit."""
    number = quantity(value, _COUNT, "")
    if number is None or not 2 <= number < 100 or abs(number * 10 - round(number * 10)) > 1e-6:
        return None
    return f"{number:.1f}"


UNKNOWN_DEVICE = "GPU unknown; set it with --peak or [device] in trex-tui.toml"

CLOCK_ASSUMPTION = "the SMs run at the highest clock that the driver reports; under load they may run slower"

_PLAUSIBLE_BANDWIDTH = (5e9, 2e13)  # bytes per second, from a Tegra to twice a B200
_NOUNS = {
    "compute_capability": "compute capability",
    "sms": "number of SMs",
    "clock_ghz": "clock of the SMs",
    "memory_bus_bits": "memory bus width",
    "memory_clock_ghz": "memory clock",
    "memory_bytes": "memory size",
}


@dataclass(frozen=True, slots=True)
class DeviceModel:
    """A GPU, according to files, the package's facts and the user. None is unknown.

    Attributes:
        name: As the driver reports it.
        compute_capability: `8.6`.
        sms: Streaming multiprocessors.
        clock_ghz: Clock of the SMs.
        memory_bus_bits: Width of the memory bus as reported.
        memory_clock_ghz: Memory clock as reported; half of the data rate on graphics cards.
        memory_bytes: Size of the memory.
        peak_bandwidth_bytes_per_s: Peak bandwidth of the device memory.
        tensor_factor: Factor of tensor-core peaks, beside SMs and clock: 1, less if the tensor cores run at a lower clock or
            the product is limited, 0 for chips without tensor cores.
        stated_peaks: Operations per second by precision, as the user states them.
        stated_in: Where the user states them.
        architecture: Its rates; None if the package has none for this compute capability.
        origins: Attribute -> source of its value.
        missing: Attribute -> why it is None.
        assumptions: Sentences about assumed values.
        overrides: Sentences about replaced values.
    """

    name: str | None = None
    compute_capability: str | None = None
    sms: int | None = None
    clock_ghz: float | None = None
    memory_bus_bits: int | None = None
    memory_clock_ghz: float | None = None
    memory_bytes: int | None = None
    peak_bandwidth_bytes_per_s: float | None = None
    tensor_factor: float = 1.0
    stated_peaks: Mapping[DataType, float] = field(default_factory=dict)
    stated_in: str = "stated"
    architecture: Architecture | None = None
    origins: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """True if a file or the user states anything that a peak can be computed from."""
        return bool(
            self.name or self.compute_capability or self.peak_bandwidth_bytes_per_s or self.stated_peaks
        )

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
        if self.architecture is None:
            unknown = self.missing.get("compute_capability", "not given")
            return self.missing.get("architecture", f"compute capability unknown: {unknown}")
        return "; ".join(
            f"{_NOUNS[key]} unknown: {self.missing.get(key, 'not given')}"
            for key, value in (("sms", self.sms), ("clock_ghz", self.clock_ghz))
            if value is None
        )

    @property
    def is_geforce(self) -> bool:
        """True if its FP32 accumulation may run at half rate, judging by the name."""
        return self.name is not None and gpu_peaks().is_geforce(self.name)

    def describe(self) -> list[str]:
        """Return sentences about the device: values with their source, missing, replaced and assumed values."""
        lines = [f"device: {self.name or 'unknown'}"]
        if self.architecture:
            lines[0] += f" ({self.architecture.name})"
        shown: tuple[tuple[str, str | None], ...] = (
            ("compute_capability", self.compute_capability),
            ("sms", _shown(self.sms, "{:d}")),
            ("clock_ghz", _shown(self.clock_ghz, "{:g} GHz")),
            ("memory_bus_bits", _shown(self.memory_bus_bits, "{:d} bits")),
            ("memory_clock_ghz", _shown(self.memory_clock_ghz, "{:g} GHz")),
            ("memory_bytes", None if self.memory_bytes is None else format_bytes(self.memory_bytes)),
        )
        for key, value in shown:
            if value is not None:
                lines.append(f"{_NOUNS[key]}: {value} ({self.origins.get(key, 'given')})")
            elif self.is_known and key in self.missing:
                lines.append(f"{_NOUNS[key]} unknown: {self.missing[key]}")
        if self.peak_bandwidth_bytes_per_s is None:
            lines.append(f"peak bandwidth unknown: {self.bandwidth_reason}")
        else:
            origin = self.origins.get("peak_bandwidth_bytes_per_s", "given")
            lines.append(f"peak bandwidth: {self.peak_bandwidth_bytes_per_s / 1e9:.1f} GB/s ({origin})")
        return [*lines, *self.overrides, *(f"assumed: {assumption}" for assumption in self.assumptions)]


def _shown(value: float | None, pattern: str) -> str | None:
    return None if value is None else pattern.format(value)


def find_device(engine: Engine) -> DeviceModel:
    """Return the device stated in an engine's files, with the overrides given when it was loaded."""
    return device_of_metadata(engine.metadata, engine.stated_device)


def device_of_metadata(metadata: Metadata, overrides: DeviceOverrides | None = None) -> DeviceModel:
    """Return the device as `find_device`, from the metadata: trtexec's device section, completed by the old device dump."""
    reported = reported_device(metadata)
    return _Derivation(metadata.device_name, reported, overrides or DeviceOverrides()).model()


class _Derivation:
    """Derives a `DeviceModel`: values of the user take precedence over corrections, and those over values of the driver."""

    def __init__(self, name: str | None, reported: Reported, stated: DeviceOverrides) -> None:
        self.name = name
        self.reported = reported
        self.stated = stated
        self.facts = gpu_peaks()
        self.origins = {key: origin for key, origin in reported.origins.items() if key in _NOUNS}
        self.missing = {key: reason for key, reason in reported.missing.items() if key in _NOUNS}
        self.assumptions: list[str] = []
        self.overrides: list[str] = []

    def model(self) -> DeviceModel:
        capability = self.reported.compute_capability
        architecture = self.facts.architectures.get(capability or "")
        if capability and architecture is None:
            self.missing["architecture"] = f"no known rates for compute capability {capability}"
        sms, clock_ghz, bandwidth = self._sms(), self._clock_ghz(), self._bandwidth()
        factor = self._tensor_factor(architecture)
        self.assumptions += [
            note
            for pattern, note in self.facts.cautions
            if self.name and pattern.search(short_device_name(self.name))
        ]
        if architecture and architecture.note:
            self.assumptions.append(architecture.note)
        return DeviceModel(
            name=self.name,
            compute_capability=capability,
            sms=sms,
            clock_ghz=clock_ghz,
            memory_bus_bits=self.reported.whole("memory_bus_bits"),
            memory_clock_ghz=self.reported.numbers.get("memory_clock_ghz"),
            memory_bytes=self.reported.whole("memory_bytes"),
            peak_bandwidth_bytes_per_s=bandwidth,
            tensor_factor=factor,
            stated_peaks={precision: peak * 1e12 for precision, peak in self.stated.peak_tflops.items()},
            stated_in=self.stated.source,
            architecture=architecture,
            origins=self.origins,
            missing=self.missing,
            assumptions=tuple(self.assumptions),
            overrides=tuple(self.overrides),
        )

    def _correction(self, quantity: str) -> Correction | None:
        if self.name is None:
            return None
        return self.facts.correction(quantity, short_device_name(self.name), self.reported.quantities)

    def _replace(self, key: str, shown: str, reported: str | None, origin: str) -> None:
        instead = f", not the reported {reported}" if reported else ""
        self.overrides.append(f"{_NOUNS[key]}: {shown}{instead}; {origin}")
        self.origins[key] = origin
        self.missing.pop(key, None)

    def _sms(self) -> int | None:
        reported = self.reported.whole("sms")
        if self.stated.sms is None:
            return reported
        self._replace("sms", str(self.stated.sms), _shown(reported, "{:d}"), self._stated)
        return self.stated.sms

    def _clock_ghz(self) -> float | None:
        reported = self.reported.numbers.get("clock_ghz")
        shown = _shown(reported, "{:g} GHz")
        if self.stated.clock_ghz is not None:
            self._replace("clock_ghz", f"{self.stated.clock_ghz:g} GHz", shown, self._stated)
            return self.stated.clock_ghz
        correction = self._correction("clock_ghz")
        if correction:
            self._replace("clock_ghz", f"{correction.value:g} GHz", shown, _grounds(correction))
            return correction.value
        if reported is not None:
            self.assumptions.append(CLOCK_ASSUMPTION)
        return reported

    def _bandwidth(self) -> float | None:
        key = "peak_bandwidth_bytes_per_s"
        if self.stated.peak_bandwidth_gb_per_s is not None:
            self.origins[key] = self._stated
            return self.stated.peak_bandwidth_gb_per_s * 1e9
        correction = self._correction("bandwidth_gb_per_s")
        if correction:
            self.origins[key] = _grounds(correction)
            self.assumptions.append("the memory runs at its highest clock; lower power modes slow it down")
            return correction.value * 1e9
        bits, clock = (self.reported.numbers.get(key) for key in ("memory_bus_bits", "memory_clock_ghz"))
        reason = self._why_no_bandwidth()
        if not reason and bits is not None and clock is not None:
            peak = 2 * clock * 1e9 * bits / 8
            if _PLAUSIBLE_BANDWIDTH[0] <= peak <= _PLAUSIBLE_BANDWIDTH[1]:
                self.origins[key] = f"2 × {clock:g} GHz × {bits:.0f} bits ÷ 8"
                return peak
            reason = f"2 × {clock:g} GHz × {bits:.0f} bits ÷ 8 = {peak / 1e9:.4g} GB/s (implausible)"
        self.missing[key] = reason
        return None

    def _why_no_bandwidth(self) -> str:
        capability = self.reported.compute_capability
        if self.name is None and capability is None:
            return UNKNOWN_DEVICE
        if self.reported.is_integrated or capability in self.facts.integrated:
            return "integrated GPU: the reported memory clock and bus width do not give the bandwidth"
        if capability is None:
            return "without the compute capability, discrete and integrated GPUs cannot be distinguished"
        return "; ".join(
            f"{_NOUNS[key]} unknown: {self.missing[key]}"
            for key in ("memory_clock_ghz", "memory_bus_bits")
            if key in self.missing
        )

    def _tensor_factor(self, architecture: Architecture | None) -> float:
        factor = 1.0
        correction = self._correction("tensor_factor")
        if correction:
            factor = correction.value
            self.overrides.append(f"tensor-core rates × {factor:g}; {_grounds(correction)}")
        if architecture and architecture.tensor_clock_scale != 1 and self.stated.clock_ghz is None:
            factor *= architecture.tensor_clock_scale
            self.assumptions.append(
                f"tensor cores run at {architecture.tensor_clock_scale:g} of the reported clock, as in the"
                f" published peaks ({_evidence(architecture.tensor_clock_tag, architecture.tensor_clock_sources)})"
            )
        return factor

    @property
    def _stated(self) -> str:
        return f"stated by the user ({self.stated.source})"


def _evidence(tag: str, sources: tuple[Source, ...]) -> str:
    titles = "; ".join(source.title for source in sources)
    return f"read in: {titles}" if tag == READ else f"inferred; {titles}"


def _grounds(correction: Correction) -> str:
    evidence = _evidence(correction.tag, correction.sources)
    return f"{correction.product}: {correction.note} ({evidence})"
