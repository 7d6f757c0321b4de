"""The workers of a loader, and the tasks that they have."""

from __future__ import annotations

import contextlib
import os
import pickle
import selectors
import signal
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from deeplake import _native
from deeplake._errors import ClosedError, WorkerError
from deeplake._load.steps import Steps
from deeplake._load.workers.launch import Processes, how_ended
from deeplake._load.workers.task import Result, Task

# Files that a worker keeps mapped.
_MAPPED = 64
# Seconds of a wait between two looks for Ctrl-C.
_SLICE = 0.1


@dataclass
class _Pending:
    """A task on its way, and the memory that it uses."""

    worker: int
    rows: int
    memory: tuple[_native.Memory, ...]
    done: Callable[[Result], None]


class _Worker:
    """The facts of one worker, on the loader's side."""

    def __init__(self) -> None:
        self.rows = 0  # of the tasks on their way
        self.mapped: dict[int, None] = {}  # files, the one used last at the end


class _State:
    """Everything that the thread of a pool needs; it does not keep the pool alive."""

    def __init__(self, steps: Steps, count: int, start: str) -> None:
        self.processes = Processes(steps, count, start)
        self.changed = threading.Condition()
        self.tasks: dict[int, _Pending] = {}
        self.workers = [_Worker() for _ in range(count)]
        self.kept: list[_native.Memory] = []  # in which callables keep arrays
        self.broken = ""  # why no more results come
        self.closed = False
        self.next = 0

    def receive(self) -> None:
        """Takes results until a worker ends. Reports its own failure, else the loop would wait."""
        try:
            self._receive()
        except Exception as err:
            with self.changed:
                self.broken = f"load: the results of workers cannot be read: {type(err).__name__}: {err}"
                self.changed.notify_all()

    def _receive(self) -> None:
        with selectors.DefaultSelector() as waiting:
            for number, channel in enumerate(self.processes.channels):
                waiting.register(channel, selectors.EVENT_READ, number)
            while not self.closed:
                for key, _ in waiting.select():
                    if not self._take(key.data):
                        return

    def _take(self, number: int) -> bool:
        got = self.processes.channels[number].receive()
        value = None if got is None else pickle.loads(got[0])
        if not isinstance(value, Result):
            self._break(number, value)
            return False
        with self.changed:
            if self.closed:
                return False
            task = self.tasks.pop(value.number)
            self.workers[number].rows -= task.rows
            if value.kept:
                # No later batch may be decoded into it.
                self.kept.append(task.memory[0])
            task.done(value)
            self.changed.notify_all()
        return True

    def _break(self, number: int, value: Any) -> None:
        """Notes why no more results come."""
        if self.closed:
            return
        code, text = self.processes.why_ended(number) if value is None else (None, value[1])
        what = f"could not start:\n{text}" if text else _ending(code)
        with self.changed:
            self.broken = f"load: worker {number} {what}"
            self.changed.notify_all()


def _ending(code: int | None) -> str:
    """Returns how a process ended, and what may be done."""
    text = how_ended(code)
    if code == -signal.SIGKILL:
        return f"{text}; the system may have run out of memory: use fewer python_workers or smaller batches"
    return text if code is None or code < 0 else f"{text}: the transform left the interpreter"


class Pool:
    """Worker processes, from the first task until the pool is dropped."""

    def __init__(self, steps: Steps, count: int, start: str) -> None:
        self._state = _State(steps, count, start)
        self._owner = os.getpid()
        thread = threading.Thread(target=self._state.receive, name="deeplake-results", daemon=True)
        self._end = weakref.finalize(self, _close, self._state, thread, os.getpid())
        thread.start()

    @property
    def usable(self) -> bool:
        """Whether tasks can be given to it in this process."""
        return not self._state.broken and self._owner == os.getpid() and self._end.alive

    def close(self) -> None:
        """Ends the workers."""
        self._end()

    def submit(self, task: Task, rows: int, memory: tuple[_native.Memory, ...], done: Callable[[Result], None]) -> int:
        """Gives a task to the worker that has the fewest rows to do, and returns its number.

        Args:
            memory: that of the batch, and that for results.
            done: is called with the result, in a thread of the pool that holds `changed`.
        """
        state = self._state
        with state.changed:
            if state.broken:
                return 0  # `check` raises it
            task.number = state.next
            state.next += 1
            number = min(range(len(state.workers)), key=lambda one: state.workers[one].rows)
            worker = state.workers[number]
            worker.rows += rows
            files = self._files(worker, task, memory)
            state.tasks[task.number] = _Pending(number, rows, memory, done)
        with contextlib.suppress(OSError):  # the worker has ended: the thread of the pool notes why
            state.processes.channels[number].send(pickle.dumps(task), files)
        return number

    def _files(self, worker: _Worker, task: Task, memory: tuple[_native.Memory, ...]) -> list[int]:
        """Returns the files that a worker has not mapped yet, and lets it forget the oldest."""
        files: list[int] = []
        for one in memory:
            number = one.number
            if number not in worker.mapped:
                files.append(one.file)
                task.files.append((number, one.size))
            worker.mapped.pop(number, None)
            worker.mapped[number] = None
        while len(worker.mapped) > _MAPPED:
            oldest = next(iter(worker.mapped))
            del worker.mapped[oldest]
            task.forget.append(oldest)
        return files

    @property
    def changed(self) -> threading.Condition:
        """Is notified of each result."""
        return self._state.changed

    def check(self) -> None:
        """Raises WorkerError if no more results come. The caller holds `changed`."""
        if self._state.broken:
            raise WorkerError(self._state.broken)
        if self._state.closed:
            raise ClosedError("load: the workers of this loader are closed, as at the end of the interpreter")

    def wait(self) -> None:
        """Waits for a change, or a short time. The caller holds `changed`. Ctrl-C ends the wait,
        also where another library has set a handler that does not interrupt system calls.
        """
        self._state.changed.wait(_SLICE)


def _close(state: _State, thread: threading.Thread, owner: int) -> None:
    if owner != os.getpid():
        return  # a forked child has none of the processes
    with state.changed:
        state.closed = True
        state.changed.notify_all()
    state.processes.close()
    with state.changed:  # no worker writes to the memory of tasks any more
        state.tasks.clear()
        state.kept.clear()
    if thread is not threading.current_thread():
        thread.join()
    for channel in state.processes.channels:
        channel.close()
    if state.processes.control is not None:
        state.processes.control.close()
