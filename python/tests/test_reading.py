"""Reading: rows, views, tensors and the samples in them."""

from __future__ import annotations

import pickle

import deeplake
import numpy as np
import pytest
from conftest import encoded, picture


def test_rows(numbered):
    row = numbered[3]
    assert (row["x"], row["word"], row.index) == (3, "w3", 3)
    assert isinstance(row["x"], np.int64)
    assert row["v"].tolist() == [3, 6] and row["v"].dtype == np.float32
    assert list(row) == ["x", "v", "word"] and len(row) == 3
    assert dict(row)["word"] == "w3"
    assert "x" in row and "y" not in row and row.get("y", 5) == 5 and row.get("x") == 3
    assert row["v"] is row["v"]
    assert numbered[-1]["x"] == 9
    with pytest.raises(deeplake.NotFoundError, match='did you mean "word"'):
        row["wrd"]
    with pytest.raises(deeplake.OutOfRangeError, match="10 rows"):
        numbered[10]


def test_iteration(numbered):
    assert [row["x"] for row in numbered] == list(range(10))
    assert [row["word"] for row in numbered[::-3]] == ["w9", "w6", "w3", "w0"]
    kept = list(numbered)
    assert [row["v"][1] for row in kept] == [2 * i for i in range(10)]
    assert [x for x in numbered["x"]] == list(range(10))  # noqa: C416


def test_iteration_over_more_than_one_block(place):
    ds = deeplake.create(place, schema={"x": {"dtype": "int32"}, "big": {"dtype": "uint8"}})
    ds.extend({"x": np.arange(600, dtype=np.int32), "big": np.zeros((600, 100_000), np.uint8)})
    ds.commit()
    assert [int(row["x"]) for row in ds] == list(range(600))
    assert sum(row["big"].shape[0] for row in ds[250:300]) == 50 * 100_000
    assert ds[300]["big"].base is not None


def test_a_row_pickles(numbered):
    if numbered.uri.startswith("mem:"):
        pytest.skip("memory is the same process here")
    row = pickle.loads(pickle.dumps(numbered[2:][3]))
    assert (row.index, row["x"]) == (5, 5)


def test_views(numbered):
    view = numbered[2:9:2]
    assert len(view) == 4 and view.rows.tolist() == [2, 4, 6, 8]
    assert view["x"].numpy().tolist() == [2, 4, 6, 8]
    assert view[[3, 0, 0]]["x"].numpy().tolist() == [8, 2, 2]
    assert view[::-1].rows.tolist() == [8, 6, 4, 2]
    assert view[np.array([True, False, True, False])][1]["word"] == "w6"
    assert view[1].index == 4
    assert numbered[5:5]["x"].numpy().tolist() == []
    assert len(view[10:]) == 0
    with pytest.raises(deeplake.OutOfRangeError):
        view[4]


def test_views_are_for_reading(numbered):
    with pytest.raises(deeplake.ReadOnlyError, match="views are for reading"):
        numbered[:2]["x"][0] = 5
    assert not hasattr(numbered[:2], "append") and not hasattr(numbered[:2], "commit")


def test_filter(numbered):
    assert numbered.filter(lambda row: row["x"] % 2).rows.tolist() == [1, 3, 5, 7, 9]
    odd = numbered[4:].filter(lambda row: row["x"] % 2)
    assert odd.rows.tolist() == [5, 7, 9]
    assert odd.filter(lambda row: row["word"] > "w6")["x"].numpy().tolist() == [7, 9]
    assert len(numbered.filter(lambda row: False)) == 0
    with pytest.raises(ZeroDivisionError):
        numbered.filter(lambda row: 1 / 0)


def test_split(numbered):
    parts = numbered.split([0.5, 0.3, 0.2], seed=3)
    assert [len(part) for part in parts] == [5, 3, 2]
    assert sorted(row for part in parts for row in part.rows.tolist()) == list(range(10))
    again = numbered.split([0.5, 0.3, 0.2], seed=3)
    assert [p.rows.tolist() for p in parts] == [p.rows.tolist() for p in again]
    assert [p.rows.tolist() for p in parts] != [p.rows.tolist() for p in numbered.split([0.5, 0.3, 0.2], seed=4)]
    assert [p.rows.tolist() for p in numbered.split([0.25, 0.25], seed=None)] == [[0, 1], [2, 3, 4]]
    assert [len(part) for part in numbered.split([0.1] * 10)] == [1] * 10
    # A seed gives the same draw in every release.
    assert numbered.split([0.3, 0.7], seed=0)[0].rows.tolist() == [2, 4, 8]


@pytest.mark.parametrize("fractions", [[], [0.5, 0.6], [0], [-0.5, 1], [float("nan")], [float("inf")]])
def test_bad_fractions(numbered, fractions):
    with pytest.raises(deeplake.InvalidArgumentError, match="split"):
        numbered.split(fractions)


def test_tensors(numbered):
    v = numbered["v"]
    assert (v.name, v.htype, v.dtype, v.shape, v.class_names, len(v)) == ("v", "generic", "float32", (2,), None, 10)
    assert v.numpy().shape == (10, 2)
    assert v.numpy([9, 0]).tolist() == [[9, 18], [0, 0]]
    assert v[1:3].tolist() == [[1, 2], [2, 4]]
    assert v[3, 1] == 6 and v[2:4, 1].tolist() == [4, 6]
    assert v[[True] + [False] * 9].tolist() == [[0, 0]]
    assert v.numpy(3).tolist() == [[3, 6]]
    assert numbered["word"].numpy([1, 2]) == ["w1", "w2"] and numbered["word"][1] == "w1"
    assert numbered["word"].shape is None
    assert isinstance(numbered["x"][2], np.int64)
    with pytest.raises(deeplake.NotFoundError, match='did you mean "word"'):
        numbered["words"]
    with pytest.raises(deeplake.InvalidArgumentError, match="ragged"):
        v.numpy(ragged="lst")


def test_ragged_tensors(place):
    ds = deeplake.create(place, schema={"r": {"dtype": "int16"}})
    samples = [np.arange(6).reshape(2, 3), np.zeros((0, 3)), np.ones((1, 5))]
    ds.extend({"r": [s.astype(np.int16) for s in samples]})
    ds.commit()
    assert ds["r"].shape == (None, None)
    for got, want in zip(ds["r"].numpy(), samples, strict=True):
        assert got.shape == want.shape and (got == want).all()
    padded = ds["r"].numpy(ragged="pad")
    assert padded.shape == (3, 2, 5)
    assert padded[0].tolist() == [[0, 1, 2, 0, 0], [3, 4, 5, 0, 0]] and padded[1].sum() == 0
    assert ds["r"][0:3, 0:1][2].shape == (1, 5)


def test_bytes_are_what_is_stored(place):
    files = [encoded(picture(i)) for i in range(5)]
    ds = deeplake.create(
        place, schema={"i": {"htype": "image", "compression": "jpeg"}, "x": {"dtype": "uint16"}, "t": "text"}
    )
    ds.extend({"i": [deeplake.read(f) for f in files], "x": np.arange(5, dtype=np.uint16), "t": [*"abcd", "\u00e9"]})
    ds.commit()
    for reader in (ds, deeplake.open(place), ds[:]):
        assert [reader["i"].bytes(k) for k in range(5)] == files
        assert reader["i"].bytes(-1) == files[4]
        assert reader["i"].bytes([4, 0, 4]) == [files[4], files[0], files[4]]
        assert reader["i"].bytes(slice(1, 3)) == files[1:3]
        assert reader["x"].bytes(3) == b"\3\0"
        assert reader["t"].bytes(4) == "\u00e9".encode()
        assert reader["i"].bytes([]) == []
    with pytest.raises(deeplake.OutOfRangeError):
        ds["i"].bytes(5)
    with pytest.raises(deeplake.OutOfRangeError):
        ds["i"].bytes(-6)
    with pytest.raises(deeplake.InvalidArgumentError):
        ds["i"].bytes("x")


def test_bytes_follow_the_dataset(numbered):
    word = numbered["word"]
    assert word.bytes(0) == b"w0"
    numbered.update(0, {"word": "changed"})
    assert word.bytes(0) == b"changed"
    numbered.delete(0)
    assert word.bytes(0) == b"w1"
    numbered.discard()
    assert word.bytes(0) == b"w0"


def test_images(place):
    pictures = [picture(i) for i in range(4)]
    ds = deeplake.create(
        place,
        schema={"jpeg": {"htype": "image", "compression": "jpeg"}, "png": {"htype": "image", "compression": "png"}},
    )
    ds.extend({"jpeg": [deeplake.read(encoded(p)) for p in pictures], "png": np.stack(pictures)})
    ds.commit()
    for i, want in enumerate(pictures):
        assert (ds[i]["png"] == want).all()
        assert abs(ds[i]["jpeg"].astype(int) - want).mean() < 3
    assert ds["png"].shape == (24, 32, 3) and ds["png"].numpy().shape == (4, 24, 32, 3)


def test_samples(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(encoded(picture(0), "PNG"))
    sample = deeplake.read(path)
    assert (sample.codec, sample.dtype, sample.shape) == ("png", "uint8", (24, 32, 3))
    assert (sample.array == picture(0)).all() and (np.asarray(sample) == picture(0)).all()
    assert bytes(sample) == path.read_bytes() and len(sample) == len(bytes(sample))
    assert sample == deeplake.read(path.read_bytes()) and sample == pickle.loads(pickle.dumps(sample))
    assert "a.png" in repr(sample) and "(24, 32, 3)" in repr(sample)
    assert deeplake.read(path, compression="png").codec == "png"
    with pytest.raises(deeplake.InvalidArgumentError, match='encoded as "png", want "jpeg"'):
        deeplake.read(path, compression="jpeg")


def test_reading_what_is_not_there(tmp_path):
    with pytest.raises(deeplake.NotFoundError, match="there is no such file"):
        deeplake.read(tmp_path / "none.jpg")
    with pytest.raises(FileNotFoundError):
        deeplake.read(tmp_path / "none.jpg")
    with pytest.raises(deeplake.StorageError):
        deeplake.read(tmp_path)
    with pytest.raises(deeplake.UnsupportedError):
        deeplake.read("https://example.org/x.jpg")
    with pytest.raises(deeplake.InvalidArgumentError):
        deeplake.read(3)
    with pytest.raises(deeplake.Error):
        _ = deeplake.read(b"no image").shape
