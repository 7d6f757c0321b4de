"""RandomResizedCrop and a flip as users of each decoder write them; uint8, (height, width, 3) but for torchvision."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

AREA, RATIO = (0.08, 1.0), (3 / 4, 4 / 3)  # the defaults of torchvision
ATTEMPTS = 10


def window(height: int, width: int) -> tuple[int, int, int, int]:
    """Returns top, left, height and width of a random crop, as torchvision's RandomResizedCrop draws them."""
    for _ in range(ATTEMPTS):
        area = height * width * random.uniform(*AREA)
        ratio = math.exp(random.uniform(math.log(RATIO[0]), math.log(RATIO[1])))
        wide, high = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < wide <= width and 0 < high <= height:
            return random.randint(0, height - high), random.randint(0, width - wide), high, wide
    wide, high = min(width, round(height * RATIO[1])), min(height, round(width / RATIO[0]))
    return (height - high) // 2, (width - wide) // 2, high, wide


def opencv(file: Any, side: int) -> Any:
    """Decodes a JPEG file; bilinear without antialiasing, the default of Albumentations."""
    import cv2
    import torch

    cv2.setNumThreads(0)
    whole = cv2.imdecode(np.frombuffer(file, np.uint8), cv2.IMREAD_COLOR_RGB)
    top, left, high, wide = window(*whole.shape[:2])
    found = cv2.resize(whole[top : top + high, left : left + wide], (side, side), interpolation=cv2.INTER_LINEAR)
    return torch.from_numpy(cv2.flip(found, 1) if random.random() < 0.5 else found)


def reader(decoder: str, side: int) -> Callable[[str], Any]:
    """Returns a function that reads and crops a file."""
    if decoder == "OpenCV":
        return partial(_opencv_file, side=side)
    from torchvision.transforms import v2

    steps = v2.Compose([v2.RandomResizedCrop(side, antialias=True), v2.RandomHorizontalFlip()])
    return partial(_pil_file if decoder == "PIL" else _torchvision_file, steps=steps)


def _opencv_file(path: str, side: int) -> Any:
    return opencv(Path(path).read_bytes(), side)


def _pil_file(path: str, steps: Callable[[Any], Any]) -> Any:
    import torch
    from PIL import Image

    with Image.open(path) as image:
        return torch.from_numpy(np.array(steps(image.convert("RGB"))))


def _torchvision_file(path: str, steps: Callable[[Any], Any]) -> Any:
    from torchvision import io

    return steps(io.decode_jpeg(io.read_file(path), mode=io.ImageReadMode.RGB))
