"""Devices, their peaks, and the roofline: by hand, against published figures, and as properties."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers import RealSet, layer, real_sets, tensor, write_graph, write_profile
from trex_tui.analysis.device import (
    UNKNOWN_DEVICE,
    Device,
    StatedDevice,
    device_of_facts,
    find_device,
    parse_peaks,
    read_device_settings,
    stated_for,
)
from trex_tui.analysis.peaks import find_peak
from trex_tui.analysis.roofline import (
    LAUNCH_FACTOR,
    LAUNCH_ROOF_SHARE,
    launch_floor_ms,
    roof_pct,
    roofline,
    roofline_gaps,
    roofline_totals,
)
from trex_tui.api import load_engine
from trex_tui.artifacts.metadata import Facts
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.model import Engine
from trex_tui.errors import TrexError
from trex_tui.frames import total

FP16, FP32, INT8 = DataType.FP16, DataType.FP32, DataType.INT8
SECTION = {
    "Selected Device": "NVIDIA GeForce RTX 3060 Laptop GPU",
    "Compute Capability": "8.6",
    "SMs": "30",
    "Application Compute Clock Rate": "1.425 GHz",
    "Device Global Memory": "5937 MiB",
    "Memory Bus Width": "192 bits (ECC disabled)",
    "Application Memory Clock Rate": "7.001 GHz",
}


def device(stated: StatedDevice | None = None, **changes: Any) -> Device:
    """The RTX 3060, with other values for some labels; None leaves one out."""
    labels = {label.replace(" ", "_").lower(): label for label in SECTION}
    section = SECTION | {labels[key]: value for key, value in changes.items()}
    known = {label: value for label, value in section.items() if value is not None}
    return device_of_facts(Facts(device=known), stated)


def tera(device: Device, precision: DataType, **how: Any) -> float:
    return (find_peak(device, precision, **how).flops_per_s or math.nan) / 1e12


@pytest.mark.parametrize("value", [0, -1, "", "n/a", True, "1.5", math.nan, "1e400", 1e9, []])
def test_implausible_values_are_unknown(value: Any) -> None:
    found = device(sms=value)
    assert found.sms is None
    assert "(implausible)" in found.missing["sms"]
    assert "number of SMs unknown" in find_peak(found, FP16, tensor_cores=True).reason


@pytest.mark.parametrize(
    ("name", "capability", "sms", "clock", "memory_mib", "gb_per_s"),
    [
        ("Xavier", 7.2, 8, 1.377, 31920, 136.5),
        ("Orin", 8.7, 16, 1.275, 28826, 204.8),
        ("Orin", 8.7, 4, 0.625, 3700, 34.1),
        ("NVIDIA Thor", 11.0, 20, 1.049, 125771, 273.0),
        ("NVIDIA GB10", 12.1, 48, 2.418, 122570, 273.0),
        # No row fits: unknown, not what the driver's clock and width would give.
        ("Orin", 8.7, 8, 0.8, 7620, None),
        ("NVIDIA Tegra X2", 6.2, 2, 1.3, 7850, None),
    ],
)
def test_bandwidth_of_integrated_gpus(
    name: str, capability: float, sms: int, clock: float, memory_mib: int, gb_per_s: float | None
) -> None:
    found = device(
        selected_device=name,
        compute_capability=capability,
        sms=sms,
        application_compute_clock_rate=clock,
        application_memory_clock_rate=clock,
        device_global_memory=memory_mib,
    )
    peak = found.peak_bandwidth_bytes_per_s
    assert peak == (None if gb_per_s is None else pytest.approx(gb_per_s * 1e9))
    assert bool(found.bandwidth_reason) is (peak is None)


@pytest.mark.parametrize(
    ("precision", "tensor_cores", "accumulate", "macs"),
    [
        (FP32, False, None, 128),
        (FP16, True, FP16, 512),
        (FP16, True, FP32, 256),
        (FP16, False, FP32, 128),
        (INT8, True, DataType.INT32, 1024),
        (INT8, False, FP32, 512),
    ],
)
def test_peaks_of_a_geforce_by_hand(
    precision: DataType, tensor_cores: bool, accumulate: DataType | None, macs: int
) -> None:
    peak = find_peak(device(), precision, tensor_cores=tensor_cores, accumulate=accumulate)
    assert peak.flops_per_s == pytest.approx(2 * macs * 30 * 1.425e9)
    assert peak.formula == f"2 × {macs} MACs × 30 SMs × 1.425 GHz"
    assert peak.source


def test_values_of_the_user_win() -> None:
    stated = parse_peaks(["bandwidth=300", "clock=1.2", "sms=20", "fp16=50", "fp16=40"])
    found = device(stated)
    assert (found.sms, found.clock_ghz, found.peak_bandwidth_bytes_per_s) == (20, 1.2, 300e9)
    assert tera(found, FP16, tensor_cores=True) == 40
    assert tera(found, FP16, tensor_cores=False) == pytest.approx(2 * 128 * 20 * 1.2e-3)
    assert [line.split(";")[0] for line in found.overrides] == [
        "number of SMs: 20, not the reported 30",
        "clock of the SMs: 1.2 GHz, not the reported 1.425 GHz",
    ]
    settings = read_device_settings(
        {"*": {"sms": 10}, "geforce RTX 3060 Laptop GPU": {"clock_ghz": 1.5, "peak_tflops": {"INT8": 80}}},
        "x.toml",
    )
    assert stated_for("NVIDIA GeForce RTX 3060 Laptop GPU", settings) == StatedDevice(
        {"sms": 10.0, "clock": 1.5, "int8": 80.0}, "x.toml"
    )
    assert stated_for("NVIDIA L4", settings) == StatedDevice({"sms": 10.0}, "x.toml")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["bandwith=3"], "unknown key 'bandwith'"),
        (["bandwidth=fast"], "is not a number"),
        (["clock=1425"], "out of range"),
    ],
)
def test_mistakes_of_the_user(options: list[str], message: str) -> None:
    with pytest.raises(TrexError, match=message):
        parse_peaks(options)


# Roofline: 10 SMs at 1 GHz, 100 GB/s. FP16 on tensor cores 10.24 TFLOP/s, FP32 on CUDA cores 2.56 TFLOP/s.

SIMPLE = {"Selected Device": "NVIDIA A10", "Compute Capability": 8.6, "SMs": 10, "Compute Clock Rate": 1.0}
CORES = "sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc_tilesize64x64x64_stage4_tensor16x8x16"
GEMV = "sm50_xmma_cublas_gemvx_f16f16_f32_f32_tn_n_int32_unit_n_launch_param4x32x32_strided_unit_stride"
CONV_MACS = 56 * 56 * 64 * 64 * 9
CONV_BYTES = 2 * (2 * 56 * 56 * 64 + 36864 + 64)


def convolution() -> dict[str, Any]:
    """64 to 64 channels, 3×3, 56×56."""
    more = {"Kernel": [3, 3], "OutMaps": 64, "Groups": 1, "TacticName": CORES}
    more |= {"Weights": {"Type": "Half", "Count": 36864}, "Bias": {"Type": "Half", "Count": 64}}
    ends = [tensor("x", 1, 64, 56, 56)], [tensor("y", 1, 64, 56, 56)]
    return layer("conv", "CaskConvolution", *ends, ParameterType="Convolution", **more)


def copy(name: str = "copy", size: int = 1000) -> dict[str, Any]:
    return layer(name, "Reformat", [tensor("a", size, 1000)], [tensor("b", size, 1000)])


def gemv() -> dict[str, Any]:
    inputs = [tensor("v", 1, 1000), tensor("weights", 1000, 1000)]
    return layer("fc", "gemm", inputs, [tensor("w", 1, 1000)], TacticName=GEMV)


def engine_of(
    folder: Path, layers: list[dict[str, Any]], times: list[float] | None = None, *, is_known: bool = True
) -> Engine:
    write_graph(folder / "net.graph.json", layers, ["v", "w"])
    if times is not None:
        write_profile(
            folder / "net.profile.json", [(raw["Name"], ms) for raw, ms in zip(layers, times, strict=True)]
        )
    engine = load_engine([*folder.glob("net.*")])
    facts = Facts(device=SIMPLE) if is_known else Facts()
    return replace(engine, facts=facts, stated_device=parse_peaks(["bandwidth=100"]) if is_known else None)


def point(engine: Engine, index: int = 0) -> dict[str, Any]:
    frame = roofline(engine).astype(object)
    return frame.where(frame.notna(), None).iloc[index].to_dict()


def test_a_convolution_is_bound_by_compute(tmp_path: Path) -> None:
    found, flops = point(engine_of(tmp_path, [convolution()], [0.05])), 2 * CONV_MACS
    expected = {
        "bytes": CONV_BYTES,
        "flops_per_byte": flops / CONV_BYTES,
        "achieved_flops_per_s": flops / 50e-6,
        "achieved_bytes_per_s": CONV_BYTES / 50e-6,
        "peak_flops_per_s": 10.24e12,
        "ridge_flops_per_byte": 102.4,
        "roof_flops_per_s": 10.24e12,
        "roof_ms": flops / 10.24e12 * 1e3,
        "roof_pct": 100 * flops / 50e-6 / 10.24e12,
        "bandwidth_pct": 100 * CONV_BYTES / 50e-6 / 100e9,
        "tiles": 49,
    }
    assert {key: found[key] for key in expected} == pytest.approx(expected)
    assert (found["bound"], found["roof_side"], found["reasons"]) == ("compute", "compute", ())


def test_a_matrix_times_a_vector_is_bound_by_bandwidth(tmp_path: Path) -> None:
    found = point(engine_of(tmp_path, [gemv()], [0.04]))
    assert (found["bytes"], found["peak_flops_per_s"]) == (2_004_000, pytest.approx(2.56e12))
    assert found["roof_flops_per_s"] == pytest.approx(2e6 / 2.004e6 * 100e9)
    assert (found["roof_ms"], found["roof_pct"]) == (pytest.approx(0.02004), pytest.approx(50.1))
    assert found["bound"] == "bandwidth"
    assert "computed in FP32" in found["assumptions"][0]


def test_unknown_values_have_reasons(tmp_path: Path) -> None:
    no_device = engine_of(tmp_path, [convolution()], [0.05], is_known=False)
    found = point(no_device)
    assert found["achieved_flops_per_s"] == pytest.approx(2 * CONV_MACS / 50e-6)
    assert [found[key] for key in ("roof_ms", "roof_pct", "bandwidth_pct", "bound")] == [None] * 4
    assert roofline_gaps(no_device) == {UNKNOWN_DEVICE: 1}
    assert point(engine_of(tmp_path, [copy()], [0.0]))["reasons"] == ("its time is zero",)
    untimed = point(engine_of(tmp_path / "untimed", [convolution()]))
    assert (untimed["roof_pct"], untimed["roof_side"]) == (None, "compute")
    assert untimed["reasons"] == ("no profile in this set",)
    dynamic = layer("copy", "Reformat", [tensor("a", -1, 8)], [tensor("b", -1, 8)])
    assert point(engine_of(tmp_path, [dynamic], [0.1]))["reasons"][0].startswith("bytes unknown")
    closed = layer("{ForeignNode[a...b]}", "Myelin", [tensor("v", 1, 8)], [tensor("w", 1, 8)])
    assert "unknown operation" in point(engine_of(tmp_path, [closed], [0.1]))["reasons"]


def test_short_layers_are_bound_by_their_launch(tmp_path: Path) -> None:
    layers = [copy(f"tiny{place}", 1) for place in range(20)] + [copy()]
    times = [0.002 + 0.0001 * place for place in range(20)] + [0.05]
    engine = engine_of(tmp_path, layers, times)
    assert launch_floor_ms(engine) == pytest.approx(0.00204)
    frame = roofline(engine)
    is_launch = frame["bound"].eq("launch")
    assert is_launch.sum() == 20
    assert (frame["roof_ms"] < LAUNCH_ROOF_SHARE * engine.layers["latency_ms"])[is_launch].all()
    assert (engine.layers["latency_ms"] <= LAUNCH_FACTOR * 0.00204)[is_launch].all()
    totals = roofline_totals(engine).set_index("bound")
    assert totals.loc["launch", "layers"] == 20
    assert totals.loc["bandwidth", "roof_pct"] == pytest.approx(80)
    assert launch_floor_ms(engine_of(tmp_path / "few", layers[2:], times[2:])) is None


@pytest.mark.parametrize("real", real_sets(having=["graph", "profile"]))
def test_rooflines_of_real_engines(real: RealSet) -> None:
    """The definitions hold layer by layer, and totals by bound add up."""
    engine = load_engine(real.paths())
    frame, device, times = roofline(engine), find_device(engine), engine.layers["latency_ms"]
    flops = 2 * engine.column("macs").astype(float)
    assert (frame["achieved_flops_per_s"] * times / 1e3 - flops).abs().le(1e-6 * flops).dropna().all()
    if device.peak_bandwidth_bytes_per_s:
        memory_ms = 1e3 * frame["bytes"].astype(float) / device.peak_bandwidth_bytes_per_s
        compute_ms = (1e3 * flops / frame["peak_flops_per_s"]).fillna(0.0)
        roof = memory_ms.where(memory_ms > compute_ms, compute_ms)
        assert ((frame["roof_ms"] - roof).abs() / roof).dropna().lt(1e-9).all()
    totals = roofline_totals(engine)
    is_work = ~engine.layers["kind"].isin(["constant", "noop", "sync", "shape"])
    assert totals["layers"].sum() == is_work.sum()
    assert total(totals["latency_ms"]) == pytest.approx(total(times[is_work]))
    everything = roof_pct(engine, is_work)
    assert everything is None or 0 < everything < 400
