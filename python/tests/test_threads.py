"""Threads of Python that use one dataset at the same time, with the interpreter's lock and without it."""

from __future__ import annotations

import os
import sys
import sysconfig

import pytest

ROUNDS = int(os.environ.get("DEEPLAKE_THREAD_ROUNDS", "4"))
FREE = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))

# Every worker does its work `rounds` times, all of them at once; what one of them raises is printed
# by its name.
PROGRAM = """
import faulthandler, itertools, random, sys, threading
import numpy as np
import deeplake

faulthandler.dump_traceback_later(50, exit=True)
sys.setswitchinterval(1e-5)
uri, rounds = sys.argv[1], int(sys.argv[2])
START = 120

def rows(numbers):
    numbers = np.asarray(numbers)
    return {"x": numbers, "word": [f"w{n}" for n in numbers], "v": [np.full(n % 5 + 1, n, np.int32) for n in numbers]}

ds = deeplake.create(uri, schema={"x": {"dtype": "int64"}, "word": "text", "v": {"dtype": "int32"}})
ds.extend(rows(np.arange(START)))
ds.commit()
snapshot = ds[:START]
shared = snapshot.batches(7, shuffle=True, collate="list", num_workers=2)

def whole(batches):
    "The rows of a pass, each with what belongs to it."
    seen = []
    for batch in batches:
        for x, word, v in zip(batch["x"], batch["word"], batch["v"]):
            assert word == f"w{x}" and v.tolist() == [x] * (x % 5 + 1), (x, word, v)
            seen.append(int(x))
    return sorted(seen)

def own_loaders(_):
    assert whole(snapshot.batches(16, shuffle="full", collate="list", num_workers=2)) == list(range(START))

def one_loader_for_all(_):
    assert whole(shared) == list(range(START))

def figures(_):
    for _ in range(20):
        shared.stats()
        len(shared), len(ds), repr(ds)

def early_ends(_):
    for batches in range(4):
        assert len(list(itertools.islice(shared, batches))) == batches

def single_rows(round):
    pick = random.Random(round)
    for _ in range(20):
        n = pick.randrange(START)
        row = ds[n]
        assert row["x"] == n and row["word"] == f"w{n}" and ds["word"].bytes(n) == f"w{n}".encode()
    assert ds["x"].numpy()[:START].tolist() == list(range(START))

writing = threading.Lock()  # the numbers that are appended follow each other

def appends(_):
    with writing:
        ds.extend(rows(np.arange(len(ds), len(ds) + 10)))
    ds.commit()

def closed_under_readers(_):
    other = deeplake.open(uri)
    loader = other[:START].batches(3, collate="list", num_workers=2)
    started = threading.Barrier(3)
    def read(ended=[]):
        it = iter(loader)
        next(it)
        started.wait()
        try:
            whole(it)
            other[0]["x"]
        except deeplake.ClosedError:
            pass
    readers = [threading.Thread(target=guarded(read)) for _ in range(2)]
    for reader in readers:
        reader.start()
    started.wait()
    other.close()
    for reader in readers:
        reader.join()

failures = []

def guarded(work, *arguments):
    def run():
        try:
            work(*arguments)
        except BaseException as err:
            failures.append(f"{work.__name__}: {type(err).__name__}: {err}")
    return run

def repeat(work):
    everybody.wait()
    for round in range(rounds):
        work(round)

repeat.__name__ = "a worker"
works = [own_loaders, one_loader_for_all, one_loader_for_all, figures, early_ends, single_rows, appends, appends,
         closed_under_readers]
everybody = threading.Barrier(len(works))
threads = [threading.Thread(target=guarded(repeat, work)) for work in works]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*failures, sep="\\n", end="")
assert not failures, failures
with deeplake.open(uri) as after:
    assert after["x"].numpy().tolist() == list(range(START + 20 * rounds)), after
    assert whole(after.batches(50, collate="list")) == list(range(START + 20 * rounds))
print(getattr(sys, "_is_gil_enabled", lambda: True)())
"""


@pytest.mark.parametrize("store", ["mem", "file"])
def test_threads_share_a_dataset(run_python, tmp_path, store):
    """Passes, single rows, appends, commits and closings at once: every row whole and once, nothing lost, no crash."""
    uri = "mem://threads" if store == "mem" else str(tmp_path / "set")
    done = run_python(PROGRAM, uri, str(ROUNDS))
    assert done.stdout.split() == [str(not FREE)]


@pytest.mark.skipif(not FREE, reason="this interpreter was built with a lock")
def test_the_extension_leaves_the_lock_off(run_python):
    done = run_python("import sys, deeplake; deeplake.create('mem://a').close(); print(sys._is_gil_enabled())")
    assert (done.stdout.strip(), done.stderr) == ("False", "")


def test_what_the_extension_says_of_the_lock(run_python):
    """An interpreter without a lock warns when a module needs it; this one does not, on any interpreter."""
    done = run_python("import warnings; warnings.simplefilter('error'); import deeplake._native")
    assert done.stderr == "" and (sys.version_info >= (3, 13) or not FREE)
