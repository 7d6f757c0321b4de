"""The methods of views that choose rows of the same version: filter and split."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from deeplake._data.parts import ends_of, parts_of
from deeplake._data.reading import Reading
from deeplake._errors import InvalidArgumentError, NotFoundError
from deeplake._names import checks_keywords
from deeplake._rows.row import Row, rows_of
from deeplake._rows.source import Source

if TYPE_CHECKING:
    from deeplake._data.view import View
    from deeplake._index import Rows


class Selecting(Reading):
    """The methods of `View` that choose some of its rows."""

    __slots__ = ()

    def filter(self, fn: Callable[[Row], object]) -> View:
        """Returns the rows for which `fn(row)` is true, in order.

        Args:
            fn: called once for each row, in this thread. The tensors that it looks at are read for
                many rows at a time; other tensors are not read.
        """
        if not callable(fn):
            raise InvalidArgumentError(f"filter: fn is a {type(fn).__name__}, want a function of a row")
        fixed = self._select(range(self._source.pinned().length()))
        picked = np.fromiter((bool(fn(row)) for row in rows_of(fixed._source)), np.bool_)
        return fixed._select(np.flatnonzero(picked))

    @overload
    def split(
        self, fractions: Sequence[float] | Sequence[int], *, seed: int | None = 0, stratify: str | None = None
    ) -> list[View]: ...

    @overload
    def split(
        self, fractions: Mapping[str, float] | Mapping[str, int], *, seed: int | None = 0, stratify: str | None = None
    ) -> dict[str, View]: ...

    @checks_keywords
    def split(self, fractions: Any, *, seed: int | None = 0, stratify: str | None = None) -> Any:
        """Returns views of distinct rows, drawn at random, one for each fraction or count.

        Args:
            fractions: positive floats of sum <= 1, or ints, the numbers of rows. Rows beyond their
                sum are in no view. A dict has them by name. [1] is a fraction.
            seed: the seed of the draw, which is the same on every machine. None takes the rows in
                order.
            stratify: a tensor of class labels, integers, bools or text. Each view then has its
                share of the rows of each value, rounded up or down. Holes count as one value.

        Returns:
            A list of views, for a dict a dict. Each view keeps the order of this one.

        Raises:
            InvalidArgumentError: a fraction or count is not positive, or they sum to too much.
            TensorTypeError: `stratify` names a tensor of other values.

        Example:
            parts = ds.split({"train": 0.8, "val": 0.1, "test": 0.1}, seed=7, stratify="labels")
        """
        named = isinstance(fractions, Mapping)
        fixed = self._select(range(self._source.pinned().length()))
        ends = ends_of(list(fractions.values()) if named else fractions, len(fixed))
        views = [fixed._select(rows) for rows in parts_of(fixed._source, ends, seed, stratify)]
        return dict(zip(fractions, views, strict=True)) if named else views

    def _select(self, rows: Rows) -> View:
        raise NotImplementedError


def columns(source: Source, names: Sequence[str]) -> str:
    """Returns the query for tensors by name, where the name of a group stands for all in it.

    Raises:
        NotFoundError: a tensor does not exist.
        InvalidArgumentError: a tensor is named twice.
    """
    known = source.names()
    chosen: list[str] = []
    for name in names:
        inside = [name] if name in known else [other for other in known if other.startswith(f"{name}/")]
        if not inside:
            source.require(name)
            raise NotFoundError(f'"{source.uri}": there is no tensor "{name}"')
        chosen += inside
    if twice := next((name for name in chosen if chosen.count(name) > 1), None):
        raise InvalidArgumentError(f'select tensors: "{twice}" is named twice; name each tensor once')
    doubled = (name.replace('"', '""') for name in chosen)
    return "SELECT " + ", ".join(f'"{name}"' for name in doubled)
