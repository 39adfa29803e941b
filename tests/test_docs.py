"""docs/ is correct: generated parts are current, commands run, links are valid.

UPDATE_GOLDENS=1 regenerates the parts.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
from pathlib import Path

import pytest

import make_docs
from helpers import REPOSITORY
from trex_tui.__main__ import main
from trex_tui.cli.main import COMMANDS

PAGES = sorted((REPOSITORY / "docs").glob("*.md"))
ALL = [*PAGES, *sorted(REPOSITORY.glob("*.md"))]
LONGEST = 2500
"""Lines of docs that people write."""


def named(paths: list[Path]) -> list[object]:
    return [pytest.param(path, id=path.stem) for path in paths]


def lines_of(path: Path) -> list[str]:
    """The command lines in blocks of code, without comments and prompts."""
    blocks = re.findall(r"```(?:sh|console)?\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    lines = [
        re.sub(r"\s+# .*", "", line).removeprefix("$ ").strip() for one in blocks for line in one.splitlines()
    ]
    return [line for line in lines if line.startswith("trex-tui ")]


LINES = sorted(
    {line for path in ALL for line in lines_of(path) if "sample_artifacts" in line or " explain " in line}
)
INTERACTIVE = re.compile(r"trex-tui (?!" + "|".join(COMMANDS) + r")|trex-tui (open|demo|capture|doctor)")


@pytest.mark.parametrize("path", named(PAGES))
def test_made_parts_are_as_the_program_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    new = make_docs.renew(text)
    if os.environ.get("UPDATE_GOLDENS"):
        path.write_text(new, encoding="utf-8")
    assert new == path.read_text(encoding="utf-8")


USES = lines_of(REPOSITORY / "README.md")


@pytest.mark.parametrize("line", [line for line in (*LINES, *USES) if not INTERACTIVE.match(line)])
def test_commands_run(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = REPOSITORY / "sample_artifacts"
    places = {"results": "", "fp16": "resnet-a100/fp16", "int8": "resnet-a100/qat", "sample_artifacts": ""}
    for name, sample in places.items():
        (tmp_path / name).symlink_to(samples / sample)
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line)[1:]
    end = min((words.index(sign) for sign in ("|", ">", ">>") if sign in words), default=len(words))
    assert main(words[:end]) in (0, 1), capsys.readouterr().err


def test_there_are_commands() -> None:
    assert len(LINES) >= 10
    assert len([line for line in USES if not INTERACTIVE.match(line)]) >= 5


def test_commands_that_are_named_exist() -> None:
    for path in ALL:
        if path.stem == "CHANGELOG":
            continue
        for name in re.findall(r"`trex-tui ([a-z][a-z-]+)(?: [^`]*)?`", path.read_text(encoding="utf-8")):
            assert name in COMMANDS or name in ("outdir", "a", "needs"), f"{path.name}: {name}"


def test_examples_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sample_artifacts").symlink_to(REPOSITORY / "sample_artifacts")
    monkeypatch.chdir(tmp_path)
    text = (REPOSITORY / "docs/python.md").read_text(encoding="utf-8").replace("\n```\n", "\n\n")
    test = doctest.DocTestParser().get_doctest(text, {}, "python.md", "python.md", 0)
    shown: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=shown.append)
    assert result.failed == 0, "".join(shown)
    assert result.attempted > 10


@pytest.mark.parametrize("path", named(ALL))
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if "://" not in target:
            assert (path.parent / target).exists(), target


def test_they_are_short() -> None:
    made = sum(len(make_docs.PARTS[name]().splitlines()) for name in make_docs.PARTS)
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in ALL) - made <= LONGEST
    assert len((REPOSITORY / "README.md").read_text(encoding="utf-8").split()) <= 1200


def test_the_comparison_is_that_of_the_samples(capsys: pytest.CaptureFixture[str]) -> None:
    samples = REPOSITORY / "sample_artifacts/resnet-a100"
    assert main(["diff", str(samples / "fp16"), str(samples / "qat")]) == 0
    out = capsys.readouterr().out.splitlines()
    page = (REPOSITORY / "docs/compare.md").read_text(encoding="utf-8")
    command = "$ trex-tui diff sample_artifacts/resnet-a100/fp16 sample_artifacts/resnet-a100/qat\n"
    lines = page.split(command)[1].split("```")[0].splitlines()
    assert len(lines) > 5
    assert set(lines) <= set(out)
