"""`trex-tui layers --chart`: a chart of some layers as SVG."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trex_tui.errors import TrexError
from trex_tui.report.charts.svg_painter import picture

if TYPE_CHECKING:
    import argparse

    from trex_tui.engine.engine import Engine
    from trex_tui.engine.model import Layer

_PLAIN = "svg"
"""Without a name: the layers in order."""


def print_chart(options: argparse.Namespace, engine: Engine, layers: Sequence[Layer]) -> None:
    """Print the chart.

    Args:
        layers: What filter and `--top` left, in any order; a chart has its own.

    Raises:
        TrexError: There is nothing to draw; the message says why.
    """
    if options.format != "table":
        raise TrexError("--chart is a format of its own: leave out --format")
    chosen = sorted(layers, key=lambda layer: layer.index)
    name = "layers" if options.chart == _PLAIN else options.chart
    found = picture(name, engine, layers=chosen, standalone=True)
    if found.svg is None:
        raise TrexError(f"{engine.name}: nothing to draw. {' '.join((*found.words, *found.missing))}")
    sys.stdout.write(f"{found.svg}\n")
