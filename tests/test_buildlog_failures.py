"""A log of a run that failed names cause, TensorRT's own reason, remedy and line, in every view."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trex_tui.__main__ import main

STAMP = "[05/06/2026-10:11:12]"
BEGIN = (
    "&&&& RUNNING TensorRT.trtexec [TensorRT v101401] [b48] # trtexec --onnx=net.onnx --saveEngine=net.plan"
)
END = BEGIN.replace("RUNNING", "FAILED")
NODE = "{ForeignNode[a/Constant.../b/MatMul]}"
NO_KERNEL = f"""{STAMP} [E] Error[10]: Could not find any implementation for node {NODE}.
{STAMP} [E] Error[10]: [optimizer.cpp::computeCosts::3873] Error Code 10: Internal Error (Could not find any implementation for node {NODE}.)
{STAMP} [E] Engine could not be created from network"""  # noqa: E501
OPTIONS = f"""{STAMP} [E] Unknown option: --workspace 1024
=== Build Options ===
  --minShapes=spec            Build with dynamic shapes"""


def test_commands_state_the_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net.build.log"
    path.write_text("\n".join((BEGIN, NO_KERNEL, END)) + "\n")
    assert main(["build-log", str(path)]) == 1
    head = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()[:4]]
    assert head[:2] == ["Failed", f"Cause TensorRT has no kernel for {NODE}"]
    assert head[2].startswith("Remedy allow more memory")
    assert head[3] == f"Line {path}:2"
    assert main(["build-log", "--json", str(path)]) == 1
    failure = json.loads(capsys.readouterr().out)["failure"]
    assert (failure["key"], failure["line"], failure["is_certain"]) == ("no_implementation", 2, True)
    other = tmp_path / "other.build.log"
    other.write_text("\n".join((BEGIN, OPTIONS, END)) + "\n")
    assert main(["build-log", "--json", str(other)]) == 1
    assert json.loads(capsys.readouterr().out)["failure"]["reason"] is None
    for command in ("summary", "layers", "lint"):
        assert main([command, str(path)]) == 2
        err = capsys.readouterr().err
        assert f"{path}:2: the run failed: TensorRT has no kernel for {NODE}; allow more memory" in err


def test_a_set_with_layers_has_the_failure_as_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net.graph.json").write_text(json.dumps({"Layers": ["a", "b"], "Bindings": []}))
    (tmp_path / "net.build.log").write_text("\n".join((BEGIN, NO_KERNEL, END)) + "\n")
    assert main(["summary", str(tmp_path)]) == 0
    assert "net.build.log:2: the run failed: TensorRT has no kernel" in capsys.readouterr().out
