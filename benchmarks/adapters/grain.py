"""Grain over ArrayRecord files."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adapters.base import SHARD, Adapter, Epoch, Fetch, Row

_HEAD = struct.Struct("<qq")
# For random access its documentation wants a record in each group, without compression.
_OPTIONS = "group_size:1,uncompressed"


class Grain(Adapter):
    packages = (
        "grain",
        "array_record.python.array_record_module",
        "cv2",
    )

    def write(self, place: Path, rows: Iterable[Row], count: int) -> None:
        from array_record.python import array_record_module

        out, left, shard = None, 0, 0
        for image, label, number in rows:
            if left <= 0:
                if out is not None:
                    out.close()
                name = str(place / f"{shard:05d}.array_record")
                out, left, shard = array_record_module.ArrayRecordWriter(name, _OPTIONS), SHARD, shard + 1
            out.write(_HEAD.pack(label, number) + image)
            left -= len(image)
        if out is not None:
            out.close()

    def write_arrays(self, place: Path, arrays: Iterator[npt.NDArray[np.uint8]], count: int) -> None:
        from array_record.python import array_record_module

        out = array_record_module.ArrayRecordWriter(str(place / "arrays.array_record"), _OPTIONS)
        for array in arrays:
            out.write(array.tobytes())
        out.close()

    def open(self, place: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        import grain
        import torch
        from absl import flags

        # its worker processes ask for flags, which only its own kind of main parses
        flags.FLAGS.mark_as_parsed()
        source = grain.sources.ArrayRecordDataSource(sorted(str(p) for p in Path(place).glob("*.array_record")))
        epochs = iter(range(1 << 30))

        def epoch() -> Iterator[Any]:
            dataset = (
                grain.MapDataset.source(source)
                .shuffle(seed=next(epochs))
                .map(partial(_decoded, pixels=self.pixels))
                .to_iter_dataset(grain.ReadOptions(num_threads=4, prefetch_buffer_size=256))
                .batch(batch_size)
            )
            if workers:
                dataset = dataset.mp_prefetch(grain.MultiprocessingOptions(num_workers=workers))
            for images, labels, rows in dataset:
                yield torch.from_numpy(images), torch.from_numpy(labels), torch.from_numpy(rows)

        return epoch

    def fetch(self, place: str, cache: Path) -> Fetch:
        from array_record.python import array_record_data_source

        paths = sorted(str(path) for path in Path(place).glob("*.array_record"))
        source = array_record_data_source.ArrayRecordDataSource(paths)
        return lambda rows: [record[_HEAD.size :] for record in source.__getitems__(rows)]


def _decoded(record: bytes, pixels: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    label, row = _HEAD.unpack_from(record)
    return pixels(memoryview(record)[_HEAD.size :]).numpy(), np.int64(label), np.int64(row)
