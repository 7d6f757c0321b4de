"""Columns of pandas, Arrow and polars, as the samples that the core takes.

This is the way back of `_rows/arrow.py`: tables of `to_arrow` and `to_pandas` can be appended to a
dataset with the same tensors. None of the packages is imported before one of its objects is given.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
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
    """Returns whether rows are a table with named columns."""
    return (_of(rows, "pandas") or hasattr(rows, "__arrow_c_stream__")) and not is_column(rows)


def is_column(values: Any) -> bool:
    """Returns whether values are one column of such a table."""
    if _of(values, "pandas"):  # a series, an index or an array of theirs, and no single value
        return hasattr(values, "dtype") and not hasattr(values, "columns")
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
    """Returns a column as an array, a list of samples with None for a missing value, or a `Column`.

    Args:
        called: the operation, for messages.
        name: the tensor.
        column: of pandas, Arrow or polars.
        about: the description of the tensor; None if there is none of that name.
    """
    what = f'{called}: column "{name}"'
    about = about or {}
    try:
        values = _of_pandas(what, column, about) if _of(column, "pandas") else _of_arrow(what, _chunked(column), about)
    except Error:
        raise
    except (ValueError, TypeError, NotImplementedError, OverflowError, LookupError) as err:  # of the packages
        raise TensorTypeError(f"{what} of type {getattr(column, 'type', None) or column.dtype}: {err}") from err
    if about.get("dtype") == "json":
        return json_samples(what, values, sequence=bool(about.get("sequence")), texts=_is_arrow(column))
    if isinstance(values, list) and about.get("compression") in _FILES:
        return [Sample(value) if isinstance(value, bytes) else value for value in values]
    return values


def _of(value: Any, package: str) -> bool:
    return any(kind.__module__.partition(".")[0] == package for kind in type(value).__mro__)


def _arrow(value: Any) -> Any:
    return package(f"extend: reading a {type(value).__name__}", "pyarrow", "pip install pyarrow")


def _chunked(column: Any) -> Any:
    pa = _arrow(column)
    if isinstance(column, pa.ChunkedArray):
        return column
    return pa.chunked_array([column]) if isinstance(column, pa.Array) else pa.chunked_array(column)


def _marked(values: npt.NDArray[Any], missing: Any, counts: str = "", names: list[str] | None = None) -> Any:
    """Returns values with marks of the missing rows; the values alone where they say all."""
    marks = np.asarray(missing, np.bool_)
    if not marks.any() and not counts and names is None:
        return values
    return Column(values, marks if marks.any() else None, counts, names)


# --- pandas ---


def _of_pandas(what: str, series: Any, about: Mapping[str, Any]) -> Any:
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        if dtype.kind in "mM":
            return _times(series.to_numpy(), series.isna(), "")
        if dtype.kind in "biufc":
            return series.to_numpy()
        return _objects(series)
    kind = type(dtype).__name__
    if kind == "ArrowDtype":
        return _of_arrow(what, _chunked(_arrow(series).array(series)), about)
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
    """Returns categories as class labels with their names, or as the values that they stand for."""
    values, codes = series.cat.categories, series.cat.codes.to_numpy()
    texts = all(isinstance(value, str) for value in values)
    if "class_label" in about.get("htype", "") and texts:
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


# --- Arrow ---


def _of_arrow(what: str, column: Any, about: Mapping[str, Any]) -> Any:
    pa = _arrow(column)
    types, kind = pa.types, column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _extension(what, pa, column, about)
    if types.is_dictionary(kind):
        return _dictionary(what, pa, column, about)
    if types.is_date(kind) or types.is_timestamp(kind) or types.is_duration(kind):
        zone = kind.tz if types.is_timestamp(kind) and kind.tz else ""
        return _times(column.to_numpy(), _nulls(column), zone)
    if types.is_decimal(kind):
        raise TensorTypeError(f"{what} has type {kind}, which tensors cannot hold; cast it to float64 or to text")
    if types.is_time(kind) or types.is_interval(kind):
        raise TensorTypeError(f"{what} has type {kind}, which tensors cannot hold; cast it to a duration or an integer")
    if types.is_null(kind):
        return [None] * len(column)
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return _marked(_leaves(pa, column, kind), _nulls(column))
    if types.is_struct(kind) or types.is_map(kind) or types.is_union(kind):
        if about.get("dtype") != "json":
            raise TensorTypeError(
                f"{what} has type {kind}, want one value a row; store it in a tensor of htype json, or its fields in "
                "tensors of their own"
            )
        return column.to_pylist()
    if about.get("sequence") or about.get("dtype") == "json" or not _is_list(types, kind):
        return column.to_pylist()
    return _lists(what, pa, column)


def _nulls(column: Any) -> npt.NDArray[np.bool_]:
    return np.asarray(column.is_null(), np.bool_)


def _leaves(pa: Any, column: Any, kind: Any) -> npt.NDArray[Any]:
    """Returns numbers in the dtype of their type, 0 in the place of nulls."""
    if column.null_count:
        column = column.fill_null(False if pa.types.is_boolean(kind) else pa.scalar(0).cast(kind))
    flat: npt.NDArray[Any] = np.asarray(column)
    return flat.astype(kind.to_pandas_dtype(), copy=False)


def _is_list(types: Any, kind: Any) -> bool:
    views = getattr(types, "is_list_view", None), getattr(types, "is_large_list_view", None)
    return bool(
        types.is_list(kind)
        or types.is_large_list(kind)
        or types.is_fixed_size_list(kind)
        or any(view is not None and view(kind) for view in views)
    )


def _dictionary(what: str, pa: Any, column: Any, about: Mapping[str, Any]) -> Any:
    """Returns a dictionary as class labels with their names, or as the values behind its codes."""
    kind = column.type
    texts = str(kind.value_type) in ("string", "large_string", "string_view")
    names = None
    if "class_label" in about.get("htype", "") and texts:
        views = str(kind.value_type) == "string_view"  # which Arrow cannot unify yet
        column = column if views or not column.num_chunks else column.unify_dictionaries()
        each = [chunk.dictionary.to_pylist() for chunk in column.chunks]
        names = each[0] if each and all(other == each[0] for other in each[1:]) else None
    if names is None or None in names or len(set(names)) < len(names):
        if str(kind.value_type) == "string_view":
            return column.to_pylist()
        taken = [chunk.dictionary.take(chunk.indices) for chunk in column.chunks]
        return _of_arrow(what, pa.chunked_array(taken, kind.value_type), about)
    codes = [chunk.indices for chunk in column.chunks]
    joined = pa.chunked_array(codes, kind.index_type) if codes else pa.chunked_array([], kind.index_type)
    return _marked(_leaves(pa, joined, kind.index_type), _nulls(joined), names=names)


def _extension(what: str, pa: Any, column: Any, about: Mapping[str, Any]) -> Any:
    """Returns a column of an extension type: tensors in their shape, others as they are stored."""
    kind = column.type
    name = kind.extension_name
    storage = pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type)
    if name == "arrow.fixed_shape_tensor":
        rows = _of_arrow(what, storage, {})
        shape, order = list(kind.shape), kind.permutation
        if isinstance(rows, Column):
            values, missing = rows.__deeplake_values__, rows.__deeplake_missing__
        else:
            values, missing = np.asarray(rows), None
        values = values.reshape(len(column), *shape)
        if order:
            values = values.transpose(0, *(axis + 1 for axis in order))
        return Column(values, missing) if missing is not None else values
    if name == "arrow.variable_shape_tensor":
        fields = storage.combine_chunks()
        fields = pa.concat_arrays(fields.chunks) if isinstance(fields, pa.ChunkedArray) else fields
        flat = _lists(what, pa, pa.chunked_array([fields.field("data")]))
        shapes = fields.field("shape").to_pylist()
        valid = fields.is_valid().to_pylist()
        return [
            np.asarray(value).reshape(shape) if ok and value is not None else None
            for value, shape, ok in zip(flat, shapes, valid, strict=True)
        ]
    if name == "arrow.bool8":
        return _of_arrow(what, storage.cast(pa.int8()).cast(pa.bool_()), about)
    if name == "arrow.uuid":
        return [None if value is None else str(value) for value in column.to_pylist()]
    return _of_arrow(what, storage, about)


def _lists(what: str, pa: Any, column: Any) -> Any:
    """Returns lists as arrays: one for all rows where their type states a shape, else a list."""
    shape, leaf = [], column.type
    while pa.types.is_fixed_size_list(leaf):
        shape.append(leaf.list_size)
        leaf = leaf.value_type
    if _is_number(pa, leaf) and shape:
        return _fixed(what, pa, column, shape, leaf)
    depth = 0
    while _is_list(pa.types, leaf):
        leaf, depth = leaf.value_type, depth + 1
    if not _is_number(pa, leaf):
        return column.to_pylist()
    missing = _nulls(column).tolist()
    if depth + len(shape) == 1:
        return _slices(what, pa, column, leaf)
    rows = zip(missing, column.to_pylist(), strict=True)
    return [None if hole else _nested(what, at, row, leaf) for at, (hole, row) in enumerate(rows)]


def _fixed(what: str, pa: Any, column: Any, shape: list[int], leaf: Any) -> Any:
    missing = _nulls(column)
    whole = column.combine_chunks()
    whole = pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
    # Missing rows have a place in the memory of lists of a fixed size, which flatten() leaves out.
    size = 1
    for axis in shape:
        whole = whole.values.slice(whole.offset * axis, len(whole) * axis)
        size *= axis
        inner = _nulls(whole).reshape(-1, size)
        _no_nulls(what, inner.any(axis=1) & ~missing)
    return _marked(_leaves(pa, whole, leaf).reshape(len(column), *shape), missing)


def _no_nulls(what: str, bad: npt.NDArray[np.bool_]) -> None:
    if bad.any():
        raise TensorTypeError(
            f"{what}: row {int(bad.argmax())} has a null inside its list, and no dtype of numbers has a missing value; "
            "fill it, or use htype json"
        )


def _slices(what: str, pa: Any, column: Any, leaf: Any) -> list[Any]:
    """Returns the arrays of lists of numbers, without a copy of each."""
    out: list[Any] = []
    for chunk in column.chunks:
        if chunk.flatten().null_count:
            bad = np.array([row.is_valid and row.values.null_count > 0 for row in chunk], np.bool_)
            _no_nulls(what, np.concatenate([np.zeros(len(out), np.bool_), bad]))
        for row in chunk:
            out.append(None if not row.is_valid else _leaves(pa, row.values, leaf) if len(row.values) else _empty(leaf))
    return out


def _empty(leaf: Any) -> npt.NDArray[Any]:
    return np.zeros(0, leaf.to_pandas_dtype())


def _nested(what: str, row: int, value: Any, leaf: Any) -> npt.NDArray[Any]:
    """Returns nested lists as an array of the type's dtype."""

    def has_null(item: Any) -> bool:
        return item is None or (isinstance(item, list) and any(map(has_null, item)))

    if has_null(value):
        _no_nulls(what, np.arange(row + 1) == row)
    try:
        return np.array(value, leaf.to_pandas_dtype())
    except ValueError as err:
        raise TensorTypeError(
            f'{what}: row {row} has lists of unequal lengths, which make no array; pad them, or use htype "json"'
        ) from err


def _is_number(pa: Any, leaf: Any) -> bool:
    return bool(pa.types.is_boolean(leaf) or pa.types.is_integer(leaf) or pa.types.is_floating(leaf))


def _is_arrow(column: Any) -> bool:
    """Returns whether a column has the types of Arrow, which has none for JSON values."""
    return not _of(column, "pandas") or type(column.dtype).__name__ == "ArrowDtype"
