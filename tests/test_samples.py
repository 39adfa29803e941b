"""The samples: every file has a stated origin, every set opens, and its numbers are those of its files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import fmean

import pytest

from trex_tui import load_engine
from trex_tui.__main__ import main

SAMPLES = Path(__file__).parents[1] / "sample_artifacts"
README = (SAMPLES / "README.md").read_text(encoding="utf-8")
MEASURED = ["alexnet", "resnet18", "resnet-a100/fp16", "resnet-a100/qat", "resnet-a100/qat-residual"]
SETS = [*MEASURED, "build-log", "names-only", "damaged"]


def read(folder: str, kind: str):
    (path,) = (path for path in (SAMPLES / folder).glob(f"*.{kind}.json") if path.stem.count(kind) == 1)
    return json.loads(path.read_text(encoding="utf-8"))


def stated(folder: str) -> list[str]:
    """Cells of a set in the table of the README."""
    (line,) = re.findall(rf"^\| `{folder}` \| (.*) \|$", README.split("## Origins")[0], re.MULTILINE)
    return line.split(" | ")


def queries_of(folder: str) -> list[float]:
    """Latencies of the measured queries: the last of the file, after those of the warm-up."""
    summary = read(folder, "profile.metadata")["performance_summary"]
    number = round(summary["Throughput"] * summary["Total Host Walltime"])
    return [row["latencyMs"] for row in read(folder, "timing")][-number:]


def summary_of(folder: str, capsys: pytest.CaptureFixture[str]):
    assert main(["summary", str(SAMPLES / folder), "--json"]) == 0
    (engine,) = json.loads(capsys.readouterr().out)["engines"]
    return engine


def test_readme_lists_every_file() -> None:
    listed = {
        f"{folder}/{name}"
        for folder, text in re.findall(r"^### (\S+)\n(.*?)(?=^### |\Z)", README, re.MULTILINE | re.DOTALL)
        for name in re.findall(r"^- `([^`]+)`", text, re.MULTILINE)
    }
    files = {path.relative_to(SAMPLES).as_posix() for path in SAMPLES.rglob("*") if path.is_file()}
    assert listed == files - {"README.md"}


@pytest.mark.parametrize("folder", MEASURED)
def test_numbers_are_those_of_the_files(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    layers = len(read(folder, "graph")["Layers"])
    layer_ms = sum(row["averageMs"] for row in read(folder, "profile") if "averageMs" in row)
    queries = queries_of(folder)
    assert stated(folder)[4:] == [
        str(layers),
        f"{layer_ms:.4f} ms",
        str(len(queries)),
        f"{fmean(queries):.4f} ms",
    ]

    engine = load_engine(SAMPLES / folder)
    assert len(engine.layers) == layers
    assert engine.layers["latency_ms"].sum() == pytest.approx(layer_ms)

    summary = summary_of(folder, capsys)
    assert summary["layers"] == layers
    assert summary["timing"]["queries"] == len(queries)
    assert summary["timing"]["latency"]["mean_ms"] == pytest.approx(fmean(queries))


@pytest.mark.parametrize("folder", SETS)
@pytest.mark.parametrize("command", ["summary", "layers", "lint"])
def test_every_command_opens_every_set(command: str, folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--fail-on", "never"] if command == "lint" else []
    assert main([command, str(SAMPLES / folder), *options]) == 0
    assert capsys.readouterr().out
