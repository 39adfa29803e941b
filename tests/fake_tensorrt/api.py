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
_NUMBERS = count(1)


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

    def describe(self) -> tuple[str, int, dict[str, int]]:
        numbers = {"major": 8, "minor": 9, "multiprocessors": 46, "bus_bits": 192, "ecc": 0}
        return "NVIDIA Stand-In", 12 << 30, numbers | {"clock_khz": 2475000, "memory_clock_khz": 10501000}

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


class _Member(int):
    name = ""

    def __str__(self) -> str:
        return f"Enum.{self.name}"


def _enum(names: str) -> SimpleNamespace:
    members = SimpleNamespace()
    for name in names.split():
        member = _Member(next(_NUMBERS))
        member.name = name
        setattr(members, name, member)
    return members


Severity = _enum("INTERNAL_ERROR ERROR WARNING INFO VERBOSE")
BuilderFlag = _enum("FP16 BF16 INT8 TF32 STRIP_PLAN DISABLE_TIMING_CACHE GPU_FALLBACK")
NetworkDefinitionCreationFlag = _enum("STRONGLY_TYPED")
ProfilingVerbosity = _enum("DETAILED LAYER_NAMES_ONLY")
MemoryPoolType = _enum("WORKSPACE")
TensorIOMode = _enum("INPUT OUTPUT")
TensorLocation = _enum("DEVICE HOST")
LayerInformationFormat = _enum("JSON")
HardwareCompatibilityLevel = _enum("NONE AMPERE_PLUS")
ComputeCapability = _enum("SM86 SM89 SM120")
DeviceType = _enum("DLA")
CudaGraphStrategy = _enum("DISABLED WHOLE_GRAPH_CAPTURE")
DynamicShapesKernelSpecializationStrategy = _enum("LAZY EAGER")


class ILogger:
    def __init__(self) -> None:
        self.is_made = True


class IProfiler(ILogger):
    pass


class _Noting:
    """Any method is written down with its arguments."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments: note(name, *arguments)


class _Cache:
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
        return _Cache()

    def get_timing_cache(self) -> _Cache:
        return _Cache()


class IRuntimeConfig(_Noting):
    """Its `set_runtime_cache` is written down without the cache."""

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
        self.create_builder_config, self.create_optimization_profile = IBuilderConfig, _Profile
        self.get_plugin_registry = _Noting

    def create_network(self, flags: int) -> SimpleNamespace:
        return SimpleNamespace(inputs=[], num_inputs=0)

    def build_serialized_network(self, network: SimpleNamespace, config: IBuilderConfig) -> memoryview | None:
        self.logger.log(Severity.VERBOSE, "Total number of blocks in optimized block graph: 1")
        if fails("crash"):
            os.kill(os.getpid(), 11)
        if fails("build"):
            text = "Error Code: 9: No kernel for softmax (In assign at builder.cpp:1)"
            self.logger.log(Severity.ERROR, text)
            return None
        inputs = {tensor.name: list(tensor.shape) for tensor in network.inputs}
        plan = json.dumps({"inputs": inputs, "profiles": config.profiles}).encode()
        return memoryview(b"ftrt" + bytes(20) + bytes([10, 4, 0, 26]) + bytes(64) + _MARK + plan)


class OnnxParser:
    num_errors = 1

    def __init__(self, network: SimpleNamespace, logger: ILogger) -> None:
        self.network, self.logger = network, logger

    def parse_from_file(self, path: str) -> bool:
        inputs = [
            SimpleNamespace(
                name=known.name, shape=tuple(n if isinstance(n, int) else -1 for n in known.shape)
            )
            for known in read_onnx_header(Path(path)).inputs
        ]
        self.network.inputs, self.network.num_inputs = inputs, len(inputs)
        self.network.get_input = inputs.__getitem__
        if fails("parse"):
            text = 'ModelImporter.cpp:140: While parsing node number 12 [GridSample3D -> "t1"]:'
            self.logger.log(Severity.ERROR, text)
        return not fails("parse")

    def get_error(self, index: int) -> str:
        return "In node 12 with name: grid and operator: GridSample3D\n  (checkNode): UNSUPPORTED_NODE: no importer"


class Runtime:
    def __init__(self, logger: ILogger) -> None:
        assert logger.is_made
        self.get_plugin_registry = _Noting

    def deserialize_cuda_engine(self, data: bytes) -> Engine | None:
        return None if fails("load") else Engine(json.loads(data.rpartition(_MARK)[2]))


class Engine:
    def __init__(self, plan: dict) -> None:
        self.inputs: dict[str, list[int]] = plan["inputs"]
        names = [*self.inputs, "out"]
        self.num_io_tensors = len(names)
        self.get_tensor_name = names.__getitem__
        self.create_runtime_config = IRuntimeConfig

    def create_execution_context(self, config: IRuntimeConfig | None = None) -> Context:
        if config is not None:
            note("graph", config.cuda_graph_strategy)
        return Context(self)

    def create_engine_inspector(self) -> SimpleNamespace:
        form = {"Location": "Device", "Dimensions": [1, 8], "Format/Datatype": "Row major linear FP32"}
        tensors = [{"Name": f"t{n}", **form} for n in range(len(LAYERS) + 1)]
        layers = [
            {"Name": name, "LayerType": "kgen", "Inputs": [before], "Outputs": [after]}
            for name, before, after in zip(LAYERS, tensors, tensors[1:])  # noqa: B905 - the last has no layer
        ]
        text = json.dumps({"Layers": layers, "Bindings": [*self.inputs, "out"]})
        return SimpleNamespace(get_engine_information=lambda _: text)

    def get_tensor_mode(self, name: str) -> object:
        return TensorIOMode.INPUT if name in self.inputs else TensorIOMode.OUTPUT

    def get_tensor_location(self, name: str) -> object:
        return TensorLocation.HOST if name.startswith("host") else TensorLocation.DEVICE

    def get_tensor_shape(self, name: str) -> list[int]:
        return self.inputs.get(name, [1, 8])

    def get_tensor_dtype(self, name: str) -> DataType:
        return DataType()


class DataType:
    itemsize = 4

    def __str__(self) -> str:
        return "DataType.FLOAT"


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
