"""`capture --sweep`: planned as a matrix, each engine built once, resumed, and summed up in one table."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explained import assert_keys_explained
from fake_trtexec import calls
from fake_trtexec.kit import COMPLETE, Bench
from trex_tui.old.capture.options import CaptureOptions, OptimizationProfile
from trex_tui.old.capture.run import CaptureRequest
from trex_tui.old.capture.sweep import parse_axis, plan_points
from trex_tui.old.cli import main
from trex_tui.old.errors import TrexError
from trex_tui.old.report.views.sweep import SweepRow, find_best, next_commands

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


def points(axes: list[str], **options: Any) -> dict[str, CaptureOptions]:
    """Name -> options of each point."""
    fields = {"onnx": "net.onnx", **options}
    request = CaptureRequest(CaptureOptions(**fields), Path("out"), "net")
    planned = plan_points(request, [parse_axis(text) for text in axes])
    assert [point.request.outdir for point in planned] == [Path("out", point.name) for point in planned]
    return {point.name: point.request.options for point in planned}


class TestPlan:
    def test_precisions(self) -> None:
        planned = points(["fp32,fp16+int8,best"])
        assert list(planned) == ["fp32", "fp16+int8", "best"]
        assert [options.precisions for options in planned.values()] == [(), ("fp16", "int8"), ()]
        assert [options.best for options in planned.values()] == [False, False, True]

    def test_options(self) -> None:
        planned = points(["useCudaGraph=on,off", "--avgTiming=4,8", "useDLACore=0"])
        assert list(planned) == [
            f"useCudaGraph-{graph}_avgTiming{timing}_useDLACore0"
            for graph in ("on", "off")
            for timing in (4, 8)
        ]
        words = [[flag.word for flag in options.swept] for options in planned.values()]
        assert words[1:3] == [["--useCudaGraph", "--avgTiming=8"], ["", "--avgTiming=4"]]
        assert {options.dla for options in planned.values()} == {0}

    @pytest.mark.parametrize(
        ("options", "shapes"),
        [
            ({"shapes": "x:1x3,y:1"}, "x:4x3,y:4"),
            ({"min_shapes": "x:1x3,y:2", "opt_shapes": "x:2x5,y:2", "max_shapes": "x:8x9,y:2"}, "x:4x5,y:2"),
            ({"min_shapes": "x:1x3", "max_shapes": "x:8x9", "shapes": "x:1x7"}, "x:4x7"),
            (
                {
                    "profiles": (
                        OptimizationProfile("x:1x3", "x:1x3", "x:1x3"),
                        OptimizationProfile("x:2x3", "x:3x3", "x:4x3"),
                    ),
                    "profile_index": 1,
                },
                "x:4x3",
            ),
            ({"onnx": None, "engine": "net.engine", "shapes": "a:b:1x3"}, "a:b:4x3"),
        ],
    )
    def test_batch(self, options: dict[str, Any], shapes: str) -> None:
        assert points(["batch=4"], **options)["batch4"].shapes == shapes

    @pytest.mark.parametrize(
        ("axes", "options", "message"),
        [
            (["fp17"], {}, "fp17: not a precision; choose fp32, fp16"),
            (["fp32+int8"], {}, "not a precision"),
            (["fp16,"], {}, "empty"),
            (["batch=1,1"], {}, "1 is repeated"),
            (["batch=0"], {"shapes": "x:1x3"}, "not a whole number"),
            (["batch=a"], {"shapes": "x:1x3"}, "not a whole number"),
            (["a b=1"], {}, "not a trtexec option"),
            (["saveEngine=a,b"], {}, "capture sets --saveEngine"),
            (["minShapes=x:1"], {}, "only the batch of the shapes"),
            (["calib=a,b"], {}, "takes files"),
            (["device=0,1"], {}, "one capture for each GPU"),
            (["fp16", "int8"], {}, "precision: given twice"),
            (["fp16"], {"precisions": ("int8",)}, "--int8 and --sweep fp16"),
            (["fp16"], {"onnx": None, "engine": "e"}, "only for builds"),
            (["useDLACore=0"], {"dla": 1}, "--dla and --sweep useDLACore"),
            (["batch=8"], {}, "shapes of the inputs are unknown; add --shapes"),
            (["batch=8"], {"shapes": "x:ax3"}, "x:ax3 is not a shape"),
            (["batch=8"], {"shapes": "x:1x3,y:2"}, "differ in the first dimension"),
            (["batch=9"], {"min_shapes": "x:1x3", "max_shapes": "x:8x3"}, "x takes 1 to 8"),
            (["batch=1"], {"min_shapes": "x:1x3", "max_shapes": "x:1x9"}, "no input changes its first"),
            (["preview=a:b,a/b"], {}, "same directory name"),
            ([f"maxTactics={','.join(map(str, range(501)))}"], {}, "more than 500 points"),
            ([f"preview={'a' * 200}"], {}, "too long"),
        ],
    )
    def test_refused(self, axes: list[str], options: dict[str, Any], message: str) -> None:
        with pytest.raises(TrexError) as error:
            points(axes, **options)
        assert message in str(error.value)
        assert "\n" not in str(error.value)


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
    assert_keys_explained("sweep", document)
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


def test_best() -> None:
    row = SweepRow("", "a", {}, Path("out/a"), "complete", median_ms=2.0, per_sample_ms=2.0)
    other = replace(row, name="b", directory=Path("out/b"), median_ms=4.0, per_sample_ms=0.5)
    failed = SweepRow("", "c", {}, Path("out/c"), "failed")
    assert find_best([row, other, failed]) == {0: ["median"], 1: ["per sample"]}
    assert find_best([row, row, failed]) == {}
    assert next_commands([failed, row, other], Path("out")) == [
        ["trex-tui", "out"],
        ["trex-tui", "diff", "out/a", "out/b"],
    ]
