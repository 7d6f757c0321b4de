"""Deep Lake 4: files of random rows from its columns, decoded by OpenCV, or its adapter for torch's DataLoader.

Its columns decode, too, and take three times the CPU time of OpenCV for it.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adapters.base import CORES, Adapter, Batch, Epoch, Fetch, Row, endpoint, remote, thousands


class DeepLake4(Adapter):
    packages = ("deeplake",)

    def __init__(self, way: str) -> None:
        self._way = way
        # Threads of ours decode what columns give; the DataLoader has processes.
        self.workers = (CORES, 2 * CORES) if way == "columns" else tuple(sorted({0, 2, CORES}))  # type: ignore[misc]

    def write(self, folder: Path, rows: Iterable[Row], count: int) -> None:
        import deeplake

        ds = deeplake.create(str(folder))
        ds.add_column("image", deeplake.types.Image(sample_compression="jpeg"))
        ds.add_column("label", deeplake.types.Int64())
        ds.add_column("number", deeplake.types.Int64())
        for some in thousands(rows):
            _append(ds, some)
        ds.commit()

    def write_arrays(self, folder: Path, arrays: Iterator[npt.NDArray[np.uint8]], count: int) -> None:
        import deeplake

        ds = deeplake.create(str(folder))
        ds.add_column("array", deeplake.types.Array(deeplake.types.UInt8(), shape=[1024, 1024, 3]))
        for array in arrays:
            ds.append({"array": array[None]})
        ds.commit()

    def open(self, uri: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        ds = _open(uri)
        if self._way == "columns":
            return lambda: _columns(ds, batch_size, workers, self.pixels)
        from torch.utils.data import DataLoader

        loader = DataLoader(ds.pytorch(), batch_size=batch_size, shuffle=True, num_workers=workers)
        return lambda: ((batch["image"], batch["label"], batch["number"]) for batch in loader)

    def fetch(self, uri: str, cache: Path) -> Fetch:
        # The column is looked up once: each look-up takes longer than reading a sample.
        ds = _open(uri)
        column = ds["image"]

        def fetch(rows: list[int]) -> list[bytes]:
            assert ds is not None  # columns do not keep their dataset
            return [column.get_bytes(rows[0])] if len(rows) == 1 else column.get_bytes(rows)

        return fetch


def _open(uri: str) -> Any:
    import deeplake

    creds = {}
    if remote(uri):
        creds = {
            "aws_access_key_id": os.environ["AWS_ACCESS_KEY_ID"],
            "aws_secret_access_key": os.environ["AWS_SECRET_ACCESS_KEY"],
            "aws_region": os.environ["AWS_REGION"],
            "endpoint_url": endpoint(),
        }
    return deeplake.open_read_only(uri, creds=creds)


def _columns(ds: Any, batch_size: int, workers: int, pixels: Callable[[Any], Any]) -> Iterator[Batch]:
    import torch

    images, labels, numbers = ds["image"], ds["label"], ds["number"]

    def batch(rows: list[int]) -> Batch:
        decoded = torch.stack([pixels(file) for file in images.get_bytes(rows)])
        return decoded, torch.tensor(np.array(labels[rows])), torch.tensor(np.array(numbers[rows]))

    torch.set_num_threads(1)  # no pool of torch's threads in each of these
    order = np.random.default_rng().permutation(len(ds)).tolist()
    starts = iter(range(0, len(ds), batch_size))
    with ThreadPoolExecutor(workers) as pool:

        def submit(count: int) -> list[Future[Batch]]:
            return [pool.submit(batch, order[start : start + batch_size]) for start in islice(starts, count)]

        waiting = deque(submit(workers + 2))
        while waiting:
            done = waiting.popleft().result()
            waiting.extend(submit(1))
            yield done


def _append(ds: Any, rows: list[Row]) -> None:
    images, labels, numbers = zip(*rows, strict=True)
    ds.append({"image": list(images), "label": list(labels), "number": list(numbers)})
