"""The columns of the frame, of `trex-tui layers` and of the latency table: defined once, documented here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trex_tui.engine.model import Layer, Tensor

if TYPE_CHECKING:
    from trex_tui.engine.engine import Engine


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the frame.

    Attributes:
        name: Flat snake_case, the unit at the end.
        title: Short heading for tables.
        dtype: Pandas type of the column: `float64` and `Int64` hold missing values, `string` text, `object` tuples.
        description: Definition, unit and source.
        value: Value for a layer; None where unknown.
    """

    name: str
    title: str
    dtype: str
    description: str
    value: Callable[[Engine, Layer], Any]

    @property
    def is_number(self) -> bool:
        """Whether it is right-aligned and sorts large values first."""
        return self.dtype in ("float64", "Int64")


def _enum(value: Any) -> str | None:  # noqa: ANN401 - any of the string enums, or None
    return None if value is None else str(value.value)


def _shapes(tensors: tuple[Tensor, ...]) -> str:
    return ", ".join("x".join(map(str, tensor.shape)) or "scalar" for tensor in tensors)


def _formats(tensors: tuple[Tensor, ...]) -> str:
    return ", ".join(tensor.description for tensor in tensors)


COLUMNS: tuple[Column, ...] = (
    Column("index", "#", "Int64", "Place in execution order, from 0.", lambda _, layer: layer.index),
    Column("name", "Layer", "string", "`Name` of the layer information.", lambda _, layer: layer.name),
    Column(
        "kind",
        "Kind",
        "string",
        "What the layer does, one vocabulary over all TensorRT versions (`LayerKind`).",
        lambda _, layer: layer.kind.value,
    ),
    Column("layer_type", "LayerType", "string", "`LayerType`, verbatim.", lambda _, layer: layer.layer_type),
    Column(
        "parameter_type",
        "ParameterType",
        "string",
        "`ParameterType`, verbatim; native layers have one.",
        lambda _, layer: layer.parameter_type,
    ),
    Column(
        "precision",
        "Prec",
        "string",
        "Type of the first floating-point or quantized input (else output, else any tensor).",
        lambda _, layer: _enum(layer.precision),
    ),
    Column(
        "output_precision",
        "Out",
        "string",
        "Type of the first output.",
        lambda _, layer: _enum(layer.output_precision),
    ),
    Column(
        "latency_ms",
        "ms",
        "float64",
        "`averageMs` of the profile: mean time per iteration, in milliseconds.",
        lambda _, layer: layer.latency_ms,
    ),
    Column(
        "latency_pct",
        "%",
        "float64",
        "Share of `latency_ms` in its sum over all layers of the engine, in percent.",
        lambda engine, layer: engine.latency_pct(layer),
    ),
    Column(
        "median_ms",
        "Median ms",
        "float64",
        "`medianMs` of the profile, in milliseconds; missing before TensorRT 8.4.1.",
        lambda _, layer: layer.latency and layer.latency.median_ms,
    ),
    Column(
        "total_ms",
        "Total ms",
        "float64",
        "`timeMs` of the profile: sum over all iterations, warm-up included, in milliseconds.",
        lambda _, layer: layer.latency and layer.latency.total_ms,
    ),
    Column(
        "trtexec_pct",
        "trtexec %",
        "float64",
        "`percentage` of the profile: share of `timeMs` in its sum over all rows, as trtexec printed it.",
        lambda _, layer: layer.latency and layer.latency.trtexec_pct,
    ),
    Column(
        "io_bytes",
        "I/O",
        "Int64",
        "Logical bytes of all inputs and outputs as listed (a tensor read twice counts twice), without padding.",
        lambda _, layer: layer.io_bytes,
    ),
    Column(
        "weights_bytes",
        "Weights",
        "Int64",
        "Bytes of the layer's constants: listed weights and biases, and inputs that nobody produces.",
        lambda _, layer: layer.weights_bytes,
    ),
    Column(
        "footprint_bytes",
        "Footprint",
        "Int64",
        "`io_bytes` plus the weights that are not among the inputs.",
        lambda _, layer: layer.footprint_bytes,
    ),
    Column("stream", "Stream", "Int64", "`StreamId`.", lambda _, layer: layer.stream),
    Column("device", "Device", "string", "GPU or DLA.", lambda _, layer: _enum(layer.device)),
    Column(
        "tactic",
        "Tactic",
        "string",
        "`TacticName`: the kernel; missing where the file has none.",
        lambda _, layer: layer.tactic,
    ),
    Column("tactic_value", "Tactic id", "string", "`TacticValue`.", lambda _, layer: layer.tactic_value),
    Column(
        "input_shapes",
        "In shapes",
        "string",
        "Extents of every input; -1 where dynamic.",
        lambda _, layer: _shapes(layer.inputs),
    ),
    Column(
        "output_shapes",
        "Out shapes",
        "string",
        "Extents of every output; -1 where dynamic.",
        lambda _, layer: _shapes(layer.outputs),
    ),
    Column(
        "input_formats",
        "In formats",
        "string",
        "Type and layout of every input.",
        lambda _, layer: _formats(layer.inputs),
    ),
    Column(
        "output_formats",
        "Out formats",
        "string",
        "Type and layout of every output.",
        lambda _, layer: _formats(layer.outputs),
    ),
    Column(
        "onnx_nodes",
        "ONNX nodes",
        "object",
        "Names of the ONNX nodes the layer came from, out of `Metadata`.",
        lambda _, layer: layer.onnx_nodes,
    ),
    Column(
        "occurrence",
        "Nth",
        "Int64",
        "0 for the first layer of this name, 1 for the second, …",
        lambda _, layer: layer.occurrence,
    ),
)
COLUMNS_BY_NAME = {column.name: column for column in COLUMNS}
