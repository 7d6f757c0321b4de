"""The datasets that the visualizer shows in its benchmark. The same on every machine, by formula and seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import data
import numpy as np
import numpy.typing as npt

IMAGES = 145_000
CLASSES = [f"class {i:02}" for i in range(80)]
SMALL = 400  # pictures of `overlays` before the large one
_FILES = 2_000  # photographs, which repeat
_STEP = 5_000  # rows that are appended at once
_SIDE = 250


def crowd(images: int = IMAGES) -> Path:
    """Returns photographs of 250x250 with 0 to 70 boxes each, 35 in the mean: five million at 145,000 images."""
    import deeplake

    files = data.jpegs("photos-q75", _FILES)
    photographs = [deeplake.read(path) for path in files.paths]

    def build(folder: Path) -> None:
        with deeplake.create(folder) as ds:
            ds.create_tensor("images", "image.rgb", compression="jpeg")
            ds.create_tensor("boxes", "bbox")
            ds.create_tensor("labels", "class_label", class_names=CLASSES)
            for start in range(0, images, _STEP):
                rows = range(start, min(start + _STEP, images))
                boxes, labels = _boxes(rows)
                pictures = [photographs[row % len(photographs)] for row in rows]
                ds.extend({"images": pictures, "boxes": boxes, "labels": labels})
            ds.commit("crowd")

    return data.dataset(data.CACHE / f"crowd-{images}", build)


def _boxes(rows: range) -> tuple[list[npt.NDArray[np.float32]], list[npt.NDArray[np.int32]]]:
    random = np.random.default_rng([35, rows.start])
    boxes, labels = [], []
    for count in random.integers(0, 71, len(rows)).tolist():
        size = random.integers(8, 80, (count, 2))
        corner = random.integers(0, _SIDE - 80, (count, 2))
        boxes.append(np.concatenate([corner, corner + size], axis=1).astype(np.float32))
        # Classes are as uneven as in sets that people label.
        labels.append((random.random(count) ** 2 * len(CLASSES)).astype(np.int32))
    return boxes, labels


def overlays() -> Path:
    """Returns 400 pictures of 200 boxes and a mask each, and one of 10,000 boxes and 50 masks."""
    import deeplake

    side = 640

    def build(folder: Path) -> None:
        random = np.random.default_rng(7)
        with deeplake.create(folder) as ds:
            ds.create_tensor("images", "image.rgb", compression="jpeg")
            ds.create_tensor("boxes", "bbox")
            ds.create_tensor("masks", "binary_mask")
            ds.create_tensor("labels", "class_label", class_names=CLASSES)
            for count, masks in [(200, 1)] * SMALL + [(10_000, 50)]:
                corner = random.integers(0, side - 40, (count, 2))
                ds.append(
                    {
                        "images": _gradient(side),
                        "boxes": np.concatenate([corner, corner + 30], axis=1).astype(np.float32),
                        "masks": _discs(random, side, masks),
                        "labels": random.integers(0, len(CLASSES), count, np.int32),
                    }
                )
            ds.commit("overlays")

    return data.dataset(data.CACHE / "overlays", build)


def _gradient(side: int) -> npt.NDArray[np.uint8]:
    ramp = np.linspace(0, 255, side).astype(np.uint8)
    return np.stack([*np.meshgrid(ramp, ramp), np.full((side, side), 90, np.uint8)], axis=-1)


def _discs(random: np.random.Generator, side: int, count: int) -> npt.NDArray[np.bool_]:
    y, x = np.mgrid[:side, :side]
    masks = [
        (x - cx) ** 2 + (y - cy) ** 2 < radius**2
        for cx, cy, radius in random.integers(30, side - 30, (count, 3)).clip(30, 600).tolist()
        for radius in [radius / 6]
    ]
    found: Any = np.stack(masks, axis=-1)
    return found
