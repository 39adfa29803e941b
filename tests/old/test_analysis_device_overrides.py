"""Device facts stated by the user, in options and files."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from trex_tui.old.analysis.device import DeviceModel, device_of_metadata
from trex_tui.old.analysis.device_overrides import (
    DeviceOverrides,
    overrides_for,
    overrides_from_options,
    overrides_in,
)
from trex_tui.old.analysis.gpu_peaks import peak_ops
from trex_tui.old.artifacts.metadata import Metadata
from trex_tui.old.config import read_config
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.errors import TrexError

FP16, FP32, INT8 = DataType.FP16, DataType.FP32, DataType.INT8
DEVICE = {
    "Selected Device": "NVIDIA GeForce RTX 3060 Laptop GPU",
    "Compute Capability": 8.6,
    "SMs": 30,
    "Compute Clock Rate": 1.425,
    "Memory Bus Width": 192,
    "Memory Clock Rate": 7.001,
}


def device(overrides: DeviceOverrides) -> DeviceModel:
    return device_of_metadata(Metadata(device=DEVICE), overrides)


def load_overrides(path: Path) -> dict[str, DeviceOverrides]:
    return overrides_in(read_config(path))


def tera(value: float | None) -> float | None:
    return None if value is None else value / 1e12


class TestStatedByTheUser:
    def test_options(self) -> None:
        stated = overrides_from_options(
            ["bandwidth=300", "fp16=50", "INT8 = 99.5", "clock=1.2", "sms=28", "fp16=51"]
        )
        assert (stated.peak_bandwidth_gb_per_s, stated.clock_ghz, stated.sms) == (300, 1.2, 28)
        assert stated.peak_tflops == {FP16: 51, INT8: 99.5}

    @pytest.mark.parametrize(
        ("option", "message"),
        [
            ("bandwidth", "expected key=value"),
            ("bandwith=3", "unknown key 'bandwith'"),
            ("bandwidth=", "bandwidth =  is not a number"),
            ("bandwidth=300GB/s", "300GB/s is not a number"),
            ("bandwidth=-1", "bandwidth = -1.0 is out of range; write a number from 0.1 to "),
            ("clock=1425", "is out of range; write a number from 0.01 to 20"),
            ("clock=nan", "nan is not a number"),
            ("sms=2.5", "whole number"),
            ("fp16=inf", "inf is not a number"),
            ("int32=3", "unknown key 'int32'"),
            ("\x1b[31m=3", "␛"),
        ],
    )
    def test_options_that_cannot_be(self, option: str, message: str) -> None:
        with pytest.raises(TrexError) as error:
            overrides_from_options([option])
        assert message in str(error.value)
        assert str(error.value).isprintable()

    def test_they_replace_what_is_reported(self) -> None:
        stated = overrides_from_options(["bandwidth=300", "fp16=50", "clock=1.2", "sms=28"])
        model = device(stated)
        assert (model.sms, model.clock_ghz, model.peak_bandwidth_bytes_per_s) == (28, 1.2, 300e9)
        assert "number of SMs: 28, not the reported 30; stated by the user (option)" in model.overrides
        peak = peak_ops(model, FP16, tensor_cores=True, accumulate=FP32)
        assert (tera(peak.flop_per_s), peak.tag, peak.source) == (50, "stated", "option")
        assert tera(peak_ops(model, INT8, tensor_cores=True).flop_per_s) == pytest.approx(
            2 * 1024 * 28 * 1.2e-3
        )
        # Kernels on CUDA cores keep their own peak.
        assert tera(peak_ops(model, FP16, tensor_cores=False).flop_per_s) == pytest.approx(
            2 * 128 * 28 * 1.2e-3
        )

    def test_they_serve_an_unknown_device(self) -> None:
        model = device_of_metadata(Metadata(), overrides_from_options(["bandwidth=300", "fp16=50"]))
        assert model.is_known
        assert model.bandwidth_reason == ""
        assert tera(peak_ops(model, FP16, tensor_cores=True).flop_per_s) == 50
        assert peak_ops(model, FP16, tensor_cores=False).assumptions == (
            "the configured FP16 peak also applies to CUDA cores",
        )
        assert peak_ops(model, INT8, tensor_cores=True).flop_per_s is None

    def test_file(self, tmp_path: Path) -> None:
        path = tmp_path / "config.toml"
        path.write_text(
            'theme = "dark"\n[device."*"]\nclock_ghz = 1.0\nsms = 7\n'
            '[device."GeForce RTX 3060 Laptop GPU"]\npeak_bandwidth_gb_per_s = 320\nclock_ghz = 1.2\n'
            "peak_tflops = { fp16 = 40, int8 = 80 }\n",
            encoding="utf-8",
        )
        stated = load_overrides(path)
        mine = overrides_for("NVIDIA GeForce RTX 3060 Laptop GPU", stated)
        assert mine is not None
        assert (mine.peak_bandwidth_gb_per_s, mine.clock_ghz, mine.sms) == (320, 1.2, 7)
        assert mine.peak_tflops == {FP16: 40, INT8: 80}
        other = overrides_for("NVIDIA L4", stated)
        assert other is not None
        assert (other.clock_ghz, other.peak_tflops) == (1.0, {})
        assert overrides_for(None, stated) == other
        assert overrides_for("NVIDIA L4", {}) is None

    def test_option_over_file(self) -> None:
        file = DeviceOverrides(sms=1, clock_ghz=1.0, peak_tflops={FP16: 1, INT8: 1}, source="a.toml")
        both = file.updated_with(overrides_from_options(["clock=2", "fp16=2"]))
        assert (both.sms, both.clock_ghz, both.peak_tflops) == (1, 2, {FP16: 2, INT8: 1})
        assert both.source == "a.toml and option"

    def test_flat_file(self, tmp_path: Path) -> None:
        path = tmp_path / "peaks.toml"
        path.write_text("bandwidth = 300\nfp16 = 50\n[window]\nwide = true\n", encoding="utf-8")
        stated = overrides_for("anything", load_overrides(path))
        assert stated is not None
        assert (stated.peak_bandwidth_gb_per_s, stated.peak_tflops) == (300, {FP16: 50})

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("device = 3", ":1: device must be a table per device; write ["),
            ("[device]\nL4 = 3", ":2: device.L4 must be in a table; write ["),
            ("[device.L4]\nclock_mhz = 3", ":2: device.L4: unknown key 'clock_mhz'"),
            (
                "[device.L4]\nsms = true",
                ":2: device.L4: sms = True is not a number; write a number from 1 to ",
            ),
            ("[device.L4]\nclock = '1.2'", "is not a number; write a number from "),
            ("[device.L4.peak_tflops]\nint32 = 1", ":2: device.L4: peak_tflops has no precision 'int32'"),
            ("[device.L4]\npeak_tflops = 3", "unknown key 'peak_tflops'"),
            ("[device.L4", "is not valid TOML ("),
            ("[device.L4]\n\nsms = \n", ":3: is not valid TOML ("),
            ("\nsms = 1.5", ":2: sms = 1.5 is not whole; write a whole number"),
        ],
    )
    def test_files_that_cannot_be(self, tmp_path: Path, text: str, message: str) -> None:
        path = tmp_path / "peaks.toml"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(TrexError, match=r"peaks\.toml") as error:
            load_overrides(path)
        assert message in str(error.value)
        assert "\n" not in str(error.value)

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(TrexError, match="cannot be read"):
            load_overrides(tmp_path / "none.toml")
        (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(TrexError, match="not valid TOML"):
            load_overrides(tmp_path / "bytes.toml")

    def test_python_without_a_toml_reader(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def absent(name: str) -> Any:
            raise ModuleNotFoundError(name)

        (tmp_path / "any.toml").write_text("sms = 1", encoding="utf-8")
        monkeypatch.setattr(importlib, "import_module", absent)
        with pytest.raises(TrexError, match="or the package tomli"):
            load_overrides(tmp_path / "any.toml")
