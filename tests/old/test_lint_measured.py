"""Savings that lint states, beside what the change won where both engines were measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from trex_tui.old.engine import Engine, load_engine
from trex_tui.old.lint.config import LintConfig
from trex_tui.old.lint.run import run

pytestmark = pytest.mark.usefixtures("artifacts")


@pytest.fixture
def engines(artifacts: Path) -> dict[str, Engine]:
    names = ("qat", "qat-residual", "qat-residual-qgap")
    return {name: load_engine(artifacts / "trex/resnet-A100" / name) for name in names}


def islands_ms(engine: Engine) -> float:
    result = run(engine, LintConfig(select=("PREC002",)))
    return sum(judged.saving_ms or 0.0 for judged in result.findings)


def layers_ms(engine: Engine) -> float:
    """Sum over layers without the Q of the network's input, which is another kernel in each of the engines."""
    return (engine.latency_sum_ms or 0.0) - (engine.layers[0].latency_ms or 0.0)


def test_the_tail_in_floating_point(engines: dict[str, Engine]) -> None:
    """Q and DQ in front of the pool: measured 0.058 ms."""
    before, after = engines["qat-residual"], engines["qat-residual-qgap"]
    (finding,) = run(before, LintConfig(select=("PREC002",))).findings
    names = [before.layers[index].name.split(" ")[0] for index in finding.layers]
    assert names == [
        "DequantizeLinear_291",
        "layer4.1.conv2.weight",
        "GlobalAveragePool_294",
        "QuantizeLinear_298",
    ]
    assert "Relu_293" in finding.remedy
    assert "skip input of the addition is already quantized" in finding.remedy
    assert islands_ms(before) == pytest.approx(layers_ms(before) - layers_ms(after), rel=0.05)
    assert islands_ms(after) == 0.0


def test_residuals_and_stem_in_floating_point(engines: dict[str, Engine]) -> None:
    """Stem, residual branches and the tail quantized: measured 0.457 ms."""
    before, after = engines["qat"], engines["qat-residual-qgap"]
    assert islands_ms(before) == pytest.approx(layers_ms(before) - layers_ms(after), rel=0.05)


def test_no_layer_is_told_by_two_rules_for_one_cause(engines: dict[str, Engine]) -> None:
    result = run(engines["qat-residual"])
    for index in (19, 21, 22, 23):
        assert [judged.rule.id for judged in result.by_layer[index]] == ["PREC002"]


def test_an_int8_stem_that_writes_int8_is_not_blamed(engines: dict[str, Engine]) -> None:
    """It takes 0.17 ms, the FP16 stem of the same network on the same GPU 0.25 ms. The one that writes FP32 takes 0.42 ms."""
    for name, rules in (("qat", ["PREC002"]), ("qat-residual", ["ROOF001"])):
        assert [judged.rule.id for judged in run(engines[name]).by_layer[1]] == rules


def test_islands_of_one_cause_are_one_finding(engines: dict[str, Engine]) -> None:
    (finding,) = run(engines["qat"], LintConfig(select=("PREC002",))).findings
    assert finding.message.startswith("5 floating-point values between quantized layers: ")
    assert finding.remedy.endswith("and 9 more, so that the addition reads and writes 8 bits.")
