"""Contenders that load images: the loader under test, torch's DataLoader with three decoders, and the bare loops.

They run in processes of their own (contender.py), so this module imports at its top only the modules that all of
them need.
"""

from __future__ import annotations

import subprocess
import time
import warnings
import zlib
from collections.abc import Callable, Iterable
from typing import Any

import data
import numpy as np

RING = 384  # MB a thread to copy into: far more than a cache holds, like the batches of a loader


class Loop:
    """A C program that does one round for each line it is sent, and answers with an amount and seconds."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        amount, seconds = self._process.stdout.readline().split()
        return {"count": int(amount), "seconds": float(seconds)}


def jpeg_loop(name: str, count: int, threads: int) -> Loop:
    """The limit: libjpeg-turbo in C over the same bytes in memory."""
    files = data.jpegs(name, count)
    return Loop([str(data.jpeg_limit()), "-i", "-t", str(threads), "-p", str(files.packed)])


def copy_loop(threads: int, megabytes: int, file: str = "", row: int = 1, ring: int = 12) -> Loop:
    """The limit without decoding: memcpy, or pread of rows of a file, into a ring of so many megabytes a thread."""
    gather = ["-f", file, "-r", str(row)] if file else []
    options = ["-t", str(threads), "-m", str(megabytes), "-o", str(ring)]
    return Loop([str(data.program("copy_limit")), *options, *gather])


class Ours:
    """`ds.pytorch(...)`, uint8 torch tensors, shuffled."""

    def __init__(
        self,
        uri: str,
        batch_size: int,
        workers: int,
        shuffle: Any = True,
        tensor: str = "images",
        storage: dict[str, Any] | None = None,
        cache: int = 0,
        rank: int = 0,
        world_size: int = 1,
        **options: Any,
    ) -> None:
        import deeplake
        import torch  # noqa: F401  (in the baseline of memory)

        settings = deeplake.Storage(**storage) if storage else None
        self._open = lambda uri: deeplake.open(uri, storage=settings)
        self._uri, self._tensor = uri, tensor
        self._options = {"batch_size": batch_size, "num_workers": workers, "shuffle": shuffle}
        self._options |= {"rank": rank, "world_size": world_size} | options
        if cache:
            self._options["cache"] = cache
        self._loader: Any = None

    def run(self) -> dict[str, Any]:
        """One epoch."""
        if self._loader is None:
            self._loader = self._open(self._uri).pytorch(**self._options)
        count = 0
        for batch in self._loader:
            count += len(batch[self._tensor])
        return {"count": count}

    def anew(self) -> dict[str, Any]:
        """One epoch, the dataset opened for it: nothing is known of it, and the first batch counts."""
        self._loader = None  # memory of the last epoch is given back before the clock runs
        begin, first, count = time.perf_counter(), 0.0, 0
        self._loader = self._open(self._uri).pytorch(**self._options)
        for batch in self._loader:
            first = first or time.perf_counter() - begin
            count += len(batch[self._tensor])
        return {"count": count, "first": first, "seconds": time.perf_counter() - begin}

    def paced(self, skip: int) -> dict[str, Any]:
        """One epoch of the same loader; `gaps` are seconds between batches, without the first `skip`."""
        if self._loader is None:
            self._loader = self._open(self._uri).pytorch(**self._options)
        count, times = 0, []
        begin = time.perf_counter()
        for batch in self._loader:
            times.append(time.perf_counter())
            count += len(batch[self._tensor])
        seconds = time.perf_counter() - begin
        gaps = [late - early for early, late in zip(times[skip:], times[skip + 1 :], strict=False)]
        store = self._loader.stats()["fetch"]["store"]
        return {"count": count, "seconds": seconds, "gaps": gaps, "hedges": store["hedges"]}

    def first(self) -> dict[str, Any]:
        """From opening the dataset to the first batch in hand."""
        begin = time.perf_counter()
        batches = iter(self._open(self._uri).pytorch(**self._options))
        count = len(next(batches)[self._tensor])
        seconds = time.perf_counter() - begin
        batches.close()
        return {"count": count, "seconds": seconds}

    def stats(self) -> dict[str, Any]:
        """Returns the statistics of the loader after the last epoch."""
        return {"stats": self._loader.stats()} if self._loader is not None else {}

    def check(self, name: str, count: int) -> dict[str, Any]:
        """One epoch with every pixel and label compared."""
        loader = self._open(self._uri).pytorch(return_index=True, **self._options)
        return check(
            data.jpegs(name, count), ((b["_index"], b[self._tensor], b["labels"]) for b in loader), lambda image: image
        )

    def check_raw(self, rows: int, seed: int) -> dict[str, Any]:
        """One epoch over the raw tensor with every sample compared."""
        seen = np.zeros(rows, np.int64)
        wrong = 0
        for batch in self._open(self._uri).pytorch(return_index=True, **self._options):
            for row, sample in zip(batch["_index"].tolist(), batch[self._tensor].numpy(), strict=True):
                seen[row] += 1
                wrong += not np.array_equal(sample, raw_sample(row, seed))
        return {"once": bool((seen == 1).all()), "wrong": wrong}


class TorchFiles:
    """torch's DataLoader over the same files: workers that stay, each decoding with one thread."""

    def __init__(self, name: str, count: int, batch_size: int, decoder: str) -> None:
        import torch

        # Up to four workers are tried, however few cores there are.
        warnings.filterwarnings("ignore", message="This DataLoader will create")
        self._torch = torch
        self._files = data.jpegs(name, count)
        self._read, self._height_first = reader(decoder)
        self._batch_size = batch_size
        self._loader: Any = None
        self._made = (-1, 0)  # workers and images of the loader

    def run(self, workers: int, most: int = 0) -> dict[str, Any]:
        """One epoch over all images, or over the first `most` of them.

        An epoch is never broken off: workers that stay would carry their queue into the next one.
        """
        if (workers, most) != self._made:
            self._loader, self._made = self._make(workers, most=most), (workers, most)
        return {"count": sum(len(images) for images, _ in self._loader)}

    def first(self, workers: int) -> dict[str, Any]:
        """From making the loader to the first batch in hand."""
        begin = time.perf_counter()
        batches = iter(self._make(workers))
        count = len(next(batches)[0])
        return {"count": count, "seconds": time.perf_counter() - begin}

    def check(self, workers: int) -> dict[str, Any]:
        """One epoch with every pixel and label compared."""

        def flat(image: Any) -> Any:
            return image.permute(1, 2, 0).contiguous() if self._height_first else image

        return check(self._files, self._make(workers, index=True), flat)

    def _make(self, workers: int, index: bool = False, most: int = 0) -> Any:
        paths = self._files.paths[: most or None]
        return self._torch.utils.data.DataLoader(
            FileDataset([str(path) for path in paths], self._files.labels, self._read, index),
            batch_size=self._batch_size,
            shuffle=True,
            num_workers=workers,
            persistent_workers=workers > 0,
        )


class FileDataset:
    """Files with labels, as people write it."""

    def __init__(self, paths: list[str], labels: list[int], read: Callable[[str], Any], index: bool = False) -> None:
        self._paths, self._labels, self._read, self._index = paths, labels, read, index

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, row: int) -> tuple[Any, ...]:
        image, label = self._read(self._paths[row]), self._labels[row]
        return (row, image, label) if self._index else (image, label)


def reader(decoder: str) -> tuple[Callable[[str], Any], bool]:
    """Returns a function that reads a file into a uint8 tensor, and whether channels come first."""
    if decoder == "PIL":
        return read_pil, False
    if decoder == "torchvision":
        return _read_torchvision, True
    import cv2

    cv2.setNumThreads(0)
    return _read_opencv, False


def read_pil(path: str) -> Any:
    import torch
    from PIL import Image

    with Image.open(path) as image:
        return torch.from_numpy(np.array(image.convert("RGB")))


def _read_torchvision(path: str) -> Any:
    from torchvision import io

    return io.decode_jpeg(io.read_file(path), mode=io.ImageReadMode.RGB)


def _read_opencv(path: str) -> Any:
    import cv2
    import torch

    return torch.from_numpy(cv2.imread(path, cv2.IMREAD_COLOR_RGB))


def check(files: data.JpegSet, batches: Iterable[tuple[Any, Any, Any]], flat: Callable[[Any], Any]) -> dict[str, Any]:
    """Compares every pixel with the bare loop's; where they differ, says by how much at most in a hundred images."""
    seen = np.zeros(files.count, np.int64)
    differ: list[int] = []
    labels_wrong, furthest = 0, 0
    for rows, images, labels in batches:
        for row, image, label in zip(rows.tolist(), images, labels.tolist(), strict=True):
            pixels = flat(image).numpy()
            seen[row] += 1
            labels_wrong += label != files.labels[row]
            if zlib.crc32(pixels) != files.pixels[row]:
                differ.append(row)
                if len(differ) <= 100:
                    wanted = read_pil(str(files.paths[row])).numpy().astype(np.int16)
                    furthest = max(furthest, int(np.abs(wanted - pixels).max()))
    return {
        "once": bool((seen == 1).all()),
        "labels_wrong": labels_wrong,
        "differ": len(differ),
        "furthest": furthest,
    }


def raw_sample(row: int, seed: int) -> Any:
    """Returns sample `row` of the raw tensor: its own number, then noise of one of 64 patterns."""
    pattern = _pattern(row % 64, seed).copy()
    pattern.reshape(-1)[:8] = np.frombuffer(np.int64(row).tobytes(), np.uint8)
    return pattern


def _pattern(number: int, seed: int) -> Any:
    if (number, seed) not in _patterns:
        random = np.random.default_rng([seed, number])
        _patterns[number, seed] = random.integers(0, 256, (data.SIDE, data.SIDE, 3), np.uint8)
    return _patterns[number, seed]


_patterns: dict[tuple[int, int], Any] = {}
