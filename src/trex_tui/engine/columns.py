"""Columns of the layers that need nothing above the engine: functions over all layers, then the table.

To add a column, write a function and an entry of the table at the end. A missing value is NA, never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from trex_tui.column import RARE, Column, by_key
from trex_tui.engine.attributes import ATTRIBUTES, format_extents
from trex_tui.engine.dla import ROLES, find_roles
from trex_tui.engine.dtypes import MEANINGS
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.tactics import Tactic, parse_tactic
from trex_tui.frames import INT, TEXT, plain_values, text_array

if TYPE_CHECKING:
    from trex_tui.engine.model import Engine


def _index(engine: Engine) -> pd.Series:
    return pd.Series(engine.layers.index, dtype=INT)


# Times


def _latency_pct(engine: Engine) -> pd.Series:
    whole = engine.latency_total_ms
    return 100 * engine.layers["latency_ms"] / (whole or pd.NA)


def _cumulative_pct(engine: Engine) -> pd.Series:
    shares = engine.column("latency_pct").sort_values(ascending=False, kind="stable")
    return shares.cumsum().clip(upper=100.0).sort_index()


# Tensors


def _sum_bytes(engine: Engine, key: str) -> pd.Series:
    """Return the sum of `bytes` or `allocated_bytes` over the tensors of each layer; NA if one is unknown."""
    groups = engine.tensors.groupby("layer")[key]
    sums = groups.sum().where(groups.count() == groups.size()).reindex(engine.layers.index)
    has_none = ~engine.layers.index.isin(engine.tensors["layer"])
    return sums.mask(has_none, 0).where(engine.layers["layer_type"].notna())


def _footprint(engine: Engine, key: str) -> pd.Series:
    return engine.column(key) + engine.layers["weights_bytes"] - engine.layers["constant_bytes"]


def _join_tensors(engine: Engine, role: str, describe: Callable[[pd.DataFrame], Iterable[str]]) -> pd.Series:
    """Return a text per layer: that of each input or output, separated by `, `."""
    tensors = engine.tensors[engine.tensors["role"].eq(role)]
    texts: dict[int, list[str]] = {}
    for layer, text in zip(tensors["layer"].tolist(), describe(tensors), strict=True):
        texts.setdefault(layer, []).append(text)
    return pd.Series(
        text_array(", ".join(texts[layer]) if layer in texts else None for layer in range(len(engine)))
    )


def _describe_shapes(tensors: pd.DataFrame) -> list[str]:
    return ["x".join(map(str, shape)) or "scalar" for shape in tensors["shape"]]


def describe_formats(tensors: pd.DataFrame) -> list[str]:
    """Return type and layout of each tensor in short: `FP16 NHWC8`, `FP32`; the text of the file if unknown."""
    known = tensors["dtype"] + (" " + tensors["format"]).fillna("")
    return known.fillna(tensors["format_text"]).fillna("unknown type").tolist()


def _output_precision(engine: Engine) -> pd.Series:
    first = engine.tensors[engine.tensors["role"].eq("output") & engine.tensors["port"].eq(0)]
    return first.set_index("layer")["dtype"].reindex(engine.layers.index)


# Tactics


def _of_tactic(engine: Engine, get: Callable[[Tactic], Any], kind: Any) -> pd.Series:  # noqa: ANN401 - a type of pandas
    """Return a fact of each tactic name; NA without one."""
    names = plain_values(engine.layers["tactic"])
    values = {name: None if (tactic := parse_tactic(name)) is None else get(tactic) for name in set(names)}
    return pd.Series(pd.array([values[name] for name in names], kind), engine.layers.index)


# DLA


def _dla_role(engine: Engine) -> pd.Series:
    roles = find_roles(engine)
    return pd.Series(text_array(roles[row][0] if row in roles else None for row in range(len(engine))))


def _dla_block(engine: Engine) -> pd.Series:
    roles = find_roles(engine)
    return pd.Series(pd.array([roles[row][1] if row in roles else None for row in range(len(engine))], INT))


# The table

_LISTED = "layer information, else the list of layers in a verbose log"


_COLUMNS = (
    Column("index", "#", "Position in execution order, from 0.", priority=1, compute=_index),
    Column("name", "Layer", "`Name` of the layer.", source=_LISTED, priority=0, is_free_text=True),
    Column("kind", "Kind", "Kind of work, with the same names for all TensorRT versions.",
        source=f"{_LISTED}: ParameterType, LayerType, Name, TacticName", priority=2,
        words={kind.value: kind.meaning for kind in LayerKind}),
    Column("layer_type", "LayerType", "`LayerType` of the file.", source=_LISTED, aliases=("type",)),
    Column("parameter_type", "ParameterType", "`ParameterType` of the file; native layers have one.",
        source=_LISTED, aliases=("param",)),
    Column("precision", "Prec", "Type the layer computes in: stated by a compute kernel's name (TF32 where "
        "tensors are FP32), else the type of the first floating-point or quantized input, else output. trex "
        "takes the first input, whatever it is.", source=f"{_LISTED}: Inputs, Outputs, TacticName",
        aliases=("prec",), priority=3, words=MEANINGS),
    Column("output_precision", "Out", "Type of the first output.", source=_LISTED, words=MEANINGS,
        compute=_output_precision),
    Column("latency_ms", "ms", "Mean time per iteration of the profile run. Layers are timed one by one, so "
        "the sum is not an end-to-end latency.", source="profile: averageMs",
        aliases=("ms", "latency", "time"), priority=1),
    Column("latency_pct", "%", "Share of the layer in the time of all layers.",
        "100 · latency_ms / Σ latency_ms; a profile with missing rows states Σ", "profile: averageMs",
        ("pct", "share"), priority=2, compute=_latency_pct),
    Column("cumulative_pct", "Cum %", "Share of this layer and all slower ones. Of equal times the earlier "
        "layer comes first.", "100 · Σ latency_ms of this and slower layers / Σ latency_ms",
        "profile: averageMs", ("cumulative",), compute=_cumulative_pct),
    Column("median_ms", "Median ms", "Median time over the iterations of the profile run; TensorRT 8.4.1 and "
        "later.", source="profile: medianMs, or the median of the single times",
        aliases=("median", "p50_ms")),
    Column("p99_ms", "p99 ms", "99th percentile of the single times, the largest of fewer than 100; trtexec "
        "writes no single times.", source="profile: single times, as an IProfiler writes them",
        priority=RARE),
    Column("cv_pct", "CV %", "Coefficient of variation of the single times; trtexec writes no single times.",
        "100 · standard deviation / mean", "profile: single times, as an IProfiler writes them",
        priority=RARE),
    Column("total_ms", "Total ms", "Time over all iterations of the profile run, warm-up included.",
        source="profile: timeMs"),
    Column("trtexec_pct", "trtexec %", "Share of `total_ms` in its sum over all rows of the profile, as "
        "trtexec printed it.", source="profile: percentage"),
    Column("io_bytes", "I/O", "Bytes of all inputs and outputs as the file lists them, without padding; a "
        "tensor read twice counts twice. trex: total_io_size_bytes.",
        "Σ over inputs and outputs of ⌈extents · bits of the type / 8⌉",
        f"{_LISTED}: Dimensions and types of Inputs and Outputs", ("io",),
        compute=partial(_sum_bytes, key="bytes")),
    Column("io_allocated_bytes", "I/O alloc", "As io_bytes, with the padding of vectorized layouts: 3 "
        "channels take 4 in NHWC4, 32 in NC/32HW32.",
        "as io_bytes, with C rounded up to the vector, and rows to 32 or 64 bytes in DLA layouts",
        f"{_LISTED}: Dimensions and formats of Inputs and Outputs", priority=RARE,
        compute=partial(_sum_bytes, key="allocated_bytes")),
    Column("weights_bytes", "Weights", "Bytes of the layer's constants: weights, bias, scale and shift that "
        "the file lists, and inputs that no layer produces and no binding names. Missing where the file "
        "hides the weights that the layer must have.",
        "Σ Count · bits of Type / 8 + bytes of constant inputs",
        "layer information: every {Type, Count}, Constants, and Inputs", ("weights",)),
    Column("footprint_bytes", "Footprint", "Bytes read and written per run, without padding.",
        "io_bytes + weights_bytes, constants among the inputs counted once", _LISTED, ("footprint",),
        compute=partial(_footprint, key="io_bytes")),
    Column("footprint_allocated_bytes", "Footprint alloc",
        "Bytes read and written per run, with the padding of vectorized layouts.",
        "io_allocated_bytes + weights_bytes, constants among the inputs counted once", _LISTED,
        compute=partial(_footprint, key="io_allocated_bytes")),
    Column("stream", "Stream", "`StreamId`.", source=_LISTED),
    Column("device", "Device", "Processor of the layer. A row that waits for a DLA block counts as DLA.",
        source=_LISTED,
        words={"GPU": "Graphics processor.", "DLA": "Deep learning accelerator of a Jetson."}),
    Column("tactic", "Tactic", "Kernel: `TacticName`, else its name in a verbose log.",
        source="layer information: TacticName, else a verbose log: `Tactic Name` and `Set Tactic Name`",
        priority=4, is_free_text=True),
    Column("tactic_value", "Tactic id", "`TacticValue`.", source=_LISTED),
    Column("input_shapes", "In shapes", "Dimensions of every input; -1 where dynamic.", source=_LISTED,
        aliases=("in_shape",), is_list=True,
        compute=partial(_join_tensors, role="input", describe=_describe_shapes)),
    Column("output_shapes", "Out shapes", "Dimensions of every output; -1 where dynamic.", source=_LISTED,
        aliases=("out_shape",), is_list=True,
        compute=partial(_join_tensors, role="output", describe=_describe_shapes)),
    Column("input_formats", "In formats", "Type and layout of every input.", source=_LISTED, aliases=("in",),
        is_list=True, is_free_text=True,
        compute=partial(_join_tensors, role="input", describe=describe_formats)),
    Column("output_formats", "Out formats", "Type and layout of every output.", source=_LISTED,
        aliases=("out",), is_list=True, is_free_text=True,
        compute=partial(_join_tensors, role="output", describe=describe_formats)),
    Column("onnx_nodes", "ONNX nodes", "Names of the layer's ONNX nodes.",
        source="layer information: Metadata; else the ONNX model of --onnx", aliases=("onnx",), is_list=True,
        is_free_text=True),
    Column("occurrence", "Nth", "0 for the first layer of this name, 1 for the second, and so on.",
        source=_LISTED, aliases=("nth",)),
    Column("tactic_library", "Library", "Library of the kernel: xmma, cutlass, cudnn, cublas, myelin.",
        source="layer information: TacticName", aliases=("lib",), priority=RARE,
        compute=partial(_of_tactic, get=lambda tactic: tactic.library, kind=TEXT)),
    Column("tactic_family", "Family", "Library and algorithm of the kernel: xmma implicit gemm, cutlass "
        "gemm, myelin.", source="layer information: TacticName", aliases=("family",), priority=RARE,
        compute=partial(_of_tactic, get=lambda tactic: f"{tactic.library} {tactic.family}".strip(), kind=TEXT)),
    Column("tactic_sm", "SM", "Compute capability the kernel family was written for: 80 for sm_80.",
        source="layer information: TacticName", aliases=("sm",), priority=RARE,
        compute=partial(_of_tactic, get=lambda tactic: tactic.architecture, kind=INT)),
    Column("tactic_tile", "Tile", "M x N (x K) per thread block.", source="layer information: TacticName",
        aliases=("tile",), priority=RARE,
        compute=partial(_of_tactic, get=lambda tactic: format_extents(tactic.tile), kind=TEXT)),
    Column("tactic_stages", "Stages", "Depth of the software pipeline.",
        source="layer information: TacticName", aliases=("stages",), priority=RARE,
        compute=partial(_of_tactic, get=lambda tactic: tactic.stages, kind=INT)),
    Column("accumulate_type", "Acc", "Type of the accumulator.", source="layer information: TacticName",
        aliases=("acc",), priority=RARE, words=MEANINGS,
        compute=partial(_of_tactic, get=lambda tactic: tactic.accumulate_type and tactic.accumulate_type.value, kind=TEXT)),
    Column("dla_role", "DLA role", "Role of the row for the DLA.",
        source="names of layers and profile rows, LayerType, and the log of the build", priority=RARE,
        words=ROLES, compute=_dla_role),
    Column("dla_block", "DLA block", "Index of the DLA block that the row belongs to.",
        source="names and order of layers and profile rows", priority=RARE, compute=_dla_block),
    *ATTRIBUTES,
)  # fmt: skip
COLUMNS = by_key(*_COLUMNS)
