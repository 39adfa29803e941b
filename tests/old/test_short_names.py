"""Short names: never longer than there is room for, and different for different layers."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import layer, real_sets, write_graph
from trex_tui.old.analysis.modules import module_of_name
from trex_tui.old.analysis.short_names import ShortNames, shorten_label
from trex_tui.old.artifacts import find
from trex_tui.old.engine.engine import load_set
from trex_tui.old.engine.model import Layer
from trex_tui.old.text import shorten_middle

WIDTHS = (14, 18, 25, 36, 48)


def layers_named(folder: Path, names: list[str]) -> tuple[Layer, ...]:
    path = write_graph(folder / "made.graph.json", [layer(name) for name in names])
    return load_set(find(path)[0]).layers


def ambiguous_pct(names: list[str], texts: list[str]) -> float:
    """Share of layers whose text is also that of a layer with another name."""
    named = defaultdict(set)
    for name, text in zip(names, texts, strict=True):
        named[text].add(name)
    return 100 * sum(len(named[text]) > 1 for text in texts) / max(1, len(names))


@pytest.mark.parametrize("real", real_sets())
def test_no_two_layers_of_a_real_engine_read_alike(real: Any) -> None:
    engine = load_set(find(real.path("graph"))[0])
    names = [one.name for one in engine.layers]
    short = ShortNames.of_layers(engine.layers)
    for width in WIDTHS:
        texts = [short.fit(one, width) for one in engine.layers]
        assert max(map(len, texts)) <= width
        assert ambiguous_pct(names, texts) == 0


def test_the_middle_alone_does_not_tell_layers_apart(tmp_path: Path) -> None:
    names = [f"/features/features.{n}/conv/conv.0/conv.0.2/Clip" for n in range(2, 19)]
    assert ambiguous_pct(names, [shorten_middle(name, 25) for name in names]) == 100
    layers = layers_named(tmp_path, names)
    short = ShortNames.of_layers(layers)
    assert [short.fit(one, 25) for one in layers[:2]] == ["2/conv/0/2/Clip", "3/conv/0/2/Clip"]


def test_names_of_a_large_engine_keep_the_words_that_few_have(tmp_path: Path) -> None:
    """Too many to be compared: of each, the block and the branch stay, which the middle of a cut name would lose."""
    names = [
        f"/net/stage{block // 40}/block{block}/branch{block * 7 + branch}/conv/Conv + /net/stage{block // 40}/relu/Relu"
        for block in range(400)
        for branch in range(7)
    ]
    layers = layers_named(tmp_path, names)
    short = ShortNames.of_layers(layers)
    assert short.longest is None
    for width in (18, 24, 30):
        texts = [short.fit(one, width) for one in layers]
        assert max(map(len, texts)) <= width
        assert len(set(texts)) == len(names)


@given(st.lists(st.text("ab/. +_(]0", max_size=40), min_size=1, max_size=20, unique=True), st.integers(6, 40))
def test_any_names(names: list[str], width: int) -> None:
    with TemporaryDirectory() as folder:
        layers = layers_named(Path(folder), names)
    short = ShortNames.of_layers(layers)
    texts = [short.fit(one, width) for one in layers]
    assert max(map(len, texts)) <= width
    assert len(set(texts)) == len(names)


@pytest.mark.parametrize("width", range(40))
def test_a_label_is_cut_between_words_and_to_its_width(width: int) -> None:
    label = "layer1/0/conv1/weight + QuantizeLinear_20 + Conv_22"
    assert len(shorten_label(label, width)) <= width
    assert shorten_label(label, 25) == "layer1/0/conv1/…Conv_22"


@pytest.mark.parametrize(
    ("name", "modules"),
    [
        ("/layer1/layer1.0/conv1/Conv", ("layer1", "0", "conv1")),
        ("/features/features.2/conv/conv.1/conv.1.0/Conv", ("features", "2", "conv", "1", "0")),
        ("/features/features.0/features.0.0/Conv", ("features", "0", "0")),
        ("blocks.0.0.attn.qkv.weight", ("blocks", "0", "0", "attn", "qkv")),
        ("/attn/attn/MatMul", ("attn",)),
    ],
)
def test_modules_that_a_path_repeats_count_once(name: str, modules: tuple[str, ...]) -> None:
    assert module_of_name(name) == modules


def test_a_name_of_brackets_and_capitals_takes_no_longer_than_another():
    """A pattern with two ways to read the same letters would take hours here."""
    assert module_of_name("[" + "A" * 200_000 + " ]-[/") == ()
