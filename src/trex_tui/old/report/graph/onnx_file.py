"""The engine as an ONNX file, for viewers such as Netron: it holds the structure and cannot be run.

Operators are the engine's own kinds, in their own domain. ONNX requires each value to be written once and before it is read,
so a memory name that is written again gets the layer's number as suffix, and values of the previous iteration are inputs.
Weights have no data here and are omitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trex_tui._version import __version__
from trex_tui.old.analysis.columns import ALL_COLUMNS
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer, Tensor
from trex_tui.old.errors import TrexError
from trex_tui.old.report.document import is_missing
from trex_tui.old.report.graph.model import EngineGraph
from trex_tui.old.text import printable

if TYPE_CHECKING:
    import onnx

DOMAIN = "trex_tui.engine"
_IR_VERSION = 10  # ONNX 1.16: INT4 and older types; every viewer reads it
_LARGEST_INTEGER = 2**63 - 1
_TYPES = {
    DataType.FP64: "DOUBLE",
    DataType.FP32: "FLOAT",
    DataType.TF32: "FLOAT",
    DataType.FP16: "FLOAT16",
    DataType.BF16: "BFLOAT16",
    DataType.FP8: "FLOAT8E4M3FN",
    DataType.FP4: "FLOAT4E2M1",
    DataType.E8M0: "FLOAT8E8M0",
    DataType.BOOL: "BOOL",
}


def write_onnx(engine: Engine, graph: EngineGraph) -> bytes:
    """Return the layers of the graph, in execution order, as a serialized `ModelProto`.

    Raises:
        TrexError: onnx is not installed, or the file would exceed the limit of protobuf.
    """
    try:
        import onnx
    except ImportError:
        message = "ONNX needs onnx, which is not installed: pip install 'trex-tui[onnx]'"
        raise TrexError(message) from None
    layers = [node.layer for node in graph.nodes if node.layer is not None]
    model = _Writer(engine, sorted(layers, key=lambda layer: layer.index)).model()
    if model.ByteSize() >= onnx.checker.MAXIMUM_PROTOBUF:
        raise TrexError("ONNX files are limited to 2 GB; select fewer layers")
    data: bytes = model.SerializeToString(deterministic=True)
    return data


class _Writer:
    def __init__(self, engine: Engine, layers: Sequence[Layer]) -> None:
        import onnx

        self._onnx = onnx
        self._engine = engine
        self._layers = layers
        self._shown = {layer.index for layer in layers}
        self._taken: set[str] = set()
        self._inputs: dict[str, Tensor] = {}
        self._written: frozenset[str] = frozenset()
        self._values: dict[tuple[int, str], str] = {}
        """Layer and tensor name -> the name of the value that it writes."""
        self._bindings = {printable(binding.name): binding for binding in engine.bindings}

    def model(self) -> onnx.ModelProto:
        """Return the whole model."""
        helper = self._onnx.helper
        self._name_values()
        nodes = [self._node(layer) for layer in self._layers]
        inputs = [self._info(name, tensor) for name, tensor in self._inputs.items()]
        outputs: list[onnx.ValueInfoProto] = []
        inner: list[onnx.ValueInfoProto] = []
        for layer in self._layers:
            for tensor in {tensor.name: tensor for tensor in layer.outputs}.values():
                name = self._values[layer.index, tensor.name]
                (outputs if name in self._bindings else inner).append(self._info(name, tensor))
        whole = helper.make_graph(nodes, printable(self._engine.name), inputs, outputs, value_info=inner)
        model: onnx.ModelProto = helper.make_model(
            whole,
            producer_name="trex-tui",
            producer_version=__version__,
            ir_version=_IR_VERSION,
            opset_imports=[helper.make_opsetid(DOMAIN, 1)],
            doc_string="Structure of a TensorRT engine for viewing; it cannot be run.",
        )
        return model

    def _name_values(self) -> None:
        """Name the values: the last value of a binding keeps its name; for others, the first."""
        last = {tensor.name: layer.index for layer in self._layers for tensor in layer.outputs}
        bindings = {binding.name for binding in self._engine.bindings}
        reserved = {printable(name) for name in bindings}
        self._taken = set(reserved)
        for layer in self._layers:
            for tensor in layer.outputs:
                if (layer.index, tensor.name) in self._values:
                    continue
                name = printable(tensor.name)
                is_last = tensor.name in bindings and last[tensor.name] == layer.index
                keeps_name = is_last and name in reserved
                reserved.discard(
                    name if keeps_name else ""
                )  # two names may look the same when they are printable
                self._values[layer.index, tensor.name] = (
                    name if keeps_name else self._unique(name, layer.index)
                )
        self._written = frozenset(self._values.values())

    def _unique(self, name: str, number: int) -> str:
        unique = name
        while unique in self._taken or not unique:
            unique = f"{unique}#{number}"
        self._taken.add(unique)
        return unique

    def _node(self, layer: Layer) -> onnx.NodeProto:
        written: dict[int, list[str]] = {link.port: [] for link in self._engine.producers(layer)}
        for link in self._engine.producers(layer):
            if link.source not in self._shown:
                written[link.port].append(self._outside(printable(link.tensor), layer.inputs[link.port]))
            elif link.is_loop:
                name = f"{printable(link.tensor)} (iteration before)"
                written[link.port].append(self._outside(name, layer.inputs[link.port]))
            else:
                written[link.port].append(self._values[link.source, link.tensor])
        inputs = []
        for port, tensor in enumerate(layer.inputs):
            if port in written:
                inputs += list(dict.fromkeys(written[port]))
            elif printable(tensor.name) in self._bindings:
                inputs.append(self._outside(printable(tensor.name), tensor))
        outputs = dict.fromkeys(self._values[layer.index, tensor.name] for tensor in layer.outputs)
        if not inputs and not outputs:
            outputs = {"": None}  # a node without ends is not valid; one whose output is left out is
        name = f"{layer.index} {printable(layer.name)}"
        node = self._onnx.helper.make_node(
            layer.kind.value.capitalize(), inputs, list(outputs), name, domain=DOMAIN
        )
        node.attribute.extend(self._attributes(layer))
        return node

    def _outside(self, name: str, tensor: Tensor) -> str:
        """Return an input of the graph; its name must differ from those of values that layers write."""
        if name not in self._inputs:
            while name in self._written:
                name += " (before)"
            self._inputs[name] = tensor
        return name

    def _attributes(self, layer: Layer) -> list[Any]:
        attributes = []
        for column in ALL_COLUMNS:
            value = column.value(self._engine, layer)
            if is_missing(value) or value in ("", ()) or column.name in ("name", "kind"):
                continue
            plain = [printable(name) for name in value] if isinstance(value, tuple) else value
            plain = printable(plain) if isinstance(plain, str) else plain
            plain = float(plain) if isinstance(plain, int) and plain > _LARGEST_INTEGER else plain
            attributes.append(self._onnx.helper.make_attribute(column.name, plain))
        return attributes

    def _info(self, name: str, tensor: Tensor) -> onnx.ValueInfoProto:
        kinds = self._onnx.TensorProto
        known = tensor.dtype and _TYPES.get(tensor.dtype, tensor.dtype.value)
        kind = getattr(kinds, str(known), kinds.UNDEFINED)
        shape = ["?" if extent < 0 else extent for extent in tensor.shape]
        return self._onnx.helper.make_tensor_value_info(name, kind, shape)
