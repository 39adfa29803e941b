"""Lint: the list of findings and reformats, their details, and the way to the layers."""

from __future__ import annotations

from pathlib import Path

import pytest

from screens_kit import SAMPLES, explore

QAT = SAMPLES / "resnet-a100/qat"


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("size", [(60, 16), (80, 24), (120, 35)])
async def test_rule_saving_layer_and_count_are_never_cut(size: tuple[int, int]):
    async with explore(QAT, size=size) as e:
        await e.press("6")
        await e.see("PREC002")
        line = next(line for line in e.lines if "W PREC002" in line)
        assert "0.4581 1 +24" in line


@pytest.mark.parametrize(("width", "name"), [(120, "output 0… MaxPool_12"), (160, "output 0 of MaxPool_12")])
async def test_names_of_layers_have_the_room_of_the_details(width: int, name: str):
    async with explore(QAT, size=(width, 60)) as e:
        await e.press("6")
        await e.see(name)


async def test_details_say_what_to_do_and_enter_goes_to_the_layer():
    async with explore(QAT) as e:
        await e.press("6")
        await e.see("What to do")
        text = e.text
        for word in ("Severity", "0.4581 ms (41.81 %)", "assumes", "Affected time", "25 layers"):
            assert word in text
        await e.press("tab", "l", "l", "enter")
        assert e.screen.pane.tab == "layers"
        assert e.screen.current_layer == 2
        await e.press("minus", "shift+tab", "enter")
        assert e.screen.pane.tab == "layers"
        assert e.screen.current_layer == 1


async def test_rules_that_were_not_checked_are_one_row_that_expands():
    async with explore(QAT) as e:
        await e.press("6")
        await e.see("▸ 9 rules not checked")
        assert "✓ OK-ACT" in e.text
        table = e.screen.pane.table
        await e.press("G", "enter", "j")
        await e.see("▾ 9 rules not checked")
        await e.see("Not checked:")
        assert len(table.rows) == 17


async def test_findings_by_rule_by_saving_and_by_filter():
    async with explore(QAT) as e:
        await e.press("6")
        await e.see("PREC002")
        pane, table = e.screen.pane, e.screen.pane.table
        await e.press("s")
        savings = [pane.entry(row).finding.saving_ms for row in table.rows]
        assert savings[:2] == sorted(savings[:2], reverse=True)
        assert savings[2:] == [None] * (len(savings) - 2)
        await e.press("s", "c", *"qdq", "enter")
        await e.see("only QDQ001")
        assert [pane.entry(row).finding.rule.id for row in table.rows] == ["QDQ001"]
        await e.press("c", *"all", "enter", "slash", *"kind:pooling", "enter")
        assert {pane.entry(row).finding.rule.id for row in table.rows} == {"PREC002"}


async def test_reformats_have_from_to_bytes_and_why():
    async with explore(QAT, size=(160, 45)) as e:
        await e.press("6", "t")
        await e.see("2 reformats, 0.0461 ms, 4.21 % of all")
        await e.see("FP32 NCHW → FP16 NC/32HW32")
        frame = e.screen.pane.table.section.frame
        assert frame.loc[3, "why"] == "pooling in FP32, quantize in FP16"
        assert frame.loc[3, "before_bytes"] == 2 * frame.loc[3, "after_bytes"]
        assert frame.loc[3, "producer"].startswith("2 MaxPool_12")
        assert frame.loc[3, "consumer"].startswith("4 ")
        await e.press("enter")
        assert e.screen.pane.tab == "layers"
        assert e.screen.current_layer == 3


async def test_a_suppression_is_written_with_its_reason_and_applies_at_once(tmp_path: Path):
    async with explore(QAT) as e:
        await e.press("6")
        await e.see("W PREC002")
        await e.press("x", *"known", "enter")
        await e.see("▸ 1 finding suppressed")
        assert "W PREC002" not in e.text
        await e.press("1")
        assert "W PREC002" not in e.text
    text = (tmp_path / "trex-tui.toml").read_text()
    assert 'rules = ["PREC002"]' in text
    assert 'reason = "known"' in text


async def test_rules_run_as_configured_and_without_a_configuration_that_is_wrong(tmp_path: Path):
    (tmp_path / "trex-tui.toml").write_text('[lint]\nselect = ["QDQ"]\n')
    async with explore(QAT) as e:
        await e.press("6")
        await e.see("i QDQ001")
        assert "PREC002" not in e.text
    (tmp_path / "trex-tui.toml").write_text('[lint]\nselect = ["NONE"]\n')
    async with explore(QAT) as e:
        await e.see("trex-tui.toml:2: lint.select")
        await e.press("6")
        await e.see("W PREC002")


async def test_n_goes_through_the_layers_of_a_finding():
    async with explore(QAT) as e:
        await e.press("6")
        await e.see("W PREC002")
        layers = []
        for key in "nnnN":
            await e.press(key)
            layers.append(e.screen.current_layer)
            assert e.screen.engine.layers["name"][layers[-1]][:12] in e.lines[-2]
        assert layers[3] == layers[1]
        assert len({*layers}) == 3
        row = e.screen.pane.table.row
        assert {*layers} <= {*e.screen.pane.entry(row).finding.layers}
        await e.press("f", *"qdq", "enter", "n")
        assert e.screen.query_one("#details").chosen is None, "the search has the key"


async def test_a_finding_is_copied_with_its_message():
    async with explore(QAT) as e:
        await e.press("6")
        await e.see("PREC002")
        (copied,) = e.screen.pane.copied()
        assert copied["name"].startswith("PREC002 ")
        assert copied["saving_ms"] == pytest.approx(0.4581, abs=1e-4)
