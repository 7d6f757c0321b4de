"""Texts in arrays, and lists of class names: several labels of one row."""

from __future__ import annotations

from typing import Any

import numpy as np

from deeplake._errors import TensorTypeError
from deeplake._samples.column import Column


def numbered(name: str, column: Any) -> Any:
    """Returns a column of lists of class names as numbers with their names, which the core maps to
    the classes of the tensor. Any other column is returned as it is.

    Args:
        name: of the tensor, for errors.
        column: the samples; a row is a list of names, or None for a hole.
    """
    first = next((row for row in column if row is not None), None) if isinstance(column, list | tuple) else None
    if not _is_list(first) or not any(isinstance(label, str) for row in column if _is_list(row) for label in row):
        return column
    numbers: dict[str, int] = {}
    rows: list[Any] = []
    for at, row in enumerate(column):
        if row is None:
            rows.append(None)
            continue
        if isinstance(row, str):
            row = [row]
        if not _is_list(row) or not all(isinstance(label, str) for label in row):
            raise TensorTypeError(
                f'append to tensor "{name}": row {at} is {row!r} beside lists of class names, want a list of names; '
                f'give numbers, or names, for all rows: ds["{name}"].class_names has the names'
            )
        rows.append(np.array([numbers.setdefault(str(label), len(numbers)) for label in row], np.int64))
    return Column(rows, None, "", list(numbers))


def unpacked(column: Any) -> Any:
    """Returns a column with texts, and lists of them, in the place of NumPy's arrays of texts. Any
    other column is returned as it is.
    """
    if isinstance(column, np.ndarray) and (column.dtype.kind == "O" or (column.ndim > 1 and _has_texts(column))):
        column = column.tolist()
    if not isinstance(column, list | tuple):
        return column
    first = next((row for row in column if row is not None), None)
    if isinstance(first, np.ndarray):
        has_arrays = _has_texts(first)
    else:
        has_arrays = isinstance(first, str | list | tuple) and np.ndarray in set(map(type, column))
    return [row.tolist() if _has_texts(row) else row for row in column] if has_arrays else column


def _has_texts(row: Any) -> bool:
    if not isinstance(row, np.ndarray):
        return False
    if row.dtype.kind == "O":
        return bool(row.size) and isinstance(row.flat[0], str)
    return row.dtype.kind in "UST"


def _is_list(row: Any) -> bool:
    return isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim == 1)
