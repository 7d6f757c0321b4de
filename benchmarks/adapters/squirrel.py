"""Squirrel: gzipped msgpack shards through fsspec."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adapters.base import WINDOW, Adapter, Epoch, Row, endpoint, remote, stack

SAMPLES = 500  # of a shard


class Squirrel(Adapter):
    packages = (
        "squirrel.driver",
        "squirrel.store",
        "squirrel.serialization",
        "torch.utils.data",
        "cv2",
    )

    def write(self, folder: Path, rows: Iterable[Row], count: int) -> None:
        shard: list[dict[str, Any]] = []
        store = _store(folder)
        for image, label, number in rows:
            shard.append({"image": image, "label": label, "row": number})
            if len(shard) == SAMPLES:
                store.set(shard)
                shard = []
        if shard:
            store.set(shard)

    def write_arrays(self, folder: Path, arrays: Iterator[npt.NDArray[np.uint8]], count: int) -> None:
        store = _store(folder)
        for array in arrays:
            store.set([{"array": array}])

    def open(self, uri: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        from squirrel.driver import MessagepackDriver
        from squirrel.iterstream.torch_composables import SplitByWorker
        from torch.utils.data import DataLoader

        options = {"client_kwargs": {"endpoint_url": endpoint()}} if remote(uri) else {}
        driver = MessagepackDriver(uri, storage_options=options)
        stream = (
            # The seeds are the same in every worker: without them each splits another order, and
            # samples come twice.
            driver.get_iter(
                shuffle_key_buffer=100,
                key_shuffle_kwargs={"seed": 0},
                key_hooks=[SplitByWorker],
                shuffle_item_buffer=WINDOW // 2,
                item_shuffle_kwargs={"seed": 0},
            )
            .map(partial(_decoded, pixels=self.pixels))
            .batched(batch_size, stack, drop_last_if_not_full=False)
            .to_torch_iterable(enforce_rank_check=False, enforce_worker_check=False)
        )
        loader = DataLoader(stream, batch_size=None, num_workers=workers, persistent_workers=workers > 0)
        return lambda: iter(loader)


def _decoded(sample: dict[str, Any], pixels: Callable[[Any], Any]) -> tuple[Any, int, int]:
    return pixels(sample["image"]), sample["label"], sample["row"]


def _store(folder: Path) -> Any:
    from squirrel.serialization import MessagepackSerializer
    from squirrel.store import SquirrelStore

    return SquirrelStore(str(folder), serializer=MessagepackSerializer())
