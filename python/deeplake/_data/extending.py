"""The rows of `extend`: added to a dataset, or in the place of those with the same key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from deeplake import _index
from deeplake._data.deeplake4 import Deeplake4, Run
from deeplake._data.hugging_face import is_of_hugging_face, reader_of
from deeplake._data.reading import Reading
from deeplake._data.rows import columns_of, own_columns
from deeplake._errors import InvalidArgumentError, TensorTypeError
from deeplake._lazy import package
from deeplake._names import quoted
from deeplake._samples.column import Column
from deeplake._samples.frames import check_frame, columns_of_frame, empty_table, is_column, is_frame, is_stream

if TYPE_CHECKING:
    from deeplake._data.writing import Writing
    from deeplake._rows.live import Live

Matched = Literal["update", "skip", "error"]
Unmatched = Literal["append", "skip", "error"]

# The index of a data frame, as pandas names it in tables.
_INDEX = re.compile(r"__index_level_\d+__")

# Rows of the dataset whose keys are compared at a time.
_BLOCK = 1 << 17


class Upserted(NamedTuple):
    """The rows of a table that `extend(rows, on=...)` took, and left out."""

    updated: int
    appended: int
    skipped: int


def extend(ds: Writing, rows: Any) -> None:
    """Appends rows, all or none."""
    live = ds._source
    if isinstance(rows, Deeplake4):
        with rows.opened() as run:
            _extend_by_batches(ds, run)
    elif is_of_hugging_face(rows):
        live.append_stream(reader_of(rows))
    elif is_stream(rows):
        check_frame(rows)
        live.append_stream(rows)
    elif is_frame(rows) and not live.names() and (empty := empty_table(rows)) is not None:
        live.append_stream(empty)
    elif isinstance(rows, Reading) and not live.handle().describe()["tensors"]:
        _extend_new(ds, rows.schema, own_columns(rows))
    else:
        live.append(ds._samples("extend", _columns(rows)))


def _extend_by_batches(ds: Writing, run: Run) -> None:
    """Appends the rows that another process writes, all or none. Its batches are read here: the
    core's own thread would wait for them through Ctrl-C.
    """
    live = ds._source
    before, dirty = live.length(), ds.dirty
    made: list[str] = []
    try:
        if not live.handle().describe()["tensors"]:
            for name, about in run.tensors.items():
                ds.create_tensor(name, **about)
                made.append(name)
        for batch in run:
            live.append_stream(batch)
    except BaseException:
        if not dirty:
            ds.discard()
            raise
        if live.length() > before:
            ds.delete(slice(before, live.length()))
        for name in made:
            ds.delete_tensor(name)
        raise


def _extend_new(ds: Writing, schema: Mapping[str, Any], columns: Mapping[str, Any]) -> None:
    """Adds rows to a dataset without tensors, and tensors as those that they come from."""
    made: list[str] = []
    try:
        for name, about in schema.items():
            ds.create_tensor(name, **about)
            made.append(name)
        ds._source.append(ds._samples("extend", columns))
    except BaseException:
        for name in made:
            ds.delete_tensor(name)
        raise


def upsert(ds: Writing, rows: Any, on: str, matched: Matched, unmatched: Unmatched) -> Upserted:
    """Updates the rows whose key is in the dataset, and appends the others; all or none."""
    for name, got, want in (
        ("matched", matched, ("update", "skip", "error")),
        ("unmatched", unmatched, ("append", "skip", "error")),
    ):
        if got not in want:
            raise InvalidArgumentError(f"extend: {name} is {got!r}, want {quoted(want)}")
    live = ds._source
    about = live.require(on)
    text = about["htype"] == "text"
    whole = str(about["dtype"]).lstrip("u").startswith("int") and about["htype"] == "generic" and not about.get("time")
    if not text and not whole:
        raise TensorTypeError(
            f'extend: the key "{on}" has htype {about["htype"]} and dtype {about["dtype"]}, want integers or text'
        )
    columns = {name: column for name, column in _columns(rows).items() if not _INDEX.fullmatch(name)}
    if not columns:
        return Upserted(0, 0, 0)  # a batch without rows
    if on not in columns:
        raise InvalidArgumentError(
            f'extend: the rows have no column "{on}", which is the key; they have {quoted(columns)}'
        )
    for name, column in columns.items():
        if not isinstance(column, Column) and (not hasattr(column, "__len__") or isinstance(column, str | bytes)):
            raise TensorTypeError(
                f'extend: column "{name}" is of type {type(column).__name__}, want an array, or a list with one '
                "sample for each row"
            )
    keys = _keys(on, columns[on], text)
    for name, column in columns.items():
        if (n := len(column.__deeplake_values__ if isinstance(column, Column) else column)) != len(keys):
            raise InvalidArgumentError(f'extend: column "{name}" has {n} values, and the key "{on}" {len(keys)}')
    known = _known(live, on, keys, text)
    new = np.array([at for at, key in enumerate(keys) if key not in known], np.int64)
    old = np.array([at for at, key in enumerate(keys) if key in known], np.int64)
    if len(old) and matched == "error":
        raise InvalidArgumentError(
            f'extend: row {old[0]} has the key {keys[old[0]]!r}, which is in the dataset; matched="update" replaces it'
        )
    if len(new) and unmatched == "error":
        raise InvalidArgumentError(
            f'extend: row {new[0]} has the key {keys[new[0]]!r}, which the dataset lacks; unmatched="append" adds it'
        )
    if matched == "skip":
        old = old[:0]
    if unmatched == "skip":
        new = new[:0]
    targets = np.array([known[keys[at]] for at in old], np.int64)
    _write(ds, on, columns, (old, targets), new)
    return Upserted(len(old), len(new), len(keys) - len(old) - len(new))


def _write(
    ds: Writing,
    on: str,
    columns: Mapping[str, Any],
    old: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    new: npt.NDArray[np.int64],
) -> None:
    live = ds._source
    before, dirty = live.length(), ds.dirty
    if len(new):
        added = {name: _taken(column, new) for name, column in columns.items()}
        missing = {name: [None] * len(new) for name in live.names() if name not in columns}
        live.append(ds._samples("extend", {**added, **missing}))
    places, targets = old
    values = {name: _taken(column, places) for name, column in columns.items() if name != on}
    if not len(places) or not values:
        return
    try:
        live.update(targets, ds._samples("extend", values))
    except BaseException:
        if len(new) and dirty:
            ds.delete(slice(before, before + len(new)))
        elif len(new):
            ds.discard()
        raise


def _columns(rows: Any) -> Mapping[str, Any]:
    if isinstance(rows, Mapping):
        return rows
    if isinstance(rows, Reading):
        return own_columns(rows)
    if is_of_hugging_face(rows):
        rows = reader_of(rows)
    if is_stream(rows):
        check_frame(rows)
        if hasattr(rows, "get_columns"):  # polars
            return {column.name: column for column in rows.get_columns()}
        table = package("extend by a key", "pyarrow", "pip install pyarrow").table(rows)
        return {name: _plain(column) for name, column in zip(table.column_names, table.columns, strict=True)}
    return columns_of_frame(rows) if is_frame(rows) else columns_of(rows)


def _plain(column: Any) -> Any:
    """Returns a column of Arrow in a type from which pyarrow takes rows."""
    kind = str(column.type)
    return column.cast("large_" + kind.removesuffix("_view")) if kind in ("string_view", "binary_view") else column


def _keys(on: str, column: Any, text: bool) -> list[Any]:
    """Returns the keys of the rows, all of which must differ."""
    values = column.__deeplake_values__ if isinstance(column, Column) else column
    if hasattr(values, "to_pylist"):
        values = values.to_pylist()
    elif hasattr(values, "tolist"):
        values = values.tolist()
    kind: Any = str if text else (int, np.integer)
    seen: dict[Any, int] = {}
    for row, value in enumerate(values):
        if not isinstance(value, kind) or isinstance(value, bool):
            want = "a str" if text else "an int"
            raise TensorTypeError(f'extend: row {row} has the key {value!r} in "{on}", want {want}')
        key: Any = value if text else int(value)
        first = seen.setdefault(key, row)
        if first != row:
            raise InvalidArgumentError(
                f'extend: rows {first} and {row} have the same key {key!r} in "{on}"; keep one of them'
            )
    return list(seen)


def _known(live: Live, on: str, keys: Sequence[Any], text: bool) -> dict[Any, int]:
    """Returns the row of each key that is in the dataset."""
    wanted = set(keys)
    found: dict[Any, int] = {}
    for row, key in _hits(live, on, keys, wanted, text):
        if key in found:
            raise InvalidArgumentError(
                f"extend: rows {found[key]} and {row} of the dataset have the same key {key!r} in "
                f'"{on}"; delete one of them'
            )
        found[key] = row
    return found


def _hits(live: Live, on: str, keys: Sequence[Any], wanted: set[Any], text: bool) -> Iterator[tuple[int, Any]]:
    """Yields the rows of the dataset whose key is wanted, with it."""
    if not wanted or not live.length():
        return
    pinned = live.pinned_for(on)
    numbers = None if text else np.array(keys, object)
    for start in range(0, pinned.length(), _BLOCK):
        rows = _index.as_array(range(start, min(start + _BLOCK, pinned.length())))
        if numbers is None:
            for at, key in enumerate(pinned.read(rows, on, "list")):
                if key in wanted:
                    yield start + at, key
            continue
        try:
            values, holes = pinned.read_marked(rows, on)
        except TensorTypeError:  # few rows, and one is a hole
            for at, key in enumerate(pinned.read(rows, on, "list")):
                if key is not None and int(key) in wanted:
                    yield start + at, int(key)
            continue
        limits = np.iinfo(values.dtype)
        inside = numbers[(numbers >= limits.min) & (numbers <= limits.max)].astype(values.dtype)
        hit = np.isin(values, inside)
        if holes is not None:
            hit &= ~holes
        for at in np.flatnonzero(hit).tolist():
            yield start + at, int(values[at])


def _taken(column: Any, rows: npt.NDArray[np.int64]) -> Any:
    """Returns some values of a column, in the form that it has."""
    if isinstance(column, Column):
        missing = column.__deeplake_missing__
        kept = None if missing is None else missing[rows]
        return Column(
            _taken(column.__deeplake_values__, rows), kept, column.__deeplake_counts__, column.__deeplake_names__
        )
    if is_column(column):
        return column.gather(rows) if hasattr(column, "gather") else column.take(rows)
    if isinstance(column, np.ndarray):
        return column[rows]
    return [column[at] for at in rows.tolist()]
