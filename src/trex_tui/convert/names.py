"""What converted files are called: `<base>.graph.json` and so on, the base being what the files of the set share already.

trex calls an engine `resnet.onnx.engine` and what belongs to it `resnet.onnx.engine.graph.json`, and notebooks make the one
name out of the other. Sets without such names get that of the set: `resnet.graph.json`.
"""

from __future__ import annotations

import re

from trex_tui.artifacts.discover import ArtifactSet
from trex_tui.artifacts.kinds import ArtifactKind
from trex_tui.artifacts.naming import display_name, stem_of

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
