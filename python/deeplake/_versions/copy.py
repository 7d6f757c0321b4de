"""Copies of a dataset, with or without its history."""

from __future__ import annotations

import os
from dataclasses import dataclass

from deeplake import _native
from deeplake._names import checks_keywords
from deeplake._stores import storage as _storage
from deeplake._stores import uri as _uri
from deeplake._stores.storage import Storage
from deeplake._versions.refs import Ref, ref_of


@dataclass(frozen=True)
class CopyReport:
    """The figures of a copy.

    Attributes:
        objects, bytes, commits: the contents of the copy.
        skipped: objects that an interrupted copy had left.
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

    An interrupted copy leaves no dataset; the same call continues it.

    Args:
        src, dst: addresses, as in `deeplake.open`.
        history: copy all branches and tags with all their versions. False copies the rows of one
            version, as the first version of the copy.
        branch, at: the version to copy without history, as in `deeplake.open`. `at` is refused
            with history.
        message: the message of the one version of a copy without history.
        storage: settings of the store of `src`, and of `dst` without `dst_storage`. Secrets go to
            `dst` only if it is on the same server.
        dst_storage: settings of the store of `dst`.

    Raises:
        AlreadyExistsError: a dataset lies at `dst`.
        CorruptError: `src` is damaged; `fsck()` tells where.

    Example:
        deeplake.copy("flowers", "s3://bucket/flowers", history=True)
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
