"""SPDL: a pipeline of threads over the files; it has no format of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from adapters.base import WORKERS, Adapter, Batch, Epoch, stack


class SPDL(Adapter):
    """`uri` is the folder of the class folders; nothing is written."""

    packages = (
        "spdl.pipeline",
        "cv2",
    )
    workers = tuple(workers for workers in WORKERS if workers)

    def open(self, uri: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        import torch
        from spdl.pipeline import PipelineBuilder

        # Stacking a batch must not start a pool of torch's threads beside those of the pipeline.
        torch.set_num_threads(1)
        paths = sorted(Path(uri).glob("*/*.jpg"))
        names = sorted({path.parent.name for path in paths})
        files = [(str(path), names.index(path.parent.name), row) for row, path in enumerate(paths)]

        def epoch() -> Iterator[Any]:
            order = np.random.default_rng().permutation(len(files)).tolist()
            batches = [
                [files[row] for row in order[start : start + batch_size]] for start in range(0, len(order), batch_size)
            ]
            # A batch at a time goes to a thread: each hop costs about as much as decoding an image.
            pipeline = (
                PipelineBuilder()
                .add_source(batches)
                .pipe(partial(_read, pixels=self.pixels), concurrency=workers)
                .add_sink(3)
                .build(num_threads=workers)
            )
            with pipeline.auto_stop():
                yield from pipeline.get_iterator()

        return epoch


def _read(files: list[tuple[str, int, int]], pixels: Callable[[Any], Any]) -> Batch:
    return stack([(pixels(Path(path).read_bytes()), label, row) for path, label, row in files])
