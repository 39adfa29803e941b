"""`trex-tui export`: formats, refusals, messages."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from helpers import strict_json
from trex_tui.__main__ import main
from trex_tui.cli.export import EPILOG

SAMPLES = Path(__file__).resolve().parents[1] / "sample_artifacts"
ALEXNET = SAMPLES / "alexnet"
Captured = pytest.CaptureFixture[str]


def run(capsys: Captured, *arguments: object) -> tuple[int, str, str]:
    code = main(["export", *map(str, arguments)])
    return (code, *capsys.readouterr())


def one_line(text: str) -> str:
    assert text.count("\n") == 1
    assert text.startswith("trex-tui: error: ")
    return text


@pytest.mark.parametrize(
    ("name", "starts"),
    [
        ("g.dot", b'digraph "alexnet_fp16" {'),
        ("g.gv", b'digraph "alexnet_fp16" {'),
        ("g.graphml", b"<?xml"),
        ("g.json", b"{"),
        ("G.CSV", b"index,name,"),
        ("g.parquet", b"PAR1"),
        ("g.xlsx", b"PK"),
        ("g.perfetto.json", b'{"'),
        ("g.metadata.json", b'{\n    "model_options"'),
    ],
)
def test_the_ending_tells_the_format(name: str, starts: bytes, tmp_path: Path, capsys: Captured) -> None:
    if needed := {"parquet": "pyarrow", "xlsx": "xlsxwriter"}.get(name.rpartition(".")[2]):
        pytest.importorskip(needed)
    code, out, err = run(capsys, ALEXNET, "-o", tmp_path / name)
    assert (code, out) == (0, "")
    assert err == f"trex-tui: wrote {tmp_path / name}\n"
    assert (tmp_path / name).read_bytes().startswith(starts)


def test_the_table_is_that_of_layers(capsys: Captured) -> None:
    options = [ALEXNET, "--format", "csv", "--filter", "kind:gemm", "--columns", "name,latency_ms"]
    _, table, err = run(capsys, *options)
    assert err == ""
    assert table.splitlines()[0] == "name,latency_ms"
    assert len(table.splitlines()) == 4
    assert main(["layers", *map(str, options)]) == 0
    assert capsys.readouterr().out == table


def test_chosen_layers(capsys: Captured) -> None:
    options = ["--format", "json", "--filter", "index:4", "--radius", "1", "--columns", "index,kind"]
    code, out, err = run(capsys, ALEXNET, *options)
    assert (code, err) == (0, "")
    nodes = {one["id"]: one for one in strict_json(out)["nodes"]}
    assert list(nodes) == ["layer_3", "layer_4", "layer_5"]
    assert nodes["layer_4"] == {
        "id": "layer_4",
        "role": "layer",
        "label": "/features/features.5/MaxPool",
        "index": 4,
        "kind": "pooling",
    }
    code, table, err = run(capsys, ALEXNET, "--format", "csv", "--filter", "zzz", "--columns", "name")
    assert (code, table) == (0, "name\n")
    assert err == "trex-tui: 0 of 14 layers chosen\n"


def test_metadata_has_the_keys_of_trex(capsys: Captured) -> None:
    code, out, _ = run(capsys, ALEXNET, "--format", "trex-metadata")
    document = json.loads(out)
    assert code == 0
    assert list(document) == [
        "model_options", "build_options", "performance_summary", "inference_options", "device_information",
    ]  # fmt: skip
    assert len(document["performance_summary"]["Latency"]) == 7
    original = json.loads((ALEXNET / "alexnet_fp16.profile.metadata.json").read_text(encoding="utf-8"))
    assert document["performance_summary"]["Latency"] == original["performance_summary"]["Latency"]
    code, _, err = run(capsys, SAMPLES / "names-only", "--format", "trex-metadata")
    assert code == 2
    assert "needs a log of trtexec" in one_line(err)


@pytest.mark.parametrize("line", [line.strip() for line in EPILOG.splitlines() if "trex-tui export" in line])
def test_examples_of_the_help(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    command = line.split(" | ")[0]
    target = (re.search(r"-o (\S+)", command) or ["", "-"])[1]
    if target.endswith((".svg", ".png")) and shutil.which("dot") is None:
        pytest.skip("Graphviz is not installed")
    if target.endswith(".xlsx"):
        pytest.importorskip("xlsxwriter")
    (tmp_path / "results").symlink_to(SAMPLES)
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)[1:]) == 0
    shown = capsys.readouterr().out
    assert shown if target == "-" else (tmp_path / target).stat().st_size > 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "name a file with -o, or the format with --format"),
        (["-o", ".", "--format", "json"], "is not a regular file"),
        (["-o", "x"], "unknown extension; choose --format dot"),
        (["-o", "absent/x.dot"], "directory absent does not exist"),
        (["-o", "net/alexnet_fp16.graph.json", "--format", "json", "--force"], "is an input file"),
        (["-o", "x.json", "--columns", "what"], "no column 'what'"),
        (["-o", "x.dot", "--filter", "ms>"], "--filter: "),
    ],
)
def test_what_is_refused(
    arguments: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    shutil.copytree(ALEXNET, tmp_path / "net")
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "net", *arguments)
    assert (code, out) == (2, "")
    assert told in one_line(err)
    assert [path.name for path in Path().iterdir()] == ["net"]


def test_pictures_need_graphviz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, _, err = run(capsys, ALEXNET, "-o", tmp_path / "g.svg")
    assert code == 2
    assert "install Graphviz (apt install graphviz" in one_line(err)
    assert not (tmp_path / "g.svg").exists()


def test_damage_is_in_the_file_or_beside_it(tmp_path: Path, capsys: Captured) -> None:
    damaged = SAMPLES / "damaged"
    code, _, err = run(capsys, damaged, "-o", tmp_path / "g.json")
    assert (code, err.count(": is truncated: ")) == (0, 4)
    notes = strict_json((tmp_path / "g.json").read_text(encoding="utf-8"))["diagnostics"]
    assert sum(note["severity"] == "error" for note in notes) == 4
    code, _, err = run(capsys, damaged, "-o", tmp_path / "g.csv", "--strict")
    assert code == 2
    assert "error: --strict: 4 files damaged or unreadable; the result is incomplete" in err
    assert "is truncated" in (tmp_path / "g.csv.diagnostics.csv").read_text(encoding="utf-8")
    code, _, err = run(capsys, ALEXNET, "-o", tmp_path / "g.csv", "--force")
    assert f"removed stale {tmp_path / 'g.csv.diagnostics.csv'}" in err
    assert not (tmp_path / "g.csv.diagnostics.csv").exists()
