"""User files: paths of configuration and settings, and the reader of configuration.

Configuration is `trex-tui.toml`, and the table `tool.trex-tui` of a `pyproject.toml`. Both are written by users: the program
reads them, and writes to one only on request. Settings are remembered choices, which the program writes itself
(`screens.settings`).
"""

from __future__ import annotations

import errno
import importlib
import os
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trex_tui.old.artifacts.input_files import open_bytes, read_fully
from trex_tui.old.errors import TrexError, describe_os_error
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.lazy_pattern import lazy_pattern
from trex_tui.old.text import printable

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
_HAS_TABLE = lazy_pattern(
    rb"""\btool["']?[ \t]*(?:\.[ \t]*["']?trex-tui\b|\][ \t]*(?:#.*)?$|=)""", re.MULTILINE
)
"""Part of every `pyproject.toml` with a table of this program: its path, or a table `tool` that may have it. Parsing takes
10 ms."""
NOT_UTF_8 = "is not valid TOML (it is not UTF-8); save it as UTF-8"


@dataclass(frozen=True, slots=True)
class ConfigTable:
    """Configuration in a file.

    Attributes:
        path: The file.
        prefix: Prefix of every key of the table in the file: `tool.trex-tui.`, or empty.
        values: The table.
        text: The file's text, in which messages find the line of a key.
    """

    path: Path
    prefix: str
    values: Mapping[str, Any]
    text: str = ""

    def place(self, key: str) -> ConfigPlace:
        return ConfigPlace(self, key)


@dataclass(frozen=True, slots=True)
class ConfigPlace:
    """A key of a configuration file; as text the beginning of a message: `trex-tui.toml:12: lint.select`.

    Attributes:
        key: Path of the key below the table, with indices from 1 of repeated tables: `lint.suppress[2].layers`; empty for the
            table itself.
        inner: Key below it whose line is stated instead, if it is in the file.
    """

    table: ConfigTable
    key: str
    inner: str = ""

    def below(self, key: str) -> ConfigPlace:
        return ConfigPlace(self.table, f"{self.key}{key}")

    def at(self, inner: str) -> ConfigPlace:
        """Return the place with the line of a key below it."""
        return ConfigPlace(self.table, self.key, inner)

    @property
    def name(self) -> str:
        """The place without its line: `trex-tui.toml: lint.select`."""
        return f"{self.table.path}{self._shown_key}"

    @property
    def _shown_key(self) -> str:
        return f": {self.table.prefix}{printable(self.key)}" if self.key else ""

    def __str__(self) -> str:
        whole = self.table.prefix + ".".join(filter(None, (self.key, self.inner)))
        line = find_line(self.table.text, whole)
        return f"{self.table.path}:{line}{self._shown_key}" if line else self.name


_TOML_KEY = r"""[\w-]+|"[^"\n]*"|'[^'\n]*'"""
_TOML_PATH = rf"(?:{_TOML_KEY})(?:\s*\.\s*(?:{_TOML_KEY}))*"
_TOML_LINE = lazy_pattern(rf"\s*(?:(?P<mark>\[\[?)\s*(?P<table>{_TOML_PATH})\s*\]|(?P<key>{_TOML_PATH})\s*=)")


def find_line(text: str, key: str) -> int | None:
    """Return the line of a key in TOML, from 1; the line of the nearest table around it if it has none, else None.

    A line `key =` inside a string of several lines counts as a key: such strings are rare in a configuration.
    """
    counts: Counter[str] = Counter()
    lines: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if (match := _TOML_LINE.match(line)) is None:
            continue
        path = ".".join(part.strip("\"'") for part in re.findall(_TOML_KEY, match["table"] or match["key"]))
        if match["mark"] == "[[":
            counts[path] += 1
            lines.setdefault(path, number)
            path = f"{path}[{counts[path]}]"
        if match["mark"]:
            table = f"{path}."
        else:
            path = table + path
        lines.setdefault(path, number)
    around = [path for path in lines if key == path or key.startswith((f"{path}.", f"{path}["))]
    return lines[max(around, key=len)] if around else None


def config_files(environ: Mapping[str, str]) -> list[Path]:
    """Return the configuration files in increasing precedence: beside the settings, then in the current directory."""
    here = [Path(PROJECT_NAME), Path(CONFIG_NAME)]
    settings = settings_file(environ)
    return [settings.with_name(CONFIG_NAME), *here] if settings else here


def config_tables(environ: Mapping[str, str]) -> list[ConfigTable]:
    """Return the tables of the existing configuration files, in increasing precedence.

    Raises:
        TrexError: A file cannot be read or parsed, except a `pyproject.toml` without a table of this program.
    """
    files = [path for path in config_files(environ) if path.is_file() and not _is_of_others(path)]
    return [read_config(path) for path in files]


def _is_of_others(path: Path) -> bool:
    if path.name != PROJECT_NAME:
        return False
    try:
        content = read_content(path)
        return _PROJECT_TABLE[-1].encode() not in content or not _HAS_TABLE.search(content)
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
    text = _read_text(path)
    root = parse_toml(text, path)
    if path.name != PROJECT_NAME:
        return ConfigTable(path, "", root, text)
    table: Any = root
    for depth, key in enumerate(_PROJECT_TABLE, 1):
        table = table.get(key, {})
        if not isinstance(table, dict):
            name = ".".join(_PROJECT_TABLE[:depth])
            place = ConfigTable(path, "", root, text).place(name)
            raise TrexError(f"{place} must be a table; write [{'.'.join(_PROJECT_TABLE)}]")
    return ConfigTable(path, f"{'.'.join(_PROJECT_TABLE)}.", table, text)


def _read_text(path: Path) -> str:
    try:
        return read_content(path).decode("utf-8")
    except OSError as error:
        raise TrexError(f"{path}: {describe_os_error(error)}") from error
    except ValueError as error:
        raise TrexError(f"{path}: {NOT_UTF_8}") from error


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """Return the root table of the content, or future content, of a file.

    Raises:
        TrexError: As `read_config`.
    """
    try:
        root: dict[str, Any] = _toml_reader(path).loads(text)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        line = re.search(r"\(at line (\d+),", reason)
        raise TrexError(
            f"{path}{f':{line[1]}' if line else ''}: is not valid TOML ({reason}); correct the syntax"
        ) from error
    return root


def _toml_reader(path: Path) -> Any:  # noqa: ANN401 - a module
    for module in ("tomllib", "tomli"):
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError:
            continue
    raise TrexError(f"{path}: TOML needs Python 3.11 or the package tomli; or use command-line options")
