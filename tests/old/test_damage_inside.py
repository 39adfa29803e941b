"""Damaged files: regressions of readers and reports, and further cases.

`scripts/fuzz.py` finds more; reduced findings go to `corpus/`, with a directory for each.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_artifacts_properties import GRAPHS, METADATA, PROFILES, TIMINGS

from fuzzing.examining import (
    COMMANDS,
    examine,
)
from helpers import write_graph
from trex_tui.old.analysis.filter import FilterError, filter_layers
from trex_tui.old.analysis.trtexec_runs import engine_version
from trex_tui.old.engine import load_engine


@given(graph=GRAPHS, profile=PROFILES, timing=TIMINGS, metadata=METADATA, command=st.sampled_from(COMMANDS))
@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_structure_is_borne(
    tmp_path: Path, graph: Any, profile: Any, timing: Any, metadata: Any, command: tuple[str, ...]
) -> None:
    roots = {"graph": graph, "profile": profile, "timing": timing, "profile.metadata": metadata}
    for name, root in roots.items():
        (tmp_path / f"a.{name}.json").write_text(json.dumps(root), encoding="utf-8")
    examine(tmp_path, command)


def test_a_pattern_is_not_searched_for_where_it_would_take_minutes(tmp_path: Path) -> None:
    """Python's matcher needs the square of the length for `a.*b`, and cannot be interrupted."""
    write_graph(tmp_path / "a.graph.json", [{"Name": "a" * 70_000}, {"Name": "a b"}])
    engine = load_engine(tmp_path)
    with pytest.raises(FilterError, match="takes too long"):
        filter_layers(engine, 'name~"a.*b"')
    assert [layer.index for layer in filter_layers(engine, 'name~"a b"')] == [1]


def test_a_version_of_many_digits_is_none(tmp_path: Path) -> None:
    """Python refuses to read a number of more than 4300 digits."""
    write_graph(tmp_path / "a.graph.json", [{"Name": "a"}])
    log = f"&&&& RUNNING TensorRT.trtexec [TensorRT v1004]\n[11/21/2026-10:00:00] [I] TensorRT version: 10.4.{'9' * 5000}\n"
    (tmp_path / "a.build.log").write_text(log, encoding="utf-8")
    assert (engine_version(load_engine(tmp_path)) or (10, 4))[:2] == (10, 4)
