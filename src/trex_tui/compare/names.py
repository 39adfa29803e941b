r"""Names of layers and ONNX nodes, in a form that two engines of one network share.

Names list nodes of the network, and the layer that is served, in the spellings of TensorRT versions and exporters:

- Fused layers list their nodes: `a + b`, `a || b`, `PWN(PWN(a), b)`, `a+/b` in Myelin names; `{ForeignNode[a...b]}` has the
  first and the last.
- Myelin writes `/classifier/classifier_1/Gemm_myl9_2` for the node `/classifier/classifier.1/Gemm`: dots become `_`, and the
  suffix counts kernels of the build. Generated kernels are named after operators (`__myl_CastMulAdd_myl8_464`): such a name
  describes the computation, not the position.
- Layers inserted by TensorRT are named after the layer that they serve: `Reformatting CopyNode for Input Tensor 0 to X`,
  `reshape_before_X`, `copied_squeeze_after_X`, `X_copy_input`.
- PyTorch repeats modules, `/layer1/layer1.0/conv1/Conv` is `/layer1/0/conv1/Conv`, and wraps them: `module`, `_orig_mod`;
  TensorFlow writes `quant_conv1` for a quantized `conv1`.
- A weight names its module, `layer1.0.conv1.weight`, and so does the node of the module, `/layer1/layer1.0/conv1/Conv`. With
  Q/DQ nodes a fused name begins with the weight and numbers nodes anew, so two names may share only the module.
- A number does not identify a position in the network: `Conv_22` of one export may be `Conv_34` of the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from trex_tui.engine.regex import BadRegexError, compile_regex, longest_text
from trex_tui.errors import TrexError

_PROFILE = re.compile(r" \[profile \d+\]$")
_MYELIN_SUFFIX = re.compile(r"_myl\d*_\d+$")
_MYELIN_GRAPH = re.compile(r"_myl(\d+)_\d+$")
_MYELIN_NUMBER = re.compile(r"_?_mye\d+(?:_\d+)*")
_GENERIC = re.compile(r"^(?:__my|dummy_shape_call|entry\^|\(Unnamed Layer\* \d+\) \[\w+\]$|signal|wait)")
_GENERATED = ("__my", "dummy_shape_call", "entry^")
_ROLE = re.compile(
    r"^(?:Reformatting CopyNode for (?P<side>Input|Output) Tensor (?P<port>\d+) to |"
    r"Reformatting CopyNode for Network (?P<network>Input|Output) |"
    r"(?P<inserted>(?:copied_)?(?:reshape|squeeze|unsqueeze)_(?:node_)?(?:before|after)_))"
)
_COPY = re.compile(r"(?P<role>_copy_(?:input|output)|_clone_\d+| copy| (?:from|to) nvm)$")
_TORCH = re.compile(r"\[[A-Z_]\w*\]-\[[^\[\]]*\]-\[([^\[\]]*)\]")
_UNNAMED = re.compile(r"\(Unnamed Layer\* (\d+)\) \[(\w+)\](?:_output)?")
_SEPARATORS = re.compile(r" \+ |\|\||, |\.\.\.|\+(?=/)|\x1e|\x1f")
_WRAPPING = re.compile(r"PWN\(|\{ForeignNode\[|\]\}")
_OPERATOR = re.compile(r"([A-Za-z][A-Za-z]*)(?:2D|3D|1D|V\d)?(?:_+\d+)*$")
_LAST_PART = re.compile(r"[/.]")
_LONGEST_OPERATOR = 100
_WEIGHT = re.compile(r"^(?P<owner>.+?)[./](?:weight|bias|kernel|gamma|beta|running_mean|running_var)$")
_QUANTIZER = re.compile(r"quantizelinear|quantizeanddequantize|_quantizer|^onnx::|^\(unnamed", re.IGNORECASE)
_HEAVY = re.compile(
    r"(?:conv|gemm|matmul|einsum|attention|linear(?:_\d+)*$|pool|softmax|normalization|norm$|resize|reduce|topk|gather|scatter|concat|"
    r"addmm|mm$|lstm|gru|plugin)",
    re.IGNORECASE,
)
_PRODUCT = re.compile(r"conv|gemm|matmul|linear|einsum|addmm|mm(?:_\d+)?$|lstm|gru|attention", re.IGNORECASE)
_WRAPPER_MODULES = frozenset(
    {"module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_forward_module"}
)
_NUMBERED = re.compile(r"^(?:[A-Za-z]\w*[_-]\d+|\(Unnamed .*\))$")

HEAVY, LIGHT, OWNER, CONSTANT = 8.0, 2.0, 3.0, 0.5
"""Weight of a shared node as evidence: a main node, another node, a module, a constant or Q/DQ node."""

Nodes = dict[str, float]
"""Normalized nodes of the network, and their modules (`@layer1_0_conv1`), with the weight of each."""


@dataclass(frozen=True, slots=True)
class NameParts:
    """Parts of a layer name.

    Attributes:
        canonical: The nodes that it lists, normalized; without nodes, the name without build-dependent parts.
        is_generic: Whether it only describes the computation, so that equal names may be at different positions.
        role: How an inserted layer serves another: `input 0`, `output 1`, `reshape_before`; empty for other layers.
        served: Canonical name of the layer it serves; empty for other layers.
        nodes: Nodes of the network in the name.
        ends: First and last nodes of a `{ForeignNode[a...b]}`; empty otherwise, as for a copy in front of one.
    """

    canonical: str
    is_generic: bool
    role: str
    served: str
    nodes: Nodes
    ends: tuple[frozenset[str], ...] = ()

    def without_numbers(self) -> NameParts:
        """Return the parts without numbered nodes."""
        nodes = drop_numbered(self.nodes)
        if len(nodes) == len(self.nodes):
            return self
        listed = " + ".join(node for node in nodes if not is_module(node))
        if self.ends and listed:
            listed = f"{{{listed}}}"
        canonical = f"{self.role} of {listed}" if self.role and listed else listed
        ends = tuple(frozenset(node for node in end if not is_numbered(node)) for end in self.ends)
        return replace(self, canonical=canonical, nodes=nodes, ends=ends)


def drop_numbered(nodes: Nodes) -> Nodes:
    """Return nodes without those that have a number instead of a path."""
    return {node: weight for node, weight in nodes.items() if not is_numbered(node)}


def is_module(node: str) -> bool:
    """Return whether an entry of the nodes is a module."""
    return node[:1] == "@"


@lru_cache(maxsize=1 << 18)
def parse_name(name: str) -> NameParts:
    """Parse the name of a layer. Linear in its length."""
    role, rest = _find_role(name)
    served = parse_name(rest).canonical if role else ""
    is_generated = rest.startswith(_GENERATED)
    is_generic = is_generated or (_GENERIC.match(rest) is not None and not _UNNAMED.sub("", rest).strip(" +"))
    plain = "" if is_generated else rest
    nodes = nodes_in(plain)
    ends: tuple[frozenset[str], ...] = ()
    if "{ForeignNode[" in plain and "..." in plain and not role:
        first, _, last = plain.partition("...")
        ends = (frozenset(nodes_in(first)), frozenset(nodes_in(last)))
    canonical = f"{role} of {served}" if role else _spell(rest, nodes, is_range=bool(ends))
    return NameParts(canonical, is_generic, role, served, nodes, ends)


def _spell(rest: str, nodes: Nodes, *, is_range: bool) -> str:
    listed = " + ".join(node for node in nodes if not is_module(node))
    if listed:
        return f"{{{listed}}}" if is_range else listed
    return _MYELIN_NUMBER.sub("__mye", _MYELIN_SUFFIX.sub("", rest)).replace(".", "_")


def _find_role(name: str) -> tuple[str, str]:
    """Return the role of an inserted layer, and the name of the layer that it serves; else an empty role and the name."""
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


def nodes_in(name: str) -> Nodes:
    """Return the nodes in the name of a layer, with their modules.

    >>> sorted(nodes_in("layer1.0.conv1.weight + QuantizeLinear_20 + Conv_22"))
    ['@layer1_0_conv1', 'Conv_22', 'QuantizeLinear_20', 'layer1_0_conv1/weight']
    """
    nodes: Nodes = {}
    text = _MYELIN_SUFFIX.sub("", name)
    if "(Unnamed" in text:
        for match in _UNNAMED.finditer(text):
            nodes[f"(Unnamed {match[1]} {match[2]})"] = CONSTANT
        text = _UNNAMED.sub("", text)
    if "]-[" in text:
        text = _TORCH.sub(lambda match: match[1], text)
    for part in _SEPARATORS.split(_WRAPPING.sub("", text)):
        if node := _ROLE.sub("", part.strip(" ()]}")):
            _add_node(nodes, node)
    return nodes


def parse_nodes(onnx_nodes: Iterable[str]) -> Nodes:
    """Return the ONNX nodes that a file states for a layer, with their modules."""
    nodes: Nodes = {}
    for name in onnx_nodes:
        if node := _MYELIN_SUFFIX.sub("", name.strip()):
            _add_node(nodes, node)
    return nodes


def _add_node(nodes: Nodes, node: str) -> None:
    key, weight, module = read_node(node)
    nodes[key] = weight
    if module:
        nodes.setdefault(module, OWNER)


@lru_cache(maxsize=1 << 18)
def read_node(node: str) -> tuple[str, float, str]:
    """Return a normalized node, its weight, and its module (`@…`, or empty).

    >>> read_node("/layer1/layer1.0/conv1/Conv")
    ('layer1_0_conv1/Conv', 8.0, '@layer1_0_conv1')
    """
    weight = _WEIGHT.match(node)
    if weight:
        owner = _spell_path(_LAST_PART.split(weight["owner"]))
        return f"{owner}/{node[weight.end('owner') + 1 :]}", CONSTANT, "@" + owner
    *path, operator = [part for part in node.split("/") if part] or [node]
    importance = _weigh(node)
    owner = _spell_path(path)
    operator = operator.replace(".", "_")
    if not owner:
        return operator, importance, ""
    return f"{owner}/{operator}", importance, "@" + owner if importance == HEAVY else ""


def _spell_path(path: Iterable[str]) -> str:
    """Join modules from the outside in, without wrappers and without the names that PyTorch repeats."""
    kept: list[str] = []
    for part in path:
        name = part.removeprefix("quant_").replace(".", "_")
        if name in _WRAPPER_MODULES or not name:
            continue
        if kept and (name == kept[-1] or name.startswith(kept[-1] + "_")) and not kept[-1].isdigit():
            kept[-1] = name
        else:
            kept.append(name)
    return "_".join(kept)


def _weigh(node: str) -> float:
    """Return the weight of a shared node as evidence, by its operator."""
    if _QUANTIZER.search(node):
        return CONSTANT
    last = _LAST_PART.split(node[-_LONGEST_OPERATOR:])[-1]
    operator = _OPERATOR.search(last)
    word = operator[1] if operator else last
    if word.lower().startswith(("constant", "shape", "identity")):
        return CONSTANT
    return HEAVY if _HEAVY.search(last) else LIGHT


def is_numbered(node: str) -> bool:
    """Return whether a node has an export number instead of a path: `Conv_22`."""
    return _NUMBERED.match(node) is not None


def is_product(node: str) -> bool:
    """Return whether a node multiplies, by its operator."""
    return _PRODUCT.search(_LAST_PART.split(node[-_LONGEST_OPERATOR:])[-1]) is not None


def myelin_graph(name: str) -> str | None:
    """Return the number of the Myelin graph of a kernel: `5` of `node_linear_myl5_2`; None for others."""
    match = _MYELIN_GRAPH.search(name)
    return match[1] if match else None


def numbered_operator(node: str) -> str:
    """Return the operator of a numbered node; empty for other nodes.

    >>> numbered_operator("Conv_22")
    'Conv'
    """
    return node.rstrip("0123456789").rstrip("_-") if is_numbered(node) else ""


# Substitutions by the user


@dataclass(frozen=True, slots=True)
class Rename:
    r"""A substitution in names of layers and ONNX nodes before they are compared, as in `s/PATTERN/REPLACEMENT/`.

    Attributes:
        text: As given.
        pattern: A regular expression; every match is replaced.
        replacement: With `\1` for groups.
    """

    text: str
    pattern: re.Pattern[str]
    replacement: str

    def apply(self, name: str) -> str:
        """Return a name after the substitution.

        Raises:
            TrexError: The name is too long for the pattern.
        """
        if len(name) > longest_text(self.pattern.pattern):
            message = f"takes too long for a name of {len(name)} characters; start it with letters"
            raise TrexError(f"rename '{self.text}': {message}")
        return self.pattern.sub(self.replacement, name)


def parse_rename(text: str) -> Rename:
    """Parse `s/PATTERN/REPLACEMENT/`; any character may replace the slash.

    Raises:
        TrexError: The text has another form, or the pattern is no regular expression or can take forever.
    """
    parts = (
        []
        if text[1:2].isalnum() or text[1:2] in ("\\", " ", "")
        else re.split(rf"(?<!\\){re.escape(text[1])}", text)
    )
    if len(parts) != 4 or parts[0] != "s" or parts[3] not in ("", "g") or not parts[1]:
        raise TrexError(f"rename '{text}': the form is s/PATTERN/REPLACEMENT/")
    pattern, replacement = (part.replace(f"\\{text[1]}", text[1]) for part in parts[1:3])
    try:
        compile_regex(pattern)  # the check of filters, whose patterns ignore case
        compiled = re.compile(pattern)
        compiled.sub(replacement, "")
    except (BadRegexError, re.error, IndexError) as error:
        raise TrexError(f"rename '{text}': {error}") from None
    return Rename(text, compiled, replacement)


def rename_all(name: str, renames: Sequence[Rename]) -> str:
    """Apply substitutions to a name, in order."""
    for rename in renames:
        name = rename.apply(name)
    return name
