"""The library that is measured, by the same protocol as everybody."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adapters.base import CORES, Adapter, Epoch, Row, endpoint, remote


class Ours(Adapter):
    packages = ("deeplake",)
    workers = (CORES,)

    def write(self, place: Path, rows: Iterable[Row], count: int) -> None:
        import deeplake

        place.rmdir()
        with deeplake.create(place) as ds:
            ds.create_tensor("images", htype="image.rgb", compression="jpeg")
            ds.create_tensor("labels", dtype="int64")
            ds.create_tensor("numbers", dtype="int64")
            waiting: list[Row] = []
            for row in rows:
                waiting.append(row)
                if len(waiting) == 1000:
                    _extend(ds, waiting)
                    waiting = []
            if waiting:
                _extend(ds, waiting)
            ds.commit("images")

    def write_arrays(self, place: Path, arrays: Iterator[npt.NDArray[np.uint8]], count: int) -> None:
        import deeplake

        place.rmdir()
        with deeplake.create(place) as ds:
            ds.create_tensor("arrays", dtype="uint8", shape=(1024, 1024, 3))
            for array in arrays:
                ds.append({"arrays": array})
            ds.commit("arrays")

    def open(self, place: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        import deeplake

        storage = None
        if remote(place):
            keys = {"access_key_id": os.environ["AWS_ACCESS_KEY_ID"]}
            keys["secret_access_key"] = os.environ["AWS_SECRET_ACCESS_KEY"]
            storage = deeplake.Storage(endpoint=endpoint(), region=os.environ["AWS_REGION"], credentials=keys)
        ds = deeplake.open(place, storage=storage)
        loader = ds.pytorch(batch_size=batch_size, num_workers=workers, shuffle=True)
        return lambda: ((batch["images"], batch["labels"].flatten(), batch["numbers"].flatten()) for batch in loader)


def _extend(ds: Any, rows: list[Row]) -> None:
    import deeplake

    images, labels, numbers = zip(*rows, strict=True)
    ds.extend(
        {
            "images": [deeplake.read(image) for image in images],
            "labels": np.array(labels, np.int64),
            "numbers": np.array(numbers, np.int64),
        }
    )
