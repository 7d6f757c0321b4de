"""Rows: mappings from tensor names to samples, read when they are looked at."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from deeplake import _index
from deeplake._errors import UnsupportedError
from deeplake._index import Rows
from deeplake._rows.source import Pinned, Source
from deeplake._text import printable

# Bounds of the neighbouring rows that a look at one row reads ahead.
_BLOCK_ROWS = 256
_BLOCK_BYTES = 16 << 20


class Row(Mapping[str, Any]):
    """One row: a read-only mapping from tensor names to samples, each read on first access.

    Arrays are NumPy arrays, numbers without axes NumPy scalars, text is str, sequences are lists,
    and json, lists and tags are Python objects. A hole is None.
    """

    __slots__ = ("_block", "_position", "_values")

    def __new__(cls, block: Block | Mapping[str, Any], position: int = -1) -> Any:
        # torch's default_collate calls the type of a row with the columns of a batch. Without a
        # result it would collate everything twice.
        return super().__new__(cls) if isinstance(block, Block) else dict(block)

    def __init__(self, block: Block, position: int) -> None:
        self._block = block
        self._position = position
        self._values: dict[str, Any] = {}

    @property
    def index(self) -> int:
        """The number of the row in the dataset.

        Raises:
            UnsupportedError: a query made the row from several rows.
        """
        block = self._block
        rows = _index.compose(block.source.rows, block.rows)
        return int(block.source.version.numbers(rows[self._position : self._position + 1])[0])

    @property
    def source(self) -> str | None:
        """The file from which the row was imported, as `Dataset.source` names it."""
        block = self._block
        return block.source.view().sources(block.rows[self._position : self._position + 1])[0]

    def __getitem__(self, name: str) -> Any:
        try:
            return self._values[name]
        except KeyError:
            pass
        value = self._values[name] = self._block.value(name, self._position)
        return value

    def get(self, name: str, default: Any = None) -> Any:
        """Returns a sample, or `default` if no tensor has that name."""
        if name not in self:
            return default
        return self[name]

    def __contains__(self, name: object) -> bool:
        return name in self._block.source.tensors()

    def __iter__(self) -> Iterator[str]:
        return iter(self._block.source.tensors())

    def __len__(self) -> int:
        return len(self._block.source.tensors())

    def __reduce__(self) -> tuple[Any, ...]:
        block = self._block
        return _row, (block.source.select(block.rows[self._position : self._position + 1]),)

    def __repr__(self) -> str:
        try:
            number = f"{self.index}: "
        except UnsupportedError:
            number = ""
        return printable(f"Row({number}{', '.join(self)})")


def about(row: Row, name: str) -> dict[str, Any]:
    """Returns the description of a tensor of a row: its htype, dtype, info and more."""
    return row._block.source.require(name)


def _row(source: Pinned) -> Row:
    return Row(Block(source, range(1)), 0)


def row_at(source: Source, index: int) -> Row:
    """Returns one row of a source."""
    return Row(Block(source.pinned(), range(index, index + 1)), 0)


def rows_at(source: Source, rows: Rows) -> list[Row]:
    """Returns rows in any order; the core reads many of a tensor at a time."""
    block = Block(source.pinned(), rows)
    return [Row(block, position) for position in range(len(rows))]


def rows_of(source: Source) -> Iterator[Row]:
    """Yields the rows as they are now; the core reads many at a time."""
    pinned = source.pinned()
    length = pinned.length()
    for start in range(0, length, _BLOCK_ROWS):
        block = Block(pinned, range(start, min(start + _BLOCK_ROWS, length)))
        for position in range(len(block.rows)):
            yield Row(block, position)


class Block:
    """Rows that are read together, tensor by tensor, as far as they are small enough
    for that.
    """

    __slots__ = ("_read", "rows", "source")

    def __init__(self, source: Pinned, rows: Rows) -> None:
        self.source = source
        self.rows = rows
        self._read: dict[tuple[str, int], list[Any]] = {}

    def value(self, name: str, position: int) -> Any:
        run = self._run(name)
        part = position // run
        values = self._read.get((name, part))
        if values is None:
            wanted = _index.as_array(self.rows[part * run : (part + 1) * run])
            values = self._read[name, part] = self.source.read(wanted, name, "list")
        return sample(values[position - part * run])

    def _run(self, name: str) -> int:
        """Returns how many rows of a tensor to read at once."""
        if len(self.rows) == 1:
            self.source.require(name)
            return 1
        return max(1, min(_BLOCK_ROWS, _BLOCK_BYTES // largest_sample(self.source.require(name))))


def largest_sample(tensor: Mapping[str, Any]) -> int:
    """Returns the bytes that the largest sample of a tensor takes in memory, roughly where it is
    not an array.
    """
    shape = tensor.get("max_shape")
    if shape is None or tensor["dtype"] in (None, "string", "json", "bytes"):
        return 1 << 14
    size = 2 if tensor["dtype"] == "bfloat16" else np.dtype(tensor["dtype"]).itemsize
    return max(1, size * math.prod(int(axis) for axis in shape))


def sample(value: Any) -> Any:
    """Returns a sample as the user gets it: an array without axes becomes a NumPy scalar."""
    if type(value) is np.ndarray and value.ndim == 0:
        return value[()]
    if type(value) is list and any(type(item) is np.ndarray for item in value):  # a sequence, and no json
        return [item[()] if type(item) is np.ndarray and item.ndim == 0 else item for item in value]
    return value
