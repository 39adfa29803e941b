"""The columns that take a computation: products, rates, tactics taken apart, the roof.

`ALL_COLUMNS` is what `trex-tui layers --columns` knows, `explain` tells about, and `full_frame` holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from trex_tui.analysis.compute import Compute, compute_products
from trex_tui.analysis.device import find_device
from trex_tui.analysis.roofline import Roofline, RooflinePoint, roofline
from trex_tui.artifacts.input_files import gc_paused
from trex_tui.engine.columns import COLUMNS, FromLayer, LayerColumn, build_frame
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.engine.tactics import Tactic, parse_tactic

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Derived:
    """What is computed once per engine, by layer index."""

    compute: tuple[Compute, ...]
    roofline: Roofline


@lru_cache(maxsize=8)
def derived(engine: Engine) -> Derived:
    """The products of all layers and their place under the roof. Kept for the last few engines."""
    with gc_paused():
        compute = tuple([compute_products(layer) for layer in engine.layers])
        return Derived(compute, roofline(engine, find_device(engine), compute))


class _OfCompute:
    """A value out of a layer's product."""

    def __init__(self, get: Callable[[Compute], Any]) -> None:
        self._get = get

    def __call__(self, engine: Engine, layer: Layer) -> Any:  # noqa: ANN401 - any cell
        return self._get(derived(engine).compute[layer.index])

    def every(self, engine: Engine) -> list[Any]:
        return list(map(self._get, derived(engine).compute))


class _OfPoint:
    """A value out of a layer's place under the roof."""

    def __init__(self, get: Callable[[RooflinePoint], Any]) -> None:
        self._get = get

    def __call__(self, engine: Engine, layer: Layer) -> Any:  # noqa: ANN401 - any cell
        point = derived(engine).roofline.points.get(layer.index)
        return None if point is None else self._get(point)

    def every(self, engine: Engine) -> list[Any]:
        get, points = self._get, derived(engine).roofline.points
        found = (points.get(layer.index) for layer in engine.layers)
        return [None if point is None else get(point) for point in found]


def _of_tactic(get: Callable[[Tactic], Any]) -> FromLayer:
    def value(layer: Layer) -> Any:  # noqa: ANN401 - any cell
        tactic = parse_tactic(layer.tactic)
        return None if tactic is None else get(tactic)

    return FromLayer(value)


@lru_cache(maxsize=1024)
def _shape_text(shape: tuple[int, ...] | None) -> str | None:
    return "x".join(map(str, shape)) if shape else None


_YES_OR_NO = {True: "yes", False: "no", None: None}
_DIMENSIONS = "layer information: Kernel, Groups, Dimensions"
DERIVED_COLUMNS: tuple[LayerColumn, ...] = (
    LayerColumn(
        "macs",
        "MACs",
        "Int64",
        "Multiply-accumulates of a convolution, GEMM or attention layer; two operations each. `compute_note` says why "
        "it is missing.",
        _OfCompute(attrgetter("macs")),
        formula="batch · M · N · K; for attention batch · Sq · Sk · (D + Dv)",
        source=_DIMENSIONS,
    ),
    LayerColumn(
        "gemm_m",
        "M",
        "Int64",
        "Rows of the (implicit) matrix product: output positions of a convolution.",
        _OfCompute(attrgetter("m")),
        formula="convolution: N · P · Q",
        source=_DIMENSIONS,
    ),
    LayerColumn(
        "gemm_n",
        "N",
        "Int64",
        "Columns of the (implicit) matrix product: output channels of a convolution.",
        _OfCompute(attrgetter("n")),
        formula="convolution: OutMaps",
        source=_DIMENSIONS,
    ),
    LayerColumn(
        "gemm_k",
        "K",
        "Int64",
        "Terms of each sum of the (implicit) matrix product. trex leaves the groups out.",
        _OfCompute(attrgetter("k")),
        formula="convolution: C / groups · R · S",
        source=_DIMENSIONS,
    ),
    LayerColumn(
        "gemm_batch",
        "Batch",
        "Int64",
        "Independent products of that size.",
        _OfCompute(attrgetter("batch")),
        source=_DIMENSIONS,
    ),
    LayerColumn(
        "compute_note",
        "MACs unknown",
        "string",
        "Why `macs` is missing for a layer that multiplies.",
        _OfCompute(lambda compute: compute.reason or None),
        source=_DIMENSIONS,
    ),
    LayerColumn(
        "arithmetic_intensity",
        "FLOP/byte",
        "float64",
        "Operations per byte moved. Below the device's ridge, bandwidth limits the layer. (trex divides MACs by bytes "
        "without the padding, and leaves out residual inputs.)",
        _OfPoint(attrgetter("intensity")),
        formula="2 · macs / footprint_allocated_bytes",
        source=_DIMENSIONS,
    ),
    LayerColumn(
        "achieved_flops_per_s",
        "FLOP/s",
        "float64",
        "Operations per second that the layer reached.",
        _OfPoint(attrgetter("achieved_flop_per_s")),
        formula="2 · macs / latency_ms",
        source="layer information and profile",
    ),
    LayerColumn(
        "achieved_bytes_per_s",
        "B/s",
        "float64",
        "Bytes per second that the layer reached, if each is moved once. Above the memory's peak where data stays in the "
        "cache.",
        _OfPoint(attrgetter("achieved_bytes_per_s")),
        formula="footprint_allocated_bytes / latency_ms",
        source="layer information and profile",
    ),
    LayerColumn(
        "roof_ms",
        "Roof ms",
        "float64",
        "The least time the device's peaks allow.",
        _OfPoint(attrgetter("roof_ms")),
        formula="max(2 · macs / peak FLOP/s, footprint_allocated_bytes / peak bandwidth)",
        source="metadata: device; peaks by architecture (analysis/gpu_peaks.json) or your own",
    ),
    LayerColumn(
        "roof_pct",
        "% roof",
        "float64",
        "How close the layer comes to its roof.",
        _OfPoint(attrgetter("roof_pct")),
        formula="100 · roof_ms / latency_ms",
        source="as roof_ms, and the profile",
    ),
    LayerColumn(
        "bound",
        "Bound",
        "string",
        "What limits the layer: compute, bandwidth, or launch (its time is the least that any layer takes).",
        _OfPoint(lambda point: point.bound.value if point.bound else None),
        formula="compute if the intensity is above the ridge, else bandwidth; launch near the floor of layer times",
        source="as roof_pct",
    ),
    LayerColumn(
        "tensor_cores",
        "TC",
        "string",
        "Whether the kernel runs on tensor cores, as its name tells: yes, no, or missing where it does not tell.",
        _of_tactic(lambda tactic: _YES_OR_NO[tactic.tensor_cores]),
        source="layer information: TacticName",
    ),
    LayerColumn(
        "tactic_library",
        "Library",
        "string",
        "Whose kernel it is: xmma, cutlass, cudnn, cublas, myelin.",
        _of_tactic(attrgetter("library")),
        source="layer information: TacticName",
    ),
    LayerColumn(
        "tactic_sm",
        "SM",
        "Int64",
        "Compute capability the kernel family was written for: 80 for sm_80.",
        _of_tactic(attrgetter("architecture")),
        source="layer information: TacticName",
    ),
    LayerColumn(
        "tactic_tile",
        "Tile",
        "string",
        "M x N (x K) that a thread block works on.",
        _of_tactic(lambda tactic: _shape_text(tactic.tile)),
        source="layer information: TacticName",
    ),
    LayerColumn(
        "tactic_stages",
        "Stages",
        "Int64",
        "Depth of the software pipeline.",
        _of_tactic(attrgetter("stages")),
        source="layer information: TacticName",
    ),
    LayerColumn(
        "accumulate_type",
        "Acc",
        "string",
        "Type that sums are kept in.",
        _of_tactic(lambda tactic: tactic.accumulate_type.value if tactic.accumulate_type else None),
        source="layer information: TacticName",
    ),
)
ALL_COLUMNS = COLUMNS + DERIVED_COLUMNS
ALL_COLUMNS_BY_NAME = {column.name: column for column in ALL_COLUMNS}


def full_frame(engine: Engine) -> pd.DataFrame:
    """`engine.frame` with the derived columns beside: one row per layer. Imports pandas."""
    return build_frame(engine, ALL_COLUMNS)
