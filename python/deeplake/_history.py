"""The versions of a dataset and its upkeep: log, branches, tags, diff, merge, rechunk, gc, fsck."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from deeplake._commit import Commit, commit_of
from deeplake._errors import InvalidArgumentError
from deeplake._names import checks_keywords
from deeplake._reports import FsckReport, GCReport, RechunkReport, fsck_of, rechunk_of
from deeplake._source import Live
from deeplake._versions import (
    Branches,
    Diff,
    Ref,
    Tags,
    diff_of,
    ref_of,
)


class History:
    """The methods of `Dataset` about versions and upkeep. They need its source alone."""

    __slots__ = ()
    _source: Live

    def log(self, limit: int | None = None) -> list[Commit]:
        """Returns the versions, the newest first."""
        if limit is not None and limit < 1:
            raise InvalidArgumentError(f"log: limit is {limit}, want an int >= 1 or None")
        return [commit_of(entry) for entry in self._source.handle().log(limit or 0)]

    @property
    def branches(self) -> Branches:
        """The branches: a mapping from name to newest commit, with `create` and `delete`."""
        return Branches(self._source)

    @property
    def tags(self) -> Tags:
        """The tags: a mapping by name, with `create` and `delete`."""
        return Tags(self._source)

    def diff(self, a: Ref, b: Ref | None = None) -> Diff:
        """Returns what leads from version `a` to version `b`; None is the one that the dataset is
        at.

        It is found from the index alone, no sample is read. What is not committed does not count.
        Refs are as `at` of `deeplake.open`.
        """
        return diff_of(self._source.handle().diff(ref_of(a), "" if b is None else ref_of(b)))

    @checks_keywords
    def merge(self, ref: Ref, *, on_conflict: str = "error", message: str = "") -> Commit:
        """Takes what another branch, or version, has into this branch, as one commit.

        Rows are matched by what they are, not by their numbers. Chunks are shared and not copied.

        Args:
            ref: what to take in, as `at` of `deeplake.open`.
            on_conflict: where both sides changed the same: "error", or whose change counts: "ours"
                is this branch.
            message: of the commit.
        Returns:
            The new version, or the present one where there was nothing to take in.
        Raises:
            ConflictError: both sides changed the same, or something is not committed. Nothing has
                changed.
        """
        done = self._source.handle().merge(ref_of(ref), on_conflict, message)
        self._source.settled()
        return commit_of(done["commit"])

    @checks_keywords
    def rechunk(
        self, tensors: Sequence[str] | None = None, *, chunk_bytes: int | None = None, message: str = ""
    ) -> RechunkReport:
        """Writes what updates, deletions and small commits have scattered into full chunks again,
        and commits that.

        Rows, samples and stored files stay what they are. The space of the old chunks comes back
        with a `gc`, once no version needs them.

        Args:
            tensors: names; None is all.
            chunk_bytes: the size that chunks of these tensors aim at from now on; everything is
                then written anew.
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
        """Removes what no version of any branch or tag needs: what writers left who never
        committed, what deleted branches had to themselves, and what only expired versions needed.

        With `expire` it first expires versions, on all branches: those that were replaced by a
        newer one longer ago than that. So every state of a branch since then can be opened. The
        newest version of each branch stays, and so do versions with a tag and branches that began
        as an old version. An expired version stays in `log()` and cannot be opened any more; its
        data go `older_than` later, with the next gc.

        Args:
            older_than: the least age of what is removed; None is seven days. A writer that takes
                longer between its first chunk and its commit may lose rows, and so may a reader of
                a version that is expired, so timedelta(0) is for when nobody else is there.
            expire: how long a version is kept after another one of its branch has followed;
                timedelta(0) keeps the newest alone. None expires nothing.
            keep_last: the number of newest versions of each branch that are kept in any case, at
                least 1.
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
        """Looks at everything that the branches and tags need, and reports what is missing or
        damaged.

        Args:
            data: read and check every chunk; else only whether each is there and has its size.
            repair: rebuild what can be.
        """
        return fsck_of(self._source.handle().fsck(bool(data), bool(repair)))
