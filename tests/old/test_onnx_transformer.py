"""A vision transformer closed block by block: patterns, work and parameters against a direct count.

The model is that of the exporter. Its engine is made here, with a closed block per layer of the encoder: no public engine of
a transformer comes with its model.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tui import LARGE, running, screen_text

from helpers import ARTIFACTS, layer, tensor, write_graph
from trex_tui import load_engine
from trex_tui.__main__ import main
from trex_tui.old.analysis.onnx_model.content import layer_contents
from trex_tui.old.analysis.onnx_model.search import join_file
from trex_tui.old.engine.engine import Engine

onnx = pytest.importorskip("onnx")
MODEL = ARTIFACTS / "onnx" / "vit_b_16.onnx"
pytestmark = pytest.mark.skipif(not MODEL.is_file(), reason="no real model")

_ENCODER = re.compile(r"/encoder/layers/encoder_layer_(\d+)/")
TOKENS, WIDTH, HIDDEN, HEADS = 197, 768, 3072, 12


class Graph:
    """The model as the library `onnx` reads it, without code of trex-tui."""

    def __init__(self) -> None:
        proto = onnx.shape_inference.infer_shapes(onnx.load(MODEL, load_external_data=False), data_prop=True)
        self.nodes = [node for node in proto.graph.node if node.op_type != "Constant"]
        self.weights = {item.name: item for item in proto.graph.initializer}
        values = (*proto.graph.input, *proto.graph.value_info, *proto.graph.output)
        self.shapes = {
            value.name: [
                dim.dim_value if dim.HasField("dim_value") else None
                for dim in value.type.tensor_type.shape.dim
            ]
            for value in values
            if value.type.tensor_type.HasField("shape")
        }
        self.shapes |= {name: list(item.dims) for name, item in self.weights.items()}

    def blocks(self) -> list[list[Any]]:
        """The nodes of each layer of the encoder."""
        blocks: dict[int, list[Any]] = {}
        for node in self.nodes:
            if match := _ENCODER.match(node.name):
                blocks.setdefault(int(match[1]), []).append(node)
        return [blocks[number] for number in sorted(blocks)]

    def ends(self, nodes: list[Any]) -> tuple[list[str], list[str]]:
        """Tensors that some nodes read from outside, and those that others read of them."""
        written = {name for node in nodes for name in node.output}
        own = {id(node) for node in nodes}
        outside = {name for node in self.nodes if id(node) not in own for name in node.input}
        computed = {name for node in self.nodes for name in node.output} | {"input"}
        read = {name for node in nodes for name in node.input if name in computed} - written
        return sorted(read), sorted(written & outside)

    def macs(self, nodes: list[Any]) -> int:
        total = 0
        for node in nodes:
            if node.op_type in ("Conv", "MatMul", "Gemm"):
                output = math.prod(self.shapes[node.output[0]])
            if node.op_type == "Conv":
                total += output * math.prod(self.shapes[node.input[1]][1:])
            elif node.op_type in ("MatMul", "Gemm"):
                total += output * self.shapes[node.input[0]][-1]
        return total

    def params(self, nodes: list[Any]) -> int:
        names = {name for node in nodes for name in node.input if name in self.weights}
        floats = [
            self.weights[name] for name in names if self.weights[name].data_type == onnx.TensorProto.FLOAT
        ]
        return sum(math.prod(item.dims) for item in floats)


def closed_transformer(folder: Path, *, has_tensors: bool) -> tuple[Engine, Graph]:
    """The stem, a closed block per layer of the encoder, and the head."""
    graph = Graph()
    blocks = graph.blocks()
    first = graph.nodes.index(blocks[0][0])
    after = graph.nodes.index(blocks[-1][-1]) + 1
    layers = []
    for nodes in (graph.nodes[:first], *blocks, graph.nodes[after:]):
        inputs, outputs = graph.ends(nodes) if has_tensors else ([], [])
        outputs = outputs or (["output"] if nodes[-1].output[0] == "output" else [])
        layers.append(
            layer(
                f"{{ForeignNode[{nodes[0].name}...{nodes[-1].name}]}}",
                "Myelin",
                [tensor(name, graph.shapes[name]) for name in inputs],
                [tensor(name, graph.shapes[name]) for name in outputs],
            )
        )
    bindings = ["input", "output"]
    folder.mkdir(parents=True, exist_ok=True)
    return load_engine(write_graph(folder / "vit.graph.json", layers, bindings)), graph


@pytest.mark.parametrize("has_tensors", [True, False])
def test_each_block_has_the_patterns_work_and_parameters_of_a_direct_count(
    tmp_path: Path, has_tensors: bool
) -> None:
    engine, graph = closed_transformer(tmp_path, has_tensors=has_tensors)
    joined = join_file(engine, MODEL)
    assert joined.onnx is not None, joined.diagnostics
    contents = layer_contents(joined)
    blocks = graph.blocks()
    assert len(blocks) == 12
    total: Counter[str] = Counter()
    for content, nodes in zip(contents[1:-1], blocks, strict=True):
        assert content is not None
        computed = Counter(node.op_type for node in nodes)
        assert content.ops["Softmax"] == 1
        assert all(content.ops[op] == computed[op] for op in ("MatMul", "Gemm", "LayerNormalization", "Erf"))
        labels = Counter(pattern.label for pattern in content.patterns)
        assert labels == {"attention (12 heads, 64)": 1, "layer norm": 2, "GELU": 1, "MLP": 1}
        total += labels
        assert content.macs == graph.macs(nodes)
        attention = TOKENS * WIDTH * 4 * WIDTH + 2 * TOKENS * TOKENS * WIDTH
        assert content.macs == attention + 2 * TOKENS * WIDTH * HIDDEN
        assert content.params == graph.params(nodes)
    assert total == {"attention (12 heads, 64)": 12, "layer norm": 24, "GELU": 12, "MLP": 12}
    assert sum(content.macs or 0 for content in contents if content) == graph.macs(graph.nodes)
    names = [{joined.onnx.model.nodes[node].name for node in found.nodes} for found in joined.onnx.layers]
    assert all(not found.doubtful for found in joined.onnx.layers)
    for found, nodes in zip(names[1:-1], blocks, strict=True):
        assert found <= {node.name for node in nodes}


def test_json_lists_the_nodes_of_each_block(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, graph = closed_transformer(tmp_path, has_tensors=True)
    assert main(["summary", str(tmp_path), "--onnx", str(MODEL), "--json"]) == 0
    blocks = json.loads(capsys.readouterr().out)["engines"][0]["onnx"]["blocks"]
    assert len(blocks) == 14
    for block in blocks:
        assert block["macs"] == sum(node["macs"] for node in block["nodes"])
        assert block["macs"] == sum(operator["macs"] for operator in block["operators"])
        for node in block["nodes"]:
            (written,) = (item for item in graph.nodes if item.name == node["name"])
            assert node["output_shapes"][0] == graph.shapes.get(written.output[0])
    softmax = next(node for node in blocks[1]["nodes"] if node["op"] == "Softmax")
    assert softmax["input_shapes"] == [[1, HEADS, TOKENS, TOKENS]]
    assert softmax["moved_bytes"] == 2 * 4 * HEADS * TOKENS * TOKENS


async def test_the_neighbours_show_the_nodes_of_a_block(tmp_path: Path) -> None:
    from trex_tui.old.analysis.load import LoadOptions

    closed_transformer(tmp_path, has_tensors=True)
    async with running(tmp_path, LARGE, tab="layers", options=LoadOptions(onnx=MODEL)) as session:
        await session.press("g", "j", "j", "j", "v")
        shown = screen_text(session.app)
        assert re.search(r"║ \d+ ONNX nodes +║", shown), shown
        assert re.search(r"║ +self_attention · \d+ nodes · 524 M MACs · attention", shown)
        assert re.search(r"║ +mlp · \d+ nodes · 930 M MACs · ", shown)
