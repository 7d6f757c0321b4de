"""Writes the progressive files of testdata/parts, but for the two that are older than this script.

    python -m venv env && env/bin/pip install "pillow==12.*" numpy && env/bin/python make.py

It is deterministic for one version of Pillow.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

PARTS = Path(__file__).parent / "parts"


def scene(height: int, width: int, seed: int) -> np.ndarray:
    """Waves, an edge and noise that grows from left to right: blocks with few and with all coefficients."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(float)
    waves = [128 + 90 * np.sin(x * fx + y * fy) for fx, fy in rng.normal(0, 0.15, (3, 2))]
    pixels = np.stack(waves, axis=-1)
    pixels[x + 2 * y > width + height] *= 0.4
    pixels += rng.normal(0, 1, pixels.shape) * (40 * x / width)[:, :, None]
    return np.clip(pixels, 0, 255).astype(np.uint8)


def save(name: str, pixels: np.ndarray, **options: object) -> None:
    Image.fromarray(pixels).save(PARTS / name, "JPEG", progressive=True, **options)


save("progressive444-q100.jpg", scene(61, 83, 1), quality=100, subsampling="4:4:4")
save("progressive420-q95.jpg", scene(77, 59, 2), quality=95, subsampling="4:2:0")
save("progressive422-restart.jpg", scene(50, 121, 3), quality=80, subsampling="4:2:2", restart_marker_blocks=3)
save("progressive420-restart.jpg", scene(97, 90, 4), quality=60, subsampling="4:2:0", restart_marker_rows=1)
save("progressive-gray-q30.jpg", scene(70, 101, 5)[:, :, 0], quality=30)
