"""Names of layers and tactics: the modules in them, their meaning, and short texts that stay different."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby

from trex_tui.engine.layer_words import CONTINUATION, OPERATORS, find_layer_type, split_operators
from trex_tui.engine.model import Engine, per_engine
from trex_tui.engine.tactics import parse_tactic
from trex_tui.frames import plain_values
from trex_tui.text import (
    ELLIPSIS,
    format_shape,
    join_words,
    plural,
    printable,
    shorten_middle,
    shorten_name_list,
)

MOST_LEVELS = 24
"""Modules nested deeper than this are left out: no network nests so deeply, but a name may contain anything."""
_LONGEST_NAME = 60
_LONGEST_READ = 20_000
"""Characters of a name that are read: names of fused layers grow with the network."""

# Modules

_REFORMAT = re.compile(
    r"^Reformatting CopyNode for (?:(?P<role>Input|Output) Tensor (?P<port>\d+) to |Network (?P<network>Input|Output) )"
)
_WRAPPERS = re.compile(r"^(?:PWN\(|\{ForeignNode\[|\()+")
_BLOCK = re.compile(r"^\{ForeignNode\[([^\[\]{}]+?)\.{3}([^\[\]{}]+)\]\}$")
_INSERTED = re.compile(r"^(?:copied_)?(?:reshape|squeeze|unsqueeze)_(?:before|after)_")
_TORCH = re.compile(r"^.*?\[[\w.]*\]-\[(?=/)")
"""Torch-TensorRT writes `[CONVOLUTION]-[aten_ops.convolution.default]-[/conv1/convolution]`."""
_SEVERAL = re.compile(r" \+ |\.\.\.|, |\|\|")


@lru_cache(maxsize=1 << 16)
def split_name(name: str) -> tuple[tuple[str, ...], str]:
    """Return the modules of the first ONNX node in a name, outermost first, and its own operator.

    A reformat belongs to the modules of the layer that it serves. A name without a path has no modules.

    >>> split_name("/layer1/layer1.0/conv1/Conv + /layer1/layer1.0/relu/Relu")
    (('layer1', '0', 'conv1'), 'Conv')
    """
    name = _INSERTED.sub("", _SEVERAL.split(_REFORMAT.sub("", name), maxsplit=1)[0])
    if name.startswith("(Unnamed"):  # the only name of TensorRT's own with parentheses
        return (), name
    name = _WRAPPERS.sub("", name)
    if "]-[/" in name:
        name = _TORCH.sub("", name)
    if name.startswith(("__myl", "(Unnamed", "entry^")):
        return (), name
    *modules, operator = _without_repeats(name.strip("])} ")) or [name]
    return tuple(modules[:MOST_LEVELS]), operator


def _without_repeats(name: str) -> list[str]:
    """Split a path without repeats: PyTorch writes `/layer1/layer1.0/conv1/Conv` for `layer1/0/conv1/Conv`."""
    if "." not in name:
        return [step for step, _ in groupby(step for step in name.split("/") if step)]
    kept: list[str] = []
    for step in name.split("/"):
        if "." in step:
            parts = [part for part in step.split(".") if part]
            repeated = next((size for size in range(len(parts), 0, -1) if kept[-size:] == parts[:size]), 0)
            kept += parts[repeated:]
        elif step and (not kept or kept[-1] != step):
            kept.append(step)
    return kept


def label_name(name: str, node: str, depth: int) -> str:
    """Return a name relative to the first `depth` modules, and fused layers as their operators.

    `/layer1/layer1.0/conv1/Conv + /layer1/layer1.0/relu/Relu` becomes `conv1/Conv + Relu` inside `layer1/0`, and a Myelin
    block `{conv1/Conv...fc/Gemm}`. A name without a path is unchanged.

    Args:
        node: The name from which the modules are read: the first ONNX node, else the name.
    """
    if block := _BLOCK.match(name):
        ends = [split_name(end) for end in block.groups()]
        common = ends[0][0][:depth]
        shown = (
            "/".join([*(modules[depth:] if modules[:depth] == common else modules), operator])
            for modules, operator in ends
        )
        return f"{{{'...'.join(shown)}}}"
    reformat, inserted, path = _REFORMAT.match(name), _INSERTED.match(name), split_name(node)[0]
    label = name[reformat.end() :] if reformat else name
    if path:
        operators = " + ".join(split_name(part)[1] for part in _without_constants(label.split(" + ")))
        label = "/".join([*path[depth:], operators])
    if path and inserted:
        return f"{inserted[0].replace('_', ' ')}{label}"
    if reformat is None:
        return label
    if reformat["network"]:
        return f"network {reformat['network'].lower()} {label}"
    return f"{reformat['role'].lower()} {reformat['port']} of {label}"


_CONSTANT = re.compile(
    r"onnx::\w+_\d+|(?:.*[./])?(?:weight|bias|gamma|beta|running_mean|running_var|ReadVariableOp)(?:_\d+)?"
    r"|\(Unnamed Layer\* \d+\) \[Constant\].*"
)
"""Operands in the names of fused layers that no module is recognized by."""


def _without_constants(names: Sequence[str]) -> Sequence[str]:
    """Return the names of fused nodes without constants and the quantization of those; all if nothing else is left."""
    kept: list[str] = []
    is_constant = False
    for name in names:
        if _CONSTANT.fullmatch(name):
            is_constant = True
        elif not (is_constant and split_name(name)[1].startswith("QuantizeLinear")):
            kept.append(name)
            is_constant = False
    return kept or names


# Short names

_PART = re.compile(r"[^/._+ \-:\[\](){},·]+|[/._+ \-:\[\](){},·]+")
_SEPARATORS = frozenset("/._+ -:[](){},·")
_OPENING = frozenset("[({/")
_LEAST_PARTS = 10
_ODD = re.compile(r"[^\w/.+\-:*|,^~ \[\](){}]")
"""Characters that no exporter writes in a path."""


class ShortNames:
    """Texts for names in a number of characters, different for different names if there is any room.

    A label that is too long loses parts that others share, at separators.

    Args:
        labels: Name -> its whole label; different names have different labels.
    """

    def __init__(self, labels: Mapping[str, str]) -> None:
        self.labels = labels
        self._by_width: dict[int, dict[str, str]] = {}

    @classmethod
    def of_layers(cls, layers: Iterable[tuple[str, str]]) -> ShortNames:
        """Return short names of layers, of one engine or several.

        Args:
            layers: Name, and the name from which its modules are read (`label_name`); of equal names the first counts.
        """
        nodes: dict[str, str] = {}
        for name, node in layers:
            nodes.setdefault(name, node)
        depth = _common_depth(nodes.values())
        return cls(_distinguish({name: _label_layer(name, node, depth) for name, node in nodes.items()}))

    @property
    def longest(self) -> int:
        """Characters of the longest label."""
        return max(map(len, self.labels.values()), default=0)

    def fit(self, name: str, width: int) -> str:
        """Return a text of at most `width` characters; an unknown name is cut."""
        label = self.labels.get(name, name)
        if len(label) <= width:
            return label
        if name not in self.labels:
            return shorten_label(printable(name), width)
        if width not in self._by_width:
            self._by_width[width] = _tell_apart(list(self.labels.values()), width)
        return self._by_width[width][label]


@per_engine
def short_names(engine: Engine) -> ShortNames:
    """Return the short names of an engine's layers."""
    return ShortNames.of_layers(zip(engine.layers["name"], first_nodes(engine), strict=True))


def first_nodes(engine: Engine) -> list[str]:
    """Return the name from which the modules of each layer are read: its first ONNX node, else its own name."""
    layers = engine.layers
    return [
        nodes[0] if nodes else name for name, nodes in zip(layers["name"], layers["onnx_nodes"], strict=True)
    ]


@per_engine
def short_tactics(engine: Engine) -> ShortNames:
    """Return the short names of the tactics of an engine's layers."""
    return shorten_tactics(plain_values(engine.layers["tactic"]))


def shorten_tactics(tactics: Iterable[str | None]) -> ShortNames:
    """Return short names of tactics: `implicit gemm · 128×64×16 · st 3 · 16×8×16`.

    Tactics with equal parts are followed by the words of their names that distinguish them.
    """
    names_of: dict[str, list[str]] = defaultdict(list)
    for name in dict.fromkeys(filter(None, tactics)):
        names_of[describe_tactic(name)].append(name)
    labels = {}
    for text, names in names_of.items():
        words = [dict.fromkeys(re.findall(r"[^_ ]+", name)) for name in names]
        common = words[0].keys() if len(names) == 1 else set(words[0]).intersection(*words[1:])
        for name, own in zip(names, words, strict=True):
            rest = " ".join(word for word in own if word not in common)
            labels[name] = printable(f"{text} · {rest}" if rest else text)
    return ShortNames(_distinguish(labels))


@lru_cache(maxsize=1 << 14)
def describe_tactic(name: str) -> str:
    """Return family, tile, stages, instruction and split of K of a tactic in one line; the name itself if it has no tile."""
    tactic = parse_tactic(name)
    if tactic is None or tactic.tile is None:
        return name
    parts = (
        tactic.family,
        format_shape(tactic.tile),
        f"st {tactic.stages}" if tactic.stages else "",
        format_shape(tactic.instruction) if tactic.instruction else "",
        f"split {tactic.split_k}" if tactic.split_k else "",
    )
    return " · ".join(filter(None, parts))


def _label_layer(name: str, node: str, depth: int) -> str:
    return printable(name if _ODD.search(name) else shorten_name_list(label_name(name, node, depth)))


def _common_depth(names: Iterable[str]) -> int:
    """Return the number of modules that all names with a path share; for two names or more."""
    paths = [path for name in names if (path := split_name(name)[0])]
    if len(paths) < 2:
        return 0
    pairs = zip(min(paths), max(paths), strict=False)
    return next((depth for depth, (first, last) in enumerate(pairs) if first != last), min(map(len, paths)))


def _distinguish(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the label of each name; the name itself, then with a number, if another name has the same label."""
    counts = Counter(labels.values())
    distinct = {name: label if counts[label] == 1 else printable(name) for name, label in labels.items()}
    counts = Counter(distinct.values())
    taken = set(counts)
    return {
        name: label if counts[label] == 1 else _number(label, len(label) + _LEAST_PARTS, taken)
        for name, label in distinct.items()
    }


@lru_cache(maxsize=4096)
def shorten_label(label: str, width: int) -> str:
    """Cut a label to `width` characters: its last module and last operator stay as long as anything can stay.

    >>> shorten_label("backbone/model/layer1/0/conv1/Conv + Mul + Add + Relu", 36)
    'backbone/model/layer1/0/conv1/…Relu'
    """
    if len(label) <= width:
        return label
    if width < _LEAST_PARTS:
        return shorten_middle(label, width)
    path, _, _ = label.partition(" + ")
    *modules, first = path.split("/")
    if modules and not _ODD_PATH.search(path):
        operators = [first, *label[len(path) :].split(" + ")[1:]]
        ends = [" + ".join(operators)]
        ends += [f"{first}{ELLIPSIS}{operators[-1]}", f"{ELLIPSIS}{operators[-1]}"] if operators[1:] else []
        for start in range(len(modules)):
            for end in ends:
                text = (ELLIPSIS if start else "") + "/".join([*modules[start:], end])
                if len(text) <= width:
                    return text
    return shorten_middle(label, width)


_ODD_PATH = re.compile(r"[{}\[\]() ]")
"""What is in names that are not a path alone."""


def _tell_apart(labels: Sequence[str], width: int) -> dict[str, str]:
    """Return a text of at most `width` characters for each label, all different if possible.

    Labels that are equal after cutting keep the parts that the fewest of them have. Labels that are still equal get a number.
    """
    texts = {label: shorten_label(label, width) for label in labels}
    for _ in range(2):
        alike: dict[str, list[str]] = defaultdict(list)
        for label, text in texts.items():
            alike[text].append(label)
        for same in alike.values():
            if len(same) > 1:
                texts |= _rarest_parts(same, width)
    used = Counter(texts.values())
    taken = set(used)
    return {label: text if used[text] == 1 else _number(label, width, taken) for label, text in texts.items()}


def _rarest_parts(labels: Sequence[str], width: int) -> dict[str, str]:
    """Return each label with only those words that the fewest labels have, in their order."""
    split = {label: _PART.findall(label) for label in labels}
    frequency = Counter(part for parts in split.values() for part in set(parts) if part[0] not in _SEPARATORS)
    return {label: _keep_parts(parts, frequency, width) for label, parts in split.items()}


def _keep_parts(parts: Sequence[str], frequency: Counter[str], width: int) -> str:
    words = [number for number, part in enumerate(parts) if part[0] not in _SEPARATORS]
    if not words:
        return shorten_middle("".join(parts), width)
    ranked = sorted(words, key=lambda number: (frequency[parts[number]], -number))
    kept: set[int] = set()
    text = ""
    for number in [ranked[0], words[-1], *ranked[1:]]:
        longer = _join(parts, kept | {number})
        if len(longer) <= width:
            kept.add(number)
            text = longer
    return text or shorten_middle(parts[ranked[0]], width)


def _join(parts: Sequence[str], kept: set[int]) -> str:
    """Return the kept words with the separators between them, an ellipsis for omitted words."""
    text, last = "", -1
    for number in sorted(kept):
        between = parts[last + 1 : number]
        if any(part[0] not in _SEPARATORS for part in between):
            text += ELLIPSIS
        elif between and (last >= 0 or set(between[0]) & _OPENING):
            text += "".join(between)
        text += parts[number]
        last = number
    rest = parts[last + 1 :]
    return text + (ELLIPSIS if any(part[0] not in _SEPARATORS for part in rest) else "".join(rest))


def _number(label: str, width: int, taken: set[str]) -> str:
    """Return the label with a number that no other text has."""
    number = 1
    while True:
        number += 1
        mark = f"~{number}"
        text = shorten_label(label, max(0, width - len(mark))) + mark
        if text not in taken or len(mark) >= width:
            taken.add(text)
            return text


# Meaning

_GENERATED = re.compile(
    r"__myl_(?P<operators>[A-Z][A-Za-z]*?)(?:_myl(?P<subgraph>\d+)_(?P<kernel>\d+))?\.{0,3}$"
)
_MEANINGS = tuple(
    (re.compile(pattern, re.DOTALL), sentence)
    for pattern, sentence in (
        (
            r"Reformatting CopyNode for Input Tensor (?P<n>\d+) (?:to|from) (?P<of>.+)$",
            "Copy before {of} that changes the layout or type of input {n}.",
        ),
        (
            r"Reformatting CopyNode for Output Tensor (?P<n>\d+) (?:to|from) (?P<of>.+)$",
            "Copy after {of} that changes the layout or type of output {n}.",
        ),
        (
            r"\{ForeignNode\[(?P<of>.*?)\.{3}(?P<to>.*)\]\}",
            "Subgraph compiled by Myelin: all nodes from {of} to {to}. Its kernels are not listed.",
        ),
        (r"\{ForeignNode\[(?P<of>.*?)\]\}", "Subgraph compiled by Myelin: {of}. Its kernels are not listed."),
        (
            r"\(Unnamed Layer\* (?P<n>\d+)\) \[(?P<of>[\w ]+)\]",
            "Layer {n} of the network, which has no name there, of type {of}.",
        ),
        (r"\(Unnamed Layer\* (?P<n>\d+)\)", "Layer {n} of the network, which has no name there."),
        (r"\[(?:Shape)?HostToDeviceCopy \d+\]$", "Copy from the host to the device."),
        (r"\[DeviceTo(?:Shape)?HostCopy \d+\]$", "Copy from the device to the host."),
        (
            r"(?P<of>.+) (?P<side>in|out)put reformatter (?P<n>\d+)$",
            "Copy that changes the layout or type of {side}put {n} of {of}.",
        ),
        (r"__mye\d+_(?P<of>(?!myl\d)[a-z]\w*?)(?:_myl\d+_\d+)?$", "Kernel of Myelin for {of}."),
        (r".+ to nvm$", "Copy from the GPU to the DLA."),
        (r".+ from nvm$", "Copy from the DLA to the GPU."),
        (r"(?P<of>.+) copy finish$", "End of the copy of {of} between GPU and DLA."),
        (r"(?P<of>.+) copy$", "Copy of tensor {of}, mostly into the output of a concatenation."),
        (
            r"(?!__mye|_gemm_|dummy_|entry\^|exit\^).*_myl(?P<n>\d+)_(?P<to>\d+)$",
            "Kernel {to} of Myelin subgraph {n}.",
        ),
    )
)
"""Names of TensorRT's own, and their meaning."""


def describe_name(name: str, layer_type: str | None = None, parameter_type: str | None = None) -> str:
    """Explain the name of a layer, or its type where the name has no known sign; empty if neither has.

    >>> describe_name("__myl_MulSumAdd_myl0_3")
    'Generated by Myelin: multiply, sum, add. Subgraph 0, kernel 3.'
    """
    word = find_layer_type(layer_type, parameter_type)
    about_type = "" if word is None else word.definition.split(". ", 1)[0].rstrip(".") + "."
    return _describe_name(name[:_LONGEST_READ]) or about_type


@lru_cache(maxsize=1024)
def _describe_name(name: str) -> str:
    if match := _GENERATED.match(name):
        number = f" Subgraph {match['subgraph']}, kernel {match['kernel']}." if match["subgraph"] else ""
        return f"Generated by Myelin: {', '.join(spell_operators(match['operators']))}.{number}"
    for pattern, sentence in _MEANINGS:
        if match := pattern.match(name):
            return sentence.format(**{key: _short(text) for key, text in match.groupdict().items()})
    return _describe_signs(name)


def _describe_signs(name: str) -> str:
    """Explain `a + b`, `a || b` and `PWN(…)`."""
    parts = []
    products = name.count(" || ") + 1
    if (nodes := name.count(" + ") + products) > products:
        parts.append(f"{nodes} nodes in one kernel (+)")
    if products > 1:
        parts.append(
            f"{products} {'branches' if nodes > products else 'nodes'} with one input, side by side (||)"
        )
    if groups := _count_outer(name):
        parts.append(f"{plural(groups, 'group')} of fused element by element operators (PWN)")
    return f"{join_words(parts)}." if parts else ""


def _count_outer(name: str) -> int:
    """Return the number of `PWN(…)` in a name that are not inside another."""
    count, is_group = 0, list[bool]()
    for sign in re.findall(r"PWN\(|[()]", name):
        if sign == ")":
            is_group = is_group[:-1]
            continue
        count += sign != "(" and not any(is_group)
        is_group.append(sign != "(")
    return count


def spell_operators(text: str) -> list[str]:
    """Return the operators in the name of a generated kernel, spelled out: `MulSumAdd`.

    The last one may be cut, as names in profiles are: it is completed where only one operator begins so.
    """
    *tokens, last = split_operators(text) or ("",)
    whole = [
        meaning for name, meaning in OPERATORS.items() if last not in OPERATORS and name.startswith(last)
    ]
    end = f"{whole[0]} (name cut)" if len(whole) == 1 else _spell(last)
    return [*map(_spell, tokens), end]


def _spell(token: str) -> str:
    return "and more" if token == CONTINUATION else OPERATORS.get(token, f"{token} (unknown abbreviation)")


def _short(name: str) -> str:
    return shorten_middle(printable(name.strip()), _LONGEST_NAME)
