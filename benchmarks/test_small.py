"""Records of 4 KB, a small JPEG with the tokens of a caption, without a model: what the loader costs for each of them.

python benchmarks/test_small.py [--full]
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import data
import machine
import records
import report
from protocol import Contender, Entry, Figure, Line, Result, Spread, Table, Turn, contenders, faster, race, thriftier

BATCH = 256
FILES, ONE, PIXELS, LIMIT = "deeplake, files", "deeplake, files, on one core", "deeplake, pixels", "libjpeg-turbo in C"


def measure(full: bool = False) -> Result:
    """Measures 20,000 records; short: 5,000."""
    result = Result(
        "small",
        "Epochs over records of a JPEG of 112x112 and 77 tokens, shuffled torch batches of 256",
        rounds=5 if full else 3,
        full=full,
        packages=("torch",),
    )
    files, threads = data.jpegs("tiny-q90", 20_000 if full else 5_000), machine.cores()
    epochs = {FILES: 10, ONE: 5, PIXELS: 2, LIMIT: 2} if full else {FILES: 6, ONE: 6, PIXELS: 2, LIMIT: 2}
    shared: dict[str, Any] = {"uri": str(records.make_pairs(files)), "batch_size": BATCH}
    with ExitStack() as stack:
        made = contenders(
            stack,
            {
                FILES: Contender(FILES, "records", "Pairs", **shared, workers=threads, decode=False),
                ONE: Contender(ONE, "records", "Pairs", **shared, workers=1, decode=False, one_core=True),
                PIXELS: Contender(PIXELS, "records", "Pairs", **shared, workers=threads, decode=True),
                LIMIT: Contender(LIMIT, "records", "Limit", name=files.name, count=files.count, threads=threads),
            },
        )
        turns = race({name: Entry(one, {"epochs": epochs[name]}) for name, one in made.items()}, rounds=result.rounds)
        result.watch(turns)
        for name, turn in turns.items():
            if any(value["count"] != files.count * epochs[name] for value in turn.values):
                raise AssertionError(f"{name} delivered {turn.values} records, want {files.count * epochs[name]}")
        for name in (FILES, PIXELS):
            found = made[name].call("check", name=files.name, count=files.count)["value"]
            assert found["once"] and not found["differ"], f"{name}: {found}"
            result.checks.append(f"{name}: each record once, every byte, pixel and token right")
    _report(result, files, turns, epochs)
    return result


def _report(result: Result, files: data.JpegSet, turns: dict[str, Turn], epochs: dict[str, int]) -> None:
    lines = [
        Line(
            name,
            Spread.of([files.count * epochs[name] / seconds for seconds in turn.seconds]),
            cpu=Spread.of(turn.cpu).median / (files.count * epochs[name]) * 1000,
            note=f"{1 if name == ONE else machine.cores()} threads",
        )
        for name, turn in turns.items()
    ]
    size = files.mean_bytes + 4 * records.TOKENS
    result.tables.append(
        Table(f"records of {size / 1000:.1f} kB ({files.count:,} of them)", "records/s", "1,000", lines)
    )
    alone = Spread.of([files.count * epochs[ONE] / seconds for seconds in turns[ONE].seconds])
    spent = Spread.of([files.count * epochs[FILES] / cpu for cpu in turns[FILES].cpu])
    result.figures += [
        Figure("small records, files: records a second on one core, everything on it", alone, 100_000),
        Figure("small records, files: records for each CPU-second, all cores", spent, None),
        Figure("small records, pixels: part of the decoder's limit", faster(turns[PIXELS], turns[LIMIT]), 0.9),
        Figure(
            "small records, pixels: the limit's CPU time as a part of ours",
            thriftier(turns[PIXELS], turns[LIMIT]),
            None,
        ),
    ]
    result.notes.append(
        "On one core: the process, its planner, its reading thread and the loop share a single core. Files come as one "
        "block of bytes for a batch and are looked at one by one only by who wants one. The limit decodes the pictures "
        "from memory, into one small buffer a thread; it reads no file, has no captions and delivers nothing."
    )


def test_small(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
