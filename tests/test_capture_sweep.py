"""`capture --sweep`: the captures of one axis, each whole, and the table of engines in the end."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from fake_trtexec import calls
from fake_trtexec.kit import COMPLETE, Bench
from trex_tui.capture.onnx_header import ModelInput, OnnxHeader
from trex_tui.capture.options import CaptureOptions, OptimizationProfile
from trex_tui.capture.sweep import plan_points
from trex_tui.cli.main import main
from trex_tui.errors import TrexError

RANGE = ("--min-shapes", "t0:1x8", "--opt-shapes", "t0:4x8", "--max-shapes", "t0:8x8")


def header(**inputs: tuple[int | str, ...] | None) -> OnnxHeader:
    return OnnxHeader(tuple(ModelInput(name, "FP32", shape) for name, shape in inputs.items()))


def points(text: str, known: OnnxHeader | None = None, **options: Any) -> dict[str, CaptureOptions]:
    """Name -> options of each capture."""
    return plan_points(CaptureOptions(**{"onnx": "net.onnx", **options}), text, known)


class TestPlan:
    def test_precisions(self) -> None:
        planned = points("fp32,fp16+int8,best")
        assert list(planned) == ["fp32", "fp16+int8", "best"]
        assert [options.precisions for options in planned.values()] == [(), ("fp16", "int8"), ("best",)]

    @pytest.mark.parametrize(
        ("known", "options", "shapes"),
        [
            (
                None,
                {"min_shapes": "x:1x3,y:2", "opt_shapes": "x:2x5,y:2", "max_shapes": "x:8x9,y:2"},
                "x:4x5,y:2",
            ),
            (
                None,
                {
                    "profiles": (
                        OptimizationProfile("x:1x3", "x:1x3", "x:1x3"),
                        OptimizationProfile("x:2x3", "x:3x3", "x:4x3"),
                    ),
                    "profile_index": 1,
                },
                "x:4x3",
            ),
            (header(x=("N", 3, 5), y=("N",), z=(7,)), {}, "x:4x3x5,y:4"),
            (header(x=("N", "H"), y=(2, 3)), {"shapes": "x:1x9"}, "x:4x9"),
        ],
    )
    def test_batch(self, known: OnnxHeader | None, options: dict[str, Any], shapes: str) -> None:
        """Of the model, where the options say nothing."""
        assert points("batch=4", known, **options)["batch4"].shapes == shapes

    @pytest.mark.parametrize(
        ("text", "options", "message"),
        [
            ("fp17", {}, "fp17: not a precision; choose fp32, fp16"),
            ("batch=1,1", {"shapes": "x:1x3"}, "1 is repeated"),
            ("a b=1", {}, "not a trtexec option"),
            ("saveEngine=a,b", {}, "--sweep saveEngine: capture sets it"),
            ("fp16", {"precisions": ("int8",)}, "--int8 and --sweep fp16"),
            (
                "batch=9",
                {"min_shapes": "x:1x3", "opt_shapes": "x:1x3", "max_shapes": "x:8x3"},
                "outside of the profile, 1x3 to 8x3",
            ),
            (
                "batch=1",
                {"min_shapes": "x:1x3", "opt_shapes": "x:1x5", "max_shapes": "x:1x9"},
                "dim 0 of no input can change; widen --max-shapes",
            ),
        ],
    )
    def test_refused(self, text: str, options: dict[str, Any], message: str) -> None:
        with pytest.raises(TrexError) as error:
            points(text, **options)
        assert message in str(error.value)
        assert "\n" not in str(error.value)


@pytest.fixture
def here(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """The current directory is the test's; trtexec of 10.4 does what $WRONG says where a word of its command has $WHERE."""
    program = bench.place / "bin" / "trtexec"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n"
        'case "$*" in --help) ;; *"${WHERE:-none}"*) eval "$WRONG";; esac\n'
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
        (["--sweep", "warmUp=1", "--warmup", "2"], "--warmup and --sweep warmUp: the same option of trtexec"),
        (["--sweep", "batch=4,9", *RANGE], "outside of the profile, 1x8 to 8x8"),
    ],
)
def test_refused_before_anything_runs(
    here: Bench, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert sweep(*arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert runs(here) == (0, 0)
    assert not (here.place / "out").exists()


def test_whole(here: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """Each value is a set, and the table has a row of each."""
    assert sweep("--sweep", "batch=1,4,8", *RANGE) == 0
    out, err = capsys.readouterr()
    names = [line.split()[0] for line in out.splitlines() if line.startswith("batch")]
    assert names == ["batch1/net", "batch4/net", "batch8/net"]
    assert err.splitlines()[-2:] == ["trex-tui: next: trex-tui out", "trex-tui: next: trex-tui engines out"]
    assert runs(here) == (3, 3)
    for name in ("batch1", "batch4", "batch8"):
        assert sorted(path.name for path in Path("out", name).iterdir()) == COMPLETE
    capsys.readouterr()
    assert main(["engines", "out"]) == 0
    assert capsys.readouterr().out == out, "the printed command prints the same"
    assert sweep("--sweep", "batch=1,4,8", *RANGE) == 2
    assert "--force" in capsys.readouterr().err
    assert runs(here) == (0, 0)


def test_interrupted(
    here: Bench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is complete stays."""
    monkeypatch.setenv("WHERE", "--loadEngine=out/.batch4.")
    monkeypatch.setenv("WRONG", "kill -INT $PPID; export FAKE_TRTEXEC_FAIL=hang")
    assert sweep("--sweep", "batch=1,4,8", *RANGE) == 130
    out, err = capsys.readouterr()
    assert "1 engine of 1 model" in out
    assert "2 of 3 values missing: batch4, batch8" in err
    assert runs(here)[0] == 2
    assert sorted(os.listdir("out/batch1")) == COMPLETE  # noqa: PTH208
    assert os.listdir("out/batch4") == ["net.failed"]  # noqa: PTH208
    assert not Path("out/batch8").exists()
