"""No two rows of a table of a real engine read alike where what they stand for has different names, at any width in use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from io import StringIO
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest
from compare_cases import conv, reformat, write_engine
from rich.console import Console

from helpers import ARTIFACT_FOLDERS, ARTIFACTS, REPOSITORY
from trex_tui.old.analysis.build import tactic_rows
from trex_tui.old.analysis.columns import columns_named
from trex_tui.old.analysis.compare import Comparison, compare
from trex_tui.old.analysis.compare.builds import load_build
from trex_tui.old.analysis.structure import hottest
from trex_tui.old.artifacts import scan
from trex_tui.old.buildlog.build_trace import Fusion
from trex_tui.old.engine.engine import Engine, load_set
from trex_tui.old.engine.model import Layer
from trex_tui.old.lint.model import LintResult
from trex_tui.old.lint.run import run
from trex_tui.old.report.chart_file import NO_COLOURS
from trex_tui.old.report.charts.catalogue import CHARTS_BY_ID
from trex_tui.old.report.charts.figure import Bars, Subject
from trex_tui.old.report.charts.grid import fit_labels
from trex_tui.old.report.document import Table
from trex_tui.old.report.render_text import print_table
from trex_tui.old.report.views.build import pass_nodes, step_text
from trex_tui.old.report.views.compare import Shown, block_name, sections
from trex_tui.old.report.views.layer_table import BRIEF_COLUMNS, layers_table
from trex_tui.old.report.views.lint import EngineReport, list_entries
from trex_tui.old.screens.lint import finding_columns
from trex_tui.old.screens.overview import MOST_HOT_TALL, hot_columns
from trex_tui.old.text import MISSING
from trex_tui.old.widgets.block_table import BlockRow, BlockTable
from trex_tui.old.widgets.build_tables import Outline, layer_columns, pass_columns, tactic_columns
from trex_tui.old.widgets.lane_table import LaneTable
from trex_tui.old.widgets.layer_tree import LayerTree
from trex_tui.old.widgets.table_columns import latency_columns, memory_columns
from trex_tui.old.widgets.table_model import TableColumn, place_columns

PANES = (71, 96)
"""Cells of the lists of terminals of 120 and 160 columns with a pane beside them; wider ones have more room."""
TERMINALS = (80, 120)
MOST_LAYERS = 1_000
SAMPLES = REPOSITORY / "sample_artifacts"

Row = tuple[str, str]
"""What a row stands for, and what it shows."""


def ambiguous(rows: Iterable[Row]) -> dict[str, set[str]]:
    """Shown text -> the different things that show it."""
    named = defaultdict(set)
    for whole, shown in rows:
        named[shown].add(whole)
    return {shown: wholes for shown, wholes in named.items() if len(wholes) > 1}


@cache
def engines() -> list[Engine]:
    folders = [ARTIFACTS / name for name in ARTIFACT_FOLDERS] if ARTIFACTS.is_dir() else [SAMPLES]
    found = (load_set(source) for source in scan([str(folder) for folder in folders]).sets)
    return [engine for engine in found if 0 < len(engine.layers) <= MOST_LAYERS]


def column_texts(
    columns: Sequence[TableColumn[Any]],
    key: str,
    rows: Iterable[Any],
    whole: Callable[[Any], str],
    width: int,
) -> Iterator[Row]:
    """The cells of a column in a table of some width; none without rows, where a table leaves an empty column out."""
    rows = list(rows)
    if not rows:
        return
    placed = next(cell for cell in place_columns(columns, width) if cell.column.key == key)
    assert placed.column.shorten is not None
    for row in rows:
        shown = placed.column.shorten(row, placed.text_width)
        assert len(shown) <= placed.text_width
        yield whole(row), shown


def printed_texts(table: Table, key: str, width: int) -> Iterator[Row]:
    """The cells of a column of a table in a terminal."""
    index = next(number for number, column in enumerate(table.columns) if column.key == key)
    column = table.columns[index]
    widths: list[int] = []

    def shorten(text: str, room: int) -> str:
        widths.append(room)
        return column.shorten(text, room)

    columns = [*table.columns[:index], replace(column, shorten=shorten), *table.columns[index + 1 :]]
    console = Console(file=StringIO(), width=width, force_terminal=True)
    print_table(replace(table, columns=columns), console)
    for text in table.texts(index):
        yield text, column.shorten(text, widths[-1]) if widths else text


def chart_texts(engine: Engine, chart: str, width: int) -> Iterator[Row]:
    """The names of the bars of a chart, in the cells that the terminal gives them at least."""
    form = CHARTS_BY_ID[chart].make(Subject(engine, engine.layers, NO_COLOURS)).form
    if isinstance(form, Bars):
        names = [bar.label for bar in form.bars]
        yield from zip(names, fit_labels(names, width // 3, form.fit), strict=True)


@cache
def find_all(engine: Engine) -> LintResult:
    return run(engine)


def layer_name(layer: Layer) -> str:
    return layer.name


def engine_tables(engine: Engine, width: int) -> Iterator[tuple[str, list[Row]]]:
    """What the screens of an engine show of names and tactics."""
    latency, memory = latency_columns(engine, has_bounds=True), memory_columns(engine)
    yield "latency", [*column_texts(latency, "name", engine.layers, layer_name, width)]
    with_tactic = [layer for layer in engine.layers if layer.tactic]
    wanted = [column for column in latency if column.key in ("index", "tactic")]
    if with_tactic:
        yield "tactic", [*column_texts(wanted, "tactic", with_tactic, lambda row: row.tactic, width)]
    yield "memory", [*column_texts(memory, "name", engine.layers, layer_name, width)]
    hot = hottest(engine.layers, MOST_HOT_TALL)
    yield "overview", [*column_texts(hot_columns(engine, "Hottest layers"), "name", hot, layer_name, width)]
    yield "chart", [*chart_texts(engine, "bar", width)]
    yield "kernel chart", [*chart_texts(engine, "tactic", width)]
    entries = [entry for entry in list_entries(EngineReport(engine, find_all(engine))) if entry.layers]
    # One layer may have several findings: the rule is in a column of its own.
    columns = finding_columns(engine, lambda entry: entry.title, lambda: 58)
    where = column_texts(columns, "where", entries, lambda row: row.describe_place(), width)
    yield "lint", [*where]
    tree = LayerTree(engine, id="tree")
    tree.expanded = tree.expandable_keys()
    tree.rebuild()
    rows = [row for row in tree._model.rows if isinstance(row, Layer)]
    names = column_texts(tree.columns, "name", rows, layer_name, width)
    # The module that a layer stands in is part of what tells it from others.
    yield (
        "layers",
        [
            (name, f"{tree.position(row).parent} {text}")
            for row, (name, text) in zip(rows, names, strict=True)
        ],
    )


def build_tables(engine: Engine, width: int) -> Iterator[tuple[str, list[Row]]]:
    """What the screen of the build shows."""
    facts = load_build(engine, 0).facts
    if facts is None:
        return
    columns = layer_columns(facts)
    yield "tunings", [*column_texts(columns, "name", facts.tuned, lambda row: row.tuning.name, width)]
    for number, tuned in enumerate(facts.tuned):
        tactics = tactic_rows(facts, tuned)
        columns = tactic_columns(tactics)
        names = column_texts(columns, "name", tactics, lambda row: row.label, width)
        # Of one tactic in several formats, the number of the formats is in a column of its own.
        yield f"tactics {number}", [*names]
    passes = Outline(pass_columns(facts.trace), id="passes")
    passes.show_nodes(pass_nodes(facts.trace))
    passes.expanded = passes.expandable_keys()
    passes.rebuild()
    steps = [node for node in passes._model.rows if isinstance(node.item, Fusion)]
    yield "passes", [*column_texts(passes.columns, "name", steps, lambda node: step_text(node.item), width)]


def compare_tables(comparison: Comparison, width: int) -> Iterator[tuple[str, list[Row]]]:
    """What the screen of a comparison shows."""
    table = BlockTable(id="blocks")
    table.show(comparison)
    table.expanded = {block.index for block in comparison.blocks}
    table.show_blocks(comparison.blocks)

    def name(row: BlockRow) -> str:
        if row.layer is None:
            return block_name(comparison, row.block)
        return f"{row.engine_index} {row.layer.name}"

    yield "blocks", [*column_texts(table.columns, "name", table._model.rows, name, width)]
    lanes = LaneTable(id="lanes")
    lanes.show(comparison, 1)
    lanes.show_blocks(comparison.blocks)
    for lane, key in enumerate(("a_layer", "b_layer")):
        rows = [row for row in lanes._model.rows if row.layers[lane] is not None]
        names = column_texts(lanes.columns, key, rows, lambda row, at=lane: row.layers[at].name, width)
        yield key, [*names]


def printed_tables(engine: Engine, width: int) -> Iterator[tuple[str, list[Row]]]:
    layers = layers_table(engine, engine.layers, columns_named(BRIEF_COLUMNS, engine))
    yield "layers", [*printed_texts(layers, "name", width)]


def printed_comparison(comparison: Comparison, width: int) -> Iterator[tuple[str, list[Row]]]:
    shown = Shown(comparison, comparison.by_delta(), None)
    for section in sections(shown):
        if section.id == "blocks" and section.tables:
            yield "diff", [*printed_texts(section.tables[0], "block", width)]


@cache
def comparisons() -> list[Comparison]:
    """Each engine with the next one of the same folder."""
    pairs = pairwise(engines())
    return [
        compare(pair) for pair in pairs if pair[0].source.directory.parent == pair[1].source.directory.parent
    ]


def all_tables(width: int) -> Iterator[tuple[str, list[Row]]]:
    for engine in engines():
        for where, rows in chain(engine_tables(engine, width), build_tables(engine, width)):
            yield f"{engine.name} {where}", rows
    for comparison in comparisons():
        names = " ".join(side.label for side in comparison.sides)
        for where, rows in compare_tables(comparison, width):
            yield f"{names} {where}", rows


def all_printed(width: int) -> Iterator[tuple[str, list[Row]]]:
    for engine in engines():
        for where, rows in printed_tables(engine, width):
            yield f"{engine.name} {where}", rows
    for comparison in comparisons():
        names = " ".join(side.label for side in comparison.sides)
        for where, rows in printed_comparison(comparison, width):
            yield f"{names} {where}", rows


def find_ambiguous(tables: Iterable[tuple[str, list[Row]]]) -> dict[str, dict[str, set[str]]]:
    return {where: alike for where, rows in tables if (alike := ambiguous(rows))}


@pytest.mark.parametrize("width", PANES)
def test_rows_on_screens_differ(width: int) -> None:
    assert find_ambiguous(all_tables(width)) == {}


@pytest.mark.parametrize("width", TERMINALS)
def test_printed_rows_differ(width: int) -> None:
    assert find_ambiguous(all_printed(width)) == {}


def test_blocks_of_one_name_have_the_index_of_their_layer(tmp_path: Path) -> None:
    """Two layers with one name, in one engine only."""
    only = conv("conv1", "x", "y")
    one = write_engine(tmp_path / "a", [only], [1.0])
    two = write_engine(tmp_path / "b", [only, reformat("copy", "y", "z"), reformat("copy", "z", "w")])
    comparison = compare([one, two])
    for width in (40, 96):
        _, rows = next(compare_tables(comparison, width))
        assert {"▾ copy · B 1", "▾ copy · B 2"} <= {shown for _, shown in rows}
        _, printed = next(printed_comparison(comparison, width))
        assert {"copy · B 1", "copy · B 2"} <= {shown for _, shown in printed}


def test_a_block_that_two_engines_lack_has_no_difference(tmp_path: Path) -> None:
    """Of three engines, only the last has a second layer."""
    only = conv("conv1", "x", "y")
    engines = [
        write_engine(tmp_path / "a", [only], [1.0]),
        write_engine(tmp_path / "b", [only], [1.0]),
        write_engine(tmp_path / "c", [only, reformat("copy", "y", "z")], [1.0, 0.5]),
    ]
    comparison = compare(engines)
    (block,) = [block for block in comparison.blocks if block.is_one_sided]
    assert [comparison.delta_ms(block, engine) for engine in range(3)] == [None, None, 0.5]
    table = BlockTable(id="blocks")
    table.show(comparison)
    (delta,) = [column for column in table.columns if column.key == "delta:1"]
    assert delta.text(BlockRow(block)) == MISSING
