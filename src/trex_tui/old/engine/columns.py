"""Columns of the frame, of `trex-tui layers` and of the latency table, with their documentation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import Enum
from functools import lru_cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from trex_tui.old.engine import attributes
from trex_tui.old.engine.attributes import Attribute
from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.dtypes import TYPE_NAMES
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Device, Layer, Tensor
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import printable, shorten_middle, unit_of_key

if TYPE_CHECKING:
    import pandas as pd

    from trex_tui.old.engine.engine import Engine


SAMPLES = "profile: single times, as an IProfiler writes them"
LISTED = "layer information, else the list of layers in a verbose log"
"""Source of the layers, with their names, types and tensors."""


def vocabulary(values: type[Enum]) -> dict[str, str]:
    """Return lower-case spelling -> value for an enumeration."""
    return {str(member.value).casefold(): str(member.value) for member in values}


YES_OR_NO = {"yes": "yes", "no": "no", "true": "yes", "false": "no", "1": "yes", "0": "no"}
"""Spellings of a flag -> its value in tables and filters."""


@dataclass(frozen=True, slots=True, eq=False)
class LayerColumn:
    """A column of the frame.

    Attributes:
        name: Flat snake_case, the unit at the end.
        title: Short heading for tables.
        dtype: Pandas type of the column: `float64`, `Int64` and `boolean` hold missing values, `string`
            text, `object` tuples.
        description: Definition, one or two sentences.
        value: Value for a layer; None if unknown.
        formula: How it is computed; empty for values stated in a file.
        source: File kind and key, or a document.
        aliases: Short names for the command line and the filter.
        vocabulary: Lower-case spelling -> value, for a column with a fixed set of values.
        is_list: Cells hold several values, as a tuple or separated by `, `; a filter matches any of them.
        is_free_text: `:` in a filter searches within the text.
    """

    name: str
    title: str
    dtype: str
    description: str
    value: Callable[[Engine, Layer], Any]
    formula: str = ""
    source: str = LISTED
    aliases: tuple[str, ...] = ()
    vocabulary: Mapping[str, str] = field(default_factory=dict)
    is_list: bool = False
    is_free_text: bool = False

    def values(self, engine: Engine) -> list[Any]:
        """Return the values of all layers, in their order; faster than one by one if the column has a vectorized function."""
        every: Callable[[Engine], list[Any]] | None = getattr(self.value, "every", None)
        return [self.value(engine, layer) for layer in engine.layers] if every is None else every(engine)

    @property
    def unit(self) -> str:
        """Unit at the end of the name; empty for counts, words and flags."""
        return unit_of_key(self.name)

    @property
    def is_number(self) -> bool:
        """True if the column is right-aligned and sorts large values first."""
        return self.dtype in ("float64", "Int64")


class FromLayer:
    """A value computed from the layer alone."""

    def __init__(self, get: Callable[[Layer], Any]) -> None:
        self._get = get

    def __call__(self, _: Engine, layer: Layer) -> Any:  # noqa: ANN401 - any cell
        return self._get(layer)

    def every(self, engine: Engine) -> list[Any]:
        return list(map(self._get, engine.layers))


def _enum(value: Any) -> str | None:  # noqa: ANN401 - any of the string enums, or None
    return None if value is None else str(value.value)


@lru_cache(maxsize=4096)  # few shapes, on many layers
def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"


def _shapes(tensors: tuple[Tensor, ...]) -> str:
    return ", ".join([_shape(tensor.shape) for tensor in tensors])


def _formats(tensors: tuple[Tensor, ...]) -> str:
    return ", ".join([tensor.description for tensor in tensors])


def _attribute(
    name: str,
    title: str,
    dtype: str,
    description: str,
    attribute: Attribute,
    convert: Callable[[Any], Any] | None = None,
    **more: Any,  # noqa: ANN401 - fields of the result
) -> LayerColumn:
    """Return a column of an attribute, whichever of its keys a version of TensorRT has."""

    def value(layer: Layer) -> Any:  # noqa: ANN401 - any cell
        raw = attribute(layer)
        return raw if raw is None or convert is None else convert(raw)

    source = f"layer information: {' or '.join(attribute.keys)}"
    return LayerColumn(name, title, dtype, description, FromLayer(value), source=source, **more)


def _extents(name: str, title: str, description: str, attribute: Attribute, **more: Any) -> LayerColumn:  # noqa: ANN401
    return _attribute(name, title, "string", description, attribute, attributes.format_extents, **more)


ATTRIBUTE_COLUMNS: tuple[LayerColumn, ...] = (
    _extents("kernel", "Kernel", "Filter of a convolution: height x width.", attributes.KERNEL),
    _extents("stride", "Stride", "Stride of a convolution, pooling or slice layer.", attributes.STRIDE),
    _extents(
        "pre_padding",
        "Pre pad",
        "Padding before the data: top x left.",
        attributes.PRE_PADDING,
    ),
    _extents(
        "post_padding",
        "Post pad",
        "Padding after the data: bottom x right.",
        attributes.POST_PADDING,
    ),
    _attribute(
        "padding_mode", "Pad mode", "string", "Mode of padding and rounding.", attributes.PADDING_MODE
    ),
    _extents("dilation", "Dilation", "Dilation of a convolution.", attributes.DILATION),
    _attribute(
        "groups",
        "Groups",
        "Int64",
        "Groups of a convolution; as many as channels in a depthwise one.",
        attributes.GROUPS,
    ),
    _attribute("out_maps", "Out maps", "Int64", "Output channels of a convolution.", attributes.OUT_MAPS),
    _attribute(
        "activation", "Activation", "string", "Activation fused into the layer.", attributes.ACTIVATION
    ),
    LayerColumn(
        "has_bias",
        "Bias",
        "boolean",
        "Yes if a convolution adds a bias; if the file does not state it, yes if it lists one.",
        FromLayer(attributes.has_bias),
        source="layer information: HasBias or Bias",
        vocabulary=YES_OR_NO,
    ),
    LayerColumn(
        "has_relu",
        "ReLU",
        "boolean",
        "Yes if a ReLU is fused into a convolution; if the file does not state it, yes if `activation` is RELU.",
        FromLayer(attributes.has_relu),
        source="layer information: HasReLU or Activation",
        vocabulary=YES_OR_NO,
    ),
    _attribute(
        "weights_count",
        "Weights n",
        "Int64",
        "Elements of the weights that the layer lists.",
        attributes.WEIGHTS_COUNT,
    ),
    _attribute(
        "weights_type",
        "Weights type",
        "string",
        "Type of the weights that the layer lists.",
        attributes.WEIGHTS_TYPE,
        vocabulary=TYPE_NAMES,
    ),
    _attribute(
        "has_sparse_weights",
        "Sparse",
        "boolean",
        "Yes if the kernel uses structured sparsity of the weights.",
        attributes.HAS_SPARSE_WEIGHTS,
        vocabulary=YES_OR_NO,
    ),
    _attribute("bias_count", "Bias n", "Int64", "Elements of the bias.", attributes.BIAS_COUNT),
    _attribute(
        "bias_type",
        "Bias type",
        "string",
        "Type of the bias.",
        attributes.BIAS_TYPE,
        vocabulary=TYPE_NAMES,
    ),
    _attribute(
        "pooling_type", "Pooling", "string", "MAX, AVERAGE or a blend of both.", attributes.POOLING_TYPE
    ),
    _extents("window_size", "Window", "Window of a pooling layer: height x width.", attributes.WINDOW_SIZE),
    _attribute(
        "axes",
        "Axes",
        "string",
        "Dimensions, from 0, that a reduction or softmax runs over. TensorRT writes them as a bit mask: 2 is dimension 1.",
        attributes.AXES,
        lambda axes: ", ".join(map(str, axes)),
        is_list=True,
    ),
    _attribute(
        "operations",
        "Operations",
        "object",
        "Operations of a pointwise layer, or of those fused into a layer, in their order: iMul, iPlus. `attr.Operations` "
        "has the statements.",
        attributes.OPERATIONS,
        is_list=True,
    ),
    LayerColumn(
        "n_operations",
        "Ops",
        "Int64",
        "Number of these operations.",
        FromLayer(attributes.count_operations),
        source="layer information: NbOperations, NbPointWiseExpressionOperations or NbInstructions, else the list",
    ),
    _attribute(
        "origin",
        "Origin",
        "string",
        "Why a reformat layer exists: REFORMAT between layouts or types, QDQ, SLICE and others.",
        attributes.ORIGIN,
    ),
)
"""Attributes by type of layer; missing if a layer or a file has none."""

COLUMNS: tuple[LayerColumn, ...] = (
    LayerColumn(
        "index", "#", "Int64", "Position in execution order, from 0.", FromLayer(attrgetter("index"))
    ),
    LayerColumn(
        "name",
        "Layer",
        "string",
        "`Name` of the layer information.",
        FromLayer(attrgetter("name")),
        is_free_text=True,
    ),
    LayerColumn(
        "kind",
        "Kind",
        "string",
        "Operation of the layer, with the same names for all TensorRT versions (`LayerKind`).",
        lambda _, layer: layer.kind.value,
        vocabulary=vocabulary(LayerKind),
    ),
    LayerColumn(
        "layer_type",
        "LayerType",
        "string",
        "`LayerType`, verbatim.",
        FromLayer(attrgetter("layer_type")),
        aliases=("type",),
    ),
    LayerColumn(
        "parameter_type",
        "ParameterType",
        "string",
        "`ParameterType`, verbatim; native layers have one.",
        FromLayer(attrgetter("parameter_type")),
        aliases=("param",),
    ),
    LayerColumn(
        "precision",
        "Prec",
        "string",
        "Type the layer computes in: what a compute kernel's name states (TF32 where tensors are FP32), "
        "else the type of the first floating-point or quantized input, else output. trex takes the first "
        "input, whatever it is.",
        lambda _, layer: _enum(layer.precision),
        source=f"{LISTED}: Inputs, Outputs, TacticName",
        aliases=("prec",),
        vocabulary=TYPE_NAMES,
    ),
    LayerColumn(
        "output_precision",
        "Out",
        "string",
        "Type of the first output.",
        lambda _, layer: _enum(layer.output_precision),
        vocabulary=TYPE_NAMES,
    ),
    LayerColumn(
        "latency_ms",
        "ms",
        "float64",
        (
            "Mean time per iteration of the profile run. Layers are timed one by one, so the sum is not an "
            "end-to-end latency."
        ),
        FromLayer(attrgetter("latency_ms")),
        source="profile: averageMs",
        aliases=("ms", "latency", "time"),
    ),
    LayerColumn(
        "latency_pct",
        "%",
        "float64",
        "Share of `latency_ms` in its sum over all layers of the engine.",
        lambda engine, layer: engine.latency_pct(layer),
        formula="100 · latency_ms / Σ latency_ms",
        source="profile: averageMs",
        aliases=("pct", "share"),
    ),
    LayerColumn(
        "median_ms",
        "Median ms",
        "float64",
        "Median time over the iterations of the profile run; missing before TensorRT 8.4.1.",
        lambda _, layer: layer.latency and layer.latency.median_ms,
        source="profile: medianMs, or the median of the single times",
        aliases=("median", "p50_ms"),
    ),
    LayerColumn(
        "p99_ms",
        "p99 ms",
        "float64",
        "99th percentile of the single times of the layer, with fewer than 100 the largest; missing for profiles of "
        "trtexec, which have no single times.",
        lambda _, layer: layer.latency and layer.latency.spread and layer.latency.spread.p99_ms,
        source=SAMPLES,
    ),
    LayerColumn(
        "cv_pct",
        "CV %",
        "float64",
        "Coefficient of variation of the single times of the layer; missing for profiles of trtexec, which have no "
        "single times.",
        lambda _, layer: layer.latency and layer.latency.spread and layer.latency.spread.cv_pct,
        formula="100 · standard deviation / mean",
        source=SAMPLES,
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
        source=f"{LISTED}: Dimensions and types of Inputs and Outputs",
        aliases=("io",),
    ),
    LayerColumn(
        "io_allocated_bytes",
        "I/O alloc",
        "Int64",
        "As io_bytes, with the channels padded as vectorised layouts do (3 channels take 4 in NHWC4, 32 in NC/32HW32).",
        FromLayer(attrgetter("io_allocated_bytes")),
        formula="as io_bytes, with C rounded up to the vector, and rows to 32 or 64 bytes in DLA layouts",
        source=f"{LISTED}: Dimensions and formats of Inputs and Outputs",
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
        aliases=("weights",),
    ),
    LayerColumn(
        "footprint_bytes",
        "Footprint",
        "Int64",
        "Bytes read and written per run, unpadded.",
        FromLayer(attrgetter("footprint_bytes")),
        formula="io_bytes + weights_bytes, constants among the inputs counted once",
        source=LISTED,
        aliases=("footprint",),
    ),
    LayerColumn(
        "footprint_allocated_bytes",
        "Footprint alloc",
        "Int64",
        "Bytes read and written per run, with the padding of vectorised layouts.",
        FromLayer(attrgetter("footprint_allocated_bytes")),
        formula="io_allocated_bytes + weights_bytes, constants among the inputs counted once",
        source=LISTED,
    ),
    LayerColumn("stream", "Stream", "Int64", "`StreamId`.", FromLayer(attrgetter("stream"))),
    LayerColumn(
        "device",
        "Device",
        "string",
        "GPU or DLA: the processor of the layer. A row that waits for a DLA block counts as DLA.",
        lambda _, layer: _enum(layer.device),
        vocabulary=vocabulary(Device),
    ),
    LayerColumn(
        "tactic",
        "Tactic",
        "string",
        "Kernel: `TacticName`, else its name in a verbose log.",
        FromLayer(attrgetter("tactic")),
        source="layer information: TacticName, else a verbose log: `Tactic Name` and `Set Tactic Name`",
        is_free_text=True,
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
        aliases=("in_shape",),
        is_list=True,
    ),
    LayerColumn(
        "output_shapes",
        "Out shapes",
        "string",
        "Extents of every output; -1 where dynamic.",
        lambda _, layer: _shapes(layer.outputs),
        aliases=("out_shape",),
        is_list=True,
    ),
    LayerColumn(
        "input_formats",
        "In formats",
        "string",
        "Type and layout of every input.",
        lambda _, layer: _formats(layer.inputs),
        aliases=("in",),
        is_list=True,
        is_free_text=True,
    ),
    LayerColumn(
        "output_formats",
        "Out formats",
        "string",
        "Type and layout of every output.",
        lambda _, layer: _formats(layer.outputs),
        aliases=("out",),
        is_list=True,
        is_free_text=True,
    ),
    LayerColumn(
        "onnx_nodes",
        "ONNX nodes",
        "object",
        "Names of the layer's ONNX nodes, from `Metadata`; with `--onnx`, else from the model.",
        FromLayer(attrgetter("onnx_nodes")),
        source="layer information: Metadata; ONNX model of --onnx",
        aliases=("onnx",),
        is_list=True,
        is_free_text=True,
    ),
    LayerColumn(
        "occurrence",
        "Nth",
        "Int64",
        "0 for the first layer of this name, 1 for the second, and so on.",
        FromLayer(attrgetter("occurrence")),
        aliases=("nth",),
    ),
    *ATTRIBUTE_COLUMNS,
)


# Raw attributes

RAW_PREFIX = "attr."
_LONGEST_TITLE = 40
UNKNOWN_TYPE = "unknown"
"""`dtype` of a raw attribute if the engine is unknown."""


def raw_column(key: str, dtype: str = UNKNOWN_TYPE) -> LayerColumn:
    """Return the column `attr.KEY`: an attribute as in the file. Control characters in the key are removed."""
    shown = printable(key)
    return LayerColumn(
        f"{RAW_PREFIX}{shown}",
        shorten_middle(f"{RAW_PREFIX}{shown}", _LONGEST_TITLE),
        dtype,
        f"`{shown}` of the layer's object in the file; lists and objects as JSON.",
        FromLayer(partial(attributes.read_raw, key=key, as_text=dtype == "string")),
        source=f"layer information: {shown}",
        is_free_text=dtype in ("string", UNKNOWN_TYPE),
        vocabulary=YES_OR_NO if dtype == "boolean" else {},
    )


@per_engine
def raw_columns(engine: Engine) -> tuple[LayerColumn, ...]:
    """Return a column per attribute of any layer, in order of first appearance."""
    return tuple([raw_column(key, dtype) for key, dtype in attributes.list_raw_keys(engine).items()])


@per_engine
def _raw_by_name(engine: Engine) -> tuple[dict[str, LayerColumn], dict[str, LayerColumn]]:
    """Return raw columns by key and by folded key; fields of `Layer` have the keys of the file."""
    fields = [raw_column(key, dtype) for key, dtype in attributes.list_fields(engine).items()]
    exact = {column.name.removeprefix(RAW_PREFIX): column for column in (*raw_columns(engine), *fields)}
    return exact, {_fold(key): column for key, column in reversed(exact.items())}


def _fold(key: str) -> str:
    """Return letters and digits in lower case: `out_maps` finds `OutMaps`."""
    return "".join(filter(str.isalnum, key.casefold()))


def find_raw_column(key: str, engine: Engine | None) -> LayerColumn | None:
    """Return the column of an attribute, ignoring case; None if no layer has it. Without an engine, one of unknown type."""
    if engine is None:
        return raw_column(key)
    exact, folded = _raw_by_name(engine)
    return exact.get(printable(key)) or folded.get(_fold(key))


def build_frame(engine: Engine, columns: Sequence[LayerColumn] = COLUMNS) -> pd.DataFrame:
    """Return one row per layer, in execution order; unknown values are missing, never 0. Imports pandas (260 ms)."""
    import pandas as pd

    # Not Arrow's, the default if pyarrow is installed: it cannot hold the lone surrogates of a damaged name.
    text = pd.StringDtype("python")
    return pd.DataFrame(
        {
            column.name: pd.array(column.values(engine), dtype="object")
            if column.dtype == "object"
            else pd.Series(column.values(engine), dtype=text if column.dtype == "string" else column.dtype)
            for column in columns
        }
    )
