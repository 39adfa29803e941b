"""What overview and memory screen say and compute, without a screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import layer, tensor, write_graph, write_json, write_sample_set
from trex_tui.old.analysis.memory import find_tensor, live_at, live_tensors, memory_by_kind
from trex_tui.old.analysis.structure import hottest, total_by_kind, total_by_precision
from trex_tui.old.engine import Engine, load_engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.report.views.engine import (
    analyse,
    bound_sentences,
    count_notes,
    describe_weights,
    engine_facts,
    gap_sentences,
    memory_facts,
    work_facts,
)
from trex_tui.old.report.views.memory import (
    NAMES_ONLY,
    NO_LAYER_INFO,
    describe_live,
    describe_peak,
    describe_tensors,
    memory_figures,
    unknown_sentences,
)
from trex_tui.old.report.views.timing import performance_table, run_facts, throughput_facts
from trex_tui.old.report.views.totals import by_bound, by_tensor_cores


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return load_engine(write_sample_set(tmp_path / "net"))


@pytest.fixture
def poor(tmp_path: Path) -> Engine:
    """Names, and nothing else."""
    return load_engine(
        write_json(tmp_path / "poor" / "poor.graph.json", {"Layers": ["a", "b"], "Bindings": []})
    )


def test_facts_of_the_engine(engine: Engine) -> None:
    facts = dict(engine_facts(engine))
    assert list(facts) == ["TensorRT", "Precision", "Layers", "Notes"]
    assert facts["TensorRT"] == "10.4.0"


def test_notes(engine: Engine, poor: Engine) -> None:
    assert count_notes(poor) == "1 warning"
    assert "remark" in count_notes(engine) or "warning" in count_notes(engine)


def test_performance(engine: Engine) -> None:
    statistics = analyse(engine).statistics
    assert statistics is not None
    table = performance_table(statistics, most=1)
    assert [column.title for column in table.columns] == ["ms", "latency"]
    assert table.rows[:2] == [("min", 0.19), ("median", 0.2)]
    assert table.rows[-1] == ("max", 0.21)
    assert table.texts(1)[:2] == ["0.1900", "0.2000"]
    titles = [column.title for column in performance_table(statistics).columns]
    assert titles == ["ms", "latency", "compute", "enqueue", "H2D", "D2H"]
    assert throughput_facts(statistics) == [("Throughput", "4999.50 qps")]
    assert [label for label, _ in run_facts(engine, analyse(engine))] == ["Stability", "Source"]


def test_what_is_not_computed_yet_is_a_placeholder(engine: Engine) -> None:
    assert memory_facts(engine, None)[1] == ("Activations", "…")
    assert ("Compute", "…") in work_facts(engine, None)
    assert bound_sentences(None) == []


def test_what_is_unknown_is_left_out_or_a_sentence(poor: Engine) -> None:
    analysis = analyse(poor)
    assert gap_sentences(poor, analysis) == ()
    assert analysis.statistics is None
    assert run_facts(poor, analysis) == []
    assert ("Activations", "unknown") in memory_facts(poor, analysis)
    assert all(one.endswith(".") and not one[0].islower() for one in bound_sentences(analysis))


def test_hottest(engine: Engine) -> None:
    assert [one.index for one in hottest(engine.layers, 3)] == [3, 1, 4]
    assert [one.index for one in hottest(engine.layers, 100)] == [3, 1, 4, 0, 2], "one has no time"


def test_totals_of_some_layers(engine: Engine) -> None:
    some = engine.layers[:2]
    assert {total.key: total.layers for total in total_by_kind(engine, some)} == {
        "convolution": 1,
        "reformat": 1,
    }
    assert sum(total.layers for total in total_by_precision(engine, some)) == 2
    assert sum(total.layers for total in by_bound(engine, some)) == 2
    assert [(total.key, total.layers) for total in by_tensor_cores(engine, some)] == [("unknown", 1)]
    assert by_tensor_cores(engine, ()) == []


def test_live_at_a_layer(engine: Engine) -> None:
    values = live_tensors(engine)
    assert [value.name for value in live_at(values, 1)] == ["c", "r"]
    assert live_at(values, 99) == []
    tensor_of_c = find_tensor(engine, live_at(values, 1)[0])
    assert tensor_of_c is not None
    assert tensor_of_c.shape == (1, 16, 8, 8)


def test_live_tensors_in_words(engine: Engine) -> None:
    figures = memory_figures(engine)
    first, second = describe_tensors(engine, live_at(figures.values, 1))
    assert (first.size, first.span, first.name) == ("2.00 KiB", "1–3", "c")
    assert first.type == "1×16×8×8 FP16 NHWC8"
    assert (second.size, second.span) == ("512 B", "0–1")
    assert describe_peak(engine, figures.activations) == "peak 2.50 KiB live at layer 1"
    assert describe_live(figures.activations, 0) == "layer 0: 512 B"


def test_unknown_sizes_in_words(poor: Engine, engine: Engine, tmp_path: Path) -> None:
    figures = memory_figures(poor)
    assert describe_peak(poor, figures.activations) == NAMES_ONLY
    assert unknown_sentences(poor, figures.activations) == [NAMES_ONLY]
    assert describe_live(figures.activations, 0) == ""
    assert describe_weights(poor, poor.layers) == "unknown"
    write_json(tmp_path / "p" / "p.profile.json", [{"count": 1}, {"name": "a", "averageMs": 1, "timeMs": 1}])
    timed = load_engine(tmp_path / "p")
    assert describe_peak(timed, memory_figures(timed).activations) == NO_LAYER_INFO
    assert unknown_sentences(timed, None) == [NO_LAYER_INFO]
    assert unknown_sentences(engine, memory_figures(engine).activations) == []


def test_value_of_unknown_size_stands_last(tmp_path: Path) -> None:
    layers = [
        layer("one", "kgen", [tensor("x", 1)], [tensor("a", -1, 4), tensor("b", 4)]),
        layer("two", "kgen", [tensor("a", -1, 4), tensor("b", 4)], [tensor("y", 1)]),
    ]
    write_graph(tmp_path / "a.graph.json", layers, ["x", "y"])
    dynamic = load_engine(tmp_path)
    words = describe_tensors(dynamic, live_at(live_tensors(dynamic), 1))
    assert [(one.name, one.size) for one in words] == [("b", "8 B"), ("a", "unknown")]
    figures = memory_figures(dynamic)
    assert describe_peak(dynamic, figures.activations) == "peak at least 8 B live at layer 0"
    assert len(unknown_sentences(dynamic, figures.activations)) == 1


def test_memory_by_kind_adds_up(engine: Engine) -> None:
    totals = memory_by_kind(engine.layers)
    assert sum(total.layers for total in totals) == len(engine.layers)
    assert sum(total.weights_bytes for total in totals) == engine.known_weights_bytes
    assert sum(total.weights_unknown for total in totals) == engine.layers_hiding_weights
    footprints = [one.footprint_allocated_bytes or 0 for one in engine.layers]
    assert sum(total.footprint_bytes for total in totals) == sum(footprints)
    sizes = [total.footprint_bytes for total in totals]
    assert sizes == sorted(sizes, reverse=True)
    assert {LayerKind(total.key) for total in totals} == {one.kind for one in engine.layers}
    assert memory_by_kind(()) == []
