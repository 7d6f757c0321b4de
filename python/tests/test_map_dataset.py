"""Rows for a user's DataLoader: samplers, start methods, workers that stay, pinned memory."""

from __future__ import annotations

import deeplake
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader, DistributedSampler, WeightedRandomSampler  # noqa: E402

ROWS = 41


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    schema = {"x": {"dtype": "int64"}, "word": "text"}
    with deeplake.create(tmp_path_factory.mktemp("map") / "set", schema=schema) as ds:
        ds.extend({"x": np.arange(ROWS), "word": [f"w{i}" for i in range(ROWS)]})
        ds.commit()
        yield ds.torch_dataset()


def rows(loader):
    return [x for batch in loader for x in batch["x"].tolist()]


def test_distributed_sampler(data):
    ranks = []
    for rank in range(3):
        sampler = DistributedSampler(data, num_replicas=3, rank=rank, shuffle=True, seed=1, drop_last=False)
        sampler.set_epoch(2)
        ranks.append(rows(DataLoader(data, batch_size=5, sampler=sampler)))
    assert {len(rank) for rank in ranks} == {14}, "torch repeats rows where ranks are uneven"
    assert set().union(*ranks) == set(range(ROWS))


def test_weighted_random_sampler(data):
    weights = [0.0] * ROWS
    weights[3], weights[40] = 1.0, 3.0
    generator = torch.Generator().manual_seed(4)
    drawn = rows(DataLoader(data, batch_size=16, sampler=WeightedRandomSampler(weights, 400, generator=generator)))
    assert len(drawn) == 400 and set(drawn) == {3, 40}
    assert 250 < drawn.count(40) < 350


def test_batches_of_a_sampler_are_read_with_one_call(data, monkeypatch):
    calls = []
    read = type(data).__getitems__
    monkeypatch.setattr(type(data), "__getitems__", lambda self, at: calls.append(list(at)) or read(self, at))
    assert rows(DataLoader(data, batch_size=20)) == list(range(ROWS))
    assert calls == [list(range(20)), list(range(20, 40)), [40]]


@pytest.mark.parametrize("index", [-1, ROWS - 1, np.int64(40), torch.tensor(40)])
def test_single_rows(data, index):
    assert data[index]["word"] == "w40"


def test_an_index_that_does_not_exist(data):
    for index in (ROWS, -ROWS - 1):
        with pytest.raises(IndexError):
            data[index]


def test_a_callable_that_does_not_pickle_is_named(data):
    view = deeplake.open(data._plan.source.uri, read_only=True)
    lost = view.torch_dataset(transform={"x": lambda x: x})
    with pytest.raises(Exception, match=r"(?i)pickle.*lambda"):
        next(iter(DataLoader(lost, num_workers=1, multiprocessing_context="spawn")))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="pinned memory needs CUDA")
def test_pinned_memory(data):
    for batch in DataLoader(data, batch_size=8, pin_memory=True):
        assert batch["x"].is_pinned()


@pytest.mark.slow
def test_workers_that_stay(run_python, tmp_path):
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
            ds.torch_dataset(), batch_size=8, num_workers=1, multiprocessing_context=method, persistent_workers=True,
            shuffle=True, timeout=50,
        )
        epochs = [[x for batch in loader for x in batch["x"].tolist()] for _ in range(3)]
        print(method, all(sorted(epoch) == list(range(40)) for epoch in epochs), epochs[0] != epochs[1])
""",
        str(tmp_path / "set"),
        timeout=120,
    )
    assert done.stdout.splitlines() == ["fork True True", "spawn True True", "forkserver True True"]


def test_a_loader_over_a_dataset_reads_batches(tmp_path, monkeypatch):
    """torch requests the rows of a batch at once, of datasets and of views."""
    schema = {"x": {"dtype": "int64"}, "word": "text", "image": {"htype": "image", "compression": "png"}}
    with deeplake.create(tmp_path / "ds", schema=schema) as ds:
        pixels = [np.full((2, 3, 3), i, np.uint8) for i in range(ROWS)]
        ds.extend({"x": np.arange(ROWS), "word": [f"w{i}" for i in range(ROWS)], "image": pixels})
        ds.commit()
        reads = []
        read = deeplake._rows.source.Source.read
        monkeypatch.setattr(
            deeplake._rows.source.Source,
            "read",
            lambda self, rows, *rest: (reads.append(len(rows)), read(self, rows, *rest))[1],
        )
        for source in (ds, ds[::-1]):
            reads.clear()
            batches = list(DataLoader(source, batch_size=8, shuffle=True, collate_fn=list))
            assert len(reads) == 0, "nothing is read before a row is looked at"
            got = [
                (int(row["x"]), row["word"], int(row["image"][0, 0, 0]), row.index)
                for batch in batches
                for row in batch
            ]
            assert len(reads) == 3 * len(batches)
            assert sorted(got) == [(i, f"w{i}", i, i) for i in range(ROWS)]
        assert [row["x"] for row in ds.__getitems__([-1, 0, 0])] == [ROWS - 1, 0, 0] and ds.__getitems__([]) == []
        with pytest.raises(deeplake.OutOfRangeError):
            ds.__getitems__([ROWS])
        batch = next(iter(DataLoader(ds, batch_size=8)))
        assert batch["x"].tolist() == list(range(8)) and batch["image"].shape == (8, 2, 3, 3)
