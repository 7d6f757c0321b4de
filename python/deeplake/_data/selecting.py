"""The methods of views that choose rows of the same version: filter and split."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from deeplake._data.parts import ends_of, parts_of
from deeplake._data.reading import Reading
from deeplake._errors import InvalidArgumentError, NotFoundError
from deeplake._lazy import package
from deeplake._names import checks_keywords, quoted, suggest
from deeplake._rows.row import Row, rows_of
from deeplake._rows.source import Pinned, Source, open_native

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
    def split(self, fractions: Sequence[str]) -> list[View]: ...

    @overload
    def split(
        self, fractions: Mapping[str, float] | Mapping[str, int], *, seed: int | None = 0, stratify: str | None = None
    ) -> dict[str, View]: ...

    @checks_keywords
    def split(self, fractions: Any, *, seed: int | None = 0, stratify: str | None = None) -> Any:
        """Returns views of distinct rows, drawn at random, one for each fraction or count.

        Args:
            fractions: positive floats of sum <= 1, or ints, the numbers of rows. Rows beyond their
                sum are in no view. A dict has them by name. [1] is a fraction. Names alone stand
                for saved views, such as the splits of `deeplake create`: their queries are asked
                of these rows.
            seed: the seed of the draw, which is the same on every machine. None takes the rows in
                order.
            stratify: a tensor of class labels, integers, bools or text. Each view then has its
                share of the rows of each value, rounded up or down. Holes count as one value.

        Returns:
            A list of views, for a dict a dict. Each view keeps the order of this one.

        Raises:
            InvalidArgumentError: a fraction or count is not positive, or they sum to too much.
            NotFoundError: no view is saved under a name.
            TensorTypeError: `stratify` names a tensor of other values.

        Example:
            parts = ds.split({"train": 0.8, "val": 0.1, "test": 0.1}, seed=7, stratify="labels")
            train, val = ds.split(["train", "val"])  # after deeplake create URI from-FOLDER
        """
        if isinstance(fractions, list | tuple) and fractions and all(isinstance(name, str) for name in fractions):
            if stratify is not None:
                raise InvalidArgumentError(
                    f'split: stratify is "{stratify}", and saved views are not drawn; leave it out'
                )
            return [self.query(text) for text in saved_queries(self._source.pinned(), fractions)]
        named = isinstance(fractions, Mapping)
        fixed = self._select(range(self._source.pinned().length()))
        ends = ends_of(list(fractions.values()) if named else fractions, len(fixed))
        views = [fixed._select(rows) for rows in parts_of(fixed._source, ends, seed, stratify)]
        return dict(zip(fractions, views, strict=True)) if named else views

    @checks_keywords
    def to_pyarrow_dataset(self, *, tensors: Sequence[str] | None = None) -> Any:
        """Returns the rows as a `pyarrow.dataset.Dataset`, for engines that push down columns and
        filters: DuckDB, pyarrow. Columns that they do not name are not read.

        Conditions on integers and texts become a query of ours first, which prunes chunks by their
        bounds. pyarrow checks the filter again.

        Args:
            tensors: names of tensors; None takes all but pictures.

        Raises:
            UnsupportedError: pyarrow is not installed, or Arrow has no type for a tensor.

        Example:
            pets = ds.to_pyarrow_dataset()
            duckdb.sql("SELECT count(*) FROM pets WHERE id > 5")
        """
        from deeplake._hosts.scanning import to_pyarrow_dataset

        return to_pyarrow_dataset(self._select(range(self._source.pinned().length())), tensors)

    @checks_keywords
    def to_polars(self, *, tensors: Sequence[str] | None = None, lazy: bool = False) -> Any:
        """Returns the rows as a `polars.DataFrame`, or as a `polars.LazyFrame`, which reads the
        columns and the number of rows that its query needs.

        Args:
            tensors: names of tensors; None takes all but pictures.
            lazy: return a LazyFrame. Its batches are filtered one by one.

        Raises:
            UnsupportedError: polars or pyarrow is not installed, or Arrow has no type for a tensor.

        Example:
            ds.to_polars(lazy=True).filter(pl.col("id") > 5).select("text").collect()
        """
        from deeplake._hosts.scanning import to_lazy_frame

        frame = to_lazy_frame(self._select(range(self._source.pinned().length())), tensors)
        return frame if lazy else frame.collect()

    @checks_keywords
    def to_ray(self, *, tensors: Sequence[str] | None = None, override_num_blocks: int | None = None) -> Any:
        """Returns the rows as a `ray.data.Dataset`, whose tasks each open a part of them.
        `deeplake.ray.read` has more options, and says what the columns are.

        Args:
            tensors: names of tensors; None takes all but pictures that no query names.
            override_num_blocks: the number of tasks; None lets Ray choose.

        Raises:
            UnsupportedError: Ray is not installed, rows are not committed or in mem://, a query
                computes or renames columns, or Arrow has no type for a tensor.

        Example:
            ds[:1000].to_ray(tensors=["image", "label"]).map_batches(embed, batch_format="numpy")
        """
        package("convert to Ray", "ray.data", 'pip install "ray[data]"')
        from deeplake._engines.ray_read import rows_of

        options = {"override_num_blocks": override_num_blocks}
        return rows_of(self._source.pinned(), None, (), tensors, options)

    def _select(self, rows: Rows) -> View:
        raise NotImplementedError

    if TYPE_CHECKING:

        def query(self, tql: str, /) -> View: ...


def saved_queries(pinned: Pinned, names: Sequence[str]) -> list[str]:
    """Returns the queries of saved views of the dataset, which must have no parameters."""
    from deeplake._query.saved import saved_views

    version = pinned.version
    handle = version.handle() or open_native(version.uri, version.storage)
    saved = {view.name: view for view in saved_views(handle)}
    texts = []
    for name in names:
        view = saved.get(name)
        if view is None:
            there = f"the saved views are {quoted(saved)}" if saved else "no views are saved"
            raise NotFoundError(f'split "{pinned.uri}": there is no saved view "{name}"; {there}{suggest(name, saved)}')
        if not view.query or view._about["params"]:
            raise InvalidArgumentError(
                f'split "{pinned.uri}": view "{name}" is saved by its rows or with parameters; load_view("{name}") '
                "gives its rows as they were saved"
            )
        texts.append(view.query)
    return texts


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
