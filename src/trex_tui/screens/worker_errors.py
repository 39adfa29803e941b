"""What is computed in threads, and fails: that costs this one answer, and a sentence stands where it would have been."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from textual.message import Message
from textual.message_pump import MessagePump

from trex_tui.crash_log import internal

Node = TypeVar("Node", bound=MessagePump)
Arguments = ParamSpec("Arguments")


@dataclass
class AnswerFailed(Message):
    """There will be no answer. Who waits for it says so in its place; the app says it to the person.

    Attributes:
        what: What failed, for a person: "The memory figures".
        problem: Why, in a sentence.
    """

    what: str
    problem: str


def posts_errors(
    what: str,
) -> Callable[[Callable[Concatenate[Node, Arguments], None]], Callable[Concatenate[Node, Arguments], None]]:
    """Decorate what a thread does for a widget: an error that nobody expected is posted to the widget as `AnswerFailed`."""

    def decorate(
        work: Callable[Concatenate[Node, Arguments], None],
    ) -> Callable[Concatenate[Node, Arguments], None]:
        @wraps(work)
        def answer(self: Node, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
            try:
                work(self, *args, **kwargs)
            except Exception as error:  # noqa: BLE001 - whatever it is, the app goes on
                self.post_message(AnswerFailed(what, internal(error)))

        return answer

    return decorate
