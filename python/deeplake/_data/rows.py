"""Rows as columns: dicts, and rows of our own datasets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from deeplake import _index
from deeplake._data.reading import Reading
from deeplake._errors import InvalidArgumentError, UnsupportedError
from deeplake._names import known_columns
from deeplake._rows.row import Row
from deeplake._samples.column import Column
from deeplake._samples.sample import Sample

_CHUNK = 1000  # rows as dicts that `ingest` appends together


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
    """Returns the columns of rows as dicts. An empty row among others is all holes."""
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
    if listed and not names:
        raise InvalidArgumentError("extend: row 0 is empty; give None for tensors without a sample")
    holes = dict.fromkeys(names)
    listed = [row or holes for row in listed]
    for number, row in enumerate(listed):
        if len(row) < len(names):
            missing = next(name for name in names if name not in row)
            raise InvalidArgumentError(
                f'extend: row {number} has no value for tensor "{missing}"; give None for rows without a sample'
            )
    return {name: [row[name] for row in listed] for name in names}


def chunks_of(
    rows: Iterable[Any], columns: Sequence[str] | None, schema: Mapping[str, Any]
) -> Iterator[list[dict[str, Any]]]:
    """Yields some rows at a time, with None for the values that a row lacks. Empty rows before the
    first value come with it.

    Raises InvalidArgumentError at the end if no row has one of `columns`, or of `schema`.
    """
    seen: dict[str, None] = {}
    empty = 0
    numbered = enumerate(rows)
    while chunk := list(islice(numbered, _CHUNK)):
        dicts = [_row(number, row, columns) for number, row in chunk]
        for row in dicts:
            seen.update(dict.fromkeys(row))
        if not seen:
            empty += len(dicts)
            continue
        wanted = list(columns) if columns is not None else [*seen, *lacked(schema, seen)]
        holes = dict.fromkeys(wanted)
        yield [*[holes] * empty, *({name: row.get(name) for name in wanted} for row in dicts)]
        empty = 0
    if empty:
        raise InvalidArgumentError(f"ingest: all {empty:,} rows are empty; give dicts by name of column")
    if seen:
        known_columns([*(columns or ()), *lacked(schema, seen)], list(seen))


def lacked(schema: Mapping[str, Any], names: Iterable[Any]) -> list[str]:
    """Returns the names in `schema` that are neither one of `names`, nor a group of them."""
    known = {str(name) for name in names}
    return [name for name in schema if name not in known and not any(n.startswith(f"{name}/") for n in known)]


def _row(number: int, row: Any, columns: Sequence[str] | None) -> Mapping[str, Any]:
    if isinstance(row, Mapping):
        return row
    if not isinstance(row, tuple | list):
        raise InvalidArgumentError(f"ingest: row {number} is a {type(row).__name__}, want a dict by name of column")
    if columns is None or len(columns) != len(row):
        wanted = "none" if columns is None else str(len(columns))
        raise InvalidArgumentError(
            f"ingest: row {number} is a {type(row).__name__} of {len(row)} items, and columns= names {wanted}; name all"
        )
    return dict(zip(columns, row, strict=True))
