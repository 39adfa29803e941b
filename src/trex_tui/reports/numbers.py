"""The numbers of an engine beyond its totals: memory, compute, roofline, timing, gap, structure. As data and as sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from trex_tui.analysis.columns import derived
from trex_tui.analysis.gap import gap
from trex_tui.analysis.memory import activation_memory, traffic_bytes
from trex_tui.analysis.rollup import by_module, fused_words
from trex_tui.analysis.structure import (
    by_stream,
    critical_path,
    device_transitions,
    reformat_latency_ms,
    reformats,
    stream_words,
)
from trex_tui.analysis.timing import enqueue_against_compute, timing_statistics
from trex_tui.analysis.totals import Total, total_by
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.engine.tactics import parse_tactic
from trex_tui.reports.plain import plain
from trex_tui.text import format_bytes, format_count, format_ms, format_pct, plural, printable

MOST_TENSORS = 10
MOST_REFORMATS = 10


def numbers(engine: Engine) -> dict[str, Any]:
    """What `summary --json` has beside the totals; every key is always there, null where nothing is known."""
    facts = derived(engine)
    statistics = timing_statistics(engine)
    return {
        "memory": _memory(engine),
        "compute": _compute(engine),
        "device_model": plain(facts.roofline.device),
        "roofline": {
            "floor_ms": facts.roofline.floor_ms,
            "layers_by_bound": plain(facts.roofline.counts),
            "latency_ms_by_bound": plain(facts.roofline.latency_ms_by_bound),
            "notes": plain(facts.roofline.sentences),
            "assumptions": plain(facts.roofline.assumptions),
        },
        "timing": plain(statistics),
        "enqueue": plain(enqueue_against_compute(engine, statistics)),
        "gap": plain(gap(engine, statistics)),
        "structure": _structure(engine),
    }


def _memory(engine: Engine) -> dict[str, Any]:
    memory = activation_memory(engine)
    peak = engine.layers[memory.peak_index] if memory.peak_index is not None else None
    return {
        "traffic_bytes": traffic_bytes(engine),
        "peak_live_activation_bytes": memory.peak_bytes,
        "peak_layer": plain(peak),
        "live_at_peak": plain(memory.live_at_peak[:MOST_TENSORS]),
        "live_at_peak_count": len(memory.live_at_peak),
        "tensors_of_unknown_size": memory.unknown,
    }


def _compute(engine: Engine) -> dict[str, Any]:
    computes = derived(engine).compute
    known = [one.macs for one in computes if one.macs is not None]
    return {
        "macs": sum(known) if known else None,
        "layers_with_macs": len(known),
        "layers_without_macs": dict(Counter(one.reason for one in computes if one.reason)),
        "by_tensor_cores": {one.key: plain(one) for one in by_tensor_cores(engine)},
    }


def by_tensor_cores(engine: Engine, layers: Sequence[Layer] | None = None) -> list[Total]:
    """Time of the layers that multiply, by whether their kernels run on tensor cores: `yes`, `no`, `unknown`.

    Args:
        layers: Some of the engine's layers; by default all.
    """
    computes = derived(engine).compute
    multiplying = [
        layer
        for layer in (engine.layers if layers is None else layers)
        if computes[layer.index].macs or computes[layer.index].reason
    ]

    def answer(tactic_name: str | None) -> str | None:
        tactic = parse_tactic(tactic_name)
        return (
            None if tactic is None or tactic.tensor_cores is None else "yes" if tactic.tensor_cores else "no"
        )

    return total_by(engine, lambda layer: answer(layer.tactic), multiplying)


def by_bound(engine: Engine, layers: Sequence[Layer]) -> list[Total]:
    """Time of the layers that compute or move data, by what it is bound by."""
    points = derived(engine).roofline.points

    def bound(layer: Layer) -> str | None:
        found = points[layer.index].bound
        return found.value if found else None

    return total_by(engine, bound, (layer for layer in layers if layer.index in points))


def _structure(engine: Engine) -> dict[str, Any]:
    path, changes = critical_path(engine), reformats(engine)
    return {
        "critical_path": None
        if path is None
        else {
            "latency_ms": path.latency_ms,
            "latency_pct": path.latency_pct,
            "layers": [layer.index for layer in path.layers],
        },
        "streams": plain(by_stream(engine)),
        "streams_note": stream_words(engine),
        "device_transitions": plain(device_transitions(engine)),
        "reformats": {
            "layers": len(changes),
            "latency_ms": reformat_latency_ms(engine),
            "slowest": plain(changes[:MOST_REFORMATS]),
        },
        "by_module": plain(by_module(engine)),
        "by_module_note": fused_words(engine.layers),
    }


def number_facts(engine: Engine) -> list[tuple[str, str]]:
    """The same for a person: a label and a sentence each."""
    facts = derived(engine)
    lines = [
        ("Compute", _compute_words(engine)),
        ("Activations", _memory_words(engine)),
        ("Streams", stream_words(engine)),
    ]
    path = critical_path(engine)
    if path is not None:
        words = f"{format_ms(path.latency_ms)} ms, {format_pct(path.latency_pct)} % of all layers"
        lines.append(("Critical path", f"{words}, over {plural(len(path.layers), 'layer')}"))
    changes = reformats(engine)
    if changes:
        latency_ms = reformat_latency_ms(engine)
        words = "time unknown" if latency_ms is None else f"{format_ms(latency_ms)} ms"
        lines.append(("Reformats", f"{plural(len(changes), 'layer')}, {words}"))
    times = facts.roofline.latency_ms_by_bound
    bounds = [
        f"{bound.value if bound else 'unknown'} {count}"
        + ("" if times[bound] is None else f" ({format_ms(times[bound])} ms)")
        for bound, count in facts.roofline.counts.items()
        if count
    ]
    lines.append(("Bound by", ", ".join(bounds) or "unknown"))
    lines += [("", printable(one)) for one in facts.roofline.sentences[:2]]
    statistics = timing_statistics(engine)
    if statistics is not None and statistics.stability is not None:
        stability = statistics.stability
        lines.append(("Timing", f"{stability.verdict.value}: {' '.join(stability.sentences)}"))
    found = gap(engine, statistics)
    if found is not None:
        lines += [("Gap" if not number else "", one) for number, one in enumerate(found.sentences)]
    return lines


def _compute_words(engine: Engine) -> str:
    compute = _compute(engine)
    if compute["macs"] is None:
        reasons = compute["layers_without_macs"]
        return f"unknown: {next(iter(reasons))}" if reasons else "no convolution, GEMM or attention"
    words = f"{format_count(compute['macs'])}MAC in {plural(compute['layers_with_macs'], 'layer')}"
    missing = sum(compute["layers_without_macs"].values())
    words += f", not known of {missing}" if missing else ""
    on = [
        f"{total.key} {format_pct(total.latency_pct)} %"
        for total in by_tensor_cores(engine)
        if total.latency_pct
    ]
    return words + (f"; on tensor cores: {', '.join(on)} of the time" if on else "")


def _memory_words(engine: Engine) -> str:
    memory = activation_memory(engine)
    if memory.peak_bytes is None or memory.peak_index is None:
        return "unknown"
    at_least = "at least " if memory.unknown else ""
    words = f"{at_least}{format_bytes(memory.peak_bytes)} live at once, at layer {memory.peak_index}; "
    traffic = traffic_bytes(engine)
    if traffic is None:
        return words + "traffic unknown: the size of a tensor or of weights is not told"
    return words + f"traffic {format_bytes(traffic)} per inference, weights included"
