"""Contenders for small records and for single steps. They run in processes of their own (contender.py)."""

from __future__ import annotations

import os
import threading
import time
import zlib
from itertools import islice
from pathlib import Path
from typing import Any

import data
import machine
import numpy as np

TOKENS = 77  # of a caption, as CLIP's text encoder takes them


def captions(count: int) -> Any:
    """Returns the captions of a set, int32, shape (count, TOKENS)."""
    return np.random.default_rng(3).integers(0, 49_408, (count, TOKENS), np.int32)


def make_pairs(files: data.JpegSet) -> Path:
    """Returns a dataset of the set's pictures with captions, files as they are."""

    def build(folder: Path) -> None:
        import deeplake

        ds = deeplake.create(str(folder))
        ds.create_tensor("images", htype="image.rgb", compression="jpeg")
        ds.create_tensor("captions", dtype="int32", shape=(TOKENS,))
        texts = captions(files.count)
        for begin in range(0, files.count, 1000):
            paths = files.paths[begin : begin + 1000]
            pictures = [deeplake.read(path) for path in paths]
            ds.extend({"images": pictures, "captions": texts[begin : begin + len(paths)]})
        ds.commit()

    return data.dataset(files.root / "pairs", build)


class Pairs:
    """`ds.pytorch(...)` over pictures with captions, shuffled; `decode` gives pixels instead of files."""

    def __init__(self, uri: str, batch_size: int, workers: int, decode: bool, one_core: bool = False) -> None:
        if one_core:  # before any thread is there, so that all of them stay on it
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        import deeplake
        import torch  # noqa: F401  (in the baseline of memory)

        self._ds, self._pixels = deeplake.open(uri), decode
        options: dict[str, Any] = {"batch_size": batch_size, "num_workers": workers, "shuffle": True}
        self._options = options if decode else options | {"decode": {"images": "bytes"}}
        self._loader = self._ds.pytorch(**self._options)

    def run(self, epochs: int) -> dict[str, Any]:
        """Some epochs; every file or picture is in the caller's hands as a Python object of the batch."""
        count = 0
        for _ in range(epochs):
            for batch in self._loader:
                assert len(batch["images"]) == len(batch["captions"])
                count += len(batch["captions"])
        return {"count": count}

    def check(self, name: str, count: int) -> dict[str, Any]:
        """One epoch with every byte, pixel and token compared."""
        files, wanted = data.jpegs(name, count), captions(count)
        seen, differ = np.zeros(count, np.int64), 0
        for batch in self._ds.pytorch(**self._options, return_index=True):
            rows = batch["_index"].tolist()
            for row, image, caption in zip(rows, batch["images"], batch["captions"], strict=True):
                seen[row] += 1
                right = np.array_equal(caption.numpy(), wanted[row])
                if self._pixels:
                    right &= zlib.crc32(image.numpy()) == files.pixels[row]
                else:
                    right &= bytes(image) == files.paths[row].read_bytes()
                differ += not right
        return {"once": bool((seen == 1).all()), "differ": differ}


class Steps:
    """One loader, looked at step by step."""

    def __init__(self, uri: str, batch_size: int, workers: int, prefetch: int = 4) -> None:
        import deeplake
        import torch  # noqa: F401  (in the baseline of memory)

        self._loader = deeplake.open(uri).pytorch(
            batch_size=batch_size, num_workers=workers, prefetch=prefetch, shuffle=True
        )
        self._prefetch = prefetch

    def ready(self, steps: int) -> dict[str, Any]:
        """Times `next` for batches that lie ready, as they do where a model is slower than the loader.

        `idle`: as many are ready as the loader makes ahead, and it rests; `busy`: the threads make another meanwhile.
        """
        idle, busy = [], []
        while min(len(idle), len(busy)) < steps:
            batches = iter(self._loader)
            next(batches)
            for _ in range(
                (len(self._loader) - self._prefetch) // 2 - 1
            ):  # two steps a turn, and all are ready at its end
                self._await(self._prefetch)
                idle.append(_seconds(batches))
                self._await(1)
                busy.append(_seconds(batches))
                if min(len(idle), len(busy)) >= steps:
                    break
            batches.close()
        return {"idle": idle, "busy": busy, "plain": self._plain(steps)}

    def _plain(self, steps: int) -> list[float]:
        """Times what no loader can do without: `next` of a generator that makes tensors of two arrays at hand.

        The loader goes on meanwhile, so that the caches are as they are above.
        """
        import torch

        def plain() -> Any:
            while True:
                yield {"images": torch.from_numpy(images), "labels": torch.from_numpy(labels)}

        images, labels, took = np.zeros((8, 250, 250, 3), np.uint8), np.zeros(8, np.int64), []
        while len(took) < steps:
            batches, control = iter(self._loader), plain()
            for _ in range(len(self._loader) - self._prefetch - 1):
                next(batches)
                self._await(self._prefetch)
                took.append(_seconds(control))
            batches.close()
        return took[:steps]

    def _await(self, wanted: int) -> None:
        deadline = time.monotonic() + 30
        while self._loader.stats()["ready"] < wanted:
            assert time.monotonic() < deadline, f"{wanted} batches were not ready in 30 s: {self._loader.stats()}"
            time.sleep(1e-3)

    def grow(self, epochs: int) -> dict[str, Any]:
        """Goes through epochs, some left early, some begun twice at once; says what has grown by then.

        Half as many go before them: what is used again has to be there first, the memory of as many batches as are ever
        on their way at once, and as many threads of the system as ever wait in calls at once.
        """
        before: dict[str, int] = {}
        both = [iter(self._loader), iter(self._loader)]
        held = [next(one) for one in both]
        self._await(self._prefetch)
        # A loop lets go of a batch once it has the next: between the two, all is there that ever
        # is.
        taken = [next(one) for one in both]
        self._await(self._prefetch)
        del both, held, taken
        for number in range(-(epochs // 2), epochs):
            if number == 0:
                before = _holds()
            if number % 4 == 1:
                for _ in islice(self._loader, 3):  # left: the generator goes with the loop
                    pass
            elif number % 4 == 3:
                first, second = iter(self._loader), iter(self._loader)
                next(first), next(second)
                second.close()
                sum(1 for _ in first)
            else:
                sum(1 for _ in self._loader)
        after = _holds()
        return {name: after[name] - before[name] for name in after}


def _seconds(batches: Any) -> float:
    begin = time.perf_counter()
    batch = next(batches)
    took = time.perf_counter() - begin
    del batch
    return took


def _holds() -> dict[str, int]:
    """Returns what this process holds: threads of the system and of Python, open files, resident bytes."""
    return {
        "threads": len(list(Path("/proc/self/task").iterdir())),
        "python_threads": threading.active_count(),
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "bytes": machine.memory()["now"],
    }


class Training:
    """Steps of a small convolutional network on the CPU, fed by the loader."""

    def __init__(
        self,
        uri: str,
        batch_size: int,
        workers: int,
        storage: dict[str, Any] | None = None,
        memory: bool = False,
        resident: bool = False,
    ) -> None:
        import deeplake
        import torch

        torch.manual_seed(0)
        torch.set_num_threads(machine.cores())
        settings = deeplake.Storage(**storage) if storage else None
        if memory:
            deeplake.copy(uri, "mem://training")
            uri = "mem://training"
        self._torch, self._resident, self._batches = torch, resident, []
        self._open = lambda: deeplake.open(uri, storage=settings).pytorch(
            batch_size=batch_size, num_workers=workers, shuffle=True, drop_last=True
        )
        layers: list[Any] = []
        for inner, outer, side, stride in ((3, 32, 5, 4), (32, 64, 3, 2), (64, 64, 3, 2)):
            layers += [torch.nn.Conv2d(inner, outer, side, stride=stride, padding=side // 2), torch.nn.ReLU()]
        layers += [torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(64, 10)]
        self._model = torch.nn.Sequential(*layers)
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=0.01)

    def run(self, steps: int) -> dict[str, Any]:
        """Opens the dataset anew and trains: the seconds are those from the first batch in hand to the last step."""
        begin, done, count, started, cpu = time.perf_counter(), 0, 0, 0.0, 0.0
        for batch in self._stream(steps):
            if not started:
                started, cpu = time.perf_counter(), machine.cpu_seconds(os.getpid())
            images = batch["images"].permute(0, 3, 1, 2).float().div_(255)
            labels = batch["labels"].reshape(-1).long()
            self._optimizer.zero_grad()
            loss = self._torch.nn.functional.cross_entropy(self._model(images), labels)
            loss.backward()
            self._optimizer.step()
            done += 1
            count += len(labels)
            if done == steps:
                break
        assert self._torch.isfinite(loss), "the loss is not finite"
        seconds = time.perf_counter() - started
        return {
            "steps": done,
            "count": count,
            "first": started - begin,
            "seconds": seconds,
            "cpu": machine.cpu_seconds(os.getpid()) - cpu,
        }

    def _stream(self, steps: int) -> Any:
        if not self._resident:
            return self._open()
        if not self._batches:
            self._batches = [
                {name: tensor.clone() for name, tensor in batch.items()} for batch in islice(self._open(), steps)
            ]
        return self._batches


class Limit:
    """The bare loop over libjpeg-turbo, several times over the set."""

    def __init__(self, name: str, count: int, threads: int) -> None:
        import loaders

        self._loop = loaders.jpeg_loop(name, count, threads)

    def run(self, epochs: int) -> dict[str, Any]:
        turns = [self._loop.run() for _ in range(epochs)]
        return {key: sum(turn[key] for turn in turns) for key in ("count", "seconds")}
