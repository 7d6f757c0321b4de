"""Exports that the core runs in the background: rows of a view as files of other programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from deeplake import _native
from deeplake._checks import check_choice, check_names
from deeplake._errors import InvalidArgumentError
from deeplake._progress import bar
from deeplake._stores import storage as _storage
from deeplake._stores import uri as _uri
from deeplake._text import printable

if TYPE_CHECKING:
    from deeplake._stores.storage import Storage

_SLICE = 0.1  # seconds between two looks at an export


@dataclass(frozen=True)
class ExportReport:
    """The figures of an export.

    Attributes:
        uri: the place of the files.
        format: their format.
        rows: rows that were written, with those of `resumed`.
        files, bytes: files in the place, and their size.
        splits: the parts that the files are divided into, by the tensor "split".
        resumed: rows of parts that an earlier run had written.
        notes: the losses and changes of tensors, by name.
    """

    uri: str
    format: str
    rows: int
    files: int
    bytes: int
    splits: Sequence[str]
    resumed: int
    notes: Mapping[str, Sequence[str]]

    def __repr__(self) -> str:
        lines = [f"ExportReport: {self.rows:,} rows, {self.files:,} files of {self.format} in {self.uri}"]
        lines += [f"  {line}" for line in self.note_lines()]
        return "\n".join(printable(line) for line in lines)

    def note_lines(self) -> list[str]:
        """Returns the notes, one line each."""
        return [f"{name}: {text}" if name else text for name, texts in self.notes.items() for text in texts]


def export_rows(
    view: _native.View,
    uri: str | PathLike[str],
    *,
    format: str,
    tensors: Sequence[str] | None,
    splits: str,
    shard_bytes: int | None,
    pad: bool,
    storage: Storage | None,
) -> ExportReport:
    """Writes the rows of a view. Ctrl-C stops it; the same call goes on."""
    _storage.check(storage)
    if isinstance(tensors, str):
        raise InvalidArgumentError(f'export: tensors is "{tensors}", want a list of names, such as ["{tensors}"]')
    chosen = check_names("export", tensors)
    if shard_bytes is not None and (not isinstance(shard_bytes, int) or isinstance(shard_bytes, bool)):
        raise InvalidArgumentError(f"export: shard_bytes is {shard_bytes!r}, want an int")
    if shard_bytes is not None and not 1 <= shard_bytes < 1 << 62:
        raise InvalidArgumentError(f"export: shard_bytes is {shard_bytes}, want 1,024 or more, or None for the default")
    check_choice("export", "splits", splits, ("auto", "none"))
    if not isinstance(pad, bool):
        raise InvalidArgumentError(f"export: pad is {pad!r}, want a bool")
    place = _uri.resolve(uri)
    options: dict[str, Any] = {
        "format": format,
        "tensors": chosen,
        "splits": splits,
        "shard_bytes": shard_bytes,
        "pad": pad or None,
        **_storage.reach(storage),
    }
    job = _native.export(view, place, {key: one for key, one in options.items() if one is not None})
    try:
        with bar("export", unit="rows") as advance:
            while True:
                news = job.poll(_SLICE)
                advance(news["rows"], total=news["total"] or None)
                if news["done"]:
                    break
    finally:
        job.close()
    report = news["report"]
    notes: dict[str, list[str]] = {}
    for note in report["notes"]:
        notes.setdefault(note["tensor"], []).append(note["text"])
    keys = ("format", "rows", "files", "bytes", "splits", "resumed")
    return ExportReport(uri=place, notes=notes, **{key: report[key] for key in keys})
