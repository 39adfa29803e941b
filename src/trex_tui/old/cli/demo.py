"""`trex-tui demo`: explore the samples of the package, which need no clone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui._version import __version__
from trex_tui.old.errors import ExitCode, TrexError

if TYPE_CHECKING:
    import argparse
    from importlib.resources.abc import Traversable

SETS = {"before": "alexnet", "after": "alexnet_int8", "transformer": "transformer_fp8"}
"""Directory of the demo -> directory of the samples: a network in FP16, the same in INT8, an encoder in FP8."""
BROKEN = "broken"
"""The first set again, its profile, times and log cut in the middle as by an interrupted copy."""
_WHOLE = (".graph.json", ".metadata.json", ".capture.json")


def run_demo(options: argparse.Namespace) -> int:
    """Open the samples in the explorer, or print their directory.

    Raises:
        TrexError: The samples cannot be written anywhere, or there is no terminal.
    """
    directory = extract_samples(_cache_directory())
    if options.path:
        sys.stdout.write(f"{directory}\n")
        return int(ExitCode.OK)
    from trex_tui.old.cli.explore import run_open

    options.paths = [str(directory)]
    return run_open(options)


def find_samples() -> Traversable:
    """Return the samples of the package, or of the clone that it was installed from in editable mode.

    Raises:
        TrexError: There are none.
    """
    clone = Path(__file__).resolve().parents[4] / "sample_artifacts"
    for directory in (resources.files("trex_tui") / "samples", clone):
        if directory.is_dir():
            return directory
    raise TrexError("this installation has no samples; install the wheel again")


def list_samples() -> Iterator[tuple[str, bytes]]:
    """Yield path below the directory of the demo, and content."""
    samples = find_samples()
    for name, source in SETS.items():
        for file in sorted((samples / source).iterdir(), key=lambda file: file.name):
            if is_shipped(source, file.name):
                yield f"{name}/{file.name}", file.read_bytes()
    for file in sorted((samples / SETS["before"]).iterdir(), key=lambda file: file.name):
        content = file.read_bytes()
        if is_shipped(SETS["before"], file.name):
            is_whole = file.name.endswith(_WHOLE)
            yield f"{BROKEN}/{file.name}", content if is_whole else content[: len(content) // 2]


def is_shipped(source: str, name: str) -> bool:
    """Return whether a file of the samples is in the package, which is to stay small: not the log of a run, with numbers of
    the metadata, and not the timing of the third set.
    """
    return not name.endswith(".profile.log") and (source, name[-12:]) != (SETS["transformer"], ".timing.json")


def extract_samples(directory: Path) -> Path:
    """Write the samples below a directory, read-only, unless they are there; return their directory.

    Raises:
        TrexError: They cannot be written.
    """
    from trex_tui.old.artifacts.temporary_files import TEMPORARY_SUFFIX, temporary_prefix

    target = directory / f"demo-{__version__}"
    files = dict(list_samples())
    try:
        if _is_complete(target, files):
            return target
        import shutil
        import tempfile  # 5 ms

        directory.mkdir(parents=True, exist_ok=True)
        staged = Path(tempfile.mkdtemp(TEMPORARY_SUFFIX, temporary_prefix(), directory))
        for name, content in files.items():
            (staged / name).parent.mkdir(exist_ok=True)
            (staged / name).write_bytes(content)
            (staged / name).chmod(0o444)
        staged.chmod(0o755)  # mkdtemp makes it private
        shutil.rmtree(target, ignore_errors=True)
        staged.replace(target)
    except OSError as error:
        raise TrexError(
            f"{directory}: samples cannot be written: {error.strerror or error}; set XDG_CACHE_HOME"
        ) from error
    return target


def _is_complete(target: Path, files: dict[str, bytes]) -> bool:
    return all(
        (target / name).is_file() and (target / name).read_bytes() == content
        for name, content in files.items()
    )


def _cache_directory() -> Path:
    """Return the cache directory of this user; without a home, a temporary directory."""
    from trex_tui.old.config import cache_directory

    if (directory := cache_directory(os.environ)) is not None:
        return directory
    import tempfile

    return Path(tempfile.mkdtemp(prefix="trex-tui-demo-"))
