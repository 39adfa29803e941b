"""The machine that measures: GPU, driver or L4T, power mode, clocks, temperatures, memory, container.

Everything is read as an ordinary user; nothing is changed. The text of each probe is kept beside what was understood of it,
because these formats drift. What names a person's machine (host name, UUID, serial) is asked for only on request.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trex_tui.artifacts import host_state
from trex_tui.artifacts.host_state import HostState, read_host_state
from trex_tui.capture.machine import chosen_gpus

_TIMEOUT_S = 10
_MOST_TEXT = 20_000
_ABSENT = frozenset(
    (
        *("", "N/A", "[N/A]", "None", "[Not Supported]", "[Insufficient Permissions]", "[Unknown Error]"),
        "[Requested functionality has been deprecated]",
    )
)
# One unknown field fails a whole query, so each group is asked for itself where all together fail.
_SMI_GROUPS = (
    ("index", "name", "driver_version"),
    ("pstate", "persistence_mode", "compute_cap"),
    ("clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem"),
    ("temperature.gpu", "power.draw", "power.limit", "utilization.gpu"),
    # The old name of `clocks_event_reasons.active`, which every driver still takes.
    ("clocks_throttle_reasons.active",),
    ("memory.total", "memory.used"),
    ("mig.mode.current",),
    (
        "clocks_event_reasons_counters.sw_power_cap",
        "clocks_event_reasons_counters.sw_thermal_slowdown",
        "clocks_event_reasons_counters.hw_thermal_slowdown",
        "clocks_event_reasons_counters.hw_power_brake_slowdown",
    ),
)
_SMI_IDS = ("uuid", "serial", "pci.bus_id")
_THROTTLES = (
    (0x4, "power cap"),
    (0x8, "hardware slowdown"),
    (0x20, "software thermal"),
    (0x40, "hardware thermal"),
    (0x80, "power brake"),
)
_GPU_NODES = frozenset(("gv11b", "gp10b", "ga10b", "gb10b", "gpu"))


@dataclass(slots=True)
class Host:
    """What was found at one moment, as it goes into the manifest.

    Attributes:
        facts: Understood values by name; None where a machine does not tell.
        probes: Name -> how it was asked, and the text that came.
        recording: Of another machine; None asks this one.
    """

    facts: dict[str, Any] = field(default_factory=dict)
    probes: dict[str, dict[str, Any]] = field(default_factory=dict)
    recording: Recording | None = None

    def program(self, name: str, path: str) -> str | None:
        """Where a program is, of those that `path` lists."""
        return shutil.which(name, path=path) if self.recording is None else self.recording.programs.get(name)

    @property
    def release(self) -> str:
        """Of the kernel."""
        return platform.release() if self.recording is None else self.recording.system.get("release", "")

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return {**self.facts, "probes": self.probes}


@dataclass(frozen=True, slots=True)
class Recording:
    """What a machine answered when it was asked, in place of asking.

    Attributes:
        system: `release`, `machine` and, on request, `node`, as uname has them.
        environment: The variables that choose GPUs.
        programs: Program -> its path, where it has one.
        answers: Last argument that tells what was asked (`--query-gpu=…`, `-q`) -> exit code, text.
    """

    system: Mapping[str, str]
    programs: Mapping[str, str]
    answers: Mapping[str, tuple[int, str]]
    environment: Mapping[str, str] = field(default_factory=dict)


def probe_host(
    *,
    with_ids: bool = False,
    environ: Mapping[str, str] = os.environ,
    root: Path = Path("/"),
    recording: Recording | None = None,
) -> Host:
    """Ask this machine; never raises, and never takes longer than a few seconds.

    Args:
        with_ids: Also what tells this machine from others of its kind.
        environ: Where PATH is read.
        root: What stands for `/`.
        recording: Of another machine, whose files lie in `root`.
    """
    host = Host(recording=recording)
    path = environ.get("PATH", os.defpath)
    parts: tuple[Callable[[], None], ...] = (
        lambda: _system(host, root, with_ids),
        lambda: _gpus(host, path, with_ids),
        lambda: host.facts.update(cuda=chosen_gpus(recording.environment if recording else environ)),
        lambda: _jetson(host, root, path),
        lambda: _clocks(host, root),
        lambda: _temperatures(host, root),
        lambda: _memory(host, root),
    )
    for part in parts:
        try:
            part()
        except (OSError, ValueError, IndexError) as error:
            host.probes.setdefault("errors", {"raw": ""})["raw"] += f"{error}\n"
    return host


def _system(host: Host, root: Path, with_ids: bool) -> None:
    system: Mapping[str, str] = {"machine": platform.machine(), "node": platform.node()}
    if host.recording is not None:
        system = host.recording.system
    host.facts["kernel"] = host.release or None
    host.facts["machine"] = system.get("machine") or None
    host.facts["container"] = _container(root)
    host.facts["host_name"] = (system.get("node") or None) if with_ids else None


def _container(root: Path) -> str | None:
    """`docker`, `podman`, …; None where nothing tells of a container."""
    if (root / ".dockerenv").exists():
        return "docker"
    if (root / "run/.containerenv").exists():
        return "podman"
    groups = read_text(root / "proc/1/cgroup") or ""
    match = re.search(r"(docker|kubepods|libpod|lxc|containerd)", groups)
    return match[1] if match else None


def _gpus(host: Host, path: str, with_ids: bool) -> None:
    host.facts["gpus"] = []
    program = host.program("nvidia-smi", path)
    if program is None:
        return
    fields = [name for group in _SMI_GROUPS for name in group] + (list(_SMI_IDS) if with_ids else [])
    rows = _smi(host, program, "nvidia-smi", fields)
    if rows is None:
        groups = [*_SMI_GROUPS, *([_SMI_IDS] if with_ids else [])]
        rows = []
        for number, group in enumerate(groups):
            part = _smi(host, program, f"nvidia-smi {number}", group) or []
            rows = [
                {**(rows[place] if place < len(rows) else {}), **more} for place, more in enumerate(part)
            ] or rows
    host.facts["gpus"] = [_gpu(row) for row in rows]


def smi_queries(*, with_ids: bool) -> list[str]:
    """What nvidia-smi may be asked: all fields at once, then the groups to ask one by one if that is refused."""
    groups = [*_SMI_GROUPS, *([_SMI_IDS] if with_ids else [])]
    fields = [name for group in groups for name in group]
    return [",".join(fields), *(",".join(one) for one in groups)]


def _smi(host: Host, program: str, key: str, fields: Any) -> list[dict[str, str | None]] | None:  # noqa: ANN401
    """One row per GPU; None if the query was refused."""
    argv = [program, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    code, text = ask(host, key, argv)
    if code not in (0, 14):  # 14: a damaged infoROM, with valid output
        return None
    rows: list[dict[str, str | None]] = []
    for line in text.splitlines():
        values = [one.strip() for one in line.split(",")]
        if len(values) == len(fields):
            rows.append(
                {
                    name: None if value in _ABSENT else value
                    for name, value in zip(fields, values, strict=True)
                }
            )
    return rows or None


def _gpu(row: Mapping[str, str | None]) -> dict[str, Any]:
    def number(name: str) -> float | None:
        try:
            return float(row.get(name) or "")
        except ValueError:
            return None

    mask = row.get("clocks_throttle_reasons.active")
    reasons = int(mask, 16) if mask and re.fullmatch(r"0x[0-9a-fA-F]+", mask) else None
    gpu: dict[str, Any] = {
        "name": row.get("name"),
        "driver": row.get("driver_version"),
        "compute_capability": row.get("compute_cap"),
        "pstate": row.get("pstate"),
        "persistence_mode": row.get("persistence_mode"),
        "mig_mode": row.get("mig.mode.current"),
        "sm_clock_mhz": number("clocks.sm"),
        "memory_clock_mhz": number("clocks.mem"),
        "max_sm_clock_mhz": number("clocks.max.sm"),
        "max_memory_clock_mhz": number("clocks.max.mem"),
        "temperature_c": number("temperature.gpu"),
        "power_w": number("power.draw"),
        "power_limit_w": number("power.limit"),
        "memory_total_mib": number("memory.total"),
        "memory_used_mib": number("memory.used"),
        "throttle_reasons": None if reasons is None else [name for bit, name in _THROTTLES if reasons & bit],
        "throttle_counters_us": {
            name.rpartition(".")[2]: number(name) for name in row if "reasons_counters" in name
        },
    }
    gpu.update({name: row[name] for name in _SMI_IDS if name in row})
    return gpu


def _jetson(host: Host, root: Path, path: str) -> None:
    release = read_probe(host, root, "etc/nv_tegra_release")
    compatible = (read_probe(host, root, "proc/device-tree/compatible") or "").replace("\0", " ")
    host.facts["jetson"] = None
    if release is None and "tegra" not in compatible and not host.release.endswith("-tegra"):
        return
    match = re.search(r"R(\d{1,9}) \(release\), REVISION: ([\d.]+)", release or "")
    soc = re.search(r"nvidia,(tegra\d+)", compatible)
    model = (read_probe(host, root, "proc/device-tree/model") or "").strip("\0\n ")
    host.facts["jetson"] = {
        "l4t": f"{match[1]}.{match[2]}" if match else None,
        "model": model or None,
        "soc": soc[1] if soc else None,
        "power_mode": _power_mode(host, root, path),
    }


def _power_mode(host: Host, root: Path, path: str) -> str | None:
    program = host.program("nvpmodel", f"{path}{os.pathsep}{root / 'usr/sbin'}")
    if program is None:
        return None
    _, text = ask(host, "nvpmodel", [program, "-q"])
    match = re.search(r"^NV Power Mode:\s*(\S+)", text, re.MULTILINE)
    return match[1] if match else None


def _clocks(host: Host, root: Path) -> None:
    """The GPU of a Jetson: locked if its least frequency is its greatest. Other drivers do not tell."""
    host.facts["gpu_clock"] = None
    base = root / "sys/class/devfreq"
    for directory in sorted(base.iterdir()) if base.is_dir() else []:
        node = (read_text(directory / "device/of_node/name") or "").strip("\0\n ")
        if node not in _GPU_NODES and not directory.name.startswith("gpu-gpc-"):
            continue
        names = ("cur_freq", "min_freq", "max_freq", "governor")
        texts = {name: (read_text(directory / name) or "").strip() for name in names}
        host.probes[f"devfreq {directory.name}"] = {"directory": str(directory), "raw": texts}
        numbers = {name: int(text) if text.isdecimal() else None for name, text in texts.items()}
        lowest, highest = numbers["min_freq"], numbers["max_freq"]
        host.facts["gpu_clock"] = {
            "current_hz": numbers["cur_freq"],
            "min_hz": lowest,
            "max_hz": highest,
            "governor": texts["governor"] or None,
            "locked": None if lowest is None or highest is None else lowest == highest,
        }
        return


def _temperatures(host: Host, root: Path) -> None:
    found: dict[str, float] = {}
    base = root / "sys/class/thermal"
    for zone in sorted(base.glob("thermal_zone*")) if base.is_dir() else []:
        kind, text = read_text(zone / "type"), read_text(zone / "temp")
        try:
            degrees = int(text or "") / 1000
        except ValueError:
            continue
        if kind and 0 < degrees < 200:  # a gated zone gives 0 or -256
            found[kind.strip()] = degrees
    host.facts["temperatures_c"] = found
    counts: dict[str, int] = {}
    for chip in sorted((root / "sys/class/hwmon").glob("hwmon*")):
        if (read_text(chip / "name") or "").strip() != "soctherm_oc":
            continue
        for counter in sorted(chip.glob("oc*_event_cnt")):
            text = (read_text(counter) or "").strip()
            if text.isdecimal():
                counts[counter.name] = int(text)
    host.facts["over_current_events"] = counts or None


def _memory(host: Host, root: Path) -> None:
    text = read_probe(host, root, "proc/meminfo") or ""
    found = {key: int(value) for key, value in re.findall(r"^(\w+):\s+(\d{1,18}) kB", text, re.MULTILINE)}
    names = {"total_kib": "MemTotal", "available_kib": "MemAvailable", "swap_free_kib": "SwapFree"}
    host.facts["memory"] = {name: found.get(key) for name, key in names.items()}
    if probe := host.probes.get("proc/meminfo"):
        probe["raw"] = "\n".join(probe["raw"].splitlines()[:5])


def read_text(path: Path) -> str | None:
    """The beginning of a file of the kernel; None if it cannot be read."""
    try:
        return path.read_bytes()[:_MOST_TEXT].decode("utf-8", errors="replace")
    except OSError:
        return None


def read_probe(host: Host, root: Path, name: str) -> str | None:
    """The same, kept beside what is made of it."""
    text = read_text(root / name)
    if text is not None:
        host.probes[name] = {"file": f"/{name}", "raw": text}
    return text


def ask(host: Host, key: str, argv: list[str]) -> tuple[int | None, str]:
    """Exit code and output of a program; 127 and why if it does not start."""
    if host.recording is not None:
        asked = next((one for one in argv[1:] if one in host.recording.answers), "")
        recorded, said = host.recording.answers.get(asked, (127, "not asked"))
        host.probes[key] = {"command": argv, "exit_code": recorded, "raw": said[:_MOST_TEXT]}
        return recorded, said[:_MOST_TEXT]
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_TIMEOUT_S,
            check=False,
            start_new_session=True,  # Ctrl-C is ours
        )
        code, text = done.returncode, done.stdout.decode("utf-8", errors="replace")[:_MOST_TEXT]
    except subprocess.TimeoutExpired:
        code, text = None, f"no answer within {_TIMEOUT_S} s"
    except OSError as error:
        code, text = 127, str(error)
    host.probes[key] = {"command": argv, "exit_code": code, "raw": text}
    return code, text


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What happened to the machine between two moments that makes numbers doubtful, in sentences."""
    old, new = read_host_state(before) or HostState(), read_host_state(after) or HostState()
    return [text for _, text in host_state.changes(old, new)]
