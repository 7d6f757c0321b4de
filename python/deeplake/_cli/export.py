"""The command `deeplake export`."""

from __future__ import annotations

import re
from dataclasses import asdict

import click

from deeplake._cli.complete import PLACE
from deeplake._cli.create import Interrupted, settings
from deeplake._cli.output import at_option, json_option, show, size

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def _bytes(_ctx: click.Context, _option: click.Parameter, value: str | None) -> int | None:
    """Returns the bytes of a size such as 256M."""
    if value is None:
        return None
    found = re.fullmatch(r"(\d+) ?([kmg]?)(?:i?b)?", value.strip().lower())
    if not found:
        raise click.BadParameter(f'got "{value}", want a number of bytes, such as 256M')
    return int(found[1]) * _UNITS[found[2]]


@click.command()
@click.argument("uri", type=PLACE)
@click.argument("target", metavar="TARGET")
@click.option(
    "--format",
    "format_",
    required=True,
    metavar="NAME",
    help="folder (images or videos, by their classes), webdataset, mds, tfrecord, parquet, zarr, coco or yolo.",
)
@click.option(
    "--query", "text", metavar="TQL", help="Write the rows of this query, such as SELECT * WHERE label = 'cat'."
)
@click.option("--view", "saved", metavar="NAME", help="Write the rows of this saved view.")
@click.option("--tensors", metavar="A,B", help="Write these tensors only.")
@click.option("--splits", default="auto", metavar="auto|none", help="auto divides the files by the tensor split.")
@click.option("--shard-size", "shard_bytes", callback=_bytes, metavar="SIZE", help="Of a shard, such as 256M.")
@click.option("--pad", is_flag=True, help="Of zarr: fill arrays of several shapes up with zeros.")
@click.option("--target-storage", multiple=True, metavar="KEY=VALUE", help="Settings of the store of TARGET.")
@at_option
@json_option
def export(
    uri: str,
    target: str,
    format_: str,
    text: str | None,
    saved: str | None,
    tensors: str | None,
    splits: str,
    shard_bytes: int | None,
    pad: bool,
    target_storage: tuple[str, ...],
    at: str,
    as_json: bool,
) -> None:
    """Write a dataset as files of other programs, below the empty folder or bucket TARGET.

    Images and videos are copied unchanged. After an interruption, the same command goes on.
    """
    if text is not None and saved is not None:
        raise click.UsageError("give --query or --view, not both")
    from deeplake._data.dataset import open as open_dataset  # which loads NumPy

    with open_dataset(uri, at=at or None, read_only=True) as ds:
        rows = ds.query(text) if text is not None else ds.load_view(saved) if saved is not None else ds
        try:
            report = rows.export(
                target,
                format=format_,
                tensors=None if tensors is None else [name.strip() for name in tensors.split(",")],
                splits=splits,
                shard_bytes=shard_bytes,
                pad=pad,
                storage=settings("--target-storage", target_storage),
            )
        except KeyboardInterrupt:
            raise Interrupted from None
    lines = [f"exported {report.uri}: {report.rows:,} rows, {report.files:,} files, {size(report.bytes)}"]
    if report.resumed:
        lines.append(f"  {report.resumed:,} rows were there from an earlier run")
    if report.splits:
        lines.append(f"  splits: {', '.join(report.splits)}")
    lines += [f"  {line}" for line in report.note_lines()]
    show(asdict(report), as_json, lines)
