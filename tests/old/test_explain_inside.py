"""`trex-tui explain`: terms, columns and rules by every name they have."""

from __future__ import annotations

import pytest

from helpers import strict_json
from test_explain import Capture, out
from trex_tui.old.analysis.columns import ALL_COLUMNS
from trex_tui.old.report.glossary.registry import all_subjects
from trex_tui.old.report.glossary.words import WORDS


@pytest.mark.parametrize("column", ALL_COLUMNS, ids=lambda column: column.name)
def test_each_column(capsys: Capture, column: object) -> None:
    name = str(getattr(column, "name", ""))
    text = out(capsys, name)
    assert text.startswith(f"{name}\n  ")
    assert "\n  source  " in text


def test_everything_in_groups(capsys: Capture) -> None:
    text = out(capsys)
    for subject in all_subjects():
        assert f"{subject.title}  (" in text
    assert "\n  latency.p99_ms  " in text
    assert "\n  CONV " in text


def test_json(capsys: Capture) -> None:
    document = strict_json(out(capsys, "--json"))
    assert document["schema"] == "trex-tui/explain/2"
    assert len(document["terms"]) == sum(len(subject.terms) for subject in (*all_subjects(), *WORDS))
    (term,) = strict_json(out(capsys, "--json", "roof_ms"))["terms"]
    assert (term["key"], term["unit"]) == ("roof_ms", "milliseconds")
    assert term["formula"].startswith("max(")
    (rule,) = strict_json(out(capsys, "--json", "GEMM001"))["rules"]
    assert rule["id"] == "GEMM001"
