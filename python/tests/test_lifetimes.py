"""Memory that Python code drops or changes while the core uses it. A crash ends an interpreter of its own."""

from __future__ import annotations

import deeplake
import numpy as np
import pytest

# Freed memory is overwritten, so that a use of it is seen at once.
POISON = """
import ctypes, faulthandler, gc, random, sys, threading
ctypes.CDLL(None).mallopt(-6, 165)  # M_PERTURB
faulthandler.enable()
faulthandler.dump_traceback_later(55, exit=True)
sys.setswitchinterval(1e-5)
import numpy as np
import deeplake
from deeplake import tql
"""

DROPS = """
DROPS, WORKERS = 1000, 4
ds = deeplake.create("mem://drops", schema={"x": {"dtype": "int64"}})
ds.extend({"x": np.arange(140_000)})
ds.commit()
asking = threading.Lock()

def view_of(name):
    def wide(x):  # each query has a function of its own, freed with its view
        return np.broadcast_to(x[:, None], (len(x), 64)).copy()
    with asking:
        tql.register(name, wide, returns="int64", shape=(64,), overwrite=True)
        view = ds.query(f"SELECT {name}(x) AS y")  # so large that it is computed when it is read
        view.batches(8)._plan.native()
        return view

def drop(n, name):
    view = view_of(name)
    loader = (view[10:70_000] if n % 3 else view).batches(8, num_workers=2)._plan.native()
    epoch = loader.start({"epoch": 0})
    if n % 2:
        next(epoch)
    held = [view, loader, epoch]
    del view, loader, epoch
    if n % 8 == 7:
        held.append(held)  # the collector drops them, perhaps within a function
        return
    random.Random(n).shuffle(held)
    while held:
        held.pop()

failed = []
def work(k):
    try:
        for n in range(k, DROPS, WORKERS):
            drop(n, f"F{k}")
    except BaseException as error:
        failed.append(error)
        raise
threads = [threading.Thread(target=work, args=(k,)) for k in range(WORKERS)]
for t in threads: t.start()
for t in threads: t.join()
gc.collect()
assert not failed, failed
print("whole")
"""

INSIDE = """
ds = deeplake.create("mem://inside", schema={"x": {"dtype": "int64"}})
ds.extend({"x": np.arange(140_000)})
ds.commit()
held, kept, dropped = [], threading.Event(), threading.Event()
def wide(x):
    kept.wait(30)  # the first calls may come before the epoch is held
    if held:
        held.clear()  # the last references to the epoch that calls this
        gc.collect()
        dropped.set()
    return np.broadcast_to(x[:, None], (len(x), 64)).copy()
tql.register("WIDE", wide, returns="int64", shape=(64,))
loader = ds.query("SELECT WIDE(x) AS y").batches(8, num_workers=2)._plan.native()
held += [loader, loader.start({"epoch": 0})]
del loader
kept.set()
assert dropped.wait(30)
print("whole", flush=True)
"""

# The interpreter exits while three epochs call functions.
EXIT = """
ds = deeplake.create("mem://exit", schema={"x": {"dtype": "int64"}})
ds.extend({"x": np.arange(140_000)})
ds.commit()
def wide(x):
    return np.broadcast_to(x[:, None], (len(x), 64)).copy()
tql.register("WIDE", wide, returns="int64", shape=(64,))
view = ds.query("SELECT WIDE(x) AS y")
epochs = [view.batches(8, num_workers=3)._plan.native().start({"epoch": 0}) for _ in range(3)]
for epoch in epochs:
    next(epoch)
print("whole", flush=True)
"""

LISTS = """
ds = deeplake.create("mem://lists", schema={"x": {"dtype": "int64"}, "s": {"htype": "sequence[generic]", "dtype": "int64"}})

class Changes:
    def __init__(self, change): self.change = change
    def __array__(self, dtype=None, copy=None):
        self.change()
        junk = [object() for _ in range(1000)]
        return np.arange(4)

def refused(columns, words):
    before = len(ds)
    try:
        ds.extend(columns)
    except deeplake.Error as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"{words}: taken")
    assert len(ds) == before

for change in (list.clear, lambda l: l.extend(np.ones(3) for _ in range(10_000)), list.pop):
    for tensor in "x", "s":
        rows = [np.arange(4) + k for k in range(5000)]
        rows[1:1] = [Changes(lambda: change(rows))]
        refused({tensor: [rows] if tensor == "s" else rows}, "while they were converted")

# A list whose length stays: each row is the one that it had.
rows = [np.arange(4) + k for k in range(500)]
def turn():
    rows[:] = [None] * len(rows)
    gc.collect()
rows[0] = Changes(turn)
ds.extend({"x": rows, "s": [[]] * 500})
assert [len(v) for v in ds["x"][:]] == [4] * 500 and ds["x"][499].tolist() == list(range(499, 503))

# A mapping that loses its columns meanwhile.
columns = {"x": [Changes(lambda: columns.clear()), np.arange(4)], "s": [[1], [2]]}
ds.extend(columns)
assert [int(v) for v in ds["s"][-1]] == [2]

# An array that is resized, or given another shape.
many = np.arange(400_000).reshape(100_000, 4)
seen = []
def resize():
    for shape in (1,), (4_000_000,):
        try:
            many.resize(shape, refcheck=False)
        except ValueError as error:
            seen.append(str(error))
    many.shape = (4, 100_000)
ds.extend({"x": [many, Changes(resize)], "s": [[], []]})
assert ds["x"][len(ds) - 2].shape == (100_000, 4), ds["x"][len(ds) - 2].shape
assert len(seen) == 2, seen
print("whole")
"""


@pytest.mark.parametrize(
    "program", [DROPS, INSIDE, LISTS, *[EXIT] * 5], ids=["drops", "inside", "lists", *["exit"] * 5]
)
def test_no_memory_is_used_after_it_is_freed(run_python, program):
    assert run_python(POISON + program).stdout.split() == ["whole"]


def test_a_view_with_large_parameters_returns():
    ds = deeplake.create("mem://saved-parameters", overwrite=True, schema={"x": {"dtype": "int64"}})
    ds.extend({"x": np.arange(10)})
    ds.commit()
    ds.query("SELECT x, x + ? AS d WHERE x > ?", np.arange(1), 3).save("v")
    assert len(ds.load_view("v")) == 6
