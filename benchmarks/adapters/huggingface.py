"""Hugging Face datasets under torch's DataLoader: Arrow files, mapped into memory, or Parquet files as a stream."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adapters.base import WINDOW, Adapter, Epoch, Fetch, Row, endpoint, remote, stack

PARTS = 20  # Parquet files: its shuffling reads ten at a time in each worker


class HuggingFace(Adapter):
    packages = (
        "datasets",
        "datasets.arrow_writer",
        "cv2",
    )

    def write(self, folder: Path, rows: Iterable[Row], count: int) -> None:
        import datasets
        from datasets.arrow_writer import ArrowWriter

        features = datasets.Features(
            {"image": datasets.Value("binary"), "label": datasets.Value("int64"), "row": datasets.Value("int64")}
        )
        with ArrowWriter(path=str(folder / "data.arrow"), features=features) as out:
            for image, label, number in rows:
                out.write({"image": image, "label": label, "row": number})
            out.finalize()

    def write_arrays(self, folder: Path, arrays: Iterator[npt.NDArray[np.uint8]], count: int) -> None:
        import datasets
        from datasets.arrow_writer import ArrowWriter

        features = datasets.Features({"array": datasets.Value("binary")})
        with ArrowWriter(path=str(folder / "data.arrow"), features=features, writer_batch_size=32) as out:
            for array in arrays:
                out.write({"array": array.tobytes()})
            out.finalize()

    def open(self, uri: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        import datasets
        from torch.utils.data import DataLoader

        dataset = datasets.Dataset.from_file(str(Path(uri) / "data.arrow"))
        loader = DataLoader(
            dataset.with_transform(partial(_decoded, pixels=self.pixels)),
            batch_size=batch_size,
            shuffle=True,
            num_workers=workers,
            collate_fn=_stack,
            persistent_workers=workers > 0,
        )
        return lambda: iter(loader)

    def fetch(self, uri: str, cache: Path) -> Fetch:
        import datasets

        dataset = datasets.Dataset.from_file(str(Path(uri) / "data.arrow")).select_columns("image")
        return lambda rows: list(dataset[rows]["image"])


class HuggingFaceStream(Adapter):
    """`load_dataset("parquet", streaming=True)`, a buffer shuffles."""

    packages = ("datasets", "pyarrow.parquet", "s3fs", "cv2")

    def write(self, folder: Path, rows: Iterable[Row], count: int) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        names = ("image", "label", "row")
        every = list(rows)
        for part in range(PARTS):
            columns = zip(*every[part::PARTS], strict=True)
            table = pa.table(dict(zip(names, map(list, columns), strict=True)))
            # As its own to_parquet for images: row groups of 100, JPEG files uncompressed.
            parquet.write_table(table, folder / f"{part:05d}.parquet", row_group_size=100, compression="none")

    def open(self, uri: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        import datasets
        from torch.utils.data import DataLoader

        # Each worker sleeps 5 s at the end of its pass, until the threads of Arrow have gone. That
        # is longer than an epoch here, and says nothing of longer ones.
        datasets.config.SLEEP_TIME_ON_THREADS_SHUTDOWN = 0
        options = None
        if remote(uri):
            keys = {"key": os.environ["AWS_ACCESS_KEY_ID"], "secret": os.environ["AWS_SECRET_ACCESS_KEY"]}
            options = {**keys, "client_kwargs": {"endpoint_url": endpoint()}}
        files = [f"{uri}/{part:05d}.parquet" for part in range(PARTS)]
        dataset = datasets.load_dataset(
            "parquet", data_files=files, split="train", streaming=True, storage_options=options, cache_dir=str(cache)
        ).shuffle(seed=0, buffer_size=WINDOW // 2)
        loader = DataLoader(
            dataset,
            batch_size=batch_size,
            num_workers=workers,
            collate_fn=partial(_decode_and_stack, pixels=self.pixels),
            persistent_workers=workers > 0,
        )
        return lambda: iter(loader)


def _decoded(batch: dict[str, Any], pixels: Callable[[Any], Any]) -> dict[str, Any]:
    return {**batch, "image": [pixels(image) for image in batch["image"]]}


def _decode_and_stack(samples: list[dict[str, Any]], pixels: Callable[[Any], Any]) -> Any:
    return stack([(pixels(sample["image"]), sample["label"], sample["row"]) for sample in samples])


def _stack(samples: list[dict[str, Any]]) -> Any:
    return stack([(sample["image"], sample["label"], sample["row"]) for sample in samples])
