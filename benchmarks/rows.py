"""Contenders with small samples: epochs over columns of numbers, and torch tensors in memory."""

from __future__ import annotations

from typing import Any


class Ours:
    """`ds.pytorch(...)` over all columns of a dataset."""

    def __init__(self, uri: str, batch_size: int, shuffle: Any) -> None:
        import deeplake
        import torch  # noqa: F401  (in the baseline of memory)

        self._open, self._uri = deeplake.open, uri
        self._options = {"batch_size": batch_size, "shuffle": shuffle}
        self._loader: Any = None

    def run(self, most: int) -> dict[str, Any]:
        """The first `most` rows of an epoch."""
        if self._loader is None:
            self._loader = self._open(self._uri, read_only=True).pytorch(**self._options)
        count = 0
        for batch in self._loader:
            count += len(next(iter(batch.values())))
            if count >= most:
                break
        return {"count": count}


class InMemory:
    """The columns as torch tensors, indexed by parts of a permutation."""

    def __init__(self, uri: str, batch_size: int, shuffle: Any) -> None:
        import deeplake
        import torch

        self._torch, self._batch_size, self._shuffle = torch, batch_size, shuffle
        ds = deeplake.open(uri, read_only=True)
        self._columns = {name: torch.from_numpy(ds[name].numpy()) for name in ds.tensors}

    def run(self, most: int) -> dict[str, Any]:
        """The first `most` rows."""
        rows = len(next(iter(self._columns.values())))
        order = self._torch.randperm(rows) if self._shuffle else self._torch.arange(rows)
        count = 0
        for at in range(0, min(most, rows), self._batch_size):
            part = order[at : at + self._batch_size]
            batch = {name: column[part] for name, column in self._columns.items()}
            count += len(next(iter(batch.values())))
        return {"count": count}
