"""The commands of the README work; docs/compare.md and docs/settings.md show what the program does."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from trex_tui.__main__ import main

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
INTERACTIVE = ("open", "serve", "capture", "accuracy", "--ascii")


def commands() -> list[str]:
    """The lines of the block that shows how the program is used, without what opens the explorer or needs a GPU."""
    block = README.split("## Use it")[1].split("```")[1]
    lines = [line.partition(" #")[0].strip() for line in block.splitlines()]
    words = {line: shlex.split(line)[1:2] for line in lines if line.startswith("trex-tui")}
    return [
        line
        for line, first in words.items()
        if first and re.fullmatch(r"[a-z-]+", first[0]) and first[0] not in INTERACTIVE
    ]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory in which the README's paths are the samples."""
    samples = {
        "results/alexnet": "alexnet",
        "fp16": "alexnet",
        "int8": "alexnet_int8",
        "main": "alexnet",
        "pr": "alexnet_int8",
    }
    for name, sample in samples.items():
        shutil.copytree(ROOT / "tests/modelled_sets" / sample, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("line", commands())
def test_commands_do_what_they_should(line, capsys):
    try:
        code = main(shlex.split(line)[1:])
    except SystemExit as ended:
        code = ended.code
    shown = capsys.readouterr()
    assert code in (0, 1), shown.err
    written = re.search(r" (?:-o|--outdir) (\S+)", line)
    assert shown.out or (written and Path(written[1]).exists())


def test_there_are_commands():
    assert len(commands()) >= 5


def test_it_is_short():
    assert len(README.split()) <= 1200


def test_the_comparison_is_that_of_the_samples(capsys):
    samples = ROOT / "sample_artifacts" / "resnet-a100"
    assert main(["diff", str(samples / "fp16"), str(samples / "qat")]) == 0
    out = capsys.readouterr().out
    page = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
    shown = page.split(
        "$ trex-tui diff sample_artifacts/resnet-a100/fp16 sample_artifacts/resnet-a100/qat\n"
    )[1]
    lines = shown.split("```")[0].splitlines()
    assert len(lines) > 5
    assert set(lines) <= set(out.splitlines())
