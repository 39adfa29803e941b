"""The options of every command. Shell completion is generated from this parser too."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from typing import IO, Any

from trex_tui._version import __version__
from trex_tui.cli.argument_types import (
    FILES,
    clock,
    duration,
    input_range,
    input_shape,
    input_type,
    limit,
    number,
    positive,
    seconds,
    whole,
)

_EXAMPLES = """\
examples:
  trex-tui results/alexnet                          explore one engine, or choose from several
  trex-tui                                          the same for the current directory
  trex-tui summary results/alexnet                  what it is and where the time goes
  trex-tui summary --json results/ | jq .           the same of every engine below, for a script
  trex-tui layers results/alexnet --sort latency_ms --top 10
  trex-tui layers results/alexnet --columns name,kind,latency_ms,roof_pct,bound --format csv > layers.csv
  trex-tui layers results/alexnet --chart roofline > roofline.svg
  trex-tui times results/alexnet --outdir timing/   statistics, series and charts of the timing run
  trex-tui diff fp16/ int8/ --fail-on 'latency_p99_ms > +5%'
  trex-tui report fp16/ int8/ -o precisions.html    all of it, compared, in one file to send around
  trex-tui explain roof_pct                         what a column means and where it comes from
  trex-tui keys                                     every key of the explorer
  trex-tui serve results/ --port 8000               the explorer in a browser

A first argument that is no command is a path; write ./summary for a directory of that name.
"""

FILTER_EXAMPLES = """\
examples of --filter:
  trex-tui layers results/alexnet --filter 'conv -reformat'
  trex-tui layers results/alexnet --filter 'kind:gemm,convolution latency_pct>2'
  trex-tui layers results/alexnet --filter '(precision:int8 or ms<10us) not kind:reformat'
  trex-tui layers results/alexnet --filter 'name~"features\\.[36].*conv" weights>=1Mi'

Bare words are parts of names; `trex-tui explain` lists the columns; ? in the explorer shows more of the language.
"""
LINT_FORMATS = ("text", "json", "sarif", "github", "md")
SEVERITIES = ("error", "warning", "info", "good")

_LINT_EXAMPLES = """\
examples:
  trex-tui lint results/alexnet                        what is wrong, what it costs, what to do
  trex-tui lint results/ --fail-on warning             exit code 1 if anything is a warning or worse
  trex-tui lint results/ --fail-on 'warning > 5'       or if an engine has more than five warnings
  trex-tui lint results/alexnet --select CONV,QDQ001   only these families and rules
  trex-tui lint results/alexnet --filter 'pct>1'       only what is found about these layers
  trex-tui lint results/ --format sarif > lint.sarif   for a code host
  trex-tui lint --rules                                every rule
  trex-tui lint --explain CONV001                      what a rule looks for, why, what to do

Select, ignore, thresholds and suppressions with their reasons can stand in trex-tui.toml under [lint], or in
pyproject.toml under [tool.trex-tui.lint]. The exit code is 1 when a finding at or above --fail-on remains, and
the default of that is error: warnings are chances to be faster, not mistakes. It is 2 when a rule broke, since
nobody knows what it would have found; --ignore leaves the rule out, --fail-on never lets it be.
"""

_DIFF_EXAMPLES = """\
examples:
  trex-tui diff fp16.graph.json int8.graph.json          layer by layer, whatever their names and fusions
  trex-tui diff results/                                 all engines below, the first by name as the baseline
  trex-tui diff main/ pr/ --format md --top 10           a comment for a pull request
  trex-tui diff main/ pr/ --fail-on 'latency_p99_ms > +5%' --fail-on 'layers.fp32 > 0'
  trex-tui diff a/ b/ --filter 'kind:convolution' --format csv > convolutions.csv

gates (--fail-on): METRIC OPERATOR NUMBER. A number with a sign is a difference to the baseline (+0.1, -5%), one without is
the engine's own value. METRIC: latency_{min,mean,median,p90,p95,p99,max}_ms and throughput_qps, end to end;
latency_sum_ms, the sum of layer times, or latency_sum_ms.KIND or .PRECISION of it; layers, layers.KIND, layers.PRECISION;
weights_bytes; activation_peak_bytes. Exit code 1 if one falls; a gate that cannot be judged is an error.
"""
DIFF_FORMATS = ("text", "md", "json", "csv", "html")

_REPORT_EXAMPLES = """\
examples:
  trex-tui report results/alexnet -o alexnet.html         one file to open, send around and print
  trex-tui report fp16/ int8/ -o precisions.html          several engines: compared, then each for itself
  trex-tui report results/alexnet -o alexnet.md           tables and charts that a forge renders
  trex-tui report results/ --format json | jq '.engines[].sections[].tables[] | select(.id == "hot_layers")'

The numbers are those of summary, lint, diff and build-log. The ending of FILE names the format, unless --format does. For a
PDF print the HTML in a browser. A file that trex-tui did not write is replaced only with --force.
"""
REPORT_FORMATS = ("html", "md", "json")

_TIMES_EXAMPLES = """\
examples:
  trex-tui times results/alexnet                    latency, compute, enqueue, copies: statistics and throughput
  trex-tui times resnet.timing.json --batch 8       and samples per second
  trex-tui times latencies.json --json              a file of another tool: it says how it was read
  trex-tui times results/ --outdir timing/          as files: a directory per engine, where there are several

--outdir writes summary.json, summary.csv, latency_series.csv, enqueue_compute_series.csv, latency_percentiles.csv, and as
pictures latency_histogram.svg, latency_percentiles.svg, latency_over_time.svg and enqueue_compute.svg; what needs single
queries is left out where there is but trtexec's printed summary. Only files that it wrote itself are written over; those of
an earlier run that this one has not are removed.

Read are trtexec's --exportTimes of any release, and JSON of other tools: rows or columns, under "times", "perIteration" or
deeper, in ms, s, us or ns as a key (latency_us) or a "unit" states; numbers without one are taken as milliseconds.
"""

EXPORT_FORMATS = (
    *("dot", "svg", "png", "graphml", "json", "onnx"),
    *("csv", "parquet", "xlsx", "trace", "trex"),
)
COLORS = ("kind", "precision", "latency")
LAYOUTS = ("auto", "dot", "builtin")

EXPORT_EXAMPLES = """\
examples:
  trex-tui export results/alexnet -o alexnet.svg                      the graph as a picture
  trex-tui export results/alexnet -o alexnet.dot --color precision    for Graphviz
  trex-tui export results/alexnet -o hot.svg --highlight 'pct>5' --labels name,latency,tactic
  trex-tui export results/alexnet -o part.png --around features.3/conv --radius 3
  trex-tui export results/alexnet -o alexnet.graphml                  for yEd, Gephi, networkx
  trex-tui export results/alexnet -o alexnet.onnx                     for Netron
  trex-tui export results/alexnet -o alexnet.perfetto.json            layers and queries, for ui.perfetto.dev
  trex-tui export results/alexnet -o alexnet.xlsx                     the layer table; also .csv, .parquet
  trex-tui export results/alexnet --format dot -o - | dot -Tpdf > alexnet.pdf
  trex-tui export results/ --format trex -o for-trex/                 every engine below as trex's files, for its notebooks

Pictures are drawn by Graphviz where it is installed and the graph is small, else by a layout of our own, which for
.png takes librsvg's rsvg-convert.
"""

_LOG_EXAMPLES = """\
examples:
  trex-tui build-log net.build.log                       phases, fusions, what took long, warnings; what a run measured
  trex-tui build-log net.build.log --layer conv1         every tactic that was timed for a layer
  trex-tui build-log net.build.log.gz --json | jq .phases
  trex-tui metadata net.build.log -o net.build.metadata.json
"""
PRECISIONS = ("fp16", "bf16", "int8", "fp8", "int4")
_CAPTURE_EXAMPLES = """\
examples:
  trex-tui capture --onnx resnet.onnx --fp16
  trex-tui capture --onnx bert.onnx --min-shapes ids:1x8 --opt-shapes ids:8x128 --max-shapes ids:32x512
  trex-tui capture --engine resnet.engine --repeat 5 --outdir results/resnet     profile only, five times
  trex-tui capture --onnx resnet.onnx --int8 --calib calib.cache --dry-run       the commands, not run
  trex-tui capture --onnx resnet.onnx --host user@jetson --host xavier      there, into results/resnet/<host>
  trex-tui capture --onnx resnet.onnx -- --maxTactics=16 --tacticSources=-CUDNN  the rest goes to both runs of trtexec

The set is made beside its place and moved there whole. A failed run leaves its logs in <name>.failed, and a set that is
there already is replaced with --force alone. Exit code: 3 trtexec failed, 130 interrupted;
a connection that was lost is 2, and of several hosts the worst counts.
"""
_ACCURACY_EXAMPLES = """\
examples:
  trex-tui accuracy --ref fp32.engine --test int8.engine --inputs 16
  trex-tui accuracy --onnx resnet.onnx --test int8.engine --fail-on 'cosine < 0.999'
  trex-tui accuracy --ref fp32.engine --test int8.engine --onnx resnet.onnx --inputs 8
  trex-tui accuracy --ref a.engine --test b.engine --input-shape images:1x3x640x640 --rtol 1e-2 --atol 1e-3
  trex-tui accuracy --ref a.engine --test b.engine --load-inputs calibration/ --json | jq .outputs
  trex-tui accuracy --ref bert.onnx --test bert.engine --range ids:0:30521 --inputs 8 --no-save

gates (--fail-on): METRIC OPERATOR NUMBER. METRIC: mae, max_abs, max_rel and rmse, the mean absolute, largest, largest
relative and root mean squared difference; cosine of the angle between the outputs, 1 is equal; sqnr_db, signal to
quantization noise; argmax_agreement_pct, how often both choose the same class.

Both sides get the same inputs: random ones that --seed decides, or files. trtexec runs an engine once per input and side;
an ONNX model runs on the CPU through onnxruntime (pip install 'trex-tui[accuracy]'). With --ref and --onnx, both are held
against the model too, on the same inputs; the gates are about --test against --ref. Inputs of the same name may differ in
width (FP32 and FP16, INT64 and INT32): both sides then get values that the narrower can hold. Types that cannot be fed from
files: FP8, FP4, INT4. Exit code: 1 a gate fell, 2 the two cannot be compared, 3 trtexec failed, 130 interrupted.
"""
_DOCTOR_EXAMPLES = """\
examples:
  trex-tui doctor                                     can a capture run here, and what to do where not
  trex-tui doctor --trtexec ~/TensorRT-10.16/bin      with this trtexec
  trex-tui doctor --json | jq '.checks[] | select(.status != "ok")'
  trex-tui doctor --host user@jetson --host xavier    the same there, over your ssh

It asks as an ordinary user and changes nothing: no sudo, no power mode, no clocks. Exit code: 0 capture can run,
1 something that it needs is missing, 2 a --host cannot be asked (of several hosts the worst counts).
"""
_GATE_ALIASES = {
    "--max-mae": "mae",
    "--max-abs": "max_abs",
    "--max-rel": "max_rel",
    "--max-rmse": "rmse",
    "--min-cosine": "cosine",
    "--min-sqnr": "sqnr_db",
    "--min-argmax-agreement": "argmax_agreement_pct",
}
"""Before there was --fail-on; to go with the next release."""
CHART_IDS = (
    *(
        "layers",
        "pareto",
        "kind",
        "precision",
        "tactic",
        "products",
        "roofline",
        "efficiency",
        "memory",
        "icicle",
    ),
    *("histogram", "over-time", "percentiles"),
)
"""Those of `charts.catalogue`, which is not loaded for a parser."""

_SHELLS = ("bash", "zsh", "tcsh")
_Commands = argparse._SubParsersAction


class _Parser(argparse.ArgumentParser):
    """Help is a result: argparse's own says nothing where it cannot be written."""

    def print_help(self, file: IO[str] | None = None) -> None:  # type: ignore[override]
        """Write the help.

        Raises:
            OSError: It cannot be written.
        """
        (file or sys.stdout).write(self.format_help())


class _PrintCompletion(argparse.Action):
    """Print the completion script of the whole parser, and exit."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,  # noqa: ARG002 - argparse's signature
        values: str | Sequence[Any] | None,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        import shtab

        print(shtab.complete(parser, str(values)))  # noqa: T201 - this is the result
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    """The parser; shell completion is generated from it."""
    parser: argparse.ArgumentParser = _Parser(
        prog="trex-tui",
        description="Explore TensorRT engines from the files that trtexec writes.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"trex-tui {__version__}")
    parser.add_argument(
        "--print-completion",
        action=_PrintCompletion,
        choices=_SHELLS,
        help="print the completion script of a shell and exit",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_open(commands)
    _add_serve(commands)
    summary = _add_engine_command(commands, "summary", "what each engine is and where its time goes")
    _add_json(summary, "summary/2")
    _add_layers(commands)
    _add_lint(commands)
    _add_diff(commands)
    _add_report(commands)
    _add_times(commands)
    _add_export(commands)
    explain = commands.add_parser("explain", help="what a column means: definition, unit, formula, source")
    explain.add_argument("columns", nargs="*", metavar="COLUMN", help="without: a line about each")
    _add_json(explain, "explain/1")
    _add_capture(commands)
    _add_doctor(commands)
    keys = commands.add_parser("keys", help="every key of the explorer")
    keys.add_argument("--format", choices=("text", "md", "json"), default="text", help="default: text")
    _add_build_log(commands)
    _add_metadata(commands)
    _add_accuracy(commands)
    for command in commands.choices.values():
        _add_log_file(command)
    return parser


def _add_engine_command(
    commands: _Commands[argparse.ArgumentParser], name: str, text: str, examples: str | None = None
) -> argparse.ArgumentParser:
    """A command about engines: with paths, the optimization profile, and facts of the device."""
    parser = commands.add_parser(
        name, help=text, epilog=examples, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    paths = parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="directory or file; default: the current directory"
    )
    _complete_files(paths)
    parser.add_argument(
        "--optimization-profile",
        type=whole,
        metavar="N",
        help="which of several optimization profiles; default: the profiled one",
    )
    parser.add_argument(
        "--peak",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="state a fact of the device for the roofline, instead of what the files tell: bandwidth=320 (GB/s), "
        "clock=1.2 (GHz), sms=30, fp16=40 (TFLOP/s); may be repeated. trex-tui.toml can hold them as well",
    )
    return parser


def _complete_files(action: argparse.Action) -> None:
    action.complete = FILES  # type: ignore[attr-defined]


def _add_json(parser: argparse._ActionsContainer, schema: str) -> None:
    parser.add_argument(
        "--json", action="store_true", help=f"print one JSON object (schema trex-tui/{schema})"
    )


def _add_ascii(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ascii", action="store_true", help="draw with ASCII only; TREX_TUI_ASCII=1 does the same"
    )


def _add_log_file(parser: argparse.ArgumentParser) -> None:
    file = parser.add_argument(
        "--log-file",
        metavar="FILE",
        help="append what an error of ours leaves to FILE, a new file or one of these logs: the traceback, the command, "
        "versions, the terminal; TREX_TUI_LOG=FILE does the same",
    )
    _complete_files(file)


def _add_open(commands: _Commands[argparse.ArgumentParser]) -> None:
    _add_ascii(_add_engine_command(commands, "open", "explore in the terminal (the default)"))


def _add_serve(commands: _Commands[argparse.ArgumentParser]) -> None:
    serve = _add_engine_command(commands, "serve", "explore in a browser (pip install 'trex-tui[web]')")
    _add_ascii(serve)
    serve.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="HOST",
        help="address to listen on; default: this machine alone",
    )
    serve.add_argument("--port", type=whole, default=8000, metavar="N", help="default: 8000")


def _add_layers(commands: _Commands[argparse.ArgumentParser]) -> None:
    layers = _add_engine_command(commands, "layers", "the layers of one engine as a table", FILTER_EXAMPLES)
    layers.add_argument(
        "--filter",
        metavar="EXPR",
        help="only the layers that match, as with / in the explorer; examples below",
    )
    layers.add_argument(
        "--sort", metavar="COLUMN", help="numbers from the largest, text from A; without: execution order"
    )
    layers.add_argument("--reverse", action="store_true", help="the other way round")
    layers.add_argument("--top", type=whole, metavar="N", help="only the first N")
    layers.add_argument("--columns", metavar="A,B,C", help="which columns, and in what order")
    layers.add_argument(
        "--format", choices=("table", "csv", "json", "md"), default="table", help="default: table"
    )
    layers.add_argument(
        "--chart",
        choices=("svg", *CHART_IDS),
        metavar="ID",
        help=f"print a chart of these layers as SVG instead: {', '.join(CHART_IDS)}; svg stands for layers",
    )


def _add_lint(commands: _Commands[argparse.ArgumentParser]) -> None:
    text = "what is wrong with each engine, what it costs, and what to do"
    lint = _add_engine_command(commands, "lint", text, _LINT_EXAMPLES)
    lint.add_argument(
        "--select",
        action="append",
        metavar="IDS",
        help="only these rules or families, e.g. CONV,QDQ001; instead of those of a file",
    )
    lint.add_argument(
        "--ignore",
        action="append",
        metavar="IDS",
        help="not these rules or families, and not those of a file",
    )
    lint.add_argument(
        "--min-severity", choices=SEVERITIES, help="leave out what is milder; default: good, which is all"
    )
    lint.add_argument(
        "--fail-on",
        metavar="{error,warning,info,never,GATE}",
        help="exit with 1 if something as severe or worse is found; default: error. A gate is about the error, warning, "
        "info or all findings of an engine, such as 'findings > 9'",
    )
    lint.add_argument("--filter", metavar="EXPR", help="only what is found about the layers that match")
    lint.add_argument("--format", choices=LINT_FORMATS, default="text", help="default: text")
    lint.add_argument("--config", metavar="FILE", help="read the configuration from this file alone")
    lint.add_argument("--rules", action="store_true", help="list the rules and exit")
    lint.add_argument("--explain", metavar="ID", help="tell all about a rule and exit")


def _add_diff(commands: _Commands[argparse.ArgumentParser]) -> None:
    text = "two or more engines side by side, matched layer to layer; a gate for CI"
    diff = _add_engine_command(commands, "diff", text, _DIFF_EXAMPLES)
    diff.add_argument(
        "--baseline", metavar="NAME", help="name of an engine, or its place from 1 on; default: the first"
    )
    diff.add_argument(
        "--align",
        choices=("auto", "onnx", "name", "signature"),
        default="auto",
        help="evidence to match layers by; default: all of it, the strongest first",
    )
    diff.add_argument("--per-batch", action="store_true", help="divide times by the batch: ms per sample")
    diff.add_argument("--format", choices=DIFF_FORMATS, default="text", help="default: text")
    diff.add_argument(
        "--json", action="store_const", const="json", dest="format", help="the same as --format json"
    )
    diff.add_argument(
        "--top", type=whole, metavar="N", help="blocks to show in text, md and html; default: 20; 0: all"
    )
    diff.add_argument(
        "--filter", metavar="EXPR", help="only blocks of which a layer matches, as with `layers`"
    )
    diff.add_argument(
        "--fail-on", action="append", default=[], metavar="GATE", help="see below; may be repeated"
    )
    diff.add_argument(
        "--significant",
        "--significant-only",
        action="store_true",
        help="a gate on end-to-end latency falls only if the difference can be told from noise",
    )


def _add_report(commands: _Commands[argparse.ArgumentParser]) -> None:
    text = "all there is to say of one or more engines, as HTML, Markdown or JSON"
    report = _add_engine_command(commands, "report", text, _REPORT_EXAMPLES)
    report.add_argument(
        "-o", "--output", metavar="FILE", default="-", help="write to FILE; default: -, the standard output"
    )
    report.add_argument(
        "--format",
        choices=REPORT_FORMATS,
        help="default: that of the ending of FILE; on the standard output md",
    )
    report.add_argument("--top", type=whole, metavar="N", help="rows of a table; default: 20; 0: all")
    report.add_argument(
        "--baseline",
        metavar="NAME",
        help="what several engines are compared with: a name, or a place from 1 on; default: the first",
    )
    report.add_argument(
        "--force",
        action="store_true",
        help="replace FILE even if trex-tui did not write it",
    )


def _add_times(commands: _Commands[argparse.ArgumentParser]) -> None:
    text = "statistics, series and charts of the timing run"
    times = _add_engine_command(commands, "times", text, _TIMES_EXAMPLES)
    times.add_argument(
        "--batch", type=whole, metavar="N", help="samples in a query; default: the first extent of the inputs"
    )
    times.add_argument("--outdir", metavar="DIR", help="write files there, and print their names to stderr")
    times.add_argument("--force", action="store_true", help="write over files that are not its own, too")
    times.add_argument("--png", action="store_true", help="the charts as PNG as well, by rsvg-convert")
    _add_json(times, "times/2")


def _add_export(commands: _Commands[argparse.ArgumentParser]) -> None:
    text = "the graph, the layer table or the times of one engine as a file for another program"
    export = _add_engine_command(commands, "export", text, EXPORT_EXAMPLES)
    output = export.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help="its ending tells the format; - for stdout; for trex a directory",
    )
    _complete_files(output)
    export.add_argument(
        "--format",
        choices=EXPORT_FORMATS,
        help="whatever the ending; trace is .perfetto.json or .trace.json; trex is a directory of files for trex's "
        "notebooks",
    )
    export.add_argument("--force", action="store_true", help="replace FILE even if trex-tui did not write it")
    export.add_argument(
        "--with-engine", action="store_true", help="with --format trex: copy the serialized engines too"
    )
    export.add_argument(
        "--query", metavar="FILTER", help="only the layers that match, as with `layers --filter`"
    )
    export.add_argument(
        "--around",
        metavar="LAYER",
        help="only a layer and what is near: its name, a part of it in any case, or its index",
    )
    export.add_argument(
        "--radius", type=whole, metavar="N", help="how many links near is; default: 2, and 0 for --query"
    )
    export.add_argument(
        "--columns", metavar="A,B,C", help="of tables and graph files; default: all of `trex-tui explain`"
    )
    pictures = export.add_argument_group("of pictures and graphs")
    pictures.add_argument("--color", choices=COLORS, default="kind", help="default: kind")
    pictures.add_argument(
        "--labels",
        metavar="A,B,C",
        help="columns, also as latency, share, type, shape, format, onnx; default: name,kind,precision,latency",
    )
    pictures.add_argument("--highlight", metavar="FILTER", help="frame the layers that match")
    pictures.add_argument("--constants", action="store_true", help="draw weights that are inputs of layers")
    pictures.add_argument(
        "--metadata", action="store_true", help="all that is known of a layer in its tooltip"
    )
    pictures.add_argument(
        "--layout", choices=LAYOUTS, default="auto", help="who places the boxes of a picture; default: auto"
    )


def _add_build_log(commands: _Commands[argparse.ArgumentParser]) -> None:
    log = commands.add_parser(
        "build-log",
        help="why the engine is as it is: what the log of its build tells",
        epilog=_LOG_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _complete_files(log.add_argument("log", metavar="LOG", help="a log of trtexec, verbose or not; .gz too"))
    _add_json(log, "build-log/2")
    log.add_argument(
        "--layer",
        metavar="NAME",
        help="every tactic timed for a layer: of this name, else with this in its name",
    )
    log.add_argument(
        "--top",
        type=whole,
        metavar="N",
        default=10,
        help="how many layers of a table, and tactics of a layer; default: 10",
    )


def _add_metadata(commands: _Commands[argparse.ArgumentParser]) -> None:
    metadata = commands.add_parser(
        "metadata", help="options, device and performance in a log, as trex writes them"
    )
    _complete_files(metadata.add_argument("log", metavar="LOG", help="a log of trtexec; .gz too"))
    metadata.add_argument("-o", "--output", metavar="FILE", help="write to FILE")
    metadata.add_argument("--force", action="store_true", help="replace FILE even if it has another content")


def _add_capture(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "capture",
        help="run trtexec, here or over ssh: build, profile, and leave a complete set",
        epilog=_CAPTURE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_files(parser)
    _add_build(parser.add_argument_group("build"))
    _add_measurement(parser.add_argument_group("measurement"))
    _add_capture_running(parser.add_argument_group("running"))
    parser.add_argument(
        "trtexec_arguments",
        nargs="*",
        metavar="-- OPTION",
        help="behind `--`: options for both runs of trtexec, untouched",
    )


def _add_files(parser: argparse.ArgumentParser) -> None:
    files = parser.add_argument_group("files")
    model = files.add_mutually_exclusive_group(required=True)
    for option, text in (
        ("--onnx", "the model: build and profile"),
        ("--engine", "a serialized engine: profile only"),
    ):
        _complete_files(model.add_argument(option, metavar="FILE", help=text))
    files.add_argument("--outdir", metavar="DIR", help="where the set is to lie; default: results/MODEL")
    files.add_argument("--name", metavar="NAME", help="what its files are called; default: the model's name")
    files.add_argument("--force", action="store_true", help="replace a set of this name that lies there")
    files.add_argument(
        "--resume",
        action="store_true",
        help="take the engine of an earlier capture, if it lies here and model, options, TensorRT and GPU are the same, on a "
        "Jetson L4T and power mode too; with --host it is sent there (--with-engine brings one "
        "back)",
    )


def _add_build(build: argparse._ArgumentGroup) -> None:
    for precision in PRECISIONS:
        build.add_argument(
            f"--{precision}", action="store_true", help=f"allow {precision.upper()} (up to TensorRT 10)"
        )
    build.add_argument("--best", action="store_true", help="allow all precisions (up to TensorRT 10)")
    build.add_argument(
        "--strongly-typed", action="store_true", help="types as the model has them (always so from 11 on)"
    )
    build.add_argument("--no-tf32", action="store_true", help="no TF32 for FP32")
    build.add_argument("--calib", metavar="FILE", help="INT8 calibration cache")
    build.add_argument("--sparsity", choices=("disable", "enable", "force"), help="2:4 sparse weights")
    for which in ("min", "opt", "max"):
        build.add_argument(
            f"--{which}-shapes", metavar="SPEC", help=f"input:1x3x224x224,… for the {which} of the profile"
        )
    build.add_argument("--workspace", type=whole, metavar="MIB", help="limit of scratch memory")
    build.add_argument(
        "--timing-cache",
        metavar="FILE",
        help="timing cache to read and write; with several --host each has its own, FILE.HOST",
    )
    build.add_argument("--optimization-level", type=whole, metavar="N", help="0 fastest build … 5 best")
    build.add_argument("--version-compatible", action="store_true", help="an engine for other versions too")
    build.add_argument("--hardware-compatibility", metavar="LEVEL", help="none, ampere+, … for other GPUs")
    build.add_argument("--plugin", action="append", default=[], metavar="LIB", help="may be repeated")
    build.add_argument("--dla", type=whole, metavar="N", help="run on this DLA core")
    build.add_argument(
        "--allow-gpu-fallback", action="store_true", help="what the DLA cannot do runs on the GPU"
    )
    build.add_argument("--device", type=whole, metavar="N", help="CUDA index of the GPU")


def _add_measurement(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--shapes", metavar="SPEC", help="shapes to measure with; default: --opt-shapes")
    group.add_argument("--profile-index", type=whole, metavar="N", help="which optimization profile")
    group.add_argument("--load-inputs", metavar="SPEC", help="input:file,… instead of random values")
    group.add_argument("--warmup", type=whole, metavar="MS", help="trtexec's default: 200")
    group.add_argument(
        "--duration", type=seconds, metavar="S", help="at least so long: 10, 0.5; trtexec's default: 3"
    )
    group.add_argument("--iterations", type=whole, metavar="N", help="at least so many; default: 10")
    group.add_argument("--avg-runs", type=whole, metavar="N", help="runs averaged for a line of the log")
    group.add_argument("--percentile", metavar="P,…", help="percentiles of the summary; default: 90,95,99")
    group.add_argument("--inf-streams", type=whole, metavar="N", help="queries at the same time")
    group.add_argument(
        "--cuda-graph",
        action=argparse.BooleanOptionalAction,
        help="measure through a CUDA graph; default: yes, without on a DLA",
    )
    group.add_argument("--data-transfers", action="store_true", help="measure copies to and from the host")
    group.add_argument(
        "--repeat", type=positive, default=1, metavar="N", help="so many profile runs, kept apart"
    )


def _add_capture_running(group: argparse._ArgumentGroup) -> None:
    _add_trtexec(group)
    group.add_argument(
        "--timeout", type=duration, metavar="TIME", help="end a run of trtexec after 90s, 30m, 2h"
    )
    group.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="HOST",
        help="run there, over your ssh (keys, no passwords); files are sent and fetched; may be repeated: one after the "
        "other, into one directory per host",
    )
    group.add_argument("--with-engine", action="store_true", help="with --host: fetch the engine too")
    group.add_argument(
        "--with-ids",
        action="store_true",
        help="note host name, UUIDs and serial numbers of this machine in manifest and metadata; the logs, byte for byte "
        "trtexec's, have the UUIDs that it prints",
    )
    group.add_argument(
        "--lock-clocks",
        nargs="?",
        const="max",
        type=clock,
        metavar="MHZ|max",
        help="hold the GPU clock still with nvidia-smi, where that is permitted (with --host: there); freed afterwards, "
        "after a crash too; never on a Jetson",
    )
    group.add_argument("--dry-run", action="store_true", help="print the exact commands, and run nothing")
    group.add_argument(
        "--open",
        action=argparse.BooleanOptionalAction,
        help="explore the set afterwards; default: ask, on a terminal",
    )


def _add_trtexec(group: argparse._ActionsContainer) -> None:
    _complete_files(
        group.add_argument("--trtexec", metavar="FILE", help="default: $TRTEXEC, PATH, the usual places")
    )


def _add_accuracy(commands: _Commands[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "accuracy",
        help="outputs of two engines, or of an ONNX model and an engine, on the same inputs; a gate for CI",
        epilog=_ACCURACY_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_sides(parser)
    _add_inputs(parser.add_argument_group("inputs"))
    _add_gates(parser.add_argument_group("gates, on each output over all samples; exit code 1 if one falls"))
    _add_accuracy_running(parser.add_argument_group("running"))
    parser.add_argument(
        "trtexec_arguments",
        nargs="*",
        metavar="-- OPTION",
        help="behind `--`: options for trtexec, untouched",
    )


def _add_sides(parser: argparse.ArgumentParser) -> None:
    for option, text in (
        ("--ref", "the reference: an engine, or an ONNX model by its ending"),
        ("--onnx", "an ONNX model: the reference, or beside --ref what both engines are held against too"),
        ("--test", "what is compared with it: an engine, or an ONNX model by its ending"),
    ):
        _complete_files(parser.add_argument(option, metavar="FILE", help=text, required=option == "--test"))


def _add_inputs(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--inputs", type=positive, metavar="N", help="how many samples; default: 1, or all given"
    )
    group.add_argument("--seed", type=whole, default=0, metavar="N", help="of random inputs; default: 0")
    group.add_argument(
        "--range",
        action="append",
        default=[],
        type=input_range,
        metavar="INPUT:LOW:HIGH",
        help="of random inputs; default: -1 to 1, for whole numbers 0 to 1; may be repeated",
    )
    group.add_argument(
        "--load-inputs",
        action="append",
        default=[],
        metavar="INPUT:FILE|DIR",
        help="a file for each input, or a directory of samples; bare elements (.bin) in the input's type, or .npy",
    )
    group.add_argument(
        "--input-shape",
        action="append",
        default=[],
        type=input_shape,
        metavar="INPUT:1x3x640x640",
        help="of a dynamic input; may be repeated",
    )
    group.add_argument(
        "--input-type",
        action="append",
        default=[],
        type=input_type,
        metavar="TENSOR:TYPE",
        help="fp32, fp16, int32, … of an input or output, where neither trtexec nor the engine tells",
    )
    group.add_argument("--profile-index", type=whole, metavar="N", help="which optimization profile")


def _aliased_gate(option: str, metric: str, text: str) -> tuple[str, str, str, str, float]:
    """The fields of the `Gate` that an option stands for."""
    value = number(text)
    return f"{option} {value:g}", metric, "", "<" if option.startswith("--min") else ">", value


def _add_gates(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="GATE",
        help="METRIC OPERATOR NUMBER, such as 'mae > 0.01'; may be repeated",
    )
    group.add_argument("--rtol", type=limit, metavar="R", help="every |d| ≤ atol + rtol · |reference|")
    group.add_argument(
        "--atol", type=limit, metavar="A", help="see --rtol; each is 0 if only the other is given"
    )
    for option, metric in _GATE_ALIASES.items():
        group.add_argument(
            option,
            dest="fail_on",
            action="append",
            type=partial(_aliased_gate, option, metric),
            help=argparse.SUPPRESS,
        )
    group.add_argument(
        "--output",
        action="append",
        default=[],
        metavar="NAME",
        help="compare only this output; may be repeated",
    )
    group.add_argument(
        "--argmax-axis",
        type=int,
        metavar="N",
        help="axis of the classes; default: 1 of maps (4 and 5 dimensions), else the last",
    )


def _add_accuracy_running(group: argparse._ArgumentGroup) -> None:
    _add_trtexec(group)
    group.add_argument("--device", type=whole, metavar="N", help="CUDA index of the GPU")
    group.add_argument("--plugin", action="append", default=[], metavar="LIB", help="may be repeated")
    group.add_argument("--timeout", type=duration, metavar="TIME", help="end a run after 90s, 30m, 2h")
    group.add_argument(
        "--outdir",
        metavar="DIR",
        help="where result and samples are kept; default: TEST.accuracy beside the test",
    )
    group.add_argument("--force", action="store_true", help="replace a result that lies there")
    group.add_argument("--no-save", action="store_true", help="keep nothing, print only")
    _add_json(group, "accuracy/1")


def _add_doctor(commands: _Commands[argparse.ArgumentParser]) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="can a capture run here: trtexec, GPU, clocks, disk, and what to do",
        epilog=_DOCTOR_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_trtexec(doctor)
    outdir = doctor.add_argument(
        "--outdir", metavar="DIR", help="where sets are to lie; default: results; not with --host"
    )
    _complete_files(outdir)
    doctor.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="HOST",
        help="look there, over your ssh (keys, no passwords); may be repeated",
    )
    doctor.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object (schema trex-tui/doctor/1; with --host trex-tui/doctor-hosts/1)",
    )
