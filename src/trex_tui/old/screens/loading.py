"""Reads engines in the background: requests, progress messages and the loading screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import LoadingIndicator, Static

from trex_tui.old.crash_log import internal
from trex_tui.old.errors import ArtifactError
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.screens.services import ReadingCancelled
from trex_tui.old.text import format_bytes, printable, shorten_middle
from trex_tui.old.widgets.actions import ACTIONS, Place, bindings_in

if TYPE_CHECKING:
    from trex_tui.old.analysis.load import LoadOptions
    from trex_tui.old.artifacts import ArtifactSet, Discovery
    from trex_tui.old.engine.engine import Engine
    from trex_tui.old.fleet.search_cache import Search
    from trex_tui.old.report.views.runs import RunChoice
    from trex_tui.old.screens.engine_rows import EngineRow


@dataclass(frozen=True, eq=False)
class OpenRequest:
    """Paths to open. Compared by identity: answers to an abandoned request are ignored."""

    paths: tuple[str, ...]
    options: LoadOptions
    recent_file: Path | None = field(default=None)
    """Settings that record a successful open."""
    is_remembered: bool = True
    cache: Path | None = field(default=None)
    """Directory of the cache of rows; None for no cache."""
    compares_pair: bool = False
    """True if two paths with one engine each are compared right away."""


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
    """Several engines were found.

    Attributes:
        pair: Two engines to compare, the baseline first; they are read, unlike others.
    """

    discovery: Discovery
    pair: tuple[EngineRow, ...] = ()


@dataclass
class RowsRead(Answer):
    """Some more engines of the list were read."""

    rows: list[EngineRow]

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, RowsRead) and message.request is self.request


@dataclass
class SetsRead(Answer):
    """The chosen engines of a list were read, the one to open or the baseline first."""

    engines: tuple[Engine, ...]


@dataclass
class EngineLoaded(Answer):
    """The only engine was read."""

    engine: Engine


@dataclass
class OpeningFailed(Answer):
    """Nothing could be opened."""

    error: Exception


@dataclass
class ReadFailed(Answer):
    """Chosen engines of a list could not be read; the list stays."""

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
    """The list of recent engines could not be written."""

    problem: str


Post = Callable[[Message], object]
MOST_HELD = 8
"""Number of engines up to which a list holds them, so that they open at once. A longer list has their rows only."""
SHOWN_AGAIN_S = 0.2
"""Interval between updates of a list while it is read: an update per engine would make keys wait."""


def read_engines(request: OpenRequest, post: Post, is_cancelled: Callable[[], bool]) -> None:
    """Read the engines of a request, and post the results."""
    from trex_tui.old.analysis.load import load
    from trex_tui.old.artifacts import scan
    from trex_tui.old.screens.settings import remember_opened

    def begin(file: Path) -> None:
        if is_cancelled():
            raise OpeningCancelled
        post(FileBegun(request, _describe_file(file)))

    pair: tuple[EngineRow, ...] = ()
    try:
        with _remembered(request) as search:
            discovery = scan(request.paths)
            search.is_kept = len(discovery.sets) > MOST_HELD
        if len(discovery.sets) == 1:
            engine = load(discovery.sets[0], replace(request.options, finds_onnx=False), begin)
            post(EngineLoaded(request, engine))
        elif request.compares_pair and len(request.paths) == len(discovery.sets) == 2:
            discovery = replace(discovery, sets=_in_order(discovery.sets, request.paths))
            from trex_tui.old.screens.engine_rows import with_models  # 40 ms, and one engine needs no rows

            pair = tuple(with_models([_row(source, request.options, begin) for source in discovery.sets]))
            post(SetsDiscovered(request, discovery, pair))
        else:
            post(SetsDiscovered(request, discovery))
    except OpeningCancelled:
        return
    except Exception as error:  # noqa: BLE001 - who asked is told, whatever it is
        post(OpeningFailed(request, error))
        return
    is_noted = request.is_remembered and not is_cancelled()
    problem = remember_opened(request.recent_file, request.paths) if is_noted else ""
    if problem:
        post(NotRemembered(problem))
    if len(discovery.sets) > 1 and not pair:
        _read_rows(request, discovery, post, is_cancelled)


def _in_order(sets: Iterable[ArtifactSet], paths: Sequence[str]) -> tuple[ArtifactSet, ...]:
    """Return the sets in the order of the paths that lead to them."""

    def rank(source: ArtifactSet) -> int:
        files = [file.absolute() for file in source.files.values()]
        leading = (
            index
            for index, path in enumerate(paths)
            if any(file.is_relative_to(Path(path).absolute()) for file in files)
        )
        return next(leading, len(paths))

    return tuple(sorted(sets, key=rank))


def _read_rows(
    request: OpenRequest, discovery: Discovery, post: Post, is_cancelled: Callable[[], bool]
) -> None:
    """Read the rows of a list, first those that the cache has. A long list does not hold the engines."""
    from trex_tui.old.screens.engine_rows import EngineRow, with_models

    known: list[EngineRow | None] = [None] * len(discovery.sets)
    read: Callable[[ArtifactSet], EngineRow] = partial(_row, options=request.options)
    save: Callable[[], None] = _do_nothing
    if len(discovery.sets) > MOST_HELD:
        from trex_tui.old.screens.row_reader import RowReader  # 10 ms, and most lists are short

        reader = RowReader(request.cache, request.paths, request.options)
        known = [reader.find(source) for source in discovery.sets]
        read, save = reader.read, reader.save
    rows = [
        EngineRow.unread(source) if row is None else row
        for source, row in zip(discovery.sets, known, strict=True)
    ]
    unread = [index for index, row in enumerate(known) if row is None]
    if 0 < len(unread) < len(rows):
        post(RowsRead(request, list(rows)))
    posted = float("-inf")
    try:
        for index in unread:
            if is_cancelled():
                return
            rows[index] = read(discovery.sets[index])
            if monotonic() - posted >= SHOWN_AGAIN_S:
                post(RowsRead(request, list(rows)))
                posted = monotonic()
        post(RowsRead(request, with_models(rows)))
    finally:  # also the rows read before it was cancelled
        save()


def _do_nothing() -> None:
    """Save nothing."""


@contextmanager
def _remembered(request: OpenRequest) -> Iterator[Search]:
    """Search with the findings of the last search of a long list."""
    from trex_tui.old.fleet.search_cache import Search, known_kinds  # 5 ms

    if request.cache is None:
        yield Search()
        return
    with known_kinds(request.cache, request.paths) as search:
        yield search


def read_sets(
    request: OpenRequest, sources: Sequence[ArtifactSet], post: Post, is_cancelled: Callable[[], bool]
) -> None:
    """Read chosen engines of the list, and post them."""
    from trex_tui.old.analysis.load import load

    def begin(file: Path) -> None:
        if is_cancelled():
            raise OpeningCancelled
        post(FileBegun(request, _describe_file(file)))

    try:
        options = replace(request.options, finds_onnx=False)
        engines = tuple(load(source, options, begin) for source in sources)
    except OpeningCancelled:
        return
    except Exception as error:  # noqa: BLE001 - the list stays
        post(ReadFailed(request, error))
    else:
        post(SetsRead(request, engines))


def _row(source: ArtifactSet, options: LoadOptions, begin: Callable[[Path], None] | None = None) -> EngineRow:
    from trex_tui.old.analysis.load import load
    from trex_tui.old.screens.engine_rows import EngineRow

    try:
        return EngineRow.loaded(source, load(source, replace(options, finds_onnx=False), begin))
    except OpeningCancelled:
        raise
    except ArtifactError as error:
        return EngineRow.failed(source, error)
    except Exception as error:  # noqa: BLE001 - it costs this row
        return EngineRow.failed(source, ArtifactError(next(iter(source.files.values())), internal(error)))


def read_again(request: OpenRequest, old: Engine, choice: RunChoice | None, post: Post) -> None:
    """Reload an engine, with another run or optimization profile if one is chosen, and post the result."""
    from trex_tui.old.analysis.load import load, options_of
    from trex_tui.old.artifacts import scan
    from trex_tui.old.screens.reload import find_paths, same_set

    try:
        options = options_of(old, request.options)
        if choice is not None and choice.run is not None:
            options = replace(options, run=choice.run)
        elif choice is not None:
            options = replace(options, optimization_profile=choice.profile)
        source = same_set(scan(find_paths(old, request.paths)), old)
        post(Reloaded(request, old, load(source, options)))
    except Exception as error:  # noqa: BLE001 - the engine on screen stays
        post(ReloadFailed(request, error))


def _describe_file(file: Path) -> str:
    try:
        return f"{file.name} · {format_bytes(file.stat().st_size)}"
    except OSError:
        return file.name


def _keys(*ids: str) -> frozenset[str]:
    return frozenset(key for action in ACTIONS if action.id in ids for key in action.keys.split(","))


_CANCEL = _keys("loading.cancel")
_ANIMATION_S = 1 / 16
_MEANWHILE = _keys("app.help", "app.open")
"""Actions available while something is read."""


class LoadingScreen(Screen[None]):
    """Progress of reading. Other keys are kept for the screen that follows.

    Args:
        paths: The requested paths.
        is_first: True if there is no screen to go back to.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.LOADING)

    help_places: ClassVar[list[Place]] = [Place.LOADING, Place.EVERYWHERE]

    DEFAULT_CSS = """
    LoadingScreen {
        align-vertical: middle;
        & Static { width: 100%; text-align: center; color: $text-muted; }
        & #file { height: 1; }
        & LoadingIndicator { height: 1; color: $primary; }
    }
    """

    def __init__(self, paths: Sequence[str], *, is_first: bool = True) -> None:
        super().__init__()
        self._paths, self.is_first = paths, is_first

    def compose(self) -> ComposeResult:
        what = ", ".join(shorten_middle(printable(str(path)), 50) for path in self._paths[:3])
        yield Static(Content(f"reading {what} …"))
        yield LoadingIndicator()
        yield Static(id="file")
        yield Static(Content("Esc quits" if self.is_first else "Esc goes back"))

    def on_screen_suspend(self) -> None:
        """Stop the indicator below other screens: each step would redraw them whole."""
        self._set_interval(None)

    def on_screen_resume(self) -> None:
        self._set_interval(_ANIMATION_S)

    def _set_interval(self, interval: float | None) -> None:
        """Set the seconds between two steps of the indicator; None for no steps."""
        for indicator in self.query(LoadingIndicator):
            indicator.auto_refresh = interval

    def show_file(self, words: str) -> None:
        content = Content(shorten_middle(printable(words), 56))
        self.query_one("#file", Static).update(content, layout=False)

    @staticmethod
    def acts_on(key: str, *, is_first: bool) -> bool:
        """Return whether a key works here and now; `is_first` if no key before it waits."""
        return LoadingScreen.cancels(key) or (is_first and key in _MEANWHILE)

    @staticmethod
    def cancels(key: str) -> bool:
        """Return whether a key cancels reading."""
        return key in _CANCEL

    def action_cancel(self) -> None:
        self.post_message(ReadingCancelled())
