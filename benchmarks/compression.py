"""Rows a second of shuffled epochs with the default compression: python benchmarks/compression.py

The peer is the same dataset with compression="none" for masks, text and boxes. Both are on a warm disk, and their
epochs take turns. Writes benchmarks/results/compression.md.
"""

from __future__ import annotations

import datetime
import io
import statistics
import tempfile
import time
from pathlib import Path

import data
import deeplake
import machine
import numpy as np
import sizes
from PIL import Image

ROWS, BATCH, ROUNDS, TARGET = 1200, 32, 9, 0.95
SETS = (["image", "mask", "text", "box"], ["mask"], ["text"], ["box"])


def main() -> None:
    lines = [
        "# Epochs with the default compression",
        "",
        f"{datetime.date.today()}, commit {machine.commit()}, {machine.cores()} cores.",
        f"`python benchmarks/compression.py` writes this page. {ROWS} rows, batches of {BATCH}, {ROUNDS} rounds in",
        "turn, on a warm disk. Photographs are JPEG files of 300 x 400. Ratio: rows a second of the default over",
        "those of compression='none'.",
        f"The bar for sets with masks and text is {TARGET}. Epochs of text and of boxes last milliseconds.",
        "",
        "| tensors | rows/s, none | rows/s, default | ratio | least | most |",
        "|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        plain, packed = _dataset(Path(folder, "none"), "none"), _dataset(Path(folder, "default"), None)
        for tensors in SETS:
            rates = [(_epoch(plain, tensors), _epoch(packed, tensors)) for _ in range(ROUNDS + 1)][1:]
            ratios = [b / a for a, b in rates]
            none, default = (statistics.median(column) for column in zip(*rates, strict=True))
            lines.append(
                f"| {', '.join(tensors)} | {none:,.0f} | {default:,.0f} | {statistics.median(ratios):.2f}"
                f" | {min(ratios):.2f} | {max(ratios):.2f} |"
            )
            print(lines[-1], flush=True)
    (Path(__file__).parent / "results/compression.md").write_text("\n".join(lines) + "\n")


def _dataset(place: Path, compression: str | None) -> deeplake.Dataset:
    masks = [m.astype(np.uint32) for name in data.PHOTOGRAPHS for m in sizes.masks(name)]
    boxes = [sizes.boxes(m).astype(np.float32) for m in masks]
    texts = sizes.documentation()
    crops = [data.photograph(name)[:300, :400] for name in data.PHOTOGRAPHS]
    files = [_jpeg(c) for c in crops if c.shape[:2] == (300, 400)]
    ds = deeplake.create(place)
    ds.create_tensor("image", "image.rgb", compression="jpeg")
    options = {} if compression is None else {"compression": compression}
    ds.create_tensor("mask", "segment_mask", dtype="uint32", **options)
    ds.create_tensor("text", "text", **options)
    ds.create_tensor("box", "bbox", **options)
    for first in range(0, ROWS, 200):
        rows = range(first, first + 200)
        columns = {"image": files, "mask": masks, "text": texts, "box": boxes}
        ds.extend({name: [values[i % len(values)] for i in rows] for name, values in columns.items()})
    ds.commit()
    return deeplake.open(place)


def _jpeg(pixels: np.ndarray) -> deeplake.Sample:
    out = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(out, "JPEG")
    return deeplake.read(out.getvalue())


def _epoch(ds: deeplake.Dataset, tensors: list[str]) -> float:
    begin = time.perf_counter()
    rows = sum(len(b[tensors[0]]) for b in ds.batches(batch_size=BATCH, shuffle=True, tensors=tensors, collate="pad"))
    assert rows == ROWS
    return rows / (time.perf_counter() - begin)


if __name__ == "__main__":
    main()
