"""TensorRT engine archives: what trex put into them, and what a stranger may have."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers import GRAPH, PROFILE, STAMP, write_files
from trex_tui import load_engine
from trex_tui.artifacts import archive, find
from trex_tui.artifacts.kinds import ArtifactKind
from trex_tui.cli import main
from trex_tui.errors import ArtifactError

NAME = "net.onnx.engine"
BANNER = "&&&& RUNNING TensorRT.trtexec [TensorRT v100900] # trtexec"
BUILD_LOG = (
    f"{BANNER} --onnx=net.onnx --saveEngine={NAME}\n{STAMP} === Model Options ===\n{STAMP} Format: ONNX\n"
)
PROFILE_METADATA = {
    "performance_summary": {"Throughput": 500.0},
    "device_information": {"Selected Device": "GPU X"},
}
PLAN = b"ftrt" + bytes(20) + bytes([10, 9, 1]) + bytes(100_000)


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    archive.forget()


def packed(path: Path, **members: Any) -> Path:
    """An archive; the members are called NAME.<key>, with dots for underscores, unless they bring a name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for key, content in members.items():
            name = key if "/" in key or "." in key else f"{NAME}.{key.replace('_', '.')}"
            content = content if isinstance(content, (str, bytes)) else json.dumps(content)
            file.writestr(name, content)
    return path


def kinds_of(path: Path) -> dict[str, str]:
    (found,) = find(path)
    return {kind.value: file.name for kind, file in found.files.items()}


def test_what_trex_process_archives_joins_the_files_beside_it(tmp_path: Path) -> None:
    write_files(tmp_path, {f"{NAME}.graph.json": GRAPH, f"{NAME}.profile.json": PROFILE})
    tea = packed(
        tmp_path / f"{NAME}.tea",
        build_log=BUILD_LOG,
        profile_metadata_json=PROFILE_METADATA,
        **{"engine.trt": PLAN},
    )
    expected = {
        "graph": f"{NAME}.graph.json",
        "profile": f"{NAME}.profile.json",
        "profile_metadata": f"{NAME}.profile.metadata.json",
        "build_log": f"{NAME}.build.log",
        "engine": "net.onnx.engine",
    }
    for path in (tmp_path, tea, tmp_path / f"{NAME}.graph.json"):
        assert kinds_of(path) == expected, path
    engine = load_engine(tea)
    assert engine.name == "net"
    assert engine.tensorrt_version == "10.9.1"
    assert engine.device_name == "GPU X"
    assert engine.metadata.throughput_qps == 500.0
    assert engine.files[ArtifactKind.PLAN].stat().st_size < 10_000, (
        "a plan is gigabytes; its head tells the version"
    )
    assert not engine.source.diagnostics


def test_files_beside_an_archive_come_first(tmp_path: Path) -> None:
    write_files(tmp_path, {f"{NAME}.graph.json": GRAPH, f"{NAME}.build.log": BUILD_LOG})
    packed(tmp_path / f"{NAME}.tea", build_log=BUILD_LOG.replace("100900", "100100"), graph_json=GRAPH)
    (found,) = find(tmp_path)
    assert {path.parent for path in found.files.values()} == {tmp_path}
    assert not found.diagnostics


def test_an_archive_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = packed(tmp_path / "a" / f"{NAME}.tea", graph_json=GRAPH, profile_json=PROFILE)
    assert [layer.name for layer in load_engine(whole).layers] == ["one", "two"]
    assert main(["summary", str(whole)]) == 0
    assert capsys.readouterr().out.startswith("net\n")
    log = packed(tmp_path / "b" / f"{NAME}.tea", build_log=BUILD_LOG)
    assert kinds_of(log) == {"build_log": f"{NAME}.build.log"}
    built = packed(
        tmp_path / "c" / "x.tea", **{"build.txt": "Loaded engine", "engine.trt": PLAN, "build_cfg.json": {}}
    )
    with pytest.raises(ArtifactError, match=r"x\.tea: holds no log and no layer information"):
        find(built)


def test_what_is_no_archive_is_said_and_costs_itself_alone(tmp_path: Path) -> None:
    write_files(tmp_path, {f"{NAME}.graph.json": GRAPH, f"{NAME}.tea": b"PK\x03\x04 not really"})
    with pytest.raises(ArtifactError, match="is a damaged archive, or none"):
        find(tmp_path / f"{NAME}.tea")
    (found,) = find(tmp_path)
    assert [one.message for one in found.diagnostics] == ["is a damaged archive, or none"]
    torn = packed(tmp_path / "torn" / f"{NAME}.tea", graph_json=GRAPH)
    data = bytearray(torn.read_bytes())
    data[45:60] = b"\xff" * 15
    torn.write_bytes(data)
    with pytest.raises(ArtifactError, match="is a damaged archive"):
        find(torn)


def test_names_of_members_lead_nowhere(tmp_path: Path) -> None:
    tea = packed(
        tmp_path / "in" / f"{NAME}.tea",
        **{
            f"../../{NAME}.graph.json": GRAPH,
            f"/{NAME}.profile.json": PROFILE,
            "a\\..\\..\\evil.json": "[]",
            "..": "x",
            "run.sh": "#!/bin/sh",
            f"deep/er/{NAME}.build.log": BUILD_LOG,
        },
    )
    (found,) = find(tea)
    unpacked = archive.unpack(tea)
    assert {path.parent for path in found.files.values()} == {unpacked.directory}
    names = sorted(path.name for path in unpacked.directory.iterdir())
    assert names == sorted(
        [f"{NAME}.build.log", f"{NAME}.graph.json", f"{NAME}.profile.json", "a_.._.._evil.json"]
    )
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    archive.forget()
    assert not unpacked.directory.parent.exists()


def test_a_trap_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 1000)
    tea = packed(tmp_path / f"{NAME}.tea", build_log="x" * 1001)
    assert archive.unpack(tea).problem == "holds more than an archive of one engine can"
    monkeypatch.setattr(archive, "MOST_MEMBERS", 2)
    many = packed(tmp_path / "many.tea", a="", b="", c="")
    assert archive.unpack(many).problem == "holds more than an archive of one engine can"
    assert archive.unpack(tmp_path / "absent.tea").problem.startswith("cannot be read: ")
