"""The processes: workers, and the server that workers are forked from."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import socket
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from operator import is_
from time import perf_counter
from typing import Any

import cloudpickle

from deeplake._load.steps import Steps
from deeplake._load.workers.channel import Channel
from deeplake._load.workers.memory import Maps, common_spec, dump, is_dense, samples_of, write
from deeplake._load.workers.task import Failure, Job, Part, Result, Task

# Seconds for workers to end by themselves once their loader has ended.
_GRACE = 0.05


@dataclass
class Setup:
    """The first message to a new process."""

    argv: list[str]
    steps: bytes  # a pickle of Steps
    number: int  # of the worker; -1: a server
    count: int  # workers


def main(connection: int, life: int) -> None:
    """Runs a process that the loader has started by a new interpreter.

    Args:
        connection: the descriptor of the socket to the loader.
        life: the descriptor of a pipe without data. It ends with the loader.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the loader handles Ctrl-C
    channel = Channel(socket.socket(fileno=connection))
    got = channel.receive()
    if got is None:
        return
    setup: Setup = pickle.loads(got[0])
    sys.argv[:] = setup.argv
    try:
        steps = pickle.loads(setup.steps)
    except BaseException:
        channel.send(pickle.dumps(("failed", traceback.format_exc())))
        return
    if setup.number < 0:
        _serve(channel, life, steps, setup.count)
    else:
        work(channel, life, steps, setup.number, setup.count)


def _settle(steps: Steps | Job) -> None:
    """Makes the libraries of a process use one thread: there is a process for each core."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)
    opencv = sys.modules.get("cv2")
    if opencv is not None:
        opencv.setNumThreads(0)
    _ = steps.generators


def _serve(control: Channel, life: int, steps: Steps | Job, count: int) -> None:
    """Forks workers. They share the modules that the steps have imported."""
    children: dict[int, int] = {}
    _ = steps.generators
    gc.collect()
    gc.freeze()
    while (got := control.receive()) is not None:
        (verb, number), files = pickle.loads(got[0]), got[1]
        if verb == "start":
            child = os.fork()
            if child == 0:
                control.close()
                run_child(Channel(socket.socket(fileno=files[0])), life, steps, number, count)
            os.close(files[0])
            children[number] = child
        else:
            control.send(pickle.dumps(("ended", number, ended(children.pop(number)))))
    time.sleep(_GRACE)
    for child in children.values():
        try:
            os.kill(child, signal.SIGKILL)
        except ProcessLookupError:
            continue


def run_child(channel: Channel, life: int, steps: Steps | Job, number: int, count: int) -> None:
    """Runs a worker in a forked process, and ends the process."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        work(channel, life, steps, number, count)
        status = 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def ended(pid: int) -> int:
    """Returns the exit code of a child that is ending, negative for a signal."""
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def work(channel: Channel, life: int, steps: Steps | Job, number: int, count: int) -> None:
    """Carries out tasks until the loader is gone."""
    threading.Thread(target=_watch, args=(life,), daemon=True).start()
    if isinstance(steps, Job):
        _do(channel, steps)
        return
    _settle(steps)
    worker = _Worker(steps, number, count)
    while (got := channel.receive()) is not None:
        task: Task = pickle.loads(got[0])
        worker.map(task, got[1])
        result = worker.run(task)
        try:
            channel.send(pickle.dumps(result))
        except OSError:
            return  # the loader has ended


def _do(channel: Channel, job: Job) -> None:
    """Carries out the tasks of a job. Failures are results."""
    is_settled = False
    while (got := channel.receive()) is not None:
        try:
            if not is_settled:  # here, as the function may be a class that fails
                _settle(job)
                is_settled = True
            answer = pickle.dumps((job.do(pickle.loads(got[0])), None))
        except BaseException as err:  # a callable may call sys.exit
            answer = pickle.dumps((None, _failure(err)))
        try:
            channel.send(answer)
        except OSError:
            return  # the program has ended


def _watch(life: int) -> None:
    """Ends the process with the loader, even in the middle of a callable."""
    os.read(life, 1)
    os._exit(1)


class _Worker:
    """Runs the steps on tasks, one after the other."""

    def __init__(self, steps: Steps, number: int, count: int) -> None:
        self._steps = steps
        self._number, self._count = number, count
        self._maps = Maps()
        self._told = False  # torch who this worker is
        # The callables keep samples, which must therefore lie in memory of their own.
        self._copies = False
        self._same: dict[str, str] = {}  # of the last task: see Part

    def map(self, task: Task, files: list[int]) -> None:
        """Maps the new files of a task, and lets go of others."""
        self._maps.forget(task.forget)
        for (number, size), file in zip(task.files, files, strict=True):
            self._maps.add(number, file, size)
            os.close(file)

    def run(self, task: Task) -> Result:
        """Returns the result of a task. Failures of callables are results."""
        self._tell(task)
        memory = self._maps[task.memory]
        began, began_ns = perf_counter(), time.time_ns()
        held: list[Any] = []
        self._same = {}
        try:
            columns = {name: samples_of(memory, column) for name, column in task.columns.items()}
            if self._copies:
                columns = {name: _copied(column) for name, column in columns.items()}
            else:
                held = _arrays(list(columns.values()))
            result = self._result(task, columns)
            columns = {}
        except BaseException as err:  # a callable may call sys.exit
            result = Result(task.number, 0, 0, failure=_failure(err))
        result.began, result.seconds = began_ns, perf_counter() - began
        result.kept = self._copies = self._copies or any(sys.getrefcount(array) > 3 for array in held)
        if result.kept and self._same:  # before the callables can change them
            copies = {name: _copied(samples_of(memory, task.columns[source])) for name, source in self._same.items()}
            result.copies = pickle.dumps(copies, 5)
        return result

    def _result(self, task: Task, columns: dict[str, Any]) -> Result:
        skipped: list[tuple[int, str, Exception]] = []
        skip = (lambda row, tensor, failure: skipped.append((row, tensor, failure))) if task.skips else None
        accepted: list[tuple[int, str, str]] = []

        def accept(row: int, tensor: str, error: str) -> None:
            accepted.append((row, tensor, error))

        given = {name: list(column) for name, column in columns.items()}  # callables may change a list
        made = self._steps.run(columns, task.marks, task.epoch, skip, accept)
        specs = {name: common_spec(column) for name, column in made.columns.items()}
        if not self._copies and made.places is None:
            self._same = _unchanged(task.columns, given, made.columns)
        part = Part(
            {}, self._same, list(made.columns), specs, made.places, made.collated, made.value, skipped, accepted
        )
        memory = None if task.results is None else self._maps[task.results]
        for name, column in made.columns.items():
            place = task.target.columns.get(name)
            if name in self._same:
                continue
            if made.places is None and place is not None and place[0] == specs[name]:
                write(memory, place[1], place[0], column)
            else:
                part.columns[name] = column
        data, wanted, refused = dump(part, memory, task.target)
        return Result(task.number, 0, 0, data, wanted, refused)

    def _tell(self, task: Task) -> None:
        """Tells torch which worker this is, as its own DataLoader does."""
        data = sys.modules.get("torch.utils.data")
        if self._told or data is None:
            return
        from torch.utils.data._utils import worker

        worker._worker_info = worker.WorkerInfo(
            id=self._number, num_workers=self._count, seed=self._steps.seed, dataset=None
        )
        self._told = True
        _settle(self._steps)


def _unchanged(layout: dict[str, dict[str, Any]], given: dict[str, Any], made: dict[str, Any]) -> dict[str, str]:
    """Returns the tensor of each column that has its samples unchanged, if they lie end to end.

    No two columns have the same tensor: they would be one array.
    """
    found: dict[str, str] = {}
    left = {name: values for name, values in given.items() if is_dense(layout[name], values)}
    for name, column in made.items():
        for source, values in left.items():
            if isinstance(column, list) and len(column) == len(values) and all(map(is_, column, values)):
                found[name] = source
                del left[source]
                break
    return found


def _copied(value: Any) -> Any:
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value.copy() if hasattr(value, "copy") else value


def _arrays(values: list[Any]) -> list[Any]:
    """Returns the arrays that lie in the memory of the batch."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, list):
            found += _arrays(value)
        elif getattr(value, "base", None) is not None:
            found.append(value)
    return found


def _failure(err: BaseException) -> Failure:
    pickled: bytes | None = None
    try:
        pickled = cloudpickle.dumps(err)
        if type(pickle.loads(pickled)) is not type(err):
            pickled = None
    except Exception:
        pickled = None  # its summary must do
    summary = "".join(traceback.format_exception_only(type(err), err)).strip()
    text = "".join(traceback.format_exception(type(err), err, err.__traceback__))
    return Failure(pickled, summary, text, list(getattr(err, "__notes__", ())))
