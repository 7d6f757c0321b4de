"""The command `create` for files with arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from deeplake._cli.output import show
from deeplake._stores.storage import Storage


def create_of_arrays(
    place: str,
    source: str,
    format: str,
    columns: tuple[list[str], dict[str, str]],
    refused: Iterable[tuple[str, Any]],
    overwrite: bool,
    storage: Storage | None,
    as_json: bool,
) -> None:
    """Makes a dataset of a file with arrays, and shows a report.

    Args:
        place: the new dataset.
        source: the file, or the folder of Zarr.
        format: "npy", "npz", "hdf5" or "zarr".
        columns: the names to take, and htypes of some.
        refused: options and their values, none of which may be given.
        overwrite: replace a dataset that is there, at the commit.
        storage: of the dataset.
        as_json: print the report as JSON.
    """
    for option, given in refused:
        if given:
            raise click.UsageError(f"{option} is not for arrays, and {source} has {format}; leave it out")
    from deeplake._data.ingest import ingest  # which loads NumPy

    names, schema = columns
    ds = ingest(
        source.removeprefix("file://"), place, format=format, columns=names or None, schema=schema, overwrite=overwrite,
        storage=storage, message=f"create from {format}", verbose=not as_json,
    )  # fmt: skip
    with ds:
        report = {"uri": place, "rows": len(ds), "format": format, "schema": ds.schema}
        show(report, as_json, [f"created {place}: {len(ds):,} rows; tensors: {', '.join(ds.tensors)}"])
