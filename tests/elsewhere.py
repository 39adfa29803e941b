"""Plays Windows, as far as Python lets itself be fooled: hides the modules and names that it lacks.

    elsewhere.py COMMANDS   import every module of the program, run the JSON list of command lines; prints how many, and codes

The libraries are imported first, as what they are on this system: it is our own code that is tried.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import pkgutil
import signal
import sys

LIBRARIES = (
    "asyncio.unix_events subprocess tempfile zipfile networkx numpy.typing pandas rich.live rich.progress textual.app "
    "textual.widgets altair"
)
MODULES = "fcntl termios tty pty resource pwd grp posix readline syslog curses"
OF_OS = (
    "sched_getaffinity getuid geteuid getgid killpg setsid fork mkfifo set_blocking O_CLOEXEC O_NOFOLLOW waitid P_PID "
    "WNOWAIT WEXITED uname statvfs chown"
)
OF_SIGNAL = "SIGHUP SIGKILL SIGTSTP SIGCONT SIGWINCH SIGUSR1 SIGPIPE SIGALRM SIGCHLD alarm"
ABSENT = ("__main__", "posix_driver", "web_server", "agent.server")
"""Modules that need what Windows lacks, or optional libraries that take Windows' own modules."""


def hide() -> None:
    """Take away what Windows lacks."""
    sys.modules.update(dict.fromkeys(MODULES.split()))  # type: ignore[arg-type]
    # shutil uses O_NONBLOCK from 3.13 on, where the interpreter was built for another system than Windows.
    flags = ["O_NONBLOCK"] if sys.version_info < (3, 13) else []
    for module, names in ((os, [*OF_OS.split(), *flags]), (signal, OF_SIGNAL.split())):
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    sys.platform = "win32"


def import_all() -> int:
    """Import every module of the program; extras may be absent."""
    import trex_tui

    names = [module.name for module in pkgutil.walk_packages(trex_tui.__path__, "trex_tui.")]
    wanted = [name for name in names if not name.endswith(ABSENT)]
    for name in wanted:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as missing:
            if missing.name not in ("altair", "jinja2", "vl_convert"):
                raise
    return len(wanted) + 1


class Windows:
    """The module `os` with the name of Windows, for our commands and not for pathlib: paths stay what they are."""

    name = "nt"

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)


def run(command: list[str]) -> int:
    from trex_tui.cli import accuracy, capture, doctor
    from trex_tui.cli.main import main

    for module in (accuracy, capture, doctor):
        module.os = Windows()  # type: ignore[assignment]
    with contextlib.redirect_stdout(io.StringIO()):
        return int(main(command))


if __name__ == "__main__":
    for library in LIBRARIES.split():
        importlib.import_module(library)
    hide()
    print(import_all(), *map(run, json.loads(sys.argv[1])))  # noqa: T201
