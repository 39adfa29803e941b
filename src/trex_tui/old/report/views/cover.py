"""The first page of a report: verdict, three numbers, first actions, and the circumstances of the measurement."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from trex_tui import __version__
from trex_tui.old.analysis.compare.model import letter
from trex_tui.old.analysis.timing import end_to_end
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.engine.engine import Engine
from trex_tui.old.report.document import FigureChart, Section, Table, engine_part_id, make_table
from trex_tui.old.report.views.compare import Shown, describe_verdict, reasons_table, signed_ms
from trex_tui.old.report.views.compare_charts import kinds_figure, reasons_figure
from trex_tui.old.report.views.engine import (
    EngineSubject,
    condition_facts,
    doubt_sentences,
    figures_table,
    version_text,
)
from trex_tui.old.report.views.lint import (
    ACTION_COLUMNS,
    EngineReport,
    Entry,
    count_findings,
    describe_savings,
)
from trex_tui.old.report.views.timing import describe_stability, no_run
from trex_tui.old.text import MISSING, as_sentence, format_ms, format_pct, printable

COVER = "cover"
"""Id of the section."""
_MOST_ACTIONS = 3
_MOST_NUMBERS = 3
_GREAT_PCT = 10.0
"""Possible saving, in percent of the layers' time, from which a report recommends to act."""
_MEASURED = (ArtifactKind.TIMING, ArtifactKind.PROFILE, ArtifactKind.PROFILE_LOG, ArtifactKind.GRAPH)
"""Files of a measurement, those with times first."""
_MOST_DIGITS = 11
"""Digits of `SOURCE_DATE_EPOCH` that a date can show."""
_FIGURES = (
    "latency.median_ms",
    "throughput_qps",
    "latency_sum_ms",
    "weights_bytes",
    "known_weights_bytes",
    "layers",
)
"""Figures for the first page, the most important first; the possible saving comes third."""


def engine_cover(subject: EngineSubject) -> Section:
    """Return the first page about one engine, with the date of the report: today, or that of `SOURCE_DATE_EPOCH`."""
    engine, lint = subject.engine, subject.lint
    statistics = subject.analysis.statistics
    stability = statistics.stability if statistics else None
    run = no_run(engine) if statistics is None else describe_stability(stability) if stability else ""
    return Section(
        COVER,
        "At a glance",
        highlights=_list_numbers(subject),
        sentences=[_judge(lint), *filter(None, [run]), *doubt_sentences(engine)],
        facts=[
            ("Device", printable(engine.device_name or MISSING)),
            ("TensorRT", version_text(engine)),
            ("Measured", _measured(engine)),
            _report_fact(),
        ],
        tables=list(_actions([lint])),
    )


def comparison_cover(shown: Shown, reports: Sequence[EngineReport]) -> Section:
    """Return the first page of a comparison: verdicts, medians, the largest reasons, what to do in the fastest engine."""
    comparison = shown.comparison
    sides = [f"{letter(index)} {printable(side.label)}" for index, side in enumerate(comparison.sides)]
    baseline = sides[comparison.baseline]
    verdicts = [
        f"{sides[index]} against {baseline}: {describe_verdict(verdict)}."
        for index in shown.columns
        if (verdict := comparison.verdicts[index]) is not None
    ]
    fastest = comparison.ranking[0]
    tables: list[Table] = []
    charts: list[FigureChart] = []
    if difference := comparison.differences[comparison.others[0]]:
        reasons = reasons_table(comparison, difference)
        rows = reasons.rows[: min(_MOST_ACTIONS, len(difference.reasons))]
        title = f"Largest reasons in {letter(difference.engine)}"
        tables = [replace(reasons, rows=rows, title=title)] if rows else []
        if waterfall := reasons_figure(comparison, difference):
            charts.append(FigureChart("compare-reasons", "Causes of the difference", waterfall))
    if kinds := kinds_figure(shown):
        charts.append(FigureChart("compare-kinds", "Time by kind", kinds))
    return Section(
        COVER,
        "At a glance",
        highlights=list(_compare_numbers(shown)),
        sentences=verdicts,
        facts=[
            *((side, _describe_side(engine)) for side, engine in zip(sides, comparison.engines, strict=True)),
            _report_fact(),
        ],
        charts=charts,
        tables=[
            *tables,
            *(
                replace(table, part=engine_part_id(fastest))
                for table in _actions([reports[fastest]], f" in {sides[fastest]}")
            ),
        ],
    )


def _judge(lint: EngineReport) -> str:
    """Return whether it is worth while to act on the findings, with their number and possible savings."""
    result = lint.result
    pct = lint.pct(result.savings.layers_ms)
    if not result.findings:
        verdict = "No findings" if result.rules else "Not checked"
    elif pct is None:
        verdict = f"Findings of unknown saving: {count_findings(result)}"
    else:
        room = "Much to gain" if pct >= _GREAT_PCT else "Little to gain"
        verdict = f"{room}: {describe_savings(lint)}, {count_findings(result)}"
    return as_sentence(verdict)


def _list_numbers(subject: EngineSubject) -> list[tuple[str, str]]:
    table = figures_table(subject.summary)
    figures = {row[0]: (row[1], f"{row[2].text} {row[3].text}".strip()) for row in table.rows}
    numbers = [figures[key] for key in _FIGURES if key in figures]
    saving = subject.lint.result.savings.layers_ms
    if saving is not None:
        numbers.insert(_MOST_NUMBERS - 1, ("Possible saving", subject.lint.format_time(saving)))
    return numbers[:_MOST_NUMBERS]


def _compare_numbers(shown: Shown) -> Iterator[tuple[str, str]]:
    """Yield the latencies of the baseline and of the fastest other engine, and the difference."""
    comparison = shown.comparison
    best = next(index for index in comparison.ranking if index != comparison.baseline)
    times = comparison.ranking_ms
    for index in (comparison.baseline, best):
        label = f"{letter(index)}, {comparison.ranked_by}"
        yield label, f"{format_ms(times[index])} ms" if times[index] is not None else MISSING
    before, after = times[comparison.baseline], times[best]
    if before and after is not None:
        change = format_pct(abs(100.0 * (after - before) / before))
        sign = "−" if after < before else "+"
        yield (
            f"Difference, {letter(best)} − {letter(comparison.baseline)}",
            f"{signed_ms(after - before)} ms ({sign}{change} %)",
        )


def _describe_side(engine: Engine) -> str:
    run = end_to_end(engine)
    parts = [printable(engine.device_name or "device not stated"), f"TensorRT {version_text(engine)}"]
    return f"{', '.join(parts)}; measured {_measured(engine)}" + ("" if run else "; no end-to-end latency")


def _measured(engine: Engine) -> str:
    """Return the date of the capture; without a manifest the date of the files, which may be that of a copy."""
    captured = dict(condition_facts(engine)).get("Captured")
    if captured is not None:
        return captured
    changed = [time for kind in _MEASURED if (time := _time_of_change(engine.source.files.get(kind)))]
    if not changed:
        return f"{MISSING} (no capture manifest)"
    return f"{MISSING} (no capture manifest; files of {min(changed[0], _today()):%Y-%m-%d})"


def _time_of_change(file: Path | None) -> datetime | None:
    """Return when a file was written; None without a file, or if it is gone."""
    if file is None:
        return None
    try:
        return datetime.fromtimestamp(file.stat().st_mtime, timezone.utc)
    except (OSError, ValueError, OverflowError):
        return None


def _today() -> datetime:
    """Return the time that `SOURCE_DATE_EPOCH` sets for reproducible reports; by default the current time."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if epoch.isascii() and epoch.isdecimal() and len(epoch) <= _MOST_DIGITS:
        return datetime.fromtimestamp(int(epoch), timezone.utc)
    return datetime.now(timezone.utc)


def _report_fact() -> tuple[str, str]:
    return "Report", f"{_today():%Y-%m-%d}, by trex-tui {__version__}"


def _actions(reports: Iterable[EngineReport], where: str = "") -> Iterator[Table]:
    """Yield the findings with the largest savings and their remedies; nothing without findings."""
    entries = [Entry(report, judged) for report in reports for judged in report.result.findings]
    entries.sort(key=lambda entry: -(entry.saving_ms or 0.0))
    if entries:
        title = f"What to do first{where}"
        yield make_table("actions", ACTION_COLUMNS, entries[:_MOST_ACTIONS], title=title, noun="finding")
