"""DLA blocks in profiles, with and without layer information, and in logs.

No public profile of a DLA engine was at hand: the rows are generated after descriptions of profiles of TensorRT 7 and 8 on
Jetson, and after the table in NVIDIA/TensorRT#3143.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import helpers
from trex_tui import load_engine
from trex_tui.__main__ import main

FIRST = "{" + ",".join(f"res2{part}_conv{number}" for part in "abcdefgh" for number in range(50)) + "}"
SECOND = "{fc6,relu6,prob}"
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
STAMP = "[11/20/2022-10:00:00]"
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


def roles_of(output: Output, path: Path) -> list[tuple[str | None, int | None, str | None]]:
    """Role, block and device of every layer, as `layers --json` has them."""
    text = output("layers", str(path), "--json", "--columns", "dla_role,dla_block,device")
    return [(row["dla_role"], row["dla_block"], row["device"]) for row in json.loads(text)["layers"]]


def summary_of(output: Output, path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(output("summary", str(path), "--json"))
    return document["engines"][0]


def test_roles_of_rows(tmp_path: Path, output: Output) -> None:
    assert roles_of(output, write_profile(tmp_path, TWO_BLOCKS)) == [
        ("copy to DLA", 1, "GPU"),
        ("block", 1, "DLA"),
        ("copy finish", 1, "GPU"),
        ("wait", 1, "DLA"),
        ("copy finish", 1, "GPU"),
        (None, None, "GPU"),
        (None, None, "GPU"),
        ("copy to DLA", 8, "GPU"),
        ("block", 8, "DLA"),
        ("copy finish", 8, "GPU"),
        ("wait", 8, "DLA"),
        ("copy finish", 8, "GPU"),
        ("copy finish", 8, "GPU"),
    ]


def test_summary_shares_and_blocks(tmp_path: Path, output: Output) -> None:
    engine = summary_of(output, write_profile(tmp_path, TWO_BLOCKS))
    dla = engine["dla"]
    assert dla["dla_ms"] == pytest.approx(0.16 + 3.33 + 0.05 + 1.9)
    assert dla["gpu_ms"] + dla["dla_ms"] == pytest.approx(engine["latency_sum_ms"])
    by_device = {row["device"]: row["latency_ms"] for row in engine["by_device"]}
    assert by_device["DLA"] == pytest.approx(dla["dla_ms"])
    assert dla["crossings"] == 4
    assert dla["crossing_ms"] == pytest.approx(0.05 + 0.005 + 0.004 + 0.03 + 0.004 + 0.003 + 0.001)
    first, second = dla["blocks"]
    assert (first["name"], first["layer"], first["operators"]) == (FIRST, 1, 400)
    assert (first["wait"], first["wait_ms"]) == (3, 3.33)  # the row keeps its own time
    assert first["execution_ms"] == pytest.approx(3.49)
    assert second["execution_ms"] == pytest.approx(1.95)
    assert dla["fallbacks"] == [[5, 6]]
    by_kind = {row["kind"]: row["latency_ms"] for row in engine["by_kind"]}
    assert set(by_kind) == {"fused", "reformat", "sync", "other"}
    assert by_kind["reformat"] == pytest.approx(0.08)


def test_long_names_are_cut_in_texts_alone(tmp_path: Path, output: Output) -> None:
    path = str(write_profile(tmp_path, TWO_BLOCKS))
    texts = [output(command, path) for command in ("summary", "layers", "lint")]
    for text in texts:
        assert "{res2a_conv0,…398 more…,res2h_conv49}" in text
    texts += [output("summary", path, "--format", form) for form in ("md", "html")]
    for text in texts:
        assert FIRST not in text
    for form in ("json", "csv"):
        assert FIRST in output("layers", path, "--format", form)
    assert all("DLA blocks" in text for text in [texts[0], *texts[-2:]])


def test_foreign_node_needs_a_file_that_states_the_dla(tmp_path: Path) -> None:
    rows = [("conv", 0.1), ("{ForeignNode[a...b]}", 0.5), ("head", 0.1)]
    write_profile(tmp_path, rows)
    assert load_engine(tmp_path).dla_blocks.empty
    log = tmp_path / "net.build.log"
    banner = f"&&&& RUNNING TensorRT.trtexec [TensorRT v8502] # trtexec --onnx=net.onnx --useDLACore=0\n{STAMP} [I] "
    head = "[TRT] ---------- Layers Running on DLA ----------\n"
    log.write_text(banner + head + f"{STAMP} [I] [TRT] [DlaLayer] {{ForeignNode[a...b]}}\n", encoding="utf-8")
    assert load_engine(tmp_path).dla_blocks["layer"].tolist() == [1]
    log.write_text(banner + head + f"{STAMP} [I] [TRT] [DlaLayer] {{ForeignNode[c...d]}}\n", encoding="utf-8")
    assert load_engine(tmp_path).dla_blocks.empty


def test_build_option_states_the_dla(tmp_path: Path, output: Output) -> None:
    write_profile(tmp_path, [("conv", 0.1), ("{ForeignNode[a...b]}", 0.5)])
    metadata = tmp_path / "net.build.metadata.json"
    for core, blocks in (("", 0), ("0", 1)):
        metadata.write_text(json.dumps({"build_options": {"DLACore": core}, "model_options": {}}), "utf-8")
        assert len(load_engine(tmp_path).dla_blocks) == blocks
    dla = summary_of(output, tmp_path)["dla"]
    assert dla["sentences"][0] == "1 block on the DLA by the build option alone (--useDLACore)."


def test_run_option_states_the_dla(tmp_path: Path) -> None:
    write_profile(tmp_path, [("conv", 0.1), ("{ForeignNode[a...b]}", 0.5)])
    log = tmp_path / "net.profile.log"
    banner = "&&&& RUNNING TensorRT.trtexec [TensorRT v8502] # trtexec --loadEngine=net.plan"
    for core, blocks in (("", 0), ("0(With GPU fallback)", 1)):
        lines = (
            banner + (" --useDLACore=0" if core else ""),
            f"{STAMP} [I] === System Options ===",
            f"{STAMP} [I] DLACore: {core}",
            f"{STAMP} [I] ",
        )
        log.write_text("\n".join(lines) + "\n", encoding="utf-8")
        assert len(load_engine(tmp_path).dla_blocks) == blocks


def test_lists_of_tensorrt_7(tmp_path: Path, output: Output) -> None:
    log = tmp_path / "net.build.log"
    lines = [
        "--------------- Layers running on DLA: ",
        "{conv_1,batch_norm_1}, {conv_2,batch_norm_2,relu_2}, ",
        "--------------- Layers running on GPU: ",
        "(Unnamed Layer* 3) [Shuffle], fc6 || fc7, ",
    ]
    banner = "&&&& RUNNING TensorRT.trtexec # trtexec --deploy=net.prototxt --useDLACore=0\n"
    log.write_text(
        banner + "".join(f"[07/06/2020-17:19:08] [I] [TRT] {line}\n" for line in lines), encoding="utf-8"
    )
    dla = json.loads(output("build-log", str(log), "--json"))["dla"]
    assert dla["dla_layers"] == ["{conv_1,batch_norm_1}", "{conv_2,batch_norm_2,relu_2}"]
    assert dla["gpu_layers"] == ["(Unnamed Layer* 3) [Shuffle]", "fc6 || fc7"]


def test_block_in_the_words_of_trtexec_8(tmp_path: Path, output: Output) -> None:
    engine = summary_of(output, write_profile(tmp_path, LIST_OF_TRTEXEC))
    (block,) = engine["dla"]["blocks"]
    assert block["operators"] is None
    assert block["wait"] == 2
    assert 5 in block["crossing_rows"]
    assert block["execution_ms"] == pytest.approx(7.7016)
    assert not engine["dla"]["fallbacks"]
