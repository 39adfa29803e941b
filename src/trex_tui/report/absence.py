"""Sentences that stand where values are missing: the damage of the file, else the remedy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.artifacts.kinds import FileKind
from trex_tui.errors import Severity
from trex_tui.text import printable

if TYPE_CHECKING:
    from trex_tui.engine.model import Engine


def explain_absence(engine: Engine, missing: str, *kinds: FileKind) -> str:
    """Return why a file of these kinds cannot be used; `missing` if none of them is damaged."""
    files = [engine.files[kind] for kind in kinds if kind in engine.files]
    damage = next((n for n in engine.notes if n.severity is Severity.ERROR and n.file in files), None)
    if damage is None or damage.file is None:
        return missing
    return f"Unusable: {printable(str(damage._replace(file=Path(damage.file.name))).rstrip('.'))}."


def no_profile(engine: Engine) -> str:
    """Return why no layer has a time."""
    return explain_absence(engine, "No layer times (needs --exportProfile).", FileKind.PROFILE)


def no_layers(engine: Engine) -> str:
    """Return why a list of layers is empty."""
    if len(engine):
        return "No layer matches the filter."
    needs = "No layers (needs --exportLayerInfo or --exportProfile)."
    return explain_absence(engine, needs, FileKind.GRAPH, FileKind.PROFILE)


def no_queries(engine: Engine) -> str:
    """Return why there is no latency."""
    kinds = (FileKind.TIMING, FileKind.PROFILE_METADATA, FileKind.PROFILE_LOG)
    return explain_absence(engine, "No end-to-end latency (needs --exportTimes or a profile log).", *kinds)


def how_to_install(extra: str) -> str:
    """Return what to do for a package of an extra of this program."""
    return f"install trex-tui with its extra {extra}"
