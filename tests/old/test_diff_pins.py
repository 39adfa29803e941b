"""`trex-tui diff --rename` and `--pins`: the user's knowledge of names, kept for the next build."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compare_cases import conv, pointwise
from helpers import write_graph, write_json, write_profile
from trex_tui.old.cli import main

SCHEMA = "trex-tui/pins/1"


def _write(folder: Path, names: list[str], shape: int = 64) -> str:
    """A chain of convolutions that only their names tell apart."""
    layers = [
        conv(name, f"t{place}", f"t{place + 1}", shape)
        if "Conv" in name
        else pointwise(name, f"t{place}", f"t{place + 1}")
        for place, name in enumerate(names)
    ]
    for layer in layers:
        del layer["LayerType"]
        del layer["Inputs"], layer["Outputs"]
    write_graph(folder / "net.graph.json", layers, ["t0", f"t{len(names)}"])
    write_profile(
        folder / "net.profile.json", [(name, 0.1 * place) for place, name in enumerate(names, start=1)]
    )
    return str(folder)


def _pairs(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[tuple[list[str], list[str]]]:
    """Names of the layers of blocks that both engines have layers in, by `diff --json`."""
    assert main(["diff", *arguments, "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    blocks = [block["layers"] for block in document["blocks"]]
    return sorted((ours, theirs) for ours, theirs in blocks if ours and theirs)


OURS = ["/stem/Conv", "/body/Conv", "/head/Conv"]
THEIRS = ["/trunk_a/Conv", "/trunk_b/Conv", "/trunk_c/Conv"]


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    return _write(tmp_path / "a", OURS), _write(tmp_path / "b", THEIRS)


def _pins(path: Path, *pins: dict[str, object]) -> str:
    write_json(path, {"schema": SCHEMA, "pins": list(pins)})
    return str(path)


def test_names_are_matched_after_all_renames(
    pair: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert _pairs(capsys, *pair) == []
    renames = [
        "--rename",
        "s/trunk_a/stem/",
        "--rename",
        "s|^/trunk_(b)|/body|",
        "--rename",
        "s/trunk_c/head/",
    ]
    assert _pairs(capsys, *pair, *renames) == sorted(
        ([ours], [theirs]) for ours, theirs in zip(OURS, THEIRS, strict=True)
    )


def test_pins_hold_whichever_engine_is_the_baseline(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _pins(
        tmp_path / "pins.json",
        {"baseline": OURS[0], "other": THEIRS[2]},
        {"baseline": OURS[1], "other": THEIRS[1]},
    )
    wanted = sorted([([OURS[0]], [THEIRS[2]]), ([OURS[1]], [THEIRS[1]])])
    assert _pairs(capsys, *pair, "--pins", file) == wanted
    swapped = _pairs(capsys, *reversed(pair), "--pins", file)
    assert swapped == sorted((theirs, ours) for ours, theirs in wanted)


def test_of_layers_of_one_name_the_occurrence_is_pinned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ours = _write(tmp_path / "a", ["/x/Conv", "/x/Conv", "/x/Conv"])
    theirs = _write(tmp_path / "b", ["/y/Conv", "/z/Conv"])
    file = _pins(
        tmp_path / "pins.json", {"baseline": "/x/Conv", "baseline_occurrence": 2, "other": "/z/Conv"}
    )
    assert main(["diff", ours, theirs, "--pins", file, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (block,) = [block for block in document["blocks"] if all(block["layers"])]
    assert block["latency_ms"] == [pytest.approx(0.3), pytest.approx(0.2)]


def test_a_pin_without_layers_costs_a_warning(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _pins(tmp_path / "pins.json", {"baseline": OURS[0], "other": "gone\x1b[31m"})
    assert main(["diff", *pair, "--pins", file]) == 0
    error = capsys.readouterr().err
    assert "pins.json:1: no two engines have layers /stem/Conv and gone" in error
    assert "\x1b" not in error


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[", ":1: is truncated"),
        ("{}", "not a file of pins"),
        ('{"schema": "other", "pins": []}', "has another schema"),
        (f'{{"schema": "{SCHEMA}", "pins": [1]}}', ":1: is not a pin"),
        (f'{{"schema": "{SCHEMA}", "pins": [{{"baseline": "a"}}]}}', ":1: 'other' is not the name"),
        (
            f'{{"schema": "{SCHEMA}", "pins": [{{"baseline": "a", "other": "b", "other_occurrence": -1}}]}}',
            ":1: 'other_occurrence' is not a whole number; write 0",
        ),
        (
            f'{{"schema": "{SCHEMA}", "pins": [{{"baseline": "a", "other": "b", "more": 1}}]}}',
            ":1: is not a pin",
        ),
    ],
)
def test_a_file_that_holds_no_pins_is_refused(
    content: str, words: str, pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pins.json"
    file.write_text(content, encoding="utf-8")
    assert main(["diff", *pair, "--pins", str(file)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err
    assert str(file) in captured.err
    assert captured.err.count("\n") == 1


def test_a_missing_file_and_a_bad_rename_are_refused(
    pair: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", *pair, "--pins", str(tmp_path / "absent.json")]) == 2
    assert "absent.json" in capsys.readouterr().err
    assert main(["diff", *pair, "--rename", "s/(/x/"]) == 2
    assert "rename 's/(/x/'" in capsys.readouterr().err
