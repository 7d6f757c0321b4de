"""Ray reads datasets into `ray.data`, and writes what it computes into datasets.

    import deeplake.ray

    rows = deeplake.ray.read("s3://bucket/pets", columns=["image", "label"])
    deeplake.ray.write(rows.map_batches(embed), "s3://bucket/vectors")

The driver pins one version. Each read task opens a part of its rows; each write task returns a
fragment, and one commit makes all of them visible. See docs/clusters.md.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from deeplake._compute.write_job import WriteJob
from deeplake._data.dataset import inferred_schema
from deeplake._data.dataset import open as open_dataset
from deeplake._data.view import Dataset, View
from deeplake._errors import InvalidArgumentError
from deeplake._lazy import package
from deeplake._names import checks_keywords
from deeplake._versions.commit import Commit
from deeplake._versions.refs import Ref

if TYPE_CHECKING:
    from deeplake._stores.storage import Storage

__all__ = ["read", "write"]

_WAY_OUT = 'pip install "ray[data]"'


def read(
    source: str | os.PathLike[str] | View,
    *,
    query: str | None = None,
    params: Sequence[Any] | Mapping[str, Any] = (),
    columns: Sequence[str] | None = None,
    branch: str = "main",
    at: Ref | None = None,
    storage: Storage | None = None,
    link_storage: Mapping[str, Storage | None] | None = None,
    **options: Any,
) -> Any:
    """Returns a `ray.data.Dataset` of the rows of one version.

    Blocks are tables of Arrow with the types of docs/tables.md, but for arrays: these, and decoded
    pictures, are tensors of Ray, which batches of NumPy and torch show as arrays. A picture is
    uint8 of shape (height, width, channels), class labels are their names. If all samples of a
    tensor have one shape, a batch has one array of shape (rows, ...), else an array of arrays. A
    missing sample is null in Arrow; a batch of NumPy shows a missing array as zeros, or as an array
    without elements where shapes differ.

    Columns and conditions of Ray (`select_columns`, `filter(expr=...)`) reach the tasks, which read
    no more than they need. Rows come in any order, unless the `DataContext` has
    `execution_options.preserve_order`.

    Args:
        source: a dataset by its URI, as in `deeplake.open`, or an open dataset or a view without
            uncommitted rows.
        query: a query of the rows. The tasks check a plain WHERE, each for its rows. Any other
            query runs on the driver, once, and its row numbers go to the tasks.
        params: the parameters of the query: a list for each ?, or a dict for each :name.
        columns: names of tensors; None takes those that the query names, else all but pictures.
        branch, at, storage, link_storage: as in `deeplake.open`, for a URI. Tasks get the settings
            of the store with their secrets, by way of Ray.
        options: those of `ray.data.read_datasource`: override_num_blocks, concurrency, num_cpus
            and others. A task decodes pictures on as many threads as it has CPUs.

    Raises:
        NotFoundError: the dataset, the version or a tensor does not exist.
        UnsupportedError: Ray is not installed, rows are not committed or in mem://, a query
            computes or renames columns, or Arrow has no type for a tensor.

    Example:
        rows = deeplake.ray.read("s3://bucket/pets", query="SELECT * WHERE label = 'cat'")
    """
    data = package("read with Ray", "ray.data", _WAY_OUT)
    from deeplake._engines.ray_read import rows_of

    known = inspect.signature(data.read_datasource).parameters
    for name in options:
        if name not in known or name in ("datasource", "read_args", "parallelism"):
            raise InvalidArgumentError(f'read: unknown argument "{name}"')
    if isinstance(source, View):
        if at is not None or branch != "main" or storage is not None or link_storage is not None:
            raise InvalidArgumentError("read: branch, at, storage and link_storage are of a URI; leave them out")
        return rows_of(source._source.pinned(), query, params, columns, options)
    with open_dataset(source, branch=branch, at=at, read_only=True, storage=storage, link_storage=link_storage) as ds:
        return rows_of(ds._source.pinned(), query, params, columns, options)


@checks_keywords
def write(
    rows: Any,
    into: str | os.PathLike[str] | Dataset,
    *,
    schema: Mapping[str, Any] | None = None,
    mode: Literal["create", "append"] = "create",
    message: str = "",
    idempotency_key: str | None = None,
    storage: Storage | None = None,
    concurrency: int | None = None,
    ray_remote_args: Mapping[str, Any] | None = None,
) -> Commit:
    """Writes a `ray.data.Dataset` into a dataset, as one version.

    Each task takes blocks of 64 MB together, and writes their chunks into the store. One commit
    makes all rows visible, in the order of the tasks; that is the order of the Ray dataset if the
    `DataContext` has `execution_options.preserve_order`. After a failure, the dataset is as it
    was, and a later `gc` removes the chunks. A dataset that was created stays, without rows; the
    same call then fills it.

    Args:
        rows: the Ray dataset.
        into: the URI of the dataset, on a disk that all nodes share or in a store, or an open
            dataset without uncommitted changes, which moves to the new version.
        schema: tensors of a dataset without tensors, as in `deeplake.create`. The columns make the
            others, as with `Dataset.extend`: texts and numbers, tensors of Ray as arrays. Pictures
            and class labels need it.
        mode: "create" refuses a dataset with rows. "append" adds rows, and creates the dataset if
            it is not there.
        message: the message of the version.
        idempotency_key: a name of the job, for mode "append". If a version of the branch has it,
            that version is the result, and nothing is committed.
        storage: settings of the store, for a URI. Tasks get them with their secrets, by way of Ray.
        concurrency, ray_remote_args: as in `ray.data.Dataset.write_datasink`.

    Returns:
        The new version.

    Raises:
        AlreadyExistsError: the mode is "create", and a dataset with rows is there.
        ConflictError: another writer changed the same, or the open dataset has uncommitted changes.
        InvalidArgumentError: the Ray dataset has no rows, and no dataset is there.
        TensorTypeError: a column does not suit its tensor. An error of a task reaches you as the
            exception of Ray, whose cause it is.
        UnsupportedError: Ray is not installed.

    Example:
        deeplake.ray.write(vectors, "s3://bucket/vectors", schema={"label": "class_label"})
    """
    package("write with Ray", "ray.data", _WAY_OUT)
    from deeplake._engines.ray_write import DeeplakeDatasink

    if not hasattr(rows, "write_datasink"):
        raise InvalidArgumentError(f"write with Ray: got a {type(rows).__name__}, want a ray.data.Dataset")
    job = WriteJob(into, schema=schema, mode=mode, message=message, idempotency_key=idempotency_key, storage=storage)
    try:
        done = job.check()
        if done is None:
            sink = DeeplakeDatasink(job, inferred_schema)
            rows.write_datasink(sink, concurrency=concurrency, ray_remote_args=dict(ray_remote_args or {}))
            done = sink.commit
        return done
    finally:
        job.abandon()  # after Ctrl-C, which Ray does not report; otherwise it is over
