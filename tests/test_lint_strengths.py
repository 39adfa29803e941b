"""OK: praise where it is due, with its number, and none where it is not."""

from __future__ import annotations

from typing import Any

import pytest

from helpers import chain
from lint_kit import (
    CUDA_CORES,
    DEVICE,
    LINEAR,
    RULES,
    convolution,
    engine_of,
    gemm,
    image,
    kernel,
    layer,
    matrix,
    only,
    pointwise,
    queries,
    reformat,
    silent,
    tensor,
)
from trex_tui.lint.rule import FindingSeverity

PRAISE = [rule for rule in RULES if rule.startswith("OK-")]
CONV = convolution("conv", image("x"), image("y"))
STEM = convolution("stem", image("s", channels=3), image("x"), TacticName=CUDA_CORES)


@pytest.mark.parametrize("rule", PRAISE)
def test_no_praise_without_data(rule: str) -> None:
    assert RULES[rule].severity is FindingSeverity.GOOD
    silent(rule, engine_of(None))
    silent(rule, engine_of([{"Name": "a"}], names_only=True))


def test_tensor_cores() -> None:
    assert only("OK-TC", engine_of([STEM, CONV], ["s", "y"])).layers == (1,)
    off = convolution("off", image("y"), image("z"), TacticName=CUDA_CORES)
    silent("OK-TC", engine_of([STEM, CONV, off], ["s", "z"]))
    unknown = convolution("unknown", image("y"), image("z"), TacticName="")
    silent("OK-TC", engine_of([CONV, unknown], ["x", "z"]))
    closed = layer("{ForeignNode[a]}", "Myelin", [image("y")], [image("z")])
    assert "1 closed Myelin block not counted" in only("OK-TC", engine_of([CONV, closed], ["x", "z"])).message


def test_depthwise_and_vectors_need_no_tensor_cores() -> None:
    depthwise = convolution("depthwise", image("y"), image("z"), Groups=64, TacticName=CUDA_CORES)
    vector = gemm(
        "head", [matrix("v", 1, 64), matrix("w", 64, 10)], matrix("u", 1, 10), TacticName=CUDA_CORES
    )
    assert only("OK-TC", engine_of([CONV, depthwise, vector], ["x", "z", "v", "u"])).layers == (0,)


def test_fused_activations() -> None:
    assert only("OK-ACT", engine_of([CONV], ["x", "y"])).layers == (0,)
    alone = pointwise("relu", [image("y")], image("z"))
    silent("OK-ACT", engine_of([CONV, alone], ["x", "z"], times=[100.0, 0.001]))
    silent("OK-ACT", engine_of([alone], ["y", "z"]))


def test_little_movement() -> None:
    copy = reformat("r", image("y"), image("z", dtype=LINEAR))
    assert "2.9 %" in only("OK-FMT", engine_of([CONV, copy], ["x", "z"], times=[1.0, 0.03])).message
    silent("OK-FMT", engine_of([CONV, copy], ["x", "z"], times=[1.0, 0.04]))
    silent("OK-FMT", engine_of([CONV, copy], ["x", "z"]))


def test_fused_attention() -> None:
    mha = layer(
        "_gemm_mha_v2_myl1_3",
        "kgen",
        [matrix(one, 8, 128, 64) for one in "qkv"],
        [matrix("y", 8, 128, 64)],
        TacticName="_gemm_mha_v2_0x1",
    )
    assert only("OK-ATTN", engine_of([mha], ["q", "k", "v", "y"])).layers == (0,)


def quantized(name: str, source: str, target: str, dtype: str = "Int8") -> dict[str, Any]:
    return convolution(
        name,
        tensor(source, 1, 64, 56, 56, dtype="Int8"),
        tensor(target, 1, 64, 56, 56, dtype=dtype),
        TacticName="",
    )


def test_quantized_throughout() -> None:
    quantize = kernel("q", "MulMinMaxRounCast", [image("x")], tensor("a", 1, 64, 56, 56, dtype="Int8"))
    layers = [quantize, quantized("one", "a", "b"), quantized("two", "b", "y", dtype="Half")]
    assert only("OK-QDQ", engine_of(layers, ["x", "y"])).layers == (1, 2)
    head = [
        *layers[:2],
        quantized("two", "b", "h", dtype="Half"),
        convolution("three", image("h"), image("y")),
    ]
    assert only("OK-QDQ", engine_of(head, ["x", "h", "y"]))  # an output of the network may be floating point
    silent("OK-QDQ", engine_of(head, ["x", "y"]))
    between = kernel("q", "MulMinMaxRounCast", [image("h")], tensor("c", 1, 64, 56, 56, dtype="Int8"))
    dangling = [quantize, quantized("one", "a", "h", dtype="Half"), between, quantized("two", "c", "y")]
    silent("OK-QDQ", engine_of(dangling, ["x", "y"]))
    widening = reformat("dq", tensor("y", 1, 64, 56, 56, dtype="Int8"), image("z"))
    silent("OK-QDQ", engine_of([*layers[:1], quantized("one", "a", "y"), widening], ["x", "z"]))
    silent("OK-QDQ", engine_of([CONV], ["x", "y"]))


def at_bandwidth(share: float) -> Any:
    """A copy at this share of the peak bandwidth, 100 GB/s, and nothing else."""
    size = 2 * 64 * 200 * 200 * 2
    copy = reformat("r", image("x", size=200), image("y", size=200, dtype=LINEAR))
    return engine_of([copy], ["x", "y"], times=[size / 1e8 / share], device=DEVICE)


def test_steady() -> None:
    latencies = [1.0 + 0.001 * (place % 7) for place in range(200)]
    assert "200 queries" in only("OK-STABLE", engine_of([CONV], rows=queries(latencies))).message
    latencies[::40] = [1.2] * 5
    silent("OK-STABLE", engine_of([CONV], rows=queries(latencies)))
    silent("OK-STABLE", engine_of([CONV], rows=queries([1.0] * 5)))


def enqueued(milliseconds: float, times: list[float]) -> Any:
    rows = [row | {"endEnqMs": row["startEnqMs"] + milliseconds} for row in queries([1.0] * 20)]
    return engine_of(chain(*(f"l{place}" for place in range(len(times)))), times=times, rows=rows)


def test_host_keeps_up() -> None:
    assert "5 %" in only("OK-LAUNCH", enqueued(0.05, [0.5, 0.5])).message
    silent("OK-LAUNCH", enqueued(0.3, [0.5, 0.5]))
    silent("OK-LAUNCH", enqueued(0.05, [0.004] * 30 + [0.1]))
