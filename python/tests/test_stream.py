"""Streams give the same columns as batches, and know their position."""

from __future__ import annotations

import gc
import itertools
import json
import os
import signal
import sys
import threading
from types import SimpleNamespace

import deeplake
import numpy as np
import pytest
from deeplake import _native

places = itertools.count()


@pytest.fixture
def view(tmp_path):
    """23 rows with a column of each kind; row 5 has no word, row 7 an empty sequence."""
    ds = deeplake.create(tmp_path / "set")
    for spec in (
        {"name": "image", "dtype": "uint8"},
        {"name": "half", "dtype": "float16"},
        {"name": "ragged", "dtype": "int64"},
        {"name": "word", "htype": "text"},
        {"name": "facts", "htype": "json"},
        {"name": "clip", "dtype": "int32", "htype": "sequence[generic]"},
    ):
        ds.create_tensor(**spec)
    rows = range(23)
    ds.extend(
        {
            "image": np.arange(23 * 6, dtype=np.uint8).reshape(23, 2, 3),
            "half": np.arange(23, dtype=np.float16),
            "ragged": [np.full(i % 3, i) for i in rows],
            "word": [None if i == 5 else f"w{i}é" for i in rows],
            "facts": [{"row": i} for i in rows],
            "clip": [[np.full(2, i, np.int32)] * (i % 7) for i in rows],
        }
    )
    ds.commit()
    return _native.open(str(tmp_path / "set")).view()


def loader_of(view, **options):
    lists = dict.fromkeys(("ragged", "word", "facts", "clip"), "list")
    return view.loader({"batch_size": 4, "shuffle": "full", "seed": 3, "collate_of": lists, **options})


def references():
    gc.collect()
    return _native.memory_references()


def plain(value):
    """Arrays as (dtype, shape, numbers), in lists too."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if value is None or isinstance(value, str | dict):
        return value
    return str(value.dtype).removeprefix("torch."), tuple(value.shape), value.tolist()


@pytest.mark.parametrize("host", ["numpy", "torch"])
def test_streams_give_what_batches_give(view, host):
    convert = None if host == "numpy" else pytest.importorskip("torch").from_dlpack
    before = references()
    loader = loader_of(view, return_index=True)
    want = [
        (batch.numpy() if convert is None else batch.columns(convert), batch.position, batch.last)
        for batch in loader.start(1)
    ]
    stream = loader.start(1).stream(0, convert)
    assert iter(stream) is stream and (stream.position, stream.last) == (0, False)
    got = [(columns, stream.position, stream.last) for columns in stream]
    assert [place for _, *place in got] == [place for _, *place in want] and got[-1][1:] == (23, True)
    for (columns, *_), (others, *_) in zip(got, want, strict=True):
        assert list(columns) == list(others)
        assert {name: plain(value) for name, value in columns.items()} == {k: plain(v) for k, v in others.items()}
    assert next(stream, None) is None and stream.seconds > 0
    loader.close()
    columns = got[0][0]
    del want, got, others
    # arrays outlive the loader
    assert columns["image"].shape == (4, 2, 3) and references() > before
    del columns
    assert references() == before


def test_a_stream_counts_what_it_gave(view):
    def refuse(capsule):
        raise ZeroDivisionError("no")

    before = references()
    loader = view.loader({"batch_size": 4, "tensors": ["image"]})
    stream = loader.start({"position": 8}).stream(8, refuse)
    with pytest.raises(ZeroDivisionError):
        next(stream)
    assert (stream.position, stream.last) == (8, False)
    del stream
    epoch = loader.start(0)
    stream = epoch.stream(0)
    first = next(stream)
    epoch.close()
    with pytest.raises(deeplake.ClosedError):
        next(stream)
    assert stream.position == 4 and first["image"][3, 1, 2] == 23
    loader.close()
    del first, stream
    assert references() == before


def test_errors_of_samples_name_the_row(view):
    loader = view.loader({"batch_size": 4, "tensors": ["ragged"]})
    with pytest.raises(deeplake.TensorTypeError, match="ragged"):
        next(loader.start(0).stream(0))


@pytest.fixture
def data():
    data = deeplake.create(f"mem://streams-{next(places)}")
    data.create_tensor("x", dtype="int64")
    data.extend({"x": np.arange(100)})
    data.commit()
    return data


def way_of(loader, name, monkeypatch, calls):
    """Makes the loader go one of its ways, and notes which it went."""
    stream = _native.Stream
    if name == "watched":
        monkeypatch.setitem(sys.modules, "accelerate.state", SimpleNamespace(GradientState=lambda: Gradients()))
    else:  # a test before this one may have imported it
        monkeypatch.delitem(sys.modules, "accelerate.state", raising=False)
    work = type(loader._stream)._handed

    def handed(*arguments):
        batches = work(*arguments)
        calls.append(isinstance(batches, stream))
        return batches

    monkeypatch.setattr(type(loader._stream), "_handed", handed)


class Gradients:
    def _add_dataloader(self, loader): ...

    def _remove_dataloader(self, loader): ...


@pytest.mark.parametrize("way", ["straight", "watched"])
def test_states_count_what_was_handed_over(data, monkeypatch, way):
    pytest.importorskip("torch")
    loader = data.pytorch(batch_size=8, shuffle=True, prefetch=3)
    calls: list[bool] = []
    way_of(loader, way, monkeypatch, calls)
    seen: list[int] = []
    for number, batch in enumerate(loader):
        seen += batch["x"].tolist()
        state = loader.state_dict()
        assert state["position"] == len(seen) and len(json.dumps(state)) < 1024
        if number == 4:
            break
    assert calls == [way == "straight"]
    again = data.pytorch(batch_size=8, shuffle=True)
    again.load_state_dict(state)
    rest = [row for batch in again for row in batch["x"].tolist()]
    assert loader.state_dict() == state and sorted(seen + rest) == list(range(100))
    assert loader.stats()["python"]["busy_seconds"] > 0


def test_the_last_batch_ends_the_epoch(data):
    pytest.importorskip("torch")
    loader = data.pytorch(batch_size=50)
    batches = iter(loader)
    assert (next(batches)["x"].tolist(), loader.epoch) == (list(range(50)), 0)
    assert (next(batches)["x"].tolist()[-1], loader.epoch) == (99, 1)
    batches.close()
    assert loader.epoch == 1 and loader.state_dict()["position"] == 100


def test_ctrl_c_while_a_batch_is_not_ready(data):
    # A batch that takes far longer to make than to take: 200,000 rows drawn from 100.
    loader = data.batches(200_000, weights=np.ones(100), length=100_000_000)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in loader:
            pass
    timer.join()
    assert len(data.batches(10)) == len(list(data.batches(10)))
