"""Pixels in one .npy file, mapped into memory under torch's DataLoader: the usual way to decode once by hand."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from adapters.base import Adapter, Epoch, Row


class Memmap(Adapter):
    packages = ("torch", "cv2")
    decoded = True

    def write(self, folder: Path, rows: Iterable[Row], count: int) -> None:
        images: Any = None
        labels, numbers = np.empty(count, np.int64), np.empty(count, np.int64)
        for at, (file, label, number) in enumerate(rows):
            pixels = self.stored(file)
            if images is None:
                images = np.lib.format.open_memmap(
                    folder / "images.npy", mode="w+", dtype=np.uint8, shape=(count, *pixels.shape)
                )
            images[at], labels[at], numbers[at] = pixels, label, number
        images.flush()
        np.save(folder / "labels.npy", labels)
        np.save(folder / "numbers.npy", numbers)

    def open(self, uri: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        import torch

        # More workers than cores are tried, too.
        warnings.filterwarnings("ignore", message="This DataLoader will create")
        loader = torch.utils.data.DataLoader(
            _Rows(Path(uri)),
            batch_size=batch_size,
            shuffle=True,
            num_workers=workers,
            persistent_workers=workers > 0,
        )
        return lambda: iter(loader)


class _Rows:
    def __init__(self, folder: Path) -> None:
        # Copied at the first write, which never comes: torch warns of arrays that are read-only.
        self._images = np.load(folder / "images.npy", mmap_mode="c")
        self._labels, self._numbers = np.load(folder / "labels.npy"), np.load(folder / "numbers.npy")

    def __len__(self) -> int:
        return len(self._images)

    def __getitem__(self, row: int) -> tuple[Any, int, int]:
        import torch

        return torch.from_numpy(self._images[row]), int(self._labels[row]), int(self._numbers[row])
