"""Pickles, forks, spawned workers and the end of the interpreter. Programs run in interpreters of their own."""

from __future__ import annotations

import pickle
from pathlib import Path

import deeplake
import numpy as np
import pytest

SETUP = """
import os, pickle, sys, warnings
import numpy as np
import deeplake

uri = sys.argv[1]
ds = deeplake.create(uri, schema={"x": {"dtype": "int64"}, "word": "text"})
ds.extend({"x": np.arange(20), "word": [f"w{i}" for i in range(20)]})
ds.commit()

def in_child(work):
    "Forks, runs work in the child, and returns what it printed; an exception or a hang in it is an error here."
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read)
            os.write(write, repr(work()).encode())
            os._exit(0)
        except BaseException as err:
            os.write(write, f"{type(err).__name__}: {err}".encode())
            os._exit(1)
    os.close(write)
    out = b""
    while part := os.read(read, 65536):
        out += part
    os.waitpid(pid, 0)
    return out.decode()
"""


@pytest.fixture
def stored(tmp_path):
    with deeplake.create(tmp_path / "stored", schema={"x": {"dtype": "int64"}, "word": "text"}) as ds:
        ds.extend({"x": np.arange(20), "word": [f"w{i}" for i in range(20)]})
        ds.commit()
        yield ds


def again(value):
    return pickle.loads(pickle.dumps(value))


def test_views_datasets_and_tensors_pickle(stored):
    for view in (stored, stored[:], stored[3:17:2], stored[[5, 1]], stored[::-1], stored.filter(lambda r: r["x"] > 3)):
        copy = again(view)
        assert copy.rows.tolist() == view.rows.tolist() and copy["word"].numpy() == view["word"].numpy()
        assert again(view["word"]).bytes(1) == view["word"].bytes(1)
    assert len(pickle.dumps(stored[3:17:2])) < 500


def test_a_pickled_view_stays_at_its_version(stored):
    view, dataset = pickle.dumps(stored[:]), pickle.dumps(stored)
    stored.append({"x": 20, "word": "w20"})
    stored.commit()
    assert len(pickle.loads(view)) == 20
    copy = pickle.loads(dataset)
    assert len(copy) == 20, "reads where it was"
    copy.append({"x": 21, "word": "w21"})
    assert len(copy) == 22, "writes to the newest"
    copy.discard()


def test_a_dataset_of_the_past_pickles_as_that(stored):
    stored.append({"x": 20, "word": "w20"})
    stored.commit()
    copy = again(stored.at(stored.log()[1]))
    assert len(copy) == 20 and copy.read_only
    with pytest.raises(deeplake.ReadOnlyError):
        copy.append({"x": 1, "word": ""})


def test_uncommitted_rows_refuse_to_pickle(stored):
    stored.append({"x": 20, "word": "w20"})
    for value in (stored, stored[:], stored.batches(4), stored[0], stored["x"]):
        with pytest.raises(deeplake.UnsupportedError, match="commit, or discard"):
            pickle.dumps(value)
    stored.discard()
    assert len(again(stored)) == 20


def test_a_failed_write_does_not_keep_it_from_pickling(stored):
    with pytest.raises(deeplake.Error):
        stored.append({"x": "text", "word": 3})
    assert len(again(stored)) == 20


def test_everything_works_in_a_forked_child(run_python, tmp_path):
    done = run_python(
        SETUP
        + """
view, tensor, loader = ds[2:5], ds["word"], ds.batches(8, shuffle=True)
tensor.bytes(0), view["x"].numpy(), list(loader), ds[0]["x"]
loader.set_epoch(0)
want = [x for batch in loader for x in batch["x"]]
loader.set_epoch(0)

def work():
    got = [x for batch in loader for x in batch["x"]] == want
    rows = view["x"].numpy().tolist()
    return got, tensor.bytes(3), rows, view["word"].bytes(0), ds[7]["word"], len(ds), list(ds.tensors)

print(in_child(work))
print(in_child(lambda: in_child(work)))
"""
        + "\n",
        str(tmp_path / "set"),
    )
    wanted = "(True, b'w3', [2, 3, 4], b'w2', 'w7', 20, ['x', 'word'])"
    assert done.stdout.splitlines() == [wanted, repr(wanted)]


def test_a_forked_child_writes_for_itself(run_python, tmp_path):
    done = run_python(
        SETUP
        + """
def work():
    ds.append({"x": 100, "word": "child"})
    ds.commit()
    return len(ds)

print(in_child(work), len(ds))
ds.refresh()
print(len(ds), ds[-1]["word"])
""",
        str(tmp_path / "set"),
    )
    assert done.stdout.splitlines() == ["21 20", "21 child"]


def test_uncommitted_rows_stay_with_the_parent(run_python, tmp_path):
    done = run_python(
        SETUP
        + """
ds.append({"x": 100, "word": "parent"})
view = ds[:]
print(in_child(lambda: ds[0]))
print(in_child(lambda: ds.append({"x": 1, "word": ""})))
print(in_child(lambda: view["x"].numpy()))
print(in_child(lambda: ds.commit()))
ds.commit()
print(in_child(lambda: ds[-1]["word"]))
print(in_child(lambda: ds.close()))
print(len(ds))
""",
        str(tmp_path / "set"),
    )
    lines = done.stdout.splitlines()
    assert all(line.startswith("ForkedError") and "committed" in line for line in lines[:4]), lines
    assert lines[4:] == ["'parent'", "None", "21"]


@pytest.mark.slow
def test_data_loader_workers_of_every_start_method(run_python, tmp_path):
    pytest.importorskip("torch")
    done = run_python(
        """
import sys
import numpy as np
import torch
import deeplake

if __name__ == "__main__":
    ds = deeplake.create(sys.argv[1], schema={"x": {"dtype": "int64"}})
    ds.extend({"x": np.arange(40)})
    ds.commit()
    ds[3]["x"]
    for method in ("fork", "spawn", "forkserver"):
        loader = torch.utils.data.DataLoader(
            ds[10:].torch_dataset(), batch_size=8, num_workers=2, multiprocessing_context=method, timeout=50
        )
        print(method, [x for batch in loader for x in batch["x"].tolist()] == list(range(10, 40)))
""",
        str(tmp_path / "set"),
        timeout=120,
    )
    assert done.stdout.splitlines() == ["fork True", "spawn True", "forkserver True"]


def test_memory_is_not_shared_and_says_so(run_python):
    done = run_python(SETUP + "print(in_child(lambda: ds[0]['x']))", "mem://here")
    assert done.stdout.startswith("NotFoundError") and "lives in the process that made it" in done.stdout


@pytest.mark.parametrize(
    "end",
    [
        "it = iter(loader); next(it)",
        "it = iter(loader); batch = next(it); del loader, ds",
        "it = iter(loader); next(it); sys.exit(0)",
        "import threading; threading.Thread(target=lambda: [list(loader) for _ in range(50)], daemon=True).start()",
        "ds.append({'x': 1, 'word': ''}); ds.discard()",
        "import builtins; builtins.kept = ds, loader",  # they outlive the names of all modules
    ],
)
def test_the_interpreter_ends_quietly(run_python, tmp_path, end):
    done = run_python(SETUP + f"loader = ds.batches(2, shuffle=True)\n{end}\n", str(tmp_path / "set"))
    assert done.stderr == ""


def test_the_interpreter_says_what_is_lost_and_nothing_else(run_python, tmp_path):
    end = "loader = ds.batches(2, shuffle=True)\nds.append({'x': 1, 'word': ''})\n"
    done = run_python(SETUP + end, str(tmp_path / "set"))
    said = (
        f'sys:1: UserWarning: exit with dataset "{tmp_path / "set"}": uncommitted changes were dropped; '
        "call commit() to keep them, or discard() to drop them without this warning\n"
    )
    assert done.stderr == said


@pytest.mark.alone
def test_ctrl_c_in_a_loop(run_python, tmp_path):
    pytest.importorskip("torch")
    done = run_python(
        SETUP
        + """
import signal, threading, time
loader = ds.pytorch(1, transform={"x": lambda x: begun.set() or time.sleep(0.1) or x})
begun = threading.Event()
sent = []
def send():
    begun.wait(60)
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=send).start()
try:
    while True:
        for batch in loader:
            pass
except KeyboardInterrupt:
    print(time.perf_counter() - sent[0] < 10)
loader.set_epoch(0)
print(len(list(loader)))
""",
        str(tmp_path / "set"),
    )
    assert done.stdout.split() == ["True", "20"]


def test_an_old_version_is_opened_by_its_number(tmp_path: Path) -> None:
    """A view of an old version in another process does not read the records of later ones."""
    uri = str(tmp_path / "d")
    ds = deeplake.create(uri, schema={"x": {"dtype": "int64"}})
    for row in range(30):
        ds.append({"x": row})
        ds.commit()
        if row == 9:
            view = pickle.dumps(ds[:5])
    for path in sorted((tmp_path / "d" / "log").glob("*/*"))[1:15]:  # the newest first
        path.rename(path.with_name(f"{path.name}.hidden"))
    assert list(pickle.loads(view)["x"][:]) == [0, 1, 2, 3, 4]
