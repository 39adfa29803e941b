"""The roofline, by hand, on random layers and on real engines."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import chain, layer, tensor, write_graph, write_profile
from trex_tui.old.analysis.device import UNKNOWN_DEVICE, DeviceModel, device_of_metadata, find_device
from trex_tui.old.analysis.device_overrides import overrides_from_options
from trex_tui.old.analysis.gpu_peaks import peak_of_kernel
from trex_tui.old.analysis.roofline import ASSUMPTIONS, RooflinePoint, latency_floor_ms, roofline
from trex_tui.old.analysis.thresholds import FORMULAS, LAUNCH_FACTOR, LAUNCH_ROOF_SHARE, Bound
from trex_tui.old.artifacts.metadata import Metadata
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.engine import Engine, load_engine
from trex_tui.old.engine.model import Device, Layer, LayerLatency, Tensor

TENSOR_CORES = (
    "sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc_tilesize64x64x64_stage4_tensor16x8x16"
)
GEMV = "sm50_xmma_cublas_gemvx_f16f16_f32_f32_tn_n_int32_unit_n_launch_param4x32x32_strided_unit_stride"

# 10 SMs at 1 GHz, 100 GB/s: peaks are easy numbers. FP16 on tensor cores 2 × 512 × 10 GHz = 10.24 TFLOP/s, FP32 on CUDA
# cores 2 × 128 × 10 GHz = 2.56 TFLOP/s.
SIMPLE = device_of_metadata(
    Metadata(
        device={
            "Selected Device": "NVIDIA A10",
            "Compute Capability": 8.6,
            "SMs": 10,
            "Compute Clock Rate": 1.0,
        }
    ),
    overrides_from_options(["bandwidth=100"]),
)
NO_DEVICE = device_of_metadata(Metadata())


def convolution(name: str = "conv", tactic: str = TENSOR_CORES, **more: Any) -> dict[str, Any]:
    """64 to 64 channels, 3×3, 56×56: 56·56·64·64·9 MACs; two tensors of 56·56·64 halves, 36864 weights and 64 biases."""
    return layer(
        name,
        "CaskConvolution",
        [tensor("x", 1, 64, 56, 56)],
        [tensor("y", 1, 64, 56, 56)],
        ParameterType="Convolution",
        Kernel=[3, 3],
        OutMaps=64,
        Groups=1,
        Weights={"Type": "Half", "Count": 36864},
        Bias={"Type": "Half", "Count": 64},
        TacticName=tactic,
        **more,
    )


CONV_MACS = 56 * 56 * 64 * 64 * 9
CONV_BYTES = 2 * (2 * 56 * 56 * 64 + 36864 + 64)


def copy(name: str = "copy") -> dict[str, Any]:
    """A million halves in and out: 4 MB."""
    return layer(name, "Reformat", [tensor("a", 1000, 1000)], [tensor("b", 1000, 1000)])


def gemv(name: str = "fc") -> dict[str, Any]:
    """1×1000 times 1000×1000: a million MACs."""
    return layer(
        name,
        "gemm",
        [tensor("v", 1, 1000), tensor("weights", 1000, 1000)],
        [tensor("w", 1, 1000)],
        TacticName=GEMV,
    )


def engine_of(folder: Path, layers: list[dict[str, Any]], times: list[float] | None = None) -> Engine:
    write_graph(folder / "net.graph.json", layers, ["v", "w"])
    if times is not None:
        names = [one["Name"] for one in layers]
        write_profile(folder / "net.profile.json", zip(names, times, strict=True))
    return load_engine(folder)


def point_of(
    folder: Path, one: dict[str, Any], ms: float | None, device: DeviceModel = SIMPLE
) -> RooflinePoint:
    engine = engine_of(folder, [one], None if ms is None else [ms])
    return roofline(engine, device).points[0]


class TestByHand:
    def test_a_convolution(self, tmp_path: Path) -> None:
        point = point_of(tmp_path, convolution(), 0.05)
        flops = 2 * CONV_MACS
        assert (point.macs, point.bytes) == (CONV_MACS, CONV_BYTES)
        assert point.intensity == pytest.approx(flops / CONV_BYTES)
        assert point.achieved_flop_per_s == pytest.approx(flops / 50e-6)
        assert point.achieved_bytes_per_s == pytest.approx(CONV_BYTES / 50e-6)
        assert point.peak_flop_per_s == pytest.approx(10.24e12)
        assert point.ridge_intensity == pytest.approx(102.4)
        assert point.roof_flop_per_s == pytest.approx(10.24e12)
        assert point.roof_ms == pytest.approx(flops / 10.24e12 * 1e3)
        assert point.roof_pct == pytest.approx(100 * flops / 50e-6 / 10.24e12)
        assert point.bandwidth_pct == pytest.approx(100 * CONV_BYTES / 50e-6 / 100e9)
        assert (point.bound, point.reason, point.assumptions) == (Bound.COMPUTE, "", ())

    def test_a_matrix_times_a_vector(self, tmp_path: Path) -> None:
        """About one FLOP per byte: far left of the ridge of CUDA cores at 25.6."""
        point = point_of(tmp_path, gemv(), 0.04)
        assert (point.macs, point.bytes) == (1_000_000, 2_004_000)
        assert point.peak_flop_per_s == pytest.approx(2.56e12)
        assert point.ridge_intensity == pytest.approx(25.6)
        assert point.roof_flop_per_s == pytest.approx(2e6 / 2.004e6 * 100e9)
        assert point.roof_ms == pytest.approx(0.02004)
        assert point.roof_pct == pytest.approx(50.1)
        assert point.bound is Bound.BANDWIDTH
        assert "computed in FP32" in point.assumptions[0]

    def test_a_copy(self, tmp_path: Path) -> None:
        point = point_of(tmp_path, copy(), 0.08)
        assert (point.macs, point.bytes) == (None, 4_000_000)
        assert (point.intensity, point.achieved_flop_per_s, point.peak, point.roof_flop_per_s) == (None,) * 4
        assert point.roof_ms == pytest.approx(0.04)
        assert point.roof_pct == point.bandwidth_pct == pytest.approx(50)
        assert (point.bound, point.reason) == (Bound.BANDWIDTH, "")

    def test_the_bound_turns_at_the_ridge(self, tmp_path: Path) -> None:
        engine = engine_of(tmp_path, [convolution()], [0.05])
        intensity = 2 * CONV_MACS / CONV_BYTES
        for factor, bound in ((1.01, Bound.BANDWIDTH), (0.99, Bound.COMPUTE)):
            ridge = intensity * factor
            device = dataclasses.replace(SIMPLE, peak_bandwidth_bytes_per_s=10.24e12 / ridge)
            point = roofline(engine, device).points[0]
            assert point.bound is bound
            assert point.roof_flop_per_s == pytest.approx(10.24e12 / max(factor, 1))

    def test_a_stated_peak(self, tmp_path: Path) -> None:
        device = device_of_metadata(Metadata(), overrides_from_options(["bandwidth=100", "fp16=5.12"]))
        point = point_of(tmp_path, convolution(), 0.1, device)
        assert point.roof_pct == pytest.approx(100 * 2 * CONV_MACS / 100e-6 / 5.12e12)

    def test_above_the_roof(self, tmp_path: Path) -> None:
        result = roofline(engine_of(tmp_path, [copy()], [0.01]), SIMPLE)
        assert result.points[0].roof_pct == pytest.approx(400)
        assert any("1 layer above the roof" in one for one in result.sentences)


class TestUnknown:
    def test_device(self, tmp_path: Path) -> None:
        result = roofline(engine_of(tmp_path, [convolution(), copy()], [0.05, 0.08]), NO_DEVICE)
        conv, moved = result.points[0], result.points[1]
        assert conv.achieved_flop_per_s == pytest.approx(2 * CONV_MACS / 50e-6)
        assert moved.achieved_bytes_per_s == pytest.approx(4e6 / 80e-6)
        for point in (conv, moved):
            assert (point.peak_flop_per_s, point.roof_ms, point.roof_pct, point.bandwidth_pct) == (None,) * 4
            assert (point.bound, point.reason) == (None, UNKNOWN_DEVICE)
        assert result.sentences[0] == f"Roofline unavailable: {UNKNOWN_DEVICE}"
        assert f"not computed: {UNKNOWN_DEVICE}" in result.describe(0)

    def test_profile(self, tmp_path: Path) -> None:
        point = point_of(tmp_path, convolution(), None)
        assert point.roof_ms is not None
        assert (point.roof_pct, point.achieved_flop_per_s, point.achieved_bytes_per_s) == (None, None, None)
        assert (point.bound, point.roof_side) == (None, Bound.COMPUTE)
        assert point.reason == "no profile in this set"

    def test_time_of_one_layer(self, tmp_path: Path) -> None:
        engine = engine_of(tmp_path, [convolution(), copy()], [0.1, 0.2])
        damaged = dataclasses.replace(engine, has_profile=False, diagnostics=())
        first = engine.layers[0]._replace(latency=None)
        partial = dataclasses.replace(engine, layers=(first, *engine.layers[1:]))
        assert roofline(partial, SIMPLE).points[0].reason == "no time in the profile"
        assert (
            roofline(dataclasses.replace(damaged, layers=partial.layers), SIMPLE).points[0].reason
            == "unreadable profile"
        )

    def test_time_of_zero(self, tmp_path: Path) -> None:
        point = point_of(tmp_path, copy(), 0.0)
        assert (point.roof_pct, point.reason) == (None, "its time is zero")

    def test_dynamic_shape(self, tmp_path: Path) -> None:
        one = layer("copy", "Reformat", [tensor("a", -1, 8)], [tensor("b", -1, 8)])
        point = point_of(tmp_path, one, 0.1)
        assert (point.bytes, point.roof_pct, point.bound) == (None, None, None)
        assert "bytes unknown: missing shape, type or weights" in point.reason

    def test_macs_of_a_layer_that_multiplies(self, tmp_path: Path) -> None:
        """Its share of the bandwidth is known; that it is bound by bandwidth is not."""
        one = layer("{ForeignNode[a...b]}", "Myelin", [tensor("a", 1, 8)], [tensor("b", 1, 8)])
        point = point_of(tmp_path, one, 0.1)
        assert point.bandwidth_pct is not None
        assert (point.roof_ms, point.roof_pct, point.bound) == (None, None, None)
        assert point.reason == "unknown operation"

    def test_peak_of_the_unit(self, tmp_path: Path) -> None:
        one = convolution(tactic="ampere_int8_icudnn_int8x4_128x64_relu_medium_nn_v1")
        one["Inputs"] = [tensor("x", 1, 64, 56, 56, dtype="Int8")]
        point = point_of(tmp_path, one, 0.1)
        assert point.peak is not None
        assert point.peak.flop_per_s == pytest.approx(2 * 4 * 128 * 10 * 1e9)
        assert point.bound is Bound.LATENCY
        assert "an upper bound" in point.assumptions[0]

    def test_dla(self, tmp_path: Path) -> None:
        engine = engine_of(tmp_path, [copy()], [0.1])
        on_dla = dataclasses.replace(engine, layers=(engine.layers[0]._replace(device=Device.DLA),))
        point = roofline(on_dla, SIMPLE).points[0]
        assert (point.roof_pct, point.bound) == (None, None)
        assert "DLA" in point.reason

    def test_layers_that_do_nothing_have_no_point(self, tmp_path: Path) -> None:
        engine = engine_of(
            tmp_path, [layer("c", "Constant", [], [tensor("a", 8)]), layer("n", "NoOp"), copy()]
        )
        result = roofline(engine, SIMPLE)
        assert list(result.points) == [2]
        assert result.describe(0) == ["no roofline: the layer neither computes nor moves data"]

    def test_kernels_whose_name_tells_nothing(self) -> None:
        assert peak_of_kernel(SIMPLE, None, None).reason == "unknown precision"
        assumed = peak_of_kernel(SIMPLE, DataType.FP16, None)
        assert assumed.flop_per_s == pytest.approx(10.24e12)
        assert any("unknown from the kernel name" in one for one in assumed.assumptions)
        assert peak_of_kernel(SIMPLE, DataType.FP32, None).flop_per_s == pytest.approx(2.56e12)
        depthwise = peak_of_kernel(SIMPLE, DataType.FP16, None, "CudaDepthwiseConvolution")
        assert depthwise.flop_per_s == pytest.approx(2.56e12)
        winograd = peak_of_kernel(
            SIMPLE, DataType.FP32, "ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1"
        )
        assert any("Winograd" in one for one in winograd.assumptions)


class TestLaunch:
    def test_floor(self, tmp_path: Path) -> None:
        """Percentile 2 of 51 times 0.01, 0.02, …: the second of them."""
        times = [0.01 * place for place in range(1, 52)]
        engine = engine_of(tmp_path, chain(*(f"n{place}" for place in range(51))), times)
        assert latency_floor_ms(engine.layers) == pytest.approx(0.02)
        assert latency_floor_ms(engine.layers[:26]) == pytest.approx(0.015)
        assert latency_floor_ms(engine.layers[:19]) is None

    def test_short_layers_with_little_to_do(self, tmp_path: Path) -> None:
        small = [
            one | {"Name": f"small{place}"}
            for place, one in enumerate(chain(*"abcdefghijklmnopqrstuvwxyz", layer_type="Reformat"))
        ]
        layers = [*small, copy("full"), copy("long")]
        result = roofline(engine_of(tmp_path, layers, [0.05] * 26 + [0.06, 0.5]), SIMPLE)
        assert result.floor_ms == pytest.approx(0.05)
        # The copies take at least 0.04 ms: one is short but busy, one is long.
        assert [result.points[place].bound for place in (0, 26, 27)] == [
            Bound.LAUNCH,
            Bound.BANDWIDTH,
            Bound.LATENCY,
        ]
        assert result.counts == {
            Bound.COMPUTE: 0,
            Bound.BANDWIDTH: 1,
            Bound.LATENCY: 1,
            Bound.LAUNCH: 26,
            None: 0,
        }
        assert result.latency_ms_by_bound[Bound.LAUNCH] == pytest.approx(26 * 0.05)
        assert any("within 2 × the floor" in one for one in result.describe(0))
        assert not any("launch" in one for one in result.sentences)

    def test_limits(self, tmp_path: Path) -> None:
        """A copy whose roof is 0.04 ms, between 25 others at the floor."""
        small = [
            one | {"Name": f"small{place}"}
            for place, one in enumerate(chain(*"abcdefghijklmnopqrstuvwxy", layer_type="Reformat"))
        ]
        share = 0.04 / LAUNCH_ROOF_SHARE
        for floor, ms, bound in (
            (share, share * 1.01, Bound.LAUNCH),
            (share, share * 0.99, Bound.LATENCY),
            (share, share * LAUNCH_FACTOR * 0.99, Bound.LAUNCH),
            (share, share * LAUNCH_FACTOR * 1.01, Bound.LATENCY),
        ):
            times = [floor] * 25 + [ms]
            engine = engine_of(tmp_path / f"{ms}", [*small, copy()], times)
            assert roofline(engine, SIMPLE).points[25].bound is bound

    def test_too_few_layers_for_a_floor(self, tmp_path: Path) -> None:
        result = roofline(engine_of(tmp_path / "copies", [copy("a"), copy("b")], [0.1] * 2), SIMPLE)
        assert result.counts[Bound.LAUNCH] == 0
        assert any("≥ 20 timed layers" in one for one in result.sentences)
        without_bounds = roofline(engine_of(tmp_path / "names", chain(*"abc"), [0.01] * 3), SIMPLE)
        assert not any("timed layers" in one for one in without_bounds.sentences)


class TestLatency:
    def test_below_forty_percent_neither_roof_is_the_bound(self, tmp_path: Path) -> None:
        """The roof of the copy is 0.04 ms."""
        for ms, bound in ((0.099, Bound.BANDWIDTH), (0.101, Bound.LATENCY)):
            point = point_of(tmp_path / f"{ms}", copy(), ms)
            assert (point.bound, point.roof_side) == (bound, Bound.BANDWIDTH)

    def test_tiles_for_the_sms(self, tmp_path: Path) -> None:
        result = roofline(engine_of(tmp_path, [convolution()], [1.0]), SIMPLE)
        point = result.points[0]
        assert point.bound is Bound.LATENCY
        assert point.tiles == 49
        assert any("49 tiles for 10 SMs" in line for line in result.describe(0))

    def test_share_of_a_group(self, tmp_path: Path) -> None:
        engine = engine_of(tmp_path, [copy("a"), copy("b"), layer("n", "NoOp")], [0.05, 0.15, 0.0])
        result = roofline(engine, SIMPLE)
        assert result.compute_roof_pct(engine.layers) == pytest.approx(100 * 0.08 / 0.2)
        assert result.compute_roof_pct(engine.layers[2:]) is None

    @pytest.mark.parametrize("name", ["edge-vision/results/mobilenet_v2", "trex/resnet-A100/qat-residual"])
    def test_no_layer_is_called_bound_by_a_roof_it_does_not_reach(self, artifacts: Path, name: str) -> None:
        engine = load_engine(artifacts / name)
        for point in roofline(engine, find_device(engine)).points.values():
            if point.bound in (Bound.COMPUTE, Bound.BANDWIDTH):
                assert (point.roof_pct or 0.0) >= 40


class TestWords:
    def test_every_number_of_a_point_has_a_formula(self) -> None:
        others = {"layer_index", "latency_ms", "peak", "reasons", "assumptions", "precision"}
        numbers = set(RooflinePoint._fields) - others
        assert numbers <= FORMULAS.keys()

    def test_a_layer_in_sentences(self, tmp_path: Path) -> None:
        lines = roofline(engine_of(tmp_path, [convolution()], [0.05]), SIMPLE).describe(0)
        text = "\n".join(lines)
        assert "work: 116 M MACs" in text
        assert "peak 10.2 TFLOP/s = 2 × 512 MACs × 10 SMs × 1 GHz (read: " in text
        assert "ridge: 102 FLOP/B" in text
        assert "bound by compute: its intensity is above the ridge" in text
        assert [f"assumed: {one}" for one in (*ASSUMPTIONS, *SIMPLE.assumptions)] == lines[
            -len(ASSUMPTIONS) - 1 :
        ]

    def test_reasons_are_counted(self, tmp_path: Path) -> None:
        names = [f"{{ForeignNode[{letter}]}}" for letter in "abc"]
        layers = [layer(name, "Myelin", [tensor("a", 1, 8)], [tensor("b", 1, 8)]) for name in names]
        result = roofline(engine_of(tmp_path, layers, [0.1] * 3), SIMPLE)
        assert "3 layers: unknown operation" in result.sentences


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> tuple[Engine, Layer, Layer]:
    engine = engine_of(tmp_path_factory.mktemp("templates"), [gemv(), copy()], [0.1, 0.1])
    return engine, engine.layers[0], engine.layers[1]


def _shaped(tensor: Tensor, *shape: int) -> Tensor:
    return tensor._replace(shape=shape)


def _random_layer(
    templates: tuple[Engine, Layer, Layer], index: int, size: int, ms: float | None, gemm: bool
) -> Layer:
    latency = None if ms is None else LayerLatency(ms, ms, ms, None)
    if gemm:
        vector, matrix = templates[1].inputs
        bytes_of_weights = None if size < 0 else 2 * size * size
        return templates[1]._replace(
            index=index,
            inputs=(_shaped(vector, 1, size), _shaped(matrix, size, size)),
            outputs=(_shaped(templates[1].outputs[0], 1, size),),
            weights_bytes=bytes_of_weights,
            constant_input_bytes=bytes_of_weights,
            latency=latency,
        )
    source, target = templates[2].inputs[0], templates[2].outputs[0]
    return templates[2]._replace(
        index=index,
        inputs=(_shaped(source, size),),
        outputs=(_shaped(target, size),),
        latency=latency,
    )


@given(
    layers=st.lists(
        st.tuples(
            st.sampled_from([-1, 0, 1, 7, 1000, 4096]),
            st.none() | st.just(0.0) | st.floats(1e-6, 1e4),
            st.booleans(),
        ),
        max_size=40,
    ),
    device=st.sampled_from(
        [
            SIMPLE,
            NO_DEVICE,
            dataclasses.replace(SIMPLE, sms=None),
            dataclasses.replace(SIMPLE, peak_bandwidth_bytes_per_s=None),
        ]
    ),
)
def test_random_engines(
    templates: tuple[Engine, Layer, Layer], layers: list[tuple[int, float | None, bool]], device: DeviceModel
) -> None:
    made = tuple(_random_layer(templates, place, *one) for place, one in enumerate(layers))
    result = roofline(dataclasses.replace(templates[0], layers=made), device)
    assert len(result.points) == len(made) == sum(result.counts.values())
    timed = sum(ms or 0.0 for _, ms, _ in layers)
    assert sum(ms or 0.0 for ms in result.latency_ms_by_bound.values()) == pytest.approx(timed)
    for bound, ms in result.latency_ms_by_bound.items():
        under = [point for point in result.points.values() if point.bound == bound]
        assert (ms is None) == (bool(under) and all(point.latency_ms is None for point in under))
    assert all(result.sentences)
    for index, point in result.points.items():
        assert point.roof_pct is None or point.roof_pct >= 0
        assert point.intensity is None or point.intensity >= 0
        if point.roof_pct is None:
            assert point.reason
        if point.roof_pct is not None and point.roof_flop_per_s and point.achieved_flop_per_s:
            assert point.roof_pct == pytest.approx(100 * point.achieved_flop_per_s / point.roof_flop_per_s)
        if device.peak_bandwidth_bytes_per_s is None:
            assert (point.roof_pct, point.bound, point.bandwidth_pct) == (None, None, None)
        assert all(result.describe(index))


class TestReal:
    def test_alexnet_on_a_laptop_gpu(self, artifacts: Path) -> None:
        """The three matrix-vector products run at 94, 91 and 79 % of the 336 GB/s of the memory."""
        engine = load_engine(artifacts / "edge-vision/results/alexnet")
        device = find_device(engine)
        assert device.name == "NVIDIA GeForce RTX 3060 Laptop GPU"
        assert device.peak_bandwidth_bytes_per_s == pytest.approx(336.0e9, rel=1e-3)
        result = roofline(engine, device)
        gemvs = [result.points[one.index] for one in engine.layers if "gemv" in (one.tactic or "")]
        assert [point.roof_pct for point in gemvs] == [
            pytest.approx(expected, abs=2) for expected in (94, 91, 79)
        ]
        assert [point.achieved_bytes_per_s for point in gemvs] == [
            pytest.approx(expected * 1e9, rel=0.02) for expected in (315, 306, 267)
        ]
        assert {point.bound for point in gemvs} == {Bound.BANDWIDTH}
        # Pools at 3 to 27 % and convolutions at 13 to 39 % of their roofs are bound by neither.
        assert (result.counts[Bound.COMPUTE], result.counts[Bound.LATENCY]) == (0, 10)
        assert result.counts[None] == 0

    def test_a_network_on_an_unknown_device(self, artifacts: Path) -> None:
        engine = load_engine(artifacts / "bev-multitask-blackwell")
        device = find_device(engine)
        result = roofline(engine, device)
        assert len(result.points) > 1000
        assert result.counts[None] == len(result.points)
        for point in result.points.values():
            assert (point.peak_flop_per_s, point.roof_ms, point.roof_pct, point.bandwidth_pct) == (None,) * 4
        assert result.sentences[0].endswith(UNKNOWN_DEVICE)
        assert device.describe() == ["device: unknown", f"peak bandwidth unknown: {UNKNOWN_DEVICE}"]

    def test_mobilenet_is_bound_by_launches(self, artifacts: Path) -> None:
        engine = load_engine(artifacts / "trex/mobilenet-qat-8.4EA")
        result = roofline(engine, find_device(engine))
        assert result.floor_ms == pytest.approx(0.00477, rel=0.02)
        assert result.counts[Bound.LAUNCH] > len(result.points) / 2


def test_needs_no_heavy_library() -> None:
    code = (
        "import sys, trex_tui.old.analysis.roofline\n"
        "from trex_tui.old.analysis.gpu_peaks import gpu_peaks; gpu_peaks()\n"
        "print(sorted({'pandas', 'numpy', 'networkx', 'textual'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
