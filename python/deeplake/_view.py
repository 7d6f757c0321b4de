"""Views: rows of one version of a dataset, and the reading half that views and datasets share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from math import isfinite
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
import numpy.typing as npt

from deeplake import _index, _row, _tensor
from deeplake._errors import InvalidArgumentError
from deeplake._index import Rows
from deeplake._loadable import Decode, Loadable, Transform
from deeplake._names import checks_keywords
from deeplake._plan import Options
from deeplake._row import Row
from deeplake._source import Source
from deeplake._tensor import Group, Tensor
from deeplake._text import printable, table

if TYPE_CHECKING:
    from deeplake._dataset import Dataset
    from deeplake._query import Explanation
    from deeplake._result import QueryView
    from deeplake._storage import Storage
    from deeplake._torch import MapDataset


class View(Loadable):
    """Rows of a dataset, in an order: what `ds[a:b]`, `ds[[3, 1]]`, `ds[mask]`, `filter` and `split` return.

    A view reads one version for ever: later writes to the dataset do not change it. It is small, and pickles as
    (uri, commit, selection), so it can be handed to other processes.
    """

    __slots__ = ("__weakref__", "_source", "_tensors")

    def __init__(self, source: Source) -> None:
        self._source = source
        self._tensors: dict[str, Tensor] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return View, (self._source,)

    @property
    def uri(self) -> str:
        """Where the dataset lies: an absolute path or a URI."""
        return self._source.uri

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The tensors by their full names, in order of creation."""
        return {name: Tensor(self._source, name) for name in self._source.tensors()}

    @property
    def schema(self) -> dict[str, dict[str, Any]]:
        """What each tensor was created with, as `deeplake.create(schema=...)` takes it."""
        return {name: _stated(about) for name, about in self._source.tensors().items()}

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """For each row its number in the dataset, -1 for none; UnsupportedError where a query joined or made them."""
        return self._source.pinned().numbers()

    indices = rows

    def __len__(self) -> int:
        return self._source.length()

    def __iter__(self) -> Iterator[Row]:
        """Yields the rows as they are now."""
        return _row.rows(self._source)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: str) -> Tensor: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int] | Sequence[bool] | npt.NDArray[Any]) -> View: ...
    def __getitem__(self, index: Any) -> Any:
        """Returns a Row for an int, a View for a slice, ints or a boolean mask, a Tensor or a Group for a name."""
        if isinstance(index, str):
            found = self._tensors.get(index)
            return self._tensor(index) if found is None else found
        pinned = self._source.pinned()
        picked = _index.parse(index, pinned.length())
        if isinstance(picked, int):
            return _row.row(pinned, picked)
        return self._select(picked)

    def filter(self, fn: Callable[[Row], object]) -> View:
        """Returns the rows for which `fn(row)` is true, in order.

        `fn` runs here, once for each row; what it looks at is read for many rows at a time, and nothing else is.
        """
        pinned = self._source.pinned()
        picked = np.fromiter((bool(fn(row)) for row in _row.rows(pinned)), np.bool_)
        return View(pinned.select(np.flatnonzero(picked)))

    @checks_keywords
    def query(
        self, text: str, *params: Any, seed: int = 0, memory: int | None = None, threads: int | None = None
    ) -> QueryView:
        """Asks a query of the rows as they are now; docs/tql.md is the language.

        What the query computes is computed now or, where that costs more than to read it, when it is looked at; stored
        tensors are read when they are looked at.

        Args:
            text: a SELECT; without FROM, or `FROM dataset`, it is about these rows.
            params: the values of each ?: numbers, str, None, dates, dicts, arrays.
            seed: of RANDOM(), SAMPLE BY.
            memory: bytes that sorting, grouping and joining may hold, 4 GiB by default.
            threads: one for each core by default.
        Raises:
            InvalidArgumentError: the query is wrong; line, column and what was expected are named.
            NotFoundError: there is no such tensor, function or dataset.
            TensorTypeError: an operation does not suit the type of a tensor. All this is found before data is read.
        """
        from deeplake._result import ask

        return ask(self._source.pinned(), text, params, seed=seed, memory=memory, threads=threads)

    @checks_keywords
    def explain(
        self,
        text: str,
        *params: Any,
        analyze: bool = False,
        seed: int = 0,
        memory: int | None = None,
        threads: int | None = None,
        _stored: bool = False,
    ) -> Explanation:
        """Returns how a query would be carried out: the plan, rows, chunks that are left out, bytes to read.

        Args:
            text, params, seed, memory, threads: as in `query`.
            analyze: run it, and say what really happened.
        """
        from deeplake._query import Question

        pinned = self._source.pinned()
        question = Question(text, params, seed, memory, threads, _stored)
        return question.explain(pinned.view(), pinned.version.storage, analyze=analyze)

    @checks_keywords
    def save(self, name: str, *, replace: bool = False) -> None:
        """Saves the view under a name, with the version that it is of: `Dataset.load_view` gives it back.

        What is saved is the query, its parameters and the row numbers. Columns that the query computed are computed
        again when it is loaded. It is no part of a version; `gc` keeps what it needs.

        Args:
            replace: take the place of a view of that name.
        Raises:
            AlreadyExistsError: the name is taken.
            InvalidArgumentError: rows are not committed.
            UnsupportedError: it cannot be asked again: a part of a result with computed columns, or a query of a part
                of the rows that computes.
        """
        from deeplake._saved import save

        save(self._source.pinned(), name, replace=replace)

    @checks_keywords
    def materialize(
        self,
        uri: str | PathLike[str],
        *,
        overwrite: bool = False,
        message: str = "",
        threads: int | None = None,
        storage: Storage | None = None,
    ) -> Dataset:
        """Copies the rows, in their order, into a new dataset, and opens it.

        Tensors keep htype, dtype, compression, class names and info; JPEG, PNG and WebP files are copied as they are.
        What a query computed becomes tensors. After a failure there is no dataset. A process that is killed may leave
        an empty one, to which the same call copies again.

        Args:
            uri: where, as in `deeplake.create`.
            overwrite: first delete a dataset that is there, with all its versions; never one that the rows are of.
            message: of the commit.
            threads: one for each core by default.
            storage: settings of the new dataset's store.
        Raises:
            AlreadyExistsError: there is a dataset with tensors or versions, and `overwrite` is False.
            ConflictError: another process has copied to the same place meanwhile.
            InvalidArgumentError: what is to be overwritten is what the rows are computed from.
        """
        from deeplake._dataset import open as open_dataset
        from deeplake._saved import materialize

        place = materialize(
            self._source.pinned(), uri, overwrite=overwrite, message=message, threads=threads, storage=storage
        )
        return open_dataset(place, storage=storage)

    @checks_keywords
    def to_arrow(
        self, *, tensors: Sequence[str] | None = None, images: Literal["encoded", "pixels"] = "encoded"
    ) -> Any:
        """Reads all rows into a `pyarrow.Table`, a column for each tensor; a hole is null.

        Numbers without axes are columns of their dtype, class labels dictionaries of their names, arrays (nested)
        lists, of a fixed size where all have one shape, text and json strings, sequences lists.

        Args:
            tensors: names; None takes all.
            images: "encoded" gives the JPEG, PNG or WebP files, as binary; "pixels" arrays.
        Raises:
            UnsupportedError: pyarrow is not installed, or there is no Arrow type for a tensor.
            TensorTypeError: samples of a tensor have different numbers of axes.
        """
        from deeplake._arrow import to_arrow

        return to_arrow(self._source.pinned(), tensors, images)

    @checks_keywords
    def to_pandas(
        self, *, tensors: Sequence[str] | None = None, images: Literal["encoded", "pixels"] = "encoded"
    ) -> Any:
        """Reads all rows into a `pandas.DataFrame`; arguments and columns are those of `to_arrow`.

        Class labels are categories; integers and bools with holes have pandas' nullable dtypes, lists are objects.
        """
        from deeplake._arrow import to_pandas

        return to_pandas(self._source.pinned(), tensors, images)

    def split(self, fractions: Sequence[float], *, seed: int | None = 0) -> list[View]:
        """Returns views of distinct rows, drawn at random, one for each fraction.

        Args:
            fractions: positive, of sum <= 1; of sum 1, every row is in one of the views.
            seed: the draw, the same on every machine; None takes the rows in order instead. The rows of each view are
                in the order of this one.
        """
        parts = [float(part) for part in fractions]
        if not parts or not all(isfinite(part) and part > 0 for part in parts) or sum(parts) > 1 + 1e-9:
            raise InvalidArgumentError(f"split: fractions are {list(fractions)}, want positive ones of sum <= 1")
        pinned = self._source.pinned()
        length = pinned.length()
        # RandomState, because NumPy promises that its draws never change.
        order = np.arange(length) if seed is None else np.random.RandomState(seed).permutation(length)
        ends = [round(end * length) for end in np.minimum(np.cumsum([0.0, *parts]), 1.0)]
        return [View(pinned.select(np.sort(order[start:end]).astype(np.int64))) for start, end in pairwise(ends)]

    @checks_keywords
    def torch_dataset(
        self, *, tensors: Sequence[str] | None = None, transform: Transform | None = None, decode: Decode = True
    ) -> MapDataset:
        """Returns a map-style dataset for a DataLoader of your own, with `__getitems__`; rows are dicts of tensors.

        It works in forked and spawned workers. `pytorch` is faster.
        """
        from deeplake._torch import MapDataset

        options = Options(tensors=tensors, transform=transform, decode=decode, collate="list")
        return MapDataset(self._source.pinned(), options)

    def summary(self) -> None:
        """Prints the tensors as a table."""
        print(_summary(self._title(), self._source))

    def __repr__(self) -> str:
        return _summary(self._title(), self._source)

    def _repr_html_(self) -> str | None:
        head, *body = _cells(self._source)
        lines = [f"<b>{escape(self._title())}</b>", "<table>"]
        lines += [f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>"]
        lines += [f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in body]
        return "\n".join([*lines, "</table>"])

    def _title(self) -> str:
        return printable(f"{type(self).__name__} of {self.uri}, {_count(len(self), 'row')}")

    def _tensor(self, name: str) -> Tensor | Group:
        found = _tensor.find(self._source, name)
        if isinstance(found, Tensor):
            self._tensors[name] = found
        return found

    def _select(self, rows: Rows) -> View:
        return View(self._source.pinned().select(rows))


def _stated(about: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the keyword arguments of create_tensor that make a tensor like this one."""
    spec: dict[str, Any] = {"htype": about["htype"], "dtype": about["dtype"] or None}
    if about["shape"] is not None:
        spec["shape"] = tuple(None if axis is None or axis < 0 else axis for axis in about["shape"])
    spec["compression"] = about["compression"]
    if about["class_names"] is not None:
        spec["class_names"] = list(about["class_names"])
    return spec


def _cells(source: Source) -> list[list[str]]:
    rows = [["tensor", "htype", "dtype", "shape", "compression"]]
    for name, about in source.tensors().items():
        htype = about["htype"]
        if about["class_names"] is not None:
            htype += f" ({_count(len(about['class_names']), 'class', 'classes')})"
        rows.append([name, htype, about["dtype"] or "-", _tensor.shape_text(about), about["compression"]])
    return rows


def _summary(title: str, source: Source) -> str:
    rows = _cells(source)
    if len(rows) == 1:
        return f"{title}\n  no tensors yet"
    return "\n".join([title, *table(rows)])


def _count(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"
