"""`trex-tui memory`: parts from the logs, sums, and what a budget answers."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from helpers import ARTIFACTS, REPOSITORY
from trex_tui.cli.main import main
from trex_tui.cli.memory import size_bytes

LOGGED = REPOSITORY / "sample_artifacts/build-log"
ALEXNET = REPOSITORY / "sample_artifacts/alexnet"
CASE = ARTIFACTS.parent / "cases/16-memory-of-a-load"


def ask(capsys: pytest.CaptureFixture[str], *arguments: str | Path, code: int = 0) -> Any:
    assert main(["memory", *map(str, arguments), "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_parts_are_those_of_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    document = ask(capsys, LOGGED)
    (row,) = document["engines"]
    # "Created engine with size: 6.42511 MiB", and of the strategy that was chosen
    # "Total Activation Memory: 2007040 bytes", "Max Scratch Memory: 133120 bytes".
    assert row["resident_bytes"] == pytest.approx(6.42511 * 2**20, abs=8)
    assert row["context_bytes"] == 2007040 + 133120
    assert row["run_time_bytes"] == row["resident_bytes"] + row["context_bytes"] + row["persistent_bytes"]
    assert not row["is_at_least"]
    assert document["fits"] is None


@pytest.mark.parametrize(("budget", "code", "fits"), [("9MiB", 0, True), ("8MiB", 1, False)])
def test_a_budget_is_a_gate(budget: str, code: int, fits: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(capsys, LOGGED, "--budget", budget, code=code)["fits"] is fits


def test_what_is_too_large_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", str(LOGGED), str(ALEXNET), "--budget", "100MiB"]) == 1
    text = capsys.readouterr().out
    assert text.startswith("Does not fit: 2 engines, at least ")
    assert "alexnet_fp16: engine memory 117 MiB: store weights in FP16 or INT8" in text
    assert "can share one block of context memory" in text


def test_lower_bounds_leave_a_budget_open(capsys: pytest.CaptureFixture[str]) -> None:
    """A sum of lower bounds below the budget proves nothing, one above it does."""
    assert ask(capsys, ALEXNET, "--budget", "4GiB", code=2)["fits"] is None
    assert ask(capsys, ALEXNET, "--budget", "10MiB", code=1)["fits"] is False


@pytest.mark.skipif(not CASE.is_dir(), reason="no real cases")
def test_memory_of_a_load(capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = ask(capsys, CASE)["engines"]
    assert row["context_bytes"] == 10 * 2**20
    assert row["persistent_bytes"] == pytest.approx(1.52 * 2**20, rel=0.01)
    assert row["resident_bytes"] == 2 * 2**20  # "Loaded engine size: 1 MiB", rounded down


@pytest.mark.parametrize(
    ("text", "size"),
    [("4GiB", 4 * 2**30), ("512M", 512 * 2**20), ("1.5g", 3 * 2**29), ("2GB", 2_000_000_000), ("100", 100)],
)
def test_sizes(text: str, size: int) -> None:
    assert size_bytes(text) == size


@pytest.mark.parametrize("text", ["", "GiB", "4 apples", "-1G", "1e9", "٣G"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="not a size such as 4GiB"):
        size_bytes(text)
