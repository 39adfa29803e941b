"""Modules and ONNX nodes of the network, from layer names; time by each; groups of layers as a tree.

A layer made from several nodes does not state the time of each. By node, its time is split equally: wrong in detail (the Conv
of a Conv + Relu takes nearly all of it), but sums stay exact, and nothing is counted twice. By module, it counts completely
for the module of its first node, as in the tree of layers: a table of modules, a chart of them and the tree show the same
number for each. Fusion across modules is rare; `fused_over_modules` returns such layers.
"""

from __future__ import annotations

import re
import string
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import cached_property, lru_cache
from itertools import groupby

from trex_tui.old.analysis.columns import ALL_COLUMNS_BY_NAME
from trex_tui.old.analysis.structure import UNKNOWN, sum_latency_ms
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.lazy_pattern import lazy_pattern
from trex_tui.old.text import format_ms, plural

MOST_LEVELS = 24
"""Modules nested deeper than this are shown at this depth: no network nests so deeply, but a name may contain anything."""

_REFORMAT = lazy_pattern(
    r"^Reformatting CopyNode for (?:(?P<role>Input|Output) Tensor (?P<port>\d+) to |Network (?P<network>Input|Output) )"
)
_WRAPPERS = lazy_pattern(r"^(?:PWN\(|\{ForeignNode\[|\()+")
_BLOCK = lazy_pattern(r"^\{ForeignNode\[([^\[\]{}]+?)\.{3}([^\[\]{}]+)\]\}$")
"""A Myelin block, from its first node to its last."""
_INSERTED = lazy_pattern(r"^(?:copied_)?(?:reshape|squeeze|unsqueeze)_(?:before|after)_")
_INSERTED_STARTS = ("copied_", "reshape_", "squeeze_", "unsqueeze_")
# Torch-TensorRT writes `[CONVOLUTION]-[aten_ops.convolution.default]-[/conv1/convolution]`.
_TORCH = lazy_pattern(r"^.*?\[[\w.]*\]-\[(?=/)")
_FUSED = lazy_pattern(r" \+ ")
_PLAIN = lazy_pattern(r"/[\w/-]+")
"""A path without anything that is removed or split below."""
_PLAIN_CHARACTERS = (string.ascii_letters + string.digits + "_/-").encode()
"""Those of most such paths."""
_SEVERAL = lazy_pattern(r" \+ |\.\.\.|, |\|\|")


def module_path(layer: Layer) -> tuple[str, ...]:
    """Return the modules that contain a layer, outermost first, without its own operator.

    The first ONNX node represents a fused layer; without metadata, the first name in the layer's own name. A reformat belongs
    to the modules of the layer that it serves. Layers with no path in their name have no module.
    """
    return module_of_name(first_node(layer))


def first_node(layer: Layer) -> str:
    """Return the name from which the modules of a layer are read: its first ONNX node, else its own name."""
    return layer.onnx_nodes[0] if layer.onnx_nodes else layer.name


def module_of_name(name: str) -> tuple[str, ...]:
    """Return the modules in the name of an ONNX node, outermost first."""
    return _path_and_operator(name)[0]


@lru_cache(maxsize=1 << 18)
def _path_and_operator(name: str) -> tuple[tuple[str, ...], str]:
    return _split_name(name)


def _split_name(name: str) -> tuple[tuple[str, ...], str]:
    """Return the modules of the first name in `name`, and the rest of it."""
    if _PLAIN.fullmatch(name):  # as most of hundreds of thousands of names
        steps = name[1:].split("/")
        if "" not in steps and len(set(steps)) == len(steps):
            return tuple(steps[:-1][:MOST_LEVELS]), steps[-1]
    # Substring tests first: there are as many names as layers, and patterns take three times as long.
    if name.startswith("Reformatting"):
        name = _REFORMAT.sub("", name)
    if " " in name or "..." in name or "||" in name:
        name = _SEVERAL.split(name, maxsplit=1)[0]
    if name.startswith(_INSERTED_STARTS):
        name = _INSERTED.sub("", name)
    if name.startswith("(Unnamed"):  # The only name of TensorRT's own with parentheses.
        return (), name
    if name.startswith(("PWN(", "{", "(")):
        name = _WRAPPERS.sub("", name)
    if "]-[/" in name:
        name = _TORCH.sub("", name)
    if name.startswith(("__myl", "(Unnamed", "entry^")):
        return (), name
    *modules, operator = _without_repeats(name.strip("])} ")) or [name]
    return tuple(modules[:MOST_LEVELS]), operator


def label_in(layer: Layer, depth: int) -> str:
    """Return a layer's name relative to the first `depth` modules of its path.

    `/layer1/layer1.0/conv1/Conv + /layer1/layer1.0/relu/Relu` becomes `conv1/Conv + Relu` inside `layer1/0`, and a Myelin
    block `{conv1/Conv...fc/Gemm}`. A name without a path is unchanged.
    """
    return label_of_name(layer.name, first_node(layer), depth)


def label_of_name(name: str, first: str, depth: int) -> str:
    """Return the name as `label_in`, for a layer of which only the name is known.

    Args:
        first: The name from which the modules are read.
    """
    return _label(name, module_of_name(first), depth)


@lru_cache(maxsize=4096)
def _label(name: str, path: tuple[str, ...], depth: int) -> str:
    block = _BLOCK.match(name)
    if block:
        ends = [_path_and_operator(end) for end in block.groups()]
        common = ends[0][0][:depth]
        shown = (
            "/".join([*(modules[depth:] if modules[:depth] == common else modules), operator])
            for modules, operator in ends
        )
        return f"{{{'...'.join(shown)}}}"
    reformat = _REFORMAT.match(name)
    if not path:
        return name if reformat is None else f"{_role(reformat)}{name[reformat.end() :]}"
    inserted = _INSERTED.match(name)
    names = _FUSED.split(_REFORMAT.sub("", name))
    operators = " + ".join(_path_and_operator(name)[1] for name in names)
    label = "/".join([*path[depth:], operators])
    if inserted is not None:
        return f"{inserted[0].replace('_', ' ')}{label}"
    return label if reformat is None else f"{_role(reformat)}{label}"


def _role(reformat: re.Match[str]) -> str:
    if reformat["role"]:
        return f"{reformat['role'].lower()} {reformat['port']} of "
    return f"network {reformat['network'].lower()} "


def _without_repeats(name: str) -> list[str]:
    """Split a path without repeats: PyTorch writes `/layer1/layer1.0/conv1/Conv` for `layer1/0/conv1/Conv`."""
    if "." not in name:
        steps = [step for step in name.split("/") if step]
        return steps if len(set(steps)) == len(steps) else [step for step, _ in groupby(steps)]
    kept: list[str] = []
    for step in name.split("/"):
        if "." in step:
            parts = [part for part in step.split(".") if part]
            repeated = next((size for size in range(len(parts), 0, -1) if kept[-size:] == parts[:size]), 0)
            kept += parts[repeated:]
        elif step and (not kept or kept[-1] != step):
            kept.append(step)
    return kept


NO_NODE = "(no ONNX node)"
"""Layers inserted by TensorRT, such as reformats, and engines without `Metadata`."""


@dataclass(frozen=True, slots=True)
class Share:
    """Time of an ONNX node or a module.

    Attributes:
        name: Name of the node or module.
        latency_ms: Its part of the layers' times; None if none of them was profiled.
        layers: Number of layers that contain it, at least partly.
    """

    name: str
    latency_ms: float | None
    layers: int


def by_onnx_node(engine: Engine) -> list[Share]:
    """Return time by ONNX node, the slowest first; adds up to `engine.latency_sum_ms`."""
    return _shared(engine, lambda layer: layer.onnx_nodes or (NO_NODE,))


def by_module(engine: Engine, depth: int = 1) -> list[Share]:
    """Return time by module, `depth` levels deep, each layer in the module of `module_path`.

    Adds up to `engine.latency_sum_ms`, and the layers to all layers. Layers outside any module have the empty name.
    """
    groups: dict[Path, list[Layer]] = defaultdict(list)
    by_first: dict[str, list[Layer]] = {}
    names = [layer.onnx_nodes[0] if layer.onnx_nodes else layer.name for layer in engine.layers]
    is_plain = _PLAIN.fullmatch
    # One look at the characters of all names takes a tenth of the time of a pattern per name, of which there may be
    # hundreds of thousands.
    characters = "/".join(names)
    are_plain = characters.isascii() and not characters.encode().translate(None, _PLAIN_CHARACTERS)
    for layer, name in zip(engine.layers, names, strict=True):
        if depth == 1 and (name[:1] == "/" if are_plain else is_plain(name)):
            # Two different steps, and the first one is the outermost module.
            first, _, rest = name[1:].partition("/")
            if first and rest and not rest.endswith(("/", first)):
                group = by_first.get(first)
                if group is None:
                    group = by_first[first] = groups[first,]
                group.append(layer)
                continue
        # Not `module_path`, which keeps names: for the one pass over them that takes as long again.
        groups[_split_name(name)[0][:depth]].append(layer)
    return _slowest_first(
        Share("/".join(path), sum_latency_ms(group), len(group)) for path, group in groups.items()
    )


def fused_over_modules(layers: Iterable[Layer]) -> list[Layer]:
    """Return the layers whose ONNX nodes belong to several outermost modules, the first of which gets all of the time."""
    fused = (layer for layer in layers if len(layer.onnx_nodes) > 1)
    return [layer for layer in fused if len({module_of_name(node)[:1] for node in layer.onnx_nodes}) > 1]


def describe_fusion(layers: Sequence[Layer]) -> str | None:
    """Return a sentence on how layers fused across modules are counted; None if there are none."""
    fused = fused_over_modules(layers)
    if not fused:
        return None
    time = sum_latency_ms(fused)
    took = f" of {format_ms(time)} ms" if time is not None else ""
    several = plural(len(fused), f"layer{took} has", f"layers{took} have")
    return f"Each layer counts once, in the module of its first ONNX node; {several} nodes in other outermost modules too."


def _shared(engine: Engine, names_of: Callable[[Layer], tuple[str, ...]]) -> list[Share]:
    times: dict[str, float | None] = {}
    layers: dict[str, int] = {}
    for layer in engine.layers:
        names = names_of(layer)
        for name in dict.fromkeys(names):
            layers[name] = layers.get(name, 0) + 1
        for name in names:
            part = None if layer.latency_ms is None else layer.latency_ms / len(names)
            times[name] = part if times.get(name) is None else (times[name] or 0.0) + (part or 0.0)
    return _slowest_first(Share(name, time, layers[name]) for name, time in times.items())


def _slowest_first(shares: Iterable[Share]) -> list[Share]:
    return sorted(shares, key=lambda share: (-(share.latency_ms or 0.0), share.name))


Path = tuple[str, ...]


class Grouping(str, Enum):
    """Property that the groups of the tree share. The values are shown to users."""

    MODULE = "by module"
    KIND = "by kind"
    PRECISION = "by precision"
    BOUND = "by bound"
    KERNEL = "by kernel family"
    SHAPE = "by output shape"
    ONNX = "by ONNX node"
    STREAM = "by stream"
    ORDER = "in execution order"


class Group:
    """Layers that share the first parts of a path.

    Attributes:
        path: These parts.
        name: The last part, or several if a chain of groups with single children was merged.
        layers: All layers here and below, in execution order.
    """

    def __init__(
        self, name: str, path: Path, layers: Sequence[Layer], path_of: Callable[[Layer], Path], *, flat: bool
    ) -> None:
        """Args: flat: Replace a group with a single layer by the layer."""
        self.name, self.path, self.layers, self._path_of, self._flat = name, path, layers, path_of, flat

    @cached_property
    def latency_ms(self) -> float | None:
        return sum_latency_ms(self.layers)

    @property
    def first_index(self) -> int:
        return self.layers[0].index

    @cached_property
    def entries(self) -> Sequence[Group | Layer]:
        """Groups and layers directly in this group, in execution order.

        A group around a single layer of a deeper path is replaced by that layer.
        """
        depth = len(self.path)
        groups: dict[str, list[Layer]] = {}
        inside: list[Group | Layer] = []
        for layer in self.layers:
            path = self._path_of(layer)
            if len(path) > depth:
                groups.setdefault(path[depth], []).append(layer)
            else:
                inside.append(layer)
        for name, layers in groups.items():
            inside.append(layers[0] if len(layers) == 1 and self._flat else self._group(name, layers))
        return sorted(
            inside, key=lambda entry: entry.index if isinstance(entry, Layer) else entry.first_index
        )

    def _group(self, name: str, layers: Sequence[Layer]) -> Group:
        path = (*self.path, name)
        names = [name]
        while True:
            depth = len(path)
            part = next(iter(self._path_of(layers[0])[depth : depth + 1]), None)
            if part is None or any(self._path_of(layer)[depth : depth + 1] != (part,) for layer in layers):
                return Group("/".join(names), path, layers, self._path_of, flat=self._flat)
            names.append(part)
            path = (*path, part)

    def groups_around(self, layer: Layer) -> list[Group]:
        """Return the groups from below this one down to the one that contains a layer."""
        around: list[Group] = []
        current = self
        wanted = self._path_of(layer)
        while True:
            inside = (entry for entry in current.entries if isinstance(entry, Group))
            group = next((item for item in inside if wanted[: len(item.path)] == item.path), None)
            if group is None:
                return around
            around.append(group)
            current = group


def _keep_paths(path_of: Callable[[Layer], Path]) -> Callable[[Layer], Path]:
    """Return the function with a cache: each level of a tree asks for the path of each of its layers several times."""
    paths: dict[int, Path] = {}

    def find(layer: Layer) -> Path:
        path = paths.get(layer.index)
        if path is None:
            path = paths[layer.index] = path_of(layer)
        return path

    return find


def arrange(layers: Sequence[Layer], grouping: Grouping, engine: Engine | None = None) -> Group:
    """Arrange layers in execution order as a tree; its root contains all of them.

    Each layer is in one group, so that the groups add up: a layer with several ONNX nodes belongs to the first.

    Args:
        engine: The engine of the layers; required for bound, kernel family and shape, which are columns.
    """
    path_of = _PATHS.get(grouping)
    if path_of is None:
        assert engine is not None, grouping
        path_of = _column_path(engine, _COLUMNS[grouping])
    return Group("", (), layers, _keep_paths(path_of), flat=grouping in (Grouping.MODULE, Grouping.ONNX))


def _column_path(engine: Engine, column: str) -> Callable[[Layer], Path]:
    values = ALL_COLUMNS_BY_NAME[column].values(engine)
    return lambda layer: (values[layer.index] or UNKNOWN,)


def _onnx_path(layer: Layer) -> Path:
    return (layer.onnx_nodes[0] if layer.onnx_nodes else NO_NODE,)


def _stream_path(layer: Layer) -> Path:
    stream = f"stream {layer.stream if layer.stream is not None else UNKNOWN}"
    return (f"{layer.device.value}, {stream}" if layer.device else stream,)


_PATHS: dict[Grouping, Callable[[Layer], Path]] = {
    Grouping.MODULE: module_path,
    Grouping.KIND: lambda layer: (layer.kind.value,),
    Grouping.PRECISION: lambda layer: (layer.precision.value if layer.precision else UNKNOWN,),
    Grouping.ONNX: _onnx_path,
    Grouping.STREAM: _stream_path,
    Grouping.ORDER: lambda _: (),
}
_COLUMNS = {Grouping.BOUND: "bound", Grouping.KERNEL: "tactic_family", Grouping.SHAPE: "output_shapes"}
_BY_TIME = frozenset({Grouping.KIND, Grouping.PRECISION, *_COLUMNS})
"""Groups without a position in the execution order."""


def layer_label(layer: Layer, grouping: Grouping, depth: int) -> str:
    """Return the name of a layer in a tree, inside `depth` groups.

    A layer that represents its ONNX node has the node's name. `+2` means that it does the work of two further nodes.
    """
    if grouping is Grouping.MODULE:
        return label_in(layer, depth)
    if grouping is not Grouping.ONNX or not layer.onnx_nodes:
        return layer.name
    name = layer.name if depth else layer.onnx_nodes[0]
    more = len(layer.onnx_nodes) - 1
    return f"{name} +{more}" if more else name


def ordered_entries(group: Group, grouping: Grouping, *, by_latency: bool) -> Sequence[Group | Layer]:
    """Return the direct content of a group: in execution order, or the slowest first.

    Groups whose layers are scattered over the execution, such as kinds, are always sorted by time.
    """
    if by_latency or (not group.path and grouping in _BY_TIME):
        return sorted(group.entries, key=lambda entry: -(entry.latency_ms or 0.0))
    return group.entries
