"""Key to frame: what a person waits for after each key of the explorer, against a bare Textual app in the same run.

The bare app has one widget, which scrolls over as many lines as the engine has layers, and a line to type in. It gets the
same keys: those that move scroll it, those typed into the filter are typed into its line, and any other redraws it whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar
from unittest.mock import patch

from rich.segment import Segment
from rich.table import Table
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input

from frames import Answer, KeyTimer, run_timed
from trex_tui.old.app import TrexApp
from trex_tui.old.screens.driver import collecting_when_idle
from trex_tui.old.screens.engine import EngineScreen

TARGET_MS = 50.0
"""What 95 of 100 keys should be answered in, on the machine that measures."""
_NAMED = {":": "colon", ">": "greater_than_sign", "_": "underscore", " ": "space"}


_MOVING = frozenset({"j", "k", "g", "G", "pagedown"})


@dataclass(frozen=True, slots=True)
class Scene:
    """Keys to press.

    Attributes:
        name: What is measured.
        keys: Those that are timed.
        before: Those pressed before, not timed.
        after: Those pressed at the end.
        between: Pressed after each timed key if a window opened.
    """

    name: str
    keys: Sequence[str]
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    between: Sequence[str] = ("escape",)


def typed(text: str) -> list[str]:
    """Textual's names of the keys of a text."""
    return [_NAMED.get(character, character) for character in text]


def scrolling(name: str, tab: str, *before: str) -> list[Scene]:
    """The keys that move, on one screen; the cursor begins at the top."""
    start = (tab, *before, "g")
    return [
        Scene(f"{name}: j k", (*"j" * 12, *"k" * 12), start),
        Scene(f"{name}: PgDn", ("pagedown",) * 12, start),
        Scene(f"{name}: G g", ("G", "g") * 6, start),
    ]


def filtering(name: str, tab: str) -> list[Scene]:
    """Typing three filters, each key of them; the filter is cleared after each."""
    texts = ("gemm", "kind:gemm", "latency_pct>2")
    return [Scene(f"{name}: /{text}", typed(text), (tab, "slash"), ("escape",), between=()) for text in texts]


SCENES: tuple[Scene, ...] = (
    *scrolling("Latency", "3"),
    *scrolling("Layers", "2"),
    *scrolling("Layers, all expanded", "2", "E"),
    *scrolling("Memory", "5"),
    Scene("Latency: s, column, Enter", ("s", "down", "enter") * 6, ("3",), between=()),
    Scene("Latency: S", ("S",) * 8, ("3",)),
    Scene("Memory: S", ("S",) * 8, ("5",)),
    *filtering("Latency", "3"),
    *filtering("Layers", "2"),
    Scene("Layers: t", ("t",) * 12, ("2", "C")),
    Scene("Layers: s", ("s",) * 8, ("2",)),
    Scene("Layers: E C", ("E", "C") * 4, ("2",)),
    Scene("Layers: ]", ("right_square_bracket",) * 12, ("2",), between=("enter",)),
    Scene("Layers: v", ("v",) * 8, ("2",)),
    Scene("Neighbourhood: ]", ("right_square_bracket",) * 8, ("2", "v"), ("v",), between=("enter",)),
    Scene("tabs, but charts", ("1", "2", "3", "5") * 4, ("1", "2", "3", "5")),
    Scene("charts, drawn in a thread", ("n",) * 10, ("4",)),
)


class Lines(ScrollView, can_focus=True):
    """As many lines as a table has rows; nothing else."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_down", show=False),
        Binding("k,up", "scroll_up", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G", "scroll_end", show=False),
    ]

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count

    def on_mount(self) -> None:
        self.virtual_size = Size(0, self._count)

    def render_line(self, y: int) -> Strip:
        text = f"{self.scroll_offset.y + y:>8} /stage/block/branch/conv/Conv"
        return Strip([Segment(text.ljust(self.size.width), self.rich_style)], self.size.width)

    def on_key(self, event: events.Key) -> None:
        if event.key == "slash":
            self.app.query_one(Input).focus()
        elif event.key not in _MOVING:
            self.refresh()


class BareApp(App[None]):
    """The floor."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", show=False, priority=True)]

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count

    def compose(self) -> ComposeResult:
        yield Lines(self._count)
        yield Input()

    def on_mount(self) -> None:
        self.query_one(Lines).focus()

    def action_leave(self) -> None:
        self.query_one(Input).value = ""
        self.query_one(Lines).focus()


@dataclass
class Times:
    """Milliseconds of the keys of a scene."""

    first: list[float] = field(default_factory=list)
    last: list[float] = field(default_factory=list)

    def add(self, answer: Answer) -> None:
        if answer.first is not None and answer.last is not None:
            self.first.append(1e3 * answer.first)
            self.last.append(1e3 * answer.last)


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that so many percent of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * int(percent) // 100) - 1)]


async def play(timer: KeyTimer, scenes: Sequence[Scene]) -> dict[str, Times]:
    """Press the keys of each scene."""
    results: dict[str, Times] = {}
    for scene in scenes:
        for key in scene.before:
            await timer.press(key)
        times = Times()
        for key in scene.keys:
            times.add(await timer.press(key))
            while scene.between and isinstance(timer.app.screen, ModalScreen):
                for closing in scene.between:
                    await timer.press(closing)
        for key in scene.after:
            await timer.press(key)
        results[scene.name] = times
    return results


def time_keys(app: App[Any], scenes: Sequence[Scene], is_ready: Callable[[], object]) -> dict[str, Times]:
    """Run an app and press the keys of all scenes."""
    found: dict[str, Times] = {}

    async def drive(timer: KeyTimer) -> None:
        await timer.until(is_ready)
        found.update(await play(timer, scenes))

    run_timed(app, drive)
    return found


def explorer_times(path: Path, scenes: Sequence[Scene] = SCENES) -> dict[str, Times]:
    """The keys in the explorer, on the engine at `path`; settings begin as for somebody new, and are not kept."""
    with TemporaryDirectory() as home, patch.dict(os.environ, XDG_CONFIG_HOME=home, XDG_STATE_HOME=home):
        app = TrexApp([str(path)])
        with collecting_when_idle():
            return time_keys(app, scenes, lambda: isinstance(app.screen, EngineScreen) and app.screen.focused)


def bare_times(lines: int, scenes: Sequence[Scene] = SCENES) -> dict[str, Times]:
    """The same keys in the bare app."""
    app = BareApp(lines)
    return time_keys(app, scenes, lambda: app.focused is not None)


def measure_keys(path: Path, layers: int, words: str, scenes: Sequence[Scene] = SCENES) -> Table:
    """Time of each key as it is, and as a multiple of that in the bare app."""
    bare, ours = bare_times(layers, scenes), explorer_times(path, scenes)
    title = f"Key to frame, {words}; target {TARGET_MS:.0f} ms for p95 of the whole answer"
    table = Table(
        "keys", "first p50 ms", "p95 ms", "whole p50 ms", "p95 ms", "bare p50", "ratio", "", title=title
    )
    for name, times in ours.items():
        if not times.last:
            table.add_row(name, *["-"] * 6, "no frame")
            continue
        floor = percentile(bare[name].last, 50) if bare[name].last else None
        median, tail = percentile(times.last, 50), percentile(times.last, 95)
        table.add_row(
            name,
            *(f"{percentile(times.first, percent):.1f}" for percent in (50, 95)),
            f"{median:.1f}",
            f"{tail:.1f}",
            f"{floor:.1f}" if floor else "-",
            f"{median / floor:.2f}" if floor else "-",
            "" if tail <= TARGET_MS else "over",
        )
    return table
