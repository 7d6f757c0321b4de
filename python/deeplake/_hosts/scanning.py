"""Rows for query engines, which name the columns and rows that they need before these are read."""

from __future__ import annotations

import functools
import importlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from deeplake._errors import UnsupportedError
from deeplake._lazy import package
from deeplake._rows import arrow

if TYPE_CHECKING:
    from deeplake._data.view import View

# Of the rows, at most: reading more of them one by one costs as much as reading all.
_PART = 1 / 8

# A condition of pyarrow as it prints them: a column, an operator, and an integer or a text.
_CONDITION = re.compile(r'(\w+) (==|!=|<=|>=|<|>) (-?\d{1,18}|"[\w .:/@+-]*")')
_OPERATORS = {"==": "=", "!=": "<>"}


def to_pyarrow_dataset(view: View, tensors: Sequence[str] | None) -> Any:
    """Returns the rows as a `pyarrow.dataset.Dataset`."""
    package("convert to pyarrow", "pyarrow.dataset", "pip install pyarrow")
    return _dataset_class()(view, tensors)


def to_lazy_frame(view: View, tensors: Sequence[str] | None) -> Any:
    """Returns the rows as a `polars.LazyFrame`."""
    pl = package("convert to polars", "polars", "pip install polars")
    plugins = package("convert to polars", "polars.io.plugins", "pip install polars")
    names = arrow.names_of(view._source.pinned(), tensors)
    for name in names:
        view._source.require(name)

    def scan(with_columns: Any, predicate: Any, n_rows: Any, batch_size: Any) -> Iterator[Any]:
        left = len(view) if n_rows is None else n_rows
        wanted = names if with_columns is None else list(with_columns)
        rows = view if left >= len(view) else view[:left]
        reader = arrow.to_arrow_reader(rows._source.pinned(), wanted, "encoded", batch_size or arrow.BATCH_ROWS)
        for batch in reader:
            frame = pl.from_arrow(batch)
            yield frame if predicate is None else frame.filter(predicate)

    def schema() -> Any:
        empty = arrow.to_arrow(view[:0]._source.pinned(), names, "encoded")
        return pl.from_arrow(empty).schema

    return plugins.register_io_source(scan, schema=schema, is_pure=True)


def conditions(text: str, kinds: dict[str, str]) -> list[str]:
    """Returns conditions of TQL that every row meets which meets a filter of pyarrow, printed as
    text. `kinds` has the columns that may be named, and whether each holds an "int" or a "text".
    """
    while text.startswith("(") and _closing(text) == len(text) - 1:
        text = text[1:-1]
        if text.startswith("("):
            end = _closing(text)
            rest = text[end + 1 :]
            if rest.startswith(" and "):
                return conditions(text[: end + 1], kinds) + conditions(rest[len(" and ") :], kinds)
    found = _CONDITION.fullmatch(text)
    if found is None:
        return []
    name, operator, value = found.groups()
    if kinds.get(name) != ("text" if value.startswith('"') else "int"):
        return []
    if value.startswith('"'):
        value = f"'{value[1:-1]}'"
    return [f'"{name}" {_OPERATORS.get(operator, operator)} {value}']


def _closing(text: str) -> int:
    """Returns where the bracket closes that text begins with, -1 for nowhere."""
    depth, quoted, at = 0, False, 0
    while at < len(text):
        char = text[at]
        if quoted:
            at += char == "\\"
            quoted = char != '"'
        elif char == '"':
            quoted = True
        else:
            depth += (char == "(") - (char == ")")
            if depth == 0:
                return at
        at += 1
    return -1


@functools.cache
def _dataset_class() -> Any:
    pads: Any = importlib.import_module("pyarrow.dataset")
    files: Any = importlib.import_module("pyarrow.fs")

    class Rows(pads.UnionDataset):
        """The rows of a view. Columns that no query names are not read."""

        def __init__(self, view: View, tensors: Sequence[str] | None) -> None:
            self._view = view
            self._names = arrow.names_of(view._source.pinned(), tensors)
            self._schema = arrow.to_arrow(view[:0]._source.pinned(), self._names, "encoded").schema
            # Functions of C++ read what pyarrow holds itself: a missing file of this name.
            place, form = files.SubTreeFileSystem(os.devnull, files.LocalFileSystem()), pads.IpcFileFormat()
            missing = form.make_fragment("rows of Deep Lake: call scanner() or to_table()", place)
            super().__init__(self._schema, [pads.FileSystemDataset([missing], self._schema, form, place)])

        def __reduce__(self) -> Any:
            return to_pyarrow_dataset, (self._view, self._names)

        @property
        def schema(self) -> Any:
            return self._schema

        def scanner(
            self, columns: Any = None, filter: Any = None, batch_size: int = arrow.BATCH_ROWS, **options: Any
        ) -> Any:
            """Returns a scanner of some columns, and of the rows that a filter keeps."""
            rows, names = self._view, self._names
            said = "" if filter is None else str(filter)
            if isinstance(columns, dict):
                said += " ".join(map(str, columns.values()))
            if columns is not None:
                plain = set() if isinstance(columns, dict) else set(columns)
                names = [name for name in self._names if name in plain or name in said]
            if filter is not None:
                rows = self._kept(said)
            reader = arrow.to_arrow_reader(rows._source.pinned(), names, "encoded", batch_size)
            known = {name: options[name] for name in ("use_threads", "memory_pool") if name in options}
            return pads.Scanner.from_batches(reader, columns=columns, filter=filter, batch_size=batch_size, **known)

        def _kept(self, filter: str) -> View:
            """Returns the rows that meet conditions of a filter, if they are few; else all."""
            kinds = {}
            for field in self._schema:
                kind = str(field.type)
                if kind == "large_string" and self._view[field.name].htype == "text":
                    kinds[field.name] = "text"
                elif kind.lstrip("u").startswith("int"):
                    kinds[field.name] = "int"
            where = conditions(filter, kinds)
            if not where:
                return self._view
            kept = self._view.query("SELECT * WHERE " + " AND ".join(where))
            return kept if len(kept) <= len(self._view) * _PART else self._view

        def to_table(self, columns: Any = None, filter: Any = None, **options: Any) -> Any:
            return self.scanner(columns, filter, **options).to_table()

        def to_batches(self, columns: Any = None, filter: Any = None, **options: Any) -> Any:
            return self.scanner(columns, filter, **options).to_batches()

        def head(self, num_rows: int, columns: Any = None, filter: Any = None, **options: Any) -> Any:
            return self.scanner(columns, filter, **options).head(num_rows)

        def count_rows(self, filter: Any = None, **options: Any) -> int:
            if filter is None:
                return len(self._view)
            return int(self.scanner([], filter, **options).count_rows())

        def take(self, indices: Any, columns: Any = None, filter: Any = None, **options: Any) -> Any:
            rows = [int(i) for i in indices]
            if filter is not None:
                return self.scanner(columns, filter, **options).take(rows)
            return type(self)(self._view[rows], self._names).scanner(columns, **options).to_table()

    def refuse(name: str) -> Callable[..., Any]:
        def refused(self: Any, *args: Any, **options: Any) -> Any:
            raise UnsupportedError(f"{name} of a pyarrow dataset: rows of Deep Lake have none; use to_table()")

        return refused

    for name in dir(pads.UnionDataset):
        if not name.startswith("_") and name not in vars(Rows):
            method = callable(getattr(pads.UnionDataset, name))
            setattr(Rows, name, refuse(name) if method else property(refuse(name)))
    return Rows
