"""Traits of layers that matching looks at: names taken apart, signatures, and the graph without inserted layers.

Names tell nodes of the network, and the layer served, in all spellings of TensorRT:

- Fused layers list their nodes: `a + b`, `a || b`, `PWN(PWN(a), b)`, `a+/b` in Myelin names; `{ForeignNode[a...b]}` tells the
  first and the last.
- Myelin writes `/classifier/classifier_1/Gemm_myl9_2` for the node `/classifier/classifier.1/Gemm`: dots become `_`, and the
  suffix counts kernels of the build. Kernels it generates are called after operators (`__myl_CastMulAdd_myl8_464`): such a
  name tells what is computed, not where.
- Layers that TensorRT put in are called after the layer that they serve: `Reformatting CopyNode for Input Tensor 0 to X`,
  `reshape_before_X`, `copied_squeeze_after_X`, `X_copy_input`.
- A weight names its module, `layer1.0.conv1.weight`, and so does the node of the module, `/layer1/layer1.0/conv1/Conv`. With
  Q/DQ nodes a fused name leads with the weight and numbers nodes anew, so the module may be all that two names share.

Reformats, Q/DQ, NoOps and the like come and go with formats and precisions. They are *passive*: the graph that structure
is judged on goes through them, so that an INT8 engine and an FP16 engine of one network have the same one.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from trex_tui.engine.engine import Engine
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer, Tensor

_PROFILE = re.compile(r" \[profile \d+\]$")
_MYELIN_SUFFIX = re.compile(r"_myl\d*_\d+$")
_MYELIN_NUMBER = re.compile(r"_?_mye\d+(?:_\d+)*")
_GENERIC = re.compile(r"^(?:__my|dummy_shape_call|entry\^|\(Unnamed Layer\* \d+\) \[\w+\]$|signal|wait)")
_ROLE = re.compile(
    r"^(?:Reformatting CopyNode for (?P<side>Input|Output) Tensor (?P<port>\d+) to |"
    r"Reformatting CopyNode for Network (?P<network>Input|Output) |"
    r"(?P<inserted>(?:copied_)?(?:reshape|squeeze|unsqueeze)_(?:node_)?(?:before|after)_))"
)
_COPY = re.compile(r"(?P<role>_copy_(?:input|output)|_clone_\d+| copy| (?:from|to) nvm)$")
_TORCH = re.compile(r"\[[A-Z_]\w*\]-\[[^\[\]]*\]-\[([^\[\]]*)\]")
_UNNAMED = re.compile(r"\(Unnamed Layer\* (\d+)\) \[(\w+)\](?:_output)?")
_SEPARATORS = re.compile(r" \+ |\|\||, |\.\.\.|\+(?=/)|\x1e|\x1f")
_WRAPPERS = re.compile(r"PWN\(|\{ForeignNode\[|\]\}")
_OPERATOR = re.compile(r"([A-Za-z][A-Za-z]*)(?:2D|3D|1D|V\d)?(?:_+\d+)*$")
_LAST_PART = re.compile(r"[/.]")
_LONGEST_OPERATOR = 100
_WEIGHT = re.compile(r"^(?P<owner>.+?)[./](?:weight|bias|kernel|gamma|beta|running_mean|running_var)$")
_HEAVY = re.compile(
    r"(?:conv|gemm|matmul|einsum|attention|linear$|pool|softmax|normalization|norm$|resize|reduce|topk|gather|scatter|concat|"
    r"addmm|mm$|lstm|gru|plugin)",
    re.IGNORECASE,
)

HEAVY, LIGHT, OWNER, CONSTANT = 8.0, 2.0, 3.0, 0.5
"""How much it says that two layers share a node: the one that does the work, another, a module, a constant or Q/DQ node."""


@dataclass(frozen=True, slots=True)
class NameParts:
    """A name, taken apart.

    Attributes:
        canonical: The name without what depends on the build: profile, Myelin's numbers, dots.
        generic: Whether it says only what is computed, so that equal names need not be of the same place.
        role: How an inserted layer serves another: `input 0`, `output 1`, `reshape_before`; empty for other layers.
        served: Canonical name of the layer it serves; empty for other layers.
        nodes: Nodes of the network with their weight, out of the name.
        ends: First and last nodes of a `{ForeignNode[a...b]}`; empty otherwise.
    """

    canonical: str
    generic: bool
    role: str
    served: str
    nodes: dict[str, float]
    ends: tuple[frozenset[str], ...] = ()


def canonical(name: str) -> str:
    """A name without what depends on the build.

    >>> canonical("/classifier/classifier.1/Gemm_myl9_2")
    '/classifier/classifier_1/Gemm'
    """
    name = _MYELIN_SUFFIX.sub("", _PROFILE.sub("", name.strip()))
    return _MYELIN_NUMBER.sub("__mye", name).replace(".", "_")


@lru_cache(maxsize=1 << 18)
def take_apart(name: str) -> NameParts:
    """Take the name of a layer apart. Linear in its length."""
    whole = canonical(name)
    role, rest = _find_role(name)
    served = canonical(rest) if role else ""
    generic = _GENERIC.match(rest) is not None and not _UNNAMED.sub("", rest).strip(" +")
    generic = generic or rest.startswith(("__my", "dummy_shape_call", "entry^"))
    plain = "" if rest.startswith(("__my", "dummy_shape_call", "entry^")) else rest
    ends: tuple[frozenset[str], ...] = ()
    if "{ForeignNode[" in plain and "..." in plain:
        first, _, last = plain.partition("...")
        ends = (frozenset(nodes_in(first)), frozenset(nodes_in(last)))
    return NameParts(whole, generic, role, served, nodes_in(plain), ends)


def _find_role(name: str) -> tuple[str, str]:
    name = _PROFILE.sub("", name.strip())
    match = _ROLE.match(name)
    if match:
        rest = name[match.end() :]
        if match["side"]:
            return f"{match['side'].lower()} {match['port']}", rest
        if match["network"]:
            return f"network {match['network'].lower()}", rest
        return match["inserted"].replace("copied_", "").rstrip("_"), rest
    match = _COPY.search(name)
    return (match["role"].strip(" _"), name[: match.start()]) if match else ("", name)


def nodes_in(name: str) -> dict[str, float]:
    """The nodes that a name lists, in the spelling of `canonical`, and the weight of each.

    >>> sorted(nodes_in("layer1.0.conv1.weight + QuantizeLinear_20 + Conv_22"))
    ['@layer1_0_conv1', 'Conv_22', 'QuantizeLinear_20', 'layer1_0_conv1_weight']
    """
    found: dict[str, float] = {}
    text = _MYELIN_SUFFIX.sub("", name)
    for match in _UNNAMED.finditer(text):
        found[f"(Unnamed {match[1]} {match[2]})"] = CONSTANT
    text = _TORCH.sub(lambda match: match[1], _UNNAMED.sub("", text))
    for part in _SEPARATORS.split(_WRAPPERS.sub("", text)):
        node = part.strip(" ()]}")
        node = _ROLE.sub("", node)
        if node:
            _add_node(found, node)
    return found


def _add_node(found: dict[str, float], node: str) -> None:
    weight = _WEIGHT.match(node)
    if weight:
        found[node.replace(".", "_")] = CONSTANT
        found.setdefault("@" + weight["owner"].strip("/").replace("/", "_").replace(".", "_"), OWNER)
        return
    importance = node_importance(node)
    found[node.replace(".", "_")] = importance
    if importance == HEAVY and "/" in node.lstrip("/"):
        found.setdefault("@" + _owner(node), OWNER)


@lru_cache(maxsize=1 << 18)
def node_importance(node: str) -> float:
    """How much it says that two layers share a node, by its operator."""
    lowered = node.lower()
    if "quantizelinear" in lowered or "_quantizer" in lowered or lowered.startswith(("onnx::", "(unnamed")):
        return CONSTANT
    last = _LAST_PART.split(node[-_LONGEST_OPERATOR:])[-1]
    operator = _OPERATOR.search(last)
    word = operator[1] if operator else last
    if word.lower().startswith(("constant", "shape", "identity")):
        return CONSTANT
    return HEAVY if _HEAVY.search(last) else LIGHT


def _owner(node: str) -> str:
    """The module of a node, as its weights are called: `/layer1/layer1.0/conv1/Conv` is of `layer1_0_conv1`."""
    kept: list[str] = []
    for part in [part for part in node.split("/") if part][:-1]:
        if kept and (part == kept[-1] or part.startswith(kept[-1] + ".")):
            kept[-1] = part
        else:
            kept.append(part)
    return "_".join(kept).replace(".", "_")


def parse_nodes(metadata: tuple[str, ...]) -> dict[str, float]:
    """The nodes that `Metadata` lists, in the spelling of `canonical`, their modules, and the weight of each."""
    found: dict[str, float] = {}
    for name in metadata:
        node = canonical(name)
        if node:
            found[node] = node_importance(name)
            if found[node] == HEAVY and "/" in name.lstrip("/"):
                found.setdefault("@" + _owner(name), OWNER)
    return found


_PASSIVE = frozenset(
    {
        LayerKind.REFORMAT,
        LayerKind.NOOP,
        LayerKind.QUANTIZE,
        LayerKind.SYNC,
        LayerKind.SHAPE,
        LayerKind.CONSTANT,
    }
)
_WILD = frozenset({LayerKind.MYELIN, LayerKind.FUSED, LayerKind.OTHER, LayerKind.PLUGIN})
_FAMILIES = {
    LayerKind.CONVOLUTION: "multiply",
    LayerKind.GEMM: "multiply",
    LayerKind.ATTENTION: "attention",
    LayerKind.POOLING: "reduce",
    LayerKind.REDUCTION: "reduce",
    LayerKind.SOFTMAX: "reduce",
}
_ATTRIBUTES = (
    "Kernel",
    "Stride",
    "Dilation",
    "Groups",
    "OutMaps",
    "PoolingType",
    "WindowSize",
    "Axes",
    "Mode",
)
_CORE_ATTRIBUTES = ("Kernel", "Groups", "OutMaps", "WindowSize")
MOST_NEIGHBOURS = 64
"""Through passive layers a layer sees at most so many others: a wide fan through a copy does not tell layers apart."""


@dataclass(frozen=True, slots=True)
class Trait:
    """A layer, as matching sees it.

    Attributes:
        parts: Its name, taken apart.
        nodes: Nodes of the network, with weights: out of `Metadata`, else out of the name.
        stated: Whether `Metadata` states them.
        generic: Whether its name says only what it does, so that equal names need not be of the same place.
        passive: Whether it is there for the sake of formats, precision or order, not of the network.
        family: What kind of work it is; empty if that cannot be told, which fits all.
        signature: Kind of work, shapes without the batch, and attributes.
        loose: The same without the shapes of the inputs, of which a fused sum adds one.
        core: What two builds of one layer have in common even at other resolutions.
    """

    parts: NameParts
    nodes: dict[str, float]
    stated: bool
    generic: bool
    passive: bool
    family: str
    signature: Hashable
    loose: Hashable
    core: Hashable


class Traits:
    """An engine, as matching sees it. Everything is linear in the size of the engine.

    Attributes:
        of: Per layer.
        before, after: Per layer, the layers it reads from and is read by, through passive ones.
        order: Per layer, its place in an order in which writers come before readers.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.batch = find_batch(engine)
        self.of = [self._trait(layer) for layer in engine.layers]
        self.order = _order(engine)
        self.before, self.after = self._contract()

    def __len__(self) -> int:
        return len(self.of)

    def _trait(self, layer: Layer) -> Trait:
        parts = take_apart(layer.name)
        stated = parse_nodes(layer.onnx_nodes)
        passive = layer.kind in _PASSIVE
        family = "" if layer.kind in _WILD else _FAMILIES.get(layer.kind, "other")
        signature, loose = self._signatures(layer, family)
        generic = parts.generic or layer.kind in (LayerKind.SYNC, LayerKind.SHAPE)
        nodes = stated or parts.nodes
        return Trait(
            parts, nodes, bool(stated), generic, passive, family, signature, loose, _core(layer, family)
        )

    def _signatures(self, layer: Layer, family: str) -> tuple[Hashable, Hashable]:
        if layer.layer_type is None:
            return None, None
        kind = family if family not in ("", "other") else layer.kind.value
        loose = (kind, self._shapes(layer.outputs), _attributes(layer, _ATTRIBUTES))
        return (loose, self._shapes(layer.data_inputs)), loose

    def _shapes(self, tensors: Sequence[Tensor]) -> tuple[tuple[int, ...], ...]:
        return tuple(sorted(_inner(tensor.shape, self.batch) for tensor in tensors))

    def _contract(self) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
        count = len(self.of)
        into: list[list[int]] = [[] for _ in range(count)]
        out: list[list[int]] = [[] for _ in range(count)]
        for link in self.engine.links:
            into[link.target].append(link.source)
            out[link.source].append(link.target)
        forth = sorted(range(count), key=self.order.__getitem__)
        return self._through(into, forth), self._through(out, reversed(forth))

    def _through(self, near: list[list[int]], sequence: Iterable[int]) -> list[tuple[int, ...]]:
        seen: list[tuple[int, ...]] = [()] * len(self.of)
        for place in sequence:
            found: dict[int, None] = {}
            for other in near[place]:
                if other != place:
                    found.update(dict.fromkeys(seen[other] if self.of[other].passive else (other,)))
            seen[place] = tuple(found)[:MOST_NEIGHBOURS] if self.of[place].passive else tuple(found)
        return seen


def fits(one: Trait, other: Trait) -> bool:
    """Whether two layers can do the same work at all."""
    return not one.family or not other.family or one.family == other.family


def same_core(one: Trait, other: Trait) -> bool:
    """Whether two layers look like two builds of one; True where there is too little to tell."""
    return fits(one, other) and (one.core is None or other.core is None or one.core == other.core)


def find_batch(engine: Engine) -> int | None:
    """Samples of one inference: the first extent that all inputs of several dimensions share; None if they do not tell."""
    extents = {
        binding.shape[0]
        for binding in engine.bindings
        if binding.is_input and binding.shape and len(binding.shape) > 1
    }
    found = extents.pop() if len(extents) == 1 else None
    return found if found is not None and found > 0 else None


@lru_cache(maxsize=1 << 18)
def _inner(shape: tuple[int, ...], batch: int | None) -> tuple[int, ...]:
    if len(shape) > 1 and (batch is None or shape[0] in (batch, -1)):
        shape = shape[1:]
    end = len(shape)
    while end and shape[end - 1] == 1:
        end -= 1
    return shape[:end]


def _attributes(layer: Layer, keys: Sequence[str]) -> tuple[tuple[str, Hashable], ...]:
    found = layer.attributes
    return tuple((key, _hashable(found[key])) for key in keys if key in found)


def _hashable(value: Any) -> Hashable:  # noqa: ANN401
    if isinstance(value, list):
        return tuple(_hashable(item) for item in value)
    return value if isinstance(value, (str, int, float, bool)) else repr(value)


def _core(layer: Layer, family: str) -> Hashable:
    if family != "multiply" or layer.kind is not LayerKind.CONVOLUTION:
        return None
    return _attributes(layer, _CORE_ATTRIBUTES) or None


def _order(engine: Engine) -> list[int]:
    """Execution order where it puts writers before readers, else a topological order, earliest in the file first."""
    count = len(engine.layers)
    if not any(link.is_loop for link in engine.links):
        return list(range(count))
    waiting = [0] * count
    out: list[list[int]] = [[] for _ in range(count)]
    for link in engine.links:
        if link.source != link.target:
            waiting[link.target] += 1
            out[link.source].append(link.target)
    ready = [index for index in range(count) if not waiting[index]]
    order = [-1] * count
    done = 0
    while ready:
        place = heapq.heappop(ready)
        order[place] = done
        done += 1
        for other in out[place]:
            waiting[other] -= 1
            if not waiting[other]:
                heapq.heappush(ready, other)
    for place in range(count):  # cycles
        if order[place] < 0:
            order[place] = done
            done += 1
    return order
