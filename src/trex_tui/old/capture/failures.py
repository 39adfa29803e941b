"""Failures that only captures meet: nvidia-smi, programs that do not start, signals; and remarks about runs that passed."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable

from trex_tui.old.buildlog.failures import known_failure

JOIN_GROUPS = (
    'sudo usermod -aG video,render "$USER", then log in again; in a container: --runtime nvidia, or '
    "--group-add video"
)
NVIDIA_SMI_FAILURES = (
    known_failure(
        "driver_mismatch",
        r"Driver/library version mismatch",
        "the driver was updated, but the old kernel module is loaded",
        "the driver was updated, but the old kernel module is loaded: reboot (trtexec fails until then)",
    ),
    known_failure(
        "driver_not_loaded",
        r"couldn't communicate with the NVIDIA driver",
        "the kernel module is not loaded",
        "the kernel module is not loaded: after a kernel update rebuild it (dkms autoinstall), with secure boot sign "
        "it, then sudo modprobe nvidia",
    ),
    known_failure(
        "devices_lost",
        r"Failed to initialize NVML: Unknown Error",
        "the container lost its devices",
        "a container loses its devices when systemd reloads: restart it",
    ),
    known_failure(
        "no_gpu",
        r"No devices were found",
        "the driver sees no GPU",
        "the driver sees no GPU: check `lspci | grep -i nvidia`, and the GPUs given to the container",
    ),
    known_failure(
        "no_nvmap",
        r"NvRmMemInitNvmap failed with No such file",
        "no /dev/nvmap",
        "no /dev/nvmap: in a container use --runtime nvidia",
    ),
    known_failure(
        "nvmap_permission", r"NvRmMemInitNvmap failed", "no permission for /dev/nvmap", JOIN_GROUPS
    ),
)
START_FAILURES = (
    known_failure(
        "dla_compiler",
        r"libnvdla_compiler",
        "trtexec does not start without the DLA compiler",
        "install the package nvidia-l4t-dla-compiler of this L4T and run sudo ldconfig; in a container use "
        "--runtime nvidia",
    ),
    known_failure(
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
