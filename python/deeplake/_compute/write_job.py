"""A write by the tasks of an engine, into a dataset that it may have to create."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from deeplake._checks import check_choice
from deeplake._data.committing import DistributedWrite
from deeplake._data.dataset import create, exists
from deeplake._data.dataset import open as open_dataset
from deeplake._data.view import Dataset
from deeplake._errors import (
    AlreadyExistsError,
    ConflictError,
    Error,
    InvalidArgumentError,
    NotFoundError,
    UnsupportedError,
)
from deeplake._rows.source import COMMIT_FIRST
from deeplake._stores import uri as _uri
from deeplake._stores.carried import Carried
from deeplake._stores.storage import Storage
from deeplake._versions.commit import Commit


class WriteJob:
    """A distributed write from its beginning to its commit.

    The program that starts the job calls `begin`, and `finish` or `abandon`. Tasks get a pickle of
    it, with the settings of the store, and call `task`.
    """

    def __init__(
        self,
        into: str | os.PathLike[str] | Dataset,
        *,
        schema: Mapping[str, Any] | None,
        mode: str,
        message: str,
        idempotency_key: str | None,
        storage: Storage | None,
    ) -> None:
        check_choice("write", "mode", mode, ("create", "append"))
        if isinstance(into, Dataset) and (schema is not None or storage is not None):
            raise InvalidArgumentError("write: schema and storage are those of the open dataset; leave them out")
        self.uri = into.uri if isinstance(into, Dataset) else _uri.resolve(into)
        if self.uri.startswith("mem://"):
            raise UnsupportedError(
                f'write: "{self.uri}" lies in the memory of this process; use a dataset on a disk or in a store'
            )
        self._mode, self._schema = mode, schema
        self._message, self._key = message, idempotency_key
        self._storage = storage
        self._stores = Carried(storage)
        self._branch, self._token = "", ""
        self._ds = into if isinstance(into, Dataset) else None
        self._owns = self._ds is None  # whether to close it
        self._write: DistributedWrite | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"uri": self.uri, "_stores": self._stores, "_branch": self._branch, "_token": self._token}

    def check(self) -> Commit | None:
        """Returns the commit of the key, if the job is done. Changes nothing.

        Raises:
            AlreadyExistsError: the mode is "create", and a dataset with rows is there.
            ConflictError: the open dataset has uncommitted changes.
        """
        ds = self._ds
        if ds is None and exists(self.uri, storage=self._storage):
            try:
                ds = self._ds = open_dataset(self.uri, storage=self._storage)
            except NotFoundError:
                return None  # a deletion that was cut off; create() names the way out
        if ds is None:
            return None
        if self._owns and self._mode == "create" and len(ds):
            raise AlreadyExistsError(
                f'write "{self.uri}": a dataset with {len(ds):,} rows is there; mode="append" adds to it'
            )
        if ds.dirty:
            raise ConflictError(f'write "{self.uri}": the open dataset has uncommitted changes; {COMMIT_FIRST}')
        if self._key:
            return next((commit for commit in ds.log() if commit.idempotency_key == self._key), None)
        return None

    def begin(self, inferred: Callable[[Collection[str]], Mapping[str, Any]]) -> None:
        """Begins the write. A dataset that is not there, or has no tensors, gets those of `schema`,
        and those that `inferred` returns for the other columns.
        """
        ds = self._ds
        if ds is None or not ds.tensors:
            given = dict(self._schema or {})
            made = {**inferred(given), **given}
            if ds is None:
                ds = self._ds = create(self.uri, schema=made, storage=self._storage)
            else:
                for name, about in made.items():
                    ds.create_tensor(name, **({"htype": about} if isinstance(about, str) else about))
                ds.commit("tensors")
        write = self._write = ds.distributed_write()
        self._token, self._branch = write._token, write._branch
        self._stores = Carried(write._stores)

    def task(self, key: str | int) -> Dataset:
        """Opens the dataset for one task, in any process."""
        return DistributedWrite(self.uri, self._token, Dataset, branch=self._branch, stores=self._stores.stores).task(
            key
        )

    def finish(self, texts: Iterable[str]) -> Commit:
        """Commits the fragments of the tasks, in the order given.

        Raises:
            InvalidArgumentError: no task began, and no dataset is there.
        """
        if self._write is None:
            if self._ds is None and not self._schema:
                raise InvalidArgumentError(f'write "{self.uri}": there are no rows, and schema= names no tensors')
            self.begin(lambda given: {})
        assert self._write is not None
        done = self._write.commit(texts, self._message, idempotency_key=self._key)
        self._end()
        return done

    def abandon(self) -> None:
        """Ends the lease of the write. `gc` removes what the tasks have written."""
        self._end()

    def _end(self) -> None:
        if self._write is not None:
            # Where the store fails, the lease ends by itself; the first error is the one to see.
            with contextlib.suppress(Error):
                self._write.close()
            self._write = None
        if self._owns and self._ds is not None:
            self._ds.close()
            self._ds = None
