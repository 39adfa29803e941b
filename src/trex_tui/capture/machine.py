"""What of a machine decides about the engine that is built on it, and whether two machines are one in that.

An engine is of one kind of GPU. Where a machine has several kinds, or slices of one (MIG), the variables that choose count
too. On a Jetson the power mode counts as well: it decides how many parts of the GPU are on and how fast they may run, and
TensorRT takes a board in another mode for another device.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

_NAMED = re.compile(r"\b(GPU|MIG)-([0-9A-Za-z/-]+)")
_BOARD = ("soc", "model", "l4t", "power_mode")


def chosen_gpus(environ: Mapping[str, str]) -> dict[str, str]:
    """How CUDA chooses and numbers GPUs, as it goes into the manifest.

    A UUID stands there as the beginning of its SHA-256, enough to see whether it is the same, too little to tell which.
    """
    visible = _NAMED.sub(
        lambda match: f"{match[1]}-#{hashlib.sha256(match[2].encode('utf-8', 'replace')).hexdigest()[:8]}",
        environ.get("CUDA_VISIBLE_DEVICES", ""),
    )
    return {"visible": visible, "order": environ.get("CUDA_DEVICE_ORDER", "")}


def machine_of(host: Mapping[str, Any]) -> dict[str, Any]:
    """Of the facts of `probe_host`, those that decide about an engine; lenient, for they may come out of a file.

    Returns:
        `gpus`, the names in nvidia-smi's order; `chosen`, of `chosen_gpus`, None if it was not noted; `jetson`, None of
        another machine.
    """
    gpus, chosen, jetson = host.get("gpus"), host.get("cuda"), host.get("jetson")
    rows = gpus if isinstance(gpus, list) else []
    return {
        "gpus": [one.get("name") for one in rows if isinstance(one, Mapping) and one.get("name")],
        "chosen": dict(chosen) if isinstance(chosen, Mapping) else None,
        "jetson": {key: jetson.get(key) for key in _BOARD}
        if isinstance(jetson, Mapping) and jetson
        else None,
    }


def is_unknown(machine: Mapping[str, Any]) -> bool:
    """Whether nothing there tells what its GPU is."""
    return not machine.get("gpus") and not machine.get("jetson")


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Why an engine of one machine is none of another, each of `machine_of`; the end of a sentence about the engine."""
    if is_unknown(then) != is_unknown(now):
        when = "built it" if is_unknown(then) else "is here now"
        yield f"it cannot be told which GPU {when} (nvidia-smi does not tell)"
        return
    board, this = then.get("jetson") or {}, now.get("jetson") or {}
    if bool(board) != bool(this) or any(board.get(one) != this.get(one) for one in ("soc", "model")):
        yield "it was built on another GPU"
        return
    for key, word in (("l4t", "on L4T"), ("power_mode", "in power mode")):
        if board.get(key) != this.get(key):
            yield f"it was built {word} {board.get(key) or 'unknown'}, this is {this.get(key) or 'unknown'}"
    if not this:
        yield from _other_gpus(then, now)


def _other_gpus(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    old, new = list(then.get("gpus") or []), list(now.get("gpus") or [])
    if set(old) != set(new):
        yield f"it was built on another GPU ({_names(old)}; this is {_names(new)})"
        return
    chosen, choose = then.get("chosen"), now.get("chosen")
    sliced = any("MIG-" in str((one or {}).get("visible")) for one in (chosen, choose))
    if (len(set(new)) > 1 and (old != new or chosen != choose)) or (sliced and chosen != choose):
        yield "it may have been built on another GPU (CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER or the GPUs have changed)"


def _names(gpus: list[Any]) -> str:
    return ", ".join(dict.fromkeys(str(one) for one in gpus)) or "unknown"
