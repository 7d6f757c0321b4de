"""Datasets of arrays: files of NumPy, HDF5 and Zarr, and their objects. The first axis is rows."""

from __future__ import annotations

import math
import os
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from deeplake._data.array_types import stated, typed
from deeplake._data.files import array_format
from deeplake._data.npy import Found, npy_array, npz_arrays
from deeplake._data.stored import hdf5_arrays, info_of, is_array, open_hdf5, open_zarr, zarr_arrays
from deeplake._errors import CorruptError, Error, InvalidArgumentError, NotFoundError, UnsupportedError
from deeplake._files import check_regular
from deeplake._names import quoted, suggest

_BLOCK = 16 << 20  # bytes that are read together
_BANDS = 256 << 20  # bytes of the chunks that all arrays hold
_ROW = 1 << 30  # bytes of a row, at most
_ITEM = 1 << 10  # bytes that an object, as a text, is expected to have
_MOST = 1 << 17  # rows that are read together
_EMPTY = 1 << 31  # rows without a byte, at most
_OBJECTS = {
    ("numpy", "NpzFile"): "npz",
    ("h5py", "File"): "hdf5",
    ("h5py", "Group"): "hdf5",
    ("h5py", "Dataset"): "hdf5",
    ("zarr", "Group"): "zarr",
    ("zarr", "Array"): "zarr",
}


class _Column(NamedTuple):
    """A tensor to be: an array, or a field of a structured one."""

    name: str
    array: Found
    fields: tuple[str, ...]
    spec: dict[str, Any]
    convert: Callable[[Any, int], Any]  # of values and the row of the first


class Arrays(NamedTuple):
    """The arrays of a source that become tensors.

    Attributes:
        called: the operation, for messages.
        rows: the length of all.
        columns: the tensors.
        info: of the source.
        notes: lines about what is left out.
    """

    called: str
    rows: int
    columns: list[_Column]
    info: dict[str, Any]
    notes: list[str]

    def schema(self) -> dict[str, Any]:
        """Returns the tensors, as `create` takes them."""
        return {column.name: column.spec for column in self.columns}

    def batches(self) -> Iterator[dict[str, Any]]:
        """Yields columns of some rows, about 16 MB together, read in whole chunks."""
        arrays = {id(column.array): column.array for column in self.columns}
        step = max(1, min(_MOST, _BLOCK // max(1, sum(map(_row_bytes, arrays.values())))))
        fitting = max(array.chunk if array.chunk <= step else 1 for array in arrays.values())
        step = step // fitting * fitting
        share = max(_BLOCK, _BANDS // len(arrays))
        bands = {key: _Band(self.called, array, step, share) for key, array in arrays.items()}
        for start in range(0, self.rows, step):
            stop = min(start + step, self.rows)
            blocks = {key: band.rows(start, stop) for key, band in bands.items()}
            batch = {column.name: _values(column, blocks[id(column.array)], start) for column in self.columns}
            del blocks
            yield batch
            del batch


class _Band:
    """Rows of an array that are read ahead, so that each chunk is read once."""

    def __init__(self, called: str, array: Found, step: int, most: int) -> None:
        self.called, self.array = called, array
        whole = -(-step // array.chunk) * array.chunk
        self.step = whole if whole * _row_bytes(array) <= most else step
        self.start = self.stop = 0
        self.values: Any = None

    def rows(self, start: int, stop: int) -> Any:
        """Returns the rows from start to stop, which come in order."""
        parts = []
        while start < stop:
            if start >= self.stop:
                self.values = None
                self.start, self.stop = start, min(start + self.step, self.array.shape[0])
                self.values = self._read(self.start, self.stop)
            end = min(stop, self.stop)
            parts.append(self.values[start - self.start : end - self.start])
            start = end
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _read(self, start: int, stop: int) -> Any:
        try:
            values = np.asarray(self.array.read(start, stop))
        except Error:
            raise
        except Exception as err:
            raise _unread(f'{self.called}: rows {start:,} to {stop:,} of "{self.array.name}"', err) from err
        if len(values) != stop - start:
            raise CorruptError(
                f'{self.called}: "{self.array.name}" gave {len(values):,} rows, want {stop - start:,}; the source has '
                "changed: try again"
            )
        return values


def is_of_arrays(source: Any) -> bool:
    """Returns whether source is an object with arrays: of NumPy, h5py or zarr."""
    return _kind(source) is not None


@contextmanager
def opened(
    source: Any, format: str | None, columns: Sequence[str] | None, schema: Mapping[str, Any]
) -> Iterator[Arrays]:
    """Opens a path or an object with arrays, and checks names, types and lengths of all.

    Raises:
        InvalidArgumentError: names collide or are unknown, or lengths differ.
        TensorTypeError: an array has a type that no tensor holds.
        CorruptError: the file is cut or damaged.
        UnsupportedError: h5py or zarr is not installed, or the file is on a store.
    """
    with ExitStack() as stack:
        called, found, info = _found(source, format, stack)
        arrays: list[Found] = []
        notes: list[str] = []
        try:
            for array in found:
                if isinstance(array, str):
                    notes.append(f"{array} is no array")
                elif not array.shape:
                    notes.append(f'"{array.name or "data"}" has no rows: a single {array.dtype}')
                else:
                    arrays.append(array)
        except Error:
            raise
        except Exception as err:
            raise _unread(called, err) from err
        yield _chosen(called, arrays, columns, schema, info, notes)


def _found(source: Any, format: str | None, stack: ExitStack) -> tuple[str, Iterator[Found | str], dict[str, Any]]:
    """Returns how the operation is called, the arrays of a source, and its attributes."""
    kind = _kind(source)
    if kind is not None:
        if format is not None:
            raise InvalidArgumentError(f'ingest: format is "{format}", and the source is no path; leave it out')
        called, opened_source = f"ingest of a {type(source).__name__}", source.zip if kind == "npz" else source
        if (kind == "npz" and opened_source is None) or (kind == "hdf5" and not source):
            raise InvalidArgumentError(f"{called}: its file is closed; open it again")
    else:
        text = os.fspath(source)
        called, kind = f'ingest "{text}"', array_format(source, format)
        if "://" in text and not text.startswith("file://"):
            other = {"zarr": ", or give a group of zarr.open", "hdf5": ", or give an h5py.File of a file of fsspec"}
            raise UnsupportedError(
                f"{called}: {kind} is read from this machine alone; copy it here first{other.get(kind or '', '')}"
            )
        path = Path(text.removeprefix("file://")).absolute()
        if not path.exists():
            raise NotFoundError(f"{called}: there is no such file or folder on this machine")
        check_regular(called, path)
        try:
            if kind == "npy":
                return called, iter([npy_array(called, path, stack)]), {}
            if kind == "npz":
                opened_source = stack.enter_context(zipfile.ZipFile(path))
            elif kind == "hdf5":
                opened_source = open_hdf5(called, path, stack)
            else:
                opened_source = open_zarr(called, path)
        except Error:
            raise
        except Exception as err:
            raise _unread(called, err) from err
    if kind == "npz":
        return called, npz_arrays(called, opened_source, stack), {}
    arrays = (hdf5_arrays if kind == "hdf5" else zarr_arrays)(called, opened_source)
    try:
        return called, arrays, {} if is_array(opened_source) else info_of(opened_source)
    except Exception as err:
        raise _unread(called, err) from err


def _kind(source: Any) -> str | None:
    for one in type(source).__mro__:
        if (found := _OBJECTS.get((one.__module__.partition(".")[0], one.__name__))) is not None:
            return found
    return None


def _unread(called: str, err: Exception) -> CorruptError:
    text = f"{type(err).__name__}: {err}".strip().rstrip(".")
    plugin = (
        "import hdf5plugin first, or "
        if "plugin" in text or "not registered" in text or "open directory" in text
        else ""
    )
    return CorruptError(f"{called}: cannot be read: {text}; {plugin}check the file, or write it again")


def _chosen(
    called: str,
    arrays: list[Found],
    columns: Sequence[str] | None,
    schema: Mapping[str, Any],
    info: dict[str, Any],
    notes: list[str],
) -> Arrays:
    """Returns the arrays of the columns to take, which have one length."""
    if not arrays:
        raise InvalidArgumentError(f"{called}: it has no array with rows" + "".join(f"; {note}" for note in notes))
    if len(arrays) == 1 and not arrays[0].name:
        named = columns if columns is not None and len(columns) == 1 else list(schema) if len(schema) == 1 else ["data"]
        name = named[0] if arrays[0].dtype.names is None else "data"
        arrays = [arrays[0]._replace(name=name)]
    every: dict[str, tuple[Found, tuple[str, ...], np.dtype[Any], tuple[int, ...]]] = {}
    for array in arrays:
        for fields, dtype, shape in _leaves(array.dtype, array.shape):
            path = "/".join((array.name, *fields))
            name = "/".join(part.lstrip("_") or part.replace("_", "x") for part in path.split("/") if part)
            name = "".join("_" if letter < " " or letter in "\x7f\ufffd" else letter for letter in name)
            if name in every:
                raise InvalidArgumentError(f'{called}: two arrays would be the tensor "{name}"; rename one of them')
            every[name] = (array, fields, dtype, shape)
    wanted = dict.fromkeys(every)
    if columns is not None:
        wanted = dict.fromkeys(name for column in columns for name in _under(called, column.strip("/"), list(every)))
    for name in schema:
        if name not in wanted:
            like = _under(called, name, list(wanted))[0]
            raise InvalidArgumentError(f'{called}: schema names the group "{name}", want its tensors, like "{like}"')
    lengths: dict[int, list[str]] = {}
    for name in wanted:
        lengths.setdefault(every[name][0].shape[0], []).append(name)
    if len(lengths) > 1:
        most = max(lengths.values(), key=len)
        listed = "; ".join(f"{rows:,} rows: {quoted(names[:8])}" for rows, names in lengths.items())
        raise InvalidArgumentError(
            f"{called}: its arrays have different lengths: {listed}; want one length, so take a part: "
            f"columns=[{quoted(most[:8])}], or --columns {','.join(most[:8])}"
        )
    made = [_column(called, name, *every[name], schema.get(name)) for name in wanted]
    for column in made:
        if (size := _row_bytes(column.array)) > _ROW:
            raise InvalidArgumentError(
                f'{called}: a row of "{column.name}" has {size:,} bytes, want at most {_ROW:,}; reshape the array, so '
                "that the first axis counts rows"
            )
        if not size and next(iter(lengths)) > _EMPTY:
            raise InvalidArgumentError(
                f'{called}: "{column.name}" has shape {column.array.shape}: no bytes, and more rows than {_EMPTY:,}'
            )
    return Arrays(called, next(iter(lengths)), made, info, notes)


def _under(called: str, name: str, names: list[str]) -> list[str]:
    """Returns the names that a column stands for: itself, or those of the group of that name."""
    found = [one for one in names if one == name or one.startswith(f"{name}/")]
    if not found:
        raise InvalidArgumentError(
            f'{called}: the source has no column "{name}"{suggest(name, names)}; it has {", ".join(names[:16])}'
        )
    return found


def _leaves(dtype: np.dtype[Any], shape: tuple[int, ...]) -> Iterator[tuple[tuple[str, ...], Any, tuple[int, ...]]]:
    """Yields the fields of a structured dtype, each with its path, dtype and shape."""
    if dtype.subdtype is not None:
        yield from _leaves(dtype.subdtype[0], (*shape, *dtype.subdtype[1]))
    elif dtype.names is None:
        yield (), dtype, shape
    else:
        for name in dtype.names:
            for fields, inner, whole in _leaves(dtype[name], shape):
                yield (name, *fields), inner, whole


def _row_bytes(array: Found) -> int:
    size = _ITEM if array.dtype.hasobject or array.dtype.kind == "T" else array.dtype.itemsize
    return math.prod(array.shape[1:]) * size


def _values(column: _Column, values: Any, start: int) -> Any:
    for field in column.fields:
        values = values[field]
    return column.convert(values, start)


def _column(
    called: str,
    name: str,
    array: Found,
    fields: tuple[str, ...],
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    given: Any,
) -> _Column:
    """Returns the tensor of an array, as `schema` gives it, or as its type makes it."""
    asked = {"htype": given} if isinstance(given, str) else given
    said = stated(array.info, dtype)
    asked = said or None if asked is None else asked
    spec, convert = typed(f'{called}: "{name}"', dtype, len(shape), asked if isinstance(asked, Mapping) else {})
    if info := {key: value for key, value in array.info.items() if key not in said}:
        spec["info"] = info
    if isinstance(asked, Mapping):
        kept = ("info", "class_names") if "htype" in asked or "dtype" in asked else tuple(spec)
        spec = {**{key: spec[key] for key in kept if key in spec}, **asked}
    elif given is not None:
        spec = given  # which create refuses
    return _Column(name, array, fields, spec, convert)


def report(found: Arrays) -> None:
    """Prints what was left out to standard error."""
    for note in found.notes:
        print(f"  left out: {note}", file=sys.stderr)
