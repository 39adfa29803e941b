"""Which rules there are: the built-in ones and those of other packages."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from helpers import REPOSITORY
from lint_kit import rule, rule_set, timed_engine
from trex_tui.analysis.columns import ALL_COLUMNS
from trex_tui.errors import Severity, TrexError
from trex_tui.lint.rules import FAMILIES, GROUP, ID, RULES, collect, load_rules
from trex_tui.lint.run import run_rules

PLUGIN = """
from trex_tui.lint.rule import INFO, Rule, finding

def _check(context):
    yield finding("It is ours.")

def rule(rule_id):
    return Rule(rule_id, "Ours", INFO, looks_for="X.", why="Y.", remedy="Z.", check=_check)

RULES = (rule("OURS001"), rule("OURS002"))
ONE = rule("OURS003")
TAKEN = (rule("AAA001"), rule("OURS004"))
ODD = (rule("ours-1"), "no rule", rule("OURS005"))
NOTHING = 3
"""


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


class TestBuiltIn:
    def test_ids_are_unique_and_rules_complete(self) -> None:
        assert len({one.id for one in RULES}) == len(RULES)
        for one in RULES:
            assert ID.fullmatch(one.id)
            assert all((one.title, one.looks_for, one.why, one.remedy)), one.id
            assert set(one.columns) <= set(ALL_COLUMNS), one.id
            assert one.family in FAMILIES, one.id
        assert {one.family for one in RULES} == set(FAMILIES)

    def test_every_file_is_listed(self) -> None:
        folder = Path(str(importlib.import_module("trex_tui.lint.rules").__file__)).parent
        modules = {one.check.__module__.rpartition(".")[2] for one in RULES if one.family != "OK"}
        assert modules == {path.stem for path in folder.glob("*.py")} - {"__init__"}

    def test_a_saving_has_words_and_a_formula(self) -> None:
        for one in RULES:
            assert bool(one.estimate) <= bool(one.formula), one.id

    def test_covering_rules_exist(self) -> None:
        known = {one.id for one in RULES} | set(FAMILIES) | {"*"}
        for one in RULES:
            assert set(one.covered_by) <= known, one.id

    def test_rules_named_in_texts_exist(self) -> None:
        known = {one.id for one in RULES}
        for one in RULES:
            remedies = (one.remedy,) if isinstance(one.remedy, str) else one.remedy
            for text in (one.looks_for, one.why, one.not_when, *remedies):
                assert set(re.findall(r"\b[A-Z]{2,}\d{3}\b", text)) <= known, one.id


@pytest.mark.usefixtures("plugin")
class TestOtherPackages:
    @pytest.mark.parametrize(
        ("value", "ids"),
        [
            ("their_rules", ["AAA001", "OURS001", "OURS002"]),
            ("their_rules:RULES", ["AAA001", "OURS001", "OURS002"]),
            ("their_rules:ONE", ["AAA001", "OURS003"]),
        ],
    )
    def test_module_tuple_or_rule(self, value: str, ids: list[str]) -> None:
        found = collect([rule("AAA001")], [entry(value)])
        assert [one.id for one in found.rules] == ids
        assert found.notes == ()

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
    def test_what_fails_is_a_note(self, value: str, ids: list[str], told: list[str]) -> None:
        ours = rule("AAA001")
        found = collect([ours], [entry(value)])
        assert [one.id for one in found.rules] == ids
        assert found.rules[0] is ours
        assert [one.severity for one in found.notes] == [Severity.WARNING] * len(told)
        for note, words in zip(found.notes, told, strict=True):
            assert words in note.message
            assert value in note.where
            assert "\n" not in str(note)

    def test_the_installed_ones_are_asked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def entry_points(*, group: str) -> list[EntryPoint]:
            return [entry("their_rules:ONE")] if group == GROUP else []

        monkeypatch.setattr("trex_tui.lint.rules.entry_points", entry_points)
        load_rules.cache_clear()
        try:
            assert load_rules().find("ours003").title == "Ours"
        finally:
            load_rules.cache_clear()


def test_the_rule_of_the_documentation_works(tmp_path: Path) -> None:
    page = (REPOSITORY / "docs" / "lint-rules.md").read_text(encoding="utf-8")
    (source,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, object] = {}
    exec(source, names)  # noqa: S102 - our own page
    (found,) = run_rules(timed_engine(tmp_path, 1.0, 9.0), rules=rule_set(*names["RULES"])).findings  # type: ignore[misc]
    assert found.message == "'layer1' takes 9 ms, 90.0 %."


class TestNames:
    FOUND = rule_set(rule("CONV001"), rule("CONV002"), rule("GEMM001"), rule("OK-TC"))

    @pytest.mark.parametrize(
        ("name", "wanted"), [("conv", "CONV"), (" CONV001 ", "CONV001"), ("ok-tc", "OK-TC"), ("ok-", "OK")]
    )
    def test_in_any_case(self, name: str, wanted: str) -> None:
        assert self.FOUND.check_name(name) == wanted

    @pytest.mark.parametrize(
        ("name", "hint"), [("CNOV001", "did you mean CONV001"), ("GEM", "GEMM"), ("\x1b[31m", "lists them")]
    )
    def test_unknown(self, name: str, hint: str) -> None:
        for ask in (self.FOUND.check_name, self.FOUND.find):
            with pytest.raises(TrexError, match=hint) as caught:
                ask(name)
            assert "\x1b" not in str(caught.value)
