"""Tables of a build as files: content of the rows, and the steps from the key to the file."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from test_app_build import built, names, read, show
from tui import Session, running

from trex_tui.old.analysis.build import build_facts, tactic_rows
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.buildlog import read_build_log
from trex_tui.old.engine import load_engine
from trex_tui.old.report.document import Column, Listing, make_table
from trex_tui.old.report.export import ExportFormat, listing_as
from trex_tui.old.report.views.build import build_listing
from trex_tui.old.screens.dialogs import ChooseScreen
from trex_tui.old.screens.export import ExportScreen
from trex_tui.old.widgets.build_tables import View, layer_columns

TABLES = ("phases", "passes", "layers", "tactics", "memory", "strategies", "messages")


def listing_csv(listing: Listing) -> str:
    return listing_as(ExportFormat.CSV, listing)


def listing_document(listing: Listing) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(listing_as(ExportFormat.JSON, listing))
    return document


def listing_markdown(listing: Listing) -> str:
    return listing_as(ExportFormat.MARKDOWN, listing)


def things(columns: list[str], *rows: tuple[object, ...]) -> Listing:
    table = make_table("things", [Column(key, key) for key in columns], rows)
    return Listing("trex-tui/x/1", "a.log", table)


HOSTILE = things(["name", "time_ms", "ok"], ("<b>|\x1b[31m", float("nan"), True))


def test_rows_are_harmless_and_unknown_is_no_number() -> None:
    assert listing_csv(HOSTILE) == "name,time_ms,ok\n<b>|␛[31m,,True\n"
    formulas = things(["name"], ('=HYPERLINK("x")',), ("＝1",), ("+a",))
    assert list(csv.reader(io.StringIO(listing_csv(formulas)))) == [
        ["name"],
        ['\'=HYPERLINK("x")'],
        ["'＝1"],
        ["'+a"],
    ]
    assert listing_document(HOSTILE)["things"] == [{"name": "<b>|\x1b[31m", "time_ms": None, "ok": True}]
    row = listing_markdown(HOSTILE).splitlines()[2]
    assert "<b>" not in row
    assert row.count(" | ") == 2
    assert row.endswith("| yes |")


def test_listings_hold_all_that_the_log_tells(tmp_path: Path) -> None:
    engine = load_engine(built(tmp_path))
    trace = read_build_log(engine.files[ArtifactKind.BUILD_LOG])
    facts = build_facts(trace, engine)
    rows = {key: build_listing(facts, key).table.rows for key in TABLES}
    assert len(rows["phases"]) == len(trace.phases)
    assert len(rows["passes"]) == len(trace.passes) + len(trace.fusions)
    assert len(rows["memory"]) == len(trace.memory)
    assert len(rows["messages"]) == len(trace.messages)
    layers = listing_document(build_listing(facts, "layers"))["layers"]
    assert [one["name"] for one in layers] == [one.name for one in trace.tunings]
    tactics = listing_document(build_listing(facts, "tactics"))["tactics"]
    for tuned, layer in zip(facts.tuned, layers, strict=True):
        mine = [one for one in tactics if one["layer"] == tuned.tuning.name]
        assert len(mine) == len(tactic_rows(facts, tuned))
        assert sum(one["skipped"] is not None for one in mine) == layer["skipped"]
        if layer["chosen_ms"] is not None:
            assert layer["chosen_ms"] in [one["time_ms"] for one in mine if one["in_engine"]]


def test_every_form_of_a_table_has_the_same_values(tmp_path: Path) -> None:
    """The keys of JSON and CSV are the same, and so are the numbers behind them, on the screen as well."""
    engine = load_engine(built(tmp_path))
    facts = build_facts(read_build_log(engine.files[ArtifactKind.BUILD_LOG]), engine)
    for key in TABLES:
        listing = build_listing(facts, key)
        objects = listing_document(listing)[key]
        cells = list(csv.DictReader(io.StringIO(listing_csv(listing))))
        assert len(objects) == len(cells) == len(listing_markdown(listing).splitlines()) - 2
        for told, cell in zip(objects, cells, strict=True):
            assert list(told) == list(cell)
            for name, value in told.items():
                assert cell[name] == ("" if value is None else str(value))
    values = {column.key: column.value for column in layer_columns(facts)}
    for tuned, told in zip(
        facts.tuned, listing_document(build_listing(facts, "layers"))["layers"], strict=True
    ):
        assert {key: value(tuned) for key, value in values.items()}.items() <= told.items()


async def exported(session: Session, choice: int, folder: Path, name: str) -> str:
    """Press `e`, choose of what, and write it to a file of this name."""
    await session.press("e")
    assert isinstance(session.app.screen, ChooseScreen)
    await session.press("g", *["j"] * choice, "enter")
    screen = session.app.screen
    assert isinstance(screen, ExportScreen)
    assert "build-" in screen.line.value
    screen.line.value = str(folder / name)
    await session.press("enter")
    await session.until((folder / name).exists)
    return (folder / name).read_text(encoding="utf-8")


async def test_every_table_of_a_build_is_exported(tmp_path):
    async with running(built(tmp_path), tab="build") as session:
        await read(session)
        found = await show(session, View.LAYERS)
        layers = json.loads(await exported(session, 0, tmp_path, "layers.json"))
        assert layers["schema"] == "trex-tui/build-layers/1"
        assert [one["name"] for one in layers["layers"]] == names(found)
        await session.press("g", "enter")
        assert found.tuned is not None
        one = await exported(session, 0, tmp_path, "one.csv")
        assert len(one.splitlines()) == 1 + len(found.table.shown_rows)
        await show(session, View.MESSAGES)
        assert "| W | 2 |" in await exported(session, 0, tmp_path, "messages.md")
        await session.press("e", "G", "enter")
        assert isinstance(session.app.screen, ExportScreen)
        assert ".layers.csv" in session.app.screen.line.value
