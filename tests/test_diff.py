"""`trex-tui diff`: its forms, its gates, its exit codes, and names that want to be more than names."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from helpers import ARTIFACTS, OLD_SAMPLES, chain, write_graph, write_profile
from trex_tui.__main__ import main

HOSTILE = "<script>alert(1)</script> | [x](javascript:x) `a` \x1b]0;t\x07 *b* &amp; \u202e ]]>"


class Tags(HTMLParser):
    """Every element that a browser would see."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - as in the base class
        self.tags.add(tag)


def engine_files(folder: Path, times: dict[str, float], name: str = "net") -> Path:
    write_graph(folder / f"{name}.graph.json", chain(*times), ["t0", f"t{len(times)}"])
    write_profile(folder / f"{name}.profile.json", list(times.items()))
    return folder


@pytest.fixture
def pair(tmp_path: Path) -> list[str]:
    """Three layers of the same names; the second is slower in B, and B has a fourth."""
    before = engine_files(tmp_path / "a", {"conv1": 1.0, "conv2": 2.0, "fc": 0.5})
    after = engine_files(tmp_path / "b", {"conv1": 1.0, "conv2": 2.5, "fc": 0.5, "extra": 0.25})
    return [str(before), str(after)]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["diff", *arguments])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def check_sums(document: dict[str, Any]) -> None:
    """Every layer is in one block, and every engine's blocks add up to its sum."""
    for engine in document["engines"]:
        name = engine["engine"].lower()
        times = [block[f"{name}_latency_ms"] for block in document["blocks"]]
        assert math.fsum(time or 0.0 for time in times) == pytest.approx(engine["latency_sum_ms"])
        indices = [index for block in document["blocks"] for index in block[f"{name}_layers"]]
        assert sorted(indices) == list(range(engine["layers"]))
        for block in document["blocks"]:
            assert len(block[f"{name}_names"]) == len(block[f"{name}_layers"])


def test_json_has_every_layer_once_and_adds_up(pair, capsys):
    code, out, err = run(capsys, *pair, "--json")
    document = json.loads(out)
    assert (code, err) == (0, "")
    assert document["schema"] == "trex-tui/diff/2"
    assert [engine["name"] for engine in document["engines"]] == ["a/net", "b/net"]
    assert document["verdict"]["outcome"] == "unknown"
    check_sums(document)
    by_delta = {tuple(block["b_names"]): block["b_delta_ms"] for block in document["blocks"]}
    assert by_delta[("conv2",)] == pytest.approx(0.5)
    extra = next(block for block in document["blocks"] if block["b_names"] == ["extra"])
    assert (extra["a_names"], extra["evidence"]) == ([], "none")
    assert document["differences"]["B"]["delta_ms"] == pytest.approx(0.75)
    reasons = document["differences"]["B"]["reasons"]
    assert math.fsum(reason["delta_ms"] for reason in reasons) == pytest.approx(0.75)


@pytest.mark.parametrize("output", ["text", "md", "csv", "html"])
def test_every_form_says_what_is_slower(pair, capsys, output):
    code, out, _ = run(capsys, *pair, "--format", output)
    assert code == 0
    assert "conv2" in out
    assert "0.7500" in out if output != "csv" else "0.5" in out


def test_of_three_engines_every_form_says_which_one_changed(tmp_path, capsys):
    """The third has wider tensors; each of both has a layer that the first lacks."""
    kinds = {"a": "Half", "b": "Half", "c": "Float"}
    for name, kind in kinds.items():
        layers = chain("conv", "fc") if name == "a" else chain("conv", "fc", "extra")
        for layer in layers:
            for tensor in (*layer["Inputs"], *layer["Outputs"]):
                tensor["Format/Datatype"] = kind
        write_graph(tmp_path / name / "net.graph.json", layers, ["t0", f"t{len(layers)}"])
        write_profile(tmp_path / name / "net.profile.json", [(layer["Name"], 0.5) for layer in layers])
    three = [str(tmp_path / name) for name in kinds]
    document = json.loads(run(capsys, *three, "--json")[1])
    check_sums(document)
    blocks = {block["label"]: block for block in document["blocks"]}
    assert blocks["fc"]["b_changed"] == []
    assert "precision" in blocks["fc"]["c_changed"]
    table = csv.DictReader(io.StringIO(run(capsys, *three, "--format", "csv")[1]))
    rows = {row["label"]: row for row in table}
    assert (rows["fc"]["b_changed"], "precision" in rows["fc"]["c_changed"]) == ("", True)
    for form in ("text", "md", "html"):
        out = run(capsys, *three, "--format", form)[1]
        assert "C: precision FP16⇒FP32" in out, form
        assert "only in B" in out
        assert "only in C" in out
    two = run(capsys, *three[::2])[1]
    assert "  precision FP16⇒FP32" in two
    assert "only in B" in two


@pytest.mark.parametrize("output", ["text", "md", "csv", "html", "json"])
def test_names_stay_names(tmp_path, capsys, output):
    one = engine_files(tmp_path / "a", {HOSTILE: 1.0, "b": 1.0})
    other = engine_files(tmp_path / "b", {HOSTILE: 3.0, "b": 1.0})
    _, out, _ = run(capsys, str(one), str(other), "--format", output)
    assert "\x1b" not in out
    assert "\u202e" not in out
    if output == "html":
        assert "<script" not in out
        assert "&lt;script&gt;" in out
        seen = Tags()
        seen.feed(out)
        assert seen.tags.isdisjoint({"script", "a", "img", "iframe", "link", "b"})
    elif output == "md":
        assert "&lt;script&gt;" in out
        assert "<script" not in out
        assert "[x](" not in out
        lines = [line for line in out.splitlines() if "script" in line and "1:1" in line]
        assert lines
        assert all(line.replace("\\|", "").count("|") == 8 for line in lines)
    elif output == "csv":
        assert len(list(csv.reader(io.StringIO(out)))) == 3


def test_top_and_filter_choose_rows_but_not_totals(pair, capsys):
    _, whole, _ = run(capsys, *pair, "--format", "md")
    _, top, _ = run(capsys, *pair, "--format", "md", "--top", "1")
    _, none, _ = run(capsys, *pair, "--format", "md", "--top", "0")
    assert "1 of 4 blocks" in top
    assert whole == none
    _, out, _ = run(capsys, *pair, "--json", "--filter", "conv")
    document = json.loads(out)
    assert [block["a_names"] for block in document["blocks"]] == [["conv1"], ["conv2"]]
    assert document["blocks_total"] == 4
    assert document["engines"][1]["latency_sum_ms"] == pytest.approx(4.25)
    _, out, _ = run(capsys, *pair, "--sort", "a_latency_ms", "--top", "1")
    assert "only in B" in run(capsys, *pair, "--sort", "b_delta_pct", "--reverse")[1]
    assert "conv2" in out.split("Layers")[-1]
    code, _, err = run(capsys, *pair, "--sort", "a_latency")
    assert (code, "a_latency_ms" in err) == (2, True)
    code, _, err = run(capsys, *pair, "--filter", "kind:")
    assert code == 2
    assert "--filter" in err


def test_an_engine_against_itself_is_no_difference(pair, capsys):
    code, out, _ = run(capsys, pair[0], pair[0], "--json", "--fail-on", "latency_sum_ms > +0%")
    document = json.loads(out)
    assert code == 0
    assert [block["b_delta_ms"] for block in document["blocks"]] == [0.0, 0.0, 0.0]
    assert [engine["name"] for engine in document["engines"]] == ["net", "net (2)"]


def test_one_engine_is_not_enough(pair, capsys):
    code, out, err = run(capsys, pair[0])
    assert (code, out) == (2, "")
    assert "two to four engines; 1 given" in err
    assert len(err.splitlines()) == 1


def test_a_path_that_cannot_be_read_is_an_error(pair, tmp_path, capsys):
    broken = tmp_path / "broken.graph.json"
    broken.write_text('{"Layers": [', encoding="utf-8")
    for path in (broken, tmp_path / "nowhere"):
        code, out, err = run(capsys, pair[0], str(path))
        assert (code, out) == (2, "")
        assert path.name in err
        assert len(err.splitlines()) == 1


def test_of_many_engines_the_table_of_engines_is_named(tmp_path, capsys):
    for number in range(5):
        engine_files(tmp_path / f"build{number}", {"a": 1.0 + number / 10, "b": 1.0})
    code, out, err = run(capsys, str(tmp_path))
    assert (code, out) == (2, "")
    assert "5 given; `trex-tui engines` lists them" in err
    four = [str(tmp_path / f"build{number}") for number in range(4)]
    code, out, _ = run(capsys, *four, "--json")
    check_sums(json.loads(out))
    assert code == 0


@pytest.mark.parametrize(
    ("gate", "falls"),
    [
        ("latency_sum_ms > +0.7", True),
        ("latency_sum_ms > +0.8", False),
        ("latency_sum_ms > +700us", True),
        ("latency_sum_ms > +20%", True),
        ("latency_sum_ms > +22%", False),
        ("latency_sum_ms >= 4.25", True),
        ("latency_sum_ms < -1%", False),
        ("layers > 3", True),
        ("layers > +1", False),
        ("layers.fp32 == 0", True),
        ("LAYERS.FP16!=0", True),
        ("latency_sum_ms.myelin > +10%", True),
        ("latency_sum_ms.gemm > 0", False),
        ("weights_bytes > +10%", False),
        ("latency_p99_ms > +5%", None),
    ],
)
def test_gates(pair, capsys, gate, falls):
    code, out, err = run(capsys, *pair, "--fail-on", gate, "--json")
    if falls is None:
        assert code == 2
        assert "gate not judged" in err
        assert [result["state"] for result in json.loads(out)["gates"]] == ["not judged"]
        return
    assert code == (1 if falls else 0), err
    assert (gate.strip() in err) == falls
    assert [result["is_met"] for result in json.loads(out)["gates"]] == [falls]


@pytest.mark.parametrize("more", [[], ["--why"]])
def test_json_is_the_same_whatever_the_hash_seed(more):
    samples = OLD_SAMPLES
    engines = [samples / name for name in ("alexnet", "alexnet_int8")]
    if not more and (ARTIFACTS / "trex").is_dir():
        engines = [ARTIFACTS / "trex" / "resnet-A100" / name for name in ("fp16", "qat", "qat-residual")]
    outputs = [
        subprocess.run(
            [sys.executable, "-m", "trex_tui", "diff", "--json", *more, *engines],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0].startswith(b"{")
    assert outputs[0] == outputs[1]
