"""`trex-tui diff`: its forms, its gates, its exit codes, and names that want to be more than names."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from test_diff import engine_files, real_pairs
from trex_tui import load_engine
from trex_tui.old.analysis.compare import compare
from trex_tui.old.analysis.compare.gate_metrics import METRICS, judge
from trex_tui.old.analysis.compare.model import letter
from trex_tui.old.analysis.gates import GateError, parse_gate
from trex_tui.old.report.views.compare import (
    LEAST_PART,
    Shown,
    filtered,
    sections,
    shorten_parts,
    signed_ms,
)

PAGE = {"html", "head", "meta", "title", "style", "body", "section", "div", "h1", "h2", "ul", "li"}


@given(
    metric=st.sampled_from(sorted({*METRICS.names} - {*METRICS.needs_part, *METRICS.words})),
    operator=st.sampled_from([">", ">=", "<", "<=", "==", "!="]),
    sign=st.sampled_from(["", "+", "-"]),
    number=st.floats(0, 1e6).map(lambda number: round(number, 3)),
    gap=st.sampled_from(["", " ", "  "]),
)
def test_gates_are_read_as_written(metric, operator, sign, number, gap):
    gate = parse_gate(f"{metric}{gap}{operator}{gap}{sign}{number}", METRICS)
    assert (gate.metric, gate.operator, gate.is_relative) == (metric, operator, bool(sign))
    assert gate.number == pytest.approx(-number if sign == "-" else number)


@given(st.text(max_size=30))
def test_any_text_is_a_gate_or_an_error(text):
    with contextlib.suppress(GateError):
        assert parse_gate(text, METRICS).metric in METRICS.names


def test_noise_does_not_let_a_gate_fall(tmp_path):
    engines = []
    for name, shift in (("a", 0.0), ("b", 0.0005)):
        folder = engine_files(tmp_path / name, {"x": 1.0})
        rows = [
            {
                "startComputeMs": 1000.0 + 2 * row,
                "endComputeMs": 1001.0 + 2 * row,
                "computeMs": ms,
                "latencyMs": ms,
            }
            for row in range(400)
            for ms in [1.0 + shift + 0.05 * ((row * 37) % 101) / 101]
        ]
        (folder / "net.timing.json").write_text(json.dumps(rows), encoding="utf-8")
        engines.append(load_engine(folder))
    comparison = compare(engines)
    gate = parse_gate("latency_median_ms > +0.01%", METRICS)
    (strict,), (lenient,) = judge(comparison, [gate]), judge(comparison, [gate], significant=True)
    assert comparison.verdict.outcome.value == "not distinguishable"
    assert (strict.fell, lenient.fell) == (True, False)
    assert "noise" in lenient.why


@given(
    parts=st.lists(st.text("abc, →", min_size=1, max_size=90), min_size=1, max_size=9),
    width=st.integers(1, 300),
)
def test_parts_that_give_way_keep_their_heads(parts, width):
    told = "; ".join(f"{letter(place)}: {part}" for place, part in enumerate(parts))
    short = shorten_parts(told, width)
    assert len(short) <= width
    assert (short == told) == (len(told) <= width)
    if (LEAST_PART + 2) * len(parts) <= width:
        assert [part[:3] for part in short.split("; ")] == [
            f"{letter(place)}: " for place in range(len(parts))
        ]


def test_letters():
    assert [letter(place) for place in (0, 1, 25, 26, 27, 51, 52)] == ["A", "B", "Z", "AA", "AB", "AZ", "BA"]


@pytest.mark.parametrize(
    ("value", "text"), [(None, "–"), (0.5, "+0.5000"), (-0.5, "−0.5000"), (1e-9, "0.0000"), (-1e-9, "0.0000")]
)
def test_differences_have_a_sign(value, text):
    assert signed_ms(value) == text


def test_what_tables_leave_out_is_in_their_totals(artifacts):
    one, other = (load_engine(path) for path in real_pairs(artifacts)[1])
    comparison = compare([one, other])
    shown = Shown(comparison, filtered(comparison, ""))
    kinds = next(section for section in sections(shown) if section.title == "By kind")
    *deltas, total = [row[-1] for row in kinds.tables[0].rows if row[-1] is not None]
    assert total == comparison.differences[1].delta_ms
    assert sum(deltas) == pytest.approx(comparison.differences[1].delta_ms)
