"""The trtexec at hand: where it is, which release it is of, and which options it has.

`--help` needs no GPU, and there is no `--version`. Its banner tells the version, its lines explain options. The table of
releases (`trtexec_flags.json`) answers for deprecated options, which `--help` hides, and for other releases than the one
at hand.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from trex_tui.artifacts.metadata import version_of_number
from trex_tui.errors import TrexError

Version = tuple[int, ...]
"""`(10, 16, 1)`: compared number by number, never as text."""


def parse_version(text: str) -> Version:
    """`10.16.1` → `(10, 16, 1)`.

    Raises:
        ValueError: It is no version.
    """
    return tuple(int(part) for part in text.split("."))


@dataclass(frozen=True, slots=True)
class FlagTable:
    """All of `trtexec_flags.json`.

    Attributes:
        releases: Known releases, oldest first, as printed and as numbers.
        known_in: Option (`--fp16`) -> indices of the releases that read it.
    """

    releases: tuple[tuple[str, Version], ...]
    known_in: Mapping[str, frozenset[int]]

    def release_index(self, version: Version) -> int:
        """Index of the newest known release that is not newer than `version`; the oldest for what is older than all."""
        older = [index for index, (_, release) in enumerate(self.releases) if release <= version]
        return older[-1] if older else 0

    def has(self, flag: str, version: Version) -> bool:
        """Whether the release that stands for `version` reads the option."""
        return self.release_index(version) in self.known_in.get(flag, frozenset())

    def is_listed(self, flag: str) -> bool:
        return flag in self.known_in

    def where(self, flag: str) -> str:
        """Which releases read the option, for people: `8.6.1 to 10.16`, `11.0 and later`; empty for an unlisted one."""
        spans: list[list[int]] = []
        for index in sorted(self.known_in.get(flag, frozenset())):
            if spans and spans[-1][1] == index - 1:
                spans[-1][1] = index
            else:
                spans.append([index, index])
        return ", ".join(self._span(first, last) for first, last in spans)

    def _span(self, first: int, last: int) -> str:
        begin, end = self.releases[first][0], self.releases[last][0]
        if last == len(self.releases) - 1:
            return f"{begin} and later"
        return begin if first == last else f"{begin} to {end}"


@lru_cache(maxsize=1)
def flag_table() -> FlagTable:
    """Read the table, once."""
    from importlib.resources import files  # 10 ms, and only needed where a capture is planned

    root = json.loads(files("trex_tui.capture").joinpath("trtexec_flags.json").read_text(encoding="utf-8"))
    names: list[str] = root["releases"]
    index_of = {name: index for index, name in enumerate(names)}
    known = {flag: frozenset(_indices(spans, index_of)) for flag, spans in root["flags"].items()}
    return FlagTable(tuple((name, parse_version(name)) for name in names), known)


def _indices(spans: str, index_of: Mapping[str, int]) -> list[int]:
    indices: list[int] = []
    for span in spans.split():
        first, last = span.split("-")
        indices.extend(range(index_of[first], index_of[last] + 1))
    return indices


_BANNER = re.compile(
    r"&&&& \w+ TensorRT\.trtexec(?: \[TensorRT v(?P<number>\d{1,9})\])?(?: \[b(?P<build>\d{1,9})\])?"
)
# An explained option stands at the margin; its explanation, which may name others, is indented far.
_EXPLAINED = re.compile(r"^ {1,4}(--\w+)[^\s,]*((?:, --?\w+)*)", re.MULTILINE)
_OLDEST: Version = (8, 2)
"""The first that exports layer information."""


class NotTrtexecError(ValueError):
    """A help text that is none of a usable trtexec; the message ends a sentence whose subject is the program."""


@dataclass(frozen=True, slots=True)
class Trtexec:
    """A trtexec that has been asked.

    Attributes:
        path: The program.
        version: `10.16.1`.
        build: Build number of the banner (`11`), which 10.4 and later print.
        explained: Options in its help text.
        found_by: How it was found: `--trtexec`, `$TRTEXEC`, `PATH`, or a directory.
    """

    path: Path
    version: str
    build: int | None
    explained: frozenset[str] = field(repr=False)
    found_by: str = ""

    @property
    def numbers(self) -> Version:
        return parse_version(self.version)

    def knows(self, flag: str) -> bool:
        """Whether it reads an option: `--help` explains it, or its release is known to read it (deprecated ones are not
        explained)."""
        return flag in self.explained or flag_table().has(flag, self.numbers)

    @property
    def is_strongly_typed_only(self) -> bool:
        """Whether precision comes out of the model alone, as from TensorRT 11 on."""
        return not self.knows("--fp16")

    @property
    def measures_by_default(self) -> bool:
        """Whether CUDA graph, spin wait, no transfers and a separate profile run are defaults, as from TensorRT 11 on."""
        return self.knows("--noCudaGraph")


def read_help(text: str, path: Path, found_by: str = "") -> Trtexec:
    """Understand what `trtexec --help` printed.

    Raises:
        NotTrtexecError: It is no help text of trtexec, or of one that is too old.
    """
    match = _BANNER.search(text)
    if match is None:
        raise NotTrtexecError("is no trtexec: its --help prints no banner of TensorRT")
    if match["number"] is None:
        raise NotTrtexecError("is of TensorRT 7 or older; capture needs 8.2 or later")
    version = version_of_number(int(match["number"]))
    if parse_version(version) < _OLDEST:
        raise NotTrtexecError(
            f"is of TensorRT {version}, which exports no layer information; capture needs 8.2 or later"
        )
    explained: set[str] = set()
    for option in _EXPLAINED.finditer(text):
        explained.add(option[1])
        explained.update(name for name in option[2].split(", ") if name.startswith("--"))
    return Trtexec(
        path, version, int(match["build"]) if match["build"] else None, frozenset(explained), found_by
    )


HELP_TIMEOUT_S = 120
"""The first start loads gigabytes of libraries, on a Jetson from an SD card."""

_FIXED = ("/usr/src/tensorrt/bin", "/opt/tensorrt/bin", "/usr/local/tensorrt/bin", "/workspace/tensorrt/bin")
"""Debian packages and Jetson; containers of NVIDIA; common places of an unpacked tar file."""
_UNPACKED = "TensorRT-*/bin"
_BELOW = ("usr/local", "opt")
_ROOT_VARIABLES = ("TENSORRT_ROOT", "TRT_ROOT", "TENSORRT_DIR")
_MISSING_LIBRARY = re.compile(r"error while loading shared libraries: (?P<library>[^:\s]+)")


class TrtexecNotFoundError(TrexError):
    """No usable trtexec; the message says where was looked."""


def find_trtexec(
    given: str | None = None, environ: Mapping[str, str] = os.environ, root: Path = Path("/")
) -> Trtexec:
    """The trtexec to use.

    Args:
        given: What a person named: the program, or the directory that holds it. Then nothing else is looked at.
        environ: Where `TRTEXEC`, `PATH`, `TENSORRT_ROOT` and `HOME` are read.
        root: What stands for `/`.

    Raises:
        TrtexecNotFoundError: There is none, or the one that a person named cannot be used.
    """
    if given:
        return ask(_named(given, "--trtexec"), "--trtexec", environ)
    if environ.get("TRTEXEC"):
        return ask(_named(environ["TRTEXEC"], "$TRTEXEC"), "$TRTEXEC", environ)
    refused: list[str] = []
    for path, found_by in candidates(environ, root):
        try:
            return ask(path, found_by, environ)
        except TrtexecNotFoundError as error:
            refused.append(str(error))
    if refused:
        raise TrtexecNotFoundError("; ".join(refused))
    places = ", ".join(_FIXED[:2])
    raise TrtexecNotFoundError(
        f"no trtexec on PATH, in {places} or a TensorRT-*/bin; name it with --trtexec or $TRTEXEC "
        "(Debian and Jetson: package libnvinfer-bin; pip wheels have none)"
    )


def candidates(environ: Mapping[str, str], root: Path = Path("/")) -> Iterator[tuple[Path, str]]:
    """Every trtexec that exists, best first, each once, with how it was found."""
    seen: set[str] = set()
    for path, found_by in _places(environ, root):
        if path.is_file() and os.access(path, os.X_OK):
            real = os.path.realpath(path)
            if real not in seen:
                seen.add(real)
                yield path, found_by


def _places(environ: Mapping[str, str], root: Path) -> Iterator[tuple[Path, str]]:
    on_path = shutil.which("trtexec", path=environ.get("PATH", os.defpath))
    if on_path:
        yield Path(on_path), "PATH"
    for directory in _FIXED:
        yield root / directory.lstrip("/") / "trtexec", directory
    for variable in _ROOT_VARIABLES:
        if environ.get(variable):
            yield Path(environ[variable]) / "bin" / "trtexec", f"${variable}"
    homes = [root / below for below in _BELOW]
    if environ.get("HOME"):
        homes.append(Path(environ["HOME"]))
    unpacked = [path for home in homes for path in home.glob(_UNPACKED)]
    for path in sorted(unpacked, key=_numbers, reverse=True):
        yield path / "trtexec", str(path)


def _numbers(directory: Path) -> tuple[list[int], str]:
    """To sort by the version in the name, as numbers: 10.16 comes after 8.6."""
    return [int(number) for number in re.findall(r"\d{1,9}", directory.parent.name)], str(directory)


def _named(given: str, by: str) -> Path:
    path = Path(os.path.expanduser(given))  # noqa: PTH111 - an unknown user is no error here
    if path.is_dir():
        path = path / "trtexec"
    if not path.is_absolute() and len(path.parts) == 1 and not path.exists():
        on_path = shutil.which(given)
        path = Path(on_path) if on_path else path
    if not path.is_file():
        raise TrtexecNotFoundError(f"{by}: there is no {path}")
    if not os.access(path, os.X_OK):
        raise TrtexecNotFoundError(f"{by}: {path} may not be executed")
    return path.absolute()


def ask(path: Path, found_by: str = "", environ: Mapping[str, str] | None = None) -> Trtexec:
    """Run `trtexec --help` and understand it.

    Raises:
        TrtexecNotFoundError: It does not run, is no trtexec, or is too old; the message says what to do.
    """
    try:
        done = subprocess.run(
            [path, "--help"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=HELP_TIMEOUT_S,
            check=False,
            env=None if environ is None else dict(environ),
        )
    except subprocess.TimeoutExpired:
        raise TrtexecNotFoundError(f"{path} --help does not answer within {HELP_TIMEOUT_S} s") from None
    except OSError as error:
        raise TrtexecNotFoundError(f"{path} cannot be run: {error.strerror or error}") from None
    return understand(done.stdout.decode("utf-8", errors="replace"), path, found_by)


def understand(text: str, path: Path, found_by: str = "") -> Trtexec:
    """What `--help` printed, of a trtexec on any machine.

    Raises:
        TrtexecNotFoundError: As `ask`.
    """
    if library := _MISSING_LIBRARY.search(text):
        raise TrtexecNotFoundError(
            f"{path} does not start: {library['library']} is missing; add the lib directory of this TensorRT "
            "(and of CUDA) to LD_LIBRARY_PATH"
        )
    try:
        return read_help(text, path, found_by)
    except NotTrtexecError as error:
        raise TrtexecNotFoundError(f"{path} {error}") from None
