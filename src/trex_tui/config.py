"""User files: paths of configuration and settings, and the reader of configuration.

Configuration is `trex-tui.toml`, and the table `tool.trex-tui` of a `pyproject.toml`. Both are written by users: the program
reads them, and writes to one only on request. Settings are remembered choices, which the program writes itself
(`screens.settings`).
"""

from __future__ import annotations

import errno
import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trex_tui.artifacts.input_files import open_bytes, read_fully
from trex_tui.errors import TrexError
from trex_tui.text import printable

NAME = "trex-tui"


def settings_file(environ: Mapping[str, str]) -> Path | None:
    """Return the file of remembered choices; None without a home directory."""
    return _in_home(environ, "XDG_CONFIG_HOME", ".config", "user_config_path", "settings.json")


def recent_file(environ: Mapping[str, str]) -> Path | None:
    """Return the list of recently opened engines; None without a home directory."""
    return _in_home(environ, "XDG_STATE_HOME", ".local/state", "user_state_path", "recent.json")


def cache_directory(environ: Mapping[str, str]) -> Path | None:
    """Return the directory of files that can be made again; None without a home directory."""
    file = _in_home(environ, "XDG_CACHE_HOME", ".cache", "user_cache_path", "")
    return None if file is None else Path(file)


def hosts_file(environ: Mapping[str, str]) -> Path | None:
    """Return the record of machines that captured sets over ssh; None without a home directory."""
    return _in_home(environ, "XDG_STATE_HOME", ".local/state", "user_state_path", "hosts.json")


def _in_home(environ: Mapping[str, str], variable: str, below: str, finder: str, file: str) -> Path | None:
    """Return a file in a directory of the XDG specification, which requires to ignore a relative path in the variable."""
    stated, home = Path(environ.get(variable, "")), Path(environ.get("HOME", ""))
    if stated.is_absolute():
        return stated / NAME / file
    if home.is_absolute():
        return home / below / NAME / file
    import platformdirs  # Windows has no HOME

    try:
        directory: Path = getattr(platformdirs, finder)(NAME, appauthor=False)
    except (OSError, RuntimeError, KeyError):
        return None
    return directory / file if directory.is_absolute() else None


CONFIG_NAME = "trex-tui.toml"
PROJECT_NAME = "pyproject.toml"
_MOST_BYTES = 16 << 20
"""Larger than any real configuration."""
_PROJECT_TABLE = ("tool", "trex-tui")


@dataclass(frozen=True, slots=True)
class ConfigTable:
    """Configuration in a file.

    Attributes:
        path: The file.
        prefix: Prefix of every key of the table in the file: `tool.trex-tui.`, or empty.
        values: The table.
    """

    path: Path
    prefix: str
    values: Mapping[str, Any]

    def place(self, key: str) -> str:
        return f"{self.path}: {self.prefix}{printable(key)}"


def config_files(environ: Mapping[str, str]) -> list[Path]:
    """Return the configuration files in increasing precedence: beside the settings, then in the current directory."""
    here = [Path(PROJECT_NAME), Path(CONFIG_NAME)]
    settings = settings_file(environ)
    return [settings.with_name(CONFIG_NAME), *here] if settings else here


def config_tables(environ: Mapping[str, str]) -> list[ConfigTable]:
    """Return the tables of the existing configuration files, in increasing precedence.

    Raises:
        TrexError: A file cannot be read or parsed, except a `pyproject.toml` that never names this program.
    """
    files = [path for path in config_files(environ) if path.is_file() and not _is_of_others(path)]
    return [read_config(path) for path in files]


def _is_of_others(path: Path) -> bool:
    if path.name != PROJECT_NAME:
        return False
    try:
        return _PROJECT_TABLE[-1].encode() not in read_content(path)
    except OSError:
        return True


def read_content(path: Path) -> bytes:
    """Return the content of a user file; the path may lead to a device.

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
    root = read_toml(path)
    if path.name != PROJECT_NAME:
        return ConfigTable(path, "", root)
    table: Any = root
    for depth, key in enumerate(_PROJECT_TABLE, 1):
        table = table.get(key, {})
        if not isinstance(table, dict):
            raise TrexError(f"{path}: {'.'.join(_PROJECT_TABLE[:depth])} must be a table")
    return ConfigTable(path, f"{'.'.join(_PROJECT_TABLE)}.", table)


def read_toml(path: Path) -> dict[str, Any]:
    """Return the root table of a file.

    Raises:
        TrexError: As `read_config`.
    """
    reader = _toml_reader(path)
    try:
        text = read_content(path).decode("utf-8")
    except OSError as error:
        raise TrexError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise TrexError(f"{path}: is not valid TOML (it is not UTF-8)") from error
    return _parsed(reader, text, path)


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """Return the root table of the content, or future content, of a file.

    Raises:
        TrexError: As `read_config`.
    """
    return _parsed(_toml_reader(path), text, path)


def _toml_reader(path: Path) -> Any:  # noqa: ANN401 - a module
    for module in ("tomllib", "tomli"):
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError:
            continue
    raise TrexError(f"{path}: TOML needs Python 3.11 or the package tomli; or use command-line options")


def _parsed(reader: Any, text: str, path: Path) -> dict[str, Any]:  # noqa: ANN401 - a module
    try:
        root: dict[str, Any] = reader.loads(text)
    except (ValueError, RecursionError) as error:
        raise TrexError(f"{path}: is not valid TOML ({' '.join(str(error).split())})") from error
    return root
