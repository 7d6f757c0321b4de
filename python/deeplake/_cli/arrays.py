"""The command `create` for files with arrays, and tables of Lance."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from deeplake._cli.output import show
from deeplake._rows.lance import LANCE
from deeplake._stores.storage import Storage


def create_of_rows(
    place: str,
    source: str,
    format: str,
    columns: tuple[list[str], dict[str, str]],
    refused: Iterable[tuple[str, Any]],
    overwrite: bool,
    stores: tuple[Storage | None, Storage | None],
    as_json: bool,
) -> None:
    """Makes a dataset of rows that another package reads, and shows a report.

    Args:
        place: the new dataset.
        source: the file, or the folder of Zarr or Lance.
        format: "npy", "npz", "hdf5", "zarr" or "lance".
        columns: the names to take, and htypes of some.
        refused: options and their values, none of which may be given.
        overwrite: replace a dataset that is there, at the commit.
        stores: of the dataset, and of the source.
        as_json: print the report as JSON.
    """
    is_table = format == LANCE
    for option, given in (*refused, ("--source-storage", not is_table and stores[1])):
        if given:
            what = "tables of Lance" if is_table else "arrays"
            raise click.UsageError(f"{option} is not for {what}, and {source} has {format}; leave it out")
    from deeplake._data.ingest import ingest  # which loads NumPy

    names, schema = columns
    ds = ingest(
        source.removeprefix("file://"), place, format=format, columns=names or None, schema=schema, overwrite=overwrite,
        storage=stores[0], source_storage=stores[1], message=f"create from {format}", verbose=not as_json,
    )  # fmt: skip
    with ds:
        report = {"uri": place, "rows": len(ds), "format": format, "schema": ds.schema}
        show(report, as_json, [f"created {place}: {len(ds):,} rows; tensors: {', '.join(ds.tensors)}"])
