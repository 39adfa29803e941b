"""`trex-tui capture --host` against a real sshd on loopback; the stand-in for trtexec is on its other side."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fake_trtexec import calls
from fake_trtexec.kit import COMPLETE, fifo, wait_for, wait_for_end
from remote_kit import Server, descendants, name_of, program, serving, smi, why_not
from test_capture_clocks import FREE, LOCK, told
from trex_tui.__main__ import main

pytestmark = [
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "-"),
    pytest.mark.sshd,
]
WITHOUT_ENGINE = [one for one in COMPLETE if one != "net.engine"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Multiplexed as a user's configuration may be: a connection takes half a second, a channel in it none."""
    with serving(tmp_path_factory.mktemp("d"), multiplexed=True) as found:
        yield found


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server) -> Path:
    """A directory with a model, and the way to the server."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TREX_TUI_SSH_CONFIG", str(server.config))
    Path("net.onnx").write_bytes(b"a model")
    for one in server.programs.iterdir():
        one.unlink()
    return tmp_path


def capture(*arguments: str) -> int:
    return main(["capture", "--onnx", "net.onnx", "--host", "jet", *arguments])


def names(directory: Path) -> list[str]:
    return sorted(str(one.relative_to(directory)) for one in directory.rglob("*") if one.is_file())


class TestSuccess:
    def test_a_set(self, here: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
        there = here / "tools and 'quotes' $(x)"
        record = here / "calls"
        trtexec = program(there, FAKE_TRTEXEC_CALLS=str(record))
        assert capture("--trtexec", str(there), "--with-ids") == 0
        out, err = capsys.readouterr()
        assert out == "results/net\n"
        assert f"trtexec of TensorRT 10.4.0: {trtexec}" in err
        assert names(here / "results/net") == WITHOUT_ENGINE
        log = (here / "results/net/net.engine.profile.log").read_bytes()
        assert log.startswith(b"&&&& RUNNING")
        assert log.splitlines()[-1].startswith(b"&&&& PASSED")
        manifest = json.loads((here / "results/net/net.capture.json").read_text())
        assert manifest["remote"]["host"] == "jet"
        assert manifest["remote"]["directory"].startswith(str(server.temporary))
        assert manifest["engine"]["bytes"] > 0
        assert len(manifest["engine"]["sha256"]) == 64
        assert manifest["host"]["before"]["memory"]["total_kib"] > 0
        assert manifest["host"]["before"]["host_name"] == os.uname().nodename
        assert [one["command"] for one in manifest["runs"]] == [[str(trtexec), *one] for one in calls(record)]
        assert server.left() == []
        assert main(["summary", "results/net"]) == 0

    def test_everything_that_is_sent(self, here: Path, server: Server) -> None:
        """Hostile names, weights beside the model, several runs, and the engine back."""
        hostile = "a b;$(touch x)'\"\n%s*.onnx"
        location = b"sub dir/w'$(x).bin"
        entry = b"\x0a\x08location\x12" + bytes([len(location)]) + location
        (here / hostile).write_bytes(b"model" + entry)
        (here / "sub dir").mkdir()
        (here / "sub dir/w'$(x).bin").write_bytes(bytes(range(256)) * 3)
        (here / "cal ib").write_bytes(b"calibration")
        record = here / "calls"
        there = program(here / "t", FAKE_TRTEXEC_CALLS=str(record))
        arguments = ["--outdir", "o\nut 'x", "--name", "net", "--calib", "cal ib", "--int8", "--repeat", "2"]
        arguments += ["--timing-cache", "cache", "--with-engine", "--trtexec", str(there)]
        assert main(["capture", "--onnx", hostile, "--host", "jet", *arguments]) == 0
        found = names(here / "o\nut 'x")
        assert set(COMPLETE) <= set(found)
        assert "net.repeat-2/net.profile.json" in found
        assert (here / "cache").read_bytes() == b"cache"
        manifest = json.loads((here / "o\nut 'x/net.capture.json").read_text())
        engine = (here / "o\nut 'x/net.engine").read_bytes()
        assert manifest["engine"]["sha256"] == hashlib.sha256(engine).hexdigest()
        build = calls(record)[0]
        assert build[0].endswith(f"/in/0/{hostile}")
        assert any(one.startswith("--calib=") and one.endswith("/in/1/cal ib") for one in build)
        assert not (here / "x").exists()
        assert server.left() == []

    def test_an_engine(self, here: Path, server: Server) -> None:
        there = str(program(here / "t"))
        assert capture("--trtexec", there, "--with-engine") == 0
        engine = ["--engine", "results/net/net.engine", "--outdir", "again", "--trtexec", there]
        assert main(["capture", "--host", "jet", *engine]) == 0
        assert "net.profile.json" in names(here / "again")
        assert server.left() == []

    def test_sweep(self, here: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
        """Points share an engine that was built there once; the script of the sweep leaves the same files."""
        record = here / "calls"
        there = str(program(here / "t", FAKE_TRTEXEC_CALLS=str(record)))
        axes = ["--sweep", "useSpinWait=on,off", "--trtexec", there]
        assert capture(*axes, "--outdir", "out") == 0
        assert len(capsys.readouterr().out.splitlines()) == 3
        builds = [any(word.startswith("--onnx=") for word in command) for command in calls(record)]
        assert builds == [True, False, False]
        points = ["useSpinWait-off", "useSpinWait-on"]
        assert names(here / "out") == [f"{point}/{name}" for point in points for name in COMPLETE]
        assert server.left() == []
        assert capture(*axes, "--outdir", "script", "--dry-run") == 0
        script = capsys.readouterr().out
        assert subprocess.run(["sh"], input=script.encode(), capture_output=True, check=False).returncode == 0
        own = (".capture.json", ".metadata.json")
        assert names(here / "script") == [name for name in names(here / "out") if not name.endswith(own)]

    def test_dry_run(self, here: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
        record = here / "calls"
        there = program(here / "t", FAKE_TRTEXEC_CALLS=str(record))
        assert capture("--trtexec", str(there), "--dry-run", "--with-engine") == 0
        text = capsys.readouterr().out
        assert f"run net.engine.build.log {shlex.quote(str(there))} --onnx=./in/0/net.onnx" in text
        assert calls(record) == []
        assert not (here / "results").exists()
        assert server.left() == []
        text = text.replace("/tmp/trex-tui.", f"{here}/there.")
        done = subprocess.run(["sh", "-c", text], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        assert names(here / "results/net") == [
            name for name in COMPLETE if not name.endswith((".capture.json", ".metadata.json"))
        ]
        assert not list(here.glob("there.*"))


class TestFailure:
    def test_an_option_that_trtexec_refuses(
        self, here: Path, server: Server, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Before the model is sent."""
        record = here / "calls"
        there = program(here / "t", FAKE_TRTEXEC_CALLS=str(record))
        assert capture("--trtexec", str(there), "--percentile", "a") == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert "rejects --percentile=a: a number is expected (stof)" in err.splitlines()[-1]
        assert "sending" not in err
        assert calls(record) == []
        assert not (here / "results").exists()
        assert server.left() == []

    @pytest.mark.parametrize(
        ("fail", "told"),
        [
            ("unsupported_op", "GridSample3D"),
            ("killed", "trtexec was killed (SIGKILL)"),
            ("no_engine", "No such file"),
            ("half_profile", "is truncated"),
        ],
    )
    def test_of_trtexec(
        self, here: Path, server: Server, capsys: pytest.CaptureFixture[str], fail: str, told: str
    ) -> None:
        there = program(here / "t", FAKE_TRTEXEC_FAIL=fail)
        assert capture("--trtexec", str(there)) == 3
        out, err = capsys.readouterr()
        assert out == ""
        assert told in err
        assert "net.engine.build.log" in names(here / "results/net/net.failed")
        assert server.left() == []

    def test_the_engine_is_brought_back(
        self, here: Path, server: Server, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Of a failed measurement, though nobody asked for it; what is sent to measure it again is the engine."""
        record = here / "calls"
        there = program(here / "t", FAKE_TRTEXEC_FAIL="crash@profile")
        assert capture("--trtexec", str(there)) == 3
        err = capsys.readouterr().err
        assert "fetching net.engine from jet (" in err
        assert "the engine is kept: results/net/net.failed/net.engine; --resume measures it" in err
        assert server.left() == []
        there = program(here / "t", FAKE_TRTEXEC_CALLS=str(record))
        assert capture("--trtexec", str(there), "--resume") == 0
        assert len(calls(record)) == 1
        assert names(here / "results/net") == COMPLETE

    def test_the_engine_is_brought_back_when_interrupted(self, here: Path, server: Server) -> None:
        pipe, record = fifo(here / "fifo"), here / "calls"
        there = program(here / "t", FAKE_TRTEXEC_FAIL="hang@profile", FAKE_TRTEXEC_FIFO=str(pipe))
        command = [sys.executable, "-m", "trex_tui", "capture", "--onnx", "net.onnx", "--host", "jet"]
        process = subprocess.Popen(
            [*command, "--trtexec", str(there)], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        wait_for(pipe)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=150)
        assert process.returncode == 130
        assert b"the engine is kept: results/net/net.failed/net.engine" in err.splitlines()[-1]
        assert server.left() == []
        there = program(here / "t", FAKE_TRTEXEC_CALLS=str(record))
        assert capture("--trtexec", str(there), "--resume") == 0
        assert len(calls(record)) == 1

    def test_children_are_ended(self, here: Path, server: Server) -> None:
        child = here / "child"
        there = program(here / "t", FAKE_TRTEXEC_FAIL="child@profile", FAKE_TRTEXEC_CHILD=str(child))
        assert main(["capture", "--onnx", "net.onnx", "--host", "jet", "--trtexec", str(there)]) == 0
        wait_for_end(int(child.read_text()))
        manifest = json.loads((here / "results/net/net.capture.json").read_text())
        assert manifest["runs"][-1]["children_ended"] == 1
        assert server.left() == []

    def test_time_is_up(self, here: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
        there = program(here / "t", FAKE_TRTEXEC_FAIL="hang")
        assert capture("--trtexec", str(there), "--timeout", "0.5s") == 3
        assert "the time allowed" in capsys.readouterr().err
        assert server.left() == []

    def test_unknown_option(self, here: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
        there = program(here / "t", "8.2.1")
        assert capture("--trtexec", str(there), "--fp8") == 2
        assert "--fp8: not in trtexec of TensorRT 8.2.1" in capsys.readouterr().err
        assert server.left() == []

    def test_no_trtexec(self, here: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
        assert capture("--trtexec", str(here)) == 2
        assert f"jet: --trtexec: no executable {here} there" in capsys.readouterr().err
        assert server.left() == []


def start(there: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "trex_tui", "capture", "--onnx", "net.onnx", "--host", "jet"),
            *("--trtexec", str(there), *arguments),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def hanging(here: Path, *arguments: str) -> tuple[subprocess.Popen[bytes], int]:
    """A capture in the middle of its profile run; the process id of the other side."""
    pipe = fifo(here / "fifo")
    words = {"FAKE_TRTEXEC_FAIL": "hang@profile", "FAKE_TRTEXEC_FIFO": str(pipe)}
    process = start(program(here / "t", **words), *arguments)
    return process, wait_for(pipe)


def shells(server: Server) -> list[int]:
    """The scripts that run on the other side."""
    return [one for one in descendants(server.process.pid) if name_of(one) in ("sh", "dash", "bash")]


class TestInTheMiddle:
    def test_interrupted(self, here: Path, server: Server) -> None:
        process, pid = hanging(here)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=150)
        assert (process.returncode, out) == (130, b"")
        assert b"trex-tui: interrupted; the logs are in results/net/net.failed" in err.splitlines()
        wait_for_end(pid)
        assert b"Starting inference" in (here / "results/net/net.failed/net.engine.profile.log").read_bytes()
        assert server.left() == []

    def test_the_line_is_cut(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Told apart from a trtexec that failed; nothing lives on there, the clocks are free, the engine is used again."""
        monkeypatch.chdir(tmp_path)
        Path("net.onnx").write_bytes(b"a model")
        place = tmp_path / "d"
        place.mkdir()
        with serving(place, multiplexed=False) as server:
            monkeypatch.setenv("TREX_TUI_SSH_CONFIG", str(server.config))
            freed = fifo(tmp_path / "freed")
            clocks = smi(server, tmp_path, SMI_FIFO=str(freed))
            process, pid = hanging(tmp_path, "--lock-clocks", "--with-engine")
            there = shells(server)
            assert len(there) >= 4
            assert told(clocks) == [LOCK]
            server.cut()
            assert wait_for(freed) == 1
            out, err = process.communicate(timeout=150)
            for one in (pid, *there):
                wait_for_end(one)
            assert server.left() == []
            assert told(clocks) == [LOCK, FREE]
            assert (process.returncode, out) == (2, b"")
            last = err.decode().splitlines()[-1]
            assert last.startswith("trex-tui: error: profile run: the connection to jet was lost (")
            assert b"may still be locked on jet; restore: sudo nvidia-smi -i 0 -rgc" in err
            failed = json.loads((tmp_path / "results/net/net.failed/net.capture.json").read_text())
            assert failed["runs"][-1]["failure"] == "connection_lost"
            record = tmp_path / "calls"
            again = program(tmp_path / "again", FAKE_TRTEXEC_CALLS=str(record))
            assert capture("--trtexec", str(again), "--resume") == 0
            assert ["--onnx" in " ".join(one) for one in calls(record)] == [False]
            assert names(tmp_path / "results/net") == COMPLETE
            assert server.left() == []

    def test_we_are_killed(self, here: Path, server: Server) -> None:
        freed = fifo(here / "freed")
        clocks = smi(server, here, SMI_FIFO=str(freed))
        process, pid = hanging(here, "--lock-clocks=1500")
        there = shells(server)
        process.kill()
        process.communicate(timeout=150)
        assert wait_for(freed) == 1
        for one in (pid, *there):
            wait_for_end(one)
        assert told(clocks) == ["-i 0 -lgc 1500,1500", FREE]
        assert server.left() == []


class TestClocks:
    def test_locked_and_freed(self, here: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
        """After success, and after a failure."""
        clocks = smi(server, here)
        assert capture("--trtexec", str(program(here / "t")), "--lock-clocks") == 0
        assert told(clocks) == [LOCK, FREE]
        assert "GPU clocks locked to 2100 MHz" in capsys.readouterr().err
        found = json.loads((here / "results/net/net.capture.json").read_text())["clocks"]
        assert (found["target_mhz"], found["locked"], found["released"]) == (2100, True, True)
        assert not found["ended_early"]
        failing = program(here / "f", FAKE_TRTEXEC_FAIL="crash")
        assert capture("--trtexec", str(failing), "--lock-clocks", "--force") == 3
        assert told(clocks) == [LOCK, FREE] * 2
        assert server.left() == []


class TestResume:
    def test_an_engine_that_is_here(
        self, here: Path, server: Server, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """It is sent instead of the model, even where the options name files, which are called otherwise each time."""
        record = here / "calls"
        there = str(program(here / "t", FAKE_TRTEXEC_CALLS=str(record)))
        (here / "cal").write_bytes(b"calibration")
        options = ("--trtexec", there, "--calib", "cal", "--int8", "--timing-cache", "cache")
        assert capture(*options, "--with-engine") == 0
        engine = (here / "results/net/net.engine").read_bytes()
        capsys.readouterr()
        assert capture(*options, "--resume", "--force", "--duration", "5") == 0
        assert ["--onnx" in " ".join(one) for one in calls(record)] == [True, False, False]
        err = capsys.readouterr().err
        assert "sending results/net/net.engine" in err
        assert "sending net.onnx" not in err
        assert "sending cal" not in err
        assert "the engine of results/net fits: not built again" in err
        assert names(here / "results/net") == COMPLETE
        assert (here / "results/net/net.engine").read_bytes() == engine
        assert server.left() == []
