"""Contenders that write arrays of 1024x1024x3, one call for each, until they are durable."""

from __future__ import annotations

import os
import shutil
from collections import deque
from pathlib import Path
from typing import Any

import data
import numpy as np

DISTINCT = 64  # arrays in memory, written again and again, so that the source costs nothing


class Writer:
    """Writes to a folder of its own, which `remove` removes."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._arrays: Any = None

    def prepare(self) -> dict[str, Any]:
        """Makes the arrays, outside any measurement."""
        self._arrays = data.arrays(DISTINCT)
        return {}

    def remove(self) -> dict[str, Any]:
        """Removes the files of the last round, and waits until the disk has nothing left to write."""
        if self._folder.is_dir():
            shutil.rmtree(self._folder)
        else:
            self._folder.unlink(missing_ok=True)
        os.sync()
        return {}

    def run(self, count: int) -> dict[str, Any]:
        raise NotImplementedError

    def verify(self, count: int) -> dict[str, Any]:
        """Reads 100 random samples back."""
        rows = np.random.default_rng(3).permutation(count)[:100]
        return {"wrong": sum(not np.array_equal(self.read(int(row)), self._arrays[row % DISTINCT]) for row in rows)}

    def read(self, row: int) -> Any:
        raise NotImplementedError


class Ours(Writer):
    """`ds.append` for each array, then `ds.commit`."""

    def __init__(self, folder: str) -> None:
        import deeplake

        super().__init__(folder)
        self._deeplake, self._opened = deeplake, None
        deeplake.create("mem://loaded").close()  # the core belongs to the process, not to the round

    def run(self, count: int) -> dict[str, Any]:
        self._opened = None
        with self._deeplake.create(self._folder) as ds:
            ds.create_tensor("arrays", dtype="uint8", shape=(1024, 1024, 3))
            for row in range(count):
                ds.append({"arrays": self._arrays[row % DISTINCT]})
            ds.commit("arrays")
        return {}

    def read(self, row: int) -> Any:
        self._opened = self._opened or self._deeplake.open(self._folder)
        return self._opened["arrays"][row]


class TensorStore(Writer):
    """Uncompressed Zarr, a chunk for each array, 16 writes in flight; its file driver syncs each file."""

    def __init__(self, folder: str) -> None:
        import tensorstore

        super().__init__(folder)
        self._tensorstore = tensorstore
        self._store: Any = None

    def run(self, count: int) -> dict[str, Any]:
        self._store = self._tensorstore.open(
            {
                "driver": "zarr",
                "kvstore": {"driver": "file", "path": str(self._folder)},
                "metadata": {
                    "shape": [count, 1024, 1024, 3],
                    "chunks": [1, 1024, 1024, 3],
                    "dtype": "|u1",
                    "compressor": None,
                },
                "create": True,
                "delete_existing": True,
            }
        ).result()
        waiting: deque[Any] = deque()
        for row in range(count):
            waiting.append(self._store[row].write(self._arrays[row % DISTINCT]))
            if len(waiting) == 16:
                waiting.popleft().result()
        for write in waiting:
            write.result()
        _sync(self._folder)
        return {}

    def read(self, row: int) -> Any:
        return self._store[row].read().result()


class Plain(Writer):
    """One file: write for each array, then one fsync."""

    def run(self, count: int) -> dict[str, Any]:
        with self._folder.open("wb", buffering=0) as file:
            for row in range(count):
                _write(file.fileno(), memoryview(self._arrays[row % DISTINCT]).cast("B"))
            os.fsync(file.fileno())
        _sync(self._folder.parent)
        return {}

    def read(self, row: int) -> Any:
        size = 1024 * 1024 * 3
        with self._folder.open("rb") as file:
            return np.frombuffer(os.pread(file.fileno(), size, row * size), np.uint8).reshape(1024, 1024, 3)


def _write(file: int, rest: memoryview) -> None:
    while rest:
        rest = rest[os.write(file, rest) :]


def _sync(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
