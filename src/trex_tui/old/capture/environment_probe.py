"""Probe the machine that measures: GPU, driver or L4T, power mode, clocks, temperatures, memory, container.

For `doctor` also what a capture needs beyond the host: access to devices, privileges, disk, packages.

Everything is read as an ordinary user; nothing is created, changed or locked. The raw text of each probe is kept beside the
parsed values, because these formats change. Values that identify a machine (host name, UUID, serial number) are read only on
request.

Some facts decide which engine is built (`identify_machine`). An engine is specific to a kind of GPU. If a machine has
several kinds, or slices of one (MIG), the variables that choose GPUs count too. On a Jetson the power mode counts as well:
it sets how many parts of the GPU are powered and their clocks, and TensorRT treats a board in another mode as another device.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from trex_tui.old.artifacts import capture_manifest as host_state
from trex_tui.old.artifacts.capture_manifest import HostState, read_host_state
from trex_tui.old.artifacts.sensor_lines import describe_throttle_mask
from trex_tui.old.capture.process import Stop
from trex_tui.old.capture.scripts import ENVIRONMENT, PROBE
from trex_tui.old.capture.shell import Shell
from trex_tui.old.errors import TrexError
from trex_tui.old.lazy_dataclass import dataclass

_NAMED = re.compile(r"\b(GPU|MIG)-([0-9A-Za-z/-]+)")
_BOARD = ("soc", "model", "l4t", "power_mode")


def chosen_gpus(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which CUDA chooses and numbers GPUs, for the manifest.

    UUIDs are replaced by the beginning of their SHA-256: enough to compare, too little to identify.
    """
    visible = _NAMED.sub(
        lambda match: f"{match[1]}-#{hashlib.sha256(match[2].encode('utf-8', 'replace')).hexdigest()[:8]}",
        environ.get("CUDA_VISIBLE_DEVICES", ""),
    )
    return {"visible": visible, "order": environ.get("CUDA_DEVICE_ORDER", "")}


def identify_machine(host: Mapping[str, Any]) -> dict[str, Any]:
    """Select the facts of `probe_host` that decide which engine is built; lenient, since they may come from a file.

    Returns:
        `gpus`: names in nvidia-smi's order; `chosen`: see `chosen_gpus`, None if not recorded; `jetson`: None on other
        machines.
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
    """Return whether the GPU of the machine is unknown."""
    return not machine.get("gpus") and not machine.get("jetson")


def machine_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield reasons why an engine of one machine does not fit another, as ends of a sentence about the engine.

    Both arguments are results of `identify_machine`.
    """
    if is_unknown(then) != is_unknown(now):
        when = "built it" if is_unknown(then) else "is here now"
        yield f"the GPU that {when} is unknown (nvidia-smi does not state it)"
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
"""The same as in the scripts."""
_KILLED = (124, 137)
"""Exit codes of `timeout`; some implementations print nothing."""
_MOST_TEXT = 20_000
_ABSENT = frozenset(
    (
        *("", "N/A", "[N/A]", "None", "[Not Supported]", "[Insufficient Permissions]", "[Unknown Error]"),
        "[Requested functionality has been deprecated]",
    )
)
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
    (
        "clocks_event_reasons_counters.sw_power_cap",
        "clocks_event_reasons_counters.sw_thermal_slowdown",
        "clocks_event_reasons_counters.hw_thermal_slowdown",
        "clocks_event_reasons_counters.hw_power_brake_slowdown",
    ),
)
_SMI_IDS = ("uuid", "serial", "pci.bus_id")
_GPU_NODES = frozenset(("gv11b", "gp10b", "ga10b", "gb10b", "gpu"))


@dataclass(slots=True)
class Host:
    """State of a machine at one moment, for the manifest.

    Attributes:
        facts: Parsed values by name; None where unknown.
        probes: Name -> query and raw output.
    """

    facts: dict[str, Any] = field(default_factory=dict)
    probes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        return {**self.facts, "probes": self.probes}


@dataclass(frozen=True, slots=True)
class Answers:
    """Output of a script.

    Attributes:
        parts: Heading (`file proc/meminfo`, `program nvidia-smi`) -> output.
    """

    parts: Mapping[str, bytes]

    @classmethod
    def read(cls, output: bytes, word: str) -> Answers:
        """Split the output at the headings, which start with the random word of the script."""
        parts: dict[str, bytes] = {}
        for part in output.split(f"\n{word} ".encode())[1:]:
            heading, _, text = part.partition(b"\n")
            parts[heading.decode("utf-8", errors="replace").strip()] = text
        return cls(parts)

    def line(self, heading: str) -> str:
        """Return an output without surrounding space; empty if there is none."""
        return self.parts.get(heading, b"").decode("utf-8", errors="replace").strip()

    def path(self, heading: str) -> str:
        """Return an output that is a path; empty if there is none."""
        return os.fsdecode(self.parts.get(heading, b"").removesuffix(b"\n"))

    def file(self, name: str) -> str | None:
        """Return the beginning of a file, named without the leading slash; None if it cannot be read."""
        data = self.parts.get(f"file {name}")
        return None if data is None else data[:_MOST_TEXT].decode("utf-8", errors="replace")

    def files(self, pattern: str) -> list[str]:
        """Return the names of files that match a pattern of `fnmatch`, sorted."""
        names = (heading.removeprefix("file ") for heading in self.parts if heading.startswith("file "))
        return sorted(name for name in names if fnmatchcase(name, pattern))

    def probe_file(self, host: Host, name: str) -> str | None:
        """Return `file` and record its text in the probes of the host."""
        text = self.file(name)
        if text is not None:
            host.probes[name] = {"file": f"/{name}", "raw": text}
        return text

    def probe_program(self, host: Host, key: str, heading: str, argv: list[str]) -> tuple[int | None, str]:
        """Return exit code and output of a program and record them in the probes; None on timeout."""
        first, _, output = self.parts.get(heading, b"").partition(b"\n")
        code, text = int(first) if first.isdigit() else None, output[:_MOST_TEXT].decode("utf-8", "replace")
        if code in _KILLED and not text.strip():
            code, text = None, f"no answer within {_TIMEOUT_S} s"
        host.probes[key] = {"command": argv, "exit_code": code, "raw": text}
        return code, text


def probe_host(
    shell: Shell | None = None, stop: Stop | None = None, *, with_ids: bool = False, root: str = "/"
) -> Host:
    """Probe a machine; never raises. Values that could not be read are missing, and `probes` has the reason.

    Args:
        shell: Shell of the machine; this machine by default.
        stop: Ends the probe.
        with_ids: Read also values that distinguish this machine from others of its kind.
        root: Replaces `/`.
    """
    try:
        return ask_host(shell, stop, with_ids=with_ids, root=root)
    except (TrexError, OSError) as error:
        return Host(probes={"errors": {"raw": f"{error}\n"}})


def ask_host(
    shell: Shell | None = None, stop: Stop | None = None, *, with_ids: bool = False, root: str = "/"
) -> Host:
    """Probe a machine as `probe_host`, with errors.

    Raises:
        RemoteError: The machine cannot be queried.
    """
    word, ids = secrets.token_hex(16), "1" if with_ids else "0"
    output = (shell or Shell()).call(stop, PROBE, word, root, ids, *smi_queries(with_ids=with_ids))
    return read_host(Answers.read(output, word), with_ids=with_ids)


def read_host(answers: Answers, *, with_ids: bool = False) -> Host:
    """Parse the output of the probe script."""
    host = Host()
    parts: tuple[Callable[[], None], ...] = (
        lambda: _system(host, answers, with_ids),
        lambda: _gpus(host, answers, with_ids),
        lambda: _choice(host, answers),
        lambda: _jetson(host, answers),
        lambda: _clocks(host, answers),
        lambda: _temperatures(host, answers),
        lambda: _memory(host, answers),
    )
    for part in parts:
        try:
            part()
        except (OSError, ValueError, IndexError) as error:
            host.probes.setdefault("errors", {"raw": ""})["raw"] += f"{error}\n"
    return host


def _system(host: Host, answers: Answers, with_ids: bool) -> None:
    host.facts["kernel"] = answers.line("uname release") or None
    host.facts["machine"] = answers.line("uname machine") or None
    host.facts["container"] = _container(answers)
    host.facts["host_name"] = (answers.line("uname node") or None) if with_ids else None


def _choice(host: Host, answers: Answers) -> None:
    names = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")
    host.facts["cuda"] = chosen_gpus({name: answers.line(f"env {name}") for name in names})


def _container(answers: Answers) -> str | None:
    """Return `docker`, `podman`, …; None without signs of a container."""
    if answers.file(".dockerenv") is not None:
        return "docker"
    if answers.file("run/.containerenv") is not None:
        return "podman"
    match = re.search(r"(docker|kubepods|libpod|lxc|containerd)", answers.file("proc/1/cgroup") or "")
    return match[1] if match else None


def _gpus(host: Host, answers: Answers, with_ids: bool) -> None:
    host.facts["gpus"] = []
    program = answers.path("program nvidia-smi")
    if not program:
        return
    everything, *groups = smi_queries(with_ids=with_ids)
    rows = _smi(host, answers, program, "nvidia-smi", everything)
    if rows is None:
        rows = []
        for number, group in enumerate(groups):
            part = _smi(host, answers, program, f"nvidia-smi {number}", group) or []
            rows = [
                {**(rows[index] if index < len(rows) else {}), **more} for index, more in enumerate(part)
            ] or rows
    host.facts["gpus"] = [_gpu(row) for row in rows]


def smi_queries(*, with_ids: bool) -> list[str]:
    """Return the queries for nvidia-smi: all fields at once, then the groups to query if that is refused."""
    groups = [*_SMI_GROUPS, *([_SMI_IDS] if with_ids else [])]
    fields = [name for group in groups for name in group]
    return [",".join(fields), *(",".join(group) for group in groups)]


def _smi(
    host: Host, answers: Answers, program: str, key: str, query: str
) -> list[dict[str, str | None]] | None:
    """Return a row per GPU; None if the query was refused or not made."""
    if f"smi {query}" not in answers.parts:
        return None
    argv = [program, f"--query-gpu={query}", "--format=csv,noheader,nounits"]
    code, text = answers.probe_program(host, key, f"smi {query}", argv)
    if code not in (0, 14):  # 14: a damaged infoROM, with valid output
        return None
    fields = query.split(",")
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
        "throttle_reasons": None if reasons is None else list(describe_throttle_mask(reasons)),
        "throttle_counters_us": {
            name.rpartition(".")[2]: number(name) for name in row if "reasons_counters" in name
        },
    }
    gpu.update({name: row[name] for name in _SMI_IDS if name in row})
    return gpu


def _jetson(host: Host, answers: Answers) -> None:
    release = answers.probe_file(host, "etc/nv_tegra_release")
    compatible = (answers.probe_file(host, "proc/device-tree/compatible") or "").replace("\0", " ")
    host.facts["jetson"] = None
    if release is None and "tegra" not in compatible and not (host.facts["kernel"] or "").endswith("-tegra"):
        return
    match = re.search(r"R(\d{1,9}) \(release\), REVISION: ([\d.]+)", release or "")
    soc = re.search(r"nvidia,(tegra\d+)", compatible)
    model = (answers.probe_file(host, "proc/device-tree/model") or "").strip("\0\n ")
    host.facts["jetson"] = {
        "l4t": f"{match[1]}.{match[2]}" if match else None,
        "model": model or None,
        "soc": soc[1] if soc else None,
        "power_mode": _power_mode(host, answers),
    }


def _power_mode(host: Host, answers: Answers) -> str | None:
    program = answers.path("program nvpmodel")
    if not program:
        return None
    _, text = answers.probe_program(host, "nvpmodel", "nvpmodel", [program, "-q"])
    match = re.search(r"^NV Power Mode:\s*(\S+)", text, re.MULTILINE)
    return match[1] if match else None


def _clocks(host: Host, answers: Answers) -> None:
    """Read the GPU clocks of a Jetson: locked if minimum and maximum are equal. Other drivers do not report this."""
    host.facts["gpu_clock"] = None
    for directory in sorted({"/".join(name.split("/")[:4]) for name in answers.files("sys/class/devfreq/*")}):
        name = directory.rpartition("/")[2]
        node = (answers.file(f"{directory}/device/of_node/name") or "").strip("\0\n ")
        if node not in _GPU_NODES and not name.startswith("gpu-gpc-"):
            continue
        keys = ("cur_freq", "min_freq", "max_freq", "governor")
        texts = {key: (answers.file(f"{directory}/{key}") or "").strip() for key in keys}
        host.probes[f"devfreq {name}"] = {"directory": f"/{directory}", "raw": texts}
        numbers = {key: int(text) if text.isdecimal() else None for key, text in texts.items()}
        lowest, highest = numbers["min_freq"], numbers["max_freq"]
        host.facts["gpu_clock"] = {
            "current_hz": numbers["cur_freq"],
            "min_hz": lowest,
            "max_hz": highest,
            "governor": texts["governor"] or None,
            "locked": None if lowest is None or highest is None else lowest == highest,
        }
        return


def _temperatures(host: Host, answers: Answers) -> None:
    degrees_by_zone: dict[str, float] = {}
    for name in answers.files("sys/class/thermal/*/temp"):
        kind = answers.file(f"{name.removesuffix('/temp')}/type")
        try:
            degrees = int(answers.file(name) or "") / 1000
        except ValueError:
            continue
        if kind and 0 < degrees < 200:  # a power-gated zone reads 0 or -256
            degrees_by_zone[kind.strip()] = degrees
    host.facts["temperatures_c"] = degrees_by_zone
    counts: dict[str, int] = {}
    for name in answers.files("sys/class/hwmon/*/oc*_event_cnt"):
        directory, _, counter = name.rpartition("/")
        text = (answers.file(name) or "").strip()
        if (answers.file(f"{directory}/name") or "").strip() == "soctherm_oc" and text.isdecimal():
            counts[counter] = int(text)
    host.facts["over_current_events"] = counts or None


def _memory(host: Host, answers: Answers) -> None:
    text = answers.probe_file(host, "proc/meminfo") or ""
    values = {key: int(value) for key, value in re.findall(r"^(\w+):\s+(\d{1,18}) kB", text, re.MULTILINE)}
    names = {"total_kib": "MemTotal", "available_kib": "MemAvailable", "swap_free_kib": "SwapFree"}
    host.facts["memory"] = {name: values.get(key) for name, key in names.items()}
    if probe := host.probes.get("proc/meminfo"):
        probe["raw"] = "\n".join(probe["raw"].splitlines()[:5])


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return sentences about changes between two host states that make numbers doubtful."""
    old, new = read_host_state(before) or HostState(), read_host_state(after) or HostState()
    return [text for _, text in host_state.changes(old, new)]


_CAP_SYS_ADMIN = 1 << 21
"""Bit of `CapEff` in /proc/self/status. The driver requires this capability, not user 0, to change clocks."""
_FREE = re.compile(r"\s\d+\s+\d+\s+(\d{1,18})\s+\d+%\s")
"""Blocks, used, available, capacity: the columns of `df -P`, whatever the surrounding names contain."""


def read_free_bytes(text: str) -> int | None:
    """Return the free bytes in the output of `df -Pk`; None if it has none."""
    match = _FREE.search(f"{text}\n")
    return int(match[1]) * 1024 if match else None


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
    """State beyond `Host` that decides whether a capture can run.

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
    outdir: Path | None,
    shell: Shell | None = None,
    stop: Stop | None = None,
    *,
    root: str = "/",
) -> Environment:
    """Probe what a capture needs beyond the host.

    Args:
        host: Receives the text of the probes.
        outdir: Output directory; need not exist. None for the temporary directory, which a capture over ssh uses.
        shell: Shell of the machine; this machine by default.
        stop: Ends the probe.
        root: Replaces `/`, except for `outdir`.

    Raises:
        RemoteError: The machine cannot be queried.
    """
    word = secrets.token_hex(16)
    # Not resolve(), which follows links.
    wanted = "" if outdir is None else os.path.abspath(outdir)  # noqa: PTH100
    output = (shell or Shell()).call(stop, ENVIRONMENT, word, root, wanted)
    return read_environment(host, Answers.read(output, word), is_temporary=outdir is None)


def read_environment(host: Host, answers: Answers, *, is_temporary: bool = False) -> Environment:
    """Parse the output of the script; raw texts of unstable formats go to the probes of `host`."""
    uptime = re.match(r"\d+(?:\.\d+)?", answers.file("proc/uptime") or "")
    devices = {
        heading.removeprefix("device "): answers.line(heading).split()
        for heading in answers.parts
        if heading.startswith("device ")
    }
    links = [answers.path(heading) for heading in answers.parts if heading.startswith("link ")]
    libraries = answers.path("env LD_LIBRARY_PATH")
    return Environment(
        devices={name: "r" in may and (name == "/dev/nvmap" or "w" in may) for name, may in devices.items()},
        may_lock_clocks=_may_lock_clocks(host, answers),
        has_nvidia_smi=bool(answers.path("program nvidia-smi")),
        tegrastats=answers.path("program tegrastats") or None,
        is_graphical=Path(links[0]).name == "graphical.target" if links else None,
        uptime_s=float(uptime[0]) if uptime else None,
        packages=_packages(host, answers),
        stub_libraries=tuple(part for part in libraries.split(":") if Path(part).name == "stubs"),
        disk=_disk(host, answers, is_temporary=is_temporary),
    )


def _may_lock_clocks(host: Host, answers: Answers) -> bool | None:
    status = answers.file("proc/self/status") or ""
    match = re.search(r"^CapEff:\s*([0-9a-fA-F]{1,16})$", status, re.MULTILINE)
    if match is None:
        return None
    host.probes["proc/self/status"] = {"file": "/proc/self/status", "raw": match[0]}
    return bool(int(match[1], 16) & _CAP_SYS_ADMIN)


def _packages(host: Host, answers: Answers) -> dict[str, str]:
    """Return package -> version. Packages that are known but not installed have no version."""
    program = answers.path("program dpkg-query")
    if not program:
        return {}
    argv = [program, "-W", "-f=${Package} ${Version}\\n", "libnvinfer*"]
    code, text = answers.probe_program(host, "dpkg-query", "dpkg-query", argv)
    if code != 0:  # it knows none of them
        host.probes.pop("dpkg-query", None)
        return {}
    return {pair[0]: pair[1] for line in text.splitlines() if len(pair := line.split()) == 2}


def _disk(host: Host, answers: Answers, *, is_temporary: bool) -> Disk:
    existing = answers.path("disk existing")
    _, text = answers.probe_program(host, "df", "df", ["df", "-Pk", existing])
    return Disk(
        wanted=Path(answers.path("disk wanted")),
        existing=Path(existing),
        is_directory="disk directory" in answers.parts,
        is_writable="disk writable" in answers.parts,
        free_bytes=read_free_bytes(text),
        is_temporary=is_temporary,
    )
