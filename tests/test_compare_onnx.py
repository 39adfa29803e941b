"""Engines of one model, aligned through the model: closed regions, and names of which nothing is left.

The engines are real ones, changed here: no public pair of engines with their model has closed blocks.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from helpers import ARTIFACTS
from trex_tui.__main__ import main

pytest.importorskip("onnx")
MODELS = ARTIFACTS / "onnx"
pytestmark = pytest.mark.skipif(not MODELS.is_dir(), reason="no real models")


def test_diff_uses_a_model_beside_one_engine_for_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = ARTIFACTS / "edge-vision" / "results" / "resnet18" / "resnet18_fp16.graph.json"
    document = json.loads(source.read_text())
    for layer in document["Layers"]:
        layer.pop("Metadata", None)
    for side in "ab":
        (tmp_path / side).mkdir()
    shutil.copy(source, tmp_path / "a" / "net.graph.json")
    (tmp_path / "b" / "net.graph.json").write_text(json.dumps(document))
    shutil.copy(MODELS / "resnet18.onnx", tmp_path / "a" / "net.onnx")

    def matches(*options: str) -> dict[str, int]:
        assert main(["diff", str(tmp_path / "a"), str(tmp_path / "b"), "--json", *options]) == 0
        blocks = json.loads(capsys.readouterr().out)["blocks"]
        return {match: sum(block["match"] == match for block in blocks) for match in ("onnx", "name")}

    assert matches()["onnx"] == 23
    assert matches("--no-onnx")["onnx"] == 0
