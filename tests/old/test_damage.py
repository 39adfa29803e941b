"""Damaged files: regressions of readers and reports, and further cases.

`scripts/fuzz.py` finds more; reduced findings go to `corpus/`, with a directory for each.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers import REPOSITORY, write_graph, write_sample_set
from test_artifacts_properties import GRAPHS, METADATA, PROFILES, TIMINGS
from trex_tui.old.analysis.filter import FilterError, filter_layers
from trex_tui.old.analysis.trtexec_runs import engine_version
from trex_tui.old.engine import load_engine

sys.path.insert(0, str(REPOSITORY / "scripts"))

from fuzzing.damage import damaged
from fuzzing.examining import (
    COMMANDS,
    BrokenContractError,
    check_text,
    examine,
    examine_command,
    list_commands,
)

CORPUS = Path(__file__).parent / "corpus"


@pytest.mark.parametrize("case", sorted(path.name for path in CORPUS.iterdir()))
def test_what_broke_once_holds(case: str, tmp_path: Path) -> None:
    examine(CORPUS / case, COMMANDS[0])
    for name, form, *more in list_commands():
        if form in ("text", "json", "csv"):
            examine_command(CORPUS / case, CORPUS / case, tmp_path / "out", (name, form, *more))


@given(graph=GRAPHS, profile=PROFILES, timing=TIMINGS, metadata=METADATA, command=st.sampled_from(COMMANDS))
@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_structure_is_borne(
    tmp_path: Path, graph: Any, profile: Any, timing: Any, metadata: Any, command: tuple[str, ...]
) -> None:
    roots = {"graph": graph, "profile": profile, "timing": timing, "profile.metadata": metadata}
    for name, root in roots.items():
        (tmp_path / f"a.{name}.json").write_text(json.dumps(root), encoding="utf-8")
    examine(tmp_path, command)


@given(rng=st.randoms(use_true_random=False))
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage_is_borne(tmp_path: Path, rng: Any) -> None:
    write_sample_set(tmp_path)
    whole = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name in whole:
        (tmp_path / name).unlink()
    for name, data in damaged(whole, lambda _: whole, rng).items():
        (tmp_path / name).write_bytes(data)
    examine(tmp_path, rng.choice(COMMANDS))
    for path in tmp_path.iterdir():
        path.unlink()


def test_damage_to_a_nested_file_does_not_fill_the_memory() -> None:
    """Files that were nested by one damage get another; indented, each would have 25 MB."""
    whole = {"a.graph.json": b'{"Layers": [%s]}' % b",".join([b"[" * 500 + b"]" * 500] * 100)}
    for seed in range(10):
        for data in damaged(whole, lambda _: whole, random.Random(seed)).values():
            assert len(data) < 2_000_000


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


def test_the_examination_sees_what_gets_out() -> None:
    check_text("plain, Umlaut ä, 畳\n")
    for text in ("\x1b[31m", "\x9b", "a\rb", "\u202e", "\ud800"):
        with pytest.raises(BrokenContractError):
            check_text(text)
