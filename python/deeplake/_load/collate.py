"""The form that the samples of a tensor have in a batch: `collate=` and `deeplake.pad`."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from deeplake._checks import integer
from deeplake._errors import InvalidArgumentError
from deeplake._names import checks_keywords, quoted, suggest

Mode = Literal["stack", "pad", "list"]

_MODES = ("stack", "pad", "list")


@dataclass(frozen=True)
class Padding:
    """The result of `deeplake.pad`, for `collate=`."""

    value: bool | int | float = 0
    length: int | tuple[int | None, ...] | None = None
    truncate: bool = False

    @property
    def lengths(self) -> tuple[int | None, ...]:
        """The length of each of the first axes; None: the longest of the batch."""
        return self.length if isinstance(self.length, tuple) else (self.length,)

    def __repr__(self) -> str:
        given = [f"{self.value!r}"]
        given += [f"length={self.length!r}"] * (self.length is not None) + ["truncate=True"] * self.truncate
        return f"deeplake.pad({', '.join(given)})"

    def options(self) -> dict[str, Any]:
        """Returns the options of the core."""
        number = int(self.value) if isinstance(self.value, bool) else self.value
        fixed = [] if self.length is None else [axis or 0 for axis in self.lengths]
        return {"value": str(number), "length": fixed, "truncate": self.truncate}

    def shape(self, name: str, shapes: Sequence[Sequence[int]], rows: Sequence[int]) -> list[int]:
        """Returns the shape that arrays grow to.

        Args:
            shapes: of the arrays, which have as many axes each.
            rows: their numbers, for messages.

        Raises:
            InvalidArgumentError: `length` has more axes than the arrays, or an array exceeds it.
        """
        largest = [max(axis) for axis in zip(*shapes, strict=True)]
        if self.length is None:
            return largest
        if len(self.lengths) > len(largest):
            raise InvalidArgumentError(
                f'pad tensor "{name}": row {rows[0]} has shape {tuple(shapes[0])}, and length has {len(self.lengths)} '
                "axes; give a length for each of its axes at most"
            )
        for axis, length in enumerate(self.lengths):
            if length is None:
                continue
            for shape, row in zip(shapes, rows, strict=True):
                if shape[axis] > length and not self.truncate:
                    raise InvalidArgumentError(
                        f'pad tensor "{name}": row {row} has shape {tuple(shape)}, which exceeds the length {length} '
                        f"of axis {axis}; give a larger length, or truncate=True"
                    )
            largest[axis] = length
        return largest


@checks_keywords
def pad(
    value: bool | int | float = 0, *, length: int | Sequence[int | None] | None = None, truncate: bool = False
) -> Padding:
    """Returns a way to pad the samples of a tensor, for `collate={"labels": deeplake.pad(-1)}`.

    A batch then has one array of shape (batch, *padded), and `<name>_shape`, int64 of shape (batch,
    axes): the part of each sample that is no padding. Samples keep their place at the start of
    each axis.

    Args:
        value: the number at the end of each axis. The dtype of the tensor must hold it: NaN needs
            floats, -1 needs signed integers.
        length: the length of the first axis after padding, or that of the first axes, as
            (100, None). None: that of the largest sample of the batch.
        truncate: cut off the end of samples that exceed `length`. Otherwise they are an error.

    Raises:
        InvalidArgumentError: an argument is no number, or a length is less than 1.

    Example:
        ds.pytorch(32, collate={"boxes": deeplake.pad(0.0, length=100, truncate=True)})
    """
    lengths = list(length) if isinstance(length, Sequence) else [length]
    for axis in lengths:
        if axis is not None and ((whole := integer(axis)) is None or not 1 <= whole < 1 << 31):
            raise InvalidArgumentError(f"pad: length is {length!r}, want an int of at least 1, or None, for each axis")
    if not isinstance(truncate, bool):
        raise InvalidArgumentError(f"pad: truncate is {truncate!r}, want True or False")
    if truncate and all(axis is None for axis in lengths):
        raise InvalidArgumentError("pad: truncate is True without a length to cut to; give length as well")
    fixed = tuple(None if axis is None else int(axis) for axis in lengths)
    return Padding(_number(value), fixed if isinstance(length, Sequence) else fixed[0], truncate)


def _number(value: Any) -> bool | int | float:
    """Returns a number of Python, NumPy or torch as one of Python."""
    if isinstance(value, bool):
        return value
    try:
        return operator.index(value)
    except TypeError:
        pass
    try:
        if not isinstance(value, str | bytes | type):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise InvalidArgumentError(f"pad: value is {value!r}, want a number")


@dataclass(frozen=True)
class Form:
    """The form of one tensor."""

    mode: Mode
    padding: Padding | None = None  # of the mode "pad"
    named: bool = False  # given for this tensor: sequences become one array too


class Forms:
    """The forms of all tensors, as `collate=` gives them. It pickles."""

    def __init__(self, collate: Any) -> None:
        self._given = collate if isinstance(collate, Mapping) else {}
        usual = "list" if callable(collate) else "stack" if isinstance(collate, Mapping) else collate
        self.usual = _form(usual, "collate")
        self._named = {name: _form(how, f'collate of tensor "{name}"', named=True) for name, how in self._given.items()}

    def of(self, name: str) -> Form:
        """Returns the form of a tensor."""
        return self._named.get(name, self.usual)

    @property
    def named(self) -> set[str]:
        """The tensors that have a form of their own."""
        return set(self._named)

    def options(self, names: Iterable[str], in_python: set[str]) -> dict[str, Any]:
        """Returns the options of the core.

        Args:
            names: of the loaded tensors.
            in_python: those of which Python takes single samples.
        """
        paddings = {name: self.of(name).padding for name in names if name not in in_python}
        return {
            "collate": self.usual.mode,
            "collate_of": {
                name: "rows" if name in in_python else self.of(name).mode
                for name in names
                if name in in_python or name in self._named
            },
            "padding": {name: padding.options() for name, padding in paddings.items() if padding is not None},
        }

    def check_columns(self, columns: Iterable[str]) -> None:
        """Refuses a form for a column that the batches do not have."""
        for name in self._named:
            if name not in columns:
                raise InvalidArgumentError(
                    f'load: collate names "{name}", which batches do not have (they have {quoted(columns)})'
                    f"{suggest(name, columns)}"
                )


def _form(how: Any, what: str, *, named: bool = False) -> Form:
    if isinstance(how, Padding):
        return Form("pad", how, named)
    if isinstance(how, str) and how in _MODES:
        return Form(how, Padding() if how == "pad" else None, named)  # type: ignore[arg-type]
    if callable(how):
        advice = (
            "; write deeplake.pad(...)"
            if how is pad
            else "; give it as a transform, or collate=callable for the whole batch"
        )
        raise InvalidArgumentError(f'load: {what} is {how!r}, want "stack", "pad", "list" or deeplake.pad(...){advice}')
    wanted = '"stack", "pad", "list"' + (
        " or deeplake.pad(...)" if named else ", deeplake.pad(...), a dict or a callable"
    )
    raise InvalidArgumentError(f"load: {what} is {how!r}, want {wanted}{suggest(how, _MODES)}")


def joined(name: str, value: Any, row: int, form: Form, host: Any) -> Any:
    """Returns a sequence as one array, as the core does for a tensor that `collate` names.

    Args:
        value: any value; all but lists of arrays come back unchanged.
        host: see `deeplake._load.assemble.Host`.
    """
    if not form.named or form.mode == "list" or not isinstance(value, list) or not value:
        return value
    items = [host.value(item) for item in value]
    if not all(host.is_array(item) and item.ndim == items[0].ndim for item in items):
        return value
    shapes = [tuple(item.shape) for item in items]
    if len(set(shapes)) == 1:
        return host.stack(items)
    if form.padding is None:
        raise InvalidArgumentError(
            f'stack tensor "{name}": the items of row {row} have the shapes {shapes}; use "pad" or "list" for it in '
            "collate, or a transform that makes them equal"
        )
    return host.pad(items, [max(axis) for axis in zip(*shapes, strict=True)], form.padding.value)[0]


def check_fill(value: bool | int | float, dtype: Any, limits: tuple[int, int] | None) -> None:
    """Refuses a value of padding that a dtype does not hold.

    Args:
        limits: the least and the largest integer of the dtype; None: it has fractions.
    """
    if limits is not None and not (math.isfinite(value) and value == int(value) and limits[0] <= value <= limits[1]):
        raise ValueError(f"dtype {dtype} does not hold the padding {value!r}")
