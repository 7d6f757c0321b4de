"""Gives photographs and files of pictures, the same in every run."""

from __future__ import annotations

import importlib.util
import io
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

NAMES = ["astronaut.png", "chelsea.png", "coffee.png", "retina.jpg", "hubble_deep_field.jpg"]


@cache
def photographs() -> list[np.ndarray]:
    """Returns the photographs of scikit-image, or gradients with noise where it is absent."""
    spec = importlib.util.find_spec("skimage")
    folder = Path(spec.origin).parent / "data" if spec and spec.origin else Path("absent")
    paths = [folder / name for name in NAMES if (folder / name).exists()]
    found = [np.asarray(Image.open(path).convert("RGB")) for path in paths]
    return found or [gradient(seed) for seed in range(4)]


def gradient(seed: int, height: int = 512, width: int = 512) -> np.ndarray:
    """Returns a smooth picture with a little noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    planes = [x * 255 / width, y * 255 / height, (x + y + 40 * seed) % 256]
    noisy = np.stack(planes, axis=-1) + rng.normal(0, 6, (height, width, 3))
    return noisy.clip(0, 255).astype(np.uint8)


def crop(number: int, height: int, width: int) -> np.ndarray:
    """Returns a part of a photograph; each number is another part."""
    source = photographs()[number % len(photographs())]
    rng = np.random.default_rng(number)
    y = int(rng.integers(0, source.shape[0] - height + 1))
    x = int(rng.integers(0, source.shape[1] - width + 1))
    return np.ascontiguousarray(source[y : y + height, x : x + width])


def encoded(array: np.ndarray, kind: str, mode: str | None = None, **options: Any) -> bytes:
    """Returns a picture as a file of a format of Pillow, after conversion to a mode."""
    image = Image.fromarray(array)
    if mode == "P":
        image = image.quantize(32)
    elif mode:
        image = image.convert(mode)
    out = io.BytesIO()
    image.save(out, format=kind, **options)
    return out.getvalue()


def saved(folder: Path, name: str, data: bytes) -> str:
    """Writes a file below a folder and returns its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)
