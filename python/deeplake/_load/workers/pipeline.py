"""Batches whose Python steps run in workers: tasks out, results in, in the order of the batches."""

from __future__ import annotations

import pickle
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from deeplake import _native
from deeplake._errors import InvalidArgumentError
from deeplake._load.steps import Made, Skip, Steps
from deeplake._load.workers.failure import raised
from deeplake._load.workers.memory import Spec, Target, aligned, fill, load, part_of, samples_of
from deeplake._load.workers.pool import Pool
from deeplake._load.workers.task import Part, Result, Task, common_specs, divided

# Memory for arrays without a place, as a multiple of that of the rows of earlier batches.
_SPARE = 1.25
# Seconds to wait for the thread of a pass: a worker that is busy may not take a task for long.
_PATIENCE = 0.1


class Finish(Protocol):
    """Makes the batch that the loop gets, in its form."""

    def __call__(self, batch: _native.Batch, made: Made, placed: dict[str, _native.Array], skip: Skip | None) -> Any:
        """Returns a batch.

        Args:
            made: the results; columns in `placed` are None.
            placed: whole columns in memory of the loader.
        """


@dataclass
class _Share:
    """The rows of a batch that one worker has."""

    rows: slice
    worker: int = 0
    result: Result | None = None


@dataclass
class _Job:
    """A batch on its way."""

    batch: _native.Batch
    layout: dict[str, dict[str, Any]]  # of the tensors that the steps see
    marks: dict[str, Any]
    memory: _native.Memory | None = None  # for results
    columns: dict[str, tuple[Spec, int]] = field(default_factory=dict)  # the places in it
    shares: list[_Share] = field(default_factory=list)

    @property
    def done(self) -> bool:
        return all(share.result is not None for share in self.shares)


@dataclass(frozen=True)
class How:
    """The facts of a pass."""

    loader: _native.Loader
    epoch: int
    skips: bool


class Work(Protocol):
    """Is told what workers did."""

    def add(self, worker: int, began: int, seconds: float, refused: int) -> None:
        """Counts the time of a share of a batch, and its arrays that had no place.

        Args:
            began: nanoseconds since 1970.
        """

    def skip(self, row: int, tensor: str, failure: Exception) -> None:
        """Notes that a row was left out."""

    def accept(self, row: int, tensor: str, error: str) -> None:
        """Notes that a row of a damaged file was accepted."""


class Pipeline:
    """The batches of a loader, with their Python steps in the workers of a pool."""

    def __init__(self, steps: Steps, names: set[str], pool: Pool, count: int, ahead: int) -> None:
        """
        Args:
            names: the tensors that the steps see.
            count: workers.
            ahead: batches that are with the workers at once.
        """
        self._steps, self._names, self._pool = steps, names, pool
        self._count, self.ahead = count, ahead
        # The specs of the last batch, which those of the next one probably equal.
        self._specs: dict[str, Spec] = {}
        self._spare = 0  # bytes a row
        self._known = False  # there was a batch

    @property
    def pool(self) -> Pool:
        """The workers."""
        return self._pool

    def run(self, loader: _native.Loader, epoch: _native.Epoch, number: int, skips: bool) -> Run:
        """Starts the work on the batches of a pass.

        Args:
            loader: gives the memory for results.
            number: of the epoch, for the random numbers.
            skips: rows that cannot be read are left out.
        """
        return Run(self, epoch, How(loader, number, skips))

    def job(self, batch: _native.Batch, how: How, stopped: Callable[[], bool]) -> _Job:
        """Gives a batch to the workers.

        The first batch of a loader waits for the result of its first row, which tells the form of
        the others; `stopped` ends the wait.
        """
        layout = batch.layout()
        marks: dict[str, Any] = {
            name: batch.memory.array(layout[name]["begin"], layout[name]["dtype"], layout[name]["shape"]).numpy()
            for name in ("_index", "_source", "_valid")
            if name in layout and name not in self._names
        }
        columns = {name: column for name, column in layout.items() if name in self._names}
        job, begin = _Job(batch, columns, marks), 0
        if not self._known and not self._steps.whole:
            begin = self._probe(job, how, stopped)
        size = self._place(job)
        spare = aligned(self._spare)
        if size + spare > 0:
            job.memory = how.loader.memory(size + spare * len(batch))
        for rows in divided(begin, len(batch), 1 if self._steps.whole else self._count):
            target = Target(
                {name: (spec, at + rows.start * spec.nbytes) for name, (spec, at) in job.columns.items()},
                size + spare * rows.start,
                size + spare * rows.stop,
            )
            self._submit(job, rows, how, target)
        return job

    def _probe(self, job: _Job, how: How, stopped: Callable[[], bool]) -> int:
        """Learns the form of results from one row. Returns the number of rows that are done."""
        self._submit(job, slice(0, 1), how, Target())
        share = job.shares[0]
        with self._pool.changed:
            while share.result is None and self._pool.usable and not stopped():
                self._pool.wait()
        if share.result is not None and share.result.failure is None:
            part: Part = load(share.result.data, _Reader(None))
            self._specs, self._spare, self._known = common_specs([part]), int(share.result.wanted * _SPARE), True
        return 1

    def _submit(self, job: _Job, rows: slice, how: How, target: Target) -> None:
        """Gives rows of a batch to a worker."""
        share = _Share(rows)
        job.shares.append(share)
        memory = (job.batch.memory,) if job.memory is None else (job.batch.memory, job.memory)
        task = Task(
            0,
            memory[0].number,
            {name: part_of(column, rows) for name, column in job.layout.items()},
            {name: values[rows] for name, values in job.marks.items()},
            how.epoch,
            how.skips,
            None if job.memory is None else job.memory.number,
            target,
        )
        share.worker = self._pool.submit(task, rows.stop - rows.start, memory, _Done(share))

    def _place(self, job: _Job) -> int:
        """Gives the expected columns their places, and returns the bytes that these take."""
        at = 0
        for name, spec in self._specs.items():
            if spec.nbytes:  # arrays without elements come within the message
                job.columns[name] = spec, at
                at += aligned(spec.nbytes * len(job.batch))
        return at

    def finished(self, job: _Job, work: Work, finish: Finish, skip: Skip | None) -> Any:
        """Returns the batch of a job that is done. The first failure of its rows is raised."""
        parts: list[Part] = []
        wanted = 0
        for share in job.shares:
            result = share.result
            assert result is not None
            work.add(share.worker, result.began, result.seconds, result.refused)
            if result.failure is not None:
                raise raised(result.failure)
            parts.append(load(result.data, _Reader(job.memory)))
            if result.copies:
                parts[-1].columns |= pickle.loads(result.copies)
                parts[-1].same.clear()
            self._fill(job, share, parts[-1])
            rows = share.rows.stop - share.rows.start
            wanted = max(wanted, -(-result.wanted // max(rows, 1)))
            for row, tensor, failure in parts[-1].skipped:
                work.skip(row, tensor, failure)
            for row, tensor, error in parts[-1].accepted:
                work.accept(row, tensor, error)
        self._spare = max(self._spare, int(wanted * _SPARE))
        self._specs = common_specs(parts)
        if parts[0].collated:
            return finish(job.batch, Made({}, parts[0].places, collated=True, value=parts[0].value), {}, skip)
        made, placed = self._joined(job, parts)
        return finish(job.batch, made, placed, skip)

    def _fill(self, job: _Job, share: _Share, part: Part) -> None:
        """Puts the results of the first row, which had no places yet, into theirs."""
        if share.rows != slice(0, 1) or job.memory is None or part.places is not None:
            return
        for name, (spec, at) in job.columns.items():
            if name in part.columns and part.specs[name] == spec:
                fill(job.memory.array(at, spec.dtype, (1, *spec.shape)).numpy(), part.columns.pop(name))

    def _joined(self, job: _Job, parts: list[Part]) -> tuple[Made, dict[str, _native.Array]]:
        """Returns the results of all shares as one."""
        places = _joined_places(job, parts)
        filled = [part for part in parts if part.places != []]
        names = filled[0].names if filled else []
        for part in filled:
            if set(part.names) != set(names):
                raise InvalidArgumentError(
                    f"load: the transform returned the keys {sorted(part.names)} for some rows and {sorted(names)} for "
                    "others; want the same for every row"
                )
        columns: dict[str, Any] = {}
        placed: dict[str, _native.Array] = {}
        for name in names:
            array = self._whole(job, name, parts)
            if array is not None:
                placed[name] = array
                columns[name] = None  # its place in the order
                continue
            if len(parts) == 1:
                columns[name] = parts[0].columns[name]  # of any kind
                continue
            column: list[Any] = []
            for share, part in zip(job.shares, parts, strict=True):
                if part.places == []:
                    continue
                column += part.columns[name] if name in part.columns else self._values(job, part, name, share.rows)
            columns[name] = column
        return Made(columns, places), placed

    def _whole(self, job: _Job, name: str, parts: list[Part]) -> _native.Array | None:
        """Returns the array of a column whose values lie end to end, in place or in the batch."""
        if any(part.places == [] or name in part.columns for part in parts):
            return None
        sources = {part.same.get(name) for part in parts}
        source = sources.pop()
        if source is None and not sources:
            spec, at = job.columns[name]
            assert job.memory is not None
            return job.memory.array(at, spec.dtype, (len(job.batch), *spec.shape))
        form = parts[0].specs[name]
        if source is None or sources or form is None or any(part.specs[name] != form for part in parts):
            return None
        offsets = job.layout[source]["offsets"]
        if not np.array_equal(offsets - offsets[0], np.arange(len(job.batch)) * form.nbytes):
            return None
        at = job.layout[source]["begin"] + int(offsets[0])
        return job.batch.memory.array(at, form.dtype, (len(job.batch), *form.shape))

    def _values(self, job: _Job, part: Part, name: str, rows: slice) -> list[Any]:
        """Returns the values that a worker has left in the batch or written to their places."""
        if name in part.same:
            return samples_of(
                job.batch.memory.array(0, "uint8", (job.batch.memory.size,)).numpy(),
                part_of(job.layout[part.same[name]], rows),
            )
        spec, at = job.columns[name]
        assert job.memory is not None
        count = rows.stop - rows.start
        array = job.memory.array(at + rows.start * spec.nbytes, spec.dtype, (count, *spec.shape)).numpy()
        return [array[i, ...] for i in range(count)]


class _Done:
    """Takes the result of a share."""

    def __init__(self, share: _Share) -> None:
        self._share = share

    def __call__(self, result: Result) -> None:
        self._share.result = result


class _Reader:
    """Reads arrays out of the memory of a job."""

    def __init__(self, memory: _native.Memory | None) -> None:
        self._memory = memory

    def __call__(self, offset: int, dtype: str, shape: tuple[int, ...]) -> Any:
        assert self._memory is not None
        return self._memory.array(offset, dtype, shape).numpy()


class Run:
    """The batches of one pass. A thread takes them from the core and gives them to the workers."""

    def __init__(self, pipeline: Pipeline, epoch: _native.Epoch, how: How) -> None:
        self._pipeline, self._epoch, self._how = pipeline, epoch, how
        self._changed = pipeline.pool.changed
        self._jobs: deque[_Job] = deque()
        self._free = pipeline.ahead
        self._end: BaseException | None = None
        self._over = self._stopped = False
        self._feeder = threading.Thread(target=self._feed, name="deeplake-batches", daemon=True)
        self._feeder.start()

    def _feed(self) -> None:
        end: BaseException | None = None
        try:
            for batch in self._epoch:
                if not self._take_place():
                    return
                job = self._pipeline.job(batch, self._how, lambda: self._stopped)
                with self._changed:
                    self._jobs.append(job)
                    self._changed.notify_all()
                del job, batch
        except BaseException as err:
            end = err
        with self._changed:
            self._end, self._over = end, True
            self._changed.notify_all()

    def _take_place(self) -> bool:
        with self._changed:
            while self._free == 0 and not self._stopped:
                self._pipeline.pool.wait()
            self._free -= 1
            return not self._stopped

    def _next(self) -> _Job | None:
        """Waits for the next batch; None: it was the last. What comes behind a failure is lost."""
        with self._changed:
            while not (self._jobs and self._jobs[0].done):
                if self._over and not self._jobs:
                    self._raise_end()
                    return None
                self._pipeline.pool.check()
                self._pipeline.pool.wait()
            return self._jobs.popleft()

    def _raise_end(self) -> None:
        """Raises the failure of the core, if there is one."""
        end, self._end = self._end, None
        try:
            if end is not None:
                raise end
        finally:
            del end  # it knows this frame, and both would keep the loader

    def finished(self, work: Work, finish: Finish, skip: Skip | None) -> Iterator[tuple[_native.Batch, Any]]:
        """Yields each batch of the core with the batch for the loop."""
        while (job := self._next()) is not None:
            batch, done = job.batch, self._pipeline.finished(job, work, finish, skip)
            del job
            with self._changed:  # the next batch knows the form of these results
                self._free += 1
                self._changed.notify_all()
            yield batch, done
            del batch, done

    def stop(self) -> None:
        """Lets the thread end as soon as the core gives no more batches."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def join(self) -> None:
        """Waits for the thread. The epoch of the core was closed before."""
        self._feeder.join(_PATIENCE)
        self._jobs.clear()


def _joined_places(job: _Job, parts: list[Part]) -> list[int] | None:
    if all(part.places is None for part in parts):
        return None
    places: list[int] = []
    for share, part in zip(job.shares, parts, strict=True):
        own = range(share.rows.stop - share.rows.start) if part.places is None else part.places
        places += [share.rows.start + place for place in own]
    return places
