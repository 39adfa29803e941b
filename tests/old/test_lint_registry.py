"""Which rules there are: those of the house and those of third parties."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import pytest
from linting import engine_of, rule

from trex_tui.old.analysis.columns import ALL_COLUMNS_BY_NAME
from trex_tui.old.errors import Severity, TrexError
from trex_tui.old.lint.config import LintConfig
from trex_tui.old.lint.model import Rule
from trex_tui.old.lint.registry import GROUP, ID, builtin_modules, collect, registry
from trex_tui.old.lint.run import run

PLUGIN = """
from trex_tui.old.lint.model import Finding, Rule, Severity

def _check(context, least=0.0, most=0.0):
    yield Finding("", f"It is ours: {least:g} {most:g}.")

def rule(rule_id):
    limits = {"least": 2.5, "most": 7} if rule_id == "OURS001" else {}
    return Rule(rule_id, "Ours", Severity.INFO, "X.", "Y.", "Z.", (), (), _check, thresholds=limits)

RULES = (rule("OURS001"), rule("OURS002"))
ONE = rule("OURS003")
TAKEN = (rule("AAA001"), rule("OURS004"))
ODD = (rule("ours-1"), "no rule", rule("OURS005"))
NOTHING = 3
"""


def module(*rules: Rule, name: str = "rules_of_a_test") -> ModuleType:
    made = ModuleType(name)
    made.RULES = rules  # type: ignore[attr-defined]
    return made


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "their_rules.py").write_text(PLUGIN)
    (tmp_path / "their_broken_rules.py").write_text("raise RuntimeError('not\\ntoday')")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield
    sys.modules.pop("their_rules", None)


def entry(value: str, name: str = "theirs") -> EntryPoint:
    return EntryPoint(name, value, GROUP)


class TestHouse:
    def test_every_module_is_found(self) -> None:
        folder = Path(str(importlib.import_module("trex_tui.old.lint.rules").__file__)).parent
        names = {one.stem for one in folder.glob("*.py") if not one.stem.startswith("_")}
        assert {one.__name__.rpartition(".")[2] for one in builtin_modules()} == names

    def test_ids_are_unique_and_rules_complete(self) -> None:
        found = collect(builtin_modules())  # raises for an id that is there twice
        assert found.diagnostics == ()
        assert [one.id for one in found.rules] == sorted(one.id for one in found.rules)
        for one in found.rules:
            assert ID.fullmatch(one.id)
            assert all((one.title, one.looks_for, one.why, one.remedy)), one.id
            assert set(one.columns) <= set(ALL_COLUMNS_BY_NAME), one.id

    def test_thresholds_are_arguments_of_their_rule(self) -> None:
        for one in collect(builtin_modules()).rules:
            if one.family != "OK":
                expected = list(inspect.signature(one.check).parameters)[1:]
                assert sorted(expected) == sorted(one.thresholds), one.id

    def test_a_clash_is_a_mistake(self) -> None:
        with pytest.raises(ValueError, match="duplicate id AAA001"):
            collect([module(rule("AAA001")), module(rule("AAA001"))])
        with pytest.raises(ValueError, match="is not an id"):
            collect([module(rule("aaa1"))])


@pytest.mark.usefixtures("plugin")
class TestThirdParties:
    @pytest.mark.parametrize(
        ("value", "ids"),
        [
            ("their_rules", ["AAA001", "OURS001", "OURS002"]),
            ("their_rules:RULES", ["AAA001", "OURS001", "OURS002"]),
            ("their_rules:ONE", ["AAA001", "OURS003"]),
        ],
    )
    def test_module_tuple_or_rule(self, value: str, ids: list[str]) -> None:
        found = collect([module(rule("AAA001"))], [entry(value)])
        assert [one.id for one in found.rules] == ids
        assert found.diagnostics == ()

    @pytest.mark.parametrize(
        ("value", "ids", "told"),
        [
            ("their_rules:TAKEN", ["AAA001", "OURS004"], ["duplicate id AAA001"]),
            ("their_rules:ODD", ["AAA001", "OURS005"], ["'ours-1' is not an id", "str is not a Rule"]),
            ("their_rules:NOTHING", ["AAA001"], ["TypeError"]),
            ("their_rules:ABSENT", ["AAA001"], ["AttributeError"]),
            ("not_installed", ["AAA001"], ["ModuleNotFoundError"]),
            ("their_broken_rules", ["AAA001"], ["RuntimeError: not today"]),
        ],
    )
    def test_what_breaks_is_told(self, value: str, ids: list[str], told: list[str]) -> None:
        ours = rule("AAA001")
        found = collect([module(ours)], [entry(value)])
        assert [one.id for one in found.rules] == ids
        assert found.rules[0] is ours
        assert [one.severity for one in found.diagnostics] == [Severity.WARNING] * len(told)
        for diagnostic, words in zip(found.diagnostics, told, strict=True):
            assert words in diagnostic.message
            assert value in diagnostic.where
            assert "\n" not in str(diagnostic)

    def test_two_with_one_id_in_the_order_of_names(self) -> None:
        plugins = [entry("their_rules:RULES", "b"), entry("their_rules", "a")]
        for order in (plugins, plugins[::-1]):
            found = collect([], order)
            assert [one.id for one in found.rules] == ["OURS001", "OURS002"]
            assert {one.where for one in found.diagnostics} == {"lint rules 'b' (their_rules:RULES)"}

    def test_the_installed_ones_are_asked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def entry_points(*, group: str) -> list[EntryPoint]:
            return [entry("their_rules:ONE")] if group == GROUP else []

        monkeypatch.setattr("trex_tui.old.plugins._is_named", lambda _: True)
        monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
        registry.cache_clear()
        try:
            assert registry().rule("ours003").title == "Ours"
        finally:
            registry.cache_clear()

    def test_thresholds_are_declared(self) -> None:
        found = collect([], [entry("their_rules")])
        assert found.thresholds == {"OURS001.least": 2.5, "OURS001.most": 7.0}

    def test_thresholds_of_the_configuration_reach_the_rule(self, tmp_path: Path) -> None:
        rules = collect([], [entry("their_rules")]).rules[:1]
        config = LintConfig(thresholds={"OURS001.least": 4.0, "OTHER001.most": 9.0})
        (judged,) = run(engine_of(tmp_path, 1.0), config, rules).findings
        assert judged.message == "It is ours: 4 7."
        assert judged.finding.rule == "OURS001"


class TestNames:
    FOUND = collect([module(rule("CONV001"), rule("CONV002"), rule("GEMM001"), rule("OK-TC"))])

    def test_families(self) -> None:
        assert self.FOUND.families == ("CONV", "GEMM", "OK")

    @pytest.mark.parametrize(
        ("name", "wanted"), [("conv", "CONV"), (" CONV001 ", "CONV001"), ("ok-tc", "OK-TC"), ("ok-", "OK")]
    )
    def test_in_any_case(self, name: str, wanted: str) -> None:
        assert self.FOUND.checked_name(name) == wanted

    @pytest.mark.parametrize(
        ("name", "hint"), [("CNOV001", "did you mean CONV001"), ("GEM", "GEMM"), ("\x1b[31m", "lists them")]
    )
    def test_unknown(self, name: str, hint: str) -> None:
        for ask in (self.FOUND.checked_name, self.FOUND.rule):
            with pytest.raises(TrexError, match=hint) as caught:
                ask(name)
            assert "\x1b" not in str(caught.value)
