"""Kinds of files that describe an engine: the content determines the kind, the name the engine.

Content: each schema of trtexec is recognized by its keys, whatever the name of the file and the version of TensorRT. Only the
head is read; a JSON object is searched for its key.

Names: users of trtexec can choose every name. Known are trex's `resnet.onnx.engine.graph.json`, plain `resnet.graph.json`,
toolkits' `layers_resnet.json`, `resnet_profile.json`, and bare `profile.json`.
"""

from __future__ import annotations

import re
import stat
import zlib
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from pathlib import Path

from trex_tui.artifacts.layer_times import NAME_KEYS, find_layer_times
from trex_tui.artifacts.open import (
    COPY_AGAIN,
    convert_with,
    decode_text,
    open_bytes,
    parse_head,
    parse_json,
    read_fully,
    read_head,
)
from trex_tui.artifacts.plan import MARK, OLD_MARK, read_plan_head
from trex_tui.artifacts.time_units import UnknownUnitError, plain, split_unit
from trex_tui.artifacts.timing import timing_column
from trex_tui.errors import ArtifactError, describe_os_error


class FileKind(str, Enum):
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

    @property
    def words(self) -> str:
        """Return a noun phrase for such a file, to follow `a`."""
        names = {
            FileKind.ACCURACY: "comparison of outputs",
            FileKind.PLAN: "serialized engine",
            FileKind.MONITOR: "log of power, temperature and clocks",
            FileKind.IDLE_POWER: "record of idle power",
        }
        return names.get(self, self.value.replace("_", " "))

    MANIFEST = "capture_manifest"
    """Manifest of the set, written by `trex-tui capture`."""

    @property
    def describes_engine(self) -> bool:
        """True if a file of this kind alone can be opened as an engine."""
        return self in (FileKind.GRAPH, FileKind.PROFILE, FileKind.TIMING)

    @property
    def is_companion(self) -> bool:
        """True if it comes from a program that is not specific to engines, so that no warning is needed if it fits no set."""
        return self in (FileKind.MONITOR, FileKind.IDLE_POWER)


OUTPUT_DIFF, PER_SAMPLE_DIFF = "output_diff.json", "per_sample_diff.json"
"""Comparisons of outputs, known by their name."""
_TORCH = re.compile(r"(?P<stem>.+?)(?:_engine)+_layer_information\.json", re.DOTALL)
"""Name in Torch-TensorRT's debug folder: `_run_on_acc_0_engine_layer_information.json` for engine `_run_on_acc_0`."""
_CANONICAL = re.compile(
    r"(?P<stem>.+?)\.(?:"
    r"(?:graph|profile|timing|build\.metadata|profile\.metadata|metadata|capture|session)\.json"
    r"|(?:build|profile)\.log(?:\.gz)?"
    r"|monitor\.csv"
    r"|engine|plan|trt|tea)",
    re.IGNORECASE | re.DOTALL,
)
_EXTENSION = re.compile(r"(?:\.(?:json|log|txt|csv|gz|engine|plan|trt|tea))+$", re.IGNORECASE)
_ENGINE_EXTENSION = re.compile(r"\.(?:engine|plan|trt)$", re.IGNORECASE)
_WORD = re.compile(r"[^._\-\s]+")

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
    if match := _TORCH.fullmatch(path.name):
        return match["stem"]
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
    return any(word.group().lower() in _ROLE_WORDS for word in _WORD.finditer(_EXTENSION.sub("", path.name)))


def display_name(stem: str) -> str:
    """Return the stem for display: without the `.onnx` that trex keeps."""
    return re.sub(r"\.onnx$", "", stem, flags=re.IGNORECASE)


HEAD_BYTES = 64 * 1024
_PIECE_BYTES = 512 * 1024
_OVERLAP_BYTES = 1024
_MOST_SEARCHED = 256 << 20
"""Limit of the search for the identifying key in a JSON object."""
GZIP_MARK = b"\x1f\x8b"

_KEY = re.compile(r'"([A-Za-z][\w /.()-]*)"\s*:')

# The identifying keys of a root object. Bytes, because a large file is searched without being decoded.
_ROOT_KEY = re.compile(
    rb'"(?:(?P<profile>performance_summary|inference_options)|(?P<build>build_options|model_options))"\s*:\s*\{'
    rb'|"Layers"\s*:\s*\['
)
_LAYER_INFO_KEYS = re.compile(r'"(?:LayerType|Inputs|Outputs)"\s*:')
_OWN = re.compile(r'\ufeff?\s*\{\s*"schema"\s*:\s*"(trex-tui/[\w/.-]*)')
# Timing files of other tools: an identifying key before numbers or rows, or a column before a container of numbers.
_TIMES = re.compile(
    r'"(?:times|timings|per_?iteration|latenc(?:y|ies))(?:[ _]?in)?[ _(]*'
    r'(?:[mun\u00b5\u03bc]?s|(?:milli|micro|nano)?seconds)?\)?"\s*:\s*(?:\[\s*[-\d{]|\{\s*(?:"unit"\s*:\s*"[^"]*"\s*,\s*)?"(?:values|samples|data|raw)"\s*:\s*\[)',
    re.IGNORECASE,
)
_JSON_ROWS = re.compile(r"\ufeff?\s*\[\s*\{\s*\"")
_NUMBERS = re.compile(r"\[\s*-?\d[\d.eE+-]*\s*[,\]]")
_TIMES_NAME = re.compile(r"times?(?![a-z])|timings?(?![a-z])|latenc(?:y|ies)", re.IGNORECASE)
_MANIFEST = re.compile(r'\ufeff?\s*\{\s*"schema"\s*:\s*"trex-tui/capture/')
_ACCURACY = re.compile(r'\ufeff?\s*\{\s*"schema"\s*:\s*"trex-tui/accuracy(?P<part>-samples?)?/')
_EVENT = re.compile(r'"cat"\s*:\s*"(?:Session|Node)"')
_IDLE_POWER = re.compile(r'"avg_idle_power"\s*:')
_LAYER_POWER = re.compile(r'"layer_power_(?:in|ex)cluding_idle_power_micro_watt"\s*:')
_COMPARED = (OUTPUT_DIFF, PER_SAMPLE_DIFF)
# Keys of the first objects of a root list -> kind.
_STAMP = re.compile(r"\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] (?:\[[VIWEF]\]|\[TRT\] \[[VIWEF]\])")
_BANNER = re.compile(
    r"&&&& \w+ TensorRT(?:[-_ ]?RTX)?\.(?:trtexec|tensorrt_rtx)\b(?: \[[\w -]+ v(?P<version>\d{1,9})\])?(?:.*?# (?P<command>.*))?"
)
_BARE = re.compile(
    r"^\[[VIWEF]\] (?:\[TRT\] \S|=== \w|Error\[\d+\]: )|^=== Performance summary ===", re.MULTILINE
)
"""A line of trtexec without its time stamp, or the begin of a summary without any prefix."""
_MESSAGE = re.compile(
    r"Registered plugin creator - |Plugin creator already registered - |Registering (?:layer|tensor): "
    r"|Searching for input: |Parsing node: |Importing initializer: |Adding network (?:input|output): "
    r"|\[MemUsage(?:Change|Snapshot|Stats)\] |Loaded engine size: |Deserialization required \d"
    r"|Original: \d+ layers|={15} Computing |\*{15} Autotuning |-{15} Timing Runner: |>{15} Chose Runner "
    r"|Tactic: \S+ Time: |Tactic Name: \S+ Tactic: |Engine Layer Information:|Engine generation completed in "
    r"|Applying generic optimizations to the graph|Total (?:Host|Device|Scratch|Activation|Weights) "
    r"(?:Persistent )?Memory: |Tactic Device request: \d"
)
"""Messages that only the library prints, of TensorRT 8 to 11."""
_LONGEST_PREFIX = 200
_LEVEL = re.compile(
    r"\[[DVIWEFC]\]|(?<![A-Za-z])(?:[DVIWEFC](?=\d{4} )|(?i:INTERNAL_ERROR|CRITICAL|FATAL|ERROR|WARN(?:ING)?|NOTICE"
    r"|SUCCESS|INFO|DEBUG|TRACE|VERBOSE)(?![A-Za-z]))"
)
"""Severity of a message, as the library's `ILogger` and other loggers print it."""
_LIST_KEYS = (
    (frozenset({"averageMs", "timeMs"}), FileKind.PROFILE),
    (frozenset({"count"}), FileKind.PROFILE),
    (frozenset({"latencyMs"}), FileKind.TIMING),
    (frozenset({"computeMs", "startComputeMs"}), FileKind.TIMING),
    (frozenset({"Name", "LayerType"}), FileKind.GRAPH),
    (frozenset({"ComputeCapability", "CUDA_VERSION"}), FileKind.DEVICE_METADATA),
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

    kind: FileKind | None
    reason: str = ""
    claims: bool = False


def kind_of_build_log(kinds: Container[FileKind]) -> FileKind | None:
    """Return the log to read: that of the build, else that of a run, which may include the build; None without logs."""
    logs = (FileKind.BUILD_LOG, FileKind.PROFILE_LOG)
    return next((kind for kind in logs if kind in kinds), None)


def sniff(path: Path) -> Sniffed:
    """Recognize one file. Never raises; for an unreadable file the error is the reason."""
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
        return Sniffed(FileKind.PLAN)
    if head.startswith(GZIP_MARK):
        return _sniff_gzip(path, head)
    text = decode_text(head)
    return _sniff_text(text, path)


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
    if body.startswith("["):
        return _sniff_list(text, path)
    if _is_monitor(text):
        return Sniffed(FileKind.MONITOR)
    if find_command(text) is not None:
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
    from trex_tui.artifacts.polygraphy import convert_engine_text  # few directories have such a file

    convert_with(path, partial(convert_engine_text, path))
    return Sniffed(FileKind.GRAPH)


def _is_monitor(text: str) -> bool:
    from trex_tui.artifacts.power import find_producer  # 10 ms, and few directories have such a file

    return find_producer(text) is not None


def _sniff_log(text: str, path: Path) -> Sniffed | None:
    """Recognize a log of trtexec, or of another program with the library's messages; None if it is neither."""
    is_rows = _JSON_ROWS.match(text) is not None  # numbers, in which the search would take 2 ms
    if _STAMP.search(text) or (not is_rows and _is_relayed_log(text)):
        return Sniffed(_log_role(text, path))
    return None


def _sniff_object(path: Path, head: str) -> Sniffed:
    if _MANIFEST.match(head):
        return Sniffed(FileKind.MANIFEST)
    if (ours := _ACCURACY.match(head)) or path.name.lower() in _COMPARED:
        if (ours and ours["part"]) or path.name.lower() == PER_SAMPLE_DIFF:
            return Sniffed(None, "is part of an output comparison; its result is output_diff.json")
        return Sniffed(FileKind.ACCURACY)
    kind = _kind_of_object(head.encode(errors="replace")) or _kind_of_large_object(path)
    if kind is FileKind.GRAPH and not _LAYER_INFO_KEYS.search(head) and _holds_layer_times(head, path):
        kind = FileKind.PROFILE  # other tools list times under "Layers" too
    if kind is not None:
        return Sniffed(kind)
    if _IDLE_POWER.search(head):
        return Sniffed(FileKind.IDLE_POWER)
    if own := _OWN.match(head):
        return Sniffed(None, f"is a result of trex-tui ({own[1]})")
    if _holds_layer_times(head, path):
        return Sniffed(FileKind.PROFILE)
    if _TIMES.search(head):
        return Sniffed(FileKind.TIMING)
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


def _kind_of_object(content: bytes) -> FileKind | None:
    match = _ROOT_KEY.search(content)
    if match is None:
        return None
    if match["profile"]:
        return FileKind.PROFILE_METADATA
    return FileKind.BUILD_METADATA if match["build"] else FileKind.GRAPH


def _kind_of_large_object(path: Path) -> FileKind | None:
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
            FileKind.ACCURACY if is_result else None, "" if is_result else "is a part of a comparison"
        )
    keys = set(_KEY.findall(head))
    if reason := _describe_stranger(head, keys):
        return Sniffed(None, reason)
    has_names = any(plain(key) in NAME_KEYS for key in keys)
    for wanted, kind in _LIST_KEYS:
        if wanted <= keys and not (kind is FileKind.TIMING and has_names):
            return Sniffed(kind)
    if has_names and _holds_layer_times(head, path):
        return Sniffed(FileKind.PROFILE)
    if any(timing_column(key)[0] in _TELLING_COLUMNS for key in keys):
        return Sniffed(FileKind.TIMING)
    if {"ph", "ts"} <= keys:
        return Sniffed(None, "is a trace of events, without layers")
    if _NUMBERS.match(head.lstrip("\ufeff \t\r\n")) and _TIMES_NAME.search(path.name):
        return Sniffed(FileKind.TIMING)
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
        message = error.note.message
        return Sniffed(None, message, claims=True) if message.startswith("is truncated") else None
    return None


def _cut(text: str, width: int = 60) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


_ENGINE_OPTION = re.compile(r"--(?:save|load)Engine=(\S+)")


def logged_engine(path: Path) -> tuple[str, str] | None:
    """Return the engine that a log saves or loads, as file name and TensorRT version; None if not in its head."""
    try:
        head = decode_text(unpacked_head(read_head(path, HEAD_BYTES)))
    except (OSError, zlib.error):
        return None
    banner = _BANNER.search(head)
    match = _ENGINE_OPTION.search(banner["command"]) if banner else None
    if banner is None or match is None:
        return None
    return re.split(r"[\\/]", match[1].strip("'\""))[-1], banner["version"] or ""


def _log_role(text: str, path: Path) -> FileKind:
    """Return the kind of a log: that of the profile run if its command line loads an engine."""
    command = find_command(text) or ""
    if "--loadEngine" in command:
        return FileKind.PROFILE_LOG
    if "--onnx" in command or "--saveEngine" in command:
        return FileKind.BUILD_LOG
    return FileKind.PROFILE_LOG if "profile" in path.name.lower() else FileKind.BUILD_LOG


def find_command(text: str) -> str | None:
    """Return the command line in the first banner of trtexec or `tensorrt_rtx`; empty if it states none, None without one."""
    match = _BANNER.search(text)
    return None if match is None else (match["command"] or "").strip()


def _is_relayed_log(text: str) -> bool:
    """Return whether a text has messages of the library with a severity, but without TensorRT's time stamps."""
    if _BARE.search(text):
        return True
    lines = [line[: match.start()] for line in text.splitlines() if (match := _MESSAGE.search(line))]
    relayed = sum(len(before) <= _LONGEST_PREFIX and _LEVEL.search(before) is not None for before in lines)
    return (relayed > 1 and 2 * relayed > len(lines)) or any("[TRT]" in before for before in lines)
