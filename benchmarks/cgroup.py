"""Memory limits for contenders, and the page cache: the means to measure sets that do not fit into memory."""

from __future__ import annotations

import ctypes
import mmap
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from environments import MissingError

ROOT = Path("/sys/fs/cgroup")


class MemoryGroup:
    """A control group whose processes share at most `limit` bytes, the pages of the files they read included.

    A context manager. Limits hold for processes and pages that join after its creation.

    Raises:
        MissingError: this user may not create control groups.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        legacy = (ROOT / "memory").is_dir()
        self._path = (ROOT / "memory" if legacy else ROOT) / f"deeplake-bench-{os.getpid()}"
        try:
            self._path.mkdir(exist_ok=True)
            (self._path / ("memory.limit_in_bytes" if legacy else "memory.max")).write_text(str(limit))
        except OSError as error:
            with suppress(OSError):
                self._path.rmdir()
            raise MissingError(f"no control group limits memory here ({error.strerror}); run as root") from error

    def killed(self) -> int:
        """Returns how many processes the kernel has killed because the group had no memory left."""
        for name in ("memory.events", "memory.oom_control"):
            with suppress(OSError):
                for line in (self._path / name).read_text().splitlines():
                    if line.startswith("oom_kill "):
                        return int(line.split()[1])
        return 0

    def add(self, pid: int) -> None:
        """Moves a process into the group; its later children follow."""
        (self._path / "cgroup.procs").write_text(str(pid))

    def __enter__(self) -> MemoryGroup:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._path.rmdir()


def drop(folder: Path) -> None:
    """Writes the files below a folder to the disk and drops them from the page cache.

    Raises:
        MissingError: more than a hundredth of their bytes stays.
    """
    cached = whole = 0
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        opened = os.open(path, os.O_RDWR)
        try:
            os.fsync(opened)
            os.posix_fadvise(opened, 0, 0, os.POSIX_FADV_DONTNEED)
            size = os.fstat(opened).st_size
            whole += size
            cached += _cached(opened, size)
        finally:
            os.close(opened)
    if cached > whole / 100:
        raise MissingError(f"the page cache keeps {cached:,} of {whole:,} bytes")


def _cached(opened: int, size: int) -> int:
    """Returns how many bytes of a file are in the page cache, in whole pages."""
    if not size:
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    pages = -(-size // mmap.PAGESIZE)
    seen = (ctypes.c_ubyte * pages)()
    # writable, because ctypes takes the address of no other buffer; nothing writes to it
    with mmap.mmap(opened, size) as mapped:
        first = ctypes.c_char.from_buffer(mapped)
        failed = libc.mincore(ctypes.c_void_p(ctypes.addressof(first)), ctypes.c_size_t(size), seen)
        del first
    if failed:
        raise OSError(ctypes.get_errno(), "mincore")
    return sum(page & 1 for page in seen) * mmap.PAGESIZE
