"""Find the nodes of an ONNX model that overflow or lose accuracy in FP16 and BF16.

The model runs in FP32 on the CPU, node by node through onnxruntime: a result is freed after its last reader, so that the
weights and the tensors alive at one node are all that is in memory. Each node runs three times: with its exact inputs, and
with all of its FP32 inputs, weights too, rounded to FP16 and to BF16. FP16 and BF16 of the model itself are widened to FP32.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from trex_tui.accuracy.sides import shorten_error
from trex_tui.accuracy.tensors import Samples, TensorSpec, agree, find_files, format_shape, hold
from trex_tui.analysis.outputs import Array
from trex_tui.analysis.precision_risk import RISKS
from trex_tui.artifacts.open import COPY_AGAIN
from trex_tui.column import Column
from trex_tui.engine.dtypes import DataType, parse_data_type
from trex_tui.engine.model import Engine
from trex_tui.errors import ArtifactError, TrexError, describe_os_error
from trex_tui.frames import text_array
from trex_tui.text import printable

LARGEST_FP16, SMALLEST_FP16 = 65504.0, 2.0**-14
LARGE_ERROR = 0.01
"""Relative error of a node from which it is listed; a product of rounded inputs has about 0.0003."""
_SQUARES = frozenset(
    (
        *("LayerNormalization", "InstanceNormalization", "GroupNormalization", "RMSNormalization"),
        *("SkipLayerNormalization", "SimplifiedLayerNormalization"),
        *("LpNormalization", "ReduceL2", "ReduceSumSquare"),
    )
)
"""Operators that square their first input."""
_MEANS = frozenset(("ReduceMean", "GlobalAveragePool"))
"""Operators that sum their first input before they divide."""
_WIDENED = ("float16", "bfloat16")
_QUIET = 3  # onnxruntime's level of errors

_NODE = "ONNX model"
COLUMNS = {
    column.key: column
    for column in (
        Column("node", "Node", "Node of the ONNX model.", source=_NODE, priority=0),
        Column("op", "Operator", "Operator of the node.", source=_NODE, priority=1),
        Column(
            "risk",
            "Risk",
            "Why the node loses accuracy in FP16.",
            words=RISKS,
            priority=0,
        ),
        Column(
            "fp16_error",
            "FP16 error",
            "Relative change of the result when the inputs and weights of this node alone are rounded to FP16; missing "
            "where a result then is infinite or not a number.",
            formula="‖y(rounded) − y‖₂ / ‖y‖₂, the largest of all samples",
            source="onnxruntime in FP32",
            priority=1,
        ),
        Column(
            "bf16_error",
            "BF16 error",
            "Relative change of the result when the inputs and weights of this node alone are rounded to BF16.",
            formula="‖y(rounded) − y‖₂ / ‖y‖₂, the largest of all samples",
            source="onnxruntime in FP32",
            priority=4,
        ),
        Column(
            "max_abs_value",
            "Max |y|",
            "Largest magnitude of the results.",
            source="onnxruntime in FP32",
            priority=1,
        ),
        Column(
            "inner_max_value",
            "Inner max",
            "Bound of the squares or sums within a normalization or mean.",
            formula="max |x|² of normalizations, n · max |y| of means",
            source="onnxruntime in FP32",
            priority=3,
        ),
        Column(
            "over_fp16_pct",
            "> FP16",
            "Share of the results beyond 65,504.",
            source="onnxruntime in FP32",
            priority=3,
        ),
        Column(
            "under_fp16_pct",
            "< normal",
            "Share of the results that are not zero and below 2⁻¹⁴, the smallest normal value of FP16.",
            source="onnxruntime in FP32",
            priority=4,
        ),
        Column(
            "layer",
            "Layer",
            "Layer of the engine that runs the node.",
            source="layer information",
            priority=2,
        ),
        Column(
            "layer_precision", "Runs in", "Precision of that layer.", source="layer information", priority=1
        ),
    )
}


@dataclass(frozen=True, eq=False)
class PrecisionRisk:
    """The result.

    Attributes:
        nodes: A row per node with FP32 results, the riskiest first; columns as in `COLUMNS`, risk is empty for none.
        total: Number of nodes of the model.
        inputs: Description of the inputs: `kind`, `samples`, `seed`, …
        doubts: Sentences about what was not measured.
    """

    path: Path
    nodes: pd.DataFrame
    total: int
    inputs: Mapping[str, Any]
    doubts: tuple[str, ...]

    @property
    def risky(self) -> pd.DataFrame:
        return self.nodes[self.nodes["risk"] != ""]


def measure_risk(
    path: Path,
    shapes: Mapping[str, tuple[int, ...]],
    load_inputs: str = "",
    samples: int | None = None,
    seed: int = 0,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    observe: Callable[[str], None] = lambda _: None,
) -> PrecisionRisk:
    """Run a model and measure its nodes.

    Args:
        shapes: Of dynamic inputs.
        load_inputs: A directory of inputs, or `INPUT:FILE,…`; empty for random inputs.
        samples: Number of samples; None for all that are given, or one.
        ranges: Ranges of random inputs.
        observe: Receives what was just measured.

    Raises:
        ArtifactError: The model cannot be read, or has no weights.
        TrexError: An extra is missing, an input does not fit, or onnxruntime cannot run a node.
    """
    model = _Model(path)
    specs = model.inputs(shapes)
    files = find_files(load_inputs, specs, samples) if load_inputs else ()
    given = Samples(specs, len(files) or samples or 1, seed, ranges or {}, files, load_inputs)
    rows: list[dict[str, Any]] = []
    for number in range(given.count):
        for row in model.measure(given.take(number)):
            rows.append(row)
            observe(f"sample {number + 1} of {given.count}: {row['node']}")
    frame = _combine(pd.DataFrame(rows, columns=["node", "op", *_MEASURES]))
    doubts = []
    if not load_inputs:
        doubts.append("random inputs: values of real inputs may be larger; give them with --load-inputs")
    if model.inner:
        doubts.append(f"the bodies of {model.inner} If, Loop and Scan nodes are measured as one node each")
    return PrecisionRisk(path, frame, len(model.nodes), given.document(), tuple(doubts))


_MEASURES = {
    "fp16_error": "max",
    "bf16_error": "max",
    "max_abs_value": "max",
    "inner_max_value": "max",
    "over_fp16_pct": "mean",
    "under_fp16_pct": "mean",
    "has_large_input": "max",
}
"""Measure -> how samples are combined."""


def _combine(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per node from the rows of all samples, with its risk, the riskiest first."""
    frame = rows.groupby(["node", "op"], sort=False, as_index=False).agg(_MEASURES)
    errors = frame["fp16_error"]
    inherits = frame.pop("has_large_input")
    conditions = [
        ~inherits & ((frame["over_fp16_pct"] > 0) | np.isinf(errors)),
        ~inherits & (frame["inner_max_value"] > LARGEST_FP16),
        ~inherits & (errors > LARGE_ERROR),
        inherits,
    ]
    frame.insert(2, "risk", np.select(conditions, list(RISKS), ""))
    frame["fp16_error"] = errors.mask(np.isinf(errors))
    order = frame["risk"].map({risk: rank for rank, risk in enumerate((*RISKS, ""))})
    keys = pd.DataFrame({"risk": order, "error": -errors, "size": -frame["max_abs_value"]})
    return frame.loc[keys.sort_values(["risk", "error", "size"], kind="stable").index].reset_index(drop=True)


def join_layers(risk: PrecisionRisk, engine: Engine) -> PrecisionRisk:
    """Return the result with the layer that runs each node, and its precision; the engine was joined to the same model."""
    join = engine.onnx
    if join is None:
        return risk
    names, precisions = engine.layers["name"].tolist(), engine.layers["precision"].tolist()
    layers = {join.model.nodes[node].name: indices for node, indices in join.holders.items()}
    held = [layers.get(name, ()) for name in risk.nodes["node"]]
    texts = {
        "layer": [", ".join(names[index] for index in indices) for indices in held],
        "layer_precision": [
            ", ".join(dict.fromkeys(str(precisions[index]) for index in indices)) for indices in held
        ],
    }
    nodes = risk.nodes.assign(
        **{key: text_array(text or None for text in column) for key, column in texts.items()}
    )
    lost = int((nodes["layer"].isna() & (nodes["risk"] != "")).sum())
    doubts = (f"{lost} of the listed nodes are in no layer of {engine.name}",) if lost else ()
    return replace(risk, nodes=nodes, doubts=risk.doubts + doubts)


# The model


class _Model:
    """An ONNX model with its weights, widened to FP32.

    Attributes:
        nodes: Of the graph, without those of subgraphs.
        inner: Number of nodes with subgraphs.
    """

    def __init__(self, path: Path) -> None:
        onnx, self._runtime = _import_libraries()
        self.path, self._onnx = path, onnx
        from google.protobuf.message import DecodeError  # of the extra

        try:
            self._proto = onnx.load(str(path), load_external_data=False)
        except OSError as error:
            raise ArtifactError(path, describe_os_error(error)) from error
        except (DecodeError, ValueError, RecursionError):
            raise ArtifactError(path, f"is not an ONNX model, or is damaged; {COPY_AGAIN}") from None
        if not self._proto.graph.node:
            raise ArtifactError(path, f"has no nodes: it is not an ONNX model, or is damaged; {COPY_AGAIN}")
        self._load_weights()
        self.nodes = list(self._proto.graph.node)
        self.inner = sum(any(_subgraphs(node)) for node in self.nodes)
        self._weights: dict[str, Array] = {}
        for tensor in self._proto.graph.initializer:
            self._weights[tensor.name] = self._widen(onnx.numpy_helper.to_array(tensor))
            tensor.ClearField("raw_data")
        for node in self.nodes:
            self._widen_attributes(node)
        self._captured = {
            id(node): tuple(_captured_names(node)) for node in self.nodes if any(_subgraphs(node))
        }
        self._sessions: dict[bytes, Any] = {}

    def _load_weights(self) -> None:
        """Load the weights that lie in files beside the model."""
        named = {
            entry.value
            for tensor in self._proto.graph.initializer
            for entry in tensor.external_data
            if entry.key == "location"
        }
        for name in sorted(named):
            if not (self.path.parent / name).is_file():
                message = f"its weights {printable(name)} are missing; copy that file beside the model"
                raise ArtifactError(self.path, message)
        try:
            self._onnx.external_data_helper.load_external_data_for_model(self._proto, str(self.path.parent))
        except Exception as error:  # noqa: BLE001 - those of the checker share no base
            raise ArtifactError(
                self.path, f"its weights cannot be read: {shorten_error(error)}; {COPY_AGAIN}"
            ) from None

    def inputs(self, shapes: Mapping[str, tuple[int, ...]]) -> list[TensorSpec]:
        """Return the inputs that a caller passes, with the given shapes.

        Raises:
            TrexError: A shape is missing or does not fit.
        """
        specs = []
        for value in self._proto.graph.input:
            if value.name in self._weights:
                continue
            kind = value.type.tensor_type
            shape = tuple(dim.dim_value if dim.HasField("dim_value") else -1 for dim in kind.shape.dim)
            name = self._onnx.TensorProto.DataType.Name(kind.elem_type)
            dtype = parse_data_type({"FLOAT": "FP32", "DOUBLE": "FP64", "FLOAT16": "FP16"}.get(name, name))
            wanted = shapes.get(value.name)
            what = f"input {printable(value.name)}"
            if wanted is not None and not agree(shape, wanted):
                raise TrexError(
                    f"--shapes {printable(value.name)}:{format_shape(wanted)} does not match {what}, {format_shape(shape)}"
                )
            shape = wanted or shape
            if min(shape, default=0) < 0:
                example = format_shape([abs(extent) for extent in shape])
                raise TrexError(
                    f"{what} has dynamic shapes; add, for example, --shapes {printable(value.name)}:{example}"
                )
            specs.append(TensorSpec(value.name, shape, dtype))
        if unknown := shapes.keys() - {spec.name for spec in specs}:
            known = ", ".join(printable(spec.name) for spec in specs)
            raise TrexError(f"--shapes: no input {printable(min(unknown))}; there are {known}")
        return specs

    def measure(self, inputs: Mapping[str, Array]) -> Iterator[dict[str, Any]]:
        """Run all nodes; yield the measures of those with FP32 results.

        Raises:
            TrexError: onnxruntime cannot run a node.
        """
        values: dict[str, Any] = dict(self._weights)
        values.update((name, self._widen(value)) for name, value in inputs.items())
        outputs = {value.name for value in self._proto.graph.output}
        readers = Counter(name for node in self.nodes for name in set(self._reads(node)))
        for node in self.nodes:
            names = [name for name in dict.fromkeys(self._reads(node)) if name in values]
            feed = {name: values[name] for name in names}
            results = self._run(node, feed)
            floats = [result for result in results if _is_fp32(result) and result.size]
            if floats and any(map(_is_fp32, feed.values())):
                yield {"node": name_of(node), "op": node.op_type, **self._compare(node, feed, results)}
            values.update((name, result) for name, result in zip(node.output, results, strict=True) if name)
            if node.op_type == "Constant":
                self._weights[node.output[0]] = results[0]
            for name in set(self._reads(node)):
                readers[name] -= 1
                if not readers[name] and name not in outputs and name not in self._weights:
                    values.pop(name, None)

    def _reads(self, node: Any) -> list[str]:  # noqa: ANN401 - a NodeProto
        return [*filter(None, node.input), *self._captured.get(id(node), ())]

    def _compare(self, node: Any, feed: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Any]:  # noqa: ANN401
        exact = np.concatenate([result.ravel() for result in results if _is_fp32(result)])
        size = np.abs(exact)
        row: dict[str, Any] = {
            "has_large_input": any(
                np.any(np.abs(value) > LARGEST_FP16)
                for name, value in feed.items()
                if _is_fp32(value) and name not in self._weights
            ),
            "max_abs_value": float(np.max(size, where=np.isfinite(size), initial=0)),
            "over_fp16_pct": 100 * float(np.mean(size > LARGEST_FP16)),
            "under_fp16_pct": 100 * float(np.mean((size > 0) & (size < SMALLEST_FP16))),
            "inner_max_value": _bound_inside(
                node.op_type, feed.get(node.input[0]) if node.input else None, results
            ),
        }
        for dtype in (DataType.FP16, DataType.BF16):
            rounded = {
                name: np.asarray(hold(value, dtype), np.float32) if _is_fp32(value) else value
                for name, value in feed.items()
            }
            changed = np.concatenate([one.ravel() for one in self._run(node, rounded) if _is_fp32(one)])
            row[f"{dtype.value.lower()}_error"] = _relative_error(exact, changed)
        return row

    def _run(self, node: Any, feed: Mapping[str, Any]) -> list[Any]:  # noqa: ANN401
        """Run one node; nodes that differ in their names only share a session."""
        one = type(node)()
        one.CopyFrom(node)
        renamed = dict(feed)
        if not self._captured.get(id(node)):
            places = {name: f"i{place}" for place, name in enumerate(dict.fromkeys(filter(None, node.input)))}
            one.name = ""
            one.input[:] = [places[name] if name else "" for name in node.input]
            one.output[:] = [f"o{place}" if name else "" for place, name in enumerate(node.output)]
            renamed = {places[name]: value for name, value in feed.items()}
        kinds = "".join(f" {name}:{_kind(value)}" for name, value in sorted(renamed.items()))
        key = one.SerializeToString(deterministic=True) + kinds.encode("utf-8", "surrogateescape")
        wanted = [name for name in one.output if name]
        try:
            if key not in self._sessions:
                self._sessions[key] = self._open(one, renamed, wanted)
            found = dict(zip(wanted, self._sessions[key].run(wanted, renamed), strict=True))
        except Exception as error:  # noqa: BLE001 - its exceptions share no base
            message = f"onnxruntime cannot run node {printable(name_of(node))} ({printable(node.op_type)})"
            raise TrexError(f"{self.path}: {message}: {shorten_error(error)}") from None
        return [found.get(name) for name in one.output]

    def _open(self, node: Any, feed: Mapping[str, Any], outputs: Sequence[str]) -> Any:  # noqa: ANN401
        helper = self._onnx.helper
        inputs = [self._describe(name, value) for name, value in feed.items()]
        graph = helper.make_graph(
            [node], "node", inputs, [self._onnx.ValueInfoProto(name=name) for name in outputs]
        )
        model = helper.make_model(
            graph,
            opset_imports=self._proto.opset_import,
            functions=self._proto.functions,
            ir_version=self._proto.ir_version,
        )
        options = self._runtime.SessionOptions()
        options.log_severity_level = _QUIET
        options.enable_cpu_mem_arena = False  # each session would keep its own
        options.graph_optimization_level = self._runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
        return self._runtime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )

    def _describe(self, name: str, value: Any) -> Any:  # noqa: ANN401
        helper = self._onnx.helper
        if isinstance(value, list):
            kind = helper.np_dtype_to_tensor_dtype(value[0].dtype) if value else self._onnx.TensorProto.FLOAT
            return helper.make_tensor_sequence_value_info(name, kind, None)
        return helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(value.dtype), [None] * value.ndim
        )

    def _widen(self, value: Array) -> Array:
        return value.astype(np.float32) if value.dtype.name in _WIDENED else np.asarray(value)

    def _widen_attributes(self, node: Any) -> None:  # noqa: ANN401
        """Make FP32 of FP16 and BF16 in casts and constants, those of subgraphs too."""
        kinds = self._onnx.TensorProto
        for attribute in node.attribute:
            if attribute.name in ("to", "dtype") and attribute.i in (kinds.FLOAT16, kinds.BFLOAT16):
                attribute.i = kinds.FLOAT
            if attribute.HasField("t") and attribute.t.data_type in (kinds.FLOAT16, kinds.BFLOAT16):
                wide = self._onnx.numpy_helper.to_array(attribute.t).astype(np.float32)
                attribute.t.CopyFrom(self._onnx.numpy_helper.from_array(wide))
        for graph in _subgraphs(node):
            for inner in graph.node:
                self._widen_attributes(inner)


def _import_libraries() -> tuple[Any, Any]:
    try:
        import onnx
        import onnx.external_data_helper
        import onnx.numpy_helper
        import onnxruntime
    except ImportError as error:
        raise TrexError(
            f"precision-risk needs {error.name}, which is not installed: install trex-tui with its extra accuracy"
        ) from None
    onnxruntime.disable_telemetry_events()
    return onnx, onnxruntime


def name_of(node: Any) -> str:  # noqa: ANN401 - a NodeProto
    """Return the name of a node as TensorRT calls it."""
    return str(node.name or (f"node_of_{node.output[0]}" if node.output else node.op_type))


def _subgraphs(node: Any) -> Iterator[Any]:  # noqa: ANN401
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _captured_names(node: Any) -> Iterator[str]:  # noqa: ANN401
    """Yield the tensors of outer graphs that the subgraphs of a node read."""
    for graph in _subgraphs(node):
        own = {value.name for value in (*graph.input, *graph.initializer)}
        own.update(name for inner in graph.node for name in inner.output)
        reads = [name for inner in graph.node for name in (*inner.input, *_captured_names(inner))]
        reads += [value.name for value in graph.output]
        yield from dict.fromkeys(name for name in reads if name and name not in own)


def _kind(value: Any) -> str:  # noqa: ANN401
    return (
        f"list {_kind(value[0]) if value else ''}"
        if isinstance(value, list)
        else f"{value.dtype}{value.ndim}"
    )


def _is_fp32(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, np.ndarray) and value.dtype == np.float32


def _bound_inside(op: str, operand: Any, results: Sequence[Any]) -> float:  # noqa: ANN401
    """Return a bound of what an operator computes before its result; NaN for one without such values."""
    if not _is_fp32(operand) or not operand.size or not _is_fp32(results[0]) or not results[0].size:
        return math.nan
    if op in _SQUARES:
        return float(np.max(np.abs(operand))) ** 2
    if op in _MEANS:
        return float(np.max(np.abs(results[0]))) * float(operand.size / results[0].size)
    return math.nan


def _relative_error(exact: Array, changed: Array) -> float:
    """Return the relative L2 error over the values that are finite in FP32; inf if rounding makes one infinite or NaN."""
    finite = np.isfinite(exact)
    exact, changed = exact[finite].astype(np.float64), changed[finite].astype(np.float64)
    if not np.isfinite(changed).all():
        return math.inf
    norm = float(np.linalg.norm(exact))
    error = float(np.linalg.norm(changed - exact))
    return error / norm if norm else min(error, 1.0)
