"""Columns of pandas, as the samples that the core takes. The core reads columns of Arrow itself.

This is the way back of `_rows/arrow.py`: tables of `to_arrow` and `to_pandas` can be appended to a
dataset with the same tensors. None of the packages is imported before one of its objects is given.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from deeplake._errors import Error, InvalidArgumentError, TensorTypeError
from deeplake._lazy import package
from deeplake._samples.column import Column, count, zone_name
from deeplake._samples.json_column import json_samples
from deeplake._samples.sample import Sample

_FILES = ("jpeg", "png", "webp")


def is_frame(rows: Any) -> bool:
    """Returns whether rows are a table with named columns, of another program."""
    ours = _of(rows, "deeplake")
    return (_of(rows, "pandas") or hasattr(type(rows), "__arrow_c_stream__")) and not ours and not is_column(rows)


def is_column(values: Any) -> bool:
    """Returns whether values are one column of such a table."""
    if _of(values, "pandas"):  # a series, an index or an array of theirs, and no single value
        return hasattr(values, "dtype") and not hasattr(values, "columns")
    if _of(values, "polars"):
        return not hasattr(values, "get_columns")
    return _of(values, "pyarrow") and hasattr(values, "null_count")


def is_stream(rows: Any) -> bool:
    """Returns whether rows are a table that the core reads by itself."""
    return is_frame(rows) and not _of(rows, "pandas")


def check_frame(frame: Any, called: str = "extend") -> None:
    """Refuses a data frame of polars with Python objects, which Arrow gives as addresses."""
    for name, kind in getattr(frame, "schema", {}).items() if _of(frame, "polars") else ():
        _check_type(f'{called}: column "{name}"', kind)


def _check_type(what: str, kind: Any) -> None:
    if str(kind) == "Object":
        raise TensorTypeError(f"{what} has Python objects, which polars does not convert; give a list of the values")


def empty_table(frame: Any) -> Any:
    """Returns a data frame of pandas without rows as a table of Arrow, whose columns have types.
    None if it has rows or no columns, or there is no pyarrow.
    """
    if len(frame) or not len(frame.columns) or not find_spec("pyarrow"):
        return None
    columns_of_frame(frame)  # refuses names that are none
    try:
        return _arrow(frame).Table.from_pandas(frame, preserve_index=False)
    except (ValueError, TypeError, NotImplementedError) as err:
        raise TensorTypeError(f"extend: the frame without rows makes no table of Arrow: {err}") from err


def columns_of_frame(frame: Any) -> dict[str, Any]:
    """Returns the columns of a data frame of pandas by name."""
    names = list(frame.columns)
    columns = [frame.iloc[:, at] for at in range(len(names))]
    for name in names:
        if not isinstance(name, str):
            raise InvalidArgumentError(f"extend: the frame has a column named {name!r}, want the name of a tensor")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidArgumentError(f'extend: the frame has two columns "{twice}"')
    return dict(zip(names, columns, strict=True))


def samples_of(called: str, name: str, column: Any, about: Mapping[str, Any] | None) -> Any:
    """Returns a column as an array, a list of samples with None for a missing value, a `Column`, or
    as it is if it is one of Arrow.

    Args:
        called: the operation, for messages.
        name: the tensor.
        column: of pandas, Arrow or polars.
        about: the description of the tensor; None if there is none of that name.
    """
    what = f'{called}: column "{name}"'
    about = about or {}
    if _of(column, "polars"):
        return _of_polars(what, column, about)
    if not _of(column, "pandas"):
        return column
    if not hasattr(column, "iloc"):  # an index, or an array
        pandas = package(called, "pandas", "pip install pandas")
        column = pandas.Series(list(column) if hasattr(column, "levels") else column)
    if type(column.dtype).__name__ == "ArrowDtype":
        return _arrow(column).chunked_array(column)
    if not about and len(column) and _is_typed(column.dtype) and find_spec("pyarrow") and column.isna().all():
        return _arrow(column).array(column)  # which has the dtype of a tensor without values
    try:
        values = _of_pandas(what, column, about)
    except Error:
        raise
    except (ValueError, TypeError, NotImplementedError, OverflowError, LookupError) as err:  # of the packages
        raise TensorTypeError(f"{what} of type {getattr(column, 'type', None) or column.dtype}: {err}") from err
    if about.get("dtype") == "json":
        return json_samples(what, values, sequence=bool(about.get("sequence")))
    if isinstance(values, list) and about.get("compression") in _FILES:
        return [Sample(value) if isinstance(value, bytes) else value for value in values]
    return values


def _of(value: Any, package: str) -> bool:
    return any(kind.__module__.partition(".")[0] == package for kind in type(value).__mro__)


def _arrow(value: Any) -> Any:
    return package(f"extend: reading a {type(value).__name__}", "pyarrow", "pip install pyarrow")


def _marked(values: npt.NDArray[Any], missing: Any, counts: str = "", names: list[str] | None = None) -> Any:
    """Returns values with marks of the missing rows; the values alone where they say all."""
    marks = np.asarray(missing, np.bool_)
    if not marks.any() and not counts and names is None:
        return values
    return Column(values, marks if marks.any() else None, counts, names)


# --- polars ---


def _of_polars(what: str, series: Any, about: Mapping[str, Any]) -> Any:
    """Returns a series as it is, but for categories that a tensor is to be made of: they are class
    labels, as in a data frame.
    """
    kind = series.dtype
    _check_type(what, kind)
    if about or type(kind).__name__ not in ("Enum", "Categorical"):
        return series
    polars = package("extend", "polars", "pip install polars")
    names = getattr(kind, "categories", None) if type(kind).__name__ == "Enum" else None
    if names is None:
        names = series.cast(polars.String).drop_nulls().unique(maintain_order=True)
        series = series.cast(polars.Enum(names))
    numbers = series.to_physical().cast(polars.Int64).fill_null(0).to_numpy()
    return _marked(numbers, series.is_null().to_numpy(), names=list(names))


# --- pandas ---


def _is_typed(dtype: Any) -> bool:
    """Returns whether a dtype of pandas tells that of a tensor, and its missing values do not."""
    return type(dtype).__name__ == "StringDtype" or getattr(dtype, "numpy_dtype", None) is not None


def _of_pandas(what: str, series: Any, about: Mapping[str, Any]) -> Any:
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        if dtype.kind in "mM":
            return _times(series.to_numpy(), series.isna(), "")
        if dtype.kind in "biufc":
            return series.to_numpy()
        return _objects(series)
    kind = type(dtype).__name__
    if kind == "DatetimeTZDtype":
        utc = series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
        return _times(utc, series.isna(), zone_name(dtype.tz))
    if kind == "SparseDtype":
        return series.sparse.to_dense().to_numpy()
    if kind == "CategoricalDtype":
        return _categories(what, series, about)
    if kind in ("PeriodDtype", "IntervalDtype"):
        raise TensorTypeError(f"{what} has dtype {dtype}, which tensors cannot hold; store its start and its end")
    plain = getattr(dtype, "numpy_dtype", None)
    if plain is not None and plain.kind in "biuf":
        missing = series.isna().to_numpy()
        return _marked(series.array.to_numpy(dtype=plain, na_value=plain.type(0)), missing)
    return _objects(series.astype(object))


def _categories(what: str, series: Any, about: Mapping[str, Any]) -> Any:
    """Returns categories as class labels with their names, or as the values that they stand for. A
    tensor that is to be made takes labels.
    """
    values, codes = series.cat.categories, series.cat.codes.to_numpy()
    texts = all(isinstance(value, str) for value in values)
    if texts and ("class_label" in about.get("htype", "") or not about):
        return _marked(np.where(codes < 0, 0, codes), codes < 0, names=[str(value) for value in values])
    taken = values.to_series().iloc[np.where(codes < 0, 0, codes)] if len(values) else series.astype(object)
    plain = _of_pandas(what, taken, about)
    if isinstance(plain, np.ndarray) and plain.ndim == 1:
        return _marked(plain, codes < 0)
    if isinstance(plain, Column):
        return Column(plain.__deeplake_values__, codes < 0, plain.__deeplake_counts__)
    return [None if code < 0 else value for code, value in zip(codes.tolist(), plain, strict=True)]


def _objects(series: Any) -> Any:
    values = [None if _missing(value) else value for value in series]
    first = next((value for value in values if value is not None), None)
    if isinstance(first, datetime.date | datetime.timedelta | np.datetime64 | np.timedelta64):
        return count(values)
    return values


def _missing(value: Any) -> bool:
    """Returns whether an object is one of the missing values of pandas: None, NaN, NA and NaT."""
    return (
        value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")
    )


def _times(values: npt.NDArray[Any], missing: Any, zone: str) -> Column:
    """Returns times of NumPy, which count in UTC if they have a zone."""
    counted = count(values)
    counts = counted.__deeplake_counts__.replace("datetime64[", "timestamp[")
    if zone:
        counts = f"{counts[:-1]}, {zone}]"
    marks = np.asarray(missing, np.bool_)
    return Column(counted.__deeplake_values__, marks if marks.any() else None, counts)
