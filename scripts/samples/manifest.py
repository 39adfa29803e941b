"""The manifest that `trex-tui capture` would have left beside a modelled set. The machine in it is invented."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from samples.model import Device

MODELLED = "this set is modelled, not measured: see the README of sample_artifacts"
_BUILD_S, _RUN_S = 24, 9


def capture_json(files: Mapping[str, str], name: str, device: Device, day: datetime) -> str:
    """`*.capture.json` of a set.

    Args:
        files: The other files: names with contents.
        name: Of the set.
        device: The GPU.
        day: When the build began, as in its log; taken as UTC.
    """
    began = day.replace(tzinfo=timezone.utc)
    measured = began + timedelta(minutes=2)
    document = {
        "schema": "trex-tui/capture/1",
        "trex_tui": "0.1.0",
        "name": name,
        "status": "complete",
        "started": _stamp(began),
        "ended": _stamp(measured + timedelta(seconds=_RUN_S)),
        "trtexec": {
            "path": "/usr/src/tensorrt/bin/trtexec",
            "found_by": "/usr/src/tensorrt/bin",
            "version": "10.4.0",
            "build": 26,
        },
        "model": {"path": f"models/{name}.onnx"},
        "engine": {"path": f"{name}.engine"},
        "remote": None,
        "runs": [
            _run("build", f"{name}.build.log", began, _BUILD_S),
            _run("profile", f"{name}.profile.log", measured, _RUN_S),
        ],
        "remarks": [MODELLED],
        "clocks": None,
        "host": {"before": _host(device, 210.0, 44.0, 14.0), "after": _host(device, 1425.0, 67.0, 78.0)},
        "files": {file: _entry(text) for file, text in sorted(files.items())},
    }
    return json.dumps(document, indent=2) + "\n"


def _run(role: str, log: str, began: datetime, seconds: int) -> dict[str, Any]:
    return {
        "role": role,
        "number": 1,
        "log": log,
        "started": _stamp(began),
        "ended": _stamp(began + timedelta(seconds=seconds)),
        "exit_code": 0,
        "passed": True,
        "failure": None,
        "remarks": [],
    }


def _host(device: Device, clock_mhz: float, degrees: float, watts: float) -> dict[str, Any]:
    reasons = ("sw_power_cap", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")
    return {
        "kernel": "6.8.0-45-generic",
        "machine": "x86_64",
        "container": None,
        "host_name": None,
        "gpus": [
            {
                "name": device.name,
                "driver": "560.35.03",
                "compute_capability": device.compute_capability,
                "sm_clock_mhz": clock_mhz,
                "memory_clock_mhz": 1000 * float(device.memory_clock),
                "max_sm_clock_mhz": 1000 * float(device.compute_clock),
                "temperature_c": degrees,
                "power_w": watts,
                "power_limit_w": 80.0,
                "throttle_reasons": [],
                "throttle_counters_us": dict.fromkeys(reasons, 0.0),
            }
        ],
        "jetson": None,
        "gpu_clock": None,
    }


def _entry(text: str) -> dict[str, Any]:
    data = text.encode()
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _stamp(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")
