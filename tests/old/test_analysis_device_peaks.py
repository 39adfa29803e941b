"""Peaks by hand, and against published figures that were not used to find the rates."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_analysis_device import device, tera

from trex_tui.old.analysis.device import device_of_metadata
from trex_tui.old.analysis.gpu_peaks import peak_ops
from trex_tui.old.artifacts.metadata import Metadata
from trex_tui.old.engine.dtypes import DataType

FP16, FP32, INT8 = DataType.FP16, DataType.FP32, DataType.INT8


class TestPeaks:
    @pytest.mark.parametrize(
        ("precision", "tensor_cores", "accumulate", "macs", "tag"),
        [
            (FP32, False, None, 128, "read"),
            (DataType.TF32, True, None, 128, "inferred"),
            (FP32, True, None, 128, "inferred"),
            (FP16, True, FP16, 512, "read"),
            (FP16, True, FP32, 256, "read"),
            (FP16, True, None, 512, "read"),
            (FP16, False, FP16, 128, "inferred"),
            (FP16, False, FP32, 128, "read"),
            (DataType.BF16, True, FP32, 256, "inferred"),
            (INT8, True, DataType.INT32, 1024, "read"),
            (INT8, False, FP32, 512, "inferred"),
            (DataType.INT4, True, None, 2048, "read"),
        ],
    )
    def test_a_geforce_by_hand(
        self, precision: DataType, tensor_cores: bool, accumulate: DataType | None, macs: int, tag: str
    ) -> None:
        """30 SMs at 1.425 GHz."""
        peak = peak_ops(device(), precision, tensor_cores=tensor_cores, accumulate=accumulate)
        assert tera(peak) == pytest.approx(2 * macs * 30 * 1.425e9 / 1e12)
        assert peak.tag == tag
        assert peak.source
        assert f"2 × {macs} MACs × 30 SMs × 1.425 GHz" in peak.describe(precision)

    def test_only_geforce_halves_fp32_accumulation(self) -> None:
        for name, ratio in (("NVIDIA GeForce RTX 3090", 2), ("NVIDIA RTX A6000", 1), ("NVIDIA A10", 1)):
            exact, fast = (
                peak_ops(device(name), FP16, tensor_cores=True, accumulate=one).flop_per_s
                for one in (FP32, FP16)
            )
            assert exact is not None
            assert fast == ratio * exact

    def test_an_unknown_accumulator_is_said_where_it_matters(self) -> None:
        assert peak_ops(device(), FP16, tensor_cores=True).assumptions
        assert not peak_ops(device("NVIDIA A10"), FP16, tensor_cores=True).assumptions

    def test_sparse_weights_double_what_the_architecture_gains_from(self) -> None:
        dense, sparse = (
            peak_ops(device(), FP16, tensor_cores=True, accumulate=FP16, sparse=one) for one in (False, True)
        )
        assert dense.flop_per_s is not None
        assert sparse.flop_per_s == 2 * dense.flop_per_s
        turing = device("Tesla T4", 7.5)
        peaks = {peak_ops(turing, FP16, tensor_cores=True, sparse=one).flop_per_s for one in (False, True)}
        assert len(peaks) == 1
        cuda = {peak_ops(device(), FP32, tensor_cores=False, sparse=one).flop_per_s for one in (False, True)}
        assert len(cuda) == 1

    def test_pascal_computes_halves_in_fp32(self) -> None:
        pascal = device("NVIDIA GeForce GTX 1070", 6.1, 16, 1.645, 256, 4.004, 8111)
        peak = peak_ops(pascal, FP16, tensor_cores=True)
        assert peak.rate is not None
        assert peak.rate.name == "fp32_cuda"
        assert "no fast FP16 arithmetic" in " ".join(peak.assumptions)
        assert tera(peak_ops(pascal, INT8, tensor_cores=True)) == pytest.approx(2 * 512 * 16 * 1.645e-3)

    @pytest.mark.parametrize(
        "precision", [DataType.FP8, DataType.FP4, DataType.INT64, DataType.FP64, DataType.BOOL]
    )
    def test_units_that_are_not_there(self, precision: DataType) -> None:
        for tensor_cores in (True, False):
            peak = peak_ops(device(), precision, tensor_cores=tensor_cores)
            assert peak.flop_per_s is None
            assert f"no {precision.value} rate" in peak.reason
            assert peak.describe(None).startswith("peak unknown: ")

    def test_int8_on_cuda_cores_makes_four_products_per_lane(self) -> None:
        peak = peak_ops(device(), INT8, tensor_cores=False)
        assert peak.rate is not None
        assert peak.rate.mac_per_sm_clock == 4 * 128
        assert "upper bound" in peak.assumptions[0]
        assert peak_ops(device(None), INT8, tensor_cores=False).flop_per_s == peak.flop_per_s

    def test_without_a_name_only_what_all_products_share(self) -> None:
        nameless = device(None)
        assert peak_ops(nameless, FP16, tensor_cores=True, accumulate=FP32).flop_per_s is None
        assert "GeForce" in peak_ops(nameless, FP16, tensor_cores=True, accumulate=FP32).reason
        assert peak_ops(nameless, FP16, tensor_cores=True, accumulate=FP16).flop_per_s is not None

    def test_precisions_that_the_tensor_cores_lack(self) -> None:
        assert tera(peak_ops(device(), INT8, tensor_cores=True)) == pytest.approx(87.552)
        turing = peak_ops(device("Tesla T4", 7.5), DataType.TF32, tensor_cores=True)
        assert turing.rate is None or "_tc" not in turing.rate.name

    @given(
        sms=st.integers(1, 1024),
        clock=st.floats(0.05, 6),
        factor=st.integers(2, 4),
        precision=st.sampled_from([FP32, FP16, INT8, DataType.TF32, DataType.BF16]),
        tensor_cores=st.booleans(),
    )
    def test_linear_in_sms_and_clock(
        self, sms: int, clock: float, factor: int, precision: DataType, tensor_cores: bool
    ) -> None:
        base = dataclasses.replace(device(), sms=sms, clock_ghz=clock)
        one = peak_ops(base, precision, tensor_cores=tensor_cores).flop_per_s
        for change in ({"sms": sms * factor}, {"clock_ghz": clock * factor}):
            more = peak_ops(
                dataclasses.replace(base, **change), precision, tensor_cores=tensor_cores
            ).flop_per_s  # type: ignore[arg-type]
            assert more == (None if one is None else pytest.approx(one * factor))

    @given(
        gone=st.sampled_from(["sms", "clock", "capability"]),
        value=st.sampled_from([None, 0, -1, "", "unknown", math.inf]),
        precision=st.sampled_from(list(DataType)),
        tensor_cores=st.booleans(),
    )
    def test_unknown_in_unknown_out(
        self, gone: str, value: Any, precision: DataType, tensor_cores: bool
    ) -> None:
        peak = peak_ops(device(**{gone: value}), precision, tensor_cores=tensor_cores)
        assert peak.flop_per_s is None
        assert peak.reason


# Name as the driver reports it | compute capability | SMs | GHz | bus bits | memory GHz | memory MiB | published peaks, of
# data sheets, whitepapers and blogs: 10^12 operations per second, dense (`half` on CUDA
# cores, `fp16+32` on tensor cores summing in FP32), and `bw` in GB/s.
PUBLISHED = """
GeForce GTX 1080 Ti | 6.1 | 28 | 1.582 | 352 | 5.505 | 11264 | fp32 11.3, bw 484
Tesla V100-DGXS-16GB | 7.0 | 80 | 1.53 | 4096 | 0.877 | 16160 | fp32 15.7, half 31.4, fp16+32 125, bw 900
Xavier | 7.2 | 8 | 1.377 | 256 | 0.675 | 31920 | bw 137
Tesla T4 | 7.5 | 40 | 1.59 | 256 | 5.001 | 15109 | fp32 8.1, fp16+32 65, int8 130, bw 320
GeForce RTX 2080 Ti | 7.5 | 68 | 1.545 | 352 | 7 | 11019 | fp32 13.4, half 26.9, fp16+16 107.6, int8 215.2, int4 430.3, bw 616
Quadro RTX 6000 | 7.5 | 72 | 1.77 | 384 | 7.001 | 24220 | fp32 16.3, fp16+16 130.5, int8 261, int4 522, bw 672
NVIDIA A100-PCIE-40GB | 8.0 | 108 | 1.41 | 5120 | 1.215 | 40536 | fp32 19.5, half 78, tf32 156, fp16+32 312, int8 624, bw 1555
NVIDIA A100 80GB PCIe | 8.0 | 108 | 1.41 | 5120 | 1.512 | 80994 | fp16+32 312, int8 624, bw 1935
NVIDIA A30 | 8.0 | 56 | 1.44 | 3072 | 1.215 | 24060 | fp32 10.3, fp16+32 165, int8 330, bw 933
NVIDIA GeForce RTX 3090 | 8.6 | 82 | 1.695 | 384 | 9.751 | 24268 | fp32 35.6, int8 284, bw 936
NVIDIA GeForce RTX 3060 Laptop GPU | 8.6 | 30 | 1.425 | 192 | 7.001 | 5937 | bw 336
NVIDIA RTX A6000 | 8.6 | 84 | 1.8 | 384 | 8.001 | 48685 | fp32 38.7, bw 768
NVIDIA GeForce RTX 4090 | 8.9 | 128 | 2.52 | 384 | 10.501 | 24217 | fp32 82.6, int8 660.6, bw 1008
NVIDIA RTX 6000 Ada Generation | 8.9 | 142 | 2.505 | 384 | 10.001 | 48632 | fp32 91.1, bw 960
NVIDIA L4 | 8.9 | 58 | 2.04 | 192 | 6.251 | 22572 | fp32 30.3, fp16+32 121, int8 242.5, bw 300
NVIDIA L40S | 8.9 | 142 | 2.52 | 384 | 9.001 | 45589 | fp32 91.6, fp16+32 362.05, fp8+32 733, bw 864
NVIDIA L40 | 8.9 | 142 | 2.49 | 384 | 9.001 | 45589 | fp32 90.5, fp16+32 181.05, int8 362, bw 864
NVIDIA H100 PCIe | 9.0 | 114 | 1.755 | 5120 | 1.593 | 81081 | fp32 51, tf32 378, fp16+32 756, int8 1513, bw 2000
NVIDIA H100 80GB HBM3 | 9.0 | 132 | 1.98 | 5120 | 2.619 | 81110 | fp32 66.9, fp16+32 989, bw 3352
NVIDIA H200 | 9.0 | 132 | 1.98 | 6144 | 3.201 | 143771 | fp16+32 989, bw 4800
Orin | 8.7 | 16 | 1.3 | 256 | 1.3 | 62841 | fp32 5.3, bw 204.8
Orin | 8.7 | 8 | 1.02 | 128 | 0.918 | 7620 | int8 33, bw 102
Orin | 8.7 | 8 | 0.635 | 64 | 0.624 | 7337 | int8 20, bw 68
Orin | 8.7 | 8 | 0.918 | 64 | 0.918 | 15523 | int8 30, bw 102.4
NVIDIA Thor | 11.0 | 20 | 1.049 | 0 | 0 | 125771 | bw 273
NVIDIA Thor | 11.0 | 20 | 1.575 | 256 | 4.266 | 125771 | bw 273
NVIDIA Thor | 11.0 | 12 | 1.049 | 256 | 4.266 | 62841 | fp8+32 300, fp4 600, bw 273
NVIDIA GeForce RTX 5090 | 12.0 | 170 | 2.407 | 512 | 14.001 | 32607 | bw 1792
NVIDIA GeForce RTX 5060 Ti | 12.0 | 36 | 2.572 | 128 | 14.001 | 16311 | fp4 379.5, bw 448
NVIDIA GB10 | 12.1 | 48 | 2.418 | 256 | 8.533 | 122570 | fp4 500, bw 273
"""
WITHIN = 0.03
EXCEPTIONS = {
    ("Orin", 0.635, "int8"): (0.041, "20 TOPS is half of a total rounded to 40"),
    ("NVIDIA GB10", 2.418, "fp4"): (
        0.05,
        "500 is half of an advertised 1 PFLOP; the clock behind it is not published",
    ),
}
ARGUMENTS: dict[str, tuple[DataType, bool, DataType | None]] = {
    "fp32": (FP32, False, None),
    "half": (FP16, False, None),
    "tf32": (DataType.TF32, True, None),
    "fp16+16": (FP16, True, FP16),
    "fp16+32": (FP16, True, FP32),
    "int8": (INT8, True, None),
    "int4": (DataType.INT4, True, None),
    "fp8+32": (DataType.FP8, True, FP32),
    "fp4": (DataType.FP4, True, None),
}


def _cases() -> list[Any]:
    cases = []
    for line in PUBLISHED.strip().splitlines():
        *reported, published = line.split(" | ")
        for pair in published.split(", "):
            metric, figure = pair.split()
            label = f"{reported[0]} {reported[3]} {metric}"
            cases.append(pytest.param(reported, metric, float(figure), id=label))
    return cases


@pytest.mark.parametrize(("reported", "metric", "published"), _cases())
def test_published_peaks(reported: list[str], metric: str, published: float) -> None:
    name, capability, sms, clock, bits, memory_clock, memory_mib = reported
    section = {
        "Selected Device": name,
        "Compute Capability": capability,
        "SMs": sms,
        "Compute Clock Rate": f"{clock} GHz",
        "Memory Bus Width": f"{bits} bits (ECC disabled)",
        "Memory Clock Rate": f"{memory_clock} GHz",
        "Device Global Memory": f"{memory_mib} MiB",
    }
    model = device_of_metadata(Metadata(device=section))
    if metric == "bw":
        computed, unit = model.peak_bandwidth_bytes_per_s, 1e9
    else:
        precision, tensor_cores, accumulate = ARGUMENTS[metric]
        peak = peak_ops(model, precision, tensor_cores=tensor_cores, accumulate=accumulate)
        computed, unit = peak.flop_per_s, 1e12
    assert computed is not None
    within, _ = EXCEPTIONS.get((name, float(clock), metric), (WITHIN, ""))
    assert computed / unit == pytest.approx(published, rel=within)
