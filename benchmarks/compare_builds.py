"""Two builds of this library, alternating: python benchmarks/compare_builds.py FOLDER [--rounds N] [name...]

FOLDER is another checkout in which `make build` has run. If it cannot read what this build writes, let it write the
datasets: set PYTHONPATH=FOLDER/python. Both builds run the contenders of this checkout, in processes
of their own, on the same datasets. The ratio is the other build's time over ours within a round, above 1 where ours is
faster. The other build takes part twice: the ratio of its two processes is the noise. Writes
benchmarks/results/builds.md.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import data
import machine
import query_data
import records
import report
from protocol import Contender, Entry, Spread, Turn, faster, intervals, race, thriftier
from test_query import GROUPS, ONE, ROWS, TOP

ROWS_OF_NUMBERS, VECTORS, IMAGES = 10_000_000, 300_000, 3_000


@dataclass(frozen=True)
class Work:
    """What both builds do: a contender, a call of it, and its arguments."""

    module: str
    factory: str
    options: Mapping[str, Any]
    call: str = "run"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    fresh: bool = False  # a new process for each round
    before: str = ""  # a call before each round that is not timed


def works(threads: int) -> dict[str, Callable[[], Work]]:
    """Returns every kind of work by name. Each makes its data when it is called."""

    def epoch(name: str) -> Callable[[], Work]:
        return lambda: Work("loaders", "Ours", _images(name) | {"batch_size": 256, "workers": threads})

    def crops(name: str, **more: Any) -> Callable[[], Work]:
        return lambda: Work("augmented", "Augmented", _images(name) | {"batch_size": 256, "workers": threads} | more)

    def stored(call: str, reads: int) -> Callable[[], Work]:
        def make() -> Work:
            files = data.jpegs("photos-q75", IMAGES)
            data.make_lake(files)
            return Work("readers", "Ours", {"name": files.name, "count": IMAGES}, call, {"reads": reads, "seed": 5})

        return make

    def query(call: str, text: str) -> Callable[[], Work]:
        def make() -> Work:
            make_lake, rows = (
                (query_data.vectors_lake, VECTORS) if call == "top" else (query_data.numbers_lake, ROWS_OF_NUMBERS)
            )
            return Work("queries", "Ours", {"uri": str(make_lake(rows)), "threads": threads}, call, {"text": text})

        return make

    def small(decode: bool) -> Callable[[], Work]:
        def make() -> Work:
            uri = str(records.make_pairs(data.jpegs("tiny-q90", 5_000)))
            options = {"uri": uri, "batch_size": 256, "workers": threads, "decode": decode}
            return Work("records", "Pairs", options, arguments={"epochs": 2 if decode else 6})

        return make

    def append() -> Work:
        folder = str(data.CACHE / "builds-append")
        return Work("writers", "Ours", {"folder": folder}, arguments={"count": 200}, before="remove")

    return {
        "epoch of photographs 250x250": epoch("photos-q75"),
        "epoch of noise 250x250": epoch("noise-q75"),
        "crops of photographs 250x250": crops("photos-q75"),
        "crops normalized to float32": crops("photos-q75", floats=True),
        "first batch in a fresh process": lambda: Work(
            "loaders",
            "Ours",
            _images("photos-q75") | {"batch_size": 256, "workers": threads},
            "first",
            fresh=True,
        ),
        "stored images one by one": stored("one_by_one", 2_560 * 64),
        "stored images 256 at once": stored("many", 2_560 * 120),
        "records of 4 KB, bytes": small(decode=False),
        "records of 4 KB, pixels": small(decode=True),
        "append 200 arrays of 3 MB": append,
        "filter and aggregate": query("table", ONE),
        "filter and aggregate by group": query("table", GROUPS),
        "filter, columns as arrays": query("arrays", ROWS),
        "top 100 by dot": query("top", TOP["dot"]),
        "top 100 by L2": query("top", TOP["l2"]),
    }


def _images(name: str) -> dict[str, Any]:
    return {"uri": str(data.make_lake(data.jpegs(name, IMAGES)))}


def compare(work: Work, folders: Mapping[str, Path], processes: int, rounds: int) -> dict[str, Turn]:
    """Lets the builds take turns, in `processes` new processes of each, one after the other.

    A process keeps the luck of its memory layout for all its rounds: new processes even it out. They start in turns,
    so that no build is always the first.
    """

    def start(name: str) -> Contender:
        environment = {"PYTHONPATH": str(folders[name] / "python")}
        options = dict(work.options)
        if "folder" in options:
            options["folder"] += "-" + name
        return Contender(name, work.module, work.factory, environment=environment, **options)

    if work.fresh:
        turns = {name: Turn() for name in folders}
        for number in range(processes * rounds):
            for name in [*folders][number % len(folders) :] + [*folders][: number % len(folders)]:
                with start(name) as one:
                    turns[name].add(one.call(work.call, **work.arguments), one.baseline)
        return turns
    turns = {name: Turn() for name in folders}
    names = [*folders]
    for number in range(processes):
        first = number % len(names)
        with ExitStack() as stack:
            made = {name: stack.enter_context(start(name)) for name in names[first:] + names[:first]}
            for name, turn in _race(work, made, rounds).items():
                turns[name].extend(turn)
    return turns


def _race(work: Work, made: Mapping[str, Contender], rounds: int) -> dict[str, Turn]:
    """Lets running processes take turns."""

    def before() -> None:
        for one in made.values():
            one.call(work.before)

    if work.before:
        for one in made.values():
            one.call("prepare")
    entries = {name: Entry(one, work.arguments) for name, one in made.items()}
    turns = race(entries, call=work.call, rounds=rounds, before=before if work.before else None)
    if work.before:
        before()
    return turns


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("other", type=Path, help="another checkout in which `make build` has run")
    parser.add_argument("--rounds", type=int, default=9, help="turns of a process (9)")
    parser.add_argument("--processes", type=int, default=4, help="processes of each build, one after the other (4)")
    parser.add_argument("names", nargs="*", help="kinds of work; none means all")
    arguments = parser.parse_args()
    other = arguments.other.resolve()
    folders = {"before": other, "after": Path(__file__).resolve().parents[1], "again": other}
    known = works(machine.cores())
    rows = [
        "| work | before, s | after, s | before / after | before / again | before / after, CPU time "
        "| 95 % of before / after | of CPU time |"
    ]
    rows.append("|---|---|---|---|---|---|---|---|")
    for name in arguments.names or known:
        turns = compare(known[name](), folders, arguments.processes, arguments.rounds)
        before, after, again = turns["before"], turns["after"], turns["again"]
        cells = [
            name,
            _spread(Spread.of(before.seconds)),
            _spread(Spread.of(after.seconds)),
            _spread(faster(after, before)),
            _spread(faster(again, before)),
            _spread(thriftier(after, before)),
            *(f"{low:.3g}-{high:.3g}" for low, high in intervals(after, before)),
        ]
        rows.append("| " + " | ".join(cells) + " |")
        print(rows[-1], flush=True)
    commits = {name: _commit(folder) for name, folder in folders.items()}
    page = (
        "# Two builds, alternating\n\n"
        f"`python benchmarks/compare_builds.py`, {datetime.date.today()}: "
        f"commit {commits['before']} before, {commits['after']} after; "
        f"{arguments.processes} processes of each take {arguments.rounds} turns. "
        f"{IMAGES:,} images, {ROWS_OF_NUMBERS:,} rows of numbers, {VECTORS:,} vectors; "
        f"warm page cache, {machine.cores()} threads. "
        "Medians, with the least and the most in brackets; ratios are of neighbouring turns, and those of `again` are "
        "noise: two processes of one build. The 95 % intervals are those of the medians, by bootstrap.\n\n"
        + "\n".join(rows)
        + "\n"
    )
    (report.RECORD / "builds.md").write_text(page)


def _spread(s: Spread) -> str:
    return f"{s.median:.3g} ({s.low:.3g}-{s.high:.3g})"


def _commit(folder: Path) -> str:
    command = ["git", "-C", str(folder), "rev-parse", "--short=10", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
