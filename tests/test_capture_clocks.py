"""Locked clocks: requested from the driver, accepted only if it confirms, and released in every case."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from capture_bench import Bench
from fake_trtexec.kit import fifo, wait_for, wait_for_end
from trex_tui.capture.clocks import choose_gpu
from trex_tui.errors import TrexError

SMI = """\
#!/bin/sh
# Writes down what it is told, and answers as the real one: 0 and `All done.` even where it did nothing.
case "$*" in
*--query-gpu=clocks.max.sm*) echo 2100; exit 0 ;;
*--query-gpu=*) exit 2 ;;
esac
echo "$*" >> "$SMI_CALLS"
case "$*" in
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


def test_locked_and_freed(bench: Bench, smi: Path) -> None:
    assert bench.capture(lock_clocks="max").passed
    assert told(smi) == [LOCK, FREE]
    assert "note GPU clocks locked to 2100 MHz" in bench.notes.lines
    text = (bench.outdir / "net.capture.json").read_text(encoding="utf-8")
    clocks = json.loads(text)["clocks"]
    assert [clocks[key] for key in ("asked", "target_mhz", "locked", "released")] == ["max", 2100, True, True]


@pytest.mark.parametrize(
    ("mode", "part"), [("refused", "does not have permission"), ("unsupported", "not supported")]
)
def test_what_the_driver_refuses(
    bench: Bench, smi: Path, monkeypatch: pytest.MonkeyPatch, mode: str, part: str
) -> None:
    """It is said, the capture goes on, and a lock that somebody else set is not taken away."""
    monkeypatch.setenv("SMI_MODE", mode)
    result = bench.capture(lock_clocks="max")
    assert result.passed
    assert told(smi) == [LOCK]
    (remark,) = result.remarks
    assert "NOT locked" in remark
    assert part in remark
    assert "sudo nvidia-smi -i 0 -lgc 2100,2100" in remark


@pytest.mark.parametrize(
    ("device", "count", "environ", "gpu"),
    [
        (None, 1, {}, "0"),
        (2, 4, {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, "2"),
        (1, 4, {"CUDA_VISIBLE_DEVICES": "GPU-a,GPU-b"}, "GPU-b"),
        (1, 4, {"CUDA_VISIBLE_DEVICES": "3,2", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, "2"),
        (None, 2, {}, None),
        (1, 2, {}, None),
    ],
)
def test_which_gpu(device: int | None, count: int, environ: dict[str, str], gpu: str | None) -> None:
    if gpu is None:
        with pytest.raises(TrexError, match="CUDA_DEVICE_ORDER"):
            choose_gpu(device, count, environ, "--lock-clocks")
    else:
        assert choose_gpu(device, count, environ, "--lock-clocks") == gpu


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
