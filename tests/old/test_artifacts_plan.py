"""Heads of plan files: marks, versions, and metadata of Ultralytics before the plan."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers import layer, tensor
from small_engines import write_set
from trex_tui.__main__ import main
from trex_tui.old.artifacts.file_kinds import ArtifactKind, sniff
from trex_tui.old.artifacts.metadata import version_of_plan
from trex_tui.old.artifacts.plan import describe_plan, read_plan_head
from trex_tui.old.engine import load_engine

NEW = b"ftrt" + bytes(20) + bytes([8, 6, 1, 6]) + bytes(100)
OLD = b"ptrt" + bytes(100)
NOTHING = "no layer information, profile or timing JSON next to it; nothing to open"


def ultralytics(metadata: bytes, plan: bytes = NEW) -> bytes:
    return len(metadata).to_bytes(4, "little") + metadata + plan


def message(capsys: pytest.CaptureFixture[str], path: Path) -> str:
    assert main(["summary", str(path)]) == 2
    return capsys.readouterr().err.partition(f"{path.name}: ")[2].rstrip()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (NEW, "is a TensorRT 8.6.1 plan"),
        (OLD, "is an older TensorRT plan (ptrt), version not stated"),
        (b"ftrt", "is a TensorRT plan, version unknown"),
        (b"ptrt", "is an older TensorRT plan (ptrt), version not stated"),
    ],
)
def test_what_a_plan_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, expected: str
) -> None:
    path = tmp_path / "net.engine"
    path.write_bytes(content)
    assert sniff(path).kind is ArtifactKind.PLAN
    assert message(capsys, path) == f"{expected}: {NOTHING}"


def test_metadata_before_a_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metadata = json.dumps({"task": "detect", "imgsz": [640, 640], "names": {"0": "x" * 70_000}}).encode()
    path = tmp_path / "net.engine"
    path.write_bytes(ultralytics(metadata))
    size = 4 + len(metadata)
    assert version_of_plan(path) == "8.6.1"
    text = message(capsys, path)
    assert text.startswith(
        f'is a TensorRT 8.6.1 plan, after {size} bytes of Ultralytics metadata (task "detect", imgsz [640, 640]): '
    )
    assert f"tail -c +{size + 1} " in text
    assert path.read_bytes()[size:] == NEW, "what the command leaves"


@pytest.mark.parametrize("metadata", [b"{broken", b'{"task": "\x1b[31m\\n"}', b"{" * 5000, b'{"task": null}'])
def test_damaged_and_hostile_metadata(tmp_path: Path, metadata: bytes) -> None:
    path = tmp_path / "net.engine"
    path.write_bytes(ultralytics(metadata, OLD))
    head = read_plan_head(path)
    assert head is not None
    assert (head.is_old, head.metadata_bytes) == (True, 4 + len(metadata))
    assert describe_plan(head).isprintable()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"ftr",
        b"\x02\0\0\0{}",
        ultralytics(b"{}", b"none"),
        b"\xff\xff\xff\xff{" + NEW,
        b"\x01\0\0\0{" + NEW,
        b"[  \n{}]",
    ],
)
def test_what_is_no_plan(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "net.engine"
    path.write_bytes(content)
    assert read_plan_head(path) is None
    assert sniff(path).kind is None


def test_a_set_with_metadata_before_its_plan(tmp_path: Path) -> None:
    layers = [layer("conv", inputs=[tensor("x", 1)], outputs=[tensor("y", 1)])]
    write_set(tmp_path, "net", layers, {"conv": 1.0})
    (tmp_path / "net.engine").write_bytes(ultralytics(b'{"task": "detect"}'))
    engine = load_engine(tmp_path)
    assert engine.tensorrt_version == "8.6.1"
    notes = [note.message for note in engine.diagnostics if note.file == tmp_path / "net.engine"]
    assert len(notes) == 1
    assert "after 22 bytes of Ultralytics metadata" in notes[0]


def test_real_plans(artifacts: Path) -> None:
    found = {path.name: read_plan_head(path) for path in sorted((artifacts / "plans").iterdir())}
    assert {
        name: head and (head.is_old, head.version, head.metadata_bytes) for name, head in found.items()
    } == {
        "agx-xavier-7.1.3.trt": (True, None, 0),
        "jetson-nano-8.2.1.engine": (True, None, 0),
        "rtx4090-8.6.1.plan": (False, "8.6.1", 0),
    }
