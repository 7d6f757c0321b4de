"""The cache of a loader for decoded samples."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deeplake._checks import integer
from deeplake._errors import InvalidArgumentError


@dataclass(frozen=True)
class Cache:
    """The place and the size of a loader's cache of decoded images.

    `cache=8 << 30` is short for `cache=deeplake.Cache(8 << 30)`. Later epochs neither decode nor
    fetch cached samples. A cache in memory lives as long as its loader. A cache in a directory
    serves later runs and all processes of the machine; no process waits for another, and a damaged
    file is decoded again. A full cache keeps its first samples, which gives the most hits over
    repeated passes.

    Samples are cached before any random transform. Only tensors of encoded files (JPEG, PNG, WebP)
    are cached.

    Args:
        bytes: the most bytes to use, at least 1. An image takes height x width x channels bytes.
        dir: a directory of a local disk, which is created if it is missing. No other account may
            own or write it. None caches in memory.

    Raises:
        InvalidArgumentError: bytes is no int of at least 1, or dir is no path.

    Example:
        ds.pytorch(256, cache=deeplake.Cache(500 << 30, dir="/nvme/pixels"))
    """

    bytes: int
    dir: str | None = None

    # A cache is checked when it is made, long before a loader is: the core has not seen it then.
    def __post_init__(self) -> None:
        size = integer(self.bytes)
        if size is None or not 1 <= size < 1 << 62:
            raise InvalidArgumentError(f"cache: bytes is {self.bytes!r}, want an int >= 1")
        object.__setattr__(self, "bytes", size)
        if self.dir is not None:
            if not isinstance(self.dir, str | os.PathLike) or not os.fspath(self.dir):
                raise InvalidArgumentError(f"cache: dir is {self.dir!r}, want a path or None")
            # Absolute: a worker process may stand somewhere else.
            object.__setattr__(self, "dir", str(Path(self.dir).expanduser().absolute()))

    def options(self) -> dict[str, object]:
        """Returns the options of the core."""
        return {"bytes": self.bytes, "dir": self.dir or ""}


def cache_of(value: Any) -> Cache | None:
    """Returns the cache that an argument of a loader means."""
    if value is None or isinstance(value, Cache):
        return value
    if (size := integer(value)) is None:
        raise InvalidArgumentError(
            f"load: cache is {value!r}, want bytes of memory, deeplake.Cache(bytes, dir=...) or None"
        )
    return Cache(size)
