"""Charts as text: their numbers, their exact size, and what they say where data is missing."""

from __future__ import annotations

import math
import random
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from rich.cells import cell_len

import trex_tui
from helpers import OLD_SAMPLES, covering, layer, tensor, write_graph
from power_kit import write_power_set
from small_engines import CONV, NET, SLOWEST, named_engine, raw_layer, small_engine, write, write_set
from trex_tui.old.analysis.columns import ALL_COLUMNS_BY_NAME, derived
from trex_tui.old.analysis.filter import filter_layers
from trex_tui.old.analysis.statistics import percentile
from trex_tui.old.artifacts import scan
from trex_tui.old.artifacts.input_files import gc_paused
from trex_tui.old.engine.columns import LayerColumn
from trex_tui.old.engine.engine import Engine, load_engine, load_set
from trex_tui.old.report.charts.catalogue import CHARTS, CHARTS_BY_ID
from trex_tui.old.report.charts.cells import draw, draw_columns
from trex_tui.old.report.charts.chart_data import chart_listing
from trex_tui.old.report.charts.coloring import color_layers
from trex_tui.old.report.charts.figure import (
    Bars,
    Histogram,
    IcicleBlock,
    Palette,
    Scale,
    Subject,
    Target,
    format_tick,
    log_scale,
    nice_step,
)
from trex_tui.old.report.charts.grid import Grid, Line, shorten, split_cells, wrap_text
from trex_tui.old.report.charts.latency_charts import NO_ROWS, read_queries
from trex_tui.old.report.charts.layer_charts import compute_pareto, layers_in_order, tactic_group
from trex_tui.old.report.charts.module_charts import block_widths, build_blocks
from trex_tui.old.report.charts.sampling import (
    column_extremes,
    column_medians,
    column_span,
    count_bins,
    find_step,
    largest_of_columns,
)
from trex_tui.old.report.charts.scatter_charts import find_peaks, kind_sign
from trex_tui.old.report.charts.svg_painter import picture
from trex_tui.old.text import format_bar, format_ms, format_pct, plural

SAMPLES = OLD_SAMPLES
PALETTE = Palette(lambda _: "$primary", lambda _: "$success")
SIZES = [(40, 10), (78, 20), (200, 60), (60, 16), (80, 24), (134, 41)]
SAMPLED = ("power", "temperature", "clock")
OF_THE_RUN = ("histogram", "over-time", "percentiles", *SAMPLED)
OF_LAYERS = [chart for chart in CHARTS if chart.id not in (*OF_THE_RUN, "memory")]
HOSTILE = [
    "\x1b[31mred\x1b[0m/[bold]x[/bold]",
    "a\nb\tc\x00d",
    "\u202eright to left\u200b",
    "漢字の層/畳み込み" * 9,
    "e\u0301\ufe0f" * 20,
    "x" * 3000,
]


def in_some_sizes(sizes: list[tuple[int, int]]) -> list[object]:
    """Parameters: every chart, each in another of the sizes."""
    return [
        pytest.param(chart, size, id=f"{chart.id}-{size[0]}x{size[1]}")
        for chart, size in covering(CHARTS, sizes)
    ]


def text_of(lines: tuple[Line, ...]) -> str:
    return "\n".join("".join(span.text for span in line) for line in lines)


def drawn(engine: Engine, chart: str, size: tuple[int, int] = (100, 30), **about: object) -> str:
    subject = Subject(engine, about.pop("layers", engine.layers), PALETTE, **about)
    return text_of(draw(CHARTS_BY_ID[chart], subject, *size).lines)


def words_of(text: str) -> str:
    """In one line, whatever was wrapped."""
    return " ".join(text.split())


def with_queries(folder: Path, values: list[float], warmup_ms: float = 0.0) -> Engine:
    """The small engine with a timing run of these latencies, one after the other."""
    small_engine(folder)
    rows, start = [], 0.0 if warmup_ms else 1000.0
    for value in values:
        rows.append(
            {"startComputeMs": start, "endComputeMs": start + value, "computeMs": value, "latencyMs": value}
        )
        start += value
    write(folder / "tiny.times.json", rows)
    return load_engine(folder)


@pytest.fixture
def tiny(tmp_path: Path) -> Engine:
    return load_engine(small_engine(tmp_path))


@pytest.fixture
def noisy(tmp_path: Path) -> Engine:
    chance = random.Random(7)
    return with_queries(tmp_path, [1.0 + chance.gauss(0, 0.01) for _ in range(3000)] + [3.0, 4.0])


@cache
def sample_engine(name: str) -> Engine:
    """Read once: engines are frozen."""
    return load_engine(SAMPLES / name)


@pytest.fixture(params=["alexnet", "transformer_fp8", "names_only"])
def sample(request: pytest.FixtureRequest) -> Engine:
    return sample_engine(request.param)


# Every chart


@pytest.mark.parametrize(("chart", "size"), in_some_sizes(SIZES))
def test_every_chart_is_exactly_as_large_as_asked(sample, chart, size):
    width, height = size
    subject = Subject(sample, sample.layers, PALETTE, current=sample.layers[-1])
    lines = draw(chart, subject, width, height).lines
    assert len(lines) == height
    assert {cell_len("".join(span.text for span in line)) for line in lines} == {width}


@pytest.mark.parametrize(("chart", "size"), in_some_sizes([(1, 1), (10, 4), (2, 3), (25, 7)]))
def test_no_size_is_too_small(noisy, chart, size):
    lines = draw(chart, Subject(noisy, noisy.layers, PALETTE, current=noisy.layers[0]), *size).lines
    assert len(lines) == size[1]
    assert {cell_len("".join(span.text for span in line)) for line in lines} == {size[0]}


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.id)
def test_names_are_data(tmp_path, chart):
    engine = load_engine(named_engine(tmp_path, HOSTILE))
    for current in engine.layers:
        text = drawn(engine, chart.id, (90, 26), current=current)
        assert all(line.isprintable() and cell_len(line) == 90 for line in text.split("\n"))


@pytest.mark.parametrize("chart", [chart for chart in CHARTS if chart.has_color], ids=lambda chart: chart.id)
@pytest.mark.parametrize("color", ["name", "tactic", "onnx_nodes"])
def test_names_that_are_colours_are_data(tmp_path, chart, color):
    engine = load_engine(named_engine(tmp_path, HOSTILE))
    column = column_of(color)
    text = drawn(engine, chart.id, (90, 26), color=column)
    assert all(line.isprintable() and cell_len(line) == 90 for line in text.split("\n"))
    svg = picture(chart.id, engine, color=column, standalone=True).svg
    assert svg is not None
    assert all(part.isprintable() for part in "".join(ET.fromstring(svg).itertext()).split("\n"))


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.id)
def test_without_data_there_is_a_sentence(tmp_path, chart):
    engine = load_engine(small_engine(tmp_path, profiled=False))
    title = chart.titled(engine.layers).title
    text = words_of(drawn(engine, chart.id))
    assert text.startswith(title)
    assert text.endswith(".")
    assert len(text) > len(title) + 20


@pytest.mark.parametrize("chart", OF_LAYERS, ids=lambda chart: chart.id)
def test_a_filter_that_leaves_nothing_is_said(tiny, chart):
    assert "No layer matches the filter." in drawn(tiny, chart.id, layers=[], is_filtered=True)


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.id)
def test_every_plot_has_units(tmp_path, chart):
    folder = SAMPLES / "alexnet" if chart.id not in SAMPLED else write_power_set(tmp_path)
    text = drawn(load_engine(folder), chart.id, (100, 30))
    assert any(
        unit in text for unit in ("ms", "%", "FLOP/s", "KiB", "M, rows", "W", "°C", "MHz", "precision")
    )


def test_the_title_names_the_current_layer_and_tells_if_the_filter_hides_it(tiny):
    current = tiny.layers[SLOWEST]
    title = drawn(tiny, "layers", current=current).split("\n")[0]
    assert title.endswith("● layer 6  /head/fc/Gemm")
    title = drawn(tiny, "layers", current=current, layers=tiny.layers[:3], is_filtered=True).split("\n")[0]
    assert "layer 6" in title
    assert title.endswith("which the filter hides")


# Values and colours


def column_of(name: str) -> LayerColumn:
    return ALL_COLUMNS_BY_NAME[name]


def test_parts_of_bars_add_up_and_are_those_of_the_colours(sample):
    for color in (None, "output_precision", "groups", "macs", "tactic", "has_relu", "onnx_nodes"):
        subject = Subject(sample, sample.layers, PALETTE, color=column_of(color) if color else None)
        form = CHARTS_BY_ID["kind-precision"].make(subject).form
        for bar in form.bars:
            layers = [layer for layer in sample.layers if layer.kind.value == bar.label]
            assert math.fsum(part.value for part in bar.parts) == pytest.approx(bar.value, abs=1e-12)
            looks = [(part.pattern, part.style) for part in bar.parts]
            assert len(looks) == len(set(looks))
            if color is None:
                times: dict[str, float] = {}
                for layer in layers:
                    name = layer.precision.value if layer.precision else "unknown"
                    times[name] = times.get(name, 0.0) + (layer.latency_ms or 0.0)
                assert {part.label.split()[0]: pytest.approx(part.value) for part in bar.parts} == times


def test_a_bar_of_parts_fills_as_many_cells_as_one_of_a_colour(tiny):
    rows = drawn(tiny, "kind-precision", (100, 30)).split("\n")
    plain = drawn(tiny, "kind", (100, 30)).split("\n")
    widths = {
        row.split()[0]: len(re.findall("[█▓▒░]", row)) for row in rows[3:] if "  " in row and row.strip()
    }
    for row in plain[3:]:
        if row.strip() and row.split()[0] in widths and "█" in row:
            assert abs(widths[row.split()[0]] - len(re.findall("[▏▎▍▌▋▊▉█]", row))) <= 1


def test_layers_are_drawn_by_the_chosen_value_and_coloured_by_the_chosen_column():
    engine = load_engine(SAMPLES / "alexnet")
    macs, maps = (column_of(name).values(engine) for name in ("macs", "out_maps"))
    known = sorted(
        (index for index, value in enumerate(macs) if value is not None), key=lambda index: -macs[index]
    )
    subject = Subject(engine, engine.layers, PALETTE, value=column_of("macs"), color=column_of("out_maps"))
    figure = CHARTS_BY_ID["bar"].make(subject)
    assert 5 < len(known) < len(engine.layers)
    assert [int(bar.texts[0]) for bar in figure.form.bars] == known
    assert figure.missing == (f"{len(engine.layers) - len(known)} layers without macs left out.",)
    shown = [bar.texts[1] for bar in figure.form.bars]
    assert shown == ["unknown" if maps[index] is None else str(maps[index]) for index in known]
    styles = {text: bar.style for text, bar in zip(shown, figure.form.bars, strict=True)}
    assert styles.get("unknown", "$muted") == "$muted"
    assert len(set(styles.values())) == len(styles)
    assert sum(float(bar.texts[3]) for bar in figure.form.bars) == pytest.approx(100.0, abs=0.05)


def test_the_share_of_a_layer_is_that_of_the_engine_whatever_is_filtered(tiny):
    slowest = [tiny.layers[SLOWEST]]
    bar = CHARTS_BY_ID["bar"].make(Subject(tiny, slowest, PALETTE, is_filtered=True)).form.bars[0]
    assert bar.texts[3] == format_pct(tiny.latency_pct(slowest[0]))


def test_numbers_of_many_values_are_coloured_by_range(tmp_path):
    channels = [1] * 20 + list(range(2, 32))
    layers = [
        layer(f"c{place}", "Convolution", [tensor("in", 1)], [tensor(f"t{place}", 1)], Groups=count)
        for place, count in enumerate(channels)
    ]
    write_graph(tmp_path / "x.graph.json", layers, ["in"])
    engine = load_engine(tmp_path)
    coloring = color_layers(Subject(engine, engine.layers, PALETTE, color=column_of("groups")), "kind")
    texts = [group.text for group in coloring.groups]
    assert texts[0] == "1"
    assert 3 <= len(texts) <= 6
    for convolution, count in zip(engine.layers, channels, strict=True):
        low, _, high = coloring.group(convolution).text.partition(" to ")
        assert int(low) <= count <= int(high or low)
        assert coloring.text(convolution) == str(count)


def test_a_legend_names_long_values_apart(tiny):
    subject = Subject(tiny, tiny.layers, PALETTE, color=column_of("tactic"))
    texts = [key.text for key in color_layers(subject, "kind").pattern_keys]
    assert len(texts) == len(set(texts))
    assert max(map(len, texts)) <= 30


def test_a_distribution_counts_every_layer_with_a_value(sample):
    for value in ("latency_ms", "io_bytes", "macs"):
        known = [one for one in column_of(value).values(sample) if one is not None]
        form = (
            CHARTS_BY_ID["distribution"]
            .make(Subject(sample, sample.layers, PALETTE, value=column_of(value)))
            .form
        )
        if not known:
            assert form is None
            continue
        bins = form.bins(30)
        assert sum(bins.counts) + bins.below + bins.above == len(known)


def test_reformats_are_counted_by_origin(tmp_path):
    layers = [
        layer(name, "Reformat", [tensor("in", 1)], [tensor(name, 1)], Origin=origin)
        for name, origin in (("a", "QDQ"), ("b", "QDQ"), ("c", "REFORMAT"))
    ]
    layers.append(layer("d", "Convolution", [tensor("a", 1)], [tensor("out", 1)]))
    write_graph(tmp_path / "x.graph.json", layers, ["in", "out"])
    engine = load_engine(tmp_path)
    form = CHARTS_BY_ID["reformats"].make(Subject(engine, engine.layers, PALETTE)).form
    assert [(bar.label, bar.texts[0]) for bar in form.bars] == [("QDQ", "2"), ("REFORMAT", "1")]
    assert "No reformats here." in drawn(engine, "reformats", layers=engine.layers[3:])


# The run


def test_bins_hold_every_value_once(noisy):
    queries = read_queries(noisy)
    for bins in (1, 7, 40, 200):
        found = count_bins(queries.ordered_ms, queries.limits_ms(5.0), bins)
        assert sum(found.counts) + found.below + found.above == len(queries.values_ms)
        assert len(found.counts) <= bins
        assert found.above >= 2


def test_values_in_steps_get_bins_of_whole_steps():
    values = sorted([1.0 + 0.25 * (place % 7) for place in range(70)])
    assert find_step(values) == 0.25
    found = count_bins(values, (values[0], values[-1]), 60)
    assert found.counts == (10,) * 7


def test_equal_values_are_one_bin_high():
    found = count_bins([2.0] * 50, (2.0, 2.0), 30)
    assert sum(found.counts) == 50


def test_histogram_marks_percentiles_and_tells_them(noisy):
    text = drawn(noisy, "histogram", (120, 30))
    queries = read_queries(noisy)
    for pct in (50, 90, 95, 99):
        assert f"p{pct}" in text.split("latency, ms")[0]
        assert f"p{pct} {format_ms(percentile(queries.ordered_ms, pct))}" in words_of(text)
    assert "3002 queries" in text
    assert "max 4.0000 ms" in words_of(text)


def test_percentile_marks_stand_where_their_value_is(tmp_path):
    engine = with_queries(tmp_path, [1.0 + place / 1000 for place in range(1001)])
    rows = drawn(engine, "histogram", (120, 30)).split("\n")
    row = next(row for row in rows if "p50" in row)
    axis = row.index("│") if "│" in row else row.index("┤")
    place = (row.index("p50") - 1 - axis) / (120 - axis)
    assert place == pytest.approx(0.5, abs=0.02)


def test_warm_up_is_left_out(tmp_path):
    engine = with_queries(tmp_path, [50.0] * 4 + [10.0] * 60, warmup_ms=200.0)
    assert read_queries(engine).warmup == 4
    for chart in ("histogram", "over-time", "percentiles"):
        assert "60 queries, 4 queries of warm-up excluded" in words_of(drawn(engine, chart))


def test_no_extreme_is_lost_when_rows_outnumber_columns():
    chance = random.Random(3)
    values = [chance.random() for _ in range(20_000)]
    values[777], values[15_001] = 9.0, -9.0
    places = [place / len(values) for place in range(len(values))]
    xs, ys = column_extremes(places, values, 80)
    assert len(xs) <= 160
    assert xs == sorted(xs)
    assert {9.0, -9.0} <= set(ys)
    middles, medians = column_medians(places, values, 80)
    assert len(middles) == len(medians) == 80
    assert all(0.3 < value < 0.7 for value in medians)


def test_a_drift_is_drawn_as_a_line(tmp_path):
    chance = random.Random(5)
    values = [(1.0 if place < 400 else 1.2) + chance.gauss(0, 0.005) for place in range(800)]
    engine = with_queries(tmp_path, values)
    text = drawn(engine, "over-time", (120, 30))
    assert "━ drift" in text
    assert "from the first to the last third of the run" in words_of(text)


def test_outliers_stand_at_the_edge_where_they_happened(noisy):
    text = drawn(noisy, "over-time", (120, 30))
    assert "▲" in text.split("\n")[2][-4:]
    assert "2 queries clipped" in words_of(text)


def test_percentile_curve_ends_where_the_rows_allow(tmp_path, noisy):
    assert "p99.9" in drawn(noisy, "percentiles")
    few = with_queries(tmp_path / "few", [1.0 + place / 500 for place in range(500)])
    text = words_of(drawn(few, "percentiles"))
    assert "p99.9: n/a (needs 1000 queries)." in text


def test_a_printed_summary_stands_in_for_rows(tmp_path):
    small_engine(tmp_path)
    line = "min = 1 ms, max = 4 ms, mean = 2 ms, median = 2 ms, percentile(90%) = 2.5 ms, percentile(99%) = 3.5 ms"
    write(tmp_path / "tiny.profile.metadata.json", {"performance_summary": {"Latency": line}})
    engine = load_engine(tmp_path)
    text = words_of(drawn(engine, "percentiles"))
    assert "p50 2.0000 · p90 2.5000 · p99 3.5000 ms" in text
    assert "As trtexec printed it" in text
    assert NO_ROWS in words_of(drawn(engine, "histogram"))


# Shares


def test_bars_are_sorted_and_add_up(tiny):
    text = drawn(tiny, "kind", (100, 30))
    kinds = {layer.kind.value for layer in tiny.layers if layer.latency_ms is not None}
    rows = [row for row in text.split("\n") if row[2:].split(" ")[0] in kinds]
    assert len(rows) == len(kinds)
    times = [float(row.replace("●", " ").split()[2]) for row in rows]
    assert times == sorted(times, reverse=True)
    assert sum(times) == pytest.approx(tiny.latency_sum_ms)
    counts = {kind: sum(layer.kind.value == kind for layer in tiny.layers) for kind in kinds}
    assert {row.replace("●", " ").split()[0]: int(row.replace("●", " ").split()[1]) for row in rows} == counts
    shares = [float(row.replace("●", " ").split()[3]) for row in rows]
    assert sum(shares) == pytest.approx(100.0, abs=0.05)


def test_the_longest_bar_is_full_and_others_are_in_proportion():
    assert format_bar(1.0, 10) == "█" * 10
    assert format_bar(0.5, 10) == "█" * 5
    assert format_bar(0.0, 10) == ""
    assert format_bar(1e-9, 10) == "▏"
    assert format_bar(0.5, 0) == ""


def test_what_has_no_room_is_counted(tmp_path):
    names = [f"kernel_{chr(97 + place)}" for place in range(20)]
    engine = load_engine(named_engine(tmp_path, names))
    text = drawn(engine, "tactic", (80, 16), current=engine.layers[0])
    shown = [row for row in text.split("\n") if "kernel_" in row and "█" in row]
    rest = next(row for row in text.split("\n") if "more:" in row)
    assert f"and {20 - len(shown)} more: {20 - len(shown)} layers" in rest
    assert rest.startswith("●")  # the current layer is the fastest, so it is among them
    hidden = sum(1.0 + place for place in range(20 - len(shown)))
    assert f"{hidden:.4f} ms" in rest


def test_hashes_do_not_tell_kernels_apart():
    assert tactic_group("__myl_CastAdd_0x63adb2bae59ff89a94fc133e2755c132") == "__myl_CastAdd"
    assert tactic_group("_gemm_mha_v2_0xe07e15a3e111a18d9a5fb7bd43aed778") == "_gemm_mha_v2"
    kernel = "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize32x32x64_stage6_warpsize2x2x1_tensor16x8x16"
    assert tactic_group(kernel) == kernel
    assert tactic_group(None) == "(no kernel named)"


# Layers


def test_each_column_shows_the_slowest_of_its_layers():
    values = [float(place % 10) for place in range(1000)]
    shown = largest_of_columns(values, 50)
    assert len(shown) == 50
    assert all(values[place] == 9.0 for place in shown)
    assert largest_of_columns([3.0, 1.0], 50) == [0, 1]


def test_columns_of_few_values_cover_the_width():
    for count in (1, 3, 7, 80):
        spans = [column_span(place, count, 80) for place in range(count)]
        assert spans[0][0] == 0
        assert spans[-1][1] == 80
        assert all(one[1] == two[0] for one, two in pairwise(spans))


def test_bars_are_as_high_as_their_values():
    grid = Grid(4, 2)
    draw_columns(grid, [1.0, 0.5, 0.25, 0.0], [""] * 4)
    assert text_of(grid.lines()) == "█   \n██▄ "


def test_crowded_layers_are_said(tmp_path):
    layers = [raw_layer(0, f"l{place}", CONV, [1, 8]) for place in range(400)]
    engine = load_engine(write_set(tmp_path, "many", layers, {f"l{place}": 1.0 for place in range(400)}))
    assert "layers share a column" in words_of(drawn(engine, "layers", (80, 20)))
    figure = layers_in_order(Subject(engine, engine.layers, PALETTE))
    assert "400 layers, 400.0000 ms" in figure.words[0]


def test_pareto_names_the_point_where_80_percent_are_reached(tiny):
    found = compute_pareto(tiny.layers)
    times = sorted((time for *_, time in NET if time is not None), reverse=True)
    assert [layer.latency_ms for layer in found.layers] == times
    assert found.cumulative_pct[-1] == pytest.approx(100.0)
    assert math.fsum(found.shares_pct) == pytest.approx(100.0)
    assert sum(times[: found.most]) >= 0.8 * sum(times) > sum(times[: found.most - 1])
    text = drawn(tiny, "pareto", current=tiny.layers[3])
    assert f"80 % in {found.most} layers" in text
    assert "Layer 3 is number 4 by time" in words_of(text)
    assert "1 layer without a time excluded." in words_of(text)


def test_pareto_needs_time(tmp_path):
    engine = load_engine(small_engine(tmp_path, profiled=False))
    assert compute_pareto(engine.layers) is None
    assert "No layer times (needs --exportProfile)." in words_of(drawn(engine, "pareto"))


def test_memory_tells_the_peak(sample):
    if sample.names_only:
        assert "unknown" in drawn(sample, "memory")
        return
    text = words_of(drawn(sample, "memory", is_filtered=True))
    assert "▲" in text
    assert "the filter does not apply" in text


# Points


def test_products_follow_the_axes(sample):
    if sample.names_only:
        assert "No GEMM sizes here." in drawn(sample, "products")
        return
    for axes in (("m", "n"), ("n", "k"), ("m", "k")):
        text = drawn(sample, "products", axes=axes)
        assert f"{axes[0].upper()}, " in text.split("\n")[-4] or f"{axes[0].upper()}, " in text
        assert f"GEMM sizes {axes[0].upper()} × {axes[1].upper()}" in words_of(text)


def test_signs_tell_kinds_without_colour():
    alexnet = load_engine(SAMPLES / "alexnet")
    signs = {kind_sign(layer.kind) for layer in alexnet.layers if layer.kind.multiplies}
    text = drawn(alexnet, "efficiency")
    assert all(sign in text for sign in signs)


@pytest.mark.parametrize("engine", ["alexnet", "transformer_fp8"])
def test_roofs_stand_at_the_peaks_of_the_device(engine):
    engine = load_engine(SAMPLES / engine)
    roofline = derived(engine).roofline
    bandwidth = roofline.device.peak_bandwidth_bytes_per_s
    layers = [layer for layer in engine.layers if layer.index in roofline.points]
    peaks = find_peaks(layers, roofline)
    expected = {point.peak_flop_per_s for point in roofline.points.values() if point.peak_flop_per_s}
    assert {peak.flop_per_s for peak in peaks} == expected
    x = Scale(1.0, 1e4, "", is_log=True)
    y = Scale(1e9, 1e15, "", is_log=True)
    for peak in peaks:
        assert peak.ridge == pytest.approx(peak.flop_per_s / bandwidth)
        start, ridge, end = peak.roof(bandwidth, x, y).points
        assert start == pytest.approx((x.low, bandwidth * x.low))
        assert ridge == (peak.ridge, peak.flop_per_s)
        assert end == (x.high, peak.flop_per_s)


def test_roof_lines_are_drawn_in_the_row_of_their_peak():
    engine = load_engine(SAMPLES / "alexnet")
    text = drawn(engine, "roofline", (120, 40))
    for peak in find_peaks(engine.layers, derived(engine).roofline):
        assert peak.words in text
    rows = text.split("\n")
    named = next(row for row, line in enumerate(rows) if "ridge" in line)
    assert "◇" in rows[named + 1]


def test_without_a_device_points_stand_without_roofs(tmp_path):
    layers = [
        raw_layer(1, "conv", CONV, [1, 16, 32, 32])
        | {"Kernel": [3, 3], "OutMaps": 16, "Groups": 1, "Weights": {"Type": "Half", "Count": 432}}
    ]
    engine = load_engine(write_set(tmp_path, "bare", layers, {"conv": 0.5}))
    text = drawn(engine, "roofline", current=engine.layers[0])
    assert "◉" in text
    assert "Roofline unavailable: GPU unknown" in words_of(text)
    assert "Roofline shares unknown." in drawn(engine, "efficiency")


# Modules


def check_block(block: IcicleBlock) -> None:
    if not block.inside:
        return
    assert sum(one.width for one in block.inside) == block.width
    assert [one.start for one in block.inside] == [
        block.start + sum(one.width for one in block.inside[:place]) for place in range(len(block.inside))
    ]
    missing = block.size - math.fsum(one.size for one in block.inside)
    assert -1e-9 <= missing <= block.size / block.width  # what would not fill a cell
    for one in block.inside:
        check_block(one)


@pytest.mark.parametrize("width", [20, 40, 77, 80, 200])
def test_blocks_fill_the_row_they_stand_on(sample, width):
    is_timed = sample.has_profile
    root = build_blocks(sample.layers, width, None, is_timed=is_timed)
    assert root.width == width
    assert root.size == pytest.approx(sample.latency_sum_ms if is_timed else len(sample.layers))
    check_block(root)


def test_widths_add_up_for_any_sizes():
    chance = random.Random(11)
    for _ in range(200):
        sizes = [chance.expovariate(1.0) for _ in range(chance.randint(1, 40))]
        width = chance.randint(1, 200)
        widths = block_widths(sizes, width)
        assert sum(widths) == width
        assert all(
            abs(cells - width * size / sum(sizes)) <= 1.0 for cells, size in zip(widths, sizes, strict=True)
        )


def test_the_path_of_the_current_layer_is_marked_and_told(tiny):
    text = drawn(tiny, "icicle", (120, 30), current=tiny.layers[4])
    assert "● all layers" in text
    assert "● layer1" in text
    assert "The current layer: layer1 › 0 › conv2/Conv." in words_of(text)


# Cells


def test_wide_characters_keep_rows_aligned():
    grid = Grid(6, 1)
    grid.put(0, 0, "漢字ab")
    assert text_of(grid.lines()) == "漢字ab"
    grid.put(1, 0, "x")
    assert text_of(grid.lines()) == " x字ab"
    grid.put(5, 0, "漢")
    assert text_of(grid.lines()) == " x字a "
    assert cell_len(shorten("漢字" * 20, 9)) <= 9
    assert split_cells("e\u0301") == ["e"]


def test_words_wrap_between_words_and_lose_none():
    text = "one two three " + "x" * 50
    lines = wrap_text(text, 12)
    assert all(len(line) <= 12 for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_a_long_word_stays_whole_where_it_is_a_link():
    link = "https://" + "x" * 50
    assert wrap_text(f"see {link} there", 12, breaks_words=False) == ["see", link, "there"]


def test_a_number_and_its_unit_stay_in_a_line():
    assert wrap_text("the farthest took 0.5571 ms (+12 %).", 24) == [
        "the farthest took",
        "0.5571 ms (+12 %).",
    ]


@pytest.mark.parametrize("values", [(1e-320, 0.5), (5e-324, 1.7e308), (1e-320, 1e-320), (0.02, 0.03)])
def test_a_logarithmic_axis_of_times_of_a_damaged_file(values):
    scale = log_scale(values, "ms", str)
    assert 0 < scale.low < scale.high < math.inf
    assert all(0 <= scale.fraction(value) <= 1 for value in values if 1e-150 <= value <= 1e150)
    assert all(0 <= position <= 1 for position, _ in scale.ticks(6))


def test_ticks_are_round_and_inside():
    assert [label for _, label in Scale(0.0, 1.0, "").ticks(4)] == ["0.00", "0.25", "0.50", "0.75", "1.00"]
    assert nice_step(0.3) == pytest.approx(0.5)
    for low, high in ((0.49, 0.51), (1e-9, 2e-9), (0.0, 3e7)):
        ticks = Scale(low, high, "").ticks(6)
        assert 2 <= len(ticks) <= 8
        assert all(-1e-6 <= place <= 1 + 1e-6 for place, _ in ticks)
    scale = log_scale([1.0, 1e6], "", format_tick)
    assert [label for _, label in scale.ticks(7)][:3] == ["1", "10", "100"]
    assert len(log_scale([5.0], "", format_tick).ticks(6)) >= 2


@pytest.mark.parametrize("top", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("most", [2, 5, 8])
def test_ticks_of_counts_are_whole_and_differ(top, most):
    labels = [label for _, label in Scale(0.0, float(top), "", is_count=True).ticks(most)]
    assert labels == sorted(set(labels), key=int)
    assert labels[0] == "0"


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.id)
def test_a_chart_that_lacks_its_data_draws_nothing(sample, chart):
    subject = Subject(sample, sample.layers, PALETTE)
    assert chart.needs(sample) or chart.make(subject).form is None


def test_integers_have_operations_and_floats_floating_point_operations(tmp_path):
    """An INT8 and an FP16 convolution under two roofs."""
    layers = [
        layer(
            name,
            CONV,
            [tensor("x", 1, 64, 32, 32, dtype=dtype)],
            [tensor(name, 1, 64, 32, 32, dtype=dtype)],
            ParameterType="Convolution",
            Kernel=[3, 3],
            OutMaps=64,
            Groups=1,
            Weights={"Type": dtype, "Count": 36864},
        )
        for name, dtype in (("quantized", "Int8"), ("plain", "Half"))
    ]
    write_set(tmp_path, "mixed", layers, {"quantized": 0.01, "plain": 0.02})
    engine = load_engine(tmp_path)
    form = CHARTS_BY_ID["roofline"].make(Subject(engine, engine.layers, PALETTE)).form
    assert (form.x.title, form.y.title) == ("intensity, FLOP/B or OP/B (log)", "FLOP/s or OP/s (log)")
    figures = {form.target_of(index).layer: form.target_of(index).figures for index in range(2)}
    assert "OP/B  " in figures[0]
    assert "TOPS" in figures[0] or "GOPS" in figures[0]
    assert "FLOP" not in figures[0]
    assert "FLOP/B  " in figures[1]
    assert "OPS" not in figures[1]
    only = CHARTS_BY_ID["roofline"].make(Subject(engine, engine.layers[:1], PALETTE)).form
    assert (only.x.title, only.y.title) == ("intensity, OP/B (log)", "OP/s (log)")


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.id)
def test_every_chart_has_its_numbers_as_a_table(sample, chart):
    subject = Subject(sample, sample.layers, PALETTE)
    table = chart_listing(chart, subject).table
    assert bool(table.rows) == (chart.make(subject).form is not None)
    assert all(len(row) == len(table.columns) for row in table.rows)
    layers = (
        [column.key for column in table.columns].index("layer") if chart.id in ("bar", "layers") else None
    )
    if layers is not None and table.rows:
        assert {row[layers] for row in table.rows} <= {layer.index for layer in sample.layers}


def test_a_scatter_is_of_any_two_numbers():
    engine = load_engine(SAMPLES / "alexnet")
    columns = {role: ALL_COLUMNS_BY_NAME[name] for role, name in (("x", "macs"), ("size", "weights_bytes"))}
    subject = Subject(engine, engine.layers, PALETTE, color=ALL_COLUMNS_BY_NAME["bound"], **columns)
    figure = CHARTS_BY_ID["scatter"].make(subject)
    assert figure.words == ("latency_ms over macs: 8 layers; colours show bound, sizes weights_bytes.",)
    assert figure.missing == ("6 layers without macs or latency_ms not shown.",)
    form = figure.form
    for index, dot in enumerate(form.dots):
        chosen = engine.layers[form.target_of(index).layer]
        assert dot.y == chosen.latency_ms
        assert dot.x == pytest.approx(derived(engine).compute[chosen.index].macs / 1e6)
    assert {dot.sign for dot in form.dots} == {"●", "•", "∙"}
    nothing = CHARTS_BY_ID["scatter"].make(replace(subject, value=ALL_COLUMNS_BY_NAME["power_w"]))
    assert nothing.form is None


def test_bars_are_of_the_groups_of_any_column():
    engine = load_engine(SAMPLES / "alexnet")
    subject = Subject(engine, engine.layers, PALETTE, x=ALL_COLUMNS_BY_NAME["kind"])
    figure = CHARTS_BY_ID["bar"].make(subject)
    assert figure.words == ("Sum of latency_ms by kind: 14 layers in 6 groups.",)
    sums = {
        bar.label: math.fsum(one.latency_ms or 0.0 for one in engine.layers if one.kind.value == bar.label)
        for bar in figure.form.bars
    }
    assert {bar.label: bar.value for bar in figure.form.bars} == pytest.approx(sums)
    for bar in figure.form.bars:
        chosen = filter_layers(engine, bar.target.filter_text)
        assert str(len(chosen)) == bar.texts[0]
    parts = CHARTS_BY_ID["bar"].make(replace(subject, color=ALL_COLUMNS_BY_NAME["precision"])).form
    assert all(math.fsum(part.value for part in bar.parts) == pytest.approx(bar.value) for bar in parts.bars)
    means = CHARTS_BY_ID["bar"].make(replace(subject, value=ALL_COLUMNS_BY_NAME["roof_pct"]))
    assert means.words[0].startswith("Mean of roof_pct by kind: ")


@pytest.mark.parametrize("name", ["gemm_m", "tactic", "has_bias", "onnx_nodes", "latency_ms"])
def test_a_bar_of_a_group_filters_its_layers(sample, name):
    column = ALL_COLUMNS_BY_NAME[name]
    form = CHARTS_BY_ID["bar"].make(Subject(sample, sample.layers, PALETTE, x=column)).form
    for bar in form.bars if form else ():
        chosen = filter_layers(sample, bar.target.filter_text)
        chosen = [each for each in chosen if each.latency_ms is not None]
        assert len(chosen) == int(bar.texts[0]), bar.target.filter_text


def test_precisions_in_order_are_levels_in_runs(tmp_path):
    dtypes = ["Half", "Half", "Int8", "Float", "Int8", "Int8"]
    layers = [
        layer(
            f"conv{index}",
            CONV,
            [tensor("x", 1, 8, 8, 8, dtype=dtype)],
            [tensor("y", 1, 8, 8, 8, dtype=dtype)],
        )
        for index, dtype in enumerate(dtypes)
    ]
    write_set(tmp_path, "mixed", layers, None)
    engine = load_engine(tmp_path)
    figure = CHARTS_BY_ID["precision-order"].make(Subject(engine, engine.layers, PALETTE))
    assert figure.words == (
        "Precision of each layer in execution order: 6 layers in 4 runs of one precision: FP16 1 run, longest 2; "
        "FP32 1 run, longest 1; INT8 2 runs, longest 2.",
    )
    assert list(figure.form.values) == [2, 2, 1, 3, 1, 1]
    assert [label for _, label in figure.form.y.ticks(8)] == ["", "INT8", "FP16", "FP32"]
    assert figure.form.target(2).text == "2  conv2  convolution  INT8"


def test_large_numbers_have_prefixes():
    assert [format_tick(value) for value in (0.01, 300.0, 1e4, 2e6, 5e9, 1e13)] == [
        "0.01", "300", "10 k", "2 M", "5 G", "10 T",
    ]  # fmt: skip


def test_every_chart_can_be_drawn_for_many_layers(tmp_path):
    with gc_paused():
        layers = [
            raw_layer(1, f"/block{place % 50}/op{place}/Conv", CONV, [1, 8, 4, 4]) for place in range(3000)
        ]
        times = {layer["Name"]: 0.001 * (1 + place % 97) for place, layer in enumerate(layers)}
        engine = load_engine(write_set(tmp_path, "many", layers, times))
    for chart in CHARTS:
        text = drawn(engine, chart.id, (80, 20), current=engine.layers[1500])
        assert all(cell_len(row) == 80 for row in text.split("\n"))


def test_times_near_zero_are_drawn(tmp_path):
    """1e-320 is so small that dividing by it gives infinity."""
    write(tmp_path / "net.latency.json", {"[CONVOLUTION]-[conv0]": [[1e-320, "20241121-00:00:01.50"]]})
    engine = load_engine(tmp_path)
    for chart in CHARTS:
        assert drawn(engine, chart.id, (80, 24))


def _group_targets(engine: Engine) -> Iterator[Target]:
    """The bars and bins of all charts, and those of groups of layers by every column."""
    subject = Subject(engine, engine.layers, PALETTE)
    groups = [replace(subject, x=column) for column in ALL_COLUMNS_BY_NAME.values()]
    for chart in CHARTS:
        for each in [subject, *(groups if chart.has_groups else [])]:
            form = chart.make(each).form
            if isinstance(form, Bars):
                yield from (bar.target for bar in form.bars if bar.target)
            elif isinstance(form, Histogram) and form.target:
                bins = form.bins(60)
                for index, count in enumerate(bins.counts):
                    low = bins.low + index * bins.width
                    if count:
                        yield form.target(low, low + bins.width, bins.below + sum(bins.counts[:index]), count)


@pytest.mark.parametrize("folder", ["alexnet", "transformer_fp8", "names_only"])
def test_a_group_opens_its_layers_and_no_others(folder):
    engine = load_set(scan([str(SAMPLES / folder)]).sets[0])
    targets = [target for target in _group_targets(engine) if target.filter_text]
    assert len(targets) > 50
    for target in targets:
        assert target.figures.startswith(plural(len(filter_layers(engine, target.filter_text)), "layer")), (
            target
        )


def test_a_value_at_the_end_of_a_bin_belongs_to_one_bin(tmp_path):
    engine = load_engine([small_engine(tmp_path) / "tiny.graph.json", tmp_path / "tiny.profile.json"])
    times = sorted(layer.latency_ms for layer in engine.layers if layer.latency_ms is not None)
    form = CHARTS_BY_ID["distribution"].make(Subject(engine, engine.layers, PALETTE)).form
    for most in range(1, 40):
        bins = form.bins(most)
        opened = []
        for index, count in enumerate(bins.counts):
            if count:
                target = form.target(0.0, 1.0, bins.below + sum(bins.counts[:index]), count)
                opened += [layer.latency_ms for layer in filter_layers(engine, target.filter_text)]
        assert sorted(opened) == times


@pytest.mark.parametrize("chart", ["kind", "precision", "tactic", "icicle"])
def test_titles_follow_what_is_drawn(tmp_path: Path, chart: str) -> None:
    engine = load_engine(small_engine(tmp_path / "timed"))
    assert picture(chart, engine).title == CHARTS_BY_ID[chart].title
    engine = load_engine(small_engine(tmp_path / "untimed", profiled=False))
    shown = CHARTS_BY_ID[chart].titled(engine.layers)
    assert not re.search("[Tt]ime", shown.title + shown.help)
    assert shown.title in drawn(engine, chart)
    file = picture(chart, engine, standalone=True)
    assert file.title == shown.title
    assert f">{shown.title} · {engine.name}<" in (file.svg or "")
    assert trex_tui.load_engine(tmp_path / "untimed").charts[chart] == shown.title
    subject = Subject(engine, engine.layers, PALETTE)
    assert chart_listing(CHARTS_BY_ID[chart], subject).table.title == shown.title
