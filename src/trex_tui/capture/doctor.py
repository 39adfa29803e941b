"""Check what a capture can do on a machine and how far its numbers can be trusted, with a remedy per problem.

Pure: judges the results of `machine` and `trtexec`, so it works for other machines too. Combinations reported as known bad
were observed on real machines; release numbers come from NVIDIA.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from trex_tui.buildlog.failures import recognise
from trex_tui.capture.trtexec import Trtexec
from trex_tui.text import format_bytes, plural

JOIN_GROUPS = (
    'sudo usermod -aG video,render "$USER", then log in again; in a container: --runtime nvidia, or '
    "--group-add video"
)
_NVIDIA_SMI = (
    (
        "Driver/library version mismatch",
        "the driver was updated, but the old kernel module is loaded: reboot (trtexec fails until then)",
    ),
    (
        "couldn't communicate with the NVIDIA driver",
        "the kernel module is not loaded: after a kernel update rebuild it (dkms autoinstall), with secure boot sign "
        "it, then sudo modprobe nvidia",
    ),
    (
        "Failed to initialize NVML: Unknown Error",
        "a container loses its devices when systemd reloads: restart it",
    ),
    (
        "No devices were found",
        "the driver sees no GPU: check `lspci | grep -i nvidia`, and the GPUs given to the container",
    ),
    ("NvRmMemInitNvmap failed with No such file", "no /dev/nvmap: in a container use --runtime nvidia"),
    ("NvRmMemInitNvmap failed", JOIN_GROUPS),
)
"""What nvidia-smi prints -> what to do."""
_START = (
    (
        "libnvdla_compiler",
        "install the package nvidia-l4t-dla-compiler of this L4T and run sudo ldconfig; in a container use "
        "--runtime nvidia",
    ),
    ("LD_LIBRARY_PATH", "set LD_LIBRARY_PATH; a .bashrc that sets it is not read by `ssh host command`"),
)
"""Why a trtexec does not start -> what to do."""
OK, NOTE, WARNING, ERROR = "ok", "note", "warning", "error"
"""Levels. An error prevents a capture or its measurement; a warning: it may fail, or its numbers are doubtful."""
ALL, BUILD_ONLY, NOTHING = "all", "build only", "nothing"
"""What can run on a machine."""
_LEAST_DISK_BYTES = 256 << 20
_AMPLE_DISK_BYTES = 4 << 30
_LEAST_MEMORY_KIB = 1 << 20
_HOT = ("hardware slowdown", "software thermal", "hardware thermal", "power brake")
_ORIN = "tegra234"
_WITHOUT_DLA = ("tegra210", "tegra186", "tegra264")
"""Nano, TX2, Thor. Orin Nano has no DLA either, though its chip has one."""
_NEEDED_TO_MEASURE = frozenset(("GPU", "devices"))
"""Subjects without which TensorRT-RTX still builds."""


class Check(NamedTuple):
    """One line of the result.

    Attributes:
        name: Subject of the check.
        status: `ok`, `note`, `warning` or `error`.
        found: The observed state.
        remedy: What to do; empty if nothing is needed.
    """

    name: str
    status: str
    found: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Findings:
    """Input of the checks.

    Attributes:
        trtexec: What a capture would use, or None.
        refusal: Why there is nothing.
        facts: State of the machine, with its environment and its probes.
    """

    trtexec: Trtexec | None
    refusal: str
    facts: Mapping[str, Any]


def examine(findings: Findings) -> list[Check]:
    """Return all checks, in the order in which a capture needs their subjects."""
    checks = [*_check_trtexec(findings), *_check_gpus(findings.facts), *_check_devices(findings.facts)]
    checks += (_check_jetson if findings.facts.get("jetson") else _check_clocks)(findings.facts)
    checks += [*_check_memory(findings.facts), *_check_disk(findings.facts["disk"])]
    if kind := findings.facts.get("container"):
        checks.append(
            Check("container", NOTE, f"inside of {kind}", "check power mode and other programs on the host")
        )
    return [*checks, *_check_board(findings)]


def conclude(findings: Findings, checks: Sequence[Check], where: str = "here") -> tuple[str, str]:
    """Return what can run, `ALL`, `BUILD_ONLY` or `NOTHING`, and the last line of the result.

    TensorRT-RTX builds without a GPU and a driver.

    Args:
        where: `here` or `on jetson`.
    """
    errors = dict.fromkeys(re.sub(r" \d+$", "", check.name) for check in checks if check.status == ERROR)
    if not errors:
        warnings = sum(check.status == WARNING for check in checks)
        more = f", with {plural(warnings, 'warning')}" if warnings else ""
        return ALL, f"capture can build and measure {where}{more}"
    can_build = findings.trtexec is not None and findings.trtexec.is_rtx and findings.trtexec.is_python
    if can_build and errors.keys() <= _NEEDED_TO_MEASURE:
        return BUILD_ONLY, f"capture can build {where}, but not measure: {', '.join(errors)}"
    return NOTHING, f"capture cannot run {where}: {', '.join(errors)}"


def _check_trtexec(findings: Findings) -> Iterator[Check]:
    program = findings.trtexec
    if program is None:
        remedy = (
            "Debian and Jetson: sudo apt install libnvinfer-bin (installs to /usr/src/tensorrt/bin); elsewhere unpack "
            "TensorRT's tar file, or pip install tensorrt; to build for RTX GPUs without one, install trex-tui with its "
            "extra rtx"
        )
        message, _, _ = findings.refusal.partition("; name it with ")
        if known := _find_remedy(_START, findings.refusal):
            remedy = known
        elif failure := recognise([findings.refusal]):
            remedy = failure.remedy("capture")
        yield Check("trtexec", ERROR, message, remedy)
    else:
        build = "" if program.build is None else f" build {program.build}"
        yield Check("trtexec", OK, f"{program.product}{build}: {program.path} (by {program.found_by})")


def _check_gpus(facts: Mapping[str, Any]) -> Iterator[Check]:
    gpus = facts.get("gpus") or []
    if facts.get("jetson"):
        # nvidia-smi on Orin reports only name and driver, older Jetsons have none: the board model supplies the rest.
        version = gpus[0].get("driver") if gpus else None
        yield Check("driver", OK, f"of the board's L4T{f', {version}' if version else ''}")
        return
    if not gpus:
        yield _check_absent_gpu(facts)
        return
    for index, gpu in enumerate(gpus):
        yield from _check_gpu(gpu, f"GPU {index}" if len(gpus) > 1 else "GPU")
    drivers = sorted({gpu.get("driver") or "unknown" for gpu in gpus})
    yield Check("driver", OK, ", ".join(drivers))


def _check_gpu(gpu: Mapping[str, Any], name: str) -> Iterator[Check]:
    parts = [gpu.get("name") or "without a name"]
    if gpu.get("compute_capability"):
        parts.append(f"compute capability {gpu['compute_capability']}")
    if gpu.get("sm_clock_mhz") is not None and gpu.get("max_sm_clock_mhz") is not None:
        parts.append(f"{gpu['sm_clock_mhz']:.0f} of {gpu['max_sm_clock_mhz']:.0f} MHz")
    if gpu.get("temperature_c") is not None:
        parts.append(f"{gpu['temperature_c']:.0f} °C")
    if gpu.get("memory_total_mib") is not None:
        used, total = gpu.get("memory_used_mib"), gpu["memory_total_mib"] * (1 << 20)
        free = "" if used is None else f", {format_bytes(used * (1 << 20))} used"
        parts.append(f"{format_bytes(total)}{free}")
    yield Check(name, OK, ", ".join(parts))
    if hot := [reason for reason in gpu.get("throttle_reasons") or [] if reason in _HOT]:
        remedy = "let it cool; check airflow and power supply"
        yield Check(name, WARNING, f"throttled right now: {', '.join(hot)}", remedy)


def _check_absent_gpu(facts: Mapping[str, Any]) -> Check:
    probes = facts["probes"]
    raw = "\n".join(str(probe["raw"]) for name, probe in probes.items() if name.startswith("nvidia-smi"))
    if facts["has_nvidia_smi"]:
        first = (raw.strip().splitlines() or ["no output"])[0][:200]
        return Check(
            "GPU",
            ERROR,
            f"nvidia-smi lists none: {first}",
            _find_remedy(_NVIDIA_SMI, raw) or "run nvidia-smi by hand",
        )
    if facts["devices"]:
        nodes = ", ".join(facts["devices"])
        return Check(
            "GPU",
            WARNING,
            f"{nodes} found, but no nvidia-smi: driver, clocks and throttling unknown",
            "put nvidia-smi on PATH (WSL 2: /usr/lib/wsl/lib); in a container: NVIDIA_DRIVER_CAPABILITIES=all",
        )
    remedy = "install NVIDIA's driver; in a container: docker run --gpus all; or capture on the machine that has the GPU"
    return Check("GPU", ERROR, "no NVIDIA GPU: no nvidia-smi, no /dev/nvidia0, no Jetson", remedy)


def _check_devices(facts: Mapping[str, Any]) -> Iterator[Check]:
    devices = facts["devices"]
    if closed := [name for name, may_open in devices.items() if not may_open]:
        remedy = JOIN_GROUPS if "/dev/nvmap" in closed else "check its owner and group: ls -l /dev/nvidia*"
        yield Check("devices", ERROR, f"{', '.join(closed)} cannot be opened by this user", remedy)
    elif facts.get("jetson") and "/dev/nvmap" not in devices:
        yield Check(
            "devices",
            ERROR,
            "a Jetson without /dev/nvmap: CUDA cannot start",
            "in a container use --runtime nvidia; otherwise the kernel does not match this L4T",
        )


def _check_jetson(facts: Mapping[str, Any]) -> Iterator[Check]:
    board = facts["jetson"]
    soc = f" ({board['soc']})" if board.get("soc") else ""
    release = f"L4T {board['l4t']}" if board.get("l4t") else "L4T unknown: no /etc/nv_tegra_release"
    yield Check("Jetson", OK, f"{board.get('model') or 'model unknown'}{soc}, {release}")
    mode = board.get("power_mode")
    change = "sudo nvpmodel -p --verbose lists the modes, sudo nvpmodel -m N sets one (may reboot; capture never does it)"
    if mode is None:
        why = "nvpmodel does not state it" if "nvpmodel" in facts["probes"] else "no nvpmodel"
        yield Check(
            "nvpmodel", WARNING, f"power mode unknown: {why}", "in a container mount /usr/sbin/nvpmodel"
        )
    else:
        fastest = mode.startswith("MAXN")
        yield Check("nvpmodel", OK if fastest else NOTE, f"power mode {mode}", "" if fastest else change)
    yield _check_board_clock(facts.get("gpu_clock") or {})


def _check_board_clock(clock: Mapping[str, Any]) -> Check:
    name = "jetson_clocks"
    if clock.get("locked") is None:
        return Check(name, WARNING, "unknown whether the GPU clock is locked", "sudo jetson_clocks --show")
    at_most = clock["max_hz"] / 1e6
    if clock["locked"]:
        return Check(name, OK, f"GPU clock locked at {at_most:.0f} MHz")
    text = f"GPU clock not locked, {clock['min_hz'] / 1e6:.0f} to {at_most:.0f} MHz"
    if clock.get("governor"):
        text += f" ({clock['governor']})"
    return Check(name, WARNING, text, "sudo jetson_clocks, after choosing the power mode; lasts until reboot")


def _check_clocks(facts: Mapping[str, Any]) -> Iterator[Check]:
    gpus = facts.get("gpus") or []
    if not gpus:
        return
    may = facts["may_lock_clocks"]
    if may is None:
        yield Check(
            "clocks", NOTE, "unknown whether this user can lock them", "capture --lock-clocks tries to"
        )
    elif may:
        yield Check(
            "clocks", OK, "this user can lock them", "capture --lock-clocks max, for repeatable numbers"
        )
    else:
        by_hand = "sudo nvidia-smi -lgc MHZ,MHZ before, sudo nvidia-smi -rgc afterwards"
        inside = "; a container needs --cap-add SYS_ADMIN" if facts.get("container") else ""
        yield Check("clocks", NOTE, "this user cannot lock them (no CAP_SYS_ADMIN)", by_hand + inside)
    if any((gpu.get("persistence_mode") or "").lower() == "disabled" for gpu in gpus):
        text = "persistence mode is off: a lock may vanish when the last program ends"
        yield Check("clocks", NOTE, text, "sudo nvidia-smi -pm 1")


def _check_memory(facts: Mapping[str, Any]) -> Iterator[Check]:
    memory = facts.get("memory") or {}
    total, available, swap = (memory.get(f"{name}_kib") for name in ("total", "available", "swap_free"))
    if total is None or available is None:
        return
    text = f"{format_bytes(available * 1024)} of {format_bytes(total * 1024)} available"
    is_board = bool(facts.get("jetson"))
    remedies = ["close other programs"]
    if is_board:
        remedies.append("stop the desktop, if there is one: sudo systemctl isolate multi-user.target")
    if is_board and swap == 0:
        text += ", no swap"
        remedies.append("add swap on disk: without it the kernel kills trtexec in large builds")
    scarce = available < (2 * _LEAST_MEMORY_KIB if is_board else _LEAST_MEMORY_KIB)
    if scarce or (is_board and swap == 0 and total < 5 << 20):
        why = "; shared with the GPU, and a builder short of memory skips fast tactics" if is_board else ""
        yield Check("memory", WARNING, text + why, "; ".join(remedies))
    else:
        yield Check("memory", OK, text)


def _check_disk(disk: Mapping[str, Any]) -> Iterator[Check]:
    choose = "set TMPDIR for commands over ssh there" if disk["is_temporary"] else "choose another --outdir"
    if not disk["is_directory"]:
        yield Check("disk", ERROR, f"{disk['existing']} is not a directory", choose)
    elif not disk["is_writable"]:
        yield Check("disk", ERROR, f"no write permission in {disk['existing']}", choose)
    elif disk["free_bytes"] is None:
        yield Check("disk", NOTE, f"free space unknown in {disk['wanted']}")
    else:
        text = f"{format_bytes(disk['free_bytes'])} free for {disk['wanted']}"
        remedy = f"an engine with its logs may take gigabytes: make room, or {choose}"
        if disk["free_bytes"] >= _AMPLE_DISK_BYTES:
            yield Check("disk", OK, text)
        else:
            yield Check("disk", ERROR if disk["free_bytes"] < _LEAST_DISK_BYTES else WARNING, text, remedy)


def _check_board(findings: Findings) -> Iterator[Check]:
    board, program = findings.facts.get("jetson") or {}, findings.trtexec
    if board.get("l4t") == "36.4.7":  # above 3 GiB only; fixed in 36.5 (issue 5602402 of its release notes)
        yield Check(
            "known bad",
            WARNING,
            "L4T 36.4.7: large allocations fail despite free memory (NvMapMemAllocInternalTagged … error 12)",
            "upgrade to L4T 36.5 (JetPack 6.2.2) or later",
        )
    # TensorRT 10.13 in JetPack 7.0 and 7.1 supports Thor only.
    numbers = program.numbers if program else None
    if program and board.get("soc") == _ORIN and (numbers or ())[:2] == (10, 13):
        yield Check(
            "known bad",
            ERROR,
            f"{program.product} on an Orin: this release does not support its GPU (sm_87)",
            "use the TensorRT 10.16 of JetPack 7.2",
        )
    if board.get("soc") in _WITHOUT_DLA or "Orin Nano" in (board.get("model") or ""):
        yield Check("DLA", NOTE, "this module has none", "capture without --dla")


def _find_remedy(table: Iterable[tuple[str, str]], text: str) -> str:
    return next((remedy for part, remedy in table if part in text), "")
