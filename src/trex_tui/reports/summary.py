"""What an engine is and where its time goes, for scripts and for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from trex_tui.analysis.conditions import capture_document, capture_facts, doubts
from trex_tui.analysis.latency import PERCENTILES, end_to_end
from trex_tui.analysis.totals import Total, total_by_kind, total_by_precision
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Binding
from trex_tui.errors import Diagnostic
from trex_tui.reports.numbers import number_facts, numbers
from trex_tui.reports.plain import diagnostic_object
from trex_tui.text import format_bytes, format_count, format_ms, format_pct, format_shape, plural, printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

SCHEMA = "trex-tui/summary/1"


def summary_document(engines: Iterable[Engine], diagnostics: Iterable[Diagnostic] = ()) -> dict[str, Any]:
    """The object that `summary --json` prints. Absent facts are None.

    Args:
        engines: In the order they were found.
        diagnostics: Those that belong to no engine.
    """
    return {
        "schema": SCHEMA,
        "engines": [engine_summary(engine) for engine in engines],
        "diagnostics": [diagnostic_object(one) for one in diagnostics],
    }


def engine_summary(engine: Engine) -> dict[str, Any]:
    """One element of `engines`."""
    latency = end_to_end(engine)
    return {
        "name": engine.name,
        "files": {kind.value: str(path) for kind, path in engine.files.items()},
        "tensorrt_version": engine.tensorrt_version,
        "device": engine.device_name,
        "precision": engine.precision.value if engine.precision else None,
        "builder_precision": engine.metadata.builder_precision,
        "layers": len(engine.layers) if engine.has_graph or engine.has_profile else None,
        "names_only": engine.names_only,
        "optimization_profile": engine.optimization_profile,
        "optimization_profiles": engine.optimization_profiles,
        "bindings": {
            "inputs": [_binding(one) for one in engine.bindings if one.is_input],
            "outputs": [_binding(one) for one in engine.bindings if one.is_input is False],
            "undetermined": [_binding(one) for one in engine.bindings if one.is_input is None],
        },
        "by_kind": _totals(total_by_kind(engine)),
        "by_precision": _totals(total_by_precision(engine)),
        "latency_sum_ms": engine.latency_sum_ms,
        "profile_iterations": engine.profile_iterations,
        "throughput_qps": latency.throughput_qps if latency else None,
        "latency": _latency(engine),
        "weights_bytes": engine.weights_bytes,
        "known_weights_bytes": engine.known_weights_bytes,
        "layers_hiding_weights": engine.layers_hiding_weights,
        **numbers(engine),
        "capture": capture_document(engine),
        "diagnostics": [diagnostic_object(one) for one in engine.diagnostics],
    }


def _totals(totals: Sequence[Total]) -> dict[str, dict[str, float | int | None]]:
    return {
        total.key: {
            "layers": total.layers,
            "latency_ms": total.latency_ms,
            "latency_pct": total.latency_pct,
        }
        for total in totals
    }


def _binding(binding: Binding) -> dict[str, Any]:
    return {
        "name": binding.name,
        "shape": list(binding.shape) if binding.shape is not None else None,
        "dtype": binding.dtype.value if binding.dtype else None,
        "format": binding.format.text or None if binding.format else None,
    }


def _latency(engine: Engine) -> dict[str, Any] | None:
    latency = end_to_end(engine)
    if latency is None:
        return None
    summary = latency.summary
    percentiles = dict.fromkeys(PERCENTILES) | summary.percentiles_ms
    return {
        "min_ms": summary.min_ms,
        "mean_ms": summary.mean_ms,
        "median_ms": summary.median_ms,
        "max_ms": summary.max_ms,
        **{f"p{percentile:g}_ms": value for percentile, value in sorted(percentiles.items())},
        "source": latency.source,
        "queries": latency.queries,
        "warmup_queries": latency.warmup_queries,
    }


def facts(engine: Engine) -> list[tuple[str, str]]:
    """Label and value of everything worth a line about an engine; absent facts are words, not zeros."""
    latency = end_to_end(engine)
    lines = [
        ("Device", printable(engine.device_name or "not stated")),
        ("TensorRT", engine.tensorrt_version or "not stated (no log and no plan in the set)"),
        ("Precision", _precision_words(engine)),
        ("Layers", _layer_words(engine)),
        ("Inputs", _binding_words([one for one in engine.bindings if one.is_input])),
        ("Outputs", _binding_words([one for one in engine.bindings if one.is_input is False])),
        ("Weights", _weights_words(engine)),
    ]
    if latency is None:
        lines.append(("Latency", "unknown: neither a performance summary nor timing rows in the set"))
    else:
        summary = latency.summary
        parts = [
            f"{label} {format_ms(value)}"
            for label, value in (
                ("min", summary.min_ms),
                ("mean", summary.mean_ms),
                ("median", summary.median_ms),
                ("max", summary.max_ms),
                *((f"p{percentile:g}", value) for percentile, value in summary.percentiles_ms.items()),
            )
            if value is not None
        ]
        lines.append(("Latency ms", "  ".join(parts)))
        if latency.throughput_qps is not None:
            lines.append(("Throughput", f"{latency.throughput_qps:.2f} qps"))
        lines.append(("  source", latency.source))
    lines.append(("Layer times", _profile_words(engine)))
    return [*lines, *((label, printable(text)) for label, text in capture_facts(engine))]


def doubt_sentences(engine: Engine) -> list[str]:
    """What the manifest of the capture says against the numbers, for people."""
    texts = [printable(one.text) for one in doubts(engine)]
    return [f"{text[:1].upper()}{text[1:]}." for text in texts]


def _precision_words(engine: Engine) -> str:
    main = engine.precision.value if engine.precision else "unknown"
    allowed = engine.metadata.builder_precision
    return f"{main} (builder was allowed {printable(allowed)})" if allowed else main


def _layer_words(engine: Engine) -> str:
    if not engine.has_graph and not engine.has_profile:
        return "unknown: neither layer information nor a profile in the set"
    idle = sum(not layer.kind.is_work for layer in engine.layers)
    words = f"{len(engine.layers)}" + (
        f", of which {idle} {'does' if idle == 1 else 'do'} no work (NoOp, constant, sync, shape)"
        if idle
        else ""
    )
    if engine.names_only:
        words += "; names only"
    if engine.optimization_profiles > 1:
        words += f"; optimization profile {engine.optimization_profile} of {engine.optimization_profiles}"
    return words


def _binding_words(bindings: Sequence[Binding], most: int = 6) -> str:
    words = []
    for one in bindings[:most]:
        shape = f" {format_shape(one.shape)}" if one.shape is not None else ""
        words.append(printable(one.name) + shape + (f" {one.dtype.value}" if one.dtype else ""))
    more = f", and {len(bindings) - most} more" if len(bindings) > most else ""
    return ", ".join(words) + more if words else "unknown"


def _weights_words(engine: Engine) -> str:
    if engine.weights_bytes is not None:
        return format_bytes(engine.weights_bytes)
    if engine.known_weights_bytes is None:
        return "unknown"
    hidden = plural(engine.layers_hiding_weights, "layer hides its", "layers hide theirs")
    return f"at least {format_bytes(engine.known_weights_bytes)}; {hidden}"


def _profile_words(engine: Engine) -> str:
    if engine.latency_sum_ms is None:
        why = "the profile could not be read" if engine.profile_unread else "no profile in the set"
        why = "the profile has no time for any layer" if engine.has_profile else why
        return f"unknown: {why}"
    words = f"sum {format_ms(engine.latency_sum_ms)} ms"
    if engine.profile_iterations is not None:
        words += f" over {plural(engine.profile_iterations, 'iteration')}"
        if engine.profile_iterations == 1:
            words += " (one iteration: the times are hardly more than a hint)"
    return words


def print_summary(engine: Engine, console: Console) -> None:
    """The summary of one engine for a person."""
    from rich.text import Text

    console.print(Text(printable(engine.name), style="bold"))
    console.print(_facts_grid(facts(engine)))
    for title, totals in (("Kind", total_by_kind(engine)), ("Precision", total_by_precision(engine))):
        if totals:
            console.print()
            console.print(_totals_table(title, totals, "█" if console.encoding.startswith("utf") else "#"))
    console.print()
    console.print(_facts_grid(number_facts(engine)))
    for sentence in doubt_sentences(engine):
        console.print(Text(f"caution: {sentence}", style="yellow"))
    for diagnostic in engine.diagnostics:
        console.print(Text(f"{diagnostic.severity.value}: {printable(str(diagnostic))}", style="yellow"))
    console.print()


def _facts_grid(lines: Sequence[tuple[str, str]]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for label, value in lines:
        grid.add_row(Text(label), Text(value))
    return grid


def _totals_table(title: str, totals: Sequence[Total], mark: str) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2), header_style="bold")
    table.add_column(title)
    for heading in ("Layers", "ms", "%"):
        table.add_column(heading, justify="right")
    table.add_column("")
    top = max((total.latency_pct or 0.0 for total in totals), default=0.0)
    for total in totals:
        bar = mark * round(24 * (total.latency_pct or 0.0) / top) if top else ""
        cells = (format_count(total.layers), format_ms(total.latency_ms), format_pct(total.latency_pct))
        table.add_row(Text(total.key), *cells, Text(bar, style="cyan"))
    return table
