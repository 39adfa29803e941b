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
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

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
from trex_tui.text import ELLIPSIS, format_bytes, format_ms, format_shape, plural, printable, shorten_middle

Graph = Any
"""A `networkx.MultiDiGraph` with text as nodes."""
LABELS = ("name", "kind", "precision", "latency_ms")
"""Columns in the box of a layer."""
COLOR_BY = ("kind", "precision", "latency")
_WIDEST = 48
"""Characters per line in a box."""
_MOST_LINES = 3
_MOST_NAMED = 3
_MOST_BYTES = 16_000
"""Graphviz up to 2.50 reads no string of more than 16 384 bytes (its scanner's buffer)."""
_TIMEOUT_S = 120.0
_MUTED, _HIGHLIGHT, _BINDING, _TENSOR = "#767c82", "#c2185b", "#e6e9e6", "#f4f5f6"
_HOT = (150, 16, 60)
_INSTALL = "install Graphviz (apt install graphviz, dnf install graphviz, brew install graphviz)"


class Neighbourhood(NamedTuple):
    """Which layers are exported.

    Attributes:
        rows: Mask of the layers that a filter matches; None for all.
        around: Layer in the middle; None for none.
        radius: Links to further layers; None for 2 around a layer, and for none around those of a filter.
    """

    rows: pd.Series | None = None
    around: int | None = None
    radius: int | None = None


def find_layer(engine: Engine, text: str) -> int:
    """Return the one layer that the user means: by its full name, else its index, else a part of its name.

    Raises:
        TrexError: No layer matches, or several do.
    """
    names = engine.layers["name"]
    found = names.index[names.eq(text)]
    number = text.removeprefix("#")
    if found.empty and number.isascii() and number.isdecimal() and len(number) < 10:
        if int(number) >= len(engine):
            raise TrexError(f"--around: layer {number} does not exist; use 0 to {len(engine) - 1}")
        return int(number)
    for equal in (
        names.str.casefold().eq(text.casefold()),
        names.str.contains(text, case=False, regex=False),
    ):
        found = names.index[equal.astype(bool)] if found.empty else found
    if found.empty:
        raise TrexError(f"--around: no layer name contains {text!r}; use another name or an index")
    if len(found) > 1:
        some = ", ".join(
            f"{index} {shorten_middle(printable(names[index]), 40)}" for index in found[:_MOST_NAMED]
        )
        more = ", …" if len(found) > _MOST_NAMED else ""
        raise TrexError(f"--around: {plural(len(found), 'layer')} match ({some}{more}); use an index")
    return int(found[0])


def choose_layers(engine: Engine, choice: Neighbourhood) -> list[int]:
    """Return the layers of a choice, in order of execution; both an own layer and a filter: the intersection."""
    everything = engine.layers.index.tolist()
    matching = everything if choice.rows is None else choice.rows.index[choice.rows].tolist()
    if choice.around is None:
        return sorted(_reach(engine, matching, choice.radius or 0)) if choice.rows is not None else everything
    near = _reach(engine, [choice.around], 2 if choice.radius is None else choice.radius)
    return sorted(near.intersection(matching))


def _reach(engine: Engine, start: Iterable[int], radius: int) -> set[int]:
    """Return layers with those up to `radius` links downstream and upstream."""
    found = set(start)
    for ends in (("source", "target"), ("target", "source")):
        level = set(start)
        for _ in range(radius):
            links = engine.links[engine.links[ends[0]].isin(level)]
            level = set(links[ends[1]].tolist()) - found
            found |= level
    return found


def make_graph(
    engine: Engine, layers: Sequence[int], columns: Sequence[Column], *, has_constants: bool = False
) -> Graph:
    """Return layers and bindings as nodes `layer_0`, `input_0_0`, with scalar attributes; unknown ones are absent.

    Args:
        columns: Attributes of the layers.
        has_constants: Weights are nodes too.
    """
    chosen = set(layers)
    frame = engine.frame(*(column.key for column in columns)).loc[list(layers)]
    rows = [
        {key: value for key, item in row.items() if (value := _scalar(item)) is not None}
        for row in plain_rows(frame)
    ]
    names = engine.layers["name"].to_dict()
    nodes = [
        ((2 * layer + 1, 0), f"layer_{layer}", {"role": "layer", "label": names[layer], **row})
        for layer, row in zip(layers, rows, strict=True)
    ]
    edges: list[tuple[Any, ...]] = []
    for place, node, attributes, links in _tensor_nodes(engine, chosen, has_constants=has_constants):
        nodes.append((place, node, attributes))
        edges += links
    links = engine.links[engine.links["source"].isin(chosen) & engine.links["target"].isin(chosen)]
    for row in plain_rows(links):
        data = {"role": "loop" if row["is_loop"] else "data", "tensor": row["tensor"], "port": row["port"]}
        edges.append(
            (
                f"layer_{row['source']}",
                f"layer_{row['target']}",
                data | {"dtype": row["dtype"], "bytes": row["bytes"]},
            )
        )
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(name=engine.name)
    nodes.sort(key=lambda node: node[0])
    order = {name: number for number, (_, name, _) in enumerate(nodes)}
    graph.add_nodes_from((name, attributes) for _, name, attributes in nodes)
    edges.sort(
        key=lambda edge: (
            order[edge[1]],
            -1 if edge[2].get("port") is None else edge[2]["port"],
            order[edge[0]],
        )
    )
    for number, (source, target, data) in enumerate(edges):
        graph.add_edge(
            source, target, number, **{key: value for key, value in data.items() if value is not None}
        )
    return graph


def _scalar(value: Any) -> Any:  # noqa: ANN401 - a cell
    return ";".join(map(str, value)) if isinstance(value, tuple | list) else value


def _tensor_nodes(engine: Engine, chosen: set[int], *, has_constants: bool) -> Iterator[tuple[Any, ...]]:
    """Yield place, name, attributes and edges of the bindings, and of the constants on demand."""
    bindings = set(engine.bindings["name"].tolist())
    events = number_values(engine.tensors)
    events["format_words"] = describe_formats(events)
    codes = {name: code for code, name in enumerate(dict.fromkeys(engine.tensors["name"].tolist()))}
    seen: set[str] = set()
    for name, values in events.groupby("name", sort=False):
        is_binding = name in bindings
        seen.add(str(name))
        if not (is_binding or has_constants):
            continue
        last = values["value"].max()
        for generation, (number, group) in enumerate(values.groupby("value")):
            has_writer = bool(group["is_write"].any())
            role = _find_role(is_binding=is_binding, has_writer=has_writer, is_last=number == last)
            if not role or (role == "constant" and values["is_write"].any()):
                continue
            rows = group[group["layer"].isin(chosen)]
            if role == "output":  # layers that read it are linked to its writer
                rows = rows[rows["is_write"]]
            if rows.empty:
                continue
            node = f"{role}_{codes[str(name)]}_{generation}"
            largest = plain_rows(
                group.iloc[[int(group["volume"].fillna(0).astype(float).to_numpy().argmax())]]
            )[0]
            attributes = {
                "role": role,
                "label": name,
                "shape": "x".join(map(str, largest["shape"])) or "scalar",
                "tensor_format": largest["format_words"],
                "allocated_bytes": largest["allocated_bytes"],
            }
            known = {key: value for key, value in attributes.items() if value is not None}
            place = (
                (2 * int(group["layer"].max()) + 1, 1) if has_writer else (2 * int(group["layer"].min()), 0)
            )
            yield place, node, known, [_binding_edge(node, str(name), row) for row in plain_rows(rows)]
    for number, row in enumerate(plain_rows(engine.bindings)):
        if row["name"] not in seen and len(chosen) == len(engine):
            yield (
                (-1, number),
                f"binding_{number}",
                {"role": row["role"] or "binding", "label": row["name"]},
                [],
            )


def _find_role(*, is_binding: bool, has_writer: bool, is_last: bool) -> str:
    """Return the role of a value of a tensor; empty for an output that is written again."""
    if not is_binding:
        return "constant"
    if not has_writer:
        return "input"
    return "output" if is_last else ""


def _binding_edge(node: str, name: str, row: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
    layer, data = f"layer_{row['layer']}", {"role": "data", "tensor": name, "dtype": row["dtype"]}
    return (layer, node, data) if row["is_write"] else (node, layer, data | {"port": row["port"]})


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


class Drawing(NamedTuple):
    """How a graph is drawn.

    Attributes:
        color_by: One of `COLOR_BY`.
        labels: Columns in the boxes.
        highlighted: Layers with a thick frame.
        has_edge_labels: Shape and format beside the arrows between layers.
    """

    color_by: str = "kind"
    labels: tuple[str, ...] = LABELS
    highlighted: frozenset[int] = frozenset()
    has_edge_labels: bool = False


def write_dot(engine: Engine, graph: Graph, drawing: Drawing = Drawing()) -> str:  # noqa: B008 - it is constant
    """Return the graph in DOT; notes about damage are comments and part of the title."""
    return (
        "\n".join([*_write_dot(engine, graph, drawing), f"// trex-tui/graph/1{''.join(_comments(engine))}"])
        + "\n"
    )


def _comments(engine: Engine) -> Iterator[str]:
    return (f"\n// {note.severity.value}: {printable(str(note))}" for note in engine.notes)


def _write_dot(engine: Engine, graph: Graph, drawing: Drawing) -> Iterator[str]:
    layers = [int(node.partition("_")[2]) for node, role in graph.nodes(data="role") if role == "layer"]
    colors, boxes = _fills(engine, layers, drawing.color_by), _boxes(engine, layers, drawing.labels)
    # Graphviz loses labels of edges where it packs. Layers without links are arranged in rows of six, in their order.
    pack = "" if drawing.has_edge_labels else ', pack=true, packmode="array_u6"'
    title = _quote(_describe_graph(engine, layers))
    yield f"digraph {_quote(engine.name)} {{"
    yield f"  graph [label={title}, labelloc=t, fontname=Helvetica, ranksep=0.35, nodesep=0.25{pack}];"
    yield '  node [fontname=Helvetica, fontsize=10, style="filled,rounded", margin="0.1,0.05"];'
    yield f'  edge [color="{_MUTED}", arrowsize=0.6, fontname=Helvetica, fontsize=9];'
    for number, (node, data) in enumerate(graph.nodes(data=True)):
        skipped = ("role", "label") if data["role"] == "layer" else ()
        tooltip = "\n".join(
            f"{key}: {value}" for key, value in data.items() if value not in ("", None) and key not in skipped
        )
        attributes = [
            f"tooltip={_quote(tooltip, is_tooltip=True)}",
            f"role={data['role']}",
            f"sortv={number}",
        ]
        if data["role"] == "layer":
            layer = int(node.partition("_")[2])
            attributes += [f"label={_quote(boxes[layer])}", f'fillcolor="{colors[layer]}"', "shape=box"]
            attributes += (
                [f'color="{_HIGHLIGHT}"', "penwidth=3"]
                if layer in drawing.highlighted
                else [f'color="{_MUTED}"']
            )
            attributes += [
                f"{key}={_quote(str(data[key]))}"
                for key in ("kind", "precision", "latency_ms")
                if key in data
            ]
        else:
            label = shorten_middle(printable(data["label"]), _WIDEST)
            if "shape" in data:
                label += "\n" + shorten_middle(
                    f"{data['shape'].replace('x', '×')} {printable(data['tensor_format'])}", _WIDEST
                )
            fill, shape = (_TENSOR, "note") if data["role"] == "constant" else (_BINDING, "ellipse")
            attributes += [f"label={_quote(label)}", f'fillcolor="{fill}"', f"shape={shape}", "style=filled"]
        yield f"  {node} [{', '.join(attributes)}];"
    yield from _write_edges(engine, graph, drawing)
    yield "}"


def _write_edges(engine: Engine, graph: Graph, drawing: Drawing) -> Iterator[str]:
    texts = {}
    if drawing.has_edge_labels:
        tensors = engine.tensors.assign(words=describe_formats(engine.tensors))
        texts = {
            row["name"]: f"{format_shape(row['shape'])} {printable(row['words'])}"
            for row in plain_rows(tensors)
        }
    for source, target, data in graph.edges(data=True):
        size = f"\n{format_bytes(data['bytes'])}" if data.get("bytes") else ""
        tooltip = f"{data['tensor']}{size}"
        attributes = [f"tooltip={_quote(tooltip, is_tooltip=True)}", f"role={data['role']}"]
        if source.startswith("layer_") and target.startswith("layer_") and data["tensor"] in texts:
            attributes.append(f"label={_quote(shorten_middle(texts[data['tensor']], _WIDEST))}")
        attributes += [f"port={data['port']}"] if "port" in data else []
        attributes += ["style=dashed", "constraint=false"] if data["role"] == "loop" else []
        yield f"  {source} -> {target} [{', '.join(attributes)}];"


def _describe_graph(engine: Engine, layers: Sequence[int]) -> str:
    whole = plural(len(engine), "layer")
    counted = whole if len(layers) == len(engine) else f"{len(layers)} of {whole}"
    time = total(engine.layers["latency_ms"][list(layers)])
    parts = [engine.name, counted, "" if time is None else f"{format_ms(time)} ms in layers"]
    parts += [
        engine.facts.device_name or "",
        *(f"{note.severity.value}: {note}" for note in engine.notes[:1]),
    ]
    return " · ".join(printable(part) for part in parts if part)


def _boxes(engine: Engine, layers: Sequence[int], keys: Sequence[str]) -> dict[int, str]:
    """Return the text in the box of each layer: a long value has its own lines, short ones stand side by side."""
    boxes = {layer: [""] for layer in layers}
    for key in keys:
        column, values = engine.columns[key], engine.column(key)[list(layers)]
        is_long = column.is_free_text or key.endswith(("_shapes", "_formats"))
        for layer, value in zip(layers, plain_values(values), strict=True):
            text = "" if value is None else column.format(value, with_unit=True)
            if is_long and text:
                wrapped = textwrap.wrap(shorten_middle(text, _MOST_LINES * _WIDEST), _WIDEST)
                boxes[layer] += [*wrapped, ""]
            elif text:
                boxes[layer][-1] += f" · {text}" if boxes[layer][-1] else text
    return {layer: "\n".join(filter(None, lines)) for layer, lines in boxes.items()}


def _fills(engine: Engine, layers: Sequence[int], color_by: str) -> dict[int, str]:
    if color_by != "latency":
        words = engine.column(color_by)[list(layers)]
        return {
            layer: _lighten(choose_color(word))
            for layer, word in zip(layers, plain_values(words), strict=True)
        }
    times = engine.layers["latency_ms"][list(layers)].astype(float)
    top = times.max()
    # By the square root of the share of the slowest: otherwise all but a few would be white.
    shares = [math.sqrt(time / top) if top > 0 and time > 0 else 0.0 for time in times]
    return {layer: _mix(_HOT, 0.72 * share) for layer, share in zip(layers, shares, strict=True)}


def _lighten(color: str) -> str:
    rgb = tuple(int(color[place : place + 2], 16) for place in (1, 3, 5))
    return _mix(rgb, 0.25)


def _mix(rgb: tuple[int, ...], share: float) -> str:
    return "#" + "".join(f"{round(255 * (1 - share) + value * share):02x}" for value in rgb)


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
        few = "choose fewer layers with --filter or --around"
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
    (1, None, "start_enqueue_ms", "end_enqueue_ms", "enqueue (host)"),
    (2, "h2d_ms", "start_h2d_ms", "end_h2d_ms", "host to device"),
    (3, "compute_ms", "start_compute_ms", "end_compute_ms", "compute"),
    (4, "d2h_ms", "start_d2h_ms", "end_d2h_ms", "device to host"),
)
"""Thread, duration, its stamps, and the name of the track."""
_OVERFLOW = 100
"""Added to a thread for queries that begin before the previous one has ended: events of a thread must not overlap."""


def write_trace(engine: Engine, layers: Sequence[int]) -> str:
    """Return the layers by stream, and the queries, in the Chrome trace format that Perfetto opens.

    The profile has the duration of a layer, not its start: layers are placed one after another in execution order.

    Raises:
        TrexError: No file has times.
    """
    frame = engine.layers.loc[list(layers)]
    timed = frame[frame["latency_ms"].notna()]
    queries = list(_trace_queries(measured_queries(engine)))
    if timed.empty and not queries:
        raise TrexError(f"{engine.name}: no times to trace; needs a profile or timing rows")
    facts = {
        "schema": "trex-tui/trace/1",
        "engine": engine.name,
        "layers": len(timed),
        "layers_without_time": len(frame) - len(timed),
        "queries": sum(event["ph"] == "X" and event["tid"] % _OVERFLOW == 3 for event in queries),
        "starts_of_layers": "not measured: mean profile times in execution order",
        "diagnostics": list(map(plain_note, engine.notes)),
    }
    events = [*(_trace_layers(timed) if len(timed) else ()), *queries]
    return (
        json.dumps({"traceEvents": events, "displayTimeUnit": "ms", "otherData": facts}, allow_nan=False)
        + "\n"
    )


def _name_track(process: int, name: str, thread: int | None = None) -> Iterator[dict[str, Any]]:
    what, order = ("process", process) if thread is None else ("thread", thread)
    ids = {"pid": process, "tid": thread or 0, "ph": "M", "ts": 0}
    yield {**ids, "name": f"{what}_name", "args": {"name": name}}
    yield {**ids, "name": f"{what}_sort_index", "args": {"sort_index": order}}


def _trace_layers(timed: pd.DataFrame) -> Iterator[dict[str, Any]]:
    yield from _name_track(_LAYERS, "layers (profile, averages)")
    threads = {
        stream: 0 if stream is None else 1 + stream for stream in dict.fromkeys(plain_values(timed["stream"]))
    }
    for stream, thread in sorted(threads.items(), key=lambda item: item[1]):
        yield from _name_track(_LAYERS, "stream unknown" if stream is None else f"stream {stream}", thread)
    start = 0.0
    keys = ("layer_type", "precision", "latency_ms", "median_ms", "tactic", "onnx_nodes")
    for index, row in zip(timed.index.tolist(), plain_rows(timed), strict=True):
        duration = 1000.0 * row["latency_ms"]
        known = {key: plain(row[key]) for key in keys if row[key] not in (None, ())}
        place = {
            "ts": round(start, 6),
            "dur": round(duration, 6),
            "pid": _LAYERS,
            "tid": threads[row["stream"]],
        }
        yield {"name": row["name"], "cat": row["kind"], "ph": "X", **place, "args": {"index": index, **known}}
        start += duration


def _trace_queries(queries: pd.DataFrame) -> Iterator[dict[str, Any]]:
    tracks = [
        track for track in _TRACKS if {track[2], track[3]} <= set(queries) and queries[track[3]].notna().any()
    ]
    if not tracks:
        yield from _trace_durations(queries)
        return
    yield from _name_track(_QUERIES, "queries (timing run)")
    for thread, key, start, end, name in tracks:
        yield from _trace_track(queries, thread, key, start, end, name)


def _trace_track(
    queries: pd.DataFrame, thread: int, key: str | None, start: str, end: str, name: str
) -> Iterator[dict[str, Any]]:
    """Yield queries by their stamps. A query that begins while another runs goes to the first free track below."""
    known = queries[[start, end]].dropna()
    known = known[known[end] >= known[start]].sort_values([start, end], kind="stable")
    durations = dict(zip(queries.index.tolist(), plain_values(queries[key]), strict=True)) if key else {}
    events: list[dict[str, Any]] = []
    free: list[float] = []
    for row, begin, finish in zip(
        known.index.tolist(), known[start].tolist(), known[end].tolist(), strict=True
    ):
        lane = next((lane for lane, until in enumerate(free) if until <= begin), len(free))
        free[lane : lane + 1] = [finish]
        stated = durations.get(row)
        more = {} if stated is None else {key: stated}
        events.append(_trace_query(row, thread + _OVERFLOW * lane, begin, finish - begin, more))
    for lane in range(len(free)):
        title = name if lane == 0 else f"{name}, overlapping {lane}"
        yield from _name_track(_QUERIES, title, thread + _OVERFLOW * lane)
    yield from events


def _trace_query(
    row: int, thread: int, start_ms: float, duration_ms: float, more: dict[Any, Any]
) -> dict[str, Any]:
    place = {
        "ts": round(1000.0 * start_ms, 6),
        "dur": round(1000.0 * duration_ms, 6),
        "pid": _QUERIES,
        "tid": thread,
    }
    return {"name": f"query {row}", "cat": "query", "ph": "X", **place, "args": {"row": row, **more}}


def _trace_durations(queries: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield rows with durations only, one after another."""
    key = next(
        (key for key in ("compute_ms", "latency_ms") if key in queries and queries[key].notna().any()), None
    )
    if key is None:
        return
    yield from _name_track(_QUERIES, "queries (timing run; starts unknown)")
    yield from _name_track(_QUERIES, key, 3)
    start = 0.0
    for row, duration in zip(queries.index.tolist(), plain_values(queries[key]), strict=True):
        if duration is not None and duration >= 0.0:
            yield _trace_query(row, 3, start, duration, {key: duration})
            start += duration
