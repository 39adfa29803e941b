"""The application: which screen is on, and loading in the background."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.command import Provider
from textual.message import Message
from textual.screen import Screen
from textual.worker import WorkerFailed, get_current_worker

from trex_tui.actions import Place
from trex_tui.errors import ExitCode, TrexError
from trex_tui.screens.loading import LoadingScreen
from trex_tui.text import printable
from trex_tui.theme import DEFAULT_THEME, THEMES, muted_colour
from trex_tui.widgets.bindings import bindings_in

if TYPE_CHECKING:
    from trex_tui.artifacts import Discovery
    from trex_tui.engine.engine import Engine
    from trex_tui.loading import LoadOptions
    from trex_tui.screens.engines import EngineOpened, EngineRow

INTERNAL_ERROR = 70
"""Exit code of an error that is the program's own: EX_SOFTWARE of sysexits.h."""
LOG_VARIABLE = "TREX_TUI_LOG"
"""Names the file to which the traceback of an internal error is appended."""


@dataclass
class Found(Message):
    """The search is over, and found more than one engine."""

    discovery: Discovery


@dataclass
class RowsRead(Message):
    """So much of the list of engines has been read; a later one replaces those still waiting."""

    rows: list[EngineRow]

    def can_replace(self, message: Message) -> bool:
        """An older state of the list is of no interest."""
        return isinstance(message, RowsRead)


@dataclass
class Loaded(Message):
    """The one engine there is has been read."""

    engine: Engine


@dataclass
class Failed(Message):
    """Nothing could be opened."""

    error: TrexError


def _commands() -> type[Provider]:
    from trex_tui.screens.palette import Commands

    return Commands


class TrexApp(App[None]):
    """trex-tui. Screens are imported when first shown: the first frame waits for none of them."""

    TITLE = "trex-tui"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.EVERYWHERE)
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_commands}

    def __init__(self, paths: Sequence[str], options: LoadOptions | None = None) -> None:
        super().__init__()
        self.paths = list(paths)
        self.options = options
        self.failure: TrexError | None = None
        """Why nothing could be opened."""
        self.crash: Exception | None = None
        """An error that nobody expected."""
        for theme in THEMES:
            self.register_theme(theme)
        if "TEXTUAL_THEME" not in os.environ:
            self.theme = DEFAULT_THEME

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Variables of ours, for every theme that does not set them."""
        return {"muted": muted_colour(self.current_theme)}

    def get_default_screen(self) -> Screen[None]:
        """The first frame: what is being read."""
        return LoadingScreen(self.paths)

    def on_mount(self) -> None:
        """Start reading once the first frame is out."""
        if not self.is_headless and hasattr(signal, "SIGHUP"):
            for number in (signal.SIGTERM, signal.SIGHUP):
                asyncio.get_running_loop().add_signal_handler(number, self._killed, number)
        self.call_after_refresh(self._load)

    # Loading, in a thread

    @work(thread=True, exclusive=True)
    def _load(self) -> None:
        from trex_tui.artifacts import scan
        from trex_tui.loading import LoadOptions, load

        options = self.options or LoadOptions()
        try:
            discovery = scan(self.paths)
            if len(discovery.sets) == 1:
                self.post_message(Loaded(load(discovery.sets[0], options)))
                return
        except TrexError as error:
            self.post_message(Failed(error))
            return
        self.post_message(Found(discovery))
        self._load_rows(discovery, options)

    def _load_rows(self, discovery: Discovery, options: LoadOptions) -> None:
        from trex_tui.errors import ArtifactError
        from trex_tui.loading import load
        from trex_tui.screens.engines import EngineRow

        rows = [EngineRow(source) for source in discovery.sets]
        for index, source in enumerate(discovery.sets):
            if get_current_worker().is_cancelled:
                return
            try:
                rows[index] = EngineRow.loaded(source, load(source, options))
            except ArtifactError as error:
                rows[index] = EngineRow(source, error=error)
            self.post_message(RowsRead(list(rows)))

    @on(Loaded)
    def _loaded(self, event: Loaded) -> None:
        self._show_engine(event.engine)

    @on(Found)
    def _found(self, event: Found) -> None:
        from trex_tui.screens.engines import EnginesScreen

        self.push_screen(EnginesScreen(event.discovery))

    @on(RowsRead)
    def _rows_read(self, event: RowsRead) -> None:
        from trex_tui.screens.engines import EnginesScreen

        for screen in self.screen_stack:
            if isinstance(screen, EnginesScreen):
                screen.set_rows(event.rows)

    @on(Failed)
    def _failed(self, event: Failed) -> None:
        self.failure = event.error
        self.exit(return_code=int(event.error.exit_code))

    def on_engine_opened(self, event: EngineOpened) -> None:
        """Go from the list to an engine."""
        self._show_engine(event.engine)

    # The end

    def _killed(self, number: int) -> None:
        """Leave the terminal as it was, and with the exit code that a shell gives a killed process."""
        self.exit(return_code=128 + number)

    def _handle_exception(self, error: Exception) -> None:
        """Keep the first unexpected error, of a handler or a worker, for `run_app` to report."""
        if self.crash is None:
            self.crash = error.error if isinstance(error, WorkerFailed) else error  # type: ignore[assignment]
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        """Leave without Textual's traceback, which prints local variables: names and paths of a person's files."""
        self._close_messages_no_wait()

    # Screens

    def _show_engine(self, engine: Engine) -> None:
        from trex_tui.screens.engine import EngineScreen
        from trex_tui.screens.engines import EnginesScreen

        self.push_screen(EngineScreen(engine, is_listed=isinstance(self.screen, EnginesScreen)))

    # Actions

    def action_help(self) -> None:
        """Show the keys that work on this screen."""
        from trex_tui.screens.help import HelpScreen

        self.push_screen(HelpScreen(getattr(self.screen, "help_places", [Place.EVERYWHERE])))

    def action_close(self) -> None:
        """Quit."""
        self.exit()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """What Textual itself offers and the table of actions has not: themes and a picture of the screen."""
        for command in super().get_system_commands(screen):
            if command.title in ("Theme", "Screenshot"):
                yield command

    async def run_where_focused(self, action: str) -> None:
        """Run an action as if its key had been pressed where the keyboard is; else where it is possible on this screen."""
        focused = self.screen.focused
        nodes = [*(focused.ancestors_with_self if focused is not None else [self.screen, self])]
        nodes += [node for node in self.screen.query("*") if node.is_on_screen and node not in nodes]
        name = action.split("(", 1)[0].removeprefix("app.")
        for node in nodes:
            if hasattr(node, f"action_{name}"):
                await self.run_action(action, default_namespace=node)
                return


def run_app(paths: Sequence[str], options: LoadOptions | None = None) -> int:
    """Run until a person quits; return the exit code.

    Ctrl-C is a key here, and quits like `q`: with 0.

    Raises:
        TrexError: Nothing could be opened; raised when the terminal is a terminal again.
    """
    app = TrexApp(paths, options)
    app.run()
    if app.failure is not None:
        raise app.failure
    if app.crash is not None:
        return _report_crash(app.crash)
    return app.return_code if app.return_code is not None else int(ExitCode.OK)


def _report_crash(error: Exception) -> int:
    """Say in a line what happened; the traceback goes to the file that a person asked for, if any."""
    words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    log = os.environ.get(LOG_VARIABLE)
    advice = f"{LOG_VARIABLE}=FILE keeps the traceback"
    if log:
        try:
            with Path(log).open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write("".join(traceback.format_exception(error)))
            advice = f"the traceback is in {log}"
        except OSError as problem:
            advice = f"{log} cannot be written: {problem.strerror}"
    sys.stderr.write(f"trex-tui: internal error: {printable(words)} ({printable(advice)})\n")
    return INTERNAL_ERROR
