"""Tables of pandas, Arrow and polars as rows of a dataset: the way back of to_arrow and to_pandas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import deeplake
import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

SCHEMA: dict[str, Any] = {
    "n": {"dtype": "int64"},
    "f": {"dtype": "float32"},
    "flag": {"dtype": "bool"},
    "label": {"htype": "class_label", "class_names": ["cat", "dog"]},
    "word": "text",
    "meta": "json",
    "raw": {"dtype": "bytes"},
    "flat": {"dtype": "float32", "shape": (2, 3)},
    "ragged": {"dtype": "int16"},
    "boxes": "bbox",
    "list": {"htype": "sequence[generic]", "dtype": "int64"},
    "words": {"htype": "sequence[text]"},
    "image": {"htype": "image", "compression": "png"},
    "day": {"dtype": "date"},
    "time": {"dtype": "timestamp"},
    "span": {"dtype": "interval"},
}


def rows(holes: bool) -> list[dict[str, Any]]:
    made = [
        {
            "n": i,
            "f": i / 4,
            "flag": i % 2 == 0,
            "label": i % 2,
            "word": f"wört {i}",
            "meta": [{"i": i}, "text", None, 2.5][i % 4],
            "raw": bytes([i, 0, 255]),
            "flat": np.full((2, 3), i, np.float32),
            "ragged": np.arange(i + 1, dtype=np.int16),
            "boxes": np.full((i % 3, 4), i, np.float32),
            "list": list(range(i)),
            "words": ["a"] * i,
            "image": np.full((4, 5, 3), i, np.uint8),
            "day": 19_000 + i,
            "time": 1_500_000_000_000_000 + i,
            "span": -i,
        }
        for i in range(6)
    ]
    if holes:
        made.append({**dict.fromkeys(SCHEMA), "list": [], "words": [], "boxes": np.zeros((0, 4), np.float32)})
        made.append(made[3])
    return made


@pytest.fixture(scope="module", params=[False, True], ids=["full", "holes"])
def ds(request: Any) -> Iterator[Any]:
    with deeplake.create("mem://frames-out", overwrite=True, schema=SCHEMA) as made:
        made.extend(rows(request.param))
        made.commit()
        yield made


def same(got: Any, want: Any, tensors: Any = SCHEMA) -> None:
    assert len(got) == len(want)
    for name in tensors:
        for i in range(len(want)):
            a, b = got[name][i], want[name][i]
            assert (a is None) == (b is None), (name, i, a, b)
            assert np.asarray(a).dtype == np.asarray(b).dtype and np.array_equal(a, b), (name, i, a, b)


@pytest.mark.parametrize("images", ["encoded", "pixels"])
def test_arrow_comes_back(ds: Any, images: str) -> None:
    table = ds.query("SELECT *").to_arrow(images=images)
    with deeplake.create("mem://frames-in", overwrite=True, schema=SCHEMA) as back:
        back.extend(table)
        same(back, ds)
        if images == "encoded":
            assert all(back["image"].bytes(i) == ds["image"].bytes(i) for i in range(6))
        back.discard()


def test_pieces_of_tables_come_back(ds: Any) -> None:
    table = ds.query("SELECT *").to_arrow()
    with deeplake.create("mem://frames-pieces", overwrite=True, schema=SCHEMA) as back:
        # Slices share buffers and have offsets; a table of several chunks has one for each.
        back.extend(pa.concat_tables([table.slice(1, 2), table.slice(3, 1)]))
        back.extend(table.slice(4).to_batches()[0])
        back.extend(table.slice(0, 0))
        same(back, ds[1:])
        back.discard()


def test_pandas_comes_back(ds: Any) -> None:
    frame = ds.query("SELECT *").to_pandas()
    with deeplake.create("mem://frames-pandas", overwrite=True, schema=SCHEMA) as back:
        back.extend(frame)
        same(back, ds, [name for name in SCHEMA if name != "f"])
        # A frame of floats has NaN where a value is missing, and NaN is a number.
        assert np.array_equal(np.isnan(back["f"].numpy()), [ds["f"][i] is None for i in range(len(ds))])
        back.extend(frame[frame.n == 3].drop_duplicates("n"))  # an index that does not begin at 0
        same(back[len(ds) :], ds[3:4], [name for name in SCHEMA if name != "f"])
        back.discard()


def test_columns_of_a_dict(ds: Any) -> None:
    tensors = ["n", "word", "label"]
    frame, table = (
        view.to_pandas() if k == 0 else view.to_arrow()
        for k, view in enumerate([ds.query("SELECT n, word, label")] * 2)
    )
    with deeplake.create(
        "mem://frames-columns", overwrite=True, schema={name: SCHEMA[name] for name in tensors}
    ) as back:
        back.extend({"n": frame["n"], "word": table["word"], "label": table["label"].combine_chunks()})
        same(back, ds, tensors)
        back.update(slice(0, 2), {"word": pd.Series(["x", "y"])})
        assert back["word"][0] == "x" and back["word"][1] == "y"
        back.discard()


def test_kinds_of_pandas() -> None:
    schema = {
        "i": {"dtype": "int32"},
        "s": "text",
        "c": "class_label",
        "f": {"dtype": "float64"},
        "t": {"dtype": "timestamp[us, Europe/Paris]"},
    }
    when = pd.Timestamp("2026-01-02T03:04:05.000006", tz="Europe/Paris")
    frame = pd.DataFrame(
        {
            "i": pd.array([1, None, 3], "Int32"),
            "s": pd.array(["a", None, "c"], "string"),
            "c": pd.Categorical(["x", "y", None]),
            "f": [0.5, float("nan"), 2.5],
            "t": pd.Series([when, pd.NaT, when]),
        }
    )
    for given in (frame, frame.convert_dtypes(dtype_backend="pyarrow").assign(f=frame["f"], c=frame["c"])):
        with deeplake.create("mem://frames-kinds", overwrite=True, schema=schema) as ds:
            ds.extend(given)
            assert list(ds["i"].numpy()) == [1, None, 3] and list(ds["s"].numpy()) == ["a", None, "c"]
            assert ds["c"].class_names == ["x", "y"] and list(ds["c"].numpy()) == [0, 1, None]
            assert np.isnan(ds["f"][1])  # a number, no missing value
            assert ds["t"][0] == when.to_datetime64() and ds["t"][1] is None
            ds.discard()


def test_numbers_without_copies_of_each() -> None:
    """A million numbers are one array, no list of Python numbers."""
    from deeplake._samples.frames import samples_of

    numbers = np.arange(1_000_000, dtype=np.int32)
    assert np.shares_memory(samples_of("extend", "x", (series := pd.Series(numbers)), None), series.to_numpy())
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(numbers), 8)
    with deeplake.create("mem://frames-vectors", overwrite=True, schema={"x": "generic"}) as ds:
        ds.extend({"x": pa.chunked_array([vectors[10:], vectors[:10]])})
        assert np.array_equal(ds["x"].numpy(), np.roll(numbers.reshape(-1, 8), -10, axis=0))
        ds.discard()


class Stream:
    """A table of another library, which gives its rows by the stream interface of Arrow."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)


def test_other_tables() -> None:
    duckdb = pytest.importorskip("duckdb")
    with deeplake.create("mem://frames-other", overwrite=True, schema={"x": {"dtype": "int32"}, "s": "text"}) as ds:
        ds.extend(Stream(pa.table({"x": pa.array([1, 2], pa.int32()), "s": ["a", None]})))
        ds.extend(duckdb.sql("SELECT 3::INTEGER AS x, 'c' AS s"))
        assert list(ds["x"].numpy()) == [1, 2, 3] and list(ds["s"].numpy()) == ["a", None, "c"]
        ds.discard()


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (lambda: pd.DataFrame({"x": [1], "y": [2]}), 'there is no tensor "y"'),
        (lambda: pd.DataFrame({0: [1]}), "a column named 0"),
        (lambda: pd.DataFrame([[1, 2]], columns=["x", "x"]), 'two columns "x"'),
        (lambda: pd.DataFrame({"x": ["a"]}), "x"),
        (lambda: pd.DataFrame({"x": pd.to_datetime(["2026-01-01"])}), "want plain numbers"),
        (lambda: pa.table({"x": pa.array([1]).cast(pa.decimal128(20))}), "cast it to float64"),
        (lambda: pa.table({"x": pa.array([[1]])}), "x"),
        (lambda: pa.table({"j": ["{"]}), "which is no JSON"),
    ],
)
def test_refused(frame: Any, message: str) -> None:
    schema = {"j": "json"} if "JSON" in message else {"x": {"dtype": "int64", "shape": ()}}
    with deeplake.create("mem://frames-refused", overwrite=True, schema=schema) as ds:
        with pytest.raises(deeplake.Error, match=message):
            ds.extend(frame())
        assert len(ds) == 0 and not ds.dirty
