"""What captures note of a machine, and `trex-tui doctor`: on machines made of files."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from capture_bench import Bench
from fake_trtexec import install
from trex_tui.capture.doctor import ALL, NOTHING, Findings, conclude, examine
from trex_tui.capture.machine import Host, ask_host
from trex_tui.capture.shell import Shell
from trex_tui.capture.trtexec import PYTHON_API, Trtexec, TrtexecNotFoundError, find_trtexec
from trex_tui.cli.main import main

ORIN = "NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super"
SMI = """\
#!/bin/sh
# Refuses a query with an unknown field whole, as the real one.
case "$*" in
*reasons_counters*)
  [ -z "$OLD_DRIVER" ] || { echo 'Field "clocks_event_reasons_counters.x" is not a valid field to query.'; exit 2; }
  ;;
esac
fields=${1#--query-gpu=}
out=
IFS=,
for field in $fields; do
  case $field in
  index) value=0 ;;
  name) value='NVIDIA GeForce RTX 4080 SUPER' ;;
  driver_version) value=595.71 ;;
  clocks.sm) value=210 ;;
  clocks.max.sm) value=3165 ;;
  temperature.gpu) value=43 ;;
  clocks_throttle_reasons.active) value=${REASONS:-0x0000000000000001} ;;
  clocks_event_reasons_counters.sw_power_cap) value=100 ;;
  uuid) value=GPU-secret ;;
  clocks.mem) value='[Not Supported]' ;;
  *) value=[N/A] ;;
  esac
  out="$out${out:+, }$value"
done
echo "$out"
"""
BOARD = {
    "etc/nv_tegra_release": "# R36 (release), REVISION: 5.0, GCID: 42132812, BOARD: generic, EABI: aarch64\n",
    "proc/device-tree/model": f"{ORIN}\0",
    "proc/device-tree/compatible": "nvidia,p3768-0000+p3767-0005\0nvidia,tegra234\0",
    "sys/class/devfreq/17000000.gpu/device/of_node/name": "gpu\0",
    "sys/class/devfreq/17000000.gpu/min_freq": "306000000\n",
    "sys/class/devfreq/17000000.gpu/cur_freq": "306000000\n",
    "sys/class/devfreq/17000000.gpu/max_freq": "624750000\n",
    "sys/class/devfreq/17000000.gpu/governor": "nvhost_podgov\n",
    "sys/class/devfreq/other/min_freq": "1\n",
    "sys/class/thermal/thermal_zone0/type": "gpu-thermal\n",
    "sys/class/thermal/thermal_zone0/temp": "48500\n",
    "sys/class/thermal/thermal_zone1/type": "cv0-thermal\n",
    "sys/class/thermal/thermal_zone1/temp": "-256000\n",
    "sys/class/hwmon/hwmon3/name": "soctherm_oc\n",
    "sys/class/hwmon/hwmon3/oc3_event_cnt": "5\n",
    "usr/sbin/nvpmodel": "#!/bin/sh\necho 'NVPM WARN: fan mode is not set!'\necho 'NV Power Mode: 25W'\necho 1\n",
    "dev/nvmap": "",
}
"""The files of a Jetson that tell what it is."""


class Machine:
    """A root directory, and what of it is on PATH."""

    def __init__(self, place: Path) -> None:
        self.root = place / "root"
        self.outdir = place / "out"
        self.environ = {"PATH": str(place / "bin")}
        self.put("proc/meminfo", "MemTotal: 64000000 kB\nMemAvailable: 60000000 kB\nSwapFree: 9 kB\n")

    def put(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def trtexec(self, version: str = "10.4.0") -> Path:
        return install(self.root / "usr/src/tensorrt/bin", version)

    def smi(self, text: str = SMI) -> None:
        self.put("../bin/nvidia-smi", text)
        self.put("dev/nvidia0", "")
        self.put("dev/nvidiactl", "")

    def jetson(self, old: str = "", new: str = "") -> None:
        for name, text in BOARD.items():
            self.put(name, text.replace(old, new) if old else text)

    def ask(self, **environ: str) -> Host:
        shell = Shell(environ=self.environ | environ)
        return ask_host(shell, root=str(self.root), outdir=self.outdir, has_environment=True)

    def look(self, free_bytes: int = 100 << 30) -> Findings:
        """As `doctor` does, on this machine of files."""
        trtexec, refusal = None, ""
        try:
            trtexec = find_trtexec(None, self.environ, self.root)
        except TrtexecNotFoundError as error:
            refusal = str(error)
        facts = self.ask().document()
        facts["disk"] = {**facts["disk"], "free_bytes": free_bytes}
        return Findings(trtexec, refusal, facts)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "bin").mkdir()
    (tmp_path / "root").mkdir()
    return Machine(tmp_path)


@pytest.fixture
def server(machine: Machine) -> Machine:
    machine.trtexec()
    machine.smi()
    machine.put("proc/self/status", "Name:\tx\nCapEff:\t00000000a80425fb\n")
    return machine


@pytest.fixture
def board(machine: Machine) -> Machine:
    machine.trtexec()
    machine.jetson()
    return machine


def told(found: Findings, name: str) -> list[tuple[str, str]]:
    return [(check.status, check.found) for check in examine(found) if check.name == name]


def summary(found: Findings) -> str:
    return conclude(found, examine(found))[1]


def test_facts_of_a_server(server: Machine) -> None:
    host = server.ask()
    (gpu,) = host.facts["gpus"]
    assert (gpu["driver"], gpu["sm_clock_mhz"], gpu["max_sm_clock_mhz"]) == ("595.71", 210.0, 3165.0)
    assert gpu["memory_clock_mhz"] is None, "not supported is unknown, not zero"
    assert gpu["throttle_reasons"] == [], "idle is no throttling"
    assert gpu["throttle_counters_us"]["sw_power_cap"] == 100.0
    assert host.facts["jetson"] is None
    assert "RTX 4080 SUPER" in host.probes["nvidia-smi"]["raw"]
    (gpu,) = server.ask(OLD_DRIVER="1").facts["gpus"]
    assert (gpu["driver"], gpu["temperature_c"], gpu["throttle_counters_us"]) == ("595.71", 43.0, {})


def test_throttled_meanwhile(bench: Bench, server: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{server.environ['PATH']}:{os.environ['PATH']}")
    monkeypatch.setenv("REASONS", "0x0000000000000020")
    result = bench.capture()
    assert "the GPU was throttled: software thermal" in result.remarks
    manifest = json.loads((bench.outdir / "net.capture.json").read_text(encoding="utf-8"))
    assert manifest["host"]["after"]["gpus"][0]["throttle_reasons"] == ["software thermal"]
    assert "the GPU was throttled: software thermal" in manifest["remarks"]


def test_facts_of_a_jetson(board: Machine) -> None:
    facts = board.ask().facts
    assert facts["jetson"] == {"l4t": "36.5.0", "model": ORIN, "soc": "tegra234", "power_mode": "25W"}
    assert facts["gpu_clock"]["locked"] is False
    assert facts["temperatures_c"] == {"gpu-thermal": 48.5}, "a gated zone is missing, not cold"
    assert facts["memory"]["available_kib"] == 60_000_000
    assert facts["over_current_events"] == {"oc3_event_cnt": 5}
    assert "NVPM WARN" in board.ask().probes["nvpmodel"]["raw"]


def test_everything_is_there(server: Machine) -> None:
    found = server.look()
    assert found.trtexec is not None
    text = f"TensorRT 10.4.0 build {found.trtexec.build}: {found.trtexec.path} (by /usr/src/tensorrt/bin)"
    assert told(found, "trtexec") == [("ok", text)]
    assert told(found, "GPU") == [("ok", "NVIDIA GeForce RTX 4080 SUPER, 210 of 3165 MHz, 43 °C")]
    assert told(found, "driver") == [("ok", "595.71")]
    assert told(found, "disk") == [("ok", f"100 GiB free for {server.outdir}")]
    assert summary(found) == "capture can build and measure here"


@pytest.mark.parametrize(
    ("said", "code", "remedy"),
    [
        ("Failed to initialize NVML: Driver/library version mismatch", 18, "reboot"),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", 9, "dkms"),
        ("Failed to initialize NVML: Unknown Error", 255, "restart it"),
        ("NvRmMemInitNvmap failed: error Permission denied", 1, "usermod -aG video"),
        ("something new", 1, "by hand"),
    ],
)
def test_nvidia_smi_that_fails(server: Machine, said: str, code: int, remedy: str) -> None:
    server.smi(f'#!/bin/sh\necho "{said}"\nexit {code}\n')
    (check,) = (check for check in examine(server.look()) if "lists none" in check.found)
    assert (check.status, said in check.found, remedy in check.remedy) == ("error", True, True)
    assert summary(server.look()) == "capture cannot run here: GPU"


def test_a_jetson_as_it_comes_and_one_with_broken_allocations(board: Machine) -> None:
    found = board.look()
    assert told(found, "Jetson") == [("ok", f"{ORIN} (tegra234), L4T 36.5.0")]
    assert told(found, "nvpmodel") == [("note", "power mode 25W")]
    clocks = [("warning", "GPU clock not locked, 306 to 625 MHz (nvhost_podgov)")]
    assert told(found, "jetson_clocks") == clocks
    assert told(found, "DLA") == [("note", "this module has none")]
    assert told(found, "known bad") == []
    assert conclude(found, examine(found))[0] == ALL
    board.jetson("REVISION: 5.0", "REVISION: 4.7")
    (check,) = (check for check in examine(board.look()) if "36.4.7: large allocations" in check.found)
    assert (check.status, "36.5" in check.remedy) == ("warning", True)


@pytest.mark.parametrize(
    ("soc", "version", "is_bad"),
    [("tegra234", "10.13.3", True), ("tegra264", "10.13.3", False), ("tegra234", "10.16.2", False)],
)
def test_tensorrt_of_another_board(board: Machine, soc: str, version: str, is_bad: bool) -> None:
    board.jetson("tegra234", soc)
    found = replace(board.look(), trtexec=Trtexec(board.trtexec(), version, None, frozenset()))
    assert any("sm_87" in check.found for check in examine(found)) is is_bad
    assert conclude(found, examine(found))[0] == (NOTHING if is_bad else ALL)


@pytest.mark.parametrize(
    ("version", "found_by", "last"),
    [
        ("RTX 1.7.1", PYTHON_API, "capture can build here, but not measure: GPU"),
        ("10.4.0", PYTHON_API, "capture cannot run here: GPU"),
        ("RTX 1.7.1", "PATH", "capture cannot run here: GPU"),
    ],
)
def test_without_a_gpu(machine: Machine, version: str, found_by: str, last: str) -> None:
    """TensorRT-RTX builds without a GPU; TensorRT does not."""
    api = Trtexec(Path("/usr/bin/python3"), version, found_by=found_by)
    assert summary(replace(machine.look(), trtexec=api)) == last
    full = replace(machine.look(free_bytes=1), trtexec=api)
    assert conclude(full, examine(full))[0] == NOTHING, "it cannot write the engine"


def test_the_command_changes_nothing_and_shows_no_escapes(
    server: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", server.environ["PATH"])
    monkeypatch.chdir(server.root)
    path = server.trtexec("8.6.1")
    before = sorted(server.root.rglob("*"))
    code = main(["doctor", "--trtexec", str(path.parent)])
    out, err = capsys.readouterr()
    assert f"TensorRT 8.6.1: {path} (by --trtexec)" in out
    assert "NVIDIA GeForce RTX 4080 SUPER" in out
    assert (code, err) == (1 if "\nerror" in f"\n{out}" else 0, "")
    assert sorted(server.root.rglob("*")) == before
    server.smi(SMI.replace("NVIDIA GeForce RTX 4080 SUPER", "\x1b]0;x\x07[red]evil[/red]\x9b31m"))
    main(["doctor", "--trtexec", os.fsdecode(b"/caf\xe9\x1b[31m")])
    out = capsys.readouterr().out
    assert "[red]evil[/red]" in out
    assert not set(out) & {"\x1b", "\x07", "\r", "\x9b"}
