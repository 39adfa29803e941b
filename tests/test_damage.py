"""Damaged files: regressions of readers and reports, and further cases.

`scripts/fuzz.py` finds more; reduced findings go to `corpus/`, with a directory for each.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz import COMMANDS, find_fault
from fuzzing.damage import damaged
from helpers import REPOSITORY, write_sample_set

CORPUS = REPOSITORY / "tests/corpus"


@pytest.mark.parametrize("case", sorted(path.name for path in CORPUS.iterdir()))
def test_what_broke_once_holds(case: str) -> None:
    faults = {command: find_fault(command, CORPUS / case) for command in COMMANDS}
    assert {command: fault for command, fault in faults.items() if fault} == {}


@given(rng=st.randoms(use_true_random=False))
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage_is_borne(tmp_path: Path, rng: Any) -> None:
    write_sample_set(tmp_path)
    whole = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name in whole:
        (tmp_path / name).unlink()
    for name, data in damaged(whole, lambda _: whole, rng).items():
        (tmp_path / name).write_bytes(data)
    assert find_fault(rng.choice(COMMANDS), tmp_path) == ""
    for path in tmp_path.iterdir():
        path.unlink()


def test_damage_to_a_nested_file_does_not_fill_the_memory() -> None:
    """Files that were nested by one damage get another; indented, each would have 25 MB."""
    whole = {"a.graph.json": b'{"Layers": [%s]}' % b",".join([b"[" * 500 + b"]" * 500] * 100)}
    for seed in range(10):
        for data in damaged(whole, lambda _: whole, random.Random(seed)).values():
            assert len(data) < 2_000_000
