"""Convert any accepted input to the files that trex wrote and read, so that older notebooks continue to work.

- Names: trex names an engine `resnet.onnx.engine` and its files `resnet.onnx.engine.graph.json`, and notebooks derive one
name
  from the other. Sets without such names get that of the set: `resnet.graph.json`.
- Layer information: strict JSON, `Bindings` as names, every tensor with `Format/Datatype`. TensorRT 11 writes `I/O Tensors`
  for `Bindings`, and `Format` and `Datatype`; its keys stay beside those that are added. trex searches the format among the
  texts of TensorRT 8 to 10, of which the linear FP32, Int32 and BOOL do not end in ` format`, and none ends in the
  enumerator that 11 puts in parentheses.
- Profiles: trex takes records of four or five keys and drops all others, including the row with the count. Of timing rows
  it reads `latencyMs`; of metadata it needs `performance_summary` and `device_information`, or `model_options` and
  `build_options`, which may be empty.

Files that trex can read are copied byte for byte.
"""

from __future__ import annotations

import codecs
import json
import math
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from filecmp import cmp
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from trex_tui.old.artifacts.archive import find_archive, head_only
from trex_tui.old.artifacts.discover import ArtifactSet
from trex_tui.old.artifacts.file_kinds import ArtifactKind, display_name, engine_stem
from trex_tui.old.artifacts.input_files import load_json
from trex_tui.old.artifacts.layer_info import LayerInfo, read_layer_info
from trex_tui.old.artifacts.output_files import (
    Inputs,
    list_inputs,
    place_files,
    refusal,
    staging_directory,
)
from trex_tui.old.artifacts.profile import Profile, read_profiles
from trex_tui.old.artifacts.records import read
from trex_tui.old.artifacts.temporary_files import TEMPORARY_PREFIX
from trex_tui.old.artifacts.timing import ENQUEUE, Timing, read_timings
from trex_tui.old.buildlog.lines import ReadState, open_log, plain_pieces
from trex_tui.old.buildlog.log_records import role_document
from trex_tui.old.buildlog.reader import read_outline
from trex_tui.old.engine.dtypes import DataType, parse_data_type
from trex_tui.old.errors import ArtifactError, Diagnostic, Severity, TrexError, describe_reason
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import plural, printable

ENDINGS = {
    ArtifactKind.GRAPH: "graph.json",
    ArtifactKind.PROFILE: "profile.json",
    ArtifactKind.TIMING: "timing.json",
    ArtifactKind.BUILD_METADATA: "build.metadata.json",
    ArtifactKind.PROFILE_METADATA: "profile.metadata.json",
    ArtifactKind.DEVICE_METADATA: "metadata.json",
    ArtifactKind.BUILD_LOG: "build.log",
    ArtifactKind.PROFILE_LOG: "profile.log",
}
_LOGS = (ArtifactKind.BUILD_LOG, ArtifactKind.PROFILE_LOG)
"""Their names contain that of the engine file even if those of the JSON files do not."""
_NEEDED_SECTIONS = {
    ArtifactKind.BUILD_METADATA: ("model_options", "build_options"),
    ArtifactKind.PROFILE_METADATA: ("performance_summary", "device_information"),
}
_EXPECTED = {
    ArtifactKind.GRAPH: "no layer information: trex cannot open the set",
    ArtifactKind.PROFILE: "no profile: all times in trex will be 0",
    ArtifactKind.TIMING: "timing",
    ArtifactKind.BUILD_METADATA: "no build metadata: no builder configuration in trex",
    ArtifactKind.PROFILE_METADATA: "no profile metadata: no performance summary and device in trex",
}
BOTH = "Format/Datatype"
NAMES_ONLY = "trex cannot open engines with layer names only (built without --profilingVerbosity=detailed)"
_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")
_PACKED = re.compile(r"\.gz$", re.IGNORECASE)
_ENGINE = re.compile(r"\.(?:engine|plan|trt)$", re.IGNORECASE)
_ENUMERATOR = re.compile(r"\s*\(k\w+\)\.?$")
_SHORT_LINEAR = re.compile(r"^(Row major linear (?:FP32|Int32|BOOL)) format$", re.IGNORECASE)
_SHORT_NAMES = {
    DataType.FP32: "Float",
    DataType.FP16: "Half",
    DataType.BF16: "BFloat16",
    DataType.INT8: "Int8",
    DataType.INT32: "Int32",
    DataType.INT64: "Int64",
    DataType.INT4: "Int4",
    DataType.UINT8: "UInt8",
    DataType.BOOL: "Bool",
    DataType.FP8: "FP8",
    DataType.FP4: "FP4",
}


@dataclass(frozen=True, slots=True)
class TrexFile:
    """A file to write.

    Attributes:
        source: Its source.
        content: Its bytes; None for those of the source, if nothing needs to change.
        changes: The changes, a clause each; empty for a copy.
        remarks: What trex cannot do with it.
    """

    kind: ArtifactKind
    source: Path
    content: bytes | None
    changes: Sequence[str] = ()
    remarks: Sequence[str] = ()


@dataclass(slots=True)
class TrexSet:
    """One engine.

    Attributes:
        files: The written files, and their paths.
        missing: Files of trex without a source.
        remarks: Omissions, and what trex cannot do with the rest.
        damage: Errors of omitted files.
    """

    name: str
    files: list[tuple[TrexFile, Path]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    damage: list[Diagnostic] = field(default_factory=list)


def write_trex_files(
    sets: Sequence[ArtifactSet],
    directory: Path,
    *,
    force: bool = False,
    with_engine: bool = False,
    run: int | None = None,
) -> list[TrexSet]:
    """Write every set; nothing is written unless everything can be.

    Args:
        sets: With unique names; if a name holds directories, so does the result.
        force: Replace existing files.
        with_engine: Copy the plan as well.
        run: Run to write of files with several runs; None for the one that the engine shows.

    Raises:
        TrexError: The run does not exist, a file exists or would replace its own source, or nothing can be written.
    """
    try:
        with staging_directory(directory) as staging:
            staged: dict[Path, Path] = {}
            made = []
            for index, source in enumerate(sets):
                folder = staging / str(index)
                folder.mkdir()
                writer = _SetWriter(source, folder, directory, staged, run)
                made.append(writer.write(with_engine=with_engine))
            _check_names(made, staging)
            _check_targets(staged, list_inputs(sets), force=force)
            place_files(staged)
    except OSError as error:
        raise TrexError(f"{_blame(error, directory)}: {describe_reason(error)}") from None
    return made


def describe(trex_set: TrexSet) -> Iterator[str]:
    """Yield the changes made to a set, a line each."""
    yield printable(trex_set.name)
    for file, target in trex_set.files:
        how = "; ".join(file.changes) or "copied unchanged"
        yield f"  {printable(str(target))}  ({printable(file.source.name)}: {how})"
    yield from (f"  missing: {what}" for what in trex_set.missing)
    yield from (f"  note: {printable(remark)}" for remark in trex_set.remarks)


def ignores_case(path: Path) -> bool:
    """Return whether an existing path with a lower-case name can be found in capitals, as on Windows and macOS."""
    return path.with_name(path.name.upper()).exists()


def _blame(error: OSError, directory: Path) -> Path:
    """Return the file that cannot be read or written; the directory for files not yet in place.

    Of the two files in an error of a copy, the second is the written one.
    """
    path = Path(error.filename2 or error.filename or directory)
    return directory if any(part.startswith(TEMPORARY_PREFIX) for part in path.parts) else path


def _check_targets(staged: Mapping[Path, Path], inputs: Inputs, *, force: bool) -> None:
    """Check the targets. The files are those of TensorRT's own tools: only equal content shows that trex-tui wrote them."""
    for target, file in staged.items():
        inputs.check(target)
        if not force and target.exists() and not cmp(file, target, shallow=False):
            raise refusal(target, "trex-tui export --format trex")


def _check_names(sets: Sequence[TrexSet], staging: Path) -> None:
    """Reject equal names, which would replace each other; if the file system ignores case, names that differ only in case."""
    key = str.casefold if ignores_case(staging) else str
    seen: dict[str, tuple[TrexFile, Path]] = {}
    for file, target in (written for trex_set in sets for written in trex_set.files):
        other, other_target = seen.setdefault(key(str(target)), (file, target))
        if other_target != target:
            raise TrexError(f"{other_target} and {target} are the same file here; export one at a time")
        if other is not file:
            raise TrexError(f"{other.source} and {file.source} would both be {target}; export one at a time")


class _SetWriter:
    """Writes one set into `folder`, and records in `staged` the target of each file."""

    def __init__(
        self, source: ArtifactSet, folder: Path, directory: Path, staged: dict[Path, Path], run: int | None
    ) -> None:
        self.source, self.folder, self.staged, self.run = source, folder, staged, run
        parts = [part for part in source.name.split("/") if part not in ("", ".", "..")] or ["engine"]
        self.directory = directory.joinpath(*parts[:-1])
        self.base = find_base(source, parts[-1])
        self.done = TrexSet(source.name)

    def write(self, *, with_engine: bool) -> TrexSet:
        files = self.source.files
        for kind in _CONVERTERS:
            if kind in files:
                self._attempt(partial(_convert, kind, files[kind], self._find_run))
        for kind in _LOGS:
            if kind in files:
                self._attempt(partial(_write_log, kind, files[kind], self._staged(kind)))
        self._fill_from_logs()
        if with_engine and ArtifactKind.PLAN in files:
            self._add_plan(files[ArtifactKind.PLAN])
        written = {file.kind for file, _ in self.done.files}
        self.done.missing += [what for kind, what in _EXPECTED.items() if kind not in written]
        return self.done

    def _add_plan(self, path: Path) -> None:
        if (archive := find_archive(path)) is not None:
            self.done.remarks.append(f"skipped {path.name}; {head_only(archive)}")
        else:
            self._add(TrexFile(ArtifactKind.PLAN, path, None))

    def _find_run(self, path: Path) -> int:
        """Return the index of the run to write of a file with several: the one that the engine shows.

        Raises:
            ArtifactError: The file does not have the requested run.
        """
        for run in read(self.source, run=self.run).runs:
            if run.file == path and run.is_shown:
                return run.number - 1
        raise ArtifactError(path, f"run {self.run} does not exist; leave out --run")

    def _target(self, kind: ArtifactKind) -> Path:
        return self.directory / make_name(self.base, kind)

    def _staged(self, kind: ArtifactKind) -> Path:
        return self.folder / self._target(kind).name

    def _attempt(self, convert: Callable[[], TrexFile]) -> None:
        try:
            self._add(convert())
        except ArtifactError as error:
            self._leave_out(error)

    def _leave_out(self, error: ArtifactError) -> None:
        self.done.remarks.append(f"left out: {error}")
        self.done.damage.append(error.diagnostic)

    def _add(self, file: TrexFile) -> None:
        staged, target = self._staged(file.kind), self._target(file.kind)
        if file.kind not in _LOGS:  # which are written already, in pieces
            if file.content is None:
                shutil.copyfile(file.source, staged)
            else:
                staged.write_bytes(file.content)
        self.staged[target] = staged
        self.done.files.append((file, target))
        self.done.remarks += [f"{ENDINGS[file.kind]}: {remark}" for remark in file.remarks]

    def _fill_from_logs(self) -> None:
        """Write from the logs what no JSON file has."""
        written = {file.kind: file for file, _ in self.done.files}
        logs = [written[kind] for kind in _LOGS if kind in written]
        for kind, role, order in (
            (ArtifactKind.BUILD_METADATA, "build", logs[:1] if _LOGS[0] in written else []),
            (ArtifactKind.PROFILE_METADATA, "profile", logs[::-1]),
        ):
            if kind in written:
                continue
            for log in order:
                run = self._log_runs().get(log.source)
                document = role_document(read_outline(self._staged(log.kind), run=run, has_names=False), role)
                if document.get(_NEEDED_SECTIONS[kind][0]):
                    self._add(TrexFile(kind, log.source, json_bytes(document), ["created from the log"]))
                    break
        if logs and not written.keys() & {ArtifactKind.GRAPH, ArtifactKind.PROFILE}:
            self._add_layers_of_log(logs[0].source)

    def _log_runs(self) -> Mapping[Path, int]:
        """Return the measured run to read of each log, if it is not the last."""
        try:
            return read(self.source, run=self.run).log_runs
        except ArtifactError:  # no engine is in the set
            return {}

    def _add_layers_of_log(self, log: Path) -> None:
        try:
            records = read(self.source, run=self.run)
        except ArtifactError as error:
            self._leave_out(error)
            return
        if (info := records.layer_info) is not None:
            layers = [layer["Name"] for layer in info.layers] if info.names_only else _layers(info)
            content = json_bytes({"Layers": layers, "Bindings": list(info.bindings)})
            self._add(
                TrexFile(ArtifactKind.GRAPH, log, content, ["layers taken from the log"], _remarks(info))
            )
        if records.profile is not None and records.profile.rows:
            content = json_bytes(_profile_records(records.profile))
            self._add(TrexFile(ArtifactKind.PROFILE, log, content, ["times taken from the table in the log"]))


def find_base(source: ArtifactSet, name: str) -> str:
    """Return the base of the names of a set.

    Args:
        name: Name of the set, without directories: the base if no file has a better one.
    """
    for kind, ending in ENDINGS.items():
        path = source.files.get(kind)
        plain = "" if path is None else _PACKED.sub("", path.name)
        if path is None or not plain.lower().endswith(f".{ending}"):
            continue
        base = plain[: -len(ending) - 1]
        if kind in _LOGS and not _ENGINE.search(base):
            continue
        if base and display_name(engine_stem(path)) == name:
            return base
    return name


def make_name(base: str, kind: ArtifactKind) -> str:
    """Return the name of one file of the set.

    >>> make_name("net", ArtifactKind.BUILD_LOG), make_name("net.onnx.engine", ArtifactKind.BUILD_LOG)
    ('net.engine.build.log', 'net.onnx.engine.build.log')
    """
    if kind is not ArtifactKind.PLAN and kind not in _LOGS:
        return f"{base}.{ENDINGS[kind]}"
    engine = base if _ENGINE.search(base) else f"{base}.engine"
    return engine if kind is ArtifactKind.PLAN else f"{engine}.{ENDINGS[kind]}"


def json_bytes(root: object) -> bytes:
    """Return JSON that any reader accepts: ASCII, control characters escaped."""
    return (json.dumps(root, indent=1) + "\n").encode("ascii")


def _convert(kind: ArtifactKind, path: Path, find_run: _FindRun) -> TrexFile:
    """Return a copy if Python's own `json.load` reads what trex needs, else the document of the converter."""
    document, changes, remarks = _CONVERTERS[kind](path, find_run)
    try:
        if json.loads(path.read_bytes().decode("utf-8")) == document:
            return TrexFile(kind, path, None, (), remarks)
    except (ValueError, RecursionError):
        pass
    why = "written as strict JSON in UTF-8: control characters escaped, invalid numbers null"
    return TrexFile(kind, path, json_bytes(document), changes or [why], remarks)


_FindRun = Callable[[Path], int]
_T = TypeVar("_T")
_Conversion = tuple[Any, list[str], list[str]]
"""Document, its changes, and what trex cannot do with it."""


def _check_whole(part: LayerInfo | Profile | Timing) -> None:
    """Reject content that was read partially: as strict JSON nothing would show that it was damaged.

    Raises:
        ArtifactError: The file has an error.
    """
    for diagnostic in part.diagnostics:
        if diagnostic.severity is Severity.ERROR and diagnostic.file is not None:
            raise ArtifactError(diagnostic.file, diagnostic.message, diagnostic.where)


def _convert_graph(path: Path, _: _FindRun) -> _Conversion:
    info, root = read_layer_info(path), load_json(path)
    _check_whole(info)
    whole: dict[str, Any] = root if isinstance(root, dict) else {}
    raw = whole["Layers"] if whole else root
    layers = list(raw) if info.names_only else _layers(info)
    bindings, why = _bindings(whole, info)
    changes = [] if whole else ["the list of layers is in an object"]
    if layers != raw:
        changes.append(f"layers and tensors have the keys that trex needs, such as {BOTH}")
    changes += [why] if why else []
    return {**whole, "Layers": layers, "Bindings": bindings}, changes, _remarks(info)


def _remarks(info: LayerInfo) -> list[str]:
    if info.names_only:
        return [NAMES_ONLY]
    tensors = [
        tensor for layer in info.layers for side in ("Inputs", "Outputs") for tensor in _tensors(layer, side)
    ]
    untyped = sum("LayerType" not in layer for layer in info.layers)
    shapeless = sum("Dimensions" not in tensor for tensor in tensors)
    unformatted = sum(not (tensor.get(BOTH) or _combined_format(tensor)) for tensor in tensors)
    remarks = [
        (not info.layers, "trex cannot open engines without layers"),
        (untyped, f"{plural(untyped, 'layer')} without a LayerType, which trex needs"),
        (shapeless, f"{plural(shapeless, 'tensor')} without Dimensions, which trex needs"),
        (
            unformatted,
            f"{plural(unformatted, 'tensor')} of an unknown format; trex counts them as 0",
        ),
    ]
    return [text for applies, text in remarks if applies]


def _tensors(layer: Mapping[str, Any], side: str) -> list[dict[str, Any]]:
    tensors = layer.get(side)
    return [tensor for tensor in tensors if isinstance(tensor, dict)] if isinstance(tensors, list) else []


def _layers(info: LayerInfo) -> list[dict[str, Any]]:
    """Return every layer with both sides, every tensor with its format in one text."""
    return [
        {
            **layer,
            **{
                side: [
                    tensor
                    if isinstance(tensor.get(BOTH), str)
                    else {**tensor, BOTH: _combined_format(tensor)}
                    for tensor in _tensors(layer, side)
                ]
                for side in ("Inputs", "Outputs")
            },
        }
        for layer in info.layers
    ]


def _combined_format(tensor: Mapping[str, Any]) -> str:
    """Combine the two texts of TensorRT 11; empty if both are missing."""
    other = tensor.get("Format/DataType")
    if isinstance(other, str):
        return other
    layout = tensor.get("Format")
    layout = _ENUMERATOR.sub("", layout).strip() if isinstance(layout, str) else ""
    stated = tensor.get("Datatype") or tensor.get("DataType")
    dtype = parse_data_type(stated) if isinstance(stated, str) else None
    if layout and (dtype is None or parse_data_type(layout) is dtype):
        return _SHORT_LINEAR.sub(r"\1", layout)
    if dtype is None:
        return str(stated or "")
    short: str = _SHORT_NAMES.get(dtype, dtype.value)
    return short


def _bindings(root: Mapping[str, Any], info: LayerInfo) -> tuple[list[str], str]:
    """Return names of inputs and outputs, and how they were obtained; empty for nothing."""
    raw = root.get("Bindings")
    if isinstance(raw, list) and raw and raw == list(info.bindings):
        return raw, ""
    if info.bindings:
        return list(info.bindings), "Bindings are the names of the inputs and outputs listed"
    if info.names_only:
        return [], "" if isinstance(raw, list) else "empty Bindings"
    native = [layer for layer in info.layers if layer.get("ParameterType")]
    written = _tensor_names(info.layers, "Outputs")
    read_names = _tensor_names(info.layers, "Inputs")
    inputs = [name for name in _tensor_names(native, "Inputs") if name not in written]
    names = [*inputs, *(name for name in written if name not in read_names)]
    return names, "Bindings inferred from tensors without a writer or reader"


def _tensor_names(layers: Iterable[Mapping[str, Any]], side: str) -> dict[str, None]:
    names = (tensor.get("Name") for layer in layers for tensor in _tensors(layer, side))
    return dict.fromkeys(name for name in names if isinstance(name, str))


def _choose(path: Path, runs: Sequence[_T], find_run: _FindRun) -> tuple[_T, list[str]]:
    """Return the run to write, and the changes to the file."""
    if len(runs) == 1:
        return runs[0], []
    index = find_run(path)
    return runs[index], [f"run {index + 1} of {len(runs)}"]


def _convert_profile(path: Path, find_run: _FindRun) -> _Conversion:
    profile, changes = _choose(path, read_profiles(path), find_run)
    _check_whole(profile)
    return _profile_records(profile), changes, []


def _profile_records(profile: Profile) -> list[dict[str, Any]]:
    has_median = any(row.median_ms is not None for row in profile.rows)
    records: list[dict[str, Any]] = [] if profile.iterations is None else [{"count": profile.iterations}]
    for row in profile.rows:
        record = {"name": row.name, "timeMs": row.total_ms, "averageMs": row.average_ms}
        if has_median:
            record["medianMs"] = row.median_ms
        records.append({**record, "percentage": row.percentage})
    return records


def _convert_timing(path: Path, find_run: _FindRun) -> _Conversion:
    timing, chosen = _choose(path, read_timings(path), find_run)
    _check_whole(timing)
    rows = [
        {key: values[index] for key, values in timing.columns.items() if not math.isnan(values[index])}
        for index in range(timing.rows)
    ]
    changes = ["rows and keys are trtexec's"]
    changes += chosen
    if ENQUEUE in timing.columns:
        changes[0] += f", but for {ENQUEUE}: trtexec writes a start and an end instead"
    if assumed := timing.assumed.partition("; ")[2]:
        changes.append(assumed)
    remarks = [] if timing.latency_ms else ["no latencyMs column, which trex needs"]
    remarks += [
        diagnostic.message for diagnostic in timing.diagnostics if diagnostic.severity is not Severity.INFO
    ]
    return rows, changes, remarks


def _convert_metadata(kind: ArtifactKind, path: Path, _: _FindRun) -> _Conversion:
    root = load_json(path)
    if not isinstance(root, dict):
        return root, [], []
    lacking = [name for name in _NEEDED_SECTIONS.get(kind, ()) if not isinstance(root.get(name), dict)]
    changes = [f"got an empty {name}, which trex needs" for name in lacking]
    return root | {name: {} for name in lacking}, changes, []


_CONVERTERS: dict[ArtifactKind, Callable[[Path, _FindRun], _Conversion]] = {
    ArtifactKind.GRAPH: _convert_graph,
    ArtifactKind.PROFILE: _convert_profile,
    ArtifactKind.TIMING: _convert_timing,
    **{
        kind: partial(_convert_metadata, kind)
        for kind in (
            ArtifactKind.BUILD_METADATA,
            ArtifactKind.PROFILE_METADATA,
            ArtifactKind.DEVICE_METADATA,
        )
    },
}


def _write_log(kind: ArtifactKind, source: Path, target: Path) -> TrexFile:
    """Write a log as plain UTF-8, in pieces.

    Raises:
        ArtifactError: It cannot be read, or unpacks to more than a log does.
        OSError: It cannot be written.
    """
    changes = []
    state = ReadState()
    with open_log(source) as file, target.open("wb") as out:
        pieces = plain_pieces(file, state)
        first = next(pieces, b"")
        if state.is_packed:
            changes.append("unpacked")
        if first.startswith(_BYTE_ORDER_MARKS):
            changes.append("written as UTF-8")
            encoding = "utf-8-sig" if first.startswith(_BYTE_ORDER_MARKS[2]) else "utf-16"
            out.writelines(_as_utf8(chain([first], pieces), encoding))
        else:
            out.write(first)
            out.writelines(pieces)
    if state.damage:
        raise ArtifactError(source, state.damage)
    return TrexFile(kind, source, None, changes)


def _as_utf8(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    for piece in pieces:
        yield decoder.decode(piece).encode("utf-8", errors="replace")
    yield decoder.decode(b"", final=True).encode("utf-8", errors="replace")
