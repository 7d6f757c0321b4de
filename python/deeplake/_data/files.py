"""Files with a table, read batch by batch through pyarrow."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
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
_PACKED = (".gz", ".zst", ".bz2", ".lz4")  # which pyarrow unpacks by the name of a csv or json file
FORMATS = ("parquet", "feather", "csv", "json")
_LOOK = 1000  # files of a folder that are looked at
_BATCH = 1 << 16
# Batches and files that are read ahead of the one that is being stored: they are held in memory.
_AHEAD = 4
_LINES = 4096  # of JSON, whose rows are appended together
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
    that have one. None if there is none.
    """
    if not path.is_dir():
        return _named(path)
    found = {_named(file) for file in islice((file for file in path.rglob("*") if _counts(file, path)), _LOOK)}
    return found.pop() if len(found) == 1 else None


def read_files(
    path: str | os.PathLike[str],
    format: str | None,
    columns: Sequence[str] | None,
    schema: Mapping[str, Any],
) -> Iterator[Any]:
    """Yields the rows of the files at a path, in record batches or lists of dicts.

    Args:
        path: a file or a folder.
        format: one of `FORMATS`; None goes by the names.
        columns: the columns to take; None takes all.
        schema: as of `ingest`: the types of columns of CSV files.

    Raises:
        NotFoundError: nothing is there.
        InvalidArgumentError: the format is none of `FORMATS`, or a file cannot be read.
        UnsupportedError: pyarrow is not installed.
    """
    place = Path(path)
    called = f'ingest "{place}"'
    if not place.exists():
        raise NotFoundError(f"{called}: there is no such file or folder on this machine")
    if format is not None and format not in FORMATS:
        raise InvalidArgumentError(f'{called}: format is "{format}", want one of {", ".join(FORMATS)}')
    format = format or format_of(place)
    if format is None:
        raise InvalidArgumentError(
            f"{called}: its names tell no format, or several; give format=, one of {', '.join(FORMATS)}"
        )
    pa = package(called, "pyarrow", "pip install pyarrow")
    files = [place]
    if place.is_dir():
        files = sorted(file for file in place.rglob("*") if _counts(file, place) and _named(file) == format)
    try:
        if format == "json":
            yield from _lines(pa, files, columns)
        else:
            yield from _tables(called, pa, place, files, format, columns, schema)
    except (pa.ArrowException, OSError, ValueError, KeyError) as err:
        if isinstance(err, InvalidArgumentError):
            raise
        raise InvalidArgumentError(f"{called}: {err}") from err


def _tables(
    called: str,
    pa: Any,
    place: Path,
    files: list[Path],
    format: str,
    columns: Sequence[str] | None,
    schema: Mapping[str, Any],
) -> Iterator[Any]:
    dataset = package(called, "pyarrow.dataset", "")
    if format == "feather" and not all(_is_arrow_file(file) for file in files):
        for file in files:
            with pa.ipc.open_stream(file) as reader:
                yield from (batch if columns is None else batch.select(columns) for batch in reader if len(batch))
        return
    kind = _csv(dataset, schema) if format == "csv" else format
    source: Any = [str(file) for file in files] if place.is_dir() else str(place)
    found = dataset.dataset(source, format=kind, partitioning=_partitions(dataset, place))
    if len(files) > 1:  # a later file may have more columns
        schemas = [found.schema, *(fragment.physical_schema for fragment in found.get_fragments())]
        found = found.replace_schema(pa.unify_schemas(schemas, promote_options="permissive"))
    for name in columns or ():
        if name not in found.schema.names:
            raise InvalidArgumentError(
                f'{called}: there is no column "{name}"{suggest(name, found.schema.names)}; the columns are '
                f"{', '.join(found.schema.names[:16])}"
            )
    if format == "csv":
        _check_text(called, pa, found.schema)
    scanner = found.scanner(
        columns=None if columns is None else list(columns),
        batch_size=_BATCH,
        batch_readahead=_AHEAD,
        fragment_readahead=1,
    )
    reader, is_empty = scanner.to_reader(), True
    for batch in reader:
        if len(batch):
            is_empty = False
            yield batch
    if is_empty and len(reader.schema):
        yield reader.schema.empty_table()


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


def _is_arrow_file(file: Path) -> bool:
    """Returns whether a file has the layout with an index, not that of a stream."""
    with file.open("rb") as opened:
        return opened.read(6) in (b"ARROW1", b"FEA1")


def _lines(pa: Any, files: list[Path], columns: Sequence[str] | None) -> Iterator[list[dict[str, Any]]]:
    """Yields rows of JSON lines. Each line is read by itself: later ones may have other keys."""
    names: list[str] = list(columns or ())
    chunk: list[dict[str, Any]] = []
    for file in files:
        with pa.input_stream(str(file), compression="detect") as stream:
            for number, line in enumerate(_split(stream), 1):
                if not line.strip():
                    continue
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError) as err:
                    raise InvalidArgumentError(f'ingest "{file}": line {number} is no JSON: {err}') from err
                if not isinstance(row, dict):
                    raise InvalidArgumentError(f'ingest "{file}": line {number} is no JSON object')
                chunk.append(row)
                if len(chunk) == _LINES:
                    yield _filled(chunk, names, columns)
                    chunk = []
    if chunk:
        yield _filled(chunk, names, columns)


def _filled(rows: list[dict[str, Any]], names: list[str], columns: Sequence[str] | None) -> list[dict[str, Any]]:
    """Returns rows with the same names, None for values that one lacks. `names` grows."""
    if columns is None:
        names[:] = dict.fromkeys([*names, *(name for row in rows for name in row)])
    return [{name: row.get(name) for name in names} for row in rows]


def _split(stream: Any) -> Iterator[bytes]:
    """Yields the lines of a stream."""
    rest = b""
    while block := stream.read(1 << 20):
        lines = (rest + block).split(b"\n")
        rest = lines.pop()
        yield from lines
    yield rest


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
