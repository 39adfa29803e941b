"""Kinds of files that describe an engine: the content determines the kind, the name the engine.

Content: each schema of trtexec is recognized by its keys, whatever the name of the file and the version of TensorRT. Only the
head is read; a JSON object is searched for its key.

Names: users of trtexec can choose every name. Known are trex's `resnet.onnx.engine.graph.json`, plain `resnet.graph.json`,
toolkits' `layers_resnet.json`, `resnet_profile.json`, and bare `profile.json`.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import zlib
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field, replace
from enum import Enum
from functools import partial
from pathlib import Path

from trex_tui.old.artifacts.banner import find_banner
from trex_tui.old.artifacts.execution_trace import NAME as EXECUTION_TRACE
from trex_tui.old.artifacts.execution_trace import is_execution_trace
from trex_tui.old.artifacts.input_files import (
    COPY_AGAIN,
    convert_with,
    decode_text,
    open_bytes,
    parse_head,
    parse_json,
    read_fully,
    read_head,
)
from trex_tui.old.artifacts.layer_times import NAME_KEYS, find_layer_times
from trex_tui.old.artifacts.log_prefixes import STAGE_HEADLINE, STAMPED, is_routed_log
from trex_tui.old.artifacts.plan import MARK, OLD_MARK, read_plan_head
from trex_tui.old.artifacts.time_units import UnknownUnitError, plain, split_unit
from trex_tui.old.artifacts.timing import timing_column
from trex_tui.old.errors import ArtifactError, Diagnostic, describe_os_error
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.lazy_pattern import lazy_pattern


class ArtifactKind(str, Enum):
    """Kind of a file, by its content. The values name files in `summary --json`."""

    GRAPH = "graph"
    """`--exportLayerInfo`, or the same JSON from `IEngineInspector`."""
    PROFILE = "profile"
    """`--exportProfile`: time per layer."""
    TIMING = "timing"
    """`--exportTimes`: one row per measured query."""
    BUILD_METADATA = "build_metadata"
    """Options and device of the build run, as trex's log parser writes them."""
    PROFILE_METADATA = "profile_metadata"
    """Performance summary, inference options and device of the profile run, likewise."""
    DEVICE_METADATA = "metadata"
    """The list of device attributes that old trex wrote with pycuda."""
    BUILD_LOG = "build_log"
    PROFILE_LOG = "profile_log"
    PLAN = "engine"
    """The serialized engine itself; only its header is read."""
    ACCURACY = "accuracy"
    """`output_diff.json`: differences of its outputs from those of another engine."""
    MONITOR = "monitor"
    """Samples of power, temperature and clocks during the run."""
    IDLE_POWER = "idle_power"
    """`idling_power.json`: power of the idle board."""
    SESSION = "session_profile"
    """Profile of a session of ONNX Runtime, in which the engine is a node."""

    @property
    def words(self) -> str:
        """Return a noun phrase for such a file, to follow `a`."""
        names = {
            ArtifactKind.ACCURACY: "comparison of outputs",
            ArtifactKind.PLAN: "serialized engine",
            ArtifactKind.MONITOR: "log of power, temperature and clocks",
            ArtifactKind.IDLE_POWER: "record of idle power",
            ArtifactKind.SESSION: "session profile of ONNX Runtime",
        }
        return names.get(self, self.value.replace("_", " "))

    MANIFEST = "capture_manifest"
    """Manifest of the set, written by `trex-tui capture`."""

    @property
    def describes_engine(self) -> bool:
        """True if a file of this kind alone can be opened as an engine."""
        return self in (ArtifactKind.GRAPH, ArtifactKind.PROFILE, ArtifactKind.TIMING)

    @property
    def is_companion(self) -> bool:
        """True if it comes from a program that is not specific to engines, so that no warning is needed if it fits no set."""
        return self in (ArtifactKind.MONITOR, ArtifactKind.IDLE_POWER, ArtifactKind.SESSION)


OUTPUT_DIFF, PER_SAMPLE_DIFF = "output_diff.json", "per_sample_diff.json"
"""Comparisons of outputs, known by their name."""
_TORCH = lazy_pattern(r"(?P<stem>.+?)(?:_engine)+_layer_information\.json", re.DOTALL)
"""Name in Torch-TensorRT's debug folder: `_run_on_acc_0_engine_layer_information.json` for engine `_run_on_acc_0`."""
_CANONICAL = lazy_pattern(
    r"(?P<stem>.+?)\.(?:"
    r"(?:graph|profile|timing|build\.metadata|profile\.metadata|metadata|capture|session)\.json"
    r"|(?:build|profile)\.log(?:\.gz)?"
    r"|monitor\.csv"
    r"|engine|plan|trt|tea)",
    re.IGNORECASE | re.DOTALL,
)
_EXTENSION = lazy_pattern(r"(?:\.(?:json|log|txt|csv|gz|engine|plan|trt|tea))+$", re.IGNORECASE)
_ENGINE_EXTENSION = lazy_pattern(r"\.(?:engine|plan|trt)$", re.IGNORECASE)
_WORD = lazy_pattern(r"[^._\-\s]+")

# Words for the kind of a file, not for its engine.
_ROLE_WORDS = frozenset(
    {
        *(
            "build",
            "dump",
            "engine",
            "graph",
            "info",
            "json",
            "latency",
            "log",
            "meta",
            "metadata",
            "output",
            "run",
        ),
        *(
            "exportlayerinfo",
            "exportprofile",
            "exporttimes",
            "layer",
            "layerinfo",
            "layers",
            "stderr",
            "stdout",
        ),
        *("prof", "profile", "profiling", "time", "times", "timing", "timings", "trt", "trtexec"),
    }
)
_MONITOR_WORDS = frozenset(
    ("csv", "gpu", "jtop", "monitor", "nvidia", "power", "smi", "stats", "tegrastats", "usage")
)
"""The same for other files: an engine may have such a name."""


_MONITORS = frozenset(("jtop", "monitor", "smi", "tegrastats"))


def names_monitor(path: Path) -> bool:
    """Return whether the name of a CSV file says that it has samples of power, temperature and clocks."""
    words = (word.group().lower() for word in _WORD.finditer(_EXTENSION.sub("", path.name)))
    return path.suffix.lower() == ".csv" and not _MONITORS.isdisjoint(words)


def is_canonical(path: Path) -> bool:
    """Return whether the name is one that trex and trex-tui use."""
    return _CANONICAL.fullmatch(path.name) is not None


def engine_stem(path: Path) -> str:
    """Return the part of the name that files of one engine share; empty if the name only states the kind.

    >>> engine_stem(Path("resnet.onnx.engine.profile.metadata.json")), engine_stem(Path("layers_fp16.json"))
    ('resnet.onnx', 'fp16')
    >>> engine_stem(Path("trtexec_stdout.log"))
    ''
    """
    if path.name.lower() in (OUTPUT_DIFF, PER_SAMPLE_DIFF):
        return ""
    match = _CANONICAL.fullmatch(path.name)
    if match:
        return _ENGINE_EXTENSION.sub("", match["stem"])
    if match := _TORCH.fullmatch(path.name) or EXECUTION_TRACE.fullmatch(path.name):
        return match["stem"]
    if stage := _stage_engine(path):
        return stage
    base = _EXTENSION.sub("", path.name)
    words = list(_WORD.finditer(base))
    first, last = 0, len(words)
    roles = _ROLE_WORDS if path.suffix.lower() == ".json" else _ROLE_WORDS | _MONITOR_WORDS
    while last > first and words[last - 1].group().lower() in roles:
        last -= 1
    if last == len(words):
        while first < last and words[first].group().lower() in roles:
            first += 1
    return base[words[first].start() : words[last - 1].end()] if last > first else ""


ARCHIVE_ENDING = ".tea"


def is_archive(path: Path) -> bool:
    """Return whether the name is that of a TensorRT engine archive."""
    return path.suffix.lower() == ARCHIVE_ENDING


def tells_role(path: Path) -> bool:
    """Return whether the name states the kind of the file, so that its other words identify the engine."""
    if is_canonical(path):
        return True
    if _stage_engine(path):
        return False
    return any(word.group().lower() in _ROLE_WORDS for word in _WORD.finditer(_EXTENSION.sub("", path.name)))


def _stage_engine(path: Path) -> str | None:
    if not path.name.lower().startswith("layer_") or path.suffix.lower() != ".csv":
        return None
    from trex_tui.old.artifacts.stage_times import stage_engine  # csv, for files that few directories have

    return stage_engine(path)


def display_name(stem: str) -> str:
    """Return the stem for display: without the `.onnx` that trex keeps."""
    return re.sub(r"\.onnx$", "", stem, flags=re.IGNORECASE)


HEAD_BYTES = 64 * 1024
_PIECE_BYTES = 512 * 1024
_OVERLAP_BYTES = 1024
_MOST_SEARCHED = 256 << 20
"""Limit of the search for the identifying key in a JSON object."""
GZIP_MARK = b"\x1f\x8b"

_KEY = lazy_pattern(r'"([A-Za-z][\w /.()-]*)"\s*:')

# The identifying keys of a root object. Bytes, because a large file is searched without being decoded.
_ROOT_KEY = lazy_pattern(
    rb'"(?:(?P<profile>performance_summary|inference_options)|(?P<build>build_options|model_options))"\s*:\s*\{'
    rb'|"Layers"\s*:\s*\['
)
_LAYER_INFO_KEYS = lazy_pattern(r'"(?:LayerType|Inputs|Outputs)"\s*:')
_OWN = lazy_pattern(r'\ufeff?\s*\{\s*"schema"\s*:\s*"(trex-tui/[\w/.-]*)')
# Timing files of other tools: an identifying key before numbers or rows, or a column before a container of numbers.
_TIMES = lazy_pattern(
    r'"(?:times|timings|per_?iteration|latenc(?:y|ies))(?:[ _]?in)?[ _(]*'
    r'(?:[mun\u00b5\u03bc]?s|(?:milli|micro|nano)?seconds)?\)?"\s*:\s*(?:\[\s*[-\d{]|\{\s*(?:"unit"\s*:\s*"[^"]*"\s*,\s*)?"(?:values|samples|data|raw)"\s*:\s*\[)',
    re.IGNORECASE,
)
_JSON_ROWS = lazy_pattern(r"\ufeff?\s*\[\s*\{\s*\"")
_NUMBERS = lazy_pattern(r"\[\s*-?\d[\d.eE+-]*\s*[,\]]")
_TIMES_NAME = lazy_pattern(r"times?(?![a-z])|timings?(?![a-z])|latenc(?:y|ies)", re.IGNORECASE)
_MANIFEST = lazy_pattern(r'\ufeff?\s*\{\s*"schema"\s*:\s*"trex-tui/capture/')
_ACCURACY = lazy_pattern(r'\ufeff?\s*\{\s*"schema"\s*:\s*"trex-tui/accuracy(?P<part>-samples?)?/')
_EVENT = lazy_pattern(r'"cat"\s*:\s*"(?:Session|Node)"')
_IDLE_POWER = lazy_pattern(r'"avg_idle_power"\s*:')
_LAYER_POWER = lazy_pattern(r'"layer_power_(?:in|ex)cluding_idle_power_micro_watt"\s*:')
_COMPARED = (OUTPUT_DIFF, PER_SAMPLE_DIFF)
# Keys of the first objects of a root list -> kind.
_LIST_KEYS = (
    (frozenset({"averageMs", "timeMs"}), ArtifactKind.PROFILE),
    (frozenset({"count"}), ArtifactKind.PROFILE),
    (frozenset({"latencyMs"}), ArtifactKind.TIMING),
    (frozenset({"computeMs", "startComputeMs"}), ArtifactKind.TIMING),
    (frozenset({"Name", "LayerType"}), ArtifactKind.GRAPH),
    (frozenset({"ComputeCapability", "CUDA_VERSION"}), ArtifactKind.DEVICE_METADATA),
)
_TELLING_COLUMNS = ("latencyMs", "computeMs")


@dataclass(frozen=True, slots=True)
class Sniffed:
    """Kind of a file, or why it has none.

    Attributes:
        kind: None if the file is not an artifact.
        reason: Why not, as the end of a sentence whose subject is the file; empty for an artifact.
        claims: Whether it looks like an artifact (JSON, a log), so that the user should be told.
    """

    kind: ArtifactKind | None
    reason: str = ""
    claims: bool = False


def kind_of_build_log(kinds: Container[ArtifactKind]) -> ArtifactKind | None:
    """Return the log to read: that of the build, else that of a run, which may include the build; None without logs."""
    logs = (ArtifactKind.BUILD_LOG, ArtifactKind.PROFILE_LOG)
    return next((kind for kind in logs if kind in kinds), None)


@dataclass(slots=True)
class KnownKinds:
    """Kinds of files from an earlier search, by path.

    Attributes:
        entries: Path -> size, time of change in nanoseconds, kind.
        used: The entries of this search.
    """

    entries: dict[str, tuple[int, int, Sniffed]] = field(default_factory=dict)
    used: dict[str, tuple[int, int, Sniffed]] = field(default_factory=dict)

    def sniff(self, path: Path) -> Sniffed:
        """Return the kind of a file: the known one if size and time are as before."""
        name = os.path.abspath(path)  # noqa: PTH100 - as text
        try:
            status = os.stat(name)  # noqa: PTH116 - `Path.stat` takes twice as long
        except (OSError, ValueError):
            return _sniff(path)
        entry = self.used.get(name) or self.entries.get(name)
        if entry is None or entry[0] != status.st_size or entry[1] != status.st_mtime_ns:
            entry = (status.st_size, status.st_mtime_ns, _sniff(path))
        self.used[name] = entry
        return entry[2]


_known: ContextVar[KnownKinds | None] = ContextVar("known_kinds", default=None)


@contextmanager
def remember_kinds(known: KnownKinds) -> Iterator[None]:
    """Use known kinds while the block runs, and add new ones."""
    token = _known.set(known)
    try:
        yield
    finally:
        _known.reset(token)


def sniff(path: Path) -> Sniffed:
    """Recognize one file. Never raises; for an unreadable file the error is the reason."""
    known = _known.get()
    return _sniff(path) if known is None else known.sniff(path)


def _sniff(path: Path) -> Sniffed:
    sniffed = _sniff_content(path)
    return replace(sniffed, claims=True) if sniffed.kind is None and names_monitor(path) else sniffed


def _sniff_content(path: Path) -> Sniffed:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return Sniffed(None, "is not a regular file; name a file that trtexec exported")
        head = read_head(path, HEAD_BYTES)
    except OSError as error:
        return Sniffed(None, describe_os_error(error), claims=True)
    if not head:
        return Sniffed(None, f"is empty; {COPY_AGAIN}", claims=path.suffix.lower() in (".json", ".log"))
    if _is_plan(path, head):
        return Sniffed(ArtifactKind.PLAN)
    if head.startswith(GZIP_MARK):
        return _sniff_gzip(path, head)
    text = decode_text(head)
    sniffed = _sniff_text(text, path)
    return sniffed if sniffed.kind else _ask_plugins(path, text) or sniffed


def _ask_plugins(path: Path, text: str) -> Sniffed | None:
    from trex_tui.old.artifacts.readers import (
        find_reader,  # 20 ms for entry points, which known files do not need
    )

    reader = find_reader(path, text)
    return Sniffed(reader.kind) if reader else None


def reader_problems() -> tuple[Diagnostic, ...]:
    """Return why readers of plug-ins cannot be used; none as long as no file needed one."""
    module = sys.modules.get("trex_tui.old.artifacts.readers")
    problems: tuple[Diagnostic, ...] = module.all_readers()[1] if module else ()
    return problems


def _is_plan(path: Path, head: bytes) -> bool:
    """Return whether a file is a serialized engine, perhaps behind metadata of another tool."""
    if not head.startswith((MARK, OLD_MARK)) and head[4:5] != b"{":
        return False
    try:
        return read_plan_head(path) is not None
    except OSError:
        return False


def unpacked_head(head: bytes) -> bytes:
    """Return the head of a file after decompression, at most `HEAD_BYTES`; the head itself if it is not compressed.

    Raises:
        zlib.error: It is damaged.
    """
    if not head.startswith(GZIP_MARK):
        return head
    return zlib.decompressobj(wbits=31).decompress(head, HEAD_BYTES)


def _sniff_gzip(path: Path, head: bytes) -> Sniffed:
    try:
        text = decode_text(unpacked_head(head))
    except zlib.error:
        text = ""
    if not text:
        return Sniffed(None, f"is a damaged gzip file; {COPY_AGAIN}", claims=True)
    if text.lstrip()[:1] in ("{", "["):
        return Sniffed(None, "is compressed JSON; unpack it first", claims=True)
    sniffed = _sniff_text(text, path)
    return (
        sniffed
        if sniffed.kind
        else Sniffed(None, "is a gzip file without a trtexec log; name a file that trtexec exported")
    )


def _sniff_text(text: str, path: Path) -> Sniffed:
    body = text.lstrip()
    if body.startswith("{"):
        return _sniff_object(path, text)
    if sniffed := _sniff_log(text, path) or _sniff_engine_text(text, path):
        return sniffed
    if STAGE_HEADLINE.search(text):
        return Sniffed(ArtifactKind.PROFILE)
    if body.startswith("["):
        return _sniff_list(text, path)
    if _is_stage_table(body):
        return Sniffed(ArtifactKind.PROFILE)
    if _is_monitor(text):
        return Sniffed(ArtifactKind.MONITOR)
    if find_banner(text, is_trtexec=True):
        # Every message of trtexec has a time stamp; its help does not.
        return Sniffed(
            None, "is trtexec output, but not the log of a run", claims=path.suffix.lower() == ".log"
        )
    named_json = path.suffix.lower() == ".json"
    if not body:
        return Sniffed(None, f"starts with white space only; {COPY_AGAIN}", claims=named_json)
    return Sniffed(None, _describe_unknown(text, path), claims=named_json or path.suffix.lower() == ".log")


def _describe_unknown(text: str, path: Path) -> str:
    if names_monitor(path):
        return "has no samples of tegrastats, nvidia-smi, jtop or `trex-tui capture`; record it again with one of these"
    if text.startswith("PK\3\4"):
        return "is a zip archive; unpack it, and name the directory"
    what = "is binary but not a TensorRT plan" if "\0" in text else "is text, but not JSON or a trtexec log"
    return f"{what}; name a file that trtexec exported"


def _sniff_engine_text(text: str, path: Path) -> Sniffed | None:
    """Recognize what `polygraphy inspect model` prints of an engine, which is converted whenever it is read."""
    if "==== TensorRT Engine ====" not in text:
        return None
    from trex_tui.old.artifacts.polygraphy_text import convert_engine_text  # few directories have such a file

    convert_with(path, partial(convert_engine_text, path))
    return Sniffed(ArtifactKind.GRAPH)


def _is_stage_table(body: str) -> bool:
    if not body.lstrip("\ufeff").startswith("layer_name,"):
        return False
    from trex_tui.old.artifacts.stage_times import is_stage_table  # as in _stage_engine

    return is_stage_table(body)


def _kind_of_events(head: str, path: Path) -> ArtifactKind | None:
    """Return the kind of a list of events that a known program writes; None for any other list."""
    if is_execution_trace(head, path):
        return ArtifactKind.PROFILE
    if not _EVENT.search(head):
        return None
    from trex_tui.old.artifacts.session_profile import is_session_profile  # only traces of events need it

    return ArtifactKind.SESSION if is_session_profile(head) else None


def _is_monitor(text: str) -> bool:
    from trex_tui.old.artifacts.monitor import find_producer  # 10 ms, and few directories have such a file

    return find_producer(text) is not None


def _sniff_log(text: str, path: Path) -> Sniffed | None:
    """Recognize a log of trtexec, or of another program with the library's messages; None if it is neither."""
    is_rows = _JSON_ROWS.match(text) is not None  # numbers, in which the search would take 2 ms
    if STAMPED.search(text) or (not is_rows and is_routed_log(text)):
        return Sniffed(_log_role(text, path))
    return None


def _sniff_object(path: Path, head: str) -> Sniffed:
    if _MANIFEST.match(head):
        return Sniffed(ArtifactKind.MANIFEST)
    if (ours := _ACCURACY.match(head)) or path.name.lower() in _COMPARED:
        if (ours and ours["part"]) or path.name.lower() == PER_SAMPLE_DIFF:
            return Sniffed(None, "is part of an output comparison; its result is output_diff.json")
        return Sniffed(ArtifactKind.ACCURACY)
    kind = _kind_of_object(head.encode(errors="replace")) or _kind_of_large_object(path)
    if kind is ArtifactKind.GRAPH and not _LAYER_INFO_KEYS.search(head) and _holds_layer_times(head, path):
        kind = ArtifactKind.PROFILE  # other tools list times under "Layers" too
    if kind is not None:
        return Sniffed(kind)
    if _IDLE_POWER.search(head):
        return Sniffed(ArtifactKind.IDLE_POWER)
    if own := _OWN.match(head):
        return Sniffed(None, f"is a result of trex-tui ({own[1]})")
    if _holds_layer_times(head, path):
        return Sniffed(ArtifactKind.PROFILE)
    if _TIMES.search(head):
        return Sniffed(ArtifactKind.TIMING)
    return _truncation(head, path) or _unknown("JSON", _KEY.findall(head[:4096]))


def _holds_layer_times(head: str, path: Path) -> bool:
    try:
        return bool(find_layer_times(parse_head(head), path.name))
    except UnknownUnitError:
        return True  # the reader names the unit


_SHAPES = (
    (
        "a profile",
        '{"layers": [{"name": …, "averageMs": …}]}',
        "layers layer layername profile averagems avgms time",
    ),
    (
        "layer information",
        '{"Layers": [{"Name": …, "LayerType": …}]}',
        "layertype inputs outputs bindings tacticname",
    ),
    ("a timing file", '{"times": [ms, …]}', "times timings latency latencies iterations perf throughput qps"),
    ("metadata", '{"build_options": {…}}', "options device precision builder config selecteddevice"),
)
"""Name and form of an artifact, and keys of similar files, in lower-case letters and digits."""
_KNOWN = ("layer information", "profiles", "timing files", "metadata of trtexec")


def _unknown(what: str, keys: Sequence[str]) -> Sniffed:
    """Describe JSON of unknown kind: its keys, and the most similar known form."""
    unique = list(dict.fromkeys(keys))
    words = {stem for key in unique for stem, _ in split_unit(key)}
    scores = [len(words & set(hints.split())) for _, _, hints in _SHAPES]
    name, form, _ = _SHAPES[scores.index(max(scores))]
    known = f"closest known: {name}, {form}" if any(scores) else f"known are {', '.join(_KNOWN)}"
    message = f"is {what} of an unknown kind (keys: {_cut(', '.join(unique) or 'none')}); {known}"
    return Sniffed(None, message, claims=True)


def _kind_of_object(content: bytes) -> ArtifactKind | None:
    match = _ROOT_KEY.search(content)
    if match is None:
        return None
    if match["profile"]:
        return ArtifactKind.PROFILE_METADATA
    return ArtifactKind.BUILD_METADATA if match["build"] else ArtifactKind.GRAPH


def _kind_of_large_object(path: Path) -> ArtifactKind | None:
    """Search a large object piece by piece: if a mapped file is truncated meanwhile, the process ends."""
    try:
        with open_bytes(path) as file:
            before = b""
            for _ in range(_MOST_SEARCHED // _PIECE_BYTES):
                piece = read_fully(file, _PIECE_BYTES)
                kind = _kind_of_object(before + piece)
                if kind is not None or len(piece) < _PIECE_BYTES:
                    return kind
                before = piece[-_OVERLAP_BYTES:]
    except OSError:
        pass  # If it cannot be read again, it is judged by its head alone.
    return None


def _describe_stranger(head: str, keys: set[str]) -> str:
    """Return what a list is that resembles a profile; empty if it may be one."""
    if _LAYER_POWER.search(head):
        return "has layer powers computed by another tool"
    return "has values of outputs (--exportOutput), which describe no engine" if keys >= _OUTPUT_KEYS else ""


_OUTPUT_KEYS = frozenset({"name", "dimensions", "values"})


def _sniff_list(head: str, path: Path) -> Sniffed:
    if path.name.lower() in _COMPARED:
        is_result = path.name.lower() == OUTPUT_DIFF
        return Sniffed(
            ArtifactKind.ACCURACY if is_result else None, "" if is_result else "is a part of a comparison"
        )
    keys = set(_KEY.findall(head))
    if reason := _describe_stranger(head, keys):
        return Sniffed(None, reason)
    if kind := _kind_of_events(head, path):
        return Sniffed(kind)
    has_names = any(plain(key) in NAME_KEYS for key in keys)
    for wanted, kind in _LIST_KEYS:
        if wanted <= keys and not (kind is ArtifactKind.TIMING and has_names):
            return Sniffed(kind)
    if has_names and _holds_layer_times(head, path):
        return Sniffed(ArtifactKind.PROFILE)
    if any(timing_column(key)[0] in _TELLING_COLUMNS for key in keys):
        return Sniffed(ArtifactKind.TIMING)
    if {"ph", "ts"} <= keys:
        return Sniffed(None, "is a trace of events, without layers")
    if _NUMBERS.match(head.lstrip("\ufeff \t\r\n")) and _TIMES_NAME.search(path.name):
        return Sniffed(ArtifactKind.TIMING)
    return _truncation(head, path) or _unknown("a JSON list", sorted(keys))


def _truncation(head: str, path: Path) -> Sniffed | None:
    """Describe truncated JSON of unknown kind, whose missing part may have the identifying key.

    None if it is complete, or longer than the head.
    """
    if len(head) >= HEAD_BYTES // 4:  # a letter has at most four bytes
        return None
    try:
        parse_json(head, path)
    except ArtifactError as error:
        message = error.diagnostic.message
        return Sniffed(None, message, claims=True) if message.startswith("is truncated") else None
    return None


def _cut(text: str, width: int = 60) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


_ENGINE_OPTION = lazy_pattern(r"--(?:save|load)Engine=(\S+)")


def logged_engine(path: Path) -> tuple[str, str] | None:
    """Return the engine that a log saves or loads, as file name and TensorRT version; None if not in its head."""
    try:
        head = decode_text(unpacked_head(read_head(path, HEAD_BYTES)))
    except (OSError, zlib.error):
        return None
    banner = find_banner(head, is_trtexec=True)
    match = _ENGINE_OPTION.search(banner.command) if banner else None
    if banner is None or match is None:
        return None
    return re.split(r"[\\/]", match[1].strip("'\""))[-1], banner.version or ""


def _log_role(text: str, path: Path) -> ArtifactKind:
    """Return the kind of a log: that of the profile run if its command line loads an engine."""
    banner = find_banner(text, is_trtexec=True)
    command = banner.command if banner else ""
    if "--loadEngine" in command:
        return ArtifactKind.PROFILE_LOG
    if "--onnx" in command or "--saveEngine" in command:
        return ArtifactKind.BUILD_LOG
    return ArtifactKind.PROFILE_LOG if "profile" in path.name.lower() else ArtifactKind.BUILD_LOG
