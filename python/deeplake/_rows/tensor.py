"""Tensors: the named columns of a dataset or a view, and the groups that their names form."""

from __future__ import annotations

import builtins
import copy
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, overload

import numpy as np
import numpy.typing as npt

from deeplake import _index
from deeplake._checks import check_choice
from deeplake._errors import ForkedError, InvalidArgumentError, OutOfRangeError, TensorTypeError
from deeplake._index import Rows
from deeplake._rows.row import sample
from deeplake._rows.source import Source
from deeplake._rows.within import within
from deeplake._samples.column import numpy_time
from deeplake._text import printable

_UNSHAPED = ("string", "json", "bytes")


def _refused(sign: str) -> Any:
    """Returns a comparison that raises: it would have to read the tensor, and hide that."""

    def compare(self: Tensor, other: object) -> NoReturn:
        shown = repr(other) if isinstance(other, bool | int | float | str) else "..."
        name, asked = self.name, "=" if sign == "==" else sign
        raise TensorTypeError(
            f'compare tensor "{name}" by {sign}: a tensor has no comparison of its own; find rows by ds.query("SELECT '
            f'* WHERE {name} {asked} {shown}") or ds.filter(lambda row: row["{name}"] {sign} {shown}), or compare the '
            f'samples, ds["{name}"][:]'
        )

    return compare


class Tensor:
    """One tensor of a dataset or a view: `ds["images"]`.

    A tensor of a dataset follows its changes; a tensor of a view is fixed. `tensor[i]` is a sample.
    `tensor[a:b]`, `tensor[[...]]` and `tensor[mask]` return these rows as `numpy()` does. Further
    indices apply to the axes of the samples: `tensor[0, :10, :10]`. `tensor[i] = sample` writes.
    """

    # Results like `str | Any` are None in rare cases, which the docstrings name: type checkers then
    # do not ask for a check that most programs do not need.
    __slots__ = ("_columns", "_name", "_source")

    def __init__(self, source: Source, name: str) -> None:
        self._source = source
        self._name = name
        self._columns = source.columns

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._source, self._name)

    @property
    def name(self) -> str:
        """The full name, with its groups."""
        return self._name

    @property
    def htype(self) -> str:
        """The meaning of the samples: "image", "class_label", "sequence[bbox]" and so on."""
        return str(self._about()["htype"])

    @property
    def dtype(self) -> str | Any:
        """The type of an element: its NumPy name, "string", "json" or "bytes"; of times what they
        count, like "timestamp[us, UTC]". None before the first sample.
        """
        about = self._about()
        return about.get("time") or about["dtype"] or None

    @property
    def shape(self) -> tuple[int | Any, ...] | Any:
        """The shape of a sample, None for an axis that varies.

        None stands for no shape: for text and the like, for arrays whose number of axes varies, and
        for an empty tensor that was created without one.
        """
        return shape_of(self._about())

    @property
    def compression(self) -> str:
        """How samples are stored: "none", "lz4", "zstd", "shuffle", "jpeg", "png" or "webp"."""
        return str(self._about()["compression"])

    @property
    def class_names(self) -> list[str] | Any:
        """The names of classes 0, 1 and so on of a class_label or segment_mask; else None."""
        names = self._about()["class_names"]
        return None if names is None else list(names)

    @property
    def info(self) -> Mapping[str, Any]:
        """The user's description of the tensor, as given to `create_tensor`; a copy, read-only."""
        return MappingProxyType(copy.deepcopy(self._about()["info"]))

    @overload
    def numpy(self, rows: Any = None, *, ragged: Literal["pad"]) -> npt.NDArray[Any]: ...
    @overload
    def numpy(self, rows: Any = None, *, ragged: Literal["list"] = "list") -> npt.NDArray[Any] | Any: ...
    def numpy(self, rows: Any = None, *, ragged: Literal["list", "pad"] = "list") -> Any:
        """Reads samples into memory.

        Args:
            rows: a slice, ints in any order with repeats allowed, or a boolean mask. None reads all
                rows.
            ragged: the form of a tensor whose `shape` varies: "list" gives n arrays; "pad" gives
                one array with zeros at the end of each axis.

        Returns:
            An array of shape (n, *sample_shape) in C order if all samples of the tensor have one
            shape and no row is a hole. Otherwise, and for text, json, bytes and sequences, a list
            of n samples, None for a hole. No rows are an array of shape (0, ...).

        Raises:
            OutOfRangeError: an index is outside of [-len, len).
            CorruptError: stored bytes are damaged. Nothing is returned.
        """
        check_choice(f'read tensor "{self._name}"', "ragged", ragged, ("list", "pad"))
        length = self._source.length()
        picked = range(length) if rows is None else _index.parse(rows, length)
        if isinstance(picked, int):
            picked = range(picked, picked + 1)
        return self._read(picked, ragged)

    @overload
    def bytes(self, rows: int) -> builtins.bytes | Any: ...
    @overload
    def bytes(self, rows: Any) -> list[builtins.bytes | Any]: ...
    def bytes(self, rows: Any) -> Any:
        """Returns samples as they are stored, without decoding: a JPEG file, the memory of an
        array, text as UTF-8.

        Args:
            rows: an int gives one `bytes`; a slice, ints or a boolean mask give a list.

        Returns:
            The bytes, None in place of a hole.

        Raises:
            OutOfRangeError: an index is outside of [-len, len).
        """
        if type(rows) is int:
            try:
                return self._columns[self._name].bytes(rows)
            except (KeyError, OutOfRangeError, ForkedError):
                pass  # not open yet, or in this process; or it counts from the end
        return self._bytes(rows)

    def _bytes(self, rows: Any) -> Any:
        picked = _index.parse(rows, self._source.length())
        column = self._source.column(self._name)
        if isinstance(picked, int):
            return column.bytes(picked)
        return column.bytes_many(_index.as_array(picked))

    if not TYPE_CHECKING:  # which would take every name as known

        def __getattr__(self, name: str) -> Any:
            """Returns what other libraries call so, or says what to write here."""
            from deeplake._neighbours import tensor_attribute

            return tensor_attribute(self, name)

    def __len__(self) -> int:
        return self._source.length()

    def __iter__(self) -> Iterator[Any]:
        for row in range(len(self)):
            yield self[row]

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Reads all rows for `numpy.asarray`. Samples of several shapes are objects."""
        if copy is False:
            raise InvalidArgumentError(f'convert tensor "{self._name}": its samples are read, which makes a copy')
        values = self.numpy()
        if isinstance(values, np.ndarray):
            return values if dtype is None else values.astype(dtype)
        out = np.empty(len(values), object)
        for row, value in enumerate(values):
            out[row] = value
        return out if dtype is None else out.astype(dtype)

    # Tensors are keys of sets and dicts by identity.
    __hash__ = object.__hash__
    __eq__ = _refused("==")
    __ne__ = _refused("!=")
    __lt__ = _refused("<")
    __le__ = _refused("<=")
    __gt__ = _refused(">")
    __ge__ = _refused(">=")

    def __getitem__(self, index: Any) -> Any:
        inner: tuple[Any, ...] = ()
        if type(index) is tuple and index:
            index, inner = index[0], index[1:]
            if index is Ellipsis:
                index, inner = slice(None), (Ellipsis, *inner)
        elif index is Ellipsis:
            index = slice(None)
        picked = _index.parse(index, self._source.length())
        if isinstance(picked, int):
            source = self._source.pinned_for(self._name, picked)
            value = source.read(_index.as_array(range(picked, picked + 1)), self._name, "list")[0]
            return sample(within(self._name, value, inner))
        values = self._read(picked, "list")
        if not inner:
            return values
        if isinstance(values, np.ndarray):
            return within(self._name, values, (slice(None), *inner))
        return [sample(within(self._name, value, inner)) for value in values]

    def __setitem__(self, index: Any, value: Any) -> None:
        """Replaces samples. For several rows, `value` is one sample for all, or one for each."""
        if isinstance(index, tuple):
            raise InvalidArgumentError(
                f'write tensor "{self._name}": an index within a sample is for reading; read the sample, change it, '
                "and write the whole"
            )
        picked = _index.parse(slice(None) if index is Ellipsis else index, self._source.length())
        if isinstance(picked, int):
            self._source.update(range(picked, picked + 1), {self._name: [value]})
        else:
            self._source.update(picked, self._source.spread({self._name: value}, len(picked)))

    def __repr__(self) -> str:
        about = self._about()
        text = f'Tensor("{self._name}", htype="{about["htype"]}", dtype={self.dtype}'
        text += f", rows={len(self)}, shape={shape_text(about)}"
        if about["class_names"] is not None:
            text += f", classes={len(about['class_names'])}"
        if levels := about.get("levels"):
            text += f", downsample=({levels[0]['factor']}, {len(levels)})"
        if about.get("apply_exif_orientation"):
            text += ", apply_exif_orientation=True"
        return printable(f'{text}, compression="{about["compression"]}")')

    def _about(self) -> dict[str, Any]:
        return self._source.require(self._name)

    def _read(self, rows: Rows, ragged: str) -> npt.NDArray[Any] | list[Any]:
        about = self._about()
        wanted = _index.as_array(rows)
        shape = shape_of(about)
        if about["sequence"] or about["dtype"] in _UNSHAPED or not about["dtype"]:
            values: list[Any] = self._source.read(wanted, self._name, "list")
            return [sample(value) for value in values]
        if not len(wanted) and about["dtype"] != "bfloat16":
            kind = numpy_time(about["time"]) if about.get("time") else about["dtype"]
            return np.empty((0, *(axis or 0 for axis in shape or ())), kind)
        if ragged == "pad":
            return self._source.read(wanted, self._name, "pad")  # type: ignore[no-any-return]
        if shape is not None and None not in shape:
            try:
                array, holes = self._source.read_marked(wanted, self._name)
            except TensorTypeError:
                pass  # few rows, and one is a hole
            else:
                if holes is None:
                    return array  # type: ignore[no-any-return]
                return [None if hole else value for value, hole in zip(array, holes.tolist(), strict=True)]
        values = self._source.read(wanted, self._name, "list")
        return [sample(value) for value in values]


class Group(Mapping[str, "Tensor | Group"]):
    """The tensors whose names begin with `group/`, by the rest of their names:
    `ds["left"]["images"]`.
    """

    def __init__(self, source: Source, prefix: str) -> None:
        self._source = source
        self._prefix = prefix

    @property
    def name(self) -> str:
        """The full name of the group."""
        return self._prefix

    def __getitem__(self, name: str) -> Tensor | Group:
        return find(self._source, f"{self._prefix}/{name}")

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name.split("/", 1)[0] for name in self._inside()))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __repr__(self) -> str:
        return printable(f'Group("{self._prefix}": {", ".join(self)})')

    def _inside(self) -> list[str]:
        start = f"{self._prefix}/"
        return [name[len(start) :] for name in self._source.names() if name.startswith(start)]


def find(source: Source, name: str) -> Tensor | Group:
    """Returns the tensor or group of that name. Raises NotFoundError, which offers the nearest."""
    tensors = source.names()
    if name in tensors:
        return Tensor(source, name)
    if any(other.startswith(f"{name}/") for other in tensors):
        return Group(source, name)
    return Tensor(source, source.require(name)["name"])  # raises


def shape_of(about: Mapping[str, Any]) -> tuple[int | None, ...] | None:
    """Returns the shape of a tensor's samples as the user sees it, from its description."""
    if about["dtype"] in _UNSHAPED:
        return None
    low, high = about.get("min_shape"), about.get("max_shape")
    if low is not None and high is not None:
        if len(low) != len(high):
            return None
        return tuple(a if a == b else None for a, b in zip(low, high, strict=True))
    stated: Sequence[int | None] | None = about["shape"]
    return None if stated is None else tuple(None if axis is None or axis < 0 else axis for axis in stated)


def shape_text(about: Mapping[str, Any]) -> str:
    """Returns the shape for people: (250..500, 250, 3)."""
    low, high = about.get("min_shape"), about.get("max_shape")
    if about["dtype"] in _UNSHAPED:
        return "-"
    if low is None or high is None or len(low) != len(high):
        shape = shape_of(about)
        return "any" if shape is None else str(shape).replace("None", "?")
    axes = [str(a) if a == b else f"{a}..{b}" for a, b in zip(low, high, strict=True)]
    return f"({', '.join(axes)}{',' if len(axes) == 1 else ''})"
