"""Contenders that run Python callables on samples: the loader under test with workers, and torch's DataLoader.

They run in processes of their own (contender.py), so each imports what it needs itself.
"""

from __future__ import annotations

import os
import sysconfig
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import data
import loaders
import numpy as np

SIDE = 224
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
VOCABULARY, TOKENS = 8_000, 256
PAUSE = 0.01  # seconds


def steps(kind: str) -> Callable[[Any], Any]:
    """Returns a callable on one image, uint8 of shape (height, width, 3)."""
    if kind == "torchvision":
        return partial(_torchvision, _vision())
    if kind == "albumentations":
        return partial(_albumentations, _album())
    return {"nothing": _nothing, "pause": _pause}[kind]


def _vision(first: tuple[Any, ...] = ()) -> Any:
    import torch
    from torchvision.transforms import v2

    return v2.Compose(
        [
            *first,
            v2.RandomResizedCrop(SIDE, antialias=True),
            v2.ColorJitter(0.4, 0.4, 0.4),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
        ]
    )


def _torchvision(compose: Any, image: Any) -> Any:
    import torch

    return compose(torch.from_numpy(image).permute(2, 0, 1))


def _album() -> Any:
    os.environ["NO_ALBUMENTATIONS_UPDATE"] = "1"
    import albumentations as A  # noqa: N812
    from albumentations.pytorch import ToTensorV2

    return A.Compose(
        [
            A.RandomResizedCrop((SIDE, SIDE)),
            A.HorizontalFlip(),
            A.ColorJitter(0.4, 0.4, 0.4, 0),
            A.Normalize(MEAN, STD),
            ToTensorV2(),
        ]
    )


def _albumentations(compose: Any, image: Any) -> Any:
    return compose(image=image)["image"]


def _nothing(image: Any) -> Any:
    return image


def _pause(image: Any) -> Any:
    time.sleep(PAUSE)
    return image[0, 0]


def texts() -> list[str]:
    """Returns paragraphs of prose and code: the Python files of the standard library, in pieces of 40 lines."""
    found: list[str] = []
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        lines = path.read_text(errors="replace").splitlines()
        found += ["\n".join(lines[at : at + 40]) for at in range(0, len(lines), 40)]
    return found


def tokenizer() -> Any:
    """Returns a byte-level BPE that was trained on the texts, kept under build/bench."""
    import tokenizers

    path = data.CACHE / "tokenizer.json"
    if not path.exists():
        made = tokenizers.ByteLevelBPETokenizer()
        made.train_from_iterator(texts(), vocab_size=VOCABULARY, show_progress=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        made.save(str(path))
    read = tokenizers.Tokenizer.from_file(str(path))
    read.enable_truncation(TOKENS)
    read.enable_padding(length=TOKENS)
    return read


def _encoded(made: Any, batch: list[str]) -> Any:
    return np.array([one.ids for one in made.encode_batch(batch)], np.int64)


class Ours:
    """`ds.pytorch(transform=callable, python_workers=...)` over images."""

    def __init__(self, uri: str, kind: str | None, batch_size: int, start: str = "forkserver", repeat: int = 1) -> None:
        """Every row comes `repeat` times in an epoch."""
        import deeplake
        import torch  # noqa: F401  (in the baseline of memory)

        self._open, self._uri = deeplake.open, uri
        self._options: dict[str, Any] = {"batch_size": batch_size, "shuffle": True, "worker_start": start}
        self._kind, self._repeat = kind, repeat
        self._loader: Any = None
        self._workers = -1

    def _make(self, workers: int) -> Any:
        how = {} if self._kind is None else {"transform": {"images": steps(self._kind)}, "python_workers": workers}
        ds = self._open(self._uri)
        rows = ds if self._repeat == 1 else ds[np.tile(np.arange(len(ds)), self._repeat)]
        return rows.pytorch(**self._options, **how)

    def run(self, workers: int, most: int = 0) -> dict[str, Any]:
        """One epoch, or its first `most` images."""
        if workers != self._workers:
            self._loader, self._workers = self._make(workers), workers
        count = 0
        for batch in self._loader:
            count += len(batch["images"])
            if most and count >= most:
                break
        return {"count": count}

    def first(self, workers: int) -> dict[str, Any]:
        """From making the loader to the first batch in hand."""
        if self._kind is not None:
            steps(self._kind)  # what a program imports before it makes a loader
        begin = time.perf_counter()
        batches = iter(self._make(workers))
        count = len(next(batches)["images"])
        return {"count": count, "seconds": time.perf_counter() - begin}


class Torch:
    """torch's DataLoader over the files with the same callables: workers that stay, as its pages advise."""

    def __init__(self, name: str, count: int, kind: str, decoder: str, batch_size: int, start: str = "fork") -> None:
        import torch

        warnings.filterwarnings("ignore", message="This DataLoader will create")
        self._torch, self._files, self._batch_size = torch, data.jpegs(name, count), batch_size
        self._kind, self._decoder, self._start = kind, decoder, start
        self._loader: Any = None
        self._made = (-1, 0)

    def run(self, workers: int, most: int = 0) -> dict[str, Any]:
        """One epoch over all images, or over the first `most` of them."""
        if (workers, most) != self._made:
            self._loader, self._made = self._make(workers, most), (workers, most)
        return {"count": sum(len(images) for images, _ in self._loader)}

    def first(self, workers: int) -> dict[str, Any]:
        """From making the loader to the first batch in hand."""
        read = _Read(self._kind, self._decoder)
        begin = time.perf_counter()
        batches = iter(self._make(workers, 0, read))
        count = len(next(batches)[0])
        return {"count": count, "seconds": time.perf_counter() - begin}

    def _make(self, workers: int, most: int, read: Any = None) -> Any:
        paths = [str(path) for path in self._files.paths[: most or None]]
        return self._torch.utils.data.DataLoader(
            loaders.FileDataset(paths, self._files.labels, read or _Read(self._kind, self._decoder)),
            batch_size=self._batch_size,
            shuffle=True,
            num_workers=workers,
            persistent_workers=workers > 0,
            multiprocessing_context=self._start if workers else None,
        )


class _Read:
    """Reads a file and transforms it."""

    def __init__(self, kind: str, decoder: str) -> None:
        self._kind, self._decoder = kind, decoder
        self._steps = steps(kind) if decoder == "OpenCV" else _vision()

    def __call__(self, path: str) -> Any:
        if self._decoder == "OpenCV":
            import cv2

            cv2.setNumThreads(0)
            return self._steps(cv2.imread(path, cv2.IMREAD_COLOR_RGB))
        if self._decoder == "torchvision":
            return self._steps(loaders.reader("torchvision")[0](path))
        from PIL import Image

        with Image.open(path) as image:
            return self._steps(image.convert("RGB"))


class OursText:
    """`ds.pytorch(transform={"texts": tokenizer}, batched=True)`."""

    def __init__(self, uri: str, batch_size: int) -> None:
        import deeplake
        import torch  # noqa: F401

        self._open, self._uri, self._batch_size = deeplake.open, uri, batch_size
        self._loader: Any = None
        self._workers = -1

    def run(self, workers: int, most: int = 0) -> dict[str, Any]:
        """One epoch."""
        if workers != self._workers:
            how: dict[str, Any] = {"transform": {"texts": partial(_encoded, tokenizer())}, "batched": True}
            self._loader = self._open(self._uri).pytorch(
                batch_size=self._batch_size, shuffle=True, python_workers=workers, **how
            )
            self._workers = workers
        return {"count": sum(len(batch["texts"]) for batch in self._loader)}


class TorchText:
    """torch's DataLoader over a list of texts in memory, with a collate function that encodes a batch."""

    def __init__(self, copies: int, batch_size: int) -> None:
        import torch

        self._torch, self._batch_size = torch, batch_size
        self._texts = texts() * copies
        self._loader: Any = None
        self._workers = -1

    def run(self, workers: int, most: int = 0) -> dict[str, Any]:
        """One epoch."""
        if workers != self._workers:
            encode = partial(_encoded, tokenizer())
            self._loader = self._torch.utils.data.DataLoader(
                self._texts,
                batch_size=self._batch_size,
                shuffle=True,
                num_workers=workers,
                persistent_workers=workers > 0,
                collate_fn=lambda batch: self._torch.from_numpy(encode(batch)),
            )
            self._workers = workers
        return {"count": sum(len(batch) for batch in self._loader)}


class AloneText:
    """The limit: the tokenizer over texts in memory, on its own threads, and nothing else."""

    def __init__(self, copies: int, batch_size: int) -> None:
        every = texts() * copies
        self._batches = [every[at : at + batch_size] for at in range(0, len(every), batch_size)]
        self._encode = partial(_encoded, tokenizer())

    def run(self, workers: int, most: int = 0) -> dict[str, Any]:
        """One epoch. The tokenizer takes all cores; `workers` is for the loaders."""
        return {"count": sum(len(self._encode(batch)) for batch in self._batches)}
