"""The exceptions of the package: one root, one class per kind of failure of the core."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from deeplake._commit import Commit


class Error(Exception):
    """Root of every exception that this package raises.

    Attributes:
        status: the `dl_status` of the failure, an int that is stable within a major version of the
            C ABI.
        operation: the operation that failed, like "read", "put" or "open dataset".
        object: the thing it failed on, like the key of an object, a URI or the name of a tensor.
        retryable: True if what failed may succeed when it is tried again, False if it cannot.
        request_id: the name that the object store gave to the request that failed.

    An attribute that is not known is None.
    """

    status: int = 0
    operation: str | None = None
    object: str | None = None
    retryable: bool | None = None
    request_id: str | None = None


class InvalidArgumentError(Error, ValueError):
    """An argument is wrong."""

    status = 1


class TensorTypeError(Error, TypeError):
    """A dtype, shape or htype does not fit."""

    status = 2


class OutOfRangeError(Error, IndexError):
    """An index is outside the rows or bounds."""

    status = 3


class NotFoundError(Error, LookupError):
    """A named thing does not exist."""

    status = 4


class AlreadyExistsError(Error, ValueError):
    """A named thing exists already."""

    status = 5


class CorruptError(Error, ValueError):
    """Stored bytes are damaged."""

    status = 6


class UnsupportedError(Error, NotImplementedError):
    """Written by a newer version of the library, or not built in."""

    status = 7


class ConflictError(Error, RuntimeError):
    """Another writer committed something that contradicts this commit, or the two sides of a merge
    contradict.

    Attributes:
        kind: what was done here and there, like "update x delete"; "" where there is no more to say
            than the message.
        tensor: that it is about, "" where it is not about one.
        rows: the first 16 rows that it is about. count: how many they are.
        winner: the Commit that stands, or None.
    """

    status = 8

    def __init__(self, message: str = "", details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        more = details or {}
        self.kind: str = more.get("kind", "")
        self.tensor: str = more.get("tensor", "")
        self.rows: list[int] = list(more.get("rows", ()))
        self.count: int = more.get("count", 0)
        self.winner: Commit | None = None
        if more.get("winner"):
            from deeplake._commit import commit_of

            self.winner = commit_of(more["winner"])


class ReadOnlyError(Error, PermissionError):
    """A write to something that is open, or mounted, for reading."""

    status = 9


class StorageError(Error, OSError):
    """The store failed: no space, an I/O error, unreachable."""

    status = 10


class ClosedError(Error, ValueError):
    """Use after close."""

    status = 11


class CanceledError(Error, RuntimeError):
    """The caller gave up, or a deadline passed."""

    status = 12


class ForkedError(Error, RuntimeError):
    """A handle of the parent process was used in a forked child."""

    status = 13


class InternalError(Error, RuntimeError):
    """A bug in this library."""

    status = 14


class AccessDeniedError(Error, PermissionError):
    """The store refuses: the credentials are missing, wrong or expired, or do not allow this."""

    status = 15
