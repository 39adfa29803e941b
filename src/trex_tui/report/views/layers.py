"""The layers: the list, totals by their columns, the slowest ones, the roofline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pandas as pd

from trex_tui.analysis.device import find_device
from trex_tui.analysis.roofline import (
    ASSUMPTIONS,
    FLOOR_LAYERS,
    launch_floor_ms,
    roofline,
    roofline_gaps,
    roofline_totals,
)
from trex_tui.analysis.structure import TOTALS, compute_totals, slowest
from trex_tui.column import Column, columns_of
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Engine
from trex_tui.engine.names import first_nodes, short_names, short_tactics, split_name
from trex_tui.errors import TrexError
from trex_tui.frames import FLOAT, text_array, total
from trex_tui.report.absence import no_layers, no_profile
from trex_tui.report.charts import Choice, make_chart
from trex_tui.report.document import Document, Section, drop_empty_columns
from trex_tui.report.selection import named_columns
from trex_tui.text import as_sentence, format_ms, format_pct, join_words, plural

BRIEF = ("index", "name", "kind", "precision", "latency_ms", "latency_pct", "tactic")
"""Columns that fit a terminal."""
_WIDTHS = {"name": 24, "kind": 16, "precision": 8, "tactic": 24}
"""Cells of a text before columns are left out."""
_MOST_REASONS = 5
_PRECISIONS = frozenset(dtype.value for dtype in DataType if dtype.is_float or dtype.is_quantized)


def list_layers(
    engine: Engine,
    index: pd.Index,
    columns: Sequence[Column] | None = None,
) -> Document:
    """Return layers in an order.

    Args:
        columns: Those of the table; None for all, of which people see the main ones.
    """
    known = named_columns(engine, ["all"]) if columns is None else list(columns)
    shown = columns or [engine.columns[key] for key in BRIEF]
    frame = engine.frame(*(column.key for column in known)).loc[index]
    section = _layer_section(engine, "layers", "", frame, shown)
    section = drop_empty_columns(section) if columns is None else section
    totals = Section("totals", sentences=[describe_total(engine, index)], audience="people")
    return Document("layers", engine.name, [section, totals], engine.notes, data={"engine": engine.name})


def chart_layers(engine: Engine, name: str, choice: Choice) -> Document:
    """Return a chart of some layers; programs get its numbers."""
    chart = make_chart(engine, name, choice)
    section = Section("", chart=chart, data={"chart": name, "note": chart.note, "rows": chart.frame})
    return Document("chart", engine.name, [section], engine.notes, data={"engine": engine.name})


def _layer_section(
    engine: Engine, key: str, title: str, frame: pd.DataFrame, columns: Sequence[Column], *, bar: str = ""
) -> Section:
    shown = [replace(column, width=_WIDTHS.get(column.key, column.width)) for column in columns]
    return Section(key, title, frame=frame, columns=shown, bar=bar, noun="layer", shorten=_shorteners(engine))


def _shorteners(engine: Engine) -> dict[str, Callable[[str, int], str]]:
    """Return functions that shorten names so that different ones stay different."""
    return {"name": short_names(engine).fit, "tactic": short_tactics(engine).fit}


def describe_total(engine: Engine, index: pd.Index) -> str:
    """Return count, time and share of some layers: `3 of 14 layers · 0.3799 ms · 72.47 % of all`."""
    if not len(index):
        return no_layers(engine)
    whole = plural(len(engine), "layer")
    counted = whole if len(index) == len(engine) else f"{len(index)} of {whole}"
    if not engine.has_profile:
        return f"{counted} · {no_profile(engine)}"
    times = engine.layers["latency_ms"][index]
    time, all_ms = total(times), engine.latency_total_ms
    if time is None or not all_ms:
        return f"{counted}, none profiled"
    unknown = int(times.isna().sum())
    counted += f" ({unknown} without a time)" if unknown else ""
    return f"{counted} · {format_ms(time)} ms · {format_pct(100.0 * time / all_ms)} % of all"


# Totals


def totals_section(
    engine: Engine, keys: Sequence[str], title: str, rows: pd.Series | None = None, *, key: str = "groups"
) -> Section:
    """Return the layers and their time by the values of columns."""
    table = compute_totals(engine, *keys, rows=rows).drop(columns="weights_bytes")
    columns = columns_of(table, {**engine.columns, **TOTALS}, [*keys, "layers", "latency_ms", "latency_pct"])
    if table["unmeasured"].eq(0).all() or not engine.has_profile:
        table = table.drop(columns="unmeasured")
    elif engine.has_profile:
        columns = (*columns, TOTALS["unmeasured"])
    if not engine.has_profile:
        columns = tuple(column for column in columns if not column.key.startswith("latency"))
    bar = "latency_ms" if engine.has_profile else ""
    return Section(key, title, frame=table, columns=columns, bar=bar, noun="group")


def group_sections(engine: Engine) -> Iterator[Section]:
    """Yield totals by kind, precision, device, and of the layers that multiply by tensor cores."""
    what = "Time" if engine.has_profile else "Layers"
    sentences = [] if engine.has_profile else [no_profile(engine)]
    yield replace(totals_section(engine, ["kind"], f"{what} by kind", key="by_kind"), sentences=sentences)
    by_precision = totals_section(engine, ["precision"], f"{what} by precision", key="by_precision")
    yield replace(by_precision, sentences=list(_describe_mixed(engine)))
    if engine.layers["device"].nunique() > 1:
        yield totals_section(engine, ["device"], f"{what} by device", key="by_device")
    multiplies = engine.layers["kind"].isin([kind.value for kind in LayerKind if kind.multiplies])
    if multiplies.any():
        title = f"{what} on tensor cores"
        yield totals_section(engine, ["tensor_cores"], title, multiplies, key="by_tensor_cores")


def _describe_mixed(engine: Engine) -> Iterator[str]:
    """Yield layers whose precision is unknown because their inputs have several types."""
    unknown = engine.layers.index[engine.layers["precision"].isna()]
    reads = engine.tensors[engine.tensors["role"].eq("input") & engine.tensors["layer"].isin(unknown)]
    mixed: Counter[tuple[str, ...]] = Counter()
    for _, names in reads.groupby("layer", sort=False)["dtype"]:
        types = [name for name in dict.fromkeys(names.dropna()) if name in _PRECISIONS]
        mixed[tuple(types)] += len(types) > 1
    for found, count in mixed.most_common():
        if count:
            yield f"Precision unknown of {plural(count, 'opaque layer')} with inputs {join_words(found)}."


def module_section(engine: Engine) -> Section:
    """Return the time by module of the model: each layer counts for the module of its first ONNX node."""
    modules = [(split_name(node)[0] or ("",))[0] for node in first_nodes(engine)]
    frame = pd.DataFrame({"module": text_array(modules), "latency_ms": engine.layers["latency_ms"].array})
    groups = frame.groupby("module", sort=False)["latency_ms"]
    table = pd.DataFrame({"layers": groups.size(), "latency_ms": groups.sum(min_count=1)}).reset_index()
    table = table.sort_values(
        ["latency_ms", "layers"], ascending=False, kind="stable", na_position="last", ignore_index=True
    )
    columns = (
        Column("module", "Module", "Outermost module; empty for none."),
        TOTALS["layers"],
        engine.columns["latency_ms"],
    )
    return Section(
        "by_module", "Time by module", frame=table, columns=columns, noun="module", audience="programs"
    )


def list_groups(engine: Engine, keys: Sequence[Column], rows: pd.Series, top: int | None = None) -> Document:
    """Return layers and time in groups, instead of the summary.

    Raises:
        TrexError: A column differs for every layer.
    """
    for column in keys:
        if column.key.endswith(("_ms", "_pct", "_per_s", "_per_byte")):
            raise TrexError(
                f"--by: {column.key} differs for every layer; choose kind, precision, tactic, ..."
            )
    names = [column.key for column in keys]
    section = totals_section(engine, names, f"Layers by {', '.join(names)}", rows)
    section = replace(section, sentences=[describe_total(engine, rows.index[rows])])
    return Document("cross-table", engine.name, [limit_rows(section, top)], engine.notes)


def limit_rows(section: Section, top: int | None) -> Section:
    """Return a section with the first rows of its table; all without a limit."""
    if not top or section.frame is None or len(section.frame) <= top:
        return section
    return replace(section, frame=section.frame.head(top), total=len(section.frame))


# The slowest, the roofline


def hot_section(engine: Engine, top: int | None) -> Section | None:
    """Return the slowest layers; None without a time."""
    index = slowest(engine, top or len(engine))
    if not index:
        return None
    frame = engine.frame(*BRIEF).loc[index]
    columns = [engine.columns[key] for key in BRIEF]
    section = _layer_section(engine, "hot_layers", "Hottest layers", frame, columns, bar="latency_pct")
    timed = int(engine.layers["latency_ms"].count())
    return drop_empty_columns(replace(section, total=timed, audience="people"))


def roofline_sections(engine: Engine) -> Iterator[Section]:
    """Yield the layers by their limit, with the share of the roof that they reach."""
    table = roofline_totals(engine)
    table["latency_ms"] = table["latency_ms"].mask(table["layers"].eq(0), 0.0)
    table.insert(
        3, "latency_pct", (100 * table["latency_ms"] / (engine.latency_total_ms or pd.NA)).astype(FLOAT)
    )
    data = {
        "floor_ms": launch_floor_ms(engine),
        "by_bound": table,
        "gaps": roofline_gaps(engine),
        "assumptions": [*ASSUMPTIONS, *find_device(engine).assumptions],
    }
    yield Section("roofline", data=data, audience="programs")
    shown = table[table["layers"] > 0].sort_values(
        "latency_ms", ascending=False, kind="stable", na_position="last"
    )
    keys = ["bound", "layers", *(["latency_ms", "latency_pct", "roof_pct"] if engine.has_profile else [])]
    sentences = list(_describe_roofline(engine))
    columns = columns_of(shown, {**engine.columns, **TOTALS}, keys)
    bar = "latency_ms" if engine.has_profile else ""
    section = Section("roofline", "Roofline", (), sentences, shown, columns, bar, audience="people")
    yield section if shown["roof_pct"].notna().any() else replace(section, columns=columns[:4])


def _describe_roofline(engine: Engine) -> Iterator[str]:
    """Yield what could not be computed, for how many layers and why; the most frequent reasons first."""
    device, points = find_device(engine), roofline(engine)
    causes = dict.fromkeys(filter(None, (device.bandwidth_reason, device.compute_reason)))
    for cause in causes:
        yield as_sentence(f"Roofline incomplete: {cause}")
    if engine.layers["latency_ms"].count() < FLOOR_LAYERS and points["bound"].notna().any():
        yield f"Launch-bound layers count as latency-bound (needs ≥ {FLOOR_LAYERS} timed layers)."
    gaps = [(reason, count) for reason, count in roofline_gaps(engine).items() if reason not in causes]
    for reason, count in gaps[:_MOST_REASONS]:
        yield as_sentence(f"{plural(count, 'layer')}: {reason}")
    if above := int(points["roof_pct"].gt(100).sum()):
        yield f"{plural(above, 'layer')} above the roof: cached data, a higher clock, or bytes not touched."
