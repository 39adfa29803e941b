"""Report internal errors: a sentence for the user, and the details for the log file, if one is given.

`--log-file FILE` or `TREX_TUI_LOG=FILE` names the file. It is created or appended to; a non-empty file that does not begin as
a log of trex-tui is never written to. It gets the traceback, the command, versions and facts of the terminal; no local
variables, so that names of layers are in it only if the message of an error quotes them.
"""

from __future__ import annotations

import os
import shlex
import stat
import sys
import threading
import traceback
from pathlib import Path

from trex_tui._version import __version__
from trex_tui.old.errors import ExitCode, TrexError
from trex_tui.old.text import printable

LOG_VARIABLE = "TREX_TUI_LOG"
"""Names the log file; set by `--log-file`, so that child processes use it too."""
FIRST_LINE = "# trex-tui log: internal errors\n"
"""First line of a log of trex-tui."""
_ASKED_OF_TERMINAL = (
    "TERM",
    "COLORTERM",
    "TERM_PROGRAM",
    "TMUX",
    "STY",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "NO_COLOR",
)
_LIBRARIES = ("textual", "rich", "pandas", "numpy", "networkx")
_HOW_TO_KEEP = "--log-file FILE keeps the traceback"
_written: set[str] = set()
"""Tracebacks in the log: an error repeated by every key press is logged once."""
_lock = threading.Lock()


def use_log(path: str) -> None:
    """Write details of internal errors to this file from now on. It is created on the first error.

    Raises:
        TrexError: It cannot be written, or is a foreign file.
    """
    target = Path(path).absolute()
    try:
        if target.exists():
            os.close(_open(target, create=False))
        elif not os.access(target.parent, os.W_OK | os.X_OK):
            os.close(_open(target, create=True))  # For the system's own words.
    except OSError as error:
        raise TrexError(f"--log-file: {path}: {_words_of_system(error)}") from None
    os.environ[LOG_VARIABLE] = str(target)


def sentence(error: BaseException) -> str:
    """Return the message for the user: the error itself if they can act on it; else where to read about an internal one."""
    return str(error) if isinstance(error, TrexError) else internal(error)


def internal(error: BaseException) -> str:
    """Write an internal error to the log, if there is one, and return one line about it."""
    message = str(error)
    words = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return printable(f"internal error: {words} ({_noted(error)})")


def report(error: BaseException) -> int:
    """Print an internal error that ends the program to stderr; return the exit code."""
    words = internal(error)
    try:
        sys.stderr.write(f"trex-tui: {words}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # The terminal is gone, or the stream was closed.
    return int(ExitCode.INTERNAL_ERROR)


def note(error: BaseException) -> None:
    """Write an error to the log, if there is one, without a message."""
    _noted(error)


def where_noted() -> str:
    """Return where the traceback of a logged error is, or how to log it next time."""
    log = os.environ.get(LOG_VARIABLE)
    if not log:
        return _HOW_TO_KEEP
    try:
        os.close(_open(Path(log), create=False))
    except OSError as problem:
        return f"the log {log} cannot be written: {_words_of_system(problem)}"
    return f"the traceback is in {log}"


def _noted(error: BaseException) -> str:
    log = os.environ.get(LOG_VARIABLE)
    if not log:
        return _HOW_TO_KEEP
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    try:
        with _lock:
            if trace not in _written or not Path(log).exists():
                _append(Path(log), _entry(trace))
                _written.add(trace)
    except OSError as problem:
        return f"the log {log} cannot be written: {_words_of_system(problem)}"
    return f"the traceback is in {log}"


def _words_of_system(error: OSError) -> str:
    return error.strerror or str(error)


def _open(path: Path, *, create: bool) -> int:
    """Return a descriptor to append with.

    Raises:
        OSError: The system refuses, or the file is not a log.
    """
    if path.exists() and not path.is_file():
        raise OSError("not a regular file")
    flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
    file = os.open(path, flags | (os.O_CREAT if create else 0), 0o600)
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("not a regular file")
        first = FIRST_LINE.encode()
        if status.st_size and os.read(file, len(first)) != first:
            raise OSError("is not a trex-tui log; not changed")
    except BaseException:
        os.close(file)
        raise
    return file


def _append(path: Path, entry: str) -> None:
    file = _open(path, create=True)
    try:
        text = entry if os.fstat(file).st_size else FIRST_LINE + entry
        left = text.encode("utf-8", "backslashreplace")
        while left:
            left = left[os.write(file, left) :]
    finally:
        os.close(file)


def _entry(trace: str) -> str:
    """Return the log entry of an error, without control characters."""
    from datetime import datetime, timezone

    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    lines = [
        f"== {now} trex-tui {__version__}, process {os.getpid()}",
        f"command: {shlex.join(sys.argv)}",
        f"versions: {', '.join(_versions())}",
        f"terminal: {', '.join(_terminal())}",
        *trace.splitlines(),
    ]
    return "".join(f"{printable(line)}\n" for line in lines) + "\n"


def _versions() -> list[str]:
    import platform
    from importlib import metadata

    versions = [f"Python {platform.python_version()}", platform.platform()]
    for library in _LIBRARIES:
        if library in sys.modules:
            try:
                versions.append(f"{library} {metadata.version(library)}")
            except metadata.PackageNotFoundError:
                versions.append(library)
    return versions


def _terminal() -> list[str]:
    facts = [f"{name}={os.environ[name]}" for name in _ASKED_OF_TERMINAL if name in os.environ]
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            columns, lines = os.get_terminal_size(number)
            facts.append(f"{name} {columns}x{lines}")
        except OSError:
            facts.append(f"{name} no terminal")
    return facts
