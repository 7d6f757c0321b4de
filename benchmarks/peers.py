"""The contender that another loader is: an adapter, in the process and environment of its own."""

from __future__ import annotations

import importlib
import os
import random
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import data
import loaders
import numpy as np
import suite_check
from adapters.base import Adapter, Epoch, Fetch


class Peer:
    """A loader of another project over the set `name` of `count` images. `uri` is a folder or `s3://bucket/prefix`.

    With `crop` it delivers random crops of that side with a flip, else whole images. `fits` is whether the set fits
    into memory: some loaders have other settings for sets that do not.
    """

    def __init__(
        self,
        module: str,
        factory: str,
        options: dict[str, Any],
        name: str,
        count: int,
        uri: str,
        batch_size: int,
        crop: int = 0,
        fits: bool = True,
    ) -> None:
        self._adapter: Adapter = getattr(importlib.import_module(f"adapters.{module}"), factory)(**options)
        self._adapter.side, self._adapter.fits = crop, fits
        self._files = data.JpegSet(name, count)
        self._uri, self._batch_size = uri, batch_size
        self._cache = tempfile.TemporaryDirectory(dir=data.CACHE, prefix="cache-")
        self._epochs: dict[int, Epoch] = {}
        self._fetch: Fetch | None = None
        import torch  # noqa: F401  (in the baseline of memory)

        begin = time.perf_counter()
        self._adapter.load()
        self._imports = time.perf_counter() - begin

    def write(self) -> dict[str, Any]:
        """Writes the set until it is durable, in an order that a class-sorted folder does not dictate."""
        folder = Path(self._uri)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        files = self._files
        # In memory before the clock runs, so that no figure has the time of reading them.
        rows = [(files.paths[row].read_bytes(), files.labels[row], row) for row in self._order()]
        begin, cpu = time.perf_counter(), _cpu()
        self._adapter.write(folder, rows, files.count)
        sync(folder)
        seconds = time.perf_counter() - begin
        return {"seconds": seconds, "cpu": _cpu() - cpu, "bytes": size(folder)}

    def choose(self, most: int, choices: list[int]) -> dict[str, Any]:
        """Returns the fastest number of workers that the adapter names.

        Only the numbers nearest to `choices` are tried, if there are any; the lower one of two.
        `first` is the time from nothing to the first batch.
        """
        wanted = nearest(self._adapter.workers, choices) if choices else list(self._adapter.workers)
        times, firsts = {}, {}
        for workers in wanted:
            firsts[workers] = self.run(workers, most=self._batch_size)["first"]
            times[workers] = self.run(workers, most=most)["seconds"] if len(wanted) > 1 else 0.0
        best = min(times, key=lambda workers: times[workers])
        self._epochs = {best: self._epochs[best]}
        return {"workers": best, "first": firsts[best]}

    def run(self, workers: int, most: int = 0, least: float = 0.0) -> dict[str, Any]:
        """Times epochs of a loader that is kept; where it is made, that counts.

        Args:
            workers: of the loader.
            most: times only so many images. The rest of the epoch is drained untimed: workers that stay
                would carry their queue into the next run.
            least: repeats whole epochs until so many seconds have gone. A loader that needs seconds to
                find its pace is measured at it.
        """
        begin, count, epochs, first = time.perf_counter(), 0, 0, 0.0
        gaps: list[float] = []
        seconds = 0.0
        while not epochs or (not most and time.perf_counter() - begin < least):
            last = 0.0
            for images, _, _ in self._epoch(workers)():
                if seconds:
                    continue
                now = time.perf_counter()
                if last:
                    gaps.append(now - last)
                first, last = first or now - begin, now
                count += len(images)
                if most and count >= most:
                    seconds = now - begin
            epochs += 1
        seconds = seconds or time.perf_counter() - begin
        return {"count": count, "epochs": epochs, "first": first, "gaps": gaps, "seconds": seconds}

    def anew(self, workers: int) -> dict[str, Any]:
        """One epoch by a loader made for it, caches empty: making it counts. Once in the life of a process."""
        assert not self._epochs, "the loader is there already"
        chosen = nearest(self._adapter.workers, [workers])[0]
        return self.run(chosen) | {"workers": chosen}

    def first(self, workers: int) -> dict[str, Any]:
        """The first batch of a loader made for it. Once in the life of a process.

        Returns the seconds, and those of the loader's own imports.
        """
        assert not self._epochs, "the loader is there already"
        begin = time.perf_counter()
        images, _, _ = next(iter(self._epoch(nearest(self._adapter.workers, [workers])[0])()))
        return {"seconds": time.perf_counter() - begin, "imports": self._imports, "count": len(images)}

    def check(self, workers: int) -> dict[str, Any]:
        """One epoch with every pixel and label compared."""

        def batches() -> Iterator[Any]:
            for images, labels, rows in self._epoch(workers)():
                yield np.asarray(rows), images, np.asarray(labels)

        def flat(image: Any) -> Any:
            import torch

            image = image if torch.is_tensor(image) else torch.from_numpy(np.asarray(image))
            return image if self._adapter.height_first else image.permute(1, 2, 0).contiguous()

        if self._adapter.side:
            return suite_check.crops(self._files, batches(), flat, self._adapter.side)
        return loaders.check(self._files, batches(), flat)

    def fetch(self, reads: int, size: int, seed: int) -> dict[str, Any]:
        """Reads random samples as stored, `size` at once. Returns how many, and their bytes."""
        calls = np.array_split(np.random.default_rng(seed).integers(0, self._files.count, reads), reads // size)
        batches = [rows.tolist() for rows in calls]
        get = self._fetcher()
        begin, total = time.perf_counter(), 0
        for rows in batches:
            total += sum(map(len, get(rows)))
        return {"bytes": total, "reads": reads, "seconds": time.perf_counter() - begin}

    def verify(self) -> dict[str, Any]:
        """Compares every sample with its file, in batches and some of them one by one. Warms all caches."""
        get, wanted = self._fetcher(), self._stored()
        wrong = 0
        for rows in np.array_split(np.random.default_rng(9).permutation(self._files.count), self._files.count // 256):
            together, alone = get(rows.tolist()), int(rows[0])
            wrong += sum(bytes(got) != wanted[row] for row, got in zip(rows.tolist(), together, strict=True))
            wrong += bytes(get([alone])[0]) != wanted[alone]
        return {"wrong": wrong}

    def fetch_anew(self, calls: int, size: int, seed: int) -> dict[str, Any]:
        """Opens and reads samples, size at once and none twice; once in the life of a process.

        Returns seconds: `first` until the first call is done, opening included, `seconds` until all are.
        """
        assert self._fetch is None, "it is open already"
        order = np.random.default_rng(seed).permutation(self._files.count)[: calls * size]
        got, times, begin = [], [], time.perf_counter()
        get = self._fetcher()
        for rows in np.split(order, calls):
            got.append(get(rows.tolist()))
            times.append(time.perf_counter() - begin)
        wanted = self._stored()
        pairs = zip(order.tolist(), [one for found in got for one in found], strict=True)
        wrong = sum(bytes(one) != wanted[row] for row, one in pairs)
        useful = sum(len(wanted[row]) for row in order.tolist())
        return {"wrong": wrong, "useful": useful, "first": times[0], "seconds": times[-1]}

    def _order(self) -> list[int]:
        """Returns the rows in the order in which they are written."""
        order = list(range(self._files.count))
        random.Random(0).shuffle(order)
        return order

    def _stored(self) -> list[bytes]:
        """Returns the files in the order in which they are written."""
        return [self._files.paths[row].read_bytes() for row in self._order()]

    def _fetcher(self) -> Fetch:
        if self._fetch is None:
            self._fetch = self._adapter.fetch(self._uri, Path(self._cache.name))
        return self._fetch

    def _epoch(self, workers: int) -> Epoch:
        if workers not in self._epochs:
            self._epochs[workers] = self._adapter.open(
                self._uri, self._batch_size, workers, Path(self._cache.name) / str(workers)
            )
        return self._epochs[workers]


class ArrayWriter:
    """Writes arrays of 1024x1024x3, one after the other, until they are durable."""

    def __init__(self, module: str, factory: str, options: dict[str, Any], folder: str) -> None:
        self._adapter: Adapter = getattr(importlib.import_module(f"adapters.{module}"), factory)(**options)
        self._folder, self._arrays = Path(folder), data.arrays(32)
        self._adapter.load()

    def run(self, count: int) -> dict[str, Any]:
        self._folder.mkdir(parents=True)
        begin = time.perf_counter()
        self._adapter.write_arrays(self._folder, (self._arrays[row % 32] for row in range(count)), count)
        sync(self._folder)
        return {"seconds": time.perf_counter() - begin, "bytes": size(self._folder)}

    def remove(self) -> dict[str, Any]:
        """Removes the files of the last round, and waits until the disk has nothing left to write."""
        shutil.rmtree(self._folder, ignore_errors=True)
        os.sync()
        return {}


def nearest(offered: Iterable[int], choices: Iterable[int]) -> list[int]:
    """Returns the offered numbers that are nearest to the choices, each once, in order."""
    offered = sorted(offered)
    return sorted({min(offered, key=lambda one: abs(one - choice)) for choice in choices})


def sync(folder: Path) -> None:
    """Makes all files and folders below a folder durable."""
    for path in [folder, *folder.rglob("*")]:
        opened = os.open(path, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def size(folder: Path) -> int:
    """Returns the bytes that the files below a folder take."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def _cpu() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
