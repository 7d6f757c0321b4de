"""The figures of a loader: their sums, and their forms for other tools."""

from __future__ import annotations

import gc
import os
import pty
import re
import subprocess
import sys
import time

import deeplake
import numpy as np
import pytest
from conftest import host

ROWS = 64


@pytest.fixture(scope="module")
def ds():
    with deeplake.create("mem://stats", overwrite=True, schema={"x": {"dtype": "float32"}}) as ds:
        ds.extend({"x": np.zeros((ROWS, 16), np.float32)})
        ds.commit()
        yield ds


@pytest.fixture(params=["batches", "pytorch", "jax", "tensorflow"])
def loader(request, ds):
    """A loader of each host, after one epoch."""
    if request.param != "batches":
        host({"pytorch": "torch"}.get(request.param, request.param))
    loader = getattr(ds, request.param)(8, num_workers=2)
    for _ in loader:
        pass
    return loader


def test_stages_add_up(loader):
    stats = loader.stats()
    assert stats["rows"] == ROWS and stats["batches"] == 8 and stats["bytes"] == ROWS * 64
    assert 0 < stats["first_batch_seconds"] <= stats["seconds"]
    assert 0 <= stats["gaps"]["p50_seconds"] <= stats["gaps"]["p99_seconds"] <= stats["gaps"]["longest_seconds"]
    assert 1 <= stats["mean_ready"] <= stats["prefetch"]
    for stage in ("plan", "decode", "consumer"):
        figures = stats[stage]
        assert figures["busy_seconds"] + figures["waiting_seconds"] <= figures["threads"] * stats["seconds"] * 1.01
        assert figures["rows_per_second"] > 0
    assert 0 < stats["python"]["busy_seconds"] <= stats["seconds"]
    assert re.match(r"\w+: ", stats["bottleneck"])


def test_flat_figures_are_numbers(loader):
    flat = loader.stats(flat=True)
    assert flat["rows"] == ROWS and flat["decode/threads"] == 2 and flat["gaps/p99_seconds"] >= 0
    assert all(isinstance(value, int | float) for value in flat.values())
    assert "bottleneck" not in flat


def test_prometheus(loader):
    text = loader.prometheus(job='a "b"\n', **{"run-id": 7})
    lines = text.splitlines()
    assert 'deeplake_loader_rows{job="a \\"b\\"\\n",run_id="7"} 64.0' in lines
    for typed, line in zip(lines[::2], lines[1::2], strict=True):
        name = re.fullmatch(r"# TYPE (deeplake_loader_[a-z0-9_]+) gauge", typed)[1]
        assert re.fullmatch(rf"{name}\{{[^}}]*\}} [0-9.e+-]+", line), line
    assert loader.prometheus().splitlines()[1].startswith("deeplake_loader_epoch 0")


@pytest.mark.alone
def test_a_slow_transform_is_the_bottleneck(ds):
    loader = ds.batches(8, transform={"x": lambda x: time.sleep(0.002) or x})
    for _ in loader:
        pass
    stats = loader.stats()
    assert stats["bottleneck"].startswith("python: ")
    assert stats["python"]["busy_seconds"] >= ROWS * 0.002
    assert not ds.batches(8).stats()["bottleneck"].startswith("python")


@pytest.mark.alone
def test_a_slow_loop_is_the_bottleneck(ds):
    loader = ds.batches(8)
    for _ in loader:
        time.sleep(0.01)
    assert loader.stats()["bottleneck"].startswith("consumer: ")


PROGRESS = """
import sys, time
if {plain}:
    sys.modules["rich"] = None
import deeplake, numpy as np
import deeplake._progress
deeplake._progress._EVERY = 0.01
ds = deeplake.create("mem://bar", schema={{"x": {{"dtype": "int64"}}}})
ds.extend({{"x": np.arange(40)}})
ds.commit()
for _ in ds.batches(4, progress=True):
    time.sleep(0.02)
"""


@pytest.mark.parametrize("plain", [True, False])
def test_a_live_line_on_a_terminal(plain):
    parent, child = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-c", PROGRESS.format(plain=plain)],
        stderr=child,
        env={**os.environ, "COLUMNS": "150", "TERM": "xterm"},
    )
    os.close(child)
    shown = b""
    while True:
        try:
            piece = os.read(parent, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(parent)
    assert done.wait(60) == 0
    text = shown.decode()
    assert "10/10" in text and "rows/s, consumer-bound" in text


def test_nothing_is_shown_elsewhere(run_python):
    assert run_python(PROGRESS.format(plain=True)).stderr == ""


def test_a_loader_begins_in_the_memory_of_the_last_one() -> None:
    """The next loader maps no memory of its own, and frees what batches of the last one gave back."""
    gc.collect()  # loaders of earlier tests would leave their memory in the midst of this one
    with deeplake.create("mem://stats-memory", overwrite=True) as ds:
        ds.create_tensor("x", dtype="uint8")
        ds.extend({"x": np.zeros((400, 100_000), np.uint8)})
        ds.commit()
        for first in (True, False):
            loader = ds.batches(50)
            assert sum(len(batch["x"]) for batch in loader) == 400
            slabs = loader.stats()["slabs"]
            assert slabs["reused"] > 0 and (first or slabs["created"] == 0)
            del loader
        loader = ds.batches(400)
        held = [batch for _ in range(9) for batch in loader]  # 360 MB
        del loader
        loader = ds.batches(2)
        next(iter(loader))
        del held
        assert loader.stats()["slabs"]["bytes"] <= loader.stats()["slabs"]["budget"] == 256 << 20
