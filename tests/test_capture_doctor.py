"""`trex-tui doctor` on machines made of files: servers, Jetsons, containers, nothing at all."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from fake_trtexec import install
from test_capture_machine_probe import SMI, jetson, put
from trex_tui.capture.doctor import ALL, NOTHING, Check, Findings, conclude, examine
from trex_tui.capture.machine import ask_host
from trex_tui.capture.shell import Shell
from trex_tui.capture.trtexec import (
    PYTHON_API,
    Trtexec,
    TrtexecNotFoundError,
    find_trtexec,
)
from trex_tui.cli.main import main

ORIN = "NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super"
PLENTY = 100 << 30


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


class Machine:
    """A root directory, and what of it is on PATH."""

    def __init__(self, place: Path) -> None:
        self.root = place / "root"
        self.bin = place / "bin"
        self.bin.mkdir()
        self.root.mkdir()
        self.outdir = place / "out"
        self.environ = {"PATH": str(self.bin)}
        put(self.root, "proc/meminfo", "MemTotal: 64000000 kB\nMemAvailable: 60000000 kB\nSwapFree: 9 kB\n")

    def trtexec(self, version: str = "10.4.0") -> Path:
        return install(self.root / "usr/src/tensorrt/bin", version)

    def smi(self, text: str = SMI) -> None:
        program(self.bin / "nvidia-smi", text)
        put(self.root, "dev/nvidia0", "")
        put(self.root, "dev/nvidiactl", "")

    def jetson(
        self, l4t: str = "36.5.0", model: str = ORIN, soc: str = "tegra234", low: int = 306_000_000
    ) -> None:
        jetson(self.root, l4t=l4t, model=model, soc=soc, low=low, high=624_750_000, node="gpu")
        put(self.root, "dev/nvmap", "")

    def close(self, device: str) -> None:
        """Nobody may open it, not even a superuser."""
        path = self.root / "dev" / device
        path.unlink()
        path.symlink_to("nowhere")

    def look(self, given: str | None = None) -> Findings:
        """As `doctor` does, on this machine of files."""
        trtexec, refusal = None, ""
        try:
            trtexec = find_trtexec(given, self.environ, self.root)
        except TrtexecNotFoundError as error:
            refusal = str(error)
        host = ask_host(
            Shell(environ=self.environ), root=str(self.root), outdir=self.outdir, has_environment=True
        )
        return with_disk(Findings(trtexec, refusal, host.document()), free_bytes=PLENTY)

    def checks(self) -> list[Check]:
        return examine(self.look())


def with_disk(found: Findings, **values: object) -> Findings:
    return replace(found, facts={**found.facts, "disk": {**found.facts["disk"], **values}})


def summary(found: Findings) -> str:
    return conclude(found, examine(found))[1]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    for variable in ("OLD_DRIVER", "REASONS", "POWER_CAP"):
        monkeypatch.delenv(variable, raising=False)
    return Machine(tmp_path)


@pytest.fixture
def server(machine: Machine) -> Machine:
    machine.trtexec()
    machine.smi()
    put(machine.root, "proc/self/status", "Name:\tx\nCapEff:\t00000000a80425fb\n")
    return machine


@pytest.fixture
def board(machine: Machine) -> Machine:
    machine.trtexec()
    machine.jetson()
    return machine


def told(checks: list[Check], name: str) -> list[tuple[str, str]]:
    return [(one.status, one.found) for one in checks if one.name == name]


def one(checks: list[Check], part: str) -> Check:
    (found,) = [check for check in checks if part in check.found]
    return found


class TestServer:
    def test_everything_is_there(self, server: Machine) -> None:
        checks = server.checks()
        path = server.root / "usr/src/tensorrt/bin/trtexec"
        build = "" if (found := server.look().trtexec) is None else f" build {found.build}"
        text = f"TensorRT 10.4.0{build}: {path} (by /usr/src/tensorrt/bin)"
        assert told(checks, "trtexec") == [("ok", text)]
        assert told(checks, "GPU") == [("ok", "NVIDIA GeForce RTX 4080 SUPER, 210 of 3165 MHz, 43 °C")]
        assert told(checks, "driver") == [("ok", "595.71")]
        assert told(checks, "disk") == [("ok", f"100 GiB free for {server.outdir}")]
        assert summary(server.look()) == "capture can build and measure here"

    @pytest.mark.parametrize(
        ("said", "code", "remedy"),
        [
            ("Failed to initialize NVML: Driver/library version mismatch", 18, "reboot"),
            ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", 9, "dkms"),
            ("Failed to initialize NVML: Unknown Error", 255, "restart it"),
            ("No devices were found", 6, "lspci"),
            ("NvRmMemInitNvmap failed: error Permission denied", 1, "usermod -aG video"),
            ("something new", 1, "by hand"),
        ],
    )
    def test_nvidia_smi_that_fails(self, server: Machine, said: str, code: int, remedy: str) -> None:
        server.smi(f'#!/bin/sh\necho "{said}"\nexit {code}\n')
        checks = server.checks()
        check = one(checks, "lists none")
        assert (check.status, said in check.found) == ("error", True)
        assert remedy in check.remedy
        assert summary(server.look()) == "capture cannot run here: GPU"


class TestJetson:
    def test_as_it_comes(self, board: Machine) -> None:
        checks = board.checks()
        assert told(checks, "Jetson") == [("ok", f"{ORIN} (tegra234), L4T 36.5.0")]
        assert told(checks, "nvpmodel") == [("note", "power mode 25W")]
        clocks = [("warning", "GPU clock not locked, 306 to 625 MHz (nvhost_podgov)")]
        assert told(checks, "jetson_clocks") == clocks
        assert told(checks, "DLA") == [("note", "this module has none")]
        assert told(checks, "known bad") == []
        assert conclude(board.look(), checks)[0] == ALL


class TestKnownBad:
    def test_l4t_with_broken_allocations(self, board: Machine) -> None:
        board.jetson(l4t="36.4.7")
        check = one(board.checks(), "36.4.7: large allocations")
        assert (check.status, "36.5" in check.remedy) == ("warning", True)

    @pytest.mark.parametrize(
        ("soc", "version", "is_bad"),
        [("tegra234", "10.13.3", True), ("tegra264", "10.13.3", False), ("tegra234", "10.16.2", False)],
    )
    def test_tensorrt_of_another_board(self, board: Machine, soc: str, version: str, is_bad: bool) -> None:
        board.jetson(soc=soc)
        found = board.look()
        assert found.trtexec is not None
        checks = examine(replace(found, trtexec=Trtexec(found.trtexec.path, version, None, frozenset())))
        assert any("sm_87" in check.found for check in checks) is is_bad
        assert conclude(found, checks)[0] == (NOTHING if is_bad else ALL)


class TestPythonApi:
    """TensorRT-RTX builds without a GPU; TensorRT does not."""

    @pytest.mark.parametrize(
        ("version", "found_by", "last"),
        [
            ("RTX 1.7.1", PYTHON_API, "capture can build here, but not measure: GPU"),
            ("10.4.0", PYTHON_API, "capture cannot run here: GPU"),
            ("RTX 1.7.1", "PATH", "capture cannot run here: GPU"),
        ],
    )
    def test_without_a_gpu(self, machine: Machine, version: str, found_by: str, last: str) -> None:
        api = Trtexec(Path("/usr/bin/python3"), version, found_by=found_by)
        found = replace(machine.look(), trtexec=api)
        assert summary(found) == last
        checks = examine(with_disk(found, free_bytes=1))
        assert conclude(found, checks)[0] == NOTHING, "it cannot write the engine"


class TestCommandInside:
    @pytest.fixture(autouse=True)
    def _only_this(self, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(machine.bin))
        monkeypatch.setenv("LD_LIBRARY_PATH", "")
        monkeypatch.delenv("TRTEXEC", raising=False)
        monkeypatch.chdir(machine.root)

    def test_a_gpu_and_trtexec(self, machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
        machine.smi()
        path = machine.trtexec("8.6.1")
        before = sorted(machine.root.rglob("*"))
        code = main(["doctor", "--trtexec", str(path.parent)])
        out, err = capsys.readouterr()
        assert f"TensorRT 8.6.1: {path} (by --trtexec)" in out
        assert "NVIDIA GeForce RTX 4080 SUPER" in out
        assert code == (1 if "\nerror" in f"\n{out}" else 0)
        assert err == ""
        assert sorted(machine.root.rglob("*")) == before, "it changes nothing"

    def test_no_escape_of_theirs_reaches_the_terminal(
        self, machine: Machine, capsys: pytest.CaptureFixture[str]
    ) -> None:
        machine.smi(SMI.replace("NVIDIA GeForce RTX 4080 SUPER", "\x1b]0;x\x07[red]evil[/red]\x9b31m"))
        main(["doctor", "--trtexec", os.fsdecode(b"/caf\xe9\x1b[31m")])
        out, _ = capsys.readouterr()
        assert "[red]evil[/red]" in out
        assert not set(out) & {"\x1b", "\x07", "\r", "\x9b"}
