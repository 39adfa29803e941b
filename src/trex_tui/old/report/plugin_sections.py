"""Sections of plug-ins in the report.

A package provides them by an entry point of the group `trex_tui.report_sections`, which names a function of an `Engine` that
returns an iterable of `trex_tui.old.report.document.Section`::

    [project.entry-points."trex_tui.report_sections"]
    ours = "our_package.sections:sections"
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from trex_tui.old.plugins import Loaded, describe_failure, find_entry_points, load_plugins
from trex_tui.old.report.document import Section
from trex_tui.old.text import as_sentence, printable

if TYPE_CHECKING:
    from trex_tui.old.errors import Diagnostic
    from trex_tui.old.report.views.engine import EngineSubject

GROUP = "trex_tui.report_sections"


@lru_cache(maxsize=1)
def _all_plugins() -> tuple[Loaded, ...]:
    return tuple(load_plugins(find_entry_points(GROUP), "report sections", lambda function: [function]))


def plugin_sections(subject: EngineSubject) -> Iterator[Section]:
    """Yield the sections of all plug-ins; one that fails is a section with the reason."""
    for plugin in _all_plugins():
        if plugin.problem is not None:
            yield _problem(plugin.problem)
        for make in plugin.objects:
            try:
                sections = list(make(subject.engine))
                if strangers := [section for section in sections if not isinstance(section, Section)]:
                    raise TypeError(f"{type(strangers[0]).__name__} is not a Section")
            except Exception as error:  # noqa: BLE001 - a foreign function
                yield _problem(describe_failure(error, plugin.where, "failed"))
            else:
                yield from sections


def _problem(problem: Diagnostic) -> Section:
    sentence = as_sentence(printable(f"{problem.where} {problem.message}"))
    return Section("plugin", "Plug-in", sentences=[sentence], is_warning=True)
