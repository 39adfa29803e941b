"""Navigation history: tab, layer, filter and scroll position of each jump."""

from __future__ import annotations

from dataclasses import replace

from trex_tui.old.engine.model import Layer
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.widgets.actions import TABS

_TITLES = {tab.id: tab.title for tab in TABS}
LONGEST_HISTORY = 500
MOST_CRUMBS = 3
"""Number of visits named in the header."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A place in an engine.

    Attributes:
        layer: The current layer; None for an engine without layers.
        title: What the jump was to: `45` for a layer, `kind gemm` for a filter; empty where no jump led.
        place: Cursor and scroll position, as `EnginePane.place` has them; None before it was left.
    """

    tab: str
    layer: Layer | None
    filter_text: str = ""
    title: str = ""
    place: object = None

    def is_at(self, other: Visit) -> bool:
        is_same_view = (self.tab, self.filter_text) == (other.tab, other.filter_text)
        return is_same_view and self.layer is other.layer


class History:
    """Visits in order, and the position of the current one."""

    def __init__(self) -> None:
        self._visits: list[Visit] = []
        self._position = 0

    @property
    def has_way_back(self) -> bool:
        return self._position > 0

    def leave(self, here: Visit, there: Visit) -> None:
        """Record the start of a jump, and drop the forward history, as a browser does."""
        if not here.is_at(there):
            self._keep(here)
            self._visits = [*self._visits[: self._position + 1], there][-LONGEST_HISTORY:]
            self._position = len(self._visits) - 1

    def back(self, here: Visit) -> Visit | None:
        return self._step(here, -1)

    def forward(self, here: Visit) -> Visit | None:
        return self._step(here, 1)

    def has_led_to(self, filter_text: str) -> bool:
        """Return whether the last jump set this filter."""
        if not self.has_way_back:
            return False
        before, here = self._visits[self._position - 1 : self._position + 1]
        return here.filter_text == filter_text != before.filter_text

    def format_trail(self, tab: str) -> str:
        """Return the last visits for the header: `Overview › Latency: kind gemm`; empty if no jump led to `tab`."""
        if not self.has_way_back or self._visits[self._position].tab != tab:
            return ""
        crumbs, before = [], ""
        for visit in self._visits[: self._position + 1][-MOST_CRUMBS:]:
            name = _TITLES[visit.tab] if visit.tab != before else ""
            crumbs.append(": ".join(filter(None, (name, visit.title))))
            before = visit.tab
        return " › ".join(crumbs)

    def _keep(self, here: Visit) -> None:
        """Replace the current visit by its present state."""
        if not self._visits:
            self._visits = [here]
            return
        before = self._visits[self._position]
        is_same = (before.tab, before.filter_text) == (here.tab, here.filter_text)
        title = before.title if is_same else ""
        if before.layer is not None and title == str(before.layer.index) and here.layer is not None:
            title = str(here.layer.index)
        self._visits[self._position] = replace(here, title=title)

    def _step(self, here: Visit, step: int) -> Visit | None:
        position = self._position + step
        if not 0 <= position < len(self._visits):
            return None
        self._keep(here)
        self._position = position
        return self._visits[position]
