"""Files with a table, read batch by batch through pyarrow."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from deeplake._errors import InvalidArgumentError, NotFoundError
from deeplake._lazy import package
from deeplake._names import suggest

_FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".csv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
}
_PACKED = (".gz", ".zst", ".bz2", ".lz4")  # which are unpacked by the name of a csv or json file
IMAGES = (".jpg", ".jpeg", ".png", ".webp")
_OTHERS = (*IMAGES, ".tar", ".tgz")  # what else an import takes in
FORMATS = ("parquet", "feather", "csv", "json")
IN_CORE = ("parquet", "json")
_LOOK = 1000  # files of a folder that are looked at
_BATCH = 1 << 16
# Batches and files that are read ahead of the one that is being stored: they are held in memory.
_AHEAD = 4
_CSV_BLOCK = 16 << 20  # the longest line of a CSV file that is read for sure
_CSV_DTYPES = {
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float32": "float32",
    "float64": "float64",
    "bool": "bool",
    "string": "string",
}


def format_of(path: Path) -> str | None:
    """Returns the format of the files at a path by their names: a file, or all files of a folder
    that have one. None if there is none, and for a folder with images.
    """
    if not path.is_dir():
        return _named(path)
    files = list(islice((file for file in path.rglob("*") if _counts(file, path)), _LOOK))
    if any(file.suffix.lower() in _OTHERS for file in files):
        return None
    found = {name for file in files if (name := _named(file)) is not None}
    return found.pop() if len(found) == 1 else None


def core_format(path: str | os.PathLike[str], format: str | None) -> str | None:
    """Returns the format of files that the core reads: Parquet and JSON lines, and all on a store,
    where "table" goes by their names. None: pyarrow reads them.
    """
    text = os.fspath(path)
    if "://" in text and not text.startswith("file://"):
        return format or "table"
    found = format or format_of(Path(text.removeprefix("file://")))
    return found if found in IN_CORE else None


@dataclass(frozen=True)
class Files:
    """Files of one format, and the path that the user gave for them."""

    place: Path
    format: str
    paths: tuple[Path, ...]

    @property
    def called(self) -> str:
        """The operation, for messages."""
        return f'ingest "{self.place}"'


def files_at(path: str | os.PathLike[str], format: str | None) -> Files:
    """Returns the files at a path: a file, or those of a folder that have the format.

    Args:
        path: a file or a folder.
        format: one of `FORMATS`; None goes by the names.

    Raises:
        NotFoundError: nothing is there.
        InvalidArgumentError: the format is none of `FORMATS`, or the names tell none.
    """
    place = Path(path)
    called = f'ingest "{place}"'
    if not place.exists():
        raise NotFoundError(f"{called}: there is no such file or folder on this machine")
    if format is not None and format not in FORMATS:
        raise InvalidArgumentError(f'{called}: format is "{format}", want one of {", ".join(FORMATS)}')
    found = format or format_of(place)
    if found is None:
        raise InvalidArgumentError(
            f"{called}: its names tell no format, or several; give format=, one of {', '.join(FORMATS)}"
        )
    if not place.is_dir():
        return Files(place, found, (place,))
    paths = sorted(file for file in place.rglob("*") if _counts(file, place) and _named(file) == found)
    return Files(place, found, tuple(paths))


def tables_of(files: Files, columns: Sequence[str] | None, schema: Mapping[str, Any]) -> Iterator[Any]:
    """Yields the record batches of Feather and CSV files, one without rows if there are none.

    Args:
        files: the files.
        columns: the columns to take; None takes all.
        schema: as of `ingest`: the types of columns of CSV files.

    Raises:
        InvalidArgumentError: a file cannot be read, or lacks a column.
        UnsupportedError: pyarrow is not installed.
    """
    pa = package(files.called, "pyarrow", "pip install pyarrow")
    try:
        if files.format == "feather" and not all(map(_has_index, files.paths)):
            yield from _streams(pa, files, columns)
        else:
            yield from _scanned(pa, files, columns, schema)
    except (pa.ArrowException, OSError, ValueError, KeyError) as err:
        if isinstance(err, InvalidArgumentError):
            raise
        raise InvalidArgumentError(f"{files.called}: {err}") from err


def _streams(pa: Any, files: Files, columns: Sequence[str] | None) -> Iterator[Any]:
    for file in files.paths:
        with pa.ipc.open_stream(file) as reader:
            _check_columns(files, columns, reader.schema.names)
            empty = reader.schema.empty_table().to_batches()
            yield from (part if columns is None else part.select(columns) for part in (*empty, *reader))


def _scanned(pa: Any, files: Files, columns: Sequence[str] | None, schema: Mapping[str, Any]) -> Iterator[Any]:
    dataset = package(files.called, "pyarrow.dataset", "")
    kind = _csv(dataset, schema) if files.format == "csv" else files.format
    source: Any = [str(file) for file in files.paths] if files.place.is_dir() else str(files.place)
    found = dataset.dataset(source, format=kind, partitioning=_partitions(dataset, files.place))
    if len(files.paths) > 1:  # a later file may have more columns
        schemas = [found.schema, *(fragment.physical_schema for fragment in found.get_fragments())]
        found = found.replace_schema(pa.unify_schemas(schemas, promote_options="permissive"))
    _check_columns(files, columns, found.schema.names)
    if files.format == "csv":
        _check_text(files.called, pa, found.schema)
    reader = found.scanner(
        columns=None if columns is None else list(columns),
        batch_size=_BATCH,
        batch_readahead=_AHEAD,
        fragment_readahead=1,
    ).to_reader()
    is_empty = True
    for batch in reader:
        if len(batch):
            is_empty = False
            yield batch
    if is_empty and len(reader.schema):
        yield reader.schema.empty_table()


def _check_columns(files: Files, columns: Sequence[str] | None, names: list[str]) -> None:
    for name in columns or ():
        if name not in names:
            raise InvalidArgumentError(
                f'{files.called}: there is no column "{name}"{suggest(name, names)}; the columns are '
                f"{', '.join(names[:16])}"
            )


def _csv(dataset: Any, schema: Mapping[str, Any]) -> Any:
    """Returns the format of CSV files whose columns have the types that a schema states: text
    stays as it is written.
    """
    csv = package("ingest", "pyarrow.csv", "")
    types: dict[str, Any] = {}
    for name, given in schema.items():
        about = {"htype": given} if isinstance(given, str) else given
        dtype = "string" if about.get("htype") in ("text", "json") else str(about.get("dtype") or "")
        if dtype in _CSV_DTYPES:
            types[name] = _CSV_DTYPES[dtype]
    return dataset.CsvFileFormat(
        convert_options=csv.ConvertOptions(column_types=types), read_options=csv.ReadOptions(block_size=_CSV_BLOCK)
    )


def _has_index(file: Path) -> bool:
    """Returns whether a file of Arrow has an index. One that was written as a stream has none."""
    with file.open("rb") as opened:
        return opened.read(6).startswith((b"ARROW1", b"FEA1"))


def _check_text(called: str, pa: Any, schema: Any) -> None:
    """Refuses a CSV file whose text is not UTF-8. Arrow takes it for bytes."""
    for field in schema:
        if pa.types.is_binary(field.type):
            raise InvalidArgumentError(
                f'{called}: column "{field.name}" has text that is not UTF-8; convert the file first, as with '
                "iconv -f LATIN1 -t UTF-8"
            )


def _partitions(dataset: Any, place: Path) -> Any:
    """Returns the columns that folders like "year=2026" make."""
    return dataset.HivePartitioning.discover(infer_dictionary=False) if place.is_dir() else None


def _named(path: Path) -> str | None:
    name = path.name.lower()
    for packed in _PACKED:
        if (plain := name.removesuffix(packed)) != name:
            return found if (found := _FORMATS.get(Path(plain).suffix)) in ("csv", "json") else None
    return _FORMATS.get(Path(name).suffix)


def _counts(file: Path, folder: Path) -> bool:
    """Returns whether a file is no note of a program: those and their folders begin with . or _."""
    return file.is_file() and not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
