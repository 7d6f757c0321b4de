"""Contenders that read the stored bytes of samples at random, one by one and 256 at once."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import data
import numpy as np

MANY = 256


class Ours:
    """`ds["images"].bytes(...)`."""

    def __init__(self, name: str, count: int) -> None:
        import deeplake

        self._files = data.jpegs(name, count)
        self._ds = deeplake.open(self._files.lake)

    def one_by_one(self, reads: int, seed: int) -> dict[str, Any]:
        total, ds = 0, self._ds
        for row in _rows(self._files.count, reads, seed).tolist():
            total += len(ds["images"].bytes(row))
        return {"bytes": total}

    def many(self, reads: int, seed: int) -> dict[str, Any]:
        total, ds = 0, self._ds
        for rows in np.split(_rows(self._files.count, reads, seed), reads // MANY):
            total += sum(map(len, ds["images"].bytes(rows)))
        return {"bytes": total}

    def verify(self) -> dict[str, Any]:
        """Compares each sample with its file, once by itself and once among others."""
        images = self._ds["images"]
        order = _rows(self._files.count, self._files.count, 0)
        wrong = 0
        for rows in np.array_split(order, max(1, len(order) // MANY)):
            for row, stored in zip(rows.tolist(), images.bytes(rows), strict=True):
                wrong += stored != self._files.paths[row].read_bytes() or images.bytes(row) != stored
        return {"wrong": wrong}


class Packed:
    """`os.pread` from one open file that has all samples in a row: the limit."""

    def __init__(self, name: str, count: int, threads: int = 1) -> None:
        self._files = data.jpegs(name, count)
        self._file = os.open(self._files.packed, os.O_RDONLY)
        self._extents = [tuple(pair) for pair in self._files.extents.tolist()]
        self._threads, self._pool = threads, ThreadPoolExecutor(threads)

    def one_by_one(self, reads: int, seed: int) -> dict[str, Any]:
        total, file, extents = 0, self._file, self._extents
        for row in _rows(self._files.count, reads, seed).tolist():
            start, size = extents[row]
            total += len(os.pread(file, size, start))
        return {"bytes": total}

    def many(self, reads: int, seed: int) -> dict[str, Any]:
        total = 0
        for rows in np.split(_rows(self._files.count, reads, seed), reads // MANY):
            batch = self._batch(rows.tolist())
            total += sum(map(len, batch))
        return {"bytes": total}

    def _batch(self, rows: list[int]) -> list[bytes]:
        if self._threads == 1:
            return self._part(rows)
        each = -(-len(rows) // self._threads)
        parts = self._pool.map(self._part, [rows[at : at + each] for at in range(0, len(rows), each)])
        return [one for part in parts for one in part]

    def _part(self, rows: list[int]) -> list[bytes]:
        file, batch = self._file, []
        for start, size in map(self._extents.__getitem__, rows):
            batch.append(os.pread(file, size, start))
        return batch


class Files:
    """`open` and `read` of the files themselves."""

    def __init__(self, name: str, count: int) -> None:
        self._files = data.jpegs(name, count)
        self._paths = [str(path) for path in self._files.paths]

    def one_by_one(self, reads: int, seed: int) -> dict[str, Any]:
        total, paths = 0, self._paths
        for row in _rows(self._files.count, reads, seed).tolist():
            total += len(_whole(paths[row]))
        return {"bytes": total}

    def many(self, reads: int, seed: int) -> dict[str, Any]:
        total, paths = 0, self._paths
        for rows in np.split(_rows(self._files.count, reads, seed), reads // MANY):
            total += sum(map(len, [_whole(paths[row]) for row in rows.tolist()]))
        return {"bytes": total}


def _whole(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123  (the fastest way that Python has)
        return file.read()


def _rows(count: int, reads: int, seed: int) -> Any:
    return np.random.default_rng(seed).integers(0, count, reads)
