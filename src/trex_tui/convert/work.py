"""Sets into trex's names: everything is made aside, and moved into place when all of it is there."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from filecmp import cmp
from functools import partial
from pathlib import Path

from trex_tui.artifacts.discover import ArtifactSet
from trex_tui.artifacts.kinds import ArtifactKind
from trex_tui.artifacts.output_files import Inputs, inputs_of, refusal
from trex_tui.artifacts.records import Records, read
from trex_tui.convert.files import (
    convert_metadata,
    convert_profile,
    convert_timing,
    metadata_from_log,
    profile_of,
    write_log,
)
from trex_tui.convert.graph import convert_graph, graph_of
from trex_tui.convert.model import Converted
from trex_tui.convert.names import ENDINGS, base_of, name_of
from trex_tui.errors import ArtifactError, TrexError
from trex_tui.text import printable

_EXPECTED = (
    (ArtifactKind.GRAPH, "layer information: trex opens nothing without it"),
    (ArtifactKind.PROFILE, "profile: all times in trex will be 0"),
    (ArtifactKind.TIMING, "timing"),
    (ArtifactKind.BUILD_METADATA, "build metadata: trex shows no builder configuration"),
    (ArtifactKind.PROFILE_METADATA, "profile metadata: trex shows no performance summary and no device"),
)
_TEMPORARY = ".trex-tui-convert-"
_LOGS = (ArtifactKind.BUILD_LOG, ArtifactKind.PROFILE_LOG)
_JSON: tuple[tuple[ArtifactKind, Callable[[Path], Converted]], ...] = (
    (ArtifactKind.GRAPH, convert_graph),
    (ArtifactKind.PROFILE, convert_profile),
    (ArtifactKind.TIMING, convert_timing),
)


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file of a converted set.

    Attributes:
        changes: What was changed; empty for a copy, byte for byte.
    """

    kind: ArtifactKind
    source: Path
    target: Path
    changes: tuple[str, ...]


@dataclass(slots=True)
class ConvertedSet:
    """One engine.

    Attributes:
        files: What was written.
        missing: What trex would read and nothing tells.
        remarks: What was left out, and what trex cannot do with the rest.
        is_whole: Whether every file of the set could be read.
    """

    name: str
    files: list[WrittenFile] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    is_whole: bool = True


def convert_sets(
    sets: Sequence[ArtifactSet], outdir: Path, *, force: bool = False, with_engine: bool = False
) -> list[ConvertedSet]:
    """Convert every set; nothing is written unless all of it can be.

    Args:
        sets: With names that are unique; where a name holds directories, so does the result.
        force: Replace files that are there.
        with_engine: Copy the plan as well.

    Raises:
        TrexError: A file is there already or would replace its own source, or nothing can be written.
    """
    try:
        outdir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=_TEMPORARY, dir=outdir) as place:
            made = []
            for number, one in enumerate(sets):
                folder = Path(place, str(number))
                folder.mkdir()
                made.append(_Converter(one, folder, outdir, with_engine=with_engine).convert())
            _check_targets(made, Path(place), inputs_of(sets), force=force)
            _check_names(made, Path(place))
            for number, done in enumerate(made):
                for file in done.files:
                    file.target.parent.mkdir(parents=True, exist_ok=True)
                    os.replace(Path(place, str(number), file.target.name), file.target)  # noqa: PTH105 - as it says
    except OSError as error:
        raise TrexError(f"{_blamed(error, outdir)}: {error.strerror or error}") from None
    return made


def _blamed(error: OSError, outdir: Path) -> Path:
    """The file that cannot be read or written. Where two are copied, what is written comes second; of what is not in its
    place yet the place is named."""
    path = Path(error.filename2 or error.filename or outdir)
    return outdir if any(part.startswith(_TEMPORARY) for part in path.parts) else path


def _check_targets(made: Sequence[ConvertedSet], place: Path, inputs: Inputs, *, force: bool) -> None:
    """The files are those of TensorRT's own tools: only equal content tells that trex-tui wrote them."""
    for number, one in enumerate(made):
        for file in one.files:
            inputs.check(file.target)
            staged = Path(place, str(number), file.target.name)
            if not force and file.target.exists() and not cmp(staged, file.target, shallow=False):
                raise refusal(file.target, "trex-tui convert")


def ignores_case(place: Path) -> bool:
    """Whether a path that is there, its name in small letters, can be found in capitals, as on Windows and macOS."""
    return place.with_name(place.name.upper()).exists()


def _check_names(made: Sequence[ConvertedSet], place: Path) -> None:
    """Of two equal names one would replace the other; so of two that differ in their case alone, where that is nothing."""
    key = str.casefold if ignores_case(place) else str
    seen: dict[str, WrittenFile] = {}
    for file in (file for one in made for file in one.files):
        other = seen.setdefault(key(str(file.target)), file)
        if other.target != file.target:
            raise TrexError(f"{other.target} and {file.target} are the same file here; convert one at a time")
        if other is not file:
            raise TrexError(
                f"{other.source} and {file.source} would both be {file.target}; convert one at a time"
            )


class _Converter:
    """One set on its way, into `folder`."""

    def __init__(self, source: ArtifactSet, folder: Path, outdir: Path, *, with_engine: bool) -> None:
        self.source = source
        self.folder = folder
        self.with_engine = with_engine
        parts = [part for part in source.name.split("/") if part not in ("", ".", "..")] or ["engine"]
        self.outdir = outdir.joinpath(*parts[:-1])
        self.base = base_of(source, parts[-1])
        self.done = ConvertedSet(source.name)

    def convert(self) -> ConvertedSet:
        files = self.source.files
        for kind, convert in _JSON:
            if kind in files:
                self._attempt(kind, convert)
        for kind in (
            ArtifactKind.BUILD_METADATA,
            ArtifactKind.PROFILE_METADATA,
            ArtifactKind.DEVICE_METADATA,
        ):
            if kind in files:
                self._attempt(kind, partial(convert_metadata, kind))
        for kind in _LOGS:
            if kind in files:
                self._log(kind, files[kind])
        self._fill_from_logs()
        if ArtifactKind.PLAN in files and self.with_engine:
            shutil.copyfile(files[ArtifactKind.PLAN], self._place(ArtifactKind.PLAN))
            self._note(ArtifactKind.PLAN, files[ArtifactKind.PLAN], ())
        have = {one.kind for one in self.done.files}
        self.done.missing += [what for kind, what in _EXPECTED if kind not in have]
        return self.done

    def _target(self, kind: ArtifactKind) -> Path:
        return self.outdir / name_of(self.base, kind)

    def _place(self, kind: ArtifactKind) -> Path:
        return self.folder / self._target(kind).name

    def _note(self, kind: ArtifactKind, source: Path, changes: Sequence[str]) -> None:
        self.done.files.append(WrittenFile(kind, source, self._target(kind), tuple(changes)))

    def _attempt(self, kind: ArtifactKind, convert: Callable[[Path], Converted]) -> None:
        """A broken file costs that file."""
        try:
            self._write(convert(self.source.files[kind]))
        except ArtifactError as error:
            self._leave_out(error)

    def _leave_out(self, error: ArtifactError) -> None:
        self.done.remarks.append(f"left out: {error}")
        self.done.is_whole = False

    def _write(self, one: Converted) -> None:
        place = self._place(one.kind)
        if one.content is None:
            shutil.copyfile(one.source, place)
        else:
            place.write_bytes(one.content)
        self._note(one.kind, one.source, one.changes)
        what = ENDINGS[one.kind]
        self.done.remarks += [f"{what}: {remark}" for remark in one.remarks]

    def _log(self, kind: ArtifactKind, path: Path) -> None:
        try:
            self._note(kind, path, write_log(path, self._place(kind)))
        except ArtifactError as error:
            self._place(kind).unlink(missing_ok=True)
            self._leave_out(error)

    def _fill_from_logs(self) -> None:
        """What no JSON file tells, out of the logs."""
        have = {one.kind for one in self.done.files}
        logs = {one.kind: one for one in self.done.files if one.kind in _LOGS}
        for kind, order in (
            (ArtifactKind.BUILD_METADATA, _LOGS[:1]),
            (ArtifactKind.PROFILE_METADATA, (_LOGS[1], _LOGS[0])),
        ):
            found = (
                metadata_from_log(kind, self._place(log), logs[log].source) for log in order if log in logs
            )
            if kind not in have and (first := next((one for one in found if one), None)):
                self._write(first)
        if logs and not have & {ArtifactKind.GRAPH, ArtifactKind.PROFILE}:
            for one in self._layers_of_logs(next(iter(logs.values())).source):
                self._write(one)

    def _layers_of_logs(self, log: Path) -> Iterator[Converted]:
        try:
            records: Records = read(self.source)
        except ArtifactError as error:
            self._leave_out(error)
            return
        if records.layer_info is not None:
            yield graph_of(records.layer_info, log)
        if records.profile is not None and records.profile.rows:
            yield profile_of(records.profile, log)


def said(one: ConvertedSet) -> Iterator[str]:
    """What was done to a set, for people: a line each."""
    yield printable(one.name)
    for file in one.files:
        how = "; ".join(file.changes) or "copied as it is"
        yield f"  {printable(str(file.target))}  ({printable(file.source.name)}: {how})"
    yield from (f"  missing: {what}" for what in one.missing)
    yield from (f"  note: {printable(remark)}" for remark in one.remarks)
