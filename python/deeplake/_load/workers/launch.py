"""Starting the processes of a loader, and ending them.

Nothing has a name. Connections are pairs of sockets. A pipe without data ends with the loader, and
its end tells the workers that the loader is gone. Another one ends with the last worker, which then
writes to no memory any more.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import time
import warnings
from multiprocessing.spawn import get_executable
from pathlib import Path

import cloudpickle

from deeplake._errors import InvalidArgumentError, UnsupportedError
from deeplake._load.steps import Steps
from deeplake._load.workers.channel import Channel
from deeplake._load.workers.process import Setup, ended, run_child
from deeplake._load.workers.task import Job

# Before sys.path is set, an import would search the current folder. sys is built in.
_BOOT = (
    "import sys; sys.path[:] = eval(sys.argv[1]); a = [int(x) for x in sys.argv[2:]]; sys.argv[1:] = []; "
    "from deeplake._load.workers.process import main; main(*a)"
)
_ASKING = 1.0  # seconds to wait for the exit code of a worker
_PATIENCE = 0.15  # seconds for a process to end once its connections are closed
_GONE = 5.0  # seconds for the last worker to end; each ends itself at once


class Processes:
    """The workers of one loader or job: a connection to each, and what started them."""

    def __init__(self, steps: Steps | Job, count: int, start: str) -> None:
        """Starts `count` workers by "forkserver", "spawn" or "fork". It does not wait for them.

        Raises:
            InvalidArgumentError: the callables do not pickle.
        """
        if not sys.platform.startswith("linux"):
            raise UnsupportedError(f"load: python_workers={count} needs Linux, this is {sys.platform}; leave it out")
        self.control: Channel | None = None  # to the server
        self.channels: list[Channel] = []
        self._interpreters: list[subprocess.Popen[bytes]] = []  # the server, or the spawned workers
        self._forked: list[int] = []
        pickled = b"" if start == "fork" else _pickled(steps, count)
        self._life, self._alive = os.pipe()
        self._gone, self._working = os.pipe()  # the workers have the second end
        try:
            if start == "forkserver":
                self._start_server(pickled, count)
            for number in range(count):
                if start == "fork":
                    self._fork(steps, number, count)
                elif start == "spawn":
                    self._spawn(pickled, number, count)
                else:
                    self._order(number)
            os.close(self._working)
        except BaseException:
            os.close(self._working)
            self.close()
            raise

    def _start_server(self, steps: bytes, count: int) -> None:
        self.control, theirs = _pair()
        self._interpret(theirs)
        self.control.send(pickle.dumps(Setup(sys.argv[:], steps, -1, count)))

    def _order(self, number: int) -> None:
        """Lets the server fork a worker."""
        assert self.control is not None
        ours, theirs = _pair()
        self.channels.append(ours)
        with theirs:
            self.control.send(pickle.dumps(("start", number)), [theirs.fileno()])

    def _spawn(self, steps: bytes, number: int, count: int) -> None:
        ours, theirs = _pair()
        self.channels.append(ours)
        self._interpret(theirs)
        ours.send(pickle.dumps(Setup(sys.argv[:], steps, number, count)))

    def _interpret(self, theirs: socket.socket) -> None:
        """Starts an interpreter of this kind, with this module search path."""
        with theirs:
            files = (theirs.fileno(), self._life)
            flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
            command = [os.fsdecode(get_executable()), *flags, "-c", _BOOT, repr(_search_path()), *map(str, files)]
            self._interpreters.append(
                subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, pass_fds=(*files, self._working), start_new_session=True
                )
            )

    def _fork(self, steps: Steps | Job, number: int, count: int) -> None:
        ours, theirs = _pair()
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the user has chosen it
            child = os.fork()
        if child == 0:
            os.close(self._alive)
            os.close(self._gone)
            for channel in (*self.channels, ours):
                channel.close()
            run_child(Channel(theirs), self._life, steps, number, count)
        theirs.close()
        self.channels.append(ours)
        self._forked.append(child)

    def why_ended(self, number: int) -> tuple[int | None, str]:
        """Returns the exit code of a worker that has ended, negative for a signal, None if it is
        not known; and the traceback of a server that could not start it.
        """
        try:
            if self.control is not None:
                return self._asked(self.control, number)
            if self._forked:
                return _ended_soon(self._forked[number]), ""
            return self._interpreters[number].wait(_PATIENCE), ""
        except (OSError, subprocess.TimeoutExpired):
            return None, ""

    def _asked(self, control: Channel, number: int) -> tuple[int | None, str]:
        with contextlib.suppress(OSError):  # the server has ended, and may have said why
            control.send(pickle.dumps(("end", number)))
        # A callable may have closed the connection of a worker that goes on.
        answers, _, _ = select.select([control], [], [], _ASKING)
        got = control.receive() if answers else None
        if got is None:
            return None, ""
        verb, *said = pickle.loads(got[0])
        return (said[1], "") if verb == "ended" else (None, said[0])

    def close(self) -> None:
        """Ends all processes, in the middle of a callable too, and waits for their end."""
        for file in (self._life, self._alive):
            os.close(file)
        for channel in (*self.channels, *([] if self.control is None else [self.control])):
            channel.shut()
        for interpreter in self._interpreters:
            try:
                interpreter.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                interpreter.kill()
                interpreter.wait()
        for child in self._forked:
            try:
                os.kill(child, signal.SIGKILL)
                ended(child)
            except (ProcessLookupError, ChildProcessError):
                continue  # its exit code was read before
        self._interpreters, self._forked = [], []
        select.select([self._gone], [], [], _GONE)
        os.close(self._gone)


def _search_path() -> list[str]:
    """Returns the search path of modules. The current folder, which "" stands for, comes last: it
    has modules of the user's, and shall not hide others.
    """
    path = [str(entry) for entry in sys.path if entry not in ("", ".")]
    here = str(Path.cwd())
    return path if len(path) == len(sys.path) or here in path else [*path, here]


def _ended_soon(pid: int) -> int | None:
    """Returns the exit code of a child, negative for a signal; None if it goes on."""
    deadline = time.monotonic() + _ASKING
    while time.monotonic() < deadline:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    return None


def _pair() -> tuple[Channel, socket.socket]:
    ours, theirs = socket.socketpair()
    return Channel(ours), theirs


def how_ended(code: int | None) -> str:
    """Returns how a process with an exit code ended."""
    if code is None:
        return "has ended"
    if code >= 0:
        return f"has ended with exit code {code}"
    return f"was ended by {signal.Signals(-code).name if -code in set(signal.Signals) else f'signal {-code}'}"


def _pickled(steps: Steps | Job, count: int) -> bytes:
    try:
        data: bytes = cloudpickle.dumps(steps)
    except Exception as err:
        if isinstance(steps, Job):
            raise InvalidArgumentError(
                f"{steps.called}: workers need a function that pickles: {err}; open files, locks and handles inside "
                "it, or take workers=0"
            ) from err
        raise InvalidArgumentError(
            f"load: python_workers={count} needs a transform that pickles: {err}; open files, locks and handles "
            'inside the callable, use worker_start="fork", or leave python_workers out'
        ) from err
    return data
