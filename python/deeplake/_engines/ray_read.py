"""Ray reads a dataset: a Datasource whose tasks open a part of the rows of one commit each."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import pyarrow as pa
import ray
from ray.data import Datasource
from ray.data.block import BlockMetadata
from ray.data.datasource import ReadTask

from deeplake._checks import check_names
from deeplake._engines.ray_columns import Column, columns_of, pictures_of, tensors_of
from deeplake._engines.ray_filter import columns_of as named_in
from deeplake._engines.ray_filter import split
from deeplake._engines.selection import Selection, asked, selected
from deeplake._load.loader import Batches
from deeplake._load.plan import Options
from deeplake._query.query import Question
from deeplake._rows import arrow
from deeplake._rows.source import Pinned

_BLOCK_BYTES = 32 << 20  # of a block that a task makes, about
_FETCH_BYTES = 128 << 20  # of a store, that one task prefetches
# Ray takes the number of rows from this column where a query needs no other, as `count` does.
_NO_COLUMN = "__bsp_stub"


class DeeplakeDatasource(Datasource):  # Ray shows the name without its second half
    """The rows of a selection, cut into equal parts."""

    def __init__(self, selection: Selection) -> None:
        super().__init__()
        self._projection_map: dict[str, str] | None = None
        self._selection = selection
        self._columns = columns_of(replace(selection, wheres=()).opened(), list(selection.names))
        self._left: tuple[Any, ...] = ()  # conditions that TQL does not have

    def supports_projection_pushdown(self) -> bool:
        return True

    def supports_predicate_pushdown(self) -> bool:
        return True

    def apply_predicate(self, predicate_expr: Any) -> DeeplakeDatasource:
        """Takes a condition, or returns this object, which leaves the condition to Ray."""
        scalars = {name: column.scalar for name, column in self._columns.items() if column.scalar is not None}
        text, params, left = split(predicate_expr, scalars)
        plain = {name for name, column in self._columns.items() if column.shape is None}
        if not text or not all(named_in(part) <= plain for part in left):
            return self
        taken = copy.copy(self)
        question = Question(f"SELECT * WHERE {text}", tuple(params))
        taken._selection = replace(self._selection, wheres=(*self._selection.wheres, question))
        taken._left = (*self._left, *left)
        before = self._predicate_expr
        taken._predicate_expr = predicate_expr if before is None else before & predicate_expr
        return taken

    def estimate_inmemory_data_size(self) -> int:
        return self._bytes(len(self._selection.rows))

    def get_read_tasks(
        self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None
    ) -> list[ReadTask]:
        rows = len(self._selection.rows)
        parts = max(1, min(parallelism, rows))
        bounds = [rows * part // parts for part in range(parts + 1)]
        work = Work(tuple(self._taken()), self._left, per_task_row_limit)
        tasks = []
        for start, stop in pairwise(bounds):
            most = stop - start if per_task_row_limit is None else min(stop - start, per_task_row_limit)
            known = None if self._selection.wheres or self._left else most
            about = BlockMetadata(num_rows=known, size_bytes=self._bytes(most), input_files=None, exec_stats=None)
            read = partial(blocks, self._selection.part(start, stop), work)
            tasks.append(ReadTask(read, about, schema=work.schema(), per_task_row_limit=per_task_row_limit))
        return tasks

    def _taken(self) -> list[Column]:
        names = self._columns if self._projection_map is None else self._projection_map
        return [self._columns[name] for name in names]

    def _bytes(self, rows: int) -> int:
        """Returns the bytes of some rows, about; of rows with conditions, as if all met them."""
        return math.ceil(rows * sum(column.row_bytes for column in self._taken()))


@dataclass(frozen=True)
class Work:
    """What a task makes of its rows: columns, conditions, and the number of rows at most."""

    columns: tuple[Column, ...]
    left: tuple[Any, ...]
    limit: int | None

    def schema(self) -> Any:
        if not self.columns:
            return pa.schema([pa.field(_NO_COLUMN, pa.null())])
        return pa.schema([column.field for column in self.columns])


def blocks(selection: Selection, work: Work) -> Iterator[Any]:
    """Yields the rows of one task as tables of Arrow, in their order. A retry reads them again."""
    if work.limit is not None and not selection.wheres and not work.left:
        selection = selection.part(0, work.limit)
    pinned = _kept(selection.opened(), work.left)
    if work.limit is not None and pinned.length() > work.limit:
        pinned = pinned.select(range(work.limit))
    schema, rows = work.schema(), pinned.length()
    if not work.columns:
        yield pa.Table.from_arrays([pa.nulls(rows)], schema=schema)
        return
    if rows == 0:
        yield schema.empty_table()
        return
    step = max(1, min(arrow.BATCH_ROWS, int(_BLOCK_BYTES / max(1.0, sum(column.row_bytes for column in work.columns)))))
    plain = [column.field.name for column in work.columns if not column.picture]
    pictures = {column.field.name: column for column in work.columns if column.picture}
    tables = _tables(pinned, plain, step)
    batches = _pictures(pinned, pictures, step)
    for start in range(0, rows, step):
        table = next(tables) if plain else None
        decoded = next(batches) if pictures else {}
        made = [
            pictures_of(column, decoded[column.field.name])
            if column.picture
            else tensors_of(column, _whole(table, column.field.name))
            for column in work.columns
        ]
        assert all(len(array) == min(step, rows - start) for array in made)
        yield pa.Table.from_arrays(made, schema=schema)


def _kept(pinned: Pinned, conditions: tuple[Any, ...]) -> Pinned:
    """Returns the rows that meet conditions of Ray, which Arrow checks."""
    if not conditions or not pinned.length():
        return pinned
    names = sorted({name for condition in conditions for name in named_in(condition)})
    table = arrow.to_arrow(pinned, names, "encoded")
    numbers = pa.array(range(table.num_rows), pa.int64())
    table = table.append_column("__row", numbers)
    for condition in conditions:
        table = table.filter(condition.to_pyarrow())
    return pinned.select(table.column("__row").to_numpy())


def _tables(pinned: Pinned, names: list[str], step: int) -> Iterator[Any]:
    """Yields tables of `step` rows each, the last one of those that are left."""
    reader = arrow.to_arrow_reader(pinned, names, "encoded", step)
    waiting: list[Any] = []
    for batch in reader:
        waiting.append(batch)
        while (rows := sum(map(len, waiting))) >= step:
            table = pa.Table.from_batches(waiting)
            yield table.slice(0, step)
            waiting = table.slice(step).to_batches() if rows > step else []
    if waiting:
        yield pa.Table.from_batches(waiting)


class _Options(Options):
    held = 10  # Ray joins blocks to 128 MiB, and frees them after it has joined the next ones


def _pictures(pinned: Pinned, pictures: Mapping[str, Column], step: int) -> Iterator[dict[str, Any]]:
    """Yields the decoded pictures of `step` rows each."""
    fixed = {name: "stack" if column.fixed else "list" for name, column in pictures.items()}
    options: dict[str, Any] = {"rank": 0, "world_size": 1, "num_workers": _threads(), "prefetch": 1}
    if not pinned.uri.startswith("/"):
        options["fetch_bytes"] = _FETCH_BYTES
    yield from Batches(pinned, _Options(batch_size=step, tensors=list(pictures), collate=fixed, **options))


def _threads() -> int:
    """Returns the number of cores that Ray has given to this task."""
    if not ray.is_initialized():
        return 1
    try:
        given = ray.get_runtime_context().get_assigned_resources()
    except AssertionError:  # no task runs here
        return 1
    return max(1, int(given.get("CPU", 1)))


def _whole(table: Any, name: str) -> Any:
    """Returns a column as one array."""
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def rows_of(
    pinned: Pinned,
    query: str | None,
    params: Sequence[Any] | Mapping[str, Any],
    columns: Sequence[str] | None,
    options: Mapping[str, Any],
) -> Any:
    """Returns the rows as a `ray.data.Dataset`."""
    called = "read with Ray"
    selection = selected(called, pinned) if query is None else asked(called, pinned, query, params)
    if columns is None and set(selection.names) == set(pinned.names()):
        columns = arrow.names_of(pinned, None)
    columns = check_names(called, columns, "columns")
    for name in columns or ():
        pinned.require(name)
    names = selection.names if columns is None else tuple(dict.fromkeys(columns))
    return ray.data.read_datasource(DeeplakeDatasource(replace(selection, names=names)), **options)
