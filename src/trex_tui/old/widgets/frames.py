"""Frames that are the whole answer to a key, and render only what changes."""

from __future__ import annotations

from collections.abc import Iterator

from textual import events
from textual._compositor import ChopsUpdate, Compositor
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.strip import Strip


class LineCompositor(Compositor):
    """Renders the lines of each widget between its first and its last change, if no other covers them.

    Textual renders all lines of all widgets in the containers around any change: for a step of the cursor, every line of the
    table, of what is beside it, and of the containers behind.
    """

    def __init__(self) -> None:
        super().__init__()
        self._changed: set[Region] | None = None
        """The regions of the partial update that is rendered; None while none is."""

    def render_partial_update(self) -> ChopsUpdate | None:
        self._changed = {*self._dirty_regions}
        try:
            return super().render_partial_update()
        finally:
            self._changed = None

    def _get_renders(self, crop: Region | None = None) -> Iterator[tuple[Region, Region, list[Strip]]]:
        changed = [crop or self.size.region] if self._changed is None else self._changed
        covered = [0] * self.size.height
        for widget, (region, clip) in self.visible_widgets.items():  # from front to back
            shown = region.intersection(clip)
            parts = [part for whole in changed if (part := whole.intersection(shown))]
            if parts:
                top, bottom = min(part.y for part in parts), max(part.bottom for part in parts)
                cells = ((1 << shown.width) - 1) << shown.x
                if all(cells & ~row == 0 for row in covered[top:bottom]):
                    continue
                covered[top:bottom] = [row | cells for row in covered[top:bottom]]
                if self._changed is not None and shown in parts:
                    widget._exchange_repaint_regions()  # Painted now: what asked for it meanwhile needs no second frame.
                lines = Region(shown.x, top, shown.width, bottom - top)
                yield lines, lines, widget.render_lines(lines.translate(-region.offset))


class FrameScreen(Screen[None]):
    """A screen that renders changed lines, and draws nothing while it is held."""

    def __init__(self) -> None:
        super().__init__()
        self._compositor = LineCompositor()
        self._is_held = False

    def hold_frame(self) -> None:
        """Draw nothing before `release_frame`: the first frame after a key then is the whole answer.

        Otherwise the cursor is drawn first, and what is beside the table waits for its turn of 60 in a second.
        """
        self._is_held = True

    def release_frame(self) -> None:
        if self._is_held:
            self._is_held = False
            self.check_idle()

    def on_idle(self, event: events.Idle) -> None:
        if self._is_held:
            event.prevent_default()

    # Below a window: the window paints what is below it, at most what changed.

    def on_screen_suspend(self) -> None:
        self._repaint_required = False

    def _on_timer_update(self) -> None:
        super()._on_timer_update()
        if not self.is_active:
            self._repaint_required = False

    def _screen_resized(self, size: Size) -> None:
        """Lay out for another size; Textual does it for each window that opens."""
        if self.is_active or size != self._compositor.size:
            super()._screen_resized(size)
