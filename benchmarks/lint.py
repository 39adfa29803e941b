"""Lint of an engine against the parse of its JSON files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.table import Table

from trex_tui.old.artifacts.discover import ArtifactSet
from trex_tui.old.engine.engine import Engine, load_set
from trex_tui.old.lint.registry import registry
from trex_tui.old.lint.run import run

Timed = Callable[[int, Callable[[], object]], float]


def measure_lint(
    sets: Sequence[ArtifactSet],
    repeat: int,
    best_of: Timed,
    parse: Callable[[ArtifactSet], None],
    forget: Callable[[], None],
) -> Table:
    """Time of every rule together as a multiple of the bare parse, and the three slowest rules.

    Args:
        best_of: Seconds of the fastest of several runs.
        parse: Parses the files of a set.
        forget: Drops what an earlier run has computed.
    """
    columns = ("set", "layers", "findings", "parse ms", "lint ms", "ratio", "slowest rules, ms alone")
    table = Table(*columns, title="Lint against json.load")
    for source in sets:
        floor = best_of(repeat, lambda source=source: parse(source))
        engines = [load_set(source) for _ in range(repeat)]  # what an engine has computed stays with it

        def lint(engines: list[Engine] = engines) -> None:
            forget()
            run(engines.pop())

        ours = best_of(repeat, lint)
        warm = load_set(source)
        findings = len(run(warm).findings)
        alone = {
            rule.id: best_of(1, lambda rule=rule, warm=warm: run(warm, rules=[rule]))
            for rule in registry().rules
        }
        slowest = sorted(alone, key=lambda one: -alone[one])[:3]
        table.add_row(
            source.name,
            str(len(warm.layers)),
            str(findings),
            f"{floor * 1e3:.2f}",
            f"{ours * 1e3:.2f}",
            f"{ours / floor:.2f}",
            ", ".join(f"{one} {alone[one] * 1e3:.1f}" for one in slowest),
        )
    return table
