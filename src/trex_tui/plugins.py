"""Plug-ins: objects of other packages, named by entry points of the groups `trex_tui.lint_rules`, `.readers` and
`.report_sections`. One that fails is a diagnostic and costs nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from trex_tui.errors import Diagnostic, Severity

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_T = TypeVar("_T")


class Loaded(NamedTuple):
    """The objects of an entry point.

    Attributes:
        where: The entry point, for messages.
        objects: What it names; empty after a problem.
        problem: Why it cannot be used; None without a problem.
    """

    where: str
    objects: list[Any]
    problem: Diagnostic | None = None


def find_entry_points(group: str) -> Iterable[EntryPoint]:
    """Return the entry points of a group."""
    from importlib.metadata import entry_points  # 20 ms

    return entry_points(group=group)


def load_plugins(
    entry_points: Iterable[EntryPoint], noun: str, extract: Callable[[Any], list[Any]]
) -> Iterator[Loaded]:
    """Load entry points, in the order of their names.

    Args:
        noun: What they offer, in the plural.
        extract: Returns the objects in what an entry point names.
    """
    for entry in sorted(entry_points, key=lambda entry: (entry.name, entry.value)):
        where = f"{noun} {entry.name!r} ({entry.value})"
        try:
            yield Loaded(where, extract(entry.load()))
        except Exception as error:  # noqa: BLE001 - a foreign module: whatever it raises costs its objects
            yield Loaded(where, [], describe_failure(error, where))


def describe_failure(error: Exception, where: str, what: str = "cannot be loaded") -> Diagnostic:
    """Return a warning about an exception of a plug-in; the traceback goes to the log file."""
    from trex_tui.crash_log import note

    note(error)
    message = f"{what}: {type(error).__name__}: {' '.join(str(error).split())}"
    return Diagnostic(Severity.WARNING, None, where, message)


def as_list(kind: type[_T]) -> Callable[[Any], list[Any]]:
    """Return an `extract` that takes an object of a type, or an iterable of them."""
    return lambda named: [named] if isinstance(named, kind) else list(named)
