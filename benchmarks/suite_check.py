"""Checks random crops: finds them again in their photographs, with their areas and flips."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import data
import numpy as np
import numpy.typing as npt
from adapters import crops as windows

LOOKED_FOR = 32  # crops of an epoch
LOW = 62  # pixels of height that both are shrunk to, to look
STEP = 0.94  # from one width or height that is tried to the next
FOUND = 0.8  # correlation; of crops with others' photographs it is 0.2 to 0.5


def crops(
    files: data.JpegSet, batches: Iterable[tuple[Any, Any, Any]], flat: Callable[[Any], Any], side: int
) -> dict[str, Any]:
    """Compares the labels of all, and looks for some crops in their photographs.

    Args:
        files: the photographs.
        batches: rows, crops and labels of an epoch.
        flat: makes (height, width, 3) of a crop.
        side: height and width that crops must have.

    Returns:
        `once`: every row came once; `labels_wrong`; `found` of `looked` crops; `area`: the mean share of the
        photograph that those show; `flipped`: the share of those that are mirrored.
    """
    seen = np.zeros(files.count, np.int64)
    wanted = set(np.random.default_rng(3).choice(files.count, min(LOOKED_FOR, files.count), replace=False).tolist())
    labels_wrong, matches = 0, []
    for rows, images, labels in batches:
        for row, image, label in zip(rows.tolist(), images, labels.tolist(), strict=True):
            seen[row] += 1
            labels_wrong += label != files.labels[row]
            if row in wanted:
                crop = flat(image).numpy()
                assert crop.shape == (side, side, 3), f"a crop has shape {crop.shape}, want {(side, side, 3)}"
                assert crop.dtype == np.uint8, f"a crop has dtype {crop.dtype}, want uint8"
                matches.append(_match(files, row, crop))
    found = [match for match in matches if match[0] >= FOUND]
    return {
        "once": bool((seen == 1).all()),
        "labels_wrong": labels_wrong,
        "looked": len(matches),
        "found": len(found),
        "area": float(np.mean([match[1] for match in found])) if found else 0.0,
        "flipped": float(np.mean([match[2] for match in found])) if found else 0.0,
    }


def expected(files: data.JpegSet) -> float:
    """Returns the mean share of a photograph that crops of these sizes have, by drawing some."""
    sizes = files.shapes[np.random.default_rng(5).integers(0, files.count, 20_000), :2].tolist()
    drawn = [(windows.window(height, width), height * width) for height, width in sizes]
    return float(np.mean([high * wide / area for (_, _, high, wide), area in drawn]))


def _match(files: data.JpegSet, row: int, crop: npt.NDArray[np.uint8]) -> tuple[float, float, bool]:
    """Returns the correlation where the crop fits best, the share of the photograph it has there, whether mirrored."""
    import cv2

    whole = cv2.imread(str(files.paths[row]), cv2.IMREAD_GRAYSCALE)
    height, width = LOW, round(whole.shape[1] * LOW / whole.shape[0])
    whole = cv2.resize(whole, (width, height), interpolation=cv2.INTER_AREA)
    gray = cv2.cvtColor(crop, cv2.COLOR_RGB2GRAY)
    best = (-1.0, 0.0, False)
    for wide in _sizes(width):
        for high in _sizes(height):
            area = wide * high / (width * height)
            if not 0.07 <= area <= 1 or not 0.7 <= wide / high <= 1.43:
                continue
            small = cv2.resize(gray, (wide, high), interpolation=cv2.INTER_AREA)
            for flipped in (False, True):
                fits = cv2.matchTemplate(whole, small[:, ::-1].copy() if flipped else small, cv2.TM_CCOEFF_NORMED)
                best = max(best, (float(fits.max()), area, flipped))
    return best


def _sizes(most: int) -> list[int]:
    sizes = [most]
    while sizes[-1] > most / 5:
        sizes.append(min(sizes[-1] - 1, round(sizes[-1] * STEP)))
    return sizes
