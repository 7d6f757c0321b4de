"""The command `create`: a dataset of files in a folder or a bucket."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from deeplake import _native
from deeplake._cli.complete import PLACE, SOURCE
from deeplake._cli.output import json_option, show, size
from deeplake._cli.report import FILES, report_lines
from deeplake._data.files import ANNOTATIONS, ARRAYS, EPISODES, FORMATS, IMAGES, VIDEOS, format_of, package_format
from deeplake._data.importing import add_splits, file_within, url_specs
from deeplake._data.spec import schema_specs
from deeplake._errors import CanceledError
from deeplake._names import suggest
from deeplake._progress import bar
from deeplake._stores import storage as _storage
from deeplake._stores import uri as _uri

_FROM = "from-"
_LOOK = 1000  # entries of a folder that are looked at
_MOST_NUMBERS = 10_000_000  # of episodes that are named


class Interrupted(Exception):  # noqa: N818 - it is no error
    """Ctrl-C stopped an import. The same command continues it."""


@click.command()
@click.argument("uri", type=PLACE)
@click.argument("source", required=False, type=SOURCE, metavar="[from-PATH]")
@click.option("--from", "source_option", type=PLACE, metavar="PATH", help="The place to read, instead of from-PATH.")
@click.option(
    "--link",
    is_flag=True,
    help="Leave images and videos where they are, in .tar too, and images in Parquet, MDS, LitData, FFCV and TFRecord.",
)
@click.option(
    "--labels",
    type=click.Choice(["auto", "none"]),
    default="auto",
    show_default=True,
    help="auto takes the first folder of a path for the class, in a list the folder of the file.",
)
@click.option(
    "--classes",
    metavar="A,B,C|@FILE",
    help="Class names in the order of their numbers, in FILE one in each line; others are left out.",
)
@click.option(
    "--splits",
    type=click.Choice(["auto", "none"]),
    default="auto",
    show_default=True,
    help="auto takes folders train, val, test for splits, and the folders in them for classes.",
)
@click.option("--follow-links", is_flag=True, help="Take in files behind symbolic links out of the source.")
@click.option(
    "--on-error",
    type=click.Choice(["skip", "accept", "raise"]),
    help="Of files and rows that cannot be taken in; skip for images, videos and episodes, raise for tables. "
    "accept stores cut JPEG files.",
)
@click.option("--apply-exif-orientation", is_flag=True, help="Turn the images as their Exif data says.")
@click.option("--overwrite", is_flag=True, help="Replace a dataset that is there, at the first commit.")
@click.option("--workers", type=click.IntRange(min=1), help="Files read at once.")
@click.option(
    "--compression",
    type=click.Choice(["auto", "jpeg", "png", "webp", "none"]),
    default="auto",
    show_default=True,
    help="Of the images; auto keeps what most files are.",
)
@click.option("--decode", is_flag=True, help="Store pixels instead of files; the same as --compression none.")
@click.option(
    "--size", "side", type=click.IntRange(min=1), metavar="PIXELS", help="Squares of this side, cut from the middle."
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["images", "videos", EPISODES, *ANNOTATIONS, *FORMATS, *ARRAYS]),
    help="Of the source; without it, tables are known by their names, annotations and arrays by names and content.",
)
@click.option(
    "--annotations",
    metavar="FILE",
    help="Of images: the file with annotations, or with the names of classes, in the source or elsewhere.",
)
@click.option("--masks", is_flag=True, help="Of images with annotations: make a mask of each outline, too.")
@click.option(
    "--url-column",
    "url_columns",
    multiple=True,
    metavar="COLUMN[=TENSOR]",
    help="Of tables: a column of URLs to fetch, and the tensor of the objects [default: image].",
)
@click.option(
    "--columns",
    metavar="A,B=HTYPE",
    help="Of tables and arrays: those to take, and htypes of their tensors. Of LeRobot: features.",
)
@click.option(
    "--separator",
    metavar="CHARACTER",
    help="Of CSV: the character between values, or tab; else the files tell.",
)
@click.option("--episodes", metavar="0-9,12", help="Of LeRobot: the episodes to take, by number; all by default.")
@click.option("--checkpoint", type=click.IntRange(min=1), metavar="ROWS", help="Rows between commits.")
@click.option("--storage", multiple=True, metavar="KEY=VALUE", help="A setting of deeplake.Storage, for the dataset.")
@click.option("--source-storage", multiple=True, metavar="KEY=VALUE", help="The same, for the source.")
@click.option("--allow-links", multiple=True, metavar="PREFIX", help="URLs that a list on a web server may name.")
@json_option
def create(
    uri: str,
    source: str | None,
    source_option: str | None,
    link: bool,
    labels: str,
    classes: str | None,
    splits: str,
    follow_links: bool,
    on_error: str | None,
    apply_exif_orientation: bool,
    overwrite: bool,
    workers: int | None,
    compression: str,
    decode: bool,
    side: int | None,
    checkpoint: int | None,
    format_: str | None,
    annotations: str | None,
    masks: bool,
    columns: str | None,
    separator: str | None,
    episodes: str | None,
    url_columns: tuple[str, ...],
    storage: tuple[str, ...],
    source_storage: tuple[str, ...],
    allow_links: tuple[str, ...],
    as_json: bool,
) -> None:
    """Make a dataset: empty, of images or videos in a folder or a bucket, or of files with a table.

    PATH is a folder, s3://bucket/prefix, gs://bucket/prefix, or the http(s) address of a text file
    with one URL or path in each line. Or files with a table in any of these places, whose columns
    become tensors: Parquet, Feather, CSV, JSON lines and TFRecord. Or a dataset of LeRobot, whose
    episodes become rows; --link leaves its videos where they are. Or a file with arrays on this
    machine, whose first axis counts rows: .npy, .npz, HDF5, or a folder of Zarr. Images with
    annotations of COCO, YOLO, Pascal VOC and others are recognized; other folders of images, and
    those of videos, are classes. Of a source with both, --format images or videos takes one.
    Without --source-storage a source on the same server as the dataset is reached with --storage,
    any other one without its secrets. A list names URLs of its own host, and of --allow-links. The
    same command continues an interrupted run; after a complete run it takes in new files, and
    images and annotations that have changed.

    \b
        deeplake create deeplake://me/flowers from-./flowers
        deeplake create s3://mine/train from-s3://theirs/shards --link
        deeplake create ./pixels from-./flowers --decode --size 256
        deeplake create ./digits from-./folders --classes zero,one,two
        deeplake create ./coco.lake from-./coco --masks
        deeplake create ./actions from-./clips --link
        deeplake create ./robot from-./pusht --link
        deeplake create ./captions from-./captions.parquet --columns text,kind=class_label
        deeplake create ./digits from-./digits.h5 --columns images,labels
    """
    if decode:
        if compression not in ("auto", "none"):
            raise click.UsageError(f"--decode stores pixels, --compression {compression} files; leave one of them out")
        compression = "none"
    place, folder, store = _uri.resolve(uri), _source(source, source_option), settings("--storage", storage)
    table = format_ if format_ in (*FORMATS, EPISODES) else None
    is_annotated = annotations is not None or masks or format_ in ANNOTATIONS
    arrays = package_format(folder, format_) if folder is not None and not is_annotated else None
    is_here = folder is not None and "://" not in folder.removeprefix("file://")
    if folder is not None and format_ is None and not is_annotated and arrays is None:
        table = format_of(_local(folder)) if is_here else None
    if columns is not None and table is None and arrays is None and (folder is None or format_ in FILES or is_here):
        raise click.UsageError("--columns names columns of a table, or features; give --format, or a file with a table")
    fitted = (("--size", side), ("--apply-exif-orientation", apply_exif_orientation))
    of_images: tuple[tuple[str, Any], ...] = (
        *(() if url_columns and table is not None else fitted),
        ("--decode", decode),
        ("--classes", classes),
        ("--splits", splits != "auto"),
        ("--follow-links", follow_links),
        ("--annotations", annotations),
        ("--masks", masks),
    )
    pictures = (
        *of_images,
        ("--link", link),
        ("--url-column", url_columns),
        ("--checkpoint", checkpoint),
        ("--separator", separator),
        ("--episodes", episodes),
        ("--on-error", on_error not in (None, "skip")),
    )
    others: tuple[tuple[str, Any], ...] = (
        ("--labels", labels != "auto"),
        ("--compression", compression != "auto"),
        ("--workers", workers),
        ("--allow-links", allow_links),
        ("--on-error accept", on_error == "accept"),
    )
    if arrays is not None and folder is not None:
        from deeplake._cli.arrays import create_of_rows

        refused = (*fitted, *pictures, *others, ("--on-error", on_error))
        stores = (store, settings("--source-storage", source_storage))
        create_of_rows(place, folder, arrays, _columns(columns), refused, overwrite, stores, as_json)
        return
    if table is not None and table != EPISODES and folder is not None:
        for option, given in (*of_images, *others):
            if given:
                raise click.UsageError(
                    f"{option} is for images, and {folder} has a table; --format images says otherwise"
                )
    if folder is None:
        for option, given in pictures:
            if given:
                raise click.UsageError(f"{option} needs a source; give one as from-PATH, or leave {option} out")
        _refuse_files(place)
        _native.create(place, overwrite=overwrite, store=_storage.reach(store)).close()
        show({"uri": place, "rows": 0}, as_json, [f"created {place}, empty"])
        return
    names, schema = _columns(columns)
    options: dict[str, Any] = {
        "format": table or format_,
        "columns": names or None,
        "schema": {spec["name"]: spec for spec in schema_specs(schema)} or None,
        "urls": url_specs(dict(one.partition("=")[::2] for one in url_columns)) or None,
        "overwrite": overwrite,
        "link": link,
        "labels": labels,
        "classes": None if classes is None else _classes(classes),
        "splits": splits,
        "follow_links": follow_links,
        "on_error": on_error,
        "apply_exif_orientation": apply_exif_orientation,
        "compression": compression,
        "workers": workers,
        "size": side,
        "checkpoint": checkpoint,
        "annotations": None if annotations is None else file_within(annotations),
        "masks": masks,
        "separator": separator,
        "episodes": None if episodes is None else _numbers("--episodes", episodes),
        **_storage.reach(store),
    }
    other = settings("--source-storage", source_storage)
    if other is not None:
        options["source_storage"] = other.settings()
    if allow_links:
        options["link_storage"] = {prefix: {} for prefix in allow_links}
    job = _native.ingest(place, folder, {key: value for key, value in options.items() if value is not None})
    report = _follow(job)
    if report["format"] not in FILES:
        from deeplake._data.dataset import open as open_dataset  # which loads NumPy

        with open_dataset(place, storage=store) as ds:
            report["schema"] = ds.schema
            add_splits(report, ds)
            if not as_json:
                click.echo(repr(ds), err=True)
    show(report, as_json, report_lines(report))


def _local(place: str) -> Path:
    return Path(place.removeprefix("file://"))


def _columns(columns: str | None) -> tuple[list[str], dict[str, str]]:
    """Returns the columns to take, and htypes of some of their tensors."""
    pairs = [one.strip().partition("=") for one in columns.split(",")] if columns else []
    return [name for name, _, _ in pairs], {name: htype for name, _, htype in pairs if htype}


def _numbers(option: str, given: str) -> list[int]:
    """Returns the numbers of a text like 0-9,12."""
    numbers: list[int] = []
    for one in given.split(","):
        first, dash, last = one.strip().partition("-")
        if len(one) > 40 or not first.isdecimal() or (dash and not last.isdecimal()):
            raise click.UsageError(f'{option}: got "{one.strip()}", want numbers and ranges of them, like 0-9,12')
        span = range(int(first), int(last or first) + 1)
        if span.stop > 1 << 62 or not 0 < len(span) <= _MOST_NUMBERS - len(numbers):
            raise click.UsageError(
                f'{option}: "{one.strip()}" has no numbers, too large ones, or more than {_MOST_NUMBERS:,}'
            )
        numbers.extend(span)
    return numbers


def _refuse_files(place: str) -> None:
    """Refuses an empty dataset in a folder of images or videos: the user wants one of these."""
    plain = place.removeprefix("file://")
    folder = Path(plain)
    if "://" in plain or not folder.is_dir() or _native.exists(place, store=_storage.reach(None)):
        return
    for level in ("*", "*/*"):
        for path in itertools.islice(folder.glob(level), _LOOK):
            if path.suffix.lower() in (*IMAGES, *VIDEOS) and path.is_file():
                kind = "images" if path.suffix.lower() in IMAGES else "videos"
                raise click.UsageError(
                    f"{place} has {kind}, like {path.relative_to(folder)}, and no dataset; `deeplake create NEW "
                    f"from-{place}` makes a dataset of them in another folder"
                )


def settings(option: str, pairs: Sequence[str]) -> _storage.Storage | None:
    """Returns the settings of an option that is repeated for each of them."""
    if not pairs:
        return None
    given: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise click.UsageError(f'{option}: got "{key}", want KEY=VALUE, like endpoint=http://127.0.0.1:9000')
        try:
            given[key] = json.loads(value)
        except ValueError:
            given[key] = value
    import inspect

    known = [name for name in inspect.signature(_storage.Storage).parameters if name != "self"]
    for key in given:
        if key not in known:
            raise click.UsageError(f'{option}: there is no setting "{key}"{suggest(key, known)}; want one of {known}')
    return _storage.Storage(**given)


def _classes(given: str) -> list[str]:
    """Returns the names of classes in a text with commas, or in a file with a name in each line."""
    if not given.startswith("@"):
        return [name.strip() for name in given.split(",")]
    try:
        text = Path(given[1:]).read_text("utf-8-sig")
    except (OSError, ValueError) as exc:
        raise click.UsageError(f"--classes: {given[1:]} cannot be read: {exc}") from exc
    return [line.strip() for line in text.splitlines() if line.strip()]


def _source(source: str | None, option: str | None) -> str | None:
    if source is not None and option is not None:
        raise click.UsageError("give the source once, as from-PATH or by --from")
    if source is not None:
        if not source.startswith(_FROM) or source == _FROM:
            raise click.UsageError(f'got "{source}", want from-PATH, like from-./images')
        option = source[len(_FROM) :]
    return None if option is None else _uri.resolve(option)


def _follow(job: _native.Job) -> dict[str, Any]:
    """Shows the progress of an import. Ctrl-C stops it after a commit, a second one at once."""
    stopping, began = False, time.monotonic()
    try:
        with bar("create", unit="files") as advance:
            while True:
                try:
                    news = job.poll(0.1)
                except KeyboardInterrupt:
                    if stopping:
                        raise
                    stopping = True
                    job.cancel()
                    continue
                except CanceledError:
                    raise Interrupted from None
                rate = size(news["bytes"] / max(time.monotonic() - began, 1e-3))
                text = f"{size(news['bytes'])}, {rate}/s, {news['rows']:,} rows"
                advance(news["files"], total=news["total_files"] or None, text=text)
                if news["done"]:
                    report: dict[str, Any] = news["report"]
                    return report
    finally:
        job.close()
