"""Ratios against a floor measured in the same run; never absolute times.

    python benchmarks/measure.py [--layers 20000] [--artifacts DIR] [--repeat 7]

Loading is compared with `json.load` of the same files, computing all columns with that of the graph alone, starting with a
bare interpreter, with `import pandas`, and with a Textual application of two widgets in a pseudo-terminal. The best of
several runs counts: the rest is noise of the machine. Keys are compared with the same keys in a bare Textual application
(`keys.py`, timed as `frames.py` says); of them all count, as median and 95th percentile.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from rich.console import Console
from rich.table import Table

from build_log import measure_build_log
from commands import measure_commands
from compare import measure_comparing
from keys import measure_keys
from lint import measure_lint
from starting import best_of, measure_starting
from synthetic import write_engine
from trex_tui.old.analysis.columns import ALL_COLUMNS, full_frame
from trex_tui.old.artifacts import ArtifactKind, find
from trex_tui.old.artifacts.discover import ArtifactSet
from trex_tui.old.artifacts.input_files import gc_paused
from trex_tui.old.engine.cache import forget_results
from trex_tui.old.engine.engine import Engine, load_set
from trex_tui.old.engine.tactics import parse_tactic

ROOT = Path(__file__).parent.parent
JSON_KINDS = (ArtifactKind.GRAPH, ArtifactKind.PROFILE, ArtifactKind.TIMING)
LONG_NAME = 3000
SAMPLE = ROOT / "sample_artifacts" / "alexnet"


def parse_json_files(source: ArtifactSet) -> None:
    """The floor of loading: parse the same JSON files, with garbage collection paused."""
    with gc_paused():
        for kind in JSON_KINDS:
            if kind in source.files:
                with source.files[kind].open(encoding="utf-8") as file:
                    json.load(file, strict=False)


def measure_loading(sets: Sequence[ArtifactSet], repeat: int) -> Table:
    """Load time of each set as a multiple of the bare parse of its JSON."""
    table = Table("set", "layers", "parse ms", "load ms", "ratio", title="Loading against json.load")
    for source in sets:
        floor = best_of(repeat, lambda source=source: parse_json_files(source))
        ours = best_of(repeat, lambda source=source: load_set(source))
        layers = len(load_set(source).layers)
        table.add_row(
            source.name, str(layers), f"{floor * 1e3:.2f}", f"{ours * 1e3:.2f}", f"{ours / floor:.2f}"
        )
    return table


def measure_columns(sets: Sequence[ArtifactSet], repeat: int) -> Table:
    """Time for the values of all columns of each layer, and for the frame of them, as a multiple of the graph's parse."""
    table = Table(
        "set",
        "layers",
        "parse ms",
        "columns ms",
        "ratio",
        "frame ms",
        "ratio",
        title="All columns against json.load",
    )
    for source in sets:
        graph = source.files[ArtifactKind.GRAPH]
        floor = best_of(
            repeat, lambda graph=graph: json.loads(graph.read_text(encoding="utf-8"), strict=False)
        )
        engine = load_set(source)
        values = best_of(repeat, lambda engine=engine: all_values(engine))
        frame = best_of(repeat, lambda engine=engine: forgetful_frame(engine))
        cells = [f"{seconds * 1e3:.2f}" for seconds in (floor, values, frame)]
        ratios = (f"{values / floor:.2f}", f"{frame / floor:.2f}")
        table.add_row(source.name, str(len(engine.layers)), *cells[:2], ratios[0], cells[2], ratios[1])
    return table


def forget() -> None:
    """Drop what an earlier run has computed beside its engine."""
    parse_tactic.cache_clear()


def all_values(engine: Engine) -> None:
    """Compute every cell."""
    forget()
    forget_results(engine)
    for column in ALL_COLUMNS:
        column.values(engine)


def forgetful_frame(engine: Engine) -> None:
    """Compute every cell, and make a frame of them."""
    forget()
    forget_results(engine)
    full_frame(engine)


def main() -> None:
    """Measure everything and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.environ.get("TREX_TUI_ARTIFACTS", ROOT.parent / "shared" / "artifacts")
    parser.add_argument("--artifacts", type=Path, default=Path(default))
    parser.add_argument("--layers", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 120)
    with tempfile.TemporaryDirectory() as directory:
        write_engine(Path(directory), options.layers)
        sets = find(options.artifacts) if options.artifacts.is_dir() else []
        made = find(directory)
        console.print(measure_loading([*sets, *made], options.repeat))
        console.print(measure_columns(made, options.repeat))
        count = f"{options.layers} layers"
        console.print(measure_keys(Path(directory), options.layers, count))
        long_names = Path(directory) / "long"
        write_engine(long_names, options.layers // 10, LONG_NAME)
        words = f"{options.layers // 10} layers with names of {LONG_NAME} characters"
        console.print(measure_keys(long_names, options.layers // 10, words))
        console.print(measure_lint([*sets, *made], options.repeat, best_of, parse_json_files, forget))
    console.print(measure_comparing(options.repeat))
    console.print(measure_starting(SAMPLE, options.repeat))
    console.print(measure_commands(options.repeat))
    measure_build_log()


if __name__ == "__main__":
    main()
