"""Everything that is known of one layer, to read and to go on from."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from trex_tui.analysis.columns import Derived
from trex_tui.analysis.grouping import Group, Grouping
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.reports.layer_text import Line, group_lines, layer_lines
from trex_tui.widgets.linked_lines import LinkedLines


class LayerDetails(LinkedLines):
    """The details pane. Lines that lead to other layers can be chosen and followed."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.border_title = Content("v neighbours · [ ] walk · - back · l h links").markup
        self.shown: Layer | Group | None = None

    def show(
        self,
        engine: Engine,
        entry: Layer | Group | None,
        *,
        grouping: Grouping = Grouping.MODULE,
        facts: Derived | str | None = None,
        findings: Sequence[Line] = (),
        build: Sequence[Line] = (),
    ) -> None:
        """Show a layer or a group: from its top, unless it is the one that is shown already."""
        is_other = entry is not self.shown
        self.shown = entry
        if entry is None:
            lines = [Line("Nothing is selected.", "muted")]
        elif isinstance(entry, Layer):
            lines = list(layer_lines(engine, entry, facts, findings, build))
        else:
            lines = list(group_lines(engine, entry, grouping))
        self.show_lines(lines, from_top=is_other)
