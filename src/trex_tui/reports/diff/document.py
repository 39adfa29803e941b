"""A comparison as JSON and as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trex_tui.analysis.compare.model import Block, Comparison, Difference, Match, Row, Verdict
from trex_tui.analysis.gates import GateResult
from trex_tui.analysis.latency import end_to_end
from trex_tui.reports.accuracy import accuracy_documents
from trex_tui.reports.csv_text import csv_text
from trex_tui.reports.diff.choice import Shown, layers_of
from trex_tui.reports.plain import plain

SCHEMA = "trex-tui/diff/1"
_MATCHES = {Match.SIGNATURE: "structure", Match.ORDER: "structure"}
"""Evidence in the five words of the schema; `evidence` has the exact one."""


def diff_document(shown: Shown) -> dict[str, Any]:
    """The object that `diff --json` prints.

    Over all blocks, each engine's `latency_ms` adds up to its `latency_sum_ms`; a filter leaves blocks out, and
    `blocks_total` says how many there are.
    """
    comparison = shown.comparison
    return {
        "schema": SCHEMA,
        "baseline": comparison.baseline,
        "align": comparison.align.value,
        "per_batch": comparison.per_batch,
        "engines": [_engine(comparison, place) for place in range(len(comparison.engines))],
        "cautions": [plain(caution) for caution in comparison.cautions],
        "verdict": _verdict(comparison.verdict),
        "verdicts": [_verdict(one) if one else None for one in comparison.verdicts],
        "differences": [_difference(one) if one else None for one in comparison.differences],
        "accuracy": accuracy_documents(comparison.engines),
        "ranking": {
            "by": comparison.ranked_by,
            "engines": list(comparison.ranking),
            "latency_ms": list(comparison.ranking_ms),
        },
        "by_kind": [_row(row) for row in comparison.by_kind],
        "by_precision": [_row(row) for row in comparison.by_precision],
        "by_module": [_row(row) for row in comparison.by_module],
        "filter": shown.filter_text or None,
        "blocks_total": len(comparison.blocks),
        "blocks": [
            _block(comparison, block) for block in sorted(shown.blocks, key=lambda block: block.index)
        ],
        "gates": [_gate(result) for result in shown.gates],
    }


def _engine(comparison: Comparison, place: int) -> dict[str, Any]:
    side, engine = comparison.sides[place], comparison.engines[place]
    latency = end_to_end(engine)
    return {
        "name": side.label,
        "files": {kind.value: str(path) for kind, path in engine.files.items()},
        "layers": side.layers,
        "matched_layers": side.matched_layers,
        "matched_pct": side.matched_pct,
        "latency_sum_ms": side.latency_sum_ms,
        "unprofiled_layers": side.unprofiled_layers,
        "latency_median_ms": latency.summary.median_ms if latency else None,
        "batch": side.batch,
        "per": side.per,
        "device": side.device,
        "tensorrt_version": side.tensorrt_version,
        "precision": engine.precision.value if engine.precision else None,
        "weights_bytes": engine.weights_bytes,
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    found: dict[str, Any] = plain(verdict)
    return found


def _difference(difference: Difference) -> dict[str, Any]:
    found: dict[str, Any] = plain(difference)
    return found


def _row(row: Row) -> dict[str, Any]:
    found: dict[str, Any] = plain(row)
    return found


def _block(comparison: Comparison, block: Block) -> dict[str, Any]:
    places = range(len(comparison.engines))
    return {
        "index": block.index,
        "layers": [[layer.name for layer in layers_of(comparison, block, place)] for place in places],
        "layer_indices": [list(indices) for indices in block.layers],
        "label": block.label,
        "kind": block.kind,
        "module": list(block.module),
        "match": _MATCHES.get(block.match, block.match.value),
        "evidence": block.match.value,
        "confidence": block.confidence,
        "why": block.why,
        "latency_ms": plain(block.latency_ms),
        "delta_ms": plain(block.delta_ms),
        "deltas_ms": plain(block.deltas_ms),
        "ratio": plain(block.ratio),
        "changed": [kind.value for kind in block.changed],
        "changes": [plain(change) for change in block.changes],
        "changed_by_engine": [[kind.value for kind in block.changed_in(place)] for place in places],
        "not_in": list(block.absent),
    }


def _gate(result: GateResult) -> dict[str, Any]:
    return {
        "gate": result.gate.text,
        "engine": result.index,
        "fell": result.fell,
        "value": result.value,
        "baseline": result.baseline,
        "compared": result.compared,
        "why": result.why,
    }


def diff_csv(shown: Shown) -> str:
    """A line per block, in the order of the baseline's execution, with a column of names and one of times per engine.

    Of more than two engines there is a column per engine of what changed in it, too, behind all that two have.
    """
    comparison = shown.comparison
    places = range(len(comparison.engines))
    heads = [f"{name}_{place}" for name in ("layers", "latency_ms", "delta_ms") for place in places]
    headings = ["block", "kind", "module", "evidence", "confidence", *heads, "changed", "label"]
    if len(places) > 2:
        headings += [f"changed_{place}" for place in places]
    ordered = sorted(shown.blocks, key=lambda block: block.index)
    return csv_text(headings, (_csv_row(comparison, block) for block in ordered))


def _csv_row(comparison: Comparison, block: Block) -> Iterator[object]:
    yield from (block.index, block.kind, "/".join(block.module), block.match.value, f"{block.confidence:.2f}")
    places = range(len(comparison.engines))
    for place in places:
        yield "; ".join(layer.name for layer in layers_of(comparison, block, place))
    yield from (*block.latency_ms, *block.deltas_ms)
    yield from (";".join(kind.value for kind in block.changed), block.label)
    if len(places) > 2:
        yield from (";".join(kind.value for kind in block.changed_in(place)) for place in places)
