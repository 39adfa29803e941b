"""TensorRT engine archives: what trex put into them, and what a stranger may have."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers import GRAPH, PROFILE, STAMP, write_files
from trex_tui import load_engine
from trex_tui.__main__ import main
from trex_tui.old.artifacts import archive, find
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.engine.engine import load_set
from trex_tui.old.errors import ARCHIVES, ArtifactError, Severity

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
    with pytest.raises(ArtifactError, match=r"x\.tea: has no log and no layer information"):
        find(built)


def test_what_is_no_archive_is_said_and_costs_itself_alone(tmp_path: Path) -> None:
    write_files(tmp_path, {f"{NAME}.graph.json": GRAPH, f"{NAME}.tea": b"PK\x03\x04 not really"})
    with pytest.raises(ArtifactError, match="is not a valid archive"):
        find(tmp_path / f"{NAME}.tea")
    (found,) = find(tmp_path)
    assert [one.message for one in found.diagnostics] == ["is not a valid archive"]
    half = packed(tmp_path / "half.tea", **{"a/x.graph.json": GRAPH, "a/x.profile.json": '[{"count": 1'})
    (note,) = [note for note in load_engine(half).diagnostics if note.severity is Severity.ERROR]
    assert str(note).startswith(f"{half}/a/x.profile.json:1: ")
    torn = packed(tmp_path / "torn" / f"{NAME}.tea", graph_json=GRAPH)
    data = bytearray(torn.read_bytes())
    data[45:60] = b"\xff" * 15
    torn.write_bytes(data)
    with pytest.raises(ArtifactError, match="is not a valid archive"):
        find(torn)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: _with_byte(data, b"PK\x01\x02", 6, 99), "cannot be unpacked: zip file version 9.9"),
        (lambda data: _with_byte(_with_byte(data, b"PK\x01\x02", 8, 1), b"PK\x03\x04", 6, 1), "is encrypted"),
        (lambda data: _with_byte(data, b"PK\x01\x02", 10, 77), "cannot be unpacked: "),
        (lambda data: data[: len(data) // 2], "is not a valid archive"),
    ],
)
def test_a_foreign_archive_costs_itself_alone(tmp_path: Path, change: Any, message: str) -> None:
    """A later version, a password, a method of packing that nobody has, half a file."""
    graph, foreign = tmp_path / "x.graph.json", tmp_path / "other.tea"
    write_files(tmp_path, {graph.name: GRAPH})
    packed(foreign, graph_json=GRAPH)
    foreign.write_bytes(change(foreign.read_bytes()))
    for command in ("summary", "lint", "layers"):
        assert main([command, str(graph), "--strict"]) == 0
    (found,) = find(tmp_path)
    assert found.files == {ArtifactKind.GRAPH: graph}
    assert next(note.message for note in found.diagnostics if note.file == foreign).startswith(message)
    with pytest.raises(ArtifactError, match=message) as raised:
        find(foreign)
    assert "ZipInfo" not in str(raised.value)


def _with_byte(data: bytes, mark: bytes, offset: int, value: int) -> bytes:
    """An archive in which a byte behind each mark is another."""
    changed = bytearray(data)
    start = data.find(mark)
    while start >= 0:
        changed[start + offset] = value
        start = data.find(mark, start + 1)
    return bytes(changed)


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
    root = unpacked.directory.parent.parent
    assert [str(path.relative_to(root)) for path in found.files.values()] == [
        f"000/{NAME}.tea/{NAME}.graph.json",
        f"000/{NAME}.tea/{NAME}.profile.json",
        f"000/{NAME}.tea/deep/er/{NAME}.build.log",
    ]
    names = sorted(path.name for path in root.rglob("*") if path.is_file())
    assert names == sorted(
        [f"{NAME}.build.log", f"{NAME}.graph.json", f"{NAME}.profile.json", "a_.._.._evil.json"]
    )
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    archive.forget()
    assert not root.exists()


def test_engines_in_folders_of_their_own_are_never_mixed(tmp_path: Path) -> None:
    other = json.loads(json.dumps(GRAPH).replace('"one"', '"uno"'))
    whole = packed(
        tmp_path / "in" / "two.tea",
        **{
            "fp16/engine.graph.json": GRAPH,
            "fp16/engine.profile.json": PROFILE,
            "a/fp32/engine.graph.json": other,
            "fp16/engine.build.log": BUILD_LOG,
        },
    )
    for path in (whole, whole.parent):
        second, first = find(path)
        assert (first.name, second.name) == ("fp16/engine", "fp32/engine")
        assert [kind.value for kind in first.files] == ["graph", "profile", "build_log"]
        assert [kind.value for kind in second.files] == ["graph"]
        assert load_set(second).layers[0].name == "uno"
        assert load_set(second).latency_sum_ms is None
    # A profile of one folder is none of the other's, even where it lacks one.
    mixed = packed(
        tmp_path / "mix" / "mix.tea", **{"a/engine.graph.json": GRAPH, "b/engine.profile.json": PROFILE}
    )
    graph, profile = find(mixed)
    assert (len(graph.files), len(profile.files)) == (1, 1)
    # Of two of a kind in one folder one is left out, and that is said.
    double = packed(tmp_path / "double" / "x.tea", **{"net.graph.json": GRAPH, "graph_net.json": GRAPH})
    (found,) = find(double)
    assert found.files[ArtifactKind.GRAPH].name == "net.graph.json"
    assert [one.message for one in found.diagnostics] == ["is a second graph for 'net'; using net.graph.json"]


@pytest.mark.parametrize(
    "names",
    [
        ["fp16.graph.json", "fp16.profile.json", "fp32.graph.json", "fp32.profile.json"],
        ["fp16.graph.json", "fp32.profile.json", "fp32.engine"],
        ["m.graph.json", "m.engine", "m.engine.build.log", "n.graph.json", "n.engine", "n.engine.build.log"],
        ["results/m.graph.json", "results/m.plan", "results/n.graph.json", "results/n.trt"],
        ["m.graph.json", "n.profile.json", "n.engine.build.log", "o.timing.json"],
        ["graph_a.json", "profile_a.json", "graph_b.json", "b.engine"],
    ],
    ids="+".join,
)
def test_a_flat_archive_gives_the_engines_that_its_files_give(tmp_path: Path, names: list[str]) -> None:
    def content(name: str) -> Any:
        if name.endswith((".engine", ".plan", ".trt")):
            return PLAN
        by_word = {
            "graph": GRAPH,
            "profile": PROFILE,
            "timing": [{"startInMs": 0.0, "endInMs": 1.0, "latencyMs": 1.0}],
            "log": BUILD_LOG,
        }
        return next(content for word, content in by_word.items() if word in name)

    def engines(path: Path) -> list[tuple[str, dict[str, str]]]:
        return [(one.name, {kind.value: file.name for kind, file in one.files.items()}) for one in find(path)]

    files = {name: content(name) for name in names}
    write_files(tmp_path / "flat", files)
    tea = packed(tmp_path / "in" / "some.tea", **files)
    expected = engines(tmp_path / "flat")
    assert len(expected) > 1
    assert sorted(name for _, of_one in expected for name in of_one.values()) == sorted(
        Path(name).name for name in names
    )
    assert engines(tea) == expected
    assert engines(tea.parent) == expected


def test_further_runs_of_a_capture_keep_their_manifest(tmp_path: Path) -> None:
    manifest = '{"schema": "trex-tui/capture/1"}'
    for above in ("", "a/"):
        files = {f"{above}m.capture.json": manifest, f"{above}m.graph.json": GRAPH}
        files |= {f"{above}m.repeat-{number}/m.graph.json": GRAPH for number in (2, 3)}
        tea = packed(tmp_path / above / "rep.tea", **files)
        sets = find(tea)
        assert len(sets) == 3
        assert len({one.files[ArtifactKind.MANIFEST] for one in sets}) == 1
        assert [one.name for one in sets][1:] == ["m.repeat-2/m", "m.repeat-3/m"]


def test_folders_that_look_alike_stay_apart(tmp_path: Path) -> None:
    folders = ["a/b", "a_b", "A/B", "a:b", "x.json", "y" * 300, "/".join("z" * 200), "../..", "a/./b"]
    members = {f"{folder}/{place}.graph.json": GRAPH for place, folder in enumerate(folders)}
    tea = packed(tmp_path / "odd.tea", **members, **{"x.json": "[]"})
    sets = find(tea)
    assert sorted(one.name for one in sets) == [str(place) for place in range(len(folders))]
    names = {one.name: one.directory for one in sets}
    assert names["0"] == names["8"], "a/./b is a/b"
    assert len(set(names.values())) == len(folders) - 1
    root = archive.unpack(tea).directory.parent.parent
    assert all(root in directory.parents for directory in names.values())
    same = packed(tmp_path / "same.tea", **{"a/b/m.graph.json": GRAPH, "a_b/m.graph.json": GRAPH})
    assert [one.name for one in find(same)] == ["b/m", "a_b/m"]


def test_an_archive_of_logs_alone_opens_each_engine_they_tell_of(tmp_path: Path) -> None:
    tea = packed(
        tmp_path / "logs.tea", **{"m.build.log": BUILD_LOG, "n.build.log": BUILD_LOG, "n.engine": PLAN}
    )
    assert [one.name for one in find(tea)] == ["m", "n"]


def test_only_what_was_named_is_unpacked(tmp_path: Path) -> None:
    write_files(tmp_path, {f"{NAME}.graph.json": GRAPH, f"{NAME}.profile.json": PROFILE})
    archives = {
        name: packed(tmp_path / f"{name}.tea", **{f"{inside}.build.log": BUILD_LOG})
        for name, inside in (("bert", "bert"), ("logs", NAME), ("other", "other"))
    }
    packed(tmp_path / "alone" / "whole.tea", graph_json=GRAPH)
    packed(tmp_path / "alone" / "another.tea", **{"another.graph.json": GRAPH})

    def unpacked_for(path: Path) -> set[str]:
        archive.forget()
        find(path)
        return {one.name for place in ARCHIVES for one in (place / "000").iterdir()}

    assert unpacked_for(tmp_path / "alone" / "whole.tea") == {"whole.tea"}
    assert unpacked_for(tmp_path / f"{NAME}.graph.json") == {"logs.tea"}, "what it holds is of this engine"
    assert unpacked_for(archives["logs"]) == {"logs.tea"}


AT_THE_END = "removed = archive.forget\ndef forget():\n    ready()\n    removed()\narchive.forget = forget\n"
IN_THE_WORK = "def load(*_):\n    ready()\n    time.sleep(150)\nengines.load = load\n"
WHEN_IT_FAILS = f"{AT_THE_END}def load(*_):\n    raise ValueError\nengines.load = load\n"


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
@pytest.mark.parametrize(
    ("name", "when"),
    [
        ("SIGTERM", IN_THE_WORK),
        ("SIGHUP", IN_THE_WORK),
        ("SIGQUIT", IN_THE_WORK),
        ("SIGTERM", AT_THE_END),
        ("SIGTERM", WHEN_IT_FAILS),
    ],
    ids=["SIGTERM", "SIGHUP", "SIGQUIT", "at the end", "at the end of a failure"],
)
def test_a_signal_leaves_nothing_unpacked(tmp_path: Path, name: str, when: str) -> None:
    number = getattr(signal, name)
    tea = packed(tmp_path / "in" / "whole.tea", graph_json=GRAPH)
    place = tmp_path / "tmp"
    place.mkdir()
    code = (
        "import os, sys, time; from trex_tui.old import cli\n"
        "from trex_tui.old.artifacts import archive\n"
        "from trex_tui.old.cli import engines\n"
        "def ready(*_):\n"
        f"    print(len(os.listdir({str(place)!r})), file=sys.stderr, flush=True)\n"
        f"    os.kill(os.getpid(), {int(number)})\n"
        f"{when}"
        f"sys.exit(cli.main(['summary', {str(tea)!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TMPDIR": str(place)},
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=150,
        check=False,
    )
    assert done.returncode == -number
    assert set(done.stderr.splitlines()) == {b"1"}
    assert list(place.iterdir()) == []


def test_a_trap_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 1000)
    tea = packed(tmp_path / f"{NAME}.tea", build_log="x" * 1001)
    assert archive.unpack(tea).problem == "exceeds the limits of an archive of one engine"
    monkeypatch.setattr(archive, "MOST_MEMBERS", 2)
    many = packed(tmp_path / "many.tea", a="", b="", c="")
    assert archive.unpack(many).problem == "exceeds the limits of an archive of one engine"
    assert archive.unpack(tmp_path / "absent.tea").problem.startswith("cannot be read: ")
