"""Samples of power and clocks beside a set, as trex-tui and others write them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from helpers import write_sample_set

HEADER = (
    "utc,run_s,stage,stage_s,source,power_w,gpu_temperature_c,gpu_clock_mhz,memory_clock_mhz,gpu_utilization_pct,"
    "memory_used_mib,throttle_reasons"
)
STAMPED = "11-02-2024 10:21:{second:02d} RAM 2028/7620MB (lfb 42x4MB) CPU [1%@729,off] EMC_FREQ 3%@665 "
BOARD = "GR3D_FREQ {load}%@[1300] cpu@42C gpu@{degrees}C VDD_IN {milliwatts}mW/100mW VDD_SOC 500mW/100mW"


def monitor_row(
    run_s: float,
    stage: str,
    stage_s: float,
    watts: float,
    degrees: float = 50,
    mhz: float = 1300,
    reasons: str = "none",
) -> str:
    """A row of `NAME.monitor.csv`."""
    return f"2024-11-02T10:21:00.000Z,{run_s},{stage},{stage_s},nvidia-smi,{watts},{degrees},{mhz},2619,97,913,{reasons}"


def monitor_csv(watts: Sequence[float] = (100.0, 120.0, 110.0, 130.0), reasons: Sequence[str] = ()) -> str:
    """The file of a run: two samples before the measurement, one in the warm-up, these behind it, one while layers are
    profiled."""
    rows = [
        monitor_row(0.1, "loading the engine", 0.1, 40.0, 40, 300),
        monitor_row(0.6, "loading the engine", 0.6, 41.0, 40, 300),
        monitor_row(1.1, "measuring", 0.1, 60.0, 45, 900),
    ]
    for place, power in enumerate(watts):
        reason = reasons[place] if place < len(reasons) else "none"
        moment = 0.2 + 0.001 * place
        rows.append(monitor_row(1.0 + moment, "measuring", moment, power, 50 + place, 1300 - place, reason))
    rows.append(monitor_row(9.0, "profiling layers", 1.0, 500.0, 60, 1000, "power cap"))
    return "\n".join([HEADER, *rows]) + "\n"


def write_power_set(
    folder: Path, watts: Sequence[float] = (100.0, 120.0, 110.0, 130.0), reasons: Sequence[str] = ()
) -> Path:
    """The small set of `helpers`, with samples beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    write_sample_set(folder)
    (folder / "net.monitor.csv").write_text(monitor_csv(watts, reasons), encoding="utf-8")
    return folder


def tegrastats_line(
    second: int, watts: float, load: int = 99, degrees: float = 50.0, *, is_stamped: bool = True
) -> str:
    """A line of JetPack 6 or 7; without a stamp, of JetPack 5."""
    text = STAMPED.format(second=second) if is_stamped else "RAM 2028/7620MB (lfb 42x4MB) EMC_FREQ 3%@665 "
    return text + BOARD.format(load=load, degrees=degrees, milliwatts=round(watts * 1000))


def profile_log(second: int, measured_s: float) -> str:
    """A log of trtexec that reports its measurement at this second of the minute."""
    stamp = f"[11/02/2024-10:21:{second:02d}] [I]"
    return (
        "&&&& RUNNING TensorRT.trtexec [TensorRT v100400] # trtexec --loadEngine=net.engine\n"
        f"[11/02/2024-10:21:05] [I] === Model Options ===\n[11/02/2024-10:21:05] [I] \n"
        f"{stamp} Starting inference\n{stamp} Timing trace has 1000 queries over {measured_s} s\n"
        "&&&& PASSED TensorRT.trtexec [TensorRT v100400] # trtexec --loadEngine=net.engine\n"
    )
