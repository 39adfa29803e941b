"""Small engines written as trtexec exports them, for the explorer and for commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CONV, POOL, GEMM = "CaskConvolution", "CaskPooling", "CaskGemmConvolution"
# Name, type, shape of the output, milliseconds: the slowest is the last but two, so that no order is another.
NET: list[tuple[str, str, list[int], float | None]] = [
    (
        "Reformatting CopyNode for Input Tensor 0 to /stem/conv/Conv + /stem/relu/Relu",
        "Reformat",
        [1, 3, 64, 64],
        0.01,
    ),
    ("/stem/conv/Conv + /stem/relu/Relu", CONV, [1, 16, 32, 32], 0.2),
    ("/stem/pool/MaxPool", POOL, [1, 16, 16, 16], 0.04),
    ("/layer1/layer1.0/conv1/Conv + /layer1/layer1.0/relu/Relu", CONV, [1, 16, 16, 16], 0.12),
    ("/layer1/layer1.0/conv2/Conv", CONV, [1, 16, 16, 16], 0.13),
    ("/layer1/layer1.1/conv1/Conv", CONV, [1, 16, 16, 16], 0.11),
    ("/head/fc/Gemm", GEMM, [1, 10], 0.3),
    ("/head/softmax/Softmax", "SoftMax", [1, 10], 0.005),
    ("/head/labels", "Constant", [10], None),
]
POOLING = 2


def tensor(name: str, shape: list[int]) -> dict[str, Any]:
    return {"Name": name, "Location": "Device", "Dimensions": shape, "Format/Datatype": "Half"}


def raw_layer(index: int, name: str, layer_type: str, shape: list[int]) -> dict[str, Any]:
    before = NET[index - 1][2] if 0 < index < len(NET) else [1, 3, 64, 64]
    return {
        "Name": name,
        "LayerType": layer_type,
        "Inputs": [] if layer_type == "Constant" else [tensor(f"t{index}", before)],
        "Outputs": [tensor(f"t{index + 1}", shape)],
        "TacticName": f"kernel_{index}" if layer_type != "Constant" else "",
        "StreamId": 0,
        "Metadata": "",
    }


def write(path: Path, document: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def write_set(folder: Path, name: str, layers: list[dict[str, Any]], times: dict[str, float] | None) -> Path:
    """A graph and, with `times`, a profile; returns the folder."""
    write(folder / f"{name}.graph.json", {"Layers": layers, "Bindings": []})
    if times is not None:
        rows = [
            {"name": key, "timeMs": 100 * time, "averageMs": time, "medianMs": time, "percentage": 1.0}
            for key, time in times.items()
        ]
        write(folder / f"{name}.profile.json", [{"count": 100}, *rows])
    return folder


def small_engine(folder: Path, *, profiled: bool = True) -> Path:
    """The engine `tiny`, of nine layers."""
    layers = [raw_layer(index, name, kind, shape) for index, (name, kind, shape, _) in enumerate(NET)]
    times = {name: time for name, _, _, time in NET if time is not None}
    return write_set(folder, "tiny", layers, times if profiled else None)
