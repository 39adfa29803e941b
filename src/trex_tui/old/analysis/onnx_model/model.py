"""An ONNX model as nodes and tensors. External weights are not read, and no path in the model is followed."""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trex_tui.old.artifacts.input_files import COPY_AGAIN, MOST_BYTES, OUT_OF_MEMORY, open_bytes, read_fully
from trex_tui.old.errors import ArtifactError, TrexError, describe_os_error
from trex_tui.old.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import networkx as nx
    import onnx

_LARGEST_CONSTANT = 4096
"""Bytes of a constant that shape inference may need; the data of larger ones are dropped."""
_MOST_DEPTH = 8
"""Levels of nested subgraphs."""
_WEIGHT_TYPES = re.compile(r"(?:FLOAT|BFLOAT|DOUBLE|U?INT[48]$|INT32$)")
"""Types of parameters; INT64 holds shapes and indices."""
_BITS = {
    "DOUBLE": 64,
    "INT64": 64,
    "UINT64": 64,
    "COMPLEX64": 64,
    "COMPLEX128": 128,
    "FLOAT": 32,
    "INT32": 32,
}
_BITS |= {"UINT32": 32, "FLOAT16": 16, "BFLOAT16": 16, "INT16": 16, "UINT16": 16, "INT4": 4, "UINT4": 4}
_BITS |= {"FLOAT4E2M1": 4}
_RANDOM = frozenset({"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli"})


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """A node of the model.

    Attributes:
        index: Position in the file; the nodes of a subgraph come before the node that holds it.
        name: As TensorRT names it: `node_of_` and the first output for a node without a name.
        path: Names of the enclosing nodes, for a node in a subgraph.
        op: Operator, such as `Conv`.
        inputs: Tensors that it reads, with those that its subgraphs return; empty for an omitted one.
        outputs: Tensors that it writes.
        attributes: Integers, floats and their lists, and short strings.
    """

    index: int
    name: str
    path: tuple[str, ...]
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Initializer:
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

    @property
    def is_weight(self) -> bool:
        """True if it is a parameter: not a shape, an index or a flag."""
        return _WEIGHT_TYPES.match(self.dtype) is not None


@dataclass(frozen=True, eq=False)
class OnnxModel:
    """A model without the data of its weights.

    Attributes:
        nodes: In the order of the file, with those of subgraphs.
        initializers: By the name of their tensor.
        inputs: Tensors that the caller passes, with their stated extents; None for an extent that is not fixed.
        outputs: Tensors that it returns.
        proto: The model of the library `onnx`, for shape inference.
    """

    path: Path
    nodes: tuple[OnnxNode, ...]
    initializers: Mapping[str, Initializer]
    inputs: Mapping[str, tuple[int | None, ...]]
    outputs: tuple[str, ...]
    proto: onnx.ModelProto

    @cached_property
    def by_name(self) -> Mapping[str, tuple[int, ...]]:
        """Return name -> nodes; several nodes share a name in malformed models."""
        names: dict[str, list[int]] = {}
        for node in self.nodes:
            names.setdefault(node.name, []).append(node.index)
        return {name: tuple(indices) for name, indices in names.items()}

    @cached_property
    def writers(self) -> Mapping[str, int]:
        """Return tensor -> the node that writes it."""
        return {tensor: node.index for node in self.nodes for tensor in node.outputs if tensor}

    @cached_property
    def readers(self) -> Mapping[str, tuple[int, ...]]:
        """Return tensor -> the nodes that read it."""
        readers: dict[str, dict[int, None]] = {}
        for node in self.nodes:
            for tensor in filter(None, node.inputs):
                readers.setdefault(tensor, {})[node.index] = None
        return {tensor: tuple(indices) for tensor, indices in readers.items()}

    @cached_property
    def graph(self) -> nx.DiGraph[int]:
        """Graph with an edge from each node to every reader of its outputs. Imports networkx."""
        import networkx as nx

        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_nodes_from(node.index for node in self.nodes)
        writers = self.writers
        graph.add_edges_from(
            (writers[tensor], node.index)
            for node in self.nodes
            for tensor in node.inputs
            if tensor in writers
        )
        return graph

    @cached_property
    def tensors(self) -> frozenset[str]:
        """Names of all tensors."""
        return frozenset(self.writers) | frozenset(self.initializers) | frozenset(self.inputs)

    def unique_weights(self, names: Iterable[str] | None = None) -> list[Initializer]:
        """Return the parameters among some initializers, or all; one of those with the same content."""
        chosen = self.initializers.values() if names is None else (self.initializers[name] for name in names)
        return list({item.identity: item for item in chosen if item.is_weight}.values())


def read_model(path: str | Path) -> OnnxModel:
    """Read a model; the last one is cached until its file changes.

    Raises:
        ArtifactError: The file is not an ONNX model, is damaged or too large, or cannot be read.
        TrexError: onnx is not installed.
    """
    path = Path(path)
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
        import onnx
        from google.protobuf.message import DecodeError
    except ImportError:
        message = "--onnx needs onnx, which is not installed: pip install 'trex-tui[onnx]'"
        raise TrexError(message) from None
    try:
        with open_bytes(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size >= MOST_BYTES:
                message = (
                    f"is too large: {size / 2**30:.1f} GiB; at most {MOST_BYTES >> 30} GiB are read, so store its weights as "
                    "external data"
                )
                raise ArtifactError(path, message)
            data = read_fully(file, size)
    except OSError as error:
        raise ArtifactError(path, describe_os_error(error)) from error
    except MemoryError as error:
        raise ArtifactError(path, OUT_OF_MEMORY) from error
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except (DecodeError, ValueError, RecursionError) as error:
        raise ArtifactError(path, f"is not an ONNX model, or is damaged; {COPY_AGAIN}") from error
    except MemoryError as error:
        raise ArtifactError(path, OUT_OF_MEMORY) from error
    if not proto.graph.node:
        raise ArtifactError(path, f"has no ONNX nodes: it is not an ONNX model, or is damaged; {COPY_AGAIN}")
    return _Reader(path, proto).model()


class _Reader:
    """Walks a graph and its subgraphs. A tensor of a subgraph is prefixed by the path if an outer tensor has its name."""

    def __init__(self, path: Path, proto: onnx.ModelProto) -> None:
        from onnx import TensorProto

        self._path = path
        self._proto = proto
        self._type_name = TensorProto.DataType.Name
        self._nodes: list[OnnxNode] = []
        self._initializers: dict[str, Initializer] = {}
        self._taken: set[str] = set()

    def model(self) -> OnnxModel:
        graph = self._proto.graph
        self._walk(graph, (), {})
        inputs = {
            value.name: tuple(
                dim.dim_value if dim.HasField("dim_value") else None
                for dim in value.type.tensor_type.shape.dim
            )
            for value in graph.input
            if value.name not in self._initializers
        }
        outputs = tuple(value.name for value in graph.output)
        return OnnxModel(self._path, tuple(self._nodes), self._initializers, inputs, outputs, self._proto)

    def _walk(self, graph: onnx.GraphProto, path: tuple[str, ...], outer: Mapping[str, str]) -> list[str]:
        """Add the nodes of a graph; return its outputs."""
        names = dict(outer)
        own = [tensor.name for tensor in graph.initializer]
        own += [sparse.values.name for sparse in graph.sparse_initializer]
        own += [value.name for value in graph.input]
        own += [output for node in graph.node for output in node.output]
        for name in filter(None, own):
            names[name] = self._unique(name, path) if path else name
        if not path:
            self._taken.update(own)
        for tensor in graph.initializer:
            self._initializers[names[tensor.name]] = self._initializer(names[tensor.name], tensor)
        for sparse in graph.sparse_initializer:
            name = names[sparse.values.name]
            self._initializers[name] = self._initializer(name, sparse.values)
        for node in graph.node:
            self._add(node, path, names)
        return [names.get(value.name, value.name) for value in graph.output]

    def _unique(self, name: str, path: tuple[str, ...]) -> str:
        unique = name if name not in self._taken else "/".join((*path, name))
        while unique in self._taken:
            unique += "'"
        self._taken.add(unique)
        return unique

    def _add(self, node: onnx.NodeProto, path: tuple[str, ...], names: Mapping[str, str]) -> None:
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
        self._nodes.append(
            OnnxNode(len(self._nodes), stated, path, node.op_type, tuple(inputs), outputs, attributes)
        )

    def _initializer(self, name: str, tensor: onnx.TensorProto) -> Initializer:
        shape = tuple(max(extent, 0) for extent in tensor.dims)
        try:
            dtype = self._type_name(tensor.data_type)
        except ValueError:
            dtype = "UNDEFINED"
        if tensor.external_data:
            content = repr(sorted((entry.key, entry.value) for entry in tensor.external_data))
        elif tensor.raw_data:
            content = hashlib.blake2b(tensor.raw_data, digest_size=16).hexdigest()
        else:
            content = name
        _drop_data(tensor)
        return Initializer(name, shape, dtype, f"{dtype} {shape} {content}")


def _read_attribute(attribute: onnx.AttributeProto, into: dict[str, Any]) -> None:
    if attribute.ints:
        into[attribute.name] = tuple(attribute.ints)
    elif attribute.HasField("i"):
        into[attribute.name] = attribute.i
    elif attribute.HasField("f"):
        into[attribute.name] = attribute.f
    elif attribute.HasField("s") and len(attribute.s) <= _LARGEST_CONSTANT:
        into[attribute.name] = attribute.s.decode("utf-8", "replace")


def _drop_data(tensor: onnx.TensorProto) -> None:
    if tensor.ByteSize() > _LARGEST_CONSTANT:
        for field in ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
            tensor.ClearField(field)


# Shapes of tensors


@dataclass(frozen=True, slots=True)
class Shapes:
    """Extents and types of tensors, for one set of input shapes.

    Attributes:
        extents: By tensor; None for an unknown extent. A tensor of unknown rank is missing.
        bits: By tensor, of an element; without unknown types.
        constants: Tensors that do not depend on an input: TensorRT computes them while it builds.
        reason: Why shapes are missing; empty if shape inference succeeded.
    """

    extents: Mapping[str, tuple[int | None, ...]]
    bits: Mapping[str, int]
    constants: frozenset[str]
    reason: str = ""

    def known(self, tensor: str) -> tuple[int, ...] | None:
        """Return the shape of a tensor; None unless every extent is known."""
        shape = self.extents.get(tensor)
        if shape is None or any(extent is None for extent in shape):
            return None
        return tuple(extent for extent in shape if extent is not None)

    def bytes(self, tensor: str) -> int | None:
        """Return the size of a tensor in the model's type; None if unknown."""
        shape, bits = self.known(tensor), self.bits.get(tensor)
        return None if shape is None or bits is None else -(-math.prod(shape) * bits // 8)


def infer_shapes(model: OnnxModel, inputs: Mapping[str, tuple[int, ...]]) -> Shapes:
    """Infer the shapes of all tensors.

    Args:
        model: The model.
        inputs: Shapes of the engine's bindings, which replace those of the model if all extents are fixed.
    """
    import onnx

    proto = onnx.ModelProto()
    proto.CopyFrom(model.proto)
    for value in proto.graph.input:
        shape = inputs.get(value.name)
        if shape is not None and all(extent >= 0 for extent in shape):
            stated = value.type.tensor_type.shape.dim
            if len(stated) in (0, len(shape)):
                del stated[:]
                for extent in shape:
                    stated.add().dim_value = extent
                _forget_shapes(proto)
    reason = ""
    try:
        proto = onnx.shape_inference.infer_shapes(proto, data_prop=True)
    except Exception as error:  # noqa: BLE001 - the checker behind it raises whatever it likes
        reason = (
            f"shape inference failed: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
        )
    weights = model.initializers.values()
    extents: dict[str, tuple[int | None, ...]] = {item.name: item.shape for item in weights}
    bits = {item.name: _BITS.get(item.dtype, 8) for item in weights}
    types = {number: name for name, number in onnx.TensorProto.DataType.items()}
    for value in _value_infos(proto.graph):
        stated = value.type.tensor_type
        if stated.HasField("shape"):
            extents[value.name] = tuple(
                dim.dim_value if dim.HasField("dim_value") else None for dim in stated.shape.dim
            )
        dtype = types.get(stated.elem_type, "UNDEFINED")
        if dtype not in ("UNDEFINED", "STRING"):
            bits[value.name] = _BITS.get(dtype, 8)
    return Shapes(extents, bits, find_constants(model, extents), reason)


def _forget_shapes(proto: onnx.ModelProto) -> None:
    """Drop shapes that the exporter stated for other inputs."""
    del proto.graph.value_info[:]
    for value in proto.graph.output:
        value.type.tensor_type.ClearField("shape")


def _value_infos(graph: onnx.GraphProto) -> Iterator[onnx.ValueInfoProto]:
    yield from graph.input
    yield from graph.value_info
    yield from graph.output
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _value_infos(attribute.g)


def find_constants(model: OnnxModel, extents: Mapping[str, tuple[int | None, ...]]) -> frozenset[str]:
    """Return tensors known at build time: initializers, and values computed from constants and shapes.

    Args:
        extents: Shapes that are the same in each run.
    """
    constants = set(model.initializers)
    for node in model.nodes:
        if node.path or node.op in _RANDOM:
            continue
        shape = extents.get(node.inputs[0]) if node.inputs else None
        is_shape = node.op in ("Shape", "Size") and shape is not None and None not in shape
        if is_shape or all(tensor in constants for tensor in node.inputs if tensor):
            constants.update(node.outputs)
    return frozenset(constants)


def count_ops(nodes: Iterable[OnnxNode]) -> dict[str, int]:
    """Return the number of nodes of each operator, the most frequent first."""
    counts = Counter(node.op for node in nodes)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
