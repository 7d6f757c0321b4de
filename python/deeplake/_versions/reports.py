"""Reports of gc, fsck and rechunk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deeplake._text import printable
from deeplake._versions.commit import Commit, commit_of
from deeplake._versions.refs import RowSet


@dataclass(frozen=True)
class GCReport:
    """The figures of a `gc`. With `dry_run` they say what it would do.

    Attributes:
        objects, bytes: garbage that was removed.
        temp_files, temp_bytes: leftovers of killed writers that were removed.
        young, young_bytes: unneeded objects that stay, since they may belong to an unfinished
            commit.
        expired: versions that cannot be opened any more from this run on.
        kept, kept_bytes, commits: objects that versions need, and the commits among them.
    """

    dry_run: bool
    objects: int
    bytes: int
    temp_files: int
    temp_bytes: int
    young: int
    young_bytes: int
    expired: int
    commits: int
    kept: int
    kept_bytes: int


@dataclass(frozen=True)
class Problem:
    """One missing or damaged object of a dataset.

    Attributes:
        key: its name in the store.
        what: its kind.
        error: the fault.
        branch, version: the newest version that needs it.
        tensor: the tensor whose samples it holds, or "".
        rows: the first ranges of lost rows, as counted in that version.
        count: the number of lost rows.
        lost: the loss in words.
        repair: the source from which it can be rebuilt, or "".
        repaired: whether this run rebuilt it.
    """

    key: str
    what: str
    error: str
    branch: str
    version: int
    tensor: str
    rows: Sequence[range]
    count: int
    lost: str
    repair: str
    repaired: bool

    def __repr__(self) -> str:
        where = f' of tensor "{self.tensor}"' if self.tensor else ""
        lost = f"; {RowSet(self.count, self.rows)!r}" if self.count else ""
        if self.repaired:
            outcome = f"; rebuilt {self.repair}"
        else:
            outcome = f"; can be rebuilt {self.repair}: fsck(repair=True)" if self.repair else f"; lost: {self.lost}"
        return printable(f"{self.what}{where} in {self.branch}, version {self.version}: {self.error}{lost}{outcome}")


@dataclass(frozen=True)
class FsckReport:
    """The result of an `fsck`. It is true if the dataset is whole.

    Attributes:
        commits, pages, chunks, bytes: the checked objects.
        orphans, orphan_bytes: objects that no version needs; `gc` removes them.
        problems: the problems of the newest versions first.
        more: the number of further problems.
        foreign: files in the folders of the dataset that are none of its objects, at most 1,000.
            Nothing reads, copies or deletes them.
        more_foreign: the number of further ones.
    """

    commits: int
    pages: int
    chunks: int
    bytes: int
    orphans: int
    orphan_bytes: int
    problems: Sequence[Problem] = field(default_factory=tuple)
    more: int = 0
    foreign: Sequence[str] = field(default_factory=tuple)
    more_foreign: int = 0

    def __bool__(self) -> bool:
        return all(problem.repaired for problem in self.problems) and self.more == 0

    def __repr__(self) -> str:
        seen = f"{self.commits:,} commits, {self.pages:,} pages, {self.chunks:,} chunks of {self.bytes:,} bytes"
        lines = [f"{seen}: {len(self.problems) + self.more:,} problems"]
        return "\n".join([*lines, *(f"  {problem!r}" for problem in self.problems)])


def fsck_of(answer: Mapping[str, Any]) -> FsckReport:
    """Returns the report that the core describes."""
    problems = tuple(
        Problem(**{**entry, "rows": tuple(range(start, start + n) for start, n in entry["rows"] or ())})
        for entry in answer["problems"]
    )
    return FsckReport(**{**answer, "problems": problems, "foreign": tuple(answer["foreign"] or ())})


@dataclass(frozen=True)
class RechunkReport:
    """The figures of a `rechunk`.

    Attributes:
        rows, bytes: rewritten samples, and the size of their new chunks.
        before, after: pieces of chunks that the tensors consist of.
        commit: the new version; None if there was nothing to rewrite.
    """

    rows: int
    bytes: int
    before: int
    after: int
    commit: Commit | None


def rechunk_of(answer: Mapping[str, Any]) -> RechunkReport:
    """Returns the report that the core describes."""
    return RechunkReport(**{**answer, "commit": commit_of(answer["commit"]) if answer["commit"] else None})
