"""DYN: what shapes and indices cost when they are computed at run time."""

from __future__ import annotations

from collections.abc import Iterator

from trex_tui.engine.dtypes import DataType
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.lint.context import Context
from trex_tui.lint.lint_text import NO_DETAILS, NO_PROFILE, indices, time_of, time_text, whole_time
from trex_tui.lint.model import Confidence, Evidence, Finding, NotChecked, Rule, Severity
from trex_tui.text import plural

_INDEX_TYPES = frozenset({DataType.INT32, DataType.INT64, DataType.BOOL})
_LIGHT = frozenset(
    {LayerKind.POINTWISE, LayerKind.REFORMAT, LayerKind.SHUFFLE, LayerKind.SLICE, LayerKind.CONCAT}
)
LEAST_PCT = 3.0


def index_layers(context: Context) -> list[Layer]:
    """Shape computations, and light layers all of whose tensors are integers or booleans; only those that take time."""
    return [
        layer
        for layer in context.layers
        if layer.latency_ms
        and (layer.kind is LayerKind.SHAPE or (layer.kind in _LIGHT and _holds_indices(layer)))
    ]


def _holds_indices(layer: Layer) -> bool:
    tensors = (*layer.inputs, *layer.outputs)
    return bool(tensors) and all(tensor.dtype in _INDEX_TYPES for tensor in tensors)


def _overhead(context: Context) -> Iterator[Finding | NotChecked]:
    if not context.has_details or not context.has_profile:
        yield NotChecked("DYN001", NO_PROFILE if context.has_details else NO_DETAILS)
        return
    found = index_layers(context)
    total = time_of(found)
    share = context.pct(total) or 0.0
    if not found or share < context.threshold("DYN001.least_pct", LEAST_PCT):
        return
    yield Finding(
        "DYN001",
        f"{plural(len(found), 'layer')} for shapes, indices and masks alone: {time_text(total, share)}.",
        indices(found),
        confidence=Confidence.MEDIUM,
        stakes_ms=whole_time(found),
        formula="sum of latency_ms of shape computations and of light layers with integer and boolean tensors only",
        evidence=(Evidence("layers", len(found)), Evidence("index_ms", total), Evidence("index_pct", share)),
    )


RULES: tuple[Rule, ...] = (
    Rule(
        id="DYN001",
        title="Shapes and indices are computed at run time",
        severity=Severity.INFO,
        looks_for="Shape computations and light layers whose tensors are all INT32, INT64 or BOOL, together 3 % of the "
        "engine.",
        why="With fixed shapes TensorRT computes these once, while it builds.",
        remedy="Fix the shapes that never change; fold constants with polygraphy surgeon sanitize --fold-constants.",
        references=(
            "Overhead of Shape Change and Optimization Profile Switching: "
            "https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/performance/overhead-layer-optimization.html",
        ),
        columns=("kind", "latency_ms", "input_formats", "output_formats"),
        check=_overhead,
        not_when="Kernels that mix indices with data, and top-k or other reductions, which are the network's own work.",
    ),
)
