"""Layers whose tactic was timed for an equal layer, as TensorRT 8.2 builds them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers import strict_json, write_graph
from trex_tui.__main__ import main

STAMP = "[11/21/2026-10:00:00] [V] [TRT]"
FORMATS = "Half(2048,1:8,64,2) -> Half(8192,1:8,256,8)"
"""Of 1x16x32x32 and 1x64x32x32: 8 channels in a vector."""
KERNELS = {"0x00000000000000a1": "sm75_xmma_small", "0x00000000000000a2": "sm75_xmma_large"}


HEADING = f"""\
=============== Computing costs for
*************** Autotuning format combination: {FORMATS} ***************
"""
"""Of an equal layer the log has no more: its formats, without a name or a runner."""


def timed_layer(name: str, times: dict[str, float]) -> str:
    """A layer that the builder times."""
    best = min(times, key=times.__getitem__)
    trials = "".join(
        f"{name} Set Tactic Name: {KERNELS[value]} Tactic: {value}\nTactic: {value} Time: {time}\n"
        for value, time in times.items()
    )
    return f"""\
{HEADING}--------------- Timing Runner: {name} (CaskConvolution)
{trials}Fastest Tactic: {best} Time: {times[best]}
>>>>>>>>>>>>>>> Chose Runner Type: CaskConvolution Tactic: {best}
"""


def listed(name: str, value: str, inputs: str, outputs: str) -> str:
    return f"Layer(CaskConvolution): {name}, Tactic: {value}, {inputs} -> {outputs}"


TIMES = {"0x00000000000000a1": 0.02, "0x00000000000000a2": 0.025}
LAYERS = [
    listed("conv_1", "0x00000000000000a1", "x (Half[1,16:8,32,32])", "a (Half[1,64:8,32,32])"),
    listed("conv_2", "0x00000000000000a1", "b (Half[1,16:8,32,32])", "c (Half[1,64:8,32,32])"),
]


def write_log(path: Path, tuned: str, layers: list[str]) -> Path:
    banner = "TensorRT.trtexec [TensorRT v8203] # trtexec --onnx=net.onnx --fp16 --verbose"
    lines = [
        f"&&&& RUNNING {banner}",
        *(f"{STAMP} {line}" for line in tuned.splitlines()),
        f"{STAMP} Formats and tactics selection completed in 1.5 seconds.",
        f"{STAMP} Engine Layer Information:",
        *layers,
        "[11/21/2026-10:00:01] [I] Engine built in 2.5 sec.",
        f"&&&& PASSED {banner}",
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def inspected(name: str, kernel: list[int]) -> dict[str, Any]:
    """A convolution of the layer information."""
    half = "Channel major FP16 format where channel % 8 == 0"
    inputs, outputs = ("x", "a") if name == "conv_1" else ("b", "c")
    return {
        "Name": name,
        "LayerType": "CaskConvolution",
        "ParameterType": "Convolution",
        "Kernel": kernel,
        "TacticValue": "0x00000000000000a1",
        "Inputs": [{"Name": inputs, "Dimensions": [1, 16, 32, 32], "Format/Datatype": half}],
        "Outputs": [{"Name": outputs, "Dimensions": [1, 64, 32, 32], "Format/Datatype": half}],
    }


def build_document(capsys: pytest.CaptureFixture[str], log: Path) -> dict[str, Any]:
    main(["build-log", str(log), "--json"])
    document: dict[str, Any] = strict_json(capsys.readouterr().out)
    return document


def test_an_equal_layer_has_the_timings_of_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tuned = timed_layer("conv_1", TIMES) + HEADING
    document = build_document(capsys, write_log(tmp_path / "net.build.log", tuned, LAYERS))
    first, second = document["layers"]
    assert (first["reused_from"], second["reused_from"]) == (None, "conv_1")
    for key in ("chosen", "fastest", "second", "margin_pct", "formats", "formats_are_certain", "tactic_id"):
        assert second[key] == first[key], key
    assert second["chosen"]["name"] == "sm75_xmma_small"
    assert second["margin_pct"] == pytest.approx(25)
    assert second["agrees"]


@pytest.mark.parametrize(
    "other",
    [
        listed("conv_2", "0x00000000000000a2", "b (Half[1,16:8,32,32])", "c (Half[1,64:8,32,32])"),
        listed("conv_2", "0x00000000000000a1", "b (Half[1,16:8,16,32])", "c (Half[1,64:8,32,32])"),
        listed("conv_2", "0x00000000000000a1", "b (Half[1,16:16,32,32])", "c (Half[1,64:8,32,32])"),
        LAYERS[1].replace("c (", "b (Half[1,16:8,32,32]), c ("),
    ],
)
def test_another_tactic_shape_type_or_layout_is_another_layer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], other: str
) -> None:
    tuned = timed_layer("conv_1", TIMES)
    document = build_document(capsys, write_log(tmp_path / "net.build.log", tuned, [LAYERS[0], other]))
    assert document["layers"][1]["reused_from"] is None
    assert document["layers"][1]["chosen"] is None


def test_layers_of_other_attributes_are_not_equal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Kernel sizes are stated by the layer information alone: the engine of a set, which lint asks."""
    near = {**TIMES, "0x00000000000000a2": 0.0201}
    write_log(tmp_path / "net.build.log", timed_layer("conv_1", near), LAYERS)
    for kernel, layers in (([3, 3], [0, 1]), ([1, 1], [0])):
        raw = [inspected("conv_1", [3, 3]), inspected("conv_2", kernel)]
        write_graph(tmp_path / "net.graph.json", raw, ["x", "a", "b", "c"])
        main(["lint", str(tmp_path), "--json", "--select", "BUILD003"])
        (engine,) = strict_json(capsys.readouterr().out)["engines"]
        (found,) = [one for one in engine["reproducibility"] if "second tactic" in one["message"]]
        assert [layer["index"] for layer in found["layers"]] == layers


def test_a_result_of_the_timing_cache_has_the_contenders_of_the_equal_layer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs, outputs = FORMATS.split(" -> ")
    cached = f"conv_2 [{inputs} -> {outputs}] got cached result: CaskConvolution, tactic 0x00000000000000a1, 0.02 ms"
    tuned = timed_layer("conv_1", TIMES) + cached
    document = build_document(capsys, write_log(tmp_path / "net.build.log", tuned, LAYERS))
    second = document["layers"][1]
    assert second["second"]["name"] == "sm75_xmma_large"
    assert second["chosen"]["name"] == "sm75_xmma_small"
