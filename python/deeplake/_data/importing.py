"""Imports that the core runs in the background: files of a folder or a store, and tables in one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deeplake import _native
from deeplake._checks import check_names, check_text
from deeplake._data.files import EPISODES
from deeplake._data.spec import schema_specs
from deeplake._errors import Error, InvalidArgumentError, NotFoundError, TensorTypeError, UnsupportedError
from deeplake._lazy import package
from deeplake._names import known_columns
from deeplake._progress import bar
from deeplake._stores import storage as _storage
from deeplake._stores import uri as _uri

if TYPE_CHECKING:
    from deeplake._data.view import Dataset
    from deeplake._stores.storage import Storage

_SHOWN = 10  # reasons
_SLICE = 0.1  # seconds between two looks at an import
_WRITTEN = 1 << 16  # rows of a table that are written together
_ONE_TYPE = "give columns of one length, each of values of one type, or leave out urls, size, on_error, source_storage"


def url_specs(urls: str | Mapping[str, str] | Sequence[str]) -> list[dict[str, str]]:
    """Returns columns of URLs as the core takes them. A column without a tensor has "image"."""
    given = {urls: ""} if isinstance(urls, str) else urls
    pairs = given.items() if isinstance(given, Mapping) else ((name, "") for name in given)
    return [{"column": column, "tensor": tensor or "image"} for column, tensor in pairs]


def file_within(place: str | os.PathLike[str]) -> str:
    """Returns a path of this machine as an absolute one; others are names within the source."""
    text = os.fspath(place)
    return str(Path(text).absolute()) if "://" not in text and Path(text).exists() else text


def save_splits(ds: Dataset, names: Sequence[str]) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Saves the rows of each value of the tensor "split" as a view.

    Names come from files of others, and the rows are committed already: one that no view may have
    is a warning.

    Returns:
        The name and the number of rows of each, and warnings, as reports have them.
    """
    saved, warnings = [], []
    for name in names:
        try:
            view = ds.query(f"SELECT * WHERE split = {quoted(name)}")
            view.save(name, replace=True)
        except (InvalidArgumentError, NotFoundError, UnsupportedError) as err:
            warnings.append({"path": "splits", "reason": f"no view is saved of the split {name!r}: {err}"})
        else:
            saved.append({"name": name, "rows": len(view)})
    return saved, warnings


def quoted(text: str) -> str:
    """Returns a text as a query has it."""
    return "'" + text.replace("'", "''") + "'"


def add_splits(report: dict[str, Any], ds: Dataset) -> None:
    """Saves the splits that a report names, and notes them and their warnings there."""
    saved, warnings = save_splits(ds, report["parts"] or ())
    report["splits"] = saved or None
    report["warned"] += len(warnings)
    report["warnings"] = [*(report["warnings"] or ()), *warnings]


def left_out(report: Mapping[str, Any], most: int | None = None) -> Iterator[str]:
    """Yields lines about the files and rows that were left out, with the first reasons: `most` of
    them, or all that the report has.
    """
    if not report["skipped"]:
        return
    whole = {"images": "files", "videos": "files", EPISODES: "episodes"}
    what = whole.get(report["format"], "files and rows")
    yield f"  {report['skipped']:,} {what} were left out:"
    shown = report["skips"][:most]
    yield from (f"    {skip['path']}: {skip['reason']}" for skip in shown)
    if report["skipped"] > len(shown):
        yield f"    and {report['skipped'] - len(shown):,} more"


def warned(report: Mapping[str, Any], most: int | None = None) -> Iterator[str]:
    """Yields lines about rows that were taken in, though something about them looks wrong."""
    if not report["warned"]:
        return
    if report["format"] == EPISODES or report["parts"]:
        yield f"  {report['warned']:,} warnings:"
    else:
        yield f"  {report['warned']:,} rows were taken in, and look wrong:"
    shown = report["warnings"][:most]
    yield from (f"    {row['path']}: {row['reason']}" for row in shown)
    if report["warned"] > len(shown):
        yield f"    and {report['warned'] - len(shown):,} more"


def failed_urls(report: Mapping[str, Any]) -> Iterator[str]:
    """Yields lines about the URLs that gave no object, the most frequent reasons first."""
    if not report["failed"]:
        return
    total = report["fetched"] + report["failed"]
    yield f"  {report['failed']:,} of {total:,} URLs gave no object:"
    reasons = sorted(report["reasons"].items(), key=lambda pair: (-pair[1], pair[0]))
    yield from (f"    {count:,}: {reason}" for reason, count in reasons[:_SHOWN])


def check_arguments(given: Mapping[str, Any]) -> None:
    """Refuses arguments of `ingest` of a type that it does not take, whatever the source."""
    for name in ("link", "masks", "apply_exif_orientation", "overwrite", "verbose"):
        if not isinstance(given[name], bool):
            raise InvalidArgumentError(f"ingest: {name} is {given[name]!r}, want True or False")
    for name in ("format", "separator", "on_error", "message"):
        if given[name] is not None:
            check_text("ingest", name, given[name])
    if given["schema"] is not None:
        schema_specs(given["schema"])
    check_names("ingest", given["columns"], "columns")
    if given["columns"] is not None and not len(given["columns"]):
        raise InvalidArgumentError("ingest: columns is empty, want names of columns; None takes all")
    urls, size, annotations = given["urls"], given["size"], given["annotations"]
    tensors = list(urls.values()) if isinstance(urls, Mapping) else []
    listed = [urls] if isinstance(urls, str) else urls
    if listed is None or not all(isinstance(name, str) for name in tensors):
        raise InvalidArgumentError(
            f"ingest: urls is {urls!r}, want the name of a column, a list of names, or a dict with the tensor of each"
        )
    check_names("ingest", listed, "urls")
    if size is not None and (not isinstance(size, int) or isinstance(size, bool)):
        raise InvalidArgumentError(f"ingest: size is {size!r}, want an int: the side of images in pixels")
    if annotations is not None and not isinstance(annotations, str | os.PathLike):
        raise InvalidArgumentError(f"ingest: annotations is {annotations!r}, want the path of a file")
    _storage.check(given["storage"])
    _storage.check(given["source_storage"])


def batches_of(stream: Any, columns: Sequence[str] | None) -> Iterator[Any]:
    """Yields the batches of a table that pyarrow reads, with `columns` of it alone."""
    from deeplake._samples.frames import check_frame  # which loads NumPy

    check_frame(stream, "ingest")
    pa = package("ingest", "pyarrow", "pip install pyarrow")
    with _converting(f"the {type(stream).__name__}", "give a table of Arrow"):
        reader = pa.RecordBatchReader.from_stream(stream)
    names = None if columns is None else known_columns(columns, reader.schema.names)
    while True:
        with _converting(f"the {type(stream).__name__}", "give a table of Arrow"):
            batch = next(reader, None)
        if batch is None:
            return
        yield batch if names is None else batch.select(names)


@contextmanager
def _converting(what: str, way_out: str) -> Iterator[None]:
    """Makes the errors of pyarrow, which reads what is given, errors of ours."""
    try:
        yield
    except Error:
        raise
    except (TypeError, ValueError, LookupError, NotImplementedError, OverflowError) as err:
        raise TensorTypeError(f"ingest: pyarrow cannot read {what}: {err}; {way_out}") from err


def table_file(source: Any, columns: Sequence[str] | None, folder: str) -> str:
    """Writes a table to a file, whose columns of URLs the core fetches. Returns its path."""
    from deeplake._samples.frames import columns_of_frame, is_frame, is_stream  # which load NumPy

    pa = package("ingest", "pyarrow", "pip install pyarrow")
    if isinstance(source, Mapping):
        check_names("ingest", list(source), "the names of columns")
        made = {}
        for name, column in source.items():
            with _converting(f'column "{name}" of type {type(column).__name__}', _ONE_TYPE):
                made[name] = pa.table({name: column})[0]
        with _converting("the columns", _ONE_TYPE):
            table = pa.table(made)
    elif is_frame(source) and not is_stream(source):
        columns_of_frame(source)  # refuses names that are none
        with _converting("the frame", _ONE_TYPE):
            table = pa.Table.from_pandas(source, preserve_index=False)
    elif is_stream(source):
        table = source
    else:
        raise InvalidArgumentError(
            f"ingest: got a {type(source).__name__} with urls, size, on_error or source_storage; want a path, a table, "
            "a data frame or a dict of columns"
        )
    path = f"{folder}/table.arrow"
    with pa.OSFile(path, "wb") as file:
        writer = None
        for whole in batches_of(table, columns):
            writer = writer or pa.ipc.new_stream(file, whole.schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))
            writer.write_table(pa.Table.from_batches([whole]), _WRITTEN)
        if writer is None:
            raise InvalidArgumentError("ingest: the source has no rows")
        writer.close()
    return path


def import_files(
    source: str | os.PathLike[str],
    uri: str | os.PathLike[str],
    *,
    format: str | None,
    separator: str | None,
    schema: Mapping[str, Any],
    columns: Sequence[str] | None,
    urls: str | Mapping[str, str] | Sequence[str],
    size: int | None,
    link: bool,
    annotations: str | os.PathLike[str] | None,
    masks: bool,
    episodes: Sequence[int] | None,
    apply_exif_orientation: bool,
    on_error: str | None,
    overwrite: bool,
    storage: Storage | None,
    source_storage: Storage | None,
    message: str,
    verbose: bool,
) -> Dataset:
    """Makes a dataset of files, in one commit. Ctrl-C leaves nothing behind."""
    options: dict[str, Any] = {
        "format": format,
        "separator": separator,
        "schema": {spec["name"]: spec for spec in schema_specs(schema)} or None,
        "columns": None if columns is None else list(columns),
        "urls": url_specs(urls) or None,
        "size": size,
        "link": link,
        "annotations": None if annotations is None else file_within(annotations),
        "masks": masks,
        "episodes": episodes,
        "apply_exif_orientation": apply_exif_orientation,
        "on_error": on_error,
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
    from deeplake._data.dataset import open as open_dataset  # which loads NumPy

    # The user has named the source, so its links may be followed.
    named = _uri.resolve(source)
    is_far = link and "://" in named and not named.startswith("file://")
    reached = {named.rstrip("/"): source_storage or storage or _storage.Storage()} if is_far else None
    ds = open_dataset(place, storage=storage, link_storage=reached)
    report = news["report"]
    add_splits(report, ds)
    if verbose:
        for line in (*failed_urls(report), *left_out(report, _SHOWN), *warned(report, _SHOWN)):
            print(line, file=sys.stderr)
    return ds
