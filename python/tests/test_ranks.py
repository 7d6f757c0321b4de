"""Rows shared out over ranks: every row once, the same number of steps, processes that really are several."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import types

import deeplake
import numpy as np
import pytest
from deeplake._load import ranks as _ranks
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

ROWS = 103


@pytest.fixture(scope="module")
def ds(tmp_path_factory):
    schema = {"x": {"dtype": "int64"}, "v": {"dtype": "float32"}, "word": "text"}
    with deeplake.create(tmp_path_factory.mktemp("ranks") / "set", schema=schema) as ds:
        ds.extend({"x": np.arange(ROWS), "v": np.ones((ROWS, 2), np.float32), "word": [f"w{i}" for i in range(ROWS)]})
        ds.commit()
        yield ds


def valid(batch, name="x"):
    marks = batch.get("_valid")
    return [value for i, value in enumerate(batch[name]) if marks is None or marks[i]]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_every_row_once_in_as_many_steps(ds, data):
    rows = data.draw(st.integers(0, ROWS), "rows")
    world = data.draw(st.integers(1, 12), "world_size")
    batch_size = data.draw(st.integers(1, 40), "batch_size")
    tail = data.draw(st.sampled_from(["exact", "drop", "pad"]), "tail")
    shuffle = data.draw(st.sampled_from([False, True, "full"]), "shuffle")
    view = ds[:rows]
    ranks = [
        view.batches(batch_size, shuffle=shuffle, tensors=["x"], tail=tail, rank=rank, world_size=world)
        for rank in range(world)
    ]
    whole = view.batches(batch_size * world, shuffle=shuffle, tensors=["x"], tail=tail)
    steps = list(zip(*ranks, strict=True))
    assert len(steps) == len(whole) == len(ranks[-1])
    seen = []
    for step, all_at_once in zip(steps, whole, strict=True):
        sizes = [len(valid(batch)) for batch in step]
        rows_of_step = [int(x) for batch in step for x in valid(batch)]
        assert sorted(rows_of_step) == sorted(int(x) for x in valid(all_at_once))
        assert tail == "pad" or max(sizes) - min(sizes) <= 1
        assert tail == "exact" or all(len(batch["x"]) == batch_size for batch in step)
        assert all(len(batch["x"]) > 0 for batch in step)
        repeats = tail == "pad" or sum(sizes) < world
        assert all(("_valid" in batch) == repeats for batch in step)
        seen += rows_of_step
    assert len(seen) == len(set(seen)) == (rows if tail != "drop" else rows - rows % (batch_size * world))


def test_the_rank_of_ray_train(monkeypatch):
    """test_ray_cluster.py trains with Ray itself."""
    inside = types.SimpleNamespace(get_world_rank=lambda: 2, get_world_size=lambda: 3)
    monkeypatch.setitem(sys.modules, "ray.train", types.SimpleNamespace(get_context=lambda: inside))
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert _ranks.settled(None, None) == (2, 3)
    assert _ranks.settled(1, 2) == (1, 2)

    def outside():
        raise RuntimeError("cannot be used outside of a Ray Train training function")

    monkeypatch.setitem(sys.modules, "ray.train", types.SimpleNamespace(get_context=outside))
    assert _ranks.settled(None, None) == (0, 4)


@pytest.mark.parametrize("host", ["pytorch", "batches"])
def test_a_rank_with_no_row_left_repeats_one(ds, host):
    last = [
        list(getattr(ds[:9], host)(2, rank=rank, world_size=4, return_index=True))[-1] for rank in range(4)
    ]  # 8 rows, then one
    assert [np.asarray(batch["x"]).tolist() for batch in last] == [[8]] * 4
    assert [np.asarray(batch["_valid"]).tolist() for batch in last] == [[True], [False], [False], [False]]
    kind = torch.Tensor if host == "pytorch" else np.ndarray
    assert isinstance(last[0]["_valid"], kind) and last[0]["_valid"].dtype == (
        torch.bool if host == "pytorch" else bool
    )
    assert [batch["word"] for batch in last] == [["w8"]] * 4


def test_marks_beside_transforms(ds):
    for options in (
        {"transform": {"x": lambda x: x + 1}},
        {"transform": lambda row: {"x": row["x"] + 1}},
        {"transform": {"x": lambda x: x + 1}, "return_index": True},
    ):
        batches = list(ds[:5].pytorch(4, tail="pad", tensors=["x"], **options))
        assert batches[1]["x"].tolist() == [5, 1, 2, 3]
        assert batches[1]["_valid"].tolist() == [True, False, False, False]
    batches = list(ds[:5].batches(4, tail="pad", tensors=["x"], collate=lambda rows: [row["_valid"] for row in rows]))
    assert batches == [[True] * 4, [True, False, False, False]]


def test_world_sizes_between_epochs(ds, monkeypatch):
    loader = ds.batches(10, shuffle=True, tensors=["x"])
    assert len(loader) == 11
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert len(loader) == 6 and "rank 1 of 2" in repr(loader)
    own = [x for batch in loader for x in batch["x"].tolist()]
    monkeypatch.setenv("RANK", "0")
    loader.set_epoch(0)
    other = [x for batch in loader for x in batch["x"].tolist()]
    assert sorted(own + other) == list(range(ROWS))
    monkeypatch.delenv("RANK")
    monkeypatch.delenv("WORLD_SIZE")
    assert sum(len(batch["x"]) for batch in loader) == ROWS


@pytest.mark.parametrize(
    "rank, world_size, want",
    [
        (None, None, (0, 1)), ("", "", (0, 1)), ("3", "8", (3, 8)), ("0", None, (0, 1)), (None, "1", (0, 1)),
        ("3", None, None), (None, "8", None), ("8", "8", None), ("-1", "2", None), ("one", "2", None), ("0", "0", None),
    ],
)  # fmt: skip
def test_ranks_of_the_environment(monkeypatch, rank, world_size, want):
    for name, value in (("RANK", rank), ("WORLD_SIZE", world_size)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    assert _ranks.settled(2, 5) == (2, 5), "what is said goes first"
    if want is None:
        with pytest.raises(deeplake.InvalidArgumentError, match=r"RANK=.*WORLD_SIZE=.*pass rank="):
            _ranks.settled(None, None)
    else:
        assert _ranks.settled(None, None) == want


def test_torch_distributed_goes_before_the_environment(ds, monkeypatch):
    monkeypatch.setenv("RANK", "7")
    monkeypatch.setenv("WORLD_SIZE", "8")
    loader = ds.pytorch(10, tensors=["x"])  # asked when an iteration begins, not here
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    assert len(loader) == 6
    assert next(iter(loader))["x"].tolist() == list(range(10, 20))


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"rank": 4, "world_size": 4}, "rank is 4, want 0 to 3"),
        ({"rank": 0}, "give both"),
        ({"world_size": 2}, "give both"),
        ({"rank": -1, "world_size": 4}, "rank is -1"),
        ({"rank": 0, "world_size": 0}, "world_size is 0"),
        ({"rank": 0, "world_size": "2"}, "world_size is '2'"),
        ({"tail": "pad", "drop_last": True}, "choose one"),
        ({"tail": "dorp"}, 'did you mean "drop"'),
    ],
)
def test_bad_arguments(ds, arguments, words):
    with pytest.raises(deeplake.InvalidArgumentError, match=words):
        ds.batches(4, **arguments)


# Programs of several processes. Each gets RANK and WORLD_SIZE, the URI and a folder to meet in.
MEET = """
import json, os, sys
import torch
import torch.distributed as dist
import deeplake

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
uri, folder = sys.argv[1:3]
dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=world)
ds = deeplake.open(uri, read_only=True)
"""


def processes(program, world, *args, tmp_path, env=None):
    """Starts a process for each rank."""
    path = tmp_path / "program.py"
    path.write_text(program)
    return [
        subprocess.Popen(
            [sys.executable, str(path), *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(rank),
                 "OMP_NUM_THREADS": "1", **(env or {})},
        )
        for rank in range(world)
    ]  # fmt: skip


def ended(all_processes, timeout=120):
    """Returns the JSON that the ranks printed."""
    try:
        out = [process.communicate(timeout=timeout) for process in all_processes]
    finally:
        for process in all_processes:
            process.kill()
    for process, (_, err) in zip(all_processes, out, strict=True):
        assert process.returncode == 0, err
    return [json.loads(text) for text, _ in out]


def test_plain_ddp_with_uneven_rows(ds, tmp_path):
    program = (
        MEET
        + """
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loader = ds.pytorch(8, shuffle=True, seed=3)  # ranks by themselves
epochs = []
for epoch in range(2):
    seen = []
    for batch in loader:
        loss = model(batch["v"])
        marks = batch.get("_valid", torch.ones(len(loss), dtype=torch.bool))
        (loss.squeeze(1) * marks).sum().backward()  # meets the other ranks: as many steps, or it hangs
        optimizer.step()
        optimizer.zero_grad()
        seen.append(batch["x"][marks].tolist())
    epochs.append(seen)
weights = [w.tolist() for w in model.state_dict().values()]
print(json.dumps([epochs, weights, len(loader)]), flush=True)
dist.destroy_process_group()
os._exit(0)  # threads of gloo abort a process that finalizes, with or without deeplake
"""
    )
    results = ended(processes(program, 2, ds.uri, tmp_path, tmp_path=tmp_path))
    assert results[0][1] == results[1][1], "the models are the same"
    for epoch in range(2):
        first, second = results[0][0][epoch], results[1][0][epoch]
        assert len(first) == len(second) == results[0][2] == 7
        assert sorted(x for batch in first + second for x in batch) == list(range(ROWS))
        alone = ds.batches(16, shuffle=True, seed=3, tensors=["x"])
        alone.set_epoch(epoch)
        assert [sorted(a + b) for a, b in zip(first, second, strict=True)] == [sorted(b["x"].tolist()) for b in alone]


KILLED = """
import json, os, sys, time
import deeplake

uri, folder, state = sys.argv[1:4]
rank = os.environ["RANK"]
loader = deeplake.open(uri, read_only=True).batches(3, shuffle=True, tensors=["x"])
if state:
    loader.load_state_dict(json.loads(state))
with open(f"{folder}/rank{rank}-{os.environ['WORLD_SIZE']}", "w", buffering=1) as log:
    for batch in loader:
        rows = [x for x, ok in zip(batch["x"].tolist(), batch.get("_valid", [True] * 99)) if ok]
        log.write(json.dumps([rows, loader.state_dict()]) + "\\n")
        time.sleep(0.02)
print("[]")
"""


def test_a_killed_rank_and_going_on_with_three(ds, tmp_path):
    log = lambda rank, world: tmp_path / f"rank{rank}-{world}"  # noqa: E731
    ranks = processes(KILLED, 2, ds.uri, tmp_path, "", tmp_path=tmp_path)
    step = random.randrange(1, 15)
    try:
        end = time.monotonic() + 60
        while not log(1, 2).exists() or log(1, 2).read_text().count("\n") < step:
            assert time.monotonic() < end and ranks[1].poll() is None
            time.sleep(0.002)
        ranks[1].send_signal(signal.SIGKILL)
        ranks[0].communicate(timeout=60)
    finally:
        for process in ranks:
            process.kill()
            process.communicate()
    done = [
        [json.loads(line) for line in log(rank, 2).read_text().split("\n") if line.endswith("}]")] for rank in (0, 1)
    ]
    steps = min(map(len, done))
    assert step <= steps < 18
    assert done[0][steps - 1][1] == done[1][steps - 1][1], "every rank has the same state"
    state = done[0][steps - 1][1]
    ended(processes(KILLED, 3, ds.uri, tmp_path, json.dumps(state), tmp_path=tmp_path))
    rows = [x for rank in done for batch, _ in rank[:steps] for x in batch]
    for rank in range(3):
        rows += [x for line in log(rank, 3).read_text().splitlines() for x in json.loads(line)[0]]
    assert sorted(rows) == list(range(ROWS)), f"killed in step {step}"
