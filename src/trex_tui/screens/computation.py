"""What is computed in threads, and fails: that costs this one answer, and a sentence stands where it would have been."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from textual.dom import DOMNode
from textual.message import Message

from trex_tui.crash_log import internal

Answer = TypeVar("Answer")


@dataclass
class AnswerFailed(Message):
    """There will be no answer, and who waits for it cannot say so: the app says it to the person.

    Attributes:
        what: What failed, for a person: "The memory figures".
        problem: Why, in a sentence.
    """

    what: str
    problem: str


def compute(
    node: DOMNode,
    what: str,
    make: Callable[[], Answer],
    take: Callable[[Answer], object],
    refuse: Callable[[str], bool],
    *,
    group: str = "default",
) -> None:
    """Compute in a thread what a widget waits for. An error that nobody expected costs this answer, not the app.

    Args:
        node: The widget or screen: the answer comes in its queue. A second computation of its group replaces the first.
        what: What is computed, for a person: "The memory figures".
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
