"""Find trtexec on this machine, and ask it what it is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from trex_tui.capture.abilities import NotTrtexecError, Trtexec, read_help
from trex_tui.errors import TrexError

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
    unpacked = [found for home in homes for found in home.glob(_UNPACKED)]
    for directory_found in sorted(unpacked, key=_numbers, reverse=True):
        yield directory_found / "trtexec", str(directory_found)


def _numbers(directory: Path) -> tuple[list[int], str]:
    """To sort by the version in the name, as numbers: 10.16 comes after 8.6."""
    return [int(one) for one in re.findall(r"\d{1,9}", directory.parent.name)], str(directory)


def _named(given: str, by: str) -> Path:
    path = Path(os.path.expanduser(given))  # noqa: PTH111 - an unknown user is no error here
    if path.is_dir():
        path = path / "trtexec"
    if not path.is_absolute() and len(path.parts) == 1 and not path.exists():
        found = shutil.which(given)
        path = Path(found) if found else path
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
