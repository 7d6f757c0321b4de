"""Values on their way in and out: one rule for all carriers, and nothing but the errors of the package."""

from __future__ import annotations

import datetime
import decimal
import fractions
import itertools
import re
import warnings
from typing import Any
from zoneinfo import ZoneInfo

import deeplake
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
torch = pytest.importorskip("torch")

NUMBERS = [
    "bool",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
]
counter = itertools.count()


def empty(**tensors: Any) -> Any:
    return deeplake.create(f"mem://in-and-out-{next(counter)}", schema=tensors)


def stored(columns: Any, **tensors: Any) -> Any:
    """The dataset after one extend for each of the columns."""
    ds = empty(**(tensors or {"x": "generic"}))
    for column in columns:
        rows = isinstance(column, list) and column and isinstance(column[0], dict)
        ds.extend(column if rows or isinstance(column, dict) or hasattr(column, "columns") else {"x": column})
    ds.commit()
    return ds


def extremes(dtype: str) -> np.ndarray:
    """Four values, among them the largest and the least of the dtype."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([True, False, True, True])
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return np.array([limits.max, limits.min, 1, 0], kind)
    limits = np.finfo(kind)
    return np.array([limits.max, -limits.tiny, 0.1, np.inf], kind)


# --- every carrier of a column, with and without missing rows, in the first batch and in a later one ---


def arrow(values: np.ndarray, missing: list[bool] | None) -> Any:
    return pa.table({"x": pa.array(values, mask=None if missing is None else np.array(missing))})


def pandas(values: np.ndarray, missing: list[bool] | None) -> Any:
    series = pd.Series(values)
    if missing is None:
        return pd.DataFrame({"x": series})
    names = {
        "b": "boolean",
        "u": f"UInt{8 * values.itemsize}",
        "i": f"Int{8 * values.itemsize}",
        "f": f"Float{8 * values.itemsize}",
    }
    return pd.DataFrame({"x": series.astype(names[values.dtype.kind]).mask(pd.Series(missing))})


def pandas_arrow(values: np.ndarray, missing: list[bool] | None) -> Any:
    array = pa.array(values, mask=None if missing is None else np.array(missing))
    return pd.DataFrame({"x": pd.Series(pd.arrays.ArrowExtensionArray(array))})


def polars(values: np.ndarray, missing: list[bool] | None) -> Any:
    return pl.from_arrow(arrow(values, missing))


def holed(values: list[Any], missing: list[bool] | None) -> dict[str, Any]:
    return {"x": [None if missing is not None and missing[i] else value for i, value in enumerate(values)]}


CARRIERS = {
    "array": lambda values, missing: holed(list(values), missing) if missing else {"x": values},
    "scalars of NumPy": lambda values, missing: holed(list(values), missing),
    "arrays without axes": lambda values, missing: holed([np.asarray(value) for value in values], missing),
    "torch": lambda values, missing: (
        {"x": torch.from_numpy(values)} if missing is None else holed(list(torch.from_numpy(values)), missing)
    ),
    "arrow": arrow,
    "pandas": pandas,
    "pandas of arrow": pandas_arrow,
    "polars": polars,
    "rows": lambda values, missing: [
        {"x": None if missing and missing[i] else value} for i, value in enumerate(values)
    ],
}
UNKNOWN = {  # dtypes that the library of a carrier does not have
    ("torch", "uint16"), ("torch", "uint32"), ("torch", "uint64"), ("polars", "float16"), ("pandas", "float16"),
}  # fmt: skip


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("carrier", CARRIERS)
def test_numbers_keep_dtype_and_digits(carrier: str, dtype: str) -> None:
    values = extremes(dtype)
    for nulls in (None, [False, True, False, False], [True, False, False, True], [True, True, True, True]):
        if (carrier, dtype) in UNKNOWN:
            continue
        made = CARRIERS[carrier]
        with stored([made(values, nulls), made(values, None)]) as ds:  # the first batch, and a later one
            assert ds["x"].dtype == dtype, (carrier, nulls)
            want = [None if nulls and nulls[i] else value for i, value in enumerate(values)] + list(values)
            for got, value in zip(list(ds["x"].numpy()), want, strict=True):
                assert (got is None) == (value is None)
                assert value is None or (got.dtype == dtype and got.tobytes() == value.tobytes()), (
                    carrier,
                    nulls,
                    got,
                    value,
                )


@pytest.mark.parametrize("dtype", NUMBERS)
def test_lists_of_numbers_keep_dtype_and_digits(dtype: str) -> None:
    values = extremes(dtype)
    columns = {
        "array": lambda: {"x": [values, values[:0], values[:1]]},
        "arrow": lambda: pa.table(
            {"x": pa.array([values, values[:0], values[:1]], pa.list_(pa.from_numpy_dtype(values.dtype)))}
        ),
        "large": lambda: pa.table(
            {"x": pa.array([values, values[:0], values[:1]], pa.large_list(pa.from_numpy_dtype(values.dtype)))}
        ),
        "pandas": lambda: pd.DataFrame({"x": [values, values[:0], values[:1]]}),
        "lists of scalars": lambda: {"x": [list(values), [], list(values[:1])]},
    }
    for name, make in columns.items():
        with stored([make(), {"x": [[]]}]) as ds:
            assert ds["x"].dtype == dtype, name
            assert [row.tobytes() for row in ds["x"].numpy()] == [values.tobytes(), b"", values[:1].tobytes(), b""], (
                name
            )


def test_numbers_of_python() -> None:
    for column, dtype in (
        ([1, 2], "int64"), ([2**63, 5], "uint64"), ([True, False], "bool"), ([1, 0.5], "float64"), ([1j, 2], "complex128"),
        ([[1, 2], [0.5]], "float64"), ([[5], [2**64 - 1]], "uint64"), ([True, 2], "int64"), ([[], [1]], "int64"), ([[[]], [[1, 2]]], "int64"),
        ([None, 1], "int64"), ([[1], None, []], "int64"), ((1, 2), "int64"), (np.array([1, 2**63], object), "uint64"),
        ([np.uint64(5), np.int64(7)], "uint64"), ([np.float32(0.5), np.float32(1)], "float32"), (range(3), "int64"),
    ):  # fmt: skip
        with stored([column]) as ds:
            got = ds["x"].numpy()
            want = list(column)
            assert ds["x"].dtype == dtype, (column, ds["x"].dtype)
            plain = [None if value is None else value.tolist() for value in got]
            assert plain == want, (column, plain)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (2**64, "18446744073709551616, beyond what 64 bits hold"),
        (-(2**63) - 1, "beyond what 64 bits hold"),
        pytest.param(10**5000, "beyond what 64 bits hold", id="huge"),
        ([1, 10**30], "beyond what 64 bits hold"),
        ([-1, 2**63], "below 0 and above"),
        ([2**53 + 1, 0.5], "9007199254740993 beside floats"),
        ([1, None], "None in its list"),
        ([[1, 2], [3]], "pad them"),
        ([[1], 2], "numbers and of lists"),
        ([1, "a"], "htype class_label"),
        (
            decimal.Decimal("0.1"),
            "is a Decimal, want an array, a number, a list of numbers, str, bytes or None; float() and str() convert",
        ),
        ([decimal.Decimal("0.1")], "decimals"),
        ([fractions.Fraction(1, 3)], "fractions"),
        (object(), "is a object"),
        ({"a": 1}, "is a dict"),
        (np.array([object()]), "float() and str()"),
        (np.zeros(2, [("a", "i4"), ("b", "f4")]), "each field"),
        (np.zeros(2, "longdouble"), "float64"),
        (np.array(["a"]), "suits htype class_label"),
        (np.array(["a"], object), "suits htype class_label"),
        (np.ma.masked_array([1, 2], [True, False]), "masked"),
        ([np.array([1], np.uint64), np.array([1], np.int64)], "cast them to one dtype"),
        ([np.zeros(2), np.zeros(3)], "no array"),
        ([datetime.date(2020, 1, 1), 5], "among times"),
    ],
)
def test_values_that_no_tensor_holds(value: Any, words: str) -> None:
    for way in ("append", "extend", "after a hole"):
        ds = empty(x="generic")
        if way == "after a hole":
            ds.append({"x": None})
        with pytest.raises(deeplake.Error) as caught:
            if way == "extend":
                ds.extend({"x": [value]})
            else:
                ds.append({"x": value})
        text = str(caught.value)
        assert words in text and '"x"' in text and "row 0" in text, text
        ds.discard()


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.date32(), 5),
        (pa.timestamp("us"), 5),
        (pa.timestamp("ns", "Europe/Berlin"), 5),
        (pa.duration("ms"), 5),
        (pa.list_(pa.timestamp("s")), [5, 6]),
    ],
    ids=str,
)
def test_tables_without_rows_have_times(kind: Any, value: Any) -> None:
    def table(values: list[Any]) -> Any:
        return pa.table({"x": pa.array(values, kind)})

    empty, full = (
        deeplake.ingest(table(values), f"mem://no-times-{next(counter)}", verbose=False) for values in ([], [value])
    )
    assert len(empty) == 0 and empty["x"].dtype == full["x"].dtype is not None
    assert empty.schema["x"] == full.schema["x"]
    empty.extend(table([value]))
    assert empty.to_arrow().equals(full.to_arrow())


@pytest.mark.parametrize("carrier", ["arrow", "pandas", "pandas of arrow", "polars"])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_tables_without_rows_have_dtypes(carrier: str, dtype: str) -> None:
    if (carrier, dtype) in UNKNOWN:
        pytest.skip(f"{carrier} has no {dtype}")
    ds = deeplake.ingest(CARRIERS[carrier](np.zeros(0, dtype), None), f"mem://no-rows-{next(counter)}", verbose=False)
    assert len(ds) == 0 and ds["x"].dtype == dtype
    values = extremes(dtype)
    ds.extend({"x": values})
    np.testing.assert_array_equal(ds["x"].numpy(), values)


# --- conversions ---


@pytest.mark.parametrize(
    ("tensor", "value", "want"),
    [
        ("segment_mask", np.full((2, 3), 7, np.uint8), "uint8"),
        ("segment_mask", np.full((2, 3), 7, np.int64), "int64"),
        ("segment_mask", np.ones((2, 3), bool), "uint32"),
        ("binary_mask", np.eye(3, dtype=np.uint8), "bool"),
        ("binary_mask", np.eye(3, dtype=np.int64), "bool"),
        ("bbox", np.array([[1, 2, 3, 4]]), "int64"),
        ("bbox", np.array([[1.5, 2, 3, 4]]), "float64"),
        ("bbox", [[1, 2, 3, 4]], "float32"),
        ("bbox", [], "float32"),
        ("embedding", np.array([0.1, 0.2]), "float64"),
        ("embedding", [0.1, 0.2], "float32"),
        ({"htype": "embedding", "dtype": "float32"}, np.array([0.1, 0.2]), "float32"),
        ({"dtype": "float32"}, np.array([0.1, 0.2]), "float32"),
        ({"dtype": "float16"}, np.array([0.1, 65504]), "float16"),
        ({"dtype": "uint8"}, np.array([0, 255]), "uint8"),
        ({"dtype": "int8"}, torch.tensor([-128, 127]), "int8"),
        ({"dtype": "float64"}, np.array([2**53]), "float64"),
        ({"dtype": "complex64"}, np.array([0.5]), "complex64"),
        ("class_label", np.uint8(3), "int64"),
        ("class_label", np.bool_(True), "int64"),
        ("instance_label", np.ones((4, 5), bool), "uint32"),
        ("intrinsics", np.eye(3, dtype=np.int64), "float32"),
        ("keypoints_coco", np.ones((3, 1), np.float32), "float32"),
        ("point", [[1, 2]], "int32"),
        ("point", [[1.5, 2]], "float64"),
        ("polygon", [np.ones((3, 2))], "float64"),
        ("image", np.ones((2, 2, 3), np.int64), "uint8"),
        ("image", np.ones((2, 2, 3), np.float32), "float32"),
        ({"htype": "image", "compression": "png"}, np.ones((2, 2, 3), np.int32), "uint8"),
        ({"htype": "image", "compression": "png"}, np.ones((2, 2, 3), np.uint16), "uint16"),
    ],
)
def test_conversions(tensor: Any, value: Any, want: str) -> None:
    with stored([{"x": [value]}], x=tensor) as ds:
        assert ds["x"].dtype == want
        got = ds["x"][0]
        expected = value[0] if isinstance(value, list) and ds["x"].htype == "polygon" else value
        got = got[0] if isinstance(got, list) else got
        with np.errstate(over="ignore"):
            expected = np.asarray(expected).astype(want)
        assert np.array_equal(got.reshape(expected.shape) if got.size else got.reshape(-1), expected)


@pytest.mark.parametrize(
    ("tensor", "value", "words"),
    [
        ({"dtype": "uint8"}, np.array([256]), "256, which uint8 does not hold"),
        ({"dtype": "uint8"}, np.array([-1]), "-1, which uint8 does not hold"),
        ({"dtype": "float32"}, np.array([2**24 + 1]), "16777217, which float32 does not hold"),
        ({"dtype": "float32"}, np.array([1e39]), "float32 does not hold"),
        ({"dtype": "int64"}, np.array([1.0]), "dtype float64, want int64"),
        ({"dtype": "float32"}, np.array([1j]), "dtype complex128, want float32"),
        ({"dtype": "bool"}, np.array([2]), "2, which bool does not hold"),
        ("binary_mask", np.full((2, 2), 255, np.uint8), "255, which bool does not hold"),
        ("class_label", np.float32(1), "dtype float32, want int64"),
        ("class_label", np.int64(-1), "negative"),
        ("text", np.zeros(2), "want a str"),
    ],
)
def test_refused_conversions(tensor: Any, value: Any, words: str) -> None:
    ds = empty(x=tensor)
    with pytest.raises(deeplake.Error) as caught:
        ds.append({"x": value})
    assert words in str(caught.value) and '"x"' in str(caught.value)
    assert len(ds) == 0 and not ds.dirty


HTYPES = {  # a sample of each htype in every dtype, if it is one
    "generic": (2, 3), "image": (4, 5, 3), "image.rgb": (4, 5, 3), "image.gray": (4, 5, 1), "class_label": (), "bbox": (2, 4),
    "binary_mask": (4, 5), "segment_mask": (4, 5), "instance_label": (4, 5), "keypoints_coco": (3, 2), "point": (5, 2),
    "embedding": (8,), "intrinsics": (3, 3), "text": (2,), "json": (2,), "polygon": (3, 2),
}  # fmt: skip


@pytest.mark.parametrize("htype", HTYPES)
def test_advice_of_a_refusal_works(htype: str) -> None:
    """Every dtype="..." and compression that a message advises is taken by the next call."""
    options: list[dict[str, Any]] = [{}, *({"dtype": dtype} for dtype in [*NUMBERS, "complex64"])]
    if htype.startswith("image"):
        options += [{"compression": codec} for codec in ("png", "jpeg", "webp")]
        options += [{"compression": "png", "dtype": "uint16"}]
    advised = 0
    for option in options:
        for dtype in [*NUMBERS, "complex128"]:
            for scale in (1, 0):
                ds = empty()
                try:
                    ds.create_tensor("x", htype, **option)
                except deeplake.Error:
                    break
                value: Any = (
                    np.ones(HTYPES[htype]) * (1 + 249 * scale) * (0.5 if scale and "float" in dtype else 1)
                ).astype(dtype)
                value = [value] if htype == "polygon" else value
                try:
                    ds.append({"x": value})
                except deeplake.Error as err:
                    for advice in re.findall(r'dtype="([^"]+)"', str(err)):
                        advised += 1
                        again = empty()
                        again.create_tensor("x", htype, **{**option, "dtype": advice})
                        again.append({"x": value})
                        again.discard()
                    for advice in re.findall(r'compression "(\w+)" holds', str(err)):
                        advised += 1
                        again = empty()
                        again.create_tensor("x", htype, compression=advice, dtype=dtype)
                        again.append({"x": value})
                        again.discard()
                ds.discard()
    assert advised or htype in (
        "image.rgb",
        "image.gray",
        "text",
        "json",
        "binary_mask",
        "class_label",
        "instance_label",
        "segment_mask",
        "keypoints_coco",
        "point",
        "bbox",
        "intrinsics",
    )


# --- tables ---


def two_by_two(kind: Any) -> Any:
    """A column of three matrices, the second of which is null."""
    flat = pa.array([1, 0, 0, 1, 9, 9, 9, 9, 1, 1, 1, 1], pa.int8()).cast(kind)
    inner = pa.FixedSizeListArray.from_arrays(flat, 2)
    return pa.FixedSizeListArray.from_arrays(inner, 2, mask=pa.array([False, True, False]))


def test_tensors_of_arrow() -> None:
    want = np.arange(24, dtype=np.float32).reshape(4, 2, 3)
    fixed = pa.FixedShapeTensorArray.from_numpy_ndarray(want)
    nulls = pa.ExtensionArray.from_storage(
        fixed.type, pa.array([want[0].ravel(), None, want[2].ravel(), want[3].ravel()], fixed.type.storage_type)
    )
    turned = pa.fixed_shape_tensor(pa.float32(), [2, 3], permutation=[1, 0])
    with stored([pa.table({"x": fixed})]) as ds:
        assert ds["x"].dtype == "float32" and np.array_equal(ds["x"].numpy(), want)
    with stored([pa.table({"x": pa.chunked_array([nulls, fixed[1:3]])})]) as ds:
        rows = ds["x"].numpy()
        assert rows[1] is None and np.array_equal(rows[2], want[2]) and np.array_equal(rows[5], want[2])
    with stored([pa.table({"x": pa.ExtensionArray.from_storage(turned, fixed.storage)})]) as ds:
        assert np.array_equal(ds["x"].numpy(), want.transpose(0, 2, 1))
    for name, kind in (("int8", pa.int8()), ("bool", pa.bool_()), ("float64", pa.float64())):
        column = two_by_two(kind)
        with stored([pa.table({"x": column})]) as ds:
            assert (
                ds["x"].dtype == name and ds["x"].numpy()[0].tolist() == [[1, 0], [0, 1]] and ds["x"].numpy()[1] is None
            )


def test_classes_of_tables_keep_their_numbers() -> None:
    kinds = pd.CategoricalDtype(["cat", "dog", "fox"])
    frames = {
        "pandas": lambda values: pd.DataFrame({"y": pd.Categorical(values, dtype=kinds)}),
        "arrow": lambda values: pa.table({"y": pa.DictionaryArray.from_arrays(
            pa.array([None if v is None else ["cat", "dog", "fox"].index(v) for v in values], pa.int8()), ["cat", "dog", "fox"])}),
        "polars": lambda values: pl.DataFrame({"y": pl.Series(values, dtype=pl.Enum(["cat", "dog", "fox"]))}),
    }  # fmt: skip
    for name, make in frames.items():
        with stored([make(["fox", None, "dog"]), make(["cat", "cat"])], y="class_label") as ds:
            assert list(ds["y"].class_names) == ["cat", "dog", "fox"], name
            assert [None if v is None else int(v) for v in ds["y"].numpy()] == [2, None, 1, 0, 0], name
        with stored(
            [make(["fox", "dog"])], y={"htype": "class_label", "class_names": ["dog", "ant"], "add_classes": True}
        ) as ds:
            assert list(ds["y"].class_names) == ["dog", "ant", "cat", "fox"] and ds["y"].numpy().tolist() == [3, 0], (
                name
            )
        with stored([make(["fox", None])], y="text") as ds:
            assert ds["y"].numpy() == ["fox", None], name
    # numbers as categories are numbers
    with stored([pd.DataFrame({"x": pd.Categorical([30, 10, None, 30])})]) as ds:
        assert [None if v is None else int(v) for v in ds["x"].numpy()] == [30, 10, None, 30]
    chunks = pa.chunked_array([pa.array(["b", "a"]).dictionary_encode(), pa.array(["c", "a"]).dictionary_encode()])
    with stored([pa.table({"y": chunks})], y="class_label") as ds:
        assert [ds["y"].class_names[int(v)] for v in ds["y"].numpy()] == ["b", "a", "c", "a"]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (lambda: pa.array([[[1], [2, 3]]]), "row 0 has lists of unequal lengths"),
        (lambda: pa.array([[1, 2], [1, None]]), "row 1 has a null inside"),
        (lambda: pa.array([[1, 2], [1, None]], pa.list_(pa.int64(), 2)), "row 1 has a null inside"),
        (lambda: pa.array([None, [[1], [None]]]), "row 1 has a null inside"),
        (lambda: pa.array([decimal.Decimal("1.5")]), "cast it to float64"),
        (lambda: pa.array([{"a": 1}]), "htype json"),
        (lambda: pa.array([datetime.time(1, 2)]), "cast it to a duration"),
        (lambda: pa.array([pa.MonthDayNano([1, 2, 3])]), "cast it to a duration"),
        (lambda: pd.Series(pd.period_range("2020", periods=1, freq="M")), "its start and its end"),
        (lambda: pd.Series([pd.Interval(0, 1)]), "its start and its end"),
    ],
)
def test_columns_that_no_tensor_holds(column: Any, words: str) -> None:
    ds = empty(x="generic")
    with pytest.raises(deeplake.Error, match=words) as caught:
        ds.extend({"x": column()})
    assert '"x"' in str(caught.value) and len(ds) == 0
    ds.discard()


# --- times ---

BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime.datetime(2024, 7, 1, 12, 0, 0, 250000)
IN_BERLIN = NOON.replace(tzinfo=BERLIN)
NOON_UTC = np.datetime64("2024-07-01T10:00:00.25")


@pytest.mark.parametrize(
    ("columns", "dtype", "want"),
    [
        ({"x": [NOON, None]}, "timestamp[us]", [np.datetime64(NOON), None]),
        ({"x": [None, IN_BERLIN]}, "timestamp[us, Europe/Berlin]", [None, NOON_UTC]),
        ({"x": [NOON.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2)))]}, "timestamp[us, +02:00]", [NOON_UTC]),
        ({"x": [NOON.replace(tzinfo=datetime.timezone.utc)]}, "timestamp[us, UTC]", [np.datetime64(NOON)]),
        ({"x": [datetime.date(2024, 7, 1)]}, "date", [np.datetime64("2024-07-01")]),
        ({"x": [datetime.timedelta(days=1)]}, "interval[us]", [np.timedelta64(1, "D")]),
        ({"x": np.array(["2024-07-01", "NaT"], "M8[ns]")}, "timestamp[ns]", [np.datetime64("2024-07-01"), None]),
        ({"x": np.array(["2024-07"], "M8[M]")}, "date", [np.datetime64("2024-07-01")]),
        ({"x": np.array([5], "m8[h]")}, "interval[s]", [np.timedelta64(5, "h")]),
        ({"x": [np.datetime64("2024-07-01", "s"), np.datetime64(5, "ms")]}, "timestamp[ms]", [np.datetime64("2024-07-01"), np.datetime64(5, "ms")]),
        ({"x": [pd.Timestamp(IN_BERLIN), pd.NaT]}, "timestamp[us, Europe/Berlin]", [NOON_UTC, None]),
        ({"x": [[NOON, NOON], [NOON]]}, "timestamp[us]", [np.array([NOON, NOON], "M8[us]"), np.array([NOON], "M8[us]")]),
        ({"x": np.array([["2024-07-01", "NaT"]], "M8[s]")}, "timestamp[s]", [np.array(["2024-07-01", "NaT"], "M8[s]")]),
        ({"x": pd.Series([NOON, None])}, "timestamp[us]", [np.datetime64(NOON), None]),
        ({"x": pd.Series(pd.to_datetime([IN_BERLIN]))}, "timestamp[us, Europe/Berlin]", [NOON_UTC]),
        ({"x": pd.Series([pd.Timedelta(5, "ms"), pd.NaT])}, f"interval[{np.datetime_data(pd.Series([pd.Timedelta(5, 'ms'), pd.NaT]).dtype)[0]}]", [np.timedelta64(5, "ms"), None]),
        ({"x": pa.array([NOON, None], pa.timestamp("ms"))}, "timestamp[ms]", [np.datetime64(NOON), None]),
        ({"x": pa.array([IN_BERLIN], pa.timestamp("ns", "Europe/Berlin"))}, "timestamp[ns, Europe/Berlin]", [NOON_UTC]),
        ({"x": pa.array([datetime.date(2024, 7, 1), None])}, "date", [np.datetime64("2024-07-01"), None]),
        ({"x": pa.array([datetime.timedelta(seconds=3)], pa.duration("s"))}, "interval[s]", [np.timedelta64(3, "s")]),
        ({"x": pl.Series([NOON, None])}, "timestamp[us]", [np.datetime64(NOON), None]),
        ({"x": pl.Series([NOON]).dt.replace_time_zone("Europe/Berlin")}, "timestamp[us, Europe/Berlin]", [NOON_UTC]),
    ],
)  # fmt: skip
def test_times_in_and_out(columns: Any, dtype: str, want: list[Any]) -> None:
    with stored([columns]) as ds:
        assert ds["x"].dtype == dtype
        got = [ds["x"][i] for i in range(len(ds))]
        for value, expected in zip(got, want, strict=True):
            assert (value is None) == (expected is None)
            if value is not None:
                assert np.array_equal(value, expected) or (np.isnat(value) == np.isnat(expected)).all(), (
                    value,
                    expected,
                )
        again = stored([{"x": [ds["x"][i] for i in range(len(ds))]}], x={"dtype": dtype})  # the way back
        assert [str(again["x"][i]) for i in range(len(ds))] == [str(value) for value in got]
        again.close()
        if all(np.ndim(value) == 0 for value in got if value is not None):
            table = ds.query("SELECT *").to_arrow()
            with stored([table]) as back:
                assert back["x"].dtype == dtype
                assert [str(back["x"][i]) for i in range(len(ds))] == [str(value) for value in got]
            frame = ds.query("SELECT *").to_pandas()
            assert [pd.isna(value) for value in frame["x"]] == [value is None for value in got]


def test_times_of_other_units_and_zones() -> None:
    ds = empty(
        t={"dtype": "timestamp[s]"},
        z={"dtype": "timestamp[us, Europe/Berlin]"},
        d={"dtype": "date"},
        i={"dtype": "int64"},
    )
    row = {"t": np.datetime64(5, "s"), "z": IN_BERLIN, "d": datetime.date(2024, 1, 1), "i": 5}
    ds.append(row)
    ds.append({"t": 7, "z": 9, "d": datetime.datetime(2024, 1, 2), "i": 5})  # counts, and a time that is a day
    assert ds["t"][1] == np.datetime64(7, "s") and ds["d"][1] == np.datetime64("2024-01-02")
    ds.append({**row, "z": NOON.replace(tzinfo=datetime.timezone.utc)})  # another zone is the same axis
    assert ds["z"][2] == np.datetime64(NOON)
    ds.append({**row, "z": np.datetime64(NOON)})  # NumPy has no zones
    for name, value, words in (
        ("t", NOON, "timestamp[s] does not hold; round it"),
        ("z", NOON, "give it a zone"),
        ("t", IN_BERLIN, "without a zone"),
        ("d", NOON, "date does not hold"),
        ("i", NOON, 'create the tensor with dtype="timestamp[us]"'),
        ("t", datetime.timedelta(1), "want timestamp[s]"),
        ("t", [NOON, IN_BERLIN], "have none"),
    ):
        with pytest.raises(deeplake.Error, match=re.escape(words)):
            ds.append({**row, name: value})
    assert len(ds) == 4
    ds.discard()


def test_times_in_queries_and_batches() -> None:
    days = np.arange("2024-01-01", "2024-01-11", dtype="M8[D]")
    columns = {unit: days.astype(f"M8[{unit}]") for unit in ("s", "ms", "us", "ns")}
    with stored(
        [{**columns, "d": days, "n": np.arange(10)}],
        s="generic",
        ms="generic",
        us="generic",
        ns="generic",
        d="generic",
        n="generic",
    ) as ds:
        for name in (*columns, "d"):
            picked = ds.query(
                f"SELECT n WHERE {name} >= DATE '2024-01-04' AND {name} < ? ORDER BY {name} DESC",
                datetime.datetime(2024, 1, 6),
            )
            assert picked["n"].numpy().tolist() == [4, 3], name
            same = ds.query(f"SELECT {name}, EXTRACT(DAY FROM {name}) AS day WHERE n = 6")
            assert same[name].dtype == ds[name].dtype and same["day"].numpy().tolist() == [7], name
            top = ds.query(f"SELECT MAX({name}) AS m")
            assert top["m"].numpy()[0] == days[-1], name
        copy = ds.query("SELECT * WHERE n > 7").materialize(f"mem://in-and-out-{next(counter)}")
        assert all(copy[name].dtype == ds[name].dtype and copy[name][1] == days[9] for name in (*columns, "d"))
        batch = next(iter(ds.batches(batch_size=4)))
        assert batch["ns"].dtype == "M8[ns]" and batch["d"].tolist() == days[:4].tolist()
        numbers = next(iter(ds.pytorch(batch_size=4)))["ms"]
        assert numbers.dtype == torch.int64 and numbers.tolist() == columns["ms"][:4].astype(np.int64).tolist()


def test_names_of_times() -> None:
    for given_name, dtype in (
        ("datetime64[ns]", "timestamp[ns]"), (np.dtype("M8[us]"), "timestamp[us]"), ("timestamp", "timestamp[us]"), ("date", "date"),
        ("timedelta64[ms]", "interval[ms]"), ("timestamp[us, tz=Asia/Tokyo]", "timestamp[us, Asia/Tokyo]"), (np.datetime64, "timestamp[us]"),
    ):  # fmt: skip
        ds = empty()
        assert ds.create_tensor("x", dtype=given_name).dtype == dtype
        ds.discard()
    for bad in ("timestamp[h]", "datetime64[fs]", "date[s]", "timestamp[us, Nowhere land]", "timestamps"):
        with pytest.raises(deeplake.Error):
            empty().create_tensor("x", dtype=bad)
    with pytest.raises(deeplake.Error, match="htype generic"):
        empty().create_tensor("x", "embedding", dtype="timestamp")


# --- tensors of torch, and other objects ---


def test_odd_tensors_of_torch() -> None:
    warnings.simplefilter("ignore")
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    for name, value, words in (
        ("float8", torch.ones(2).to(torch.float8_e4m3fn), "float8_e4m3fn"), ("sparse", torch.eye(2).to_sparse(), "to_dense"),
        ("csr", torch.eye(2).to_sparse_csr(), "to_dense"), ("quantized", torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8), "dequantize"),
        ("meta", torch.ones(2, device="meta"), "meta"), ("nested", nested, "nested"),
    ):  # fmt: skip
        for column in ([value], [[1.0], value], value):
            ds = empty(x="generic")
            with pytest.raises(deeplake.Error) as caught:
                ds.extend({"x": column})
            assert words in str(caught.value) and '"x"' in str(caught.value), (name, str(caught.value))
            ds.discard()
    z = torch.tensor([1 + 2j, 3 - 4j])
    for value, want in ((z.conj(), z.conj().resolve_conj()), (z.conj().imag, torch.tensor([-2.0, 4.0])), (z.imag, torch.tensor([2.0, -4.0])),
                        (torch.nn.Parameter(torch.ones(2)), torch.ones(2)), (torch.ones(2, 3).t(), torch.ones(3, 2)), (torch.ones(4)[::2], torch.ones(2)),
                        (torch.ones(2, dtype=torch.bfloat16), None)):  # fmt: skip
        with stored([{"x": [value, value]}]) as ds:
            if want is not None:
                assert np.array_equal(ds["x"][1], want.numpy())


def test_text_that_is_no_utf8_and_deep_json() -> None:
    ds = empty(j="json", t="text", g="generic")
    row = {"j": 1, "t": "a", "g": 1}
    for name, value in (
        ("j", "\ud83d"),
        ("j", {"\ud83d": 1}),
        ("j", ["a", {"b": "\udc00"}]),
        ("t", "\ud83d"),
        ("j", {1: {2: {3, 4}}}),
        ("j", float("nan")),
    ):
        with pytest.raises(deeplake.Error, match=f'"{name}": row 0'):
            ds.append({**row, name: value})
    tree: Any = []
    for _ in range(600):
        tree = [tree]
    ds.append({**row, "j": tree})
    ds.commit()
    assert ds["j"][0] == tree and ds[0]["j"] == tree and ds["j"].numpy() == [tree]
    assert next(iter(ds.batches(batch_size=1)))["j"] == [tree]
    for _ in range(100_000):
        tree = [tree]
    with pytest.raises(deeplake.Error, match="row 0"):
        ds.append({**row, "j": tree})
    while tree:  # its own deletion would recurse
        tree = tree[0]
    ds.close()


def test_names_with_half_a_character() -> None:
    ds = empty(x="generic")
    for call in (
        lambda: ds.append({"\ud800": 1}),
        lambda: ds.create_tensor("\ud800"),
        lambda: ds.commit("\ud800"),
        lambda: ds.query("SELECT '\ud800'"),
        lambda: ds["\ud800"],
        lambda: ds.rename_tensor("x", "\ud800"),
        lambda: ds.delete_tensor("\ud800"),
        lambda: ds.tags.create("\ud800"),
        lambda: ds.branches.create("\ud800"),
        lambda: ds.checkout("\ud800"),
        lambda: ds.at("\ud800"),
        lambda: deeplake.open("mem://\ud800"),
        lambda: deeplake.create("mem://\ud800"),
        lambda: deeplake.exists("mem://\ud800"),
        lambda: deeplake.delete("mem://\ud800"),
        lambda: ds.extend({"x": [1]}) or ds[:1].save("\ud800"),
    ):
        with pytest.raises(deeplake.Error):
            call()
    ds.discard()


# --- anything at all ---

SHAPES = st.sampled_from([(), (0,), (1,), (3,), (2, 3), (0, 4), (2, 0, 3), (1, 1, 1)])
ODD_DTYPES = st.sampled_from(
    [
        *NUMBERS,
        "complex64",
        "complex128",
        "longdouble",
        "M8[ns]",
        "M8[D]",
        "m8[s]",
        "M8[fs]",
        "U3",
        "S3",
        "O",
        "V4",
        ">i4",
        "i4,f4",
    ]
)
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-(2**70), 2**70), st.floats(), st.complex_numbers(), st.text(max_size=4), st.binary(max_size=4),
    st.just("\ud83d"), st.decimals(allow_nan=True), st.fractions(), st.datetimes(), st.dates(), st.timedeltas(), st.just(object()),
    st.just(pd.NA), st.just(pd.NaT), st.just(np.float32(0.5)), st.just(np.uint64(2**64 - 1)), st.just(np.datetime64("NaT")), st.just({1, 2}), st.just(lambda: 1),
)  # fmt: skip


@st.composite
def arrays(draw: Any) -> Any:
    dtype, shape = draw(ODD_DTYPES), draw(SHAPES)
    try:
        array = np.ones(shape, dtype)
    except (TypeError, ValueError):
        array = np.zeros(shape, dtype)
    how = draw(st.sampled_from(["plain", "fortran", "strided", "readonly", "masked", "big", "matrix"]))
    if how == "fortran":
        return np.asfortranarray(array)
    if how == "strided" and array.ndim:
        return np.repeat(array, 2, axis=0)[::2]
    if how == "readonly":
        array.flags.writeable = False
    if how == "masked" and array.dtype.kind in "iuf":
        return np.ma.masked_array(array, np.ones(array.shape, bool))
    return array


@st.composite
def tables(draw: Any) -> Any:
    kinds = [pa.int8(), pa.uint64(), pa.float16(), pa.float64(), pa.bool_(), pa.string(), pa.large_binary(), pa.date32(), pa.timestamp("ns", "UTC"), pa.duration("ms"),
             pa.decimal128(10, 2), pa.list_(pa.int16()), pa.list_(pa.float32(), 2), pa.list_(pa.list_(pa.int8())), pa.struct({"a": pa.int8()}), pa.null(),
             pa.dictionary(pa.int8(), pa.string()), pa.time32("s"), pa.map_(pa.string(), pa.int8()), pa.string_view(), pa.list_view(pa.int8())]  # fmt: skip
    kind, n = draw(st.sampled_from(kinds)), draw(st.integers(0, 4))
    nulls = pa.nulls(n, kind)
    if draw(st.booleans()):
        return nulls
    try:
        return pa.concat_arrays([nulls, pa.array([1, 0], pa.int8()).cast(kind)])
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return nulls


VALUES = st.one_of(
    LEAVES, arrays(), tables(), st.lists(LEAVES, max_size=3), st.lists(st.lists(LEAVES, max_size=2), max_size=3), st.lists(arrays(), max_size=3),
    arrays().map(lambda a: pd.Series(list(a)) if a.ndim else a), st.dictionaries(st.text(max_size=2), LEAVES, max_size=2), st.tuples(LEAVES, LEAVES),
)  # fmt: skip


@settings(max_examples=2500, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    value=VALUES,
    htype=st.sampled_from(
        [
            "generic",
            "generic",
            "class_label",
            "image",
            "bbox",
            "segment_mask",
            "text",
            "json",
            "embedding",
            "sequence[generic]",
            "tag",
        ]
    ),
    second=VALUES,
)
def test_nothing_but_our_errors_leaves(value: Any, htype: str, second: Any) -> None:
    """A value is stored and read back, or refused with an error of the package that leaves no row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ds = deeplake.create("mem://in-and-out-any", overwrite=True, schema={"x": htype})
        for given_value in (value, second):
            for call in (
                lambda v=given_value: ds.append({"x": v}),
                lambda v=given_value: ds.extend({"x": v}),
                lambda v=given_value: ds.update(0, {"x": v}),
            ):
                before = len(ds)
                try:
                    call()
                except deeplake.InternalError:
                    raise
                except deeplake.Error:
                    assert len(ds) == before
        ds["x"].numpy() if ds["x"].dtype != "bfloat16" else None
        for row in ds:
            row["x"]
        ds.discard()
        ds.close()
