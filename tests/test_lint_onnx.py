"""Rules that use the ONNX model. No public engine with attention comes with its model: engines and models are made here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers import ARTIFACTS
from lint_kit_small import check, engine_of, layer, only, silent, unchecked
from trex_tui.api import load_engine
from trex_tui.engine.layer_words import OPEN_BLOCK
from trex_tui.engine.model import Engine
from trex_tui.engine.onnx_join import join_onnx
from trex_tui.lint.rule import Confidence
from trex_tui.lint.run import run_rules

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402 - behind the check

Link = tuple[str, str, list[str], list[str]]
"""Operator, name, inputs and outputs of a node."""

ATTENTION: list[Link] = [
    ("MatMul", "score", ["q", "k"], ["s"]),
    ("Mul", "scale", ["s", "c"], ["m"]),
    ("Softmax", "softmax", ["m"], ["p"]),
    ("MatMul", "value", ["p", "v"], ["y"]),
]
NORM: list[Link] = [
    ("ReduceMean", "mean", ["x"], ["mean"]),
    ("Sub", "sub", ["x", "mean"], ["d"]),
    ("Pow", "pow", ["d", "two"], ["d2"]),
    ("ReduceMean", "variance", ["d2"], ["var"]),
    ("Add", "epsilon", ["var", "eps"], ["ve"]),
    ("Sqrt", "root", ["ve"], ["r"]),
    ("Div", "norm", ["d", "r"], ["y"]),
]


def joined(
    tmp_path: Path,
    nodes: list[Link],
    layers: list[tuple[str, list[str], list[str]]],
    times: list[float],
    extent: int | str = 4,
) -> Engine:
    """An engine of these layers, joined to a model of these nodes; `w…`, `c`, `two` and `eps` are constants."""
    written = {tensor for _, _, _, outputs in nodes for tensor in outputs}
    read = {tensor for _, _, inputs, _ in nodes for tensor in inputs}
    constants = {name for name in read if name[0] == "w" or name in ("c", "two", "eps")}
    shape: list[int | str] = [2, extent, 8]

    def info(name: str) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    graph = helper.make_graph(
        [helper.make_node(op, inputs, outputs, name) for op, name, inputs, outputs in nodes],
        "net",
        [info(name) for name in sorted(read - written - constants)],
        [info(name) for name in sorted(written - read)],
        [helper.make_tensor(name, TensorProto.FLOAT, [8], [1.0] * 8) for name in sorted(constants)],
    )
    path = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)

    def tensors(names: list[str]) -> list[dict[str, Any]]:
        return [{"Name": name, "Dimensions": [2, 4, 8], "Format/Datatype": "Half"} for name in names]

    listed = [
        layer(name, "Myelin" if "Foreign" in name else "kgen", tensors(inputs), tensors(outputs))
        for name, inputs, outputs in layers
    ]
    engine = join_onnx(engine_of(listed, ["x", "y"], times=times), path)
    assert engine.onnx is not None, engine.notes
    return engine


def test_attention_in_several_kernels(tmp_path: Path) -> None:
    layers = [
        ("score", ["q", "k"], ["s"]),
        ("scale + softmax", ["s"], ["p"]),
        ("value", ["p", "v"], ["y"]),
    ]
    found = only("ONNX001", joined(tmp_path, ATTENTION, layers, [1.0, 0.5, 1.0]))
    assert found.layers == (0, 1, 2)
    assert found.savings_ms == {1: 0.5}
    assert found.confidence is Confidence.HIGH
    assert "runs as 3 kernels (2.5 ms" in found.message
    evidence = dict(found.evidence)
    assert evidence["nodes"] == "score, softmax, value"
    assert (evidence["kernels"], evidence["kernels_ms"]) == (3, 2.5)
    silent("ONNX001", joined(tmp_path, ATTENTION, [("score + scale + softmax + value", ["q"], ["y"])], [1.0]))


def test_attention_cut_by_the_border_of_a_closed_block(tmp_path: Path) -> None:
    layers = [("{ForeignNode[score...softmax]}", ["q", "k"], ["p"]), ("value", ["p", "v"], ["y"])]
    found = only("ONNX001", joined(tmp_path, ATTENTION, layers, [2.0, 1.0]))
    assert found.layers == (0, 1)
    assert found.saving_ms is None  # the block has a product too
    assert found.confidence is Confidence.MEDIUM
    assert found.remedy.endswith(OPEN_BLOCK)


def test_what_is_whole_in_a_closed_block_is_not_checked(tmp_path: Path) -> None:
    engine = joined(tmp_path, ATTENTION, [("{ForeignNode[score...value]}", ["q", "k", "v"], ["y"])], [3.0])
    assert unchecked("ONNX001", engine) == f"1 attention is whole in a closed block. {OPEN_BLOCK}"
    engine = joined(tmp_path, NORM, [("{ForeignNode[mean...norm]}", ["x"], ["y"])], [3.0])
    assert unchecked("ONNX002", engine) == f"1 normalization is whole in a closed block. {OPEN_BLOCK}"


def test_a_normalization_in_several_kernels(tmp_path: Path) -> None:
    layers = [
        ("mean + sub", ["x"], ["d"]),
        ("pow + variance", ["d"], ["var"]),
        ("epsilon + root + norm", ["var", "d"], ["y"]),
    ]
    found = only("ONNX002", joined(tmp_path, NORM, layers, [0.1, 0.2, 0.3]))
    assert found.layers == (0, 1, 2)
    assert found.savings_ms == {0: 0.1, 1: 0.2}
    assert "The layer norm at" in found.message
    whole = [("mean + sub + pow + variance + epsilon + root + norm", ["x"], ["y"])]
    silent("ONNX002", joined(tmp_path, NORM, whole, [0.3]))


def test_several_normalizations_are_one_finding(tmp_path: Path) -> None:
    from trex_tui.lint.config import LintConfig

    shared = ("two", "eps")
    second: list[Link] = [
        (
            op,
            f"{name}_b",
            ["y" if i == "x" else i if i in shared else f"{i}_b" for i in inputs],
            [f"{outputs[0]}_b"],
        )
        for op, name, inputs, outputs in NORM
    ]
    layers = [
        ("mean + sub", ["x"], ["d"]),
        ("pow + variance + epsilon + root + norm", ["d"], ["y"]),
        ("mean_b + sub_b", ["y"], ["d_b"]),
        ("pow_b + variance_b + epsilon_b + root_b + norm_b", ["d_b"], ["y_b"]),
    ]
    engine = joined(tmp_path, NORM + second, layers, [0.2, 0.3, 0.2, 0.3])
    result = run_rules(engine, LintConfig(select=("ONNX002",)))
    (found,) = result.findings
    assert found.layers == (0, 1, 2, 3)
    assert found.message.startswith("2 normalizations of the model run as several kernels: 1 ms")


def test_constants_that_are_computed_in_every_run(tmp_path: Path) -> None:
    nodes: list[Link] = [
        ("Transpose", "turn", ["w1"], ["t"]),
        ("Mul", "double", ["t", "w2"], ["u"]),
        ("Add", "sum", ["x", "u"], ["y"]),
    ]
    layers = [("turn + double", ["w1"], ["u"]), ("sum", ["x", "u"], ["y"])]
    found = only("ONNX003", joined(tmp_path, nodes, layers, [0.4, 0.6]))
    assert found.layers == (0,)
    assert found.savings_ms == {0: 0.4}
    assert "computes 2 constant nodes" in found.message
    silent("ONNX003", joined(tmp_path, nodes, layers, [0.0, 0.6]))
    silent("ONNX003", joined(tmp_path, nodes, [("turn + double + sum", ["x"], ["y"])], [0.6]))


@pytest.mark.parametrize(("extent", "count"), [(4, 1), ("sequence", 0)])
def test_shapes_are_constants_only_where_the_model_fixes_them(
    tmp_path: Path, extent: int | str, count: int
) -> None:
    nodes: list[Link] = [
        ("Shape", "shape", ["x"], ["t"]),
        ("Cast", "cast", ["t"], ["u"]),
        ("Reshape", "reshape", ["x", "t"], ["y"]),
    ]
    layers = [("shape + cast", ["x"], ["u"]), ("reshape", ["x", "t"], ["y"])]
    engine = joined(tmp_path, nodes[:1] + nodes[2:], [("shape", ["x"], ["t"]), layers[1]], [0.4, 0.6], extent)
    assert len(check("ONNX003", engine)[0]) == count


def test_without_a_model_nothing_is_checked() -> None:
    engine = engine_of([layer("a", "kgen", [], [])], times=[1.0])
    for rule in ("ONNX001", "ONNX002", "ONNX003"):
        assert unchecked(rule, engine) == "no ONNX model: name it with --onnx"


@pytest.mark.skipif(not (ARTIFACTS / "onnx").is_dir(), reason="no real models")
@pytest.mark.parametrize("name", ["alexnet", "resnet18", "mobilenet_v2"])
def test_nothing_is_found_in_real_engines_without_attention_and_norms(name: str) -> None:
    engine = load_engine(ARTIFACTS / "edge-vision" / "results" / name)
    joined_engine = join_onnx(engine, ARTIFACTS / "onnx" / f"{name}.onnx")
    assert joined_engine.onnx is not None
    for rule in ("ONNX001", "ONNX002", "ONNX003"):
        silent(rule, replace(joined_engine))
