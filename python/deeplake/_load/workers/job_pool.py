"""Processes that do the tasks of a job, and are replaced if they die."""

from __future__ import annotations

import contextlib
import pickle
import selectors
import signal
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, TypeVar

from deeplake._errors import WorkerError
from deeplake._load.workers.failure import raised
from deeplake._load.workers.launch import Processes, how_ended
from deeplake._load.workers.task import Job

_T = TypeVar("_T")
_SLICE = 0.1  # seconds between two looks for Ctrl-C
_ATTEMPTS = 3  # of a task whose worker dies


class JobPool:
    """Worker processes for a job. As a context it ends them."""

    def __init__(self, job: Job, count: int) -> None:
        """Starts `count` workers.

        Raises:
            InvalidArgumentError: the job does not pickle.
            UnsupportedError: this is not Linux.
        """
        self._job = job
        self._workers: list[Processes] = []
        try:
            for _ in range(count):
                self._workers.append(Processes(job, 1, "spawn"))
        except BaseException:
            self.close()
            raise

    def run(self, tasks: Iterable[_T]) -> Iterator[tuple[_T, Any]]:
        """Yields each task with its result, as they are done.

        Raises:
            WorkerError: workers died in all attempts of a task.

        The exception of a task is raised as it is.
        """
        waiting = iter(tasks)
        again: list[tuple[_T, int]] = []  # tasks whose workers died, and the attempts so far
        doing: dict[int, tuple[_T, int]] = {}
        with selectors.DefaultSelector() as answers:

            def give(number: int) -> None:
                task = again.pop() if again else next(((one, 0) for one in waiting), None)
                if task is None:
                    return
                channel = self._workers[number].channels[0]
                doing[number] = task
                answers.register(channel, selectors.EVENT_READ, number)
                with contextlib.suppress(OSError):  # the worker has died: the channel ends
                    channel.send(pickle.dumps(task[0]))

            for number in range(len(self._workers)):
                give(number)
            while doing:
                for key, _ in answers.select(_SLICE):
                    number = key.data
                    task, attempts = doing.pop(number)
                    answers.unregister(key.fileobj)
                    got = self._workers[number].channels[0].receive()
                    value = None if got is None else pickle.loads(got[0])
                    if value is not None and value[0] == "failed":
                        raise WorkerError(f"{self._job.called}: a worker could not start:\n{value[1]}")
                    if value is None:
                        self._replace(number, task, attempts + 1)
                        again.append((task, attempts + 1))
                    elif value[1] is not None:
                        raise raised(value[1])
                    else:
                        yield task, value[0]
                    give(number)

    def _replace(self, number: int, task: Any, attempts: int) -> None:
        """Starts a worker in the place of one that has died."""
        dead = self._workers[number]
        code, _ = dead.why_ended(0)
        if attempts == _ATTEMPTS:
            why = "; the system may have run out of memory: take fewer workers" if code == -signal.SIGKILL else ""
            raise WorkerError(f"{self._job.called}: {task}: its worker {how_ended(code)}, in {attempts} attempts{why}")
        self._workers[number] = Processes(self._job, 1, "spawn")
        dead.close()

    def close(self) -> None:
        """Ends the workers, in the middle of a task too."""
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.close()

    def __enter__(self) -> JobPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
