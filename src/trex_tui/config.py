"""User files: configuration that users write, and the places of what the program remembers.

Configuration is `trex-tui.toml`, and the table `tool.trex-tui` of a `pyproject.toml`.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from trex_tui.artifacts.open import open_bytes, read_fully
from trex_tui.errors import TrexError, describe_os_error
from trex_tui.text import printable

NAME = "trex-tui"
CONFIG_NAME = "trex-tui.toml"
PROJECT_NAME = "pyproject.toml"
_PROJECT_TABLE = ("tool", "trex-tui")
_MOST_BYTES = 16 << 20
"""Larger than any real configuration."""


def config_path(name: str) -> Path:
    """Return a file of the user's configuration."""
    return _find_home("XDG_CONFIG_HOME", platformdirs.user_config_path) / name


def state_path(name: str) -> Path:
    """Return a file of what the program remembers."""
    return _find_home("XDG_STATE_HOME", platformdirs.user_state_path) / name


def _find_home(variable: str, default: Any) -> Path:  # noqa: ANN401 - a function of platformdirs
    stated = Path(os.environ.get(variable, ""))
    # The specification of XDG requires to ignore a relative path.
    return stated / NAME if stated.is_absolute() else Path(default(NAME, appauthor=False))


@dataclass(frozen=True, slots=True)
class ConfigTable:
    """Configuration in a file.

    Attributes:
        prefix: Prefix of every key of the table in the file: `tool.trex-tui.`, or empty.
        values: The table.
        text: The file's text, in which messages find the line of a key.
    """

    path: Path
    prefix: str
    values: Mapping[str, Any]
    text: str = ""

    def place(self, key: str) -> str:
        """Return the beginning of a message about a key: `trex-tui.toml:12: lint.select`."""
        line = _find_line(self.text, key)
        return f"{self.path}{f':{line}' if line else ''}: {self.prefix}{printable(key)}"


def _find_line(text: str, key: str) -> int | None:
    """Return the line of a key, from 1; of the table that should have it, if it is missing; None without one.

    Each part of the key is looked for behind that of the part before, left of any `=`; `suppress[2]` is the second one.
    """
    lines, place, found = text.split("\n"), 0, None
    for part in key.split("."):
        name, _, number = part.rstrip("]").partition("[")
        pattern = re.compile(rf"[^=#]*(?<![\w-]){re.escape(name)}(?![\w-])")
        hits = [number for number in range(place, len(lines)) if pattern.match(lines[number])]
        if which := int(number or 1) if hits else 0:
            place = found = hits[min(which, len(hits)) - 1]
    return None if found is None else found + 1


def read_configuration() -> list[ConfigTable]:
    """Return the tables of the existing configuration files, in increasing precedence.

    Raises:
        TrexError: A file cannot be read or parsed, except a `pyproject.toml` without a table of this program.
    """
    files = (config_path(CONFIG_NAME), Path(PROJECT_NAME), Path(CONFIG_NAME))
    return [read_config(path) for path in files if path.is_file() and not _is_of_others(path)]


def _is_of_others(path: Path) -> bool:
    if path.name != PROJECT_NAME:
        return False
    try:
        return _PROJECT_TABLE[-1].encode() not in _read(path)
    except OSError:
        return True


def _read(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        OSError: It cannot be read, or is too large.
    """
    with open_bytes(path, may_be_pipe=True) as file:
        data = read_fully(file, _MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return data


def read_config(path: Path) -> ConfigTable:
    """Return the configuration of one file.

    Raises:
        TrexError: The file cannot be read or parsed, or this Python (3.10 without tomli) has no reader for TOML.
    """
    try:
        text = _read(path).decode("utf-8")
    except OSError as error:
        raise TrexError(f"{path}: {describe_os_error(error)}") from error
    except ValueError as error:
        raise TrexError(f"{path}: is not valid TOML (it is not UTF-8); save it as UTF-8") from error
    root = parse_toml(text, path)
    if path.name != PROJECT_NAME:
        return ConfigTable(path, "", root, text)
    table: Any = root
    for depth, key in enumerate(_PROJECT_TABLE, 1):
        table = table.get(key, {})
        if not isinstance(table, dict):
            place = ConfigTable(path, "", root, text).place(".".join(_PROJECT_TABLE[:depth]))
            raise TrexError(f"{place} must be a table; write [{'.'.join(_PROJECT_TABLE)}]")
    return ConfigTable(path, f"{'.'.join(_PROJECT_TABLE)}.", table, text)


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """Return the root table of the content of a file.

    Raises:
        TrexError: As `read_config`.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        try:
            import tomli as tomllib
        except ModuleNotFoundError:
            message = f"{path}: TOML needs Python 3.11 or the package tomli; or use command-line options"
            raise TrexError(message) from None
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        line = re.search(r"\(at line (\d+),", reason)
        where = f"{path}{f':{line[1]}' if line else ''}"
        raise TrexError(f"{where}: is not valid TOML ({reason}); correct the syntax") from error
