"""The columns of trex's frame, and where they are here: the source of the table in docs/coming-from-trex.md."""

from __future__ import annotations

from typing import NamedTuple

from trex_tui.old.analysis.columns import find_column


class TrexColumn(NamedTuple):
    """A column of `plan.df` or `plan.get_layers_by_type(…)`.

    Attributes:
        name: In trex.
        columns: Here; several where they share what trex has in one.
        difference: What is not the same; empty for the same values.
    """

    name: str
    columns: tuple[str, ...]
    difference: str = ""


_EXTENTS = "`3x3` for `[3, 3]`"
_STATED = "yes or no; also where the file does not state it"


def _raw(*keys: str) -> list[TrexColumn]:
    return [TrexColumn(key, (f"attr.{key}",)) for key in keys]


FRAME: tuple[TrexColumn, ...] = (
    TrexColumn("Name", ("name",)),
    TrexColumn("type", ("parameter_type", "layer_type"), "`layer_type` where the file has no ParameterType"),
    TrexColumn("subtype", ("layer_type",)),
    TrexColumn(
        "Inputs", ("input_shapes", "input_formats"), "text; `engine.layers[i].inputs` has the tensors"
    ),
    TrexColumn(
        "Outputs", ("output_shapes", "output_formats"), "text; `engine.layers[i].outputs` has the tensors"
    ),
    TrexColumn(
        "precision", ("precision",), "by the kernel's name or the first tensor of values, not the first input"
    ),
    TrexColumn("output_precision", ("output_precision",)),
    TrexColumn("tactic", ("tactic",), "missing where trex writes `TensorRT`"),
    TrexColumn("TacticValue", ("tactic_value",)),
    TrexColumn("latency.avg_time", ("latency_ms",)),
    TrexColumn("latency.median_time", ("median_ms",)),
    TrexColumn("latency.time", ("total_ms",)),
    TrexColumn("latency.pct_time", ("trtexec_pct",)),
    TrexColumn("total_io_size_bytes", ("io_bytes",)),
    TrexColumn("weights_size", ("weights_bytes",), "with bias, scale and shift"),
    TrexColumn("total_footprint_bytes", ("footprint_bytes",), "with bias, scale and shift"),
    TrexColumn("Origin", ("origin",)),
    TrexColumn("Kernel", ("kernel",), _EXTENTS),
    TrexColumn("Stride", ("stride",), _EXTENTS),
    TrexColumn("PrePadding", ("pre_padding",), _EXTENTS),
    TrexColumn("PostPadding", ("post_padding",), _EXTENTS),
    TrexColumn("PaddingMode", ("padding_mode",)),
    TrexColumn("Dilation", ("dilation",), _EXTENTS),
    TrexColumn("OutMaps", ("out_maps",)),
    TrexColumn("Groups", ("groups",)),
    TrexColumn("Weights", ("weights_count", "weights_type"), "`FP16` for `Half`"),
    TrexColumn("Bias", ("bias_count", "bias_type"), "`FP16` for `Half`"),
    TrexColumn("HasSparseWeights", ("has_sparse_weights",), "yes or no"),
    TrexColumn("Activation", ("activation",)),
    TrexColumn("HasBias", ("has_bias",), _STATED),
    TrexColumn("HasReLU", ("has_relu",), _STATED),
    TrexColumn("PoolingType", ("pooling_type",)),
    TrexColumn("WindowSize", ("window_size",), _EXTENTS),
    TrexColumn("Axes", ("axes",), "dimension `1` for the bit mask 2"),
    *_raw("BlendFactor", "AverageCountExcludesPadding", "Mode", "Start", "Size", "negativeInfinityPadding"),
    *_raw("FirstTranspose", "Reshape", "SecondTranspose", "ZeroIsPlaceholder", "HasLog"),
    *_raw("ParameterSubType", "CublasConvolutionTacticIndex"),
)
"""Columns of `plan.df`."""

BY_TYPE: tuple[TrexColumn, ...] = (
    TrexColumn("attr.kernel", ("kernel",), _EXTENTS),
    TrexColumn("attr.stride", ("stride",), _EXTENTS),
    TrexColumn("attr.dilation", ("dilation",), _EXTENTS),
    TrexColumn("attr.groups", ("groups",)),
    TrexColumn("attr.out_maps", ("out_maps",)),
    TrexColumn("attr.activation", ("activation",)),
    TrexColumn("attr.has_bias", ("has_bias",), _STATED),
    TrexColumn("attr.has_relu", ("has_relu",), _STATED),
    TrexColumn("attr.macs", ("macs",)),
    TrexColumn("attr.M", ("gemm_m",)),
    TrexColumn("attr.N", ("gemm_n",)),
    TrexColumn("attr.K", ("gemm_k",), "divided by the groups"),
    TrexColumn(
        "attr.arithmetic_intensity",
        ("arithmetic_intensity",),
        "two operations per MAC; bytes of all inputs, of bias and padding",
    ),
    TrexColumn(
        "attr.compute_efficiency", ("achieved_flops_per_s",), "operations per second, not MACs per ms"
    ),
    TrexColumn(
        "attr.memory_efficiency",
        ("achieved_bytes_per_s",),
        "per second; bytes of all inputs, of bias and padding",
    ),
    TrexColumn("attr.operations", ("operations",), "names; `attr.Operations` has the statements"),
    TrexColumn("attr.n_operations", ("n_operations",)),
    TrexColumn("attr.n_input_args", ("attr.NbInputArgs",)),
    TrexColumn("attr.origin", ("origin",)),
    TrexColumn("attr.pooling_type", ("pooling_type",)),
    TrexColumn("attr.window_size", ("window_size",), _EXTENTS),
    TrexColumn("attr.padding_mode", ("padding_mode",)),
    TrexColumn("attr.mode", ("attr.Mode",)),
    TrexColumn("attr.shift", ("attr.Shift",)),
    TrexColumn("attr.scale", ("attr.Scale",)),
    TrexColumn("attr.power", ("attr.Power",)),
    TrexColumn("attr.ch_axis", ("attr.ChannelAxis",)),
    TrexColumn("attr.first_transpose", ("attr.FirstTranspose",)),
    TrexColumn("attr.second_transpose", ("attr.SecondTranspose",)),
    TrexColumn("attr.reshape", ("attr.Reshape",)),
    TrexColumn("attr.start", ("attr.Start",)),
    TrexColumn("attr.size", ("attr.Size",)),
    TrexColumn("attr.scales", ("attr.ResizeScales",)),
)
"""Columns that `plan.get_layers_by_type(…)` adds or renames."""


def columns_table(rows: tuple[TrexColumn, ...]) -> str:
    """The rows as Markdown."""
    lines = ["", "| trex | `engine.frame` | difference |", "|---|---|---|"]
    for row in rows:
        if any(find_column(name) is None for name in row.columns):
            raise KeyError(row.columns)
        names = ", ".join(f"`{name}`" for name in row.columns)
        lines.append(f"| `{row.name}` | {names} | {row.difference or 'same'} |")
    return "\n".join([*lines, "", ""])
