"""`View.plot`: a picture of many rows, which the core draws."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake import _index
from deeplake._errors import InvalidArgumentError
from deeplake._files import write_file

if TYPE_CHECKING:
    from deeplake._rows.source import Pinned

_DEFAULT_ROWS = 60


class Plot:
    """A contact sheet of rows. `View.plot` makes one; a notebook shows it.

    Example:
        ds.plot(range(20)).save("first.png")
    """

    __slots__ = ("_rows", "png")

    def __init__(self, png: bytes, rows: int) -> None:
        self.png = png
        self._rows = rows

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the PNG file.

        Raises:
            NotFoundError: the folder does not exist. It is a FileNotFoundError too.
            StorageError: the file cannot be written.
        """
        write_file("save plot", path, self.png)

    def _repr_png_(self) -> bytes:
        return self.png

    def __repr__(self) -> str:
        return f"Plot of {self._rows:,} rows, {len(self.png):,} bytes of PNG"


def plot(
    source: Pinned, rows: Any, columns: int | None, tensor: str | None, cell: int, path: str | PathLike[str] | None
) -> Plot:
    """Draws rows; `Reading.plot` describes the arguments."""
    for name, value in (("columns", columns), ("cell", cell)):
        if name == "columns" and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise InvalidArgumentError(f"plot: {name} is {value!r}, want an int of at least 1")
    if tensor is not None and (not isinstance(tensor, str) or tensor == ""):
        raise InvalidArgumentError(f"plot: tensor is {tensor!r}, want the name of a tensor")
    picked = _index.parse(slice(_DEFAULT_ROWS) if rows is None else rows, source.length())
    at = np.array([picked], np.int64) if isinstance(picked, int) else _index.as_array(picked)
    options = {"cell": int(cell), "columns": int(columns or 0), "tensor": tensor or ""}
    made = Plot(source.view().plot(at, options), len(at))
    if path is not None:
        made.save(path)
    return made
