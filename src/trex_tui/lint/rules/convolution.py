"""CONV: convolutions that do not run on tensor cores, or with an unfavourable shape."""

from __future__ import annotations

from trex_tui.analysis.compute import Product
from trex_tui.analysis.peaks import find_peak
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.tactics import parse_tactic
from trex_tui.lint.context import (
    CONVOLUTION_GUIDE,
    CUTLASS,
    NO_DEVICE,
    QUANTIZED,
    QUANTIZED_TYPES,
    TENSOR_CORES,
    Context,
    details,
    format_time,
    issue,
    no_profile,
    per_context,
    size_of,
    vector_of,
    verbose_log,
)
from trex_tui.lint.regions import map_islands
from trex_tui.lint.rule import (
    INFO,
    LOW,
    MEDIUM,
    WARNING,
    Finding,
    Findings,
    finding,
    not_checked,
    rule,
    strength,
)
from trex_tui.lint.savings import (
    LEAST_REACH_OF_CORES,
    bandwidth_share,
    fraction,
    is_busy,
    is_stalled,
    moving_ms,
    saving,
    shortest_ms,
    tensor_core_ms,
    tensor_cores_for,
)
from trex_tui.text import plural

FIRST_CHANNELS = 4
"""A convolution with at most this many input channels is a first convolution: no kernel uses its full width."""
WINOGRAD_SAVING = 2.25
"""A 3×3 Winograd kernel on 2×2 outputs multiplies 16 times where the direct one does 36 times."""
STEM_SLACK = 4.0
"""First convolutions in FP16 on tensor cores take 3.5 times the time of their bytes on both measured engines with batch 32
(ResNet stems on A100 and RTX 3090), rounded up; with batch 1 it was 5 and 12 times, so there 4 promises too much.
"""
SMALLEST_BATCH = 8
"""Below this batch the estimate for a first convolution has low confidence."""
NO_TACTIC = "the tactic name is missing, or does not show whether the kernel uses tensor cores"


SMALLEST_PRODUCT = 8
"""Smallest extent of a matrix instruction: with a smaller M, N or K tensor cores do not help."""


def is_tiny(product: Product) -> bool:
    """Return whether a product is smaller than a matrix instruction in one direction."""
    return any(size is not None and size < SMALLEST_PRODUCT for size in (product.m, product.n, product.k))


@per_context
def wide_convolutions(context: Context) -> tuple[int, ...]:
    """Return convolutions suitable for tensor cores.

    They have more than a few channels, are not depthwise, and compute more than one row and column.
    """
    return tuple(
        layer
        for layer in context.select(LayerKind.CONVOLUTION)
        if layer not in context.matrix_vectors
        and not _is_narrow(context, layer)
        and not context.is_depthwise(layer)
    )


def _is_narrow(context: Context, layer: int) -> bool:
    channels = context.channels(layer)
    return channels is not None and channels // context.groups(layer) <= FIRST_CHANNELS


def find_on_cuda_cores(context: Context, layers: list[int]) -> Findings:
    """Yield reduced-precision products whose kernels are known to run on CUDA cores, where tensor cores would be faster."""
    unknown = unstated = 0
    for layer in layers:
        precision, tactic = context.input_types[layer], context.tactics[layer]
        if precision is None or not context.is_reduced(layer) or (tactic and tactic.tensor_cores):
            continue
        if tactic is None or tactic.tensor_cores is None:
            unknown += 1
            continue
        available = tensor_cores_for(context, DataType(precision))
        if available is None:
            unstated += 1
        elif (
            available and not is_busy(context, layer) and not is_stalled(context, layer, LEAST_REACH_OF_CORES)
        ):
            yield from _compare_with_tensor_cores(context, layer, DataType(precision))
    if unknown:
        yield not_checked(NO_TACTIC, unknown)
    if unstated:
        yield not_checked(NO_DEVICE, unstated)


TENSOR_CORE_ESTIMATE = "assumes tensor cores at two thirds of their roofline"
TENSOR_CORE_FORMULA = (
    "layer time − max(1.5 · roof on tensor cores, shortest layer); roof = max(2 · macs / peak, bytes / bandwidth); the "
    "layer time where peaks or MACs are unknown"
)


def _compare_with_tensor_cores(context: Context, layer: int, precision: DataType) -> Findings:
    better, ms = tensor_core_ms(context, layer, precision), context.ms[layer]
    if better is not None and ms is not None and better >= ms:
        return
    is_known = better is not None and bool(ms)
    share = bandwidth_share(context, layer)
    yield finding(
        f"{context.quote(layer)} runs {precision.value} on CUDA cores: {context.format_time(layer)}.",
        [layer],
        confidence=MEDIUM if is_known or not context.has_profile else LOW,
        savings=saving(context, layer, (ms or 0.0) - (better or 0.0))
        if is_known
        else fraction(context, layer, 1.0),
        estimate=TENSOR_CORE_ESTIMATE if is_known else "upper bound: peaks or MACs are unknown",
        evidence=context.evidence(
            layer, tensor_cores="no", bandwidth_pct=None if share is None else round(100 * share, 1)
        ),
        remedy=_ADVICE_ON_INT8
        if precision is DataType.INT8 and context.kinds[layer] == LayerKind.CONVOLUTION
        else "",
        group=f"layers run {precision.value} on CUDA cores",
    )


_ADVICE_ON_INT8 = (
    "Align the channels (CONV003), and give it an INT8 output (QDQ002), so that it keeps layouts of 32 "
    "channels: layouts of 4 lead to DP4A kernels."
)


@rule(
    "CONV001",
    "Reduced-precision convolution on CUDA cores",
    WARNING,
    looks_for="A convolution or deconvolution in FP16, BF16, INT8, FP8, INT4 or FP4 whose kernel name shows no tensor "
    "cores.",
    why="Tensor cores process these types several times faster than CUDA cores.",
    remedy="Align the channels (CONV003); increase the workspace.",
    references=(TENSOR_CORES, CUTLASS, issue(1310)),
    columns=("kind", "tactic", "tensor_cores", "precision", "latency_ms", "macs", "input_formats"),
    not_when="Depthwise convolutions, which have no tensor-core kernels; at most 4 input channels per "
    "group; fewer than 8 "
    "output positions or channels; layers at 60 % of the memory bandwidth or more, or far below the rates "
    "of others; devices without tensor cores.",
    needs=(details,),
    formula=TENSOR_CORE_FORMULA,
)
def reduced_convolution_on_cuda_cores(context: Context) -> Findings:
    layers = [layer for layer in wide_convolutions(context) if not is_tiny(context.products[layer])]
    return find_on_cuda_cores(context, layers)


@rule(
    "CONV002",
    "FP32 on CUDA cores despite faster TF32",
    WARNING,
    looks_for="A convolution or GEMM with FP32 data on CUDA cores, on a device whose TF32 peak is at "
    "least 1.5 times its FP32 peak.",
    why="From compute capability 8.0 on, tensor cores process FP32 data rounded to TF32.",
    remedy="Allow TF32 (remove --noTF32), or use FP16 or BF16.",
    references=(TENSOR_CORES,),
    columns=("kind", "tactic", "tensor_cores", "input_formats", "latency_ms", "macs"),
    not_when="Builds that allowed TF32: another layer runs it, or the log has its slower kernels. GeForce "
    "RTX 30, whose TF32 "
    "peak is that of FP32; Winograd kernels, unless TF32 outweighs their 2.25 times fewer "
    "multiplications; depthwise, first "
    "and matrix-vector layers; layers at 60 % of the bandwidth or more, or far below the rates of others; "
    "engines that FP16 would make faster (PREC003).",
    needs=(details,),
    thresholds={"peak_ratio": 1.5},
    covered_by=("PREC003",),
    estimate="assumes the ratio of the peaks of TF32 and FP32",
    formula="layer time − max(layer time · FP32 peak / TF32 peak, bytes / bandwidth, shortest layer); the "
    "FP32 peak of a Winograd kernel counts 2.25 times",
)
def single_precision_on_cuda_cores(context: Context, peak_ratio: float) -> Findings:
    products = context.select(LayerKind.CONVOLUTION, LayerKind.GEMM)
    layers = [layer for layer in products if _is_single_on_cuda_cores(context, layer)]
    single = find_peak(context.device, DataType.FP32, tensor_cores=False).flops_per_s
    tensor = find_peak(context.device, DataType.TF32, tensor_cores=True).flops_per_s
    if not layers or _allows_tf32(context, layers):
        return
    if not single or not tensor:
        yield not_checked(_describe_unknown_peaks(context), len(layers))
        return
    for layer in layers:
        tactic, ms = context.tactics[layer], context.ms[layer]
        ratio = tensor / (single * (WINOGRAD_SAVING if tactic and tactic.is_winograd else 1.0))
        if ratio < peak_ratio or is_busy(context, layer) or is_stalled(context, layer, LEAST_REACH_OF_CORES):
            continue
        moving = moving_ms(context, context.bytes[layer]) or 0.0
        better = None if ms is None else max(ms / ratio, moving, shortest_ms(context))
        yield finding(
            f"{context.quote(layer)} runs FP32 on CUDA cores; TF32 has {ratio:.1f} times the peak: "
            f"{context.format_time(layer)}.",
            [layer],
            savings=saving(context, layer, None if ms is None or better is None else ms - better),
            evidence=context.evidence(layer, peak_ratio=round(ratio, 2)),
            group=f"layers run FP32 on CUDA cores; TF32 has {ratio:.1f} times the peak",
        )


def _allows_tf32(context: Context, layers: list[int]) -> bool:
    """Return whether the builder could choose TF32: a layer runs it, or the log has its timings for one of these."""
    if any(tactic is not None and tactic.compute_type is DataType.TF32 for tactic in context.tactics):
        return True
    if verbose_log(context):
        return False
    tunings = (context.choices[layer].tuning for layer in layers)
    timed = (tactic for tuning in tunings if tuning for trial in tuning.trials() for tactic in trial.tactics)
    parsed = (parse_tactic(tactic.name) for tactic in timed if tactic.time_ms is not None)
    return any(tactic is not None and tactic.compute_type is DataType.TF32 for tactic in parsed)


def _describe_unknown_peaks(context: Context) -> str:
    """Return why the peaks are unknown, with what the kernels show about the GPU."""
    capability = context.platform.compute_capability
    if context.device.compute_capability or not capability:
        return NO_DEVICE
    at_least = f"compute capability {capability // 10}.{capability % 10} or later, by its kernels"
    return f"the peaks of the device ({at_least}) are unknown: keep trtexec's log, or set [device] in trex-tui.toml"


def _is_single_on_cuda_cores(context: Context, layer: int) -> bool:
    tactic = context.tactics[layer]
    if context.input_types[layer] != "FP32" or tactic is None or tactic.tensor_cores is not False:
        return False
    if context.kinds[layer] == LayerKind.GEMM:
        return layer not in context.matrix_vectors
    return layer in wide_convolutions(context)


@rule(
    "CONV003",
    "Channels padded for tensor cores",
    INFO,
    looks_for="A tensor-core convolution with at least 10 % padded multiply-adds: channels rounded up to 4 (TF32), 8 "
    "(FP16, BF16), 16 (INT8, FP8; FP16 with sparse weights), 32 (INT8 in layouts of 32 channels).",
    why="Tensor cores process channels in groups. Incomplete groups are padded with zeros.",
    remedy="Round channel counts up: the extra channels are almost free and may improve accuracy.",
    references=(TENSOR_CORES, CONVOLUTION_GUIDE, issue(1310)),
    columns=("kind", "tensor_cores", "input_formats", "input_shapes", "output_shapes", "latency_ms"),
    not_when="Depthwise and first convolutions, kernels on CUDA cores, INT8 layouts of 4 channels (DP4A: "
    "CONV001). Grouped convolutions count the channels of one group.",
    needs=(details,),
    thresholds={"waste_pct": 10.0},
    estimate="share of the padding in C and K",
    formula="layer time · (1 − C · K / (C and K rounded up to the granule)); bound by bandwidth, layer time · (1 − "
    "footprint_bytes / footprint_allocated_bytes); bound by its launch, or with fewer tiles than SMs, nothing",
    covered_by=("GEMM005",),
)
def padded_channels(context: Context, waste_pct: float) -> Findings:
    dynamic = 0
    for layer in wide_convolutions(context):
        granule = _granule(context, layer)
        if granule is None:
            continue
        channels, maps = context.channels(layer), context.maps(layer)
        if channels is None or maps is None:
            dynamic += 1
            continue
        groups = context.groups(layer)
        given = [max(1, size // groups) for size in (channels, maps)]
        padded = [-(-size // granule) * granule for size in given]
        waste = 1 - given[0] * given[1] / (padded[0] * padded[1])
        if waste < waste_pct / 100:
            continue
        savings = fraction(context, layer, _time_on_padding(context, layer, waste))
        share = context.pct(sum(savings.values())) if savings else None
        sides = zip(("input", "output"), given, padded, strict=True)
        free = [f"{full - size} more {side} channels" for side, size, full in sides if full > size]
        yield finding(
            f"{context.quote(layer)} has {given[0]} input and {given[1]} output "
            f"channels{' per group' if groups > 1 else ''}, computed as {padded[0]} and {padded[1]}: "
            f"{100 * waste:.0f} % of the multiply-adds are padding; {' and '.join(free)} would be almost free.",
            [layer],
            severity=WARNING if share is not None and share >= 2 else None,
            savings=savings,
            evidence=context.evidence(
                layer,
                in_channels=given[0],
                out_channels=given[1],
                granule=granule,
                waste_pct=round(100 * waste, 1),
            ),
            group="convolutions with padded channels",
        )
    if dynamic:
        yield not_checked("a dimension is dynamic: export the layers in the profile run", dynamic)


def _granule(context: Context, layer: int) -> int | None:
    """Return the number of channels that a tensor-core kernel processes at once; None if irrelevant or unknown.

    TF32 4, FP16 and BF16 8 (16 with 2:4 sparse weights), INT8 and FP8 16, or 32 in layouts of 32 channels.
    """
    tactic, precision = context.tactics[layer], context.input_types[layer]
    if tactic and tactic.tensor_cores is False:
        return None
    if precision in ("FP16", "BF16"):
        return 16 if tactic and tactic.is_sparse else 8
    if precision in ("INT8", "FP8"):
        return {4: None, 32: 32}.get(vector_of(context.inputs[layer][0]), 16)
    if precision in ("FP32", "TF32"):
        return 4 if tactic and tactic.tensor_cores else None
    return 32 if precision in ("FP4", "INT4") else None


def _time_on_padding(context: Context, layer: int, waste: float) -> float:
    """Return the part of the layer's time spent on padding: of the products, or of the bytes if those are the bound."""
    tiles, sms = context.roof("tiles")[layer], context.device.sms
    if context.roof("bound")[layer] == "launch" or (tiles and sms and tiles < sms):
        return 0.0
    padded, given = context.bytes[layer], context.values("footprint_bytes")[layer]
    if context.roof("roof_side")[layer] == "bandwidth" and padded and given is not None:
        return 1.0 - float(given) / padded
    return waste


@rule(
    "CONV004",
    "Expensive first convolution",
    WARNING,
    looks_for="A convolution with at most 4 input channels that is quantized or runs on CUDA cores and takes at least "
    "3 % of the layers' time (warning), or 10 % otherwise (info).",
    why="With so few channels most multiply-adds are padding. Quantized, it needs a Q before it and often DP4A "
    "kernels; with a floating-point output it is slower than in FP16.",
    remedy="In quantized networks let it write 8 bits, or keep it in FP16; feed it in the layout it reads; or pack "
    "pixels into channels.",
    references=(CONVOLUTION_GUIDE, QUANTIZED_TYPES, issue(993)),
    columns=("kind", "input_shapes", "input_formats", "tactic", "tensor_cores", "latency_ms"),
    not_when="Depthwise convolutions; stems fused with activation and pool; quantized ones that write quantized data "
    "(faster than FP16 in all measurements); quantized ones whose result is quantized later (PREC002); "
    "all-FP32 engines (PREC003).",
    needs=(details,),
    thresholds={"share_pct": 3.0, "hot_pct": 10.0},
    estimate="its Q, DQ and reformats",
    formula="time of its Q and reformats; on CUDA cores also layer time − 4 · bytes with 16-bit elements / bandwidth",
)
def first_convolution(context: Context, share_pct: float, hot_pct: float) -> Findings:
    firsts = [layer for layer in context.select(LayerKind.CONVOLUTION) if _is_first(context, layer)]
    if firsts and not context.has_profile:
        yield not_checked(no_profile(context), len(firsts))
        return
    islands = map_islands(context)
    is_reduced = any(map(context.is_reduced, context.multiplying))
    for layer in firsts:
        share, tactic = context.share_pct(layer), context.tactics[layer]
        if share < share_pct or _stays_quantized(context, layer):
            continue
        if context.is_quantized(layer):
            if layer not in islands:
                yield _describe_first(context, layer)
        elif tactic is not None and tactic.tensor_cores is False:
            if is_reduced:
                yield _describe_first(context, layer)
        elif share >= hot_pct:
            yield _describe_hot_stem(context, layer)


def reads_few_channels(context: Context, layer: int) -> bool:
    """Return whether a layer is a convolution over the channels of an image."""
    channels = context.channels(layer)
    return (
        context.kinds[layer] == LayerKind.CONVOLUTION and channels is not None and channels <= FIRST_CHANNELS
    )


def _is_first(context: Context, layer: int) -> bool:
    types = f"{context.layer_types[layer]} {context.parameter_types[layer]}".lower()
    if context.is_depthwise(layer) or "pool" in types:
        return False  # fused with activation and pool: cannot be improved
    return reads_few_channels(context, layer)


def _stays_quantized(context: Context, layer: int) -> bool:
    """Return whether a layer reads and writes 8 bits.

    ResNet stems took 0.17 ms then, and 0.25 ms in FP16 on an A100; 0.48 and 0.58 ms on an RTX 3090.
    """
    return context.is_quantized(layer) and context.output_types[layer] in QUANTIZED


def _describe_first(context: Context, layer: int) -> Finding:
    """Return a finding for a first convolution that is quantized or runs on CUDA cores."""
    on_cuda_cores = context.tactics[layer] is not None and context.tactics[layer].tensor_cores is False  # type: ignore[union-attr]
    copies = _find_conversions(context, layer)
    savings = context.times(copies)
    if on_cuda_cores:
        savings |= _save_with_halves(context, layer)
    remedy = "Run it in FP16, or pack 2×2 pixels into channels (space to depth)."
    if context.is_quantized(layer):
        remedy = (
            f"It writes {context.output_types[layer] or 'floating point'}: put Q and DQ after its "
            "activation, so that it "
            "and its pool write 8 bits; or keep both in FP16 and put the first Q after them."
        )
    around = f", with {format_time(context.sum_ms(copies))} of conversions around it" if copies else ""
    shape = context.inputs[layer][0].shape
    is_large = bool(shape) and shape[0] >= SMALLEST_BATCH
    return finding(
        f"{_describe_stem(context, layer)}: {context.format_time(layer)}{around}.",
        [layer, *copies],
        confidence=LOW if on_cuda_cores and not is_large else MEDIUM,
        savings=savings,
        estimate="assumes FP16 on tensor cores, without its Q, DQ and reformats" if on_cuda_cores else "",
        evidence=context.evidence(layer, in_channels=context.channels(layer)),
        remedy=remedy,
    )


def _describe_hot_stem(context: Context, layer: int) -> Finding:
    """Return a finding for a first convolution whose kernel is as good as possible for so few channels."""
    return finding(
        f"{_describe_stem(context, layer)}: {context.format_time(layer)}. Most multiply-adds are padding.",
        [layer],
        severity=INFO,
        evidence=context.evidence(layer, in_channels=context.channels(layer)),
        remedy="Pack 2×2 pixels into channels (space to depth) if the model can be changed; the kernel itself is "
        "as fast as expected for so few channels.",
    )


def _describe_stem(context: Context, layer: int) -> str:
    tactic = context.tactics[layer]
    unit = "unknown units"
    if tactic and tactic.tensor_cores is not None:
        unit = "tensor cores" if tactic.tensor_cores else "CUDA cores"
    precision = context.input_types[layer] or "unknown type"
    channels = plural(context.channels(layer) or 0, "channel")
    return f"{context.quote(layer)} reads {channels} of {precision} and runs on {unit}"


def _find_conversions(context: Context, layer: int) -> list[int]:
    """Return reformats and Q that feed only this layer."""
    return [
        producer
        for producer in context.producers[layer]
        if context.kinds[producer] in (LayerKind.REFORMAT, LayerKind.QUANTIZE)
        and context.consumers[producer] == [layer]
    ]


def _save_with_halves(context: Context, layer: int) -> dict[int, float]:
    """Return the saving of a tensor-core kernel with FP16 data and result."""
    inputs, outputs, ms = context.inputs[layer], context.outputs[layer], context.ms[layer]
    sizes = [size_of(ports[0]) for ports in (inputs, outputs) if ports]
    if len(sizes) < 2 or None in sizes or ms is None:
        return {}
    better = moving_ms(context, 2 * sum(size or 0 for size in sizes))
    return (
        {} if better is None else saving(context, layer, ms - max(STEM_SLACK * better, shortest_ms(context)))
    )


@strength(
    "TC",
    "Tensor cores used everywhere possible",
    "Every convolution, GEMM and attention runs on tensor cores, except depthwise convolutions, "
    "matrix-vector products and first convolutions of up to 4 channels.",
    ("kind", "tensor_cores"),
)
def tensor_cores_used(context: Context) -> Finding | None:
    able = [layer for layer in context.multiplying if _can_use_tensor_cores(context, layer)]
    tactics = [context.tactics[layer] for layer in able]
    if not able or not all(tactic is not None and tactic.tensor_cores for tactic in tactics):
        return None
    closed = len(context.closed_blocks)
    besides = f" ({plural(closed, 'closed Myelin block')} not counted)" if closed else ""
    text = f"On tensor cores: {len(able)} of {len(able)} convolutions and GEMMs that can be{besides}."
    return finding(text, able, evidence={"layers": len(able)})


def _can_use_tensor_cores(context: Context, layer: int) -> bool:
    if context.layer_types[layer] is None or context.devices[layer] == "DLA":
        return False
    if context.is_depthwise(layer) or layer in context.matrix_vectors:
        return False
    channels = context.channels(layer)
    return context.kinds[layer] != LayerKind.CONVOLUTION or channels is None or channels > FIRST_CHANNELS


RULES = (
    reduced_convolution_on_cuda_cores,
    single_precision_on_cuda_cores,
    padded_channels,
    first_convolution,
    tensor_cores_used,
)
