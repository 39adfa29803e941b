"""Derived columns: products, rates, parsed tactics, the roof.

`ALL_COLUMNS` are the columns of `trex-tui layers --columns`, `explain` and `full_frame`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from trex_tui.old.analysis.thresholds import FORMULAS, OUTLIER_LEAST_PCT, OUTLIER_SCORE, Bound
from trex_tui.old.artifacts.input_files import gc_paused
from trex_tui.old.engine.attributes import format_extents
from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.columns import (
    COLUMNS,
    RAW_PREFIX,
    SAMPLES,
    YES_OR_NO,
    FromLayer,
    LayerColumn,
    build_frame,
    find_raw_column,
    raw_columns,
    vocabulary,
)
from trex_tui.old.engine.dla import DlaRole
from trex_tui.old.engine.dtypes import TYPE_NAMES
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.engine.tactics import Tactic, parse_tactic
from trex_tui.old.errors import TrexError
from trex_tui.old.text import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from trex_tui.old.analysis.compute import Compute
    from trex_tui.old.analysis.energy import LayerEnergy
    from trex_tui.old.analysis.onnx_model.content import Content
    from trex_tui.old.analysis.roofline import Roofline, RooflinePoint

_MOST_NAMED = 5
_SHORTEST_PREFIX = 3
LIST_OF_COLUMNS = "`trex-tui explain` lists the columns"


class Derived(NamedTuple):
    """Values computed once per engine, by layer index."""

    compute: tuple[Compute, ...]
    roofline: Roofline


@per_engine
def derived(engine: Engine) -> Derived:
    """Return the products of all layers and their roofline points, cached in the engine."""
    from trex_tui.old.analysis.compute import compute_products  # these three: 12 ms that a brief list saves
    from trex_tui.old.analysis.device import find_device
    from trex_tui.old.analysis.roofline import roofline

    with gc_paused():
        compute = tuple(map(compute_products, engine.layers))
        return Derived(compute, roofline(engine, find_device(engine), compute))


class _OfCompute:
    """A value from a layer's product."""

    def __init__(self, get: Callable[[Compute], Any]) -> None:
        self._get = get

    def __call__(self, engine: Engine, layer: Layer) -> Any:  # noqa: ANN401 - any cell
        return self._get(derived(engine).compute[layer.index])

    def every(self, engine: Engine) -> list[Any]:
        return list(map(self._get, derived(engine).compute))


class _OfDla:
    """A value from a layer's role on the DLA and the index of its block; None for an engine without a DLA block."""

    def __init__(self, get: Callable[[tuple[DlaRole, int]], Any]) -> None:
        self._get = get

    def __call__(self, engine: Engine, layer: Layer) -> Any:  # noqa: ANN401 - any cell
        from trex_tui.old.analysis.dla import find_dla_use

        use = find_dla_use(engine)
        role = use.roles.get(layer.index) if use else None
        return None if role is None else self._get(role)


class _OfEnergy:
    """A value from a layer's energy; None if no sample of power falls into one of its calls."""

    def __init__(self, get: Callable[[LayerEnergy], Any]) -> None:
        self._get = get

    def __call__(self, engine: Engine, layer: Layer) -> Any:  # noqa: ANN401 - any cell
        if engine.monitor is None:
            return None
        from trex_tui.old.analysis.energy import layer_energies  # most engines have no samples

        energy = layer_energies(engine).get(layer.name)
        return None if energy is None else self._get(energy)


class _OfOnnx:
    """A value out of the ONNX nodes of a layer; None for one without nodes, and for all without a model."""

    def __init__(self, get: Callable[[Content], Any]) -> None:
        self._get = get

    def __call__(self, engine: Engine, layer: Layer) -> Any:  # noqa: ANN401 - any cell
        if engine.onnx is None:
            return None
        from trex_tui.old.analysis.onnx_model.content import layer_contents  # most engines have no model

        content = layer_contents(engine)[layer.index]
        return None if content is None else self._get(content)


def _onnx_evidence(engine: Engine, layer: Layer) -> str | None:
    return None if engine.onnx is None else engine.onnx.layers[layer.index].evidence or None


class _OfPoint:
    """A value from a layer's roofline point."""

    def __init__(self, get: Callable[[RooflinePoint], Any]) -> None:
        self._get = get

    def __call__(self, engine: Engine, layer: Layer) -> Any:  # noqa: ANN401 - any cell
        point = derived(engine).roofline.points.get(layer.index)
        return None if point is None else self._get(point)

    def every(self, engine: Engine) -> list[Any]:
        get, points = self._get, derived(engine).roofline.points
        layer_points = (points.get(layer.index) for layer in engine.layers)
        return [None if point is None else get(point) for point in layer_points]


def _of_tactic(get: Callable[[Tactic], Any]) -> FromLayer:
    def value(layer: Layer) -> Any:  # noqa: ANN401 - any cell
        tactic = parse_tactic(layer.tactic)
        return None if tactic is None else get(tactic)

    return FromLayer(value)


class _OfRank:
    """Cumulative share of a layer and all slower ones."""

    def __call__(self, engine: Engine, layer: Layer) -> float | None:
        return _cumulative_pct(engine)[layer.index]

    def every(self, engine: Engine) -> list[float | None]:
        return _cumulative_pct(engine)


@per_engine
def _cumulative_pct(engine: Engine) -> list[float | None]:
    shares: list[float | None] = [None] * len(engine.layers)
    whole = engine.latency_sum_ms
    if whole:
        times = [(layer.latency_ms, layer.index) for layer in engine.layers if layer.latency_ms is not None]
        total = 0.0
        for latency_ms, index in sorted(times, key=lambda time: -time[0]):
            total += latency_ms
            shares[index] = min(100.0, 100.0 * total / whole)
    return shares


def _count_outliers(engine: Engine, layer: Layer) -> int | None:
    from trex_tui.old.analysis.layer_samples import count_outliers

    return count_outliers(engine, layer)


def _tensor_cores(layer: Layer) -> str | None:
    from trex_tui.old.analysis.compute import uses_tensor_cores

    return YES_NO[uses_tensor_cores(layer)]


YES_NO = {True: "yes", False: "no", None: None}
_DIMENSIONS = "layer information: Kernel, Groups, Dimensions"
_SAMPLES = "log of power; profile with a time stamp per call"
_MODEL = "ONNX model of --onnx"
DERIVED_COLUMNS: tuple[LayerColumn, ...] = (
    LayerColumn(
        "outliers",
        "Outliers",
        "Int64",
        f"Single times at least {OUTLIER_LEAST_PCT:g} % of the median away from the times around them, with a modified "
        f"z-score above {OUTLIER_SCORE:g}; missing for profiles of trtexec, which have no single times.",
        _count_outliers,
        source=SAMPLES,
    ),
    LayerColumn(
        "cumulative_pct",
        "Cum %",
        "float64",
        "Share of this layer and all slower ones in the time of all layers. Of equal times the earlier layer comes first.",
        _OfRank(),
        formula="100 · Σ latency_ms of this and slower layers / Σ latency_ms",
        source="profile: averageMs",
        aliases=("cumulative",),
    ),
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
        "Rows of the (implicit) GEMM: output positions of a convolution.",
        _OfCompute(attrgetter("m")),
        formula="convolution: N · P · Q",
        source=_DIMENSIONS,
        aliases=("m",),
    ),
    LayerColumn(
        "gemm_n",
        "N",
        "Int64",
        "Columns of the (implicit) GEMM: output channels of a convolution.",
        _OfCompute(attrgetter("n")),
        formula="convolution: OutMaps",
        source=_DIMENSIONS,
        aliases=("n",),
    ),
    LayerColumn(
        "gemm_k",
        "K",
        "Int64",
        "Reduction size of the (implicit) GEMM. trex ignores groups.",
        _OfCompute(attrgetter("k")),
        formula="convolution: C / groups · R · S",
        source=_DIMENSIONS,
        aliases=("k",),
    ),
    LayerColumn(
        "gemm_batch",
        "Batch",
        "Int64",
        "Number of independent GEMMs of this size.",
        _OfCompute(attrgetter("batch")),
        source=_DIMENSIONS,
        aliases=("batch",),
    ),
    LayerColumn(
        "compute_note",
        "MACs unknown",
        "string",
        "Why `macs` is missing for a compute layer.",
        _OfCompute(lambda compute: compute.reason or None),
        source=_DIMENSIONS,
        is_free_text=True,
    ),
    LayerColumn(
        "arithmetic_intensity",
        "FLOP/byte",
        "float64",
        "Operations per byte moved: FLOP of floats, OP of integers. Below the device's ridge, bandwidth limits the layer. "
        "(trex divides MACs by unpadded bytes and ignores residual inputs.)",
        _OfPoint(attrgetter("intensity")),
        formula="2 · macs / footprint_allocated_bytes",
        source=_DIMENSIONS,
        aliases=("intensity",),
    ),
    LayerColumn(
        "achieved_flops_per_s",
        "FLOP/s",
        "float64",
        "Achieved operations per second: FLOP/s of floats, OP/s of integers.",
        _OfPoint(attrgetter("achieved_flop_per_s")),
        formula="2 · macs / latency_ms",
        source="layer information and profile",
        aliases=("flops",),
    ),
    LayerColumn(
        "achieved_bytes_per_s",
        "B/s",
        "float64",
        "Achieved bytes per second, if each byte is moved once. Above the memory peak if data stays in the "
        "cache.",
        _OfPoint(attrgetter("achieved_bytes_per_s")),
        formula="footprint_allocated_bytes / latency_ms",
        source="layer information and profile",
        aliases=("bandwidth",),
    ),
    LayerColumn(
        "roof_ms",
        "Roof ms",
        "float64",
        "Minimum time at the device peaks.",
        _OfPoint(attrgetter("roof_ms")),
        formula="max(2 · macs / peak FLOP/s, footprint_allocated_bytes / peak bandwidth)",
        source="metadata: device; peaks by architecture (analysis/gpu_peaks.json) or your settings",
    ),
    LayerColumn(
        "roof_pct",
        "% roof",
        "float64",
        "Achieved share of the roofline.",
        _OfPoint(attrgetter("roof_pct")),
        formula="100 · roof_ms / latency_ms",
        source="as roof_ms, and the profile",
        aliases=("roof",),
    ),
    LayerColumn(
        "bound",
        "Bound",
        "string",
        "Limit of the layer: compute or bandwidth; latency (far below both roofs: too few thread blocks, or "
        "dependent steps); launch (about the shortest layer time). Read it with roof_pct.",
        _OfPoint(lambda point: point.bound.value if point.bound else None),
        formula=FORMULAS["bound"][1],
        source="as roof_pct",
        vocabulary=vocabulary(Bound),
    ),
    LayerColumn(
        "tensor_cores",
        "TC",
        "string",
        "Uses tensor cores (from the kernel name or the layer type): yes, no, or missing if unknown.",
        FromLayer(_tensor_cores),
        source="layer information: TacticName, LayerType",
        aliases=("tc",),
        vocabulary=YES_OR_NO,
    ),
    LayerColumn(
        "tactic_library",
        "Library",
        "string",
        "Library of the kernel: xmma, cutlass, cudnn, cublas, myelin.",
        _of_tactic(attrgetter("library")),
        source="layer information: TacticName",
        aliases=("lib",),
    ),
    LayerColumn(
        "tactic_family",
        "Family",
        "string",
        "Library and algorithm of the kernel: xmma implicit gemm, cutlass gemm, myelin.",
        _of_tactic(lambda tactic: f"{tactic.library} {tactic.family}".strip()),
        source="layer information: TacticName",
        aliases=("family",),
    ),
    LayerColumn(
        "tactic_sm",
        "SM",
        "Int64",
        "Compute capability the kernel family was written for: 80 for sm_80.",
        _of_tactic(attrgetter("architecture")),
        source="layer information: TacticName",
        aliases=("sm",),
    ),
    LayerColumn(
        "tactic_tile",
        "Tile",
        "string",
        "M x N (x K) per thread block.",
        _of_tactic(lambda tactic: format_extents(tactic.tile)),
        source="layer information: TacticName",
        aliases=("tile",),
    ),
    LayerColumn(
        "tactic_stages",
        "Stages",
        "Int64",
        "Depth of the software pipeline.",
        _of_tactic(attrgetter("stages")),
        source="layer information: TacticName",
        aliases=("stages",),
    ),
    LayerColumn(
        "accumulate_type",
        "Acc",
        "string",
        "Accumulator type.",
        _of_tactic(lambda tactic: tactic.accumulate_type.value if tactic.accumulate_type else None),
        source="layer information: TacticName",
        aliases=("acc",),
        vocabulary=TYPE_NAMES,
    ),
    LayerColumn(
        "dla_role",
        "DLA role",
        "string",
        "Role of the row for the DLA: the block, whose time is the submission; the wait, whose time is the "
        "execution of the block; copies and conversions of its inputs and outputs.",
        _OfDla(lambda role: role[0].value),
        source="names of layers and profile rows, LayerType, and the log of the build",
        vocabulary=vocabulary(DlaRole),
    ),
    LayerColumn(
        "dla_block",
        "DLA block",
        "Int64",
        "Index of the DLA block that the row belongs to.",
        _OfDla(lambda role: role[1]),
        source="names and order of layers and profile rows",
    ),
    LayerColumn(
        "power_w",
        "W",
        "float64",
        "Power of the whole board while the layer runs, an estimate; missing unless samples of power and times of single "
        "calls have time stamps.",
        _OfEnergy(attrgetter("power_w")),
        formula="mean over the calls with samples of the mean of the samples from start to end",
        source=_SAMPLES,
    ),
    LayerColumn(
        "energy_mj",
        "mJ",
        "float64",
        "Energy of a call of the layer, an estimate; missing as power_w.",
        _OfEnergy(attrgetter("energy_mj")),
        formula="mean over the calls with samples of power · time",
        source=_SAMPLES,
        aliases=("energy",),
    ),
    LayerColumn(
        "onnx_ops",
        "ONNX ops",
        "object",
        "Operators of the layer's ONNX nodes, the most frequent first.",
        _OfOnnx(lambda content: tuple(content.ops)),
        source=_MODEL,
        aliases=("op",),
        is_list=True,
    ),
    LayerColumn(
        "onnx_patterns",
        "Patterns",
        "object",
        "Patterns of which all ONNX nodes are in the layer: attention, layer norm, RMS norm, instance norm, group norm, "
        "GELU, SiLU, MLP.",
        _OfOnnx(lambda content: tuple(dict.fromkeys(pattern.label for pattern in content.patterns))),
        source=_MODEL,
        aliases=("pattern",),
        is_list=True,
        is_free_text=True,
    ),
    LayerColumn(
        "onnx_macs",
        "ONNX MACs",
        "Int64",
        "Multiply-accumulates of the convolutions and matrix products among the layer's ONNX nodes; missing if a shape is "
        "unknown.",
        _OfOnnx(lambda content: content.macs),
        formula="Σ elements of the output · elements of the weight per output; for products · inner extent",
        source=f"{_MODEL}, with shape inference for the bindings of the engine",
    ),
    LayerColumn(
        "onnx_params",
        "Params",
        "Int64",
        "Elements of the parameters that the layer's ONNX nodes read; parameters with the same content count once.",
        _OfOnnx(lambda content: content.params),
        source=_MODEL,
        aliases=("params",),
    ),
    LayerColumn(
        "onnx_params_bytes",
        "Param bytes",
        "Int64",
        "Size of these parameters in the model, before the engine converts them.",
        _OfOnnx(lambda content: content.params_bytes),
        source=_MODEL,
    ),
    LayerColumn(
        "onnx_evidence",
        "ONNX by",
        "string",
        "Source of the layer's ONNX nodes: its metadata; its name; range, between the ends of a closed block; tensors, "
        "between those that a layer of Myelin reads and writes.",
        _onnx_evidence,
        source=f"layer information: Metadata, Name; {_MODEL}",
        vocabulary={word: word for word in ("metadata", "name", "range", "tensors")},
    ),
)
ALL_COLUMNS = COLUMNS + DERIVED_COLUMNS
ALL_COLUMNS_BY_NAME = {column.name: column for column in ALL_COLUMNS}
ALIASES = {alias: column.name for column in ALL_COLUMNS for alias in column.aliases}
"""Short name -> name of the column."""


def engine_columns(engine: Engine) -> tuple[LayerColumn, ...]:
    """All columns, with a raw one for every attribute of the engine's layers."""
    return ALL_COLUMNS + raw_columns(engine)


def find_column(name: str, engine: Engine | None = None) -> LayerColumn | None:
    """Return the column with a name or short name, ignoring case; None if there is none.

    Args:
        engine: Its layers must have an attribute `attr.X`; None for any attribute, of unknown type.
    """
    folded = name.casefold()
    if folded.startswith(RAW_PREFIX):
        return find_raw_column(name[len(RAW_PREFIX) :], engine)
    return ALL_COLUMNS_BY_NAME.get(ALIASES.get(folded, folded))


def find_abbreviated_column(name: str, engine: Engine | None = None) -> LayerColumn | None:
    """Return the column as `find_column`; else the only column whose name or short name has this prefix of three or more
    characters.
    """
    column = find_column(name, engine)
    folded = name.casefold()
    if column is not None or len(folded) < _SHORTEST_PREFIX or folded.startswith(RAW_PREFIX):
        return column
    names = {full for full in ALL_COLUMNS_BY_NAME if full.startswith(folded)}
    names |= {full for alias, full in ALIASES.items() if alias.startswith(folded)}
    return ALL_COLUMNS_BY_NAME[names.pop()] if len(names) == 1 else None


def suggest_column(name: str, engine: Engine | None = None) -> str:
    """Return `did you mean latency_ms?` for a name that is not a column; empty if nothing is similar."""
    if not name.casefold().startswith(RAW_PREFIX):
        return did_you_mean(name, [*ALL_COLUMNS_BY_NAME, *ALIASES], cutoff=0.7)
    known = [column.name for column in raw_columns(engine)] if engine else []
    others = f"the layers have {', '.join(known[:_MOST_NAMED])}" if known else "the layers have no attributes"
    return did_you_mean(name, known, cutoff=0.7) or others + (" …" if len(known) > _MOST_NAMED else "")


def full_frame(engine: Engine, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Return a row per layer with the columns of `ALL_COLUMNS` and raw attributes. Imports pandas.

    Args:
        columns: Names or short names, including `attr.X`, of the columns to return; all columns by default.

    Raises:
        TrexError: A name is not a column of the engine.
    """
    return build_frame(engine, engine_columns(engine) if columns is None else columns_named(columns, engine))


def columns_named(names: Sequence[str], engine: Engine | None = None) -> list[LayerColumn]:
    """Return the columns with these names or short names, in order; `attr.*` is replaced by all attributes of the engine.

    Raises:
        TrexError: A name is not a column; the message suggests one.
    """
    columns: list[LayerColumn] = []
    for name in names:
        if name == f"{RAW_PREFIX}*" and engine is not None:
            columns += raw_columns(engine)
            continue
        column = find_column(name, engine)
        if column is None:
            raise TrexError(f"no column {name!r}; {suggest_column(name, engine) or LIST_OF_COLUMNS}")
        columns.append(column)
    return columns
