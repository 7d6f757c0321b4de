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
    from deeplake._compute.transform import Compute, compute, transform
    from deeplake._data.committing import DistributedWrite, Fragment
    from deeplake._data.dataset import create, delete, exists, open, query
    from deeplake._data.deeplake4 import Deeplake4, deeplake4
    from deeplake._data.ingest import ingest
    from deeplake._data.mix import Mix, mix
    from deeplake._data.view import ClipView, Dataset, QueryView, View
    from deeplake._load.cache import Cache
    from deeplake._load.collate import pad
    from deeplake._query.query import Explanation
    from deeplake._rows.row import Row
    from deeplake._rows.tensor import Group, Tensor
    from deeplake._rows.video import Video, VideoInfo
    from deeplake._samples.link import Link, link
    from deeplake._samples.sample import Sample, read
    from deeplake._show.visualize import Visualizer
    from deeplake._stores.storage import Storage
    from deeplake._versions.commit import Commit
    from deeplake._versions.copy import copy
    from deeplake._versions.refs import Diff, Tag

__all__ = [
    "AccessDeniedError",
    "AlreadyExistsError",
    "Cache",
    "CanceledError",
    "ClipView",
    "ClosedError",
    "Commit",
    "Compute",
    "ConflictError",
    "CorruptError",
    "Dataset",
    "Deeplake4",
    "DeviceError",
    "Diff",
    "DistributedWrite",
    "Error",
    "Explanation",
    "ForkedError",
    "Fragment",
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
    "Video",
    "VideoInfo",
    "View",
    "Visualizer",
    "WorkerError",
    "__version__",
    "compute",
    "copy",
    "create",
    "deeplake4",
    "delete",
    "exists",
    "ingest",
    "link",
    "mix",
    "open",
    "pad",
    "query",
    "read",
    "tql",
    "transform",
]

_MODULES = {
    "Cache": "_load.cache",
    "ClipView": "_data.view",
    "Commit": "_versions.commit",
    "Compute": "_compute.transform",
    "Dataset": "_data.view",
    "Deeplake4": "_data.deeplake4",
    "Diff": "_versions.refs",
    "DistributedWrite": "_data.committing",
    "Explanation": "_query.query",
    "Fragment": "_data.committing",
    "Group": "_rows.tensor",
    "Link": "_samples.link",
    "Mix": "_data.mix",
    "QueryView": "_data.view",
    "Row": "_rows.row",
    "Sample": "_samples.sample",
    "Storage": "_stores.storage",
    "Tag": "_versions.refs",
    "Tensor": "_rows.tensor",
    "Video": "_rows.video",
    "VideoInfo": "_rows.video",
    "View": "_data.view",
    "Visualizer": "_show.visualize",
    "compute": "_compute.transform",
    "copy": "_versions.copy",
    "create": "_data.dataset",
    "deeplake4": "_data.deeplake4",
    "ingest": "_data.ingest",
    "delete": "_data.dataset",
    "exists": "_data.dataset",
    "link": "_samples.link",
    "mix": "_data.mix",
    "open": "_data.dataset",
    "pad": "_load.collate",
    "query": "_data.dataset",
    "read": "_samples.sample",
    "transform": "_compute.transform",
}


_PUBLIC = ("ray", "tql", "transforms")  # modules


def __getattr__(name: str) -> object:
    module = _MODULES.get(name)
    if name in _PUBLIC:
        return import_module(f"{__name__}.{name}")
    if module is None:
        from deeplake._neighbours import package_hint

        hint = "" if name.startswith("_") else package_hint(name, __dir__())
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}", name=name)
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_PUBLIC})
