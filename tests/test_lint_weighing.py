"""Running rules and weighing what they find."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import timing_row, write_json
from lint_kit import real_engine, rule, rule_set, timed_engine
from trex_tui.api import load_engine
from trex_tui.engine.model import Engine
from trex_tui.errors import TrexError
from trex_tui.lint.config import LintConfig, Suppression, parse_fail_on
from trex_tui.lint.context import Context
from trex_tui.lint.rule import (
    ERROR,
    EVERY_RULE,
    GOOD,
    INFO,
    WARNING,
    Confidence,
    Finding,
    FindingSeverity,
    NotChecked,
    Rule,
)
from trex_tui.lint.rule import finding as make
from trex_tui.lint.run import NO_LAYERS, LintResult, run_rules
from trex_tui.lint.savings import clamp, combine


def finding(rule_id: str, *layers: int, **more: Any) -> Finding:
    return make(f"{rule_id} speaks.", layers, **more)


def run(
    engine: Engine,
    config: LintConfig = LintConfig(),  # noqa: B008 - frozen
    rules: Sequence[Rule] = (),
    layers: Collection[int] | None = None,
) -> LintResult:
    """With small findings too."""
    return run_rules(engine, dataclasses.replace(config, shows_all=True), rule_set(*rules), layers)


class TestOrder:
    def test_severity_then_saving_or_time_then_id_then_layers(self, tmp_path: Path) -> None:
        engine = timed_engine(tmp_path, 4.0, 3.0, 2.0, 1.0)
        rules = [
            rule("BBB001", finding("BBB001", 3, savings={3: 1.0}), finding("BBB001", 0, savings={0: 2.0})),
            rule("AAA001", finding("AAA001", 2), finding("AAA001", 1)),
            rule("CCC001", finding("CCC001"), severity=ERROR),
            rule("DDD001", finding("DDD001", 1, savings={1: 3.0}), severity=INFO),
            rule("AAA002", finding("AAA002", 1, savings={1: 2.0})),
            rule("EEE001", finding("EEE001")),
        ]
        wanted = [("CCC001", ()), ("AAA001", (1,)), ("AAA002", (1,)), ("BBB001", (0,)), ("AAA001", (2,))]
        wanted += [("BBB001", (3,)), ("EEE001", ()), ("DDD001", (1,))]
        for order in (rules, rules[::-1]):
            found = run(engine, rules=order)
            assert [(one.rule.id, one.layers) for one in found.findings] == wanted

    def test_counts_positives_and_layers(self, tmp_path: Path) -> None:
        engine = timed_engine(tmp_path, 1.0, 1.0)
        found = run(
            engine,
            rules=[
                rule("AAA001", finding("AAA001", 0), finding("AAA001", 1, 0)),
                rule("OK-A", finding("OK-A", 0), severity=GOOD),
                rule("BBB001", finding("BBB001"), severity=ERROR),
            ],
        )
        assert found.counts == {ERROR: 1, WARNING: 2, INFO: 0, GOOD: 1}
        assert [one.rule.id for one in found.positives] == ["OK-A"]
        assert {index: [one.layers for one in several] for index, several in found.by_layer.items()} == {
            0: [(0, 1), (0,)],
            1: [(0, 1)],
        }
        assert found.rules == ("AAA001", "BBB001", "OK-A")


class TestSeverity:
    @pytest.mark.parametrize(
        ("own", "saving", "confidence", "wanted"),
        [
            (WARNING, 1.0, Confidence.HIGH, WARNING),
            (WARNING, 0.999, Confidence.HIGH, INFO),
            (WARNING, 50.0, Confidence.LOW, INFO),
            (WARNING, 0.1, Confidence.LOW, INFO),
            (INFO, 0.1, Confidence.LOW, INFO),
            (ERROR, 0.1, Confidence.LOW, ERROR),
            (GOOD, 0.1, Confidence.LOW, GOOD),
            (WARNING, None, Confidence.HIGH, WARNING),
            (WARNING, None, Confidence.LOW, INFO),
        ],
    )
    def test_one_step_milder(
        self,
        tmp_path: Path,
        own: FindingSeverity,
        saving: float | None,
        confidence: Confidence,
        wanted: FindingSeverity,
    ) -> None:
        savings = {} if saving is None else {0: saving}
        one = finding("AAA001", 0, savings=savings, confidence=confidence)
        found = run(timed_engine(tmp_path, 60.0, 40.0), rules=[rule("AAA001", one, severity=own)])
        (judged,) = (*found.findings, *found.positives)
        assert judged.severity is wanted
        assert judged.is_demoted is (wanted is not own)

    def test_a_finding_may_have_its_own(self, tmp_path: Path) -> None:
        one = finding("AAA001", 0, severity=ERROR)
        assert run(timed_engine(tmp_path, 1.0), rules=[rule("AAA001", one)]).findings[0].severity is ERROR

    def test_fails_from_a_severity_on(self, tmp_path: Path) -> None:
        found = run(timed_engine(tmp_path, 1.0), rules=[rule("AAA001", finding("AAA001", 0))])
        assert [one for one in (ERROR, WARNING, INFO, None) if found.fails(one)] == [WARNING, INFO]

    def test_milder_ones_are_left_out_and_counted(self, tmp_path: Path) -> None:
        rules = [
            rule("AAA001", finding("AAA001", 0, savings={0: 1.0}), severity=INFO),
            rule("OK-A", finding("OK-A"), severity=GOOD),
            rule("BBB001", finding("BBB001", 0, savings={0: 0.5})),
        ]
        found = run(timed_engine(tmp_path, 1.0), LintConfig(min_severity=WARNING), rules)
        assert [one.rule.id for one in found.findings] == ["BBB001"]
        assert (found.positives, found.milder, found.saving_ms) == ((), 2, 0.5)


class TestSmall:
    """Findings below half a percent of the time are listed on request."""

    def test_minor(self, tmp_path: Path) -> None:
        engine = timed_engine(tmp_path, 100.0, 1.0)
        rules = [
            rule("AAA001", finding("AAA001", 1, savings={1: 0.4}), finding("AAA001", 1)),
            rule("BBB001", finding("BBB001", 1, savings={1: 0.4}), severity=ERROR),
            rule("CCC001", finding("CCC001", 0, is_minor=True)),
        ]
        found = run_rules(engine, rules=rule_set(*rules))
        assert [one.rule.id for one in found.findings] == ["BBB001", "AAA001"]
        assert {one.rule.id for one in found.minor} == {"AAA001", "CCC001"}
        assert found.counts[WARNING] == 1
        everything = run(engine, rules=rules)
        assert (len(everything.findings), everything.minor) == (4, ())

    def test_remarks_are_no_findings(self, tmp_path: Path) -> None:
        rules = [rule("AAA001", finding("AAA001"), is_remark=True)]
        found = run(timed_engine(tmp_path, 1.0), rules=rules)
        assert (found.findings, [one.rule.id for one in found.remarks]) == ((), ["AAA001"])
        assert not found.fails(INFO)

    def test_a_gate_on_the_number(self, tmp_path: Path) -> None:
        found = run(
            timed_engine(tmp_path, 1.0), rules=[rule("AAA001", finding("AAA001"), finding("AAA001", 0))]
        )
        for text, fails in (("warning > 1", True), ("findings > 2", False), ("error == 0", True)):
            assert found.fails(parse_fail_on(text, "x")) is fails


class TestNumbers:
    def test_time_of_the_layers(self, tmp_path: Path) -> None:
        engine = timed_engine(tmp_path, 1.0, 2.0, None)
        (judged,) = run(engine, rules=[rule("AAA001", finding("AAA001", 2, 0, 1, 0))]).findings
        assert (judged.layers, judged.layer_ms, judged.layers_without_time) == ((0, 1, 2), 3.0, 1)

    def test_without_a_profile_everything_is_unknown(self, tmp_path: Path) -> None:
        engine = timed_engine(tmp_path, None, None)
        found = run(engine, rules=[rule("AAA001", finding("AAA001", 0, savings={0: 3.0}))])
        (judged,) = found.findings
        assert (judged.layer_ms, judged.saving_ms, found.saving_ms) == (None, None, None)
        assert judged.severity is WARNING

    def test_a_saving_is_never_more_than_the_layer_takes(self, tmp_path: Path) -> None:
        savings = {0: 5.0, 1: -1.0, 2: float("nan")}
        engine = timed_engine(tmp_path, 1.0, 2.0, 3.0)
        (judged,) = run(engine, rules=[rule("AAA001", finding("AAA001", 0, 1, 2, savings=savings))]).findings
        assert judged.savings_ms == {0: 1.0, 1: 0.0}

    def test_what_is_known_to_win_nothing_is_no_finding(self, tmp_path: Path) -> None:
        engine = timed_engine(tmp_path, 1.0, None)
        found = run(
            engine, rules=[rule("AAA001", finding("AAA001", 0, savings={0: 0.0}), finding("AAA001", 1))]
        )
        assert [judged.layers for judged in found.findings] == [(1,)]

    def test_nothing_is_won_twice(self, tmp_path: Path) -> None:
        engine = timed_engine(tmp_path, 1.0, 2.0)
        rules = [
            rule("AAA001", finding("AAA001", 0, 1, savings={0: 0.4, 1: 0.5}, engine_saving_ms=0.2)),
            rule("BBB001", finding("BBB001", 1, savings={1: 1.5})),
            rule("CCC001", finding("CCC001", engine_saving_ms=0.3)),
        ]
        found = run(engine, rules=rules)
        assert found.savings.layers_ms == pytest.approx(1.9)
        assert found.savings.engine_ms == 0.3
        assert found.saving_ms == pytest.approx(2.2)

    def test_end_to_end(self, tmp_path: Path) -> None:
        timed_engine(tmp_path, 1.0, 3.0)
        write_json(tmp_path / "net.timing.json", [timing_row(300.0 + place, 2.0) for place in range(5)])
        rules = [rule("AAA001", finding("AAA001", 1, savings={1: 1.0}, engine_saving_ms=0.25))]
        assert run(load_engine(tmp_path), rules=rules).savings.end_to_end_ms == pytest.approx(0.75)


LATENCIES = (0.5, 2.0, 0.0, 7.25, None, None)
FINDINGS = st.lists(
    st.builds(
        lambda savings, engine: make("", savings, savings=savings, engine_saving_ms=engine),
        st.dictionaries(st.integers(0, 5), st.floats(allow_nan=True, allow_infinity=True), max_size=6),
        st.none() | st.floats(0, 10),
    ),
    max_size=8,
)


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Context:
    return Context(timed_engine(tmp_path_factory.mktemp("timed"), *LATENCIES))


@given(findings=FINDINGS, random=st.randoms(use_true_random=False))
def test_union_of_savings(timed: Context, findings: list[Finding], random: Any) -> None:
    capped = [clamp(one, timed) for one in findings]
    total = combine(capped, None, None)
    assert (total.layers_ms or 0.0) <= sum(filter(None, LATENCIES)) + 1e-9
    alone = [one.saving_ms for one in capped if one.saving_ms is not None]
    assert (total.total_ms or 0.0) <= sum(alone) + 1e-9
    assert (total.total_ms or 0.0) >= max(alone, default=0.0) - 1e-9
    assert (total.total_ms is None) is (not alone)
    shuffled = list(capped)
    random.shuffle(shuffled)
    assert combine(shuffled, None, None) == total
    assert combine([*capped, *capped], None, None) == total


class TestBrokenRules:
    def test_one_costs_itself(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        def check(_: object) -> object:
            yield finding("AAA001", 0)
            raise ZeroDivisionError("over\nnothing")

        rules = [rule("AAA001", check=check), rule("BBB001", finding("BBB001", 0))]  # type: ignore[arg-type]
        with caplog.at_level(logging.ERROR):
            found = run(timed_engine(tmp_path, 1.0), rules=rules)
        assert [one.rule.id for one in found.findings] == ["AAA001", "BBB001"]
        assert found.failed == ("AAA001",)
        (missing,) = found.not_checked
        assert missing.rule == "AAA001"
        assert "ZeroDivisionError: over nothing (test_lint_weighing.py line" in missing.reason
        assert "AAA001" in caplog.text
        assert "Traceback" in caplog.text

    @pytest.mark.parametrize(
        "said",
        [
            finding("AAA001", 2),
            finding("AAA001", -1),
            finding("AAA001", savings={7: 1.0}),
            None,
        ],
    )
    def test_what_no_rule_may_say(self, tmp_path: Path, said: Finding) -> None:
        found = run(timed_engine(tmp_path, 1.0, 1.0), rules=[rule("AAA001", said)])
        assert found.failed == ("AAA001",)
        assert found.findings == ()


class TestNotChecked:
    def test_is_kept_by_rule(self, tmp_path: Path) -> None:
        told = [NotChecked("BBB001", "no profile", 3), NotChecked("BBB001", "no device")]
        rules = [rule("BBB001", *told), rule("AAA001", NotChecked("AAA001", "no log"))]
        found = run(timed_engine(tmp_path, 1.0), rules=rules)
        assert [(one.rule, one.reason) for one in found.not_checked] == [
            ("AAA001", "no log"),
            ("BBB001", "no device"),
            ("BBB001", "no profile"),
        ]

    def test_an_engine_without_layers(self, tmp_path: Path) -> None:
        write_json(tmp_path / "net.timing.json", [timing_row(300.0 + place, 2.0) for place in range(5)])
        rules = [rule("AAA001", finding("AAA001"), columns=("kind",)), rule("BBB001", finding("BBB001"))]
        found = run(load_engine(tmp_path), rules=rules)
        assert found.not_checked == (NotChecked("AAA001", NO_LAYERS),)
        assert [one.rule.id for one in found.findings] == ["BBB001"]


class TestChoice:
    @pytest.mark.parametrize(
        ("select", "ignore", "wanted"),
        [
            ((), (), ["AAA001", "AAA002", "BBB001", "OK-TC"]),
            (("AAA",), (), ["AAA001", "AAA002"]),
            (("AAA", "OK"), ("AAA002",), ["AAA001", "OK-TC"]),
            (("OK-TC",), (), ["OK-TC"]),
            (("AAA001",), ("AAA",), []),
        ],
    )
    def test_by_id_and_family(
        self, tmp_path: Path, select: tuple[str, ...], ignore: tuple[str, ...], wanted: list[str]
    ) -> None:
        rules = [rule(one) for one in ("AAA001", "AAA002", "BBB001", "OK-TC")]
        config = LintConfig(select=select, ignore=ignore)
        assert list(run(timed_engine(tmp_path, 1.0), config, rules).rules) == wanted

    def test_only_what_is_about_some_layers(self, tmp_path: Path) -> None:
        engine = timed_engine(tmp_path, 1.0, 2.0)
        rules = [
            rule("AAA001", finding("AAA001", 0, savings={0: 0.5}), finding("AAA001", 1)),
            rule("BBB001", finding("BBB001"), finding("BBB001", 0, severity=INFO)),
        ]
        found = run(engine, LintConfig(min_severity=WARNING), rules, layers=[0])
        assert [one.layers for one in found.findings] == [(0,)]
        assert (found.saving_ms, found.counts[WARNING]) == (0.5, 1)
        assert (found.rules, found.milder) == (("AAA001", "BBB001"), 1)


def suppression(rules: tuple[str, ...], layers: str = "") -> Suppression:
    return Suppression(rules, layers, "it is right", "a.toml: lint.suppress[1]")


class TestSuppressions:
    def findings(self) -> Finding:
        return finding("AAA001", 0, 1, 2, savings={0: 1.0, 1: 2.0, 2: 3.0}, engine_saving_ms=0.5)

    def test_whole_findings(self, tmp_path: Path) -> None:
        rules = [rule("AAA001", self.findings(), finding("AAA001")), rule("BBB001", finding("BBB001", 0))]
        config = LintConfig(suppressions=(suppression(("AAA",)),))
        found = run(timed_engine(tmp_path, 1.0, 2.0, 3.0), config, rules)
        assert [one.rule.id for one in found.findings] == ["BBB001"]
        assert [one.layers for one in found.suppressed] == [(0, 1, 2), ()]
        assert {(one.reason, one.origin) for one in found.suppressed} == {
            ("it is right", "a.toml: lint.suppress[1]")
        }
        assert found.counts[WARNING] == 1
        assert found.saving_ms is None

    def test_some_layers_of_a_finding(self, tmp_path: Path) -> None:
        config = LintConfig(suppressions=(suppression((), "layer1"),))
        found = run(timed_engine(tmp_path, 1.0, 2.0, 3.0), config, [rule("AAA001", self.findings())])
        (judged,) = found.findings
        assert (judged.layers, judged.saving_ms, judged.suppressed_layers) == ((0, 2), 4.5, 1)
        (taken,) = found.suppressed
        assert (taken.layers, taken.saving_ms) == ((1,), 2.0)
        assert found.by_layer.keys() == {0, 2}

    def test_all_layers_by_several(self, tmp_path: Path) -> None:
        several = tuple(suppression(("AAA001",), f"layer{place}") for place in (0, 1, 2))
        rules = [rule("AAA001", self.findings(), finding("AAA001"))]
        found = run(timed_engine(tmp_path, 1.0, 2.0, 3.0), LintConfig(suppressions=several), rules)
        assert [one.layers for one in found.findings] == [
            ()
        ]  # a filter says nothing of the engine as a whole
        assert [one.layers for one in found.suppressed] == [(2,), (1,), (0,)]

    def test_a_filter_that_cannot_be(self, tmp_path: Path) -> None:
        config = LintConfig(suppressions=(suppression((), "kind:"),))
        with pytest.raises(TrexError, match=r"a\.toml: lint\.suppress\[1\]: layers: "):
            run(timed_engine(tmp_path, 1.0), config, [rule("AAA001")])


class TestGroups:
    """Findings of a rule with one cause are one finding."""

    def test_same_group_and_remedy(self, tmp_path: Path) -> None:
        engine = timed_engine(tmp_path, 4.0, 3.0, 2.0, 1.0)
        copies = [
            finding("AAA001", 1, 2, savings={1: 1.0, 2: 0.5}, group="layers copy", confidence=Confidence.LOW),
            finding("AAA001", 0, 1, savings={0: 2.0, 1: 2.5}, group="layers copy", severity=ERROR),
            finding("AAA001", 3, savings={3: 0.5}, group="layers copy", remedy="Another."),
            finding("AAA001", 3, savings={3: 0.25}),
        ]
        found = run(engine, rules=[rule("AAA001", *copies)])
        assert [judged.layers for judged in found.findings] == [(0, 1, 2), (3,), (3,)]
        merged = found.findings[0]
        assert merged.message.startswith("2 layers copy: 9 ms, 90.0 %. The largest: 'layer1' 3 ms")
        assert merged.savings_ms == {0: 2.0, 1: 2.5, 2: 0.5}
        assert (merged.severity, merged.confidence) == (ERROR, Confidence.LOW)
        assert merged.evidence["places"] == 2

    def test_small_findings_count_together(self, tmp_path: Path) -> None:
        """Each of them saves less than 1 % of the engine, all of them more."""
        engine = timed_engine(tmp_path, 97.0, *[1.0] * 3)
        small = [finding("AAA001", at, savings={at: 0.6}, group="layers copy") for at in (1, 2, 3)]
        (together,) = run(engine, rules=[rule("AAA001", *small)]).findings
        assert together.severity is WARNING
        (alone,) = run(engine, rules=[rule("AAA001", small[0])]).findings
        assert (alone.severity, alone.message) == (INFO, "AAA001 speaks.")

    def test_symptoms_stay_where_no_cause_is_known(self, tmp_path: Path) -> None:
        engine = timed_engine(tmp_path, 4.0, 3.0, 2.0)
        hot = [finding("HOT9", at, group="layers dominate") for at in (0, 1)]
        cause = rule("AAA001", finding("AAA001", 0, savings={0: 1.0}))
        rules = [rule("HOT9", *hot, covered_by=EVERY_RULE), cause]
        found = {judged.rule.id: judged.layers for judged in run(engine, rules=rules).findings}
        assert found == {"AAA001": (0,), "HOT9": (1,)}
        # A symptom with a saving replaces one without.
        roof = rule("ROOF9", finding("ROOF9", 1, savings={1: 1.0}), covered_by=EVERY_RULE)
        found = {judged.rule.id: judged.layers for judged in run(engine, rules=[*rules, roof]).findings}
        assert found == {"AAA001": (0,), "ROOF9": (1,)}

    @pytest.mark.parametrize(("times", "stays"), [((4.0, 3.0, 2.0), True), ((4.0, 1.0, 3.0), False)])
    def test_a_symptom_of_many_layers_goes_with_half_of_its_time(
        self, tmp_path: Path, times: tuple[float, ...], stays: bool
    ) -> None:
        engine = timed_engine(tmp_path, *times)
        cause = rule("AAA001", finding("AAA001", 2, savings={2: 1.0}))
        found = run(engine, rules=[rule("MOVE9", finding("MOVE9", 1, 2), covered_by=EVERY_RULE), cause])
        assert ("MOVE9" in [judged.rule.id for judged in found.findings]) is stays

    @pytest.mark.parametrize("times", [(4.0, 3.0), (None, None)])
    def test_only_named_causes_cover(self, tmp_path: Path, times: tuple[float | None, ...]) -> None:
        engine = timed_engine(tmp_path, *times)
        cause = rule("AAA001", finding("AAA001", 0, savings={0: 1.0}))
        for names, covers in ((("AAA",), True), (("AAA001",), True), (("CCC",), False)):
            found = run(engine, rules=[cause, rule("BBB001", finding("BBB001", 0), covered_by=names)])
            assert ("BBB001" not in [one.rule.id for one in found.findings]) is covers


@pytest.mark.usefixtures("artifacts")
def test_normalizations_by_plugin_are_one_story() -> None:
    """Twenty-seven plugins, the copies around them and the scales and activations behind: one finding at the top."""
    found = run_rules(real_engine("diffusion-controlnet"))
    (story,) = [judged for judged in found.findings if judged.message.startswith("27 plugins")]
    assert story.layer_ms == pytest.approx(3.1, abs=0.3)
    assert story.severity is WARNING
    assert max(found.findings, key=lambda judged: judged.saving_ms or 0.0) is story
    others = {index for judged in found.findings if judged is not story for index in judged.savings_ms}
    assert not others.intersection(story.savings_ms)
    assert len(found.findings) < 15
