"""The two command lines of a capture, build and profile, with what the option sections of the logs say about them."""

from __future__ import annotations

from dataclasses import dataclass

from samples.logbook import Command
from samples.model import Engine
from samples.options import memory_pools
from samples.run import Plan

LOADED = (("Format", "*"), ("Model", ""), ("Output", ""))
"""Model options of a run that loads an engine."""


@dataclass(frozen=True, slots=True)
class Paths:
    """Where the modelled trtexec kept things; all relative, no real place."""

    onnx: str
    plan: str
    cache: str
    stem: str


def _shapes(engine: Engine, index: int) -> str:
    """The shapes of dynamic inputs as trtexec takes them; index 0, 1, 2 for MIN, OPT, MAX."""
    dynamic = [tensor for tensor in engine.ios if tensor.shapes]
    return ",".join(f"{tensor.name}:{'x'.join(map(str, tensor.shapes[index]))}" for tensor in dynamic)


def _inference_shapes(engine: Engine) -> dict[str, str]:
    shapes = _shapes(engine, 1)
    return {"Input inference shapes": shapes.replace(":", "=")} if shapes else {}


def _build_shapes(engine: Engine) -> dict[str, str]:
    dynamic = [tensor for tensor in engine.ios if tensor.shapes]
    shown = (
        f"{tensor.name}={'+'.join('x'.join(map(str, shape)) for shape in tensor.shapes)}"
        for tensor in dynamic
    )
    return {"Input build shapes": ",".join(shown)} if dynamic else {}


def build_command(engine: Engine, paths: Paths, flags: str, precision: str) -> Command:
    """The build, without inference: `--buildOnly` up to 8.5, `--skipInference` from 8.6 on."""
    old = engine.release < 806
    parts = [
        f"trtexec --verbose --onnx={paths.onnx} --saveEngine={paths.plan} --timingCacheFile={paths.cache}",
        "--nvtxMode=verbose --buildOnly" if old else "--profilingVerbosity=detailed --skipInference",
    ]
    if any(tensor.shapes for tensor in engine.ios):
        labels = ("minShapes", "optShapes", "maxShapes")
        parts += [f"--{label}={_shapes(engine, index)}" for index, label in enumerate(labels)]
    options = {
        "Memory Pools": memory_pools(engine.release),
        "Precision": precision,
        "Build only" if old else "Skip inference": "Enabled",
        "Save engine": paths.plan,
        "Profiling verbosity": "2",
        "timingCacheMode": "global",
        "timingCacheFile": paths.cache,
        **_build_shapes(engine),
    }
    inference = {"NVTX verbosity": "2", **_inference_shapes(engine)}
    if engine.release >= 1100:
        inference |= {"Data transfers": "Disabled", "Spin-wait": "Enabled", "CUDA Graph": "Enabled"}
    model = (("Format", "ONNX"), ("Model", paths.onnx), ("Output", ""))
    given = {"Build Options": options, "Inference Options": inference}
    return Command(" ".join([*parts, *([flags] if flags else [])]), model, given)


def profile_command(engine: Engine, paths: Paths, plan: Plan) -> Command:
    """The measurement; from 11.0 on the flags for graph, transfers, spin-wait and separate profiling are the default."""
    parts = [f"trtexec --verbose --loadEngine={paths.plan}"]
    if engine.release < 1100:
        parts.append("--noDataTransfers --useCudaGraph --separateProfileRun --useSpinWait")
    if shapes := _shapes(engine, 1):
        parts.append(f"--shapes={shapes}")
    parts.append(f"--iterations={plan.iterations} --duration={plan.duration_s}")
    if plan.warmup_ms != 200:
        parts.append(f"--warmUp={plan.warmup_ms}")
    exports = [f"{paths.stem}.{kind}.json" for kind in ("timing", "profile", "graph")]
    flags = ("exportTimes", "exportProfile", "exportLayerInfo")
    parts += [f"--{flag}={name}" for flag, name in zip(flags, exports, strict=True)]
    parts.append("--nvtxMode=verbose" if engine.release < 806 else "--profilingVerbosity=detailed")
    inference = {
        "Iterations": str(plan.iterations),
        "Duration": f"{plan.duration_s}s (+ {plan.warmup_ms}ms warm up)",
        "Data transfers": "Disabled",
        "Spin-wait": "Enabled",
        "CUDA Graph": "Enabled",
        "Separate profiling": "Enabled",
        "NVTX verbosity": "2",
        **_inference_shapes(engine),
    }
    reporting = {
        "Profile": "Enabled",
        "Export timing to JSON file": exports[0],
        "Export profile to JSON file": exports[1],
    }
    build = {
        "Memory Pools": memory_pools(engine.release),
        "Precision": "FP32",
        "Load engine": paths.plan,
        "Profiling verbosity": "2",
    }
    given = {"Build Options": build, "Inference Options": inference, "Reporting Options": reporting}
    return Command(" ".join(parts), LOADED, given, prints_build_options=engine.release < 1000)


def dump_profile_command(engine: Engine, paths: Paths) -> Command:
    """A run with the profiler attached and nothing else asked for: layer times, but no end-to-end times."""
    exports = f"--exportProfile={paths.stem}.profile.json --exportLayerInfo={paths.stem}.graph.json"
    arguments = f"trtexec --verbose --loadEngine={paths.plan} --dumpProfile {exports}"
    build = {
        "Memory Pools": memory_pools(engine.release),
        "Precision": "FP32",
        "Load engine": paths.plan,
        "BuilderOptimizationLevel": "3",
    }
    reporting = {"Profile": "Enabled", "Export profile to JSON file": f"{paths.stem}.profile.json"}
    given = {"Build Options": build, "Reporting Options": reporting}
    return Command(arguments, LOADED, given, prints_build_options=engine.release < 1000)
