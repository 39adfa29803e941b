"""What configuration files say of lint, and how a suppression is written into one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers import chain, examples, write_graph
from lint_kit import HOSTILE, rule, rule_set
from trex_tui.api import load_engine
from trex_tui.config import CONFIG_NAME, PROJECT_NAME
from trex_tui.engine.filter import find_matches
from trex_tui.engine.model import Engine
from trex_tui.errors import TrexError
from trex_tui.lint.config import (
    LintConfig,
    Suppression,
    append_suppression,
    find_config,
    make_filter,
)
from trex_tui.lint.rule import FindingSeverity

RULES = rule_set(rule("CONV001"), rule("CONV003"), rule("OK-TC"))
WHOLE = """
[lint]
select = ["conv", "OK-TC"]
ignore = "CONV001"
min_severity = "info"
fail_on = "never"

[[lint.suppress]]
rules = ["CONV003"]
layers = 'name:*head*'
reason = "the head stays FP32"

[[lint.suppress]]
rules = "CONV"
reason = "judged"

[[lint.suppress]]
layers = "conv"
reason = "all of them"
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "work"
    directory.mkdir()
    monkeypatch.chdir(directory)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return directory


def read(text: str, name: str = CONFIG_NAME) -> LintConfig:
    Path(name).write_text(text, encoding="utf-8")
    return find_config(RULES)


class TestReading:
    def test_nothing(self) -> None:
        assert find_config(RULES) == LintConfig()
        assert read("[device.x]\nsms = 3\n") == LintConfig()

    def test_everything(self) -> None:
        place = f"{CONFIG_NAME}: lint.suppress"
        assert read(WHOLE) == LintConfig(
            select=("CONV", "OK-TC"),
            ignore=("CONV001",),
            min_severity=FindingSeverity.INFO,
            fail_on=None,
            suppressions=(
                Suppression(("CONV003",), "name:*head*", "the head stays FP32", f"{place}[1]"),
                Suppression(("CONV",), "", "judged", f"{place}[2]"),
                Suppression((), "conv", "all of them", f"{place}[3]"),
            ),
        )

    def test_of_a_project(self) -> None:
        text = WHOLE.replace("[lint", "[tool.trex-tui.lint")
        found = read(f'[project]\nname = "x"\n{text}', PROJECT_NAME)
        assert found.select == ("CONV", "OK-TC")
        assert found.suppressions[1].origin == f"{PROJECT_NAME}: tool.trex-tui.lint.suppress[2]"

    def test_a_project_without_our_table_may_be_anything(self) -> None:
        assert read("[[[ # another", PROJECT_NAME) == LintConfig()
        text = '[project.scripts]\ntrex-tui = "x"\n[tool.ruff]\nline-length = 9'
        assert read(text, PROJECT_NAME) == LintConfig()
        with pytest.raises(TrexError, match=PROJECT_NAME):
            read("[[[\n[tool.trex-tui.lint]", PROJECT_NAME)

    def test_the_stronger_file_wins(self, tmp_path: Path) -> None:
        home = tmp_path / "config" / "trex-tui" / CONFIG_NAME
        home.parent.mkdir(parents=True)
        home.write_text(
            '[lint]\nselect = ["OK"]\nfail_on = "info"\n[[lint.suppress]]\nlayers = "a"\nreason = "home"'
        )
        Path(PROJECT_NAME).write_text(
            '[tool.trex-tui.lint]\nselect = ["CONV001"]\n[[tool.trex-tui.lint.suppress]]\nlayers = "b"\nreason = "project"'
        )
        Path(CONFIG_NAME).write_text('[lint]\nselect = ["CONV"]')
        found = find_config(RULES)
        assert found.select == ("CONV",)
        assert found.fail_on is FindingSeverity.INFO
        assert [one.reason for one in found.suppressions] == ["home", "project"]

    def test_one_file_alone(self, tmp_path: Path) -> None:
        Path(CONFIG_NAME).write_text('[lint]\nselect = ["CONV"]')
        other = tmp_path / "other.toml"
        other.write_text('[lint]\nignore = ["CONV"]')
        assert find_config(RULES, other) == LintConfig(ignore=("CONV",))
        with pytest.raises(TrexError, match=r"absent\.toml: cannot be read"):
            find_config(RULES, tmp_path / "absent.toml")

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("lint = 3", ":1: lint must be a table; write [lint]"),
            ('[lint]\nselct = ["CONV"]', ":2: lint.selct: no key 'selct'; did you mean select?"),
            ('[lint]\nselect = ["CNV001"]', "lint.select: no rule or family 'CNV001'; did you mean CONV001"),
            ("[lint]\nignore = 3", ":2: lint.ignore must be a list of strings; write ["),
            ("[lint]\nignore = [3]", "lint.ignore must be a list"),
            (
                '[lint]\nmin_severity = "worst"',
                ("lint.min_severity: worst is invalid; use one of error, warning"),
            ),
            ('[lint]\nfail_on = ["error"]', "lint.fail_on: "),
            ('[lint]\nfail_on = "good"', "lint.fail_on: good is invalid; use one of"),
            ("[lint]\nsuppress = 3", ":2: lint.suppress must be tables; write [[lint.suppress]]"),
            ('[[lint.suppress]]\nlayers = "a"', "lint.suppress[1]: reason is missing"),
            (
                '[[lint.suppress]]\nlayers = "a"\nreason = " "',
                ':1: lint.suppress[1]: reason is missing; add reason = "…"',
            ),
            (
                '[[lint.suppress]]\nlayers = "a"\nreason = 3',
                ":3: lint.suppress[1].reason must be a string; put it in quotes",
            ),
            ('[[lint.suppress]]\nreason = "x"', "lint.suppress[1]: rules or layers are missing"),
            (
                '[[lint.suppress]]\nrules = ["X"]\nreason = "x"',
                ":2: lint.suppress[1].rules: no rule or family",
            ),
            ('[[lint.suppress]]\nlayer = "a"\nreason = "x"', "did you mean layers"),
            ('[lint]\n"\\u001b[31m" = 3', "no key"),
        ],
    )
    def test_errors_name_file_and_key(self, text: str, told: str) -> None:
        with pytest.raises(TrexError) as caught:
            read(text)
        assert re.match(rf"{CONFIG_NAME}(:\d+)?: ", str(caught.value))
        assert told in str(caught.value)
        assert "\n" not in str(caught.value)
        assert "\x1b" not in str(caught.value)


class TestWriting:
    def test_a_new_file(self) -> None:
        path = Path(CONFIG_NAME)
        written = append_suppression(path, ["CONV001"], 'name:"a b"', "as it is", RULES)
        assert written == Suppression(
            ("CONV001",), 'name:"a b"', "as it is", f"{CONFIG_NAME}: lint.suppress[1]"
        )
        assert path.read_text() == (
            '[[lint.suppress]]\nrules = ["CONV001"]\nlayers = "name:\\"a b\\""\nreason = "as it is"\n'
        )
        assert find_config(RULES).suppressions == (written,)

    @pytest.mark.parametrize(
        "before",
        [
            b"# mine\n",
            b"# no newline at the end",
            b'[lint]\r\nselect = ["CONV"]  # \xc3\xa4\r\n',
            b'[[lint.suppress]]\nrules = ["OK"]\nreason = "x"\n\n\n',
            b"",
        ],
    )
    def test_what_is_there_stays_byte_for_byte(self, before: bytes) -> None:
        path = Path(CONFIG_NAME)
        path.write_bytes(before)
        kept = find_config(RULES)
        append_suppression(path, ["CONV"], "", "one", RULES)
        second = append_suppression(path, [], "conv", "two", RULES)
        assert path.read_bytes().startswith(before)
        found = find_config(RULES)
        assert found.suppressions[: len(kept.suppressions)] == kept.suppressions
        assert [one.reason for one in found.suppressions[-2:]] == ["one", "two"]
        assert found.suppressions[-1] == second
        assert found.select == kept.select
        added = path.read_bytes()[len(before) :]
        assert added.count(b"\r\n") == (added.count(b"\n") if b"\r\n" in before else 0)

    def test_into_a_project(self) -> None:
        path = Path(PROJECT_NAME)
        before = '[project]\nname = "x"\n'
        path.write_text(before)
        written = append_suppression(path, ["CONV"], "", "one", RULES)
        assert (
            path.read_text()
            == f'{before}\n[[tool.trex-tui.lint.suppress]]\nrules = ["CONV"]\nreason = "one"\n'
        )
        assert find_config(RULES).suppressions == (written,)

    @pytest.mark.parametrize(
        ("before", "arguments"),
        [
            ('lint = {suppress = [{rules = "OK", reason = "x"}]}\n', (["CONV"], "", "one")),
            ('[lint]\nsuppress = [{rules = "OK", reason = "x"}]\n', (["CONV"], "", "one")),
            ("[lint", (["CONV"], "", "one")),
            ("[lint]\nselct = 3\n", (["CONV"], "", "one")),
            ("", (["CNOV"], "", "one")),
            ("", (["CONV"], "", " \n")),
            ("", ([], "", "one")),
            ("", ([], "a\ud800", "one")),
        ],
    )
    def test_what_cannot_be_is_not_written(self, before: str, arguments: tuple[list[str], str, str]) -> None:
        path = Path(CONFIG_NAME)
        path.write_text(before)
        with pytest.raises(TrexError, match=CONFIG_NAME):
            append_suppression(path, *arguments, RULES)
        assert path.read_text() == before

    def test_where_nothing_can_be_written(self) -> None:
        Path(CONFIG_NAME).mkdir()
        with pytest.raises(TrexError, match=f"{CONFIG_NAME}: cannot be read"):
            append_suppression(Path(CONFIG_NAME), ["CONV"], "", "one", RULES)
        with pytest.raises(TrexError, match="cannot be written"):
            append_suppression(Path("absent") / CONFIG_NAME, ["CONV"], "", "one", RULES)

    @settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"]))
    )
    def test_any_text_is_read_again(self, layers: str, reason: str) -> None:
        Path(CONFIG_NAME).unlink(missing_ok=True)
        if reason.strip():
            written = append_suppression(Path(CONFIG_NAME), ["CONV"], layers, reason, RULES)
            assert (written.layers, written.reason) == (layers.strip(), " ".join(reason.split()))

    @pytest.mark.parametrize(
        "name", [HOSTILE, 'a "quoted" \\ name', "conv + relu", "-x", "not", "a*b", "ä\x1eb"]
    )
    def test_a_filter_of_exactly_some_layers(self, tmp_path: Path, name: str) -> None:
        write_graph(tmp_path / "net.graph.json", chain("one", name, "two", name + "x"), ["t0", "t4"])
        engine = load_engine(tmp_path)
        names = engine.layers["name"]
        for indices in ([1], [0, 1], [2, 3]):
            text = make_filter([names[index] for index in indices])
            assert found(engine, text) == indices
        written = append_suppression(Path(CONFIG_NAME), [], make_filter([names[1]]), "x", RULES)
        assert found(engine, written.layers) == [1]


def found(engine: Engine, text: str) -> list[int]:
    rows = find_matches(engine, text)
    return list(rows.index[rows])
