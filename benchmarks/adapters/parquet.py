"""Parquet by pyarrow: a format to write, not one to draw random samples from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from adapters.base import Adapter, Row, thousands


class Parquet(Adapter):
    packages = ("pyarrow.parquet",)

    def write(self, folder: Path, rows: Iterable[Row], count: int) -> None:
        import pyarrow as pa

        schema = pa.schema([("image", pa.binary()), ("label", pa.int64()), ("row", pa.int64())])
        with _writer(folder, schema) as out:
            for some in thousands(rows):
                out.write_table(_table(some, schema))

    def write_arrays(self, folder: Path, arrays: Iterator[npt.NDArray[np.uint8]], count: int) -> None:
        import pyarrow as pa

        schema = pa.schema([("array", pa.binary(1024 * 1024 * 3))])
        with _writer(folder, schema) as out:
            for array in arrays:
                out.write_table(pa.table([pa.array([array.tobytes()], schema.field(0).type)], schema=schema))


def _writer(folder: Path, schema: Any) -> Any:
    from pyarrow import parquet

    # JPEG files and noise do not get smaller; neither does a dictionary help.
    return parquet.ParquetWriter(str(folder / "data.parquet"), schema, compression="none", use_dictionary=False)


def _table(rows: list[Row], schema: Any) -> Any:
    import pyarrow as pa

    columns = zip(*rows, strict=True)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )
