"""The ONNX model of an engine: content of layers, share of the model in layers, and its weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trex_tui.old.analysis.device import find_device
from trex_tui.old.analysis.gpu_peaks import peak_ops
from trex_tui.old.analysis.onnx_model.content import (
    Content,
    Part,
    Work,
    layer_contents,
    list_parts,
    measure_work,
    work_by_operator,
)
from trex_tui.old.analysis.structure import sum_latency_ms
from trex_tui.old.engine import attributes
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.layer_words import OPEN_BLOCK
from trex_tui.old.engine.model import Layer
from trex_tui.old.report.document import Section
from trex_tui.old.report.views.layer_details import Line
from trex_tui.old.text import format_bytes, format_count, format_ms, format_pct, join_words, plural, printable

if TYPE_CHECKING:
    from trex_tui.old.analysis.onnx_model.join import OnnxJoin

_MOST_LINES = 40
_SMALL_TREE = 8
"""Number of lines of the tree in the box of a layer among its neighbours."""
_MOST_OPS = 12
_MOST_NAMED = 3
_FEW_NODES = 12
"""Number of nodes that are listed one by one."""
_PRECISIONS = (DataType.FP16, DataType.FP32)
_EVIDENCE = {
    "metadata": "from its metadata",
    "name": "from its name",
    "range": "between its ends",
    "tensors": "between its tensors",
}


def onnx_lines(engine: Engine, layer: Layer) -> Iterator[Line]:
    """Return the content of a layer; empty without a model, or for a layer without nodes."""
    join: OnnxJoin | None = engine.onnx
    content = layer_contents(engine)[layer.index]
    if join is None or content is None:
        return
    found = join.layers[layer.index]
    yield Line(f"ONNX nodes ({len(found.nodes)}, {_EVIDENCE[found.evidence]})", "section")
    yield Line(_describe_work(layer, content), indent=2)
    for sentence in _describe_roof(engine, layer, content):
        yield Line(sentence, indent=2)
    if content.patterns:
        labels = Counter(pattern.label for pattern in content.patterns)
        yield Line(_count_words(labels), label="patterns", indent=2)
    if len(found.nodes) > _FEW_NODES:
        ops = dict(list(content.ops.items())[:_MOST_OPS])
        rest = len(content.ops) - len(ops)
        yield Line(_count_words(ops) + (f", {rest} more" if rest else ""), label="operators", indent=2)
        yield from _part_lines(list_parts(engine, layer), _MOST_LINES)
    else:
        yield from (Line(f"{node.op}  {node.name}", indent=2) for node in join.nodes(layer))
    if found.doubtful:
        yield Line(
            f"{plural(len(found.doubtful), 'node')} may be in another closed block", "warning", indent=2
        )
    if found.is_block:
        yield Line(OPEN_BLOCK, "muted", indent=2)


def node_tree(engine: Engine, layer: Layer) -> list[str]:
    """Return the nodes of a layer as a few indented lines; empty without a model, and for a layer with one node."""
    join: OnnxJoin | None = engine.onnx
    nodes = join.nodes(layer) if join else []
    if len(nodes) < 2:
        return []
    if len(nodes) <= _SMALL_TREE:
        lines = [f"  {node.op}  {node.name}" for node in nodes]
    else:
        parts = list_parts(engine, layer)
        depths = [part.depth for part in parts]
        deepest = max((d for d in set(depths) if sum(x <= d for x in depths) <= _SMALL_TREE), default=0)
        shown = [part for part in parts if part.depth <= deepest]
        lines = [" " * line.indent + line.text for line in _part_lines(shown, _SMALL_TREE)]
    return [plural(len(nodes), "ONNX node"), *lines]


def _part_lines(parts: Sequence[Part], most: int) -> Iterator[Line]:
    for part in parts[:most]:
        words = [part.name] + ([plural(len(part.nodes), "node")] if len(part.nodes) > 1 else [])
        words += [f"{format_count(part.macs)} MACs"] if part.macs else []
        words += [_count_words(part.patterns)] if part.patterns else []
        yield Line(" · ".join(words), indent=2 + 2 * part.depth)
    if len(parts) > most:
        yield Line(f"+{len(parts) - most} more", "muted", indent=2)


def _count_words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in counts.items())


def _describe_work(layer: Layer, content: Content) -> str:
    words = ["MACs unknown" if content.macs is None else f"{format_count(content.macs)} MACs"]
    words += [f"{format_count(content.params)} parameters, {format_bytes(content.params_bytes)} in the model"]
    if content.macs and layer.activation_bytes is not None:
        intensity = 2 * content.macs / max(1, layer.activation_bytes + content.params_bytes)
        words += [f"{intensity:.3g} FLOP/byte"]
    return " · ".join(words)


def _describe_roof(engine: Engine, layer: Layer, content: Content) -> Iterator[str]:
    """Return the minimum time of a layer whose own work is hidden, for its possible precisions."""
    device = find_device(engine)
    bandwidth = device.peak_bandwidth_bytes_per_s
    if not content.macs or not bandwidth or not engine.onnx.layers[layer.index].is_block:
        return
    words = []
    for precision in _PRECISIONS:
        peak = peak_ops(device, precision, tensor_cores=precision is not DataType.FP32).flop_per_s
        if peak:
            moved = (layer.activation_bytes or 0) + content.params * precision.bits / 8
            words.append(
                f"{format_ms(1e3 * max(2 * content.macs / peak, moved / bandwidth))} ms in {precision.value}"
            )
    if words:
        time = f", measured {format_ms(layer.latency_ms)} ms" if layer.latency_ms is not None else ""
        yield f"roof {join_words(words)}{time}"


# The whole engine


def onnx_document(engine: Engine) -> dict[str, Any] | None:
    """Return `onnx` of `summary --json`; None without a model."""
    join: OnnxJoin | None = engine.onnx
    if join is None:
        return None
    nodes = join.model.nodes
    weights = join.model.unique_weights()
    named = [layer for layer, found in zip(engine.layers, join.layers, strict=True) if found.nodes]
    return {
        "file": str(join.model.path),
        "is_given": join.is_given,
        "nodes": len(nodes),
        "names_stated": join.stated,
        "names_found": join.found,
        "names_missing": list(join.missing),
        "nodes_in_layers": len({node for found in join.layers for node in found.nodes}),
        "nodes_folded": len(join.folded),
        "nodes_in_no_layer": [nodes[index].name for index in join.unplaced],
        "nodes_in_several_layers": {
            nodes[index].name: list(places) for index, places in join.repeated.items()
        },
        "layers_with_nodes": len(named),
        "latency_with_nodes_ms": sum_latency_ms(named),
        "params": sum(weight.elements for weight in weights),
        "params_bytes": sum(weight.bytes for weight in weights),
        "duplicate_bytes": _duplicate_bytes(join),
        "bytes_by_type": _bytes_by_type(join),
        "engine_weights_by_type": _engine_weights(engine),
        "blocks": [_block_object(engine, layer) for layer in named if join.layers[layer.index].is_block],
    }


def _block_object(engine: Engine, layer: Layer) -> dict[str, Any]:
    """Return a closed block with its operators and its nodes."""
    join: OnnxJoin = engine.onnx
    nodes, content = join.nodes(layer), layer_contents(engine)[layer.index]
    patterns = Counter(pattern.label for pattern in content.patterns) if content else Counter()
    return {
        "layer": layer.index,
        "name": layer.name,
        "latency_ms": layer.latency_ms,
        "patterns": dict(patterns),
        "doubtful_nodes": len(join.layers[layer.index].doubtful),
        **_work_object(measure_work(join, nodes)),
        "operators": [
            {"op": op, "count": len(work.nodes), **_work_object(work)}
            for op, work in work_by_operator(join, nodes).items()
        ],
        "nodes": [
            {
                "name": node.name,
                "op": node.op,
                "input_shapes": [_list_extents(join, tensor) for tensor in node.inputs],
                "output_shapes": [_list_extents(join, tensor) for tensor in node.outputs],
                **_work_object(measure_work(join, [node])),
            }
            for node in nodes
        ],
    }


def _work_object(work: Work) -> dict[str, Any]:
    return {
        "macs": work.macs,
        "params": work.params,
        "params_bytes": work.params_bytes,
        "moved_bytes": work.bytes,
        "intensity": work.intensity,
    }


def _list_extents(join: OnnxJoin, tensor: str) -> list[int | None] | None:
    """Return the extents of a tensor; None for an unknown rank or an omitted tensor."""
    shape = join.shapes.extents.get(tensor)
    return None if shape is None else list(shape)


def _duplicate_bytes(join: OnnxJoin) -> int:
    """Return the bytes of parameters that the model has several times."""
    every = sum(item.bytes for item in join.model.initializers.values() if item.is_weight)
    return every - sum(weight.bytes for weight in join.model.unique_weights())


def _bytes_by_type(join: OnnxJoin) -> dict[str, int]:
    sizes: Counter[str] = Counter()
    for weight in join.model.unique_weights():
        sizes[weight.dtype] += weight.bytes
    return dict(sizes.most_common())


def _engine_weights(engine: Engine) -> dict[str, int]:
    """Return the elements of the weights that layers list, by type."""
    counts: Counter[str] = Counter()
    for layer in engine.layers:
        count, dtype = attributes.WEIGHTS_COUNT(layer), attributes.WEIGHTS_TYPE(layer)
        if isinstance(count, int) and dtype:
            counts[str(getattr(dtype, "value", dtype))] += count
    return dict(counts.most_common())


def onnx_sections(engine: Engine) -> Iterator[Section]:
    """Yield the model for Overview, `summary` and reports; nothing without one."""
    document = onnx_document(engine)
    if document is None:
        return
    placed, folded, lost = (
        document["nodes_in_layers"],
        document["nodes_folded"],
        document["nodes_in_no_layer"],
    )
    words = f"{placed} of {document['nodes']} in layers, {folded} folded"
    if lost:
        shown = ", ".join(map(printable, lost[:_MOST_NAMED])) + (" …" if len(lost) > _MOST_NAMED else "")
        words += f", {len(lost)} in no layer: {shown}"
    name = printable(engine.onnx.model.path.name) + (
        "" if engine.onnx.is_given else ", found beside the files"
    )
    facts = [("ONNX model", name), ("ONNX nodes", words)]
    if document["latency_with_nodes_ms"] is not None and engine.latency_sum_ms:
        share = 100 * document["latency_with_nodes_ms"] / engine.latency_sum_ms
        layers = plural(document["layers_with_nodes"], "layer")
        facts.append(("Time with nodes", f"{format_pct(share)} %, {layers}"))
    facts.append(("Model weights", _describe_weights(engine, document)))
    yield Section("onnx", "ONNX model", facts=facts)


def _describe_weights(engine: Engine, document: Mapping[str, Any]) -> str:
    """Describe the weights of the model, and why those of the engine differ."""
    types = ", ".join(f"{format_bytes(size)} {dtype}" for dtype, size in document["bytes_by_type"].items())
    words = [f"{format_count(document['params'])}, {types or '0 B'}"]
    size, model = engine.known_weights_bytes, document["params_bytes"]
    if size and model:
        least = "at least " if engine.layers_hiding_weights else ""
        words.append(f"engine {least}{format_bytes(size)} ({format_pct(100 * size / model)} %)")
    counts = document["engine_weights_by_type"]
    if counts:
        words.append(
            f"layers list {', '.join(f'{format_count(count)} {dtype}' for dtype, count in counts.items())}"
        )
    if engine.layers_hiding_weights:
        words.append(f"{plural(engine.layers_hiding_weights, 'layer')} without sizes")
    if document["duplicate_bytes"]:
        words.append(f"{format_bytes(document['duplicate_bytes'])} of the model are duplicates")
    return "; ".join(words)
