"""The report as data and as Markdown, the command around it, and that its numbers are those of the other commands."""

from __future__ import annotations

import json
import math
import re
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


def table(engine: Any, name: str) -> list[dict[str, Any]]:
    found = [one for section in engine["sections"] for one in section["tables"] if one["id"] == name]
    assert len(found) == 1
    return list(found[0]["rows"])


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
    (linted,) = json.loads(run(capsys, "lint", "--format", "json", "--fail-on", "never", path)[1])["engines"]
    columns = "index,name,kind,precision,latency_ms,latency_pct,cumulative_pct,roof_pct,bound,tactic"
    layers = json.loads(
        run(capsys, "layers", path, "--columns", columns, "--sort", "latency_ms", "--format", "json")[1]
    )
    for row in table(engine, "figures"):
        value = summary
        for key in row["figure"].split("."):
            value = value[key]
        assert row["value"] == value
    assert table(engine, "hot_layers") == layers["layers"]
    for key in ("by_kind", "by_precision"):
        assert {row.pop("key"): row for row in table(engine, key)} == summary[key]
    latency = table(engine, "statistics")[0]
    assert latency["quantity"] == "latency"
    assert latency["p99_ms"] == summary["timing"]["latency"]["percentiles_ms"]["p99"]
    assert latency["count"] == summary["timing"]["queries"]
    bounds = {row["key"]: row["latency_ms"] for row in table(engine, "by_bound")}
    assert bounds == pytest.approx({key: summary["roofline"]["latency_ms_by_bound"][key] for key in bounds})
    assert [(one["name"], one["allocated_bytes"]) for one in table(engine, "live_at_peak")] == [
        (one["name"], one["allocated_bytes"]) for one in summary["memory"]["live_at_peak"]
    ]
    found = [(one["rule"], one["message"], one["saving_ms"], one["saving_pct"]) for one in linted["findings"]]
    assert [
        (one["rule"], one["message"], one["saving_ms"], one["saving_pct"])
        for one in table(engine, "findings")
    ] == found
    assert [one["rule"] for one in table(engine, "well_done")] == [one["rule"] for one in linted["positives"]]


@real
def test_comparison_is_that_of_diff(capsys):
    paths = (VISION / "alexnet", VISION / "resnet18")
    report = document(capsys, *paths, "--top", "5", "--baseline", "resnet18_fp16")
    compared = report["comparison"]["diff"]
    told = json.loads(run(capsys, "diff", *paths, "--json", "--baseline", "2")[1])
    assert compared["baseline"] == 1
    assert {**compared, "blocks": []} == {**told, "blocks": []}
    assert len(compared["blocks"]) == 5 < compared["blocks_total"]
    assert all(block in told["blocks"] for block in compared["blocks"])
    assert [one["name"] for one in report["engines"]] == ["alexnet_fp16", "resnet18_fp16"]


def test_shares_add_up_and_unknown_is_null(capsys, sample):
    (engine,) = document(capsys, sample, "--top", "2")["engines"]
    for key in ("by_kind", "by_precision"):
        assert math.fsum(row["latency_ms"] or 0.0 for row in table(engine, key)) == pytest.approx(0.2)
        assert math.fsum(row["latency_pct"] or 0.0 for row in table(engine, key)) == pytest.approx(100)
    hot = next(section for section in engine["sections"] if section["id"] == "hot-layers")
    assert hot["sentences"] == ["1 layer has no time in the profile."]
    assert (len(hot["tables"][0]["rows"]), hot["tables"][0]["rows_total"]) == (2, 5)
    assert hot["tables"][0]["rows"][0]["roof_pct"] is None
    units = {column["name"]: column["unit"] for column in hot["tables"][0]["columns"]}
    assert (units["latency_ms"], units["latency_pct"], units["name"]) == ("milliseconds", "percent", None)


def test_a_graph_alone_says_what_is_unknown(capsys, tmp_path):
    dynamic = layer("two", "Reformat", [tensor("t1", -1, 3)], [tensor("t2", -1, 3)], ParameterType="Reformat")
    write_graph(tmp_path / "a.graph.json", [*chain("one"), dynamic], ["t0", "t2"])
    (engine,) = document(capsys, tmp_path)["engines"]
    told = {section["id"]: section for section in engine["sections"]}
    assert told["hot-layers"]["tables"] == []
    assert "needs --exportProfile" in told["hot-layers"]["sentences"][0]
    assert "No end-to-end latency" in told["timing"]["sentences"][0]
    assert "build" not in told
    assert "latency_sum_ms" not in [row["figure"] for row in table(engine, "figures")]
    sizes = {row["key"]: row["footprint_bytes"] for row in table(engine, "memory_by_kind")}
    assert sizes.pop("reformat") is None
    assert None not in sizes.values()
    for form in ("md", "html"):
        code, out, _ = run(capsys, "report", tmp_path, "--format", form)
        assert code == 0
        assert "needs --exportProfile" in out


@pytest.mark.skipif(not (ARTIFACTS / "logs").is_dir(), reason=f"no real logs at {ARTIFACTS / 'logs'}")
def test_a_build_log_is_told(capsys):
    log = ARTIFACTS / "logs" / "trt8.6.0_RTX3090_build_verbose_fp16_dynshape_skipInference.log"
    (engine,) = document(capsys, log, "--top", "3")["engines"]
    told = json.loads(run(capsys, "build-log", log, "--json", "--top", "3")[1])
    slowest = table(engine, "slowest_tunings")
    assert [(one["name"], one["seconds"], one["tactics"]) for one in slowest] == [
        (one["name"], one["seconds"], one["tactics"]) for one in told["slowest_tunings"]
    ]
    assert [(one["line"], one["count"], one["text"]) for one in table(engine, "messages")] == [
        (one["line"], one["count"], one["text"]) for one in told["messages"][:3]
    ]
    assert "| warning | 3409 |" in run(capsys, "report", log, "--format", "md")[1]


@real
def test_golden_markdown(capsys):
    _, out, err = run(capsys, "report", VISION / "alexnet", "--top", "2")
    assert err == ""
    assert out == golden("report_alexnet.md", out)


def rounded(text: str) -> float:
    """The last digits of a sum are Python's own affair: 3.12 adds up more precisely than 3.11."""
    return float(f"{float(text):.9g}")


@real
def test_golden_json(capsys):
    _, out, _ = run(capsys, "report", VISION / "resnet18", "--top", "1", "--format", "json")
    tidy = json.dumps(json.loads(out.replace(str(VISION), "RESULTS"), parse_float=rounded), indent=1) + "\n"
    # An innermost object a line: the file stays short, and JSON.
    shown = re.sub(r"[{\[][^{}\[\]]*[}\]]", lambda found: " ".join(found[0].split()), tidy)
    assert shown == golden("report_resnet18.json", shown)


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
        assert "<" not in line.replace("<!-- trex-tui/report/2 -->", "")
        assert "](" not in line
        width = (width or cells(line)) if line.startswith("|") else 0
        assert width == (cells(line) if line.startswith("|") else 0)
    assert not fence
    assert fenced > 4
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", out)


def test_text_of_json_is_verbatim(capsys, tmp_path):
    (engine,) = document(capsys, write_hostile(tmp_path), "--top", "0")["engines"]
    assert sorted(row["name"] for row in table(engine, "hot_layers")) == sorted(HOSTILE[:-1])


def test_the_ending_names_the_format(capsys, tmp_path, sample):
    for name, start in (
        ("a.html", "<!DOCTYPE"),
        ("a.MD", "<!-- trex"),
        ("a.json", "{"),
        ("a.markdown", "<!-- trex"),
    ):
        assert run(capsys, "report", sample, "-o", tmp_path / name)[:2] == (0, "")
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)
    assert run(capsys, "report", sample, "-o", tmp_path / "a.txt", "--format", "md")[0] == 0
    assert run(capsys, "report", sample, "-o", "-", "--format", "html")[1].startswith("<!DOCTYPE")
    assert run(capsys, "report", sample)[1].startswith("<!-- trex")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["-o", "a.pdf"], "print it from a browser"),
        (["-o", "a.docx"], "unknown extension"),
        (["-o", "report"], "unknown extension"),
        (["-o", "no/such/a.html"], "directory no/such does not exist"),
        (["-o", "folder.html"], "is not a regular file"),
        (["-o", "notes.md"], "exists and was not written by `trex-tui report`"),
        (["-o", "set/net.graph.json", "--force"], "is an input file"),
        (["--baseline", "2"], "only one engine"),
    ],
)
def test_refused_in_a_line(capsys, tmp_path, monkeypatch, sample, arguments, why):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "notes.md").write_text("# mine\n")
    graph = (sample / "net.graph.json").read_bytes()
    code, out, err = run(capsys, "report", "set", *arguments)
    assert (code, out) == (2, "")
    assert why in err.splitlines()[-1]
    assert "Traceback" not in err
    assert (sample / "net.graph.json").read_bytes() == graph
    assert (tmp_path / "notes.md").read_text() == "# mine\n"
    assert not list(tmp_path.glob("*.tmp"))


@pytest.mark.parametrize("ending", ["html", "md", "json"])
def test_a_report_is_written_again_and_another_file_only_by_force(capsys, tmp_path, sample, ending):
    target = tmp_path / f"out.{ending}"
    assert run(capsys, "report", sample, "-o", target)[0] == 0
    first = target.read_bytes()
    assert run(capsys, "report", sample, "-o", target)[0] == 0
    assert target.read_bytes() == first
    target.write_text("something else")
    assert run(capsys, "report", sample, "-o", target)[0] == 2
    assert run(capsys, "report", sample, "-o", target, "--force")[0] == 0
    assert target.read_bytes() == first


def test_a_broken_engine_costs_itself(capsys, tmp_path):
    write_profile(tmp_path / "a" / "a.profile.json", [("one", 1.0)])
    write_profile(tmp_path / "b" / "b.profile.json", [("one", 2.0)])
    (tmp_path / "b" / "b.profile.json").write_text('[{"count": 5}, {"name')
    code, out, err = run(capsys, "report", tmp_path, "--format", "json")
    assert code == 0
    assert "b.profile.json" in err
    report = json.loads(out)
    assert [one["name"] for one in report["engines"]] == ["a"]
    assert report["comparison"] is None
    assert "b.profile.json" in report["diagnostics"][0]["file"]


def test_the_state_of_the_machine_stands_before_the_times(capsys):
    (engine,) = document(capsys, OLD_SAMPLES / "alexnet")["engines"]
    (summary,) = json.loads(run(capsys, "summary", "--json", OLD_SAMPLES / "alexnet")[1])["engines"]
    titles = [section["id"] for section in engine["sections"]]
    assert titles.index("cover") < titles.index("timing")
    (cover,) = [section for section in engine["sections"] if section["id"] == "cover"]
    said = " ".join(cover["sentences"]).lower()
    assert summary["capture"]["doubts"]
    assert all(doubt["text"].lower() in said for doubt in summary["capture"]["doubts"])
