"""Datasets: the part of the surface that writes, and the functions that find, make and delete them."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType, TracebackType
from typing import Any

from deeplake import _index, _native, _storage, _uri
from deeplake._commit import Commit, commit_of
from deeplake._errors import InvalidArgumentError
from deeplake._names import checks_keywords
from deeplake._saved import SavedView, as_view, load, saved_views
from deeplake._source import Live
from deeplake._storage import Storage
from deeplake._tensor import Tensor
from deeplake._versions import (
    Branches,
    Diff,
    FsckReport,
    GCReport,
    RechunkReport,
    Ref,
    Tags,
    diff_of,
    fsck_of,
    rechunk_of,
    ref_of,
)
from deeplake._view import View


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
        uri: a path, `file://...`, `s3://bucket/path`, `gs://bucket/path`, `mem://name` (in this process only) or
            `deeplake://org/name`.
        schema: tensors to create and commit, by name: an htype, or the arguments of `Dataset.create_tensor` as a dict.
        overwrite: replace a dataset that is there, with all its versions. Who has it open gets a ConflictError at the
            next commit.
        storage: settings of the store: its endpoint, credentials, limits, cache. Secrets go to this store alone.
        link_storage: where text stored in the dataset may lead besides the dataset's own store, and how: a dict of
            `Storage` by prefix of URLs, like `{"s3://pictures": deeplake.Storage()}`. The longest prefix counts; None
            refuses. It is for links, and for datasets that saved views name. See "What a dataset may reach" in
            docs/storage.md.
    Raises:
        AlreadyExistsError: there is a dataset, and `overwrite` is False; or files that belong to no dataset lie in the
            folders that it would use.
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
        uri: a path, `file://...`, `s3://bucket/path`, `gs://bucket/path`, `https://...` (for reading), `mem://name` or
            `deeplake://org/name`.
        branch: where commits go to, and what version numbers count on.
        at: a version to read: a Commit, its id (or at least 6 characters of it), a tag, a branch, a version number,
            "branch@number", or a datetime, which means the newest version of that time. Such a dataset is read-only.
        read_only: refuse writes.
        storage: settings of the store: its endpoint, credentials, limits, cache. Secrets go to this store alone.
        link_storage: where text stored in the dataset may lead besides the dataset's own store, and how: a dict of
            `Storage` by prefix of URLs, like `{"s3://pictures": deeplake.Storage()}`. The longest prefix counts; None
            refuses. It is for links, and for datasets that saved views name. See "What a dataset may reach" in
            docs/storage.md.
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

    A deletion that was broken off goes on when it is called again. Until then `open` raises NotFoundError, which says
    so, and `exists` is true. Raises NotFoundError when there is neither a dataset nor a part of one.
    """
    place = _uri.resolve(uri)
    _native.delete(place, store=_storage.reach(storage))


class Dataset(View):
    """An open dataset: its rows as they are now, those written and not committed yet included.

    What is written becomes durable, and visible to others, by `commit()` alone. A dataset is a context manager that
    closes it, and never commits. It may be used from several threads. In a forked or unpickled process it reads the
    same version, and writes to the newest.
    """

    __slots__ = ()
    _source: Live

    def __reduce__(self) -> tuple[Any, ...]:
        return Dataset, (self._source,)

    @property
    def branch(self) -> str:
        """The branch that commits go to."""
        return str(self._source.handle().describe()["branch"])

    @property
    def head(self) -> Commit:
        """The version that the dataset is at."""
        return commit_of(self._source.handle().describe()["head"])

    @property
    def read_only(self) -> bool:
        """Whether writes are refused."""
        return self._source.read_only

    @property
    def dirty(self) -> bool:
        """Whether there is something to commit."""
        return bool(self._source.handle().describe()["dirty"])

    @property
    def info(self) -> Mapping[str, Any]:
        """What the user says of the dataset, a JSON object. Assign another dict to change it, then commit."""
        return MappingProxyType(self._source.handle().describe()["info"] or {})

    @info.setter
    def info(self, info: Mapping[str, Any]) -> None:
        self._source.write(lambda handle: handle.set_info(dict(info)))

    @checks_keywords
    def create_tensor(
        self,
        name: str,
        htype: str = "generic",
        *,
        dtype: Any = None,
        shape: Sequence[int | None] | None = None,
        compression: str | None = None,
        quality: int | None = None,
        subsampling: str | None = None,
        class_names: Sequence[str] | None = None,
        chunk_bytes: int | None = None,
        exist_ok: bool = False,
        info: Mapping[str, Any] | None = None,
    ) -> Tensor:
        """Adds a tensor; the rows there are become holes in it.

        Args:
            name: "a/b" lies in group a.
            htype: what samples mean: "image", "class_label", "bbox", "text" and others, or "sequence[...]" of one.
            dtype: of an element: a NumPy name or dtype, "string", "json" or "bytes"; None takes the htype's own, or
                that of the first sample.
            shape: of a sample, None for an axis that varies; None for any.
            compression: "none", "lz4", "zstd"; for images "jpeg", "png" and "webp" too.
            quality: of "jpeg", 1 to 100.
            subsampling: of "jpeg", "4:4:4", "4:2:2" or "4:2:0".
            class_names: of class_label: the names of 0, 1 and so on; appending an unknown name adds it.
            chunk_bytes: the size that chunks aim at.
            exist_ok: take a tensor of the same kind that is there.
            info: what the user says of the tensor, a JSON object.
        Raises:
            AlreadyExistsError: there is one of that name.
        """
        spec = {
            "name": name,
            "htype": htype,
            "dtype": _dtype(dtype),
            "shape": None if shape is None else [-1 if axis is None else int(axis) for axis in shape],
            "compression": compression,
            "quality": quality,
            "subsampling": subsampling,
            "class_names": None if class_names is None else list(class_names),
            "chunk_bytes": chunk_bytes,
            "exist_ok": exist_ok,
            "info": None if info is None else dict(info),
        }
        self._source.write(lambda handle: handle.create_tensor(spec), types=True)
        return Tensor(self._source, name)

    def append(self, row: Mapping[str, Any]) -> None:
        """Adds one row: a sample for each tensor, None for a hole."""
        if not isinstance(row, Mapping):
            raise InvalidArgumentError(f"append: got {type(row).__name__}, want a dict from tensor names to samples")
        self._source.append({name: [sample] for name, sample in row.items()})

    def extend(self, rows: Mapping[str, Any] | Iterable[Mapping[str, Any]]) -> None:
        """Adds rows, all or none of them.

        Args:
            rows: a dict from each tensor name to its samples (an array whose first axis counts the rows, or a
                sequence), or a sequence of rows. The dict is the fast form.
        Raises:
            TensorTypeError: a sample does not suit its tensor; tensor, row, got and wanted are named.
            InvalidArgumentError: columns of different length, or not one for every tensor.
        """
        self._source.append(rows if isinstance(rows, Mapping) else _columns(rows))

    def update(self, index: Any, row: Mapping[str, Any]) -> None:
        """Replaces samples.

        Args:
            index: an int; or a slice, ints or a mask, and then `row` has a sequence of samples for each tensor.
            row: the tensors to change; others stay as they are.
        """
        picked = _index.parse(index, len(self))
        if isinstance(picked, int):
            self._source.update(range(picked, picked + 1), {name: [sample] for name, sample in row.items()})
        else:
            self._source.update(picked, row)

    def delete(self, rows: Any) -> None:
        """Deletes rows, given as an int, a slice, ints or a mask; the rows behind them move up."""
        picked = _index.parse(rows, len(self))
        wanted = _index.as_array(range(picked, picked + 1) if isinstance(picked, int) else picked)
        self._source.write(lambda handle: handle.delete_rows(wanted))

    def commit(self, message: str = "") -> Commit:
        """Makes what was written durable and visible, and returns the new version.

        What other writers have committed meanwhile is taken in. With nothing written there is no new version.

        Raises:
            ConflictError: another writer changed the same; what was written is still here.
        """
        done = self._source.write(lambda handle: handle.commit(message), types=True)
        self._source.settled()
        return commit_of(done)

    def discard(self) -> None:
        """Drops what was written since the last commit."""
        self._source.handle().discard()
        self._source.settled()

    def refresh(self) -> None:
        """Moves to the newest version, which others may have committed."""
        self._source.handle().refresh()
        self._source.settled()

    def log(self, limit: int | None = None) -> list[Commit]:
        """Returns the versions, the newest first."""
        if limit is not None and limit < 1:
            raise InvalidArgumentError(f"log: limit is {limit}, want an int >= 1 or None")
        return [commit_of(entry) for entry in self._source.handle().log(limit or 0)]

    def at(self, ref: Ref) -> Dataset:
        """Opens a version of the past for reading; `ref` as `at` of `deeplake.open`."""
        self._source.pinned()  # notes the links of this session
        handle = self._source.handle().at(ref_of(ref))
        at = handle.describe()["head"]["commit"]
        live = Live(self.uri, handle, branch=self._source.branch, at=at, read_only=True, storage=self._source.storage)
        return Dataset(live)

    def views(self) -> list[SavedView]:
        """Returns what is known of the views that were saved, by name."""
        return saved_views(self._source.handle())

    def load_view(self, name: str) -> View:
        """Returns a view that was saved, at the version that it was saved with.

        Raises:
            NotFoundError: there is none of that name, or its version has expired.
        """
        source = self._source
        stores = source.pinned().version.storage  # with the links of this session
        return as_view(load(source.handle(), name, self.uri, source.branch, stores))

    def delete_view(self, name: str) -> None:
        """Forgets a view that was saved. Raises NotFoundError."""
        self._source.handle().delete_view(name)

    @property
    def branches(self) -> Branches:
        """The branches: a mapping from names to their newest commits, with `create` and `delete`."""
        return Branches(self._source)

    @property
    def tags(self) -> Tags:
        """The tags: a mapping by name, with `create` and `delete`."""
        return Tags(self._source)

    @checks_keywords
    def checkout(self, branch: str, *, create: bool = False) -> None:
        """Goes to the newest version of another branch. Views that were taken stay what they are.

        Args:
            branch: its name.
            create: make it first, as a branch of the version that the dataset is at.
        Raises:
            ConflictError: something is not committed.
            NotFoundError: there is no such branch.
        """
        self._source.handle().checkout(branch, bool(create))
        self._source.branch = branch
        self._source.settled()

    def diff(self, a: Ref, b: Ref | None = None) -> Diff:
        """Returns what leads from version `a` to version `b`; None is the one that the dataset is at.

        It is found from the index alone, no sample is read. What is not committed does not count. Refs are as `at` of
        `deeplake.open`.
        """
        return diff_of(self._source.handle().diff(ref_of(a), "" if b is None else ref_of(b)))

    @checks_keywords
    def merge(self, ref: Ref, *, on_conflict: str = "error", message: str = "") -> Commit:
        """Takes what another branch, or version, has into this branch, as one commit.

        Rows are matched by what they are, not by their numbers. Chunks are shared and not copied.

        Args:
            ref: what to take in, as `at` of `deeplake.open`.
            on_conflict: where both sides changed the same: "error", or whose change counts: "ours" is this branch.
            message: of the commit.
        Returns:
            The new version, or the present one where there was nothing to take in.
        Raises:
            ConflictError: both sides changed the same, or something is not committed. Nothing has changed.
        """
        done = self._source.handle().merge(ref_of(ref), on_conflict, message)
        self._source.settled()
        return commit_of(done["commit"])

    def rename_tensor(self, old: str, new: str) -> None:
        """Gives a tensor, or a group of tensors, another name; commit makes it last."""
        self._source.write(lambda handle: handle.rename_tensor(old, new), types=True)

    def delete_tensor(self, name: str) -> None:
        """Deletes a tensor; commit makes it last. Older versions keep it."""
        self._source.write(lambda handle: handle.delete_tensor(name), types=True)

    @checks_keywords
    def rechunk(
        self, tensors: Sequence[str] | None = None, *, chunk_bytes: int | None = None, message: str = ""
    ) -> RechunkReport:
        """Writes what updates, deletions and small commits have scattered into full chunks again, and commits that.

        Rows, samples and stored files stay what they are. The space of the old chunks comes back with a `gc`, once no
        version needs them.

        Args:
            tensors: names; None is all.
            chunk_bytes: the size that chunks of these tensors aim at from now on; everything is then written anew.
            message: of the commit.
        Raises:
            ConflictError: something is not committed.
        """
        if isinstance(tensors, str):
            tensors = [tensors]
        done = self._source.handle().rechunk(tensors, chunk_bytes, message=message)
        self._source.settled()
        return rechunk_of(done)

    @checks_keywords
    def gc(
        self,
        *,
        older_than: timedelta | None = None,
        expire: timedelta | None = None,
        keep_last: int | None = None,
        dry_run: bool = False,
    ) -> GCReport:
        """Removes what no version of any branch or tag needs: what writers left who never committed, what deleted
        branches had to themselves, and what only expired versions needed.

        With `expire` it first expires versions, on all branches: those that were replaced by a newer one longer ago
        than that. So every state of a branch since then can be opened. The newest version of each branch stays, and
        so do versions with a tag and branches that began as an old version. An expired version stays in `log()` and
        cannot be opened any more; its data go `older_than` later, with the next gc.

        Args:
            older_than: the least age of what is removed; None is seven days. A writer that takes longer between its
                first chunk and its commit may lose rows, and so may a reader of a version that is expired, so
                timedelta(0) is for when nobody else is there.
            expire: how long a version is kept after another one of its branch has followed; timedelta(0) keeps the
                newest alone. None expires nothing.
            keep_last: the number of newest versions of each branch that are kept in any case, at least 1.
            dry_run: remove and expire nothing, only report.
        Raises:
            CorruptError: the dataset is damaged; nothing was removed.
        """
        done = self._source.handle().gc(
            None if older_than is None else older_than.total_seconds(),
            None if expire is None else expire.total_seconds(),
            keep_last,
            bool(dry_run),
        )
        return GCReport(**done)

    @checks_keywords
    def fsck(self, *, data: bool = True, repair: bool = False) -> FsckReport:
        """Looks at everything that the branches and tags need, and reports what is missing or damaged.

        Args:
            data: read and check every chunk; else only whether each is there and has its size.
            repair: rebuild what can be.
        """
        return fsck_of(self._source.handle().fsck(bool(data), bool(repair)))

    def close(self) -> None:
        """Closes the dataset: its views and loaders too. Uncommitted rows are dropped, with a warning."""
        if self._source.close():
            warnings.warn(
                f'close dataset "{self.uri}": uncommitted changes were dropped; call commit() to keep them, or '
                "discard() to drop them without this warning",
                UserWarning,
                stacklevel=3 if sys._getframe(1).f_code is Dataset.__exit__.__code__ else 2,
            )

    def __enter__(self) -> Dataset:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _title(self) -> str:
        if self._source.closed:
            return f"Dataset of {self.uri}, closed"
        about = self._source.handle().describe()
        marks = ["read-only"] * self.read_only + ["uncommitted changes"] * bool(about["dirty"])
        return f"{super()._title()}, version {about['head']['version']}{''.join(f', {mark}' for mark in marks)}"

    def __repr__(self) -> str:
        return self._title() if self._source.closed else super().__repr__()

    def _repr_html_(self) -> str | None:
        # None: the notebook shows the repr
        return None if self._source.closed else super()._repr_html_()


def _columns(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    listed = list(rows)
    for number, row in enumerate(listed):
        if not isinstance(row, Mapping):
            raise InvalidArgumentError(
                f"extend: row {number} is a {type(row).__name__}, want a dict from tensor names to samples"
            )
    names = dict.fromkeys(name for row in listed for name in row)
    return {name: [row.get(name) for row in listed] for name in names}


def _dtype(dtype: Any) -> str | None:
    """Returns the name of a dtype given as a name, a Python type, or one of NumPy or torch."""
    if dtype is None:
        return None
    if isinstance(dtype, str):
        return str(dtype)
    names = {str: "string", bytes: "bytes", bool: "bool", int: "int64", float: "float64", complex: "complex128"}
    if isinstance(dtype, type) and dtype in names:
        return names[dtype]
    text = str(dtype)
    if text.startswith("torch."):
        return text[len("torch.") :]
    import numpy as np

    try:
        return str(np.dtype(dtype).name)
    except TypeError:
        raise InvalidArgumentError(f"create tensor: dtype is {dtype!r}, want a name or a dtype of NumPy") from None
