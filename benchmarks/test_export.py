"""A dataset of photographs into files of other programs, beside the writers of their libraries.

python benchmarks/test_export.py [--full]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import data
import deeplake
import machine
import numpy as np
import report
from protocol import Figure, Line, Result, Spread, Table

ROUNDS = 3
STEP = 500  # rows that a peer reads at once
SHARD = 256 << 20


def measure(full: bool = False) -> Result:
    """Writes 20,000 photographs with labels; short: 4,000. All read them from one dataset."""
    count = 20_000 if full else 4_000
    result = Result("export", "A dataset into files of other programs", ROUNDS, full)
    with tempfile.TemporaryDirectory(dir=data.CACHE) as name:
        place = Path(name) / "ds"
        size = _make(place, count)
        result.notes.append(
            f"{count:,} photographs of {size / count / 1e3:.0f} kB with a label each, in a local dataset. Peers get "
            f"the stored files {STEP} rows at a time by `Tensor.bytes`. All times end behind `os.sync()`."
        )
        for format, peers in WAYS.items():
            ours = f"deeplake, export to {format}"
            ways: dict[str, Callable[[Any, Path], None]] = {ours: _exporter(format), **peers}
            costs: dict[str, list[float]] = {way: [] for way in ways}
            cpu: dict[str, float] = {}
            for number in range(ROUNDS + 1):
                for way, run in ways.items():
                    to = Path(name) / "to"
                    with deeplake.open(place, read_only=True) as ds:
                        os.sync()
                        begin, used = time.perf_counter(), time.process_time()
                        run(ds, to)
                        os.sync()
                    if number:
                        costs[way].append(time.perf_counter() - begin)
                        cpu[way] = time.process_time() - used
                    shutil.rmtree(to)
            table = Table(format, "images/s")
            for way, seconds in costs.items():
                note = f"{cpu[way] / count * 1e3:.3f} CPU-seconds a thousand images"
                table.lines.append(Line(way, Spread.of([count / s for s in seconds]), note=note))
            result.tables.append(table)
            for way in peers:
                ratios = [theirs / mine for theirs, mine in zip(costs[way], costs[ours], strict=True)]
                result.figures.append(Figure(f"export, against {way}", Spread.of(ratios), 1.0))
            command = [sys.executable, __file__, "--peak", str(place), format]
            peak = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            result.figures.append(
                Figure(f"peak memory of export to {format}, MB", Spread.of([peak / 1e6]), 400, "less")
            )
    return result


def _make(place: Path, count: int) -> int:
    """Makes the dataset. Returns the bytes of its images."""
    files = [file.read_bytes() for file in sorted(data.jpegs("photos-q90", 500).folder.rglob("*.jpg"))]
    total = 0
    with deeplake.create(place) as ds:
        ds.create_tensor("images", "image.rgb", compression="jpeg")
        ds.create_tensor("labels", "class_label", class_names=[f"class {i}" for i in range(100)])
        for start in range(0, count, STEP):
            rows = range(start, min(count, start + STEP))
            part = [files[i % len(files)] for i in rows]
            total += sum(map(len, part))
            ds.extend({"images": [deeplake.read(file) for file in part], "labels": np.array(rows) % 100})
        ds.commit("photographs")
    return total


def _exporter(format: str) -> Callable[[Any, Path], None]:
    def run(ds: Any, to: Path) -> None:
        ds.export(to, format=format)

    return run


def _rows(ds: Any) -> Iterator[tuple[int, bytes, int]]:
    """Yields number, file and label of each row."""
    images, labels = ds["images"], ds["labels"].numpy()
    for start in range(0, len(ds), STEP):
        rows = range(start, min(len(ds), start + STEP))
        yield from zip(rows, images.bytes(rows), labels[rows.start : rows.stop].tolist(), strict=True)


def _files(ds: Any, to: Path, is_synced: bool) -> None:
    names = ds["labels"].class_names
    for name in names:
        (to / name).mkdir(parents=True)
    for row, file, label in _rows(ds):
        with (to / names[label] / f"{row:08d}.jpg").open("wb") as out:
            out.write(file)
            if is_synced:
                out.flush()
                os.fsync(out.fileno())


def _plain(ds: Any, to: Path) -> None:
    _files(ds, to, False)


def _synced(ds: Any, to: Path) -> None:
    _files(ds, to, True)


def _webdataset(ds: Any, to: Path) -> None:
    import webdataset  # peers are imported here: their memory is none of ours

    to.mkdir()
    with webdataset.ShardWriter(str(to / "%05d.tar"), maxsize=SHARD, verbose=0) as sink:
        for row, file, label in _rows(ds):
            sink.write({"__key__": f"{row:08d}", "jpg": file, "cls": label})


def _tensorflow(ds: Any, to: Path) -> None:
    import tensorflow as tf  # which takes seconds; the warm-up turn pays for it

    to.mkdir()
    with tf.io.TFRecordWriter(str(to / "00000.tfrecord")) as out:
        for _, file, label in _rows(ds):
            feature = {
                "images": tf.train.Feature(bytes_list=tf.train.BytesList(value=[file])),
                "labels": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
            }
            out.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


def _parquet(ds: Any, to: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    to.mkdir()
    image = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    schema = pa.schema({"images": image, "labels": pa.int64()})
    with pq.ParquetWriter(to / "00000.parquet", schema) as out:
        images, labels = ds["images"], ds["labels"].numpy()
        for start in range(0, len(ds), STEP):
            rows = range(start, min(len(ds), start + STEP))
            structs = [{"bytes": file, "path": None} for file in images.bytes(rows)]
            batch = {"images": pa.array(structs, image), "labels": labels[rows.start : rows.stop]}
            out.write_table(pa.table(batch, schema))


WAYS: dict[str, dict[str, Callable[[Any, Path], None]]] = {
    "folder": {"files with one sync": _plain, "files with fsync of each": _synced},
    "webdataset": {"webdataset.ShardWriter": _webdataset},
    "tfrecord": {"tf.io.TFRecordWriter": _tensorflow},
    "parquet": {"pyarrow.parquet.ParquetWriter": _parquet},
    "mds": {},
    "coco": {},
}


def _peak(place: str, format: str) -> None:
    """Prints the peak memory of a process that writes the set, in bytes."""
    with tempfile.TemporaryDirectory(dir=data.CACHE) as to, deeplake.open(place, read_only=True) as ds:
        ds.export(Path(to) / "to", format=format)
    print(machine.memory()["peak"])


def test_export(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peak"]:
        _peak(sys.argv[2], sys.argv[3])
    else:
        report.main(measure)
