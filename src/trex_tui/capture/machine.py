"""The machine that measures: its state (GPU, driver or L4T, power mode, clocks, temperatures, memory, container), and runs.

For `doctor` also what a capture needs beyond that: access to devices, privileges, disk. The state is read as an ordinary
user; nothing is created, changed or locked, and nothing that identifies a machine is read. Output of programs is kept beside
the parsed values, because its format changes. `remote` has the machine over ssh.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from trex_tui.artifacts.plan import PlanHead, read_plan_head
from trex_tui.artifacts.sensors import describe_throttle_mask
from trex_tui.capture.options import CaptureOptions
from trex_tui.capture.plan import RunPlan, make_plan
from trex_tui.capture.process import GRACE_S, ProcessOutcome, Stop, StopRequest, run_process
from trex_tui.capture.shell import WITHIN, Shell
from trex_tui.capture.staging import Names, describe_file
from trex_tui.capture.trtexec import Trtexec
from trex_tui.capture.verdict import RunProgress, RunVerdict, judge
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


PROBE: Final = (
    # word root environment directory all-fields group…: `word kind name`, then the text. `environment` is not empty if the
    # part for doctor is wanted; without a directory that is the one of temporary files, where a capture over ssh works.
    # Programs that this script uses are found whatever PATH is; programs that it searches for only on PATH, and in $2.
    WITHIN + "t=$1 r=${2%/} e=$3 d=$4 q=$5; shift 5; p=$PATH; PATH=$PATH:/usr/bin:/bin; "
    'say() { printf "\\n%s %s\\n" "$t" "$*"; }; where() { PATH=$p${2-} command -v "$1"; }; '
    # `word kind name`, the exit code, and the output of the program.
    'answer() { say "$1"; shift; o=$(within 10 "$@"); c=$?; printf "%s\\n%s\\n" "$c" "$o"; }; '
    "say uname release; uname -r; say uname machine; uname -m; "
    '( cd "$r/" && for f in .dockerenv run/.containerenv proc/1/cgroup etc/nv_tegra_release proc/device-tree/compatible '
    "proc/device-tree/model proc/meminfo sys/class/devfreq/*/device/of_node/name sys/class/devfreq/*/cur_freq "
    "sys/class/devfreq/*/min_freq sys/class/devfreq/*/max_freq sys/class/devfreq/*/governor "
    "sys/class/thermal/thermal_zone*/type sys/class/thermal/thermal_zone*/temp sys/class/hwmon/hwmon*/name "
    "sys/class/hwmon/hwmon*/oc*_event_cnt proc/self/status; "
    'do [ -f "$f" ] && [ -r "$f" ] && { say file "$f"; cat "$f" 2>/dev/null; }; done ); '
    'say program nvidia-smi; if x=$(where nvidia-smi); then printf %s "$x"; '
    'smi() { answer "smi $1" "$x" "--query-gpu=$1" --format=csv,noheader,nounits; }; '
    'smi "$q"; case $c in 0|14) ;; *) for g in "$@"; do smi "$g"; done;; esac; fi; '
    'if x=$(where nvpmodel ":$r/usr/sbin"); then say program nvpmodel; printf %s "$x"; answer nvpmodel "$x" -q; fi; '
    '[ -n "$e" ] || exit 0; ( cd "$r/" || exit; '
    'for f in dev/nvidiactl dev/nvidia0 dev/nvmap dev/dxg; do if [ -e "$f" ] || [ -h "$f" ]; then '
    'say device "/$f"; [ ! -r "$f" ] || echo r; [ ! -w "$f" ] || echo w; fi; done ); '
    '[ -n "$d" ] || case ${TMPDIR-} in /*) d=$TMPDIR;; *) d=/tmp;; esac; say disk wanted; printf %s "$d"; '
    'while [ ! -e "$d" ] && [ ! -h "$d" ]; do d=${d%/*}; d=${d:-/}; done; say disk existing; printf %s "$d"; '
    'if [ -d "$d" ]; then say disk directory; [ ! -w "$d" ] || [ ! -x "$d" ] || say disk writable; fi; '
    'answer df df -Pk "$d"; exit 0'
)


@dataclass(slots=True)
class Host:
    """State of a machine at one moment.

    Attributes:
        facts: Parsed values by name, for the manifest; None where unknown.
        probes: Program -> command, exit code (None if it did not answer) and output.
    """

    facts: dict[str, Any] = field(default_factory=dict)
    probes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        return {**self.facts, "probes": self.probes}


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
        host.facts |= _read_environment(host, answers, is_temporary=outdir is None)
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


def read_free_bytes(text: str) -> int | None:
    """Return the free bytes in the output of `df -Pk`; None if it has none."""
    match = _FREE.search(f"{text}\n")
    return int(match[1]) * 1024 if match else None


def _read_environment(host: Host, answers: Answers, *, is_temporary: bool) -> dict[str, Any]:
    """Return what decides whether a capture can run: `devices` (existing nodes -> whether they can be opened),
    `may_lock_clocks` (whether this user has CAP_SYS_ADMIN; None if unknown), `has_nvidia_smi`, and the `disk` of the output
    directory or its nearest existing parent.
    """
    devices = {
        heading.removeprefix("device "): answers.line(heading).split()
        for heading in answers.parts
        if heading.startswith("device ")
    }
    capabilities = re.search(r"^CapEff:\s*([0-9a-fA-F]{1,16})$", answers.file("proc/self/status"), re.M)
    existing = answers.path("disk existing")
    _, free = answers.program(host, "df", ["df", "-Pk", existing])
    return {
        "devices": {
            name: "r" in may and (name == "/dev/nvmap" or "w" in may) for name, may in devices.items()
        },
        "may_lock_clocks": bool(int(capabilities[1], 16) & _CAP_SYS_ADMIN) if capabilities else None,
        "has_nvidia_smi": bool(answers.path("program nvidia-smi")),
        "disk": {
            "wanted": answers.path("disk wanted"),
            "existing": existing,
            "is_directory": "disk directory" in answers.parts,
            "is_writable": "disk writable" in answers.parts,
            "free_bytes": read_free_bytes(free),
            "is_temporary": is_temporary,
        },
    }


# Running there


class Machine:
    """This machine; the base class of other machines.

    Args:
        shell: Runs the scripts that probe the machine and lock its clocks.
        stop: Ends these scripts; None if nothing does.
    """

    def __init__(self, shell: Shell | None = None, stop: StopRequest | None = None) -> None:
        self.shell = shell or Shell()
        self.stop = stop

    def plan(self, options: CaptureOptions, trtexec: Trtexec, names: Names) -> tuple[RunPlan, ...]:
        """Return the runs: commands with paths of the machine, files with local paths.

        Raises:
            TrexError: This trtexec does not know an option.
        """
        return make_plan(options, trtexec, names)

    def prepare(self) -> None:
        """Prepare the first run.

        Raises:
            TrexError: The machine refuses.
        """

    def probe(self) -> dict[str, Any]:
        """Return the state of the machine; never raises: `probes` has the reason for missing values."""
        try:
            return ask_host(self.shell, self.stop).document()
        except (TrexError, OSError) as error:
            return Host(probes={"errors": {"raw": f"{error}\n"}}).document()

    def run(
        self,
        run: RunPlan,
        stop: Stop,
        feed: Callable[[bytes], None],
        tick: Callable[[], None],
        *,
        timeout_s: float | None = None,
        grace_s: float = GRACE_S,
    ) -> tuple[ProcessOutcome, RunVerdict | None]:
        """Run one command to its end and make the written files available locally.

        Args:
            run: The command, and the log of its output.
            stop: Requests the end.
            feed: Receives the output too, in pieces as they arrive.
            tick: Called several times a second.
            timeout_s: Longest duration; None is unlimited.
            grace_s: Time between SIGTERM and SIGKILL.

        Returns:
            The outcome; and a verdict if there is nothing to judge because the machine is gone.

        Raises:
            TrexError: The command cannot be run.
        """

        outcome = run_process(
            run.argv, run.log, stop, feed, lambda _: tick(), timeout_s=timeout_s, grace_s=grace_s
        )
        return outcome, None

    def rescue(self, build: RunPlan) -> dict[str, Any]:  # noqa: ARG002 - for other machines
        """Make the engine of a build available locally after a later run failed; return its new manifest entry, if any."""
        return {}

    def read_head(self, engine: Path) -> PlanHead | None:
        """Read the head of an engine.

        Raises:
            OSError: The engine cannot be read.
        """
        return read_plan_head(engine)

    def describe_engine(self, engine: Path) -> dict[str, Any]:
        """Return size and digest of an engine.

        Raises:
            OSError: The engine cannot be read.
        """
        return describe_file(engine)

    def document(self) -> dict[str, Any] | None:
        """Return the machine for the manifest; None for this machine."""
        return None


def run_trtexec(
    machine: Machine,
    run: RunPlan,
    trtexec: Trtexec,
    stop: Stop,
    observe: Callable[[RunProgress, float], None] = lambda *_: None,
    *,
    timeout_s: float | None = None,
    grace_s: float = GRACE_S,
) -> tuple[ProcessOutcome, RunVerdict, RunProgress]:
    """Run trtexec to its end and judge the run.

    Args:
        observe: Receives progress, and seconds since the start.
        timeout_s: Longest duration; None is unlimited.
        grace_s: Time between SIGTERM and SIGKILL.

    Raises:
        TrexError: trtexec cannot be run.
    """
    progress, began = RunProgress(), time.monotonic()

    def tick() -> None:
        observe(progress, time.monotonic() - began)

    outcome, lost = machine.run(run, stop, progress.feed, tick, timeout_s=timeout_s, grace_s=grace_s)
    progress.close()
    observe(progress, outcome.wall_s)
    return outcome, lost or judge(run, outcome, progress, trtexec, machine.read_head), progress
