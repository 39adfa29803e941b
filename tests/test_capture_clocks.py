"""Locked clocks: requested from the driver, accepted only if it confirms, and released in every case."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fake_trtexec.kit import Bench, fifo, wait_for, wait_for_end

SMI = """\
#!/bin/sh
# Writes down what it is told, and answers as the real one: 0 and `All done.` even where it did nothing.
case "$*" in
*--query-gpu=clocks.max.sm*) echo 2100; exit 0 ;;
*--query-gpu=clocks.max.mem*) echo 9501; exit 0 ;;
*--query-gpu=power.limit*) [ "$SMI_MODE" = unknown ] && echo "[N/A]" || echo 300.00; exit 0 ;;
*--query-gpu=*) exit 2 ;;
-L)
  echo 'GPU 0: NVIDIA A100 (UUID: GPU-a1)'; echo '  MIG 1g.5gb Device 0: (UUID: MIG-aa-11)'
  echo 'GPU 1: NVIDIA A100 (UUID: GPU-b2)'; echo '  MIG 2g.10gb Device 0: (UUID: MIG-bb-22)'; exit 0 ;;
esac
echo "$*" >> "$SMI_CALLS"
case "$*" in
*-rmc*) echo "All done."; echo "Memory clocks reset for GPU 00000000:01:00.0"; exit 0 ;;
*-lmc*) echo 'Memory clocks set to "(memClkMin 9501, memClkMax 9501)" for GPU 00000000:01:00.0'; echo "All done."; exit 0 ;;
*-pl*)
  if [ "$SMI_MODE" = refused ]; then
    echo 'Changing power management limit is not permitted for GPU: 00000000:01:00.0'; exit 4; fi
  echo "Power limit for GPU 00000000:01:00.0 was set to $4.00 W from 300.00 W."; echo "All done."; exit 0 ;;
*-rgc*)
  echo "All done."; echo "GPU clocks reset for GPU 00000000:01:00.0"
  if [ -n "$SMI_FIFO" ]; then echo "freed 1" > "$SMI_FIFO"; fi
  exit 0 ;;
esac
case "$SMI_MODE" in
refused) echo 'The current user does not have permission to change clocks for GPU 00000000:01:00.0.'; exit 4 ;;
unsupported)
  echo 'Setting locked GPU clocks is not supported for GPU 00000000:05:00.0.'
  echo 'Treating as warning and moving on.'; echo 'All done.'; exit 0 ;;
*) echo 'GPU clocks set to "(gpuClkMin 2100, gpuClkMax 2100)" for GPU 00000000:01:00.0'; echo 'All done.' ;;
esac
"""
LOCK, FREE = "-i 0 -lgc 2100,2100", "-i 0 -rgc"


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for nvidia-smi on PATH; the file that gets its calls."""
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(SMI, encoding="ascii")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("SMI_CALLS", str(tmp_path / "smi-calls"))
    for variable in ("SMI_MODE", "SMI_FIFO", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path / "smi-calls"


def told(calls: Path) -> list[str]:
    return calls.read_text(encoding="ascii").splitlines() if calls.exists() else []


ALL = ["-i 0 -pl 200", "-i 0 -lmc 9501,9501", LOCK, FREE, "-i 0 -rmc", "-i 0 -pl 300"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_all_are_restored_when_we_are_ended(bench: Bench, smi: Path, number: signal.Signals) -> None:
    from remote_kit import descendants

    hangs = fifo(bench.place / "hangs")
    command = [
        sys.executable,
        "-m",
        "trex_tui",
        "capture",
        "--onnx",
        str(bench.model),
        "--lock-clocks",
        "--memory-clock",
    ]
    process = subprocess.Popen(
        [
            *command,
            "--power-limit",
            "200",
            "--trtexec",
            str(bench.programs("10.4.0").path),
            "--outdir",
            str(bench.outdir),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "FAKE_TRTEXEC_FAIL": "hang@profile", "FAKE_TRTEXEC_FIFO": str(hangs)},
    )
    wait_for(hangs)
    holders = descendants(process.pid)
    process.send_signal(number)
    process.wait(150)
    for pid in holders:
        wait_for_end(pid)
    assert sorted(told(smi)) == sorted(ALL)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_freed_when_we_are_ended(
    bench: Bench, smi: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """After SIGKILL nothing of ours runs any more: the second process frees the clocks."""
    hangs, freed = fifo(bench.place / "hangs"), fifo(bench.place / "freed")
    monkeypatch.setenv("SMI_FIFO", str(freed))
    command = [sys.executable, "-m", "trex_tui", "capture", "--onnx", str(bench.model), "--lock-clocks"]
    process = subprocess.Popen(
        [*command, "--trtexec", str(bench.programs("10.4.0").path), "--outdir", str(bench.outdir)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "FAKE_TRTEXEC_FAIL": "hang@profile", "FAKE_TRTEXEC_FIFO": str(hangs)},
    )
    pid = wait_for(hangs)
    assert told(smi) == [LOCK]
    process.send_signal(number)
    assert wait_for(freed) == 1
    process.wait(150)
    assert told(smi) == [LOCK, FREE]
    wait_for_end(pid)
