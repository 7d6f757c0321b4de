"""Grain over ArrayRecord files."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adapters.base import CORES, SHARD, Adapter, Epoch, Fetch, Row

_HEAD = struct.Struct("<qq")
# For random access its documentation wants a record in each group, without compression.
_OPTIONS = "group_size:1,uncompressed"


class Grain(Adapter):
    packages = (
        "grain",
        "array_record.python.array_record_module",
        "cv2",
    )

    def write(self, folder: Path, rows: Iterable[Row], count: int) -> None:
        from array_record.python import array_record_module

        out, left, shard = None, 0, 0
        for image, label, number in rows:
            if left <= 0:
                if out is not None:
                    out.close()
                name = str(folder / f"{shard:05d}.array_record")
                out, left, shard = array_record_module.ArrayRecordWriter(name, _OPTIONS), SHARD, shard + 1
            out.write(_HEAD.pack(label, number) + image)
            left -= len(image)
        if out is not None:
            out.close()

    def write_arrays(self, folder: Path, arrays: Iterator[npt.NDArray[np.uint8]], count: int) -> None:
        from array_record.python import array_record_module

        out = array_record_module.ArrayRecordWriter(str(folder / "arrays.array_record"), _OPTIONS)
        for array in arrays:
            out.write(array.tobytes())
        out.close()

    def open(self, uri: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        import grain
        from absl import flags

        # its worker processes ask for flags, which only its own kind of main parses
        flags.FLAGS.mark_as_parsed()
        source = grain.sources.ArrayRecordDataSource(sorted(str(p) for p in Path(uri).glob("*.array_record")))
        steps = -(-len(source) // batch_size)
        # Batches are made before the repetition, so that no batch has images of two epochs. The
        # repetition keeps the worker processes: starting them takes as long as an epoch of 3 s.
        dataset = (
            grain.MapDataset.source(source)
            .seed(0)
            .shuffle()
            .map(partial(_decoded, pixels=self.pixels))
            .batch(batch_size)
            .repeat()
            # One thread in each process: several contend for the interpreter lock.
            .to_iter_dataset(grain.ReadOptions(num_threads=1 if workers else CORES, prefetch_buffer_size=4))
        )
        if workers:
            dataset = dataset.mp_prefetch(grain.MultiprocessingOptions(num_workers=workers, per_worker_buffer_size=2))
        batches = iter(dataset)
        return lambda: map(_tensors, islice(batches, steps))

    def fetch(self, uri: str, cache: Path) -> Fetch:
        from array_record.python import array_record_data_source

        paths = sorted(str(path) for path in Path(uri).glob("*.array_record"))
        source = array_record_data_source.ArrayRecordDataSource(paths)

        def fetch(rows: list[int]) -> list[bytes]:
            # The call for many makes a pool of threads each time.
            records = source.__getitems__(rows) if len(rows) > 1 else [source[rows[0]]]
            return [record[_HEAD.size :] for record in records]

        return fetch


def _tensors(batch: tuple[Any, Any, Any]) -> tuple[Any, ...]:
    import torch

    return tuple(map(torch.from_numpy, batch))


def _decoded(record: bytes, pixels: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    label, row = _HEAD.unpack_from(record)
    return pixels(memoryview(record)[_HEAD.size :]).numpy(), np.int64(label), np.int64(row)
