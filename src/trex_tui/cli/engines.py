"""`engines`: a row per engine."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from trex_tui.cli.options import (
    CommandParser,
    add_columns,
    add_filter,
    add_paths,
    add_result,
    add_sort,
    add_top,
    positive,
    split_names,
)
from trex_tui.cli.results import Progress, Result, complain
from trex_tui.errors import TrexError

HELP = "Compare many engines in one table"
EPILOG = """\
Engines with the same inputs and outputs and mostly the same nodes are one
model. A set that cannot be read is a row with its error. Columns with one
value are left out of text; JSON, CSV and the like have all columns.

--filter is the language of `trex-tui layers`, with the columns of this table;
`trex-tui explain engines` lists them. --sort date adds the differences to the
capture before of the same model.

examples:
  trex-tui engines nightly/
  trex-tui engines nightly/ --filter 'device:orin p99<5' --sort p99 --reverse
  trex-tui engines nightly/ --sort date
  trex-tui engines nightly/ --columns engine,median,weights,energy
  trex-tui engines nightly/ -o fleet.html
  trex-tui engines variants/ --pareto median,energy,cosine
  trex-tui engines sweep/ --chart batch,qps
  trex-tui engines nightly/ --jobs 8 -o fleet.parquet
"""


def add_arguments(parser: CommandParser) -> None:
    add_paths(parser)
    add_columns(parser)
    add_filter(parser, noun="engine")
    add_sort(parser, "order found")
    add_top(parser)
    parser.add_argument(
        "--pareto",
        metavar="X,Y",
        help="mark the engines that no other beats in these measures: median,energy,cosine; --filter chooses the engines",
    )
    parser.add_argument(
        "--chart",
        metavar="X[,Y]",
        help="draw a measure over another: batch,median; Y by default the median latency",
    )
    reading = parser.add_argument_group("reading")
    reading.add_argument(
        "--jobs", type=positive, metavar="N", default=1, help="processes that read sets; default: 1"
    )
    reading.add_argument(
        "--dask", metavar="ADDRESS", help="read on the workers of a Dask cluster, which see the same paths"
    )
    formats = ("text", "json", "csv", "md", "html", "xlsx", "parquet")
    add_result(parser, formats, schema="engines/2")


def run(options: argparse.Namespace) -> int:
    from trex_tui.analysis.engines import mark_front, read_engines, sort_by_date
    from trex_tui.cli.loading import Loader
    from trex_tui.report.selection import choose_rows, named_column, named_columns, sort_rows
    from trex_tui.report.views.engines import list_engines

    result = Result(options)
    loader = Loader(options)
    with _make_executor(options) as executor:
        found, load = loader.discovery, loader.load
        progress = Progress("engines")
        table = read_engines(found, load, run=options.run, executor=executor, progress=progress.count)
    is_history = options.sort is not None and named_column(table, options.sort).key == "date"
    if is_history:
        table = sort_by_date(table)
    rows = choose_rows(table, options.filter)
    if options.pareto:
        measures = named_columns(table, split_names(options.pareto))
        table = mark_front(table, [column.key for column in measures], rows)
    if options.filter and not rows.any():
        complain(f"0 of {len(rows)} engines match")
    index = sort_rows(table, rows, None if is_history else options.sort, is_reversed=options.reverse)
    names, top = split_names(options.columns), options.top or None
    columns = named_columns(table, names) if names else None
    axes = [named_column(table, name) for name in split_names(options.chart or "")]
    if len(axes) == 1:
        axes.append(named_column(table, "latency_median_ms"))
    if len(axes) > 2:
        raise TrexError(f"--chart {options.chart}: give one or two measures, such as batch,median")
    return result.write(list_engines(table, index, columns, top, axes), loader.inputs())


@contextmanager
def _make_executor(options: argparse.Namespace) -> Iterator[Executor | None]:
    """Yield what reads the sets: processes, the workers of a Dask cluster, or None for this process.

    Raises:
        TrexError: Dask is not installed, or the cluster cannot be reached.
    """
    if options.dask is not None:
        try:
            from distributed import Client
        except ImportError:
            raise TrexError("--dask needs Dask: install trex-tui with its extra dask") from None
        try:
            with Client(options.dask, timeout=10) as client:  # type: ignore[no-untyped-call]
                yield client.get_executor()
        except (OSError, TimeoutError, ValueError) as error:
            raise TrexError(f"--dask {options.dask}: {error or 'no answer'}; check the address") from error
    elif options.jobs > 1:
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        with ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn")) as pool:
            yield pool
    else:
        yield None
