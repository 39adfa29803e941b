"""What each table of a build shows, as rows for other programs: phases, passes, layers, tactics, memory, messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trex_tui.analysis.build import (
    NEAR_TIE_PCT,
    BuildFacts,
    TunedLayer,
    build_facts,
    by_tuning_time,
    kind_of_build_log,
    near_ties,
    phase_shares,
    tactic_rows,
)
from trex_tui.buildlog.build_trace import BuildTrace, MemoryPoint, Message, OptimizerPass
from trex_tui.buildlog.layer_tuning import hex_id
from trex_tui.errors import ArtifactError
from trex_tui.lint.trtexec_runs import trace_of
from trex_tui.report.document import Section, Table
from trex_tui.report.listing import Listing
from trex_tui.report.views.build_details import SEVERITIES, overview_lines, strategy_nodes
from trex_tui.report.views.build_summary import check
from trex_tui.report.views.layers import number_column, table, word_column
from trex_tui.report.views.subject import Subject
from trex_tui.text import plural, printable


def _listing(trace: BuildTrace, key: str, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> Listing:
    return Listing(f"trex-tui/build-{key}/1", key, str(trace.path), tuple(columns), list(rows))


def phases_listing(trace: BuildTrace) -> Listing:
    """Every line that states a duration; `seconds` of one kind and strategy add up to what the screen shows."""
    columns = ("phase", "strategy", "layer", "seconds", "ended_s", "line")
    rows = (
        (one.kind.value, one.strategy, one.layer, one.seconds, one.ended_s, one.line) for one in trace.phases
    )
    return _listing(trace, "phases", columns, rows)


_STEP = ("step", "rule", "layer", "with", "from_type", "to_type", "line")


def passes_listing(trace: BuildTrace) -> Listing:
    """A row for each pass, which has no `step`, and below it one for each thing that it did."""
    columns = ("strategy", "in_engine", "pass", "layers", *_STEP)
    return _listing(trace, "passes", columns, _pass_rows(trace, trace.passes))


def _pass_rows(trace: BuildTrace, passes: Iterable[OptimizerPass]) -> Iterator[tuple[Any, ...]]:
    for one in passes:
        of = (one.strategy, one.strategy in (trace.winner, None), one.name, one.layers)
        yield (*of, None, None, None, None, None, None, one.line)
        for step in one.fusions:
            kind = step.kind.value
            yield (
                *of,
                kind,
                step.rule or None,
                step.layer,
                step.other,
                step.from_type,
                step.to_type,
                step.line,
            )


def tuned_listing(facts: BuildFacts, tuned: Sequence[TunedLayer]) -> Listing:
    """The layers that were tuned; `index` is of the engine's first layer that came of one."""
    columns = (
        "name",
        "index",
        "engine_layers",
        "strategy",
        "tactics",
        "skipped",
        "chosen_ms",
        "fastest_ms",
        "margin_pct",
        "near_tie",
        "cached",
        "seconds",
        "line",
    )
    rows = (
        (
            one.tuning.name,
            one.layers[0] if one.layers else None,
            len(one.layers),
            one.tuning.strategy,
            one.tactics,
            one.skipped,
            one.chosen_ms,
            one.fastest_ms,
            one.margin_pct,
            one.is_near_tie,
            one.tuning.is_cached,
            one.seconds,
            one.tuning.line,
        )
        for one in tuned
    )
    return _listing(facts.trace, "layers", columns, rows)


def tactics_listing(facts: BuildFacts, tuned: Sequence[TunedLayer]) -> Listing:
    """Every tactic of some layers, in the order of the log: timed, skipped, or out of the timing cache."""
    columns = (
        "layer",
        "index",
        "strategy",
        "formats",
        "runner",
        "tactic",
        "name",
        "operator",
        "time_ms",
        "chosen",
        "fastest",
        "in_engine",
        "cached",
        "skipped",
        "requested_bytes",
        "available_bytes",
        "line",
    )
    rows = (row for one in tuned for row in _rows_of_tactics(facts, one))
    return _listing(facts.trace, "tactics", columns, rows)


def _rows_of_tactics(facts: BuildFacts, tuned: TunedLayer) -> Iterator[tuple[Any, ...]]:
    tuning = tuned.tuning
    index = tuned.layers[0] if tuned.layers else None
    for row in tactic_rows(facts, tuned):
        skipped = row.skipped
        yield (
            tuning.name,
            index,
            tuning.strategy,
            tuning.combinations[row.formats - 1].text,
            row.runner,
            hex_id(row.id) if row.id is not None else None,
            row.name,
            row.operator or None,
            row.time_ms,
            row.is_chosen,
            row.is_fastest,
            row.in_engine,
            row.is_cached,
            skipped.reason.value if skipped else None,
            skipped.requested_bytes if skipped else None,
            skipped.available_bytes if skipped else None,
            row.line,
        )


def memory_listing(trace: BuildTrace, points: Sequence[MemoryPoint]) -> Listing:
    """Memory in use after each event."""
    columns = (
        "at_s",
        "event",
        "of",
        "gpu_mib",
        "gpu_change_mib",
        "cpu_mib",
        "cpu_change_mib",
        "line",
    )
    rows = (
        (
            one.at_s,
            one.event,
            "TensorRT" if one.is_managed else "device",
            one.gpu_mib,
            one.gpu_change_mib,
            one.cpu_mib,
            one.cpu_change_mib,
            one.line,
        )
        for one in points
    )
    return _listing(trace, "memory", columns, rows)


def strategies_listing(facts: BuildFacts) -> Listing:
    """Backend strategies, which have no `operator`, and what Myelin tuned under each."""
    columns = ("strategy", "operator", "verdict", "estimate", "layers", "tactics", "best_ms", "worst_ms")
    rows: list[tuple[Any, ...]] = []
    for node in strategy_nodes(facts):
        number = getattr(node.item, "number", None)
        for one in (node, *node.children):
            values = one.values.get
            operator = None if one is node and number is not None else one.label
            rows.append(
                (
                    number,
                    operator,
                    values("verdict"),
                    values("estimate"),
                    values("tuned"),
                    values("tactics"),
                    values("best_ms"),
                    values("worst_ms"),
                    values("seconds"),
                    values("line"),
                )
            )
    return _listing(facts.trace, "strategies", (*columns, "seconds", "line"), rows)


def messages_listing(trace: BuildTrace, messages: Sequence[Message]) -> Listing:
    """Warnings and errors, those that say the same together."""
    columns = ("severity", "count", "message", "said_by", "line", "last_line")
    rows = (
        (
            one.severity,
            one.count,
            " ".join(one.text.split()),
            "trtexec" if one.is_trtexec else "library",
            one.line,
            one.last_line,
        )
        for one in messages
    )
    return _listing(trace, "messages", columns, rows)


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
