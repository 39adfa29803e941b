"""The application: which screen is on, and loading in the background."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

from textual import events, on, work
from textual._context import active_message_pump
from textual.app import App, ScreenError, SystemCommand
from textual.binding import Binding, BindingType
from textual.command import CommandPalette
from textual.dom import DOMNode
from textual.driver import Driver
from textual.errors import NoWidget
from textual.filter import LineFilter
from textual.message_pump import MessagePump
from textual.notifications import Notifications, Notify, SeverityLevel
from textual.screen import Screen
from textual.theme import Theme
from textual.widgets._toast import ToastRack
from textual.worker import WorkerFailed, get_current_worker

from trex_tui.old.config import cache_directory, recent_file, settings_file
from trex_tui.old.crash_log import internal, note, report, sentence
from trex_tui.old.errors import ExitCode, TrexError
from trex_tui.old.screens.driver import (
    CHECK_SECONDS,
    Collector,
    DaemonThreads,
    ForcedExit,
    catch_signals,
)
from trex_tui.old.screens.keyboard import Keyboard
from trex_tui.old.screens.loading import (
    EngineLoaded,
    FileBegun,
    LoadingScreen,
    NotRemembered,
    OpeningFailed,
    OpenRequest,
    ReadFailed,
    Reloaded,
    ReloadFailed,
    RowsRead,
    SetsDiscovered,
    SetsRead,
    read_again,
    read_engines,
    read_sets,
)
from trex_tui.old.screens.notice import Notice
from trex_tui.old.screens.services import AnswerFailed, ModelJoined, ReadingCancelled, ReloadAsked, is_refused
from trex_tui.old.screens.settings import Settings, SettingsStore
from trex_tui.old.screens.textual_caches import share_style_pairs
from trex_tui.old.text import printable
from trex_tui.old.widgets.actions import Place, bindings_in
from trex_tui.old.widgets.theme import (
    KEY_WORDS,
    THEMES,
    AsciiFilter,
    first_theme,
    theme_setting,
    theme_variables,
    wants_ascii,
)

if TYPE_CHECKING:
    from textual.command import Provider

    from trex_tui.old.analysis.load import LoadOptions
    from trex_tui.old.artifacts import ArtifactSet
    from trex_tui.old.engine.engine import Engine
    from trex_tui.old.report.views.runs import RunChoice
    from trex_tui.old.screens.list_view import EngineOpened, SetsOpened


def _commands() -> type[Provider]:
    from trex_tui.old.screens.palette import Commands

    return Commands


class TrexApp(App[None]):
    """The explorer. Screens are imported when first shown, not before the first frame."""

    TITLE = "trex-tui"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.EVERYWHERE)
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_commands}

    def __init__(
        self, paths: Sequence[str], options: LoadOptions | None = None, *, is_read_only: bool = False
    ) -> None:
        super().__init__()
        share_style_pairs()
        self.paths = list(paths)
        self.is_read_only = is_read_only
        self.options = options
        self.failure: TrexError | None = None
        """The error of a failed open."""
        self.crash: Exception | None = None
        """An unexpected error."""
        self._wanted: OpenRequest | None = None
        """The request being read."""
        self._current: OpenRequest | None = None
        """The request on screen."""
        self.captured: list[Engine] = []
        """Measurements started from this app."""
        self._notified: set[str] = set()
        self._earlier_toasts: WeakKeyDictionary[Screen[Any], set[str]] = WeakKeyDictionary()
        """Notifications shown before each window opened."""
        self._collector = Collector()
        self._keyboard = Keyboard(self, self._deliver)
        self.forced_exit: ForcedExit | None = None
        """Ends the process if the app does not; None if the process belongs to another program."""
        self.store = SettingsStore(settings_file(os.environ), may_write=not is_read_only)
        self._ascii = [AsciiFilter()] if wants_ascii(os.environ) else []
        for theme in THEMES:
            self.register_theme(theme)
        self._begin_with(first_theme(os.environ, self.settings, self.available_themes))

    def _begin_with(self, theme: str) -> None:
        """Apply a theme before the first frame.

        Assigning it would be a change, for which Textual parses all style sheets a second time: a tenth of the start.
        """
        self.set_reactive(TrexApp.theme, theme)
        is_dark = self.current_theme.dark
        classes = {"-dark-mode": is_dark, "-light-mode": not is_dark, f"-theme-{theme}": True}
        self.update_classes(classes, update=False)
        self._refresh_truecolor_filter(self.ansi_theme)
        self.stylesheet.set_variables(self.get_css_variables())

    # Settings of the user

    @property
    def settings(self) -> Settings:
        return self.store.settings

    @property
    def load_options(self) -> LoadOptions:
        from trex_tui.old.analysis.load import LoadOptions

        return self.options or LoadOptions()

    def column_widths(self, table_id: str) -> dict[str, int]:
        """Return the remembered cells of columns of a table, by key."""
        start = f"{table_id}."
        widths = self.settings.column_widths
        return {name.removeprefix(start): cells for name, cells in widths if name.startswith(start)}

    def keep_column_widths(self, table_id: str, widths: Mapping[str, int]) -> None:
        """Remember the cells of columns of a table, in place of those remembered."""
        others = (pair for pair in self.settings.column_widths if not pair[0].startswith(f"{table_id}."))
        own = ((f"{table_id}.{column}", cells) for column, cells in widths.items())
        self.remember(column_widths=(*others, *own))

    def remember(self, **choices: object) -> None:
        problem = self.store.remember(**choices)
        if problem:
            self.say_once("settings", problem)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """Show a toast, from any thread; `timeout` in seconds."""
        seconds = self.NOTIFICATION_TIMEOUT if timeout is None else timeout
        self.post_message(Notify(Notice(message, title, severity, seconds, markup=markup)))

    def _refresh_notifications(self) -> None:
        """Keep toasts that were raised before a window opened behind that window."""
        if not self.screen_stack or not self.screen.is_modal:
            super()._refresh_notifications()
            return
        earlier = self._earlier_toasts.setdefault(
            self.screen, {notification.identity for notification in self._notifications}
        )
        later = Notifications()
        for notification in self._notifications:
            if notification.identity not in earlier:
                later.add(notification)
        for rack in self.screen.query_children(ToastRack):
            self.call_later(rack.show, later)

    def say_once(self, about: str, words: str) -> None:
        """Notify of something once per session."""
        if about not in self._notified:
            self._notified.add(about)
            self.notify(printable(words), severity="warning", markup=False, timeout=10)

    def _theme_chosen(self, theme: Theme) -> None:
        key = theme_setting(os.environ, theme.name)
        if key:
            self.remember(**{key: theme.name})

    def get_driver_class(self) -> type[Driver]:
        """Return a driver that survives the loss of the terminal, and ends with the browser."""
        driver = super().get_driver_class()
        if driver.__module__ == "textual.drivers.web_driver":
            from trex_tui.old.screens.web_driver import LastingWebDriver

            return LastingWebDriver
        if os.name != "posix":
            return driver
        from trex_tui.old.screens.posix_driver import lasting

        return lasting(driver)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Add the ASCII filter last, where the terminal needs it."""
        return [*super().get_line_filters(), *self._ascii]

    def get_key_display(self, binding: Binding) -> str:
        """Spell out key signs where the terminal is ASCII."""
        shown = super().get_key_display(binding)
        return KEY_WORDS.get(shown, shown) if self._ascii else shown

    def get_css_variables(self) -> dict[str, str]:
        self.theme_variables = theme_variables(self.current_theme, super().get_css_variables())
        return self.theme_variables

    def get_default_screen(self) -> Screen[None]:
        return LoadingScreen(self.paths)

    def on_mount(self) -> None:
        """Start reading after the first frame."""
        asyncio.get_running_loop().set_default_executor(DaemonThreads())
        if not self.is_headless:
            catch_signals(self.killed)
        self.call_after_refresh(self._ask, self.paths, compares_pair=True)
        self.theme_changed_signal.subscribe(self, self._theme_chosen)
        self.set_interval(CHECK_SECONDS, self._collector.collect_if_idle)
        if self.store.note:
            self.say_once("settings", self.store.note)

    async def on_event(self, event: events.Event) -> None:
        """Deliver user input in order, and report it to the garbage collector."""
        if isinstance(event, (events.InputEvent, events.Paste)) and not event.is_forwarded:
            self._collector.note_input()
            await self._keyboard.take(event)
        elif isinstance(event, events.Key) and self.screen_stack and not self.screen.is_mounted:
            await self._keyboard.take_back(event)
        else:
            await super().on_event(event)

    async def _deliver(self, event: events.Event | Reloaded) -> None:
        if isinstance(event, Reloaded):
            self._replace_engine(event)
        elif not (isinstance(event, events.MouseDown) and self._is_on_removed_widget(event)):
            await super().on_event(event)

    def _is_on_removed_widget(self, event: events.MouseDown) -> bool:
        """Return whether the widget under the mouse was removed but is still drawn: no selection can begin there."""
        try:
            widget, _ = self.screen.get_widget_at(event.x, event.y)
        except (NoWidget, ScreenError):
            return False
        return widget.parent is None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return False for all actions but quitting while the screen of an engine rebuilds its panes."""
        if self.screen_stack and getattr(self.screen_stack[-1], "is_rebuilt", False):
            return action in ("quit", "suspend_process")
        return super().check_action(action, parameters)

    # Reading, in threads

    def open_paths(self, paths: Sequence[str]) -> None:
        """Open other paths instead of the current ones."""
        if len(self.screen_stack) > 1:
            self.push_screen(LoadingScreen(paths, is_first=False))
        self._ask(paths)

    def _ask(self, paths: Sequence[str], *, compares_pair: bool = False) -> None:
        self._wanted = OpenRequest(
            tuple(paths),
            self.load_options,
            recent_file(os.environ),
            is_remembered=not self.is_read_only,
            cache=None if self.is_read_only else cache_directory(os.environ),
            compares_pair=compares_pair,
        )
        self._read(self._wanted)

    @work(thread=True, group="read")
    def _read(self, request: OpenRequest) -> None:
        read_engines(request, self.post_message, lambda: request not in (self._wanted, self._current))

    def on_sets_opened(self, event: SetsOpened) -> None:
        """Read engines that the list does not hold, then open or compare them."""
        if self._current is None:
            return
        self.push_screen(LoadingScreen([source.name for source in event.sources], is_first=False))
        self._wanted = OpenRequest(self._current.paths, self.load_options)
        self._read_chosen(self._wanted, event.sources)

    @work(thread=True, group="read-chosen")
    def _read_chosen(self, request: OpenRequest, sources: Sequence[ArtifactSet]) -> None:
        read_sets(request, sources, self.post_message, lambda: request is not self._wanted)

    def _is_answered(self, request: OpenRequest) -> bool:
        """Return whether an answer is for the chosen engines that are waited for; it ends the wait."""
        if request is not self._wanted:
            return False
        self._wanted = None
        self._drop_loading_screen()
        return True

    @on(SetsRead)
    def _sets_read(self, event: SetsRead) -> None:
        if self._is_answered(event.request):
            self._show_engine(event.engines[0], event.engines[1:])
            self.call_next(self._keyboard.release)

    @on(ReadFailed)
    def _read_failed(self, event: ReadFailed) -> None:
        if self._is_answered(event.request):
            self._keyboard.forget()
            self.notify(printable(sentence(event.error)), severity="error", markup=False, timeout=10)

    @on(ReadingCancelled)
    def _cancel_reading(self) -> None:
        """Stop reading: return to the screen before, or quit."""
        self._wanted = None
        if len(self.screen_stack) > 1:
            self._drop_loading_screen()
            self.call_next(self._keyboard.release)
        else:
            self.exit()

    def _drop_loading_screen(self) -> None:
        """Remove the loading screen and windows over it."""
        indices = [
            index for index, screen in enumerate(self.screen_stack) if isinstance(screen, LoadingScreen)
        ]
        while indices and indices[-1] and len(self.screen_stack) > indices[-1]:
            self.pop_screen()

    def _is_wanted(self, request: OpenRequest) -> bool:
        """Return whether a request is current; it then becomes the open one."""
        if request is not self._wanted:
            return False
        self._current, self._wanted = request, None
        return True

    @on(FileBegun)
    def _file_begun(self, event: FileBegun) -> None:
        if event.request is self._wanted and isinstance(self.screen, LoadingScreen):
            self.screen.show_file(event.words)

    @on(EngineLoaded)
    def _loaded(self, event: EngineLoaded) -> None:
        is_other = self._current is not None
        if self._is_wanted(event.request):
            self._collector.note_engine(replaces=is_other)
            self._leave_all()
            self._show_engine(event.engine)
            self.call_next(self._keyboard.release)

    @on(SetsDiscovered)
    def _found(self, event: SetsDiscovered) -> None:
        from trex_tui.old.screens.engines import EnginesScreen

        listed = [screen for screen in self.screen_stack if isinstance(screen, EnginesScreen)]
        if self._is_wanted(event.request):
            self._leave_all()
            current = listed[0].current_name if listed else ""
            self.push_screen(EnginesScreen(event.discovery, current, event.pair))
            engines = [row.engine for row in event.pair if row.engine is not None]
            if len(engines) > 1:
                self._show_engine(engines[0], engines[1:])
            self.call_next(self._keyboard.release)

    @on(RowsRead)
    def _rows_read(self, event: RowsRead) -> None:
        from trex_tui.old.screens.engines import EnginesScreen

        for screen in self.screen_stack:
            if isinstance(screen, EnginesScreen) and event.request is self._current:
                screen.set_rows(event.rows)

    @on(OpeningFailed)
    def _failed(self, event: OpeningFailed) -> None:
        if event.request is not self._wanted:
            return
        self._wanted = None
        self._keyboard.forget()
        if self._current is None:
            if isinstance(event.error, TrexError):
                self.failure = event.error
            else:
                self.crash = event.error
            self.exit(
                return_code=int(ExitCode.INTERNAL_ERROR if self.failure is None else self.failure.exit_code)
            )
            return
        self._drop_loading_screen()
        if self.is_read_only:
            self.notify(printable(sentence(event.error)), severity="error", markup=False, timeout=10)
        else:
            self._ask_for_path(event.request.paths[0], sentence(event.error))

    @on(NotRemembered)
    def _not_remembered(self, event: NotRemembered) -> None:
        self.say_once("recent", f"Recent paths were not saved: {event.problem}")

    def on_engine_opened(self, event: EngineOpened) -> None:
        """Show an engine from the list, or a comparison."""
        self._show_engine(event.engine, event.others)

    @on(ReloadAsked)
    def _reload(self, event: ReloadAsked) -> None:
        """Reload an engine, or all that was opened."""
        if self._current is None:
            return
        if event.engine is None:
            self.open_paths(self._current.paths)
        else:
            self._read_again(self._current, event.engine, event.choice)

    @work(thread=True, group="reload", exclusive=True)
    def _read_again(self, request: OpenRequest, engine: Engine, choice: RunChoice | None) -> None:
        read_again(request, engine, choice, self.post_message)

    @on(ModelJoined)
    def _model_joined(self, event: ModelJoined) -> None:
        """Show an engine with its model, like a reloaded engine."""
        if self._current is not None:
            self.post_message(Reloaded(self._current, event.old, event.new))

    @on(Reloaded)
    async def _reloaded(self, event: Reloaded) -> None:
        """Replace the engine after the keys typed before: a pending key would be lost with its pane."""
        await self._keyboard.take(event)

    def _replace_engine(self, event: Reloaded) -> None:
        from trex_tui.old.screens.engine import EngineScreen
        from trex_tui.old.screens.engines import EnginesScreen

        self._collector.note_engine(replaces=True)
        for screen in self.screen_stack:
            if isinstance(screen, EngineScreen) and screen.engine is event.old:
                screen.replace_engine(event.new)
            elif isinstance(screen, EngineScreen):
                screen.compare_job.replace_other(event.old, event.new)
            elif isinstance(screen, EnginesScreen):
                screen.replace_engine(event.old, event.new)

    @on(ReloadFailed)
    def _reload_failed(self, event: ReloadFailed) -> None:
        words = f"Reload failed: {sentence(event.error)}. The screen shows the previous data."
        self.notify(printable(words), severity="error", markup=False, timeout=10)

    # The end

    def exit(self, *arguments: Any, **keywords: Any) -> None:  # noqa: ANN401 - Textual's
        """Exit, within a bounded time even if a widget does not end."""
        super().exit(*arguments, **keywords)
        self._limit_end()

    def _limit_end(self) -> None:
        if self.forced_exit is not None:
            self.forced_exit.arm()

    def give_back(self) -> None:
        give_back = getattr(self._driver, "give_back", None)
        if give_back is not None:
            give_back()

    def finish(self) -> int:
        """Report an internal error; return the exit code."""
        return self.return_code or int(ExitCode.OK) if self.crash is None else report(self.crash)

    def killed(self, number: int) -> None:
        """Restore the terminal, and exit with the code of a killed process."""
        if self.return_code is None:
            self.exit(return_code=128 + number)

    @on(AnswerFailed)
    def _answer_failed(self, event: AnswerFailed) -> None:
        words = f"{event.what}: {event.problem}"
        self.notify(printable(words), title="No answer", severity="error", markup=False, timeout=10)

    def _handle_exception(self, error: Exception) -> None:
        """Survive a failed worker; an error in a handler ends the app, and `run_app` reports it."""
        failed = error.error if isinstance(error, WorkerFailed) else None
        node = active_message_pump.get(None) if failed is None else get_current_worker().node
        if self.return_code is not None and self.crash is None:
            self._close_messages_no_wait()  # During exit: partly mounted widgets may fail, unseen.
        elif self._is_left(node):
            note(failed or error)
        elif failed is not None:
            self.post_message(AnswerFailed("A computation in the background", internal(failed)))
        else:
            self.crash = self.crash or error
            super()._handle_exception(error)

    def _is_left(self, node: MessagePump | None) -> bool:
        """Return whether a node or its screen is removed: handlers of a partly mounted screen find no children."""
        if not isinstance(node, DOMNode) or node is self:
            return False
        screens = [ancestor for ancestor in node.ancestors_with_self if isinstance(ancestor, Screen)]
        return not screens or screens[-1] not in self.screen_stack

    def panic(self, *renderables: object) -> None:  # noqa: ARG002 - Textual's
        """Exit without Textual's output."""
        self._fatal_error()

    def _fatal_error(self) -> None:
        """Exit without Textual's traceback, which prints local variables: names and paths of files."""
        self._limit_end()
        self._close_messages_no_wait()

    # Screens

    def _leave_all(self) -> None:
        while len(self.screen_stack) > 1:
            self.pop_screen()

    def _show_engine(self, engine: Engine, others: Sequence[Engine] = ()) -> None:
        from trex_tui.old.screens.engine import EngineScreen
        from trex_tui.old.screens.engines import EnginesScreen

        is_listed = any(isinstance(screen, EnginesScreen) for screen in self.screen_stack)
        tab = "compare" if others else "overview"
        screen = EngineScreen(engine, is_listed=is_listed, others=others, tab=tab)
        screen.asks_for_run = bool(engine.runs) and engine.requested_run is None and not others
        self.push_screen(screen)

    # Actions

    def action_help(self) -> None:
        from trex_tui.old.screens.text_screens import HelpScreen

        self.push_screen(HelpScreen(getattr(self.screen, "help_places", [Place.EVERYWHERE])))

    def action_open_path(self) -> None:
        self._ask_for_path()

    def _ask_for_path(self, text: str = "", remark: str = "") -> None:
        if is_refused(self, "no other path was opened"):
            return
        from trex_tui.old.screens.dialogs import OpenScreen
        from trex_tui.old.screens.settings import read_recent

        def open_path(path: str | None) -> None:
            if path is not None:
                self.open_paths([path])

        self.push_screen(OpenScreen(read_recent(recent_file(os.environ)), text, remark), open_path)

    def action_export(self) -> None:
        from trex_tui.old.screens.export import Exporter

        # A download is written by the browser.
        if not self.is_web and is_refused(self, "nothing was exported"):
            return
        Exporter(self.screen).ask()

    def action_command_palette(self) -> None:
        if not isinstance(self.screen, CommandPalette):
            from trex_tui.old.screens.palette import CommandWindow

            self.push_screen(CommandWindow(placeholder="Command, layer name or layer index"))

    def search_themes(self) -> None:
        """Offer themes in a palette that also works in very small terminals."""
        from textual.theme import ThemeProvider

        from trex_tui.old.screens.palette import PaletteWindow

        self.push_screen(PaletteWindow(providers=[ThemeProvider], placeholder="Theme"))

    async def action_quit(self) -> None:
        """Quit; while trtexec runs, request its end instead."""
        running = [screen for screen in self.screen_stack if hasattr(screen, "asks_to_stop")]
        if not any(screen.asks_to_stop() for screen in running):
            await super().action_quit()

    def action_redraw(self) -> None:
        """Redraw every cell, including those that another program overwrote."""
        forget_cells = getattr(self._driver, "forget_cells", None)
        if forget_cells is not None:
            forget_cells()
        self.screen.refresh()

    def action_close(self) -> None:
        self.exit()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Offer themes if there are colours; other commands come from the table of actions."""
        for command in super().get_system_commands(screen):
            if command.title == "Theme" and not self.no_color:
                yield command

    async def run_where_focused(self, action: str) -> None:
        """Run an action on the focused widget, else where it is available."""
        focused = self.screen.focused
        nodes = [*(focused.ancestors_with_self if focused is not None else [self.screen, self])]
        nodes += [node for node in self.screen.query("*") if node.is_on_screen and node not in nodes]
        name = action.split("(", 1)[0].removeprefix("app.")
        for node in nodes:
            if hasattr(node, f"action_{name}"):
                await self.run_action(action, default_namespace=node)
                return


def run_app(paths: Sequence[str], options: LoadOptions | None = None, *, is_read_only: bool = False) -> int:
    """Run until the user quits; return the exit code. Ctrl-C is a key and quits like `q`, with exit code 0.

    Args:
        paths: What to open.
        options: How to load it.
        is_read_only: Whether no other paths are opened and no files written.

    Raises:
        TrexError: Nothing could be opened; raised when the terminal is a terminal again.
    """
    app = TrexApp(paths, options, is_read_only=is_read_only)
    app.forced_exit = ForcedExit(app.give_back, app.finish)
    app.run()
    app.forced_exit.disarm()
    if app.failure is not None:
        raise app.failure
    return app.finish()
