"""DLA blocks: evidence, the row that waits, copies. No public profile has layer information beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import layer, tensor, write_graph, write_profile
from trex_tui.api import load_engine
from trex_tui.engine.dla import count_operators
from trex_tui.engine.model import Engine
from trex_tui.frames import plain_rows

FIRST, SECOND = "{" + ",".join(f"conv{n}" for n in range(400)) + "}", "{conv9,relu9}"
BESIDE = [("Conv_9", 0.2), ("Conv_10", 0.06), ("Conv_11", 0.05)]


def _blocks(folder: Path, rows: list[tuple[str, float]]) -> tuple[Engine, list[dict[str, object]]]:
    write_profile(folder / "net.profile.json", rows)
    engine = load_engine(folder)
    return engine, plain_rows(engine.dla_blocks)


def test_a_profile_of_two_blocks(tmp_path: Path) -> None:
    rows = [
        ("data to nvm", 0.05),
        (FIRST, 0.16),
        ("data copy finish", 0.004),
        (f"{FIRST} output reformatter 0", 3.33),
        ("norm", 0.05),
        ("norm to nvm", 0.03),
        (SECOND, 0.05),
        ("prob from nvm", 1.9),
        ("prob copy finish", 0.004),
    ]
    engine, blocks = _blocks(tmp_path, rows)
    assert [(block["layer"], block["evidence"], block["wait"]) for block in blocks] == [
        (1, "name", 3),
        (6, "name", 7),
    ]
    assert blocks[0]["copies_to_dla"] == (0,)
    assert blocks[0]["finishes"] == (2,)
    assert blocks[1]["copies_from_dla"] == ()
    assert engine.layers["device"].tolist() == ["GPU", "DLA", "GPU", "DLA", "GPU", "GPU", "DLA", "DLA", "GPU"]
    assert engine.layers["kind"].tolist()[:4] == ["reformat", "fused", "sync", "fused"]
    assert engine.column("dla_block").tolist()[:4] == [1, 1, 1, 1]
    assert count_operators(FIRST) == 400


@pytest.mark.parametrize(
    ("rows", "wait"),
    [
        ([*BESIDE, ("x to nvm", 0.02), (SECOND, 0.02), ("Conv_12", 2.0), ("Conv_13", 0.06)], 5),
        ([("x to nvm", 0.05), (SECOND, 0.02), ("Conv_9", 0.2), ("a from nvm", 3.0), ("b from nvm", 0.04)], 3),
        ([("x to nvm", 0.05), (SECOND, 0.02), ("prob from nvm", 0.06), ("prob copy finish", 0.01)], None),
        ([(SECOND, 0.02), ("Conv_9", 2.0)], None),
    ],
)
def test_the_row_that_waits(tmp_path: Path, rows: list[tuple[str, float]], wait: int | None) -> None:
    _, blocks = _blocks(tmp_path, rows)
    assert [block["wait"] for block in blocks] == [wait]


def test_a_closed_block_needs_copies_beside_it(tmp_path: Path) -> None:
    """Myelin names its subgraphs alike."""
    name = "{ForeignNode[a...b]}"
    engine, blocks = _blocks(tmp_path, [(name, 1.0), ("Conv_1", 0.1)])
    assert blocks == []
    assert engine.layers["kind"].tolist() == ["myelin", "convolution"]
    _, blocks = _blocks(tmp_path, [("x to nvm", 0.1), (name, 1.0), ("y from nvm", 0.1)])
    assert [block["evidence"] for block in blocks] == ["copies beside it"]


def test_rows_that_layer_information_does_not_list(tmp_path: Path) -> None:
    """The copies and the wait of the profile count as layers: without them the time of the DLA would be missing."""
    block = layer("{ForeignNode[a...b]}", "DLA", [tensor("x", 1, 3, 8, 8)], [tensor("y", 1, 4, 8, 8)])
    head = layer("head", "CaskConvolution", [tensor("y", 1, 4, 8, 8)], [tensor("z", 1, 4, 8, 8)])
    write_graph(tmp_path / "net.graph.json", [block, head], ["x", "z"])
    rows = [("x to nvm", 0.05), ("{ForeignNode[a...b]}", 0.02), ("y from nvm", 4.0), ("head", 0.1)]
    engine, _ = _blocks(tmp_path, [*rows, ("unrelated", 0.1)])
    assert engine.layers["name"].tolist() == [name for name, _ in rows]
    assert engine.layers["device"].tolist() == ["GPU", "DLA", "DLA", "GPU"]
    assert engine.latency_sum_ms == pytest.approx(4.17)
    assert engine.unmatched_rows == 1
    assert engine.links[["source", "target"]].values.tolist() == [[1, 3]]
