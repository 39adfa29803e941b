"""`capture --sweep`: planned as a matrix, each engine built once, resumed, and summed up in one table."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from fake_trtexec import calls
from fake_trtexec.kit import COMPLETE, Bench
from trex_tui.__main__ import main

RANGE = ("--min-shapes", "t0:1x8", "--opt-shapes", "t0:4x8", "--max-shapes", "t0:8x8")
MATRIX = (*RANGE, "--sweep", "fp16,int8", "--sweep", "batch=1,4,8")
POINTS = ["fp16_batch1", "fp16_batch4", "fp16_batch8", "int8_batch1", "int8_batch4", "int8_batch8"]


@pytest.fixture
def here(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """The current directory is the test's; trtexec of 10.4 does what $WRONG says where a word of its command has $WHERE."""
    program = bench.place / "bin" / "trtexec"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n"
        'case "$*" in *rehearsal|--help) ;; *"${WHERE:-none}"*) eval "$WRONG";; esac\n'
        f'exec {bench.programs("10.4.0").path} "$@"\n',
        encoding="utf-8",
    )
    program.chmod(stat.S_IRWXU)
    monkeypatch.chdir(bench.place)
    monkeypatch.setenv("TRTEXEC", str(program))
    monkeypatch.setenv("FAKE_TRTEXEC_CALLS", str(bench.place / "calls"))
    return bench


def sweep(*arguments: str) -> int:
    return main(["capture", "--onnx", "net.onnx", "--outdir", "out", *arguments])


def runs(here: Bench) -> tuple[int, int]:
    """How many engines were built, and how often one was measured."""
    commands = calls(here.place / "calls")
    (here.place / "calls").unlink(missing_ok=True)
    builds = sum(any(word.startswith("--onnx=") for word in command) for command in commands)
    return builds, len(commands) - builds


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sweep", "typo=1,2"], "--sweep typo (trtexec's --typo): not in trtexec of TensorRT 10.4.0"),
        (["--sweep", "noCudaGraph=on"], "11.0 and later has it"),
        (["--sweep", "avgRuns=3,many"], "rejects --avgRuns=many: a number is expected (stoi)"),
        (["--sweep", "warmUp=1", "--warmup", "2"], "--warmup and --sweep warmUp: the same option of trtexec"),
        (["--sweep", "avgRuns=1", "--", "--avgRuns=2"], "--avgRuns after -- and --sweep avgRuns"),
        (["--json"], "--json is for the table of a sweep"),
    ],
)
def test_refused_before_anything_runs(
    here: Bench, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert sweep(*arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("error: ")) == ("", 1)
    assert message in err
    assert runs(here) == (0, 0)
    assert not (here.place / "out").exists()


def test_interrupted_and_resumed(
    here: Bench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is complete stays; an engine is built once, and that of an interrupted point is kept."""
    monkeypatch.setenv("WHERE", "--loadEngine=out/.int8_batch1.")
    monkeypatch.setenv("WRONG", "kill -INT $PPID; export FAKE_TRTEXEC_FAIL=hang")
    assert sweep(*MATRIX) == 130
    out, err = capsys.readouterr()
    states = {line.split()[0]: " ".join(line.split()[1:3]) for line in out.splitlines()[1:]}
    assert list(states) == POINTS
    assert [states[name].startswith("complete") for name in POINTS] == [True] * 3 + [False] * 3
    assert states["int8_batch1"].startswith("interrupted")
    assert states["int8_batch8"] == "not measured"
    assert (
        "3 points of 6 missing: int8_batch1, int8_batch4, int8_batch8; the same command with --resume" in err
    )
    assert runs(here)[0] == 2
    before = {path: path.stat().st_mtime_ns for path in Path("out").glob("fp16*/*")}

    monkeypatch.delenv("WHERE")
    assert sweep(*MATRIX, "--resume", "--json") == 0
    out, err = capsys.readouterr()
    assert runs(here) == (0, 3)
    document = json.loads(out)
    assert [point["name"] for point in document["points"]] == POINTS
    assert {point["state"] for point in document["points"]} == {"complete"}
    assert [point["is_reused"] for point in document["points"]] == [False, True, True] + [True] * 3
    assert [point["batch"] for point in document["points"]] == [1, 4, 8] * 2
    assert document["points"][5]["values"] == {"precision": "int8", "batch": "8"}
    assert "next: trex-tui diff out/fp16_batch1 out/" in err
    assert {path: path.stat().st_mtime_ns for path in before} == before, "complete points are not touched"
    for name in POINTS:
        assert sorted(os.listdir(Path("out", name))) == COMPLETE  # noqa: PTH208
    assert sweep(*MATRIX) == 2
    assert "--force" in capsys.readouterr().err
    assert runs(here) == (0, 0)
    assert sweep(*MATRIX, "--resume", "--inf-streams", "2") == 2, (
        "a set that was measured otherwise is not kept"
    )


def test_failed(here: Bench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A point that fails keeps the others; no engine is built in vain for the points that share it."""
    monkeypatch.setenv("WHERE", "--fp16")
    monkeypatch.setenv("WRONG", "export FAKE_TRTEXEC_FAIL=unsupported_op")
    assert sweep("--sweep", "fp16,int8", "--sweep", "useSpinWait=on,off") == 3
    out, err = capsys.readouterr()
    assert [line.split()[1] for line in out.splitlines()[1:]] == ["failed", "failed", "complete", "complete"]
    assert (
        "fp16_useSpinWait-on: node 12 of the model, operator GridSample3D, cannot be parsed; simplify" in err
    )
    assert "fp16_useSpinWait-off: not measured: it shares the engine of fp16_useSpinWait-on" in err
    assert runs(here) == (2, 2)
    monkeypatch.delenv("WHERE")
    assert sweep("--sweep", "fp16,int8", "--sweep", "useSpinWait=on,off", "--resume") == 0
    commands = calls(here.place / "calls")
    assert [command[0].split("=")[0] for command in commands] == ["--onnx", "--loadEngine", "--loadEngine"]
    assert ["--useSpinWait" in command for command in commands] == [False, True, False]


def test_script(here: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """`--dry-run` prints one script, which leaves the files of the sweep."""
    axes = (*RANGE, "--sweep", "fp16", "--sweep", "batch=1,8")
    assert sweep(*axes, "--dry-run") == 0
    script = capsys.readouterr().out
    assert runs(here) == (0, 0)
    done = subprocess.run(["sh"], input=script.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert runs(here) == (1, 2)
    own = (".capture.json", ".metadata.json")
    for name in ("fp16_batch1", "fp16_batch8"):
        files = sorted(path.name for path in Path("out", name).iterdir())
        assert files == [file for file in COMPLETE if not file.endswith(own)]
    assert main(["summary", "out"]) == 0
