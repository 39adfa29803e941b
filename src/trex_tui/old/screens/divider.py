"""The divider between two parts of a pane, moved with the mouse and with keys."""

from __future__ import annotations

from textual import events
from textual.containers import Container
from textual.widget import Widget

from trex_tui.old.screens.services import get_services

LEAST_COLUMNS, LEAST_ROWS = 24, 4
"""Minimum cells of each part; half of the pane if it has less than twice as many."""
STEP_COLUMNS, STEP_ROWS = 4, 2
"""Cells that one key moves the divider."""


class DividedContainer(Container):
    """A pane of two parts, side by side or one above the other, with a border between them that can be moved.

    The share of the first part is remembered by `divider_id` and direction. Until the user moves the divider, the style sheet
    decides.
    """

    _is_dragging = False
    _dragged: float | None = None
    """Share set with the mouse and not saved yet."""

    @property
    def divided_parts(self) -> tuple[Widget, Widget] | None:
        """The parts in order, with one parent; None if there is one part only."""
        return None

    @property
    def divider_id(self) -> str:
        """Key under which the share is remembered."""
        return self.id or ""

    @property
    def is_side_by_side(self) -> bool:
        parent = self._divided_parent
        layout = None if parent is None else parent.styles.layout
        return layout is not None and layout.name != "vertical"

    @property
    def has_divider(self) -> bool:
        """True if both parts are on screen."""
        parts = self.divided_parts
        return parts is not None and all(part.display for part in parts)

    @property
    def _divided_parent(self) -> Widget | None:
        parts = self.divided_parts
        parent = None if parts is None else parts[0].parent
        return parent if isinstance(parent, Widget) else None

    @property
    def _setting(self) -> str:
        return f"{self.divider_id}.{'columns' if self.is_side_by_side else 'rows'}"

    @property
    def _extent(self) -> int:
        """Cells of both parts, across the divider; 0 before there is a layout."""
        parent = self._divided_parent
        size = None if parent is None else parent.size
        return 0 if size is None else size.width if self.is_side_by_side else size.height

    def on_mount(self) -> None:
        self.place_divider()

    def on_resize(self) -> None:
        self.place_divider()

    # Place

    def place_divider(self) -> None:
        """Give both parts the remembered share, or that of the style sheet."""
        share = dict(get_services(self).settings.dividers).get(self._setting)
        extent = self._extent
        self._divide(None if share is None else self._clamp(round(share * (extent or 1000)), extent or 1000))

    def _clamp(self, cells: int, extent: int) -> int:
        least = min(LEAST_COLUMNS if self.is_side_by_side else LEAST_ROWS, extent // 2)
        return max(least, min(extent - least, cells))

    def _divide(self, cells: int | None) -> None:
        """Set the size of the first part in cells, the rest for the second; None for the style sheet's."""
        parts, parent = self.divided_parts, self._divided_parent
        if parts is None or parent is None:
            return
        moved = None if cells is None else (f"{cells}fr", f"{(self._extent or 1000) - cells}fr")
        weights = moved or self._own_extents()
        layout = parent.styles.layout
        is_grid, is_beside = layout is not None and layout.name == "grid", self.is_side_by_side
        _set_style(parent, "grid_columns", " ".join(filter(None, weights)) or None if is_grid else None)
        for part, weight in zip(parts, weights, strict=True):
            _set_style(part, "width", weight if is_beside and not is_grid else None)
            _set_style(part, "height", None if is_beside else weight)

    def _own_extents(self) -> tuple[str | None, str | None]:
        """Extents of both parts until the user moves the divider; None for those of the style sheet."""
        return None, None

    # Moving

    def move_divider(self, step: int) -> None:
        """Move the divider a step to the right or down; a negative one to the left or up."""
        parts = self.divided_parts
        if parts is not None and self.has_divider:
            size = parts[0].region.size
            is_beside = self.is_side_by_side
            cells = size.width + step * STEP_COLUMNS if is_beside else size.height + step * STEP_ROWS
            self._remember(self._move_to(cells))

    def reset_divider(self) -> None:
        """Return to the share of the style sheet."""
        self._remember(None)
        self.place_divider()

    def _move_to(self, cells: int) -> float:
        """Set the size of the first part in cells, within limits; return its share."""
        extent = self._extent
        kept = self._clamp(cells, extent)
        self._divide(kept)
        return round(kept / max(1, extent), 4)

    def _remember(self, share: float | None) -> None:
        services = get_services(self)
        shares = {key: value for key, value in services.settings.dividers if key != self._setting}
        if share is not None:
            shares[self._setting] = share
        services.remember(dividers=tuple(shares.items()))

    # Mouse

    def is_on_divider(self, x: int, y: int) -> bool:
        """Return whether the border between the parts is at these coordinates of the screen."""
        parts = self.divided_parts
        if parts is None or not self.has_divider:
            return False
        first, second = (part.region for part in parts)
        is_in_first = self._has_border(parts[0])
        if self.is_side_by_side:
            return x == (first.right - 1 if is_in_first else second.x) and first.y <= y < first.bottom
        return y == (first.bottom - 1 if is_in_first else second.y) and first.x <= x < first.right

    def _has_border(self, part: Widget) -> bool:
        """Return whether the border belongs to this, the first part."""
        edge = part.styles.border_right if self.is_side_by_side else part.styles.border_bottom
        return bool(edge[0])

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if event.button == 1 and self.is_on_divider(event.screen_x, event.screen_y):
            event.stop()
            self.screen.clear_selection()  # Textual began one, as everywhere in a text.
            self.capture_mouse()
            self._dragged = None
            self._is_dragging = True

    def on_mouse_move(self, event: events.MouseMove) -> None:
        parent = self._divided_parent
        if not self._is_dragging or parent is None:
            return
        event.stop()
        origin = parent.content_region.offset
        at = event.screen_x - origin.x if self.is_side_by_side else event.screen_y - origin.y
        parts = self.divided_parts
        is_in_first = parts is not None and self._has_border(parts[0])
        self._dragged = self._move_to(at + 1 if is_in_first else at)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._is_dragging:
            event.stop()
            self.release_mouse()
            self._end_drag()

    def on_mouse_release(self) -> None:
        """Another widget captured the mouse."""
        self._end_drag()

    def _end_drag(self) -> None:
        self._is_dragging = False
        if self._dragged is not None:
            self._remember(self._dragged)
            self._dragged = None

    def on_click(self, event: events.Click) -> None:
        """A double click resets the divider."""
        if event.chain == 2 and self.is_on_divider(event.screen_x, event.screen_y):
            event.stop()
            self.reset_divider()


def _set_style(widget: Widget, name: str, value: str | None) -> None:
    """Set or remove an inline style only if it changes: Textual lays out the screen again even for a missing one."""
    if value is not None or widget.styles.inline.has_rule(name):
        setattr(widget.styles, name, value)
