"""Rows as Arrow tables and pandas data frames."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from deeplake import _index
from deeplake._errors import InvalidArgumentError, TensorTypeError, UnsupportedError
from deeplake._lazy import package
from deeplake._names import check_names
from deeplake._rows.row import largest_sample
from deeplake._rows.source import Pinned
from deeplake._rows.tensor import shape_of
from deeplake._samples.column import numpy_time

# The bytes that one call of the core reads of a tensor, and those of a batch of all tensors. A call
# of few rows costs more than they do: numbers are read by megabytes.
_BLOCK_ROWS, _NUMBERS_ROWS = 1 << 16, 1 << 17
_BLOCK_BYTES = 64 << 20

_FILES = ("jpeg", "png", "webp")


def to_arrow(source: Pinned, tensors: Sequence[str] | None, images: str) -> Any:
    """Returns the rows as a `pyarrow.Table`, a column for each tensor."""
    pa = _package("pyarrow")
    names = _names(source, tensors, images)
    columns = [_column(pa, source, name, source.require(name), images) for name in names]
    return pa.Table.from_arrays(columns, names=names)


def to_arrow_reader(source: Pinned, tensors: Sequence[str] | None, images: str, batch_rows: int) -> Any:
    """Returns a `pyarrow.RecordBatchReader` of the rows, which reads each batch as it is taken."""
    pa = _package("pyarrow")
    if not isinstance(batch_rows, int) or isinstance(batch_rows, bool) or batch_rows < 1:
        raise InvalidArgumentError(f"convert to Arrow: batch_rows is {batch_rows!r}, want an int of at least 1")
    names = _names(source, tensors, images)
    abouts = {name: source.require(name) for name in names}
    together = sum(max(1, largest_sample(about)) for about in abouts.values())
    step = max(1, min([_NUMBERS_ROWS, _BLOCK_BYTES // max(1, together), *map(_block_rows, abouts.values())]))

    def block(start: int) -> Any:
        rows = _index.as_array(range(start, min(start + step, source.length())))
        columns = [_part(pa, source, name, abouts[name], images, rows) for name in names]
        return pa.RecordBatch.from_arrays(columns, names=names)

    first = block(0)

    def batches() -> Iterator[Any]:
        for start in range(0, max(source.length(), 1), step):
            rows = _typed(pa, block(start), first.schema) if start else first
            for at in range(0, max(len(rows), 1), batch_rows):
                yield rows.slice(at, batch_rows)

    return pa.RecordBatchReader.from_batches(first.schema, batches())


def to_arrow_stream(source: Pinned, requested_schema: Any) -> Any:
    """Returns the capsule of a stream of the rows, without pictures that no query names."""
    of = getattr(source.version, "of", None)
    names = source.names()
    if of is None or set(of.names()) <= set(names):
        names = [name for name in names if _goes(source.require(name))]
    return to_arrow_reader(source, names, "encoded", _BLOCK_ROWS).__arrow_c_stream__(requested_schema)


def _goes(about: Mapping[str, Any]) -> bool:
    """Returns whether a tensor goes to other programs that name none."""
    return "image" not in about["htype"] and not str(about["dtype"]).startswith("complex")


def _typed(pa: Any, batch: Any, schema: Any) -> Any:
    """Returns a batch with the types of the first one."""
    columns = []
    for field, column in zip(schema, batch.columns, strict=True):
        try:
            columns.append(column if column.type == field.type else column.cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as err:
            raise TensorTypeError(
                f'convert tensor "{field.name}": its first samples have type {field.type}, later ones {column.type}: '
                f"{err}; leave it out by tensors="
            ) from err
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def to_pandas(source: Pinned, tensors: Sequence[str] | None, images: str) -> Any:
    """Returns the rows as a `pandas.DataFrame`; arrays are NumPy arrays, json Python values, None
    for a hole.
    """
    pd, pa = _package("pandas"), _package("pyarrow")
    columns = {}
    for name in _names(source, tensors, images):
        about = source.require(name)
        if _is_object(about, images):
            columns[name] = _cells(pd, source, name, about)
        else:
            columns[name] = _series(pd, _column(pa, source, name, about, images))
    return pd.DataFrame(columns, copy=False)


def _names(source: Pinned, tensors: Sequence[str] | None, images: str) -> list[str]:
    check_names("convert to Arrow", tensors)
    if images not in ("encoded", "pixels"):
        raise InvalidArgumentError(f'convert to Arrow: images is "{images}", want "encoded" or "pixels"')
    return source.names() if tensors is None else list(tensors)


def _is_object(about: Mapping[str, Any], images: str) -> bool:
    if about["dtype"] == "json":
        return True  # Python values, which Arrow does not have
    if about["sequence"] or about["dtype"] in ("string", "bytes") or shape_of(about) == ():
        return False
    return not (images == "encoded" and about["compression"] in _FILES)


def _cells(pd: Any, source: Pinned, name: str, about: Mapping[str, Any]) -> Any:
    cells = np.empty(source.length(), object)
    for rows in _blocks(source, about):
        for at, value in zip(rows, source.read(rows, name, "list"), strict=True):
            cells[at] = value
    return pd.Series(cells, dtype=object)


def _series(pd: Any, column: Any) -> Any:
    if not column.null_count:
        return column.to_pandas()
    # NumPy has no missing integer and no missing bool.
    dtypes = {f"{sign}int{bits}": f"{sign.upper()}Int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
    dtype = {**dtypes, "bool": "boolean"}.get(str(column.type))
    return column.to_pandas(types_mapper=None if dtype is None else lambda _: pd.array([], dtype=dtype).dtype)


def _package(name: str) -> Any:
    return package(f"convert to {name}", name, f"pip install {name}")


def _column(pa: Any, source: Pinned, name: str, about: Mapping[str, Any], images: str) -> Any:
    return _joined(pa, [_part(pa, source, name, about, images, rows) for rows in _blocks(source, about)], name)


def _part(
    pa: Any, source: Pinned, name: str, about: Mapping[str, Any], images: str, rows: npt.NDArray[np.int64]
) -> Any:
    """Returns some rows of a tensor as one array."""
    dtype = about["dtype"]
    if about["sequence"]:
        return _sequences(pa, source.read(rows, name, "list"), about, name)
    if dtype in ("string", "json"):
        return _bytes(pa, source, rows, name).cast(pa.large_string())
    if dtype == "bytes" or (images == "encoded" and about["compression"] in _FILES):
        return _bytes(pa, source, rows, name)
    if shape_of(about) == ():
        return _scalars(pa, source, rows, name, about)
    return _block(pa, source, rows, name, about)


def _block(pa: Any, source: Pinned, rows: npt.NDArray[np.int64], name: str, about: Mapping[str, Any]) -> Any:
    """Returns some rows of a tensor of arrays: as one array where all have the same shape, else one
    by one.
    """
    shape = shape_of(about)
    if shape and None not in shape and math.prod(_ints(shape)) > 0:
        try:
            values, holes = source.read_marked(rows, name)
        except TensorTypeError:
            pass  # few rows, and one is a hole
        else:
            if holes is None:
                holes = np.zeros(len(rows), np.bool_)
            leaves = _numbers(pa, values[~holes].reshape(-1) if holes.any() else values.reshape(-1), None, about, name)
            return _fixed(pa, leaves, _ints(shape), holes)
    return _arrays(pa, source.read(rows, name, "list"), about, name)


def _blocks(source: Pinned, about: Mapping[str, Any]) -> Iterator[npt.NDArray[np.int64]]:
    """Yields the positions of rows that are read at once."""
    step = _block_rows(about)
    for start in range(0, max(source.length(), 1), step):
        yield _index.as_array(range(start, min(start + step, source.length())))


def _block_rows(about: Mapping[str, Any]) -> int:
    rows = _NUMBERS_ROWS if shape_of(about) == () and not about["sequence"] else _BLOCK_ROWS
    return max(1, min(rows, _BLOCK_BYTES // max(1, largest_sample(about))))


def _bytes(pa: Any, source: Pinned, rows: npt.NDArray[np.int64], name: str) -> Any:
    return pa.array(source.column(name).bytes_many(rows), pa.large_binary())


def _scalars(pa: Any, source: Pinned, rows: npt.NDArray[np.int64], name: str, about: Mapping[str, Any]) -> Any:
    try:
        return _numbers(pa, *source.read_marked(rows, name), about, name)
    except TensorTypeError:
        pass  # few rows, and one is a hole
    holes = source.column(name).sizes(rows) < 0
    values = np.zeros(len(rows), _numpy_dtype(about, name))
    if not holes.all():
        values[~holes] = source.read(rows[~holes], name, "stack")
    return _numbers(pa, values, holes, about, name)


def _numbers(pa: Any, values: npt.NDArray[Any], holes: Any, about: Mapping[str, Any], name: str) -> Any:
    """Returns numbers as an Arrow array: names for class labels, dates for days."""
    if about.get("time"):
        return _times(pa, values, holes, about["time"])
    values = values.astype(_numpy_dtype(about, name), copy=False)
    names = about["class_names"] if "class_label" in about["htype"] else None  # masks stay numbers
    if names and values.dtype.kind in "iu":
        known = values if holes is None else values[~holes]
        if not known.size or (int(known.min()) >= 0 and int(known.max()) < len(names)):
            codes = pa.array(values.astype(np.int32), mask=holes)
            return pa.DictionaryArray.from_arrays(codes, pa.array(names, pa.string()))
    return pa.array(values, mask=holes)


def _times(pa: Any, values: npt.NDArray[Any], holes: Any, time: str) -> Any:
    """Returns times as date32, timestamp or duration, with the zone of the tensor."""
    counts = values.astype(numpy_time(time)).astype(np.int64)
    missing = np.isnat(counts.view(numpy_time(time)))
    mask = missing if holes is None else missing | holes
    kind, _, rest = time.partition("[")
    unit, _, zone = rest.rstrip("]").partition(", ")
    if kind == "date":
        return pa.array(counts.astype(np.int32), mask=mask).cast(pa.date32())
    return pa.array(counts, mask=mask).cast(
        pa.duration(unit) if kind == "interval" else pa.timestamp(unit, zone or None)
    )


def _numpy_dtype(about: Mapping[str, Any], name: str) -> npt.DTypeLike:
    dtype = about["dtype"] or "float64"
    if about.get("time"):
        return numpy_time(about["time"])
    if dtype == "bfloat16":
        return np.float32
    if dtype.startswith("complex"):
        raise UnsupportedError(f'convert tensor "{name}": Arrow has no {dtype}; leave it out by tensors=')
    return np.dtype(dtype)


def _arrays(pa: Any, values: Sequence[Any], about: Mapping[str, Any], name: str) -> Any:
    """Returns arrays as (nested) lists, None for a hole; lists of a fixed size where all have one
    shape.
    """
    arrays = [np.asarray(value) for value in values if value is not None]
    holes = np.array([value is None for value in values], np.bool_)
    shapes = {array.shape for array in arrays}
    stated = shape_of(about)
    ndims = {len(shape) for shape in shapes} or {1 if stated is None else len(stated)}
    if len(ndims) > 1:
        raise TensorTypeError(
            f'convert tensor "{name}": samples have {" and ".join(map(str, sorted(ndims)))} axes, and a column of '
            "Arrow has one type; leave it out by tensors="
        )
    flat = np.concatenate([array.ravel() for array in arrays]) if arrays else np.zeros(0, _numpy_dtype(about, name))
    leaves = _numbers(pa, flat, None, about, name)
    ndim = ndims.pop()
    if stated and None not in stated and len(stated) == ndim and math.prod(_ints(stated)) > 0:
        return _fixed(pa, leaves, _ints(stated), holes)
    table = np.array([array.shape for array in arrays], np.int64).reshape(len(arrays), ndim)
    if ndim == 0:
        taken = np.full(len(holes), -1, np.int64)
        taken[~holes] = np.arange(len(arrays))
        return leaves.take(pa.array(taken, mask=holes))
    return _nested(pa, leaves, table, holes)


def _ints(shape: Sequence[int | None]) -> list[int]:
    return [axis or 0 for axis in shape]


def _fixed(pa: Any, leaves: Any, shape: list[int], holes: npt.NDArray[np.bool_]) -> Any:
    if holes.any():  # a hole has a place there, too
        size = math.prod(shape)
        at = np.zeros((len(holes), size), np.int64)
        at[~holes] = np.arange(len(leaves)).reshape(-1, size)
        leaves = leaves.take(pa.array(at.ravel(), mask=np.repeat(holes, size)))
    for axis in reversed(shape[1:]):
        leaves = pa.FixedSizeListArray.from_arrays(leaves, axis)
    mask = pa.array(holes) if holes.any() else None
    return pa.FixedSizeListArray.from_arrays(leaves, shape[0], mask=mask)


def _nested(pa: Any, leaves: Any, shapes: npt.NDArray[np.int64], holes: npt.NDArray[np.bool_]) -> Any:
    """Returns lists of lists: axis by axis, the innermost first."""
    for axis in range(shapes.shape[1] - 1, 0, -1):
        outer = shapes[:, :axis].prod(axis=1)
        lengths = np.repeat(shapes[:, axis], outer)
        leaves = pa.LargeListArray.from_arrays(_offsets(pa, lengths), leaves)
    lengths = np.zeros(len(holes), np.int64)
    lengths[~holes] = shapes[:, 0]
    mask = pa.array(holes) if holes.any() else None
    return pa.LargeListArray.from_arrays(_offsets(pa, lengths), leaves, mask=mask)


def _offsets(pa: Any, lengths: npt.NDArray[np.int64]) -> Any:
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))


def _sequences(pa: Any, rows: Sequence[Any], about: Mapping[str, Any], name: str) -> Any:
    holes = np.array([row is None for row in rows], np.bool_)
    items = [item for row in rows if row is not None for item in row]
    item = {**about, "sequence": False, "min_shape": None, "max_shape": None}
    if about["dtype"] == "bytes":
        values = pa.array(items, pa.large_binary())
    elif about["dtype"] == "string":
        values = pa.array(items, pa.large_string())
    elif about["dtype"] == "json":
        import json

        values = pa.array([None if i is None else json.dumps(i, ensure_ascii=False) for i in items], pa.large_string())
    else:
        if all(np.ndim(i) == 0 for i in items):
            item["shape"] = []
        values = _arrays(pa, items, item, name)
    lengths = np.array([0 if row is None else len(row) for row in rows], np.int64)
    mask = pa.array(holes) if holes.any() else None
    return pa.LargeListArray.from_arrays(_offsets(pa, lengths), values, mask=mask)


def _joined(pa: Any, parts: list[Any], name: str) -> Any:
    """Returns parts as one column. A part whose samples are less ragged than others becomes as they
    are.
    """
    kinds = {part.type for part in parts}
    if len(kinds) == 1:
        return pa.chunked_array(parts)
    try:
        return pa.chunked_array([part.cast(max(kinds, key=str)) for part in parts])
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as err:
        raise TensorTypeError(
            f'convert tensor "{name}": its samples are no column of Arrow, which has one type: {err}; leave it out by '
            "tensors="
        ) from err
