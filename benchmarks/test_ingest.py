"""`deeplake create` from a folder of JPEG files, start of the process included, against tar and `cp -r`, synced.

python benchmarks/test_ingest.py [--full]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import data
import numpy as np
import report
from protocol import Contender, Entry, Figure, Line, Result, Spread, Table, faster, race

OURS, TAR, COPY = "deeplake create", "tar + fsync", "cp -r + sync"


class Command:
    """Shell commands that fill a folder from another."""

    def __init__(self, commands: list[list[str]], folder: str) -> None:
        self._commands, self._folder = commands, Path(folder)

    def remove(self) -> dict[str, Any]:
        """Removes the files of the last round, and waits until the disk has nothing left to write."""
        shutil.rmtree(self._folder, ignore_errors=True)
        os.sync()
        return {}

    def run(self) -> dict[str, Any]:
        before = os.times()
        begin = time.perf_counter()
        for command in self._commands:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        return {"seconds": time.perf_counter() - begin, "cpu": cpu}


def measure(full: bool = False) -> Result:
    """Takes 20,000 noise images and as many crops of photographs; short: 3,000."""
    result = Result("ingest", "Verbatim ingest of JPEG files by the command line", 7 if full else 5, full)
    for name in ("noise-q75", "photos-q75"):
        _one_set(result, data.jpegs(name, 20_000 if full else 3_000))
    result.notes.append(
        "`sync -f` follows `cp -r` and waits for the file system of the target. `cp -r` makes a file for each that it "
        "copies, and most of its time is theirs. `tar` writes the same bytes into one file; fsync of it and of its "
        "folder follows. The files to read are in the page cache. Each turn begins with nothing written and a synced "
        "disk."
    )
    return result


def _one_set(result: Result, files: data.JpegSet) -> None:
    folder = data.CACHE / "write"
    folder.mkdir(parents=True, exist_ok=True)
    lake, copy, packed = folder / "lake", folder / "copy", folder / "packed"
    ours = [[*data.deeplake_command(), "create", str(lake), f"from-{files.folder}"]]
    copied = [["cp", "-r", str(files.folder), str(copy)], ["sync", "-f", str(copy)]]
    archive = packed / "files.tar"
    tarred = [
        ["mkdir", str(packed)],
        ["tar", "-cf", str(archive), "-C", str(files.folder), "."],
        ["sync", str(archive), str(packed)],
    ]
    with (
        Contender(OURS, "test_ingest", "Command", commands=ours, folder=str(lake)) as one,
        Contender(TAR, "test_ingest", "Command", commands=tarred, folder=str(packed)) as tar,
        Contender(COPY, "test_ingest", "Command", commands=copied, folder=str(copy)) as other,
    ):
        entries = {OURS: Entry(one), TAR: Entry(tar), COPY: Entry(other)}
        clear = _all(one, tar, other)
        turns = race(entries, rounds=result.rounds, before=clear)
        result.watch(turns)
        clear()
        one.call("run")
        _verify(lake, files)
        result.checks.append(f"{files.name}: 300 random rows hold the bytes of their files, labels right")
        one.call("remove")
    megabytes = float(files.extents[:, 1].sum()) / 1e6
    lines = [
        Line(
            name,
            Spread.of([files.count / seconds for seconds in turn.seconds]),
            cpu=Spread.of(turn.cpu).median / files.count * 1000,
            note=f"{megabytes / Spread.of(turn.seconds).median:,.0f} MB/s",
        )
        for name, turn in turns.items()
    ]
    result.tables.append(Table(f"{files.name} ({files.count:,} files, {megabytes:,.0f} MB)", "files/s", "1,000", lines))
    for name, want in ((TAR, None), (COPY, 1.2)):
        result.figures.append(Figure(f"ingest of {files.name}: times {name}", faster(turns[OURS], turns[name]), want))


def _all(*writers: Contender) -> Callable[[], None]:
    def clear() -> None:
        for one in writers:
            one.call("remove")

    return clear


def _verify(lake: Path, files: data.JpegSet) -> None:
    import deeplake

    with deeplake.open(lake) as ds:
        assert len(ds) == files.count, f"{len(ds)} rows, want {files.count}"
        rows = np.random.default_rng(4).integers(0, files.count, 300)
        stored, labels = ds["images"].bytes(rows), ds["labels"].numpy(rows)
        for row, data_, label in zip(rows, stored, labels, strict=True):
            assert data_ == files.paths[row].read_bytes(), f"row {row} does not hold the bytes of its file"
            assert int(np.asarray(label).reshape(())) == files.labels[row], f"row {row} has another label"


def test_ingest(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
