"""Deep Lake 3: the format of the paper, read by its Python loader (the fast one was closed and refuses local data)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adapters.base import CORES, WINDOW, Adapter, Epoch, Fetch, Row, endpoint, remote, thousands


class DeepLake3(Adapter):
    packages = ("deeplake",)
    workers = tuple(sorted({0, 2, CORES}))

    def __init__(self, decoded: bool = False, chunk: int = 0) -> None:
        """Takes the largest size of a chunk of images; 0: that of Deep Lake 3."""
        self.decoded = decoded
        self.chunks = {"max_chunk_size": chunk, "tiling_threshold": -1} if chunk else {}

    def write(self, folder: Path, rows: Iterable[Row], count: int) -> None:
        import deeplake

        ds = deeplake.empty(str(folder), overwrite=True)
        with ds:
            ds.create_tensor(
                "images", htype="image", sample_compression=None if self.decoded else "jpeg", **self.chunks
            )
            ds.create_tensor("labels", dtype="int64")
            ds.create_tensor("numbers", dtype="int64")
            for some in thousands(rows):
                self._extend(ds, some)

    def write_arrays(self, folder: Path, arrays: Iterator[npt.NDArray[np.uint8]], count: int) -> None:
        import deeplake

        ds = deeplake.empty(str(folder), overwrite=True)
        with ds:
            ds.create_tensor("arrays", dtype="uint8")
            for array in arrays:
                ds.arrays.append(array)

    def open(self, uri: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        ds = _load(uri)

        def epoch() -> Iterator[Any]:
            loader = ds.pytorch(
                batch_size=batch_size,
                num_workers=workers,
                shuffle=True,
                buffer_size=WINDOW,
                decode_method={"images": "numpy"},
                return_index=False,
            )
            for batch in loader:
                yield batch["images"], batch["labels"].flatten(), batch["numbers"].flatten()

        return epoch

    def fetch(self, uri: str, cache: Path) -> Fetch:
        images = _load(uri).images
        return lambda rows: [images[row].tobytes() for row in rows]

    def _extend(self, ds: Any, rows: list[Row]) -> None:
        from deeplake.core.sample import Sample

        images, labels, numbers = zip(*rows, strict=True)
        stored = [self.stored(image) for image in images]
        ds.images.extend(stored if self.decoded else [Sample(buffer=image, compression="jpeg") for image in stored])
        ds.labels.extend(np.array(labels, np.int64))
        ds.numbers.extend(np.array(numbers, np.int64))


def _load(uri: str) -> Any:
    import deeplake

    creds = None
    if remote(uri):
        creds = {
            "aws_access_key_id": os.environ["AWS_ACCESS_KEY_ID"],
            "aws_secret_access_key": os.environ["AWS_SECRET_ACCESS_KEY"],
            "aws_region": os.environ["AWS_REGION"],
            "endpoint_url": endpoint(),
        }
    return deeplake.load(uri, read_only=True, creds=creds, verbose=False)
