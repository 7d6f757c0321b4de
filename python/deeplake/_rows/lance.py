"""Tables of Lance, which pylance reads. The core takes their rows as Arrow."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deeplake._errors import CorruptError, InvalidArgumentError, NotFoundError
from deeplake._lazy import package
from deeplake._names import suggest

if TYPE_CHECKING:
    from deeplake._stores.storage import Storage

LANCE = "lance"  # the format
_VERSION = re.compile(r"(?P<place>.+\.lance)/?@(?P<version>[\w.-]+)", re.IGNORECASE)  # a number or a tag
_BATCH = 16 << 20  # bytes of the rows that are read together, about
_MOST = 512 << 20  # of them, at most
_ROWS = 8192  # the most rows
_KINDS = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF")  # how image files begin, WebP among others of RIFF


def is_lance(source: Any, format: str | None = None) -> bool:
    """Returns whether source is a table of Lance: the path of one, or a `lance.LanceDataset`.

    Args:
        source: a path or an address, whose name ends with ".lance" or ".lance@VERSION", or a folder
            with the versions of a table; or an object.
        format: of files, as the user gives it; None goes by the name, and by the content.
    """
    if not isinstance(source, str | os.PathLike):
        return any(one.__module__.partition(".")[0] == LANCE and one.__name__ == "LanceDataset" for one in _mro(source))
    if format is not None:
        return format == LANCE
    text = os.fspath(source)
    if _split(text)[0].rstrip("/").lower().endswith(".lance"):
        return True
    place = Path(text.removeprefix("file://"))
    return "://" not in str(text.removeprefix("file://")) and any(place.glob("_versions/*.manifest"))


def rows_of(source: Any, columns: Sequence[str] | None, storage: Storage | None) -> Any:
    """Returns the rows of a table, in its order and without deleted ones, as a
    `pyarrow.RecordBatchReader`.

    Blobs come with their bytes. Columns of image files become structs of bytes and path, as Hugging
    Face stores them: all blobs, and columns of bytes whose first values are all JPEG, PNG or WebP.

    Args:
        source: as of `is_lance`.
        columns: the columns to take; None takes all.
        storage: settings of the store of the table.

    Raises:
        InvalidArgumentError: there is no such column or version.
        NotFoundError: nothing is there.
        CorruptError: the table cannot be read.
        UnsupportedError: pylance or pyarrow is not installed.
    """
    if isinstance(source, str | os.PathLike):
        called = f'ingest "{os.fspath(source)}"'
        table = _opened(called, os.fspath(source), storage)
    else:
        called, table = "ingest of a LanceDataset", source
    pa = package(called, "pyarrow", "pip install pyarrow")
    package(called, "pyarrow.compute", "pip install pyarrow")
    names = list(table.schema.names)
    for name in columns or ():
        if name not in names:
            raise InvalidArgumentError(
                f'{called}: the table has no column "{name}"{suggest(name, names)}; it has {", ".join(names[:16])}'
            )
    taken = names if columns is None else list(dict.fromkeys(columns))
    try:
        step = _batch_rows(pa, table, taken)
        scanner = table.scanner(columns=taken, batch_size=step, scan_in_order=True, blob_handling="all_binary")
        batches = iter(scanner.to_reader())
        first = next(batches, None)
    except Exception as err:
        raise _unread(called, err) from err
    if first is None or not len(first):
        raise InvalidArgumentError(f"{called}: the table has no rows")
    files = [name for name in first.schema.names if _has_files(pa, table.schema.field(name), first.column(name))]

    def all_batches() -> Iterator[Any]:
        batch = first
        while batch is not None:
            yield _with_files(pa, batch, files)
            try:
                batch = next(batches, None)
            except Exception as err:
                raise _unread(called, err) from err

    return pa.RecordBatchReader.from_batches(_with_files(pa, first.slice(0, 0), files).schema, all_batches())


def _mro(source: Any) -> tuple[type, ...]:
    return type(source).__mro__


def _split(text: str) -> tuple[str, int | str | None]:
    """Returns a place, and the version or the tag behind its "@"."""
    found = _VERSION.fullmatch(text)
    if found is None:
        return text, None
    version = found["version"]
    return found["place"], int(version) if version.isdecimal() else version


def _opened(called: str, text: str, storage: Storage | None) -> Any:
    lance = package(called, LANCE, "pip install pylance")
    place, version = _split(text)
    place = place.removeprefix("file://")
    if "://" not in place and not any(Path(place).glob("_versions/*.manifest")):
        if not Path(place).exists():
            raise NotFoundError(f"{called}: there is no such folder on this machine")
        raise InvalidArgumentError(f"{called}: no table of Lance is there; give the folder that has _versions")
    try:
        return lance.dataset(place, version=version, storage_options=_options(storage))
    except Exception as err:
        if version is not None and "not found" in str(err).lower():
            raise InvalidArgumentError(f"{called}: the table has no version or tag {version!r}") from err
        if "not found" in str(err).lower():
            raise NotFoundError(f"{called}: {_short(err)}") from err
        raise _unread(called, err) from err


def _options(storage: Storage | None) -> dict[str, str] | None:
    """Returns the settings of a store as pylance takes them; None leaves it to the environment."""
    if storage is None:
        return None
    given: Mapping[str, Any] = storage.settings()
    secrets: Any = given.get("credentials")
    keys = secrets if isinstance(secrets, Mapping) else given
    out = {
        "aws_endpoint": given.get("endpoint"),
        "aws_region": given.get("region") or ("us-east-1" if given.get("endpoint") else None),
        "aws_access_key_id": keys.get("access_key_id"),
        "aws_secret_access_key": keys.get("secret_access_key"),
        "aws_session_token": keys.get("session_token"),
        "aws_skip_signature": "true" if given.get("anonymous") else None,
        "allow_http": "true" if str(given.get("endpoint", "")).startswith("http://") else None,
        "google_service_account": secrets if isinstance(secrets, str) else None,
    }
    return {name: str(value) for name, value in out.items() if value is not None}


def _batch_rows(pa: Any, table: Any, names: Sequence[str]) -> int:
    """Returns how many rows are read at once, by the sizes of rows and blobs as they are stored."""
    rows = max(1, table.count_rows())
    mean: int = sum(one.bytes_on_disk for one in table.stats.data_stats().fields) // rows
    most: int = 0
    total: int = 0
    blobs = [name for name in names if _is_blob(table.schema.field(name))]
    if blobs:  # whose statistics are those of their descriptions
        for batch in table.scanner(columns=blobs, blob_handling="blobs_descriptions").to_reader():
            sizes = [pa.compute.struct_field(column, "size") for column in batch.columns]
            most = max(most, *(pa.compute.max(part).as_py() or 0 for part in sizes))
            total += sum(pa.compute.sum(part).as_py() or 0 for part in sizes)
        mean += total // rows
    return max(1, min(_ROWS, _BATCH // max(1, mean), _MOST // max(1, most)))


def _is_blob(field: Any) -> bool:
    """Returns whether a field is one of blobs, in the older or the newer way of Lance."""
    return "lance.blob" in str(field.type) or (field.metadata or {}).get(b"lance-encoding:blob") == b"true"


def _has_files(pa: Any, field: Any, values: Any) -> bool:
    """Returns whether a column has files: blobs, or bytes whose values are images."""
    kind = values.type
    if not (pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        return False
    begins = pa.compute.binary_slice(values.drop_null(), 0, 12).to_pylist()
    return _is_blob(field) or (bool(begins) and all(_is_image(begin) for begin in begins))


def _is_image(begin: bytes) -> bool:
    return begin.startswith(_KINDS) and (not begin.startswith(b"RIFF") or begin[8:12] == b"WEBP")


def _with_files(pa: Any, batch: Any, names: Sequence[str]) -> Any:
    """Returns a batch whose columns of files are structs of bytes and path."""
    arrays, fields = list(batch.columns), list(batch.schema)
    for at, field in enumerate(fields):
        if field.name in names:
            values = arrays[at]
            arrays[at] = pa.StructArray.from_arrays(
                [values, pa.nulls(len(values), pa.string())], ["bytes", "path"], mask=values.is_null()
            )
            fields[at] = pa.field(field.name, arrays[at].type)
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _short(err: Exception) -> str:
    """Returns what went wrong, without the places in the source code of Lance."""
    return re.sub(r",? ?/?[\w/.-]*\.rs:\d+(:\d+)?", "", f"{err}").strip().rstrip(".")


def _unread(called: str, err: Exception) -> CorruptError:
    return CorruptError(f"{called}: pylance cannot read it: {type(err).__name__}: {_short(err)}")
