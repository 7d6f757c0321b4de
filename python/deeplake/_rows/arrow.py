"""Rows as Arrow tables and pandas data frames. The core makes the record batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from deeplake import _index, _native
from deeplake._checks import check_choice, check_names
from deeplake._errors import InvalidArgumentError
from deeplake._lazy import package
from deeplake._rows.row import largest_sample
from deeplake._rows.source import Pinned
from deeplake._rows.tensor import shape_of

BATCH_ROWS = 1 << 16  # of a batch, at most

# The bytes and rows of cells that one call of the core reads.
_BLOCK_ROWS, _BLOCK_BYTES = 1 << 16, 64 << 20

_FILES = ("jpeg", "png", "webp")


class _Batch:
    """A record batch of the core, by Arrow's PyCapsule protocol. It is taken once."""

    def __init__(self, schema: Any, array: Any) -> None:
        self._pair = schema, array

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self._pair


class _Schema:
    def __init__(self, schema: Any) -> None:
        self._schema = schema

    def __arrow_c_schema__(self) -> Any:
        return self._schema


def _batches(source: Pinned, tensors: Sequence[str] | None, images: str, batch_rows: int) -> tuple[Any, Iterator[Any]]:
    """Returns the schema, and the record batches as they are read. Ctrl-C stops reading."""
    pa = _package("pyarrow")
    native = _open(source, _names(source, tensors, images), images, batch_rows)

    def batches() -> Iterator[Any]:
        try:
            while (array := native.next()) is not None:
                yield pa.record_batch(_Batch(native.schema(), array))
        finally:
            native.close()

    return pa.schema(_Schema(native.schema())), batches()


def _open(source: Pinned, names: Sequence[str], images: str, batch_rows: int) -> _native.Batches:
    for name in names:
        source.require(name)
    return source.view().batches({"tensors": names, "images": images, "batch_rows": batch_rows})


def to_arrow(source: Pinned, tensors: Sequence[str] | None, images: str) -> Any:
    """Returns the rows as a `pyarrow.Table`, a column for each tensor."""
    pa = _package("pyarrow")
    schema, batches = _batches(source, tensors, images, 0)
    return pa.Table.from_batches(batches, schema)


def to_arrow_reader(source: Pinned, tensors: Sequence[str] | None, images: str, batch_rows: int) -> Any:
    """Returns a `pyarrow.RecordBatchReader` of the rows, which reads each batch as it is taken."""
    pa = _package("pyarrow")
    if not isinstance(batch_rows, int) or isinstance(batch_rows, bool) or batch_rows < 1:
        raise InvalidArgumentError(f"convert to Arrow: batch_rows is {batch_rows!r}, want an int of at least 1")
    return pa.RecordBatchReader.from_batches(*_batches(source, tensors, images, batch_rows))


def to_arrow_stream(source: Pinned, requested_schema: Any) -> Any:
    """Returns the capsule of a stream of the rows, without pictures that no query names."""
    names = names_of(source, None)
    if requested_schema is not None:
        # pyarrow casts to the types that a consumer prefers.
        return to_arrow_reader(source, names, "encoded", BATCH_ROWS).__arrow_c_stream__(requested_schema)
    return _open(source, names, "encoded", 0).stream()


def names_of(source: Pinned, tensors: Sequence[str] | None) -> list[str]:
    """Returns the tensors that go to other programs: without names, all but pictures that no query
    names.
    """
    if tensors is not None:
        return _names(source, tensors, "encoded")
    of = getattr(source.version, "of", None)
    names = source.names()
    if of is None or set(of.names()) <= set(names):
        names = [name for name in names if _goes(source.require(name))]
    return names


def _goes(about: Mapping[str, Any]) -> bool:
    """Returns whether a tensor goes to other programs that name none."""
    return "image" not in about["htype"] and not str(about["dtype"]).startswith("complex")


def to_pandas(source: Pinned, tensors: Sequence[str] | None, images: str) -> Any:
    """Returns the rows as a `pandas.DataFrame`; arrays are NumPy arrays, json Python values, None
    for a hole.
    """
    pd = _package("pandas")
    names = _names(source, tensors, images)
    abouts = {name: source.require(name) for name in names}
    plain = [name for name in dict.fromkeys(names) if not _is_object(abouts[name], images)]
    table = to_arrow(source, plain, images)
    columns = {
        name: _series(pd, table.column(name)) if name in plain else _cells(pd, source, name, abouts[name])
        for name in names
    }
    return pd.DataFrame(columns, copy=False)


def _names(source: Pinned, tensors: Sequence[str] | None, images: str) -> list[str]:
    chosen = check_names("convert to Arrow", tensors)
    check_choice("convert to Arrow", "images", images, ("encoded", "pixels"))
    return source.names() if chosen is None else chosen


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


def _blocks(source: Pinned, about: Mapping[str, Any]) -> Iterator[npt.NDArray[np.int64]]:
    """Yields the positions of rows that are read at once."""
    step = max(1, min(_BLOCK_ROWS, _BLOCK_BYTES // max(1, largest_sample(about))))
    for start in range(0, source.length(), step):
        yield _index.as_array(range(start, min(start + step, source.length())))
