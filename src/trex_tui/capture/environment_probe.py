"""The machine that measures: GPU, driver or L4T, power mode, clocks, temperatures, memory, container; and for `doctor` what a
capture needs beside it: devices that may be opened, privileges, disk, packages.

Everything is read as an ordinary user; nothing is created, changed or locked. The text of each probe is kept beside what
was understood of it, because these formats drift. What names a person's machine (host name, UUID, serial) is asked for
only on request.

Of all this, some decides about the engine that is built there (`identify_machine`). An engine is of one kind of GPU. Where a
machine has several kinds, or slices of one (MIG), the variables that choose count too. On a Jetson the power mode counts
as well: it decides how many parts of the GPU are on and how fast they may run, and TensorRT takes a board in another mode
for another device.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trex_tui.artifacts import capture_manifest as host_state
from trex_tui.artifacts.capture_manifest import HostState, read_host_state

_NAMED = re.compile(r"\b(GPU|MIG)-([0-9A-Za-z/-]+)")
_BOARD = ("soc", "model", "l4t", "power_mode")


def chosen_gpus(environ: Mapping[str, str]) -> dict[str, str]:
    """How CUDA chooses and numbers GPUs, as it goes into the manifest.

    A UUID stands there as the beginning of its SHA-256, enough to see whether it is the same, too little to tell which.
    """
    visible = _NAMED.sub(
        lambda match: f"{match[1]}-#{hashlib.sha256(match[2].encode('utf-8', 'replace')).hexdigest()[:8]}",
        environ.get("CUDA_VISIBLE_DEVICES", ""),
    )
    return {"visible": visible, "order": environ.get("CUDA_DEVICE_ORDER", "")}


def identify_machine(host: Mapping[str, Any]) -> dict[str, Any]:
    """Of the facts of `probe_host`, those that decide about an engine; lenient, for they may come out of a file.

    Returns:
        `gpus`, the names in nvidia-smi's order; `chosen`, of `chosen_gpus`, None if it was not noted; `jetson`, None of
        another machine.
    """
    gpus, chosen, jetson = host.get("gpus"), host.get("cuda"), host.get("jetson")
    rows = gpus if isinstance(gpus, list) else []
    return {
        "gpus": [row.get("name") for row in rows if isinstance(row, Mapping) and row.get("name")],
        "chosen": dict(chosen) if isinstance(chosen, Mapping) else None,
        "jetson": {key: jetson.get(key) for key in _BOARD}
        if isinstance(jetson, Mapping) and jetson
        else None,
    }


def is_unknown(machine: Mapping[str, Any]) -> bool:
    """Whether nothing there tells what its GPU is."""
    return not machine.get("gpus") and not machine.get("jetson")


def machine_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Why an engine of one machine is none of another, each of `identify_machine`; the end of a sentence about the engine."""
    if is_unknown(then) != is_unknown(now):
        when = "built it" if is_unknown(then) else "is here now"
        yield f"it cannot be told which GPU {when} (nvidia-smi does not tell)"
        return
    board, this = then.get("jetson") or {}, now.get("jetson") or {}
    if bool(board) != bool(this) or any(board.get(key) != this.get(key) for key in ("soc", "model")):
        yield "it was built on another GPU"
        return
    for key, word in (("l4t", "on L4T"), ("power_mode", "in power mode")):
        if board.get(key) != this.get(key):
            yield f"it was built {word} {board.get(key) or 'unknown'}, this is {this.get(key) or 'unknown'}"
    if not this:
        yield from _other_gpus(then, now)


def _other_gpus(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    old, new = list(then.get("gpus") or []), list(now.get("gpus") or [])
    if set(old) != set(new):
        yield f"it was built on another GPU ({_names(old)}; this is {_names(new)})"
        return
    chosen, choose = then.get("chosen"), now.get("chosen")
    sliced = any("MIG-" in str((choice or {}).get("visible")) for choice in (chosen, choose))
    if (len(set(new)) > 1 and (old != new or chosen != choose)) or (sliced and chosen != choose):
        yield "it may have been built on another GPU (CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER or the GPUs have changed)"


def _names(gpus: list[Any]) -> str:
    return ", ".join(dict.fromkeys(str(gpu) for gpu in gpus)) or "unknown"


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
        return platform.release() if self.recording is None else self.recording.system.get("release", "")

    def document(self) -> dict[str, Any]:
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
                {**(rows[index] if index < len(rows) else {}), **more} for index, more in enumerate(part)
            ] or rows
    host.facts["gpus"] = [_gpu(row) for row in rows]


def smi_queries(*, with_ids: bool) -> list[str]:
    """What nvidia-smi may be asked: all fields at once, then the groups to ask one by one if that is refused."""
    groups = [*_SMI_GROUPS, *([_SMI_IDS] if with_ids else [])]
    fields = [name for group in groups for name in group]
    return [",".join(fields), *(",".join(group) for group in groups)]


def _smi(host: Host, program: str, key: str, fields: Any) -> list[dict[str, str | None]] | None:  # noqa: ANN401
    """One row per GPU; None if the query was refused."""
    argv = [program, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    code, text = ask(host, key, argv)
    if code not in (0, 14):  # 14: a damaged infoROM, with valid output
        return None
    rows: list[dict[str, str | None]] = []
    for line in text.splitlines():
        values = [part.strip() for part in line.split(",")]
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
    degrees_by_zone: dict[str, float] = {}
    base = root / "sys/class/thermal"
    for zone in sorted(base.glob("thermal_zone*")) if base.is_dir() else []:
        kind, text = read_text(zone / "type"), read_text(zone / "temp")
        try:
            degrees = int(text or "") / 1000
        except ValueError:
            continue
        if kind and 0 < degrees < 200:  # a gated zone gives 0 or -256
            degrees_by_zone[kind.strip()] = degrees
    host.facts["temperatures_c"] = degrees_by_zone
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
    values = {key: int(value) for key, value in re.findall(r"^(\w+):\s+(\d{1,18}) kB", text, re.MULTILINE)}
    names = {"total_kib": "MemTotal", "available_kib": "MemAvailable", "swap_free_kib": "SwapFree"}
    host.facts["memory"] = {name: values.get(key) for name, key in names.items()}
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
        asked = next((word for word in argv[1:] if word in host.recording.answers), "")
        recorded, answer = host.recording.answers.get(asked, (127, "not asked"))
        host.probes[key] = {"command": argv, "exit_code": recorded, "raw": answer[:_MOST_TEXT]}
        return recorded, answer[:_MOST_TEXT]
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


_CAP_SYS_ADMIN = 1 << 21
"""Bit of `CapEff` in /proc/self/status. The driver asks for this capability to change clocks, not for user 0."""
_DEVICES = ("dev/nvidiactl", "dev/nvidia0", "dev/nvmap", "dev/dxg")
"""A discrete GPU's control node and first GPU; the memory of a Jetson's; the GPU inside of WSL 2."""


@dataclass(frozen=True, slots=True)
class Disk:
    """Where the set is to lie.

    Attributes:
        wanted: The directory that was asked for.
        existing: It, or the nearest directory above it that exists.
        is_directory: False if a file lies in the way.
        is_writable: Whether something may be created in it.
        free_bytes: For an ordinary user; None if the system does not tell.
        is_temporary: Whether it is only worked in there, on another machine, and TMPDIR chooses it.
    """

    wanted: Path
    existing: Path
    is_directory: bool
    is_writable: bool
    free_bytes: int | None
    is_temporary: bool = False


@dataclass(frozen=True, slots=True)
class Environment:
    """Beside `Host`: what decides whether a capture can run.

    Attributes:
        devices: Device nodes that exist (`/dev/nvidia0`), and whether they may be opened.
        may_lock_clocks: Whether this process has CAP_SYS_ADMIN; None if the system does not tell.
        has_nvidia_smi: Whether nvidia-smi is on PATH.
        tegrastats: Path of the program; None where there is none.
        is_graphical: Whether the machine starts a desktop; None if it does not tell.
        uptime_s: Since the machine was started.
        packages: Version of each installed package of TensorRT's libraries (`libnvinfer10` -> `10.3.0.30-1+cuda12.5`).
        stub_libraries: Directories named `stubs` in LD_LIBRARY_PATH.
        disk: Where the set is to lie.
    """

    devices: Mapping[str, bool]
    may_lock_clocks: bool | None
    has_nvidia_smi: bool
    tegrastats: str | None
    is_graphical: bool | None
    uptime_s: float | None
    packages: Mapping[str, str]
    stub_libraries: tuple[str, ...]
    disk: Disk

    def document(self) -> dict[str, Any]:
        return {
            "devices": dict(self.devices),
            "may_lock_clocks": self.may_lock_clocks,
            "tegrastats": self.tegrastats,
            "is_graphical": self.is_graphical,
            "uptime_s": self.uptime_s,
            "packages": dict(self.packages),
            "disk": {
                "wanted": str(self.disk.wanted),
                "existing": str(self.disk.existing),
                "is_directory": self.disk.is_directory,
                "is_writable": self.disk.is_writable,
                "free_bytes": self.disk.free_bytes,
            },
        }


def probe_environment(
    host: Host,
    outdir: Path,
    *,
    environ: Mapping[str, str] = os.environ,
    root: Path = Path("/"),
    may: Callable[[Path, int], bool] = os.access,
) -> Environment:
    """Look around; never raises.

    Args:
        host: Gets the text of the probes.
        outdir: Where the set is to lie; need not exist.
        environ: Where PATH and LD_LIBRARY_PATH are read.
        root: What stands for `/`, except for `outdir`.
        may: Whether a file may be opened; a superuser may open all.
    """
    path = environ.get("PATH", os.defpath)
    uptime = re.match(r"\d+(?:\.\d+)?", read_text(root / "proc/uptime") or "")
    return Environment(
        devices={
            f"/{name}": may(root / name, os.R_OK if name == "dev/nvmap" else os.R_OK | os.W_OK)
            for name in _DEVICES
            if os.path.lexists(root / name)
        },
        may_lock_clocks=_may_lock_clocks(host, root),
        has_nvidia_smi=shutil.which("nvidia-smi", path=path) is not None,
        tegrastats=shutil.which("tegrastats", path=f"{path}{os.pathsep}{root / 'usr/bin'}"),
        is_graphical=_is_graphical(root),
        uptime_s=float(uptime[0]) if uptime else None,
        packages=_packages(host, path),
        stub_libraries=stubs(environ.get("LD_LIBRARY_PATH", "")),
        disk=_disk(outdir, may),
    )


def _may_lock_clocks(host: Host, root: Path) -> bool | None:
    text = read_probe(host, root, "proc/self/status") or ""
    capabilities = capability(text)
    if capabilities is None:
        host.probes.pop("proc/self/status", None)
        return None
    host.probes["proc/self/status"]["raw"], may = capabilities
    return may


def capability(status: str) -> tuple[str, bool] | None:
    """The line of /proc/self/status that tells, and whether it has CAP_SYS_ADMIN; None if there is none."""
    match = re.search(r"^CapEff:\s*([0-9a-fA-F]{1,16})$", status, re.MULTILINE)
    return None if match is None else (match[0], bool(int(match[1], 16) & _CAP_SYS_ADMIN))


def stubs(libraries: str) -> tuple[str, ...]:
    """Those directories of LD_LIBRARY_PATH that hold stubs."""
    return tuple(part for part in libraries.split(os.pathsep) if Path(part).name == "stubs")


def _is_graphical(root: Path) -> bool | None:
    """By where systemd's default target points, as `systemctl get-default` tells it."""
    for link in ("etc/systemd/system/default.target", "usr/lib/systemd/system/default.target"):
        try:
            return (root / link).readlink().name == "graphical.target"
        except OSError:
            continue
    return None


def _packages(host: Host, path: str) -> dict[str, str]:
    program = shutil.which("dpkg-query", path=path)
    if program is None:
        return {}
    argv = [program, "-W", "-f=${Package} ${Version}\\n", "libnvinfer*"]
    code, text = ask(host, "dpkg-query", argv)
    if code != 0:  # it knows none of them
        host.probes.pop("dpkg-query", None)
        return {}
    return installed(text)


def installed(text: str) -> dict[str, str]:
    """Package -> version. Known but not installed: without a version."""
    return {pair[0]: pair[1] for line in text.splitlines() if len(pair := line.split()) == 2}


def _disk(outdir: Path, may: Callable[[Path, int], bool]) -> Disk:
    wanted = Path(os.path.abspath(outdir))  # noqa: PTH100 - resolve() would follow links
    existing = wanted
    while existing != existing.parent and not os.path.lexists(existing):
        existing = existing.parent
    is_directory = existing.is_dir()
    free: int | None = None
    with contextlib.suppress(OSError):
        free = shutil.disk_usage(existing).free
    return Disk(wanted, existing, is_directory, is_directory and may(existing, os.W_OK | os.X_OK), free)
