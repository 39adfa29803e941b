"""What must hold of a set of files, whatever is in them: everything that shows it answers, or says in one line why not."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from rich.console import Console

from trex_tui.old import cli
from trex_tui.old.analysis.build import build_facts, tactic_rows
from trex_tui.old.analysis.columns import columns_named, derived, engine_columns
from trex_tui.old.analysis.compare import compare
from trex_tui.old.analysis.dataflow import fitted, neighbourhood, whole_lanes
from trex_tui.old.analysis.filter import FilterError, filter_layers
from trex_tui.old.analysis.modules import Group, Grouping, arrange, layer_label, ordered_entries
from trex_tui.old.artifacts import scan
from trex_tui.old.artifacts.discover import is_damage
from trex_tui.old.buildlog import read_build_log
from trex_tui.old.buildlog.log_records import metadata_document
from trex_tui.old.cli.parser import build_parser
from trex_tui.old.engine.engine import Engine, load_set
from trex_tui.old.errors import Diagnostic, Severity, TrexError
from trex_tui.old.lint.config import LintConfig
from trex_tui.old.lint.model import LintResult
from trex_tui.old.lint.registry import registry
from trex_tui.old.lint.run import run as run_lint
from trex_tui.old.report.charts.catalogue import CHARTS
from trex_tui.old.report.charts.cells import draw
from trex_tui.old.report.charts.figure import Palette, Subject
from trex_tui.old.report.export import ExportFormat, comparison_as, file_stem, layers_as
from trex_tui.old.report.views import build, build_details, build_summary, layer_table, memory, timing
from trex_tui.old.report.views import engine as overview
from trex_tui.old.report.views import layer_details as layer_text
from trex_tui.old.report.views import lint as findings
from trex_tui.old.report.views.engine import summary_document
from trex_tui.old.report.views.lint import EngineReport, LintReport
from trex_tui.old.report.views.summary import print_summaries

WITHOUT_SETS = frozenset(
    {"open", "demo", "serve", "mcp", "keys", "schema", "explain", "capture", "doctor", "accuracy"}
)
"""Commands without a result of a set of files."""
WAYS: dict[str, tuple[tuple[str, ...], ...]] = {
    "summary": ((), ("--by", "kind")),
    "layers": ((), ("--chart", "bar")),
    "diff": ((), ("--chart", "kind")),
    "history": ((), ("--spread",)),
    "engines": ((), ("--by", "precision"), ("--pareto", "layers,latency_median_ms")),
}
"""Options with which a command makes other documents."""
MOST_LOOKED_AT = 12
"""Layers whose details and neighbours are drawn."""
FILTERS = (
    "conv",
    "ms>0.01",
    'name~"a.*b"',
    "precision:int8 or tactic:x",
    "not weights>1Mi",
    "kernel:3x3 groups>1 or attr.Stride:1",
)
PALETTE = Palette(lambda _: "", lambda _: "")
COMMANDS = (
    ("summary",),
    ("summary", "--json"),
    ("layers", "--format", "csv"),
    ("layers", "--format", "json"),
    ("layers", "--format", "md", "--sort", "latency_ms"),
    ("layers", "--filter", "conv"),
    ("lint",),
    ("lint", "--format", "json"),
    ("lint", "--format", "sarif"),
    ("lint", "--format", "github"),
    ("lint", "--format", "md"),
)


class BrokenContractError(AssertionError):
    """What a reader or a report did that it must never do."""


@lru_cache
def list_commands() -> list[tuple[str, ...]]:
    """Every command that has a result of a set, in each of its formats: name, format, further options."""
    (commands,) = (
        action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction)
    )
    formats = {
        name: next(action.choices for action in parser._actions if action.dest == "format")
        for name, parser in commands.choices.items()
        if name not in WITHOUT_SETS
    }
    return [
        (name, form, *more)
        for name, forms in formats.items()
        for form in forms
        for more in WAYS.get(name, ((),))
    ]


def examine_command(folder: Path, whole: Path, target: Path, command: Sequence[str]) -> list[str]:
    """Run one command of `list_commands` on a folder.

    Args:
        whole: The same set, undamaged, for `diff`.
        target: A directory for commands that write several files.

    Raises:
        BrokenContractError: A promise was broken.
    """
    name, form, *_ = command
    before = _contents(folder)
    told: list[str] = []
    out = _run(_command_line(command, folder, whole, target), told)
    if form in ("json", "sarif", "trace") and out:
        json.loads(out, parse_constant=_refuse)
    if out and form in ("text", "md", "json", "html", "sarif", "github") and name != "metadata":
        _check_stated(out, told, folder)
    for line in told:
        check_line(line)
        if line.startswith("error: ") and "; " not in line:
            raise BrokenContractError(f"an error without a remedy: {line[:200]!a}")
    if _contents(folder) != before:
        raise BrokenContractError("the input was changed")
    return told


def _command_line(command: Sequence[str], folder: Path, whole: Path, target: Path) -> list[str]:
    name, form, *more = command
    paths = [folder]
    if name == "diff":
        paths = [whole, folder]
    elif name == "build-log":
        paths = [path for path in sorted(folder.iterdir()) if ".log" in path.name][:1] or [
            folder / "absent.log"
        ]
    where = {("export", "trex"): ["-o", str(target)], ("times", "csv"): ["--outdir", str(target)]}
    return [name, *map(str, paths), "--format", form, *more, *where.get((name, form), [])]


def _check_stated(out: str, told: Sequence[str], folder: Path) -> None:
    """What stderr calls an error, the result states too."""
    plain = out.replace("\\", "")
    for line in told:
        if not line.startswith("error: ") or "--strict" in line or "is not judged" in line:
            continue
        for path in folder.iterdir():
            is_named = str(path) in line and is_damage(Diagnostic(Severity.ERROR, path, "", ""))
            if is_named and path.name not in plain:
                raise BrokenContractError(f"the result does not name the damaged {path.name}")


def examine(folder: Path, command: Sequence[str] = ("summary",), *, thorough: bool = True) -> list[str]:
    """Look at everything below a folder with every reader and every report.

    Args:
        command: One command line to run on it as well, if it is looked at thoroughly.
        thorough: Else with readers, summary and lint only, which takes a tenth of the time.

    Returns:
        What was wrong with the files, as people are told.

    Raises:
        BrokenContractError: A promise was broken.
        Exception: Whatever should have been a `TrexError`.
    """
    before = _contents(folder)
    told: list[str] = []
    engines = list(_loaded(folder, told))
    for engine in engines:
        _json(summary_document([engine]))
        if thorough:
            look_at(engine)
        else:
            _check_rules(run_lint(engine, LintConfig()))
    for log in sorted(path for path in folder.rglob("*") if ".log" in path.name and path.is_file()):
        _read_log(log, engines, told)
    if thorough:
        _run([*command, str(folder)], told)
    for line in told:
        check_line(line)
    if _contents(folder) != before:
        raise BrokenContractError("the input was changed")
    return told


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _loaded(folder: Path, told: list[str]) -> Iterator[Engine]:
    try:
        found = scan(folder)
    except TrexError as error:
        told.append(str(error))
        return
    told += map(str, found.diagnostics)
    for source in found.sets:
        try:
            engine = load_set(source)
        except TrexError as error:
            told.append(str(error))
            continue
        told += map(str, engine.diagnostics)
        yield engine


def look_at(engine: Engine) -> None:
    """Everything that commands and screens make of an engine."""
    check_text(_printed(lambda console: print_summaries([engine], console)))
    for form in (ExportFormat.CSV, ExportFormat.JSON, ExportFormat.MARKDOWN):
        text = layers_as(form, engine, engine.layers, engine_columns(engine))
        text.encode()
        check_text(text)
    brief = columns_named(layer_table.BRIEF_COLUMNS)
    check_text(_printed(lambda console: layer_table.print_layers(engine, engine.layers[:9], brief, console)))
    for column in engine_columns(engine):
        layer_table.sorted_layers(engine, column)
    for text in FILTERS:
        with contextlib.suppress(FilterError):
            filter_layers(engine, text)
    if "/" in (stem := file_stem(engine.name)) or not stem or stem.startswith((".", "-")):
        raise BrokenContractError(f"a file would be called {stem!r}")
    _screens(engine)
    _lint(engine)
    _self_diff(engine)


def _screens(engine: Engine) -> None:
    """What the panes draw, without drawing it."""
    analysis = overview.analyse(engine)
    for section in (
        *timing.performance_sections(engine, analysis),
        *overview.engine_sections(engine, analysis),
    ):
        check_text("\n".join([*section.sentences, *(text for fact in section.facts for text in fact)]))
    overview.bound_sentences(analysis)
    if analysis.statistics is not None:
        timing.performance_table(analysis.statistics)
        if analysis.statistics.stability is not None:
            timing.describe_stability(analysis.statistics.stability)
    figures = memory.memory_figures(engine)
    memory.describe_peak(engine, figures.activations)
    memory.describe_tensors(engine, figures.values)
    whole_lanes(engine, 6)
    facts = derived(engine)
    for layer in _some(engine.layers):
        list(layer_text.layer_lines(engine, layer, facts))
        around = neighbourhood(engine, layer, 2)
        fitted(around.producers, 5)
        fitted(around.consumers, 5)
        memory.describe_live(figures.activations, layer.index)
    for grouping in Grouping:
        _walk(engine, arrange(engine.layers, grouping, engine), grouping)
    subject = Subject(engine, engine.layers, PALETTE, current=engine.layers[0] if engine.layers else None)
    for chart in CHARTS:
        for width, height in ((80, 20), (31, 9), (3, 2)):
            draw(chart, subject, width, height)


def _some(items: Sequence[Any]) -> Sequence[Any]:
    return items[:: max(1, len(items) // MOST_LOOKED_AT)]


def _walk(engine: Engine, group: Group, grouping: Grouping) -> None:
    """Open the tree, as deep as it goes along a few branches."""
    pending: list[tuple[Group, int]] = [(group, 0)]
    while pending:
        one, depth = pending.pop()
        if one.path:
            list(layer_text.group_lines(engine, one, grouping))
        entries = ordered_entries(one, grouping, by_latency=True)
        for entry in _some(entries)[:MOST_LOOKED_AT]:
            if isinstance(entry, Group):
                if depth < 30:
                    pending.append((entry, depth + 1))
            else:
                layer_label(entry, grouping, depth)


def _lint(engine: Engine) -> None:
    config = LintConfig()
    result = run_lint(engine, config)
    _check_rules(result)
    rules = registry().rules
    engine_report = EngineReport(engine, result)
    for entry in findings.list_entries(engine_report):
        list(findings.finding_lines(entry, rules))
    findings.fit_summary(engine_report)
    report = LintReport((engine_report,), config, ())
    from trex_tui.old.report.render_lint import lint_document, lint_github, lint_markdown, print_lint
    from trex_tui.old.report.render_sarif import lint_sarif

    _json(lint_document(report))
    _json(lint_sarif(report, rules))
    check_text(lint_markdown(report))
    check_text(lint_github(report))
    check_text(_printed(lambda console: print_lint(report, console)))


def _check_rules(result: LintResult) -> None:
    if result.failed:
        reasons = [one.reason for one in result.not_checked if one.rule in result.failed]
        raise BrokenContractError(f"lint rules broke: {'; '.join(reasons)}")


def _self_diff(engine: Engine) -> None:
    from trex_tui.old.report.views.compare import Shown

    comparison = compare([engine, engine], baseline=0, align="auto", per_batch=False)
    differing = [
        block for block in comparison.blocks if block.changes or block.is_one_sided or block.delta_ms
    ]
    if differing:
        raise BrokenContractError(
            f"an engine differs from itself: {differing[0].changes or differing[0].layers}"
        )
    shown = Shown(comparison, comparison.by_delta())
    for form in ExportFormat:
        if form is ExportFormat.SVG:
            continue
        text = comparison_as(form, shown)
        if form is ExportFormat.JSON:
            json.loads(text, parse_constant=_refuse)
        check_text(text)


def _read_log(path: Path, engines: Sequence[Engine], told: list[str]) -> None:
    try:
        trace = read_build_log(path)
    except TrexError as error:
        told.append(str(error))
        return
    told += map(str, trace.diagnostics)
    facts = build_facts(trace)
    with contextlib.suppress(TrexError):
        build.check_build_log(trace)
    _json(build_summary.build_log_document(facts, None, 10))
    _json(metadata_document(trace))
    check_text("".join(f"{line}\n" for line in build_summary.build_log_text(facts, 10)))
    for tuning in _some(trace.tunings):
        named = build_summary.find_tuned(facts, tuning.name)
        check_text("".join(f"{line}\n" for line in build_summary.layers_text(facts, named, 10)))
    build.phase_nodes(trace)
    build.pass_nodes(trace)
    list(build_details.memory_lines(trace))
    for engine in engines:
        if path in engine.files.values():
            _joined(trace, engine)


def _joined(trace: Any, engine: Engine) -> None:  # noqa: ANN401 - BuildTrace
    facts = build_facts(trace, engine)
    list(build_details.overview_lines(trace, engine))
    build.strategy_nodes(facts)
    build_details.tuned_summary(facts)
    for tuned in _some(facts.tuned):
        tactic_rows(facts, tuned)
        list(build_details.item_lines(facts, tuned))


def _run(arguments: Sequence[str], told: list[str]) -> str:
    """A command as it is typed, within this process; its output, empty for one that is not text."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err
    try:
        code = cli.main(arguments)
        parts = [stream.flush() or stream.buffer.getvalue() for stream in (out, err)]  # type: ignore[attr-defined]
    finally:
        sys.stdout, sys.stderr = before
    if code not in (0, 1, 2):
        raise BrokenContractError(f"{' '.join(arguments)} exits with {code}")
    is_binary = any(form in arguments for form in ("png", "onnx", "parquet", "xlsx"))
    texts = ["" if is_binary else parts[0].decode(), parts[1].decode()]
    for text in texts:
        check_text(text)
    if code == 2 and "trex-tui: error: " not in texts[1]:
        raise BrokenContractError(f"{' '.join(arguments)} fails without a word: {texts[1][:200]!r}")
    told += [line.partition(": ")[2] for line in texts[1].splitlines()]
    return texts[0]


def _printed(show: Callable[[Console], None]) -> str:
    console = Console(file=io.StringIO(), width=1_000_000, color_system=None, markup=False, highlight=False)
    with console.capture() as captured:
        show(console)
    return captured.get()


def _json(document: object) -> None:
    json.loads(json.dumps(document, allow_nan=False))


def _refuse(text: str) -> None:
    raise BrokenContractError(f"{text} is not JSON")


_MAY_ACT = re.compile(
    "[\0-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def check_text(text: str) -> None:
    """Nothing that a terminal acts on, and nothing that cannot be written."""
    if found := _MAY_ACT.search(text):
        around = text[max(0, found.start() - 60) : found.end() + 20]
        raise BrokenContractError(
            f"U+{ord(found[0]):04X} ({unicodedata.category(found[0])}) gets out: {around!a}"
        )


def check_line(text: str) -> None:
    """What people are told is no traceback. (Names in it are data, and made harmless where it is shown.)"""
    if "Traceback (most recent" in text:
        raise BrokenContractError(f"a traceback: {text[:200]!a}")
