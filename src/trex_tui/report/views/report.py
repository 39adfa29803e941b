"""The report: first the verdict, the numbers and what to do; then all sections of the engines, and their comparison."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timezone

import pandas as pd

from trex_tui._version import __version__
from trex_tui.analysis.conditions import capture_facts, find_doubts
from trex_tui.analysis.engines import COLUMNS, make_row, make_table, sign
from trex_tui.analysis.timing import timing_facts
from trex_tui.column import Column
from trex_tui.compare.comparison import MOST_ENGINES, compare
from trex_tui.engine.model import Engine
from trex_tui.engine.names import short_tactics
from trex_tui.errors import Note
from trex_tui.frames import TEXT
from trex_tui.lint.config import LintConfig
from trex_tui.lint.rules import RuleSet
from trex_tui.lint.run import run_rules
from trex_tui.report import charts
from trex_tui.report.absence import no_queries
from trex_tui.report.document import Document, Fact, Section, drop_empty_columns, plain_document
from trex_tui.report.views import compare as compare_view
from trex_tui.report.views.engine import describe_version, engine_sections
from trex_tui.report.views.engines import list_engines
from trex_tui.report.views.layers import (
    group_sections,
    hot_section,
    limit_rows,
    module_section,
    roofline_sections,
    totals_section,
)
from trex_tui.report.views.lint import (
    FINDING,
    Linted,
    count_findings,
    describe_savings,
    findings_table,
    group_not_checked,
)
from trex_tui.report.views.log import build_sections
from trex_tui.report.views.memory import memory_sections
from trex_tui.report.views.timing import describe_stability, performance_sections
from trex_tui.text import as_sentence, plural, printable

TOP = 20
"""Rows of a table without `--top`."""
GREAT_PCT = 10.0
"""Possible saving, in percent of the layers' time, from which there is much to gain."""
_MOST_ACTIONS, _MOST_NUMBERS = 3, 4
_NUMBERS = {
    "latency_median_ms": "Median latency",
    "throughput_qps": "Throughput",
    "latency_sum_ms": "Sum of layer times",
    "weights_bytes": "Weights",
    "layers": "Layers",
}
"""Key of a row of the table of engines -> title, the most important first."""
_SAVING = Column("saving_ms", "Possible saving", "Of all findings together: an estimate.")


def make_report(
    engines: Sequence[Engine],
    rules: RuleSet,
    config: LintConfig,
    top: int | None = TOP,
    notes: Sequence[Note] = (),
) -> Document:
    """Return the report of engines; several are compared, the first being the baseline.

    Args:
        top: Rows of each table; None for all.
        notes: Of files that belong to no engine.
    """
    linted = [Linted(engine, run_rules(engine, config, rules)) for engine in engines]
    parts = [
        Document("report", one.engine.name, list(_engine_report(one, top)), one.engine.notes)
        for one in linted
    ]
    sections = list(_overview(engines, top)) if len(engines) > 1 else []
    names = " · ".join(engine.name for engine in engines)
    named = names if len(engines) <= MOST_ENGINES else plural(len(engines), "engine")
    title = f"TensorRT engine report: {named}"
    return Document("report", title, sections, (*notes, *rules.notes), parts, version=3)


def _overview(engines: Sequence[Engine], top: int | None) -> Iterator[Section]:
    """Yield the comparison of two to four engines, for programs as the command `diff` writes it; of more a row each."""
    if len(engines) > MOST_ENGINES:
        table = make_table([({**make_row(one), "engine": one.name}, sign(one)) for one in engines])
        columns = [COLUMNS[key] for key in ("engine", "precision", "batch", *_NUMBERS, "device", "tensorrt")]
        sections = list(map(drop_empty_columns, list_engines(table, table.frame.index, columns).sections))
    else:
        comparison = compare(engines)
        shown = compare_view.Shown(comparison, compare_view.choose_blocks(comparison, "", None), top)
        drawn = [(name, compare_view.make_chart(shown, name)) for name in ("kind", "block")]
        charts = [Section(f"chart-{name}", chart=chart) for name, chart in drawn if len(chart.frame)]
        sections = [*compare_view.list_sections(shown), *charts]
        values = plain_document(compare_view.compare_document(shown))
        values = {key: value for key, value in values.items() if key not in ("schema", "diagnostics")}
        yield Section("comparison", data=values, audience="programs")
    yield from (replace(section, audience="people") for section in sections)


# One engine


def _engine_report(linted: Linted, top: int | None) -> Iterator[Section]:
    engine = linted.engine
    yield from _cover(linted)
    yield from _lint_sections(linted, top)
    performance = list(performance_sections(engine))
    yield from (section for section in performance if section.key != "gap")
    yield from _charts(engine, "histogram", "percentiles", "over-time")
    yield from (section for section in performance if section.key == "gap")
    if (hot := hot_section(engine, top)) is not None:
        yield replace(hot, audience="all")
    if len(engine):
        yield from group_sections(engine)
        modules = module_section(engine)
        if modules.frame is not None and len(modules.frame) > 1:
            bar = "latency_ms" if engine.has_profile else ""
            yield limit_rows(replace(modules, audience="all", bar=bar), top)
        yield from _charts(engine, "kind-precision", "tactic")
        what = "Time" if engine.has_profile else "Layers"
        tactics = totals_section(engine, ["kind", "tactic"], f"{what} by kind and tactic", key="by_tactic")
        tactics = replace(tactics, shorten={"tactic": short_tactics(engine).fit})
        yield drop_empty_columns(limit_rows(tactics, top))
        yield from roofline_sections(engine)
        yield from _charts(engine, "roofline")
    yield from memory_sections(engine, top)
    yield from engine_sections(engine)
    yield from _charts(engine, "power")
    yield from build_sections(engine, top)


def _charts(engine: Engine, *names: str) -> Iterator[Section]:
    """Yield the charts that show anything."""
    for name in names:
        chart = charts.make_chart(engine, name)
        if len(chart.frame):
            yield Section(f"chart-{name}", chart=chart, audience="people")


def _cover(linted: Linted) -> Iterator[Section]:
    """Yield the first page of an engine."""
    engine, row = linted.engine, make_row(linted.engine)
    numbers = [
        Fact(replace(COLUMNS[key], title=title), row[key])
        for key, title in _NUMBERS.items()
        if row[key] is not None
    ]
    saving = linted.result.savings.layers_ms
    if saving is not None:
        numbers.insert(2, Fact(_SAVING, saving, linted.format_time(saving)))
    run = no_queries(engine) if timing_facts(engine) is None else describe_stability(engine)
    doubts = [as_sentence(printable(doubt.text)) for doubt in find_doubts(engine)]
    sentences = [_judge(linted), f"Stability: {run}" if run[:7] in ("unknown", "unstabl") else run, *doubts]
    yield Section("numbers", "At a glance", numbers[:_MOST_NUMBERS], sentences)
    captured = capture_facts(engine)
    facts = {
        "Device": engine.facts.device_name,
        "TensorRT": describe_version(engine),
        "Measured": captured["started"] if captured else None,
        "Report": f"{_today():%Y-%m-%d}, trex-tui {__version__}",
    }
    yield Section(
        "circumstances",
        facts=[Fact(Column("", title), None, printable(text)) for title, text in facts.items() if text],
        audience="people",
    )
    findings = findings_table(linted)
    if findings.frame is not None and len(findings.frame):
        first = findings.frame.sort_values("saving_ms", ascending=False, kind="stable", na_position="last")
        yield replace(
            findings,
            key="actions",
            title="What to do first",
            sentences=(),
            frame=first.head(_MOST_ACTIONS),
            columns=[FINDING[key] for key in ("remedy", "saving_ms", "saving_pct", "rule")],
            total=None,
            audience="people",
        )


def _judge(linted: Linted) -> str:
    """Return whether it is worth while to act on the findings, with their number and possible savings."""
    result, pct = linted.result, linted.pct(linted.result.savings.layers_ms)
    if not result.findings:
        return "No findings." if result.rules else "Not checked."
    if pct is None:
        return f"Findings of unknown saving: {count_findings(result)}."
    room = "Much to gain" if pct >= GREAT_PCT else "Little to gain"
    return f"{room}: {describe_savings(linted)}; {count_findings(result)}."


def _lint_sections(linted: Linted, top: int | None) -> Iterator[Section]:
    """Yield the findings, strengths, and what could not be checked."""
    yield findings_table(linted, top)
    goods = [(finding.rule.id, finding.message) for finding in linted.result.positives]
    missing = group_not_checked(linted.result.not_checked)
    for key, title, rows, heading in (
        ("positives", "Well done", goods, "Finding"),
        ("not_checked", "Not checked", missing, "Reason"),
    ):
        if rows:
            columns = [Column("rule", "Rule", priority=0), Column("text", heading, priority=0)]
            yield limit_rows(
                Section(
                    key,
                    title,
                    frame=pd.DataFrame(rows, columns=["rule", "text"], dtype=TEXT),
                    columns=columns,
                    noun="row",
                ),
                top,
            )


def _today() -> datetime:
    """Return the time that `SOURCE_DATE_EPOCH` sets for reproducible reports; by default the current time."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return (
        datetime.fromtimestamp(int(epoch), timezone.utc) if epoch.isdecimal() else datetime.now(timezone.utc)
    )
