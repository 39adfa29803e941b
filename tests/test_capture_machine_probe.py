"""What a capture notes of the machine: a server with nvidia-smi, Jetsons, nothing at all."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from capture_bench import Bench
from trex_tui.capture.machine import ask_host
from trex_tui.capture.shell import Shell

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
  clocks_event_reasons_counters.sw_power_cap) value=${POWER_CAP:-100} ;;
  uuid) value=GPU-secret ;;
  serial) value=[N/A] ;;
  clocks.mem) value='[Not Supported]' ;;
  *) value=[N/A] ;;
  esac
  out="$out${out:+, }$value"
done
echo "$out"
"""
NOTHING = Shell(environ={"PATH": "/nowhere"})


@pytest.fixture
def smi(tmp_path: Path) -> dict[str, str]:
    """An environment in which nvidia-smi is found."""
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(SMI, encoding="ascii")
    program.chmod(0o755)
    return {"PATH": str(program.parent)}


def put(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


class TestServer:
    def test_facts_and_raw_text(self, smi: dict[str, str], tmp_path: Path) -> None:
        host = ask_host(Shell(environ=smi), root=str(tmp_path))
        (gpu,) = host.facts["gpus"]
        assert gpu["name"] == "NVIDIA GeForce RTX 4080 SUPER"
        assert (gpu["driver"], gpu["sm_clock_mhz"], gpu["max_sm_clock_mhz"]) == ("595.71", 210.0, 3165.0)
        assert gpu["memory_clock_mhz"] is None, "not supported is unknown, not zero"
        assert gpu["throttle_reasons"] == [], "idle is no throttling"
        assert gpu["throttle_counters_us"]["sw_power_cap"] == 100.0
        assert host.facts["jetson"] is None
        assert "RTX 4080 SUPER" in host.probes["nvidia-smi"]["raw"]
        assert host.probes["nvidia-smi"]["exit_code"] == 0

    def test_an_old_driver_refuses_a_field(self, smi: dict[str, str], tmp_path: Path) -> None:
        host = ask_host(Shell(environ={**smi, "OLD_DRIVER": "1"}), root=str(tmp_path))
        (gpu,) = host.facts["gpus"]
        assert (gpu["driver"], gpu["temperature_c"], gpu["throttle_counters_us"]) == ("595.71", 43.0, {})
        assert "not a valid field" in host.probes["nvidia-smi"]["raw"]

    def test_throttled_meanwhile(
        self, bench: Bench, smi: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PATH", f"{smi['PATH']}:{os.environ['PATH']}")
        monkeypatch.setenv("REASONS", "0x0000000000000020")
        result = bench.capture()
        assert result.passed
        assert "the GPU was throttled: software thermal" in result.remarks
        manifest = json.loads((bench.outdir / "net.capture.json").read_text(encoding="utf-8"))
        assert manifest["host"]["after"]["gpus"][0]["throttle_reasons"] == ["software thermal"]
        assert "the GPU was throttled: software thermal" in manifest["remarks"]


def jetson(root: Path, *, l4t: str, model: str, soc: str, low: int, high: int, node: str | None) -> None:
    release, revision = l4t.split(".", 1)
    line = f"# R{release} (release), REVISION: {revision}, GCID: 42132812, BOARD: generic, EABI: aarch64\n"
    put(root, "etc/nv_tegra_release", line)
    put(root, "proc/device-tree/model", f"{model}\0")
    put(root, "proc/device-tree/compatible", f"nvidia,p3768-0000+p3767-0005\0nvidia,{soc}\0")
    directory = "sys/class/devfreq/" + ("17000000.gpu" if node else "gpu-gpc-0")
    if node:
        put(root, f"{directory}/device/of_node/name", f"{node}\0")
    for name, value in (
        ("min_freq", low),
        ("max_freq", high),
        ("cur_freq", low),
        ("governor", "nvhost_podgov"),
    ):
        put(root, f"{directory}/{name}", f"{value}\n")
    put(root, "sys/class/devfreq/other/min_freq", "1\n")
    put(root, "sys/class/thermal/thermal_zone0/type", "gpu-thermal\n")
    put(root, "sys/class/thermal/thermal_zone0/temp", "48500\n")
    put(root, "sys/class/thermal/thermal_zone1/type", "cv0-thermal\n")
    put(root, "sys/class/thermal/thermal_zone1/temp", "-256000\n")
    put(root, "sys/class/hwmon/hwmon3/name", "soctherm_oc\n")
    put(root, "sys/class/hwmon/hwmon3/oc3_event_cnt", "5\n")
    put(
        root,
        "proc/meminfo",
        "MemTotal: 7800000 kB\nMemFree: 1 kB\nMemAvailable: 5000000 kB\nSwapFree: 3 kB\n",
    )
    program = root / "usr/sbin/nvpmodel"
    put(
        root,
        "usr/sbin/nvpmodel",
        "#!/bin/sh\necho 'NVPM WARN: fan mode is not set!'\necho 'NV Power Mode: 25W'\necho 1\n",
    )
    program.chmod(0o755)


class TestJetson:
    def test_orin(self, tmp_path: Path) -> None:
        model = "NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super"
        jetson(tmp_path, l4t="36.4.7", model=model, soc="tegra234", low=306000000, high=624750000, node="gpu")
        host = ask_host(NOTHING, root=str(tmp_path))
        assert host.facts["jetson"] == {
            "l4t": "36.4.7",
            "model": model,
            "soc": "tegra234",
            "power_mode": "25W",
        }
        assert host.facts["gpu_clock"]["locked"] is False
        assert host.facts["temperatures_c"] == {"gpu-thermal": 48.5}, "a gated zone is missing, not cold"
        assert host.facts["memory"]["available_kib"] == 5_000_000
        assert host.facts["over_current_events"] == {"oc3_event_cnt": 5}
        assert "NVPM WARN" in host.probes["nvpmodel"]["raw"]
