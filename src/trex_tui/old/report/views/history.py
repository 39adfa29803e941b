"""The view of a history: a row per build, the changes with their causes, and gates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trex_tui._version import __version__
from trex_tui.old.analysis.compare.gate_metrics import format_metric
from trex_tui.old.analysis.gates import GateResult
from trex_tui.old.errors import Diagnostic
from trex_tui.old.fleet.history import MEASURES, BuildCause, BuildChange, FirstBuild, History
from trex_tui.old.fleet.spread import Spread
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.document import Cell, Column, Section, Table, drop_empty_columns, make_table
from trex_tui.old.report.render_json import diagnostic_object, row_objects
from trex_tui.old.report.views.layer_details import Line
from trex_tui.old.text import format_ms, plural, printable

SCHEMA = "trex-tui/history/1"
_TITLES = {measure.key: measure.title for measure in MEASURES}
BUILD_COLUMNS = (
    Column("number", "#", is_number=True, format=str, help="Number of the build in the history, from 1."),
    Column("build", "build", flex=True, width=16, help="Name of the build."),
    Column("date", "date", priority=3, help="Start of the capture, from its manifest."),
    Column("tensorrt_version", "TensorRT", priority=2, help="Version of TensorRT."),
    Column("precision", "precision", priority=2, help="Precision of the engine's main work."),
    Column("runs", "runs", is_number=True, format=str, priority=3, help="Runs of the build that were read."),
    Column(
        "latency_median_ms",
        "median ms",
        is_number=True,
        help="Median latency end to end; the mean of several runs.",
    ),
    Column(
        "latency_p99_ms",
        "p99 ms",
        is_number=True,
        help="99th percentile of the latency; the mean of several runs.",
    ),
    Column("energy_per_inference_j", "J per inference", is_number=True, help="Energy of one inference."),
    Column("weights_bytes", "weights", is_number=True, priority=1, help="Sum of the weights."),
    Column(
        "activation_peak_bytes",
        "activations",
        is_number=True,
        priority=1,
        help="Peak of the live activations.",
    ),
    Column("layers", "layers", is_number=True, format=str, help="Number of layers."),
    Column(
        "changed",
        "changed",
        help="Measures whose level changes here, ? until the next one confirms it; kernels if tactics change and stay.",
    ),
)
CHANGE_COLUMNS = (
    Column("number", "#", is_number=True, format=str, help="Number of the build at which the level changes."),
    Column("build", "build", flex=True, width=12, help="First build of the new level."),
    Column("measure", "measure", help="Measure that changes."),
    Column("level_before", "before", is_number=True, help="Mean of the builds of the level before."),
    Column("level_after", "after", is_number=True, help="Mean of the builds of the new level."),
    Column("difference_pct", "change %", is_number=True, help="Difference in percent of the level before."),
    Column(
        "margin",
        "±",
        is_number=True,
        priority=2,
        help="Half of the 95 % interval of the difference, corrected for the number of builds.",
    ),
    Column(
        "scope",
        "noise",
        priority=2,
        help="Noise that the difference exceeds: between builds, or within one run.",
    ),
    Column("is_confirmed", "confirmed", help="Yes if two or more builds are on the new level."),
)
CAUSE_COLUMNS = (
    Column("number", "#", is_number=True, format=str, help="Number of the build."),
    Column("build", "build", flex=True, width=12, help="Name of the build."),
    Column("cause", "cause", help="Subject of the difference."),
    Column("text", "difference", flex=True, width=24, help="Differences."),
    Column("delta_ms", "Δ ms", is_number=True, help="Its part of the difference of layer times."),
)
SPREAD_COLUMNS = (
    Column("block", "layer", flex=True, width=16, help="Main layer of the block."),
    Column("kind", "kind", priority=2, help="Kind of the layer."),
    Column("builds", "builds", is_number=True, format=str, priority=2, help="Builds that have the layer."),
    Column(
        "tactics", "tactics", is_number=True, format=str, help="Number of different tactics over the builds."
    ),
    Column("min_ms", "min ms", is_number=True, priority=1, help="Shortest time of a build."),
    Column("median_ms", "median ms", is_number=True, help="Median of the builds' times."),
    Column("max_ms", "max ms", is_number=True, priority=1, help="Longest time of a build."),
    Column("range_ms", "range ms", is_number=True, help="Longest minus shortest time."),
    Column("range_pct", "range %", is_number=True, help="Range in percent of the median."),
    Column(
        "near_tie_pct",
        "near tie %",
        is_number=True,
        help="Smallest margin of the chosen tactic over the second in a build log, if below 2 %.",
    ),
)
_GATE_COLUMNS = (
    Column("state", "gate", help="Result of the gate."),
    Column("gate", "condition", flex=True, help="The gate as written."),
    Column("why", "result", flex=True, help="Reason of the result."),
)


@dataclass(frozen=True, slots=True)
class ShownHistory:
    """A history with its gates.

    Attributes:
        bisected: First builds per cause; None without `--bisect`.
        spread: Spread between the builds; None without `--spread`, or for one build.
        top: Maximum number of builds in tables, the newest; None for all.
    """

    history: History
    gates: Sequence[GateResult] = ()
    bisected: Sequence[FirstBuild] | None = None
    top: int | None = None
    spread: Spread | None = None


def history_sections(shown: Iterable[ShownHistory]) -> Iterator[Section]:
    """Yield the sections of all histories."""
    for number, one in enumerate(shown, start=1):
        yield from _sections(one, number)


def _sections(shown: ShownHistory, number: int) -> Iterator[Section]:
    history = shown.history
    builds = plural(len(history.builds), "build")
    name = printable(history.name)
    count = len(history.changes) or "None"
    sentences = [
        f"{count} of {builds} changed a measure or kernels." if len(history.builds) > 1 else "Only one build."
    ]
    if history.undated and len(history.builds) > 1:
        sentences.append(
            f"In the order of the paths: {plural(len(history.undated), 'build')} without a date, such as "
            f"{printable(history.undated[0].name)}."
        )
    if history.copies:
        pairs = ", ".join(f"{copy + 1} of {build + 1}" for copy, build in history.copies.items())
        sentences.append(f"Copies by their timing rows, which count once: {pairs}.")
    for key, levels in history.levels.items():
        if levels.reason and len(history.builds) > 1:
            sentences.append(f"{_TITLES[key]}: not judged, {levels.reason}.")
        if levels.outliers:
            places = ", ".join(str(index + 1) for index in levels.outliers)
            sentences.append(f"{_TITLES[key]}: outliers at {places}.")
    if shown.gates:
        gates = make_table("gates", _GATE_COLUMNS, [_gate_row(gate) for gate in shown.gates], noun="gate")
        is_bad = any(gate.fell is not False for gate in shown.gates)
        yield Section(f"gates-{number}", f"Gates of {name}", tables=[gates], is_warning=is_bad)
    tables = [builds_table(shown)]
    yield Section(f"history-{number}", f"History of {name}", sentences=sentences, tables=tables)
    if history.changes:
        tables = [_changes_table(history), _causes_table(history)]
        yield Section(
            f"changes-{number}", f"Changes of {name}", tables=[table for table in tables if table.rows]
        )
    if shown.bisected is not None:
        rows = [_cause_row(history, each.index, each.cause) for each in shown.bisected]
        table = drop_empty_columns(make_table("first_builds", CAUSE_COLUMNS, rows, noun="cause"))
        found = [] if rows else ["The two builds do not differ in any cause."]
        yield Section(
            f"bisect-{number}", "First build per cause", sentences=found, tables=[table] if rows else []
        )
    if shown.spread is not None:
        yield _spread_section(shown.spread, shown.top, f"spread-{number}", f"Spread of {name}")


def _spread_section(spread: Spread, top: int | None, section: str, title: str) -> Section:
    count, logs = len(spread.blocks), plural(spread.logs, "build log")
    sentences = [
        f"{spread.changing} of {plural(count, 'layer')} changed tactic in {plural(spread.builds, 'build')}.",
        f"{plural(spread.near_ties, 'near tie')} in {logs}."
        if spread.logs
        else "Near ties unknown (needs build logs of trtexec --verbose).",
        *spread.advice,
    ]
    table = _spread_table(spread, top)
    return Section(section, title, sentences=sentences, tables=[drop_empty_columns(table)] if count else [])


def _spread_table(spread: Spread, top: int | None = None) -> Table:
    rows = [
        (
            Cell(block.label, printable(block.label)),
            *(getattr(block, column.key) for column in SPREAD_COLUMNS[1:]),
        )
        for block in spread.blocks
    ]
    return make_table("spread", SPREAD_COLUMNS, rows, top=top, noun="layer")


def builds_table(shown: ShownHistory, *, is_complete: bool = False) -> Table:
    """Return a row per build; without the columns that no build has, unless it is complete."""
    history = shown.history
    changes = {change.index: change for change in history.changes}
    rows = [
        (
            index + 1,
            Cell(build.name, printable(build.name)),
            build.date.strftime("%Y-%m-%d %H:%M") if build.date else None,
            build.engine.tensorrt_version,
            build.engine.precision,
            len(build.runs),
            *(build.mean(column.key) for column in BUILD_COLUMNS[6:12]),
            ", ".join(_changed(changes[index])) if index in changes else None,
        )
        for index, build in enumerate(history.builds)
    ]
    kept = rows if shown.top is None or is_complete else rows[-shown.top :]
    table = make_table("builds", BUILD_COLUMNS, kept, total=len(rows), noun="build")
    return table if is_complete else drop_empty_columns(table)


def _changed(change: BuildChange) -> Iterator[str]:
    for key, point in change.points.items():
        yield _TITLES[key] + ("" if point.is_confirmed else "?")
    if change.has_other_kernels:
        yield "kernels"


def build_lines(history: History, index: int) -> Iterator[Line]:
    """Yield the changes at a build, and the differences from the build before."""
    build = history.builds[index]
    change = next((each for each in history.changes if each.index == index), None)
    yield Line(f"{index + 1}  {build.name}", "heading")
    if change is None:
        first = "The first build." if index == 0 else "No measure changes here."
        yield Line(first, "muted")
    else:
        for key, point in change.points.items():
            values = " → ".join(format_metric(key, value) for value in (point.before, point.after))
            percent = _percent(point.difference_pct)
            margin = f" ± {format_metric(key, point.margin)}" if point.margin else ""
            scope = f", noise {history.scopes[key]}" if key in history.scopes else ""
            state = "" if point.is_confirmed else ", not confirmed yet"
            yield Line(
                f"{values}{margin}{percent and f' ({percent} %)'}{scope}{state}", label=_TITLES[key], indent=2
            )
        if change.has_other_kernels:
            yield Line("tactics change and stay", label="kernels", indent=2)
    if index in history.copies:
        yield Line(f"Copy of build {history.copies[index] + 1} by its timing rows; counts once.", "warning")
    outliers = [_TITLES[key] for key, levels in history.levels.items() if index in levels.outliers]
    if outliers:
        yield Line(f"Outlier: {', '.join(outliers)}.", "warning")
    if change is not None:
        yield Line("")
        yield Line(f"Differences from build {index}" if change.causes else "No difference found", "section")
        for cause in change.causes:
            delta = _delta(cause.delta_ms)
            text = cause.text if delta is None else f"{delta.text} ms  {cause.text}"
            yield Line(text, label=cause.cause, indent=2)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:+.2f}".replace("-", "−")


def _changes_table(history: History) -> Table:
    rows = []
    for change in history.changes:
        for key, point in change.points.items():
            margin = point.margin or None
            rows.append(
                (
                    change.index + 1,
                    _name(history, change.index),
                    Cell(key, _TITLES[key]),
                    Cell(point.before, format_metric(key, point.before)),
                    Cell(point.after, format_metric(key, point.after)),
                    None
                    if point.difference_pct is None
                    else Cell(point.difference_pct, _percent(point.difference_pct)),
                    None if margin is None else Cell(margin, format_metric(key, margin)),
                    history.scopes.get(key),
                    point.is_confirmed,
                )
            )
    return make_table("changes", CHANGE_COLUMNS, rows, noun="change")


def _causes_table(history: History) -> Table:
    rows = [_cause_row(history, change.index, cause) for change in history.changes for cause in change.causes]
    return make_table("causes", CAUSE_COLUMNS, rows, title="Differences from the build before", noun="cause")


def _cause_row(history: History, index: int, cause: BuildCause) -> tuple[Any, ...]:
    return (
        index + 1,
        _name(history, index),
        cause.cause,
        Cell(cause.text, printable(cause.text)),
        _delta(cause.delta_ms),
    )


def _delta(delta_ms: float | None) -> Cell | None:
    if delta_ms is None:
        return None
    return Cell(delta_ms, ("−" if delta_ms < 0 else "+") + format_ms(abs(delta_ms)))


def _name(history: History, index: int) -> Cell:
    name = history.builds[index].name
    return Cell(name, printable(name))


def _gate_row(gate: GateResult) -> tuple[Any, ...]:
    return gate.state, Cell(gate.gate.text, printable(gate.gate.text)), Cell(gate.why, printable(gate.why))


def history_object(shown: Sequence[ShownHistory], diagnostics: Iterable[Diagnostic]) -> dict[str, Any]:
    """Return the JSON document."""
    return {
        "schema": SCHEMA,
        "trex_tui": __version__,
        "histories": [_object(one) for one in shown],
        "diagnostics": [diagnostic_object(diagnostic) for diagnostic in diagnostics],
    }


def _object(shown: ShownHistory) -> dict[str, Any]:
    history = shown.history
    bisected = shown.bisected or ()
    rows = [_cause_row(history, each.index, each.cause) for each in bisected]
    return {
        "name": history.name,
        "builds": row_objects(builds_table(shown, is_complete=True)),
        "changes": row_objects(_changes_table(history)),
        "causes": row_objects(_causes_table(history)),
        "copies": [{"number": copy + 1, "copy_of": build + 1} for copy, build in history.copies.items()],
        "undated": [build.name for build in history.undated],
        "levels": [
            {
                "measure": key,
                "noise": levels.noise,
                "outliers": [index + 1 for index in levels.outliers],
                "reason": levels.reason or None,
            }
            for key, levels in history.levels.items()
        ],
        "first_builds": None
        if shown.bisected is None
        else row_objects(make_table("first_builds", CAUSE_COLUMNS, rows)),
        "spread": None
        if shown.spread is None
        else {
            "build_logs": shown.spread.logs,
            "changing_layers": shown.spread.changing,
            "near_ties": shown.spread.near_ties,
            "advice": list(shown.spread.advice),
            "layers": row_objects(_spread_table(shown.spread)),
        },
        "gates": [
            {
                "gate": gate.gate.text,
                "state": gate.state,
                "value": gate.value,
                "baseline": gate.baseline,
                "compared": gate.compared,
                "why": gate.why,
            }
            for gate in shown.gates
        ],
    }
