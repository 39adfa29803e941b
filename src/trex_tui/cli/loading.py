"""Load the engines of a command, as its options say."""

from __future__ import annotations

import argparse
import atexit
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from trex_tui.analysis.device import StatedDevice, parse_peaks, read_device_settings, stated_for
from trex_tui.artifacts.discover import ArtifactSet, Discovery, find_sets
from trex_tui.artifacts.write import Inputs
from trex_tui.config import read_configuration
from trex_tui.engine.load import load_set
from trex_tui.engine.model import Engine
from trex_tui.errors import ARCHIVES, ArtifactError, Note, TrexError

STDIN = "-"


class Loader:
    """Reads the sets at the paths of a command.

    Attributes:
        paths: The paths; standard input is a file.
        discovery: The sets found there.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        """Find the sets.

        Raises:
            ArtifactError: There are none.
            TrexError: An option or the configuration has an invalid value.
        """
        from trex_tui.api import COLUMNS

        self._options, self._columns = options, COLUMNS
        self._settings = _read_devices(options.peak)
        self.paths: list[str | Path] = [
            _read_stdin() if path == STDIN else path for path in options.paths or ["."]
        ]
        self.discovery: Discovery = find_sets(self.paths if len(self.paths) > 1 else self.paths[0])

    def inputs(self) -> Inputs:
        """Return the files that must never be overwritten."""
        files = [file for source in self.discovery.sets for file in source.files.values()]
        return Inputs([*files, *self.paths])

    def load(self, source: ArtifactSet) -> Engine:
        """Load one set.

        Raises:
            ArtifactError: No file of it can be used.
            TrexError: It has no such optimization profile.
        """
        options = self._options
        engine = load_set(
            source, columns=self._columns, run=options.run, optimization_profile=options.optimization_profile
        )
        stated = self._settings(engine.facts.device_name)
        return engine if stated is None else replace(engine, stated_device=stated)

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
                engines.append(self.load(source))
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


def _read_devices(peaks: Sequence[str]) -> Callable[[str | None], StatedDevice | None]:
    """Return a function of the name of a device: what options and configuration state about it.

    Raises:
        TrexError: An option or a file has an invalid value.
    """
    settings: dict[str, StatedDevice] = {}
    for table in read_configuration():
        for name, stated in read_device_settings(table.values.get("device", {}), str(table.path)).items():
            settings[name] = settings[name].updated_with(stated) if name in settings else stated
    by_option = parse_peaks(peaks) if peaks else None

    def find(name: str | None) -> StatedDevice | None:
        stated = stated_for(name, settings)
        return stated.updated_with(by_option) if stated and by_option else by_option or stated

    return find


def _read_stdin() -> Path:
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
    ARCHIVES[directory] = Path(STDIN)
    is_json = data.lstrip()[:1] in (b"[", b"{")
    path = directory / (
        "stdin.json" if is_json else "stdin.log.gz" if data[:2] == b"\x1f\x8b" else "stdin.log"
    )
    path.write_bytes(data)
    return path
