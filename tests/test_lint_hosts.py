"""SARIF: a log that keeps the rules of the format (OASIS, SARIF 2.1.0); references by index point at what they name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from helpers import strict_json
from lint_kit import HOSTILE, rule, timed_engine, use_rules
from trex_tui.__main__ import main
from trex_tui.config import CONFIG_NAME
from trex_tui.lint.rule import ERROR, GOOD, INFO, NotChecked, finding

__all__ = ["use_rules"]

SARIF = pytest.importorskip("pydantic_sarif.model", reason="pydantic-sarif is not installed")
SCHEMA = SARIF.StaticAnalysisResultsFormatSarifVersion210JsonSchema
"""Classes that were generated from the schema of the standard; they take no property that it does not have."""


def valid(document: Any) -> Any:
    """The run of a log that keeps the rules."""
    SCHEMA.model_validate(document)
    (run,) = document["runs"]
    listed = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert listed[result["ruleIndex"]]["id"] == result["ruleId"]
        # Section 3.27.10: a level other than `none` belongs to the kind `fail` alone.
        assert (result["level"] == "none") is (result["kind"] != "fail")
    for invocation in run["invocations"]:
        for one in invocation["toolExecutionNotifications"]:
            assert listed[one["associatedRule"]["index"]]["id"] == one["associatedRule"]["id"]
    # Section 3.27.23: either all results say whether they are suppressed, or none does.
    assert len({"suppressions" in one for one in run["results"]}) <= 1
    return run


@pytest.fixture
def log(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    use_rules: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., Any]:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "a b%"
    timed_engine(folder, 2.0, 3.0, names=[HOSTILE, "two"])
    bad = finding(f"Found in {HOSTILE}", (0, 1), savings={0: 1.0})
    use_rules(
        rule("OK-TC", finding("All do."), severity=GOOD),
        rule("CONV001", bad, bad, finding("The engine.", severity=ERROR)),
        rule("CONV002", finding("Hm.", (1,)), severity=INFO),
        rule("BUILD001", NotChecked("BUILD001", f"no {HOSTILE}")),
        rule("BUILD002", check=lambda _: 1 / 0),  # type: ignore[arg-type,return-value]
    )

    def run(*arguments: str) -> Any:
        main(["lint", "a b%", "--format", "sarif", *arguments])
        return valid(strict_json(capsys.readouterr().out))

    return run


class TestLog:
    def test_results(self, log: Callable[..., Any]) -> None:
        found = [(one["ruleId"], one["level"], one["kind"]) for one in log()["results"]]
        assert found == [
            ("CONV001", "error", "fail"),
            ("CONV001", "warning", "fail"),
            ("CONV001", "warning", "fail"),
            ("CONV002", "note", "fail"),
            ("OK-TC", "none", "pass"),
        ]

    def test_places(self, log: Callable[..., Any]) -> None:
        run = log()
        uris = {unquote(one["location"]["uri"]) for one in run["artifacts"]}
        assert uris == {"a b%/net.graph.json", "a b%/net.profile.json"}
        for result in run["results"]:
            (location,) = result["locations"]
            assert unquote(location["physicalLocation"]["artifactLocation"]["uri"]) == "a b%/net.graph.json"
        assert [one["name"] for one in run["results"][1]["locations"][0]["logicalLocations"]] == [
            HOSTILE,
            "two",
        ]
        assert run["results"][0]["locations"][0]["logicalLocations"] == [{"name": "net", "kind": "engine"}]

    def test_fingerprints_are_unique_and_stable(self, log: Callable[..., Any]) -> None:
        marks = [one["partialFingerprints"]["trexTuiFinding/v1"] for one in log()["results"]]
        assert len(set(marks)) == len(marks)
        assert [one["partialFingerprints"]["trexTuiFinding/v1"] for one in log()["results"]] == marks

    def test_what_was_not_checked_is_no_result(self, log: Callable[..., Any]) -> None:
        (invocation,) = log()["invocations"]
        told = [
            (one["associatedRule"]["id"], one["level"]) for one in invocation["toolExecutionNotifications"]
        ]
        assert told == [("BUILD001", "note"), ("BUILD002", "warning")]

    def test_suppressed(self, log: Callable[..., Any]) -> None:
        Path(CONFIG_NAME).write_text(
            '[[lint.suppress]]\nrules = ["CONV001"]\nlayers = "two"\nreason = "fine"\n'
        )
        by_length = [len(one["suppressions"]) for one in log()["results"]]
        assert sorted(by_length) == [0] * 5 + [1] * 2
        (one, *_) = [one for one in log()["results"] if one["suppressions"]]
        (suppression,) = one["suppressions"]
        assert suppression == {
            "kind": "external",
            "justification": f"fine ({CONFIG_NAME}: lint.suppress[1])",
        }

    def test_outside_of_the_current_directory(
        self, log: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "deep").mkdir()
        (tmp_path / "deep" / "a b%").symlink_to(tmp_path / "a b%")
        monkeypatch.chdir(tmp_path / "deep")
        uris = [one["location"]["uri"] for one in log()["artifacts"]]
        assert all(one.startswith(("a%20b%25/", "../")) for one in uris)


def test_the_check_sees_what_is_wrong(log: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    log()
    main(["lint", "a b%", "--format", "sarif"])
    document = strict_json(capsys.readouterr().out)
    document["runs"][0]["results"][0]["rule"] = "X"
    with pytest.raises(ValueError, match="rule"):
        valid(document)
