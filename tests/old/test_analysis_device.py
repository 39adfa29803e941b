"""The device model: what drivers report, what replaces it, and the peaks that follow."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import trex_tui.old.analysis.gpu_peaks
from trex_tui.old.analysis.device import UNKNOWN_DEVICE, DeviceModel, device_of_metadata
from trex_tui.old.analysis.device_overrides import DeviceOverrides
from trex_tui.old.analysis.gpu_peaks import Peak, gpu_peaks, peak_ops
from trex_tui.old.artifacts.metadata import Metadata
from trex_tui.old.engine.dtypes import DataType

FP16, FP32, INT8 = DataType.FP16, DataType.FP32, DataType.INT8


def device(
    name: str | None = "NVIDIA GeForce RTX 3060 Laptop GPU",
    capability: Any = "8.6",
    sms: Any = 30,
    clock: Any = 1.425,
    bits: Any = 192,
    memory_clock: Any = 7.001,
    memory_mib: Any = 5937,
    overrides: DeviceOverrides | None = None,
) -> DeviceModel:
    section = {
        "Selected Device": name,
        "Compute Capability": capability,
        "SMs": sms,
        "Application Compute Clock Rate": clock,
        "Device Global Memory": None if memory_mib is None else f"{memory_mib} MiB",
        "Memory Bus Width": bits,
        "Application Memory Clock Rate": memory_clock,
    }
    return device_of_metadata(Metadata(device={k: v for k, v in section.items() if v is not None}), overrides)


def tera(peak: Peak) -> float | None:
    return None if peak.flop_per_s is None else peak.flop_per_s / 1e12


class TestReading:
    @pytest.mark.parametrize(
        "section",
        [
            {
                "Compute Capability": "8.6",
                "SMs": "30",
                "Application Compute Clock Rate": "1.425 GHz",
                "Memory Bus Width": "192 bits (ECC disabled)",
                "Application Memory Clock Rate": "7.001 GHz",
                "Device Global Memory": "5937 MiB",
            },
            {
                "Compute Capability": 8.6,
                "SMs": 30.0,
                "Compute Clock Rate": 1.425,
                "Memory Bus Width": 192.0,
                "Memory Clock Rate": 7.001,
                "Device Global Memory": "5937 MiB",
            },
            {
                "Compute Capability": 8.6,
                "SMs": 30,
                "Compute Clock Rate": "1425 MHz",
                "Memory Bus Width": "192",
                "Memory Clock Rate": "7001 MHz",
                "Device Global Memory": 5937,
            },
        ],
        ids=["text", "numbers of trex", "other units"],
    )
    def test_label_generations(self, section: dict[str, Any]) -> None:
        model = device_of_metadata(Metadata(device={"Selected Device": "GeForce RTX 3060", **section}))
        assert (model.compute_capability, model.sms, model.clock_ghz) == ("8.6", 30, 1.425)
        assert (model.memory_bus_bits, model.memory_clock_ghz) == (192, 7.001)
        assert model.memory_bytes == 5937 * 2**20
        assert model.peak_bandwidth_bytes_per_s == pytest.approx(2 * 7.001e9 * 192 / 8)
        assert not model.missing

    def test_legacy_device_dump(self) -> None:
        dump = {
            "Name": "NVIDIA TITAN RTX",
            "TotalMemory": 25393561600,
            "CLOCK_RATE": 2100000,
            "COMPUTE_CAPABILITY_MAJOR": 7,
            "COMPUTE_CAPABILITY_MINOR": 5,
            "GLOBAL_MEMORY_BUS_WIDTH": 384,
            "INTEGRATED": 0,
            "MEMORY_CLOCK_RATE": 7001000,
            "MULTIPROCESSOR_COUNT": 72,
        }
        model = device_of_metadata(Metadata(device_attributes=dump))
        assert (model.name, model.compute_capability, model.sms) == ("NVIDIA TITAN RTX", "7.5", 72)
        assert model.clock_ghz == pytest.approx(2.1)
        assert model.peak_bandwidth_bytes_per_s == pytest.approx(672.096e9)
        assert model.memory_bytes == 25393561600
        assert model.origins["sms"] == "device dump: MULTIPROCESSOR_COUNT"
        assert model.describe()[0] == "device: NVIDIA TITAN RTX (Turing TU10x)"
        integrated = device_of_metadata(Metadata(device_attributes={**dump, "INTEGRATED": 1}))
        assert integrated.peak_bandwidth_bytes_per_s is None
        assert (
            "integrated GPU: the reported memory clock and bus width do not give the bandwidth"
            in integrated.bandwidth_reason
        )

    def test_trtexec_wins_over_the_dump_value_by_value(self) -> None:
        both = Metadata(
            device={"Selected Device": "X", "SMs": 10},
            device_attributes={"MULTIPROCESSOR_COUNT": 20, "CLOCK_RATE": 1e6},
        )
        model = device_of_metadata(both)
        assert (model.sms, model.clock_ghz) == (10, 1.0)

    @pytest.mark.parametrize(
        "value", [0, -1, "", "0 bits", "n/a", True, None, "1.5", math.nan, "1e400", 1e9, []]
    )
    def test_implausible_counts_are_unknown(self, value: Any) -> None:
        model = device_of_metadata(Metadata(device={"SMs": value, "Memory Bus Width": value}))
        assert model.sms is None
        assert model.memory_bus_bits is None
        assert "(implausible)" in model.missing["sms"]

    @pytest.mark.parametrize("value", ["1.4", "1.4 ", 1.4, "1.4 GHz", "1400 MHz", "1400000 kHz"])
    def test_clocks(self, value: Any) -> None:
        model = device_of_metadata(Metadata(device={"Compute Clock Rate": value}))
        assert model.clock_ghz == pytest.approx(1.4)

    @pytest.mark.parametrize("value", ["1.4 G", "1425", "0 GHz", 0.0, "GHz"])
    def test_clocks_that_cannot_be(self, value: Any) -> None:
        assert device_of_metadata(Metadata(device={"Compute Clock Rate": value})).clock_ghz is None

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (8.6, "8.6"),
            (8.0, "8.0"),
            (9, "9.0"),
            ("12.1", "12.1"),
            (10.0, "10.0"),
            (8.65, None),
            ("86", "86.0"),
            (0, None),
        ],
    )
    def test_compute_capability(self, value: Any, expected: str | None) -> None:
        model = device_of_metadata(Metadata(device={"Compute Capability": value}))
        assert model.compute_capability == expected

    def test_nothing_stated(self) -> None:
        model = device_of_metadata(Metadata())
        assert not model.is_known
        assert model.bandwidth_reason == model.compute_reason == UNKNOWN_DEVICE
        assert model.describe() == ["device: unknown", f"peak bandwidth unknown: {UNKNOWN_DEVICE}"]
        assert peak_ops(model, FP16, tensor_cores=True).reason == UNKNOWN_DEVICE


class TestCorrections:
    @pytest.mark.parametrize(
        ("name", "capability", "sms", "clock", "memory_mib", "gb_per_s"),
        [
            ("Xavier", 7.2, 8, 1.377, 31920, 136.5),
            ("Xavier", 7.2, 4, 0.9, 31920, 136.5),
            ("Xavier", 7.2, 6, 1.109, 14885, 51.2),
            ("Orin", 8.7, 16, 1.275, 28826, 204.8),
            ("Orin", 8.7, 8, 0.918, 15523, 102.4),
            ("Orin", 8.7, 8, 0.765, 7620, 102.4),
            ("Orin", 8.7, 8, 1.173, 7620, 102.4),
            ("Orin", 8.7, 8, 1.02, 7620, 102.4),
            ("Orin", 8.7, 8, 0.624, 7337, 68.3),
            ("Orin", 8.7, 4, 0.625, 3700, 34.1),
            ("NVIDIA Thor", 11.0, 20, 1.049, 125771, 273.0),
            ("Thor", 10.1, 20, 1.575, 125771, 273.0),
            ("NVIDIA GB10", 12.1, 48, 2.418, 122570, 273.0),
            # No row fits: unknown, not what the driver's clock and width would give.
            ("Orin", 8.7, 8, 0.8, 7620, None),
            ("Orin", 8.7, 8, 1.02, None, None),
            ("Xavier", 7.2, 7, 1.1, 14885, None),
            ("NVIDIA Tegra X2", 6.2, 2, 1.3, 7850, None),
        ],
    )
    def test_bandwidth_of_integrated_gpus(
        self,
        name: str,
        capability: float,
        sms: int,
        clock: float,
        memory_mib: int | None,
        gb_per_s: float | None,
    ) -> None:
        model = device(name, capability, sms, clock, 128, clock, memory_mib)
        if gb_per_s is None:
            assert model.peak_bandwidth_bytes_per_s is None
            assert (
                "integrated GPU: the reported memory clock and bus width do not give the bandwidth"
                in model.bandwidth_reason
            )
        else:
            assert model.peak_bandwidth_bytes_per_s == pytest.approx(gb_per_s * 1e9)
            assert any(
                text in model.origins["peak_bandwidth_bytes_per_s"] for text in ("read in: ", "inferred; ")
            )

    @pytest.mark.parametrize(
        ("sms", "printed", "expected"),
        [(20, 1.049, 1.575), (12, 1.049, 1.53), (20, 1.575, 1.575), (20, 1.386, 1.386)],
    )
    def test_clock_of_thor(self, sms: int, printed: float, expected: float) -> None:
        model = device("NVIDIA Thor", 11.0, sms, printed, 0, 0.0, 125771)
        assert model.clock_ghz == expected
        assert bool(model.overrides) == (expected != printed)
        if model.overrides:
            assert f"{expected:g} GHz, not the reported 1.049 GHz" in model.overrides[0]

    def test_the_l40_has_half_of_its_tensor_rates(self) -> None:
        half, full = (
            device(name, 8.9, 142, 2.49, 384, 9.001, 46068) for name in ("NVIDIA L40", "NVIDIA L40S")
        )
        assert tera(peak_ops(half, INT8, tensor_cores=True)) == pytest.approx(362.07, rel=1e-4)
        assert tera(peak_ops(full, INT8, tensor_cores=True)) == pytest.approx(724.13, rel=1e-4)
        assert tera(peak_ops(half, FP32, tensor_cores=False)) == tera(
            peak_ops(full, FP32, tensor_cores=False)
        )

    @pytest.mark.parametrize(
        ("name", "has_tensor_cores"),
        [
            ("NVIDIA GeForce GTX 1650", False),
            ("GeForce GTX 1660 Ti", False),
            ("NVIDIA T1000", False),
            ("NVIDIA GeForce MX450", False),
            ("Tesla T4", True),
            ("NVIDIA GeForce RTX 2060", True),
        ],
    )
    def test_turing_without_tensor_cores(self, name: str, has_tensor_cores: bool) -> None:
        model = device(name, 7.5, 14, 1.62, 128, 6.001, 3911)
        peak = peak_ops(model, FP16, tensor_cores=True, accumulate=FP16)
        assert peak.rate is not None
        assert peak.rate.name == ("fp16_tc_acc16" if has_tensor_cores else "fp16_cuda")
        assert any("no FP16 tensor cores" in one for one in peak.assumptions) != has_tensor_cores

    def test_hopper_runs_its_tensor_cores_slower(self) -> None:
        model = device("NVIDIA H100 PCIe", 9.0, 114, 1.755, 5120, 1.593, 81081)
        assert tera(peak_ops(model, FP16, tensor_cores=True, accumulate=FP32)) == pytest.approx(
            2 * 2048 * 114 * 1.755e-3 * 0.924
        )
        assert any("0.924 of the reported clock" in one for one in model.assumptions)
        stated = device("NVIDIA H100 PCIe", 9.0, 114, 1.755, overrides=DeviceOverrides(clock_ghz=1.62))
        assert stated.tensor_factor == 1

    def test_cautions(self) -> None:
        assert any("laptop" in one for one in device().assumptions)
        assert any("A10G" in one for one in device("NVIDIA A10G").assumptions)

    def test_unknown_architecture(self) -> None:
        model = device("NVIDIA B300", 10.3, 148, 1.9, 8192, 3.996, 270000)
        assert model.peak_bandwidth_bytes_per_s == pytest.approx(8.18e12, rel=1e-2)
        assert peak_ops(model, INT8, tensor_cores=True).reason == "no known rates for compute capability 10.3"

    @pytest.mark.parametrize("gone", ["bits", "memory_clock"])
    def test_no_bandwidth_without_its_inputs(self, gone: str) -> None:
        model = device(**{gone: 0})  # type: ignore[arg-type]
        assert model.peak_bandwidth_bytes_per_s is None
        assert "(implausible)" in model.bandwidth_reason

    def test_no_bandwidth_without_the_compute_capability(self) -> None:
        model = device(capability=None)
        assert model.peak_bandwidth_bytes_per_s is None
        assert "cannot be distinguished" in model.bandwidth_reason
        assert (
            peak_ops(model, FP32, tensor_cores=False).reason == "compute capability unknown: not in any file"
        )

    def test_no_bandwidth_that_no_memory_has(self) -> None:
        model = device(bits=8192, memory_clock=30.0)
        assert model.peak_bandwidth_bytes_per_s is None
        assert model.bandwidth_reason.endswith("GB/s (implausible)")


class TestData:
    def test_every_value_names_its_evidence(self) -> None:
        root = json.loads(
            (Path(trex_tui.old.analysis.gpu_peaks.__file__).parent / "gpu_peaks.json").read_text(
                encoding="utf-8"
            )
        )
        assert all(one["title"] and one["kind"] for one in root["sources"].values())
        values = [
            one for architecture in root["architectures"].values() for one in architecture["rates"].values()
        ]
        values += [one for rows in root["corrections"].values() for one in rows]
        values += [
            one["tensor_clock_scale"] for one in root["architectures"].values() if "tensor_clock_scale" in one
        ]
        assert len(values) > 100
        used = set()
        for one in values:
            assert one["src"]
            used.update(one["src"])
            for variant in [one["geforce"], one["other"]] if "geforce" in one else [one]:
                assert variant["tag"] in ("read", "inferred")
                if variant["tag"] == "read":
                    assert any(root["sources"][key]["kind"] != "no document" for key in one["src"])
        assert used == set(root["sources"])

    def test_rates_are_sound(self) -> None:
        for architecture in gpu_peaks().architectures.values():
            geforce, other = architecture.rates[True], architecture.rates[False]
            assert geforce.keys() == other.keys()
            assert all(geforce[name].mac_per_sm_clock <= other[name].mac_per_sm_clock for name in geforce)
            assert {"fp32_cuda", "fp16_cuda"} <= geforce.keys()

    def test_both_numbers_of_thor(self) -> None:
        assert gpu_peaks().architectures["10.1"] is gpu_peaks().architectures["11.0"]
