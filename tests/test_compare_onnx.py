"""Engines of one model, aligned through the model: names of which nothing is left."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from helpers import ARTIFACTS
from trex_tui.__main__ import main

pytest.importorskip("onnx")
MODEL = ARTIFACTS / "onnx" / "resnet18.onnx"
pytestmark = pytest.mark.skipif(not MODEL.is_file(), reason="no real models")


def test_the_model_of_both_engines_names_their_nodes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The engines are one real engine, without and with names and nodes of the model."""
    source = ARTIFACTS / "edge-vision" / "results" / "resnet18" / "resnet18_fp16.graph.json"
    document = json.loads(source.read_text())
    for number, layer in enumerate(document["Layers"]):
        layer.pop("Metadata", None)
        layer["Name"] = f"layer {number}"
    nameless = tmp_path / "net.graph.json"
    nameless.write_text(json.dumps(document))

    def evidence(*options: str) -> Counter[str]:
        assert main(["diff", str(source), str(nameless), "--json", *options]) == 0
        return Counter(block["evidence"] for block in json.loads(capsys.readouterr().out)["blocks"])

    assert evidence("--onnx", str(MODEL))["onnx"] >= 21
    assert evidence()["onnx"] == 0
