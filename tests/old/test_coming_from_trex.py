"""Every command that docs/coming-from-trex.md shows can be typed, and names columns and filters that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from helpers import REPOSITORY
from trex_tui import load_engine
from trex_tui.old.analysis.columns import columns_named
from trex_tui.old.analysis.filter.parser import parse
from trex_tui.old.cli import COMMANDS, _with_command, main
from trex_tui.old.cli.engine_parsers import FILTER_EXAMPLES
from trex_tui.old.cli.parser import build_parser

PAGE = (Path(__file__).resolve().parent.parent / "docs/coming-from-trex.md").read_text(encoding="utf-8")
SHOWN = sorted(set(re.findall(r"`(trex-tui [^`]+)`", PAGE)))


@pytest.mark.parametrize("line", SHOWN)
def test_command(line: str) -> None:
    words = shlex.split(line)[1:]
    if re.fullmatch(r"[a-z-]+", words[0]) and words[0] not in COMMANDS:
        assert words[0] in ("report", "export", "times")
        pytest.skip(f"this program has no {words[0]}")
    options = build_parser().parse_args(_with_command(words))
    if options.command == "layers" and options.columns:
        columns_named(options.columns.split(","))
    for text in (getattr(options, "filter", None), getattr(options, "query", None)):
        if text:
            parse(text)


CHOOSING = [line for line in SHOWN if re.search(r" --(filter|query|around|highlight) ", line)]
HELP = [
    line.strip().replace("results/alexnet", "outdir")
    for line in FILTER_EXAMPLES.splitlines()
    if "--filter '" in line
]


@pytest.mark.parametrize("line", [*CHOOSING, *HELP])
def test_what_is_chosen_is_there_in_the_sample(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The lines that choose layers, of this page and of the help of `layers`, choose some of AlexNet's."""
    (tmp_path / "outdir").symlink_to(REPOSITORY / "tests/old/sample_artifacts/alexnet")
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line)[1:]
    if "--chart" in words:
        assert main(words) == 0
        assert "wrote" in capsys.readouterr().err
    elif words[0] == "layers":
        assert main([*words, "--format", "csv"]) == 0
        assert len(capsys.readouterr().out.splitlines()) > 1, "headings alone"
    elif words[0] == "summary":  # AlexNet has no pointwise layer: there may be no row
        assert main([*words, "--format", "csv"]) == 0
        assert capsys.readouterr().out.count(",latency_ms") == 1
    else:
        assert main([*words, "--layout", "builtin"]) == 0
        assert re.search(r"\d+ nodes? and \d+ edges?", capsys.readouterr().err)


def test_there_are_lines_that_choose() -> None:
    assert len(CHOOSING) > 4
    assert len(HELP) == 5


def test_every_part_of_trex_is_there() -> None:
    assert len(SHOWN) > 40
    for name in (
        "EnginePlan",
        "ConvLinter",
        "report_card",
        "compare_engines",
        "trex draw",
        "process_engine",
        "ExcelSummary",
    ):
        assert name in PAGE


SHOWN_IN_PYTHON = [
    code
    for row in re.findall(r"^\| (?:[^|\n]+) \| ([^|\n]+) \| [^|\n]+ \|$", PAGE, re.MULTILINE)
    for code in re.findall(r"`([^`]+)`", row)
    if re.search(r"\b(engine|fp32|load_engine)\b", code)
]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What the page calls `engine`, `fp32` and so on, in a directory with `outdir`."""
    folder = tmp_path_factory.mktemp("notebook")
    samples = REPOSITORY / "tests/old/sample_artifacts"
    (folder / "outdir").symlink_to(samples / "alexnet")
    named = {"engine": "alexnet", "fp16": "alexnet", "fp32": "alexnet_fp32", "int8": "alexnet_int8"}
    return {
        "folder": folder,
        "load_engine": load_engine,
        **{name: load_engine(samples / sample) for name, sample in named.items()},
    }


@pytest.mark.parametrize("code", SHOWN_IN_PYTHON)
def test_python(code: str, names: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every expression of the page runs, and returns rows, a picture or another result."""
    monkeypatch.chdir(str(names["folder"]))
    scope = dict(names)
    if code.startswith("engine = "):
        exec(code, scope)  # noqa: S102 - of this repository
        assert repr(scope["engine"]) == repr(names["engine"])
        return
    value = eval(code, scope)  # noqa: S307
    if code.endswith('.xlsx")'):
        assert (Path(str(names["folder"])) / "layers.xlsx").stat().st_size > 5000
    elif code.startswith("print("):
        assert value is None
    elif "FMT" in code or "CONV" in code:  # findings, of which there may be none
        assert "rule" in value.columns
    elif hasattr(value, "__len__"):
        assert len(value) > 0
    else:
        assert hasattr(value, "_repr_svg_") or hasattr(value, "_repr_html_") or isinstance(value, Path)


def test_most_rows_have_python() -> None:
    assert len(SHOWN_IN_PYTHON) > 45
