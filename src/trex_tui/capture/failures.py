"""Failures that only captures meet: nvidia-smi, programs that do not start, signals; and remarks about runs that passed."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable

JOIN_GROUPS = (
    'sudo usermod -aG video,render "$USER", then log in again; in a container: --runtime nvidia, or '
    "--group-add video"
)
_NVIDIA_SMI = (
    (
        "Driver/library version mismatch",
        "the driver was updated, but the old kernel module is loaded: reboot (trtexec fails until then)",
    ),
    (
        "couldn't communicate with the NVIDIA driver",
        "the kernel module is not loaded: after a kernel update rebuild it (dkms autoinstall), with secure boot sign "
        "it, then sudo modprobe nvidia",
    ),
    (
        "Failed to initialize NVML: Unknown Error",
        "a container loses its devices when systemd reloads: restart it",
    ),
    (
        "No devices were found",
        "the driver sees no GPU: check `lspci | grep -i nvidia`, and the GPUs given to the container",
    ),
    ("NvRmMemInitNvmap failed with No such file", "no /dev/nvmap: in a container use --runtime nvidia"),
    ("NvRmMemInitNvmap failed", JOIN_GROUPS),
)
"""What nvidia-smi prints -> what to do."""
_START = (
    (
        "libnvdla_compiler",
        "install the package nvidia-l4t-dla-compiler of this L4T and run sudo ldconfig; in a container use "
        "--runtime nvidia",
    ),
    ("LD_LIBRARY_PATH", "set LD_LIBRARY_PATH; a .bashrc that sets it is not read by `ssh host command`"),
)
"""Why a trtexec does not start -> what to do."""
_LOW_MEMORY = re.compile(
    r"Device memory is insufficient to use tactic|insuff?icient memory on requested size", re.I
)
_GRAPH_IGNORED = re.compile(
    r"--useCudaGraph flag has been ignored|CUDA graph capture on the stream has failed"
)
_OTHER_DEVICE = re.compile(r"engine plan file across different models of devices")
_REMARKS = (
    (
        _GRAPH_IGNORED,
        "trtexec could not capture a CUDA graph and measured without: the latency includes enqueue time",
    ),
    (
        _LOW_MEMORY,
        "tactics were skipped, not enough memory: the engine may be slower than one built on an idle device",
    ),
    (_OTHER_DEVICE, "the engine was built on another device model, or in another power mode"),
)
_SIGNAL_REMEDIES = {
    "SIGILL": "the CPU lacks an instruction; use the TensorRT for this platform, in a virtual machine pass its CPU through",
    "SIGBUS": "a mapped file was truncated, or shared memory is full: check df, and --shm-size of the container",
    "SIGKILL": "probably by the kernel, out of memory (see dmesg); check what else runs, add swap, lower --workspace",
}


def smi_remedy(text: str) -> str:
    """Return what to do about an error of nvidia-smi; empty if it is unknown."""
    return _find_remedy(_NVIDIA_SMI, text)


def start_remedy(text: str) -> str:
    """Return what to do about a trtexec that does not start; empty if that is unknown."""
    return _find_remedy(_START, text)


def _find_remedy(table: Iterable[tuple[str, str]], text: str) -> str:
    return next((remedy for part, remedy in table if part in text), "")


def name_signal(number: int) -> str:
    """Return `SIGSEGV` for 11."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def signal_remedy(number: int) -> str:
    """Return what to do about a program that a signal ended."""
    return _SIGNAL_REMEDIES.get(name_signal(number), "see the end of the log")


def find_remarks(warnings: Iterable[str]) -> list[str]:
    """Return remarks for the user about a run that passed."""
    texts = list(warnings)
    return [remark for pattern, remark in _REMARKS if any(pattern.search(text) for text in texts)]
