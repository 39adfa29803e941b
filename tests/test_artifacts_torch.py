"""Torch-TensorRT's debug folder: forms and names of its source, times of real engines written as it writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from helpers import layer, tensor
from small_engines import write
from trex_tui.__main__ import main

Row = tuple[str, float, int]
"""Name, sum of the times, number of calls."""


def trex_trace(rows: Sequence[Row]) -> str:
    """The format `trex` as the C++ source writes it: a comma after the last figure of a row, names as they are."""
    whole = sum(total for _, total, _ in rows) or 1.0
    parts = [
        f'  {{\n    "name": "{name}",\n    "timeMs": {total:.6g},\n    "averageMs": {total / calls:.6g},\n'
        f'    "percentage": {100 * total / whole:.6g},\n  }}'
        for name, total, calls in rows
    ]
    return "[\n" + ",\n".join(parts) + "\n]\n"


def write_module(folder: Path, numbers: Sequence[int]) -> None:
    """Engines of a module, of three layers with number + 1 ms each."""
    folder.mkdir(exist_ok=True)
    for number in numbers:
        layers = [
            layer(f"conv{number}{one}", inputs=[tensor("x", 1)], outputs=[tensor("y", 1)]) for one in range(3)
        ]
        stem = f"_run_on_acc_{number}_engine"
        write(folder / f"{stem}_layer_information.json", {"Layers": layers, "Bindings": []})
        rows = [(one["Name"], 10.0 * (1 + number), 10) for one in layers]
        path = folder / f"{stem}_engine_execution_profile.trace"
        path.write_text(trex_trace(rows), encoding="utf-8")


def test_engines_of_a_module_add_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_module(tmp_path / "net", (0, 2, 3))
    assert main(["summary", str(tmp_path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (model,) = document["split_models"]
    assert (model["name"], model["layers"], model["missing_parts"]) == ("net", 9, [1])
    assert model["latency_sum_ms"] == pytest.approx(3.0 + 9.0 + 12.0)
    assert [part["number"] for part in model["parts"]] == [0, 2, 3]
    assert [part["latency_pct"] for part in model["parts"]] == pytest.approx([12.5, 37.5, 50.0])
    for form in ("text", "md"):
        assert main(["summary", str(tmp_path), "--format", form]) == 0
        text = capsys.readouterr().out
        assert "3 engines of one model, 9 layers, Σ layers 24.0000 ms" in text
        assert "Part 1: not TensorRT" in text


def test_an_engine_without_times_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_module(tmp_path, (0, 1))
    (tmp_path / "_run_on_acc_1_engine_engine_execution_profile.trace").unlink()
    assert main(["summary", str(tmp_path), "--json"]) == 0
    (model,) = json.loads(capsys.readouterr().out)["split_models"]
    assert (model["latency_sum_ms"], model["engines_without_times"]) == (3.0, 1)
    assert [part["latency_sum_ms"] for part in model["parts"]] == [3.0, None]
