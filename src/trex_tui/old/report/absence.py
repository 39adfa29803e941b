"""Sentences that stand where numbers are missing."""

from __future__ import annotations

from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.engine.engine import Engine

NO_MATCH = "No layer matches the filter."


def no_profile(engine: Engine) -> str:
    """Return why no layer has a time: the damage of the profile, or how to get one."""
    return engine.explain_absence("No layer times (needs --exportProfile).", ArtifactKind.PROFILE)


def no_layer(engine: Engine) -> str:
    """Return why a list of layers is empty: the filter, the damage of the files, or how to get layers."""
    if engine.layers:
        return NO_MATCH
    needs = "No layers (needs --exportLayerInfo or --exportProfile)."
    return engine.explain_absence(needs, ArtifactKind.GRAPH, ArtifactKind.PROFILE)
