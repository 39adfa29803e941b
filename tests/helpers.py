"""Builders of small artifacts, and the independent list of the real ones."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
THOROUGH = bool(os.environ.get("TREX_TUI_THOROUGH"))
"""Try everything that repeats itself: more examples, every seed and size."""
ARTIFACTS = Path(os.environ.get("TREX_TUI_ARTIFACTS") or REPOSITORY.parent / "shared" / "artifacts")
OLD_SAMPLES = REPOSITORY / "tests" / "modelled_sets"
"""Modelled sets. Tests that move to a new room take measured ones instead."""
GOLDEN = REPOSITORY / "tests" / "golden"


def examples(number: int) -> int:
    """How many examples of a property to try."""
    return number if THOROUGH else max(number // 4, 5)


def some(values: Sequence[Any], few: int = 1) -> Sequence[Any]:
    """The first of several that show the same; all of them where the suite is to be thorough."""
    return values if THOROUGH else values[:few]


_IN_REPOSITORY = {
    "edge-vision/results/alexnet": "alexnet",
    "edge-vision/results/resnet18": "resnet18",
    "trex/resnet-A100/fp16": "resnet-a100/fp16",
    "trex/resnet-A100/qat": "resnet-a100/qat",
}
"""Folders of artifacts whose files are samples too."""


@dataclass(frozen=True)
class RealSet:
    """A set of real artifacts: what lies in `folder`, by the kind the reader should see in it.

    Attributes:
        name: The name that the set is to have among all real sets.
    """

    name: str
    folder: str
    files: dict[str, str] = field(default_factory=dict)

    @property
    def directory(self) -> Path:
        """Where its files lie: among the artifacts, else in this repository."""
        if not ARTIFACTS.is_dir() and self.folder in _IN_REPOSITORY:
            return REPOSITORY / "sample_artifacts" / _IN_REPOSITORY[self.folder]
        return ARTIFACTS / self.folder

    def path(self, kind: str) -> Path:
        return self.directory / self.files[kind]

    def paths(self) -> list[Path]:
        return [self.directory / name for name in self.files.values()]

    def json(self, kind: str) -> Any:
        return plain_json(self.path(kind))

    def engine(self) -> Any:
        """The whole set, read once: engines are frozen."""
        return _load_engine(self.path("graph"))

    def layers(self) -> list[Any]:
        root = self.json("graph")
        return root["Layers"] if isinstance(root, dict) else root

    def rows(self) -> list[dict[str, Any]]:
        return [row for row in self.json("profile") if "name" in row]


@cache
def _load_engine(path: Path) -> Any:
    from trex_tui import load_engine

    return load_engine(path)


def plain_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"), strict=False)


def _named(stem: str, kinds: str) -> dict[str, str]:
    return {kind: f"{stem}.{kind.replace('_', '.')}.json" for kind in kinds.split()}


_MEASURED = "graph profile timing"
_STATED = f"{_MEASURED} build_metadata profile_metadata"
REAL_SETS = (
    *(
        RealSet(name, folder, _named(stem, kinds))
        for name, folder, stem, kinds in (
            ("alexnet_fp16", "edge-vision/results/alexnet", "alexnet_fp16", _STATED),
            ("resnet18_fp16", "edge-vision/results/resnet18", "resnet18_fp16", _STATED),
            ("resnet-A100/fp16/resnet", "trex/resnet-A100/fp16", "resnet.onnx.engine", f"{_STATED} metadata"),
            ("resnet-A100/fp32/resnet", "trex/resnet-A100/fp32", "resnet.onnx.engine", _STATED),
            ("resnet-qat", "trex/resnet-A100/qat", "resnet-qat.onnx.engine", _STATED),
            ("tf-resnet-RTX3090/fp16/resnet", "trex/tf-resnet-RTX3090/fp16", "resnet.onnx.engine", _STATED),
            ("tf-resnet-RTX3090/fp32/resnet", "trex/tf-resnet-RTX3090/fp32", "resnet.onnx.engine", _STATED),
            (
                "mobilenet-qat-TITANRTX/mobilenet.qat",
                "trex/mobilenet-qat-TITANRTX",
                "mobilenet.qat.onnx.engine",
                _STATED,
            ),
            (
                "mobilenet-qat-8.4EA/mobilenet.qat",
                "trex/mobilenet-qat-8.4EA",
                "mobilenet.qat.onnx.engine",
                f"{_MEASURED} metadata",
            ),
        )
    ),
    RealSet(
        "tofp16", "bev-multitask-blackwell", {"graph": "layers_tofp16.json", "profile": "profile_tofp16.json"}
    ),
    RealSet(
        "diffusion-controlnet", "diffusion-controlnet", {"graph": "layerinfo.json", "profile": "profile.json"}
    ),
    *(
        RealSet(name, folder, {"graph": f"{name}{end}.json"})
        for name, folder, end in (
            ("torch_trt-resnet18", "inspector-dumps", ".trt_engine_info"),
            ("vgg16", "inspector-dumps", "_trt_engine_info"),
            ("trt10.16.1_exportLayerInfo_noContext", "names-only", ""),
            ("trt8.4.1_exportLayerInfo_names_only", "names-only", ""),
            ("trt8.6.0_exportLayerInfo_names_only", "names-only", ""),
        )
    ),
)
_ONE_OF_A_KIND = (
    "alexnet_fp16",
    "resnet-A100/fp16/resnet",
    "resnet-qat",
    "mobilenet-qat-8.4EA/mobilenet.qat",
    "tofp16",
    "torch_trt-resnet18",
    "trt8.6.0_exportLayerInfo_names_only",
)


def real_sets(*, having: Iterable[str] = (), every: bool = THOROUGH) -> list[Any]:
    """Parameters for `pytest.mark.parametrize`: the real sets that have files of these kinds.

    Without the artifacts, those of this repository.

    Args:
        every: All of them, for results that differ from set to set; else one of each origin and form.
    """
    is_there = ARTIFACTS.is_dir()
    return [
        pytest.param(one, id=one.name)
        for one in REAL_SETS
        if ((every or one.name in _ONE_OF_A_KIND) if is_there else one.folder in _IN_REPOSITORY)
        and all(kind in one.files for kind in having)
    ]


def tensor(name: str, *shape: int, dtype: str = "Half", **more: Any) -> dict[str, Any]:
    """A tensor as TensorRT 8.4 to 10 describe it."""
    return {"Name": name, "Location": "Device", "Dimensions": list(shape), "Format/Datatype": dtype, **more}


def layer(
    name: str,
    layer_type: str = "CaskConvolution",
    inputs: Sequence[dict[str, Any]] = (),
    outputs: Sequence[dict[str, Any]] = (),
    **more: Any,
) -> dict[str, Any]:
    """A layer as a detailed engine describes it."""
    return {"Name": name, "LayerType": layer_type, "Inputs": list(inputs), "Outputs": list(outputs), **more}


def chain(*names: str, layer_type: str = "kgen") -> list[dict[str, Any]]:
    """Layers of which each reads what the one before wrote."""
    return [
        layer(name, layer_type, [tensor(f"t{place}", 1, 8)], [tensor(f"t{place + 1}", 1, 8)])
        for place, name in enumerate(names)
    ]


def write_json(path: Path, root: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(root), encoding="utf-8")
    return path


def write_graph(path: Path, layers: Sequence[Any], bindings: Sequence[Any] | None = ()) -> Path:
    root: dict[str, Any] = {"Layers": list(layers)}
    if bindings is not None:
        root["Bindings"] = list(bindings)
    return write_json(path, root)


def profile_line(
    name: str,
    average: str | float,
    *,
    median: str | float | None = None,
    count: int = 10,
    percentage: float = 1.5,
) -> str:
    """A record exactly as trtexec prints it, name unescaped."""
    total = f"{average * count:.6g}" if isinstance(average, float) else average
    middle = "" if median is None else f', "medianMs" : {median}'
    return f'{{ "name" : "{name}", "timeMs" : {total}, "averageMs" : {average}{middle}, "percentage" : {percentage:.6g} }}'


def profile_text(lines: Sequence[str], count: int = 10) -> str:
    return "[\n  " + "\n, ".join([f'{{ "count" : {count} }}', *lines]) + "\n]\n"


def write_profile(path: Path, times: Iterable[tuple[str, float]], count: int = 10) -> Path:
    """A profile of (name, averageMs), with all five keys."""
    times = list(times)
    whole = sum(average for _, average in times) or 1.0
    lines = [
        profile_line(name, average, median=average, count=count, percentage=100.0 * average / whole)
        for name, average in times
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(profile_text(lines, count), encoding="utf-8")
    return path


def timing_row(start: float, latency: float, *, end_to_end: bool = False) -> dict[str, float]:
    """A row of `--exportTimes` as TensorRT 8.4 and later write it; with `endToEndMs`, as 8.0 to 8.2 do."""
    end = start + latency
    row = {
        "startEnqMs": start - 0.1,
        "endEnqMs": start - 0.05,
        "startH2dMs": start,
        "endH2dMs": start,
        "startComputeMs": start,
        "endComputeMs": end,
        "startD2hMs": end,
        "endD2hMs": end,
        "h2dMs": 0,
        "computeMs": latency,
        "d2hMs": 0,
        "latencyMs": latency,
    }
    return row | {"endToEndMs": latency + 0.1} if end_to_end else row


def messages(diagnostics: Iterable[Any]) -> list[str]:
    return [one.message for one in diagnostics]


GRAPH = {"Layers": chain("one", "two"), "Bindings": ["t0", "t2"]}
PROFILE = [{"count": 5}, {"name": "one", "timeMs": 5, "averageMs": 1, "percentage": 100}]


def write_files(folder: Path, files: dict[str, Any]) -> Path:
    """Write files by name: text and bytes as they are, anything else as JSON."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        elif isinstance(content, bytes):
            path.write_bytes(content)
        else:
            write_json(path, content)
    return folder


def names_of(files: dict[Any, Path]) -> dict[str, str]:
    """Kind and name of every file of a set."""
    return {kind.value: path.name for kind, path in files.items()}


_PORTS = itertools.count(os.getpid() * 101)


def free_port() -> int:
    """A port of this machine to listen on, in a range that no connection and rarely another process of the suite gets."""
    while True:
        port = 10_000 + next(_PORTS) % 22_000
        with socket.socket() as listener:
            # As servers do: what closed a moment ago does not keep the port.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                listener.bind(("127.0.0.1", port))
                return port


STAMP = "[11/02/2024-10:21:35] [I]"


def write_sample_set(folder: Path) -> Path:
    """A small set with one of each: names that repeat and that are dangerous, a NoOp, Myelin, times, metadata, a log."""
    four, eight = (f"Channel major FP16 format where channel % {channels} == 0" for channels in (4, 8))
    kernel = "sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f16_nhwckrsc_nhwc_tilesize128x64x32"
    convolution = {"ParameterType": "Convolution", "Weights": {"Type": "Half", "Count": 432}}
    convolution |= {
        "Bias": {"Type": "Half", "Count": 16},
        "TacticName": kernel,
        "TacticValue": "0x280b0ad3c23d8442",
    }
    convolution |= {"Metadata": "[ONNX Layer: /features/Conv]\x1e[ONNX Layer: /features/Relu]", "StreamId": 0}
    reformat = {"ParameterType": "Reformat", "Origin": "REFORMAT", "TacticValue": "0x0", "StreamId": 0}
    first = tensor("input", 1, 3, 8, 8, dtype="Row major linear FP32")
    second, third = tensor("r", 1, 3, 8, 8, dtype=four), tensor("c", 1, 16, 8, 8, dtype=eight)
    flat, weights = tensor("f", 1, 1024), tensor("w", 10, 1024)
    logits, hidden, last = tensor("g", 1, 10), tensor("h", 1, 10), tensor("output", 1, 10, dtype="Float")
    copy = "Reformatting CopyNode for Input Tensor 0 to /features/Conv"
    layers = [
        layer(copy, "Reformat", [first], [second], **reformat),
        layer("/features/Conv + /features/Relu", "CaskConvolution", [second], [third], **convolution),
        layer("/flatten", "NoOp", [tensor("c", 1, 16, 8, 8)], [flat], ParameterType="Shuffle"),
        layer("/classifier/Gemm_myl1_0", "gemm", [flat, weights], [logits]),
        layer('evil \x1b[31m|name|, "quoted"', "kgen", [logits], [hidden]),
        layer("softmax", "CudaSoftMax", [hidden], [last]),
    ]
    write_graph(folder / "net.graph.json", layers, ["input", "output"])
    rows = [
        {"name": raw["Name"], "timeMs": ms * 1000, "averageMs": ms, "medianMs": ms, "percentage": ms * 500}
        for raw, ms in zip(layers, (0.01, 0.05, 0.0, 0.12, 0.02), strict=False)
    ]
    write_json(folder / "net.profile.json", [{"count": 1000}, *rows])
    write_json(
        folder / "net.timing.json",
        [timing_row(300.0 + at, ms) for at, ms in enumerate((0.2, 0.21, 0.19, 0.2))],
    )
    built = {
        "model_options": {"Format": "ONNX"},
        "build_options": {"Precision": "FP32+FP16"},
        "device_information": {},
    }
    write_json(folder / "net.build.metadata.json", built)
    summary = {"Throughput": 4999.5, "Latency": [0.19, 0.21, 0.2, 0.2, 0.205, 0.208, 0.21]}
    run = {"performance_summary": summary, "inference_options": {"Duration": "3s (+ 200ms warm up)"}}
    run["device_information"] = {"Selected Device": "NVIDIA Test GPU"}
    write_json(folder / "net.profile.metadata.json", run)
    command = "TensorRT.trtexec [TensorRT v100400] # trtexec --onnx=net.onnx --saveEngine=net.engine"
    (folder / "net.build.log").write_text(
        f"&&&& RUNNING {command}\n{STAMP} === Model Options ===\n&&&& PASSED {command}\n", encoding="utf-8"
    )
    return folder


def refuse_constant(text: str) -> Any:
    raise AssertionError(f"{text} is not JSON")


def strict_json(text: str) -> Any:
    """Parse what must be JSON to every parser: without NaN and Infinity."""
    return json.loads(text, parse_constant=refuse_constant)


def golden(name: str, shown: str) -> str:
    """Return the content of a golden file. With UPDATE_GOLDENS, write `shown` into it first."""
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDENS"):
        path.write_text(shown, encoding="utf-8")
    return path.read_text(encoding="utf-8")
