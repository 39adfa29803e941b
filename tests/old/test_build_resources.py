"""Streams, DLA, the timing cache and reformats of a log, as text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from trex_tui.old.analysis.build import build_facts
from trex_tui.old.buildlog.build_trace import (
    BackendStrategy,
    BuildTrace,
    Dla,
    DlaFallback,
    MemoryTotals,
    StrategyVerdict,
    Streams,
    TimingCache,
)
from trex_tui.old.buildlog.layer_tuning import InsertedReformat
from trex_tui.old.buildlog.reader import read_outline
from trex_tui.old.report.views.build import (
    cache_text,
    dla_text,
    memory_sections,
    reformats_text,
    streams_text,
)
from trex_tui.old.report.views.build_details import MOST_ROWS, memory_lines, placement_lines
from trex_tui.old.report.views.build_summary import build_log_text
from trex_tui.old.report.views.engine import describe_engine_size

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
    assert streams_text(trace) == "3, 2 auxiliary, 7 events, single stream (a reason)"
    assert cache_text(trace) == "global, t.cache, 1.00 KiB loaded, 2.00 KiB saved, 251 entries, 0 hits"


def test_memory_is_the_same_on_the_screen_and_in_the_text_of_build_log() -> None:
    trace = replace(
        NONE,
        peak_gpu_mib=0,
        strategies=(
            BackendStrategy(1, 3, StrategyVerdict.CHOSEN),
            BackendStrategy(2, 4, StrategyVerdict.SKIPPED),
        ),
        memory_totals=(
            MemoryTotals(3, weights_bytes=1024, scratch_bytes=0),
            MemoryTotals(4),
            MemoryTotals(5, 2048),
        ),
        engine_bytes=4096,
    )
    sections = {section.title: section.facts for section in memory_sections(trace)}
    assert sections == {
        "Peak in TensorRT's allocators": [("GPU", "0 MiB")],
        "Memory totals of strategy 3, in the engine": [("weights", "1.00 KiB"), ("scratch", "0 B")],
        "Memory totals of strategy 5": [("host persistent", "2.00 KiB")],
        "Size": [("engine", "4.00 KiB")],
    }
    shown = [line.text for line in memory_lines(trace)]
    assert shown == [
        text for title, facts in sections.items() for text in (title, *(size for _, size in facts))
    ]
    text = list(build_log_text(build_facts(trace), 5))
    for title, facts in sections.items():
        assert f"{title}: {', '.join(f'{label} {size}' for label, size in facts)}" in text
    assert not list(memory_sections(NONE))


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
        reformats=(KEPT, KEPT._replace(cost_ms=None), KEPT._replace(strategy=4)),
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


@pytest.mark.parametrize(
    ("lines", "size"),
    [
        (["Loaded engine size: 6 MiB"], "6 to 7 MiB"),
        (["Loaded engine size: 0 MiB"], "under 1 MiB"),
        (["Created engine with size: 6.42511 MiB", "[TRT] Loaded engine size: 6 MiB"], "6.43 MiB"),
        (["[TRT] Loaded engine size: 6 MiB", "Created engine with size: 6.42511 MiB"], "6.43 MiB"),
    ],
)
def test_engine_size_is_as_precise_as_stated(tmp_path: Path, lines: list[str], size: str) -> None:
    text = ["&&&& RUNNING TensorRT.trtexec [TensorRT v101601] # trtexec --loadEngine=a.engine"]
    text += [f"[11/23/2026-04:00:00] [I] {line}" for line in lines]
    path = tmp_path / "a.engine.profile.log"
    path.write_text("\n".join(text) + "\n")
    trace = read_outline(path)
    assert describe_engine_size(trace.engine_bytes, trace.engine_mib) == size
