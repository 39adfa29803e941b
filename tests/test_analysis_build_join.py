"""Tuned layers joined with the log: by hand, and on every real log."""

from __future__ import annotations

from pathlib import Path

import pytest

from build_cases import write_log
from helpers import ARTIFACTS, REPOSITORY
from trex_tui.analysis.build import (
    NEAR_TIE_PCT,
    BuildJoin,
    find_choices,
    join_build,
)
from trex_tui.api import load_engine
from trex_tui.buildlog.reader import read_log

LOGS = sorted((REPOSITORY / "sample_artifacts" / "build-log").glob("*.log.gz")) + sorted(
    (ARTIFACTS / "logs").glob("*verbose*.log") if ARTIFACTS.is_dir() else []
)


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
