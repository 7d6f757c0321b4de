"""Files with a table, read batch by batch through pyarrow."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from deeplake._errors import InvalidArgumentError, NotFoundError
from deeplake._lazy import package

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


def format_of(path: Path) -> str | None:
    """Returns the format of the files at a path by their names: a file, or all files of a folder
    that have one. None if there is none.
    """
    if not path.is_dir():
        return _named(path)
    found = {_named(file) for file in islice((file for file in path.rglob("*") if _counts(file, path)), _LOOK)}
    return found.pop() if len(found) == 1 else None


def read_files(path: str | os.PathLike[str], format: str | None, columns: Sequence[str] | None) -> Iterator[Any]:
    """Yields the record batches of the files at a path.

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
    pa, dataset = package(called, "pyarrow", "pip install pyarrow"), package(called, "pyarrow.dataset", "")
    try:
        files: str | list[str] = str(place)
        if place.is_dir():
            files = sorted(str(file) for file in place.rglob("*") if _counts(file, place) and _named(file) == format)
        found = dataset.dataset(files, format=format, partitioning=_partitions(dataset, place))
        if format == "csv":
            _check_text(called, pa, found.schema)
        scanner = found.scanner(
            columns=None if columns is None else list(columns),
            batch_size=_BATCH,
            batch_readahead=_AHEAD,
            fragment_readahead=1,
        )
        yield from (batch for batch in scanner.to_reader() if len(batch))
    except (pa.ArrowException, OSError, ValueError, KeyError) as err:
        raise InvalidArgumentError(f"{called}: {err}") from err


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
