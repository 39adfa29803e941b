"""`trex-tui capture` from the outside: exit codes, streams, hostile names, Ctrl-C, the live view."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fake_trtexec import ENDS, VERSIONS, calls
from fake_trtexec.kit import COMPLETE, Bench, fifo, is_running, wait_for, wait_for_end
from trex_tui.__main__ import main


@pytest.fixture
def here(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """The current directory is the test's, and trtexec of 10.4 is found."""
    monkeypatch.chdir(bench.place)
    monkeypatch.setenv("TRTEXEC", str(bench.programs("10.4.0").path))
    return bench


def capture(*arguments: str) -> int:
    return main(["capture", *arguments])


_SHAPES = "min=t0:1x8,opt=t0:2x8,max=t0:4x8"


class TestCommand:
    @pytest.mark.parametrize("version", ENDS)
    def test_every_release(self, here: Bench, capsys: pytest.CaptureFixture[str], version: str) -> None:
        assert capture("--onnx", "net.onnx", "--trtexec", str(here.programs(version).path)) == 0
        out, err = capsys.readouterr()
        assert out == "results/net\n"
        assert "\x1b" not in err
        assert f"trtexec of TensorRT {version}" in err
        assert "[1/2] build: 0:0" in err
        assert "[2/2] profile: 0:0" in err
        assert here.names() == COMPLETE
        assert main(["summary", out.strip()]) == 0

    def test_what_stands_behind_the_dashes(self, here: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        record = here.place / "calls"
        monkeypatch.setenv("FAKE_TRTEXEC_CALLS", str(record))
        rest = ["--avgTiming=16", "--tacticSources=-CUDNN,+CUBLAS", "--maxTactics=3"]
        assert capture("--onnx", "net.onnx", "--warmup", "7", "--", *rest) == 0
        assert [one[-3:] for one in calls(record)] == [rest, rest]

    @pytest.mark.usefixtures("here")
    def test_failure(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.setenv("FAKE_TRTEXEC_FAIL", "unsupported_op")
        assert capture("--onnx", "net.onnx") == 3
        out, err = capsys.readouterr()
        assert out == ""
        last = err.splitlines()
        assert last[-1].startswith(
            "trex-tui: error: build run failed: node 12 of the model, operator GridSample3D"
        )
        assert last[-2] == "trex-tui: full log: results/net/net.failed/net.engine.build.log"
        assert "  Engine set up failed" in last
        assert not any("[I]" in line or "&&&&" in line for line in last), "the rest is in the log"

    def test_the_card(self, here: Bench, capsys: pytest.CaptureFixture[str]) -> None:
        """The last lines state what `summary` states, and the next command; the time of a build is remembered."""
        assert capture("--onnx", "net.onnx", "--repeat", "2", "--outdir", "o ut") == 0
        *_, latency, engine, device, throttling, following = capsys.readouterr().err.splitlines()
        assert main(["summary", "o ut/net.graph.json", "--json"]) == 0
        (told,) = json.loads(capsys.readouterr().out)["engines"]
        assert latency == (
            f"trex-tui: Latency     median {told['latency']['median_ms']:.4f} ms, p99 {told['latency']['p99_ms']:.4f} ms, "
            f"{told['throughput_qps']:g} qps (run 1 of 2)"
        )
        size = (here.place / "o ut/net.engine").stat().st_size
        assert engine == f"trex-tui: Engine      {size} B, built in 0:00"
        assert device == f"trex-tui: Device      {told['device']}, TensorRT 10.4.0"
        assert throttling == "trex-tui: Throttling  unknown: not reported by the machine"
        assert following == "trex-tui: next: trex-tui 'o ut'"
        assert capture("--onnx", "net.onnx", "--outdir", "o ut", "--force", "--resume") == 0
        assert f"Engine      {size} B, built earlier in 0:00\n" in capsys.readouterr().err

    @pytest.mark.parametrize("version", ENDS)
    def test_build_only(self, here: Bench, capsys: pytest.CaptureFixture[str], version: str) -> None:
        """The engine and its log; it can be measured into the same set, which keeps them."""
        program = str(here.programs(version).path)
        assert capture("--onnx", "net.onnx", "--build-only", "--trtexec", program) == 0
        err = capsys.readouterr().err
        measured = ("profile", "graph", "timing")
        assert here.names() == [name for name in COMPLETE if not any(word in name for word in measured)]
        assert "[1/1] build: " in err
        following = "trex-tui capture --engine results/net/net.engine --outdir results/net --force"
        assert err.splitlines()[-1] == f"trex-tui: next: {following}"
        assert main([*shlex.split(following)[1:], "--trtexec", program]) == 0
        assert here.names() == COMPLETE

    @pytest.mark.parametrize("version", [version for version in VERSIONS if int(version.split(".")[0]) >= 10])
    def test_profiles(self, here: Bench, version: str) -> None:
        program = str(here.programs(version).path)
        profiles = ["--profile", _SHAPES, "--profile", _SHAPES.replace("4x8", "9x8"), "--profile-index", "1"]
        assert capture("--onnx", "net.onnx", *profiles, "--trtexec", program) == 0

    def test_a_flag_of_another_version(self, here: Bench, capsys: pytest.CaptureFixture[str]) -> None:
        program = str(here.programs("11.1.0").path)
        assert capture("--onnx", "net.onnx", "--fp16", "--trtexec", program) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert "8.0.1 to 10.16" in err
        assert not here.outdir.exists()

    @pytest.mark.parametrize(
        "arguments",
        [
            [],
            ["--onnx", "a", "--engine", "b"],
            ["--onnx", "net.onnx", "--repeat", "0"],
            ["--onnx", "net.onnx", "--timeout", "soon"],
            ["--onnx", "net.onnx", "--device", "-1"],
            ["--onnx", "net.onnx", "--sparsity", "some"],
            ["--onnx", "net.onnx", "--duration", "٣"],
            ["--onnx", "net.onnx", "--profile", "x:1"],
            ["--onnx", "net.onnx", "--power-limit", "0"],
            ["--onnx", "net.onnx", "--memory-clock", "0"],
        ],
    )
    @pytest.mark.usefixtures("here")
    def test_bad_usage(self, arguments: list[str]) -> None:
        with pytest.raises(SystemExit) as stop:
            capture(*arguments)
        assert stop.value.code == 2

    @pytest.mark.parametrize(
        ("arguments", "part"),
        [
            (["--onnx", "absent.onnx"], "absent.onnx does not exist"),
            (["--onnx", "."], "is not a file"),
            (["--onnx", "net.onnx", "--trtexec", "/absent"], "/absent does not exist"),
            (["--onnx", "net.onnx", "--name", ""], "--name"),
            (["--onnx", "net.onnx", "--load-inputs", "x:net.onnx,y:absent"], "absent does not exist"),
            (["--onnx", "net.onnx", "--", "--saveEngine=x"], "capture sets it"),
            (["--engine", "net.onnx", "--resume"], "--resume has no effect with --engine"),
            (["--engine", "net.onnx", "--workspace", "0"], "--workspace: only for builds"),
            (["--engine", "net.onnx", "--build-only"], "--build-only: only for builds"),
            (["--engine", "net.onnx", "--profile", _SHAPES], "--profile: only for builds"),
            (
                ["--onnx", "net.onnx", "--build-only", "--repeat", "2", "--warmup", "0"],
                "--warmup, --repeat: only for measurements",
            ),
            (["--onnx", "net.onnx", "--build-only", "--host", "jet"], "add --with-engine"),
            (
                ["--onnx", "net.onnx", "--profile", _SHAPES, "--opt-shapes", "x:1"],
                "--profile sets the shapes",
            ),
            (["--onnx", "net.onnx", "--profile", _SHAPES, "--profile-index", "1"], "1 --profile are stated"),
            (["--onnx", "net.onnx", "--warmup", "9", "--", "--warmUp=7"], "the same option of trtexec"),
            (["--engine", "net.onnx", "--int8", "--workspace", "9"], "--int8, --workspace: only for builds"),
        ],
    )
    def test_bad_input(
        self, here: Bench, capsys: pytest.CaptureFixture[str], arguments: list[str], part: str
    ) -> None:
        assert capture(*arguments) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert part in err
        assert not here.outdir.exists()

    def test_an_engine_behind_metadata_of_ultralytics(
        self, here: Bench, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert capture("--onnx", "net.onnx") == 0
        plan = next(here.outdir.glob("*.engine")).read_bytes()
        text = b'{"task": "detect"}'
        engine = Path("yolo.engine")
        engine.write_bytes(len(text).to_bytes(4, "little") + text + plan)
        capsys.readouterr()
        assert capture("--engine", "yolo.engine", "--outdir", "again") == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert (
            "yolo.engine: 22 bytes of Ultralytics metadata precede the plan; remove them (tail -c +23" in err
        )
        assert not Path("again").exists()
        engine.write_bytes(engine.read_bytes()[22:])
        assert capture("--engine", "yolo.engine", "--outdir", "again") == 0

    @pytest.mark.usefixtures("here")
    def test_a_set_is_there(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert capture("--onnx", "net.onnx") == 0
        assert capture("--onnx", "net.onnx") == 2
        assert "--force" in capsys.readouterr().err
        assert capture("--onnx", "net.onnx", "--force", "--resume") == 0
        assert "not built again" in capsys.readouterr().err

    def test_help(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as stop:
            capture("--help")
        assert stop.value.code == 0
        assert "examples:" in capsys.readouterr().out


def start(here: Bench, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
    """The command as a process of its own; capture tests of signals need no terminal."""
    return subprocess.Popen(
        [sys.executable, "-m", "trex_tui", "capture", "--onnx", "net.onnx", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TRTEXEC": str(here.programs("10.4.0").path), **environment},
    )


class TestSignals:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_ends_trtexec_keeps_logs(self, here: Bench, number: signal.Signals) -> None:
        pipe = fifo(here.place / "fifo")
        process = start(here, FAKE_TRTEXEC_FAIL="hang@profile", FAKE_TRTEXEC_FIFO=str(pipe))
        pid = wait_for(pipe)
        process.send_signal(number)
        out, err = process.communicate(timeout=150)
        assert (process.returncode, out) == (130, b"")
        assert b"Traceback" not in err
        assert err.splitlines()[-2:] == [
            b"trex-tui: interrupted; the logs are in results/net/net.failed",
            b"trex-tui: the engine is kept: results/net/net.failed/net.engine; --resume measures it without building again",
        ]
        assert not is_running(pid)
        log = here.outdir / "net.failed/net.engine.profile.log"
        assert b"Starting inference" in log.read_bytes()
        assert not list(here.outdir.parent.glob(".*"))

    def test_we_are_killed_and_resume(self, here: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        """SIGKILL leaves the work directory; the next capture takes its engine."""
        pipe = fifo(here.place / "fifo")
        process = start(here, FAKE_TRTEXEC_FAIL="hang@profile", FAKE_TRTEXEC_FIFO=str(pipe))
        pid = wait_for(pipe)
        process.kill()
        process.communicate(timeout=150)
        wait_for_end(pid)
        record = here.place / "calls"
        monkeypatch.setenv("FAKE_TRTEXEC_CALLS", str(record))
        assert capture("--onnx", "net.onnx", "--resume") == 0
        assert len(calls(record)) == 1
        assert here.names() == COMPLETE

    def test_stdout_is_closed(self, here: Bench) -> None:
        process = start(here)
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        _, err = process.communicate(timeout=150)
        assert process.returncode == 0
        assert b"Traceback" not in err
        assert here.names() == COMPLETE
