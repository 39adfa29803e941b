"""The explorer: the first frame at once, the engines read in a thread, then a screen for one engine or for the list."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.driver import Driver
from textual.filter import LineFilter
from textual.screen import Screen
from textual.theme import Theme
from textual.widgets import Static

from trex_tui.config import config_path
from trex_tui.errors import ExitCode, TrexError
from trex_tui.screens.jobs import JobDone, finish_job, start_job
from trex_tui.screens.settings import DEFAULT_THEME, Settings
from trex_tui.screens.terminal import Signals, lasting
from trex_tui.text import printable
from trex_tui.widgets.actions import APP, bindings
from trex_tui.widgets.chrome import Fact, HeaderLine, KeyLine, MainScreen
from trex_tui.widgets.theme import (
    THEMES,
    AsciiFilter,
    is_ascii,
    token_defaults,
    token_overrides,
)

if TYPE_CHECKING:
    from trex_tui.artifacts.discover import ArtifactSet, Discovery
    from trex_tui.screens.engine import ReloadAsked
    from trex_tui.screens.engines import EnginesAsked


class Loader(Protocol):
    """Finds and loads engines: `cli.loading.Loader` is one."""

    discovery: Discovery

    @property
    def load(self) -> Any:  # noqa: ANN401 - mypy takes no named tuple for a callable
        """`load(source, run=None)` reads one set."""


class FindEngines(Protocol):
    """Finds the engines at paths, in a thread; pandas is imported there."""

    def __call__(self, paths: Sequence[str], optimization_profile: int | None = None) -> Loader: ...


class LoadingScreen(MainScreen):
    """The first frame: what is read. It stays below the others."""

    DEFAULT_CSS = "LoadingScreen #loading { height: 1fr; content-align: center middle; color: $muted; }"

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__()
        self._text = f"Reading {', '.join(map(printable, paths))} …"

    def compose(self) -> ComposeResult:
        yield HeaderLine([Fact("trex-tui", 0, "bold $accent")])
        # It stands still: a moving indicator sends 100 kB per second to a remote terminal.
        yield Static(self._text, id="loading", markup=False)
        yield KeyLine()


def _commands() -> type[Provider]:
    from trex_tui.screens.palette import Commands

    return Commands


class TrexApp(App[int]):
    """The explorer.

    Args:
        paths: What to open.
        find: Finds the engines at paths, in a thread; pandas is imported there.
        theme: The theme to begin with.
    """

    TITLE = "trex-tui"
    BINDINGS: ClassVar[list[BindingType]] = bindings(APP)
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_commands}
    CSS = """
    #screens { height: 1fr; }
    ToastRack { margin-bottom: 2; }
    Toast { padding: 0 1; }
    * {
        scrollbar-background: $surface; scrollbar-background-hover: $surface; scrollbar-background-active: $surface;
        scrollbar-color: $panel-lighten-2; scrollbar-color-hover: $primary; scrollbar-color-active: $primary;
        scrollbar-corner-color: $surface; scrollbar-size-vertical: 1;
    }
    """

    def __init__(self, paths: Sequence[str], find: FindEngines, theme: str = DEFAULT_THEME) -> None:
        self.settings = Settings(config_path("settings.json"))
        super().__init__()
        self.animation_level = "none"
        self.paths = list(paths)
        self.find_engines = find
        self._filters_of_text: list[LineFilter] = [AsciiFilter()] if is_ascii() else []
        self.failure = ""
        self.crash: Exception | None = None
        self.signals = Signals(self)
        for own in THEMES:
            self.register_theme(own)
        self.theme = theme if theme in self.available_themes else DEFAULT_THEME

    def get_default_screen(self) -> Screen[None]:
        return LoadingScreen(self.paths)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return token_defaults(self.current_theme)

    def get_css_variables(self) -> dict[str, str]:
        self.theme_variables = {**super().get_css_variables(), **token_overrides(self.current_theme)}
        return self.theme_variables

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), *self._filters_of_text]

    def get_key_display(self, binding: Binding) -> str:
        shown = super().get_key_display(binding)
        words = {"⏎": "enter", "↑": "up", "↓": "down", "←": "left", "→": "right", "⇥": "tab"}
        return words.get(shown, shown) if self._filters_of_text else shown

    def get_driver_class(self) -> type[Driver]:
        return lasting(super().get_driver_class(), lambda: self.signals.catch())

    def on_mount(self) -> None:
        self.theme_changed_signal.subscribe(self, self._remember_theme)
        self.call_after_refresh(self.open_paths, self.paths)

    def _remember_theme(self, theme: Theme) -> None:
        self.settings.set("theme", theme.name)

    # Reading

    def open_paths(self, paths: Sequence[str]) -> None:
        """Read engines in a thread, and show them instead of the present ones."""
        start_job(self, lambda: self._read(paths), self._show, self._fail)

    def _read(self, paths: Sequence[str]) -> Callable[[], Screen[Any]]:
        """Return what makes the screen; its modules are imported here, with pandas, while the first frame stands."""
        source = self.find_engines(paths)
        sets = source.discovery.sets
        if len(sets) == 1 or len(sets) == len(paths) == 2:
            return self._load(source, sets)
        from trex_tui.screens.engines import EnginesScreen

        return lambda: EnginesScreen(source)

    def _load(self, source: Loader, sets: Sequence[ArtifactSet], tab: str = "") -> Callable[[], Screen[Any]]:
        """Return what makes the screen of the first set, compared with the others."""
        from trex_tui.screens.engine import EngineScreen, Visit

        engine, *others = [source.load(found) for found in sets]
        start = Visit(tab or ("compare" if others else "overview"), None, "")
        return lambda: EngineScreen(engine, sets[0], others, start)

    def on_engines_asked(self, event: EnginesAsked) -> None:
        """Open an engine of the list; with several sets compare the first with the others."""
        start_job(self, lambda: self._load(event.source, event.sets, event.tab), self._push, self._fail)

    def on_reload_asked(self, event: ReloadAsked) -> None:
        """Read the files of an engine again."""
        start_job(self, lambda: self._load_again(event), self._replace, self._fail)

    def _load_again(self, event: ReloadAsked) -> tuple[Screen[Any], Callable[[], Screen[Any]]]:
        """Return a screen, and what makes the one that replaces it: files may have been added meanwhile."""
        found = event.screen.source
        source = self.find_engines([str(found.directory)], event.profile)
        files = set(found.files.values())
        again = next((other for other in source.discovery.sets if files & set(other.files.values())), found)
        engine = source.load(again, event.run)
        return event.screen, lambda: event.screen.made_again(engine, again)

    def _replace(self, screens: tuple[Screen[Any], Callable[[], Screen[Any]]]) -> None:
        before, make = screens
        if self.screen is before:
            self.switch_screen(make())
            self.call_after_refresh(self._settle)

    def _push(self, make: Callable[[], Screen[Any]]) -> None:
        self.push_screen(make())
        self.call_after_refresh(self._settle)

    def _show(self, make: Callable[[], Screen[Any]]) -> None:
        while len(self.screen_stack) > 1:
            self.pop_screen()
        self._push(make)

    def _settle(self) -> None:
        """The engine stays: a collection that walks it would stop a key for 0.1 s."""
        gc.collect()
        gc.freeze()

    def _fail(self, error: Exception) -> None:
        if not isinstance(error, TrexError):
            raise error
        if len(self.screen_stack) > 1:
            self.notify(printable(str(error)), severity="error", markup=False, timeout=10)
        else:
            self.failure = str(error)
            self.exit(int(error.exit_code), return_code=int(error.exit_code))

    def _handle_exception(self, error: Exception) -> None:
        """Keep an error for `run_app`. Textual has no public way to take one, and prints a traceback."""
        self.crash = self.crash or error
        self.error_console.quiet = True
        super()._handle_exception(error)

    @on(JobDone)
    def _finish_job(self, event: JobDone) -> None:
        finish_job(event)

    def exit(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - Textual's own
        """End the app; Ctrl-Z no longer stops it."""
        if not self.is_headless and self.is_running:
            self.signals.ignore_stops()
        super().exit(*arguments, **options)

    def action_redraw(self) -> None:
        self.refresh(layout=True)

    def action_open(self) -> None:
        """Ask for a path and open it."""
        from trex_tui.screens.dialogs import ask_path

        ask_path(self, "Open", "", lambda path: self.open_paths([str(Path(path).expanduser())]))

    def action_command_palette(self) -> None:
        from trex_tui.screens.palette import Palette

        if not isinstance(self.screen, Palette):
            self.push_screen(Palette())

    def action_help(self) -> None:
        from trex_tui.screens.palette import show_help

        show_help(self)


def run_app(paths: Sequence[str], find: FindEngines, theme: str) -> int:
    """Run the explorer; return the exit code.

    Raises:
        TrexError: The paths cannot be opened.
        Exception: An internal error ended it.
    """
    app = TrexApp(paths, find, theme)
    app.run()
    if app.crash is not None:
        raise app.crash
    if app.failure:
        raise TrexError(app.failure)
    if app.signals.ended_by is not None:
        return 128 + app.signals.ended_by
    return int(app.return_code or ExitCode.OK)
