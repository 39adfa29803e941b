"""Reading engines in the background: what is asked for, and the messages that tell how far it got."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Center, Middle
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import LoadingIndicator, Static

from trex_tui.crash_log import internal
from trex_tui.errors import ArtifactError
from trex_tui.screens.services import ReadingCancelled
from trex_tui.text import format_bytes, printable, shorten_middle
from trex_tui.widgets.actions import Place, bindings_in

if TYPE_CHECKING:
    from trex_tui.analysis.load import LoadOptions
    from trex_tui.artifacts import ArtifactSet, Discovery
    from trex_tui.engine.engine import Engine
    from trex_tui.screens.engines import EngineRow


@dataclass(frozen=True, eq=False)
class OpenRequest:
    """Paths to open. Compared by identity: answers to an abandoned request are ignored."""

    paths: tuple[str, ...]
    options: LoadOptions
    recent_file: Path | None = field(default=None)
    """Where to note that it could be opened."""


class OpeningCancelled(Exception):  # noqa: N818 - it is no error
    """The result of reading is no longer wanted."""


@dataclass
class Answer(Message):
    """An answer to a request."""

    request: OpenRequest


@dataclass
class FileBegun(Answer):
    """A file is being read."""

    words: str

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, FileBegun)


@dataclass
class SetsDiscovered(Answer):
    """Several engines were found."""

    discovery: Discovery


@dataclass
class RowsRead(Answer):
    """Some more engines of the list were read."""

    rows: list[EngineRow]

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, RowsRead) and message.request is self.request


@dataclass
class EngineLoaded(Answer):
    """The only engine was read."""

    engine: Engine


@dataclass
class OpeningFailed(Answer):
    """Nothing could be opened."""

    error: Exception


@dataclass
class Reloaded(Answer):
    """An engine was reloaded."""

    old: Engine
    new: Engine


@dataclass
class ReloadFailed(Answer):
    """An engine could not be reloaded; the one on screen stays."""

    error: Exception


@dataclass
class NotRemembered(Message):
    """The list of recent engines cannot be written."""

    problem: str


Post = Callable[[Message], object]


def read_engines(request: OpenRequest, post: Post, is_cancelled: Callable[[], bool]) -> None:
    """Read the engines of a request, and post the results."""
    from trex_tui.analysis.load import load
    from trex_tui.artifacts import scan
    from trex_tui.screens.settings import remember_opened

    def begin(file: Path) -> None:
        if is_cancelled():
            raise OpeningCancelled
        post(FileBegun(request, _describe_file(file)))

    try:
        discovery = scan(request.paths)
        if len(discovery.sets) == 1:
            engine = load(discovery.sets[0], request.options, begin)
            post(EngineLoaded(request, engine))
        else:
            post(SetsDiscovered(request, discovery))
    except OpeningCancelled:
        return
    except Exception as error:  # noqa: BLE001 - who asked is told, whatever it is
        post(OpeningFailed(request, error))
        return
    problem = remember_opened(request.recent_file, request.paths) if not is_cancelled() else ""
    if problem:
        post(NotRemembered(problem))
    if len(discovery.sets) > 1:
        _read_rows(request, discovery, post, is_cancelled)


def _read_rows(
    request: OpenRequest, discovery: Discovery, post: Post, is_cancelled: Callable[[], bool]
) -> None:
    from trex_tui.screens.engines import EngineRow

    rows = [EngineRow(source) for source in discovery.sets]
    for index, source in enumerate(discovery.sets):
        if is_cancelled():
            return
        rows[index] = _row(source, request.options)
        post(RowsRead(request, list(rows)))


def _row(source: ArtifactSet, options: LoadOptions) -> EngineRow:
    from trex_tui.analysis.load import load
    from trex_tui.screens.engines import EngineRow

    try:
        return EngineRow.loaded(source, load(source, options))
    except ArtifactError as error:
        return EngineRow(source, error=error)
    except Exception as error:  # noqa: BLE001 - it costs this row
        return EngineRow(source, error=ArtifactError(next(iter(source.files.values())), internal(error)))


def read_again(request: OpenRequest, old: Engine, post: Post) -> None:
    """Reload an engine, and post the result."""
    from trex_tui.analysis.load import load
    from trex_tui.artifacts import scan
    from trex_tui.screens.reload import find_paths, same_set

    try:
        post(
            Reloaded(request, old, load(same_set(scan(find_paths(old, request.paths)), old), request.options))
        )
    except Exception as error:  # noqa: BLE001 - the engine on screen stays
        post(ReloadFailed(request, error))


def _describe_file(file: Path) -> str:
    try:
        return f"{file.name} · {format_bytes(file.stat().st_size)}"
    except OSError:
        return file.name


class LoadingScreen(Screen[None]):
    """Shows what is being read.

    Args:
        paths: What a person asked for.
        is_first: Whether there is nothing to go back to.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.LOADING)

    help_places: ClassVar[list[Place]] = [Place.LOADING, Place.EVERYWHERE]

    DEFAULT_CSS = """
    LoadingScreen {
        & Static { width: auto; color: $text-muted; }
        & LoadingIndicator { height: 1; width: 20; color: $primary; }
    }
    """

    def __init__(self, paths: Sequence[str], *, is_first: bool = True) -> None:
        super().__init__()
        self._paths, self.is_first = paths, is_first

    def compose(self) -> ComposeResult:
        what = ", ".join(shorten_middle(printable(str(path)), 50) for path in self._paths[:3])
        with Middle():
            with Center():
                yield Static(Content(f"reading {what} …"))
            with Center():
                yield LoadingIndicator()
            with Center():
                yield Static(id="file")
            with Center():
                yield Static(Content("Esc quits" if self.is_first else "Esc goes back"))

    def on_screen_suspend(self) -> None:
        """Stop the indicator below other screens: each step would redraw them whole."""
        self.query(LoadingIndicator).set(display=False)

    def on_screen_resume(self) -> None:
        self.query(LoadingIndicator).set(display=True)

    def show_file(self, words: str) -> None:
        self.query_one("#file", Static).update(Content(shorten_middle(printable(words), 56)))

    def action_cancel(self) -> None:
        self.post_message(ReadingCancelled())
