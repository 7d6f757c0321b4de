"""FFCV: one .beton file, pipelines compiled by Numba. No object store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adapters.base import CORES, Adapter, Epoch, Row


class FFCV(Adapter):
    """JPEG files as they are ("jpg"), or their pixels ("raw"), which are decoded when they are written."""

    packages = (
        "ffcv.fields",
        "ffcv.loader",
        "ffcv.transforms",
        "ffcv.writer",
        "cv2",
    )
    workers = (CORES,)  # Numba refuses more

    def __init__(self, mode: str) -> None:
        self._mode = mode

    def write(self, folder: Path, rows: Iterable[Row], count: int) -> None:
        from ffcv.fields import IntField, RGBImageField, rgb_image
        from ffcv.writer import DatasetWriter

        class Kept(np.ndarray[Any, Any]):
            """Pixels that remember the file they come from, which would otherwise be encoded a second time."""

            file: bytes

        class Rows:
            def __init__(self) -> None:
                self._rows = list(rows)

            def __len__(self) -> int:
                return count

            def __getitem__(self, at: int) -> tuple[Any, int, int]:
                import cv2

                file, label, number = self._rows[at]
                pixels = cv2.imdecode(np.frombuffer(file, np.uint8), cv2.IMREAD_COLOR_RGB).view(Kept)
                pixels.file = file
                return pixels, label, number

        rgb_image.encode_jpeg = lambda pixels, quality: np.frombuffer(pixels.file, np.uint8)
        rgb_image.resizer = lambda pixels, most: pixels
        fields = {"image": RGBImageField(write_mode=self._mode), "label": IntField(), "row": IntField()}
        DatasetWriter(str(folder / "set.beton"), fields, num_workers=2).from_indexed_dataset(Rows(), chunksize=100)

    def write_arrays(self, folder: Path, arrays: Iterator[npt.NDArray[np.uint8]], count: int) -> None:
        from ffcv.fields import NDArrayField
        from ffcv.writer import DatasetWriter

        first = next(arrays)

        class Rows:
            def __len__(self) -> int:
                return count

            def __getitem__(self, at: int) -> tuple[Any]:
                return (first if at == 0 else next(arrays),)

        fields = {"array": NDArrayField(first.dtype, first.shape)}
        DatasetWriter(str(folder / "set.beton"), fields, num_workers=1).from_indexed_dataset(Rows())

    def open(self, uri: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        from ffcv.fields.decoders import IntDecoder, RandomResizedCropRGBImageDecoder, SimpleRGBImageDecoder
        from ffcv.loader import Loader, OrderOption
        from ffcv.transforms import RandomHorizontalFlip, ToTensor

        images = [SimpleRGBImageDecoder()]
        if self.side:
            images = [RandomResizedCropRGBImageDecoder((self.side, self.side)), RandomHorizontalFlip()]

        loader = Loader(
            str(Path(uri) / "set.beton"),
            batch_size=batch_size,
            num_workers=workers,
            # as its guide to performance says for sets larger than memory
            order=OrderOption.RANDOM if self.fits else OrderOption.QUASI_RANDOM,
            os_cache=self.fits,
            drop_last=False,
            pipelines={
                "image": [*images, ToTensor()],
                "label": [IntDecoder(), ToTensor()],
                "row": [IntDecoder(), ToTensor()],
            },
        )
        return lambda: ((images, labels.flatten(), rows.flatten()) for images, labels, rows in loader)
