"""A stand-in for the Python API of TensorRT, and for the driver below it: `install` puts one where a Python finds it."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve().parent


def install(directory: Path, module: str = "tensorrt", version: str = "10.4.0.26", devices: int = 1) -> Path:
    """Write a module that is the API of a release; the directory belongs on PYTHONPATH."""
    directory.mkdir(parents=True, exist_ok=True)
    text = f"import sys\nsys.path.insert(0, {str(_HERE)!r})\nfrom api import *\nimport api\n"
    text += f"__version__ = {version!r}\napi.begin(__name__, {devices})\n"
    if "rtx" in module:
        text += "del BuilderFlag.FP16, BuilderFlag.INT8, BuilderFlag.BF16, DeviceType\n"
    else:
        text += "del IRuntimeConfig, IBuilderConfig.set_compute_capability\n"
    (directory / f"{module}.py").write_text(text, encoding="utf-8")
    return directory
