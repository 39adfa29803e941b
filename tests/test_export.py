"""`trex-tui export`: formats, refusals, messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import OLD_SAMPLES, chain, write_graph
from trex_tui.__main__ import main


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main(["export", *map(str, arguments)])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def one_line(text: str) -> str:
    assert text.count("\n") == 1
    assert text.startswith("trex-tui: error: ")
    return text


@pytest.mark.parametrize(
    ("around", "drawn"),
    [
        ("features.3/conv", [3]),
        ("/FEATURES/features.2/maxpool", [2]),
        ("#4", [4]),
        ("gemm_myl4_2", [11]),
    ],
)
def test_around_takes_names_in_any_case(
    around: str, drawn: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    sample = OLD_SAMPLES / "alexnet"
    options = ["--format", "csv", "--columns", "index", "--radius", "0"]
    code, out, _ = run(capsys, sample, "-o", "-", "--around", around, *options)
    assert (code, [int(line) for line in out.split()[1:]]) == (0, drawn)


def test_around_names_what_it_could_mean(capsys: pytest.CaptureFixture[str]) -> None:
    sample = OLD_SAMPLES / "alexnet"
    code, _, err = run(capsys, sample, "-o", "-", "--format", "csv", "--around", "MAXPOOL")
    assert code == 2
    assert "3 layers match (2 /features/features.2/MaxPool, 4 " in one_line(err)
    assert "--filter 'MAXPOOL' --radius N" in err
    code, _, err = run(capsys, sample, "-o", "-", "--format", "csv", "--around", "conv1")
    assert "no layer name contains 'conv1'" in one_line(err)


def fake_dot(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str, name: str = "dot") -> None:
    """A program in a folder that is searched alone: neither Graphviz nor librsvg of this machine is found."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_large_graphs_are_drawn_without_graphviz(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_graph(tmp_path / "net.graph.json", chain(*map(str, range(300))), ["t0", "t300"])
    fake_dot(tmp_path / "bin", monkeypatch, "/bin/touch was_called; exit 1")
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "net.graph.json", "-o", "g.svg")[0] == 0
    assert not (tmp_path / "was_called").exists()
    code, _, err = run(capsys, "net.graph.json", "-o", "g.svg", "--layout", "dot")
    assert (code, (tmp_path / "was_called").exists()) == (2, True)
    assert "dot failed: exit code 1" in one_line(err)
