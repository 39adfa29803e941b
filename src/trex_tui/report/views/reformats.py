"""Reformats: what each changes, its bytes, between which layers, and why it is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from trex_tui.analysis.structure import find_reformats
from trex_tui.column import Column, by_key
from trex_tui.engine.model import Engine
from trex_tui.engine.names import short_names
from trex_tui.frames import FLOAT, INT, TEXT, plain_rows, plain_values, total
from trex_tui.report.document import Section, drop_empty_columns
from trex_tui.report.views.build import cut_end
from trex_tui.text import format_ms, format_pct, plural

REFORMATS = by_key(
    Column("index", "#", "Index of the reformat.", priority=0),
    Column("change", "From → to", "Type and layout before and after.", width=28, priority=0),
    Column("latency_ms", "ms", "Time of the reformat.", source="profile: averageMs", priority=0),
    Column("latency_pct", "%", "Share of the reformat in the time of all layers.", priority=5),
    Column("before_bytes", "Read", "Bytes before, with the padding of the layout.", priority=3),
    Column("after_bytes", "Written", "Bytes after, with the padding of the layout.", priority=3),
    Column("why", "Why", "What makes it necessary.", priority=0),
    Column("producer", "After", "First layer that writes its input, and the number of further ones.", priority=2),
    Column("consumer", "For", "First layer that reads its output, and the number of further ones.", priority=2),
)  # fmt: skip
"""Columns of the reformats."""
_TYPES: dict[str, Any] = dict.fromkeys(("change", "why", "producer", "consumer"), TEXT) | {
    "index": "int64",
    "latency_ms": FLOAT,
    "latency_pct": FLOAT,
    "before_bytes": INT,
    "after_bytes": INT,
}


def reformats_section(engine: Engine) -> Section:
    """Return a row per reformat, by its layer, the slowest first."""
    found = find_reformats(engine)
    shares = plain_values(engine.column("latency_pct"))
    rows = []
    for row in plain_rows(found):
        layer, producers, consumers = row["layer"], row["producers"], row["consumers"]
        sizes = (engine.inputs[layer][0].allocated_bytes, engine.outputs[layer][0].allocated_bytes)
        ends = (_name(engine, producers) or "input", _name(engine, consumers) or "output")
        change = f"{row['source']} → {row['target']}"
        why = _explain(engine, row["source"], row["target"], producers, consumers)
        rows.append((layer, change, row["latency_ms"], shares[layer], *sizes, why, *ends))
    frame = pd.DataFrame(rows, columns=list(REFORMATS), dtype=object).astype(_TYPES)
    frame.index = pd.Index(frame["index"])
    section = Section(
        "reformats",
        "Reformats",
        sentences=[_count(engine, frame)],
        frame=frame,
        columns=list(REFORMATS.values()),
        bar="latency_pct" if engine.has_profile else "",
        noun="reformat",
        shorten={"change": cut_end, "why": cut_end},
    )
    return drop_empty_columns(section)


def _count(engine: Engine, frame: pd.DataFrame) -> str:
    time, whole = total(frame["latency_ms"]), engine.latency_total_ms
    if frame.empty:
        is_known = engine.has_graph and not engine.has_names_only
        return "No reformats." if is_known else "Reformats unknown (needs layer information)."
    text = plural(len(frame), "reformat")
    return (
        f"{text}, {format_ms(time)} ms, {format_pct(100.0 * time / whole)} % of all"
        if time and whole
        else f"{text}."
    )


def _name(engine: Engine, layers: Sequence[int]) -> str:
    if not layers:
        return ""
    more = f" +{len(layers) - 1}" if len(layers) > 1 else ""
    return f"{layers[0]} {short_names(engine).fit(str(engine.layers['name'].iat[layers[0]]), 40)}{more}"


def _explain(
    engine: Engine, source: str, target: str, producers: Sequence[int], consumers: Sequence[int]
) -> str:
    """Return which of the layers around a reformat differ: in type, else in layout."""
    if not producers:
        return f"network input is {source}"
    if not consumers:
        return f"network output is {target}"
    types = [text.partition(" ")[0] for text in (source, target)]
    precisions = [
        plain_values(engine.layers["precision"].iloc[[ends[0]]])[0] for ends in (producers, consumers)
    ]
    kinds = [str(engine.layers["kind"].iat[ends[0]]) for ends in (producers, consumers)]
    if types[0] != types[1] and None not in precisions:
        return f"{kinds[0]} in {precisions[0]}, {kinds[1]} in {precisions[1]}"
    layouts = [text.partition(" ")[2] or text for text in (source, target)]
    if layouts[0] == layouts[1]:
        return f"{kinds[1]} reads {target}"
    return f"{kinds[1]} kernel reads {layouts[1]}, {kinds[0]} writes {layouts[0]}"
