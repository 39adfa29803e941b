"""The views of the tab Build: tables and trees of a log, each row with its line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd

from trex_tui.analysis.build import BuildJoin, join_build
from trex_tui.buildlog.trace import BuildTrace, OptimizerPass
from trex_tui.column import Column
from trex_tui.engine.model import Engine
from trex_tui.engine.names import shorten_tactics
from trex_tui.frames import FLOAT, INT, TEXT, plain_rows, plain_values, text_array
from trex_tui.report.document import Section, drop_empty_columns
from trex_tui.report.views.build import (
    cut_end,
    dla_section,
    memory_sections,
    messages_section,
    passes_section,
    phases_section,
    requests_section,
    strategies_section,
    tactics_section,
    tuned_section,
)
from trex_tui.text import plural

_DEPTH = "· "
"""What stands before a phase for each that contains it."""
_LINE = Column("line", "Line", "Line of the log, from 1.", priority=8)
_CHOSEN = Column(
    "chosen_us", "Chosen µs", "The builder's time of the engine's choice.", source="verbose build log"
)
_TIME = Column(
    "time_us", "µs", "Time that the builder measured for the tactic alone.", source="verbose build log"
)
_TUNED = {
    "name": 0, "tactics": 1, "seconds": 1, "chosen_us": 1, "margin_pct": 2, "strategy": 3, "tactic": 4, "formats": 5,
    "skipped": 6, "line": 8,
}  # fmt: skip
_TACTICS = {
    "time_us": 0, "delta_pct": 0, "state": 1, "tactic": 0, "formats": 2, "operator": 3, "skipped": 4, "runner": 5,
    "is_cached": 6, "line": 8, "id": 9,
}  # fmt: skip
"""Column of a table of tactics -> its priority."""


class View(NamedTuple):
    """A table of the log.

    Attributes:
        levels: Depth of each row of a tree; empty for a list.
    """

    section: Section
    levels: Sequence[int] = ()


def read_build(engine: Engine) -> tuple[BuildJoin, dict[str, View]] | None:
    """Return the log, joined with the engine, and its views that have rows; None without a log."""
    join = join_build(engine)
    if join is None:
        return None
    trace = join.trace
    *_, events = memory_sections(trace)
    counts = trace.count_messages()
    messages = f"{plural(counts['W'], 'warning')}, {plural(counts['E'] + counts['F'], 'error')}."
    views = {
        "Phases": _nest_phases(trace),
        "Passes": _nest_passes(trace),
        "Tactics": View(_list_tuned(join)),
        "Memory": View(
            replace(events, sentences=[f"{events.title}."], bar="gpu_mib", shorten={"event": cut_end})
        ),
        "Strategies": View(strategies_section(trace)),
        "DLA": View(dla_section(trace)),
        "Requests": View(requests_section(engine)),
        "Messages": View(replace(messages_section(trace), sentences=[messages])),
    }
    with_rows = {
        title: view
        for title, view in views.items()
        if view.section.frame is not None and len(view.section.frame)
    }
    return join, {
        title: View(drop_empty_columns(section), levels) for title, (section, levels) in with_rows.items()
    }


def list_tactics(join: BuildJoin, number: int) -> View:
    """Return the tactics that were tried for a layer, with their distance to the choice for the same operator."""
    section = tactics_section(join, number)
    frame = section.frame
    if frame is None:
        return View(section)
    operators = frame["operator"].fillna("") if "operator" in frame else pd.Series("", frame.index)
    chosen = frame["time_ms"].where(frame["in_engine"] | (frame["is_chosen"] & operators.ne("")))
    best = chosen.groupby(operators).transform("min")
    delta = (100.0 * (frame["time_ms"] / best.where(best > 0) - 1.0)).astype(FLOAT)
    delta = delta.fillna(frame["delta_pct"].where(operators.eq("")))
    frame = frame.assign(time_us=1000.0 * frame["time_ms"], delta_pct=delta)
    names = shorten_tactics(plain_values(frame["tactic"]))
    shorten = {"tactic": names.fit, "formats": cut_end, "skipped": cut_end}
    return View(_arrange(replace(section, frame=frame, shorten=shorten), _TACTICS, {"time_us": _TIME}))


def _list_tuned(join: BuildJoin) -> Section:
    section = tuned_section(join)
    if section.frame is None or section.frame.empty:
        return section
    frame = section.frame.assign(chosen_us=1000.0 * section.frame["chosen_ms"])
    shorten = {**section.shorten, "tactic": cut_end, "formats": cut_end}
    return _arrange(replace(section, frame=frame, shorten=shorten), _TUNED, {"chosen_us": _CHOSEN})


def _arrange(section: Section, priorities: Mapping[str, int], more: Mapping[str, Column]) -> Section:
    """Return a section with its columns in an order, which leave a narrow table by these priorities."""
    known = {**{column.key: column for column in section.columns}, **more}
    columns = [replace(known[key], priority=priority) for key, priority in priorities.items() if key in known]
    return drop_empty_columns(replace(section, columns=columns))


def _nest_phases(trace: BuildTrace) -> View:
    """Return the phases as a tree, each with the first line that states it."""
    section = phases_section(trace)
    if section.frame is None or section.frame.empty:
        return View(section)
    texts = plain_values(section.frame["phase"])
    strategy, lines = "", list[int | None]()
    for text in texts:
        kind, _, words = text.replace(_DEPTH, "").partition(", strategy ")
        strategy = words.partition(" ")[0] if words or not text.startswith(2 * _DEPTH) else strategy
        own = [
            phase.line
            for phase in trace.phases
            if phase.kind == kind and str(phase.strategy) in (strategy, "None")
        ]
        lines.append(next(iter(own or [phase.line for phase in trace.phases if phase.kind == kind]), None))
    frame = section.frame.assign(phase=text_array(map(_name_phase, texts)), line=pd.array(lines, INT))
    columns = [*section.columns, _LINE]
    shown = replace(section, frame=frame, columns=columns, shorten={"phase": cut_end})
    return View(shown, [text.count(_DEPTH) for text in texts])


def _name_phase(text: str) -> str:
    """Return the name without its depth, its strategy first: the end may be cut."""
    phase, _, strategy = text.replace(_DEPTH, "").partition(", strategy ")
    return f"strategy {strategy}: {phase}" if strategy else phase


def _nest_passes(trace: BuildTrace) -> View:
    """Return the passes as rows that expand to what each did."""
    section = passes_section(trace)
    passes = [graph_pass for graph_pass in trace.passes if graph_pass.strategy in (trace.winner, None)]
    if section.frame is None or not passes:
        return View(section)
    rows: list[dict[str, Any]] = []
    levels: list[int] = []
    for row, graph_pass in zip(plain_rows(section.frame), passes, strict=True):
        steps = _list_steps(graph_pass)
        rows += [{**row, "line": graph_pass.line}, *steps]
        levels += [0, *(1 for _ in steps)]
    numbers = [str(key) for key in section.frame if key != "pass"]
    frame = pd.DataFrame(rows, columns=["pass", *numbers, "line"], dtype=object)
    frame = frame.astype(dict.fromkeys([*numbers, "line"], INT) | {"pass": TEXT})
    counted = f"{plural(len(passes), 'pass', 'passes')}, {plural(sum(levels), 'step')}."
    columns = [*section.columns, _LINE]
    shown = replace(section, frame=frame, columns=columns, sentences=[counted], shorten={"pass": cut_end})
    return View(shown, levels)


def _list_steps(graph_pass: OptimizerPass) -> list[dict[str, Any]]:
    """Return what a pass did: `fused ConvReluFusion: conv1 + relu1`."""
    rows = []
    for step in graph_pass.fusions:
        types = f", {step.from_type} → {step.to_type}" if step.from_type and step.to_type else ""
        other = f" + {step.other}" if step.other else ""
        rule = f" {step.rule}" if step.rule else ""
        rows.append({"pass": f"{step.kind}{rule}: {step.layer}{other}{types}", "line": step.line})
    return rows
