"""Rows as columns: dicts, and rows of our own datasets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from deeplake import _index
from deeplake._data.reading import Reading
from deeplake._errors import InvalidArgumentError, UnsupportedError
from deeplake._rows.row import Row
from deeplake._samples.column import Column
from deeplake._samples.sample import Sample


def own_columns(view: Reading) -> dict[str, Any]:
    """Returns the columns of a view: labels with their names, and stored files as they are."""
    rows = list(view)
    columns: dict[str, Any] = {}
    for name, about in view._source.tensors().items():
        if about["compression"] in ("jpeg", "png", "webp") and not about["sequence"]:
            columns[name] = _files(view, name, rows)
            continue
        columns[name] = [row[name] for row in rows]
        if about["htype"] == "class_label" and about["class_names"]:
            columns[name] = Column(columns[name], None, "", list(about["class_names"]))
    return columns


def _files(view: Reading, name: str, rows: list[Row]) -> list[Any]:
    """Returns the stored files of a tensor, and the arrays of samples that are stored in tiles."""
    column = view._source.column(name)

    def sample(row: int) -> Any:
        try:
            file = column.bytes_many(_index.as_array(range(row, row + 1)))[0]
        except UnsupportedError:
            return rows[row][name]
        return None if file is None else Sample(file)

    try:
        files = column.bytes_many(_index.as_array(range(len(rows))))
    except UnsupportedError:
        return [sample(row) for row in range(len(rows))]
    return [None if file is None else Sample(file) for file in files]


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
