"""Large results of numbers, read at once: every value where it belongs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import numpy.typing as npt
import pytest

ROWS = 40_000
SHAPES: dict[str, tuple[int, ...]] = {"scalar": (), "triple": (3,), "square": (2, 2)}
DTYPES = ("bool", "int8", "uint16", "float32", "int64", "float64")


def _values(rng: np.random.Generator, rows: int) -> dict[str, npt.NDArray[Any]]:
    columns: dict[str, npt.NDArray[Any]] = {"id": np.arange(rows)}
    for name, shape in SHAPES.items():
        for dtype in DTYPES:
            columns[f"{name}_{dtype}"] = (rng.random((rows, *shape)) * 100).astype(dtype)
    return columns


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, npt.NDArray[Any]]]:
    """A dataset of numbers, some of them updated in place, and their values."""
    rng = np.random.default_rng(6)
    columns = _values(rng, ROWS)
    place = tmp_path_factory.mktemp("bulk") / "d"
    with deeplake.create(place) as ds:
        for k, (name, values) in enumerate(columns.items()):
            compression = ("none", "lz4", "zstd")[k % 3]
            ds.create_tensor(name, dtype=values.dtype.name, shape=values.shape[1:], compression=compression)
        for start in range(0, ROWS, ROWS // 2):
            ds.extend({name: values[start : start + ROWS // 2] for name, values in columns.items()})
            ds.commit("rows")
        changed = rng.choice(ROWS, 500, replace=False)
        news = _values(rng, 500)
        news.pop("id")
        for name, values in news.items():
            ds[name][changed] = values
            columns[name][changed] = values
        ds.commit("news")
    return place, columns


@pytest.mark.parametrize("order", ["id", "id DESC", "scalar_float32"])
def test_results(written: tuple[Path, dict[str, npt.NDArray[Any]]], order: str) -> None:
    place, columns = written
    ds = deeplake.open(place, read_only=True)
    found = ds.query(f"SELECT *, id + 1 AS next WHERE id % 7 IN (1, 3, 4) ORDER BY {order}")
    rows = np.flatnonzero(np.isin(columns["id"] % 7, (1, 3, 4)))
    if order == "id DESC":
        rows = rows[::-1]
    elif order != "id":
        rows = rows[np.argsort(columns[order][rows], kind="stable")]
    assert found.rows.tolist() == rows.tolist()
    for name, values in columns.items():
        got = found[name].numpy()
        assert isinstance(got, np.ndarray)
        assert got.dtype == values.dtype
        np.testing.assert_array_equal(got, values[rows], err_msg=name)
    np.testing.assert_array_equal(found["next"].numpy(), rows + 1)


def test_views(written: tuple[Path, dict[str, npt.NDArray[Any]]]) -> None:
    place, columns = written
    ds = deeplake.open(place, read_only=True)
    rng = np.random.default_rng(1)
    for rows in (
        rng.integers(0, ROWS, 9000),
        np.sort(rng.integers(0, ROWS, 9000)),
        np.arange(ROWS - 1, -1, -3),
        np.arange(ROWS),
    ):
        view = ds[rows.tolist()]
        for name, values in columns.items():
            np.testing.assert_array_equal(view[name].numpy(), values[rows], err_msg=name)
            np.testing.assert_array_equal(ds[name][rows], values[rows], err_msg=name)


def test_holes(written: tuple[Path, dict[str, npt.NDArray[Any]]]) -> None:
    place, columns = written
    ds = deeplake.open(place, read_only=True)
    joined = ds.query(
        "SELECT l.id AS id, r.triple_float32 AS r FROM dataset AS l LEFT JOIN dataset AS r ON l.id = r.id + 5"
    )
    got = joined["r"].numpy()
    assert [i for i, value in enumerate(got) if value is None] == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(np.stack(got[5:]), columns["triple_float32"][:-5])


def test_marked_holes(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    rows = 3000
    with deeplake.create(tmp_path / "d") as ds:
        ds.create_tensor("x", dtype="int16", shape=())
        ds.create_tensor("v", dtype="float32", shape=(2,))
        ds.create_tensor("none", dtype="int16", shape=())
        values = [None if row % 5 == 2 else row for row in range(rows)]
        vectors = [None if row % 7 == 3 else [row, -row] for row in range(rows)]
        ds.extend({"x": values, "v": vectors, "none": [None] * rows})
        ds.commit("rows")
        for view in (ds, ds[::-1], ds[np.random.default_rng(1).integers(0, rows, rows).tolist()]):
            order = view.rows.tolist()
            found = view["x"].numpy()
            assert found == [values[row] for row in order]
            assert {type(value) for value in found} == {np.int16, type(None)}
            assert view["none"].numpy() == [None] * rows
            for value, row in zip(view["v"].numpy(), order, strict=True):
                assert (None if value is None else value.tolist()) == vectors[row]
            table = view.to_arrow()
            assert table["x"].to_pylist() == [values[row] for row in order]
            assert table["v"].to_pylist() == [vectors[row] for row in order]
            assert table["none"].to_pylist() == [None] * rows


def test_arrow_of_arrays(written: tuple[Path, dict[str, npt.NDArray[Any]]]) -> None:
    pa = pytest.importorskip("pyarrow")
    place, columns = written
    ds = deeplake.open(place, read_only=True)
    rows = np.flatnonzero(columns["id"] % 3 == 1)
    table = ds.query("SELECT * WHERE id % 3 = 1").to_arrow()
    for name in columns:
        values = columns[name][rows]
        column = table[name].combine_chunks()
        for axis in values.shape[1:]:
            assert column.type.list_size == axis
            column = column.flatten()
        assert column.type == pa.from_numpy_dtype(values.dtype)
        np.testing.assert_array_equal(np.asarray(column).reshape(values.shape), values, err_msg=name)


def test_damage_names_the_row(tmp_path: Path) -> None:
    with deeplake.create(tmp_path / "d") as ds:
        ds.create_tensor("x", dtype="int64", shape=())
        ds.extend({"x": np.arange(200_000)})
        ds.commit("rows")
    largest = max((tmp_path / "d").rglob("data/**/*"), key=lambda path: path.stat().st_size if path.is_file() else 0)
    data = bytearray(largest.read_bytes())
    data[len(data) // 2] ^= 1
    largest.write_bytes(data)
    ds = deeplake.open(tmp_path / "d", read_only=True)
    found = ds.query("SELECT x WHERE ROW_NUMBER() % 10 = 3")
    for _ in range(2):
        with pytest.raises(deeplake.CorruptError, match=r'read row \d+3 of tensor "x"'):
            found["x"].numpy()
    assert len(found[:100]["x"].numpy()) == 100
