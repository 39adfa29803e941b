"""Recognize files: the content decides, whatever the name and the version of TensorRT.

Only the head of a file is read. What is no artifact gets a sentence with the remedy.
"""

from __future__ import annotations

import errno
import json
import re
import shlex
import zlib
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from trex_tui.artifacts.layer_info import PRINTED_LAYER
from trex_tui.artifacts.layer_times import NAME_KEYS, find_layer_times
from trex_tui.artifacts.open import (
    COPY_AGAIN,
    decode_text,
    parse_head,
    parse_json,
    read_head,
    unpack_head,
)
from trex_tui.artifacts.plan import has_plan_mark, read_plan_head
from trex_tui.artifacts.power import find_producer
from trex_tui.artifacts.profile import ENGINE_TRACE, TABLE_HEADING
from trex_tui.artifacts.stems import OUTPUT_DIFF, is_canonical, names_power_log, would_be_used
from trex_tui.artifacts.timing import UnknownUnitError, plain
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
    PRECISION_RISK = "precision_risk"
    """Nodes of its ONNX model that FP16 makes inaccurate, written by `trex-tui precision-risk --json`."""
    MONITOR = "monitor"
    """Samples of power, temperature and clocks during the run."""
    IDLE_POWER = "idle_power"
    """`idling_power.json`: power of the idle board."""
    MANIFEST = "capture_manifest"
    """Manifest of the set, written by `trex-tui capture`."""

    @property
    def words(self) -> str:
        """Return a noun phrase for such a file, to follow `a`."""
        return _WORDS.get(self, self.value.replace("_", " "))

    @property
    def describes_engine(self) -> bool:
        """True if a file of this kind alone can be opened as an engine."""
        return self in (FileKind.GRAPH, FileKind.PROFILE, FileKind.TIMING)

    @property
    def is_companion(self) -> bool:
        """True if it comes from a program that is not specific to engines, so that no warning is needed if it fits no set."""
        return self in (FileKind.MONITOR, FileKind.IDLE_POWER)


_WORDS = {
    FileKind.ACCURACY: "comparison of outputs",
    FileKind.PRECISION_RISK: "list of nodes that FP16 makes inaccurate",
    FileKind.PLAN: "serialized engine",
    FileKind.MONITOR: "log of power, temperature and clocks",
    FileKind.IDLE_POWER: "record of idle power",
}
LOG_KINDS = (FileKind.BUILD_LOG, FileKind.PROFILE_LOG)


class Recognition(NamedTuple):
    """Kind of a file, or why it has none.

    Attributes:
        kind: None if the file is no artifact.
        reason: Why not and what to do, as the end of a sentence whose subject is the file; empty for an artifact.
        is_damaged: Whether it may be an artifact that cannot be used: an error.
        is_foreign: Whether it is whole JSON of another program, which is only counted.
    """

    kind: FileKind | None
    reason: str = ""
    is_damaged: bool = False
    is_foreign: bool = False


HEAD_BYTES = 64 * 1024
_NAME_A_FILE = "name a file that trtexec exported"
_STAMP = re.compile(r"\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] (?:\[[VIWEF]\]|\[TRT\] \[[VIWEF]\])")
_BANNER = re.compile(
    r"&&&& \w+ TensorRT(?:[-_ ]?RTX)?\.(?:trtexec|tensorrt_rtx)\b"
    r"(?: \[[\w -]{1,20} v(?P<version>\d{1,9})\])?(?:.*?# (?P<command>.*))?"
)
_BARE = re.compile(
    r"^(?: *|\[[\w./-]{1,80}-\d+\] )\[[VIWEF]\] (?:\[TRT\] \S|=== \w|Error\[\d+\]: "
    r"|\w+::\w+: Error Code \d|Building engine with configuration:)"
    r"|^\[!\] \w|^=== Performance [Ss]ummary |^(?:\[I\] )?(?:Average on \d+ runs - GPU latency: |GPU Compute Time: min = )"
    r'|^\{"Layers": \[|^[ >]*Name: [^\n]{1,300}, LayerType: \w'
    r"|^-{15} Timing Runner: |^\*{15} Autotuning |^&&&& (?:PASSED|FAILED) TensorRT\S+ .*# .* -"
    r"|^\[(?:TensorRT|TRT)\] (?:VERBOSE|INFO|WARNING|ERROR|INTERNAL[_ ]ERROR): |^\[TRT\] (?:\[[VIWEF]\] | +\S)"
    r"|^(?:VERBOSE|DEBUG|INFO|WARNING|ERROR): ?\[(?:TensorRT|TRT|Torch-TensorRT[^\]\n]{0,80})\]"
    r"|^(?:DEBUG|INFO|WARNING|ERROR):torch_tensorrt\b|:onnxruntime:[^\]\n]{0,100}tensorrt_execution_provider"
    r"|^[VIWEF]\d{4} [\d:.]+ +\d+ logging\.cc:\d+\] "  # the logger of Triton's TensorRT backend
    r"|^[VIWEF] onnxruntime: \[\d{4}-",
    re.MULTILINE,
)
"""A line of trtexec or of the library without a time stamp, or a result of a run without any prefix; `buildlog.lines` has the
prefixes in full."""
MESSAGE = re.compile(
    r"Registered plugin creator - |Plugin creator already registered - |Registering (?:layer|tensor): "
    r"|Searching for input: |Parsing node: |Importing initializer: |Adding network (?:input|output): "
    r"|\[MemUsage(?:Change|Snapshot|Stats)\] |Loaded engine size: |Deserialization required \d"
    r"|Original: \d+ layers|={15} Computing |\*{15} Autotuning |-{15} Timing Runner: |>{15} Chose Runner "
    r"|Tactic: \S+ Time: |Tactic Name: \S+ Tactic: |Engine Layer Information:|Engine generation completed in "
    r"|Applying generic optimizations to the graph|Total (?:Host|Device|Scratch|Activation|Weights) "
    r"(?:Persistent )?Memory: |Tactic Device request: \d|After [\w -]+: \d+ layers"
)
"""Messages that only the library prints, of TensorRT 8 to 11: such a line needs no prefix."""
_LEVEL = re.compile(
    r"\[[DVIWEFC]\]|(?<![A-Za-z])(?:[DVIWEFC](?=\d{4} )|(?i:INTERNAL_ERROR|CRITICAL|FATAL|ERROR|WARN(?:ING)?|NOTICE"
    r"|SUCCESS|INFO|DEBUG|TRACE|VERBOSE)(?![A-Za-z]))"
)
"""Severity before a message, as the library's `ILogger` and other loggers print it."""
_LONGEST_PREFIX = 200
_LIST = re.compile(r"\[\s*(?:[{\[\"\]]|-?\d[\d.eE+-]*\s*[,\]])")
_NUMBERS = re.compile(r"\[\s*-?\d")
_KEY = re.compile(r'"([A-Za-z][\w /.()-]*)"\s*:')
_ROOT_KEY = re.compile(
    r'"(?:(?P<profile>performance_summary|inference_options)|(?P<build>build_options|model_options))"\s*:\s*\{'
    r'|"Layers"\s*:\s*\['
)
_LAYER_KEYS = re.compile(r'"(?:LayerType|Inputs|Outputs)"\s*:')
_ONE_LAYER = re.compile(r'\{\s*"Name"\s*:[^{}]*"LayerType"\s*:')
_SCHEMA = re.compile(r'\{\s*"schema"\s*:\s*"trex-tui/(?P<name>[\w.-]*)')
_OWN_KINDS = {
    "capture": FileKind.MANIFEST,
    "accuracy": FileKind.ACCURACY,
    "precision-risk": FileKind.PRECISION_RISK,
}
_TIMES = re.compile(
    r'"(?:times|timings|per_?iteration|latenc(?:y|ies))(?:[ _]?in)?[ _(]*'
    r'(?:[mun\u00b5\u03bc]?s|(?:milli|micro|nano)?seconds)?\)?"\s*:\s*(?:\[\s*[-\d{]'
    r'|\{\s*(?:"unit"\s*:\s*"[^"]*"\s*,\s*)?"(?:values|samples|data|raw)"\s*:\s*\[)',
    re.IGNORECASE,
)
"""Timing files of other tools: an identifying key before numbers or rows, or a column before a container of numbers."""
_TIMES_NAME = re.compile(r"times?(?![a-z])|timings?(?![a-z])|latenc(?:y|ies)", re.IGNORECASE)
_OTHER_BACKEND = re.compile(r'"backend"\s*:\s*"(?!tensorrt|trt)(\w+)"', re.IGNORECASE)
_IDLE_POWER = re.compile(r'"avg_idle_power"\s*:')
_LAYER_POWER = re.compile(r'"layer_power_(?:in|ex)cluding_idle_power_micro_watt"\s*:')
_OUTPUT_KEYS = {"name", "dimensions", "values"}
_LIST_KEYS = (
    ({"averageMs", "timeMs"}, FileKind.PROFILE),
    ({"count"}, FileKind.PROFILE),
    ({"latencyMs"}, FileKind.TIMING),
    ({"computeMs", "startComputeMs"}, FileKind.TIMING),
    ({"Name", "LayerType"}, FileKind.GRAPH),
    ({"ComputeCapability", "CUDA_VERSION"}, FileKind.DEVICE_METADATA),
)
"""Keys of the first objects of a root list -> kind."""


def recognize(path: Path) -> Recognition:
    """Recognize one file. Never raises; for an unreadable file the error is the reason."""
    try:
        head = read_head(path, HEAD_BYTES)
        if not head:
            return Recognition(None, f"is empty; {COPY_AGAIN}", is_damaged=would_be_used(path))
        if has_plan_mark(head) and read_plan_head(path) is not None:
            return Recognition(FileKind.PLAN)
    except OSError as error:
        is_odd = error.errno in (errno.EINVAL, errno.EISDIR, errno.ENOENT, errno.ELOOP)
        return Recognition(None, describe_unopened(path, error), is_damaged=not is_odd or would_be_used(path))
    try:
        text = decode_text(unpack_head(head, HEAD_BYTES))
    except zlib.error:
        text = ""
    if not text:
        return Recognition(None, f"is a damaged gzip file; {COPY_AGAIN}", is_damaged=True)
    return _recognize_text(text, path)


def describe_unopened(path: Path, error: OSError) -> str:
    """Return why a file cannot be opened, with the remedy."""
    if error.errno == errno.ENOENT and path.is_symlink():
        return f"is a link to a missing file, {path.readlink()}; fetch that file, or remove the link"
    if error.errno == errno.EISDIR:
        return "is a directory, but has the name of a file; rename it"
    return describe_os_error(error)


def _recognize_text(text: str, path: Path) -> Recognition:
    body = _without_quotes(text.lstrip("\ufeff \t\r\n"))
    if body.startswith("{"):
        return _recognize_object(body, path)
    if PRINTED_LAYER.match(body):
        return Recognition(FileKind.GRAPH)
    has_stamps = _STAMP.search(text) is not None
    if TABLE_HEADING.search(text) and not has_stamps:
        return Recognition(FileKind.PROFILE)
    is_list = _LIST.match(body) is not None  # of numbers, where a search for messages takes long
    if has_stamps or (not is_list and _is_relayed_log(text)):
        return Recognition(_find_role(text, path))
    if is_list:
        return _recognize_list(body, path)
    if find_producer(text) is not None:
        return Recognition(FileKind.MONITOR)
    is_expected = would_be_used(path) and path.suffix.lower() != ".onnx"
    if find_command(text) is not None:
        return Recognition(None, "is output of trtexec, but not the log of a run", is_damaged=is_expected)
    return Recognition(None, _describe_unknown(body, path), is_damaged=is_expected or names_power_log(path))


def _without_quotes(body: str) -> str:
    """Return the text in a JSON string, as far as the head has it, if it begins as JSON; else the text itself."""
    if not re.match(r'"\s*(?:\\n\s*)*[\[{]', body):
        return body
    end = body.rfind("\\n") if not body.rstrip().endswith('"') else len(body.rstrip()) - 1
    try:
        inner = json.loads(f'{body[:end]}"', strict=False)
    except ValueError:
        return body
    return inner.lstrip() if isinstance(inner, str) else body


def _describe_unknown(body: str, path: Path) -> str:
    if names_power_log(path):
        return "has no samples of tegrastats, nvidia-smi or `trex-tui capture`; record it again with one of these"
    if is_onnx_model(body, path):
        return f"is an ONNX model; build and profile it on its GPU: trex-tui capture --onnx {shlex.quote(str(path))}"
    if body.startswith("version https://git-lfs."):
        return "is a pointer of Git LFS, not the file; fetch it with `git lfs pull`"
    if body.startswith("PK\3\4"):
        return "is a zip archive; unpack it, and name the directory"
    if not body:
        return f"has white space only; {COPY_AGAIN}"
    what = "is binary but not a TensorRT plan" if "\0" in body else "is text, but not JSON or a trtexec log"
    return f"{what}; {_NAME_A_FILE}"


def is_onnx_model(head: str, path: Path) -> bool:
    """Return whether the head of a file is that of an ONNX model: a protobuf message that begins with `ir_version`."""
    return bool(re.match(r"\x08[\x01-\x1f][\x12\x1a\x22:B]", head)) or path.suffix.lower() == ".onnx"


def _is_relayed_log(text: str) -> bool:
    """Return whether a text has messages of the library with a severity, but without TensorRT's time stamps."""
    if "\0" in text:
        return False
    if _BARE.search(text):
        return True
    befores = [line[: match.start()] for line in text.splitlines() if (match := MESSAGE.search(line))]
    levels = sum(len(before) <= _LONGEST_PREFIX and _LEVEL.search(before) is not None for before in befores)
    return levels > 1 and 2 * levels > len(befores)


def find_command(text: str) -> str | None:
    """Return the command line in the first banner of trtexec or `tensorrt_rtx`; empty if none is stated, None without one."""
    match = _BANNER.search(text)
    return None if match is None else (match["command"] or "").strip()


def _find_role(text: str, path: Path) -> FileKind:
    """Return the kind of a log: that of the profile run if its command line loads an engine."""
    command = find_command(text) or ""
    if "--loadEngine" in command:
        return FileKind.PROFILE_LOG
    if "--onnx" in command or "--saveEngine" in command:
        return FileKind.BUILD_LOG
    return FileKind.PROFILE_LOG if "profile" in path.name.lower() else FileKind.BUILD_LOG


def find_logged_engine(path: Path) -> tuple[str, str] | None:
    """Return the engine that a log saves or loads: file name and number of the release; None if not in its head."""
    try:
        banner = _BANNER.search(decode_text(unpack_head(read_head(path, HEAD_BYTES), HEAD_BYTES)))
    except (OSError, zlib.error):
        return None
    match = re.search(r"--(?:save|load)Engine=(\S+)", banner["command"] or "") if banner else None
    return (
        (re.split(r"[\\/]", match[1].strip("'\""))[-1], banner["version"] or "") if banner and match else None
    )


def _recognize_object(head: str, path: Path) -> Recognition:
    own = _SCHEMA.match(head)
    name = own["name"] if own else "accuracy" if path.name.lower() == OUTPUT_DIFF else ""
    if name in _OWN_KINDS:
        return Recognition(_OWN_KINDS[name])
    if name:
        return Recognition(None, f"is a result of trex-tui ({name}); {_NAME_A_FILE}")
    if root_key := _ROOT_KEY.search(head):
        if root_key["profile"] or root_key["build"]:
            return Recognition(FileKind.PROFILE_METADATA if root_key["profile"] else FileKind.BUILD_METADATA)
        # Other tools list times under "Layers" too.
        is_profile = not _LAYER_KEYS.search(head) and _holds_layer_times(head, path)
        return Recognition(FileKind.PROFILE if is_profile else FileKind.GRAPH)
    if _ONE_LAYER.match(head):
        return Recognition(FileKind.GRAPH)
    if _IDLE_POWER.search(head):
        return Recognition(FileKind.IDLE_POWER)
    if _holds_layer_times(head, path):
        return Recognition(FileKind.PROFILE)
    if not _TIMES.search(head):
        return _describe_json(head, path)
    if other := _OTHER_BACKEND.search(head):
        reason = f"is a benchmark of {other[1]}, not of TensorRT; {_NAME_A_FILE}"
        return Recognition(None, reason, is_foreign=True)
    return Recognition(FileKind.TIMING)


def _recognize_list(head: str, path: Path) -> Recognition:
    if path.name.lower() == OUTPUT_DIFF:
        return Recognition(FileKind.ACCURACY)
    keys = set(_KEY.findall(head))
    if _LAYER_POWER.search(head) or keys >= _OUTPUT_KEYS:
        what = (
            "values of outputs (--exportOutput)"
            if keys >= _OUTPUT_KEYS
            else "powers computed by another tool"
        )
        return Recognition(None, f"has {what}, which describe no engine; {_NAME_A_FILE}")
    if ENGINE_TRACE.search(head):
        return Recognition(FileKind.PROFILE)
    has_names = any(plain(key) in NAME_KEYS for key in keys)
    for wanted, kind in _LIST_KEYS:
        if wanted <= keys and not (kind is FileKind.TIMING and has_names):
            return Recognition(kind)
    if _holds_layer_times(head, path):
        return Recognition(FileKind.PROFILE)
    if _NUMBERS.match(head) and _TIMES_NAME.search(path.name):
        return Recognition(FileKind.TIMING)
    return _describe_json(head, path)


def _holds_layer_times(head: str, path: Path) -> bool:
    try:
        return bool(find_layer_times(parse_head(head), path.name))
    except UnknownUnitError:
        return True  # the reader names the unit


def _describe_json(head: str, path: Path) -> Recognition:
    """Describe JSON of no known kind: truncated, so that the missing part may have the identifying key, or foreign."""
    if len(head) < HEAD_BYTES // 4:  # a letter has at most four bytes
        try:
            parse_json(head, path)
        except ArtifactError as error:
            if error.note.message.startswith("is truncated"):
                return Recognition(None, error.note.message, is_damaged=True)
    keys = ", ".join(dict.fromkeys(_KEY.findall(head[:4096]))) or "none"
    shown = keys if len(keys) <= 60 else f"{keys[:59]}…"
    reason = f"is JSON of an unknown kind (keys: {shown}); {_NAME_A_FILE}"
    return Recognition(None, reason, is_damaged=is_canonical(path), is_foreign=not is_canonical(path))
