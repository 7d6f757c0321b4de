"""The versions of a dataset and their maintenance: log, branches, tags, diff, merge, gc, fsck."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from deeplake import _index
from deeplake._checks import check_flag, check_names, integer
from deeplake._errors import InvalidArgumentError
from deeplake._names import checks_keywords
from deeplake._rows.live import Live
from deeplake._versions.changes import RowVersion, version_of
from deeplake._versions.commit import Commit, commit_of
from deeplake._versions.refs import (
    Branches,
    Diff,
    Ref,
    Tags,
    diff_of,
    ref_of,
)
from deeplake._versions.reports import FsckReport, GCReport, RechunkReport, fsck_of, rechunk_of

if TYPE_CHECKING:
    from deeplake._data.view import Dataset


class History:
    """The methods of `Dataset` about versions and maintenance. They need its source alone."""

    __slots__ = ()
    _source: Live

    def log(self, limit: int | None = None) -> list[Commit]:
        """Returns the versions of the branch, newest first.

        Args:
            limit: the most versions to return, at least 1; None returns all.

        Returns:
            The commits, with the numbers of rows that each added, updated and deleted.
        """
        return [commit_of(entry) for entry in self._source.handle().log(_limit("log", limit) or 0)]

    def history(self, row: int, limit: int | None = None) -> list[RowVersion]:
        """Returns the versions that changed a row, newest first, without reading samples.

        A row keeps its identity while its number changes. Of a merge, the versions that it took in
        are listed.

        Args:
            row: its number in the dataset as it is now.
            limit: the most versions to return, at least 1; None returns all.

        Returns:
            The versions, each with the tensors that it set and the number of the row there. The
            list is empty for a row that is not committed.

        Raises:
            IndexError: there is no such row.

        Example:
            for v in ds.history(7):
                print(v.commit.author, v.change, v.tensors)
        """
        at = _index.parse(row, self._source.length())
        if not isinstance(at, int):
            raise InvalidArgumentError(f"history: row is {row!r}, want the number of one row")
        return [version_of(entry) for entry in self._source.handle().history(at, _limit("history", limit) or 0)]

    @property
    def branches(self) -> Branches:
        """The branches: a mapping from name to newest commit, with `create` and `delete`."""
        return Branches(self._source)

    @property
    def tags(self) -> Tags:
        """The tags: a mapping by name, with `create` and `delete`."""
        return Tags(self._source)

    @checks_keywords
    def checkout(self, ref: Ref, *, create: bool = False) -> None:
        """Moves to the newest version of a branch, or to another version for reading. Existing
        views do not change.

        Args:
            ref: the name of a branch; or a tag, a commit, a version number or a time, as `at` of
                `deeplake.open`. The dataset is then read-only, until `checkout` of a branch.
            create: first create the branch of that name at the version that the dataset is at.

        Raises:
            ConflictError: some changes are not committed.
            NotFoundError: there is no such branch or version.
            ReadOnlyError: the dataset was opened with `at`, and stays there; or `create` is set,
                and it was opened read-only.

        Example:
            ds.checkout("v1.0")                 # read-only
            ds.checkout("main")                 # and back
        """
        handle = self._source.handle()
        handle.checkout(ref_of(ref), bool(create))
        self._source.moved(handle.describe())

    @checks_keywords
    def restore(self, at: Ref, *, message: str = "") -> Commit:
        """Makes the branch show the rows and tensors of another version, as a new commit.

        The history stays, and the restore can be undone. It copies no samples.

        Args:
            at: the version, as `at` of `deeplake.open`.
            message: the message of the commit; by default it names the version.

        Returns:
            The new version, or the present one if it shows the same.

        Raises:
            ConflictError: some changes are not committed.
            NotFoundError: the version does not exist, or has expired.
            UnsupportedError: the version is of another branch, and this one has its rows in
                another order.

        Example:
            ds.restore("v1.0")
        """
        done = self._source.handle().restore(ref_of(at), message)
        self._source.settled()
        return commit_of(done["commit"])

    @checks_keywords
    def revert(self, commit: Ref, *, on_conflict: str = "error", message: str = "") -> Commit:
        """Undoes the changes of one earlier commit, as a new commit.

        Rows that it appended are deleted. Rows that it deleted are there again, and updated samples
        are the old ones. Rows are matched by identity. Renamed, new and deleted tensors and the
        info are undone as well. New class names stay, because later labels may use them, and so do
        a dtype and a shape. A merge is undone as a whole.

        Args:
            commit: the version, as `at` of `deeplake.open`; the branch must come from it.
            on_conflict: what happens to samples, rows and tensors that later commits changed
                again: "ours" keeps them as they are, "theirs" undoes them as well, "error" refuses.
            message: the message of the commit; by default it names the version.

        Returns:
            The new version, or the present one if nothing was left to undo.

        Raises:
            ConflictError: later commits changed the same; `rows`, `tensor` and `winner` say where.
                Or some changes are not committed. Nothing has changed.
            InvalidArgumentError: the branch does not come from the commit, or it is version 0.
            NotFoundError: the commit does not exist, or it or the version before it has expired.

        Example:
            bad = ds.commit("relabel")
            ds.revert(bad)
        """
        done = self._source.handle().revert(ref_of(commit), on_conflict, message)
        self._source.settled()
        return commit_of(done["commit"])

    def diff(self, a: Ref, b: Ref | None = None) -> Diff:
        """Returns the changes that lead from one version to another, without reading samples.

        Uncommitted changes do not count.

        Args:
            a: the old version, as `at` of `deeplake.open`.
            b: the new version; None is the one that the dataset is at.

        Raises:
            NotFoundError: a version does not exist.

        Example:
            print(ds.diff("v1.0"))
        """
        answer = self._source.handle().diff(ref_of(a), "" if b is None else ref_of(b))
        return diff_of(answer, cast("Dataset", self))

    @checks_keywords
    def merge(self, ref: Ref, *, on_conflict: str = "error", message: str = "") -> Commit:
        """Merges another branch or version into this branch, as one commit.

        Rows are matched by identity, not by their numbers. Chunks are shared, not copied.

        Args:
            ref: the version to merge, as `at` of `deeplake.open`.
            on_conflict: the side that wins where both changed the same: "ours" (this branch) or
                "theirs". "error" refuses. Conflicting class names, dtypes, shapes and new tensors
                are refused always; the error says the way out.
            message: the message of the commit.

        Returns:
            The new version, or the present one if there was nothing to merge.

        Raises:
            ConflictError: both sides changed the same, or some changes are not committed. Nothing
                has changed.
        """
        done = self._source.handle().merge(ref_of(ref), on_conflict, message)
        self._source.settled()
        return commit_of(done["commit"])

    @checks_keywords
    def rechunk(
        self,
        tensors: Sequence[str] | None = None,
        *,
        chunk_bytes: int | None = None,
        message: str = "",
        rows: range | slice | None = None,
    ) -> RechunkReport:
        """Writes samples that updates, deletions and small commits scattered into full chunks, and
        commits that.

        Rows, samples and stored files do not change. `gc` frees the old chunks once no version
        needs them.

        Args:
            tensors: names of tensors; None takes all.
            chunk_bytes: the size that chunks of these tensors aim at from now on, in bytes. All
                their samples are then rewritten.
            message: the message of the commit.
            rows: neighbouring rows; None takes all. The tasks of a distributed write divide a
                dataset so, and `fragment` takes the place of the commit.

        Raises:
            ConflictError: some changes are not committed.
        """
        if isinstance(tensors, str):
            tensors = [tensors]
        tensors = check_names("rechunk", tensors)
        source = self._source
        if rows is None:
            start, stop = 0, 0
        else:
            picked = range(*rows.indices(source.length())) if isinstance(rows, slice) else rows
            if not isinstance(picked, range) or picked.step != 1 or not picked:
                raise InvalidArgumentError(f"rechunk: rows is {rows!r}, want neighbouring rows, at least one")
            start, stop = picked.start, picked.stop
        options = {"tensors": tensors, "chunk_bytes": chunk_bytes, "message": message, "start": start, "stop": stop}
        done = source.write(lambda handle: handle.rechunk(options), types=True)
        if not source.handle().describe()["dirty"]:
            source.settled()
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
        """Removes objects that no version of any branch or tag needs.

        These are leftovers of writers that never committed, of deleted branches and of expired
        versions. With `expire` it first expires versions, on all branches, that a newer one
        replaced longer ago than that. So every state of a branch since then can be opened. The
        newest version of each branch, versions with a tag, and the origins of branches stay. An
        expired version stays in `log()` and cannot be opened. Its data go with the next gc after
        `older_than`.

        Args:
            older_than: the least age of removed objects; None is seven days. A writer that needs
                longer between its first chunk and its commit may lose rows, and so may a reader of
                an expired version. Use timedelta(0) only while no other program uses the dataset.
            expire: how long a version is kept after the next one of its branch; timedelta(0) keeps
                the newest alone. None expires nothing.
            keep_last: the number of newest versions of each branch to keep in any case, at least 1.
            dry_run: only report.

        Raises:
            CorruptError: the dataset is damaged. Nothing was removed.
        """
        done = self._source.handle().gc(
            _seconds("older_than", older_than),
            _seconds("expire", expire),
            _limit("gc", keep_last, "keep_last"),
            check_flag("gc", "dry_run", dry_run),
        )
        return GCReport(**done)

    @checks_keywords
    def fsck(self, *, data: bool = True, repair: bool = False) -> FsckReport:
        """Checks all objects that branches and tags need, and reports missing and damaged ones.

        Args:
            data: read and check every chunk. False checks only that each exists and has its size.
            repair: rebuild damaged objects where possible.

        Returns:
            The report, which is true if the dataset is whole.
        """
        flags = check_flag("fsck", "data", data), check_flag("fsck", "repair", repair)
        return fsck_of(self._source.handle().fsck(*flags))


def _limit(called: str, limit: Any, what: str = "limit") -> int | None:
    number = integer(limit)
    if limit is not None and (number is None or not 1 <= number < 1 << 63):
        raise InvalidArgumentError(f"{called}: {what} is {limit!r}, want an int >= 1 or None")
    return number


def _seconds(what: str, age: Any) -> float | None:
    if age is not None and not isinstance(age, timedelta):
        raise InvalidArgumentError(f"gc: {what} is {age!r}, want a timedelta like timedelta(days=7), or None")
    return None if age is None else age.total_seconds()
