"""`trex-tui capture --host` against a real sshd on loopback; the stand-in for trtexec is on its other side."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from explained import assert_keys_explained
from test_capture_host import SMI as GPU_SMI
from test_capture_monitor import SMI as SAMPLED_SMI
from test_capture_monitor import install as install_tool

from fake_trtexec import install
from fake_trtexec.kit import COMPLETE, wait_for_end
from remote_kit import Server, program, why_not, wrapped
from test_capture_ssh import WITHOUT_ENGINE, capture, here, names, server
from trex_tui import load_engine
from trex_tui.__main__ import main

__all__ = ["here", "server"]

pytestmark = [
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "-"),
    pytest.mark.sshd,
]


class TestSuccessInside:
    def test_a_timing_cache_that_cannot_be_written(
        self, here: Path, server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The build may have taken hours: its engine is brought back, and the rest is done."""
        there = str(program(here / "t"))
        monkeypatch.setattr("trex_tui.old.capture.options.checked_cache", lambda _: None)  # it was there then
        assert capture("--trtexec", there, "--with-engine", "--timing-cache", "gone/cache") == 0
        assert names(here / "results/net") == COMPLETE
        assert "the timing cache could not be written to gone/cache: No such file" in capsys.readouterr().err
        assert server.left() == []

    def test_samples_are_taken_there(
        self, here: Path, server: Server, capsys: pytest.CaptureFixture[str]
    ) -> None:
        install_tool(here / "smi", "nvidia-smi", SAMPLED_SMI)
        wrapped(server.programs / "nvidia-smi", here / "smi" / "nvidia-smi", MARKS=str(here))
        there = program(here / "t", FAKE_TRTEXEC_GO=str(here / "five"))
        assert capture("--trtexec", str(there), "--monitor", "50") == 0
        assert "samples of power and clocks by nvidia-smi" in capsys.readouterr().err
        monitor = load_engine("results/net").monitor
        assert monitor is not None
        assert monitor.samples >= 5
        assert set(monitor.columns["power_w"]) == {131.9}
        wait_for_end(int((here / "pid").read_text()))
        assert server.left() == []

    def test_several(
        self,
        here: Path,
        server: Server,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        there = str(program(here / "t"))
        assert capture("--host", "nowhere", "--trtexec", there) == 2
        _, err = capsys.readouterr()
        assert "trex-tui: nowhere: error: ssh: connect to host 127.0.0.1 port 1: " in err
        assert names(here / "results/net/jet") == WITHOUT_ENGINE
        opened: list[list[str]] = []
        # `open` alone: this module has the real one under its own name.
        monkeypatch.setattr("trex_tui.old.cli.main", lambda argv: opened.append(argv) or 0)
        assert capture("--host", "thor", "--trtexec", there, "--force", "--open") == 0
        assert opened == [["open", str(here / "results/net")]]
        out, err = capsys.readouterr()
        assert out.splitlines() == ["results/net/jet", "results/net/thor"]
        assert re.search(r"^trex-tui: thor: \[2/2\] profile: 0:\d\d passed$", err, re.MULTILINE)
        cards = re.findall(
            r"^trex-tui: (\w+): median 0\.4900 ms, p99 0\.4900 ms, .*TensorRT 10\.4\.0$", err, re.MULTILINE
        )
        assert cards == ["jet", "thor"]
        assert server.left() == []


class TestFailureInside:
    def test_no_room_there(
        self,
        here: Path,
        server: Server,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        there = program(here / "t")
        monkeypatch.setattr("trex_tui.old.capture.remote.read_free_bytes", lambda _: 6)
        assert capture("--trtexec", str(there)) == 2
        err = capsys.readouterr().err
        assert re.search(r"jet: 6 B free for .*, and 7 B are to be sent; make room there", err)
        assert "sending" not in err
        assert not (here / "results/net").exists()
        assert server.left() == []


class TestDoctor:
    def test_the_same_lines(self, here: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
        """One machine as this one is told; of two that cannot both be asked the other is told."""
        found = install(server.programs, "10.4.0")
        (server.programs / "nvidia-smi").write_text(GPU_SMI, encoding="ascii")
        (server.programs / "nvidia-smi").chmod(0o755)
        assert main(["doctor", "--host", "jet"]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        lines = [one.split() for one in out.splitlines()]
        assert [one[:2] for one in lines[:2]] == [["ok", "trtexec"], ["ok", "GPU"]]
        assert f"{found} (by PATH)" in out
        assert "595.71" in out
        assert ["ok", "memory"] in [one[:2] for one in lines]
        assert f"free for {server.temporary}" in out
        assert "capture can run on jet" in out.splitlines()[-1]
        assert server.left() == []
        (server.programs / "trtexec").unlink()
        assert main(["doctor", "--host", "jet"]) == 1
        assert "capture cannot run on jet: trtexec" in capsys.readouterr().out
        assert main(["doctor", "--host", "nowhere", "--host", "jet", "--json", "--trtexec", str(here)]) == 2
        out, err = capsys.readouterr()
        assert err.count("\n") == 1
        assert err.startswith("trex-tui: error: nowhere: ssh: connect to host 127.0.0.1 port 1: ")
        root = json.loads(out)
        assert root["schema"] == "trex-tui/doctor-hosts/1"
        assert_keys_explained("doctor-hosts", root)
        assert [one["host_asked"] for one in root["hosts"]] == ["nowhere", "jet"]
        bad, good = root["hosts"]
        assert bad["error"].startswith("nowhere: ssh: connect")
        assert good["checks"][0]["found"] == f"--trtexec: no executable {here} there"
        assert good["host"]["gpus"][0]["driver"] == "595.71"
        assert good["host"]["host_name"] is None
