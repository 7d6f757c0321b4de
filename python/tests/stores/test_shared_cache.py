"""Processes that share a cache directory wait for each other's fetches, unless one dies or stops."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pytest
from servers import Server

ROWS, BATCH = 768, 32

# Says "ready", reads an epoch for each line that comes, and says which rows it had.
READER = """
import json, sys
import deeplake

told = json.loads(sys.argv[1])
ds = deeplake.open(told["uri"], storage=deeplake.Storage(**told["storage"]))
loader = ds.batches(told["batch"], **told["loader"])
print("ready", flush=True)
for line in sys.stdin:
    print(json.dumps([int(row) for batch in loader for row in batch["row"]]), flush=True)
"""

# Reads in a thread, and forks for each line that comes. The child lives until it is killed.
FORKER = """
import json, os, sys, threading, time
import deeplake

told = json.loads(sys.argv[1])
ds = deeplake.open(told["uri"], storage=deeplake.Storage(**told["storage"]))
loader = ds.batches(told["batch"], **told["loader"])
threading.Thread(target=lambda: list(loader), daemon=True).start()
print("ready", flush=True)
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        while True:
            time.sleep(3600)
    print(pid, flush=True)
"""


@pytest.fixture(scope="module")
def uri(s3: Server) -> str:
    """24 MB of noise in chunks of 8 MB, with the number of each row."""
    uri = s3.uri(s3.new_bucket(), "set")
    rng = np.random.default_rng(0)
    with deeplake.create(uri, storage=deeplake.Storage(**s3.settings())) as ds:
        ds.create_tensor("row", dtype="int64")
        ds.create_tensor("x", dtype="uint8")
        ds.extend({"row": np.arange(ROWS), "x": rng.integers(0, 256, (ROWS, 32768), np.uint8)})
        ds.commit("noise")
    return uri


class Reader:
    """A process that reads through the proxy."""

    def __init__(self, program: str, uri: str, server: Server, cache: Path, storage: dict[str, Any], **loader: Any):
        settings = server.settings(through_proxy=True) | {"cache_dir": str(cache), "cache_bytes": 1 << 30} | storage
        told = {"uri": uri, "storage": settings, "batch": BATCH, "loader": loader}
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, json.dumps(told)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.pid = self.process.pid

    def ready(self) -> Reader:
        assert self.answer() == "ready"
        return self

    def go(self) -> Reader:
        assert self.process.stdin
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return self

    def answer(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def rows(self) -> list[int]:
        return list(json.loads(self.answer()))

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def start(uri: str, proxy: Server, tmp_path: Path) -> Iterator[Any]:
    """Starts processes that share a cache, and kills them at the end."""
    with contextlib.ExitStack() as stack:

        def begin(program: str = READER, *, cache: str = "cache", storage: dict[str, Any] | None = None, **loader: Any):
            reader = Reader(program, uri, proxy, tmp_path / cache, storage or {}, **loader)
            stack.callback(reader.kill)
            return reader

        yield begin


def data_bytes(proxy: Server) -> int:
    return sum(request["bytes"] for request in proxy.requests() if "/data/" in request["target"])


def stall(proxy: Server) -> None:
    """Leaves all requests for data without an end until the rules change."""
    proxy.rules({"name": "stall", "path": "/data/", "do": {"fault": "stall", "at": 100_000}})


def await_stall(proxy: Server) -> None:
    """Waits until a request has met the stall."""
    while not proxy.counts()["rules"][0]["hit"]:
        time.sleep(0.01)


def locked(cache: Path) -> bool:
    """Whether a process holds a claim."""
    with (cache / "claims").open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        fcntl.lockf(file, fcntl.LOCK_UN)
        return False


@pytest.mark.parametrize("shares", [True, False], ids=["shares", "all rows"])
@pytest.mark.parametrize("shuffle", [True, False, "full"])
def test_eight_processes_fetch_as_much_as_one(
    start: Any, proxy: Server, tmp_path: Path, shares: bool, shuffle: object
) -> None:
    proxy.profile("s3")
    start(cache="alone", shuffle=shuffle).ready().go().rows()
    alone = data_bytes(proxy)
    assert alone > ROWS * 32768
    ranks = [{"rank": rank, "world_size": 8} if shares else {} for rank in range(8)]
    readers = [start(shuffle=shuffle, **rank) for rank in ranks]
    for reader in readers:
        reader.ready()
    proxy.reset()
    for reader in readers:
        reader.go()
    got = sorted(row for reader in readers for row in reader.rows())
    assert got == sorted(list(range(ROWS)) * (1 if shares else 8))
    assert data_bytes(proxy) <= 1.1 * alone
    assert not locked(tmp_path / "cache")


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSTOP])
def test_a_process_that_ends_in_mid_fetch(start: Any, proxy: Server, tmp_path: Path, end: signal.Signals) -> None:
    """Its claims end with it; those of a stopped process are not waited for long."""
    patient = {"hedge": False, "timeout": 3600}
    first, *others = (start(storage=patient, shuffle=True).ready() for _ in range(3))
    stall(proxy)
    first.go()
    await_stall(proxy)
    assert locked(tmp_path / "cache")
    proxy.rules()
    os.kill(first.pid, end)
    for other in others:
        other.go()
    for other in others:
        assert sorted(other.rows()) == list(range(ROWS))
    assert locked(tmp_path / "cache") == (end == signal.SIGSTOP)


def test_no_claim_outlives_a_process_in_its_forked_children(start: Any, proxy: Server, tmp_path: Path) -> None:
    stall(proxy)
    parent = start(FORKER, storage={"hedge": False, "timeout": 3600}).ready()
    await_stall(proxy)
    child = int(parent.go().answer())
    try:
        assert locked(tmp_path / "cache")
        parent.kill()
        os.kill(child, 0)  # it lives
        assert not locked(tmp_path / "cache")
    finally:
        os.kill(child, signal.SIGKILL)
    proxy.rules()
    assert sorted(start().ready().go().rows()) == list(range(ROWS))


def test_a_forked_child_reads_while_its_parent_does(run_python: Any, uri: str, proxy: Server, tmp_path: Path) -> None:
    settings = proxy.settings(through_proxy=True) | {"cache_dir": str(tmp_path / "cache")}
    proxy.profile("s3")
    done = run_python(
        """
import json, os, sys
import deeplake

ds = deeplake.open(sys.argv[1], storage=deeplake.Storage(**json.loads(sys.argv[2])))
loader = ds.batches(32, shuffle=True)
epoch = iter(loader)
rows = [int(row) for row in next(epoch)["row"]]
pid = os.fork()
if pid == 0:
    loader.set_epoch(1)
    same = sorted(int(row) for batch in loader for row in batch["row"]) == list(range(len(ds)))
    os._exit(0 if same else 1)
rows += [int(row) for batch in epoch for row in batch["row"]]
print(os.waitpid(pid, 0)[1], sorted(rows) == list(range(len(ds))))
""",
        uri,
        json.dumps(settings),
    )
    assert done.stdout.split() == ["0", "True"]


def test_a_directory_without_locks(start: Any, proxy: Server, tmp_path: Path) -> None:
    """A process reads as if it were alone."""
    (tmp_path / "cache" / "claims").mkdir(parents=True)  # no file that can be locked
    stall(proxy)
    first = start(storage={"hedge": False, "timeout": 3600}).ready().go()
    await_stall(proxy)
    proxy.rules()
    assert sorted(start().ready().go().rows()) == list(range(ROWS))
    assert first.process.poll() is None
