"""Load the engines of a command, as its options say."""

from __future__ import annotations

import argparse
import atexit
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from trex_tui.analysis.columns import ALL_COLUMNS as COLUMNS
from trex_tui.analysis.device import StatedDevice, parse_peaks, read_device_settings, stated_for
from trex_tui.artifacts.discover import ArtifactSet, Discovery, find_sets
from trex_tui.artifacts.write import Inputs
from trex_tui.config import read_configuration
from trex_tui.engine.load import load_set
from trex_tui.engine.model import Engine
from trex_tui.errors import ARCHIVES, ArtifactError, Note, TrexError

STDIN = "-"


class LoadSet(NamedTuple):
    """Loads a set as the options say; other processes take it too.

    Attributes:
        devices: Name of a device -> what configuration files state about it.
        stated: What options state about every device.
    """

    optimization_profile: int | None
    onnx: Path | None
    devices: Mapping[str, StatedDevice]
    stated: StatedDevice | None

    def __call__(self, source: ArtifactSet, run: int | None = None) -> Engine:
        """Load a set.

        Raises:
            ArtifactError: No file of it can be used.
            TrexError: It has no such optimization profile.
        """
        profile = self.optimization_profile
        engine = load_set(source, columns=COLUMNS, run=run, optimization_profile=profile, onnx=self.onnx)
        found = stated_for(engine.facts.device_name, self.devices)
        stated = found.updated_with(self.stated) if found and self.stated else self.stated or found
        return engine if stated is None else replace(engine, stated_device=stated)


class Loader:
    """Reads the sets at the paths of a command.

    Attributes:
        paths: The paths; standard input is a file.
        discovery: The sets found there.
        load: Loads one of them.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        """Find the sets.

        Raises:
            ArtifactError: There are none.
            TrexError: An option or the configuration has an invalid value.
        """
        self._run = options.run
        stated = parse_peaks(options.peak) if options.peak else None
        self.load = LoadSet(
            options.optimization_profile, read_model_path(options.onnx), _read_devices(), stated
        )
        self.paths: list[str | Path] = [
            read_stdin() if path == STDIN else path for path in options.paths or ["."]
        ]
        self.discovery = self.find()

    def find(self) -> Discovery:
        """Find the sets that are at the paths now.

        Raises:
            ArtifactError: There are none.
        """
        return find_sets(self.paths if len(self.paths) > 1 else self.paths[0])

    def inputs(self) -> Inputs:
        """Return the files that must never be overwritten."""
        files = [file for source in self.discovery.sets for file in source.files.values()]
        return Inputs([*files, *self.paths])

    def load_all(self) -> tuple[list[Engine], list[Note]]:
        """Load every engine that can be loaded, and return the notes that belong to none.

        An error costs its engine only, unless it is the only one.

        Raises:
            ArtifactError: None can be loaded.
        """
        engines: list[Engine] = []
        strays = list(self.discovery.notes)
        for source in self.discovery.sets:
            try:
                engines.append(self.load(source, self._run))
            except ArtifactError as error:
                if len(self.discovery.sets) == 1:
                    raise
                strays += error.notes or (error.note,)
        if not engines:
            last = strays[-1]
            raise ArtifactError(last.file or self.discovery.sets[0].directory, last.message, last.where)
        return engines, strays

    def load_one(self) -> Engine:
        """Load the one engine; its notes include those of all files at the paths.

        Raises:
            ArtifactError: It cannot be loaded.
            TrexError: There are several.
        """
        engines, strays = self.load_all()
        if len(engines) > 1:
            known = ", ".join(engine.name for engine in engines)
            raise TrexError(f"{len(engines)} engines found ({known}); give the path of one")
        return replace(engines[0], notes=(*engines[0].notes, *strays)) if strays else engines[0]


def read_model_path(text: str | None) -> Path | None:
    """Return the path of `--onnx`.

    Raises:
        TrexError: There is no such file.
    """
    if text is None:
        return None
    path = Path(text).expanduser()
    if not path.is_file():
        raise TrexError(
            f"--onnx: {path}: {'is a directory; name a file in it' if path.is_dir() else 'does not exist; check the path'}"
        )
    return path


def _read_devices() -> dict[str, StatedDevice]:
    """Return name of a device -> what the configuration files state about it.

    Raises:
        TrexError: A file has an invalid value.
    """
    devices: dict[str, StatedDevice] = {}
    for table in read_configuration():
        for name, stated in read_device_settings(table.values.get("device", {}), str(table.path)).items():
            devices[name] = devices[name].updated_with(stated) if name in devices else stated
    return devices


def read_stdin() -> Path:
    """Copy standard input to a file, whose content says what it is.

    Raises:
        TrexError: It is empty.
    """
    data = sys.stdin.buffer.read()
    if not data.strip():
        raise TrexError(
            "-: standard input is empty; pipe layer information, a profile, a timing file or a log"
        )
    directory = Path(tempfile.mkdtemp(prefix="trex-tui-stdin-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    is_json = data.lstrip()[:1] in (b"[", b"{")
    path = directory / (
        "stdin.json" if is_json else "stdin.log.gz" if data[:2] == b"\x1f\x8b" else "stdin.log"
    )
    path.write_bytes(data)
    ARCHIVES[path] = Path(STDIN)
    return path
