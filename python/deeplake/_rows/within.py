"""Values for parts of samples: indices within a sample, and one sample for many rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deeplake._errors import InvalidArgumentError, OutOfRangeError, TensorTypeError
from deeplake._samples.column import Column
from deeplake._samples.frames import is_column
from deeplake._samples.link import Link
from deeplake._samples.sample import Sample

_WORDS = ("string", "json", "bytes")


def within(name: str, value: Any, inner: tuple[Any, ...]) -> Any:
    """Returns `value[inner]` as NumPy has it, in lists, dicts and text too: a list is an axis.

    Args:
        name: of the tensor, for errors.
        value: a sample. A hole stays None.
        inner: the indices, one for each axis.
    """
    if value is None or not inner:
        return value
    try:
        if isinstance(value, np.ndarray | np.generic):
            return np.asarray(value)[inner]
        first, rest = inner[0], inner[1:]
        if isinstance(value, list) and not isinstance(first, int | slice | np.integer):
            raise InvalidArgumentError(
                f'index a sample of tensor "{name}": got {first!r} for a list, want an int or a slice'
            )
        if isinstance(value, list) and isinstance(first, slice):
            return [within(name, item, rest) for item in value[first]]
        return within(name, value[first], rest)
    except (IndexError, KeyError) as err:
        raise OutOfRangeError(f'index a sample of tensor "{name}": {err}') from err
    except (TypeError, ValueError) as err:
        if isinstance(err, InvalidArgumentError):
            raise
        raise InvalidArgumentError(f'index a sample of tensor "{name}" with {inner}: {err}') from err


def spread(name: str, value: Any, rows: int, about: Mapping[str, Any], shape: tuple[int | None, ...] | None) -> Any:
    """Returns a column of samples for some rows of one tensor. One sample is repeated for all rows,
    and a number fills samples of a fixed shape, as NumPy broadcasts.

    Args:
        name: of the tensor, for errors.
        value: a column, which is returned as it is, or one sample.
        rows: how many.
        about: the description of the tensor.
        shape: of its samples; None: they have none, or several numbers of axes.

    Raises:
        TensorTypeError: the value does not broadcast to the shape.
    """
    if isinstance(value, Column) or is_column(value) or (isinstance(value, list | tuple) and _whole(value)):
        return value
    if isinstance(value, list | tuple) and value and all(one is None for one in value):
        return value  # samples: no array has None in it
    if about["sequence"]:
        return [value] * rows if value is None else value
    axes = _axes(value)
    if axes is None or (axes == 0 and (about["dtype"] in _WORDS or shape is None)):
        return [value] * rows
    if about["dtype"] in _WORDS or shape is None or axes > len(shape):
        return value
    if axes == len(shape):
        return [value] * rows
    if None in shape:
        raise TensorTypeError(
            f'update tensor "{name}": the value has {axes} axes and samples have {len(shape)}, of several lengths; '
            "give one sample, or one for each row"
        )
    wanted = tuple(axis or 0 for axis in shape)
    try:
        return np.broadcast_to(np.asarray(value), (rows, *wanted))
    except ValueError:
        raise TensorTypeError(
            f'update tensor "{name}": a value of shape {np.shape(value)} does not broadcast to samples of shape '
            f"{wanted}"
        ) from None


def _whole(values: Sequence[Any]) -> bool:
    """Returns whether the first value is a file or a picture, so that no array is made of them."""
    first = next((value for value in values if value is not None), None)
    return first is not None and not isinstance(first, str | bytes | Mapping) and _axes(first) is None


def _axes(value: Any) -> int | None:
    """Returns the number of axes of a value. None stands for one whole sample without axes: text, a
    dict, a file, a picture of Pillow, a hole.
    """
    if value is None or isinstance(value, str | bytes | Mapping | Sample | Link):
        return None
    if isinstance(value, list | tuple):
        first = next((item for item in value if item is not None), None)
        return 1 + (_axes(first) or 0)
    ndim = getattr(value, "ndim", None)
    if ndim is not None:
        return int(ndim)
    if isinstance(value, bool | int | float | complex):
        return 0
    # A range and the like are columns; the objects of files and pictures have no length.
    return 1 if hasattr(value, "__len__") else None
