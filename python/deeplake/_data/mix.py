"""Mixtures: several views read as one, with shares."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from deeplake import _native
from deeplake._checks import check_names, check_text, integer
from deeplake._data.view import View
from deeplake._errors import InvalidArgumentError, TensorTypeError
from deeplake._hosts.loadable import Loadable
from deeplake._load.plan import check_real
from deeplake._names import checks_keywords
from deeplake._rows.source import Pinned, Source

if TYPE_CHECKING:
    from deeplake._index import Rows


class MixedSource(Source):
    """The rows of several views, one view after the other. It never changes, and pickles as they
    do.
    """

    marks = ("_source",)

    def __init__(self, parts: list[Pinned], how: Mapping[str, Any], tensors: Sequence[str] | None) -> None:
        self.parts = parts
        self.how = dict(how)
        self.uri = f"mix of {', '.join(part.uri for part in parts)}"
        self.columns = {}
        self._chosen = tensors
        self._description = _agreed(parts, tensors)

    def __reduce__(self) -> tuple[Any, ...]:
        return MixedSource, (self.parts, self.how, self._chosen)

    def pinned(self) -> Pinned:
        # A Pinned as far as loaders are concerned: they ask for no more than there is here.
        return self  # type: ignore[return-value]

    def length(self) -> int:
        return sum(part.length() for part in self.parts)

    def epoch_rows(self) -> int:
        """Returns the number of rows of an epoch, as `how` ends it."""
        with contextlib.closing(self.loader(_single(self._chosen))) as loader:
            return len(loader)

    def tensors(self) -> dict[str, dict[str, Any]]:
        return self._description

    def select(self, rows: Rows) -> MixedSource:
        """Returns some rows, numbered view after view, one view after the other."""
        numbers = np.asarray(rows, np.int64)
        ends = np.cumsum([part.length() for part in self.parts])
        found = np.searchsorted(ends, numbers, side="right")
        picked = [
            part.select(numbers[found == i] - (ends[i] - part.length()))
            for i, part in enumerate(self.parts)
            if (found == i).any()
        ]
        return MixedSource(picked, {"mode": "sequential"}, self._chosen)

    def loader(self, options: Mapping[str, Any], weights: npt.NDArray[np.float64] | None = None) -> _native.Loader:
        """Returns a native loader of the mixture."""
        assert weights is None, "the plan refuses weights of rows"
        return _native_mix(self.parts, self.how, options)


class Mix(Loadable):
    """Several views read as one: the result of `deeplake.mix`. It has the loaders of a view, and
    pickles as views do.
    """

    __slots__ = ("_source",)

    _source: MixedSource

    def __init__(self, source: MixedSource) -> None:
        self._source = source

    def __reduce__(self) -> tuple[Any, ...]:
        return Mix, (self._source,)

    @property
    def views(self) -> list[View]:
        """The views, in the order that "_source" counts."""
        return [View(part) for part in self._source.parts]

    @property
    def tensors(self) -> list[str]:
        """The names of the tensors of a batch."""
        return self._source.names()

    def __len__(self) -> int:
        """Returns the number of rows of an epoch. It depends on `mode`, `weights`, `stop` and
        `length`.
        """
        return self._source.epoch_rows()

    def __repr__(self) -> str:
        mode, weights = self._source.how["mode"], self._source.how["weights"]
        lines = [f"Mix of {len(self._source.parts)} views, mode={mode!r}: {', '.join(self.tensors)}"]
        for i, part in enumerate(self._source.parts):
            share = "" if weights is None else f"weight {weights[i]:g}, "
            lines.append(f"  {i}: {share}{part.length():,} rows of {part.uri}")
        return "\n".join(lines)


@checks_keywords
def mix(
    views: Sequence[View],
    weights: Sequence[float] | None = None,
    *,
    mode: Literal["random", "exact", "sequential"] = "random",
    stop: Literal["first_exhausted", "all_exhausted"] = "first_exhausted",
    length: int | None = None,
    tensors: Sequence[str] | None = None,
) -> Mix:
    """Returns several datasets or views as one, to load together.

    The order is a function of the views, the arguments, the seed and the epoch alone. The speed of
    a store changes the time of a batch, never its content. Each view is shuffled by itself
    (`shuffle=` of the loader), and starts again in a new order once all of its rows have come. If
    an epoch takes a part of a view, the next epoch continues with the rest. Without shuffle every
    epoch starts with the first rows. With `return_index=True` a batch has "_index", the row in its
    dataset, and "_source", int64 of shape (batch,), the position of its view in `views`.

    Args:
        views: datasets or views, which may lie in different stores. The mixture reads them as they
            are at this call.
        weights: the share of each view in the batches: positive numbers of any sum. None takes the
            numbers of rows, so that an epoch is every row of every view once.
        mode: "random" draws the view of each row, with exact shares over every 4,096 rows. "exact"
            alternates as evenly as possible (Sainte-Lague's rule of seats): each batch has its
            shares to within two rows, and exactly if they are whole. "sequential" gives one view
            after the other, without weights.
        stop: the end of an epoch with weights: "first_exhausted" stops before any view repeats a
            row, "all_exhausted" once every row has come.
        length: rows of an epoch, instead of `stop`.
        tensors: names of the tensors to load; None takes those that all views have. Each must have
            the same htype, dtype and class names in all views.

    Raises:
        TensorTypeError: a tensor differs between views. The message names both.
        NotFoundError: a view lacks one of `tensors`.
        InvalidArgumentError: no tensor is common to all views, a view is empty, or weights are not
            positive.

    Example:
        for batch in deeplake.mix([a, b], [0.7, 0.3]).pytorch(batch_size=32, shuffle=True):
            ...
    """
    parts = []
    if not isinstance(views, Sequence):
        raise InvalidArgumentError(f"mix: views is a {type(views).__name__}, want a list of datasets or views")
    for i, view in enumerate(views):
        if not isinstance(view, View):
            raise InvalidArgumentError(f"mix: view {i} is a {type(view).__name__}, want a dataset or a view")
        parts.append(view._source.pinned())
    tensors = check_names("mix", tensors)
    check_text("mix", "mode", mode)
    check_text("mix", "stop", stop)
    if length is not None and ((rows := integer(length)) is None or not 1 <= rows < 1 << 63):
        raise InvalidArgumentError(f"mix: length is {length!r}, want an int of at least 1 or None")
    how = {
        "mode": mode,
        "weights": _shares(weights),
        # The core takes no stop where there is nothing to stop.
        "stop": "" if mode == "sequential" and stop == "first_exhausted" else stop,
        "length": length,
    }
    # The core refuses a bad mixture here, not in the first loader.
    _native_mix(parts, how, _single(tensors)).close()
    return Mix(MixedSource(parts, how, tensors))


def _single(tensors: Sequence[str] | None) -> dict[str, Any]:
    """Returns the options of a loader whose batches are single rows."""
    return {"batch_size": 1, "tensors": None if tensors is None else list(tensors)}


def _native_mix(parts: list[Pinned], how: Mapping[str, Any], options: Mapping[str, Any]) -> _native.Loader:
    labels = [part.uri for part in parts]
    return _native.mix([part.view() for part in parts], {**how, "labels": labels}, options)


def _shares(weights: Any) -> list[float] | None:
    if weights is None:
        return None
    try:
        given = np.asarray(weights)
        check_real(given)
        shares = given.astype(np.float64)
    except (TypeError, ValueError):
        shares = np.zeros((0, 0))
    if shares.ndim != 1 or not np.isfinite(shares).all():
        raise InvalidArgumentError(f"mix: weights is {weights!r}, want one positive number for each view")
    return [float(share) for share in shares]


# The core compares dtypes, sequences and coordinates, since loaders read these. Python compares
# htypes and class names: only the description of a mixture shows them.
def _agreed(parts: list[Pinned], tensors: Sequence[str] | None) -> dict[str, dict[str, Any]]:
    """Returns the descriptions of the tensors that the views have in common."""
    if tensors is None:
        tensors = [name for name in parts[0].tensors() if all(name in part.tensors() for part in parts)]
    names = list(tensors)
    return {name: _joined(name, parts) for name in names}


def _joined(name: str, parts: list[Pinned]) -> dict[str, Any]:
    """Returns the description of a tensor that is true in all views."""
    joined = dict(parts[0].tensors()[name])
    for part in parts[1:]:
        about = part.tensors()[name]
        for what in ("htype", "class_names"):
            ours, theirs = joined[what], about[what]
            if what == "class_names" and (ours is None or theirs is None):
                joined[what] = theirs if ours is None else ours
            elif ours != theirs:
                raise TensorTypeError(
                    f'mix tensor "{name}": {what} is {_short(ours)} in "{parts[0].uri}" and {_short(theirs)} in '
                    f'"{part.uri}"; want the same in all views, or leave it out by tensors='
                )
        turned = (one.get("apply_exif_orientation", False) for one in (joined, about))
        joined["apply_exif_orientation"] = all(turned)
        joined["shape"] = _axes(joined["shape"], about["shape"], lambda a, b: a if a == b else -1)
        joined["min_shape"] = _axes(joined["min_shape"], about["min_shape"], min)
        joined["max_shape"] = _axes(joined["max_shape"], about["max_shape"], max)
    return joined


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:76]} ..."


def _axes(a: Any, b: Any, join: Callable[[int, int], int]) -> list[int] | None:
    """Joins two shapes or bounds axis by axis; None if they have nothing in common."""
    if a is None or b is None or len(a) != len(b):
        return None
    return [join(x, y) for x, y in zip(a, b, strict=True)]
