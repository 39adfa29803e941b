"""Numbers of real sets against those of trex 0.2.1, wherever both mean the same.

Where they differ, on purpose:

- trex drops NoOps and constants from its tables. They are layers here, marked by their kind; times and counts below are
  compared over the others. In these sets NoOps and constants take no time.
- trex's weights are the `Weights` alone. A bias is a constant that has to be read as well, so it counts here.
- trex takes BFloat16 for FP32 where the type stands alone, and gives BFloat16 layouts and Bool no size.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from helpers import ARTIFACTS
from trex_tui.old.engine import Engine, LayerKind, load_engine
from trex_tui.old.engine.dtypes import parse_data_type, parse_format

KEYS = (
    "trex/resnet-A100/fp16/resnet.onnx.engine",
    "trex/resnet-A100/fp32/resnet.onnx.engine",
    "trex/resnet-A100/qat/resnet-qat.onnx.engine",
    "trex/tf-resnet-RTX3090/fp16/resnet.onnx.engine",
    "trex/tf-resnet-RTX3090/fp32/resnet.onnx.engine",
    "trex/mobilenet-qat-TITANRTX/mobilenet.qat.onnx.engine",
)
_loaded: dict[str, Engine] = {}


@pytest.fixture(params=KEYS)
def both(request: pytest.FixtureRequest, trex_reference: dict[str, Any]) -> tuple[Engine, dict[str, Any]]:
    key = request.param
    if key not in _loaded:
        _loaded[key] = load_engine(ARTIFACTS / f"{key}.graph.json")
    return _loaded[key], trex_reference[key]


def rows_of_trex(engine: Engine) -> list[Any]:
    return [layer for layer in engine.layers if layer.kind not in (LayerKind.NOOP, LayerKind.CONSTANT)]


def test_every_reference_engine_is_compared(trex_reference: dict[str, Any]) -> None:
    assert set(trex_reference) == set(KEYS)


def test_layer_counts(both: tuple[Engine, dict[str, Any]]) -> None:
    engine, trex = both
    assert len(engine.layers) == trex["raw_layer_count"]
    assert sum(layer.kind is LayerKind.NOOP for layer in engine.layers) == trex["raw_noop_count"]
    assert sum(layer.kind is LayerKind.CONSTANT for layer in engine.layers) == trex["constants"]
    assert [layer.name for layer in rows_of_trex(engine)] == [one["Name"] for one in trex["layers"]]


def test_bindings(both: tuple[Engine, dict[str, Any]]) -> None:
    engine, trex = both
    assert [one.name for one in engine.bindings] == trex["bindings"]

    def described(is_input: bool) -> list[str]:
        chosen = [one for one in engine.bindings if one.is_input is is_input]
        return [f"{one.name}: {list(one.shape or ())}x{one.dtype and one.dtype.value} NCHW" for one in chosen]

    assert described(True) == trex["input_bindings"]
    assert described(False) == trex["output_bindings"]


def test_sums_of_the_profile(both: tuple[Engine, dict[str, Any]]) -> None:
    engine, trex = both
    raw = trex["raw_profile"]
    rows = [layer.latency for layer in engine.layers if layer.latency]
    assert engine.profile_iterations == raw["header_count"]
    assert len(rows) == raw["records"]
    assert engine.latency_sum_ms == pytest.approx(raw["sum_averageMs_all_records"], rel=1e-12)
    assert engine.latency_sum_ms == pytest.approx(trex["total_runtime_ms__trex"], rel=1e-12)
    assert math.fsum(row.median_ms or 0 for row in rows) == pytest.approx(
        raw["sum_medianMs_all_records"], rel=1e-12
    )
    assert math.fsum(row.total_ms or 0 for row in rows) == pytest.approx(
        raw["sum_timeMs_all_records"], rel=1e-12
    )
    percentages = math.fsum(row.trtexec_pct or 0 for row in rows)
    assert percentages == pytest.approx(raw["sum_percentage_all_records"], rel=1e-12)


def test_each_layer(both: tuple[Engine, dict[str, Any]]) -> None:
    engine, trex = both
    for layer, expected in zip(rows_of_trex(engine), trex["layers"], strict=True):
        assert layer.latency is not None
        assert layer.latency_ms == expected["latency.avg_time"]
        assert layer.latency.total_ms == expected["latency.time"]
        assert layer.latency.median_ms == expected["latency.median_time"]
        assert layer.latency.trtexec_pct == expected["latency.pct_time"]
        assert layer.layer_type == expected["subtype"]
        assert layer.precision is not None
        assert untf32(layer.precision) == expected["precision"]
        assert layer.output_precision is not None
        assert layer.output_precision.value == expected["output_precision"]
        assert (layer.tactic or "TensorRT") == expected["tactic"]
        assert layer.io_bytes == expected["total_io_size_bytes"]
        assert layer.weights_bytes == expected["weights_size"] + bias_bytes(layer)


def untf32(precision: Any) -> str:
    """trex knows tensors only: it says FP32 where the kernel's name says that FP32 tensors are multiplied as TF32."""
    return "FP32" if precision.value == "TF32" else precision.value


def bias_bytes(layer: Any) -> int:
    bias = layer.attributes.get("Bias", {"Count": 0, "Type": "Float"})
    return bias["Count"] * {"Half": 2, "Float": 4, "Int8": 1}[bias["Type"]]


def test_totals_of_memory(both: tuple[Engine, dict[str, Any]]) -> None:
    engine, trex = both
    rows = rows_of_trex(engine)
    assert sum(layer.io_bytes for layer in rows) == trex["total_act_size_bytes__trex"]
    bias = trex["sum_bias_size_bytes__parsed_but_unused"]
    assert engine.weights_bytes == trex["total_weights_size_bytes__trex"] + bias
    assert sum(layer.footprint_bytes for layer in rows) == trex["sum_total_footprint_bytes"] + bias


def test_time_by_precision(both: tuple[Engine, dict[str, Any]]) -> None:
    engine, trex = both
    times: dict[str, list[float]] = {}
    for layer in rows_of_trex(engine):
        times.setdefault(untf32(layer.precision), []).append(layer.latency_ms)
    assert {key: len(values) for key, values in times.items()} == trex["count_by_precision"]
    for key, expected in trex["latency_by_precision"].items():
        assert math.fsum(times.pop(key)) == pytest.approx(expected["latency.avg_time"], rel=1e-6)
    assert times == {}


# trex's precision -> ours, where they differ: by format string, for the reason given.
DEVIATIONS = {
    "BFloat16": ("FP32", "BF16"),  # trex confuses bfloat16 with float32
    "Bool": ("Bool", "BOOL"),  # spelling
    "Row major linear BOOL": ("Bool", "BOOL"),  # spelling
    "Unknown format": ("Unknown", None),  # no type is a missing value here
    "None": ("None", None),
    "DoubleComplex": ("DoubleComplex", None),  # no tensor of an engine is complex
    "FloatComplex": ("FloatComplex", None),
}
# The same for bytes per element.
SIZES = {"BF16": (0, 2), "BOOL": (0, 1)}


def test_every_format_string(trex_formats: list[dict[str, Any]]) -> None:
    assert len(trex_formats) == 67
    seen = set()
    for one in trex_formats:
        text = one["source"]
        dtype = parse_data_type(text)
        found = dtype.value if dtype else None
        if text in DEVIATIONS:
            assert (one["precision"], found) == DEVIATIONS[text]
            seen.add(text)
        else:
            assert found == one["precision"], text
        if dtype and one["bytes_per_element"] != dtype.bits / 8:
            assert (one["bytes_per_element"], dtype.bits / 8) == SIZES[dtype.value]
    assert seen == set(DEVIATIONS)


# Layouts: trex's short name -> ours, where they differ otherwise than in spelling of the type.
LAYOUTS = {
    "NC32DHW": "NC/32DHW32",  # trex drops the lower half of the name
    "NC16HW": "NC/16HW16",
    "NC2HW": "NC/2HW2",
    "NHWC1": "NHWC",  # a multiple of one is none
}


def test_every_layout(trex_formats: list[dict[str, Any]]) -> None:
    compared = 0
    for one in trex_formats:
        _, _, layout = one["short"].partition(" ")
        if not layout or one["short"] == "Unknown format":
            continue
        assert parse_format(one["source"]).layout == LAYOUTS.get(layout, layout), one
        compared += 1
    assert compared == 42
