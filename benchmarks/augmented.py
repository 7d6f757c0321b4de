"""Contenders that load random crops: the loader under test and torch's DataLoader with torchvision's transforms.

They run in processes of their own (contender.py), so each imports what it needs itself.
"""

from __future__ import annotations

import io
import warnings
from typing import Any

import data
import loaders
import numpy as np
from adapters import crops

SIDE = 224
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
PLAIN = "OpenCV, not antialiased"  # cropped and resized by OpenCV, too: the fastest way with torch
CORNERS = 64  # rows whose crops are compared with torchvision's


class Augmented:
    """`ds.pytorch(transform=)`: RandomResizedCrop(224) and HorizontalFlip, and Normalize and CHW where `floats`."""

    def __init__(self, uri: str, batch_size: int, workers: int, floats: bool = False, cache: int = 0) -> None:
        import deeplake
        import torch  # noqa: F401  (in the baseline of memory)

        options: dict[str, Any] = {"batch_size": batch_size, "num_workers": workers, "shuffle": True}
        options |= {"tensors": ["images", "labels"], "transform": {"images": self._steps(floats)}, "seed": 0}
        self._uri, self._options, self._cache = uri, options, cache or None
        self._open = deeplake.open
        self._loader: Any = None

    @staticmethod
    def _steps(floats: bool) -> list[Any]:
        from deeplake import transforms as T  # noqa: N812

        steps: list[Any] = [T.RandomResizedCrop(SIDE), T.HorizontalFlip()]
        return [*steps, T.Normalize(mean=MEAN, std=STD), T.CHW()] if floats else steps

    def run(self) -> dict[str, Any]:
        """One epoch."""
        if self._loader is None:
            self._loader = self._open(self._uri).pytorch(**self._options, cache=self._cache)
        count = 0
        for batch in self._loader:
            count += len(batch["images"])
        return {"count": count}

    def stats(self) -> dict[str, Any]:
        """Returns the statistics of the loader after the last epoch."""
        return {"stats": self._loader.stats()} if self._loader is not None else {}

    def check(self, name: str, count: int) -> dict[str, Any]:
        """One epoch of uint8 crops, CORNERS of them compared with how torchvision crops the same files."""
        files = data.jpegs(name, count)
        seen, labels_wrong, furthest, apart = np.zeros(count, np.int64), 0, 0, 0.0
        wanted = _expected(files, self._steps(False), min(CORNERS, count))
        for batch in self._open(self._uri).pytorch(**self._options, return_index=True):
            rows = batch["_index"].tolist()
            for row, image, label in zip(rows, batch["images"], batch["labels"].tolist(), strict=True):
                seen[row] += 1
                labels_wrong += label != files.labels[row]
                if row in wanted:
                    off = np.abs(image.numpy().astype(np.int16) - wanted[row])
                    furthest, apart = max(furthest, int(off.max())), max(apart, float(off.mean()))
        return {"once": bool((seen == 1).all()), "labels_wrong": labels_wrong, "furthest": furthest, "mean": apart}


def _expected(files: data.JpegSet, steps: list[Any], count: int) -> dict[int, Any]:
    """Returns torchvision's crops of the first files, drawn as ours are in epoch 0 with seed 0.

    The draw is a function of seed, epoch, row and the tensor's name, so a small dataset of the same rows is
    cropped alike; two corners of each picture, moved along as points, say how.
    """
    import deeplake
    from deeplake import transforms as T  # noqa: N812
    from PIL import Image
    from torchvision.transforms.v2 import functional as F  # noqa: N812

    height, width, _ = files.shape
    ds = deeplake.create("mem://corners")
    ds.create_tensor("images", htype="image.rgb", compression="jpeg")
    ds.create_tensor("corners", htype="point", dtype="float64")
    encoded = [path.read_bytes() for path in files.paths[:count]]
    corners = np.array([[0, 0], [width, height]], np.float64)
    ds.extend({"images": [deeplake.read(one) for one in encoded], "corners": [corners] * count})
    ds.commit()
    moved = T.Joint(image="images", keypoints="corners", ops=steps)
    found = {}
    for batch in ds.batches(batch_size=count, transform=moved, seed=0, return_index=True):
        for row, (begin, end) in zip(batch["_index"].tolist(), batch["corners"], strict=True):
            flipped = end[0] < begin[0]  # a point at x goes to width - 1 - x, as torchvision has it
            x0, x1 = (SIDE - 1 - begin[0], SIDE - 1 - end[0]) if flipped else (begin[0], end[0])
            w, h = round(SIDE * width / (x1 - x0)), round(SIDE * height / (end[1] - begin[1]))
            left, top = round(-x0 * w / SIDE), round(-begin[1] * h / SIDE)
            with Image.open(io.BytesIO(encoded[row])) as image:
                pixels = F.pil_to_tensor(image.convert("RGB"))
            crop = F.resized_crop(pixels, top, left, h, w, [SIDE, SIDE], antialias=True)
            crop = F.horizontal_flip(crop) if flipped else crop
            found[row] = crop.permute(1, 2, 0).numpy().astype(np.int16)
    return found


class TorchAugmented:
    """torch's DataLoader over the files: workers that stay, torchvision.transforms.v2 in each, as its pages advise.

    PIL crops its own images, torchvision those of torchvision and OpenCV as uint8 tensors. PLAIN leaves
    torchvision out.
    """

    def __init__(self, name: str, count: int, batch_size: int, decoder: str) -> None:
        import torch
        from torchvision.transforms import v2

        warnings.filterwarnings("ignore", message="This DataLoader will create")
        self._torch, self._files, self._batch_size = torch, data.jpegs(name, count), batch_size
        self._decoder = decoder
        steps = [v2.RandomResizedCrop(SIDE, antialias=True), v2.RandomHorizontalFlip()]
        if decoder == PLAIN:
            self._read = crops.reader("OpenCV", SIDE)
        else:
            self._read = {"PIL": _Pil, "torchvision": _Torchvision, "OpenCV": _OpenCV}[decoder](steps)
        self._loader: Any = None
        self._made = (-1, 0)  # workers and images of the loader

    def run(self, workers: int, most: int = 0) -> dict[str, Any]:
        """One epoch over all images, or over the first `most` of them. It is never broken off, as in TorchFiles."""
        if (workers, most) != self._made:
            self._loader, self._made = self._make(workers, most), (workers, most)
        want = (SIDE, SIDE, 3) if self._decoder == PLAIN else (3, SIDE, SIDE)
        count = 0
        for images, _ in self._loader:
            assert images.dtype == self._torch.uint8 and tuple(images.shape[1:]) == want
            count += len(images)
        return {"count": count}

    def _make(self, workers: int, most: int) -> Any:
        paths = self._files.paths[: most or None]
        return self._torch.utils.data.DataLoader(
            loaders.FileDataset([str(path) for path in paths], self._files.labels, self._read),
            batch_size=self._batch_size,
            shuffle=True,
            num_workers=workers,
            persistent_workers=workers > 0,
        )


class _Reader:
    """Reads a file and transforms it; workers take a copy."""

    def __init__(self, steps: list[Any]) -> None:
        from torchvision.transforms import v2

        self._steps = v2.Compose(steps)


class _Pil(_Reader):
    def __init__(self, steps: list[Any]) -> None:
        from torchvision.transforms import v2

        super().__init__([*steps, v2.PILToTensor()])

    def __call__(self, path: str) -> Any:
        from PIL import Image

        with Image.open(path) as image:
            return self._steps(image.convert("RGB"))


class _Torchvision(_Reader):
    def __call__(self, path: str) -> Any:
        return self._steps(loaders.reader("torchvision")[0](path))


class _OpenCV(_Reader):
    def __call__(self, path: str) -> Any:
        return self._steps(loaders.reader("OpenCV")[0](path).permute(2, 0, 1))
