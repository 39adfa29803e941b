"""What an engine computes: small sums in plain Python, with inputs out of files and outputs into one.

A plan may end with a description of its network, which tests append (`mark`): inputs, outputs, how coarsely it rounds.
Without one it is t0 -> t5 of 1x8x4x4 FP32, the tensors of the layers.
"""

from __future__ import annotations

import array
import math
import struct

from failures import Failures
from files import read_bytes, write_bytes
from log import LAYERS, Log

_CODES = {"fp32": "f", "fp16": "e", "int64": "q", "int32": "i"}
_MARK = b"\nNETWORK "


def default() -> dict:
    tensor = {"type": "fp32", "shape": [1, 8, 4, 4]}
    return {"inputs": {"t0": tensor}, "outputs": {f"t{len(LAYERS)}": tensor}, "step": 0.0}


def network_of(data: bytes) -> dict:
    found = data.rfind(_MARK)
    return default() if found < 0 else eval(data[found + len(_MARK) :])  # noqa: S307 - what a test wrote; json takes as long to import as a run


def mark(network: dict) -> bytes:
    """What a test appends to a plan."""
    return _MARK + repr(network).encode()


def pairs(text: str) -> dict[str, str]:
    """`a:1x3,'b:0':2` as trtexec takes it apart."""
    found = {}
    for part in filter(None, text.split(",")):
        name, _, value = part[1:].partition("':") if part.startswith("'") else part.partition(":")
        found[name] = value
    return found


def shaped(network: dict, options: dict[str, list[str]]) -> dict:
    """The network with `--shapes`; -1 in a shape is dynamic, and an output's takes that of the first input.

    A shape stated for an input that is not dynamic is disregarded without a word, as trtexec does.
    """
    given = pairs(options.get("--shapes", [""])[-1])
    batch = 1
    for name, one in network["inputs"].items():
        if name in given and min(one["shape"], default=1) < 0:
            one["shape"] = [int(n) for n in given[name].split("x")]
            batch = one["shape"][0]
        one["shape"] = [max(1, n) for n in one["shape"]]
    for one in network["outputs"].values():
        one["shape"] = [batch if n < 0 else n for n in one["shape"]]
    return network


def bind(log: Log, network: dict, options: dict[str, list[str]]) -> dict[str, list[float]]:
    """Say what is bound, and read the inputs."""
    files, values = pairs(options.get("--loadInputs", [""])[-1]), {}
    for name, one in network["inputs"].items():
        count = math.prod(one["shape"])
        if name in files:
            log.info(f"Using values loaded from {files[name]} for input {name}")
            data, size = read_bytes(files[name]), count * struct.calcsize(_CODES[one["type"]])
            values[name] = decode(data[:size], one["type"])
        else:
            log.info(f"Using random values for input {name}")
            values[name] = [((place * 7) % 13 - 6) / 6.5 for place in range(count)]
        told(log, "input", name, one)
    for name, one in network["outputs"].items():
        told(log, "output", name, one)
    return values


def told(log: Log, side: str, name: str, one: dict) -> None:
    dims = "x".join(map(str, one["shape"]))
    if log.release.before(8, 6, 0):
        log.info(f"Created {side} binding for {name} with dimensions {dims}")
    else:
        log.info(
            f"{side.capitalize()} binding for {name} with dimensions {dims} and type {one['type']} is created."
        )


def decode(data: bytes, kind: str) -> list[float]:
    if kind == "fp16":
        return [one[0] for one in struct.iter_unpack("<e", data)]
    return list(array.array(_CODES[kind], data))


def export(
    network: dict,
    values: dict[str, list[float]],
    options: dict[str, list[str]],
    wrong: Failures,
    *,
    copied: bool,
) -> None:
    """`--exportOutput`, with the six digits of a C++ stream; zeros where nothing is copied from the device."""
    text = "[\n"
    for place, (name, one) in enumerate(network["outputs"].items()):
        numbers = compute(values, math.prod(one["shape"]), network["step"], one["type"]) if copied else [0.0]
        if "nan_output" in wrong:
            numbers[0] = math.nan
        dims = "x".join(map(str, one["shape"]))
        shown = ", ".join(f"{one:.6g}" for one in numbers)
        if "final_shape" in wrong:
            shown = f"Final shape is {dims} reported by the output allocator.\n{shown}"
        text += ("  " if place == 0 else ", ") + f'{{ "name" : "{name}"\n  , "dimensions" : "{dims}"\n'
        text += f'  , "values" : [ {shown} ]\n  }}\n'
    text += "]\n"
    if "no_output" not in wrong:
        data = (text[: len(text) // 2] if "half_output" in wrong else text).encode()
        write_bytes(options["--exportOutput"][-1], data)


def compute(values: dict[str, list[float]], count: int, step: float, kind: str) -> list[float]:
    """Each output element: a mean of neighbouring inputs, rounded to multiples of `step`."""
    mixed = [0.0] * count
    for weight, (_, one) in enumerate(sorted(values.items()), start=1):
        for place in range(count):
            mixed[place] += weight * (one[place % len(one)] + one[(place * 3 + 1) % len(one)]) / 2
    if step:
        mixed = [round(one / step) * step for one in mixed]
    return mixed if kind in ("fp32", "fp16", "bf16") else [float(round(one)) for one in mixed]
