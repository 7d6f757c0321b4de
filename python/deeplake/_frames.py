"""Columns of pandas, Arrow and polars, as the samples that the core takes.

This is the way back of `_arrow.py`: what `to_arrow` and `to_pandas` return can be appended to a
dataset with the same tensors. None of the packages is imported before one of its objects is given.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from deeplake._errors import InvalidArgumentError, TensorTypeError
from deeplake._sample import Sample

# The units of info["unit"], as NumPy writes them.
_UNITS = {"date": "D", "timestamp": "us", "interval": "us"}
_FILES = ("jpeg", "png", "webp")


def is_frame(rows: Any) -> bool:
    """Returns whether rows are a table with named columns."""
    return (_of(rows, "pandas") or hasattr(rows, "__arrow_c_stream__")) and not is_column(rows)


def is_column(values: Any) -> bool:
    """Returns whether values are one column of such a table."""
    if _of(values, "pandas"):
        return not hasattr(values, "columns")
    if _of(values, "polars"):
        return not hasattr(values, "get_columns")
    return _of(values, "pyarrow") and hasattr(values, "null_count")


def columns_of_frame(frame: Any) -> dict[str, Any]:
    """Returns the columns of a frame by name."""
    if not _of(frame, "pandas"):
        frame = _arrow(frame).RecordBatchReader.from_stream(frame).read_all()
        names, columns = frame.column_names, frame.columns
    else:
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
    """Returns a column as an array or a list of samples, None for a missing value.

    Args:
        called: the operation, for messages.
        name: the tensor.
        column: of pandas, Arrow or polars.
        about: the description of the tensor; None if there is none of that name.
    """
    what = f'{called}: column "{name}"'
    about = about or {}
    values = _of_pandas(what, column, about) if _of(column, "pandas") else _of_arrow(what, _chunked(column), about)
    if isinstance(values, list):
        if about.get("dtype") == "json" and not about.get("sequence"):
            return [_parsed(what, value) for value in values]
        if about.get("compression") in _FILES:
            return [Sample(value) if isinstance(value, bytes) else value for value in values]
    return values


def _of(value: Any, package: str) -> bool:
    return any(kind.__module__.partition(".")[0] == package for kind in type(value).__mro__)


def _arrow(value: Any) -> Any:
    from importlib import import_module

    try:
        return import_module("pyarrow")
    except ImportError as err:
        raise InvalidArgumentError(
            f"extend: reading a {type(value).__name__} needs the package pyarrow; pip install pyarrow"
        ) from err


def _chunked(column: Any) -> Any:
    pa = _arrow(column)
    if isinstance(column, pa.ChunkedArray):
        return column
    return pa.chunked_array([column]) if isinstance(column, pa.Array) else pa.chunked_array(column)


def _of_pandas(what: str, series: Any, about: Mapping[str, Any]) -> Any:
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        if dtype.kind in "mM":
            return _times(what, series.to_numpy(), about)
        if dtype.kind in "biufc":
            return series.to_numpy()
        return _objects(what, series, about)
    kind = type(dtype).__name__
    if kind == "ArrowDtype":
        return _of_arrow(what, _chunked(_arrow(series).array(series)), about)
    if kind == "DatetimeTZDtype":
        return _times(what, series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), about)
    if kind == "SparseDtype":
        return series.sparse.to_dense().to_numpy()
    plain = getattr(dtype, "numpy_dtype", None)
    if plain is not None and plain.kind in "biuf" and not series.isna().any():
        return series.to_numpy(plain)
    return _objects(what, series.astype(object), about)


def _objects(what: str, series: Any, about: Mapping[str, Any]) -> Any:
    values = [None if _missing(value) else value for value in series]
    first = next((value for value in values if value is not None), None)
    if isinstance(first, datetime.date | datetime.timedelta):
        kind = "m8[us]" if isinstance(first, datetime.timedelta) else "M8[us]"
        return _times(what, np.array([np.datetime64("NaT") if v is None else _in_utc(v) for v in values], kind), about)
    return values


def _in_utc(value: Any) -> Any:
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return value


def _missing(value: Any) -> bool:
    """Returns whether an object is one of the missing values of pandas: None, NaN, NA and NaT."""
    return (
        value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")
    )


def _times(what: str, values: Any, about: Mapping[str, Any]) -> Any:
    """Returns times as whole numbers of the tensor's unit, a list where some are missing."""
    unit = _UNITS.get((about.get("info") or {}).get("unit", ""))
    if unit is None:
        raise TensorTypeError(
            f'{what} has times ({values.dtype}), and the tensor has no unit; create it with dtype="int64" and '
            'info={"unit": "timestamp"}, or cast the column to integers'
        )
    missing = np.isnat(values)
    numbers = values.astype(f"{values.dtype.kind}8[{unit}]").astype(np.int64)
    if not missing.any():
        return numbers
    return [None if hole else number for hole, number in zip(missing, numbers.tolist(), strict=True)]


def _of_arrow(what: str, column: Any, about: Mapping[str, Any]) -> Any:
    pa = _arrow(column)
    types, kind = pa.types, column.type
    if types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if types.is_date(kind):
        return _times(what, column.to_numpy(), about)
    if types.is_timestamp(kind) or types.is_duration(kind):
        return _times(what, column.to_numpy(), about)
    if types.is_decimal(kind):
        raise TensorTypeError(f"{what} has type {kind}, which tensors cannot hold; cast it to float64")
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return column.to_pylist() if column.null_count else column.to_numpy()
    if about.get("sequence") or not _is_list(types, kind):
        return column.to_pylist()
    return _arrays(pa, column)


def _is_list(types: Any, kind: Any) -> bool:
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _arrays(pa: Any, column: Any) -> Any:
    """Returns lists as arrays: one for all rows where all have the same shape, else a list."""
    shape, leaf = [], column.type
    while pa.types.is_fixed_size_list(leaf):
        shape.append(leaf.list_size)
        leaf = leaf.value_type
    dtype = _dtype_of(pa, leaf)
    if dtype is not None and column.null_count == 0:
        values = column.combine_chunks()
        values = pa.concat_arrays(values.chunks) if isinstance(values, pa.ChunkedArray) else values
        for _ in shape:
            values = values.flatten()
        if values.null_count == 0:
            return values.to_numpy(zero_copy_only=False).reshape(len(column), *shape)
    while _is_list(pa.types, leaf):
        leaf = leaf.value_type
    dtype = _dtype_of(pa, leaf)
    if dtype is None:
        return column.to_pylist()
    if _is_list(pa.types, column.type.value_type):
        return [None if row is None else np.array(row, dtype) for row in column.to_pylist()]
    return [array for chunk in column.chunks for array in _slices(chunk)]


def _slices(chunk: Any) -> Iterable[Any]:
    """Yields the arrays of a chunk of lists of numbers."""
    for row in chunk:
        yield None if not row.is_valid else row.values.to_numpy(zero_copy_only=False)


def _dtype_of(pa: Any, leaf: Any) -> Any:
    """Returns the dtype of numbers; None of anything else."""
    if pa.types.is_boolean(leaf) or pa.types.is_integer(leaf) or pa.types.is_floating(leaf):
        return np.dtype(leaf.to_pandas_dtype())
    return None


def _parsed(what: str, value: Any) -> Any:
    """Returns a json sample; text of a frame is JSON, as `to_arrow` writes it."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError as err:
        raise TensorTypeError(f"{what} has the text {value[:80]!r}, which is no JSON: {err}") from None
