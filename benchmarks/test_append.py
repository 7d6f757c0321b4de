"""Appending arrays of 1024x1024x3 one by one until they are durable, against TensorStore and a plain file.

python benchmarks/test_append.py [--full]
"""

from __future__ import annotations

from contextlib import ExitStack

import data
import report
from protocol import Contender, Entry, Figure, Line, Result, Spread, Table, contenders, faster, race

OURS, STORE, PLAIN = "deeplake", "TensorStore, Zarr", "plain write + fsync"


def measure(full: bool = False) -> Result:
    """Writes 1,000 arrays (3.1 GB) a round; short: 150."""
    count = 1_000 if full else 150
    result = Result(
        "append", "Serial append of 1024x1024x3 uint8 arrays until commit", 5, full, packages=("tensorstore",)
    )
    (data.CACHE / "write").mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        made = contenders(
            stack,
            {
                name: Contender(name, "writers", factory, folder=str(data.CACHE / "write" / factory.lower()))
                for name, factory in ((OURS, "Ours"), (STORE, "TensorStore"), (PLAIN, "Plain"))
            },
        )
        for one in made.values():
            one.call("prepare")

        def clear() -> None:
            for one in made.values():
                one.call("remove")

        turns = race(
            {name: Entry(one, {"count": count}) for name, one in made.items()}, rounds=result.rounds, before=clear
        )
        result.watch(turns)
        clear()
        for name, one in made.items():
            one.call("run", count=count)
            wrong = one.call("verify", count=count)["value"]["wrong"]
            assert not wrong, f"{name}: {wrong} of 100 arrays read back differ"
            one.call("remove")
    result.checks.append("100 random arrays of each contender read back, every byte as written")
    gigabytes = count * 3 * 1024 * 1024 / 1e9
    lines = [
        Line(
            name,
            Spread.of([gigabytes / seconds for seconds in turn.seconds]),
            cpu=Spread.of(turn.cpu).median / gigabytes,
            memory=turn.peak,
        )
        for name, turn in turns.items()
    ]
    result.tables.append(Table(f"{count:,} arrays, {gigabytes:.1f} GB", "GB/s", "GB", lines))
    result.figures.append(Figure("serial append: times TensorStore", faster(turns[OURS], turns[STORE]), 1.0))
    result.figures.append(Figure("serial append: times plain write + fsync", faster(turns[OURS], turns[PLAIN]), None))
    result.notes.append(
        "Measured from creating the dataset to the end of commit (deeplake), of the last write and the sync of the "
        "folder (TensorStore, 16 writes in flight, which syncs each file), of fsync (plain). Before each turn what was "
        "written is removed and the disk synced."
    )
    result.notes.append("Memory is over the imports; 201 MB of it are the arrays to write.")
    return result


def test_append(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
