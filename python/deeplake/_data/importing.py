"""Imports that the core runs in the background: files of a folder or a store."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deeplake import _native
from deeplake._data.dataset import open as open_dataset
from deeplake._data.spec import schema_specs
from deeplake._progress import bar
from deeplake._stores import storage as _storage
from deeplake._stores import uri as _uri

if TYPE_CHECKING:
    from deeplake._data.view import Dataset
    from deeplake._stores.storage import Storage

_SLICE = 0.1  # seconds between two looks at an import


def table(
    source: str | os.PathLike[str],
    uri: str | os.PathLike[str],
    *,
    format: str,
    schema: Mapping[str, Any],
    columns: Sequence[str] | None,
    overwrite: bool,
    storage: Storage | None,
    source_storage: Storage | None,
    message: str,
    verbose: bool,
) -> Dataset:
    """Makes a dataset of files with a table, in one commit. Ctrl-C leaves nothing behind."""
    options: dict[str, Any] = {
        "format": format,
        "schema": {spec["name"]: spec for spec in schema_specs(schema)},
        "columns": None if columns is None else list(columns),
        "overwrite": overwrite,
        "message": message,
        "once": True,
        **_storage.reach(storage),
    }
    if source_storage is not None:
        options["source_storage"] = source_storage.settings()
    place = _uri.resolve(uri)
    job = _native.ingest(place, _uri.resolve(source), {key: one for key, one in options.items() if one is not None})
    try:
        with bar("ingest", unit="rows") as advance:
            while True:
                news = job.poll(_SLICE)
                if verbose:
                    advance(news["rows"])
                if news["done"]:
                    break
    finally:
        job.close()
    return open_dataset(place, storage=storage)
