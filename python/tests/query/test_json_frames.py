"""json in tables: Python values in pandas, JSON text in Arrow, by one rule in both directions."""

from __future__ import annotations

import json
import warnings
from typing import Any

import deeplake
import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

VALUES: list[Any] = [
    "sun",
    "",
    "1",
    "null",
    '"quoted"',
    '{"a": 1}',
    {"a": [1, {"b": None}]},
    {},
    [],
    [1, "x", None, True],
    0,
    -(2**62),
    2.5,
    True,
    False,
    None,
    "é\n\t",
]


@pytest.fixture
def ds() -> Any:
    schema = {"meta": "json", "tags": "tag", "parts": "sequence[json]"}
    with deeplake.create("mem://json-frames", overwrite=True, schema=schema) as made:
        tags = [["a", '["b"]'], []] * 9
        made.extend({"meta": VALUES, "tags": tags[: len(VALUES)], "parts": [[value or 0, "s"] for value in VALUES]})
        made.commit()
        yield made


def same(a: Any, b: Any) -> bool:
    return [(type(x), x) for x in a] == [(type(x), x) for x in b]


def test_pandas_has_python_values(ds: Any) -> None:
    frame = ds.to_pandas()
    assert frame["meta"].dtype == object and same(frame["meta"], VALUES)
    assert frame["tags"][0] == ["a", '["b"]'] and same(frame["parts"], ds["parts"][:])
    assert (frame["meta"] == "sun").sum() == 1
    part = ds.query("SELECT meta['a'] AS a WHERE meta['a'] IS NOT NULL").to_pandas()
    assert part["a"][0] == [1, {"b": None}]
    assert list(ds[:0].to_pandas().columns) == ["meta", "tags", "parts"]


@pytest.mark.parametrize("form", ["pandas", "arrow", "arrow columns", "arrow in pandas", "dict", "rows", "polars"])
def test_both_ways(ds: Any, form: str) -> None:
    """Every kind of value comes back as itself."""
    if form == "polars":
        pl = pytest.importorskip("polars")
    table = ds.to_arrow()
    rows: Any = {
        "pandas": ds.to_pandas,
        "arrow": lambda: table,
        "arrow columns": lambda: {name: table[name] for name in table.column_names},
        "arrow in pandas": lambda: table.to_pandas(types_mapper=pd.ArrowDtype),
        "dict": lambda: {name: ds[name][:] for name in ds.tensors},
        "rows": lambda: [dict(row) for row in ds],
        "polars": lambda: pl.from_arrow(table),
    }[form]()
    with deeplake.create("mem://json-again", overwrite=True, schema=ds.schema) as again:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            again.extend(rows)
        for name in ds.tensors:
            assert same(again[name][:], ds[name][:]), name
        again.discard()


def test_arrow_has_text(ds: Any) -> None:
    column = ds.to_arrow()["meta"]
    assert [None if text is None else json.loads(text) for text in column.to_pylist()] == VALUES
    with pytest.raises(deeplake.TensorTypeError, match=r"'sun', which is no JSON.*json\.dumps"):
        ds.extend({"meta": pa.array(["sun"]), "tags": [[]], "parts": [[]]})


def test_numbers_of_pandas(ds: Any) -> None:
    """Columns with a dtype of pandas are values, too."""
    frame = pd.DataFrame({"meta": pd.array([1, None, 3], "Int64"), "tags": [["x"]] * 3, "parts": [[1]] * 3})
    for column, want in (
        (frame["meta"], [1, None, 3]),
        (pd.Series([True, False, True]), [True, False, True]),
        (pd.Series([1.5, 2.0, 3.0]), [1.5, 2.0, 3.0]),
        (pd.Series(["a", None, '"b"']), ["a", None, '"b"']),
        (pd.Series(["x", "y", "x"], dtype="category"), ["x", "y", "x"]),
    ):
        ds.extend({"meta": column, "tags": frame["tags"], "parts": frame["parts"]})
        assert same(ds["meta"][-3:], want)
        ds.discard()


def test_text_that_was_not_parsed(ds: Any) -> None:
    """A frame of a CSV file has JSON text: it is stored as it stands, and a warning says so."""
    frame = pd.DataFrame({"meta": ['{"a": 1}', None, "[2]"], "tags": [["x"]] * 3, "parts": [[1]] * 3})
    with pytest.warns(UserWarning, match=r"JSON string.*map\(json\.loads\)") as caught:
        ds.extend(frame)
    assert caught[0].filename == __file__
    assert ds["meta"][-3:] == ['{"a": 1}', None, "[2]"]
    frame["meta"] = frame["meta"].map(json.loads, na_action="ignore")
    ds.extend(frame)
    assert ds["meta"][-3:] == [{"a": 1}, None, [2]]
    ds.discard()
    assert np.array_equal(ds.to_pandas().index, np.arange(len(VALUES)))
