"""The session of ONNX Runtime around an engine: time per provider, and the subgraphs that fell back from TensorRT."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trex_tui.old.analysis.session import NodeGroup, SessionUse, find_session_use
from trex_tui.old.engine.engine import Engine
from trex_tui.old.report.document import Cell, Column, Section, make_table
from trex_tui.old.report.render_json import row_objects
from trex_tui.old.text import format_ms, format_pct, plural, printable

_MOST_OPERATORS = 4
_MOST_FALLBACKS = 12
_MOST_SENTENCES = 4


def _operator_text(operators: Mapping[str, int]) -> str:
    words = [f"{name} ×{count}" if count > 1 else name for name, count in operators.items()]
    more = [f"{len(words) - _MOST_OPERATORS} more"] if len(words) > _MOST_OPERATORS else []
    return printable(", ".join([*words[:_MOST_OPERATORS], *more]))


def _operators(operators: Mapping[str, int]) -> Cell:
    counts = [{"operator": name, "nodes": count} for name, count in operators.items()]
    return Cell(counts, _operator_text(operators))


_PROVIDER = Column(
    "provider", "provider", value=lambda group: group.provider, help="Provider that ran the nodes.", width=10
)
_NODES = Column(
    "nodes", "nodes", value=lambda group: group.nodes, is_number=True, format=str, help="Number of nodes."
)
_TIME = Column(
    "time_ms",
    "ms",
    value=lambda group: group.time_ms,
    is_number=True,
    has_bar=True,
    help="Time of their calls on the host, per run, without nodes of a body.",
)
_SHARE = Column(
    "time_pct",
    "%",
    value=lambda group: group.time_pct,
    is_number=True,
    help="Share of the time of all nodes.",
)
PROVIDER_COLUMNS = (
    _PROVIDER,
    _NODES,
    Column(
        "calls", "calls", value=lambda group: group.calls, is_number=True, help="Calls per run.", priority=2
    ),
    _TIME,
    _SHARE,
)
ENGINE_COLUMNS = (
    Column(
        "name",
        "engine",
        value=lambda group: Cell(group.first, printable(group.first)),
        flex=True,
        width=24,
        help="Name of the node.",
    ),
    *PROVIDER_COLUMNS[2:],
)
FALLBACK_COLUMNS = (
    _PROVIDER,
    _NODES,
    Column(
        "operators",
        "operators",
        value=lambda group: _operators(group.operators),
        flex=True,
        width=18,
        help="Operators with the number of their nodes.",
    ),
    Column(
        "first",
        "first node",
        value=lambda group: Cell(group.first, printable(group.first)),
        flex=True,
        width=16,
        help="Name of the first node.",
    ),
    Column(
        "last",
        "last node",
        value=lambda group: Cell(group.last, printable(group.last)),
        flex=True,
        width=16,
        priority=2,
        help="Name of the last node.",
    ),
    _TIME,
    _SHARE,
)


def session_document(engine: Engine) -> dict[str, Any] | None:
    """Return `session` of `summary --json`; None without a session profile."""
    if engine.session is None:
        return None
    use = find_session_use(engine.session)
    return {
        "runs": use.profile.runs,
        "warmup_runs": use.profile.warmup_runs,
        "run_ms": use.profile.run_ms,
        "nodes": len(use.profile.nodes),
        "node_ms": use.node_ms,
        "providers": row_objects(make_table("providers", PROVIDER_COLUMNS, use.providers)),
        "engines": row_objects(make_table("engines", ENGINE_COLUMNS, use.engines)),
        "fallbacks": row_objects(make_table("fallbacks", FALLBACK_COLUMNS, use.fallbacks)),
        "copies": 0 if use.copies is None else use.copies.nodes,
        "copies_ms": 0.0 if use.copies is None else use.copies.time_ms,
    }


def session_sections(engine: Engine) -> Iterator[Section]:
    """Yield nodes by provider and the subgraphs that fell back, most time first; nothing without a session profile."""
    if engine.session is None:
        return
    use = find_session_use(engine.session)
    tables = [make_table("providers", PROVIDER_COLUMNS, use.providers, title="Providers", noun="provider")]
    if use.engines:
        tables.append(
            make_table("engines", ENGINE_COLUMNS, use.engines, title="TensorRT engines", noun="engine")
        )
    fallbacks = sorted(use.fallbacks, key=lambda group: -group.time_ms)
    if fallbacks:
        title = "Subgraphs that fell back"
        shown = fallbacks[:_MOST_FALLBACKS]
        if len(shown) < len(fallbacks):
            title += f": {len(shown)} of {len(fallbacks)}, most time first (--json lists all)"
        tables.append(make_table("fallbacks", FALLBACK_COLUMNS, shown, title=title, noun="subgraph"))
    if not use.engines:
        text = "ONNX Runtime: no node ran on TensorRT; its provider was not used, or refused every node."
        yield Section("session-without-engine", "TensorRT not used", sentences=[text], is_warning=True)
    yield Section(
        "session", "ONNX Runtime session", sentences=list(_sentences(use, fallbacks)), tables=tables
    )


def _sentences(use: SessionUse, fallbacks: Sequence[NodeGroup]) -> Iterator[str]:
    profile = use.profile
    if profile.runs is None:
        yield f"No event of a run: times are sums over the file, {format_ms(use.node_ms)} ms."
    else:
        first = ", without the first" if profile.warmup_runs else ""
        run = "" if profile.run_ms is None else f", {format_ms(profile.run_ms)} ms each"
        yield f"{plural(profile.runs, 'run')}{first}{run}; {plural(len(profile.nodes), 'node')}, {format_ms(use.node_ms)} ms."
    if use.engines:
        pct = sum(group.time_pct or 0.0 for group in use.engines)
        yield f"TensorRT: {plural(len(use.engines), 'engine')}, {format_pct(pct)} % of the time of all nodes."
    outside = [group for group in use.providers if not group.provider.startswith("TensorRT")]
    if outside and use.engines:
        words = ", ".join(_describe(group) for group in outside)
        yield f"Fell back: {plural(len(use.fallbacks), 'subgraph')}; {words}."
        for group in fallbacks[:_MOST_SENTENCES]:
            share = "" if group.time_pct is None else f" ({format_pct(group.time_pct)} %)"
            yield (
                f"{printable(group.provider)}: {_operator_text(group.operators)} from {printable(group.first)}, "
                f"{format_ms(group.time_ms)} ms{share}."
            )
    if use.copies is not None:
        yield f"Copies between host and device: {use.copies.nodes}, {format_ms(use.copies.time_ms)} ms."
    yield "Times are those of the host: a kernel that CUDA runs later counts where the host waits for it."


def _describe(group: NodeGroup) -> str:
    share = "" if group.time_pct is None else f" ({format_pct(group.time_pct)} %)"
    return f"{printable(group.provider)} {plural(group.nodes, 'node')}, {format_ms(group.time_ms)} ms{share}"
