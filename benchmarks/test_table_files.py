"""Files of tables into a dataset: Parquet, Feather and CSV beside pyarrow, JPEG files in Parquet beside plain files.

python benchmarks/test_table_files.py [--full]
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import deeplake
import machine
import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.feather as pf
import pyarrow.parquet as pq
import report
from PIL import Image
from protocol import Figure, Line, Result, Spread, Table
from skimage import data
from test_tables import table_of

ROUNDS = 5
OURS = "deeplake, ingest"
Work = Callable[[Path, Path], None]


def _ours(file: Path, place: Path) -> None:
    deeplake.ingest(file, place / "ds", schema={"kind": "class_label"}, verbose=False).close()


def _pyarrow(file: Path, place: Path) -> None:
    pq.write_table(pq.read_table(file), place / "t.parquet")


def _feather(file: Path, place: Path) -> None:
    pq.write_table(pf.read_table(file), place / "t.parquet")


def _values(file: Path, place: Path) -> None:
    pq.write_table(pc.read_csv(file), place / "t.parquet")


def _images(file: Path, place: Path) -> None:
    deeplake.ingest(file, place / "ds", verbose=False).close()


def _plain(file: Path, place: Path) -> None:
    """Writes each file by itself, and makes all of them durable at once, which is the least cost."""
    number = 0
    for batch in pq.ParquetFile(file).iter_batches(1000, columns=["image"]):
        for value in batch["image"].field("bytes"):
            (place / f"{number}.jpg").write_bytes(value.as_buffer())
            number += 1
    os.sync()


def _each_synced(file: Path, place: Path) -> None:
    number = 0
    for batch in pq.ParquetFile(file).iter_batches(1000, columns=["image"]):
        for value in batch["image"].field("bytes"):
            with (place / f"{number}.jpg").open("wb") as out:
                out.write(value.as_buffer())
                out.flush()
                os.fsync(out.fileno())
            number += 1


def measure(full: bool = False) -> Result:
    """Takes files in; with full one of 2 GB and one of 20,000 pictures."""
    result = Result("table_files", "Files of tables into a dataset", ROUNDS, full)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = 30_000_000 if full else 2_000_000
        file = folder / "numbers.parquet"
        _write_numbers(file, rows)
        way = "pyarrow, read and write Parquet"
        ways: dict[str, Work] = {OURS: _ours, way: _pyarrow}
        result.tables.append(_compare("a Parquet file", file, rows, ways, {way: 0.5}, result))
        rows = min(rows, 10_000_000)
        table = pq.ParquetFile(file).read_row_groups(list(range(rows // 1_000_000)))
        for kind, peer in (("Feather", _feather), ("CSV", _values)):
            file = folder / f"numbers.{kind.lower()}"
            if kind == "CSV":
                pc.write_csv(table, file)
            else:
                pf.write_feather(table, str(file))
            way = f"pyarrow, read {kind} and write Parquet"
            result.tables.append(_compare(f"a {kind} file", file, rows, {OURS: _ours, way: peer}, {way: 0.5}, result))
        del table
        pictures = 20_000 if full else 4_000
        file = folder / "pictures.parquet"
        _write_pictures(file, pictures)
        synced, plain = "pyarrow, plain files, fsync of each", "pyarrow, plain files, one sync"
        ways = {OURS: _images, plain: _plain, synced: _each_synced}
        result.tables.append(_compare("JPEG files in Parquet", file, pictures, ways, {synced: 0.8, plain: 0.8}, result))
    return result


def _write_numbers(file: Path, rows: int) -> None:
    step = 1_000_000
    writer = None
    for start in range(0, rows, step):
        table = table_of(min(step, rows - start))
        table = table.set_column(2, "kind", table["kind"].cast(pa.string()))
        writer = writer or pq.ParquetWriter(file, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def _write_pictures(file: Path, count: int) -> None:
    draw, photo = np.random.default_rng(0), Image.fromarray(data.astronaut())
    files = []
    for _ in range(500):
        left, top = draw.integers(0, 212, 2)
        out = io.BytesIO()
        photo.crop((left, top, left + 300, top + 300)).save(out, "jpeg", quality=85)
        files.append(out.getvalue())
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    values = [{"bytes": files[number % len(files)], "path": f"{number}.jpg"} for number in range(count)]
    table = pa.table({"image": pa.array(values, kind), "label": np.arange(count) % 10})
    pq.write_table(table, file, row_group_size=1000, use_dictionary=False)


def _compare(
    title: str, file: Path, rows: int, ways: dict[str, Work], targets: dict[str, float], result: Result
) -> Table:
    costs: dict[str, list[float]] = {name: [] for name in ways}
    cpu: dict[str, float] = {}
    for number in range(ROUNDS + 1):
        for name, run in ways.items():
            place = file.parent / "into"
            place.mkdir()
            os.sync()
            start, used = time.perf_counter(), time.process_time()
            run(file, place)
            if number:
                costs[name].append(time.perf_counter() - start)
                cpu[name] = time.process_time() - used
            shutil.rmtree(place)
    shown = Table(title, "thousand rows a second")
    for name, seconds in costs.items():
        note = f"{cpu[name] / rows * 1e3:.4f} CPU-seconds a thousand rows"
        shown.lines.append(Line(name, Spread.of([rows / s / 1e3 for s in seconds]), note=note))
    ours = costs[OURS]
    for name, target in targets.items():
        ratios = [theirs / mine for theirs, mine in zip(costs[name], ours, strict=True)]
        result.figures.append(Figure(f"{title}, against {name}", Spread.of(ratios), target))
    command = [sys.executable, __file__, "--peak", str(file)]
    peak = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    result.figures.append(Figure(f"peak memory of ingest, {title}, MB", Spread.of([peak / 1e6]), 1000, better="less"))
    result.notes.append(f"{title}: {file.stat().st_size / 1e6:.0f} MB, {rows:,} rows.")
    return shown


def _peak(file: Path) -> None:
    """Prints the peak memory of a process that takes a file in, in bytes."""
    with tempfile.TemporaryDirectory() as folder:
        deeplake.ingest(file, Path(folder, "ds"), verbose=False)
    print(machine.memory()["peak"])


def test_table_files(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peak"]:
        _peak(Path(sys.argv[2]))
    else:
        report.main(measure)
