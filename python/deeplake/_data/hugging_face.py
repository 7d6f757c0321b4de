"""Datasets of Hugging Face, as tables of Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from deeplake._errors import InvalidArgumentError, TensorTypeError
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


def reader_of(part: Any) -> Any:
    """Returns the rows of a dataset as a reader of Arrow; an empty one has no columns."""
    pa = package("extend", "pyarrow", "pip install pyarrow")
    if isinstance(part, dict):
        raise InvalidArgumentError("extend: got several splits of a dataset; extend by one, or use deeplake.ingest")
    tables = tables_of(part, "", None)
    first = next(tables, None)
    if first is None:
        return pa.table({}).to_reader()
    batches = (batch for table in chain([first], tables) for batch in table.to_batches())
    return pa.RecordBatchReader.from_batches(first.schema, batches)


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
    for table in _read(pa, part):
        if features is not None:
            table = embed_table_storage(table.cast(features.arrow_schema))
            arrays = [_named(pa, table[name], features[name]) for name in table.column_names]
            metadata = table.schema.metadata
            table = pa.table(arrays, names=table.column_names).replace_schema_metadata(metadata)
        if split:
            table = table.append_column("split", pa.array([split] * len(table)))
        yield table


def _read(pa: Any, part: Any) -> Iterator[Any]:
    """Yields the tables of a dataset. Without features, its first rows give the types."""
    tables = part.with_format("arrow").iter(batch_size=_BATCH)
    while True:
        try:
            table = next(tables, None)
        except pa.ArrowException as err:
            raise TensorTypeError(
                f"ingest: the package datasets makes no table of Arrow of some rows: {err}; give the dataset features, "
                "or ingest iter(dataset), whose rows are dicts"
            ) from err
        if table is None:
            return
        yield table


def _named(pa: Any, column: Any, feature: Any) -> Any:
    """Returns a column with names in the place of the numbers of classes, which other datasets may
    number otherwise. A negative number is no label.
    """
    return pa.chunked_array([_names_of(pa, chunk, feature) for chunk in column.chunks]) if column.num_chunks else column


def _names_of(pa: Any, array: Any, feature: Any) -> Any:
    names = getattr(feature, "names", None)
    if names and pa.types.is_integer(array.type):
        numbers = pa.compute.if_else(pa.compute.less(array, 0), None, array)
        return pa.DictionaryArray.from_arrays(numbers, pa.array(names, pa.string()))
    inner: Any = getattr(feature, "feature", None)
    if getattr(inner, "names", None) and pa.types.is_list(array.type) and pa.types.is_integer(array.type.value_type):
        values = pa.DictionaryArray.from_arrays(array.values, pa.array(inner.names, pa.string()))
        nulls = array.is_null() if array.null_count else None
        return pa.ListArray.from_arrays(_offsets(pa, array), values, mask=nulls)
    if isinstance(feature, dict) and pa.types.is_struct(array.type):
        fields = [
            _names_of(pa, array.field(at).slice(0, len(array)), feature[field.name])
            for at, field in enumerate(array.type)
        ]
        names = [field.name for field in array.type]
        return pa.StructArray.from_arrays(fields, names, mask=array.is_null() if array.null_count else None)
    return array


def _offsets(pa: Any, array: Any) -> Any:
    """Returns the offsets of lists without an offset of their own, which a mask needs."""
    return pa.array(array.offsets.to_numpy(), pa.int32())
