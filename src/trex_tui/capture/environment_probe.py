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

import hashlib
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from trex_tui.artifacts import capture_manifest as host_state
from trex_tui.artifacts.capture_manifest import HostState, read_host_state
from trex_tui.artifacts.sensor_lines import describe_throttle_mask
from trex_tui.capture.process import Stop
from trex_tui.capture.scripts import ENVIRONMENT, PROBE
from trex_tui.capture.shell import Shell
from trex_tui.errors import TrexError

_NAMED = re.compile(r"\b(GPU|MIG)-([0-9A-Za-z/-]+)")
_BOARD = ("soc", "model", "l4t", "power_mode")


def chosen_gpus(environ: Mapping[str, str]) -> dict[str, str]:
    """How CUDA chooses and numbers GPUs, as it goes into the manifest.

    Of a UUID it has the beginning of its SHA-256: enough to compare, too little to identify.
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
    """Whether its GPU is unknown."""
    return not machine.get("gpus") and not machine.get("jetson")


def machine_differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Why an engine of one machine is none of another, each of `identify_machine`; the end of a sentence about the engine."""
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
"""As the scripts have it."""
_KILLED = (124, 137)
"""Exit codes of `timeout`; some print nothing else."""
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
_GPU_NODES = frozenset(("gv11b", "gp10b", "ga10b", "gb10b", "gpu"))


@dataclass(slots=True)
class Host:
    """What was found at one moment, as it goes into the manifest.

    Attributes:
        facts: Understood values by name; None where unknown.
        probes: Name -> how it was asked, and the text that came.
    """

    facts: dict[str, Any] = field(default_factory=dict)
    probes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        return {**self.facts, "probes": self.probes}


@dataclass(frozen=True, slots=True)
class Answers:
    """What a script printed.

    Attributes:
        parts: Heading (`file proc/meminfo`, `program nvidia-smi`) -> output.
    """

    parts: Mapping[str, bytes]

    @classmethod
    def read(cls, output: bytes, word: str) -> Answers:
        """Split the output at the headings, which are marked by the word of the script."""
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
        """Return the beginning of a file, named without the first slash; None if it cannot be read."""
        data = self.parts.get(f"file {name}")
        return None if data is None else data[:_MOST_TEXT].decode("utf-8", errors="replace")

    def files(self, pattern: str) -> list[str]:
        """Return the names of files that match a pattern of `fnmatch`, sorted."""
        names = (heading.removeprefix("file ") for heading in self.parts if heading.startswith("file "))
        return sorted(name for name in names if fnmatchcase(name, pattern))

    def probe_file(self, host: Host, name: str) -> str | None:
        """Return `file`, and keep it beside what is made of it."""
        text = self.file(name)
        if text is not None:
            host.probes[name] = {"file": f"/{name}", "raw": text}
        return text

    def probe_program(self, host: Host, key: str, heading: str, argv: list[str]) -> tuple[int | None, str]:
        """Return exit code and output of a program, and keep them; None without an answer in time."""
        first, _, output = self.parts.get(heading, b"").partition(b"\n")
        code, text = int(first) if first.isdigit() else None, output[:_MOST_TEXT].decode("utf-8", "replace")
        if code in _KILLED and not text.strip():
            code, text = None, f"no answer within {_TIMEOUT_S} s"
        host.probes[key] = {"command": argv, "exit_code": code, "raw": text}
        return code, text


def probe_host(
    shell: Shell | None = None, stop: Stop | None = None, *, with_ids: bool = False, root: str = "/"
) -> Host:
    """Ask a machine, and never raise: what could not be asked is missing, and `probes` has the reason.

    Args:
        shell: Of the machine; this one by default.
        stop: Ends the question.
        with_ids: Ask also for what distinguishes this machine from others of its kind.
        root: Replaces `/`.
    """
    try:
        return ask_host(shell, stop, with_ids=with_ids, root=root)
    except (TrexError, OSError) as error:
        return Host(probes={"errors": {"raw": f"{error}\n"}})


def ask_host(
    shell: Shell | None = None, stop: Stop | None = None, *, with_ids: bool = False, root: str = "/"
) -> Host:
    """Ask as `probe_host`.

    Raises:
        RemoteError: It cannot be asked.
    """
    word, ids = secrets.token_hex(16), "1" if with_ids else "0"
    output = (shell or Shell()).call(stop, PROBE, word, root, ids, *smi_queries(with_ids=with_ids))
    return read_host(Answers.read(output, word), with_ids=with_ids)


def read_host(answers: Answers, *, with_ids: bool = False) -> Host:
    """Understand what the script printed."""
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
    """`docker`, `podman`, …; None without signs of a container."""
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
    """What nvidia-smi may be asked: all fields at once, then the groups to ask one by one if that is refused."""
    groups = [*_SMI_GROUPS, *([_SMI_IDS] if with_ids else [])]
    fields = [name for group in groups for name in group]
    return [",".join(fields), *(",".join(group) for group in groups)]


def _smi(
    host: Host, answers: Answers, program: str, key: str, query: str
) -> list[dict[str, str | None]] | None:
    """Return one row per GPU; None if the query was refused, or not asked."""
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
    """The GPU of a Jetson: locked if its least frequency is its greatest. Other drivers do not report it."""
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
        if kind and 0 < degrees < 200:  # a gated zone gives 0 or -256
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
    """What happened to the machine between two moments that makes numbers doubtful, in sentences."""
    old, new = read_host_state(before) or HostState(), read_host_state(after) or HostState()
    return [text for _, text in host_state.changes(old, new)]


_CAP_SYS_ADMIN = 1 << 21
"""Bit of `CapEff` in /proc/self/status. The driver asks for this capability to change clocks, not for user 0."""
_FREE = re.compile(r"\s\d+\s+\d+\s+(\d{1,18})\s+\d+%\s")
"""Blocks, used, available, capacity: the columns of `df -P`, whatever the names around them hold."""


def read_free_bytes(text: str) -> int | None:
    """Free bytes of a directory by `df -Pk`; None if it does not state them."""
    match = _FREE.search(f"{text}\n")
    return int(match[1]) * 1024 if match else None


@dataclass(frozen=True, slots=True)
class Disk:
    """Where the set is to lie.

    Attributes:
        wanted: The directory that was asked for.
        existing: It, or the nearest directory above it that exists.
        is_directory: False if a file lies in the way.
        is_writable: Whether something may be created in it.
        free_bytes: For an ordinary user; None if unknown.
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
        may_lock_clocks: Whether this process has CAP_SYS_ADMIN; None if unknown.
        has_nvidia_smi: Whether nvidia-smi is on PATH.
        tegrastats: Path of the program; None where there is none.
        is_graphical: Whether the machine starts a desktop; None if unknown.
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
    outdir: Path | None,
    shell: Shell | None = None,
    stop: Stop | None = None,
    *,
    root: str = "/",
) -> Environment:
    """Ask a machine.

    Args:
        host: Gets the text of the probes.
        outdir: Where the set is to lie; need not exist. None for the temporary directory, where a capture over ssh works.
        shell: Of the machine; this one by default.
        stop: Ends the question.
        root: Replaces `/`, except for `outdir`.

    Raises:
        RemoteError: It cannot be asked.
    """
    word = secrets.token_hex(16)
    # Not resolve(), which would follow links.
    wanted = "" if outdir is None else os.path.abspath(outdir)  # noqa: PTH100
    output = (shell or Shell()).call(stop, ENVIRONMENT, word, root, wanted)
    return read_environment(host, Answers.read(output, word), is_temporary=outdir is None)


def read_environment(host: Host, answers: Answers, *, is_temporary: bool = False) -> Environment:
    """Understand what the script printed; the text of what drifts goes to the probes of `host`."""
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
    """Package -> version. Known but not installed: without a version."""
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
