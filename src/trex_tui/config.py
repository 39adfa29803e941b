"""Configuration files: where they lie, and the tables in them that are ours.

`trex-tui.toml` is ours altogether; of a `pyproject.toml` the table `tool.trex-tui` is. They are for people: the program
reads them, and writes to one only when asked.
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


CONFIG_NAME = "trex-tui.toml"
PROJECT_NAME = "pyproject.toml"
_MOST_BYTES = 16 << 20
_PROJECT_TABLE = ("tool", "trex-tui")


@dataclass(frozen=True, slots=True)
class ConfigTable:
    """What a file configures.

    Attributes:
        path: The file.
        prefix: What stands before every key of the table in the file: `tool.trex-tui.`, or nothing.
        values: The table.
    """

    path: Path
    prefix: str
    values: Mapping[str, Any]

    def place(self, key: str) -> str:
        return f"{self.path}: {self.prefix}{printable(key)}"


def config_files(environ: Mapping[str, str]) -> list[Path]:
    """Where configuration is read from, the strongest last: the XDG configuration directory, then the current directory."""
    here = [Path(PROJECT_NAME), Path(CONFIG_NAME)]
    stated, home = environ.get("XDG_CONFIG_HOME"), environ.get("HOME")
    if stated or home:
        base = Path(stated) if stated else Path(home or "", ".config")
        return [base / "trex-tui" / CONFIG_NAME, *here]
    settings = settings_file(environ)  # Windows has no HOME: beside what the program keeps there
    return [settings.with_name(CONFIG_NAME), *here] if settings else here


def config_tables(environ: Mapping[str, str]) -> list[ConfigTable]:
    """What the configuration files there are say, the strongest last.

    Raises:
        TrexError: A file cannot be read or understood. Of a `pyproject.toml` that never names this program nobody asks.
    """
    files = [path for path in config_files(environ) if path.is_file() and not _is_of_others(path)]
    return [read_config(path) for path in files]


def _is_of_others(path: Path) -> bool:
    if path.name != PROJECT_NAME:
        return False
    try:
        return _PROJECT_TABLE[-1].encode() not in _content(path)
    except OSError:
        return True


def _content(path: Path) -> bytes:
    """What a file holds, unless that is more than anybody writes: the path may be one of a device.

    Raises:
        OSError: It cannot be read, or is too large.
    """
    with open_bytes(path, may_be_pipe=True) as file:
        data = read_fully(file, _MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return data


def read_config(path: Path) -> ConfigTable:
    """What one file configures.

    Raises:
        TrexError: The file cannot be read or understood, or this Python (3.10 without tomli) has no reader for TOML.
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
    """The root table of a file.

    Raises:
        TrexError: As `read_config`.
    """
    reader = _toml_reader(path)
    try:
        text = _content(path).decode("utf-8")
    except OSError as error:
        raise TrexError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise TrexError(f"{path}: is not valid TOML (it is not UTF-8)") from error
    return _parsed(reader, text, path)


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """The root table of a text that is, or is to become, that of a file.

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
    raise TrexError(f"{path}: reading TOML needs Python 3.11 or the package tomli; or state it as an option")


def _parsed(reader: Any, text: str, path: Path) -> dict[str, Any]:  # noqa: ANN401 - a module
    try:
        root: dict[str, Any] = reader.loads(text)
    except (ValueError, RecursionError) as error:
        raise TrexError(f"{path}: is not valid TOML ({' '.join(str(error).split())})") from error
    return root
