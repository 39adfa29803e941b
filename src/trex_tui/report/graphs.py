r"""The graph of an engine for other programs: networkx, DOT, GraphML, node-link JSON; and a trace of its times.

DOT has three layers of escapes: the quotes of the language (only `\"` ends differently), escString in labels and tooltips
(`\N`, `\n`, `\\`), and HTML entities, which Graphviz resolves in both. Names are never used where Graphviz would expect a
file, a link or an HTML-like label.
"""

from __future__ import annotations

import io
import json
import math
import shutil
import subprocess
import textwrap
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any

import networkx as nx
import pandas as pd

from trex_tui.analysis.timing import measured_queries
from trex_tui.column import Column
from trex_tui.engine.columns import describe_formats
from trex_tui.engine.graph import number_values
from trex_tui.engine.model import Engine
from trex_tui.errors import TrexError, describe_os_error
from trex_tui.frames import plain_rows, plain_values, total
from trex_tui.report.charts import choose_color
from trex_tui.report.document import plain, plain_note
from trex_tui.text import ELLIPSIS, format_ms, format_shape, plural, printable, shorten_middle

Graph = Any
"""A `networkx.MultiDiGraph` with text as nodes."""
_WIDEST = 48
"""Characters per line in a box."""
_MOST_LINES = 3
_MOST_BYTES = 16_000
"""Graphviz up to 2.50 reads no string of more than 16 384 bytes (its scanner's buffer)."""
_TIMEOUT_S = 120.0
_MUTED, _BINDING = "#767c82", "#e6e9e6"
_HOT = "#96103c"
_INSTALL = "install Graphviz (apt install graphviz, dnf install graphviz, brew install graphviz)"


def choose_layers(engine: Engine, rows: pd.Series | None = None, radius: int = 0) -> list[int]:
    """Return the layers to export, in order of execution.

    Args:
        rows: Mask of the layers that a filter matches; None for all.
        radius: Links to further layers around those of the filter.
    """
    if rows is None:
        return engine.layers.index.tolist()
    return sorted(_reach(engine, rows.index[rows].tolist(), radius))


def _reach(engine: Engine, start: Iterable[int], radius: int) -> set[int]:
    """Return layers with those up to `radius` links downstream and upstream."""
    found = set(start)
    for ends in (("source", "target"), ("target", "source")):
        level = set(start)
        for _ in range(radius):
            level = set(engine.links.loc[engine.links[ends[0]].isin(level), ends[1]].tolist()) - found
            found |= level
    return found


def make_graph(engine: Engine, layers: Sequence[int], columns: Sequence[Column]) -> Graph:
    """Return layers and bindings as nodes `layer_0`, `input_0`, with scalar attributes; unknown ones are absent.

    Inputs of the network come first and outputs last, so that data runs forward.

    Args:
        columns: Attributes of the layers.
    """
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(name=engine.name)
    chosen, ends = set(layers), list(_list_bindings(engine, set(layers)))
    graph.add_nodes_from((node, data) for node, data, _ in ends if data["role"] != "output")
    rows = plain_rows(engine.frame(*(column.key for column in columns)).loc[list(layers)])
    for layer, row in zip(layers, rows, strict=True):
        known = {key: _join(value) for key, value in row.items() if value is not None}
        graph.add_node(f"layer_{layer}", role="layer", label=engine.layers["name"].iat[layer], **known)
    graph.add_nodes_from((node, data) for node, data, _ in ends if data["role"] == "output")
    links = engine.links[engine.links["source"].isin(chosen) & engine.links["target"].isin(chosen)]
    edges = [edge for _, _, edges in ends for edge in edges]
    for row in plain_rows(links):
        role = "loop" if row.pop("is_loop") else "data"
        edges.append((f"layer_{row.pop('source')}", f"layer_{row.pop('target')}", {"role": role, **row}))
    for number, (source, target, data) in enumerate(edges):
        known = {key: value for key, value in data.items() if value is not None}
        graph.add_edge(source, target, number, **known)
    return graph


def _join(value: Any) -> Any:  # noqa: ANN401 - a cell
    return ";".join(map(str, value)) if isinstance(value, tuple | list) else value


def _list_bindings(engine: Engine, chosen: Set[int]) -> Iterator[tuple[str, dict[str, Any], list[Any]]]:
    """Yield name, attributes and edges of each input and output of the network.

    A layer that reads an output is linked to its writer. Bindings that no layer states have no edges.
    """
    events = number_values(engine.tensors)
    events = events[events["name"].isin(engine.bindings["name"])]
    events["words"] = describe_formats(events)
    is_last = events["value"].eq(events.groupby("code")["value"].transform("max"))
    parts = {"input": events[~events["is_write"] & events["value"].eq(0)],
             "output": events[events["is_write"] & is_last]}  # fmt: skip
    for number, row in enumerate(plain_rows(engine.bindings)):
        name, stated = row["name"], events["name"].eq(row["name"]).any()
        if not stated and len(chosen) == len(engine):
            yield f"binding_{number}", {"role": row["role"] or "binding", "label": name}, []
        for role, part in parts.items():
            found = plain_rows(part[part["name"].eq(name) & part["layer"].isin(chosen)])
            if found:
                shape = "x".join(map(str, found[0]["shape"])) or "scalar"
                data = {"role": role, "label": name, "shape": shape, "tensor_format": found[0]["words"]}
                node = f"{role}_{number}"
                yield node, data, [_link_binding(node, role, end) for end in found]


def _link_binding(node: str, role: str, row: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
    layer = f"layer_{row['layer']}"
    data = {"role": "data", "tensor": row["name"], "port": row["port"], "dtype": row["dtype"]}
    return (node, layer, data) if role == "input" else (layer, node, data)


def write_graphml(graph: Graph) -> bytes:
    """Return GraphML. Characters that XML cannot hold are made visible."""
    safe: nx.MultiDiGraph[str] = nx.MultiDiGraph(name=printable(graph.name))
    safe.add_nodes_from((node, _make_safe(data)) for node, data in graph.nodes(data=True))
    safe.add_edges_from((*ends, _make_safe(data)) for *ends, data in graph.edges(keys=True, data=True))
    data = io.BytesIO()
    nx.write_graphml_xml(safe, data, named_key_ids=True)
    return data.getvalue()


def _make_safe(attributes: dict[str, Any]) -> dict[str, Any]:
    return {key: printable(value) if isinstance(value, str) else value for key, value in attributes.items()}


def write_node_link(engine: Engine, graph: Graph) -> str:
    """Return node-link data, as `networkx.node_link_graph(document, edges="edges")` reads it; texts verbatim."""
    content = nx.node_link_data(graph, edges="edges")
    head = {"schema": "trex-tui/graph/1", "engine": engine.name}
    document = {**head, **content, "graph": {}, "diagnostics": list(map(plain_note, engine.notes))}
    return json.dumps(plain(document), indent=1, allow_nan=False) + "\n"


# DOT


def write_dot(engine: Engine, graph: Graph, color_by: str = "kind") -> str:
    """Return the graph in DOT; notes about damage are comments and part of the title.

    Args:
        color_by: kind, precision or latency.
    """
    notes = [f"// {note.severity.value}: {printable(str(note))}" for note in engine.notes]
    return "\n".join([*_write_dot(engine, graph, color_by), "// trex-tui/graph/1", *notes]) + "\n"


def _write_dot(engine: Engine, graph: Graph, color_by: str) -> Iterator[str]:
    layers = [int(node.removeprefix("layer_")) for node, role in graph.nodes(data="role") if role == "layer"]
    boxes = {f"layer_{layer}": box for layer, box in _draw_boxes(engine, layers, color_by)}
    pack = ', pack=true, packmode="array_u6"'  # layers without links: in rows of six, in their order
    title = _quote(_describe_graph(engine, layers))
    yield f"digraph {_quote(engine.name)} {{"
    yield f"  graph [label={title}, labelloc=t, fontname=Helvetica, ranksep=0.35, nodesep=0.25{pack}];"
    yield '  node [fontname=Helvetica, fontsize=10, style="filled,rounded", margin="0.1,0.05"];'
    yield f'  edge [color="{_MUTED}", arrowsize=0.6, fontname=Helvetica, fontsize=9];'
    for number, (node, data) in enumerate(graph.nodes(data=True)):
        skipped = ("role", "label") if node in boxes else ()
        known = {key: value for key, value in data.items() if key not in skipped and value != ""}
        tooltip = "\n".join(f"{key}: {value}" for key, value in known.items())
        attributes = f"tooltip={_quote(tooltip, is_tooltip=True)}, sortv={number}"
        yield f"  {node} [{attributes}, {boxes.get(node) or _draw_binding(data)}];"
    yield from _write_edges(engine, graph)
    yield "}"


def _draw_boxes(engine: Engine, layers: Sequence[int], color_by: str) -> Iterator[tuple[int, str]]:
    """Yield each layer with the attributes of its box: the name has its own lines, the other values one."""
    frame = engine.frame("name", "kind", "precision", "latency_ms").loc[list(layers)]
    colors = _choose_fills(frame, color_by)
    for layer, row, color in zip(layers, plain_rows(frame), colors, strict=True):
        name = textwrap.wrap(shorten_middle(printable(row["name"]), _MOST_LINES * _WIDEST), _WIDEST)
        time = "" if row["latency_ms"] is None else f"{format_ms(row['latency_ms'])} ms"
        words = " · ".join(filter(None, (row["kind"], row["precision"], time)))
        label = _quote("\n".join([*name, words]))
        yield layer, f'label={label}, fillcolor="{color}", shape=box, color="{_MUTED}"'


def _draw_binding(data: dict[str, Any]) -> str:
    lines = [data["label"]]
    if "shape" in data:
        lines.append(f"{data['shape'].replace('x', '×')} {data['tensor_format']}")
    label = _quote("\n".join(shorten_middle(printable(line), _WIDEST) for line in lines))
    return f'label={label}, fillcolor="{_BINDING}", shape=ellipse, style=filled'


def _write_edges(engine: Engine, graph: Graph) -> Iterator[str]:
    tensors = plain_rows(engine.tensors.assign(words=describe_formats(engine.tensors)))
    texts = {row["name"]: f"{format_shape(row['shape'])} {printable(row['words'])}" for row in tensors}
    for source, target, data in graph.edges(data=True):
        text = texts.get(data["tensor"], "")
        tooltip = "\n".join((data["tensor"], text))
        attributes = f"tooltip={_quote(tooltip, is_tooltip=True)}"
        attributes += ", style=dashed, constraint=false" if data["role"] == "loop" else ""
        yield f"  {source} -> {target} [{attributes}];"


def _describe_graph(engine: Engine, layers: Sequence[int]) -> str:
    whole = plural(len(engine), "layer")
    time = total(engine.layers["latency_ms"][list(layers)])
    parts = [
        engine.name,
        whole if len(layers) == len(engine) else f"{len(layers)} of {whole}",
        "" if time is None else f"{format_ms(time)} ms in layers",
        engine.facts.device_name or "",
        *(f"{note.severity.value}: {note}" for note in engine.notes[:1]),
    ]
    return " · ".join(printable(part) for part in parts if part)


def _choose_fills(frame: pd.DataFrame, color_by: str) -> list[str]:
    if color_by != "latency":
        return [_mix(choose_color(word), 0.25) for word in plain_values(frame[color_by])]
    times = frame["latency_ms"].astype(float).fillna(0.0).clip(lower=0.0)
    # By the square root of the share of the slowest: otherwise all but a few would be white.
    return [_mix(_HOT, 0.72 * math.sqrt(time / (times.max() or 1.0))) for time in times]


def _mix(color: str, share: float) -> str:
    """Return a color mixed with white."""
    parts = (int(color[place : place + 2], 16) for place in (1, 3, 5))
    return "#" + "".join(f"{round(255 * (1 - share) + value * share):02x}" for value in parts)


def _quote(text: str, *, is_tooltip: bool = False) -> str:
    """Return text as a quoted string without special meaning for Graphviz; newlines separate lines.

    Args:
        is_tooltip: Graphviz 2.43 resolves the escapes of tooltips twice.
    """
    backslash = "\\\\\\\\" if is_tooltip else "\\\\"
    lines = [printable(line).replace("\\", backslash) for line in text.split("\n")]
    safe = "\\n".join(line.replace("&", "&amp;").replace('"', '\\"') for line in lines)
    if len(safe.encode("utf-8")) > _MOST_BYTES:
        return _quote(text[: len(text) // 2] + ELLIPSIS, is_tooltip=is_tooltip)
    return f'"{safe}"'


def draw(dot: str, form: str) -> bytes:
    """Return a picture that Graphviz draws.

    Args:
        form: `svg` or `png`.

    Raises:
        TrexError: It is not installed, fails, or takes too long.
    """
    program = shutil.which("dot")
    if program is None:
        raise TrexError(f"pictures of graphs need Graphviz (dot is not on PATH): {_INSTALL}; or write .dot")
    try:
        done = subprocess.run(
            [program, f"-T{form}"], input=dot.encode(), capture_output=True, timeout=_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        few = "choose fewer layers with --filter"
        raise TrexError(f"dot took longer than {_TIMEOUT_S:g} s; {few}") from None
    except OSError as error:
        raise TrexError(f"{program}: {describe_os_error(error, 'cannot be run')}") from error
    if done.returncode or not done.stdout:
        words = shorten_middle(printable(" ".join(done.stderr.decode("utf-8", "replace").split())), 300)
        raise TrexError(f"dot failed: {words or f'exit code {done.returncode}'}; write .dot")
    return done.stdout


# Trace

_LAYERS, _QUERIES = 1, 2
"""Process ids."""
_TRACKS = (
    ("start_enqueue_ms", "end_enqueue_ms", "enqueue (host)"),
    ("start_h2d_ms", "end_h2d_ms", "host to device"),
    ("start_compute_ms", "end_compute_ms", "compute"),
    ("start_d2h_ms", "end_d2h_ms", "device to host"),
)
"""Stamps of a query, and the name of their track."""
_OVERFLOW = 100
"""Added to a thread for queries that begin before the previous one has ended: events of a thread must not overlap."""
_ARGUMENTS = ("layer_type", "precision", "latency_ms", "median_ms", "tactic", "onnx_nodes")


def write_trace(engine: Engine, layers: Sequence[int]) -> str:
    """Return the layers by stream, and the queries, in the Chrome trace format that Perfetto opens.

    The profile has the duration of a layer, not its start: layers are placed one after another in execution order.

    Raises:
        TrexError: No file has times.
    """
    frame = engine.layers.loc[list(layers)]
    timed = frame[frame["latency_ms"].notna()]
    events = [*_trace_layers(timed), *_trace_queries(measured_queries(engine))]
    if not events:
        raise TrexError(f"{engine.name}: no times to trace; needs a profile or timing rows")
    facts = {
        "schema": "trex-tui/trace/1",
        "engine": engine.name,
        "layers": len(timed),
        "layers_without_time": len(frame) - len(timed),
        "starts_of_layers": "not measured: mean profile times in execution order",
        "diagnostics": list(map(plain_note, engine.notes)),
    }
    document = {"traceEvents": events, "displayTimeUnit": "ms", "otherData": facts}
    return json.dumps(document, allow_nan=False) + "\n"


def _trace_layers(timed: pd.DataFrame) -> Iterator[dict[str, Any]]:
    start, threads = 0.0, set()
    for index, row in zip(timed.index.tolist(), plain_rows(timed), strict=True):
        thread = 0 if row["stream"] is None else 1 + row["stream"]
        if thread not in threads:
            threads.add(thread)
            yield _name_track(_LAYERS, thread, f"layers, stream {row['stream']}" if thread else "layers")
        known = {key: plain(row[key]) for key in _ARGUMENTS if row[key] not in (None, ())}
        event = _trace_event(_LAYERS, thread, row["name"], start, row["latency_ms"])
        yield {**event, "cat": row["kind"], "args": {"index": index, **known}}
        start += row["latency_ms"]


def _trace_queries(queries: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the queries by their stamps. One that begins while another runs goes to the first free track below."""
    for track, (start, end, title) in enumerate(_TRACKS, start=1):
        if not {start, end} <= set(queries):
            continue
        known = queries[[start, end]].dropna()
        known = known[known[end] >= known[start]].sort_values([start, end], kind="stable")
        free: list[float] = []
        for row, begin, finish in zip(known.index.tolist(), *known.to_numpy(float).T.tolist(), strict=True):
            lane = next((lane for lane, until in enumerate(free) if until <= begin), len(free))
            thread = track + _OVERFLOW * lane
            if lane == len(free):
                yield _name_track(_QUERIES, thread, f"{title}, overlapping {lane}" if lane else title)
            free[lane : lane + 1] = [finish]
            event = _trace_event(_QUERIES, thread, f"query {row}", begin, finish - begin)
            yield {**event, "cat": "query", "args": {"row": row}}


def _trace_event(process: int, thread: int, name: str, start_ms: float, duration_ms: float) -> dict[str, Any]:
    stamps = {"ts": round(1000.0 * start_ms, 6), "dur": round(1000.0 * duration_ms, 6)}
    return {"name": name, "ph": "X", "pid": process, "tid": thread, **stamps}


def _name_track(process: int, thread: int, name: str) -> dict[str, Any]:
    args = {"name": name}
    return {"name": "thread_name", "ph": "M", "ts": 0, "pid": process, "tid": thread, "args": args}
