"""Epochs over a set of twice the memory on a local disk, cold, against the disk itself.

python benchmarks/test_disk.py [--full]
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import cgroup
import data
import numpy as np
import report
from protocol import Contender, Figure, Line, Result, Spread, Table, Turn

SAMPLE = 110_000  # bytes
BATCH = 128
ORDERS: dict[str, Any] = {"in order": False, "shuffle=True": True, 'shuffle="full"': "full"}
WANT = {"in order": 0.95, "shuffle=True": 0.95}
THREADS = (1, 4, 8)


def measure(full: bool = False) -> Result:
    """Measures 60,000 arrays (6.6 GB) in 3.3 GB of memory; short: 30,000 in 1.65 GB."""
    rows = 60_000 if full else 30_000
    result = Result(
        "disk",
        "Sets of twice the memory on a local disk: arrays of 110 kB, batches of 128",
        rounds=5 if full else 3,
        full=full,
    )
    lake, packed = _lake(rows), _packed(rows)
    limits = {f"the disk, {count} thread{'s' * (count > 1)} past the page cache": count for count in THREADS}
    turns = {name: Turn() for name in [*ORDERS, *limits]}
    with cgroup.MemoryGroup(rows * SAMPLE // 2) as group:
        for number in range(result.rounds):
            names = list(turns)
            shift = number % len(names)
            for name in names[shift:] + names[:shift]:
                cgroup.drop(lake)
                one = (
                    Contender(name, "disk", "Ours", uri=str(lake), batch_size=BATCH, shuffle=ORDERS[name])
                    if name in ORDERS
                    else Contender(
                        name,
                        "disk",
                        "disk_loop",
                        file=str(packed),
                        threads=limits[name],
                        megabytes=2 * rows * SAMPLE // 1_000_000,  # as two epochs: disks deliver faster at first
                    )
                )
                with one:
                    group.add(one.pid)
                    answer = one.call("run", **({"epochs": 2} if name in ORDERS else {}))
                turns[name].add(answer, one.baseline)
                data.say(f"  round {number + 1} {name}: {answer['seconds']:.2f} s, {answer['cpu']:.2f} CPU-s")
    result.watch(turns)
    _tables(result, turns, limits, rows)
    return result


def _tables(result: Result, turns: dict[str, Turn], limits: dict[str, int], rows: int) -> None:
    gigabytes = rows * SAMPLE / 1e9
    lines, rates = [], {}
    for name, turn in turns.items():
        if name in ORDERS:
            for value in turn.values:
                assert value["count"] == 2 * rows, f"{value['count']} rows, want {2 * rows}"
                assert value["sum"] == rows * (rows - 1), "rows are missing or repeated"
            for epoch in range(2):
                rate = [gigabytes / value["each"][epoch] for value in turn.values]
                rates[name, epoch] = rate
                memory = turn.peak if epoch == 0 else None
                cpu = Spread.of(turn.cpu).median / 2 / gigabytes
                lines.append(Line(f"{name}, epoch {epoch + 1}", Spread.of(rate), cpu=cpu, memory=memory))
        else:
            rates[name, 0] = [
                value["count"] / 1e9 / seconds for value, seconds in zip(turn.values, turn.seconds, strict=True)
            ]
            lines.append(Line(name, Spread.of(rates[name, 0])))
    result.tables.append(Table(f"{rows:,} arrays, {gigabytes:.1f} GB, in {gigabytes / 2:.2f} GB", "GB/s", "GB", lines))
    best = max(limits, key=lambda name: statistics.median(rates[name, 0]))
    for name in ORDERS:
        for epoch in range(2):
            parts = [ours / disk for ours, disk in zip(rates[name, epoch], rates[best, 0], strict=True)]
            what = f"{name}, epoch {epoch + 1}: part of {best}"
            result.figures.append(Figure(what, Spread.of(parts), WANT.get(name)))
    result.checks.append("each row once in every epoch, by the sum of their numbers")
    result.notes.append(
        "A control group limits the memory of each process, page cache included. Files are dropped from the cache "
        "before every turn. A turn is a new process with two epochs. Memory is that of the process itself."
    )


def _rows(begin: int, count: int) -> dict[str, Any]:
    generator = np.random.default_rng(begin)
    return {
        "x": generator.integers(0, 256, (count, SAMPLE), dtype=np.uint8),
        "number": np.arange(begin, begin + count),
    }


def _lake(rows: int) -> Path:
    import deeplake

    def build(folder: Path) -> None:
        with deeplake.create(folder) as ds:
            ds.create_tensor("x", dtype="uint8", shape=(SAMPLE,))
            ds.create_tensor("number", dtype="int64")
            for begin in range(0, rows, 500):
                ds.extend(_rows(begin, min(500, rows - begin)))
            ds.commit("arrays")

    return data.dataset(data.CACHE / f"disk-{rows}", build)


def _packed(rows: int) -> Path:
    """Returns one file of as many bytes."""
    path = data.CACHE / f"disk-{rows}.packed"
    if not path.exists():
        partly = path.with_suffix(".new")
        with partly.open("wb") as file:
            for begin in range(0, rows, 500):
                file.write(_rows(begin, min(500, rows - begin))["x"].tobytes())
        partly.rename(path)
    return path


def test_disk(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
