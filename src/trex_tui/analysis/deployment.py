"""Device memory that engines take together at run time, against a budget.

An engine takes its weights and kernels (the size of the plan), and for each execution context the memory of activations and
scratch space, and persistent memory of the layers. Not counted: the CUDA context and libraries, inputs and outputs, buffers
of the application.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from trex_tui.analysis.device import INTEGRATED, find_capability
from trex_tui.analysis.engines import engine_bytes
from trex_tui.analysis.memory import memory_facts
from trex_tui.column import Column, by_key
from trex_tui.engine.model import Engine
from trex_tui.frames import FLAG, INT, TEXT

_LOG = "log of the build or the run"
COLUMNS = by_key(
    Column("engine", "Engine", "Name of the engine.", priority=0, is_free_text=True),
    Column("run_time_bytes", "Run time", "Device memory of the engine and one execution context. A lower bound where "
           "`is_at_least`.", "resident_bytes + context_bytes + persistent_bytes", priority=0),
    Column("is_at_least", "≥", "A part is unknown, or known as a lower bound.", priority=1),
    Column("resident_bytes", "Engine memory", "Weights and kernels: the size of the plan, else the sum of the weights.",
           source=f"engine file, {_LOG}, else layer information", priority=1),
    Column("context_bytes", "Context", "Activations and scratch space of one execution context, for the shapes of the "
           "build or the run; else the activations that are live at once.", source=f"{_LOG}, else layer information",
           priority=1),
    Column("persistent_bytes", "Persistent", "Device memory that the layers keep while a context exists.",
           source=_LOG, priority=3),
    Column("unknown", "Unknown", "Parts that no file states, or only as a lower bound.", is_list=True, priority=2),
    Column("device", "Device", "Device of the run.", source="metadata or log", priority=6, is_free_text=True),
)  # fmt: skip


def make_row(engine: Engine) -> dict[str, Any]:
    """Return the memory of an engine; None for a part that no file states."""
    stated, facts = engine.facts.memory, memory_facts(engine)
    unknown = []
    resident = engine_bytes(engine)
    if resident is None and stated.engine_mib is not None:
        resident = (stated.engine_mib + 1) << 20  # printed as whole MiB, rounded down
    resident = facts.weights_bytes if resident is None else resident
    if resident is None:
        resident = facts.known_weights_bytes
        unknown.append("weights")
    context = stated.context_bytes
    if context is None and stated.activation_bytes is not None:
        context = stated.activation_bytes + (stated.scratch_bytes or 0)
    if context is None:
        context = facts.activation_peak_bytes
        unknown.append("scratch" if context is not None and not facts.is_peak_at_least else "activations")
    if stated.persistent_bytes is None and stated.context_bytes is None:
        unknown.append("persistent")
    parts = [part for part in (resident, context, stated.persistent_bytes) if part is not None]
    return {
        "engine": engine.name,
        "run_time_bytes": sum(parts) if parts else None,
        "is_at_least": bool(unknown),
        "resident_bytes": resident,
        "context_bytes": context,
        "persistent_bytes": stated.persistent_bytes,
        "unknown": tuple(unknown) or None,
        "device": engine.facts.device_name,
    }


def memory_table(engines: Sequence[Engine]) -> pd.DataFrame:
    """Return a row per engine, with the keys of `COLUMNS`, the largest first."""
    frame = pd.DataFrame([make_row(engine) for engine in engines], columns=list(COLUMNS), dtype=object)
    sizes = {key: INT for key in COLUMNS if key.endswith("_bytes")}
    frame = frame.astype({**sizes, "engine": TEXT, "device": TEXT, "is_at_least": FLAG})
    return frame.sort_values("run_time_bytes", ascending=False, kind="stable", ignore_index=True)


def shares_memory(engine: Engine) -> bool:
    """Return whether the GPU of an engine has no memory of its own, as on a Jetson."""
    return find_capability(engine) in INTEGRATED
