"""What the DLA can run of a model: subgraphs, reasons for fallbacks, and what each costs."""

from __future__ import annotations

from trex_tui.analysis.dla_plan import MOST_SUBGRAPHS, NODES, REASONS, DlaPlan
from trex_tui.report.document import Document, Section, drop_empty_columns
from trex_tui.text import format_bytes, format_pct, plural, printable


def dla_plan_document(plan: DlaPlan) -> Document:
    """Return the result of `dla`."""
    reasons = Section(
        "reasons",
        "Fallbacks to the GPU",
        frame=plan.reasons,
        columns=list(REASONS.values()),
        noun="reason",
        audience="people",
    )
    sections = [Section("verdict", sentences=_describe(plan), audience="people")]
    if len(plan.reasons):
        sections.append(drop_empty_columns(reasons))
    data = {
        "model": str(plan.path),
        "subgraphs": plan.subgraphs,
        "crossings": plan.crossings,
        "crossings_bytes": plan.crossings_bytes,
        "dla_macs_pct": plan.dla_macs_pct,
        "reasons": plan.reasons,
        "nodes": plan.nodes[list(NODES)],
        "doubts": plan.doubts,
    }
    return Document("dla", f"DLA and {printable(plan.path.name)}", sections, data=data)


def _describe(plan: DlaPlan) -> list[str]:
    total = len(plan.nodes)
    on_dla = int((plan.nodes["device"] == "DLA").sum())
    share = (
        ""
        if plan.dla_macs_pct is None
        else f" with {format_pct(plan.dla_macs_pct)} % of the multiply-accumulates"
    )
    sentences = [
        f"{on_dla} of {plural(total, 'node')}{share} can run on the DLA, in {plural(plan.subgraphs, 'subgraph')}."
    ]
    if plan.subgraphs > MOST_SUBGRAPHS:
        sentences.append(
            f"A DLA core holds {MOST_SUBGRAPHS} subgraphs: the rest runs on the GPU, whatever its operators are."
        )
    if plan.crossings:
        size = "" if plan.crossings_bytes is None else f", {format_bytes(plan.crossings_bytes)} in FP16"
        sentences.append(
            f"{plural(plan.crossings, 'tensor')} cross between DLA and GPU{size}; each is copied and reformatted."
        )
    if len(plan.reasons):
        first = plan.reasons.iloc[0]
        if int(first["subgraphs_without"]) < plan.subgraphs:
            sentences.append(
                f"Largest cause: {printable(first['reason'])} ({plural(int(first['nodes']), 'node')}); without it "
                f"{plural(int(first['subgraphs_without']), 'subgraph')}."
            )
    sentences.append("From the documented limits of the DLA in FP16; the builder has the last word.")
    return sentences + [f"{doubt[:1].upper()}{doubt[1:]}." for doubt in map(printable, plan.doubts)]
