"""Put the profile's times to the layers: by name and occurrence, never by position."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trex_tui.artifacts.profile import Profile, ProfileRow
from trex_tui.engine.model import LayerLatency
from trex_tui.errors import Diagnostic, Severity
from trex_tui.text import plural, shorten_middle


@dataclass(frozen=True, slots=True)
class Joined:
    """One latency per layer, None where no row belongs to it, and what was left over on both sides.

    Attributes:
        unmatched: Rows that name no layer.
    """

    latencies: list[LayerLatency | None]
    diagnostics: list[Diagnostic]
    unmatched: int = 0


def join_profile(names: Sequence[str], profile: Profile | None, file: Path | None) -> Joined:
    """Join rows to layers by (name, occurrence): trtexec reports equal names in execution order.

    Args:
        names: Layer names in execution order.
        profile: None if there is none, which is no finding here.
        file: The profile's file, for diagnostics.
    """
    if profile is None:
        return Joined([None] * len(names), [])
    rows: dict[tuple[str, int], ProfileRow] = {}
    seen: Counter[str] = Counter()
    for row in profile.rows:
        rows[row.name, seen[row.name]] = row
        seen[row.name] += 1
    seen.clear()
    latencies: list[LayerLatency | None] = []
    for name in names:
        found = rows.pop((name, seen[name]), None)
        seen[name] += 1
        latencies.append(_latency(found) if found else None)
    notes = _leftovers(names, latencies, list(rows.values()), len(profile.rows), file)
    return Joined(latencies, notes, len(rows))


def _latency(row: ProfileRow) -> LayerLatency:
    return LayerLatency(row.average_ms, row.median_ms, row.total_ms, row.percentage)


def _leftovers(
    names: Sequence[str],
    latencies: Sequence[LayerLatency | None],
    unmatched: Sequence[ProfileRow],
    row_count: int,
    file: Path | None,
) -> list[Diagnostic]:
    missing = [name for name, latency in zip(names, latencies, strict=True) if latency is None]
    if row_count and names and len(unmatched) == row_count:
        message = (
            f"does not belong to this graph: not one of its {plural(row_count, 'row')} names a layer of it"
        )
        return [Diagnostic(Severity.ERROR, file, "", message)]
    notes = []
    if unmatched:
        lost_ms = sum(row.average_ms or 0.0 for row in unmatched)
        message = (
            f"{len(unmatched)} of {plural(row_count, 'row')} match no layer of the graph and are in no total "
            f"({lost_ms:.6g} ms; the first: {_quoted(unmatched[0].name)})"
        )
        notes.append(Diagnostic(Severity.WARNING, file, "", message))
    if missing and row_count:
        message = f"has no row for {len(missing)} of {plural(len(names), 'layer')} (the first: {_quoted(missing[0])})"
        notes.append(Diagnostic(Severity.WARNING, file, "", message))
    return notes


def _quoted(name: str) -> str:
    return f"'{shorten_middle(name, 60)}'"
