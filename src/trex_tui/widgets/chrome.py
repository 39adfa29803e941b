"""Frame of every screen: header line, tabs, footer, and the sentence in a terminal that is too small. Imports no pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Click, Mount, Resize
from textual.geometry import Offset
from textual.reactive import Reactive
from textual.screen import Screen
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Static, Tab, Tabs

from trex_tui.text import printable, shorten_middle
from trex_tui.widgets.actions import ALWAYS, BY_ID, TABS

SEPARATOR = " · "


class Fact(NamedTuple):
    """A part of the header line.

    Attributes:
        priority: The largest number leaves first where the line is narrow.
        is_right: It stands at the right end.
    """

    text: str
    priority: int
    style: str = ""
    is_right: bool = False


class HeaderLine(Static):
    """One line: which engine, device, TensorRT, precision; latency, size; what is missing."""

    DEFAULT_CSS = "HeaderLine { height: 1; background: $panel; padding: 0 1; text-wrap: nowrap; }"

    def __init__(self, facts: Sequence[Fact]) -> None:
        super().__init__(markup=False)
        self._facts = list(facts)
        self._remark = ""

    def show(self, facts: Sequence[Fact] | None = None, remark: str | None = None) -> None:
        """Change the facts, or the remark after the first of them."""
        self._facts = self._facts if facts is None else list(facts)
        self._remark = self._remark if remark is None else remark
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        width = self.content_size.width
        facts = [
            *self._facts[:1],
            *([Fact(self._remark, 0, "$warning")] if self._remark else []),
            *self._facts[1:],
        ]
        kept: list[int] = []
        for place in sorted(range(len(facts)), key=lambda place: facts[place].priority):
            lengths = sum(cell_len(facts[other].text) + len(SEPARATOR) for other in (*kept, place))
            if not kept or lengths + 1 <= width:
                kept.append(place)
        left, right = (
            Content(SEPARATOR).join(
                Content.styled(printable(facts[place].text), facts[place].style)
                for place in sorted(kept)
                if facts[place].is_right is is_right
            )
            for is_right in (False, True)
        )
        gap = max(1, width - left.cell_length - right.cell_length)
        self.update(Content.assemble(left, " " * gap, right))


class _Tabs(Tabs):
    """Textual's, which raises an error when its screen closes while it is being mounted."""

    def validate_active(self, active: str) -> str:
        return active if self.query(Tab) else ""


class TabLine(Horizontal):
    """Textual's tabs in one line, which shortens titles where they do not fit; at its right end a remark."""

    DEFAULT_CSS = """
    TabLine {
        height: 1; background: $surface;
        Tabs { height: 1; width: 1fr; & Underline { display: none; } }
        Tab { height: 1; padding: 0; color: $muted; }
        Tab.-active { background: $primary; color: $background; text-style: bold; }
        &:ansi Tab.-active { background: ansi_default; text-style: bold reverse; }
        #remark { width: auto; color: $warning; padding: 0 1; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._badges: dict[str, str] = {}
        self._tabs = _Tabs(*(Tab(tab.title, id=tab.id) for tab in TABS), active=TABS[0].id)
        self._tabs.can_focus = False
        self._remark = Static(id="remark", markup=False)

    def compose(self) -> ComposeResult:
        yield self._tabs
        yield self._remark

    @property
    def active(self) -> str:
        return self._tabs.active

    @active.setter
    def active(self, tab: str) -> None:
        self._tabs.active = tab
        self._fit()

    def badge(self, tab: str, text: str) -> None:
        """Add a few letters to a title."""
        self._badges[tab] = text
        self._fit()

    def show_remark(self, text: str) -> bool:
        """Show the filter and its count at the right end; return whether there is room beside whole titles."""
        titles = sum(len(f" {tab.title} 1") + len(self._badges.get(tab.id, "")) for tab in TABS)
        has_room = titles + cell_len(text) + 3 <= self.size.width
        self._remark.update(text if has_room else "")
        self._remark.display = bool(text) and has_room
        self._fit()
        return has_room

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        """Use the longest titles that fit: all letters with blanks around, then fewer."""
        room = self.size.width - (cell_len(str(self._remark.content)) + 2 if self._remark.display else 0)
        for before, after, letters in (
            *(("  ", "  ", 99), (" ", " ", 99), (" ", "", 99), (" ", "", 4)),
            *((" ", "", 3), (" ", "", 2), (" ", "", 0)),
        ):
            labels = {
                tab.id: f"{before}{place} {tab.title if tab.id == self.active else tab.title[:letters]}".rstrip()
                + self._badges.get(tab.id, "")
                + after
                for place, tab in enumerate(TABS, start=1)
            }
            if sum(map(cell_len, labels.values())) <= room:
                break
        for tab in self._tabs.query(Tab):
            if str(tab.label) != labels[tab.id or ""]:
                tab.label = Content(labels[tab.id or ""])


class KeyLine(Static):
    """The keys that work here, now: those of most value first to stay.

    Textual's Footer makes a widget per key anew at each change of the focus, and is cut where keys do not fit.
    """

    DEFAULT_CSS = "KeyLine { dock: bottom; height: 1; background: $panel; padding: 0 1; text-wrap: nowrap; }"
    ALLOW_SELECT = False
    GAP = "  "

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._keys: list[tuple[int, str, str, str]] = []

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._follow)

    def on_resize(self) -> None:
        self._draw()

    def _follow(self, screen: Screen[Any]) -> None:
        keys: dict[str, tuple[int, str, str, str]] = {}
        for _, binding, is_enabled, _ in screen.active_bindings.values():
            if binding.show and is_enabled and binding.description not in {key[2] for key in keys.values()}:
                value = BY_ID[binding.id].value if binding.id in BY_ID else ALWAYS
                keys.setdefault(
                    binding.action,
                    (value, self.app.get_key_display(binding), binding.description, binding.key),
                )
        if list(keys.values()) != self._keys:
            self._keys = list(keys.values())
            self._draw()

    def _draw(self) -> None:
        room = self.content_size.width
        kept: list[int] = []
        for place in sorted(range(len(self._keys)), key=lambda place: -self._keys[place][0]):
            _, key, title, _ = self._keys[place]
            needed = cell_len(key) + 1 + cell_len(title) + len(self.GAP)
            if room - needed < -len(self.GAP):
                break
            room -= needed
            kept.append(place)
        parts = []
        for place in sorted(kept):
            _, key, title, name = self._keys[place]
            target = Style.from_meta({"key": name})
            parts += [
                Content.styled(key, Style.parse("bold $footer-key-foreground") + target),
                Content.styled(f" {title}", Style.parse("$footer-description-foreground") + target),
                Content(self.GAP),
            ]
        self.update(Content("").join(parts[:-1]))

    def on_click(self, event: Click) -> None:
        """Press the key that was clicked."""
        if key := event.style.meta.get("key"):
            self.app.simulate_key(key)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self.call_after_refresh(self._draw)  # the theme changed


class StatusLine(Static):
    """One muted line under a table."""

    DEFAULT_CSS = (
        "StatusLine { height: 1; color: $muted; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }"
    )

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, markup=False)


LEAST_WIDTH, LEAST_HEIGHT = 60, 16


class Clickable:
    """A screen; in Textual 8.2.8 a click on a widget that is just removed is an error: there is nothing at such a place."""

    def get_widget_and_offset_at(self, x: int, y: int) -> tuple[Widget | None, Offset | None]:
        widget, offset = super().get_widget_and_offset_at(x, y)  # type: ignore[misc] # of the screen
        is_there = widget is None or widget is self or widget.parent is not None
        return (widget, offset) if is_there else (None, None)


class MainScreen(Clickable, Screen[None]):
    """A screen with breakpoints: `-wide` from 120 columns, `-medium` from 80; a sentence covers one that is too small."""

    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (LEAST_WIDTH, "-narrow"), (80, "-medium"), (120, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (LEAST_HEIGHT, "-high")]  # noqa: RUF012
    DEFAULT_CSS = """
    MainScreen {
        layers: default cover; overflow: hidden; background: $surface;
        & > .cover {
            layer: cover; display: none; width: 100%; height: 100%; background: $surface;
            content-align: center middle; text-align: center;
        }
        &.-tiny > .cover, &.-low > .cover { display: block; }
    }
    """

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """As Textual's, which paints the whole screen when the focus moves: the widgets paint themselves."""

    @on(Mount)
    def _add_cover(self) -> None:
        self.mount(Static(classes="cover", markup=False))

    def on_resize(self, event: Resize) -> None:
        size = event.size
        if covers := self.query(".cover"):
            needs = f"trex-tui needs {LEAST_WIDTH}×{LEAST_HEIGHT}. Make it larger, or press q."
            text = f"This terminal has {size.width}×{size.height} cells; {needs}"
            covers.first(Static).update(text)


def shorten_engine(name: str, width: int = 40) -> str:
    """Return the name of an engine for a header or a title."""
    return shorten_middle(printable(name), width)
