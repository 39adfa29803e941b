"""CONV004: the first convolution, whose few channels no kernel makes good use of."""

from __future__ import annotations

from collections.abc import Iterator

from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.lint.context import Context
from trex_tui.lint.lint_text import (
    CONVOLUTION_GUIDE,
    NO_DETAILS,
    NO_PROFILE,
    QUANTIZED_TYPES,
    called,
    indices,
    issue,
    time_of,
    time_text,
    whole_time,
)
from trex_tui.lint.model import Confidence, Finding, NotChecked, Rule, Severity
from trex_tui.lint.rules.convolution import FIRST_CHANNELS
from trex_tui.lint.savings import evidence, moving_ms, stake

STEM_SLACK = 4.0
"""First convolutions in FP16 on tensor cores take 3.5 times what their bytes need on both engines with batch 32 that were
measured (ResNet stems on A100 and RTX 3090), rounded up; with batch 1 it was 5 and 12 times, so there 4 promises too much."""
SMALLEST_BATCH = 8
"""With smaller batches than this the estimate has low confidence."""
_WINDOW_FORMULA = (
    "latency_ms − 4 · bytes with 16-bit elements / bandwidth, plus what only serves it: Q, DQ and reformats"
)


def _first_is_expensive(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details:
        yield NotChecked("CONV004", NO_DETAILS)
        return
    firsts = [layer for layer in context.layers if _is_first(context, layer)]
    if firsts and not context.has_profile:
        yield NotChecked("CONV004", NO_PROFILE, len(firsts))
        return
    least = context.threshold("CONV004.share_pct", 3.0)
    for layer in firsts:
        if (context.pct(layer.latency_ms) or 0.0) >= least:
            yield _finding(context, layer)


def _is_first(context: Context, layer: Layer) -> bool:
    if layer.kind is not LayerKind.CONVOLUTION or context.is_depthwise(layer):
        return False
    if "pool" in f"{layer.layer_type} {layer.parameter_type}".lower():
        return False  # fused with activation and pool: as good as it gets
    channels = context.channels(layer)
    return channels is not None and channels <= FIRST_CHANNELS


def _finding(context: Context, layer: Layer) -> Finding:
    tactic = context.tactic(layer)
    quantized = context.is_quantized(layer)
    on_cuda_cores = tactic is not None and tactic.tensor_cores is False
    copies = _conversions(context, layer, both_sides=quantized)
    stakes = whole_time(copies)
    formula = "latency_ms of the reformats that only serve it"
    if on_cuda_cores:
        stakes |= _in_halves(context, layer)
        formula = _WINDOW_FORMULA
    unit = (
        "CUDA cores"
        if on_cuda_cores
        else "tensor cores"
        if tactic and tactic.tensor_cores
        else "unknown units"
    )
    around = f", with {time_text(time_of(copies))} of conversions around it" if copies else ""
    precision = context.input_type(layer)
    return Finding(
        "CONV004",
        f"{called(layer)} reads {context.channels(layer)} channels of {precision.value if precision else 'unknown type'} and "
        f"runs on {unit}: {time_text(layer.latency_ms, context.pct(layer.latency_ms))}{around}.",
        indices([layer, *copies]),
        severity=Severity.WARNING if quantized or on_cuda_cores else Severity.INFO,
        confidence=Confidence.LOW if on_cuda_cores and not _is_large(layer) else Confidence.MEDIUM,
        stakes_ms=stakes,
        formula=formula if stakes else "",
        evidence=evidence(layer, in_channels=context.channels(layer)),
        remedy=_remedy(quantized, on_cuda_cores),
    )


def _conversions(context: Context, layer: Layer, *, both_sides: bool) -> list[Layer]:
    """Reformats and Q that feed it alone; of a quantized one also the widening behind it, or behind its pool."""
    found = []
    for one in context.producers(layer):
        alone = [reader.index for reader in context.consumers(one)] == [layer.index]
        if one.kind in (LayerKind.REFORMAT, LayerKind.QUANTIZE) and alone:
            found.append(one)
    behind = context.consumers(layer) if both_sides else []
    for one in behind:
        rest = context.consumers(one) if one.kind is LayerKind.POOLING else [one]
        found += [other for other in rest if other.kind is LayerKind.REFORMAT]
    return found


def _is_large(layer: Layer) -> bool:
    return bool(layer.inputs[0].shape) and layer.inputs[0].shape[0] >= SMALLEST_BATCH


def _in_halves(context: Context, layer: Layer) -> dict[int, float]:
    """What a kernel on tensor cores with FP16 data and result would win."""
    volumes = [one.volume for one in (*layer.inputs[:1], *layer.outputs[:1])]
    if len(volumes) < 2 or None in volumes or layer.latency_ms is None:
        return {}
    size = 2 * sum(volume or 0 for volume in volumes)
    better = moving_ms(context, size)
    if better is None:
        return {}
    return stake(layer, layer.latency_ms - max(STEM_SLACK * better, context.floor_ms or 0.0))


def _remedy(quantized: bool, on_cuda_cores: bool) -> str:
    if quantized:
        return (
            "Leave the first convolution, and the pool behind it, in FP16: put the first Q behind them. INT8 wins "
            "nothing with "
            "so few channels."
        )
    if on_cuda_cores:
        return "Let it run in FP16; or pack 2×2 pixels into channels (space to depth), so that it reads four times as many."
    return (
        "Give the network its input in the layout that it reads (FMT004), or pack 2×2 pixels into channels (space to depth). "
        "Often this is as good as it gets."
    )


RULES: tuple[Rule, ...] = (
    Rule(
        id="CONV004",
        title="First convolution is expensive",
        severity=Severity.WARNING,
        looks_for="A convolution with at most 4 input channels that takes 3 % of the layers' time or more: a warning "
        "if it is "
        "quantized or runs on CUDA cores.",
        why="With so few channels most of what a kernel could multiply at once is padding. Quantized, it needs a Q "
        "before it, "
        "often DP4A kernels, and a conversion behind it, and is slower than in FP16.",
        remedy="Leave it in FP16 in quantized networks; feed it in the layout that it reads; or pack pixels into channels.",
        references=(CONVOLUTION_GUIDE, QUANTIZED_TYPES, issue(993)),
        columns=("kind", "input_shapes", "input_formats", "tactic", "tensor_cores", "latency_ms"),
        check=_first_is_expensive,
        not_when="Depthwise convolutions, and stems fused with their activation and pool.",
    ),
)
