"""The engine of the Python API: the domain model with its results as methods, which import libraries when they need them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from trex_tui.old.analysis.load import LoadOptions, check_model, load
from trex_tui.old.analysis.timing import enqueue_durations_ms, warmup_ms, without_warmup
from trex_tui.old.artifacts import timing as timing_files
from trex_tui.old.artifacts.discover import find
from trex_tui.old.engine.engine import Engine as BaseEngine
from trex_tui.old.engine.engine import find_one
from trex_tui.old.errors import TrexError
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import plural

if TYPE_CHECKING:
    import pandas as pd

    from trex_tui.old.api.pictures import Svg
    from trex_tui.old.api.results import EngineComparison, Findings, Summary
    from trex_tui.old.artifacts import ArtifactSet
    from trex_tui.old.artifacts.records import Records
    from trex_tui.old.engine.model import Layer
    from trex_tui.old.report.document import Table

_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True, repr=False)
class Timing(timing_files.Timing):
    """The timing run of an engine, a row per measured query.

    Attributes:
        warmup_rows: Number of rows at the beginning that belong to the warm-up.
    """

    warmup_rows: int = 0

    @property
    def frame(self) -> pd.DataFrame:
        """A row per query, in milliseconds, with the columns of the file: `latencyMs` is `latency_ms`.

        `enqueue_ms` is the duration of the enqueue; `is_warmup` marks rows that no statistic uses.

        >>> timing = engine.timing.frame
        >>> timing["latency_ms"].describe(percentiles=[0.5, 0.99]).round(3)["50%":]
        50%    0.496
        99%    0.500
        max    0.501
        Name: latency_ms, dtype: float64
        """
        from trex_tui.old.report.frames import columns_frame

        columns: dict[str, Sequence[Any]] = {
            _WORD.sub("_", key).lower(): column for key, column in self.columns.items()
        }
        enqueue = enqueue_durations_ms(self.columns)
        if enqueue is not None:
            columns["enqueue_ms"] = enqueue
        columns["is_warmup"] = [row < self.warmup_rows for row in range(self.rows)]
        return columns_frame(columns)


class Engine(BaseEngine):
    """A TensorRT engine: its layers, and results about it as frames, pictures and pages.

    >>> engine.layers[1]
    <Layer 1 '/features/features.0/Conv + /features/features.1/Relu': convolution, FP16, 0.0243 ms>
    """

    timing: Timing | None

    @classmethod
    def from_records(cls, records: Records, optimization_profile: int | None = None) -> Engine:
        return cls.from_base(BaseEngine.from_records(records, optimization_profile))

    @classmethod
    def from_base(cls, engine: BaseEngine) -> Engine:
        """Return an engine that was loaded in another way, with the methods of the API."""
        values = {field.name: getattr(engine, field.name) for field in fields(engine)}
        run: timing_files.Timing | None = values["timing"]
        if run is not None and not isinstance(run, Timing):
            rows, _ = without_warmup(run, warmup_ms(engine))
            values["timing"] = Timing(run.columns, run.rows, run.diagnostics, run.assumed, rows.start)
        return cls(**values)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A row per layer in execution order, with every column of `trex-tui explain` and every attribute as `attr.KEY`.

        Unknown values are missing, never 0. Numbers are `float64` or `Int64`, flags `boolean`, texts `string`.

        >>> engine.frame.nlargest(3, "latency_ms")[["index", "kind", "precision", "latency_ms"]]
            index  kind precision  latency_ms
        11     11  gemm      FP16    0.239573
        12     12  gemm      FP16    0.109582
        13     13  gemm      FP16    0.030724
        >>> engine.frame.groupby("kind")["latency_ms"].sum().nlargest(2)
        kind
        gemm           0.379879
        convolution    0.114782
        Name: latency_ms, dtype: float64
        """
        from trex_tui.old.analysis.columns import full_frame

        return full_frame(self)

    def select(self, filter: str = "", columns: Sequence[str] | None = None) -> pd.DataFrame:  # noqa: A002 - its name everywhere
        """Return a frame of the layers that a filter matches (docs/filters.md).

        Args:
            filter: Such as `kind:convolution ms>0.01`; empty for all layers.
            columns: Names or short names, such as `ms`; all columns by default.

        Raises:
            TrexError: The filter is invalid, or a name is not a column.

        >>> engine.select("kind:gemm ms>0.1", ["index", "ms", "gemm_m", "gemm_n", "gemm_k"])
            index  latency_ms  gemm_m  gemm_n  gemm_k
        11     11    0.239573       1    4096    9216
        12     12    0.109582       1    4096    4096
        """
        from trex_tui.old.analysis.columns import full_frame

        frame = self.frame if columns is None else full_frame(self, columns)
        return frame.iloc[[layer.index for layer in self._filter(filter)]]

    def summary(self) -> Summary:
        """Return figures and facts: model, device, builder, run, times, memory, hottest layers."""
        from trex_tui.old.api.results import Summary

        return Summary(self)

    def lint(
        self,
        select: str | Sequence[str] = (),
        ignore: str | Sequence[str] = (),
        *,
        min_severity: str | None = None,
        filter: str = "",  # noqa: A002
        config: str | Path | None = None,
    ) -> Findings:
        """Check the engine with the lint rules.

        Args:
            select, ignore: Ids or families of rules: `"CONV"`, `["QDQ001", "FMT"]`.
            min_severity: Hide findings below `error`, `warning` or `info`.
            filter: Only findings about a layer that this filter matches.
            config: A configuration file; by default those that `trex-tui lint` reads.

        Raises:
            TrexError: A rule, the severity, the filter or a configuration file is invalid.

        >>> engine.lint("GEMM").frame.explode("layers")[["rule", "layers"]]
              rule layers
        0  GEMM003     11
        0  GEMM003     12
        0  GEMM003     13
        """
        from trex_tui.old.api.results import Findings
        from trex_tui.old.lint.config import find_config, restrict
        from trex_tui.old.lint.registry import registry
        from trex_tui.old.lint.run import run
        from trex_tui.old.report.views.lint import EngineReport, LintReport

        rules = registry()
        chosen = restrict(
            find_config(os.environ, rules, None if config is None else Path(config)),
            rules,
            [select] if isinstance(select, str) else select,
            [ignore] if isinstance(ignore, str) else ignore,
            min_severity,
        )
        layers = [layer.index for layer in self._filter(filter)] if filter else None
        linted = EngineReport(self, run(self, chosen, layers=layers))
        return Findings(LintReport((linted,), chosen, rules.diagnostics))

    def compare(
        self,
        *others: BaseEngine,
        per_batch: bool | None = None,
        align: str = "auto",
        filter: str = "",  # noqa: A002
    ) -> EngineComparison:
        """Compare this engine, the baseline, with others.

        Args:
            per_batch: Divide times by the batch; None does so if the batches are known and differ.
            align: Evidence that matches layers: `auto`, or one of `trex-tui diff --align`.
            filter: Only blocks with a layer that this filter matches; sums and verdicts refer to all.

        Raises:
            TrexError: There is no other engine, a batch is unknown, or `align` or the filter is invalid.

        >>> fp16.compare(qat)
        <EngineComparison 'resnet', 'resnet-qat': slower (+2.36 %), within one run>
        """
        from trex_tui.old.analysis.compare import compare
        from trex_tui.old.analysis.filter import FilterError
        from trex_tui.old.api.results import EngineComparison
        from trex_tui.old.report.views.compare import Shown, filtered

        comparison = compare([self, *others], align=align, per_batch=per_batch)
        try:
            blocks = filtered(comparison, filter)
        except FilterError as error:
            raise TrexError(f"filter: {error.pointed}") from None
        return EngineComparison(Shown(comparison, blocks, filter_text=filter))

    @property
    def charts(self) -> Mapping[str, str]:
        """Id of each chart, and its title.

        >>> list(engine.charts)[:8]
        ['histogram', 'over-time', 'percentiles', 'kind', 'precision', 'kind-precision', 'tactic', 'reformats']
        """
        from trex_tui.old.report.charts.catalogue import CHARTS

        return {chart.id: chart.titled(self.layers).title for chart in CHARTS if chart.needs(self)}

    def chart(
        self,
        id: str,  # noqa: A002 - its name everywhere
        *,
        filter: str = "",  # noqa: A002
        x: str | None = None,
        y: str | None = None,
        size: str | None = None,
        color: str | None = None,
    ) -> Svg:
        """Draw a chart.

        Args:
            id: One of `charts`.
            filter: Only the layers that this filter matches.
            x, y, size, color: Columns of the chart, where it has a choice.

        Raises:
            TrexError: There is no such chart, nothing to draw, a column is not one of the engine, or the chart has no use
                for it.

        >>> engine.chart("scatter", x="macs", y="ms", color="precision", filter="kind:gemm")
        <Svg 'Scatter of alexnet_fp16': 8 kB>
        """
        from trex_tui.old.api.pictures import Svg
        from trex_tui.old.report.chart_file import CHART, draw_picture, make_subject
        from trex_tui.old.report.charts.catalogue import CHARTS_BY_ID
        from trex_tui.old.text import did_you_mean

        chart = CHARTS_BY_ID.get(id)
        if chart is None:
            hint = did_you_mean(id, CHARTS_BY_ID) or f"use one of {', '.join(CHARTS_BY_ID)}"
            raise TrexError(f"no chart {id!r}; {hint}")
        columns = {"x": x, "value": y, "size": size, "color": color}
        subject = make_subject(chart, self, self._filter(filter), columns, {"value": "y"})
        return Svg(
            f"{chart.titled(subject.layers).title} of {self.name}",
            draw_picture(chart, subject),
            CHART,
            self.source,
        )

    def draw(
        self,
        *,
        filter: str | None = None,  # noqa: A002
        around: str | int | None = None,
        radius: int | None = None,
        color: str = "kind",
        labels: Sequence[str] = (),
        highlight: str | None = None,
        constants: bool = False,
        edges: bool = False,
        layout: str = "auto",
    ) -> Svg:
        """Draw the graph of the layers.

        Args:
            filter: Only the layers that this filter matches, and their neighbours up to `radius` (0) links away.
            around: Only this layer (name, part of a name, or index) and its neighbours up to `radius` (2) links away.
            color: Meaning of the colours: `kind`, `precision` or `latency`.
            labels: Columns in the boxes; by default name, kind, precision and time.
            highlight: A filter: matching layers get a thick frame.
            constants: Draw weights among the inputs.
            edges: Write shape and format beside the arrows.
            layout: `dot` for Graphviz, `builtin`, or `auto`: Graphviz where it is installed and quick.

        Raises:
            TrexError: An argument is invalid, or nothing is left to draw.

        >>> engine.draw(around=11, radius=1, layout="builtin").save("around.svg").name
        'around.svg'
        """
        from trex_tui.old.api.pictures import Svg
        from trex_tui.old.report.export import EXPORT, export_engine
        from trex_tui.old.report.graph.engine_graph import DEFAULT_LABELS, GraphOptions, label_parts
        from trex_tui.old.report.graph.model import ColorBy

        if color not in {choice.value for choice in ColorBy}:
            raise TrexError(
                f"color: no {color!r}; use one of {', '.join(choice.value for choice in ColorBy)}"
            )
        if layout not in ("auto", "dot", "builtin"):
            raise TrexError(f"layout: no {layout!r}; use auto, dot or builtin")
        options = GraphOptions(
            color=ColorBy(color),
            labels=tuple(label_parts(",".join(labels or DEFAULT_LABELS))),
            query=filter,
            around=None if around is None else str(around),
            radius=radius,
            highlight=highlight,
            constants=constants,
            edges=edges,
        )
        drawn = export_engine(self, "svg", (), options, layout).content
        svg = drawn if isinstance(drawn, str) else drawn.decode()  # Graphviz writes bytes
        return Svg(f"Graph of {self.name}", svg, EXPORT, self.source)

    def report(self, path: str | Path, *, force: bool = False) -> Path:
        """Write a report as `.html`, `.md` or `.json`, and return its path.

        Args:
            force: Replace a file that is not a report.

        Raises:
            TrexError: The extension is another one, the file must not be replaced, or it cannot be written.

        >>> engine.report("alexnet.html").name
        'alexnet.html'
        """
        from trex_tui.old.api.reports import write_report

        return write_report([self], path, force=force)

    def _filter(self, text: str) -> Sequence[Layer]:
        if not text:
            return self.layers
        from trex_tui.old.analysis.filter import FilterError, filter_layers

        try:
            return filter_layers(self, text)
        except FilterError as error:
            raise TrexError(f"filter: {error.pointed}") from None

    def _repr_html_(self) -> str:
        from trex_tui.old.report.document import Section
        from trex_tui.old.report.render_html import sections_fragment
        from trex_tui.old.report.views.engine import engine_facts

        facts = [("Device", self.device_name or "not stated"), *engine_facts(self)]
        return sections_fragment(self.name, [Section("engine", "Engine", facts=facts)])


def load_engine(
    path: str | Path | Iterable[str | Path],
    optimization_profile: int | None = None,
    run: int | None = None,
    *,
    onnx: str | Path | Literal[False] | None = None,
    peaks: Sequence[str] = (),
) -> Engine:
    """Load the one engine at a directory or file, or at several files of one set.

    Args:
        path: Directory, file or files; an archive `.tea` or a log counts as a file.
        optimization_profile: Profile to show, if there are several; None for the profiled one.
        run: Run to show, from 1, if a file has several; None for the last one that fits the graph.
        onnx: The ONNX model that the engine was built from, or its directory: layers get its nodes. None uses a model beside
            the files, if it is certainly its own; False none.
        peaks: Facts about the device that the files do not state: `["bandwidth=320", "fp16=65"]`.

    Raises:
        ArtifactError: There is no usable file; the message has file and line.
        TrexError: There are several engines, use `load_engines`; or an argument is invalid.

    >>> load_engine("sample_artifacts/alexnet")
    <Engine 'alexnet_fp16': 14 layers, NVIDIA GeForce RTX 3060 Laptop GPU>
    """
    paths = _list_paths(path)
    source = find_one(path if isinstance(path, (str, Path)) else paths)
    return _load([source], paths, optimization_profile, run, onnx, peaks)[0]


class Engines(tuple[Engine, ...]):
    """Several engines, compared by the table of `trex-tui engines`."""

    __slots__ = ()

    @property
    def frame(self) -> pd.DataFrame:
        """A row per engine, with every column of `trex-tui engines`. Engines of one model have the same `model`.

        Unknown values are missing, never 0.

        >>> load_engines("sample_artifacts/resnet-a100").frame[["engine", "layers", "latency_median_ms"]]
                        engine  layers  latency_median_ms
        0               resnet      36           0.862183
        1           resnet-qat      37           0.882568
        2  resnet-qat-residual      26           0.545776
        """
        from trex_tui.old.report.frames import table_frame

        return table_frame(self._table)

    @property
    def _table(self) -> Table:
        from trex_tui.old.fleet.engine_columns import COLUMNS, Need
        from trex_tui.old.fleet.rows import make_row
        from trex_tui.old.fleet.table import make_table
        from trex_tui.old.report.views.fleet import ShownFleet, engines_table

        rows = make_table(make_row(engine, max(Need)) for engine in self)
        return engines_table(ShownFleet(rows, COLUMNS, len(rows)))

    def __repr__(self) -> str:
        return f"<{plural(len(self), 'engine')}: {', '.join(engine.name for engine in self)}>"

    def _repr_html_(self) -> str:
        from trex_tui.old.report.document import Section, drop_empty_columns
        from trex_tui.old.report.render_html import sections_fragment

        return sections_fragment(
            "Engines", [Section("engines", "Engines", tables=[drop_empty_columns(self._table)])]
        )


def load_engines(
    path: str | Path | Iterable[str | Path],
    *,
    onnx: str | Path | Literal[False] | None = None,
    peaks: Sequence[str] = (),
) -> Engines:
    """Load every engine at a path; arguments as for `load_engine`.

    Raises:
        ArtifactError: There is no engine, or a set has no usable file.

    >>> [engine.name for engine in load_engines("sample_artifacts/resnet-a100")]
    ['resnet', 'resnet-qat', 'resnet-qat-residual']
    """
    paths = _list_paths(path)
    return Engines(_load(find(paths), paths, None, None, onnx, peaks))


def _list_paths(path: str | Path | Iterable[str | Path]) -> list[str]:
    return [str(item) for item in ([path] if isinstance(path, (str, Path)) else path)]


def _load(
    sets: Sequence[ArtifactSet],
    paths: Sequence[str],
    optimization_profile: int | None,
    run: int | None,
    onnx: str | Path | Literal[False] | None,
    peaks: Sequence[str],
) -> list[Engine]:
    model = str(onnx) if onnx else None
    options = LoadOptions.of(optimization_profile, peaks, run, model, finds_onnx=onnx is None, roots=paths)
    engines = [load(source, options) for source in sets]
    check_model(engines, options)
    return [Engine.from_base(engine) for engine in engines]
