"""The end of a change: the commit of one program, or of many that write side by side."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any

from deeplake import _native
from deeplake._checks import check_text
from deeplake._errors import ClosedError, InvalidArgumentError, NotFoundError
from deeplake._names import checks_keywords
from deeplake._rows.live import Live
from deeplake._rows.source import open_native
from deeplake._stores import storage as _storage
from deeplake._stores.storage import Storage, Stores
from deeplake._versions.commit import Commit, commit_of

if TYPE_CHECKING:
    from deeplake._data.view import Dataset


@dataclass(frozen=True, slots=True)
class Fragment:
    """What one task of a distributed write has written: a short text to send to the program that
    commits.

    Attributes:
        text: JSON, at most 9 kB. It names the chunks, which are in the store.
    """

    text: str

    @property
    def task(self) -> str:
        """The key of the task."""
        return str(self._member("task"))

    @property
    def rows(self) -> int:
        """The number of rows that the task appended."""
        return int(self._member("rows"))

    def _member(self, name: str) -> Any:
        try:
            return json.loads(self.text)[name]
        except (ValueError, KeyError, TypeError):
            raise InvalidArgumentError(f"read fragment: {self.text[:40]!r} is none") from None

    def __repr__(self) -> str:
        try:
            return f"Fragment(task={self.task!r}, rows={self.rows})"
        except InvalidArgumentError:
            return f"Fragment({self.text[:40]!r})"


class DistributedWrite:
    """A write by many programs, on any machines, that one commit makes visible.

    `Dataset.distributed_write` makes one. It can be pickled: tasks get a copy. Each task opens the
    dataset by `task`, writes, and returns `fragment()`. One program gives all fragments to
    `commit`. Every task sees the version on which the write began.
    """

    __slots__ = ("_branch", "_kind", "_live", "_stores", "_token", "uri")

    def __init__(
        self,
        uri: str,
        token: str,
        kind: Callable[[Live], Dataset],
        *,
        branch: str = "main",
        stores: Stores = None,
        live: Live | None = None,
    ) -> None:
        self.uri = uri
        self._token = token
        self._kind = kind
        self._branch = branch
        self._stores = stores
        self._live = live  # None: in another process than the one that began the write

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.uri, self._token, self._kind, self._branch, self._stores)

    def __repr__(self) -> str:
        return f"DistributedWrite({self.uri!r}, version={json.loads(self._token)['version']})"

    @checks_keywords
    def task(self, key: str | int, *, storage: Storage | None = None) -> Dataset:
        """Opens the dataset for one task.

        Args:
            key: the name of the task, the same for all its attempts; at most 256 bytes. If a task
                runs twice, one of its fragments is committed.
            storage: settings of the store. None takes those of the dataset that began the write;
                its secrets do not travel, so another process finds credentials in its environment.

        Returns:
            The dataset at the version on which the write began. Rows can be appended, updated and
            deleted, and tensors created. `Dataset.fragment` takes the place of `commit`.

        Raises:
            ConflictError: another dataset lies at the URI.
        """
        if isinstance(key, bool) or not hasattr(key, "__index__"):
            check_text("open task", "key", key)
        stores = self._stores if storage is None else _storage.access(storage, None)
        handle = _native.open_task(self.uri, self._token, str(key), store=_storage.reach(stores))
        return self._kind(Live(self.uri, handle, branch=self._branch, storage=stores, task=str(key)))

    @checks_keywords
    def commit(
        self,
        fragments: Iterable[Fragment | str],
        message: str = "",
        *,
        idempotency_key: str | None = None,
        allow_missing: bool = False,
    ) -> Commit:
        """Makes the work of tasks visible, as one version.

        The rows of the fragments follow each other in the order given. The commit takes in what
        others have committed since the write began. The same fragments again are the same version.

        Args:
            fragments: those of the tasks, or their texts.
            message: the message of the version.
            idempotency_key: a name of the job. If a version of the branch has it, that version is
                the result, and nothing is committed.
            allow_missing: let rows that no task wrote stay without a sample in a new tensor.

        Returns:
            The new version.

        Raises:
            ConflictError: a task is committed already, two tasks changed the same row, another
                writer did, or a gc has removed chunks.
            InvalidArgumentError: a fragment is damaged or belongs to another write, or rows lack a
                sample in a new tensor.
        """
        texts = []
        if isinstance(fragments, Fragment | str) or not isinstance(fragments, Iterable):
            raise InvalidArgumentError(
                f"commit fragments: got a {type(fragments).__name__}, want the fragments of all tasks, in a list"
            )
        for one in fragments:
            if not isinstance(one, Fragment | str):
                raise InvalidArgumentError(
                    f"commit fragments: got a {type(one).__name__}, want what fragment() returned in the tasks"
                )
            texts.append(one.text if isinstance(one, Fragment) else one)
        options = {"message": message, "idempotency_key": idempotency_key or "", "allow_missing": bool(allow_missing)}
        live = self._live
        if live is not None and not live.closed:
            done = live.write(lambda handle: handle.commit_fragments(self._token, texts, options), types=True)
            live.settled()
            return commit_of(done)
        try:
            handle = open_native(self.uri, self._stores, branch=self._branch)
        except NotFoundError:  # a commit that stands outlives the name of its branch
            handle = open_native(self.uri, self._stores)
        try:
            return commit_of(handle.commit_fragments(self._token, texts, options))
        finally:
            handle.close()

    def close(self) -> None:
        """Ends the lease that keeps the chunks of tasks, and the write's version, from `gc`. The
        dataset stays open.
        """
        live = self._live
        if live is not None and not live.closed:
            live.handle().end_write(self._token)

    def __enter__(self) -> DistributedWrite:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def write_of(ds: Committing, token: str) -> DistributedWrite:
    """Returns the distributed write of a token, which this or another program has begun."""
    source, kind = ds._source, type(ds)
    stores = source.pinned().version.storage
    return DistributedWrite(source.uri, token, kind, branch=source.branch, stores=stores, live=source)  # type: ignore[arg-type]


def _again(uri: str, token: str, kind: Callable[[Live], Dataset], branch: str, stores: Stores) -> DistributedWrite:
    return DistributedWrite(uri, token, kind, branch=branch, stores=stores)


class Committing:
    """The methods of `Dataset` that end a change. They need its source alone."""

    __slots__ = ()
    _source: Live

    @checks_keywords
    def commit(self, message: str = "", *, idempotency_key: str | None = None) -> Commit:
        """Makes all changes durable and visible to others.

        The commit takes in the commits of other writers since the dataset was opened.

        Args:
            message: the message of the version.
            idempotency_key: a name of the change. If a version in the branch's history has it, that
                version is the result, and the changes are dropped. The dataset does not go back to
                it. So a job that runs again, or has lost the answer to its commit, commits once.
                The look-up reads the records of the history, each by a request, up to 64 at a time,
                and each once for an open dataset.

        Returns:
            The new version, or the present one if nothing changed.

        Raises:
            ConflictError: another writer changed the same. The changes are still uncommitted.
        """
        if idempotency_key is None:
            done = self._source.write(lambda handle: handle.commit(message), types=True)
        else:
            check_text("commit", "idempotency_key", idempotency_key)
            if not idempotency_key:
                raise InvalidArgumentError('commit: idempotency_key is "", want a name of the change, or None')
            done = self._source.write(lambda handle: handle.commit_once(message, idempotency_key), types=True)
        self._source.settled()
        return commit_of(done)

    def discard(self) -> None:
        """Drops all changes since the last commit."""
        self._source.handle().discard()
        self._source.settled()

    def refresh(self) -> None:
        """Moves to the newest version of the branch."""
        self._source.handle().refresh()
        self._source.settled()

    @checks_keywords
    def distributed_write(self, *, lease: timedelta = timedelta(hours=1)) -> DistributedWrite:
        """Begins a write by many programs, on top of the dataset's version.

        Args:
            lease: the time for which `gc` spares the chunks of tasks, and the dataset's version,
                after this program has closed the dataset or has died: a second to 30 days. While
                the dataset is open, the lease is renewed.

        Returns:
            The write, which is sent to the tasks.

        Raises:
            ConflictError: the dataset has uncommitted changes.
            NotFoundError: a gc has expired the version. After `refresh()` the write can begin.
            ReadOnlyError: the dataset cannot be written.

        Example:
            with ds.distributed_write() as write, ProcessPoolExecutor(8) as pool:
                write.commit(pool.map(partial(work, write), range(100)))
        """
        source = self._source
        if not isinstance(lease, timedelta):
            raise InvalidArgumentError(
                f"distributed_write: lease is {lease!r}, want a timedelta like timedelta(hours=1)"
            )
        token = source.handle().begin_write(lease.total_seconds())
        stores = source.pinned().version.storage  # with the links of this session
        kind: Any = type(self)
        return DistributedWrite(source.uri, token, kind, branch=source.branch, stores=stores, live=source)

    def fragment(self) -> Fragment:
        """Ends a task of a distributed write: makes its changes durable, for the write's commit.

        Returns:
            What the task has written. The dataset can be read after that, and not changed.

        Raises:
            InvalidArgumentError: the dataset is not that of a task, or the task changed more than
                rows: `info`, names or classes.
        """
        if self._source.closed:
            raise ClosedError(f'make fragment of dataset "{self._source.uri}": it is closed')
        text = self._source.write(lambda handle: handle.fragment())
        self._source.uncommitted = False
        return Fragment(text)
