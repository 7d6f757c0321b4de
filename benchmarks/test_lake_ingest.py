"""Creating a dataset from a bucket, and from very many files.

python benchmarks/test_lake_ingest.py [--full]
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import data
import gobench
import machine
import remote
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
            Figure(
                f"bucket to bucket, {title}: part of both loops at once", Spread.of([r["of-both"] for r in runs]), None
            )
        )
    _memory(result, 100_000 if full else 10_000)
    result.notes.append(
        "Bucket to bucket: one versitygw is source and destination, on the same machine. "
        "An import reads and writes, each bare loop does one of the two: where cores bind them, and not waiting, no "
        "import can reach the slower loop, and both loops at once are what can be reached."
    )
    return result


def _memory(result: Result, count: int) -> None:
    folder, written = data.CACHE / f"many-{count}", data.CACHE / "many.lake"
    if not folder.exists():
        partly = folder.with_suffix(".new")
        shutil.rmtree(partly, ignore_errors=True)
        _link(partly, count)
        partly.rename(folder)
    shutil.rmtree(written, ignore_errors=True)
    _import(result, "a folder", str(written), str(folder), count, {})
    shutil.rmtree(written)
    with remote.Servers("s3") as servers:
        server = servers["s3"]
        source, target = server.bucket(), server.bucket()
        # Its objects are files: links to them are there at once, where uploads would take longer
        # than the import.
        _link(next((data.CACHE / "servers").glob(f"*/**/{source}")), count)
        _import(result, "S3 to S3", f"s3://{target}/set", f"s3://{source}", count, server.environment(direct=True))


def _link(folder: Path, count: int) -> None:
    """Fills a folder with that many names of 3,000 files."""
    files = data.jpegs("photos-q75", 3_000)
    data.say(f"linking {count:,} files")
    for number in range(count):
        source = files.paths[number % files.count]
        target = folder / source.parent.name / f"{number:06d}.jpg"
        if number < files.count:
            target.parent.mkdir(parents=True, exist_ok=True)
        os.link(source, target)


def _import(result: Result, what: str, destination: str, source: str, count: int, environment: dict[str, str]) -> None:
    begin = time.perf_counter()
    command = [*data.deeplake_command(), "create", destination, f"from-{source}", "--json"]
    peak, rows = _peak(command, os.environ | environment)
    seconds = time.perf_counter() - begin
    assert rows == count, f"{rows} rows, want {count}"
    result.checks.append(f"{count:,} files became as many rows, {what}: {count / seconds:,.0f} files/s")
    title = f"memory while ingesting {count:,} files, {what}"
    result.figures.append(Figure(title, Spread.of([peak / 1e6]), 400, "less", "MB"))


def _peak(command: list[str], environment: dict[str, str]) -> tuple[int, int]:
    """Returns the most that the process of a command held, and the rows of the dataset that it made."""
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, env=environment)
        most, over = 0, threading.Event()
        while not over.wait(0.05):
            most = max(most, machine.tree_memory(process.pid))
            if process.poll() is not None:
                over.set()
        assert process.returncode == 0, f"{command} ended with status {process.returncode}"
        out.seek(0)
        rows: int = json.load(out)["rows"]
        return most, rows


def test_lake_ingest(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
