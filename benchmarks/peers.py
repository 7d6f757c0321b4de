"""The contender that another loader is: an adapter, in the process and environment of its own."""

from __future__ import annotations

import importlib
import os
import random
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import data
import loaders
import numpy as np
from adapters.base import Adapter, Epoch


class Peer:
    """A loader of another project over the set `name` of `count` images. `place` is a folder or `s3://bucket/prefix`."""

    def __init__(
        self, module: str, factory: str, options: dict[str, Any], name: str, count: int, place: str, batch_size: int
    ) -> None:
        self._adapter: Adapter = getattr(importlib.import_module(f"adapters.{module}"), factory)(**options)
        self._files = data.JpegSet(name, count)
        self._place, self._batch_size = place, batch_size
        self._cache = tempfile.TemporaryDirectory(dir=data.CACHE, prefix="cache-")
        self._epochs: dict[int, Epoch] = {}
        import torch  # noqa: F401  (in the baseline of memory)

        self._adapter.load()

    def write(self) -> dict[str, Any]:
        """Writes the set until it is durable, in an order that a class-sorted folder does not dictate."""
        place = Path(self._place)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        files = self._files
        order = list(range(files.count))
        random.Random(0).shuffle(order)
        # In memory before, so that reading them is nobody's time.
        rows = [(files.paths[row].read_bytes(), files.labels[row], row) for row in order]
        begin, cpu = time.perf_counter(), _cpu()
        self._adapter.write(place, rows, files.count)
        sync(place)
        seconds = time.perf_counter() - begin
        return {"seconds": seconds, "cpu": _cpu() - cpu, "bytes": size(place)}

    def choose(self, most: int, choices: list[int]) -> dict[str, Any]:
        """Returns the number of workers, of those that the adapter and the caller name, that is fastest.

        `first` is how long it then took from nothing to the first batch.
        """
        wanted = [workers for workers in self._adapter.workers if not choices or workers in choices]
        wanted = wanted or list(self._adapter.workers[:1])
        times, firsts = {}, {}
        for workers in wanted:
            firsts[workers] = self.run(workers, most=self._batch_size)["first"]
            times[workers] = self.run(workers, most=most)["seconds"] if len(wanted) > 1 else 0.0
        best = min(times, key=lambda workers: times[workers])
        self._epochs = {best: self._epochs[best]}
        return {"workers": best, "first": firsts[best]}

    def run(self, workers: int, most: int = 0) -> dict[str, Any]:
        """One epoch, or its first `most` images, by a loader that is kept; where it is made, that counts."""
        begin, count, first = time.perf_counter(), 0, 0.0
        gaps: list[float] = []
        last = begin
        for images, _, _ in self._epoch(workers)():
            now = time.perf_counter()
            if first:
                gaps.append(now - last)
            first, last = first or now - begin, now
            count += len(images)
            if most and count >= most:
                break
        return {"count": count, "first": first, "gaps": gaps, "seconds": time.perf_counter() - begin}

    def anew(self, workers: int) -> dict[str, Any]:
        """One epoch by a loader made for it, caches empty: making it counts. Once in the life of a process."""
        assert not self._epochs, "the loader is there already"
        return self.run(workers)

    def check(self, workers: int) -> dict[str, Any]:
        """One epoch with every pixel and label compared."""

        def batches() -> Iterator[Any]:
            for images, labels, rows in self._epoch(workers)():
                yield np.asarray(rows), images, np.asarray(labels)

        def flat(image: Any) -> Any:
            import torch

            image = image if torch.is_tensor(image) else torch.from_numpy(np.asarray(image))
            return image if self._adapter.height_first else image.permute(1, 2, 0).contiguous()

        return loaders.check(self._files, batches(), flat)

    def _epoch(self, workers: int) -> Epoch:
        if workers not in self._epochs:
            self._epochs[workers] = self._adapter.open(
                self._place, self._batch_size, workers, Path(self._cache.name) / str(workers)
            )
        return self._epochs[workers]


class ArrayWriter:
    """Writes arrays of 1024x1024x3, one after the other, until they are durable."""

    def __init__(self, module: str, factory: str, options: dict[str, Any], place: str) -> None:
        self._adapter: Adapter = getattr(importlib.import_module(f"adapters.{module}"), factory)(**options)
        self._place, self._arrays = Path(place), data.arrays(32)
        self._adapter.load()

    def run(self, count: int) -> dict[str, Any]:
        self._place.mkdir(parents=True)
        begin = time.perf_counter()
        self._adapter.write_arrays(self._place, (self._arrays[row % 32] for row in range(count)), count)
        sync(self._place)
        return {"seconds": time.perf_counter() - begin, "bytes": size(self._place)}

    def remove(self) -> dict[str, Any]:
        """Removes what the last round wrote, and waits until the disk has nothing left to write."""
        shutil.rmtree(self._place, ignore_errors=True)
        os.sync()
        return {}


def sync(place: Path) -> None:
    """Makes all files and folders below a place durable."""
    for path in [place, *place.rglob("*")]:
        opened = os.open(path, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def size(place: Path) -> int:
    """Returns the bytes that the files below a place take."""
    return sum(path.stat().st_blocks * 512 for path in place.rglob("*") if path.is_file())


def _cpu() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
