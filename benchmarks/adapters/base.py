"""The interface of adapters, and code that several of them share."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from adapters import crops

CORES = len(os.sched_getaffinity(0))
SHARD = 64 << 20  # bytes of a shard, as most recommend 50 to 100 MB
WORKERS = tuple(sorted({0, 2, CORES, 2 * CORES}))  # that are tried: decoding may wait for reading
WINDOW = 2048  # samples in a shuffle buffer, where an adapter has one

Row = tuple[bytes, int, int]  # the JPEG file, its label, its number
Batch = tuple[Any, Any, Any]  # images (tensor or list), labels, numbers
Epoch = Callable[[], Iterable[Batch]]
# the stored files of samples, by their places in the order of writing
Fetch = Callable[[list[int]], list[bytes]]


class AbsentError(Exception):
    """A loader lacks an ability; the roster should not ask for it."""


class Adapter:
    """A loader of another project. Each has some of these abilities."""

    height_first: ClassVar[bool] = True  # False: images come as (channels, height, width)
    workers: ClassVar[tuple[int, ...]] = WORKERS  # of these the best is taken
    packages: ClassVar[tuple[str, ...]] = ()  # of its imports
    side = 0  # of random crops that are to be delivered, with a flip; 0: whole images
    decoded = False  # it is the pixels that are stored
    fits = True  # the set fits into memory

    def load(self) -> None:
        """Imports its packages: no table measures imports, and their memory belongs to the baseline."""
        for name in self.packages:
            importlib.import_module(name)

    @property
    def pixels(self) -> Callable[[Any], Any]:
        """A function from stored bytes to a uint8 tensor (height, width, 3), for loaders that do not decode."""
        if self.decoded:
            return lambda pixels: pixels
        return partial(crops.opencv, side=self.side) if self.side else decode

    def stored(self, file: bytes) -> Any:
        """Returns the stored form of a JPEG file: the file, or its pixels (height, width, 3)."""
        return decode(file).numpy() if self.decoded else file

    def write(self, folder: Path, rows: Iterable[Row], count: int) -> None:
        """Writes `count` samples into the empty folder `folder`."""
        raise AbsentError(f"{type(self).__name__} writes no samples")

    def write_arrays(self, folder: Path, arrays: Iterator[npt.NDArray[np.uint8]], count: int) -> None:
        """Writes `count` arrays of one shape, serially, into the empty folder `folder`."""
        raise AbsentError(f"{type(self).__name__} writes no arrays")

    def open(self, uri: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        """Makes the loader once. Each call of the returned function starts an epoch.

        Args:
            uri: a folder, or `s3://bucket/prefix`.
            batch_size: of every batch but the last, which may be smaller.
            workers: processes or threads of the loader.
            cache: an empty folder for copies of remote files.
        """
        raise AbsentError(f"{type(self).__name__} gives no epochs")

    def fetch(self, uri: str, cache: Path) -> Fetch:
        """Opens the files of `write` to read samples at random."""
        raise AbsentError(f"{type(self).__name__} reads no samples at random")


def thousands(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yields the rows in lists of 1,000, the last one shorter."""
    rest = iter(rows)
    while some := list(islice(rest, 1000)):
        yield some


def decode(file: Any) -> Any:
    """Returns the pixels of a JPEG file as a uint8 tensor (height, width, 3)."""
    import cv2
    import torch

    cv2.setNumThreads(0)
    return torch.from_numpy(cv2.imdecode(np.frombuffer(file, np.uint8), cv2.IMREAD_COLOR_RGB))


def stack(samples: list[tuple[Any, int, int]]) -> Batch:
    """Collates decoded samples: tensors, or arrays of pixels as they were stored."""
    import torch

    if isinstance(samples[0][0], np.ndarray):
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        # copies once, where others can see it
        batch: Batch = torch.utils.data.default_collate(samples)
        return batch
    images, labels, numbers = zip(*samples, strict=True)
    return torch.stack(images), torch.tensor(labels), torch.tensor(numbers)


def in_order(one: Callable[[int], bytes]) -> Fetch:
    """Reads the samples of a batch in the order of storage: going from shard to shard is dear for some loaders."""

    def fetch(rows: list[int]) -> list[bytes]:
        found = {row: one(row) for row in sorted(rows)}
        return [found[row] for row in rows]

    return fetch


def flat(samples: list[Any]) -> Any:
    """A collate function for samples that are batches already."""
    return samples


def endpoint() -> str:
    """Returns where the object store is."""
    return os.environ["AWS_ENDPOINT_URL"]


def remote(uri: str) -> bool:
    return uri.startswith("s3://")
