"""The file that a transform notes its finished tasks in, so that another run goes on."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import types
from pathlib import Path
from typing import Any

from deeplake._errors import InvalidArgumentError


class Checkpoint:
    """The finished tasks of a transform, with a line each. Without a path it is in memory."""

    def __init__(self, path: str | os.PathLike[str] | None, job: dict[str, Any]) -> None:
        """Reads the file, if there is one.

        Args:
            job: what the transform does. A file of another transform is refused.
        """
        self._path = None if path is None else Path(path)
        self._job = job
        self.token = ""  # of the distributed write; "" if the transform begins
        self.done: dict[str, dict[str, Any]] = {}  # by the keys of tasks
        self.commit = ""  # of the transform; "": it is not committed
        if self._path is not None and self._path.exists():
            self._read(self._path)

    def _read(self, path: Path) -> None:
        head, *lines = path.read_bytes().split(b"\n")
        try:
            about = json.loads(head)
            found, token = about["job"], about["token"]
        except (ValueError, KeyError, TypeError):
            raise InvalidArgumentError(
                f'transform: checkpoint "{path}" is no checkpoint, or damaged; remove it or take another path'
            ) from None
        self.token = token
        for line in lines:
            try:
                task = json.loads(line)
                if "commit" in task:
                    self.commit = task["commit"]
                else:
                    self.done[task["task"]] = task
            except (ValueError, KeyError, TypeError):
                continue  # a kill has cut it: the task runs again
        differing = {name for name in self._job if found.get(name) != self._job[name]}
        if self.commit == self._job["commit"] and not self._job["into"]:
            differing.discard("commit")  # which the transform itself has made
        if differing:
            names = ", ".join(sorted(differing))
            raise InvalidArgumentError(
                f'transform: checkpoint "{path}" is of another transform: {names} differ; remove it, or take another'
            )

    def begin(self, token: str) -> None:
        """Notes the distributed write of the transform."""
        self.token = token
        if self._path is not None:
            temporary = self._path.with_name(self._path.name + ".tmp")
            with temporary.open("wb") as file:
                file.write(json.dumps({"job": self._job, "token": token}).encode() + b"\n")
                os.fsync(file.fileno())
            temporary.replace(self._path)

    def note(self, task: dict[str, Any]) -> None:
        """Notes a finished task."""
        self.done[task["task"]] = task
        self._append(task)

    def end(self, commit: str) -> None:
        """Notes that the transform is committed. The file stays: another run does nothing then."""
        self._append({"commit": commit})

    def _append(self, line: dict[str, Any]) -> None:
        if self._path is not None:
            with self._path.open("ab") as file:
                # The line before may have been cut.
                file.write(b"\n" + json.dumps(line).encode() + b"\n")
                os.fsync(file.fileno())


def fingerprint(function: Any) -> str:
    """Returns a name of the code of a function, an object or a class, with its arguments and the
    plain values around it. Functions that it calls are not part of it.
    """
    digest = hashlib.sha256()
    _feed(digest, function, 0)
    return digest.hexdigest()[:16]


_PLAIN = (int, float, str, bytes, bool, type(None))
_DEPTH = 8


def _feed(digest: Any, value: Any, depth: int) -> None:
    if depth > _DEPTH:
        return
    if isinstance(value, types.CodeType):
        digest.update(value.co_code + repr((value.co_names, value.co_varnames)).encode())
        parts: Any = value.co_consts
    elif isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if cell != types.CellType()]
        parts = (value.__code__, value.__defaults__, cells)
    elif isinstance(value, functools.partial):
        parts = (value.func, value.args, value.keywords)
    elif isinstance(value, types.MethodType):
        parts = (value.__func__, value.__self__)
    elif isinstance(value, type):
        parts = {name: part for name, part in vars(value).items() if isinstance(part, (types.FunctionType, *_PLAIN))}
    elif isinstance(value, list | tuple | dict):
        parts = value
    elif isinstance(value, _PLAIN):
        digest.update(repr(value).encode())
        return
    else:
        digest.update(type(value).__qualname__.encode())
        parts = (type(value), dict(getattr(value, "__dict__", {}))) if depth < 2 else ()
    if isinstance(parts, dict):
        parts = sorted(parts.items(), key=lambda pair: str(pair[0]))
    digest.update(f"{type(value).__name__}{len(parts)}".encode())
    for part in parts:
        _feed(digest, part, depth + 1)
