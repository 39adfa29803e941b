"""The summary and the table of layers, for scripts and for users."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from helpers import chain, golden, layer, write_graph, write_json, write_profile, write_sample_set
from trex_tui.__main__ import main
from trex_tui.old.analysis.columns import columns_named
from trex_tui.old.engine import COLUMNS, Engine, load_engine
from trex_tui.old.errors import Diagnostic, Severity, TrexError
from trex_tui.old.report.document import Cell, Column, Section, displayed, make_table
from trex_tui.old.report.export import ExportFormat, layers_as
from trex_tui.old.report.render_markdown import table_markdown
from trex_tui.old.report.render_text import plain_text, print_sections, print_table, table_lines
from trex_tui.old.report.table_files import table_csv
from trex_tui.old.report.views.engine import engine_summary, numbers, summary_document
from trex_tui.old.report.views.layer_table import BRIEF_COLUMNS, print_layers, sorted_layers
from trex_tui.old.report.views.summary import print_summaries
from trex_tui.old.report.views.timing import NO_RUN


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return load_engine(write_sample_set(tmp_path))


def drawn(width: int, draw: Any) -> str:
    console = Console(file=io.StringIO(), width=width, markup=False, highlight=False, emoji=False)
    with console.capture() as captured:
        draw(console)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


class TestSummary:
    def test_object(self, engine: Engine, tmp_path: Path) -> None:
        summary = engine_summary(engine)
        assert {
            key: value
            for key, value in summary.items()
            if key not in ("files", "by_kind", "by_precision", "plan", *numbers(engine))
        } == {
            "name": "net",
            "tensorrt_version": "10.4.0",
            "tensorrt_version_source": "build_log",
            "device": "NVIDIA Test GPU",
            "precision": "FP16",
            "builder_precision": "FP32+FP16",
            "layers": 6,
            "names_only": False,
            "layer_details_source": None,
            "optimization_profile": 0,
            "optimization_profiles": 1,
            "runs": [],
            "bindings": {
                "inputs": [
                    {
                        "name": "input",
                        "shape": [1, 3, 8, 8],
                        "dtype": "FP32",
                        "format": "Row major linear FP32",
                    }
                ],
                "outputs": [{"name": "output", "shape": [1, 10], "dtype": "FP32", "format": "Float"}],
                "undetermined": [],
            },
            "latency_sum_ms": pytest.approx(0.2),
            "profile_iterations": 1000,
            "throughput_qps": 4999.5,
            "latency": {
                "min_ms": 0.19,
                "mean_ms": 0.2,
                "median_ms": 0.2,
                "max_ms": 0.21,
                "p90_ms": 0.21,
                "p95_ms": 0.21,
                "p99_ms": 0.21,
                "source": "timing: 4 queries",
                "queries": 4,
                "warmup_queries": 0,
            },
            "weights_bytes": 432 * 2 + 16 * 2 + 10 * 1024 * 2,
            "known_weights_bytes": 432 * 2 + 16 * 2 + 10 * 1024 * 2,
            "layers_hiding_weights": 0,
            "capture": None,
            "by_device": {},
            "diagnostics": [
                {
                    "severity": "warning",
                    "file": str(tmp_path / "net.profile.json"),
                    "where": None,
                    "message": "has no row for 1 of 6 layers (the first: 'softmax')",
                }
            ],
        }
        assert summary["files"] == {
            kind: str(tmp_path / f"net.{name}")
            for kind, name in (
                ("graph", "graph.json"),
                ("profile", "profile.json"),
                ("timing", "timing.json"),
                ("build_metadata", "build.metadata.json"),
                ("profile_metadata", "profile.metadata.json"),
                ("build_log", "build.log"),
            )
        }
        assert summary["by_kind"]["gemm"] == {
            "layers": 1,
            "latency_ms": 0.12,
            "latency_pct": pytest.approx(60.0),
        }
        assert list(summary["by_kind"]) == ["gemm", "convolution", "myelin", "reformat", "noop", "softmax"]
        assert summary["by_kind"]["softmax"] == {"layers": 1, "latency_ms": None, "latency_pct": None}
        assert {key: total["layers"] for key, total in summary["by_precision"].items()} == {
            "FP16": 5,
            "FP32": 1,
        }

    def test_absent_facts_are_null(self, tmp_path: Path) -> None:
        summary = engine_summary(
            load_engine(write_json(tmp_path / "a.timing.json", [{"latencyMs": 1, "computeMs": 1}]))
        )
        absent = {key for key, value in summary.items() if value is None}
        assert absent == {
            "capture",
            "dla",
            "onnx",
            "power",
            "session",
            "gap",
            "tensorrt_version",
            "tensorrt_version_source",
            "device",
            "precision",
            "builder_precision",
            "layers",
            "latency_sum_ms",
            "profile_iterations",
            "throughput_qps",
            "weights_bytes",
            "known_weights_bytes",
            "layer_details_source",
        }
        assert (summary["by_kind"], summary["by_precision"]) == ({}, {})
        assert summary["latency"]["p99_ms"] == 1.0

    def test_document(self, engine: Engine) -> None:
        stray = Diagnostic(Severity.ERROR, Path("x.json"), "line 1", "is broken")
        document = summary_document([engine], [stray])
        assert list(document) == ["schema", "engines", "split_models", "diagnostics"]
        assert document["schema"] == "trex-tui/summary/2"
        assert document["diagnostics"] == [
            {"severity": "error", "file": "x.json", "where": "line 1", "message": "is broken"}
        ]
        assert json.loads(json.dumps(document, allow_nan=False)) == document

    def test_text(self, engine: Engine, tmp_path: Path) -> None:
        shown = drawn(1000, lambda console: print_summaries([engine], console))
        shown = shown.replace(str(tmp_path), "DIR").replace("DIR/", "")
        assert shown == golden("summary.txt", shown)

    def test_text_of_little(self, tmp_path: Path) -> None:
        engine = load_engine(write_graph(tmp_path / "a.graph.json", ["Conv_0"]))
        shown = drawn(200, lambda console: print_summaries([engine], console))
        for line in (
            "Precision  unknown",
            "Layers     1; names only",
            "Not stated (needs a log, or metadata, of a run).",
            "Not stated (needs a build log or build metadata).",
            "Weights      unknown",
            NO_RUN,
            "Layer times  unknown: no profile",
        ):
            assert line in shown.splitlines()

    def test_a_profile_that_does_not_belong(self, tmp_path: Path) -> None:
        write_profile(tmp_path / "a.profile.json", [("x", 1.0)])
        engine = load_engine(write_graph(tmp_path / "a.graph.json", chain("one")))
        shown = drawn(200, lambda console: print_summaries([engine], console))
        assert "Layer times  unknown: no layer times in the profile" in shown.splitlines()

    def test_one_iteration_is_pointed_out(self, tmp_path: Path) -> None:
        engine = load_engine(write_profile(tmp_path / "a.profile.json", [("one", 1.0)], count=1))
        shown = drawn(200, lambda console: print_summaries([engine], console))
        assert "sum 1.0000 ms over 1 iteration (a single sample per layer)" in shown


class TestLayers:
    def brief(self) -> Any:
        return columns_named(BRIEF_COLUMNS)

    def test_text(self, engine: Engine) -> None:
        shown = drawn(1000, lambda console: print_layers(engine, engine.layers, self.brief(), console))
        assert shown == golden("layers.txt", shown)

    def in_terminal(self, width: int, draw: Any) -> list[str]:
        console = Console(
            file=io.StringIO(), width=width, force_terminal=True, color_system=None, highlight=False
        )
        with console.capture() as captured:
            draw(console)
        return re.sub(r"\x1b\[[0-9;]*m", "", captured.get()).splitlines()

    @pytest.mark.parametrize("width", [60, 80, 100, 132, 200])
    def test_a_terminal(self, tmp_path: Path, width: int) -> None:
        """Names and tactics of real length: every line fits, and a tactic is there with a useful width or not at all."""
        names = [
            f"/model/encoder/layers.{row}/{'self_attention/' * 4}conv_{row} + Relu_{row}" for row in range(12)
        ]
        layers = [
            layer(
                name,
                "CaskConvolution",
                TacticName=f"sm80_{'xmma_' * 12}tile_{row}",
                ParameterType="Convolution",
            )
            for row, name in enumerate(names)
        ]
        graph = write_graph(tmp_path / "a.graph.json", layers)
        write_profile(tmp_path / "a.profile.json", [(name, 0.5 + row) for row, name in enumerate(names)])
        engine = load_engine(graph)
        head, *rows, total = self.in_terminal(
            width, lambda console: print_layers(engine, engine.layers[:10], self.brief(), console)
        )
        assert all(cell_len(line) <= width for line in (head, *rows, total))
        assert len(rows) == 10
        for row, line in enumerate(rows):
            assert "/model/" not in line, "common to all"
            assert f"{row}/self_atten" in line
            assert f"Relu_{row} " in line
        assert {"Layer", "ms", "%"} <= set(head.split())
        bars = [line.count("█") for line in rows]
        assert bars == sorted(bars)
        assert bars[-1] == 8
        assert total == "10 of 12 layers · 50.0000 ms · 69.44 % of all"
        has_tactic = "Tactic" in head
        assert has_tactic == (width >= 100), "the empty column of precisions leaves its room"
        assert all(len(line.rpartition("sm80_")[2]) >= 25 for line in rows if has_tactic)

    def test_a_terminal_shows_every_column_that_was_chosen(self, engine: Engine) -> None:
        chosen = columns_named(["name", "tactic", "kind", "io_bytes", "latency_ms", "onnx_nodes"])
        head, *_ = self.in_terminal(60, lambda console: print_layers(engine, engine.layers, chosen, console))
        assert head.split() == ["Layer", "Tactic", "Kind", "I/O", "ms", "ONNX", "nodes"]

    def test_totals_without_times(self, tmp_path: Path) -> None:
        engine = load_engine(write_graph(tmp_path / "a.graph.json", chain("one", "two")))
        *_, total = self.in_terminal(
            80, lambda console: print_layers(engine, engine.layers, self.brief(), console)
        )
        assert total == "2 layers · No layer times (needs --exportProfile)."
        *_, total = self.in_terminal(80, lambda console: print_layers(engine, [], self.brief(), console))
        assert total == "0 of 2 layers"

    @pytest.mark.parametrize("form", ["text", "md"])
    def test_an_empty_column_leaves_unless_it_was_chosen(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
    ) -> None:
        graph = write_json(tmp_path / "a.graph.json", {"Layers": ["one", "two"], "Bindings": []})

        def head(*options: str) -> list[str]:
            assert main(["layers", str(graph), "--format", form, *options]) == 0
            return re.findall(r"\w+", capsys.readouterr().out.splitlines()[0])

        assert head() == ["index", "name", "kind"]
        assert head("--columns", "index,latency_ms") == ["index", "latency_ms"]
        main(["layers", str(graph), "--format", "csv"])
        assert "latency_ms" in capsys.readouterr().out.splitlines()[0]

    def test_markdown(self, engine: Engine) -> None:
        shown = layers_as(ExportFormat.MARKDOWN, engine, engine.layers, self.brief())
        assert shown == golden("layers.md", shown)

    def test_csv(self, engine: Engine) -> None:
        columns = columns_named([*BRIEF_COLUMNS, "onnx_nodes"])
        text = layers_as(ExportFormat.CSV, engine, engine.layers, columns)
        assert text == golden("layers.csv", text)
        rows = list(csv.reader(io.StringIO(text)))
        assert rows[5][:5] == ["4", 'evil ␛[31m|name|, "quoted"', "myelin", "FP16", "0.02"]

    def test_document(self, engine: Engine) -> None:
        document = json.loads(layers_as(ExportFormat.JSON, engine, engine.layers, COLUMNS))
        assert (document["schema"], document["engine"]) == ("trex-tui/layers/1", "net")
        assert [list(row) for row in document["layers"]] == [[column.name for column in COLUMNS]] * 6
        second, last = document["layers"][1], document["layers"][5]
        assert (second["name"], second["kind"], second["latency_ms"]) == (
            "/features/Conv + /features/Relu",
            "convolution",
            0.05,
        )
        assert second["onnx_nodes"] == ["/features/Conv", "/features/Relu"]
        assert (last["latency_ms"], last["tactic"]) == (None, None)

    def test_columns_are_documented(self) -> None:
        assert all(column.description.endswith((".", "…")) for column in COLUMNS)
        assert len({column.name for column in COLUMNS}) == len(COLUMNS)

    def test_unknown_column(self) -> None:
        with pytest.raises(TrexError, match=r"^no column 'kinds'; did you mean kind\?$"):
            columns_named(["name", "kinds"])
        with pytest.raises(TrexError, match=r"^no column 'zzz'; `trex-tui explain` lists the columns$"):
            columns_named(["zzz"])

    @pytest.mark.parametrize(
        ("column", "reverse", "order"),
        [
            (None, False, [0, 1, 2, 3, 4, 5]),
            (None, True, [5, 4, 3, 2, 1, 0]),
            ("latency_ms", False, [3, 1, 4, 0, 2, 5]),
            ("latency_ms", True, [2, 0, 4, 1, 3, 5]),
            ("kind", False, [1, 3, 4, 2, 0, 5]),
            ("kind", True, [5, 0, 2, 4, 3, 1]),
            ("tactic", False, [1, 0, 2, 3, 4, 5]),
            ("tactic", True, [1, 0, 2, 3, 4, 5]),
            ("index", False, [5, 4, 3, 2, 1, 0]),
        ],
    )
    def test_order(self, engine: Engine, column: str | None, reverse: bool, order: list[int]) -> None:
        chosen = columns_named([column])[0] if column else None
        assert [layer.index for layer in sorted_layers(engine, chosen, reverse=reverse)] == order


class TestTextTable:
    ROWS = (
        ("layer " * 8 + "tail", 1.5, "x"),
        ("日本語" * 9, 12.25, "y" * 30),
        (Cell("", ""), None, Cell("", "")),
    )
    TABLE = make_table(
        "t",
        (
            Column("name", "name", flex=True),
            Column("time", "ms", is_number=True, format="{:.2f}".format),
            Column("what", "what", flex=True),
        ),
        ROWS,
    )

    def test_in_a_pipe_nothing_is_cut(self) -> None:
        assert table_lines(self.TABLE, None) == [
            f"{'name':54}     ms  what",
            f"{'layer ' * 8 + 'tail':54}   1.50  x",
            f"{'日本語' * 9}  12.25  {'y' * 30}",
            f"{'':54}      –",
        ]

    @pytest.mark.parametrize("room", [35, 36, 50, 70, 94])
    def test_in_a_terminal_texts_give_way(self, room: int) -> None:
        lines = table_lines(self.TABLE, room)
        assert max(map(cell_len, lines)) <= room
        assert all(number in line for number, line in zip(("ms", "1.50", "12.25", "–"), lines, strict=True))
        assert "tail" in lines[1], "the tail tells a name from its siblings"

    def test_numbers_stay_whole_where_nothing_fits(self) -> None:
        assert max(map(cell_len, table_lines(self.TABLE, 10))) == 12 + 2 + 5 + 2 + 12

    def test_rich_draws_what_fits_alike(self) -> None:
        table = Table(box=None, padding=(0, 1), pad_edge=False)
        table.add_column("name", no_wrap=True)
        table.add_column("ms", no_wrap=True, justify="right")
        table.add_column("what", no_wrap=True)
        for row in zip(*map(self.TABLE.texts, range(3)), strict=True):
            table.add_row(*map(Text, row))
        shown = drawn(200, lambda console: print_table(self.TABLE, console, "bold", 20))
        assert shown == drawn(200, lambda console: console.print(table))


def test_a_pipe_gets_what_rich_would_print_without_a_limit() -> None:
    """The console of a pipe is our own; only widths of letters are Rich's."""
    columns = [Column("name", "Name"), Column("latency_ms", "ms", is_number=True, has_bar=True)]
    rows = [("畳み込み", 0.25), ("conv – [bold]a[/bold]", 1.5), ("é", None)]
    text = [Column("name", "Name", flex=True), columns[1]]
    section = Section(
        "s",
        "Título [red]",
        sentences=["Eins.", "  zwei  "],
        facts=[("畳", "one\ntwo"), ("longer label", "x")],
        folded=[("a", "b")],
        tables=[make_table("bars", columns, rows), make_table("lines", text, rows)],
    )
    drawn = io.StringIO()
    rich = Console(file=drawn, width=10_000, color_system=None, markup=False, highlight=False, emoji=False)
    print_sections([section], rich)
    expected = [line.rstrip() for line in drawn.getvalue().splitlines()]
    assert plain_text(lambda console: print_sections([section], console)).splitlines() == expected
    assert plain_text(lambda console: console.print(Text("as Rich prints it"))) == "as Rich prints it\n"


def test_empty_columns_leave_tables_but_not_their_texts() -> None:
    """As on screen; JSON and CSV keep all. A cell without a value may have a text: `at least 3 MiB`."""
    columns = [
        Column("a", "A"),
        Column("b", "B"),
        Column("c", "C", is_number=True, has_bar=True),
        Column("d", "D"),
    ]
    rows = [("x", Cell(None, "unknown"), None, ""), ("y", None, float("nan"), None)]
    table = make_table("t", columns, rows)
    section = Section("s", "S", tables=[table])
    assert plain_text(lambda console: print_sections([section], console)).split()[1:3] == ["A", "B"]
    assert next(table_markdown(table)) == "| A | B |"
    assert [column.key for column in displayed(make_table("t", columns, [])).columns] == ["a", "b", "c", "d"]
    assert table_csv(table).splitlines()[0] == "a,b,c,d"
