"""Debug folders of Torch-TensorRT: one directory per execution, the first of which is cold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trex_tui.artifacts.profile import read_profiles


@pytest.mark.parametrize(
    ("folder", "iterations", "words"),
    [
        ("iter_0", 1, "the first execution alone"),
        ("iter_3", 1, "a single execution"),
        ("net", None, "over all calls"),
    ],
)
def test_one_execution_is_stated_to_be_one(
    tmp_path: Path, folder: str, iterations: int | None, words: str
) -> None:
    path = tmp_path / folder / "_run_on_acc_0_engine_engine_exectuion_profile.trace"
    path.parent.mkdir()
    event = {"ph": "X", "ts": 0, "tid": 1, "pid": "_run_on_acc_0_engine Engine Execution", "args": {}}
    path.write_text(
        json.dumps([{"name": name, "dur": us, **event} for name, us in (("a", 900.0), ("b", 100.0))])
    )
    (profile,) = read_profiles(path)
    assert [(row.name, row.average_ms) for row in profile.rows] == [("a", 0.9), ("b", 0.1)]
    assert profile.iterations == iterations
    assert words in profile.notes[0].message
