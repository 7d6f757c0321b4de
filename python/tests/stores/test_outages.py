"""Epochs from a store that dies, for a while or for good, and from processes that are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import deeplake
import numpy as np
import pytest
from servers import Server

ROWS, BATCH = 512, 16
DEAD = {"name": "dead", "do": {"fault": "refuse"}}


@pytest.fixture
def uri(proxy: Server) -> str:
    """4 MB of rows that count from 0, far more than a loader prefetches."""
    uri = proxy.uri(proxy.new_bucket(), "set")
    with deeplake.create(uri, storage=deeplake.Storage(**proxy.settings())) as ds:
        ds.create_tensor("x", dtype="int64")
        ds.create_tensor("noise", dtype="uint8", chunk_bytes=128 << 10)
        noise = np.random.default_rng(0).integers(0, 256, (ROWS, 8192), np.uint8)
        ds.extend({"x": np.arange(ROWS), "noise": noise})
        ds.commit("rows")
    return uri


def loader_of(uri: str, proxy: Server, retry_time: float) -> deeplake.TorchLoader:
    storage = deeplake.Storage(
        **proxy.settings(through_proxy=True), timeout=1, connect_timeout=1, retry_time=retry_time
    )
    ds = deeplake.open(uri, storage=storage)
    return ds.pytorch(BATCH, shuffle=True, num_workers=2, prefetch=1, shuffle_bytes=1 << 20, fetch_bytes=1 << 20)


def test_a_store_that_comes_back(uri: str, proxy: Server) -> None:
    """An epoch waits, and goes on as if nothing had been."""
    pytest.importorskip("torch")
    want = [batch["x"].tolist() for batch in loader_of(uri, proxy, 30)]
    loader, got = loader_of(uri, proxy, 30), []
    for batch in loader:
        got.append(batch["x"].tolist())
        if len(got) == 3:
            proxy.rules(DEAD)
            threading.Timer(1.5, proxy.rules).start()
    assert proxy.counts()["faults"] > 0
    assert got == want and sorted(x for rows in got for x in rows) == list(range(ROWS))


def test_a_store_that_stays_away(uri: str, proxy: Server) -> None:
    """An epoch ends with an error that says why, and a state goes on when the store is back."""
    pytest.importorskip("torch")
    loader, got = loader_of(uri, proxy, 2), []
    iterator = iter(loader)
    for _ in range(3):
        got.append(next(iterator)["x"].tolist())
    proxy.rules(DEAD)
    began = time.monotonic()
    with pytest.raises(deeplake.StorageError, match=r"cannot be reached|reset|refused|EOF"):
        for batch in iterator:
            got.append(batch["x"].tolist())
    assert time.monotonic() - began < 30
    state = loader.state_dict()
    proxy.rules()
    again = loader_of(uri, proxy, 30)
    again.load_state_dict(state)
    got += [batch["x"].tolist() for batch in again]
    assert sorted(x for rows in got for x in rows) == list(range(ROWS))


@pytest.mark.parametrize("call", ["commit", "append"])
def test_ctrl_c_while_a_store_is_away(uri: str, proxy: Server, call: str) -> None:
    """Ctrl-C ends a write at once, not after retry_time; a later commit keeps the appended rows."""
    storage = deeplake.Storage(**proxy.settings(through_proxy=True), timeout=1, connect_timeout=1, retry_time=60)
    ds = deeplake.open(uri, storage=storage)
    row = {"x": ROWS, "noise": np.zeros(8192, np.uint8)}
    ds.append(row)
    proxy.rules(DEAD)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        if call == "append":  # until it has to wait for the store
            while True:
                ds.extend({"x": np.zeros(512, np.int64), "noise": np.zeros((512, 8192), np.uint8)})
        getattr(ds, call)()
    assert time.monotonic() - began < 30  # half of retry_time
    timer.join()
    proxy.rules()
    ds.commit()
    with deeplake.open(uri, storage=deeplake.Storage(**proxy.settings())) as again:
        assert again["x"][ROWS] == ROWS and len(again) > ROWS


READER = """
import sys
import deeplake
uri, folder, *settings = sys.argv[1:]
if __name__ == "__main__":
    endpoint, region, key, secret = settings
    storage = deeplake.Storage(
        endpoint=endpoint, region=region, credentials={"access_key_id": key, "secret_access_key": secret},
        cache_dir=folder + "/pages", cache_bytes=64 << 20,
    )
    ds = deeplake.open(uri, storage=storage)
    cache = deeplake.Cache(1 << 30, dir=folder + "/samples")
    while True:
        for batch in ds.batches(16, shuffle=True, num_workers=2, cache=cache):
            print(len(batch["x"]), flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="files without a name")
def test_a_kill_leaves_nothing(uri: str, proxy: Server, tmp_path: Path) -> None:
    """No shared memory, lock or temporary file, whenever a reader with both caches is killed."""
    folder, temporary = tmp_path / "caches", tmp_path / "temporary"
    temporary.mkdir()
    settings = proxy.settings()
    credentials = settings["credentials"]
    program = tmp_path / "reader.py"
    program.write_text(READER)
    shared = set(Path("/dev/shm").iterdir())
    for kill in range(4):
        reader = subprocess.Popen(
            [
                sys.executable, str(program), uri, str(folder), settings["endpoint"], settings["region"],
                credentials["access_key_id"], credentials["secret_access_key"],
            ],
            stdout=subprocess.PIPE, env=os.environ | {"TMPDIR": str(temporary)},
        )  # fmt: skip
        assert reader.stdout
        for _ in range(1 + 9 * kill):
            assert reader.stdout.readline()
        reader.send_signal(signal.SIGKILL)
        reader.communicate()
        assert not list(temporary.iterdir())
        names = [path.name for path in folder.rglob("*") if path.is_file()]
        assert not [name for name in names if name.startswith(("page-", "new-", "probe-")) or "lock" in name]
        assert names, "the cache of pages holds something"
    assert set(Path("/dev/shm").iterdir()) <= shared
