"""Torch-TensorRT's debug folder: forms and names of its source, times of real engines written as it writes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from helpers import layer, tensor
from small_engines import write

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
