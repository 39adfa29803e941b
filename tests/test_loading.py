"""Facts of the device that the user states by option."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import strict_json, write_sample_set
from trex_tui.__main__ import main


def test_peaks_reach_device_and_roofs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    sample = str(write_sample_set(tmp_path / "net"))
    assert main(["summary", "--json", sample, "--peak", "bandwidth=320", "--peak", "sms=30"]) == 0
    (engine,) = strict_json(capsys.readouterr().out)["engines"]
    assert (engine["device"]["peak_bandwidth_bytes_per_s"], engine["device"]["sms"]) == (320e9, 30)
    columns = ["--columns", "footprint_allocated_bytes,roof_ms", "--json"]
    assert main(["layers", sample, *columns, "--peak", "bandwidth=1"]) == 0
    layer = strict_json(capsys.readouterr().out)["layers"][0]
    assert layer["roof_ms"] == pytest.approx(1e3 * layer["footprint_allocated_bytes"] / 1e9)
    assert main(["summary", sample, "--peak", "speed=3"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("trex-tui: error: ")
