"""MosaicML Streaming: MDS shards of 64 MiB, copied whole to a local folder before they are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adapters.base import Adapter, Epoch, Fetch, Row, remote, stack


class Streaming(Adapter):
    packages = (
        "streaming",
        "cv2",
    )

    def __init__(self, decoded: bool = False) -> None:
        self.decoded = decoded

    def write(self, folder: Path, rows: Iterable[Row], count: int) -> None:
        from streaming import MDSWriter

        columns = {"image": "ndarray" if self.decoded else "bytes", "label": "int", "row": "int"}
        with MDSWriter(out=str(folder), columns=columns) as out:
            for image, label, number in rows:
                out.write({"image": self.stored(image), "label": label, "row": number})

    def write_arrays(self, folder: Path, arrays: Iterator[npt.NDArray[np.uint8]], count: int) -> None:
        from streaming import MDSWriter

        with MDSWriter(out=str(folder), columns={"array": "ndarray:uint8:1024,1024,3"}) as out:
            for array in arrays:
                out.write({"array": array})

    def open(self, uri: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        from streaming import StreamingDataset
        from torch.utils.data import DataLoader

        pixels = self.pixels

        class Images(StreamingDataset):  # type: ignore[misc]
            def __getitem__(self, at: Any) -> Any:
                sample = super().__getitem__(at)
                return pixels(sample["image"]), sample["label"], sample["row"]

        dataset = Images(**_where(uri, cache), shuffle=True, batch_size=batch_size)
        # Its client of the store has requested the index by now. Forked workers would share that
        # connection and take each other's answers: some get none, and wait for 60 s. Without a
        # client, each makes its own.
        for stream in dataset.streams:
            stream._downloader.clean_up()
        loader = DataLoader(
            dataset,
            batch_size=batch_size,
            num_workers=workers,
            collate_fn=stack,
            persistent_workers=workers > 0,
        )
        return lambda: iter(loader)

    def fetch(self, uri: str, cache: Path) -> Fetch:
        from streaming import StreamingDataset

        dataset = StreamingDataset(**_where(uri, cache), shuffle=False, batch_size=1)

        def fetch(rows: list[int]) -> list[bytes]:
            if len(rows) == 1:
                return [dataset[rows[0]]["image"]]
            # In the order of storage, so that no shard is opened twice.
            order = sorted(rows)
            found = {row: sample["image"] for row, sample in zip(order, dataset[order], strict=True)}
            return [found[row] for row in rows]

        return fetch


def _where(uri: str, cache: Path) -> dict[str, str]:
    return {"remote": uri, "local": str(cache / "mds")} if remote(uri) else {"local": uri}
