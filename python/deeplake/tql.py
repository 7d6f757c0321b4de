"""Functions for queries: built-in ones, and Python functions that a program registers.

from deeplake import tql

tql.register("BRIGHT", lambda images: [image.mean() for image in images])
ds.query("SELECT * WHERE BRIGHT(images) > 128")
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

from deeplake import _native
from deeplake._checks import check_text
from deeplake._errors import AlreadyExistsError, InvalidArgumentError, NotFoundError, TensorTypeError
from deeplake._names import checks_keywords, suggest

__all__ = ["Description", "Each", "each", "functions", "register", "unregister"]

_NUMBERS = ("bool", *(f"{kind}{bits}" for kind in ("uint", "int") for bits in (8, 16, 32, 64)), "float32", "float64")
_TEXTS = {"text": "string", "str": "string", "string": "string"}

_lock = threading.Lock()
_registered: dict[str, Function] = {}


@dataclass(frozen=True)
class Description:
    """The signature and the purpose of a function.

    Attributes:
        name: its name, in capital letters.
        signature: its name with its arguments.
        doc: its purpose, one sentence.
    """

    name: str
    signature: str
    doc: str


@dataclass(frozen=True)
class Each:
    """Values that a parameter takes one after the other; made by `each`."""

    values: npt.NDArray[Any]


def each(values: Any) -> Each:
    """Returns a parameter whose rows the query takes in turn, reading the data once.

    The result has the rows of all runs, one run after the other, each with the same number of rows.
    The query has one SELECT with ORDER BY and LIMIT; the parameter belongs into ORDER BY and the
    results, not into WHERE.

    Args:
        values: an array of shape (queries, ...), or a value that converts to one: 1 to 16,384
            numbers, vectors, or sets of vectors.

    Returns:
        The parameter, for `View.query`.

    Raises:
        InvalidArgumentError: the array has no axis; at the query: it has another form.

    Example:
        text = "SELECT * ORDER BY COSINE_SIMILARITY(embedding, ?) DESC LIMIT 10"
        nearest = ds.query(text, tql.each(vectors))
    """
    if hasattr(values, "detach"):  # torch
        values = values.detach().cpu()
    try:
        array = np.asarray(values)
    except ValueError as err:  # rows of different lengths
        raise InvalidArgumentError(f"each: {err}") from err
    if array.ndim == 0 or array.dtype.kind not in "biuf":
        raise InvalidArgumentError(
            f"each: values are of shape {array.shape} and dtype {array.dtype}, want an array of numbers with an axis"
        )
    return Each(array)


@dataclass(frozen=True)
class Function:
    """A function of the user's, as the core calls it."""

    name: str
    call: Callable[..., Any]
    dtype: str
    shape: tuple[int | None, ...] | None

    def __call__(self, columns: list[Any], rows: int) -> Any:
        """Returns the values of some rows: an array of them, or a list with one for each and None
        for NULL.
        """
        return self._checked(self.call(*columns), rows)

    def failure(self, err: BaseException) -> str:
        """Returns the message of the error that names this function."""
        if isinstance(err, _ResultError):
            return str(err)
        try:
            text = str(err)
        except Exception:
            text = "a message that cannot be made"
        return f'call function "{self.name}": it raised {type(err).__name__}: {text}'

    def _checked(self, values: Any, rows: int) -> Any:
        if hasattr(values, "detach"):  # torch
            values = values.detach().cpu().numpy()
        if isinstance(values, str | bytes | dict) or not hasattr(values, "__len__"):
            raise self._wrong(f"a {type(values).__name__}")
        if isinstance(values, np.ndarray) and values.ndim == 0:
            raise self._wrong("an array without axes")
        if len(values) != rows:
            raise self._wrong(f"{len(values)} values for {rows} rows")
        if self.dtype == "string":
            return self._texts(values)
        if isinstance(values, list | tuple):
            if self.shape is None or None in self.shape or any(value is None for value in values):
                return [None if value is None else self._one(value, row) for row, value in enumerate(values)]
            try:
                values = np.asarray(values)
            except ValueError:
                return [self._one(value, row) for row, value in enumerate(values)]
        values = self._cast(np.asarray(values), "values")
        self._check_shape(values.shape[1:], "rows")
        return values

    def _texts(self, values: Any) -> list[Any]:
        texts = list(values)
        for row, text in enumerate(texts):
            if text is not None and not isinstance(text, str):
                raise self._wrong(f"a {type(text).__name__} in row {row} of those it was given")
        return [None if text is None else str(text) for text in texts]

    def _one(self, value: Any, row: int) -> Any:
        array = self._cast(np.asarray(value), f"row {row} of those it was given")
        self._check_shape(array.shape, f"row {row} of those it was given")
        return array

    def _cast(self, array: Any, where: str) -> Any:
        want = np.dtype(self.dtype)
        # NumPy's rule for values of one kind. There a bool is no int; here it counts as one.
        if not np.can_cast(array.dtype, want, "same_kind") and array.size:
            raise self._wrong(f"dtype {array.dtype} in {where}")
        if want.kind in "iu" and array.dtype.kind in "iu" and array.size:
            holds = np.iinfo(want)
            if int(array.min()) < holds.min or int(array.max()) > holds.max:
                raise self._wrong(f"numbers of {array.min()} to {array.max()} in {where}")
        return np.ascontiguousarray(array, want).reshape(array.shape)

    def _check_shape(self, shape: tuple[int, ...], where: str) -> None:
        wanted = self.shape
        if wanted is not None and (
            len(shape) != len(wanted) or any(w not in (None, s) for s, w in zip(shape, wanted, strict=True))
        ):
            raise self._wrong(f"the shape {shape} in {where}")

    def _wrong(self, got: str) -> _ResultError:
        kind = "str" if self.dtype == "string" else self.dtype
        each = "" if self.shape == () else " of any shape" if self.shape is None else f" of shape {self.shape}"
        return _ResultError(
            f'call function "{self.name}": it returned {got}, want for each row a {kind}{each.replace("None", "any")}'
        )


class _ResultError(TensorTypeError):
    """A function returned values of another type or shape than it was registered with."""


@checks_keywords
def register(
    name: str,
    fn: Callable[..., Any],
    *,
    returns: Any = "float64",
    shape: Sequence[int | None] | None = (),
    overwrite: bool = False,
) -> None:
    """Registers a Python function that queries of this process can call.

    Threads of the core call it with many rows at a time: the rows that the other conditions leave.
    Each argument is a NumPy array of shape (rows, ...) if all samples have one shape and none is
    NULL. Otherwise it is a list with an array for each row, None for NULL. Text is a list of str,
    json a list of Python objects. The function may change the arrays.

    Args:
        name: letters, digits and _, 64 at most. Case does not count.
        fn: returns an array of shape (rows, *shape), or a list with a value for each row, None for
            NULL. Equal arguments must give equal values: a value may be computed twice, or never.
        returns: the dtype of the values, a NumPy name or dtype, or "text".
        shape: the shape of a value: () for numbers, None for an axis that differs between rows.
            None allows any number of axes.
        overwrite: replace a registered function of that name. Existing queries keep the old one.

    Raises:
        AlreadyExistsError: a built-in or registered function has that name.
        InvalidArgumentError: the name is a word of the language, or an argument is wrong.

    Example:
        tql.register("BRIGHT", lambda images: [image.mean() for image in images])
    """
    check_text("register function", "name", name)
    _native.check_function(name)
    name = name.upper()
    if not callable(fn):
        raise InvalidArgumentError(f'register function "{name}": fn is a {type(fn).__name__}, want a callable')
    axes = _axes(name, shape)
    function = Function(name, fn, _dtype(name, returns, axes), axes)
    with _lock:
        if name in _registered and not overwrite:
            raise AlreadyExistsError(f'register function "{name}": it is registered; give overwrite=True to replace it')
        _registered[name] = function


def unregister(name: str) -> None:
    """Removes a registered function. Existing queries keep it.

    Args:
        name: its name, in any case.

    Raises:
        NotFoundError: no function of that name is registered.
    """
    if not isinstance(name, str):
        raise InvalidArgumentError(f"unregister function: name is {name!r}, want a str")
    with _lock:
        if _registered.pop(name.upper(), None) is None:
            raise NotFoundError(
                f'unregister function "{name}": it is not registered{suggest(name.upper(), list(_registered))}'
            )


def functions() -> list[Description]:
    """Returns the functions that queries can call, built-in and registered, by name."""
    known = _native.vocabulary()["functions"]
    built_in = [Description(about["name"], about["signature"], about["doc"]) for about in known]
    with _lock:
        own = list(_registered.values())
    ours = [Description(f.name, f"{f.name}(...)", (f.call.__doc__ or "").strip().partition("\n")[0]) for f in own]
    return sorted([*built_in, *ours], key=lambda about: about.name)


def registered() -> list[Function]:
    """Returns the functions as they are now, for a query."""
    with _lock:
        return list(_registered.values())


def _axes(name: str, shape: Any) -> tuple[int | None, ...] | None:
    if shape is None:
        return None
    try:
        axes = tuple(None if axis is None else -1 if isinstance(axis, bool) else index(axis) for axis in shape)
    except TypeError:
        axes = (-1,)
    if any(axis is not None and axis < 0 for axis in axes) or len(axes) > 32:
        raise InvalidArgumentError(
            f'register function "{name}": shape is {shape!r}, want a tuple of ints >= 0 and None, or None for any'
        )
    return axes


def _dtype(name: str, returns: Any, shape: tuple[int | None, ...] | None) -> str:
    if returns is str or (isinstance(returns, str) and returns in _TEXTS):
        if shape != ():
            raise InvalidArgumentError(f'register function "{name}": returns text, which has no shape; leave it out')
        return "string"
    try:
        dtype = str(np.dtype(returns).name)
    except TypeError:
        dtype = str(returns)
    if dtype not in _NUMBERS:
        wanted = ", ".join([*_NUMBERS, "text"])
        raise InvalidArgumentError(
            f'register function "{name}": returns is {returns!r}, want one of {wanted}{suggest(dtype, _NUMBERS)}'
        )
    return dtype
