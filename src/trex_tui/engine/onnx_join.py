"""The ONNX nodes of each layer: stated by its metadata or its name, or found along the paths of the model.

A closed block (`{ForeignNode[a...b]}`) names its ends only. Its nodes are those that no other layer claims, from its outputs
back to its inputs. Where its tensors are not in the model they are those connected with its ends.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Engine, Port
from trex_tui.engine.onnx_model import (
    MULTIPLYING,
    Initializer,
    OnnxModel,
    OnnxNode,
    Shapes,
    count_macs,
    infer_shapes,
    read_model,
)
from trex_tui.errors import ArtifactError, Note, Severity, TrexError
from trex_tui.frames import INT, text_array

_LEAST_SHARE = 0.5
_MOST_STEPS = 8
"""Reformats that are followed from a layer to a tensor of the model."""
_MOST_NAMED = 3
_LEAST_TENSORS = 3
"""Tensors by which a model without a common name with the layers is recognized."""
_IDENTITIES = ("Identity", "Dropout")
"""Operators that return their input unchanged: TensorRT removes them."""
_INSERTED_KINDS = {
    kind.value
    for kind in (LayerKind.REFORMAT, LayerKind.NOOP, LayerKind.SYNC, LayerKind.SHAPE, LayerKind.CONSTANT)
}


@dataclass(frozen=True, eq=False)
class OnnxJoin:
    """A model joined to an engine.

    Attributes:
        layers: A row per layer: nodes (indices in the model), onnx_evidence (`metadata`, `name`, `range` for a closed block
            between its ends, `tensors` for a layer found by what it reads and writes), doubtful (nodes that may be in another
            closed block as well), onnx_ops, onnx_macs, onnx_params, onnx_params_bytes.
        found, stated: How many different names of layers the model has, of how many.
        missing: Names that it has not.
        folded: Nodes that TensorRT computes while it builds: they depend on constants and shapes only.
        unplaced: Nodes in no layer.
    """

    model: OnnxModel
    shapes: Shapes
    layers: pd.DataFrame
    found: int
    stated: int
    missing: tuple[str, ...]
    folded: tuple[int, ...]
    unplaced: tuple[int, ...]

    @cached_property
    def holders(self) -> Mapping[int, tuple[int, ...]]:
        """Node -> its layers; without nodes that are in no layer."""
        holders: dict[int, list[int]] = {}
        for layer, nodes in enumerate(self.layers["nodes"]):
            for node in nodes:
                holders.setdefault(node, []).append(layer)
        return {node: tuple(layers) for node, layers in holders.items()}

    def nodes(self, layer: int) -> list[OnnxNode]:
        """Return the nodes of a layer, in the order of the model."""
        return [self.model.nodes[index] for index in self.layers["nodes"].tolist()[layer]]


def join_onnx(engine: Engine, path: Path) -> Engine:
    """Return the engine with the nodes of a model at its layers. A model that cannot be used adds an error to the notes."""
    try:
        join = join_model(engine, read_model(path))
    except ArtifactError as error:
        return replace(engine, notes=(*engine.notes, error.note))
    except TrexError as error:
        return replace(engine, notes=(*engine.notes, Note(Severity.ERROR, path, "", str(error))))
    names = [node.name for node in join.model.nodes]
    nodes = [
        known or tuple(dict.fromkeys(names[index] for index in found))
        for known, found in zip(engine.layers["onnx_nodes"], join.layers["nodes"], strict=True)
    ]
    layers = engine.layers.assign(onnx_nodes=pd.Series(nodes, dtype=object))
    notes = tuple(Note(severity, path, "", text) for severity, text in _describe_doubts(join))
    return replace(engine, layers=layers, onnx=join, notes=(*engine.notes, *notes))


def _describe_doubts(join: OnnxJoin) -> Iterator[tuple[Severity, str]]:
    """Yield the doubts about a join, with their extent."""
    if join.shapes.reason:
        yield Severity.WARNING, join.shapes.reason
    if join.missing:
        count = f"{join.stated - join.found} of {join.stated} names of layers"
        yield Severity.INFO, f"{count} are not in the model: {_list_some(join.missing)}"
    lost = [
        join.model.nodes[index].name for index in join.unplaced if join.model.nodes[index].op in MULTIPLYING
    ]
    if lost:
        what = f"{len(lost)} convolutions and matrix products of the model are in no layer"
        yield Severity.WARNING, f"{what}; is it another version? {_list_some(lost)}"
    doubtful = [nodes for nodes in join.layers["doubtful"] if nodes]
    if doubtful:
        count = f"{len(set().union(*doubtful))} nodes may be in any of {len(doubtful)} closed blocks"
        yield Severity.INFO, f"{count}; each block lists them"


def _list_some(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMED]) + (" …" if len(names) > _MOST_NAMED else "")


def join_model(engine: Engine, model: OnnxModel) -> OnnxJoin:
    """Find the nodes of each layer.

    Raises:
        ArtifactError: The model does not belong to the engine.
    """
    index = _NameIndex(model)
    rows = zip(engine.layers["name"], engine.layers["onnx_nodes"], strict=True)
    stated = [index.read_metadata(nodes) if nodes else index.read_name(name) for name, nodes in rows]
    found = dict.fromkeys(name for layer in stated for name in layer.found)
    missing = dict.fromkeys(name for layer in stated for name in layer.missing)
    total = len(found) + len(missing)
    shapes = infer_shapes(model, dict(zip(engine.bindings["name"], engine.bindings["shape"], strict=True)))
    if (not found or len(found) < _LEAST_SHARE * total) and not _has_its_tensors(engine, shapes):
        share = f"{len(found)} of {total} node names" + (
            f" ({100 * len(found) / total:.0f} %)" if total else ""
        )
        message = f"the model has {share} of its layers; give the model it was built from"
        raise ArtifactError(model.path, f"does not belong to {engine.name}: {message}")
    placed = _Placement(engine, model, shapes, index, stated).place()
    constants = shapes.constants
    in_layers = {node for layer in placed for node in layer.nodes}
    others = [node for node in model.nodes if node.index not in in_layers]
    folded = {
        node.index
        for node in others
        if node.outputs and all(name in constants for name in node.outputs if name)
    }
    heavy = [node.index for node in model.nodes if node.op in MULTIPLYING and node.index not in folded]
    known = sum(node in in_layers for node in heavy)
    if known < _LEAST_SHARE * len(heavy):
        share = f"{known} of {len(heavy)} convolutions and matrix products ({100 * known / len(heavy):.0f} %)"
        message = f"{share} of the model are in its layers; give the model it was built from"
        raise ArtifactError(model.path, f"does not belong to {engine.name}: {message}")
    unplaced = tuple(node.index for node in others if node.index not in folded)
    layers = _layers_frame(model, shapes, placed)
    return OnnxJoin(model, shapes, layers, len(found), total, tuple(missing), tuple(sorted(folded)), unplaced)


def _has_its_tensors(engine: Engine, shapes: Shapes) -> bool:
    """Return whether the model has the tensors that layers compute, with their shapes.

    Inputs and outputs of the network do not count: many models call them alike.
    """
    tensors = engine.tensors
    computes = ~tensors["layer"].map(engine.layers["kind"]).isin(_INSERTED_KINDS)
    rows = tensors[computes & tensors["role"].eq("output") & ~tensors["name"].isin(engine.bindings["name"])]
    computed = dict(zip(rows["name"], rows["shape"], strict=True))
    alike = sum(len(shape) > 1 and shape == shapes.extents.get(name, ()) for name, shape in computed.items())
    return bool(alike >= max(_LEAST_TENSORS, _LEAST_SHARE * len(computed)))


def _layers_frame(model: OnnxModel, shapes: Shapes, placed: Sequence[_LayerNodes]) -> pd.DataFrame:
    sources = _weight_sources(model, shapes)
    rows: list[list[OnnxNode]] = [[model.nodes[index] for index in layer.nodes] for layer in placed]
    weights: list[list[Initializer]] = [
        model.unique_weights(
            sorted({name for node in nodes for tensor in node.inputs for name in sources.get(tensor, ())})
        )
        for nodes in rows
    ]
    counts = [Counter(node.op for node in nodes) for nodes in rows]
    ops = [tuple(sorted(count, key=lambda op: (-count[op], op))) or None for count in counts]
    numbers: dict[str, list[int | None]] = {
        "onnx_macs": [count_macs(nodes, shapes) if nodes else None for nodes in rows],
        "onnx_params": [sum(item.elements for item in items) for items in weights],
        "onnx_params_bytes": [sum(item.bytes for item in items) for items in weights],
    }
    has_nodes = pd.Series([bool(nodes) for nodes in rows], dtype=bool)
    return pd.DataFrame(
        {
            "nodes": pd.Series([layer.nodes for layer in placed], dtype=object),
            "doubtful": pd.Series([layer.doubtful for layer in placed], dtype=object),
            "onnx_evidence": text_array(layer.evidence or None for layer in placed),
            "onnx_ops": pd.Series(ops, dtype=object),
            **{key: pd.Series(pd.array(values, INT)).where(has_nodes) for key, values in numbers.items()},
        }
    )


def _weight_sources(model: OnnxModel, shapes: Shapes) -> dict[str, frozenset[str]]:
    """Return constant tensor -> the initializers it is computed from."""
    sources: dict[str, frozenset[str]] = {name: frozenset((name,)) for name in model.initializers}
    for node in model.nodes:
        parts = [sources[tensor] for tensor in node.inputs if tensor in sources]
        if parts and any(tensor in shapes.constants for tensor in node.outputs):
            sources.update(dict.fromkeys(node.outputs, frozenset().union(*parts)))
    return sources


# Nodes in the names of layers

_PROFILE = re.compile(r" \[profile \d+\]$")
_MYELIN = re.compile(r"_myl\d+_\d+$")
_BLOCK = "{ForeignNode["
_SEPARATORS = re.compile(r"( \+ |\|\||, ?|\+(?=/)|\x1e|\x1f)")
_HELPERS = re.compile(
    r"\(Unnamed Layer\* \d+\)(?: \[\w+\])?(?:_output)?|ONNXTRT_\w+|__my|dummy_shape_call|entry\^|signal|wait"
)
_INSERTED = re.compile(
    r"^(?:Reformatting CopyNode for |(?:copied_)?(?:reshape|squeeze|unsqueeze)_(?:node_)?(?:before|after)_)"
    r"|(?:_copy_(?:input|output)|_clone_\d+| copy| (?:from|to) nvm)$"
)
"""Layers inserted by TensorRT are named after the layer that they serve."""
_COUNTER = re.compile(r"_\d+$")
_LONGEST_RUN = 8
"""Parts of a name that are tried as one: the name of a node may contain a separator."""


class _StatedNodes(NamedTuple):
    """Nodes in the name of a layer, or in its metadata.

    Attributes:
        nodes: Nodes of the model.
        first, last: For a closed block: nodes of its first and its last name.
        is_block: Whether the layer is a closed block, which names its ends only.
        is_generated: Whether Myelin generated the layer: its name may omit nodes.
        found, missing: Names that are in the model, and names that are not.
    """

    nodes: tuple[int, ...] = ()
    first: tuple[int, ...] = ()
    last: tuple[int, ...] = ()
    is_block: bool = False
    is_generated: bool = False
    found: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class _NameIndex:
    """Finds nodes by the names that TensorRT gives to layers and tensors."""

    def __init__(self, model: OnnxModel) -> None:
        self._model = model
        self._spelled: dict[str, tuple[int, ...]] = {}
        for name, indices in model.by_name.items():
            self._spelled[_spell(name)] = self._spelled.get(_spell(name), ()) + indices
        self._tensors = {_spell(tensor): tensor for tensor in sorted(model.tensors, reverse=True)}

    def read_metadata(self, names: Iterable[str]) -> _StatedNodes:
        """Return the nodes that `Metadata` lists."""
        return _gather((name, self._find(name)) for name in names)

    def read_name(self, name: str) -> _StatedNodes:
        """Return the nodes that a name lists; none for a layer inserted by TensorRT."""
        name = _PROFILE.sub("", name.strip())
        if _BLOCK in name and not _INSERTED.search(name):
            return self._read_block(name)
        if exact := self._model.by_name.get(name):
            return _StatedNodes(exact, found=(name,))
        if _INSERTED.search(name):
            return _StatedNodes()
        plain = _MYELIN.sub("", name)
        return _gather(self._parts(plain))._replace(is_generated=plain != name)

    def find_tensor(self, name: str) -> str | None:
        """Return the tensor of the model for a tensor of the engine; Myelin replaces dots.

        Names such as `X'.1_2` identify memory that holds X at another time: they are not tensors of the model.
        """
        return name if name in self._model.tensors else self._tensors.get(_spell(name))

    def _read_block(self, name: str) -> _StatedNodes:
        before, _, rest = name.partition(_BLOCK)
        inside, _, after = rest.rpartition("]}")
        start, dots, end = inside.partition("...")
        first = _gather(self._parts(start))
        last = _gather(self._parts(end)) if dots else first
        both = _gather(part for text in (before, after, start, end) for part in self._parts(text))
        # A constant at the start: the block begins with its readers.
        tensors = filter(None, map(self.find_tensor, first.found))
        readers = tuple(node for tensor in tensors for node in self._model.readers.get(tensor, ()))
        return both._replace(first=first.nodes or readers, last=last.nodes, is_block=True)

    def _parts(self, name: str) -> Iterator[tuple[str, tuple[int, ...] | None]]:
        """Yield the names that a name consists of, with their nodes; None for a name that the model does not have."""
        pieces = _SEPARATORS.split(name.replace("PWN(", "").strip("{}"))
        position = 0
        while position < len(pieces):
            for end in range(min(len(pieces), position + 2 * _LONGEST_RUN - 1), position, -1):
                text = "".join(pieces[position:end]).strip(" ")
                nodes = self._find(text)
                if nodes is None and text.endswith(")"):
                    text = text.rstrip(")")
                    nodes = self._find(text)
                if nodes is not None:
                    yield text, nodes
                    position = end
                    break
            else:
                text = pieces[position].strip(" ()")
                if text and not _HELPERS.search(text) and not _SEPARATORS.fullmatch(pieces[position]):
                    yield text, None
                position += 1

    def _find(self, name: str) -> tuple[int, ...] | None:
        """Return the nodes of a name, none for a constant; None if the model has neither."""
        by_name = self._model.by_name
        nodes = (by_name.get(name) or self._spelled.get(_spell(name))) if name else None
        if nodes is not None or not name:
            return nodes
        if name in self._model.initializers:
            return ()
        base = _COUNTER.sub("", name)  # further layers of one node
        return by_name.get(base) if base != name else None


def _spell(name: str) -> str:
    return name.replace(".", "_")


def _gather(parts: Iterable[tuple[str, tuple[int, ...] | None]]) -> _StatedNodes:
    known = list(parts)
    nodes = dict.fromkeys(node for _, indices in known for node in indices or ())
    found = tuple(name for name, indices in known if indices is not None)
    return _StatedNodes(
        tuple(nodes), found=found, missing=tuple(name for name, indices in known if indices is None)
    )


# Nodes that no layer states


class _LayerNodes(NamedTuple):
    """The nodes of a layer, in the order of the model, and of a closed block those that are in another one as well."""

    nodes: tuple[int, ...] = ()
    evidence: str = ""
    doubtful: tuple[int, ...] = ()


class _Placement:
    """Assigns the nodes that no layer states: those between the tensors that a layer reads and writes, or between the ends
    of a closed block.
    """

    def __init__(
        self,
        engine: Engine,
        model: OnnxModel,
        shapes: Shapes,
        index: _NameIndex,
        stated: Sequence[_StatedNodes],
    ) -> None:
        self._engine, self._model, self._index, self._stated = engine, model, index, stated
        self._kinds = engine.layers["kind"].tolist()
        self._into: list[dict[str, int]] = [{} for _ in stated]
        self._out_of: list[dict[str, int]] = [{} for _ in stated]
        links = engine.links[["source", "target", "tensor"]]
        for source, target, tensor in links.itertuples(index=False, name=None):
            self._into[target].setdefault(tensor, source)
            self._out_of[source].setdefault(tensor, target)
        self._ends = {node for layer in stated if layer.is_block for node in layer.nodes}
        claimed = {node for layer in stated if not layer.is_block for node in layer.nodes}
        self._open = {
            node.index
            for node in model.nodes
            if node.index in self._ends - claimed
            or (node.index not in claimed and not shapes.constants.issuperset(filter(None, node.outputs)))
        }

    def place(self) -> list[_LayerNodes]:
        """Return the nodes of each layer."""
        layers = []
        for nodes, stated in zip(self._engine.layers["onnx_nodes"], self._stated, strict=True):
            evidence = ("metadata" if nodes else "name") if stated.nodes else ""
            layers.append(_LayerNodes(tuple(sorted(stated.nodes)), evidence))
        for layer, stated in enumerate(self._stated):
            is_open = stated.is_generated or (self._is_unknown(layer) and self._knows_tensors(layer))
            if is_open and layers[layer].evidence != "metadata":
                added = self._without_identities(self._between(layer, (), self._open - self._ends))
                self._open -= added
                evidence = "name" if stated.nodes else "tensors" if added else ""
                layers[layer] = _LayerNodes(tuple(sorted(added.union(stated.nodes))), evidence)
        blocks = {}
        for layer, stated in enumerate(self._stated):
            if stated.is_block:
                if self._knows_tensors(layer):
                    inside = self._between(layer, stated.last, self._open)
                else:
                    ahead = _reach(stated.first, self._model.targets, self._open)
                    inside = _reach(stated.last, self._model.sources, self._open) & ahead
                blocks[layer] = self._without_identities(inside).union(stated.nodes)
        counts = Counter(node for nodes in blocks.values() for node in nodes)
        for layer, nodes in blocks.items():
            doubtful = (node for node in nodes if counts[node] > 1)
            evidence = "range" if nodes else ""
            layers[layer] = _LayerNodes(tuple(sorted(nodes)), evidence, tuple(sorted(doubtful)))
        return layers

    def _without_identities(self, nodes: set[int]) -> set[int]:
        return {node for node in nodes if self._model.nodes[node].op not in _IDENTITIES}

    def _between(self, layer: int, starts: Iterable[int], allowed: Collection[int]) -> set[int]:
        """Return allowed nodes from the outputs of a layer, and some nodes, back to its inputs."""
        inputs, writers = self._names(layer, forward=False), self._model.writers
        outputs = self._names(layer, forward=True) - inputs

        def before(node: int) -> Iterator[int]:
            read = self._model.nodes[node].inputs
            return (writers[tensor] for tensor in read if tensor in writers and tensor not in inputs)

        return _reach(
            (*(writers[tensor] for tensor in outputs if tensor in writers), *starts), before, allowed
        )

    def _is_unknown(self, layer: int) -> bool:
        """Return whether a layer computes something and has only names that the model does not have."""
        stated = self._stated[layer]
        is_unknown = bool(stated.missing) and not stated.found and not stated.is_block
        return is_unknown and self._kinds[layer] not in _INSERTED_KINDS

    def _knows_tensors(self, layer: int) -> bool:
        """Return whether the model has all outputs of a layer, an input, and all its inputs from other layers."""
        written = {port.name for port in self._engine.outputs[layer]}
        return (
            bool(written and self._names(layer, forward=False))
            and len(self._names(layer, forward=True)) == len(written)
            and all(self._find_name(layer, tensor, forward=False) is not None for tensor in self._into[layer])
        )

    def _names(self, layer: int, *, forward: bool) -> set[str]:
        """Return the tensors of the model that a layer reads (with `forward`, writes), looking through reformats."""
        ports: list[Port] = (self._engine.outputs if forward else self._engine.inputs)[layer]
        names = {self._find_name(layer, port.name, forward=forward) for port in ports}
        return {name for name in names if name is not None and name not in self._model.initializers}

    def _find_name(self, layer: int, tensor: str, *, forward: bool) -> str | None:
        """Return the name in the model of a layer's tensor, or of what it is before (with `forward`, after) reformats."""
        name = self._index.find_tensor(tensor)
        for _ in range(_MOST_STEPS):
            other = (self._out_of if forward else self._into)[layer].get(tensor)
            if name is not None or other is None:
                return name
            stated, layer = self._stated[other], other
            data: list[Port] = self._engine.outputs[layer]
            if not forward:
                data = [port for port in self._engine.inputs[layer] if not port.is_constant]
            if stated.nodes or stated.is_block or self._is_unknown(other) or len(data) != 1:
                return None
            tensor = data[0].name
            name = self._index.find_tensor(tensor)
        return name


def _reach(
    starts: Iterable[int], neighbours: Callable[[int], Iterable[int]], allowed: Collection[int]
) -> set[int]:
    waiting, seen = list(starts), set()
    while waiting:
        node = waiting.pop()
        if node not in seen and node in allowed:
            seen.add(node)
            waiting += neighbours(node)
    return seen
