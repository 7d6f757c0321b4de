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

BATCH, ROUNDS, TARGET = 32, 9, 0.95
# Tensors, rows, and whether they are shuffled.
SETS = (
    (["image", "mask", "text", "box"], 1200, True),
    (["mask"], 1200, True),
    (["text"], 60_000, True),
    (["box"], 60_000, True),
    (["text"], 60_000, False),
    (["box"], 60_000, False),
)


def main() -> None:
    lines = [
        "# Epochs with the default compression",
        "",
        f"{datetime.date.today()}, commit {machine.commit()}, {machine.cores()} cores.",
        f"`python benchmarks/compression.py` writes this page. Batches of {BATCH}, {ROUNDS} rounds in turn, on a",
        "warm disk. Photographs are JPEG files of 300 x 400, texts have 1.9 kB. Ratio: rows a second of the",
        "default over those of compression='none'.",
        f"The bar for sets with masks and text is {TARGET}. In sequence, texts and boxes are copied from the page",
        "cache; one core decompresses 1.2 GB of text a second.",
        "",
        "| tensors | rows | order | rows/s, none | rows/s, default | ratio | least | most |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for tensors, rows, shuffle in SETS:
        with tempfile.TemporaryDirectory() as folder:
            plain = _dataset(Path(folder, "none"), "none", tensors, rows)
            packed = _dataset(Path(folder, "default"), None, tensors, rows)
            rates = [(_epoch(plain, shuffle), _epoch(packed, shuffle)) for _ in range(ROUNDS + 1)][1:]
        ratios = [b / a for a, b in rates]
        none, default = (statistics.median(column) for column in zip(*rates, strict=True))
        lines.append(
            f"| {', '.join(tensors)} | {rows:,} | {'shuffled' if shuffle else 'in sequence'} | {none:,.0f}"
            f" | {default:,.0f} | {statistics.median(ratios):.2f} | {min(ratios):.2f} | {max(ratios):.2f} |"
        )
        print(lines[-1], flush=True)
    (Path(__file__).parent / "results/compression.md").write_text("\n".join(lines) + "\n")


def _dataset(place: Path, compression: str | None, tensors: list[str], rows: int) -> deeplake.Dataset:
    masks = [m.astype(np.uint32) for name in data.PHOTOGRAPHS for m in sizes.masks(name)]
    crops = [data.photograph(name)[:300, :400] for name in data.PHOTOGRAPHS]
    columns = {
        "image": [_jpeg(c) for c in crops if c.shape[:2] == (300, 400)],
        "mask": masks,
        "text": sizes.documentation(),
        "box": [sizes.boxes(m).astype(np.float32) for m in masks],
    }
    htypes = {"image": "image.rgb", "mask": "segment_mask", "text": "text", "box": "bbox"}
    ds = deeplake.create(place)
    for name in tensors:
        options = {} if compression is None or name == "image" else {"compression": compression}
        ds.create_tensor(name, htypes[name], **options)
    for first in range(0, rows, 400):
        part = range(first, first + 400)
        ds.extend({name: [columns[name][i % len(columns[name])] for i in part] for name in tensors})
    ds.commit()
    return deeplake.open(place)


def _jpeg(pixels: np.ndarray) -> deeplake.Sample:
    out = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(out, "JPEG")
    return deeplake.read(out.getvalue())


def _epoch(ds: deeplake.Dataset, shuffle: bool) -> float:
    name = next(iter(ds.tensors))
    begin = time.perf_counter()
    rows = sum(len(b[name]) for b in ds.batches(batch_size=BATCH, shuffle=shuffle, collate="pad"))
    assert rows == len(ds)
    return rows / (time.perf_counter() - begin)


if __name__ == "__main__":
    main()
