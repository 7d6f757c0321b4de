"""Datasets of Hugging Face, as tables of Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from deeplake._errors import InvalidArgumentError
from deeplake._lazy import package
from deeplake._names import suggest

_KINDS = ("datasets.arrow_dataset", "datasets.iterable_dataset", "datasets.dataset_dict")
_BATCH = 1000


def is_of_hugging_face(source: Any) -> bool:
    """Returns whether source is a dataset of the package `datasets`, or a dict of its splits."""
    return any(kind.__module__ in _KINDS for kind in type(source).__mro__)


def splits_of(source: Any) -> dict[str, Any]:
    """Returns the splits of a dict of them by name; a dataset alone has the name ""."""
    return dict(source) if isinstance(source, dict) else {"": source}


def tables_of(part: Any, split: str, columns: Sequence[str] | None) -> Iterator[Any]:
    """Yields tables of some rows, with the files of pictures and sound in them.

    Args:
        part: a `datasets.Dataset` or `datasets.IterableDataset`.
        split: the value of a column "split"; "" adds none.
        columns: the columns to take; None takes all.
    """
    from datasets.table import embed_table_storage

    pa = package("ingest", "pyarrow", "pip install pyarrow")
    names = part.column_names
    if split and "split" in (names or ()):
        raise InvalidArgumentError(
            'ingest: the dataset has splits and a column "split"; name the others by columns=, or ingest one split'
        )
    if columns is not None:
        for name in columns:
            if names is not None and name not in names:
                raise InvalidArgumentError(f'ingest: the dataset has no column "{name}"{suggest(name, names)}')
        part = part.select_columns(list(columns))
    features = part.features
    for table in part.with_format("arrow").iter(batch_size=_BATCH):
        if features is not None:
            table = embed_table_storage(table.cast(features.arrow_schema))
        if split:
            table = table.append_column("split", pa.array([split] * len(table)))
        yield table
