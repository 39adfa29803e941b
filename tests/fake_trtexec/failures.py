"""The known ways to fail. Texts as trtexec and libnvinfer print them; some differ between releases."""

from __future__ import annotations

import _signal as signal  # as in program.py
import os
import sys
import time

from log import Log
from release import Release


class Failures:
    """What this run is to do wrong, from FAKE_TRTEXEC_FAIL."""

    def __init__(self, role: str) -> None:
        self.names = set()
        for word in filter(None, os.environ.get("FAKE_TRTEXEC_FAIL", "").split(",")):
            name, _, only = word.partition("@")
            if not only or only == role:
                self.names.add(name)

    def __contains__(self, name: str) -> bool:
        return name in self.names


def fail(log: Log, *, code: int = 1, banner: bool = True) -> None:
    if banner:
        log.banner("FAILED")
    sys.exit(code)


def no_gpu(log: Log, release: Release) -> None:
    """Before anything is parsed; up to 8.6 trtexec aborts, and none prints a banner."""
    log.raw("Cuda failure: no CUDA-capable device is detected", stream="stderr")
    if release.before(9, 0, 0):
        die(signal.SIGABRT)
    log.line("E", "Cannot find any available devices (GPUs)!")
    sys.exit(1)


def die(number: int) -> None:
    """End by a signal, as a crash does, and leave no core file."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
    os.kill(os.getpid(), number)


def wait_for_go() -> None:
    """Measure until a file is there, if one is named."""
    go = os.environ.get("FAKE_TRTEXEC_GO")
    sys.stdout.flush()
    until = time.monotonic() + 150
    while go and not os.path.exists(go) and time.monotonic() < until:  # noqa: PTH110 - as little to import as can be
        time.sleep(0.01)


def hang() -> None:
    """Tell the test, then wait for a signal."""
    ready()
    while True:
        signal.pause()


def ready() -> None:
    fifo = os.environ.get("FAKE_TRTEXEC_FIFO")
    if fifo:
        with open(fifo, "w") as pipe:  # noqa: PTH123
            pipe.write(f"ready {os.getpid()}\n")


# Name -> lines of the parser or builder. Afterwards trtexec gives up in its usual three lines.
BUILD_ERRORS = {
    "bad_onnx": ("ModelImporter.cpp:688: Failed to parse ONNX model from file: {onnx}!",),
    "unsupported_op": (
        'ModelImporter.cpp:768: While parsing node number 12 [GridSample3D -> "out_12"]:',
        "ModelImporter.cpp:773: --- End node ---",
        "ModelImporter.cpp:775: ERROR: builtin_op_importers.cpp:4870 In function importFallbackPluginImporter:",
    ),
    "missing_plugin": (
        'ModelImporter.cpp:768: While parsing node number 7 [MultiscaleDeformableAttn_TRT -> "out_7"]:',
        '[8] Assertion failed: creator && "Plugin not found, are the plugin name, version, and namespace correct?"',
    ),
    "no_implementation": (
        "Error[10]: [optimizer.cpp::computeCosts::3628] Error Code 10: Internal Error "
        "(Could not find any implementation for node {{ForeignNode[a...b]}}.)",
    ),
    "out_of_memory": (
        "Requested amount of GPU memory (8589934592 bytes) could not be allocated. There may not be enough free memory "
        "for allocation to succeed.",
        "Error[2]: [virtualMemoryBuffer.cpp::resizePhysical::161] Error Code 2: OutOfMemory (no further information)",
    ),
    "unsupported_sm": ("Error Code 1: Internal Error (Unsupported SM: 0xc00)",),
    "dla_fallback": (
        "Error Code 2: Internal Error (Assertion allowGPUFallback failed. Layer '644' is not supported on DLA but GPU "
        "fallback is not enabled.)",
    ),
    "no_dla": ("Cannot create DLA engine, 0 not available",),
    "nvmap_permission": ("NvRmMemInitNvmap failed with Permission denied",),
}
SHAPE_ERRORS = {
    "shapes_static": (
        "Static model does not take explicit shapes since the shape of inference tensors will be determined by the model "
        "itself"
    ),
    "shapes_unknown": 'Cannot find input tensor with name "x" in the network inputs! Please make sure the names are correct.',
    "shapes_missing": (
        "Required shape for input x is missing: Dynamic dimensions required for input: x, but no shapes were provided."
    ),
}
PROFILE_ERRORS = {
    "shapes_range": (
        "Error[3]: [executionContext.cpp::setInputShape::2068] Error Code 3: API Usage Error (Parameter check failed, "
        "condition: engineDims.d[i] == dims.d[i]. Static dimension mismatch while setting input shape for x. Set dimensions "
        "are [64,3,224,224]. Expected dimensions are [1,3,224,224].)"
    ),
    "runtime_oom": "1: [defaultAllocator.cpp::allocate::20] Error Code 1: Cuda Runtime (out of memory)",
    "illegal_access": (
        "1: [cudaDriverHelpers.cpp::operator()::94] Error Code 1: Cuda Driver (an illegal memory access was encountered)"
    ),
    "cuda_graph": "Error[1]: [cudaResources.cpp::~ScopedCudaStream::47] Error Code 1: Cuda Runtime (cudaErrorStreamCaptureUnsupported: operation not permitted when stream is capturing)",  # noqa: E501
}


def build_error(log: Log, name: str, onnx: str) -> None:
    for text in BUILD_ERRORS[name]:
        log.trt("E", text.format(onnx=onnx))
    parses = name in ("bad_onnx", "unsupported_op", "missing_plugin")
    if parses:
        log.line("E", "Failed to parse onnx file")
        log.line("E", "Parsing model failed")
    else:
        log.line("E", "Engine could not be created from network")
        log.line("E", "Building engine failed")
    old = log.release.before(8, 4, 0)
    log.line(
        "E", "Failed to create engine from model." if old else "Failed to create engine from model or file."
    )
    log.line("E", "Engine set up failed")
    fail(log)


def load_error(log: Log, text: str) -> None:
    log.trt("E", text)
    log.line("E", "Engine deserialization failed")
    log.line("E", "Engine set up failed")
    fail(log)


DEVICE_TEXT = (
    "6: The engine plan file is generated on an incompatible device, expecting compute 7.5 got compute 8.6, "
    "please rebuild."
)
