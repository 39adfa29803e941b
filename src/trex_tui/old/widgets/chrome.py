"""Frame of the panes: header, tabs, footer, and the message in a terminal that is too small.

Textual's footer has a widget per key and recreates all of them when one changes: two layouts of the screen for each letter
typed into a filter, and for each change of tab. This footer is a line of text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rich.cells import cell_len
from textual import events
from textual.app import RenderResult
from textual.content import Content
from textual.message import Message
from textual.reactive import Reactive, reactive
from textual.screen import Screen
from textual.widget import Widget

from trex_tui.old.analysis.conditions import ConditionKind, doubts
from trex_tui.old.analysis.timing import end_to_end
from trex_tui.old.engine.engine import Engine
from trex_tui.old.errors import Severity
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.views.runs import run_words
from trex_tui.old.text import format_bytes, format_ms, plural, printable, short_device_name, shorten_middle
from trex_tui.old.widgets.actions import ACTIONS
from trex_tui.old.widgets.frames import FrameScreen

SEPARATOR = " · "


@dataclass(frozen=True, slots=True)
class Fact:
    """A part of the header.

    Attributes:
        text: Safe for a terminal.
        priority: The largest number is dropped first if space is short.
        style: A theme token.
        right: True for the right end.
    """

    text: str
    priority: int
    style: str = ""
    right: bool = False


def header_facts(engine: Engine) -> list[Fact]:
    """Return the parts of the header, in order."""
    facts = [Fact(shorten_middle(printable(engine.name), 40), 0, "bold $accent")]
    facts += [Fact(words, 1, "bold") for words in run_words(engine)]
    if engine.device_name:
        facts.append(Fact(short_device_name(printable(engine.device_name)), 3))
    if engine.tensorrt_version:
        facts.append(Fact(f"TensorRT {printable(engine.tensorrt_version)}", 4))
    if engine.precision:
        facts.append(Fact(engine.precision.value, 2))
    facts += [Fact(text, 5, "bold $warning") for text in engine.missing_parts]
    if any(doubt.kind is ConditionKind.THROTTLED for doubt in doubts(engine)):
        facts.append(Fact("throttled", 2, "bold $warning"))
    latency = end_to_end(engine)
    if latency is not None:
        facts.append(Fact(f"{format_ms(latency.summary.median_ms)} ms", 1, "bold", right=True))
        if latency.throughput_qps is not None:
            facts.append(Fact(f"{latency.throughput_qps:.0f} qps", 6, right=True))
    elif engine.latency_sum_ms is not None:
        facts.append(Fact(f"{format_ms(engine.latency_sum_ms)} ms in layers", 6, right=True))
    facts.append(Fact(plural(len(engine.layers), "layer"), 7, right=True))
    if engine.weights_bytes is not None:
        facts.append(Fact(format_bytes(engine.weights_bytes), 8, right=True))
    if engine.diagnostics:
        worst = min(
            engine.diagnostics, key=lambda diagnostic: list(Severity).index(diagnostic.severity)
        ).severity
        style = {Severity.ERROR: "bold $error", Severity.WARNING: "$warning", Severity.INFO: "$muted"}[worst]
        facts.append(Fact(f"! {plural(len(engine.diagnostics), 'note')}", 2, style, right=True))
    return facts


def fit_facts(facts: list[Fact], width: int) -> list[Fact]:
    """Return the facts that fit into `width` cells, the most important first; the first of all always."""
    kept: dict[int, Fact] = {}
    for index, fact in sorted(enumerate(facts), key=lambda item: item[1].priority):
        if not kept or _needed([*kept.values(), fact]) <= width:
            kept[index] = fact
    return [kept[index] for index in sorted(kept)]


def _needed(facts: list[Fact]) -> int:
    return sum(cell_len(fact.text) + len(SEPARATOR) for fact in facts) + 2


class EngineHeader(Widget):
    DEFAULT_CSS = """
    EngineHeader {
        height: 1;
        background: $panel;
        color: $foreground;
        padding: 0 1;
    }
    """

    trail: reactive[str] = reactive("")
    """Trail of the jumps: `Overview › Latency: kind gemm`; empty without one."""
    remark: reactive[str] = reactive("")
    """Filter text, if it does not fit beside the tabs."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(id="header")
        self._facts = header_facts(engine)

    def render(self) -> RenderResult:
        width = self.content_size.width
        facts = fit_facts([*self._place(width), *self._facts[1:]], width)
        left = _joined([fact for fact in facts if not fact.right])
        right = _joined([fact for fact in facts if fact.right])
        gap = max(1, width - left.cell_length - right.cell_length)
        return Content.assemble(left, " " * gap, right).truncate(width, ellipsis=True)

    def _place(self, width: int) -> list[Fact]:
        """Return name, trail and remark. A long trail shows its end, and shortens the name."""
        name, trail = self._facts[0], printable(self.trail)
        facts, room = [name], width * 3 // 5 if self.trail else width
        if trail:
            trail = f"…{trail[len(trail) - room + 1 :]}" if cell_len(trail) > room else trail
            facts = [
                replace(name, text=shorten_middle(name.text, max(8, width // 4))),
                Fact(trail, 0, "bold"),
            ]
        if self.remark:
            left = max(LEAST_REMARK if not trail else 0, width - _needed(facts) - len(SEPARATOR))
            facts.append(Fact(fit_remark(printable(self.remark), left), 0, "$warning"))
        return facts


def _joined(facts: list[Fact]) -> Content:
    separator = Content.styled(SEPARATOR, "$muted")
    return separator.join([Content.styled(fact.text, fact.style) for fact in facts])


@dataclass
class TabChosen(Message):
    tab: str


LEAST_REMARK = 24
"""Fewest cells for a remark beside the tabs; with fewer, it is in the header."""
_FORMS = (
    (" ", " ", 99),
    ("", "  ", 99),
    ("", " ", 99),
    ("", " ", 4),
    ("", " ", 3),
    ("", " ", 2),
    ("", " ", 0),
)
"""Layouts of the tabs: blanks around and between labels, letters of inactive titles; the first that fits is used."""


def fit_remark(remark: str, room: int) -> str:
    """Fit a remark `/filter 2 of 9 layers` into cells: the noun is dropped first, then the middle of the filter."""
    if len(remark) <= room:
        return remark
    text, gap, count = remark.removesuffix("s").removesuffix(" layer").rpartition("  ")
    left = room - len(gap) - len(count)
    return shorten_middle(text, left) + gap + count if left > 1 else shorten_middle(count, room)


class TabBar(Widget):
    """One line of tabs, with a remark at the right end."""

    DEFAULT_CSS = """
    TabBar {
        height: 1;
        background: $surface;
        color: $text-muted;
        padding: 0 1;
    }
    """

    active: reactive[str] = reactive("")
    remark: reactive[str] = reactive("")
    """Filter text; empty without a filter."""

    def __init__(self, tabs: dict[str, str]) -> None:
        """Args: tabs: Identifier -> title; the first is reached by `1`."""
        super().__init__(id="tabs")
        self._tabs = tabs
        self._badges: dict[str, str] = {}

    def badge(self, tab: str, words: str) -> None:
        """Add a few letters to a title; an empty text removes them."""
        self._badges[tab] = words
        self.refresh()

    def has_room_for(self, remark: str) -> bool:
        """Return whether a remark fits beside whole titles."""
        titles = [self._label(number, tab, 99) for number, tab in enumerate(self._tabs, start=1)]
        needed = sum(map(cell_len, titles)) + len(titles) - 1
        return needed + 2 + min(len(remark), LEAST_REMARK) <= self.content_size.width

    def render(self) -> RenderResult:
        """Render the tabs; the active one is reversed, so that it shows without colour too."""
        labels, gap = self._fitted()
        parts = [
            Content.styled(label, "bold reverse $primary" if tab == self.active else "")
            for tab, label in labels
        ]
        left = Content(gap).join(parts)
        room = self.content_size.width - left.cell_length - 2
        remark = Content.styled(fit_remark(printable(self.remark), max(0, room)), "$warning")
        between = max(0, self.content_size.width - left.cell_length - remark.cell_length)
        return Content.assemble(left, " " * between, remark)

    def _fitted(self) -> tuple[list[tuple[str, str]], str]:
        """Return the label of each tab and the gap between, in the widest layout that fits."""
        room = self.content_size.width - (2 + min(len(self.remark), LEAST_REMARK) if self.remark else 0)
        for padding, gap, longest in _FORMS:
            labels = [
                (tab, f"{padding}{self._label(number, tab, longest)}{padding}")
                for number, tab in enumerate(self._tabs, start=1)
            ]
            if sum(cell_len(label) for _, label in labels) + len(gap) * (len(labels) - 1) <= room:
                break
        return labels, gap

    def _label(self, number: int, tab: str, longest: int) -> str:
        title = self._tabs[tab] if tab == self.active else self._tabs[tab][:longest]
        return f"{number} {title}".rstrip() + self._badges.get(tab, "")

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        start = 0
        labels, gap = self._fitted()
        for tab, label in labels:
            if start <= offset.x < start + cell_len(label):
                self.post_message(TabChosen(tab))
                return
            start += cell_len(label) + len(gap)


_SPARE = [action.action for action in sorted(ACTIONS, key=lambda action: -action.spare) if action.spare]
"""Footer keys by priority; the last one is omitted first."""
_LASTING = {"help", "close", "back", "clear", "cancel", "dismiss_dialog"}
"""Footer keys that are never omitted: help and quit."""
KEY_GAP = "  "
"""Gap between keys: two blanks, since one is between a key and its label, and `/` is a key."""
MORE = "…"
"""Sign at the end of a line that omits keys."""


@dataclass(frozen=True, slots=True)
class FooterKey:
    """Key of the footer.

    Attributes:
        key: Textual's name of the key.
        label: Text on the key.
        words: Its title, one or two words.
        action: Action of a click on it.
        is_enabled: False if it has no effect now.
        tooltip: A sentence; may be empty.
    """

    key: str
    label: str
    words: str
    action: str
    is_enabled: bool = True
    tooltip: str = ""

    @property
    def cells(self) -> int:
        return cell_len(self.label) + 1 + cell_len(self.words)


class KeyFooter(Widget):
    """Footer. Without room for all keys, spare ones are hidden and `…` is at the end."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    KeyFooter { dock: bottom; height: 1; background: $panel; text-wrap: nowrap; text-overflow: clip; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._keys: list[FooterKey] = []

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_changed)

    @property
    def shown(self) -> list[FooterKey]:
        return fitting(self._keys, self.size.width)

    def _bindings_changed(self, screen: Screen[Any]) -> None:
        if screen is self.screen and self.app.app_focus:
            self.follow(screen)

    def follow(self, screen: Screen[Any]) -> None:
        """Show the keys of a screen: that of this line, or of a window over it."""
        keys = self._active_keys(screen)
        if keys != self._keys:
            self._keys = keys
            self.refresh()

    def _active_keys(self, screen: Screen[Any]) -> list[FooterKey]:
        keys: dict[str, FooterKey] = {}
        for _, binding, is_enabled, tooltip in screen.active_bindings.values():
            if binding.show and binding.action not in keys:
                label = self.app.get_key_display(binding)
                key = FooterKey(binding.key, label, binding.description, binding.action, is_enabled, tooltip)
                keys[binding.action] = key
        return list(keys.values())

    def render(self) -> RenderResult:
        shown = self.shown
        parts = [
            Content.assemble(
                (key.label, "bold $footer-key-foreground" if key.is_enabled else "dim"),
                (f" {key.words}", "$footer-description-foreground" if key.is_enabled else "dim"),
            )
            for key in shown
        ]
        if len(shown) < len(self._keys):
            parts.append(Content.styled(MORE, "bold $footer-key-foreground"))
        return Content(KEY_GAP).join(parts)

    def key_at(self, x: int) -> FooterKey | None:
        """Return the key at a cell; that of the help at the sign for omitted keys."""
        shown, start = self.shown, 0
        for key in shown:
            if start <= x < start + key.cells:
                return key
            start += key.cells + len(KEY_GAP)
        if len(shown) < len(self._keys) and start <= x < start + len(MORE):
            return next((key for key in shown if key.action == "help"), None)
        return None

    def on_mouse_move(self, event: events.MouseMove) -> None:
        key = self.key_at(event.x)
        tooltip = Content(key.tooltip) if key is not None and key.tooltip else None
        if tooltip != self.tooltip:
            self.tooltip = tooltip

    def on_mouse_down(self, event: events.MouseDown) -> None:
        key = self.key_at(event.x)
        if key is not None and key.is_enabled:
            self.app.simulate_key(key.key)
        elif key is not None:
            self.app.bell()


def fitting(keys: Sequence[FooterKey], width: int) -> list[FooterKey]:
    """Return the keys that fit into `width` cells, and a sign if some do not: spare ones are omitted first, then the last."""
    kept = list(keys)
    ordinary = [key.action for key in kept if key.action not in _SPARE and key.action not in _LASTING]
    for action in (*reversed(_SPARE), *reversed(ordinary)):
        if _cells(kept, is_cut=len(kept) < len(keys)) <= width:
            break
        kept = [key for key in kept if key.action != action]
    return kept


def _cells(keys: Sequence[FooterKey], *, is_cut: bool) -> int:
    cells = [key.cells for key in keys] + ([len(MORE)] if is_cut else [])
    return sum(cells) + len(KEY_GAP) * (len(cells) - 1)


class SummaryLine(Widget):
    DEFAULT_CSS = """
    SummaryLine {
        height: 1;
        background: $panel;
        color: $text-muted;
        padding: 0 1;
    }
    """

    text: reactive[str] = reactive("")

    def render(self) -> RenderResult:
        return Content(printable(self.text)).truncate(self.content_size.width, ellipsis=True)


LEAST_WIDTH, LEAST_HEIGHT = 60, 16


class TooSmall(Widget):
    """Covers a screen in a terminal that is too small."""

    DEFAULT_CSS = """
    TooSmall {
        layer: too-small;
        display: none;
        width: 100%;
        height: 100%;
        padding: 0 1;
        background: $surface;
        content-align: center middle;
        text-align: center;
    }
    """

    def render(self) -> RenderResult:
        size = self.app.size
        return Content(
            f"This terminal has {size.width}×{size.height} cells; "
            f"trex-tui needs {LEAST_WIDTH}×{LEAST_HEIGHT}. Make it larger, or press q."
        )


class MainScreen(FrameScreen):
    """A screen with breakpoints, covered by a message where the terminal is too small.

    The sentence covers the widgets instead of hiding them, so that the keyboard is where it was when there is room again.
    """

    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (LEAST_WIDTH, "-narrow"), (80, "-medium"), (120, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-low"), (LEAST_HEIGHT, "-high"), (36, "-tall")]  # noqa: RUF012

    DEFAULT_CSS = """
    MainScreen {
        layers: default too-small;
        overflow: hidden;
        &.-tiny TooSmall, &.-low TooSmall { display: block; }
    }
    """

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """As Textual's, which paints the whole screen for each move of the focus; the two widgets concerned paint themselves."""

    _is_fresh = True
    """True until the screen is first shown: its styles are those of its mounting."""

    def on_compose(self) -> None:
        """Set the breakpoint classes before styling: otherwise the first resize would style all widgets again."""
        self.update_classes(dict.fromkeys(self._room_classes(), True), update=False)

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Skip the second styling of every widget when first shown."""
        event.refresh_styles = event.refresh_styles and not self._is_fresh
        self._is_fresh = False

    def _room_classes(self) -> Iterator[str]:
        size = self.app.size
        for extent, breakpoints in (
            (size.width, self.HORIZONTAL_BREAKPOINTS),
            (size.height, self.VERTICAL_BREAKPOINTS),
        ):
            yield from [name for least, name in breakpoints if extent >= least][-1:]

    @staticmethod
    def footer() -> KeyFooter:
        return KeyFooter()
