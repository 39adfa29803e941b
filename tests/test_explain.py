"""`trex-tui explain`: what a column means."""

from __future__ import annotations

import pytest

from helpers import strict_json
from trex_tui.analysis.columns import ALL_COLUMNS
from trex_tui.cli import main

Capture = pytest.CaptureFixture[str]


def out(capsys: Capture, *arguments: str) -> str:
    assert main(["explain", *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


@pytest.mark.parametrize("column", ALL_COLUMNS, ids=lambda column: column.name)
def test_each_column(capsys: Capture, column: object) -> None:
    name = str(getattr(column, "name", ""))
    text = out(capsys, name)
    assert text.startswith(f"{name}\n  ")
    assert "\n  source  " in text


def test_the_words_of_one(capsys: Capture) -> None:
    assert out(capsys, "latency_pct") == (
        "latency_pct\n"
        "  Share of `latency_ms` in its sum over all layers of the engine.\n"
        "  unit    percent\n"
        "  formula 100 · latency_ms / Σ latency_ms\n"
        "  source  profile: averageMs\n"
    )


def test_several_in_the_order_asked(capsys: Capture) -> None:
    parts = out(capsys, "macs", "kind").split("\n\n")
    assert [part.splitlines()[0] for part in parts] == ["macs", "kind"]


def test_an_overview(capsys: Capture) -> None:
    lines = out(capsys).splitlines()
    assert [line.split()[0] for line in lines] == [column.name for column in ALL_COLUMNS]


def test_json(capsys: Capture) -> None:
    document = strict_json(out(capsys, "--json"))
    assert document["schema"] == "trex-tui/explain/1"
    assert [one["name"] for one in document["columns"]] == [column.name for column in ALL_COLUMNS]
    (one,) = strict_json(out(capsys, "--json", "roof_ms"))["columns"]
    assert (one["name"], one["unit"]) == ("roof_ms", "milliseconds")
    assert one["formula"].startswith("max(")


def test_json_has_null_where_there_is_nothing(capsys: Capture) -> None:
    (one,) = strict_json(out(capsys, "--json", "tactic"))["columns"]
    assert (one["unit"], one["formula"]) == (None, None)


def test_no_such_column(capsys: Capture) -> None:
    assert main(["explain", "latency"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "no column 'latency'" in captured.err
    assert "latency_ms" in captured.err
