"""The log of a verbose build, in the order of a real one but with fewer layers timed and fewer tactics for each."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from samples import cpp
from samples.logbook import Command, Log, banner, write_head
from samples.model import Engine, Layer, Node, Tensor
from samples.tactics import write_autotuning, write_myelin_table, write_reformat_autotuning


@dataclass(frozen=True, slots=True)
class Build:
    """What a build log tells beyond the engine.

    Attributes:
        timed: How many layers to show the search of.
        passes: (name of the graph pass, layers left), in order.
        seconds: How long the build took.
        cache: Name of the timing cache file; None if the cache is local to the build.
    """

    onnx: str
    timed: int
    passes: tuple[tuple[str, int], ...]
    seconds: float
    cache: str | None
    producer: str = "2.5.1"
    opset: int = 17


def build_log(log: Log, engine: Engine, command: Command, build: Build) -> str:
    """The whole log."""
    write_head(log, engine, command)
    _write_init(log, engine)
    _write_parsing(log, engine, build)
    _write_optimisation(log, engine, build)
    _write_search(log, engine, build)
    _write_memory(log, engine)
    _write_layers(log, engine)
    _write_end(log, engine, build)
    log.line(
        f"Skipped inference phase since --{'skipInference' if engine.release >= 806 else 'buildOnly'} is added."
    )
    log.bare(banner("PASSED", engine.version, command.arguments))
    return log.text()


def _write_init(log: Log, engine: Engine) -> None:
    log.trt("[MemUsageChange] Init CUDA: CPU +2, GPU +0, now: CPU 31, GPU 402 (MiB)", "I")
    if engine.release < 1000:
        log.trt(
            "[MemUsageChange] Init builder kernel library: CPU +262, GPU +74, now: CPU 293, GPU 476 (MiB)",
            "I",
        )
    log.trt("CUDA lazy loading is enabled.")


def _write_parsing(log: Log, engine: Engine, build: Build) -> None:
    newer = engine.release >= 806
    log.line(f"Start parsing network model{'.' if newer else ''}")
    rule = "-" * 64
    header = (
        ("Input filename:", build.onnx),
        ("ONNX IR version:", "0.0.8"),
        ("Opset version:", str(build.opset)),
        ("Producer name:", "pytorch"),
        ("Producer version:", build.producer),
        ("Domain:", ""),
        ("Model version:", "0"),
        ("Doc string:", ""),
    )
    for text in (rule, *(f"{label:<18}{value}" for label, value in header), rule):
        log.trt(text, "I")
    inputs = [tensor for tensor in engine.ios if tensor.is_input]
    for tensor in inputs:
        dtype = {"Float": "float32", "Half": "float16", "BFloat16": "bfloat16"}[tensor.dtype]
        log.trt(f"Adding network input: {tensor.name} with dtype: {dtype}, dimensions: {_shape(tensor.dims)}")
        log.trt(f"Registering tensor: {tensor.name} for ONNX tensor: {tensor.name}")
    for name in engine.initializers:
        log.trt(f"Importing initializer: {name}")
    for node in engine.nodes:
        _write_node(log, node)
    for tensor in engine.ios:
        if not tensor.is_input:
            log.trt(f"Marking {tensor.name} as output: {tensor.name}")
    end = "Finished parsing network model. Parse time: 0.287412" if newer else "Finish parsing network model"
    log.line(end)
    for tensor in inputs:
        if tensor.shapes and engine.release >= 901:
            shapes = " ".join(
                f"{label}={'x'.join(map(str, shape))}"
                for label, shape in zip(("MIN", "OPT", "MAX"), tensor.shapes, strict=True)
            )
            log.line(f"Set shape of input tensor {tensor.name} for optimization profile 0 to: {shapes}")


def _shape(dims: Sequence[int]) -> str:
    return f"({', '.join(map(str, dims))})"


def _write_node(log: Log, node: Node) -> None:
    title = f"{node.name} [{node.operator}]"
    log.trt(f"Parsing node: {title}")
    for name, _, _ in node.inputs:
        log.trt(f"Searching for input: {name}")
    log.trt(f"{title} inputs: {_listed(node.inputs)}")
    for detail in node.details[:1]:
        log.trt(detail)
    log.trt(f"Registering layer: {node.name} for ONNX node: {node.name}")
    for detail in node.details[1:]:
        log.trt(detail)
    for name, _, _ in node.outputs:
        log.trt(f"Registering tensor: {name} for ONNX tensor: {name}")
    log.trt(f"{title} outputs: {_listed(node.outputs)}")


def _listed(tensors: Sequence[tuple[str, tuple[int, ...], str]]) -> str:
    return "".join(f"[{name} -> {_shape(dims)}[{dtype}]], " for name, dims, dtype in tensors)


def _write_optimisation(log: Log, engine: Engine, build: Build) -> None:
    """The graph passes; the fusions come between vertical fusions and what precedes them."""
    if engine.release >= 1000:
        log.trt(
            "[MemUsageChange] Init builder kernel library: CPU +1790, GPU +302, now: CPU 1961, GPU 704 (MiB)",
            "I",
        )
    _write_cache_use(log, build)
    log.tick(2.0)
    if engine.release >= 1000:
        log.trt("Graph construction completed in 0.0197344 seconds.")
        log.trt("Constructing optimization profile number 0 [1/1].")
    if engine.release >= 1016:
        log.trt("Building graph using backend strategy 4")
    _write_passes(log, engine, build)


def _write_passes(log: Log, engine: Engine, build: Build) -> None:
    log.trt("Applying generic optimizations to the graph for inference.")
    for name, layers in build.passes:
        if name == "After scale fusion":
            log.trt("Applying ScaleNodes fusions.")
        if name == "After dupe layer removal":
            _write_fusions(log, engine)
        log.trt(f"{name}: {layers} layers")
    if engine.release >= 806:
        log.trt("Graph optimization time: 0.0324911 seconds.")
    else:
        log.trt("Graph construction and optimization completed in 0.0522258 seconds.")


def _write_fusions(log: Log, engine: Engine) -> None:
    for fusion, first, second in engine.fusions:
        log.trt(f"Running: {fusion} on {first}")
        log.trt(f"{fusion}: Fusing {first} with {second}")


def _write_cache_use(log: Log, build: Build) -> None:
    if build.cache is None:
        log.trt("Local timing cache in use. Profiling results in this builder pass will not be stored.", "I")
    else:
        log.trt(f"Could not read cache from: {build.cache}. A new cache will be generated and written.", "W")
        log.trt("Global timing cache in use. Profiling results in this builder pass will be stored.", "I")


def _write_search(log: Log, engine: Engine, build: Build) -> None:
    release = engine.release
    native = [layer for layer in engine.layers if not layer.is_myelin]
    tuned = [layer for layer in native if "Convolution" in layer.kind or "Pooling" in layer.kind]
    copies = [layer for layer in native if layer.extra.get("Origin") == "REFORMAT"]
    searches: list[Callable[[], None]] = [
        *(partial(write_reformat_autotuning, log, layer, release) for layer in copies),
        *(partial(write_autotuning, log, layer, release) for layer in tuned[: build.timed]),
    ]
    # Up to 8.5 the copies are timed before the layers, later after them.
    for search in searches if release < 806 else searches[len(copies) :] + searches[: len(copies)]:
        search()
        log.tick(0.7)
    gemms = [layer for layer in engine.layers if layer.kind == "gemm"]
    if gemms:
        log.trt("Compiler backend is used during engine build.", "I")
        for layer in gemms[: build.timed]:
            write_myelin_table(log, layer)
            log.tick(0.5)
        log.trt("Subgraph compilation completed in 3.218 seconds.")
    for layer in copies:
        source, target = layer.inputs[0], layer.outputs[0]
        log.trt(
            f"Adding reformat layer: {target.name} ({source.name}) from {source.strides_text} to {target.strides_text}"
        )
    log.trt(f"Formats and tactics selection completed in {cpp.text(build.seconds * 0.9)} seconds.")
    log.trt(f"After reformat layers: {_built_layers(engine)} layers")
    if release >= 1000:
        _write_streams(log, engine)
    if release >= 1016:
        _write_second_strategy(log, engine, build)


def _write_second_strategy(log: Log, engine: Engine, build: Build) -> None:
    """A second candidate for the engine, which loses: recent versions repeat passes and search for each."""
    first = math.fsum(layer.average_ms for layer in engine.layers)
    second = cpp.text(first * 1.173)
    log.trt(
        f"Use backend strategy 4 with estimated inference time ({cpp.text(first)}) as the initial choice."
    )
    log.trt("Building graph using backend strategy 3")
    log.tick(4.2)
    _write_passes(log, engine, build)
    # The missing space is NVIDIA's.
    log.trt(
        f"Skip backend strategy 3since its estimated inference time ({second}) is not faster than the previous engine "
        f"with estimated inference time ({cpp.text(first)})."
    )


def _built_layers(engine: Engine) -> int:
    """Layers of the engine as the builder counts them: a Myelin region is one."""
    native = sum(1 for layer in engine.layers if not layer.is_myelin)
    return native + int(native < len(engine.layers))


def _write_streams(log: Log, engine: Engine) -> None:
    streams = {int(layer.extra.get("StreamId", 0)) for layer in engine.layers}
    events = {int(layer.extra["EventId"]) for layer in engine.layers if "EventId" in layer.extra}
    if len(streams) == 1:
        log.trt("[MS] Multi stream is disabled as cannot find an opportunity to leverage it", "I")
        return
    log.trt(f"[MS] Number of streams used is {len(streams)}", "I")
    log.trt(f"[MS] Number of events used is {len(events)}", "I")
    log.trt("[MS] Running engine with multi stream info", "I")
    log.trt(f"[MS] Number of aux streams is {len(streams) - 1}", "I")


def _write_memory(log: Log, engine: Engine) -> None:
    newer = engine.release >= 1000
    unit = " bytes" if newer else ""
    inputs = sum(1 for tensor in engine.ios if tensor.is_input)
    log.trt(f"Detected {inputs} inputs and {len(engine.ios) - inputs} output network tensors.", "I")
    total = 0
    for layer in engine.layers:
        if layer.is_myelin or layer.kind in ("Reformat", "NoOp", "Scale", "Shuffle"):
            continue
        host = 3136 + 16 * (len(layer.name) % 64)
        total += host
        log.trt(
            f"Layer: {layer.name} Host Persistent: {host}{unit} Device Persistent: 0{unit} Scratch Memory: 0{unit}"
        )
    log.trt(f"Total Host Persistent Memory: {total}{unit}", "I")
    log.trt(f"Total Device Persistent Memory: 0{unit}", "I")
    log.trt(f"{'Max Scratch Memory' if newer else 'Total Scratch Memory'}: 4608{unit}", "I")
    nodes = _built_layers(engine)
    if newer:
        log.trt(
            f"[BlockAssignment] Started assigning block shifts. This will take {nodes} steps to complete.",
            "I",
        )
    log.trt(
        f"[BlockAssignment] Algorithm ShiftNTopDown took 0.0718ms to assign 3 blocks to {nodes} nodes requiring "
        f"{engine.activation_bytes} bytes.",
        "I",
    )
    log.trt(f"Total Activation Memory: {engine.activation_bytes}{unit}", "I")
    if newer:
        log.trt(f"Total Weights Memory: {engine.weights_bytes} bytes", "I")
        log.trt("Compiler backend is used during engine execution.", "I")


def _write_layers(log: Log, engine: Engine) -> None:
    """The engine's layers: the inspector's one-line text from 10 on, a form of its own before."""
    if engine.release < 806:
        log.trt("Engine generation completed in 9.41355 seconds.")
        log.trt("Deleting timing cache: 118 entries, served 0 hits since creation.")
    else:
        log.trt("Engine generation completed in 18.2264 seconds.", "I")
    log.trt("Engine Layer Information:")
    if engine.release < 1000:
        for layer in engine.layers:
            log.bare(f"Layer({layer.kind}): {layer.name}, Tactic: {layer.tactic_value}, {_flow(layer)}")
        return
    log.bare("Layers:")
    for layer in engine.layers:
        log.bare(", ".join(_inspected(layer, engine.release)))
    log.bare("")
    log.bare("Bindings:")
    for tensor in engine.ios:
        log.bare(tensor.name)


def _flow(layer: Layer) -> str:
    sources, targets = (
        ", ".join(f"{tensor.name}[{tensor.dtype}({','.join(map(str, tensor.dims))})]" for tensor in tensors)
        for tensors in (layer.inputs, layer.outputs)
    )
    return f"{sources} -> {targets}"


def _inspected(layer: Layer, release: int) -> Iterator[str]:
    """The members of a layer as `--dumpLayerInfo` prints them; without a context, tensors have bare types."""
    yield f"Name: {layer.name}"
    yield f"LayerType: {layer.kind}"
    yield f"Inputs: {_inspected_tensors(layer.inputs, layer.is_myelin, release)}"
    yield f"Outputs: {_inspected_tensors(layer.outputs, layer.is_myelin, release)}"
    for key, value in layer.extra.items():
        if key == "Constants":
            yield f"Constants: {_inspected_tensors(value, True, release)}"
        elif isinstance(value, (list, tuple)):
            yield f"{key}: {json.dumps(value, separators=(',', ':'))}"
        else:
            yield f"{key}: {json.dumps(value) if isinstance(value, dict) else value}"


def _inspected_tensors(tensors: Sequence[Tensor], is_myelin: bool, release: int) -> str:
    if not tensors:
        return "[]"
    place = "" if is_myelin else "Location: Device, "
    key = "Datatype" if release >= 1100 else "Format/Datatype"
    shown = (
        f"{{ Name: {tensor.name}, {place}Dimensions: [{','.join(map(str, tensor.dims))}], {key}: {tensor.dtype} }}"
        for tensor in tensors
    )
    return f"[ {', '.join(shown)}]"


def _write_end(log: Log, engine: Engine, build: Build) -> None:
    log.tick_to(build.seconds)
    size = cpp.text(engine.weights_bytes / 2**20 * 1.002)
    gpu = round(engine.weights_bytes / 2**20) + 4
    log.trt(
        f"[MemUsageStats] Peak memory usage of TRT CPU/GPU memory allocators: CPU 4 MiB, GPU {gpu} MiB", "I"
    )
    if engine.release < 1000:
        change = f"CPU +{gpu - 4}, GPU +{gpu}, now: CPU {gpu - 4}, GPU {gpu} (MiB)"
        log.trt(f"[MemUsageChange] TensorRT-managed allocation in building engine: {change}", "I")
    if engine.release >= 901:
        log.line(f"Created engine with size: {size} MiB")
    log.line(f"Engine built in {cpp.text(build.seconds)} sec.")
    if build.cache is not None:
        if engine.release >= 1000:
            log.trt("Serialized 26 bytes of code generator cache.", "I")
            log.trt("Serialized 84 timing cache entries", "I")
        log.trt(f"Saved 61246 bytes of timing cache to {build.cache}", "I")
    log.trt(f"Loaded engine size: {int(float(size))} MiB", "I")
    log.trt("Deserialization required 22406 microseconds.")
    log.line("Engine deserialized in 0.0374012 sec.")
