"""Layers grouped by columns: sums, order, unknown values, and the forms of `summary --by`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from helpers import (
    OLD_SAMPLES,
)
from trex_tui.__main__ import main

SAMPLES = OLD_SAMPLES
ALEXNET, NAMES_ONLY = str(SAMPLES / "alexnet_int8"), str(SAMPLES / "names_only")


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["summary", *arguments]) == 0
    return capsys.readouterr().out


def test_every_form_has_the_same_groups(capsys: pytest.CaptureFixture[str]) -> None:
    by = ("--by", "kind,precision")
    document = json.loads(output(capsys, ALEXNET, *by, "--json"))
    assert (document["schema"], document["by"]) == ("trex-tui/cross-table/1", ["kind", "precision"])
    groups = document["engines"][0]["groups"]
    rows = list(csv.DictReader(io.StringIO(output(capsys, ALEXNET, *by, "--format", "csv"))))
    assert [
        (row["kind"], row["precision"], int(row["layers"]), float(row["latency_ms"])) for row in rows
    ] == [(group["kind"], group["precision"], group["layers"], group["latency_ms"]) for group in groups]
    text, markdown = (output(capsys, ALEXNET, *by, "--format", form) for form in ("text", "md"))
    for group in groups:
        words = [group["kind"], group["precision"], str(group["layers"]), f"{group['latency_ms']:.4f}"]
        assert any(line.split()[:4] == words for line in text.splitlines())
        assert any(line.replace("|", " ").split()[:4] == words for line in markdown.splitlines())


def test_a_layer_without_an_attribute_has_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    lines = output(capsys, ALEXNET, "--by", "kind,kernel").splitlines()
    assert any(line.split()[:2] == ["pooling", "–"] for line in lines)
    assert "unknown" not in "".join(lines)


def test_a_filter_chooses_the_layers(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = (ALEXNET, "--by", "kind", "--filter", "kind:gemm,pooling")
    groups = json.loads(output(capsys, *chosen, "--json"))["engines"][0]["groups"]
    everything = json.loads(output(capsys, *chosen[:3], "--json"))["engines"][0]["groups"]
    assert groups == [group for group in everything if group["kind"] in ("gemm", "pooling")]
    assert sum(group["layers"] for group in groups) > 1
    text = output(capsys, *chosen)
    assert (
        f"{sum(group['layers'] for group in groups)} of {sum(group['layers'] for group in everything)} layers, "
        in text
    )
    assert main(["summary", ALEXNET, "--filter", "kind:gemm"]) == 2
    assert "--filter needs --by" in capsys.readouterr().err


def test_no_column_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", ALEXNET, "--by", ""]) == 2
    assert "no column ''" in capsys.readouterr().err


def test_an_unknown_value_is_a_group_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    by = ("--by", "precision")
    assert "unknown" in output(capsys, NAMES_ONLY, *by)
    document = json.loads(output(capsys, NAMES_ONLY, ALEXNET, *by, "--json"))
    assert [group["precision"] for group in document["engines"][0]["groups"]] == [None]
    rows = list(csv.DictReader(io.StringIO(output(capsys, NAMES_ONLY, ALEXNET, *by, "--format", "csv"))))
    assert [row["engine"] for row in rows if row["precision"] == ""] == ["squeezenet_fp16"]
    assert {row["engine"] for row in rows} == {"squeezenet_fp16", "alexnet.qat"}


def test_short_names_attributes_and_top(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(output(capsys, ALEXNET, "--by", "prec,attr.HasBias,groups", "--top", "2", "--json"))
    assert document["by"] == ["precision", "attr.HasBias", "groups"]
    assert len(document["engines"][0]["groups"]) == 2
    whole = json.loads(output(capsys, ALEXNET, "--by", "name", "--json"))["engines"][0]["groups"]
    assert len(whole) > 5, "without --top all groups are shown"


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("latency_ms", "--by: latency_ms differs for every layer"),
        ("kind,kid", "no column 'kid'; did you mean kind?"),
        ("kind,kind", "--by: kind is given twice"),
        ("kind,", "no column ''"),
        ("attr.Nothing", "attr.Nothing"),
    ],
)
def test_columns_that_make_no_sense(by: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", ALEXNET, "--by", by]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
    assert main(["summary", ALEXNET, "--format", "csv"]) == 2, "only groups are rows of one table"


def test_its_own_file_is_replaced(tmp_path: Path) -> None:
    target = str(tmp_path / "x.json")
    for by in ("kind", "precision"):
        assert main(["summary", ALEXNET, "--by", by, "-o", target]) == 0
    assert main(["summary", ALEXNET, "-o", target]) == 0
