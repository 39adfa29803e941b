"""The five sets: which engine, which run, which command lines, which files."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass

from samples import alexnet, alexnet_int8, encoder, squeezenet, trexmeta
from samples.buildlog import Build, build_log
from samples.commands import Paths, build_command, dump_profile_command, profile_command
from samples.jsonlayout import graph_json, metadata_json, names_json, profile_json, timing_json
from samples.logbook import Log
from samples.manifest import capture_json
from samples.model import RTX_3060_LAPTOP, Engine
from samples.profilelog import profile_log
from samples.run import Plan, profile_rows, simulate

Files = dict[str, str]
"""File names with their contents."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that a complete set is generated from.

    Attributes:
        flags, precision: As given to trtexec for the build, and as its build options show it.
        count: Iterations of the profiler, warm-up included.
        indent, whole_values: How the metadata files are written.
        day: Invented date of the build.
    """

    engine: Engine
    paths: Paths
    plan: Plan
    build: Build
    flags: str
    precision: str
    count: int
    day: datetime.datetime
    indent: int | None = 4
    whole_values: bool = False


def complete_set(recipe: Recipe) -> Files:
    """Graph, profile, timing, both logs and the metadata made from them."""
    engine, paths = recipe.engine, recipe.paths
    run = simulate(recipe.plan)
    rows = profile_rows(engine.layers, recipe.count, paths.stem)
    command = build_command(engine, paths, recipe.flags, recipe.precision)
    built = build_log(Log(recipe.day), engine, command, recipe.build)
    command = profile_command(engine, paths, recipe.plan)
    later = recipe.day + datetime.timedelta(minutes=2)
    profiled = profile_log(Log(later), engine, command, run, recipe.count, rows)
    whole, indent = recipe.whole_values, recipe.indent
    contents = {
        "graph.json": graph_json(engine),
        "profile.json": profile_json(recipe.count, rows),
        "timing.json": timing_json(run.queries),
        "build.log": built,
        "profile.log": profiled,
        "build.metadata.json": metadata_json(trexmeta.build_metadata(built, whole), indent),
        "profile.metadata.json": metadata_json(trexmeta.profile_metadata(profiled, whole), indent),
    }
    return {f"{paths.stem}.{kind}": text for kind, text in contents.items()}


def alexnet_fp16() -> Files:
    """Built to match published figures: 1995.29 queries/s, median 0.499 ms; see `alexnet.FP16` for the layers."""
    plan = Plan(
        seed="alexnet_fp16",
        queries=2000,
        median_ms=0.499023,
        sigma_ms=0.0011,
        throughput=1995.29,
        warmup_ms=5000,
        duration_s="1",
        iterations=100,
    )
    recipe = _alexnet_recipe(alexnet.FP16, "alexnet_fp16", plan, 11_204)
    files = complete_set(recipe)
    stem = recipe.paths.stem
    return files | {f"{stem}.capture.json": capture_json(files, stem, RTX_3060_LAPTOP, recipe.day)}


def alexnet_fp32() -> Files:
    """The same network without `--fp16`; TF32 is TensorRT's default."""
    plan = Plan(
        seed="alexnet_fp32",
        queries=1094,
        median_ms=0.911133,
        sigma_ms=0.0019,
        throughput=1094.05,
        warmup_ms=5000,
        duration_s="1",
        iterations=100,
    )
    return complete_set(_alexnet_recipe(alexnet.FP32, "alexnet_fp32", plan, 6_386))


def _alexnet_recipe(precision: alexnet.Precision, stem: str, plan: Plan, count: int) -> Recipe:
    half = precision.dtype == "Half"
    onnx = f"models/{stem}.onnx"
    passes = (
        ("Original", 26),
        ("After dead-layer removal", 26),
        ("After adding DebugOutput nodes", 26),
        ("After Myelin optimization", 14),
        ("After scale fusion", 14),
        ("After dupe layer removal", 9),
        ("After final dead-layer removal", 9),
        ("After tensor merging", 9),
        ("After vertical fusions", 9),
        ("After slice removal", 9),
        ("After concat removal", 9),
    )
    return Recipe(
        engine=alexnet.engine(precision),
        paths=Paths(onnx, f"models/{stem}.engine", "timing.cache", stem),
        plan=plan,
        build=Build(onnx, 5, passes, 20.8315, "timing.cache"),
        flags="--fp16" if half else "",
        precision="FP32+FP16" if half else "FP32",
        count=count,
        day=datetime.datetime(2025, 3, 3, 10, 14, 5 if half else 45),
    )


def alexnet_int8_set() -> Files:
    """File names and metadata in the style of trex; the timing file keeps the warm-up, as some 8.5 releases did."""
    plan = Plan(
        seed="alexnet_int8",
        queries=1000,
        median_ms=0.2892,
        sigma_ms=0.0008,
        throughput=3432.4,
        warmup_ms=200,
        duration_s="0",
        iterations=1000,
        first_ms=4.3125,
        outliers=0.01,
    )
    passes = (
        ("Original", 83),
        ("After dead-layer removal", 83),
        ("After Myelin optimization", 74),
        ("After scale fusion", 74),
        ("After dupe layer removal", 16),
        ("After final dead-layer removal", 16),
        ("After tensor merging", 16),
        ("After vertical fusions", 16),
        ("After slice removal", 16),
        ("After concat removal", 16),
    )
    stem = "alexnet.qat.onnx.engine"
    recipe = Recipe(
        engine=alexnet_int8.engine(),
        paths=Paths("models/alexnet.qat.onnx", f"models/{stem}", "timing.cache", stem),
        plan=plan,
        build=Build("models/alexnet.qat.onnx", 6, passes, 11.6042, "timing.cache", "1.12.0", 13),
        flags="--int8 --fp16",
        precision="FP32+FP16+INT8",
        count=1_688,
        day=datetime.datetime(2023, 5, 8, 16, 2, 11),
        indent=None,
    )
    return complete_set(recipe)


def encoder_fp8() -> Files:
    """TensorRT 11: strongly typed, so there are no precision flags; the measurement defaults are those of 11.0."""
    plan = Plan(
        seed="encoder_fp8",
        queries=1200,
        median_ms=0.0896,
        sigma_ms=0.0003,
        throughput=10_986.0,
        warmup_ms=200,
        duration_s="0",
        iterations=1200,
    )
    passes = (
        ("Original", 128),
        ("After dead-layer removal", 124),
        ("After adding DebugOutput nodes", 124),
        ("After Myelin optimization", 2),
        ("After scale fusion", 2),
        ("After dupe layer removal", 2),
        ("After final dead-layer removal", 2),
        ("After tensor merging", 2),
        ("After vertical fusions", 2),
        ("After slice removal", 2),
        ("After concat removal", 2),
    )
    stem = "encoder_fp8"
    recipe = Recipe(
        engine=encoder.engine(),
        paths=Paths(f"models/{stem}.onnx", f"models/{stem}.engine", "timing.cache", stem),
        plan=plan,
        build=Build(f"models/{stem}.onnx", 6, passes, 27.4308, "timing.cache", "2.9.0", 21),
        flags="",
        precision="Strongly Typed",
        count=3_382,
        day=datetime.datetime(2026, 2, 16, 9, 30, 20),
        whole_values=True,
    )
    return complete_set(recipe)


def names_only() -> Files:
    """Layer names, layer times and the log that explains why there is no more."""
    engine = squeezenet.engine()
    stem = "squeezenet_fp16"
    paths = Paths(f"models/{stem}.onnx", f"models/{stem}.engine", "", stem)
    count = 11_870
    rows = profile_rows(engine.layers, count, stem)
    command = dump_profile_command(engine, paths)
    log = Log(datetime.datetime(2023, 11, 20, 14, 51, 32))
    return {
        f"{stem}.graph.json": names_json(
            (layer.name for layer in engine.layers), (io.name for io in engine.ios)
        ),
        f"{stem}.profile.json": profile_json(count, rows),
        f"{stem}.profile.log": profile_log(log, engine, command, None, count, rows),
    }


SETS: dict[str, Callable[[], Files]] = {
    "alexnet": alexnet_fp16,
    "alexnet_fp32": alexnet_fp32,
    "alexnet_int8": alexnet_int8_set,
    "transformer_fp8": encoder_fp8,
    "names_only": names_only,
}
"""Directory of each set, with the function that makes its files."""
