"""Tuned layers joined with the log: by hand, and on every real log."""

from __future__ import annotations

from pathlib import Path

import pytest

from build_cases import STEM, write_log
from helpers import ARTIFACTS, REPOSITORY
from small_engines import small_engine
from trex_tui.analysis.build import (
    NEAR_TIE_PCT,
    BuildJoin,
    find_choices,
    join_build,
    near_ties,
)
from trex_tui.api import load_engine
from trex_tui.buildlog.reader import read_log

LOGS = sorted((REPOSITORY / "sample_artifacts" / "build-log").glob("*.log.gz")) + sorted(
    (ARTIFACTS / "logs").glob("*verbose*.log") if ARTIFACTS.is_dir() else []
)


def join_of(folder: Path) -> BuildJoin:
    small_engine(folder)
    join = join_build(load_engine(write_log(folder)))
    assert join is not None
    return join


def test_choices_by_hand(tmp_path: Path) -> None:
    join = join_of(tmp_path)
    assert len(join.choices) == 9
    stem = next(choice for choice in join.choices if choice.name == STEM)
    assert stem.chosen is not None
    assert stem.second is not None
    assert (stem.chosen.name, stem.chosen.time_ms, stem.second.name) == ("sm80_f16_b", 0.2, "sm80_f16_a")
    assert stem.margin_pct == pytest.approx(1.0)
    assert stem.is_near_tie
    assert [(cost.precision, cost.time_ms) for cost in stem.precisions] == [("FP16", 0.2), ("FP32", 0.4)]
    assert stem.other_precision is not None
    assert stem.other_precision.precision == "FP32"
    assert near_ties(join.choices) == [stem]
    untuned = next(choice for choice in join.choices if choice.name == "/head/softmax/Softmax")
    assert (untuned.tuning, untuned.chosen, untuned.margin_pct) == (None, None, None)


def test_a_log_alone(tmp_path: Path) -> None:
    write_log(tmp_path)
    trace = read_log(tmp_path / "tiny.build.log")
    join = BuildJoin(trace, find_choices(trace))
    assert join.choices == []  # it lists no layers
    assert join.tuned["layers"].tolist() == [(), (), ()]
    assert len(join.tactics(0)) == 6
    assert join_build(load_engine(REPOSITORY / "sample_artifacts" / "alexnet")) is None


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_real_logs(path: Path) -> None:
    """The choice is among the timed tactics of its formats, and no faster one is called slower."""
    join = join_build(load_engine(path))
    assert join is not None
    tuned = join.tuned
    assert len(tuned) == len(join.trace.tunings)
    assert tuned["tactics"].sum() == sum(tuning.tactic_count for tuning in join.trace.tunings)
    known = tuned[tuned["chosen_ms"].notna() & tuned["fastest_ms"].notna()]
    assert (known["fastest_ms"] <= known["chosen_ms"] * (1 + 1e-9)).all()
    assert (tuned["is_near_tie"] == tuned["margin_pct"].abs().lt(NEAR_TIE_PCT).fillna(False)).all()
    for number in range(0, len(tuned), 7):
        table = join.tactics(number)
        assert table["is_chosen"].sum() <= table.groupby(["formats", "operator"], dropna=False).ngroups
        assert (table["in_engine"] <= table["is_chosen"]).all()
        assert table["time_ms"].notna().eq(table["skipped"].isna()).mean() > 0.9
    agreeing = [choice.agrees for choice in join.choices if choice.agrees is not None]
    assert all(agreeing)
