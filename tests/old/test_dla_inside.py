"""DLA blocks in profiles, with and without layer information, and in logs.

No public profile of a DLA engine was at hand: the rows are generated after descriptions of profiles of TensorRT 7 and 8 on
Jetson, and after the table in NVIDIA/TensorRT#3143.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from explained import assert_keys_explained, assert_sections_explained

from helpers import layer, tensor
from test_dla import FIRST, TWO_BLOCKS, Output, output, summary_of, write_profile
from trex_tui import load_engine
from trex_tui.old.engine.model import Device
from trex_tui.old.lint.config import LintConfig
from trex_tui.old.lint.run import run
from trex_tui.old.report.views.dla import dla_sections
from trex_tui.old.report.views.layer_details import layer_lines

__all__ = ["output"]


def test_every_key_and_label_is_explained(tmp_path: Path, output: Output) -> None:
    path = write_profile(tmp_path, TWO_BLOCKS)
    assert_keys_explained("summary", json.loads(output("summary", str(path), "--json")))
    assert_sections_explained(dla_sections(load_engine(path)))


def test_details_of_rows(tmp_path: Path) -> None:
    engine = load_engine(write_profile(tmp_path, TWO_BLOCKS))
    block, wait, copy = (
        [line.text for line in layer_lines(engine, engine.layers[index])] for index in (1, 3, 0)
    )
    assert "DLA block, 400 operators: 3.4900 ms, of which 3.3300 ms in row 3" in block
    assert FIRST in block
    assert "Wait for DLA block 1: its time is the execution of the block" in wait
    assert "Copy to DLA, of DLA block 1" in copy


def test_findings(tmp_path: Path) -> None:
    engine = load_engine(write_profile(tmp_path, TWO_BLOCKS))
    judged = run(engine, LintConfig()).findings
    findings = {(found.finding.rule, found.finding.layers): found.finding for found in judged}
    hot = [found for (rule, _), found in findings.items() if rule == "HOT001"]
    assert [found.layers for found in hot] == [(1, 3), (8, 10)]
    assert all("The DLA block" in found.message for found in hot)
    assert "2 DLA blocks, 4 crossings" in findings["DLA002", (0, 1, 8, 9, 11, 12)].message
    between = findings["DLA003", (2, 4, 5, 6, 7)]
    assert "'softscale', 'norm'; 0.05 ms" in between.message
    assert "take 0.039 ms" in between.message
    assert FIRST[:200] not in " ".join(found.message for found in findings.values())


def test_groups_of_one_operator_between_blocks_are_one_finding(tmp_path: Path) -> None:
    """Three crossings for softmax, one for a slice: two causes."""

    def block(number: int) -> str:
        return "{" + ",".join(f"conv{number}_{part}" for part in range(30)) + "}"

    between = ("Softmax_1", "Softmax_2", "Slice_3", "Softmax_4")
    rows: list[tuple[str, float]] = []
    for number, name in enumerate(between):
        rows += [(block(number), 1.0), (f"x{number} from nvm", 0.2), (name, 0.3), (f"y{number} to nvm", 0.1)]
    rows.append((block(len(between)), 1.0))
    engine = load_engine(write_profile(tmp_path, rows))
    largest, other = run(engine, LintConfig(select=("DLA003",))).findings
    assert largest.message.startswith("3 times softmax layers on the GPU between two DLA blocks: ")
    assert [engine.layers[index].name for index in largest.layers if index % 4 == 2] == [
        "Softmax_1",
        "Softmax_2",
        "Softmax_4",
    ]
    assert other.message.startswith("1 layer on the GPU between the DLA blocks ")
    assert "'Slice_3'" in other.message


def test_rows_that_layer_information_does_not_list(tmp_path: Path, output: Output) -> None:
    """Layer information has the block alone; the copies and the wait of the profile count as layers."""
    block = layer("{ForeignNode[a...b]}", "DLA", [tensor("x", 1, 3, 8, 8)], [tensor("y", 1, 4, 8, 8)])
    head = layer("head", "CaskConvolution", [tensor("y", 1, 4, 8, 8)], [tensor("z", 1, 4, 8, 8)])
    graph = {"Layers": [block, head], "Bindings": ["x", "z"]}
    (tmp_path / "net.graph.json").write_text(json.dumps(graph), encoding="utf-8")
    rows = [("x to nvm", 0.05), ("{ForeignNode[a...b]}", 0.02), ("y from nvm", 4.0), ("head", 0.1)]
    write_profile(tmp_path, [*rows, ("unrelated", 0.1)])
    engine = load_engine(tmp_path)
    assert [found.name for found in engine.layers] == [name for name, _ in rows]
    assert [found.device for found in engine.layers] == [Device.GPU, Device.DLA, Device.DLA, Device.GPU]
    assert engine.latency_sum_ms == pytest.approx(4.17)
    assert engine.profile_rows_unmatched == 1
    assert summary_of(output, tmp_path)["dla"]["blocks"][0]["execution_ms"] == pytest.approx(4.02)
