"""The few calls of CUDA's driver that a measurement needs, through ctypes: the driver is there wherever an engine can run."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

_NAME_BYTES = 256
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


class DeviceFacts(NamedTuple):
    """Properties of a GPU, by the names of `_ATTRIBUTES`."""

    name: str
    memory_bytes: int
    attributes: dict[str, int]


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

    def describe(self) -> DeviceFacts:
        """Return properties of the GPU."""
        name, size = ctypes.create_string_buffer(_NAME_BYTES), ctypes.c_size_t()
        self._call("cuDeviceGetName", name, _NAME_BYTES, self._device)
        self._call("cuDeviceTotalMem_v2", ctypes.byref(size), self._device)
        attributes = {}
        for key, number in _ATTRIBUTES.items():
            value = ctypes.c_int()
            self._call("cuDeviceGetAttribute", ctypes.byref(value), number, self._device)
            attributes[key] = value.value
        return DeviceFacts(name.value.decode(errors="replace"), size.value, attributes)

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
