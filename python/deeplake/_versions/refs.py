"""Versions of a dataset: branches, tags, and the difference between two versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from deeplake._errors import InvalidArgumentError, NotFoundError
from deeplake._names import quoted, suggest
from deeplake._rows.live import Live
from deeplake._text import printable
from deeplake._versions.changes import RowDiff, changed_rows
from deeplake._versions.commit import Commit, commit_of, text_of, time_of

if TYPE_CHECKING:
    from deeplake._data.view import Dataset

_T = TypeVar("_T")
_SHOWN_RANGES = 4


@dataclass(frozen=True)
class Tag:
    """A commit with a permanent name.

    Attributes:
        name: the name.
        commit: the version.
        message: its purpose.
        author: the user that created it.
        time: its creation, in UTC.
    """

    name: str
    commit: Commit
    message: str
    author: str
    time: datetime
    _time: str = field(default="", repr=False, compare=False)  # with the digits that datetime lacks

    def __repr__(self) -> str:
        said = f'"{printable(self.message)}" by {printable(self.author)}'
        return f'Tag("{self.name}", {self._time or text_of(self.time)}, {said}, {self.commit!r})'


# A name of a version; see `deeplake.open(at=)`.
Ref = Commit | Tag | str | int | datetime


def ref_of(ref: Ref) -> str:
    """Returns a version as the core names it."""
    if isinstance(ref, Tag):
        ref = ref.commit
    if isinstance(ref, Commit):
        return ref.id
    if isinstance(ref, datetime):
        # Python's times end at microseconds: the end of this one, so that `commit.time` finds its
        # commit.
        return ref.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f999Z")
    if isinstance(ref, bool) or not isinstance(ref, int | str) or ref == "":
        raise InvalidArgumentError(
            f"open version {ref!r}: want a Commit, its id, a tag, a branch, a version number or a datetime"
        )
    return str(ref)


class _Names(Mapping[str, _T], Generic[_T]):
    """Names that a dataset has. Each look reads them anew, as others may make some at any time."""

    __slots__ = ("_source",)
    _what = ""

    def __init__(self, source: Live) -> None:
        self._source = source

    def _all(self) -> dict[str, _T]:
        raise NotImplementedError

    def __getitem__(self, name: str) -> _T:
        found = self._all()
        if name not in found:
            there = f"they are {quoted(found)}" if found else "there are none"
            raise NotFoundError(
                f'"{self._source.uri}": there is no {self._what} "{name}"; {there}{suggest(name, found)}'
            )
        return found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __contains__(self, name: object) -> bool:
        return name in self._all()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._all()!r})"


class Branches(_Names[Commit]):
    """The branches of a dataset: a mapping from name to newest commit. Use `dataset.branches`."""

    __slots__ = ()
    _what = "branch"

    def _all(self) -> dict[str, Commit]:
        return {entry["name"]: commit_of(entry["head"]) for entry in self._source.handle().branches()}

    def create(self, name: str, at: Ref | None = None) -> None:
        """Creates a branch, in constant time. The dataset stays on its own; see `Dataset.checkout`.

        Args:
            name: the name of the branch.
            at: the version that it starts from, as in `deeplake.open`. None is the one that the
                dataset is at, without uncommitted changes.

        Raises:
            AlreadyExistsError: a branch or a tag has that name.
            InvalidArgumentError: the name could mean a version or a commit.
        """
        self._source.handle().create_branch(name, "" if at is None else ref_of(at))

    def delete(self, name: str) -> None:
        """Deletes a branch. A `gc` removes objects that it alone needs once they are a week old.

        Args:
            name: the name of the branch.

        Raises:
            NotFoundError: no branch has that name.
        """
        self._source.handle().delete_branch(name)


class Tags(_Names[Tag]):
    """The tags of a dataset: a mapping by name. Use `dataset.tags`."""

    __slots__ = ()
    _what = "tag"

    def _all(self) -> dict[str, Tag]:
        return {entry["name"]: _tag(entry) for entry in self._source.handle().tags()}

    def create(self, name: str, at: Ref | None = None, message: str = "") -> Tag:
        """Gives a version a permanent name: a tag never moves, and its name is never used again.

        Args:
            name: the name of the tag.
            at: the version, as in `deeplake.open`. None is the one that the dataset is at, without
                uncommitted changes.
            message: its purpose.

        Raises:
            AlreadyExistsError: a tag has, or had, that name, or a branch has it.
            InvalidArgumentError: the name could mean a version or a commit.
        """
        return _tag(self._source.handle().create_tag(name, "" if at is None else ref_of(at), message))

    def delete(self, name: str) -> None:
        """Deletes a tag. Its name cannot be used again.

        Args:
            name: the name of the tag.

        Raises:
            NotFoundError: no tag has that name.
        """
        self._source.handle().delete_tag(name)


def _tag(entry: Mapping[str, Any]) -> Tag:
    return Tag(
        entry["name"],
        commit_of(entry["commit"]),
        entry["message"],
        entry["author"],
        time_of(entry["time"]),
        entry["time"],
    )


@dataclass(frozen=True)
class RowSet:
    """Rows of one version, as ranges of row numbers.

    Attributes:
        count: the number of rows.
        ranges: rising, disjoint ranges of row numbers.
    """

    count: int
    ranges: Sequence[range]

    def __bool__(self) -> bool:
        return self.count > 0

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[int]:
        return (row for part in self.ranges for row in part)

    def __repr__(self) -> str:
        if not self.count:
            return "no rows"
        parts = [str(r.start) if len(r) == 1 else f"{r.start}-{r.stop - 1}" for r in self.ranges[:_SHOWN_RANGES]]
        more = ", ..." if len(self.ranges) > _SHOWN_RANGES else ""
        return f"{self.count:,} {'row' if self.count == 1 else 'rows'} ({', '.join(parts)}{more})"


def _rows(entry: Mapping[str, Any]) -> RowSet:
    return RowSet(entry["count"], tuple(range(start, start + n) for start, n in entry["ranges"] or ()))


@dataclass(frozen=True)
class TensorDiff:
    """The changes of one tensor between two versions.

    Attributes:
        name: its name in version b, in version a if it was dropped.
        change: "created", "dropped" or "changed".
        old_name: its name in version a, None if it was not renamed.
        schema: the properties that differ.
        added, updated, deleted: rows, as counted in b, b and a.
    """

    name: str
    change: str  # "created", "dropped" or "changed"
    old_name: str | None
    schema: Sequence[str]
    added: RowSet
    updated: RowSet
    deleted: RowSet

    def __repr__(self) -> str:
        said = [f'renamed from "{self.old_name}"'] if self.old_name else []
        said += [self.change] if self.change != "changed" else []
        said += [f"{', '.join(self.schema)} changed"] if self.schema else []
        for what, rows in (("added", self.added), ("updated", self.updated), ("deleted", self.deleted)):
            if rows:
                said.append(f"{rows!r} {what}")
        return printable(f"{self.name}: {'; '.join(said) or 'no change'}")


@dataclass(frozen=True)
class Diff:
    """The changes that lead from version a to version b. It is false if there are none.

    Attributes:
        a, b: the versions.
        base: the newest commit that both come from.
        added: rows that b has and a lacks, as counted in b.
        deleted: rows that a has and b lacks, as counted in a.
        info: whether the info of the dataset differs.
        tensors: the tensors that differ, by name.
    """

    a: Commit
    b: Commit
    base: Commit
    added: RowSet
    deleted: RowSet
    info: bool
    tensors: Mapping[str, TensorDiff]
    _same: Sequence[Mapping[str, int]] = field(default=(), repr=False, compare=False)
    _dataset: Dataset | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_dataset": None}

    def rows(self, tensor: str) -> Iterator[RowDiff]:
        """Returns an iterator over the changed rows of a tensor, with their old and new samples.

        It reads 64 rows at a time, as they are asked for. Added and updated rows come first, by
        their numbers in version b; then deleted ones, by their numbers in version a. A row that was
        added or deleted without a sample in the tensor is left out.

        Args:
            tensor: its name in version b, in version a if it was dropped.

        Raises:
            NotFoundError: neither version has the tensor.
            InvalidArgumentError: the diff comes from another process.

        Example:
            for row in ds.diff("v1", "v2").rows("label"):
                print(row.id, row.old, row.new)
        """
        if self._dataset is None:
            raise InvalidArgumentError("read the rows of a diff from another process: call diff() in this one")
        found = self.tensors.get(tensor)
        if found is None:
            known = [*self.tensors, *self._dataset.at(self.b.id).tensors]
            if tensor in known:
                return iter(())
            raise NotFoundError(f'rows of a diff: there is no tensor "{tensor}"{suggest(tensor, known)}')
        return changed_rows(self, found, self._same, self._dataset.at)

    def __bool__(self) -> bool:
        return bool(self.added or self.deleted or self.info or self.tensors)

    def __repr__(self) -> str:
        lines = [f"from version {self.a.version} ({self.a.id[:8]}) to version {self.b.version} ({self.b.id[:8]})"]
        if self.added:
            lines.append(f"  {self.added!r} added")
        if self.deleted:
            lines.append(f"  {self.deleted!r} deleted")
        if self.info:
            lines.append("  info changed")
        lines += [f"  {tensor!r}" for tensor in self.tensors.values()]
        return "\n".join(lines if self else [*lines, "  no difference"])


def diff_of(answer: Mapping[str, Any], dataset: Dataset | None = None) -> Diff:
    """Returns the difference that the core describes, between versions of a dataset."""
    tensors = {
        entry["name"]: TensorDiff(
            entry["name"], entry["change"], entry.get("old_name") or None, tuple(entry["schema"] or ()),
            _rows(entry["added"]), _rows(entry["updated"]), _rows(entry["deleted"]),
        )
        for entry in answer["tensors"]
    }  # fmt: skip
    a, b, base = (commit_of(answer[key]) for key in ("a", "b", "base"))
    same = answer["same"]
    return Diff(a, b, base, _rows(answer["added"]), _rows(answer["deleted"]), answer["info"], tensors, same, dataset)
