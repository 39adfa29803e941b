"""Tell what a file is by its content, reading only its head (and, for a JSON object, looking for its telling key).

Each schema of trtexec can be told from its keys, whatever the file is called and whichever TensorRT wrote it.
"""

from __future__ import annotations

import gzip
import mmap
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from trex_tui.artifacts.kinds import ArtifactKind

HEAD_BYTES = 64 * 1024

_KEY = re.compile(r'"([A-Za-z][\w /.()-]*)"\s*:')
_LOG_LINE = re.compile(r"\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \[(?:[VIWEF]|TRT)\]")
_BANNER = "TensorRT.trtexec"

# Key of the root object -> kind. Bytes, because a large file is searched without being decoded.
_OBJECT_KEYS = (
    (b'"performance_summary"', ArtifactKind.PROFILE_METADATA),
    (b'"inference_options"', ArtifactKind.PROFILE_METADATA),
    (b'"build_options"', ArtifactKind.BUILD_METADATA),
    (b'"model_options"', ArtifactKind.BUILD_METADATA),
    (b'"Layers"', ArtifactKind.GRAPH),
)
# Keys of the first objects of a root list -> kind.
_LIST_KEYS = (
    (frozenset({"averageMs", "timeMs"}), ArtifactKind.PROFILE),
    (frozenset({"count"}), ArtifactKind.PROFILE),
    (frozenset({"latencyMs"}), ArtifactKind.TIMING),
    (frozenset({"computeMs", "startComputeMs"}), ArtifactKind.TIMING),
    (frozenset({"Name", "LayerType"}), ArtifactKind.GRAPH),
    (frozenset({"ComputeCapability", "CUDA_VERSION"}), ArtifactKind.DEVICE_METADATA),
)


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
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        return Sniffed(None, f"cannot be read: {error.strerror or error}", claims=True)
    if not head:
        return Sniffed(None, "is empty", claims=path.suffix.lower() in (".json", ".log"))
    if head.startswith(b"ftrt"):
        return Sniffed(ArtifactKind.PLAN)
    if head.startswith(b"\x1f\x8b"):
        return _sniff_gzip(path)
    return _sniff_text(_decode(head), path)


def _decode(head: bytes) -> str:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return head.decode("utf-16", errors="replace")
    return head.decode("utf-8-sig", errors="replace")


def _sniff_gzip(path: Path) -> Sniffed:
    try:
        with gzip.open(path) as file:
            text = _decode(file.read(HEAD_BYTES))
    except (OSError, EOFError):
        return Sniffed(None, "is a damaged gzip file", claims=True)
    if text.lstrip()[:1] in ("{", "["):
        return Sniffed(None, "is compressed JSON; unpack it first", claims=True)
    found = _sniff_text(text, path)
    return found if found.kind else Sniffed(None, "is a gzip file that holds no trtexec log")


def _sniff_text(text: str, path: Path) -> Sniffed:
    body = text.lstrip()
    if body.startswith("{"):
        return _sniff_object(path, text)
    if body.startswith("[") and not _LOG_LINE.match(body):
        return _sniff_list(text)
    if _BANNER in text or _LOG_LINE.search(text):
        return Sniffed(_log_role(text, path))
    named_json = path.suffix.lower() == ".json"
    if not body:
        return Sniffed(None, "holds nothing but white space", claims=named_json)
    what = "is binary and no TensorRT plan" if "\0" in text else "is text, but neither JSON nor a trtexec log"
    return Sniffed(None, what, claims=named_json or path.suffix.lower() == ".log")


def _sniff_object(path: Path, head: str) -> Sniffed:
    for key, kind in _OBJECT_KEYS:
        if key.decode() in head:
            return Sniffed(kind)
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            for key, kind in _OBJECT_KEYS:
                if content.find(key, HEAD_BYTES // 2) >= 0:
                    return Sniffed(kind)
    except (OSError, ValueError):
        pass  # A file that cannot be mapped is judged by its head alone.
    keys = ", ".join(dict.fromkeys(_KEY.findall(head[:4096])).keys()) or "no keys"
    return Sniffed(None, f"is JSON of an unknown kind (keys: {_cut(keys)})", claims=True)


def _sniff_list(head: str) -> Sniffed:
    keys = set(_KEY.findall(head))
    for wanted, kind in _LIST_KEYS:
        if wanted <= keys:
            return Sniffed(kind)
    named = ", ".join(sorted(keys)) or "no keys"
    return Sniffed(None, f"is a JSON list of an unknown kind (keys: {_cut(named)})", claims=True)


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
