"""Distinct bars and points: unique names, complete legends."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from helpers import examples
from trex_tui.old.engine import load_engine
from trex_tui.old.report.charts.catalogue import CHARTS_BY_ID
from trex_tui.old.report.charts.cells import draw
from trex_tui.old.report.charts.figure import Palette, Subject
from trex_tui.old.report.charts.grid import Line, apart, shorten
from trex_tui.old.report.charts.layer_charts import tactic_group
from trex_tui.old.report.colours import kind_style

PALETTE = Palette(kind_style, str)


def text_of(lines: tuple[Line, ...]) -> str:
    return "\n".join("".join(span.text for span in line) for line in lines)


def test_names_that_would_read_the_same_are_cut_elsewhere():
    names = [f"sm80_xmma_{'a' * 30}_tilesize{size}x64_{'b' * 30}" for size in (32, 64)]
    labels = apart([*names, "short"], 30)
    assert len(set(labels)) == 3
    assert all(len(label) <= 30 for label in labels)
    assert "tilesize32x64" in labels[0]
    assert labels[2] == "short"


KERNEL_PARTS = st.lists(
    st.sampled_from(["sm80", "f16", "nnn", "tnn", "64x64", "漢", "\x1b", "a" * 40]), max_size=9
)


@settings(max_examples=examples(200))
@given(st.lists(KERNEL_PARTS.map("_".join), max_size=12), st.integers(8, 60))
def test_no_two_shortened_names_read_the_same(names, width):
    labels = apart(names, width)
    assert len(set(labels)) == len(names)
    assert all(cell_len(label) <= width for label in labels)
    for name, label in zip(names, labels, strict=True):
        if cell_len(name) <= width and names.count(name) == 1 and name.isprintable():
            assert label == name or len({shorten(one, width) for one in names}) < len(names)


def test_kernels_of_a_real_engine_read_differently(artifacts):
    engine = load_engine(artifacts / "bev-multitask-blackwell")
    kernels = sorted({tactic_group(layer.tactic) for layer in engine.layers})
    for width in (20, 34, 46, 60):
        assert len(set(apart(kernels, width))) == len(kernels)
    labels = apart([one for one in kernels if "s64x64x16gemm_f16_f16_f32_f16_f16_64x64x64_0_" in one], 46)
    assert {label.rpartition("…")[2].split("_")[0] for label in labels} >= {"tnn", "nnn"}


@pytest.mark.parametrize("folder", ["bev-multitask-blackwell", "trex/mobilenet-qat-8.4EA"])
def test_every_kind_with_a_bar_is_in_the_legend_and_no_two_entries_look_alike(artifacts, folder):
    engine = load_engine(artifacts / folder)
    shown = {layer.kind.value for layer in engine.layers if layer.latency_ms}
    for chart in ("layers", "roofline", "efficiency"):
        form = CHARTS_BY_ID[chart].make(Subject(engine, engine.layers, PALETTE)).form
        if form is None:
            continue
        keys = form.keys
        named = [name for key in keys for name in key.text.split(", ")]
        assert len(named) == len(set(named))
        if chart == "layers":
            assert set(named) == shown
        else:
            indices = (form.target_of(place).layer for place in range(len(form.dots)))
            assert set(named) == {engine.layers[index].kind.value for index in indices}
        looks = [(key.sign, key.style.rpartition(" ")[2]) for key in keys]
        assert len(looks) == len(set(looks))
    for width in (60, 80, 120):
        text = text_of(draw(CHARTS_BY_ID["layers"], Subject(engine, engine.layers, PALETTE), width, 24).lines)
        told = {name for name in shown if re.search(rf"[■,o] {name}", text)}
        more = re.search(r"\+(\d+) more", text)
        assert len(told) + int(more[1] if more else 0) == len(shown)
        assert told == shown or width < 80
