"""The head of a dataset, which a `Dataset` writes to, and the warning about lost changes."""

from __future__ import annotations

import atexit
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar
from weakref import WeakSet

from deeplake import _index, _native
from deeplake._errors import ClosedError, ForkedError, UnsupportedError
from deeplake._index import Rows
from deeplake._rows.source import COMMIT_FIRST, Pinned, Source, Version, open_native
from deeplake._rows.tensor import Tensor, shape_of
from deeplake._rows.within import spread
from deeplake._samples.column import inferred_types
from deeplake._samples.json_column import check_json
from deeplake._samples.labels import numbered, unpacked
from deeplake._stores import storage as _storage
from deeplake._stores.storage import Stores

_R = TypeVar("_R")


def dropped(operation: str, uri: str) -> str:
    """Returns the text of the warning about changes that are lost."""
    return (
        f'{operation} dataset "{uri}": uncommitted changes were dropped; call commit() to keep them, or '
        "discard() to drop them without this warning"
    )


_open: WeakSet[Live] = WeakSet()


@atexit.register
def _warn_at_exit() -> None:
    for live in list(_open):
        live.warn("exit with")
        live.uncommitted = False  # one warning


class Live(Source):
    """The head of a dataset in one handle: the committed rows and the handle's own changes."""

    def __init__(
        self,
        uri: str,
        handle: _native.Dataset | None,
        *,
        branch: str = "main",
        at: str = "",
        read_only: bool = False,
        now: Pinned | None = None,
        storage: Stores = None,
        past: str = "",
        task: str = "",
    ) -> None:
        self.uri = uri
        self._task = task  # of a distributed write; "": the dataset is none
        self.storage = storage
        self.branch = branch
        self.read_only = read_only
        self._opened_read_only = read_only  # while another version is checked out
        self._past = past  # the commit that is checked out; "" is the newest of the branch
        self.uncommitted = False
        self.columns = {}
        self._at = at
        self._handle = handle
        self._now = now
        # The rows before the latest updates, where samples are read that these have not changed.
        # Reading the newest rows seals every chunk that is being filled.
        self._base: Pinned | None = None
        self._closed = False
        self._dtypes: dict[str, str] | None = None
        self._labels: set[str] = set()  # the class_label tensors
        self._lock = threading.Lock()
        self._writes = 0
        _open.add(self)

    def __del__(self) -> None:
        self.warn("drop")

    def warn(self, operation: str) -> None:
        """Warns if uncommitted changes are about to be lost."""
        try:
            handle = self._handle
            if not self.uncommitted or handle is None or handle.generation != _native.generation():
                return
            if handle.alive and handle.describe()["dirty"]:
                warnings.warn(dropped(operation, self.uri), UserWarning, stacklevel=3)
        except Exception:
            pass

    def __reduce__(self) -> tuple[Any, ...]:
        if self._task:
            raise UnsupportedError(
                f'pickle dataset "{self.uri}": it is open for task "{self._task}" of a distributed write, in this '
                "process alone; send the write, and call its task() there"
            )
        now = self.pinned()  # refused below when rows are not committed
        return _live, (self.uri, self.branch, self._at, self._opened_read_only, now, self.storage, self._past)

    def handle(self) -> _native.Dataset:
        """Returns the native handle. A forked or unpickled process opens one of its own, at the
        newest version.
        """
        if self._closed:
            raise ClosedError(f'use dataset "{self.uri}": it is closed; open it again')
        handle = self._handle
        if handle is None or handle.generation != _native.generation():
            if self._task:
                raise ForkedError(
                    f'use dataset "{self.uri}" in a forked process: it is open in the parent for task "{self._task}" '
                    "of a distributed write; call the write's task() here"
                )
            if self.uncommitted:
                raise ForkedError(
                    f'use dataset "{self.uri}" in a forked process: it has uncommitted rows, and only the parent '
                    f"process has them; {COMMIT_FIRST}"
                )
            handle = self._handle = open_native(
                self.uri, self.storage, branch=self.branch, at=self._at, read_only=self._opened_read_only
            )
            if self._past:
                handle.checkout(self._past)
        return handle

    def pinned(self) -> Pinned:
        now = self._now
        if now is None or self._closed:
            handle = self.handle()
            writes = self._writes
            about = handle.describe()
            # Other processes follow the links that this one has added.
            self.storage = stores = _storage.naming(self.storage, about.get("named", []))
            commit = about["head"]["commit"]
            now = Pinned(
                Version(
                    self.uri,
                    commit,
                    handle,
                    stores,
                    branch=self.branch,
                    number=about["head"]["version"],
                    uncommitted=self.uncommitted,
                ),
                None,
            )
            with self._lock:
                if writes == self._writes:  # no other thread has written meanwhile
                    self._now = self._base = now
        return now

    def pinned_for(self, name: str, row: int | None = None) -> Pinned:
        return self._base_for(name, row) or self.pinned()

    def pinned_row(self, row: int) -> Pinned:
        return self._base_for("", row) or self.pinned()

    def _base_for(self, name: str, row: int | None) -> Pinned | None:
        """Returns `_base` if it has a sample as it is now. Name "" is any tensor, None any row."""
        base, handle = self._base, self._handle
        if base is None or base is self._now or handle is None or handle.generation != _native.generation():
            return None  # it is the newest one, or belongs to another process
        return None if base.version.root().outdated(name, -1 if row is None else row) else base

    def names(self) -> list[str]:
        base = self._base  # updates add no tensor
        return super().names() if base is None or self._closed else base.names()

    def length(self) -> int:
        """Returns the number of rows. Unlike reading, this leaves chunks open that are being
        filled.
        """
        now = self._now
        return int(self.handle().describe()["rows"]) if now is None or self._closed else now.length()

    def keep(self, name: str, column: _native.Column, of: Pinned) -> None:
        with self._lock:
            if of is self._now or (of is self._base and not of.version.root().outdated(name, -1)):
                self.columns[name] = column

    def write(
        self,
        call: Callable[[_native.Dataset], _R],
        *,
        types: bool = False,
        updated: Iterable[str] | None = None,
    ) -> _R:
        """Calls `call`, and forgets rows that were read before; with `types` the tensors too. If
        `call` only updates samples, `updated` has their tensors.
        """
        handle = self.handle()
        was, self.uncommitted = self.uncommitted, True
        try:
            return call(handle)
        except BaseException:
            self.uncommitted = was or bool(handle.describe()["dirty"])
            raise
        finally:
            self.changed(types=types, updated=updated)

    def changed(self, *, types: bool = False, updated: Iterable[str] | None = None) -> None:
        """Forgets the rows of the old state, and with `types` the tensors. Other tensors than the
        `updated` ones stay.
        """
        with self._lock:
            self._writes += 1
            self._now = None
            if updated is None:
                self._base = None
                self.columns.clear()
            else:
                # Levels of a tensor change with it, and are hidden by their names.
                names = set(updated)
                for name in [name for name in self.columns if name in names or name.startswith("_")]:
                    del self.columns[name]
        if types:
            self._dtypes = None

    def settled(self) -> None:
        """Notes that nothing is uncommitted."""
        self.uncommitted = False
        self.changed(types=True)

    def moved(self, about: Mapping[str, Any]) -> None:
        """Notes that another branch or version is checked out, as the handle describes it."""
        self.branch, self.read_only = about["branch"], about["read_only"]
        self._past = about["head"]["commit"] if about.get("past") else ""
        self.settled()

    @property
    def closed(self) -> bool:
        return self._closed

    def append(self, columns: Mapping[str, Any]) -> None:
        types = self._types()
        columns = self._prepared(columns)
        is_new = not types and not self.handle().describe()["tensors"]
        if is_new:
            types = inferred_types(columns)
        check_json("append to", columns, types)
        self.write(lambda handle: handle.append(columns, types), types=is_new)

    def append_stream(self, stream: Any) -> None:
        """Appends the rows of an object with `__arrow_c_stream__`."""
        self.write(lambda handle: handle.append_stream(stream), types=True)

    def update(self, rows: Rows, columns: Mapping[str, Any]) -> None:
        types = self._types()
        columns = self._prepared(columns)
        check_json("update", columns, types)
        self.write(lambda handle: handle.update(_index.as_array(rows), columns, types), updated=columns)

    def update_rows_of(self, view: Pinned, columns: Mapping[str, Any]) -> None:
        """Replaces samples of the rows of a view, wherever they lie now."""
        types, rows = self._types(), view.view()
        columns = self._prepared(columns)
        check_json("update", columns, types)
        self.write(lambda handle: handle.update_rows_of(rows, columns, types), updated=columns)

    def delete_rows_of(self, view: Pinned) -> None:
        """Deletes the rows of a view, wherever they lie now."""
        rows = view.view()
        self.write(lambda handle: handle.delete_rows_of(rows))

    def spread(self, columns: Mapping[str, Any], rows: int) -> dict[str, Any]:
        """Returns columns for some rows, with one sample repeated where it stands for all."""
        described = {about["name"]: about for about in self.handle().describe()["tensors"]}
        return {
            name: spread(name, value, rows, about, shape_of(about)) if (about := described.get(name)) else value
            for name, value in columns.items()
        }

    def close(self) -> bool:
        """Closes the handle. Returns whether uncommitted rows were dropped."""
        if self._closed:
            return False
        handle, self._handle = self._handle, None
        self._closed = True
        self.changed()
        if handle is None or not handle.alive:
            return False
        dropped = self.uncommitted and bool(handle.describe()["dirty"])
        handle.close()
        return dropped

    def _prepared(self, columns: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns columns with numbers in the place of lists of class names, texts in that of
        their arrays, and samples in that of tensors. `_types` comes first.
        """
        made = {name: unpacked(column[:] if isinstance(column, Tensor) else column) for name, column in columns.items()}
        return {name: numbered(name, column) if name in self._labels else column for name, column in made.items()}

    def _types(self) -> dict[str, str]:
        """Returns the type of every tensor, as the native `append` wants it: the dtype, or the
        htype of pictures and masks, with "+exif" where pictures are turned.
        """
        types = self._dtypes
        if types is None:
            types, is_final = {}, True
            self._labels = set()
            for tensor in self.handle().describe()["tensors"]:
                if tensor["htype"] == "class_label":
                    self._labels.add(tensor["name"])
                # A tensor without a dtype takes that of its first sample.
                is_final = is_final and bool(tensor["dtype"])
                dtype = tensor["dtype"] or ""
                base = tensor["htype"].removeprefix("sequence[").removesuffix("]")
                if base.startswith("image") or base in ("binary_mask", "segment_mask", "instance_label"):
                    dtype = base + "+exif" * bool(tensor.get("apply_exif_orientation"))
                if dtype or tensor["sequence"]:
                    types[tensor["name"]] = f"sequence[{dtype}]" if tensor["sequence"] else dtype
            self._dtypes = types if is_final else None
        return types


def _live(uri: str, branch: str, at: str, read_only: bool, now: Pinned, storage: Stores, past: str) -> Live:
    live = Live(uri, None, branch=branch, at=at, read_only=read_only, now=now, storage=storage, past=past)
    live.read_only = read_only or bool(past)
    return live
