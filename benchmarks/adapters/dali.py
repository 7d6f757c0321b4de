"""NVIDIA DALI without a GPU: its graph of operators over the files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adapters import crops
from adapters.base import WINDOW, WORKERS, Adapter, Epoch


class DALI(Adapter):
    """`uri` is the folder of the class folders; nothing is written."""

    packages = ("nvidia.dali", "nvidia.dali.plugin.pytorch")
    workers = tuple(workers for workers in WORKERS if workers)

    def open(self, uri: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        import numpy as np
        import torch
        from nvidia.dali import fn, pipeline_def, types
        from nvidia.dali.plugin.pytorch import DALIGenericIterator, LastBatchPolicy

        paths = sorted(Path(uri).glob("*/*.jpg"))
        names = sorted({path.parent.name for path in paths})
        labels = torch.from_numpy(np.array([names.index(path.parent.name) for path in paths]))
        files, side = [str(path) for path in paths], self.side

        @pipeline_def(batch_size=batch_size, num_threads=workers, device_id=None, seed=0)
        def graph() -> Any:
            encoded, rows = fn.readers.file(
                files=files,
                labels=list(range(len(files))),
                random_shuffle=True,
                initial_fill=WINDOW,
                name="files",
                pad_last_batch=True,
            )
            if not side:
                return fn.decoders.image(encoded, device="cpu", output_type=types.RGB), rows
            images = fn.decoders.image_random_crop(
                encoded,
                device="cpu",
                output_type=types.RGB,
                random_area=crops.AREA,
                random_aspect_ratio=crops.RATIO,
                num_attempts=crops.ATTEMPTS,
            )
            images = fn.resize(images, size=(side, side), interp_type=types.INTERP_LINEAR)
            return fn.flip(images, horizontal=fn.random.coin_flip()), rows

        loader = DALIGenericIterator(
            [graph()],
            ["images", "rows"],
            reader_name="files",
            last_batch_policy=LastBatchPolicy.PARTIAL,
            auto_reset=True,
        )

        def epoch() -> Iterator[Any]:
            for (batch,) in loader:
                rows = batch["rows"].flatten().long()
                yield batch["images"], labels[rows], rows

        return epoch
