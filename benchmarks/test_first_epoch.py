"""First epochs from an object store against a local disk, the loader and the servers on cores of their own.

The store answers after 25 ms and gives 90 MB/s to a connection. Each epoch opens the dataset anew, so that its first
batch and all index pages count. python benchmarks/test_first_epoch.py [--full]
"""

from __future__ import annotations

import os
import statistics
from contextlib import ExitStack

import data
import machine
import report
from protocol import Contender, Entry, Figure, Line, Result, Spread, Table, contenders, faster, race
from remote import Servers
from test_epoch import BATCH, TITLES

LOCAL, REMOTE = "deeplake, local disk", "deeplake, S3"
# What an epoch from S3 should reach of the local rate.
WANTED = {"noise-q75": 0.93, "photos-q75": 0.96}


def measure(full: bool = False) -> Result:
    """Reads epochs of each set with one decode thread on a core of its own, from both places in turns."""
    import deeplake

    result = Result(
        "first_epoch",
        "First epochs from S3 (25 ms, 90 MB/s a connection), the loader and the servers on cores of their own",
        9 if full else 3,
        full,
        packages=("torch",),
    )
    if machine.cores() < 2:
        raise SystemExit("the loader and the servers need a core each")
    last = max(os.sched_getaffinity(0))
    for name, wanted in WANTED.items():
        files = data.jpegs(name, 20_000 if full else 3_000)
        lake, title = str(data.make_lake(files)), TITLES[name]
        with ExitStack() as stack:
            servers = stack.enter_context(Servers("s3", core=last))
            store = servers["s3"]
            uri = f"s3://{store.bucket()}/lake"
            deeplake.copy(lake, uri, dst_storage=deeplake.Storage(**store.settings(direct=True)))
            shared = {"batch_size": BATCH, "workers": 1, "environment": {"DEEPLAKE_BENCH_CORES": "1"}}
            made = {
                LOCAL: Contender(LOCAL, "loaders", "Ours", uri=lake, **shared),
                REMOTE: Contender(REMOTE, "loaders", "Ours", uri=uri, storage=store.settings(), **shared),
            }
            contenders(stack, made)
            turns = race({name: Entry(one) for name, one in made.items()}, call="anew", rounds=result.rounds)
        result.watch({LOCAL: turns[LOCAL]})
        assert all(value["count"] == files.count for turn in turns.values() for value in turn.values)
        lines = [
            Line(
                place,
                Spread.of([files.count / seconds for seconds in turn.seconds]),
                statistics.median(turn.cpu) / files.count * 1000,
                note=f"first batch {statistics.median(value['first'] for value in turn.values):.2f} s",
            )
            for place, turn in turns.items()
        ]
        result.tables.append(Table(f"{title} ({files.count:,} images), one core", "images/s", "1,000", lines))
        figure = Figure(
            f"{title}: first epoch from S3, part of the local rate", faster(turns[REMOTE], turns[LOCAL]), wanted
        )
        result.figures.append(figure)
    result.notes.append(
        "An epoch from S3 begins with five requests in sequence of 25 ms each. It also brings its bytes into memory "
        "that is new to the process: a machine that gives free memory back to its host takes up to 2 s for a GB of it, "
        "else 0.1 to 0.4 s."
    )
    return result


def test_first_epoch(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
