"""Passes over a view, epoch after epoch, and batches of NumPy arrays."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from deeplake import _native
from deeplake._errors import CorruptError, InvalidArgumentError, UnsupportedError
from deeplake._load.assemble import EMPTY, Assembly, NumPy
from deeplake._load.device import device_of
from deeplake._load.figures import Work, prometheus, with_work, write_trace
from deeplake._load.figures import flat as _flat
from deeplake._load.plan import Options, Plan, check_int, cores
from deeplake._rows.source import Pinned, check_bfloat16

if TYPE_CHECKING:
    from deeplake._load.workers.pipeline import Pipeline, Run


class _Progress:
    """The progress of one iteration. It counts batches that the loop received, not those made
    ahead.
    """

    def __init__(self, epoch: int, position: int) -> None:
        self.epoch = epoch
        self._at = position, False
        # the next values of `_at`, one for each batch on its way
        self._ahead: deque[tuple[int, bool]] = deque()
        # where nothing is between core and consumer, it knows
        self._stream: _native.Stream | None = None

    @property
    def position(self) -> int:
        """Samples of the epoch, those of all ranks."""
        return self._at[0] if self._stream is None else self._stream.position

    @property
    def over(self) -> bool:
        """Whether the last batch was handed over."""
        return self._at[1] if self._stream is None else self._stream.last

    def made(self, batch: _native.Batch) -> _native.Batch:
        self._ahead.append((batch.position, batch.last))
        return batch

    def emptied(self) -> None:
        """Forgets the newest batch: it is not delivered, and the next one follows it."""
        self._ahead.pop()

    def handed(self, batch: Any) -> Any:
        self._at = self._ahead.popleft()
        return batch

    def follow(self, stream: _native.Stream) -> _native.Stream:
        self._stream = stream
        return stream

    def settle(self) -> None:
        """Releases the core. The figures stay."""
        self._at, self._stream = (self.position, self.over), None


class Passes:
    """Epochs over a view, for any host. `_assembly` decides the form of a batch."""

    _plan: Plan
    _assembly: Assembly
    _epoch: int = 0
    _start: int = 0  # the position in the epoch where the next iteration begins
    _newest: _Progress | None = None  # of the iteration that began last, until its end
    _workers: Pipeline | None = None  # for the work of Python
    _work: Work | None = None  # of Python, in the iteration that began last

    @property
    def epoch(self) -> int:
        """The epoch of the next iteration."""
        newest = self._newest
        return self._epoch + (newest is not None and newest.over and newest.epoch == self._epoch)

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch of the next iteration.

        The iteration covers the whole epoch, unless a loaded state is of this epoch.

        Args:
            epoch: its number, from 0 on.
        """
        check_int("epoch", epoch, 0)
        if epoch != self._epoch:
            self._start = 0
        if self._newest is not None and (self._newest.over or self._newest.epoch != epoch):
            self._newest = None
        self._epoch = epoch

    def __len__(self) -> int:
        """Returns the number of batches of an epoch, the same on every rank. `on_error="skip"` may
        drop some.
        """
        return self.steps()

    def steps(self) -> int:
        """Returns the number of batches of an epoch."""
        return self._plan.native().batches(self._pass_of(0, 0))

    def state_dict(self) -> dict[str, Any]:
        """Returns the progress of the newest iteration, less than 1 KB of JSON values.

        It counts the batches that the loop received, in samples of all ranks together. Every rank
        returns the same, so one of them needs to keep it. Beside epoch and position it identifies
        the rows and their order: dataset, commit, selection, and the options that decide the order.
        """
        newest = self._newest
        epoch, position = (self._epoch, self._start) if newest is None else (newest.epoch, newest.position)
        return self._plan.native().state(epoch, position)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues from a state: the next iteration gives the rest of its epoch.

        The number of ranks and threads, `prefetch`, the machine and even `batch_size` may differ.
        With the same `batch_size * world_size` the batches of all ranks together are the same.

        Args:
            state: the result of `state_dict`.

        Raises:
            InvalidArgumentError: the state is of other rows or another order. The message names the
                difference, and nothing changes.
        """
        if not isinstance(state, Mapping):
            raise InvalidArgumentError(
                f"load loader state: got a {type(state).__name__}, want what state_dict() returned"
            )
        self._epoch, self._start = self._plan.native().resume(dict(state))
        self._newest = None

    def stats(self, *, flat: bool = False) -> dict[str, Any]:
        """Returns the figures of the newest iteration.

        They are rates, the busy and waiting time of each stage in seconds, memory, and the rows
        that `on_error` left out or accepted. `bottleneck` names the slowest stage in one sentence.
        Hits and misses of a cache count over the loader's life.

        Args:
            flat: return numbers only, by names like "decode/busy_seconds", for TensorBoard and W&B.
        """
        stats = with_work(self._plan.native().stats(), self._work)
        return _flat(stats) if flat else stats

    def prometheus(self, **labels: str) -> str:
        """Returns the figures of the newest iteration in Prometheus' text format.

        Args:
            labels: labels of every figure.
        """
        return prometheus(self.stats(), labels)

    def _pass_of(self, epoch: int, position: int) -> dict[str, int]:
        """Returns the description of a pass for the core. The ranks are asked anew each time."""
        rank, world_size = self._plan.options.ranks()
        return {"epoch": epoch, "position": position, "rank": rank, "world_size": world_size}

    def _pass(self, *, whole: bool = False) -> Generator[Any, None, None]:
        """Yields the batches of one iteration; `whole` begins at the start of the epoch, whatever
        was loaded.
        """
        # A loop that takes as many batches as there are, and never asks for one more, has ended its
        # epoch as well.
        self._epoch = self.epoch
        progress = self._newest = _Progress(self._epoch, 0 if whole else self._start)
        self._start = 0
        pipeline = self._pipeline()  # its processes start while the core begins to read
        epoch = self._plan.native().start(self._pass_of(progress.epoch, progress.position))
        work = self._work = self._worked()
        run = None
        try:
            if pipeline is not None:
                skips = self._plan.options.on_error == "skip"
                run = pipeline.run(self._plan.native(), epoch, progress.epoch, skips)
                yield from self._from_workers(run, progress, work)
            else:
                # Nothing here holds on to a batch: its memory is used again as soon as the consumer
                # lets go of it.
                yield from self._handed(epoch, progress, work)
        finally:
            if run is not None:
                run.stop()
            epoch.close()
            if run is not None:
                run.join()
            if pipeline is not None and not pipeline.pool.usable:
                pipeline.pool.close()
                self._workers = None
            progress.settle()
            work.settle()
            self._write_trace(work)
        if self._epoch == progress.epoch:
            self._epoch = progress.epoch + 1
        if self._newest is progress:
            self._newest = None

    def _handed(self, epoch: _native.Epoch, progress: _Progress, work: Work) -> Iterator[Any]:
        """Returns the batches of an iteration, each of which counts once the consumer gets it."""
        if isinstance(self._assembly, Assembly) and work.spans is None and not self._is_watched():
            stream = self._assembly.stream(epoch, progress.position)
            if stream is not None:
                return progress.follow(work.follow(stream))
        native = map(progress.made, epoch)
        if not self._plan.in_python:
            return self._counted(map(work.timed(self._assembly), native), progress, work)
        skip = work.skip if self._plan.options.on_error == "skip" else None
        assembly = partial(self._assembly, skip=skip, accept=work.accept, epoch=progress.epoch)
        made = map(work.timed(assembly), native)
        return self._counted(made, progress, work)

    def _from_workers(self, run: Run, progress: _Progress, work: Work) -> Iterator[Any]:
        """Returns the batches of an iteration whose Python steps run in workers."""
        skip = work.skip if self._plan.options.on_error == "skip" else None
        done = run.finished(work, self._assembly.finished, skip)
        return self._counted(map(partial(_noted, progress), done), progress, work)

    def _counted(self, made: Iterator[Any], progress: _Progress, work: Work) -> Iterator[Any]:
        """Returns the batches with rows, each of which counts once the consumer gets it."""
        if self._plan.skips_in_python:
            made = filter(partial(self._remains, progress, work), made)
        return map(progress.handed, self._watched(made))

    def _pipeline(self) -> Pipeline | None:
        """Returns the workers of this loader, which it starts if need be; None: it has none."""
        count = self._plan.workers
        if not count:
            return None
        if self._workers is None or not self._workers.pool.usable:
            from deeplake._load.workers.pipeline import Pipeline
            from deeplake._load.workers.pool import Pool

            steps, options = self._assembly.steps, self._plan.options
            pool = Pool(steps, count, options.worker_start)
            self._workers = Pipeline(steps, self._plan.in_python, pool, count, self._plan.ahead)
        return self._workers

    def _remains(self, progress: _Progress, work: Work, batch: Any) -> bool:
        """Drops a batch of which every row was left out. Where other ranks take the same step there
        must be one.
        """
        if batch is not EMPTY:
            return True
        progress.emptied()
        work.emptied += 1
        rank, world_size = self._plan.options.ranks()
        if world_size > 1:
            raise CorruptError(
                f"load a batch on rank {rank} of {world_size}: none of its rows can be read, and without a batch this "
                "rank would lose step with the others; use a larger batch_size, or leave the rows out of the view; the "
                f"last of them: {work.last}"
            )
        return False

    def _worked(self) -> Work:
        work = Work()
        work.workers = self._plan.workers
        work.warned = self._work is not None and self._work.warned
        work.warns = not work.warned and bool(self._plan.in_python) and not work.workers and cores() > 1
        if self._plan.options.trace is not None:
            before = self._work.spans if self._work is not None else None
            work.spans = before or []
        return work

    def _write_trace(self, work: Work) -> None:
        options = self._plan.options
        if options.trace is not None:
            write_trace(options.trace, self._plan.native().trace(), work, *options.ranks())

    def _is_watched(self) -> bool:
        """Returns whether `_watched` does anything."""
        return self._plan.options.progress

    def _watched(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Returns the same batches, with a progress line if one is wanted."""
        if self._plan.options.progress:
            from deeplake._progress import tracked

            return tracked(batches, self._left(), f"epoch {self._epoch}", self.stats)
        return batches

    def _left(self) -> int:
        """Returns the number of batches that the newest iteration had before it."""
        newest = self._newest
        return self._plan.native().batches(self._pass_of(0, 0 if newest is None else newest.position))


class Batches(Passes):
    """Batches of NumPy arrays, from `View.batches`. Each iteration is an epoch; several may run at
    once.
    """

    def __init__(self, source: Pinned, options: Options) -> None:
        self._plan = Plan(source, options)
        device = device_of(options.device)
        if device is None:
            check_bfloat16(source.tensors(), self._plan.names)
        elif self._plan.device is None:
            why = "a Python function makes them on the CPU" if device.kind == "cuda" else "only torch has such devices"
            raise UnsupportedError(f"load on device {device}: {why}; use pytorch(device=...), or leave device out")
        self._assembly = Assembly(self._plan, NumPy(self._plan.times))

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _batches, (self._plan.source, self._plan.options, self.epoch, self._start)

    def __iter__(self) -> Generator[Any, None, None]:
        return self._pass()

    def __repr__(self) -> str:
        return describe("Batches", self._plan, self.epoch)


def _noted(progress: _Progress, made: tuple[_native.Batch, Any]) -> Any:
    """Returns a batch for the loop, and notes that it was made of one of the core."""
    progress.made(made[0])
    return made[1]


def _batches(source: Pinned, options: Options, epoch: int, start: int) -> Batches:
    batches = Batches(source, options)
    batches._epoch, batches._start = epoch, start
    return batches


def describe(kind: str, plan: Plan, epoch: int) -> str:
    """Returns a description of a loader, in one line."""
    rows, size = plan.source.length(), plan.options.batch_size
    order = f"shuffle={plan.options.shuffle!r}, seed={plan.options.seed}, " if plan.options.shuffle else ""
    names = ", ".join(plan.names)
    rank, world_size = plan.options.ranks()
    where = f", rank {rank} of {world_size}" if world_size > 1 else ""
    return f"{kind}({rows:,} rows of {plan.source.uri} in batches of {size}{where}: {names}; {order}epoch {epoch})"
