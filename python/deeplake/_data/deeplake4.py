"""Datasets of Deep Lake 4, read by its own package in a process of its own.

Both packages have the import name `deeplake`, so that one process cannot hold both. The other
interpreter runs `deeplake4_reader.py`, which writes a stream of Arrow to a pipe.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from deeplake._checks import check_names, check_text
from deeplake._errors import Error, InvalidArgumentError, NotFoundError, UnsupportedError, WorkerError
from deeplake._lazy import package
from deeplake._names import checks_keywords
from deeplake._text import printable

_VARIABLE = "DEEPLAKE4_PYTHON"
_MARK = "deeplake4-error: "
_READER = Path(__file__).with_name("deeplake4_reader.py")
_INSTALL = 'python -m venv v4 && v4/bin/pip install "deeplake>=4.7,<5" pyarrow'
_WAY_OUT = f'run `{_INSTALL}`, and give python="v4/bin/python"'
_TAIL = 8192  # bytes of standard error that are kept
_READ = 1 << 20  # bytes
_GRACE = 5.0  # seconds for a process whose stream has ended
_STARTS = 4  # of a process that crashes before it has sent rows


@checks_keywords
def deeplake4(
    uri: str | os.PathLike[str],
    *,
    python: str | os.PathLike[str] | None = None,
    at: str = "",
    columns: Sequence[str] | None = None,
    timeout: float = 300.0,
) -> Deeplake4:
    """Returns the rows of a dataset of Deep Lake 4, for `deeplake.ingest` and `Dataset.extend`.

    Another interpreter, which has the package of Deep Lake 4, reads them. It starts when the rows
    are first needed, and ends with them. Image files come byte for byte. See "Deep Lake 4" in
    docs/coming-from.md for the types of columns.

    Args:
        uri: the dataset, as Deep Lake 4 takes it: a path, or `s3://bucket/path`. Credentials are
            those of the environment.
        python: the interpreter, which has deeplake 4 and pyarrow. None takes the environment
            variable DEEPLAKE4_PYTHON.
        at: a tag, a branch, or the id of a version; "" is the newest version of the main branch.
        columns: the columns to read; None reads all.
        timeout: seconds without a byte of the other process after which it is killed.

    Raises:
        InvalidArgumentError: an argument is wrong, or no interpreter is given.

    Example:
        rows = deeplake.deeplake4("flowers-v4", python="v4/bin/python")
        ds = deeplake.ingest(rows, "flowers")
    """
    place, chosen = os.fspath(uri), os.environ.get(_VARIABLE, "") if python is None else os.fspath(python)
    for what, text in (("uri", place), ("python", chosen), ("at", at)):
        check_text("deeplake4", what, text)
    chosen_columns = check_names("deeplake4", columns, "columns")
    if not place:
        raise InvalidArgumentError("deeplake4: uri is empty, want a path or a URI")
    if not chosen:
        raise InvalidArgumentError(
            f"deeplake4: python is missing, which is an interpreter with the package of Deep Lake 4; {_WAY_OUT}, "
            f"or set {_VARIABLE}"
        )
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise InvalidArgumentError(f"deeplake4: timeout is {timeout!r}, want a positive number of seconds")
    if "://" not in place:
        place = str(Path(place).expanduser().absolute())
    if os.sep in chosen:
        # The target of a link would be an interpreter without the packages of its environment.
        chosen = str(Path(chosen).expanduser().absolute())
    return Deeplake4(place, chosen, at, chosen_columns, float(timeout))


class Deeplake4:
    """The rows of a dataset of Deep Lake 4: what `deeplake.deeplake4` returns.

    Each use of the rows starts a process. An object with `__arrow_c_stream__`.
    """

    def __init__(self, uri: str, python: str, at: str, columns: list[str] | None, timeout: float) -> None:
        self._uri, self._python, self._at, self._columns, self._timeout = uri, python, at, columns, timeout

    def __repr__(self) -> str:
        return f"Deeplake4({printable(self._uri)!r}, python={printable(self._python)!r}, at={self._at!r})"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Returns a stream of all rows. The process ends when the stream is released."""
        pa = package("deeplake4", "pyarrow", "pip install pyarrow")
        run = Run(self._uri, self._python, self._at, self._columns, self._timeout)
        return pa.RecordBatchReader.from_batches(run.schema, run).__arrow_c_stream__(requested_schema)

    @contextmanager
    def opened(self, columns: Sequence[str] | None = None) -> Iterator[Run]:
        """Starts a process for the rows, and ends it."""
        run = Run(self._uri, self._python, self._at, self._columns if columns is None else list(columns), self._timeout)
        try:
            yield run
        finally:
            run.close()


class Run:
    """The batches of Arrow that a process writes. A batch at a time is in memory.

    Attributes:
        schema: of Arrow.
        tensors: the tensors of the columns by name, as of `deeplake.create`.
        info: the metadata of the dataset; `info["deeplake4"]` has its version, and the columns that
            are left out, with reasons.
    """

    def __init__(self, uri: str, python: str, at: str, columns: list[str] | None, timeout: float) -> None:
        self._called = f'read the dataset "{uri}" of Deep Lake 4 by "{python}"'
        self._pa = package(self._called, "pyarrow", "pip install pyarrow")
        self._timeout = timeout
        for left in reversed(range(_STARTS)):
            self._begin(python)
            try:
                self._open({"uri": uri, "at": at, "columns": columns})
                return
            except (self._pa.ArrowException, OSError, ValueError, KeyError, TypeError, MemoryError) as err:
                failure = self._failure(err)
                # That package, of version 4.7.4, crashes in one of ten starts.
                if left == 0 or self._code is None or self._code >= 0:
                    raise failure from err
            except BaseException:
                self.close()
                raise

    def _begin(self, python: str) -> None:
        """Starts the process."""
        self._rows, self._is_silent = 0, False
        self._code: int | None = None  # of a process that has failed
        self._heard = time.monotonic()
        try:
            # -I: neither PYTHONPATH nor this folder leads that interpreter to this package.
            self._process = subprocess.Popen(
                [python, "-I", str(_READER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        except OSError as err:
            raise UnsupportedError(f"{self._called}: it does not start: {err.strerror or err}; {_WAY_OUT}") from err
        self._tail = _Tail(self._process.stderr)
        self._end = weakref.finalize(self, _end, self._process, os.getpid())

    def _open(self, request: Mapping[str, Any]) -> None:
        """Reads what the process tells of the dataset."""
        self._ask(request)
        self._stream = self._pa.ipc.open_stream(_Pipe(self))
        about = json.loads((self._stream.schema.metadata or {})[b"deeplake4"])
        self.schema = self._stream.schema.remove_metadata()
        self.tensors: dict[str, Any] = dict(about["schema"])
        self._total = int(about["rows"])
        kept = {key: about[key] for key in ("version", "package", "left_out") if about[key]}
        self.info: dict[str, Any] = {**about["metadata"], "deeplake4": kept}

    def __iter__(self) -> Run:
        return self

    def __next__(self) -> Any:
        try:
            batch = self._stream.read_next_batch()
        except StopIteration:
            self._check_end()
            self.close()
            raise
        except (self._pa.ArrowException, OSError, ValueError, MemoryError) as err:
            raise self._failure(err) from err
        except BaseException:
            self.close()
            raise
        self._rows += len(batch)
        return batch

    def report(self) -> None:
        """Prints the columns that are left out to standard error."""
        for name, reason in self.info["deeplake4"].get("left_out", {}).items():
            print(printable(f'  column "{name}" is left out: {reason}'), file=sys.stderr)

    def close(self) -> None:
        """Ends the process."""
        self._end()

    def read(self, size: int) -> bytes:
        """Reads from the process, less than `size` bytes at the end of its output."""
        out = self._process.stdout
        assert out is not None
        poll = select.poll()
        poll.register(out, select.POLLIN)
        parts: list[bytes] = []
        while size > 0:
            # In slices: Ctrl-C is raised between them, also where a signal does not end a wait.
            while not poll.poll(100):
                if time.monotonic() - self._heard > self._timeout:
                    self._is_silent = True
                    return b""
            part = os.read(out.fileno(), min(size, _READ))
            self._heard = time.monotonic()
            if not part:
                break
            parts.append(part)
            size -= len(part)
        self._heard = time.monotonic()  # time between two reads is ours
        return b"".join(parts)

    def _ask(self, request: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        # Standard input stays open: the process ends when this one closes it, or dies.
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()

    def _check_end(self) -> None:
        """Refuses a stream that ends early: Arrow takes the end of a pipe for its end."""
        if self._rows != self._total or self._wait() != 0:
            raise self._failure(None)

    def _wait(self) -> int | None:
        try:
            return self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            return None

    def _failure(self, err: Exception | None) -> Error:
        """Returns the error for a stream that is not as it should be."""
        has_ended = not self._is_silent and (err is None or self._is_at_end())
        code = self._code = self._wait() if has_ended else None
        self.close()
        said = self._tail.text()
        marked = [line for line in said.splitlines() if line.startswith(_MARK)]
        if marked:
            try:
                found = json.loads(marked[-1].removeprefix(_MARK))
                return self._reported(str(found["kind"]), printable(str(found["text"])))
            except (ValueError, KeyError, TypeError):
                pass  # cut: the text itself is shown
        after = f" after {self._rows:,} rows" if self._rows else ""
        if self._is_silent:
            what = f"the process was silent for {self._timeout:g} s{after}, and was killed; give a longer timeout="
        elif err is None and not code:
            what = f"its stream ended after {self._rows:,} of {self._total:,} rows; repeat it"
        elif code is None:
            what = f"it sent no stream of Arrow of ours{after}: {printable(str(err))[:200]}; {_WAY_OUT}"
        elif code < 0:
            what = f"the process was ended by {_signal(-code)}{after}; leave a column out by columns="
        else:
            what = f"the process ended with status {code}{after}, before the last row; {_WAY_OUT}"
        last = printable(said.strip()[-300:])
        return WorkerError(f"{self._called}: {what}" + (f"; its last output: {last}" if last else ""))

    def _reported(self, kind: str, text: str) -> Error:
        if kind == "missing":
            return UnsupportedError(f"{self._called}: {text}, want deeplake 4.7 or a later one of 4; {_WAY_OUT}")
        if kind == "absent":
            return NotFoundError(f"{self._called}: {text}")
        if kind == "column":
            return InvalidArgumentError(f"{self._called}: {text}")
        after = f" after {self._rows:,} rows" if self._rows else ""
        return WorkerError(f"{self._called}: it stopped{after}: {text}; columns= leaves a column out")

    def _is_at_end(self) -> bool:
        """Returns whether the process has closed its output, so that it is about to end."""
        out = self._process.stdout
        assert out is not None
        poll = select.poll()
        poll.register(out, select.POLLIN)
        return any(event & select.POLLHUP and not event & select.POLLIN for _, event in poll.poll(0))


class _Pipe:
    """The output of a process as a file for pyarrow. It holds the run weakly: a circle would keep
    the process until the next collection.
    """

    closed = False

    def __init__(self, run: Run) -> None:
        self._run = weakref.ref(run)

    def read(self, size: int = -1) -> bytes:
        run = self._run()
        return b"" if run is None else run.read(sys.maxsize if size < 0 else size)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        pass


class _Tail:
    """The last bytes of a pipe, which a thread empties: a full pipe would stop the process."""

    def __init__(self, pipe: Any) -> None:
        self._pipe, self._data = pipe, b""
        self._thread = threading.Thread(target=self._drain, name="deeplake4-stderr", daemon=True)
        self._thread.start()

    def text(self) -> str:
        self._thread.join(_GRACE)
        return self._data.decode(errors="replace")

    def _drain(self) -> None:
        with self._pipe:
            while part := os.read(self._pipe.fileno(), _TAIL):
                self._data = (self._data + part)[-_TAIL:]


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    if os.getpid() != owner:
        return  # a forked child: the process belongs to its parent
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # a request that was never read
                pipe.close()


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
