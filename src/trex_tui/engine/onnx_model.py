"""An ONNX model as nodes, tensors and shapes. External weights are not read, and no path in the model is followed."""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from trex_tui.artifacts.open import COPY_AGAIN, MOST_BYTES, open_bytes, read_fully
from trex_tui.errors import ArtifactError, TrexError, describe_os_error

_LARGEST_CONSTANT = 4096
"""Bytes of a constant that shape inference may need; the data of larger ones are dropped."""
_MOST_DEPTH = 8
"""Levels of nested subgraphs."""
_WEIGHT_TYPES = re.compile(r"(?:FLOAT|BFLOAT|DOUBLE|U?INT[48]$|INT32$)")
"""Types of parameters; INT64 holds shapes and indices."""
_TYPES_OF_BITS = {
    128: "COMPLEX128",
    64: "DOUBLE INT64 UINT64 COMPLEX64",
    32: "FLOAT INT32 UINT32",
    16: "FLOAT16 BFLOAT16 INT16 UINT16",
    4: "INT4 UINT4 FLOAT4E2M1",
}
_BITS = {name: bits for bits, names in _TYPES_OF_BITS.items() for name in names.split()}
_RANDOM = frozenset({"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli"})
_CONVOLUTIONS = {"Conv": 1, "ConvInteger": 1, "QLinearConv": 3}
_PRODUCTS = {"MatMul": 1, "MatMulInteger": 1, "QLinearMatMul": 3}
"""Operators, and the index of the second operand among their inputs."""
MULTIPLYING = frozenset({*_CONVOLUTIONS, *_PRODUCTS, "ConvTranspose", "Gemm"})
_UNCOUNTED = frozenset(
    {"Einsum", "DeformConv", "Attention", "MultiHeadAttention", "GroupQueryAttention", "QAttention"}
)
"""Operators that multiply but are not counted."""

Shape = tuple[int | None, ...]


class OnnxNode(NamedTuple):
    """A node of the model.

    Attributes:
        index: Position in the file; the nodes of a subgraph come before the node that holds it.
        name: As TensorRT names it: `node_of_` and the first output for a node without a name.
        op: Operator, such as `Conv`.
        inputs: Tensors that it reads, with those that its subgraphs return; empty for an omitted one.
        outputs: Tensors that it writes.
        attributes: Integers, floats and their lists, and short strings.
        is_inner: Whether it is in a subgraph.
    """

    index: int  # type: ignore[assignment] # the position hides the search of tuples, which nobody needs here
    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    is_inner: bool


class Initializer(NamedTuple):
    """A constant of the model.

    Attributes:
        dtype: Name of the type in ONNX, such as `FLOAT16`.
        identity: Equal for initializers with the same content.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    identity: str

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return -(-self.elements * _BITS.get(self.dtype, 8) // 8)


@dataclass(frozen=True, eq=False)
class OnnxModel:
    """A model without the data of its weights.

    Attributes:
        nodes: In the order of the file, with those of subgraphs.
        initializers: By the name of their tensor.
        inputs: Tensors that the caller passes.
        proto: The model of the library `onnx`, for shape inference.
    """

    path: Path
    nodes: tuple[OnnxNode, ...]
    initializers: Mapping[str, Initializer]
    inputs: tuple[str, ...]
    proto: Any

    @cached_property
    def by_name(self) -> Mapping[str, tuple[int, ...]]:
        """Name -> nodes; several nodes share a name in malformed models."""
        return _group((node.name, node.index) for node in self.nodes)

    @cached_property
    def writers(self) -> Mapping[str, int]:
        """Tensor -> the node that writes it."""
        return {tensor: node.index for node in self.nodes for tensor in node.outputs if tensor}

    @cached_property
    def readers(self) -> Mapping[str, tuple[int, ...]]:
        """Tensor -> the nodes that read it."""
        reads = (
            (tensor, node.index) for node in self.nodes for tensor in dict.fromkeys(node.inputs) if tensor
        )
        return _group(reads)

    def sources(self, node: int) -> Iterator[int]:
        """Yield the nodes whose results a node reads."""
        return (self.writers[tensor] for tensor in self.nodes[node].inputs if tensor in self.writers)

    def targets(self, node: int) -> Iterator[int]:
        """Yield the nodes that read the results of a node."""
        return (reader for tensor in self.nodes[node].outputs for reader in self.readers.get(tensor, ()))

    @cached_property
    def tensors(self) -> frozenset[str]:
        """Names of all tensors."""
        return frozenset((*self.writers, *self.initializers, *self.inputs))

    def unique_weights(self, names: Iterable[str]) -> list[Initializer]:
        """Return the parameters among some initializers, one of those with the same content; no shapes and indices."""
        chosen = (self.initializers[name] for name in names)
        return list({item.identity: item for item in chosen if _WEIGHT_TYPES.match(item.dtype)}.values())


def _group(pairs: Iterable[tuple[str, int]]) -> dict[str, tuple[int, ...]]:
    groups: dict[str, list[int]] = {}
    for key, index in pairs:
        groups.setdefault(key, []).append(index)
    return {key: tuple(indices) for key, indices in groups.items()}


def read_model(path: Path) -> OnnxModel:
    """Read a model; the last one is kept until its file changes.

    Raises:
        ArtifactError: The file is not an ONNX model, is damaged or too large, or cannot be read.
        TrexError: onnx is not installed.
    """
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        message = (
            describe_os_error(error) if isinstance(error, OSError) else "is not a valid path; check the path"
        )
        raise ArtifactError(path, message) from None
    return _read(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1)
def _read(path: Path, _modified: int, _size: int) -> OnnxModel:
    try:
        import onnx  # an extra
        from google.protobuf.message import DecodeError
    except ImportError:
        raise TrexError(
            "--onnx needs onnx, which is not installed: install trex-tui with its extra onnx"
        ) from None
    proto = onnx.ModelProto()
    try:
        with open_bytes(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size >= MOST_BYTES:
                most = f"at most {MOST_BYTES >> 30} GiB are read, so store its weights as external data"
                raise ArtifactError(path, f"is too large: {size / 2**30:.1f} GiB; {most}")
            proto.ParseFromString(read_fully(file, size))
    except OSError as error:
        raise ArtifactError(path, describe_os_error(error)) from error
    except MemoryError as error:
        raise ArtifactError(path, "exceeds the memory of this machine; use one with more memory") from error
    except (DecodeError, ValueError, RecursionError) as error:
        raise ArtifactError(path, f"is not an ONNX model, or is damaged; {COPY_AGAIN}") from error
    if not proto.graph.node:
        raise ArtifactError(path, f"has no ONNX nodes: it is not an ONNX model, or is damaged; {COPY_AGAIN}")
    return _Reader(path, proto, onnx.TensorProto.DataType.Name).read()


class _Reader:
    """Walks a graph and its subgraphs. A tensor of a subgraph is prefixed by the path if an outer tensor has its name."""

    def __init__(self, path: Path, proto: Any, type_name: Any) -> None:  # noqa: ANN401 - of the library onnx
        self._path, self._proto, self._type_name = path, proto, type_name
        self._nodes: list[OnnxNode] = []
        self._initializers: dict[str, Initializer] = {}
        self._taken: set[str] = set()

    def read(self) -> OnnxModel:
        self._walk(self._proto.graph, (), {})
        inputs = (value.name for value in self._proto.graph.input if value.name not in self._initializers)
        return OnnxModel(self._path, tuple(self._nodes), self._initializers, tuple(inputs), self._proto)

    def _walk(self, graph: Any, path: tuple[str, ...], outer: Mapping[str, str]) -> list[str]:  # noqa: ANN401
        """Add the nodes of a graph; return its outputs."""
        names = dict(outer)
        constants = [*graph.initializer, *(sparse.values for sparse in graph.sparse_initializer)]
        own = [item.name for item in (*constants, *graph.input)]
        own += [output for node in graph.node for output in node.output]
        for name in filter(None, own):
            names[name] = self._unique(name, path) if path else name
        if not path:
            self._taken.update(own)
        for tensor in constants:
            self._initializers[names[tensor.name]] = self._initializer(names[tensor.name], tensor)
        for node in graph.node:
            self._add(node, path, names)
        return [names.get(value.name, value.name) for value in graph.output]

    def _unique(self, name: str, path: tuple[str, ...]) -> str:
        unique = name if name not in self._taken else "/".join((*path, name))
        while unique in self._taken:
            unique += "'"
        self._taken.add(unique)
        return unique

    def _add(self, node: Any, path: tuple[str, ...], names: Mapping[str, str]) -> None:  # noqa: ANN401
        stated = node.name or (
            f"node_of_{node.output[0]}" if node.output else f"{node.op_type} without a name"
        )
        inputs = [names.get(name, name) for name in node.input]
        attributes: dict[str, Any] = {}
        for attribute in node.attribute:
            graphs = [attribute.g] if attribute.HasField("g") else list(attribute.graphs)
            if graphs and len(path) >= _MOST_DEPTH:
                raise ArtifactError(self._path, "is nested too deeply; flatten its If, Loop and Scan nodes")
            for graph in graphs:
                inputs += self._walk(graph, (*path, stated), names)
            _read_attribute(attribute, attributes)
            if node.op_type == "Constant" and attribute.HasField("t"):
                _drop_data(attribute.t)
        outputs = tuple(names.get(name, name) for name in node.output)
        row = (len(self._nodes), stated, node.op_type, tuple(inputs), outputs, attributes, bool(path))
        self._nodes.append(OnnxNode(*row))

    def _initializer(self, name: str, tensor: Any) -> Initializer:  # noqa: ANN401
        shape = tuple(max(extent, 0) for extent in tensor.dims)
        try:
            dtype = self._type_name(tensor.data_type)
        except ValueError:
            dtype = "UNDEFINED"
        content = name
        if tensor.external_data:
            content = repr(sorted((entry.key, entry.value) for entry in tensor.external_data))
        elif tensor.raw_data:
            content = hashlib.blake2b(tensor.raw_data, digest_size=16).hexdigest()
        _drop_data(tensor)
        return Initializer(name, shape, dtype, f"{dtype} {shape} {content}")


def _read_attribute(attribute: Any, into: dict[str, Any]) -> None:  # noqa: ANN401
    if attribute.ints:
        into[attribute.name] = tuple(attribute.ints)
    elif attribute.HasField("i"):
        into[attribute.name] = attribute.i
    elif attribute.HasField("f"):
        into[attribute.name] = attribute.f
    elif attribute.HasField("s") and len(attribute.s) <= _LARGEST_CONSTANT:
        into[attribute.name] = attribute.s.decode("utf-8", "replace")


def _drop_data(tensor: Any) -> None:  # noqa: ANN401
    if tensor.ByteSize() > _LARGEST_CONSTANT:
        for field in ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
            tensor.ClearField(field)


# Shapes of tensors


class Shapes(NamedTuple):
    """Extents of tensors, for one set of input shapes.

    Attributes:
        extents: By tensor; None for an unknown extent. A tensor of unknown rank is missing.
        constants: Tensors that do not depend on an input: TensorRT computes them while it builds.
        reason: Why shapes are missing; empty if shape inference succeeded.
    """

    extents: Mapping[str, Shape]
    constants: frozenset[str]
    reason: str = ""

    def known(self, tensors: tuple[str, ...], place: int) -> tuple[int, ...] | None:
        """Return the shape of one of some tensors; None unless every extent is known."""
        shape = self.extents.get(tensors[place]) if place < len(tensors) else None
        known = tuple(extent for extent in shape or () if extent is not None)
        return known if shape is not None and len(known) == len(shape) else None


def infer_shapes(model: OnnxModel, inputs: Mapping[str, tuple[int, ...]]) -> Shapes:
    """Infer the shapes of all tensors.

    Args:
        model: The model.
        inputs: Shapes of the engine's bindings, which replace those of the model if all extents are fixed.
    """
    import onnx  # an extra; the model was read with it

    proto = onnx.ModelProto()
    proto.CopyFrom(model.proto)
    for value in proto.graph.input:
        shape, stated = inputs.get(value.name), value.type.tensor_type.shape.dim
        if shape is not None and min(shape, default=0) >= 0 and len(stated) in (0, len(shape)):
            del stated[:]
            for extent in shape:
                stated.add().dim_value = extent
            # Shapes that the exporter stated are for other inputs.
            del proto.graph.value_info[:]
            for output in proto.graph.output:
                output.type.tensor_type.ClearField("shape")
    reason = ""
    try:
        proto = onnx.shape_inference.infer_shapes(proto, data_prop=True)
    except Exception as error:  # noqa: BLE001 - the checker behind it raises whatever it likes
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        reason = f"shape inference failed: {text}"
    extents: dict[str, Shape] = {item.name: item.shape for item in model.initializers.values()}
    for value in _value_infos(proto.graph):
        stated = value.type.tensor_type
        if stated.HasField("shape"):
            dims = stated.shape.dim
            extents[value.name] = tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in dims)
    return Shapes(extents, _find_constants(model, extents), reason)


def _value_infos(graph: Any) -> Iterator[Any]:  # noqa: ANN401
    yield from (*graph.input, *graph.value_info, *graph.output)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _value_infos(attribute.g)


def _find_constants(model: OnnxModel, extents: Mapping[str, Shape]) -> frozenset[str]:
    """Return tensors known at build time: initializers, and values computed from constants and shapes."""
    constants = set(model.initializers)
    for node in model.nodes:
        if node.is_inner or node.op in _RANDOM:
            continue
        shape = extents.get(node.inputs[0]) if node.inputs else None
        is_shape = node.op in ("Shape", "Size") and shape is not None and None not in shape
        if is_shape or all(tensor in constants for tensor in node.inputs if tensor):
            constants.update(node.outputs)
    return frozenset(constants)


# Work


def count_macs(nodes: Iterable[OnnxNode], shapes: Shapes) -> int | None:
    """Return the multiply-accumulates of the convolutions and matrix products among some nodes; None if one is unknown."""
    counts = [_node_macs(node, shapes) for node in nodes]
    return None if None in counts else sum(filter(None, counts))


def _node_macs(node: OnnxNode, shapes: Shapes) -> int | None:
    first, output = shapes.known(node.inputs, 0), shapes.known(node.outputs, 0)
    if node.op in _CONVOLUTIONS:
        weight = shapes.known(node.inputs, _CONVOLUTIONS[node.op])
        return None if not weight or output is None else math.prod(output) * math.prod(weight[1:])
    if node.op == "ConvTranspose":
        weight = shapes.known(node.inputs, 1)
        return None if first is None or not weight else math.prod(first) * math.prod(weight[1:])
    if node.op in _PRODUCTS:
        return None if not first or output is None else math.prod(output) * first[-1]
    if node.op == "Gemm":
        if first is None or len(first) != 2 or output is None:
            return None
        return math.prod(output) * first[0 if node.attributes.get("transA") else 1]
    if node.op in ("LSTM", "GRU", "RNN"):
        weights = [shapes.known(node.inputs, place) for place in (1, 2)]
        if first is None or len(first) != 3 or None in weights:
            return None
        return first[0] * first[1] * sum(math.prod(weight) for weight in weights if weight)
    return None if node.op in _UNCOUNTED else 0
