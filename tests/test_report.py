"""The report as data and as Markdown, the command around it, and that its numbers are those of the other commands."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers import (
    ARTIFACTS,
    OLD_SAMPLES,
    chain,
    golden,
    layer,
    strict_json,
    tensor,
    write_graph,
    write_profile,
    write_sample_set,
)
from test_report_page import HOSTILE, write_hostile
from trex_tui.__main__ import main

VISION = ARTIFACTS / "edge-vision" / "results"
real = pytest.mark.skipif(not VISION.is_dir(), reason=f"no real artifacts at {VISION}")


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = main([str(one) for one in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def document(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:
    code, out, _ = run(capsys, "report", "--format", "json", *arguments)
    assert code == 0
    return strict_json(out)


@pytest.fixture(autouse=True)
def without_altair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures take most of the time; tests of the page have them."""
    monkeypatch.setitem(sys.modules, "altair", None)


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    folder = tmp_path / "set"
    return write_sample_set(folder)


@pytest.mark.parametrize("name", ["alexnet", "resnet18"])
@real
def test_numbers_are_those_of_the_other_commands(capsys, name):
    path = VISION / name
    (engine,) = document(capsys, path, "--top", "0")["engines"]
    (summary,) = json.loads(run(capsys, "summary", "--json", path)[1])["engines"]
    (linted,) = json.loads(run(capsys, "lint", "--json", "--fail-on", "never", path)[1])["engines"]
    columns = "index,name,kind,precision,latency_ms,latency_pct,tactic"
    listed = json.loads(
        run(capsys, "layers", path, "--columns", columns, "--sort", "latency_ms", "--json")[1]
    )
    own = "numbers findings positives not_checked hot_layers by_module by_tactic memory_by_kind live_at_peak"
    keys = engine.keys() - set(own.split())
    assert {key: engine[key] for key in keys} == {key: summary[key] for key in keys}
    assert engine["hot_layers"] == listed["layers"]
    assert engine["numbers"]["latency_median_ms"] == summary["timing"]["latency"]["median_ms"]
    keys = ["rule", "message", "saving_ms", "saving_pct", "remedy"]
    assert [[one[key] for key in keys] for one in engine["findings"]] == [
        [one[key] for key in keys] for one in linted["findings"]
    ]
    assert [one["rule"] for one in engine["positives"]] == [one["rule"] for one in linted["positives"]]


@real
def test_comparison_is_that_of_diff(capsys):
    paths = (VISION / "alexnet", VISION / "resnet18")
    report = document(capsys, *paths, "--top", "5")
    told = json.loads(run(capsys, "diff", *paths, "--json")[1])
    assert report["comparison"] == {key: told[key] for key in told if key not in ("schema", "diagnostics")}
    assert [one["name"] for one in report["engines"]] == ["alexnet_fp16", "resnet18_fp16"]
    page = run(capsys, "report", *paths)[1]
    assert "# TensorRT engine report: alexnet\\_fp16 · resnet18\\_fp16\n" in page
    assert "### B against A: " in page


def test_more_engines_than_can_be_compared_are_listed(capsys, tmp_path):
    for place, name in enumerate("abcde", start=1):
        write_profile(tmp_path / name / f"{name}.profile.json", [("one", float(place))])
    report = document(capsys, tmp_path)
    assert [one["name"] for one in report["engines"]] == list("abcde")
    assert "comparison" not in report
    page = run(capsys, "report", tmp_path)[1]
    assert re.search(r"^\| e \| .*5\.0000 ", page, re.MULTILINE)


def test_shares_add_up_and_unknown_is_null(capsys, sample):
    (engine,) = document(capsys, sample, "--top", "2")["engines"]
    for key in ("by_kind", "by_precision"):
        assert math.fsum(row["latency_ms"] or 0.0 for row in engine[key]) == pytest.approx(0.2)
        assert math.fsum(row["latency_pct"] or 0.0 for row in engine[key]) == pytest.approx(100)
    assert len(engine["hot_layers"]) == 2
    assert "2 of 5 layers; --top 0" in run(capsys, "report", sample, "--top", "2")[1]


def test_a_graph_alone_says_what_is_unknown(capsys, tmp_path):
    dynamic = layer("two", "Reformat", [tensor("t1", -1, 3)], [tensor("t2", -1, 3)], ParameterType="Reformat")
    write_graph(tmp_path / "a.graph.json", [*chain("one"), dynamic], ["t0", "t2"])
    (engine,) = document(capsys, tmp_path)["engines"]
    assert "hot_layers" not in engine
    assert "tuned" not in engine
    assert set(engine["numbers"]) == {"weights_bytes", "layers", "sentences"}
    sizes = {row["kind"]: row["footprint_allocated_bytes"] for row in engine["memory_by_kind"]}
    assert sizes.pop("reformat") is None
    assert None not in sizes.values()
    for form in ("md", "html"):
        code, out, _ = run(capsys, "report", tmp_path, "--format", form)
        assert code == 0
        assert "needs --exportProfile" in out
        assert "No end-to-end latency" in out


@pytest.mark.skipif(not (ARTIFACTS / "logs").is_dir(), reason=f"no real logs at {ARTIFACTS / 'logs'}")
def test_a_build_log_is_told(capsys):
    log = ARTIFACTS / "logs" / "trt8.6.0_RTX3090_build_verbose_fp16_dynshape_skipInference.log"
    told = json.loads(run(capsys, "build-log", log, "--json")[1])
    (engine,) = document(capsys, log, "--top", "0")["engines"]
    assert {one["line"]: one["seconds"] for one in engine["build_tactics"]} == {
        one["line"]: one["seconds"] for one in told["tuned"]
    }
    text = run(capsys, "report", log, "--top", "3")[1]
    assert f"engine built in {told['build_seconds']:.3f} s" in text
    assert "| warning | 3409 | 1 | TensorRT encountered issues when converting weights" in text


@real
def test_golden_markdown(capsys):
    """The charts are drawn elsewhere: here stand their titles alone."""
    _, out, err = run(capsys, "report", VISION / "alexnet", "--top", "2")
    assert err == ""
    shown = re.sub("```text\n(.*)\n[^`]*```", r"[\1]", out)
    assert shown == golden("report_alexnet.md", shown)


def cells(line: str) -> int:
    return len(re.split(r"(?<!\\)\|", line)) - 2


def test_markdown_holds_together_whatever_names_say(capsys, tmp_path):
    code, out, _ = run(capsys, "report", write_hostile(tmp_path / "a"), write_hostile(tmp_path / "b", 2.0))
    assert code == 0
    fence, width, fenced = "", 0, 0
    for line in out.splitlines():
        if fence:
            fence = "" if line == fence else fence
            continue
        if line.startswith("```"):
            fence, fenced = line.removesuffix("text"), fenced + 1
        if line.startswith("<details><summary>") or line == "</details>":
            assert line.count("<") in (1, 3)
            continue
        assert "<" not in line.replace("<!-- trex-tui/report/3 -->", "")
        assert "](" not in line
        width = (width or cells(line)) if line.startswith("|") else 0
        assert width == (cells(line) if line.startswith("|") else 0)
    assert not fence
    assert fenced > 4
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", out)


def test_text_of_json_is_verbatim(capsys, tmp_path):
    (engine,) = document(capsys, write_hostile(tmp_path), "--top", "0")["engines"]
    assert sorted(row["name"] for row in engine["hot_layers"]) == sorted(HOSTILE[:-1])


def test_the_state_of_the_machine_stands_before_the_times(capsys):
    (engine,) = document(capsys, OLD_SAMPLES / "alexnet")["engines"]
    (summary,) = json.loads(run(capsys, "summary", "--json", OLD_SAMPLES / "alexnet")[1])["engines"]
    said = " ".join(engine["numbers"]["sentences"]).lower()
    assert summary["capture"]["doubts"]
    assert all(doubt["text"].lower() in said for doubt in summary["capture"]["doubts"])
    page = run(capsys, "report", OLD_SAMPLES / "alexnet")[1]
    assert page.index("At a glance") < page.index("Performance")


def test_an_interactive_page_is_html(capsys, sample):
    code, out, err = run(capsys, "report", sample, "--interactive")
    assert (code, out) == (2, "")
    assert "--interactive needs HTML" in err
