"""Without a format: a file for each sample, or all in one file with an index; boto3 where they are far away."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from adapters.base import CORES, Adapter, Fetch, Row, remote

REQUESTS = 32  # at once


class PlainFiles(Adapter):
    """`open` and `read`, or a request for each."""

    def write(self, folder: Path, rows: Iterable[Row], count: int) -> None:
        for at, (image, _, _) in enumerate(rows):
            (folder / f"{at:06d}.jpg").write_bytes(image)

    def fetch(self, uri: str, cache: Path) -> Fetch:
        if not remote(uri):
            paths = [f"{uri}/{at:06d}.jpg" for at in range(len(list(Path(uri).glob("*.jpg"))))]
            return lambda rows: [_whole(paths[row]) for row in rows]
        get, bucket, prefix = _store(uri)
        return _pooled(lambda row: get(Bucket=bucket, Key=f"{prefix}/{row:06d}.jpg")["Body"].read())


class Packed(Adapter):
    """`os.pread` from one open file, or a range of one object: the limit of the hardware and the store in Python."""

    def __init__(self, threads: bool = False) -> None:
        """Reads batches of a local file on all cores if `threads` is set, as ours are."""
        self._threads = threads

    def write(self, folder: Path, rows: Iterable[Row], count: int) -> None:
        extents = np.zeros((count, 2), np.int64)
        with (folder / "packed").open("wb") as out:
            for at, (image, _, _) in enumerate(rows):
                extents[at] = out.tell(), len(image)
                out.write(image)
        np.save(folder / "extents.npy", extents)

    def fetch(self, uri: str, cache: Path) -> Fetch:
        if not remote(uri):
            file = os.open(f"{uri}/packed", os.O_RDONLY)
            extents = [tuple(pair) for pair in np.load(f"{uri}/extents.npy").tolist()]

            def alone(rows: list[int]) -> list[bytes]:
                return [os.pread(file, size, start) for start, size in map(extents.__getitem__, rows)]

            return _shared(alone) if self._threads else alone
        get, bucket, prefix = _store(uri)
        index = io.BytesIO(get(Bucket=bucket, Key=f"{prefix}/extents.npy")["Body"].read())
        extents = [tuple(pair) for pair in np.load(index).tolist()]

        def one(row: int) -> bytes:
            start, size = extents[row]
            span = f"bytes={start}-{start + size - 1}"
            found: bytes = get(Bucket=bucket, Key=f"{prefix}/packed", Range=span)["Body"].read()
            return found

        return _pooled(one)


def _store(uri: str) -> tuple[Callable[..., Any], str, str]:
    from adapters import bucket

    name, _, prefix = uri.removeprefix("s3://").partition("/")
    return bucket.s3(REQUESTS).get_object, name, prefix


def _pooled(one: Callable[[int], bytes]) -> Fetch:
    pool = ThreadPoolExecutor(REQUESTS)
    return lambda rows: [one(rows[0])] if len(rows) == 1 else list(pool.map(one, rows))


def _shared(alone: Fetch) -> Fetch:
    """Gives each core a part of a batch."""
    pool = ThreadPoolExecutor(CORES)

    def fetch(rows: list[int]) -> list[bytes]:
        if len(rows) < 2 * CORES:
            return alone(rows)
        each = -(-len(rows) // CORES)
        parts = pool.map(alone, [rows[at : at + each] for at in range(0, len(rows), each)])
        return [one for part in parts for one in part]

    return fetch


def _whole(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123  (the fastest way that Python has)
        return file.read()
