"""Lance: columns in fragments, rows by `take`, a batch at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adapters.base import Adapter, Epoch, Fetch, Row, endpoint, remote, stack


class Lance(Adapter):
    packages = (
        "lance",
        "pyarrow",
        "cv2",
    )

    def write(self, folder: Path, rows: Iterable[Row], count: int) -> None:
        import lance
        import pyarrow as pa

        images, labels, numbers = zip(*rows, strict=True)
        table = pa.table(
            {
                "image": pa.array(images, pa.large_binary()),
                "label": pa.array(labels, pa.int64()),
                "row": pa.array(numbers, pa.int64()),
            }
        )
        lance.write_dataset(table, str(folder), mode="overwrite")

    def write_arrays(self, folder: Path, arrays: Iterator[npt.NDArray[np.uint8]], count: int) -> None:
        import lance
        import pyarrow as pa

        kind = pa.list_(pa.uint8(), 1024 * 1024 * 3)

        def batches() -> Iterator[Any]:
            for array in arrays:
                column = pa.FixedSizeListArray.from_arrays(pa.array(array.reshape(-1)), type=kind)
                yield pa.RecordBatch.from_arrays([column], names=["array"])

        schema = pa.schema([("array", kind)])
        lance.write_dataset(pa.RecordBatchReader.from_batches(schema, batches()), str(folder), mode="overwrite")

    def open(self, uri: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        import torch
        from torch.utils.data import BatchSampler, DataLoader, RandomSampler

        rows = _Rows(uri, self.pixels)
        sampler = BatchSampler(RandomSampler(range(len(rows))), batch_size, drop_last=False)
        assert torch
        loader = DataLoader(
            rows,
            batch_sampler=sampler,
            num_workers=workers,
            collate_fn=stack,
            persistent_workers=workers > 0,
            # it has threads, which no fork survives
            multiprocessing_context="spawn" if workers else None,
        )
        return lambda: iter(loader)

    def fetch(self, uri: str, cache: Path) -> Fetch:
        dataset = _open(uri)
        return lambda rows: dataset.take(rows, columns=["image"])["image"].to_pylist()


class _Rows:
    def __init__(self, uri: str, pixels: Callable[[Any], Any]) -> None:
        self._pixels = pixels
        self._uri, self._rows = uri, _open(uri).count_rows()
        self._dataset: Any = None

    def __len__(self) -> int:
        return int(self._rows)

    def __getitems__(self, rows: list[int]) -> list[Any]:
        if self._dataset is None:
            self._dataset = _open(self._uri)
        found = self._dataset.take(rows)
        columns = [found[name].to_pylist() for name in ("image", "label", "row")]
        return [(self._pixels(image), label, row) for image, label, row in zip(*columns, strict=True)]


def _open(uri: str) -> Any:
    import lance

    if not remote(uri):
        return lance.dataset(uri)
    return lance.dataset(uri, storage_options={"allow_http": "true", "aws_endpoint": endpoint()})
