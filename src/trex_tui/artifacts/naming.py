"""Kinds of files that describe an engine, and the engine that a file's name tells: its stem.

trtexec lets people choose every name, so this knows the habits (trex's `resnet.onnx.engine.graph.json`, plain
`resnet.graph.json`, toolkits' `layers_resnet.json`, `resnet_profile.json`, bare `profile.json`) and nothing more.
"""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path

from trex_tui.artifacts.accuracy import OUTPUT_DIFF, PER_SAMPLE_DIFF


class ArtifactKind(str, Enum):
    """What a file is, by its content. The values name files in `summary --json`."""

    GRAPH = "graph"
    """`--exportLayerInfo`, or the same JSON out of `IEngineInspector`."""
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
    """`output_diff.json`: how far its outputs are from those of another."""

    @property
    def words(self) -> str:
        """What such a file is, behind `a`."""
        return "comparison of outputs" if self is ArtifactKind.ACCURACY else self.value.replace("_", " ")

    MANIFEST = "capture_manifest"
    """How the set came about, as `trex-tui capture` noted it."""

    @property
    def describes_engine(self) -> bool:
        """Whether a file of this kind alone is something to open."""
        return self in (ArtifactKind.GRAPH, ArtifactKind.PROFILE, ArtifactKind.TIMING)


_CANONICAL = re.compile(
    r"(?P<stem>.+?)\.(?:"
    r"(?:graph|profile|timing|build\.metadata|profile\.metadata|metadata|capture)\.json"
    r"|(?:build|profile)\.log(?:\.gz)?"
    r"|engine|plan|trt|tea)",
    re.IGNORECASE,
)
_EXTENSION = re.compile(r"(?:\.(?:json|log|txt|gz|engine|plan|trt|tea))+$", re.IGNORECASE)
_ENGINE_EXTENSION = re.compile(r"\.(?:engine|plan|trt)$", re.IGNORECASE)
_WORD = re.compile(r"[^._\-\s]+")

# Words that say what a file is, not whose it is.
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


def is_canonical(path: Path) -> bool:
    """Whether the name is one that trex and trex-tui give."""
    return _CANONICAL.fullmatch(path.name) is not None


def engine_stem(path: Path) -> str:
    """Return the part of the name that files of one engine share; empty if the name only says what the file is.

    >>> stem_of(Path("resnet.onnx.engine.profile.metadata.json")), stem_of(Path("layers_fp16.json"))
    ('resnet.onnx', 'fp16')
    >>> stem_of(Path("trtexec_stdout.log"))
    ''
    """
    if path.name.lower() in (OUTPUT_DIFF, PER_SAMPLE_DIFF):
        return ""
    match = _CANONICAL.fullmatch(path.name)
    if match:
        return _ENGINE_EXTENSION.sub("", match["stem"])
    base = _EXTENSION.sub("", path.name)
    words = list(_WORD.finditer(base))
    first, last = 0, len(words)
    while last > first and words[last - 1].group().lower() in _ROLE_WORDS:
        last -= 1
    if last == len(words):
        while first < last and words[first].group().lower() in _ROLE_WORDS:
            first += 1
    return base[words[first].start() : words[last - 1].end()] if last > first else ""


def is_archive(path: Path) -> bool:
    """Whether the name is that of a TensorRT engine archive."""
    return path.suffix.lower() == ".tea"


def tells_role(path: Path) -> bool:
    """Whether the name says what the file is, and so means something by the rest of its words."""
    if is_canonical(path):
        return True
    return any(word.group().lower() in _ROLE_WORDS for word in _WORD.finditer(_EXTENSION.sub("", path.name)))


def display_name(stem: str) -> str:
    """The stem as people say it: without the `.onnx` that trex leaves in."""
    return re.sub(r"\.onnx$", "", stem, flags=re.IGNORECASE)
