"""Engines to compare with: those of the list of engines, else those near an engine; and the text before a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from trex_tui.artifacts.discover import ArtifactSet
from trex_tui.engine.model import Engine
from trex_tui.text import printable
from trex_tui.widgets.text import Line, styled

_MOST_NAMED = 8
_HOW = (
    "c chooses an engine to compare with; A adds up to two more.",
    "In the list of engines, Space marks two to four engines and = compares them.",
    "On the command line: trex-tui A B",
)


class Offers(NamedTuple):
    """Engines to compare with.

    Attributes:
        source: Loads them: `load(set)`.
    """

    source: Any
    sets: Sequence[ArtifactSet]

    @property
    def options(self) -> dict[str, str]:
        """Place of each set -> its name and directory."""
        return {str(place): _describe(found) for place, found in enumerate(self.sets)}


def list_offers(source: Any, compared: Iterable[Engine]) -> Offers:  # noqa: ANN401 - a loader
    """Return the sets that a loader found, without those that are compared."""
    taken = {path.resolve() for engine in compared for path in engine.files.values()}
    sets = [
        found for found in source.discovery.sets if taken.isdisjoint(map(Path.resolve, found.files.values()))
    ]
    return Offers(source, sets)


def find_place(engine: Engine) -> Path:
    """Return the directory to search for other engines: that above an engine's, unless it is too general."""
    here = next(iter(engine.files.values()), Path("_")).resolve().parent
    return here if here.parent in (Path(here.anchor), Path.home()) else here.parent


def invitation_lines(offers: Offers | None) -> Iterator[Line]:
    """Yield how to compare, and links to the engines that are offered."""
    yield Line(styled(("No comparison yet.", "bold")))
    yield from (Line(styled(text)) for text in _HOW)
    if offers is not None and offers.sets:
        yield Line(styled(""))
        yield Line(styled(("Near this engine: Enter compares", "bold")))
        yield from (
            Line(styled(f"  {_describe(found)}"), found, indent=4) for found in offers.sets[:_MOST_NAMED]
        )
        if len(offers.sets) > _MOST_NAMED:
            yield Line(styled((f"  {len(offers.sets) - _MOST_NAMED} more: c", "$muted")))


def _describe(found: ArtifactSet) -> str:
    return f"{printable(found.name)}  {printable(str(found.directory))}"
