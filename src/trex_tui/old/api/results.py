"""Results of the Python API: the sections that commands and screens show, as frames, HTML, text and JSON objects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from trex_tui.old.analysis.compare import Comparison, Verdict
    from trex_tui.old.engine.engine import Engine
    from trex_tui.old.lint.model import LintResult
    from trex_tui.old.report.document import Section
    from trex_tui.old.report.render_text import Console
    from trex_tui.old.report.views.compare import Shown
    from trex_tui.old.report.views.lint import LintReport


class Result(ABC):
    """A result of several tables.

    `print` writes what the command prints, a notebook shows HTML, and every table is a frame.
    """

    @property
    @abstractmethod
    def title(self) -> str:
        """Heading of the result."""

    @cached_property
    @abstractmethod
    def frame(self) -> pd.DataFrame:
        """The main table."""

    @property
    def frames(self) -> Mapping[str, pd.DataFrame]:
        """Every table that the result shows, by its name."""
        from trex_tui.old.report.frames import name_tables, table_frame

        return {name: table_frame(table) for name, table in name_tables(self._sections).items()}

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the object that the command writes with `--json`."""

    def to_html(self) -> str:
        """Return HTML for a page: headings, sentences and tables, no script."""
        from trex_tui.old.report.render_html import sections_fragment

        return sections_fragment(self.title, self._sections)

    @cached_property
    @abstractmethod
    def _sections(self) -> Sequence[Section]: ...

    def _draw(self, console: Console) -> None:
        from trex_tui.old.report.render_text import print_sections

        print_sections(self._sections, console)

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        from trex_tui.old.report.render_text import plain_text

        return plain_text(self._draw).rstrip("\n")


def _damage(engine: Engine) -> list[Section]:
    """Return a section about damaged files, where there are any."""
    from trex_tui.old.errors import Severity
    from trex_tui.old.report.views.damage import damage_section

    errors = [note for note in engine.diagnostics if note.severity is Severity.ERROR]
    return [damage_section(errors)] if errors else []


class Summary(Result):
    """The figures and facts of an engine: what `trex-tui summary` prints.

    >>> summary = engine.summary()
    >>> summary
    <Summary of 'alexnet_fp16': 11 figures>
    >>> summary.frame[["figure", "value", "unit", "text"]].head(3)
                  figure        value unit     text
    0  latency.median_ms     0.495605   ms   0.4956
    1     latency.p99_ms     0.500000   ms   0.5000
    2     throughput_qps  2012.220000  qps  2012.22
    >>> list(summary.frames)
    ['performance', 'by_kind', 'by_precision', 'by_tensor_cores', 'by_bound', 'hot_layers']
    >>> summary.frames["by_kind"].head(2)
               key  layers  latency_ms  latency_pct
    0         gemm       3    0.379879    72.472329
    1  convolution       5    0.114782    21.897877
    >>> summary.to_dict()["engines"][0]["precision"]
    'FP16'
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def title(self) -> str:
        return self._engine.name

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A row per figure: its key in the JSON object, title, value, unit of the value, and text as it is displayed."""
        from trex_tui.old.report.frames import table_frame
        from trex_tui.old.report.views.engine import engine_summary, figures_table

        table = figures_table(engine_summary(self._engine))
        return table_frame(table).assign(text=table.texts(2))

    @cached_property
    def facts(self) -> pd.DataFrame:
        """A row per fact in words: section, label and text, including options at their default."""
        from trex_tui.old.report.frames import columns_frame

        rows = [
            (section.title, *fact) for section in self._sections for fact in (*section.facts, *section.folded)
        ]
        names = ("section", "label", "text")
        return columns_frame({name: [row[index] for row in rows] for index, name in enumerate(names)})

    def to_dict(self) -> dict[str, Any]:
        """Return the object of `trex-tui summary --json`."""
        from trex_tui.old.report.views.engine import summary_document

        return summary_document([self._engine])

    @cached_property
    def _sections(self) -> Sequence[Section]:
        from trex_tui.old.report.views.summary import brief_sections

        return (*_damage(self._engine), *brief_sections(self._engine))

    def __repr__(self) -> str:
        return f"<Summary of {self.title!r}: {len(self.frame)} figures>"


class Findings(Result):
    """The findings of the lint rules about an engine: what `trex-tui lint` prints.

    Attributes:
        result: Findings, strengths, suppressed findings and rules that could not be checked, as objects.

    >>> findings = engine.lint()
    >>> findings
    <Findings about 'alexnet_fp16': 4 infos, possible saving 0.2419 ms (46.15 % of the layers' time), 0.2287 ms end to end>
    >>> findings.frame[["severity", "rule", "saving_ms"]].head(2)
      severity     rule  saving_ms
    0     info  GEMM003   0.189852
    1     info  ROOF001   0.025097
    """

    def __init__(self, report: LintReport) -> None:
        self._report = report
        (self._linted,) = report.engines

    @property
    def title(self) -> str:
        return self._linted.engine.name

    @property
    def result(self) -> LintResult:
        return self._linted.result

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A row per finding, the worst first: severity, rule, message, indices of its layers, possible saving, remedy.

        `frame.explode("layers")` has a row per layer.
        """
        from trex_tui.old.report.frames import table_frame
        from trex_tui.old.report.views.lint import findings_table

        return table_frame(findings_table(self._linted))

    def to_dict(self) -> dict[str, Any]:
        """Return the object of `trex-tui lint --json`."""
        from trex_tui.old.report.render_lint import lint_document

        return lint_document(self._report)

    @cached_property
    def _sections(self) -> Sequence[Section]:
        from trex_tui.old.report.views.lint import lint_sections

        return (*_damage(self._linted.engine), *lint_sections(self._linted, None))

    def _draw(self, console: Console) -> None:
        from trex_tui.old.report.render_lint import print_lint
        from trex_tui.old.report.render_text import print_sections

        print_sections(_damage(self._linted.engine), console)
        print_lint(self._report, console)

    def __repr__(self) -> str:
        from trex_tui.old.report.views.lint import describe_summary

        return f"<Findings about {self.title!r}: {', '.join(describe_summary(self._linted))}>"


class EngineComparison(Result):
    """Engines matched layer to layer: what `trex-tui diff` prints. The first is the baseline.

    Attributes:
        comparison: Blocks, differences, reasons and verdicts, as objects.

    >>> comparison = fp16.compare(qat)
    >>> comparison.reasons[["cause", "delta_ms", "layers"]].head(3)
           cause  delta_ms layers
    0        qdq  0.232448   0:10
    1  precision -0.113664  22:22
    2  reformats -0.041984    2:2
    >>> comparison.frame.nsmallest(2, "delta_ms_1")[["kind", "delta_ms_1", "changed", "cause_1"]]
               kind  delta_ms_1                               changed    cause_1
    1      reformat   -0.080896                                        reformats
    38  convolution   -0.020480  precision;tactic;formats;weights;qdq  precision
    """

    def __init__(self, shown: Shown) -> None:
        self._shown = shown

    @property
    def comparison(self) -> Comparison:
        return self._shown.comparison

    @property
    def engines(self) -> tuple[Engine, ...]:
        """The engines, the baseline first."""
        return self.comparison.engines

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Per engine but the baseline, whether it is faster beyond the noise of the timing runs."""
        return tuple(verdict for verdict in self.comparison.verdicts if verdict is not None)

    @property
    def title(self) -> str:
        from trex_tui.old.report.views.compare import comparison_title

        return comparison_title(self._shown)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A row per block of matched layers, with the evidence, each engine's layers and times, changes and causes.

        Columns end with the number of the engine: `latency_ms_0` is the baseline's. Over all rows they add up to
        `latency_sum_ms` of the engines.
        """
        from trex_tui.old.report.frames import table_frame
        from trex_tui.old.report.views.compare import all_blocks_table

        return table_frame(all_blocks_table(self._shown))

    @cached_property
    def reasons(self) -> pd.DataFrame:
        """A row per cause of the difference of the second engine, the largest first; the last row is their sum."""
        from trex_tui.old.report.frames import table_frame
        from trex_tui.old.report.views.compare import reasons_table

        difference = self.comparison.differences[self.comparison.others[0]]
        assert difference is not None, "only that of the baseline is"
        return table_frame(reasons_table(self.comparison, difference))

    def to_dict(self) -> dict[str, Any]:
        """Return the object of `trex-tui diff --json`."""
        from trex_tui.old.report.views.compare import diff_document

        return diff_document(self._shown)

    def report(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the report of all engines: their comparison, then each of them. See `Engine.report`."""
        from trex_tui.old.api.reports import write_report

        return write_report(self.engines, path, force=force)

    @cached_property
    def _sections(self) -> Sequence[Section]:
        from trex_tui.old.report.views.compare import sections

        return tuple(sections(self._shown))

    def __repr__(self) -> str:
        from trex_tui.old.report.views.compare import describe_outcome

        names = ", ".join(repr(side.label) for side in self.comparison.sides)
        outcomes = "; ".join(map(describe_outcome, self.verdicts))
        return f"<EngineComparison {names}: {outcomes}>"
