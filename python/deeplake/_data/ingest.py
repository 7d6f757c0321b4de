"""Datasets of the tables and rows of other programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from deeplake._checks import check_ints
from deeplake._data import arrays, hugging_face
from deeplake._data.dataset import delete, exists, inferred_schema, make
from deeplake._data.deeplake4 import Deeplake4
from deeplake._data.files import array_format, core_format
from deeplake._data.importing import batches_of, check_arguments, import_files, save_splits, table_file
from deeplake._data.reading import Reading
from deeplake._data.rows import chunks_of, lacked
from deeplake._data.view import Dataset
from deeplake._errors import Error, InvalidArgumentError
from deeplake._names import checks_keywords, known_columns
from deeplake._progress import bar
from deeplake._rows.lance import is_lance, rows_of
from deeplake._samples.frames import is_frame, is_stream
from deeplake._stores import storage as _storage

if TYPE_CHECKING:
    from deeplake._stores.storage import Storage


@checks_keywords
def ingest(
    source: Any,
    uri: str | os.PathLike[str],
    *,
    schema: Mapping[str, Any] | None = None,
    columns: Sequence[str] | None = None,
    format: str | None = None,
    separator: str | None = None,
    urls: str | Mapping[str, str] | Sequence[str] = (),
    size: int | None = None,
    link: bool = False,
    annotations: str | os.PathLike[str] | None = None,
    masks: bool = False,
    episodes: Iterable[int] | None = None,
    apply_exif_orientation: bool = False,
    on_error: str | None = None,
    overwrite: bool = False,
    storage: Storage | None = None,
    source_storage: Storage | None = None,
    message: str = "",
    verbose: bool = True,
) -> Dataset:
    """Creates a dataset of a table, of rows, or of files with a table. The rows make its tensors,
    as with `Dataset.extend`.

    All rows become one commit. If the source fails before it, the new dataset is deleted.

    Args:
        source: a table of pandas, or an object with `__arrow_c_stream__` (Arrow, polars, DuckDB); a
            dict of columns; rows as dicts, also from a generator; an object with `__len__` and
            `__getitem__`, as a dataset of torch, whose items are dicts, or tuples with a name in
            `columns` for each item; a `datasets.Dataset` or `IterableDataset`, or a dict of their
            splits, each of which becomes a saved view and a value of a tensor "split"; an object of
            NumPy, h5py or zarr with arrays, whose first axis counts rows; a table of Lance, or its
            path; a dataset of Deep Lake 4, which `deeplake.deeplake4` reads. Or the path of a file
            of arrays: .npy, .npz, HDF5 or a folder of Zarr (docs/arrays.md). Or the path of a file:
            Parquet, Feather, CSV, JSON lines or TFRecord, or of a folder of them, whose partitions
            ("year=2026") become columns. Or a folder of images, with their annotations in one of
            the layouts of docs/annotations.md, or with a folder for each class; or one of videos,
            with a folder for each class. Or a dataset of LeRobot, whose episodes become rows
            (docs/episodes.md). They may lie on any store ("s3://bucket/folder"), and one file on a
            web server.
        uri: the new dataset, as of `create`.
        schema: tensors by name, as of `create`, in the place of those that the rows make.
        columns: the columns to take; None takes all.
        format: of files: "parquet", "feather", "csv", "json" (lines), "tfrecord", "lance"; "npy",
            "npz", "hdf5" or "zarr"; "images", "videos" or "lerobot"; or a layout of images with
            annotations, such as "coco". None goes by names, and by the content of annotations and
            arrays.
        separator: of CSV: the character between values, or "tab". None goes by the first lines.
        urls: columns of URLs whose objects are fetched, one or
            several names, or a dict with the tensor of each; "image" without one. Objects are image
            files, unless `schema` gives the tensor. See "Columns of URLs" in docs/tables.md.
        size: the side in pixels of the images that URLs name: the shorter side is resized to it,
            and the square in the middle stored as JPEG. None stores the files as they are.
        link: of files: leave images and videos where they are, and store a link to each: its URL,
            its position and its length. Labels, texts and all else are copied. For folders of them,
            .tar shards, and images in Parquet, MDS, LitData, FFCV and TFRecord, if they are not
            compressed once more. Of LeRobot, videos stay, and numbers are copied. See "Links" in
            docs/ingest.md.
        annotations: of images: the file with annotations, or with the names of classes. A path, a
            URI, or a name within the source; None looks for it.
        masks: of images with annotations: fill a tensor "masks", a mask for each outline.
        episodes: of LeRobot: the numbers of those to take, as `range(10)`; None takes all.
        apply_exif_orientation: of images: turn them as their Exif data says; files stay unchanged.
        on_error: of files and tables: "skip" leaves out rows that no tensor takes, and
            those without the object of their URL; "raise" refuses both. None refuses the former,
            and gives the latter a reason in a tensor "image_error". Of images and videos: "skip",
            the default, leaves out files and annotations that cannot be taken, and of LeRobot
            episodes that their files contradict; "raise" refuses them; "accept" takes JPEG files
            that are cut.
        overwrite: replace a dataset that is there, at the commit.
        storage: as of `create`.
        source_storage: settings of the store of the files. None uses those of `storage` on the same
            server, and no secrets elsewhere.
        message: the message of the commit.
        verbose: print the tensors to standard error, with a progress bar on a terminal.

    Returns:
        The dataset, at the commit of the rows.

    Raises:
        AlreadyExistsError: the dataset exists and `overwrite` is False.
        InvalidArgumentError: the source is none of these, cannot be read, or has no rows.
        TensorTypeError: a column has a type that no tensor holds, or a sample does not suit.
        UnsupportedError: tables of Arrow with `columns` or `schema` need the package pyarrow.

    Example:
        ds = deeplake.ingest("captions.parquet", "captions", schema={"kind": "class_label"})
    """
    check_arguments(locals())
    columns = None if columns is None else list(columns)
    urls = urls if isinstance(urls, str | Mapping) else list(urls)
    episodes = None if episodes is None else check_ints("ingest", "episodes", episodes)
    splits = (
        [name for name in hugging_face.splits_of(source) if name] if hugging_face.is_of_hugging_face(source) else []
    )
    if splits:
        schema = {"split": {"htype": "class_label", "class_names": splits}, **(schema or {})}
    if is_lance(source, format):
        source, columns, source_storage, format = rows_of(source, columns, source_storage), None, None, None
    is_path = isinstance(source, str | os.PathLike)
    has_arrays = array_format(source, format) is not None if is_path else arrays.is_of_arrays(source)
    if has_arrays and (
        episodes is not None
        or _needs_files(separator, urls, size, link, on_error, source_storage)
        or _needs_files(annotations, masks, apply_exif_orientation)
    ):
        raise InvalidArgumentError(
            "ingest: separator, urls, size, link, on_error, source_storage, annotations, masks, episodes and "
            "apply_exif_orientation are not for arrays; leave them out"
        )
    with ExitStack() as spool:
        of_files = (separator, link, annotations, masks, apply_exif_orientation)
        if not is_path and (episodes is not None or _needs_files(*of_files)):
            raise InvalidArgumentError(
                "ingest: separator, link, annotations, masks, episodes and apply_exif_orientation are of files; "
                "got no path"
            )
        if not is_path and _needs_files(urls, size, on_error, source_storage):
            _check_format(format)
            folder = spool.enter_context(TemporaryDirectory(prefix="deeplake-"))
            source, columns, format = table_file(source, columns, folder), None, "feather"
        if isinstance(source, str | os.PathLike) and not has_arrays:
            whole = import_files(
                source,
                uri,
                format=core_format(source, format),
                separator=separator,
                schema=schema or {},
                columns=columns,
                urls=urls,
                size=size,
                link=link,
                annotations=annotations,
                masks=masks,
                episodes=episodes,
                apply_exif_orientation=apply_exif_orientation,
                on_error=on_error,
                overwrite=overwrite,
                storage=storage,
                source_storage=source_storage,
                message=message or "ingest",
                verbose=verbose,
            )
            if verbose:
                print(repr(whole), file=sys.stderr)
            return whole
        found: arrays.Arrays | None = None
        if has_arrays:
            found = spool.enter_context(arrays.opened(source, format, columns, schema or {}))
        info = None if found is None else found.info
        if isinstance(source, Deeplake4):
            _check_format(format)
            run = spool.enter_context(source.opened(columns))
            schema, info = {**run.tensors, **(schema or {})}, run.info
            batches: Iterator[Any] = iter(run)
        else:
            batches = _batches(source, columns, format, schema or {}) if found is None else found.batches()
        ds = _filled(batches, found, info, uri, schema, splits, overwrite, storage, message, verbose)
    if verbose:
        if found is not None:
            arrays.report(found)
        if isinstance(source, Deeplake4):
            run.report()
        print(repr(ds), file=sys.stderr)
    return ds


def _filled(
    batches: Iterator[Any],
    found: arrays.Arrays | None,
    info: Mapping[str, Any] | None,
    uri: str | os.PathLike[str],
    schema: Mapping[str, Any] | None,
    splits: Sequence[str],
    overwrite: bool,
    storage: Storage | None,
    message: str,
    verbose: bool,
) -> Dataset:
    """Returns a new dataset of batches, in one commit. An error before it leaves nothing."""
    ds: Dataset | None = None
    has_old = overwrite and exists(uri, storage=storage)
    is_done = False
    try:
        with bar("ingest", total=None if found is None else found.rows, unit="rows") as advance:
            for batch in batches:
                if ds is None:
                    made = _schema(batch, schema) if found is None else found.schema()
                    ds = make(uri, made, overwrite, _storage.access(storage, None), at_commit=overwrite)
                    if info:
                        ds.info = info
                _extend(ds, batch)
                if verbose:
                    advance(len(ds))
                del batch  # before the next one is read
        if ds is None or not ds.tensors:
            raise InvalidArgumentError("ingest: the source has no rows")
        ds.commit(message or "ingest")
        is_done = True
        for warning in save_splits(ds, splits)[1]:
            print(f"  {warning['reason']}", file=sys.stderr)
    finally:
        if ds is not None and not is_done:
            ds.discard()
            ds.close()
            if not has_old:
                delete(ds.uri, storage=storage)
    return ds


def _needs_files(*options: Any) -> bool:
    """Returns whether options are given that the core has for files alone."""
    return any(option is not False and option not in (None, "", (), [], {}) for option in options)


def _check_format(format: str | None) -> None:
    if format is not None:
        raise InvalidArgumentError(f'ingest: format is "{format}", and the source is no path; leave it out')


def _extend(ds: Dataset, batch: Any) -> None:
    """Appends a batch. New names in its dicts become tensors, with holes before.

    Its errors count rows from the first one of the batch: they name that.
    """
    try:
        if isinstance(batch, list) and (there := set(ds.tensors)):
            names, part = _columns(batch)
            late = [name for name in names if name not in there]
            for name, about in _inferred(part(late)).items() if late else ():
                ds.create_tensor(name, **about)
        ds.extend(batch)
    except Error as err:
        if len(ds) == 0:
            raise
        message = f"after {len(ds):,} rows of the source: {err}"
        raise type(err)(message) from err


def _batches(
    source: Any,
    columns: Sequence[str] | None,
    format: str | None,
    schema: Mapping[str, Any],
) -> Iterator[Any]:
    """Yields what `extend` takes, a part of the rows at a time."""
    _check_format(format)
    if isinstance(source, Reading):
        raise InvalidArgumentError(
            "ingest: got rows of a dataset of deeplake; view.materialize(uri) copies them with their types and files"
        )
    if hugging_face.is_of_hugging_face(source):
        for split, part in hugging_face.splits_of(source).items():
            yield from hugging_face.tables_of(part, split, columns)
    elif isinstance(source, Mapping):
        yield source if columns is None else _picked(source, columns, list(source))
    elif is_frame(source) and not is_stream(source):
        yield source if columns is None else source[known_columns(columns, list(source.columns))]
    elif is_stream(source) and columns is None and not schema:
        yield source
    elif is_stream(source):
        yield from (batch for batch in batches_of(source, columns) if len(batch))
    elif not isinstance(source, bytes) and (rows := _rows(source)) is not None:
        yield from chunks_of(rows, columns, schema)
    else:
        raise InvalidArgumentError(
            f"ingest: got a {type(source).__name__}, want a table, a dict of columns, rows as dicts, or a path"
        )


def _rows(source: Any) -> Iterable[Any] | None:
    if isinstance(source, Iterable):
        return source
    if hasattr(source, "__getitem__") and hasattr(source, "__len__"):
        return (source[row] for row in range(len(source)))
    return None


def _picked(source: Mapping[str, Any], columns: Sequence[str], names: list[Any]) -> dict[str, Any]:
    return {name: source[name] for name in known_columns(columns, names)}


def _schema(batch: Any, schema: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Returns the tensors of the columns of a batch: those of `schema`, and others as its rows make
    them. None without `schema`: then `extend` makes all.
    """
    if not schema:
        return None
    names, part = _columns(batch)
    known_columns(lacked(schema, names), names)
    rest = [name for name in names if name not in schema]
    ordered = {name: schema[name] for name in names if name in schema}
    return {**(_inferred(part(rest)) if rest else {}), **ordered}


def _inferred(batch: Any) -> dict[str, Any]:
    """Returns the tensors that rows make; later rows may add classes."""
    made = inferred_schema(batch).items()
    return {name: {**about, "add_classes": True} if "class_names" in about else about for name, about in made}


def _columns(batch: Any) -> tuple[list[str], Callable[[list[str]], Any]]:
    """Returns the names of the columns of a batch, and a function that takes some of them."""
    if isinstance(batch, Mapping):
        return list(batch), lambda names: {name: batch[name] for name in names}
    if isinstance(batch, list):
        return list(batch[0]), lambda names: [{name: row[name] for name in names} for row in batch]
    if hasattr(batch, "schema") and hasattr(batch, "select"):
        return list(batch.schema.names), lambda names: batch.select(names)
    return list(batch.columns), lambda names: batch[names]
