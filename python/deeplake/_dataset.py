"""Finding, making and deleting datasets: create, open, exists, delete, and query over several."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from deeplake import _native, _storage, _uri
from deeplake._names import checks_keywords
from deeplake._source import Live
from deeplake._storage import Storage
from deeplake._versions import Ref, ref_of
from deeplake._view import Dataset, QueryView, ask


@checks_keywords
def create(
    uri: str | os.PathLike[str],
    *,
    schema: Mapping[str, str | Mapping[str, Any]] | None = None,
    overwrite: bool = False,
    storage: Storage | None = None,
    link_storage: Mapping[str, Storage | None] | None = None,
) -> Dataset:
    """Makes an empty dataset and opens it.

    Args:
        uri: a path, `file://...`, `s3://bucket/path`, `gs://bucket/path`, `mem://name` (in this
            process only) or `deeplake://org/name`.
        schema: tensors to create and commit, by name: an htype, or the arguments of
            `Dataset.create_tensor` as a dict.
        overwrite: replace a dataset that is there, with all its versions. Who has it open gets a
            ConflictError at the next commit.
        storage: settings of the store: its endpoint, credentials, limits, cache. Secrets go to this
            store alone.
        link_storage: where text stored in the dataset may lead besides the dataset's own store, and
            how: a dict of `Storage` by prefix of URLs, like `{"s3://pictures":
            deeplake.Storage()}`. The longest prefix counts; None refuses. It is for links, and for
            datasets that saved views name. See "What a dataset may reach" in docs/storage.md.
    Raises:
        AlreadyExistsError: there is a dataset, and `overwrite` is False; or files that belong to no
            dataset lie in the folders that it would use.
    """
    stores = _storage.access(storage, link_storage)
    place = _uri.resolve(uri)
    handle = _native.create(place, overwrite=overwrite, store=_storage.reach(stores))
    dataset = Dataset(Live(place, handle, storage=stores))
    for name, spec in (schema or {}).items():
        dataset.create_tensor(name, **({"htype": spec} if isinstance(spec, str) else dict(spec)))
    if schema:
        dataset.commit("create tensors")
    return dataset


@checks_keywords
def open(
    uri: str | os.PathLike[str],
    *,
    branch: str = "main",
    at: Ref | None = None,
    read_only: bool = False,
    storage: Storage | None = None,
    link_storage: Mapping[str, Storage | None] | None = None,
) -> Dataset:
    """Opens a dataset at its newest version.

    Args:
        uri: a path, `file://...`, `s3://bucket/path`, `gs://bucket/path`, `https://...` (for
            reading), `mem://name` or `deeplake://org/name`.
        branch: where commits go to, and what version numbers count on.
        at: a version to read: a Commit, its id (or at least 6 characters of it), a tag, a branch, a
            version number, "branch@number", or a datetime, which means the newest version of that
            time. Such a dataset is read-only.
        read_only: refuse writes.
        storage: settings of the store: its endpoint, credentials, limits, cache. Secrets go to this
            store alone.
        link_storage: where text stored in the dataset may lead besides the dataset's own store, and
            how: a dict of `Storage` by prefix of URLs, like `{"s3://pictures":
            deeplake.Storage()}`. The longest prefix counts; None refuses. It is for links, and for
            datasets that saved views name. See "What a dataset may reach" in docs/storage.md.
    Raises:
        NotFoundError: there is no dataset, or no such version.
        AccessDeniedError: the store refuses: no credentials, wrong or expired ones, no permission.
        StorageError: the store cannot be reached, or fails.
        UnsupportedError: it was written in a newer format.
    """
    stores = _storage.access(storage, link_storage)
    place, ref = _uri.resolve(uri), "" if at is None else ref_of(at)
    handle = _native.open(place, branch=branch, at=ref, read_only=read_only, store=_storage.reach(stores))
    if ref:
        # A time or the start of an id may mean another commit later, in a process that opens it
        # again.
        ref = handle.describe()["head"]["commit"]
    return Dataset(Live(place, handle, branch=branch, at=ref, read_only=read_only or bool(ref), storage=stores))


@checks_keywords
def exists(uri: str | os.PathLike[str], *, storage: Storage | None = None) -> bool:
    """Returns whether a dataset is there; `storage` as in `open`."""
    place = _uri.resolve(uri)
    return _native.exists(place, store=_storage.reach(storage))


@checks_keywords
def delete(uri: str | os.PathLike[str], *, storage: Storage | None = None) -> None:
    """Deletes a dataset with all its versions, and no other file; `storage` as in `open`.

    A deletion that was broken off goes on when it is called again. Until then `open` raises
    NotFoundError, which says so, and `exists` is true. Raises NotFoundError when there is neither a
    dataset nor a part of one.
    """
    place = _uri.resolve(uri)
    _native.delete(place, store=_storage.reach(storage))


@checks_keywords
def query(
    text: str,
    *params: Any,
    seed: int = 0,
    memory: int | None = None,
    threads: int | None = None,
    storage: Storage | None = None,
    link_storage: Mapping[str, Storage | None] | None = None,
) -> QueryView:
    """Asks a query of the datasets that its FROM names: `deeplake.query('SELECT * FROM
    "s3://bucket/flowers"')`.

    Args:
        text, params, seed, memory, threads: as in `View.query`.
        storage: settings of the store of the dataset that is named first. Its secrets go to others
            only on the same server: the same host, or buckets of the same endpoint.
        link_storage: settings of others, by prefix of their URLs; and where text stored in them may
            lead, as for `deeplake.open`.
    """
    stores = _storage.access(storage, link_storage)
    return ask(None, text, params, seed=seed, memory=memory, threads=threads, storage=stores)
