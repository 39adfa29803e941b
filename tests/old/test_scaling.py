"""`trex-tui scaling`: points of a sweep in order, times per sample, layers whose limit changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers import REPOSITORY
from trex_tui.old.cli import main

SAMPLES = REPOSITORY / "tests/old/sample_artifacts"
ALEXNET = SAMPLES / "alexnet"
FIXED_MS, PER_SAMPLE_MS = 0.2, 0.05


def make_sweep(folder: Path, batches: tuple[int, ...]) -> Path:
    """Points of the sample with other batches: its shapes, and times with a fixed part and a part per sample."""
    for batch in batches:
        point = folder / f"b{batch}"
        point.mkdir(parents=True)
        graph = json.loads((ALEXNET / "alexnet_fp16.graph.json").read_text())
        for layer in graph["Layers"]:
            for tensor in (*layer["Inputs"], *layer["Outputs"]):
                tensor["Dimensions"][0] *= batch
        profile = json.loads((ALEXNET / "alexnet_fp16.profile.json").read_text())
        rows = json.loads((ALEXNET / "alexnet_fp16.timing.json").read_text())
        time_ms = FIXED_MS + PER_SAMPLE_MS * batch
        rows = [{**row, "latencyMs": time_ms, "computeMs": time_ms} for row in rows]
        for row in rows:  # the stamps are those of batch 1
            for key in [key for key in row if key.startswith(("start", "end"))]:
                del row[key]
        for row in profile:
            for key in {"timeMs", "averageMs", "medianMs"} & set(row):
                row[key] *= (FIXED_MS + PER_SAMPLE_MS * batch) / (FIXED_MS + PER_SAMPLE_MS)
        for name, value in (("graph", graph), ("profile", profile), ("timing", rows)):
            (point / f"alexnet_fp16.{name}.json").write_text(json.dumps(value))
    return folder


def read(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["scaling", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["scalings"]


def test_points_are_in_the_order_of_the_batch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (scaling,) = read(capsys, str(make_sweep(tmp_path, (16, 1, 4))))
    points = scaling["points"]
    assert [point["batch"] for point in points] == [1, 4, 16]
    for point in points:
        median = FIXED_MS + PER_SAMPLE_MS * point["batch"]
        assert point["median_ms"] == pytest.approx(median, abs=1e-4)
        assert point["per_sample_ms"] == pytest.approx(median / point["batch"], abs=1e-4)
    assert [point["marginal_ms"] for point in points[1:]] == pytest.approx([PER_SAMPLE_MS] * 2, abs=1e-4)
    assert points[0]["marginal_ms"] is None
    rates = [batch / (FIXED_MS + PER_SAMPLE_MS * batch) for batch in (1, 4, 16)]
    assert [point["efficiency_pct"] for point in points] == pytest.approx(
        [100.0 * rate / rates[-1] for rate in rates], abs=0.1
    )
    assert not scaling["is_by_shape"]


def test_a_layer_whose_limit_changes_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    peaks = ("--peak", "bandwidth=320", "--peak", "clock=1.6", "--peak", "sms=40", "--peak", "fp16=60")
    (scaling,) = read(capsys, str(make_sweep(tmp_path, (1, 64))), *peaks)
    assert scaling["limits"]
    for row in scaling["limits"]:
        first, last = row["limit_by_point"]
        assert first != last
        assert f"{first} 1" in row["limits"] or first is None
    moved = {(row["kind"], *row["limit_by_point"]) for row in scaling["limits"]}
    assert ("convolution", "latency", "compute") in moved
    for point in scaling["points"]:
        shares = [point[f"{bound}_pct"] for bound in ("launch", "latency", "bandwidth", "compute")]
        assert sum(shares) == pytest.approx(100.0)


def test_other_models_and_precisions_are_other_scalings(capsys: pytest.CaptureFixture[str]) -> None:
    scalings = read(capsys, str(SAMPLES))
    assert all(len(scaling["points"]) == 1 for scaling in scalings)
    assert len(scalings) == 5


def test_unknown_values_are_null(capsys: pytest.CaptureFixture[str]) -> None:
    (scaling,) = read(capsys, str(SAMPLES / "names_only"))
    (point,) = scaling["points"]
    assert point["median_ms"] is None
    assert point["samples_per_s"] is None
    assert point["compute_pct"] is None


@pytest.mark.parametrize("form", ["text", "md", "html"])
def test_formats(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scaling", str(make_sweep(tmp_path, (1, 8))), "--format", form]) == 0
    assert "ms per sample" in capsys.readouterr().out


# A sweep with known limits: 1×1 convolutions of D channels, whose least times follow from their work

BANDWIDTH, RATE, FLOOR_MS = 1e12, 100e12, 1e-3
CHANNELS = (32, 64, 128, 256, 256, 512, 1024, 2048)
IDLE = 16
"""Layers of next to no work, which make the floor."""
BATCHES = (1, 64, 400, 2000)


def work(channels: int, batch: int) -> tuple[float, float]:
    """Return operations and bytes of a layer in FP16."""
    return 2.0 * batch * channels**2, 2.0 * (2 * batch * channels + channels**2)


def planted_limit(channels: int, batch: int) -> tuple[str, float]:
    """Return what limits a layer, and its time: 90 % of the roof, but no less than a launch."""
    flops, size = work(channels, batch)
    roof_ms = 1e3 * max(flops / RATE, size / BANDWIDTH)
    time_ms = max(FLOOR_MS, roof_ms / 0.9)
    if time_ms <= 2.0 * FLOOR_MS and roof_ms < 0.25 * time_ms:
        return "launch", time_ms
    if roof_ms < 0.4 * time_ms:
        return "latency", time_ms
    return ("compute" if flops / size > RATE / BANDWIDTH else "bandwidth"), time_ms


def write_known_sweep(folder: Path) -> Path:
    for batch in BATCHES:
        layers, profile = [], []
        for index, channels in enumerate((*CHANNELS, *[8] * IDLE)):
            shape = [batch, channels, 1, 1]
            layers.append(
                {
                    "Name": f"/block{index}/conv/Conv",
                    "LayerType": "CaskConvolution",
                    "Inputs": [{"Name": f"in{index}", "Dimensions": shape, "Format/Datatype": "Half"}],
                    "Outputs": [{"Name": f"out{index}", "Dimensions": shape, "Format/Datatype": "Half"}],
                    "ParameterType": "Convolution",
                    "Kernel": [1, 1],
                    "Groups": 1,
                    "OutMaps": channels,
                    "Weights": {"Type": "Half", "Count": channels**2},
                    "TacticName": "sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc_tilesize64x64x64",
                }
            )
            time_ms = FLOOR_MS if channels == 8 else planted_limit(channels, batch)[1]
            profile.append({"name": f"/block{index}/conv/Conv", "averageMs": time_ms, "medianMs": time_ms})
        point = folder / f"b{batch}"
        point.mkdir(parents=True)
        bindings = ["in0", f"out{len(layers) - 1}"]
        (point / "net.graph.json").write_text(json.dumps({"Layers": layers, "Bindings": bindings}))
        (point / "net.profile.json").write_text(json.dumps([{"count": 100}, *profile]))
    return folder


def test_limits_of_a_sweep_are_the_planted_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    peaks = [f"--peak={each}" for each in ("bandwidth=1000", "clock=1", "sms=40", "fp16=100")]
    (scaling,) = read(capsys, str(write_known_sweep(tmp_path)), *peaks)
    assert [point["batch"] for point in scaling["points"]] == list(BATCHES)
    planted = {
        f"/block{index}/conv/Conv": [planted_limit(channels, batch)[0] for batch in BATCHES]
        for index, channels in enumerate(CHANNELS)
    }
    assert planted["/block3/conv/Conv"] == ["launch", "launch", "bandwidth", "compute"]
    moved = {name: limits for name, limits in planted.items() if len(set(limits)) > 1}
    assert len(moved) >= 6
    found = {
        row["layer"]: list(row["limit_by_point"]) for row in scaling["limits"] if row["layer"] in planted
    }
    assert found == moved
