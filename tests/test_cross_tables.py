"""Layers grouped by columns: sums, order, unknown values, and the forms of `summary --by`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from trex_tui.__main__ import main

SAMPLES = Path(__file__).resolve().parents[1] / "sample_artifacts"
QAT, NAMES_ONLY = str(SAMPLES / "resnet-a100" / "qat"), str(SAMPLES / "names-only")


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["summary", *arguments]) == 0
    return capsys.readouterr().out


def test_every_form_has_the_same_groups(capsys: pytest.CaptureFixture[str]) -> None:
    by = ("--by", "kind,precision")
    document = json.loads(output(capsys, QAT, *by, "--json"))
    assert (document["schema"], document["by"]) == ("trex-tui/cross-table/2", ["kind", "precision"])
    groups = document["engines"][0]["groups"]
    rows = list(csv.DictReader(io.StringIO(output(capsys, QAT, *by, "--format", "csv"))))
    assert [
        (row["kind"], row["precision"], int(row["layers"]), float(row["latency_ms"])) for row in rows
    ] == [(group["kind"], group["precision"], group["layers"], group["latency_ms"]) for group in groups]
    text, markdown = (output(capsys, QAT, *by, "--format", form) for form in ("text", "md"))
    for group in groups:
        words = [group["kind"], group["precision"], str(group["layers"]), f"{group['latency_ms']:.4f}"]
        assert any(line.split()[:4] == words for line in text.splitlines())
        assert any(line.replace("|", " ").split()[:4] == words for line in markdown.splitlines())


def test_a_filter_chooses_the_layers(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = (QAT, "--by", "kind", "--filter", "kind:reformat,pooling")
    groups = json.loads(output(capsys, *chosen, "--json"))["engines"][0]["groups"]
    everything = json.loads(output(capsys, *chosen[:3], "--json"))["engines"][0]["groups"]
    assert groups == [group for group in everything if group["kind"] in ("reformat", "pooling")]
    assert sum(group["layers"] for group in groups) > 1
    text = output(capsys, *chosen)
    assert (
        f"{sum(group['layers'] for group in groups)} of {sum(group['layers'] for group in everything)} layers · "
        in text
    )
    assert main(["summary", QAT, "--filter", "kind:gemm"]) == 2
    assert "--filter needs --by" in capsys.readouterr().err


def test_an_unknown_value_is_a_group_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    by = ("--by", "precision")
    assert output(capsys, NAMES_ONLY, *by).splitlines()[4].split() == ["–", "15"]
    document = json.loads(output(capsys, NAMES_ONLY, QAT, *by, "--json"))
    assert [group["precision"] for group in document["engines"][0]["groups"]] == [None]
    rows = list(csv.DictReader(io.StringIO(output(capsys, NAMES_ONLY, QAT, *by, "--format", "csv"))))
    assert [row["engine"] for row in rows if row["precision"] == ""] == [
        "trt8.6.0_exportLayerInfo_names_only"
    ]
    assert {row["engine"] for row in rows} == {"trt8.6.0_exportLayerInfo_names_only", "resnet-qat"}


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("latency_ms", "--by: latency_ms differs for every layer"),
        ("kind,kid", "no column 'kid'; did you mean kind?"),
        ("attr.Nothing", "attr.Nothing"),
    ],
)
def test_columns_that_make_no_sense(by: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", QAT, "--by", by]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
    assert main(["summary", QAT, "--format", "csv"]) == 2, "only groups are rows of one table"
