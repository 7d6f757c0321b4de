"""Bytes a sample by htype, as stored by default: python benchmarks/sizes.py

Beside ours: the raw arrays, each of them by Zstandard level 3, masks as PNG files, columns as Parquet with Zstandard.
The samples are real: segments of photographs, their boxes, the documentation of installed packages. Writes
benchmarks/results/sizes.md.
"""

from __future__ import annotations

import datetime
import inspect
import io
import json
import pydoc
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import data
import deeplake
import machine
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

LIMIT = 1.3


def main() -> None:
    lines = [
        "# Bytes a sample by default",
        "",
        f"{datetime.date.today()}, commit {machine.commit()}. `python benchmarks/sizes.py` writes this page.",
        "Parquet: pyarrow with Zstandard, one column. Ratio: ours over the smaller of PNG and Zstandard",
        f"level 3 for masks, and over Parquet for columns; the bar is {LIMIT}.",
        "",
        "| htype | samples | dtype given | raw | zstd 3 | PNG | Parquet | ours | ratio |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, htype, samples in sets():
        lines.append(measured(name, htype, samples))
        print(lines[-1], flush=True)
    (Path(__file__).parent / "results" / "sizes.md").write_text("\n".join(lines) + "\n")


def sets() -> Iterator[tuple[str, str, list[Any]]]:
    """Yields a name, an htype, and samples."""
    segments = [m for name in data.PHOTOGRAPHS for m in masks(name)]
    yield "up to 50 segments of photographs", "segment_mask", [m.astype(np.uint32) for m in segments]
    yield "the same, uint8", "segment_mask", [m.astype(np.uint8) for m in segments]
    yield "the same, int64 labels", "instance_label", [m.astype(np.int64) for m in segments]
    yield "bright parts of photographs", "binary_mask", [bright(name) for name in data.PHOTOGRAPHS]
    found = [boxes(m) for m in segments]
    yield "boxes of the segments", "bbox", [b.astype(np.float32) for b in found]
    yield "the same, int64", "bbox", found
    yield "corners of the boxes", "point", [b.reshape(-1, 2).astype(np.int32) for b in found]
    rng = np.random.default_rng(7)
    yield "1,000 classes in random order", "class_label", list(rng.integers(0, 1000, 100_000))
    yield "1,000 classes in order", "class_label", list(np.sort(rng.integers(0, 1000, 100_000)))
    texts = documentation()
    yield "documentation of NumPy and scikit-image", "text", texts
    yield "their first lines", "text", [t.strip().split("\n")[0] for t in texts]
    yield (
        "annotations",
        "json",
        [{"image": f"{i:08}.jpg", "boxes": b.tolist(), "score": 0.5} for i, b in enumerate(found)],
    )


def masks(name: str) -> Iterator[np.ndarray]:
    """Yields the segments of parts of a photograph, numbered from 0."""
    from skimage.segmentation import felzenszwalb

    picture = data.photograph(name)
    for y in range(0, picture.shape[0] - 299, 300):
        for x in range(0, picture.shape[1] - 399, 400):
            found = felzenszwalb(picture[y : y + 300, x : x + 400], scale=300, sigma=0.8, min_size=400)
            yield np.minimum(found, 49)


def bright(name: str) -> np.ndarray:
    gray = data.photograph(name).mean(axis=2)
    return gray > gray.mean()


def boxes(mask: np.ndarray) -> np.ndarray:
    """Returns (segments, 4): left, top, right, bottom of each."""
    from skimage.measure import regionprops

    found = [r.bbox for r in regionprops(mask.astype(np.int32) + 1)]
    return np.array([(x0, y0, x1, y1) for y0, x0, y1, x1 in found], np.int64).reshape(-1, 4)


def documentation() -> list[str]:
    import skimage.filters
    import skimage.morphology
    import skimage.transform

    modules = (np, np.linalg, np.random, np.fft, np.ma, skimage.filters, skimage.morphology, skimage.transform)
    return [
        text
        for module in modules
        for _, value in sorted(vars(module).items())
        if callable(value) and len(text := pydoc.getdoc(value)) > 40 and not inspect.ismodule(value)
    ]


def measured(name: str, htype: str, samples: list[Any]) -> str:
    raw = [_bytes(s) for s in samples]
    n = len(samples)
    codec = pa.Codec("zstd", compression_level=3)
    zstd = sum(len(codec.compress(r)) for r in raw) / n
    png = sum(_png(s) for s in samples) / n if "mask" in htype or htype == "instance_label" else None
    parquet = _parquet(samples) / n if png is None else None
    ours = _ours(htype, samples) / n
    peer = parquet if png is None else min(png, zstd)
    assert peer is not None
    cells = [sum(map(len, raw)) / n, zstd, png, parquet, ours]
    dtype = samples[0].dtype if hasattr(samples[0], "dtype") else type(samples[0]).__name__
    row = " | ".join("" if c is None else f"{c:,.1f}" if c < 1000 else f"{c:,.0f}" for c in cells)
    return f"| `{htype}` | {n:,}: {name} | {dtype} | {row} | {ours / peer:.2f} |"


def _bytes(sample: Any) -> bytes:
    if isinstance(sample, str):
        return sample.encode()
    return json.dumps(sample).encode() if isinstance(sample, Mapping) else np.ascontiguousarray(sample).tobytes()


def _png(mask: np.ndarray) -> int:
    out = io.BytesIO()
    picture = Image.fromarray(mask) if mask.dtype == bool else Image.fromarray(mask.astype(np.uint8))
    picture.save(out, "png")
    return len(out.getvalue())


def _parquet(samples: list[Any]) -> int:
    if isinstance(samples[0], np.ndarray):
        column = pa.array([s.ravel() for s in samples])
    elif isinstance(samples[0], Mapping):
        column = pa.array([json.dumps(s) for s in samples])
    else:
        column = pa.array(samples)
    out = io.BytesIO()
    pq.write_table(pa.table({"x": column}), out, compression="zstd")
    return len(out.getvalue())


def _ours(htype: str, samples: list[Any]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        ds = deeplake.create(folder + "/ds", schema={"x": htype})
        ds.extend({"x": samples})
        ds.commit()
        return sum(p.stat().st_size for p in Path(folder, "ds").rglob("*") if p.is_file() and "data" in p.parts)


if __name__ == "__main__":
    main()
