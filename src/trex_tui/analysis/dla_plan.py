"""Which nodes of an ONNX model the DLA of a Jetson or DRIVE Orin can run, and the subgraphs that result.

The rules are those of NVIDIA's page "DLA Supported Layers and Restrictions" (FP16), as far as a model shows them; the builder
has the last word. Nodes that only compute shapes or constants are left out: TensorRT computes them while it builds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import pandas as pd

from trex_tui.column import Column, by_key
from trex_tui.engine.onnx_model import OnnxModel, OnnxNode, Shapes, count_macs, infer_shapes, read_model
from trex_tui.errors import TrexError
from trex_tui.text import printable

MOST_SUBGRAPHS = 16
"""Loadables per DLA core."""
_MOST_BATCH, _MOST_EXTENT = 4096, 8192
_FP16_BYTES = 2
_DOCUMENT = "ONNX model and documentation of the DLA"
NODES = by_key(
    Column("node", "Node", "Node of the ONNX model.", source="ONNX model", priority=0, is_free_text=True),
    Column("op", "Operator", "Operator of the node.", source="ONNX model", priority=1),
    Column("device", "Device", "Where the node can run.", source=_DOCUMENT, priority=1,
           words={"DLA": "It can run on the DLA.", "GPU": "It falls back to the GPU."}),
    Column("reason", "Reason", "Why the DLA cannot run it; empty for one that it can.", source=_DOCUMENT, priority=2),
    Column("subgraph", "Subgraph", "Number of the DLA subgraph, from 0.", source=_DOCUMENT, priority=3),
    Column("macs", "MACs", "Multiply-accumulates.", source="ONNX model", priority=4),
)  # fmt: skip
REASONS = by_key(
    Column("reason", "Reason", "Why nodes fall back to the GPU.", source=_DOCUMENT, priority=0),
    Column("nodes", "Nodes", "Nodes with this reason.", priority=1),
    Column("subgraphs_without", "Subgraphs without", "DLA subgraphs if these nodes ran on the DLA.", priority=1),
    Column("dla_macs_pct_without", "MACs without", "Share of the multiply-accumulates on the DLA then.", priority=2),
    Column("change", "Instead", "What the DLA runs in place of the operator.", source=_DOCUMENT, priority=2),
    Column("first", "First", "First of these nodes.", priority=3, is_free_text=True),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class DlaPlan:
    """The result.

    Attributes:
        nodes: A row per node that runs at inference, with the keys of `NODES`.
        reasons: A row per reason for a fallback, with the keys of `REASONS`; the one that costs most subgraphs first.
        subgraphs: Number of DLA subgraphs.
        crossings: Number of tensors that one device writes and the other reads.
        crossings_bytes: Their bytes in FP16; None if a shape is unknown.
        dla_macs_pct: Share of the multiply-accumulates on the DLA; None if they are unknown.
        doubts: What was not checked.
    """

    path: Path
    nodes: pd.DataFrame
    reasons: pd.DataFrame
    subgraphs: int
    crossings: int
    crossings_bytes: int | None
    dla_macs_pct: float | None
    doubts: tuple[str, ...]


def plan_dla(path: Path, inputs: Mapping[str, tuple[int, ...]]) -> DlaPlan:
    """Return what the DLA can run of a model.

    Args:
        inputs: Shapes of dynamic inputs.

    Raises:
        ArtifactError: The model cannot be read.
        TrexError: onnx is not installed, or an input is unknown.
    """
    model = read_model(path)
    if unknown := next((name for name in inputs if name not in model.inputs), None):
        raise TrexError(
            f"--shapes: no input {printable(unknown)}; there are {', '.join(map(printable, model.inputs))}"
        )
    shapes = infer_shapes(model, inputs)
    nodes = [node for node in model.nodes if not node.is_inner and not set(node.outputs) <= shapes.constants]
    reasons = [_find_reason(node, model, shapes) for node in nodes]
    macs = [count_macs([node], shapes) for node in nodes]
    subgraphs = _partition(nodes, [not reason for reason in reasons])
    crossings = list(_find_crossings(nodes, reasons))
    sizes = [_count_bytes(shapes, tensor) for tensor in crossings]
    frame = pd.DataFrame(
        {
            "node": [node.name for node in nodes],
            "op": [node.op for node in nodes],
            "device": ["GPU" if reason else "DLA" for reason in reasons],
            "reason": reasons,
            "subgraph": pd.array([subgraphs.get(place) for place in range(len(nodes))], "Int64"),
            "macs": pd.array(macs, "Int64"),
        }
    )
    doubts = [shapes.reason] if shapes.reason else []
    if any(None in shapes.extents.get(name, (None,)) for name in model.inputs):
        doubts.append("the model has dynamic inputs: the DLA needs fixed shapes; give them with --shapes")
    return DlaPlan(
        path=path,
        nodes=frame,
        reasons=_weigh_reasons(nodes, reasons, macs),
        subgraphs=len(set(subgraphs.values())),
        crossings=len(crossings),
        crossings_bytes=None if None in sizes else sum(size for size in sizes if size is not None),
        dla_macs_pct=_share(macs, reasons),
        doubts=tuple(doubts),
    )


def _partition(nodes: Sequence[OnnxNode], is_dla: Sequence[bool]) -> dict[int, int]:
    """Return the subgraph of each node on the DLA.

    A node is one level deeper than what it reads from the other device; connected nodes of one level are a subgraph, so that
    none needs the result of a GPU node which needs its own.
    """
    writers = {tensor: place for place, node in enumerate(nodes) for tensor in node.outputs}
    levels: list[int] = []
    graph: nx.Graph[int] = nx.Graph()
    for place, node in enumerate(nodes):
        before = [writers[tensor] for tensor in node.inputs if writers.get(tensor, place) < place]
        levels.append(max((levels[b] + (is_dla[b] != is_dla[place]) for b in before), default=0))
        if is_dla[place]:
            graph.add_node(place)
            graph.add_edges_from((b, place) for b in before if is_dla[b] and levels[b] == levels[place])
    return {place: number for number, part in enumerate(nx.connected_components(graph)) for place in part}


def _find_crossings(nodes: Sequence[OnnxNode], reasons: Sequence[str]) -> Iterable[str]:
    """Return the tensors that one device writes and the other reads."""
    writers = {
        tensor: not reason for node, reason in zip(nodes, reasons, strict=True) for tensor in node.outputs
    }
    return {
        tensor: None
        for node, reason in zip(nodes, reasons, strict=True)
        for tensor in node.inputs
        if tensor in writers and writers[tensor] is bool(reason)
    }


def _count_bytes(shapes: Shapes, tensor: str) -> int | None:
    size = _FP16_BYTES
    for extent in shapes.extents.get(tensor, (None,)):
        if extent is None:
            return None
        size *= extent
    return size


def _weigh_reasons(
    nodes: Sequence[OnnxNode], reasons: Sequence[str], macs: Sequence[int | None]
) -> pd.DataFrame:
    """Return the reasons with what each costs: the plan if its nodes ran on the DLA."""
    rows = []
    for reason in dict.fromkeys(filter(None, reasons)):
        without = ["" if other == reason else other for other in reasons]
        rows.append(
            {
                "reason": reason,
                "nodes": reasons.count(reason),
                "subgraphs_without": len(set(_partition(nodes, [not other for other in without]).values())),
                "dla_macs_pct_without": _share(macs, without),
                "change": _CHANGES.get(nodes[reasons.index(reason)].op),
                "first": nodes[reasons.index(reason)].name,
            }
        )
    frame = pd.DataFrame(rows, columns=list(REASONS))
    return frame.sort_values(
        ["subgraphs_without", "nodes"], ascending=[True, False], kind="stable", ignore_index=True
    )


def _share(macs: Sequence[int | None], reasons: Sequence[str]) -> float | None:
    known = [count or 0 for count in macs]
    on_dla = sum(count for count, reason in zip(known, reasons, strict=True) if not reason)
    return None if None in macs or not sum(known) else 100 * on_dla / sum(known)


# What the DLA can run

Check = Callable[[OnnxNode, OnnxModel, Shapes], str]
"""Returns why a node cannot run on the DLA; empty if it can."""


def _find_reason(node: OnnxNode, model: OnnxModel, shapes: Shapes) -> str:
    check = _CHECKS.get(node.op)
    if check is None:
        return f"{node.op}: not supported by the DLA"
    for tensor in (*node.inputs[:1], *node.outputs[:1]):
        shape = shapes.extents.get(tensor, ())
        if None in shape:
            return "dynamic or unknown shape"
        if any((extent or 0) > _MOST_EXTENT for extent in shape[-3:]):
            return f"dimension above {_MOST_EXTENT:,}"
        if len(shape) > 3 and _product(shape[:-3]) > _MOST_BATCH:
            return f"batch above {_MOST_BATCH:,}"
    reason = check(node, model, shapes)
    return f"{node.op}: {reason}" if reason else ""


def _product(shape: Iterable[int | None]) -> int:
    result = 1
    for extent in shape:
        result *= extent or 1
    return result


def _anything(_node: OnnxNode, _model: OnnxModel, _shapes: Shapes) -> str:
    return ""


def _is_2d(node: OnnxNode, _model: OnnxModel, shapes: Shapes) -> str:
    shape = shapes.extents.get(node.inputs[0])
    return "input is not 4-D" if shape is not None and len(shape) != 4 else ""


def _check_window(node: OnnxNode, most: int, most_stride: int) -> str:
    kernel = node.attributes.get("kernel_shape", ())
    if len(kernel) not in (0, 2):
        return "not 2-D"
    if max(kernel, default=1) > most:
        return f"kernel above {most}"
    if max(node.attributes.get("strides", ()), default=1) > most_stride:
        return f"stride above {most_stride}"
    return ""


def _check_convolution(node: OnnxNode, model: OnnxModel, shapes: Shapes) -> str:
    if node.inputs[1] not in shapes.constants:
        return "weights are computed"
    return _is_2d(node, model, shapes) or _check_window(node, 32, 8)


def _check_deconvolution(node: OnnxNode, model: OnnxModel, shapes: Shapes) -> str:
    if any(node.attributes.get("pads", ())) or any(node.attributes.get("output_padding", ())):
        return "padding"
    if node.attributes.get("group", 1) != 1 or max(node.attributes.get("dilations", ()), default=1) > 1:
        return "groups or dilation"
    return _is_2d(node, model, shapes) or _check_window(node, 32, 32)


def _check_pooling(node: OnnxNode, model: OnnxModel, shapes: Shapes) -> str:
    return _is_2d(node, model, shapes) or _check_window(node, 8, 16)


def _check_product(node: OnnxNode, _model: OnnxModel, shapes: Shapes) -> str:
    return "" if node.inputs[1] in shapes.constants else "both operands are computed"


def _check_concat(node: OnnxNode, model: OnnxModel, shapes: Shapes) -> str:
    return _is_2d(node, model, shapes) or (
        "" if node.attributes.get("axis") in (1, -3) else "not along channels"
    )


def _check_softmax(node: OnnxNode, _model: OnnxModel, shapes: Shapes) -> str:
    shape = shapes.extents.get(node.inputs[0], ())
    axis = node.attributes.get("axis", -1)
    if shape and -len(shape) <= axis < len(shape) and (shape[axis] or 0) > 1024:
        return "axis above 1,024"
    return ""


def _check_resize(node: OnnxNode, model: OnnxModel, shapes: Shapes) -> str:
    before, after = shapes.known(node.inputs, 0), shapes.known(node.outputs, 0)
    if reason := _is_2d(node, model, shapes):
        return reason
    mode = node.attributes.get("mode", "nearest")
    most = {"nearest": 32, "linear": 4}.get(str(mode))
    if most is None:
        return f"mode {mode}"
    if (
        before is None
        or after is None
        or any(b and (a % b or a // b > most) for a, b in zip(after, before, strict=True))
    ):
        return f"scale is not a whole number up to {most}"
    return ""


_CHECKS: dict[str, Check] = {
    **dict.fromkeys(("Relu", "Sigmoid", "Tanh", "Clip", "LeakyRelu", "PRelu"), _anything),
    **dict.fromkeys(("Add", "Sub", "Mul", "Max", "Min", "Div", "Pow"), _anything),
    **dict.fromkeys(("Abs", "BatchNormalization", "Identity", "Dropout", "Cast"), _anything),
    "Conv": _check_convolution,
    "ConvTranspose": _check_deconvolution,
    **dict.fromkeys(("MaxPool", "AveragePool"), _check_pooling),
    **dict.fromkeys(("Gemm", "MatMul"), _check_product),
    "Concat": _check_concat,
    "Softmax": _check_softmax,
    **dict.fromkeys(("Resize", "Upsample"), _check_resize),
    **dict.fromkeys(("Slice", "Split", "LRN"), _is_2d),
    **dict.fromkeys(("ReduceMax", "GlobalMaxPool"), _is_2d),
}
"""Operator -> its check; others are not supported."""
_CHANGES = {
    "GlobalAveragePool": "AveragePool with a fixed kernel of at most 8×8, several if needed",
    "ReduceMean": "AveragePool with a fixed kernel of at most 8×8, several if needed",
    **dict.fromkeys(
        ("Flatten", "Reshape"),
        "a 1×1 convolution in place of Flatten and Gemm; else at the end of the network",
    ),
    "Transpose": "another layout of the model; else at the end of the network",
    **dict.fromkeys(("Gelu", "Erf", "HardSwish", "Softplus", "Mish", "Elu"), "Relu, or Sigmoid and Mul"),
    "HardSigmoid": "Add, Clip and Mul",
    **dict.fromkeys(
        ("LayerNormalization", "InstanceNormalization", "GroupNormalization"), "BatchNormalization, trained"
    ),
    "MatMul": "a convolution with constant weights, or on the GPU",
    "AveragePool": "several poolings of at most 8×8",
    "ConvTranspose": "Resize (nearest) and Conv, or no padding",
    "Resize": "nearest by a whole number up to 32",
}
"""Operator -> what the DLA runs in its place."""
