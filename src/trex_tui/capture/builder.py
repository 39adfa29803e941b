"""A program with trtexec's options over the Python API of TensorRT or TensorRT-RTX, whose wheels have no trtexec.

It is run as a child process and writes what trtexec writes: the log in its form, the engine, and on a machine with a GPU
layer information, times per layer and per query. Its help lists the options that the API at hand has.

    python builder.py --onnx=net.onnx --saveEngine=net.engine --verbose --skipInference
    python builder.py --loadEngine=net.engine --exportTimes=net.timing.json

The part that needs a GPU has not been run on one yet.
"""

from __future__ import annotations

import sys

if __name__ == "__main__" and sys.path[0] == __file__.rpartition("/")[0]:
    sys.path.pop(0)  # the directory of a program, whose modules would hide others of their names

import ctypes
import math
import random
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from trex_tui.capture.recorder import Recorder

MODULES = ("tensorrt", "tensorrt_rtx", "tensorrt_rtx_bindings")
"""Modules with the API; the first that can be imported is used."""
_OPTIONS = {
    **dict.fromkeys(
        (
            *[
                "--onnx=",
                "--saveEngine=",
                "--loadEngine=",
                "--verbose",
                "--profilingVerbosity=",
                "--skipInference",
                "--help",
            ],
            *[
                "--minShapes=",
                "--optShapes=",
                "--maxShapes=",
                "--shapes=",
                "--profile=",
                "--useProfile=",
                "--device=",
            ],
            *[
                "--memPoolSize=",
                "--noTF32",
                "--staticPlugins=",
                "--warmUp=",
                "--duration=",
                "--iterations=",
                "--loadInputs=",
            ],
            *["--noDataTransfers", "--separateProfileRun", "--dumpProfile"],
            *["--exportLayerInfo=", "--exportTimes=", "--exportProfile="],
        ),
        "",
    ),
    "--fp16": "BuilderFlag.FP16",
    "--bf16": "BuilderFlag.BF16",
    "--int8": "BuilderFlag.INT8",
    "--fp8": "BuilderFlag.FP8",
    "--int4": "BuilderFlag.INT4",
    "--best": "BuilderFlag.FP16",
    "--versionCompatible": "BuilderFlag.VERSION_COMPATIBLE",
    "--allowGPUFallback": "BuilderFlag.GPU_FALLBACK",
    "--stronglyTyped": "NetworkDefinitionCreationFlag.STRONGLY_TYPED",
    "--builderOptimizationLevel=": "IBuilderConfig.builder_optimization_level",
    "--hardwareCompatibilityLevel=": "IBuilderConfig.hardware_compatibility_level",
    "--timingCacheFile=": "BuilderFlag.DISABLE_TIMING_CACHE",
    "--useDLACore=": "DeviceType.DLA",
    "--computeCapability=": "IBuilderConfig.set_compute_capability",
    "--runtimeCacheFile=": "IRuntimeConfig.create_runtime_cache",
    "--rtxCudaGraphStrategy=": "IRuntimeConfig.cuda_graph_strategy",
    "--specializeStrategyDS=": "IRuntimeConfig.dynamic_shapes_kernel_specialization_strategy",
}
"""Option, with `=` if it takes a value -> what the API must have for it."""
_NOT_OF_RTX = frozenset(("--timingCacheFile=", "--useDLACore=", "--allowGPUFallback"))
"""Options without effect in TensorRT-RTX, whose API has their names."""
_LEVELS = {"none": "NONE", "ampere+": "AMPERE_PLUS", "samecomputecapability": "SAME_COMPUTE_CAPABILITY"}
_SEVERITIES = {"INTERNAL_ERROR": "F", "ERROR": "E", "WARNING": "W", "INFO": "I", "VERBOSE": "V"}
_WARM_UP_MS, _DURATION_S, _ITERATIONS, _PERCENTILES = 200, 3, 10, ("90", "95", "99")
"""Defaults of trtexec."""
_LONGEST_REASON = 100
_PROFILED_ITERATIONS = 50

Options = Mapping[str, Sequence[str]]
"""Option -> its values, in order."""


class FailedError(Exception):
    """The run has failed; the lines are the last errors of trtexec for it."""


class Log:
    """Writes lines as trtexec does.

    Args:
        banner: Version and command of the run.
    """

    def __init__(self, banner: str, *, is_verbose: bool) -> None:
        self.banner = banner
        self.is_verbose = is_verbose

    def write(self, text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    def end(self, word: str) -> None:
        self.write(f"&&&& {word} {self.banner}")

    def line(self, severity: str, text: str) -> None:
        if severity != "V" or self.is_verbose:
            self.write(f"[{datetime.now():%m/%d/%Y-%H:%M:%S}] [{severity}] {text}")

    def info(self, *texts: str) -> None:
        for text in texts:
            self.line("I", text)


def main(arguments: Sequence[str]) -> int:
    """Run the program; the exit code is that of trtexec."""
    sys.stdout.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
    api = import_api()
    command = " ".join((sys.executable, __file__, *arguments))
    log = Log(f"{name_release(api)} # {command}", is_verbose="--verbose" in arguments)
    log.end("RUNNING")
    known = [flag for flag, need in _OPTIONS.items() if has(api, flag, need)]
    try:
        options = parse(arguments, known, log)
        if "--help" in options:
            write_help(known, log)
            return 0
        log.info(f"TensorRT version: {api.__version__}")
        if "--loadEngine" in options:
            Measurement(api, options, log).run()
        elif "--onnx" in options:
            build(api, options, log)
        else:
            log.line("E", "Model missing or format not recognized")
            raise FailedError
    except FailedError as error:
        for text in error.args:
            log.line("E", text)
        log.end("FAILED")
        return 1
    except Exception as error:  # noqa: BLE001 - as trtexec
        log.line("E", f"Uncaught exception detected: {type(error).__name__}: {error}")
        log.end("FAILED")
        return 1
    log.end("PASSED")
    return 0


def import_api() -> Any:  # noqa: ANN401 - a module
    """Return the first module that can be imported, or end the program with the reasons."""
    reasons = []
    for name in MODULES:
        try:
            return import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                reasons.append(f"{name}: {str(error)[:_LONGEST_REASON]}")
        except Exception as error:  # noqa: BLE001 - a library that cannot be loaded raises anything
            reasons.append(f"{name}: {' '.join(str(error).split())[:_LONGEST_REASON]}")
    found = "; ".join(reasons) or "no TensorRT in this Python"
    sys.stderr.write(
        f"{found}; pip install tensorrt; TensorRT-RTX also builds without a GPU: install trex-tui with its extra rtx\n"
    )
    sys.exit(2)


def is_rtx(api: Any) -> bool:  # noqa: ANN401
    """Return whether a module is of TensorRT-RTX."""
    return "rtx" in api.__name__


def name_release(api: Any) -> str:  # noqa: ANN401
    """Return the beginning of trtexec's banner."""
    numbers = [int(part) for part in api.__version__.split(".")[:4] if part.isdecimal()]
    major, minor, patch, *build = [*numbers, 0, 0, 0][: max(3, len(numbers))]
    number = major * 10000 + minor * 100 + patch
    if major < 10 and not is_rtx(api):
        number = major * 1000 + minor * 100 + patch
    product = "TensorRT-RTX" if is_rtx(api) else "TensorRT"
    return f"TensorRT.trtexec [{product} v{number}]" + "".join(f" [b{part}]" for part in build[:1])


def has(api: Any, flag: str, need: str) -> bool:  # noqa: ANN401
    """Return whether the API has what an option needs, such as `BuilderFlag.FP16`."""
    if flag in _NOT_OF_RTX and is_rtx(api):
        return False
    owner, _, name = need.partition(".")
    return not need or hasattr(getattr(api, owner, None), name)


def write_help(known: Sequence[str], log: Log) -> None:
    """Write the known options, and the number of GPUs."""
    log.write("=== Options ===")
    for option in known:
        log.write(f"  {option.replace('=', '=value'):<36}As trtexec's")
    log.write(f"GPUs: {count_devices()}")


def parse(arguments: Sequence[str], known: Sequence[str], log: Log) -> Options:
    """Parse options as trtexec does.

    Raises:
        FailedError: There are unknown ones.
    """
    options: dict[str, list[str]] = {}
    unknown = []
    for argument in arguments:
        flag, equals, value = argument.partition("=")
        if flag + equals not in known:
            unknown.append(f"Unknown option: {flag} {value}".rstrip())
        options.setdefault(flag, []).append(value)
    if unknown:
        write_help(known, log)
        raise FailedError(*unknown)
    return options


def last(options: Options, flag: str, default: str = "") -> str:
    """Return the last value of an option."""
    return options[flag][-1] if flag in options else default


def parse_shapes(text: str) -> dict[str, tuple[int, ...]]:
    """Parse `x:1x3x224x224,y:1x8`."""
    pairs = (part.rpartition(":") for part in filter(None, text.split(",")))
    return {name.strip("'"): tuple(map(int, dims.split("x"))) for name, _, dims in pairs}


def make_logger(api: Any, log: Log) -> Any:  # noqa: ANN401
    """Return an `ILogger` that writes to the log."""

    class Logger(api.ILogger):  # type: ignore[misc]
        def __init__(self) -> None:
            api.ILogger.__init__(self)

        def log(self, severity: Any, message: str) -> None:  # noqa: ANN401
            name = str(severity).rpartition(".")[2]
            log.line(_SEVERITIES.get(name, "I"), f"[TRT] {message}")

    return Logger()


# CUDA: the few calls of its driver that a measurement needs; the driver is there wherever an engine can run

_ATTRIBUTES = {
    "clock_khz": 13,
    "multiprocessors": 16,
    "ecc": 32,
    "memory_clock_khz": 36,
    "bus_bits": 37,
    "major": 75,
    "minor": 76,
}
"""`CUdevice_attribute` of cuda.h."""


class CudaError(RuntimeError):
    """A call of the driver failed."""


class Cuda:
    """The driver, with the primary context of one GPU, which TensorRT uses too.

    Args:
        device: Index of the GPU.

    Raises:
        CudaError: There is no driver, or no such GPU.
    """

    def __init__(self, device: int = 0) -> None:
        try:
            self._library = ctypes.CDLL("libcuda.so.1")
        except OSError:
            raise CudaError("no driver: libcuda.so.1 cannot be loaded") from None
        self._call("cuInit", 0)
        handle, context = ctypes.c_int(), ctypes.c_void_p()
        self._call("cuDeviceGet", ctypes.byref(handle), device)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), handle)
        self._call("cuCtxSetCurrent", context)
        self._device = handle

    def _call(self, name: str, *arguments: object) -> None:
        code = getattr(self._library, name)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self._library.cuGetErrorString(code, ctypes.byref(text))
            raise CudaError(f"{name}: {(text.value or b'unknown error').decode(errors='replace')} ({code})")

    def describe(self) -> tuple[str, int, dict[str, int]]:
        """Return name, bytes of memory, and the numbers of `_ATTRIBUTES` of the GPU."""
        name, size, value = ctypes.create_string_buffer(256), ctypes.c_size_t(), ctypes.c_int()
        self._call("cuDeviceGetName", name, 256, self._device)
        self._call("cuDeviceTotalMem_v2", ctypes.byref(size), self._device)
        numbers = {}
        for key, number in _ATTRIBUTES.items():
            self._call("cuDeviceGetAttribute", ctypes.byref(value), number, self._device)
            numbers[key] = value.value
        return name.value.decode(errors="replace"), size.value, numbers

    def allocate(self, size: int) -> int:
        """Return the address of device memory, which is never freed: the process ends."""
        address = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(1, size)))
        return address.value

    def upload(self, address: int, data: bytes) -> None:
        self._call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), data, ctypes.c_size_t(len(data)))

    def make_stream(self) -> int:
        stream = ctypes.c_void_p()
        self._call("cuStreamCreate", ctypes.byref(stream), 0)
        return stream.value or 0

    def synchronize(self, stream: int) -> None:
        self._call("cuStreamSynchronize", ctypes.c_void_p(stream))

    def make_event(self) -> int:
        event = ctypes.c_void_p()
        self._call("cuEventCreate", ctypes.byref(event), 0)
        return event.value or 0

    def record(self, event: int, stream: int) -> None:
        self._call("cuEventRecord", ctypes.c_void_p(event), ctypes.c_void_p(stream))

    def elapsed_ms(self, start: int, end: int) -> float:
        value = ctypes.c_float()
        self._call("cuEventElapsedTime", ctypes.byref(value), ctypes.c_void_p(start), ctypes.c_void_p(end))
        return value.value


def count_devices() -> int:
    """Return the number of GPUs that CUDA sees; 0 without a driver."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int()
    is_usable = library.cuInit(0) == 0 and library.cuDeviceGetCount(ctypes.byref(count)) == 0
    return count.value if is_usable else 0


# Build


def build(api: Any, options: Options, log: Log) -> None:  # noqa: ANN401
    """Build an engine from an ONNX model and write it.

    Raises:
        FailedError: The model cannot be parsed, or the engine cannot be built or written.
    """
    began = time.monotonic()
    if count_devices():
        select_device(options, log)
    logger = make_logger(api, log)
    builder = api.Builder(logger)
    load_plugins(api, logger, builder, options)
    network = builder.create_network(network_flags(api, options))
    parser = api.OnnxParser(network, logger)
    log.info("Start parsing network model")
    if not parser.parse_from_file(last(options, "--onnx")):
        for index in range(parser.num_errors):
            log.line("E", f"[TRT] {' '.join(str(parser.get_error(index)).split())}")
        raise FailedError(
            "Failed to parse onnx file",
            "Parsing model failed",
            "Failed to create engine from model or file.",
            "Engine set up failed",
        )
    log.info(f"Finished parsing network model. Parse time: {time.monotonic() - began:.6g}")
    config = builder.create_builder_config()
    configure(api, config, options)
    if wanted := last(options, "--computeCapability"):
        set_targets(api, config, wanted.split(","))
    add_profiles(builder, network, config, options, log)
    cache = last(options, "--timingCacheFile")
    if cache:
        path = Path(cache)
        config.set_timing_cache(
            config.create_timing_cache(path.read_bytes() if path.is_file() else b""), False
        )
    engine = builder.build_serialized_network(network, config)
    if engine is None:
        raise FailedError(
            "Engine could not be created from network",
            "Building engine failed",
            "Failed to create engine from model or file.",
            "Engine set up failed",
        )
    log.info(f"Engine built in {time.monotonic() - began:.6g} sec.")
    log.info(f"Created engine with size: {engine.nbytes / 2**20:.6g} MiB")
    Path(last(options, "--saveEngine")).write_bytes(engine)
    if cache:
        Path(cache).write_bytes(config.get_timing_cache().serialize())
    log.info("Skipped inference phase since --skipInference is added.")


def select_device(options: Options, log: Log) -> Cuda:
    """Use a GPU from now on, and describe it as trtexec does.

    Raises:
        FailedError: There is no such GPU.
    """
    index = int(last(options, "--device", "0"))
    try:
        cuda = Cuda(index)
    except CudaError as error:
        raise FailedError(str(error), f"Cannot find device ID {index}!") from None
    name, memory_bytes, number = cuda.describe()
    log.info(
        "=== Device Information ===",
        f"Selected Device: {name}",
        f"Selected Device ID: {index}",
        f"Compute Capability: {number['major']}.{number['minor']}",
        f"SMs: {number['multiprocessors']}",
        f"Device Global Memory: {memory_bytes >> 20} MiB",
        f"Memory Bus Width: {number['bus_bits']} bits (ECC {'enabled' if number['ecc'] else 'disabled'})",
        f"Application Compute Clock Rate: {number['clock_khz'] / 1e6:g} GHz",
        f"Application Memory Clock Rate: {number['memory_clock_khz'] / 1e6:g} GHz",
        "",
    )
    return cuda


def load_plugins(api: Any, logger: Any, owner: Any, options: Options) -> None:  # noqa: ANN401
    """Register the plugins of the library, and those of the option."""
    if hasattr(api, "init_libnvinfer_plugins"):
        api.init_libnvinfer_plugins(logger, "")
    for library in options.get("--staticPlugins", ()):
        owner.get_plugin_registry().load_library(library)


def network_flags(api: Any, options: Options) -> int:  # noqa: ANN401
    """Return flags of the network: strongly typed where asked for, or where the API has no weak types any more."""
    flags = api.NetworkDefinitionCreationFlag
    is_typed = "--stronglyTyped" in options or not hasattr(api.BuilderFlag, "FP16")
    names = ["EXPLICIT_BATCH", *(["STRONGLY_TYPED"] if is_typed else [])]
    return sum(1 << int(getattr(flags, name)) for name in names if hasattr(flags, name))


def configure(api: Any, config: Any, options: Options) -> None:  # noqa: ANN401
    """Set the options of the builder.

    Raises:
        FailedError: A value is unknown.
    """
    verbosity = last(options, "--profilingVerbosity", "layer_names_only").upper()
    config.profiling_verbosity = getattr(api.ProfilingVerbosity, verbosity)
    for flag in options:
        owner, _, name = _OPTIONS.get(flag, "").partition(".")
        if owner == "BuilderFlag":
            config.set_flag(getattr(api.BuilderFlag, name))
    if "--best" in options:
        config.set_flag(api.BuilderFlag.INT8)
    if "--noTF32" in options:
        config.clear_flag(api.BuilderFlag.TF32)
    if pool := last(options, "--memPoolSize"):
        name, _, mib = pool.partition(":")
        config.set_memory_pool_limit(getattr(api.MemoryPoolType, name.upper()), int(mib) << 20)
    if number := last(options, "--builderOptimizationLevel"):
        config.builder_optimization_level = int(number)
    if level := last(options, "--hardwareCompatibilityLevel"):
        if level.lower() not in _LEVELS:
            raise FailedError(f"Unknown hardwareCompatibilityLevel option: {level}")
        levels = api.HardwareCompatibilityLevel
        config.hardware_compatibility_level = getattr(levels, _LEVELS[level.lower()])
    if core := last(options, "--useDLACore"):
        config.default_device_type, config.DLA_core = api.DeviceType.DLA, int(core)


def set_targets(api: Any, config: Any, wanted: Sequence[str]) -> None:  # noqa: ANN401
    """Choose the GPUs to build for, `8.6`.

    Raises:
        FailedError: The API does not know one.
    """
    known = {name[2:]: name for name in dir(api.ComputeCapability) if name.startswith("SM")}
    config.num_compute_capabilities = len(wanted)
    for index, text in enumerate(wanted):
        name = known.get(text.replace(".", ""))
        if name is None:
            choices = ", ".join(f"{number[:-1]}.{number[-1]}" for number in sorted(known, key=int))
            raise FailedError(f"Unknown compute capability: {text}; choose from {choices}")
        config.set_compute_capability(getattr(api.ComputeCapability, name), index)


def add_profiles(builder: Any, network: Any, config: Any, options: Options, log: Log) -> None:  # noqa: ANN401
    """Add the optimization profiles; as trtexec does, a dynamic dimension without shapes is 1.

    Raises:
        FailedError: Shapes are given for a model whose shapes are fixed.
    """
    inputs = [network.get_input(index) for index in range(network.num_inputs)]
    dynamic = [tensor for tensor in inputs if min(tensor.shape, default=1) < 0]
    stated = [
        [parse_shapes(text) for text in texts]
        for texts in zip(
            *(options.get(f"--{which}Shapes", ()) for which in ("min", "opt", "max")), strict=True
        )
    ] or [[parse_shapes(last(options, "--shapes"))] * 3]
    if not dynamic:
        if any(any(shapes) for shapes in stated):
            raise FailedError("Static model does not take explicit shapes since the shape of inference tensors will be "
                              "determined by the model itself")  # fmt: skip
        return
    for triple in stated:
        profile = builder.create_optimization_profile()
        for tensor in dynamic:
            default = tuple(max(1, extent) for extent in tensor.shape)
            if tensor.name not in triple[0]:
                shown = "x".join(map(str, default))
                log.line("W", f"Dynamic dimensions required for input: {tensor.name}, but no shapes were provided. "
                              f"Automatically overriding shape to: {shown}")  # fmt: skip
            profile.set_shape(tensor.name, *(shapes.get(tensor.name, default) for shapes in triple))
        config.add_optimization_profile(profile)


# Measurement


class Measurement:
    """Runs an engine on the GPU and writes what trtexec exports; needs TensorRT 8.5 or later."""

    def __init__(self, api: Any, options: Options, log: Log) -> None:  # noqa: ANN401
        self.api, self.options, self.log = api, options, log
        self.cuda = select_device(options, log)
        self.stream = self.cuda.make_stream()
        self._runtime: Any = None
        self._cache: Any = None

    def run(self) -> None:
        """Load, measure, profile, and write the files.

        Raises:
            FailedError: The engine cannot be loaded.
        """
        engine, context = self._load()
        self._bind(engine, context)
        recorder = Recorder(engine, context, tensorrt=self.api)
        self.log.info("Starting inference")
        seconds, warm = self._measure(context, recorder)
        count = len(recorder.queries)
        self.log.info(f"Warmup completed {warm} queries over {self._number('--warmUp', _WARM_UP_MS):g} ms")
        self.log.info(f"Timing trace has {count} queries over {seconds:.6g} s", "")
        self._summarize(recorder.queries, seconds)
        for _ in range(_PROFILED_ITERATIONS):
            with recorder.profiled():
                context.execute_async_v3(self.stream)
                self.cuda.synchronize(self.stream)
        self.log.info("", f"=== Profile ({_PROFILED_ITERATIONS} iterations ) ===", "")
        texts: tuple[tuple[str, Callable[[], str]], ...] = (
            ("--exportLayerInfo", recorder.layer_information),
            ("--exportTimes", lambda: recorder.timing),
            ("--exportProfile", lambda: recorder.profile),
        )
        for flag, text in texts:
            if path := last(self.options, flag):
                Path(path).write_text(text(), encoding="utf-8")
        if self._cache is not None:
            Path(last(self.options, "--runtimeCacheFile")).write_bytes(self._cache.serialize())

    def _number(self, flag: str, default: float) -> float:
        return float(last(self.options, flag, str(default)))

    def _load(self) -> tuple[Any, Any]:
        api, options = self.api, self.options
        logger = make_logger(api, self.log)
        runtime = api.Runtime(logger)
        load_plugins(api, logger, runtime, options)
        if core := last(options, "--useDLACore"):
            runtime.DLA_core = int(core)
        if "--versionCompatible" in options:
            runtime.engine_host_code_allowed = True
        began = time.monotonic()
        engine = runtime.deserialize_cuda_engine(Path(last(options, "--loadEngine")).read_bytes())
        if engine is None:
            raise FailedError("Engine deserialization failed", "Engine set up failed")
        self.log.info(f"Engine deserialized in {time.monotonic() - began:.6g} sec.")
        self._runtime = runtime  # it must outlive the engine
        if not is_rtx(api):
            return engine, engine.create_execution_context()
        config = engine.create_runtime_config()
        if graph := last(options, "--rtxCudaGraphStrategy"):
            name = "DISABLED" if graph == "disable" else "WHOLE_GRAPH_CAPTURE"
            config.cuda_graph_strategy = getattr(api.CudaGraphStrategy, name)
        if path := last(options, "--runtimeCacheFile"):
            self._cache = config.create_runtime_cache()
            if Path(path).is_file():
                self._cache.deserialize(Path(path).read_bytes())
            config.set_runtime_cache(self._cache)
        if strategy := last(options, "--specializeStrategyDS"):
            strategies = api.DynamicShapesKernelSpecializationStrategy
            config.dynamic_shapes_kernel_specialization_strategy = getattr(strategies, strategy.upper())
        return engine, engine.create_execution_context(config)

    def _bind(self, engine: Any, context: Any) -> None:  # noqa: ANN401
        """Allocate inputs and outputs, with the shapes of the options, and fill the inputs."""
        api, options = self.api, self.options
        context.set_optimization_profile_async(int(last(options, "--useProfile", "0")), self.stream)
        shapes = parse_shapes(last(options, "--shapes"))
        files = dict(part.split(":", 1) for part in filter(None, last(options, "--loadInputs").split(",")))
        names = [engine.get_tensor_name(index) for index in range(engine.num_io_tensors)]
        inputs = [name for name in names if engine.get_tensor_mode(name) == api.TensorIOMode.INPUT]
        for name in inputs:
            shape = tuple(engine.get_tensor_shape(name))
            if min(shape, default=1) < 0:
                shape = shapes.get(name, tuple(max(1, extent) for extent in shape))
                context.set_input_shape(name, shape)
        for name in names:
            if engine.get_tensor_location(name) != api.TensorLocation.DEVICE:
                raise FailedError(
                    f"{name} is a shape tensor in host memory; only trtexec measures such engines"
                )
            shape, dtype = tuple(context.get_tensor_shape(name)), engine.get_tensor_dtype(name)
            size = math.prod(max(0, extent) for extent in shape) * dtype.itemsize
            if min(shape, default=0) < 0:  # depends on the data
                size = context.get_max_output_size(name)
            address = self.cuda.allocate(int(size))
            context.set_tensor_address(name, address)
            side = "input" if name in inputs else "output"
            if side == "input":
                data = Path(files[name]).read_bytes() if name in files else make_random(dtype, int(size))
                self.cuda.upload(address, data)
            kind = str(dtype).rpartition(".")[2].lower()
            dims = "x".join(map(str, shape))
            self.log.info(
                f"{side.capitalize()} binding for {name} with dimensions {dims} and type {kind} is created."
            )

    def _measure(self, context: Any, recorder: Recorder) -> tuple[float, int]:  # noqa: ANN401
        """Time queries with events of the GPU; return the seconds they took, and the number of queries before them."""
        warm, until = 0, time.monotonic() + self._number("--warmUp", _WARM_UP_MS) / 1000
        while warm == 0 or time.monotonic() < until:
            context.execute_async_v3(self.stream)
            self.cuda.synchronize(self.stream)
            warm += 1
        start, end, first = (self.cuda.make_event() for _ in range(3))
        self.cuda.record(first, self.stream)
        began = time.monotonic()
        least, duration_s = self._number("--iterations", _ITERATIONS), self._number("--duration", _DURATION_S)
        while len(recorder.queries) < least or time.monotonic() < began + duration_s:
            self.cuda.record(start, self.stream)
            enqueued = time.perf_counter()
            context.execute_async_v3(self.stream)
            enqueue_ms = 1000 * (time.perf_counter() - enqueued)
            self.cuda.record(end, self.stream)
            self.cuda.synchronize(self.stream)
            start_ms = self.cuda.elapsed_ms(first, start)
            recorder.add_query(
                compute_ms=self.cuda.elapsed_ms(start, end), start_ms=start_ms, enqueue_ms=enqueue_ms
            )
        return time.monotonic() - began, warm

    def _summarize(self, queries: Sequence[Mapping[str, float]], seconds: float) -> None:
        computed = [query["computeMs"] for query in queries]
        columns = {
            "Latency": [query["latencyMs"] for query in queries],
            "Enqueue Time": [query["endEnqMs"] - query["startEnqMs"] for query in queries],
            "H2D Latency": [query["h2dMs"] for query in queries],
            "GPU Compute Time": computed,
            "D2H Latency": [query["d2hMs"] for query in queries],
        }
        self.log.info("=== Performance summary ===", f"Throughput: {len(queries) / seconds:.6g} qps")
        self.log.info(*(f"{name}: {describe(values, _PERCENTILES)}" for name, values in columns.items()))
        self.log.info(f"Total Host Walltime: {seconds:.6g} s")
        self.log.info(f"Total GPU Compute Time: {sum(computed) / 1000:.6g} s", "")


def describe(values: Sequence[float], percentiles: Sequence[str]) -> str:
    """Return `min = 0.49 ms, max = …` as trtexec computes it."""
    ordered = sorted(values)
    count = len(ordered)
    middle = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    figures = [("min", ordered[0]), ("max", ordered[-1]), ("mean", sum(ordered) / count), ("median", middle)]
    for text in percentiles:
        excluded = int(_single(_single(1 - _single(float(text) / 100)) * count))
        figures.append((f"percentile({text}%)", ordered[max(count - 1 - excluded, 0)]))
    return ", ".join(f"{name} = {value:.6g} ms" for name, value in figures)


def _single(value: float) -> float:
    """Round as C++ does for a `float`: else 10% of 100 queries are 9."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def make_random(dtype: Any, size: int) -> bytes:  # noqa: ANN401
    """Return random floats from -1 to 1, as trtexec does, and zeros of any other type."""
    code = {"FLOAT": "f", "HALF": "e"}.get(str(dtype).rpartition(".")[2])
    if code is None:
        return bytes(size)
    count = size // struct.calcsize(code)
    source = random.Random(0)
    return struct.pack(f"<{count}{code}", *(source.uniform(-1, 1) for _ in range(count)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
