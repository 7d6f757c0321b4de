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
from deeplake._loader import Batches
from deeplake._names import checks_keywords
from deeplake._plan import Options
from deeplake._row import Row
from deeplake._source import Source
from deeplake._tensor import Group, Tensor
from deeplake._text import printable, table
from deeplake.transforms import Native, Together

if TYPE_CHECKING:
    from deeplake._dataset import Dataset
    from deeplake._jax import JaxBatches
    from deeplake._query import Explanation
    from deeplake._result import QueryView
    from deeplake._storage import Storage
    from deeplake._tensorflow import TensorFlowDataset
    from deeplake._torch import MapDataset, TorchLoader

Decode = bool | Mapping[str, Literal["numpy", "bytes", "pil"]]
Step = Native | Callable[[Any], Any]
Part = Callable[[dict[str, Any]], Any] | Mapping[str, Step | Sequence[Step]] | Together
Transform = Part | Sequence[Part]


class Loadable:
    """Rows that loaders are made of. The docstrings of their arguments are those of `pytorch`."""

    __slots__ = ()

    _source: Source

    @checks_keywords
    def pytorch(
        self,
        batch_size: int = 1,
        *,
        shuffle: bool | Literal["full"] = False,
        seed: int = 0,
        num_workers: int | None = None,
        drop_last: bool = False,
        tensors: Sequence[str] | None = None,
        transform: Transform | None = None,
        collate: Literal["stack", "pad", "list"] | Callable[[list[dict[str, Any]]], Any] = "stack",
        device: Any = None,
        decode: Decode = True,
        prefetch: int = 2,
        shuffle_bytes: int | None = None,
        fetch_bytes: int | None = None,
        on_error: Literal["raise", "skip"] = "raise",
        cache: Any = None,
        rank: int | None = None,
        world_size: int | None = None,
        tail: Literal["exact", "drop", "pad"] = "exact",
        return_index: bool = False,
        weights: npt.ArrayLike | str | None = None,
        replacement: bool = True,
        length: int | None = None,
        progress: bool = False,
        trace: str | PathLike[str] | None = None,
    ) -> TorchLoader:
        """Returns a `torch.utils.data.DataLoader` whose batches are dicts of torch tensors by tensor name.

        It reads the rows as they are now. Threads of the core do the work: there are no worker processes, and torch's
        own `num_workers` stays 0. Tensors are views of the memory that the batch was decoded into (nothing is
        copied), writable, and may be kept for ever. Images are uint8, height x width x channels; class labels int64;
        text is a list of str, json a list of objects, sequences are lists of lists.

        The order depends on `seed`, the epoch and the version of the dataset alone, never on `num_workers`. Each
        iteration that runs to its end moves on to the next epoch, so a plain loop sees another order every time;
        `loader.set_epoch(n)` says which epoch comes next.

        Args:
            batch_size: rows of a batch; the last one has what is left, unless `drop_last`.
            shuffle: True mixes rows over a window of `shuffle_bytes`, which reads the store in large pieces; "full"
                draws from all rows.
            num_workers: decode threads; None takes one for each core. 0 decodes nothing ahead: each batch is made on
                one thread while `next()` waits for it, and `prefetch` has no effect. Bytes of a store are fetched ahead
                all the same.
            tensors: the tensors to load; None loads all.
            transform: a dict from tensor names to a transform or a list of them, a `transforms.Together`, one callable
                that takes and returns the row, a dict, or a list of these. A transform is a native one of
                `deeplake.transforms`, which the core carries out while it decodes, or, after those, a callable on one
                sample. Tensors that are not named pass through. Callables get
                NumPy arrays (scalars, str, what `decode` says) and run in the thread that iterates, one sample after
                the other: a slow one is what the loop then waits for.
            collate: "stack" wants one shape for all samples of a tensor; "pad" fills up with zeros and adds
                `<name>_shape`, int64 of shape (batch, axes); "list" gives lists of tensors, None for a hole; a
                callable gets the rows of a batch, a list of dicts, and what it returns is the batch.
            device: None or "cpu".
            decode: how to deliver a tensor: "numpy" decodes (the same as True for all), "bytes" gives the bytes as
                they are stored, "pil" a PIL image.
            prefetch: batches that are made ahead.
            fetch_bytes: memory for what is fetched ahead from an object store, 2.5 * `shuffle_bytes` by default. Where
                all rows fit, later epochs ask for nothing. `loader.stats()["fetch"]` says what was asked for.
            on_error: "skip" leaves out rows that cannot be read; `loader.stats()` counts them and shows the first.
            return_index: add "_index", int64, the row numbers in the dataset.
            progress: show a line with the rate and what it is bound by, on a terminal only.
            trace: a file that is written when an iteration ends, with what each thread did and when, in the JSON that
                Perfetto and chrome://tracing show; with ranks a file for each.
            cache: bytes of memory, or a `deeplake.Cache`, for decoded images: later epochs decode (and fetch) only
                what it does not hold.
            rank, world_size: this process and how many share the rows of an epoch; all of them take the same number of
                batches, and every row comes once. By default as torch.distributed says when an iteration begins, or
                else RANK and WORLD_SIZE in the environment, or else 0 of 1. `batch_size` is that of one rank.
            tail: what becomes of the last rows, fewer than all ranks take in one step. "exact" spreads them, so that
                batches differ by one row at most; a rank that would get none repeats one, and the batches of that step
                have "_valid", bool, false for what is repeated. "drop" leaves them out, as `drop_last` does. "pad"
                fills up with rows from the start of the epoch; every batch has "_valid".
            weights: how likely each row is to be drawn, as torch's WeightedRandomSampler does: one finite number >= 0
                for each row, of any sum, or the name of a tensor that has them. Rows of weight 0 never come. Draws are
                independent of each other (Walker's alias table, 1977); with shuffle=True they are stratified instead
                (each row comes as often as its weight says, to a whole number or its neighbour) and mixed over windows,
                which an object store delivers in large pieces.
            replacement: False draws a row once at most: by weight among the rows that are left (Efraimidis, Spirakis,
                2006).
            length: draws of an epoch; None takes the number of rows, without replacement that of weights above 0.
        Raises:
            TensorTypeError: while iterating: samples of different shapes under "stack", which names the tensor.
            CorruptError: while iterating: a sample cannot be decoded; row and tensor are named.
        """
        from deeplake._torch import TorchLoader

        options = Options(
            batch_size=batch_size, shuffle=shuffle, seed=seed, num_workers=num_workers, drop_last=drop_last,
            tensors=tensors, transform=transform, collate=collate, decode=decode, prefetch=prefetch,
            shuffle_bytes=shuffle_bytes, fetch_bytes=fetch_bytes, on_error=on_error, return_index=return_index,
            progress=progress, device=device, cache=cache, rank=rank, world_size=world_size, tail=tail,
            weights=weights, replacement=replacement, length=length, trace=trace,
        )  # fmt: skip
        return TorchLoader(self._source.pinned(), options)

    @checks_keywords
    def batches(
        self,
        batch_size: int = 1,
        *,
        shuffle: bool | Literal["full"] = False,
        seed: int = 0,
        num_workers: int | None = None,
        drop_last: bool = False,
        tensors: Sequence[str] | None = None,
        transform: Transform | None = None,
        collate: Literal["stack", "pad", "list"] | Callable[[list[dict[str, Any]]], Any] = "stack",
        device: Any = None,
        decode: Decode = True,
        prefetch: int = 2,
        shuffle_bytes: int | None = None,
        fetch_bytes: int | None = None,
        on_error: Literal["raise", "skip"] = "raise",
        cache: Any = None,
        rank: int | None = None,
        world_size: int | None = None,
        tail: Literal["exact", "drop", "pad"] = "exact",
        return_index: bool = False,
        weights: npt.ArrayLike | str | None = None,
        replacement: bool = True,
        length: int | None = None,
        progress: bool = False,
        trace: str | PathLike[str] | None = None,
    ) -> Batches:
        """Returns an iterable of batches as dicts of NumPy arrays; arguments and order are those of `pytorch`."""
        options = Options(
            batch_size=batch_size, shuffle=shuffle, seed=seed, num_workers=num_workers, drop_last=drop_last,
            tensors=tensors, transform=transform, collate=collate, decode=decode, prefetch=prefetch,
            shuffle_bytes=shuffle_bytes, fetch_bytes=fetch_bytes, on_error=on_error, return_index=return_index,
            progress=progress, device=device, cache=cache, rank=rank, world_size=world_size, tail=tail,
            weights=weights, replacement=replacement, length=length, trace=trace,
        )  # fmt: skip
        return Batches(self._source.pinned(), options)

    @checks_keywords
    def tensorflow(
        self,
        batch_size: int = 1,
        *,
        shuffle: bool | Literal["full"] = False,
        seed: int = 0,
        num_workers: int | None = None,
        drop_last: bool = False,
        tensors: Sequence[str] | None = None,
        transform: Transform | None = None,
        collate: Literal["stack", "pad", "list"] | Callable[[list[dict[str, Any]]], Any] = "stack",
        decode: Decode = True,
        prefetch: int = 2,
        shuffle_bytes: int | None = None,
        fetch_bytes: int | None = None,
        on_error: Literal["raise", "skip"] = "raise",
        cache: Any = None,
        rank: int | None = None,
        world_size: int | None = None,
        tail: Literal["exact", "drop", "pad"] = "exact",
        return_index: bool = False,
        weights: npt.ArrayLike | str | None = None,
        replacement: bool = True,
        length: int | None = None,
        progress: bool = False,
        trace: str | PathLike[str] | None = None,
        element_spec: Any = None,
    ) -> TensorFlowDataset:
        """Returns a `tf.data.Dataset` whose elements are batches, dicts of TensorFlow tensors by tensor name.

        Arguments, order and states are those of `pytorch`; there is no `device`, TensorFlow moves batches itself. The
        dataset also has `set_epoch`, `state_dict`, `load_state_dict`, `stats` and `len`; its cardinality is known, so
        `model.fit` knows its steps. Each iteration is another epoch, in another order. Numbers cross into TensorFlow
        without a copy; strings, lists and RaggedTensors are copied.

        | samples | under "stack" and "pad" | under `collate="list"` |
        |---|---|---|
        | of one shape | (batch, ...), dense | (batch, ...), dense |
        | of several shapes | "pad": (batch, ...) and `<name>_shape`, int64 | RaggedTensor, a hole has length 0 |
        | sequences | RaggedTensor | RaggedTensor |
        | text, `decode="bytes"` | tf.string | tf.string, a hole is "" |
        | json | tf.string, the JSON text | tf.string |

        The first axis is None, because the last batch may be smaller; with `drop_last` it is `batch_size`.

        Args:
            element_spec: a dict of `tf.TensorSpec` or `tf.RaggedTensorSpec` by name for what a transform makes. Without
                it the transform is called on the first and the last row, and axes that agree are taken for fixed. For
                a collate function the whole structure, of dicts and tuples; without it, it is called on one row and
                on two.
        Raises:
            UnsupportedError: tensorflow is not installed.
            TensorTypeError: there is no TensorFlow type for a tensor.
            tf.errors.OpError: while iterating, for every error: its message has the class and the message of ours.
        """
        from deeplake._tensorflow import dataset

        options = Options(
            batch_size=batch_size, shuffle=shuffle, seed=seed, num_workers=num_workers, drop_last=drop_last,
            tensors=tensors, transform=transform, collate=collate, decode=decode, prefetch=prefetch,
            shuffle_bytes=shuffle_bytes, fetch_bytes=fetch_bytes, on_error=on_error, return_index=return_index,
            progress=progress, cache=cache, rank=rank, world_size=world_size, tail=tail, weights=weights,
            replacement=replacement, length=length, trace=trace,
        )  # fmt: skip
        return dataset(self._source.pinned(), options, element_spec)

    @checks_keywords
    def jax(
        self,
        batch_size: int = 1,
        *,
        shuffle: bool | Literal["full"] = False,
        seed: int = 0,
        num_workers: int | None = None,
        drop_last: bool = False,
        tensors: Sequence[str] | None = None,
        transform: Transform | None = None,
        collate: Literal["stack", "pad", "list"] | Callable[[list[dict[str, Any]]], Any] = "stack",
        decode: Decode = True,
        prefetch: int = 2,
        shuffle_bytes: int | None = None,
        fetch_bytes: int | None = None,
        on_error: Literal["raise", "skip"] = "raise",
        cache: Any = None,
        rank: int | None = None,
        world_size: int | None = None,
        tail: Literal["exact", "drop", "pad"] = "exact",
        return_index: bool = False,
        weights: npt.ArrayLike | str | None = None,
        replacement: bool = True,
        length: int | None = None,
        progress: bool = False,
        trace: str | PathLike[str] | None = None,
        sharding: Any = None,
    ) -> JaxBatches:
        """Returns an iterable of batches as dicts of `jax.Array`; arguments, order and states are those of `pytorch`.

        On the CPU arrays are views of the memory that the batch was decoded into; for another device they are copied
        to it. Lists (`collate="list"`, sequences) hold NumPy arrays, text is a list of str, json a list of objects:
        JAX has no arrays of these. While `jax_enable_x64` is off JAX has no 64-bit types: int64 becomes int32 and
        float64 float32, as everywhere in JAX, but an integer that does not fit is an error here.

        Args:
            sharding: a `jax.sharding.Sharding` for every array, or a dict of them by name. In a run of several
                processes (`jax.distributed`) each one reads its share of the rows, unless `rank` and `world_size` say
                otherwise, and a batch is the global array of all of them; `drop_last` or `tail="pad"` is then needed,
                because all shares must be as large.
        Raises:
            UnsupportedError: jax is not installed.
            InvalidArgumentError: while iterating: a batch that its devices cannot share.
            TensorTypeError: while iterating: an int64 that is no int32.
        """
        from deeplake._jax import JaxBatches

        options = Options(
            batch_size=batch_size, shuffle=shuffle, seed=seed, num_workers=num_workers, drop_last=drop_last,
            tensors=tensors, transform=transform, collate=collate, decode=decode, prefetch=prefetch,
            shuffle_bytes=shuffle_bytes, fetch_bytes=fetch_bytes, on_error=on_error, return_index=return_index,
            progress=progress, cache=cache, rank=rank, world_size=world_size, tail=tail, weights=weights,
            replacement=replacement, length=length, trace=trace,
        )  # fmt: skip
        return JaxBatches(self._source.pinned(), options, sharding)


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
