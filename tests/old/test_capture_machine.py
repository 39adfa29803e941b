"""Whether an engine of then is one of now: kinds of GPU, what chooses among them, boards and their power modes."""

from __future__ import annotations

from typing import Any

import pytest

from trex_tui.old.capture.environment_probe import chosen_gpus, identify_machine, machine_differences

UUID = "GPU-3f6f2c0e-1111-2222-3333-444455556666"


def machine(
    *gpus: str, visible: str = "", order: str = "", jetson: dict[str, str] | None = None
) -> dict[str, Any]:
    cuda = chosen_gpus({"CUDA_VISIBLE_DEVICES": visible, "CUDA_DEVICE_ORDER": order})
    return identify_machine({"gpus": [{"name": one} for one in gpus], "cuda": cuda, "jetson": jetson})


def board(mode: str | None = "MAXN", l4t: str = "36.4.3") -> dict[str, Any]:
    return machine(jetson={"soc": "tegra234", "model": "Orin", "l4t": l4t, "power_mode": mode})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("then", "now", "part"),
    [
        (machine("A100"), machine("A100", "A100", visible="1"), ""),
        (machine("A100", "T4", visible="0"), machine("A100", "T4", visible="0"), ""),
        (machine("A100", "T4", visible="0"), machine("A100", "T4", visible="1"), "may have been built on another"),
        (machine("A100", "T4"), machine("A100", "T4", order="PCI_BUS_ID"), "may have been built on another"),
        (machine("A100", "T4"), identify_machine({"gpus": [{"name": "A100"}, {"name": "T4"}]}), "may have been"),
        (machine("A100", visible="MIG-aa"), machine("A100", visible="MIG-bb"), "may have been built on another"),
        (machine("A100"), machine("T4"), "A100; this is T4"),
        (machine("A100"), machine(), "the GPU that is here now is unknown"),
        (machine(), machine("A100"), "the GPU that built it is unknown"),
        (machine(), machine(), ""),
        (board(), board(), ""),
        (board(), board("MODE_15W"), "in power mode MAXN, this is MODE_15W"),
        (board(None), board(), "in power mode unknown, this is MAXN"),
        (board(), board(l4t="36.5.0"), "on L4T 36.4.3, this is 36.5.0"),
        (board(), machine("A100"), "another GPU"),
        ({}, board(), "the GPU that built it is unknown"),
        (identify_machine({"gpus": 3, "jetson": "x", "cuda": []}), machine("A100"), "the GPU that built it is unknown"),
    ],
)  # fmt: skip
def test_differences(then: dict[str, Any], now: dict[str, Any], part: str) -> None:
    found = list(machine_differences(then, now))
    assert bool(found) == bool(part)
    assert part in " ".join(found)


def test_a_uuid_is_told_from_others_and_not_told() -> None:
    first, again, other = (
        chosen_gpus({"CUDA_VISIBLE_DEVICES": text})
        for text in (f"{UUID},0", f"{UUID},0", UUID.replace("3f", "3e"))
    )
    assert first == again != other
    assert UUID[4:12] not in str(first)
    assert first["visible"].endswith(",0")
