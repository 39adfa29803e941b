"""Render the commands of a capture as a POSIX shell script, for `--dry-run`.

The script writes the files of the capture, except the manifest, which trex-tui writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from trex_tui._version import __version__
from trex_tui.capture.clocks import MAX, GpuSetting
from trex_tui.capture.plan import BUILD, RunPlan
from trex_tui.capture.quoting import as_operand, command_line, shell_word
from trex_tui.capture.run import CaptureRequest
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


def render_script(
    request: CaptureRequest, runs: Sequence[RunPlan], settings: Sequence[tuple[GpuSetting, str]], title: str
) -> str:
    """Return the script.

    Args:
        request: The capture, or the first of a sweep.
        runs: All runs, with their final paths.
        settings: GPU settings to hold.
        title: Subject of the capture, for the comment at the top.
    """
    files = [path for run in runs for path in (run.log, *_list_files(run))]
    folders = dict.fromkeys(run.log.parent for run in runs)
    limit = () if request.timeout_s is None else ("timeout", "-k", "5", f"{request.timeout_s:g}")
    following = f"next: {command_line(('trex-tui', as_operand(str(request.outdir))))}"
    lines = [
        *(() if request.force else (f"absent {_join(files)}",)),
        f"mkdir -p -- {_join(folders)}",
        "exec 4>&1",
        *_hold(settings, request.options.measured_device() or 0),
    ]
    for run in runs:
        words = " ".join(shell_word(word) for word in (*limit, *run.argv))
        lines += [f"run {_join([run.log])} {words}", f"whole {_join(_list_files(run))}"]
    lines.append(f"printf '%s\\n' {shell_word(following)} >&2")
    head = [
        "#!/bin/sh",
        f"# {printable(title)} (trex-tui {__version__})",
        "# The set lacks *.capture.json, which only trex-tui capture writes.",
        "set -eu",
    ]
    functions = [*_FUNCTIONS, *(() if request.force else (_ABSENT,))]
    newline = ["nl='", "'"] if any('"$nl"' in line for line in lines) else []
    return "\n".join([*head, *newline, *functions, *lines]) + "\n"


def _list_files(run: RunPlan) -> list[Path]:
    """Return the files that a run writes beside its log."""
    return [run.engine] if run.role == BUILD else [path for _, path in run.exports]


def _join(paths: Sequence[Path] | dict[Path, None]) -> str:
    return " ".join(shell_word(as_operand(str(path))) for path in paths)


def _hold(settings: Sequence[tuple[GpuSetting, str]], device: int) -> Iterator[str]:
    """Yield the lines that change settings, and restore them at the end; the highest clock or old limit is read then."""
    smi = f"nvidia-smi -i {device}"
    changes, restores = [], []
    if settings:
        yield "export CUDA_DEVICE_ORDER=PCI_BUS_ID  # the order in which nvidia-smi counts"
        yield f'[ -z "${{CUDA_VISIBLE_DEVICES:-}}" ] || fail 2 "unset CUDA_VISIBLE_DEVICES: {_COUNTS}"'
    for setting, asked in settings:
        query = f"{smi} --query-gpu={setting.query} --format=csv,noheader,nounits"
        failed = f"|| echo 'the {setting.noun} {setting.verb} not {setting.done}' >&2"
        if not setting.restore:
            yield f"before=$({query})"
            changes.append(f"{smi} {setting.change} {asked} {failed}")
            restores.append(f'{smi} {setting.change} "$before"')
            continue
        value = '"$mhz,$mhz"' if asked == MAX else f"{asked},{asked}"
        read = f"mhz=$({query}); " if asked == MAX else ""
        changes.append(f"{read}{smi} {setting.change} {value} {failed}")
        restores.append(f"{smi} {setting.restore}")
    if changes:
        yield f"restore() {{ {'; '.join(reversed(restores))}; }}"
        yield _ON_EXIT
        yield from changes
