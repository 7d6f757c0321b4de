"""Row indices with NumPy's meaning, converted to existing rows."""

from __future__ import annotations

import operator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from deeplake._errors import InvalidArgumentError, OutOfRangeError

# Rows in an order: regular ones as a range, so that a slice of ten million rows costs nothing.
Rows: TypeAlias = "range | npt.NDArray[np.int64]"

_WANTED = "want an int, a slice, a list or array of ints, or a boolean mask"


def parse(index: Any, length: int) -> int | Rows:
    """Returns the row (an int) or the rows that `index` selects of `length` rows; all of them
    exist.

    Raises:
        OutOfRangeError: an index is outside [-length, length).
        InvalidArgumentError: not an index, or a mask of another length.
    """
    if type(index) is int:
        return one(index, length)
    if isinstance(index, slice):
        try:
            return range(length)[index]
        except (TypeError, ValueError) as err:
            raise InvalidArgumentError(f"index rows with {index}: {err}") from None
    if type(index) is tuple and index and all(isinstance(name, str) for name in index):
        raise InvalidArgumentError(f"index rows: got a tuple of names; want a list: ds[{list(index)}]")
    if type(index) is tuple:
        raise InvalidArgumentError('index rows: got a tuple; ds["name"][0, 1] indexes within a sample of one tensor')
    if hasattr(type(index), "__getitems__"):
        raise InvalidArgumentError(f'index rows: got a {type(index).__name__}; its rows are view["name"][:], {_WANTED}')
    if index is None or index is Ellipsis or isinstance(index, str | bytes | bool | np.bool_ | tuple | set | dict):
        raise InvalidArgumentError(f"index rows: got {_describe(index)}, {_WANTED}")
    if getattr(index, "ndim", 0) == 0:  # torch makes an int of an array with one element
        try:
            return one(operator.index(index), length)
        except TypeError:
            pass
    return many(index, length)


def names(index: Any) -> list[str]:
    """Returns the names that an index has, [] if it is an index of rows."""
    if getattr(getattr(index, "dtype", None), "kind", "") == "U" and getattr(index, "ndim", 0) == 1:
        return [str(name) for name in index]
    if type(index) is not list or not index or not isinstance(index[0], str):
        return []
    if other := next((item for item in index if not isinstance(item, str)), None):
        raise InvalidArgumentError(f"index: got a list of names that has {other!r}, want names alone")
    return index


def one(index: int, length: int) -> int:
    """Returns the row of an index that may count from the end."""
    row = index + length if index < 0 else index
    if not 0 <= row < length:
        raise OutOfRangeError(f"index rows: {index} is out of range for {length} rows")
    return row


def many(index: Any, length: int) -> npt.NDArray[np.int64]:
    """Returns the rows of a sequence of indices or of a boolean mask."""
    try:
        array = np.asarray(index)
    except (TypeError, ValueError) as err:
        raise InvalidArgumentError(f"index rows: got {_describe(index)} ({err}), {_WANTED}") from None
    if array.ndim != 1:
        raise InvalidArgumentError(f"index rows: got {_describe(index)} with {array.ndim} axes, want one")
    if array.dtype == np.bool_:
        if len(array) != length:
            raise InvalidArgumentError(f"index rows: the mask has {len(array)} elements, want {length}")
        return np.flatnonzero(array).astype(np.int64, copy=False)
    if len(array) == 0:
        return np.empty(0, np.int64)
    if array.dtype.kind not in "iu":
        raise InvalidArgumentError(f"index rows: got {_describe(index)} of {array.dtype}, {_WANTED}")
    low, high = int(array.min()), int(array.max())
    if low < -length or high >= length:
        wrong = low if low < -length else high
        raise OutOfRangeError(f"index rows: {wrong} is out of range for {length} rows")
    rows = array.astype(np.int64)  # a copy: the caller may change theirs
    if low < 0:
        rows[rows < 0] += length
    return rows


def compose(outer: Rows, inner: Rows) -> Rows:
    """Returns `outer[inner]`: the rows at the positions `inner`, all of which exist, of a
    selection.
    """
    if isinstance(outer, range):
        if isinstance(inner, range):
            start, step = outer.start + outer.step * inner.start, outer.step * inner.step
            return range(start, start + step * len(inner), step)
        return outer.start + outer.step * inner
    return outer[as_array(inner)]


def as_array(rows: Rows) -> npt.NDArray[np.int64]:
    """Returns the rows as an array."""
    if isinstance(rows, range):
        return np.arange(rows.start, rows.stop, rows.step, dtype=np.int64)
    return rows


def _describe(index: Any) -> str:
    return repr(index) if index is None or index is Ellipsis else type(index).__name__
