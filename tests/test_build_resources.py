"""What a log tells of streams, DLA, the timing cache and reformats, in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from trex_tui.buildlog.build_trace import (
    BackendStrategy,
    BuildTrace,
    Dla,
    DlaFallback,
    StrategyVerdict,
    Streams,
    TimingCache,
)
from trex_tui.buildlog.layer_tuning import InsertedReformat
from trex_tui.report.views.build import cache_text, dla_text, reformats_text, streams_text
from trex_tui.report.views.build_details import MOST_ROWS, placement_lines

NONE = BuildTrace(Path("a.log"))
KEPT = InsertedReformat(
    5, 3, "Reformatted Input Tensor 0 to conv2", "y", "Float(4,2,1)", "Half(4,1:8,1)", 0.25
)


def test_nothing_told_is_nothing_said() -> None:
    assert (cache_text(NONE), streams_text(NONE), dla_text(NONE), reformats_text(NONE)) == (
        "",
        "",
        "",
        "",
    )
    assert list(placement_lines(NONE)) == []
    only_gpu = replace(NONE, dla=Dla(gpu_layers=("a", "b")))
    assert dla_text(only_gpu) == "", "8.x prints this for every build"


def test_streams_and_cache() -> None:
    trace = replace(
        NONE,
        streams=Streams(3, 2, 7, "a reason"),
        cache=TimingCache("global", 1024, 2048, "t.cache", entries=251, hits=0),
    )
    assert streams_text(trace) == "3, 2 auxiliary, 7 events, one stream, because a reason"
    assert cache_text(trace) == "global, t.cache, 1.00 KiB loaded, 2.00 KiB saved, 251 entries, 0 hits"


def test_dla_reformats_and_other_implementations() -> None:
    many = tuple(
        DlaFallback(number, f"l{number}", "no", "why" if number == 1 else "") for number in range(1, 51)
    )
    trace = replace(
        NONE,
        strategies=(
            BackendStrategy(1, 3, StrategyVerdict.CHOSEN),
            BackendStrategy(2, 4, StrategyVerdict.SKIPPED),
        ),
        dla=Dla(("a",), ("b", "c"), many),
        reformats=(KEPT, replace(KEPT, cost_ms=None), replace(KEPT, strategy=4)),
        non_conforming=("odd",),
    )
    assert dla_text(trace) == "1 layer on DLA, 2 on the GPU, 50 fallbacks"
    assert reformats_text(trace) == "2 inserted, 0.250000 ms when they were timed, 1 of unknown cost"
    lines = [(line.label, line.text) for line in placement_lines(trace)]
    assert ("line 1", "l1: no") in lines
    assert ("", "why") in lines
    assert ("", f"and {50 - MOST_ROWS} more") in lines
    assert sum("Reformatted Input Tensor 0 to conv2" in text for _, text in lines) == 2
    assert lines[-1] == ("", "odd")
