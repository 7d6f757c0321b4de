"""Changed rows: those between two versions with their values, and the history of one row."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake._versions.commit import Commit, commit_of

if TYPE_CHECKING:
    from deeplake._data.view import Dataset
    from deeplake._versions.refs import Diff, TensorDiff

_READ = 64  # rows at a time


@dataclass(frozen=True)
class RowDiff:
    """A row of a tensor that differs between version a and version b.

    Attributes:
        id: a name of the row that no commit changes. It is the same in all versions and branches.
        change: "added", "updated" or "deleted".
        old_row, new_row: its number in version a and in version b, None where it is missing.
        old, new: its sample in version a and in version b, as a `Row` has it; None for none.
    """

    id: str
    change: str
    old_row: int | None
    new_row: int | None
    old: Any
    new: Any


@dataclass(frozen=True)
class RowVersion:
    """A version that changed a row.

    Attributes:
        commit: the version, with author, time and message.
        change: "added", "updated", "deleted" or "restored".
        tensors: the tensors whose samples it set, by their names in that version. Empty for
            "deleted", and where an expired version has lost them.
        row: the number of the row in that version, so that `ds.at(commit)[row]` has the samples;
            None if the row is not there, or the version has expired.
    """

    commit: Commit
    change: str
    tensors: Sequence[str]
    row: int | None


def version_of(entry: Mapping[str, Any]) -> RowVersion:
    """Returns the change of a row that the core describes."""
    row = entry["row"]
    return RowVersion(commit_of(entry["commit"]), entry["change"], tuple(entry["tensors"]), None if row < 0 else row)


def changed_rows(
    diff: Diff, tensor: TensorDiff, same: Sequence[Mapping[str, int]], at: Callable[[str], Dataset]
) -> Iterator[RowDiff]:
    """Yields the changed rows of a tensor; see `Diff.rows`."""
    starts = [part["b"] for part in same]

    def old_row(row: int) -> int:
        part = same[bisect_right(starts, row) - 1]
        return row - part["b"] + part["a"]

    added = ((row, "added") for row in tensor.added)
    updated = ((row, "updated") for row in tensor.updated)
    new = ((None if change == "added" else old_row(row), row) for row, change in heapq.merge(added, updated))
    name, old_name = tensor.name, tensor.old_name or tensor.name
    with ExitStack() as stack:
        a, b = (stack.enter_context(at(commit.id)) for commit in (diff.a, diff.b))
        while some := list(islice(new, _READ)):
            before = _samples(a, old_name, [old for old, _ in some if old is not None])
            after = _samples(b, name, [row for _, row in some])
            ids = b._source.handle().row_names(np.array([row for _, row in some], np.int64))
            for key, (old, row), sample in zip(ids, some, after, strict=True):
                if old is None:
                    yield RowDiff(key, "added", None, row, None, sample)
                else:
                    yield RowDiff(key, "updated", old, row, next(before), sample)
        deleted = iter(tensor.deleted)
        while gone := list(islice(deleted, _READ)):
            ids = a._source.handle().row_names(np.array(gone, np.int64))
            for key, row, sample in zip(ids, gone, _samples(a, old_name, gone), strict=True):
                yield RowDiff(key, "deleted", row, None, sample, None)


def _samples(ds: Dataset, name: str, rows: list[int]) -> Iterator[Any]:
    return iter([row[name] for row in ds.__getitems__(rows)])
