"""The layers of a log joined with an engine, their tactics in a row, and what charts and words make of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_cases import GONE, HEAD, STEM, write_log
from helpers import ARTIFACTS
from small_engines import small_engine
from trex_tui.old.analysis.build import BuildFacts, build_facts, tactic_rows
from trex_tui.old.buildlog import read_build_log
from trex_tui.old.buildlog.build_trace import MemoryPoint
from trex_tui.old.engine.engine import Engine, load_engine
from trex_tui.old.report.charts.build_charts import TacticTimes, has_times, memory_chart, tactic_histogram
from trex_tui.old.report.charts.grid import split_cells
from trex_tui.old.report.views.build import build_fact_texts, pass_nodes, phase_nodes, strategy_nodes
from trex_tui.old.report.views.build_details import (
    empty_view_text,
    layer_build_lines,
    tactics_lines,
    tuned_lines,
)

LOGS = ARTIFACTS / "logs"
BUILDS = sorted(path.stem for path in LOGS.glob("*build_verbose*.log")) if LOGS.is_dir() else []


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Engine, BuildFacts]:
    folder = tmp_path_factory.mktemp("small")
    small_engine(folder)
    write_log(folder)
    engine = load_engine(folder)
    return engine, build_facts(read_build_log(folder / "tiny.build.log"), engine)


@pytest.fixture(scope="module", params=BUILDS)
def real(request: pytest.FixtureRequest) -> tuple[Engine, BuildFacts]:
    path = LOGS / f"{request.param}.log"
    engine = load_engine(path)
    return engine, build_facts(read_build_log(path), engine)


def test_layers_join_their_engine(small: tuple[Engine, BuildFacts]) -> None:
    _, facts = small
    assert [(one.tuning.name, one.layers, one.tactics, one.skipped) for one in facts.tuned] == [
        (STEM, (1,), 5, 1),
        (HEAD, (6,), 2, 0),
        (GONE, (), 1, 0),
    ]
    stem, head, gone = facts.tuned
    assert (stem.seconds, stem.chosen_ms, stem.fastest_ms) == (1.0, 0.2, 0.2)
    assert stem.margin_pct == pytest.approx(1.0)
    assert [one.is_near_tie for one in facts.tuned] == [True, False, False]
    assert (head.margin_pct, gone.chosen_ms, gone.margin_pct) == (pytest.approx(100.0), None, None)
    assert set(facts.by_layer) == {1, 6}
    assert facts.near_ties == 1


def test_tactics_are_marked(small: tuple[Engine, BuildFacts]) -> None:
    _, facts = small
    rows = tactic_rows(facts, facts.tuned[0])
    marks = [
        (row.id, row.formats, row.is_chosen, row.is_fastest, row.in_engine, row.skipped is not None)
        for row in rows
    ]
    assert marks == [
        (1, 1, False, False, False, False),
        (2, 1, True, True, False, False),
        (3, 2, False, False, False, False),
        (4, 2, True, True, True, False),
        (5, 2, False, False, False, False),
        (6, 2, False, False, False, True),
    ]
    assert rows[5].label == "0x0000000000000006"


def test_every_tactic_of_a_real_log_is_a_row(real: tuple[Engine, BuildFacts]) -> None:
    _, facts = real
    assert facts.tuned
    for tuned in facts.tuned:
        rows = tactic_rows(facts, tuned)
        tuning = tuned.tuning
        cached = sum(one.is_cached for one in tuning.combinations)
        tables = sum(len(table.tactics) for trial in tuning.trials() for table in trial.myelin)
        assert sum(row.skipped is not None for row in rows) == len(tuning.skipped) == tuned.skipped
        assert sum(row.is_cached for row in rows) == cached
        assert sum(bool(row.operator) for row in rows) == tables
        assert sum(row.skipped is None and not row.is_cached for row in rows) == tuned.tactics
        for number, one in enumerate(tuning.combinations, start=1):
            of_it = [row for row in rows if row.formats == number and not row.operator]
            chosen = [row for row in of_it if row.is_chosen]
            assert len(chosen) == (one.chosen_runner is not None)
            assert all(row.time_ms == one.chosen_ms for row in chosen)
            times = [row.time_ms for row in of_it if row.time_ms is not None]
            assert all(row.time_ms == min(times) for row in of_it if row.is_fastest)


def test_what_a_real_engine_has_is_marked(real: tuple[Engine, BuildFacts]) -> None:
    engine, facts = real
    joined = [choice for choice in facts.choices if choice.tuning is not None]
    assert joined
    assert len(facts.by_layer) == len(joined)
    for index, tuned in facts.by_layer.items():
        choice = facts.choices[index]
        assert choice.tuning is tuned.tuning
        rows = [row for row in tactic_rows(facts, tuned) if row.in_engine and not row.operator]
        if choice.name == tuned.tuning.name and choice.chosen is not None:
            assert (choice.chosen.runner, choice.chosen.id) in {(row.runner, row.id) for row in rows}
            assert tuned.chosen_ms == choice.chosen.time_ms
        assert layer_build_lines(facts, index)
        assert next(line.text for line in tuned_lines(engine, facts, tuned)) == tuned.tuning.name
        assert list(tactics_lines(facts, tuned, None))


def test_outlines_have_all_that_the_log_tells(real: tuple[Engine, BuildFacts]) -> None:
    _, facts = real
    trace = facts.trace
    nodes = phase_nodes(trace)
    assert sum(node.values["seconds"] for node in nodes) == pytest.approx(
        sum(one.seconds for one in trace.phases)
    )
    assert sum(node.values["count"] for node in nodes) == len(trace.phases)
    passes = [node for top in pass_nodes(trace) for node in (top, *top.children)]
    assert [node.item for node in passes if node.key[0] == "pass"] == list(trace.passes)
    steps = [step.item for node in passes if node.key[0] == "pass" for step in node.children]
    assert steps == list(trace.fusions)
    strategies = strategy_nodes(facts)
    tables = sum(len(trial.myelin) for tuning in trace.tunings for trial in tuning.trials())
    assert sum(len(node.children) for node in strategies) == tables
    assert len(strategies) == len(trace.strategies)
    keys = [node.key for node in [*nodes, *passes, *strategies]]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ("Skip backend strategy 3since its", "4 kept, 2 tried: 4 initial (0.1101), 3 skipped (0.125)"),
        (
            "Chose this engine with backend strategy 3 since its",
            "3 kept, 2 tried: 4 initial (0.1101), 3 chosen (0.125)",
        ),
    ],
)
def test_numbers_of_strategies_are_not_counted(tmp_path: Path, second: str, words: str) -> None:
    log = tmp_path / "a.log"
    steps = (
        "Building graph using backend strategy 4",
        "Use backend strategy 4 with estimated inference time (0.1101) as the initial choice.",
        "Building graph using backend strategy 3",
        f"{second} estimated inference time (0.125) is as it is.",
    )
    log.write_text("".join(f"[07/07/2026-02:11:00] [V] [TRT] {step}\n" for step in steps))
    assert build_fact_texts(read_build_log(log))["strategy"] == words


def test_details_say_what_was_tried_and_how_narrow_it_was(small: tuple[Engine, BuildFacts]) -> None:
    _, facts = small
    words = {line.label: line.text for line in layer_build_lines(facts, 1)}
    assert words[""] == "5 tactics timed in 2 format combinations, 1 skipped, 1.000 s"
    assert words["chosen"].startswith("0.200000 ms · CaskConvolution · sm80_f16_b")
    assert words["fastest"] == "the choice"
    assert words["second best"].endswith("· +1.00 %")
    assert words["near tie"] == "margin below 2 %"
    assert words["in FP32"] == "0.400000 ms, +100.0 %, excluding reformats"
    assert [line.text for line in layer_build_lines(facts, 2)] == ["not tuned in the log"]
    assert layer_build_lines(None, 1) == []


def test_an_engine_that_is_not_that_of_the_log(tmp_path: Path, small: tuple[Engine, BuildFacts]) -> None:
    _, facts = small
    write_log(tmp_path)
    layer = {"Name": "other", "LayerType": "CaskConvolution", "Inputs": [], "Outputs": []}
    (tmp_path / "tiny.graph.json").write_text(
        '{"Layers": [' + str(layer).replace("'", '"') + '], "Bindings": []}', encoding="utf-8"
    )
    engine = load_engine(tmp_path)
    found = build_facts(facts.trace, engine)
    assert found.by_layer == {}
    assert len(found.tuned) == 3


# Charts


@given(
    st.lists(st.floats(1e-6, 1e4) | st.just(0.0), max_size=200),
    st.none() | st.floats(1e-6, 1e4),
    st.integers(0, 120),
    st.integers(0, 20),
)
def test_histogram_has_the_size_asked_for(
    times: list[float], chosen: float | None, width: int, height: int
) -> None:
    lines = tactic_histogram(TacticTimes(times, chosen, min(times, default=None)), width, height)
    assert len(lines) in (0, height)
    for line in lines:
        assert sum(len(split_cells(span.text)) for span in line) == width


def test_histogram_of_too_little_is_none() -> None:
    assert tactic_histogram(TacticTimes([0.1, 0.2], 0.1, 0.1), 60, 8) == ()
    text = _plain(tactic_histogram(TacticTimes([0.1, 0.1, 0.2, 0.4], 0.2, 0.1), 60, 8))
    assert "C chosen" in text
    assert "F fastest" in text


def _plain(lines: tuple[tuple[object, ...], ...]) -> str:
    return "\n".join("".join(span.text for span in line) for line in lines)  # type: ignore[attr-defined]


POINT = MemoryPoint(1, "Init", 0.0, 10, 20, 1, 2, False)


@given(
    st.lists(
        st.tuples(st.none() | st.floats(0, 1e5), st.integers(0, 10**7), st.integers(0, 10**7), st.booleans()),
        max_size=30,
    ),
    st.none() | st.integers(-2, 40),
    st.integers(0, 100),
    st.integers(0, 20),
)
def test_memory_chart_has_the_size_asked_for(
    values: list[tuple[float | None, int, int, bool]], here: int | None, width: int, height: int
) -> None:
    points = [
        MemoryPoint(line, "e", at, cpu, gpu, None, None, managed)
        for line, (at, cpu, gpu, managed) in enumerate(values, start=1)
    ]
    lines = memory_chart(points, here, width, height)
    assert len(lines) in (0, height)
    for line in lines:
        assert sum(len(split_cells(span.text)) for span in line) == width


def test_memory_is_drawn_over_time_where_stamps_tell_points_apart() -> None:
    timed = [POINT._replace(line=line, at_s=float(line)) for line in range(1, 6)]
    crowded = [POINT._replace(line=line) for line in range(1, 6)]
    assert has_times(timed)
    assert not has_times(crowded)
    assert "seconds since start of log" in _plain(memory_chart(timed, 0, 60, 10))
    assert "line of the log" in _plain(memory_chart(crowded, 0, 60, 10))
    assert "GPU" in _plain(memory_chart(timed, None, 60, 10))


def test_words_for_nothing(small: tuple[Engine, BuildFacts]) -> None:
    _, facts = small
    quiet = replace(facts.trace, passes=(), tunings=())
    assert "trtexec --verbose" in empty_view_text(quiet, "layers")
    assert empty_view_text(facts.trace, "strategies").startswith("No backend strategies")
