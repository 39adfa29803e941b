"""Options of the commands that read files."""

from __future__ import annotations

from trex_tui.old.cli.argument_types import positive, whole
from trex_tui.old.cli.command_parser import GLOBAL_OPTIONS, CommandParser
from trex_tui.old.cli.options import (
    Commands,
    add_by,
    add_columns,
    add_command,
    add_engine_command,
    add_engine_globals,
    add_filter,
    add_outdir,
    add_result_options,
    add_run,
    add_sort,
    add_top,
    complete_files,
)

LINT_FORMATS = ("text", "json", "sarif", "github", "md")
SEVERITIES = ("error", "warning", "info", "good")
DIFF_FORMATS = ("text", "md", "json", "csv", "html")
DIFF_CHARTS = ("kind", "precision", "module", "block")
REPORT_FORMATS = ("html", "md", "json")
ENGINES_FORMATS = ("text", "json", "csv", "md", "html", "parquet")
HISTORY_FORMATS = ("text", "md", "json", "html")
HISTORY_KEYS = ("date", "tensorrt", "path", "git")
"""Those of `fleet.history.KEYS`, which parsers do not load, and the commits of a repository."""
EXPORT_FORMATS = (
    *("dot", "svg", "png", "graphml", "json", "onnx", "onnx-annotated"),
    *("csv", "parquet", "xlsx", "trace", "trex", "tea"),
)
COLORS = ("kind", "precision", "latency")
LAYOUTS = ("auto", "dot", "builtin")
CHART_IDS = (
    *(
        "layers",
        "precision-order",
        "bar",
        "scatter",
        "distribution",
        "spread",
        "pareto",
        "kind",
        "precision",
        "kind-precision",
        "tactic",
    ),
    *("reformats", "products", "roofline", "efficiency", "memory", "icicle"),
    *("histogram", "over-time", "percentiles", "power", "temperature", "clock"),
)
"""Copy of the ids in `charts.catalogue`, which parsers do not load."""
_COLOR = "column shown by color"
_ROWS = 20
"""Copy of `document.TOP`, which parsers do not load."""
MOST_SESSIONS = 8
"""For `serve`: an explorer takes 60 MB and more, so that 8 fit into any machine."""


def _add_read_only(command: CommandParser) -> None:
    command.add_argument(
        "--read-only",
        action="store_true",
        help="open no other paths and write no files (no exports, settings, suppressions, captures)",
    )


def add_open(commands: Commands[CommandParser]) -> None:
    command = add_engine_command(
        commands,
        "open",
        "Explore engines in the terminal (the default)",
        "Explore engines in the terminal.",
        """\
`open` is optional unless PATH is the name of a command.

examples:
  trex-tui results/alexnet
  trex-tui open results/
""",
    )
    _add_read_only(command)


def add_demo(commands: Commands[CommandParser]) -> None:
    demo = add_command(
        commands,
        "demo",
        "Explore the samples of trex-tui",
        "Explore the samples of trex-tui: no files, no GPU and no clone needed.",
        """\
The samples are files of real runs: `alexnet` and `resnet18` in FP16 on a
laptop, `resnet-a100` in FP16 and INT8 (`qat`, `qat-residual`), a build log, an
engine with layer names only, and `damaged` files. README.md there states their
origins.

examples:
  trex-tui demo
  trex-tui demo --path
""",
    )
    demo.add_argument(
        "--path", action="store_true", help="print the directory of the samples, for other commands"
    )
    _add_read_only(demo)
    add_engine_globals(next(group for group in demo._action_groups if group.title == GLOBAL_OPTIONS))


def add_serve(commands: Commands[CommandParser]) -> None:
    serve = add_engine_command(
        commands,
        "serve",
        "Leaves with the next version",
        "Serve the explorer to a browser (needs pip install 'trex-tui[web]').",
        """\
Prints the address to open. It contains a secret: anyone who has it can read
your files. Exports are downloads.

examples:
  trex-tui serve results/
  trex-tui serve results/ --read-only --host 0.0.0.0 --port 8080
""",
    )
    serve.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="HOST",
        help="address to listen on; default: 127.0.0.1, this machine only",
    )
    serve.add_argument("--port", type=whole, default=8000, metavar="N", help="port; default: 8000")
    serve.add_argument(
        "--max-sessions",
        type=positive,
        default=MOST_SESSIONS,
        metavar="N",
        help=f"concurrent browser sessions, one process each; default: {MOST_SESSIONS}",
    )
    _add_read_only(serve)


def add_summary(commands: Commands[CommandParser]) -> None:
    summary = add_engine_command(
        commands,
        "summary",
        "Show an overview and time breakdown per engine",
        "Show an overview and time breakdown per engine.",
        """\
examples:
  trex-tui summary results/alexnet
  trex-tui summary results/ --format md -o engines.md
  trex-tui summary results/ --json | jq '.engines[].name'
  trex-tui summary results/alexnet --by kind,precision
  trex-tui summary results/alexnet --by origin --filter kind:reformat
  trex-tui summary results/ --by kind,tactic --format csv -o tactics.csv
""",
    )
    summary.add_argument("--all", action="store_true", help="also show options at their default")
    add_by(summary, "layers and time, such as kind,precision; all groups unless --top is given; also as csv")
    add_filter(summary)
    add_top(summary, 5)
    add_result_options(summary, ("text", "json", "md", "csv"), schema="summary/2", has_strict=True)
    summary.set_defaults(top=None, formats=("text", "json", "md"))


FILTER_EXAMPLES = """\
FILTER EXPR: a bare word matches part of a name; COLUMN:VALUE, COLUMN>NUMBER
and COLUMN~"REGEX" test a column; and, or, not, - and ( ) combine them. `:`
matches part of names, tactics and other free text, `=` the whole text.
`trex-tui explain` lists the columns; attr.KEY is an attribute of the file.

In a terminal the table fits the width: short headings, elided names and a
totals line. In a pipe or a file nothing is cut, and headings are column names.

examples:
  trex-tui layers results/alexnet --sort latency_ms --top 10
  trex-tui layers results/alexnet --filter 'conv -reformat'
  trex-tui layers results/alexnet --filter 'kind:gemm,convolution latency_pct>2'
  trex-tui layers results/alexnet --filter '(precision:fp16 or ms<10us) conv'
  trex-tui layers results/alexnet --filter 'name~"features\\.[36]" weights>=1Mi'
  trex-tui layers results/alexnet --filter 'kernel:3x3 tactic:xmma' --sort ms
  trex-tui layers results/alexnet --columns name,ms,attr.Groups -o net.csv
  trex-tui layers results/alexnet --chart roofline -o roofline.svg
  trex-tui layers results/alexnet --chart bar --top 20 -o per_layer_time.png
  trex-tui layers net/ --chart bar --value macs --color groups -o macs.svg
  trex-tui layers net/ --chart bar --x kind --y ms
  trex-tui layers net/ --chart scatter --x macs --y ms --color bound
"""


def add_layers(commands: Commands[CommandParser]) -> None:
    layers = add_engine_command(
        commands,
        "layers",
        "List the layers of an engine",
        "List, filter and sort the layers of one engine.",
        FILTER_EXAMPLES,
    )
    add_filter(layers)
    add_sort(layers)
    add_columns(layers)
    add_top(layers)
    charts = layers.add_argument_group("chart")
    charts.add_argument(
        "--chart",
        choices=("svg", *CHART_IDS),
        metavar="ID",
        help="draw a chart of these layers instead: text (default in a terminal), svg (default elsewhere) or png "
        f"(needs rsvg-convert); --top keeps the layers with the largest values; charts: {', '.join(CHART_IDS)}",
    )
    charts.add_argument(
        "--x",
        metavar="COLUMN",
        help="scatter: numeric column of the horizontal axis; bar: column whose values make groups",
    )
    charts.add_argument(
        "--y",
        "--value",
        dest="value",
        metavar="COLUMN",
        help="numeric column of the charts layers, bar, scatter and distribution; default: latency_ms",
    )
    charts.add_argument("--size", metavar="COLUMN", help="scatter: numeric column shown by size")
    charts.add_argument(
        "--color",
        metavar="COLUMN",
        help=f"{_COLOR}; default: kind, and precision for the chart kind-precision",
    )
    add_result_options(
        layers, ("text", "csv", "json", "md", "svg", "png"), schema="layers/1", has_strict=True
    )
    layers.set_defaults(formats=("text", "csv", "json", "md"))


def add_lint(commands: Commands[CommandParser]) -> None:
    lint = add_engine_command(
        commands,
        "lint",
        "Find problems and possible savings",
        "Find problems in engines, with their cost and remedy.",
        """\
GATE is a severity (error, warning, info: fail at or above it; never), or a
count per engine: error, warning, info or findings, OPERATOR NUMBER.

--select, --ignore, thresholds and suppressions can also be set in
trex-tui.toml under [lint], or pyproject.toml under [tool.trex-tui.lint].

Exit code: 0 no finding at or above --fail-on; 1 findings; 2 bad input, a rule
failed (skip it with --ignore) or a file is damaged (skip the gate with
--fail-on never).

examples:
  trex-tui lint results/alexnet
  trex-tui lint results/ --fail-on warning
  trex-tui lint results/ --fail-on 'warning > 5'
  trex-tui lint results/alexnet --select CONV,QDQ001 --filter 'pct>1'
  trex-tui lint results/ -o lint.sarif
  trex-tui lint --rules
  trex-tui lint --explain CONV001
""",
    )
    add_filter(lint)
    rules = lint.add_argument_group("rules")
    rules.add_argument(
        "--select",
        action="append",
        metavar="IDS",
        help="run only these rules or families, such as CONV,QDQ001",
    )
    rules.add_argument("--ignore", action="append", metavar="IDS", help="skip these rules or families")
    rules.add_argument(
        "--min-severity",
        choices=SEVERITIES,
        help="hide findings below this severity; default: good (show all)",
    )
    rules.add_argument(
        "--fail-on",
        metavar="GATE",
        help="exit with 1 if GATE holds, such as 'warning'; default: error",
    )
    config = rules.add_argument("--config", metavar="FILE", help="read only this configuration file")
    complete_files(config)
    rules.add_argument("--rules", action="store_true", help="list the rules and exit")
    rules.add_argument("--explain", metavar="ID", help="explain a rule and exit")
    add_result_options(lint, LINT_FORMATS, schema="lint/2", has_strict=True)


def add_diff(commands: Commands[CommandParser]) -> None:
    diff = add_engine_command(
        commands,
        "diff",
        "Compare engines layer by layer",
        "Compare two or more engines layer by layer, across different names and fusions.",
        """\
GATE is METRIC OPERATOR NUMBER. A signed number is the difference from the
baseline (+0.1, -5%), an unsigned one the engine's value. METRIC:
  latency_{min,mean,median,p90,p95,p99,max}_ms, throughput_qps   end to end
  gpu_compute_, enqueue_, h2d_, d2h_ with the same endings       its parts
  METRIC.low, METRIC.high of these    edge of the 95 % interval of a difference
  verdict == slower (faster, same)                          median, beyond noise
  latency_sum_ms, latency_sum_ms.KIND, .PRECISION                    layer times
  any_layer_ms, any_layer_ms.KIND, any_module_ms       the worst matched layer
  layer_ms.NAME, module_ms.NAME           quotes for spaces; * and ? match more
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
  trex-tui diff --runs main-1/ main-2/ main-3/ -- pr-1/ pr-2/ pr-3/
  trex-tui diff batches.profile.json --run-a 1 --run-b 4
  trex-tui diff main/ pr/ --format md --top 10
  trex-tui diff main/ pr/ --fail-on 'latency_p99_ms > +5%'
  trex-tui diff main/ pr/ --fail-on 'latency_p99_ms > +5%' --significant
  trex-tui diff main/ pr/ --fail-on 'any_layer_ms.convolution > +20%'
  trex-tui diff main/ pr/ --fail-on 'layers.fp32 > 0' --json
  trex-tui diff a/ b/ --filter 'kind:convolution' -o convolutions.csv
  trex-tui diff a/ b/ --why --filter 'kind:convolution'
  trex-tui diff a/ b/ --chart kind -o kinds.svg
  trex-tui diff a/ b/ --rename 's/^.wrapper//' --pins pins.json
""",
    )
    add_filter(diff)
    add_top(diff, _ROWS)
    add_baseline(diff)
    diff.add_argument(
        "--align",
        choices=("auto", "onnx", "name", "signature"),
        default="auto",
        help="evidence for matching layers; default: auto (all)",
    )
    diff.add_argument(
        "--rename",
        action="append",
        default=[],
        metavar="s/A/B/",
        help="replace a regular expression in names before matching; may be repeated",
    )
    complete_files(
        diff.add_argument(
            "--pins",
            metavar="FILE",
            help="match layers as pinned in the explorer (e on its Compare tab writes FILE)",
        )
    )
    diff.add_argument(
        "--why",
        action="store_true",
        help="explain changed tactics from both verbose build logs: timed, skipped and cached tactics",
    )
    unit = diff.add_mutually_exclusive_group()
    unit.add_argument(
        "--per-sample",
        "--per-batch",
        dest="per_sample",
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
    runs = diff.add_argument(
        "--runs",
        nargs="+",
        action="append",
        default=[],
        metavar="PATH",
        help="several runs per engine, engines separated by --: --runs a1 a2 -- b1 b2; sets named X.again-N and "
        "X.repeat-N/ count as runs of X",
    )
    complete_files(runs)
    for option, whose in (("--run-a", "the first engine"), ("--run-b", "the second")):
        diff.add_argument(
            option,
            type=positive,
            metavar="N",
            help=f"run of {whose} in files with several runs; with one PATH, compare two of its runs",
        )
    diff.add_argument(
        "--chart",
        choices=DIFF_CHARTS,
        metavar="ID",
        help="draw the times of all engines as bars instead: text (default in a terminal), svg (default "
        "elsewhere) or png (needs rsvg-convert); charts: "
        f"{', '.join(DIFF_CHARTS)}",
    )
    gates = diff.add_argument_group("gates")
    gates.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="GATE",
        help="exit with 1 if GATE holds, such as 'latency_p99_ms > +5%%'; may be repeated",
    )
    gates.add_argument(
        "--significant",
        "--significant-only",
        action="store_true",
        help="end-to-end gates on a difference fail only on statistically significant changes",
    )
    add_result_options(diff, (*DIFF_FORMATS, "svg", "png"), schema="diff/1", has_strict=True)
    diff.set_defaults(formats=DIFF_FORMATS)


def add_baseline(parser: CommandParser) -> None:
    parser.add_argument(
        "--baseline",
        metavar="NAME",
        help="engine to compare with: a name, or a number from 1; default: the first",
    )


def add_report(commands: Commands[CommandParser]) -> None:
    report = add_engine_command(
        commands,
        "report",
        "Write a report as HTML, Markdown or JSON",
        "Write a report on one or more engines and their differences.",
        """\
The report combines summary, lint, diff and build-log. An HTML report is one
self-contained file; for a PDF, print it from a browser.

examples:
  trex-tui report results/alexnet -o alexnet.html
  trex-tui report fp16/ int8/ -o precisions.html
  trex-tui report results/alexnet -o alexnet.md
  trex-tui report results/ --json | jq '.engines[].sections[].tables[].id'
""",
    )
    add_top(report, _ROWS)
    add_baseline(report)
    add_result_options(report, REPORT_FORMATS, default="md", schema="report/2", has_strict=True)


def add_engines(commands: Commands[CommandParser]) -> None:
    engines = add_engine_command(
        commands,
        "engines",
        "Compare many engines in one table",
        "Show a row per engine, and per run of files with several runs.",
        """\
Engines with the same inputs and outputs and mostly the same nodes are one
model. --by never mixes models. A set that cannot be read is a row with its
error.

--filter is the language of `trex-tui layers`, with the columns of this table;
`trex-tui explain engines` lists them. text, md and html have the main columns,
csv, json and parquet all but findings and saving_ms, which run lint.

html and md add the charts of each model: the Pareto front of two measures, the
latency over time, and the layer times by kind.

examples:
  trex-tui engines nightly/
  trex-tui engines nightly/ --filter 'device:orin p99<5' --sort p99 --reverse
  trex-tui engines nightly/ --by device,precision
  trex-tui engines nightly/ --columns engine,median,findings,saving
  trex-tui engines nightly/ --pareto median,energy,device -o fleet.html
  trex-tui engines nightly/ -o fleet.parquet
""",
    )
    add_columns(engines)
    add_filter(engines, noun="engine")
    add_sort(engines, "order found")
    add_top(engines)
    add_by(engines, "number of engines, range of measures and best engine, each within one model")
    engines.add_argument(
        "--pareto",
        metavar="X,Y[,COLOR]",
        help="measures of the Pareto charts in html and md, and the column shown by colour",
    )
    reading = engines.add_argument_group("reading")
    reading.add_argument(
        "--jobs", type=positive, metavar="N", default=1, help="processes that read sets; default: 1"
    )
    reading.add_argument(
        "--dask", metavar="ADDRESS", help="read on the workers of a Dask cluster, which see the same paths"
    )
    reading.add_argument("--no-cache", action="store_true", help="read all files, and keep no rows")
    complete_files(
        reading.add_argument(
            "--out",
            metavar="DIR",
            help="instead of a table, add the rows that DIR lacks to its Parquet files, one directory per model",
        )
    )
    add_result_options(engines, ENGINES_FORMATS, schema="engines/1", has_strict=True)


def add_history(commands: Commands[CommandParser]) -> None:
    history = add_engine_command(
        commands,
        "history",
        "Leaves with the next version",
        "Show the builds of a model in order, and the builds at which a measure changes.",
        """\
Engines with the same inputs, outputs, batch and device are builds of one
model. A change exceeds the noise between builds; with fewer than 6 builds and
no repeated runs, the noise within one run. Below it are the differences from
the build before.

GATE is METRIC OPERATOR NUMBER for the newest build. lastN + NUMBER is relative
to the median of the N builds before it. METRIC: latency_median_ms,
latency_p99_ms, energy_per_inference_j, weights_bytes, activation_peak_bytes,
layers.

Exit code: 0 no gate failed; 1 a gate failed; 2 bad input, or a gate was not
judged because a build or a value is missing (--allow-first: a value only).

examples:
  trex-tui history nightly/
  trex-tui history nightly/ --key path --format md
  trex-tui history nightly/ --fail-on 'latency_p99_ms > last5 + 3%'
  trex-tui history nightly/ --bisect 3 17
  trex-tui history nightly/ --spread
  trex-tui history --git .:perf/resnet
""",
    )
    history.add_argument(
        "--key",
        choices=HISTORY_KEYS,
        help="order of the builds; default: date if all have one, else that of the paths; git: commits that changed the sets "
        "of the directory PATH",
    )
    history.add_argument(
        "--git",
        metavar="REPO:PATH",
        help="instead of PATH, the sets at PATH in each commit that changed them, read without a checkout",
    )
    history.add_argument(
        "--bisect",
        nargs=2,
        metavar=("GOOD", "BAD"),
        help="first build after GOOD that differs from it, for each cause: names or numbers from 1",
    )
    history.add_argument(
        "--spread",
        action="store_true",
        help="layers that change tactic between builds, their times, near ties, and advice",
    )
    add_top(history, _ROWS)
    gates = history.add_argument_group("gates")
    gates.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="GATE",
        help="exit with 1 if GATE holds, such as 'latency_p99_ms > last5 + 3%%'; may be repeated",
    )
    gates.add_argument(
        "--allow-first",
        action="store_true",
        help="a gate that needs more earlier builds than a model has is not judged, and does not fail",
    )
    add_result_options(history, HISTORY_FORMATS, schema="history/1", has_strict=True)


def add_scaling(commands: Commands[CommandParser]) -> None:
    scaling = add_engine_command(
        commands,
        "scaling",
        "Leaves with the next version",
        "Show times per sample over batches or shapes, and the bound of each layer.",
        """\
Engines with the same inputs, outputs, device and precision are points of one
model, such as those of `trex-tui capture --sweep`. A layer's limit is launch,
latency, bandwidth or compute; it needs a profile and the peaks of the device.

examples:
  trex-tui scaling sweep/
  trex-tui scaling sweep/ --format md
  trex-tui scaling sweep/ --json | jq '.scalings[0].points'
""",
    )
    add_top(scaling, _ROWS)
    add_result_options(scaling, HISTORY_FORMATS, schema="scaling/1", has_strict=True)


def add_times(commands: Commands[CommandParser]) -> None:
    times = add_engine_command(
        commands,
        "times",
        "Show latency statistics of the timing run",
        "Show statistics of a timing run, and write its series and charts as files.",
        """\
--outdir writes summary.json, summary.csv, series of latency and enqueue time,
percentiles, and charts as SVG; damaged input files are listed in
diagnostics.csv. Several engines get one directory each. Stale files of an
earlier run are removed.

PATH may also be timing JSON of another tool: rows or columns, under "times",
"perIteration" or deeper. A key (latency_us) or "unit" sets the unit: ms
(default), s, us or ns.

examples:
  trex-tui times results/alexnet
  trex-tui times resnet.timing.json --batch 8
  trex-tui times latencies.json --json
  trex-tui times results/ --outdir timing/
""",
    )
    times.add_argument(
        "--batch", type=whole, metavar="N", help="samples per query; default: first extent of the inputs"
    )
    add_outdir(times, "none (print to stdout)")
    times.add_argument("--png", action="store_true", help="with --outdir: charts as PNG too (rsvg-convert)")
    add_result_options(times, ("text", "json", "csv"), schema="times/2", has_strict=True)


EXPORT_EXAMPLES = """\
Graphviz draws small graphs if it is installed, otherwise the built-in layout,
which needs rsvg-convert for .png.

A .tea archive contains all files of the set and opens like the set.

--format trex and tea skip damaged files and then exit with 2.

examples:
  trex-tui export results/alexnet -o alexnet.svg
  trex-tui export results/alexnet -o alexnet.dot --color precision
  trex-tui export results/alexnet -o hot.svg --highlight 'pct>5'
  trex-tui export results/alexnet -o part.svg --around features.3/conv --edges
  trex-tui export results/alexnet -o alexnet.graphml
  trex-tui export results/alexnet -o alexnet.onnx
  trex-tui export results/alexnet -o alexnet.perfetto.json
  trex-tui export results/alexnet -o alexnet.xlsx
  trex-tui export results/alexnet --format dot | dot -Tpdf > alexnet.pdf
  trex-tui export results/ --format trex -o for-trex/
  trex-tui export results/alexnet -o alexnet.tea
"""


def add_export(commands: Commands[CommandParser]) -> None:
    export = add_engine_command(
        commands,
        "export",
        "Export the graph, layers or times to a file",
        "Export the graph, layers or times of one engine for other programs.",
        EXPORT_EXAMPLES,
    )
    add_filter(export, "--query")
    add_columns(export)
    export.add_argument(
        "--around", metavar="LAYER", help="only this layer and its neighbours: name, part of a name, or index"
    )
    export.add_argument(
        "--radius", type=whole, metavar="N", help="distance of neighbours; default: 2, with --filter 0"
    )
    export.add_argument(
        "--with-engine", action="store_true", help="include the serialized engine (with --format trex or tea)"
    )
    pictures = export.add_argument_group("pictures and graphs")
    pictures.add_argument(
        "--color",
        choices=COLORS,
        default="kind",
        metavar="COLUMN",
        help=f"{_COLOR}; default: kind, others: precision, latency",
    )
    pictures.add_argument(
        "--labels",
        metavar="A,B,C",
        help="text of boxes: columns, or shape and format; default: name,kind,precision,latency",
    )
    pictures.add_argument("--edges", action="store_true", help="label edges with shape and format")
    pictures.add_argument("--highlight", metavar="EXPR", help="highlight matching layers")
    pictures.add_argument("--constants", action="store_true", help="draw weights as inputs of layers")
    pictures.add_argument("--metadata", action="store_true", help="add all layer details to the tooltips")
    pictures.add_argument("--layout", choices=LAYOUTS, default="auto", help="layout engine; default: auto")
    add_result_options(export, EXPORT_FORMATS, default="", has_strict=True)


def add_explain(commands: Commands[CommandParser]) -> None:
    explain = add_command(
        commands,
        "explain",
        "Explain a number, a word of TensorRT or the name of a layer",
        "Explain numbers (definition, unit, source), TensorRT terms and layer names.",
        """\
NAME is a key or path in JSON (memory.traffic_bytes), a label on a screen
('Critical path'), a column of layers, a lint rule or a family of rules, a word
of TensorRT, a type of layers, or the name of a layer, which is spelled out.

examples:
  trex-tui explain
  trex-tui explain p99 throughput
  trex-tui explain 'Critical path'
  trex-tui explain CONV001
  trex-tui explain kgen '||' averageMs
  trex-tui explain __myl_MulSumAdd_myl0_3
  trex-tui explain latency_ms --json
""",
        "[NAME ...]",
    )
    explain.add_argument("names", nargs="*", metavar="NAME", help="default: list all names")
    add_result_options(explain, ("text", "json"), schema="explain/2")


def add_keys(commands: Commands[CommandParser]) -> None:
    keys = add_command(
        commands,
        "keys",
        "Leaves with the next version",
        "List the keys of the explorer, by screen.",
        """\
examples:
  trex-tui keys
  trex-tui keys --format md -o keys.md
""",
    )
    add_result_options(keys, ("text", "md", "json"), schema="keys/1")


def add_schema(commands: Commands[CommandParser]) -> None:
    schema = add_command(
        commands,
        "schema",
        "Leaves with the next version",
        "Print the JSON Schema of a document, or list the documents.",
        """\
Every result of --json names its document and version in `schema`. The schema
has type, unit and definition of each key; null means unknown.

examples:
  trex-tui schema
  trex-tui schema summary
  trex-tui schema diff -o diff.schema.json
""",
        "[NAME]",
    )
    schema.add_argument("name", nargs="?", metavar="NAME", help="name of a document; default: list them")
    add_result_options(schema, ("text", "json"), schema="schemas/1")


def add_mcp(commands: Commands[CommandParser]) -> None:
    add_engine_command(
        commands,
        "mcp",
        "Serve tools for agents (Model Context Protocol)",
        "Serve read-only tools for agents on standard input and output.",
        """\
The tools: engines, summary, layers, layer, lint, compare, build_why, explain.
They read files below the paths given here and no others; links that lead
elsewhere are refused. Needs the extra mcp: pip install 'trex-tui[mcp]'.

examples:
  trex-tui mcp results/
  trex-tui mcp models/ results/
""",
    )


def add_build_log(commands: Commands[CommandParser]) -> None:
    log = add_command(
        commands,
        "build-log",
        "Analyze the log of a build",
        "Show phases, fusions, tactics, memory and warnings of a build log.",
        """\
Exit code: 0 done; 2 bad input or a damaged log (its readable part is shown).

examples:
  trex-tui build-log net.build.log
  trex-tui build-log net.build.log --top 0                        all fusions
  trex-tui build-log net.build.log --layer conv1
  trex-tui build-log net.build.log.gz --json | jq .phases
""",
        "LOG",
    )
    complete_files(
        log.add_argument(
            "log", metavar="LOG", help="log of trtexec, verbose or not, also .gz; or the directory of a set"
        )
    )
    add_run(log)
    log.add_argument(
        "--layer", metavar="NAME", help=("list the tactics timed for a layer (name or part of it)")
    )
    add_top(log, 10)
    add_result_options(log, ("text", "json"), schema="build-log/2")


def add_metadata(commands: Commands[CommandParser]) -> None:
    metadata = add_command(
        commands,
        "metadata",
        "Leaves with the next version",
        "Write options, device and performance summary as trex's metadata JSON.",
        """\
PATH is a log, a metadata file, or a directory or file of one engine. Metadata
files and logs are merged; values from logs are not truncated.

examples:
  trex-tui metadata results/net
  trex-tui metadata net.build.log
  trex-tui metadata net.build.log -o net.build.metadata.json
""",
        "PATH",
    )
    complete_files(
        metadata.add_argument(
            "path", metavar="PATH", help="log (also .gz), metadata file, or directory of an engine"
        )
    )
    add_run(metadata)
    add_result_options(metadata, ("json",), default="json", has_strict=True)
