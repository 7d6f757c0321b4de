"""The command `deeplake head`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from deeplake._cli.complete import PLACE
from deeplake._cli.output import at_option, json_option, show, table
from deeplake._errors import Error
from deeplake._text import printable

_AUTO = "auto"


@click.command()
@click.argument("uri", required=False, type=PLACE)
@click.option("--rows", "-n", "count", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--query", "text", default="", help="Of the result of a query.")
@click.option(
    "--images", is_flag=False, flag_value=_AUTO, default=None, metavar="[=kitty|iterm|sixel|FILE.png]",
    help="Show the pictures of the rows, in the terminal or in a file.",
)  # fmt: skip
@at_option
@json_option
def head(uri: str | None, count: int, text: str, images: str | None, at: str, as_json: bool) -> None:
    """Show the first rows."""
    from deeplake._data.dataset import open as open_dataset
    from deeplake._show.terminal_images import PROTOCOLS

    if uri is None and images is not None and images not in PROTOCOLS and not images.lower().endswith(".png"):
        uri, images = images, _AUTO  # as in `head --images URI`
    if uri is None:
        raise click.UsageError("give the URI of a dataset")
    if images is not None and as_json:
        raise click.UsageError("--images and --json exclude each other")
    dataset = open_dataset(uri, at=at or None, read_only=True)
    view = dataset.query(text) if text else dataset
    if images is not None:
        _show_images(view, count, images)
        return
    names = list(view.tensors)
    shown = range(min(count, len(view)))
    sources = view.source(shown)
    imported = any(sources)
    classes = {name: tensor.class_names for name, tensor in view.tensors.items()}
    # One by one: a damaged sample must not hide the rows that a slice reads with it.
    rows = [{name: _sample(view, row, name, classes[name]) for name in names} for row in shown]
    cells = [[str(number), *(cell(row[name]) for name in names)] for number, row in enumerate(rows)]
    head = ["row", *names]
    if imported:
        head.append("source")
        for line, source in zip(cells, sources, strict=True):
            line.append("-" if source is None else printable(source))
    plain = [
        {**_plain_errors(row), **({"_source": source} if imported else {})}
        for row, source in zip(rows, sources, strict=True)
    ]
    show(plain, as_json, table(head, cells))
    failed = [(number, value) for number, row in enumerate(rows) for value in row.values() if isinstance(value, Error)]
    if failed:
        number, err = failed[0]
        what = "1 sample" if len(failed) == 1 else f"{len(failed):,} samples, the first"
        raise click.ClickException(f"cannot read {what} in row {number}: {err}")


def _show_images(view: Any, count: int, images: str) -> None:
    """Shows a contact sheet. Only a terminal gets escape sequences."""
    from deeplake._show.terminal_images import PROTOCOLS, detect, encode

    if images.lower().endswith(".png"):
        if not Path(images).absolute().parent.is_dir():
            raise click.UsageError(f'--images={images}: there is no directory "{Path(images).parent}"')
        try:
            view.plot(slice(count), path=images)
        except OSError as err:
            raise click.ClickException(f"write {images}: {err}") from err
        show(None, False, [f"wrote {min(count, len(view)):,} rows to {images}"])
        return
    if images not in (_AUTO, *PROTOCOLS):
        raise click.UsageError(f"--images is {images!r}, want kitty, iterm, sixel or a file FILE.png")
    if not sys.stdout.isatty():
        raise click.UsageError("the output is no terminal, so pictures would be noise; write them by --images=FILE.png")
    protocol = detect(os.environ) if images == _AUTO else images
    if protocol is None:
        raise click.ClickException(
            "this terminal is not known to show pictures; write them by --images=FILE.png, or try --images=kitty, "
            "--images=iterm or --images=sixel"
        )
    sheet = encode(view.plot(slice(count)).png, protocol)
    sys.stdout.flush()
    sys.stdout.buffer.write(sheet + b"\n")
    sys.stdout.buffer.flush()


def _plain_errors(row: dict[str, Any]) -> dict[str, Any]:
    return {name: {"error": str(value)} if isinstance(value, Error) else value for name, value in row.items()}


def _sample(view: Any, row: int, name: str, classes: Sequence[str] | None) -> Any:
    """Returns a printable form of a sample, or the error of one that cannot be read."""
    try:
        return plain(view[row][name], classes)
    except Error as err:
        return err


def plain(value: Any, classes: Sequence[str] | None) -> Any:
    """Returns a printable form of a sample: small values, or the description of an array."""
    if value is None or isinstance(value, str | bool | int | float | dict):
        return value
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, list):
        return [plain(item, classes) for item in value]
    if not hasattr(value, "dtype"):  # a video
        return str(value)
    if value.ndim == 0 and classes is not None and 0 <= int(value) < len(classes):
        return classes[int(value)]
    if value.dtype.kind in "biuf" and value.size <= 8:
        return value.tolist()
    if value.dtype.kind in "mM" and value.ndim == 0:
        return str(value).replace("T", " ")
    return f"{value.dtype} {value.shape}"


def cell(value: Any, width: int = 40) -> str:
    """Returns a printable sample as the cell of a table."""
    if isinstance(value, Error):
        return f"<{type(value).__name__}>"
    text = " ".join((value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).split())
    return text if len(text) <= width else text[: width - 3] + "..."
