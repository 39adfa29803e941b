"""Tell what a file is by its content, reading only its head (and, for a JSON object, looking for its telling key).

Each schema of trtexec can be told from its keys, whatever the file is called and whichever TensorRT wrote it.
"""

from __future__ import annotations

import re
import stat
import zlib
from dataclasses import dataclass
from pathlib import Path

from trex_tui.artifacts.accuracy import OUTPUT_DIFF, PER_SAMPLE_DIFF
from trex_tui.artifacts.input_files import decode_text, open_bytes, parse_json, read_fully, read_head
from trex_tui.artifacts.log_prefixes import STAMPED, is_routed_log
from trex_tui.artifacts.naming import ArtifactKind
from trex_tui.artifacts.timing import timing_column
from trex_tui.errors import ArtifactError

HEAD_BYTES = 64 * 1024
_PIECE_BYTES = 512 * 1024
_OVERLAP_BYTES = 1024
_MOST_SEARCHED = 256 << 20
"""How far into a JSON object its telling key is looked for."""
GZIP_MARK = b"\x1f\x8b"

_KEY = re.compile(r'"([A-Za-z][\w /.()-]*)"\s*:')
_BANNER = "TensorRT.trtexec"

# The telling keys of a root object. Bytes, because a large file is searched without being decoded.
_ROOT_KEY = re.compile(
    rb'"(?:(?P<profile>performance_summary|inference_options)|(?P<build>build_options|model_options))"\s*:\s*\{'
    rb'|"Layers"\s*:\s*\['
)
_OWN = re.compile(r'\ufeff?\s*\{\s*"schema"\s*:\s*"(trex-tui/[\w/.-]*)')
# Timing files of other tools: a telling key before numbers or rows, or a column before a holder of numbers.
_TIMES = re.compile(
    r'"(?:times|timings|per_?iteration|latenc(?:y|ies))(?:[ _]?in)?[ _(]*'
    r'(?:[mun\u00b5\u03bc]?s|(?:milli|micro|nano)?seconds)?\)?"\s*:\s*(?:\[\s*[-\d{]|\{\s*(?:"unit"\s*:\s*"[^"]*"\s*,\s*)?"(?:values|samples|data|raw)"\s*:\s*\[)',
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"\[\s*-?\d[\d.eE+-]*\s*[,\]]")
_TIMES_NAME = re.compile(r"times?(?![a-z])|timings?(?![a-z])|latenc(?:y|ies)", re.IGNORECASE)
_MANIFEST = re.compile(r'\ufeff?\s*\{\s*"schema"\s*:\s*"trex-tui/capture/')
_ACCURACY = re.compile(r'\ufeff?\s*\{\s*"schema"\s*:\s*"trex-tui/accuracy(?P<part>-samples?)?/')
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
    """What a file is, or why it is nothing to us.

    Attributes:
        kind: None if the file is no artifact.
        reason: Why not, as the end of a sentence whose subject is the file; empty if it is one.
        claims: Whether it looks as if it meant to be an artifact (JSON, a log), so that people should hear of it.
    """

    kind: ArtifactKind | None
    reason: str = ""
    claims: bool = False


def sniff(path: Path) -> Sniffed:
    """Recognise one file. Never raises; a file that cannot be read is a reason."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return Sniffed(None, "is not a regular file")
        head = read_head(path, HEAD_BYTES)
    except OSError as error:
        return Sniffed(None, f"cannot be read: {error.strerror or error}", claims=True)
    if not head:
        return Sniffed(None, "is empty", claims=path.suffix.lower() in (".json", ".log"))
    if head.startswith(b"ftrt"):
        return Sniffed(ArtifactKind.PLAN)
    if head.startswith(GZIP_MARK):
        return _sniff_gzip(path, head)
    return _sniff_text(decode_text(head), path)


def unpacked_head(head: bytes) -> bytes:
    """What the head of a file holds, at most `HEAD_BYTES` of it, if it is packed; else the head itself.

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
        return Sniffed(None, "is a damaged gzip file", claims=True)
    if text.lstrip()[:1] in ("{", "["):
        return Sniffed(None, "is compressed JSON; unpack it first", claims=True)
    found = _sniff_text(text, path)
    return found if found.kind else Sniffed(None, "is a gzip file that holds no trtexec log")


def _sniff_text(text: str, path: Path) -> Sniffed:
    body = text.lstrip()
    if body.startswith("{"):
        return _sniff_object(path, text)
    if found := _sniff_log(text, path):
        return found
    if body.startswith("["):
        return _sniff_list(text, path)
    if _BANNER in text:
        # Whatever trtexec logs carries a time stamp; its help does not.
        return Sniffed(
            None, "is output of trtexec, but no log of a run", claims=path.suffix.lower() == ".log"
        )
    named_json = path.suffix.lower() == ".json"
    if not body:
        return Sniffed(None, "begins with nothing but white space", claims=named_json)
    what = "is binary and no TensorRT plan" if "\0" in text else "is text, but neither JSON nor a trtexec log"
    return Sniffed(None, what, claims=named_json or path.suffix.lower() == ".log")


def _sniff_log(text: str, path: Path) -> Sniffed | None:
    """A log of trtexec, or of another program that writes down what the library says; None if it is neither."""
    if STAMPED.search(text) or is_routed_log(text):
        return Sniffed(_log_role(text, path))
    return None


def _sniff_object(path: Path, head: str) -> Sniffed:
    if _MANIFEST.match(head):
        return Sniffed(ArtifactKind.MANIFEST)
    if (ours := _ACCURACY.match(head)) or path.name.lower() in _COMPARED:
        if (ours and ours["part"]) or path.name.lower() == PER_SAMPLE_DIFF:
            return Sniffed(None, "is a part of a comparison of outputs; its result is output_diff.json")
        return Sniffed(ArtifactKind.ACCURACY)
    kind = _kind_of_object(head.encode(errors="replace")) or _kind_of_large_object(path)
    if kind is not None:
        return Sniffed(kind)
    if own := _OWN.match(head):
        return Sniffed(None, f"is a result of trex-tui ({own[1]})")
    if _TIMES.search(head):
        return Sniffed(ArtifactKind.TIMING)
    if cut := _truncation(head, path):
        return cut
    keys = ", ".join(dict.fromkeys(_KEY.findall(head[:4096]))) or "no keys"
    return Sniffed(None, f"is JSON of an unknown kind (keys: {_cut(keys)})", claims=True)


def _kind_of_object(content: bytes) -> ArtifactKind | None:
    match = _ROOT_KEY.search(content)
    if match is None:
        return None
    if match["profile"]:
        return ArtifactKind.PROFILE_METADATA
    return ArtifactKind.BUILD_METADATA if match["build"] else ArtifactKind.GRAPH


def _kind_of_large_object(path: Path) -> ArtifactKind | None:
    """By reading piece by piece: a mapped file that somebody cuts meanwhile would end the process."""
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
        pass  # What cannot be read again is judged by its head alone.
    return None


def _sniff_list(head: str, path: Path) -> Sniffed:
    if path.name.lower() in _COMPARED:
        is_result = path.name.lower() == OUTPUT_DIFF
        return Sniffed(
            ArtifactKind.ACCURACY if is_result else None, "" if is_result else "is a part of a comparison"
        )
    keys = set(_KEY.findall(head))
    for wanted, kind in _LIST_KEYS:
        if wanted <= keys:
            return Sniffed(kind)
    if any(timing_column(key)[0] in _TELLING_COLUMNS for key in keys):
        return Sniffed(ArtifactKind.TIMING)
    if _NUMBERS.match(head.lstrip("\ufeff \t\r\n")) and _TIMES_NAME.search(path.name):
        return Sniffed(ArtifactKind.TIMING)
    if cut := _truncation(head, path):
        return cut
    named = ", ".join(sorted(keys)) or "no keys"
    return Sniffed(None, f"is a JSON list of an unknown kind (keys: {_cut(named)})", claims=True)


def _truncation(head: str, path: Path) -> Sniffed | None:
    """Of JSON of no known kind: that it ends too early, and what would tell its kind may be what it lacks. None if it does
    not, or is longer than the head."""
    if len(head) >= HEAD_BYTES // 4:  # a letter has four bytes at most
        return None
    try:
        parse_json(head, path)
    except ArtifactError as error:
        message = error.diagnostic.message
        return Sniffed(None, message, claims=True) if message.startswith("is truncated") else None
    return None


def _cut(text: str, width: int = 60) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _log_role(text: str, path: Path) -> ArtifactKind:
    """A log is of the profile run if it loads an engine; the command line in its banner says so."""
    banner = text[text.find(_BANNER) :].split("\n", 1)[0] if _BANNER in text else ""
    if "--loadEngine" in banner:
        return ArtifactKind.PROFILE_LOG
    if "--onnx" in banner or "--saveEngine" in banner:
        return ArtifactKind.BUILD_LOG
    return ArtifactKind.PROFILE_LOG if "profile" in path.name.lower() else ArtifactKind.BUILD_LOG
