"""SARIF: a log that keeps the rules of the format (OASIS, SARIF 2.1.0), checked property by property.

Every object may hold only the properties that the standard gives it, and must hold those it requires, with values of their
types; references by index must point at what they name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from helpers import strict_json
from linting_kit import HOSTILE, engine_of, rule, use_rules
from trex_tui.__main__ import main
from trex_tui.config import CONFIG_NAME
from trex_tui.lint.rule import ERROR, GOOD, INFO, NotChecked, finding
from trex_tui.report.sarif import write_sarif

__all__ = ["use_rules"]

LEVELS = {"none", "note", "warning", "error"}


def text(value: Any) -> None:
    assert isinstance(value, str)


def some_text(value: Any) -> None:
    text(value)
    assert value.strip()


def whole(value: Any) -> None:
    assert type(value) is int
    assert value >= 0


def flag(value: Any) -> None:
    assert type(value) is bool


def anything(value: Any) -> None:
    assert isinstance(value, dict)


def one_of(*words: str) -> Callable[[Any], None]:
    def check(value: Any) -> None:
        assert value in words

    return check


def uri_reference(value: Any) -> None:
    """RFC 3986, relative: nothing that is not allowed in it, no scheme, no leading slash."""
    some_text(value)
    assert re.fullmatch(r"(?:[A-Za-z0-9._~/-]|%[0-9A-F]{2})+", value)
    assert not urlsplit(value).scheme
    assert not value.startswith("/")


def absolute_uri(value: Any) -> None:
    assert urlsplit(value).scheme == "https"


def several(check: Callable[[Any], None], least: int = 0, *, unique: bool = False) -> Callable[[Any], None]:
    def check_all(value: Any) -> None:
        assert isinstance(value, list)
        assert len(value) >= least
        for one in value:
            check(one)
        if unique:
            assert all(one not in value[:place] for place, one in enumerate(value))

    return check_all


def obj(required: Mapping[str, Any] | None = None, **optional: Any) -> Callable[[Any], None]:
    wanted = dict(required or {})

    def check(value: Any) -> None:
        assert isinstance(value, dict)
        assert set(wanted) <= set(value)
        for key, one in value.items():
            assert key in wanted or key in optional, key
            (wanted.get(key) or optional[key])(one)

    return check


def texts_by_name(value: Any) -> None:
    assert isinstance(value, dict)
    for one in value.values():
        text(one)


MESSAGE = obj({"text": some_text})
ARTIFACT_LOCATION = obj({"uri": uri_reference})
LOCATION = obj(
    physicalLocation=obj({"artifactLocation": ARTIFACT_LOCATION}),
    logicalLocations=several(obj(name=text, fullyQualifiedName=text, kind=some_text), unique=True),
)
SUPPRESSION = obj(
    {"kind": one_of("inSource", "external")},
    justification=some_text,
)
RESULT = obj(
    {"message": MESSAGE},
    ruleId=some_text,
    ruleIndex=whole,
    kind=one_of("notApplicable", "pass", "fail", "review", "open", "informational"),
    level=one_of(*LEVELS),
    locations=several(LOCATION),
    partialFingerprints=texts_by_name,
    suppressions=several(SUPPRESSION, unique=True),
    properties=anything,
)
DESCRIPTOR = obj(
    {"id": some_text},
    shortDescription=MESSAGE,
    fullDescription=MESSAGE,
    help=MESSAGE,
    defaultConfiguration=obj(level=one_of(*LEVELS)),
    properties=anything,
)
NOTIFICATION = obj({"message": MESSAGE}, level=one_of(*LEVELS), associatedRule=obj(id=some_text, index=whole))
RUN = obj(
    {
        "tool": obj(
            {"driver": obj({"name": some_text}, version=some_text, rules=several(DESCRIPTOR, unique=True))}
        )
    },
    invocations=several(obj({"executionSuccessful": flag}, toolExecutionNotifications=several(NOTIFICATION))),
    artifacts=several(obj(location=ARTIFACT_LOCATION), unique=True),
    results=several(RESULT),
    columnKind=one_of("utf16CodeUnits", "unicodeCodePoints"),
)
LOG = obj({"version": one_of("2.1.0"), "runs": several(RUN)}, **{"$schema": absolute_uri})


def valid(document: Any) -> Any:
    """The run of a log that keeps the rules."""
    LOG(document)
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
    engine_of(folder, 2.0, 3.0, names=[HOSTILE, "two"])
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

    def test_only_chosen_rules(self, log: Callable[..., Any]) -> None:
        run = log("--select", "CONV")
        assert [one["id"] for one in run["tool"]["driver"]["rules"]] == ["CONV001", "CONV002"]

    def test_outside_of_the_current_directory(
        self, log: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "deep").mkdir()
        (tmp_path / "deep" / "a b%").symlink_to(tmp_path / "a b%")
        monkeypatch.chdir(tmp_path / "deep")
        uris = [one["location"]["uri"] for one in log()["artifacts"]]
        assert all(one.startswith(("a%20b%25/", "../")) for one in uris)

    def test_nothing_at_all(self) -> None:
        run = valid(strict_json(write_sarif([], [])))
        assert run["results"] == []


@pytest.mark.parametrize(
    "broken",
    [
        lambda log: log.pop("version"),
        lambda log: log["runs"][0]["results"][0].pop("message"),
        lambda log: log["runs"][0]["results"][0].update(level="fatal"),
        lambda log: log["runs"][0]["results"][0].update(rule="X"),
        lambda log: log["runs"][0]["results"][0].update(ruleIndex=1),
        lambda log: log["runs"][0]["artifacts"].append({"location": {"uri": "file:///etc"}}),
        lambda log: log["runs"][0]["tool"]["driver"].pop("name"),
    ],
)
@pytest.mark.usefixtures("log")
def test_the_check_sees_what_is_wrong(
    capsys: pytest.CaptureFixture[str], broken: Callable[[Any], Any]
) -> None:
    main(["lint", "a b%", "--format", "sarif"])
    document = strict_json(capsys.readouterr().out)
    broken(document)
    with pytest.raises(AssertionError):
        valid(document)


def test_against_the_schema_itself(log: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    """By classes that were generated from the schema of the standard, and take no property that it does not have."""
    schema = pytest.importorskip("pydantic_sarif.model", reason="pydantic-sarif is not installed")
    wanted = schema.StaticAnalysisResultsFormatSarifVersion210JsonSchema
    Path(CONFIG_NAME).write_text('[[lint.suppress]]\nrules = ["CONV001"]\nlayers = "two"\nreason = "fine"\n')
    main(["lint", "a b%", "--format", "sarif"])
    document = strict_json(capsys.readouterr().out)
    assert len(wanted.model_validate(document).runs[0].results) == len(log()["results"])
    document["runs"][0]["results"][0]["rule"] = "X"
    with pytest.raises(ValueError, match="rule"):
        wanted.model_validate(document)
