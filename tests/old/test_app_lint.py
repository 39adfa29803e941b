"""The screen of findings: what it lists and explains, where it leads, what is left out and written down."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tui import LARGE, SMALL, Session, check_golden, running

from helpers import DIGITS
from small_engines import quantized_engine, small_engine, write_set
from trex_tui.old.lint.model import FindingSeverity
from trex_tui.old.report.views.lint import layer_marks
from trex_tui.old.screens.dialogs import ChooseScreen
from trex_tui.old.screens.engine import EngineScreen
from trex_tui.old.screens.jobs import ReasonScreen
from trex_tui.old.screens.lint import CLEAN, NO_MATCH, LintPane
from trex_tui.old.widgets.chrome import SummaryLine, TabBar
from trex_tui.old.widgets.table_model import place_columns

HOSTILE = "[b]bold[/b] \x1b[31mred\x07 \u202e"


def pane(session: Session) -> LintPane:
    return session.screen.query_one(LintPane)


def rules(session: Session) -> list[str]:
    return [entry.rule for entry in pane(session).table.shown_rows]


def words(session: Session) -> str:
    return "\n".join(line.plain for line in pane(session).words.wrapped(4000))


async def stand_on(session: Session, rule: str) -> None:
    """Put the cursor on the first finding of a rule."""
    table = pane(session).table
    table.move_to(next(entry for entry in table.shown_rows if entry.rule == rule))
    await session.pilot.pause()


async def test_findings_are_listed_and_explained(tmp_path):
    async with running(quantized_engine(tmp_path), LARGE, tab="lint") as session:
        assert rules(session).count("QDQ001") == 2
        await stand_on(session, "QDQ001")
        savings = [entry.saving_ms for entry in pane(session).table.shown_rows if entry.rule == "QDQ001"]
        assert savings == sorted(savings, reverse=True)
        for part in (
            "QDQ001:",
            "Saving",
            "Evidence",
            "Remedy",
            "Why",
            "Read on",
            "2 layers",
        ):
            assert part in words(session), part
        summary = pane(session).query_one(SummaryLine).text
        counts = session.screen.lint.counts
        assert f"{counts[FindingSeverity.WARNING]} warning" in summary
        assert "saving" in summary
        assert f"⚠{counts[FindingSeverity.WARNING]}" in session.text.splitlines()[1]


async def test_the_cursor_makes_its_layer_the_current_one_and_enter_goes_there(tmp_path):
    async with running(quantized_engine(tmp_path), tab="lint") as session:
        await stand_on(session, "QDQ001")
        await session.until(lambda: session.current == 2)
        await session.press("enter")
        await session.until(lambda: session.screen.pane is session.layers)
        assert session.layers.cursor_layer.name == "QuantizeLinear_2"
        assert "QDQ001" in session.details


async def test_the_screen_stands_on_the_finding_about_the_current_layer(tmp_path):
    async with running(quantized_engine(tmp_path), tab="latency") as session:
        session.latency.table.move_to(session.screen.engine.layers[4])
        await session.pilot.pause()
        await session.press(DIGITS["lint"])
        assert 4 in pane(session).table.cursor_item.layers
        assert session.current == 4


async def test_n_walks_through_the_layers_of_a_finding(tmp_path):
    async with running(quantized_engine(tmp_path), tab="lint") as session:
        table = pane(session).table
        several = next((entry for entry in table.shown_rows if len(entry.layers) > 1), None)
        assert several is not None
        table.move_to(several)
        await session.pilot.pause()
        for place in (1, 2):
            await session.press("n")
            assert session.current == several.layers[place % len(several.layers)]
        await session.press("N")
        assert session.current == several.layers[1]


async def test_orders(tmp_path):
    async with running(quantized_engine(tmp_path), tab="lint") as session:
        by_severity = rules(session)
        await session.press("s")
        savings = [entry.saving_ms or 0.0 for entry in pane(session).table.shown_rows]
        assert savings == sorted(savings, reverse=True)
        await session.press("s")
        assert rules(session) == by_severity


async def test_rule_and_order_are_kept_when_read_again(tmp_path):
    async with running(quantized_engine(tmp_path), tab="lint") as session:
        before = pane(session)
        before.table.cycle_sort("rule")
        keys = before.table.sort_keys
        await session.press("c")
        session.app.screen.dismiss("QDQ001")
        await session.until(lambda: set(rules(session)) == {"QDQ001"})
        await session.press("R")
        await session.until(lambda: pane(session) is not before and pane(session).result is not None)
        assert set(rules(session)) == {"QDQ001"}
        assert pane(session).table.sort_keys == keys


async def test_one_rule_only_and_all_again(tmp_path):
    async with running(quantized_engine(tmp_path), tab="lint") as session:
        everything = rules(session)
        await session.press("c")
        assert isinstance(session.app.screen, ChooseScreen)
        session.app.screen.dismiss("QDQ001")
        await session.until(lambda: set(rules(session)) == {"QDQ001"})
        assert "only QDQ001" in pane(session).query_one(SummaryLine).text
        await session.press("c", "g", "enter")
        assert rules(session) == everything


async def test_the_filter_leaves_findings_about_its_layers(tmp_path):
    async with running(quantized_engine(tmp_path), tab="lint") as session:
        await session.press("slash", *"linear_3", "enter")
        await session.until(lambda: "QDQ001" in rules(session))
        assert all(4 in entry.layers for entry in pane(session).table.shown_rows)
        await session.press("slash", *"xyz", "enter")
        assert pane(session).table.empty_text == NO_MATCH
        assert rules(session) == []


async def test_marks_in_tree_and_table_and_lines_on_the_overview(tmp_path):
    async with running(quantized_engine(tmp_path), LARGE, tab="latency") as session:
        marked = [line for line in session.text.splitlines() if line.startswith((" W ", " i ", " E "))]
        assert any("QuantizeLinear_2" in line for line in marked)
        result = session.screen.lint
        info = replace(result.findings[0], severity=FindingSeverity.INFO)
        assert layer_marks(replace(result, by_layer={0: (info,), 2: (result.findings[0], info)})) == {
            2: FindingSeverity.WARNING
        }, "an info is no mark"
        assert "lint" not in session.latency_columns
        await session.press(DIGITS["layers"])
        assert any(line.startswith((" W ", " i ")) for line in session.text.splitlines())
        await session.press(DIGITS["overview"])
        assert "Findings" in session.text


async def test_leaving_out_needs_a_reason_and_writes_nothing_unasked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    async with running(quantized_engine(tmp_path / "set"), tab="lint") as session:
        await stand_on(session, "QDQ001")
        await session.press("x")
        assert isinstance(session.app.screen, ChooseScreen)
        await session.press("enter")
        assert isinstance(session.app.screen, ReasonScreen)
        await session.press("enter")
        assert "A suppression needs a reason" in session.text
        await session.press(*"known", "enter")
        await session.until(lambda: session.screen.lint.suppressed, "the finding to be left out")
        assert rules(session).count("QDQ001") == 2, "it is still told, as left out"
        assert [one.layers for one in session.screen.lint.findings if one.rule.id == "QDQ001"] == [(0,)]
        assert not (tmp_path / "trex-tui.toml").exists()
        await session.press("W")
        assert isinstance(session.app.screen, ChooseScreen)
        await session.press("enter")
        await session.until((tmp_path / "trex-tui.toml").exists, "the file")
    written = (tmp_path / "trex-tui.toml").read_text(encoding="utf-8")
    assert 'reason = "known"' in written
    assert "QuantizeLinear_2" in written
    async with running(tmp_path / "set", tab="lint") as session:
        (suppressed,) = session.screen.lint.suppressed
        assert suppressed.reason == "known"
        assert "trex-tui.toml" in suppressed.origin
        await session.press("W")
        assert isinstance(session.app.screen, EngineScreen), "there is nothing to write"


async def test_a_whole_rule_can_be_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    async with running(quantized_engine(tmp_path / "set"), tab="lint") as session:
        await stand_on(session, "QDQ001")
        await session.press("x", "j", "enter", *"all of them", "enter")
        await session.until(lambda: len(session.screen.lint.suppressed) == 2)
        assert "QDQ001" not in {one.rule.id for one in session.screen.lint.findings}


async def test_configuration_that_cannot_be_is_told_and_lint_goes_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trex-tui.toml").write_text('[lint]\nselect = ["NOPE999"]\n', encoding="utf-8")
    async with running(quantized_engine(tmp_path / "set"), LARGE, tab="lint") as session:
        assert session.screen.lint.findings
        assert any("NOPE999" in note.message for note in session.app._notifications)


async def test_names_are_shown_as_they_are(tmp_path):
    async with running(quantized_engine(tmp_path, HOSTILE), LARGE, tab="lint") as session:
        table = pane(session).table
        table.move_to(next(entry for entry in table.shown_rows if 0 in entry.layers))
        await session.pilot.pause()
        assert "[b]bold[/b]" in session.text
        assert "\x1b" not in session.text
        assert "\u202e" not in session.text


async def test_zoom_and_the_words_take_the_keyboard(tmp_path):
    async with running(quantized_engine(tmp_path), tab="lint") as session:
        await session.press("z")
        assert not pane(session).words.display
        await session.press("z", "tab")
        assert session.app.focused is pane(session).words
        await session.press("l", "enter")
        await session.until(lambda: session.screen.pane is session.layers)


async def test_nothing_known_is_not_clean_and_what_was_not_checked_is_one_row(tmp_path):
    layers = ["a", "b"]
    async with running(write_set(tmp_path, "names", layers, None), LARGE, tab="lint") as session:
        result, table = session.screen.lint, pane(session).table
        assert result.counts[FindingSeverity.ERROR] == 0
        folded = table.shown_rows
        (group,) = (entry for entry in folded if entry.not_checked)
        assert f"▸ {result.rules_not_checked} rules not checked" in session.text
        table.move_to(group)
        await session.pilot.pause()
        assert CLEAN not in words(session)
        assert all(missing.reason in words(session) for missing in result.not_checked)
        await session.press("enter")
        assert table.cursor_item == group
        assert [entry.rule for entry in table.shown_rows[len(folded) :]] == [
            missing.rule for missing in result.not_checked
        ]
        await session.press("R")
        await session.until(lambda: pane(session).table is not table and pane(session).result is not None)
        table = pane(session).table
        assert len(table.shown_rows) > len(folded), "it stays expanded when read again"
        table.move_to(next(entry for entry in table.shown_rows if entry.is_group))
        await session.press("enter")
        assert len(table.shown_rows) == len(folded)


async def test_tabs_give_way_to_a_remark(tmp_path):
    async with running(small_engine(tmp_path), tab="lint") as session:
        bar = session.screen.query_one(TabBar)
        for remark in ("", "/conv  5 of 9 layers", "/" + "x" * 60):
            bar.remark = remark
            await session.pilot.pause()
            line = session.text.splitlines()[1]
            assert len(line) <= 80
            assert "6 Lint" in line
            if remark:
                assert line.rstrip()[-1] == remark[-1]


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "160x45"])
async def test_golden(tmp_path, size):
    async with running(quantized_engine(tmp_path), size, tab="lint") as session:
        table = pane(session).table
        for width, least_title in ((60, 20), (72, 31), (80, 34), (120, 34)):
            widths = {placed.column.key: placed.text_width for placed in place_columns(table.columns, width)}
            assert widths["where"] >= 9, width
            assert widths["title"] >= least_title, width
        check_golden(session.app, f"lint_{size[0]}x{size[1]}")


async def test_a_visit_changes_no_layer_and_a_jump_is_undone(tmp_path):
    async with running(quantized_engine(tmp_path), tab="latency") as session:
        layers = session.screen.engine.layers
        for layer in layers:
            session.latency.table.move_to(layer)
            await session.press(DIGITS["lint"], DIGITS["latency"])
            assert session.current == layer.index
        await session.press(DIGITS["lint"], "j")
        chosen = session.current
        await session.press("enter")
        assert session.screen.pane.id == "layers"
        await session.press("minus")
        assert (session.screen.pane.id, session.current) == ("lint", chosen)
        await session.press("plus")
        assert (session.screen.pane.id, session.current) == ("layers", chosen)
        await session.press("escape")
        assert (session.screen.pane.id, session.current) == ("lint", chosen)
        assert "esc undo" not in session.footer


async def test_a_finding_in_the_details_of_a_layer_leads_to_lint_and_back(tmp_path):
    async with running(quantized_engine(tmp_path), LARGE, tab="layers") as session:
        result = session.screen.lint
        index = next(index for index, found in result.by_layer.items() if len(found) > 1)
        session.screen.stand_on(session.screen.engine.layers[index])
        await session.pilot.pause()
        await session.press("enter", "l", "l")
        details = session.layers.details
        judged = result.by_layer[index][1]
        assert details.lines[details.chosen].target is judged
        await session.press("enter")
        assert session.screen.pane is pane(session)
        assert pane(session).table.cursor_item.judged is judged
        assert session.current == index
        await session.press("minus")
        assert session.screen.pane is session.layers
        assert session.app.focused is details
        row = details._starts()[details.chosen] - details.scroll_offset.y
        await session.pilot.click(details, offset=(6, row + 1))
        assert session.screen.pane is pane(session)
        await session.press("escape")
        assert session.screen.pane is session.layers
