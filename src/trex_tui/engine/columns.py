"""The columns of the frame, of `trex-tui layers` and of the latency table: defined once, documented here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from trex_tui.engine.model import Layer, Tensor

if TYPE_CHECKING:
    import pandas as pd

    from trex_tui.engine.engine import Engine


_UNITS = {
    "_flops_per_s": "FLOP/s",
    "_bytes_per_s": "bytes per second",
    "_intensity": "FLOP per byte",
    "_bytes": "bytes",
    "_pct": "percent",
    "_ms": "milliseconds",
}


@dataclass(frozen=True, slots=True)
class LayerColumn:
    """A column of the frame.

    Attributes:
        name: Flat snake_case, the unit at the end.
        title: Short heading for tables.
        dtype: Pandas type of the column: `float64` and `Int64` hold missing values, `string` text, `object` tuples.
        description: Definition, one or two sentences.
        value: Value for a layer; None where unknown.
        formula: How it is computed; empty for what a file states.
        source: Where it comes from: file kind and key, or a document.
    """

    name: str
    title: str
    dtype: str
    description: str
    value: Callable[[Engine, Layer], Any]
    formula: str = ""
    source: str = "layer information"

    def values(self, engine: Engine) -> list[Any]:
        """Values of all layers, in their order: faster than one by one, where the column knows how."""
        every: Callable[[Engine], list[Any]] | None = getattr(self.value, "every", None)
        return [self.value(engine, layer) for layer in engine.layers] if every is None else every(engine)

    @property
    def unit(self) -> str:
        """The unit, which the name ends with; empty for counts, words and flags."""
        return next((unit for suffix, unit in _UNITS.items() if self.name.endswith(suffix)), "")

    @property
    def is_number(self) -> bool:
        """Whether it is right-aligned and sorts large values first."""
        return self.dtype in ("float64", "Int64")


class FromLayer:
    """A value that the layer alone tells."""

    def __init__(self, get: Callable[[Layer], Any]) -> None:
        self._get = get

    def __call__(self, _: Engine, layer: Layer) -> Any:  # noqa: ANN401 - any cell
        return self._get(layer)

    def every(self, engine: Engine) -> list[Any]:
        return list(map(self._get, engine.layers))


def _enum(value: Any) -> str | None:  # noqa: ANN401 - any of the string enums, or None
    return None if value is None else str(value.value)


@lru_cache(maxsize=4096)  # few shapes, on many layers
def _extents(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"


def _shapes(tensors: tuple[Tensor, ...]) -> str:
    return ", ".join([_extents(tensor.shape) for tensor in tensors])


def _formats(tensors: tuple[Tensor, ...]) -> str:
    return ", ".join([tensor.description for tensor in tensors])


COLUMNS: tuple[LayerColumn, ...] = (
    LayerColumn("index", "#", "Int64", "Place in execution order, from 0.", FromLayer(attrgetter("index"))),
    LayerColumn("name", "Layer", "string", "`Name` of the layer information.", FromLayer(attrgetter("name"))),
    LayerColumn(
        "kind",
        "Kind",
        "string",
        "What the layer does, one vocabulary over all TensorRT versions (`LayerKind`).",
        lambda _, layer: layer.kind.value,
    ),
    LayerColumn(
        "layer_type", "LayerType", "string", "`LayerType`, verbatim.", FromLayer(attrgetter("layer_type"))
    ),
    LayerColumn(
        "parameter_type",
        "ParameterType",
        "string",
        "`ParameterType`, verbatim; native layers have one.",
        FromLayer(attrgetter("parameter_type")),
    ),
    LayerColumn(
        "precision",
        "Prec",
        "string",
        "Type the layer computes in: what a multiplying kernel's name says (TF32 where tensors are FP32), else the type "
        "of the first floating-point or quantized input, else output. trex takes the first input, whatever it is.",
        lambda _, layer: _enum(layer.precision),
        source="layer information: Inputs, Outputs, TacticName",
    ),
    LayerColumn(
        "output_precision",
        "Out",
        "string",
        "Type of the first output.",
        lambda _, layer: _enum(layer.output_precision),
    ),
    LayerColumn(
        "latency_ms",
        "ms",
        "float64",
        "Mean time per iteration of the profile run. Layers are timed one by one, so the sum is no end-to-end latency.",
        FromLayer(attrgetter("latency_ms")),
        source="profile: averageMs",
    ),
    LayerColumn(
        "latency_pct",
        "%",
        "float64",
        "Share of `latency_ms` in its sum over all layers of the engine.",
        lambda engine, layer: engine.latency_pct(layer),
        formula="100 · latency_ms / Σ latency_ms",
        source="profile: averageMs",
    ),
    LayerColumn(
        "median_ms",
        "Median ms",
        "float64",
        "Median time over the iterations of the profile run; missing before TensorRT 8.4.1.",
        lambda _, layer: layer.latency and layer.latency.median_ms,
        source="profile: medianMs",
    ),
    LayerColumn(
        "total_ms",
        "Total ms",
        "float64",
        "Time summed over all iterations of the profile run, warm-up included.",
        lambda _, layer: layer.latency and layer.latency.total_ms,
        source="profile: timeMs",
    ),
    LayerColumn(
        "trtexec_pct",
        "trtexec %",
        "float64",
        "Share of `total_ms` in its sum over all rows of the profile, as trtexec printed it.",
        lambda _, layer: layer.latency and layer.latency.trtexec_pct,
        source="profile: percentage",
    ),
    LayerColumn(
        "io_bytes",
        "I/O",
        "Int64",
        "Bytes of all inputs and outputs as the file lists them, without padding; a tensor read twice counts twice. "
        "trex calls it total_io_size_bytes.",
        FromLayer(attrgetter("io_bytes")),
        formula="Σ over inputs and outputs of ⌈extents · bits of the type / 8⌉",
        source="layer information: Dimensions and types of Inputs and Outputs",
    ),
    LayerColumn(
        "io_allocated_bytes",
        "I/O alloc",
        "Int64",
        "As io_bytes, with the channels padded as vectorised layouts do (3 channels take 4 in NHWC4, 32 in NC/32HW32).",
        FromLayer(attrgetter("io_allocated_bytes")),
        formula="as io_bytes, with C rounded up to the vector, and rows to 32 or 64 bytes in DLA layouts",
        source="layer information: Dimensions and formats of Inputs and Outputs",
    ),
    LayerColumn(
        "weights_bytes",
        "Weights",
        "Int64",
        "Bytes of the layer's constants: weights, bias, scale and shift that the file lists, and inputs that no layer "
        "produces and no binding names. Missing where the layer must have weights and the file hides them.",
        FromLayer(attrgetter("weights_bytes")),
        formula="Σ Count · bits of Type / 8, + bytes of constant inputs",
        source="layer information: every {Type, Count}, and Inputs",
    ),
    LayerColumn(
        "footprint_bytes",
        "Footprint",
        "Int64",
        "All that one execution touches, without padding.",
        FromLayer(attrgetter("footprint_bytes")),
        formula="io_bytes + weights_bytes, constants among the inputs counted once",
        source="layer information",
    ),
    LayerColumn(
        "footprint_allocated_bytes",
        "Footprint alloc",
        "Int64",
        "All that one execution touches, with the padding of vectorised layouts.",
        FromLayer(attrgetter("footprint_allocated_bytes")),
        formula="io_allocated_bytes + weights_bytes, constants among the inputs counted once",
        source="layer information",
    ),
    LayerColumn("stream", "Stream", "Int64", "`StreamId`.", FromLayer(attrgetter("stream"))),
    LayerColumn("device", "Device", "string", "GPU or DLA.", lambda _, layer: _enum(layer.device)),
    LayerColumn(
        "tactic",
        "Tactic",
        "string",
        "`TacticName`: the kernel; missing where the file has none.",
        FromLayer(attrgetter("tactic")),
    ),
    LayerColumn(
        "tactic_value", "Tactic id", "string", "`TacticValue`.", FromLayer(attrgetter("tactic_value"))
    ),
    LayerColumn(
        "input_shapes",
        "In shapes",
        "string",
        "Extents of every input; -1 where dynamic.",
        lambda _, layer: _shapes(layer.inputs),
    ),
    LayerColumn(
        "output_shapes",
        "Out shapes",
        "string",
        "Extents of every output; -1 where dynamic.",
        lambda _, layer: _shapes(layer.outputs),
    ),
    LayerColumn(
        "input_formats",
        "In formats",
        "string",
        "Type and layout of every input.",
        lambda _, layer: _formats(layer.inputs),
    ),
    LayerColumn(
        "output_formats",
        "Out formats",
        "string",
        "Type and layout of every output.",
        lambda _, layer: _formats(layer.outputs),
    ),
    LayerColumn(
        "onnx_nodes",
        "ONNX nodes",
        "object",
        "Names of the ONNX nodes the layer came from, out of `Metadata`.",
        FromLayer(attrgetter("onnx_nodes")),
    ),
    LayerColumn(
        "occurrence",
        "Nth",
        "Int64",
        "0 for the first layer of this name, 1 for the second, and so on.",
        FromLayer(attrgetter("occurrence")),
    ),
)


def build_frame(engine: Engine, columns: Sequence[LayerColumn] = COLUMNS) -> pd.DataFrame:
    """One row per layer, in execution order; unknown values are missing, never 0. Imports pandas (260 ms)."""
    import pandas as pd

    # Not Arrow's, which pandas takes where pyarrow is installed: it cannot hold the lone surrogates of a damaged name.
    text = pd.StringDtype("python")
    return pd.DataFrame(
        {
            column.name: pd.array(column.values(engine), dtype="object")
            if column.dtype == "object"
            else pd.Series(column.values(engine), dtype=text if column.dtype == "string" else column.dtype)
            for column in columns
        }
    )
