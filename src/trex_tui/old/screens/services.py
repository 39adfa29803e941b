"""Interface of the application for screens, and computations in threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from textual.dom import DOMNode
from textual.message import Message

from trex_tui.old.crash_log import internal
from trex_tui.old.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trex_tui.old.analysis.load import LoadOptions
    from trex_tui.old.artifacts import ArtifactSet
    from trex_tui.old.engine.engine import Engine
    from trex_tui.old.report.views.runs import RunChoice
    from trex_tui.old.screens.settings import Settings

Answer = TypeVar("Answer")


@dataclass
class ReloadAsked(Message):
    """Reload an engine; without one, all that was opened.

    Attributes:
        choice: The run or optimization profile to show from now on; None for the one shown.
    """

    engine: Engine | None = None
    choice: RunChoice | None = None


@dataclass
class ModelJoined(Message):
    """A model was found beside the files of an engine.

    Attributes:
        old: The engine without the model.
        new: The same engine with its nodes, or with a note why the model is not used.
    """

    old: Engine
    new: Engine


@dataclass
class ReadingCancelled(Message):
    """Stop reading."""


@dataclass
class AnswerFailed(Message):
    """A computation failed where no widget shows it: the app notifies.

    Attributes:
        what: The failed computation, for display: "The memory figures".
        problem: Why, in a sentence.
    """

    what: str
    problem: str


class Services(Protocol):
    """The application as screens see it."""

    captured: list[Engine]
    """Engines measured again from the app."""
    paths: list[str]
    """Paths opened first."""
    is_read_only: bool
    """True if no other paths are opened and no files written."""

    @property
    def settings(self) -> Settings:
        """Remembered settings."""

    @property
    def load_options(self) -> LoadOptions:
        """Options for loading engines."""

    def remember(self, **choices: object) -> None:
        """Remember a choice."""

    async def run_where_focused(self, action: str) -> None:
        """Run an action as if its key had been pressed."""


def get_services(node: DOMNode) -> Services:
    """Return the application that a screen or pane is part of."""
    return cast("Services", node.app)


def is_refused(node: DOMNode, consequence: str) -> bool:
    """Return whether the explorer is read-only; if so, show a toast with the consequence: "nothing is written"."""
    is_read_only = get_services(node).is_read_only
    if is_read_only:
        node.app.notify(f"Read-only: {consequence}.", markup=False)
    return is_read_only


class EngineHolder:
    """A screen that shows engines, or lists them."""

    def held_engines(self) -> Sequence[Engine]:
        """Return the loaded engines of this screen."""
        raise NotImplementedError

    def listed_sets(self, *, unread: bool = False) -> Sequence[ArtifactSet]:  # noqa: ARG002 - there is no list
        """Return the listed sets; optionally only those not read yet."""
        return []


def engines_at_hand(node: DOMNode) -> list[Engine]:
    """Return engines that are loaded: captured, listed, or on open screens."""
    engines = list(get_services(node).captured)
    for holder in _holders(node):
        engines += holder.held_engines()
    return list(dict.fromkeys(engines))


def listed_sets(node: DOMNode, *, unread: bool = False) -> list[ArtifactSet]:
    """Return the listed sets; optionally only those not read yet."""
    return [source for holder in _holders(node) for source in holder.listed_sets(unread=unread)]


def _holders(node: DOMNode) -> list[EngineHolder]:
    return [screen for screen in node.app.screen_stack if isinstance(screen, EngineHolder)]


def compute(
    node: DOMNode,
    what: str,
    make: Callable[[], Answer],
    take: Callable[[Answer], object],
    refuse: Callable[[str], bool],
    *,
    group: str = "default",
) -> None:
    """Compute in a thread. An unexpected error costs this answer, not the app.

    Args:
        node: The widget or screen: the answer comes in its queue. A second computation of its group replaces the first.
        what: Name of the computation, for display: "The memory figures".
        make: Computes the answer.
        take: Takes it.
        refuse: Says, where the answer would have been, why there is none; False if nobody sees it there.
    """

    def run() -> None:
        try:
            answer = make()
        except Exception as error:  # noqa: BLE001 - whatever it is, the app goes on
            node.call_later(fail, internal(error))
        else:
            node.call_later(take, answer)

    def fail(problem: str) -> None:
        if not refuse(problem):
            node.post_message(AnswerFailed(what, problem))

    node.run_worker(run, thread=True, exclusive=True, group=group)
