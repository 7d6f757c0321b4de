"""Batches of the core in the requested form: Python transforms, PIL images and collation.

Without any of these a batch is one call of the core, and nothing here sees a sample.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from deeplake import _native
from deeplake._errors import CorruptError, InvalidArgumentError, TensorTypeError
from deeplake._plan import Plan

# Columns that the core adds to say something of the rows.
_MARKS = ("_index", "_source", "_valid")

# The form of a batch without rows: all were left out.
EMPTY = object()

# The columns of a batch by name.
Columns = dict[str, Any]

# Is told of a row that is left out, with its tensor and why.
Skip = Callable[[int, str, Exception], None]


class Host(Protocol):
    """The differences between NumPy and torch."""

    def columns(self, batch: _native.Batch) -> dict[str, Any]:
        """Returns all columns in the host's arrays."""

    def stream(self, epoch: _native.Epoch, position: int) -> _native.Stream | None:
        """Returns the stream of batches that `columns` would make; None if it needs Python."""

    def array(self, array: _native.Array) -> Any:
        """Returns one array of a batch in the host's form."""

    def value(self, value: Any) -> Any:
        """Returns the host's array of an array or number, and any other value as it is."""

    def is_array(self, value: Any) -> bool:
        """Returns whether value is an array of the host."""

    def take(self, array: Any, places: list[int]) -> Any:
        """Returns an array of some rows of one."""

    def stack(self, arrays: list[Any]) -> Any:
        """Returns one array of arrays of the same shape."""

    def pad(self, arrays: list[Any]) -> tuple[Any, Any]:
        """Returns one array with zeros at the end of each axis, and the shapes as int64."""


class NumPy:
    """NumPy as a host."""

    def columns(self, batch: _native.Batch) -> dict[str, Any]:
        return batch.numpy()

    def stream(self, epoch: _native.Epoch, position: int) -> _native.Stream | None:
        return epoch.stream(position)

    def array(self, array: _native.Array) -> Any:
        return array.numpy()

    def value(self, value: Any) -> Any:
        if isinstance(value, bool | int | float | complex | np.ndarray | np.generic):
            return np.asarray(value)
        return np.asarray(value) if hasattr(value, "__array__") or hasattr(value, "__dlpack__") else value

    def is_array(self, value: Any) -> bool:
        return isinstance(value, np.ndarray)

    def take(self, array: Any, places: list[int]) -> Any:
        return array[places]

    def stack(self, arrays: list[Any]) -> Any:
        return np.stack(arrays)

    def pad(self, arrays: list[Any]) -> tuple[Any, Any]:
        shapes = np.array([array.shape for array in arrays], np.int64).reshape(len(arrays), -1)
        padded = np.zeros((len(arrays), *shapes.max(axis=0)), np.result_type(*arrays))
        for i, array in enumerate(arrays):
            corner: Any = (i, *map(slice, array.shape))
            padded[corner] = array
        return padded, shapes


class Assembly:
    """Converts native batches to those of one loader. Several threads may call it."""

    def __init__(self, plan: Plan, host: Host) -> None:
        options = plan.options
        self._host = host
        self._names = plan.names
        self._uri = plan.source.uri
        self._in_python = plan.in_python
        self._pil = {name for name in plan.names if plan.decode(name) == "pil"}
        self._collate = options.collate
        self._return_index = options.return_index
        self._row_transform = plan.recipe.row
        self._steps = plan.recipe.steps
        if self._pil:
            import PIL.Image  # noqa: F401 - a missing Pillow is said at once, not in the first batch

    def __call__(self, batch: _native.Batch, skip: Skip | None = None) -> Any:
        """Returns the batch that the loop receives.

        With `skip` it leaves out rows that cannot be read, and reports each to `skip`. EMPTY means
        that no row is left.
        """
        if not self._in_python:
            return self._host.columns(batch)
        try:
            return self._assemble(batch, skip)
        except StopIteration as err:
            # It would end the epoch without a word.
            raise InvalidArgumentError("load: a transform or collate function raised StopIteration") from err

    def stream(self, epoch: _native.Epoch, position: int) -> _native.Stream | None:
        """Returns the batches of an epoch, from a position, as calls of this give them; None if
        only calls can.
        """
        return None if self._in_python else self._host.stream(epoch, position)

    def _assemble(self, batch: _native.Batch, skip: Skip | None) -> Any:
        raw = batch.columns()
        marks = {name: raw.pop(name).numpy() for name in _MARKS if name in raw and name not in self._names}
        rows = _Rows(marks["_index"], skip)
        if not self._return_index:
            marks = {name: values for name, values in marks.items() if name == "_valid"}
        columns: dict[str, Any] = {}
        for name, column in raw.items():
            if name not in self._in_python:
                columns[name] = _each(column, self._array)
            elif name in self._pil:
                columns[name] = self._images(name, column, rows)
            else:
                columns[name] = _each(column, _sample)
        columns, marks = self._left(columns, marks, rows)
        if rows.emptied:
            return EMPTY
        for name, steps in self._steps.items():
            columns[name] = self._transformed(name, steps, columns[name], rows.index)
        if self._row_transform is None and not callable(self._collate):
            return self._finish(columns, marks, rows)
        samples = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
        if self._row_transform is not None:
            samples = self._transformed("", (self._row_transform,), samples, rows.index)
        if callable(self._collate):
            for name, values in marks.items():
                for sample, value in zip(samples, values.tolist(), strict=True):
                    sample[name] = value
            return self._collate(samples)
        return self._finish(self._columns_of(samples, rows.index), marks, rows)

    def _images(self, name: str, column: Any, rows: _Rows) -> list[Any]:
        """Returns the files of a column as Pillow's images."""
        done: list[Any] = []
        for place, value in enumerate(column):
            image = None
            try:
                image = _each(value, _image)
            except Exception as err:
                # No name for the failure here: its cause knows this frame, and both would keep the
                # batch.
                rows.fail(place, name, self._undecodable(name, rows.index[place], err))
            done.append(image)
        return done

    def _undecodable(self, name: str, row: int, cause: Exception) -> CorruptError:
        failure = CorruptError(
            f'load tensor "{name}": Pillow cannot decode row {row} of "{self._uri}": {cause}; '
            'on_error="skip" of a loader leaves such rows out'
        )
        failure.__cause__ = cause
        return failure

    def _left(self, columns: Columns, marks: Columns, rows: _Rows) -> tuple[Columns, Columns]:
        """Returns columns and marks without the rows that have failed."""
        places = rows.settle()
        if places is None:
            return columns, marks
        columns = {
            name: [column[i] for i in places] if isinstance(column, list) else self._host.take(column, places)
            for name, column in columns.items()
        }
        return columns, {name: values[places] for name, values in marks.items()}

    def _array(self, value: Any) -> Any:
        return value if isinstance(value, bytes) else self._host.array(value)

    def _transformed(
        self, name: str, steps: Sequence[Callable[[Any], Any]], samples: list[Any], index: Any
    ) -> list[Any]:
        """Returns the samples with all steps applied; an error carries the row and the tensor."""
        done: list[Any] = []
        try:
            for sample in samples:
                if sample is not None:
                    for step in steps:
                        sample = step(sample)
                done.append(sample)
        except Exception as err:
            where = f'the transform of tensor "{name}"' if name else "the transform"
            _note(err, f'in {where}, row {index[len(done)]} of "{self._uri}"')
            raise
        return done

    def _columns_of(self, rows: list[Any], index: Any) -> dict[str, Any]:
        """Returns transformed rows as columns again. All rows must have the same keys."""
        for row, number in zip(rows, index, strict=True):
            if not isinstance(row, Mapping):
                raise InvalidArgumentError(
                    f"load: the transform returned a {type(row).__name__} for row {number}, want a dict of samples"
                )
            if row.keys() != rows[0].keys():
                raise InvalidArgumentError(
                    f"load: the transform returned the keys {sorted(row)} for row {number} and {sorted(rows[0])} for "
                    f"row {index[0]}; want the same for every row"
                )
        return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}

    def _finish(self, columns: Columns, marks: Columns, rows: _Rows) -> Any:
        """Collates the samples that Python has changed."""
        touched = self._in_python if self._row_transform is None else columns
        if self._collate != "list":
            for name, column in columns.items():
                if name in touched:
                    _check_holes(name, column, rows)
            columns, marks = self._left(columns, marks, rows)
        if rows.emptied:
            return EMPTY
        done: dict[str, Any] = {}
        for name, column in columns.items():
            if name not in touched:
                done[name] = column
                continue
            values = [self._host.value(value) for value in column]
            if self._collate == "list" or not all(self._host.is_array(value) for value in values) or not values:
                done[name] = values
            elif self._collate == "pad":
                _check_axes(name, values, rows.index)
                done[name], done[f"{name}_shape"] = self._host.pad(values)
            else:
                _check_shapes(name, values, rows.index)
                done[name] = self._host.stack(values)
        return done | {name: self._host.value(values) for name, values in marks.items()}


class _Rows:
    """The rows of a batch, and which of them are to be left out of it."""

    def __init__(self, index: Any, skip: Skip | None) -> None:
        self.index = index  # their numbers
        self._skip = skip
        self._failed: set[int] = set()  # places
        self.emptied = False  # all were left out

    def fail(self, place: int, tensor: str, failure: Exception) -> None:
        """Raises the failure of a row, or notes that the row is to be left out."""
        if self._skip is None:
            raise failure
        if place not in self._failed:
            self._failed.add(place)
            self._skip(int(self.index[place]), tensor, failure)

    def settle(self) -> list[int] | None:
        """Forgets the rows that have failed, and returns the places of the others; None: all are
        left.
        """
        if not self._failed:
            return None
        places = [place for place in range(len(self.index)) if place not in self._failed]
        self.index = self.index[places]
        self._failed.clear()
        self.emptied = not places
        return places


def _each(value: Any, convert: Callable[[Any], Any]) -> Any:
    """Returns a column with `convert` applied to its arrays and bytes, in sequences too."""
    if isinstance(value, list):
        return [_each(item, convert) for item in value]
    if isinstance(value, _native.Array | bytes):
        return convert(value)
    return value


def _sample(value: Any) -> Any:
    """Returns the argument of a transform: a NumPy array, or a scalar without axes."""
    if isinstance(value, bytes):
        return value
    array = value.numpy()
    return array[()] if array.ndim == 0 else array


def _image(data: Any) -> Any:
    import PIL.Image

    if not isinstance(data, bytes):
        return data
    image = PIL.Image.open(io.BytesIO(data))
    image.load()  # here, where an error can name the row, not later in the hands of the user
    return image


def _check_holes(name: str, values: list[Any], rows: _Rows) -> None:
    for place, value in enumerate(values):
        if value is None:
            failure = TensorTypeError(
                f'load tensor "{name}": row {rows.index[place]} has no sample; use collate="list", or select the rows '
                "that have one"
            )
            rows.fail(place, name, failure)


def _check_axes(name: str, values: list[Any], index: Any) -> None:
    for value, row in zip(values, index, strict=True):
        if value.ndim != values[0].ndim:
            raise TensorTypeError(
                f'load tensor "{name}": row {row} has {value.ndim} axes, row {index[0]} has {values[0].ndim}; '
                'use collate="list", or a transform that makes them equal'
            )


def _check_shapes(name: str, values: list[Any], index: Any) -> None:
    for value, row in zip(values, index, strict=True):
        if value.shape != values[0].shape:
            raise TensorTypeError(
                f'load tensor "{name}": row {row} has shape {tuple(value.shape)}, row {index[0]} has '
                f'{tuple(values[0].shape)}; use collate="pad" or "list", or a transform that makes them equal'
            )


def _note(err: BaseException, note: str) -> None:
    if hasattr(err, "add_note"):  # Python 3.11
        err.add_note(note)
