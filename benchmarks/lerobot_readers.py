"""Contenders over a LeRobot dataset: windows of ours, and LeRobot's own dataset in torch's DataLoader.

They run in processes of their own (contender.py), LeRobot's in an interpreter of its own, so this module imports at its
top only what both have.
"""

from __future__ import annotations

import multiprocessing
import time
from typing import Any

Deltas = dict[str, list[float]]


class Import:
    """Makes a dataset of a LeRobot dataset, linked in place."""

    def __init__(self, source: str, uri: str) -> None:
        import deeplake

        self._make = lambda: deeplake.ingest(source, uri, link=True, overwrite=True, verbose=False)

    def run(self) -> dict[str, Any]:
        ds = self._make()
        found = {"rows": len(ds), "tensors": sorted(ds.tensors)}
        ds.close()
        return found


class Windows:
    """`ds.windows(...).pytorch(...)` of ours over some rows of all windows.

    `floats` has the loader make float32 pictures from 0 to 1, channels first, as LeRobot's are.
    """

    def __init__(
        self,
        uri: str,
        times: dict[str, Any],
        cameras: list[str],
        fps: float,
        rows: list[int],
        batch_size: int,
        workers: int,
        floats: bool = False,
    ) -> None:
        import deeplake
        import torch  # noqa: F401  (in the baseline of memory)
        from deeplake import transforms

        options: dict[str, Any] = {"batch_size": batch_size, "num_workers": workers, "shuffle": True}
        if floats:
            options["transform"] = {name: [transforms.CHW(), transforms.ToFloat()] for name in cameras}

        def make() -> Any:
            view = deeplake.open(uri, read_only=True).windows(times, fps=fps)
            return view[rows].pytorch(tensors=[*times, *_pads(times), "task"], **options)

        self._new, self._camera = make, cameras[0]
        self._kept: Any = None

    def run(self) -> dict[str, Any]:
        """One epoch of a loader that is kept."""
        if self._kept is None:
            self._kept = self._new()
        return {"count": sum(len(batch[self._camera]) for batch in self._kept)}

    def first(self) -> dict[str, Any]:
        """From opening the dataset to the first batch in hand."""
        self._kept = None
        begin = time.perf_counter()
        batches = iter(self._new())
        count = len(next(batches)[self._camera])
        seconds = time.perf_counter() - begin
        batches.close()
        return {"count": count, "seconds": seconds}

    def anew(self) -> dict[str, Any]:
        """One epoch, the dataset opened for it. `first` is the time until its first batch."""
        self._kept = None
        begin, first, count = time.perf_counter(), 0.0, 0
        for batch in self._new():
            first = first or time.perf_counter() - begin
            count += len(batch[self._camera])
        return {"count": count, "first": first, "total": time.perf_counter() - begin}

    def shape(self) -> dict[str, Any]:
        """Returns the type and shape of the first camera in a batch."""
        pictures = next(iter(self._new()))[self._camera]
        return {"dtype": str(pictures.dtype), "shape": list(pictures.shape)}


def _pads(times: dict[str, Any]) -> list[str]:
    return [f"{name}_is_pad" for name, value in times.items() if isinstance(value, list)]


class LeRobot:
    """`LeRobotDataset` in a DataLoader with the options of LeRobot's training script, workers that stay added.

    Without them each epoch would begin with new processes that open all decoders again.
    """

    def __init__(
        self, root: str, deltas: Deltas, rows: list[int], batch_size: int, workers: int, backend: str | None = None
    ) -> None:
        import torch
        from lerobot.datasets.lerobot_dataset import LeRobotDataset

        if torch.multiprocessing.get_sharing_strategy() == "file_descriptor":
            _raise_files()
        options = {"num_workers": workers, "persistent_workers": workers > 0}
        if workers:
            options["prefetch_factor"] = 2

        def make() -> Any:
            whole = LeRobotDataset("local/set", root=root, delta_timestamps=deltas, video_backend=backend)
            of = torch.utils.data.Subset(whole, rows)
            return torch.utils.data.DataLoader(of, batch_size=batch_size, shuffle=True, **options)

        self._new, self._cameras = make, [name for name in deltas if ".images." in name]
        self._kept: Any = None

    def run(self) -> dict[str, Any]:
        """One epoch of a loader that is kept."""
        if self._kept is None:
            self._kept = self._new()
        return {"count": sum(len(batch["index"]) for batch in self._kept)}

    def first(self) -> dict[str, Any]:
        """From opening the dataset to the first batch in hand."""
        self._kept = None
        begin = time.perf_counter()
        batches = iter(self._new())
        count = len(next(batches)["index"])
        seconds = time.perf_counter() - begin
        del batches
        for child in multiprocessing.active_children():
            child.join(10)
        return {"count": count, "seconds": seconds}

    def shape(self) -> dict[str, Any]:
        """Returns the type and shape of the first camera in a batch."""
        pictures = next(iter(self._new()))[self._cameras[0]]
        return {"dtype": str(pictures.dtype), "shape": list(pictures.shape)}


def _raise_files() -> None:
    import resource

    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Items:
    """Items of LeRobot's class, written by `lerobot_oracle.py`."""

    def run(self, root: str, deltas: Deltas, rows: list[int], path: str, backend: str | None = None) -> dict[str, Any]:
        import lerobot_oracle
        import numpy as np

        found: dict[str, Any] = lerobot_oracle.items(root, deltas, rows, backend)
        np.savez(path, **found)
        return {"count": len(rows)}
