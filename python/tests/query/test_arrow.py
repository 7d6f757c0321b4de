"""Rows as Arrow tables and data frames."""

from __future__ import annotations

import datetime
import json
import sys

import deeplake
import numpy as np
import pytest
from conftest import picture

pa = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def ds():
    ds = deeplake.create("mem://arrow", overwrite=True)
    ds.create_tensor("i", dtype="int32")
    ds.create_tensor("f", dtype="float64")
    ds.create_tensor("b", dtype="bool")
    ds.create_tensor("l", "class_label", class_names=["cat", "dog"])
    ds.create_tensor("s", "text")
    ds.create_tensor("m", "json")
    ds.create_tensor("v", dtype="float32")
    ds.create_tensor("mat", dtype="int16")
    ds.create_tensor("r", dtype="float64")
    ds.create_tensor("box", "bbox")
    ds.create_tensor("im", "image", compression="png")
    ds.create_tensor("q", "sequence[generic]", dtype="int64")
    ds.create_tensor("d", dtype="date")
    ds.create_tensor("t", dtype="timestamp")
    ds.extend(
        {
            "i": [1, None, 3],
            "f": [0.5, 1.5, None],
            "b": [True, None, False],
            "l": [0, 1, None],
            "s": ["a", None, "é"],
            "m": [{"k": [1]}, None, 3],
            "v": [np.ones(4, np.float32), np.zeros(4, np.float32), None],
            "mat": [np.arange(6, dtype=np.int16).reshape(2, 3)] * 3,
            "r": [np.arange(2.0), np.zeros(0), None],
            "box": [np.ones((2, 4), np.float32), np.zeros((0, 4), np.float32), np.full((1, 4), 2, np.float32)],
            "im": [picture(0), picture(1), picture(2)],
            "q": [[1, 2], [], [3]],
            "d": [0, 19782, None],
            "t": [0, None, 1_500_000],
        }
    )
    ds.commit()
    return ds


def test_columns(ds):
    table = ds.query("SELECT *").to_arrow()
    assert table.column_names == list(ds.tensors) and table.num_rows == 3
    got = table.to_pydict()
    assert got["i"] == [1, None, 3] and table.schema.field("i").type == pa.int32()
    assert got["f"] == [0.5, 1.5, None] and got["b"] == [True, None, False]
    assert got["l"] == ["cat", "dog", None] and pa.types.is_dictionary(table.schema.field("l").type)
    assert got["s"] == ["a", None, "é"] and [m and json.loads(m) for m in got["m"]] == [{"k": [1]}, None, 3]
    assert got["v"] == [[1] * 4, [0] * 4, None] and table.schema.field("v").type == pa.list_(pa.float32(), 4)
    assert got["mat"] == [[[0, 1, 2], [3, 4, 5]]] * 3
    assert got["r"] == [[0.0, 1.0], [], None]
    assert got["box"] == [[[1] * 4] * 2, [], [[2] * 4]]
    assert got["im"][1] == ds["im"].bytes(1)
    assert got["q"] == [[1, 2], [], [3]]
    assert got["d"] == [datetime.date(1970, 1, 1), datetime.date(2024, 2, 29), None]
    assert got["t"] == [datetime.datetime(1970, 1, 1), None, datetime.datetime(1970, 1, 1, 0, 0, 1, 500000)]


def test_pixels_and_a_choice(ds):
    table = ds.to_arrow(tensors=["im"], images="pixels")
    assert np.array_equal(np.array(table.column("im").to_pylist()[2], np.uint8), picture(2))


def test_an_empty_result(ds):
    table = ds.query("SELECT i, s, v, box, l WHERE i > 100").to_arrow()
    assert table.num_rows == 0 and table.schema.field("i").type == pa.int32()


def test_many_rows():
    ds = deeplake.create("mem://arrow-many", overwrite=True)
    ds.create_tensor("x", dtype="int64")
    ds.create_tensor("r", dtype="uint8")
    n = 150_000
    ds.extend({"x": np.arange(n), "r": [np.zeros(i % 3, np.uint8) for i in range(n)]})
    ds.commit()
    table = ds.query("SELECT x, r, x * 2 AS y").to_arrow()
    assert table.column("x").num_chunks > 1 and table.column("y").to_pylist()[-1] == 2 * (n - 1)
    assert [len(row) for row in table.column("r").to_pylist()] == [i % 3 for i in range(n)]


def test_samples_of_different_axes():
    ds = deeplake.create("mem://arrow-axes", overwrite=True)
    ds.create_tensor("x", dtype="int64")
    ds.extend({"x": [np.zeros(2, np.int64), np.zeros((2, 2), np.int64)]})
    ds.commit()
    with pytest.raises(deeplake.TensorTypeError, match=r'tensor "x".*1 and 2 axes'):
        ds.to_arrow()


def test_frames(ds):
    pytest.importorskip("pandas")
    frame = ds.query("SELECT i, f, b, l, s, v WHERE i > 0 OR i IS NULL").to_pandas()
    assert str(frame["i"].dtype) == "Int32" and frame["i"].isna().tolist() == [False, True, False]
    assert str(frame["b"].dtype) == "boolean" and str(frame["l"].dtype) == "category"
    assert np.isnan(frame["f"][2]) and frame["s"][0] == "a"
    full = ds.query("SELECT i, l WHERE i > 0 AND l IS NOT NULL").to_pandas()
    assert str(full["i"].dtype) == "int32" and full["l"].tolist() == ["cat"]


def test_arguments(ds):
    with pytest.raises(deeplake.InvalidArgumentError, match="images"):
        ds.to_arrow(images="pixel")
    with pytest.raises(deeplake.NotFoundError, match='"nope"'):
        ds.to_arrow(tensors=["nope"])


def test_without_the_packages(ds, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(deeplake.UnsupportedError, match="pip install pyarrow"):
        ds.to_arrow()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(deeplake.UnsupportedError, match="pip install pandas"):
        ds.to_pandas()


def test_jpeg_files():
    ds = deeplake.create("mem://arrow-jpeg", overwrite=True)
    ds.create_tensor("im", "image", compression="jpeg")
    ds.append({"im": picture(3)})
    ds.commit()
    assert ds.to_arrow().column("im").to_pylist()[0][:2] == b"\xff\xd8"
