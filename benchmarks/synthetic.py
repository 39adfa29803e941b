"""Engines of any size, in trtexec's layout, for measuring. Modelled, deterministic; they describe no real engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_NHWC8 = "Channel major FP16 format where channel % 8 == 0"
_TACTIC = (
    "sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc_tilesize128x64x32_stage5_warpsize2x2x1_g1_"
    "tensor16x8x16_t1r3s3"
)


def _tensor(name: str, shape: list[int], layout: str) -> dict[str, Any]:
    return {"Name": name, "Location": "Device", "Dimensions": shape, "Format/Datatype": layout}


def _convolution(index: int, path: str) -> dict[str, Any]:
    return {
        "Name": f"{path}/conv/Conv + {path}/relu/Relu",
        "LayerType": "CaskConvolution",
        "Inputs": [_tensor(f"t{index}", [8, 64, 56, 56], _NHWC8)],
        "Outputs": [_tensor(f"t{index + 1}", [8, 64, 56, 56], _NHWC8)],
        "ParameterType": "Convolution",
        "Kernel": [3, 3],
        "PaddingMode": "kEXPLICIT_ROUND_DOWN",
        "PrePadding": [1, 1],
        "PostPadding": [1, 1],
        "Stride": [1, 1],
        "Dilation": [1, 1],
        "OutMaps": 64,
        "Groups": 1,
        "Weights": {"Type": "Half", "Count": 36864},
        "Bias": {"Type": "Half", "Count": 64},
        "HasBias": 1,
        "HasReLU": 1,
        "Activation": "RELU",
        "TacticName": _TACTIC,
        "TacticValue": f"0x{index:016x}",
        "StreamId": 0,
        "Metadata": f"[ONNX Layer: {path}/conv/Conv]\x1e[ONNX Layer: {path}/relu/Relu]",
    }


def _gemm(index: int, path: str) -> dict[str, Any]:
    return {
        "Name": f"{path}/proj/MatMul_myl0_{index}",
        "LayerType": "gemm",
        "Inputs": [
            _tensor(f"t{index}", [8, 196, 768], "Half"),
            _tensor(f"__mye{index}_dconst", [768, 768], "Half"),
        ],
        "Outputs": [_tensor(f"t{index + 1}", [8, 196, 768], "Half")],
        "TacticName": "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize64x64x64_stage4_warpsize2x2x1_tensor16x8x16",
        "StreamId": index % 3,
        "Metadata": f"[ONNX Layer: {path}/proj/MatMul]\x1f[ONNX Layer: {path}/proj/Add]",
    }


def _kernel(index: int, path: str) -> dict[str, Any]:
    return {
        "Name": f"__myl_CastMulAdd_myl0_{index}",
        "LayerType": "kgen",
        "Inputs": [
            _tensor(f"t{index}", [8, 196, 768], "Half"),
            _tensor(f"t{max(0, index - 3)}", [8, 196, 768], "Half"),
        ],
        "Outputs": [_tensor(f"t{index + 1}", [8, 196, 768], "Half")],
        "TacticName": f"__myl_CastMulAdd_0x{index:032x}",
        "StreamId": 0,
        "Metadata": f"[ONNX Layer: {path}/norm/Mul]\x1f[ONNX Layer: {path}/norm/Add]",
    }


def _lengthened(name: str, length: int) -> str:
    """The name, and its parts again with numbers until it is long enough."""
    parts = [name]
    while sum(map(len, parts)) + 3 * (len(parts) - 1) < length:
        parts.append(f"{name}_{len(parts)}")
    return " + ".join(parts)


def write_profile(directory: Path, rows: int) -> Path:
    """Write a profile of so many rows, with no layer information beside it."""
    records = [
        f', {{ "name" : "/stage{i // 1000}/block{i // 50}/conv{i}/Conv", "timeMs" : {10 + i % 97}, '
        f'"averageMs" : {0.01 + i % 97 / 1000:.6g}, "medianMs" : {0.01 + i % 97 / 1000:.6g}, '
        f'"percentage" : {100 / rows:.6g} }}'
        for i in range(rows)
    ]
    path = directory / "net.profile.json"
    path.write_text("\n".join(['[\n  { "count" : 1000 }', *records, "]\n"]), encoding="utf-8")
    return path


def write_engine(directory: Path, layers: int, name_length: int = 0) -> list[Path]:
    """Write graph and profile of an engine with so many layers; return the files.

    Args:
        name_length: Characters that each name has at least, as that of a region that fused hundreds of nodes.
    """
    directory.mkdir(parents=True, exist_ok=True)
    makers = (_convolution, _gemm, _kernel)
    objects = [makers[i % 3](i, f"/stage{i // 1000}/block{i // 50}/branch{i // 10}") for i in range(layers)]
    for one in objects:
        one["Name"] = _lengthened(one["Name"], name_length)
    graph = directory / "synthetic.graph.json"
    body = ",".join(json.dumps(one, indent=1) for one in objects)
    graph.write_text(f'{{"Layers": [{body}],\n"Bindings": ["t0"\n,"t{layers}"]}}\n', encoding="utf-8")
    rows = [
        f', {{ "name" : "{one["Name"]}", "timeMs" : {10 + i % 97}, "averageMs" : {0.01 + i % 97 / 1000:.6g}, '
        f'"medianMs" : {0.01 + i % 97 / 1000:.6g}, "percentage" : {100 / layers:.6g} }}'
        for i, one in enumerate(objects)
    ]
    profile = directory / "synthetic.profile.json"
    profile.write_text("\n".join(['[\n  { "count" : 1000 }', *rows, "]\n"]), encoding="utf-8")
    return [graph, profile]
