"""The rows of the parts of a split: their numbers, the draw, the strata."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from deeplake._checks import check_floats, integer
from deeplake._errors import InvalidArgumentError, TensorTypeError
from deeplake._rows.source import Source
from deeplake._rows.tensor import Tensor


def ends_of(given: Any, length: int) -> list[int]:
    """Returns where each part ends among `length` rows in the order of the draw, after a 0.

    Args:
        given: fractions of sum <= 1, or ints, the numbers of rows. Ints of sum 1 are fractions.
    """
    parts = check_floats("split", "fractions", given)
    counts = all(isinstance(part, int | np.integer) and not isinstance(part, bool) for part in given)
    if not parts or not all(isfinite(part) and part > 0 for part in parts):
        raise InvalidArgumentError(f"split: fractions are {list(given)}, want positive numbers")
    if counts and sum(parts) != 1:
        if sum(parts) > length:
            raise InvalidArgumentError(f"split: counts are {list(given)}, want at most {length}, the number of rows")
        return [int(end) for end in np.cumsum([0, *(int(part) for part in given)])]
    if sum(parts) > 1 + 1e-9:
        raise InvalidArgumentError(f"split: fractions are {list(given)}, want positive ones of sum <= 1, or ints")
    return [round(end * length) for end in np.minimum(np.cumsum([0.0, *parts]), 1.0)]


def parts_of(
    source: Source, ends: Sequence[int], seed: int | None, stratify: str | None
) -> list[npt.NDArray[np.int64]]:
    """Returns the rows of each part, in order.

    Args:
        ends: of the parts, as of `ends_of`.
        seed: of the draw; None takes the rows in order.
        stratify: the tensor of which each part gets its share of every value; None draws at random.
    """
    if seed is not None and ((number := integer(seed)) is None or not 0 <= number < 1 << 32):
        raise InvalidArgumentError(f"split: seed is {seed!r}, want an int of 0 to 2**32 - 1, or None")
    length = source.length()
    # RandomState, because NumPy promises that its draws never change.
    order = np.arange(length) if seed is None else np.random.RandomState(seed).permutation(length)
    if stratify is not None:
        order = _stratified(order, _strata(source, stratify)[order], ends)
    return [np.sort(order[start:end]).astype(np.int64) for start, end in pairwise(ends)]


def _strata(source: Source, name: str) -> npt.NDArray[np.int64]:
    """Returns a number for each row, the same for equal values. Holes are equal."""
    values = Tensor(source, name).numpy()
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "biu":
        return values.astype(np.int64)
    known = {value for value in values if value is not None} if _plain(values) else None
    if known is None:
        raise TensorTypeError(
            f'split: stratify names tensor "{name}", whose samples are no single labels; want class labels, integers, '
            "bools or text"
        )
    numbers: dict[Any, int] = {value: number for number, value in enumerate(known)}
    return np.array([numbers.get(value, len(numbers)) for value in values], np.int64)


def _plain(values: Any) -> bool:
    """Returns whether samples are integers or bools, or text, beside holes."""
    kinds = (int, bool, np.integer, np.bool_)
    known = [value for value in values if value is not None]
    return all(isinstance(value, str) for value in known) or all(isinstance(value, kinds) for value in known)


def _stratified(
    order: npt.NDArray[np.int64], strata: npt.NDArray[np.int64], ends: Sequence[int]
) -> npt.NDArray[np.int64]:
    """Returns rows in the order of parts of the same sizes, each with its share of every stratum.

    The rows stand by stratum in one line, and the parts take their places in it by Sainte-Lague's
    rule of seats. So every part has its exact size, and each stratum is shared to one row or two.
    """
    # Numbered as they come, so that names and numbers of the same classes give the same parts.
    _, first, number_of = np.unique(strata, return_index=True, return_inverse=True)
    strata = np.argsort(np.argsort(first))[number_of]
    length = len(order)
    sizes = np.diff([*ends, length])  # the last part is that of the rows in no view
    part = np.repeat(np.arange(len(sizes)), sizes)
    number = np.arange(length) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    seats = part[np.argsort((number + 0.5) / np.repeat(np.maximum(sizes, 1), sizes), kind="stable")]
    by_stratum = np.argsort(strata, kind="stable")
    # Within a stratum the first drawn rows belong to the first part, as without strata.
    inside = np.lexsort((seats, strata[by_stratum]))
    return order[by_stratum][np.argsort(seats[inside], kind="stable")]
