"""Who feeds whom, and which time belongs to which layer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers import layer, messages, tensor, write_graph, write_profile
from trex_tui.old.artifacts.profile import Profile, ProfileRow
from trex_tui.old.engine import Engine, load_engine
from trex_tui.old.engine.build import join_profile
from trex_tui.old.errors import Severity


def engine_of(folder: Path, *steps: tuple[str, str]) -> Engine:
    """An engine of steps that read and write the tensors named by letters."""
    layers = [
        layer(f"l{place}", "kgen", [tensor(one, 1) for one in reads], [tensor(one, 1) for one in writes])
        for place, (reads, writes) in enumerate(steps)
    ]
    return load_engine(write_graph(folder / "a.graph.json", layers))


@pytest.mark.parametrize(
    ("steps", "links"),
    [
        ([("a", "b"), ("b", "c")], ["0b1"]),
        ([("a", "b"), ("bb", "c")], ["0b1", "0b1"]),
        ([("", "a"), ("a", "b"), ("ab", "c")], ["0a1", "0a2", "1b2"]),
        # A concat that was removed: both parts belong to the value.
        ([("", "a"), ("", "a"), ("a", "b")], ["0a2", "1a2"]),
        # A scratch tensor used again: the second reader does not see the first writer.
        ([("", "a"), ("a", "b"), ("b", "a"), ("a", "c")], ["0a1", "1b2", "2a3"]),
        # In place: reads the old value, writes a new one.
        ([("", "a"), ("a", "a"), ("a", "b")], ["0a1", "1a2"]),
        # A loop: read before anybody wrote it.
        ([("a", "b"), ("b", "a")], ["1a0*", "0b1"]),
        ([("a", "a")], ["0a0*"]),
        # Writing the same tensor twice is one producer.
        ([("", "aa"), ("a", "b")], ["0a1"]),
        ([("xy", "")], []),
    ],
)
def test_links(tmp_path: Path, steps: list[tuple[str, str]], links: list[str]) -> None:
    found = engine_of(tmp_path, *steps).links
    assert [f"{one.source}{one.tensor}{one.target}{'*' if one.is_loop else ''}" for one in found] == links


def test_neighbours_and_graph(tmp_path: Path) -> None:
    engine = engine_of(tmp_path, ("", "a"), ("a", "b"), ("ab", "c"))
    first, _, last = engine.layers
    assert [link.target for link in engine.consumers(first)] == [1, 2]
    assert [(link.source, link.tensor, link.port) for link in engine.producers(last)] == [
        (0, "a", 0),
        (1, "b", 1),
    ]
    assert (engine.producers(first), engine.consumers(last)) == ([], [])
    assert engine.graph.is_multigraph()
    assert list(engine.graph.edges(data="tensor")) == [(0, 1, "a"), (0, 2, "a"), (1, 2, "b")]
    assert engine.graph.nodes[2]["layer"] is last


def rows(*pairs: tuple[str, float | None]) -> Profile:
    return Profile(tuple(ProfileRow(name, average, average, average, 1.0) for name, average in pairs), 3)


@pytest.mark.parametrize(
    ("names", "profile", "times"),
    [
        ("ab", [("a", 1.0), ("b", 2.0)], [1.0, 2.0]),
        ("ab", [("b", 2.0), ("a", 1.0)], [1.0, 2.0]),
        ("aba", [("a", 1.0), ("a", 3.0), ("b", 2.0)], [1.0, 2.0, 3.0]),
        ("aa", [("a", 1.0)], [1.0, None]),
        ("a", [("a", 1.0), ("a", 3.0)], [1.0]),
        ("ab", [("a", None), ("b", 2.0)], [None, 2.0]),
        ("", [("a", 1.0)], []),
    ],
)
def test_join_by_name_and_occurrence(names: str, profile: Any, times: list[float | None]) -> None:
    joined = join_profile(list(names), rows(*profile), None)
    assert [one and one.average_ms for one in joined.latencies] == times


def test_join_without_a_profile_says_nothing() -> None:
    joined = join_profile(["a", "b"], None, None)
    assert (joined.latencies, joined.diagnostics) == ([None, None], [])


def test_leftovers_of_both_sides() -> None:
    file = Path("p.json")
    joined = join_profile(list("abc"), rows(("a", 1.0), ("x", 2.5), ("y", None)), file)
    assert [(one.severity, one.file) for one in joined.diagnostics] == [(Severity.WARNING, file)] * 2
    assert messages(joined.diagnostics) == [
        "2 of 3 rows match no layer of the graph and are excluded (2.5 ms; the first: 'x')",
        "has no row for 2 of 3 layers (the first: 'b')",
    ]


def test_leftovers_are_in_no_total(tmp_path: Path) -> None:
    write_profile(tmp_path / "a.profile.json", [("l0", 1.0), ("ghost", 5.0)])
    engine = engine_of(tmp_path, ("a", "b"))
    assert engine.latency_sum_ms == 1.0
    assert engine.diagnostics[0].message.startswith("1 of 2 rows match no layer")
