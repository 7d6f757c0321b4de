"""The file that a transform notes its finished tasks in, so that another run goes on."""

from __future__ import annotations

import json
import os
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
        self.finished = False  # the transform is committed
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
        if found != self._job:
            differing = sorted(name for name in self._job if found.get(name) != self._job[name])
            raise InvalidArgumentError(
                f'transform: checkpoint "{path}" is of another transform: {", ".join(differing)} differ; remove it or '
                "take another path"
            )
        self.token = token
        for line in lines:
            try:
                task = json.loads(line)
                self.finished = self.finished or "commit" in task
                self.done[task["task"]] = task
            except (ValueError, KeyError, TypeError):
                continue  # a kill has cut it: the task runs again

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
