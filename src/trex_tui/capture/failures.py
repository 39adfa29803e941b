"""The ways in which trtexec and nvidia-smi are known to fail: what they print, what that means, what to do.

Texts differ between releases; the patterns take what they have in common. The first that fits wins, so causes come before
the complaints that follow from them.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Failure:
    """One known failure.

    Attributes:
        key: Short name, for the manifest.
        pattern: Found in a line of the output.
        sentence: What it means; may name groups of the pattern.
        remedy: What to do.
    """

    key: str
    pattern: re.Pattern[str]
    sentence: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Recognised:
    """A failure in an output: the sentence with its names filled in, and the line that shows it."""

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
        "trex-tui passes what --help of this trtexec lists; check the arguments after --",
    ),
    _known(
        "missing_library",
        r"error while loading shared libraries: (?P<library>[^:\s]+)|Could not load library (?P<other>[^:\s]+)"
        r"|Unable to (?:open|load) library: (?P<third>[^:\s]+)",
        "a library is missing: {library}{other}{third}",
        "add its directory to LD_LIBRARY_PATH, or install the package that has it; all libraries of a TensorRT must be of "
        "one release",
    ),
    _known(
        "no_image",
        r"No such image: (?P<image>\S+)|Unable to find image '(?P<other>[^']+)' locally",
        "docker has no image {image}{other}",
        "fetch it with docker pull first: images of TensorRT have gigabytes",
    ),
    _known(
        "no_docker",
        r"Cannot connect to the Docker daemon|permission denied while trying to connect to the Docker daemon",
        "docker's daemon does not answer",
        "start it, and add the user to the group docker",
    ),
    _known(
        "no_gpu_runtime",
        r"could not select device driver .*capabilities: \[\[gpu\]\]|unknown or invalid runtime name: nvidia",
        "docker cannot lend GPUs to containers",
        "install nvidia-container-toolkit and restart docker",
    ),
    _known(
        "old_system",
        r"version [`'](?P<version>(?:GLIBC|GLIBCXX|CXXABI)_[\d.]+)' not found",
        "this system is too old for trtexec or a library: it lacks {version}",
        "use the TensorRT package of this distribution, or a container of NVIDIA (--docker IMAGE)",
    ),
    _known(
        "illegal_instruction",
        r"Illegal instruction",
        "the processor does not know an instruction of trtexec or a library",
        "use the TensorRT of this platform, in a virtual machine pass the CPU through",
    ),
    _known(
        "nvmap_permission",
        r"NvRmMemInitNvmap failed.*Permission denied",
        "this user may not use the GPU: /dev/nvmap is closed to it",
        "add the user to the groups video and render and log in again; in a container use --runtime nvidia",
    ),
    _known(
        "no_device",
        r"Cannot find device ID (?P<device>\d+)",
        "there is no device {device}",
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
        "see whether nvidia-smi works; a container needs --gpus all (Jetson: --runtime nvidia), a new driver a reboot",
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
        "the file is no engine, or one that this TensorRT cannot read",
        "see that the file is whole and an engine; if it is, " + _SAME_BUILD,
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
        "a newer GPU takes a newer TensorRT; an old one was dropped, and takes an older TensorRT",
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
        "name its library with --plugin; the same text stands for an operator that takes a newer TensorRT",
    ),
    _known(
        "no_dla",
        r"Cannot create DLA engine",
        "this device has no such DLA",
        "leave --dla out, or name a core that exists (0 or 1 on Xavier, AGX Orin and Orin NX)",
    ),
    _known(
        "dla_fallback",
        r"Assertion allowGPUFallback failed|not supported on DLA (?:but|and) GPU fallback is not enabled",
        "a layer cannot run on the DLA, and may not run on the GPU either",
        "add --allow-gpu-fallback",
    ),
    _known(
        "unsupported_op",
        r"While parsing node number (?P<number>\d+) \[(?P<op>.+?) ->",
        "the parser does not take node {number} of the model, operator {op}",
        "simplify or constant-fold the model, export it with another opset, or use a newer TensorRT or a plugin",
    ),
    _known(
        "bad_onnx",
        r"Failed to parse onnx file|Failed to parse ONNX model from file|Parsing model failed|Failed to open file",
        "the ONNX file cannot be parsed",
        "check it with onnx.checker; weights in separate files must lie beside it",
    ),
    _known(
        "bad_model",
        r"Model missing or format not recognized",
        "trtexec takes the file for no model",
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
        "shapes are stated, but the model's are fixed",
        "leave --shapes and --min/opt/max-shapes out",
    ),
    _known(
        "shapes_unknown",
        r"Cannot find input tensor with name \"(?P<name>[^\"]*)\"",
        "the network has no input {name}, which the shapes name",
        "use the names of the model's inputs, as its graph shows them",
    ),
    _known(
        "shapes_missing",
        r"Required shape for input (?P<name>\S+) is missing"
        r"|Dynamic dimensions required for input:? (?P<other>[^,\s]+).*but no shapes were provided\.?$"
        r"|network has dynamic or shape inputs, but no optimization profile has been defined",
        "the model has dynamic shapes, and none are stated",
        "state --min-shapes, --opt-shapes and --max-shapes (input:1x3x224x224)",
    ),
    _known(
        "shapes_profile",
        r"(?P<name>[^\s(]+): for dimension number (?P<dimension>\d+) in profile (?P<number>\d+) does not match network"
        r"|does not match network definition \(got min",
        "the stated shapes do not fit the model{where}",
        "--min-shapes, --opt-shapes and --max-shapes must have the fixed dimensions of the model's input",
    ),
    _known(
        "shapes_reshape",
        r"reshape changes volume",
        "a Reshape of the model does not fit the stated shapes",
        "state the shapes that the model was exported for, or export it with dynamic axes",
    ),
    _known(
        "calibration",
        r"Calibration failure occurred with no scaling factors|calibration (?:cache|table) (?:is )?(?:empty|invalid)",
        "INT8 calibration failed: tensors have no scale",
        "give the calibration cache of this model (--calib FILE), or a model with Q/DQ nodes",
    ),
    _known(
        "shapes_range",
        r"(?:Static dimension mismatch|does not satisfy any optimization profiles|dimension[s]? .*out of range"
        r"|Supplied binding dimension .* for bindings).*?(?:input (?P<name>[^.\s]+))?",
        "a stated shape is outside of what the engine was built for",
        "choose --shapes between --min-shapes and --max-shapes of the build",
    ),
    _known(
        "out_of_memory",
        r"OutOfMemory|\(out of memory\)|could not be allocated|cudaErrorMemoryAllocation|std::bad_alloc"
        r"|NvMapMemAllocInternalTagged: .* error 12",
        "memory ran out",
        "see what else runs (nvidia-smi; on a Jetson: stop the desktop), lower --workspace, choose smaller shapes",
    ),
    _known(
        "no_implementation",
        r"Could not find any implementation for node (?P<node>.+?)\.\)?(?: |$)",
        "TensorRT has no kernel for {node}",
        "allow more memory (--workspace), another precision for the layer, or a newer TensorRT",
    ),
    _known(
        "uncaught",
        r"Uncaught exception detected: (?P<what>.+)",
        "trtexec itself failed: {what}",
        "the log shows what it did before",
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
        "the driver was updated under the running kernel module",
        "the driver was updated under the running kernel module: reboot; until then trtexec fails too",
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
        "a container loses its devices when systemd reloads: start it again",
    ),
    _known(
        "no_gpu",
        r"No devices were found",
        "the driver sees no GPU",
        "the driver sees no GPU: look at `lspci | grep -i nvidia`, and at the GPUs given to a container",
    ),
    _known(
        "no_nvmap",
        r"NvRmMemInitNvmap failed with No such file",
        "there is no /dev/nvmap",
        "no /dev/nvmap: in a container use --runtime nvidia",
    ),
    _known("nvmap_permission", r"NvRmMemInitNvmap failed", "this user may not use /dev/nvmap", JOIN_GROUPS),
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
"""Why a trtexec that is there does not start."""

_LOW_MEMORY = re.compile(
    r"Device memory is insufficient to use tactic|insuff?icient memory on requested size", re.I
)
_GRAPH_IGNORED = re.compile(
    r"--useCudaGraph flag has been ignored|CUDA graph capture on the stream has failed"
)
_OTHER_DEVICE = re.compile(r"engine plan file across different models of devices")


def recognise(lines: Iterable[str], failures: Iterable[Failure] = FAILURES) -> Recognised | None:
    """Find the first known failure, by the order of the table, in lines of an output."""
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
    "SIGILL": "the processor lacks an instruction; use the TensorRT of this platform, in a virtual machine pass its CPU on",
    "SIGBUS": "a mapped file was cut off, or shared memory is full: see df, and --shm-size of a container",
    "SIGKILL": "most likely the kernel, out of memory (see dmesg); check what else runs, add swap",
}


def signal_name(number: int) -> str:
    """`SIGSEGV` for 11."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def signal_remedy(number: int) -> str:
    """What to do about a program that a signal ended."""
    return _SIGNAL_REMEDIES.get(signal_name(number), "the log shows after what")


def remarks(warnings: Iterable[str]) -> list[str]:
    """What a person should know of a run that passed."""
    texts = list(warnings)
    sentences = []
    if any(_GRAPH_IGNORED.search(text) for text in texts):
        sentences.append(
            "trtexec could not capture a CUDA graph and measured without: enqueue time is part of the latency"
        )
    if any(_LOW_MEMORY.search(text) for text in texts):
        sentences.append(
            "tactics were skipped for want of memory: the engine may be slower than on an idle device"
        )
    if any(_OTHER_DEVICE.search(text) for text in texts):
        sentences.append("the engine was built on another model of device, or in another power mode")
    return sentences
