"""Find the program that builds: trtexec, `tensorrt_rtx`, or `builder.py` over TensorRT's Python API; and its options.

`--help` needs no GPU, and there is no `--version`. Its banner has the version, its lines explain options. The table of
releases (`trtexec_flags.json`) supplies deprecated options, which `--help` hides, and the options of other releases.
`tensorrt_rtx` and `builder.py` have the options that their help explains, and no others.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from trex_tui.artifacts.manifest import cut
from trex_tui.buildlog.failures import recognise
from trex_tui.buildlog.lines import find_banner, is_rtx_version
from trex_tui.capture.process import name_signal, signal_remedy
from trex_tui.errors import TrexError
from trex_tui.text import printable

Version = tuple[int, ...]
"""`(10, 16, 1)`: compared as numbers, never as text."""
RTX_GRAPH = "--rtxCudaGraphStrategy"
"""Option of `tensorrt_rtx` for its CUDA graph: `wholeGraph` or `disable`."""
PYTHON_API = "Python API"
"""How `builder.py` was found."""
BUILDERS = ("auto", "trtexec", "python")
_OLDEST: Version = (8, 2)
"""The first version that exports layer information."""
_BUILDER = Path(__file__).with_name("builder.py")
_HELP_TIMEOUT_S = 120
"""The first start loads gigabytes of libraries, on a Jetson from an SD card."""
_LONGEST_QUOTE = 400


def parse_version(text: str) -> Version:
    """Parse `10.16.1` into `(10, 16, 1)`.

    Raises:
        ValueError: The text is not a version.
    """
    return tuple(int(part) for part in text.split("."))


# Options by release


@dataclass(frozen=True, slots=True)
class FlagTable:
    """Content of `trtexec_flags.json`.

    Attributes:
        releases: Known releases, oldest first, as printed and as numbers.
        known_in: Option (`--fp16`) -> indices of the releases that accept it.
    """

    releases: tuple[tuple[str, Version], ...]
    known_in: Mapping[str, frozenset[int]]

    def has(self, flag: str, version: Version) -> bool:
        """Return whether a release accepts the option; one between two known releases counts as the older of them."""
        older = [index for index, (_, release) in enumerate(self.releases) if release <= version]
        return (older[-1] if older else 0) in self.known_in.get(flag, frozenset())

    def where(self, flag: str) -> str:
        """Return the releases that accept the option, for messages: `8.6.1 to 10.16`, `11.0 and later`; empty if unlisted."""
        spans: list[list[int]] = []
        for index in sorted(self.known_in.get(flag, frozenset())):
            if spans and spans[-1][1] == index - 1:
                spans[-1][1] = index
            else:
                spans.append([index, index])
        return ", ".join(self._describe_span(first, last) for first, last in spans)

    def _describe_span(self, first: int, last: int) -> str:
        begin, end = self.releases[first][0], self.releases[last][0]
        if last == len(self.releases) - 1:
            return f"{begin} and later"
        return begin if first == last else f"{begin} to {end}"


@lru_cache(maxsize=1)
def flag_table() -> FlagTable:
    """Read the table, once."""
    root = json.loads(Path(__file__).with_name("trtexec_flags.json").read_text(encoding="utf-8"))
    names: list[str] = root["releases"]
    index_of = {name: index for index, name in enumerate(names)}
    known_in = {}
    for flag, text in root["flags"].items():
        spans = [span.split("-") for span in text.split()]
        known_in[flag] = frozenset(
            index for first, last in spans for index in range(index_of[first], index_of[last] + 1)
        )
    return FlagTable(tuple((name, parse_version(name)) for name in names), known_in)


# A program and its help

# An explained option is at the margin; its explanation, which may name others, is indented further.
_EXPLAINED = re.compile(r"^ {1,4}(--\w+)[^\s,]*((?:, --?\w+)*)", re.MULTILINE)
_DEVICES = re.compile(r"^GPUs: (\d{1,4})", re.MULTILINE)
_MISSING_LIBRARY = re.compile(r"error while loading shared libraries: (?P<library>[^:\s]+)")


class TrtexecNotFoundError(TrexError):
    """No usable program; the message lists the searched directories."""


@dataclass(frozen=True, slots=True)
class Trtexec:
    """A trtexec, or a program with its options, whose help text has been read.

    Attributes:
        path: The program, or the Python that runs `builder.py`.
        version: `10.16.1`, or `RTX 1.3.0` of TensorRT-RTX.
        build: Build number of the banner (`11`), which 10.4 and later print.
        explained: Options in its help text.
        found_by: How it was found: `--trtexec`, `$TRTEXEC`, `PATH`, a directory, or `PYTHON_API`.
        command: The words that start it.
        devices: Number of GPUs that it sees; None if it does not say.
    """

    path: Path
    version: str
    build: int | None = None
    explained: frozenset[str] = field(default=frozenset(), repr=False)
    found_by: str = ""
    command: tuple[str, ...] = ()
    devices: int | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The words that start it."""
        return self.command or (str(self.path),)

    @property
    def is_python(self) -> bool:
        """True for `builder.py`."""
        return self.found_by == PYTHON_API

    @property
    def is_rtx(self) -> bool:
        """True for TensorRT-RTX."""
        return is_rtx_version(self.version)

    @property
    def numbers(self) -> Version | None:
        """Version of TensorRT for comparisons; None of TensorRT-RTX, whose versions are its own."""
        return None if self.is_rtx else parse_version(self.version)

    @property
    def product(self) -> str:
        """`TensorRT 10.16.1`, or `TensorRT-RTX 1.3.0`."""
        return f"TensorRT-{self.version}" if self.is_rtx else f"TensorRT {self.version}"

    @property
    def name(self) -> str:
        """What it is, for messages: `trtexec of TensorRT 10.16.1`."""
        if self.is_python:
            return f"the Python API of {self.product}"
        return f"{'tensorrt_rtx' if self.is_rtx else 'trtexec'} of {self.product}"

    def describe(self) -> str:
        """Return version and path, for messages."""
        return f"{self.name}: {printable(str(self.path))}"

    def knows(self, flag: str) -> bool:
        """Return whether an option is accepted: `--help` explains it, or its release accepts it undocumented (deprecated)."""
        if flag in self.explained:
            return True
        numbers = None if self.is_python else self.numbers
        return numbers is not None and flag_table().has(flag, numbers)

    @property
    def is_strongly_typed_only(self) -> bool:
        """True if precision comes from the model alone, as from TensorRT 11 on."""
        return not self.knows("--fp16")

    @property
    def measures_by_default(self) -> bool:
        """True if CUDA graph, spin wait, no transfers and a separate profile run are defaults, as from TensorRT 11 on."""
        return self.knows("--noCudaGraph")


def understand(
    text: str, path: Path, found_by: str = "", code: int | None = None, command: Sequence[str] = ()
) -> Trtexec:
    """Parse the output of `--help` from any machine; `code` is the exit code of the shell (128 and more: a signal).

    Raises:
        TrtexecNotFoundError: It is not from trtexec, or from one that is too old or does not start.
    """
    if library := _MISSING_LIBRARY.search(text):
        raise TrtexecNotFoundError(
            f"{path} does not start: {library['library']} is missing; add the lib directory of this TensorRT "
            "(and of CUDA) to LD_LIBRARY_PATH"
        )
    banner = find_banner(text, is_trtexec=True)
    version = None if banner is None else banner.tensorrt_version
    if banner is None or version is None:
        reason = "is of TensorRT 7 or older; capture needs 8.2 or later"
        if banner is None:
            reason = "is not trtexec: its --help has no TensorRT banner; name trtexec"
        if code:
            reason = f"--help fails: {_describe_end(text, code)}"
        raise TrtexecNotFoundError(f"{path} {reason}")
    if not is_rtx_version(version) and parse_version(version) < _OLDEST:
        raise TrtexecNotFoundError(
            f"{path} is of TensorRT {version}, which does not export layer information; capture needs 8.2 or later"
        )
    explained: set[str] = set()
    for option in _EXPLAINED.finditer(text):
        explained.add(option[1])
        explained.update(name for name in option[2].split(", ") if name.startswith("--"))
    devices = _DEVICES.search(text)
    return Trtexec(
        path,
        version,
        banner.build,
        frozenset(explained),
        found_by,
        tuple(command),
        int(devices[1]) if devices else None,
    )


def _describe_end(text: str, code: int) -> str:
    """Return why a program printed no help: a known failure, the signal, or its exit code and last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if known := recognise(lines):
        return f"{known.cause}; {known.remedy('capture')}"
    if code > 128:
        return f"it crashed ({name_signal(code - 128)}); {signal_remedy(code - 128)}"
    output = f": {cut(lines[-1], _LONGEST_QUOTE)}" if lines else " and no output"
    return f"exit code {code}{output}"


def ask(
    path: Path,
    found_by: str = "",
    environ: Mapping[str, str] | None = None,
    command: Sequence[str] = (),
) -> Trtexec:
    """Run the program with `--help` and parse what it prints.

    Args:
        path: The program.
        found_by: How it was found.
        environ: Its environment; None is that of this process.
        command: The words that start it, if not the program itself.

    Raises:
        TrtexecNotFoundError: It does not run, is not trtexec, or is too old; the message has the remedy.
    """
    try:
        with subprocess.Popen(
            [*(command or [str(path)]), "--help"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=None if environ is None else dict(environ),
        ) as process:
            try:
                output = process.communicate(timeout=_HELP_TIMEOUT_S)[0]
            finally:
                if process.poll() is None:
                    process.kill()
    except subprocess.TimeoutExpired:
        raise TrtexecNotFoundError(
            f"{path} --help does not answer within {_HELP_TIMEOUT_S} s; try it by hand"
        ) from None
    except OSError as error:
        hint = "it is for another CPU architecture" if error.errno == errno.ENOEXEC else "try it by hand"
        raise TrtexecNotFoundError(f"{path} cannot be run: {error.strerror or error}; {hint}") from None
    code = process.returncode
    text = output.decode("utf-8", errors="replace")
    return understand(text, path, found_by, 128 - code if code < 0 else code, command)


# The search

_FIXED = ("/usr/src/tensorrt/bin", "/opt/tensorrt/bin", "/usr/local/tensorrt/bin", "/workspace/tensorrt/bin")
"""Debian packages and Jetson; containers of NVIDIA; usual directories of an unpacked tar file."""
_UNPACKED = "TensorRT-*/bin"
_BELOW = ("usr/local", "opt")
_PROGRAMS = ("trtexec", "tensorrt_rtx")
_ROOT_VARIABLES = ("TENSORRT_ROOT", "TRT_ROOT", "TENSORRT_DIR")


def find_builder(
    wanted: str,
    given: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Trtexec:
    """Find what builds and measures on this machine.

    Args:
        wanted: One of `BUILDERS`; `auto` is trtexec where it is found, else the Python API.
        given: As `find_trtexec`.

    Raises:
        TrtexecNotFoundError: There is none; the message says how to get it.
    """
    if wanted == "trtexec" or (wanted == "auto" and (given or environ.get("TRTEXEC"))):
        return find_trtexec(given, environ)
    if wanted == "python":
        return find_python(environ)
    try:
        return find_trtexec(given, environ)
    except TrtexecNotFoundError as error:
        try:
            return find_python(environ)
        except TrtexecNotFoundError as other:
            raise TrtexecNotFoundError(f"{error}; {other}") from None


def find_python(environ: Mapping[str, str] | None = None) -> Trtexec:
    """Return `builder.py`, run by this Python.

    Raises:
        TrtexecNotFoundError: This Python has no TensorRT, or it cannot be imported.
    """
    command = (sys.executable, str(_BUILDER))
    try:
        return ask(Path(sys.executable), PYTHON_API, environ, command)
    except TrtexecNotFoundError as error:
        reason = str(error).partition("--help fails: ")[2].removeprefix("exit code 2: ")
        raise TrtexecNotFoundError(reason or str(error)) from None


def find_trtexec(
    given: str | None = None,
    environ: Mapping[str, str] = os.environ,
    root: Path = Path("/"),
) -> Trtexec:
    """Find the trtexec to use.

    Args:
        given: Program, or its directory, chosen by the user. Then nothing else is searched.
        environ: Environment with `TRTEXEC`, `PATH`, `TENSORRT_ROOT` and `HOME`.
        root: Replaces `/`.

    Raises:
        TrtexecNotFoundError: There is none, or the chosen one cannot be used.
    """
    if given:
        return ask(_named(given, "--trtexec"), "--trtexec", environ)
    if environ.get("TRTEXEC"):
        return ask(_named(environ["TRTEXEC"], "$TRTEXEC"), "$TRTEXEC", environ)
    refused: list[str] = []
    for path, found_by in list_candidates(environ, root):
        try:
            return ask(path, found_by, environ)
        except TrtexecNotFoundError as error:
            refused.append(str(error))
    if refused:
        raise TrtexecNotFoundError("; ".join(refused))
    places = ", ".join(_FIXED[:2])
    raise TrtexecNotFoundError(
        f"no trtexec on PATH, in {places} or a TensorRT-*/bin; name it with --trtexec or $TRTEXEC "
        "(Debian and Jetson: package libnvinfer-bin; pip wheels have no trtexec)"
    )


def list_candidates(environ: Mapping[str, str], root: Path = Path("/")) -> Iterator[tuple[Path, str]]:
    """Yield every existing trtexec, best first, each once, with how it was found."""
    seen: set[str] = set()
    for path, found_by in _list_places(environ, root):
        if path.is_file() and os.access(path, os.X_OK):
            real = os.path.realpath(path)
            if real not in seen:
                seen.add(real)
                yield path, found_by


def _list_places(environ: Mapping[str, str], root: Path) -> Iterator[tuple[Path, str]]:
    trtexec, rtx = _PROGRAMS
    paths = environ.get("PATH", os.defpath)
    if on_path := shutil.which(trtexec, path=paths):
        yield Path(on_path), "PATH"
    for directory in _FIXED:
        yield root / directory.lstrip("/") / trtexec, directory
    for variable in _ROOT_VARIABLES:
        if environ.get(variable):
            yield Path(environ[variable]) / "bin" / trtexec, f"${variable}"
    homes = [root / below for below in _BELOW]
    if environ.get("HOME"):
        homes.append(Path(environ["HOME"]))
    unpacked = sorted((path for home in homes for path in home.glob(_UNPACKED)), key=_numbers, reverse=True)
    yield from ((path / trtexec, str(path)) for path in unpacked)
    if on_path := shutil.which(rtx, path=paths):
        yield Path(on_path), "PATH"
    yield from ((path / rtx, str(path)) for path in unpacked)


def _numbers(directory: Path) -> tuple[list[int], str]:
    """Return the numbers in a directory name as sort key: 10.16 comes after 8.6."""
    return [int(number) for number in re.findall(r"\d{1,9}", directory.parent.name)], str(directory)


def _named(given: str, by: str) -> Path:
    path = Path(os.path.expanduser(given))  # noqa: PTH111 - an unknown user is no error here
    if path.is_dir():
        path = next((path / name for name in _PROGRAMS if (path / name).exists()), path / _PROGRAMS[0])
    if not path.is_absolute() and len(path.parts) == 1 and not path.exists():
        on_path = shutil.which(given)
        path = Path(on_path) if on_path else path
    if not path.is_file():
        raise TrtexecNotFoundError(f"{by}: {path} does not exist; check the path")
    if not os.access(path, os.X_OK):
        raise TrtexecNotFoundError(f"{by}: {path} is not executable; check its permissions")
    return path.absolute()


def stated_trtexec(release: str, path: Path) -> Trtexec:
    """Return a trtexec of a release that is not installed, from the table of releases.

    Args:
        release: `10.4`, `8.6.1`.
        path: Its path on the machine where it will run.

    Raises:
        TrexError: The version is invalid or not supported by capture.
    """
    if re.fullmatch(r"[0-9]{1,4}(?:\.[0-9]{1,4}){0,3}", release) is None:
        raise TrexError(f"--for {release}: not a TensorRT version such as 10.4 or 8.6.1")
    numbers = parse_version(release)
    releases = flag_table().releases
    meant = [name for name, known in releases if known[: len(numbers)] == numbers]
    used = meant[-1] if meant else release
    if not _OLDEST <= parse_version(used)[:2] <= releases[-1][1]:
        oldest = ".".join(map(str, _OLDEST))
        raise TrexError(f"--for {release}: the options of TensorRT {oldest} to {releases[-1][0]} are known")
    return Trtexec(path, used, found_by="--for")
