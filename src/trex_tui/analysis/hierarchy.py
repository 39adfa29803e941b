"""The modules of the network, out of the names of its layers."""

from __future__ import annotations

import re
from functools import lru_cache

from trex_tui.engine.model import Layer

MOST_LEVELS = 24
"""Modules nested deeper than this stand at this depth: no network nests so, but a name may hold anything."""

_REFORMAT = re.compile(
    r"^Reformatting CopyNode for (?:(?P<role>Input|Output) Tensor (?P<port>\d+) to |Network (?:Input|Output) )"
)
_WRAPPERS = re.compile(r"^(?:PWN\(|\{ForeignNode\[|\()+")
_INSERTED = re.compile(r"^(?:copied_)?(?:reshape|squeeze|unsqueeze)_(?:before|after)_")
# Torch-TensorRT writes `[CONVOLUTION]-[aten_ops.convolution.default]-[/conv1/convolution]`.
_TORCH = re.compile(r"^.*?\[[A-Z_]*[\w.]*\]-\[(?=/)")
_FUSED = re.compile(r" \+ ")
_SEVERAL = re.compile(r" \+ |\.\.\.|, |\|\|")
_PARTS = re.compile(r"[/.]")


def module_path(layer: Layer) -> tuple[str, ...]:
    """The modules a layer lies in, outermost first, without its own operator.

    The first ONNX node stands for a fused layer; without metadata, the first name in the layer's own name. A reformat
    lies where the layer lies that it serves. Layers with no path in their name lie at the top.
    """
    return _path_and_operator(layer.onnx_nodes[0] if layer.onnx_nodes else layer.name)[0]


def module_of_name(name: str) -> tuple[str, ...]:
    """The modules that an ONNX node lies in, by its name, outermost first."""
    return _path_and_operator(name)[0]


@lru_cache(maxsize=1 << 18)
def _path_and_operator(name: str) -> tuple[tuple[str, ...], str]:
    """The modules that the first of the names in `name` lies in, and what remains of it."""
    name = _SEVERAL.split(_REFORMAT.sub("", name), maxsplit=1)[0]
    name = _TORCH.sub("", _WRAPPERS.sub("", _INSERTED.sub("", name)))
    if name.startswith(("__myl", "(Unnamed", "entry^")):
        return (), name
    parts = [part for part in _PARTS.split(name.strip("])} ")) if part]
    return tuple(_without_repeats(parts[:-1])[:MOST_LEVELS]), parts[-1] if parts else name


def label_in(layer: Layer, depth: int) -> str:
    """A layer's name as it reads inside the first `depth` modules of its path.

    `/layer1/layer1.0/conv1/Conv + /layer1/layer1.0/relu/Relu` reads `conv1/Conv + Relu` inside `layer1/0`. A name that tells
    no path stays whole.
    """
    return _label(layer.name, module_path(layer), depth)


@lru_cache(maxsize=4096)
def _label(name: str, path: tuple[str, ...], depth: int) -> str:
    if not path:
        return name
    reformat = _REFORMAT.match(name)
    names = _FUSED.split(_REFORMAT.sub("", name))
    operators = " + ".join(_path_and_operator(one)[1] for one in names)
    label = "/".join([*path[depth:], operators])
    if reformat is None:
        return label
    role = f"{reformat['role'].lower()} {reformat['port']} of " if reformat["role"] else "network "
    return f"{role}{label}"


def _without_repeats(parts: list[str]) -> list[str]:
    """PyTorch writes `/layer1/layer1.0/conv1/Conv`: once split at dots, `layer1` repeats."""
    kept: list[str] = []
    for part in parts:
        if not kept or part != kept[-1]:
            kept.append(part)
    return kept
