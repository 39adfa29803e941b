"""Peaks of GPUs: rates per SM and clock, and the operations per second of a device.

`gpu_peaks.json` holds the rates and corrections of misleading driver values, each with its sources and whether it was read
there or inferred. The peak of a precision, unit and accumulator is `2 × (MACs per SM and clock) × SMs × clock × tensor
factor`; twice that for 2:4 sparse weights if the architecture supports them. The dense rate is used unless the kernel is
known to be sparse.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from trex_tui.old.engine.dtypes import DataType, format_rate
from trex_tui.old.engine.tactics import parse_tactic
from trex_tui.old.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from trex_tui.old.analysis.device import DeviceModel

READ = "read"
"""The figure is in its sources."""

INFERRED = "inferred"
"""The figure was computed, transferred from a related part, or recalled."""

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "==": lambda value, bound: abs(value - bound) < 0.0005,  # clocks are reported to the MHz
    "<": operator.lt,
    "<=": operator.le,
    ">=": operator.ge,
}


class Source(NamedTuple):
    """A document: its title, and kind of evidence (NVIDIA's own text, a copy of it, a third party, …)."""

    title: str
    kind: str


class Rate(NamedTuple):
    """Dense multiply-accumulates per SM and clock.

    Attributes:
        name: `fp32_cuda`, `fp16_tc_acc32`, …: type, unit (CUDA cores or tensor cores), accumulator.
        mac_per_sm_clock: One multiply-accumulate is two operations.
        tag: `READ` or `INFERRED`.
        sources: Sources of the rate.
    """

    name: str
    mac_per_sm_clock: int
    tag: str
    sources: tuple[Source, ...]


class Architecture(NamedTuple):
    """A compute capability.

    Attributes:
        rates: By name, for GeForce products and for all others.
        is_integrated: Shares the memory of the host, so that the driver's memory clock and bus width are meaningless.
        sparsity_doubles: 2:4 sparse weights double the tensor rates.
        tensor_clock_scale: Clock of the published tensor peaks over the clock that the driver reports.
        note: Note on the rates; may be empty.
    """

    compute_capability: str
    name: str
    rates: Mapping[bool, Mapping[str, Rate]]
    is_integrated: bool = False
    sparsity_doubles: bool = False
    tensor_clock_scale: float = 1.0
    tensor_clock_tag: str = INFERRED
    tensor_clock_sources: tuple[Source, ...] = ()
    note: str = ""


class Correction(NamedTuple):
    """A value that replaces a driver value of one product, or scales the value of its architecture.

    Attributes:
        name: Pattern for the device name without `NVIDIA `.
        any_of: Alternatives; each is a list of (quantity, operator, bound) that must all be met.
        product: Product name of such a device.
    """

    name: re.Pattern[str]
    any_of: tuple[tuple[tuple[str, str, float], ...], ...]
    product: str
    value: float
    tag: str
    sources: tuple[Source, ...]
    note: str

    def applies(self, name: str, quantities: Mapping[str, float | None]) -> bool:
        """Return whether a device with this (shortened) name and these quantities matches; a missing quantity never does."""
        return bool(self.name.search(name)) and any(
            all(_holds(quantities.get(quantity), sign, bound) for quantity, sign, bound in conditions)
            for conditions in self.any_of
        )


def _holds(value: float | None, sign: str, bound: float) -> bool:
    return value is not None and _OPERATORS[sign](value, bound)


@dataclass(frozen=True, slots=True)
class GpuPeaks:
    """Content of `gpu_peaks.json`.

    Attributes:
        architectures: By compute capability, `8.6`.
        integrated: Compute capabilities whose memory belongs to the host, including those without rates.
        geforce_names: Patterns of names whose FP32 accumulation may run at half rate.
        corrections: By quantity (`bandwidth_gb_per_s`, `clock_ghz`, `tensor_factor`); the first match wins.
        cautions: Pattern of a name, and a sentence about such devices.
    """

    architectures: Mapping[str, Architecture]
    integrated: frozenset[str]
    geforce_names: tuple[re.Pattern[str], ...]
    corrections: Mapping[str, tuple[Correction, ...]]
    cautions: tuple[tuple[re.Pattern[str], str], ...] = field(default=())

    def correction(
        self, quantity: str, name: str, quantities: Mapping[str, float | None]
    ) -> Correction | None:
        return next(
            (correction for correction in self.corrections[quantity] if correction.applies(name, quantities)),
            None,
        )

    def is_geforce(self, name: str) -> bool:
        """Return whether a device counts as GeForce, whose FP32 accumulation may run at half rate."""
        return any(pattern.search(name) for pattern in self.geforce_names)


@lru_cache(maxsize=1)
def gpu_peaks() -> GpuPeaks:
    """Read the table, once."""
    from importlib.resources import files  # 10 ms, and only needed for a roofline

    root = json.loads(files("trex_tui.old.analysis").joinpath("gpu_peaks.json").read_text(encoding="utf-8"))
    sources = {key: Source(entry["title"], entry["kind"]) for key, entry in root["sources"].items()}
    architectures = {
        capability: _architecture(capability, entry, sources)
        for capability, entry in root["architectures"].items()
    }
    for capability, twin in root["same_architecture"].items():
        architectures[capability] = architectures[twin]
    integrated = {
        capability for capability, architecture in architectures.items() if architecture.is_integrated
    }
    return GpuPeaks(
        architectures,
        frozenset(integrated.union(root["integrated_without_rates"])),
        tuple(re.compile(pattern["name"]) for pattern in root["geforce_names"]),
        {
            quantity: tuple(_correction(row, sources) for row in rows)
            for quantity, rows in root["corrections"].items()
        },
        tuple((re.compile(caution["name"]), caution["note"]) for caution in root["cautions"]),
    )


def _named(sources: Mapping[str, Source], keys: list[str]) -> tuple[Source, ...]:
    return tuple(sources[key] for key in keys)


def _architecture(capability: str, raw: dict[str, Any], sources: Mapping[str, Source]) -> Architecture:
    rates: dict[bool, dict[str, Rate]] = {True: {}, False: {}}
    for name, entry in raw["rates"].items():
        for geforce, variant in ((True, "geforce"), (False, "other")):
            value = entry.get(variant, entry)
            rates[geforce][name] = Rate(name, value["mac"], value["tag"], _named(sources, entry["src"]))
    scale = raw.get("tensor_clock_scale", {"value": 1.0, "tag": INFERRED, "src": []})
    return Architecture(
        compute_capability=capability,
        name=raw["name"],
        rates=rates,
        is_integrated=raw["integrated"],
        sparsity_doubles=raw["sparsity_doubles"],
        tensor_clock_scale=scale["value"],
        tensor_clock_tag=scale["tag"],
        tensor_clock_sources=_named(sources, scale["src"]),
        note=raw.get("note", ""),
    )


def _correction(raw: dict[str, Any], sources: Mapping[str, Source]) -> Correction:
    alternatives = tuple(
        tuple((quantity, sign, bound) for quantity, sign, bound in bounds) for bounds in raw["any_of"]
    )
    return Correction(
        re.compile(raw["name"]),
        alternatives,
        raw["product"],
        raw["value"],
        raw["tag"],
        _named(sources, raw["src"]),
        raw["note"],
    )


STATED = "stated"
"""Tag of a peak that the user states."""


class Peak(NamedTuple):
    """Largest number of operations per second of a device in one precision.

    Attributes:
        flop_per_s: A multiply-accumulate is two; None if unknown.
        rate: Rate of the architecture; None if the user states the peak or no rate is known.
        tag: `read`, `inferred` or `stated`; empty without a peak.
        source: Titles of the rate's sources, or where the user states the peak.
        formula: How the number was computed.
        reason: Why there is none; empty if there is one.
        assumptions: Sentences about assumptions in the choice of the rate.
    """

    flop_per_s: float | None
    rate: Rate | None = None
    tag: str = ""
    source: str = ""
    formula: str = ""
    reason: str = ""
    assumptions: tuple[str, ...] = ()

    def describe(self, precision: DataType | None) -> str:
        """Return one sentence: value in the unit of a precision, formula, source; or why it is unknown."""
        if self.flop_per_s is None:
            return f"peak unknown: {self.reason}"
        return f"peak {format_rate(self.flop_per_s, precision)} = {self.formula} ({self.tag}: {self.source})"


_TENSOR_RATES = {
    DataType.TF32: "tf32_tc",
    DataType.BF16: "bf16_tc",
    DataType.INT8: "int8_tc",
    DataType.INT4: "int4_tc",
    DataType.FP4: "fp4_tc",
}
_TENSOR_RATES_BY_ACCUMULATOR = {DataType.FP16: "fp16_tc", DataType.FP8: "fp8_tc"}
_ACCUMULATORS = {DataType.FP16: "acc16", DataType.FP32: "acc32"}

TENSOR_PRECISIONS = frozenset({*_TENSOR_RATES, *_TENSOR_RATES_BY_ACCUMULATOR})
"""Precisions that some tensor cores compute in."""


DP4A_PRODUCTS = 4
"""INT8 products per CUDA core lane and DP4A instruction."""


def peak_ops(
    device: DeviceModel,
    precision: DataType,
    *,
    tensor_cores: bool,
    accumulate: DataType | None = None,
    sparse: bool = False,
) -> Peak:
    """Return the peak for kernels of one kind.

    A peak stated by the user for a precision belongs to the fastest unit, so tensor cores if there are any; kernels on CUDA
    cores keep the peak of the architecture, if it is known.

    Args:
        precision: Type of the products; FP32 on tensor cores means TF32.
        tensor_cores: Whether the kernel uses them. If the device has none for the precision, CUDA cores are used.
        accumulate: Type of the sums: GeForce halves the rate of FP16 and FP8 for FP32. None is unknown; then the faster one
            is used.
        sparse: The kernel uses 2:4 sparse weights.
    """
    wanted = DataType.TF32 if tensor_cores and precision is DataType.FP32 else precision
    stated = device.stated_peaks.get(wanted)
    if stated is not None and (tensor_cores or wanted not in TENSOR_PRECISIONS):
        return _stated(device, wanted, stated)
    peak = _architecture_peak(device, wanted, tensor_cores, accumulate, sparse)
    if peak.flop_per_s is None and stated is not None:
        note = f"the configured {wanted.value} peak also applies to CUDA cores"
        return _stated(device, wanted, stated)._replace(assumptions=(note,))
    if wanted is not precision:
        peak = peak._replace(assumptions=("FP32 on tensor cores runs as TF32", *peak.assumptions))
    return peak


def has_tensor_cores(device: DeviceModel, precision: DataType) -> bool | None:
    """Return whether the device has tensor cores for a precision (for FP32: TF32); None if its architecture is not known."""
    if device.architecture is None:
        return None
    wanted = DataType.TF32 if precision is DataType.FP32 else precision
    return _tensor_rate(device, wanted, None, []) is not None


def _stated(device: DeviceModel, precision: DataType, value: float) -> Peak:
    formula = f"the configured peak for {precision.value}"
    return Peak(value, tag=STATED, source=device.stated_in, formula=formula)


def _architecture_peak(
    device: DeviceModel, precision: DataType, tensor_cores: bool, accumulate: DataType | None, sparse: bool
) -> Peak:
    if device.architecture is None:
        return Peak(None, reason=device.compute_reason)
    notes: list[str] = []
    rate = _tensor_rate(device, precision, accumulate, notes) if tensor_cores else None
    if rate is None:
        if tensor_cores:
            notes.append(
                f"{device.architecture.name} has no {precision.value} tensor cores: peak of the CUDA cores "
                "used"
            )
        rate = _cuda_rate(device, precision, accumulate, notes)
        factor = 1.0
    else:
        factor = device.tensor_factor
        if sparse and device.architecture.sparsity_doubles:
            factor *= 2
            notes.append("2:4 sparse weights double the rate")
    if rate is None:
        unit = "" if tensor_cores else " on CUDA cores"
        return Peak(None, reason=f"no {precision.value} rate{unit} known for {device.architecture.name}")
    of_geforce = _device_rates(device, geforce=True).get(rate.name, rate)
    if device.name is None and rate.mac_per_sm_clock != of_geforce.mac_per_sm_clock:
        return Peak(
            None,
            rate,
            reason=("without the device name, GeForce cannot be distinguished from other products"),
        )
    return _scaled(device, rate, factor, tuple(notes))


def _scaled(device: DeviceModel, rate: Rate, factor: float, notes: tuple[str, ...]) -> Peak:
    if device.sms is None or device.clock_ghz is None:
        return Peak(None, rate, reason=device.compute_reason)
    value = 2 * rate.mac_per_sm_clock * device.sms * device.clock_ghz * 1e9 * factor
    formula = f"2 × {rate.mac_per_sm_clock} MACs × {device.sms} SMs × {device.clock_ghz:g} GHz"
    if factor != 1:
        formula += f" × {factor:g}"
    source = "; ".join(cited.title for cited in rate.sources)
    return Peak(value, rate, rate.tag, source, formula, assumptions=notes)


def _device_rates(device: DeviceModel, *, geforce: bool) -> Mapping[str, Rate]:
    return device.architecture.rates[geforce] if device.architecture else {}


def _tensor_rate(
    device: DeviceModel, precision: DataType, accumulate: DataType | None, notes: list[str]
) -> Rate | None:
    if device.tensor_factor == 0:
        return None
    rates = _device_rates(device, geforce=device.is_geforce)
    stem = _TENSOR_RATES_BY_ACCUMULATOR.get(precision)
    if stem is None:
        return rates.get(_TENSOR_RATES.get(precision, ""))
    accumulator = _ACCUMULATORS.get(accumulate) if accumulate else None
    if accumulator:
        return rates.get(f"{stem}_{accumulator}")
    fast, exact = rates.get(f"{stem}_acc16"), rates.get(f"{stem}_acc32")
    if fast and exact and fast.mac_per_sm_clock != exact.mac_per_sm_clock:
        notes.append("accumulator unknown; the faster FP16 accumulation is assumed")
    return fast or exact


def _cuda_rate(
    device: DeviceModel, precision: DataType, accumulate: DataType | None, notes: list[str]
) -> Rate | None:
    rates = _device_rates(device, geforce=device.is_geforce)
    single = rates.get("fp32_cuda")
    if precision in (DataType.FP32, DataType.TF32):
        return single
    if precision not in (DataType.FP16, DataType.BF16, DataType.INT8):
        return None
    if precision is DataType.INT8:
        return rates.get("int8_dp4a") or _derive_dp4a(single, notes)
    if accumulate is DataType.FP32:
        notes.append(f"on CUDA cores, {precision.value} summed in FP32 is computed in FP32")
        return single
    own = rates.get(f"{precision.value.lower()}_cuda")
    if own is None or (single and own.mac_per_sm_clock < single.mac_per_sm_clock):
        notes.append(f"no fast {precision.value} arithmetic: the FP32 rate is used")
        return single
    return own


def _derive_dp4a(single: Rate | None, notes: list[str]) -> Rate | None:
    """Return the rate of DP4A: four products per instruction, at the rate of FP32 instructions or less."""
    if single is None:
        return None
    notes.append("DP4A at four times the FP32 rate, an upper bound")
    return single._replace(
        name="int8_dp4a", mac_per_sm_clock=DP4A_PRODUCTS * single.mac_per_sm_clock, tag=INFERRED
    )


def peak_of_kernel(
    device: DeviceModel, precision: DataType | None, tactic_name: str | None, layer_type: str | None = None
) -> Peak:
    """Return the peak for a layer of this precision with this kernel; facts missing in the kernel's name become assumptions.

    The roof of a kernel that may or may not use tensor cores is that of the tensor cores.
    """
    tactic = parse_tactic(tactic_name)
    precision = precision or (tactic.compute_type if tactic else None)
    if precision is None:
        return Peak(None, reason="unknown precision")
    tensor_cores = tactic.tensor_cores if tactic else None
    notes = []
    if "Depthwise" in (layer_type or ""):
        tensor_cores = False
    if tensor_cores is None:
        tensor_cores = precision in TENSOR_PRECISIONS
        if tensor_cores:
            notes.append("tensor-core use unknown from the kernel name; their peak is used")
    if tactic and tactic.is_winograd:
        notes.append("Winograd kernels need fewer multiplications than the layer's MACs")
    peak = peak_ops(
        device,
        precision,
        tensor_cores=tensor_cores,
        accumulate=tactic.accumulate_type if tactic else None,
        sparse=tactic is not None and tactic.is_sparse,
    )
    return peak._replace(assumptions=(*peak.assumptions, *notes)) if notes else peak
