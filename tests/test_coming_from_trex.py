"""Every command that docs/coming-from-trex.md shows can be typed, and names columns and filters that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from helpers import OLD_SAMPLES, REPOSITORY
from trex_tui import load_engine

PAGE = (REPOSITORY / "docs/coming-from-trex.md").read_text(encoding="utf-8")
SHOWN = sorted(set(re.findall(r"`(trex-tui [^`]+)`", PAGE)))


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
    samples = OLD_SAMPLES
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
