"""Damage is stated by every command that reads sets, in every format; `--strict` and gates make it an exit code."""

from __future__ import annotations

import csv
import gzip
import json
import resource
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from helpers import REPOSITORY
from power_kit import monitor_csv
from trex_tui import load_engine
from trex_tui.old.analysis.load import LoadOptions
from trex_tui.old.artifacts import scan
from trex_tui.old.cli import COMMANDS, main
from trex_tui.old.cli.result_writer import COMPANION_ENDING
from trex_tui.old.fleet.rows import read_rows
from trex_tui.old.lint.run import run as lint
from trex_tui.old.report.charts.catalogue import CHARTS_BY_ID
from trex_tui.old.report.charts.figure import Palette, Subject
from trex_tui.old.report.charts.fleet_charts import kind_shares_figure
from trex_tui.old.report.views.memory import unknown_sentences
from trex_tui.old.report.views.timing import no_run

sys.path.insert(0, str(REPOSITORY / "scripts"))

from fuzzing.examining import WITHOUT_SETS, list_commands

SAMPLE = REPOSITORY / "tests/old/sample_artifacts" / "alexnet"
PROFILE, TIMING = "alexnet_fp16.profile.json", "alexnet_fp16.timing.json"
METADATA, LOG = "alexnet_fp16.profile.metadata.json", "alexnet_fp16.build.log.gz"

MONITOR = "alexnet_fp16.monitor.csv"


def half(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A set of which the profile, the timing, the metadata and the packed log end in the middle."""
    folder = tmp_path / "broken"
    shutil.copytree(SAMPLE, folder)
    log = folder / LOG
    log.with_suffix("").rename(log.with_suffix(".tmp"))
    log.write_bytes(gzip.compress(log.with_suffix(".tmp").read_bytes(), mtime=0))
    log.with_suffix(".tmp").unlink()
    for name in (PROFILE, TIMING, METADATA, LOG):
        half(folder / name)
    return folder


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
    if "takes librsvg" in err or "not installed" in err:
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


def errors_in(value: object, only: str = "") -> list[str]:
    """The files of all errors under `diagnostics`, and of tables of remarks in reports.

    Args:
        only: The file that a document without names of files is about.
    """
    if isinstance(value, list):
        return [text for item in value for text in errors_in(item, only)]
    if not isinstance(value, dict):
        return []
    is_error = value.get("severity") == "error" and value.get("message")
    own = [value.get("file") or only] if is_error else []
    return own + [text for item in value.values() for text in errors_in(item, only)]


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


def test_a_file_of_another_program_is_no_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(SAMPLE, tmp_path / "set")
    (tmp_path / "set" / "tsconfig.json").write_text('{"compilerOptions": [')
    for command in ("summary", "layers", "lint"):
        assert main([command, str(tmp_path / "set"), "--strict"]) == 0
    (tmp_path / "set" / "alexnet_fp16.timing.json").write_text("[{")
    assert main(["summary", str(tmp_path / "set"), "--strict"]) == 2
    capsys.readouterr()


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


def test_the_gate_of_lint_is_not_judged_on_damaged_files(
    broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lint", str(broken), "-o", str(tmp_path / "x")]) == 2
    assert "are unknown; replace the file, or use --fail-on never" in capsys.readouterr().err
    assert (tmp_path / "x").is_file()
    assert main(["lint", str(broken), "--fail-on", "never"]) == 0
    capsys.readouterr()


def test_every_file_of_an_engine_that_cannot_be_read_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(SAMPLE, tmp_path / "good")
    (tmp_path / "bad").mkdir()
    for kind, size in (("graph", 70), ("profile", 70), ("timing", 2)):
        data = (SAMPLE / f"alexnet_fp16.{kind}.json").read_bytes()
        (tmp_path / "bad" / f"bad.{kind}.json").write_bytes(data[:size])
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "x.html")]) == 0
    err = capsys.readouterr().err
    assert "bad.graph.json" in err
    assert "bad.profile.json" in err
    assert "bad.timing.json" in err
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "x.html"), "--strict"]) == 2
    capsys.readouterr()


@pytest.mark.parametrize(
    "command",
    [
        "summary",
        "layers",
        "lint --fail-on never",
        "diff",
        "report",
        "history",
        "times",
        "export --format json",
    ],
)
def test_json_states_damaged_files_of_no_engine(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(SAMPLE, tmp_path / "set")
    (tmp_path / "set" / "other").mkdir()
    (tmp_path / "set" / "other" / "other.graph.json").write_text('{"Layers": [')
    name, *more = command.split()
    paths = [str(SAMPLE), str(tmp_path / "set")] if name == "diff" else [str(tmp_path / "set")]
    form = [] if more[:1] == ["--format"] else ["--json"]
    assert main([name, *paths, *more, *form]) == 0
    assert any("other.graph.json" in file for file in errors_in(json.loads(capsys.readouterr().out)))


def test_a_result_is_not_written_without_its_companion_and_no_companion_without_its_result(
    broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The companion is short enough for a full disk, the result is not."""
    _, hard = limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        code = main(["layers", str(broken), "-o", str(tmp_path / "x.csv")])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert code == 2
    assert "x.csv cannot be written: File too large" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["broken"]


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


def test_a_damaged_file_is_not_called_missing_in_a_comparison(
    broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = str(SAMPLE)
    (broken / PROFILE).write_bytes((broken / PROFILE).read_bytes()[:30])
    main(["diff", whole, str(broken)])
    out = " ".join(capsys.readouterr().out.split())
    assert f"B has no profile ({PROFILE} is unusable)" in out
    assert f"has no timing rows ({TIMING} is unusable)" in out
    assert "--export" not in out
    (broken / PROFILE).unlink()
    (broken / TIMING).unlink()
    main(["diff", whole, str(broken)])
    out = " ".join(capsys.readouterr().out.split())
    assert "B has no profile (needs --exportProfile)" in out
    assert "has no timing rows (`trtexec --exportTimes`)" in out


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
