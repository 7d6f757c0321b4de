"""Zarr (2 and 3) and N5 by TensorStore: a chunk for each array, uncompressed, 16 writes in flight."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adapters.base import Adapter

SHAPE = (1024, 1024, 3)


class TensorStore(Adapter):
    packages = ("tensorstore",)

    def __init__(self, driver: str) -> None:
        self._driver = driver

    def write_arrays(self, folder: Path, arrays: Iterator[npt.NDArray[np.uint8]], count: int) -> None:
        import tensorstore

        store = tensorstore.open(
            {
                "driver": self._driver,
                "kvstore": {"driver": "file", "path": str(folder)},
                "metadata": _metadata(self._driver, count),
                "create": True,
                "delete_existing": True,
            }
        ).result()
        waiting: deque[Any] = deque()
        for row, array in enumerate(arrays):
            waiting.append(store[row].write(array))
            if len(waiting) == 16:
                waiting.popleft().result()
        for write in waiting:
            write.result()


def _metadata(driver: str, count: int) -> dict[str, Any]:
    shape, chunk = [count, *SHAPE], [1, *SHAPE]
    if driver == "zarr":
        return {"shape": shape, "chunks": chunk, "dtype": "|u1", "compressor": None}
    if driver == "zarr3":
        grid = {"name": "regular", "configuration": {"chunk_shape": chunk}}
        return {"shape": shape, "chunk_grid": grid, "data_type": "uint8", "codecs": [{"name": "bytes"}]}
    return {"dimensions": shape, "blockSize": chunk, "dataType": "uint8", "compression": {"type": "raw"}}
