"""A section of the report: the number of layers of each kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from trex_tui import Engine
from trex_tui.report.document import Column, Section, make_table

COLUMNS = (
    Column("kind", "Kind", help="Kind of the layers."),
    Column("layers", "Layers", is_number=True, help="Number of layers."),
)


def sections(engine: Engine) -> Iterator[Section]:
    """Yield a section with a sentence and a table; none for an engine without layers."""
    counts = Counter(layer.kind.value for layer in engine.layers)
    if counts:
        table = make_table("example_kinds", COLUMNS, counts.most_common())
        yield Section("example", "Kinds (example)", sentences=[f"{len(counts)} kinds."], tables=[table])
