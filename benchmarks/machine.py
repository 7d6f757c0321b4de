"""The facts of the machine, and the share of it that other processes used during a measurement."""

from __future__ import annotations

import datetime
import fcntl
import importlib.metadata
import os
import platform
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TICK = os.sysconf("SC_CLK_TCK")
MIB = 1 << 20


def cores() -> int:
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def describe() -> dict[str, object]:
    """Returns the facts that a reader of a figure needs; no names of hosts, users or folders."""
    cpu = re.search(r"^model name\s*:\s*(.*)$", _read("/proc/cpuinfo"), re.MULTILINE)
    memory = re.search(r"^MemTotal:\s*(\d+) kB", _read("/proc/meminfo"), re.MULTILINE)
    return {
        "cpu": cpu.group(1) if cpu else platform.machine(),
        "cores": cores(),
        "memory_gib": round(int(memory.group(1)) / MIB, 1) if memory else None,
        "kernel": platform.release(),
        "file_system": _file_system(ROOT),
        "python": platform.python_version(),
    }


def versions(*packages: str) -> dict[str, str]:
    """Returns the versions of the installed ones of the packages."""
    found = {}
    for name in packages:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def commit() -> str:
    """Returns the commit of the sources, with a + where native or package sources differ from it.

    DEEPLAKE_COMMIT names it where there is no repository.
    """
    given = os.environ.get("DEEPLAKE_COMMIT")
    if given:
        return given
    try:
        head = _git("rev-parse", "--short=10", "HEAD")
        return head + ("+" if _git("status", "--porcelain", "--", "core", "capi", "python") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def today() -> str:
    """Returns the date, in UTC."""
    return datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()


_waited = 0.0  # seconds in `alone`, before the lock


@contextmanager
def alone() -> Iterator[None]:
    """Holds a lock on the file that DEEPLAKE_BENCH_LOCK names, if it names one.

    Commands that take the same lock, as `flock FILE make build`, run between two turns and never beside one.
    """
    global _waited
    name = os.environ.get("DEEPLAKE_BENCH_LOCK")
    if not name:
        yield
        return
    began = time.monotonic()
    with Path(name).open("a") as file:
        time.sleep(0.1)  # a command that waits for the lock gets it first
        fcntl.flock(file, fcntl.LOCK_EX)
        _waited += time.monotonic() - began
        yield


def clock() -> float:
    """Returns the seconds of a clock that stands still while `alone` waits."""
    return time.monotonic() - _waited


class Watch:
    """Measures, between its creation and `stop`, how much of the cores other processes used."""

    def __init__(self) -> None:
        self._begin = time.perf_counter()
        self._busy, self._stolen = _cpu()

    def stop(self, own_seconds: float) -> dict[str, float]:
        """Returns `others` and `stolen` (by other virtual machines) as fractions of all cores.

        Args:
            own_seconds: CPU time that the measured processes used meanwhile.
        """
        room = max(time.perf_counter() - self._begin, 1e-3) * (os.cpu_count() or 1)
        busy, stolen = _cpu()
        others = max(0.0, (busy - self._busy) / TICK - own_seconds)
        return {"others": others / room, "stolen": (stolen - self._stolen) / TICK / room}


def tree(pid: int) -> list[int]:
    """Returns the process and its living descendants."""
    found, queue = [], [pid]
    while queue:
        here = queue.pop()
        found.append(here)
        try:
            for task in Path(f"/proc/{here}/task").iterdir():
                queue += [int(child) for child in (task / "children").read_text().split()]
        except OSError:
            continue  # it is gone
    return found


def cpu_seconds(pid: int) -> float:
    """Returns the user and system time of a process tree, those of its ended children included."""
    total = 0
    for one in tree(pid):
        try:
            # Behind the name, which may hold spaces and brackets: utime, stime, cutime, cstime are
            # fields 14 to 17.
            fields = _read(f"/proc/{one}/stat").rpartition(")")[2].split()
            total += sum(int(field) for field in fields[11:15])
        except (OSError, ValueError):
            continue
    return total / TICK


def tree_memory(pid: int) -> int:
    """Returns the bytes that a process tree holds, memory that several of them share counted once.

    Pages of files (libraries, data) are left out: their share depends on the other processes that map them.
    """
    return sum(map(own_memory, tree(pid)))


def own_memory(pid: int) -> int:
    """Returns the bytes that one process holds, as `tree_memory` counts them; 0 once it is gone."""
    try:
        held = re.findall(r"^Pss_(?:Anon|Shmem):\s*(\d+) kB", _read(f"/proc/{pid}/smaps_rollup"), re.MULTILINE)
    except OSError:
        return 0
    return sum(map(int, held)) * 1024


def memory(pid: int | str = "self") -> dict[str, int]:
    """Returns `now` and `peak`, the resident bytes of one process."""
    status = _read(f"/proc/{pid}/status")
    return {
        key: int(re.search(rf"^{field}:\s*(\d+) kB", status, re.MULTILINE).group(1)) * 1024  # type: ignore[union-attr]
        for key, field in (("now", "VmRSS"), ("peak", "VmHWM"))
    }


def _cpu() -> tuple[int, int]:
    # user nice system idle iowait irq softirq steal
    ticks = [int(field) for field in _read("/proc/stat").split("\n", 1)[0].split()[1:9]]
    return sum(ticks[:3]) + ticks[5] + ticks[6], ticks[7]


def _file_system(path: Path) -> str:
    best, kind = "", "unknown"
    for line in _read("/proc/mounts").splitlines():
        _, mount, this, *_ = line.split()
        if len(mount) >= len(best) and path.is_relative_to(mount):
            best, kind = mount, this
    return kind


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _read(path: str) -> str:
    return Path(path).read_text()
