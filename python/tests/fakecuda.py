"""The fake CUDA driver of go/tests/fakecuda in Python: its controls, and a consumer that reads device memory on a
stream of its own."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from deeplake import _native

SOURCES = Path(__file__).resolve().parents[2] / "go/tests/fakecuda"
CUDA = 2  # the device type of DLPack


def build(folder: str | Path) -> str:
    """Builds the driver, and returns its path."""
    path = str(Path(folder) / "libfakecuda.so")
    subprocess.run([str(SOURCES / "build.sh"), path], check=True)
    return path


class Fake:
    """The driver as the core of this process finds it, from now on."""

    def __init__(self, path: str) -> None:
        _native.configure({"env": {"DEEPLAKE_CUDA_DRIVER": path}})
        self.path = path
        self.lib = ctypes.CDLL(path)
        self.reset = self.lib.fake_cuda_reset
        self.deinitialize = self.lib.fake_cuda_deinitialize

    def fail(self, call: str, nth: int, code: int) -> None:
        self.lib.fake_cuda_fail(call.encode(), nth, code)

    def delay(self, microseconds: int) -> None:
        self.lib.fake_cuda_delay(microseconds)

    def memory(self, size: int) -> None:
        self.lib.fake_cuda_memory(ctypes.c_uint64(size))

    def with_nvjpeg(self) -> None:
        """Lets the core find nvJPEG too."""
        _native.configure({"env": {"DEEPLAKE_NVJPEG": self.path}})

    def pixels(self, file: bytes, height: int, row: int) -> Any:
        """Returns what nvJPEG makes of a file: rows of bytes."""
        first = self.lib.fake_cuda_pixel(file, ctypes.c_size_t(len(file)), 0, 0) & 255
        grid = first + 31 * np.arange(height)[:, None] + 7 * np.arange(row)
        return grid.astype(np.uint8)

    def calls(self, call: str) -> int:
        return int(self.lib.fake_cuda_calls(call.encode()))

    def wrong_uses(self) -> str:
        return self._told(self.lib.fake_cuda_violations)

    def left(self) -> str:
        return self._told(self.lib.fake_cuda_left)

    def consumer(self, device: int = 0) -> Consumer:
        return Consumer(self.lib, device)

    def _told(self, function: Any) -> str:
        room = ctypes.create_string_buffer(8 << 10)
        n = function(room, ctypes.c_size_t(len(room)))
        return f"{n}: {room.value.decode()}" if n else ""


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    pass


_Managed._fields_ = (
    ("tensor", _Tensor),
    ("owner", ctypes.c_void_p),
    ("deleter", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))),
)

_api = ctypes.pythonapi
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
_api.PyCapsule_SetName.argtypes = (ctypes.py_object, ctypes.c_char_p)


class Consumer:
    """A library of the device, with a stream."""

    def __init__(self, lib: Any, device: int) -> None:
        handle = ctypes.c_void_p()
        assert lib.fake_cuda_consumer(device, ctypes.byref(handle)) == 0
        self.lib, self.device, self.stream = lib, device, int(handle.value or 0)

    def take(self, capsule: Any) -> Taken:
        """Takes the tensor of a capsule, as from_dlpack does."""
        return Taken(self, capsule)

    def read(self, array: Any) -> np.ndarray[Any, Any]:
        """Returns an exported array, copied on the stream. The array is dropped before the copy has run."""
        taken = self.take(array.__dlpack__(stream=self.stream))
        copy = taken.copy()
        del taken, array
        return self.wait(copy)

    def wait(self, copy: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        assert self.lib.fake_cuda_consumed(ctypes.c_void_p(self.stream)) == 0
        return copy


class Taken:
    """A tensor on the device. It drops its memory when it is collected."""

    def __init__(self, consumer: Consumer, capsule: Any) -> None:
        address = _api.PyCapsule_GetPointer(capsule, b"dltensor")
        _api.PyCapsule_SetName(capsule, b"used_dltensor")
        self.consumer = consumer
        self.managed = ctypes.cast(address, ctypes.POINTER(_Managed))
        tensor = self.managed.contents.tensor
        assert (tensor.device_type, tensor.device_id) == (CUDA, consumer.device)
        kind = {0: "i", 1: "u", 2: "f", 6: "b"}[tensor.code]
        self.dtype = np.dtype("bool") if kind == "b" else np.dtype(f"{kind}{tensor.bits // 8}")
        self.shape = tuple(tensor.shape[i] for i in range(tensor.ndim))

    def copy(self) -> np.ndarray[Any, Any]:
        """Queues a copy to the host, and returns where it goes."""
        out = np.full(self.shape, 99).astype(self.dtype)
        tensor = self.managed.contents.tensor
        address = tensor.data + tensor.byte_offset
        stream = ctypes.c_void_p(self.consumer.stream)
        self.consumer.lib.fake_cuda_consume(
            stream, ctypes.c_uint64(address), ctypes.c_void_p(out.ctypes.data), ctypes.c_size_t(out.nbytes)
        )
        return out

    def __del__(self) -> None:
        self.managed.contents.deleter(self.managed)


def in_this_process() -> Fake:
    """Builds the driver and lets this process use it, for programs of tests."""
    return Fake(build(tempfile.mkdtemp()))
