"""Names that attack, through every command: what comes out is text, whatever the terminal, the forge or the spreadsheet."""

from __future__ import annotations

from pathlib import Path

import pytest

from hostile import STEM
from trex_tui.old.report.export import ExportFormat, file_stem, find_target

NAMES = [
    "../../x",
    "/etc/passwd",
    "-rf",
    "--help",
    ".hidden",
    "a\0b",
    "a\nb\r\tc",
    "x" * 5000,
    "畳" * 5000,
    "𠀀" * 5000,
    "\ud800\udcff",
    "",
    "...",
    "CON",
    "nul",
    "com1",
    "LPT9.graph",
    'a b|c<d>e:f*g?h"i\\j',
    STEM,
    "name.",
    "~root",
    "$HOME",
]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: ascii(name[:12]))
def test_a_file_is_called_what_every_system_takes(name: str, tmp_path: Path) -> None:
    stem = file_stem(name)
    assert stem
    assert stem[0] not in ".-~"
    assert not set(stem) & set("/\\:*?\"<>|$`'\0\n\r\t ")
    assert stem.partition(".")[0].upper() not in {"CON", "PRN", "AUX", "NUL", "COM1", "LPT9"}
    path = find_target(f"{tmp_path}/", f"{stem}.{ExportFormat.MARKDOWN.value}")
    assert path.parent == tmp_path
    path.write_text("x", encoding="utf-8")
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
