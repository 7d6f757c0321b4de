"""Columns of data frames outside of one, and arguments of ingest that are of a wrong type."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import deeplake
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest


def place() -> str:
    return f"mem://frames-{uuid.uuid4().hex}"


ARRAYS: dict[str, Any] = {
    "Categorical": lambda: pd.Categorical(["y", None, "x"], ["x", "y", "z"]),
    "CategoricalIndex": lambda: pd.CategoricalIndex(["y", "x"]),
    "numbers as categories": lambda: pd.Categorical([30, None, 10]),
    "Int64": lambda: pd.array([1, None], dtype="Int64"),
    "boolean": lambda: pd.array([True, None], dtype="boolean"),
    "string": lambda: pd.array(["a", None], dtype="string"),
    "Index": lambda: pd.Index(["a", "b"]),
    "RangeIndex": lambda: pd.RangeIndex(3),
    "DatetimeIndex": lambda: pd.date_range("2026", periods=2),
    "DatetimeIndex with a zone": lambda: pd.date_range("2026", periods=2, tz="Europe/Berlin"),
    "DatetimeArray with a zone": lambda: pd.date_range("2026", periods=2, tz="UTC").array,
    "TimedeltaIndex": lambda: pd.to_timedelta([1, None], unit="s"),
    "SparseArray": lambda: pd.arrays.SparseArray([0, 1]),
    "ArrowExtensionArray": lambda: pd.array([1, None], dtype=pd.ArrowDtype(pa.int8())),
    "PeriodIndex": lambda: pd.period_range("2026", periods=2),
    "IntervalArray": lambda: pd.arrays.IntervalArray.from_breaks([0, 1]),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_pandas_are_as_their_series(name: str) -> None:
    def stored_as(column: Any) -> Any:
        ds = deeplake.create(place())
        try:
            ds.extend({"a": column})
        except deeplake.TensorTypeError as err:
            return str(err)
        got = ds.schema, ds["a"][:]
        ds.update(slice(0, len(column)), {"a": column})
        assert repr(ds["a"][:]) == repr(got[1])
        ds.discard()
        return got

    assert repr(stored_as(ARRAYS[name]())) == repr(stored_as(pd.Series(ARRAYS[name]())))


TYPES = ["int8", "Int8", "UInt64", "Float32", "boolean", "string", "float64", "datetime64[us]", "category", object]
NONE = {"int8", "float64"}  # of NumPy: the former has no missing values, those of the latter are NaN


@pytest.mark.parametrize(
    ("dtype", "rows"), [(dtype, rows) for dtype in TYPES for rows in (0, 2) if rows == 0 or dtype not in NONE]
)
def test_frames_without_values_have_the_types_of_arrow(dtype: Any, rows: int) -> None:
    frame = pd.DataFrame({"a": pd.Series([None] * rows, dtype=dtype)})
    with deeplake.ingest(frame, place(), verbose=False) as ds:
        assert len(ds) == rows and list(ds) == rows * [{"a": None}]
        if (dtype, rows) == ("category", 2):
            assert ds["a"].htype == "class_label"
            return
        with deeplake.ingest(pa.Table.from_pandas(frame), place(), verbose=False) as other:
            assert (ds["a"].htype, ds["a"].dtype) == (other["a"].htype, other["a"].dtype)


def test_frames_of_floats_and_of_nothing() -> None:
    """A missing value of NumPy's float64 is NaN."""
    with deeplake.ingest(pd.DataFrame({"a": [None, None]}, dtype="float64"), place(), verbose=False) as ds:
        assert ds["a"].dtype == "float64" and np.isnan(ds["a"][:]).all() and len(ds) == 2
    with pytest.raises(deeplake.InvalidArgumentError, match="has no rows"):
        deeplake.ingest(pd.DataFrame(), place())


@pytest.mark.parametrize(
    ("make", "want"),
    [
        (lambda: pl.Series("a", ["x", None, "x"], dtype=pl.Enum(["z", "x"])), ([1, None, 1], ["z", "x"])),
        (lambda: pl.Series("a", ["x", "y"], dtype=pl.Enum(["y", "x"])).gather([0]), ([1], ["y", "x"])),
        (lambda: pl.Series("a", [None, "b", "x", "b"], dtype=pl.Categorical), ([None, 0, 1, 0], ["b", "x"])),
        (lambda: pl.Series("a", ["c", "b", "x"], dtype=pl.Categorical).slice(1), ([0, 1], ["b", "x"])),
    ],
)
def test_categories_of_polars_are_labels_in_each_form(make: Any, want: Any) -> None:
    for source in ({"a": make()}, make().to_frame("a")):
        with deeplake.ingest(source, place(), verbose=False) as ds:
            assert ds["a"].htype == "class_label" and list(ds["a"].class_names) == want[1]
            assert [None if row["a"] is None else int(row["a"]) for row in ds] == want[0]
    with deeplake.create(place(), schema={"a": "text"}) as ds:
        ds.extend({"a": make()})
        assert [row["a"] for row in ds] == make().to_list()
        ds.discard()


def test_objects_of_polars_are_refused_in_each_form() -> None:
    series = pl.Series("o", [object(), object()], dtype=pl.Object)
    for source, options in (
        ({"o": series}, {}),
        (series.to_frame(), {}),
        (series.to_frame(), {"columns": ["o"]}),
        (series.to_frame(), {"schema": {"o": {"dtype": "bytes"}}}),
        (series.to_frame(), {"on_error": "skip"}),
    ):
        with pytest.raises(deeplake.TensorTypeError, match='column "o" has Python objects'):
            deeplake.ingest(source, place(), verbose=False, **options)  # type: ignore[arg-type]
    with pytest.raises(deeplake.TensorTypeError, match='column "o" of type Series'):
        deeplake.ingest({"o": series}, place(), on_error="skip")
    with deeplake.create(place(), schema={"o": {"dtype": "bytes"}}) as ds:
        ds.extend({"o": [b"a", b"b"]})
        with pytest.raises(deeplake.TensorTypeError, match='column "o" has Python objects'):
            ds.update([0, 1], {"o": series})
        ds.discard()


WRONG: dict[str, list[Any]] = {
    "schema": [5, "text", ["a"], {"a": 5}, np.zeros(2), {5: "text"}],
    "columns": [5, "a", [5], [None], [], np.zeros(2)],
    "format": [5, b"csv", np.zeros(2)],
    "urls": [5, None, [5], {"a": 5}, {5: "a"}, np.zeros(2)],
    "size": ["x", 1.5, True, np.zeros(2)],
    "link": [5, "x", None, np.zeros(2)],
    "annotations": [5, b"x", ["a"], np.zeros(2)],
    "masks": [5, np.zeros(2)],
    "episodes": ["x", [1.5], np.zeros(2)],
    "apply_exif_orientation": [5, np.zeros(2)],
    "on_error": [5, ["skip"], np.zeros(2), "x"],
    "overwrite": ["x", 0, np.zeros(2)],
    "storage": [5, {}, np.zeros(2)],
    "source_storage": [5, np.zeros(2)],
    "message": [5, "\ud800", np.zeros(2)],
    "verbose": [5, np.zeros(2)],
}


@pytest.mark.parametrize("argument", WRONG)
@pytest.mark.parametrize("kind", ["columns", "rows", "pandas", "table", "csv", "npy"])
def test_arguments_of_a_wrong_type(kind: str, argument: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,x\n")
    np.save(tmp_path / "t.npy", np.zeros((2, 3)))
    for value in WRONG[argument]:
        source = {
            "columns": {"a": [1]}, "rows": [{"a": 1}], "pandas": pd.DataFrame({"a": [1]}), "table": pa.table({"a": [1]}),
            "csv": tmp_path / "t.csv", "npy": tmp_path / "t.npy",
        }[kind]  # fmt: skip
        uri = place()
        with pytest.raises(deeplake.InvalidArgumentError):
            deeplake.ingest(source, uri, **{"verbose": False, argument: value})
        assert not deeplake.exists(uri)


@pytest.mark.parametrize(
    ("source", "match"),
    [
        (lambda: {"a": [1, "x"]}, "column \"a\" of type list: .*'x'.*leave out urls"),
        (lambda: {"a": [1], "b": [1, 2]}, "the columns: .*length 1 but got length 2"),
        (lambda: {1: [1]}, r"names of columns is \[1\]"),
        (lambda: {"a": 5}, 'column "a" of type int'),
        (lambda: {"a": None}, 'column "a" of type NoneType'),
        (lambda: {"a": np.zeros((2, 3))}, "1-dimensional"),
        (lambda: {"a": [object()]}, 'column "a" of type list'),
        (lambda: pd.DataFrame({"a": [1, "x"]}), "the frame: .*'x'"),
        (lambda: pd.DataFrame([[1, 2]], columns=["a", "a"]), 'two columns "a"'),
        (lambda: pd.DataFrame([[1, 2]]), "a column named 0"),
    ],
)
def test_columns_that_arrow_does_not_hold(source: Any, match: str) -> None:
    for options in ({"on_error": "skip"}, {"urls": "a"}, {"size": 8}):
        with pytest.raises(deeplake.Error, match=match):
            deeplake.ingest(source(), place(), verbose=False, **options)
    with pytest.raises(deeplake.InvalidArgumentError, match='two columns "a"; rename'):
        deeplake.ingest(pa.table([[1], [2]], names=["a", "a"]), place(), columns=["a"])
