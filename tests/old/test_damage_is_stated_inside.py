"""Damage is stated by every command that reads sets, in every format; `--strict` and gates make it an exit code."""

from __future__ import annotations

import csv
import json
import shutil
import zipfile
from pathlib import Path

import pytest

from fuzzing.examining import WITHOUT_SETS, list_commands
from power_kit import monitor_csv
from test_damage_is_stated import LOG, METADATA, PROFILE, SAMPLE, TIMING, broken, errors_in, half
from trex_tui import load_engine
from trex_tui.__main__ import main
from trex_tui.old.analysis.load import LoadOptions
from trex_tui.old.artifacts import scan
from trex_tui.old.cli import COMMANDS
from trex_tui.old.cli.result_writer import COMPANION_ENDING
from trex_tui.old.fleet.rows import read_rows
from trex_tui.old.lint.run import run as lint
from trex_tui.old.report.charts.catalogue import CHARTS_BY_ID
from trex_tui.old.report.charts.figure import Palette, Subject
from trex_tui.old.report.charts.fleet_charts import kind_shares_figure
from trex_tui.old.report.views.memory import unknown_sentences
from trex_tui.old.report.views.timing import no_run

__all__ = ["broken"]

MONITOR = "alexnet_fp16.monitor.csv"


def arguments(case: tuple[str, ...], broken: Path) -> list[str]:
    name, form, *more = case
    paths = {"diff": [str(SAMPLE), str(broken)], "build-log": [str(broken / LOG)]}.get(name, [str(broken)])
    return [name, *paths, "--format", form, *more]


def write_model(path: Path) -> Path:
    """A model with the nodes of the sample."""
    onnx = pytest.importorskip("onnx")
    names = list(dict.fromkeys(name for layer in load_engine(SAMPLE).layers for name in layer.onnx_nodes))
    nodes = [
        onnx.helper.make_node("Relu", [f"t{place}"], [f"t{place + 1}"], name)
        for place, name in enumerate(names)
    ]
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph(nodes, "net", [], [])), path)
    return path


def read_names(name: str) -> tuple[str, ...]:
    """The damaged files that a command reads."""
    return (LOG,) if name == "build-log" else (PROFILE, TIMING, METADATA, LOG)


def run(command: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = main(command)
    err = capsys.readouterr().err
    if "not available here" in err or "not with Parquet" in err:
        pytest.skip("other options have this format")
    if "rsvg-convert" in err or "not installed" in err:
        pytest.skip(err)
    return code, err


def test_commands_without_a_set_are_commands() -> None:
    """Whatever is not among them has to state damage."""
    assert set(COMMANDS) >= WITHOUT_SETS
    assert {name for name, *_ in list_commands()} == set(COMMANDS) - WITHOUT_SETS


@pytest.mark.parametrize("case", list_commands(), ids=" ".join)
def test_every_command_states_damage_in_every_format(
    case: tuple[str, ...], broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, form, *_ = case
    target = tmp_path / f"result.{form}"
    model = ["--onnx", str(write_model(tmp_path / "net.onnx"))] if form == "onnx-annotated" else []
    code, err = run([*arguments(case, broken), *model, "-o", str(target)], capsys)
    for file in read_names(name):
        assert any("error: " in line and file in line for line in err.splitlines()), (file, err)
    if form == "trex":
        assert code == 2
        assert not [
            path for path in target.rglob("*") if path.name.endswith((".profile.json", ".timing.json"))
        ]
        return
    if form == "tea":
        assert code == 2
        with zipfile.ZipFile(target) as archive:
            assert archive.namelist()
            assert not set(read_names(name)) & set(archive.namelist())
        return
    text = target.read_bytes().decode(errors="replace")
    companion = Path(f"{target}{COMPANION_ENDING}")
    if companion.exists():
        assert form not in ("text", "md", "html", "sarif", "github")
        with companion.open(encoding="utf-8", newline="") as file:
            text = "\n".join(row["file"] for row in csv.DictReader(file) if row["severity"] == "error")
    elif form == "json":
        document = json.loads(text)
        text = "\n".join(errors_in(document, document["file"] if name == "build-log" else ""))
    if form == "md":
        text = text.replace("\\_", "_")
    missing = [file for file in read_names(name) if file not in text]
    assert not missing, text[:2000]


@pytest.mark.parametrize("name", sorted({name for name, *_ in list_commands()}))
def test_strict_turns_damage_into_exit_code_2(
    name: str, broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strict = [] if name == "build-log" else ["--strict"]  # its only file is damaged
    form = "csv" if name == "export" else next(form for other, form, *_ in list_commands() if other == name)
    gate = ["--fail-on", "never"] if name == "lint" else []
    command = [*arguments((name, form), broken), *gate, "-o", str(tmp_path / "x")]
    assert run([*command, *strict], capsys)[0] == 2
    assert (tmp_path / "x").is_file(), "the result is written all the same"
    if strict:
        assert run([*command, "--force"], capsys)[0] == 0
        whole = [str(SAMPLE) if argument == str(broken) else argument for argument in command]
        assert run([*whole, "--force", "--strict"], capsys)[0] == 0
        assert not (tmp_path / f"x{COMPANION_ENDING}").exists()


def test_a_companion_that_another_program_wrote_is_kept(
    broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    companion = tmp_path / f"x.csv{COMPANION_ENDING}"
    companion.write_text("mine\n")
    command = ["layers", str(broken), "-o", str(tmp_path / "x.csv")]
    assert main(command) == 2
    assert not (tmp_path / "x.csv").exists()
    assert main(["layers", str(SAMPLE), "-o", str(tmp_path / "x.csv")]) == 0
    assert companion.read_text() == "mine\n"
    assert main([*command, "--force"]) == 0
    assert companion.read_text().startswith("severity,file,where,message\nerror,")
    capsys.readouterr()


def words_of_chart(folder: Path, chart: str) -> str:
    engine = load_engine(folder)
    figure = CHARTS_BY_ID[chart].make(
        Subject(engine, engine.layers, Palette(lambda _: "$primary", lambda _: "$success"))
    )
    return " ".join((*figure.words, *figure.missing))


@pytest.mark.parametrize(
    ("chart", "name", "missing"),
    [
        ("histogram", TIMING, "--exportTimes"),
        ("over-time", TIMING, "--exportTimes"),
        ("pareto", PROFILE, "--exportProfile"),
        ("kind", PROFILE, "--exportProfile"),
        ("layers", PROFILE, "--exportProfile"),
        ("efficiency", PROFILE, "--exportProfile"),
        ("spread", PROFILE, "IProfiler"),
        ("power", MONITOR, "capture --monitor"),
    ],
)
def test_a_damaged_file_is_not_called_missing_in_charts(
    broken: Path, chart: str, name: str, missing: str
) -> None:
    (broken / PROFILE).write_bytes((broken / PROFILE).read_bytes()[:30])
    (broken / MONITOR).write_text(monitor_csv().splitlines()[0] + "\n")
    words = words_of_chart(broken, chart)
    assert f"Unusable: {name}:" in words
    assert missing not in words
    (broken / name).unlink()
    assert missing in words_of_chart(broken, chart)


def test_a_damaged_file_is_not_called_missing_elsewhere(broken: Path) -> None:
    (broken / PROFILE).write_bytes((broken / PROFILE).read_bytes()[:30])
    (broken / METADATA).unlink()
    (broken / LOG).unlink()
    engine = load_engine(broken)
    assert no_run(engine).startswith(f"Unusable: {TIMING}:")
    reasons = {note.reason for note in lint(engine).not_checked}
    assert any(reason.startswith(f"Unusable: {PROFILE}:") for reason in reasons)
    assert any(reason.startswith(f"Unusable: {TIMING}:") for reason in reasons)
    assert not any("trtexec with --exportProfile" in reason for reason in reasons)


def test_damaged_layer_information_is_not_called_missing(broken: Path) -> None:
    half(broken / "alexnet_fp16.graph.json")
    shutil.copy(SAMPLE / PROFILE, broken / PROFILE)
    engine = load_engine(broken)
    assert unknown_sentences(engine, None)[0].startswith("Unusable: alexnet_fp16.graph.json:")


def test_a_damaged_profile_is_not_called_missing_in_a_chart_of_engines(broken: Path, tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    shutil.copy(next(broken.glob("*graph*")), tmp_path / "bare")
    (broken / PROFILE).write_bytes((broken / PROFILE).read_bytes()[:30])

    def missing(*folders: Path) -> str:
        rows = [row for source in scan(folders).sets for row in read_rows(source, LoadOptions()).rows]
        return " ".join(kind_shares_figure(rows).missing)

    assert missing(broken) == "1 engine without layer times not shown (unusable profile)."
    assert missing(tmp_path / "bare") == "1 engine without layer times not shown (needs --exportProfile)."
    assert "(needs --exportProfile; 1 with an unusable profile)" in missing(broken, tmp_path / "bare")
