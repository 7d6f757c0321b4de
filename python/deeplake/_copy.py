"""Copies of a dataset, with or without its history."""

from __future__ import annotations

import os
from dataclasses import dataclass

from deeplake import _native, _storage, _uri
from deeplake._names import checks_keywords
from deeplake._storage import Storage
from deeplake._versions import Ref, ref_of


@dataclass(frozen=True)
class CopyReport:
    """What `deeplake.copy` did.

    Attributes:
        objects, bytes, commits: of the copy.
        skipped: objects that were there from a copy that was cut short.
        server: objects that the store copied by itself.
    """

    objects: int
    bytes: int
    skipped: int
    server: int
    commits: int


@checks_keywords
def copy(
    src: str | os.PathLike[str],
    dst: str | os.PathLike[str],
    *,
    history: bool = False,
    branch: str = "main",
    at: Ref | None = None,
    message: str = "",
    storage: Storage | None = None,
    dst_storage: Storage | None = None,
) -> CopyReport:
    """Copies a dataset to another place, in any store.

    A copy that was cut short leaves no dataset; the same call goes on where it was.

    Args:
        src, dst: addresses as `deeplake.open` takes them.
        history: copy all branches and tags with all their versions. Without it the copy begins with
            one version, of the rows that `src` has.
        branch, at: the version to copy without history, as for `deeplake.open`.
        message: of the one version of a copy without history.
        storage: settings of the store of `src`, and of `dst` unless `dst_storage` says otherwise.
            Secrets go to `dst` only if it is on the same server.
    Raises:
        AlreadyExistsError: there is a dataset at `dst`.
        CorruptError: `src` is not whole; `fsck()` says where.
    """
    _storage.check(storage)
    _storage.check(dst_storage)
    source, target = _uri.resolve(src), _uri.resolve(dst)
    options = {
        "history": history,
        "branch": branch,
        "at": "" if at is None else ref_of(at),
        "message": message,
        "from": _storage.reach(storage),
    }
    if dst_storage is not None:
        options["to"] = _storage.reach(dst_storage)
    return CopyReport(**_native.copy(source, target, options))
