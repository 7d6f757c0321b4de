"""View, its kinds and Dataset. Each makes objects of the others, so they stand in one module."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from os import PathLike
from types import TracebackType
from typing import Any, overload

import numpy.typing as npt

from deeplake import _index, _native
from deeplake._data.exporting import ExportReport, export_rows
from deeplake._data.selecting import Selecting, columns
from deeplake._data.writing import Writing
from deeplake._errors import InvalidArgumentError
from deeplake._index import Rows
from deeplake._names import checks_keywords
from deeplake._query import saved as _saved
from deeplake._query.query import Answer, Explanation, Question, answer
from deeplake._query.saved import SavedView
from deeplake._rows.clips import NoTable, place_clips, place_windows
from deeplake._rows.live import Live, dropped
from deeplake._rows.row import Row, row_at
from deeplake._rows.source import Pinned, Source, open_native
from deeplake._rows.tensor import Group, Tensor, find
from deeplake._stores import storage as _storage
from deeplake._stores.storage import Storage, Stores
from deeplake._versions.history import History
from deeplake._versions.refs import Ref, ref_of


class View(Selecting):
    """Rows of one version of a dataset, in an order.

    Indexing, `filter`, `split` and `query` return views. Later writes to the dataset do not change
    them. A view is small, and pickles as (uri, commit, selection), so other processes can take it.

    Example:
        first = ds[:1000]
        batch = first.batches(32)
    """

    __slots__ = ("__weakref__", "_source", "_tensors")

    def __init__(self, source: Source) -> None:
        self._source = source
        self._tensors: dict[str, Tensor] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._source,)

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: str) -> Tensor: ...

    @overload
    def __getitem__(self, index: slice | Sequence[int] | Sequence[bool] | npt.NDArray[Any]) -> View: ...

    @overload
    def __getitem__(self, index: list[str]) -> QueryView: ...

    def __getitem__(self, index: Any) -> Any:
        """Returns a Row for an int, a View for a slice, ints or a boolean mask, a Tensor or a Group
        for a name, a view of some tensors for a list of names.
        """
        if isinstance(index, str):
            found = self._tensors.get(index)
            return self._tensor(index) if found is None else found
        if names := _index.names(index):
            return self._asked(columns(self._source, names), "select tensors")
        picked = _index.parse(index, self._source.length())
        if isinstance(picked, int):
            return row_at(self._source.pinned_row(picked), picked)
        return self._select(picked)

    @checks_keywords
    def query(
        self, text: str, *params: Any, seed: int = 0, memory: int | None = None, threads: int | None = None
    ) -> QueryView:
        """Runs a query on the rows as they are at this call. docs/tql.md describes the language.

        The query runs at once. Columns that are cheaper to compute than to keep are computed when
        they are read; stored tensors are read then too.

        Args:
            text: a SELECT. Without FROM, or with `FROM dataset`, it reads these rows.
            params: the value of each ?, or one dict with that of each :name: a number, str, None,
                date, dict or array.
            seed: the seed of RANDOM() and SAMPLE BY.
            memory: bytes that sorting, grouping and joining may hold; 4 GiB by default.
            threads: threads of the query; None takes one for each core.

        Returns:
            The rows of the result.

        Raises:
            InvalidArgumentError: the query is wrong. The message names line, column and the
                expected text.
            NotFoundError: a tensor, function or dataset does not exist.
            TensorTypeError: an operation does not suit the type of a tensor. These errors come
                before data is read.

        Example:
            cats = ds.query("SELECT * WHERE label = ? ORDER BY score DESC LIMIT 100", "cat")
        """
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
        _saved: Any = None,
    ) -> Explanation:
        """Returns the plan of a query: its steps, the rows, the chunks that it skips, the bytes to
        read.

        Args:
            text, params, seed, memory, threads: as in `query`.
            analyze: run the query, and add the figures of the run.
        """
        pinned = self._source.pinned()
        question = Question(text, params, seed, memory, threads, _stored, _saved)
        return question.explain(pinned.view(), pinned.version.storage, analyze=analyze)

    @checks_keywords
    def save(self, name: str, *, replace: bool = False) -> None:
        """Saves the view under a name, with its version. `Dataset.load_view` returns it.

        The file keeps the query, its parameters and the row numbers. Columns that the query
        computed are computed again at loading. A saved view is no part of a version; `gc` keeps the
        data that it needs.

        Args:
            name: the name, in the form of a tag's.
            replace: take the place of a saved view of that name.

        Raises:
            AlreadyExistsError: the name is taken.
            InvalidArgumentError: some rows are not committed.
            UnsupportedError: the view cannot be computed again: it is a part of a result with
                computed columns, or its query computes on a part of the rows.
        """
        _saved.save(self._source.pinned(), name, replace=replace)

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

        Tensors keep htype, dtype, compression, class names and info; JPEG, PNG and WebP files are
        copied unchanged. Computed columns become tensors. After a failure there is no new dataset.
        A killed process may leave an empty one; the same call then copies into it.

        Args:
            uri: the place of the new dataset, as in `deeplake.create`.
            overwrite: replace an existing dataset with all its versions once the copy is complete,
                but never one that the rows come from. After a failure the old one is there.
            message: the message of the commit.
            threads: threads of the copy; None takes one for each core.
            storage: settings of the new dataset's store.

        Raises:
            AlreadyExistsError: a dataset with tensors or versions exists and `overwrite` is False.
            ConflictError: another process copied to the same place meanwhile.
            InvalidArgumentError: the rows are computed from the dataset to overwrite.
        """
        place = _saved.materialize(
            self._source.pinned(), uri, overwrite=overwrite, message=message, threads=threads, storage=storage
        )
        stores = _storage.access(storage, None)
        return Dataset(Live(place, open_native(place, stores, branch="main"), storage=stores))

    @checks_keywords
    def export(
        self,
        uri: str | PathLike[str],
        *,
        format: str,
        tensors: Sequence[str] | None = None,
        splits: str = "auto",
        shard_bytes: int | None = None,
        pad: bool = False,
        storage: Storage | None = None,
    ) -> ExportReport:
        """Writes the rows, in their order, as files of other programs. JPEG, PNG and WebP files are
        copied unchanged; other images become PNG files. After a kill or Ctrl-C, the same call goes
        on behind the parts that are whole. Uncommitted rows cannot be continued.

        Args:
            uri: a folder or a bucket's prefix that is empty, or holds a part of the same export.
            format: "folder" (images or videos in folders of their classes), "webdataset", "mds",
                "tfrecord", "parquet" (as Hugging Face lays it out), "zarr", "coco" or "yolo".
            tensors: the tensors to write; None takes all. The report names those left out.
            splits: "auto" divides the files by the tensor "split", or by the folders of an import;
                "none" does not.
            shard_bytes: the size of a shard, about; None takes 256 MiB, of MDS 64 MiB.
            pad: of "zarr": fill arrays of several shapes up with zeros.
            storage: settings of the place's store.

        Raises:
            AlreadyExistsError: the place has other files.
            InvalidArgumentError: the view has no rows, or the format needs tensors that it lacks.
            UnsupportedError: the format cannot hold a tensor or a missing value.

        Example:
            ds.query("SELECT * WHERE score > 0.5").export("./shards", format="webdataset")
        """
        rows = self._source.pinned().view()
        return export_rows(
            rows, uri, format=format, tensors=tensors, splits=splits, shard_bytes=shard_bytes, pad=pad, storage=storage
        )

    def _tensor(self, name: str) -> Tensor | Group:
        found = find(self._source, name)
        if isinstance(found, Tensor):
            self._tensors[name] = found
        return found

    def _select(self, rows: Rows) -> View:
        return View(self._source.pinned().select(rows))

    def _clips(self, options: dict[str, Any]) -> ClipView:
        place = place_windows if "tensors" in options else place_clips
        return ClipView(place(self._source.pinned(), options))


class ClipView(NoTable, View):
    """Parts of samples as rows: the result of `clips`, `frames` and `windows`.

    In each row, tensors of videos are arrays of frames, and other tensors are those of the row that
    the part is of. Loaders, indexing, `filter` and `split` work as on other views. Queries and
    exports take the dataset.
    """

    __slots__ = ()

    def _select(self, rows: Rows) -> View:
        return ClipView(self._source.pinned().select(rows))


class QueryView(View):
    """The rows of a query's result: a view with the selected columns.

    It reads one version, and pickles as (version, query, parameters, seed): another process runs
    the query again. Functions of `deeplake.tql` that it calls must be registered there too.
    """

    __slots__ = ()
    _source: Pinned

    @property
    def text(self) -> str:
        """The query in its canonical form."""
        answer = self._answer()
        return str(answer.about.get("query") or answer.question.text)

    def explain(self, text: str = "", *params: Any, **options: Any) -> Explanation:
        """Returns the plan and the figures of the run; with a text, the plan of that query on these
        rows.

        Args:
            text: a query of these rows; "" for the query of this view.
            params, options: as in `View.explain`.
        """
        if text == "" and params:
            raise InvalidArgumentError("explain: there are parameters and no query; give its text")
        answer = self._answer()
        if text == "" and answer.about.get("query") is None and answer.of is not None:
            # loaded by its rows, not asked
            asked = answer.question
            return View(answer.of).explain(
                asked.text, *asked.params, _stored=asked.stored, _saved=asked.saved, **options
            )
        if text != "" or options:
            return super().explain(text, *params, **options)
        about = _native.explain(answer.root(), "", [], [])
        return Explanation(about["text"], about["explanation"])

    def _answer(self) -> Answer:
        version = self._source.version
        assert isinstance(version, Answer)
        version.root()  # asks, if this process has not yet
        return version


class Dataset(View, Writing, History):
    """An open dataset: its rows as they are now, with those that are not committed yet.

    `commit()` alone makes writes durable and visible to others. A dataset is a context manager that
    closes it and never commits. Several threads may use it. In a forked or unpickled process it
    reads the same version, and writes to the newest.
    """

    __slots__ = ()
    _source: Live

    def at(self, ref: Ref) -> Dataset:
        """Opens another version for reading.

        Args:
            ref: the version, as `at` of `deeplake.open`.

        Raises:
            NotFoundError: the version does not exist, or has expired.
        """
        self._source.pinned()  # notes the links of this session
        handle = self._source.handle().at(ref_of(ref))
        at = handle.describe()["head"]["commit"]
        live = Live(self.uri, handle, branch=self._source.branch, at=at, read_only=True, storage=self._source.storage)
        return Dataset(live)

    def views(self) -> list[SavedView]:
        """Returns the descriptions of the saved views, by name."""
        return _saved.saved_views(self._source.handle())

    def load_view(self, name: str) -> View:
        """Returns a saved view, at the version that it was saved with.

        Raises:
            NotFoundError: no view has that name, or its version has expired.
        """
        source = self._source
        stores = source.pinned().version.storage  # with the links of this session
        pinned = _saved.load(source.handle(), name, self.uri, source.branch, stores)
        return QueryView(pinned) if isinstance(pinned.version, Answer) else View(pinned)

    def delete_view(self, name: str) -> None:
        """Deletes a saved view.

        Raises:
            NotFoundError: no view has that name.
        """
        self._source.handle().delete_view(name)

    def close(self) -> None:
        """Closes the dataset with its views and loaders. Uncommitted changes are dropped, with a
        warning.
        """
        if self._source.close():
            warnings.warn(
                dropped("close", self.uri),
                UserWarning,
                stacklevel=3 if sys._getframe(1).f_code is Dataset.__exit__.__code__ else 2,
            )

    def __enter__(self) -> Dataset:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _title(self) -> str:
        if self._source.closed:
            return f"Dataset of {self.uri}, closed"
        about = self._source.handle().describe()
        marks = ["read-only"] * self.read_only + ["uncommitted changes"] * bool(about["dirty"])
        return f"{super()._title()}, version {about['head']['version']}{''.join(f', {mark}' for mark in marks)}"

    def __repr__(self) -> str:
        return self._title() if self._source.closed else super().__repr__()

    def _repr_html_(self) -> str | None:
        # None: the notebook shows the repr
        return None if self._source.closed else super()._repr_html_()


def ask(
    of: Pinned | None,
    text: str,
    params: tuple[Any, ...],
    *,
    seed: int,
    memory: int | None,
    threads: int | None,
    storage: Stores = None,
) -> QueryView:
    """Asks a query of some rows, or of the datasets that it names."""
    question = Question(text, params, seed, memory, threads)
    return QueryView(answer(of, question, storage if of is None else of.version.storage))
