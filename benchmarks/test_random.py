"""Stored bytes of random samples, warm and local, against pread from an open file.

python benchmarks/test_random.py [--full]
"""

from __future__ import annotations

from contextlib import ExitStack

import data
import machine
import report
from protocol import Contender, Entry, Figure, Line, Result, Spread, Table, contenders, faster, race
from readers import MANY

OURS, LIMIT, FILES = "deeplake", "pread of a packed file", "plain files, open + read"
ONE = "deeplake, 1 thread"


def measure(full: bool = False) -> Result:
    """Reads 50 times 2,560 of 20,000 crops; short: 3,000 crops, fewer rounds."""
    result = Result("random", "Random samples as stored, warm", 9 if full else 7, full)
    files = data.jpegs("photos-q75", 20_000 if full else 3_000)
    data.make_lake(files)
    reads = MANY * (200 if full else 60)
    with ExitStack() as stack:
        made = contenders(
            stack,
            {
                name: Contender(name, "readers", factory, name=files.name, count=files.count)
                for name, factory in ((OURS, "Ours"), (LIMIT, "Packed"), (FILES, "Files"))
            },
        )
        wrong = made[OURS].call("verify")["value"]["wrong"]  # warms the page cache, too
        assert not wrong, f"{wrong} samples differ from their files"
        result.checks.append(f"all {files.count:,} samples, alone and {MANY} at once, byte for byte as their files")
        threads = machine.cores()
        many = f"{LIMIT}, {threads} threads"
        made[ONE] = stack.enter_context(
            Contender(ONE, "readers", "Ours", name=files.name, count=files.count, environment={"GOMAXPROCS": "1"})
        )
        made[many] = stack.enter_context(
            Contender(many, "readers", "Packed", name=files.name, count=files.count, threads=threads)
        )
        for call, title, want in (("one_by_one", "one by one", 0.3), ("many", f"{MANY} at once", 0.6)):
            one_by_one = call == "one_by_one"
            entries = {
                name: Entry(one, {"reads": reads, "seed": 5})
                for name, one in made.items()
                if not one_by_one or name not in (ONE, many)
            }
            turns = race(entries, call=call, rounds=result.rounds)
            result.watch(turns)
            totals = {turn.values[0]["bytes"] for turn in turns.values()}
            assert len(totals) == 1, f"contenders read different amounts: {totals}"
            lines = [
                Line(name, Spread.of([reads / s for s in turn.seconds]), cpu=Spread.of(turn.cpu).median / reads * 1e6)
                for name, turn in turns.items()
            ]
            result.tables.append(
                Table(f"{title}, samples of {files.mean_bytes / 1000:.1f} kB", "samples/s", "million", lines)
            )
            # As many threads on both sides. One sample is read by one thread anyway.
            ours = turns[OURS] if one_by_one else turns[ONE]
            result.figures.append(
                Figure(f"random samples {title}: part of pread, 1 thread each", faster(ours, turns[LIMIT]), want)
            )
            if not one_by_one:
                part = faster(turns[OURS], turns[many])
                result.figures.append(
                    Figure(f"random samples {title}: part of pread, {threads} threads each", part, want)
                )
            result.figures.append(
                Figure(f"random samples {title}: times plain files", faster(turns[OURS], turns[FILES]), None)
            )
    return result


def test_random(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
