"""CONV: convolutions that the tensor cores do not get, or get in an unlucky shape."""

from __future__ import annotations

from collections.abc import Iterator

from trex_tui.analysis.gpu_peaks import peak_ops
from trex_tui.analysis.roofline import Bound
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.lint.context import Context
from trex_tui.lint.lint_text import (
    CONVOLUTION_GUIDE,
    CUTLASS,
    NO_DETAILS,
    TENSOR_CORES,
    called,
    issue,
    time_text,
)
from trex_tui.lint.model import Confidence, Finding, NotChecked, Rule, Severity
from trex_tui.lint.savings import (
    TENSOR_CORE_FORMULA,
    bandwidth_share,
    evidence,
    fraction,
    is_busy,
    moving_ms,
    stake,
    tensor_core_ms,
    tensor_cores_for,
)

FIRST_CHANNELS = 4
"""Up to this many input channels a convolution is a first one: no kernel fills its products with so few."""
WINOGRAD_SAVING = 2.25
"""A 3×3 Winograd kernel on 2×2 outputs multiplies 16 times where the direct one does 36 times."""
NO_TACTIC = "the name of the tactic is missing, or does not tell whether the kernel runs on tensor cores"
NO_DEVICE = (
    "the device is unknown: keep trtexec's log, or state the device, and tensor cores and peaks are known"
)


def is_product_for_tensor_cores(context: Context, layer: Layer) -> bool:
    """A convolution with more than a few channels, not depthwise, and with more than one row and column to compute."""
    if layer.kind is not LayerKind.CONVOLUTION or context.is_depthwise(layer):
        return False
    channels = context.channels(layer)
    if channels is not None and channels // context.groups(layer) <= FIRST_CHANNELS:
        return False
    return not context.is_matrix_vector(layer)


def on_cuda_cores(context: Context, rule: str, layers: list[Layer]) -> Iterator[Finding | NotChecked]:
    """Reduced-precision products whose kernels are known to run on CUDA cores, where tensor cores would do better."""
    unknown = unstated = 0
    for layer in layers:
        precision = context.input_type(layer)
        tactic = context.tactic(layer)
        if precision is None or not context.is_reduced(layer) or (tactic and tactic.tensor_cores):
            continue
        if tactic is None or tactic.tensor_cores is None:
            unknown += 1
            continue
        available = tensor_cores_for(context, precision)
        if available is None:
            unstated += 1
        if available and (finding := _on_cuda_cores(context, rule, layer, precision)):
            yield finding
    if unknown:
        yield NotChecked(rule, NO_TACTIC, unknown)
    if unstated:
        yield NotChecked(rule, NO_DEVICE, unstated)


def _on_cuda_cores(context: Context, rule: str, layer: Layer, precision: DataType) -> Finding | None:
    if is_busy(context, layer):
        return None
    better = tensor_core_ms(context, layer, precision)
    if better is not None and layer.latency_ms is not None and better >= layer.latency_ms:
        return None
    won = stake(layer, layer.latency_ms - better) if better is not None and layer.latency_ms else None
    share = bandwidth_share(context, layer)
    return Finding(
        rule,
        f"{called(layer)} multiplies {precision.value} on CUDA cores: "
        f"{time_text(layer.latency_ms, context.pct(layer.latency_ms))}.",
        (layer.index,),
        confidence=Confidence.LOW if won is None and context.has_profile else Confidence.MEDIUM,
        stakes_ms=fraction(context, layer, 1.0) if won is None else won,
        formula="latency_ms: an upper bound, the peaks or the work are not known"
        if won is None
        else TENSOR_CORE_FORMULA,
        evidence=evidence(
            layer, tensor_cores="no", bandwidth_pct=None if share is None else round(100 * share, 1)
        ),
    )


def _reduced_on_cuda_cores(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("CONV001", NO_DETAILS)
        return
    wanted = [layer for layer in context.layers if is_product_for_tensor_cores(context, layer)]
    yield from on_cuda_cores(context, "CONV001", wanted)


def _tf32_pays(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("CONV002", NO_DETAILS)
        return
    found = [layer for layer in context.layers if _is_single_on_cuda_cores(context, layer)]
    single = peak_ops(context.device, DataType.FP32, tensor_cores=False).flop_per_s
    tensor = peak_ops(context.device, DataType.TF32, tensor_cores=True).flop_per_s
    if found and not (single and tensor):
        yield NotChecked("CONV002", NO_DEVICE, len(found))
        return
    for layer in found:
        tactic = context.tactic(layer)
        saving = WINOGRAD_SAVING if tactic and tactic.is_winograd else 1.0
        ratio = (tensor or 0.0) / ((single or 1.0) * saving)
        if ratio >= context.threshold("CONV002.peak_ratio", 1.5) and not is_busy(context, layer):
            yield _tf32_finding(context, layer, ratio)


def _is_single_on_cuda_cores(context: Context, layer: Layer) -> bool:
    if context.input_type(layer) is not DataType.FP32:
        return False
    tactic = context.tactic(layer)
    if tactic is None or tactic.tensor_cores is not False:
        return False
    if layer.kind is LayerKind.GEMM:
        return not context.is_matrix_vector(layer)
    return is_product_for_tensor_cores(context, layer)


def _tf32_finding(context: Context, layer: Layer, ratio: float) -> Finding:
    moving = moving_ms(context, context.bytes(layer))
    time = layer.latency_ms
    better = None if time is None else max(time / ratio, moving or 0.0, context.floor_ms or 0.0)
    return Finding(
        "CONV002",
        f"{called(layer)} multiplies FP32 on CUDA cores where TF32 has {ratio:.1f} times the peak: "
        f"{time_text(time, context.pct(time))}.",
        (layer.index,),
        stakes_ms=stake(layer, None if time is None or better is None else time - better),
        formula="latency_ms − max(latency_ms · FP32 peak / TF32 peak, bytes / bandwidth, shortest layer); the FP32 peak "
        "of a Winograd kernel counts 2.25 times",
        evidence=evidence(layer, peak_ratio=round(ratio, 2)),
    )


def _padded_channels(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("CONV003", NO_DETAILS)
        return
    dynamic = 0
    least = context.threshold("CONV003.waste_pct", 10.0) / 100
    for layer in context.layers:
        granule = _granule(context, layer)
        if granule is None:
            continue
        channels, maps = context.channels(layer), _maps(layer)
        if channels is None or maps is None:
            dynamic += 1
        elif finding := _padding(context, layer, (channels, maps), granule, least):
            yield finding
    if dynamic:
        yield NotChecked("CONV003", "a dimension is dynamic: export the layers in the profile run", dynamic)


def _maps(layer: Layer) -> int | None:
    shape = layer.outputs[0].shape if layer.outputs else ()
    return shape[1] if len(shape) >= 3 and shape[1] > 0 else None


def _granule(context: Context, layer: Layer) -> int | None:
    """Channels that a tensor-core kernel takes at once; None where that does not matter or is not known.

    TF32 4, FP16 and BF16 8 (16 with 2:4 sparse weights), INT8 and FP8 16, or 32 in layouts of 32 channels.
    """
    tactic, precision = context.tactic(layer), context.input_type(layer)
    if not is_product_for_tensor_cores(context, layer) or (tactic and tactic.tensor_cores is False):
        return None
    if precision in (DataType.FP16, DataType.BF16):
        return 16 if tactic and tactic.is_sparse else 8
    if precision in (DataType.INT8, DataType.FP8):
        vector = layer.inputs[0].format.vector
        return None if vector == 4 else 32 if vector == 32 else 16
    if precision in (DataType.FP32, DataType.TF32):
        return 4 if tactic and tactic.tensor_cores else None
    return 32 if precision in (DataType.FP4, DataType.INT4) else None


def _padding(
    context: Context, layer: Layer, sizes: tuple[int, int], granule: int, least: float
) -> Finding | None:
    groups = context.groups(layer)
    given = [max(1, size // groups) for size in sizes]
    padded = [-(-size // granule) * granule for size in given]
    waste = 1 - given[0] * given[1] / (padded[0] * padded[1])
    if waste < least:
        return None
    won = fraction(context, layer, _time_on_padding(context, layer, waste))
    share = context.pct(sum(won.values())) if won else None
    free = [
        f"{extra} more {side} channels"
        for extra, side in ((padded[0] - given[0], "input"), (padded[1] - given[1], "output"))
        if extra
    ]
    return Finding(
        "CONV003",
        f"{called(layer)} has {given[0]} input and {given[1]} output channels"
        f"{' per group' if groups > 1 else ''}, computed as {padded[0]} and {padded[1]}: "
        f"{100 * waste:.0f} % of the products are padding; {' and '.join(free)} would be almost free.",
        (layer.index,),
        severity=Severity.WARNING if share is not None and share >= 2 else None,
        stakes_ms=won,
        formula="latency_ms · (1 − C · K / (C and K rounded up to the granule)); bound by bandwidth, latency_ms · (1 − "
        "footprint_bytes / footprint_allocated_bytes); bound by its launch, nothing",
        evidence=evidence(
            layer,
            in_channels=given[0],
            out_channels=given[1],
            granule=granule,
            waste_pct=round(100 * waste, 1),
        ),
    )


def _time_on_padding(context: Context, layer: Layer, waste: float) -> float:
    """The part of the layer's time that its padding takes: of the products, or of the bytes where those are the bound."""
    point = context.point(layer)
    bound = point.bound if point else None
    if bound is Bound.LAUNCH:
        return 0.0
    padded, given = layer.footprint_allocated_bytes, layer.footprint_bytes
    if bound is Bound.BANDWIDTH and padded and given is not None:
        return 1 - given / padded
    return waste


RULES: tuple[Rule, ...] = (
    Rule(
        id="CONV001",
        title="Reduced-precision convolution on CUDA cores",
        severity=Severity.WARNING,
        looks_for="A convolution or deconvolution whose data is FP16, BF16, INT8, FP8, INT4 or FP4 and whose kernel, by its "
        "name, does not use tensor cores.",
        why="The device's tensor cores multiply these types several times faster than its CUDA cores.",
        remedy="Make the channels fit (CONV003). Give INT8 convolutions an INT8 output (QDQ002), so that they stay in "
        "layouts "
        "of 32 channels: layouts of 4 lead to DP4A kernels. Give the builder more workspace.",
        references=(TENSOR_CORES, CUTLASS, issue(1310)),
        columns=("kind", "tactic", "tensor_cores", "precision", "latency_ms", "macs", "input_formats"),
        check=_reduced_on_cuda_cores,
        not_when="Depthwise convolutions, which have no tensor-core kernels; at most 4 input channels per group; one output "
        "position; layers at 60 % of the memory bandwidth or more; devices without tensor cores.",
    ),
    Rule(
        id="CONV002",
        title="FP32 on CUDA cores where TF32 pays",
        severity=Severity.WARNING,
        looks_for="A convolution or GEMM with FP32 data on CUDA cores, on a device whose TF32 peak is at least 1.5 times its "
        "FP32 peak.",
        why="From compute capability 8.0 on, tensor cores take FP32 data rounded to TF32.",
        remedy="Allow TF32 (leave --noTF32 away), or better FP16 or BF16.",
        references=(TENSOR_CORES,),
        columns=("kind", "tactic", "tensor_cores", "input_formats", "latency_ms", "macs"),
        check=_tf32_pays,
        not_when="GeForce RTX 30, whose TF32 peak is that of FP32; Winograd kernels, unless TF32 makes up for the 2.25 times "
        "fewer multiplications; depthwise, first and matrix-vector layers; layers at 60 % of the bandwidth or more.",
    ),
    Rule(
        id="CONV003",
        title="Channels are padded up to what tensor cores take",
        severity=Severity.INFO,
        looks_for="A convolution that may run on tensor cores, of whose products at least 10 % are padding: channels "
        "rounded up "
        "to 4 (TF32), 8 (FP16, BF16), 16 (INT8, FP8; FP16 with sparse weights), 32 (INT8 in layouts of 32 channels).",
        why="Tensor cores take channels in groups. What is missing to a full group is computed as zeros.",
        remedy="Round the widths of the network up: the extra channels cost almost nothing. Ask whether they buy accuracy.",
        references=(TENSOR_CORES, CONVOLUTION_GUIDE, issue(1310)),
        columns=("kind", "tensor_cores", "input_formats", "input_shapes", "output_shapes", "latency_ms"),
        check=_padded_channels,
        not_when="Depthwise and first convolutions, kernels on CUDA cores, INT8 layouts of 4 channels (DP4A: "
        "CONV001). Grouped "
        "convolutions count the channels of one group.",
    ),
)
