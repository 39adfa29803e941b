"""The ONNX nodes of each layer."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import ARTIFACTS, REPOSITORY, layer, tensor, write_graph
from trex_tui.api import full_frame, load_engine
from trex_tui.engine.model import Engine
from trex_tui.errors import Severity
from trex_tui.frames import plain_values

onnx = pytest.importorskip("onnx", reason="the extra onnx is not installed")
MODELS = ARTIFACTS / "onnx"
needs_models = pytest.mark.skipif(not MODELS.is_dir(), reason="no ONNX models among the artifacts")


def _write_model(path: Path) -> Path:
    """Conv → Relu → Flatten → Gemm, of 1×2×4×4."""
    from onnx import TensorProto, helper

    value = helper.make_tensor_value_info
    constants = [
        helper.make_tensor("w", TensorProto.FLOAT, [3, 2, 3, 3], [0.5] * 54),
        helper.make_tensor("m", TensorProto.FLOAT, [12, 5], [0.5] * 60),
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "/stem/Conv"),
        helper.make_node("Relu", ["c"], ["r"], "/stem/Relu"),
        helper.make_node("Flatten", ["r"], ["f"], "/Flatten"),
        helper.make_node("MatMul", ["f", "m"], ["y"], "/head/MatMul"),
    ]
    inputs, outputs = [value("x", TensorProto.FLOAT, [1, 2, 4, 4])], [value("y", TensorProto.FLOAT, [1, 5])]
    onnx.save(helper.make_model(helper.make_graph(nodes, "net", inputs, outputs, constants)), path)
    return path


def _engine(folder: Path, *names: str, **more: object) -> Path:
    raw = [
        layer(name, "CaskConvolution", [tensor(f"t{place}", 1)], [tensor(f"t{place + 1}", 1)], **more)
        for place, name in enumerate(names)
    ]
    return write_graph(folder / "net.graph.json", raw)


def _load(folder: Path, *names: str) -> Engine:
    return load_engine(_engine(folder, *names), onnx=_write_model(folder / "net.onnx"))


def test_nodes_by_name(tmp_path: Path) -> None:
    engine = _load(tmp_path, "/stem/Conv + /stem/Relu", "reshape_before_/head/MatMul", "/head/MatMul")
    assert engine.layers["onnx_nodes"].tolist() == [("/stem/Conv", "/stem/Relu"), (), ("/head/MatMul",)]
    frame = full_frame(engine)
    assert plain_values(frame["onnx_evidence"]) == ["name", None, "name"]
    assert plain_values(frame["onnx_ops"]) == [("Conv", "Relu"), None, ("MatMul",)]
    assert plain_values(frame["onnx_macs"]) == [3 * 2 * 2 * 2 * 9, None, 12 * 5]
    assert plain_values(frame["onnx_params"]) == [54, None, 60]
    assert plain_values(frame["onnx_params_bytes"]) == [216, None, 240]
    assert engine.onnx.holders[0] == (0,)
    assert [node.op for node in engine.onnx.nodes(0)] == ["Conv", "Relu"]
    assert not [note for note in engine.notes if note.severity is Severity.ERROR]


@needs_models
@pytest.mark.parametrize(("name", "stated"), [("alexnet", 19), ("resnet18", 48)])
def test_every_node_that_a_real_engine_states_is_in_its_model(name: str, stated: int) -> None:
    folder = REPOSITORY / "sample_artifacts" / name
    engine = load_engine(folder, onnx=MODELS / f"{name}.onnx")
    nodes = {node for nodes in engine.layers["onnx_nodes"] for node in nodes}
    assert len(nodes) == stated
    assert engine.onnx.missing == ()
    assert engine.onnx.unplaced == () or all(
        engine.onnx.model.nodes[index].op not in ("Conv", "Gemm", "MatMul") for index in engine.onnx.unplaced
    )
    frame = full_frame(engine)
    both = frame[frame["macs"].notna() & frame["onnx_macs"].notna()]
    assert (both["macs"] == both["onnx_macs"]).all()
