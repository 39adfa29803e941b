"""What holds for the findings of every real engine, and savings beside what a change won where both were measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import ARTIFACTS, REPOSITORY
from trex_tui.api import load_engine, load_engines
from trex_tui.engine.model import Engine
from trex_tui.errors import TrexError
from trex_tui.lint.config import LintConfig
from trex_tui.lint.rule import GOOD
from trex_tui.lint.run import run_rules
from trex_tui.report.document import plain_document
from trex_tui.report.views.lint import Linted, lint_document

SETS = [
    *sorted((REPOSITORY / "sample_artifacts").glob("*/")),
    *sorted(ARTIFACTS.glob("trex/*/")),
    *sorted(ARTIFACTS.glob("torch-trt/*/")),
    *sorted(ARTIFACTS.glob("edge-vision/results/*/")),
    *(
        ARTIFACTS / name
        for name in ("bev-multitask-blackwell", "diffusion-controlnet", "names-only", "logs", "rtx")
    ),
]
EVERYTHING = LintConfig(shows_all=True)


def engines_of(path: Path) -> list[Engine]:
    try:
        return load_engines(path)
    except TrexError:
        return []


@pytest.mark.parametrize("path", [path for path in SETS if path.is_dir()], ids=lambda path: path.name)
def test_every_engine(path: Path) -> None:
    for engine in engines_of(path):
        result = run_rules(engine, EVERYTHING)
        assert result.failed == (), result.not_checked
        total = engine.latency_total_ms or 0.0
        assert (result.savings.layers_ms or 0.0) <= total * (1 + 1e-9)
        assert (result.saving_ms or 0.0) <= sum(one.saving_ms or 0.0 for one in result.findings) * (1 + 1e-9)
        for one in (*result.findings, *result.remarks, *result.positives):
            assert one.message.strip()
            assert one.message.isprintable(), one.rule.id
            assert one.message.endswith((".", "…")), one.message
            assert "None" not in one.message, one.message
            assert str(one.remedy).endswith((".", ":fp32", ":fp16")) or "--layer" in str(one.remedy), (
                one.remedy
            )
            assert (one.layer_ms or 0.0) <= total * (1 + 1e-9), one.rule.id
            assert bool(one.estimate) <= (one.saving_ms is not None), one.rule.id
            if one.severity is not GOOD and one.saving_ms:
                assert one.estimate, one.rule.id
                assert one.rule.formula, one.rule.id
        plain_document(lint_document([Linted(engine, result)], EVERYTHING))


class TestMeasured:
    """Three builds of one network on one GPU: what Q and DQ on the residuals and the stem won."""

    @pytest.fixture
    def engines(self) -> dict[str, Engine]:
        folder = ARTIFACTS / "trex" / "resnet-A100"
        if not folder.is_dir():
            pytest.skip(f"no {folder}")
        return {name: load_engine(folder / name) for name in ("qat", "qat-residual", "qat-residual-qgap")}

    def islands_ms(self, engine: Engine) -> float:
        return sum(
            one.saving_ms or 0.0 for one in run_rules(engine, LintConfig(select=("PREC002",))).findings
        )

    def layers_ms(self, engine: Engine) -> float:
        """Sum over layers without the Q of the network's input, which is another kernel in each of the engines."""
        return (engine.latency_sum_ms or 0.0) - float(engine.layers["latency_ms"][0])

    def test_the_tail_in_floating_point(self, engines: dict[str, Engine]) -> None:
        before, after = engines["qat-residual"], engines["qat-residual-qgap"]
        won = self.layers_ms(before) - self.layers_ms(after)
        assert self.islands_ms(before) == pytest.approx(won, rel=0.05)
        assert self.islands_ms(after) == 0.0

    def test_residuals_and_stem(self, engines: dict[str, Engine]) -> None:
        before, after = engines["qat"], engines["qat-residual-qgap"]
        won = self.layers_ms(before) - self.layers_ms(after)
        assert self.islands_ms(before) == pytest.approx(won, rel=0.05)

    def test_one_finding_per_layer_and_cause(self, engines: dict[str, Engine]) -> None:
        result = run_rules(engines["qat-residual"])
        for layer in (19, 21, 22, 23):
            assert [one.rule.id for one in result.by_layer[layer]] == ["PREC002"]
