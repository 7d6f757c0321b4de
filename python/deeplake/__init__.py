"""Versioned datasets of images, tensors and labels that stream into training at the speed of the
decoder.

    import deeplake

    ds = deeplake.open("deeplake://me/flowers")
    for batch in ds.pytorch(batch_size=256, shuffle=True):
        ...

Importing the package loads neither the core nor NumPy nor torch: each comes with the first call
that needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from deeplake._errors import (
    AccessDeniedError,
    AlreadyExistsError,
    CanceledError,
    ClosedError,
    ConflictError,
    CorruptError,
    DeviceError,
    Error,
    ForkedError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    ReadOnlyError,
    StorageError,
    TensorTypeError,
    UnsupportedError,
    WorkerError,
)
from deeplake._version import __version__

if TYPE_CHECKING:
    from deeplake import tql
    from deeplake._cache import Cache
    from deeplake._commit import Commit
    from deeplake._copy import copy
    from deeplake._dataset import create, delete, exists, open, query
    from deeplake._link import Link, link
    from deeplake._mix import Mix, mix
    from deeplake._query import Explanation
    from deeplake._row import Row
    from deeplake._sample import Sample, read
    from deeplake._storage import Storage
    from deeplake._tensor import Group, Tensor
    from deeplake._versions import Diff, Tag
    from deeplake._view import Dataset, QueryView, View
    from deeplake._visualize import Visualizer

__all__ = [
    "AccessDeniedError",
    "AlreadyExistsError",
    "Cache",
    "CanceledError",
    "ClosedError",
    "Commit",
    "ConflictError",
    "CorruptError",
    "Dataset",
    "DeviceError",
    "Diff",
    "Error",
    "Explanation",
    "ForkedError",
    "Group",
    "InternalError",
    "InvalidArgumentError",
    "Link",
    "Mix",
    "NotFoundError",
    "OutOfRangeError",
    "QueryView",
    "ReadOnlyError",
    "Row",
    "Sample",
    "Storage",
    "StorageError",
    "Tag",
    "Tensor",
    "TensorTypeError",
    "UnsupportedError",
    "View",
    "Visualizer",
    "WorkerError",
    "__version__",
    "copy",
    "create",
    "delete",
    "exists",
    "link",
    "mix",
    "open",
    "query",
    "read",
    "tql",
]

_MODULES = {
    "Cache": "_cache",
    "Commit": "_commit",
    "Dataset": "_view",
    "Diff": "_versions",
    "Explanation": "_query",
    "Group": "_tensor",
    "Link": "_link",
    "Mix": "_mix",
    "QueryView": "_view",
    "Row": "_row",
    "Sample": "_sample",
    "Storage": "_storage",
    "Tag": "_versions",
    "Tensor": "_tensor",
    "View": "_view",
    "Visualizer": "_visualize",
    "copy": "_copy",
    "create": "_dataset",
    "delete": "_dataset",
    "exists": "_dataset",
    "link": "_link",
    "mix": "_mix",
    "open": "_dataset",
    "query": "_dataset",
    "read": "_sample",
}


def __getattr__(name: str) -> object:
    module = _MODULES.get(name)
    if name == "tql":
        return import_module(f"{__name__}.tql")
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
