"""Names of layers, taken apart: the spellings of TensorRT's versions name the same nodes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trex_tui.analysis.compare.traits import (
    CONSTANT,
    HEAVY,
    LIGHT,
    canonical,
    nodes_in,
    parse_nodes,
    take_apart,
)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Conv_0 + Relu_1", {"Conv_0", "Relu_1"}),
        ("/a/Conv || /b/Conv", {"/a/Conv", "/b/Conv", "@a", "@b"}),
        ("PWN(PWN(/a/Sigmoid), /a/Mul)", {"/a/Sigmoid", "/a/Mul"}),
        ("Conv_12 + PWN(Clip_16)", {"Conv_12", "Clip_16"}),
        ("/a.1/MatMul+/b/MatMul_myl8_2", {"/a_1/MatMul", "@a_1", "/b/MatMul", "@b"}),
        (
            "/classifier/classifier_1/Gemm_myl9_2",
            {"/classifier/classifier_1/Gemm", "@classifier_classifier_1"},
        ),
        (
            "[CONVOLUTION]-[aten_ops.convolution.default]-[/layer3/0/conv2/convolution_11] + "
            "[RELU]-[aten_ops.relu.default]-[/layer3/0/relu]",
            {"/layer3/0/conv2/convolution_11", "@layer3_0_conv2", "/layer3/0/relu"},
        ),
        ("(Unnamed Layer* 306) [Shuffle] + fc.bias", {"(Unnamed 306 Shuffle)", "fc_bias", "@fc"}),
    ],
)
def test_a_name_lists_its_nodes(name: str, found: set[str]) -> None:
    assert set(nodes_in(name)) == found


def test_the_main_operator_weighs_most_and_constants_least() -> None:
    weights = nodes_in("layer1.0.conv1.weight + QuantizeLinear_20 + /layer1/Conv + /layer1/Relu")
    assert weights["/layer1/Conv"] == HEAVY
    assert weights["/layer1/Relu"] == LIGHT
    assert weights["layer1_0_conv1_weight"] == weights["QuantizeLinear_20"] == CONSTANT


def test_a_weight_and_a_node_name_the_same_module() -> None:
    weight = nodes_in("layer1.0.conv1.weight + QuantizeLinear_20 + Conv_22")
    node = parse_nodes(("/layer1/layer1.0/conv1/Conv", "/layer1/layer1.0/relu/Relu"))
    torch = nodes_in("[CONVOLUTION]-[aten_ops.convolution.default]-[/layer1/0/conv1/convolution_1]")
    assert "@layer1_0_conv1" in weight.keys() & node.keys() & torch.keys()


@pytest.mark.parametrize(
    ("name", "role", "served"),
    [
        ("Reformatting CopyNode for Input Tensor 1 to Conv_5 + Add_6", "input 1", "Conv_5 + Add_6"),
        ("Reformatting CopyNode for Output Tensor 0 to /a.1/Conv", "output 0", "/a_1/Conv"),
        ("copied_squeeze_after_Gemm_48", "squeeze_after", "Gemm_48"),
        ("reshape_before_Gemm_48", "reshape_before", "Gemm_48"),
        ("/emb/Gemm_copy_input", "copy_input", "/emb/Gemm"),
        ("Conv_5", "", ""),
    ],
)
def test_an_inserted_layer_names_what_it_serves(name: str, role: str, served: str) -> None:
    parts = take_apart(name)
    assert (parts.role, parts.served) == (role, served)


def test_numbers_of_the_build_are_no_part_of_a_name() -> None:
    assert canonical("__myl_CastMulAdd_myl8_464") == canonical("__myl_CastMulAdd_myl0_3")
    assert canonical("dummy_shape_call__mye622_0_myl9_0") == canonical("dummy_shape_call__mye31_0_myl2_7")
    assert canonical("Conv_0 [profile 1]") == "Conv_0"
    assert take_apart("__myl_CastMulAdd_myl8_464").generic
    assert not take_apart("/a/Conv_myl8_464").generic


def test_an_opaque_subgraph_names_its_ends() -> None:
    first, last = take_apart("{ForeignNode[/a/Cast.../z/Add + /z/Relu]}").ends
    assert (first, last) == ({"/a/Cast"}, {"/z/Add", "/z/Relu"})


@given(st.text(max_size=200))
def test_any_text_is_a_name(name: str) -> None:
    parts = take_apart(name)
    assert parts == take_apart(name)
    assert all(weight > 0 for weight in parts.nodes.values())
    assert canonical(canonical(name)) == canonical(canonical(canonical(name)))
