"""`make bench-cores`: an epoch on 1, 2, 4, 8 and 16 cores, ours beside the fastest other loaders.

python benchmarks/cores.py [--images N] [--rounds N] [--threads N]... [--turn SECONDS]

Every contender runs on the first N cores with N threads or workers. Counts beyond the cores of the machine are left
out; asked for by --threads, they are refused. The result goes to benchmarks/results, or to build/bench/results where
it has fewer than 20,000 images.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import data
import environments
import machine
import report
import suite_epoch
from protocol import Contender, ContenderError, Entry, Figure, Line, Result, Spread, Table, Turn, faster, race
from roster import ENTRANTS, Entrant
from suite import LIMIT, OUR, OURS, SCRATCH, contender, machine_free

COUNTS = (1, 2, 4, 8, 16)
SET, FULL = "photos-q75", 20_000
OTHERS = ("torch + OpenCV", "FFCV", "tf.data")


def main() -> int:
    parser = argparse.ArgumentParser(description="an epoch on more and more cores")
    parser.add_argument("--images", type=int, default=FULL)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, action="append", help=f"only so many, of {COUNTS}")
    parser.add_argument("--turn", type=float, default=suite_epoch.TURN, help="seconds that a turn takes at least")
    arguments = parser.parse_args()
    here = machine.cores()
    over = [count for count in arguments.threads or () if count > here]
    if over:
        parser.error(f"{over[0]} threads need as many cores, and this machine has {here}")
    counts = [count for count in arguments.threads or COUNTS if count <= here]
    for result in measure(data.jpegs(SET, arguments.images), counts, arguments.rounds, arguments.turn):
        folder = report.save(result)  # after each count: a run that is killed keeps its results
    print(report.text(result.as_json()))
    print(f"written to {folder / 'README.md'}", file=sys.stderr)
    return 0


def measure(files: data.JpegSet, counts: list[int], rounds: int, least: float) -> Iterator[Result]:
    """Measures an epoch with each count of threads. Yields the result after each."""
    result = Result(
        "cores",
        f"Epoch on more cores: {files.name}, {files.count:,} images of {files.mean_bytes / 1000:.1f} kB",
        rounds,
        files.count >= FULL,
        packages=("torch", "opencv-python-headless", "tensorflow-cpu"),
    )
    left_out = [count for count in COUNTS if count > machine.cores()]
    if left_out:
        counts_left = ", ".join(map(str, left_out))
        result.notes.append(f"Left out: {counts_left} threads, since the machine has {machine.cores()} cores.")
    result.notes.append(
        f"Shuffled uint8 torch batches of {suite_epoch.BATCH}, whole images. Each contender runs on the first cores "
        "alone, with as many threads or workers. The limit decodes from memory and delivers nothing."
    )
    first: Turn | None = None
    for count in counts:
        shutil.rmtree(SCRATCH, ignore_errors=True)
        SCRATCH.mkdir(parents=True)
        try:
            ours = _one(result, files, count, rounds, least)
        finally:
            shutil.rmtree(SCRATCH, ignore_errors=True)
        if first is None:
            first = ours
        elif counts[0] == 1:
            gain = Spread.of([one / more for one, more in zip(first.seconds, ours.seconds, strict=True)])
            result.figures.append(Figure(f"{count} threads: times the rate of one", gain, None))
        yield result


def _one(result: Result, files: data.JpegSet, threads: int, rounds: int, least: float) -> Turn:
    data.say(f"==== {threads} threads")
    word = "thread" if threads == 1 else "threads"
    with ExitStack() as stack:
        entries = {
            LIMIT: Entry(
                stack.enter_context(
                    Contender(
                        LIMIT,
                        "loaders",
                        "jpeg_loop",
                        environment=_pinned(threads),
                        name=files.name,
                        count=files.count,
                        threads=threads,
                    )
                )
            )
        }
        for entrant in (OUR, *(one for one in ENTRANTS if one.name in OTHERS)):
            try:
                peer = _made(stack, entrant, files, threads)
            except (ContenderError, environments.MissingError) as error:
                if entrant is OUR:
                    raise
                reason = machine_free(str(error).strip().splitlines()[-1])
                result.notes.append(f"{threads} {word}: without {entrant.name}: {reason}")
                continue
            entries[entrant.name] = Entry(peer, {"workers": threads, "least": least if result.full else 0.0})
        turns = race(entries, rounds=rounds)
    result.watch(turns)
    for name, turn in turns.items():
        if name != LIMIT:
            suite_epoch.per_epoch(turn, files.count)
    lines = [
        Line(
            name,
            Spread.of([files.count / seconds for seconds in turn.seconds]),
            cpu=statistics.median(turn.cpu) / files.count * 1000,
        )
        for name, turn in turns.items()
    ]
    result.tables.append(Table(f"{threads} {word}", "images/s", "1,000", lines))
    ours = turns[OURS]
    result.figures.append(Figure(f"{threads} {word}: part of {LIMIT}", faster(ours, turns[LIMIT]), None))
    others = [name for name in turns if name not in (OURS, LIMIT)]
    if others:
        best = min(others, key=lambda name: statistics.median(turns[name].seconds))
        result.figures.append(
            Figure(f"{threads} {word}: times the best other ({best})", faster(ours, turns[best]), None)
        )
    return ours


def _made(stack: ExitStack, entrant: Entrant, files: data.JpegSet, threads: int) -> Contender:
    folder = files.folder if entrant.reads_files else SCRATCH / entrant.factory
    options: dict[str, Any] = {"name": files.name, "count": files.count, "batch_size": suite_epoch.BATCH}
    peer = stack.enter_context(contender(entrant, "Peer", _pinned(threads), uri=str(folder), **options))
    if not entrant.reads_files:
        peer.call("write")
    return peer


def _pinned(threads: int) -> dict[str, str]:
    return {"DEEPLAKE_BENCH_CORES": str(threads)}


if __name__ == "__main__":
    sys.exit(main())
