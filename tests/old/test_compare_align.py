"""Layers of two engines matched: real engines changed in known ways, and real pairs. A wrong pair is a failure."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from compare_cases import (
    Changed,
    aligned,
    conv,
    fused,
    load_real,
    nodes,
    pointwise,
    reformat,
    renamed,
    shuffled,
    with_permuted_names,
    without,
    write_engine,
)

from helpers import REAL_SETS, RealSet, real_sets, some
from trex_tui.old.analysis.compare import Align, Match
from trex_tui.old.analysis.compare.align import align_pair
from trex_tui.old.analysis.compare.traits import Traits
from trex_tui.old.engine.engine import Engine

BY_NAME = {one.name: one for one in REAL_SETS}
DETAILED = [one for one in real_sets(having=["graph"]) if "names-only" not in one.values[0].folder]
WITH_A_STEP = 150
"""Of engines with more layers, only some of the deletions and renames are tried, evenly spread."""


def _real(name: str, artifacts: Path) -> Engine:
    del artifacts  # only to be skipped without them
    return load_real(BY_NAME[name])


def _some(engine: Engine) -> range:
    return range(0, len(engine.layers), 1 if len(engine.layers) < WITH_A_STEP else len(engine.layers) // 6)


@pytest.mark.parametrize("source", DETAILED)
def test_with_one_layer_deleted_all_others_find_themselves(source: RealSet) -> None:
    engine = load_real(source)
    traits = Traits(engine)
    for index in _some(engine):
        changed = without(engine, index)
        found = align_pair(traits, Traits(changed.engine))
        assert changed.wrong_pairs(found) == 0, index
        assert changed.right_pairs(found) == len(engine.layers) - 1, index


@pytest.mark.parametrize("source", DETAILED)
def test_with_one_layer_renamed_it_is_found_all_the_same(source: RealSet) -> None:
    engine = load_real(source)
    traits = Traits(engine)
    for index in _some(engine):
        changed = renamed(engine, [index])
        found = align_pair(traits, Traits(changed.engine))
        assert changed.wrong_pairs(found) == 0, index
        assert changed.right_pairs(found) == len(engine.layers), index


@pytest.mark.parametrize("source", DETAILED)
def test_with_all_layers_renamed_structure_finds_them(source: RealSet) -> None:
    engine = load_real(source)
    changed = renamed(engine, range(len(engine.layers)))
    found = aligned(engine, changed.engine)
    assert changed.wrong_pairs(found) == 0
    assert changed.right_pairs(found) == len(engine.layers)


@pytest.mark.parametrize("seed", some([1, 2]))
@pytest.mark.parametrize("source", DETAILED)
def test_names_that_lie_are_refused_and_structure_finds_the_layers(source: RealSet, seed: int) -> None:
    engine = load_real(source)
    changed = with_permuted_names(engine, seed)
    found = aligned(engine, changed.engine)
    assert found.names_refused
    assert changed.wrong_pairs(found) == 0
    assert changed.right_pairs(found) >= 0.99 * len(engine.layers)


@pytest.mark.parametrize("seed", some([1, 2, 3]))
@pytest.mark.parametrize("source", DETAILED)
def test_in_any_order_layers_find_themselves(source: RealSet, seed: int) -> None:
    engine = load_real(source)
    changed = shuffled(engine, seed)
    found = aligned(engine, changed.engine)
    assert changed.wrong_pairs(found) == 0
    assert changed.right_pairs(found) == len(engine.layers)


@pytest.mark.parametrize("backwards", [False, True], ids=["joined", "split"])
@pytest.mark.parametrize("share", some([0.6, 0.1]))
@pytest.mark.parametrize("source", DETAILED)
def test_layers_fused_differently_lie_in_one_small_block(
    source: RealSet, share: float, backwards: bool
) -> None:
    engine = load_real(source)
    changed = fused(engine, share, 1)
    if backwards:
        found = aligned(changed.engine, engine)
        blocks = {
            (frozenset().union(*(changed.origins[one] for one in block.left)), frozenset(block.right))
            for block in found.pairing.blocks
        }
    else:
        found = aligned(engine, changed.engine)
        blocks = {
            (frozenset(block.left), frozenset().union(*(changed.origins[one] for one in block.right)))
            for block in found.pairing.blocks
        }
    exact = sum(ours == theirs for ours, theirs in blocks)
    assert exact >= 0.97 * len(changed.origins)
    assert all(len(block.left) + len(block.right) <= 5 for block in found.pairing.blocks)
    assert found.related


def _main_pairs(one: Engine, other: Engine, mode: Align = Align.AUTO) -> tuple[int, int, int, bool]:
    """Layers of the network's own work in both engines, and how many of them are matched."""
    found = aligned(one, other, mode)
    main = [
        [place for place, trait in enumerate(Traits(engine).of) if not trait.passive]
        for engine in (one, other)
    ]
    matched = sum(found.pairing.labels[0][layer] >= 0 for layer in main[0])
    return len(main[0]), len(main[1]), matched, found.related


@pytest.mark.parametrize(
    ("names", "matched"),
    [
        (("resnet-A100/fp32/resnet", "resnet-A100/fp16/resnet"), 23),
        (("resnet-A100/fp16/resnet", "resnet-qat"), 23),
        (("resnet-A100/fp32/resnet", "resnet-qat"), 23),
        (("tf-resnet-RTX3090/fp32/resnet", "tf-resnet-RTX3090/fp16/resnet"), 59),
        (("mobilenet-qat-8.4EA/mobilenet.qat", "mobilenet-qat-TITANRTX/mobilenet.qat"), 54),
    ],
)
@pytest.mark.parametrize("mode", [Align.AUTO, Align.SIGNATURE])
def test_all_work_of_real_pairs_is_matched(
    names: tuple[str, str], matched: int, mode: Align, artifacts: Path
) -> None:
    one, other = (_real(name, artifacts) for name in names)
    assert _main_pairs(one, other, mode) == (matched, matched, matched, True)


def test_exporters_that_spell_otherwise_are_matched_by_modules(artifacts: Path) -> None:
    """Torch-TensorRT's `[…]-[/layer1/0/conv1/convolution]` against the weights in names of TensorRT 8.4."""
    one, other = _real("resnet-qat", artifacts), _real("torch_trt-resnet18", artifacts)
    assert _main_pairs(one, other) == (23, 23, 23, True)
    assert Counter(block.match for block in aligned(one, other).pairing.blocks)[Match.ONNX] == 21


def _convolutions(engine: Engine) -> list[int]:
    return [layer.index for layer in engine.layers if layer.kind.value == "convolution"]


@pytest.mark.parametrize(
    "names", [("resnet-A100/fp16/resnet", "resnet-qat"), ("resnet18_fp16", "resnet-qat")]
)
def test_convolutions_of_one_network_pair_over_precisions_versions_and_exporters(
    names: tuple[str, str], artifacts: Path
) -> None:
    """ResNet-18 has its convolutions in the same order in both files; the 21st is the fully connected layer."""
    one, other = (_real(name, artifacts) for name in names)
    pairing = aligned(one, other).pairing
    partner = {block.left[0]: block.right[0] for block in pairing.blocks}
    ours, theirs = _convolutions(one)[:20], _convolutions(other)[:20]
    # downsample and second convolution of a block may run in either order: compare by shape and attributes as well
    assert len(partner.keys() & set(ours)) == 20
    for left in ours:
        first, second = one.layers[left], other.layers[partner[left]]
        assert first.outputs[0].shape[1:] == second.outputs[0].shape[1:]
        assert first.attributes["Kernel"] == second.attributes["Kernel"]
        assert partner[left] in theirs
    assert len(set(partner.values())) == len(partner)


def test_modules_named_by_weights_and_by_nodes_are_the_same(artifacts: Path) -> None:
    """`layer1.0.conv1.weight + … + Conv_22` of TensorRT 8.4 is `/layer1/layer1.0/conv1/Conv + …` of 10.4."""
    one, other = _real("resnet18_fp16", artifacts), _real("resnet-qat", artifacts)
    pairing = aligned(one, other).pairing
    by_nodes = [block for block in pairing.blocks if block.match is Match.ONNX]
    assert len(by_nodes) == 21
    for block in by_nodes:
        module = other.layers[block.right[0]].name.split(".weight")[0]
        path = one.layers[block.left[0]].onnx_nodes[0]
        path = path.strip("/").removesuffix("/Conv").removesuffix("/Gemm")
        assert path.split("/")[-1].split(".")[-1] == module.split(".")[-1]


@pytest.mark.parametrize("mode", list(Align))
@pytest.mark.parametrize(
    "names", [("alexnet_fp16", "resnet18_fp16"), ("resnet-qat", "mobilenet-qat-TITANRTX/mobilenet.qat")]
)
def test_engines_of_different_models_are_unrelated(
    names: tuple[str, str], mode: Align, artifacts: Path
) -> None:
    found = aligned(*(_real(name, artifacts) for name in names), mode)
    assert not found.related


def test_a_builder_that_inserts_q_dq_and_spells_otherwise(tmp_path: Path) -> None:
    plain = [
        conv(
            "/s/s.0/conv/Conv + /s/s.0/relu/Relu",
            "x",
            "a",
            Metadata=nodes("/s/s.0/conv/Conv", "/s/s.0/relu/Relu"),
        ),
        conv("/s/s.1/conv/Conv", "a", "b", 32, Metadata=nodes("/s/s.1/conv/Conv")),
    ]
    int8 = [
        reformat("/s/s.0/input_quantizer/QuantizeLinear", "x", "q0"),
        conv(
            "s.0.conv.weight + /s/s_0/weight_quantizer/QuantizeLinear + /s/s_0/conv/Conv_myl0_1",
            "q0",
            "r",
            dtype="Int8",
        ),
        pointwise("PWN(/s/s_0/relu/Relu)", "r", "a", dtype="Int8"),
        conv("/s/s_1/conv/Conv_myl0_3", "a", "b", 32, dtype="Int8"),
    ]
    one = write_engine(tmp_path / "a", plain, bindings=["x", "b"])
    other = write_engine(tmp_path / "b", int8, bindings=["x", "b"])
    pairing = aligned(one, other).pairing
    assert sorted((tuple(block.left), tuple(block.right)) for block in pairing.blocks) == [
        ((0,), (1, 2)),
        ((1,), (3,)),
    ]
    assert {block.match for block in pairing.blocks} == {Match.ONNX, Match.NAME}
    assert list(pairing.open(1)) == [0]


def test_an_opaque_subgraph_is_all_that_lies_between_its_ends(tmp_path: Path) -> None:
    opaque = [
        conv("/in/Conv", "x", "a"),
        conv("{ForeignNode[/b/Mul.../d/Add]}", "a", "d"),
        conv("/out/Conv", "d", "y", 32),
    ]
    opaque[1]["LayerType"] = "Myelin"
    apart = [
        conv("/in/Conv", "x", "a"),
        pointwise("/b/Mul", "a", "b"),
        pointwise("/c/Sigmoid", "b", "c"),
        pointwise("/d/Add", "c", "d"),
        conv("/out/Conv", "d", "y", 32),
    ]
    one, other = write_engine(tmp_path / "a", opaque), write_engine(tmp_path / "b", apart)
    for left, right, wanted in ((one, other, ([1], [1, 2, 3])), (other, one, ([1, 2, 3], [1]))):
        blocks = [(block.left, block.right) for block in aligned(left, right).pairing.blocks]
        assert wanted in blocks
        assert len(blocks) == 3


def test_modes_use_the_evidence_they_name_only(tmp_path: Path) -> None:
    one = write_engine(
        tmp_path / "a",
        [conv("/a/Conv", "x", "a"), conv("/b/Conv", "a", "b", 32), conv("c", "b", "c", 16)],
    )
    other = write_engine(
        tmp_path / "b",
        [conv("/a/Conv", "x", "a"), conv("/b/Conv + /b/Relu", "a", "b", 32), conv("changed", "b", "c", 16)],
    )

    def found(mode: Align) -> list[tuple[int, int, str]]:
        blocks = aligned(one, other, mode).pairing.blocks
        return sorted((block.left[0], block.right[0], block.match.value) for block in blocks)

    assert found(Align.NAME) == [(0, 0, "name")]
    assert found(Align.ONNX) == [(0, 0, "onnx"), (1, 1, "onnx")]
    assert found(Align.AUTO) == [(0, 0, "name"), (1, 1, "onnx"), (2, 2, "structure")]
    assert found(Align.SIGNATURE) == [(0, 0, "structure"), (1, 1, "structure"), (2, 2, "structure")]


def test_numbers_that_two_exports_share_by_chance_match_nothing(tmp_path: Path) -> None:
    """`Conv_1` of one export is `Conv_0` of the other: names agree, kernels do not."""
    widths = [8, 16, 24, 32, 48, 64]
    tensors = [f"t{place}" for place in range(8)]
    one = write_engine(
        tmp_path / "a",
        [
            conv(f"Conv_{place}", tensors[place], tensors[place + 1], width)
            for place, width in enumerate(widths)
        ],
    )
    other = write_engine(
        tmp_path / "b",
        [
            conv(f"Conv_{place + 1}", tensors[place], tensors[place + 1], width)
            for place, width in enumerate(widths)
        ],
    )
    found = aligned(one, other)
    assert found.names_refused
    assert all(block.left == block.right for block in found.pairing.blocks)
    assert len(found.pairing.blocks) == len(widths)


def test_of_twins_with_one_missing_nothing_tells_which(tmp_path: Path) -> None:
    """Three like branches against two, without names: no pair is made up."""
    three = [conv(f"a{place}", "x", f"a{place}") for place in range(3)]
    two = [conv(f"b{place}", "x", f"b{place}") for place in range(2)]
    found = aligned(write_engine(tmp_path / "a", three), write_engine(tmp_path / "b", two))
    assert not found.pairing.blocks


def test_evidence_of_the_real_pairs(artifacts: Path) -> None:
    """The figures that the documents state."""
    one, other = _real("resnet-A100/fp32/resnet", artifacts), _real("resnet-A100/fp16/resnet", artifacts)
    matches = Counter(block.match for block in aligned(one, other).pairing.blocks)
    assert matches == {Match.NAME: 26, Match.SIGNATURE: 1}
    qat = _real("resnet-qat", artifacts)
    assert Counter(block.match for block in aligned(other, qat).pairing.blocks) == {Match.STRUCTURE: 23}


def test_a_case_knows_a_wrong_pair(artifacts: Path) -> None:
    """The measure itself: against swapped truth every pair is wrong."""
    engine = _real("resnet-qat", artifacts)
    count = len(engine.layers)
    lies = Changed(engine, tuple(frozenset([count - 1 - place]) for place in range(count)))
    assert lies.wrong_pairs(aligned(engine, engine)) == count - count % 2
