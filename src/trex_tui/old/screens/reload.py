"""Matches an engine with its version after a reload."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from trex_tui.old.artifacts import Discovery
from trex_tui.old.artifacts.discover import ArtifactSet
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.errors import ArtifactError
from trex_tui.old.report.views.runs import run_words
from trex_tui.old.text import format_ms, plural, printable


def same_set(discovery: Discovery, engine: Engine) -> ArtifactSet:
    """Return the set of an engine among those found now.

    Raises:
        ArtifactError: It is gone.
    """
    old = set(engine.source.files.values())
    for source in discovery.sets:
        if source.name == engine.name and source.directory == engine.source.directory:
            return source
    shared = [source for source in discovery.sets if old & set(source.files.values())]
    if not shared:
        raise ArtifactError(
            engine.source.directory, f"the files of {engine.name} no longer exist; open another directory"
        )
    return max(shared, key=lambda source: len(old & set(source.files.values())))


def find_paths(engine: Engine, paths: Sequence[str] = ()) -> list[str]:
    """Return the paths to reload an engine from: those opened if they contain it, else its files.

    Args:
        paths: What was opened. An engine that it is compared with may lie elsewhere.
    """
    directory = os.path.realpath(engine.source.directory)
    files = list(engine.source.files.values())
    known = {directory, *map(os.path.realpath, files)}
    for path in map(os.path.realpath, paths):
        if path in known or directory.startswith(path.rstrip(os.sep) + os.sep):
            return list(paths)
    there = [str(path) for path in files if path.exists()]
    return there or [str(engine.source.directory)]


def layer_keys(layers: Sequence[Layer]) -> list[tuple[str, int]]:
    """Return keys that identify layers across a reload: name, and number among equal names."""
    seen: dict[str, int] = {}
    keys = []
    for layer in layers:
        seen[layer.name] = seen.get(layer.name, -1) + 1
        keys.append((layer.name, seen[layer.name]))
    return keys


def corresponding(old: Engine, new: Engine, layer: Layer | None) -> Layer | None:
    """Return the layer of the new engine that corresponds to `layer` of the old one; None if it no longer exists."""
    if layer is None:
        return None
    key = layer_keys(old.layers)[layer.index]
    keys = layer_keys(new.layers)
    return new.layers[keys.index(key)] if key in keys else None


def changes(old: Engine, new: Engine) -> str:
    """Describe the changes in a sentence."""
    if old.source is new.source:
        return _describe_model(new)
    head = "Read again"
    if (old.requested_run, old.requested_profile) != (new.requested_run, new.requested_profile):
        head = ", ".join(run_words(new)).capitalize()
    parts = []
    before, after = set(old.source.files.values()), set(new.source.files.values())
    parts += [f"{_names(after - before)} came"] if after - before else []
    parts += [f"{_names(before - after)} went"] if before - after else []
    if len(old.layers) != len(new.layers):
        parts.append(f"{plural(len(old.layers), 'layer')} → {len(new.layers)}")
    elif [layer.name for layer in old.layers] != [layer.name for layer in new.layers]:
        parts.append("other layers")
    if old.latency_sum_ms != new.latency_sum_ms:
        parts.append(f"layers {format_ms(old.latency_sum_ms)} → {format_ms(new.latency_sum_ms)} ms")
    if len(old.diagnostics) != len(new.diagnostics):
        parts.append(f"{plural(len(old.diagnostics), 'note')} → {len(new.diagnostics)}")
    if not parts and (old.layers, old.bindings, old.metadata, old.timing) != (
        new.layers,
        new.bindings,
        new.metadata,
        new.timing,
    ):
        parts.append("some values changed")
    return f"{head}: {', '.join(parts) or 'nothing changed'}."


def _describe_model(engine: Engine) -> str:
    """Describe a model found beside the files, or the reason why it is not used."""
    if engine.onnx is None:
        return printable(str(engine.diagnostics[-1]))
    count = sum(bool(found.nodes) for found in engine.onnx.layers)
    return f"{printable(engine.onnx.model.path.name)}: ONNX nodes of {plural(count, 'layer')}"


def _names(paths: set[Path]) -> str:
    return ", ".join(sorted(path.name for path in paths))
