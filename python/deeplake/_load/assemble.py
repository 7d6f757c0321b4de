"""Batches of the core in the requested form: collation of the results of Python steps.

Without such steps a batch is one call of the core, and nothing here sees a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from deeplake import _native
from deeplake._errors import Error, TensorTypeError
from deeplake._load.collate import Form, check_fill, joined
from deeplake._load.plan import Plan
from deeplake._load.steps import Accept, Made, Rows, Skip
from deeplake._samples.column import timed

# Columns that the core adds to say something of the rows.
MARKS = ("_index", "_source", "_valid")

# The form of a batch without rows: all were left out.
EMPTY = object()

# The columns of a batch by name.
Columns = dict[str, Any]


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

    def pad(self, arrays: list[Any], shape: Sequence[int], value: bool | int | float) -> tuple[Any, Any]:
        """Returns one array of arrays that grow to a shape, or are cut to it, and the sizes of
        their parts of it as int64.

        Raises:
            ValueError: the common dtype does not hold the value.
        """


class NumPy:
    """NumPy as a host.

    Args:
        times: what the int64 numbers of tensors count, which become datetime64 or timedelta64.
    """

    def __init__(self, times: Mapping[str, str] | None = None) -> None:
        self._times = times or {}

    def columns(self, batch: _native.Batch) -> dict[str, Any]:
        columns = batch.numpy()
        return columns | {name: timed(columns[name], time) for name, time in self._times.items() if name in columns}

    def stream(self, epoch: _native.Epoch, position: int) -> _native.Stream | None:
        return None if self._times else epoch.stream(position)

    def array(self, array: _native.Array) -> Any:
        return array.numpy()

    def value(self, value: Any) -> Any:
        if isinstance(value, bool | int | float | complex | np.ndarray | np.generic):
            return np.asarray(value)
        if hasattr(value, "detach"):  # of torch, which may need a gradient or be conjugated
            return _of_torch(value)
        return np.asarray(value) if hasattr(value, "__array__") or hasattr(value, "__dlpack__") else value

    def is_array(self, value: Any) -> bool:
        return isinstance(value, np.ndarray)

    def take(self, array: Any, places: list[int]) -> Any:
        return array[places]

    def stack(self, arrays: list[Any]) -> Any:
        return np.stack(arrays)

    def pad(self, arrays: list[Any], shape: Sequence[int], value: bool | int | float) -> tuple[Any, Any]:
        dtype = np.result_type(*arrays)
        check_fill(value, dtype, _limits(dtype))
        padded = np.zeros((len(arrays), *shape), dtype)
        if value:
            padded.fill(value)
        sizes = np.array([array.shape for array in arrays], np.int64).reshape(len(arrays), -1)
        shapes = np.minimum(sizes, np.asarray(shape, np.int64))
        for i, array in enumerate(arrays):
            corner: Any = tuple(map(slice, shapes[i]))
            place: Any = (i, *corner)
            padded[place] = array[corner]
        return padded, shapes


def _limits(dtype: np.dtype[Any]) -> tuple[int, int] | None:
    """Returns the least and the largest integer of a dtype; None: it has fractions."""
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    return None if dtype.kind in "fc" else (0, int(dtype.kind == "b"))  # text and times have a zero alone


def _of_torch(tensor: Any) -> Any:
    """Returns a tensor as an array; itself if NumPy has no such array."""
    plain = tensor.detach().cpu()
    try:
        return np.asarray(plain.resolve_conj().resolve_neg())
    except (RuntimeError, TypeError, NotImplementedError):
        return tensor


class Assembly:
    """Converts native batches to those of one loader. Several threads may call it."""

    def __init__(self, plan: Plan, host: Host) -> None:
        options = plan.options
        self._host = host
        self._names = plan.names
        self._in_python = plan.in_python
        self._forms = plan.forms
        self._return_index = options.return_index
        self._documents = {name for name in plan.names if plan.source.require(name)["dtype"] == "json"}
        self.steps = plan.steps
        if self.steps.pil:
            import PIL.Image  # noqa: F401 - a missing Pillow is said at once, not in the first batch

    def __call__(
        self, batch: _native.Batch, skip: Skip | None = None, accept: Accept | None = None, epoch: int | None = None
    ) -> Any:
        """Returns the batch that the loop receives.

        With `skip` it leaves out rows that cannot be read, and reports each to `skip`. EMPTY means
        that no row is left. Rows whose damage is accepted are reported to `accept`. With an epoch,
        the random numbers of callables are those of the row.
        """
        if not self._in_python:
            return self._host.columns(batch)
        raw = batch.columns()
        marks = {name: raw[name].numpy() for name in MARKS if name in raw and name not in self._names}
        own = {name: _each(column, _sample) for name, column in raw.items() if name in self._in_python}
        if epoch is None:
            made = self.steps.run(own, marks, None, skip, accept)
        else:
            with self.steps.generators:
                made = self.steps.run(own, marks, epoch, skip, accept)
        return self._finished(raw, marks, made, {}, skip)

    def finished(self, batch: _native.Batch, made: Made, placed: dict[str, _native.Array], skip: Skip | None) -> Any:
        """Returns the batch that the loop receives, with the results of workers: see
        `_workers.pipeline.Finish`.
        """
        raw = batch.columns()
        marks = {name: raw[name].numpy() for name in MARKS if name in raw and name not in self._names}
        return self._finished(raw, marks, made, placed, skip)

    def stream(self, epoch: _native.Epoch, position: int) -> _native.Stream | None:
        """Returns the batches of an epoch, from a position, as calls of this give them; None if
        only calls can.
        """
        return None if self._in_python else self._host.stream(epoch, position)

    def _finished(
        self, raw: Columns, marks: Columns, made: Made, placed: dict[str, _native.Array], skip: Skip | None
    ) -> Any:
        if made.places == []:
            return EMPTY
        if made.collated:
            return made.value
        index = marks["_index"]
        marks = {name: values for name, values in marks.items() if name == "_valid" or self._return_index}
        if self.steps.row is None:
            columns: Columns = {}
            for name, column in raw.items():
                if name in made.columns:
                    columns[name] = made.columns[name]
                elif name not in marks and name not in MARKS:
                    columns[name] = _each(column, self._array)
        else:
            columns = dict(made.columns)
        untouched = {name: column for name, column in columns.items() if not self._is_made(name)}
        if made.places is not None:
            taken, marks = self._taken(untouched, marks, made.places)
            columns |= taken
            index = index[made.places]
        return self._finish(columns, marks, placed, Rows(index, skip))

    def _is_made(self, name: str) -> bool:
        return self.steps.row is not None or name in self._in_python

    def _taken(self, columns: Columns, marks: Columns, places: list[int]) -> tuple[Columns, Columns]:
        """Returns columns and marks of some rows."""
        columns = {
            name: [column[i] for i in places] if isinstance(column, list) else self._host.take(column, places)
            for name, column in columns.items()
        }
        return columns, {name: values[places] for name, values in marks.items()}

    def _array(self, value: Any) -> Any:
        return value if isinstance(value, bytes) else self._host.array(value)

    def _finish(self, columns: Columns, marks: Columns, placed: dict[str, _native.Array], rows: Rows) -> Any:
        """Collates the samples that Python has changed."""
        self._forms.check_columns(columns)
        for name, column in columns.items():
            made = name not in placed and self._is_made(name) and isinstance(column, list)
            if made and self._forms.of(name).mode != "list":
                _check_holes(name, column, rows)
        places = rows.settle()
        if rows.emptied:
            return EMPTY
        if places is not None:
            columns, marks = self._taken(
                {name: self._host.array(placed[name]) if name in placed else columns[name] for name in columns},
                marks,
                places,
            )
            placed = {}
        done: dict[str, Any] = {}
        for name, column in columns.items():
            if name in placed:
                self._placed(name, self._host.array(placed[name]), rows, done)
            elif not self._is_made(name):
                done[name] = column
            elif not isinstance(column, list):
                done[name] = self._host.value(column)
            else:
                self._collated(name, column, rows, done)
        return done | {name: self._host.value(values) for name, values in marks.items()}

    def _placed(self, name: str, array: Any, rows: Rows, done: Columns) -> None:
        """Adds the columns of a tensor whose samples lie one behind the other."""
        form = self._forms.of(name)
        if form.mode == "list" or (form.padding is not None and form.padding.length is not None):
            self._collated(name, [array[i, ...] for i in range(len(array))], rows, done)
            return
        done[name] = array
        if form.mode == "pad":
            shapes = np.array([array.shape[1:]] * len(array), np.int64).reshape(len(array), -1)
            done[f"{name}_shape"] = self._host.value(shapes)

    def _collated(self, name: str, values: list[Any], rows: Rows, done: Columns) -> None:
        """Adds the columns of a tensor: one, or with "pad" two."""
        if name in self._documents:
            done[name] = values
            return
        form = self._forms.of(name)
        if form.named:
            values = [joined(name, value, row, form, self._host) for value, row in zip(values, rows.index, strict=True)]
        done[name], shapes = self._joined(name, values, rows, form)
        if shapes is not None:
            done[f"{name}_shape"] = shapes

    def _joined(self, name: str, values: list[Any], rows: Rows, form: Form) -> tuple[Any, Any]:
        """Returns one value of the values of all rows, and with "pad" the shapes of its arrays.

        Arrays and numbers become one array. Dicts, tuples and named tuples of one structure become
        one of such arrays, as by torch's default_collate. Everything else stays a list.
        """
        parts = _parts(values) if form.mode != "list" else None
        if parts is not None:
            inner = {key: self._joined(f"{name}[{key!r}]", part, rows, form) for key, part in parts.items()}
            if any(not isinstance(value, list) for value, _ in inner.values()):
                shapes = {key: shape for key, (_, shape) in inner.items() if shape is not None}
                return _of_kind(values[0], [value for value, _ in inner.values()], parts), shapes or None
            return values, None
        values = [self._host.value(value) for value in values]
        if form.mode == "list" or not values or not all(self._host.is_array(value) for value in values):
            return values, None
        try:
            if form.padding is not None:
                _check_axes(name, values, rows.index)
                shape = form.padding.shape(name, [value.shape for value in values], rows.index.tolist())
                return self._host.pad(values, shape, form.padding.value)
            _check_shapes(name, values, rows.index)
            return self._host.stack(values), None
        except (RuntimeError, TypeError, ValueError, NotImplementedError) as err:
            if isinstance(err, Error):
                raise
            raise TensorTypeError(
                f'load tensor "{name}": its samples cannot be joined to a batch: {err}; use collate="list"'
            ) from err


def _parts(values: list[Any]) -> dict[Any, list[Any]] | None:
    """Returns the parts of dicts with the same keys, or of tuples of one type and length; None of
    other values.
    """
    first = values[0] if values else None
    if not isinstance(first, Mapping | tuple) or not first:
        return None
    if isinstance(first, tuple):
        same = all(type(value) is type(first) and len(value) == len(first) for value in values)
        return {at: [value[at] for value in values] for at in range(len(first))} if same else None
    same = all(isinstance(value, Mapping) and value.keys() == first.keys() for value in values)
    return {key: [value[key] for value in values] for key in first} if same else None


def _of_kind(first: Any, values: list[Any], parts: Iterable[Any]) -> Any:
    """Returns values as a dict with the keys of `parts`, a named tuple like first, or a list."""
    if isinstance(first, Mapping):
        return dict(zip(parts, values, strict=True))
    return type(first)(*values) if hasattr(first, "_fields") else values


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


def _check_holes(name: str, values: list[Any], rows: Rows) -> None:
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
