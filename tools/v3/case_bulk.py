"""Cases of size: a tensor of a thousand chunks, and photographs for a benchmark."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
from cases import BARE, case, fresh
from pictures import crop, encoded

BLOCK = 500
# Crops of quality 80 take 11.6 kB, of quality 90 17.5 kB.
QUALITY = 80


@case
def many(root: Path) -> dict[str, dict[str, Any]]:
    """Writes a tensor of a thousand chunks, and small pictures in forty."""
    rng = np.random.default_rng(7)
    with fresh(root, "many") as ds:
        # A chunk takes samples until half of max_chunk_size: two of these.
        ds.create_tensor("numbers", dtype="int32", max_chunk_size=1700, **BARE)
        ds.numbers.extend(rng.integers(0, 9999, (2000, 100)).astype("int32"))
        ds.create_tensor("photos", htype="image", sample_compression="jpeg", max_chunk_size=16_000)
        ds.photos.extend([crop(i, 20, 24) for i in range(300)])
    return {"many": {}}


def photos(root: Path, count: int, chunk: int | None, folder: Path | None) -> None:
    """Writes `count` photographs with labels below root/photos: crops, or the files of a folder."""
    given = sorted(path for path in folder.rglob("*.jp*g")) if folder else []
    start = time.monotonic()
    sizes = {"max_chunk_size": chunk} if chunk else {}
    total = 0
    with fresh(root, "photos") as ds:
        ds.create_tensor("image", htype="image", sample_compression="jpeg", **sizes)
        names = [f"class {i}" for i in range(10)]
        ds.create_tensor("label", htype="class_label", class_names=names)
        for first in range(0, count, BLOCK):
            rows = range(first, min(first + BLOCK, count))
            files = [photo(given, i) for i in rows]
            total += sum(map(len, files))
            ds.image.extend([read(file) for file in files])
            ds.label.extend([i % 10 for i in rows])
        ds.commit(f"{count} photographs")
    seconds = time.monotonic() - start
    print(f"photos: {count} files of {total / count / 1000:.1f} kB in {seconds:.1f} s", flush=True)


def photo(given: list[Path], number: int) -> bytes:
    """Returns the file of a number; made here, it is of 256 x 256 pixels and about 11 kB."""
    if given:
        return given[number % len(given)].read_bytes()
    return encoded(crop(number, 256, 256), "JPEG", quality=QUALITY)


def read(file: bytes) -> Any:
    """Returns a sample that the package stores without decoding it."""
    return deeplake.core.sample.Sample(buffer=file, compression="jpeg")
