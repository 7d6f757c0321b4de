"""Hugging Face datasets: Arrow files, mapped into memory, under torch's DataLoader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adapters.base import Adapter, Epoch, Row, decode, stack


class HuggingFace(Adapter):
    packages = (
        "datasets",
        "datasets.arrow_writer",
        "cv2",
    )

    def write(self, place: Path, rows: Iterable[Row], count: int) -> None:
        import datasets
        from datasets.arrow_writer import ArrowWriter

        features = datasets.Features(
            {"image": datasets.Value("binary"), "label": datasets.Value("int64"), "row": datasets.Value("int64")}
        )
        with ArrowWriter(path=str(place / "data.arrow"), features=features) as out:
            for image, label, number in rows:
                out.write({"image": image, "label": label, "row": number})
            out.finalize()

    def write_arrays(self, place: Path, arrays: Iterator[npt.NDArray[np.uint8]], count: int) -> None:
        import datasets
        from datasets.arrow_writer import ArrowWriter

        features = datasets.Features({"array": datasets.Value("binary")})
        with ArrowWriter(path=str(place / "data.arrow"), features=features, writer_batch_size=32) as out:
            for array in arrays:
                out.write({"array": array.tobytes()})
            out.finalize()

    def open(self, place: str, batch_size: int, workers: int, cache: Path) -> Epoch:
        import datasets
        from torch.utils.data import DataLoader

        dataset = datasets.Dataset.from_file(str(Path(place) / "data.arrow")).with_transform(_decoded)
        loader = DataLoader(
            dataset,
            batch_size=batch_size,
            shuffle=True,
            num_workers=workers,
            collate_fn=_stack,
            persistent_workers=workers > 0,
        )
        return lambda: iter(loader)


def _decoded(batch: dict[str, Any]) -> dict[str, Any]:
    return {**batch, "image": [decode(image) for image in batch["image"]]}


def _stack(samples: list[dict[str, Any]]) -> Any:
    return stack([(sample["image"], sample["label"], sample["row"]) for sample in samples])
