"""Batches in Python: zero-copy arrays that may be kept for ever, and memory that comes back when they are dropped."""

from __future__ import annotations

import gc
import itertools
import threading

import numpy as np
import pytest
from deeplake import _errors, _native

places = itertools.count()


@pytest.fixture
def view():
    """100 rows: image is (2, 3) bytes of the row number, ragged has row % 3 numbers, word is text."""
    ds = _native.create(f"mem://batches-{next(places)}")
    for spec in (
        {"name": "image", "dtype": "uint8"},
        {"name": "ragged", "dtype": "int64"},
        {"name": "word", "htype": "text"},
    ):
        ds.create_tensor(spec)
    rows = np.arange(100)
    ds.append(
        {
            "image": np.broadcast_to(rows.astype("uint8")[:, None, None], (100, 2, 3)),
            "ragged": [np.full(i % 3, i) for i in rows],
            "word": [f"w{i}" for i in rows],
        }
    )
    return ds.view()


def references():
    gc.collect()
    return _native.memory_references()


def test_arrays_share_memory_and_outlive_everything(view):
    before = references()
    batch = view.read([3, 4], {"tensors": ["image"]})
    array = batch.columns()["image"]
    assert (array.dtype, array.shape, array.nbytes) == ("uint8", (2, 2, 3), 12)
    one, two = array.numpy(), np.from_dlpack(array)
    one[0, 0, 0] = 99
    assert two[0, 0, 0] == 99 and array.numpy()[0, 0, 0] == 99
    assert one.flags.writeable and one.ctypes.data % 64 == 0
    view.close()
    del batch, array, view
    gc.collect()
    assert one[1].tolist() == two[1].tolist() == [[4] * 3] * 2
    assert references() > before
    del one
    assert two[1, 1, 2] == 4
    del two
    assert references() == before


def test_dlpack_protocol(view):
    before = references()
    array = view.read([1], {"tensors": ["image"]}).columns()["image"]
    assert array.__dlpack_device__() == (1, 0)
    assert "dltensor_versioned" in repr(array.__dlpack__(max_version=(1, 1)))
    assert '"dltensor"' in repr(array.__dlpack__(max_version=(0, 8))) + repr(array.__dlpack__())
    for wrong in ({"copy": True}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError):
            array.__dlpack__(**wrong)
    assert array.__dlpack__(copy=False, dl_device=(1, 0)) is not None
    assert np.asarray(array).shape == (1, 2, 3) and np.array(array, dtype=float).dtype == float
    del array
    assert references() == before


def test_torch_keeps_the_memory(view):
    torch = pytest.importorskip("torch")
    before = references()
    columns = view.read([5, 6], {"collate_of": {"ragged": "list"}}).columns(torch.from_dlpack)
    assert columns["image"].dtype == torch.uint8 and columns["image"][1].tolist() == [[6] * 3] * 2
    assert [t.tolist() for t in columns["ragged"]] == [[5, 5], []]
    assert columns["word"] == ["w5", "w6"]
    kept = columns["ragged"][0]
    thread = threading.Thread(target=columns.clear)  # the deleter runs in another thread
    thread.start()
    thread.join()
    assert kept.tolist() == [5, 5] and references() > before
    del kept
    assert references() == before


def test_ragged_columns(view):
    with pytest.raises(_errors.TensorTypeError, match="ragged"):
        view.read([0, 1], {"tensors": ["ragged"]})
    padded = view.read([1, 2, 0], {"tensors": ["ragged"], "collate": "pad"}).numpy()
    assert padded["ragged"].tolist() == [[1, 0], [2, 2], [0, 0]]
    assert padded["ragged_shape"].tolist() == [[1], [2], [0]]
    listed = view.read([1, 2, 0], {"tensors": ["ragged"], "collate": "list"})
    assert [a.tolist() for a in listed.numpy()["ragged"]] == [[1], [2, 2], []]
    assert [a.shape for a in listed.columns()["ragged"]] == [(1,), (2,), (0,)]


def test_stored_bytes_and_index(view):
    batch = view.select([9, 8]).read([1, 0], {"decode": {"image": "bytes"}, "return_index": True, "tensors": ["image"]})
    assert batch.names() == ["image", "_index"] and len(batch) == 2
    assert batch.numpy()["image"] == [bytes([8] * 6), bytes([9] * 6)]
    assert batch.numpy()["_index"].tolist() == [8, 9]


def test_no_batch_leaks(view):
    before = references()
    loader = view.loader({"batch_size": 7, "tensors": ["image", "word"], "shuffle": "full", "num_workers": 3})
    assert len(loader) == 15
    kept = []
    for epoch in range(4):
        for batch in loader.start(epoch):
            kept.append(batch.numpy()["image"])
            if len(kept) % 11 == 0:
                break  # early; the rest is dropped
    assert sum(len(k) for k in kept) > 100
    loader.close()
    # nothing was overwritten
    assert all(len(set(row.ravel().tolist())) == 1 for k in kept for row in k)
    del batch, kept
    assert references() == before


def test_epochs_of_a_closed_loader(view):
    loader = view.loader({"batch_size": 10, "tensors": ["image"]})
    epoch = loader.start(0)
    assert len(next(epoch)) == 10
    loader.close()
    loader.close()
    with pytest.raises(_errors.ClosedError):
        next(epoch)
    with pytest.raises(_errors.ClosedError):
        loader.start(1)
    assert not loader.alive
    epoch.close()


def test_many_threads_on_one_epoch(view):
    epoch = view.loader({"batch_size": 3, "tensors": ["image"], "num_workers": 2}).start(0)
    seen: list[int] = []

    def consume():
        for batch in epoch:
            seen.extend(batch.numpy()["image"][:, 0, 0].tolist())

    threads = [threading.Thread(target=consume) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(seen) == list(range(100))


def test_views(view):
    assert len(view) == 100 and view.names() == ["image", "ragged", "word"]
    part = view.slice(10, 0, -3)
    assert part.rows().tolist() == [10, 7, 4, 1]
    assert part.select([3, 0]).rows().tolist() == [1, 10]
    assert len(view.select([])) == 0 and view.select([]).rows().dtype == np.int64
    for bad in ([100], [-1]):
        with pytest.raises(_errors.OutOfRangeError):
            view.select(bad)
    with pytest.raises(_errors.OutOfRangeError):
        view.read([100])
    with pytest.raises(_errors.NotFoundError, match="image"):
        view.column("imag")


def test_columns(view):
    column = view.column("word")
    assert column.bytes(7) == b"w7"
    rows = np.arange(99, -1, -1)
    assert column.bytes_many(rows) == [f"w{i}".encode() for i in rows]
    assert column.sizes([9, 10]).tolist() == [2, 3]
    assert column.bytes_many([]) == []
    for row in (100, -1):
        with pytest.raises(_errors.OutOfRangeError):
            column.bytes(row)
    column.close()
    with pytest.raises(_errors.ClosedError):
        column.bytes(0)


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 70_000, 1_000_000])
def test_stored_bytes_of_every_size(size):
    ds = _native.create(f"mem://batches-{next(places)}")
    ds.create_tensor({"name": "b", "dtype": "bytes"})
    data = [bytes(size), b"x", bytes(range(256)) * (size // 256)]
    ds.append({"b": data * 2})
    column = ds.view().column("b")
    assert [column.bytes(i) for i in range(6)] == data * 2
    assert column.bytes_many(range(6)) == data * 2


def test_errors_agree_with_the_core():
    table = _native.error_table()
    assert [line["status"] for line in table] == list(range(1, len(table) + 1))
    for line in table:
        cls = getattr(_errors, line["python"])
        assert cls.status == line["status"] and issubclass(cls, _errors.Error)
        assert line["base"] in [c.__name__ for c in cls.__mro__]
    known = {c.__name__ for c in _errors.Error.__subclasses__()}
    assert known == {line["python"] for line in table}


def test_versions_agree():
    from deeplake import _version

    assert _native.version() == _version.__version__
    assert _native.abi_version()[0] == 2
