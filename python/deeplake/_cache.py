"""What a loader keeps of decoded samples."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deeplake._errors import InvalidArgumentError


@dataclass(frozen=True)
class Cache:
    """Where a loader keeps decoded images, so that later epochs need not decode (nor fetch) them
    again.

    `ds.pytorch(..., cache=deeplake.Cache(8 << 30))` keeps up to 8 GiB in the memory of the process,
    as long as the loader lives; `cache=8 << 30` is short for it. `deeplake.Cache(500 << 30,
    dir="/nvme/pixels")` keeps them in a directory, across runs and shared by all processes of the
    machine; nobody waits for anybody, and a damaged file is decoded again. What came first stays
    when the limit is reached: over repeated passes that gives the most hits.

    Samples are kept as they were decoded, before any random transform. Only tensors whose samples
    are files (JPEG, PNG, WebP) are kept.

    Args:
        bytes: the most that it may take. A picture takes height x width x channels bytes.
        dir: a directory of a local disk; made where it is missing. None keeps in memory.

    Raises:
        InvalidArgumentError: where bytes is no int of at least 1, or dir no path.
    """

    bytes: int
    dir: str | None = None

    # A cache is checked when it is made, long before a loader is: the core has not seen it then.
    def __post_init__(self) -> None:
        if isinstance(self.bytes, bool) or not hasattr(self.bytes, "__index__") or not 1 <= self.bytes < 1 << 62:
            raise InvalidArgumentError(f"cache: bytes is {self.bytes!r}, want an int >= 1")
        object.__setattr__(self, "bytes", int(self.bytes))
        if self.dir is not None:
            if not isinstance(self.dir, str | os.PathLike) or not os.fspath(self.dir):
                raise InvalidArgumentError(f"cache: dir is {self.dir!r}, want a path or None")
            # Absolute: a worker process may stand somewhere else.
            object.__setattr__(self, "dir", str(Path(self.dir).expanduser().absolute()))

    def options(self) -> dict[str, object]:
        """Returns what the core is told."""
        return {"bytes": self.bytes, "dir": self.dir or ""}


def cache_of(value: Any) -> Cache | None:
    """Returns the cache that the argument of a loader means."""
    if value is None or isinstance(value, Cache):
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise InvalidArgumentError(
            f"load: cache is {value!r}, want bytes of memory, deeplake.Cache(bytes, dir=...) or None"
        )
    return Cache(value)
