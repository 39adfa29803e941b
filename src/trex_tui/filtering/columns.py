"""The columns of the filter language: names, short names, and how numbers are written."""

from __future__ import annotations

from trex_tui.analysis.columns import ALL_COLUMNS_BY_NAME
from trex_tui.engine.columns import Column
from trex_tui.text import close_matches, parse_quantity

ALIASES: dict[str, str] = {
    "ms": "latency_ms",
    "pct": "latency_pct",
    "median": "median_ms",
    "prec": "precision",
    "type": "layer_type",
    "param": "parameter_type",
    "onnx": "onnx_nodes",
    "in": "input_formats",
    "out": "output_formats",
    "in_shape": "input_shapes",
    "out_shape": "output_shapes",
    "io": "io_bytes",
    "weights": "weights_bytes",
    "footprint": "footprint_bytes",
    "m": "gemm_m",
    "n": "gemm_n",
    "k": "gemm_k",
    "batch": "gemm_batch",
    "intensity": "arithmetic_intensity",
    "flops": "achieved_flops_per_s",
    "bandwidth": "achieved_bytes_per_s",
    "roof": "roof_pct",
    "tc": "tensor_cores",
    "lib": "tactic_library",
    "sm": "tactic_sm",
    "tile": "tactic_tile",
    "stages": "tactic_stages",
    "acc": "accumulate_type",
    "nth": "occurrence",
}
"""Short name -> name of the column."""

LISTS = frozenset({"onnx_nodes", "input_shapes", "output_shapes", "input_formats", "output_formats"})
"""Columns that hold several values: one that fits is enough."""

_WRITTEN = {
    "milliseconds": "us ms s",
    "percent": "%",
}


def find_column(name: str) -> Column | None:
    """The column of a name or short name, in any case; None if there is none."""
    folded = name.casefold()
    return ALL_COLUMNS_BY_NAME.get(ALIASES.get(folded, folded))


def nearest_names(name: str) -> list[str]:
    """Names and short names that look like `name`, the likeliest first."""
    known = [*ALL_COLUMNS_BY_NAME, *ALIASES]
    begin = [one for one in known if len(name) > 1 and one.startswith(name.casefold())]
    return list(dict.fromkeys([*begin, *close_matches(name.casefold(), known, 3, 0.7)]))[:3]


def parse_number(text: str, column: Column) -> float | None:
    """The number in the column's unit: `4Mi`, `50us`, `2%`; None if it is no finite number, or the unit does not fit."""
    return parse_quantity(text, column.unit)


def units_of(column: Column) -> str:
    """The units its numbers may have, in words for an error."""
    return _WRITTEN.get(column.unit, "k M G Ki Mi Gi")
