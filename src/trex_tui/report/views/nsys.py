"""Where the time of an application goes: GPU busy, idle within an inference, between inferences."""

from __future__ import annotations

from trex_tui.analysis.nsys import FACTS, LAYERS, Application
from trex_tui.engine.model import Engine
from trex_tui.report.document import Document, Fact, Section, drop_empty_columns
from trex_tui.text import format_ms, format_pct, plural, printable


def nsys_document(application: Application, engine: Engine | None, top: int) -> Document:
    """Return the result of `nsys`.

    Args:
        top: Number of layers for people; 0 for all.
    """
    facts = [Fact(FACTS[key], value) for key, value in application.facts.items() if value is not None]
    layers = application.layers
    table = Section(
        "layers",
        "Layers",
        frame=layers.head(top or len(layers)),
        columns=list(LAYERS.values()),
        bar="gpu_ms",
        total=len(layers),
        noun="layer",
        audience="people",
    )
    sections = [
        Section("application", "Application", facts=facts, sentences=_judge(application), audience="people")
    ]
    if len(layers):
        sections.append(drop_empty_columns(table))
    data = {"trace": str(application.path), **application.facts, "layers": layers}
    notes = () if engine is None else engine.notes
    return Document("nsys", f"Inferences in {printable(application.path.name)}", sections, notes, data=data)


def _judge(application: Application) -> list[str]:
    """Name the largest part of the period that is not GPU work, with what shortens it."""
    facts = application.facts
    period, busy, idle = facts["period_ms"], facts["gpu_busy_ms"] or 0.0, facts["gpu_idle_ms"] or 0.0
    if not period:
        return [f"One inference: GPU busy {format_ms(busy)} ms, idle within {format_ms(idle)} ms."]
    between, enqueue = facts["between_ms"] or 0.0, facts["enqueue_ms"] or 0.0
    inferences = plural(int(facts["inferences"] or 0), "inference")
    sentences = [
        f"{inferences}, one each {format_ms(period)} ms: GPU busy {format_ms(busy)} ms "
        f"({format_pct(100 * busy / period)} %), idle within {format_ms(idle)} ms, between {format_ms(between)} ms."
    ]
    if busy >= 0.9 * period:
        sentences.append("The GPU is busy: a faster engine is what shortens the period.")
    elif idle > between:
        cause = (
            "the host enqueues slower than the GPU works: use a CUDA graph"
            if enqueue > busy
            else ("kernels wait for each other or for other work of the GPU")
        )
        sentences.append(f"Most time is lost within an inference: {cause}.")
    else:
        sentences.append(
            "Most time is lost between inferences, in the application: synchronization, copies, pre- and postprocessing; "
            "enqueue the next inference before the last has ended."
        )
    copies, others = facts["copies_ms"] or 0.0, facts["other_kernels_ms"] or 0.0
    if copies > 0.05 * period:
        sentences.append(
            f"Copies take {format_ms(copies)} ms per inference: use pinned memory and a stream of their own."
        )
    if others > 0.05 * period:
        sentences.append(f"Kernels of others take {format_ms(others)} ms per inference.")
    if (first := facts["first_ms"]) is not None and first > 3 * period:
        sentences.append(f"The first inference takes {format_ms(first)} ms: run one before the measurement.")
    if (trtexec := facts["trtexec_compute_ms"]) is not None:
        sentences.append(f"trtexec: {format_ms(trtexec)} ms GPU compute; here {format_ms(busy + idle)} ms.")
    return sentences
