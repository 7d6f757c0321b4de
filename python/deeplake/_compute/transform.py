"""Rows of a dataset through a function of the user, in parallel, into one new version."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

import numpy as np

from deeplake._checks import check_choice, check_names
from deeplake._compute.checkpoint import Checkpoint, fingerprint
from deeplake._compute.work import Done, Part, Work
from deeplake._data.committing import DistributedWrite, write_of
from deeplake._data.dataset import create, delete, exists, open
from deeplake._data.reading import Reading
from deeplake._data.view import Dataset, View
from deeplake._errors import ConflictError, Error, InvalidArgumentError, ReadOnlyError, UnsupportedError
from deeplake._load.workers.job_pool import JobPool
from deeplake._names import checks_keywords
from deeplake._progress import bar
from deeplake._rows.live import Live
from deeplake._rows.source import COMMIT_FIRST, Version
from deeplake._stores.storage import Storage
from deeplake._text import printable

_FEWEST, _MOST = 64, 8192  # rows of a task, if the caller does not say
_TASKS = 8  # of a worker, at least: the last ones end at about the same time
_SHOWN = 10  # reasons for rows that are left out


@checks_keywords
def transform(
    source: View,
    function: Callable[..., Any],
    into: str | os.PathLike[str] | None = None,
    *,
    columns: Sequence[str] | None = None,
    schema: Mapping[str, Any] | None = None,
    batch_size: int | None = None,
    workers: int | None = None,
    task_rows: int | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    checkpoint: str | os.PathLike[str] | None = None,
    engine: Literal["local", "ray"] = "local",
    seed: int = 0,
    message: str = "",
    storage: Storage | None = None,
    verbose: bool = False,
) -> Dataset:
    """Sends rows through a function, in parallel, and commits the results as one version.

    The order of results is that of the rows. Nothing is visible before the commit. An image that
    the function returns as it got it is stored as the file that it was.

    Args:
        source: the rows: a dataset or a view.
        function: gets a dict from tensor names to samples, as `Row` gives them. It returns a dict,
            one row; a list or an iterator of dicts, several rows; or None, no row. A class is
            called once in each worker, without arguments, and its object is the function: it may
            hold a model.
        into: the dataset that gets the rows: a URI as of `deeplake.create`. It is created if there
            is none. None adds the results to the rows of the source themselves, as tensors: the
            function then returns one dict for each row. The source is a dataset at its newest
            version then, or rows of it.
        columns: the tensors that the function gets; None takes all.
        schema: new tensors by name, as of `deeplake.create`. Other tensors of `into` are as in the
            source, if it has them, else as their first samples make them.
        batch_size: the function gets this many rows at once: a dict from tensor names to arrays of
            shape (rows, ...), or lists of samples that differ in shape or dtype. It returns a dict
            of columns, of any length for new rows.
        workers: processes; 0 is this process alone. None takes one for each core, and 0 where
            processes cannot be: on other systems than Linux, and for datasets of `mem://`.
        task_rows: rows of a task. A task is written at once, and runs again as a whole.
        on_error: "raise" ends the transform at the first exception of the function; "skip" leaves
            its row out, or its whole batch. New tensors then have no sample there.
        checkpoint: a file that finished tasks are noted in. After a kill, the same call with the
            same file goes on, within six days. After the end it does nothing, and returns the
            dataset: remove the file for another run.
        engine: "local", or "ray": the tasks run on the Ray cluster that this program is connected
            to, with `workers` actors.
        seed: of the generators of `random`, NumPy and torch. They are seeded before each call, by
            the number of the row, so that results do not depend on the workers.
        message: of the version.
        storage: settings of the store of `into`.
        verbose: print what was left out to standard error. A terminal shows a bar in any case.

    Returns:
        The dataset at the new version.

    Raises:
        InvalidArgumentError: the function returned something else, or arguments are wrong.
        ConflictError: another writer changed the same rows.
        UnsupportedError: workers, or Ray, cannot be here.
        WorkerError: workers died in three attempts of a task.

    Example:
        def smaller(row):
            return {"images": np.asarray(Image.fromarray(row["images"]).resize((256, 256)))}

        deeplake.transform(ds, smaller, "flowers-256", columns=["images"])
    """
    _check(source, function, columns, batch_size, workers, task_rows, on_error, engine)
    if schema is not None and not isinstance(schema, Mapping):
        raise InvalidArgumentError(f"transform: schema is a {type(schema).__name__}, want a dict by name of tensor")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise InvalidArgumentError(f"transform: seed is {seed!r}, want an int")
    count = _workers(source.uri, into, workers, engine)
    names = tuple(source.tensors) if columns is None else tuple(columns)
    pinned = source._source.pinned()
    if pinned.version.uncommitted:
        raise ConflictError(f'transform: "{source.uri}" has uncommitted changes; {COMMIT_FIRST}')
    rows = len(source)
    size = task_rows or min(_MOST, max(_FEWEST, -(-rows // (max(1, count) * _TASKS))))
    parts = [Part(start, min(start + size, rows)) for start in range(0, rows, size)]
    job = {
        "source": source.uri, "commit": pinned.version.commit, "rows": rows, "into": "" if into is None else str(into),
        "function": getattr(function, "__qualname__", type(function).__qualname__), "code": fingerprint(function),
        "columns": list(names), "batch_size": batch_size, "task_rows": size, "seed": seed, "on_error": on_error,
        "schema": repr(sorted((schema or {}).items())),
    }  # fmt: skip
    notes = Checkpoint(checkpoint, job)
    if notes.commit:
        return _opened(pinned.version, into, storage)
    is_new = into is not None and not exists(into, storage=storage)
    if into is None:
        _check_in_place(source)
        target = _opened(pinned.version, into, storage)
        if not notes.token and target.head.id != pinned.version.commit:
            raise InvalidArgumentError(
                f'transform: the rows are of version {pinned.version.commit[:8]} of "{source.uri}", and the newest is '
                f"{target.head.id[:8]}; refresh() the dataset, or give into="
            )
    else:
        target = create(into, schema=schema, storage=storage) if is_new else _opened(pinned.version, into, storage)
    write: DistributedWrite | None = None
    try:
        write = write_of(target, notes.token) if notes.token else target.distributed_write()
        if not notes.token:
            notes.begin(write._token)
        work = Work(
            View(pinned), write, function, names, dict(schema or {}), batch_size, on_error == "skip", into is None, seed
        )
        _run(work, [part for part in parts if part.key not in notes.done], count, engine, notes, rows)
        done = [notes.done[part.key] for part in parts]
        made = write.commit(
            [one["fragment"] for one in done], message, allow_missing=on_error == "skip" or into is None
        )
        write.close()
    except BaseException:
        with contextlib.suppress(Error):  # the first error is the one to see
            if write is not None and checkpoint is None:
                write.close()
            target.close()
            if is_new and checkpoint is None:
                delete(into, storage=storage)  # type: ignore[arg-type]
        raise
    notes.end(made.id)
    if verbose:
        _report(done)
    return target


def _check(
    source: Any,
    function: Any,
    columns: Sequence[str] | None,
    batch_size: int | None,
    workers: int | None,
    task_rows: int | None,
    on_error: str,
    engine: str,
) -> None:
    if not isinstance(source, Reading):
        raise InvalidArgumentError(
            f"transform: source is a {type(source).__name__}, want a dataset or a view; ingest() takes other rows"
        )
    if not callable(function):
        raise InvalidArgumentError(f"transform: function is a {type(function).__name__}, want a callable")
    for name in check_names("transform", columns, "columns") or ():
        source._source.pinned().require(name)
    for what, number, least in (("batch_size", batch_size, 1), ("workers", workers, 0), ("task_rows", task_rows, 1)):
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < least):
            raise InvalidArgumentError(f"transform: {what} is {number!r}, want an int of {least} or more, or None")
    check_choice("transform", "on_error", on_error, ("raise", "skip"))
    check_choice("transform", "engine", engine, ("local", "ray"))


def _check_in_place(source: View) -> None:
    live = source._source
    if isinstance(live, Live) and live.read_only:
        raise ReadOnlyError(f'transform: dataset "{source.uri}" is opened read-only; open it to write, or give into=')
    if len(np.unique(source.rows)) < len(source):
        raise InvalidArgumentError(
            "transform: the view has a row twice, and new columns need one result for each row; give into="
        )


def _workers(source: str, into: str | os.PathLike[str] | None, workers: int | None, engine: str) -> int:
    """Returns the number of workers.

    Raises:
        UnsupportedError: processes are wanted, and cannot be here.
    """
    why = ""
    if memory := next((uri for uri in (source, str(into)) if uri.startswith("mem://")), ""):
        why = f'"{memory}" lies in the memory of this process'
    elif engine == "local" and not sys.platform.startswith("linux"):
        why = f"worker processes need Linux, and this is {sys.platform}"
    if not why:
        return (os.cpu_count() or 1) if workers is None else workers
    if engine == "ray":
        raise UnsupportedError(f'transform: engine is "ray", and {why}; use a dataset on a disk or in a store')
    if workers:
        raise UnsupportedError(f"transform: workers is {workers}, and {why}; leave workers out")
    return 0


def _opened(source: Version, into: str | os.PathLike[str] | None, storage: Storage | None) -> Dataset:
    """Opens the target: a dataset, or that of the source, on its branch and with its settings."""
    if into is not None:
        return open(into, storage=storage)
    stores: Any = source.storage
    return open(
        source.uri, branch=source.branch, storage=getattr(stores, "storage", stores) if storage is None else storage
    )


def _run(work: Work, parts: list[Part], count: int, engine: str, notes: Checkpoint, rows: int) -> None:
    """Does the tasks that are left, and notes them."""
    with bar("transform", total=rows, unit="rows") as advance:
        finished = sum(one["rows"] for one in notes.done.values())
        advance(finished)
        for part, done in _done(work, parts, count, engine):
            notes.note({"task": part.key, **asdict(done)})
            finished += done.rows
            advance(finished)


def _done(work: Work, parts: list[Part], count: int, engine: str) -> Iterator[tuple[Part, Done]]:
    if not parts:
        return
    if engine == "ray":
        from deeplake._compute.on_ray import done_by_ray

        yield from done_by_ray(work, parts, count)
    elif count == 0:
        for part in parts:
            yield part, work.do(part)
    else:
        with JobPool(work, min(count, len(parts))) as pool:
            yield from pool.run(parts)


def _report(done: list[dict[str, Any]]) -> None:
    skipped = sum(one["skipped"] for one in done)
    if not skipped:
        return
    print(f"  {skipped:,} rows were left out:", file=sys.stderr)
    reasons = [reason for one in done for reason in one["reasons"]]
    for number, reason in reasons[:_SHOWN]:
        print(printable(f"    row {number}: {reason}"), file=sys.stderr)
    if skipped > len(reasons[:_SHOWN]):
        print(f"    and {skipped - len(reasons[:_SHOWN]):,} more", file=sys.stderr)


class Compute:
    """A function with arguments, for rows of any dataset: what `deeplake.compute` makes."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Compute:
        """Returns the function with these arguments behind the row."""
        return Compute(_Bound(self._function, args, kwargs))

    def eval(self, source: View, into: str | os.PathLike[str] | None = None, **options: Any) -> Dataset:
        """Returns `deeplake.transform(source, function, into, **options)`."""
        return transform(source, self._function, into, **options)


class _Bound:
    """A function with arguments behind the row. It pickles if they do."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._function, self._args, self._kwargs = function, args, kwargs
        self.__qualname__ = getattr(function, "__qualname__", "function")

    def __call__(self, row: Any) -> Any:
        return self._function(row, *self._args, **self._kwargs)


def compute(function: Callable[..., Any]) -> Compute:
    """Makes a function of a row, and maybe of more arguments, one that whole datasets go through.

    Example:
        @deeplake.compute
        def resize(row, width, height):
            picture = Image.fromarray(row["images"]).resize((width, height))
            return {**row, "images": np.asarray(picture)}

        resize(256, 256).eval(ds, "flowers-256", workers=8)
    """
    return Compute(function)
