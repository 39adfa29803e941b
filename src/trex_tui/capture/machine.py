"""Probe the machine that measures: GPU, driver or L4T, power mode, clocks, temperatures, memory, container.

For `doctor` also what a capture needs beyond that: access to devices, privileges, disk, packages. Everything is read as an
ordinary user; nothing is created, changed or locked, and nothing that identifies a machine is read. Output of programs is
kept beside the parsed values, because its format changes.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from trex_tui.artifacts import manifest
from trex_tui.artifacts.manifest import HostState, read_host_state
from trex_tui.artifacts.sensors import describe_throttle_mask
from trex_tui.capture.process import StopRequest
from trex_tui.capture.scripts import PROBE
from trex_tui.capture.shell import Shell
from trex_tui.errors import TrexError

_TIMEOUT_S = 10
"""The same as in the script."""
_KILLED = (124, 137)
"""Exit codes of `timeout`; some implementations print nothing."""
_MOST_TEXT = 20_000
_ABSENT = frozenset(
    (
        *("", "N/A", "[N/A]", "None", "[Not Supported]", "[Insufficient Permissions]", "[Unknown Error]"),
        "[Requested functionality has been deprecated]",
    )
)
_COUNTERS = "clocks_event_reasons_counters."
# nvidia-smi refuses a query with an unknown field, so each group is queried alone if the full query fails.
_SMI_GROUPS = (
    ("index", "name", "driver_version"),
    ("pstate", "persistence_mode", "compute_cap"),
    ("clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem"),
    ("temperature.gpu", "power.draw", "power.limit", "utilization.gpu"),
    # Old name of `clocks_event_reasons.active`; every driver still accepts it.
    ("clocks_throttle_reasons.active",),
    ("memory.total", "memory.used"),
    ("mig.mode.current",),
    tuple(
        f"{_COUNTERS}{name}"
        for name in (
            *("sw_power_cap", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"),
        )
    ),
)
_SMI_QUERIES = (
    ",".join(name for group in _SMI_GROUPS for name in group),
    *(",".join(group) for group in _SMI_GROUPS),
)
_NUMBERS = {
    "sm_clock_mhz": "clocks.sm",
    "memory_clock_mhz": "clocks.mem",
    "max_sm_clock_mhz": "clocks.max.sm",
    "max_memory_clock_mhz": "clocks.max.mem",
    "temperature_c": "temperature.gpu",
    "power_w": "power.draw",
    "power_limit_w": "power.limit",
    "memory_total_mib": "memory.total",
    "memory_used_mib": "memory.used",
}
_TEXTS = {
    "name": "name",
    "driver": "driver_version",
    "compute_capability": "compute_cap",
    "pstate": "pstate",
    "persistence_mode": "persistence_mode",
    "mig_mode": "mig.mode.current",
}
_GPU_NODES = frozenset(("gv11b", "gp10b", "ga10b", "gb10b", "gpu"))
_CAP_SYS_ADMIN = 1 << 21
"""Bit of `CapEff` in /proc/self/status. The driver requires this capability, not user 0, to change clocks."""
_FREE = re.compile(r"\s\d+\s+\d+\s+(\d{1,18})\s+\d+%\s")
"""Blocks, used, available, capacity: the columns of `df -P`, whatever the surrounding names contain."""


@dataclass(frozen=True, slots=True)
class Disk:
    """Disk of the output directory.

    Attributes:
        wanted: The requested directory.
        existing: That directory, or its nearest existing parent.
        is_directory: False if a file has that path.
        is_writable: Whether files can be created there.
        free_bytes: Free space for an ordinary user; None if unknown.
        is_temporary: Whether it is only a work directory on another machine, chosen by TMPDIR.
    """

    wanted: Path
    existing: Path
    is_directory: bool
    is_writable: bool
    free_bytes: int | None
    is_temporary: bool = False


@dataclass(frozen=True, slots=True)
class Environment:
    """State beyond the facts of a host that decides whether a capture can run.

    Attributes:
        devices: Existing device nodes (`/dev/nvidia0`) -> whether they can be opened.
        may_lock_clocks: Whether this process has CAP_SYS_ADMIN; None if unknown.
        has_nvidia_smi: Whether nvidia-smi is on PATH.
        tegrastats: Path of the program; None if absent.
        is_graphical: Whether the machine starts a desktop; None if unknown.
        uptime_s: Seconds since boot.
        packages: Version of each installed package of TensorRT's libraries (`libnvinfer10` -> `10.3.0.30-1+cuda12.5`).
        stub_libraries: Directories named `stubs` in LD_LIBRARY_PATH.
        disk: Disk of the output directory.
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


@dataclass(slots=True)
class Host:
    """State of a machine at one moment.

    Attributes:
        facts: Parsed values by name, for the manifest; None where unknown.
        probes: Program -> command, exit code (None if it did not answer) and output.
        environment: None unless asked for.
    """

    facts: dict[str, Any] = field(default_factory=dict)
    probes: dict[str, dict[str, Any]] = field(default_factory=dict)
    environment: Environment | None = None

    def document(self) -> dict[str, Any]:
        content: dict[str, Any] = {**self.facts, "probes": self.probes}
        if self.environment is not None:
            content |= asdict(self.environment)
        return content


class Answers:
    """Output of the script: heading (`file proc/meminfo`, `program nvidia-smi`) -> text.

    The headings begin with the random word of the script.
    """

    def __init__(self, output: bytes, word: str) -> None:
        self.parts: dict[str, bytes] = {}
        for part in output.split(f"\n{word} ".encode())[1:]:
            heading, _, text = part.partition(b"\n")
            self.parts[heading.decode("utf-8", errors="replace").strip()] = text

    def line(self, heading: str) -> str:
        """Return an output without surrounding space; empty if there is none."""
        return self.parts.get(heading, b"").decode("utf-8", errors="replace").strip("\0\n\t ")

    def path(self, heading: str) -> str:
        """Return an output that is a path; empty if there is none."""
        return os.fsdecode(self.parts.get(heading, b"").removesuffix(b"\n"))

    def file(self, name: str) -> str:
        """Return the beginning of a file, named without the leading slash; empty if it cannot be read."""
        return self.line(f"file {name}")[:_MOST_TEXT]

    def files(self, pattern: str) -> list[str]:
        """Return the names of files that match a pattern of `fnmatch`, sorted."""
        names = (heading.removeprefix("file ") for heading in self.parts if heading.startswith("file "))
        return sorted(name for name in names if fnmatchcase(name, pattern))

    def program(self, host: Host, key: str, argv: list[str], heading: str = "") -> tuple[int | None, str]:
        """Return exit code and output of a program and record them in the probes; None on timeout."""
        first, _, output = self.parts.get(heading or key, b"").partition(b"\n")
        code, text = int(first) if first.isdigit() else None, output[:_MOST_TEXT].decode("utf-8", "replace")
        if code in _KILLED and not text.strip():
            code, text = None, f"no answer within {_TIMEOUT_S} s"
        host.probes[key] = {"command": argv, "exit_code": code, "raw": text}
        return code, text


def probe_host(shell: Shell | None = None, stop: StopRequest | None = None, *, root: str = "/") -> Host:
    """Probe a machine as `ask_host`, without the environment; never raises: `probes` has the reason for missing values."""
    try:
        return ask_host(shell, stop, root=root)
    except (TrexError, OSError) as error:
        return Host(probes={"errors": {"raw": f"{error}\n"}})


def ask_host(
    shell: Shell | None = None,
    stop: StopRequest | None = None,
    outdir: Path | None = None,
    *,
    has_environment: bool = False,
    root: str = "/",
) -> Host:
    """Probe a machine.

    Args:
        shell: Shell of the machine; this machine by default.
        stop: Ends the probe.
        outdir: Output directory, which need not exist; None for that of temporary files, where a capture over ssh works.
        has_environment: Probe the environment too.
        root: Replaces `/`, except for `outdir`.

    Raises:
        RemoteError: The machine cannot be queried.
    """
    word = secrets.token_hex(16)
    # Not resolve(), which follows links.
    wanted = "" if outdir is None else os.path.abspath(outdir)  # noqa: PTH100
    arguments = ("1" if has_environment else "", wanted, *_SMI_QUERIES)
    answers = Answers((shell or Shell()).call(stop, PROBE, word, root, *arguments), word)
    host = Host()
    readers: list[Callable[[Host, Answers], None]] = [
        *(_read_system, _read_gpus, _read_jetson, _read_gpu_clock, _read_temperatures, _read_memory)
    ]
    for read in readers:
        try:
            read(host, answers)
        except (OSError, ValueError, IndexError) as error:
            host.probes.setdefault("errors", {"raw": ""})["raw"] += f"{error}\n"
    if has_environment:
        host.environment = _read_environment(host, answers, is_temporary=outdir is None)
    return host


def _read_system(host: Host, answers: Answers) -> None:
    host.facts["kernel"] = answers.line("uname release") or None
    host.facts["machine"] = answers.line("uname machine") or None
    sign = re.search(r"docker|kubepods|libpod|lxc|containerd", answers.file("proc/1/cgroup"))
    container = sign[0] if sign else None
    for name, kind in ((".dockerenv", "docker"), ("run/.containerenv", "podman")):
        container = kind if f"file {name}" in answers.parts else container
    host.facts["container"] = container


def _read_gpus(host: Host, answers: Answers) -> None:
    host.facts["gpus"] = []
    program = answers.path("program nvidia-smi")
    if not program:
        return
    everything, *groups = _SMI_QUERIES
    rows = _ask_smi(host, answers, program, "nvidia-smi", everything)
    if rows is None:
        rows = []
        for number, group in enumerate(groups):
            part = _ask_smi(host, answers, program, f"nvidia-smi {number}", group) or []
            rows = [
                {**(rows[index] if index < len(rows) else {}), **more} for index, more in enumerate(part)
            ] or rows
    host.facts["gpus"] = [_make_gpu(row) for row in rows]


def _ask_smi(
    host: Host, answers: Answers, program: str, key: str, query: str
) -> list[dict[str, str | None]] | None:
    """Return a row per GPU; None if the query was refused or not made."""
    if f"smi {query}" not in answers.parts:
        return None
    argv = [program, f"--query-gpu={query}", "--format=csv,noheader,nounits"]
    code, text = answers.program(host, key, argv, f"smi {query}")
    if code not in (0, 14):  # 14: a damaged infoROM, with valid output
        return None
    fields = query.split(",")
    lines = ([part.strip() for part in line.split(",")] for line in text.splitlines())
    return [
        {name: None if value in _ABSENT else value for name, value in zip(fields, values, strict=True)}
        for values in lines
        if len(values) == len(fields)
    ] or None


def _make_gpu(row: Mapping[str, str | None]) -> dict[str, Any]:
    def number(name: str) -> float | None:
        try:
            return float(row.get(name) or "")
        except ValueError:
            return None

    mask = row.get("clocks_throttle_reasons.active")
    reasons = int(mask, 16) if mask and re.fullmatch(r"0x[0-9a-fA-F]+", mask) else None
    return {
        **{key: row.get(name) for key, name in _TEXTS.items()},
        **{key: number(name) for key, name in _NUMBERS.items()},
        "throttle_reasons": None if reasons is None else list(describe_throttle_mask(reasons)),
        "throttle_counters_us": {
            name.removeprefix(_COUNTERS): number(name) for name in row if name.startswith(_COUNTERS)
        },
    }


def _read_jetson(host: Host, answers: Answers) -> None:
    host.facts["jetson"] = None
    release = answers.file("etc/nv_tegra_release")
    compatible = answers.file("proc/device-tree/compatible").replace("\0", " ")
    if not (release or "tegra" in compatible or (host.facts["kernel"] or "").endswith("-tegra")):
        return
    match = re.search(r"R(\d{1,9}) \(release\), REVISION: ([\d.]+)", release)
    soc = re.search(r"nvidia,(tegra\d+)", compatible)
    mode = None
    if program := answers.path("program nvpmodel"):
        _, text = answers.program(host, "nvpmodel", [program, "-q"])
        mode = re.search(r"^NV Power Mode:\s*(\S+)", text, re.MULTILINE)
    host.facts["jetson"] = {
        "l4t": f"{match[1]}.{match[2]}" if match else None,
        "model": answers.file("proc/device-tree/model") or None,
        "soc": soc[1] if soc else None,
        "power_mode": mode[1] if mode else None,
    }


def _read_gpu_clock(host: Host, answers: Answers) -> None:
    """Read the GPU clocks of a Jetson: locked if minimum and maximum are equal. Other drivers do not report this."""
    host.facts["gpu_clock"] = None
    for directory in sorted({"/".join(name.split("/")[:4]) for name in answers.files("sys/class/devfreq/*")}):
        node = answers.file(f"{directory}/device/of_node/name")
        if node not in _GPU_NODES and not directory.rpartition("/")[2].startswith("gpu-gpc-"):
            continue
        texts = {key: answers.file(f"{directory}/{key}_freq") for key in ("cur", "min", "max")}
        current, lowest, highest = (int(text) if text.isdecimal() else None for text in texts.values())
        host.facts["gpu_clock"] = {
            "current_hz": current,
            "min_hz": lowest,
            "max_hz": highest,
            "governor": answers.file(f"{directory}/governor") or None,
            "locked": None if lowest is None or highest is None else lowest == highest,
        }
        return


def _read_temperatures(host: Host, answers: Answers) -> None:
    degrees_by_zone: dict[str, float] = {}
    for name in answers.files("sys/class/thermal/*/temp"):
        kind = answers.file(f"{name.removesuffix('/temp')}/type")
        try:
            degrees = int(answers.file(name)) / 1000
        except ValueError:
            continue
        if kind and 0 < degrees < 200:  # a power-gated zone reads 0 or -256
            degrees_by_zone[kind] = degrees
    host.facts["temperatures_c"] = degrees_by_zone
    counts: dict[str, int] = {}
    for name in answers.files("sys/class/hwmon/*/oc*_event_cnt"):
        directory, _, counter = name.rpartition("/")
        if answers.file(f"{directory}/name") == "soctherm_oc" and answers.file(name).isdecimal():
            counts[counter] = int(answers.file(name))
    host.facts["over_current_events"] = counts or None


def _read_memory(host: Host, answers: Answers) -> None:
    text = answers.file("proc/meminfo")
    values = {key: int(value) for key, value in re.findall(r"^(\w+):\s+(\d{1,18}) kB", text, re.MULTILINE)}
    names = {"total_kib": "MemTotal", "available_kib": "MemAvailable", "swap_free_kib": "SwapFree"}
    host.facts["memory"] = {name: values.get(key) for name, key in names.items()}


def describe_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return sentences about changes between two host states that make numbers doubtful."""
    old, new = read_host_state(before) or HostState(), read_host_state(after) or HostState()
    return [text for _, text in manifest.changes(old, new)]


def read_free_bytes(text: str) -> int | None:
    """Return the free bytes in the output of `df -Pk`; None if it has none."""
    match = _FREE.search(f"{text}\n")
    return int(match[1]) * 1024 if match else None


def _read_environment(host: Host, answers: Answers, *, is_temporary: bool) -> Environment:
    uptime = re.match(r"\d+(?:\.\d+)?", answers.file("proc/uptime"))
    devices = {
        heading.removeprefix("device "): answers.line(heading).split()
        for heading in answers.parts
        if heading.startswith("device ")
    }
    links = [answers.path(heading) for heading in answers.parts if heading.startswith("link ")]
    capabilities = re.search(r"^CapEff:\s*([0-9a-fA-F]{1,16})$", answers.file("proc/self/status"), re.M)
    libraries = answers.path("env LD_LIBRARY_PATH")
    existing = answers.path("disk existing")
    _, free = answers.program(host, "df", ["df", "-Pk", existing])
    return Environment(
        devices={name: "r" in may and (name == "/dev/nvmap" or "w" in may) for name, may in devices.items()},
        may_lock_clocks=bool(int(capabilities[1], 16) & _CAP_SYS_ADMIN) if capabilities else None,
        has_nvidia_smi=bool(answers.path("program nvidia-smi")),
        tegrastats=answers.path("program tegrastats") or None,
        is_graphical=Path(links[0]).name == "graphical.target" if links else None,
        uptime_s=float(uptime[0]) if uptime else None,
        packages=_read_packages(host, answers),
        stub_libraries=tuple(part for part in libraries.split(":") if Path(part).name == "stubs"),
        disk=Disk(
            wanted=Path(answers.path("disk wanted")),
            existing=Path(existing),
            is_directory="disk directory" in answers.parts,
            is_writable="disk writable" in answers.parts,
            free_bytes=read_free_bytes(free),
            is_temporary=is_temporary,
        ),
    )


def _read_packages(host: Host, answers: Answers) -> dict[str, str]:
    """Return package -> version. Packages that are known but not installed have no version."""
    program = answers.path("program dpkg-query")
    if not program:
        return {}
    code, text = answers.program(
        host, "dpkg-query", [program, "-W", "-f=${Package} ${Version}\\n", "libnvinfer*"]
    )
    if code != 0:  # it knows none of them
        host.probes.pop("dpkg-query", None)
        return {}
    return {pair[0]: pair[1] for line in text.splitlines() if len(pair := line.split()) == 2}
