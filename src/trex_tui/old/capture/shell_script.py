"""Render the commands of a capture as a POSIX shell script, for `--dry-run`.

The script writes the files of the capture, except those that trex-tui writes: the manifest, and the metadata from the logs.
For another machine it uses ssh; the part that runs there is between `<<'EOF'` and `EOF`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from trex_tui._version import __version__
from trex_tui.old.capture.clocks import MAX, ClockLockAttempt, GpuSetting
from trex_tui.old.capture.manifest import run_key
from trex_tui.old.capture.plan import BUILD, RunPlan
from trex_tui.old.capture.ssh import Sent, Ssh
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import printable

_DIRECTORY = "/tmp/trex-tui.XXXXXXXXXX"
_FAIL = r"""fail() { printf '%s\n' "$2" >&2; exit "$1"; }"""
_RUN = r"""run() { # LOG COMMAND...: the output goes to the screen and to LOG
    log=$1; shift
    code=$({ { c=0; "$@" </dev/null 2>&1 3>&- 4>&- || c=$?; echo "$c" >&3; } | tee -- "$log" >&4 3>&-; } 3>&1)
    [ "$code" = 0 ] || fail 3 "exit code $code; the output is in $log"
}"""
_ABSENT = (
    r"""absent() { for file do [ ! -e "$file" ] || """
    r"""fail 2 "$file exists; --force prints a script that overwrites"; done; }"""
)
_WHOLE = (
    r"""whole() { for file do [ -s "$file" ] || fail 3 "$file was not written; is the disk full?"; done; }"""
)
_ON_EXIT = "trap 'exit 129' HUP; trap 'exit 130' INT; trap 'exit 143' TERM"


@dataclass(frozen=True, slots=True)
class GpuCommand:
    """Commands that hold a GPU setting during the runs.

    Attributes:
        change: Command that changes the setting, as a line of the script.
        restore: Command that restores it.
        before: Commands that must run before both.
    """

    change: str
    restore: str
    before: str = ""


def held_command(lock: ClockLockAttempt) -> GpuCommand:
    """Return the lines for a setting whose GPU and values are known."""
    smi = f"nvidia-smi -i {shell_word(str(lock.gpu))}"
    failed = _failed(lock.setting)
    return GpuCommand(
        f"{smi} {' '.join(lock.change)} {failed}",
        f"{smi} {' '.join(lock.restore)}",
    )


def gpu_command(gpu: str, setting: GpuSetting, asked: str) -> GpuCommand:
    """Return the lines for a machine that is not queried now: the script reads the highest clock or the old limit."""
    smi = f"nvidia-smi -i {shell_word(gpu)}"
    query = f"$({smi} --query-gpu={setting.query} --format=csv,noheader,nounits)"
    failed = _failed(setting)
    if not setting.restore:
        return GpuCommand(
            f"{smi} {setting.change} {asked} {failed}", f'{smi} {setting.change} "$before"', f"before={query}"
        )
    if asked != MAX:
        return GpuCommand(f"{smi} {setting.change} {asked},{asked} {failed}", f"{smi} {setting.restore}")
    line = f'mhz={query}; {smi} {setting.change} "$mhz,$mhz" {failed}'
    return GpuCommand(line, f"{smi} {setting.restore}")


def _failed(setting: GpuSetting) -> str:
    return f"|| echo 'the {setting.noun} {setting.verb} not {setting.done}' >&2"


@dataclass(frozen=True, slots=True)
class ScriptPlan:
    """Content of the script for one machine.

    Attributes:
        runs: Runs with paths of that machine, relative to the work directory of the script.
        outdir: Local directory of the set.
        set_files: Local files of the set.
        settings: GPU settings.
        timeout_s: Longest duration of a run.
        force: Overwrite files of the set.
    """

    runs: Sequence[RunPlan | FileCopy]
    outdir: Path
    set_files: Sequence[Path]
    settings: Sequence[GpuCommand] = ()
    timeout_s: float | None = None
    force: bool = False


@dataclass(frozen=True, slots=True)
class FileCopy:
    """A file of one set that belongs to another set too."""

    source: Path
    target: Path


def share_engines(plans: Iterable[Sequence[RunPlan]]) -> list[RunPlan | FileCopy]:
    """Return the runs of several captures in order; a shared engine is built once and copied with its log."""
    steps: list[RunPlan | FileCopy] = []
    builds: dict[tuple[str, ...], RunPlan] = {}
    for runs in plans:
        for run in runs:
            first = builds.setdefault(tuple(run_key(run)), run) if run.role == BUILD else run
            if first is run:
                steps.append(run)
            else:
                steps += [FileCopy(first.engine, run.engine), FileCopy(first.log, run.log)]
    return steps


def render_script(plan: ScriptPlan, title: str) -> str:
    """Return the script for this machine.

    Args:
        title: Subject of the capture, for the comment at the top.
    """
    return _script(
        title,
        (_RUN, _WHOLE, *(() if plan.force else (_ABSENT,))),
        [
            *_checks(plan),
            *_body(plan),
            _next(plan),
        ],
    )


def render_remote_script(
    plan: ScriptPlan,
    title: str,
    ssh: Ssh,
    sent: Sequence[Sent],
    fetched: Sequence[tuple[str, Path]] = (),
) -> str:
    """Return the script for another machine, to be run here.

    Args:
        plan: Plan with remote paths.
        sent: Files to send; their directories are relative.
        fetched: Files fetched in addition to the set: remote path, local path.
    """
    remote = shell_word(ssh.host)
    config = "" if ssh.config is None else f"-F {shell_word(ssh.config)} "
    command, quiet = f"ssh {config}-- {remote}", f"ssh -n {config}-- {remote}"
    lines = [
        *_checks(plan),
        f"there=$({quiet} 'umask 077; mktemp -d {_DIRECTORY}')",
        f"host={remote}",
        """trap 'echo "partial results are in $host:$there" >&2' EXIT""",
        _ON_EXIT,
    ]
    lines += [
        f'{command} "cat >$there/{number}" < {shell_word(_operand(file.source))}'
        for number, file in enumerate(sent)
    ]
    there = ["set -eu", _FAIL, _RUN, _WHOLE, 'cd "$1"']
    there += [
        f"mkdir -p -- {shell_word(file.directory)}; mv {number} {shell_word(file.path)}"
        for number, file in enumerate(sent)
    ]
    there += _body(plan)
    lines += [f"{command} sh -s \"$there\" <<'EOF'", *_with_newline(there), "EOF"]
    back = " ".join(shell_word(f"./{path.relative_to(plan.outdir)}") for path in plan.set_files)
    directory = shell_word(_operand(plan.outdir))
    lines += [
        f"mkdir -p -- {directory}",
        f"{command} sh -s \"$there\" <<'EOF' | tar -xf - -C {directory}",
        *_with_newline(['cd "$1"', f"exec tar -cf - {back}"]),
        "EOF",
        f"whole {' '.join(shell_word(_operand(path)) for path in plan.set_files)}",
    ]
    lines += [
        f'if {quiet} "test -f $there/{path}"; then {quiet} "cat $there/{path}" > {shell_word(_operand(here))}; fi'
        for path, here in fetched
    ]
    lines += ["trap - EXIT", f'{quiet} "rm -rf $there"', _next(plan)]
    return _script(title, (_WHOLE, *(() if plan.force else (_ABSENT,))), lines)


def set_files(runs: Sequence[RunPlan | FileCopy], *, with_engine: bool = True) -> list[Path]:
    """Return the files that the runs write, in order."""
    files: list[Path] = []
    for run in runs:
        if isinstance(run, FileCopy):
            files += [run.target] if with_engine or run.target.suffix == ".log" else []
            continue
        if run.role == BUILD and with_engine:
            files.append(run.engine)
        files += [run.log, *(path for _, path in run.exports)]
    return files


def shell_word(text: str) -> str:
    """Quote a word for any POSIX shell, on one line; `$nl` is a newline.

    Control characters and bytes that are not UTF-8 are made by `printf`.
    """
    if text and all((char.isalnum() and char.isascii()) or char in "@%+=:,./-_" for char in text):
        return text
    pieces: list[str] = []
    plain = ""
    for char in text:
        if char.isprintable() and char != "'":
            plain += char
            continue
        pieces += [f"'{plain}'"] if plain else []
        plain = ""
        pieces.append({"'": "\\'", "\n": '"$nl"'}.get(char) or f"\"$(printf '{_octal(char)}')\"")
    pieces += [f"'{plain}'"] if plain or not pieces else []
    return "".join(pieces)


def _octal(char: str) -> str:
    try:
        data = os.fsencode(char)
    except UnicodeEncodeError:
        data = char.encode("utf-8", errors="surrogatepass")
    return "".join(f"\\{byte:03o}" for byte in data)


def _operand(path: Path) -> str:
    """Return a path that no program mistakes for an option."""
    return f"./{path}" if str(path).startswith("-") else str(path)


def _script(title: str, functions: Iterable[str], lines: Sequence[str]) -> str:
    head = [
        "#!/bin/sh",
        f"# {printable(title)} (trex-tui {__version__})",
        "# The set lacks *.capture.json and *.metadata.json, which only trex-tui capture writes; the logs have most of it.",
        "set -eu",
    ]
    body = [*head, _FAIL, *functions, *lines]
    return "\n".join([*head, *_with_newline(body[len(head) :])]) + "\n"


def _with_newline(lines: Sequence[str]) -> list[str]:
    """Return the lines, after a definition of `$nl` if they use it."""
    return [*(["nl='", "'"] if any('"$nl"' in line for line in lines) else []), *lines]


def _checks(plan: ScriptPlan) -> Iterator[str]:
    if not plan.force:
        yield "absent " + " ".join(shell_word(_operand(path)) for path in plan.set_files)


def _body(plan: ScriptPlan) -> list[str]:
    """Return the lines that execute the runs, on the machine that measures."""
    folders = dict.fromkeys(
        (run.target if isinstance(run, FileCopy) else run.log).parent for run in plan.runs
    )
    lines = [f"mkdir -p -- {' '.join(shell_word(_operand(folder)) for folder in folders)}", "exec 4>&1"]
    if plan.settings:
        restore = "; ".join(setting.restore for setting in reversed(plan.settings))
        lines += [setting.before for setting in plan.settings if setting.before]
        lines += [f"restore() {{ {restore}; }}", "trap restore EXIT", _ON_EXIT]
        lines += [setting.change for setting in plan.settings]
    limit = () if plan.timeout_s is None else ("timeout", "-k", "5", f"{plan.timeout_s:g}")
    for run in plan.runs:
        if isinstance(run, FileCopy):
            source, target = (shell_word(_operand(path)) for path in (run.source, run.target))
            lines.append(f"cp -- {source} {target}")
            continue
        words = " ".join(shell_word(word) for word in (*limit, *run.argv))
        lines.append(f"run {shell_word(_operand(run.log))} {words}")
        files = [run.engine] if run.role == BUILD else [path for _, path in run.exports]
        lines.append("whole " + " ".join(shell_word(_operand(path)) for path in files))
    return lines


def _next(plan: ScriptPlan) -> str:
    return f"printf 'next: trex-tui %s\\n' {shell_word(_operand(plan.outdir))} >&2"
