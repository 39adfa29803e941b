"""The view of a model that Torch-TensorRT split into several engines: their times together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trex_tui.old.fleet.split_model import SplitModel
from trex_tui.old.report.document import Cell, Column, Section, make_table
from trex_tui.old.report.render_json import row_objects
from trex_tui.old.text import format_ms, plural, printable

PART_COLUMNS = (
    Column(
        "number",
        "part",
        value=lambda part: part.number,
        is_number=True,
        format=str,
        help="Number of the part.",
    ),
    Column(
        "engine",
        "engine",
        value=lambda part: Cell(part.engine.name, printable(part.engine.name)),
        flex=True,
        width=16,
        help="Name of the engine.",
    ),
    Column(
        "layers",
        "layers",
        value=lambda part: len(part.engine.layers),
        is_number=True,
        format=str,
        help="Layers of the engine.",
    ),
    Column(
        "latency_sum_ms",
        "Σ layers ms",
        value=lambda part: part.latency_sum_ms,
        is_number=True,
        help="Sum of the times of its layers; missing without a profile.",
    ),
    Column(
        "latency_pct",
        "%",
        value=lambda part: part.latency_pct,
        is_number=True,
        has_bar=True,
        help="Share in the sum over all engines of the model.",
    ),
    Column(
        "weights_bytes",
        "weights",
        value=lambda part: part.engine.weights_bytes,
        is_number=True,
        priority=2,
        help="Weights of the engine; missing if a layer hides its own.",
    ),
)
HOT_COLUMNS = (
    Column(
        "name",
        "layer",
        value=lambda hot: Cell(hot[1].name, printable(hot[1].name)),
        flex=True,
        width=24,
        help="Name of the layer.",
    ),
    Column(
        "number",
        "part",
        value=lambda hot: hot[0].number,
        is_number=True,
        format=str,
        help="Number of its part.",
    ),
    Column(
        "latency_ms",
        "ms",
        value=lambda hot: hot[1].latency_ms,
        is_number=True,
        has_bar=True,
        help="Time of the layer per iteration.",
    ),
)


def split_model_section(model: SplitModel, top: int | None = 5) -> Section:
    """Return the engines of a model with their times, and the hottest layers over all of them.

    Args:
        top: Maximum number of hottest layers; None for all.
    """
    sentences = [
        f"{plural(len(model.parts), 'engine')} of one model, {plural(model.layers, 'layer')}, "
        f"Σ layers {format_ms(model.latency_sum_ms)} ms."
    ]
    if model.without_times:
        sentences.append(f"{plural(model.without_times, 'engine')} without times, not in the sum.")
    if missing := model.describe_missing():
        sentences.append(missing)
    hot = model.hottest(model.layers if top is None else top)
    tables = [make_table("parts", PART_COLUMNS, model.parts, title="Engines", noun="engine")]
    if hot:
        tables.append(
            make_table("hottest", HOT_COLUMNS, hot, title="Hottest layers of the model", noun="layer")
        )
    return Section("split_model", f"Model {printable(model.name)}", sentences=sentences, tables=tables)


def split_model_documents(models: Iterable[SplitModel]) -> list[dict[str, Any]]:
    """Return the models for `summary --json`."""
    return [
        {
            "name": model.name,
            "latency_sum_ms": model.latency_sum_ms,
            "layers": model.layers,
            "engines_without_times": model.without_times,
            "missing_parts": list(model.missing),
            "parts": row_objects(make_table("parts", PART_COLUMNS, model.parts)),
        }
        for model in models
    ]
