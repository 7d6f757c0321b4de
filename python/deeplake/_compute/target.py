"""The target of a transform: results of the function as rows, or as columns of the source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake._data.dataset import inferred_schema
from deeplake._data.view import Dataset
from deeplake._errors import InvalidArgumentError
from deeplake._samples.sample import Sample

if TYPE_CHECKING:
    from deeplake._compute.work import Work

SKIPPED = object()  # stands for the result of a row, or of a batch, that is left out
_MOST_ROWS = 512  # of results that are written together
_MOST_BYTES = 32 << 20  # of them


def _columns_of(batch: Mapping[str, Any], number: int) -> dict[str, list[Any]]:
    for name, values in batch.items():
        if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
            raise InvalidArgumentError(
                f'transform: the function returned a {type(values).__name__} as column "{name}" of the batch of row '
                f"{number}, want a list or an array with a sample for each row"
            )
    return {name: list(values) for name, values in batch.items()}


def _check_same(columns: Mapping[str, Any], number: int, row: Mapping[str, Any]) -> None:
    """Refuses a row of other tensors than the rows before it."""
    if columns and row.keys() != columns.keys():
        raise InvalidArgumentError(
            f"transform: the function returned the tensors {sorted(row)} for row {number}, and {sorted(columns)} for "
            "rows before it; give None for rows without a sample"
        )


@contextmanager
def _told(rows: Sequence[int]) -> Iterator[None]:
    """Adds to an error of the target the row of the source that it is about."""
    try:
        yield
    except Exception as err:
        found = re.search(r"\brow (\d+)\b", str(err))
        if found is not None and int(found[1]) < len(rows) and hasattr(err, "add_note"):
            err.add_note(f"transform: it was made of row {rows[int(found[1])]} of the source")
        raise


class Rows:
    """Results that become rows of the target."""

    def __init__(self, out: Dataset, work: Work) -> None:
        self._out, self._work = out, work
        self._columns: dict[str, list[Any]] = {}
        self._of: list[int] = []  # the row of the source of each
        self._rows, self._bytes = 0, 0

    def take(self, rows: range, results: list[Any]) -> None:
        """Takes the results of rows."""
        for number, result in zip(rows, results, strict=False):
            if result is SKIPPED or result is None:
                continue
            if self._work.batch_size:
                self._batch(number, result)
            elif isinstance(result, Mapping):
                self._row(number, result)
            elif not isinstance(result, list):
                raise InvalidArgumentError(
                    f"transform: the function returned a {type(result).__name__} for row {number}, want a dict from "
                    "tensor names to samples, a list of such dicts, or None"
                )
            else:
                for one in result:
                    self._row(number, one)

    def _row(self, number: int, row: Mapping[str, Any]) -> None:
        if not isinstance(row, Mapping):
            raise InvalidArgumentError(
                f"transform: the function returned a list with a {type(row).__name__} for row {number}, want dicts"
            )
        _check_same(self._columns, number, row)
        for name, value in row.items():
            self._columns.setdefault(name, []).append(value)
            self._bytes += _size(value)
        self._of.append(number)
        self._rows += 1
        if self._rows >= _MOST_ROWS or self._bytes >= _MOST_BYTES:
            self.flush()

    def _batch(self, number: int, batch: Any) -> None:
        if not isinstance(batch, Mapping):
            raise InvalidArgumentError(
                f"transform: the function returned a {type(batch).__name__} for the batch of row {number}, want a dict "
                "from tensor names to columns, or None"
            )
        columns = _columns_of(batch, number)
        lengths = {name: len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise InvalidArgumentError(
                f"transform: the columns of the batch of row {number} have the lengths {lengths}, want equal ones"
            )
        for position in range(next(iter(lengths.values()), 0)):
            self._row(number, {name: values[position] for name, values in columns.items()})

    def flush(self) -> None:
        """Writes the results so far."""
        if self._rows == 0:
            return
        with _told(self._of):
            _create_tensors(self._out, self._columns, self._work)
            # Tensors of the target that the function does not make have no samples.
            rest = {name: [None] * self._rows for name in self._out.tensors if name not in self._columns}
            self._out.extend({**self._columns, **rest})
        self._columns, self._of = {name: [] for name in self._columns}, []
        self._rows, self._bytes = 0, 0


class Columns:
    """Results that become samples of the rows that they are made of."""

    def __init__(self, out: Dataset, work: Work) -> None:
        self._out, self._work = out, work
        self._numbers = work.source.rows  # in the dataset
        self._rows: list[int] = []
        self._of: list[int] = []  # the row of the source of each
        self._columns: dict[str, list[Any]] = {}
        self._bytes = 0

    def take(self, rows: range, results: list[Any]) -> None:
        """Takes the results of rows."""
        if self._work.batch_size:
            (batch,) = results
            if batch is SKIPPED:
                return
            results = self._spread(rows, batch)
        for number, result in zip(rows, results, strict=True):
            if result is SKIPPED:
                continue
            if not isinstance(result, Mapping):
                raise InvalidArgumentError(
                    f"transform: the function returned a {type(result).__name__} for row {number}, want a dict: new "
                    "columns need one result for each row; give into= for other rows"
                )
            _check_same(self._columns, number, result)
            self._rows.append(int(self._numbers[number]))
            self._of.append(number)
            for name, value in result.items():
                self._columns.setdefault(name, []).append(value)
                self._bytes += _size(value)
            if len(self._rows) >= 8 * _MOST_ROWS or self._bytes >= _MOST_BYTES:
                self.flush()

    def _spread(self, rows: range, batch: Any) -> list[Any]:
        columns = _columns_of(batch, rows.start) if isinstance(batch, Mapping) else None
        if columns is None or any(len(values) != len(rows) for values in columns.values()):
            what: Any = type(batch).__name__
            if columns is not None:
                what = {name: len(values) for name, values in columns.items()}
            raise InvalidArgumentError(
                f"transform: the function returned {what} for the batch of row {rows.start}, want a dict of columns of "
                f"{len(rows)} samples: new columns need one for each row"
            )
        return [{name: values[position] for name, values in columns.items()} for position in range(len(rows))]

    def flush(self) -> None:
        """Writes the results so far."""
        if not self._rows:
            return
        with _told(self._of):
            _create_tensors(self._out, self._columns, self._work)
            self._out.update(self._rows, self._columns)
        self._rows, self._of, self._bytes = [], [], 0
        self._columns = {name: [] for name in self._columns}


def _create_tensors(out: Dataset, columns: Mapping[str, Sequence[Any]], work: Work) -> None:
    """Creates the tensors that the target lacks: as the schema says, as they are in the source, or
    as their samples make them.
    """
    there = out.tensors
    new = {name: values for name, values in columns.items() if name not in there}
    known = work.source.schema
    made: dict[str, Any] = {}
    rest = {}
    for name, values in new.items():
        if name in work.schema:
            made[name] = work.schema[name]
        elif name in known and not work.adds_columns:
            made[name] = known[name]
        else:
            rest[name] = values
    if rest:
        made.update(inferred_schema({name: list(values) for name, values in rest.items()}))
    for name in new:
        about = made[name]
        out.create_tensor(name, **({"htype": about} if isinstance(about, str) else about))


def _size(value: Any) -> int:
    """Returns about the bytes of a sample."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    return len(value) if isinstance(value, Sample | str | bytes) else 8
