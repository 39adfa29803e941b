"""Plug-ins: objects of other packages, named by entry points of the groups `trex_tui.lint_rules`, `.readers` and
`.report_sections`. One that fails is a diagnostic and costs nothing else.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from trex_tui.old.errors import Diagnostic, Severity

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
    if not _is_named(group):
        return ()
    from importlib.metadata import entry_points  # 30 ms with its search

    return entry_points(group=group)


def _is_named(group: str) -> bool:
    """Return whether a package may have entry points of the group: no file of entry points has its name if not. 2 ms."""
    others = (finder for finder in sys.meta_path if getattr(finder, "__name__", "") != "PathFinder")
    if any(hasattr(finder, "find_distributions") for finder in others):
        return True
    for directory in sys.path:
        try:
            with os.scandir(directory or ".") as entries:
                names = [entry.name for entry in entries]
        except NotADirectoryError:
            return True  # an archive
        except OSError:
            continue
        for name in names:
            if name.endswith(".egg"):
                return True
            if name.endswith((".dist-info", ".egg-info")) and _has_text(
                f"{directory or '.'}/{name}/entry_points.txt", group
            ):
                return True
    return False


def _has_text(file: str, text: str) -> bool:
    try:
        with open(file, "rb") as stream:  # noqa: PTH123 - hundreds of files
            return text.encode() in stream.read()
    except OSError:
        return False


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
    from trex_tui.old.crash_log import note

    note(error)
    message = f"{what}: {type(error).__name__}: {' '.join(str(error).split())}"
    return Diagnostic(Severity.WARNING, None, where, message)


def as_list(kind: type[_T]) -> Callable[[Any], list[Any]]:
    """Return an `extract` that takes an object of a type, or an iterable of them."""
    return lambda named: [named] if isinstance(named, kind) else list(named)
