"""The Python API: what docs/python.md shows, the same numbers as the commands, short representations, safe files."""

from __future__ import annotations

import doctest
import json
import os
import shutil
from pathlib import Path

import pandas as pd
import pytest

import run_notebook
from helpers import OLD_SAMPLES, REPOSITORY, write_graph, write_profile
from hostile import WEB
from trex_tui import Engine, TrexError, load_engine, load_engines
from trex_tui.__main__ import main

SAMPLES = OLD_SAMPLES
PAGE = REPOSITORY / "docs/python.md"
LONGEST_REPR = 240


@pytest.fixture(scope="module")
def engine() -> Engine:
    return load_engine(SAMPLES / "alexnet")


@pytest.fixture(scope="module")
def other() -> Engine:
    return load_engine(SAMPLES / "alexnet_int8")


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> object:
    assert main([*arguments, "--json"]) in (0, 1)
    return json.loads(capsys.readouterr().out)


def test_examples_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sample_artifacts").symlink_to(REPOSITORY / "sample_artifacts")
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8").replace("\n```\n", "\n\n")
    test = doctest.DocTestParser().get_doctest(text, {}, "python.md", str(PAGE), 0)
    shown: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=shown.append)
    assert result.failed == 0, "".join(shown)
    assert result.attempted > 20


def test_results_state_damaged_files(tmp_path: Path, other: Engine) -> None:
    shutil.copytree(SAMPLES / "alexnet", tmp_path / "set")
    profile = tmp_path / "set" / "alexnet_fp16.profile.json"
    profile.write_bytes(profile.read_bytes()[:1000])
    broken = load_engine(tmp_path / "set")
    assert repr(broken).endswith(", 1 damaged file>")
    for result in (broken.summary(), broken.lint(), broken.compare(other), other.compare(broken)):
        for text in (str(result), result.to_html(), json.dumps(result.to_dict())):
            assert "alexnet_fp16.profile.json" in text, result
            assert "is truncated" in text, result


@pytest.mark.parametrize("name", sorted(path.name for path in SAMPLES.iterdir() if path.is_dir()))
def test_representations_are_short(name: str) -> None:
    engine = load_engine(SAMPLES / name)
    first = engine.layers[0]
    shown = [engine, engine.timing, engine.metadata, engine.source, engine.capture, engine.summary()]
    shown += [engine.lint(), engine.lint().result, engine.compare(engine), engine.compare(engine).comparison]
    shown += [*engine.layers, *engine.bindings, *first.inputs, *first.outputs]
    for value in shown:
        assert len(repr(value)) < LONGEST_REPR, value


def test_select_filters_layers_and_columns(engine: Engine) -> None:
    chosen = engine.select("kind:gemm", ["name", "ms"])
    assert list(chosen.columns) == ["name", "latency_ms"]
    assert list(chosen.index) == [layer.index for layer in engine.layers if layer.kind.value == "gemm"]
    assert len(engine.select()) == len(engine.layers)
    with pytest.raises(TrexError, match="filter: "):
        engine.select("kind:(")


def test_results_are_those_of_the_commands(
    engine: Engine, other: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = str(SAMPLES / "alexnet"), str(SAMPLES / "alexnet_int8")
    for result, command in (
        (engine.summary(), ["summary", first]),
        (engine.lint(), ["lint", first]),
        (
            engine.lint("CONV", min_severity="info"),
            ["lint", "--select", "CONV", "--min-severity", "info", first],
        ),
        (engine.compare(other), ["diff", first, second]),
        (engine.compare(other, filter="kind:gemm"), ["diff", "--filter", "kind:gemm", first, second]),
    ):
        assert json.loads(json.dumps(result.to_dict())) == run_json(capsys, *command), command


def test_text_is_that_of_the_command(
    engine: Engine, other: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", str(SAMPLES / "alexnet"), str(SAMPLES / "alexnet_int8"), "--top", "0"]) == 0
    assert str(engine.compare(other)) == capsys.readouterr().out.rstrip("\n")
    assert main(["lint", str(SAMPLES / "alexnet")]) == 0
    assert str(engine.lint()) == capsys.readouterr().out.rstrip("\n")


def test_frames_have_the_numbers_of_the_objects(engine: Engine, other: Engine) -> None:
    findings = engine.lint()
    savings = [judged.saving_ms for judged in findings.result.findings]
    assert [None if pd.isna(saving) else saving for saving in findings.frame["saving_ms"]] == savings
    comparison = engine.compare(other)
    document = comparison.to_dict()
    assert comparison.frame["latency_ms_1"].dtype == "float64"
    assert comparison.frame["latency_ms_1"].sum() == pytest.approx(document["engines"][1]["latency_sum_ms"])
    delta = document["differences"][1]["delta_ms"]
    assert comparison.reasons["delta_ms"].iloc[-1] == pytest.approx(delta)
    assert comparison.reasons["delta_ms"].iloc[:-1].sum() == pytest.approx(delta)
    assert set(comparison.frames) >= {"reasons", "engines", "by-kind", "blocks"}
    summary = engine.summary()
    assert summary.frames["by_kind"]["latency_ms"].sum() == pytest.approx(engine.latency_sum_ms)
    assert "Device" in set(summary.facts["section"])
    assert summary.facts["text"].notna().all()


def test_timing_has_a_row_per_query_and_marks_the_warmup(engine: Engine) -> None:
    timing = engine.timing
    assert timing is not None
    frame = timing.frame
    assert len(frame) == timing.rows
    assert frame["latency_ms"].tolist() == list(timing.latency_ms)
    assert frame["is_warmup"].dtype == "boolean"
    used = frame.loc[~frame["is_warmup"], "latency_ms"]
    assert used.median() == pytest.approx(engine.summary().to_dict()["engines"][0]["latency"]["median_ms"])


def test_an_engine_without_times_has_frames_all_the_same(tmp_path: Path) -> None:
    engine = load_engine(write_graph(tmp_path / "net.graph.json", ["one", "two"]))
    assert engine.timing is None
    assert engine.frame["latency_ms"].isna().all()
    assert engine.lint().frame.empty or "rule" in engine.lint().frame
    assert engine.compare(engine).reasons.empty or engine.compare(engine).reasons["delta_ms"].isna().all()
    assert "layers" in set(engine.summary().frame["figure"])
    with pytest.raises(TrexError, match="nothing to draw"):
        engine.chart("over-time")


def test_html_escapes_names(tmp_path: Path) -> None:
    write_graph(tmp_path / "a.graph.json", [WEB, "two"])
    write_profile(tmp_path / "a.profile.json", [(WEB, 1.0), ("two", 2.0)])
    engine = load_engine(tmp_path)
    for result in (engine, engine.summary(), engine.lint(), engine.compare(engine)):
        page = result._repr_html_()
        assert "<script" not in page
        assert WEB not in page
    assert WEB not in engine.chart("layers")._repr_svg_()
    assert WEB not in engine.draw(layout="builtin")._repr_svg_()


def test_pages_of_a_notebook_are_small(engine: Engine, other: Engine) -> None:
    """All outputs of the notebook together were 1.6 MB."""
    sizes = {
        type(result).__name__: len(result._repr_html_())
        for result in (engine, engine.summary(), engine.lint())
    }
    sizes["comparison"] = len(engine.compare(other)._repr_html_())
    assert max(sizes.values()) < 40_000, sizes


def test_files_are_written_and_foreign_ones_kept(engine: Engine, other: Engine, tmp_path: Path) -> None:
    chart = engine.chart("roofline")
    assert chart.save(tmp_path / "a.svg").read_text(encoding="utf-8") == chart.svg
    assert chart.save(tmp_path / "a.svg") == tmp_path / "a.svg"
    for name in ("page.html", "page.md", "page.json"):
        assert engine.report(tmp_path / name).stat().st_size > 1000
    assert main(["report", str(SAMPLES / "alexnet"), "-o", str(tmp_path / "command.json")]) == 0
    assert json.loads((tmp_path / "command.json").read_text()) == json.loads(
        (tmp_path / "page.json").read_text()
    )
    both = engine.compare(other).report(tmp_path / "both.html").read_text(encoding="utf-8")
    assert "Comparison" in both
    foreign = tmp_path / "mine.html"
    foreign.write_text("important")
    with pytest.raises(TrexError, match="exists"):
        engine.report(foreign)
    assert foreign.read_text() == "important"
    assert engine.report(foreign, force=True) == foreign
    with pytest.raises(TrexError, match="input file"):
        engine.report(engine.files[next(iter(engine.files))], force=True)
    with pytest.raises(TrexError, match=r"a\.pdf: a report is \.html"):
        engine.report(tmp_path / "a.pdf")
    with pytest.raises(TrexError, match=r"a\.gif: a picture is"):
        chart.save(tmp_path / "a.gif")


def test_arguments_are_checked(engine: Engine, tmp_path: Path) -> None:
    for call, message in (
        (lambda: engine.chart("rofline"), "did you mean roofline"),
        (lambda: engine.chart("kind", x="macs"), "x: not for chart kind"),
        (lambda: engine.chart("scatter", y="name"), "y: name is not a numeric column"),
        (lambda: engine.lint("CON"), "select: "),
        (lambda: engine.lint(min_severity="bad"), "min_severity: "),
        (lambda: engine.compare(), "two or more|at least two"),
        (lambda: engine.compare(engine, align="magic"), "magic"),
        (lambda: engine.compare(engine, filter="kind:("), "filter: "),
        (lambda: engine.draw(color="red"), "color: "),
        (lambda: engine.draw(layout="neat"), "layout: "),
        (lambda: load_engine(SAMPLES), "load_engines"),
        (lambda: load_engine(tmp_path / "absent"), "absent"),
    ):
        with pytest.raises(TrexError, match=message):
            call()


def test_every_engine_is_loaded() -> None:
    engines = load_engines(SAMPLES)
    assert len(engines) == 5
    combined = pd.concat({engine.name: engine.frame for engine in engines})
    assert len(combined) == sum(len(engine.layers) for engine in engines)


def test_engines_have_the_table_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    compared = ("engine", "layers", "latency_median_ms", "weights_bytes", "findings", "model")
    assert main(["engines", str(SAMPLES), "--json", "--columns", ",".join(compared)]) == 0
    rows = {row["engine"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    engines = load_engines(SAMPLES)
    frame = engines.frame.set_index("engine")
    assert list(frame.index) == [engine.name for engine in engines]
    for column in compared[1:]:
        for name, row in rows.items():
            value = frame.loc[name, column]
            assert row[column] == (None if pd.isna(value) else value)
    assert repr(engines).startswith("<5 engines: alexnet_fp16,")
    assert ">alexnet_fp32<" in engines._repr_html_()


def test_the_notebook_runs_and_its_outputs_are_small() -> None:
    """All of its outputs are in the file: a reader sees them without running it."""
    notebook = json.loads(run_notebook.NOTEBOOK.read_text(encoding="utf-8"))
    made = run_notebook.executed(notebook)
    if os.environ.get("UPDATE_GOLDENS"):
        run_notebook.write(made)
    kinds = [
        [sorted(output.get("data", {})) for output in cell["outputs"]]
        for cell in made["cells"]
        if cell["cell_type"] == "code"
    ]
    stored = [
        [sorted(output.get("data", {})) for output in cell["outputs"]]
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]
    assert kinds == stored
    assert len(kinds) > 15
    assert run_notebook.output_bytes(made) < 150_000
