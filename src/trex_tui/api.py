"""For Python and notebooks: load engines, and get the results of the commands as tables, pages and charts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from trex_tui.analysis.columns import ALL_COLUMNS
from trex_tui.analysis.device import parse_peaks
from trex_tui.artifacts.discover import ArtifactSet, find_sets
from trex_tui.compare import comparison
from trex_tui.engine.filter import find_column, find_matches, suggest_column
from trex_tui.engine.load import load_set
from trex_tui.engine.model import Engine
from trex_tui.errors import TrexError
from trex_tui.lint.config import LintConfig
from trex_tui.lint.run import run_rules
from trex_tui.report.charts import make_chart
from trex_tui.report.document import Document
from trex_tui.report.formats import WRITERS
from trex_tui.report.views.compare import Shown, compare_document
from trex_tui.report.views.engine import summarize
from trex_tui.report.views.lint import Linted, findings_table, lint_document

_MOST_NAMED = 8


def load_engine(
    path: str | Path | Iterable[str | Path],
    optimization_profile: int | None = None,
    run: int | None = None,
    *,
    onnx: str | Path | None = None,
    peaks: Sequence[str] = (),
) -> Engine:
    """Load the one engine at a directory or file, or at several files of one set.

    Args:
        path: Directory, file or files; an archive `.tea` or a log counts as a file.
        optimization_profile: Optimization profile to show, if there are several; None for the profiled one.
        run: Run to show, from 1, if a file has several; None for the last one that fits the graph.
        onnx: The ONNX model that the engine was built from: layers get its nodes.
        peaks: Facts about the device that the files do not state: `["bandwidth=320", "fp16=65"]`.

    Raises:
        ArtifactError: There is no usable file; the message has file and line.
        TrexError: There are several engines, use `load_engines`; or an argument is invalid.

    >>> load_engine("sample_artifacts/alexnet")
    <Engine 'alexnet_fp16': 14 layers, NVIDIA GeForce RTX 3060 Laptop GPU>
    """
    sets = find_sets(path).sets
    if len(sets) > 1:
        names = ", ".join(source.name for source in sets[:_MOST_NAMED]) + (
            ", …" if len(sets) > _MOST_NAMED else ""
        )
        raise TrexError(f"{path}: has {len(sets)} engines ({names}); choose one, or use load_engines()")
    return _load(sets[0], optimization_profile, run, onnx, peaks)


def load_engines(
    path: str | Path | Iterable[str | Path], *, onnx: str | Path | None = None, peaks: Sequence[str] = ()
) -> list[Engine]:
    """Load every engine at a path; arguments as for `load_engine`.

    Raises:
        ArtifactError: There is no engine, or a set has no usable file.
    """
    return [_load(source, None, None, onnx, peaks) for source in find_sets(path).sets]


def _load(
    source: ArtifactSet,
    optimization_profile: int | None,
    run: int | None,
    onnx: str | Path | None,
    peaks: Sequence[str],
) -> Engine:
    engine = load_set(
        source,
        columns=ALL_COLUMNS,
        optimization_profile=optimization_profile,
        run=run,
        onnx=None if onnx is None else Path(onnx),
    )
    return replace(engine, stated_device=parse_peaks(peaks)) if peaks else engine


def full_frame(engine: Engine) -> pd.DataFrame:
    """Return a row per layer with every column, and every attribute of the file as `attr.KEY`."""
    return engine.frame(*engine.columns)


def select(engine: Engine, filter_text: str = "", columns: Sequence[str] = ()) -> pd.DataFrame:
    """Return a frame of the layers that a filter matches.

    Args:
        engine: The engine.
        filter_text: Such as `kind:convolution ms>0.01`; empty for all layers.
        columns: Keys or short names, such as `ms`; about forty columns by default.

    Raises:
        TrexError: The filter is invalid, or a name is no column.
    """
    keys = []
    for name in columns:
        column = find_column(engine, name)
        if column is None:
            raise TrexError(
                f"no column {name!r}; {suggest_column(engine, name) or '`trex-tui explain` lists them'}"
            )
        keys.append(column.key)
    return engine.frame(*keys)[find_matches(engine, filter_text)]


@dataclass(frozen=True, eq=False)
class Result:
    """A result of a command: `print` shows its text, a notebook its page.

    Attributes:
        frame: Its main table: groups of layers, findings, or blocks of layers.
    """

    document: Document
    frame: pd.DataFrame

    def __repr__(self) -> str:
        return f"<Result {self.document.key} of {self.document.title}: {len(self.frame)} rows>"

    def __str__(self) -> str:
        return self._write("text")

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_html(self) -> str:
        """Return a page in one file (extra `report`)."""
        return self._write("html")

    def to_dict(self) -> dict[str, Any]:
        """Return the document that `--json` writes."""
        document: dict[str, Any] = json.loads(self._write("json"))
        return document

    def _write(self, name: str) -> str:
        content = WRITERS[name].write(self.document)
        return content if isinstance(content, str) else content.decode()


def summary(engine: Engine) -> Result:
    """Return the overview of an engine; its table is the time by kind and precision."""
    keys = ["kind", "precision"]
    totals = engine.frame(*keys, "latency_ms", "latency_pct").groupby(keys, dropna=False)
    table = totals.sum(min_count=1).assign(layers=totals.size()).sort_values("latency_ms", ascending=False)
    return Result(summarize(engine), table.reset_index())


def findings(engine: Engine) -> Result:
    """Return what `lint` finds, with a row per finding."""
    config = LintConfig()
    linted = Linted(engine, run_rules(engine, config))
    frame = findings_table(linted).frame
    return Result(lint_document([linted], config), pd.DataFrame() if frame is None else frame)


def diff(*engines: Engine) -> Result:
    """Compare two to four engines, with a row per block of matched layers; the first is the baseline.

    Raises:
        TrexError: Fewer or more engines.
    """
    compared = comparison.compare(engines)
    return Result(compare_document(Shown(compared, compared.blocks.index)), compared.blocks)


def chart(engine: Engine, name: str) -> Any:  # noqa: ANN401 - one of Altair's chart classes
    """Return a chart of `layers --chart NAME` as an Altair chart (extra `report`).

    Raises:
        TrexError: There is no such chart, or the engine has no data for it.
    """
    from trex_tui.report.altair_painter import build

    return build(make_chart(engine, name))
