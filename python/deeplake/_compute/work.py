"""The tasks of a transform: rows through a function, and its results into a fragment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deeplake import _index
from deeplake._compute.target import SKIPPED, Columns, Rows
from deeplake._data.committing import DistributedWrite
from deeplake._data.reading import Reading
from deeplake._errors import InvalidArgumentError, UnsupportedError
from deeplake._load.seeds import Generators, row_seeds
from deeplake._load.workers.task import Job
from deeplake._rows.row import rows_at
from deeplake._samples.sample import Sample
from deeplake._stores.carried import Carried

_BLOCK = 64  # rows that are read together
_SHOWN = 10  # reasons for rows that are left out
_FILES = ("jpeg", "png", "webp")


@dataclass(frozen=True)
class Part:
    """A task: the rows [start, stop) of the source."""

    start: int
    stop: int

    @property
    def key(self) -> str:
        """The key of the task."""
        return f"rows {self.start} to {self.stop}"

    def __str__(self) -> str:
        return self.key


@dataclass
class Done:
    """The result of a task."""

    fragment: str  # the text
    rows: int  # that were read
    skipped: int
    reasons: list[tuple[int, str]] = field(default_factory=list)  # the first ones, by row


@dataclass
class Work(Job):
    """Rows through a function. It pickles if the function does."""

    called = "transform"

    source: Any
    write: DistributedWrite
    function: Callable[..., Any]
    columns: tuple[str, ...]
    schema: Mapping[str, Any]
    batch_size: int | None
    skips: bool
    adds_columns: bool  # results are columns of the rows of the source
    seed: int
    _made: list[Any] = field(default_factory=list)

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self.source, self.write, self.function, self.columns, self.schema, self.batch_size, self.skips)
        stores = (self.source._source.pinned().version.storage, self.write._stores)
        return _arrived, ((*parts, self.adds_columns, self.seed), *map(Carried, stores))

    @property
    def callable(self) -> Callable[[Any], Any]:
        """The function. Of a class an object, which this process keeps."""
        if not self._made:
            function = self.function
            made = function() if isinstance(function, type) else function
            self._made = [made, Generators([made])]
        called: Callable[[Any], Any] = self._made[0]
        return called

    @property
    def generators(self) -> Generators:  # type: ignore[override]
        """The generators that the function draws from."""
        _ = self.callable
        made: Generators = self._made[1]
        return made

    def do(self, task: Part) -> Done:
        """Returns the fragment of a task."""
        done = Done("", task.stop - task.start, 0)
        with self.write.task(task.key) as out:
            try:
                target = Columns(out, self) if self.adds_columns else Rows(out, self)
                for rows, results in self._results(task, done):
                    target.take(rows, results)
                target.flush()
                done.fragment = out.fragment().text
            except BaseException:
                out.discard()
                raise
        return done

    def _results(self, task: Part, done: Done) -> Iterator[tuple[range, list[Any]]]:
        """Yields rows of the source with the results of the function, one for each call."""
        step = self.batch_size or _BLOCK
        for start in range(task.start, task.stop, step):
            rows = range(start, min(start + step, task.stop))
            given = self._given(rows)
            numbers = row_seeds(self.seed, 0, np.arange(rows.start, rows.stop, dtype=np.int64), None)
            if self.batch_size:
                unread = [row for row in given if isinstance(row, _Unread)]
                if unread:
                    if self.adds_columns:
                        raise unread[0].error  # a batch has all of its rows
                    done.skipped += len(unread)
                    for row in unread[: _SHOWN - len(done.reasons)]:
                        done.reasons.append((row.number, f"{type(row.error).__name__}: {row.error}"))
                    given = [row for row in given if not isinstance(row, _Unread)]
                    if not given:
                        continue
                batch = {name: _stacked([row[name] for row in given]) for name in self.columns}
                yield rows, self._called([batch], rows[:1], numbers[:1], done, len(rows))
            else:
                yield rows, self._called(given, rows, numbers, done, 1)

    def _given(self, rows: range) -> list[dict[str, Any]]:
        read = rows_at(self.source._source, rows)
        given = []
        for number, row in zip(rows, read, strict=True):
            try:
                given.append({name: row[name] for name in self.columns})
            except Exception as err:
                if not self.skips:
                    raise
                given.append(_Unread(number, err))
        return given

    def _called(self, given: list[Any], rows: range, seeds: list[int], done: Done, each: int) -> list[Any]:
        """Returns the results of the function, which takes `each` rows at a time."""
        results: list[Any] = []
        function = self.callable
        files = set() if self.batch_size else _encoded(self.source).intersection(self.columns)
        with self.generators:
            for number, value, seed in zip(rows, given, seeds, strict=True):
                try:
                    if isinstance(value, _Unread):
                        raise value.error
                    self.generators.seed(seed)
                    got = {name: value[name] for name in files}
                    result = function(value)
                    results.append(_own(result) if self.batch_size else _listed(result, number, got, self))
                except StopIteration as err:
                    raise InvalidArgumentError("transform: the function raised StopIteration") from err
                except Exception as err:
                    if not self.skips:
                        if hasattr(err, "add_note"):
                            err.add_note(f"transform: row {number} of the source")
                        raise
                    done.skipped += each
                    if len(done.reasons) < _SHOWN:
                        done.reasons.append((number, f"{type(err).__name__}: {err}"))
                    results.append(SKIPPED)
        return results


def _arrived(parts: tuple[Any, ...], source: Carried, target: Carried) -> Work:
    """Returns the work in another process, with the settings of both stores."""
    work = Work(*parts)
    work.source._source.pinned().version.storage = source.stores
    work.write._stores = target.stores
    return work


class _Unread(dict[str, Any]):
    """A row that cannot be read."""

    def __init__(self, number: int, error: Exception) -> None:
        super().__init__()
        self.number, self.error = number, error


def _stacked(values: list[Any]) -> Any:
    """Returns samples as one array, if they are arrays or numbers of one shape and dtype."""
    first = values[0]
    if isinstance(first, np.ndarray | np.generic) and all(
        isinstance(value, np.ndarray | np.generic) and value.dtype == first.dtype and value.shape == first.shape
        for value in values
    ):
        return np.stack(values)
    return values


def _own(value: Any) -> Any:
    """Returns a copy of a result, which the function may change or return again."""
    if isinstance(value, Mapping):
        return {name: _own(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_own(part) for part in value]
    if hasattr(value, "detach") and hasattr(value, "clone"):  # of torch
        return value.detach().clone()
    if isinstance(value, np.ndarray | bytearray) or type(value).__module__.startswith("PIL."):
        return value.copy()
    return value


def _listed(result: Any, row: int, got: Mapping[str, Any], work: Work) -> Any:
    """Returns the results for a row: a dict, a list of dicts, or None."""
    if result is None or isinstance(result, str | bytes) or not hasattr(result, "__iter__"):
        return result
    if isinstance(result, Mapping):
        return _stored(result, row, got, work)
    return [_stored(one, row, got, work) for one in result]


def _stored(result: Any, row: int, got: Mapping[str, Any], work: Work) -> Any:
    """Returns a copy of a result, with the stored files in the place of images that are as the
    function got them: they are not encoded again.

    Args:
        got: the images that the function got, which it may have changed.
    """
    if not isinstance(result, Mapping):
        return result
    found = {}
    for name, value in result.items():
        mine: Any = got.get(name)
        if isinstance(value, np.ndarray) and value is mine:
            was = rows_at(work.source._source, range(row, row + 1))[0][name]
            if np.array_equal(value, was):
                with suppress(UnsupportedError):  # it is stored in tiles
                    file = work.source._source.column(name).bytes_many(_index.as_array(range(row, row + 1)))[0]
                    found[name] = Sample(file)
                    continue
        found[name] = _own(value)
    return found


def _encoded(source: Reading) -> set[str]:
    """Returns the tensors whose samples are files."""
    return {
        name
        for name, about in source._source.tensors().items()
        if about["compression"] in _FILES and not about["sequence"]
    }
