"""Text and order of blocks on the Compare screen, without a terminal; and the user's choice of engines to compare."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from math import fsum

import pytest
from comparing import BARE, FP16, INT8, four_engines, two_engines, write_int8
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.geometry import Size

from small_engines import CONV, raw_layer, write_set
from trex_tui.__main__ import main
from trex_tui.old.analysis.compare import Pin, compare
from trex_tui.old.analysis.compare.model import Change, ChangeKind
from trex_tui.old.analysis.compare.reasons import CAUSE_NAMES
from trex_tui.old.analysis.filter import filter_layers
from trex_tui.old.engine import load_engine, load_engines
from trex_tui.old.errors import TrexError
from trex_tui.old.report.chart_file import NO_COLOURS, draw_text
from trex_tui.old.report.charts.figure import Subject
from trex_tui.old.report.charts.svg_painter import picture
from trex_tui.old.report.views.compare import (
    Matrix,
    Shown,
    describe_changes,
    filtered,
    find_rows,
    overview_sections,
    signed_ms,
)
from trex_tui.old.report.views.compare_charts import comparison_charts, find_chart
from trex_tui.old.report.views.compare_story import (
    Goal,
    block_story,
    describe_block,
    describe_engines,
    describe_formats,
    describe_layer,
    describe_sums,
    format_delta_ms,
    format_ratio,
    is_changed,
    overview_story,
)
from trex_tui.old.screens.compare_job import Choice, Tie, find_engine_index, is_same_set, leads_to, make_pins
from trex_tui.old.screens.reload import find_paths
from trex_tui.old.text import MISSING
from trex_tui.old.widgets.block_table import ORDER, SIZE, Order, ordered, orders
from trex_tui.old.widgets.chrome import TabBar


@pytest.fixture
def pair(tmp_path):
    """The comparison of `fp16` and `int8`."""
    two_engines(tmp_path)
    return compare([load_engine(tmp_path / FP16), load_engine(tmp_path / INT8)])


@pytest.fixture
def four(tmp_path):
    """The comparison of four, one of them without times."""
    found = {engine.name: engine for engine in load_engines(four_engines(tmp_path))}
    return compare([found[name] for name in (FP16, INT8, "other", BARE)])


# Numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.0, "0.0000"), (0.00001, "0.0000"), (0.0123, "▲ +0.0123"), (-1.5, "▼ −1.5000")],
)
def test_a_difference_has_sign_and_shape(value, text):
    assert format_delta_ms(value) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (None, "–"),
        (1.0, "0.0 %"),
        (1.00001, "0.0 %"),
        (0.5, "−50.0 %"),
        (0.0, "−100.0 %"),
        (2.25, "+125.0 %"),
        (250.0, "250×"),
    ],
)
def test_a_ratio_is_a_change_in_percent(ratio, text):
    assert format_ratio(ratio) == text


# Lines


def test_title_fits_and_names_give_way(pair, four):
    whole = describe_engines(pair, 200)
    assert whole.endswith("A fp16 0.9500 ms · B int8 0.8000 ms: faster −0.1500 ms (−15.8 %)")
    assert describe_engines(pair, 70).endswith("A fp16 0.9500 ms · B int8 0.8000 ms: faster (−15.8 %)")
    assert whole.startswith("⚠ 2 cautions")
    long = replace(pair, sides=tuple(replace(side, label=side.label * 40) for side in pair.sides))
    for width in (78, 100, 158):
        assert cell_len(describe_engines(long, width)) <= width
    assert "D bare: no verdict" in describe_engines(four, 200)


def test_sums_are_of_what_is_shown(pair):
    words = describe_sums(pair, pair.blocks)
    assert words.startswith("10 blocks · A 0.9150 · B 0.7400 · Δ −0.1750 ms")
    assert words.endswith("2 layers without a time excluded")
    some = [block for block in pair.blocks if block.index % 2]
    shown = fsum(block.latency_ms[0] or 0.0 for block in some)
    assert f"A {shown:.4f}/0.9150" in describe_sums(pair, some)
    assert describe_sums(pair, some, only_changed=True).startswith(f"{len(some)} of 10 changed · ")
    assert describe_sums(pair, []).startswith("0 of 10 blocks · A –/0.9150")


@pytest.mark.parametrize("width", [30, 50, 76, 120])
@pytest.mark.parametrize("matrix", Matrix)
def test_totals_stand_in_columns_and_add_up(four, matrix, width):
    story = overview_story(four, matrix, width)
    assert story.totals is not None
    table = [line.text for line in story.lines[story.totals + 1 :]]
    assert len({cell_len(line) for line in table}) == 1
    least = 8 + 4 * 8 + 11  # a name, four times and a delta
    assert cell_len(table[0]) <= max(width, least)
    rows = {Matrix.KIND: four.by_kind, Matrix.PRECISION: four.by_precision, Matrix.MODULE: four.by_module}
    assert len(table) == len(rows[matrix]) + 2
    for place in (0, 1, 2):
        column = fsum(_times(row)[place] for row in table[1:-1])
        assert column == pytest.approx(_times(table[-1])[place], abs=1e-3)


def _times(line: str) -> list[float]:
    """The times in a row, which stand behind a name without digits; what is unknown adds nothing."""
    words = line.split()
    start = next(place for place, word in enumerate(words) if word[:1].isdigit() or word == "–")
    return [0.0 if word == "–" else float(word) for word in words[start : start + 3]]


@pytest.mark.parametrize("width", [20, 60, 200])
def test_cautions_are_folded_into_a_line_behind_the_differences(pair, width):
    story = overview_story(pair, Matrix.KIND, width)
    (folded,) = [line for line in story.lines if line.style == "warning"]
    assert story.lines[story.cautions] is folded
    assert folded.text.startswith(f"{len(pair.cautions)} cautions: Enter or w")
    assert story.goals[folded.target].is_cautions
    assert cell_len(f"{folded.label}  {folded.text}") <= max(width, 34)
    whole = overview_story(pair, Matrix.KIND, width, has_all_cautions=True)
    assert [line.text for line in whole.lines if line.style == "warning"] == [
        caution.text for caution in pair.cautions
    ]


def test_overview_begins_with_the_answer_and_reasons_lead_to_blocks(pair):
    story = overview_story(pair, Matrix.KIND, 50, has_all_cautions=True)
    assert [line.style for line in story.lines[:2]] == ["section", "plain"]
    assert story.lines[1].text == pair.differences[1].headline
    reasons = pair.differences[1].reasons
    assert story.goals == [Goal(one.blocks[0]) for one in reasons]
    linked = [line.text for line in story.lines if line.target is not None]
    assert linked == [f"{signed_ms(one.delta_ms)}  {CAUSE_NAMES[one.cause]}" for one in reasons]
    wide = overview_story(pair, Matrix.KIND, 160, has_all_cautions=True)
    assert wide.goals == story.goals
    rows = [line.text for line in wide.lines if line.target is not None]
    for row, one in zip(rows, reasons, strict=True):
        assert row.startswith(CAUSE_NAMES[one.cause])
        assert row.endswith(one.text)


@pytest.mark.parametrize("width", [40, 200])
def test_the_screen_has_every_sentence_and_figure_of_diff(four, width):
    story = overview_story(four, Matrix.KIND, width, has_all_cautions=True)
    lines = [line.text for line in story.lines]
    whole = " ".join([line.label for line in story.lines] + lines)
    for section in overview_sections(Shown(four, ()), has_method=False):  # which the screen explains with i
        assert {sentence.strip() for sentence in section.sentences} <= set(lines)
        for table in section.tables:
            for index in range(len(table.columns)):
                assert all(text in whole for text in table.texts(index) if text != MISSING)


def test_a_reason_of_two_engines_leads_to_the_block_of_its_own(pair):
    """The same sentence for a second engine, of which another block is the cause."""
    difference = pair.differences[1]
    reason = replace(difference.reasons[0], blocks=(7,))
    other = replace(difference, engine=2, reasons=(reason,))
    both = replace(
        pair,
        engines=(*pair.engines, pair.engines[1]),
        sides=(*pair.sides, pair.sides[1]),
        differences=(*pair.differences, other),
        verdicts=(*pair.verdicts, pair.verdicts[1]),
        ranking=(),
        by_kind=(),
    )
    goals = [goal.block for goal in overview_story(both, Matrix.KIND, 80, has_all_cautions=True).goals]
    assert goals == [*(one.blocks[0] for one in difference.reasons if one.blocks), 7]


def test_ranking_of_several(four):
    texts = [line.text for line in overview_story(four, Matrix.KIND, 60).lines]
    start = texts.index("Ranking")
    assert [text.split()[1:3] for text in texts[start + 3 : start + 6]] == [
        ["B", "int8"],
        ["A", "fp16"],
        ["C", "other"],
    ]


def test_block_tells_its_layers_and_changes(pair):
    block = pair.find_block(0, 1)
    story = block_story(pair, block)
    assert story.goals == [Goal(None, 0, 1), Goal(None, 1, 1), Goal(None, 1, 2)]
    assert [line.text for line in story.lines if line.target is not None] == [
        "/stem/conv/Conv + /stem/relu/Relu",
        "/stem/conv/Conv",
        "/stem/relu/Relu",
    ]
    labels = [line.label for line in story.lines]
    assert "fusion" in labels
    assert "0.1200 ms · ▼ −0.0800 ms · −40.0 %" in [line.text for line in story.lines]
    alone = block_story(pair, pair.find_block(1, 0))
    assert "no layer" in [line.text for line in alone.lines]


def test_words_of_rows(pair):
    assert re.match(r"matched by onnx, \d+ %: \w", describe_block(pair.find_block(0, 1)))
    assert "%" not in describe_block(pair.find_block(1, 0))
    layer = pair.engines[1].layers[2]
    assert describe_layer(1, layer) == "B layer 2 · INT8 · i8_kernel_2 · INT8 · /stem/relu/Relu"
    assert describe_formats(pair.engines[1].layers[0]) == "FP16 → INT8"
    assert describe_changes(pair.find_block(1, 0)) == "only in B"
    assert describe_changes(pair.find_block(0, 1), brief=True).startswith("FP16⇒INT8, ")
    assert describe_changes(pair.find_block(0, 1)).startswith("precision FP16⇒INT8, ")


def test_words_name_the_engines_that_have_nothing(four):
    assert describe_changes(four.find_block(0, 0)) == "not in B"


def test_words_of_several_engines_say_whose_a_change_is(four):
    block = four.find_block(0, 1)
    changes = (
        Change(ChangeKind.PRECISION, 1, "FP16", "INT8"),
        Change(ChangeKind.TACTIC, 1, "one", "other"),
        Change(ChangeKind.TACTIC, 2, "one", "third"),
        Change(ChangeKind.TACTIC, 3, "one", "fourth"),
    )
    mixed = replace(block, layers=((0,), (1,), (2,), (3,)), changes=changes)
    assert describe_changes(mixed) == "B: precision FP16⇒INT8, tactic; C, D: tactic"
    assert describe_changes(mixed, brief=True) == "B: FP16⇒INT8, tactic; C, D: tactic"
    assert (
        describe_changes(replace(mixed, layers=((0,), (), (), (3,)), changes=changes[3:]))
        == "not in B, C; D: tactic"
    )
    without_baseline = replace(mixed, layers=((), (1,), (2,), (3,)), changes=())
    assert (describe_changes(without_baseline), is_changed(without_baseline)) == ("not in A", True)
    assert describe_changes(replace(without_baseline, layers=((), (), (2,), ()))) == "only in C"


# Order


@given(by=st.sampled_from([SIZE, ORDER, "ms:0", "ms:2", "delta:1", "delta:3"]), descending=st.booleans())
def test_orders_are_of_all_blocks_and_the_unknown_comes_last(four_of_all, by, descending):
    blocks = ordered(four_of_all.blocks, Order(by, descending))
    assert sorted(block.index for block in blocks) == list(range(len(four_of_all.blocks)))
    assert ordered(blocks, Order(by, descending)) == blocks
    if by == "delta:3":
        assert [block.index for block in blocks if block.deltas_ms[3] is None] == [
            block.index for block in blocks[-sum(block.deltas_ms[3] is None for block in blocks) :]
        ]


@pytest.fixture(scope="module")
def four_of_all(tmp_path_factory):
    found = {engine.name: engine for engine in load_engines(four_engines(tmp_path_factory.mktemp("four")))}
    return compare([found[name] for name in (FP16, INT8, "other", BARE)])


def test_every_engine_can_be_ordered_by(four, pair):
    assert list(orders(pair)) == [SIZE, "delta:1", "ms:0", "ms:1", ORDER]
    assert len(orders(four)) == 1 + 3 + 4 + 1


# What a person chose


def test_pins_are_of_the_baseline_of_the_moment(pair):
    first, second = pair.engines
    tie = Tie(((first, 7), (second, 3)))
    assert make_pins((first, second), [tie]) == [Pin(7, 1, 3)]
    assert make_pins((second, first), [tie]) == [Pin(3, 1, 7)]
    assert make_pins((first,), [tie]) == []


def test_choice_follows_an_engine_that_was_read_again(tmp_path, pair):
    first, second = pair.engines
    choice = Choice((second,), second, ties=(Tie(((first, 7), (second, 3))), Tie(((first, 1), (second, 0)))))
    graph = tmp_path / INT8 / "int8.graph.json"
    write_int8(tmp_path / INT8)
    graph.write_text(
        graph.read_text(encoding="utf-8").replace("/stem/QuantizeLinear", "/stem/Other"), "utf-8"
    )
    new = load_engine(tmp_path / INT8)
    choice.replace_engine(second, new)
    assert choice.others == (new,)
    assert choice.baseline is new
    assert choice.ties == (Tie(((first, 7), (new, 3))),), "a pin of a layer that is gone goes with it"


def test_place_of_an_engine_that_is_not_compared(pair, tmp_path):
    assert find_engine_index(pair, pair.engines[1]) == 1
    with pytest.raises(ValueError, match="not compared"):
        find_engine_index(pair, load_engine(tmp_path / FP16))


def test_paths_that_lead_to_an_engine(tmp_path, pair, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = pair.engines
    assert leads_to(FP16, first)
    assert leads_to("fp16/fp16.graph.json", first)
    assert not leads_to(".", first)
    assert is_same_set(load_engine(FP16).source, first)
    assert not is_same_set(second.source, first)


def test_places_to_look_for_files_again(tmp_path, pair):
    first = pair.engines[0]
    assert find_paths(first, [str(tmp_path)]) == [str(tmp_path)]
    assert find_paths(first, [str(tmp_path / FP16)]) == [str(tmp_path / FP16)]
    elsewhere = find_paths(first, [str(tmp_path / INT8)])
    assert sorted(elsewhere) == sorted(map(str, first.source.files.values()))
    for file in first.source.files.values():
        file.unlink()
    assert find_paths(first, [str(tmp_path / INT8)]) == [str(first.source.directory)]


def test_a_comparison_with_itself_alone_is_an_error(pair):
    with pytest.raises(TrexError, match="two or more engines"):
        compare([pair.engines[0]])


# Tabs


@pytest.mark.parametrize(
    ("width", "wanted"),
    [
        (100, [" 1 Overview ", " 2 Compare !3 ", " 3 Lint "]),
        (34, ["1 Overview", "2 Compare !3", "3 Lint"]),
        (28, ["1 Over", "2 Compare !3", "3 Lint"]),
        (25, ["1 Ove", "2 Compare !3", "3 Lin"]),
        (17, ["1", "2 Compare !3", "3"]),
    ],
)
def test_tabs_lose_blanks_letters_and_words_but_none_is_cut_off(monkeypatch, width, wanted):
    bar = TabBar({"overview": "Overview", "compare": "Compare", "lint": "Lint"})
    bar.set_reactive(TabBar.active, "compare")
    bar._badges["compare"] = " !3"
    monkeypatch.setattr(TabBar, "content_size", Size(width, 1))
    labels, gap = bar._fitted()
    assert [label for _, label in labels] == wanted
    assert len(gap.join(wanted)) <= width


# Bars


def _subject(shown):
    engine = shown.comparison.engines[0]
    return Subject(engine, engine.layers, NO_COLOURS)


def _bars(shown, what):
    return find_chart(shown, what).make(_subject(shown)).form.bars


@pytest.mark.parametrize("matrix", list(Matrix))
def test_bars_are_the_rows_of_the_matrix(four, matrix):
    shown = Shown(four, four.by_delta())
    bars, rows = _bars(shown, matrix.value), find_rows(four, matrix)
    assert [bar.value for bar in bars] == [time for row in rows for time in row.latency_ms]
    assert [bar.label for bar in bars[:: len(four.engines)]] == [
        row.key or f"(no {matrix.value})" for row in rows
    ]
    assert {bar.label for place, bar in enumerate(bars) if place % len(four.engines)} <= {""}


def test_bars_of_blocks_follow_the_filter_and_open_as_many_layers_as_they_count(pair):
    blocks = filtered(pair, "kind:pointwise")
    assert 2 * len(blocks) == len(_bars(Shown(pair, blocks), "block"))
    for bar in _bars(Shown(pair, pair.by_delta()), "kind"):
        engine = pair.engines["AB".index(bar.target.label[0])]
        assert bar.texts[1] == str(len(filter_layers(engine, bar.target.filter_text)))


def test_without_times_bars_are_numbers_of_layers(tmp_path):
    engines = [
        load_engine(write_set(tmp_path / name, name, [raw_layer(0, "a", CONV, [1])], None)) for name in "xy"
    ]
    comparison = compare(engines)
    shown = Shown(comparison, comparison.by_delta())
    figure = find_chart(shown, "kind").make(_subject(shown))
    assert [bar.value for bar in figure.form.bars] == [1.0, 1.0]
    assert "No layer times (needs --exportProfile)." in figure.words[0]


def test_both_painters_draw_every_group(four):
    shown = Shown(four, four.by_delta())
    for chart in comparison_charts(shown):
        drawn = picture(chart, four.engines[0]).svg
        text = draw_text(chart, _subject(shown), (100, 60))
        for key in ("A ", "B ", "C ", "D "):
            assert key in text
        for bar in chart.make(_subject(shown)).form.bars[:4]:
            assert bar.label in drawn
            assert bar.label.rpartition("/")[2] in text


def test_diff_draws_a_chart(tmp_path, capsys):
    two_engines(tmp_path)
    both = [str(tmp_path / FP16), str(tmp_path / INT8)]
    path = tmp_path / "kinds.svg"
    assert main(["diff", *both, "--chart", "kind", "-o", str(path)]) == 0
    assert ET.fromstring(path.read_text(encoding="utf-8")).tag.endswith("svg")
    assert main(["diff", *both, "--chart", "block", "--format", "text"]) == 0
    assert capsys.readouterr().out.startswith("Compare blocks\n")
    assert main(["diff", *both, "-o", str(tmp_path / "diff.svg")]) == 2
    assert main(["report", *both, "-o", str(tmp_path / "report.html")]) == 0
    assert "Compare by precision" in (tmp_path / "report.html").read_text(encoding="utf-8")
