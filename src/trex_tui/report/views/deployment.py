"""Device memory of engines at run time, against a budget."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from trex_tui.analysis.deployment import COLUMNS, memory_table, shares_memory
from trex_tui.engine.model import Engine
from trex_tui.errors import Note
from trex_tui.frames import total
from trex_tui.report.document import Document, Section, drop_empty_columns
from trex_tui.text import format_bytes, plural, printable

_ADVICE = {
    "resident_bytes": "store weights in FP16 or INT8, or use weight streaming (TensorRT 10 and later)",
    "context_bytes": "lower the largest shapes of the optimization profile, or the batch",
    "persistent_bytes": "lower the largest shapes of the optimization profile, or the batch",
}


def fits(frame: pd.DataFrame, budget_bytes: int) -> bool | None:
    """Return whether engines fit a budget together; None if sizes that are lower bounds leave it open."""
    needed = total(frame["run_time_bytes"])
    if needed is not None and needed > budget_bytes:
        return False
    return (
        None if needed is None or frame["is_at_least"].any() or frame["run_time_bytes"].isna().any() else True
    )


def memory_document(engines: Sequence[Engine], notes: Sequence[Note], budget_bytes: int | None) -> Document:
    """Return the memory of engines that run side by side.

    Args:
        budget_bytes: Memory that there is for them; None for no budget.
    """
    frame = memory_table(engines)
    needed = total(frame["run_time_bytes"])
    data = {
        "engines": frame,
        "run_time_bytes": needed,
        "is_at_least": bool(frame["is_at_least"].any()),
        "budget_bytes": budget_bytes,
        "fits": None if budget_bytes is None else fits(frame, budget_bytes),
    }
    table = Section(
        "memory",
        "Engines",
        frame=frame,
        columns=list(COLUMNS.values()),
        bar="run_time_bytes",
        noun="engine",
        audience="people",
    )
    sentences = [*_judge(frame, needed, budget_bytes), *_describe(engines, frame)]
    sections = [Section("verdict", sentences=sentences), drop_empty_columns(table)]
    every = [*dict.fromkeys((*notes, *(note for engine in engines for note in engine.notes)))]
    return Document("memory", "Memory at run time", sections, every, data=data)


def _judge(frame: pd.DataFrame, needed: float | int | None, budget_bytes: int | None) -> list[str]:
    """Answer whether the engines fit, and name what to shrink."""
    engines = plural(len(frame), "engine")
    if needed is None:
        return [f"Memory of {engines} unknown: no log, no layer information."]
    at_least = "at least " if frame["is_at_least"].any() else ""
    size = f"{at_least}{format_bytes(needed)}"
    if budget_bytes is None:
        return [f"{engines}: {size} at run time."]
    answer = fits(frame, budget_bytes)
    budget = format_bytes(budget_bytes)
    if answer is not False:
        rest = format_bytes(budget_bytes - needed)
        word = "Fits" if answer else "Unknown whether it fits"
        return [f"{word}: {engines}, {size} of {budget}; {rest} left for all else."]
    sentences = [
        f"Does not fit: {engines}, {size} of {budget}; {format_bytes(needed - budget_bytes)} too much."
    ]
    parts = frame.melt("engine", list(_ADVICE), "part", "size").dropna().sort_values("size", ascending=False)
    for engine, part, size in parts.head(2).itertuples(index=False):
        what = f"{COLUMNS[part].title.lower()} {format_bytes(int(size))}"
        sentences.append(f"{printable(engine)}: {what}: {_ADVICE[part]}.")
    return sentences


def _describe(engines: Sequence[Engine], frame: pd.DataFrame) -> list[str]:
    """State what is shared, and what is not counted."""
    sentences = []
    contexts = frame["context_bytes"].dropna()
    if len(contexts) > 1:
        spared = int(contexts.sum() - contexts.max())
        sentences.append(
            f"Engines that never run at the same time can share one block of context memory: {format_bytes(spared)} less."
        )
    sentences.append("Not counted: CUDA context and libraries, inputs and outputs, the application.")
    if any(map(shares_memory, engines)):
        sentences.append("Jetson: CPU and GPU share this memory, and the system uses a part of it.")
    return sentences
