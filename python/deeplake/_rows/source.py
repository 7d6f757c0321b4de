"""Sources of rows: what all have, and one fixed version of a dataset. `_live` has the head.

(uri, commit, selection, storage settings) describe a source, so it survives a pickle and a fork. It
opens its native handles again.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from deeplake import _index, _native
from deeplake._errors import ForkedError, InvalidArgumentError, NotFoundError, ReadOnlyError, UnsupportedError
from deeplake._index import Rows
from deeplake._names import quoted, suggest
from deeplake._rows.video import videos
from deeplake._samples.column import timed
from deeplake._stores import storage as _storage
from deeplake._stores.storage import Stores

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_R = TypeVar("_R")
COMMIT_FIRST = "commit, or discard, what was written first"


class Version:
    """All rows of one version of a dataset, for reading; shared by the views of it."""

    __slots__ = ("_description", "_owner", "_root", "branch", "commit", "number", "storage", "uncommitted", "uri")

    def __init__(
        self,
        uri: str,
        commit: str,
        owner: _native.Dataset | None,
        storage: Stores = None,
        *,
        branch: str = "main",
        number: int | None = None,
        uncommitted: bool = False,
    ) -> None:
        self.uri = uri
        self.commit = commit
        self.number = number  # of the version on the branch, probably; None is not known
        self.branch = branch  # where the commit is looked for first
        self.storage = storage
        self.uncommitted = uncommitted
        # A view can be read as long as the dataset that made it is open.
        self._owner = owner
        self._root = None if owner is None else owner.view()
        self._description: dict[str, dict[str, Any]] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        if self.uncommitted:
            raise UnsupportedError(f'pickle rows of "{self.uri}": some are not committed yet; {COMMIT_FIRST}')
        return _version, (self.uri, self.commit, self.branch, self.storage, self.number)

    def root(self) -> _native.View:
        """Returns the native view of all rows; opens it again in another process."""
        root = self._root
        if root is None or root.generation != _native.generation():
            if self.uncommitted:
                raise ForkedError(
                    f'use rows of "{self.uri}" in a forked process: some are not committed, and only the parent '
                    f"process has them; {COMMIT_FIRST}"
                )
            self._owner = self._opened()
            root = self._root = self._owner.view()
        return root

    def _opened(self) -> _native.Dataset:
        """Opens the version: by its number, which takes three requests however many commits follow
        it, and else by its id.
        """
        if self.number is not None:
            with suppress(NotFoundError, InvalidArgumentError):  # the branch may be gone
                at = f"{self.branch}@{self.number}"
                found = open_native(self.uri, self.storage, branch=self.branch, at=at, read_only=True)
                if found.describe()["head"]["commit"] == self.commit:
                    return found
                found.close()  # the branch has another history by now
        return open_native(self.uri, self.storage, branch=self.branch, at=self.commit, read_only=True)

    @property
    def origin(self) -> str:
        """The place of the dataset that the rows belong to."""
        return self.uri

    def tensors(self) -> dict[str, dict[str, Any]]:
        """Returns the descriptions of the tensors by name, in order of creation."""
        if self._description is None:
            self._description = {tensor["name"]: tensor for tensor in self.root().describe()["tensors"]}
        return self._description

    def handle(self) -> _native.Dataset | None:
        """Returns the dataset of the version, if it is still open in this process."""
        owner = self._owner
        return owner if owner is not None and owner.alive else None

    def numbers(self, rows: Rows) -> npt.NDArray[np.int64]:
        """Returns the dataset rows of some rows."""
        return _index.as_array(rows)


def _version(uri: str, commit: str, branch: str, storage: Stores, number: int | None = None) -> Version:
    return Version(uri, commit, None, storage, branch=branch, number=number)


def open_native(
    uri: str, storage: Stores = None, *, branch: str = "", at: str = "", read_only: bool = False
) -> _native.Dataset:
    """Opens a dataset with the environment as it is now. The error of a missing mem:// dataset
    names its cause.
    """
    try:
        return _native.open(uri, branch=branch, at=at, read_only=read_only, store=_storage.reach(storage))
    except NotFoundError as err:
        if not uri.startswith("mem://"):
            raise
        raise NotFoundError(
            f"{err}; a dataset in memory lives in the process that made it, use one on disk to share it"
        ) from None


class Source:
    """The rows and tensors behind datasets, views and loaders."""

    # Columns that `return_index` adds beside "_index".
    marks: tuple[str, ...] = ()

    # Native columns by tensor name. The dict stays the same one, so that `Tensor.bytes` needs no
    # other look-up.
    columns: dict[str, _native.Column]
    uri: str

    def pinned(self) -> Pinned:
        """Returns the rows as they are now. Later writes do not change them."""
        raise NotImplementedError

    def pinned_for(self, name: str, row: int | None = None) -> Pinned:
        """Returns rows in which one tensor is as it is now; with `row`, one sample of it."""
        return self.pinned()

    def pinned_row(self, row: int) -> Pinned:
        """Returns rows in which one row is as it is now."""
        return self.pinned()

    def append(self, columns: Mapping[str, Any]) -> None:
        raise self._refusal("append to")

    def update(self, rows: Rows, columns: Mapping[str, Any]) -> None:
        raise self._refusal("update")

    def spread(self, columns: Mapping[str, Any], rows: int) -> Mapping[str, Any]:
        raise self._refusal("update")

    def _refusal(self, verb: str) -> ReadOnlyError:
        return ReadOnlyError(f'{verb} a view of "{self.uri}": views are for reading; write to the dataset itself')

    def length(self) -> int:
        return self.pinned().length()

    def tensors(self) -> dict[str, dict[str, Any]]:
        """Returns the descriptions of the tensors by name."""
        return self.pinned().tensors()

    def names(self) -> list[str]:
        return list(self.tensors())

    def require(self, name: object) -> dict[str, Any]:
        """Returns the description of a tensor. Raises NotFoundError."""
        tensors = self.pinned_for(name).tensors() if isinstance(name, str) else self.tensors()
        found = tensors.get(name) if isinstance(name, str) else None
        if found is None:
            there = f"the tensors are {quoted(tensors)}" if tensors else "it has no tensors yet"
            raise NotFoundError(f'"{self.uri}": there is no tensor "{name}"; {there}{suggest(name, tensors)}')
        return found

    def column(self, name: str) -> _native.Column:
        """Returns the native column of a tensor, and keeps it in `columns`."""
        column = self.columns.get(name)
        if column is None or column.generation != _native.generation():
            self.require(name)
            pinned = self.pinned_for(name)
            column = pinned.view().column(name)
            self.keep(name, column, pinned)
        return column

    def keep(self, name: str, column: _native.Column, of: Pinned) -> None:
        """Puts a column of the rows `of` into `columns`, unless these are no longer the rows."""
        self.columns[name] = column

    def read(self, rows: Any, name: str, collate: str) -> Any:
        """Reads and decodes one tensor: an array (stack, pad), or a list with one value per row
        (list). Videos are not read: each is a `Video`.
        """
        if self.require(name)["htype"] == "video":
            return videos(self.pinned_for(name), rows, name)
        return self.read_all(rows, [name], collate)[name]

    def read_marked(self, rows: Any, name: str) -> tuple[Any, Any]:
        """Reads a tensor of samples of one shape: an array, and a bool for each row that says where
        a hole is, or None.

        Raises TensorTypeError where there are holes and the core cannot mark them.
        """
        pinned = self.pinned_for(name)
        check_bfloat16(pinned.tensors(), [name])
        options = {"tensors": [name], "collate": "stack", "mark_holes": True}
        columns = pinned.view().read(rows, options).numpy()
        return _timed(pinned, columns)[name], columns.get(f"{name}_null")

    def read_all(self, rows: Any, names: list[str], collate: str) -> dict[str, Any]:
        """Reads and decodes several tensors with one call of the core."""
        pinned = self.pinned_for(names[0]) if len(names) == 1 else self.pinned()
        check_bfloat16(pinned.tensors(), names)
        return _timed(pinned, pinned.view().read(rows, {"tensors": names, "collate": collate}).numpy())


class Pinned(Source):
    """Some rows of one version, in an order. It never changes, and pickles as (uri, commit,
    selection).
    """

    def __init__(self, version: Version, rows: Rows | None) -> None:
        self.version = version
        self.columns = {}
        self.videos: dict[str, _native.Videos] = {}  # readers of frames
        self.rows = range(len(version.root())) if rows is None else rows
        self.uri = version.origin  # an answer knows it once it is there
        self._view: _native.View | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Pinned, (self.version, self.rows)

    def pinned(self) -> Pinned:
        return self

    def length(self) -> int:
        return len(self.rows)

    def tensors(self) -> dict[str, dict[str, Any]]:
        return self.version.tensors()

    def numbers(self) -> npt.NDArray[np.int64]:
        """Returns the numbers that the rows have in the dataset."""
        return self.version.numbers(self.rows)

    def select(self, rows: Rows) -> Pinned:
        """Returns the rows at some positions of this selection."""
        return Pinned(self.version, _index.compose(self.rows, rows))

    def view(self) -> _native.View:
        """Returns the native view of the selection; opens it again in another process."""
        view = self._view
        if view is None or view.generation != _native.generation():
            root = self.version.root()
            rows = self.rows
            if not isinstance(rows, range):
                view = root.select(rows)
            elif rows == range(len(root)):
                view = root
            else:
                view = root.slice(rows.start, rows.stop, rows.step)
            self._view = view
        return view

    def loader(self, options: Mapping[str, Any], weights: npt.NDArray[np.float64] | None = None) -> _native.Loader:
        """Returns a native loader of the selection; `weights` are those of its rows."""
        view = self.view()
        return (view if weights is None else view.weigh(weights)).loader(options)


def sources(source: Source, rows: Any = None) -> str | list[str | None] | None:
    """Returns the files from which rows were imported: of an int one, of other rows a list."""
    pinned = source.pinned()
    picked = range(pinned.length()) if rows is None else _index.parse(rows, pinned.length())
    if isinstance(picked, int):
        return pinned.view().sources([picked])[0]
    return pinned.view().sources(_index.as_array(picked))


def _timed(pinned: Pinned, columns: dict[str, Any]) -> dict[str, Any]:
    """Replaces the numbers that count time by times of NumPy."""
    tensors = pinned.tensors()
    for name in columns:
        if time := tensors.get(name, {}).get("time"):
            columns[name] = timed(columns[name], time)
    return columns


def check_bfloat16(tensors: Mapping[str, Mapping[str, Any]], names: list[str]) -> None:
    """Refuses bfloat16 as NumPy arrays if no package gives NumPy that type."""
    for name in names:
        if tensors.get(name, {}).get("dtype") == "bfloat16" and find_spec("ml_dtypes") is None:
            raise UnsupportedError(
                f'read tensor "{name}": NumPy has no bfloat16 of its own; pip install ml_dtypes, or read it with torch'
            )
