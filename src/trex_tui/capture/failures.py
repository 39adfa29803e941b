"""Known failures of trtexec and nvidia-smi: what they print, what it means, what to do.

Texts differ between releases; the patterns match what they share. The first match wins, so causes come before the messages
that follow from them.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """A known failure.

    Attributes:
        key: Short name, for the manifest.
        pattern: Searched in each line of the output.
        sentence: Meaning; may contain groups of the pattern.
        remedy: What to do.
    """

    key: str
    pattern: re.Pattern[str]
    sentence: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Recognised:
    """A failure found in an output: its sentence with the groups filled in, and the line that matched."""

    key: str
    sentence: str
    remedy: str
    line: str


def _known(key: str, pattern: str, sentence: str, remedy: str) -> Failure:
    return Failure(key, re.compile(pattern, re.IGNORECASE), sentence, remedy)


_SAME_BUILD = (
    "build the engine again with this TensorRT on this device, or capture with the TensorRT that built it"
)

FAILURES = (
    _known(
        "unknown_option",
        r"Unknown option: (?P<option>\S+)",
        "trtexec does not know {option}",
        "check the arguments after --; trex-tui passes only options listed by this trtexec --help",
    ),
    _known(
        "missing_library",
        r"error while loading shared libraries: (?P<library>[^:\s]+)|Could not load library (?P<other>[^:\s]+)"
        r"|Unable to (?:open|load) library: (?P<third>[^:\s]+)",
        "a library is missing: {library}{other}{third}",
        "add its directory to LD_LIBRARY_PATH, or install its package; all TensorRT libraries must be of "
        "one release",
    ),
    _known(
        "no_image",
        r"No such image: (?P<image>\S+)|Unable to find image '(?P<other>[^']+)' locally",
        "docker has no image {image}{other}",
        "run docker pull first: TensorRT images take gigabytes",
    ),
    _known(
        "no_docker",
        r"Cannot connect to the Docker daemon|permission denied while trying to connect to the Docker daemon",
        "the docker daemon does not answer",
        "start it, or add the user to the group docker",
    ),
    _known(
        "no_gpu_runtime",
        r"could not select device driver .*capabilities: \[\[gpu\]\]|unknown or invalid runtime name: nvidia",
        "docker cannot give containers access to GPUs",
        "install nvidia-container-toolkit and restart docker",
    ),
    _known(
        "old_system",
        r"version [`'](?P<version>(?:GLIBC|GLIBCXX|CXXABI)_[\d.]+)' not found",
        "this system is too old for trtexec or a library: missing {version}",
        "use this distribution's TensorRT package, or an NVIDIA container (--docker IMAGE)",
    ),
    _known(
        "illegal_instruction",
        r"Illegal instruction",
        "the CPU lacks an instruction that trtexec or a library uses",
        "use the TensorRT for this platform; in a virtual machine pass the host CPU through",
    ),
    _known(
        "nvmap_permission",
        r"NvRmMemInitNvmap failed.*Permission denied",
        "this user cannot use the GPU: no permission for /dev/nvmap",
        "add the user to the groups video and render and log in again; in a container use --runtime nvidia",
    ),
    _known(
        "no_device",
        r"Cannot find device ID (?P<device>\d+)",
        "no device {device}",
        "see nvidia-smi -L; --device counts from 0 within CUDA_VISIBLE_DEVICES",
    ),
    _known(
        "old_driver",
        r"CUDA initialization failure with error: (?P<code>35|222)\b|CUDA driver version is insufficient"
        r"|the provided PTX was compiled with an unsupported toolchain",
        "the GPU driver is older than the CUDA of this TensorRT",
        "update the driver (on a Jetson: JetPack), or use a TensorRT for the CUDA version that nvidia-smi shows",
    ),
    _known(
        "no_gpu",
        r"no CUDA-capable device is detected|Cannot find any available devices|CUDA initialization failure with error: \d+"
        r"|Cuda failure.*(?:initialization error|unknown error|system driver mismatch)",
        "trtexec finds no usable GPU",
        "check nvidia-smi; a container needs --gpus all (Jetson: --runtime nvidia), a new driver needs a reboot",
    ),
    _known(
        "plan_version",
        r"engine plan file is not compatible with this version of TensorRT"
        r"(?:, expecting library version (?P<expected>[\d.]*\d)(?: got (?P<got>[\d.]*\d))?)?",
        "the engine was built by another TensorRT (expected {expected}, got {got})",
        _SAME_BUILD,
    ),
    _known(
        "plan_version",
        r"expecting library version (?P<expected>[\d.]*\d) got (?P<got>[\d.]*\d)",
        "the engine was built by another TensorRT (expected {expected}, got {got})",
        _SAME_BUILD,
    ),
    _known(
        "plan_magic",
        r"magicTag(?:Read)? == (?:rt::)?k(?:PLAN_)?MAGIC_TAG failed|Magic tag does not match",
        "the file is not an engine, or this TensorRT cannot read it",
        "check that the file is a complete engine; if it is, " + _SAME_BUILD,
    ),
    _known(
        "plan_version",
        r"stdVersionRead == (?:kSERIALIZATION_VERSION|serializationVersion) failed|Version tag does not match",
        "the engine was built by another TensorRT",
        _SAME_BUILD,
    ),
    _known(
        "plan_device",
        r"engine plan file is generated on an incompatible device(?:, expecting compute (?P<expected>[\d.]*\d) got "
        r"compute (?P<got>[\d.]*\d))?",
        "the engine was built for another GPU (compute capability {expected} here, {got} in the engine)",
        "build it again on this device, or with --hardware-compatibility",
    ),
    _known(
        "unsupported_sm",
        r"Unsupported SM: (?P<sm>0x[0-9a-f]+)|Target GPU SM (?P<other>\d+) is not supported",
        "this TensorRT does not support this GPU (SM {sm}{other})",
        "a newer GPU needs a newer TensorRT; an old, dropped one needs an older TensorRT",
    ),
    _known(
        "no_kernel_image",
        r"no kernel image is available for execution on the device|cudaErrorNoKernelImageForDevice",
        "TensorRT or a plugin has no code for this GPU",
        "build plugins for its compute capability; if there are none, use a TensorRT that supports the GPU",
    ),
    _known(
        "missing_plugin",
        r"Plugin not found, are the plugin name|getPluginCreator could not find plugin:? ?(?P<plugin>\S*)",
        "a plugin is missing{plugin_named}",
        "give its library with --plugin; the same message appears for operators that need a newer TensorRT",
    ),
    _known(
        "no_dla",
        r"Cannot create DLA engine",
        "no such DLA core on this device",
        "remove --dla, or choose an existing core (0 or 1 on Xavier, AGX Orin and Orin NX)",
    ),
    _known(
        "dla_fallback",
        r"Assertion allowGPUFallback failed|not supported on DLA (?:but|and) GPU fallback is not enabled",
        "a layer cannot run on the DLA, and GPU fallback is not allowed",
        "add --allow-gpu-fallback",
    ),
    _known(
        "unsupported_op",
        r"While parsing node number (?P<number>\d+) \[(?P<op>.+?) ->",
        "the parser does not support node {number} of the model, operator {op}",
        "simplify or constant-fold the model, export it with another opset, or use a newer TensorRT or a plugin",
    ),
    _known(
        "bad_onnx",
        r"Failed to parse onnx file|Failed to parse ONNX model from file|Parsing model failed|Failed to open file",
        "the ONNX file cannot be parsed",
        "check it with onnx.checker; external weights must be next to it",
    ),
    _known(
        "bad_model",
        r"Model missing or format not recognized",
        "trtexec does not recognize the file as a model",
        "--onnx takes ONNX, --engine a serialized engine",
    ),
    _known(
        "cuda_graph",
        r"cudaErrorStreamCapture|not permitted when stream is capturing|operation would make the legacy stream depend"
        r"|(?:CUDA|cuda) ?graph (?:capture )?(?:has )?failed|cudaStreamEndCapture|cudaGraphInstantiate",
        "the engine cannot be captured in a CUDA graph",
        "use --no-cuda-graph",
    ),
    _known(
        "shapes_static",
        r"Static model does not take explicit shapes",
        "shapes are given, but the model's shapes are fixed",
        "remove --shapes and --min/opt/max-shapes",
    ),
    _known(
        "shapes_unknown",
        r"Cannot find input tensor with name \"(?P<name>[^\"]*)\"",
        "the shapes name {name}, which is not an input of the network",
        "use the input names of the model",
    ),
    _known(
        "shapes_missing",
        r"Required shape for input (?P<name>\S+) is missing"
        r"|Dynamic dimensions required for input:? (?P<other>[^,\s]+).*but no shapes were provided\.?$"
        r"|network has dynamic or shape inputs, but no optimization profile has been defined",
        "the model has dynamic shapes, and none are given",
        "add --min-shapes, --opt-shapes and --max-shapes (input:1x3x224x224)",
    ),
    _known(
        "shapes_profile",
        r"(?P<name>[^\s(]+): for dimension number (?P<dimension>\d+) in profile (?P<number>\d+) does not match network"
        r"|does not match network definition \(got min",
        "the given shapes do not fit the model{where}",
        "--min-shapes, --opt-shapes and --max-shapes must have the fixed dimensions of the model's input",
    ),
    _known(
        "shapes_reshape",
        r"reshape changes volume",
        "a Reshape of the model does not fit the given shapes",
        "give the shapes that the model was exported for, or export it with dynamic axes",
    ),
    _known(
        "calibration",
        r"Calibration failure occurred with no scaling factors|calibration (?:cache|table) (?:is )?(?:empty|invalid)",
        "INT8 calibration failed: missing scales",
        "add the calibration cache of this model (--calib FILE), or use a model with Q/DQ nodes",
    ),
    _known(
        "shapes_range",
        r"(?:Static dimension mismatch|does not satisfy any optimization profiles|dimension[s]? .*out of range"
        r"|Supplied binding dimension .* for bindings).*?(?:input (?P<name>[^.\s]+))?",
        "a given shape is outside the range of the engine",
        "choose --shapes between --min-shapes and --max-shapes of the build",
    ),
    _known(
        "out_of_memory",
        r"OutOfMemory|\(out of memory\)|could not be allocated|cudaErrorMemoryAllocation|std::bad_alloc"
        r"|NvMapMemAllocInternalTagged: .* error 12",
        "out of memory",
        "check what else runs (nvidia-smi; on a Jetson stop the desktop), lower --workspace, or use smaller shapes",
    ),
    _known(
        "no_implementation",
        r"Could not find any implementation for node (?P<node>.+?)\.\)?(?: |$)",
        "TensorRT has no kernel for {node}",
        "allow more memory (--workspace) or another precision for the layer, or use a newer TensorRT",
    ),
    _known(
        "uncaught",
        r"Uncaught exception detected: (?P<what>.+)",
        "internal error of trtexec: {what}",
        "see the log for what preceded it",
    ),
)

JOIN_GROUPS = (
    'sudo usermod -aG video,render "$USER", then log in again; in a container: --runtime nvidia, or '
    "--group-add video"
)
NVIDIA_SMI_FAILURES = (
    _known(
        "driver_mismatch",
        r"Driver/library version mismatch",
        "the driver was updated, but the old kernel module is loaded",
        "the driver was updated, but the old kernel module is loaded: reboot (trtexec fails until then)",
    ),
    _known(
        "driver_not_loaded",
        r"couldn't communicate with the NVIDIA driver",
        "the kernel module is not loaded",
        "the kernel module is not loaded: after a kernel update rebuild it (dkms autoinstall), with secure boot sign "
        "it, then sudo modprobe nvidia",
    ),
    _known(
        "devices_lost",
        r"Failed to initialize NVML: Unknown Error",
        "the container lost its devices",
        "a container loses its devices when systemd reloads: restart it",
    ),
    _known(
        "no_gpu",
        r"No devices were found",
        "the driver sees no GPU",
        "the driver sees no GPU: check `lspci | grep -i nvidia`, and the GPUs given to the container",
    ),
    _known(
        "no_nvmap",
        r"NvRmMemInitNvmap failed with No such file",
        "no /dev/nvmap",
        "no /dev/nvmap: in a container use --runtime nvidia",
    ),
    _known("nvmap_permission", r"NvRmMemInitNvmap failed", "no permission for /dev/nvmap", JOIN_GROUPS),
)
START_FAILURES = (
    _known(
        "dla_compiler",
        r"libnvdla_compiler",
        "trtexec does not start without the DLA compiler",
        "install the package nvidia-l4t-dla-compiler of this L4T and run sudo ldconfig; in a container use "
        "--runtime nvidia",
    ),
    _known(
        "library_path",
        r"LD_LIBRARY_PATH",
        "trtexec does not start without its libraries",
        "set LD_LIBRARY_PATH; a .bashrc that sets it is not read by `ssh host command`",
    ),
)
"""Reasons why an existing trtexec does not start."""

_LOW_MEMORY = re.compile(
    r"Device memory is insufficient to use tactic|insuff?icient memory on requested size", re.I
)
_GRAPH_IGNORED = re.compile(
    r"--useCudaGraph flag has been ignored|CUDA graph capture on the stream has failed"
)
_OTHER_DEVICE = re.compile(r"engine plan file across different models of devices")


def recognise(lines: Iterable[str], failures: Iterable[Failure] = FAILURES) -> Recognised | None:
    """Find the first known failure, in the order of the table, in the lines of an output."""
    texts = list(lines)
    for failure in failures:
        for text in texts:
            if match := failure.pattern.search(text):
                return Recognised(failure.key, _sentence(failure, match), failure.remedy, text)
    return None


def _sentence(failure: Failure, match: re.Match[str]) -> str:
    groups = {key: value or "" for key, value in match.groupdict().items()}
    if "expected" in groups:
        groups = {key: value or "not stated" for key, value in groups.items()}
    if groups.get("name") and groups.get("dimension"):
        where = f": input {groups['name']}, dimension {groups['dimension']}, profile {groups['number']}"
        groups["where"] = where
    groups.setdefault("where", "")
    groups["plugin_named"] = f": {groups['plugin']}" if groups.get("plugin") else ""
    return failure.sentence.format(**groups)


_SIGNAL_REMEDIES = {
    "SIGILL": "the CPU lacks an instruction; use the TensorRT for this platform, in a virtual machine pass its CPU through",
    "SIGBUS": "a mapped file was truncated, or shared memory is full: check df, and --shm-size of the container",
    "SIGKILL": "probably by the kernel, out of memory (see dmesg); check what else runs, add swap",
}


def signal_name(number: int) -> str:
    """Return `SIGSEGV` for 11."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def signal_remedy(number: int) -> str:
    """Return what to do about a program that a signal ended."""
    return _SIGNAL_REMEDIES.get(signal_name(number), "see the end of the log")


def remarks(warnings: Iterable[str]) -> list[str]:
    """Return remarks for the user about a run that passed."""
    texts = list(warnings)
    sentences = []
    if any(_GRAPH_IGNORED.search(text) for text in texts):
        sentences.append(
            "trtexec could not capture a CUDA graph and measured without: the latency includes enqueue time"
        )
    if any(_LOW_MEMORY.search(text) for text in texts):
        sentences.append(
            "tactics were skipped, not enough memory: the engine may be slower than one built on an idle device"
        )
    if any(_OTHER_DEVICE.search(text) for text in texts):
        sentences.append("the engine was built on another device model, or in another power mode")
    return sentences
