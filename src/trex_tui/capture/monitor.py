"""Samples of power, temperature and clocks while trtexec measures: `<name>.monitor.csv`.

A separate process takes them on the machine that measures: tegrastats or nvidia-smi.
Each line is written on arrival together with the current stage of trtexec, since clocks of two machines cannot be compared.
The script ends the process when its input ends (the run is over or trex-tui ended). A failure costs the samples, never the
capture.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final

from trex_tui.artifacts.power import COLUMNS, RAIL, RAIL_UNIT
from trex_tui.artifacts.sensors import (
    QUANTITIES,
    Sample,
    is_smi_header,
    parse_tegrastats,
    smi_parser,
    split_cells,
)
from trex_tui.capture.clocks import ask_smi, choose_gpu
from trex_tui.capture.process import StopRequest
from trex_tui.capture.shell import Shell
from trex_tui.capture.verdict import RunProgress
from trex_tui.errors import TrexError
from trex_tui.text import plural

TEGRASTATS, NVIDIA_SMI = "tegrastats", "nvidia-smi"
_END_S = 5.0
"""Wait for the script to end by itself; then it is killed."""
_LONGEST_LINE = 1 << 14
_COMMON: Final = "timestamp,temperature.gpu,clocks.sm,clocks.mem,utilization.gpu,memory.used"
QUERIES: Final = (
    # Drivers refuse a query with an unknown field. All of them accept the old name of the throttle reasons.
    f"{_COMMON},power.draw.instant,clocks_throttle_reasons.active",
    f"{_COMMON},power.draw,clocks_throttle_reasons.active",
    f"{_COMMON},power.draw",
)
MONITOR: Final = (
    # word milliseconds gpu query…. Prints `word`, the source (empty: none), `word`, and the lines of the source. The end of
    # the input ends the source.
    "trap '' HUP INT TERM QUIT; t=$1 m=$2 i=$3; shift 3; exec 3<&0 </dev/null 2>/dev/null; "
    'PATH=$PATH:/usr/bin:/bin; say() { printf "%s\\n%s\\n%s\\n" "$t" "$1" "$t"; }; p=; '
    'if command -v tegrastats >/dev/null; then say tegrastats; tegrastats --interval "$m" 3<&- & p=$!; '
    'elif command -v nvidia-smi >/dev/null; then for q in "$@"; do '
    'if nvidia-smi -i "$i" --query-gpu="$q" --format=csv 3<&- >/dev/null; then say nvidia-smi; '
    'nvidia-smi -i "$i" --query-gpu="$q" --format=csv -lms "$m" 3<&- & p=$!; break; fi; done; fi; '
    '[ -n "$p" ] || { say ""; exit 0; }; while read -r x <&3; do :; done; kill -KILL "$p"; wait "$p"; exit 0'
)


def find_gpu(device: int | None, host: Mapping[str, Any], shell: Shell, stop: StopRequest | None) -> str:
    """Return nvidia-smi's name for the GPU of trtexec's `--device`.

    Raises:
        TrexError: There are several GPUs, and it is unknown which one is used.
    """
    count = len(host.get("gpus") or [])
    if host.get("jetson") or count <= 1:
        return "0"
    return choose_gpu(device, count, ask_smi(shell, stop)[0] or {}, "--monitor")


class RunMonitor:
    """Takes samples during one run; a context manager.

    Args:
        shell: Shell of the machine that measures.
        gpu: GPU as nvidia-smi names it.
        interval_ms: Time between samples.
        target: `<name>.monitor.csv`.

    Attributes:
        samples: Number of samples written.
        source: Program that takes the samples; empty until known.
        problem: Why there are no samples, as the end of a sentence; empty without problems.
    """

    def __init__(self, shell: Shell, gpu: str, interval_ms: int, target: Path) -> None:
        self.shell = shell
        self.gpu = gpu
        self.interval_ms = interval_ms
        self.target = target
        self.samples = 0
        self.source = ""
        self.problem = ""
        self._word = secrets.token_hex(16)
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        self._began = self._stage_began = time.monotonic()
        self._stage = "starting"

    def __enter__(self) -> RunMonitor:
        arguments = (str(self.interval_ms), self.gpu, *QUERIES)
        try:
            with tempfile.TemporaryFile() as stderr:
                argv = self.shell.argv(MONITOR, self._word, *arguments)
                self._process = self.shell.start(argv, subprocess.PIPE, stderr)
        except (TrexError, OSError) as error:
            self.problem = str(error)
            return self
        self._began = self._stage_began = time.monotonic()
        self._thread = threading.Thread(target=self._follow, args=(self._process.stdout,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        process, thread = self._process, self._thread
        if process is None or thread is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        thread.join(_END_S)
        if thread.is_alive():  # its input has ended, so the source ends even if nothing waits for it
            process.kill()
            thread.join(_END_S)
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
        if not self.samples and not self.problem:
            self.problem = (
                f"{self.source} printed nothing" if self.source else "neither tegrastats nor nvidia-smi there"
            )

    def note_stage(self, progress: RunProgress) -> None:
        """Store the current stage of trtexec and when it started."""
        if progress.stage != self._stage:
            self._stage_began = time.monotonic()
            self._stage = progress.stage

    @property
    def remark(self) -> str:
        """Return a sentence about the result, without full stop."""
        where = self.shell.where
        if self.problem:
            return f"no samples of power and clocks{where}: {self.problem}"
        return f"{plural(self.samples, 'sample')} of power and clocks by {self.source}{where}"

    def document(self) -> dict[str, Any]:
        """Return the result for the manifest."""
        return {
            "source": self.source or None,
            "interval_ms": self.interval_ms,
            "samples": self.samples,
        }

    def _follow(self, output: IO[bytes]) -> None:
        try:
            with self.target.open("w", encoding="utf-8", newline="") as file:
                self._write(output, file)
        except OSError as error:
            self.problem = f"{self.target}: {error.strerror}"
        if not self.samples:
            self.target.unlink(missing_ok=True)

    def _write(self, output: IO[bytes], file: IO[str]) -> None:
        """Write the output after the second mark."""
        marks = 0
        rails: list[str] | None = None
        parse: Callable[[str], Sample | None] = _SmiLines()
        for raw in iter(lambda: output.readline(_LONGEST_LINE), b""):
            line = raw.decode("utf-8", errors="replace").rstrip("\r\n")
            if line == self._word:
                marks += 1
            elif marks == 1:
                self.source = line
                parse = _PARSERS.get(line, _SmiLines)()
            elif marks == 2:
                sample = parse(line)
                if sample is None or not (sample.values or sample.rails):
                    continue
                if rails is None:
                    rails = list(sample.rails)
                    file.write(
                        ",".join((*COLUMNS, *(f"{RAIL}{_column_name(name)}{RAIL_UNIT}" for name in rails)))
                        + "\n"
                    )
                file.write(self._row(sample, rails) + "\n")
                file.flush()
                self.samples += 1

    def _row(self, sample: Sample, rails: list[str]) -> str:
        now = time.monotonic()
        reasons = "" if sample.reasons is None else "; ".join(sample.reasons) or "none"
        utc = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        head = (utc, f"{now - self._began:.3f}", self._stage, f"{now - self._stage_began:.3f}", self.source)
        values = ["" if value is None else f"{value:.10g}" for value in map(sample.values.get, QUANTITIES)]
        powers = ["" if value is None else f"{value:.10g}" for value in map(sample.rails.get, rails)]
        return ",".join((*head, *values, reasons, *powers))


def _column_name(rail: str) -> str:
    """Return a rail name as part of a column heading."""
    return re.sub(r"[^\w+.-]", "_", rail)


# Parsers of the sources


class _SmiLines:
    """Parses lines of nvidia-smi; the first line names the columns."""

    def __init__(self) -> None:
        self._parse: Callable[[list[str]], Sample | None] | None = None

    def __call__(self, line: str) -> Sample | None:
        cells = split_cells(line)
        if self._parse is None or is_smi_header(cells):
            self._parse = smi_parser(cells)
            return None
        return self._parse(cells)


_PARSERS: dict[str, Callable[[], Callable[[str], Sample | None]]] = {
    TEGRASTATS: lambda: parse_tegrastats,
    NVIDIA_SMI: _SmiLines,
}
