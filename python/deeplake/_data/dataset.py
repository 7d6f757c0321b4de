"""Finding, making and deleting datasets: create, open, exists, delete, and query over several."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from typing import Any

from deeplake import _native
from deeplake._data.files import deeplake4_hint
from deeplake._data.spec import schema_specs
from deeplake._data.view import Dataset, QueryView, ask
from deeplake._errors import NotFoundError
from deeplake._names import checks_keywords
from deeplake._rows.live import Live
from deeplake._stores import storage as _storage
from deeplake._stores import uri as _uri
from deeplake._stores.storage import Storage, Stores
from deeplake._versions.refs import Ref, ref_of


@checks_keywords
def create(
    uri: str | os.PathLike[str],
    *,
    schema: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    storage: Storage | None = None,
    link_storage: Mapping[str, Storage | None] | None = None,
) -> Dataset:
    """Creates an empty dataset and opens it.

    Args:
        uri: a path, `file://...`, `s3://bucket/path`, `gs://bucket/path`, `mem://name` (in this
            process only) or `deeplake://org/name`.
        schema: the tensors of the first version, by name. A value is an htype, or a dict with
            arguments of `Dataset.create_tensor`.
        overwrite: replace an existing dataset with all its versions. A program that has it open
            gets a ConflictError at its next commit.
        storage: settings of the store: endpoint, credentials, limits, cache. Secrets go to this
            store alone.
        link_storage: the stores that text in the dataset may lead to, besides its own: a `Storage`
            for each prefix of URLs, like `{"s3://pictures": deeplake.Storage()}`. The longest
            prefix counts; None refuses. Links and the datasets of saved views need it; see "What a
            dataset may reach" in docs/storage.md.

    Returns:
        The dataset, on branch "main".

    Raises:
        AlreadyExistsError: the dataset exists and `overwrite` is False, or foreign files lie in the
            folders that it would use.
        InvalidArgumentError: the schema is wrong. The place is as it was.

    Example:
        schema = {"images": {"htype": "image", "compression": "jpeg"}, "labels": "class_label"}
        ds = deeplake.create("flowers", schema=schema)
    """
    return make(uri, schema, overwrite, _storage.access(storage, link_storage), at_commit=False)


def make(
    uri: str | os.PathLike[str], schema: Mapping[str, Any] | None, overwrite: bool, stores: Stores, *, at_commit: bool
) -> Dataset:
    """Creates a dataset. With `at_commit`, one that is overwritten stays until the first commit."""
    place = _uri.resolve(uri)
    tensors = [] if schema is None else schema_specs(schema)
    reach = _storage.reach(stores)
    handle = _native.create(place, overwrite=overwrite, tensors=tensors, store=reach, at_commit=at_commit)
    return Dataset(Live(place, handle, storage=stores))


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
        branch: the branch that commits go to, and whose versions the numbers of `at` count.
        at: the version to read: a Commit, its id (or at least 6 characters of it), a tag, a branch,
            a version number, "branch@number", or a datetime, which means the newest version of that
            time. The dataset is then read-only.
        read_only: refuse writes.
        storage: settings of the store: endpoint, credentials, limits, cache. Secrets go to this
            store alone.
        link_storage: the stores that text in the dataset may lead to, as in `deeplake.create`.

    Returns:
        The dataset, which sees later versions after `refresh`.

    Raises:
        NotFoundError: the dataset or the version does not exist.
        AccessDeniedError: the store refuses: credentials are missing, wrong or expired, or lack a
            permission.
        StorageError: the store cannot be reached, or fails.
        UnsupportedError: a newer version of the format wrote the dataset.
    """
    stores = _storage.access(storage, link_storage)
    place, ref = _uri.resolve(uri), "" if at is None else ref_of(at)
    try:
        handle = _native.open(place, branch=branch, at=ref, read_only=read_only, store=_storage.reach(stores))
    except NotFoundError:
        if way := deeplake4_hint(place):
            raise NotFoundError(f'open dataset "{place}": {way}') from None
        raise
    if ref:
        # A time or the start of an id may mean another commit later, in a process that opens it
        # again.
        ref = handle.describe()["head"]["commit"]
    refuses = bool(handle.describe()["read_only"])  # also if the dataset is of another format
    return Dataset(Live(place, handle, branch=branch, at=ref, read_only=refuses, storage=stores))


@checks_keywords
def exists(uri: str | os.PathLike[str], *, storage: Storage | None = None) -> bool:
    """Returns whether a dataset lies at a URI.

    Args:
        uri: as in `deeplake.open`.
        storage: settings of the store.
    """
    place = _uri.resolve(uri)
    return _native.exists(place, store=_storage.reach(storage))


@checks_keywords
def delete(uri: str | os.PathLike[str], *, storage: Storage | None = None) -> None:
    """Deletes a dataset with all its versions, and no other file.

    A second call finishes an interrupted deletion. Until then `open` raises NotFoundError, which
    says so, and `exists` returns True.

    Args:
        uri: as in `deeplake.open`.
        storage: settings of the store.

    Raises:
        NotFoundError: neither a dataset nor a part of one lies there.
    """
    place = _uri.resolve(uri)
    _native.delete(place, store=_storage.reach(storage))


def inferred_schema(rows: Any) -> dict[str, Any]:
    """Returns the schema of the tensors that `Dataset.extend` makes of rows. It stores none."""
    uri = f"mem://schema-{uuid.uuid4().hex}"
    try:
        with create(uri) as probe:
            probe.extend(rows)
            made = probe.schema
            probe.discard()
    finally:
        delete(uri)
    return made


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
    """Runs a query on the datasets that its FROM names.

    Args:
        text: a SELECT with a FROM, whose names are URIs as in `deeplake.open`.
        params, seed, memory, threads: as in `View.query`.
        storage: settings of the store of the first dataset. Its secrets go to another dataset only
            on the same server: the same host, or buckets of the same endpoint.
        link_storage: settings of the other stores, by prefix of their URLs, and the stores that
            text in the datasets may lead to, as in `deeplake.create`.

    Returns:
        The rows of the result.

    Raises:
        InvalidArgumentError: the query is wrong. The message names line, column and the expected
            text.
        NotFoundError: a dataset, tensor or function does not exist.
        TensorTypeError: an operation does not suit the type of a tensor.

    Example:
        cats = deeplake.query('SELECT * FROM "s3://bucket/pets" WHERE label = ?', "cat")
    """
    stores = _storage.access(storage, link_storage)
    return ask(None, text, params, seed=seed, memory=memory, threads=threads, storage=stores)
