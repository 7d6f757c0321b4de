"""Contenders that read sets larger than memory: epochs of stored arrays, and the disk itself."""

from __future__ import annotations

import time
from typing import Any

import data
from loaders import Loop


class Ours:
    """`ds.batches(...)` over a dataset, from its opening on."""

    def __init__(self, uri: str, batch_size: int, shuffle: Any) -> None:
        import deeplake

        self._open, self._uri = deeplake.open, uri
        self._options = {"batch_size": batch_size, "shuffle": shuffle}

    def run(self, epochs: int) -> dict[str, Any]:
        """Runs epochs; `each` has their seconds, `sum` adds up the numbers of the rows."""
        each, rows, total = [], 0, 0
        loader = self._open(self._uri, read_only=True).batches(**self._options)
        for _ in range(epochs):
            begin = time.perf_counter()
            for batch in loader:
                rows += len(batch["number"])
                total += int(batch["number"].sum())
            each.append(time.perf_counter() - begin)
        return {"count": rows, "sum": total, "each": each}


def disk_loop(file: str, threads: int, megabytes: int) -> Loop:
    """The limit: a file read past the page cache by threads that each take the next megabyte."""
    return Loop([str(data.program("read_limit")), "-d", "-t", str(threads), "-m", str(megabytes), "-f", file])
