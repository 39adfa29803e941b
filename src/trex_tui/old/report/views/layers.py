"""The times of layers: hot layers, kinds, precisions, modules, the roofline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from trex_tui.old.analysis.columns import columns_named, derived
from trex_tui.old.analysis.dla import total_by_device
from trex_tui.old.analysis.modules import by_module, describe_fusion
from trex_tui.old.analysis.structure import hottest, total_by_kind, total_by_precision
from trex_tui.old.engine.engine import Engine
from trex_tui.old.report.absence import no_profile
from trex_tui.old.report.colours import kind_class
from trex_tui.old.report.document import (
    ChartReference,
    Column,
    Section,
    Table,
    make_table,
)
from trex_tui.old.report.views.layer_table import BRIEF_COLUMNS, layer_column
from trex_tui.old.report.views.totals import bound_table, by_tensor_cores, totals_table
from trex_tui.old.text import (
    as_sentence,
    join_words,
    plural,
)

if TYPE_CHECKING:
    from trex_tui.old.report.views.engine import EngineSubject

FURTHER = "layers-with-findings"
"""Id of a section that findings link to."""
NO_MODULE = "(no module)"
"""Name of the group of layers that belong to no module."""
_HOT_COLUMNS = (*BRIEF_COLUMNS[:-1], "cumulative_pct", "roof_pct", "bound", "tactic")


def hot_sections(subject: EngineSubject) -> Iterator[Section]:
    """Yield the slowest layers."""
    engine = subject.engine
    timed = sum(layer.latency_ms is not None for layer in engine.layers)
    if not timed:
        yield Section("hot-layers", "Hot layers", sentences=[no_profile(engine)])
        yield from _finding_section(subject, ())
        return
    lacking = len(engine.layers) - timed
    table = hot_table(engine, _HOT_COLUMNS, timed, subject.top)
    yield Section(
        "hot-layers",
        "Hot layers",
        sentences=[f"{plural(lacking, 'layer has', 'layers have')} no time in the profile."]
        if lacking
        else [],
        charts=[ChartReference("layers", engine), ChartReference("pareto", engine, is_printed=False)],
        tables=[table],
    )
    yield from _finding_section(subject, table.layers)


def _finding_section(subject: EngineSubject, shown: Sequence[int]) -> Iterator[Section]:
    """Yield the layers with findings that no other table shows: those that findings link to, then the slowest.

    Args:
        shown: Indices of the layers in the other table.
    """
    from trex_tui.old.report.views.lint import MOST_NAMES  # the list of layers needs no lint

    engine, result = subject.engine, subject.lint.result
    indices = result.by_layer.keys() - set(shown)
    if not indices:
        return
    linked = {index for judged in result.findings for index in judged.layers[:MOST_NAMES]} & indices
    others = [engine.layers[index] for index in sorted(indices - linked)]
    room = max(0, (subject.top or len(indices)) - len(linked))
    layers = [*(engine.layers[index] for index in sorted(linked)), *hottest(others, room)]
    columns = [layer_column(engine, column, column.title) for column in columns_named(BRIEF_COLUMNS[:-1])]
    styles = [kind_class(layer.kind) for layer in layers]
    table = make_table(FURTHER, columns, layers, total=len(indices), noun="layer", styles=styles)
    yield Section(
        FURTHER,
        "Further layers with findings",
        tables=[replace(table, layers=[layer.index for layer in layers])],
        is_printed=False,
    )


def hot_table(engine: Engine, columns: Sequence[str], timed: int, top: int | None) -> Table:
    """Return the slowest layers.

    Args:
        columns: Names of the columns.
        timed: Layers with a time.
        top: Maximum number of rows; None for all.
    """
    layers = hottest(engine.layers, timed if top is None else top)
    shown = [layer_column(engine, column, column.title) for column in columns_named(columns)]
    styles = [kind_class(layer.kind) for layer in layers]
    table = make_table("hot_layers", shown, layers, total=timed, noun="layer", styles=styles)
    return replace(table, layers=[layer.index for layer in layers])


def brief_hot_section(engine: Engine, top: int | None) -> Section | None:
    """Return the slowest layers, in columns that fit a terminal; None without a time."""
    timed = sum(layer.latency_ms is not None for layer in engine.layers)
    if not timed:
        return None
    table = hot_table(engine, BRIEF_COLUMNS, timed, top)
    columns = [replace(column, has_bar=column.key == "latency_pct") for column in table.columns]
    return Section("hot-layers", "Hottest layers", tables=[replace(table, columns=columns)])


def group_section(engine: Engine) -> Section:
    """Return time by kind, by precision, and of layers that multiply by tensor cores."""
    kinds, precisions = total_by_kind(engine), total_by_precision(engine)
    tables = [
        totals_table("by_kind", "Kind", kinds, styles=[f"kind-{total.key}" for total in kinds]),
        totals_table(
            "by_precision",
            "Precision",
            precisions,
            styles=[f"precision-{total.key}" for total in precisions],
        ),
    ]
    if devices := total_by_device(engine):
        tables.append(totals_table("by_device", "Device", devices))
    if cores := by_tensor_cores(engine):
        tables.append(totals_table("by_tensor_cores", "Tensor cores", cores))
    sentences = [] if engine.has_profile else [no_profile(engine)]
    sentences += _mixed_sentences(engine)
    title = f"{'Time' if engine.has_profile else 'Layers'} by kind and precision"
    return Section("groups", title, sentences=sentences, tables=tables)


def _mixed_sentences(engine: Engine) -> Iterator[str]:
    """Yield layers whose precision is unknown because their inputs have several types."""
    mixed = Counter(layer.mixed_input_types for layer in engine.layers)
    del mixed[()]
    for types, count in mixed.most_common():
        yield f"Precision unknown of {plural(count, 'opaque layer')} with inputs {join_words(types)}."


def group_sections(subject: EngineSubject) -> Iterator[Section]:
    """Yield time by kind, by precision and by tensor cores; then by module."""
    engine = subject.engine
    yield group_section(engine)
    if engine.has_profile:
        fused = describe_fusion(engine.layers)
        yield Section(
            "modules",
            "Time by kernel and module",
            sentences=[fused] if fused else [],
            charts=[ChartReference(name, engine, is_printed=False) for name in ("tactic", "icicle")],
            tables=[
                make_table("by_module", _MODULE_COLUMNS, by_module(engine), top=subject.top, noun="module")
            ],
        )


_MODULE_COLUMNS = (
    Column("module", "Module", value=lambda module: module.name or NO_MODULE),
    Column(
        "layers",
        "Layers",
        value=lambda module: module.layers,
        is_number=True,
        help="Each layer counts for the module of its first ONNX node.",
    ),
    Column("latency_ms", "ms", value=lambda module: module.latency_ms, is_number=True, has_bar=True),
)


def bound_section(engine: Engine) -> Section:
    """Return time by bound."""
    bounds = bound_table(engine, engine.layers, "Layer bounds")
    sentences = [as_sentence(line) for line in derived(engine).roofline.sentences]
    return Section("roofline", "Roofline", sentences=sentences, tables=[bounds])


def roofline_sections(subject: EngineSubject) -> Iterator[Section]:
    """Yield layers relative to the device peaks."""
    engine, roofline = subject.engine, derived(subject.engine).roofline
    points = [point for point in roofline.points.values() if point.roof_ms is not None]
    is_drawn = any(point.roof_pct is not None for point in points)
    yield replace(
        bound_section(engine),
        facts=[("Assumed", " ".join(map(as_sentence, roofline.assumptions)))]
        if points and roofline.assumptions
        else [],
        charts=[ChartReference("roofline", engine), ChartReference("efficiency", engine, is_printed=False)]
        if is_drawn
        else [],
    )
