"""What tests of comparisons share: plans with a network that the stand-in for trtexec computes, and small ONNX models."""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

from fake_trtexec import HERE
from onnx_bytes import tanh_model

sys.path.insert(0, str(HERE))  # its modules find each other as programs do
import exports
import network
from release import Release

sys.path.remove(str(HERE))
INT8_STEP = 0.05


def tensor(kind: str = "fp32", *shape: int) -> dict[str, Any]:
    return {"type": kind, "shape": list(shape)}


def write_engine(
    path: Path, version: str = "10.4.0", *, step: float = 0.0, detailed: bool = True, **net: Any
) -> Path:
    """A plan whose outputs are rounded to multiples of `step`; `inputs` and `outputs` by name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = copy.deepcopy({**network.default(), "step": step, **net})
    path.write_bytes(exports.plan_bytes(Release(version), detailed=detailed) + network.mark(whole))
    return path


def write_onnx(
    path: Path, x: dict[str, Any], *, name: str = "x", output: str = "y", error: float = 0.0
) -> Path:
    """`output = tanh(name) + error`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(tanh_model(x["type"], x["shape"], name=name, output=output, error=error))
    return path
