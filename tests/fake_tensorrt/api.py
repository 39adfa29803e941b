"""What `capture/builder.py` uses of the API, with engines that compute nothing.

The plan holds the names, shapes and optimization profiles of the inputs. Every call that a test asks about is written down in
the file that `FAKE_TENSORRT_CALLS` names. `FAKE_TENSORRT_FAIL` makes a step fail: parse, build, load, crash.
"""

from __future__ import annotations

# ruff: noqa: ARG002 - the signatures are those of the API
import json
import os
import sys
from itertools import count
from pathlib import Path
from types import SimpleNamespace

from trex_tui.capture.onnx_header import read_onnx_header

LAYERS = ("conv1 + relu1", "softmax")
_MARK = b"\nAPI "


def note(*words: object) -> None:
    if path := os.environ.get("FAKE_TENSORRT_CALLS"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps([str(word) for word in words]) + "\n")


def fails(step: str) -> bool:
    return os.environ.get("FAKE_TENSORRT_FAIL") == step


def begin(module: str, devices: int) -> None:
    """Put the driver of this stand-in below the program that imports it."""
    program = sys.modules["__main__"]
    if hasattr(program, "select_device"):
        program.Cuda, program.count_devices = Driver, lambda: devices
    note("import", module)


class Driver:
    """As `trex_tui.capture.builder.Cuda`; its clock goes on by half a millisecond with each event."""

    def __init__(self, device: int) -> None:
        note("device", device)
        self.now_ms = 0.0
        self.memory: dict[int, bytes] = {}

    def describe(self) -> tuple[str, int, dict[str, int]]:
        numbers = {"major": 8, "minor": 9, "multiprocessors": 46, "bus_bits": 192, "ecc": 0}
        numbers |= {"clock_khz": 2475000, "memory_clock_khz": 10501000}
        return "NVIDIA Stand-In", 12 << 30, numbers

    def allocate(self, size: int) -> int:
        note("allocate", size)
        return 4096

    def upload(self, address: int, data: bytes) -> None:
        note("upload", len(data), data[:4].hex())

    def make_stream(self) -> int:
        return 7

    def synchronize(self, stream: int) -> None:
        assert stream == 7

    def make_event(self) -> list[float]:
        return [0.0]

    def record(self, event: list[float], stream: int) -> None:
        assert stream == 7
        self.now_ms += 0.5
        event[0] = self.now_ms

    def elapsed_ms(self, start: list[float], end: list[float]) -> float:
        return end[0] - start[0]


_NUMBERS = count(1)


class _Enum:
    def __init__(self, *names: str) -> None:
        for name in names:
            setattr(self, name, _Member(name))


class _Member(int):
    def __new__(cls, name: str) -> _Member:
        self = super().__new__(cls, next(_NUMBERS))
        self.name = name  # type: ignore[attr-defined]
        return self

    def __str__(self) -> str:
        return f"Enum.{self.name}"  # type: ignore[attr-defined]


Severity = _Enum("INTERNAL_ERROR", "ERROR", "WARNING", "INFO", "VERBOSE")
BuilderFlag = _Enum("FP16", "BF16", "INT8", "TF32", "STRIP_PLAN", "DISABLE_TIMING_CACHE", "GPU_FALLBACK")
NetworkDefinitionCreationFlag = _Enum("STRONGLY_TYPED")
ProfilingVerbosity = _Enum("DETAILED", "LAYER_NAMES_ONLY")
MemoryPoolType = _Enum("WORKSPACE")
TensorIOMode = _Enum("INPUT", "OUTPUT")
TensorLocation = _Enum("DEVICE", "HOST")
LayerInformationFormat = _Enum("JSON")
HardwareCompatibilityLevel = _Enum("NONE", "AMPERE_PLUS")
ComputeCapability = _Enum("SM86", "SM89", "SM120")
DeviceType = _Enum("DLA")
CudaGraphStrategy = _Enum("DISABLED", "WHOLE_GRAPH_CAPTURE")
DynamicShapesKernelSpecializationStrategy = _Enum("LAZY", "EAGER")


class ILogger:
    def __init__(self) -> None:
        self.is_made = True


class IProfiler:
    def __init__(self) -> None:
        self.is_made = True


class _Noting:
    """Any method is written down with its arguments."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments: note(name, *arguments)


class _Cache:
    def __init__(self, data: bytes = b"") -> None:
        note("cache", len(data))

    def deserialize(self, data: bytes) -> None:
        note("cache", len(data))

    def serialize(self) -> bytes:
        return b"cache"


class IBuilderConfig(_Noting):
    builder_optimization_level = 3
    max_aux_streams = 0
    hardware_compatibility_level = None

    def __init__(self) -> None:
        self.profiles: list[dict] = []

    def set_compute_capability(self, which: object, index: int) -> None:
        note("set_compute_capability", which, index)

    def add_optimization_profile(self, profile: _Profile) -> None:
        self.profiles.append(profile.shapes)

    def create_timing_cache(self, data: bytes) -> _Cache:
        return _Cache(data)

    def set_timing_cache(self, cache: _Cache, is_shared: bool) -> None:
        self.cache = cache

    def get_timing_cache(self) -> _Cache:
        return self.cache


class IRuntimeConfig:
    cuda_graph_strategy = None
    dynamic_shapes_kernel_specialization_strategy = None

    def create_runtime_cache(self) -> _Cache:
        return _Cache()

    def set_runtime_cache(self, cache: _Cache) -> None:
        note("set_runtime_cache")


class _Profile:
    def __init__(self) -> None:
        self.shapes: dict[str, list[list[int]]] = {}

    def set_shape(self, name: str, *shapes: tuple[int, ...]) -> None:
        self.shapes[name] = [list(shape) for shape in shapes]


class Builder:
    def __init__(self, logger: ILogger) -> None:
        assert logger.is_made
        self.logger = logger

    def create_network(self, flags: int) -> SimpleNamespace:
        note("create_network", flags)
        return SimpleNamespace(inputs=[], num_inputs=0)

    def create_builder_config(self) -> IBuilderConfig:
        return IBuilderConfig()

    def create_optimization_profile(self) -> _Profile:
        return _Profile()

    def get_plugin_registry(self) -> _Noting:
        return _Noting()

    def build_serialized_network(self, network: SimpleNamespace, config: IBuilderConfig) -> memoryview | None:
        self.logger.log(Severity.VERBOSE, "Total number of blocks in optimized block graph: 1")
        if fails("crash"):
            os.kill(os.getpid(), 11)
        if fails("build"):
            self.logger.log(
                Severity.ERROR, "Error Code: 9: No kernel for softmax (In assign at builder.cpp:1)"
            )
            return None
        inputs = {tensor.name: list(tensor.shape) for tensor in network.inputs}
        plan = json.dumps({"inputs": inputs, "profiles": config.profiles}).encode()
        return memoryview(b"ftrt" + bytes(20) + bytes([10, 4, 0, 26]) + bytes(64) + _MARK + plan)


class OnnxParser:
    num_errors = 1

    def __init__(self, network: SimpleNamespace, logger: ILogger) -> None:
        self.network, self.logger = network, logger

    def parse_from_file(self, path: str) -> bool:
        header = read_onnx_header(Path(path))
        self.network.inputs = [
            SimpleNamespace(
                name=known.name, shape=tuple(n if isinstance(n, int) else -1 for n in known.shape)
            )
            for known in header.inputs
        ]
        self.network.num_inputs = len(self.network.inputs)
        self.network.get_input = lambda index: self.network.inputs[index]
        if fails("parse"):
            self.logger.log(
                Severity.ERROR, 'ModelImporter.cpp:140: While parsing node number 12 [GridSample3D -> "t1"]:'
            )
        return not fails("parse")

    def get_error(self, index: int) -> str:
        return "In node 12 with name: grid and operator: GridSample3D\n  (checkNode): UNSUPPORTED_NODE: no importer"


class Runtime:
    def __init__(self, logger: ILogger) -> None:
        assert logger.is_made

    def deserialize_cuda_engine(self, data: bytes) -> Engine | None:
        return None if fails("load") else Engine(json.loads(data.rpartition(_MARK)[2]))

    def get_plugin_registry(self) -> _Noting:
        return _Noting()


class Engine:
    def __init__(self, plan: dict) -> None:
        self.plan = plan
        self.names = [*plan["inputs"], "out"]
        self.num_io_tensors = len(self.names)

    def create_runtime_config(self) -> IRuntimeConfig:
        return IRuntimeConfig()

    def create_execution_context(self, config: IRuntimeConfig | None = None) -> Context:
        if config is not None:
            note("graph", config.cuda_graph_strategy)
        return Context(self)

    def create_engine_inspector(self) -> SimpleNamespace:
        shape = [1, 8]

        def tensor(name: str) -> dict:
            return {
                "Name": name,
                "Location": "Device",
                "Dimensions": shape,
                "Format/Datatype": "Row major linear FP32",
            }

        layers = [
            {"Name": name, "LayerType": "kgen", "Inputs": [tensor(f"t{n}")], "Outputs": [tensor(f"t{n + 1}")]}
            for n, name in enumerate(LAYERS)
        ]
        text = json.dumps({"Layers": layers, "Bindings": self.names})
        return SimpleNamespace(get_engine_information=lambda _: text)

    def get_tensor_name(self, index: int) -> str:
        return self.names[index]

    def get_tensor_mode(self, name: str) -> object:
        return TensorIOMode.INPUT if name in self.plan["inputs"] else TensorIOMode.OUTPUT

    def get_tensor_location(self, name: str) -> object:
        return TensorLocation.HOST if name.startswith("host") else TensorLocation.DEVICE

    def get_tensor_shape(self, name: str) -> list[int]:
        return self.plan["inputs"].get(name, [1, 8])

    def get_tensor_dtype(self, name: str) -> SimpleNamespace:
        return DataType(16 if name == "half" else 32)


class DataType:
    def __init__(self, bits: int) -> None:
        self.itemsize = bits // 8

    def __str__(self) -> str:
        return "DataType.HALF" if self.itemsize == 2 else "DataType.FLOAT"


class Context:
    profiler = None
    enqueue_emits_profile = True

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.shapes: dict[str, tuple[int, ...]] = {}

    def set_optimization_profile_async(self, index: int, stream: int) -> None:
        note("optimization_profile", index)

    def set_input_shape(self, name: str, shape: tuple[int, ...]) -> None:
        note("input_shape", name, *shape)
        self.shapes[name] = shape

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        return self.shapes.get(name, tuple(self.engine.get_tensor_shape(name)))

    def set_tensor_address(self, name: str, address: int) -> None:
        assert address == 4096

    def execute_async_v3(self, stream: int) -> bool:
        return True

    def report_to_profiler(self) -> None:
        for place, name in enumerate(LAYERS, start=1):
            self.profiler.report_layer_time(name, place / 10)
