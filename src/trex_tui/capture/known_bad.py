"""Machines that are known to misbehave, as far as probes can tell them.

Each rule names what was observed on such machines; the numbers of releases are NVIDIA's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trex_tui.capture.doctor import Check, Findings

_THROTTLED_SHARE = 0.1
"""Of the time since start; below it a counter tells of a hot afternoon long ago."""
_HEAT_COUNTERS = ("sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")
_ORIN, _XAVIER = "tegra234", "tegra194"
_WITHOUT_DLA = ("tegra210", "tegra186", "tegra264")
"""Nano, TX2, Thor. Orin Nano has none either, though its chip does."""
_PACKAGED_IN = "/usr/src/tensorrt/bin"


def known_bad(found: Findings) -> list[Check]:
    """What is known about a machine like this one; nothing for most."""
    rules: tuple[Callable[[Findings], Iterator[Check]], ...] = (
        _nvmap_regression,
        _trt_of_another_board,
        _unknown_module,
        _without_dla,
        _mixed_packages,
        _stub_libraries,
        _throttled_long,
    )
    return [check for rule in rules for check in rule(found)]


def _nvmap_regression(found: Findings) -> Iterator[Check]:
    """Allocations above 3 GiB fail with memory to spare; fixed in 36.5 (issue 5602402 of its release notes)."""
    from trex_tui.capture.doctor import WARNING, Check

    if (found.facts.get("jetson") or {}).get("l4t") == "36.4.7":
        yield Check(
            "known bad",
            WARNING,
            "L4T 36.4.7: large allocations fail with memory to spare (NvMapMemAllocInternalTagged … error 12)",
            "upgrade to L4T 36.5 (JetPack 6.2.2) or later",
        )


def _trt_of_another_board(found: Findings) -> Iterator[Check]:
    """TensorRT 10.13 of JetPack 7.0 and 7.1 is Thor's: it has no code for sm_87."""
    from trex_tui.capture.doctor import ERROR, Check

    board, program = found.facts.get("jetson") or {}, found.trtexec
    if program and board.get("soc") == _ORIN and program.numbers[:2] == (10, 13):
        yield Check(
            "known bad",
            ERROR,
            f"TensorRT {program.version} on an Orin: this release has no code for its GPU (sm_87)",
            "use the TensorRT 10.16 of JetPack 7.2",
        )


def _unknown_module(found: Findings) -> Iterator[Check]:
    """Modules that are younger than the TensorRT 8.2.1 of JetPack 4.6.1: `Unknown embedded device detected`."""
    from trex_tui.capture.doctor import WARNING, Check

    board, program = found.facts.get("jetson") or {}, found.trtexec
    total_kib = (found.facts.get("memory") or {}).get("total_kib")
    if program is None or total_kib is None or board.get("soc") != _XAVIER or program.numbers >= (8, 4):
        return
    least_gib = 12 if "NX" in (board.get("model") or "") else 40
    if total_kib >= least_gib << 20:
        yield Check(
            "known bad",
            WARNING,
            f"TensorRT {program.version} may not know this Xavier of much memory (`Unknown embedded device detected`)",
            "use TensorRT 8.2.1.9 or a later JetPack",
        )


def _without_dla(found: Findings) -> Iterator[Check]:
    from trex_tui.capture.doctor import NOTE, Check

    board = found.facts.get("jetson") or {}
    if board.get("soc") in _WITHOUT_DLA or "Orin Nano" in (board.get("model") or ""):
        yield Check("DLA", NOTE, "this module has none", "capture without --dla")


def _mixed_packages(found: Findings) -> Iterator[Check]:
    """A trtexec of one release with the libraries of another. Only where packages brought it: a tar file has its own."""
    from trex_tui.capture.doctor import WARNING, Check

    program = found.trtexec
    if program is None or not str(program.path).endswith(f"{_PACKAGED_IN}/{Path(program.path).name}"):
        return
    for name, version in sorted(found.around.packages.items()):
        numbers = re.match(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", version)
        is_library = re.fullmatch(r"libnvinfer(?:\d+|-bin)", name)
        if numbers and is_library and tuple(map(int, numbers.groups())) != program.numbers[:3]:
            yield Check(
                "known bad",
                WARNING,
                f"trtexec says TensorRT {program.version}, but the package {name} is {version}",
                "one of them is left over: sudo apt install --only-upgrade 'libnvinfer*', and look at LD_LIBRARY_PATH",
            )
            return


def _stub_libraries(found: Findings) -> Iterator[Check]:
    """A stub libcuda in front of the real one: CUDA fails, or TensorRT believes that there is no memory."""
    from trex_tui.capture.doctor import WARNING, Check

    if found.around.stub_libraries:
        yield Check(
            "known bad",
            WARNING,
            f"LD_LIBRARY_PATH leads to stubs of CUDA: {', '.join(found.around.stub_libraries)}",
            "take it out of LD_LIBRARY_PATH; stubs are for linking alone",
        )


def _throttled_long(found: Findings) -> Iterator[Check]:
    from trex_tui.capture.doctor import WARNING, Check

    uptime_s = found.around.uptime_s
    if not uptime_s:
        return
    gpus = found.facts.get("gpus") or []
    for place, gpu in enumerate(gpus):
        counters = gpu.get("throttle_counters_us") or {}
        shares = {name: (counters.get(name) or 0) / 1e6 / uptime_s for name in _HEAT_COUNTERS}
        worst = max(shares, key=lambda name: shares[name])
        if shares[worst] > _THROTTLED_SHARE:
            yield Check(
                f"GPU {place}" if len(gpus) > 1 else "GPU",
                WARNING,
                f"throttled for {shares[worst]:.0%} of the time since start ({worst.replace('_', ' ')})",
                "look at airflow and power supply before trusting its numbers",
            )
