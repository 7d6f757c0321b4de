"""Creating a dataset from a bucket, and from very many files.

python benchmarks/test_lake_ingest.py [--full]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

import data
import gobench
import machine
import report
from protocol import Figure, Line, Result, Spread, Table


def measure(full: bool = False) -> Result:
    """Measures bucket to bucket against bare loops, and the memory of an import of 100,000 files (short: 10,000)."""
    result = Result("lake_ingest", "Create a dataset from a bucket", rounds=3 if full else 1, full=full)
    found = gobench.run("./go/tests", "^BenchmarkBucketToBucket$", count=result.rounds, time="1x")
    for name, runs in found.items():
        title = name.replace("_", " ")
        lines = [
            Line(what, Spread.of([run[unit] for run in runs]))
            for what, unit in (
                ("deeplake, verbatim", "import-MB/s"),
                ("bare loop of GET", "get-MB/s"),
                ("bare loop of PUT, 8 MB each", "put-MB/s"),
                ("both bare loops at once", "both-MB/s"),
            )
        ]
        result.tables.append(Table(f"bucket to bucket, {title} an object", "MB/s", lines=lines))
        result.figures.append(
            Figure(
                f"bucket to bucket, {title}: part of the slower loop", Spread.of([r["of-slower"] for r in runs]), 0.8
            )
        )
        result.figures.append(
            Figure(f"bucket to bucket, {title}: part of both loops at once", Spread.of([r["of-both"] for r in runs]), None)
        )
    _memory(result, 100_000 if full else 10_000)
    result.notes.append(
        "Bucket to bucket: one versitygw is source and destination, on the same machine. "
        "An import reads and writes, each bare loop does one of the two: where cores bind them, and not waiting, no "
        "import can reach the slower loop, and both loops at once are what can be reached."
    )
    return result


def _memory(result: Result, count: int) -> None:
    files = data.jpegs("photos-q75", 3_000)
    folder, place = data.CACHE / f"many-{count}", data.CACHE / "many.lake"
    if not folder.exists():
        data.say(f"linking {count:,} files")
        partly = folder.with_suffix(".new")
        shutil.rmtree(partly, ignore_errors=True)
        for number in range(count):
            source = files.paths[number % files.count]
            target = partly / source.parent.name / f"{number:06d}.jpg"
            if number < files.count:
                target.parent.mkdir(parents=True, exist_ok=True)
            os.link(source, target)
        partly.rename(folder)
    shutil.rmtree(place, ignore_errors=True)
    begin = time.perf_counter()
    peak, rows = _peak([*data.deeplake_command(), "create", str(place), f"from-{folder}", "--json"], place)
    seconds = time.perf_counter() - begin
    assert rows == count, f"{rows} rows, want {count}"
    result.checks.append(f"{count:,} files became as many rows, {count / seconds:,.0f} files/s")
    result.figures.append(Figure(f"memory while ingesting {count:,} files", Spread.of([peak / 1e6]), 400, "less", "MB"))
    shutil.rmtree(place)


def _peak(command: list[str], place: Path) -> tuple[int, int]:
    """Returns the most that the process of a command held, and the rows of the dataset that it made."""
    import deeplake

    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    most, over = 0, threading.Event()
    while not over.wait(0.05):
        most = max(most, machine.tree_memory(process.pid))
        if process.poll() is not None:
            over.set()
    assert process.returncode == 0, f"{command} ended with status {process.returncode}"
    return most, len(deeplake.open(place))


def test_lake_ingest(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
