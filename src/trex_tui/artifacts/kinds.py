"""The kinds of files that make up the description of one engine."""

from __future__ import annotations

from enum import Enum


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
