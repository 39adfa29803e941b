"""Peaks of a GPU for a precision and a kernel: `2 × (MACs per SM and clock) × SMs × clock × tensor factor`."""

from __future__ import annotations

from typing import NamedTuple

from trex_tui.analysis.device import Device, Rate
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.tactics import parse_tactic


class Peak(NamedTuple):
    """Largest number of operations per second of a device in one precision.

    Attributes:
        flops_per_s: A multiply-accumulate is two; None if unknown.
        tag: `read`, `inferred` or `stated`; empty without a peak.
        source: Titles of the rate's sources, or where the user states the peak.
        formula: How the number was computed.
        reason: Why there is none; empty if there is one.
        assumptions: Sentences about assumptions in the choice of the rate.
    """

    flops_per_s: float | None
    tag: str = ""
    source: str = ""
    formula: str = ""
    reason: str = ""
    assumptions: tuple[str, ...] = ()


_TENSOR_RATES = {
    DataType.TF32: "tf32_tc",
    DataType.BF16: "bf16_tc",
    DataType.INT8: "int8_tc",
    DataType.INT4: "int4_tc",
    DataType.FP4: "fp4_tc",
    DataType.FP16: "fp16_tc",
    DataType.FP8: "fp8_tc",
}
TENSOR_PRECISIONS = frozenset(_TENSOR_RATES)
"""Precisions that some tensor cores compute in."""
_ACCUMULATORS = {DataType.FP16: "acc16", DataType.FP32: "acc32"}
DP4A_PRODUCTS = 4
"""INT8 products per CUDA core lane and DP4A instruction."""


def find_peak(
    device: Device,
    precision: DataType,
    *,
    tensor_cores: bool,
    accumulate: DataType | None = None,
    is_sparse: bool = False,
) -> Peak:
    """Return the peak for kernels of one kind.

    A peak stated by the user for a precision belongs to the fastest unit, so tensor cores if there are any; kernels on CUDA
    cores keep the peak of the architecture, if it is known.

    Args:
        precision: Type of the products; FP32 on tensor cores means TF32.
        tensor_cores: Whether the kernel uses them. If the device has none for the precision, CUDA cores are used.
        accumulate: Type of the sums: GeForce halves the rate of FP16 and FP8 for FP32. None is unknown; then the faster one
            is used.
        is_sparse: The kernel uses 2:4 sparse weights.
    """
    wanted = DataType.TF32 if tensor_cores and precision is DataType.FP32 else precision
    stated = device.stated_flops_per_s.get(wanted)
    by_user = Peak(stated, "stated", device.stated_in, f"the configured peak for {wanted.value}")
    if stated is not None and (tensor_cores or wanted not in TENSOR_PRECISIONS):
        return by_user
    peak = _peak_of_rates(device, wanted, tensor_cores, accumulate, is_sparse)
    if peak.flops_per_s is None and stated is not None:
        return by_user._replace(
            assumptions=(f"the configured {wanted.value} peak also applies to CUDA cores",)
        )
    if wanted is not precision:
        peak = peak._replace(assumptions=("FP32 on tensor cores runs as TF32", *peak.assumptions))
    return peak


def has_tensor_cores(device: Device, precision: DataType) -> bool | None:
    """Return whether the device has tensor cores for a precision (for FP32: TF32); None if its architecture is not known."""
    if not device.rates:
        return None
    wanted = DataType.TF32 if precision is DataType.FP32 else precision
    return _tensor_rate(device, wanted, None, []) is not None


def _peak_of_rates(
    device: Device, precision: DataType, tensor_cores: bool, accumulate: DataType | None, is_sparse: bool
) -> Peak:
    if not device.rates:
        return Peak(None, reason=device.compute_reason)
    notes: list[str] = []
    factor = device.tensor_factor
    rate = _tensor_rate(device, precision, accumulate, notes) if tensor_cores else None
    if rate is not None and is_sparse and device.sparsity_doubles:
        factor *= 2
        notes.append("2:4 sparse weights double the rate")
    if rate is None:
        if tensor_cores:
            notes.append(
                f"{device.architecture} has no {precision.value} tensor cores: peak of the CUDA cores used"
            )
        rate, factor = _cuda_rate(device, precision, accumulate, notes), 1.0
    if rate is None:
        unit = "" if tensor_cores else " on CUDA cores"
        return Peak(None, reason=f"no {precision.value} rate{unit} known for {device.architecture}")
    if device.name is None and rate.name in device.varies:
        return Peak(
            None, reason="without the device name, GeForce cannot be distinguished from other products"
        )
    if device.sms is None or device.clock_ghz is None:
        return Peak(None, reason=device.compute_reason)
    value = 2 * rate.macs * device.sms * device.clock_ghz * 1e9 * factor
    formula = f"2 × {rate.macs} MACs × {device.sms} SMs × {device.clock_ghz:g} GHz"
    formula += f" × {factor:g}" if factor != 1 else ""
    return Peak(value, rate.tag, rate.source, formula, assumptions=tuple(notes))


def _tensor_rate(
    device: Device, precision: DataType, accumulate: DataType | None, notes: list[str]
) -> Rate | None:
    if device.tensor_factor == 0 or precision not in _TENSOR_RATES:
        return None
    stem = _TENSOR_RATES[precision]
    if precision not in (DataType.FP16, DataType.FP8):
        return device.rates.get(stem)
    if accumulator := _ACCUMULATORS.get(accumulate) if accumulate else None:
        return device.rates.get(f"{stem}_{accumulator}")
    fast, exact = device.rates.get(f"{stem}_acc16"), device.rates.get(f"{stem}_acc32")
    if fast and exact and fast.macs != exact.macs:
        notes.append("accumulator unknown; the faster FP16 accumulation is assumed")
    return fast or exact


def _cuda_rate(
    device: Device, precision: DataType, accumulate: DataType | None, notes: list[str]
) -> Rate | None:
    single = device.rates.get("fp32_cuda")
    if precision in (DataType.FP32, DataType.TF32):
        return single
    if precision is DataType.INT8:
        own = device.rates.get("int8_dp4a")
        if own is None and single is not None:
            notes.append("DP4A at four times the FP32 rate, an upper bound")
            own = Rate("int8_dp4a", DP4A_PRODUCTS * single.macs, "inferred", single.source)
        return own
    if precision not in (DataType.FP16, DataType.BF16):
        return None
    if accumulate is DataType.FP32:
        notes.append(f"on CUDA cores, {precision.value} summed in FP32 is computed in FP32")
        return single
    own = device.rates.get(f"{precision.value.lower()}_cuda")
    if own is None or (single and own.macs < single.macs):
        notes.append(f"no fast {precision.value} arithmetic: the FP32 rate is used")
        return single
    return own


def peak_of_kernel(
    device: Device, precision: DataType | None, tactic_name: str | None, layer_type: str | None = None
) -> Peak:
    """Return the peak for a layer of this precision with this kernel; facts missing in the kernel's name become assumptions.

    The roof of a kernel that may or may not use tensor cores is that of the tensor cores.
    """
    tactic = parse_tactic(tactic_name)
    precision = precision or (tactic.compute_type if tactic else None)
    if precision is None:
        return Peak(None, reason="unknown precision")
    notes = []
    uses = False if "Depthwise" in (layer_type or "") else tactic.tensor_cores if tactic else None
    if uses is None:
        uses = precision in TENSOR_PRECISIONS
        notes += ["tensor-core use unknown from the kernel name; their peak is used"] if uses else []
    if tactic and tactic.is_winograd:
        notes.append("Winograd kernels need fewer multiplications than the layer's MACs")
    accumulate, is_sparse = (tactic.accumulate_type, tactic.is_sparse) if tactic else (None, False)
    peak = find_peak(device, precision, tensor_cores=uses, accumulate=accumulate, is_sparse=is_sparse)
    return peak._replace(assumptions=(*peak.assumptions, *notes))
