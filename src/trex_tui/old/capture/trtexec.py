"""Find trtexec, its release and the options it has; or `tensorrt_rtx`, which is trtexec under another name.

`--help` needs no GPU, and there is no `--version`. Its banner has the version, its lines explain options. The table of
releases (`trtexec_flags.json`) supplies deprecated options, which `--help` hides, and the options of other releases.
`tensorrt_rtx` has the options that its help explains, and no others.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from pathlib import Path

from trex_tui.old.artifacts.banner import find_banner, is_rtx_version
from trex_tui.old.artifacts.capture_manifest import cut
from trex_tui.old.buildlog.failures import recognise
from trex_tui.old.capture.failures import signal_name, signal_remedy
from trex_tui.old.errors import TrexError
from trex_tui.old.lazy_dataclass import dataclass

Version = tuple[int, ...]
"""`(10, 16, 1)`: compared as numbers, never as text."""


def parse_version(text: str) -> Version:
    """Parse `10.16.1` into `(10, 16, 1)`.

    Raises:
        ValueError: The text is not a version.
    """
    return tuple(int(part) for part in text.split("."))


@dataclass(frozen=True, slots=True)
class FlagTable:
    """Content of `trtexec_flags.json`.

    Attributes:
        releases: Known releases, oldest first, as printed and as numbers.
        known_in: Option (`--fp16`) -> indices of the releases that accept it.
    """

    releases: tuple[tuple[str, Version], ...]
    known_in: Mapping[str, frozenset[int]]

    def release_index(self, version: Version) -> int:
        """Return the index of the newest known release not newer than `version`; the oldest if there is none."""
        older = [index for index, (_, release) in enumerate(self.releases) if release <= version]
        return older[-1] if older else 0

    def has(self, flag: str, version: Version) -> bool:
        """Return whether the release for `version` accepts the option."""
        return self.release_index(version) in self.known_in.get(flag, frozenset())

    def is_listed(self, flag: str) -> bool:
        return flag in self.known_in

    def where(self, flag: str) -> str:
        """Return the releases that accept the option, for messages: `8.6.1 to 10.16`, `11.0 and later`; empty if unlisted."""
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
    from importlib.resources import files  # 10 ms, and only needed to plan captures

    root = json.loads(
        files("trex_tui.old.capture").joinpath("trtexec_flags.json").read_text(encoding="utf-8")
    )
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


# An explained option is at the margin; its explanation, which may name others, is indented further.
_EXPLAINED = re.compile(r"^ {1,4}(--\w+)[^\s,]*((?:, --?\w+)*)", re.MULTILINE)
_OLDEST: Version = (8, 2)
"""The first version that exports layer information."""


RTX_GRAPH = "--rtxCudaGraphStrategy"
"""Option of `tensorrt_rtx` for its CUDA graph: `wholeGraph` or `disable`."""


class NotTrtexecError(ValueError):
    """The help text is not from a usable trtexec; the message ends a sentence whose subject is the program."""


@dataclass(frozen=True, slots=True)
class Trtexec:
    """A trtexec whose help text has been read.

    Attributes:
        path: The program.
        version: `10.16.1`, or `RTX 1.3.0` of `tensorrt_rtx`.
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
    def is_rtx(self) -> bool:
        """True for `tensorrt_rtx` of TensorRT-RTX."""
        return is_rtx_version(self.version)

    @property
    def numbers(self) -> Version | None:
        """Version of TensorRT for comparisons; None of TensorRT-RTX, whose versions are its own."""
        return None if self.is_rtx else parse_version(self.version)

    def describe(self) -> str:
        """Return version and path, for messages."""
        return f"{'tensorrt_rtx' if self.is_rtx else 'trtexec'} of TensorRT {self.version}: {self.path}"

    def knows(self, flag: str) -> bool:
        """Return whether an option is accepted: `--help` explains it, or its release accepts it undocumented (deprecated)."""
        numbers = self.numbers
        return flag in self.explained or (numbers is not None and flag_table().has(flag, numbers))

    @property
    def is_strongly_typed_only(self) -> bool:
        """True if precision comes from the model alone, as from TensorRT 11 on."""
        return not self.knows("--fp16")

    @property
    def measures_by_default(self) -> bool:
        """True if CUDA graph, spin wait, no transfers and a separate profile run are defaults, as from TensorRT 11 on."""
        return self.knows("--noCudaGraph")


def read_help(text: str, path: Path, found_by: str = "") -> Trtexec:
    """Parse the output of `trtexec --help`.

    Raises:
        NotTrtexecError: The text is not from trtexec, or from one that is too old.
    """
    banner = find_banner(text, is_trtexec=True)
    if banner is None:
        raise NotTrtexecError("is not trtexec: its --help has no TensorRT banner; name trtexec")
    version = banner.version
    if version is None:
        raise NotTrtexecError("is of TensorRT 7 or older; capture needs 8.2 or later")
    if not is_rtx_version(version) and parse_version(version) < _OLDEST:
        raise NotTrtexecError(
            f"is of TensorRT {version}, which does not export layer information; capture needs 8.2 or later"
        )
    explained: set[str] = set()
    for option in _EXPLAINED.finditer(text):
        explained.add(option[1])
        explained.update(name for name in option[2].split(", ") if name.startswith("--"))
    return Trtexec(path, version, banner.build, frozenset(explained), found_by)


def trtexec_of_release(version: str, path: Path) -> Trtexec:
    """Return a trtexec of a release that is not installed, from the table of releases.

    Args:
        version: `10.4`, `8.6.1`.
        path: Its path on the machine where it will run.

    Raises:
        TrexError: The version is invalid or not supported by capture.
    """
    if re.fullmatch(r"[0-9]{1,4}(?:\.[0-9]{1,4}){0,3}", version) is None:
        raise TrexError(f"--for {version}: not a TensorRT version such as 10.4 or 8.6.1")
    numbers = parse_version(version)
    releases = flag_table().releases
    meant = [name for name, release in releases if release[: len(numbers)] == numbers]
    used = meant[-1] if meant else version
    if not _OLDEST <= parse_version(used)[:2] <= releases[-1][1]:
        oldest = ".".join(map(str, _OLDEST))
        raise TrexError(f"--for {version}: the options of TensorRT {oldest} to {releases[-1][0]} are known")
    return Trtexec(path, used, None, frozenset(), "--for")


HELP_TIMEOUT_S = 120
"""The first start loads gigabytes of libraries, on a Jetson from an SD card."""
_PATIENCE_S = 5.0
"""Delay before a note names what is awaited."""
_LONGEST_QUOTE = 200

_FIXED = ("/usr/src/tensorrt/bin", "/opt/tensorrt/bin", "/usr/local/tensorrt/bin", "/workspace/tensorrt/bin")
"""Debian packages and Jetson; containers of NVIDIA; usual directories of an unpacked tar file."""
_UNPACKED = "TensorRT-*/bin"
_BELOW = ("usr/local", "opt")
_RTX_PROGRAM = "tensorrt_rtx"
_ROOT_VARIABLES = ("TENSORRT_ROOT", "TRT_ROOT", "TENSORRT_DIR")
_MISSING_LIBRARY = re.compile(r"error while loading shared libraries: (?P<library>[^:\s]+)")


class TrtexecNotFoundError(TrexError):
    """No usable trtexec; the message lists the searched directories."""


def find_trtexec(
    given: str | None = None,
    environ: Mapping[str, str] = os.environ,
    root: Path = Path("/"),
    note: Callable[[str], None] = lambda _: None,
) -> Trtexec:
    """Find the trtexec to use.

    Args:
        given: Program, or its directory, chosen by the user. Then nothing else is searched.
        environ: Environment with `TRTEXEC`, `PATH`, `TENSORRT_ROOT` and `HOME`.
        root: Replaces `/`.
        note: Receives a message if the search takes long.

    Raises:
        TrtexecNotFoundError: There is none, or the chosen one cannot be used.
    """
    if given:
        return ask(_named(given, "--trtexec"), "--trtexec", environ, note)
    if environ.get("TRTEXEC"):
        return ask(_named(environ["TRTEXEC"], "$TRTEXEC"), "$TRTEXEC", environ, note)
    refused: list[str] = []
    for path, found_by in candidates(environ, root):
        try:
            return ask(path, found_by, environ, note)
        except TrtexecNotFoundError as error:
            refused.append(str(error))
    if refused:
        raise TrtexecNotFoundError("; ".join(refused))
    places = ", ".join(_FIXED[:2])
    raise TrtexecNotFoundError(
        f"no trtexec on PATH, in {places} or a TensorRT-*/bin; name it with --trtexec or $TRTEXEC "
        "(Debian and Jetson: package libnvinfer-bin; pip wheels have no trtexec)"
    )


def candidates(environ: Mapping[str, str], root: Path = Path("/")) -> Iterator[tuple[Path, str]]:
    """Yield every existing trtexec, best first, each once, with how it was found."""
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
    if on_path := shutil.which(_RTX_PROGRAM, path=environ.get("PATH", os.defpath)):
        yield Path(on_path), "PATH"
    for path in sorted(unpacked, key=_numbers, reverse=True):
        yield path / _RTX_PROGRAM, str(path)


def _numbers(directory: Path) -> tuple[list[int], str]:
    """Return the numbers in a directory name as sort key: 10.16 comes after 8.6."""
    return [int(number) for number in re.findall(r"\d{1,9}", directory.parent.name)], str(directory)


def _named(given: str, by: str) -> Path:
    path = Path(os.path.expanduser(given))  # noqa: PTH111 - an unknown user is no error here
    if path.is_dir():
        names = ("trtexec", _RTX_PROGRAM)
        path = next((path / name for name in names if (path / name).exists()), path / "trtexec")
    if not path.is_absolute() and len(path.parts) == 1 and not path.exists():
        on_path = shutil.which(given)
        path = Path(on_path) if on_path else path
    if not path.is_file():
        raise TrtexecNotFoundError(f"{by}: {path} does not exist; check the path")
    if not os.access(path, os.X_OK):
        raise TrtexecNotFoundError(f"{by}: {path} is not executable; check its permissions")
    return path.absolute()


def ask(
    path: Path,
    found_by: str = "",
    environ: Mapping[str, str] | None = None,
    note: Callable[[str], None] = lambda _: None,
    command: Sequence[str] = (),
) -> Trtexec:
    """Run `trtexec --help` and parse it.

    Args:
        path: The program.
        found_by: How it was found.
        environ: Its environment; None is that of this process.
        note: Receives a message if it takes long.
        command: Command that runs it with `--help`, if not the program itself.

    Raises:
        TrtexecNotFoundError: It does not run, is not trtexec, or is too old; the message has the remedy.
    """
    try:
        with subprocess.Popen(
            list(command) or [str(path), "--help"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=None if environ is None else dict(environ),
        ) as process:
            try:
                output = _output(process, path, note)
            finally:
                if process.poll() is None:
                    process.kill()
    except subprocess.TimeoutExpired:
        raise TrtexecNotFoundError(
            f"{path} --help does not answer within {HELP_TIMEOUT_S} s; try it by hand"
        ) from None
    except OSError as error:
        why = error.strerror or error
        hint = "; it is for another CPU architecture" if error.errno == errno.ENOEXEC else ""
        raise TrtexecNotFoundError(f"{path} cannot be run: {why}{hint}") from None
    code = process.returncode
    return understand(
        output.decode("utf-8", errors="replace"), path, found_by, 128 - code if code < 0 else code
    )


def _output(process: subprocess.Popen[bytes], path: Path, note: Callable[[str], None]) -> bytes:
    try:
        return process.communicate(timeout=_PATIENCE_S)[0]
    except subprocess.TimeoutExpired:
        note(f"waiting for {path} --help, up to {HELP_TIMEOUT_S} s")
    return process.communicate(timeout=HELP_TIMEOUT_S - _PATIENCE_S)[0]


def understand(text: str, path: Path, found_by: str = "", code: int | None = None) -> Trtexec:
    """Parse the output of `--help` from any machine; `code` is the exit code of the shell (128 and more: a signal).

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
        if code:
            raise TrtexecNotFoundError(f"{path} --help fails: {_describe_end(text, code)}") from None
        raise TrtexecNotFoundError(f"{path} {error}") from None


def _describe_end(text: str, code: int) -> str:
    """Return why a program printed no help: a known failure, the signal, or its exit code and last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if known := recognise(lines):
        return f"{known.sentence}; {known.remedy}"
    if code > 128:
        return f"it crashed ({signal_name(code - 128)}); {signal_remedy(code - 128)}"
    output = f": {cut(lines[-1], _LONGEST_QUOTE)}" if lines else " and no output"
    return f"exit code {code}{output}"
