"""Find the nodes of a model in the names of layers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from trex_tui.old.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from trex_tui.old.analysis.onnx_model.model import OnnxModel

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
_MOST_SPLITS = 16


@dataclass(frozen=True, slots=True)
class StatedNodes:
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


class NameIndex:
    """Finds nodes by the names that TensorRT gives to layers and tensors."""

    def __init__(self, model: OnnxModel) -> None:
        self._model = model
        self._nodes = model.by_name
        self._spelled: dict[str, tuple[int, ...]] = {}
        for name, indices in self._nodes.items():
            self._spelled[_spell(name)] = self._spelled.get(_spell(name), ()) + indices
        self._tensors: dict[str, str] = {}
        for tensor in model.tensors:
            self._tensors.setdefault(_spell(tensor), tensor)

    def read_metadata(self, names: Iterable[str]) -> StatedNodes:
        """Return the nodes that `Metadata` lists."""
        return _gather((name, self._find(name)) for name in names)

    def read_name(self, name: str) -> StatedNodes:
        """Return the nodes that a name lists; none for a layer inserted by TensorRT."""
        name = _PROFILE.sub("", name.strip())
        if _BLOCK in name and not _INSERTED.search(name):
            return self._read_block(name)
        exact = self._nodes.get(name)
        if exact:
            return StatedNodes(exact, found=(name,))
        if _INSERTED.search(name):
            return StatedNodes()
        plain = _MYELIN.sub("", name)
        stated = _gather(self._parts(plain))
        if plain == name:
            return stated
        return StatedNodes(stated.nodes, is_generated=True, found=stated.found, missing=stated.missing)

    def find_tensor(self, name: str) -> str | None:
        """Return the tensor of the model for a tensor of the engine; Myelin replaces dots.

        Names such as `X'.1_2` identify memory that holds X at another time: they are not tensors of the model.
        """
        return name if name in self._model.tensors else self._tensors.get(_spell(name))

    def _read_block(self, name: str) -> StatedNodes:
        before, _, rest = name.partition(_BLOCK)
        inside, _, after = rest.rpartition("]}")
        others = _gather([*self._parts(before), *self._parts(after)])
        places = [match.start() for match in re.finditer(r"\.\.\.", inside)][:_MOST_SPLITS]
        best = StatedNodes(is_block=True)
        for place in places:
            first, last = (_gather(self._parts(part)) for part in (inside[:place], inside[place + 3 :]))
            # A constant at the start: the block begins with its readers.
            starts = first.nodes or self._readers(first.found)
            block = StatedNodes(
                tuple(dict.fromkeys((*others.nodes, *first.nodes, *last.nodes))),
                starts,
                last.nodes,
                is_block=True,
                found=(*others.found, *first.found, *last.found),
                missing=(*others.missing, *first.missing, *last.missing),
            )
            if (
                len(block.missing) - len(block.found) < len(best.missing) - len(best.found)
                or place == places[0]
            ):
                best = block
        if not places:
            parts = _gather(self._parts(inside))
            return StatedNodes(
                parts.nodes, parts.nodes, parts.nodes, is_block=True, found=parts.found, missing=parts.missing
            )
        return best

    def _readers(self, names: Iterable[str]) -> tuple[int, ...]:
        tensors = filter(None, map(self.find_tensor, names))
        return tuple(
            dict.fromkeys(node for tensor in tensors for node in self._model.readers.get(tensor, ()))
        )

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
        if not name:
            return None
        nodes = self._nodes.get(name) or self._spelled.get(_spell(name))
        if nodes is not None:
            return nodes
        if name in self._model.initializers:
            return ()
        base = _COUNTER.sub("", name)  # further layers of one node
        return self._nodes.get(base) if base != name else None


def _spell(name: str) -> str:
    return name.replace(".", "_")


def _gather(parts: Iterable[tuple[str, tuple[int, ...] | None]]) -> StatedNodes:
    nodes: dict[int, None] = {}
    found, missing = [], []
    for name, indices in parts:
        if indices is None:
            missing.append(name)
        else:
            found.append(name)
            nodes.update(dict.fromkeys(indices))
    return StatedNodes(tuple(nodes), found=tuple(found), missing=tuple(missing))
