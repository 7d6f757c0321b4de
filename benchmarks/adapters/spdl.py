"""SPDL: a pipeline of threads over the files; it has no format of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from adapters.base import WORKERS, Adapter, Epoch, stack


class SPDL(Adapter):
    """`place` is the folder of the class folders; nothing is written."""

    packages = (
        "spdl.pipeline",
        "cv2",
    )
    workers = tuple(workers for workers in WORKERS if workers)

    def open(self, place: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        from spdl.pipeline import PipelineBuilder

        paths = sorted(Path(place).glob("*/*.jpg"))
        names = sorted({path.parent.name for path in paths})
        files = [(str(path), names.index(path.parent.name), row) for row, path in enumerate(paths)]

        def epoch() -> Iterator[Any]:
            order = np.random.default_rng().permutation(len(files)).tolist()
            pipeline = (
                PipelineBuilder()
                .add_source([files[row] for row in order])
                .pipe(partial(_read, pixels=self.pixels), concurrency=workers)
                .aggregate(batch_size)
                .pipe(stack)
                .add_sink(3)
                .build(num_threads=workers + 1)
            )
            with pipeline.auto_stop():
                yield from pipeline.get_iterator()

        return epoch


def _read(file: tuple[str, int, int], pixels: Callable[[Any], Any]) -> tuple[Any, int, int]:
    path, label, row = file
    return pixels(Path(path).read_bytes()), label, row
