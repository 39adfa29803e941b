"""The files: a plan, layer information, times per layer and per query, as the release writes them."""

from __future__ import annotations

import struct

from files import write_bytes
from log import LAYERS
from release import Release

ROWS = 20


def plan_bytes(release: Release, *, detailed: bool) -> bytes:
    """A plan: the magic, the version of the builder in bytes 24 to 27, and what a loader needs to know."""
    head = b"ftrt" + struct.pack("<I", 0) + bytes(16) + bytes([*release.numbers, release.build or 0])
    return head + b'{"detailed": %s}' % (b"true" if detailed else b"false") + bytes(range(256))


def plan_version(data: bytes) -> tuple[int, ...]:
    return tuple(data[24:27])


def is_detailed(data: bytes) -> bool:
    return b'{"detailed": true}' in data


def graph_text(release: Release, *, detailed: bool) -> str:
    layers: list[object] = list(LAYERS)
    if detailed:
        layers = [_layer(release, place, name) for place, name in enumerate(LAYERS)]
    root: dict[str, object] = {"Layers": layers}
    if release.before(11, 0, 0):
        root["Bindings"] = ["t0", f"t{len(LAYERS)}"]
    else:
        shape = [1, 8, 4, 4]
        profile = [{"MinShape": shape, "OptShape": shape, "MaxShape": shape}]
        root["I/O Tensors"] = [
            {"Name": name, "IOMode": mode, "DataType": "Float", "Dimensions": shape, "ProfileInfo": profile}
            for name, mode in (("t0", "Input"), (f"t{len(LAYERS)}", "Output"))
        ]
    return str(root).replace("'", '"')  # JSON, since there are only names without quotes and whole numbers


def _layer(release: Release, place: int, name: str) -> dict[str, object]:
    def tensor(number: int) -> dict[str, object]:
        form = {"Format/Datatype": "Row major linear FP32"}
        if not release.before(11, 0, 0):
            form = {"Datatype": "Float", "Format": "Row major linear FP32 format (kLINEAR)"}
        return {"Name": f"t{number}", "Location": "Device", "Dimensions": [1, 8, 4, 4], **form}

    kind = "CaskConvolution" if "conv" in name else "kgen"
    return {"Name": name, "LayerType": kind, "Inputs": [tensor(place)], "Outputs": [tensor(place + 1)]}


def profile_text(release: Release) -> str:
    lines = ['{ "count" : 1000 }']
    for place, name in enumerate(LAYERS, start=1):
        median = "" if release.before(8, 4, 1) else f', "medianMs" : {place / 100:g}'
        lines.append(
            f'{{ "name" : "{name}", "timeMs" : {place * 10:g}, "averageMs" : {place / 100:g}{median}, '
            f'"percentage" : {place / 15 * 100:g} }}'
        )
    return "[\n  " + "\n, ".join(lines) + "\n]\n"


def timing_text(release: Release) -> str:
    rows = []
    for place in range(ROWS):
        start = 300 + place
        row = {
            "startEnqMs": start, "endEnqMs": start + 0.1, "startH2dMs": start, "endH2dMs": start,
            "startComputeMs": start, "endComputeMs": start + 0.49, "startD2hMs": start + 0.49, "endD2hMs": start + 0.49,
            "h2dMs": 0, "computeMs": 0.49, "d2hMs": 0, "latencyMs": 0.49,
        }  # fmt: skip
        if release.before(8, 4, 0):
            row["endToEndMs"] = 0.95
        rows.append("{ " + ", ".join(f'"{key}" : {value:g}' for key, value in row.items()) + " }")
    return "[\n  " + "\n, ".join(rows) + "\n]\n"


def write(path: str, text: str, *, half: bool = False) -> None:
    """As trtexec: a file that cannot be opened is passed over in silence."""
    data = text.encode()
    try:
        write_bytes(path, data[: len(data) // 2] if half else data)
    except OSError:
        return
