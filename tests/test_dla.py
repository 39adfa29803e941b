"""DLA blocks in profiles, with and without layer information, and in logs.

No public profile of a DLA engine has layer information beside it: the rows are generated after descriptions of profiles of
TensorRT 7 and 8 on Jetson, and after the table in NVIDIA/TensorRT#3143.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import helpers
from helpers import layer, tensor, write_graph
from trex_tui import load_engine
from trex_tui.__main__ import main
from trex_tui.frames import plain_rows

FIRST = "{" + ",".join(f"conv{number}" for number in range(400)) + "}"
SECOND = "{fc6,relu6,prob}"
FOREIGN = "{ForeignNode[a...b]}"
TWO_BLOCKS = (
    ("data to nvm", 0.05),
    (FIRST, 0.16),
    ("data copy finish", 0.005),
    (f"{FIRST} output reformatter 0", 3.33),
    ("res2 copy finish", 0.004),
    ("softscale", 0.03),
    ("norm", 0.02),
    ("norm to nvm", 0.03),
    (SECOND, 0.05),
    ("norm copy finish", 0.004),
    ("prob from nvm", 1.9),
    ("prob copy finish", 0.003),
    ("prob finish", 0.001),
)
LIST_OF_TRTEXEC = (  # NVIDIA/TensorRT#3143
    ("images to nvm", 0.0852),
    ("{ForeignNode[Conv_0...Concat_198]}", 0.0085),
    ("head_3 from nvm", 7.6931),
    ("images copy finish", 0.0017),
    ("head_3 copy finish", 0.0029),
    ("head_2 from nvm", 0.0072),
    ("head_2 copy finish", 0.0026),
)
BESIDE = [("Conv_9", 0.2), ("Conv_10", 0.06), ("Conv_11", 0.05)]
STAMP = "[11/20/2022-10:00:00] [I] "
Output = Callable[..., str]


@pytest.fixture
def output(capsys: pytest.CaptureFixture[str]) -> Output:
    """Runs a command that succeeds; what it prints."""

    def run_command(*arguments: str) -> str:
        assert main(arguments) == 0
        return capsys.readouterr().out

    return run_command


def write_profile(folder: Path, rows: Sequence[tuple[str, float]]) -> Path:
    return helpers.write_profile(folder / "net.profile.json", rows)


def blocks_of(folder: Path, rows: Sequence[tuple[str, float]]) -> list[dict[str, Any]]:
    return plain_rows(load_engine(write_profile(folder, rows)).dla_blocks)


def summary_of(output: Output, path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(output("summary", str(path), "--json"))
    return document["engines"][0]


def test_roles_shares_and_blocks(tmp_path: Path, output: Output) -> None:
    path = write_profile(tmp_path, TWO_BLOCKS)
    text = output("layers", str(path), "--json", "--columns", "dla_role,dla_block,device")
    cells = [(row["dla_role"], row["dla_block"], row["device"]) for row in json.loads(text)["layers"]]
    first, copy, finish = ("block", 1, "DLA"), ("copy to DLA", 1, "GPU"), ("copy finish", 1, "GPU")
    assert cells[:6] == [copy, first, finish, ("wait", 1, "DLA"), finish, (None, None, "GPU")]
    assert cells[7:11] == [
        ("copy to DLA", 8, "GPU"),
        ("block", 8, "DLA"),
        ("copy finish", 8, "GPU"),
        ("wait", 8, "DLA"),
    ]
    engine = summary_of(output, path)
    dla = engine["dla"]
    assert dla["dla_ms"] == pytest.approx(0.16 + 3.33 + 0.05 + 1.9)
    assert dla["gpu_ms"] + dla["dla_ms"] == pytest.approx(engine["latency_sum_ms"])
    assert (dla["crossings"], dla["fallbacks"]) == (4, [[5, 6]])
    assert dla["crossing_ms"] == pytest.approx(0.05 + 0.005 + 0.004 + 0.03 + 0.004 + 0.003 + 0.001)
    block, second = dla["blocks"]
    assert (block["name"], block["layer"], block["operators"]) == (FIRST, 1, 400)
    assert (block["wait"], block["wait_ms"]) == (3, 3.33)  # the row keeps its own time
    assert block["execution_ms"] == pytest.approx(3.49)
    assert second["execution_ms"] == pytest.approx(1.95)
    by_kind = {row["kind"]: row["latency_ms"] for row in engine["by_kind"]}
    assert set(by_kind) == {"fused", "reformat", "sync", "other"}


def test_a_block_in_the_words_of_trtexec_8(tmp_path: Path, output: Output) -> None:
    dla = summary_of(output, write_profile(tmp_path, LIST_OF_TRTEXEC))["dla"]
    (block,) = dla["blocks"]
    assert (block["operators"], block["wait"], 5 in block["crossing_rows"]) == (None, 2, True)
    assert block["execution_ms"] == pytest.approx(7.7016)
    assert not dla["fallbacks"]


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
    assert [block["wait"] for block in blocks_of(tmp_path, rows)] == [wait]


def test_a_closed_block_needs_copies_beside_it(tmp_path: Path) -> None:
    """Myelin names its subgraphs alike."""
    assert blocks_of(tmp_path, [(FOREIGN, 1.0), ("Conv_1", 0.1)]) == []
    (block,) = blocks_of(tmp_path, [("x to nvm", 0.1), (FOREIGN, 1.0), ("y from nvm", 0.1)])
    assert block["evidence"] == "copies beside it"


def test_rows_that_layer_information_does_not_list(tmp_path: Path) -> None:
    """The copies and the wait of the profile count as layers: without them the time of the DLA would be missing."""
    block = layer(FOREIGN, "DLA", [tensor("x", 1, 3, 8, 8)], [tensor("y", 1, 4, 8, 8)])
    head = layer("head", "CaskConvolution", [tensor("y", 1, 4, 8, 8)], [tensor("z", 1, 4, 8, 8)])
    write_graph(tmp_path / "net.graph.json", [block, head], ["x", "z"])
    rows = [("x to nvm", 0.05), (FOREIGN, 0.02), ("y from nvm", 4.0), ("head", 0.1)]
    write_profile(tmp_path, [*rows, ("unrelated", 0.1)])
    engine = load_engine(tmp_path)
    assert engine.layers["name"].tolist() == [name for name, _ in rows]
    assert engine.layers["device"].tolist() == ["GPU", "DLA", "DLA", "GPU"]
    assert engine.latency_sum_ms == pytest.approx(4.17)
    assert engine.links[["source", "target"]].values.tolist() == [[1, 3]]


def test_long_names_are_cut_in_texts_alone(tmp_path: Path, output: Output) -> None:
    path = str(write_profile(tmp_path, TWO_BLOCKS))
    texts = [output(command, path) for command in ("summary", "layers", "lint")]
    assert all("{conv0,…398 more…,conv399}" in text for text in texts)
    texts += [output("summary", path, "--format", form) for form in ("md", "html")]
    assert not any(FIRST in text for text in texts)
    assert all(FIRST in output("layers", path, "--format", form) for form in ("json", "csv"))


@pytest.mark.parametrize(
    ("file", "text", "count"),
    [
        ("net.build.log", "[TRT] [DlaLayer] {ForeignNode[a...b]}", 1),
        ("net.build.log", "[TRT] [DlaLayer] {ForeignNode[c...d]}", 0),
        ("net.profile.log", "DLACore: 0(With GPU fallback)", 1),
        ("net.profile.log", "DLACore: ", 0),
        ("net.build.metadata.json", '{"build_options": {"DLACore": "0"}, "model_options": {}}', 1),
        ("net.build.metadata.json", '{"build_options": {"DLACore": ""}, "model_options": {}}', 0),
    ],
)
def test_a_foreign_node_needs_a_file_that_states_the_dla(
    tmp_path: Path, file: str, text: str, count: int
) -> None:
    if file.endswith("log"):
        is_build = "build" in file
        words = "--onnx=net.onnx --useDLACore=0" if is_build else "--loadEngine=net.plan"
        head = "[TRT] ---------- Layers Running on DLA ----------" if is_build else "=== System Options ==="
        used = "" if is_build or not count else " --useDLACore=0"
        banner = f"&&&& RUNNING TensorRT.trtexec [TensorRT v8502] # trtexec {words}{used}"
        text = "\n".join([banner, STAMP + head, STAMP + text, STAMP, ""])
    write_profile(tmp_path, [("conv", 0.1), (FOREIGN, 0.5), ("head", 0.1)])
    (tmp_path / file).write_text(text, encoding="utf-8")
    assert load_engine(tmp_path).dla_blocks["layer"].tolist() == [1] * count
