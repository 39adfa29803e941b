"""Names of layers, taken apart: the spellings of TensorRT's versions name the same nodes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trex_tui.old.analysis.compare.names import (
    CONSTANT,
    HEAVY,
    LIGHT,
    canonical,
    find_prefixes,
    nodes_in,
    parse_nodes,
    parse_rename,
    replace_prefix,
    take_apart,
)
from trex_tui.old.errors import TrexError


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Conv_0 + Relu_1", {"Conv_0", "Relu_1"}),
        ("/a/Conv || /b/Conv", {"a/Conv", "b/Conv", "@a", "@b"}),
        ("PWN(PWN(/a/Sigmoid), /a/Mul)", {"a/Sigmoid", "a/Mul"}),
        ("Conv_12 + PWN(Clip_16)", {"Conv_12", "Clip_16"}),
        ("/a.1/MatMul+/b/MatMul_myl8_2", {"a_1/MatMul", "@a_1", "b/MatMul", "@b"}),
        (
            "/classifier/classifier_1/Gemm_myl9_2",
            {"classifier_1/Gemm", "@classifier_1"},
        ),
        (
            "[CONVOLUTION]-[aten_ops.convolution.default]-[/layer3/0/conv2/convolution_11] + "
            "[RELU]-[aten_ops.relu.default]-[/layer3/0/relu]",
            {"layer3_0_conv2/convolution_11", "@layer3_0_conv2", "layer3_0/relu"},
        ),
        ("(Unnamed Layer* 306) [Shuffle] + fc.bias", {"(Unnamed 306 Shuffle)", "fc/bias", "@fc"}),
    ],
)
def test_a_name_lists_its_nodes(name: str, found: set[str]) -> None:
    assert set(nodes_in(name)) == found


def test_the_main_operator_weighs_most_and_constants_least() -> None:
    weights = nodes_in("layer1.0.conv1.weight + QuantizeLinear_20 + /layer1/Conv + /layer1/Relu")
    assert weights["layer1/Conv"] == HEAVY
    assert weights["layer1/Relu"] == LIGHT
    assert weights["layer1_0_conv1/weight"] == weights["QuantizeLinear_20"] == CONSTANT


def test_a_weight_and_a_node_name_the_same_module() -> None:
    weight = nodes_in("layer1.0.conv1.weight + QuantizeLinear_20 + Conv_22")
    node = parse_nodes(("/layer1/layer1.0/conv1/Conv", "/layer1/layer1.0/relu/Relu"))
    torch = nodes_in("[CONVOLUTION]-[aten_ops.convolution.default]-[/layer1/0/conv1/convolution_1]")
    assert "@layer1_0_conv1" in weight.keys() & node.keys() & torch.keys()


@pytest.mark.parametrize(
    "names",
    [
        ("/layer1/layer1.0/conv1/Conv", "/layer1/0/conv1/Conv", "/module/layer1/layer1.0/conv1/Conv"),
        ("/features/features.0/features.0.0/Conv", "/features/0/0/Conv", "/_orig_mod/features/0/0/Conv"),
        ("/classifier/classifier.1/Gemm", "/classifier/classifier_1/Gemm_myl9_2", "/classifier/1/Gemm"),
        ("resnet50/conv2_block1_1_conv/Conv2D", "resnet50/quant_conv2_block1_1_conv/Conv2D"),
        ("PWN(/layer1/layer1.0/relu/Relu)", "/layer1/0/relu/Relu"),
    ],
)
def test_exporters_spell_a_node_alike(names: tuple[str, ...]) -> None:
    assert len({canonical(name) for name in names}) == 1


def test_modules_of_different_places_stay_apart() -> None:
    names = ["/layer1/layer1.0/conv1/Conv", "/layer1/layer1.1/conv1/Conv", "/layer2/layer2.0/conv1/Conv"]
    names += ["/layer1/layer1.0/conv2/Conv", "/layer1/layer1.0/conv1/Relu", "/0/0/Conv", "/0/Conv"]
    assert len({canonical(name) for name in names}) == len(names)


def test_prefixes_that_one_export_has_are_found_by_unique_ends() -> None:
    plain = [
        f"layer{stage}_{block}_conv{part}/Conv" for stage in (1, 2) for block in (0, 1) for part in (1, 2)
    ]
    wrapped = [f"wrapper_{node}" for node in plain]
    assert find_prefixes(plain, wrapped) == ({}, {"wrapper": ""})
    assert find_prefixes(wrapped, plain) == ({"wrapper": ""}, {})
    assert find_prefixes(plain, plain) == ({}, {})
    assert [replace_prefix(node, {"wrapper": ""}) for node in (*wrapped, "@wrapper_fc", "wrappers/Conv")] == [
        *plain,
        "@fc",
        "wrappers/Conv",
    ]


@pytest.mark.parametrize(
    ("text", "name", "renamed"),
    [
        ("s/^.backbone//", "/backbone/conv/Conv", "/conv/Conv"),
        ("s|/wrapper/|/|g", "/wrapper/a/Conv + /wrapper/a/Relu", "/a/Conv + /a/Relu"),
        (r"s/block(\d)/stage\1/", "/block3/Conv", "/stage3/Conv"),
        (r"s/a\/b/c/", "/a/b/Conv", "/c/Conv"),
    ],
)
def test_a_rename_is_a_substitution(text: str, name: str, renamed: str) -> None:
    assert parse_rename(text).apply(name) == renamed


@pytest.mark.parametrize(
    "text", ["", "s", "s/a", "s/a/b", "x/a/b/", "s/a/b/c", "s//b/", "s/(/b/", r"s/a/\1/", "sabaca"]
)
def test_another_form_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(TrexError, match="rename"):
        parse_rename(text)


@pytest.mark.parametrize(
    ("name", "role", "served"),
    [
        ("Reformatting CopyNode for Input Tensor 1 to Conv_5 + Add_6", "input 1", "Conv_5 + Add_6"),
        ("Reformatting CopyNode for Output Tensor 0 to /a.1/Conv", "output 0", "a_1/Conv"),
        ("copied_squeeze_after_Gemm_48", "squeeze_after", "Gemm_48"),
        ("reshape_before_Gemm_48", "reshape_before", "Gemm_48"),
        ("/emb/Gemm_copy_input", "copy_input", "emb/Gemm"),
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
    assert (first, last) == ({"a/Cast"}, {"z/Add", "z/Relu"})


@given(st.text(max_size=200))
def test_any_text_is_a_name(name: str) -> None:
    parts = take_apart(name)
    assert parts == take_apart(name)
    assert all(weight > 0 for weight in parts.nodes.values())
    assert canonical(canonical(name)) == canonical(canonical(canonical(name)))
