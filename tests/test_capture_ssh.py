"""`trex-tui capture --host` against a real sshd on loopback; the stand-in for trtexec is on its other side."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fake_trtexec import calls, install
from fake_trtexec.kit import COMPLETE, fifo, wait_for, wait_for_end
from onnx_bytes import MODEL, tanh_model
from remote_kit import Server, descendants, name_of, program, serving, smi, why_not, wrapped
from test_capture_cli import next_command
from test_capture_clocks import FREE, LOCK, told
from test_capture_doctor import SMI as GPU_SMI
from test_capture_samples import SMI as SAMPLED_SMI
from test_capture_samples import install as install_tool
from trex_tui.artifacts.power import read_power_log
from trex_tui.cli.main import main

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
    Path("net.onnx").write_bytes(MODEL)
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
        assert capture("--trtexec", str(there)) == 0
        out, err = capsys.readouterr()
        assert out == "results/net\n"
        assert f"trtexec of TensorRT 10.4.0: {trtexec}" in err
        assert names(here / "results/net") == WITHOUT_ENGINE
        log = (here / "results/net/net.engine.profile.log").read_bytes()
        assert log.startswith(b"&&&& RUNNING")
        assert log.splitlines()[-1].startswith(b"&&&& PASSED")
        manifest = json.loads((here / "results/net/net.capture.json").read_text())
        assert manifest["remote"]["over"] == "ssh"
        assert manifest["remote"]["directory"].startswith(str(server.temporary))
        assert manifest["engine"]["bytes"] > 0
        assert len(manifest["engine"]["sha256"]) == 64
        assert manifest["host"]["before"]["memory"]["total_kib"] > 0
        assert os.uname().nodename not in json.dumps(manifest["host"])
        assert [one["command"] for one in manifest["runs"]] == [[str(trtexec), *one] for one in calls(record)]
        assert server.left() == []
        assert main(["summary", "results/net"]) == 0

    def test_everything_that_is_sent(self, here: Path, server: Server) -> None:
        """Hostile names, weights beside the model, several runs, and the engine back."""
        hostile = "a b;$(touch x)'\"\n%s*.onnx"
        (here / hostile).write_bytes(tanh_model("fp32", ("N", 8), weights="sub dir/w'$(x).bin"))
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

    def test_samples_are_taken_there(
        self, here: Path, server: Server, capsys: pytest.CaptureFixture[str]
    ) -> None:
        install_tool(here / "smi", "nvidia-smi", SAMPLED_SMI)
        wrapped(server.programs / "nvidia-smi", here / "smi" / "nvidia-smi", MARKS=str(here))
        there = program(here / "t", FAKE_TRTEXEC_GO=str(here / "five"))
        assert capture("--trtexec", str(there), "--monitor", "50") == 0
        assert "samples of power and clocks by nvidia-smi" in capsys.readouterr().err
        power = read_power_log(here / "results/net/net.monitor.csv")
        assert power.samples >= 5
        assert set(power.columns["power_w"]) == {131.9}
        wait_for_end(int((here / "pid").read_text()))
        assert server.left() == []

    def test_doctor(self, here: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
        """The same lines as of this machine."""
        found = install(server.programs, "10.4.0")
        (server.programs / "nvidia-smi").write_text(GPU_SMI, encoding="ascii")
        (server.programs / "nvidia-smi").chmod(0o755)
        assert main(["doctor", "--host", "jet"]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        assert f"{found} (by PATH)" in out
        assert "595.71" in out
        assert f"free for {server.temporary}" in out
        assert "capture can build and measure on jet" in out
        (server.programs / "trtexec").unlink()
        assert main(["doctor", "--host", "jet"]) == 1
        assert "capture cannot run on jet: trtexec" in capsys.readouterr().out
        assert main(["doctor", "--host", "jet", "--json", "--trtexec", str(here)]) == 1
        root = json.loads(capsys.readouterr().out)
        assert (root["schema"], root["can_capture"]) == ("trex-tui/doctor/2", "nothing")
        assert root["checks"][0]["found"] == f"--trtexec: no executable {here} there; check the path"
        assert root["host"]["gpus"][0]["driver"] == "595.71"
        assert main(["doctor", "--host", "nowhere"]) == 2
        _, err = capsys.readouterr()
        assert err.startswith("trex-tui: error: nowhere: ssh: connect to host 127.0.0.1 port 1: ")
        assert server.left() == []


class TestFailure:
    def test_the_engine_is_brought_back(
        self, here: Path, server: Server, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Of a failed measurement, though nobody asked for it; the printed command measures it there."""
        record = here / "calls"
        there = program(here / "t", FAKE_TRTEXEC_FAIL="crash@profile")
        assert capture("--trtexec", str(there)) == 3
        err = capsys.readouterr().err
        assert "the engine is kept: results/net/net.failed/net.engine\n" in err
        assert server.left() == []
        program(here / "t", FAKE_TRTEXEC_CALLS=str(record))
        assert main(next_command(err)) == 0
        assert len(calls(record)) == 1
        assert names(here / "results/net") == COMPLETE
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
    def test_the_line_is_cut(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Told apart from a trtexec that failed; nothing lives on there, the clocks are free, the engine is used again."""
        monkeypatch.chdir(tmp_path)
        Path("net.onnx").write_bytes(MODEL)
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
            program(tmp_path / "t")
            engine = "results/net/net.failed/net.engine"
            again = ["--engine", engine, "--host", "jet", "--trtexec", str(tmp_path / "t/trtexec")]
            assert main(["capture", *again, "--outdir", "results/net"]) == 0
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
