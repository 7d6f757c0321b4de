"""The measured library, by the protocol of all others."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adapters.base import CORES, Adapter, Epoch, Fetch, Row, endpoint, remote, thousands


class Ours(Adapter):
    """Its loader, as documented."""

    packages = ("deeplake", "deeplake._data.dataset")  # otherwise imported by the first call
    workers = (CORES,)

    def __init__(self, fast: bool = False, cache: int = 0, decoded: bool = False) -> None:
        """Takes the choices of the user: `fast=True` of transforms, bytes of `cache=`, pixels stored at `create`."""
        self._fast, self._cache, self.decoded = fast, cache, decoded

    def write(self, folder: Path, rows: Iterable[Row], count: int) -> None:
        import deeplake

        folder.rmdir()
        with deeplake.create(folder) as ds:
            ds.create_tensor("images", htype="image.rgb", compression=None if self.decoded else "jpeg")
            ds.create_tensor("labels", dtype="int64")
            ds.create_tensor("numbers", dtype="int64")
            for some in thousands(rows):
                self._extend(ds, some)
            ds.commit("images")

    def write_arrays(self, folder: Path, arrays: Iterator[npt.NDArray[np.uint8]], count: int) -> None:
        import deeplake

        folder.rmdir()
        with deeplake.create(folder) as ds:
            ds.create_tensor("arrays", dtype="uint8", shape=(1024, 1024, 3))
            for array in arrays:
                ds.append({"arrays": array})
            ds.commit("arrays")

    def open(self, uri: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        options: dict[str, Any] = {}
        if self.side:
            from deeplake import transforms

            crop = transforms.RandomResizedCrop(self.side, fast=self._fast)
            options["transform"] = {"images": [crop, transforms.HorizontalFlip()]}
        if self._cache:
            options["cache"] = self._cache
        loader = _open(uri).pytorch(batch_size=batch_size, num_workers=workers, shuffle=True, **options)
        return lambda: ((batch["images"], batch["labels"].flatten(), batch["numbers"].flatten()) for batch in loader)

    def fetch(self, uri: str, cache: Path) -> Fetch:
        ds = _open(uri)
        return lambda rows: [ds["images"].bytes(rows[0])] if len(rows) == 1 else ds["images"].bytes(rows)

    def _extend(self, ds: Any, rows: list[Row]) -> None:
        import deeplake

        files, labels, numbers = zip(*rows, strict=True)
        images = [self.stored(file) if self.decoded else deeplake.read(file) for file in files]
        ds.extend({"images": images, "labels": np.array(labels, np.int64), "numbers": np.array(numbers, np.int64)})


class Linked(Adapter):
    """Its loader over the images in files of another loader, by links to them."""

    packages = ("deeplake", "deeplake._data.dataset")
    workers = (CORES,)

    def __init__(self, source: str, image: str, label: str, number: str) -> None:
        """Takes the place of the files and the names of their columns. Without `number`, names of samples tell it."""
        self._source, self._image, self._label, self._number = source, image, label, number

    def write(self, folder: Path, rows: Iterable[Row], count: int) -> None:
        """Makes the dataset of links. `rows` are in the files already."""
        import deeplake

        folder.rmdir()
        options: dict[str, Any] = {"source_storage": _storage(self._source)} if remote(self._source) else {}
        if self._number:
            options["schema"] = {self._image: "image.rgb"}
        deeplake.ingest(self._source, folder, link=True, verbose=False, **options).close()

    def open(self, uri: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        import deeplake

        places = {self._source: _storage(self._source)} if remote(self._source) else None
        ds = deeplake.open(uri, link_storage=places)
        options = {"batch_size": batch_size, "num_workers": workers, "shuffle": True}
        loader = ds.pytorch(return_index=not self._number, **options)
        if self._number:
            return lambda: (
                (batch[self._image], batch[self._label].flatten(), batch[self._number].flatten()) for batch in loader
            )
        numbers = np.array([int(name[-8:]) for name in ds.source(range(len(ds)))])
        return lambda: (
            (batch[self._image], batch[self._label].flatten(), numbers[np.asarray(batch["_index"])]) for batch in loader
        )


class DeepLake3Files(Adapter):
    """Its loader over a dataset that Deep Lake 3 has written: where it lies, or copied into our format."""

    packages = ("deeplake", "deeplake._data.dataset")
    workers = (CORES,)

    def __init__(self, source: str, copied: bool) -> None:
        """Takes the place of the dataset of Deep Lake 3."""
        self._source, self._copied = source, copied

    def write(self, folder: Path, rows: Iterable[Row], count: int) -> None:
        """Copies the dataset, where that is the way. `rows` are in it already."""
        import deeplake

        if self._copied:
            folder.rmdir()
            deeplake.copy(self._source, folder)

    def open(self, uri: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        ds = _open(uri if self._copied else self._source)
        loader = ds.pytorch(batch_size=batch_size, num_workers=workers, shuffle=True)
        return lambda: ((batch["images"], batch["labels"].flatten(), batch["numbers"].flatten()) for batch in loader)


def _open(uri: str) -> Any:
    import deeplake

    return deeplake.open(uri, storage=_storage(uri))


def _storage(uri: str) -> Any:
    import deeplake

    if not remote(uri):
        return None
    keys = {"access_key_id": os.environ["AWS_ACCESS_KEY_ID"]}
    keys["secret_access_key"] = os.environ["AWS_SECRET_ACCESS_KEY"]
    return deeplake.Storage(endpoint=endpoint(), region=os.environ["AWS_REGION"], credentials=keys)
