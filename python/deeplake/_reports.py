"""Reports of upkeep: what gc removed, what fsck found, what rechunk wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deeplake._commit import Commit, commit_of
from deeplake._text import printable
from deeplake._versions import RowSet


@dataclass(frozen=True)
class GCReport:
    """What `gc` removed, or with `dry_run` would.

    Attributes:
        objects, bytes: of garbage.
        temp_files, temp_bytes: that writers left who were killed.
        young, young_bytes: no version needs them, but they may belong to a commit that is being
            made.
        expired: versions that cannot be opened any more from this run on.
        kept, kept_bytes: that versions need; `commits` of them.
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
    """One object of a dataset that is missing or damaged.

    Attributes:
        key: its name in the store. what: what it is. error: what is wrong with it.
        branch, version: the newest version that needs it.
        tensor, rows, count: what it takes along: rows as counted in that version, the first ranges
            of them, and how many they are in all.
        lost: the same in words.
        repair: from what it can be rebuilt, "" if it cannot. repaired: whether that was done.
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
    """What `fsck` found. It is true where the dataset is whole.

    Attributes:
        commits, pages, chunks, bytes: what was looked at.
        orphans, orphan_bytes: objects that no version needs; `gc` removes them.
        problems: the newest versions first; `more` beyond those.
    """

    commits: int
    pages: int
    chunks: int
    bytes: int
    orphans: int
    orphan_bytes: int
    problems: Sequence[Problem] = field(default_factory=tuple)
    more: int = 0

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
    return FsckReport(**{**answer, "problems": problems})


@dataclass(frozen=True)
class RechunkReport:
    """What `rechunk` did.

    Attributes:
        rows, bytes: samples that were written anew, and the chunks that hold them now.
        before, after: pieces of chunks that the tensors consist of.
        commit: the version that was made; None where everything lay well.
    """

    rows: int
    bytes: int
    before: int
    after: int
    commit: Commit | None


def rechunk_of(answer: Mapping[str, Any]) -> RechunkReport:
    """Returns the report that the core describes."""
    return RechunkReport(**{**answer, "commit": commit_of(answer["commit"]) if answer["commit"] else None})
