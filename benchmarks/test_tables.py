"""Tables of Arrow: into a dataset and out of it, beside pyarrow's Parquet and plain copies.

python benchmarks/test_tables.py [--full]
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deeplake
import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import report
from protocol import Figure, Line, Result, Spread, Table

ROUNDS, BATCH = 5, 1 << 16
WORDS = ["the", "of", "and", "a", "to", "in", "is", "was", "on", "that"]
WORDS += ["with", "from", "road", "house", "river", "small", "green", "under", "winter", "morning"]
SCHEMA = {"id": "generic", "score": "generic", "kind": "class_label", "text": "text"}


def table_of(rows: int) -> Any:
    """Returns numbers, class labels and short captions in batches, as a reader of files gives them."""
    draw = np.random.default_rng(0)
    words = pa.array(WORDS)
    kinds = pa.array([f"kind {n}" for n in range(100)])
    batches = []
    for start in range(0, rows, BATCH):
        n = min(BATCH, rows - start)
        columns = [words.take(pa.array(draw.integers(0, len(WORDS), n))) for _ in range(6)]
        batches.append(pa.record_batch({
            "id": draw.permutation(n) + start,
            "score": draw.normal(size=n),
            "kind": pa.DictionaryArray.from_arrays(draw.integers(0, 100, n).astype(np.int32), kinds),
            "text": pa.compute.binary_join_element_wise(*columns, " "),
        }))  # fmt: skip
    return pa.Table.from_batches(batches)


def _extend(table: Any, folder: Path) -> None:
    with deeplake.create(folder / "ds", schema=SCHEMA) as ds:
        ds.extend(table)
        ds.commit()


def _parquet(compression: str) -> Callable[[Any, Path], None]:
    return lambda table, folder: pq.write_table(table, folder / "t.parquet", compression=compression)


WAYS: dict[str, Callable[[Any, Path], None]] = {
    "deeplake, extend and commit": _extend,
    "pyarrow, Parquet with Snappy": _parquet("snappy"),
    "pyarrow, Parquet with Zstandard": _parquet("zstd"),
    "pyarrow, Parquet uncompressed": _parquet("none"),
}


def measure(full: bool = False) -> Result:
    """Writes and reads a table; with full of ten million rows."""
    rows = 10_000_000 if full else 1_000_000
    result = Result("tables", f"Tables of Arrow: {rows:,} rows", ROUNDS, full)
    table = table_of(rows)
    with tempfile.TemporaryDirectory() as folder:
        result.tables.append(_into(table, Path(folder), result))
        result.tables.append(_out(table, Path(folder), result))
    result.notes.append(
        f"An id, a float64, one of 100 labels and six words a row, {table.nbytes / rows:.0f} bytes in Arrow. Default "
        "compressions: ours are Zstandard for texts and shuffled bytes for labels."
    )
    return result


def _into(table: Any, folder: Path, result: Result) -> Table:
    costs: dict[str, list[float]] = {name: [] for name in WAYS}
    cpu: dict[str, float] = {}
    sizes: dict[str, float] = {}
    for number in range(ROUNDS + 1):
        for name, write in WAYS.items():
            place = folder / "into"
            place.mkdir()
            start, used = time.perf_counter(), time.process_time()
            write(table, place)
            if number:
                costs[name].append(time.perf_counter() - start)
                cpu[name] = time.process_time() - used
            sizes[name] = sum(file.stat().st_size for file in place.rglob("*") if file.is_file()) / 1e6
            shutil.rmtree(place)
    shown = Table("into a dataset", "million rows a second")
    for name, seconds in costs.items():
        note = f"{cpu[name] / len(table) * 1e6:.3f} CPU-seconds a million rows, {sizes[name]:.0f} MB"
        shown.lines.append(Line(name, Spread.of([len(table) / s / 1e6 for s in seconds]), note=note))
    ours = costs["deeplake, extend and commit"]
    for name, target in (("pyarrow, Parquet with Snappy", 1.0), ("pyarrow, Parquet uncompressed", 0.5)):
        ratios = [a / b for a, b in zip(costs[name], ours, strict=True)]
        result.figures.append(Figure(f"into a dataset, against {name}", Spread.of(ratios), target))
    command = [sys.executable, __file__, "--peak", str(len(table))]
    before, after = map(int, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    result.figures.append(
        Figure("memory beside the table, MB", Spread.of([(after - before) / 1e3]), 200, better="less")
    )
    return shown


def _out(table: Any, folder: Path, result: Result) -> Table:
    """Reads five scalars of each row as a stream, beside a copy of their bytes."""
    rows = len(table)
    numbers = {name: np.arange(rows, dtype=np.int64) + k for k, name in enumerate("abcde")}
    ds = deeplake.create(folder / "out")
    ds.extend(pa.table(numbers))
    ds.commit()
    plain = pa.table(numbers)
    work: dict[str, Callable[[], Any]] = {
        "deeplake, a stream of record batches": lambda: sum(len(batch) for batch in ds.to_arrow_reader()),
        "NumPy, a copy of the bytes": lambda: [column.copy() for column in numbers.values()],
        "DuckDB, a sum over the dataset": lambda: _summed(ds),
        "DuckDB, a sum over the table of Arrow": lambda: _summed(plain),
    }
    costs: dict[str, list[float]] = {name: [] for name in work}
    for number in range(ROUNDS + 1):
        for name, run in work.items():
            start = time.perf_counter()
            run()
            if number:
                costs[name].append(time.perf_counter() - start)
    shown = Table("out of a dataset, five int64 a row", "million rows a second")
    for name, seconds in costs.items():
        shown.lines.append(Line(name, Spread.of([rows / s / 1e6 for s in seconds])))
    reader, copy, ours, theirs = costs.values()
    ratios = [a / b for a, b in zip(copy, reader, strict=True)]
    result.figures.append(Figure("a stream of the rows, against a copy of their bytes", Spread.of(ratios), 0.5))
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    figure = Figure("DuckDB over the dataset, times over the table", Spread.of(ratios), 1.5, better="less")
    result.figures.append(figure)
    assert plain.num_rows == len(ds)
    return shown


def _summed(source: Any) -> Any:
    return duckdb.sql("SELECT sum(a), sum(e) FROM source").fetchall()  # by the name of the argument


def _peak(rows: int) -> None:
    """Prints the memory of the process before and after a table is appended, in kB: its peak."""
    table = table_of(rows)
    with tempfile.TemporaryDirectory() as folder:
        _extend(table.slice(0, 1000), Path(folder, "warm"))
        before = _status("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")
        _extend(table, Path(folder))
        print(before, _status("VmHWM"))


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def test_tables(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peak"]:
        _peak(int(sys.argv[2]))
    else:
        report.main(measure)
