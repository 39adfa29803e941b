"""What the name of a layer tells of the network: its nodes, and the layer it serves, over all spellings of TensorRT.

- Fused layers list their nodes: `a + b`, `a || b`, `PWN(PWN(a), b)`, `a+/b` in Myelin names; `{ForeignNode[a...b]}` tells the
  first and the last.
- Myelin writes `/classifier/classifier_1/Gemm_myl9_2` for the node `/classifier/classifier.1/Gemm`: dots become `_`, and the
  suffix counts kernels of the build. Kernels it generates are called after operators (`__myl_CastMulAdd_myl8_464`): such a
  name tells what is computed, not where.
- Layers that TensorRT put in are called after the layer that they serve: `Reformatting CopyNode for Input Tensor 0 to X`,
  `reshape_before_X`, `copied_squeeze_after_X`, `X_copy_input`.
- A weight names its module, `layer1.0.conv1.weight`, and so does the node of the module, `/layer1/layer1.0/conv1/Conv`. With
  Q/DQ nodes a fused name leads with the weight and numbers nodes anew, so the module may be all that two names share.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

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
    role, rest = _role_of(name)
    served = canonical(rest) if role else ""
    generic = _GENERIC.match(rest) is not None and not _UNNAMED.sub("", rest).strip(" +")
    generic = generic or rest.startswith(("__my", "dummy_shape_call", "entry^"))
    plain = "" if rest.startswith(("__my", "dummy_shape_call", "entry^")) else rest
    ends: tuple[frozenset[str], ...] = ()
    if "{ForeignNode[" in plain and "..." in plain:
        first, _, last = plain.partition("...")
        ends = (frozenset(nodes_in(first)), frozenset(nodes_in(last)))
    return NameParts(whole, generic, role, served, nodes_in(plain), ends)


def _role_of(name: str) -> tuple[str, str]:
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
    importance = importance_of(node)
    found[node.replace(".", "_")] = importance
    if importance == HEAVY and "/" in node.lstrip("/"):
        found.setdefault("@" + _owner(node), OWNER)


@lru_cache(maxsize=1 << 18)
def importance_of(node: str) -> float:
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


def nodes_of(metadata: tuple[str, ...]) -> dict[str, float]:
    """The nodes that `Metadata` lists, in the spelling of `canonical`, their modules, and the weight of each."""
    found: dict[str, float] = {}
    for name in metadata:
        node = canonical(name)
        if node:
            found[node] = importance_of(name)
            if found[node] == HEAVY and "/" in name.lstrip("/"):
                found.setdefault("@" + _owner(name), OWNER)
    return found
