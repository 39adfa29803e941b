"""Any accepted input as the files that trex wrote and read, so that older notebooks go on working.

What converted files are called: `<base>.graph.json` and so on, the base being what the files of the set share already.

trex calls an engine `resnet.onnx.engine` and what belongs to it `resnet.onnx.engine.graph.json`, and notebooks make the one
name out of the other. Sets without such names get that of the set: `resnet.graph.json`.

Layer information as trex wants it: strict JSON, `Bindings` as names, every tensor with `Format/Datatype`.

TensorRT 11 writes `I/O Tensors` for `Bindings`, and `Format` and `Datatype` for `Format/Datatype`; its keys stay beside those
that are added. trex looks the format up among the texts of TensorRT 8 to 10, of which the linear FP32, Int32 and BOOL do not
end in ` format`, and none ends in the enumerator that 11 puts in parentheses.

Profile, timing and metadata as trex reads them, and logs as plain text.

trex takes profile records of four or five keys and drops all others, the row with the count among them; of timing rows it
reads `latencyMs`; of metadata it needs `performance_summary` and `device_information`, or `model_options` and
`build_options`, which may be empty.
"""

from __future__ import annotations

import codecs
import json
import math
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from filecmp import cmp
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from trex_tui.artifacts.discover import ArtifactSet
from trex_tui.artifacts.input_files import load_json
from trex_tui.artifacts.layer_info import LayerInfo, read_layer_info
from trex_tui.artifacts.naming import ArtifactKind, display_name, stem_of
from trex_tui.artifacts.output_files import Inputs, inputs_of, refusal
from trex_tui.artifacts.profile import Profile, read_profile
from trex_tui.artifacts.records import Records, read
from trex_tui.artifacts.timing import ENQUEUE, OLD_KEYS, TIMING_KEYS, Timing, read_timing
from trex_tui.buildlog.lines import ReadState, open_log, plain_pieces
from trex_tui.capture.manifest import metadata_of_log
from trex_tui.engine.dtypes import DataType, parse_data_type
from trex_tui.errors import ArtifactError, Severity, TrexError
from trex_tui.text import plural, printable


@dataclass(frozen=True, slots=True)
class Converted:
    """A file that is to be written.

    Attributes:
        source: What it is made of.
        content: Its bytes; None for those of the source, which nothing need change.
        changes: What was changed, a clause each; empty for a copy.
        remarks: What trex cannot do with it.
    """

    kind: ArtifactKind
    source: Path
    content: bytes | None
    changes: Sequence[str] = ()
    remarks: Sequence[str] = ()


def is_plain_json(data: bytes) -> bool:
    """Whether Python's own `json.load` reads it as it is: UTF-8 without a mark, and strictly JSON."""
    try:
        json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return False
    return True


def json_bytes(root: object) -> bytes:
    """JSON that any reader takes: ASCII, control characters escaped."""
    return (json.dumps(root, indent=1) + "\n").encode("ascii")


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
_OF_ENGINE = (ArtifactKind.BUILD_LOG, ArtifactKind.PROFILE_LOG)
"""Whose names hold that of the engine file even where those of the JSON files do not."""
_PACKED = re.compile(r"\.gz$", re.IGNORECASE)
_ENGINE = re.compile(r"\.(?:engine|plan|trt)$", re.IGNORECASE)


def base_of(source: ArtifactSet, name: str) -> str:
    """The base of the names of a set.

    Args:
        name: Of the set, without directories: the base where no file has a name that says more.
    """
    for kind, ending in ENDINGS.items():
        path = source.files.get(kind)
        plain = "" if path is None else _PACKED.sub("", path.name)
        if path is None or not plain.lower().endswith(f".{ending}"):
            continue
        base = plain[: -len(ending) - 1]
        if kind in _OF_ENGINE and not _ENGINE.search(base):
            continue
        if base and display_name(stem_of(path)) == name:
            return base
    return name


def name_of(base: str, kind: ArtifactKind) -> str:
    """The name of one file of the set.

    >>> name_of("net", ArtifactKind.BUILD_LOG), name_of("net.onnx.engine", ArtifactKind.BUILD_LOG)
    ('net.engine.build.log', 'net.onnx.engine.build.log')
    """
    if kind is not ArtifactKind.PLAN and kind not in _OF_ENGINE:
        return f"{base}.{ENDINGS[kind]}"
    engine = base if _ENGINE.search(base) else f"{base}.engine"
    return engine if kind is ArtifactKind.PLAN else f"{engine}.{ENDINGS[kind]}"


BOTH = "Format/Datatype"
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
NAMES_ONLY = "trex opens no engine of which only the names of layers are known (built without --profilingVerbosity=detailed)"


def convert_graph(path: Path) -> Converted:
    """The layer information of a set.

    Raises:
        ArtifactError: It cannot be read.
    """
    info = read_layer_info(path)
    root = load_json(path)
    counts: Counter[str] = Counter()
    raw = root if isinstance(root, list) else root["Layers"]
    if info.names_only:
        layers: list[Any] = list(raw)
    else:
        layers = [_layer(one, counts) for one in info.layers]
        counts["entries left out that are no layers"] += len(raw) - len(layers)
        counts["layers that got a name"] += sum(not isinstance(one, dict) or "Name" not in one for one in raw)
    changes = [f"{what}: {count}" for what, count in counts.items() if count]
    whole: dict[str, Any] = root if isinstance(root, dict) else {}
    if not whole:
        changes.append("the list of layers is in an object")
    bindings, why = _bindings(whole, info)
    changes += [why] if why else []
    if not changes and is_plain_json(path.read_bytes()):
        return Converted(ArtifactKind.GRAPH, path, None, (), _remarks(info))
    document = {**whole, "Layers": layers, "Bindings": bindings}
    changes = changes or ["written as UTF-8, control characters in names escaped"]
    return Converted(ArtifactKind.GRAPH, path, json_bytes(document), changes, _remarks(info))


def graph_of(info: LayerInfo, path: Path) -> Converted:
    """Layers that a log lists, for a set without layer information."""
    layers: list[Any] = [one["Name"] for one in info.layers]
    if not info.names_only:
        layers = [_layer(one, Counter()) for one in info.layers]
    content = json_bytes({"Layers": layers, "Bindings": list(info.bindings)})
    return Converted(ArtifactKind.GRAPH, path, content, ["layers taken from the log"], _remarks(info))


def _remarks(info: LayerInfo) -> list[str]:
    if info.names_only:
        return [NAMES_ONLY]
    found = []
    if not info.layers:
        found.append("trex opens no engine without layers")
    untyped = sum("LayerType" not in one for one in info.layers)
    if untyped:
        found.append(f"{plural(untyped, 'layer')} without a LayerType, which trex needs")
    tensors = [one for layer in info.layers for one in _tensors(layer)]
    shapeless = sum("Dimensions" not in one for one in tensors)
    if shapeless:
        found.append(f"{plural(shapeless, 'tensor')} without Dimensions, which trex needs")
    unformatted = sum(not (one.get(BOTH) or _combined(one)) for one in tensors)
    if unformatted:
        found.append(
            f"{plural(unformatted, 'tensor')} of a format that is not told; trex counts them as nothing"
        )
    return found


def _tensors(layer: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    for side in ("Inputs", "Outputs"):
        tensors = layer.get(side)
        yield from (one for one in tensors if isinstance(one, dict)) if isinstance(tensors, list) else ()


def _layer(layer: Mapping[str, Any], counts: Counter[str]) -> dict[str, Any]:
    found = dict(layer)
    for side in ("Inputs", "Outputs"):
        tensors = found.get(side)
        if not isinstance(tensors, list):
            counts[f"layers that got empty {side}"] += 1
            found[side] = []
            continue
        good = [_tensor(one, counts) for one in tensors if isinstance(one, dict)]
        counts["entries left out that are no tensors"] += len(tensors) - len(good)
        found[side] = good
    return found


def _tensor(tensor: dict[str, Any], counts: Counter[str]) -> dict[str, Any]:
    if isinstance(tensor.get(BOTH), str):
        return tensor
    counts[f"tensors that got {BOTH}"] += 1
    return {**tensor, BOTH: _combined(tensor)}


def _combined(tensor: Mapping[str, Any]) -> str:
    """One text out of the two of TensorRT 11; empty where it tells neither."""
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
    """Names of inputs and outputs, and what was done to have them; empty for nothing."""
    raw = root.get("Bindings")
    if isinstance(raw, list) and raw and raw == list(info.bindings):
        return raw, ""
    if info.bindings:
        return list(info.bindings), "Bindings are the names of the inputs and outputs listed"
    if info.names_only:
        return [], "" if isinstance(raw, list) else "empty Bindings"
    native = [layer for layer in info.layers if layer.get("ParameterType")]
    written = dict.fromkeys(one for layer in info.layers for one in _names(layer, "Outputs"))
    read = dict.fromkeys(one for layer in info.layers for one in _names(layer, "Inputs"))
    inputs = dict.fromkeys(one for layer in native for one in _names(layer, "Inputs") if one not in written)
    names = [*inputs, *(name for name in written if name not in read)]
    return names, "Bindings inferred: what layers read that none writes, and what they write that none reads"


def _names(layer: Mapping[str, Any], side: str) -> list[str]:
    tensors = layer.get(side)
    if not isinstance(tensors, list):
        return []
    return [one["Name"] for one in tensors if isinstance(one, dict) and isinstance(one.get("Name"), str)]


_KEYS = (
    {"name", "timeMs", "averageMs", "percentage"},
    {"name", "timeMs", "averageMs", "medianMs", "percentage"},
)
_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")
_NEEDED = {
    ArtifactKind.BUILD_METADATA: ("model_options", "build_options"),
    ArtifactKind.PROFILE_METADATA: ("performance_summary", "device_information"),
}


def convert_profile(path: Path) -> Converted:
    """Times per layer.

    Raises:
        ArtifactError: The file cannot be read.
    """
    profile = read_profile(path)
    data = path.read_bytes()
    # A backslash in a name is valid JSON by chance at most, so the reader's own understanding is written.
    if is_plain_json(data) and b"\\" not in data:
        records = [one for one in load_json(path) if not (isinstance(one, dict) and "count" in one)]
        if all(isinstance(one, dict) and set(one) in _KEYS for one in records):
            return Converted(ArtifactKind.PROFILE, path, None)
        why = "records have the keys that trex takes"
    else:
        why = "written as JSON: names escaped, what is no number null"
    return Converted(ArtifactKind.PROFILE, path, _profile_bytes(profile), [why])


def profile_of(profile: Profile, path: Path) -> Converted:
    """Times that a log lists, for a set without a profile."""
    return Converted(
        ArtifactKind.PROFILE, path, _profile_bytes(profile), ["times taken from the table in the log"]
    )


def _profile_bytes(profile: Profile) -> bytes:
    has_median = any(row.median_ms is not None for row in profile.rows)
    records: list[dict[str, Any]] = [] if profile.iterations is None else [{"count": profile.iterations}]
    for row in profile.rows:
        record = {"name": row.name, "timeMs": row.total_ms, "averageMs": row.average_ms}
        if has_median:
            record["medianMs"] = row.median_ms
        records.append({**record, "percentage": row.percentage})
    return json_bytes(records)


def convert_timing(path: Path) -> Converted:
    """Rows of the queries.

    Raises:
        ArtifactError: The file cannot be read.
    """
    timing = read_timing(path)
    root = load_json(path)
    remarks = [] if timing.latency_ms else ["no latencyMs, the only column that trex reads"]
    old = {short: long for long, short in OLD_KEYS.items()}
    known = {*TIMING_KEYS, *old}
    if not isinstance(root, list) or not any(isinstance(one, dict) and known & one.keys() for one in root):
        return _of_another_tool(timing, path, remarks)
    rows = [one for one in root if isinstance(one, dict)]
    changes = []
    if len(rows) < len(root):
        changes.append(f"entries left out that are no rows: {len(root) - len(rows)}")
    if any(key in old and old[key] not in row for row in rows for key in row):
        changes.append("keys of TensorRT 7 have their later names")
        rows = [
            {old.get(key, key) if old.get(key) not in row else key: one for key, one in row.items()}
            for row in rows
        ]
    if not changes and is_plain_json(path.read_bytes()):
        return Converted(ArtifactKind.TIMING, path, None, (), remarks)
    return Converted(ArtifactKind.TIMING, path, json_bytes(rows), changes or ["written as UTF-8"], remarks)


def _of_another_tool(timing: Timing, path: Path, remarks: Sequence[str]) -> Converted:
    """What our reader understood; with what it assumed, and what it left out."""
    understood = timing.assumed.partition("; ")[2]
    changes = ["rows and keys are trtexec's", *([understood] if understood else [])]
    if ENQUEUE in timing.columns:
        changes[0] = (
            f"rows and keys are trtexec's, but for {ENQUEUE}: trtexec writes a start and an end instead"
        )
    told = [one.message for one in timing.diagnostics if one.severity is not Severity.INFO]
    return Converted(ArtifactKind.TIMING, path, json_bytes(_rows_of(timing)), changes, [*remarks, *told])


def _rows_of(timing: Timing) -> list[dict[str, float]]:
    """A row per query out of the columns, without what is no number."""
    columns = timing.columns.items()
    return [
        {key: values[place] for key, values in columns if not math.isnan(values[place])}
        for place in range(timing.rows)
    ]


def convert_metadata(kind: ArtifactKind, path: Path) -> Converted:
    """What a log parser left.

    Raises:
        ArtifactError: The file cannot be read.
    """
    root = load_json(path)
    changes = []
    if kind in _NEEDED and isinstance(root, dict):
        lacking = [name for name in _NEEDED[kind] if not isinstance(root.get(name), dict)]
        root |= {name: {} for name in lacking}
        changes = [f"got an empty {name}, which trex needs" for name in lacking]
    if not changes and is_plain_json(path.read_bytes()):
        return Converted(kind, path, None)
    return Converted(kind, path, json_bytes(root), changes or ["written as UTF-8"])


def metadata_from_log(kind: ArtifactKind, log: Path, source: Path) -> Converted | None:
    """Metadata out of a log, for a set that has none; None if the log does not tell what trex needs.

    Args:
        log: The log as plain text.
        source: The log as it was found.

    Raises:
        ArtifactError: It cannot be read.
    """
    role = "build" if kind is ArtifactKind.BUILD_METADATA else "profile"
    document = metadata_of_log(log, role)
    if not document.get(_NEEDED[kind][0]):
        return None
    return Converted(kind, source, json_bytes(document), ["made from the log"])


def write_log(source: Path, target: Path) -> list[str]:
    """Write a log as plain UTF-8, in pieces; say what was changed.

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
        if first.startswith(_MARKS):
            changes.append("written as UTF-8")
            pieces = _as_utf8(
                chain([first], pieces), "utf-8-sig" if first.startswith(_MARKS[2]) else "utf-16"
            )
        else:
            out.write(first)
        out.writelines(pieces)
    if state.damage:
        raise ArtifactError(source, state.damage)
    return changes


def _as_utf8(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    for piece in pieces:
        yield decoder.decode(piece).encode("utf-8", errors="replace")
    yield decoder.decode(b"", final=True).encode("utf-8", errors="replace")


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
