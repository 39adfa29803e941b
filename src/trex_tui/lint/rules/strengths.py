"""OK: what is well done, with its number: where not to look, and what to keep.

Computed from the engine itself, not from the silence of other rules. Where the data for a praise is lacking there is none,
and nothing is called not checked: a missing praise is no gap.
"""

from __future__ import annotations

from collections.abc import Iterator

from trex_tui.analysis.stability import Verdict
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Device, Layer
from trex_tui.lint.context import QUANTIZED, Context
from trex_tui.lint.lint_text import called, indices, ran, time_of
from trex_tui.lint.model import Check, Confidence, Evidence, Finding, NotChecked, Rule, Severity
from trex_tui.lint.rules.attention import opaque_blocks, separate_projections, unfused_attention
from trex_tui.lint.rules.fusion import unfused_epilogues
from trex_tui.lint.rules.launch import host_side, many_tiny
from trex_tui.lint.rules.measure import ENOUGH_ITERATIONS, tail_ratio
from trex_tui.text import plural

STEM_CHANNELS = 4
MOST_MOVEMENT_PCT = 3.0
BUSY_PCT = 20.0
HOT_PCT = 5.0
AT_BANDWIDTH_PCT = 75.0
PLAUSIBLE_PCT = 105.0
STEADY_CV_PCT = 1.0
STEADY_RATIO = 1.05
STEADY_RANGE_PCT = 2.0
_PRODUCTS = frozenset({LayerKind.CONVOLUTION, LayerKind.GEMM})
_MOVES = frozenset({LayerKind.REFORMAT, LayerKind.SHUFFLE, LayerKind.QUANTIZE})


def _good(rule: str, message: str, layers: tuple[int, ...] = (), *evidence: Evidence) -> Finding:
    return Finding(rule, message, layers, confidence=Confidence.HIGH, evidence=evidence)


def _tensor_cores(context: Context) -> Iterator[Finding | NotChecked]:
    able = [layer for layer in context.layers if _can_use_tensor_cores(context, layer)]
    tactics = [context.tactic(layer) for layer in able]
    if not able or not all(tactic is not None and tactic.tensor_cores for tactic in tactics):
        return
    closed = opaque_blocks(context)
    besides = f" ({plural(len(closed), 'closed Myelin block')} not counted)" if closed else ""
    yield _good(
        "OK-TC",
        f"On tensor cores: {len(able)} of {len(able)} convolutions and GEMMs that can be{besides}.",
        indices(able),
        Evidence("layers", len(able)),
    )


def _can_use_tensor_cores(context: Context, layer: Layer) -> bool:
    if not layer.kind.multiplies or layer.layer_type is None or layer.device is Device.DLA:
        return False
    if context.is_depthwise(layer) or context.is_matrix_vector(layer):
        return False
    channels = context.channels(layer)
    return not (layer.kind is LayerKind.CONVOLUTION and channels is not None and channels <= STEM_CHANNELS)


def _activations(context: Context) -> Iterator[Finding | NotChecked]:
    products = [layer for layer in context.layers if layer.kind in _PRODUCTS]
    if context.has_details and products and not any(True for _ in unfused_epilogues(context)):
        yield _good(
            "OK-ACT",
            f"Not one of {plural(len(products), 'convolution and GEMM', 'convolutions and GEMMs')} leaves its pointwise "
            "operations to a kernel of their own.",
            indices(products),
            Evidence("layers", len(products)),
        )


def residual_products(context: Context) -> list[Layer]:
    """Convolutions that add a second input of the size of their output."""
    return [
        layer
        for layer in context.layers
        if layer.kind is LayerKind.CONVOLUTION
        and (layer.attributes.get("HasResidual") == 1 or _adds_input(context, layer))
    ]


def _adds_input(context: Context, layer: Layer) -> bool:
    volume = layer.outputs[0].volume if layer.outputs else None
    return volume is not None and any(tensor.volume == volume for tensor in context.data_inputs(layer)[1:])


def _residuals(context: Context) -> Iterator[Finding | NotChecked]:
    if found := residual_products(context):
        yield _good(
            "OK-RES",
            f"Done inside convolutions: {plural(len(found), 'residual addition')}.",
            indices(found),
            Evidence("layers", len(found)),
        )


def _little_movement(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details or not context.has_profile:
        return
    share = context.pct(time_of(layer for layer in context.layers if layer.kind in _MOVES)) or 0.0
    if share < MOST_MOVEMENT_PCT:
        yield _good(
            "OK-FMT",
            f"Reformats, transposes and quantization on their own take {share:.1f} % of the engine.",
            (),
            Evidence("movement_pct", share),
        )


def _attention(context: Context) -> Iterator[Finding | NotChecked]:
    found = [layer for layer in context.layers if layer.kind is LayerKind.ATTENTION]
    if not found or unfused_attention(context) or any(separate_projections(context, one) for one in found):
        return
    yield _good(
        "OK-ATTN",
        f"{plural(len(found), 'attention block')} in one kernel each, with merged projections.",
        indices(found),
        Evidence("layers", len(found)),
    )


def _quantization(context: Context) -> Iterator[Finding | NotChecked]:
    found = [layer for layer in context.layers if context.is_compute(layer) and context.is_quantized(layer)]
    if not found or any(_leaves_quantization(context, layer) for layer in found):
        return
    dangling = [layer for layer in context.layers if layer.kind is LayerKind.QUANTIZE and ran(layer)]
    if all(context.reads_network_input(layer) for layer in dangling):
        yield _good(
            "OK-QDQ",
            f"Quantized data in and out of {plural(len(found), 'quantized layer')}, and no Q/DQ on its own behind the "
            "network's inputs.",
            indices(found),
            Evidence("layers", len(found)),
        )


def _leaves_quantization(context: Context, layer: Layer) -> bool:
    """Whether it writes floating point for another product; the last layers of a network may."""
    if layer.output_precision in QUANTIZED or context.writes_network_output(layer):
        return False
    return bool(context.nearest_compute(layer, forward=True))


def _at_bandwidth(context: Context) -> Iterator[Finding | NotChecked]:
    found = []
    for layer in context.layers:
        point = context.point(layer)
        reached = point.bandwidth_pct if point else None
        if (context.pct(layer.latency_ms) or 0.0) < HOT_PCT or reached is None:
            continue
        if AT_BANDWIDTH_PCT <= reached <= PLAUSIBLE_PCT:
            found.append((layer, reached))
    if found:
        text = ", ".join(f"{called(layer)} {reached:.0f} %" for layer, reached in found)
        yield _good(
            "OK-BW",
            f"{plural(len(found), 'large layer')} near the peak of the memory bandwidth: only fewer bytes help. {text}.",
            indices(layer for layer, _ in found),
            *(Evidence("bandwidth_pct", reached) for _, reached in found),
        )


def _steady(context: Context) -> Iterator[Finding | NotChecked]:
    timing = context.timing
    series = (timing.latency or timing.compute) if timing else None
    run = timing.stability if timing else None
    if series is None or run is None or run.verdict is not Verdict.STABLE:
        return
    ratio, cv, spread = tail_ratio(series), series.cv_pct, run.windows_range_pct
    if ratio is None or cv is None or spread is None:
        return
    if ratio < STEADY_RATIO and cv < STEADY_CV_PCT and spread < STEADY_RANGE_PCT:
        yield _good(
            "OK-STABLE",
            f"The latency is steady: coefficient of variance {cv:.2g} %, percentile 99 at {ratio:.3f} times the median over "
            f"{plural(series.count or 0, 'query', 'queries')}.",
            (),
            Evidence("cv_pct", cv),
            Evidence("p99_over_median", ratio),
            Evidence("windows_range_pct", spread),
        )


def _measured(context: Context) -> Iterator[Finding | NotChecked]:
    engine = context.engine
    iterations = engine.profile_iterations
    if not engine.has_graph or not engine.has_profile or iterations is None or iterations < ENOUGH_ITERATIONS:
        return
    if not engine.profile_rows_unmatched and all(layer.latency is not None for layer in context.layers):
        yield _good(
            "OK-MEASURE",
            f"Profile and graph match layer by layer ({len(context.layers)}), over {iterations} iterations.",
            (),
            Evidence("profile_iterations", iterations),
            Evidence("layers", len(context.layers)),
        )


def _kept_busy(context: Context) -> Iterator[Finding | NotChecked]:
    host = host_side(context)
    if host is None or host.ratio is None or 100.0 * host.ratio >= BUSY_PCT:
        return
    if any(isinstance(one, Finding) for one in many_tiny(context)):
        return
    graph = ", the launch of a CUDA graph," if host.uses_cuda_graph else ""
    yield _good(
        "OK-LAUNCH",
        f"The host keeps up: the enqueue{graph} takes {100 * host.ratio:.2g} % of the compute time.",
        (),
        Evidence("enqueue_pct", 100 * host.ratio),
    )


def _ok(name: str, title: str, looks_for: str, columns: tuple[str, ...], check: Check) -> Rule:
    return Rule(
        id=f"OK-{name}",
        title=title,
        severity=Severity.GOOD,
        looks_for=looks_for,
        why="Time spent here would be lost; a change that ends this state shows in the comparison of two engines.",
        remedy="Nothing: keep it.",
        references=(),
        columns=columns,
        check=check,
        not_when="What it needs is not known: then nothing is said.",
    )


RULES: tuple[Rule, ...] = (
    _ok(
        "TC",
        "Tensor cores are used wherever possible",
        "Every convolution, GEMM and attention has a tactic on tensor cores; depthwise convolutions, matrix-vector products "
        "and first convolutions of up to 4 channels do not count.",
        ("kind", "tensor_cores"),
        _tensor_cores,
    ),
    _ok(
        "ACT",
        "Pointwise operations are fused into products",
        "No convolution or GEMM whose only reader is a pointwise kernel that could be its epilogue.",
        ("kind", "input_shapes", "output_shapes"),
        _activations,
    ),
    _ok(
        "RES",
        "Residual additions run inside convolutions",
        "Convolutions with a second input of the size of their output.",
        ("kind", "input_shapes", "output_shapes"),
        _residuals,
    ),
    _ok(
        "FMT",
        "Little data movement",
        "Reformats, transposes and Q/DQ on their own below 3 % of the engine.",
        ("kind", "latency_ms"),
        _little_movement,
    ),
    _ok(
        "ATTN",
        "Attention is fused",
        "Attention kernels, none taken apart, none with separate projections of one tensor.",
        ("kind",),
        _attention,
    ),
    _ok(
        "QDQ",
        "Quantized layers stay quantized",
        "Every quantized product writes quantized data, except at the end; Q/DQ on its own only at network inputs.",
        ("kind", "precision", "output_precision"),
        _quantization,
    ),
    _ok(
        "BW",
        "At the memory bandwidth",
        "Layers of at least 5 % of the engine at 75 to 105 % of the device's peak bandwidth.",
        ("footprint_allocated_bytes", "latency_ms"),
        _at_bandwidth,
    ),
    _ok(
        "STABLE",
        "Timing is steady",
        "After the warm-up: coefficient of variance below 1 %, percentile 99 below 1.05 times the median, windows within "
        "2 %, no drift.",
        (),
        _steady,
    ),
    _ok(
        "MEASURE",
        "Profile and graph match",
        "Every layer has a row, every row a layer, over 100 iterations or more.",
        ("latency_ms", "occurrence"),
        _measured,
    ),
    _ok(
        "LAUNCH",
        "The host keeps up",
        "A median enqueue below 20 % of the median compute, and not many kernels at the launch floor.",
        ("latency_ms",),
        _kept_busy,
    ),
)
