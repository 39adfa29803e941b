"""Time by kind, precision and kernel, as bars with words and numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from trex_tui.analysis.totals import UNKNOWN, Total, total_by
from trex_tui.charts.bars import lying_bar
from trex_tui.charts.figure import HERE, HERE_STYLE, NO_LAYER, Figure, Subject
from trex_tui.charts.grid import Part, Span, cells_of, shorten
from trex_tui.charts.legend import BAR_SIGN, kind_entries, legend_rows, put_row
from trex_tui.charts.naming import apart
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.text import format_count, format_ms, format_pct, plural

NO_TACTIC = "(no kernel named)"
LEAST_BAR = 8
"""A bar of fewer cells tells nothing: before that, names are cut."""
_HASH = re.compile(r"_0x[0-9a-fA-F]{6,}|_[0-9a-f]{16,}$|_myl\d+_\d+$")
_GAP = 2
_HIGH = 14
"""From so many rows on, a legend may have two of them."""
_MUTED = "$muted"


@lru_cache(maxsize=4096)
def tactic_group(name: str | None) -> str:
    """A kernel's name without the hash that tells generated kernels of the same operators apart."""
    return _HASH.sub("", name) if name else NO_TACTIC


def _kind(layer: Layer) -> str:
    return layer.kind.value


def _precision(layer: Layer) -> str | None:
    return layer.precision.value if layer.precision else None


def _tactic(layer: Layer) -> str:
    return tactic_group(layer.tactic)


def kind_figure(subject: Subject, width: int) -> Figure:  # noqa: ARG001 - every chart is asked so
    """Time by what the layers do."""
    kinds = {kind.value: kind for kind in LayerKind}
    return _figure(subject, "kind", _kind, lambda key: subject.palette.kind(kinds[key]))


def precision_figure(subject: Subject, width: int) -> Figure:  # noqa: ARG001
    """Time by the type that layers compute in."""
    if subject.layers and not any(map(_precision, subject.layers)):
        return Figure(("No layer here tells the precision it computes in.",))
    precisions = {one.value: one for one in DataType}
    return _figure(
        subject, "precision", _precision, lambda key: subject.palette.precision(precisions.get(key))
    )


def tactic_figure(subject: Subject, width: int) -> Figure:  # noqa: ARG001
    """Time by kernel."""
    if subject.layers and not any(layer.tactic for layer in subject.layers):
        return Figure(("No layer here names its kernel.",))
    kinds = _main_kinds(subject.layers)

    def style(key: str) -> str:
        return _MUTED if key == NO_TACTIC else subject.palette.kind(kinds[key])

    shown = Counter(kind for key, kind in kinds.items() if key != NO_TACTIC)
    legend = kind_entries(shown, subject.palette.kind, lambda _: BAR_SIGN)
    figure = _figure(subject, "kernel", _tactic, style, legend)
    hashed = {layer.tactic for layer in subject.layers if layer.tactic and _tactic(layer) != layer.tactic}
    if hashed and figure.paint:
        note = f" Hashes are left out of the names of {plural(len(hashed), 'generated kernel')}."
        return replace(figure, words=(figure.words[0] + note, *figure.words[1:]))
    return figure


def _main_kinds(layers: Sequence[Layer]) -> dict[str, LayerKind]:
    """Of each kernel, the kind of layers that it runs longest for."""
    times: dict[str, dict[LayerKind, float]] = {}
    for layer in layers:
        of_kernel = times.setdefault(_tactic(layer), {})
        of_kernel[layer.kind] = of_kernel.get(layer.kind, 0.0) + (layer.latency_ms or 0.0)
    return {kernel: max(of_kernel, key=of_kernel.__getitem__) for kernel, of_kernel in times.items()}


def _figure(
    subject: Subject,
    what: str,
    key: Callable[[Layer], str | None],
    style: Callable[[str], str],
    legend: Sequence[Span] = (),
) -> Figure:
    if not subject.layers:
        return Figure((NO_LAYER,))
    totals = total_by(subject.engine, key, subject.layers)
    times = [total.latency_ms for total in totals if total.latency_ms is not None]
    current = subject.shown_current
    here = (key(current) or UNKNOWN) if current is not None else None
    bars = Shares(totals, style, here, bool(times), legend)
    counted = f"{plural(len(subject.layers), 'layer')} in {plural(len(totals), what)}"
    missing: tuple[str, ...] = ()
    if not times:
        words = f"Layers by {what}: {counted}."
        missing = (
            "No time is known: the bars are numbers of layers. `trtexec --exportProfile` tells times.",
        )
    else:
        share = sum(total.latency_pct or 0.0 for total in totals)
        words = f"Time by {what}: {counted}, {format_ms(sum(times))} ms, {format_pct(share)} % of the engine."
        untimed = sum(layer.latency_ms is None for layer in subject.layers)
        if untimed:
            missing = (f"{plural(untimed, 'layer')} without a time count as layers only.",)
    return Figure((words,), missing, bars.paint, data=bars)


@dataclass(frozen=True, slots=True)
class Shares:
    """Totals as lines: name, number of layers, milliseconds, share, bar; the legend tells what the colours mean."""

    totals: Sequence[Total]
    style: Callable[[str], str]
    here: str | None
    is_timed: bool
    legend: Sequence[Span] = ()

    def cells(self, total: Total) -> tuple[str, ...]:
        """The numbers of a line."""
        if not self.is_timed:
            return (format_count(total.layers),)
        return (format_count(total.layers), format_ms(total.latency_ms), format_pct(total.latency_pct))

    def size(self, total: Total) -> float:
        """How long its bar is: milliseconds, or layers where no time is known."""
        return (total.latency_ms or 0.0) if self.is_timed else float(total.layers)

    @property
    def headings(self) -> tuple[str, ...]:
        """Of the numbers of a line."""
        return ("n", "ms", "%") if self.is_timed else ("n",)

    def paint(self, part: Part) -> None:
        """Draw it into a part of a grid."""
        legend = legend_rows(self.legend, part.width, part.width, 2 if part.height >= _HIGH else 1)
        for row, spans in enumerate(legend):
            put_row(part, row, spans)
        part = part.part(0, len(legend) - 1, part.width, part.height - len(legend) + 1)
        rows = part.height - 2
        shown = list(self.totals) if len(self.totals) <= rows else list(self.totals[: rows - 1])
        step = 2 if 2 * len(self.totals) <= rows + 1 else 1
        table = [self.headings, *map(self.cells, shown)]
        widths = [max(len(row[place]) for row in table) for place in range(len(self.headings))]
        figures = sum(widths) + _GAP * len(widths)
        longest = max(len(cells_of(shorten(total.key, part.width))) for total in shown)
        names = min(longest, max(12, part.width - 2 - figures - _GAP - max(LEAST_BAR, part.width // 4)))
        start, bar = 2 + names + figures + _GAP, part.width - 2 - names - figures - _GAP
        labels = apart([total.key for total in shown], names)
        self._put_cells(part, 1, self.headings, widths, 2 + names, _MUTED)
        top = max(map(self.size, self.totals)) or 1.0
        for place, total in enumerate(shown):
            row, style = 2 + place * step, self.style(total.key)
            is_here = total.key == self.here
            if is_here:
                part.put(0, row, HERE, HERE_STYLE)
            part.put(2, row, labels[place], HERE_STYLE if is_here else style)
            self._put_cells(part, row, self.cells(total), widths, 2 + names, "")
            part.put(start, row, lying_bar(self.size(total) / top, bar), style)
        self._tell_rest(part, self.totals[len(shown) :])

    @staticmethod
    def _put_cells(
        part: Part, row: int, cells: Sequence[str], widths: Sequence[int], x: int, style: str
    ) -> None:
        for cell, width in zip(cells, widths, strict=True):
            x += _GAP + width
            part.put(x - len(cell), row, cell, style)

    def rest_words(self, rest: Sequence[Total]) -> str:
        """What the lines that are left out add up to."""
        layers = sum(total.layers for total in rest)
        time = sum(total.latency_ms or 0.0 for total in rest)
        words = f"and {len(rest)} more: {plural(layers, 'layer')}"
        return f"{words}, {format_ms(time)} ms" if self.is_timed else words

    def _tell_rest(self, part: Part, rest: Sequence[Total]) -> None:
        if not rest:
            return
        words = self.rest_words(rest)
        hides_here = any(total.key == self.here for total in rest)
        part.put(2, part.height - 1, shorten(words, part.width - 2), HERE_STYLE if hides_here else _MUTED)
        if hides_here:
            part.put(0, part.height - 1, HERE, HERE_STYLE)
