"""Where settings and the list of recent engines lie, and how files are written."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

NAME = "trex-tui"


def settings_file(environ: Mapping[str, str]) -> Path | None:
    """The settings of a person; None where there is no home to keep them in."""
    return _in_home(environ, "XDG_CONFIG_HOME", "user_config_path", "settings.json")


def recent_file(environ: Mapping[str, str]) -> Path | None:
    """The list of recently opened engines; None where there is no home to keep it in."""
    return _in_home(environ, "XDG_STATE_HOME", "user_state_path", "recent.json")


def _in_home(environ: Mapping[str, str], variable: str, finder: str, file: str) -> Path | None:
    """As the XDG specification says: a relative path in the variable does not count."""
    stated = Path(environ.get(variable, ""))
    if stated.is_absolute():
        return stated / NAME / file
    import platformdirs

    try:
        found: Path = getattr(platformdirs, finder)(NAME, appauthor=False)
    except (OSError, RuntimeError, KeyError):
        return None
    return found / file if found.is_absolute() else None


def write_atomically(path: Path, content: str | bytes, *, make_directory: bool = False) -> None:
    """Write a file so that at any moment there is either the old or the new one, whole.

    Text is written as UTF-8, what that lacks (lone surrogates) as its escape. A link stays a link: its target is replaced.

    Raises:
        OSError: It cannot be written; nothing is left behind.
    """
    target = Path(os.path.realpath(path))
    if make_directory:
        target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{NAME}-{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content)
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def write_new(path: Path, text: str) -> None:
    """Write a file that must not be there yet, whole or not at all.

    Raises:
        OSError: It is there, or cannot be written; nothing is left behind.
    """
    with path.open("x", encoding="utf-8", errors="backslashreplace") as file:
        try:
            file.write(text)
            file.flush()
        except BaseException:
            with contextlib.suppress(OSError):
                path.unlink()
            raise


def reason(error: OSError) -> str:
    """Why something could not be read or written, as the system says it."""
    return error.strerror or str(error) or type(error).__name__
