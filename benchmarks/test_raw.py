"""An epoch over an uncompressed uint8 tensor of 250x250x3, shuffled, against copying memory.

python benchmarks/test_raw.py [--full]
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import data
import machine
import numpy as np
import report
from loaders import RING, raw_sample
from protocol import Contender, Entry, Figure, Line, Result, Spread, Table, Turn, contenders, faster, race

SAMPLE = data.SIDE * data.SIDE * 3
BATCH = 256
SEED = 7
OURS, PREAD = "deeplake", "pread of rows into a reused buffer"
MEMCPY, CACHED = "memcpy, memory to memory", "memcpy into a buffer that stays in the cache"


def measure(full: bool = False) -> Result:
    """Measures 20,000 samples (3.75 GB), short 4,000, with one thread and with one for each core."""
    result = Result(
        "raw",
        "Epoch over an uncompressed 250x250x3 uint8 tensor, shuffled",
        7 if full else 5,
        full,
        packages=("torch",),
    )
    rows = 20_000 if full else 4_000
    lake = _lake(rows)
    for threads in sorted({1, machine.cores()}):
        _with_threads(result, lake, rows, threads)
    result.notes.append(
        f"memcpy: each thread copies blocks of 12 MB from 512 MiB of its own (huge pages) into a ring of {RING} MB, as "
        "a loader must that hands batches over, or into one buffer of 12 MB, which stays in the cache. "
        "pread: rows at random places of one file in the page cache, into such a buffer."
    )
    return result


def _with_threads(result: Result, lake: Path, rows: int, threads: int) -> None:
    megabytes = rows * SAMPLE // 1_000_000
    # any file of some hundred megabytes
    packed = data.jpegs("noise-q75", 20_000 if result.full else 3_000).packed
    with ExitStack() as stack:
        made = contenders(
            stack,
            {
                OURS: Contender(
                    OURS, "loaders", "Ours", uri=str(lake), batch_size=BATCH, workers=threads, tensor="arrays"
                ),
                MEMCPY: Contender(MEMCPY, "loaders", "copy_loop", threads=threads, megabytes=megabytes, ring=RING),
                CACHED: Contender(CACHED, "loaders", "copy_loop", threads=threads, megabytes=megabytes),
                PREAD: Contender(
                    PREAD, "loaders", "copy_loop", threads=threads, megabytes=megabytes, file=str(packed), row=SAMPLE
                ),
            },
        )
        turns = race({name: Entry(one) for name, one in made.items()}, rounds=result.rounds)
        result.watch(turns)
        for value in turns[OURS].values:
            assert value["count"] == rows, f"{value['count']} samples, want {rows}"
        for name, turn in turns.items():
            amount = "count"
            # The loops move whole blocks, a little more than requested: seconds for the amount of
            # ours.
            if name != OURS:
                turn.seconds = [
                    seconds * rows * SAMPLE / value[amount]
                    for seconds, value in zip(turn.seconds, turn.values, strict=True)
                ]
        turns[OURS].tree_peak = made[OURS].peak("run")
        if threads == machine.cores():
            found = made[OURS].call("check_raw", rows=rows, seed=SEED)["value"]
            assert found["once"] and not found["wrong"], f"samples differ from what was written: {found}"
            result.checks.append(f"each of {rows:,} samples once, every byte as written")
    word = "thread" if threads == 1 else "threads"
    lines = [_line(name, turn, rows) for name, turn in turns.items()]
    result.tables.append(Table(f"{threads} {word} ({rows:,} samples)", "GB/s", "GB", lines))
    for name in (MEMCPY, CACHED):
        result.figures.append(
            Figure(f"uncompressed, {threads} {word}: part of {name}", faster(turns[OURS], turns[name]), 0.5)
        )
    result.figures.append(
        Figure(f"uncompressed, {threads} {word}: part of pread with as many", faster(turns[OURS], turns[PREAD]), None)
    )


def _line(name: str, turn: Turn, rows: int) -> Line:
    gigabytes = rows * SAMPLE / 1e9
    return Line(
        name,
        Spread.of([gigabytes / seconds for seconds in turn.seconds]),
        cpu=Spread.of(turn.cpu).median / gigabytes,
        memory=turn.tree_peak,
    )


def _lake(rows: int) -> Path:
    import deeplake

    def build(folder: Path) -> None:
        with deeplake.create(folder) as ds:
            ds.create_tensor("arrays", dtype="uint8", shape=(data.SIDE, data.SIDE, 3))
            for start in range(0, rows, 500):
                ds.extend({"arrays": np.stack([raw_sample(row, SEED) for row in range(start, min(start + 500, rows))])})
            ds.commit("arrays")

    return data.dataset(data.CACHE / f"raw-{rows}", build)


def test_raw(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
