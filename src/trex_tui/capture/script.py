"""Quote commands for people and for shells, and render those of a capture as a POSIX shell script, for `--dry-run`.

The script writes the files of the capture, except the manifest, which trex-tui writes.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from trex_tui._version import __version__
from trex_tui.capture.clocks import HIGHEST_CLOCK, MAX
from trex_tui.capture.options import CaptureOptions
from trex_tui.capture.plan import BUILD, RunPlan
from trex_tui.capture.run import CaptureRequest
from trex_tui.errors import TrexError
from trex_tui.text import printable

_FUNCTIONS = (
    r"""fail() { printf '%s\n' "$2" >&2; exit "$1"; }""",
    r"""run() { # LOG COMMAND...: the output goes to the screen and to LOG
    log=$1; shift
    code=$({ { c=0; "$@" </dev/null 2>&1 3>&- 4>&- || c=$?; echo "$c" >&3; } | tee -- "$log" >&4 3>&-; } 3>&1)
    [ "$code" = 0 ] || fail 3 "exit code $code; the output is in $log"
}""",
    r"""whole() { for file do [ -s "$file" ] || fail 3 "$file was not written; is the disk full?"; done; }""",
)
_ABSENT = (
    r"""absent() { for file do [ ! -e "$file" ] || """
    r"""fail 2 "$file exists; --force prints a script that overwrites"; done; }"""
)
_COUNTS = "nvidia-smi counts all GPUs, so that another would be changed"
_ON_EXIT = "trap restore EXIT; trap 'exit 129' HUP; trap 'exit 130' INT; trap 'exit 143' TERM"


def quote(argument: str) -> str:
    """Quote one argument for people. What a terminal would act on, and bytes that are no UTF-8, become `$'\\033'`, which
    bash, zsh and ksh understand.
    """
    if argument.isprintable():
        return shlex.quote(argument)
    return "$'" + "".join(map(_escape, argument)) + "'"


def _escape(char: str) -> str:
    """Return the bytes of a character as octal escapes: a hexadecimal escape would swallow following digits."""
    if char.isprintable():
        return f"\\{char}" if char in "\\'" else char
    try:
        data = os.fsencode(char)
    except UnicodeEncodeError:
        data = char.encode("utf-8", errors="surrogatepass")
    return "".join(f"\\{byte:03o}" for byte in data)


def command_line(argv: Sequence[str]) -> str:
    """Return the whole command on one line, for people."""
    return " ".join(map(quote, argv))


def as_operand(path: str) -> str:
    """Return a path that no program mistakes for an option."""
    return f"./{path}" if path.startswith("-") else path


def render_script(request: CaptureRequest, runs: Sequence[RunPlan], title: str) -> str:
    """Return the script.

    Args:
        request: The capture, or the first of a sweep.
        runs: All runs, with their final paths.
        title: Subject of the capture, for the comment at the top.

    Raises:
        TrexError: A name cannot be written into a script.
    """
    files = [path for run in runs for path in (run.log, *_list_files(run))]
    folders = dict.fromkeys(run.log.parent for run in runs)
    limit = () if request.timeout_s is None else ("timeout", "-k", "5", f"{request.timeout_s:g}")
    following = f"next: {command_line(('trex-tui', as_operand(str(request.outdir))))}"
    lines = [
        *(() if request.force else (f"absent {_join(files)}",)),
        f"mkdir -p -- {_join(folders)}",
        "exec 4>&1",
        *(() if request.lock_clocks is None else _hold(request.lock_clocks, request.options)),
    ]
    for run in runs:
        lines += [
            f"run {_join([run.log])} {shlex.join((*limit, *run.argv))}",
            f"whole {_join(_list_files(run))}",
        ]
    lines.append(f"printf '%s\\n' {shlex.quote(following)} >&2")
    head = [
        "#!/bin/sh",
        f"# {printable(title)} (trex-tui {__version__})",
        "# The set lacks *.capture.json, which only trex-tui capture writes.",
        "set -eu",
    ]
    functions = [*_FUNCTIONS, *(() if request.force else (_ABSENT,))]
    if not all(line.isprintable() for line in lines):
        raise TrexError("--dry-run: a name has control characters, or bytes that are not UTF-8; rename it")
    return "\n".join([*head, *functions, *lines]) + "\n"


def _list_files(run: RunPlan) -> list[Path]:
    """Return the files that a run writes beside its log."""
    return [run.engine] if run.role == BUILD else [path for _, path in run.exports]


def _join(paths: Sequence[Path] | dict[Path, None]) -> str:
    return shlex.join(as_operand(str(path)) for path in paths)


def _hold(asked: str, options: CaptureOptions) -> Iterator[str]:
    """Yield the lines that lock the clocks, and restore them at the end; the highest clock is read then."""
    smi = f"nvidia-smi -i {options.measured_device() or 0}"
    yield "export CUDA_DEVICE_ORDER=PCI_BUS_ID  # the order in which nvidia-smi counts"
    yield f'[ -z "${{CUDA_VISIBLE_DEVICES:-}}" ] || fail 2 "unset CUDA_VISIBLE_DEVICES: {_COUNTS}"'
    yield f"restore() {{ {smi} -rgc; }}"
    yield _ON_EXIT
    yield f"mhz=$({smi} {' '.join(HIGHEST_CLOCK)})" if asked == MAX else f"mhz={asked}"
    yield f"{smi} -lgc \"$mhz,$mhz\" || echo 'the GPU clocks are not locked' >&2"
