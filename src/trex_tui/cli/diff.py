"""`diff`: engines compared layer by layer; a gate for CI."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from trex_tui.cli.options import (
    CommandParser,
    add_file,
    add_filter,
    add_paths,
    add_result,
    add_sort,
    add_top,
    positive,
)
from trex_tui.cli.results import Result, complain
from trex_tui.errors import ExitCode, Note, Severity, TrexError
from trex_tui.text import did_you_mean, plural, printable

if TYPE_CHECKING:
    from trex_tui.analysis.gates import Gate
    from trex_tui.cli.loading import Loader
    from trex_tui.compare.comparison import Comparison
    from trex_tui.engine.model import Engine

HELP = "Compare engines layer by layer"
EPILOG = """\
The first engine is the baseline; a delta is another one less the baseline.

GATE is METRIC OPERATOR NUMBER. A signed number is the difference from the
baseline (+0.1, -5%), an unsigned one the engine's value. METRIC:
  latency_{min,mean,median,p90,p95,p99,max}_ms, throughput_qps   end to end
  gpu_compute_, enqueue_, h2d_, d2h_ with the same endings       its parts
  verdict == slower (faster, same)                          median, beyond noise
  latency_sum_ms, latency_sum_ms.KIND, .PRECISION                    layer times
  any_layer_ms, any_layer_ms.KIND                      the worst matched layer
  layer_ms.NAME                           quotes for spaces; * and ? match more
  layers, layers.KIND, layers.PRECISION, matched_pct           counts and shares
  findings, findings.SEVERITY, findings.RULE                            of lint
  weights_bytes, activation_peak_bytes                                    memory
  power_mean_w, power_peak_w, energy_per_inference_j,
  inferences_per_joule                          power (needs power samples)

Exit code: 0 no gate failed; 1 a gate failed; 2 bad input, or a gate was not
judged: unknown numbers, a damaged file, layers without time, different batch
or device, or unknown noise with --significant.

examples:
  trex-tui diff fp16.graph.json int8.graph.json
  trex-tui diff results/
  trex-tui diff --runs main-1/ main-2/ main-3/ --runs pr-1/ pr-2/ pr-3/
  trex-tui diff batches.profile.json --run-a 1 --run-b 4
  trex-tui diff main/ pr/ --format md --top 10
  trex-tui diff main/ pr/ --fail-on 'latency_p99_ms > +5%'
  trex-tui diff main/ pr/ --fail-on 'latency_p99_ms > +5%' --significant
  trex-tui diff main/ pr/ --fail-on 'any_layer_ms.convolution > +20%'
  trex-tui diff main/ pr/ --fail-on 'layers.fp32 > 0' --json
  trex-tui diff a/ b/ --filter 'kind:convolution' -o convolutions.csv
  trex-tui diff a/ b/ --why --filter 'kind:convolution'
  trex-tui diff a/ b/ --rename 's/^.wrapper//'
"""
_FORMATS = ("text", "json", "csv", "md", "html", "xlsx", "parquet")
_TABLES = ("csv", "xlsx", "parquet")


def add_arguments(parser: CommandParser) -> None:
    add_paths(parser)
    add_filter(parser)
    add_sort(parser, "largest difference first")
    add_top(parser, 20)
    parser.add_argument(
        "--rename",
        action="append",
        default=[],
        metavar="s/A/B/",
        help="replace a regular expression in names before matching; may be repeated",
    )
    parser.add_argument(
        "--why",
        action="store_true",
        help="explain changed tactics from both verbose build logs: timed, skipped and cached tactics",
    )
    unit = parser.add_mutually_exclusive_group()
    unit.add_argument(
        "--per-sample",
        action="store_true",
        default=None,
        help="divide times by the batch (ms per sample); default if the batches differ",
    )
    unit.add_argument(
        "--per-inference",
        dest="per_sample",
        action="store_false",
        help="times per inference, even if the batches differ",
    )
    add_file(
        parser,
        "--runs",
        nargs="+",
        action="append",
        default=[],
        metavar="PATH",
        help="several runs of an engine: their spread is the noise; repeat the option for each engine",
    )
    for option, whose in (("--run-a", "the first engine"), ("--run-b", "the second")):
        parser.add_argument(
            option,
            type=positive,
            metavar="N",
            help=f"run of {whose} in files with several runs; with one PATH, compare two of its runs",
        )
    gates = parser.add_argument_group("gates")
    gates.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="GATE",
        help="exit with 1 if GATE holds, such as 'latency_p99_ms > +5%%'; may be repeated",
    )
    gates.add_argument(
        "--significant",
        action="store_true",
        help="end-to-end gates on a difference fail only on statistically significant changes",
    )
    add_result(parser, _FORMATS, schema="diff/2")


def run(options: argparse.Namespace) -> int:
    from trex_tui.analysis.gates import parse_gate
    from trex_tui.compare.builds import explain_builds
    from trex_tui.compare.comparison import compare
    from trex_tui.compare.gates import METRICS, judge_gates
    from trex_tui.compare.names import parse_rename
    from trex_tui.report.views.compare import (
        Shown,
        blocks_document,
        choose_blocks,
        compare_document,
    )
    from trex_tui.report.views.gates import explain_gate

    result = Result(options)
    renames = [parse_rename(text) for text in options.rename]
    gates = [parse_gate(text, METRICS) for text in options.fail_on]
    loader, runs, strays = _load(options)
    comparison = compare(
        [own[0] for own in runs],
        renames=renames,
        is_per_sample=options.per_sample,
        further_runs=[own[1:] for own in runs],
    )
    index = choose_blocks(comparison, options.filter, options.sort, is_reversed=options.reverse)
    if options.filter and not len(index):
        complain(f"0 of {plural(len(comparison.blocks), 'block')} match")
    results = judge_gates(
        comparison,
        gates,
        is_significant=options.significant,
        count_findings=_count_findings(comparison, gates),
    )
    builds = [explain_builds(comparison, engine) for engine in comparison.others] if options.why else []
    shown = Shown(comparison, index, options.top or None, options.filter, results, builds, strays)
    document = blocks_document(shown) if result.format in _TABLES else compare_document(shown)
    code = result.write(document, loader.inputs())
    for judged in results:
        if judged.is_met is not False:
            complain(f"gate {judged.state}: {judged.gate.text}: {explain_gate(judged)}")
    if any(judged.is_met is None for judged in results):
        return max(code, int(ExitCode.BAD_INPUT))
    return max(code, int(ExitCode.FINDINGS if any(judged.is_met for judged in results) else ExitCode.OK))


def _load(options: argparse.Namespace) -> tuple[Loader, list[list[Engine]], Sequence[Note]]:
    """Return the runs of each engine, the one that is compared layer by layer first, and notes that belong to none.

    Raises:
        TrexError: The options name fewer than two engines, or contradict each other.
        ArtifactError: An engine cannot be loaded.
    """
    from trex_tui.cli.loading import Loader

    groups = [*options.runs, *([options.paths] if options.runs and options.paths else [])]
    if groups and len(groups) < 2:
        raise TrexError("--runs: diff compares two or more engines; write --runs A1 A2 --runs B1 B2")
    if groups:
        options.paths = [path for group in groups for path in group]
    loader = Loader(options)
    if options.run_a is not None or options.run_b is not None:
        if groups or options.run is not None:
            other = "--runs" if groups else "--run"
            raise TrexError(f"{other} cannot be combined with --run-a and --run-b; remove one of them")
        return loader, _load_two(loader, options), loader.discovery.notes
    engines, strays = loader.load_all()
    if not groups:
        if len(engines) == 1 and len(set(options.paths)) < len(options.paths):
            engines *= 2  # a path against itself
        damage = [note for note in strays if note.severity is Severity.ERROR]
        if len(engines) < 2 and damage:
            raise TrexError(str(damage[0]))
        return loader, [[engine] for engine in engines], strays
    from trex_tui.artifacts.discover import find_sets

    sizes = [sum(len(find_sets(path).sets) for path in group) for group in groups]
    if sum(sizes) != len(engines):
        raise TrexError(f"--runs: {sum(sizes) - len(engines)} of {sum(sizes)} runs cannot be read")
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    return loader, [engines[start : start + size] for start, size in zip(starts, sizes, strict=True)], strays


def _load_two(loader: Loader, options: argparse.Namespace) -> list[list[Engine]]:
    """Load the runs that `--run-a` and `--run-b` choose, from two sets or one."""
    sources = loader.discovery.sets
    if len(sources) > 2:
        known = ", ".join(printable(source.name) for source in sources)
        raise TrexError(f"--run-a and --run-b need one or two engines; {len(sources)} found ({known})")
    engines = []
    for source, number in zip((sources[0], sources[-1]), (options.run_a, options.run_b), strict=True):
        engine = loader.load(source, number)
        runs = engine.runs
        numbers = {*runs["number"][runs["is_shown"].astype(bool)]} if len(runs) else set()
        is_named = len(numbers) == 1 and (len(sources) == 1 or number is not None)
        engines.append(replace(engine, name=f"{engine.name} run {numbers.pop()}") if is_named else engine)
    if len(sources) == 1 and engines[0].name == engines[1].name:
        name = printable(engines[0].name)
        raise TrexError(f"{name}: both are the same run; choose two runs with --run-a and --run-b")
    return [[engine] for engine in engines]


def _count_findings(
    comparison: Comparison, gates: Sequence[Gate]
) -> Callable[[int, str], float | None] | None:
    """Return a function that counts the lint findings of an engine; None without a gate on them.

    Raises:
        TrexError: A gate names no severity or rule.
    """
    parts = [gate.part for gate in gates if gate.metric == "findings"]
    if not parts:
        return None
    from trex_tui.lint.config import find_config
    from trex_tui.lint.rule import FindingSeverity
    from trex_tui.lint.rules import load_rules
    from trex_tui.lint.run import run_rules

    rules = load_rules()
    known = [*(severity.value for severity in FindingSeverity), *(rule.id for rule in rules.rules)]
    for part in parts:
        if part and part.casefold() not in {name.casefold() for name in known}:
            hint = did_you_mean(part, known)
            raise TrexError(f"unknown severity or rule {part!r} in a gate{'; ' if hint else ''}{hint}")
    config = find_config(rules)
    results = [run_rules(engine, config, rules) for engine in comparison.engines]

    def count(engine: int, part: str) -> float | None:
        found = results[engine]
        words = [("", finding.rule.id.casefold(), finding.severity.value) for finding in found.findings]
        return None if found.failed else sum(part.casefold() in own for own in words)

    return count
