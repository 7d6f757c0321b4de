"""The exceptions of the package: one root, one class per kind of failure of the core."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from deeplake._versions.commit import Commit


class Error(Exception):
    """Root of all exceptions of the package.

    Attributes:
        status: the `dl_status` of the failure, an int that is stable within a major version of the
            C ABI.
        operation: the operation that failed, like "read", "put" or "open dataset".
        object: its object: the key of an object, a URI or the name of a tensor.
        retryable: True if another attempt may succeed, False if it cannot.
        request_id: the name that the store gave to the failed request.

    An attribute that is not known is None.
    """

    status: int = 0
    # `str | Any`: type checkers take them without a check for None.
    operation: str | Any = None
    object: str | Any = None
    retryable: bool | None = None
    request_id: str | Any = None


class InvalidArgumentError(Error, ValueError):
    """An argument has a wrong value."""

    status = 1


class TensorTypeError(Error, TypeError):
    """A dtype, shape or htype does not fit."""

    status = 2


class OutOfRangeError(Error, IndexError):
    """An index is out of range."""

    status = 3


class NotFoundError(Error, LookupError):
    """A dataset, version, tensor, function or file does not exist."""

    status = 4


class AlreadyExistsError(Error, ValueError):
    """The name or the place is taken."""

    status = 5


class CorruptError(Error, ValueError):
    """Stored bytes are damaged."""

    status = 6


class UnsupportedError(Error, NotImplementedError):
    """The library does not support the request, or a newer version of it wrote the data."""

    status = 7


class ConflictError(Error, RuntimeError):
    """Another writer committed a contradicting change, or the sides of a merge contradict, or two
    tasks of a distributed write.

    Attributes:
        kind: the two changes, like "update x delete"; "" if the message says all.
        tensor: the tensor of the conflict, or "".
        rows: the first 16 rows of the conflict.
        count: the number of its rows.
        winner: the Commit that stands, or None. Tasks have none; the message names both.
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
            from deeplake._versions.commit import commit_of

            self.winner = commit_of(more["winner"])


class ReadOnlyError(Error, PermissionError):
    """A write to a dataset or store that is open for reading."""

    status = 9


class StorageError(Error, OSError):
    """The store failed: no space, an I/O error, unreachable."""

    status = 10


class ClosedError(Error, ValueError):
    """A use after close."""

    status = 11


class CanceledError(Error, RuntimeError):
    """The caller canceled the operation, or a deadline passed."""

    status = 12


class ForkedError(Error, RuntimeError):
    """A handle of the parent process was used in a forked child."""

    status = 13


class InternalError(Error, RuntimeError):
    """A bug in this library."""

    status = 14


class AccessDeniedError(Error, PermissionError):
    """The store refuses: credentials are missing, wrong or expired, or lack a permission."""

    status = 15


class DeviceError(Error, RuntimeError):
    """A GPU failed, or has too little memory."""

    status = 16


class WorkerError(Error, RuntimeError):
    """A worker process of a loader has ended, or could not start."""

    status = 17
