"""Stopping in mid-epoch and going on: states of loaders, on any number of ranks, and under torchdata's loader."""

from __future__ import annotations

import gc
import json
import pickle
from itertools import islice

import deeplake
import numpy as np
import pytest

torch = pytest.importorskip("torch")

ROWS = 61


@pytest.fixture(scope="module")
def ds(tmp_path_factory):
    with deeplake.create(
        tmp_path_factory.mktemp("state") / "set", schema={"x": {"dtype": "int64"}, "word": "text"}
    ) as ds:
        ds.extend({"x": np.arange(ROWS), "word": [f"w{i}" for i in range(ROWS)]})
        ds.commit()
        yield ds


@pytest.fixture(params=["pytorch", "batches"])
def load(request, ds):
    """Both hosts."""
    return getattr(ds, request.param)


def rows(batches) -> list[list[int]]:
    return [[int(x) for x in batch["x"]] for batch in batches]


def flat(batches):
    return [x for batch in batches for x in batch]


def restored(state):
    """A state as a checkpoint gives it back."""
    text = json.dumps(state)
    assert len(text) < 1024
    return json.loads(text)


@pytest.mark.parametrize("shuffle", [False, True, "full"])
def test_goes_on_after_every_batch(load, shuffle):
    options = {"shuffle": shuffle, "seed": 5, "tensors": ["x"]}
    loader = load(7, **options)
    want = [rows(loader) for _ in range(3)]
    assert shuffle is False or want[0] != want[1]
    loader.set_epoch(0)
    for epoch in range(2):
        states = [loader.state_dict()]
        for _ in loader:
            states.append(loader.state_dict())
        for done, state in enumerate(states):
            other = load(7, **options, num_workers=1, prefetch=1 + done % 5)
            other.load_state_dict(restored(state))
            assert other.epoch == epoch
            assert rows(other) == want[epoch][done:], f"after batch {done}"
            assert other.epoch == epoch + 1
            assert rows(other) == want[epoch + 1]


def test_counts_what_was_handed_over_not_what_was_made_ahead(load):
    loader = load(4, prefetch=8, tensors=["x"])
    batches = iter(loader)
    assert loader.state_dict()["position"] == 0
    for number in range(1, 6):
        next(batches)
        assert loader.state_dict()["position"] == 4 * number
    batches.close()
    assert loader.state_dict()["position"] == 20, "a loop that was left has come so far"
    assert rows(loader)[0] == [0, 1, 2, 3], "and the next one begins the epoch anew"


def test_a_live_iteration_does_not_hinder_loading(load):
    loader = load(4, tensors=["x"])
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    next(batches)
    loader.load_state_dict(state)
    assert loader.state_dict() == state
    next(batches)
    assert loader.state_dict() == state, "the old iteration does not report any more"
    assert rows(loader)[0] == [4, 5, 6, 7]


def test_the_newest_of_several_iterations_reports(load):
    loader = load(4, tensors=["x"])
    first, second = iter(loader), iter(loader)
    next(first)
    next(second)
    next(second)
    next(first)
    next(first)
    assert loader.state_dict()["position"] == 8


def test_other_batch_sizes_and_world_sizes(ds):
    whole = rows(ds.pytorch(12, shuffle=True, tensors=["x"]))
    loader = ds.pytorch(12, shuffle=True, tensors=["x"])
    for _ in islice(loader, 2):
        pass
    state = restored(loader.state_dict())
    for world, batch in [(2, 6), (3, 4), (12, 1)]:
        ranks = [ds.pytorch(batch, shuffle=True, tensors=["x"], rank=r, world_size=world) for r in range(world)]
        for rank in ranks:
            rank.load_state_dict(state)
        steps = []
        for step in zip(*ranks, strict=True):
            valid = [batch.get("_valid", [True] * len(batch["x"])) for batch in step]
            steps.append(
                sorted(int(x) for b, v in zip(step, valid, strict=True) for x, ok in zip(b["x"], v, strict=True) if ok)
            )
        assert steps == [sorted(batch) for batch in whole[2:]]
    for batch in (5, 61, 1):
        other = ds.batches(batch, shuffle=True, tensors=["x"])
        other.load_state_dict(state)
        assert flat(rows(other)) == flat(whole[2:])


def test_the_end_of_an_epoch(load):
    loader = load(10, shuffle=True, tensors=["x"])
    want = [rows(loader), rows(loader)]
    loader.set_epoch(0)
    batches = iter(loader)
    for _ in range(len(loader)):
        next(batches)
    state = loader.state_dict()
    assert (state["epoch"], state["position"]) == (0, ROWS)
    other = load(10, shuffle=True, tensors=["x"])
    other.load_state_dict(state)
    assert rows(other) == [], "the rest of the loop that was running"
    assert rows(other) == want[1]
    # A loop that counts its batches never sees the end, and has ended its epoch all the same.
    assert loader.epoch == 1
    assert rows(loader) == want[1]
    assert loader.state_dict()["epoch"] == 2


def test_set_epoch_and_states(load):
    loader = load(10, shuffle=True, tensors=["x"])
    want = [rows(loader) for _ in range(4)]
    loader.set_epoch(2)
    for _ in islice(loader, 3):
        pass
    state = loader.state_dict()
    loader.load_state_dict(state)
    loader.set_epoch(2)
    assert rows(loader) == want[2][3:], "the epoch of the state goes on"
    loader.load_state_dict(state)
    loader.set_epoch(3)
    assert (loader.state_dict()["epoch"], loader.state_dict()["position"]) == (3, 0)
    assert rows(loader) == want[3], "another one begins at its start"
    loader.set_epoch(0)
    assert rows(loader) == want[0]


def test_states_survive_pickles(load):
    loader = load(10, shuffle=True, tensors=["x"])
    want = rows(loader)
    loader.set_epoch(0)
    for _ in islice(loader, 2):
        pass
    loader.load_state_dict(loader.state_dict())
    copy = pickle.loads(pickle.dumps(loader))
    assert copy.state_dict() == loader.state_dict()
    assert rows(copy) == want[2:]


def test_skipped_rows_do_not_shift_the_position(tmp_path):
    with deeplake.create(tmp_path / "set", schema={"x": {"dtype": "int64"}, "y": {"dtype": "int64"}}) as ds:
        ds.extend({"x": np.arange(30), "y": [None if 8 <= i < 16 or i == 3 else np.int64(i) for i in range(30)]})
        ds.commit()
        loader = ds.batches(4, on_error="skip")
        states = [(batch["x"].tolist(), loader.state_dict()) for batch in loader]
        assert [len(x) for x, _ in states] == [3, 4, 4, 4, 4, 2], "two batches came to nothing"
        for number, (_, state) in enumerate(states):
            other = ds.batches(4, on_error="skip")
            other.load_state_dict(state)
            assert [batch["x"].tolist() for batch in other] == [x for x, _ in states[number + 1 :]]


def refused(loader, state, *words):
    before = loader.state_dict()
    with pytest.raises(deeplake.InvalidArgumentError) as caught:
        loader.load_state_dict(state)
    for word in words:
        assert word in str(caught.value)
    assert loader.state_dict() == before, "a refusal changes nothing"


def test_a_state_that_does_not_fit_is_refused(ds, load, tmp_path):
    state = load(4, shuffle=True, seed=1).state_dict()
    refused(load(4, shuffle=True, seed=2), state, "seed is 2 here and was 1")
    refused(load(4, shuffle="full", seed=1), state, 'shuffle is "full" here and was "window"')
    refused(load(4, seed=1), state, 'shuffle is "" here')
    refused(ds[1:].pytorch(4, shuffle=True, seed=1), state, "the selection of rows", "the number of rows is 60 here")
    refused(ds[::-1].batches(4, shuffle=True, seed=1), state, "the selection of rows")
    with deeplake.create(tmp_path / "other", schema={"x": {"dtype": "int64"}}) as other:
        other.extend({"x": np.arange(ROWS)})
        other.commit()
        refused(other.batches(4, shuffle=True, seed=1), state, "the dataset is")
        old = other.batches(4).state_dict()
        other.append({"x": 1})
        other.commit()
        refused(other.batches(4), old, "the commit is", "the number of rows is 62 here and was 61")
        other.at(other.log()[1]).batches(4).load_state_dict(old)
    for nonsense in (None, 3, "state", [1], {}, {"epoch": 1}, {**state, "more": 1}, {**state, "position": 62}):
        refused(load(4, shuffle=True, seed=1), nonsense, "load loader state")
    refused(load(4, shuffle=True, seed=1), {**state, "epoch": {1, 2}})


def test_rows_that_were_not_committed_give_states_that_nothing_takes(tmp_path):
    with deeplake.create(tmp_path / "set", schema={"x": {"dtype": "int64"}}) as ds:
        ds.extend({"x": np.arange(9)})
        loader = ds.batches(2)
        state = loader.state_dict()
        assert state["commit"] == ""
        refused(loader, state, "not committed", "commit before training")
        ds.commit()
        refused(ds.batches(2), state, "not committed")


def test_a_copy_of_the_dataset_takes_the_state(ds, tmp_path):
    loader = ds.batches(10, shuffle=True, tensors=["x"])
    for _ in islice(loader, 2):
        pass
    state = loader.state_dict()
    deeplake.copy(ds.uri, tmp_path / "copy", history=True)
    with deeplake.open(tmp_path / "copy") as copy:
        other = copy.batches(10, shuffle=True, tensors=["x"])
        other.load_state_dict(state)
        loader.load_state_dict(state)
        assert rows(other) == rows(loader)


def test_many_states_hold_no_batch(ds):
    loader = ds.batches(1, tensors=["x"])
    gc.collect()  # of what earlier tests left
    held = deeplake._native.memory_references()
    for batch in loader:
        loader.state_dict()
        del batch
    gc.collect()
    assert deeplake._native.memory_references() == held


def test_torchdata_keeps_the_state_of_our_dataset(ds):
    stateful = pytest.importorskip("torchdata.stateful_dataloader")

    def around(**options):
        dataset = ds.pytorch(7, shuffle=True, tensors=["x"], **options).dataset
        return stateful.StatefulDataLoader(dataset, batch_size=None)

    want = rows(around())
    for done in range(len(want)):
        loader = around()
        batches = iter(loader)
        assert rows(islice(batches, done)) == want[:done]
        state = loader.state_dict()
        other = around(prefetch=4)
        other.load_state_dict(pickle.loads(pickle.dumps(state)))
        assert rows(other) == want[done:], f"after batch {done}"


def test_our_loader_has_the_habits_of_a_stateful_one(ds):
    loader = ds.pytorch(7, shuffle=True, tensors=["x"])
    snapshots = []
    seen = []
    for number, batch in enumerate(loader):  # snapshots from the loop, every third batch
        seen.append(batch["x"].tolist())
        if number % 3 == 2:
            snapshots.append((number + 1, loader.state_dict()))
    for done, state in snapshots:
        fresh = ds.pytorch(7, shuffle=True, tensors=["x"])
        fresh.load_state_dict(state)
        assert len(fresh) == len(seen), "the length is that of an epoch, as StatefulDataLoader's"
        assert fresh.state_dict() == state, "before the first batch"
        assert rows(fresh) == seen[done:]
