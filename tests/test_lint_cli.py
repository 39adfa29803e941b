"""`trex-tui lint`: exit codes, options and forms, with names that mean harm."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers import strict_json
from lint_kit import HOSTILE, rule, timed_engine, use_rules
from trex_tui.__main__ import main
from trex_tui.config import CONFIG_NAME
from trex_tui.lint.rule import ERROR, GOOD, HIGH, NotChecked, Rule, finding

__all__ = ["use_rules"]

FORMATS = ("text", "json", "sarif", "github", "md")
WORDS = f"Found in {HOSTILE}."


def rules() -> list[Rule]:
    first = finding(
        WORDS,
        (0, 1),
        savings={0: 1.0},
        confidence=HIGH,
        estimate="assumes half of it",
        evidence={"tactic": HOSTILE, "share": float("nan")},
        remedy=f"Rename {HOSTILE}",
    )
    return [
        rule("CONV001", first, title=f"Bad {HOSTILE}"),
        rule(
            "CONV002", finding("Two.", (1,), savings={1: 0.03}), finding("Little.", (0,), savings={0: 0.01})
        ),
        rule("BUILD003", finding("No cache."), is_remark=True),
        rule("MEASURE003", NotChecked("MEASURE003", "no device: keep the log", 2), severity=ERROR),
        rule("BUILD001", NotChecked("BUILD001", f"no {HOSTILE}"), NotChecked("BUILD001", "no log")),
        rule("OK-TC", finding("All 2 do.", (0,)), severity=GOOD),
    ]


@pytest.fixture
def run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    use_rules: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., tuple[int, str, str]]:
    """Run the command over an engine of hostile names, in the directory of its files."""
    monkeypatch.chdir(tmp_path)
    timed_engine(tmp_path, 2.0, 3.0, names=[HOSTILE, "two"])
    use_rules(*rules())

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["lint", *arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


class TestExitCode:
    @pytest.mark.parametrize(
        ("options", "code"),
        [
            ([], 0),
            (["--fail-on", "error"], 0),
            (["--fail-on", "warning"], 1),
            (["--fail-on", "info"], 1),
            (["--fail-on", "never"], 0),
            (["--fail-on", "warning > 0"], 1),
            (["--fail-on", "warning > 1"], 0),
            (["--fail-on", "findings>=2"], 1),
            (["--fail-on", "error > 0"], 0),
            (["--fail-on", "warning", "--ignore", "CONV001"], 0),
            (["--fail-on", "info", "--ignore", "conv001"], 1),
            (["--fail-on", "info", "--ignore", "CONV"], 0),
            (["--fail-on", "warning", "--select", "CONV002,OK"], 0),
            (["--fail-on", "warning", "--select", "OK", "--select", "CONV001"], 1),
            (["--fail-on", "info", "--filter", "two", "--min-severity", "warning"], 1),
            (["--fail-on", "info", "--filter", "nothing"], 0),
        ],
    )
    @pytest.mark.parametrize("form", FORMATS)
    def test_something_as_severe_remains(self, run: Any, options: list[str], code: int, form: str) -> None:
        assert run(*options, "--format", form)[0] == code

    def test_says_why(self, run: Any) -> None:
        assert run("--fail-on", "info")[2] == "trex-tui: gate failed: info: net: 1 warning, 1 info\n"
        assert run("--fail-on", "error")[2] == ""
        assert (
            run("--fail-on", "findings > 1")[2]
            == "trex-tui: gate failed: findings > 1: net: 1 warning, 1 info\n"
        )

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (["--select", "CONF001"], "--select: no rule or family 'CONF001'; did you mean CONV001"),
            (["--ignore", "x"], "--ignore: no rule or family 'x'"),
            (["--filter", "kind:"], "--filter: "),
            (["--fail-on", "good"], "--fail-on: good is invalid; use one of error, warning, info, never"),
            (
                ["--fail-on", "warnings > 1"],
                "unknown metric 'warnings' in gate 'warnings > 1'; did you mean warning",
            ),
            (["--fail-on", "warning > x"], "not a number in gate"),
            (["--config", "absent.toml"], "absent.toml: cannot be read"),
            (["--rules", "--format", "sarif"], "--format sarif: not available"),
            (["absent"], "absent"),
        ],
    )
    def test_bad_usage(self, run: Any, arguments: list[str], told: str) -> None:
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert told in err
        assert err.count("\n") == 1

    def test_the_file_says_too(self, run: Any) -> None:
        Path(CONFIG_NAME).write_text('[lint]\nfail_on = "warning"\nselect = ["CONV"]\nignore = ["CONV002"]\n')
        assert run()[0] == 1
        assert run("--fail-on", "error")[0] == 0
        assert run("--select", "CONV002")[0] == 0
        assert run("--ignore", "CONV001")[0] == 0
        Path("other.toml").write_text("")
        assert run("--config", "other.toml")[0] == 0

    def test_a_broken_rule_is_told(self, run: Any, use_rules: Callable[..., None]) -> None:
        use_rules(rule("BAD001", check=lambda _: 1 / 0), *rules())  # type: ignore[arg-type,return-value]
        code, out, err = run("--fail-on", "warning")
        assert code == 2, "what it would have found nobody knows"
        assert "BAD001: the rule failed: ZeroDivisionError" in out
        assert "CONV001" in out
        warning, _, last = err.splitlines()
        assert warning.endswith('net: rule BAD001 failed; see "not checked"')
        assert last.startswith(
            "trex-tui: error: 1 rule failed (BAD001): findings at or above warning are unknown"
        )
        assert [run(*options)[0] for options in ([], ["--ignore", "BAD"], ["--fail-on", "never"])] == [
            2,
            0,
            0,
        ]


def test_suppressions(run: Any) -> None:
    Path(CONFIG_NAME).write_text(
        '[[lint.suppress]]\nrules = ["CONV001"]\nlayers = "two"\nreason = "as | it <is>"\n'
        '[[lint.suppress]]\nrules = ["CONV001"]\nlayers = "nowhere"\nreason = "x"\n'
    )
    code, out, err = run("--format", "json")
    (engine,) = strict_json(out)["engines"]
    assert code == 0
    assert engine["suppressed"][0]["reason"] == "as | it <is>"
    assert [one["index"] for one in engine["findings"][0]["layers"]] == [0]
    assert err == f"trex-tui: info: {CONFIG_NAME}: lint.suppress[2]: suppression matches nothing\n"
    text = run()[1]
    assert "because as | it <is> (trex-tui.toml: lint.suppress[1])" in text
    assert "[1 two] because" in text
    assert "as \\| it &lt;is&gt;" in run("--format", "md")[1]


class TestForms:
    @pytest.mark.parametrize("form", FORMATS)
    def test_nothing_that_a_terminal_acts_on(self, run: Any, form: str) -> None:
        out = run("--format", form)[1]
        assert not set(out) & {"\x1b", "\r", "\u202e", "\x07"}

    def test_text(self, run: Any) -> None:
        out = run()[1]
        lines = out.splitlines()
        assert lines[:2] == ["net", "2 layers, layers 5.0000 ms."]
        assert lines[2].startswith("1 warning, 1 info; possible saving 1.0300 ms (20.60 %)")
        assert any(line.startswith("warning  CONV001  Bad evil ␛[31m") for line in lines)
        assert (
            "  saving 1.0000 ms (20.00 %); layers 5.0000 ms (100.00 %); confidence high; assumes half of it"
            in lines
        )
        assert "  MEASURE003 (2 layers): no device: keep the log" in lines
        assert "  OK-TC      All 2 do." in lines
        assert "  No cache. (BUILD003)" in lines
        assert "Little." not in out
        assert "  1 finding (CONV002)" in lines
        assert not any(line != line.rstrip() for line in lines)
        assert "Little." in run("--all")[1]

    def test_text_says_what_is_left_out(self, run: Any) -> None:
        assert "3 findings below --min-severity" in run("--min-severity", "warning")[1]
        assert "No findings." in run("--select", "OK")[1]
        assert "No rules run." in run("--select", "OK", "--ignore", "OK")[1]

    def test_json(self, run: Any) -> None:
        document = strict_json(run("--format", "json", "--fail-on", "warning")[1])
        assert (document["schema"], document["fail_on"], document["fails"]) == (
            "trex-tui/lint/3",
            "warning",
            True,
        )
        (engine,) = document["engines"]
        assert engine["counts"] == {"error": 0, "warning": 1, "info": 1, "good": 1}
        assert engine["saving_ms"] == pytest.approx(1.03)
        first, second = engine["findings"]
        assert first["message"] == WORDS
        assert first["layers"] == [{"index": 0, "name": HOSTILE}, {"index": 1, "name": "two"}]
        assert first["evidence"] == {"tactic": HOSTILE, "share": None}
        assert first["estimate"] == "assumes half of it"
        assert [one["message"] for one in engine["minor"]] == ["Little."]
        assert [one["rule"] for one in engine["reproducibility"]] == ["BUILD003"]
        assert (first["layer_ms"], first["saving_ms"], first["saving_pct"]) == (5.0, 1.0, 20.0)
        assert first["savings_ms"] == {"0": 1.0}
        assert (second["severity"], second["is_demoted"]) == ("info", True)
        assert [one["rule"] for one in engine["not_checked"]] == ["BUILD001", "BUILD001", "MEASURE003"]
        assert [one["rule"] for one in engine["positives"]] == ["OK-TC"]
        assert len({one["fingerprint"] for one in engine["findings"]}) == 2

    def test_github(self, run: Any) -> None:
        lines = run("--format", "github")[1].splitlines()
        assert len(lines) == 3
        assert lines[0].startswith("::warning file=net.graph.json,title=net%3A CONV001 Bad evil ␛[31m")
        assert lines[1].startswith("::notice file=net.graph.json,title=net%3A CONV002")
        assert lines[2].endswith("::1 warning, 1 info; possible saving 1.0300 ms (20.60 %25); "
                                 "2 rules not checked")  # fmt: skip
        for line in lines:
            command, title, message = re.fullmatch(r"::(\w+) file=[^,:]*,title=([^:,]*)::(.*)", line).groups()
            assert command in ("warning", "notice")
            assert not re.search("%(?!25|0A|3A|2C)", title + message)
        assert "%25%" not in lines[0]
        assert "%250A" in lines[0]  # of the name: it stays text

    def test_markdown(self, run: Any) -> None:
        out = run("--format", "md")[1]
        headings = [line for line in out.splitlines() if line.startswith("###")]
        assert len(headings) == 6
        assert headings[1] == "### info     CONV002  Title of CONV002"
        assert "<b>" not in out
        assert "@all" not in out
        assert not re.search(r"(?<!\\)[`\[]", out)
        assert "http://" not in out

    def test_several_engines_have_a_section_each(self, run: Any, tmp_path: Path) -> None:
        timed_engine(tmp_path / "b", 1.0, 1.0)
        (tmp_path / "c").mkdir()
        (tmp_path / "c" / "bad.graph.json").write_text("{")
        document = strict_json(run("--format", "json", ".")[1])
        assert [one["name"].rpartition("/")[0] for one in document["engines"]] == [tmp_path.name, "b"]
        assert len(document["diagnostics"]) == 1
        code, out, err = run(".")
        assert code == 2, "an engine that nobody could look at passes no gate"
        assert run("--fail-on", "never", ".")[0] == 0
        assert out.count("possible saving") == 2
        assert "bad.graph.json" in err

    def test_filter(self, run: Any) -> None:
        document = strict_json(run("--format", "json", "--filter", "evil")[1])
        (engine,) = document["engines"]
        assert [one["rule"] for one in engine["findings"]] == ["CONV001"]
        assert engine["saving_ms"] == 1.0

    def test_in_a_terminal_of_80_columns(self, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.setenv("COLUMNS", "80")
        plain = re.sub(r"\x1b\[[0-9;]*m", "", run()[1])
        assert "\x1b" not in plain
        headings = [line for line in plain.splitlines() if "CONV001" in line]
        assert max(len(line.rstrip()) for line in plain.splitlines() if line not in headings) <= 80


class TestRules:
    def test_list(self, run: Any) -> None:
        code, out, _ = run("--rules")
        assert code == 0
        assert [line.split()[0] for line in out.splitlines()[1:]] == sorted(one.id for one in rules())
        assert "MEASURE003  error     Title of MEASURE003" in out
