"""Samples of power and clocks while trtexec measures: by a process of its own, which never outlives the run."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from capture_bench import Bench
from fake_trtexec.kit import wait_for_end
from trex_tui.analysis.energy import power_facts, power_table
from trex_tui.api import load_engine
from trex_tui.capture.monitor import RunMonitor
from trex_tui.capture.shell import Shell
from trex_tui.capture.verdict import RunProgress

SMI = """\
#!/bin/sh
# As nvidia-smi of a driver that has an old field or two: it refuses a whole query with a field it does not know.
case "$*" in *power.draw.instant*) echo 'Field "power.draw.instant" is not a valid field to query.'; exit 2 ;; esac
case "$*" in *-lms*) echo $$ >"$MARKS/pid" ;; *-i*) ;; *) exit 1 ;; esac
printf %s 'timestamp, temperature.gpu, clocks.current.sm [MHz], clocks.current.memory [MHz], utilization.gpu [%], '
echo 'memory.used [MiB], power.draw [W], clocks_event_reasons.active'
case "$*" in *-lms*) ;; *) exit 0 ;; esac
n=0
while :; do
  n=$((n + 1))
  echo '2024/11/02 10:21:30.100, 61, 1980 MHz, 2619 MHz, 97 %, 913 MiB, 131.90 W, 0x0000000000000004'
  [ "$n" -lt 5 ] || : >"$MARKS/five"
  sleep 0.02
done
"""
TEGRASTATS = """\
#!/bin/sh
[ "$1" = --interval ] || exit 1
while :; do
  echo 'RAM 2028/7620MB (lfb 42x4MB) GR3D_FREQ 92%@[621] gpu@44.812C VDD_IN 15504mW/14946mW VDD_SOC 2092mW/2054mW'
  sleep 0.02
done
"""


def install(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="ascii")
    path.chmod(0o755)
    return path


def until(is_so: Callable[[], bool]) -> None:
    """Block until something is so."""
    end = time.monotonic() + 150
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory first on PATH."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("MARKS", str(tmp_path))
    return folder


def sample(tmp_path: Path, count: int = 3) -> tuple[RunMonitor, list[dict[str, str]]]:
    """Take some samples while trtexec measures."""
    target = tmp_path / "net.monitor.csv"
    monitor = RunMonitor(Shell(), "0", 50, target)
    with monitor:
        until(lambda: monitor.samples > 0)
        monitor.note_stage(RunProgress(stage="measuring"))
        before = monitor.samples
        until(lambda: monitor.samples >= before + count)
    with target.open(encoding="utf-8", newline="") as file:
        return monitor, list(csv.DictReader(file))


class TestSources:
    def test_tegrastats_comes_first(self, tmp_path: Path, tools: Path) -> None:
        """A Jetson has an nvidia-smi as well, which knows no power."""
        install(tools, "nvidia-smi", SMI)
        install(tools, "tegrastats", TEGRASTATS)
        monitor, rows = sample(tmp_path)
        assert monitor.source == "tegrastats"
        assert rows[-1]["power_w"] == rows[-1]["rail.VDD_IN_w"] == "15.504"
        assert rows[-1]["rail.VDD_SOC_w"] == "2.092"
        assert rows[-1]["throttle_reasons"] == ""

    def test_no_sample_is_taken_when_we_are_killed(self, tmp_path: Path, tools: Path) -> None:
        install(tools, "nvidia-smi", SMI)
        script = (
            "from pathlib import Path; from trex_tui.capture.monitor import *; import time\n"
            f"m = RunMonitor(Shell(), '0', 50, Path({str(tmp_path / 'o.csv')!r})).__enter__()\n"
            "time.sleep(600)"
        )
        process = subprocess.Popen([sys.executable, "-c", script])
        until((tmp_path / "five").exists)
        process.send_signal(signal.SIGKILL)
        process.wait()
        wait_for_end(int((tmp_path / "pid").read_text()))


class TestCapture:
    def test_a_set_with_energy(
        self, bench: Bench, tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        install(tools, "nvidia-smi", SMI)
        go = tmp_path / "go"
        monkeypatch.setenv("FAKE_TRTEXEC_GO", str(go))

        def release(progress: RunProgress) -> None:
            """End the measurement when a sample behind the warm-up is written down."""
            rows = [
                row for path in tmp_path.rglob("net.monitor.csv") for row in path.read_text().splitlines()
            ]
            cells = [row.split(",") for row in rows if ",measuring," in row]
            if progress.stage == "measuring" and any(float(row[3]) > 0.3 for row in cells):
                go.touch()

        bench.notes.on_progress = release
        result = bench.capture(monitor_ms=50)
        assert result.passed
        assert not result.remarks
        assert "net.monitor.csv" in bench.names()
        engine = load_engine(bench.outdir)
        power = power_facts(engine)
        assert power is not None
        assert power.scope == "measurement"
        assert 0 < power.samples <= power.all_samples
        assert power.power_mean_w == pytest.approx(131.9)
        assert power.energy_per_inference_j == pytest.approx(131.9 / 2012.22)
        assert power.throttled_samples == power.samples
        assert power_table(engine).loc["gpu_clock_mhz", "mean"] == 1980
        manifest = json.loads((bench.outdir / "net.capture.json").read_text(encoding="utf-8"))
        assert "net.monitor.csv" in manifest["files"]
        build, profile = manifest["runs"]
        assert "monitor" not in build
        assert profile["monitor"]["source"] == "nvidia-smi"
        assert profile["monitor"]["interval_ms"] == 50
        assert profile["monitor"]["samples"] == power.all_samples
        assert any(
            line.startswith("note ") and "samples of power and clocks by nvidia-smi" in line
            for line in bench.notes.lines
        )
