"""What the log of the build tells of the engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trex_tui.analysis.build_layers import BuildFacts, build_facts, kind_of_build_log
from trex_tui.analysis.build_trace import NEAR_TIE_PCT, by_tuning_time, near_ties, phase_shares
from trex_tui.artifacts.buildlog.model import BuildTrace
from trex_tui.errors import ArtifactError
from trex_tui.lint.logs import trace_of
from trex_tui.reports.build_log import check
from trex_tui.reports.build_screen import SEVERITIES, overview_lines
from trex_tui.reports.document import Section, Table
from trex_tui.reports.report.subject import Subject
from trex_tui.reports.report.tables import number_column, table, word_column
from trex_tui.text import plural, printable


def build_sections(subject: Subject) -> Iterator[Section]:
    """Phases, what took long to tune, choices by chance, warnings; nothing where there is no log."""
    engine = subject.engine
    kind = kind_of_build_log(engine)
    if kind is None:
        return
    trace = trace_of(engine, kind)
    if trace is None:
        yield Section(
            "build", "Build", sentences=[f"The log {printable(engine.files[kind].name)} cannot be read."]
        )
        return
    try:
        check(trace)
    except ArtifactError as error:
        yield Section("build", "Build", sentences=[f"{printable(str(error))}."])
        return
    facts = build_facts(trace, engine)
    yield Section("build", "Build", facts=_facts(facts, subject), tables=list(_tables(facts, subject)))


def _facts(facts: BuildFacts, subject: Subject) -> list[tuple[str, str]]:
    """The first lines of the screen: they end where the options begin."""
    found: list[tuple[str, str]] = []
    for line in overview_lines(facts.trace, subject.engine):
        if line.style == "section" and found:
            break
        if line.label == "log":
            found.append(("Log", f"{printable(facts.trace.path.name)}, {plural(facts.trace.lines, 'line')}"))
        elif line.label:
            found.append((line.label[:1].upper() + line.label[1:], printable(line.text)))
    return found


def _tables(facts: BuildFacts, subject: Subject) -> Iterator[Table]:
    trace, top = facts.trace, subject.top
    if shares := phase_shares(trace):
        columns = (
            word_column("phase", "Phase"),
            word_column("strategy", "Strategy"),
            number_column("seconds", "s", has_bar=True),
            number_column("count", "Lines"),
        )
        rows = [
            (one.kind.value, None if one.strategy is None else str(one.strategy), one.seconds, one.count)
            for one in shares
        ]
        yield table("phases", columns, rows, title="Phases")
    if trace.tunings:
        yield _slowest(trace, top)
    if ties := near_ties(facts.choices):
        columns = (
            word_column("name", "Layer"),
            number_column("margin_pct", "Second, % longer"),
            word_column("chosen", "Chosen"),
            word_column("second", "Second"),
        )
        ties_rows = [
            (one.name, one.margin_pct, one.chosen and one.chosen.runner, one.second and one.second.runner)
            for one in ties
        ]
        title = f"Chosen by chance: another tactic is within {NEAR_TIE_PCT:g} %"
        yield table("near_ties", columns, ties_rows, top=top, what="layer", title=title)
    if trace.messages:
        columns = (
            word_column("severity", "Severity"),
            number_column("line", "Line"),
            number_column("count", "Times"),
            word_column("text", "Message"),
        )
        said = [
            (SEVERITIES.get(one.severity, one.severity), one.line, one.count, one.text)
            for one in trace.messages
        ]
        yield table("messages", columns, said, top=top, what="message", title="Warnings and errors")


def _slowest(trace: BuildTrace, top: int | None) -> Table:
    """The strategy is told where several were tried, and Myelin's kernels where it timed any."""
    columns = [
        word_column("name", "Layer"),
        number_column("seconds", "s", has_bar=True),
        number_column("tactics", "Tactics", help="Timed; kernels of Myelin's are among them."),
        number_column("formats", "Formats", help="Combinations of formats that were tried."),
        number_column("skipped", "Skipped"),
    ]
    tunings = by_tuning_time(trace)
    rows: list[list[Any]] = [
        [one.name, one.seconds, one.tactic_count, len(one.combinations), len(one.skipped)] for one in tunings
    ]
    if any(one.myelin_count for one in tunings):
        help_ = "Kernels that Myelin timed for operators inside the layer."
        columns.insert(3, number_column("myelin_tactics", "Myelin", help=help_))
        for row, one in zip(rows, tunings, strict=True):
            row.insert(3, one.myelin_count)
    if len({one.strategy for one in tunings}) > 1:
        columns.insert(1, word_column("strategy", "Strategy"))
        for row, one in zip(rows, tunings, strict=True):
            row.insert(1, None if one.strategy is None else str(one.strategy))
    return table("slowest_tunings", columns, rows, top=top, what="tuning", title="Longest to tune")
