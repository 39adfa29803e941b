"""Everything on its way to the terminal, in ASCII."""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from trex_tui.widgets.glyphs import to_ascii


class AsciiFilter(LineFilter):
    """Replaces each character by one that every terminal has. Textual keeps the result with each drawn line."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - Textual's
        """The segments in ASCII."""
        if all(segment.text.isascii() for segment in segments):
            return segments
        return [Segment(to_ascii(text), style, control) for text, style, control in segments]
