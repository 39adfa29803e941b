"""One number, all outputs: JSON, CSV, HTML, Markdown, text and the screen have the same numbers for every engine."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tui import running

from helpers import ARTIFACTS, OLD_SAMPLES, TO_LAYERS
from trex_tui.__main__ import main
from trex_tui.old.analysis.columns import ALL_COLUMNS
from trex_tui.old.analysis.modules import Group
from trex_tui.old.engine import Engine, Layer, load_engine
from trex_tui.old.fleet.engine_columns import COLUMNS as FLEET_COLUMNS
from trex_tui.old.fleet.engine_columns import COLUMNS_BY_NAME, Need
from trex_tui.old.report.views.fleet import document_column
from trex_tui.old.report.views.layer_table import cell_text
from trex_tui.old.text import MISSING, format_bytes, format_count, format_ms, format_pct
from trex_tui.old.widgets.table_columns import chosen_columns
from trex_tui.old.widgets.table_model import TableColumn

SAMPLES = [OLD_SAMPLES / name for name in ("alexnet", "transformer_fp8", "names_only")]
ENGINES = [
    *(pytest.param(path, id=path.name) for path in SAMPLES),
    *(
        pytest.param(path, id=path.name, marks=pytest.mark.skipif(not path.is_dir(), reason=f"no {path}"))
        for path in (ARTIFACTS / "diffusion-controlnet",)
    ),
]
PAIR = [str(OLD_SAMPLES / name) for name in ("alexnet", "alexnet_int8")]
NUMBERS = [column for column in ALL_COLUMNS if column.is_number]
BY_NAME = {column.name: column for column in NUMBERS}
NAMES = ",".join(column.name for column in ALL_COLUMNS)
FORMATS = (
    format_ms,
    format_pct,
    format_bytes,
    format_count,
    str,
    lambda value: f"{value:+.0f}",  # a change
    lambda value: f"{value:.2f}",
    lambda value: f"{value:.3f}",
    lambda value: f"{value:.3g}",
    lambda value: f"{value:.4g}",
)
"""Every way in which a table of the report writes a number."""


@pytest.fixture
def output(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*arguments: object) -> str:
        capsys.readouterr()
        main([str(argument) for argument in arguments])
        return capsys.readouterr().out

    return run


@cache
def engine_in(path: Path) -> Engine:
    return load_engine(path)


def plain_text(markdown: str) -> str:
    """A cell of a Markdown table as it is rendered."""
    return unescape(re.sub(r"\\([^a-zA-Z0-9\s])", r"\1", markdown)).strip()


def markdown_rows(text: str) -> Iterator[list[str]]:
    """The lines of all tables, headings among them, rules not."""
    for line in text.splitlines():
        if line.startswith("|") and not line.startswith("|-"):
            yield [plain_text(cell) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


class Page(HTMLParser):
    """The tables of a page by the section that they stand in: rows of pairs, `data-value` and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[list[tuple[str | None, str]]]]] = {}
        self._section = ""
        self._cell: list[Any] | None = None
        self._in_body = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "section":
            self._section = found.get("id") or ""
        elif tag == "tbody":
            self.tables.setdefault(self._section, []).append([])
            self._in_body = True
        elif tag == "tr" and self._in_body:
            self.tables[self._section][-1].append([])
        elif tag == "td" and self._in_body and found.get("class") != "bar":
            self._cell = [found.get("data-value"), ""]

    def handle_endtag(self, tag: str) -> None:
        if tag == "tbody":
            self._in_body = False
        elif tag == "td" and self._cell is not None:
            self.tables[self._section][-1][-1].append((self._cell[0], self._cell[1]))
            self._cell = None

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell[1] += data


def leaves(document: Any) -> Iterator[float]:
    """Every number of a document."""
    if isinstance(document, dict):
        for value in document.values():
            yield from leaves(value)
    elif isinstance(document, list):
        for value in document:
            yield from leaves(value)
    elif isinstance(document, (int, float)) and not isinstance(document, bool):
        yield document


def at(document: Any, path: str) -> Any:
    """A value by the dotted path that a table of figures names it with."""
    for key in path.split("."):
        document = document[key]
    return document


def is_same(first: float | None, second: float | None) -> bool:
    """Equal to the last digit; unknown is None or no number."""
    unknown = [value is None or math.isnan(value) for value in (first, second)]
    return all(unknown) if any(unknown) else first == second


# The layers


@pytest.mark.parametrize("path", ENGINES)
def test_layers_as_json_csv_markdown_and_text(path: Path, output: Any) -> None:
    command = ("layers", path, "--columns", NAMES, "--format")
    layers = json.loads(output(*command, "json"))["layers"]
    rows = list(csv.DictReader(io.StringIO(output(*command, "csv"))))
    heading, *cells = markdown_rows(output(*command, "md"))
    names = ",".join(column.name for column in NUMBERS)
    table = output("layers", path, "--columns", names).splitlines()[1:]
    assert len(layers) == len(rows) == len(cells) == len(table) == len(engine_in(path).layers)
    assert heading == NAMES.split(",")
    for layer, row, line, text in zip(layers, rows, cells, table, strict=True):
        shown = [cell_text(column, layer[column.name]) for column in NUMBERS]
        for column, words in zip(NUMBERS, shown, strict=True):
            value = layer[column.name]
            assert is_same(value, float(row[column.name]) if row[column.name] else None), column.name
            assert line[heading.index(column.name)] == words, column.name
        assert re.split(r" {2,}", text.strip()) == shown


@pytest.mark.parametrize("path", ENGINES)
async def test_layers_on_the_screens(path: Path, output: Any) -> None:
    layers = json.loads(output("layers", path, "--columns", NAMES, "--format", "json"))["layers"]
    (summary,) = json.loads(output("summary", path, "--json"))["engines"]
    async with running(path, (400, 60)) as session:
        table = session.latency.table
        every = chosen_columns(session.latency.engine, [column.name for column in NUMBERS])
        for layer in table.shown_rows:
            for column in (*every, *table.columns):
                check_cell(column, layer, layers[layer.index])
        check_drawn(session.text.splitlines()[2:], table.columns, layers)
        if summary["latency_sum_ms"] is not None:
            assert f"{format_ms(summary['latency_sum_ms'])} ms" in session.text
        await session.press(TO_LAYERS)
        for row in session.layers.table.shown_rows:
            expected = layers[row.index] if isinstance(row, Layer) else group_sum(row, layers)
            for column in session.layers.table.columns:
                check_cell(column, row, expected)


def group_sum(group: Group, layers: list[dict[str, Any]]) -> dict[str, Any]:
    """The columns of a module that are those of its layers together."""
    times = [layers[layer.index]["latency_ms"] for layer in group.layers]
    known = [time for time in times if time is not None]
    return {"latency_ms": math.fsum(known) if known else None}


def check_cell(column: TableColumn[Any], row: Any, layer: dict[str, Any]) -> None:
    """A cell of a table has the raw value of the layer and its text; shares may be rounded otherwise in the last digit."""
    source = BY_NAME.get(column.key)
    if source is None or column.key not in layer:
        return
    value, expected = column.value(row), layer[column.key]
    assert is_same(value, expected) or math.isclose(value, expected, rel_tol=1e-12), column.key
    assert column.cell_text(row) == cell_text(source, expected), column.key


def check_drawn(lines: list[str], columns: Any, layers: list[dict[str, Any]]) -> None:
    """The numbers of a layer stand in its line, one after another."""
    keys = [column.key for column in columns if column.key in BY_NAME]
    drawn = 0
    for line in lines:
        found = re.match(r"\W*(?:[EWi]\s+)?(\d+) \S", line)
        if found is None or int(found[1]) >= len(layers):
            continue
        layer, start = layers[int(found[1])], 0
        for key in keys:
            text = cell_text(BY_NAME[key], layer[key])
            assert text in line[start:], (key, line)
            start = line.index(text, start) + len(text)
        drawn += 1
    assert drawn >= min(len(layers), 40), "\n".join(lines)


@pytest.mark.parametrize("path", ENGINES)
async def test_the_memory_of_layers(path: Path, output: Any) -> None:
    layers = json.loads(output("layers", path, "--columns", NAMES, "--format", "json"))["layers"]
    async with running(path, (200, 50), "memory") as session:
        table = session.memory.table
        if all(layer[name] is None for layer in layers for name in ("io_bytes", "weights_bytes")):
            await session.until(
                lambda: "Memory by layer unknown" in session.text, "a sentence in place of the table"
            )
            return
        await session.until(lambda: len(table.shown_rows) == len(layers), "the rows of the memory table")
        for row in table.shown_rows:
            for column in table.columns:
                value = column.value(row)
                if column.key in layers[0] and (value is None or isinstance(value, (int, float))):
                    assert is_same(value, layers[row.index][column.key]), column.key
                    assert column.cell_text(row) in (
                        MISSING,
                        *(form(value) for form in FORMATS if value is not None),
                    )


# The timing run


@pytest.mark.parametrize("path", ENGINES)
def test_one_latency_end_to_end(path: Path, output: Any) -> None:
    """`summary`, its JSON, the statistics and `times` take it from one source."""
    (summary,) = json.loads(output("summary", path, "--json"))["engines"]
    (times,) = json.loads(output("times", path, "--json"))["engines"] if summary["timing"] else (None,)
    if times is None:
        assert summary["latency"] is None
        return
    series, latency = summary["timing"]["latency"], summary["latency"]
    assert times["timing"] == summary["timing"]
    assert latency["source"] == summary["timing"]["origin"]
    assert summary["throughput_qps"] == times["throughput_qps"]
    text = output("summary", path)
    for name in ("min", "mean", "median", "max"):
        assert latency[f"{name}_ms"] == series[f"{name}_ms"]
        assert re.search(rf"^{name} +{re.escape(format_ms(latency[f'{name}_ms']))}\b", text, re.MULTILINE)
    for name in ("p90", "p95", "p99"):
        assert latency[f"{name}_ms"] == series["percentiles_ms"][name]
        assert re.search(rf"^{name} +{re.escape(format_ms(latency[f'{name}_ms']))}\b", text, re.MULTILINE)


# The report


@pytest.mark.parametrize("path", ENGINES)
def test_tables_of_the_report(path: Path, output: Any) -> None:
    """In its three formats the report has the same numbers, and those of layers and totals are those of other commands."""
    command = ("report", path, "--top", 0, "--format")
    report = json.loads(output(*command, "json"))
    page, rows = Page(output(*command, "html")), list(markdown_rows(output(*command, "md")))
    (engine,) = report["engines"]
    layers = json.loads(output("layers", path, "--columns", NAMES, "--format", "json"))["layers"]
    (summary,) = json.loads(output("summary", path, "--json"))["engines"]
    tables = {}
    start = 0
    for section in engine["sections"]:
        shown = page.tables.get(f"engine-1-{section['id']}", [])
        assert len(shown) == len(section["tables"]), section["id"]
        for table, html in zip(section["tables"], shown, strict=True):
            tables[table["id"]] = table["rows"]
            start = check_table(table, html, rows, start)
    assert start == len(rows)
    check_figures(tables, summary)
    for row in tables.get("hot_layers", ()):
        layer = layers[row["index"]]
        assert all(row[key] == layer[key] for key in row), row["name"]
    lint = json.loads(output("lint", path, "--format", "json"))
    savings = set(leaves(lint))
    assert all(
        row["saving_ms"] in savings for row in tables.get("findings", ()) if row["saving_ms"] is not None
    )


def check_table(table: dict[str, Any], html: Any, rows: list[list[str]], start: int) -> int:
    """A table in JSON, HTML and Markdown.

    Returns:
        Where the next one begins among the lines of Markdown.
    """
    hidden = {"figures": "figure"}.get(table["id"])  # a path into JSON, for programs only
    names = [column["name"] for column in table["columns"] if column["name"] != hidden]
    assert len(html) == len(table["rows"]) == table["rows_total"]
    empty = {name for name in names if all(row[name] in (None, "", []) for row in table["rows"])}
    if html and len(html[0]) < len(names):
        names = [
            name for name in names if name not in empty
        ]  # an empty column leaves, unless its cells have texts
    assert not html or len(html[0]) == len(names)
    start += 1
    for row, cells in zip(table["rows"], html, strict=True):
        line = iter(rows[start])
        for name, (stated, text) in zip(names, cells, strict=True):
            value = row[name]
            if stated is not None:
                assert is_same(float(stated), value), (table["id"], name)
                assert text.removeprefix("at least ") in {form(value) for form in FORMATS}, (
                    table["id"],
                    name,
                )
                assert text in line, (table["id"], name)  # takes what stands before it as well
            elif isinstance(value, float):
                pytest.fail(f"{table['id']}: {name} has {value} in JSON and no value in HTML")
        start += 1
    return start


def check_figures(tables: dict[str, Any], summary: dict[str, Any]) -> None:
    """Totals, groups and statistics are those of `summary --json`."""
    for row in tables["figures"]:
        assert row["value"] == at(summary, row["figure"]), row["figure"]
    for row in tables.get("statistics", ()):
        known = set(leaves(summary["timing"])) | set(leaves(summary["enqueue"]))
        assert set(leaves(row)) <= known, row["quantity"]
    for name, groups in (
        ("by_kind", summary["by_kind"]),
        ("by_precision", summary["by_precision"]),
        ("by_tensor_cores", summary["compute"]["by_tensor_cores"]),
    ):
        for row in tables.get(name, ()):
            assert row == {"key": row["key"], **groups[row["key"]]}, name
    for row in tables.get("by_bound", ()):
        assert row["layers"] == summary["roofline"]["layers_by_bound"][row["key"]]
        time = summary["roofline"]["latency_ms_by_bound"][row["key"]]
        assert math.isclose(row["latency_ms"], time, rel_tol=1e-12)  # added up in another order
    for row, live in zip(tables.get("live_at_peak", ()), summary["memory"]["live_at_peak"], strict=False):
        assert {key: row[key] for key in live} == live


def test_a_comparison_in_a_report(output: Any) -> None:
    """Every number that the page states is one of `diff`, or of `lint` for what to do first."""
    known = set(leaves(json.loads(output("diff", *PAIR, "--format", "json"))))
    known |= set(leaves(json.loads(output("lint", *PAIR, "--format", "json"))))
    page = Page(output("report", *PAIR, "--top", 0, "--format", "html"))
    stated = [
        (float(value), text)
        for section, tables in page.tables.items()
        if section.startswith("comparison")
        for table in tables
        for row in table
        for value, text in row
        if value is not None
    ]
    assert stated
    wrong = [(value, text) for value, text in stated if value not in known]
    assert not wrong


# Many engines


FLEET = [column for column in FLEET_COLUMNS if column.need < Need.LINT]


async def test_engines_in_every_format_and_on_the_screen(output: Any) -> None:
    directory = OLD_SAMPLES
    numbers = [column for column in FLEET if column.is_number]
    command = ("engines", directory, "--columns", ",".join(["engine", *(column.name for column in numbers)]))
    table = json.loads(output(*command, "--json"))["rows"]
    rows = {row["engine"]: row for row in table}
    lines = list(csv.DictReader(io.StringIO(output(*command, "--format", "csv"))))
    heading, *cells = list(markdown_rows(output(*command, "--format", "md")))[: len(rows) + 1]
    html = Page(output(*command, "--format", "html")).tables["engines-engines"][0]
    known = [
        column for column in numbers if any(row[column.name] is not None for row in table)
    ]  # Other formats leave out columns without any value.
    drawn = heading.index("0–max")  # bars
    heading, cells = (
        [*heading[:drawn], *heading[drawn + 1 :]],
        [[*cell[:drawn], *cell[drawn + 1 :]] for cell in cells],
    )
    assert heading == ["engine", *(column.title for column in known)]
    for row, line, cell, marked in zip(table, lines, cells, html, strict=True):
        for column in numbers:
            assert is_same(row[column.name], float(line[column.name]) if line[column.name] else None)
        for place, column in enumerate(known, start=1):
            text = document_column(column).text(row[column.name])
            assert cell[place] == text, column.name
            assert marked[place][1] == text, column.name
            assert is_same(row[column.name], None if marked[place][0] is None else float(marked[place][0]))
    check_fleet_of_summary(rows, output)
    async with running(directory, (400, 60)) as session:
        for shown in session.listed.table.shown_engines:
            expected = rows[shown.source.name]
            for column in session.listed.table.columns:
                if column.key in expected and column.key != "engine":
                    assert column.value(shown) == expected[column.key], column.key
                    source = document_column(COLUMNS_BY_NAME[column.key])
                    assert column.cell_text(shown) == source.text(expected[column.key]), column.key


def check_fleet_of_summary(rows: dict[str, Any], output: Any) -> None:
    """The numbers of an engine are those of `summary`."""
    for summary in json.loads(output("summary", OLD_SAMPLES, "--json"))["engines"]:
        row = rows[summary["name"]]
        assert row["layers"] == summary["layers"]
        assert row["latency_sum_ms"] == summary["latency_sum_ms"]
        for kind, total in summary["by_kind"].items():
            assert is_same(row[f"{kind}_time_pct"], total["latency_pct"]), kind
