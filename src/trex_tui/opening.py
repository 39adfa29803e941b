"""Reading engines in the background: what is asked for, and the messages that tell how far it got."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from trex_tui.errors import ArtifactError
from trex_tui.faults import internal
from trex_tui.text import format_bytes

if TYPE_CHECKING:
    from trex_tui.artifacts import ArtifactSet, Discovery
    from trex_tui.engine.engine import Engine
    from trex_tui.loading import LoadOptions
    from trex_tui.screens.engines import EngineRow


@dataclass(frozen=True, eq=False)
class Request:
    """What a person wants to see. Each is its own: an answer to one that is given up is of no interest."""

    paths: tuple[str, ...]
    options: LoadOptions
    recent_file: Path | None = field(default=None)
    """Where to note that it could be opened."""


class Cancelled(Exception):  # noqa: N818 - it is no error
    """Nobody wants the rest."""


@dataclass
class Answer(Message):
    """What every message has: the request that it answers."""

    request: Request


@dataclass
class FileBegun(Answer):
    """A file is being read; a later one replaces those still waiting."""

    words: str

    def can_replace(self, message: Message) -> bool:
        """An older state is of no interest."""
        return isinstance(message, FileBegun)


@dataclass
class Found(Answer):
    """The search is over, and found more than one engine."""

    discovery: Discovery


@dataclass
class RowsRead(Answer):
    """So much of the list of engines has been read; a later one replaces those still waiting."""

    rows: list[EngineRow]

    def can_replace(self, message: Message) -> bool:
        """An older state of the list is of no interest."""
        return isinstance(message, RowsRead) and message.request is self.request


@dataclass
class Loaded(Answer):
    """The one engine there is has been read."""

    engine: Engine


@dataclass
class Failed(Answer):
    """Nothing could be opened: an error to act on, or one of ours."""

    error: Exception


@dataclass
class Reloaded(Answer):
    """The files of an engine were read again."""

    old: Engine
    new: Engine


@dataclass
class ReloadFailed(Answer):
    """They could not be read again; the engine on screen stays."""

    error: Exception


@dataclass
class NotRemembered(Message):
    """The list of recent engines cannot be written."""

    problem: str


Post = Callable[[Message], object]


def read_engines(request: Request, post: Post, is_cancelled: Callable[[], bool]) -> None:
    """Read what was asked for, and post what comes of it."""
    from trex_tui.artifacts import scan
    from trex_tui.loading import load
    from trex_tui.services.recent import remember_opened

    def begin(file: Path) -> None:
        if is_cancelled():
            raise Cancelled
        post(FileBegun(request, _in_words(file)))

    try:
        discovery = scan(request.paths)
        if len(discovery.sets) == 1:
            engine = load(discovery.sets[0], request.options, begin)
            post(Loaded(request, engine))
        else:
            post(Found(request, discovery))
    except Cancelled:
        return
    except Exception as error:  # noqa: BLE001 - who asked is told, whatever it is
        post(Failed(request, error))
        return
    problem = remember_opened(request.recent_file, request.paths) if not is_cancelled() else ""
    if problem:
        post(NotRemembered(problem))
    if len(discovery.sets) > 1:
        _read_rows(request, discovery, post, is_cancelled)


def _read_rows(request: Request, discovery: Discovery, post: Post, is_cancelled: Callable[[], bool]) -> None:
    from trex_tui.screens.engines import EngineRow

    rows = [EngineRow(source) for source in discovery.sets]
    for index, source in enumerate(discovery.sets):
        if is_cancelled():
            return
        rows[index] = _row(source, request.options)
        post(RowsRead(request, list(rows)))


def _row(source: ArtifactSet, options: LoadOptions) -> EngineRow:
    from trex_tui.loading import load
    from trex_tui.screens.engines import EngineRow

    try:
        return EngineRow.loaded(source, load(source, options))
    except ArtifactError as error:
        return EngineRow(source, error=error)
    except Exception as error:  # noqa: BLE001 - it costs this row
        return EngineRow(source, error=ArtifactError(next(iter(source.files.values())), internal(error)))


def read_again(request: Request, old: Engine, post: Post) -> None:
    """Read the files of an engine once more."""
    from trex_tui.artifacts import scan
    from trex_tui.loading import load
    from trex_tui.services.reload import places_of, same_set

    try:
        post(
            Reloaded(request, old, load(same_set(scan(places_of(old, request.paths)), old), request.options))
        )
    except Exception as error:  # noqa: BLE001 - the engine on screen stays
        post(ReloadFailed(request, error))


def _in_words(file: Path) -> str:
    try:
        return f"{file.name} · {format_bytes(file.stat().st_size)}"
    except OSError:
        return file.name
