"""The ONNX model of an engine: which of its nodes are in which layers, its weights, and what closed blocks hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from trex_tui.column import Column, by_key
from trex_tui.engine.model import Engine
from trex_tui.frames import total
from trex_tui.report.document import Fact, Section
from trex_tui.report.views.layers import limit_rows
from trex_tui.text import printable, shorten_middle

if TYPE_CHECKING:
    from trex_tui.engine.onnx_join import OnnxJoin

_MOST_NAMED, _MOST_OPS, _MOST_BLOCKS = 3, 12, 20
MODEL = by_key(
    Column("nodes", "Nodes", "Nodes of the ONNX model, with those of subgraphs."),
    Column("nodes_in_layers", "In layers", "Nodes that a layer has."),
    Column(
        "nodes_folded", "Folded", "Nodes that TensorRT computes while it builds: of constants and shapes."
    ),
    Column("nodes_in_no_layer", "In no layer", "Names of the other nodes."),
    Column("layers_with_nodes", "Layers with nodes", "Layers that have nodes of the model."),
    Column("latency_with_nodes_ms", "Time with nodes", "Time of the layers that have nodes of the model."),
    Column("names_stated", "Names", "Different names of nodes that the layers state."),
    Column("names_found", "Names found", "Those of them that the model has."),
    Column("params", "Parameters", "Elements of its weights, equal ones once."),
    Column("params_bytes", "Weights", "Bytes of its weights, equal ones once."),
    Column("macs", "MACs", "Multiply-accumulates of the nodes in layers; two operations each."),
)


def onnx_sections(engine: Engine) -> Iterator[Section]:
    """Yield the model and the content of closed blocks; nothing without a model."""
    join = engine.onnx
    if join is None:
        return
    named = join.layers["nodes"].map(bool)
    time = total(engine.layers["latency_ms"][named.to_numpy()])
    lost = [join.model.nodes[index].name for index in join.unplaced]
    weights = join.model.unique_weights(join.model.initializers)
    blocks = list(_list_blocks(engine, join))
    data = {
        "file": join.model.path,
        "nodes": len(join.model.nodes),
        "nodes_in_layers": len(join.holders),
        "nodes_folded": len(join.folded),
        "nodes_in_no_layer": lost,
        "layers_with_nodes": int(named.sum()),
        "latency_with_nodes_ms": time,
        "names_stated": join.stated,
        "names_found": join.found,
        "names_missing": join.missing,
        "params": sum(weight.elements for weight in weights),
        "params_bytes": sum(weight.bytes for weight in weights),
        "macs": total(join.layers["onnx_macs"]),
        "blocks": blocks,
    }
    words = f"{data['nodes_in_layers']} of {data['nodes']} in layers, {len(join.folded)} folded"
    if lost:
        shown = ", ".join(map(printable, lost[:_MOST_NAMED])) + (" …" if len(lost) > _MOST_NAMED else "")
        words += f", {len(lost)} in no layer: {shown}"
    known = ("latency_with_nodes_ms", "layers_with_nodes", "params", "params_bytes", "macs")
    facts = [
        Fact(Column("", "Model"), None, printable(join.model.path.name)),
        Fact(Column("", "Nodes"), None, words),
    ]
    facts += [Fact(MODEL[key], data[key]) for key in known if data[key] is not None]
    yield Section("onnx", "ONNX model", facts, data=data)
    if blocks:
        rows = [{**block, "operators": _describe_operators(block["operators"])} for block in blocks]
        columns = [
            Column("layer", "#"), Column("name", "Closed block", width=24), Column("count", "Nodes"),
            Column("macs", "MACs"), Column("params_bytes", "Weights"), Column("operators", "Operators", width=30),
        ]  # fmt: skip
        section = Section("", frame=pd.DataFrame(rows), columns=columns, noun="block", audience="people")
        yield limit_rows(section, _MOST_BLOCKS)


def _list_blocks(engine: Engine, join: OnnxJoin) -> Iterator[dict[str, object]]:
    """Yield the closed blocks, with their operators and nodes."""
    rows = join.layers.reset_index(drop=True)
    for place in rows.index[rows["onnx_evidence"].eq("range").fillna(False)]:
        nodes = join.nodes(place)
        yield {
            "layer": engine.layers.index[place],
            "name": engine.layers["name"].iloc[place],
            "count": len(nodes),
            "doubtful_nodes": len(rows["doubtful"][place]),
            "macs": rows["onnx_macs"][place],
            "params": rows["onnx_params"][place],
            "params_bytes": rows["onnx_params_bytes"][place],
            "operators": dict(Counter(node.op for node in nodes).most_common()),
            "nodes": [{"name": node.name, "op": node.op} for node in nodes],
        }


def _describe_operators(counts: object) -> str:
    assert isinstance(counts, dict)
    words = [f"{name} ×{count}" if count > 1 else name for name, count in list(counts.items())[:_MOST_OPS]]
    rest = len(counts) - len(words)
    return shorten_middle(printable(", ".join(words)), 200) + (f", {rest} more" if rest else "")
