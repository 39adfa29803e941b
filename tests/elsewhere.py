"""Plays Windows, as far as Python lets itself be fooled: hides the modules and names that it lacks.

    elsewhere.py ARG ... --next ...   import every module of the program, run command lines; prints how many, and exit codes

The libraries are imported first, as what they are on this system: it is our own code that is tried.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import io
import os
import pkgutil
import signal
import sys
from collections.abc import Sequence
from types import ModuleType

EXTRAS = ("altair", "jinja2", "vl_convert")
"""Libraries that an installation may lack."""
MODULES = (
    "fcntl",
    "termios",
    "tty",
    "pty",
    "resource",
    "pwd",
    "grp",
    "posix",
    "readline",
    "syslog",
    "curses",
)
OF_OS = (
    *(
        "sched_getaffinity",
        "getuid",
        "geteuid",
        "getgid",
        "killpg",
        "setsid",
        "fork",
        "mkfifo",
        "set_blocking",
    ),
    *(
        # shutil uses it from 3.13 on, where the interpreter was built for another system than Windows.
        *(("O_NONBLOCK",) if sys.version_info < (3, 13) else ()),
        "O_CLOEXEC",
        "O_NOFOLLOW",
        "waitid",
        "P_PID",
        "WNOWAIT",
        "WEXITED",
        "uname",
        "statvfs",
        "chown",
    ),
)
OF_SIGNAL = (
    "SIGHUP",
    "SIGKILL",
    "SIGTSTP",
    "SIGCONT",
    "SIGWINCH",
    "SIGUSR1",
    "SIGPIPE",
    "SIGALRM",
    "SIGCHLD",
    "alarm",
)


class Hidden(importlib.abc.MetaPathFinder):
    """Knows nothing of the modules that are to be missed."""

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def hide() -> None:
    """Take away what Windows lacks."""
    import asyncio.unix_events  # noqa: F401
    import subprocess  # noqa: F401
    import tempfile  # noqa: F401
    import zipfile  # noqa: F401

    for name in MODULES:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, Hidden())
    for module, names in ((os, OF_OS), (signal, OF_SIGNAL)):
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    sys.platform = "win32"


def import_all() -> int:
    """Every module of the program, its libraries before."""
    # They look for the files of this system.
    libraries = (
        "networkx",
        "numpy.typing",
        "pandas",
        "rich.live",
        "rich.progress",
        "textual.app",
        "textual.widgets",
    )
    for name in libraries:
        importlib.import_module(name)
    hide()
    import trex_tui

    names = [one.name for one in pkgutil.walk_packages(trex_tui.__path__, "trex_tui.")]
    wanted = [
        name
        for name in names
        if not name.endswith(("__main__", "posix_driver", "web_server", "agent.server"))
    ]
    for name in wanted:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as missing:
            if missing.name not in EXTRAS:
                raise
    return len(wanted) + 1


def stop_on_signals() -> int:
    """As for two ONNX models, which can be compared anywhere."""
    from trex_tui.capture.process import stop_on_signals as stopping

    with stopping() as stop:
        stop.request()
        return 0 if stop.times == 1 else 1


def run(arguments: Sequence[str]) -> list[int]:
    """Run command lines that `--next` separates."""
    from trex_tui.cli.main import main

    codes, command = [], []
    for one in arguments:
        if one != "--next":
            command.append(one)
            continue
        with contextlib.redirect_stdout(io.StringIO()):
            codes.append(stop_on_signals() if command == ["--stop-on-signals"] else as_windows(main, command))
        command = []
    return codes


def as_windows(main, command: list[str]) -> int:
    """Run with the `os.name` of Windows for the commands that look at it, not for pathlib: paths stay what they are."""
    import trex_tui.cli.accuracy
    import trex_tui.cli.capture
    import trex_tui.cli.doctor

    class Os:
        name = "nt"

        def __getattr__(self, one: str) -> object:
            return getattr(os, one)

    for module in (trex_tui.cli.accuracy, trex_tui.cli.capture, trex_tui.cli.doctor):
        module.os = Os()
    return int(main(command))


if __name__ == "__main__":
    print(import_all(), *run(sys.argv[1:]))  # noqa: T201
