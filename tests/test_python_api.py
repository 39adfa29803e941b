"""The Python API: the same numbers as the commands, names that last, damage stated in every result."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import trex_tui
from helpers import REPOSITORY
from trex_tui import TrexError, diff, findings, load_engine, load_engines, summary
from trex_tui.__main__ import main

SAMPLES = REPOSITORY / "sample_artifacts"
FP16, QAT = SAMPLES / "resnet-a100" / "fp16", SAMPLES / "resnet-a100" / "qat"


def run_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert main([*map(str, arguments), "--json"]) in (0, 1)
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_every_public_name_exists() -> None:
    for name in trex_tui.__all__:
        assert getattr(trex_tui, name) is not None
    with pytest.raises(AttributeError):
        trex_tui.no_such_name  # noqa: B018 - it raises


def test_results_are_those_of_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    engine, other = load_engine(FP16), load_engine(QAT)
    (of_command,) = run_json(capsys, "summary", FP16)["engines"]
    assert summary(engine).to_dict()["timing"] == of_command["timing"]
    assert findings(other).to_dict()["engines"] == run_json(capsys, "lint", QAT)["engines"]
    assert diff(engine, other).to_dict()["verdicts"] == run_json(capsys, "diff", FP16, QAT)["verdicts"]
    assert summary(engine).frame["latency_ms"].sum() == pytest.approx(engine.latency_sum_ms)
    assert diff(engine, other).frame["a_latency_ms"].sum() == pytest.approx(engine.latency_sum_ms)


def test_pages_and_charts() -> None:
    pytest.importorskip("altair")
    pytest.importorskip("jinja2")
    engine = load_engine(FP16)
    assert summary(engine)._repr_html_().lower().startswith("<!doctype html>")
    assert "Hottest layers" in str(summary(engine))
    assert trex_tui.chart(engine, "kind").to_dict()
    with pytest.raises(TrexError):
        trex_tui.chart(engine, "nosuch")


def test_damage_is_stated_in_every_result(tmp_path: Path) -> None:
    shutil.copytree(FP16, tmp_path / "set")
    profile = next((tmp_path / "set").glob("*.profile.json"))
    profile.write_bytes(profile.read_bytes()[:1000])
    broken = load_engine(tmp_path / "set")
    for result in (summary(broken), findings(broken), diff(broken, load_engine(QAT))):
        for text in (str(result), json.dumps(result.to_dict())):
            assert profile.name in text


def test_several_engines_are_loaded_or_refused() -> None:
    assert len(load_engines(SAMPLES / "resnet-a100")) == 3
    with pytest.raises(TrexError, match="has 3 engines"):
        load_engine(SAMPLES / "resnet-a100")
