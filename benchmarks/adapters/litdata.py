"""LitData: chunks of 64 MB and an index; worker processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adapters.base import SHARD, Adapter, Epoch, Fetch, Row, endpoint, in_order, remote, stack


class LitData(Adapter):
    packages = (
        "litdata",
        "cv2",
    )

    def __init__(self, decoded: bool = False) -> None:
        self.decoded = decoded

    def write(self, folder: Path, rows: Iterable[Row], count: int) -> None:
        _write(folder, ((self.stored(image), label, number) for image, label, number in rows))

    def write_arrays(self, folder: Path, arrays: Iterator[npt.NDArray[np.uint8]], count: int) -> None:
        _write(folder, arrays)

    def open(self, uri: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        import litdata

        pixels = self.pixels

        class Images(litdata.StreamingDataset):  # type: ignore[misc]
            def __getitem__(self, at: Any) -> Any:
                file, label, number = super().__getitem__(at)
                return pixels(file), label, number

        dataset = Images(
            uri,
            cache_dir=str(cache / "litdata"),
            shuffle=True,
            storage_options=_storage(uri),
            # Two workers that share a chunk from a bucket read all of its file for each 256
            # samples: gaps of 5 s and more.
            batch_decode="all" if remote(uri) else "auto",
        )
        loader = litdata.StreamingDataLoader(
            dataset,
            batch_size=batch_size,
            num_workers=workers,
            collate_fn=stack,
            persistent_workers=workers > 0,
        )
        return lambda: iter(loader)

    def fetch(self, uri: str, cache: Path) -> Fetch:
        import litdata

        # By default it decodes 256 neighbours of a sample, too.
        dataset = litdata.StreamingDataset(
            uri, cache_dir=str(cache / "litdata"), storage_options=_storage(uri), batch_decode=0
        )
        return in_order(lambda row: dataset[row][0])


def _storage(uri: str) -> dict[str, str] | None:
    import litdata

    # Its S3 client refuses plain HTTP, and has no setting for that.
    litdata.streaming.downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = True
    return {"endpoint_url": endpoint()} if remote(uri) else None


def _write(folder: Path, rows: Iterable[Any]) -> None:
    import litdata
    from litdata.streaming.writer import BinaryWriter

    writer = BinaryWriter(str(folder), chunk_bytes=SHARD)
    for number, row in enumerate(rows):
        writer.add_item(number, row)
    writer.done()
    writer.merge()
    assert litdata
