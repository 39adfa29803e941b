"""Real builds: `trex-tui capture` with the library of TensorRT-RTX, which builds without a GPU, and all that reads its set.

Skipped where the wheel is not installed (`pip install -e '.[rtx]'`). Known are the inputs, outputs and weights of the models;
what the builder makes of them is its own affair.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trex_tui.api import load_engine
from trex_tui.capture.trtexec import TrtexecNotFoundError, find_python
from trex_tui.cli.main import main

models = pytest.importorskip("real_models", reason="needs onnx", exc_type=ImportError)


def why_not() -> str:
    """Why nothing can be built here; empty if it can."""
    try:
        api = find_python(os.environ)
    except TrtexecNotFoundError:
        return "no TensorRT-RTX in this Python (pip install -e '.[rtx]')"
    return "" if api.is_rtx else f"{api.name} builds on a GPU alone"


pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "-")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return tmp_path


def build(path: Path, *arguments: str) -> int:
    words = ["capture", "--onnx", str(path), "--builder", "python", "--build-only", *arguments]
    return main([*words, "--outdir", path.stem])


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    assert main([*arguments, "--json"]) in (0, 1)
    return json.loads(capsys.readouterr().out)


CASES: list[tuple[Callable[[Path], Path], dict[str, str], int, set[str]]] = [
    (models.convolutions, {"x": "1x3x32x32", "y": "1x16x1x1"}, 5504, {"FP32"}),
    (models.attention, dict.fromkeys("qkvy", "1x4x64x32"), 0, {"FP16"}),
    (models.quantized, {"x": "1x16x32x32", "y": "1x16x32x32"}, 2304, {"FP32", "INT8"}),
    (models.loop, {"x": "4x8", "y": "4x8"}, 128, {"FP32", "INT32"}),
]


@pytest.mark.parametrize(
    ("make", "tensors", "weights", "precisions"), CASES, ids=[case[0].__name__ for case in CASES]
)
def test_a_set(
    here: Path,
    capsys: pytest.CaptureFixture[str],
    make: Callable[[Path], Path],
    tensors: dict[str, str],
    weights: int,
    precisions: set[str],
) -> None:
    """Everything of the set that a build can tell, and every command that reads it."""
    path = make(here / f"{make.__name__}.onnx")
    assert build(path) == 0
    name = path.stem
    assert sorted(one.name for one in (here / name).iterdir()) == [
        *(f"{name}.capture.json", f"{name}.engine", f"{name}.engine.build.log"),
    ]
    engine = load_engine(here / name)
    assert not [note for note in engine.notes if note.is_damage]
    shapes = zip(engine.bindings["name"], engine.bindings["shape"], strict=True)
    assert {name: "x".join(map(str, shape)) for name, shape in shapes} == tensors
    layers = engine.layers
    assert len(layers) >= 1
    assert set(layers["precision"]) <= precisions
    assert layers["kind"].notna().all()
    assert weights <= layers["weights_bytes"].sum() <= 1.2 * weights + 1024
    told = answer(capsys, "summary", name)
    assert told["engines"][0]["name"] == name
    assert len(answer(capsys, "layers", name, "--top", "0")["layers"]) == len(layers)
    answer(capsys, "lint", name)
    answer(capsys, "build-log", name)
    answer(capsys, "engines", name)
    assert main(["export", name, "-o", "graph.svg"]) == 0
    assert main(["report", name, "-o", "report.html"]) == 0


def test_dynamic_shapes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = models.convolutions(here / "dynamic.onnx", "N")
    shapes = ["--min-shapes=x:1x3x32x32", "--opt-shapes=x:4x3x32x32", "--max-shapes=x:8x3x32x32"]
    assert build(path, *shapes) == 0
    told = json.dumps(answer(capsys, "summary", "dynamic"))
    assert all(text in told for text in ("1x3x32x32", "4x3x32x32", "8x3x32x32")) or "[8, 3, 32, 32]" in told
    assert build(path, "--shapes=x:1x4x32x32", "--force") == 2
    assert "dim 1 is fixed; " in capsys.readouterr().err


def test_for_chosen_gpus(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = models.convolutions(here / "net.onnx")
    assert build(path, "--compute-capability", "8.9,12.0") == 0
    assert build(path, "--compute-capability", "1.0", "--force") == 3
    assert "Unknown compute capability: 1.0; choose from " in capsys.readouterr().err
    assert (here / "net/net.engine").is_file(), "the old set stays"


def test_a_failure(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert build(models.of_two_types(here / "bad.onnx")) == 3
    assert "an operator has inputs of different types" in capsys.readouterr().err.splitlines()[-1]
    assert sorted(one.name for one in (here / "bad/bad.failed").iterdir()) == [
        "bad.capture.json",
        "bad.engine.build.log",
    ]
