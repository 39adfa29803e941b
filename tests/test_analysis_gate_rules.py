"""Gates: their grammar, what is compared, and the one rule of what may be judged."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import REPOSITORY, layer, tensor, write_graph, write_json, write_profile, write_sample_set
from trex_tui.analysis.gates import (
    END_TO_END,
    PARTS,
    Gate,
    GateError,
    GateMetrics,
    judge,
    measure,
    parse_gate,
    why_not_judged,
)
from trex_tui.api import load_engine
from trex_tui.engine.model import Engine

METRICS = GateMetrics(
    names=(*END_TO_END, "throughput_qps", "layers", "layer_ms", "weights_bytes", "verdict"),
    examples=("latency_p99_ms > +5%",),
    parts={"layers": PARTS},
    part_nouns={"layers": "kind or precision", "layer_ms": "layer"},
    needs_part=("layer_ms",),
    words={"verdict": ("faster", "slower", "same")},
    has_baseline=True,
)
SAMPLES = REPOSITORY / "sample_artifacts"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("latency_p99_ms > +5%", ("latency_p99_ms", "", ">", 5.0, True, True)),
        ("latency_p99_ms>50us", ("latency_p99_ms", "", ">", 0.05, False, False)),
        ("throughput_qps < −2", ("throughput_qps", "", "<", -2.0, True, False)),
        ("Weights_Bytes >= 10Mi", ("weights_bytes", "", ">=", 10 * 2**20, False, False)),
        ("layers.FP32 != 0", ("layers", "fp32", "!=", 0.0, False, False)),
        ('layer_ms."a > b" > +0.1', ("layer_ms", "a > b", ">", 0.1, True, False)),
    ],
)
def test_grammar(text: str, expected: tuple[Any, ...]) -> None:
    assert parse_gate(text, METRICS)[1:7] == (*expected[:3], pytest.approx(expected[3]), *expected[4:])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("latency", "not a gate"),
        ("latency_p98_ms > 5", "did you mean latency_p9"),
        ("latency_p99_ms > 5%", r"need a sign; write \+5%"),
        ("layers.fp23 > 5", "unknown kind or precision 'fp23' of layers"),
        ("latency_p99_ms.x > 5", "unknown part"),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(GateError, match=message):
        parse_gate(text, METRICS)


@pytest.mark.parametrize(
    ("text", "value", "baseline", "state", "compared"),
    [
        ("latency_p99_ms > +5%", 1.06, 1.0, "failed", 6.0),
        ("latency_p99_ms > +5%", 0.0, 0.0, "passed", 0.0),
        ("latency_p99_ms > +5%", 0.1, 0.0, "failed", None),
        ("latency_p99_ms > +0.1", 1.2, 1.0, "failed", 0.2),
        ("latency_p99_ms > 1", 1.2, None, "failed", 1.2),
        ("throughput_qps < -2%", 97.0, 100.0, "failed", -3.0),
        ("latency_p99_ms > +5%", 1.0, None, "not judged", None),
    ],
)
def test_judgement(
    text: str, value: float | None, baseline: float | None, state: str, compared: float | None
) -> None:
    result = judge(parse_gate(text, METRICS), value, baseline)
    assert result.state == state
    assert result.compared == (None if compared is None else pytest.approx(compared))
    assert bool(result.note) is (state == "not judged")


def test_a_problem_and_a_lower_bound_are_not_judged() -> None:
    gate = Gate("peak > 10", "peak", "", ">", 10.0)
    assert judge(gate, 20.0, problem="damaged file: a").state == "not judged"
    assert judge(gate, 20.0, is_at_least=True).state == "failed"
    assert judge(gate, 5.0, is_at_least=True).state == "not judged"
    assert judge(gate._replace(operator="<"), 5.0, is_at_least=True).state == "not judged"


def damaged(folder: Path, file: str) -> Engine:
    """The real engine, with one file cut in the middle, as by a full disk."""
    shutil.copytree(SAMPLES / "alexnet", folder, dirs_exist_ok=True)
    path = folder / f"alexnet_fp16.{file}.json"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    return load_engine(folder)


@pytest.mark.parametrize(
    ("file", "judged", "refused"),
    [
        ("timing", ["latency_sum_ms", "layers"], ["latency_p99_ms", "throughput_qps", "verdict"]),
        ("profile", ["latency_p99_ms", "layers"], ["latency_sum_ms", "any_layer_ms", "findings"]),
        ("graph", ["latency_p99_ms"], ["layers", "weights_bytes", "activation_peak_bytes", "layer_ms"]),
    ],
)
def test_a_metric_of_a_damaged_file_is_not_judged(
    tmp_path: Path, file: str, judged: list[str], refused: list[str]
) -> None:
    """Other files may still have a number: the summary has a p99 where the timing file is cut."""
    engine = damaged(tmp_path, file)
    assert [metric for metric in judged if why_not_judged(engine, metric)] == []
    for metric in refused:
        assert why_not_judged(engine, metric) == f"damaged file: alexnet_fp16.{file}.json"
    if file == "timing":
        assert measure(engine, "latency_p99_ms").value is not None


def test_layers_without_a_time_keep_sums_from_being_judged(tmp_path: Path) -> None:
    raw = [layer(name, "kgen", [tensor("x", 4)], [tensor("y", 4)]) for name in ("a", "b")]
    write_graph(tmp_path / "net.graph.json", raw, ["x", "y"])
    write_profile(tmp_path / "net.profile.json", [("a", 1.0)])
    engine = load_engine(tmp_path)
    assert why_not_judged(engine, "latency_sum_ms") == "1 of 2 layers have no time"
    assert why_not_judged(engine, "layers") == ""


def test_an_impossible_throughput_and_power_of_unknown_scope_are_not_judged(tmp_path: Path) -> None:
    write_sample_set(tmp_path)
    summary = {"Throughput": 178359, "Latency": [195.6, 199.3, 197.3, 197.5, 199.3]}
    summary["GPU Compute Time"] = [177.6, 181.2, 179.4, 179.6, 181.2]
    (tmp_path / "net.timing.json").unlink()
    write_json(tmp_path / "net.profile.metadata.json", {"performance_summary": summary})
    lines = [
        f"RAM 2028/7620MB GR3D_FREQ 1%@[1300] gpu@50C VDD_IN {watts}mW/100mW" for watts in (9000, 9100, 9200)
    ]
    (tmp_path / "net.monitor.csv").write_text("\n".join(lines), encoding="utf-8")
    engine = load_engine(tmp_path)
    assert "queries at a time" in why_not_judged(engine, "throughput_qps")
    assert why_not_judged(engine, "power_mean_w") == "measurement interval of the power samples unknown"
    assert measure(engine, "power_mean_w").value is None


LIMITS = st.floats(0, 1e6).map(lambda limit: round(limit, 3))


@given(LIMITS, LIMITS, LIMITS, st.sampled_from(["", "+"]), st.sampled_from(["", "%"]))
def test_a_worse_value_never_passes_where_a_better_one_fails(
    limit: float, value: float, other: float, sign: str, percent: str
) -> None:
    """A gate is read back as written, and its judgement is monotone."""
    percent = percent if sign else ""
    gate = parse_gate(f"latency_p99_ms > {sign}{limit!r}{percent}", METRICS)
    assert (gate.number, gate.is_relative, gate.is_percent) == (limit, bool(sign), bool(percent))
    better, worse = (judge(gate, ms, 100.0).state == "failed" for ms in sorted((value, other)))
    assert better <= worse
