"""The text of `trex-tui summary`: the sections that the Overview and the report show of an engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from trex_tui.old.engine.engine import Engine
from trex_tui.old.errors import Severity
from trex_tui.old.fleet.split_model import find_split_models
from trex_tui.old.report.document import Section
from trex_tui.old.report.render_markdown import sections_markdown
from trex_tui.old.report.render_text import print_sections
from trex_tui.old.report.views.engine import analyse, engine_sections
from trex_tui.old.report.views.layers import bound_section, brief_hot_section, group_section
from trex_tui.old.report.views.split_model import split_model_section
from trex_tui.old.report.views.timing import performance_sections
from trex_tui.old.text import printable

if TYPE_CHECKING:
    from trex_tui.old.report.render_text import Console

HOTTEST = 5
"""Number of hottest layers without `--top`."""


def brief_sections(
    engine: Engine, top: int | None = HOTTEST, *, is_unfolded: bool = False
) -> Iterator[Section]:
    """Yield performance, the engine, and its times.

    Args:
        top: Maximum number of hottest layers; None for all.
        is_unfolded: Show options at their default too.
    """
    analysis = analyse(engine)
    yield from performance_sections(engine, analysis)
    for section in engine_sections(engine, analysis):
        facts = [*section.facts, *section.folded]
        yield replace(section, facts=facts, folded=()) if is_unfolded else section
    if engine.layers:
        yield group_section(engine)
        yield bound_section(engine)
    if hot := brief_hot_section(engine, top):
        yield hot


def print_summaries(
    engines: Iterable[Engine], console: Console, *, top: int | None = HOTTEST, is_unfolded: bool = False
) -> None:
    """Print the summary of each engine; arguments as for `brief_sections`."""
    every = list(engines)
    for model in find_split_models(every):
        print_sections([split_model_section(model, top)], console)
    for engine in every:
        print_engine(engine, brief_sections(engine, top, is_unfolded=is_unfolded), console)


def print_engine(engine: Engine, sections: Iterable[Section], console: Console) -> None:
    """Print the name of an engine, sections about it, and the warnings and remarks on its files.

    Errors belong to the result as a whole: `ResultWriter` adds them.
    """
    console.print(printable(engine.name), style="bold underline")
    print_sections(sections, console)
    notes = [diagnostic for diagnostic in engine.diagnostics if diagnostic.severity is not Severity.ERROR]
    for diagnostic in notes:
        console.print(f"{diagnostic.severity.value}: {printable(str(diagnostic))}", style="yellow")
    if notes:
        console.print()


def summary_markdown(
    engines: Iterable[Engine], *, top: int | None = HOTTEST, is_unfolded: bool = False
) -> str:
    """Return Markdown of the summary of each engine; arguments as for `brief_sections`."""
    every = list(engines)
    models = [
        sections_markdown(model.name, [split_model_section(model, top)]) for model in find_split_models(every)
    ]
    parts = (
        sections_markdown(engine.name, brief_sections(engine, top, is_unfolded=is_unfolded))
        for engine in every
    )
    return "\n".join([*models, *parts])
