"""Rows as columns: dicts, and rows of our own datasets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from deeplake import _index
from deeplake._data.reading import Reading
from deeplake._errors import InvalidArgumentError, UnsupportedError
from deeplake._samples.column import Column
from deeplake._samples.sample import Sample


def own_columns(view: Reading) -> dict[str, Any]:
    """Returns the columns of a view: labels with their names, and stored files as they are."""
    columns: dict[str, Any] = columns_of(list(view))
    for name, about in view._source.tensors().items():
        column = columns.get(name)
        if column is None or about["sequence"]:
            continue
        if about["htype"] == "class_label" and about["class_names"]:
            columns[name] = Column(column, None, "", list(about["class_names"]))
        elif about["compression"] in ("jpeg", "png", "webp"):
            columns[name] = _files(view, name, column)
    return columns


def _files(view: Reading, name: str, values: list[Any]) -> list[Any]:
    """Returns the stored files of a tensor, and the arrays of those that are stored in tiles."""
    column = view._source.column(name)
    try:
        files = column.bytes_many(_index.as_array(range(len(values))))
    except UnsupportedError:
        files = [_file(column, row) for row in range(len(values))]
    return [value if file is None else Sample(file) for value, file in zip(values, files, strict=True)]


def _file(column: Any, row: int) -> bytes | None:
    try:
        file: bytes | None = column.bytes_many(_index.as_array(range(row, row + 1)))[0]
    except UnsupportedError:
        return None
    return file


def columns_of(rows: Any) -> dict[str, list[Any]]:
    """Returns the columns of a sequence of rows as dicts."""
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
        raise InvalidArgumentError(
            f"extend: got {type(rows).__name__}, want a dict of columns, a sequence of rows as dicts, or a table"
        )
    listed = list(rows)
    for number, row in enumerate(listed):
        if not isinstance(row, Mapping):
            raise InvalidArgumentError(
                f"extend: row {number} is a {type(row).__name__}, want a dict from tensor names to samples"
            )
    names = dict.fromkeys(name for row in listed for name in row)
    for number, row in enumerate(listed):
        if len(row) < len(names):
            missing = next(name for name in names if name not in row)
            raise InvalidArgumentError(
                f'extend: row {number} has no value for tensor "{missing}"; give None for rows without a sample'
            )
    return {name: [row[name] for row in listed] for name in names}
